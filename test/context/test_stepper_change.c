/*
 * test_stepper_change.c - particles that are added to a stepper and removed from it, on every engine: the others keep
 * every bit, new ones get forces from all, files and outputs are those of the particles that there are; errors.
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

enum { N = 60 };
static const double EPS = 0.03, MIDDLE = 0.3; /* a time within long steps */
static struct stepper_state before, after, other;

/* ---- calls that must succeed ----------------------------------------------------------------------- */

static void add(sapporo_stepper *s, int n, double (*x)[3], double (*v)[3], const double *mass)
{
    long long label[N];
    for (int k = 0; k < n; k++) label[k] = 1000 + k;
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = n,
                                         .x = {x, 0},
                                         .v = {v, 0},
                                         .mass = {mass, 0},
                                         .label = {label, 0},
                                         .time = sapporo_stepper_get_time(s)};
    if (sapporo_stepper_add(s, &p)) fail_msg("%s", sapporo_stepper_last_error(s));
}

static void removed(sapporo_stepper *s, int n, const int *address)
{
    if (sapporo_stepper_remove(s, n, address)) fail_msg("%s", sapporo_stepper_last_error(s));
}

/* Options at a place: block steps of a leap-frog, or a Hermite scheme; *tree must outlive them. */
static sapporo_stepper_options options_at(const struct place *p, sapporo_step_scheme scheme, sapporo_tree_options *tree)
{
    *tree = stepper_tree_at(p, EPS);
    sapporo_stepper_options o = stepper_hermite_options(tree, scheme);
    o.method = p->method;
    return o;
}

/* Fails unless row k of `after` has all bits of row i of `before`. */
static void same_row(const struct place *p, int scheme, int i, int k)
{
    const int same = memcmp(before.x[i], after.x[k], sizeof before.x[i]) == 0 &&
                     memcmp(before.v[i], after.v[k], sizeof before.v[i]) == 0 &&
                     memcmp(before.acc[i], after.acc[k], sizeof before.acc[i]) == 0 && before.pot[i] == after.pot[k] &&
                     before.mass[i] == after.mass[k] && before.own_time[i] == after.own_time[k] &&
                     before.level[i] == after.level[k] && before.label[i] == after.label[k];
    if (!same) fail_msg("%s, scheme %d: particle %d, now %d, has changed", p->name, scheme, i, k);
}

/* ---- massless particles ---------------------------------------------------------------------------- */

/*
 * Massless particles that come and go change no bit of the others.  One is far, one near to a star.
 */
static void passes(const struct place *p, sapporo_step_scheme scheme)
{
    enum { FAR = 3, NEAR = N + 1, ALL = N + 2 };
    const int gone[2] = {NEAR, FAR};
    sapporo_tree_options tree;
    const sapporo_stepper_options o = options_at(p, scheme, &tree);
    bodies b = tree_model(CLUSTER_PLUMMER, N), all = tree_model(CLUSTER_PLUMMER, ALL);
    for (int i = 0, k = 0; i < ALL; i++) {
        const int star = i == FAR || i == NEAR ? 0 : k++;
        memcpy(all.x[i], b.x[star], sizeof all.x[i]);
        memcpy(all.v[i], b.v[star], sizeof all.v[i]);
        all.mass[i] = i == FAR || i == NEAR ? 0 : b.mass[star];
        if (i == FAR) all.x[i][0] += 50;
        if (i == NEAR) all.x[i][0] += 0.001, all.v[i][1] += 3;
    }
    sapporo_stepper *const s = stepper_make(&o, ALL), *const without = stepper_make(&o, N);
    stepper_put(s, ALL, all.x, all.v, all.mass, 0);
    stepper_put(without, N, b.x, b.v, b.mass, 0);
    stepper_advance(s, MIDDLE, 0);
    removed(s, 2, gone);
    stepper_advance(s, 0.4, 0);
    add(s, 2, all.x + FAR, all.v + FAR, (double[]){0, 0});
    stepper_advance(s, 0.5, 0);
    stepper_advance(without, 0.5, 0);
    stepper_get(without, SAPPORO_STEP_OWN, N, &before);
    stepper_get(s, SAPPORO_STEP_OWN, ALL, &after);
    for (int i = 0; i < N; i++) {
        before.label[i] = after.label[i];
        same_row(p, (int)scheme, i, i);
        assert_true(after.label[i] == i + (i >= FAR));
    }
    for (int i = N; i < ALL; i++) assert_true(isfinite(after.pot[i]) && after.label[i] == 1000 + i - N);
    assert_int_equal(stepper_figures(s).massive, N);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(without);
    bodies_free(&b);
    bodies_free(&all);
}

