/* test_tree_within.c - particles within a radius of particles and of positions, against a look at all of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nearest.h"
#include "rng.h"
#include "tree_cases.h"

enum { N = 900, ROWS = 300, KINDS = 4 };

/* ---- requests ---- */

/* Rows of a search: all particles, the first ones, some in no order and again, or positions; and a radius of each. */
struct rows {
    sapporo_tree_request request;
    int active[ROWS];
    double at[ROWS][3], radius[N];
};

/* Radii from 0 to more than the model, and infinite ones. */
static void choose_radii(struct rows *r, int n, rng *random)
{
    for (int i = 0; i < n; i++) {
        const double u = rng_uniform(random);
        r->radius[i] = u < 0.05 ? 0 : u > 0.98 ? (double)INFINITY : u > 0.95 ? 1e300 : pow(10, 3 * u - 2);
    }
}

static struct rows *rows_of(const bodies *b, int kind, rng *random)
{
    struct rows *const r = zeroed(1, sizeof *r);
    const int ni = kind == 0 || b->n < ROWS ? b->n : ROWS;
    r->request = (sapporo_tree_request){.size = sizeof r->request, .ni = ni};
    for (int i = 0; i < ROWS; i++) {
        r->active[i] = (int)(rng_uniform(random) * b->n);
        for (int c = 0; c < 3; c++)
            r->at[i][c] = i % 3 == 0 ? b->x[r->active[i]][c] : i == 1 ? -1e95 : 4 * rng_uniform(random) - 2;
    }
    if (kind == 2) r->request.active = r->active;
    if (kind == 3) r->request.x.base = r->at;
    choose_radii(r, ni, random);
    return r;
}

/* ---- what is right ---- */

/* Checks the list of a row, of which `room` entries were written, and returns its length. */
static long long check_row(const bodies *b, const struct rows *r, int row, const int *list, long long room)
{
    const sapporo_tree_request *const q = &r->request;
    const int own = q->x.base ? -1 : q->active ? q->active[row] : row;
    const double *const x = own < 0 ? r->at[row] : b->x[own], h = r->radius[row];
    long long n = 0;
    for (int j = 0; j < b->n; j++) {
        if (j == own || !(near_apart2(b->x[j], x) < h * h)) continue;
        if (n < room && list[n] != j) fail_msg("entry %lld of row %d is %d, not %d", n, row, list[n], j);
        n++;
    }
    return n;
}

/* A search with room for some entries; returns how many there are. */
static long long check_room(sapporo_tree *t, const bodies *b, const struct rows *r, long long room)
{
    enum { BEHIND = 0x55555555 };
    const int ni = r->request.ni;
    int *const list = zeroed((size_t)room + 1, sizeof *list);
    long long *const first = zeroed((size_t)ni + 2, sizeof *first), n = 0;
    list[room] = BEHIND;
    first[ni + 1] = BEHIND;
    const int status = sapporo_tree_within(t, &r->request, (sapporo_column){r->radius, 0}, first, room, list);
    if (status < 0) fail_msg("%d: %s", status, sapporo_tree_last_error(t));
    for (int i = 0; i < ni; i++) {
        assert_true(first[i] == n);
        n += check_row(b, r, i, list + (n < room ? n : room), n < room ? room - n : 0);
    }
    assert_true(first[ni] == n && first[ni + 1] == BEHIND && list[room] == BEHIND);
    assert_int_equal(status, n > room ? SAPPORO_TRUNCATED : SAPPORO_OK);
    free(list);
    free(first);
    return n;
}

/* Room for all, for all but one, for a part, for one and for none. */
static void check_rows(sapporo_tree *t, const bodies *b, const struct rows *r, rng *random)
{
    const long long all = check_room(t, b, r, 0), part = (long long)(rng_uniform(random) * (double)all);
    (void)check_room(t, b, r, all);
    (void)check_room(t, b, r, all + 5);
    (void)check_room(t, b, r, part);
    if (all > 0) (void)check_room(t, b, r, all - 1);
    if (all > 0) (void)check_room(t, b, r, 1);
}

