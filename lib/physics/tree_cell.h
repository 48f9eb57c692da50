/*
 * tree_cell.h - the cell of a tree, and its computation from its particles or from its children, written once.
 *
 * Every engine builds the same tree.  Particles are sorted by key (tree_key.h), particles of equal key by address.
 * Node 0 is the root, of level 0, and holds all particles.  A node with at most leaf_size particles, or of level
 * SAP_KEY_LEVELS, is a leaf.  The children of any other node are the runs of equal digit SAP_KEY_DIGIT(key, level) of
 * its particles, in their order, at least one.  Nodes are numbered breadth first: nodes of a level follow each other,
 * and so do the children of a node.  There is no other limit of depth, and particles of one key form one leaf, however
 * many they are.
 *
 * Columns of the nodes of a tree, which have these names in every engine:
 *     first, count     its sorted particles are first ... first + count - 1
 *     child, children  its children are the nodes child ... child + children - 1; a leaf has 0 children
 *     level
 *     mass, x, y, z    its mass and centre (below)
 *     q[6]             second moments about the centre (order 2)
 *     low[3], high[3]  the box of its particles, exactly
 *     guard, turn      the distances from which on it is accepted (tree_accept.h)
 * Columns that are double here may be float in an engine's copies for `sp`, if positions are differences from a near
 * position.
 *
 * The centre is the centre of mass, of masses without their signs; without mass it is the middle of the box.  A cell
 * with masses of both signs is never accepted, since its dipole moment about that centre is not zero; builders divide
 * the particles by sign, so that only the root is such a cell (sap_key_with_sign, engine/kdtree.h).
 *
 * Included after the named operations of a scalar D.
 */
#ifndef SAP_PHYSICS_TREE_CELL_H
#define SAP_PHYSICS_TREE_CELL_H

#include "physics/numbers.h"

/* Positions of second moments in an array. */
enum { SAP_XX, SAP_XY, SAP_XZ, SAP_YY, SAP_YZ, SAP_ZZ, SAP_MOMENTS2 };

#ifdef SAP_HAVE_OPERATIONS

/* A cell, finished or under construction. */
struct sap_cell {
    D weight; /* sum of |m| */
    D mass;   /* sum of m */
    D centre[3];
    D low[3], high[3];
    D q[SAP_MOMENTS2]; /* sum of m (x - centre)(x - centre) */
};

SAP_INLINE D sap_abs(D x) { return d_max(x, d_sub(d_set1(SAP_ZERO), x)); }

SAP_INLINE void sap_cell_start(struct sap_cell *cell)
{
    cell->weight = cell->mass = d_set1(SAP_ZERO);
    for (int k = 0; k < 3; k++) {
        cell->centre[k] = d_set1(SAP_ZERO);
        cell->low[k] = d_set1(SAP_LARGEST);
        cell->high[k] = d_sub(d_set1(SAP_ZERO), d_set1(SAP_LARGEST));
    }
    for (int k = 0; k < SAP_MOMENTS2; k++) cell->q[k] = d_set1(SAP_ZERO);
}

/* First pass: adds a particle (weight |m|, box of a point), or a child with its weight and box. */
SAP_INLINE void sap_cell_add(struct sap_cell *cell, D mass, D weight, const D *x, const D *low, const D *high)
{
    cell->mass = d_add(cell->mass, mass);
    cell->weight = d_add(cell->weight, weight);
    for (int k = 0; k < 3; k++) {
        cell->centre[k] = d_add(cell->centre[k], d_mul(weight, x[k]));
        cell->low[k] = d_min(cell->low[k], low[k]);
        cell->high[k] = d_max(cell->high[k], high[k]);
    }
}

/* Between the passes: computes the centre, and keeps it within the box despite rounding. */
SAP_INLINE void sap_cell_centre(struct sap_cell *cell)
{
    const int massive = dm_any(d_gt(cell->weight, d_set1(SAP_ZERO)));
    for (int k = 0; k < 3; k++) {
        const D middle = d_add(cell->low[k], d_mul(d_set1(SAP_HALF), d_sub(cell->high[k], cell->low[k])));
        const D centre = massive ? d_div(cell->centre[k], cell->weight) : middle;
        cell->centre[k] = d_min(d_max(centre, cell->low[k]), cell->high[k]);
    }
}

/* Second pass: adds the second moments of a particle, or of a child about its own centre x. */
SAP_INLINE void sap_cell_shape(struct sap_cell *cell, D mass, const D *x)
{
    D d[3], md[3];
    for (int k = 0; k < 3; k++) {
        d[k] = d_sub(x[k], cell->centre[k]);
        md[k] = d_mul(mass, d[k]);
    }
    cell->q[SAP_XX] = d_add(cell->q[SAP_XX], d_mul(md[0], d[0]));
    cell->q[SAP_XY] = d_add(cell->q[SAP_XY], d_mul(md[0], d[1]));
    cell->q[SAP_XZ] = d_add(cell->q[SAP_XZ], d_mul(md[0], d[2]));
    cell->q[SAP_YY] = d_add(cell->q[SAP_YY], d_mul(md[1], d[1]));
    cell->q[SAP_YZ] = d_add(cell->q[SAP_YZ], d_mul(md[1], d[2]));
    cell->q[SAP_ZZ] = d_add(cell->q[SAP_ZZ], d_mul(md[2], d[2]));
}

/* Second pass: adds a child, which contributes its own second moments and those of its mass at its centre. */
SAP_INLINE void sap_cell_shape_child(struct sap_cell *cell, D mass, const D *x, const D *q)
{
    sap_cell_shape(cell, mass, x);
    for (int k = 0; k < SAP_MOMENTS2; k++) cell->q[k] = d_add(cell->q[k], q[k]);
}

#endif
#endif
