/* test_kdtree.c - the builder of kd-trees: order of nodes, best planes by brute force, difficult particles, threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bodies.h"
#include "engine/kdtree.h"
#include "physics/ops_scalar.h"
#include "physics/tree_split.h"
#include "sapporo.h"
#include "tree_cases.h"
#include "worst.h"

/* A tree under test. */
struct grown {
    struct sap_kd_builder kd;
    struct sap_tree_nodes cells;
    double low[3], high[3];
    int leaf_size;
};

static struct grown grow(const bodies *b, int leaf_size, int levels, int threads)
{
    struct grown g = {.leaf_size = leaf_size};
    sap_split_empty(g.low, g.high);
    for (int i = 0; i < b->n; i++) sap_split_widen(g.low, g.high, b->x[i]);
    const struct sap_kd_input in = {.n = b->n,
                                    .x = b->x[0],
                                    .mass = b->mass,
                                    .x_stride = 3,
                                    .mass_stride = 1,
                                    .mass_unit = 0.5,
                                    .low = g.low,
                                    .high = g.high,
                                    .leaf_size = leaf_size,
                                    .levels = levels};
    assert_int_equal(sap_kd_reserve(&g.kd, b->n), SAPPORO_OK);
    assert_int_equal(sap_kd_build(&g.kd, &in, &g.cells, threads), SAPPORO_OK);
    return g;
}

static void fell(struct grown *g)
{
    sap_kd_free(&g->kd);
    free(g->cells.node);
}

/* ---- splits, by brute force ---------------------------------------------------------- */

static const double *place_of(const struct grown *g, int k) { return g->kd.point[k].x; }

/* Volume of the tight box times the mass of the particles of a node on one side of a plane. */
static long double side_cost(const struct grown *g, const struct sap_kd_node *f, int axis, double plane, int high)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    long double mass = 0, volume = 1;
    for (int k = f->first; k < f->first + f->count; k++) {
        const double *const x = place_of(g, k);
        if ((x[axis] >= plane) != high) continue;
        mass += g->kd.point[k].weight;
        for (int c = 0; c < 3; c++) low[c] = fmin(low[c], x[c]), upper[c] = larger_of(upper[c], x[c]);
    }
    for (int c = 0; c < 3; c++) volume *= (long double)upper[c] - low[c];
    return volume * mass;
}

static long double cost(const struct grown *g, const struct sap_kd_node *f, int axis, double plane)
{
    return side_cost(g, f, axis, plane, 0) + side_cost(g, f, axis, plane, 1);
}

/* The tight box of a node; returns its longest axis, or -1: it has no extent. */
static int axis_of(const struct grown *g, const struct sap_kd_node *f, double *low, double *high)
{
    int axis = 0;
    for (int c = 0; c < 3; c++) low[c] = high[c] = place_of(g, f->first)[c];
    for (int k = f->first; k < f->first + f->count; k++)
        for (int c = 0; c < 3; c++) {
            low[c] = fmin(low[c], place_of(g, k)[c]);
            high[c] = larger_of(high[c], place_of(g, k)[c]);
        }
    for (int c = 1; c < 3; c++)
        if (high[c] - low[c] > high[axis] - low[axis]) axis = c;
    return high[axis] > low[axis] ? axis : -1;
}

static void range_of(const struct grown *g, const struct sap_kd_node *f, int axis, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int k = f->first; k < f->first + f->count; k++) {
        *low = fmin(*low, place_of(g, k)[axis]);
        *high = larger_of(*high, place_of(g, k)[axis]);
    }
}

