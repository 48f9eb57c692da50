/*
 * test_native_threads.c - several threads: on contexts of their own, all on one context, opening and closing, with the
 * log function.  SANITIZE=thread with OPENMP=0 runs it too.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, N = 2500, NI = 60, LOW = 2000, ROUNDS = 12 };

static struct problem problem;
static struct answer *expected; /* of the particles below LOW, with neighbours */

static int make(void **state)
{
    const struct ask ask = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, 0};
    (void)state;
    problem_new(&problem, N, NI);
    model_plummer(problem.body, N, 30);
    problem.nj = LOW;
    problem.eps2 = 1e-4;
    model_targets(&problem, 0.1);
    sapporo *c = engine_open(engine_any(), 1);
    problem_load(c, &problem);
    expected = problem_solve(c, &problem, &ask);
    sapporo_close(c);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    answers_free(expected, NI);
    problem_free(&problem);
    return 0;
}

/* What a thread does, and how often something was not as it should be; CMocka is left to the main thread. */
struct worker {
    sapporo *c;
    int number, wrong;
};

static void run_threads(void *(*work)(void *), struct worker *workers)
{
    pthread_t thread[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t].number = t;
        assert_int_equal(pthread_create(&thread[t], NULL, work, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(thread[t], NULL), 0);
    for (int t = 0; t < THREADS; t++)
        if (workers[t].wrong) fail_msg("thread %d found %d things wrong", t, workers[t].wrong);
}

static int load(sapporo *c, int from, int to)
{
    int wrong = 0;
    for (int k = from; k < to; k++) {
        const struct body *b = &problem.body[k];
        const sapporo_particle p = particle_of(b);
        wrong += sapporo_set_particle(c, b->address, &p) != SAPPORO_OK;
    }
    return wrong;
}

/* A force on some targets with all there is; returns what differs. */
static int force(sapporo *c, int from, int n)
{
    double acc[NI][3], jerk[NI][3], pot[NI];
    int nearest[NI], list[N], wrong = 0;
    const sapporo_request request = problem_request(&problem, from, n);
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot, .nearest = nearest};
    sapporo_job *job;
    if (sapporo_force_begin(c, &request, &job)) return 1;
    while (!sapporo_force_done(job)) continue;
    wrong += sapporo_force_end(job, n, &result) != SAPPORO_OK;
    for (int i = 0; i < n; i++) {
        const struct answer *e = &expected[from + i];
        wrong += !same_doubles(acc[i], e->acc, 3) || !same_doubles(jerk[i], e->jerk, 3) ||
                 !same_doubles(&pot[i], &e->pot, 1) || nearest[i] != e->nearest;
    }
    int length;
    const int status = sapporo_force_neighbours(job, 0, N, &length, list, NULL);
    /* others may have begun forces since, and changed particles: then it is too late */
    if (status != SAPPORO_ERR_GONE)
        wrong += status != SAPPORO_OK || length != expected[from].nlist ||
                 memcmp(list, expected[from].list, (size_t)length * sizeof(int)) != 0;
    sapporo_force_free(job);
    return wrong;
}

/* ---------------------------------------------------------------- one context each */

static void *on_its_own(void *argument)
{
    struct worker *w = argument;
    w->wrong += load(w->c, 0, LOW);
    for (int n = 0; n < ROUNDS; n++) {
        w->wrong += force(w->c, (w->number + n) % (NI / 2), n % 2 ? NI / 2 : 5);
        w->wrong += load(w->c, n, n + 100);
    }
    return NULL;
}

static void contexts_of_their_own(void **state)
{
    struct worker workers[THREADS] = {{0}};
    (void)state;
    for (int t = 0; t < THREADS; t++) workers[t].c = engine_open(engine_any(), 1 + t % 2);
    run_threads(on_its_own, workers);
    for (int t = 0; t < THREADS; t++) sapporo_close(workers[t].c);
}

/* ----------------------------------------------------------------------- one for all */

/* Even threads ask for forces of particles below LOW, odd ones change particles above and read. */
static void *on_one(void *argument)
{
    struct worker *w = argument;
    for (int n = 0; n < ROUNDS; n++) {
        if (w->number % 2 == 0) {
            w->wrong += force(w->c, w->number, n % 3 ? NI / 2 : 5);
            continue;
        }
        sapporo_particle got;
        w->wrong += load(w->c, LOW, N);
        w->wrong += sapporo_get_particle(w->c, LOW + 5, 0, &got) != SAPPORO_OK;
        w->wrong += got.index != problem.body[LOW + 5].index;
        w->wrong += sapporo_set_time(w->c, 0) != SAPPORO_OK;
        w->wrong += sapporo_memory_needed(w->c, N, NULL) == 0;
        (void)sapporo_kind(w->c);
    }
    return NULL;
}

