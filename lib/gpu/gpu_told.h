/* gpu_told.h - waiting for what a kernel tells the host while its launch ends (device/tell.h). */
#ifndef SAP_GPU_TOLD_H
#define SAP_GPU_TOLD_H

#include "driver/driver.h"

/*
 * Waits until *told, in memory of the host, is no longer 0, as the host has set it before the launch; a driver status.
 * `done`, an event behind the kernel, is asked now and then: it ends the wait if the device fails.  The loop has no
 * pauses, for which virtual machines stop threads.
 */
static inline int sap_gpu_wait_told(const struct sap_driver *d, const int *told, struct sap_event *done)
{
    enum { TURNS = 1024, MOST = 1 << 20 }; /* some milliseconds at most */
    for (int turn = 1; turn < MOST; turn++) {
        if (__atomic_load_n(told, __ATOMIC_ACQUIRE) != 0) return SAP_DRIVER_OK;
        const int status = turn % TURNS == 0 ? d->event_query(done) : (int)SAP_DRIVER_PENDING;
        if (status != SAP_DRIVER_PENDING) return status;
    }
    return d->event_wait(done);
}

#endif
