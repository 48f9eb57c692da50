/*
 * tree_layout.h - the layout of a tree in device memory: read by the host flow and by kernels.
 *
 * Particles, given or sorted, are four doubles each: x, y, z, mass.  Each node (tree_cell.h) is a struct sap_tree_link
 * and a struct sap_cell.  For the walk a node also has eight floats (tree_words of tree_moments.h: the centre in units
 * of the cube relative to its middle, the guard, the turn, the largest distance of the box from the centre, and as bits
 * what struct walk_node of tree_terms.h has), a source of four doubles (centre, mass in
 * units) and eight floats (three times the second moments in units, half their trace times three, one unused).
 */
#ifndef SAP_PHYSICS_TREE_LAYOUT_H
#define SAP_PHYSICS_TREE_LAYOUT_H

#include "device/gpu_layout.h" /* SAP_GPU_REAL */
#include "physics/tree_gaps.h"

enum {
    SAP_TREE_THREADS = 256, /* threads per group, unless another number is given */
    SAP_LEAF_THREADS = 128, /* of kernels that compute cells, which lie in memory of the group */
    SAP_TREE_PARTS = 256,   /* groups that compute bounds */
    SAP_TREE_BOUNDS = 9,    /* words per group: low[3], high[3], sum of |mass|, least and largest mass */
    SAP_LINK_TILE = 1024,   /* sorted particles whose nodes one group makes */
    SAP_LINK_LEVELS = 22,   /* levels of nodes: SAP_KEY_LEVELS and the root */
    SAP_ABOVE_LEVELS = 4,   /* levels above the roots of joined halos */
    SAP_LINK_LEAF = 1024,   /* particles of a leaf at most: SAP_LEAF_MOST */
    SAP_WALK_THREADS = 32,  /* threads per group of the many-target walk */
    SAP_WALK_IPT = 3,       /* target particles per thread at most: of groups of whole nodes */
    SAP_WALK_RUN_IPT = 2,   /* the same of other groups and of selected particles */
    SAP_WALK_SELECTED = SAP_WALK_THREADS * SAP_WALK_RUN_IPT, /* target particles of a walk of selected particles */
    SAP_ALONE_THREADS = 128,                                 /* of the walk of single particles */
    SAP_FAR_THREADS = 32,                                    /* of moments of a periodic cube */
    SAP_STOP_PARTS = 3,                                      /* pairs of doubles of a stop (tree_stops.h) */
    SAP_DISTRICT = 8,                                        /* groups of a district (tree_districts.h) */
    SAP_DISTRICT_ROOM = 1024,                                /* ints per district: two numbers, and nodes */
    SAP_DISTRICT_WORDS = 40,                                 /* doubles per district: a polynomial and its centre */
    SAP_WALK_CROWD = 128, /* particles in a group's bound per particle of the group; above, the group is split */
    SAP_WALK_MANY = 1024, /* of so many groups each could hold up many others, and is split from half of that on */
    SAP_FEW_THREADS = 32,
    SAP_LARGE_THREADS = 128, /* threads per group for a bunch, or for one target particle if there are few */
    SAP_FEW_MOST = 32,       /* target particles per bunch at most */
    SAP_FEW_LEFT = 8,        /* slots per bunch of a group that is split; divides SAP_WALK_THREADS */
    SAP_FEW_CROWD = 256,     /* leaves in a bunch's bound per particle of the bunch; above, they walk one by one */
    SAP_SHARES = 64,         /* of each run of so many parts or bunches, a device computes its share */
    SAP_SOFT_WORDS = 3,      /* doubles per node: struct sap_softs */
    SAP_GROUP_WORDS = 8,     /* doubles per group: struct sap_bound, squared distance of its nearest particles */
    SAP_GROUP_HEAVY = 1,     /* marks of a group: its pair terms need double */
    SAP_GROUP_CROWDED = 2,   /* its bound holds too many leaves of the present walk: it is split */
    SAP_GPU_CELL = 17 * 8    /* bytes of a struct sap_cell */
};

/* A node. */
struct sap_tree_link {
    int first, count, child, children;
};

