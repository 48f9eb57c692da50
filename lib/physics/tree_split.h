/*
 * tree_split.h - where a node of a kd-tree is split, written once.
 *
 * Kofler et al. 2014, "Kd-tree based N-body simulations with volume-mass heuristic on the GPU", sections III and IV.
 * A node has the tight box of its particles, and is split across the longest side of the box (of equal sides the first
 * axis).
 *
 * A large node, of at least SAP_SPLIT_LARGE particles, is split at the middle of that side.
 *
 * A small node is split at the plane through one of its particles for which
 *     V_low M_low + V_high M_high
 * is smallest (section IV).  V and M are the volume of the tight box and the sum of |m| of the particles on each side;
 * a particle on the plane is on the high side.  Of equal values the plane that divides the number of particles more
 * evenly wins, then the lower plane.  The program of the authors counts particles in place of masses, and takes the
 * length along the split in place of the volume; the text, and this file, do not.
 *
 * A node with at most leaf_size particles, or with a box without extent, is a leaf.  The number of levels is bounded: a
 * node of level l with n particles for which l + ceil(log2 n) reaches SAP_SPLIT_DEPTH is divided into two halves of
 * particles, sorted along the longest side.
 *
 * Children are stored in the order in which a curve through the tree meets them.  Every node has a point of entry and
 * one of exit; the high child comes first if the entry lies above the exit along the split axis.  So runs of particles
 * that follow each other are compact, as along Hilbert's curve.
 *
 * Included after the named operations of a scalar D.
 */
#ifndef SAP_PHYSICS_TREE_SPLIT_H
#define SAP_PHYSICS_TREE_SPLIT_H

#include "physics/numbers.h"

enum {
    SAP_SPLIT_LARGE = 256, /* particles of a large node at least */
    SAP_SPLIT_DEPTH = 63   /* level of the deepest node: 21 levels of cells with up to eight children */
};

#ifdef SAP_HAVE_OPERATIONS

SAP_INLINE void sap_split_empty(D *low, D *high)
{
    for (int k = 0; k < 3; k++) {
        low[k] = d_set1(SAP_LARGEST);
        high[k] = d_sub(d_set1(SAP_ZERO), d_set1(SAP_LARGEST));
    }
}

SAP_INLINE void sap_split_widen(D *low, D *high, const D *x)
{
    for (int k = 0; k < 3; k++) {
        low[k] = d_min(low[k], x[k]);
        high[k] = d_max(high[k], x[k]);
    }
}

/* Returns the axis of the longest side of a box, and the length of that side. */
SAP_INLINE int sap_split_axis(const D *low, const D *high, D *side)
{
    int axis = 0;
    *side = d_sub(high[0], low[0]);
    for (int k = 1; k < 3; k++) {
        const D length = d_sub(high[k], low[k]);
        if (!dm_any(d_gt(length, *side))) continue;
        *side = length;
        axis = k;
    }
    return axis;
}

SAP_INLINE D sap_split_middle(D low, D high) { return d_add(low, d_mul(d_set1(SAP_HALF), d_sub(high, low))); }

/* Returns the plane that splits a large node; some particles lie on either side of it. */
SAP_INLINE D sap_split_plane(D low, D high)
{
    const D plane = sap_split_middle(low, high);
    return dm_any(d_gt(plane, low)) ? plane : high;
}

/* Returns the factor that makes all sides of a node at most 1, so that volumes have no overflow. */
SAP_INLINE D sap_split_scale(D side)
{
    return d_div(d_set1(SAP_ONE), d_max(side, d_set1(SAP_NUMBER(0x1p-1000, 0x0170000000000000UL))));
}

/* Returns volume times mass of one side of a plane. */
SAP_INLINE D sap_split_term(const D *low, const D *high, D scale, D mass)
{
    const D a = d_mul(d_sub(high[0], low[0]), scale), b = d_mul(d_sub(high[1], low[1]), scale);
    return d_mul(d_mul(d_mul(a, b), d_mul(d_sub(high[2], low[2]), scale)), mass);
}

/* Returns the cost of a plane from the terms of its sides. */
SAP_INLINE D sap_split_cost(D below, D above) { return d_min(d_add(below, above), d_set1(SAP_LARGEST)); }

/*
 * Returns whether the plane below sorted particle k is better than the plane below particle best < k, of a node with n
 * particles; best 0: there is no plane yet.
 */
SAP_INLINE int sap_split_is_better(D cost, int k, D least, int best, int n)
{
    const int off = 2 * k > n ? 2 * k - n : n - 2 * k, least_off = 2 * best > n ? 2 * best - n : n - 2 * best;
    return best == 0 || dm_any(d_gt(least, cost)) || (dm_any(d_eq(least, cost)) && off < least_off);
}

/*
 * Returns a coordinate of the point where the curve passes between the children of a node: the middle of the box, or,
 * along the split axis, the middle of the side above or below the plane.
 */
SAP_INLINE D sap_split_gate(D low, D high, D plane, int is_axis, int is_above)
{
    return sap_split_middle(is_axis && is_above ? plane : low, is_axis && !is_above ? plane : high);
}

/* Returns whether a node of a level with n particles must be halved, lest its subtree be too deep. */
SAP_INLINE int sap_split_is_deep(int level, int n)
{
    int levels = 0; /* ceil(log2 n) */
    while ((n - 1) >> levels) levels++;
    return level + levels >= SAP_SPLIT_DEPTH;
}

#endif
#endif
