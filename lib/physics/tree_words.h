/*
 * tree_words.h - lengths of a tree in units of its cube, and their conversion to words of float, written once.
 *
 * Words of a walk are coordinates relative to the middle of the cube, without gaps (tree_gaps.h), cut at SAP_TREE_FAR;
 * guards and radii are padded by more than the rounding error.
 *
 * Included after the named operations of a scalar D.
 */
#ifndef SAP_PHYSICS_TREE_WORDS_H
#define SAP_PHYSICS_TREE_WORDS_H

#include "physics/numbers.h"
#include "physics/tree_gaps.h"

/* Largest coordinate of the walk. */
#define SAP_TREE_FAR SAP_NUMBER(1e18, 0x43ABC16D674EC800UL)

/*
 * Guard, radius or strictness with which a cell is never accepted: beyond all distances of such words; the square of
 * twice this value is finite.
 */
#define SAP_TREE_NEVER SAP_NUMBER(8e18, 0x43DBC16D674EC800UL)

/*
 * Largest coordinate for pair terms in float, which hold m / r^3 in units: 2^-126 is that of a mass of 1e-8 of all at
 * this distance.
 */
#define SAP_TREE_NEAR SAP_NUMBER(1e10, 0x4202A05F20000000UL)

#ifdef SAP_HAVE_OPERATIONS

SAP_INLINE D sap_tree_cut(D x)
{
    return d_max(d_min(x, d_set1(SAP_TREE_FAR)), d_sub(d_set1(SAP_ZERO), d_set1(SAP_TREE_FAR)));
}

/* Converts a position to units from the middle of the cube, without gaps; returns its largest coordinate. */
SAP_INLINE D sap_tree_in_units(const D *place, const struct sap_gaps *gaps, const D *middle, D unit, D *x)
{
    D size = d_set1(SAP_ZERO);
    for (int k = 0; k < 3; k++) {
        const D mapped = gaps->any ? sap_gaps_map(gaps, k, place[k]) : place[k];
        x[k] = d_mul(d_sub(mapped, middle[k]), unit);
        size = d_max(size, d_max(x[k], d_sub(d_set1(SAP_ZERO), x[k])));
    }
    return size;
}

/*
 * Returns a guard or a radius, in units, padded so that it holds for words of float, which have errors of 2^-24 of a
 * coordinate each, and of the smallest float; `size` is the largest coordinate.  If coordinates have been cut, no
 * distance is large enough.
 */
SAP_INLINE D sap_tree_padded(D length, D size)
{
    const D room = d_mul(size, d_set1(SAP_NUMBER(0x1p-20, 0x3EB0000000000000UL)));
    const D reach = d_add(d_mul(d_add(length, room), d_set1(SAP_NUMBER(0x1.00001p0, 0x3FF0000100000000UL))),
                          d_set1(SAP_NUMBER(0x1p-100, 0x39B0000000000000UL)));
    return dm_any(d_gt(d_set1(SAP_TREE_FAR), d_max(size, reach))) ? reach : d_set1(SAP_TREE_NEVER);
}

#endif
#endif
