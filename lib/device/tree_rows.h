/* tree_rows.h - which rows of a force walk together, where not all particles of a tree do; sizes of accelerations. */
#include "device/tree_units.h"

/* key[i]: the sorted particle that row i is about; active, if it is there, names its address, else i does. */
KERNEL(SAP_TREE_THREADS)
tree_row_keys(const GLOBAL int *place, const GLOBAL int *active, const int has_active, GLOBAL U64 *key, const int n)
{
    const int i = (int)global_id();
    if (i < n) key[i] = (U64)place[has_active ? active[i] : i];
}

/* Few rows in the order of their keys, ties by row: each counts those before it. */
KERNEL(SAP_TREE_THREADS)
tree_row_order(const GLOBAL U64 *key, GLOBAL U64 *sorted, GLOBAL int *row, const int n)
{
    const int i = (int)global_id();
    if (i >= n) return;
    const U64 mine = key[i];
    int at = 0;
    for (int k = 0; k < n; k++) at += key[k] < mine || (key[k] == mine && k < i);
    sorted[at] = mine;
    row[at] = i;
}

/* First of the sorted keys from ... to - 1 that is not below `least`; `to`: there is none. */
SAP_INLINE int first_from(const GLOBAL U64 *key, int from, int to, U64 least)
{
    while (from < to) {
        const int middle = from + (to - from) / 2;
        if (key[middle] < least)
            from = middle + 1;
        else
            to = middle;
    }
    return to;
}

/*
 * slot[k]: sorted keys as integers; flag[k]: whether a part begins there, each SAP_WALK_PART slots of a group, or each
 * slot of a group that has at most `few`.
 */
KERNEL(SAP_TREE_THREADS)
tree_row_parts(const GLOBAL U64 *key, GLOBAL int *slot, GLOBAL int *flag, const int n, const int group_size,
               const int few)
{
    const int k = (int)global_id();
    if (k >= n) return;
    const U64 first = key[k] / (U64)group_size * (U64)group_size;
    const int begin = first_from(key, 0, k, first);
    const int alone = begin + few >= n || key[begin + few] >= first + (U64)group_size;
    slot[k] = (int)key[k];
    flag[k] = alone || (k - begin) % SAP_WALK_PART == 0;
}

/* strict[p]: the strictness of the walkers of part p: of one alone, or of their group; a lies by address. */
KERNEL(SAP_TREE_THREADS)
tree_part_strict(const GLOBAL struct sap_cell *cell, const GLOBAL int *slot, const GLOBAL int *part_first,
                 const GLOBAL D *a, const GLOBAL int *address, GLOBAL float *strict, const struct sap_gpu_walk w,
                 const struct sap_gpu_tree t)
{
    const int p = (int)global_id();
    if (p >= w.parts) return;
    const int first = part_first[p], end = p + 1 < w.parts ? part_first[p + 1] : w.slots;
    const int alone = end - first == 1, walker = slot[first];
    const int from = alone ? walker : walker / t.group_size * t.group_size;
    const int to = alone ? walker + 1 : min(from + t.group_size, w.n);
    const struct sap_cell root = cell[0];
    D least = d_set1(SAP_LARGEST);
    for (int k = from; k < to; k++) least = d_min(least, a[address[k]]);
    strict[p] = strictness_of(&root, &t, least);
}

/* a[address of row i]: the size of its acceleration. */
KERNEL(SAP_TREE_THREADS)
tree_sizes(const GLOBAL D *acc, const GLOBAL int *active, const int has_active, GLOBAL D *a, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    D r2 = d_set1(SAP_ZERO);
    for (int c = 0; c < 3; c++) r2 = d_add(r2, d_mul(acc[3 * i + c], acc[3 * i + c]));
    a[has_active ? active[i] : (int)i] = d_sqrt(r2);
}
