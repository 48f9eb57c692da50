/*
 * tree_ahead.h - the position of a particle some calls later, for trees that are built for a later time, written once.
 *
 * Included after the named operations of a scalar D.
 */
#ifndef SAP_PHYSICS_TREE_AHEAD_H
#define SAP_PHYSICS_TREE_AHEAD_H

#include "physics/numbers.h"

#ifdef SAP_HAVE_OPERATIONS

SAP_INLINE D sap_ahead_size2(const D *x)
{
    return d_add(d_add(d_mul(x[0], x[0]), d_mul(x[1], x[1])), d_mul(x[2], x[2]));
}

/*
 * Extrapolates from x, from `past` one call before and, with has_older, `older` two calls before, by `lead` calls: a
 * parabola, or a straight line if the last two steps differ so much that calls are not evenly spaced in time.  Beyond
 * `limit` a particle stays at x.
 */
SAP_INLINE void sap_tree_ahead(const D *x, const D *past, const D *older, int has_older, D lead, D limit, D *to)
{
    const D uneven = d_set1(SAP_NUMBER(0.125, 0x3FC0000000000000UL));
    const D square = d_mul(d_set1(SAP_HALF), d_mul(lead, d_add(lead, d_set1(SAP_ONE))));
    D step[3], bend[3], next[3];
    int good = 1;
    for (int c = 0; c < 3; c++) {
        step[c] = d_sub(x[c], past[c]);
        bend[c] = d_sub(step[c], d_sub(past[c], older[c]));
    }
    const int bends = has_older && dm_any(d_gt(d_mul(uneven, sap_ahead_size2(step)), sap_ahead_size2(bend)));
    for (int c = 0; c < 3; c++) {
        next[c] = d_add(x[c], d_mul(lead, step[c]));
        if (bends) next[c] = d_add(next[c], d_mul(square, bend[c]));
        good = good && dm_any(d_ge(limit, d_max(next[c], d_sub(d_set1(SAP_ZERO), next[c]))));
    }
    for (int c = 0; c < 3; c++) to[c] = good ? next[c] : x[c];
}

#endif
#endif
