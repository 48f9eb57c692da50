/*
 * tree_search.h - kernels that walk a tree by `next` links: they compute the links, and search for the particles within
 * a radius of a position.
 */
#include "device/tree_units.h"

/*
 * Computes the links of the children of the nodes from .. to - 1 of a level.  next[k] is the node after the last
 * descendant of k, -1: none.
 */
KERNEL(SAP_TREE_THREADS)
tree_next(const GLOBAL struct sap_tree_link *node, GLOBAL int *next, const int from, const int to)
{
    const int k = from + (int)global_id();
    if (k >= to) return;
    const struct sap_tree_link here = node[k];
    if (k == 0) next[0] = -1;
    const int behind = k == 0 ? -1 : next[k];
    for (int j = 0; j < here.children; j++) next[here.child + j] = j + 1 < here.children ? here.child + j + 1 : behind;
}

/* Returns the squared distance of a position from a box, reduced by more than its rounding error. */
SAP_INLINE D box_distance2(const GLOBAL struct sap_cell *cell, const D *x)
{
    D r2 = d_set1(SAP_ZERO);
    for (int c = 0; c < 3; c++) {
        const D d = d_max(d_max(d_sub(cell->low[c], x[c]), d_sub(x[c], cell->high[c])), d_set1(SAP_ZERO));
        r2 = d_add(r2, d_mul(d, d));
    }
    return d_mul(r2, d_sub(d_set1(SAP_ONE), d_set1(SAP_NUMBER(0x1p-48, 0x3CF0000000000000UL))));
}

/*
 * Finds the particles within a radius of n positions.  query: x, y, z and the radius of each.  count[i]: number of
 * particles within it; with fills, writes their addresses to list[first[i] ...] instead, in any order.
 */
KERNEL(SAP_TREE_THREADS)
tree_search(const GLOBAL wide *query, const GLOBAL wide *particle, const GLOBAL int *address,
            const GLOBAL struct sap_tree_link *node, const GLOBAL int *next, const GLOBAL struct sap_cell *cell,
            GLOBAL int *count, const GLOBAL U64 *first, GLOBAL int *list, const int fills, const int n)
{
    const int i = (int)global_id();
    if (i >= n) return;
    D x[3], at[3], h, mass;
    int found = 0;
    load_particle(query, i, x, &h);
    const D h2 = d_mul(h, h);
    for (int k = 0; k >= 0;) {
        const struct sap_tree_link here = node[k];
        const int near = dm_any(d_gt(h2, box_distance2(&cell[k], x)));
        for (int j = here.first; near && here.children == 0 && j < here.first + here.count; j++) {
            load_particle(particle, j, at, &mass);
            if (!dm_any(d_gt(h2, sap_ball_far(x, at)))) continue;
            if (fills) list[first[i] + (U64)found] = address[j];
            found++;
        }
        k = near && here.children > 0 ? here.child : next[k];
    }
    if (!fills) count[i] = found;
}
