/*
 * test_tree_no_retry.c - a call of the driver fails in a tree's call, and the caller does not repeat that call: later
 * forces have the bits of the tree before, or fail with NaN.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faulty_driver.h"
#include "sapporo.h"
#include "tree_faults.h"
#include "tree_particles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 400, SOME = 60 };

/* The tree before is of `old`; particles `p` are set for the next one, which has more nodes. */
static struct tree_particles p, old;
static int active[SOME];

struct scene {
    sapporo_tree *tree;
};

struct rows {
    double acc[N][3], pot[N], some_acc[SOME][3], some_pot[SOME];
};

static int set_of(sapporo_tree *t, const struct tree_particles *all, int masses)
{
    sapporo_tree_particles q = {.size = sizeof q, .n = all->n, .x = {all->x, 0}};
    if (masses) q.mass.base = all->mass;
    return sapporo_tree_set(t, &q);
}

/* A force on all and one on some; NaN wherever it failed.  Returns the status of the first. */
static int rows_of(sapporo_tree *t, struct rows *rows)
{
    const sapporo_tree_request all = {.size = sizeof all, .ni = N},
                               some = {.size = sizeof some, .ni = SOME, .active = active};
    memset(rows, 0, sizeof *rows);
    const int status = sapporo_tree_force(t, &all, rows->acc, rows->pot);
    assert_int_equal(sapporo_tree_force(t, &some, rows->some_acc, rows->some_pot), status);
    for (int i = 0; i < N && status < 0; i++) assert_true(isnan(rows->acc[i][1]) && isnan(rows->pot[i]));
    for (int i = 0; i < SOME && status < 0; i++) assert_true(isnan(rows->some_acc[i][1]) && isnan(rows->some_pot[i]));
    return status;
}

static int act_build(struct scene *s) { return sapporo_tree_build(s->tree); }
static int act_refresh(struct scene *s) { return sapporo_tree_refresh(s->tree); }
static int act_set(struct scene *s) { return set_of(s->tree, &p, 1); }

static int act_force(struct scene *s)
{
    static struct rows rows;
    const sapporo_tree_request all = {.size = sizeof all, .ni = N};
    const int status = sapporo_tree_force(s->tree, &all, rows.acc, rows.pot);
    for (int i = 0; i < N && status < 0; i++) assert_true(isnan(rows.acc[i][0]) && isnan(rows.pot[i]));
    return status;
}

static int act_force_some(struct scene *s)
{
    static struct rows rows;
    const sapporo_tree_request some = {.size = sizeof some, .ni = SOME, .active = active};
    const int status = sapporo_tree_force(s->tree, &some, rows.acc, rows.pot);
    for (int i = 0; i < SOME && status < 0; i++) assert_true(isnan(rows.acc[i][0]) && isnan(rows.pot[i]));
    return status;
}

static int act_places(struct scene *s)
{
    static struct rows rows;
    const sapporo_tree_request places = {.size = sizeof places, .ni = SOME, .x = {p.x, 0}};
    const int status = sapporo_tree_force(s->tree, &places, rows.acc, rows.pot);
    for (int i = 0; i < SOME && status < 0; i++) assert_true(isnan(rows.acc[i][0]) && isnan(rows.pot[i]));
    return status;
}

static int act_search(struct scene *s)
{
    static long long first[SOME + 1];
    static int list[SOME * N];
    static double h[SOME];
    for (int i = 0; i < SOME; i++) h[i] = 0.1, first[i + 1] = 5;
    const int status = sapporo_tree_neighbours(s->tree, SOME, (sapporo_column){p.x, 0}, (sapporo_column){h, 0}, first,
                                               (long long)SOME * N, list);
    for (int i = 0; i <= SOME && status < 0; i++) assert_int_equal(first[i], 0);
    return status;
}

static int act_statistics(struct scene *s)
{
    sapporo_tree_statistics all = {.size = sizeof all, .leaves = 9};
    const int status = sapporo_tree_get_statistics(s->tree, &all);
    assert_true(status ? all.n == 0 && all.leaves == 0 : all.n == N && all.leaves > 9);
    return status;
}

/* changes: the tree is of other particles after the act than before; sets: particles are set before it. */
static const struct act {
    const char *name;
    int (*act)(struct scene *s);
    int changes, sets;
} acts[] = {
    {"build", act_build, 1, 1},   {"refresh", act_refresh, 1, 1},          {"set", act_set, 0, 0},
    {"force", act_force, 0, 0},   {"force on some", act_force_some, 0, 0}, {"force on places", act_places, 0, 0},
    {"search", act_search, 0, 0}, {"statistics", act_statistics, 0, 0}};

static void prepare(struct scene *s, const struct act *act, sapporo_tree_mac mac)
{
    sapporo_tree_options options = tree_fault_options();
    options.leaf_size = 2;
    options.mac = mac;
    assert_int_equal(sapporo_tree_create(&options, N, &s->tree), SAPPORO_OK);
    assert_true(!set_of(s->tree, &old, 1) && !sapporo_tree_build(s->tree));
    if (act->sets) assert_int_equal(set_of(s->tree, &p, 1), SAPPORO_OK);
}

