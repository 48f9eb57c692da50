/* test_tree_groups.c - groups of the CPU engine's trees: which particles they have, and what that saves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bodies.h"
#include "context/tree_part.h"
#include "cpu/tree/cpu_tree.h"
#include "sapporo.h"
#include "tree_cases.h"
#include "worst.h"

/* Memory for the groups of n particles; every element behind the last group keeps a mark. */
enum { MARK = -77, SPARE = 4 };

static size_t room_of(const struct sap_cpu_tree *t)
{
    return 2 * ((size_t)t->own.n / (size_t)t->settings.group_size) + 2;
}

static struct sap_cpu_tree cut(const bodies *b, sapporo_tree_kind kind, int leaf_size, int group_size)
{
    struct sap_cpu_tree t = {.own.n = b->n,
                             .settings = {.kind = kind, .leaf_size = leaf_size, .group_size = group_size}};
    struct sap_tree_nodes cells = {0};
    const struct sap_cpu_box box = sap_cpu_tree_box_of((const double(*)[3])b->x, b->n, 1);
    const struct sap_kd_input in = {.n = b->n,
                                    .x = b->x[0],
                                    .mass = b->mass,
                                    .x_stride = 3,
                                    .mass_stride = 1,
                                    .mass_unit = 1,
                                    .low = box.low,
                                    .high = box.high,
                                    .leaf_size = leaf_size,
                                    .levels = 3};
    assert_int_equal(sap_kd_reserve(&t.builder.kd, b->n), SAPPORO_OK);
    assert_int_equal(sap_kd_build(&t.builder.kd, &in, &cells, 1), SAPPORO_OK);
    free(cells.node);
    const size_t room = room_of(&t) + SPARE;
    t.group = zeroed(room, sizeof *t.group);
    t.group_of = zeroed((size_t)b->n + 1, sizeof *t.group_of);
    for (size_t g = 0; g < room; g++) t.group[g].first = MARK;
    sap_cpu_tree_cut_groups(&t, 1);
    return t;
}

static void drop(struct sap_cpu_tree *t)
{
    sap_kd_free(&t->builder.kd);
    free(t->group);
    free(t->group_of);
}

/* Each particle is in one group, in order; no group is too large, and no two that follow each other would fit in one.
 */
static void check_groups(const struct sap_cpu_tree *t, int most, int packed)
{
    int at = 0;
    for (int g = 0; g < t->self.groups; g++) {
        const struct sap_cpu_group *const group = &t->group[g];
        assert_int_equal(group->first, at);
        assert_in_range(group->count, 1, most);
        for (int k = 0; k < group->count; k++) assert_int_equal(t->group_of[at++], g);
        if (packed && g > 0) assert_true(group->count + group[-1].count > most);
    }
    assert_int_equal(at, t->own.n);
    assert_in_range(t->self.groups, 1, room_of(t));
    for (size_t g = (size_t)t->self.groups; g < room_of(t) + SPARE; g++) assert_int_equal(t->group[g].first, MARK);
}

/* A node that fits into a group is in one group; a leaf that does not has groups of its own, but for its last run. */
static void check_nodes(const struct sap_cpu_tree *t, int most)
{
    for (int k = 0; k < t->builder.kd.nodes; k++) {
        const struct sap_kd_node *const node = &t->builder.kd.node[k];
        const int first = t->group_of[node->first], last = t->group_of[node->first + node->count - 1];
        if (node->count <= most) assert_int_equal(first, last);
        if (node->count > most && node->size == 1) assert_int_equal(t->group[first].first, node->first);
    }
}

