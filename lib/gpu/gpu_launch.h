/* gpu_launch.h - shorthands for files that launch kernels and pass on driver statuses; typed launches. */
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

#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

/* Launches groups[0] x groups[1] groups of `threads` threads, with n arguments; a driver status. */
static inline int sap_gpu_launch(struct sap_stream *stream, const struct sap_driver *d, struct sap_function *f,
                                 const unsigned groups[2], unsigned threads, size_t shared,
                                 const struct sap_argument *a, int n)
{
    const struct sap_launch launch = {
        .groups = {groups[0], groups[1], 1}, .threads = threads, .shared = shared, .argument = a, .arguments = n};
    return d->launch(stream, f, &launch);
}

/* ---- rows of gpu_kernel_list.h ---- */

/* The members of a struct of kernels, and the same as entries of a list for sap_gpu_load_module; f: that struct. */
#define SAP_KERNEL_MEMBER(unused, kernel, threads) struct sap_function *kernel;
#define SAP_KERNEL_WANTED(f, kernel, threads)      {#kernel, &(f)->kernel},

/* A parameter of a kernel as one of a function, and as an argument of a launch. */
#define SAP_PARAMETER_M(name)       struct sap_mem *name
#define SAP_PARAMETER_V(type, name) type name
#define SAP_ARGUMENT_M(name)                                                                                           \
    {                                                                                                                  \
        name, 0                                                                                                        \
    }
#define SAP_ARGUMENT_V(type, name)                                                                                     \
    {                                                                                                                  \
        &name, sizeof name                                                                                             \
    }

/*
 * Define sap_launch_KERNEL(session, kernels, n, arguments of the kernel ...), which returns a driver status. It
 * launches a thread for each of n elements (EARLY: of a kernel that begins with launches_barrier), or n groups.
 * `kernels` is the struct of the loaded kernels.
 */
#define SAP_LAUNCH_EACH(kernels, kernel, threads)   SAP_LAUNCH_BY(sap_session_for_each, kernels, kernel, threads)
#define SAP_LAUNCH_EARLY(kernels, kernel, threads)  SAP_LAUNCH_BY(sap_session_early, kernels, kernel, threads)
#define SAP_LAUNCH_GROUPS(kernels, kernel, threads) SAP_LAUNCH_BY(sap_session_launch, kernels, kernel, threads)
#define SAP_LAUNCH_BY(start, kernels, kernel, threads)                                                                 \
    static inline int sap_launch_##kernel(const struct sap_gpu_session *in_session, const kernels *loaded,             \
                                          int launched, SAP_K_##kernel(SAP_PARAMETER_M, SAP_PARAMETER_V))              \
    {                                                                                                                  \
        const struct sap_argument arguments[] = {SAP_K_##kernel(SAP_ARGUMENT_M, SAP_ARGUMENT_V)};                      \
        return start(in_session, loaded->kernel, launched, threads, arguments, COUNT(arguments));                      \
    }

#endif
