/*
 * test_tree_limits.c - calls of a tree at both ends of what their arguments may be, with the numbers that errors name;
 * a call that is refused changes no bit of the forces that follow.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sapporo.h"
#include "tree_cases.h"

enum { N = 20, PLACES = 3 };

static double x[N + 1][3], mass[N + 1], size_of_a[N + 1], h[N + 1];

/* Particles, with one that is NaN behind the last. */
static void make_particles(void)
{
    for (int i = 0; i <= N; i++) {
        for (int c = 0; c < 3; c++) x[i][c] = i == N ? (double)NAN : sin(1 + 2.7 * i + c * (1.3 + i));
        mass[i] = i == N ? (double)NAN : 1 + 0.25 * i;
        size_of_a[i] = i == N ? (double)NAN : 2 + 0.1 * i;
        h[i] = i == N ? (double)NAN : 0.1 + 0.01 * i;
    }
}

static sapporo_tree *made(sapporo_softening softening)
{
    const sapporo_tree_options o = {.size = sizeof o,
                                    .backend = SAPPORO_BACKEND_CPU,
                                    .mac = SAPPORO_MAC_ACCELERATION,
                                    .softening = softening,
                                    .eps2 = 0.01,
                                    .threads = 1};
    sapporo_tree *t = NULL;
    sapporo_print_errors(0);
    assert_int_equal(sapporo_tree_create(&o, N, &t), SAPPORO_OK);
    make_particles();
    return t;
}

static sapporo_tree_particles particles_of(int n)
{
    return (sapporo_tree_particles){
        .size = sizeof(sapporo_tree_particles), .n = n, .x = {x, 0}, .mass = {mass, 0}, .a = {size_of_a, 0}};
}

static void expect_error(sapporo_tree *t, int status, int expected, const char *words)
{
    assert_int_equal(status, expected);
    if (!strstr(sapporo_tree_last_error(t), words))
        fail_msg("'%s' does not say '%s'", sapporo_tree_last_error(t), words);
}

static void set(sapporo_tree *t, int n, int lengths)
{
    sapporo_tree_particles p = particles_of(n);
    if (lengths) p.h.base = h;
    if (sapporo_tree_set(t, &p)) fail_msg("%s", sapporo_tree_last_error(t));
}

/* Forces on n particles after a refresh. */
static void refreshed(sapporo_tree *t, int n, double (*acc)[3])
{
    const sapporo_tree_request r = {.size = sizeof r, .ni = n};
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_force(t, &r, acc, NULL), SAPPORO_OK);
}

/* ---- particles -------------------------------------------------------------------------------------- */

/* Each number of each particle at both ends; of several that are wrong the first is named, and all old ones stay. */
static void numbers(void **state)
{
    static const double wrong[] = {NAN, INFINITY, -INFINITY};
    double before[N][3], after[N][3];
    (void)state;
    sapporo_tree *const t = made(SAPPORO_SOFTENING_SPLINE_LARGER);
    set(t, N, 1);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    refreshed(t, N, before);
    for (int k = 0; k < N * 6; k++) {
        const int i = k / 6, c = k % 6;
        double *const at = c < 3 ? &x[i][c] : c == 3 ? &mass[i] : c == 4 ? &size_of_a[i] : &h[i], kept = *at;
        sapporo_tree_particles p = particles_of(N);
        char words[96];
        p.h.base = h;
        (void)snprintf(words, sizeof words, "%s of particle %d is not finite%s",
                       c < 3    ? "position"
                       : c == 3 ? "mass"
                       : c == 4 ? "acceleration"
                                : "h",
                       i,
                       c < 3    ? ", or beyond 1e100"
                       : c == 5 ? ", negative, or beyond 1e100"
                                : "");
        for (int w = 0; w < 4; w++) {
            *at = w < 3 ? wrong[w] : c < 3 ? -1.0001e100 : c == 5 ? -1e-300 : (double)NAN;
            x[N - 1][1] += i < N - 1 ? (double)NAN : 0;
            expect_error(t, sapporo_tree_set(t, &p), SAPPORO_ERR_NOT_FINITE, words);
            x[N - 1][1] = sin(1 + 2.7 * (N - 1) + 1.3 + N - 1);
        }
        *at = kept;
    }
    make_particles();
    refreshed(t, N, after);
    assert_memory_equal(before, after, sizeof before);
    sapporo_tree_particles p = particles_of(N);
    p.h.base = h;
    x[3][1] = -1e100, h[4] = 1e100, h[5] = 0, mass[6] = -7;
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
    sapporo_tree_destroy(t);
}

