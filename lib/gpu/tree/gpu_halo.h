/*
 * gpu_halo.h - the nodes and particles that other parts of a whole have for a tree on an accelerator.
 */
#ifndef SAP_GPU_HALO_H
#define SAP_GPU_HALO_H

#include "engine/tree_part.h"
#include "gpu/tree/gpu_built.h"

struct sap_gpu_halo {
    struct sap_gpu_nodes nodes; /* nodes.n is 0: none were imported */
    struct sap_gpu_buffer sorted;
    struct sap_gpu_halo_lengths lengths;
};

/* What has arrived from other parts. */
struct sap_gpu_arrived {
    int parts, halos, nodes, n; /* halos: of parts that sent nodes */
    int in_units;               /* masses are in units of the tree */
    int before, before_n;       /* nodes and particles that come before those */
};

/* Fills the table of tree_halo_join, `first`, of parts with so many nodes and particles, behind before_n others. */
struct sap_gpu_arrived sap_gpu_halo_table(int parts, const int (*count)[2], int before_n, int *first);

/* Makes room for so many nodes of other parts, those above them, and particles; there is no halo then. */
int sap_gpu_halo_reserve(const struct sap_gpu_session *s, struct sap_gpu_halo *h, int nodes, int n);

/*
 * Joins what has arrived, for which there is room and whose particles are in h->sorted; driver statuses.  first: as
 * tree_halo_join has it.
 */
int sap_gpu_halo_join(struct sap_gpu_halo *h, const struct sap_gpu_built *of, const struct sap_gpu_buffer *made,
                      const struct sap_gpu_buffer *first, const struct sap_gpu_arrived *a);

/* Gives what was joined its lengths, in units: made of nodes, made_h of particles. What comes before has its own. */
int sap_gpu_halo_join_lengths(struct sap_gpu_halo *h, const struct sap_gpu_built *of, const struct sap_gpu_buffer *made,
                              const struct sap_gpu_buffer *made_h, const struct sap_gpu_buffer *first,
                              const struct sap_gpu_arrived *a);

/* Uploads nodes and particles that act on the targets of a tree; a driver status. */
int sap_gpu_halo_import(struct sap_gpu_halo *h, const struct sap_gpu_built *of, const struct sap_tree_halo *halo);

void sap_gpu_halo_free(const struct sap_driver *driver, struct sap_gpu_halo *h);

#endif
