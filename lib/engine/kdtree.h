/*
 * kdtree.h - builds the nodes of a kd-tree with the volume-mass heuristic in host memory, for the CPU engine.  Devices
 * make the same nodes (lib/gpu/tree/gpu_kdtree.c).
 *
 * The rules are in physics/tree_split.h.  The build has the three phases of Kofler et al. 2014: large nodes level by
 * level; small nodes, each subtree by one thread; then sizes of subtrees from the leaves up and depth-first order from
 * the root down.  At last, cells for the walk are made of the depth-first array.  Results do not depend on the threads.
 */
#ifndef SAP_KDTREE_H
#define SAP_KDTREE_H

#include <stddef.h>

#include "engine/tree_nodes.h"

/* A particle under construction; weight: |m| in units of the sum of all. */
struct sap_kd_point {
    double x[3], weight;
    int address, is_negative;
};

/*
 * A node in depth-first order.  The first child of an inner node k is k + 1, the second is k + 1 + size of the first.
 */
struct sap_kd_node {
    int first, count, size; /* size: nodes of its subtree; 1: a leaf */
};

struct sap_kd_large;

/* Memory of a builder, kept from build to build. */
struct sap_kd_builder {
    int room;
    struct sap_kd_point *point, *spare; /* [room]; after a build `point` has the sorted particles */
    struct sap_kd_node *small;          /* [2 room] subtrees of small nodes */
    struct sap_kd_large *large;         /* large nodes, and the roots of small subtrees */
    int larges, large_room, signs;      /* signs: of the input */
    struct sap_kd_node *node;           /* depth-first array */
    int nodes, node_room;
};

/* What to build from.  Columns have a stride in doubles. */
struct sap_kd_input {
    int n;
    const double *x, *mass;
    size_t x_stride, mass_stride;
    double mass_unit;         /* factor of masses that makes the sum of |m| at most 1 */
    int signs;                /* masses have both signs: a large root is divided by them */
    const double *low, *high; /* [3] box of all particles */
    int leaf_size;
    int levels; /* levels of nodes that make one cell for the walk: 3: up to eight children, 1: two children */
};

/* Bytes per particle that a builder keeps, without what depends on the number of nodes. */
size_t sap_kd_bytes(int n);

/* Makes room for n particles; 0 or SAPPORO_ERR_MEMORY.  The caller calls sap_kd_free also after a failure. */
int sap_kd_reserve(struct sap_kd_builder *b, int n);
void sap_kd_free(struct sap_kd_builder *b);

/* Builds; needs a reserve for as many particles.  0 or SAPPORO_ERR_MEMORY. */
int sap_kd_build(struct sap_kd_builder *b, const struct sap_kd_input *in, struct sap_tree_nodes *out, int threads);

#endif
