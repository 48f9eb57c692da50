/*
 * gpu_octree.h - the nodes of an octree on an accelerator, from sorted keys; functions return driver statuses.
 */
#ifndef SAP_GPU_OCTREE_H
#define SAP_GPU_OCTREE_H

#include "gpu/tree/gpu_builder.h"
#include "gpu/tree/gpu_nodes.h"

/*
 * Reserves the memory of a build that does not depend on the number of nodes. None of it belongs to the present tree.
 */
int sap_gpu_octree_reserve(struct sap_gpu_session *s, struct sap_gpu_builder *builder,
                           const struct sap_gpu_tree *frame);

/*
 * Counts the nodes of each level that begin in each tile, and numbers them: level_first[SAP_LINK_LEVELS + 1], of which
 * builder->new_first receives a copy. It waits for the counts.
 */
int sap_gpu_octree_count(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                         const struct sap_gpu_builder *builder, const struct sap_gpu_buffer *key,
                         const struct sap_gpu_tree *frame, int *level_first);

/* Writes the nodes that were counted. */
int sap_gpu_octree_link(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const struct sap_gpu_builder *builder, const struct sap_gpu_buffer *key,
                        const struct sap_gpu_tree *frame, const struct sap_gpu_nodes *nodes);

#endif
