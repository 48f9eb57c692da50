/*
 * gpu_builder.h - what builds of a tree on an accelerator need beside the tree: memory, values that come back to the
 * host, and the whole that the tree is a part of.
 */
#ifndef SAP_GPU_BUILDER_H
#define SAP_GPU_BUILDER_H

#include <stddef.h>

#include "device/kd_layout.h"
#include "device/tree_layout.h"
#include "engine/cube.h"
#include "engine/tree_nodes.h"
#include "engine/tree_part.h"
#include "gpu/gpu_memory.h"

struct sap_driver;
struct sap_gpu_kd;
struct sap_gpu_session;

/* Values that the device copies to pinned memory while a tree is built or a force is computed. */
struct sap_gpu_readback {
    double bounds[SAP_TREE_BOUNDS][SAP_TREE_PARTS];
    double sample[3 * SAP_CUBE_SAMPLE];
    int level_first[SAP_LINK_LEVELS + 1]; /* the last entry: number of nodes */
    int kd_first[SAP_KD_LEVELS + 1];      /* the same of a kd-tree */
    int kd_counter[SAP_KD_COUNTERS];
    int groups;                      /* of a kd-tree, or of groups that were halved */
    int stop_cells;                  /* stops that are cells */
    unsigned walked[SAP_LEFT_COUNT]; /* what a force leaves (tree_layout.h) */
};

struct sap_gpu_builder {
    struct sap_gpu_kd *kd;                  /* memory of builds of kd-trees (gpu_kdtree.c); NULL: octrees */
    struct sap_gpu_buffer read;             /* pinned: a struct sap_gpu_readback */
    struct sap_gpu_buffer bounds;           /* of the particles, and their sample */
    struct sap_gpu_buffer span, count;      /* levels of the nodes that begin at a particle; their numbers by tile */
    struct sap_gpu_buffer first, new_first; /* first nodes of levels: of the present tree, of a build */
    int is_part;                            /* later trees are parts of `whole` */
    struct sap_tree_whole whole;
    int out_of_range; /* a build or refresh found particles whose moments exceed the range of double */
};

static inline struct sap_gpu_readback *sap_gpu_builder_read(const struct sap_gpu_builder *b) { return b->read.host; }

/* Returns the whole that later trees are parts of; NULL: they are parts of none. */
static inline const struct sap_tree_whole *sap_gpu_builder_whole(const struct sap_gpu_builder *b)
{
    return b->is_part ? &b->whole : NULL;
}

/* _open, within a call, reserves memory that does not depend on the number of particles; a driver status. */
int sap_gpu_builder_open(const struct sap_gpu_session *s, struct sap_gpu_builder *b);
void sap_gpu_builder_free(const struct sap_driver *driver, struct sap_gpu_builder *b);

#endif
