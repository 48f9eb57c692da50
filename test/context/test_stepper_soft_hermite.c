/*
 * test_stepper_soft_hermite.c - Hermite schemes whose particles have softening lengths: forces, energies and neighbours
 * against sums in extended precision, restarts, units, particles that come.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runs.h"
#include "stepper_places.h"
#include "tree_cases.h"
#include "worst.h"

enum { N = 80 };
static const double EPS = 0.01;
static struct stepper_state whole, parts;

static bodies b;
static double h[N];

/* A sphere of stars of three lengths; every ninth is massless. */
static int make_particles(void **state)
{
    static const double lengths[] = {0.1, 0, 0.03};
    (void)state;
    b = tree_model(CLUSTER_PLUMMER, N);
    for (int i = 0; i < N; i++) {
        h[i] = lengths[i % 3];
        if (i % 9 == 4) b.mass[i] = 0;
    }
    return 0;
}

static int drop_particles(void **state)
{
    (void)state;
    bodies_free(&b);
    return 0;
}

/* The first n of them, from `first` on, with lengths or NULL. */
static sapporo_stepper_particles some(int first, int n, const double *lengths)
{
    return (sapporo_stepper_particles){.size = sizeof(sapporo_stepper_particles),
                                       .n = n,
                                       .x = {b.x + first, 0},
                                       .v = {b.v + first, 0},
                                       .mass = {b.mass + first, 0},
                                       .h = {lengths ? lengths + first : NULL, 0}};
}

static void put(sapporo_stepper *s, const double *lengths)
{
    const sapporo_stepper_particles p = some(0, N, lengths);
    if (sapporo_stepper_set(s, &p)) fail_msg("%s", sapporo_stepper_last_error(s));
}

/* The largest error of the force on particle i of `whole`, relative to the sums of the sizes of its terms. */
static double error_of(int i)
{
    long double sum[4] = {0}, size = 0, depth = 0;
    double worst = 0;
    for (int j = 0; j < N; j++) {
        long double r2 = (long double)EPS * EPS + (long double)h[i] * h[i] + (long double)h[j] * h[j], far = 0, d[3];
        if (j == i) continue;
        for (int c = 0; c < 3; c++) d[c] = (long double)whole.x[j][c] - whole.x[i][c], far += d[c] * d[c];
        r2 += far;
        for (int c = 0; c < 3; c++) sum[c] += b.mass[j] * d[c] / (r2 * sqrtl(r2));
        sum[3] -= b.mass[j] / sqrtl(r2);
        size += b.mass[j] * sqrtl(far) / (r2 * sqrtl(r2));
        depth += b.mass[j] / sqrtl(r2);
    }
    for (int c = 0; c < 3; c++) worst = worst_of(worst, (double)(fabsl(whole.acc[i][c] - sum[c]) / size));
    return worst_of(worst, (double)(fabsl(whole.pot[i] - sum[3]) / depth));
}

/* First forces and potentials; energy and its conservation, which needs right derivatives, too. */
static void pulls(const struct place *p, int order, sapporo_step_scheme scheme)
{
    for (int precision = SAPPORO_DS; precision <= (int)SAPPORO_DP; precision++) {
        const double bound = precision == (int)SAPPORO_DP ? 2e-15 : 1e-6;
        sapporo_tree_options tree = stepper_tree_at(p, EPS);
        tree.precision = (sapporo_precision)precision;
        const sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
        sapporo_stepper *const s = stepper_make(&o, N);
        put(s, h);
        stepper_get(s, SAPPORO_STEP_OWN, N, &whole);
        const sapporo_stepper_totals begin = stepper_totals(s);
        double potential = 0;
        for (int i = 0; i < N; i++) {
            const double error = error_of(i);
            if (!(error <= bound)) fail_msg("%s, order %d: force on %d is off by %g", p->name, order, i, error);
            potential += 0.5 * b.mass[i] * whole.pot[i];
        }
        assert_true(fabs(begin.potential - potential) <= 1e-13 * fabs(potential));
        stepper_advance(s, 1, 0);
        const sapporo_stepper_totals end = stepper_totals(s);
        const double change = end.kinetic + end.potential - begin.kinetic - begin.potential;
        if (!(fabs(change) <= 1e-7)) fail_msg("%s, order %d: energy changes by %g", p->name, order, change);
        sapporo_stepper_destroy(s);
    }
}

RUNS(forces, stepper_hermite_everywhere(pulls))

