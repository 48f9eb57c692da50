/* tree_aim.h - finds the accuracy of a tree at which its errors are those that its options ask for. */
#ifndef SAP_TREE_AIM_H
#define SAP_TREE_AIM_H

#include "context/tree_private.h"

/* Whether the accuracy of a locked tree is to be found before the next force: for the first, and for another n. */
int sap_aim_wanted(const sapporo_tree *tree);

/*
 * Finds it, from the errors of a sample of particles against direct sums, and sets it.  After an error the tree has the
 * accuracy as before.
 */
int sap_aim_find(sapporo_tree *tree);

#endif
