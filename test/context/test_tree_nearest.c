/* test_tree_nearest.c - the k nearest particles, against a sort of all of them, by address and squared distance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nearest.h"
#include "tree_cases.h"

enum { N = 1100, ROWS = 90, MOST = SAPPORO_NEAREST_MOST };

/* ---- what is right ---- */

/* Checks the list of one position, of a particle `own` or of none. */
static void check_row(const bodies *b, const double *x, int own, int k, const int *list, const double *distance2)
{
    struct near *const all = zeroed((size_t)b->n + 1, sizeof *all);
    const int n = near_sort(b->n, (const double(*)[3])b->x, x, own, all);
    for (int j = 0; j < k; j++) {
        const int address = j < n ? all[j].address : -1;
        const double r2 = j < n ? all[j].distance2 : (double)INFINITY;
        if (list[j] != address || (distance2 && distance2[j] != r2))
            fail_msg("neighbour %d of %d, particle %d: %d at %g, not %d at %g", j, k, own, list[j],
                     distance2 ? distance2[j] : r2, address, r2);
    }
    free(all);
}

/* ---- searches ---- */

struct found {
    int *list;
    double *distance2;
};

static struct found search(sapporo_tree *t, const sapporo_tree_request *r, int k)
{
    const size_t entries = (size_t)r->ni * (size_t)k;
    struct found f = {zeroed(entries + 1, sizeof *f.list), zeroed(entries + 1, sizeof *f.distance2)};
    for (size_t e = 0; e <= entries; e++) f.list[e] = 123456, f.distance2[e] = -7;
    const int status = sapporo_tree_nearest(t, r, k, f.list, f.distance2);
    if (status) fail_msg("%d: %s", status, sapporo_tree_last_error(t));
    assert_true(f.list[entries] == 123456 && f.distance2[entries] == -7); /* nothing behind the last row */
    int *const alone = zeroed(entries + 1, sizeof *alone);
    assert_int_equal(sapporo_tree_nearest(t, r, k, alone, NULL), SAPPORO_OK);
    assert_memory_equal(alone, f.list, entries * sizeof *alone);
    free(alone);
    return f;
}

static void free_found(struct found *f)
{
    free(f->list);
    free(f->distance2);
}

/* All particles; every `step`-th row is checked. */
static void check_all(sapporo_tree *t, const bodies *b, int k, int step)
{
    const sapporo_tree_request r = {.size = sizeof r, .ni = b->n};
    struct found f = search(t, &r, k);
    for (int i = 0; i < b->n; i += step)
        check_row(b, b->x[i], i, k, f.list + (size_t)i * (size_t)k, f.distance2 + (size_t)i * (size_t)k);
    free_found(&f);
}

/* Particles of a list, in no order and again, and the first ones. */
static void check_some(sapporo_tree *t, const bodies *b, int k)
{
    int active[ROWS];
    for (int i = 0; i < ROWS; i++) active[i] = ((i - (i % 9 == 8)) * 7919 + 5) % b->n;
    for (int listed = 0; listed < 2; listed++) {
        const sapporo_tree_request r = {.size = sizeof r, .ni = ROWS, .active = listed ? active : NULL};
        struct found f = search(t, &r, k);
        for (int i = 0; i < ROWS; i += 4) {
            const int own = listed ? active[i] : i;
            check_row(b, b->x[own], own, k, f.list + (size_t)i * (size_t)k, f.distance2 + (size_t)i * (size_t)k);
        }
        free_found(&f);
    }
}

/* Positions: of particles, which count there, between them, and far from all. */
static void check_positions(sapporo_tree *t, const bodies *b, int k)
{
    double at[ROWS][3];
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < 3; c++) {
            const double x = b->x[(i * 13) % b->n][c], y = b->x[(i * 17 + 3) % b->n][c];
            at[i][c] = i % 5 == 0 ? x : i % 5 == 4 ? (i - 40) * 1e3 + x : i == 1 ? 1e95 : 0.5 * x + 0.5 * y;
        }
    const sapporo_tree_request r = {.size = sizeof r, .ni = ROWS, .x = {at, 0}};
    struct found f = search(t, &r, k);
    for (int i = 0; i < ROWS; i++)
        check_row(b, at[i], -1, k, f.list + (size_t)i * (size_t)k, f.distance2 + (size_t)i * (size_t)k);
    free_found(&f);
}

static void check_tree(sapporo_tree *t, const bodies *b)
{
    static const int numbers[] = {1, 2, 7, 32, 33};
    for (int k = 0; k < 5; k++) check_all(t, b, numbers[k], 11);
    check_some(t, b, 9);
    check_some(t, b, 100);
    check_positions(t, b, 16);
    check_positions(t, b, MOST);
}

/* Whether engine e is the first of its backend that is here: searches depend on no path and no precision. */
static int is_first(int e)
{
    for (int k = 0; k < e; k++)
        if (engines[k].backend == engines[e].backend && tree_has_engine(&engines[k])) return 0;
    return tree_has_engine(&engines[e]);
}

static void on_engine(const struct engine *e, bodies *b)
{
    sapporo_tree_options o = tree_on(e);
    sapporo_tree *const t = tree_of(b, &o);
    check_tree(t, b);
    tree_stir(b);
    tree_set(t, b);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    check_all(t, b, 20, 7);
    check_some(t, b, 20);
    sapporo_tree_destroy(t);
}

static void models(void **state)
{
    static const cluster_kind kinds[] = {CLUSTER_PLUMMER, CLUSTER_CLUMPS};
    (void)state;
    for (int e = 0; e < ENGINES; e++)
        for (int m = 0; m < 2 && is_first(e); m++) {
            bodies b = tree_model(kinds[m], N);
            on_engine(&engines[e], &b);
            bodies_free(&b);
        }
}

