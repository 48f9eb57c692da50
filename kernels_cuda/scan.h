/* scan.h - sums over the threads of a group, as CUDA has them. */
#ifndef SAP_SCAN_H
#define SAP_SCAN_H

#include <cub/block/block_scan.cuh>

#include "dialect.h"

/*
 * at: the sum of x over the threads before this one; total: over all.  All threads of a group, `items`, do it; they
 * have met once before anybody has its sum, and once more when it is done.  SCAN_ARGUMENT: a room as a function takes
 * it.
 */
#define SCAN_ROOM(name, items)     __shared__ cub::BlockScan<int, items>::TempStorage name
#define SCAN_ARGUMENT(name, items) cub::BlockScan<int, items>::TempStorage &name
#define group_scan(name, items, x, at, total)                                                                          \
    do {                                                                                                               \
        cub::BlockScan<int, items>(name).ExclusiveSum(x, at, total);                                                   \
        __syncthreads();                                                                                               \
    } while (0)

/* The same among 32 neighbours, who are a group of their own; room: LANES_SCAN_ROOM. */
#define LANES_SCAN_ROOM(name) int *const name = 0
SAP_INLINE int lanes_scan(int *room, int x, int *total)
{
    const int lane = (int)threadIdx.x & 31;
    int sum = x;
    (void)room;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(~0U, sum, step);
        if (lane >= step) sum += before;
    }
    *total = __shfl_sync(~0U, sum, 31);
    return sum - x;
}

/*
 * Who of the 32 says yes to three questions: how many, and how many of them before this thread.  Of the third only how
 * many.
 */
struct lanes_marks {
    int first, first_at, second, second_at, third;
};
SAP_INLINE struct lanes_marks lanes_mark(int *room, int first, int second, int third)
{
    const unsigned before = (1U << (threadIdx.x & 31U)) - 1U, a = __ballot_sync(~0U, first),
                   b = __ballot_sync(~0U, second), c = __ballot_sync(~0U, third);
    (void)room;
    return {__popc(a), __popc(a & before), __popc(b), __popc(b & before), __popc(c)};
}

#endif
