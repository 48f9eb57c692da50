/*
 * test_circumstances.c - 44 blocks of work have the bits of a calm process: forces, trees, batches and block steps,
 * each again, in threads, in children of fork, under a rain of signals, and in each floating-point environment of the
 * caller, which stays as the caller set it.
 */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sanitized.h"
#include "sapporo.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { N = 1500, WIDTH = 7, NUMBERS = WIDTH * N, TEAM = 4 };

static double x[N][3], v[N][3], mass[N];
static int address[N];

/* A Plummer-like ball; numbers of a simple generator. */
static void make_particles(void)
{
    uint64_t state = 1;
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < 6; c++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
            const double u = ldexp((double)(state >> 11), -53) - 0.5;
            *(c < 3 ? &x[i][c] : &v[i][c - 3]) = c < 3 ? u / (0.1 + fabs(u)) : u;
        }
        mass[i] = (1 + i % 7) / (4.0 * N);
        address[i] = i;
    }
}

/* ---- works: each writes NUMBERS numbers and returns 0, or returns what failed ---- */

typedef int work_function(double *out);

static int force(double *out)
{
    const sapporo_options o = {.size = sizeof o, .backend = SAPPORO_BACKEND_CPU, .threads = 2};
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}, {v, 0}}, .mass = {mass, 0}};
    const sapporo_request r = {
        .size = sizeof r, .nj = N, .ni = N, .x = {x, 0}, .v = {v, 0}, .index = {address, 0}, .eps2 = 1e-4};
    const sapporo_result to = {.size = sizeof to,
                               .acc = (double(*)[3])out,
                               .jerk = (double(*)[3])(out + (size_t)3 * N),
                               .pot = out + (size_t)6 * N};
    sapporo *c = NULL;
    sapporo_job *job = NULL;
    if (sapporo_open(&o, &c)) return 1;
    int bad = sapporo_set_particles(c, 0, N, &all) || sapporo_force_begin(c, &r, &job);
    bad = bad || sapporo_force_end(job, N, &to);
    sapporo_force_free(job);
    sapporo_close(c);
    return bad;
}

static int tree(double *out)
{
    const sapporo_tree_options o = {
        .size = sizeof o, .backend = SAPPORO_BACKEND_CPU, .mac = SAPPORO_MAC_ACCELERATION, .eps2 = 1e-4, .threads = 2};
    const sapporo_tree_particles all = {.size = sizeof all, .n = N, .x = {x, 0}, .mass = {mass, 0}};
    const sapporo_tree_request r = {.size = sizeof r, .ni = N};
    sapporo_tree *t = NULL;
    if (sapporo_tree_create(&o, N, &t)) return 1;
    int bad = sapporo_tree_set(t, &all) || sapporo_tree_build(t) || sapporo_tree_refresh(t);
    bad = bad || sapporo_tree_force(t, &r, (double(*)[3])out, out + (size_t)6 * N);
    bad = bad || sapporo_tree_force(t, &r, (double(*)[3])(out + (size_t)3 * N), NULL);
    sapporo_tree_destroy(t);
    return bad;
}

static int batch(double *out)
{
    enum { LISTS = N / 10 };
    const sapporo_options o = {
        .size = sizeof o, .order = 2, .precision = SAPPORO_SP, .backend = SAPPORO_BACKEND_CPU, .threads = 2};
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
    sapporo_small_force list[LISTS];
    sapporo_result result[LISTS];
    sapporo *c = NULL;
    for (int k = 0; k < LISTS; k++) {
        list[k] = (sapporo_small_force){.size = sizeof *list, .ni = 10, .nj = 200 + 8 * k, .eps2 = 1e-4};
        list[k].x.base = x[10 * k];
        list[k].address = address;
        result[k] = (sapporo_result){
            .size = sizeof *result, .acc = (double(*)[3])out + 10 * k, .pot = out + (size_t)6 * N + 10 * k};
    }
    if (sapporo_open(&o, &c)) return 1;
    const int bad = sapporo_set_particles(c, 0, N, &all) || sapporo_force_batch(c, LISTS, list, result);
    sapporo_close(c);
    return bad;
}

static int steps(double *out)
{
    const sapporo_tree_options how = {.size = sizeof how,
                                      .backend = SAPPORO_BACKEND_CPU,
                                      .mac = SAPPORO_MAC_ACCELERATION,
                                      .eps2 = 4e-4,
                                      .threads = 2};
    const sapporo_stepper_options o = {
        .size = sizeof o, .tree = &how, .dt = 1.0 / 16, .scheme = SAPPORO_STEPS_BLOCK, .levels = 6};
    const sapporo_stepper_particles all = {
        .size = sizeof all, .n = N, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}, .time = 0.5};
    const sapporo_stepper_output to = {.size = sizeof to,
                                       .n = N,
                                       .x = (double(*)[3])out,
                                       .v = (double(*)[3])(out + (size_t)3 * N),
                                       .pot = out + (size_t)6 * N};
    sapporo_stepper *s = NULL;
    if (sapporo_stepper_create(&o, N, &s)) return 1;
    const int bad =
        sapporo_stepper_set(s, &all) || sapporo_stepper_advance(s, INFINITY, 6) || sapporo_stepper_get(s, &to);
    sapporo_stepper_destroy(s);
    return bad;
}

