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

/* One group: offset[row] is the sum of count[0 .. row-1], offset[n] the total; counters->entries gets it too. */
__kernel void list_offsets(const __global int *count, __global int *offset, __global int *cursor,
                           __global struct sap_gpu_counters *counters, const int n)
{
    __local int room[SCAN_ITEMS];
    int before = 0;
    for (int first = 0; first < n; first += get_local_size(0)) {
        const int row = first + get_local_id(0);
        int total = 0;
        const int at = scan(room, row < n ? count[row] : 0, &total);
        if (row < n) offset[row] = before + at, cursor[row] = 0;
        before += total;
    }
    if (get_local_id(0) == 0) offset[n] = before, counters->entries = before;
}

/* A candidate's mask each. */
__kernel void list_fill(const __global double *store, const __global struct sap_gpu_i *i_all,
                        const __global struct sap_gpu_hit *hit, const __global int *offset, __global int *cursor,
                        __global int *entry, const int n, const struct sap_gpu_force f)
{
    for (int k = get_global_id(0); k < n; k += get_global_size(0)) {
        const struct sap_gpu_hit h = hit[k];
        const struct sap_gpu_i i = i_all[f.first_i + h.row];
        const int sp = h.packet / SAP_GPU_PACKETS, packet = h.packet % SAP_GPU_PACKETS;
        for (unsigned bits = h.mask; bits; bits &= bits - 1) {
            const int a = (31 - (int)clz(bits & -bits)) * SAP_GPU_PACKETS + packet;
            if (!eligible(store, &f, sp, a, i.index) || !(canonical_r2(store, &f, sp, a, i.x) < i.h2)) continue;
            entry[offset[h.row] + atomic_add(&cursor[h.row], 1)] = tag_at(store, sp, 0, a);
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

/* A group a row: sorts its entries in place and keeps each once; count[row] is how many are left. */
__kernel void list_sort(const __global int *offset, const __global int *cursor, __global int *entry,
                        __global int *count)
{
    __local int room[SCAN_ITEMS], near[SORT_ROOM];
    const int row = get_group_id(0), n = cursor[row], items = get_local_size(0);
    __global int *out = entry + offset[row];
    const int fits = n <= SORT_ROOM;
    int size = 2, kept = 0;
    while (size < n) size *= 2;
    if (fits)
        for (int k = get_local_id(0); k < n; k += items) near[k] = out[k];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int k = 2; k <= size; k *= 2)
        for (int span = k / 2; span > 0; span /= 2) {
            sort_step(near, out, fits, n, k, span, size);
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
    for (int first = 0; first < n; first += items) {
        const int k = first + get_local_id(0), here = min(k, n - 1), last = max(here - 1, 0);
        /* loaded without branches: LLVM's checks of itself end the process of PoCL 6 over them */
        const int mine = fits ? near[here] : out[here], before = fits ? near[last] : out[last];
        int total = 0;
        const int is_new = k < n && (k == 0 || before != mine);
        const int at = scan(room, is_new, &total); /* its barriers stand between reading and writing */
        if (is_new) out[kept + at] = mine;
        kept += total;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    if (get_local_id(0) == 0) count[row] = kept;
}
