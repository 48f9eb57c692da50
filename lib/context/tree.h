/* tree.h - what the library itself does with trees beside sapporo_tree.h. */
#ifndef SAP_TREE_H
#define SAP_TREE_H

#include "engine/engine.h"

/* The nodes of a tree, to be compared with those of another engine; frees nothing, see sap_tree_structure. */
int sap_tree_structure_of(sapporo_tree *tree, struct sap_tree_structure *structure);

#endif
