/*
 * cases.h - the one list of cases that every backend, path and precision must pass.
 *
 * A case makes a problem and says which outputs are compared with the reference, and within which tolerance.  Nearest
 * neighbours and lists are compared exactly.
 */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include "reference.h"

/* Outputs to compare. */
enum { WITH_NEAREST = OUT_NEAREST, WITH_LISTS = OUT_LISTS, WITH_SUMS = 4, WITH_ALL = 7 };

struct test_case {
    const char *name;
    int n, ni;                           /* bodies, targets */
    int highest;                         /* highest derivative of the bodies; 0: x and v at the time of the force */
    double eps2;                         /* squared softening */
    int soft;                            /* SOFT_: each target, each body has its own softening */
    void (*bodies)(struct problem *p);   /* changes to the bodies of a Plummer sphere */
    void (*targets)(struct problem *p);  /* changes to the targets, which lie on bodies */
    unsigned compare;                    /* WITH_: for every precision */
    int every;                           /* every `every`-th target is compared; 0: all */
    double roundings[SAPPORO_DP + 1];    /* tolerance by precision: see case_bound; 0: no claim */
    double acc_relative[SAPPORO_DP + 1]; /* tolerance relative to the acceleration, in addition; 0: no claim */
    const char *why;                     /* reason of the tolerance */
};

/* All cases; the last has no name. */
extern const struct test_case cases[];

/* The models whose errors docs/numerics.md lists. */
extern const struct test_case smooth_model, hard_model;

/* Makes the problem of a case for an order; free with problem_free. */
void case_make(const struct test_case *test, int order, struct problem *p);

/*
 * Returns the largest allowed error, for a target whose exact result is known:
 *     roundings * unit * (sum of the terms' sizes)      roundings of pair terms and sums
 *   + effect of errors of coordinates and velocities    unavoidable at the precision's words
 * INFINITY: coordinates are too coarse for some distance, so no bound exists.
 */
double case_bound(const struct test_case *test, sapporo_precision precision, const struct exact *e, int quantity);

/* Returns the largest allowed error of nearest_r2, in every precision. */
double nearest_bound(const struct exact *e);

/* The relative errors of coordinates, velocities and single operations in a precision. */
struct words {
    double x, v, unit;
};
extern const struct words words_of[SAPPORO_DP + 1];

#endif
