/*
 * test_stepper_lengths.c - steppers whose particles have softening lengths of their own, on every engine: forces and
 * energies against sums in long double, block steps by each particle's own length, files, callers of older headers, and
 * what is refused.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "reference.h"
#include "runs.h"
#include "stepper_places.h"
#include "tree_cases.h"
#include "worst.h"

enum { N = 300, PLUMMER = SAPPORO_SOFTENING_PLUMMER, LARGER = SAPPORO_SOFTENING_SPLINE_LARGER };
enum { MEAN = SAPPORO_SOFTENING_SPLINE_MEAN };

static const double EPS2 = 0.0004, ETA = 0.05, DT = 1.0 / 4;

/* ---- particles ---- */

static bodies b;
static double h[N];

/* A sphere of stars of three kinds of lengths; every tenth is massless. */
static int make_particles(void **state)
{
    static const double lengths[] = {0.3, 0.05, 1.0, 0.02, 0.1};
    (void)state;
    b = tree_model(CLUSTER_PLUMMER, N);
    for (int i = 0; i < N; i++) {
        h[i] = lengths[i % 5];
        if (i % 10 == 3) b.mass[i] = 0;
    }
    return 0;
}

static int drop_particles(void **state)
{
    (void)state;
    bodies_free(&b);
    return 0;
}

static sapporo_stepper_particles particles_with(const double *lengths)
{
    return (sapporo_stepper_particles){.size = sizeof(sapporo_stepper_particles),
                                       .n = N,
                                       .x = {b.x, 0},
                                       .v = {b.v, 0},
                                       .mass = {b.mass, 0},
                                       .time = 2,
                                       .h = {lengths, 0}};
}

static void put(sapporo_stepper *s, const double *lengths)
{
    const sapporo_stepper_particles p = particles_with(lengths);
    if (sapporo_stepper_set(s, &p)) fail_msg("%s", sapporo_stepper_last_error(s));
}

/* ---- steppers: all pairs, in double, of a softening ---- */

static sapporo_tree_options tree_at(const struct place *p, int softening)
{
    sapporo_tree_options o = stepper_tree_at(p, sqrt(EPS2));
    o.mac = SAPPORO_MAC_OPENING;
    o.accuracy = 1e-9;
    o.precision = SAPPORO_DP;
    o.softening = (sapporo_softening)softening;
    return o;
}

static sapporo_stepper *blocks(const struct place *p, const sapporo_tree_options *tree)
{
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .method = p->method,
                                       .tree = tree,
                                       .scheme = SAPPORO_STEPS_BLOCK,
                                       .dt = DT,
                                       .eta = ETA,
                                       .levels = 12};
    return stepper_make(&o, N);
}

/* Calls a test with each softening. */
static void each_law(const struct place *p, void (*test)(const struct place *p, int softening))
{
    for (int law = PLUMMER; law <= (int)MEAN; law++) test(p, law);
}

/* ---- the reference ---- */

/* Potential and acceleration over distance of a pair of unit mass. */
static void pair(int softening, real r, double hi, double hj, real *pot, real *acc)
{
    if (softening == PLUMMER) {
        const real r2 = r * r + (real)EPS2 + (real)hi * hi + (real)hj * hj;
        *pot = -1 / sqrtl(r2);
        *acc = 1 / (r2 * sqrtl(r2));
        return;
    }
    reference_spline_pair(softening == MEAN, r, hi, hj, pot, acc);
}

/* The largest error of a row, over the sums of the sizes of the terms; *exact: the potential. */
static double error_of(int softening, const struct stepper_state *s, int i, real *exact)
{
    real sum[3] = {0, 0, 0}, size = 0, depth = 0;
    *exact = 0;
    for (int j = 0; j < N; j++) {
        real d[3], r2 = 0, pot, acc;
        if (j == i) continue;
        for (int c = 0; c < 3; c++) d[c] = (real)s->x[j][c] - s->x[i][c], r2 += d[c] * d[c];
        pair(softening, sqrtl(r2), h[i], h[j], &pot, &acc);
        for (int c = 0; c < 3; c++) sum[c] += b.mass[j] * acc * d[c];
        *exact += b.mass[j] * pot;
        depth += fabsl(b.mass[j] * pot);
        size += b.mass[j] * acc * sqrtl(r2);
    }
    double worst = (double)(fabsl(s->pot[i] - *exact) / depth);
    for (int c = 0; c < 3; c++) worst = worst_of(worst, (double)(fabsl(s->acc[i][c] - sum[c]) / size));
    return worst;
}

/* ---- forces, and energy ---- */

/* Sums in double have errors of some units in the last place of 1; measured: 1e-15. */
static const double ROUNDING = 1e-14;