/* Arguments of the kernels of a tree. */
struct sap_gpu_tree {
    SAP_GPU_REAL low[3], cells;   /* the cube */
    SAP_GPU_REAL middle[3], unit; /* coordinates in units of kernels: (x - middle) unit */
    SAP_GPU_REAL mass_unit, true_mass;
    SAP_GPU_REAL eps2, accuracy;
    SAP_GPU_REAL pull;    /* the unit of MULTIPOLE's tolerance (engine/pull.h); of other criteria 1 */
    struct sap_gaps gaps; /* of the cube */
    int n, nodes, leaf_size, group_size;
    int mac, order, ball, bunch_ball, morton;
    int tiles,
        flat; /* flat: all pair terms need double: is_point of the units (engine/cube.h), or the whole reaches far */
    int signs, unused; /* signs: masses have both signs, which keys tell */
};

/*
 * What a force leaves in device memory, in ints: the numbers of interactions with particles and with cells, two words
 * each, lower word first; whether a row is not finite, even in double; the lengths of the lists; from SAP_LEFT_FIRST on
 * the lists, left_room entries each.
 */
enum {
    SAP_LEFT_TOLD = 0,
    SAP_LEFT_BEYOND = 4,
    SAP_LEFT_COUNT = 5,
    SAP_LEFT_APART = 0,              /* bunches, by their first slots, of groups that cannot walk together */
    SAP_LEFT_WIDE = 1,               /* bunches that need double */
    SAP_LEFT_PARTS = 2,              /* parts of groups that need double */
    SAP_LEFT_DENSE = SAP_LEFT_PARTS, /* if there are no parts: bunches of selected particles that lie together */
    SAP_LEFT_ORDER = 3,              /* parts, those that take longest first, or parts or bunches of a share */
    SAP_LEFT_LISTS = 4,
    SAP_LEFT_BOTH = 4, /* bunches that lie together, and smaller ones of those that do not */
    SAP_LEFT_FIRST = SAP_LEFT_COUNT + SAP_LEFT_LISTS
};

/* Which rows tree_within searches for. */
struct sap_gpu_within {
    int own;      /* target particles are the tree's sorted particles */
    int has_slot; /* they are listed */
    int fills;    /* lists are written; else their lengths */
    int n;
};

enum { SAP_WITHIN_ROWS = 64 }; /* rows whose lists a thread adds up */

/* The greatest k of tree_nearest, and the threads of a group that searches for one target. */
enum { SAP_NEAREST_K = 256, SAP_NEAREST_THREADS = 32 };

/* Which rows tree_nearest searches for: n of them, from number `first` on, k particles for each. */
struct sap_gpu_nearest {
    int own;      /* target particles are the tree's sorted particles */
    int has_slot; /* they are listed */
    int tells;    /* squared distances are wanted */
    int k, first, n;
};

/* The target particles of a walk. */
struct sap_gpu_walk {
    int own;       /* target particles are the tree's sorted particles */
    int slots;     /* number of target particles; slot k is row[k] of the results, and target particle slot[k] */
    int all_slots; /* slot k is target particle k, and target particles walk by groups */
    int parts;     /* runs of slots: `part` of one group, group_parts of each, or SAP_WALK_SELECTED; 0: bunches alone */
    int part, group_parts;
    int width; /* slots per bunch: a power of two, at most SAP_FEW_MOST; with all_slots a bunch lies within a group */
    int span;  /* selected particles walk together if they span fewer sorted particles per slot; 0: always */
    int left_width; /* slots per bunch of those that do not */
    int cut;        /* > 0: slots of bunches of a list, which walk one by one */
    int strict;     /* groups have a strictness; without all_slots, slots have one */
    int every;      /* in double: all walk, not only those that need double */
    int from; /* the list whose items walk; -1: all items walk; SAP_LEFT_BOTH: the bunches that tree_bunches lists */
    int left_room;
    int more;          /* > 0: the root of a second tree, of images, that acts too */
    int districts;     /* groups begin where their district has ended */
    int work;          /* > 0: the interactions of row k are written to word work + k of what the force leaves */
    int share, shares; /* shares > 0: of each run of SAP_SHARES items only those from `share` on, so many */
};

#endif
