/*
 * lists.cu - neighbour lists out of candidates: decided exactly, sorted by index, each index once.
 *
 * Candidates come in any order and leave in a fixed one, so nothing depends on
 * the order in which atomic counters were raised.
 */
#include <cub/block/block_scan.cuh>

#include "store.h"

enum { SCAN_THREADS = 1024, SORT_THREADS = 128, SORT_ROOM = 2048 };

/*
 * One block, after the force of a slab: row's list begins at unit offset[row] of the slab's, offset[n] is their end.
 * Clears what the next slab counts in, and keeps in *counters what the host needs to know of all slabs.
 */
extern "C" __global__ void __launch_bounds__(SCAN_THREADS)
    list_offsets(int *count, int *offset, int *cursor, sap_gpu_counters *counters, int n)
{
    typedef cub::BlockScan<int, SCAN_THREADS> Scan;
    __shared__ typename Scan::TempStorage room;
    int before = 0;
    for (int first = 0; first < n; first += SCAN_THREADS) {
        const int row = first + threadIdx.x;
        int at, total;
        Scan(room).ExclusiveSum(row < n ? (count[row] + SAP_GPU_LIST_UNIT - 1) / SAP_GPU_LIST_UNIT : 0, at, total);
        if (row < n) offset[row] = before + at, cursor[row] = 0, count[row] = 0;
        before += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        offset[n] = before;
        counters->noted = counters->hits;
        counters->first = min(counters->total, (int)SAP_GPU_LIST_UNITS);
        counters->total = counters->first + min(before, (int)SAP_GPU_LIST_UNITS);
        counters->most_hits = max(counters->most_hits, (unsigned)counters->hits);
        counters->most = max(counters->most, before);
        counters->hits = 0;
    }
}

/* A thread a candidate's mask; lists for which there is no room are left out. */
extern "C" __global__ void __launch_bounds__(128)
    list_fill(const double *store, const sap_gpu_i *i_all, const sap_gpu_hit *hit, const int *offset, int *cursor,
              int *entry, const sap_gpu_counters *counters, int entry_room, sap_gpu_force f)
{
    const int n = min(counters->noted, f.hit_room);
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        const sap_gpu_hit h = hit[k];
        const sap_gpu_i &i = i_all[f.first_i + h.row];
        const int sp = h.packet / SAP_GPU_PACKETS, packet = h.packet % SAP_GPU_PACKETS;
        if (offset[h.row + 1] > entry_room) continue;
        int *const to = entry + (size_t)offset[h.row] * SAP_GPU_LIST_UNIT;
        for (unsigned bits = h.mask; bits; bits &= bits - 1) {
            const int a = (__ffs((int)bits) - 1) * SAP_GPU_PACKETS + packet;
            if (!eligible(store, f, sp, a, i.index) || !(canonical_r2(store, f, sp, a, i.x) < i.h2)) continue;
            to[atomicAdd(&cursor[h.row], 1)] = tag_at(store, sp, 0, a);
        }
    }
}

/* Sorts n integers that all threads of a block see, for any n: a bitonic network whose missing partners are infinite.
 */
SAP_INLINE void sort_block(int *x, int n)
{
    int size = 2;
    while (size < n) size *= 2;
    for (int k = 2; k <= size; k *= 2)
        for (int half = k / 2; half > 0; half /= 2) {
            for (int t = threadIdx.x; t < size / 2; t += blockDim.x) {
                const int low = t / half * 2 * half + t % half;
                /* the first step of a merge compares mirrored places, so that all comparisons point the same way */
                const int high = half == k / 2 ? (low / k) * k + k - 1 - low % k : low + half;
                if (high < n && x[low] > x[high]) {
                    const int swap = x[low];
                    x[low] = x[high];
                    x[high] = swap;
                }
            }
            __syncthreads();
        }
}

/*
 * A block a row: sorts its entries, and writes each once into `out`, all lists of the force in units; list[row] says
 * where.  A list for which there is no room, here or there, is left out.
 */
extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    list_sort(const int *offset, const int *cursor, int *entry, const sap_gpu_counters *counters,
              sap_gpu_list_row *list, int *out, int first_row, int entry_room, int out_room)
{
    typedef cub::BlockScan<int, SORT_THREADS> Scan;
    __shared__ typename Scan::TempStorage room;
    __shared__ int in_shared[SORT_ROOM];
    const int row = blockIdx.x, unit = counters->first + offset[row];
    const bool there = offset[row + 1] <= entry_room && counters->first + offset[row + 1] <= out_room;
    const int n = there ? cursor[row] : 0;
    int *const from = entry + (size_t)offset[row] * SAP_GPU_LIST_UNIT;
    int *const to = out + (size_t)unit * SAP_GPU_LIST_UNIT;
    int *const x = n <= SORT_ROOM ? in_shared : from;
    if (n <= SORT_ROOM)
        for (int k = threadIdx.x; k < n; k += blockDim.x) x[k] = from[k];
    __syncthreads();
    sort_block(x, n);
    int kept = 0;
    for (int first = 0; first < n; first += SORT_THREADS) {
        const int k = first + threadIdx.x;
        const int mine = k < n ? x[k] : 0, is_new = k < n && (k == 0 || x[k - 1] != mine);
        int at, total;
        Scan(room).ExclusiveSum(is_new, at, total);
        if (is_new) to[kept + at] = mine;
        kept += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) list[first_row + row].first = unit, list[first_row + row].count = kept;
}
