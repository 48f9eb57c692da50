/*
 * canonical.h - prediction and distance in one fixed sequence of correctly rounded operations.
 *
 * These functions make the decisions that a rounding error could change: which
 * j-particle is nearest, and whether a j-particle is just inside a neighbour
 * sphere.  All engines, paths and precisions therefore decide alike.
 */
#ifndef SAP_CANONICAL_H
#define SAP_CANONICAL_H

#include "engine/jstore.h"

/* Predicts x[3] and v[3] of the particle at an address that holds one; v may be NULL. */
void sap_canonical_predict(const struct sap_jstore *store, int address, double time, double *x, double *v);

/* Predicts n derivatives (x, v, acc, ...) of a particle in a store with full derivatives. */
void sap_canonical_predict_full(const struct sap_jstore *store, int address, double time, int n, double (*to)[3]);

/* Squared distance of the predicted particle from x. */
double sap_canonical_r2(const struct sap_jstore *store, int address, double time, const double *x);

/*
 * The smaller of two squared distances from a particle at x with velocity v: the distance at `time`, and the distance
 * at time + dtr if both particles move on straight lines.
 */
double sap_canonical_r2_ahead(const struct sap_jstore *store, int address, double time, const double *x,
                              const double *v, double dtr);

#endif
