/*
 * test_criterion.c - steps of the Hermite examples against the same formulas in extended precision, in units of any
 * power of two; the errors of interpolated derivatives; the units that a program chooses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "criterion.h"
#include "interpolate.h"
#include "model_checks.h"
#include "noise.h"
#include "rng.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 300, ALL = CRITERION_MOST };

/* Derivatives of an orbit with a time of about 1/3, some of them 0. */
static void draw(rng *source, double (*f)[3])
{
    for (int k = 0; k < ALL; k++)
        for (int c = 0; c < 3; c++) f[k][c] = rng_uniform(source) < 0.05 ? 0 : rng_gauss(source) * pow(3, k);
}

static long double square(const double a[3])
{
    long double sum = 0;
    for (int c = 0; c < 3; c++) sum += (long double)a[c] * a[c];
    return sum;
}

static long double change(const double (*f)[3], int k)
{
    return sqrtl(square(f[k - 1]) * square(f[k + 1])) + square(f[k]);
}

static long double generalised(const double (*f)[3], int highest)
{
    if (highest == 2) return sqrtl(change(f, 1) / square(f[2]));
    return powl(change(f, 1) / change(f, highest - 1), 0.5L / (highest - 2));
}

static long double averaged(const double (*f)[3], int last)
{
    long double sum = 0;
    for (int k = 1; k < last; k++) sum += sqrtl(change(f, k) / change(f, k + 1));
    return sum / (last - 1);
}

static long double aarseth(const double (*f)[3], long double eta)
{
    return sqrtl(eta * change(f, 1) / (sqrtl(square(f[1]) * square(f[3])) + square(f[2])));
}

static void near(double found, long double wanted, const char *what)
{
    if (isinf(wanted) ? !isinf(found) : !(fabsl(found / wanted - 1) < 1e-14L))
        fail_msg("%s: a step of %.17g, wanted %.17Lg", what, found, wanted);
}

static void test_formulas(void **state)
{
    (void)state;
    rng source;
    rng_seed(&source, 5, 5);
    for (int round = 0; round < ROUNDS; round++) {
        double room[ALL][3];
        draw(&source, room);
        const double(*const f)[3] = (const double(*)[3])room;
        // cppcheck-suppress arrayIndexOutOfBounds ; f has ALL rows
        near(criterion_aarseth(f[0], f[1], f[2], f[3], 0.01), aarseth(f, 0.01L), "Aarseth");
        near(criterion_size(f[2]), sqrtl(square(f[2])), "size");
        for (int highest = 2; highest < ALL; highest++)
            near(criterion_generalised(f, highest, 0.5), 0.5L * generalised(f, highest), "generalised");
        for (int last = 2; last < ALL - 1; last++)
            near(criterion_averaged(f, last, 0.5), 0.5L * averaged(f, last), "averaged");
    }
}

enum { KINDS = 14 };

static void all_steps(const double (*f)[3], double pot, double longest, double step[KINDS])
{
    int n = 0;
    step[n++] = criterion_aarseth(f[0], f[1], f[2], f[3], 0.01);
    for (int highest = 2; highest < ALL; highest++) step[n++] = criterion_generalised(f, highest, 0.6);
    for (int last = 2; last < ALL - 1; last++) step[n++] = criterion_averaged(f, last, 0.6);
    step[n++] = criterion_first(f[0], f[1], pot, 0.01, longest);
    step[n++] = criterion_first(f[0], (const double[3]){0}, pot, 0.01, longest);
    assert_int_equal(n, KINDS);
}

/* Lengths by 2^b and times by 2^c: derivatives of the acceleration by 2^(b - (2 + k) c). */
static void test_units(void **state)
{
    (void)state;
    static const int powers[][2] = {{1, 1}, {-3, 7}, {-17, -30}, {-57, -100}, {60, 100}, {-200, -130}, {300, 135}};
    rng source;
    rng_seed(&source, 6, 6);
    for (int round = 0; round < ROUNDS; round++) {
        double f[ALL][3], g[ALL][3], plain[KINDS], other[KINDS];
        const double pot = -rng_uniform(&source);
        draw(&source, f);
        if (round % 10 == 0) memset(f[round / 10 % ALL], 0, sizeof f[0]);
        all_steps((const double(*)[3])f, pot, 0.125, plain);
        for (size_t u = 0; u < sizeof powers / sizeof *powers; u++) {
            const int b = powers[u][0], c = powers[u][1];
            for (int k = 0; k < ALL; k++)
                for (int axis = 0; axis < 3; axis++) g[k][axis] = ldexp(f[k][axis], b - (2 + k) * c);
            all_steps((const double(*)[3])g, ldexp(pot, 2 * (b - c)), ldexp(0.125, c), other);
            for (int n = 0; n < KINDS; n++)
                if (other[n] != ldexp(plain[n], c) && !(isinf(other[n]) && isinf(plain[n])))
                    fail_msg("units 2^%d, 2^%d, step %d: %.17g, wanted %.17g", b, c, n, ldexp(other[n], -c), plain[n]);
        }
    }
}

