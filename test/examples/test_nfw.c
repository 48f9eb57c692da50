/* test_nfw.c - the NFW model of the examples is in equilibrium: its stars, on orbits in its potential, keep its radii.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster.h"
#include "model_checks.h"
#include "worst.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STARS = 20000 };

static const double CUT = 5;

static double mass_within(double r) { return r < CUT ? log1p(r) - r / (1 + r) : log1p(CUT) - CUT / (1 + CUT); }

static double size_of(const double a[3]) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

static int ascending(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double sorted[STARS];

static void sort_radii(const bodies *set)
{
    for (int k = 0; k < STARS; k++) sorted[k] = size_of(set->x[k]);
    qsort(sorted, STARS, sizeof *sorted, ascending);
}

/*
 * Kolmogorov and Smirnov: the largest distance between the masses within sorted[] and those of the model, times
 * sqrt(n).  It exceeds 2 once in 1500 samples; the samples here are always the same ones.
 */
static double distance(void)
{
    double largest = 0;
    for (int k = 0; k < STARS; k++) {
        const double inside = mass_within(sorted[k]) / mass_within(CUT);
        largest = worst_of(largest, worst_of(fabs(inside - (double)k / STARS), fabs(inside - (double)(k + 1) / STARS)));
    }
    return largest * sqrt(STARS);
}

/* Moves a star for a time in the field of the whole model, by leap-frog steps that suit its radius. */
static void move(double x[3], double v[3], double time)
{
    while (time > 0) {
        const double r = size_of(x), rate = sqrt(mass_within(r) / (r * r * r));
        const double dt = fmin(0.03 / rate, time);
        for (int c = 0; c < 3; c++) x[c] += 0.5 * dt * v[c];
        const double middle = size_of(x), pull = mass_within(middle) / (middle * middle * middle);
        for (int c = 0; c < 3; c++) v[c] -= dt * pull * x[c];
        for (int c = 0; c < 3; c++) x[c] += 0.5 * dt * v[c];
        time -= dt;
    }
}

static void make(bodies *set)
{
    rng source;
    assert_int_equal(bodies_allocate(set, STARS), 0);
    rng_seed(&source, 11, 0);
    cluster_nfw(set, &source);
    for (int k = 0; k < STARS; k++) set->mass[k] = mass_within(CUT) / STARS;
}

/* The unit of time of N-body units is 3.92 of these, so 24 are 6 of them. */
static void test_radii_stay(void **state)
{
    (void)state;
    bodies set;
    make(&set);
    sort_radii(&set);
    assert_true(distance() < 2);
    for (int part = 0; part < 4; part++) {
        for (int k = 0; k < STARS; k++) move(set.x[k], set.v[k], 6);
        sort_radii(&set);
        if (!(distance() < 2)) fail_msg("after a time of %d the radii are off by %.2f", 6 * (part + 1), distance());
    }
    bodies_free(&set);
}

/* No star leaves: its radial turning point lies within the edge.  At the edge stars move along it. */
static void test_edge(void **state)
{
    (void)state;
    bodies set;
    double radial = 0, whole = 0;
    make(&set);
    for (int k = 0; k < STARS; k++) {
        const double *const x = set.x[k], *const v = set.v[k], r = size_of(x), v2 = size_of(v) * size_of(v);
        const double along = (x[0] * v[0] + x[1] * v[1] + x[2] * v[2]) / r, l2 = r * r * (v2 - along * along);
        const double depth = log1p(r) / r - log1p(CUT) / CUT;
        assert_true(r < CUT && 2 * depth - v2 + l2 / (CUT * CUT) > -1e-12);
        if (r > 0.95 * CUT) radial += along * along, whole += v2;
    }
    assert_true(whole > 0 && radial < 0.1 * whole);
    bodies_free(&set);
}

/* The virial theorem, without any scale: the sum over stars of v^2 is that of M / r. */
static void test_virial(void **state)
{
    (void)state;
    bodies set;
    double kinetic = 0, virial = 0;
    make(&set);
    for (int k = 0; k < STARS; k++) {
        kinetic += size_of(set.v[k]) * size_of(set.v[k]);
        virial += mass_within(size_of(set.x[k])) / size_of(set.x[k]);
    }
    close_to(kinetic / virial, 1, 0.02, "kinetic energy over that of equilibrium");
    bodies_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_radii_stay), cmocka_unit_test(test_edge),
                                       cmocka_unit_test(test_virial)};
    return cmocka_run_group_tests_name("nfw", tests, NULL, NULL);
}
