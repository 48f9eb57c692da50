/*
 * small_forces.c - what threads cost and gain: an empty region, and streams of small forces by one and more threads.
 *
 *   cc -O2 -Iinclude -Ilib test/perf/small_forces.c lib/libsapporo.a -ldl -lpthread -lm -o small_forces
 *   ./small_forces [THREADS [PAUSE]]
 *
 * THREADS (default 2) is compared with 1, in alternation; PAUSE (default 10) is the client's own work between two
 * forces, in microseconds.  Printed are medians.  On a busy machine compare the smallest times ("least") alone.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/lock.h"
#include "base/team.h"
#include "sapporo.h"

enum { N = 8192, MOST = 1024, ROUNDS = 21, CALLS = 100 };

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void pause_for(double microseconds)
{
    for (const double end = now() + microseconds; now() < end;) continue;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *what, double *times)
{
    qsort(times, ROUNDS, sizeof *times, by_size);
    printf("%-40s median %8.3f us, least %8.3f\n", what, times[ROUNDS / 2], times[0]);
}

static void nothing(void *argument, int thread)
{
    (void)argument;
    (void)thread;
}

static void measure_regions(int threads)
{
    double times[ROUNDS];
    char what[64];
    for (int r = 0; r < ROUNDS; r++) {
        const double start = now();
        for (int k = 0; k < CALLS; k++) sap_team_run(threads, nothing, NULL);
        times[r] = (now() - start) / CALLS;
    }
    (void)snprintf(what, sizeof what, "empty region of %d threads", threads);
    print(what, times);
}

static void measure_lock(void)
{
    enum { LOCKS = 100000 };
    static struct sap_lock lock;
    double times[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        const double start = now();
        for (int k = 0; k < LOCKS; k++) {
            sap_lock(&lock);
            sap_unlock(&lock);
        }
        times[r] = 1000 * (now() - start) / LOCKS;
    }
    print("free lock taken and given back (in ns)", times);
}

static sapporo *open_loaded(int threads)
{
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .threads = threads};
    sapporo *c = NULL;
    if (sapporo_open(&options, &c)) exit(1);
    for (int k = 0; k < N; k++)
        (void)sapporo_set_particle(
            c, k, &(sapporo_particle){.mass = 1.0 / N, .derivative = {{sin(k), cos(3 * k), sin(7 * k)}, {cos(k)}}});
    return c;
}

/* Mean time of a force, without the pauses. */
static double stream(sapporo *c, int ni, double pause)
{
    static double x[MOST][3], acc[MOST][3], jerk[MOST][3], pot[MOST];
    static double time;
    const sapporo_request request = {
        .size = sizeof request, .nj = N, .ni = ni, .x = {.base = x}, .v = {.base = x}, .eps2 = 1e-4};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot};
    double sum = 0;
    for (int k = 0; k < CALLS; k++) {
        sapporo_job *job = NULL;
        pause_for(pause);
        const double start = now();
        (void)sapporo_set_time(c, time += 0x1p-20);
        if (sapporo_force_begin(c, &request, &job) || sapporo_force_end(job, ni, &result)) exit(1);
        sapporo_force_free(job);
        sum += now() - start;
    }
    return sum / CALLS;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 4, 16, 32, 64, 128, 256, 1024};
    const int threads = argc > 1 ? atoi(argv[1]) : 2;   /* NOLINT(cert-err34-c): a measurement */
    const double pause = argc > 2 ? atof(argv[2]) : 10; /* NOLINT(cert-err34-c) */
    sapporo *const one = open_loaded(1), *const more = open_loaded(threads);
    measure_lock();
    for (int t = 2; t <= threads; t *= 2) measure_regions(t);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        double alone[ROUNDS], shared[ROUNDS];
        char what[64];
        for (int r = 0; r < ROUNDS; r++) {
            alone[r] = stream(one, sizes[s], pause);
            shared[r] = stream(more, sizes[s], pause);
        }
        (void)snprintf(what, sizeof what, "ni = %d, nj = %d, 1 thread", sizes[s], N);
        print(what, alone);
        (void)snprintf(what, sizeof what, "ni = %d, nj = %d, %d threads", sizes[s], N, threads);
        print(what, shared);
    }
    sapporo_close(one);
    sapporo_close(more);
    return 0;
}
