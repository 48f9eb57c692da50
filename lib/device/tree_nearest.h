/*
 * tree_nearest.h - kernels that search a tree for the particles nearest to a position: a thread for each position, with
 * a heap in device memory, or a group of threads, which sorts candidates in memory of the group.
 */
#include "device/tree_search.h"

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

/* Finds the particles nearest to target particle i of a launch; period: as of find_within. */
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

/* ---- a group of threads for each position ---- */

enum {
    NEAREST_ROOM = 2 * SAP_NEAREST_K, /* candidates that a group has room for */
    NEAREST_NOBODY = 0x7FFFFFFF,
    NEAREST_STACK = 8 * SAP_LINK_LEVELS /* seven cells of each level, of kd-trees one of each of up to 64 */
};

/*
 * Candidates of a position in memory of a group, in no order but after group_keep.  Those that are not kept come behind
 * the last one that is, or the search has fewer than k yet.
 */
struct candidates {
    LOCAL D *distance2;
    LOCAL int *address, *count;
    int k, most, kept; /* most: a power of two, at most NEAREST_ROOM */
    D worst;           /* of the k-th */
    int last;
};

/* Sorts the first `size` candidates, a power of two: a bitonic sort. */
SAP_INLINE void group_sort(const struct candidates *c, int size)
{
    for (int run = 2; run <= size; run *= 2)
        for (int step = run / 2; step > 0; step /= 2) {
            group_barrier();
            for (int pair = (int)local_id(); pair < size / 2; pair += SAP_NEAREST_THREADS) {
                const int low = 2 * pair - (pair & (step - 1)), high = low + step;
                const D low2 = c->distance2[low], high2 = c->distance2[high];
                const int low_who = c->address[low], high_who = c->address[high];
                if (sap_nearest_before(high2, high_who, low2, low_who) != ((low & run) == 0)) continue;
                c->distance2[low] = high2, c->address[low] = high_who;
                c->distance2[high] = low2, c->address[high] = low_who;
            }
        }
    group_barrier();
}

/* Sorts the candidates, and keeps k of them. */
SAP_INLINE void group_keep(struct candidates *c)
{
    int size = 1;
    while (size < c->kept || size < c->k) size *= 2;
    for (int j = c->kept + (int)local_id(); j < size; j += SAP_NEAREST_THREADS) {
        c->distance2[j] = d_set1(SAP_LARGEST);
        c->address[j] = NEAREST_NOBODY;
    }
    group_sort(c, size);
    c->kept = c->kept < c->k ? c->kept : c->k;
    c->worst = c->distance2[c->k - 1];
    c->last = c->address[c->k - 1];
    group_barrier();
    if (local_id() == 0) *c->count = c->kept;
    group_barrier();
}

/* Offers the particles of a cell but `own`. */
SAP_INLINE void group_offer(struct candidates *c, const struct searched *t, const struct sap_tree_link here, const D *x,
                            D period, int own)
{
    for (int first = here.first; first < here.first + here.count; first += SAP_NEAREST_THREADS) {
        const int j = first + (int)local_id();
        D at[3], mass;
        if (c->kept + SAP_NEAREST_THREADS > c->most) group_keep(c);
        if (j < here.first + here.count && j != own) {
            load_particle(t->particle, j, at, &mass);
            const D r2 = sap_apart2(x, at, period);
            const int who = t->address[j];
            if (sap_nearest_before(r2, who, c->worst, c->last)) {
                const int to = atomic_add(c->count, 1);
                c->distance2[to] = r2;
                c->address[to] = who;
            }
        }
        group_barrier();
        c->kept = *c->count;
        group_barrier();
    }
}

/* Writes the k nearest. */
SAP_INLINE void group_tell(const struct candidates *c, const struct seeking *s, const struct sap_gpu_nearest *q,
                           int row)
{
    const size_t to = (size_t)row * (size_t)q->k;
    for (int j = (int)local_id(); j < q->k; j += SAP_NEAREST_THREADS) {
        const int found = j < c->kept ? c->address[j] : -1;
        s->list[to + (size_t)j] = found;
        if (q->tells) s->distance2[to + (size_t)j] = sap_nearest_told(c->distance2[j], found);
    }
}

