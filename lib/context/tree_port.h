/*
 * tree_port.h - nodes and particles of trees that travel between processes from device memory to device memory.
 *
 * libsapporo_mpi calls these functions by the table of internals.h.  They are the entries of struct sap_tree_port_ops,
 * for trees.  Functions that return int return a sapporo_status; the text of an error is that of the tree.
 */
#ifndef SAP_CONTEXT_TREE_PORT_H
#define SAP_CONTEXT_TREE_PORT_H

#include "engine/tree_port.h"
#include "sapporo.h"

/* Describes the device of a tree; of one whose memory has no addresses, its text alone. */
int sap_port_device(sapporo_tree *tree, struct sap_travel_device *device);

/* Encloses calls of libraries of the device's vendor. */
int sap_port_enter(sapporo_tree *tree);
void sap_port_leave(sapporo_tree *tree);

/* Memory of trials, and the stream of transfers; NULL, which is a stream too, of a tree without device memory. */
int sap_port_hold(sapporo_tree *tree, size_t bytes, void **address);
int sap_port_write(sapporo_tree *tree, const void *from, size_t bytes);
int sap_port_read(sapporo_tree *tree, void *to, size_t bytes);
void *sap_port_stream(sapporo_tree *tree);

/* Notes transfers in the stream; tells their state: a sap_travel_state, or an error. */
int sap_port_started(sapporo_tree *tree);
int sap_port_state(sapporo_tree *tree);

/* Where the nodes and particles are that were selected, and where those of other parts arrive; joins the latter. */
int sap_port_made(sapporo_tree *tree, struct sap_halo_room *at);
int sap_port_receive(sapporo_tree *tree, int nodes, int n, struct sap_halo_room *at);
int sap_port_join(sapporo_tree *tree, int parts, const int (*count)[2]);

/* Makes room for n records that leave and n that arrive; writes where. */
int sap_port_records(sapporo_tree *tree, int n, void **out, void **in);

#endif