/* The particle of the shortest steps goes when no longer step may begin: the others end the steps that they have. */
static void leaves(const struct place *p, sapporo_step_scheme scheme)
{
    const int gone = 2;
    double x[3][3] = {{-5, 0, 0}, {5, 0, 0}, {-5, 0.02, 0}}, v[3][3] = {{0, 0.1, 0}, {0.1, 0, 0}, {0.1, 0.1, 0}},
           mass[3] = {1, 1, 0};
    sapporo_tree_options tree;
    const sapporo_stepper_options o = options_at(p, scheme, &tree);
    sapporo_stepper *const s = stepper_make(&o, 3), *const without = stepper_make(&o, 2);
    stepper_put(s, 3, x, v, mass, 0);
    stepper_put(without, 2, x, v, mass, 0);
    stepper_advance(s, INFINITY, 1);
    stepper_get(s, SAPPORO_STEP_OWN, 3, &after);
    assert_true(after.own_time[0] == 0 && after.own_time[1] == 0 && after.own_time[2] > 0);
    removed(s, 1, &gone);
    stepper_advance(s, INFINITY, 1);
    stepper_advance(without, INFINITY, 1);
    assert_true(sapporo_stepper_get_time(s) == sapporo_stepper_get_time(without));
    stepper_advance(s, 0.5, 0);
    stepper_advance(without, 0.5, 0);
    stepper_get(without, SAPPORO_STEP_OWN, 2, &before);
    stepper_get(s, SAPPORO_STEP_OWN, 2, &after);
    for (int i = 0; i < 2; i++) same_row(p, (int)scheme, i, i);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(without);
}

static void passes_blocks(const struct place *p)
{
    passes(p, SAPPORO_STEPS_BLOCK);
    leaves(p, SAPPORO_STEPS_BLOCK);
}

static void passes_hermite(const struct place *p, int order, sapporo_step_scheme scheme)
{
    (void)order;
    passes(p, scheme);
    leaves(p, scheme);
}

static void test_massless(void **state)
{
    (void)state;
    stepper_everywhere(passes_blocks, 0);
}

static void test_massless_hermite(void **state)
{
    (void)state;
    stepper_hermite_everywhere(passes_hermite);
}

/* ---- stars ----------------------------------------------------------------------------------------- */

/* The potential at particle i of `at`, by extended-precision sums. */
static double potential_at(const struct stepper_state *at, int n, int i)
{
    long double sum = 0;
    for (int j = 0; j < n; j++) {
        long double r2 = (long double)EPS * EPS;
        for (int c = 0; c < 3; c++) r2 += powl((long double)at->x[i][c] - at->x[j][c], 2);
        if (j != i) sum -= at->mass[j] / sqrtl(r2);
    }
    return (double)sum;
}

/* The error of the acceleration of particle i of `at` relative to its size, by the same sums. */
static double error_of(const struct stepper_state *at, int n, int i)
{
    long double acc[3] = {0}, size = 0, error = 0;
    for (int j = 0; j < n; j++) {
        long double r2 = (long double)EPS * EPS;
        for (int c = 0; c < 3; c++) r2 += powl((long double)at->x[j][c] - at->x[i][c], 2);
        for (int c = 0; c < 3 && j != i; c++)
            acc[c] += at->mass[j] * ((long double)at->x[j][c] - at->x[i][c]) / (r2 * sqrtl(r2));
    }
    for (int c = 0; c < 3; c++) size += acc[c] * acc[c], error += powl(at->acc[i][c] - acc[c], 2);
    return (double)sqrtl(error / size);
}

/*
 * A star that comes within steps changes no bit of the others, has the force of all, and acts from their next step on:
 * the potentials of those that end a step are then deeper by its own.  Energies are those of all.
 */
