/* tree_cases.c - models and trees for tests. */
#include "tree_cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "context/tree_part.h"
#include "engine/engine.h"
#include "worst.h"

sapporo_tree_kind tree_kind = SAPPORO_TREE_OCTREE;

int tree_octree(void **state)
{
    (void)state;
    tree_kind = SAPPORO_TREE_OCTREE;
    return 0;
}

int tree_kdtree(void **state)
{
    (void)state;
    tree_kind = SAPPORO_TREE_KDTREE;
    return 0;
}

bodies tree_model(cluster_kind kind, int n) { return tree_model_of(kind, n, 1); }

bodies tree_model_of(cluster_kind kind, int n, int seed)
{
    cluster_request request = cluster_default();
    bodies set;
    message why;
    request.kind = kind;
    request.n = n;
    request.seed = seed;
    request.masses = kind == CLUSTER_MASS_RATIOS ? CLUSTER_EQUAL : CLUSTER_SALPETER; /* it has masses of its own */
    assert_int_equal(cluster_make(&request, &set, &why), 0);
    return set;
}

bodies tree_input(enum tree_input what, int n)
{
    bodies b = tree_model(CLUSTER_PLUMMER, n);
    const int same_from = what == TREE_ONE_POINT ? 0 : what == TREE_LINE ? 1 : what == TREE_PLANE ? 2 : 3;
    for (int i = 0; i < n; i++) {
        for (int c = same_from; c < 3; c++) b.x[i][c] = 0.25;
        for (int c = 0; c < 3 && what == TREE_GRID; c++) b.x[i][c] = floor(4 * b.x[i][c]);
        if (what == TREE_DISC) b.x[i][2] *= 1e-3;
        if (what == TREE_MASSLESS) b.mass[i] = 0;
        if (what == TREE_SIGNS && i % 2) b.mass[i] = -fabs(b.mass[i]);
    }
    return b;
}

void tree_stir(bodies *b)
{
    for (int i = 0; i < b->n; i++) b->x[i][i % 3] = 0.75 * b->x[i][i % 3] + 0.25 * b->x[(i * 31 + 1) % b->n][1];
}

int tree_has_engine(const struct engine *e)
{
    sapporo_tree_options o = tree_on(e);
    sapporo_tree *t;
    if (e->precision == SAPPORO_DS || !engine_usable(e)) return 0;
    const int status = sapporo_tree_create(&o, 1, &t);
    sapporo_tree_destroy(t);
    return status == SAPPORO_OK;
}

void tree_on_each(void (*test)(const struct engine *e)) { engines_on_each(engines, ENGINES, tree_has_engine, test); }

sapporo_tree_options tree_on(const struct engine *e)
{
    return (sapporo_tree_options){.size = sizeof(sapporo_tree_options),
                                  .kind = tree_kind,
                                  .mac = SAPPORO_MAC_OPENING,
                                  .backend = e->backend,
                                  .cpu_isa = e->isa,
                                  .precision = e->precision,
                                  .threads = 1};
}

void tree_set(sapporo_tree *t, const bodies *b)
{
    const sapporo_tree_particles p = {.size = sizeof p, .n = b->n, .x = {b->x, 0}, .mass = {b->mass, 0}};
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
}

sapporo_tree *tree_of(const bodies *b, const sapporo_tree_options *options)
{
    sapporo_tree *t;
    if (sapporo_tree_create(options, b->n, &t)) fail_msg("%s", sapporo_last_error(NULL));
    tree_set(t, b);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    return t;
}

sapporo_tree_statistics tree_statistics(sapporo_tree *t)
{
    sapporo_tree_statistics s = {.size = sizeof s};
    assert_int_equal(sapporo_tree_get_statistics(t, &s), SAPPORO_OK);
    return s;
}

static struct tree_rows new_rows(int n) { return (struct tree_rows){n, zeroed((size_t)n, 24), zeroed((size_t)n, 8)}; }

struct tree_rows tree_rows_of(sapporo_tree *t, const int *active, int n)
{
    const sapporo_tree_request request = {.size = sizeof request, .ni = n, .active = active};
    const struct tree_rows r = new_rows(n);
    if (sapporo_tree_force(t, &request, r.acc, r.pot)) fail_msg("%s", sapporo_tree_last_error(t));
    return r;
}

void tree_rows_free(struct tree_rows *r)
{
    free(r->acc);
    free(r->pot);
}

