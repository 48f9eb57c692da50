/*
 * faulty_driver.h - any driver, of which the n-th call that can fail does: to walk through every fault that the host
 * flow may meet.
 *
 *     const struct sap_driver *d = faulty_wrap(&stub_driver);
 *     for (long n = 1;; n++) {
 *         faulty_plan(n, SAP_DRIVER_MEMORY);
 *         ... what is tested, over d ...
 *         if (!faulty.failed) break;          // fewer than n calls were made
 *     }
 *
 * The call that fails does not reach the driver.  After SAP_DRIVER_LOST every
 * later call on that device fails in the same way until all who have it open
 * have closed it and it is opened again, as with a real device.
 */
#ifndef FAULTY_DRIVER_H
#define FAULTY_DRIVER_H

#include "driver/driver.h"

#include <stdatomic.h>

struct faulty_state {
    atomic_long calls;                 /* that could fail, since faulty_plan */
    atomic_int failed;                 /* calls that were made to fail, later ones on a lost device too */
    _Atomic(const char *) failed_call; /* the first of them, such as "copy_in"; NULL: none */
    atomic_int failed_device;          /* its device */
    int tells;                         /* of the first call that fails, on stderr */
};

extern struct faulty_state faulty;

/* The kinds of faults by their names: "memory", "launch", "lost", "error"; the last is NULL. */
extern const struct faulty_kind {
    const char *name;
    int status;
} faulty_kinds[];

/* The table over `inner`; one at a time, nothing may be open. */
const struct sap_driver *faulty_wrap(const struct sap_driver *inner);
/* The same for driver 0 or 1, where two are wrapped at a time. */
const struct sap_driver *faulty_wrap_as(int number, const struct sap_driver *inner);

/*
 * A driver, CUDA's or OpenCL's, with the fault that SAPPORO_FAULT asks for, "n" or "n:memory" (launch, lost, error), or
 * as it is if that asks for none: for libraries built with FAULTS=1.  Calls of both drivers are counted together.  The
 * variable is read once; stderr tells of the fault, with the driver's name.
 */
const struct sap_driver *faulty_from_environment(const struct sap_driver *driver);

/* Whether it may fail without a word: what then is made good, or changes nothing. */
int faulty_is_harmless(const char *call);

/* The n-th call from here that can fail (1: the next) gives `status`; n = 0: none does.  Devices are well again. */
void faulty_plan(long n, int status);

#endif
