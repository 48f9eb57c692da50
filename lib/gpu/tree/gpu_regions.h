/*
 * gpu_regions.h - the regions of a tree on an accelerator that is a part of a whole: where its targets are, for the
 * other parts.
 */
#ifndef SAP_GPU_REGIONS_H
#define SAP_GPU_REGIONS_H

#include "device/tree_halo_layout.h"
#include "engine/tree_regions.h"
#include "gpu/tree/gpu_built.h"

struct sap_gpu_regions {
    int room; /* the regions are those of the present tree for so many; 0: none were chosen */
    int n;
    double widest;                                     /* size of a bound that counts as a whole, at most */
    struct sap_gpu_buffer bins;                        /* numbers of nodes by size */
    struct sap_gpu_buffer list, child, children, size; /* the largest nodes */
    struct sap_gpu_buffer node;                        /* nodes of the regions */
    struct sap_gpu_buffer active, region;              /* flags of the active particles; what is reported */
};

/* Implements `regions` of the table; a driver status. */
int sap_gpu_regions_report(struct sap_gpu_regions *h, const struct sap_gpu_built *of, int room,
                           const struct sap_halo_targets *targets, struct sap_halo_region *region);

void sap_gpu_regions_free(const struct sap_driver *driver, struct sap_gpu_regions *h);

#endif
