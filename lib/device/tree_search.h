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

/* The nodes of a tree as searches read them, and its particles. */
struct searched {
    const GLOBAL wide *particle;
    const GLOBAL int *address;
    const GLOBAL struct sap_tree_link *node;
    const GLOBAL int *next;
    const GLOBAL struct sap_cell *cell;
};

/* The arguments of tree_within that are not of the tree. */
struct within {
    const GLOBAL wide *walker;
    const GLOBAL int *slot, *row;
    const GLOBAL D *radius;
    GLOBAL int *count, *bad;
    const GLOBAL U64 *list_first;
    GLOBAL int *list;
    U64 room;
};

/* A list that is being written: of `found` addresses in room for `most`, when it is full the least ones as a heap. */
struct within_list {
    GLOBAL int *address;
    int found, most;
};

/* Moves the address at `at` down a heap of n addresses, whose largest one is the first. */
SAP_INLINE void sift_down(GLOBAL int *heap, int at, int n)
{
    const int moved = heap[at];
    for (int child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && heap[child + 1] > heap[child]) child++;
        if (heap[child] <= moved) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

SAP_INLINE void make_heap(GLOBAL int *heap, int n)
{
    for (int k = n / 2 - 1; k >= 0; k--) sift_down(heap, k, n);
}

/* Adds an address to a list, or keeps it in place of the largest one. */
SAP_INLINE void list_add(struct within_list *l, int address)
{
    if (l->found < l->most)
        l->address[l->found] = address;
    else if (l->found == l->most)
        make_heap(l->address, l->most);
    if (l->found >= l->most && address < l->address[0]) {
        l->address[0] = address;
        sift_down(l->address, 0, l->most);
    }
    l->found++;
}

/* Sorts the addresses of a list. */
SAP_INLINE void list_sort(const struct within_list *l)
{
    const int n = l->found < l->most ? l->found : l->most;
    make_heap(l->address, n);
    for (int end = n - 1; end > 0; end--) {
        const int largest = l->address[0];
        l->address[0] = l->address[end];
        l->address[end] = largest;
        sift_down(l->address, 0, end);
    }
}

/*
 * Finds the particles within the radius of target particle i of a launch.  period: 0, a constant, in open space, so
 * that its code has nothing else.
 */
SAP_INLINE int find_within(const struct within *s, const struct searched *t, const struct sap_gpu_within *q, D period,
                           D radius, int i, struct within_list *to)
{
    const int who = q->has_slot ? s->slot[i] : i, own = q->own ? who : -1;
    D x[3], at[3], mass;
    int found = 0;
    load_particle(s->walker, who, x, &mass);
    const D h = d_min(radius, d_set1(SAP_NUMBER(1e101, 0x54E6DC186EF9F45CUL))), h2 = d_mul(h, h);
    for (int k = 0; k >= 0;) {
        const struct sap_tree_link here = t->node[k];
        const int near = dm_any(d_gt(h2, sap_box_near2(&t->cell[k], x, period)));
        for (int j = here.first; near && here.children == 0 && j < here.first + here.count; j++) {
            load_particle(t->particle, j, at, &mass);
            if (j == own || !dm_any(d_gt(h2, sap_apart2(x, at, period)))) continue;
            if (q->fills) list_add(to, t->address[j]);
            found++;
        }
        k = near && here.children > 0 ? here.child : t->next[k];
    }
    return found;
}

SAP_INLINE void count_within(const struct within *s, const struct searched *t, const struct sap_gpu_within *q, D period,
                             int i)
{
    const int row = s->row[i];
    const D radius = s->radius[row];
    struct within_list none = {s->list, 0, 0};
    if (dm_any(d_ge(radius, d_set1(SAP_ZERO)))) {
        s->count[row] = find_within(s, t, q, period, radius, i, &none);
        return;
    }
    s->count[row] = 0;
    (void)atomic_min(&s->bad[0], row);
}

SAP_INLINE void fill_within(const struct within *s, const struct searched *t, const struct sap_gpu_within *q, D period,
                            int i)
{
    const int row = s->row[i];
    const U64 from = s->list_first[row], end = s->list_first[row + 1], last = end < s->room ? end : s->room;
    struct within_list to = {s->list + from, 0, from < last ? (int)(last - from) : 0};
    if (to.most == 0) return;
    (void)find_within(s, t, q, period, s->radius[row], i, &to);
    list_sort(&to);
}

/*
 * Finds the particles within a radius of q.n target particles, which are those of the tree with q.own; slot: which of
 * them, with q.has_slot; row: their rows of radius, count and list_first.  Counts them, and lowers bad[0] to a row
 * whose radius is no number >= 0; or, with q.fills, writes their addresses, ascending, to list[list_first[row] ...], as
 * far as they fit into `room` entries.
 */
KERNEL(SAP_TREE_THREADS)
tree_within(const GLOBAL wide *walker, const GLOBAL int *slot, const GLOBAL int *row, const GLOBAL D *radius,
            const GLOBAL wide *particle, const GLOBAL int *address, const GLOBAL struct sap_tree_link *node,
            const GLOBAL int *next, const GLOBAL struct sap_cell *cell, GLOBAL int *count, GLOBAL int *bad,
            const GLOBAL U64 *list_first, GLOBAL int *list, const U64 room, const struct sap_gpu_within q)
{
    const struct searched t = {particle, address, node, next, cell};
    const struct within s = {walker, slot, row, radius, count, bad, list_first, list, room};
    const int i = (int)global_id();
    if (i < q.n && !q.fills) count_within(&s, &t, &q, d_set1(SAP_ZERO), i);
    if (i < q.n && q.fills) fill_within(&s, &t, &q, d_set1(SAP_ZERO), i);
}

/* The same in a periodic cube, in which the target particles are, or in its margin. */
KERNEL(SAP_TREE_THREADS)
tree_within_images(const GLOBAL wide *walker, const GLOBAL int *slot, const GLOBAL int *row, const GLOBAL D *radius,
                   const GLOBAL wide *particle, const GLOBAL int *address, const GLOBAL struct sap_tree_link *node,
                   const GLOBAL int *next, const GLOBAL struct sap_cell *cell, GLOBAL int *count, GLOBAL int *bad,
                   const GLOBAL U64 *list_first, GLOBAL int *list, const U64 room, const D period,
                   const struct sap_gpu_within q)
{
    const struct searched t = {particle, address, node, next, cell};
    const struct within s = {walker, slot, row, radius, count, bad, list_first, list, room};
    const int i = (int)global_id();
    if (i < q.n && !q.fills) count_within(&s, &t, &q, period, i);
    if (i < q.n && q.fills) fill_within(&s, &t, &q, period, i);
}

/* Sums the counts of each SAP_WITHIN_ROWS rows. */
KERNEL(SAP_TREE_THREADS)
tree_within_sums(const GLOBAL int *count, GLOBAL U64 *list_sum, const int n)
{
    const size_t k = global_id(), from = k * SAP_WITHIN_ROWS;
    U64 all = 0;
    if (from >= (size_t)n) return;
    for (size_t i = from; i < from + SAP_WITHIN_ROWS && i < (size_t)n; i++) all += (U64)count[i];
    list_sum[k] = all;
}

/* Replaces sums by those of all before them, with one group of threads; that of all follows them. */
KERNEL(SAP_TREE_THREADS)
tree_within_scan(GLOBAL U64 *list_sum, const int parts)
{
    SHARED U64 part[SAP_TREE_THREADS];
    const int me = (int)local_id(), each = (parts + SAP_TREE_THREADS - 1) / SAP_TREE_THREADS;
    const int from = me * each < parts ? me * each : parts, to = from + each < parts ? from + each : parts;
    U64 own = 0, before = 0;
    for (int k = from; k < to; k++) own += list_sum[k];
    part[me] = own;
    group_barrier();
    for (int k = 0; k < me; k++) before += part[k];
    for (int k = from; k < to; k++) {
        const U64 here = list_sum[k];
        list_sum[k] = before;
        before += here;
    }
    if (me == SAP_TREE_THREADS - 1) list_sum[parts] = before;
}

/* Writes where the list of each row begins, and the length of all. */
KERNEL(SAP_TREE_THREADS)
tree_within_first(const GLOBAL int *count, const GLOBAL U64 *list_sum, GLOBAL U64 *list_first, const int n)
{
    const size_t k = global_id(), from = k * SAP_WITHIN_ROWS;
    if (from >= (size_t)n) return;
    U64 at = list_sum[k];
    for (size_t i = from; i < from + SAP_WITHIN_ROWS && i < (size_t)n; i++) {
        list_first[i] = at;
        at += (U64)count[i];
    }
    if (from + SAP_WITHIN_ROWS >= (size_t)n) list_first[n] = at;
}