static void arrives(const struct place *p, int order, sapporo_step_scheme scheme)
{
    double x[1][3] = {{0.2, 0.1, -0.1}}, v[1][3] = {{0.3, 0, 0}}, mass[1] = {0.5};
    sapporo_tree_options tree;
    sapporo_stepper_options o = options_at(p, scheme, &tree);
    tree.precision = SAPPORO_DP;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_stepper *const s = stepper_make(&o, N + 1);
    stepper_put(s, N, b.x, b.v, b.mass, 0);
    stepper_advance(s, MIDDLE, 0);
    stepper_get(s, SAPPORO_STEP_OWN, N, &before);
    add(s, 1, x, v, mass);
    stepper_get(s, SAPPORO_STEP_OWN, N + 1, &after);
    for (int i = 0; i < N; i++) same_row(p, (int)scheme, i, i);
    const double now = sapporo_stepper_get_time(s);
    assert_true(after.own_time[N] == now && after.label[N] == 1000);
    stepper_get(s, SAPPORO_STEP_NOW, N + 1, &other);
    double potential = 0;
    for (int i = 0; i <= N; i++) potential += 0.5 * other.mass[i] * potential_at(&other, N + 1, i);
    const sapporo_stepper_totals begin = stepper_totals(s);
    if (!(error_of(&other, N + 1, N) <= 1e-13)) fail_msg("%s: force off by %g", p->name, error_of(&other, N + 1, N));
    if (!(fabs(after.pot[N] - potential_at(&other, N + 1, N)) <= 1e-13 * fabs(after.pot[N])))
        fail_msg("%s: potential %a", p->name, after.pot[N]);
    if (!(fabs(begin.potential - potential) <= 1e-13 * fabs(potential)))
        fail_msg("%s: energy %a, not %a", p->name, begin.potential, potential);
    for (int step = 0; step < 8; step++) {
        stepper_advance(s, INFINITY, 1);
        stepper_get(s, SAPPORO_STEP_OWN, N + 1, &after);
        stepper_get(s, SAPPORO_STEP_NOW, N + 1, &other);
        for (int i = 0; i <= N; i++) /* forces are where the particle was predicted to be */
            if (after.own_time[i] == sapporo_stepper_get_time(s) &&
                !(fabs(after.pot[i] / potential_at(&other, N + 1, i) - 1) <= 1e-3))
                fail_msg("%s: potential of %d is %g", p->name, i, after.pot[i]);
    }
    stepper_advance(s, 0.375, 0); /* all have ended a step in which the star came */
    const sapporo_stepper_totals then = stepper_totals(s);
    stepper_advance(s, 1, 0);
    const sapporo_stepper_totals end = stepper_totals(s);
    const double change = end.kinetic + end.potential - then.kinetic - then.potential;
    if (!(fabs(change) <= 1e-6)) /* 3.5e-7 was measured */
        fail_msg("%s, order %d: energy changes by %g", p->name, order, change);
    sapporo_stepper_destroy(s);
    bodies_free(&b);
}

RUNS(arrival, stepper_hermite_everywhere(arrives))

/* A star that is added at the start has the bits that it would have, had it been there; with lengths, too. */
static void starts(const struct place *p, sapporo_step_scheme scheme, int lengths)
{
    sapporo_tree_options tree;
    const sapporo_stepper_options o = options_at(p, scheme, &tree);
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    double h[N];
    for (int i = 0; i < N; i++) h[i] = 0.01 * (1 + i % 3);
    sapporo_stepper *const s = stepper_make(&o, N), *const all = stepper_make(&o, N);
    sapporo_stepper_particles q = {.size = sizeof q,
                                   .n = N,
                                   .x = {b.x, 0},
                                   .v = {b.v, 0},
                                   .mass = {b.mass, 0},
                                   .h = {lengths ? h : NULL, 0},
                                   .time = 2};
    if (sapporo_stepper_set(all, &q)) fail_msg("%s", sapporo_stepper_last_error(all));
    q.n = N - 3;
    if (sapporo_stepper_set(s, &q)) fail_msg("%s", sapporo_stepper_last_error(s));
    q.n = 3;
    q.x.base = b.x + N - 3;
    q.v.base = b.v + N - 3;
    q.mass.base = b.mass + N - 3;
    if (lengths) q.h.base = h + N - 3;
    if (sapporo_stepper_add(s, &q)) fail_msg("%s", sapporo_stepper_last_error(s));
    stepper_get(all, SAPPORO_STEP_OWN, N, &before);
    stepper_get(s, SAPPORO_STEP_OWN, N, &after);
    for (int i = N - 3; i < N; i++) same_row(p, (int)scheme, i, i);
    double found[N] = {0};
    const sapporo_stepper_output out = {.size = sizeof out, .n = N, .h = found};
    assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_OK);
    for (int i = 0; i < N; i++) assert_true(found[i] == (lengths ? h[i] : 0));
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(all);
    bodies_free(&b);
}