/* Stores the particles with mass one after the other, and computes the forces on all; `parts` gets them. */
static void sum_by_calls(sapporo *c)
{
    static const double none[N][3];
    double square[N];
    int index[N], massive = 0;
    sapporo_job *job = NULL;
    for (int i = 0; i < N; i++) {
        sapporo_particle q = {.mass = b.mass[i], .eps2 = h[i] * h[i], .index = massive};
        memcpy(q.derivative[0], b.x[i], sizeof b.x[i]);
        memcpy(q.derivative[1], b.v[i], sizeof b.v[i]);
        square[i] = q.eps2;
        index[i] = q.mass > 0 ? massive : N;
        if (q.mass > 0) assert_int_equal(sapporo_set_particle(c, massive++, &q), SAPPORO_OK);
    }
    const sapporo_request request = {.size = sizeof request,
                                     .nj = massive,
                                     .ni = N,
                                     .x = {b.x, 0},
                                     .v = {b.v, 0},
                                     .a = {none, 0},
                                     .jerk = {none, 0},
                                     .index = {index, 0},
                                     .eps2 = EPS * EPS,
                                     .eps2_i = {square, 0}};
    const sapporo_result result = {.size = sizeof result, .acc = parts.acc, .pot = parts.pot};
    if (sapporo_force_begin(c, &request, &job) || sapporo_force_end(job, N, &result))
        fail_msg("%s", sapporo_last_error(c));
    sapporo_force_free(job);
}

/* The first forces have the bits of those of a context. */
static void equals_context(const struct place *p, int order, sapporo_step_scheme scheme)
{
    const sapporo_tree_options tree = stepper_tree_at(p, EPS);
    const sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    const sapporo_options options = {
        .size = sizeof options, .order = order, .precision = SAPPORO_DP, .backend = p->backend};
    sapporo *c = NULL;
    sapporo_stepper *const s = stepper_make(&o, N);
    put(s, h);
    stepper_get(s, SAPPORO_STEP_OWN, N, &whole);
    if (sapporo_open(&options, &c)) fail_msg("%s", sapporo_last_error(NULL));
    sum_by_calls(c);
    for (int i = 0; i < N; i++) {
        assert_memory_equal(whole.acc[i], parts.acc[i], sizeof whole.acc[i]);
        assert_true(whole.pot[i] == parts.pot[i]);
    }
    sapporo_close(c);
    sapporo_stepper_destroy(s);
}

RUNS(bits, stepper_hermite_everywhere(equals_context))

/* Equal lengths are a common softening of twice their square. */
static void equals(const struct place *p, int order, sapporo_step_scheme scheme)
{
    double same[N];
    for (int i = 0; i < N; i++) same[i] = 0.03125;
    sapporo_tree_options common = stepper_tree_at(p, sqrt(2) * 0.03125), none = stepper_tree_at(p, 0);
    sapporo_stepper_options o = stepper_hermite_options(&common, scheme);
    o.iterations = 2;
    sapporo_stepper *const plain = stepper_make(&o, N);
    o.tree = &none;
    sapporo_stepper *const s = stepper_make(&o, N);
    put(plain, NULL);
    put(s, same);
    stepper_advance(plain, 0.25, 0);
    stepper_advance(s, 0.25, 0);
    stepper_get(plain, SAPPORO_STEP_OWN, N, &whole);
    stepper_get(s, SAPPORO_STEP_OWN, N, &parts);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++)
            if (!(fabs(whole.x[i][c] - parts.x[i][c]) <= 1e-15))
                fail_msg("%s, order %d: %g at particle %d", p->name, order, whole.x[i][c] - parts.x[i][c], i);
    sapporo_stepper_destroy(plain);
    sapporo_stepper_destroy(s);
}

RUNS(equal_lengths, stepper_hermite_everywhere(equals))

