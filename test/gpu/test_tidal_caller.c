/*
 * test_tidal_caller.c - tidal tensors with lists and results in device memory of the caller: those of the host; and
 * softening lengths there, which a periodic cube limits.
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

enum { N = 2500, ROWS = 300, SIX = 6 };

static sapporo_tree *made(const bodies *b, sapporo_tree_mac mac)
{
    const sapporo_tree_options o = {.size = sizeof o, .backend = caller_memory_backend(), .mac = mac};
    return tree_of(b, &o);
}

/* Results of the host, and copies of those of the device. */
static double found[2][N][SIX];

static sapporo_tree_request on_device(const int *active, int ni)
{
    sapporo_tree_request r = {.size = sizeof r, .ni = ni, .memory = SAPPORO_MEMORY_DEVICE};
    if (active) r.active = caller_memory_put(active, sizeof *active * (size_t)ni);
    return r;
}

static void same(sapporo_tree *t, const int *active, int ni)
{
    const sapporo_tree_request host = {.size = sizeof host, .ni = ni, .active = active}, r = on_device(active, ni);
    const size_t bytes = (size_t)ni * sizeof found[0][0];
    memset(found, 7, sizeof found);
    double(*const to)[SIX] = caller_memory_put(found[1], bytes);
    assert_int_equal(sapporo_tree_tidal(t, &host, found[0]), SAPPORO_OK);
    (void)caller_memory_copied();
    const int status = sapporo_tree_tidal(t, &r, to);
    if (status) fail_msg("%d: %s", status, sapporo_tree_last_error(t));
    assert_true(caller_memory_copied() < 256); /* what is wrong with the list, and what the walk tells */
    caller_memory_get(found[1], to, bytes);
    assert_memory_equal(found[0], found[1], bytes);
}

static void bits(void **state)
{
    (void)state;
    caller_memory_need();
    int active[ROWS];
    for (int i = 0; i < ROWS; i++) active[i] = (i * 7919) % N;
    bodies b = tree_model(CLUSTER_CLUMPS, N);
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac += 2) {
        sapporo_tree *const t = made(&b, mac);
        same(t, NULL, N);
        same(t, NULL, ROWS);
        same(t, active, ROWS);
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

/* Results of calls that fail are erased on the device. */
static void erased(sapporo_tree *t, const sapporo_tree_request *r, int expected)
{
    const size_t bytes = (size_t)r->ni * sizeof found[0][0];
    memset(found, 7, sizeof found);
    double(*const to)[SIX] = caller_memory_put(found[0], bytes);
    assert_int_equal(sapporo_tree_tidal(t, r, to), expected);
    caller_memory_get(found[0], to, bytes);
    for (int i = 0; i < r->ni; i++)
        for (int q = 0; q < SIX; q++) assert_true(isnan(found[0][i][q]));
}

static void errors(void **state)
{
    (void)state;
    caller_memory_need();
    static const double at[ROWS][3];
    int active[ROWS] = {3, 4, N, 5};
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_tree *const t = made(&b, SAPPORO_MAC_OPENING);
    sapporo_tree_request r = on_device(active, ROWS);
    erased(t, &r, SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_tree_last_error(t), "active[2] is none of the tree's 2500 particles"));
    const sapporo_tree_request places = {
        .size = sizeof places, .ni = ROWS, .memory = SAPPORO_MEMORY_DEVICE, .x = {at, 0}};
    erased(t, &places, SAPPORO_ERR_UNSUPPORTED);
    active[2] = 0;
    r = on_device(active, ROWS);
    caller_memory_fail(3);
    erased(t, &r, SAPPORO_ERR_DEVICE);
    same(t, active, ROWS);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/* A length of half the period is refused in device memory as on the host, and the particles stay as they were. */
static void long_lengths(void **state)
{
    (void)state;
    caller_memory_need();
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    double h[N];
    for (int i = 0; i < N; i++) h[i] = 0.01 * (i % 7);
    const sapporo_tree_options o = {.size = sizeof o, .backend = caller_memory_backend(), .period = 10};
    sapporo_tree *const t = tree_of(&b, &o);
    sapporo_tree_particles p = {.size = sizeof p, .n = N, .memory = SAPPORO_MEMORY_DEVICE};
    p.x.base = caller_memory_put(b.x, N * sizeof *b.x);
    p.mass.base = caller_memory_put(b.mass, N * sizeof *b.mass);
    p.h.base = caller_memory_put(h, sizeof h);
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
    h[17] = 5;
    p.h.base = caller_memory_put(h, sizeof h);
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_ERR_NOT_FINITE);
    assert_non_null(strstr(sapporo_tree_last_error(t), "h of particle 17 is not finite, negative, or half the period"));
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

#define ON(test, driver)                                                                                               \
    {                                                                                                                  \
#test ", " #driver, test, caller_memory_on_##driver, caller_memory_end, NULL                                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {ON(bits, opencl), ON(bits, cuda),           ON(errors, opencl),
                                       ON(errors, cuda), ON(long_lengths, opencl), ON(long_lengths, cuda)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