static void starts_blocks(const struct place *p)
{
    for (int lengths = 0; lengths < 2; lengths++) starts(p, SAPPORO_STEPS_BLOCK, lengths);
}

static void starts_hermite(const struct place *p, int order, sapporo_step_scheme scheme)
{
    (void)order;
    starts(p, scheme, 0);
}

static void test_start(void **state)
{
    (void)state;
    stepper_everywhere(starts_blocks, 0);
}

static void test_start_hermite(void **state)
{
    (void)state;
    stepper_hermite_everywhere(starts_hermite);
}

/* ---- mergers --------------------------------------------------------------------------------------- */

/* Two stars become one: momentum stays, energy loses what the pair had; files and divisions of runs keep every bit. */
static void merges(const struct place *p, sapporo_step_scheme scheme)
{
    enum { A = 7, B = 20, LEFT = N - 1 };
    const int pair[2] = {B, A};
    sapporo_tree_options tree;
    const sapporo_stepper_options o = options_at(p, scheme, &tree);
    char path[40];
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    for (int c = 0; c < 3; c++) b.x[B][c] = b.x[A][c] + 0.01, b.v[B][c] = b.v[A][c];
    sapporo_stepper *const s = stepper_make(&o, N), *const again = stepper_make(&o, N);
    stepper_put(s, N, b.x, b.v, b.mass, 0);
    stepper_advance(s, MIDDLE, 0);
    const sapporo_stepper_totals two = stepper_totals(s);
    stepper_get(s, SAPPORO_STEP_NOW, N, &other);
    stepper_get(s, SAPPORO_STEP_OWN, N, &before);
    double x[1][3], v[1][3], mass[1] = {other.mass[A] + other.mass[B]}, speed2 = 0;
    for (int c = 0; c < 3; c++) {
        x[0][c] = (other.mass[A] * other.x[A][c] + other.mass[B] * other.x[B][c]) / mass[0];
        v[0][c] = (other.mass[A] * other.v[A][c] + other.mass[B] * other.v[B][c]) / mass[0];
        speed2 += pow(other.v[A][c] - other.v[B][c], 2);
    }
    removed(s, 2, pair);
    add(s, 1, x, v, mass);
    stepper_get(s, SAPPORO_STEP_OWN, LEFT, &after);
    for (int i = 0, k = 0; i < N; i++)
        if (i != A && i != B) same_row(p, (int)scheme, i, k++);
    const sapporo_stepper_totals one = stepper_totals(s);
    const double lost = 0.5 * other.mass[A] * other.mass[B] / mass[0] * speed2;
    for (int c = 0; c < 3; c++)
        assert_true(fabs(one.momentum[c] - two.momentum[c]) < 1e-14 && fabs(one.moment[c] - two.moment[c]) < 1e-14);
    if (!(fabs(two.kinetic - one.kinetic - lost) < 1e-14)) fail_msg("%s: lost %g", p->name, two.kinetic - one.kinetic);
    (void)snprintf(path, sizeof path, "change.%d", (int)scheme);
    assert_int_equal(sapporo_stepper_save(s, path), SAPPORO_OK);
    assert_int_equal(sapporo_stepper_restore(again, path), SAPPORO_OK);
    (void)remove(path);
    stepper_advance(s, 0.5, 0);
    stepper_advance(again, INFINITY, 2);
    stepper_advance(again, 0.5, 0);
    stepper_get(s, SAPPORO_STEP_OWN, LEFT, &before);
    stepper_get(again, SAPPORO_STEP_OWN, LEFT, &after);
    for (int i = 0; i < LEFT; i++) same_row(p, (int)scheme, i, i);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(again);
    bodies_free(&b);
}

static void merges_blocks(const struct place *p) { merges(p, SAPPORO_STEPS_BLOCK); }
static void merges_hermite(const struct place *p, int order, sapporo_step_scheme scheme)
{
    (void)order;
    merges(p, scheme);
}

