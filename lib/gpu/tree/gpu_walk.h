/*
 * gpu_walk.h - one walk of a tree on an accelerator: the sources, the target particles, and the launches.
 *
 * Functions that return int return driver statuses.
 */
#ifndef SAP_GPU_WALK_H
#define SAP_GPU_WALK_H

#include "engine/tree_ops.h"
#include "gpu/tree/gpu_built.h"
#include "gpu/tree/gpu_results.h"
#include "gpu/tree/gpu_stops.h"

/* Memory of walks beside the results. */
struct sap_gpu_walk_lists {
    struct sap_gpu_buffer left;                    /* what a walk leaves (device/tree_layout.h) */
    struct sap_gpu_buffer key[2], value[2];        /* for the order of parts */
    struct sap_gpu_buffer district_node, district; /* where groups begin (device/tree_districts.h) */
    int has_districts;                             /* the present walk */
};

/* Target particles of a walk. */
struct sap_gpu_subset {
    const struct sap_gpu_targets *of;
    struct sap_gpu_walk w;
    const struct sap_gpu_buffer *row, *slot, *strict;
    const struct sap_gpu_buffer *a; /* sizes of accelerations, by address; NULL: another criterion */
};

/* What walks, and where to. */
struct sap_gpu_walking {
    struct sap_gpu_built tree;
    const struct sap_gpu_nodes *nodes;            /* that act: the tree's, or imported ones, with their particles */
    const struct sap_gpu_buffer *sorted, *length; /* length: if particles have lengths */
    const struct sap_gpu_buffer *soft;            /* with Plummer lengths: SAP_SOFT_WORDS per node */
    struct sap_gpu_stops *stops;                  /* target particles walk one by one; NULL: in groups and bunches */
    int *cells;                                   /* pinned memory of sap_gpu_stops_make */
    struct sap_gpu_walk_lists *lists;
    struct sap_gpu_results *results;
    int without_wide; /* what single precision leaves waits for sap_gpu_walk_wide */
};

/* Whether there are kernels in which selected particles share walks by parts. */
int sap_gpu_walk_selects(const struct sap_gpu_lengths *lengths);

/* Launches the walk of the targets, with room for its results. */
int sap_gpu_walk_run(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to);

/*
 * Launches the walk for the tidal tensors of the targets, which walk one by one, by the bounds of their groups, with
 * room for its results. walk->stops must be given.
 */
int sap_gpu_walk_tidal(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to);

/* Launches the rest of a walk that ran without_wide: what single precision has left, in double. */
int sap_gpu_walk_wide(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to);

/* Returns the bytes that districts of so many groups take. */
size_t sap_gpu_walk_district_bytes(size_t groups);

/* Returns the words of what a force leaves, without the interactions of rows. */
size_t sap_gpu_walk_left_words(const struct sap_gpu_walk *w);

void sap_gpu_walk_free(const struct sap_driver *driver, struct sap_gpu_walk_lists *lists);

#endif
