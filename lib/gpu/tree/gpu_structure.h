/*
 * gpu_structure.h - copies of the nodes and groups of a tree on an accelerator, for statistics and walks of users.
 *
 * Functions that return int return driver statuses unless their comment says otherwise; the tree has particles.
 */
#ifndef SAP_GPU_STRUCTURE_H
#define SAP_GPU_STRUCTURE_H

#include "engine/tree_ops.h"
#include "gpu/tree/gpu_built.h"
#include "physics/scalars.h"

/* Counts nodes and groups. */
int sap_gpu_structure_count(const struct sap_gpu_built *of, sapporo_tree_statistics *s);

/* Finds the median and the largest extent of groups. */
int sap_gpu_structure_extents(const struct sap_gpu_built *of, double *median, double *largest);

/* Copies nodes and groups, of which the structure has the numbers, in a call of its own; a sapporo_status. */
int sap_gpu_structure_copy(const struct sap_gpu_built *of, struct sap_tree_structure *s);

/* Returns the bound of a group from the words of groups (SAP_GROUP_WORDS). */
struct sap_bound sap_gpu_structure_bound(const double *words, int group);

#endif
