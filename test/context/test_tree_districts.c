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
#include "tree_cases.h"

enum { N = 2100, STRIDE = 7 }; /* of 1,024 groups on there are districts */

static int group_size(void) { return tree_kind == SAPPORO_TREE_KDTREE ? 1 : 2; }

static sapporo_tree_statistics statistics_of(sapporo_tree *t)
{
    sapporo_tree_statistics s = {.size = sizeof s};
    assert_int_equal(sapporo_tree_get_statistics(t, &s), SAPPORO_OK);
    return s;
}

static void check(const bodies *b, const sapporo_tree_options *o, const struct tree_rows *exact, double most99)
{
    sapporo_tree *const t = tree_of(b, o);
    struct tree_rows rows = tree_rows_of(t, NULL, b->n);
    double *const error = tree_errors(&rows, exact, STRIDE), *const pot = tree_pot_errors(&rows, exact, STRIDE);
    const int at99 = (b->n / STRIDE) * 99 / 100;
    tree_below("error of accelerations", error[at99], most99);
    tree_below("error of potentials", pot[at99], most99);
    assert_true(statistics_of(t).groups >= 1024);
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
        for (int c = 0; c < 3; c++)
            b.x[i][c] = 1e-3 * b.x[i][c] + (c == 0 ? 7.0 * (i % CLUSTERS / 4) : c == 1 ? i % 4 : 0);
    sapporo_tree_options o = tree_on(e);
    o.leaf_size = 16;
    sapporo_tree *const t = tree_of(&b, &o);
    assert_int_equal(statistics_of(t).largest_leaf, 16);
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
    const struct CMUnitTest tests[] = {TREE_TEST(forces), TREE_TEST(without_room), TREE_TEST(in_turns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
