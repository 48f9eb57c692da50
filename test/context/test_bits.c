/*
 * test_bits.c - the same particles give the same bits, whatever the threads, the batches, the order of arrival, the
 * other outputs, the process.
 *
 *   test_bits               all tests
 *   test_bits --forces      forces of every kind of the CPU on the main stack, no CMocka: for test_stack.sh
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/driver.h"
#include "model.h"
#include "runs.h"
#include "sanitized.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

enum { ALL = OUT_NEAREST | OUT_LISTS };

static const struct ask everything = {ALL, ALL, 0};

/* A test's state is the order: "2", "6", "8", or NULL for 4. */
static void run(void **state, engine_test *test)
{
    if (*state)
        on_all_engines_of(*(const char *)*state - '0', test);
    else
        on_all_engines(test);
}

/* ------------------------------------------------------------ threads, batches */

/* Of targets: below the sizes of groups, at them, above; few_i, shared ranges and whole groups all come. */
static const int batches[] = {1, 3, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 0};

/*
 * Returns 1 if the k-th case of an engine and a problem is left out: the other precisions and kinds of softening have
 * it on the same path, so each path has all.
 */
static int is_left_out(size_t k, const struct engine *e, const struct problem *p)
{
    return test_sparing() && (k + (size_t)e->precision + (p->soft ? 2 : p->eps2 > 0)) % 2;
}

/* Returns the number of threads for a batch where cases are left out: another one for each kind of softening. */
static int threads_of(int batch, const struct problem *p) { return 1 + (batch + (p->soft ? 2 : p->eps2 > 0)) % 4; }

static void batch_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    struct problem part = *p;
    for (size_t k = 0; k < sizeof batches / sizeof batches[0]; k++)
        for (int threads = 1; threads <= 4; threads++) {
            const struct ask ask = {ALL, ALL, batches[k]};
            char what[40];
            if (is_left_out(k, e, p)) continue;
            if (e->backend != SAPPORO_BACKEND_CPU && threads > 1) continue; /* they are not the CPU's */
            if (e->backend == SAPPORO_BACKEND_CPU && threads != threads_of((int)k, p) && test_sparing()) continue;
            part.ntargets = batches[k] == 1 ? 20 : p->ntargets;
            snprintf(what, sizeof what, "%d threads, batches of %d", threads, batches[k]);
            expect(what, e, &part, solve_with(e, threads, &part, &ask), standard, ALL);
        }
}

static void threads_and_batches(void **state) { run(state, batch_test); }

/* How many devices there are, from the first on, that give the same bits. */
static int devices_of_a_kind(sapporo_backend backend)
{
    sapporo_device first = {.size = sizeof first}, other = {.size = sizeof other};
    int n = 1;
    if (backend == SAPPORO_BACKEND_CPU || sapporo_device_describe(backend, 0, &first) != SAPPORO_OK) return 0;
    while (sapporo_device_describe(backend, n, &other) == SAPPORO_OK && strcmp(first.name, other.name) == 0) n++;
    return n;
}

/* Accelerators cut a force of so many pairs into slabs; several devices' lists of so many are joined by threads. */
static void slab_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    enum { BOTH = OUT_NEAREST | OUT_LISTS };
    static const struct ask once = {BOTH, BOTH, 0}, parts = {BOTH, BOTH, 1000};
    struct problem large;
    (void)standard;
    if (e->backend == SAPPORO_BACKEND_CPU || !(p->eps2 > 0)) return;
    /* CPUs take seconds for so many, and where slabs end no precision decides */
    if (e->backend == SAPPORO_BACKEND_OPENCL && sap_opencl_automatic() == 0 && e->precision != SAPPORO_DS) return;
    problem_new(&large, 140000, 9000);
    model_plummer(large.body, large.nbodies, 11);
    for (int i = 0; i < large.ntargets; i++) {
        large.target[i] = p->target[i % p->ntargets];
        large.target[i].h2 *= 0.5; /* lists of hundreds: for more than the first force has room */
    }
    large.nj = large.nbodies;
    large.eps2 = p->eps2;
    struct answer *all = solve_with(e, 1, &large, &once);
    expect("slabs", e, &large, solve_with(e, 1, &large, &parts), all, BOTH);
    if (devices_of_a_kind(e->backend) > 1) {
        static const int two[] = {1, 0};
        expect("slabs on two devices", e, &large, solve_and_close(engine_open_on(e, two, 2), &large, &once), all, BOTH);
    }
    answers_free(all, large.ntargets);
    problem_free(&large);
}

