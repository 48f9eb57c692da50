/*
 * lists.cu - neighbour lists out of candidates: decided exactly, sorted by index, each index once.
 *
 * Candidates come in any order and leave in a fixed one, so nothing depends on
 * the order in which atomic counters were raised.
 */
#include <cub/block/block_scan.cuh>

#include "store.h"

enum { SCAN_THREADS = 1024, SORT_THREADS = 128, SORT_ROOM = 2048 };

/* One block: offset[row] is the sum of count[0 .. row-1], offset[n] the total; counters->entries gets it too. */
extern "C" __global__ void __launch_bounds__(SCAN_THREADS)
    list_offsets(const int *count, int *offset, int *cursor, sap_gpu_counters *counters, int n)
{
    typedef cub::BlockScan<int, SCAN_THREADS> Scan;
    __shared__ typename Scan::TempStorage room;
    int before = 0;
    for (int first = 0; first < n; first += SCAN_THREADS) {
        const int row = first + threadIdx.x;
        int at, total;
        Scan(room).ExclusiveSum(row < n ? count[row] : 0, at, total);
        if (row < n) offset[row] = before + at, cursor[row] = 0;
        before += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) offset[n] = before, counters->entries = before;
}

/* A warp takes 32 candidates' masks; each lane one. */
extern "C" __global__ void __launch_bounds__(128)
    list_fill(const double *store, const sap_gpu_i *i_all, const sap_gpu_hit *hit, const int *offset, int *cursor,
              int *entry, int n, sap_gpu_force f)
{
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        const sap_gpu_hit h = hit[k];
        const sap_gpu_i &i = i_all[f.first_i + h.row];
        const int sp = h.packet / SAP_GPU_PACKETS, packet = h.packet % SAP_GPU_PACKETS;
        for (unsigned bits = h.mask; bits; bits &= bits - 1) {
            const int a = (__ffs((int)bits) - 1) * SAP_GPU_PACKETS + packet;
            if (!eligible(store, f, sp, a, i.index) || !(canonical_r2(store, f, sp, a, i.x) < i.h2)) continue;
            entry[offset[h.row] + atomicAdd(&cursor[h.row], 1)] = tag_at(store, sp, 0, a);
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

/* A block a row: sorts its entries in place and keeps each once; count[row] is how many are left. */
extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    list_sort(const int *offset, const int *cursor, int *entry, int *count)
{
    typedef cub::BlockScan<int, SORT_THREADS> Scan;
    __shared__ typename Scan::TempStorage room;
    __shared__ int in_shared[SORT_ROOM];
    const int row = blockIdx.x, n = cursor[row];
    int *const out = entry + offset[row];
    int *const x = n <= SORT_ROOM ? in_shared : out;
    if (n <= SORT_ROOM)
        for (int k = threadIdx.x; k < n; k += blockDim.x) x[k] = out[k];
    __syncthreads();
    sort_block(x, n);
    int kept = 0;
    for (int first = 0; first < n; first += SORT_THREADS) {
        const int k = first + threadIdx.x;
        const int mine = k < n ? x[k] : 0, is_new = k < n && (k == 0 || x[k - 1] != mine);
        int at, total;
        Scan(room).ExclusiveSum(is_new, at, total); /* its barriers stand between reading and writing */
        __syncthreads();
        if (is_new) out[kept + at] = mine;
        kept += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) count[row] = kept;
}
