/*
 * test_stored_again.c - particles that are stored, replaced and cleared in every way and order: each address holds what
 * was stored there last and nothing of what it held before, and forces are those of a sum in extended precision.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "context/particles_part.h"
#include "opened.h"
#include "worst.h"

enum { ADDRESSES = 120, ROUNDS = 300, TARGETS = 3 };

/* What the addresses should hold. */
static sapporo_particle model[ADDRESSES];
static int there[ADDRESSES];

/* Columns of new particles; `loose`: with gaps between rows, unaligned. */
static double three[SAPPORO_DERIVATIVES][ADDRESSES][3], mass[ADDRESSES], when[ADDRESSES], eps2[ADDRESSES];
static int labels[ADDRESSES];
enum { GAP = 4 };
static char loose[SAPPORO_DERIVATIVES + 1][ADDRESSES * (3 * sizeof(double) + GAP)];

static unsigned seed;

static int random_below(int n)
{
    seed = seed * 1664525U + 1013904223U;
    return (int)((seed >> 8) % (unsigned)n);
}

static int highest_of(int order) { return order == 2 ? 0 : order == 4 ? 4 : order - 1; }

/* Multiples of 7! keep all their bits if a library divides them by factorials. */
static double random_number(void) { return 5040.0 * (random_below(2001) - 1000) / 4096; }

static void make_columns(void)
{
    for (int k = 0; k < ADDRESSES; k++) {
        for (int d = 0; d < SAPPORO_DERIVATIVES; d++)
            for (int c = 0; c < 3; c++) three[d][k][c] = random_number();
        mass[k] = (random_below(200) - 40) / 64.0;
        when[k] = random_below(8) / 16.0;
        eps2[k] = random_below(8);
        labels[k] = random_below(1000) - 500;
    }
}

/* Brings a column into `loose`; returns it with its stride. */
static sapporo_column loosened(int place, const void *from, size_t each)
{
    const size_t stride = each + GAP;
    for (size_t k = 0; k < ADDRESSES; k++) memcpy(loose[place] + k * stride, (const char *)from + k * each, each);
    return (sapporo_column){loose[place], (ptrdiff_t)stride};
}

/* Stores n particles at first, first + 1, ... in columns, of which some are absent. */
static void store_columns(sapporo *c, int order, int first, int n, int soft)
{
    sapporo_particles all = {.size = sizeof all};
    const int top = random_below(3) ? 1 : random_below(SAPPORO_DERIVATIVES), has_mass = random_below(8),
              has_time = random_below(3) == 0, has_index = random_below(3) == 0, is_loose = random_below(3) == 0;
    make_columns();
    for (int d = 0; d <= top; d++)
        all.derivative[d] = is_loose ? loosened(d, three[d], sizeof three[d][0]) : (sapporo_column){three[d], 0};
    if (has_mass) all.mass = is_loose ? loosened(SAPPORO_DERIVATIVES, mass, sizeof *mass) : (sapporo_column){mass, 0};
    if (has_time) all.time.base = when;
    if (has_index) all.index.base = labels;
    if (soft) all.eps2.base = eps2;
    assert_int_equal(sapporo_set_particles(c, first, n, &all), SAPPORO_OK);
    for (int k = 0; k < n; k++) {
        sapporo_particle p = {.mass = has_mass ? mass[k] : 0, .index = has_index ? labels[k] : first + k};
        for (int d = 0; d <= top && d <= highest_of(order); d++)
            memcpy(p.derivative[d], three[d][k], sizeof three[d][k]);
        if (has_time && order > 2) p.time = when[k];
        if (soft) p.eps2 = eps2[k];
        model[first + k] = p;
        there[first + k] = 1;
    }
}

static void store_one(sapporo *c, int order, int address, int soft)
{
    sapporo_particle p = {.mass = 0};
    const int top = random_below(SAPPORO_DERIVATIVES);
    make_columns();
    for (int d = 0; d <= top; d++) memcpy(p.derivative[d], three[d][0], sizeof three[d][0]);
    p.mass = mass[0];
    p.time = when[0];
    p.index = labels[0];
    p.eps2 = soft ? eps2[0] : 0;
    assert_int_equal(sapporo_set_particle(c, address, &p), SAPPORO_OK);
    for (int d = highest_of(order) + 1; d < SAPPORO_DERIVATIVES; d++)
        memset(p.derivative[d], 0, sizeof p.derivative[d]);
    if (order == 2) p.time = 0;
    model[address] = p;
    there[address] = 1;
}

