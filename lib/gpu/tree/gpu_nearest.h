/* gpu_nearest.h - the k particles nearest to each target, from a tree on an accelerator. */
#ifndef SAP_GPU_NEAREST_H
#define SAP_GPU_NEAREST_H

#include "gpu/gpu_memory.h"
#include "sapporo.h"

struct sap_gpu_host_tree;

/* Device memory: heaps of the rows of a launch, and results. */
struct sap_gpu_near {
    struct sap_gpu_buffer heap2, heap, list, distance2;
};

/* Implements `nearest` of the table; a sapporo_status. */
int sap_gpu_nearest(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, int k, int *list,
                    double *distance2);

void sap_gpu_near_free(const struct sap_driver *driver, struct sap_gpu_near *memory);

#endif
