/*
 * gpu_nodes.h - nodes in device memory, those of a tree or imported ones: moments, what walks read, the order of a
 * traversal. Functions that return int return driver statuses.
 */
#ifndef SAP_GPU_NODES_H
#define SAP_GPU_NODES_H

#include "device/tree_layout.h"
#include "engine/tree_nodes.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_session.h"

struct sap_gpu_tree_kernels;

/* Nodes in order of their levels. Imported nodes have neither levels nor a traversal. */
struct sap_gpu_nodes {
    struct sap_gpu_buffer link, level, cell;
    struct sap_gpu_buffer word, source, moments; /* what walks read (device/tree_layout.h), computed from cells */
    struct sap_gpu_buffer next;                  /* in a traversal; computed when it is needed */
    int n;
    int levels, level_first[SAP_TREE_LEVELS + 1];
    int has_next; /* `next` belongs to the present nodes */
};

/*
 * Computes the cells of all nodes from sorted particles; `first`: the first nodes of levels. linked: the children of
 * nodes have been counted.
 */
int sap_gpu_nodes_cells(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const struct sap_gpu_nodes *nodes, const struct sap_gpu_buffer *sorted,
                        const struct sap_gpu_buffer *first, const struct sap_gpu_tree *frame, int linked);

/* Computes what walks read from the cells of the nodes. root: cells of the tree, of which the root is the first. */
int sap_gpu_nodes_words(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const struct sap_gpu_nodes *nodes, const struct sap_gpu_buffer *root,
                        const struct sap_gpu_tree *frame);

/* Computes `next` if it is needed. */
int sap_gpu_nodes_make_next(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                            struct sap_gpu_nodes *nodes);

void sap_gpu_nodes_free(const struct sap_driver *driver, struct sap_gpu_nodes *nodes);

#endif
