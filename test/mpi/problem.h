/* problem.h - a force to compute on one context and over ranks, for the programs of test_mpi.sh. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include "ranks.h"

/* Which particles a rank gives: a way to split k = 0 .. n-1. */
enum split { IN_TURN, ALL_ON_FIRST, ALL_ON_LAST, PIECES, SPLITS };
extern const char *const split_names[SPLITS];

int is_mine(enum split how, int k, int n);

/* The particles of this rank, and their numbers. */
struct mine {
    int n, *number;
    struct point *point;
};

struct mine pick(const struct point *all, int n, enum split how);
void drop(struct mine *m);

/* Collective.  Stores n particles at addresses from 0 on. */
int set_all(sapporo_mpi *h, const struct point *all, int n, enum split how);

/* A force to compute, on one context and over ranks. */
struct problem {
    int order;
    sapporo_precision precision;
    int nj, ni, rows, nearest, no_index, soft, softening;
    sapporo_mpi_way way;
    int sources; /* j-particles in a part */
    int threads; /* of the contexts over ranks; 0: one */
    const sapporo_mpi_costs *costs;
    double eps2, gravity; /* gravity: the gravitational constant; 0: 1 */
    const struct point *source, *target;
};

/* The force of order 4 in `ds`, with nearest neighbours, of nj sources on ni targets, by one way, in parts. */
struct problem way_problem(sapporo_mpi_way way, int part, const struct point *source, int nj,
                           const struct point *target, int ni);

sapporo_request request_of(const struct problem *p, const struct point *target, int ni);

/* The forces of one context with all particles. */
struct answers solve_alone(const struct problem *p, double time);

/* Collective.  Computes the force on i-particles of this rank; returns whether a call failed. */
int compute(sapporo_mpi *h, const struct problem *p, const struct mine *m, struct answers *a);

/* Collective.  Computes and returns the number of rows of this rank that differ from `alone`; -1: a call failed. */
int differing(sapporo_mpi *h, const struct problem *p, enum split how, const struct answers *alone);

/* Collective.  Opens a handle with the particles of a problem, split in one way; NULL: a call failed. */
sapporo_mpi *open_with(const struct problem *p, enum split how, double time);

#endif
