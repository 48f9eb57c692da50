/* scan.h - sums over the threads of a group, for CUDA. */
#ifndef SAP_SCAN_H
#define SAP_SCAN_H

#include <cub/block/block_scan.cuh>

#include "lanes.h"

/*
 * Scans x over all threads of a group, `items`.  at: the sum of x over the threads before this one; total: over all.
 * All threads must call it.  It contains a barrier before any thread has its sum, and another at its end.
 * SCAN_ARGUMENT: declares a room as an argument of a function.
 */
#define SCAN_ROOM(name, items)     __shared__ cub::BlockScan<int, items>::TempStorage name
#define SCAN_ARGUMENT(name, items) cub::BlockScan<int, items>::TempStorage &name
#define group_scan(name, items, x, at, total)                                                                          \
    do {                                                                                                               \
        cub::BlockScan<int, items>(name).ExclusiveSum(x, at, total);                                                   \
        __syncthreads();                                                                                               \
    } while (0)

#endif
