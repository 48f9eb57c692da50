/*
 * gpu_pass.h - a force from a tree on an accelerator under computation: gpu_subset.c chooses its target particles,
 * gpu_force.c walks and copies the results.
 *
 * Functions return driver statuses.
 */
#ifndef SAP_GPU_PASS_H
#define SAP_GPU_PASS_H

#include "gpu/tree/gpu_tree.h"

/* A force under computation. */
struct sap_gpu_pass {
    const sapporo_tree_request *request;
    struct sap_gpu_subset to;
    int picked;     /* forces on all particles are computed, and rows of them selected */
    int learned;    /* accelerations of all particles are in t->given.a once the force is complete */
    int is_part;    /* a walk of a part of a whole */
    int imported;   /* the halo acts, not the tree itself */
    int bad;        /* positions that are not finite */
    int bad_active; /* the first entry of the list that is no particle, or -1 */
};

/* Makes all sorted targets of p->to.of the targets of a walk. */
void sap_gpu_subset_all(const struct sap_gpu_host_tree *t, struct sap_gpu_pass *p);

/*
 * Makes the active particles of the request targets, in parts, or, if they are few, in bunches. Particles that are
 * scattered are cut into smaller bunches. Rows are in tree order unless each walks alone.
 */
int sap_gpu_subset_active(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p);

/* Makes the positions of the request targets; counts in p->bad those that are not finite. */
int sap_gpu_subset_positions(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p);

/* Makes massless particles, n positions in device memory, targets: groups, or bunches if there are few. */
int sap_gpu_subset_massless(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, int n);

/* Returns what walks for a pass; stops are NULL unless each target particle of all forces walks alone. */
struct sap_gpu_walking sap_gpu_pass_walking(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p);

/*
 * For ACCELERATION: computes accelerations with an opening angle of 1 if they are unknown; *a: their sizes, by address.
 * The caller sets t->given.has_a once the pass is complete, if p->learned.
 */
int sap_gpu_pass_learn(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, const struct sap_gpu_buffer **a);

/* _bad returns how many positions of a request receive no force; _erase_bad writes NaN to their rows, unless NULL. */
int sap_gpu_request_bad(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r);
void sap_gpu_request_erase_bad(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, double *rows,
                               int width);

/* Returns why the library has no answer to a request, which is not supported; NULL: it has. */
const char *sap_gpu_request_refused(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r);

/* Sets the error of a list whose entry k is no particle; returns its status. */
int sap_gpu_request_lists_none(struct sap_gpu_host_tree *t, int k);

#endif
