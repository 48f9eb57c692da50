/*
 * timing.h - what speed.c, tree_speed.c and stepper_speed.c share: their ranks, memory, clocks, points of a model, and
 * printing times of all ranks.
 */
#ifndef TEST_MPI_TIMING_H
#define TEST_MPI_TIMING_H

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rank, ranks;

static inline void begin_ranks(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static inline void check(int failed, const char *why)
{
    if (!failed) return;
    fprintf(stderr, "rank %d: %s\n", rank, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1); /* MPI_Abort may return */
}

static inline void *memory(size_t n, size_t bytes)
{
    void *const at = calloc(n + 1, bytes);
    check(!at, "out of memory");
    return at;
}

static inline double processor_time(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The share of a rank in n things. */
static inline int share(long n, int of) { return (int)(n * of / ranks); }

/* A number in 0 .. 1, by Knuth's generator. */
static inline double random_next(unsigned long *state)
{
    *state = *state * 6364136223846793005UL + 1442695040888963407UL;
    return (double)(*state >> 11) * 0x1p-53;
}

/* A point of Plummer's model, whose length is 1. */
static inline void make_point(double *x, unsigned long *state)
{
    double r = 0;
    do r = 1 / sqrt(pow(random_next(state) + 1e-12, -2.0 / 3) - 1);
    while (!(r < 20));
    const double z = 2 * random_next(state) - 1, angle = 2 * acos(-1) * random_next(state);
    x[0] = r * sqrt(1 - z * z) * cos(angle);
    x[1] = r * sqrt(1 - z * z) * sin(angle);
    x[2] = r * z;
}

static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the shortest and the median of n times, of each the largest of all ranks. */
static inline void print_times(const char *name, double *t, int n)
{
    MPI_Allreduce(MPI_IN_PLACE, t, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(t, (size_t)n, sizeof *t, ascending);
    if (rank == 0) printf(" %s %.6f %.6f", name, t[0], t[n / 2]);
}

#endif