/* Checks the split of a node, which lies so high that no halving is due. */
static void check_split(const struct grown *g, const struct sap_kd_node *f, const struct sap_kd_node *a,
                        const struct sap_kd_node *b)
{
    double low[3], high[3], alow, ahigh, blow, bhigh;
    const int axis = axis_of(g, f, low, high);
    assert_true(axis >= 0);
    range_of(g, a, axis, &alow, &ahigh);
    range_of(g, b, axis, &blow, &bhigh);
    assert_true(ahigh < blow || bhigh < alow); /* equal coordinates are on one side */
    const double plane = ahigh < blow ? blow : alow, below = ahigh < blow ? ahigh : bhigh;
    if (f->count >= SAP_SPLIT_LARGE) {
        const double middle = low[axis] + 0.5 * (high[axis] - low[axis]);
        assert_true(below < middle && middle <= plane);
        return;
    }
    const long double chosen = cost(g, f, axis, plane);
    for (int k = f->first; k < f->first + f->count; k++)
        if (place_of(g, k)[axis] > low[axis])
            assert_true(chosen <= cost(g, f, axis, place_of(g, k)[axis]) * (1 + 1e-12L));
}

/* ---- the depth-first array ----------------------------------------------------------- */

/* Checks all nodes; `splits`: their planes, too.  Returns the level of the deepest node. */
static int check_nodes(const struct grown *g, int n, int splits)
{
    const struct sap_kd_node *const node = g->kd.node;
    int *const level = zeroed((size_t)g->kd.nodes + 1, sizeof *level), deepest = 0;
    assert_true(node[0].first == 0 && node[0].count == n && node[0].size == g->kd.nodes);
    for (int k = 0; k < g->kd.nodes; k++) {
        const struct sap_kd_node *const f = &node[k];
        deepest = level[k] > deepest ? level[k] : deepest;
        if (f->size == 1) {
            double low[3], high[3];
            assert_true(f->count <= g->leaf_size || axis_of(g, f, low, high) < 0);
            continue;
        }
        const struct sap_kd_node *const a = f + 1, *const b = a + a->size;
        assert_true(f->count > g->leaf_size && f->size == 1 + a->size + b->size && k + f->size <= g->kd.nodes);
        assert_true(a->first == f->first && b->first == a->first + a->count && a->count > 0 && b->count > 0);
        assert_int_equal(a->count + b->count, f->count);
        level[k + 1] = level[b - node] = level[k] + 1;
        if (splits) check_split(g, f, a, b);
    }
    free(level);
    return deepest;
}

static void check_particles(const struct grown *g, const bodies *b)
{
    int *const seen = zeroed((size_t)b->n + 1, sizeof *seen);
    for (int k = 0; k < b->n; k++) {
        const struct sap_kd_point *const p = &g->kd.point[k];
        assert_in_range(p->address, 0, b->n - 1);
        assert_int_equal(seen[p->address]++, 0);
        assert_memory_equal(p->x, b->x[p->address], sizeof p->x);
    }
    free(seen);
}

/* Checks that cells are runs of the depth-first array, breadth first, with the right links. */
static void check_cells(const struct grown *g, int most)
{
    const struct sap_tree_nodes *const c = &g->cells;
    assert_true(c->levels <= SAP_TREE_LEVELS && c->level_first[0] == 0 && c->level_first[c->levels] == c->nodes);
    for (int level = 0; level < c->levels; level++)
        for (int k = c->level_first[level]; k < c->level_first[level + 1]; k++) {
            const struct sap_tree_node *const f = &c->node[k];
            int at = f->first;
            assert_true(f->level == level && f->children <= most && f->children != 1);
            for (int j = f->child; j < f->child + f->children; j++) {
                const struct sap_tree_node *const child = &c->node[j];
                assert_true(j > k && child->first == at && child->count > 0);
                assert_int_equal(child->next, j + 1 < f->child + f->children ? j + 1 : f->next);
                at += child->count;
            }
            assert_int_equal(at, f->children ? f->first + f->count : f->first);
        }
}

