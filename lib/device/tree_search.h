/*
 * tree_search.h - kernels that walk a tree by `next` links: they compute the links, and search for the particles within
 * a radius of a position, and for those nearest to it.
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

/* The nodes of a tree as searches read them, and its particles. */
struct searched {
    const GLOBAL wide *particle;
    const GLOBAL int *address;
    const GLOBAL struct sap_tree_link *node;
    const GLOBAL int *next;
    const GLOBAL struct sap_cell *cell;
};

/*
 * Finds the particles within a radius h of x; returns their number.  list: for their addresses, if `fills`.  period: 0,
 * a constant, in open space, so that its code has nothing else.
 */
SAP_INLINE int search_ball(const struct searched *t, const D *x, D h, D period, GLOBAL int *list, int fills)
{
    const D h2 = d_mul(h, h);
    D at[3], mass;
    int found = 0;
    for (int k = 0; k >= 0;) {
        const struct sap_tree_link here = t->node[k];
        const int near = dm_any(d_gt(h2, sap_box_near2(&t->cell[k], x, period)));
        for (int j = here.first; near && here.children == 0 && j < here.first + here.count; j++) {
            load_particle(t->particle, j, at, &mass);
            if (!dm_any(d_gt(h2, sap_apart2(x, at, period)))) continue;
            if (fills) list[found] = t->address[j];
            found++;
        }
        k = near && here.children > 0 ? here.child : t->next[k];
    }
    return found;
}

/*
 * Finds the particles within a radius of n positions.  query: x, y, z, in a periodic cube, and the radius of each.
 * count[i]: number of particles within it; with fills, writes their addresses to list[first[i] ...] instead, in any
 * order.
 */
KERNEL(SAP_TREE_THREADS)
tree_search(const GLOBAL wide *query, const GLOBAL wide *particle, const GLOBAL int *address,
            const GLOBAL struct sap_tree_link *node, const GLOBAL int *next, const GLOBAL struct sap_cell *cell,
            GLOBAL int *count, const GLOBAL U64 *first, GLOBAL int *list, const int fills, const D period, const int n)
{
    const int i = (int)global_id();
    if (i >= n) return;
    const struct searched t = {particle, address, node, next, cell};
    GLOBAL int *const to = fills ? list + first[i] : list;
    D x[3], h;
    load_particle(query, i, x, &h);
    const int found = dm_any(d_gt(period, d_set1(SAP_ZERO))) ? search_ball(&t, x, h, period, to, fills)
                                                             : search_ball(&t, x, h, d_set1(SAP_ZERO), to, fills);
    if (!fills) count[i] = found;
}

/*
 * Finds a cell near a position that has at least `least` particles, or the root if there are fewer (physics/nearest.h).
 */
SAP_INLINE int cell_near(const struct searched *t, const D *x, D period, int least)
{
    int best = 0;
    for (int next = 0; next >= 0;) {
        const struct sap_tree_link here = t->node[next];
        D least2 = d_set1(SAP_LARGEST);
        best = next;
        next = -1;
        for (int j = here.child; j < here.child + here.children; j++) {
            const D near2 = sap_box_near2(&t->cell[j], x, period);
            if (t->node[j].count < least || !dm_any(d_gt(least2, near2))) continue;
            least2 = near2;
            next = j;
        }
    }
    return best;
}

/* Offers the particles of a cell but `own`. */
SAP_INLINE void offer_cell(struct sap_nearest *n, const struct searched *t, const struct sap_tree_link here, const D *x,
                           D period, int own)
{
    D at[3], mass;
    for (int j = here.first; j < here.first + here.count; j++) {
        load_particle(t->particle, j, at, &mass);
        if (j != own) sap_nearest_offer(n, sap_apart2(x, at, period), t->address[j]);
    }
}

/* Fills the heap of a position x, at which the particle `own` is, or -1; most: entries and that.  period: as above. */
SAP_INLINE void fill_heap(struct sap_nearest *n, const struct searched *t, const D *x, D period, int own, int most)
{
    const int begun = cell_near(t, x, period, most);
    sap_nearest_begin(n);
    offer_cell(n, t, t->node[begun], x, period, own);
    for (int k = 0; k >= 0;) {
        const struct sap_tree_link here = t->node[k];
        const int near = k != begun && sap_nearest_within(n, sap_box_near2(&t->cell[k], x, period));
        if (near && here.children == 0) offer_cell(n, t, here, x, period, own);
        k = near && here.children > 0 ? here.child : t->next[k];
    }
    sap_nearest_sort(n);
}

/*
 * Finds the q.k particles nearest to each of q.n target particles, from number q.first on.  walker: target particles,
 * which are those of the tree with q.own; slot: which of them, with q.has_slot; row: their rows of list and, with
 * q.tells, distance2.  heap2, heap: memory for q.n * q.k entries.
 */
KERNEL(SAP_TREE_THREADS)
tree_nearest(const GLOBAL wide *walker, const GLOBAL int *slot, const GLOBAL int *row, const GLOBAL wide *particle,
             const GLOBAL int *address, const GLOBAL struct sap_tree_link *node, const GLOBAL int *next,
             const GLOBAL struct sap_cell *cell, GLOBAL D *heap2, GLOBAL int *heap, GLOBAL int *list,
             GLOBAL D *distance2, const struct sap_gpu_nearest q)
{
    const int i = (int)global_id();
    if (i >= q.n) return;
    const int who = q.has_slot ? slot[q.first + i] : q.first + i, own = q.own ? who : -1;
    const struct searched t = {particle, address, node, next, cell};
    D x[3], mass;
    load_particle(walker, who, x, &mass);
    struct sap_nearest n = {heap2 + i, heap + i, (size_t)q.n, q.k, d_set1(SAP_ZERO), 0};
    if (dm_any(d_gt(q.period, d_set1(SAP_ZERO))))
        fill_heap(&n, &t, x, q.period, own, q.k + q.own);
    else
        fill_heap(&n, &t, x, d_set1(SAP_ZERO), own, q.k + q.own);
    const size_t to = (size_t)row[q.first + i] * (size_t)q.k;
    for (int j = 0; j < q.k; j++) {
        const int found = n.address[(size_t)j * n.stride];
        list[to + (size_t)j] = found;
        if (q.tells) distance2[to + (size_t)j] = sap_nearest_told(n.distance2[(size_t)j * n.stride], found);
    }
}
