/*
 * tree_accept.h - the multipole acceptance criteria: when a cell is accepted for a group of particles, written once.
 *
 * A group has a bound: all its particles are within a radius of a box.  A bound is a box, with radius 0, or a ball,
 * whose box is a point.  Let d be the distance of the cell's centre from the box, less the radius; no particle of the
 * group is nearer to the cell's centre.  A cell is accepted if
 *     d > guard   and   d > turn * strictness of the group,
 * with two numbers per cell and one per group, for every criterion:
 *
 * opening        d > l / theta + s, where l is the longest edge of the cell's box and s the distance of its centre of
 *                mass from the middle of the box.  (Barnes & Hut 1986, Nature 324, 446, with the offset of Barnes 1994,
 *                in: Computational Astrophysics.)  Beyond theta = 8/7 a cell might be accepted by its own particles, so
 *                larger values count as 8/7.
 *
 * multipole      d beyond the radius where the bound on the error of the cell's pull is the tolerance t (Warren &
 *                Salmon 1993, Supercomputing '93, 12; Salmon & Warren 1994, J. Comp. Phys. 111, 136).  With b the
 *                largest distance of the box from the centre and B_n = sum |m| |x - centre|^n:
 *                  monopoles    3 B_2 / (d^2 (d - b)^2) = t:   d = b/2 + sqrt(b^2/4 + sqrt(3 B_2 / t))
 *                  quadrupoles  4 B_3 / (d^3 (d - b)^2) = t,   with B_3 <= b B_2
 *                In both, B_2 counts as at least SAP_MULTIPOLE_LEAST b^2 sum |m|.  Cells act by the polynomial of a
 *                group, too, whose error depends on the box of the cell, even if all mass is in the centre
 *                (tree_local.h).
 *                t = accuracy * M / s^2, with M the mass of all particles (without signs) and s their root mean
 *                square distance from their centre, of a sample of particles and without far ones (engine/pull.h).
 *
 * acceleration   M l^2 / d^4 < accuracy * a (Springel 2005, MNRAS 364, 1105, eq. 18) with a the smallest acceleration
 *                of the group's particles at an earlier time, and d > l + s, which keeps the cell's own particles out.
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

/* Values of sapporo_tree_mac and sapporo_tree_ball. */
enum { SAP_MAC_OPENING = 1, SAP_MAC_MULTIPOLE = 2, SAP_MAC_ACCELERATION = 3 };
enum { SAP_BALL_BOX = 1, SAP_BALL_MASS = 2, SAP_BALL_SMALLER = 3, SAP_BALL_RITTER = 4, SAP_BALL_NONE = 5 };

/* Guard of a cell that is never accepted; engines whose words have a smaller range cut it. */
#define SAP_GUARD_NEVER SAP_NUMBER(0x1p400, 0x58F0000000000000UL)

/* If sum |m| exceeds |sum m| by more than this factor, masses have both signs: rounding cannot cause the difference. */
#define SAP_MIXED SAP_NUMBER(0x1.00001p0, 0x3FF0000100000000UL)

/*
 * Groups with boxes take this part of the accuracy of ACCELERATION.  A box is nearer to its particles than a ball, so
 * they would come closer to what the criterion allows; errors stay those of groups with balls (docs/tree.md).
 */
#define SAP_BOX_PART SAP_NUMBER(0.75, 0x3FE8000000000000UL)

/*
 * MULTIPOLE takes B_2 of a cell for at least this part of b^2 sum |m|, which few cells of similar masses are below.  A
 * cell with one heavy particle, and with light or massless ones far from it, may have none.
 */
#define SAP_MULTIPOLE_LEAST SAP_NUMBER(0x1p-4, 0x3FB0000000000000UL)

/* Pairs nearer than this part of the size of a group's bound are not left to float (sap_bound_close). */
#define SAP_CLOSE_PART SAP_NUMBER(0x1p-7, 0x3F80000000000000UL)

/*
 * The errors of a target particle's pairs with a clump of sources have one direction, since all contain the rounding of
 * its own position.  So groups near a clump of more than SAP_CLUMP sources, smaller than 3 `close`, take double.  One
 * in SAP_CLUMP_STEP sources is compared.
 */
enum { SAP_CLUMP = 16, SAP_CLUMP_STEP = 4 };

/* No point of a box is farther from its middle than this, in units of the longest edge. */
#define SAP_OWN_CELL SAP_NUMBER(0.875, 0x3FEC000000000000UL)

#ifdef SAP_HAVE_OPERATIONS

/* The bounds of a cell by the criterion. */
struct sap_reach {
    D guard, turn;
};

/* The settings of a criterion.  value: of OPENING 1 / theta, of MULTIPOLE t; order 1: monopoles, 2: quadrupoles. */
struct sap_criterion {
    int mac, order;
    D value;
};

/* Returns the longest edge of a box. */
SAP_INLINE D sap_cell_edge(const struct sap_cell *c)
{
    return d_max(d_max(d_sub(c->high[0], c->low[0]), d_sub(c->high[1], c->low[1])), d_sub(c->high[2], c->low[2]));
}

/* Returns the distance of the centre from the middle of the box. */
SAP_INLINE D sap_cell_offset(const struct sap_cell *c)
{
    D s2 = d_set1(SAP_ZERO);
    for (int k = 0; k < 3; k++) {
        const D halved = d_mul(d_set1(SAP_HALF), d_sub(c->high[k], c->low[k]));
        const D d = d_sub(d_sub(c->centre[k], c->low[k]), halved);
        s2 = d_add(s2, d_mul(d, d));
    }
    return d_sqrt(s2);
}