/* Compares particles that end a step now; returns their number. */
static int compare(const struct place *p, int softening, sapporo_stepper *s, double *potential)
{
    static struct stepper_state at;
    const double now = sapporo_stepper_get_time(s);
    int active = 0;
    stepper_get(s, SAPPORO_STEP_NOW, N, &at);
    *potential = 0;
    for (int i = 0; i < N; i++) {
        real exact;
        const double error = error_of(softening, &at, i, &exact);
        *potential += (double)(b.mass[i] * exact / 2);
        if (at.own_time[i] != now) continue;
        active++;
        if (!(error <= ROUNDING)) fail_msg("%s, softening %d: error %.1e of row %d", p->name, softening, error, i);
    }
    return active;
}

static void forces_of(const struct place *p, int softening)
{
    const sapporo_tree_options tree = tree_at(p, softening);
    sapporo_stepper *s = blocks(p, &tree);
    double potential;
    int parts = 0;
    put(s, h);
    assert_int_equal(compare(p, softening, s, &potential), N);
    for (int step = 0; step < 40 && parts < 3; step++) {
        stepper_advance(s, INFINITY, 1);
        const sapporo_stepper_statistics f = stepper_figures(s);
        if (f.active == N) continue;
        parts++;
        assert_int_equal(compare(p, softening, s, &potential), f.active);
        const double error = fabs(stepper_totals(s).potential / potential - 1);
        if (!(error <= ROUNDING)) fail_msg("%s, softening %d: error %.1e of the energy", p->name, softening, error);
    }
    assert_int_equal(parts, 3);
    sapporo_stepper_destroy(s);
}

static void forces_at(const struct place *p) { each_law(p, forces_of); }

RUNS(forces, stepper_everywhere(forces_at, 0))

/* ---- block steps by acceleration ---- */

/* The first level of a particle is the coarsest whose step is short enough for its own length. */
static void levels_of(const struct place *p, int softening)
{
    static struct stepper_state at;
    const sapporo_tree_options tree = tree_at(p, softening);
    sapporo_stepper *s = blocks(p, &tree);
    int different = 0;
    put(s, h);
    stepper_get(s, SAPPORO_STEP_NOW, N, &at);
    for (int i = 0; i < N; i++) {
        const double a = sqrt(at.acc[i][0] * at.acc[i][0] + at.acc[i][1] * at.acc[i][1] + at.acc[i][2] * at.acc[i][2]);
        const double eps = softening == PLUMMER ? sqrt(EPS2 + 2 * h[i] * h[i]) : h[i] / 2.8;
        int level = 0;
        while (level < 11 && !(pow(DT / (1 << level), 2) * a <= 2 * ETA * eps)) level++;
        if (at.level[i] != level)
            fail_msg("%s, softening %d: level %d of particle %d, not %d", p->name, softening, at.level[i], i, level);
        different += at.level[i] != at.level[0];
    }
    if (different < N / 10) fail_msg("%s, softening %d: %d levels differ", p->name, softening, different);
    sapporo_stepper_destroy(s);
}

static void levels_at(const struct place *p) { each_law(p, levels_of); }

RUNS(levels, stepper_everywhere(levels_at, 0))

/* ---- lengths that all particles share ---- */

/* Without a column, lengths of a spline are the root of eps2; Plummer's equal lengths are a common softening. */
static void shared_of(const struct place *p, int softening)
{
    static struct stepper_state common, own;
    double equal[N];
    sapporo_tree_options tree = tree_at(p, softening);
    tree.eps2 = 1.0 / 1024;
    for (int i = 0; i < N; i++) equal[i] = softening == PLUMMER ? 1.0 / 64 : 1.0 / 32;
    sapporo_stepper *s = blocks(p, &tree);
    tree.eps2 = softening == PLUMMER ? 1.0 / 2048 : 1.0 / 1024;
    sapporo_stepper *t = blocks(p, &tree);
    put(s, NULL);
    put(t, equal);
    stepper_advance(s, INFINITY, 5);
    stepper_advance(t, INFINITY, 5);
    stepper_get(s, SAPPORO_STEP_NOW, N, &common);
    stepper_get(t, SAPPORO_STEP_NOW, N, &own);
    if (memcmp(&common, &own, sizeof own) != 0) fail_msg("%s, softening %d: other bits", p->name, softening);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(t);
}

static void shared_at(const struct place *p) { each_law(p, shared_of); }

RUNS(shared, stepper_everywhere(shared_at, 0))

/* ---- outputs and files ---- */

static void get_lengths(sapporo_stepper *s, double *to)
{
    const sapporo_stepper_output o = {.size = sizeof o, .n = N, .h = to};
    if (sapporo_stepper_get(s, &o)) fail_msg("%s", sapporo_stepper_last_error(s));
}

/* Returns the version in the head of a file. */
static uint32_t version_of(const char *path)
{
    uint32_t head[4] = {0};
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    const int is_read = fread(head, sizeof head, 1, file) == 1;
    assert_int_equal(fclose(file), 0);
    assert_true(is_read);
    return head[3];
}