static void set_columns(sapporo_tree *t, const double *at, ptrdiff_t stride, const double *m, ptrdiff_t m_stride)
{
    const sapporo_tree_particles p = {.size = sizeof p, .n = N, .x = {at, stride}, .mass = {m, m_stride}};
    if (sapporo_tree_set(t, &p)) fail_msg("%s", sapporo_tree_last_error(t));
}

/*
 * Positions and masses, at which engines look themselves: with gaps they give the bits of those without; of several
 * that are wrong the first is named, and all old ones stay; a set without masses keeps them.
 */
static void columns_on(const struct engine *e)
{
    const sapporo_tree_options o = tree_on(e);
    double before[N][3], after[N][3], row[N][5];
    sapporo_tree *t = NULL;
    assert_int_equal(sapporo_tree_create(&o, N, &t), SAPPORO_OK);
    make_particles();
    set_columns(t, x[0], 0, mass, 0);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    refreshed(t, N, before);
    for (int k = 0; k < N * 4; k++) {
        const int i = k / 4, c = k % 4, later = (i + N) / 2;
        double *const at = c < 3 ? &x[i][c] : &mass[i], kept = *at;
        const sapporo_tree_particles p = {.size = sizeof p, .n = N, .x = {x, 0}, .mass = {mass, 0}};
        char words[64];
        (void)snprintf(words, sizeof words, "%s of particle %d is not finite", c < 3 ? "position" : "mass", i);
        *at = c == 1 ? 1.0001e100 : (double)NAN;
        const double other_mass = mass[later], other_x = x[later][0];
        if (later > i) mass[later] = x[later][0] = INFINITY;
        expect_error(t, sapporo_tree_set(t, &p), SAPPORO_ERR_NOT_FINITE, words);
        if (later > i) mass[later] = other_mass, x[later][0] = other_x;
        *at = kept;
        refreshed(t, N, after);
        assert_memory_equal(before, after, sizeof before);
    }
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < 3; c++) row[i][c + 1] = x[i][c];
        row[i][0] = mass[i], row[i][4] = NAN;
    }
    set_columns(t, &row[0][1], sizeof row[0], row[0], sizeof row[0]);
    refreshed(t, N, after);
    assert_memory_equal(before, after, sizeof before);
    set_columns(t, &row[N - 1][1], -(ptrdiff_t)sizeof row[0], NULL, 0); /* in reverse, with the masses in order */
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) x[i][c] = row[N - 1 - i][c + 1];
    refreshed(t, N, before);
    set_columns(t, x[0], 0, mass, 0);
    refreshed(t, N, after);
    assert_memory_equal(before, after, sizeof before);
    sapporo_tree_destroy(t);
}

static void columns(void **state)
{
    (void)state;
    tree_on_each(columns_on);
}

/* Numbers of particles, columns that are absent, memory. */
static void sets(void **state)
{
    sapporo_tree *const t = made(SAPPORO_SOFTENING_PLUMMER);
    sapporo_tree_particles p = particles_of(N);
    (void)state;
    expect_error(t, sapporo_tree_refresh(t), SAPPORO_ERR_ARGUMENT, "there is no tree of 0 particles to be refreshed");
    set(t, N, 0);
    p.n = N + 1;
    expect_error(t, sapporo_tree_set(t, &p), SAPPORO_ERR_ARGUMENT, "21 particles; the tree was created for 0 to 20");
    p.n = -1;
    expect_error(t, sapporo_tree_set(t, &p), SAPPORO_ERR_ARGUMENT, "-1 particles; the tree was created for 0 to 20");
    p = particles_of(N);
    p.x.base = NULL;
    expect_error(t, sapporo_tree_set(t, &p), SAPPORO_ERR_ARGUMENT, "particles without positions");
    p = particles_of(N - 1);
    p.mass.base = NULL;
    expect_error(t, sapporo_tree_set(t, &p), SAPPORO_ERR_ARGUMENT, "19 particles without masses, and the last were 20");
    p = particles_of(N);
    p.memory = (sapporo_memory)2;
    expect_error(t, sapporo_tree_set(t, &p), SAPPORO_ERR_ARGUMENT, "memory is 2; it may be 0 or 1");
    p.memory = (sapporo_memory)-1;
    expect_error(t, sapporo_tree_set(t, &p), SAPPORO_ERR_ARGUMENT, "memory is -1; it may be 0 or 1");
    p.memory = SAPPORO_MEMORY_DEVICE;
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_ERR_UNSUPPORTED);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    p = particles_of(N);
    p.mass.base = NULL;
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
    set(t, N - 1, 0);
    expect_error(t, sapporo_tree_refresh(t), SAPPORO_ERR_ARGUMENT, "there is no tree of 19 particles to be refreshed");
    sapporo_tree_destroy(t);
}

