/*
 * tree_image.h - images of positions in a periodic cube, written once.
 *
 * A tree is built of the images inside the cube.  A refresh takes the image nearest to the present position, so that
 * cells stay small, unless it has left the cube by more than the margin of the far images (tree_periodic.h).
 *
 * Included after the named operations of a scalar D, of which d_rest is exact.
 */
#ifndef SAP_PHYSICS_TREE_IMAGE_H
#define SAP_PHYSICS_TREE_IMAGE_H

#include "physics/tree_periodic.h"

#ifdef SAP_HAVE_OPERATIONS

/* Returns the image of a coordinate inside the cube: at least 0 and below the period. */
SAP_INLINE D sap_image_inside(D x, D period)
{
    const D rest = d_rest(x, period), zero = d_set1(SAP_ZERO);
    const D inside = dm_any(d_gt(zero, rest)) ? d_add(rest, period) : rest;
    return dm_any(d_ge(inside, period)) ? zero : inside;
}

/* Returns the image of a coordinate nearest to another one. */
SAP_INLINE D sap_image_beside(D x, D other, D period) { return d_add(other, d_rest(d_sub(x, other), period)); }

/* Returns whether a coordinate lies in the cube or in its margin. */
SAP_INLINE int sap_image_is_near(D x, D period)
{
    const D margin = d_mul(d_set1(SAP_FAR_MARGIN), period), low = d_sub(d_set1(SAP_ZERO), margin);
    return dm_any(d_ge(x, low)) && dm_any(d_ge(d_add(period, margin), x));
}

/* Returns the image of a coordinate for a refresh; present: the coordinate of the tree. */
SAP_INLINE D sap_image_followed(D x, D present, D period)
{
    const D way = d_sub(x, present), half_period = d_mul(d_set1(SAP_HALF), period);
    const int stays = dm_any(d_ge(half_period, way)) && dm_any(d_ge(half_period, d_sub(present, x)));
    const D beside = stays ? x : sap_image_beside(x, present, period);
    return sap_image_is_near(beside, period) ? beside : sap_image_inside(x, period);
}

#endif
#endif
