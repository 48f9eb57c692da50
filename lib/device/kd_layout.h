/*
 * kd_layout.h - the layout of a kd-tree under construction in device memory: read by the host flow and by kernels.
 *
 * Particles are sorted from position to position, in two arrays in turn (`side` 0 and 1), four doubles each: x, y, z,
 * and |m| in units of the sum of all.  A node is a run of positions.  Nodes are stored without links: an inner node at
 * the position where its second child begins, which is the first position of no other second child, and a leaf at its
 * first position.
 */
#ifndef SAP_DEVICE_KD_LAYOUT_H
#define SAP_DEVICE_KD_LAYOUT_H

#include "device/gpu_layout.h" /* SAP_GPU_REAL */

enum {
    SAP_KD_TILE = 256,  /* positions whose boxes one group computes, and threads per group of other kernels; one or
                           two large nodes overlap a tile, since each has SAP_SPLIT_LARGE = 256 particles or more */
    SAP_KD_SMALL = 256, /* threads per group of a small node: more than it has particles */
    SAP_KD_NODE_THREADS = 64, /* threads per group that computes boxes */
    SAP_KD_BOX = 12,          /* doubles per tile: two boxes, low[3] and high[3] each */
    SAP_KD_JOINED = 32,       /* tiles that have one box together, if they belong to one large node */
    SAP_KD_LEVELS = 64,       /* levels of nodes: SAP_SPLIT_DEPTH and the root */
    SAP_KD_ROUNDS = 96        /* rounds of the large phase at most: levels, and rounds that only wait for a sort */
};

/* What becomes of a large node. */
enum sap_kd_state {
    SAP_KD_LEAF,
    SAP_KD_SPLIT, /* at a plane */
    SAP_KD_HALVE, /* between its two halves of sorted particles */
    SAP_KD_WAIT,  /* to be halved in a round that sorts */
    SAP_KD_SIGN   /* by the signs of masses: the root, whose particles lie by address */
};

/*
 * A run of positions that is to be a node: the root of a small subtree, or part of a large node.  side: the array that
 * has its particles.
 */
struct sap_kd_run {
    SAP_GPU_REAL entry[3], exit[3]; /* where the curve enters and leaves */
    int first, count, level, side;
};

/* A large node. */
struct sap_kd_large_node {
    struct sap_kd_run run;
    SAP_GPU_REAL low[3], high[3]; /* tight box */
    SAP_GPU_REAL plane;
    int state, axis, high_first; /* high_first: the high child comes first */
    int front;                   /* particles of the first child */
    int child[2];                /* large nodes of the next round; -1: the child is small or a leaf */
};

/* A node at its position; count 0: there is none. */
struct sap_kd_part {
    int count, level;
};

/* Counters of a build, ints. */
enum {
    SAP_KD_ROOTS = 0,   /* roots of small subtrees */
    SAP_KD_WAITING = 1, /* 1: large nodes wait for a round that sorts */
    SAP_KD_LARGE = 2,   /* large nodes of each round, one after the other */
    SAP_KD_COUNTERS = SAP_KD_LARGE + SAP_KD_ROUNDS + 1
};

/* Arguments of the kernels of a build. */
struct sap_kd_arguments {
    SAP_GPU_REAL low[3], high[3]; /* box of all particles */
    SAP_GPU_REAL mass_unit;
    int n, leaf_size;
    int merge;       /* levels of nodes that make one level of cells */
    int cell_levels; /* levels of cells at most */
    int tiles;       /* runs of SAP_LINK_TILE positions */
    int signs;       /* masses have both signs: a large root is divided by them */
};

#endif
