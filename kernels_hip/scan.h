/* scan.h - sums over the threads of a group, for HIP. */
#ifndef SAP_HIP_SCAN_H
#define SAP_HIP_SCAN_H

#include "dialect.h"

#include "../kernels_cuda/lanes.h"

/* group_scan of kernels_cuda/scan.h: sums of 32 threads each, and then of their sums. */
#define SCAN_ROOM(name, items)     SHARED int name[(items) / 32]
#define SCAN_ARGUMENT(name, items) int *name
#define group_scan(name, items, x, at, total)                                                                          \
    do {                                                                                                               \
        int group_scan_sum;                                                                                            \
        (at) = lanes_scan(0, x, &group_scan_sum);                                                                      \
        if ((local_id() & 31U) == 31U) (name)[local_id() >> 5] = group_scan_sum;                                       \
        __syncthreads();                                                                                               \
        (at) += items_join(name, items, &group_scan_sum);                                                              \
        (total) = group_scan_sum;                                                                                      \
        __syncthreads();                                                                                               \
    } while (0)

#endif