static void nodes(void **state)
{
    static const int sizes[][2] = {{8, 64}, {1, 1}, {1, 2}, {16, 5}, {40, 16}, {1, 256}, {1024, 64}};
    static const cluster_kind models[] = {CLUSTER_UNIFORM, CLUSTER_PLUMMER, CLUSTER_CLUMPS};
    (void)state;
    for (size_t m = 0; m < 3; m++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            bodies b = tree_model(models[m], 3000);
            struct sap_cpu_tree t = cut(&b, SAPPORO_TREE_KDTREE, sizes[s][0], sizes[s][1]);
            check_groups(&t, sizes[s][1] * 3 / 2, 1);
            check_nodes(&t, sizes[s][1] * 3 / 2);
            drop(&t);
            bodies_free(&b);
        }
}

static void difficult(void **state)
{
    static const int sizes[][2] = {{8, 64}, {1, 2}, {40, 16}};
    (void)state;
    for (int what = 0; what < TREE_INPUTS; what++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            bodies b = tree_input((enum tree_input)what, 700);
            struct sap_cpu_tree t = cut(&b, SAPPORO_TREE_KDTREE, sizes[s][0], sizes[s][1]);
            check_groups(&t, sizes[s][1] * 3 / 2, 1);
            check_nodes(&t, sizes[s][1] * 3 / 2);
            drop(&t);
            bodies_free(&b);
        }
}

/* All particles at one point are one leaf, which may be larger than any group. */
static void one_leaf(void **state)
{
    (void)state;
    for (int n = 2; n < 400; n += 47) {
        bodies b = tree_model(CLUSTER_UNIFORM, n);
        for (int k = 0; k < n; k++) memset(b.x[k], 0, sizeof b.x[k]);
        struct sap_cpu_tree t = cut(&b, SAPPORO_TREE_KDTREE, 8, 64);
        check_groups(&t, 96, 1);
        assert_int_equal(t.self.groups, (n + 95) / 96);
        drop(&t);
        bodies_free(&b);
    }
}

/* Groups of octrees are runs of equal length. */
static void runs(void **state)
{
    (void)state;
    for (int n = 2; n < 400; n += 47) {
        bodies b = tree_model(CLUSTER_UNIFORM, n);
        struct sap_cpu_tree t = cut(&b, SAPPORO_TREE_OCTREE, 16, 64);
        check_groups(&t, 64, 0);
        assert_int_equal(t.self.groups, (n + 63) / 64);
        drop(&t);
        bodies_free(&b);
    }
}

/* ---- limits of the extent -------------------------------------------------------------------- */

/* The diagonal of the box of sorted particles first ... first + n - 1. */
static double diagonal(const bodies *b, const struct sap_tree_structure *s, int first, int n)
{
    double low[3], high[3], r2 = 0;
    for (int c = 0; c < 3; c++) {
        low[c] = INFINITY;
        high[c] = -INFINITY;
        for (int k = first; k < first + n; k++) {
            low[c] = fmin(low[c], b->x[s->address[k]][c]);
            high[c] = larger_of(high[c], b->x[s->address[k]][c]);
        }
        r2 += (high[c] - low[c]) * (high[c] - low[c]);
    }
    return sqrt(r2);
}

/* Checks parts against the groups without a limit; returns the number of parts. */
static int check_parts(const bodies *b, const struct sap_tree_structure *whole, const struct sap_tree_structure *s,
                       double limit)
{
    int parts = 0;
    for (int first = 0, n; first < b->n; first += n, parts++) {
        for (n = 1; first + n < b->n && s->group[first + n] == s->group[first];) n++;
        assert_int_equal(s->group[first], parts);
        assert_int_equal(whole->group[first], whole->group[first + n - 1]);
        const int is_whole = (first == 0 || whole->group[first - 1] != whole->group[first]) &&
                             (first + n == b->n || whole->group[first + n] != whole->group[first]);
        assert_true(n < 16 || diagonal(b, s, first, n) <= limit);
        if (!is_whole) assert_true(n >= 8);
    }
    return parts;
}