/* Lengths stay while the number of particles does. */
static void lengths(void **state)
{
    double with[N][3], kept[N][3];
    sapporo_tree *const t = made(SAPPORO_SOFTENING_SPLINE_LARGER);
    const sapporo_tree_particles bare = particles_of(N - 1);
    (void)state;
    set(t, N, 1);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    refreshed(t, N, with);
    for (int k = 0; k < 2; k++) {
        set(t, N, 0);
        refreshed(t, N, kept);
        assert_memory_equal(with, kept, sizeof with);
        expect_error(t, sapporo_tree_set(t, &bare), SAPPORO_ERR_ARGUMENT,
                     "19 particles without h, and the last were 20");
    }
    set(t, N - 1, 1);
    set(t, N - 1, 0);
    sapporo_tree_destroy(t);
}

/* ---- forces --------------------------------------------------------------------------------------------- */

static void requests(void **state)
{
    enum { ROWS = 25 };
    double acc[ROWS][3], all[N][3];
    int active[ROWS];
    (void)state;
    sapporo_tree *const t = made(SAPPORO_SOFTENING_PLUMMER);
    sapporo_tree_request r = {.size = sizeof r, .ni = 1};
    set(t, N, 0);
    expect_error(t, sapporo_tree_force(t, &r, acc, NULL), SAPPORO_ERR_ARGUMENT, "there is no tree: build it first");
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    refreshed(t, N, all);
    r.ni = -1;
    expect_error(t, sapporo_tree_force(t, &r, acc, NULL), SAPPORO_ERR_ARGUMENT, "ni is -1");
    r.ni = N + 1;
    expect_error(t, sapporo_tree_force(t, &r, acc, NULL), SAPPORO_ERR_ARGUMENT, "ni is 21; the tree has 20 particles");
    for (int i = 0; i <= N; i++) assert_true(isnan(acc[i][0]) && isnan(acc[i][2]));
    r.active = active;
    r.ni = ROWS;
    for (int k = 0; k < 2 * ROWS; k++) {
        char words[80];
        for (int i = 0; i < ROWS; i++) active[i] = (i * 7 + 3) % N;
        assert_int_equal(sapporo_tree_force(t, &r, acc, NULL), SAPPORO_OK);
        for (int i = 0; i < ROWS; i++)
            for (int c = 0; c < 3; c++)
                assert_true(fabs(acc[i][c] - all[active[i]][c]) < 1e-6 * (1 + fabs(all[active[i]][c])));
        active[k / 2] = k % 2 ? N : -1;
        (void)snprintf(words, sizeof words, "active[%d] is %d; the tree has particles 0 to 19", k / 2, active[k / 2]);
        expect_error(t, sapporo_tree_force(t, &r, acc, NULL), SAPPORO_ERR_ARGUMENT, words);
    }
    r.x.base = x;
    expect_error(t, sapporo_tree_force(t, &r, acc, NULL), SAPPORO_ERR_ARGUMENT, "both places and active particles");
    r.active = NULL;
    r.h.base = h;
    expect_error(t, sapporo_tree_force(t, &r, acc, NULL), SAPPORO_ERR_ARGUMENT,
                 "places with h, and particles of the tree");
    r = (sapporo_tree_request){.size = sizeof r, .ni = 1, .memory = (sapporo_memory)2};
    expect_error(t, sapporo_tree_force(t, &r, acc, NULL), SAPPORO_ERR_ARGUMENT, "memory is 2; it may be 0 or 1");
    sapporo_tree_destroy(t);
}

static int neighbours(sapporo_tree *t, const double (*at)[3], const double *radius, long long *first, int *list)
{
    return sapporo_tree_neighbours(t, PLACES, (sapporo_column){at, 0}, (sapporo_column){radius, 0}, first, N, list);
}

