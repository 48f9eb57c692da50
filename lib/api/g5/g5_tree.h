/* g5_tree.h - SAPPORO_METHOD=tree behind the GRAPE-5 interface. */
#ifndef SAP_API_G5_TREE_H
#define SAP_API_G5_TREE_H

#include "api/g5/g5.h"

/*
 * The force of the first n j-particles of the plain memory on ni places, by the device's tree, which is built anew when
 * particles, n or the softening have changed.  SAPPORO_OK, SAPPORO_PARTIAL, or after a message an error: then rows are
 * NaN.  Device locked.
 */
int sap_g5_tree_force(struct sap_g5_device *device, int n, double eps2, int ni, double (*x)[3],
                      const struct sap_g5_output *out);

/* Once: batches cost more than all at once.  Device locked. */
void sap_g5_tree_in_batches(struct sap_g5_device *device, const char *caller);

/* Once, where the tree does not serve: the force is summed directly.  Device locked. */
void sap_g5_tree_not_here(struct sap_g5_device *device, enum sap_g5_memory memory, const char *caller);

#endif