static void go_on(sapporo_stepper *s, struct stepper_state *at, double *lengths)
{
    stepper_advance(s, INFINITY, 7);
    stepper_get(s, SAPPORO_STEP_NOW, N, at);
    get_lengths(s, lengths);
}

/* A run goes on from a file with the same bytes, in a stepper that had no particles, and in one that had others. */
static void files_of(const struct place *p, int softening)
{
    static struct stepper_state first, again;
    char folder[] = "/tmp/sapporo_lengths.XXXXXX", path[64];
    double got[N];
    const sapporo_tree_options tree = tree_at(p, softening);
    sapporo_stepper *s = blocks(p, &tree), *t = blocks(p, &tree);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    put(s, h);
    stepper_advance(s, INFINITY, 6);
    assert_int_equal(sapporo_stepper_save(s, path), SAPPORO_OK);
    assert_int_equal(version_of(path), 7);
    go_on(s, &first, got);
    assert_memory_equal(got, h, sizeof got);
    for (int k = 0; k < 2; k++) {
        if (sapporo_stepper_restore(t, path)) fail_msg("%s: %s", p->name, sapporo_stepper_last_error(t));
        go_on(t, &again, got);
        if (memcmp(&first, &again, sizeof again) != 0) fail_msg("%s, softening %d: other bytes", p->name, softening);
        assert_memory_equal(got, h, sizeof got);
        put(t, NULL);
    }
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(t);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void files_at(const struct place *p) { each_law(p, files_of); }

RUNS(files, stepper_everywhere(files_at, 0))

/* Without lengths a file has a version of its own, and lengths are 0; callers of older headers read and write no
 * lengths. */
static void older_at(const struct place *p)
{
    char folder[] = "/tmp/sapporo_lengths.XXXXXX", path[64];
    const sapporo_tree_options tree = tree_at(p, PLUMMER);
    sapporo_stepper *s = blocks(p, &tree), *t = blocks(p, &tree);
    sapporo_stepper_particles particles = particles_with(h);
    double got[N], kept[N];
    particles.size = offsetof(sapporo_stepper_particles, h);
    assert_int_equal(sapporo_stepper_set(s, &particles), SAPPORO_OK);
    get_lengths(s, got);
    for (int i = 0; i < N; i++) assert_true(got[i] == 0);
    for (int i = 0; i < N; i++) kept[i] = got[i] = 7;
    const sapporo_stepper_output o = {.size = offsetof(sapporo_stepper_output, h), .n = N, .h = got};
    assert_int_equal(sapporo_stepper_get(s, &o), SAPPORO_OK);
    assert_memory_equal(got, kept, sizeof got);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    assert_int_equal(sapporo_stepper_save(s, path), SAPPORO_OK);
    assert_int_equal(version_of(path), 6);
    put(t, h);
    assert_int_equal(sapporo_stepper_restore(t, path), SAPPORO_OK);
    get_lengths(t, got);
    for (int i = 0; i < N; i++) assert_true(got[i] == 0);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(t);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

RUNS(older, stepper_everywhere(older_at, 0))

/* ---- what is refused ---- */

static void refuse(sapporo_stepper *s, const double *lengths, int status, const char *words)
{
    const sapporo_stepper_particles p = particles_with(lengths);
    assert_int_equal(sapporo_stepper_set(s, &p), status);
    if (!strstr(sapporo_stepper_last_error(s), words)) fail_msg("%s", sapporo_stepper_last_error(s));
}

/* Bad lengths are refused by name, and the particles before stay, with theirs. */
static void refused_at(const struct place *p)
{
    static const double bad[] = {-0.1, NAN, INFINITY, 1e101};
    sapporo_tree_options tree = tree_at(p, p->method == SAPPORO_STEP_DIRECT ? PLUMMER : LARGER);
    sapporo_stepper *s = blocks(p, &tree);
    double other[N], got[N];
    put(s, h);
    memcpy(other, h, sizeof other);
    for (int k = 0; k < 4; k++) {
        other[17] = bad[k];
        refuse(s, other, SAPPORO_ERR_NOT_FINITE, "h of particle 17");
    }
    other[17] = 0;
    if (tree.softening) refuse(s, other, SAPPORO_ERR_ARGUMENT, "particle 17");
    get_lengths(s, got);
    assert_memory_equal(got, h, sizeof got);
    stepper_advance(s, INFINITY, 2);
    sapporo_stepper_destroy(s);
    tree.softening = SAPPORO_SOFTENING_PLUMMER;
    tree.eps2 = 0;
    s = blocks(p, &tree);
    refuse(s, NULL, SAPPORO_ERR_ARGUMENT, "particle 0");
    refuse(s, other, SAPPORO_ERR_ARGUMENT, "particle 17");
    put(s, h);
    sapporo_stepper_destroy(s);
}

RUNS(refused, stepper_everywhere(refused_at, 0))

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forces), cmocka_unit_test(levels), cmocka_unit_test(shared),
                                       cmocka_unit_test(files),  cmocka_unit_test(older),  cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, make_particles, drop_particles);
}
