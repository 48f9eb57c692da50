/*
 * fake_hip.h - makes fake_libcuda.c a libamdhip64.so: HIP's names, numbers of attributes, and calls of other arguments.
 *
 * Included first, with -include.
 */
#ifndef FAKE_HIP_H
#define FAKE_HIP_H

#include <stddef.h>
#include <string.h>

#define cuInit                                      hipInit
#define cuDriverGetVersion                          hipDriverGetVersion
#define cuDeviceGetCount                            hipGetDeviceCount
#define cuDeviceGet                                 hipDeviceGet
#define cuDeviceGetName                             hipDeviceGetName
#define cuDeviceGetUuid                             hipDeviceGetUuid
#define cuDeviceGetPCIBusId                         hipDeviceGetPCIBusId
#define cuDeviceTotalMem_v2                         hipDeviceTotalMem
#define cuDeviceGetAttribute                        hipDeviceGetAttribute
#define cuDevicePrimaryCtxRetain                    hipDevicePrimaryCtxRetain
#define cuDevicePrimaryCtxRelease_v2                hipDevicePrimaryCtxRelease
#define cuCtxPushCurrent_v2                         hipCtxPushCurrent
#define cuCtxPopCurrent_v2                          hipCtxPopCurrent
#define cuMemGetInfo_v2                             hipMemGetInfo
#define cuMemAlloc_v2                               hipMalloc
#define cuMemFree_v2                                hipFree
#define cuMemHostAlloc                              hipHostMalloc
#define cuMemHostGetDevicePointer_v2                hipHostGetDevicePointer
#define cuMemFreeHost                               hipHostFree
#define cuMemcpyHtoDAsync_v2                        hipMemcpyHtoDAsync
#define cuMemcpyDtoHAsync_v2                        hipMemcpyDtoHAsync
#define cuMemcpyDtoDAsync_v2                        hipMemcpyDtoDAsync
#define cuMemsetD8Async                             hipMemsetD8Async
#define cuStreamCreate                              hipStreamCreateWithFlags
#define cuStreamDestroy_v2                          hipStreamDestroy
#define cuStreamSynchronize                         hipStreamSynchronize
#define cuStreamWaitEvent                           hipStreamWaitEvent
#define cuEventCreate                               hipEventCreateWithFlags
#define cuEventDestroy_v2                           hipEventDestroy
#define cuEventRecord                               hipEventRecord
#define cuEventQuery                                hipEventQuery
#define cuEventSynchronize                          hipEventSynchronize
#define cuEventElapsedTime                          hipEventElapsedTime
#define cuModuleLoadData                            hipModuleLoadData
#define cuModuleUnload                              hipModuleUnload
#define cuModuleGetFunction                         hipModuleGetFunction
#define cuFuncGetAttribute                          hipFuncGetAttribute
#define cuOccupancyMaxActiveBlocksPerMultiprocessor hipModuleOccupancyMaxActiveBlocksPerMultiprocessor
#define cuLaunchKernel                              hipModuleLaunchKernel

#ifndef FAKE_WAVE
#define FAKE_WAVE 64 /* lanes of a wavefront: 64 as of a gfx90a, 32 as of a gfx1100 */
#endif
#define FAKE_VERSION 60032830
#define FAKE_BUNDLE  "__CLANG_OFFLOAD_BUNDLE__"
#define FAKE_DYNAMIC 65536
#define FAKE_ATTRIBUTES                                                                                                \
    {                                                                                                                  \
        {56, 1024}, {74, 65536}, {87, FAKE_WAVE}, {63, 104}, {19, 8 << 20}, {57, 2048}, {10002, 65536},                \
    }

const char *hipGetErrorName(int result);
const char *hipGetErrorName(int result)
{
    (void)result;
    return "hipErrorOfFake";
}

const char *hipGetErrorString(int result);
const char *hipGetErrorString(int result)
{
    (void)result;
    return "as the fake says";
}

/* hipDeviceProp_t, of which the driver wants the architecture. */
int hipGetDevicePropertiesR0600(void *properties, int device);
int hipGetDevicePropertiesR0600(void *properties, int device)
{
    (void)device;
    memset(properties, 0, 1472);
    (void)strcpy((char *)properties + 1160, FAKE_WAVE == 64 ? "gfx90a:sramecc+:xnack-" : "gfx1100");
    return 0;
}

int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    if (kind != 4 || !stream) return 1;
    memmove(to, from, bytes);
    return 0;
}

#endif
