/* batch_units.h - batches of small forces in units that single precision can hold (context_units.h). */
#ifndef SAP_BATCH_UNITS_H
#define SAP_BATCH_UNITS_H

#include "context/context_units.h"

/* A batch in other units: copies of its lists and of what they point to. */
struct sap_batch_copy {
    struct sap_units units;
    sapporo_small_force *lists;
    double *numbers;
};

/*
 * Chooses the units of a checked batch, and those of the context if lists name addresses.  If the units are not plain,
 * the lists of *m become copies in these units, which the caller frees.  Context locked.
 */
int sap_batch_take_units(sapporo *context, struct sap_batch *m, struct sap_batch_copy *copy);
void sap_batch_free_copy(struct sap_batch_copy *copy);

/*
 * Divides the results of a batch, whose lists have ni[k] rows, or as many as the lists of `m` if ni is NULL, by its
 * units, and multiplies them by the gravitational constant of the context.
 */
void sap_batch_leave_units(const sapporo *context, const struct sap_batch *m, const int *ni,
                           const struct sap_units *units);

#endif