/* Files, parts of runs, particles that come with their lengths, and the last ones without keep every bit. */
static void goes_on(const struct place *p, int order, sapporo_step_scheme scheme)
{
    char path[40];
    const sapporo_tree_options tree = stepper_tree_at(p, EPS);
    const sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    (void)snprintf(path, sizeof path, "soft_hermite.%d", order);
    sapporo_stepper *const s = stepper_make(&o, N), *const again = stepper_make(&o, N),
                           *const bare = stepper_make(&o, N);
    const sapporo_stepper_particles few = some(0, N - 2, h), rest = some(N - 2, 2, h);
    put(s, h);
    if (sapporo_stepper_set(again, &few) || sapporo_stepper_add(again, &rest))
        fail_msg("%s", sapporo_stepper_last_error(again));
    double found[N] = {0};
    const sapporo_stepper_output out = {.size = sizeof out, .n = N, .h = found};
    assert_int_equal(sapporo_stepper_get(again, &out), SAPPORO_OK);
    assert_memory_equal(found, h, sizeof h);
    stepper_get(s, SAPPORO_STEP_OWN, N, &whole);
    stepper_get(again, SAPPORO_STEP_OWN, N, &parts);
    for (int i = N - 2; i < N; i++) assert_memory_equal(whole.acc[i], parts.acc[i], sizeof whole.acc[i]);
    stepper_advance(s, INFINITY, 7);
    assert_int_equal(sapporo_stepper_save(s, path), SAPPORO_OK);
    assert_int_equal(sapporo_stepper_restore(again, path), SAPPORO_OK);
    (void)remove(path);
    stepper_advance(s, 0.25, 0);
    stepper_advance(again, 0.25, 0);
    stepper_get(s, SAPPORO_STEP_OWN, N, &whole);
    stepper_get(again, SAPPORO_STEP_OWN, N, &parts);
    assert_memory_equal(&whole, &parts, sizeof whole);
    put(again, NULL);
    put(bare, NULL);
    stepper_advance(again, 0.25, 0);
    stepper_advance(bare, 0.25, 0);
    stepper_get(again, SAPPORO_STEP_OWN, N, &whole);
    stepper_get(bare, SAPPORO_STEP_OWN, N, &parts);
    assert_memory_equal(&whole, &parts, sizeof whole);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(again);
    sapporo_stepper_destroy(bare);
}

RUNS(division, stepper_hermite_everywhere(goes_on))

/* Neighbours are nearest without softening; the limit of close pairs is so, too. */
static void finds(const struct place *p, int order, sapporo_step_scheme scheme)
{
    int nearest[N] = {0};
    double r2[N] = {0};
    const sapporo_tree_options tree = stepper_tree_at(p, EPS);
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    o.nearest = 1;
    sapporo_stepper *const s = stepper_make(&o, N);
    put(s, h);
    const sapporo_stepper_output out = {.size = sizeof out, .n = N, .nearest = nearest, .nearest_r2 = r2};
    assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_OK);
    for (int i = 0; i < N; i++) {
        double least = INFINITY;
        int best = -1;
        for (int j = 0; j < N; j++) {
            double far = 0;
            for (int c = 0; c < 3; c++) far += (b.x[i][c] - b.x[j][c]) * (b.x[i][c] - b.x[j][c]);
            if (j != i && b.mass[j] != 0 && far < least) least = far, best = j;
        }
        if (nearest[i] != best || !(fabs(r2[i] - least) <= 1e-15 * least))
            fail_msg("%s, order %d: nearest of %d is %d at %g, not %d at %g", p->name, order, i, nearest[i], r2[i],
                     best, least);
    }
    sapporo_stepper_destroy(s);
}

RUNS(neighbours, stepper_hermite_everywhere(finds))

/* In other units, powers of two, a run has the same bits, multiplied. */
static void scales(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { LENGTH = 64, MASS = 96, TIME = (3 * LENGTH - MASS) / 2 };
    double x[N][3], v[N][3], mass[N], soft[N];
    for (int k = 0; k < 2; k++) {
        const int length = k * LENGTH, time = k * TIME;
        sapporo_tree_options tree = stepper_tree_at(p, ldexp(EPS, length));
        tree.precision = SAPPORO_DS;
        sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
        o.dt = ldexp(o.dt, time);
        for (int i = 0; i < N; i++) {
            mass[i] = ldexp(b.mass[i], k * MASS);
            soft[i] = ldexp(h[i], length);
            for (int c = 0; c < 3; c++) x[i][c] = ldexp(b.x[i][c], length), v[i][c] = ldexp(b.v[i][c], length - time);
        }
        const sapporo_stepper_particles q = {
            .size = sizeof q, .n = N, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}, .h = {soft, 0}};
        sapporo_stepper *const s = stepper_make(&o, N);
        if (sapporo_stepper_set(s, &q)) fail_msg("%s", sapporo_stepper_last_error(s));
        stepper_advance(s, INFINITY, 20);
        stepper_get(s, SAPPORO_STEP_OWN, N, k ? &parts : &whole);
        sapporo_stepper_destroy(s);
    }
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++)
            if (parts.x[i][c] != ldexp(whole.x[i][c], LENGTH)) fail_msg("%s, order %d: %d differs", p->name, order, i);
}

RUNS(units, stepper_hermite_everywhere(scales))

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forces),     cmocka_unit_test(equal_lengths), cmocka_unit_test(division),
        cmocka_unit_test(neighbours), cmocka_unit_test(units),         cmocka_unit_test(bits),
    };
    return cmocka_run_group_tests(tests, make_particles, drop_particles);
}
