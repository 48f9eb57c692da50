/*
 * radius_bounds.h - bounds of squared radii for counts of neighbours in single precision, written once.
 *
 * A source counts if its squared distance from the target, in double, is less than the larger of both squared radii.
 * Kernels compare distances in single precision with two bounds of each radius: all pairs below the first bound count,
 * none at or above the second one does.  The larger of the bounds of both radii is a bound for the pair.
 */
#ifndef SAP_PHYSICS_RADIUS_BOUNDS_H
#define SAP_PHYSICS_RADIUS_BOUNDS_H

#include "physics/numbers.h"

#ifdef SAP_HAVE_OPERATIONS

/*
 * Computes the bounds of the squared radius h2 of a particle at x.  With the unit roundoff u = 2^-24, a separation d of
 * particles at x and x + d has the error 2 u (|x| + |d|) in single precision, and its square has four roundings.  With
 * two words per coordinate (low) the error of x is 16 u^2 |x| at most.  So bounds that are monotonic in |d| need the
 * radius alone.  Margins are twice as large, |x| is bounded by the sum of its coordinates, and squares below the range
 * of normal numbers may be 0.  A particle without radius has bounds below zero.
 */
SAP_INLINE void sap_radius_bounds(int low, const D *x, D h2, D *bound)
{
    const D zero = d_set1(SAP_ZERO), one = d_set1(SAP_ONE), error = d_set1(SAP_BOUND_ERROR);
    const D radius = d_sqrt(h2), least = d_set1(SAP_BOUND_LEAST);
    D size = zero;
    for (int axis = 0; axis < 3; axis++) size = d_add(size, d_max(x[axis], d_sub(zero, x[axis])));
    if (low) size = d_mul(size, d_set1(SAP_BOUND_OF_LOW));
    const D margin = d_mul(error, d_add(size, radius)), high = d_add(radius, margin);
    const D inner = d_max(d_sub(radius, margin), zero);
    const DM has = d_gt(h2, zero);
    bound[0] = d_select(has, d_sub(d_mul(d_mul(inner, inner), d_sub(one, error)), least), d_set1(SAP_MINUS_ONE));
    bound[1] = d_select(has, d_add(d_mul(d_mul(high, high), d_add(one, error)), least), d_set1(SAP_MINUS_ONE));
}

#endif
#endif
