/*
 * canonical.h - prediction and distance in one fixed sequence of correctly rounded operations.
 *
 * Where engines could disagree by a rounding (who is nearest, who is just
 * inside a neighbour sphere), this decides: the same answer on every engine,
 * path and precision.
 */
#ifndef SAP_CANONICAL_H
#define SAP_CANONICAL_H

#include "engine/jstore.h"

/* Predicts the particle at an address that holds one: x[3], v[3]; v may be NULL. */
void sap_canonical_predict(const struct sap_jstore *store, int address, double time, double *x, double *v);

/* The same where the store keeps full derivatives: x, v and so on, n of them. */
void sap_canonical_predict_full(const struct sap_jstore *store, int address, double time, int n, double (*to)[3]);

/* Squared distance of the predicted particle from x. */
double sap_canonical_r2(const struct sap_jstore *store, int address, double time, const double *x);

/* The smaller of that and of the squared distance dtr later, if it and one at x, v go straight on. */
double sap_canonical_r2_ahead(const struct sap_jstore *store, int address, double time, const double *x,
                              const double *v, double dtr);

#endif