static const struct {
    const char *name;
    work_function *work;
} works[] = {{"force", force}, {"tree", tree}, {"batch", batch}, {"steps", steps}};
enum { WORKS = sizeof works / sizeof works[0] };

static double calm[WORKS][NUMBERS];

/* Whether a work has its bits. */
static int is_same(int k)
{
    double *const out = calloc(NUMBERS, sizeof *out);
    const int same = out && works[k].work(out) == 0 && memcmp(out, calm[k], sizeof calm[k]) == 0;
    free(out);
    return same;
}

/* ---- circumstances: each returns whether a work has its bits there; -1: it cannot be had ---- */

static void *in_thread(void *work) { return is_same(*(const int *)work) ? work : NULL; }

static int in_threads(int k, int n)
{
    pthread_t thread[TEAM];
    int good = 1;
    for (int t = 0; t < n; t++) assert_int_equal(pthread_create(&thread[t], NULL, in_thread, &k), 0);
    for (int t = 0; t < n; t++) {
        void *result = NULL;
        good &= pthread_join(thread[t], &result) == 0 && result != NULL;
    }
    return good;
}

static int again(int k) { return is_same(k); }
static int one_thread(int k) { return in_threads(k, 1); }
static int team(int k) { return in_threads(k, TEAM); }

/* Forks so many times, each child from the one before; the last one works, then each of its parents. */
static int after_forks(int k, int depth)
{
    if (depth == 0) return is_same(k);
    const pid_t child = fork();
    int status = 1;
    if (child == 0) _exit(after_forks(k, depth - 1) ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && is_same(k);
}

static int child(int k) { return SANITIZED ? -1 : after_forks(k, 1); }
static int grandchild(int k) { return SANITIZED ? -1 : after_forks(k, 2); }

static volatile sig_atomic_t rung;

static void ring(int number)
{
    (void)number;
    rung = rung + 1;
}

/* A timer interrupts every half millisecond, and system calls are not restarted. */
static int signals(int k)
{
    const struct sigaction on = {.sa_handler = ring};
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    struct sigaction before;
    int good = 1;
    assert_int_equal(sigaction(SIGALRM, &on, &before), 0);
    rung = 0;
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (int turn = 0; turn < 200 && good && (turn < 2 || rung < 20); turn++) good = is_same(k);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    return good && rung >= 20;
}

static int rounded(int k, int mode)
{
    assert_int_equal(fesetround(mode), 0);
    const int good = is_same(k), kept = fegetround() == mode;
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    return good && kept;
}

static int upward(int k) { return rounded(k, FE_UPWARD); }
static int downward(int k) { return rounded(k, FE_DOWNWARD); }
static int to_zero(int k) { return rounded(k, FE_TOWARDZERO); }

static int flushed(int k)
{
#if defined(__SSE2__)
    const unsigned before = _mm_getcsr(), flush = 0x8040; /* results and operands that are denormal count as 0 */
    _mm_setcsr(before | flush);
    const int good = is_same(k), kept = (_mm_getcsr() & flush) == flush;
    _mm_setcsr(before);
    return good && kept;
#else
    (void)k;
    return -1;
#endif
}

static int trapped(int k)
{
#if defined(__GLIBC__) && defined(__x86_64__)
    enum { TRAPS = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT };
    (void)feclearexcept(FE_ALL_EXCEPT);
    (void)feenableexcept(TRAPS); /* a trap would end the process */
    const int good = is_same(k), kept = fegetexcept() == TRAPS;
    (void)fedisableexcept(FE_ALL_EXCEPT);
    return good && kept;
#else
    (void)k;
    return -1;
#endif
}

static const struct {
    const char *name;
    int (*under)(int k);
} circumstances[] = {{"again", again},
                     {"a thread", one_thread},
                     {"threads at once", team},
                     {"a child", child},
                     {"a child of a child", grandchild},
                     {"signals", signals},
                     {"rounding upward", upward},
                     {"rounding downward", downward},
                     {"rounding to zero", to_zero},
                     {"flush to zero", flushed},
                     {"traps", trapped}};
enum { CIRCUMSTANCES = sizeof circumstances / sizeof circumstances[0] };

static void same_bits(void **state)
{
    int blocks = 0;
    (void)state;
    make_particles();
    for (int k = 0; k < WORKS; k++) assert_int_equal(works[k].work(calm[k]), 0);
    for (int k = 0; k < WORKS; k++)
        for (int c = 0; c < CIRCUMSTANCES; c++) {
            const int good = circumstances[c].under(k);
            if (good == 0) fail_msg("%s, %s: other bits", works[k].name, circumstances[c].name);
            blocks += good > 0;
        }
    print_message("%d blocks of %d have the bits of a calm process\n", blocks, WORKS * CIRCUMSTANCES);
    assert_true(blocks >= WORKS * (CIRCUMSTANCES - 4));
    for (int k = 0; k < WORKS; k++)
        for (int i = 0; i < NUMBERS; i++) assert_true(isfinite(calm[k][i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
