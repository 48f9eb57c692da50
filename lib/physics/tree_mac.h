/*
 * tree_mac.h - the multipole acceptance criteria: their rows, and all formulas that depend on which criterion it is.
 *
 * A cell has two numbers, guard and turn, and a group one, its strictness (tree_accept.h).  By criterion:
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
 * A new criterion is a row of SAP_MACS, its formulas in sap_criterion_of and sap_accept_reach, and an enumerator of
 * include/sapporo_tree.h and include/sapporo.f90, which tests and the compiler compare with the rows.
 *
 * Included after the named operations of a scalar D; without them for the rows alone.
 */
#ifndef SAP_PHYSICS_TREE_MAC_H
#define SAP_PHYSICS_TREE_MAC_H

#include "physics/numbers.h"
#include "physics/tree_cell.h"

/* Values of sapporo_tree_ball. */
enum { SAP_BALL_BOX = 1, SAP_BALL_MASS = 2, SAP_BALL_SMALLER = 3, SAP_BALL_RITTER = 4, SAP_BALL_NONE = 5 };

/*
 * One row per criterion: M(name, number, word, accuracy, by_a, by_pull, ball), with S between rows.
 *   number    of sapporo_tree_mac, from 1 on without gaps; engine/tree_options.c has the default
 *   word      of SAPPORO_TREE_MAC
 *   accuracy  the default
 *   by_a      1: needs the sizes of accelerations of targets
 *   by_pull   1: needs the pull of the whole (engine/pull.h)
 *   ball      bound of groups by default (SAP_BALL_*): the one that needs the fewest interactions at the same error. By
 *             ACCELERATION the box needs 8 to 15 % fewer than the smaller ball, by others more in dense centres
 *             (docs/tree.md)
 */
/* clang-format off */
#define SAP_MACS(M, S)                                                                                                 \
    M(OPENING, 1, "opening", 0.7, 0, 0, SMALLER) S                                                                     \
    M(MULTIPOLE, 2, "multipole", 0.1, 0, 1, SMALLER) S                                                                 \
    M(ACCELERATION, 3, "acceleration", 0.01, 1, 0, NONE)
/* clang-format on */

#define SAP_MAC_NUMBER(name, number, word, accuracy, by_a, by_pull, ball) SAP_MAC_##name = number,
enum { SAP_MACS(SAP_MAC_NUMBER, ) };

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

#endif
#endif