static void exact_row(const bodies *b, double eps2, int i, double *acc, double *pot)
{
    long double a[3] = {0}, p = 0;
    for (int j = 0; j < b->n; j++) {
        long double r2 = eps2, d[3];
        if (j == i) continue;
        for (int k = 0; k < 3; k++) {
            d[k] = (long double)b->x[j][k] - b->x[i][k];
            r2 += d[k] * d[k];
        }
        if (r2 == 0) continue;
        const long double u = 1 / sqrtl(r2);
        p -= b->mass[j] * u;
        for (int k = 0; k < 3; k++) a[k] += b->mass[j] * u * u * u * d[k];
    }
    for (int k = 0; k < 3; k++) acc[k] = (double)a[k];
    *pot = (double)p;
}

struct tree_rows tree_exact(const bodies *b, double eps2, int stride)
{
    const struct tree_rows r = new_rows((b->n + stride - 1) / stride);
    for (int i = 0; i < r.n; i++) exact_row(b, eps2, i * stride, r.acc[i], &r.pot[i]);
    return r;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double *tree_pot_errors(const struct tree_rows *rows, const struct tree_rows *exact, int stride)
{
    double *error = zeroed((size_t)exact->n, sizeof *error);
    for (int i = 0; i < exact->n; i++)
        error[i] = worst_of(fabs(rows->pot[i * stride] - exact->pot[i]) / fabs(exact->pot[i]), 0);
    qsort(error, (size_t)exact->n, sizeof *error, by_size);
    return error;
}

void tree_below(const char *what, double found, double most)
{
    if (!(found < most)) fail_msg("%s: %g, not below %g", what, found, most);
}

double *tree_errors(const struct tree_rows *rows, const struct tree_rows *exact, int stride)
{
    double *error = zeroed((size_t)exact->n, sizeof *error);
    for (int i = 0; i < exact->n; i++) {
        double d2 = 0, a2 = 0;
        for (int k = 0; k < 3; k++) {
            const double d = rows->acc[i * stride][k] - exact->acc[i][k];
            d2 += d * d;
            a2 += exact->acc[i][k] * exact->acc[i][k];
        }
        error[i] = isfinite(d2) ? sqrt(d2 / a2) : INFINITY;
    }
    qsort(error, (size_t)exact->n, sizeof *error, by_size);
    return error;
}

/* ---- structure ------------------------------------------------------------------------- */

struct sap_tree_structure tree_structure_of(sapporo_tree *t)
{
    struct sap_tree_structure s = {0};
    assert_int_equal(sap_part_structure(t, &s), SAPPORO_OK);
    const size_t n = (size_t)s.nodes + 1;
    s.first = zeroed(n, sizeof *s.first);
    s.count = zeroed(n, sizeof *s.count);
    s.child = zeroed(n, sizeof *s.child);
    s.children = zeroed(n, sizeof *s.children);
    s.level = zeroed(n, sizeof *s.level);
    s.mass = zeroed(n, sizeof *s.mass);
    s.centre = zeroed(n, sizeof *s.centre);
    s.low = zeroed(n, sizeof *s.low);
    s.high = zeroed(n, sizeof *s.high);
    s.q = zeroed(n, sizeof *s.q);
    s.address = zeroed((size_t)s.n + 1, sizeof *s.address);
    s.group = zeroed((size_t)s.n + 1, sizeof *s.group);
    assert_int_equal(sap_part_structure(t, &s), SAPPORO_OK);
    return s;
}

void tree_structure_free(struct sap_tree_structure *s)
{
    void *const all[] = {s->first,  s->count, s->child, s->children, s->level,   s->mass,
                         s->centre, s->low,   s->high,  s->q,        s->address, s->group};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

void tree_groups_of(sapporo_tree *t, int *group)
{
    struct sap_tree_structure s = tree_structure_of(t);
    memcpy(group, s.group, (size_t)s.n * sizeof *group);
    tree_structure_free(&s);
}

/* Checks that mass, centre and second moments of a node are those of its particles, and its box is exact. */
static void check_node(const struct sap_tree_structure *s, const bodies *b, int k)
{
    long double mass = 0, centre[3] = {0}, size = 0, q[6] = {0};
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int j = s->first[k]; j < s->first[k] + s->count[k]; j++) {
        const int i = s->address[j];
        mass += b->mass[i];
        for (int c = 0; c < 3; c++) {
            centre[c] += (long double)b->mass[i] * b->x[i][c];
            low[c] = fmin(low[c], b->x[i][c]);
            high[c] = larger_of(high[c], b->x[i][c]);
            size = larger_of_long(size, fabsl(b->x[i][c]));
        }
    }
    assert_true(fabsl(s->mass[k] - mass) <= 1e-14L * mass);
    for (int c = 0; c < 3; c++) {
        assert_true(s->low[k][c] == low[c] && s->high[k][c] == high[c]);
        assert_true(s->centre[k][c] >= low[c] && s->centre[k][c] <= high[c]);
        assert_true(fabsl(s->centre[k][c] - centre[c] / mass) <= 1e-13L * size);
    }
    for (int j = s->first[k]; j < s->first[k] + s->count[k]; j++) {
        const int i = s->address[j];
        long double d[3];
        for (int c = 0; c < 3; c++) d[c] = b->x[i][c] - centre[c] / mass;
        for (int c = 0, m = 0; c < 3; c++)
            for (int e = c; e < 3; e++, m++) q[m] += b->mass[i] * d[c] * d[e];
    }
    for (int m = 0; m < 6; m++) assert_true(fabsl(s->q[k][m] - q[m]) <= 1e-12L * mass * size * size);
}

static void check_children(const struct sap_tree_structure *s, int k, int leaf_size, int *parents)
{
    int at = s->first[k];
    if (s->children[k] == 0) {
        const int together = tree_kind == SAPPORO_TREE_KDTREE
                                 ? memcmp(s->low[k], s->high[k], sizeof s->low[k]) == 0 /* at one point */
                                 : s->level[k] == 21;                                   /* of one key */
        assert_true(s->count[k] <= leaf_size || together);
        return;
    }
    assert_true(s->count[k] > leaf_size && s->children[k] <= 8 && s->child[k] > k);
    for (int c = s->child[k]; c < s->child[k] + s->children[k]; c++) {
        assert_true(c < s->nodes && s->first[c] == at && s->count[c] > 0 && s->level[c] == s->level[k] + 1);
        for (int x = 0; x < 3; x++) assert_true(s->low[c][x] >= s->low[k][x] && s->high[c][x] <= s->high[k][x]);
        at += s->count[c];
        parents[c]++;
    }
    assert_int_equal(at, s->first[k] + s->count[k]);
}

/* Checks that the statistics of a tree count its nodes and groups. */
static void check_statistics(sapporo_tree *t, const struct sap_tree_structure *s)
{
    const sapporo_tree_statistics told = tree_statistics(t);
    int leaves = 0, largest = 0, depth = 0, groups = 0;
    for (int k = 0; k < s->nodes; k++) {
        depth = s->level[k] > depth ? s->level[k] : depth;
        if (s->children[k]) continue;
        leaves++;
        largest = s->count[k] > largest ? s->count[k] : largest;
    }
    for (int j = 0; j < s->n; j++) groups = s->group[j] >= groups ? s->group[j] + 1 : groups;
    assert_true(told.n == s->n && told.cells == s->nodes && told.groups == groups);
    assert_int_equal(told.leaves, leaves);
    assert_int_equal(told.largest_leaf, largest);
    assert_int_equal(told.depth, depth);
}

void tree_check_structure(sapporo_tree *t, const bodies *b, int leaf_size)
{
    struct sap_tree_structure s = tree_structure_of(t);
    int *parents = zeroed((size_t)s.nodes, sizeof *parents), *seen = zeroed((size_t)s.n + 1, sizeof *seen);
    assert_int_equal(s.n, b->n);
    for (int j = 0; j < s.n; j++) {
        assert_in_range(s.address[j], 0, s.n - 1);
        assert_int_equal(seen[s.address[j]]++, 0);
    }
    if (s.n > 0) assert_true(s.first[0] == 0 && s.count[0] == s.n && s.level[0] == 0);
    for (int k = 0; k < s.nodes; k++) {
        if (k > 0) assert_true(s.level[k] >= s.level[k - 1]);
        check_children(&s, k, leaf_size, parents);
        check_node(&s, b, k);
    }
    for (int k = 0; k < s.nodes; k++) assert_int_equal(parents[k], k > 0);
    check_statistics(t, &s);
    free(parents);
    free(seen);
    tree_structure_free(&s);
}
