/*
 * lists.cl - neighbour lists out of candidates: decided exactly, sorted by index, each index once.
 *
 * Candidates come in any order and leave in a fixed one, so nothing depends on
 * the order in which atomic counters were raised.
 */
#include "store.h"

enum { SCAN_ITEMS = 256, SORT_ROOM = 2048 };

/* The sum of x over work-items before this one; *total gets that of all.  room: SCAN_ITEMS integers. */
SAP_INLINE int scan(__local int *room, int x, int *total)
{
    const int me = get_local_id(0), n = get_local_size(0);
    int sum = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    room[me] = sum;
    for (int step = 1; step < n; step *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int before = me >= step ? room[me - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += before;
        room[me] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    *total = room[n - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum - x;
}

/*
 * One group, after the force of a slab: row's list begins at unit offset[row] of the slab's, offset[n] is their end.
 * Clears what the next slab counts in, and keeps in *counters what the host needs to know of all slabs.
 */
__kernel void list_offsets(__global int *count, __global int *offset, __global int *cursor,
                           __global struct sap_gpu_counters *counters, const int n)
{
    __local int room[SCAN_ITEMS];
    int before = 0;
    for (int first = 0; first < n; first += get_local_size(0)) {
        const int row = first + get_local_id(0);
        int total = 0;
        const int at = scan(room, row < n ? (count[row] + SAP_GPU_LIST_UNIT - 1) / SAP_GPU_LIST_UNIT : 0, &total);
        if (row < n) offset[row] = before + at, cursor[row] = 0, count[row] = 0;
        before += total;
    }
    if (get_local_id(0) == 0) {
        offset[n] = before;
        counters->noted = counters->hits;
        counters->first = min(counters->total, (int)SAP_GPU_LIST_UNITS);
        counters->total = counters->first + min(before, (int)SAP_GPU_LIST_UNITS);
        counters->most_hits = max(counters->most_hits, (unsigned)counters->hits);
        counters->most = max(counters->most, before);
        counters->hits = 0;
    }
}

/* A candidate's mask each; lists for which there is no room are left out. */
__kernel void list_fill(const __global double *store, const __global struct sap_gpu_i *i_all,
                        const __global struct sap_gpu_hit *hit, const __global int *offset, __global int *cursor,
                        __global int *entry, const __global struct sap_gpu_counters *counters, const int entry_room,
                        const struct sap_gpu_force f)
{
    const int n = min(counters->noted, f.hit_room);
    for (int k = get_global_id(0); k < n; k += get_global_size(0)) {
        const struct sap_gpu_hit h = hit[k];
        const struct sap_gpu_i i = i_all[f.first_i + h.row];
        const int sp = h.packet / SAP_GPU_PACKETS, packet = h.packet % SAP_GPU_PACKETS;
        if (offset[h.row + 1] > entry_room) continue;
        __global int *to = entry + (size_t)offset[h.row] * SAP_GPU_LIST_UNIT;
        for (unsigned bits = h.mask; bits; bits &= bits - 1) {
            const int a = (31 - (int)clz(bits & -bits)) * SAP_GPU_PACKETS + packet;
            if (!eligible(store, &f, sp, a, i.index) || !(canonical_r2(store, &f, sp, a, i.x) < i.h2)) continue;
            to[atomic_add(&cursor[h.row], 1)] = tag_at(store, sp, 0, a);
        }
    }
}

/*
 * One step of a sorting network, of n integers that all work-items of a group see; missing partners are infinite.  The
 * choice of memory stands within: PoCL's compiler ends the process over two loops in branches before a barrier.
 */
SAP_INLINE void sort_step(__local int *near, __global int *out, int fits, int n, int k, int span, int size)
{
    for (int t = get_local_id(0); t < size / 2; t += get_local_size(0)) {
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
 * A group a row: sorts its entries, and writes each once into `out`, all lists of the force in units; list[row] says
 * where.  A list for which there is no room, here or there, is left out.
 */
__kernel void list_sort(const __global int *offset, const __global int *cursor, __global int *entry,
                        const __global struct sap_gpu_counters *counters, __global struct sap_gpu_list_row *list,
                        __global int *out, const int first_row, const int entry_room, const int out_room)
{
    __local int room[SCAN_ITEMS], near[SORT_ROOM];
    const int row = get_group_id(0), items = get_local_size(0), unit = counters->first + offset[row];
    const int there = offset[row + 1] <= entry_room && counters->first + offset[row + 1] <= out_room;
    const int found = cursor[row], n = there ? found : 0, fits = n <= SORT_ROOM;
    __global int *from = entry + (size_t)offset[row] * SAP_GPU_LIST_UNIT;
    __global int *to = out + (size_t)unit * SAP_GPU_LIST_UNIT;
    int size = 2, kept = 0;
    while (size < n) size *= 2;
    if (fits)
        for (int k = get_local_id(0); k < n; k += items) near[k] = from[k];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int k = 2; k <= size; k *= 2)
        for (int span = k / 2; span > 0; span /= 2) {
            sort_step(near, from, fits, n, k, span, size);
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
    for (int first = 0; first < n; first += items) {
        const int k = first + get_local_id(0), here = min(k, n - 1), last = max(here - 1, 0);
        /* loaded without branches: LLVM's checks of itself end the process of PoCL 6 over them */
        const int mine = fits ? near[here] : from[here], before = fits ? near[last] : from[last];
        int total = 0;
        const int is_new = k < n && (k == 0 || before != mine);
        const int at = scan(room, is_new, &total);
        if (is_new) to[kept + at] = mine;
        kept += total;
    }
    if (get_local_id(0) == 0) list[first_row + row].first = unit, list[first_row + row].count = kept;
}
