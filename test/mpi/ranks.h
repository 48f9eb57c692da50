/* ranks.h - what the programs of test_mpi.sh share: lines of TAP from all ranks, and particles that all ranks know. */
#ifndef TEST_RANKS_H
#define TEST_RANKS_H

#include <stddef.h>

#include "sapporo_mpi.h"

/* Begins MPI and remembers the number of this rank and of all. */
void ranks_begin(int *argc, char ***argv);
extern int rank, ranks;

/*
 * Combines n numbers of all ranks, like MPI_Allreduce.  A rank that waits leaves the core to the others, which MPI
 * itself does not always do where there are more ranks than cores.
 */
void ranks_combine(const int *mine, int *all, int n, MPI_Op operation);
void ranks_combine_doubles(const double *mine, double *all, int n, MPI_Op operation);

/* Collective.  Gives all ranks the bytes of the first rank: what the first rank computes alone, the others need not. */
void ranks_share(void *data, size_t bytes);

/* 1 if all ranks have the same n statuses. */
int ranks_same(const int *status, int n);

/* Prints one line of TAP from rank 0: it passes if `ok` is not 0 on any rank. */
void report(int ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends MPI; returns the exit status of the program. */
int ranks_end(void);

/* A particle, as source or target: x and derivatives. */
struct point {
    double derivative[SAPPORO_DERIVATIVES][3];
    double mass, time, eps2;
    int index;
};

/* Makes n particles of a clustered model, the same on every rank; derivatives fall as in a star cluster. */
struct point *points_new(int n);

/* Columns of n particles. */
sapporo_particles points_columns(const struct point *from);

/* The request for the force on ni particles. */
sapporo_request points_request(const struct point *target, int ni, int nj);

/* Arrays of results for n particles. */
struct answers {
    double (*acc)[3], (*jerk)[3], (*snap)[3], (*crackle)[3], *pot, *nearest_r2;
    int *nearest;
};

struct answers answers_new(int n);
void answers_free(struct answers *a);

/* Collective.  Gives all ranks the n answers of the first rank. */
void answers_share(struct answers *a, int n);

/* The arrays that forces of an order have; nearest: with nearest neighbours. */
sapporo_result answers_result(const struct answers *a, int order, int nearest);

/* 1 if row i of a has the bits of row k of b. */
int answers_same(const struct answers *a, int i, const struct answers *b, int k, int order, int nearest);

/* 1 if the first n rows are those of a failed force. */
int answers_failed(const struct answers *a, int n, int order);

/* Options of a context with one thread on the CPU, or on the engine that SAPPORO_TEST_ENGINES names. */
sapporo_options one_thread(int order, sapporo_precision precision);

/* The engine of one_thread. */
sapporo_backend tested_backend(void);

#endif