static void test_mergers(void **state)
{
    (void)state;
    stepper_everywhere(merges_blocks, 0);
}

static void test_mergers_hermite(void **state)
{
    (void)state;
    stepper_hermite_everywhere(merges_hermite);
}

/* ---- nearest neighbours ---------------------------------------------------------------------------- */

static void get_nearest(sapporo_stepper *s, int n, int *nearest, double *r2)
{
    const sapporo_stepper_output o = {.size = sizeof o, .n = n, .nearest = nearest, .nearest_r2 = r2};
    assert_int_equal(sapporo_stepper_get(s, &o), SAPPORO_OK);
}

/* Neighbours keep who they are; the neighbours of those that were removed are not known; new ones know theirs. */
static void keeps_neighbours(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { GONE = 11 };
    const int gone = GONE;
    int then[N], now[N + 1], best = -1;
    double then_r2[N], now_r2[N + 1], x[1][3] = {{0.05, 0.02, 0}}, v[1][3] = {{0}}, mass[1] = {0.01}, least = INFINITY;
    sapporo_tree_options tree;
    sapporo_stepper_options o = options_at(p, scheme, &tree);
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    o.nearest = 1;
    sapporo_stepper *const s = stepper_make(&o, N);
    stepper_put(s, N, b.x, b.v, b.mass, 0);
    stepper_advance(s, MIDDLE, 0);
    get_nearest(s, N, then, then_r2);
    removed(s, 1, &gone);
    add(s, 1, x, v, mass);
    get_nearest(s, N, now, now_r2);
    for (int i = 0; i < N; i++) {
        const int k = i > GONE ? i - 1 : i, was = then[i];
        if (i == GONE) continue;
        assert_int_equal(now[k], was == GONE ? -1 : was > GONE ? was - 1 : was);
        assert_true(now_r2[k] == (was == GONE ? INFINITY : then_r2[i]));
    }
    stepper_get(s, SAPPORO_STEP_NOW, N, &after);
    for (int i = 0; i < N - 1; i++) {
        double r2 = 0;
        for (int c = 0; c < 3; c++) r2 += pow(after.x[i][c] - x[0][c], 2);
        if (r2 < least) least = r2, best = i;
    }
    if (now[N - 1] != best || !(fabs(now_r2[N - 1] - least) <= 1e-6 * least))
        fail_msg("%s, order %d: %d at %g, not %d at %g", p->name, order, now[N - 1], now_r2[N - 1], best, least);
    stepper_advance(s, 1, 0);
    sapporo_stepper_destroy(s);
    bodies_free(&b);
}

RUNS(neighbours, stepper_hermite_everywhere(keeps_neighbours))

/* ---- errors ---------------------------------------------------------------------------------------- */

static void refused(sapporo_stepper *s, int status, int wanted, const char *why)
{
    if (status != wanted || !strstr(sapporo_stepper_last_error(s), why))
        fail_msg("%d, not %d: %s", status, wanted, sapporo_stepper_last_error(s));
}

