/*
 * tree_accept.h - when a cell is accepted for a group of particles, for every criterion, written once.
 *
 * A group has a bound: all its particles are within a radius of a box.  A bound is a box, with radius 0, or a ball,
 * whose box is a point.  Let d be the distance of the cell's centre from the box, less the radius; no particle of the
 * group is nearer to the cell's centre.  A cell is accepted if
 *     d > guard   and   d > turn * strictness of the group,
 * with two numbers per cell and one per group, which tree_mac.h computes.
 *
 * With spline softening (spline.h) a cell is accepted only if no pair of it and the group is within a length: d > b + h
 * too, with b the largest distance of the box from the centre, and h the greatest length of the cell's and of the
 * group's particles.
 *
 * sap_bound_* and sap_ball_* compute bounds of groups, which are fixed runs of group_size sorted particles.  The usual
 * bound is the box of the particles.  The centre of a ball is the middle of the box, the centre of mass, the one of
 * these with the smaller ball, or that of Ritter's 1990 ball.  Miki & Umemura 2017, New Astronomy 52, 65, appendix B,
 * compare the balls.
 *
 * Included after the named operations of a scalar D and, for sap_accept, of a working type V.
 */
#ifndef SAP_PHYSICS_TREE_ACCEPT_H
#define SAP_PHYSICS_TREE_ACCEPT_H

#include "physics/numbers.h"
#include "physics/tree_cell.h"
#include "physics/tree_mac.h"

/* Pairs nearer than this part of the size of a group's bound are not left to float (sap_bound_close). */
#define SAP_CLOSE_PART SAP_NUMBER(0x1p-7, 0x3F80000000000000UL)

/*
 * The errors of a target particle's pairs with a clump of sources have one direction, since all contain the rounding of
 * its own position.  So groups near a clump of more than SAP_CLUMP sources, smaller than 3 `close`, take double; on
 * accelerators differences of positions do where a list has the clump.  One in SAP_CLUMP_STEP sources is compared.
 */
enum { SAP_CLUMP = 16, SAP_CLUMP_STEP = 4 };

#ifdef SAP_HAVE_OPERATIONS

/* Returns the guard of a cell with spline softening; far: sap_cell_far; length: the greatest of its particles. */
SAP_INLINE D sap_accept_length(D guard, D far, D length) { return d_max(guard, d_add(far, length)); }

/* ---- bounds of groups ---- */

/* All particles of a group are within `radius` of the box from centre - extent to centre + extent. */
struct sap_bound {
    D centre[3], extent[3], radius;
};

/* Makes a bound the box from low to high, despite rounding. */
SAP_INLINE void sap_bound_box(struct sap_bound *b, const D *low, const D *high)
{
    b->radius = d_set1(SAP_ZERO);
    for (int k = 0; k < 3; k++) {
        b->centre[k] = d_add(low[k], d_mul(d_set1(SAP_HALF), d_sub(high[k], low[k])));
        b->extent[k] = d_max(d_sub(high[k], b->centre[k]), d_sub(b->centre[k], low[k]));
    }
}

/* Returns the radius of the ball about the centre that holds a bound. */
SAP_INLINE D sap_bound_size(const struct sap_bound *b)
{
    D r2 = d_set1(SAP_ZERO);
    for (int k = 0; k < 3; k++) r2 = d_add(r2, d_mul(b->extent[k], b->extent[k]));
    return d_add(b->radius, d_sqrt(r2));
}

/* A ball has a centre first, then sap_ball_far of each particle; the largest is the radius squared. */

SAP_INLINE D sap_ball_far(const D *centre, const D *x)
{
    D r2 = d_set1(SAP_ZERO);
    for (int k = 0; k < 3; k++) r2 = d_add(r2, d_mul(d_sub(x[k], centre[k]), d_sub(x[k], centre[k])));
    return r2;
}

/*
 * Widens Ritter's ball until x lies on its surface, if x lies outside.  The ball begins with its centre midway between
 * two particles far from each other, and with half their distance as radius.
 */
SAP_INLINE void sap_ball_widen(D *centre, D *radius, const D *x)
{
    const D r2 = sap_ball_far(centre, x);
    if (!dm_any(d_gt(r2, d_mul(*radius, *radius)))) return;
    const D r = d_sqrt(r2), wide = d_mul(d_set1(SAP_HALF), d_add(r, *radius)), part = d_div(d_sub(wide, *radius), r);
    for (int k = 0; k < 3; k++) centre[k] = d_add(centre[k], d_mul(part, d_sub(x[k], centre[k])));
    *radius = wide;
}

