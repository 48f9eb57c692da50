/*
 * gpu_halo.h - the nodes and particles that other parts of a whole have for a tree on an accelerator.
 */
#ifndef SAP_GPU_HALO_H
#define SAP_GPU_HALO_H

#include "engine/tree_part.h"
#include "gpu/tree/gpu_built.h"

struct sap_gpu_halo {
    struct sap_gpu_nodes nodes; /* nodes.n is 0: none were imported */
    struct sap_gpu_buffer sorted;
    struct sap_gpu_halo_lengths lengths;
};

/* Uploads nodes and particles that act on the targets of a tree; a driver status. */
int sap_gpu_halo_import(struct sap_gpu_halo *h, const struct sap_gpu_built *of, const struct sap_tree_halo *halo);

void sap_gpu_halo_free(const struct sap_driver *driver, struct sap_gpu_halo *h);

#endif
