/* g5_tree.h - SAPPORO_METHOD=tree in the GRAPE-5 interface. */
#ifndef SAP_API_G5_TREE_H
#define SAP_API_G5_TREE_H

#include "api/g5/g5.h"

/*
 * Computes the force of the first n j-particles of the plain memory at ni positions with the device's tree.  It builds
 * the tree again if particles, n or the softening have changed.  Returns SAPPORO_OK, SAPPORO_PARTIAL, or after a
 * message an error; then all rows are NaN.  Device locked.
 */
int sap_g5_tree_force(struct sap_g5_device *device, int n, double eps2, int ni, double (*x)[3],
                      const struct sap_g5_output *out);

/* Warns once that small batches of i-particles are slow with a tree.  Device locked. */
void sap_g5_tree_in_batches(struct sap_g5_device *device, const char *caller);

/* Warns once that a force without tree support is summed directly.  Device locked. */
void sap_g5_tree_not_here(struct sap_g5_device *device, enum sap_g5_memory memory, const char *caller);

#endif
