/*
 * test_team_limits.c - forces when threads or memory are short, after fork, in clients' threads that are cancelled, and
 * at the end of the process: the same bits, and no call hangs or ends the process.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/team.h"
#include "base/threads.h"
#include "child.h"
#include "sapporo.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SANITIZED)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

enum { N = 4096, NI = 512 };

/* ---- forces where threads or memory are short ---------------------------------------- */

struct forces {
    double acc[NI][3], jerk[NI][3], pot[NI];
};

static sapporo *open_loaded(int threads)
{
    const sapporo_options options = {
        .size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .precision = SAPPORO_DS, .threads = threads};
    sapporo *c = NULL;
    if (sapporo_open(&options, &c)) return NULL;
    for (int k = 0; k < N; k++) {
        const sapporo_particle p = {.mass = 1.0 / N,
                                    .index = k,
                                    .derivative = {{sin(k), cos(3 * k), sin(7 * k)}, {cos(k), sin(5 * k), cos(2 * k)}}};
        if (sapporo_set_particle(c, k, &p)) return NULL;
    }
    return c;
}

static int solve(sapporo *c, struct forces *f)
{
    static const double zero[NI][3];
    static double x[NI][3];
    sapporo_job *job = NULL;
    for (int i = 0; i < NI; i++)
        for (int k = 0; k < 3; k++) x[i][k] = cos(11 * i + k);
    const sapporo_request request = {
        .size = sizeof request, .nj = N, .ni = NI, .x = {.base = x}, .v = {.base = zero}, .eps2 = 1.0 / 1024};
    const sapporo_result result = {.size = sizeof result, .acc = f->acc, .jerk = f->jerk, .pot = f->pot};
    int status = sapporo_force_begin(c, &request, &job);
    if (!status) status = sapporo_force_end(job, NI, &result);
    sapporo_force_free(job);
    return status;
}

/* The same bits as with one thread; or, if `may_fail`, an error. */
static int forces_differ(sapporo *c, const struct forces *standard, int may_fail)
{
    static struct forces f;
    const int status = solve(c, &f);
    if (status < 0 && may_fail) return 0;
    return WRONG(status != SAPPORO_OK) + WRONG(memcmp(&f, standard, sizeof f) != 0);
}

static struct forces standard_forces;

static sapporo *with_standard(int threads)
{
    sapporo *one = open_loaded(1), *c = open_loaded(threads);
    if (one && c && solve(one, &standard_forces) == SAPPORO_OK) return c;
    fprintf(stderr, "no standard\n");
    return NULL;
}

static int same_bits(void)
{
    int wrong = 0;
    for (int threads = 2; threads <= 8; threads++) {
        sapporo *c = with_standard(threads);
        if (!c) return 1;
        for (int k = 0; k < (IS_SANITIZED ? 2 : 20); k++) wrong += forces_differ(c, &standard_forces, 0);
        sapporo_close(c);
    }
    return wrong;
}

/* Counts to a hundred in a region. */
static void count(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    atomic_fetch_add((atomic_llong *)argument, to - from);
}

static int region_is_wrong(int threads)
{
    atomic_llong sum = 0;
    sap_team_for(threads, 100, 5, count, &sum);
    return sum != 100;
}

/* pthread_create fails when so many threads have been made; -1: never. */
static atomic_int threads_left = -1;

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static create_function *real_create(void)
{
    create_function *create = NULL;
    void *const found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&create, &found, sizeof create);
    return create;
}

#if !defined(SANITIZED) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict how, void *(*start)(void *),
                   void *restrict argument)
{
    if (atomic_load(&threads_left) == 0) return EAGAIN;
    if (atomic_load(&threads_left) > 0) atomic_fetch_sub(&threads_left, 1);
    return real_create()(thread, how, start, argument);
}
#endif

static int no_threads(void)
{
    int wrong = 0;
    if (IS_SANITIZED || !real_create()) return CHILD_SKIPPED;
    for (int left = 0; left < 3; left++) {
        sapporo *c = with_standard(6);
        if (!c) return 1;
        atomic_store(&threads_left, left);
        for (int k = 0; k < 5; k++) wrong += forces_differ(c, &standard_forces, 0) + WRONG(region_is_wrong(6));
        wrong += WRONG(left == 0 && sap_team_workers() != 0) + WRONG(sap_team_workers() > 3);
        atomic_store(&threads_left, -1);
        sapporo_close(c);
    }
    (void)sleep(2); /* after a failure none is made for a second */
    return wrong + WRONG(region_is_wrong(6)) + WRONG(sap_team_workers() < 5);
}

