/*
 * fake_libcuda.c - a libcuda.so.1 whose devices are host memory: runs the CUDA driver on machines without a GPU.
 *
 * test_driver_libcuda.sh builds it and makes test_driver load it.  It requires a current context as libcuda does, knows
 * the two kernels of driver_kernels.h, and breaks when `crash` runs, until its context is destroyed.  When the process
 * ends, it prints a line of TAP for objects that were not released.
 *
 *   FAKE_CUDA_DEVICES   number of devices, default 2
 *   FAKE_CUDA_INIT      the result of cuInit
 *   FAKE_CUDA_IDLE      1: every other kernel exists too and does nothing
 *
 * With fake_hip.h it is a libamdhip64.so.  Linked with test/hip/emulator.cpp it runs the library's own kernels.
 */
#define _POSIX_C_SOURCE 200809L
#include "driver/cuda/cuda_api.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NOT_FOUND = 500, LOST = 700 };

struct CUctx_st {
    int holders, broken;
    atomic_int live; /* objects that belong to it */
};

struct CUevent_st {
    unsigned flags;
    int pending;
};

struct CUfunc_st {
    int crashes, idle, shared;
    const void *kernel; /* of the emulator */
};

#ifndef FAKE_VERSION
#define FAKE_VERSION 12040
#define FAKE_BUNDLE  ".version"
#define FAKE_DYNAMIC 49152
#define FAKE_ATTRIBUTES                                                                                                \
    {                                                                                                                  \
        {1, 1024}, {8, 49152}, {10, 32}, {16, 84}, {38, 6 << 20}, {39, 1536}, {75, 8}, {76, 6}, {81, 102400},          \
            {97, 101376},                                                                                              \
    }
#endif

/* The emulator, if there is one. */
const void *emulated_find(const char *name) __attribute__((weak));
void emulated_launch(const void *kernel, unsigned x, unsigned y, unsigned n, unsigned shared, void **arguments)
    __attribute__((weak));
static struct CUfunc_st emulated[1024];

static struct CUctx_st primary[2];
static _Thread_local sap_cu_context stack[16] = {NULL};
static _Thread_local int depth;
static int wrong; /* uses that libcuda would not survive */

#define CALL(name, ...)                                                                                                \
    int name(__VA_ARGS__);                                                                                             \
    int name(__VA_ARGS__)

static int number_of(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text ? (int)strtol(text, NULL, 10) : otherwise;
}

/* Returns the result of calls that need a context; *c: the current one. */
static int ready(sap_cu_context *c)
{
    *c = depth > 0 ? stack[depth - 1] : NULL;
    if (!*c || (*c)->holders == 0) return INVALID_CONTEXT;
    return (*c)->broken ? LOST : 0;
}

static int need(void)
{
    sap_cu_context c;
    return ready(&c);
}

/* Makes an object of the current context. */
static int make(void *room, size_t bytes)
{
    sap_cu_context c;
    const int result = ready(&c);
    if (result) return result;
    if (bytes > (size_t)1 << 40) return OUT_OF_MEMORY;
    void *p = calloc(1, bytes);
    if (!p) return OUT_OF_MEMORY;
    memcpy(room, &p, sizeof p);
    atomic_fetch_add(&c->live, 1);
    return 0; /* cppcheck-suppress memleak ; the pointer is in *room */
}

/* Releases an object, also of a broken context, so that memory checkers find no leak. */
static int unmake(void *p)
{
    sap_cu_context c;
    const int result = ready(&c);
    if (result && result != LOST) return result;
    atomic_fetch_sub(&c->live, 1);
    free(p);
    return result;
}

__attribute__((destructor)) static void report(void)
{
    for (int k = 0; k < 2; k++)
        if (primary[k].holders || primary[k].live)
            printf("not ok - device %d: %d holders, %d things not given back\n", k, primary[k].holders,
                   (int)primary[k].live);
    if (depth || wrong) printf("not ok - %d contexts left current, %d wrong calls\n", depth, wrong);
}

/* ---------------------------------------------------------------- the process, devices */

CALL(cuInit, unsigned flags) { return flags ? INVALID_VALUE : number_of("FAKE_CUDA_INIT", 0); }

CALL(cuDriverGetVersion, int *version)
{
    *version = FAKE_VERSION;
    return 0;
}

CALL(cuGetErrorName, int result, const char **text)
{
    (void)result;
    *text = "CUDA_ERROR_OF_FAKE";
    return 0;
}

CALL(cuGetErrorString, int result, const char **text)
{
    (void)result;
    *text = "as the fake says";
    return 0;
}

CALL(cuDeviceGetCount, int *count)
{
    *count = number_of("FAKE_CUDA_DEVICES", 2);
    return 0;
}

CALL(cuDeviceGet, sap_cu_device *device, int number)
{
    *device = number;
    return 0;
}

