/* tree_rows.h - which rows of a force walk together, where not all particles of a tree do; sizes of accelerations. */
#include "device/tree_units.h"

/* key[i]: the sorted particle that row i is about; active, if it is there, names its address, else i does. */
KERNEL(SAP_TREE_THREADS)
tree_row_keys(const GLOBAL int *place, const GLOBAL int *active, const int has_active, GLOBAL U64 *key, const int n)
{
    const int i = (int)global_id();
    if (i < n) key[i] = (U64)place[has_active ? active[i] : i];
}

/* slot[k]: sorted keys as integers; flag[k]: whether a part begins there, each SAP_WALK_PART slots of a group. */
KERNEL(SAP_TREE_THREADS)
tree_row_parts(const GLOBAL U64 *key, GLOBAL int *slot, GLOBAL int *flag, const int n, const int group_size)
{
    const int k = (int)global_id();
    if (k >= n) return;
    const U64 first = key[k] / (U64)group_size * (U64)group_size;
    int low = -1, high = k; /* the first slot of the group is in low + 1 ... high */
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (key[middle] < first)
            low = middle;
        else
            high = middle;
    }
    slot[k] = (int)key[k];
    flag[k] = (k - high) % SAP_WALK_PART == 0;
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
