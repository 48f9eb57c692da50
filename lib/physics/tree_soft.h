/*
 * tree_soft.h - cells of particles that have Plummer softening lengths of their own, written once.
 *
 * A pair has R2 = |r|^2 + eps2 + h_i^2 + h_j^2, as in direct sums.  A cell acts from its centre with the mean of h_j^2,
 * weighted by mass: so terms of first order in the difference e = h_j^2 - mean vanish, as those in the offset s from
 * the centre do.  Neglected terms of the potential begin with the order (d / R)^3, d^2 = |s|^2 + |e|; that order is at
 * most M d^3 / R^4, as in a cell without lengths whose radius is d.  So criteria of acceptance see a wider cell
 * (sap_soft_widen), and their errors are those of trees without lengths.
 *
 * Squares of lengths are in units of the walk.  Included after the named operations of a scalar D.
 */
#ifndef SAP_PHYSICS_TREE_SOFT_H
#define SAP_PHYSICS_TREE_SOFT_H

#include "physics/tree_cell.h"
#include "physics/tree_mac.h"

/* A box is as far from its middle as the edge of a cube times the root of 3/4: so squares of edges grow by 4/3. */
#define SAP_SOFT_EDGE SAP_NUMBER(0x1.5555555555555p0, 0x3FF5555555555555UL)

#ifdef SAP_HAVE_OPERATIONS

/* Squares of the lengths of a cell's particles: their mean, weighted by mass, and their range. */
struct sap_softs {
    D mean, least, most;
};

SAP_INLINE void sap_soft_start(struct sap_softs *soft)
{
    soft->mean = soft->most = d_set1(SAP_ZERO);
    soft->least = d_set1(SAP_LARGEST);
}

/* Adds a particle, whose three squares are the same, or a child. */
SAP_INLINE void sap_soft_add(struct sap_softs *soft, D mass, D mean, D least, D most)
{
    soft->mean = d_add(soft->mean, d_mul(mass, mean));
    soft->least = d_min(soft->least, least);
    soft->most = d_max(soft->most, most);
}

/* Computes the mean of a cell of this mass; without mass it is the middle of the range. */
SAP_INLINE void sap_soft_end(struct sap_softs *soft, D mass)
{
    const D middle = d_add(soft->least, d_mul(d_set1(SAP_HALF), d_sub(soft->most, soft->least)));
    const D mean = dm_any(d_gt(sap_abs(mass), d_set1(SAP_ZERO))) ? d_div(soft->mean, mass) : middle;
    soft->mean = d_min(d_max(mean, soft->least), soft->most);
}

/* Returns the largest difference of a particle's square from the mean. */
SAP_INLINE D sap_soft_spread(const struct sap_softs *soft)
{
    return d_max(d_sub(soft->most, soft->mean), d_sub(soft->mean, soft->least));
}

/*
 * Widens a cell for criteria of acceptance by a spread > 0, in the units of the cell: the square of its radius, and its
 * second moment over its mass, grow by the spread.
 */
SAP_INLINE void sap_soft_widen(struct sap_cell *cell, D spread)
{
    const D edge = sap_cell_edge(cell), wider = d_sqrt(d_add(d_mul(edge, edge), d_mul(spread, d_set1(SAP_SOFT_EDGE))));
    const D each = d_mul(d_set1(SAP_HALF), d_sub(wider, edge));
    for (int k = 0; k < 3; k++) {
        cell->low[k] = d_sub(cell->low[k], each);
        cell->high[k] = d_add(cell->high[k], each);
    }
    cell->q[SAP_XX] = d_add(cell->q[SAP_XX], d_mul(cell->mass, spread));
}

#endif
#endif
