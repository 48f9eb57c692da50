/* periodic.h - positions and accelerations in a periodic cube, for both engines; a period of 0 is that of open trees.
 */
#ifndef SAP_PERIODIC_H
#define SAP_PERIODIC_H

#include <math.h>

#include "engine/tree_limits.h"
#include "physics/scalars.h"

/* Replaces a position by its image inside the cube; beyond SAP_TREE_LIMIT it counts as infinite. */
static inline void sap_periodic_inside(double period, double *x)
{
    for (int c = 0; c < 3 && period > 0; c++)
        x[c] = fabs(x[c]) <= SAP_TREE_LIMIT ? sap_image_inside(x[c], period) : NAN;
}

/* Returns a coordinate of an earlier call: the image that is nearest to x. */
static inline double sap_periodic_beside(double period, double past, double x)
{
    return period > 0 ? sap_image_beside(past, x, period) : past;
}

/*
 * Returns the acceleration that ACCELERATION takes for a smaller one: that of the mean density over the mean distance
 * of n particles, whose masses without signs have this sum.  Particles of a lattice have none.
 */
static inline double sap_periodic_least(double period, double sum, int n)
{
    return period > 0 && n > 0 ? sum / period / period / cbrt(n) : 0;
}

#endif
