/*
 * tree_weight.h - what a particle weighs where the particles of a tree are divided among ranks (mpi/tree_split.c).
 *
 * In an octree, whose groups keep their members: its interactions in the forces that are known, but at least 5/8 of the
 * mean, for what a particle costs besides; so no rank gets more than 2.6 times the mean number of particles, and what
 * whole groups add.  In a kd-tree, whose groups are others after each division: twice its interactions, and the mean
 * once; so no rank gets more than three times the mean number, and one.  Included after the named operations.
 */
#ifndef SAP_PHYSICS_TREE_WEIGHT_H
#define SAP_PHYSICS_TREE_WEIGHT_H

#include "physics/tree_key.h"

#ifdef SAP_HAVE_OPERATIONS

/* work: interactions of the particle; those of an average one, if they are unknown. */
SAP_INLINE sap_key sap_tree_weight(sap_key work, sap_key mean, int is_kdtree)
{
    enum { UNIT = 8, LEAST = 5 };
    if (is_kdtree) return 2 * work + mean;
    return UNIT * work > LEAST * mean ? UNIT * work : LEAST * mean;
}

#endif

#endif