/* Groups longer than the limit are halved until they are shorter or have fewer than 16 particles. */
static void extents(void **state)
{
    static const double limits[] = {1e-3, 0.05, 0.2, 1, 100, INFINITY};
    (void)state;
    bodies b = tree_model(CLUSTER_PLUMMER, 3000);
    sapporo_tree_options o = {
        .size = sizeof o, .kind = tree_kind, .mac = SAPPORO_MAC_OPENING, .backend = SAPPORO_BACKEND_CPU, .eps2 = 1e-4};
    sapporo_tree *const whole = tree_of(&b, &o);
    struct sap_tree_structure s = tree_structure_of(whole);
    int fewer = b.n + 1;
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
        o.group_extent = limits[l];
        o.threads = 1 + (int)l % 2;
        sapporo_tree *const t = tree_of(&b, &o);
        const sapporo_tree_statistics f = tree_statistics(t);
        struct sap_tree_structure r = tree_structure_of(t);
        const int parts = check_parts(&b, &s, &r, limits[l]);
        assert_int_equal(f.groups, parts);
        assert_true(f.group_extent == (isfinite(limits[l]) ? limits[l] : 0));
        assert_true(parts <= fewer);
        if (limits[l] >= 100) assert_int_equal(parts, s.group[b.n - 1] + 1);
        fewer = parts;
        tree_structure_free(&r);
        sapporo_tree_destroy(t);
    }
    assert_true(fewer > 3000 / 96 && fewer < 3000 / 16);
    tree_structure_free(&s);
    sapporo_tree_destroy(whole);
    bodies_free(&b);
}

static void bad_extents(void **state)
{
    static const double bad[] = {-1, -1e-300, (double)NAN, -INFINITY};
    (void)state;
    for (int k = 0; k < 4; k++) {
        const sapporo_tree_options o = {.size = sizeof o, .backend = SAPPORO_BACKEND_CPU, .group_extent = bad[k]};
        sapporo_tree *t = NULL;
        assert_int_equal(sapporo_tree_create(&o, 10, &t), SAPPORO_ERR_ARGUMENT);
        assert_non_null(strstr(sapporo_tree_last_error(NULL), "group_extent"));
        assert_null(t);
    }
}

/* Returns whether rows of some particles have the bits of the rows of all. */
static int are_rows_of(const struct tree_rows *some, const int *active, const struct tree_rows *all)
{
    for (int k = 0; k < some->n; k++)
        if (memcmp(some->acc[k], all->acc[active[k]], sizeof *some->acc) != 0 ||
            memcmp(&some->pot[k], &all->pot[active[k]], sizeof *some->pot) != 0)
            return 0;
    return 1;
}

/* Computes forces on particles first, first + 1, ... and compares them with the rows of all. */
static void check_few(sapporo_tree *t, int first, const struct tree_rows *all)
{
    enum { FEW = 30 };
    int active[FEW];
    for (int k = 0; k < FEW; k++) active[k] = first + k;
    struct tree_rows rows = tree_rows_of(t, active, FEW);
    assert_true(are_rows_of(&rows, active, all));
    tree_rows_free(&rows);
}

/* The balls of groups are computed where rows need them; after a refresh they are those of the new positions. */
static void balls_after_refresh(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_PLUMMER, 3000);
    const sapporo_tree_options o = {
        .size = sizeof o, .kind = tree_kind, .mac = SAPPORO_MAC_OPENING, .backend = SAPPORO_BACKEND_CPU, .eps2 = 1e-4};
    sapporo_tree *const few = tree_of(&b, &o), *const whole = tree_of(&b, &o);
    struct tree_rows all = tree_rows_of(whole, NULL, b.n);
    check_few(few, 100, &all);
    tree_rows_free(&all);
    for (int i = 0; i < b.n; i++) b.x[i][0] *= 1.5, b.x[i][1] += 0.3 * b.x[i][2];
    tree_set(few, &b);
    tree_set(whole, &b);
    assert_int_equal(sapporo_tree_refresh(few), SAPPORO_OK);
    assert_int_equal(sapporo_tree_refresh(whole), SAPPORO_OK);
    all = tree_rows_of(whole, NULL, b.n);
    for (int first = 0; first < b.n; first += 100) check_few(few, first, &all);
    struct tree_rows rows = tree_rows_of(few, NULL, b.n);
    assert_memory_equal(rows.acc, all.acc, (size_t)b.n * sizeof *all.acc);
    tree_rows_free(&rows);
    tree_rows_free(&all);
    sapporo_tree_destroy(few);
    sapporo_tree_destroy(whole);
    bodies_free(&b);
}

