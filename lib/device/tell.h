/*
 * tell.h - the end of a force, which the host sees as soon as its results are there: an event comes 2 us later.
 */
#ifndef SAP_DEVICE_TELL_H
#define SAP_DEVICE_TELL_H

#include "dialect.h"

#include "device/gpu_layout.h"

/*
 * Last in a kernel that writes results into memory of the host.  told: there too, or NULL: the host waits for an
 * event.  The group that ends last tells what the force has counted, then that it has ended, and makes the counters
 * ready for the next force.
 */
SAP_INLINE void tell_end(GLOBAL struct sap_gpu_counters *counters, GLOBAL struct sap_gpu_counters *told)
{
#if SAP_TELLS
    if (!told) return;
    group_barrier_all();
    if (local_id() > 0) return;
    system_fence();
    if (atomic_add(&counters->ended, 1) < (int)all_groups() - 1) return;
    told->coincident = atomic_min(&counters->coincident, (int)SAP_GPU_NOBODY);
    counters->coincident = SAP_GPU_NOBODY;
    counters->ended = 0;
    system_fence();
    told->ended = 1;
#endif
}

#endif
