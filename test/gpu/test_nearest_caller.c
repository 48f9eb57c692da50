/*
 * test_nearest_caller.c - nearest particles, and those within a radius, with lists and results in device memory of the
 * caller: those of the host.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "caller_memory.h"
#include "sapporo.h"
#include "tree_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2500, K = 12, ROWS = 300 };

static sapporo_tree *made(const bodies *b)
{
    const sapporo_tree_options o = {.size = sizeof o, .backend = caller_memory_backend()};
    return tree_of(b, &o);
}

/* A list of the host, and its copy on the device. */
struct twins {
    sapporo_tree_request host, device;
};

static struct twins twins_of(const int *active, int ni)
{
    struct twins t = {.host = {.size = sizeof t.host, .ni = ni, .active = active}};
    t.device = t.host;
    t.device.memory = SAPPORO_MEMORY_DEVICE;
    if (active) t.device.active = caller_memory_put(active, sizeof *active * (size_t)ni);
    return t;
}

/* Results of both, the second in device memory first. */
struct results {
    int list[2][N * K];
    double distance2[2][N * K];
};

static struct results found;

static void same(sapporo_tree *t, const struct twins *r, int tells)
{
    const size_t entries = (size_t)r->host.ni * K;
    memset(&found, 7, sizeof found);
    int *const list = caller_memory_put(found.list[1], entries * sizeof(int));
    double *const distance2 = caller_memory_put(found.distance2[1], entries * sizeof(double));
    assert_int_equal(sapporo_tree_nearest(t, &r->host, K, found.list[0], tells ? found.distance2[0] : NULL),
                     SAPPORO_OK);
    (void)caller_memory_copied();
    const int status = sapporo_tree_nearest(t, &r->device, K, list, tells ? distance2 : NULL);
    if (status) fail_msg("%d: %s", status, sapporo_tree_last_error(t));
    assert_true(caller_memory_copied() < 256); /* what is wrong with the list */
    caller_memory_get(found.list[1], list, entries * sizeof(int));
    caller_memory_get(found.distance2[1], distance2, entries * sizeof(double));
    assert_memory_equal(found.list[0], found.list[1], entries * sizeof(int));
    assert_memory_equal(found.distance2[0], found.distance2[1], entries * sizeof(double));
}