/* ---- what it saves ------------------------------------------------------------------- */

static double group_extent; /* of the next tree; 0: none */

/* Returns the error that 99 % of the particles stay below; *count: interactions per particle. */
static double error_of(const bodies *b, const struct tree_rows *exact, int stride, sapporo_tree_kind kind,
                       double accuracy, double *count)
{
    const sapporo_tree_options o = {.size = sizeof o,
                                    .kind = kind,
                                    .mac = SAPPORO_MAC_ACCELERATION,
                                    .accuracy = accuracy,
                                    .order = 1,
                                    .group_extent = group_extent,
                                    .backend = SAPPORO_BACKEND_CPU};
    sapporo_tree *const t = tree_of(b, &o);
    struct tree_rows rows = tree_rows_of(t, NULL, b->n);
    tree_rows_free(&rows);
    rows = tree_rows_of(t, NULL, b->n); /* by the accelerations of the force before */
    double *const error = tree_errors(&rows, exact, stride), most = error[exact->n * 99 / 100];
    const sapporo_tree_statistics s = tree_statistics(t);
    *count = (double)(s.particle_particle + s.particle_cell) / b->n;
    free(error);
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
    return most;
}

/* A kd-tree of equal masses needs no more interactions than an octree for the same error. */
static void interactions(void **state)
{
    enum { N = 16384, STRIDE = 8 };
    (void)state;
    bodies b = tree_model(CLUSTER_HERNQUIST, N);
    for (int i = 0; i < N; i++) b.mass[i] = 1.0 / N;
    struct tree_rows exact = tree_exact(&b, 0, STRIDE);
    double of_octree, of_kdtree;
    const double octree = error_of(&b, &exact, STRIDE, SAPPORO_TREE_OCTREE, 0.03, &of_octree);
    const double kdtree = error_of(&b, &exact, STRIDE, SAPPORO_TREE_KDTREE, 0.01, &of_kdtree);
    print_message("# octree %.2e, %.0f interactions; kd-tree %.2e, %.0f\n", octree, of_octree, kdtree, of_kdtree);
    assert_true(kdtree <= octree);
    assert_true(of_kdtree <= of_octree);
    tree_rows_free(&exact);
    bodies_free(&b);
}

/* Smaller groups need fewer interactions for each of their particles, and forces stay as accurate. */
static void extents_save(void **state)
{
    enum { N = 8192, STRIDE = 16 };
    (void)state;
    bodies b = tree_model(CLUSTER_HERNQUIST, N);
    struct tree_rows exact = tree_exact(&b, 0, STRIDE);
    const double accuracy = 0.01;
    double before = INFINITY;
    for (int l = 0; l < 3; l++) {
        double count;
        group_extent = l == 0 ? 0 : l == 1 ? 1 : 1e-3;
        const double error = error_of(&b, &exact, STRIDE, tree_kind, accuracy, &count);
        print_message("# groups of at most %g: %.2e, %.0f interactions\n", group_extent, error, count);
        assert_true(count < before);
        assert_true(error < accuracy);
        before = count;
    }
    group_extent = 0;
    tree_rows_free(&exact);
    bodies_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes), cmocka_unit_test(difficult),    cmocka_unit_test(one_leaf),
        cmocka_unit_test(runs),  cmocka_unit_test(interactions), TREE_TEST(extents),
        TREE_TEST(extents_save), cmocka_unit_test(bad_extents),  TREE_TEST(balls_after_refresh)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
