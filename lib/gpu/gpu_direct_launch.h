/* gpu_direct_launch.h - typed launches of the kernels of direct sums (the rows SAP_KERNELS_DIRECT). */
#ifndef SAP_GPU_DIRECT_LAUNCH_H
#define SAP_GPU_DIRECT_LAUNCH_H

#include "device/gpu_layout.h"
#include "device/hermite_layout.h"
#include "gpu/gpu_kernel_list.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "physics/hermite.h" /* struct sap_hermite_rule */

/* Where a kernel runs, and by how many groups of so many threads. */
struct sap_gpu_grid {
    struct sap_stream *stream;
    const struct sap_driver *driver;
    unsigned groups[2], threads;
    size_t shared; /* bytes of dynamic shared memory */
    int together;  /* 1: the groups wait for each other */
    int early;     /* 1: the kernel begins with launches_barrier */
};

/*
 * Define sap_direct_KERNEL(grid, handle, arguments of the kernel ...), which returns a driver status. The handle, a
 * member of struct sap_gpu_kernels, is that of a kernel with these parameters.
 */
#define SAP_DIRECT_LAUNCH(kernel)                                                                                      \
    static inline int sap_direct_##kernel(const struct sap_gpu_grid *grid, struct sap_kernel_##kernel loaded,          \
                                          SAP_K_##kernel(SAP_PARAMETER_M, SAP_PARAMETER_V))                            \
    {                                                                                                                  \
        const struct sap_argument arguments[] = {SAP_K_##kernel(SAP_ARGUMENT_M, SAP_ARGUMENT_V)};                      \
        const struct sap_launch launch = {.groups = {grid->groups[0], grid->groups[1], 1},                             \
                                          .threads = grid->threads,                                                    \
                                          .shared = grid->shared,                                                      \
                                          .argument = arguments,                                                       \
                                          .arguments = COUNT(arguments),                                               \
                                          .together = grid->together,                                                  \
                                          .early = grid->early};                                                       \
        return grid->driver->launch(grid->stream, loaded.handle, &launch);                                             \
    }
SAP_KERNELS_DIRECT(SAP_DIRECT_LAUNCH)

#endif