CALL(cuDeviceGetName, char *name, int room, sap_cu_device device)
{
    (void)snprintf(name, (size_t)room, "Fake %d", device);
    return 0;
}

CALL(cuDeviceGetUuid, unsigned char *uuid, sap_cu_device device)
{
    for (int k = 0; k < 16; k++) uuid[k] = (unsigned char)(16 * k + device);
    return 0;
}

CALL(cuDeviceGetPCIBusId, char *bus, int room, sap_cu_device device)
{
    (void)snprintf(bus, (size_t)room, "0000:3%c:00.0", 'A' + device);
    return 0;
}

CALL(cuDeviceTotalMem_v2, size_t *bytes, sap_cu_device device)
{
    (void)device;
    *bytes = (size_t)1 << 34;
    return 0;
}

CALL(cuDeviceGetAttribute, int *value, int attribute, sap_cu_device device)
{
    static const int known[][2] = FAKE_ATTRIBUTES;
    (void)device;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k][0] == attribute) {
            *value = known[k][1];
            return 0;
        }
    return INVALID_VALUE;
}

/* ---------------------------------------------------------------- contexts */

CALL(cuDevicePrimaryCtxRetain, sap_cu_context *context, sap_cu_device device)
{
    primary[device].holders++;
    *context = &primary[device];
    return primary[device].broken ? LOST : 0;
}

/* Destroys the context after its last release. */
CALL(cuDevicePrimaryCtxRelease_v2, sap_cu_device device)
{
    struct CUctx_st *c = &primary[device];
    if (c->holders == 0) return INVALID_CONTEXT;
    if (--c->holders > 0) return 0;
    c->broken = 0;
    return 0;
}

CALL(cuCtxPushCurrent_v2, sap_cu_context context)
{
    if (depth == 16) return INVALID_VALUE;
    stack[depth++] = context;
    return 0;
}

CALL(cuCtxPopCurrent_v2, sap_cu_context *context)
{
    if (depth == 0) return INVALID_CONTEXT;
    *context = stack[--depth];
    return 0;
}

CALL(cuCtxGetCurrent, void **context)
{
    *context = depth > 0 ? stack[depth - 1] : NULL;
    return 0;
}

CALL(cuCtxSetCurrent, void *context)
{
    depth = context ? 1 : 0;
    stack[0] = context;
    return 0;
}

/* ---------------------------------------------------------------- memory */

CALL(cuMemGetInfo_v2, size_t *left, size_t *all)
{
    *left = *all = (size_t)1 << 34;
    return need();
}

CALL(cuMemAlloc_v2, sap_cu_address *address, size_t bytes)
{
    void *p = NULL;
    const int result = bytes ? make(&p, bytes) : INVALID_VALUE;
    *address = (uintptr_t)p;
    return result;
}

CALL(cuMemFree_v2, sap_cu_address address) { return unmake((void *)(uintptr_t)address); }

CALL(cuMemHostAlloc, void **host, size_t bytes, unsigned flags)
{
    return flags == 3 && bytes <= (size_t)1 << 40 ? make(host, bytes) : INVALID_VALUE;
}

CALL(cuMemHostGetDevicePointer_v2, sap_cu_address *address, void *host, unsigned flags)
{
    *address = (uintptr_t)host;
    return flags ? INVALID_VALUE : need();
}

CALL(cuMemFreeHost, void *host) { return unmake(host); }

static int move(void *to, const void *from, size_t bytes, sap_cu_stream stream)
{
    const int result = stream ? need() : INVALID_VALUE;
    if (result == 0) memmove(to, from, bytes);
    return result;
}

CALL(cuMemcpyHtoDAsync_v2, sap_cu_address to, const void *from, size_t bytes, sap_cu_stream stream)
{
    return move((void *)(uintptr_t)to, from, bytes, stream);
}

CALL(cuMemcpyDtoHAsync_v2, void *to, sap_cu_address from, size_t bytes, sap_cu_stream stream)
{
    return move(to, (const void *)(uintptr_t)from, bytes, stream);
}