/* Stores positions or masses alone; a particle is there when both are. */
static void store_parts(sapporo *c, int first, int n, int parts)
{
    make_columns();
    assert_int_equal(
        sap_context_set_part(c, first, n, parts & 1 ? (const double(*)[3])three[0] : NULL, parts & 2 ? mass : NULL),
        SAPPORO_OK);
    for (int k = 0; k < n; k++) {
        sapporo_particle *const p = &model[first + k];
        int *const has = &there[first + k];
        if (*has == 0) *p = (sapporo_particle){.index = first + k};
        if (parts & 1) memcpy(p->derivative[0], three[0][k], sizeof three[0][k]);
        if (parts & 2) p->mass = mass[k];
        if (*has <= 0) *has = (-*has | parts) == 3 ? 1 : -(-*has | parts); /* -1, -2: a part alone */
    }
}

/* ---- comparisons ------------------------------------------------------------------------------------ */

/* in_parts: positions came alone, which order 2 keeps where no interface that gives parts reads. */
static void expect_model(sapporo *c, int order, int in_parts, int round)
{
    for (int a = 0; a < ADDRESSES; a++) {
        sapporo_particle p;
        const int status = sapporo_get_particle(c, a, 0, &p);
        assert_int_equal(status, there[a] > 0 ? SAPPORO_OK : SAPPORO_ERR_ARGUMENT);
        if (there[a] <= 0) continue;
        const sapporo_particle *const m = &model[a];
        for (int d = 0; d < (in_parts ? 1 : SAPPORO_DERIVATIVES); d++)
            for (int axis = 0; axis < 3; axis++)
                if (p.derivative[d][axis] != m->derivative[d][axis])
                    fail_msg("order %d, round %d, address %d: derivative %d[%d] is %g, not %g", order, round, a, d,
                             axis, p.derivative[d][axis], m->derivative[d][axis]);
        if (p.mass != m->mass || (p.time != m->time && !in_parts) || p.eps2 != m->eps2 || p.index != m->index)
            fail_msg("order %d, round %d, address %d: mass %g, time %g, eps2 %g, index %d, not %g, %g, %g, %d", order,
                     round, a, p.mass, p.time, p.eps2, p.index, m->mass, m->time, m->eps2, m->index);
    }
}

/* Position of a particle of the model at a time, in extended precision; *size: of its largest term. */
static void place_at(const sapporo_particle *p, int order, double time, long double *x, long double *size)
{
    const long double dt = order == 2 ? 0 : (long double)time - p->time;
    for (int c = 0; c < 3; c++) {
        long double term = 1;
        x[c] = 0;
        for (int d = 0; d <= highest_of(order); d++) {
            const long double one = term * p->derivative[d][c];
            x[c] += one;
            *size = larger_of_long(*size, fabsl(one));
            term *= dt / (d + 1);
        }
    }
}

/* Begins a force on TARGETS places; soft: 400. */
static const double at[TARGETS][3] = {{0, 0, 0}, {700, -300, 500}, {-900, 40, -80}};

static sapporo_job *begin(sapporo *c)
{
    const sapporo_request r = {
        .size = sizeof r, .nj = ADDRESSES, .ni = TARGETS, .x = {at, 0}, .eps2 = 400, .want = SAPPORO_ALLOW_EMPTY};
    sapporo_job *job;
    if (sapporo_force_begin(c, &r, &job)) fail_msg("%s", sapporo_last_error(c));
    return job;
}

/* Accelerations and potentials of particles, in extended precision; *size: the sums of sizes of terms. */
static void sum_model(int order, double time, long double (*sum)[4], long double *size)
{
    memset(sum, 0, TARGETS * sizeof *sum);
    *size = 1e-30L;
    for (int a = 0; a < ADDRESSES; a++) {
        long double x[3], terms = 1;
        if (there[a] <= 0) continue;
        place_at(&model[a], order, time, x, &terms);
        for (int i = 0; i < TARGETS; i++) {
            long double r[3], r2 = 400 + (long double)model[a].eps2;
            for (int c = 0; c < 3; c++) r[c] = x[c] - at[i][c], r2 += r[c] * r[c];
            const long double one = model[a].mass / sqrtl(r2);
            for (int c = 0; c < 3; c++) sum[i][c] += one / r2 * r[c];
            sum[i][3] -= one;
            *size += fabsl(one) * (1 + terms / 20); /* 20: the softening length */
        }
    }
}

static void expect_force(sapporo_job *job, int order, int round, long double (*sum)[4], long double size)
{
    double acc[TARGETS][3], pot[TARGETS], worst = 0;
    const sapporo_result to = {.size = sizeof to, .acc = acc, .pot = pot};
    assert_int_equal(sapporo_force_end(job, TARGETS, &to), SAPPORO_OK);
    sapporo_force_free(job);
    for (int i = 0; i < TARGETS; i++) {
        for (int c = 0; c < 3; c++) worst = worst_of(worst, (double)(fabsl(acc[i][c] - sum[i][c]) / size));
        worst = worst_of(worst, (double)(fabsl(pot[i] - sum[i][3]) / size));
    }
    if (!(worst < 1e-15)) fail_msg("order %d, round %d: the force is off by %g", order, round, worst);
}