RUNS(slabs, on_all_engines(slab_test))

/* ------------------------------------------------------------ arrival, outputs */

static void put_columns(sapporo *c, const struct problem *p)
{
    for (int from = 0; from < p->nbodies; from += 1000) { /* addresses run in blocks of a thousand */
        const struct body *b = &p->body[from];
        const ptrdiff_t stride = sizeof *b;
        sapporo_particles all = {.size = sizeof all,
                                 .eps2 = {p->soft & SOFT_BODIES ? &b->eps2 : NULL, stride},
                                 .mass = {&b->mass, stride},
                                 .time = {&b->time, stride},
                                 .index = {&b->index, stride}};
        for (int d = 0; d < SAPPORO_DERIVATIVES; d++) all.derivative[d] = (sapporo_column){b->derivative[d], stride};
        const int n = p->nbodies - from < 1000 ? p->nbodies - from : 1000;
        assert_int_equal(sapporo_set_particles(c, b->address, n, &all), SAPPORO_OK);
    }
    sapporo_set_time(c, p->time);
}

static void arrival_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    struct problem other = *p;
    other.body = zeroed((size_t)p->nbodies, sizeof *other.body);
    memcpy(other.body, p->body, (size_t)p->nbodies * sizeof *other.body);
    model_shuffle(other.body, p->nbodies, sizeof *other.body, 3);
    expect("any order", e, p, solve_with(e, 2, &other, &everything), standard, ALL);

    sapporo *c = engine_open(e, 1);
    put_columns(c, p);
    expect("columns", e, p, problem_solve(c, p, &everything), standard, ALL);
    for (int k = 0; k < 100; k++) other.body[k].mass *= 3; /* then the right ones again, while nothing else changes */
    problem_load(c, &other);
    answers_free(problem_solve(c, p, &everything), p->ntargets);
    problem_load(c, p);
    expect("sent again", e, p, problem_solve(c, p, &everything), standard, ALL);
    sapporo_set_time(c, p->time + 1);
    answers_free(problem_solve(c, p, &everything), p->ntargets);
    sapporo_set_time(c, p->time);
    expect("time and back", e, p, problem_solve(c, p, &everything), standard, ALL);
    expect("again", e, p, problem_solve(c, p, &everything), standard, ALL);
    sapporo_clear_particles(c);
    problem_load(c, &other);
    problem_load(c, p);
    expect("after clearing", e, p, problem_solve(c, p, &everything), standard, ALL);
    sapporo_close(c);
    free(other.body);
}

static void arrival(void **state) { run(state, arrival_test); }

static void output_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    static const struct ask asks[] = {{0, 0, 0},           {0, ALL, 0},
                                      {OUT_NEAREST, 0, 0}, {OUT_NEAREST, OUT_NEAREST, 0},
                                      {OUT_LISTS, 0, 0},   {OUT_LISTS, OUT_LISTS, 0},
                                      {ALL, 0, 0},         {ALL, OUT_NEAREST, 0},
                                      {ALL, 0, 16},        {OUT_LISTS, 0, 60},
                                      {OUT_NEAREST, 0, 40}};
    for (size_t k = 0; k < sizeof asks / sizeof asks[0]; k++) {
        char what[40];
        if (is_left_out(k, e, p)) continue;
        snprintf(what, sizeof what, "asked for %u with hint %u", asks[k].outputs, asks[k].want);
        expect(what, e, p, solve_with(e, 1 + (int)k % 3, p, &asks[k]), standard, asks[k].outputs);
    }
}

static void outputs(void **state) { run(state, output_test); }

/* ----------------------------------------------------------- devices, other engines */

