/*
 * tree_parts.h - how groups of sorted particles in sparse regions are divided, written once.
 *
 * All particles of a group share a walk, so a group that extends over a large region meets cells that are near to some
 * of its particles only (Miki & Umemura 2017, New Astronomy 52, 65, section 2.4).  A group whose box has a diagonal
 * longer than a limit is halved, in the order of its particles, and so are its halves, unless they would have fewer
 * than SAP_GROUP_LEAST particles.
 *
 * Included after the named operations of a scalar D.
 */
#ifndef SAP_PHYSICS_TREE_PARTS_H
#define SAP_PHYSICS_TREE_PARTS_H

enum { SAP_GROUP_LEAST = 8 /* particles of each half at least */ };

#ifdef SAP_HAVE_OPERATIONS

/* A part of a group of particles first ... last - 1: its particles are at ... end - 1. */
struct sap_parts {
    int first, last, at, end;
};

SAP_INLINE void sap_parts_start(struct sap_parts *p, int first, int last)
{
    p->first = p->at = first;
    p->last = p->end = last;
}

/* Returns whether there is a present part. */
SAP_INLINE int sap_parts_left(const struct sap_parts *p) { return p->at < p->last; }

/* Returns whether the present part has enough particles for two. */
SAP_INLINE int sap_parts_halves(const struct sap_parts *p) { return p->end - p->at >= 2 * SAP_GROUP_LEAST; }

/* Halves the present part, and goes to its first half. */
SAP_INLINE void sap_parts_halve(struct sap_parts *p) { p->end = p->at + (p->end - p->at) / 2; }

/* Goes to the part behind the present one: the largest half that begins there. */
SAP_INLINE void sap_parts_next(struct sap_parts *p)
{
    int begin = p->first, end = p->last;
    p->at = p->end;
    while (begin < p->at && p->at < p->last) {
        const int middle = begin + (end - begin) / 2;
        if (p->at < middle)
            end = middle;
        else
            begin = middle;
    }
    p->end = end;
}

/* Returns the squared diagonal of a box. */
SAP_INLINE D sap_box_diagonal2(const D *low, const D *high)
{
    const D x = d_sub(high[0], low[0]), y = d_sub(high[1], low[1]), z = d_sub(high[2], low[2]);
    return d_add(d_add(d_mul(x, x), d_mul(y, y)), d_mul(z, z));
}

#endif
#endif
