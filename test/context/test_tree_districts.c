/*
 * test_tree_districts.c - trees of so many groups that these share the top of their walks, and samples of particles
 * that come in turns.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model.h"
#include "rng.h"
#include "tree_cases.h"

enum { N = 2100, STRIDE = 7 }; /* of 1,024 groups on there are districts */

static int group_size(void) { return tree_kind == SAPPORO_TREE_KDTREE ? 1 : 2; }

static void check(const bodies *b, const sapporo_tree_options *o, const struct tree_rows *exact, double most99)
{
    sapporo_tree *const t = tree_of(b, o);
    struct tree_rows rows = tree_rows_of(t, NULL, b->n);
    double *const error = tree_errors(&rows, exact, STRIDE), *const pot = tree_pot_errors(&rows, exact, STRIDE);
    const int at99 = (b->n / STRIDE) * 99 / 100;
    tree_below("error of accelerations", error[at99], most99);
    tree_below("error of potentials", pot[at99], most99);
    assert_true(tree_statistics(t).groups >= 1024);
    free(error);
    free(pot);
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
}

/* Errors are those of groups that walk alone: in models of one scale, of several, and with a far part. */
static void forces_on(const struct engine *e)
{
    static const cluster_kind models[] = {CLUSTER_PLUMMER, CLUSTER_CLUMPS, CLUSTER_UNIFORM};
    for (int m = 0; m < 3 && e->backend != SAPPORO_BACKEND_CPU; m++) {
        bodies b = tree_model(models[m], N);
        for (int i = 0; i < N / 4 && m == 2; i++) b.x[4 * i][1] += 3e4;
        const double eps2 = m == 1 ? 1e-4 : 0;
        struct tree_rows exact = tree_exact(&b, eps2, STRIDE);
        for (int k = 0; k < 4; k++) {
            sapporo_tree_options o = tree_on(e);
            o.group_size = group_size();
            o.eps2 = eps2;
            o.mac = k % 2 ? SAPPORO_MAC_ACCELERATION : SAPPORO_MAC_OPENING;
            o.accuracy = k % 2 ? 0.002 : 0.3;
            o.precision = k < 2 ? SAPPORO_SP : SAPPORO_DP;
            o.order = k == 3 ? 1 : 2;
            check(&b, &o, &exact, k == 3 ? 1e-2 : 2e-3);
        }
        tree_rows_free(&exact);
        bodies_free(&b);
    }
}

static void forces(void **state)
{
    (void)state;
    tree_on_each(forces_on);
}

/* A particle far from its district, whose polynomial has no cell, gets a force. */
static void far_one_on(const struct engine *e)
{
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    b.x[7][0] = 1e95;
    sapporo_tree_options o = tree_on(e);
    o.group_size = group_size();
    sapporo_tree *const t = tree_of(&b, &o);
    struct tree_rows rows = tree_rows_of(t, NULL, N);
    for (int i = 0; i < N; i++) assert_true(isfinite(rows.pot[i]) && rows.pot[i] < 0);
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

static void far_one(void **state)
{
    (void)state;
    tree_on_each(far_one_on);
}

/* Particles with tiny accelerations take no cells, although the groups beside theirs take large ones. */
static void strict_ones_on(const struct engine *e)
{
    enum { EACH = 5 };
    static double a[N];
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    struct tree_rows exact = tree_exact(&b, 0, EACH);
    for (int i = 0; i < N; i++) a[i] = i % EACH ? 1e6 : 1e-12;
    sapporo_tree_options o = tree_on(e);
    o.group_size = group_size();
    o.mac = SAPPORO_MAC_ACCELERATION;
    o.accuracy = 0.01;
    sapporo_tree *const t = tree_of(&b, &o);
    const sapporo_tree_particles set = {.size = sizeof set, .n = N, .x = {b.x, 0}, .mass = {b.mass, 0}, .a = {a, 0}};
    assert_int_equal(sapporo_tree_set(t, &set), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    struct tree_rows rows = tree_rows_of(t, NULL, N);
    double *const error = tree_errors(&rows, &exact, EACH);
    tree_below("error of strict ones", error[(N - 1) / EACH], 1e-5);
    assert_true(tree_statistics(t).particle_cell > 0);
    free(error);
    tree_rows_free(&rows);
    tree_rows_free(&exact);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

static void strict_ones(void **state)
{
    (void)state;
    tree_on_each(strict_ones_on);
}

/* There are the interactions of the CPU engine, which has no districts, if no group has a wide bound. */
static void interactions_on(const struct engine *e)
{
    enum { ALL = 12000 };
    rng random;
    bodies b = tree_model(CLUSTER_PLUMMER, ALL);
    sapporo_tree_statistics s[2];
    rng_seed(&random, 25, 0);
    for (int i = 0; i < 3 * ALL; i++) b.x[i / 3][i % 3] = rng_uniform(&random);
    for (int k = 0; k < 2; k++) {
        sapporo_tree_options o = tree_on(e);
        if (k == 0) o.backend = SAPPORO_BACKEND_CPU;
        o.group_size = 2;
        o.accuracy = 0.7;
        sapporo_tree *const t = tree_of(&b, &o);
        struct tree_rows rows = tree_rows_of(t, NULL, ALL);
        s[k] = tree_statistics(t);
        tree_rows_free(&rows);
        sapporo_tree_destroy(t);
    }
    assert_int_equal(s[1].particle_particle, s[0].particle_particle);
    assert_int_equal(s[1].particle_cell, s[0].particle_cell);
    bodies_free(&b);
}

static void interactions(void **state)
{
    (void)state;
    tree_on_each(interactions_on);
}

/* A district whose list has no room leaves its groups to begin at the roots. */
static void without_room_on(const struct engine *e)
{
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    struct tree_rows exact = tree_exact(&b, 0, STRIDE);
    sapporo_tree_options o = tree_on(e);
    o.group_size = group_size();
    o.leaf_size = 1; /* a list has room for 1,022 nodes */
    o.accuracy = 1e-9;
    check(&b, &o, &exact, 1e-6);
    tree_rows_free(&exact);
    bodies_free(&b);
}

static void without_room(void **state)
{
    (void)state;
    tree_on_each(without_room_on);
}

/*
 * Particles of 16 small clusters come in turns, and their number is 16 times that of the sample.  If the sample had one
 * cluster alone, the cube would be as small, and the others each a leaf.
 */
static void in_turns_on(const struct engine *e)
{
    enum { CLUSTERS = 16, ALL = 1024 * CLUSTERS };
    bodies b = tree_model(CLUSTER_PLUMMER, ALL);
    for (int i = 0; i < ALL; i++)
        for (int c = 0; c < 3; c++) b.x[i][c] = 1e-3 * b.x[i][c] + 7 * (i % CLUSTERS);
    sapporo_tree_options o = tree_on(e);
    o.leaf_size = 16;
    sapporo_tree *const t = tree_of(&b, &o);
    assert_int_equal(tree_statistics(t).largest_leaf, 16);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

static void in_turns(void **state)
{
    (void)state;
    tree_on_each(in_turns_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(forces),       TREE_TEST(far_one),      TREE_TEST(strict_ones),
                                       TREE_TEST(interactions), TREE_TEST(without_room), TREE_TEST(in_turns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
