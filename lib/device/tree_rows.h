/*
 * tree_rows.h - kernels that order the rows of a force in which not all particles of a tree are targets, and that
 * compute the sizes of accelerations.
 */
#include "device/tree_shares.h"
#include "device/tree_units.h"

/*
 * Sets key[i] to the sorted position of the target particle of row i: the particle of address active[i], or without
 * `active` of address i.
 */
KERNEL(SAP_TREE_THREADS)
tree_row_keys(const GLOBAL int *place, const GLOBAL int *active, const int has_active, GLOBAL U64 *key, const int n)
{
    const int i = (int)global_id();
    if (i < n) key[i] = (U64)place[has_active ? active[i] : i];
}

/* Sorts few rows by their keys, ties by row: each thread counts the rows before its own. */
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

/* Copies sorted keys as integers to slot[k]. */
KERNEL(SAP_TREE_THREADS)
tree_row_slots(const GLOBAL U64 *key, GLOBAL int *slot, const int n)
{
    const int k = (int)global_id();
    if (k < n) slot[k] = (int)key[k];
}

/* Sets the slots of rows that stay in the given order: slot[i] and row[i] = i. */
KERNEL(SAP_TREE_THREADS)
tree_row_places(const GLOBAL int *place, const GLOBAL int *active, const int has_active, GLOBAL int *slot,
                GLOBAL int *row, const int n)
{
    const int i = (int)global_id();
    if (i >= n) return;
    slot[i] = place[has_active ? active[i] : i];
    row[i] = i;
}

/* Sets strict[k] to the strictness of the target particle of slot k; a lies by address. */
KERNEL(SAP_TREE_THREADS)
tree_row_strict(const GLOBAL struct sap_cell *cell, const GLOBAL int *slot, const GLOBAL D *a,
                const GLOBAL int *address, GLOBAL float *strict, const int n, const struct sap_gpu_tree t)
{
    const int k = (int)global_id();
    if (k >= n) return;
    const struct sap_cell root = cell[0];
    strict[k] = strictness_of(&root, &t, t.accuracy, a[address[slot[k]]]);
}

/*
 * Sets keys by which parts of groups are sorted, those that take longest first: with the criterion of acceleration
 * forces on particles with small accelerations need many interactions, and what is begun last keeps all others waiting.
 * A key has 8 bits.  It is smaller by one for each factor of four in the acceleration, so that most parts that lie
 * together stay together.
 */
KERNEL(SAP_TREE_THREADS)
tree_part_keys(const GLOBAL float *strict, GLOBAL U64 *key, const int group_parts, const int parts)
{
    const int p = (int)global_id();
    if (p >= parts) return;
    const int halves = (bits_of_float(strict[p / group_parts]) >> 22) - (127 << 1); /* two for each power of two */
    key[p] = (U64)(127 - max(-128, min(127, halves)));
}

/* Lists the items of a walk's share, in an order or without one; an item begins `step` after the one before it. */
KERNEL(SAP_TREE_THREADS)
tree_list_items(const GLOBAL int *order, const int has_order, GLOBAL int *left, const int items, const int step,
                const struct sap_gpu_walk w)
{
    const int k = (int)global_id();
    GLOBAL int *const list = left + SAP_LEFT_FIRST + (size_t)SAP_LEFT_ORDER * (size_t)w.left_room;
    if (k < items && sap_is_shared(w.share, w.shares, k))
        list[sap_shared_before(w.share, w.shares, k)] = has_order ? order[k] : k * step;
    if (k == 0) left[SAP_LEFT_COUNT + SAP_LEFT_ORDER] = sap_shared_before(w.share, w.shares, items);
}

/* Adds rows of another device: each row is of one of the two, and all bits of the other's are 0. */
KERNEL(SAP_TREE_THREADS)
tree_rows_unite(GLOBAL D *acc, GLOBAL D *pot, const GLOBAL D *more_acc, const GLOBAL D *more_pot, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    for (int c = 0; c < 3; c++) ((GLOBAL U64 *)acc)[3 * i + c] |= ((const GLOBAL U64 *)more_acc)[3 * i + c];
    ((GLOBAL U64 *)pot)[i] |= ((const GLOBAL U64 *)more_pot)[i];
}

/* Copies forces from order of address to order of rows. */
KERNEL(SAP_TREE_THREADS)
tree_pick(const GLOBAL D *acc, const GLOBAL D *pot, const GLOBAL int *active, const int has_active,
          GLOBAL D *picked_acc, GLOBAL D *picked_pot, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    const size_t from = has_active ? (size_t)active[i] : i;
    for (int c = 0; c < 3; c++) picked_acc[3 * i + c] = acc[3 * from + c];
    picked_pot[i] = pot[from];
}

/*
 * Adds the results of another walk of the same n rows; left: what the walk leaves (tree_layout.h), from work_at on
 * interactions of rows; work_at 0: none.
 */
KERNEL(SAP_TREE_THREADS)
tree_rows_add(GLOBAL D *acc, GLOBAL D *pot, GLOBAL int *left, const GLOBAL D *more_acc, const GLOBAL D *more_pot,
              const GLOBAL int *more_work, const int work_at, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    int finite = 1;
    for (int q = 0; q < 4; q++) {
        GLOBAL D *const to = q < 3 ? &acc[3 * i + q] : &pot[i];
        const D sum = d_add(*to, q < 3 ? more_acc[3 * i + q] : more_pot[i]);
        finite &= dm_any(d_eq(d_sub(sum, sum), d_set1(SAP_ZERO))) ? 1 : 0;
        *to = sum;
    }
    if (!finite) left[SAP_LEFT_BEYOND] = 1;
    if (work_at > 0) left[(size_t)work_at + i] += more_work[i];
}

/* Sets a[address of row i] to the size of the row's acceleration. */
KERNEL(SAP_TREE_THREADS)
tree_sizes(const GLOBAL D *acc, const GLOBAL int *active, const int has_active, GLOBAL D *a, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    a[has_active ? active[i] : (int)i] = size_of_row(acc, i);
}
