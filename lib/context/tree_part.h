/*
 * tree_part.h - trees that are parts of a larger whole (engine/tree_part.h).
 *
 * libsapporo_mpi calls these functions by the table of internals.h.  They lock the tree, and errors are those of
 * sapporo_tree.h.
 */
#ifndef SAP_CONTEXT_TREE_PART_H
#define SAP_CONTEXT_TREE_PART_H

#include "engine/cube.h"
#include "engine/tree_ops.h"
#include "engine/tree_part.h"
#include "engine/tree_regions.h"

/* Copies the settings of a tree, with defaults filled in. */
int sap_part_settings(sapporo_tree *tree, struct sap_tree_settings *settings);

/* Returns the unit of MULTIPOLE's tolerance, for a whole as for one tree (engine/pull.h).  Locks nothing. */
double sap_part_pull(const double (*sample)[SAP_CUBE_SAMPLE], int m, double sum);

/* Says that the trees of later builds are parts of a whole; NULL: that they are wholes. */
int sap_part_join(sapporo_tree *tree, const struct sap_tree_whole *whole);

/* Copies out the nodes of a tree, with the arrays of struct sap_tree_structure; without arrays only the numbers. */
int sap_part_structure(sapporo_tree *tree, struct sap_tree_structure *structure);

/* Gives a tree the nodes and particles of other parts, for sap_part_walk, until the next build. */
int sap_part_import(sapporo_tree *tree, const struct sap_tree_halo *halo);

/* Whether the engine of a tree tells regions and selects nodes itself; otherwise the next three fail. */
int sap_part_selects(sapporo_tree *tree);

/* Writes `room` regions of a tree with particles, the first n of which are its own (engine/tree_regions.h). */
int sap_part_regions(sapporo_tree *tree, int room, const struct sap_halo_targets *targets,
                     struct sap_halo_region *region, int *n);

/* Selects nodes for regions of other parts; writes the numbers of nodes and particles for each. */
int sap_part_select(sapporo_tree *tree, const struct sap_halo_wish *wish, int (*count)[2]);

/* Copies the nodes and particles that were selected, part by part. */
int sap_part_selected(sapporo_tree *tree, const struct sap_halo_room *to);

/*
 * Computes forces on all particles of a tree, or on active ones, from the tree itself or from the nodes that it was
 * given; work: the interactions of each row, NULL: not wanted.  acc and pot are NULL if the engine keeps the results;
 * otherwise they are NaN after an error.
 */
int sap_part_walk(sapporo_tree *tree, const struct sap_tree_pass *pass, double (*acc)[3], double *pot, int *work);

/* The interactions of the last walk with particles and with cells. */
int sap_part_walked(sapporo_tree *tree, long long *particles, long long *cells);

#endif