/* ---- rounds ---------------------------------------------------------------------------------------- */

static void change(sapporo *c, int order, int softens, int in_parts)
{
    const int kind = random_below(in_parts ? 8 : 6), first = random_below(ADDRESSES),
              n = 1 + random_below(ADDRESSES - first), soft = softens && random_below(4) == 0;
    if (kind == 0 && random_below(8) == 0) {
        assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
        memset(there, 0, sizeof there);
    } else if (kind < 3) {
        const int few = n < 40 ? n : 40, step = random_below(3) ? 1 : 3;
        for (int k = 0; k < few && first + k * step < ADDRESSES; k++) store_one(c, order, first + k * step, soft);
    } else if (kind < 6) {
        store_columns(c, order, first, n, soft);
    } else {
        store_parts(c, first, n, 1 + random_below(3));
    }
}

/* Changes, each compared with the model; forces that were begun before a change know nothing of it. */
static void rounds_of(int order, int softens, int in_parts)
{
    sapporo *const c = open_order(order);
    long double sum[TARGETS][4], size;
    memset(there, 0, sizeof there);
    seed = (unsigned)(10 * order + softens + 2 * in_parts);
    sapporo_print_errors(0);
    for (int round = 0; round < ROUNDS; round++) {
        const double time = random_below(16) / 16.0;
        assert_int_equal(sapporo_set_time(c, time), SAPPORO_OK);
        sum_model(order, time, sum, &size);
        sapporo_job *const job = begin(c);
        change(c, order, softens, in_parts);
        if (round % 2) change(c, order, softens, in_parts);
        expect_force(job, order, round, sum, size);
        expect_model(c, order, in_parts, round);
        if (round % 3 == 0) change(c, order, softens, in_parts);
    }
    expect_model(c, order, in_parts, ROUNDS);
    sapporo_close(c);
}

static void rounds(void **state)
{
    (void)state;
    for (int order = 2; order <= 8; order += 2)
        for (int softens = 0; softens < 2; softens++) rounds_of(order, softens, 0);
    for (int softens = 0; softens < 2; softens++) rounds_of(2, softens, 1);
}

/* ---- particles that are not finite ------------------------------------------------------------------ */

/* A number that is not finite, in each column and at each address of a run, is stored and named; the others are stored.
 */
static void bad_numbers(void **state)
{
    enum { RUN = 37 };
    static const int places[] = {0, 1, 14, 15, 16, 17, 31, 35, 36};
    (void)state;
    for (int order = 2; order <= 8; order += 2)
        for (int k = 0; k < 9; k++)
            for (int number = 0; number <= 3 * (order == 2 ? 1 : 2); number++) {
                sapporo *const c = open_order(order);
                sapporo_particles all = {
                    .size = sizeof all, .derivative = {{three[0], 0}, {three[1], 0}}, .mass = {mass, 0}};
                sapporo_particle p;
                char words[64];
                sapporo_set_log(NULL, NULL);
                make_columns();
                double *const at_number =
                    number ? &three[(number - 1) / 3][places[k]][(number - 1) % 3] : &mass[places[k]];
                *at_number = number % 2 ? (double)INFINITY : (double)NAN;
                assert_int_equal(sapporo_set_particles(c, 3, RUN, &all), SAPPORO_ERR_NOT_FINITE);
                (void)snprintf(words, sizeof words, "j-particle at address %d is not finite", 3 + places[k]);
                if (!strstr(sapporo_last_error(c), words)) fail_msg("%s", sapporo_last_error(c));
                for (int i = 0; i < RUN; i++) {
                    assert_int_equal(sapporo_get_particle(c, 3 + i, 0, &p), SAPPORO_OK);
                    assert_memory_equal(&p.mass, &mass[i], sizeof p.mass);
                    for (int d = 0; d < (order == 2 ? 1 : 2); d++)
                        for (int axis = 0; axis < 3; axis++) {
                            const double x = three[d][i][axis];
                            assert_true(isnan(x) ? isnan(p.derivative[d][axis]) : p.derivative[d][axis] == x);
                        }
                }
                assert_int_equal(sapporo_get_particle(c, 2, 0, &p), SAPPORO_ERR_ARGUMENT);
                assert_int_equal(sapporo_get_particle(c, 3 + RUN, 0, &p), SAPPORO_ERR_ARGUMENT);
                sapporo_close(c);
            }
}

static int quiet(void **state)
{
    (void)state;
    sapporo_print_errors(0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rounds), cmocka_unit_test_setup(bad_numbers, quiet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
