/* sphgrav_tree.h - StarSmasher's gravity by a tree with spline softening. */
#ifndef SAP_SPHGRAV_TREE_H
#define SAP_SPHGRAV_TREE_H

#include "sapporo.h"

/* Particles and results, of which `ni` from `first` on are wanted. */
struct sap_sphgrav_force {
    int n, first, ni, room; /* room: of the tree */
    const double (*x)[3], *mass, *range2;
    double (*acc)[3], *pot; /* [ni] */
};

/* Returns 1 if SAPPORO_METHOD is `tree`, 0 if not, and -1 after a message if it is not valid. */
int sap_sphgrav_by_tree(void);

/*
 * Computes forces by `*tree`, which has room for f->room particles; NULL: there is none yet, and it creates one. theta:
 * the opening angle, unless variables say otherwise; 0: the default.  Returns 0 after a message if that fails.
 */
int sap_sphgrav_tree_force(sapporo_tree **tree, int rank, double theta, const struct sap_sphgrav_force *f);

#endif