/* A star whose acceleration vanishes, or nearly, gets a step by its jerk; one with neither has none to fear. */
static void test_first_steps(void **state)
{
    (void)state;
    static const double none[3] = {0, 0, 0}, jerk[3] = {0, 3, 4}, one[3] = {0, 0, 1}, tiny[3] = {1e-30, 0, 0};
    const double least = 0.01 * sqrt(2 / 5.0) / 1024;
    close_to(criterion_first(one, jerk, -4, 0.01, 1), 0.01 / 5, 1e-17, "a step by acceleration and jerk");
    close_to(criterion_first(none, jerk, -4, 0.01, 1), least, 1e-17, "a step without acceleration");
    close_to(criterion_first(tiny, jerk, -4, 0.01, 1), least, 1e-17, "a step with nearly none");
    close_to(criterion_first(one, none, -4, 0.01, 1), 0.01, 1e-17, "a step without a jerk");
    close_to(criterion_first(one, none, -4, 0.01, 1e9), 0.01 * 2, 1e-16, "and without a longest step");
    assert_true(isinf(criterion_first(none, none, 0, 0.01, 1)));
}

/* An error of the force at one end, in the interpolated derivatives of that end. */
static void test_amplification(void **state)
{
    (void)state;
    const double dt = 1.0 / 64;
    for (int given = 3; given <= INTERPOLATE_MOST; given++) {
        double here[INTERPOLATE_MOST] = {1}, there[INTERPOLATE_MOST] = {0}, higher[INTERPOLATE_MOST];
        interpolate_derivatives(given, here, there, dt, higher);
        for (int k = 0; k < given; k++) {
            const double found = fabs(higher[k]) * pow(dt, given + k);
            close_to(found / interpolate_amplification(given, given + k), 1, 1e-12, "amplification of an error");
        }
    }
}

/* Units of a set are those of its scaled copy, and scaling back gives the same numbers. */
static void test_choice(void **state)
{
    (void)state;
    static const int powers[][3] = {{0, 0, 0}, {-40, 0, -60}, {90, 200, 35}, {-120, -300, -30}};
    bodies set, kept;
    rng source;
    assert_int_equal(bodies_allocate(&set, 20), 0);
    assert_int_equal(bodies_allocate(&kept, 20), 0);
    for (size_t u = 0; u < sizeof powers / sizeof *powers; u++) {
        rng_seed(&source, 7, 7);
        for (int k = 0; k < 20; k++) {
            set.mass[k] = ldexp(0.05, powers[u][1]);
            for (int c = 0; c < 3; c++) {
                set.x[k][c] = ldexp(rng_gauss(&source), powers[u][0]);
                set.v[k][c] = ldexp(rng_gauss(&source), powers[u][0] - powers[u][2]);
            }
        }
        memcpy(kept.x, set.x, 20 * sizeof *set.x);
        const units unit = units_choose(&set);
        assert_true(unit.mass == 3 * unit.length - 2 * unit.time);
        if (u == 0) assert_true(unit.length == 0 && unit.time == 0);
        units_take(&unit, &set);
        for (int k = 0; k < 20; k++) assert_true(criterion_size(set.x[k]) < 8 && set.mass[k] > 0.01 && set.mass[k] < 1);
        units_give(&unit, &set);
        assert_memory_equal(kept.x, set.x, 20 * sizeof *set.x);
    }
    bodies_free(&set);
    bodies_free(&kept);
}

/* The test for noise in units in which squares vanish. */
static void test_noise_units(void **state)
{
    (void)state;
    const double a[3] = {1e-200, 0, 0}, close[3] = {1.1e-200, 2e-201, 0}, other[3] = {0, 1e-200, 0};
    assert_int_equal(noise_disagree(a, close, 1e-4), 0);
    assert_int_equal(noise_disagree(a, other, 1e-4), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formulas),    cmocka_unit_test(test_units),
                                       cmocka_unit_test(test_first_steps), cmocka_unit_test(test_amplification),
                                       cmocka_unit_test(test_choice),      cmocka_unit_test(test_noise_units)};
    return cmocka_run_group_tests_name("criterion", tests, NULL, NULL);
}
