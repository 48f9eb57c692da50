/*
 * cases.h - the one list of cases that every backend, path and precision must pass.
 *
 * A case makes a problem and says which outputs are compared with the reference
 * and how closely.  Nearest neighbours and lists are compared exactly.
 */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include "reference.h"

/* What is compared. */
enum { WITH_NEAREST = OUT_NEAREST, WITH_LISTS = OUT_LISTS, WITH_SUMS = 4, WITH_ALL = 7 };

struct test_case {
    const char *name;
    int n, ni;                           /* bodies, targets */
    int highest;                         /* derivatives that the bodies have; 0: x and v at the time asked for */
    double eps2;                         /* squared softening */
    int soft;                            /* SOFT_: each target, each body has softening of its own */
    void (*bodies)(struct problem *p);   /* changes to the bodies of a Plummer sphere */
    void (*targets)(struct problem *p);  /* changes to the targets, which lie on bodies */
    unsigned compare;                    /* WITH_: of every precision */
    int every;                           /* every how many-th target is compared; 0: all */
    double roundings[SAPPORO_DP + 1];    /* tolerance by precision: see case_bound; 0: no claim */
    double acc_relative[SAPPORO_DP + 1]; /* and this much relative to the acceleration; 0: no claim */
    const char *why;                     /* of the tolerance */
};

/* All cases; the last has no name. */
extern const struct test_case cases[];

/* The models whose errors are told in docs/numerics.md. */
extern const struct test_case smooth_model, hard_model;

/* Makes the problem of a case for an order; free with problem_free. */
void case_make(const struct test_case *test, int order, struct problem *p);

/*
 * How far the size of an error may go, for a target whose exact result is known:
 *     roundings * unit * (sum of the terms' sizes)      roundings of pair terms and sums
 *   + what errors of coordinates and velocities make    unavoidable at the precision's words
 * INFINITY: coordinates are too coarse against some distance, nothing can be said.
 */
double case_bound(const struct test_case *test, sapporo_precision precision, const struct exact *e, int quantity);

/* How far nearest_r2 may be from its exact value, on every precision. */
double nearest_bound(const struct exact *e);

/* The relative errors of coordinates, velocities and single operations in a precision. */
struct words {
    double x, v, unit;
};
extern const struct words words_of[SAPPORO_DP + 1];

#endif