/* Planes, lines, grids with many equal distances, all at one point, masses of both signs and of none. */
static void inputs(void **state)
{
    (void)state;
    for (int e = 0; e < ENGINES; e++)
        for (int m = 0; m < TREE_INPUTS && is_first(e); m++) {
            bodies b = tree_input((enum tree_input)m, N / 2);
            on_engine(&engines[e], &b);
            bodies_free(&b);
        }
}

/* Fewer particles than are asked for, and none. */
static void few(void **state)
{
    static const double at[3] = {0.25, 0.5, -1};
    (void)state;
    for (int e = 0; e < ENGINES; e++)
        for (int n = 0; n < 12 && is_first(e); n += 1 + n / 2) {
            bodies b = tree_model(CLUSTER_PLUMMER, 12);
            b.n = n;
            sapporo_tree_options o = tree_on(&engines[e]);
            sapporo_tree *const t = tree_of(&b, &o);
            const sapporo_tree_request r = {.size = sizeof r, .ni = 1, .x = {at, 0}};
            struct found f = search(t, &r, 6);
            check_row(&b, at, -1, 6, f.list, f.distance2);
            free_found(&f);
            check_all(t, &b, 6, 1);
            sapporo_tree_destroy(t);
            bodies_free(&b);
        }
}

/* More rows than the heaps of one launch have room for. */
static void many(void **state)
{
    enum { REPEATS = 70000 };
    (void)state;
    int *const active = zeroed(REPEATS, sizeof *active);
    bodies b = tree_model(CLUSTER_CLUMPS, N);
    for (int i = 0; i < REPEATS; i++) active[i] = (i * 11) % N;
    const sapporo_tree_request r = {.size = sizeof r, .ni = REPEATS, .active = active};
    sapporo_tree_options o = tree_on(engine_any());
    sapporo_tree *const t = tree_of(&b, &o);
    int *const list = zeroed((size_t)REPEATS * MOST, sizeof *list);
    assert_int_equal(sapporo_tree_nearest(t, &r, MOST, list, NULL), SAPPORO_OK);
    for (int i = 0; i < REPEATS; i += 9973)
        check_row(&b, b.x[active[i]], active[i], MOST, list + (size_t)i * MOST, NULL);
    for (int i = N; i < REPEATS; i++)
        assert_memory_equal(list + (size_t)i * MOST, list + (size_t)(i % N) * MOST, MOST * sizeof *list);
    sapporo_tree_destroy(t);
    bodies_free(&b);
    free(list);
    free(active);
}

/* ---- errors ---- */

static void refused(sapporo_tree *t, const sapporo_tree_request *r, int k, const char *why)
{
    enum { ENTRIES = 600 };
    int list[ENTRIES];
    double distance2[ENTRIES];
    for (int e = 0; e < ENTRIES; e++) list[e] = 5, distance2[e] = 5;
    assert_int_equal(sapporo_tree_nearest(t, r, k, list, distance2), SAPPORO_ERR_ARGUMENT);
    if (!strstr(sapporo_tree_last_error(t), why)) fail_msg("%s, not %s", sapporo_tree_last_error(t), why);
    const int entries = k >= 1 && k <= MOST && r ? r->ni * k : 0;
    for (int e = 0; e < entries; e++) assert_true(list[e] == -1 && isnan(distance2[e]));
    for (int e = entries > 0 ? entries : 0; e < ENTRIES; e++) assert_true(list[e] == 5 && distance2[e] == 5);
}

static void errors(void **state)
{
    static const int active[2] = {0, N};
    double at[2][3] = {{0}, {0, NAN, 0}};
    const double h[2] = {1, 1};
    (void)state;
    for (int e = 0; e < ENGINES; e++) {
        if (!is_first(e)) continue;
        at[1][1] = NAN;
        bodies b = tree_model(CLUSTER_PLUMMER, N);
        sapporo_tree_options o = tree_on(&engines[e]);
        sapporo_tree *t;
        assert_int_equal(sapporo_tree_create(&o, N, &t), SAPPORO_OK);
        sapporo_tree_request r = {.size = sizeof r, .ni = 2};
        refused(t, &r, 3, "there is no tree");
        sapporo_tree_destroy(t);
        t = tree_of(&b, &o);
        refused(t, &r, 0, "k may be 1 to 256");
        refused(t, &r, -4, "k may be 1 to 256");
        refused(t, &r, MOST + 1, "k may be 1 to 256");
        refused(t, NULL, 3, "sapporo_tree_request");
        r.active = active;
        refused(t, &r, 3, "active[1] is 1100");
        r.x.base = at;
        refused(t, &r, 3, "both places and active particles");
        r.active = NULL;
        refused(t, &r, 3, "place 1 is not finite");
        at[1][1] = 1e101;
        refused(t, &r, 3, "place 1 is not finite or beyond 1e100");
        at[1][1] = 1;
        r.h.base = h;
        refused(t, &r, 3, "h");
        r.h.base = NULL;
        assert_int_equal(sapporo_tree_nearest(t, &r, 3, NULL, NULL), SAPPORO_ERR_ARGUMENT);
        r.ni = -1;
        refused(t, &r, 3, "ni is -1");
        r.ni = 0;
        assert_int_equal(sapporo_tree_nearest(t, &r, 3, NULL, NULL), SAPPORO_OK);
        sapporo_tree_destroy(t);
        bodies_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(models), TREE_TEST(inputs), TREE_TEST(few), TREE_TEST(many),
                                       cmocka_unit_test_setup(errors, tree_octree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
