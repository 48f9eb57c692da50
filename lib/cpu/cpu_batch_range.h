/* cpu_batch_range.h - the largest sizes of numbers, for the range of a list of a batch (physics/list_range.h). */
#ifndef SAP_CPU_BATCH_RANGE_H
#define SAP_CPU_BATCH_RANGE_H

#include "kernel.h"
#include "physics/ops_scalar.h"

#include "physics/list_range.h"

/* Returns the larger of `most` and the largest size of the finite ones of n numbers, as many as whole blocks have. */
double sap_batch_range_most(const struct sap_kernel *kernel, double most, const double *x, int n);

#endif
