/* test_tree_edges.c - trees of few, coincident, far, tiny, massless particles; invalid input, which changes nothing. */
#define _XOPEN_SOURCE 700 /* getrlimit */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "sanitized.h"
#include "tree_cases.h"

enum { N = 1500 };

static sapporo_tree_options options(void)
{
    sapporo_tree_options o = tree_on(engine_any());
    o.precision = SAPPORO_SP;
    return o;
}

/* The default size of leaves. */
static int leaf_size(void) { return tree_kind == SAPPORO_TREE_KDTREE ? 8 : 16; }

/* Every criterion must keep 99 % of a model's particles below `most99`, and be finite for all. */
static void expect_errors(const bodies *b, double eps2, double most99)
{
    struct tree_rows exact = tree_exact(b, eps2, 1);
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++)
        for (int order = 1; order <= 2; order++) {
            sapporo_tree_options o = options();
            o.mac = mac;
            o.order = order;
            o.eps2 = eps2;
            sapporo_tree *t = tree_of(b, &o);
            tree_check_structure(t, b, leaf_size());
            struct tree_rows rows = tree_rows_of(t, NULL, b->n);
            double *error = tree_errors(&rows, &exact, 1);
            if (!(error[b->n * 99 / 100] <= most99 && isfinite(error[b->n - 1])))
                fail_msg("criterion %d, order %d: errors %g and %g", (int)mac, order, error[b->n * 99 / 100],
                         error[b->n - 1]);
            free(error);
            tree_rows_free(&rows);
            sapporo_tree_destroy(t);
        }
    tree_rows_free(&exact);
}

static bodies plummer(int n) { return tree_model(CLUSTER_PLUMMER, n); }

/* ---- how many ---------------------------------------------------------------------- */

static void few(void **state)
{
    (void)state;
    static const int SIZES[] = {2, 3, 15, 16, 17, 63, 64, 65, 300};
    for (size_t k = 0; k < sizeof SIZES / sizeof SIZES[0]; k++) {
        bodies b = plummer(SIZES[k]);
        /* of few particles 99 % are all: this is a bound of the largest error, which kd-trees have a larger one of */
        expect_errors(&b, 0, tree_kind == SAPPORO_TREE_KDTREE ? 3e-2 : 2e-2);
        bodies_free(&b);
    }
}