/* Nearest neighbours and lists are those of the plain path in every bit: both are decided in double. */
static void neighbours_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    struct answer *plain = solve_with(&engines[1], 1, p, &everything);
    for (int i = 0; i < p->ntargets; i++) {
        const struct answer *a = &standard[i], *b = &plain[i];
        if (a->nearest != b->nearest || !same_doubles(&a->nearest_r2, &b->nearest_r2, 1))
            fail_msg("%s, target %d: nearest %d at %a, not %d at %a", e->name, i, a->nearest, a->nearest_r2, b->nearest,
                     b->nearest_r2);
        if (a->nlist != b->nlist || memcmp(a->list, b->list, (size_t)b->nlist * sizeof *b->list) != 0)
            fail_msg("%s, target %d: another list (%d entries, not %d)", e->name, i, a->nlist, b->nlist);
    }
    answers_free(plain, p->ntargets);
}

RUNS(neighbours, on_all_engines(neighbours_test))

/* On so many devices, in either order of their numbers. */
static void on_devices(const struct engine *e, int n, const struct problem *p, const struct answer *standard)
{
    static const struct ask asks[] = {{ALL, ALL, 0}, {ALL, 0, 16}, {0, 0, 1}, {OUT_LISTS, OUT_LISTS, 60}};
    int devices[16];
    for (int turn = 0; turn < (n > 1 ? 2 : 1); turn++) {
        for (int d = 0; d < n; d++) devices[d] = turn ? n - 1 - d : d;
        for (size_t k = 0; k < sizeof asks / sizeof asks[0]; k++) {
            char what[60];
            struct problem part = *p;
            if (asks[k].batch == 1) part.ntargets = 20;
            snprintf(what, sizeof what, "%d devices%s, batches of %d", n, turn ? " backwards" : "", asks[k].batch);
            struct answer *a = solve_and_close(engine_open_on(e, devices, n), &part, &asks[k]);
            expect(what, e, &part, a, standard, asks[k].outputs);
        }
    }
}

static void devices_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    const int there = devices_of_a_kind(e->backend);
    for (int n = 1; n <= there && n <= 16; n *= 2) on_devices(e, n, p, standard);
}

static void devices(void **state)
{
    int there = 0;
    for (int e = CPU_ENGINES; e < ENGINES; e++) there += engine_usable(&engines[e]) ? 1 : 0;
    if (!there) skip();
    print_message("# %d CUDA devices, %d of OpenCL\n", sapporo_device_count(SAPPORO_BACKEND_CUDA),
                  sapporo_device_count(SAPPORO_BACKEND_OPENCL));
    run(state, devices_test);
}

/* ------------------------------------------------------- regions, forks, stacks */

#if defined(_OPENMP)

/* One context a thread, all at once; answers are compared outside, as CMocka knows one thread. */
static void region_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    enum { THREADS = 3 };
    sapporo *c[THREADS];
    struct answer *a[THREADS] = {NULL};
    for (int t = 0; t < THREADS; t++) problem_load(c[t] = engine_open(e, 4), p);
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int t = 0; t < THREADS; t++) {
        const struct ask ask = {ALL, t ? ALL : 0, t == 2 ? 40 : 0};
        a[t] = problem_solve(c[t], p, &ask);
    }
    for (int t = 0; t < THREADS; t++) {
        expect("inside a parallel region", e, p, a[t], standard, ALL);
        sapporo_close(c[t]);
    }
}

#endif

static void parallel_regions(void **state)
{
#if defined(_OPENMP)
    run(state, region_test);
#else
    (void)state;
    print_message("skip: built without OpenMP\n");
    skip();
#endif
}

/* A driver does not live on in a child: an error is a good answer there, a wrong result or a crash is none. */
static int in_child_of_driver(const struct engine *e, sapporo *parents, const struct problem *p,
                              const struct answer *standard)
{
    sapporo_job *job = NULL;
    sapporo *own = NULL;
    const sapporo_request request = problem_request(p, 0, p->ntargets);
    const sapporo_options options = {
        .size = sizeof options, .order = e->order, .precision = e->precision, .backend = e->backend};
    if (sapporo_force_begin(parents, &request, &job) == SAPPORO_OK)
        expect("child, context of the parent", e, p, problem_solve(parents, p, &everything), standard, ALL);
    sapporo_force_free(job);
    if (sapporo_open(&options, &own) == SAPPORO_OK)
        expect("child, own context", e, p, solve_and_close(own, p, &everything), standard, ALL);
    return 0;
}

