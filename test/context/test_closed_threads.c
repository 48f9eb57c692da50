/*
 * test_closed_threads.c - threads that use, close and open contexts, forces, trees and GRAPE-6 clusters at the same
 * time: a call that comes too late finds the handle closed, and does not change an object opened since in the same
 * memory.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/context_private.h"
#include "opened.h"
#include "sapporo_g6.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { NI = 4, ROWS = 8 };

static const double x[NI][3] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};

static const sapporo_particle particle = {.derivative = {{1, 2, 3}, {1, 0, 0}}, .mass = 4, .index = 7};

static const sapporo_request request = {.size = sizeof request, .nj = 2, .ni = NI, .x = {x, 0}};

enum { WORKERS = 2, ROUNDS = 25 };

/* What all threads know: handles that may be closed at any time. */
static struct {
    _Atomic(sapporo *) context;
    _Atomic(sapporo_job *) job;
    _Atomic(sapporo_tree *) tree;
    atomic_int stop, wrong;
} shared;

/* An answer is right: numbers if the handle was open, nothing if it was closed. */
static void judge(int status, const double *pot)
{
    int nan = 0;
    for (int i = 0; i < NI; i++) nan += isnan(pot[i]) != 0;
    if (status == SAPPORO_OK ? nan > 0 : status != SAPPORO_ERR_CLOSED || nan != NI) atomic_fetch_add(&shared.wrong, 1);
}

static void use_context(sapporo *c, int round)
{
    double pot[NI] = {0};
    const sapporo_result r = {.size = sizeof r, .pot = pot};
    sapporo_particle p = particle;
    sapporo_job *job;
    int status = sapporo_set_particle(c, round % ROWS, &particle);
    if (status != SAPPORO_OK && status != SAPPORO_ERR_CLOSED) atomic_fetch_add(&shared.wrong, 1);
    (void)sapporo_set_time(c, 0.25);
    status = sapporo_force_begin(c, &request, &job);
    if (status != SAPPORO_OK && (status != SAPPORO_ERR_CLOSED || job)) atomic_fetch_add(&shared.wrong, 1);
    if (job) judge(sapporo_force_end(job, NI, &r), pot);
    sapporo_force_free(job);
    if (sapporo_get_particle(c, round % ROWS, 0, &p) == SAPPORO_ERR_CLOSED && !isnan(p.mass))
        atomic_fetch_add(&shared.wrong, 1);
    (void)sapporo_kind(c);
    (void)sapporo_get_threads(c);
    if (round % 16 == 0) sapporo_close(c);
}

static void *work(void *argument)
{
    const int number = *(const int *)argument;
    const sapporo_tree_request all = {.size = sizeof all, .ni = NI};
    for (int round = number; !atomic_load(&shared.stop); round++) {
        double pot[NI] = {0};
        const sapporo_result r = {.size = sizeof r, .pot = pot};
        sapporo *const c = atomic_load(&shared.context);
        sapporo_job *const job = atomic_load(&shared.job);
        sapporo_tree *const tree = atomic_load(&shared.tree);
        if (c) use_context(c, round);
        if (job) judge(sapporo_force_end(job, NI, &r), pot);
        if (job && round % 4 == 0) sapporo_force_free(job);
        if (tree) judge(sapporo_tree_force(tree, &all, NULL, pot), pot);
        if (tree && round % 8 == 0) sapporo_tree_destroy(tree);
    }
    return NULL;
}

static void run_workers(pthread_t *thread, void *(*what)(void *))
{
    static int number[WORKERS] = {0, 1};
    memset(&shared, 0, sizeof shared);
    for (int k = 0; k < WORKERS; k++) assert_int_equal(pthread_create(&thread[k], NULL, what, &number[k]), 0);
}

static void end_workers(pthread_t *thread)
{
    atomic_store(&shared.stop, 1);
    for (int k = 0; k < WORKERS; k++) assert_int_equal(pthread_join(thread[k], NULL), 0);
    assert_int_equal(atomic_load(&shared.wrong), 0);
}

/* Contexts that no other thread knows stay untouched while others are opened, used and closed, all in the same memory.
 */
