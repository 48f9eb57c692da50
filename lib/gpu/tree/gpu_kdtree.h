/*
 * gpu_kdtree.h - the build of a kd-tree on an accelerator; functions that return int return driver statuses.
 */
#ifndef SAP_GPU_KDTREE_H
#define SAP_GPU_KDTREE_H

#include "engine/tree_ops.h"
#include "gpu/gpu_session.h"
#include "gpu/tree/gpu_builder.h"
#include "gpu/tree/gpu_nodes.h"
#include "gpu/tree/gpu_targets.h"

/* What is split: n particles within a box. */
struct sap_gpu_kd_input {
    const struct sap_gpu_buffer *given; /* the particles by address */
    int n;
    const double *low, *high;
    double mass_unit;
    int signs; /* masses have both signs */
};

/* _new makes the build's memory on the host, _open finds or loads the kernels; the device's context is current. */
int sap_gpu_kd_new(struct sap_gpu_kd **kd);
int sap_gpu_kd_open(const struct sap_gpu_session *s, struct sap_gpu_kd *kd);
void sap_gpu_kd_free(const struct sap_driver *driver, struct sap_gpu_kd *kd);

/* Returns the bytes of device memory that the builds of kd-trees of n particles keep; 0 for octrees. */
size_t sap_gpu_kd_bytes(const struct sap_tree_settings *settings, int n);

/* Splits the nodes of particles, and writes the addresses of the sorted particles to `order`, [n] ints. */
int sap_gpu_kd_split(struct sap_gpu_session *s, struct sap_gpu_builder *builder,
                     const struct sap_tree_settings *settings, const struct sap_gpu_kd_input *split,
                     const struct sap_gpu_buffer *order);

/*
 * Counts the cells, level_first[SAP_TREE_LEVELS + 1], and the groups. builder->new_first receives a copy of
 * level_first. It waits for the counts.
 */
int sap_gpu_kd_count(struct sap_gpu_session *s, struct sap_gpu_builder *builder,
                     const struct sap_tree_settings *settings, int *level_first, int *groups);

/* Writes the cells to nodes, whose first nodes of levels builder->first has. */
int sap_gpu_kd_link(const struct sap_gpu_session *s, const struct sap_gpu_builder *builder,
                    const struct sap_gpu_nodes *nodes);

/*
 * Tells where groups begin after sap_gpu_kd_count, so many groups; order: addresses of the sorted particles.
 * is_limited: the extent of groups is, so cut->first has their first particles.
 */
int sap_gpu_kd_cut(const struct sap_gpu_session *s, const struct sap_gpu_kd *kd, int is_limited,
                   const struct sap_gpu_buffer *order, int groups, struct sap_gpu_cut *cut);

#endif
