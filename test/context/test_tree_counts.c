/*
 * test_tree_counts.c - what trees count: interactions of a force on all particles, on some and at positions, groups
 * that take double, groups of a part of a whole, and neighbours in spheres whose surface touches particles.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "context/tree_part.h"
#include "model.h"
#include "tree_cases.h"

enum { N = 600, SIDE = 7 };

static sapporo_tree_options options(void)
{
    sapporo_tree_options o = tree_on(engine_any());
    o.precision = SAPPORO_SP;
    return o;
}

/* ---- interactions -------------------------------------------------------------------- */

/* Without cells, each row meets all particles but itself; a failed force leaves the numbers of the last one. */
static void interactions(void **state)
{
    enum { SOME = 37 };
    static double acc[N + 1][3]; /* the refused force writes NaN into all rows that it names */
    int active[SOME];
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    (void)state;
    for (int i = 0; i < SOME; i++) active[i] = (i * 211 + 5) % N;
    for (int group = 1; group <= 64; group *= 8) {
        sapporo_tree_options o = options();
        o.accuracy = 1e-9;
        o.group_size = group;
        sapporo_tree *const t = tree_of(&b, &o);
        const sapporo_tree_request all = {.size = sizeof all, .ni = N}, bad = {.size = sizeof bad, .ni = N + 1},
                                   some = {.size = sizeof some, .ni = SOME, .active = active},
                                   at = {.size = sizeof at, .ni = SOME, .x = {b.x, 0}},
                                   *const request[] = {&some, &all, &at};
        for (int k = 0; k < 3; k++) {
            const long long rows = request[k]->ni, each = k < 2 ? N - 1 : N;
            assert_int_equal(sapporo_tree_force(t, request[k], acc, NULL), SAPPORO_OK);
            sapporo_tree_statistics s = tree_statistics(t);
            assert_true(s.rows == rows && s.particle_cell == 0);
            if (s.particle_particle != rows * each) /* a walk may meet the particle itself */
                fail_msg("request %d: %lld for %lld", k, s.particle_particle, rows * each);
            assert_int_equal(sapporo_tree_force(t, &bad, acc, NULL), SAPPORO_ERR_ARGUMENT);
            s = tree_statistics(t);
            assert_true(s.rows == rows && s.particle_particle == rows * each);
        }
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

/* ---- groups -------------------------------------------------------------------------- */

/*
 * Of a lattice no group takes double; with pairs that float does not resolve, each group does that has one.  The
 * particles of a pair follow each other along the curve of an octree; in a kd-tree they may not, and then their targets
 * take double one by one.
 */
static void wide_groups(void **state)
{
    enum { PAIRS = 3 };
    static const int twin[PAIRS] = {0, SIDE * SIDE * SIDE / 2, SIDE * SIDE * SIDE - 1};
    bodies b = tree_model(CLUSTER_PLUMMER, SIDE * SIDE * SIDE + PAIRS);
    (void)state;
    for (int pairs = 0; pairs <= PAIRS; pairs++) {
        bodies some = b;
        some.n = SIDE * SIDE * SIDE + pairs;
        for (int i = 0; i < some.n; i++) {
            const int at = i < SIDE * SIDE * SIDE ? i : twin[i - SIDE * SIDE * SIDE];
            const int place[3] = {at % SIDE, at / SIDE % SIDE, at / SIDE / SIDE};
            for (int c = 0; c < 3; c++) b.x[i][c] = place[c];
            if (at != i) b.x[i][0] += 0x1p-40;
        }
        sapporo_tree_options o = options();
        o.group_size = 8;
        sapporo_tree *const t = tree_of(&some, &o);
        const sapporo_tree_statistics s = tree_statistics(t);
        const int least = tree_kind == SAPPORO_TREE_OCTREE ? pairs : 0;
        if (sapporo_tree_get_backend(t) == SAPPORO_BACKEND_CPU && (s.wide_groups < least || s.wide_groups > pairs))
            fail_msg("%d groups of %d take double, for %d pairs", s.wide_groups, s.groups, pairs);
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

/*
 * On the CPU engine, a part of a whole has its groups where one tree of all parts would: behind `before` particles of
 * other parts the first group ends at a whole number of groups, and so does each other one but the last.
 */
static void groups_of_parts(void **state)
{
    enum { GROUP = 64 };
    static const long long before[] = {0, 1, 20, 63, 64, 100, 3000000007LL};
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    int group[N];
    (void)state;
    for (int n = 30; n <= N; n += N - 30)
        for (size_t k = 0; k <= sizeof before / sizeof before[0]; k++) {
            const int alone = k == sizeof before / sizeof before[0], behind = alone ? 0 : (int)(before[k] % GROUP);
            const int first = (GROUP - behind) % GROUP, rest = n > first ? n - first : 0;
            const double low[3] = {-100, -100, -100}, high[3] = {100, 100, 100};
            static double sample[3][SAP_CUBE_SAMPLE];
            struct sap_tree_whole whole = {.cube = sap_cube_of(low, high, sample, 0),
                                           .low = {-100, -100, -100},
                                           .high = {100, 100, 100},
                                           .weight = 1,
                                           .before = alone ? 20 : before[k],
                                           .pull = 1};
            sapporo_tree_options o = options();
            bodies some = b;
            some.n = n;
            o.backend = SAPPORO_BACKEND_CPU;
            o.kind = SAPPORO_TREE_OCTREE;
            o.group_size = GROUP;
            sapporo_tree *const t = tree_of(&some, &o);
            assert_int_equal(sap_part_join(t, &whole), SAPPORO_OK);
            if (alone) assert_int_equal(sap_part_join(t, NULL), SAPPORO_OK); /* a whole again */
            assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
            struct sap_tree_structure s = {0};
            assert_int_equal(sap_part_structure(t, &s), SAPPORO_OK);
            assert_true(s.n == n && s.groups == (first > 0) + (rest + GROUP - 1) / GROUP);
            tree_groups_of(t, group);
            for (int j = 0; j < n; j++) assert_int_equal(group[j], (j + behind) / GROUP);
            sapporo_tree_destroy(t);
        }
    bodies_free(&b);
}

/* ---- neighbours ------------------------------------------------------------------------ */

/* The squared distance of two positions whose coordinates are integers. */
static long long distance2(const double *x, const double *y)
{
    long long r2 = 0;
    for (int c = 0; c < 3; c++) r2 += (long long)(x[c] - y[c]) * (long long)(x[c] - y[c]);
    return r2;
}

/*
 * Spheres whose surface goes through a particle, about positions on a line through it along an axis, where the particle
 * is the nearest point of its own leaf: it is a neighbour if the radius is the next number, and not by the distance
 * itself.  All squares are exact.
 */
static void touching(void **state)
{
    enum { PLACES = 6 * N };
    static double at[PLACES][3], h[PLACES];
    static long long first[PLACES + 1];
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    int *const list = zeroed((size_t)PLACES * N, sizeof *list);
    (void)state;
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) b.x[i][c] = fmod(floor(b.x[i][c] * 0x1p16), 0x1p20);
    for (int beyond = 0; beyond < 2; beyond++) {
        sapporo_tree_options o = options();
        o.leaf_size = beyond ? 1 : 8;
        sapporo_tree *const t = tree_of(&b, &o);
        for (int k = 0; k < PLACES; k++) {
            const double d = 1 + k * 37 % 5003;
            memcpy(at[k], b.x[k / 6], sizeof at[k]);
            at[k][k % 3] += k % 6 < 3 ? d : -d;
            h[k] = beyond ? nextafter(d, INFINITY) : d;
        }
        const sapporo_column x = {at, 0}, radius = {h, 0};
        assert_int_equal(sapporo_tree_neighbours(t, PLACES, x, radius, first, (long long)PLACES * N, list), SAPPORO_OK);
        for (int k = 0; k < PLACES; k++) {
            const long long most = (1 + k * 37 % 5003) * (1 + k * 37 % 5003LL) + beyond;
            long long seen = first[k];
            for (int j = 0; j < N; j++)
                if (distance2(b.x[j], at[k]) < most && (seen >= first[k + 1] || list[seen++] != j))
                    fail_msg("%d is not where it should be among the neighbours of %d", j, k);
            assert_true(seen == first[k + 1]);
        }
        sapporo_tree_destroy(t);
    }
    free(list);
    bodies_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(interactions), TREE_TEST(wide_groups),
                                       cmocka_unit_test(groups_of_parts), TREE_TEST(touching)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