static int process_limit(void)
{
    const struct rlimit none = {0, 0};
    sapporo *c = with_standard(6);
    if (!c) return 1;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return CHILD_SKIPPED;
    if (setrlimit(RLIMIT_NPROC, &none)) return CHILD_SKIPPED;
    int wrong = 0;
    for (int k = 0; k < 5; k++) wrong += forces_differ(c, &standard_forces, 0);
    return wrong;
}

/* Bytes of address space that the process has now. */
static size_t address_space(void)
{
    char line[64] = "";
    FILE *const f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (!fgets(line, sizeof line, f)) line[0] = '\0';
    (void)fclose(f);
    return (size_t)strtoul(line, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static int memory_limit(void)
{
    int wrong = 0;
    const size_t space = address_space();
    if (IS_SANITIZED || space == 0) return CHILD_SKIPPED;
    for (size_t more = 0; more <= (size_t)8 << 20; more = more ? 2 * more : (size_t)1 << 16) {
        sapporo *c = with_standard(8);
        if (!c) return 1;
        struct rlimit limit;
        if (getrlimit(RLIMIT_AS, &limit)) return CHILD_SKIPPED;
        const rlim_t before = limit.rlim_cur;
        limit.rlim_cur = address_space() + more;
        if (setrlimit(RLIMIT_AS, &limit)) return CHILD_SKIPPED;
        for (int k = 0; k < 3; k++) wrong += forces_differ(c, &standard_forces, 1) + WRONG(region_is_wrong(8));
        limit.rlim_cur = before;
        if (setrlimit(RLIMIT_AS, &limit)) return 1;
        wrong += forces_differ(c, &standard_forces, 0);
        sapporo_close(c);
    }
    return wrong;
}

/* ---- fork ------------------------------------------------------------------------------ */

static sapporo *of_parent;

static int compute_in_child(void)
{
    sapporo *own = open_loaded(4);
    if (!own) return 1;
    const int wrong = forces_differ(of_parent, &standard_forces, 0) + forces_differ(own, &standard_forces, 0);
    sapporo_close(own);
    return wrong;
}

static int compute_alone(void)
{
    return compute_in_child() + WRONG(sap_threads_now(4) != 1) + WRONG(sap_team_workers() != 0);
}

static int compute_with_team(void)
{
    return WRONG(sap_threads_now(4) != 4) + compute_in_child() + WRONG(sap_team_workers() == 0);
}

static int after_fork(void)
{
    of_parent = with_standard(4);
    if (!of_parent) return 1;
    int wrong = WRONG(run_in_child(compute_with_team) != 0); /* no workers so far: the child has a team of its own */
    wrong += forces_differ(of_parent, &standard_forces, 0) + WRONG(sap_team_workers() == 0);
    for (int k = 0; k < 10; k++) wrong += WRONG(run_in_child(compute_alone) != 0);
    return wrong + forces_differ(of_parent, &standard_forces, 0) + WRONG(sap_threads_now(4) != 4);
}

static atomic_int stop;

static void *open_and_close(void *unused)
{
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .threads = 2};
    while (!atomic_load(&stop)) {
        sapporo *c = NULL;
        if (sapporo_open(&options, &c)) continue;
        for (int k = 0; k < 40; k++)
            (void)sapporo_set_particle(c, k, &(sapporo_particle){.mass = 1, .derivative = {{k}}});
        sapporo_close(c);
        sapporo_set_log(NULL, NULL);
    }
    return unused;
}

static int open_in_child(void)
{
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .threads = 1};
    int wrong = 0;
    for (int k = 0; k < 20; k++) {
        sapporo *c = NULL;
        wrong += WRONG(sapporo_open(&options, &c) != SAPPORO_OK);
        wrong += WRONG(sapporo_set_particle(c, 0, &(sapporo_particle){.mass = 1}) != SAPPORO_OK);
        sapporo_set_log(NULL, NULL);
        sapporo_close(c);
    }
    return wrong;
}

