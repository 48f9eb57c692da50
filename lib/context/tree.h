/* tree.h - internal access to trees, beyond sapporo_tree.h. */
#ifndef SAP_TREE_H
#define SAP_TREE_H

#include "engine/engine.h"

/* Copies out the nodes of a tree, to compare the trees of two engines.  It frees nothing: see sap_tree_structure. */
int sap_context_tree_structure_of(sapporo_tree *tree, struct sap_tree_structure *structure);

#endif
