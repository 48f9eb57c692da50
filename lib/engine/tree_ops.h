/* tree_ops.h - the table of functions through which a context uses an engine's trees. */
#ifndef SAP_TREE_OPS_H
#define SAP_TREE_OPS_H

#include <stddef.h>

#include "sapporo.h"
#include "sapporo_experiments.h"

struct sap_device_set; /* engine.h */
struct sap_tree;

/* What a tree shall be; everything has a value, none is DEFAULT but ball, leaf_size and group_size (0: the engine's).
 */
struct sap_tree_settings {
    sapporo_tree_mac mac;
    double accuracy;
    int order;
    double eps2;
    int leaf_size, group_size;
    sapporo_precision precision; /* SP or DP */
    sapporo_tree_ball ball;
    sapporo_tree_walk walk;
    sapporo_tree_curve curve;
};

/* Nodes of a tree as physics/tree_cell.h says, in host memory; arrays of the caller with room for `nodes`. */
struct sap_tree_structure {
    int nodes, n;
    int *first, *count, *child, *children, *level;     /* [nodes] */
    double *mass, (*centre)[3], (*low)[3], (*high)[3]; /* [nodes] */
    double (*q)[6];                                    /* [nodes] */
    int *address;                                      /* [n] of the sorted particles */
};

/* Why a tree has no particles. */
enum sap_tree_none {
    SAP_TREE_NONE = -1, /* none is built */
    SAP_TREE_GONE = -2  /* its device is lost */
};

/*
 * Arguments have been checked as far as host memory tells: counts, addresses, finite numbers.  Of device memory the
 * engine checks the numbers.  After a failure the tree is as before, or `count` says that there is none.
 */
struct sap_tree_ops {
    int (*able)(const struct sap_device_set *devices); /* whether these can have trees; NULL: all can */
    /* Bytes that a tree of n particles takes; *device_bytes of them on a device in addition. */
    size_t (*memory)(const struct sap_device_set *devices, const struct sap_tree_settings *settings, int n,
                     size_t *device_bytes);
    int (*create)(struct sap_device_set *devices, const struct sap_tree_settings *settings, int n,
                  struct sap_tree **tree);
    void (*destroy)(struct sap_tree *tree);
    /* Takes particles for the next build or refresh. */
    int (*set)(struct sap_tree *tree, const sapporo_tree_particles *particles);
    int (*build)(struct sap_tree *tree);
    int (*refresh)(struct sap_tree *tree); /* of as many particles as the tree has */
    /* Particles of the tree, or sap_tree_none.  cells: a tree without moments, which a refresh makes, counts, too. */
    int (*count)(const struct sap_tree *tree, int cells);
    int (*force)(struct sap_tree *tree, const sapporo_tree_request *request, double (*acc)[3], double *pot);
    /* Writes NaN into results in memory of the device, as far as the device does it; NULL: there are none. */
    void (*erase)(struct sap_tree *tree, int ni, double (*acc)[3], double *pot);
    int (*search)(struct sap_tree *tree, int ni, sapporo_column x, sapporo_column h, long long *first, long long room,
                  int *list);
    int (*statistics)(struct sap_tree *tree, sapporo_tree_statistics *statistics);
    /* With arrays NULL fills in the numbers alone. */
    int (*structure)(struct sap_tree *tree, struct sap_tree_structure *structure);
    void (*kind)(const struct sap_device_set *devices, const struct sap_tree_settings *settings, char *text,
                 size_t room);
    const char *(*words)(const struct sap_tree *tree); /* why its last call failed; "": no more than the status says */
};

#endif
