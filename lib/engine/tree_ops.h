/* tree_ops.h - the tables of functions through which a context makes and uses an engine's trees. */
#ifndef SAP_TREE_OPS_H
#define SAP_TREE_OPS_H

#include <stddef.h>

#include "sapporo.h"
#include "sapporo_experiments.h"

struct sap_device_set; /* engine.h */
struct sap_tree_node;  /* tree_nodes.h */
struct sap_cell;       /* physics/tree_cell.h */
struct sap_tree_whole; /* tree_part.h */
struct sap_tree_halo;
struct sap_halo_region; /* tree_regions.h */
struct sap_halo_targets;
struct sap_tree_port_ops;
struct sap_halo_wish;
struct sap_halo_room;
struct sap_tree_pass;
struct sap_tree_bodies_ops; /* tree_bodies.h */

/* The settings of a tree.  No member is 0 for a default: sap_tree_options_read fills all of them. */
struct sap_tree_settings {
    sapporo_tree_kind kind;
    sapporo_tree_mac mac;
    double accuracy;
    double error; /* that 99 % of the errors are to stay below (tree_error.h); 0: `accuracy` is the caller's */
    int order;
    double eps2;
    double gravity; /* the gravitational constant, by which `set` multiplies masses */
    int leaf_size, group_size;
    int splits;          /* groups may get a limit of their extent */
    double group_extent; /* that limit, for the next build (physics/tree_parts.h); 0: none.  It may be 0 of all trees */
    sapporo_precision precision;        /* SP or DP */
    sapporo_tree_ball ball, bunch_ball; /* bounds of groups, and of bunches of accelerators */
    sapporo_tree_walk walk;
    sapporo_tree_curve curve;
    sapporo_softening
        softening; /* a spline: eps2 is the square of the length of particles that have none of their own */
    double period; /* edge of the periodic cube; 0: the tree is open */
};

/*
 * The nodes of a tree (physics/tree_cell.h) in host memory; arrays of the caller with room for `nodes`.  They are
 * columns, or, if `node` is not NULL, nodes and cells as walks have them; columns of nodes are then not written.
 */
struct sap_tree_structure {
    int nodes, n, groups;
    struct sap_tree_node *node;                        /* [nodes]; `next` is not written */
    struct sap_cell *cell;                             /* [nodes] */
    int *first, *count, *child, *children, *level;     /* [nodes] */
    double *mass, (*centre)[3], (*low)[3], (*high)[3]; /* [nodes] */
    double (*q)[6];                                    /* [nodes] */
    double *weight;                                    /* [nodes]; NULL: not wanted */
    int *address, *group;                              /* [n] of the sorted particles */
    struct sap_bound *bound;                           /* [groups]; NULL: not wanted */
};

/* Why a tree has no particles. */
enum sap_tree_none {
    SAP_TREE_NONE = -1, /* no tree is built */
    SAP_TREE_GONE = -2  /* the device of the tree is lost */
};

/* The first member of each tree: of an engine's, and of the tree over ranks that the part of a stepper has. */
struct sap_tree {
    const struct sap_tree_ops *ops;
};

/* What an engine does without a tree. */
struct sap_tree_maker {
    int (*able)(const struct sap_device_set *devices); /* whether these devices support trees; NULL: all do */
    int looks; /* 1: `set` looks at positions and masses itself, and refuses a bad one with nothing changed */
    /* Bytes of host memory that a tree of n particles takes; *device_bytes: of device memory, in addition. */
    size_t (*memory)(const struct sap_device_set *devices, const struct sap_tree_settings *settings, int n,
                     size_t *device_bytes);
    void (*kind)(const struct sap_device_set *devices, const struct sap_tree_settings *settings, char *text,
                 size_t room);
    int (*create)(struct sap_device_set *devices, const struct sap_tree_settings *settings, int n,
                  struct sap_tree **tree);
};

/* Forces, tidal tensors, neighbours and properties, for calls of sapporo_tree.h. */
struct sap_tree_ask_ops {
    int (*force)(struct sap_tree *tree, const sapporo_tree_request *request, double (*acc)[3], double *pot);
    int (*tidal)(struct sap_tree *tree, const sapporo_tree_request *request, double (*tidal)[6]);
    /*
     * Sets all bits of results in device memory, which makes NaN and -1 of them, if the device still works; NULL: the
     * engine has no device memory.  A pointer may be NULL.
     */
    void (*erase)(struct sap_tree *tree, void *results, size_t bytes);
    int (*within)(struct sap_tree *tree, const sapporo_tree_request *request, const sapporo_column *radius,
                  long long *first, long long room, int *list);
    int (*nearest)(struct sap_tree *tree, const sapporo_tree_request *request, int k, int *list, double *distance2);
    int (*statistics)(struct sap_tree *tree, sapporo_tree_statistics *statistics);
};

