/* lanes.h - sums over 32 neighbours, and over a few times 32, for CUDA and HIP. */
#ifndef SAP_LANES_H
#define SAP_LANES_H

#include "dialect.h"

/* Scans x over 32 neighbours, which are a group of their own; room: LANES_SCAN_ROOM. */
#define LANES_SCAN_ROOM(name) int *const name = 0
SAP_INLINE int lanes_scan(int *room, int x, int *total)
{
    const int lane = (int)local_id() & 31;
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

/* Returns how many of the threads before this one, of 32, answer yes; total: how many of all do. */
SAP_INLINE int lanes_rank(int *room, int yes, int *total)
{
    const unsigned all = __ballot_sync(~0U, yes);
    (void)room;
    *total = __popc(all);
    return __popc(all & ((1U << (local_id() & 31U)) - 1U));
}

/*
 * Writes runs of successive numbers: `length` from `first` on to to[at], where `at` is the sum of the lengths of the
 * threads before.  Threads with runs come first, and all runs together have at most 32 numbers; what follows them in
 * to[32] is undefined.  SAP_LANES_REDUCE: the architecture reduces words over lanes.
 */
SAP_INLINE void lanes_spread(int *to, int length, int at, int first)
{
#if defined(SAP_LANES_REDUCE)
    const int lane = (int)local_id() & 31;
    const unsigned begins = __reduce_or_sync(~0U, length > 0 ? 1U << at : 0U);
    const int run = __popc(begins & (~0U >> (31 - lane))) - 1;
    to[lane] = __shfl_sync(~0U, first - at, run & 31) + lane;
#else
    for (int c = 0; c < length; c++) to[at + c] = first + c;
#endif
}

/*
 * Counts how many of the 32 threads answer yes to each of four questions, and, for the first three, how many of the
 * threads before this one do.
 */
struct lanes_marks {
    int first, first_at, second, second_at, third, third_at, fourth;
};
SAP_INLINE struct lanes_marks lanes_mark(int *room, int first, int second, int third, int fourth)
{
    const unsigned before = (1U << (local_id() & 31U)) - 1U, a = __ballot_sync(~0U, first),
                   b = __ballot_sync(~0U, second), c = __ballot_sync(~0U, third), d = __ballot_sync(~0U, fourth);
    (void)room;
    return {__popc(a), __popc(a & before), __popc(b), __popc(b & before), __popc(c), __popc(c & before), __popc(d)};
}

/*
 * The same scans for a group of `items` threads, 32 or a few times 32.  A round of a walk scans lengths of runs
 * (items_scan), and then marks and numbers of particles at once (items_look), with one barrier each.  room: ITEMS_ROOM.
 */
#define ITEMS_ROOM(name, items) SHARED int name[12]
SAP_INLINE int items_join(const int *room, int items, int *total)
{
    const int warp = (int)local_id() >> 5;
    int before = 0, sum = 0;
#pragma unroll
    for (int k = 0; k < items / 32; k++) {
        if (k == warp) before = sum;
        sum += room[k];
    }
    *total = sum;
    return before;
}

SAP_INLINE int items_scan(int *room, int items, int x, int *total)
{
    int sum;
    const int before = lanes_scan(room, x, &sum);
    *total = sum;
    if (items == 32) return before;
    if ((local_id() & 31U) == 0) room[local_id() >> 5] = sum;
    __syncthreads();
    return before + items_join(room, items, total);
}

SAP_INLINE struct lanes_marks items_look(int *room, int items, int first, int second, int third, int x, int *at,
                                         int *total)
{
    int sum, all;
    struct lanes_marks m = lanes_mark(room, first, second, third, 0);
    *at = lanes_scan(room, x, &sum);
    *total = sum;
    if (items == 32) return m;
    if ((local_id() & 31U) == 0) {
        room[4 + (local_id() >> 5)] = m.first + 256 * m.second + 65536 * m.third;
        room[8 + (local_id() >> 5)] = sum;
    }
    __syncthreads();
    const int before = items_join(room + 4, items, &all);
    *at += items_join(room + 8, items, total);
    m.first_at += before % 256, m.second_at += before / 256 % 256;
    m.first = all % 256, m.second = all / 256 % 256, m.third = all / 65536;
    return m;
}

#endif
