/*
 * tree_layout.h - a tree in the memory of an accelerator: read by the host flow and by kernels.
 *
 * Particles, given or sorted, are four doubles each: x, y, z, mass.  Nodes (tree_cell.h) are a struct sap_tree_link and
 * a struct sap_cell each, and for the walk four floats (the centre in units of the cube from its middle, and the
 * guard), a float (turn), a source of four doubles (centre, mass in units) and eight floats (three times the second
 * moments in units, half their trace times three, one unused).
 */
#ifndef SAP_PHYSICS_TREE_LAYOUT_H
#define SAP_PHYSICS_TREE_LAYOUT_H

#include "device/gpu_layout.h" /* SAP_GPU_REAL */

enum {
    SAP_TREE_THREADS = 256, /* of a group, where nothing else is said */
    SAP_TREE_PARTS = 256,   /* groups that look at bounds */
    SAP_TREE_BOUNDS = 7,    /* of each: low[3], high[3], sum of sizes of masses */
    SAP_LINK_TILE = 1024,   /* sorted particles of which a group makes nodes */
    SAP_LINK_LEVELS = 22,   /* levels of nodes: SAP_KEY_LEVELS and the root */
    SAP_LINK_LEAF = 1024,   /* particles of a leaf at most: SAP_LEAF_MOST */
    SAP_WALK_THREADS = 32,  /* of a group that walks */
    SAP_WALK_IPT = 2,       /* walkers of a thread */
    SAP_WALK_PART = SAP_WALK_THREADS * SAP_WALK_IPT,
    SAP_WALK_CROWD = 128, /* particles in a group's ball, for each that it may have, beyond which it parts */
    SAP_FEW_THREADS = 32,
    SAP_LARGE_THREADS = 128, /* of a group for a bunch, or for a walker where there are few */
    SAP_FEW_MOST = 32,       /* walkers of a bunch at most */
    SAP_FEW_LEFT = 8,        /* of what groups leave; divides SAP_WALK_PART */
    SAP_FEW_CROWD = 256,  /* leaves in a bunch's ball, for each that it may have, beyond which its walkers go alone */
    SAP_GROUP_WORDS = 5,  /* doubles of a group: centre, radius, square of what the nearest are apart */
    SAP_GPU_CELL = 17 * 8 /* bytes of a struct sap_cell */
};

/* A node. */
struct sap_tree_link {
    int first, count, child, children;
};

/* What kernels of a tree are told. */
struct sap_gpu_tree {
    SAP_GPU_REAL low[3], cells;   /* the cube */
    SAP_GPU_REAL middle[3], unit; /* coordinates in kernels' units: (x - middle) unit */
    SAP_GPU_REAL mass_unit, true_mass;
    SAP_GPU_REAL eps2, accuracy;
    int n, nodes, leaf_size, group_size;
    int mac, order, ball, morton;
    int tiles, flat; /* flat: all particles are at one place */
};

/*
 * What a force leaves in memory, in ints: interactions with particles and cells, two words each, lower one first; how
 * long the lists are; from SAP_LEFT_FIRST on these, left_room each.
 */
enum {
    SAP_LEFT_TOLD = 0,
    SAP_LEFT_COUNT = 4,
    SAP_LEFT_APART = 0, /* bunches, by their first slots: groups that cannot walk together */
    SAP_LEFT_WIDE = 1,  /* such for double */
    SAP_LEFT_PARTS = 2, /* parts of groups for double */
    SAP_LEFT_LISTS = 3,
    SAP_LEFT_FIRST = 8
};

/* Who walks. */
struct sap_gpu_walk {
    int own;       /* they are the tree's sorted particles */
    int slots;     /* rows; slot k is row[k] of the results, walker slot[k] */
    int all_slots; /* slot k is walker k, and they walk by groups */
    int parts;     /* runs of at most SAP_WALK_PART slots of one group */
    int width;     /* slots of a bunch: a power of two, SAP_FEW_MOST at most; of all_slots within a group */
    int strict;    /* groups, or slots where not all walk, have a strictness */
    int every;     /* in double: all, not only those that need it */
    int from;      /* the list that is worked off; -1: all there is */
    int left_room;
};

#endif