/* Locks of the process that other threads have at the time of a fork do not stop the child. */
static int fork_while_others_call(void)
{
    enum { OTHERS = 3 };
    pthread_t other[OTHERS];
    int wrong = 0;
    if (IS_SANITIZED) return CHILD_SKIPPED;
    for (int t = 0; t < OTHERS; t++)
        if (pthread_create(&other[t], NULL, open_and_close, NULL)) return CHILD_SKIPPED;
    for (int k = 0; k < 200 && !wrong; k++) wrong += WRONG(run_in_child(open_in_child) != 0);
    atomic_store(&stop, 1);
    for (int t = 0; t < OTHERS; t++) (void)pthread_join(other[t], NULL);
    return wrong;
}

/* ---- clients' threads ------------------------------------------------------------------- */

struct client {
    sapporo *c;
    atomic_int calls;
};

static void quiet(void *user, int level, const char *text)
{
    (void)user;
    (void)level;
    (void)text;
    pthread_testcancel(); /* as a log function that writes */
}

static void *compute_for_ever(void *argument)
{
    struct client *const client = argument;
    struct forces *const f = malloc(sizeof *f);
    pthread_cleanup_push(free, f);
    for (;;) {
        (void)solve(client->c, f);
        (void)sapporo_set_particle(client->c, -1, &(sapporo_particle){.mass = 1}); /* an error: a message */
        sapporo *own = NULL;
        const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU};
        if (sapporo_open(&options, &own) == SAPPORO_OK) sapporo_close(own);
        atomic_fetch_add(&client->calls, 1);
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return NULL;
}

/* A thread that is cancelled in the middle of calls leaves nothing locked. */
static int cancellation(void)
{
    struct client client = {with_standard(3), 0};
    int wrong = 0;
    if (!client.c) return 1;
    sapporo_set_log(quiet, NULL);
    for (int k = 0; k < 30; k++) {
        pthread_t thread;
        void *result = NULL;
        atomic_store(&client.calls, 0);
        if (pthread_create(&thread, NULL, compute_for_ever, &client)) return CHILD_SKIPPED;
        while (atomic_load(&client.calls) < 1 + k % 3) (void)sched_yield();
        (void)pthread_cancel(thread);
        (void)pthread_join(thread, &result);
        wrong += WRONG(result != PTHREAD_CANCELED) + forces_differ(client.c, &standard_forces, 0);
        wrong += WRONG(sapporo_set_particle(client.c, -1, &(sapporo_particle){.mass = 1}) == SAPPORO_OK);
    }
    return wrong;
}

static void *compute_at_exit(void *argument)
{
    static struct forces f;
    for (;;) (void)solve(argument, &f);
    return NULL;
}

/* exit() with sleeping workers, and while another thread computes: no crash. */
static int exit_while_computing(void)
{
    pthread_t thread;
    sapporo *c = with_standard(3);
    if (!c || forces_differ(c, &standard_forces, 0)) return 1;
    if (pthread_create(&thread, NULL, compute_at_exit, c)) return CHILD_SKIPPED;
    (void)usleep(20000);
    exit(0);
}

static int exits(void)
{
    int wrong = 0;
    for (int k = 0; k < 10; k++) wrong += WRONG(run_in_child(exit_while_computing) != 0);
    return wrong;
}

/* ---- all ------------------------------------------------------------------------------------- */

CHILD_TEST(same_bits, "")
CHILD_TEST(no_threads, "sanitizers have a pthread_create of their own")
CHILD_TEST(process_limit, "the number of processes cannot be limited")
CHILD_TEST(memory_limit, "sanitizers need all the address space")
CHILD_TEST(after_fork, "")
CHILD_TEST(fork_while_others_call, "sanitizers hold locks of their own across a fork of several threads")
CHILD_TEST(cancellation, "the system makes no thread")
CHILD_TEST(exits, "")

int main(void)
{
    if (sap_team_is_openmp()) {
        puts("threads are those of OpenMP: test_team_openmp.sh");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),     cmocka_unit_test(test_no_threads),
        cmocka_unit_test(test_process_limit), cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_after_fork),    cmocka_unit_test(test_fork_while_others_call),
        cmocka_unit_test(test_cancellation),  cmocka_unit_test(test_exits),
    };
    return cmocka_run_group_tests_name("team_limits", tests, NULL, NULL);
}