/*
 * Returns the distance below which float does not resolve the pairs of a group, in units.  Coordinates relative to the
 * centre have errors of 2^-24 of the bound's size, so the difference of two has one of 2^-23, and a pair at this
 * distance an acceleration with a relative error of 2^-15.  A pair that is as near takes double for its target
 * particle, whatever the masses and the softening: the error of a softened pair is the same part of its own
 * acceleration.  Cells that are as near are opened.
 */
SAP_INLINE D sap_bound_close(const struct sap_bound *b, D unit)
{
    return d_mul(d_mul(sap_bound_size(b), unit), d_set1(SAP_CLOSE_PART));
}

/*
 * Returns 1 if two sources at this squared distance lie in a clump, if SAP_CLUMP - 1 others are between them on the
 * curve; close: sap_bound_close.
 */
SAP_INLINE int sap_is_clumped(D distance2, D close)
{
    const D size = d_mul(close, d_set1(SAP_THREE));
    return dm_any(d_gt(d_mul(size, size), distance2));
}

/*
 * Returns 1 if the pair terms of a group are in double from the start, which saves the attempt in float: consecutive
 * particles that are not at the same position are nearer than 2^-12 of its radius.  nearest2: the square of their
 * smallest distance (SAP_LARGEST: none).
 */
SAP_INLINE int sap_group_wide(D radius, D nearest2)
{
    return dm_any(d_gt(d_mul(radius, radius), d_mul(nearest2, d_set1(SAP_NUMBER(0x1p24, 0x4170000000000000UL)))));
}

/*
 * Returns 1 if the particles of a group of this radius are so close, in units of the walk, that the squares of their
 * distances may be below the range of float: pair terms need double then, too.
 */
SAP_INLINE int sap_group_small(D radius, D unit)
{
    const D size = d_mul(radius, unit);
    return dm_any(d_gt(size, d_set1(SAP_ZERO))) &&
           dm_any(d_gt(d_set1(SAP_NUMBER(0x1p-50, 0x3CD0000000000000UL)), size));
}

#ifdef SAP_TREE_VECTORS

/* Returns how far x is outside of the interval from -extent to extent. */
SAP_INLINE V sap_outside(V x, V extent)
{
    const V zero = v_set1(0.0);
    return v_max(v_sub(v_max(x, v_sub(zero, x)), extent), zero);
}

/* Returns the squared distance of a point from a box of these extents; x, y, z point to it from the box's middle. */
SAP_INLINE V sap_box_distance2(V x, V y, V z, const V *extent)
{
    const V a = sap_outside(x, extent[0]), b = sap_outside(y, extent[1]), c = sap_outside(z, extent[2]);
    return v_fma(a, a, v_fma(b, b, v_mul(c, c)));
}

/* Returns the distance from which on the criterion accepts cells. */
SAP_INLINE V sap_accept_from(V guard, V turn, V strictness) { return v_max(guard, v_mul(turn, strictness)); }

/*
 * Returns whether cells are accepted.  distance2: of their centres from the bound's box; radius: the bound's; close:
 * sap_bound_close.
 */
SAP_INLINE VM sap_accept(V distance2, V guard, V turn, V radius, V strictness, V close)
{
    const V reach = v_add(radius, v_max(close, sap_accept_from(guard, turn, strictness)));
    return v_lt(v_mul(reach, reach), distance2);
}

/*
 * Returns whether sources are beyond the bound by more than `close`.  distance2: of their centre from the bound's box;
 * far: the largest distance of a source from that.
 */
SAP_INLINE VM sap_is_outer(V distance2, V far, V radius, V close)
{
    const V reach = v_add(v_add(radius, close), far);
    return v_lt(v_mul(reach, reach), distance2);
}

/* The same with spline softening; length: the greatest of the group's particles.  Guards contain those of the cells. */
SAP_INLINE VM sap_accept_spline(V distance2, V guard, V turn, V far, V radius, V strictness, V close, V length)
{
    return sap_accept(distance2, v_max(guard, v_add(far, length)), turn, radius, strictness, close);
}

#endif
#endif
#endif
