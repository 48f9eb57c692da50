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
 * Finds the particles within a radius of position i of a launch.  period: 0, a constant, in open space, so that its
 * code has nothing else.
 */
SAP_INLINE void search_ball(const GLOBAL wide *query, const struct searched *t, GLOBAL int *count,
                            const GLOBAL U64 *first, GLOBAL int *list, int fills, D period, int i)
{
    D x[3], at[3], h, mass;
    int found = 0;
    load_particle(query, i, x, &h);
    const D h2 = d_mul(h, h);
    for (int k = 0; k >= 0;) {
        const struct sap_tree_link here = t->node[k];
        const int near = dm_any(d_gt(h2, sap_box_near2(&t->cell[k], x, period)));
        for (int j = here.first; near && here.children == 0 && j < here.first + here.count; j++) {
            load_particle(t->particle, j, at, &mass);
            if (!dm_any(d_gt(h2, sap_apart2(x, at, period)))) continue;
            if (fills) list[first[i] + (U64)found] = t->address[j];
            found++;
        }
        k = near && here.children > 0 ? here.child : t->next[k];
    }
    if (!fills) count[i] = found;
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
    const struct searched t = {particle, address, node, next, cell};
    const int i = (int)global_id();
    if (i < n) search_ball(query, &t, count, first, list, fills, d_set1(SAP_ZERO), i);
}

/* The same in a periodic cube, in which the positions are. */
KERNEL(SAP_TREE_THREADS)
tree_search_images(const GLOBAL wide *query, const GLOBAL wide *particle, const GLOBAL int *address,
                   const GLOBAL struct sap_tree_link *node, const GLOBAL int *next, const GLOBAL struct sap_cell *cell,
                   GLOBAL int *count, const GLOBAL U64 *first, GLOBAL int *list, const int fills, const D period,
                   const int n)
{
    const struct searched t = {particle, address, node, next, cell};
    const int i = (int)global_id();
    if (i < n) search_ball(query, &t, count, first, list, fills, period, i);
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

/* The arguments of tree_nearest that are not of the tree. */
struct seeking {
    const GLOBAL wide *walker;
    const GLOBAL int *slot, *row;
    GLOBAL D *heap2;
    GLOBAL int *heap, *list;
    GLOBAL D *distance2;
};

/* Finds the particles nearest to target particle i of a launch; period: as of search_ball. */
SAP_INLINE void find_nearest(const struct seeking *s, const struct searched *t, const struct sap_gpu_nearest *q,
                             D period, int i)
{
    const int who = q->has_slot ? s->slot[q->first + i] : q->first + i, own = q->own ? who : -1;
    D x[3], mass;
    load_particle(s->walker, who, x, &mass);
    struct sap_nearest n = {s->heap2 + i, s->heap + i, (size_t)q->n, q->k, d_set1(SAP_ZERO), 0};
    sap_nearest_begin(&n);
    const int begun = cell_near(t, x, period, q->k + q->own);
    offer_cell(&n, t, t->node[begun], x, period, own);
    for (int k = 0; k >= 0;) {
        const struct sap_tree_link here = t->node[k];
        const int near = k != begun && sap_nearest_within(&n, sap_box_near2(&t->cell[k], x, period));
        if (near && here.children == 0) offer_cell(&n, t, here, x, period, own);
        k = near && here.children > 0 ? here.child : t->next[k];
    }
    sap_nearest_sort(&n);
    const size_t to = (size_t)s->row[q->first + i] * (size_t)q->k;
    for (int j = 0; j < q->k; j++) {
        const int found = n.address[(size_t)j * n.stride];
        s->list[to + (size_t)j] = found;
        if (q->tells) s->distance2[to + (size_t)j] = sap_nearest_told(n.distance2[(size_t)j * n.stride], found);
    }
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
    const struct searched t = {particle, address, node, next, cell};
    const struct seeking s = {walker, slot, row, heap2, heap, list, distance2};
    const int i = (int)global_id();
    if (i < q.n) find_nearest(&s, &t, &q, d_set1(SAP_ZERO), i);
}

/* The same in a periodic cube, in which the target particles are, or in its margin. */
KERNEL(SAP_TREE_THREADS)
tree_nearest_images(const GLOBAL wide *walker, const GLOBAL int *slot, const GLOBAL int *row,
                    const GLOBAL wide *particle, const GLOBAL int *address, const GLOBAL struct sap_tree_link *node,
                    const GLOBAL int *next, const GLOBAL struct sap_cell *cell, GLOBAL D *heap2, GLOBAL int *heap,
                    GLOBAL int *list, GLOBAL D *distance2, const D period, const struct sap_gpu_nearest q)
{
    const struct searched t = {particle, address, node, next, cell};
    const struct seeking s = {walker, slot, row, heap2, heap, list, distance2};
    const int i = (int)global_id();
    if (i < q.n) find_nearest(&s, &t, &q, period, i);
}
