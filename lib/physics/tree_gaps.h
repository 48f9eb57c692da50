/*
 * tree_gaps.h - the map that shortens empty space between far groups of particles, written once.
 *
 * A cube has 2^21 cells along an axis and words of walks have 24 bits, so neither tells apart the particles of groups
 * whose distance is many times their size.  For such particles each axis has gaps.  The map shortens
 * these, and nothing else: it is monotone, and no pair of points is farther apart than before; it may shift an axis. So
 * a distance of mapped points is at most the true one, and a cell that is accepted by mapped distances is accepted by
 * true ones.  Keys and words of walks use mapped positions; lengths, moments and pair terms do not.
 *
 * Functions are defined after the named operations of a scalar D, which is double.
 */
#ifndef SAP_PHYSICS_TREE_GAPS_H
#define SAP_PHYSICS_TREE_GAPS_H

enum { SAP_GAPS = 8 /* of an axis at most */ };

/* The gaps of each axis, in ascending order: where they begin and end, and by how much they are shortened. */
struct sap_gaps {
    double at[3][SAP_GAPS], end[3][SAP_GAPS], less[3][SAP_GAPS];
    double origin[3]; /* which is mapped to 0, below all gaps; 0 of an axis without gaps */
    int n[3], any;    /* any: some axis has gaps */
};

#endif

#if defined(SAP_HAVE_OPERATIONS) && !defined(SAP_PHYSICS_TREE_GAPS_MAP)
#define SAP_PHYSICS_TREE_GAPS_MAP 1

/*
 * Returns the mapped coordinate.  `less` and `origin` are multiples of the rounding unit of all coordinates, and mapped
 * coordinates are small, so the differences of particles of a group keep their digits.
 */
SAP_INLINE D sap_gaps_map(const struct sap_gaps *g, int axis, D x)
{
    D less = d_set1(0.0);
    for (int k = 0; k < g->n[axis]; k++) {
        const D at = d_set1(g->at[axis][k]), end = d_set1(g->end[axis][k]), all = d_set1(g->less[axis][k]);
        if (!dm_any(d_gt(x, at))) break;
        less = d_add(less, dm_any(d_gt(end, x)) ? d_mul(d_sub(x, at), d_div(all, d_sub(end, at))) : all);
    }
    return d_sub(x, d_add(less, d_set1(g->origin[axis])));
}

/* Returns the most by which two coordinates differ beyond their mapped ones. */
SAP_INLINE D sap_gaps_less(const struct sap_gaps *g, int axis)
{
    D less = d_set1(0.0);
    for (int k = 0; k < g->n[axis]; k++) less = d_add(less, d_set1(g->less[axis][k]));
    return less;
}

#endif
