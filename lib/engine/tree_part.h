/* tree_part.h - a tree that is a part of a larger whole: of the particles of all ranks of MPI. */
#ifndef SAP_TREE_PART_H
#define SAP_TREE_PART_H

#include "engine/cube.h"
#include "engine/tree_nodes.h"

struct sap_cell; /* physics/tree_cell.h */

/*
 * What all parts of a whole share.  A part takes its cube, its units and the tolerance of its criterion from the whole,
 * so a cell is accepted as in one tree of all particles.
 */
struct sap_tree_whole {
    struct sap_cube cube;
    double low[3], high[3]; /* the box of all particles */
    double weight;          /* sum of their masses without signs */
    long long before;       /* particles of the parts that come before this one along the curve (cpu_groups.c) */
    double pull;            /* unit of MULTIPOLE's tolerance (engine/pull.h), > 0; of other criteria 1 */
    /* of softening lengths, the greatest and the least above 0, or INFINITY; not read unless particles have lengths */
    double longest, shortest;
};

/*
 * Nodes and particles of other parts, which act on the particles of this part.  Node 0 is the root; the children of a
 * node follow each other, at most eight.  A node without children and without particles always acts as a cell: every
 * target particle of this part accepts it.
 */
struct sap_tree_halo {
    int nodes, n;
    const struct sap_tree_node *node; /* first, count, child, children; the others are not read */
    const struct sap_cell *cell;      /* [nodes] */
    const double (*x)[4];             /* [n] position, mass */
    /* softening lengths, of nodes and of particles: [nodes * words], [n]; NULL: particles have none */
    const double *of_node, *h;
    int words; /* of a spline 1, the greatest of the node's particles; Plummer's: struct sap_softs */
};

/* A walk of particles of a part. */
struct sap_tree_pass {
    int imported;      /* 1: through the halo that was imported last; 0: through the part's own tree */
    int ni;            /* number of active particles; read if `active` is given */
    const int *active; /* [ni] their addresses, each once: the rows of the walk; NULL: all particles, by address */
    const double *a;   /* sizes of accelerations of all particles, by address, for ACCELERATION; NULL: an opening angle
                          of 1 */
    /* Of engines that select (tree_ops.h); 0 of others: */
    int knows_a; /* 1: `a` are those of the last regions that were told (tree_regions.h) */
    int has_a;   /* 1: `a` are with the engine (tree_bodies.h), and not given */
    int keeps;   /* 1: results stay with the engine, which may still compute; acc, pot and work are NULL */
    int ends;    /* 1: there is no walk: results that the last one kept are those of all; imported and adds are 0 */
    int stays;   /* 1: results and interactions stay with the engine, for its bodies; acc, pot and work are NULL */
    int adds; /* 1: those of the last walk, which kept its results of the same rows, and its interactions, are added */
};

/* The rows of a walk, of a part with n particles. */
static inline int sap_tree_pass_rows(const struct sap_tree_pass *pass, int n) { return pass->active ? pass->ni : n; }

#endif