static void none_and_one(void **state)
{
    (void)state;
    const sapporo_tree_options o = options();
    double x[1][3] = {{1, 2, 3}}, mass[1] = {5}, acc[2][3] = {{7, 7, 7}, {7, 7, 7}}, pot[2] = {7, 7};
    const double at[2][3] = {{1, 2, 3}, {1, 2, 5}};
    const sapporo_tree_particles p = {.size = sizeof p, .n = 1, .x = {x, 0}, .mass = {mass, 0}},
                                 empty = {.size = sizeof empty};
    const sapporo_tree_request own = {.size = sizeof own, .ni = 1},
                               places = {.size = sizeof places, .ni = 2, .x = {at, 0}};
    sapporo_tree *t;
    assert_int_equal(sapporo_tree_create(&o, 1, &t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_force(t, &own, acc, pot), SAPPORO_ERR_ARGUMENT); /* no tree yet */
    assert_true(isnan(acc[0][0]) && isnan(pot[0]) && pot[1] == 7);
    assert_int_equal(sapporo_tree_set(t, &empty), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_force(t, &places, acc, pot), SAPPORO_OK);
    assert_true(acc[0][0] == 0 && acc[1][2] == 0 && pot[0] == 0 && pot[1] == 0);
    const double nowhere[2][3] = {{1, NAN, 3}, {1, 2, 5}};
    const sapporo_tree_request bad = {.size = sizeof bad, .ni = 2, .x = {nowhere, 0}};
    assert_int_equal(sapporo_tree_force(t, &bad, acc, pot), SAPPORO_PARTIAL);
    assert_true(isnan(acc[0][0]) && isnan(pot[0]) && acc[1][2] == 0 && pot[1] == 0);
    assert_int_equal(sapporo_tree_force(t, &own, acc, pot), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_force(t, &own, acc, pot), SAPPORO_OK);
    assert_true(acc[0][0] == 0 && pot[0] == 0);
    assert_int_equal(sapporo_tree_force(t, &places, acc, pot), SAPPORO_OK);
    assert_true(acc[0][2] == 0 && fabs(acc[1][2] + 1.25) < 1e-6 && fabs(pot[1] + 2.5) < 1e-6 && pot[0] == 0);
    sapporo_tree_destroy(t);
    sapporo_tree_destroy(NULL);
}

/* ---- where ---------------------------------------------------------------------------- */

static void one_place(void **state)
{
    (void)state;
    bodies b = plummer(200);
    for (int soft = 0; soft < 2; soft++) {
        sapporo_tree_options o = options();
        o.eps2 = soft;
        for (int i = 0; i < b.n; i++)
            for (int c = 0; c < 3; c++) b.x[i][c] = 0.3;
        sapporo_tree *t = tree_of(&b, &o);
        tree_check_structure(t, &b, leaf_size());
        struct tree_rows rows = tree_rows_of(t, NULL, b.n);
        for (int i = 0; i < b.n; i++) {
            assert_true(rows.acc[i][0] == 0 && rows.acc[i][1] == 0 && rows.acc[i][2] == 0);
            assert_true(fabs(rows.pot[i] - soft * (b.mass[i] - 1)) < 1e-6);
        }
        tree_rows_free(&rows);
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

/* Pairs far closer than the keys tell apart, and one exactly upon another. */
static void close_pairs(void **state)
{
    (void)state;
    bodies b = plummer(N);
    for (int i = 0; i < N; i += 10)
        for (int c = 0; c < 3; c++) b.x[i + 1][c] = b.x[i][c] + (i % 20 ? 0 : 1e-9 * (c + 1));
    expect_errors(&b, 0, 2e-2);
    expect_errors(&b, 1e-4, 2e-2);
    bodies_free(&b);
}

static void sizes(void **state)
{
    (void)state;
    static const double SCALES[] = {1e-30, 1e30, 1e-60, 1e60};
    for (int k = 0; k < 4; k++) {
        bodies b = plummer(500);
        for (int i = 0; i < b.n; i++) {
            b.mass[i] *= SCALES[k] * SCALES[k];
            for (int c = 0; c < 3; c++) b.x[i][c] *= SCALES[k];
        }
        expect_errors(&b, 0, 2e-2);
        bodies_free(&b);
    }
}

static void far_from_the_origin(void **state)
{
    (void)state;
    bodies b = plummer(500);
    for (int i = 0; i < b.n; i++) b.x[i][0] += 1e6;
    expect_errors(&b, 1e-4, 2e-2);
    bodies_free(&b);
}

/* Places far beyond the range of float feel all mass at the centre. */
static void far_places(void **state)
{
    (void)state;
    bodies b = plummer(500);
    for (int soft = 0; soft < 2; soft++) {
        sapporo_tree_options o = options();
        o.eps2 = soft * 1e-4;
        sapporo_tree *t = tree_of(&b, &o);
        double at[3][3] = {{1e12, 0, 0}, {0, 1e30, 0}, {0, 0, -1e45}}, acc[3][3], pot[3];
        const sapporo_tree_request places = {.size = sizeof places, .ni = 3, .x = {at, 0}};
        assert_int_equal(sapporo_tree_force(t, &places, acc, pot), SAPPORO_OK);
        for (int k = 0; k < 3; k++) {
            const double r = fabs(at[k][k]);
            assert_true(fabs(fabs(acc[k][k]) * r * r - 1) < 1e-6 && acc[k][k] * at[k][k] < 0);
            assert_true(fabs(pot[k] * r + 1) < 1e-6);
        }
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

/* Forces stay good, and cells stay small: escapers must not make a direct sum of it all. */
static void escapers(void **state)
{
    (void)state;
    static const double FAR[] = {1e3, 1e6, 1e12, 1e30};
    for (int k = 0; k < 4; k++) {
        bodies b = plummer(N);
        b.x[3][0] = FAR[k];
        b.x[700][1] = -FAR[k];
        b.x[1400][2] = 0.7 * FAR[k];
        b.x[1400][0] = FAR[k];
        expect_errors(&b, 1e-4, 2e-2);
        sapporo_tree_options o = options();
        o.eps2 = 1e-4;
        sapporo_tree *t = tree_of(&b, &o);
        struct tree_rows rows = tree_rows_of(t, NULL, b.n);
        const sapporo_tree_statistics s = tree_statistics(t);
        assert_true(s.largest_leaf <= leaf_size() && s.particle_particle < (long long)N * N * 17 / 20);
        tree_rows_free(&rows);
        sapporo_tree_destroy(t);
        bodies_free(&b);
    }
}

static void masses(void **state)
{
    (void)state;
    bodies b = plummer(N);
    for (int i = 0; i < N / 2; i++) b.mass[i] = 0;
    struct tree_rows exact = tree_exact(&b, 1e-4, 1);
    sapporo_tree_options o = options();
    o.eps2 = 1e-4;
    for (int sign = 0; sign < 3; sign++) {
        for (int i = 0; i < N; i++)
            b.mass[i] = sign == 1 ? -fabs(b.mass[i]) : sign == 2 && i % 2 ? -b.mass[i] : b.mass[i];
        tree_rows_free(&exact);
        exact = tree_exact(&b, o.eps2, 1);
        sapporo_tree *t = tree_of(&b, &o);
        struct tree_rows rows = tree_rows_of(t, NULL, N);
        double *error = tree_errors(&rows, &exact, 1);
        tree_below("masses of one sign or both", error[N * 99 / 100], 2e-2);
        free(error);
        tree_rows_free(&rows);
        sapporo_tree_destroy(t);
    }
    tree_rows_free(&exact);
    for (int i = 0; i < N; i++) b.mass[i] = 0;
    sapporo_tree *t = tree_of(&b, &o);
    struct tree_rows rows = tree_rows_of(t, NULL, N);
    for (int i = 0; i < N; i++) assert_true(rows.acc[i][0] == 0 && rows.pot[i] == 0);
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/* ---- bad input -------------------------------------------------------------------------- */

static void expect_words(const sapporo_tree *t, const char *words)
{
    if (!strstr(sapporo_tree_last_error(t), words)) fail_msg("'%s' without '%s'", sapporo_tree_last_error(t), words);
}

static void not_finite(void **state)
{
    (void)state;
    static const double BAD[] = {NAN, INFINITY, -INFINITY, 1e101};
    bodies b = plummer(100);
    sapporo_tree_options o = options();
    sapporo_tree *t = tree_of(&b, &o);
    struct tree_rows before = tree_rows_of(t, NULL, 100);
    sapporo_tree_particles p = {.size = sizeof p, .n = 100, .x = {b.x, 0}, .mass = {b.mass, 0}};
    for (int k = 0; k < 4; k++) {
        const double was = b.x[17][1];
        b.x[17][1] = BAD[k];
        b.x[5][0] += 0.1;
        assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_ERR_NOT_FINITE);
        expect_words(t, "particle 17");
        b.x[17][1] = was;
        b.x[5][0] -= 0.1;
    }
    b.mass[33] = NAN;
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_ERR_NOT_FINITE);
    expect_words(t, "mass of particle 33");
    struct tree_rows after = tree_rows_of(t, NULL, 100);
    assert_true(same_doubles(before.acc[0], after.acc[0], 300) && same_doubles(before.pot, after.pot, 100));
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK); /* of what was taken last: nothing of the bad calls */
    tree_rows_free(&after);
    after = tree_rows_of(t, NULL, 100);
    assert_true(same_doubles(before.acc[0], after.acc[0], 300));
    double at[3][3] = {{0, 0, 1}, {0, NAN, 0}, {1, 0, 0}};
    const sapporo_tree_request places = {.size = sizeof places, .ni = 3, .x = {at, 0}};
    assert_int_equal(sapporo_tree_force(t, &places, after.acc, after.pot), SAPPORO_PARTIAL);
    assert_true(isfinite(after.pot[0]) && isnan(after.pot[1]) && isnan(after.acc[1][2]) && isfinite(after.acc[2][0]));
    tree_rows_free(&before);
    tree_rows_free(&after);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

static void active_lists(void **state)
{
    (void)state;
    bodies b = plummer(400);
    sapporo_tree_options o = options();
    sapporo_tree *t = tree_of(&b, &o);
    int active[700];
    double acc[700][3] = {{7}}, pot[700] = {7};
    sapporo_tree_request r = {.size = sizeof r, .active = active};
    assert_int_equal(sapporo_tree_force(t, &r, acc, pot), SAPPORO_OK);
    assert_true(acc[0][0] == 7 && pot[0] == 7);
    for (int k = 0; k < 700; k++) active[k] = 13; /* more rows than a group has lanes */
    r.ni = 700;
    assert_int_equal(sapporo_tree_force(t, &r, acc, pot), SAPPORO_OK);
    struct tree_rows all = tree_rows_of(t, NULL, 400);
    for (int k = 0; k < 700; k++) assert_true(same_doubles(acc[k], acc[0], 3) && pot[k] == pot[0]);
    if (sapporo_tree_get_backend(t) == SAPPORO_BACKEND_CPU) /* others walk alone where few are active */
        assert_true(same_doubles(acc[0], all.acc[13], 3) && pot[0] == all.pot[13]);
    assert_true(fabs(pot[0] / all.pot[13] - 1) < 1e-2);
    for (int bad = -1; bad <= 400; bad += 401) {
        active[2] = bad;
        r.ni = 4;
        assert_int_equal(sapporo_tree_force(t, &r, acc, pot), SAPPORO_ERR_ARGUMENT);
        expect_words(t, "active[2]");
        assert_true(isnan(acc[0][0]) && isnan(pot[3]) && isfinite(pot[4]));
    }
    r = (sapporo_tree_request){.size = sizeof r, .ni = 401};
    assert_int_equal(sapporo_tree_force(t, &r, acc, pot), SAPPORO_ERR_ARGUMENT);
    r.ni = -1;
    assert_int_equal(sapporo_tree_force(t, &r, acc, pot), SAPPORO_ERR_ARGUMENT);
    r = (sapporo_tree_request){.size = sizeof r, .ni = 1, .memory = SAPPORO_MEMORY_DEVICE};
    tree_rows_free(&all);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

static void other_arguments(void **state)
{
    (void)state;
    bodies b = plummer(50);
    sapporo_tree_options o = options();
    sapporo_tree *t = tree_of(&b, &o), *none = t;
    sapporo_tree_particles p = {.size = sizeof p, .n = 51, .x = {b.x, 0}, .mass = {b.mass, 0}};
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_ERR_ARGUMENT);
    p.n = -1;
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_ERR_ARGUMENT);
    p = (sapporo_tree_particles){.size = sizeof p, .n = 49, .x = {b.x, 0}};
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_ERR_ARGUMENT); /* of whom are the masses? */
    p.mass.base = b.mass;
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_ERR_ARGUMENT); /* the tree is of 50 */
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    sapporo_tree_destroy(t);
    assert_int_equal(sapporo_tree_create(&o, -1, &none), SAPPORO_ERR_ARGUMENT);
    assert_null(none);
    for (int k = 0; k < 6; k++) {
        o = options();
        if (k == 0) o.order = 3;
        if (k == 1) o.accuracy = NAN;
        if (k == 2) o.eps2 = -1;
        if (k == 3) o.leaf_size = 1025;
        if (k == 4) o.group_size = -1;
        if (k == 5) o.size = 1;
        assert_int_equal(sapporo_tree_create(&o, 1, &none), SAPPORO_ERR_ARGUMENT);
        assert_true(sapporo_tree_last_error(NULL)[0] != 0);
        assert_true(sapporo_tree_memory_needed(&o, 100, NULL) == 0);
    }
    o = options();
    o.kind = SAPPORO_TREE_KDTREE + 1;
    assert_int_equal(sapporo_tree_create(&o, 1, &none), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_tree_build(NULL), SAPPORO_ERR_CLOSED);
    bodies_free(&b);
}

/* Too little memory is told with the bytes that are missing, and what there was stays. */
static void too_little_memory(void **state)
{
    (void)state;
    enum { TOO_MANY = 100000000 };
    struct rlimit was;
    sapporo_tree_options o = options();
    o.backend = SAPPORO_BACKEND_CPU; /* trees of devices keep no particles on the host */
    const size_t bytes = sapporo_tree_memory_needed(&o, TOO_MANY, NULL);
    char words[32];
    if (SANITIZED || getrlimit(RLIMIT_AS, &was)) skip();
    bodies b = plummer(100);
    sapporo_tree *t = tree_of(&b, &o), *large;
    struct tree_rows before = tree_rows_of(t, NULL, 100);
    const struct rlimit little = {bytes / 2, was.rlim_max};
    (void)snprintf(words, sizeof words, "%zu bytes", bytes);
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    const int status = sapporo_tree_create(&o, TOO_MANY, &large);
    assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
    assert_true(bytes > (size_t)TOO_MANY);
    assert_int_equal(status, SAPPORO_ERR_MEMORY);
    assert_null(large);
    if (!strstr(sapporo_last_error(NULL), words)) fail_msg("'%s'", sapporo_last_error(NULL));
    struct tree_rows after = tree_rows_of(t, NULL, 100);
    assert_true(same_doubles(before.acc[0], after.acc[0], 300));
    tree_rows_free(&before);
    tree_rows_free(&after);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/* Options of a client of a shorter struct; and growth of memory with n. */
static void memory(void **state)
{
    (void)state;
    sapporo_tree_options o = options();
    size_t device = 0, twice = 0;
    const size_t some = sapporo_tree_memory_needed(&o, 10000000, &device) + device;
    assert_true(some > 1000000000 && some < 6000000000);
    assert_true(sapporo_tree_memory_needed(&o, 20000000, &twice) + twice > some * 19 / 10);
    sapporo_tree *t;
    o.size = offsetof(sapporo_tree_options, order);
    assert_int_equal(sapporo_tree_create(&o, 10, &t), SAPPORO_OK);
    sapporo_tree_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(few),
                                       TREE_TEST(none_and_one),
                                       TREE_TEST(one_place),
                                       TREE_TEST(close_pairs),
                                       TREE_TEST(sizes),
                                       TREE_TEST(far_from_the_origin),
                                       TREE_TEST(far_places),
                                       TREE_TEST(escapers),
                                       TREE_TEST(masses),
                                       TREE_TEST(not_finite),
                                       TREE_TEST(active_lists),
                                       TREE_TEST(other_arguments),
                                       TREE_TEST(too_little_memory),
                                       TREE_TEST(memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
