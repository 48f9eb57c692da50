/*
 * list_rows.h - the entries of a row's list, in any order, become a list: sorted, each index once.
 */
#ifndef SAP_DEVICE_LIST_ROWS_H
#define SAP_DEVICE_LIST_ROWS_H

#include "dialect.h"
#include "scan.h"

#include "device/gpu_layout.h"

/* A group takes a row for each 32 of its threads: these sort a short list on their own, all together a long one. */
enum { SORT_ITEMS = 128, SORT_ROOM = 2048, SORT_TEAMS = SAP_GPU_SORT_ROWS, SORT_EACH = 8, SORT_SHORT = 32 * SORT_EACH };

/* Memory of a group that sorts. */
#define SORT_MEMORY                                                                                                    \
    SCAN_ROOM(sort_scan, SORT_ITEMS);                                                                                  \
    SHARED int sort_near[SORT_ROOM];                                                                                   \
    SHARED int sort_rest[SORT_TEAMS];

/* Lists of a slab in the making, and where they go. */
struct list_memory {
    const GLOBAL int *offset, *cursor;
    GLOBAL int *entry;
    const GLOBAL struct sap_gpu_counters *counters;
    GLOBAL struct sap_gpu_list_row *list;
    GLOBAL int *out;
    int rows, first_row, entry_room, out_room;
};

/* A list in the making: n entries, which go to `to`; none, where there is no room here or there. */
struct list_row {
    GLOBAL int *from, *to;
    int n, unit;
};

SAP_INLINE struct list_row find_list(const struct list_memory *m, int row)
{
    const int begin = m->offset[row], end = m->offset[row + 1], before = m->counters->first;
    const int there = end <= m->entry_room && before + end <= m->out_room;
    const int found = m->cursor[row * SAP_GPU_CURSOR];
    const struct list_row l = {m->entry + (size_t)begin * SAP_GPU_LIST_UNIT,
                               m->out + (size_t)(before + begin) * SAP_GPU_LIST_UNIT, there ? found : 0,
                               before + begin};
    return l;
}

SAP_INLINE void tell_list(const struct list_memory *m, int row, int unit, int count)
{
    m->list[m->first_row + row].first = unit;
    m->list[m->first_row + row].count = count;
}

/*
 * One step of a sorting network, of n integers that all threads of a group see; missing partners are infinite.  The
 * choice of memory stands within: PoCL's compiler ends the process over two loops in branches before a barrier.
 */
SAP_INLINE void sort_step(LOCAL int *near, GLOBAL int *out, int fits, int n, int k, int span, int size)
{
    for (int t = local_id(); t < size / 2; t += local_size()) {
        const int low = t / span * 2 * span + t % span;
        /* the first step of a merge compares mirrored places, so that all comparisons point the same way */
        const int high = span == k / 2 ? (low / k) * k + k - 1 - low % k : low + span;
        if (high >= n) continue;
        const int a = fits ? near[low] : out[low], b = fits ? near[high] : out[high];
        if (a <= b) continue;
        if (fits)
            near[low] = b, near[high] = a;
        else
            out[low] = b, out[high] = a;
    }
}

/*
 * 32 threads sort a list of up to SORT_SHORT entries: one goes where the number of smaller ones says.  Lists that are
 * longer, or in which some are equal, are left to the group: *rest is 1 then.
 */
SAP_INLINE void sort_short(const struct list_memory *m, int row, LOCAL int *near, LOCAL int *rest)
{
    const int lane = local_id() % 32, last = m->rows - 1;
    const struct list_row l = find_list(m, min(row, last));
    const int n = row <= last && l.n <= SORT_SHORT ? l.n : 0;
    int mine[SORT_EACH], place[SORT_EACH], same = 0;
    if (lane == 0) *rest = row <= last && l.n > SORT_SHORT;
#pragma unroll
    for (int e = 0; e < SORT_EACH; e++) {
        const int k = e * 32 + lane;
        mine[e] = k < n ? l.from[k] : 0;
        if (k < n) near[k] = mine[e];
        place[e] = 0;
    }
    near_barrier();
#pragma unroll
    for (int e = 0; e < SORT_EACH; e++) {
        const int here = e * 32 < n ? n : 0; /* rounds */
        int equal = 0;
        for (int k = 0; k < here; k++) {
            place[e] += near[k] < mine[e];
            equal += near[k] == mine[e];
        }
        same |= e * 32 + lane < n && equal > 1;
    }
    if (same) (void)atomic_or(rest, 1);
    near_barrier();
    const int ready = *rest == 0;
#pragma unroll
    for (int e = 0; e < SORT_EACH; e++)
        if (e * 32 + lane < n && ready) near[place[e]] = mine[e];
    near_barrier();
#pragma unroll
    for (int e = 0; e < SORT_EACH; e++) /* neighbours side by side, since `to` may lie beyond a bus */
        if (e * 32 + lane < n && ready) l.to[e * 32 + lane] = near[e * 32 + lane];
    if (lane == 0 && ready && row <= last) tell_list(m, row, l.unit, n);
}

/* A group sorts a list, and writes each index once. */
SAP_INLINE void sort_long(const struct list_memory *m, int row, LOCAL int *near, SCAN_ARGUMENT(room, SORT_ITEMS))
{
    const struct list_row l = find_list(m, row);
    const int n = l.n, fits = n <= SORT_ROOM;
    int size = 2, kept = 0;
    while (size < n && size < 1 << 30) size *= 2;
    if (fits)
        for (int k = local_id(); k < n; k += local_size()) near[k] = l.from[k];
    group_barrier_all();
    for (int k = 2; k <= size; k *= 2)
        for (int span = k / 2; span > 0; span /= 2) {
            sort_step(near, l.from, fits, n, k, span, size);
            group_barrier_all();
        }
    for (int first = 0; first < n; first += SORT_ITEMS) {
        const int k = first + local_id(), here = min(k, n - 1), last = max(here - 1, 0);
        /* loaded without branches: LLVM's checks of itself end the process of PoCL 6 over them */
        const int mine = fits ? near[here] : l.from[here], before = fits ? near[last] : l.from[last];
        const int is_new = k < n && (k == 0 || before != mine);
        int at, total;
        group_scan(room, SORT_ITEMS, is_new, at, total);
        if (is_new) l.to[kept + at] = mine;
        kept += total;
    }
    if (local_id() == 0) tell_list(m, row, l.unit, kept);
    group_barrier(); /* before the next one comes into the same memory */
}

/* Rows first .. first + SORT_TEAMS - 1: sorted, each index once, into `out`, all lists of the force in units. */
SAP_INLINE void sort_lists(const struct list_memory *m, int first, LOCAL int *near, LOCAL int *rest,
                           SCAN_ARGUMENT(room, SORT_ITEMS))
{
    const int team = local_id() / 32;
    sort_short(m, first + team, near + team * SORT_SHORT, rest + team);
    group_barrier();
    for (int r = 0; r < SORT_TEAMS; r++) {
        const int rounds = rest[r];
        for (int once = 0; once < rounds; once++) sort_long(m, first + r, near, room);
    }
}

#endif