CALL(cuMemcpyDtoDAsync_v2, sap_cu_address to, sap_cu_address from, size_t bytes, sap_cu_stream stream)
{
    return move((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, stream);
}

CALL(cuMemcpyPeerAsync, sap_cu_address to, sap_cu_context to_context, sap_cu_address from, sap_cu_context from_context,
     size_t bytes, sap_cu_stream stream)
{
    if (!to_context || !from_context) return INVALID_CONTEXT;
    return move((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, stream);
}

CALL(cuMemsetD8Async, sap_cu_address to, unsigned char byte, size_t bytes, sap_cu_stream stream)
{
    const int result = stream ? need() : INVALID_VALUE;
    if (result == 0) memset((void *)(uintptr_t)to, byte, bytes);
    return result;
}

/* ---------------------------------------------------------------- streams, events */

CALL(cuStreamCreate, sap_cu_stream *stream, unsigned flags) { return flags == 1 ? make(stream, 1) : INVALID_VALUE; }
CALL(cuStreamDestroy_v2, sap_cu_stream stream) { return unmake(stream); }
CALL(cuStreamSynchronize, sap_cu_stream stream) { return stream ? need() : INVALID_VALUE; }

CALL(cuStreamWaitEvent, sap_cu_stream stream, sap_cu_event event, unsigned flags)
{
    return stream && event && !flags ? need() : INVALID_VALUE;
}

CALL(cuEventCreate, sap_cu_event *event, unsigned flags)
{
    const int result = make(event, sizeof **event);
    if (result == 0) (*event)->flags = flags;
    return result;
}

CALL(cuEventDestroy_v2, sap_cu_event event) { return unmake(event); }

CALL(cuEventRecord, sap_cu_event event, sap_cu_stream stream)
{
    event->pending = 3;
    return stream ? need() : INVALID_VALUE;
}

CALL(cuEventQuery, sap_cu_event event)
{
    const int result = need();
    if (result) return result;
    return event->pending > 0 && event->pending-- ? 600 : 0;
}

CALL(cuEventSynchronize, sap_cu_event event)
{
    event->pending = 0;
    return need();
}

CALL(cuEventElapsedTime, float *ms, sap_cu_event from, sap_cu_event to)
{
    *ms = 1;
    return (from->flags & 2) || (to->flags & 2) ? 400 : need();
}

/* ---------------------------------------------------------------- modules, kernels */

CALL(cuModuleLoadData, sap_cu_module *module, const void *image)
{
    const uint32_t fat_binary = 0xba55ed50U;
    if (memcmp(image, FAKE_BUNDLE, sizeof FAKE_BUNDLE - 1) != 0 && memcmp(image, &fat_binary, 4) != 0)
        return INVALID_IMAGE;
    return make(module, 3 * sizeof(struct CUfunc_st));
}

CALL(cuModuleUnload, sap_cu_module module) { return unmake(module); }

CALL(cuModuleGetFunction, sap_cu_function *function, sap_cu_module module, const char *name)
{
    sap_cu_function all = (sap_cu_function)(void *)module;
    const void *const kernel = emulated_find ? emulated_find(name) : NULL;
    int at = 0;
    if (kernel) {
        while (emulated[at].kernel && emulated[at].kernel != kernel) at++;
        emulated[at] = (struct CUfunc_st){.shared = 101376, .kernel = kernel};
        *function = &emulated[at];
        return need();
    }
    const int crashes = strcmp(name, "crash") == 0, idle = !crashes && strcmp(name, "add") != 0;
    if (idle && !number_of("FAKE_CUDA_IDLE", 0)) return NOT_FOUND;
    *function = &all[crashes + 2 * idle];
    (*function)->crashes = crashes;
    (*function)->idle = idle; /* one object for all kernels; it keeps the most shared memory that any was given */
    if (!idle || (*function)->shared == 0) (*function)->shared = FAKE_DYNAMIC;
    return need();
}

CALL(cuFuncGetAttribute, int *value, int attribute, sap_cu_function function)
{
    *value = function->shared;
    return attribute == 8 ? need() : INVALID_VALUE;
}

CALL(cuFuncSetAttribute, sap_cu_function function, int attribute, int value)
{
    if (attribute != 8 || value > 101376) return INVALID_VALUE;
    if (!function->idle || value > function->shared) function->shared = value;
    return need();
}

CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *groups, sap_cu_function function, int threads, size_t shared)
{
    *groups = threads > 0 ? 1536 / threads : 0;
    if (shared > (size_t)function->shared) *groups = 0;
    return need();
}

static void add(void **arguments)
{
    sap_cu_address to, nothing;
    int32_t n, more;
    memcpy(&to, arguments[0], sizeof to);
    memcpy(&nothing, arguments[1], sizeof nothing);
    memcpy(&n, arguments[2], sizeof n);
    memcpy(&more, arguments[3], sizeof more);
    if (nothing) wrong++;
    for (int k = 0; k < n; k++) ((int32_t *)(uintptr_t)to)[k] += more;
}

CALL(cuLaunchKernel, sap_cu_function function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
     unsigned threads_y, unsigned threads_z, unsigned shared, sap_cu_stream stream, void **arguments, void **extra)
{
    sap_cu_context c;
    const int result = ready(&c);
    if (result) return result;
    if (!stream || extra || x * y * z == 0 || threads_x * threads_y * threads_z > 1024) return INVALID_VALUE;
    if (shared > (unsigned)function->shared) return INVALID_VALUE;
    if (function->crashes)
        c->broken = 1; /* the next call reports it */
    else if (function->kernel)
        emulated_launch(function->kernel, x, y, threads_x, shared, arguments);
    else if (!function->idle)
        add(arguments);
    return 0;
}