/* Each place and radius that is wrong is named; rows behind the last are not read; a radius may be 0 or infinite. */
static void searches(void **state)
{
    static const double wrong[] = {NAN, INFINITY, -1.0001e100};
    double at[PLACES + 1][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {NAN, NAN, NAN}}, radius[PLACES + 1] = {0, 0, 0, NAN};
    long long first[PLACES + 2];
    int list[N];
    char words[64];
    (void)state;
    sapporo_tree *const t = made(SAPPORO_SOFTENING_PLUMMER);
    set(t, N, 0);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    for (int i = 0; i < PLACES; i++)
        for (int k = 0; k < 12; k++) {
            double *const number = k < 9 ? &at[i][k / 3] : &radius[i], kept = *number;
            *number = k < 9 ? wrong[k % 3] : k == 9 ? (double)NAN : k == 10 ? -1e-300 : -(double)INFINITY;
            (void)snprintf(words, sizeof words, "place %d is not finite or beyond 1e100", i);
            memset(first, 0x42, sizeof first);
            expect_error(t, neighbours(t, (const double(*)[3])at, radius, first, list), SAPPORO_ERR_ARGUMENT, words);
            assert_true(first[0] == 0 && first[PLACES] == 0 && first[PLACES + 1] != 0);
            *number = kept;
        }
    assert_int_equal(neighbours(t, (const double(*)[3])at, radius, first, list), SAPPORO_OK);
    assert_true(first[0] == 0 && first[PLACES] == 0);
    radius[1] = INFINITY;
    assert_int_equal(neighbours(t, (const double(*)[3])at, radius, first, list), SAPPORO_OK);
    assert_true(first[1] == 0 && first[2] == N && first[3] == N);
    for (int i = 0; i < N; i++) assert_int_equal(list[i], i);
    radius[2] = INFINITY;
    assert_int_equal(neighbours(t, (const double(*)[3])at, radius, first, list), SAPPORO_TRUNCATED);
    assert_true(first[3] == 2 * N);
    sapporo_tree_destroy(t);
}

/* ---- when trees are built ---------------------------------------------------------------------------------- */

static void factors(void **state)
{
    static const double wrong[] = {0.999, -1, NAN, -INFINITY}, right[] = {0, 1, 1.15, INFINITY};
    int built;
    (void)state;
    sapporo_tree *const t = made(SAPPORO_SOFTENING_PLUMMER);
    set(t, N, 0);
    for (int k = 0; k < 4; k++) {
        char words[64];
        built = 7;
        (void)snprintf(words, sizeof words, "factor is %g; it may be 0, or 1 or more", wrong[k]);
        expect_error(t, sapporo_tree_refresh_or_build(t, wrong[k], &built), SAPPORO_ERR_ARGUMENT, words);
        assert_int_equal(built, 0);
    }
    for (int k = 0; k < 4; k++) {
        set(t, N - k, 0);
        for (int turn = 0; turn < 3; turn++) {
            assert_int_equal(sapporo_tree_refresh_or_build(t, right[k], &built), SAPPORO_OK);
            assert_int_equal(built, turn == 0);
        }
    }
    assert_int_equal(sapporo_tree_refresh_or_build(t, 0, NULL), SAPPORO_OK);
    sapporo_tree_destroy(t);
}

/* Interactions per row of the first force on at least half of the particles after a build, and of no other force. */
static void first_forces(void **state)
{
    double acc[N][3];
    sapporo_tree_request r = {.size = sizeof r, .ni = N / 2 - 1}, at = {.size = sizeof at, .ni = N, .x = {x, 0}};
    (void)state;
    sapporo_tree *const t = made(SAPPORO_SOFTENING_PLUMMER);
    set(t, N, 0);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
        assert_true(tree_statistics(t).first_interactions == 0 && tree_statistics(t).n == N);
        assert_int_equal(sapporo_tree_force(t, &at, acc, NULL), SAPPORO_OK);
        r.ni = N / 2 - 1;
        assert_int_equal(sapporo_tree_force(t, &r, acc, NULL), SAPPORO_OK);
        assert_true(tree_statistics(t).first_interactions == 0 && tree_statistics(t).rows == N / 2 - 1);
        r.ni = N / 2;
        assert_int_equal(sapporo_tree_force(t, &r, acc, NULL), SAPPORO_OK);
        const sapporo_tree_statistics f = tree_statistics(t);
        assert_true(f.rows == N / 2 &&
                    fabs(f.first_interactions * N / 2 - (double)(f.particle_particle + f.particle_cell)) < 1e-9);
        r.ni = N - 1;
        assert_int_equal(sapporo_tree_force(t, &r, acc, NULL), SAPPORO_OK);
        assert_true(tree_statistics(t).first_interactions == f.first_interactions && tree_statistics(t).rows == N - 1);
    }
    sapporo_tree_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers),  TREE_TEST(columns),
                                       cmocka_unit_test(sets),     cmocka_unit_test(lengths),
                                       cmocka_unit_test(requests), cmocka_unit_test(searches),
                                       cmocka_unit_test(factors),  cmocka_unit_test(first_forces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
