/*
 * faulty_driver.h - wraps any driver so that the n-th call that can fail does fail: to test every fault that the host
 * flow may meet.
 *
 *     const struct sap_driver *d = faulty_wrap(&stub_driver);
 *     for (long n = 1;; n++) {
 *         faulty_plan(n, SAP_DRIVER_MEMORY);
 *         ... the test, over d ...
 *         if (!faulty.failed) break;          // fewer than n calls were made
 *     }
 *
 * The failing call does not reach the driver.  After SAP_DRIVER_LOST every later call on that device fails in the same
 * way until all its users have closed it and it is opened again, as with a real device.
 */
#ifndef FAULTY_DRIVER_H
#define FAULTY_DRIVER_H

#include "driver/driver.h"

#include <stdatomic.h>

struct faulty_state {
    atomic_long calls;                 /* calls that could fail, since faulty_plan */
    atomic_int failed;                 /* calls that failed by plan, with later ones on a lost device */
    _Atomic(const char *) failed_call; /* the first of them, such as "copy_in"; NULL: none */
    atomic_int failed_device;          /* its device */
    int tells;                         /* 1: prints the first failing call on stderr */
};

extern struct faulty_state faulty;

/* The kinds of faults by their names: "memory", "launch", "lost", "error"; the last is NULL. */
extern const struct faulty_kind {
    const char *name;
    int status;
} faulty_kinds[];

/* Returns the table that wraps `inner`; only one at a time, and no object may be open. */
const struct sap_driver *faulty_wrap(const struct sap_driver *inner);
/* The same for driver 0 or 1, for tests that wrap two at a time. */
const struct sap_driver *faulty_wrap_as(int number, const struct sap_driver *inner);

/*
 * Returns a driver, CUDA's or OpenCL's, with the fault that SAPPORO_FAULT asks for, "n" or "n:memory" (launch, lost,
 * error), or the driver itself if it asks for none: for libraries built with FAULTS=1.  Calls of both drivers are
 * counted together.  The variable is read once; a line on stderr reports the fault, with the driver's name.
 */
const struct sap_driver *faulty_from_environment(const struct sap_driver *driver);

/*
 * Returns 1 if a call may fail without a report, because the library makes up for the failure, or it changes nothing.
 */
int faulty_is_harmless(const char *call);

/*
 * Plans that the n-th call from now on that can fail (1: the next) returns `status`; n = 0: none.  Lost devices
 * recover.
 */
void faulty_plan(long n, int status);

#endif