/* Returns the largest distance of the box from the centre. */
SAP_INLINE D sap_cell_far(const struct sap_cell *c)
{
    D b2 = d_set1(SAP_ZERO);
    for (int k = 0; k < 3; k++) {
        const D d = d_max(d_sub(c->centre[k], c->low[k]), d_sub(c->high[k], c->centre[k]));
        b2 = d_add(b2, d_mul(d, d));
    }
    return d_sqrt(b2);
}

/*
 * Solves d^3 (d - b)^2 = c for d by Newton's method, from a first d > b.  The function is convex, so all steps but the
 * first come from above.
 */
SAP_INLINE D sap_accept_root(D d, D b, D c)
{
    for (int k = 0; k < 8; k++) {
        const D e = d_sub(d, b), d2 = d_mul(d, d), de = d_mul(d2, e);
        const D value = d_sub(d_mul(de, d_mul(d, e)), c);
        const D slope = d_mul(de, d_add(d_mul(d_set1(SAP_THREE), e), d_add(d, d)));
        d = d_sub(d, d_div(value, slope));
    }
    return d;
}

SAP_INLINE D sap_accept_multipole(const struct sap_cell *c, int order, D tolerance)
{
    const D b = sap_cell_far(c), halved = d_mul(d_set1(SAP_HALF), b);
    const D moment = sap_abs(d_add(d_add(c->q[SAP_XX], c->q[SAP_YY]), c->q[SAP_ZZ]));
    const D least = d_mul(d_set1(SAP_MULTIPOLE_LEAST), d_mul(c->weight, d_mul(b, b)));
    const D ratio = d_div(d_max(moment, least), tolerance);
    const D root = d_sqrt(d_mul(d_set1(SAP_THREE), ratio));
    const D d = d_add(halved, d_sqrt(d_add(d_mul(halved, halved), root)));
    if (order < 2 || !dm_any(d_gt(d, b))) return d;
    const D four = d_add(ratio, ratio);
    return sap_accept_root(d, b, d_mul(b, d_add(four, four)));
}

/* pull: the unit of MULTIPOLE's tolerance (engine/pull.h), > 0. */
SAP_INLINE struct sap_criterion sap_criterion_of(int mac, int order, D accuracy, D pull)
{
    struct sap_criterion how;
    how.mac = mac;
    how.order = order;
    how.value = d_set1(SAP_ZERO);
    if (mac == SAP_MAC_OPENING) how.value = d_div(d_set1(SAP_ONE), accuracy);
    if (mac == SAP_MAC_MULTIPOLE) how.value = d_mul(accuracy, pull);
    return how;
}

/* Returns from which distance on a cell is accepted; its moments must be known. */
SAP_INLINE struct sap_reach sap_accept_reach(const struct sap_cell *c, const struct sap_criterion *how)
{
    struct sap_reach reach;
    const D edge = sap_cell_edge(c), offset = sap_cell_offset(c);
    reach.turn = d_set1(SAP_ZERO);
    if (how->mac == SAP_MAC_OPENING) {
        reach.guard = d_add(d_mul(edge, d_max(how->value, d_set1(SAP_OWN_CELL))), offset);
    } else if (how->mac == SAP_MAC_MULTIPOLE) {
        reach.guard = sap_accept_multipole(c, how->order, how->value);
    } else {
        reach.guard = d_add(edge, offset);
        reach.turn = d_sqrt(d_mul(edge, d_sqrt(c->weight)));
    }
    if (dm_any(d_gt(c->weight, d_mul(sap_abs(c->mass), d_set1(SAP_MIXED))))) reach.guard = d_set1(SAP_GUARD_NEVER);
    return reach;
}

/* Returns the guard of a cell with spline softening; far: sap_cell_far; length: the greatest of its particles. */
SAP_INLINE D sap_accept_length(D guard, D far, D length) { return d_max(guard, d_add(far, length)); }

/*
 * Returns the factor by which words of turns are multiplied, and words of strictness divided: one over the root's turn,
 * or that of a root of the size 1 / unit.  Far particles would make the former so small that strictness leaves the
 * range of words.
 */
SAP_INLINE D sap_turn_unit(const struct sap_cell *root, const struct sap_criterion *how, D unit)
{
    const D size = d_div(d_set1(SAP_ONE), unit), edge = sap_cell_edge(root);
    D turn = sap_accept_reach(root, how).turn;
    if (how->mac == SAP_MAC_ACCELERATION && dm_any(d_gt(edge, size))) turn = d_sqrt(d_mul(size, d_sqrt(root->weight)));
    return dm_any(d_gt(turn, d_set1(SAP_ZERO))) ? d_div(d_set1(SAP_ONE), turn) : d_set1(SAP_ONE);
}

/*
 * Returns the strictness of a group for ACCELERATION, from accuracy times its smallest acceleration; it is 0 for other
 * criteria.
 */
SAP_INLINE D sap_accept_strictness(D accuracy_times_a)
{
    if (!dm_any(d_gt(accuracy_times_a, d_set1(SAP_ZERO)))) return d_set1(SAP_GUARD_NEVER);
    return d_div(d_set1(SAP_ONE), d_sqrt(d_sqrt(accuracy_times_a)));
}

/* Returns the accuracy of ACCELERATION for groups with bounds of this kind (SAP_BALL_*). */
SAP_INLINE D sap_group_accuracy(int ball, D accuracy)
{
    return ball == SAP_BALL_NONE ? d_mul(d_set1(SAP_BOX_PART), accuracy) : accuracy;
}

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

/*
 * Returns whether cells are accepted.  distance2: of their centres from the bound's box; radius: the bound's; close:
 * sap_bound_close.
 */
SAP_INLINE VM sap_accept(V distance2, V guard, V turn, V radius, V strictness, V close)
{
    const V reach = v_add(radius, v_max(v_max(guard, close), v_mul(turn, strictness)));
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