/* Positions are answered by sapporo_tree_neighbours, too. */
static void check_places(sapporo_tree *t, const struct rows *r)
{
    enum { ROOM = 5000 };
    const int ni = r->request.ni;
    long long first[2][ROWS + 1];
    static int list[2][ROOM];
    const sapporo_column radius = {r->radius, 0};
    memset(list, 0, sizeof list);
    const int status[2] = {sapporo_tree_within(t, &r->request, radius, first[0], ROOM, list[0]),
                           sapporo_tree_neighbours(t, ni, r->request.x, radius, first[1], ROOM, list[1])};
    assert_int_equal(status[0], status[1]);
    assert_memory_equal(first[0], first[1], ((size_t)ni + 1) * sizeof first[0][0]);
    assert_memory_equal(list[0], list[1], sizeof list[0]);
}

static void check_tree(sapporo_tree *t, const bodies *b, int seed)
{
    rng random;
    rng_seed(&random, (uint64_t)seed, 0);
    for (int kind = 0; kind < KINDS; kind++) {
        struct rows *const r = rows_of(b, kind, &random);
        check_rows(t, b, r, &random);
        if (kind == 3) check_places(t, r);
        free(r);
    }
}

/* ---- trees ---- */

static void check_model(const struct engine *e, bodies b, int seed)
{
    sapporo_tree_options o = tree_on(e);
    sapporo_tree *const t = tree_of(&b, &o);
    check_tree(t, &b, seed);
    tree_stir(&b);
    tree_set(t, &b);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    check_tree(t, &b, seed + 1);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

static void models_on(const struct engine *e)
{
    if (e->precision != SAPPORO_SP) return; /* searches depend on no precision */
    check_model(e, tree_model(CLUSTER_PLUMMER, N), 11);
    check_model(e, tree_model(CLUSTER_CLUMPS, N), 21);
    for (int m = 0; m < TREE_INPUTS; m++) check_model(e, tree_input((enum tree_input)m, N / 3), 31 + 2 * m);
}

static void models(void **state)
{
    (void)state;
    tree_on_each(models_on);
}

/* Few particles, and none. */
static void few_on(const struct engine *e)
{
    for (int n = 0; n < 9 && e->precision == SAPPORO_SP; n += 1 + n / 2) {
        bodies b = tree_model(CLUSTER_PLUMMER, 12);
        b.n = n;
        sapporo_tree_options o = tree_on(e);
        sapporo_tree *const t = tree_of(&b, &o);
        rng random;
        rng_seed(&random, 3, 0);
        for (int kind = 0; kind < KINDS; kind++) {
            struct rows *const r = rows_of(&b, kind, &random);
            (void)check_room(t, &b, r, 100);
            free(r);
        }
        sapporo_tree_destroy(t);
        bodies_free(&b);
    }
}

static void few(void **state)
{
    (void)state;
    tree_on_each(few_on);
}

/* ---- periodic cubes ---- */

/* A particle that is as near as the radius, but for roundings, may be listed or not. */
static void check_images(sapporo_tree *t, const bodies *b, double period, double radius)
{
    const sapporo_tree_request all = {.size = sizeof all, .ni = b->n};
    const double doubt = 1e-13 * period * period;
    double *const radii = zeroed((size_t)b->n, sizeof *radii);
    long long *const first = zeroed((size_t)b->n + 1, sizeof *first), room = (long long)b->n * b->n;
    int *const list = zeroed((size_t)room, sizeof *list);
    for (int i = 0; i < b->n; i++) radii[i] = radius;
    assert_int_equal(sapporo_tree_within(t, &all, (sapporo_column){radii, 0}, first, room, list), SAPPORO_OK);
    for (int i = 0; i < b->n; i++) {
        long long at = first[i];
        for (int j = 0; j < b->n; j++) {
            const double r2 = near_image2(period, b->x[i], b->x[j]);
            const int listed = at < first[i + 1] && list[at] == j, right = j != i && r2 < radius * radius;
            if (listed != right && !(fabs(r2 - radius * radius) < doubt))
                fail_msg("particle %d at %.17g of particle %d is %slisted", j, sqrt(r2), i, listed ? "" : "not ");
            at += listed;
        }
        assert_true(at == first[i + 1]);
    }
    free(radii);
    free(first);
    free(list);
}

static void periodic_on(const struct engine *e)
{
    static const double radius[] = {0, 0.07, 0.3, 0.8, 2};
    bodies b = tree_model(CLUSTER_PLUMMER, N / 3);
    sapporo_tree_options o = tree_on(e);
    o.period = 1.5;
    sapporo_tree *const t = tree_of(&b, &o);
    for (int k = 0; k < 5; k++) check_images(t, &b, o.period, radius[k]);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

static void periodic(void **state)
{
    (void)state;
    tree_on_each(periodic_on);
}

/* ---- errors ---- */

/* A search that is refused says why, and leaves empty lists. */
static void refused(sapporo_tree *t, const sapporo_tree_request *r, sapporo_column radius, long long room,
                    const char *why)
{
    long long first[4] = {5, 5, 5, 5};
    int list[8] = {5};
    assert_int_equal(sapporo_tree_within(t, r, radius, first, room, list), SAPPORO_ERR_ARGUMENT);
    if (!strstr(sapporo_tree_last_error(t), why)) fail_msg("%s, not %s", sapporo_tree_last_error(t), why);
    const int rows = r && r->ni >= 0 ? r->ni + 1 : r ? 0 : 1;
    for (int i = 0; i < 4; i++) assert_true(first[i] == (i < rows ? 0 : 5));
    assert_int_equal(list[0], 5);
}

static void refuse_radii(sapporo_tree *t, sapporo_tree_request r)
{
    static const double wrong[] = {NAN, -1e-300, -INFINITY};
    for (int k = 0; k < 3; k++) {
        const double radii[2] = {1, wrong[k]};
        refused(t, &r, (sapporo_column){radii, 0}, 8, "the radius of row 1 is not a number >= 0");
    }
}

static void errors_on(const struct engine *e)
{
    static const int active[2] = {0, N};
    static const double radii[2] = {1, 2};
    double at[2][3] = {{0}, {0, NAN, 0}};
    const sapporo_column radius = {radii, 0}, none = {NULL, 0};
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_tree_options o = tree_on(e);
    sapporo_tree_request r = {.size = sizeof r, .ni = 2};
    sapporo_tree *t;
    assert_int_equal(sapporo_tree_create(&o, N, &t), SAPPORO_OK);
    refused(t, &r, radius, 8, "there is no tree");
    sapporo_tree_destroy(t);
    t = tree_of(&b, &o);
    refused(t, NULL, radius, 8, "sapporo_tree_request");
    refused(t, &r, none, 8, "something is missing");
    refused(t, &r, radius, -1, "with room for -1: something is missing");
    refuse_radii(t, r);
    assert_int_equal(sapporo_tree_within(t, &r, radius, NULL, 0, NULL), SAPPORO_ERR_ARGUMENT);
    r.active = active;
    refused(t, &r, radius, 8, "active[1] is 900");
    r.active = NULL;
    r.x.base = at;
    refused(t, &r, radius, 8, "place 1 is not finite");
    at[1][1] = 1;
    r.h.base = radii;
    refused(t, &r, radius, 8, "h");
    r.h.base = NULL;
    r.ni = -1;
    refused(t, &r, radius, 8, "ni is -1");
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

static void errors(void **state)
{
    (void)state;
    tree_on_each(errors_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(models), TREE_TEST(few), TREE_TEST(periodic),
                                       cmocka_unit_test_setup(errors, tree_octree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
