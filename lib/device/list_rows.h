/*
 * list_rows.h - turns the entries of a row, which come in any order, into its neighbour list: sorted by index, each
 * index once.
 */
#ifndef SAP_DEVICE_LIST_ROWS_H
#define SAP_DEVICE_LIST_ROWS_H

#include "dialect.h"
#include "scan.h"

#include "device/gpu_layout.h"

/*
 * A group of threads sorts one row for each 32 of its threads.  32 threads sort a short list on their own; the whole
 * group sorts a long one.
 */
enum { SORT_ITEMS = 128, SORT_ROOM = 2048, SORT_TEAMS = SAP_GPU_SORT_ROWS, SORT_EACH = 8, SORT_SHORT = 32 * SORT_EACH };

/* Memory of a group of threads that sorts. */
#define SORT_MEMORY                                                                                                    \
    SCAN_ROOM(sort_scan, SORT_ITEMS);                                                                                  \
    SHARED int sort_near[SORT_ROOM];                                                                                   \
    SHARED int sort_rest[SORT_TEAMS];

/* Entries of the lists of a slab, and where the finished lists go. */
struct list_memory {
    const GLOBAL int *offset, *cursor;
    GLOBAL int *entry;
    const GLOBAL struct sap_gpu_counters *counters;
    GLOBAL struct sap_gpu_list_row *list;
    GLOBAL int *out;
    int rows, first_row, entry_room, out_room;
};

/* A list to be sorted: n entries, which go to `to`; n is 0 if the entries or the list overflow their buffer. */
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
 * Does one step of a sorting network, on n integers that all threads of a group see; missing partners count as
 * infinite. The choice of memory is made inside the loop, because PoCL's compiler aborts on two loops in branches
 * before a barrier.
 */
SAP_INLINE void sort_step(LOCAL int *near, GLOBAL int *out, int fits, int n, int k, int span, int size)
{
    for (int t = local_id(); t < size / 2; t += local_size()) {
        const int low = t / span * 2 * span + t % span;
        /* the first step of a merge compares mirrored positions, so that all comparisons point the same way */
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
 * Sorts a list of up to SORT_SHORT entries with 32 threads: the position of an entry is the number of smaller entries.
 * Sets *rest to 1 for lists that are longer, or that have equal entries; the whole group must sort these (sort_long).
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
    for (int e = 0; e < SORT_EACH;
         e++) /* neighbouring threads write neighbouring entries, since `to` may lie in host memory */
        if (e * 32 + lane < n && ready) l.to[e * 32 + lane] = near[e * 32 + lane];
    if (lane == 0 && ready && row <= last) tell_list(m, row, l.unit, n);
}

/* Sorts a list with all threads of a group, and writes each index once. */
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
        /* loaded without branches, because LLVM's self-checks abort PoCL 6 on branches here */
        const int mine = fits ? near[here] : l.from[here], before = fits ? near[last] : l.from[last];
        const int is_new = k < n && (k == 0 || before != mine);
        int at, total;
        group_scan(room, SORT_ITEMS, is_new, at, total);
        if (is_new) l.to[kept + at] = mine;
        kept += total;
    }
    if (local_id() == 0) tell_list(m, row, l.unit, kept);
    group_barrier(); /* before the next list uses the same memory */
}

/* Sorts the lists of rows first .. first + SORT_TEAMS - 1 into `out`, each index once. */
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
