/*
 * gpu_targets.h - sorted target particles in device memory: their order along the curve, and their groups.
 *
 * Functions that return int return driver statuses.
 */
#ifndef SAP_GPU_TARGETS_H
#define SAP_GPU_TARGETS_H

#include "device/tree_layout.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_session.h"

struct sap_gpu_lengths;
struct sap_gpu_tree_kernels;

enum { SAP_GPU_FEW_ROWS = 4096 }; /* rows that one launch sorts */

/* Sorted target particles: the tree's own particles, or positions from the caller. */
struct sap_gpu_targets {
    struct sap_gpu_buffer address, sorted;
    struct sap_gpu_buffer sorted_at; /* of the tree's own particles: by address, their index in sorted order */
    struct sap_gpu_buffer group_first, bound, heavy, strict; /* of groups; group_first: one more, the end */
    struct sap_gpu_buffer group_of;                          /* number of the group, by sorted particle */
    struct sap_gpu_buffer length, longest;                   /* with spline softening (gpu_lengths.h) */
    struct sap_gpu_buffer key[2], value[2];                  /* for sorting */
    int n, groups;
    int run; /* of positions: most per group */
};

/* Where groups begin. */
struct sap_gpu_cut {
    const struct sap_gpu_buffer *order; /* addresses of the sorted particles */
    /* [n]: 1 where a group begins, else 0; number of begins before each sorted particle; NULL: runs of group_size */
    const struct sap_gpu_buffer *flag, *before;
    const struct sap_gpu_buffer *first; /* [groups]: before groups are halved; NULL: runs of group_size */
    int n, groups;
};

/* Where groups are halved: groups of so many particles, unless the cut has `first`, that exceed an extent. */
struct sap_gpu_halving {
    int group_size;
    double extent;
    int *groups; /* pinned memory for their number */
};

/* ---- memory ---- */

/* _free frees all; _drop frees the targets, and keeps the memory for sorting. */
void sap_gpu_targets_free(const struct sap_driver *driver, struct sap_gpu_targets *to);
void sap_gpu_targets_drop(const struct sap_driver *driver, struct sap_gpu_targets *to);

/* Reserves the memory of a sort of n values: keys and values twice, and scratch memory. */
int sap_gpu_targets_reserve_sort(struct sap_gpu_session *s, struct sap_gpu_buffer *key, struct sap_gpu_buffer *value,
                                 int n);

/* ---- order ---- */

/*
 * _sort sorts keys and addresses of n > 0 particles into key[*at] and value[*at], and changes nothing else of the
 * targets; _take makes that order the order of the targets. _gather writes the sorted particles, with masses in units;
 * numbers: and sorted_at.
 */
int sap_gpu_targets_sort(struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f, struct sap_gpu_targets *to,
                         const struct sap_gpu_buffer *given, const struct sap_gpu_tree *frame, int n, int *at);
void sap_gpu_targets_take(struct sap_gpu_targets *to, int n, int groups, int at);
int sap_gpu_targets_gather(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                           const struct sap_gpu_targets *to, const struct sap_gpu_buffer *given, int numbers,
                           double mass_unit);

/* Sorts n > 0 positions, each with mass 1, stored as four doubles each, in groups of `run`. */
int sap_gpu_targets_positions(struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                              struct sap_gpu_targets *to, const struct sap_gpu_buffer *given,
                              const struct sap_gpu_tree *frame, int n, int run);

/* ---- groups ---- */

/* Returns the number of groups of n targets that are cut into runs of `run`. */
int sap_gpu_targets_runs(int run, int n);

/* Halves groups that exceed an extent (physics/tree_parts.h); waits for their number. */
int sap_gpu_targets_halve(struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f, struct sap_gpu_cut *cut,
                          const struct sap_gpu_buffer *given, const struct sap_gpu_halving *how);

/* Write where groups begin: those of a cut, or runs. */
int sap_gpu_targets_cut(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const struct sap_gpu_targets *to, const struct sap_gpu_cut *cut);
int sap_gpu_targets_cut_runs(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                             const struct sap_gpu_targets *to, int run);

/*
 * Computes the bounds of the groups and, if `a` is given, how strict their acceptance criterion is. root: cells of the
 * tree, of which the root is the first.
 */
int sap_gpu_targets_bound(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                          const struct sap_gpu_targets *to, const struct sap_gpu_buffer *root,
                          const struct sap_gpu_lengths *lengths, const struct sap_gpu_buffer *a,
                          const struct sap_gpu_tree *frame);

#endif
