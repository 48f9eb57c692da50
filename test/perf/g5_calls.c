/*
 * g5_calls.c - what small calls of a tree code cost: 500 j-particles against 64 i-particles by g5_*MC, from threads
 * with a device each, against one large force.
 *
 *   cc -O2 -fopenmp -Iinclude test/perf/g5_calls.c lib/libsapporo.a -ldl -lm -o g5_calls && ./g5_calls [THREADS [NJ
 * [NI]]]
 *
 * Prints interactions/s, the median of five rounds.
 */
#define _DEFAULT_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sapporo_g5.h"

enum { N = 65536, CALLS = 100000, ROUNDS = 5, MOST = 8192, LARGE = 16384 };

static double x[N][3], m[N], acc[LARGE][3], pot[LARGE];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static double median(double *s)
{
    qsort(s, ROUNDS, sizeof *s, by_value);
    return s[ROUNDS / 2];
}

/* Forces of nj particles on ni, CALLS times, each from another place. */
static void small_calls(int threads, int nj, int ni)
{
#pragma omp parallel num_threads(threads)
    {
        static _Thread_local double a[MOST][3], p[MOST];
        const int device = omp_get_thread_num();
#pragma omp for
        for (int k = 0; k < CALLS; k++) {
            const int from = (int)(k * 37L % (N - MOST));
            g5_set_nMC(device, nj);
            g5_set_xmjMC(device, 0, nj, x + from, m + from);
            g5_calculate_force_on_xMC(device, x + from, a, p, ni);
        }
    }
}

/* Argument k, or what stands for it; 0: not a number. */
static int argument(int argc, char **argv, int k, int without)
{
    return argc > k ? (int)strtol(argv[k], NULL, 10) : without;
}

int main(int argc, char **argv)
{
    const int threads = argument(argc, argv, 1, 2), nj = argument(argc, argv, 2, 500);
    const int ni = argument(argc, argv, 3, 64);
    double seconds[ROUNDS];
    if (threads < 1 || nj < 1 || nj > MOST || ni < 1 || ni > MOST) return 1;
    srand(1);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++) x[i][k] = rand() * (1.0 / RAND_MAX) - 0.5;
        m[i] = 1.0 / N;
    }
    g5_open();
    g5_set_eps_to_all(0.01);
    for (int r = 0; r < ROUNDS; r++) {
        const double start = now();
        small_calls(threads, nj, ni);
        seconds[r] = now() - start;
    }
    const double small = (double)nj * ni * CALLS / median(seconds);
    g5_set_n(LARGE);
    g5_set_xmj(0, LARGE, x, m);
    for (int r = 0; r < ROUNDS; r++) {
        const double start = now();
        g5_calculate_force_on_x(x, acc, pot, LARGE);
        seconds[r] = now() - start;
    }
    const double large = (double)LARGE * LARGE / median(seconds);
    printf("%d j on %d i, %d threads: %.3g/s; %d on %d, OMP_NUM_THREADS: %.3g/s\n", nj, ni, threads, small, LARGE,
           LARGE, large);
    g5_close();
    return 0;
}
