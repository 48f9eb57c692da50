/*
 * reference.h - forces and neighbours in extended precision, directly from the formulas.
 *
 * It shares no code with the library: the formulas are those of Makino & Aarseth 1992, PASJ 44, 141 (eqs. 1 to 4, the
 * predictor with the snap term), summed term by term.  The derivatives of orders 6 and 8 come from power series in
 * time, not from recursions as in the library.  Neighbours are found by a test of every particle.
 */
#ifndef TEST_REFERENCE_H
#define TEST_REFERENCE_H

#include "model.h"
#include "reference_spline.h"

enum { POT, ACC, JERK, SNAP, CRACKLE, QUANTITIES };

/* The exact results of one target. */
struct exact {
    real pot, acc[3], jerk[3], snap[3], crackle[3]; /* the last two are for orders 6 and 8 */

    /* Sums over pairs that bound the errors: */
    double size[QUANTITIES]; /* sum of the terms' sizes: multiplies the relative error of each term */
    double by_x[QUANTITIES]; /* sum of derivatives times coordinates: multiplies relative errors of coordinates */
    double by_v[QUANTITIES]; /* sum of derivatives by v, a, jerk times these: multiplies their relative errors */
    double worst;            /* largest (coordinates / distance) of any pair */

    int address;       /* address of the nearest, lowest of equals; -1: none */
    int nearest;       /* its index */
    double nearest_r2; /* infinity: none */
    double nearest_x;  /* its coordinates and those of the target, which decide the error of nearest_r2 */
    int nlist;
    int *list; /* ascending, each index once */
};

/* Predicts position and velocity to `time`; *x_size, *v_size are the sums of the terms' sizes.  v may be NULL. */
void reference_predict(const struct body *body, double time, real *x, real *v, double *x_size, double *v_size);

/* Predicts derivative `k` alone: 0 is x. */
void reference_predict_one(const struct body *body, double time, int k, real *d, double *size);

/* The bodies of a problem, predicted. */
struct reference;
struct reference *reference_new(const struct problem *p);
void reference_free(struct reference *r);

/* Computes the exact results of target i; the caller frees exact->list. */
void reference_solve(const struct reference *r, int i, struct exact *exact);

#endif