/* Returns the level of the deepest node. */
static int check(const bodies *b, int leaf_size, int splits)
{
    int deepest = 0;
    for (int levels = 1; levels <= 3; levels += 2) {
        struct grown g = grow(b, leaf_size, levels, 1);
        deepest = check_nodes(&g, b->n, splits);
        check_particles(&g, b);
        check_cells(&g, 1 << levels);
        fell(&g);
    }
    assert_in_range(deepest, 0, SAP_SPLIT_DEPTH);
    return deepest;
}

static void models(void **state)
{
    static const cluster_kind kinds[] = {CLUSTER_UNIFORM, CLUSTER_PLUMMER, CLUSTER_HERNQUIST, CLUSTER_CLUMPS};
    static const int leaves[] = {1, 16, 300};
    (void)state;
    for (int m = 0; m < 4; m++) {
        bodies b = tree_model(kinds[m], 2000);
        for (int l = 0; l < 3; l++) (void)check(&b, leaves[l], 1);
        bodies_free(&b);
    }
}

static void few(void **state)
{
    (void)state;
    for (int n = 2; n < 20; n++) {
        bodies b = tree_model(CLUSTER_PLUMMER, n);
        (void)check(&b, 1, 1);
        (void)check(&b, 4, 1);
        bodies_free(&b);
    }
}

/* ---- particles that are difficult for a tree ------------------------------------------- */

static void degenerate(void **state)
{
    (void)state;
    for (int what = 0; what < TREE_INPUTS; what++) {
        bodies b = tree_input((enum tree_input)what, 700);
        const int deepest = check(&b, 1, 1);
        assert_true(what != TREE_ONE_POINT || deepest == 0);
        bodies_free(&b);
    }
}

/* The smallest and largest extents: no plane is lost to rounding. */
static void extents(void **state)
{
    static const double sizes[] = {5e-324, 1e-310, 1e-200, 1e100, 1};
    (void)state;
    for (int s = 0; s < 5; s++) {
        bodies b = tree_model(CLUSTER_UNIFORM, 600);
        for (int i = 0; i < b.n; i++)
            for (int c = 0; c < 3; c++) {
                b.x[i][c] = (double)((i * (c + 3) + c) % 11 - 5) / 5 * sizes[s];
                if (s == 4) b.x[i][c] = 1 + (double)((i * (c + 3)) % 3) * 0x1p-52; /* neighbours in double */
            }
        (void)check(&b, 1, s > 1 && s < 3); /* products of the others leave the range even of long double */
        bodies_free(&b);
    }
}

/* Distances that halve again and again: as deep as allowed, no deeper. */
static void deep(void **state)
{
    (void)state;
    for (int each = 1; each <= 12; each += 11) {
        bodies b = tree_model(CLUSTER_UNIFORM, 2000);
        for (int i = 0; i < b.n; i++) {
            for (int c = 0; c < 3; c++) b.x[i][c] = 0;
            b.x[i][i % 3] = pow(2, -(double)(i % 1000) / each);
        }
        const int deepest = check(&b, 1, 0);
        assert_int_equal(deepest, SAP_SPLIT_DEPTH);
        bodies_free(&b);
    }
}

/* The threads change no bit. */
static void threads(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_HERNQUIST, 20000);
    struct grown one = grow(&b, 4, 3, 1), four = grow(&b, 4, 3, 4);
    assert_int_equal(one.kd.nodes, four.kd.nodes);
    assert_memory_equal(one.kd.node, four.kd.node, (size_t)one.kd.nodes * sizeof *one.kd.node);
    for (int k = 0; k < b.n; k++) assert_int_equal(one.kd.point[k].address, four.kd.point[k].address);
    assert_int_equal(one.cells.nodes, four.cells.nodes);
    assert_memory_equal(one.cells.node, four.cells.node, (size_t)one.cells.nodes * sizeof *one.cells.node);
    fell(&one);
    fell(&four);
    bodies_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models),  cmocka_unit_test(few),  cmocka_unit_test(degenerate),
                                       cmocka_unit_test(extents), cmocka_unit_test(deep), cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
