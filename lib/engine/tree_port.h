/*
 * tree_port.h - nodes and particles of a tree that travel between processes from device memory to device memory.
 *
 * Beside walks a tree has a stream of transfers, of which libraries of the device's vendor get the handle.  What was
 * selected for other parts is sent from where it is; what arrives for the same part follows each other, part by part,
 * and is joined to the halo of the next walk.
 */
#ifndef SAP_TREE_PORT_H
#define SAP_TREE_PORT_H

#include "engine/travel_ops.h"
#include "engine/tree_regions.h"

struct sap_tree;

/* Functions that return int return a sapporo_status unless their comment says otherwise. */
struct sap_tree_port_ops {
    /* Describes the device; of one whose memory has no addresses, its text alone. */
    void (*describe)(const struct sap_tree *tree, struct sap_travel_device *device);
    /* Makes the device current for libraries of its vendor; calls do not nest. */
    int (*enter)(struct sap_tree *tree);
    void (*leave)(struct sap_tree *tree);

    /* Makes memory for trials at least `bytes` long; *address: where it begins. */
    int (*hold)(struct sap_tree *tree, size_t bytes, void **address);
    /* Copies from or to its beginning, and waits. */
    int (*write)(struct sap_tree *tree, const void *from, size_t bytes);
    int (*read)(struct sap_tree *tree, void *to, size_t bytes);
    /* Returns the vendor's handle of the stream of transfers, after `enter`. */
    void *(*stream)(struct sap_tree *tree);
    /* Notes that transfers have been started on the stream; `state` tells of them: a sap_travel_state, or an error. */
    int (*started)(struct sap_tree *tree);
    int (*state)(struct sap_tree *tree);

    /* Where the nodes and particles are that were selected; they have no softening lengths. */
    int (*made)(struct sap_tree *tree, struct sap_halo_room *at);
    /* Makes room for those that arrive; writes where. */
    int (*receive)(struct sap_tree *tree, int nodes, int n, struct sap_halo_room *at);
    /* Joins them, count[part][0] nodes and [1] particles of each part, as mpi/tree_halo.c does, and takes the halo in
     * place of that of `import`; there is at least one node. */
    int (*join)(struct sap_tree *tree, int parts, const int (*count)[2]);

    /* Makes room for n records of particles or answers that leave, and for n that arrive (tree_bodies.h); writes where
     * both begin. */
    int (*records)(struct sap_tree *tree, int n, void **out, void **in);
};

#endif