/* What forces are before and after an act that succeeds. */
static void answers_of(const struct act *act, sapporo_tree_mac mac, struct rows *before, struct rows *after)
{
    struct scene s = {NULL};
    prepare(&s, act, mac);
    assert_int_equal(rows_of(s.tree, before), SAPPORO_OK);
    sapporo_tree_destroy(s.tree);
    prepare(&s, act, mac);
    assert_int_equal(act->act(&s), SAPPORO_OK);
    assert_int_equal(rows_of(s.tree, after), SAPPORO_OK);
    if (act->changes) assert_true(memcmp(before, after, sizeof *after) != 0);
    sapporo_tree_destroy(s.tree);
}

/* A set that failed half way: the tree computes on, and no other is made of what was not all taken. */
static void check_torn(struct scene *s, const struct rows *after, const char *what)
{
    struct rows now;
    const int status = sapporo_tree_build(s->tree);
    if (status == SAPPORO_OK) { /* it failed before anything was taken */
        assert_int_equal(rows_of(s->tree, &now), SAPPORO_OK);
        if (memcmp(&now, after, sizeof now) != 0) fail_msg("%s: a tree of no particles that were set", what);
    } else {
        assert_int_equal(set_of(s->tree, &p, 0), SAPPORO_ERR_ARGUMENT);
        assert_true(strstr(sapporo_tree_last_error(s->tree), "masses") != NULL);
    }
    assert_int_equal(set_of(s->tree, &p, 1), SAPPORO_OK);
}

static int act_without_retry(const struct act *act, sapporo_tree_mac mac, long n, int kind, const struct rows *before,
                             const struct rows *after)
{
    static struct rows now;
    struct scene s = {NULL};
    char what[160];
    faulty_plan(0, SAP_DRIVER_OK);
    prepare(&s, act, mac);
    faulty_plan(n, kind);
    const int status = act->act(&s);
    const int met = faulty.failed > 0;
    (void)snprintf(what, sizeof what, "%s, call %ld, %s, status %d of the driver", act->name, n,
                   met ? faulty.failed_call : "none", kind);
    if (kind != SAP_DRIVER_LOST) faulty_plan(0, SAP_DRIVER_OK);
    if (status && (!met || !sapporo_tree_last_error(s.tree)[0])) fail_msg("%s: status %d", what, status);
    const int answer = rows_of(s.tree, &now);
    const int is_before = memcmp(&now, before, sizeof now) == 0, is_after = memcmp(&now, after, sizeof now) == 0;
    if (answer == SAPPORO_OK && !(status ? is_before : is_after)) fail_msg("%s: other forces than either tree's", what);
    if (answer && !act->changes && kind != SAP_DRIVER_LOST) fail_msg("%s: the tree is lost", what);
    if (kind == SAP_DRIVER_LOST) assert_true(!met || answer == SAPPORO_ERR_DEVICE || !status);
    if (status && act->act == act_set && kind != SAP_DRIVER_LOST) check_torn(&s, before, what);
    if (kind != SAP_DRIVER_LOST && act->act != act_set) {
        assert_int_equal(act->act(&s), SAPPORO_OK);
        assert_int_equal(rows_of(s.tree, &now), SAPPORO_OK);
        if (act->changes && mac != SAPPORO_MAC_ACCELERATION && memcmp(&now, after, sizeof now) != 0)
            fail_msg("%s: other forces after another try", what);
    }
    sapporo_tree_destroy(s.tree);
    return met;
}

/* Calls of the driver are failed one after the other, in turns by every kind; lost devices take long to come back. */
static void without_retry(void **state)
{
    static const int kinds[] = {SAP_DRIVER_MEMORY, SAP_DRIVER_ERROR, SAP_DRIVER_LAUNCH};
    static struct rows before, after;
    (void)state;
    tree_faults_need_device();
    tree_faults_start();
    const sapporo_tree_options options = tree_fault_options();
    sapporo_tree *first = NULL; /* kernels are loaded */
    assert_int_equal(sapporo_tree_create(&options, N, &first), SAPPORO_OK);
    for (size_t k = 0; k < sizeof acts / sizeof acts[0]; k++) {
        if (options.kind == SAPPORO_TREE_KDTREE && !acts[k].changes) continue; /* the same calls as of octrees */
        const sapporo_tree_mac mac = k % 2 ? SAPPORO_MAC_ACCELERATION : SAPPORO_MAC_OPENING;
        long n = 1;
        faulty_plan(0, SAP_DRIVER_OK);
        answers_of(&acts[k], mac, &before, &after);
        while (act_without_retry(&acts[k], mac, n, kinds[n % 3], &before, &after)) n++;
        print_message("# %s: %ld calls\n", acts[k].name, n - 1);
        assert_true(n > 2);
        sapporo_tree_destroy(first); /* a lost device comes back once all have closed it */
        assert_true(act_without_retry(&acts[k], mac, n / 2, SAP_DRIVER_LOST, &before, &after));
        faulty_plan(0, SAP_DRIVER_OK);
        assert_int_equal(sapporo_tree_create(&options, N, &first), SAPPORO_OK);
    }
    sapporo_tree_destroy(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_FAULTS_TEST("without another try", without_retry, opencl),
        TREE_FAULTS_TEST("without another try", without_retry, cuda),
    };
    (void)setenv("SAPPORO_VERBOSE", "0", 1);
    p = tree_particles_make(TREE_CLUSTER, N);
    old = tree_particles_make(TREE_CUBE, N);
    for (int i = 0; i < SOME; i++) active[i] = 6 * i;
    const int failed = cmocka_run_group_tests_name("tree_no_retry", tests, NULL, NULL);
    tree_particles_free(&p);
    tree_particles_free(&old);
    return failed;
}
