/* gpu_launch.h - shorthands for files that launch kernels and pass on driver statuses. */
#ifndef SAP_GPU_LAUNCH_H
#define SAP_GPU_LAUNCH_H

#include <stddef.h>

#include "base/fpenv.h"
#include "driver/driver.h"

/* Returns from the function with the status of a call that failed. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        const int try_status = (call);                                                                                 \
        if (try_status) return try_status;                                                                             \
    } while (0)

/* Runs a statement in the floating-point environment of the library, and restores the caller's. */
#define GUARDED(statement)                                                                                             \
    do {                                                                                                               \
        const sap_fpguard caller_of_guarded = sap_fp_guard();                                                          \
        statement;                                                                                                     \
        sap_fp_release(caller_of_guarded);                                                                             \
    } while (0)

/* Arguments of kernels. */
#define MEM(buffer)                                                                                                    \
    {                                                                                                                  \
        (buffer).mem, 0                                                                                                \
    }
#define VALUE(x)                                                                                                       \
    {                                                                                                                  \
        &(x), sizeof(x)                                                                                                \
    }
#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

/* Launches groups[0] x groups[1] groups of `threads` threads, with n arguments; a driver status. */
static inline int sap_gpu_launch(struct sap_stream *stream, const struct sap_driver *d, struct sap_function *f,
                                 const unsigned groups[2], unsigned threads, size_t shared,
                                 const struct sap_argument *a, int n)
{
    const struct sap_launch launch = {{groups[0], groups[1], 1}, threads, shared, a, n};
    return d->launch(stream, f, &launch);
}

#endif