/* What ranks need of a tree that is a part of a whole (tree_part.h). */
struct sap_tree_part_ops {
    /* Says that the trees of later builds are parts of a whole; NULL: that they are wholes. */
    void (*join)(struct sap_tree *tree, const struct sap_tree_whole *whole);
    /* Fills the structure; if its arrays are NULL, only the numbers nodes, n and groups. */
    int (*structure)(struct sap_tree *tree, struct sap_tree_structure *structure);
    /*
     * Tell the regions of a tree with particles, and select what regions of other parts refuse (tree_regions.h), as
     * mpi/tree_halo.c does from `structure`; all three NULL: the caller does.  regions: writes `room` regions, of which
     * the first n are those of the tree.  select: writes the numbers of nodes and particles for each part.  selected:
     * copies them, part by part.
     */
    int (*regions)(struct sap_tree *tree, int room, const struct sap_halo_targets *targets,
                   struct sap_halo_region *region, int *n);
    int (*select)(struct sap_tree *tree, const struct sap_halo_wish *wish, int (*count)[2]);
    int (*selected)(struct sap_tree *tree, const struct sap_halo_room *to);
    /* Copies the nodes and particles of other parts; halo->nodes > 0, and the tree has particles. */
    int (*import)(struct sap_tree *tree, const struct sap_tree_halo *halo);
    /* Computes forces on particles of the tree, at least one; work: the interactions of each row, NULL: not wanted. */
    int (*walk)(struct sap_tree *tree, const struct sap_tree_pass *pass, double (*acc)[3], double *pot, int *work);
    /* Interactions of the last force or walk: with particles, with cells. */
    void (*walked)(const struct sap_tree *tree, long long *particles, long long *cells);
    const struct sap_tree_bodies_ops *bodies; /* NULL: the caller divides its particles */
    const struct sap_tree_port_ops *port;     /* NULL: the engine has no device memory */
};

/*
 * Life and builds, for calls of sapporo_tree.h and for steppers.  A tree over ranks has `build`, `refresh`, `count`,
 * `interactions` and `words` alone (mpi/stepper_forces.c), of which the first two are collective.
 *
 * The context has checked counts and everything in host memory: addresses, finite numbers.  The engine checks numbers
 * in device memory.  A call that fails leaves the tree unchanged, or `count` returns that there is no tree.
 */
struct sap_tree_ops {
    void (*destroy)(struct sap_tree *tree);
    /* Copies the particles for the next build or refresh; masses times the gravitational constant of the settings. */
    int (*set)(struct sap_tree *tree, const sapporo_tree_particles *particles);
    int (*build)(struct sap_tree *tree);
    int (*refresh)(struct sap_tree *tree); /* the number of particles must be that of the tree */
    /*
     * past: makes room for the positions of the particles set last; keeps 1: copies them, too.  build_ahead: builds
     * the tree for a time `lead` calls later, from positions extrapolated from those kept and those set last
     * (physics/tree_ahead.h), and refreshes it with those set last; without as many kept positions it builds.
     */
    int (*past)(struct sap_tree *tree, int keeps);
    int (*build_ahead)(struct sap_tree *tree, double lead);
    /* Number of particles of the tree, or sap_tree_none.  cells 1: a tree whose moments are missing until the next
     * refresh counts as a tree. */
    int (*count)(const struct sap_tree *tree, int cells);
    double (*interactions)(const struct sap_tree *tree); /* per row, of the last force */
    /* Sets group_extent for the next build, of a tree whose settings have `splits`. */
    void (*limit)(struct sap_tree *tree, double group_extent);
    /* Sets the accuracy of the forces that follow, of a tree by ACCELERATION; 0: no cell is accepted. */
    void (*aim)(struct sap_tree *tree, double accuracy);
    /* Twice the radii of balls that hold the bounds of groups: the median, and the largest; both 0 without a tree. */
    int (*extents)(struct sap_tree *tree, double *median, double *largest);
    const char *(*words)(const struct sap_tree *tree); /* text why the last call failed; "": only the status is known */
    const struct sap_tree_ask_ops *ask;
    const struct sap_tree_part_ops *part;
};

#endif
