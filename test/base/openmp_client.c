/*
 * openmp_client.c - a client with OpenMP, beside a library whose threads are OpenMP's (test_team_openmp.sh): forces
 * have the bits of one thread in all that OpenMP allows.
 *
 *   openmp_client NAME
 */
#define _POSIX_C_SOURCE 200809L
#include "base/team.h"
#include "base/threads.h"
#include "child.h"
#include "sapporo.h"

#include <omp.h>
#include <string.h>

enum { N = 6000, ROWS = 2000 };
struct rows {
    double acc[ROWS][3];
};
static double x[N][3], mass[N];
static struct rows one_thread;

static void fill(void)
{
    unsigned seed = 1;
    for (int k = 0; k < N; k++) {
        for (int c = 0; c < 3; c++) x[k][c] = (seed = seed * 1664525u + 1013904223u) / 4294967296.0;
        mass[k] = 1.0 / (k + 1);
    }
}

static sapporo *loaded(int threads)
{
    const sapporo_options options = {
        .size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .order = 2, .threads = threads};
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
    sapporo *c;
    if (sapporo_open(&options, &c) || sapporo_set_particles(c, 0, N, &all)) abort();
    return c;
}

static void solve(sapporo *c, struct rows *to)
{
    const sapporo_request request = {.size = sizeof request, .nj = N, .ni = ROWS, .eps2 = 1e-4, .x = {x, 0}, .v = {0}};
    const sapporo_result result = {.size = sizeof result, .acc = to->acc};
    sapporo_job *job;
    if (sapporo_force_begin(c, &request, &job) || sapporo_force_end(job, ROWS, &result)) abort();
    sapporo_force_free(job);
}

/* How often a force with so many threads differs. */
static int differs(int threads)
{
    struct rows *const own = malloc(sizeof *own);
    sapporo *const c = loaded(threads);
    if (!own) abort();
    solve(c, own);
    const int wrong = memcmp(own, &one_thread, sizeof *own) != 0;
    sapporo_close(c);
    free(own);
    return wrong;
}

/* Threads of a region of the library. */
static void count_threads(void *argument, int thread)
{
    atomic_int *const most = argument;
    int seen = atomic_load(most);
    while (thread >= seen && !atomic_compare_exchange_weak(most, &seen, thread + 1)) continue;
}

static int threads_of_region(int wanted)
{
    atomic_int most = 0;
    sap_team_run(wanted, count_threads, &most);
    return most;
}

static int forces(void)
{
    int wrong = threads_of_region(3) != 3;
    for (int threads = 2; threads <= 5; threads++) wrong += differs(threads);
    return wrong;
}

/* Inside a region of the client each of its threads computes alone, all of them at once. */
static int inside(void)
{
    int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
    for (int k = 0; k < 5; k++) wrong += differs(4) + (threads_of_region(4) != 1) + (sap_threads_now(8) != 1);
    return wrong + (sap_threads_now(8) != 8) + (threads_of_region(2) != 2);
}

/* Regions of the client and of the library take turns. */
static int turns(void)
{
    int wrong = 0, sum = 0;
    for (int k = 0; k < 50; k++) {
#pragma omp parallel for num_threads(4) reduction(+ : sum)
        for (int j = 0; j < 100; j++) sum += j;
        wrong += differs(2 + k % 3);
    }
    return wrong + (sum != 50 * 4950);
}

static int by_three(void) { return differs(3) + differs(3); }
static int by_one(void) { return differs(1); }

/* A child computes, whether regions ran before the fork or not: the library's, or the client's. */
static int after_fork(void)
{
    int wrong = run_in_child(by_three) != 0, sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int j = 0; j < 100; j++) sum += j;
    wrong += (run_in_child(by_three) != 0) + differs(3);
    return wrong + (run_in_child(by_three) != 0) + (run_in_child(by_one) != 0) + differs(4) + (sum != 4950);
}

/* OMP_THREAD_LIMIT=2 bounds a region. */
static int limit(void) { return (threads_of_region(8) > 2) + differs(8) + (sap_threads_default() > 2); }

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } all[] = {{"forces", forces}, {"inside", inside}, {"turns", turns}, {"fork", after_fork}, {"limit", limit}};
    int wrong = 1;
    fill();
    sapporo *const alone = loaded(1);
    solve(alone, &one_thread);
    sapporo_close(alone);
    for (size_t k = 0; argc == 2 && k < sizeof all / sizeof *all; k++)
        if (strcmp(argv[1], all[k].name) == 0) wrong = all[k].run();
    if (wrong) printf("%d wrong\n", wrong);
    return wrong != 0;
}
