/*
 * accum.h - reproducible accumulators of one value each, which devices and ranks exchange.
 *
 * The arithmetic is that of physics/accumulate.h.  Results do not depend on the
 * order of deposits and merges.
 */
#ifndef SAP_ACCUM_H
#define SAP_ACCUM_H

#include "physics/arithmetic.h"

struct sap_accum {
    double unit, limb[SAP_LIMBS], special;
};

void sap_accum_clear(struct sap_accum *a);
void sap_accum_add(struct sap_accum *a, double x);
void sap_accum_merge(struct sap_accum *into, const struct sap_accum *from);
double sap_accum_round(const struct sap_accum *a);

/* The rounded value of a new accumulator to which only x is added. */
double sap_accum_round_one(double x);

#endif