static void one_for_all(void **state)
{
    struct worker workers[THREADS] = {{0}};
    (void)state;
    sapporo *c = engine_open(engine_any(), 2);
    assert_int_equal(load(c, 0, LOW), 0);
    for (int t = 0; t < THREADS; t++) workers[t].c = c;
    run_threads(on_one, workers);
    sapporo_close(c);
}

/* Particles at addresses of its own from each thread, from none to many: all arrive. */
static void *loads(void *argument)
{
    struct worker *w = argument;
    for (int k = w->number; k < LOW; k += THREADS) w->wrong += load(w->c, k, k + 1);
    return NULL;
}

static void loaded_by_all(void **state)
{
    (void)state;
    for (int n = 0; n < 5; n++) {
        struct worker workers[THREADS] = {{0}};
        sapporo *c = engine_open(engine_any(), 1);
        for (int t = 0; t < THREADS; t++) workers[t].c = c;
        run_threads(loads, workers);
        assert_int_equal(force(c, 0, NI), 0);
        sapporo_close(c);
    }
}

/* --------------------------------------------------------------- opening, messages */

static atomic_int heard;

static void hear(void *user, int level, const char *text)
{
    (void)user, (void)level, (void)text;
    atomic_fetch_add(&heard, 1);
}

/* Opens, fails, speaks, closes; the error of an opening belongs to its thread. */
static void *opens(void *argument)
{
    struct worker *w = argument;
    const sapporo_options bad = {.size = sizeof bad, .order = 100 + w->number};
    for (int n = 0; n < 50; n++) {
        char number[16];
        sapporo *c;
        snprintf(number, sizeof number, "%d", 100 + w->number);
        w->wrong += sapporo_open(&bad, &c) != SAPPORO_ERR_ARGUMENT || c;
        w->wrong += strstr(sapporo_last_error(NULL), number) == NULL;
        w->wrong += sapporo_open(NULL, &c) != SAPPORO_OK;
        w->wrong += sapporo_last_error(NULL)[0] != 0;
        w->wrong += load(c, 0, 20);
        w->wrong += sapporo_set_particle(c, -1, &(sapporo_particle){0}) != SAPPORO_ERR_ARGUMENT;
        if (n % 8 == 0) sapporo_set_log(hear, NULL);
        (void)sapporo_device_count(SAPPORO_BACKEND_AUTO);
        sapporo_close(c);
    }
    return NULL;
}

static void openings(void **state)
{
    struct worker workers[THREADS] = {{0}};
    (void)state;
    sapporo_set_log(hear, NULL);
    run_threads(opens, workers);
    sapporo_set_log(NULL, NULL);
    assert_int_equal(atomic_load(&heard), 2 * 50 * THREADS);
}

/* ------------------------------------------------- few targets, whose sources threads share */

/* Rows have the bits of one thread, with few groups of targets and with fewer than a group. */
static void shared_sources(void **state)
{
    enum { MANY = 40000, FEW = 24 };
    static const int targets[] = {FEW, 9, 2};
    const struct ask ask = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, 0};
    struct problem p;
    (void)state;
    problem_new(&p, MANY, FEW);
    model_plummer(p.body, MANY, 31);
    p.nj = MANY;
    p.eps2 = 1e-4;
    model_targets(&p, 0.01);
    for (int k = 0; k < CPU_ENGINES; k++)
        for (int n = 0; n < 3 && engine_usable(&engines[k]); n++) {
            p.ntargets = targets[n];
            struct answer *const one = solve_with(&engines[k], 1, &p, &ask);
            for (int threads = 2; threads < 5; threads++)
                expect("threads that share sources", &engines[k], &p, solve_with(&engines[k], threads, &p, &ask), one,
                       OUT_NEAREST | OUT_LISTS);
            answers_free(one, p.ntargets);
        }
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_of_their_own), cmocka_unit_test(one_for_all),
        cmocka_unit_test(loaded_by_all),         cmocka_unit_test(openings),
        cmocka_unit_test(shared_sources),
    };
    setenv("SAPPORO_VERBOSE", "1", 1);
    return cmocka_run_group_tests_name("native threads", tests, make, unmake);
}