static void test_errors(void **state)
{
    const sapporo_tree_options tree = {.size = sizeof tree, .backend = SAPPORO_BACKEND_CPU, .eps2 = 0.01};
    const sapporo_stepper_options o = stepper_hermite_options(&tree, SAPPORO_STEPS_HERMITE4);
    double x[3][3] = {{0}, {1, 0, 0}, {0, 1, 0}}, mass[3] = {1, 1, 1}, bad[1][3] = {{0, NAN, 0}};
    sapporo_stepper_particles p = {.size = sizeof p, .n = 1, .x = {x, 0}, .v = {x, 0}, .mass = {mass, 0}, .time = 0.5};
    sapporo_stepper *const s = stepper_make(&o, 3);
    int address[2] = {0, 0};
    (void)state;
    refused(s, sapporo_stepper_add(s, &p), SAPPORO_ERR_ARGUMENT, "set them first");
    refused(s, sapporo_stepper_remove(s, 1, address), SAPPORO_ERR_ARGUMENT, "set them first");
    stepper_put(s, 2, x, x, mass, 0.5);
    stepper_get(s, SAPPORO_STEP_OWN, 2, &before);
    refused(s, sapporo_stepper_remove(s, 0, address), SAPPORO_ERR_ARGUMENT, "1 to 1");
    refused(s, sapporo_stepper_remove(s, -1, address), SAPPORO_ERR_ARGUMENT, "1 to 1");
    refused(s, sapporo_stepper_remove(s, 2, address), SAPPORO_ERR_ARGUMENT, "1 to 1");
    refused(s, sapporo_stepper_remove(s, 1, NULL), SAPPORO_ERR_ARGUMENT, "no addresses");
    address[0] = 2;
    refused(s, sapporo_stepper_remove(s, 1, address), SAPPORO_ERR_ARGUMENT,
            "address 2; the stepper has addresses 0 to 1");
    address[0] = -1;
    refused(s, sapporo_stepper_remove(s, 1, address), SAPPORO_ERR_ARGUMENT, "address -1");
    refused(s, sapporo_stepper_add(s, NULL), SAPPORO_ERR_ARGUMENT, "sapporo_stepper_particles");
    p.n = 2;
    refused(s, sapporo_stepper_add(s, &p), SAPPORO_ERR_ARGUMENT, "has room for 1 to 1");
    p.n = 1;
    p.time = 0.25;
    refused(s, sapporo_stepper_add(s, &p), SAPPORO_ERR_ARGUMENT, "present time 0.5");
    p.time = 0.5;
    p.x.base = bad;
    refused(s, sapporo_stepper_add(s, &p), SAPPORO_ERR_NOT_FINITE, "position of particle 0");
    p.x.base = NULL;
    refused(s, sapporo_stepper_add(s, &p), SAPPORO_ERR_ARGUMENT, "without positions");
    p.x.base = x + 2;
    p.memory = SAPPORO_MEMORY_DEVICE;
    refused(s, sapporo_stepper_add(s, &p), SAPPORO_ERR_UNSUPPORTED, "memory");
    p.memory = SAPPORO_MEMORY_HOST;
    stepper_get(s, SAPPORO_STEP_OWN, 2, &after);
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(sapporo_stepper_add(s, &p), SAPPORO_OK);
    refused(s, sapporo_stepper_add(s, &p), SAPPORO_ERR_ARGUMENT, "has room for 1 to 0");
    address[0] = address[1] = 1;
    refused(s, sapporo_stepper_remove(s, 2, address), SAPPORO_ERR_ARGUMENT, "address 1 is there twice");
    sapporo_stepper_destroy(s);
    assert_int_equal(sapporo_stepper_add(s, &p), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_stepper_remove(s, 1, address), SAPPORO_ERR_CLOSED);
}

/* After a particle whose force is not finite, the particles are those before it, and move as if nothing had been. */
static void recovers(const struct place *p, int order, sapporo_step_scheme scheme)
{
    sapporo_tree_options tree;
    const sapporo_stepper_options o = options_at(p, scheme, &tree);
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    double v[1][3] = {{1e308, 1e308, 1e308}}, mass[1] = {1e300};
    sapporo_stepper *const s = stepper_make(&o, N + 1), *const without = stepper_make(&o, N);
    stepper_put(s, N, b.x, b.v, b.mass, 0);
    stepper_put(without, N, b.x, b.v, b.mass, 0);
    stepper_advance(s, MIDDLE, 0);
    const sapporo_stepper_particles q = {
        .size = sizeof q, .n = 1, .x = {b.x, 0}, .v = {v, 0}, .mass = {mass, 0}, .time = sapporo_stepper_get_time(s)};
    refused(s, sapporo_stepper_add(s, &q), SAPPORO_ERR_NOT_FINITE, "not finite");
    stepper_advance(s, 0.5, 0);
    stepper_advance(without, 0.5, 0);
    stepper_get(without, SAPPORO_STEP_OWN, N, &before);
    stepper_get(s, SAPPORO_STEP_OWN, N, &after);
    for (int i = 0; i < N; i++) same_row(p, order, i, i);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(without);
    bodies_free(&b);
}

RUNS(recovery, stepper_hermite_everywhere(recovers))

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_massless),
        cmocka_unit_test(test_massless_hermite),
        cmocka_unit_test(arrival),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_start_hermite),
        cmocka_unit_test(test_mergers),
        cmocka_unit_test(test_mergers_hermite),
        cmocka_unit_test(neighbours),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(recovery),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
