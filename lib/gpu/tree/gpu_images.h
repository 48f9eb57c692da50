/*
 * gpu_images.h - what acts on the targets of a periodic tree from its 26 images around the cube: the nodes and
 * particles of the tree that regions of the targets refuse, shifted (device/tree_images.h).  They lie behind a copy of
 * the tree, so that one walk begins at both roots.
 */
#ifndef SAP_GPU_IMAGES_H
#define SAP_GPU_IMAGES_H

#include "gpu/tree/gpu_halo.h"
#include "gpu/tree/gpu_selection.h"
#include "gpu/tree/gpu_walk.h"

struct sap_gpu_images {
    double period;
    int known; /* the halo is that of all groups of the tree, of present particles, without their accelerations */
    struct sap_gpu_selection selection;
    struct sap_gpu_halo halo; /* the tree, then its images, of which the first node is the root */
    struct sap_gpu_buffer first;
    int table[3 * SAP_HALO_IMAGES]; /* that `first` is a copy of (device/tree_halo_places.h) */
};

/*
 * Makes what acts on the targets; a driver status. *fits 0: it would be far larger than the tree, and there is none. It
 * depends on the targets, the tree and the criterion alone.
 */
int sap_gpu_images_make(struct sap_gpu_images *images, const struct sap_gpu_built *tree,
                        const struct sap_gpu_subset *to, int *fits);

/* Returns the bytes of device memory that this takes of n particles in a uniform cube. */
size_t sap_gpu_images_bytes(int n);

void sap_gpu_images_free(const struct sap_driver *driver, struct sap_gpu_images *images);

#endif
