/*
 * gpu_kdtree.h - the build of a kd-tree on an accelerator; functions that return int return driver statuses.
 */
#ifndef SAP_GPU_KDTREE_H
#define SAP_GPU_KDTREE_H

#include "gpu/tree/gpu_tree.h"

/* _new makes the build's memory on the host, _open finds or loads the kernels; the device's context is current. */
int sap_gpu_kd_new(struct sap_gpu_host_tree *t);
int sap_gpu_kd_open(struct sap_gpu_host_tree *t);
void sap_gpu_kd_free(struct sap_gpu_host_tree *t);

/* Returns the bytes of device memory that the builds of kd-trees of n particles keep; 0 for octrees. */
size_t sap_gpu_kd_bytes(const struct sap_tree_settings *settings, int n);

/*
 * Splits the nodes of all given particles, which lie within a box, and writes the addresses of the sorted particles to
 * `order`, [n] ints. It does not change the present tree.
 */
int sap_gpu_kd_split(struct sap_gpu_host_tree *t, const double *low, const double *high, double mass_unit, int signs,
                     const struct sap_gpu_buffer *order);

/*
 * Counts the cells, level_first[SAP_TREE_LEVELS + 1], and the groups. t->new_first receives a copy of level_first. It
 * waits for the counts.
 */
int sap_gpu_kd_count(struct sap_gpu_host_tree *t, int *level_first, int *groups);

/* Writes the cells to the tree's arrays. */
int sap_gpu_kd_link(struct sap_gpu_host_tree *t);

/*
 * Tells where groups begin after sap_gpu_kd_count, so many groups; order: addresses of the sorted particles.  With a
 * limit of their extent, cut->first has their first particles.
 */
int sap_gpu_kd_cut(struct sap_gpu_host_tree *t, const struct sap_gpu_buffer *order, int groups,
                   struct sap_gpu_cut *cut);

#endif