/* As cell_near; threads look at the children of a cell at once, and leave their distances where candidates will be. */
SAP_INLINE int group_cell_near(const struct candidates *c, const struct searched *t, const D *x, D period, int least)
{
    int best = 0;
    for (int next = 0; next >= 0;) {
        const struct sap_tree_link here = t->node[next];
        D least2 = d_set1(SAP_LARGEST);
        for (int j = (int)local_id(); j < here.children; j += SAP_NEAREST_THREADS)
            c->distance2[j] = t->node[here.child + j].count < least
                                  ? d_set1(SAP_LARGEST)
                                  : sap_box_near2(&t->cell[here.child + j], x, period);
        group_barrier();
        best = next;
        next = -1;
        for (int j = 0; j < here.children; j++) {
            if (!dm_any(d_gt(least2, c->distance2[j]))) continue;
            least2 = c->distance2[j];
            next = here.child + j;
        }
        group_barrier();
    }
    return best;
}

/* Whether a cell may have one of the nearest particles. */
SAP_INLINE int group_within(const struct candidates *c, const struct searched *t, int cell, const D *x, D period)
{
    return !dm_any(d_gt(sap_box_near2(&t->cell[cell], x, period), c->worst));
}

/* Puts the children of a cell that may have one of the nearest particles on the stack. */
SAP_INLINE void group_push(const struct candidates *c, const struct searched *t, const struct sap_tree_link here,
                           const D *x, D period, LOCAL int *stack, LOCAL int *height)
{
    for (int j = (int)local_id(); j < here.children; j += SAP_NEAREST_THREADS)
        if (group_within(c, t, here.child + j, x, period)) stack[atomic_add(height, 1)] = here.child + j;
    group_barrier();
}

/* Takes a cell from the stack; -1: there is none. */
SAP_INLINE int group_pop(const LOCAL int *stack, LOCAL int *height)
{
    const int n = *height, cell = n > 0 ? stack[n - 1] : -1;
    group_barrier();
    if (local_id() == 0 && n > 0) *height = n - 1;
    group_barrier();
    return cell;
}

/*
 * Finds the particles nearest to the target particle of this group: first in a cell near it, then from the root on.
 * The candidates are sorted at two places alone, since compilers for CPUs take seconds for each.
 */
SAP_INLINE void group_find(const struct searched *t, const D *x, D period, int own, int least, struct candidates *c,
                           LOCAL int *stack, LOCAL int *height)
{
    const int begun = group_cell_near(c, t, x, period, least);
    for (int first = 1, k = begun; k >= 0; first = 0) {
        const int skips = !first && (k == begun || !group_within(c, t, k, x, period));
        const struct sap_tree_link here = t->node[k];
        if (!skips && (first || here.children == 0 || here.count <= SAP_NEAREST_THREADS))
            group_offer(c, t, here, x, period, own);
        else if (!skips)
            group_push(c, t, here, x, period, stack, height);
        k = first ? 0 : group_pop(stack, height);
        if (first || k < 0) group_keep(c);
    }
}

/* As tree_nearest, each target by a group of threads.  period: 0 in open space. */
KERNEL(SAP_NEAREST_THREADS)
tree_nearest_group(const GLOBAL wide *walker, const GLOBAL int *slot, const GLOBAL int *row,
                   const GLOBAL wide *particle, const GLOBAL int *address, const GLOBAL struct sap_tree_link *node,
                   const GLOBAL int *next, const GLOBAL struct sap_cell *cell, GLOBAL int *list, GLOBAL D *distance2,
                   const D period, const struct sap_gpu_nearest q)
{
    SHARED D near2[NEAREST_ROOM];
    SHARED int near_address[NEAREST_ROOM], near_stack[NEAREST_STACK], near_count, near_height;
    const struct searched t = {particle, address, node, next, cell};
    const struct seeking s = {walker, slot, row, 0, 0, list, distance2};
    const int i = (int)group_id(0), who = q.has_slot ? slot[i] : i;
    /* larger than cells that are offered as a whole, so that none of these has particles of it */
    const int least = max(q.k + q.own, SAP_NEAREST_THREADS + 1);
    struct candidates c = {near2, near_address,        &near_count,   q.k, 2 * SAP_NEAREST_THREADS,
                           0,     d_set1(SAP_LARGEST), NEAREST_NOBODY};
    D x[3], mass;
    while (c.most < 2 * q.k) c.most *= 2;
    if (local_id() == 0) near_count = near_height = 0;
    group_barrier();
    load_particle(walker, who, x, &mass);
    group_find(&t, x, period, q.own ? who : -1, least, &c, near_stack, &near_height);
    group_tell(&c, &s, &q, row[i]);
}
