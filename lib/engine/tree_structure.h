/* tree_structure.h - copies cells into sap_tree_structure, which tests compare between engines; extents of groups. */
#ifndef SAP_TREE_STRUCTURE_H
#define SAP_TREE_STRUCTURE_H

#include "engine/engine.h"

struct sap_cell;

/* Writes the moments and bounds of a cell to node k of the structure. */
void sap_tree_tell_cell(const struct sap_cell *cell, int k, struct sap_tree_structure *structure);

/* Finds the median and the largest of the extents of groups, which are reordered; of no group both are 0. */
void sap_tree_extents(double *extent, int groups, double *median, double *largest);

#endif