static void bits(void **state)
{
    (void)state;
    caller_memory_need();
    int active[ROWS];
    for (int i = 0; i < ROWS; i++) active[i] = (i * 7919) % N;
    bodies b = tree_model(CLUSTER_CLUMPS, N);
    sapporo_tree *const t = made(&b);
    const struct twins all = twins_of(NULL, N), first = twins_of(NULL, ROWS), listed = twins_of(active, ROWS);
    for (int tells = 0; tells < 2; tells++) {
        same(t, &all, tells);
        same(t, &first, tells);
        same(t, &listed, tells);
    }
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/* Results of calls that fail are erased on the device. */
static void erased(sapporo_tree *t, const sapporo_tree_request *r, int expected)
{
    const size_t entries = (size_t)r->ni * K;
    memset(&found, 7, sizeof found);
    int *const list = caller_memory_put(found.list[0], entries * sizeof(int));
    double *const distance2 = caller_memory_put(found.distance2[0], entries * sizeof(double));
    assert_int_equal(sapporo_tree_nearest(t, r, K, list, distance2), expected);
    caller_memory_get(found.list[0], list, entries * sizeof(int));
    caller_memory_get(found.distance2[0], distance2, entries * sizeof(double));
    for (size_t e = 0; e < entries; e++) assert_true(found.list[0][e] == -1 && isnan(found.distance2[0][e]));
}

static void errors(void **state)
{
    (void)state;
    caller_memory_need();
    static const double at[ROWS][3];
    int active[ROWS] = {3, 4, N, 5};
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_tree *const t = made(&b);
    struct twins r = twins_of(active, ROWS);
    erased(t, &r.device, SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_tree_last_error(t), "active[2] is none of the tree's 2500 particles"));
    const sapporo_tree_request places = {
        .size = sizeof places, .ni = ROWS, .memory = SAPPORO_MEMORY_DEVICE, .x = {at, 0}};
    erased(t, &places, SAPPORO_ERR_UNSUPPORTED);
    active[2] = 0;
    r = twins_of(active, ROWS);
    caller_memory_fail(3);
    erased(t, &r.device, SAPPORO_ERR_DEVICE);
    same(t, &r, 1);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/* ---- within a radius ---- */

enum { ROOM = 40000, BAD = 17 };

static double radii[N];

/* Where lists begin, and lists: of the host, and of the device. */
static struct {
    long long first[2][N + 1];
    int list[2][ROOM];
} near;

static void put_radii(int ni)
{
    for (int i = 0; i < ni; i++) radii[i] = 0.002 * (i % 50);
}

/* The call on the device; results go to near.first[1] and near.list[1]. */
static int within_on_device(sapporo_tree *t, const sapporo_tree_request *r, long long room)
{
    const size_t firsts = ((size_t)r->ni + 1) * sizeof near.first[0][0], entries = ROOM * sizeof near.list[0][0];
    const sapporo_column radius = {caller_memory_put(radii, (size_t)r->ni * sizeof *radii), 0};
    long long *const first = caller_memory_put(near.first[1], firsts);
    int *const list = caller_memory_put(near.list[1], entries);
    (void)caller_memory_copied();
    const int status = sapporo_tree_within(t, r, radius, first, room, list);
    assert_true(caller_memory_copied() < 256); /* what is wrong, and how many there are */
    caller_memory_get(near.first[1], first, firsts);
    caller_memory_get(near.list[1], list, entries);
    return status;
}

static void same_within(sapporo_tree *t, const struct twins *r)
{
    const int ni = r->host.ni;
    const sapporo_column radius = {radii, 0};
    put_radii(ni);
    memset(&near, 7, sizeof near);
    assert_int_equal(sapporo_tree_within(t, &r->host, radius, near.first[0], ROOM, near.list[0]), SAPPORO_OK);
    for (int part = 1; part < 4; part++) {
        const long long room = part == 1 ? ROOM : near.first[0][ni] / part;
        memset(near.list[0], 7, sizeof near.list[0]);
        memset(near.list[1], 7, sizeof near.list[1]);
        const int status = sapporo_tree_within(t, &r->host, radius, near.first[0], room, near.list[0]);
        const int there = within_on_device(t, &r->device, room);
        if (there != status) fail_msg("%d, not %d: %s", there, status, sapporo_tree_last_error(t));
        assert_memory_equal(near.first[0], near.first[1], ((size_t)ni + 1) * sizeof near.first[0][0]);
        assert_memory_equal(near.list[0], near.list[1], sizeof near.list[0]);
    }
}

/* A call that fails leaves empty lists. */
static void empty_within(sapporo_tree *t, const sapporo_tree_request *r, int expected)
{
    memset(&near, 7, sizeof near);
    assert_int_equal(within_on_device(t, r, ROOM), expected);
    for (int i = 0; i <= r->ni; i++) assert_true(near.first[1][i] == -1);
    for (int i = 0; i < ROOM; i++) assert_int_equal(near.list[1][i], 0x07070707);
}

static void within(void **state)
{
    (void)state;
    caller_memory_need();
    int active[ROWS];
    for (int i = 0; i < ROWS; i++) active[i] = (i * 7919) % N;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_tree *const t = made(&b);
    const struct twins all = twins_of(NULL, N), listed = twins_of(active, ROWS);
    same_within(t, &all);
    same_within(t, &listed);
    radii[BAD] = -1, radii[BAD + 9] = NAN;
    empty_within(t, &listed.device, SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_tree_last_error(t), "the radius of row 17 is not a number >= 0"));
    put_radii(ROWS);
    active[2] = N;
    const struct twins wrong = twins_of(active, ROWS);
    empty_within(t, &wrong.device, SAPPORO_ERR_ARGUMENT);
    same_within(t, &all);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/* Lists of a tree without particles are empty. */
static void within_nothing(void **state)
{
    (void)state;
    caller_memory_need();
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    b.n = 0;
    sapporo_tree *const t = made(&b);
    const sapporo_tree_request none = {.size = sizeof none, .memory = SAPPORO_MEMORY_DEVICE};
    memset(&near, 7, sizeof near);
    assert_int_equal(within_on_device(t, &none, ROOM), SAPPORO_OK);
    assert_true(near.first[1][0] == 0);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

#define ON(test, driver)                                                                                               \
    {                                                                                                                  \
#test ", " #driver, test, caller_memory_on_##driver, caller_memory_end, NULL                                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {ON(bits, opencl),           ON(bits, cuda),          ON(errors, opencl),
                                       ON(errors, cuda),           ON(within, opencl),      ON(within, cuda),
                                       ON(within_nothing, opencl), ON(within_nothing, cuda)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
