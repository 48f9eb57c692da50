/*
 * reference.h - forces and neighbours in extended precision, straight from the formulas.
 *
 * Nothing here comes from the library's sources: the formulas are those of
 * Makino & Aarseth 1992, PASJ 44, 141 (eqs. 1 to 4, the predictor with the snap
 * term), summed term by term.  The derivatives of orders 6 and 8 come from
 * power series in time, not from recursions as in the library.  Neighbours are
 * found by looking at everybody.
 */
#ifndef TEST_REFERENCE_H
#define TEST_REFERENCE_H

#include "model.h"

typedef long double real;

enum { POT, ACC, JERK, SNAP, CRACKLE, QUANTITIES };

/* What one target should get. */
struct exact {
    real pot, acc[3], jerk[3], snap[3], crackle[3]; /* the last two of orders 6 and 8 */

    /* Sums over pairs that tell what errors may be: */
    double size[QUANTITIES]; /* of the terms' sizes: a relative error of each term counts by this */
    double by_x[QUANTITIES]; /* of derivatives times coordinates: counts relative errors of coordinates */
    double by_v[QUANTITIES]; /* of derivatives by v, a, jerk times these: counts their relative errors */
    double worst;            /* largest (coordinates / distance) of any pair */

    int address;       /* of the nearest, lowest of equals; -1: none */
    int nearest;       /* its index */
    double nearest_r2; /* infinity: none */
    double nearest_x;  /* its coordinates and those of the target: what an error of nearest_r2 depends on */
    int nlist;
    int *list; /* ascending, each index once */
};

/* Position and velocity at `time`; *x_size, *v_size are the sums of the terms' sizes.  v may be NULL. */
void reference_predict(const struct body *body, double time, real *x, real *v, double *x_size, double *v_size);

/* The same of derivative `k` alone: 0 is x. */
void reference_predict_one(const struct body *body, double time, int k, real *d, double *size);

/* The bodies of a problem, predicted. */
struct reference;
struct reference *reference_new(const struct problem *p);
void reference_free(struct reference *r);

/* Computes what target i should get; exact->list is to be freed. */
void reference_solve(const struct reference *r, int i, struct exact *exact);

#endif