static void contexts_of_threads(void **state)
{
    pthread_t thread[WORKERS];
    (void)state;
    run_workers(thread, work);
    for (int round = 0; round < ROUNDS; round++) {
        sapporo_job *job = NULL;
        sapporo *const bait = open_order(4);
        atomic_store(&shared.context, bait);
        atomic_store(&shared.tree, open_tree());
        (void)sapporo_force_begin(bait, &request, &job); /* it may be closed by now */
        atomic_store(&shared.job, job);
        if (round % 3) (void)sched_yield();
        sapporo_close(bait);
        sapporo_tree_destroy(atomic_load(&shared.tree));
        sapporo *const own = open_order(4);
        sapporo_tree *const tree = open_tree();
        sapporo_job *mine;
        assert_int_equal(sapporo_force_begin(own, &request, &mine), SAPPORO_OK);
        if (round % 2) (void)sched_yield();
        is_untouched(own);
        double pot[NI];
        const sapporo_result r = {.size = sizeof r, .pot = pot};
        assert_int_equal(sapporo_force_end(mine, NI, &r), SAPPORO_OK);
        for (int i = 0; i < NI; i++) assert_true(pot[i] == 0); /* there was no source particle */
        assert_int_equal(sapporo_tree_get_backend(tree), SAPPORO_BACKEND_CPU);
        sapporo_tree_destroy(tree);
        sapporo_close(own);
    }
    end_workers(thread);
}

static void *close_it(void *argument)
{
    (void)argument;
    for (sapporo *last = NULL; !atomic_load(&shared.stop);) {
        sapporo *const c = atomic_load(&shared.context);
        (void)sched_yield();
        if (c == last) continue;
        last = c;
        sapporo_close(c);
    }
    return NULL;
}

/* Several threads close one handle at once: one of them closes, and its memory is kept once. */
static void closed_by_many(void **state)
{
    pthread_t thread[WORKERS];
    (void)state;
    run_workers(thread, close_it);
    for (int round = 0; round < ROUNDS; round++) {
        sapporo *const c = open_order(4);
        atomic_store(&shared.context, c);
        sapporo_close(c);
        assert_null(sap_context_of(c));
        sapporo *const one = open_order(4), *const other = open_order(4);
        assert_ptr_not_equal(sap_context_of(one), sap_context_of(other));
        sapporo_close(one);
        sapporo_close(other);
    }
    end_workers(thread);
}

static void *set_by_id(void *argument)
{
    const int number = *(const int *)argument;
    double zero[3] = {0, 0, 0}, at[3] = {1, 2, 3};
    for (int k = number; !atomic_load(&shared.stop); k++) {
        (void)g6_set_j_particle(0, k % ROWS, k, 0, 0, 1, zero, zero, zero, zero, at);
        (void)g6_set_ti(0, 0.5);
    }
    return NULL;
}

/* The same for GRAPE-6 calls by several threads beside g6_close, which look for the context without a lock. */
static void clusters(void **state)
{
    pthread_t thread[WORKERS];
    (void)state;
    run_workers(thread, set_by_id);
    for (int round = 0; round < ROUNDS; round++) {
        assert_int_equal(g6_open(0), 0);
        if (round % 3) (void)sched_yield();
        assert_int_equal(g6_close(0), 0);
        sapporo *const own = open_order(4);
        if (round % 2) (void)sched_yield();
        is_untouched(own);
        sapporo_close(own);
    }
    end_workers(thread);
}

static void *compute(void *argument)
{
    enum { N = 500 };
    static double many[N][3];
    sapporo_request r = request;
    const sapporo_particles all = {.size = sizeof all, .derivative = {{many, 0}}, .mass = {many, 0}};
    int status = SAPPORO_OK;
    (void)argument;
    r.nj = r.ni = N;
    r.x.base = many;
    while (!atomic_load(&shared.context)) (void)sched_yield();
    for (sapporo *const c = atomic_load(&shared.context); status == SAPPORO_OK;) {
        sapporo_job *job;
        double pot[NI] = {0};
        const sapporo_result out = {.size = sizeof out, .pot = pot};
        status = sapporo_set_particles(c, 0, N, &all);
        if (!status) status = sapporo_force_begin(c, &r, &job);
        atomic_fetch_add(&shared.stop, 1);
        if (!status) judge(status = sapporo_force_end(job, NI, &out), pot);
    }
    if (status != SAPPORO_ERR_CLOSED) atomic_fetch_add(&shared.wrong, 1);
    return NULL;
}

/* Closing waits for forces of other threads, which then find the context closed. */
static void closed_in_the_middle(void **state)
{
    pthread_t thread[WORKERS];
    (void)state;
    run_workers(thread, compute);
    sapporo *const c = open_order(4);
    atomic_store(&shared.context, c);
    while (atomic_load(&shared.stop) < 2 * WORKERS) (void)sched_yield();
    sapporo_close(c);
    assert_int_equal(sapporo_set_time(c, 1), SAPPORO_ERR_CLOSED);
    end_workers(thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_of_threads),
        cmocka_unit_test(closed_by_many),
        cmocka_unit_test(clusters),
        cmocka_unit_test(closed_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
