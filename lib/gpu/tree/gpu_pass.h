/*
 * gpu_pass.h - a force from a tree on an accelerator under computation: its target particles (gpu_targets.c), the
 * launches of its walk (gpu_walk.c).  gpu_force.c puts both together.
 *
 * Functions return driver statuses.
 */
#ifndef SAP_GPU_PASS_H
#define SAP_GPU_PASS_H

#include "gpu/tree/gpu_tree.h"

enum { SAP_GPU_FEW_ROWS = 4096 }; /* rows that one launch sorts */

/* A force under computation. */
struct sap_gpu_pass {
    const sapporo_tree_request *request;
    struct sap_gpu_walkers *walkers;
    struct sap_gpu_walk w;
    const struct sap_gpu_buffer *row, *slot, *strict;
    const struct sap_gpu_buffer *a; /* sizes of accelerations, by address; NULL: another criterion */
    int picked;                     /* forces on all particles are computed, and rows of them selected */
    int learned;                    /* accelerations of all particles are in t->a once the force is complete */
    int imported;                   /* the halo acts, not the tree itself */
    int bad;                        /* positions that are not finite */
    int bad_active;                 /* the first entry of the list that is no particle, or -1 */
};

/* ---- target particles (gpu_targets.c) ---- */

/* Makes all particles targets, in tree order. */
void sap_gpu_targets_all(const struct sap_gpu_host_tree *t, struct sap_gpu_pass *p);

/*
 * Makes the active particles of the request targets, in parts, or, if they are few, in bunches. Particles that are
 * scattered are cut into smaller bunches. Rows are in tree order unless each walks alone.
 */
int sap_gpu_targets_active(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p);

/* Makes the positions of the request targets; counts in p->bad those that are not finite. */
int sap_gpu_targets_places(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p);

/* Makes massless particles, n positions in device memory, targets: groups, or bunches if there are few. */
int sap_gpu_targets_massless(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, int n);

/* Reads position i of the caller. A position that is not finite is replaced by the corner of the cube; returns 0. */
int sap_gpu_targets_place(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int i, double *x);

/* ---- the walk (gpu_walk.c) ---- */

/* Launches the walk of the targets, with room for its results. */
int sap_gpu_walk_targets(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p);

/* Returns the words of what a force leaves, without the interactions of rows. */
size_t sap_gpu_walk_left_words(const struct sap_gpu_walk *w);

#endif
