/*
 * nearest.h - the k nearest of many particles: a heap with the farthest of them on top, written once.
 *
 * Particles are ordered by their squared distances in double, those at the same distance by address, so the result does
 * not depend on the order in which they are offered.  Until k particles were offered the heap has entries with address
 * -1 behind all particles.
 *
 * A search first offers the particles of a cell near the position that has enough of them, which fills the heap.  Then
 * it walks the tree without that cell, and passes over each cell whose box is farther than the top of the heap.  The
 * cell is found from the root on: the child with enough particles whose box is nearest, and so on.
 *
 * Included after the named operations of a scalar D.
 */
#ifndef SAP_PHYSICS_NEAREST_H
#define SAP_PHYSICS_NEAREST_H

#include "physics/numbers.h"
#include "physics/tree_accept.h"
#include "physics/tree_cell.h"

#ifdef SAP_HAVE_OPERATIONS

#ifndef GLOBAL
#define GLOBAL
#endif

/* The heap of a position.  Entry j is at index j * stride of the arrays. */
struct sap_nearest {
    GLOBAL D *distance2;
    GLOBAL int *address;
    size_t stride;
    int k;
    D worst; /* the top: its squared distance, and its address */
    int last;
};

/* Returns how far x is from an interval. */
SAP_INLINE D sap_from_interval(D x, D low, D high)
{
    return d_max(d_max(d_sub(low, x), d_sub(x, high)), d_set1(SAP_ZERO));
}

/*
 * The same in a periodic cube, of the image of x that is nearest, less than roundings; x is in the cube, the interval
 * there or in its margin (tree_image.h).
 */
SAP_INLINE D sap_from_images(D x, D low, D high, D period)
{
    const D least =
        d_min(sap_from_interval(d_sub(x, period), low, high), sap_from_interval(d_add(x, period), low, high));
    const D near = d_min(least, sap_from_interval(x, low, high));
    return d_max(d_sub(near, d_mul(period, d_set1(SAP_NUMBER(0x1p-50, 0x3CD0000000000000UL)))), d_set1(SAP_ZERO));
}

/* Returns a lower bound of the squared distance of a position from a box, despite rounding; period 0: space is open. */
SAP_INLINE D sap_box_near2(const GLOBAL struct sap_cell *cell, const D *x, D period)
{
    const int is_open = !dm_any(d_gt(period, d_set1(SAP_ZERO)));
    D r2 = d_set1(SAP_ZERO);
    for (int c = 0; c < 3; c++) {
        const D d = is_open ? sap_from_interval(x[c], cell->low[c], cell->high[c])
                            : sap_from_images(x[c], cell->low[c], cell->high[c], period);
        r2 = d_add(r2, d_mul(d, d));
    }
    return d_mul(r2, d_sub(d_set1(SAP_ONE), d_set1(SAP_NUMBER(0x1p-48, 0x3CF0000000000000UL))));
}

/* Returns the squared distance of two positions, in a periodic cube of their nearest images; period 0: it is open. */
SAP_INLINE D sap_apart2(const D *x, const D *at, D period)
{
    D r2 = d_set1(SAP_ZERO);
    if (!dm_any(d_gt(period, d_set1(SAP_ZERO)))) return sap_ball_far(x, at);
    for (int c = 0; c < 3; c++) {
        const D way = sap_abs(d_sub(at[c], x[c])), d = d_min(way, sap_abs(d_sub(period, way)));
        r2 = d_add(r2, d_mul(d, d));
    }
    return r2;
}

/* Returns 1 if a particle comes before another one. */
SAP_INLINE int sap_nearest_before(D distance2, int address, D other2, int other)
{
    return dm_any(d_gt(other2, distance2)) || (!dm_any(d_gt(distance2, other2)) && address < other);
}

/* Puts a particle in place of the top of the first `size` entries. */
SAP_INLINE void sap_nearest_sift(const struct sap_nearest *n, int size, D distance2, int address)
{
    int hole = 0;
    for (int child = 1; child < size; child = 2 * hole + 1) {
        size_t at = (size_t)child * n->stride;
        if (child + 1 < size && sap_nearest_before(n->distance2[at], n->address[at], n->distance2[at + n->stride],
                                                   n->address[at + n->stride])) {
            child++;
            at += n->stride;
        }
        if (sap_nearest_before(n->distance2[at], n->address[at], distance2, address)) break;
        n->distance2[(size_t)hole * n->stride] = n->distance2[at];
        n->address[(size_t)hole * n->stride] = n->address[at];
        hole = child;
    }
    n->distance2[(size_t)hole * n->stride] = distance2;
    n->address[(size_t)hole * n->stride] = address;
}

/* Begins with a heap of no particle. */
SAP_INLINE void sap_nearest_begin(struct sap_nearest *n)
{
    n->worst = d_set1(SAP_LARGEST);
    n->last = -1;
    for (int j = 0; j < n->k; j++) {
        n->distance2[(size_t)j * n->stride] = n->worst;
        n->address[(size_t)j * n->stride] = n->last;
    }
}

/* Whether a cell at this squared distance (sap_box_near2) may have one of the nearest particles. */
SAP_INLINE int sap_nearest_within(const struct sap_nearest *n, D near2) { return !dm_any(d_gt(near2, n->worst)); }

/* Offers a particle that was not offered before. */
SAP_INLINE void sap_nearest_offer(struct sap_nearest *n, D distance2, int address)
{
    if (!sap_nearest_before(distance2, address, n->worst, n->last)) return;
    sap_nearest_sift(n, n->k, distance2, address);
    n->worst = n->distance2[0];
    n->last = n->address[0];
}

/* Returns the squared distance of an entry for callers: without a particle it is infinite. */
SAP_INLINE D sap_nearest_told(D distance2, int address)
{
    return address < 0 ? d_div(d_set1(SAP_ONE), d_set1(SAP_ZERO)) : distance2;
}

/* Ends with the entries in order, the nearest first. */
SAP_INLINE void sap_nearest_sort(const struct sap_nearest *n)
{
    for (int size = n->k - 1; size > 0; size--) {
        const size_t end = (size_t)size * n->stride;
        const D distance2 = n->distance2[end];
        const int address = n->address[end];
        n->distance2[end] = n->distance2[0];
        n->address[end] = n->address[0];
        sap_nearest_sift(n, size, distance2, address);
    }
}

#endif
#endif
