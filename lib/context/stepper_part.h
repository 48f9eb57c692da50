/*
 * stepper_part.h - steppers that are parts of a larger whole: of the particles of all ranks of MPI.
 *
 * A part has particles of its own, in host memory, and takes the same steps at the same times as all other parts: it
 * counts the particles of all parts, and its forces come from functions of the whole.  These functions are collective:
 * all parts call them in the same order, and each returns the same status to all parts.
 *
 * libsapporo_mpi uses this interface, which the shared library exports.  It is not public: libsapporo_mpi refuses to
 * work with a libsapporo of another version.
 */
#ifndef SAP_CONTEXT_STEPPER_PART_H
#define SAP_CONTEXT_STEPPER_PART_H

#include "engine/stepper_ops.h"

/* The functions of a whole; each returns a sapporo_status. */
struct sap_stepper_whole {
    void *of; /* their first argument */
    /* Collective.  Returns the worst status of all parts; text: what failed in this part. */
    int (*agree)(void *of, int status, const char *text);
    /* Collective.  Replaces n numbers by their sums over all parts. */
    int (*add_counts)(void *of, long long *count, int n);
    int (*add)(void *of, double *number, int n);
    /* Notes how many particles this part has from now on, and how many of them have a mass. */
    void (*begin)(void *of, int n, int massive);
    /* What failed in the last force, build or refresh. */
    const char *(*words)(const void *of);
    /*
     * The trees of the whole: `build`, `refresh`, `count`, `interactions`, `memory` and `words` of an engine's table;
     * the first two are collective.  `count` returns the particles with mass of this part, `interactions` the mean of
     * all parts.  NULL: direct sums.
     */
    const struct sap_tree_ops *trees;
    struct sap_tree *tree;
    struct sap_step_source source; /* collective forces, with arrays for the particles of this part */
    const char *kind;              /* text of sapporo_stepper_kind_text */
};

/*
 * Creates a stepper of at most n >= 0 particles that is a part of a whole, as sapporo_stepper_create does; *whole is
 * copied.  SAPPORO_REBUILD_TIMED is not supported, since times differ between parts.
 */
SAPPORO_API int sapporo_stepper_part_create(const sapporo_stepper_options *options, int n,
                                            const struct sap_stepper_whole *whole, sapporo_stepper **stepper);

#endif