/* The child computes with the parent's context and with one of its own; 0 if all is well. */
static int in_child(const struct engine *e, sapporo *parents, const struct problem *p, const struct answer *standard)
{
    alarm(60); /* hangs count as failures */
    if (e->backend != SAPPORO_BACKEND_CPU) return in_child_of_driver(e, parents, p, standard);
    answers_free(problem_solve(parents, p, &everything), p->ntargets);
    expect("child, context of the parent", e, p, problem_solve(parents, p, &everything), standard, ALL);
    expect("child, own context", e, p, solve_with(e, 4, p, &everything), standard, ALL);
    return 0;
}

static void fork_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    int status = -1;
    sapporo *c = engine_open(e, 4);
    problem_load(c, p);
    expect("before fork", e, p, problem_solve(c, p, &everything), standard, ALL);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(in_child(e, c, p, standard));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) fail_msg("%s: the child ended with %x", e->name, (unsigned)status);
    expect("parent after fork", e, p, problem_solve(c, p, &everything), standard, ALL);
    sapporo_close(c);
}

static void after_fork(void **state) { run(state, fork_test); }

/* Forces of every kind on whatever stack there is: by few, shared, by groups, with lists, late. */
static void run_all_kinds(const struct engine *e, int threads, const struct problem *p, const struct answer *standard)
{
    static const struct ask asks[] = {{ALL, ALL, 0}, {ALL, ALL, 7}, {ALL, 0, 60}, {0, 0, 100}};
    for (size_t k = 0; k < sizeof asks / sizeof asks[0]; k++)
        expect("small stack", e, p, solve_with(e, threads, p, &asks[k]), standard, asks[k].outputs);
}

struct small {
    const struct engine *engine;
    const struct problem *problem;
    const struct answer *standard;
};

static void *on_small_stack(void *argument)
{
    const struct small *s = argument;
    run_all_kinds(s->engine, 1, s->problem, s->standard);
    run_all_kinds(s->engine, 2, s->problem, s->standard);
    return NULL;
}

#if SANITIZED
enum { STACK = 1 << 20 }; /* frames are larger */
#else
enum { STACK = 64 << 10 };
#endif
enum { DRIVER_STACK = 1 << 20 }; /* what drivers need nobody tells */

static void stack_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    struct small s = {e, p, standard};
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, e->backend == SAPPORO_BACKEND_CPU ? STACK : DRIVER_STACK),
                     0);
    assert_int_equal(pthread_create(&thread, &attributes, on_small_stack, &s), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

static void small_stack(void **state) { run(state, stack_test); }

static void kinds_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    run_all_kinds(e, 1, p, standard);
    run_all_kinds(e, 3, p, standard);
}

#define OF_ORDER(order, test)                                                                                          \
    {                                                                                                                  \
#test ", order " order, test, NULL, NULL, (void *)(uintptr_t)order                                             \
    }

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_batches),
        cmocka_unit_test(arrival),
        cmocka_unit_test(outputs),
        cmocka_unit_test(neighbours),
        cmocka_unit_test(devices),
        cmocka_unit_test(parallel_regions),
        cmocka_unit_test(after_fork),
        cmocka_unit_test(small_stack),
        cmocka_unit_test(slabs),
        OF_ORDER("2", threads_and_batches),
        OF_ORDER("2", arrival),
        OF_ORDER("2", outputs),
        OF_ORDER("2", parallel_regions),
        OF_ORDER("2", small_stack),
        OF_ORDER("6", threads_and_batches),
        OF_ORDER("6", arrival),
        OF_ORDER("6", outputs),
        OF_ORDER("6", devices),
        OF_ORDER("6", small_stack),
        OF_ORDER("8", threads_and_batches),
        OF_ORDER("8", arrival),
        OF_ORDER("8", outputs),
        OF_ORDER("8", devices),
        OF_ORDER("8", small_stack),
    };
    if (argc > 1 && strcmp(argv[1], "--forces") == 0) {
        setenv("SAPPORO_TEST_ENGINES", "cpu", 1); /* what drivers need of a stack nobody tells */
        on_all_engines(kinds_test); /* a difference ends the program with a failed assertion of CMocka's */
        puts("same bits");
        return 0;
    }
    return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
