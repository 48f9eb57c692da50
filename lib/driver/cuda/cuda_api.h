/*
 * cuda_api.h - the calls of NVIDIA's libcuda.so.1 that the CUDA driver uses, resolved at first use.
 *
 * Types and numbers are those of the binary interface, declared here so that the library builds and starts without
 * CUDA. Symbol names are those to which current headers map: cuMemAlloc is cuMemAlloc_v2. AMD's HIP has the same calls
 * under other names: lib/driver/hip fills the same table.
 */
#ifndef SAP_DRIVER_CUDA_API_H
#define SAP_DRIVER_CUDA_API_H

#include <pthread.h>
#include <stddef.h>

typedef int sap_cu_device;
typedef unsigned long long sap_cu_address; /* in device memory */
typedef struct CUctx_st *sap_cu_context;
typedef struct CUstream_st *sap_cu_stream;
typedef struct CUevent_st *sap_cu_event;
typedef struct CUmod_st *sap_cu_module;
typedef struct CUfunc_st *sap_cu_function;

struct sap_cuda;
struct sap_embedded;

/* CUmemLocation: a device. */
struct sap_cu_location {
    int type; /* 1: a device */
    int device;
};

/* CUmemAccessDesc: the access of a device to mapped memory. */
struct sap_cu_access {
    struct sap_cu_location location;
    int flags; /* 3: read and write */
};

/* CUmemAllocationProp: the kind of memory to allocate. */
struct sap_cu_allocation {
    int type;    /* 1: pinned, on the device */
    int handles; /* 0: for this process alone */
    struct sap_cu_location location;
    void *security;
    unsigned char flags[8];
};

/* CUlaunchAttribute, with its value: groups of a cluster along the axes; or 1, a launch that begins early. */
struct sap_cu_attribute {
    int id;
    char gap[4];
    unsigned value[3], rest[13];
};

/* CUlaunchConfig. */
struct sap_cu_launch {
    unsigned groups[3], threads[3], shared;
    sap_cu_stream stream;
    struct sap_cu_attribute *attribute;
    unsigned attributes;
};

/*
 * one(name here, name in libcuda, older name or NULL, needed, arguments). All calls return a result, 0 for success. If
 * `needed` lacks the bit 1, the call may be NULL.
 */
/* clang-format off */
#define SAP_CUDA_CALLS(one)                                                                                            \
    one(init, "cuInit", NULL, 1, (unsigned flags))                                                                     \
    one(driver_version, "cuDriverGetVersion", NULL, 1, (int *version))                                                 \
    one(error_name, "cuGetErrorName", NULL, 1, (int result, const char **text))                                        \
    one(error_string, "cuGetErrorString", NULL, 1, (int result, const char **text))                                    \
    one(device_count, "cuDeviceGetCount", NULL, 1, (int *count))                                                       \
    one(device_get, "cuDeviceGet", NULL, 1, (sap_cu_device *device, int number))                                       \
    one(device_name, "cuDeviceGetName", NULL, 1, (char *name, int room, sap_cu_device device))                         \
    one(device_uuid, "cuDeviceGetUuid_v2", "cuDeviceGetUuid", 0, (unsigned char uuid[16], sap_cu_device device))       \
    one(device_bus, "cuDeviceGetPCIBusId", NULL, 1, (char *bus, int room, sap_cu_device device))                       \
    one(device_memory, "cuDeviceTotalMem_v2", NULL, 1, (size_t *bytes, sap_cu_device device))                          \
    one(device_attribute, "cuDeviceGetAttribute", NULL, 1, (int *value, int attribute, sap_cu_device device))          \
    one(context_retain, "cuDevicePrimaryCtxRetain", NULL, 1, (sap_cu_context *context, sap_cu_device device))          \
    one(context_release, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease", 1, (sap_cu_device device))       \
    one(context_push, "cuCtxPushCurrent_v2", NULL, 1, (sap_cu_context context))                                        \
    one(context_pop, "cuCtxPopCurrent_v2", NULL, 1, (sap_cu_context *context))                                         \
    one(memory_info, "cuMemGetInfo_v2", NULL, 1, (size_t *left, size_t *all))                                          \
    one(allocate, "cuMemAlloc_v2", NULL, 1, (sap_cu_address *address, size_t bytes))                                   \
    one(release, "cuMemFree_v2", NULL, 1, (sap_cu_address address))                                                    \
    one(can_access_peer, "cuDeviceCanAccessPeer", NULL, 0, (int *can, sap_cu_device device, sap_cu_device peer))       \
    one(granularity, "cuMemGetAllocationGranularity", NULL, 0,                                                         \
        (size_t *bytes, const struct sap_cu_allocation *what, int option))                                             \
    one(create, "cuMemCreate", NULL, 0,                                                                                \
        (unsigned long long *handle, size_t bytes, const struct sap_cu_allocation *what, unsigned long long flags))    \
    one(destroy, "cuMemRelease", NULL, 0, (unsigned long long handle))                                                 \
    one(address_reserve, "cuMemAddressReserve", NULL, 0,                                                               \
        (sap_cu_address *address, size_t bytes, size_t alignment, sap_cu_address wish, unsigned long long flags))      \
    one(address_free, "cuMemAddressFree", NULL, 0, (sap_cu_address address, size_t bytes))                             \
    one(map, "cuMemMap", NULL, 0,                                                                                      \
        (sap_cu_address address, size_t bytes, size_t offset, unsigned long long handle, unsigned long long flags))    \
    one(unmap, "cuMemUnmap", NULL, 0, (sap_cu_address address, size_t bytes))                                          \
    one(set_access, "cuMemSetAccess", NULL, 0,                                                                         \
        (sap_cu_address address, size_t bytes, const struct sap_cu_access *access, size_t n))                          \
    one(host_allocate, "cuMemHostAlloc", NULL, 1, (void **host, size_t bytes, unsigned flags))                         \
    one(host_address, "cuMemHostGetDevicePointer_v2", NULL, 1,                                                         \
        (sap_cu_address *address, void *host, unsigned flags))                                                         \
    one(host_release, "cuMemFreeHost", NULL, 1, (void *host))                                                          \
    one(pointer, "cuPointerGetAttributes", NULL, 0,                                                                    \
        (unsigned n, int *attribute, void **value, sap_cu_address address))                                            \
    one(copy_in, "cuMemcpyHtoDAsync_v2", NULL, 1,                                                                      \
        (sap_cu_address to, const void *from, size_t bytes, sap_cu_stream stream))                                     \
    one(copy_out, "cuMemcpyDtoHAsync_v2", NULL, 1,                                                                     \
        (void *to, sap_cu_address from, size_t bytes, sap_cu_stream stream))                                           \
    one(copy, "cuMemcpyDtoDAsync_v2", NULL, 1,                                                                         \
        (sap_cu_address to, sap_cu_address from, size_t bytes, sap_cu_stream stream))                                  \
    one(copy_peer, "cuMemcpyPeerAsync", NULL, 1,                                                                       \
        (sap_cu_address to, sap_cu_context to_context, sap_cu_address from, sap_cu_context from_context, size_t bytes, \
         sap_cu_stream stream))                                                                                        \
    one(fill, "cuMemsetD8Async", NULL, 1,                                                                              \
        (sap_cu_address to, unsigned char byte, size_t bytes, sap_cu_stream stream))                                   \
    one(stream_create, "cuStreamCreate", NULL, 1, (sap_cu_stream *stream, unsigned flags))                             \
    one(stream_create_urgent, "cuStreamCreateWithPriority", NULL, 0,                                                   \
        (sap_cu_stream *stream, unsigned flags, int priority))                                                         \
    one(priorities, "cuCtxGetStreamPriorityRange", NULL, 0, (int *least, int *greatest))                               \
    one(stream_destroy, "cuStreamDestroy_v2", NULL, 1, (sap_cu_stream stream))                                         \
    one(stream_synchronize, "cuStreamSynchronize", NULL, 1, (sap_cu_stream stream))                                    \
    one(stream_wait, "cuStreamWaitEvent", NULL, 1, (sap_cu_stream stream, sap_cu_event event, unsigned flags))         \
    one(event_create, "cuEventCreate", NULL, 1, (sap_cu_event *event, unsigned flags))                                 \
    one(event_destroy, "cuEventDestroy_v2", NULL, 1, (sap_cu_event event))                                             \
    one(event_record, "cuEventRecord", NULL, 1, (sap_cu_event event, sap_cu_stream stream))                            \
    one(event_query, "cuEventQuery", NULL, 1, (sap_cu_event event))                                                    \
    one(event_synchronize, "cuEventSynchronize", NULL, 1, (sap_cu_event event))                                        \
    one(event_elapsed, "cuEventElapsedTime_v2", "cuEventElapsedTime", 1,                                               \
        (float *ms, sap_cu_event from, sap_cu_event to))                                                               \
    one(module_load, "cuModuleLoadData", NULL, 1, (sap_cu_module *module, const void *image))                          \
    one(module_unload, "cuModuleUnload", NULL, 1, (sap_cu_module module))                                              \
    one(module_function, "cuModuleGetFunction", NULL, 1,                                                               \
        (sap_cu_function *function, sap_cu_module module, const char *name))                                           \
    one(function_get, "cuFuncGetAttribute", NULL, 1, (int *value, int attribute, sap_cu_function function))            \
    one(function_set, "cuFuncSetAttribute", NULL, 1, (sap_cu_function function, int attribute, int value))             \
    one(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", NULL, 1,                                             \
        (int *groups, sap_cu_function function, int threads, size_t shared))                                           \
    one(launch, "cuLaunchKernel", NULL, 1,                                                                             \
        (sap_cu_function function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,         \
         unsigned threads_z, unsigned shared, sap_cu_stream stream, void **arguments, void **extra))                   \
    one(launch_more, "cuLaunchKernelEx", NULL, 0,                                                                      \
        (const struct sap_cu_launch *launch, sap_cu_function function, void **arguments, void **extra))                \
    one(clusters, "cuOccupancyMaxActiveClusters", NULL, 0,                                                             \
        (int *clusters, sap_cu_function function, const struct sap_cu_launch *launch))
/* clang-format on */

#define SAP_CUDA_MEMBER(name, symbol, older, needed, arguments) int(*name) arguments;
struct sap_cuda_api {
    SAP_CUDA_CALLS(SAP_CUDA_MEMBER)
};
#undef SAP_CUDA_MEMBER

/* The names of the calls, for messages. */
#define SAP_CUDA_NAME(name, symbol, older, needed, arguments) const char *name;
struct sap_cuda_names {
    SAP_CUDA_CALLS(SAP_CUDA_NAME)
};
#undef SAP_CUDA_NAME

/* What differs between CUDA and HIP, besides the names of calls. */
struct sap_cuda_kind {
    const char *name;                       /* "CUDA" */
    const char *library;                    /* "libcuda" */
    const struct sap_cuda_names *names;     /* of the calls */
    const struct sap_embedded *kernels;     /* those of the library, for messages */
    const char *(*find)(struct sap_cuda *); /* loads the vendor's library and its calls; NULL, or why not */
    void (*load)(void);                     /* for pthread_once: sap_cuda_load of this object */
    void (*version)(const struct sap_cuda *, char *text, size_t room); /* "CUDA 13.0" */
    void (*kernel_driver)(char *text, size_t room); /* writes what stands before it, or ""; NULL: nothing */
    void (*architecture)(const struct sap_cuda *, sap_cu_device, char *text, size_t room); /* "sm_90" */
    int (*type_of_device)(const struct sap_cuda *); /* the number of a pointer's type: memory of a device */
    /* Numbers of a device's attributes. */
    int threads_per_block, shared_per_block, shared_optin, shared_per_unit, warp, units, l2, threads_per_unit;
};

/* The state of CUDA, or of HIP, in this process: determined once and then constant. */
struct sap_cuda {
    pthread_once_t once;
    const struct sap_cuda_kind *kind;
    int usable;       /* the vendor's library is present and initialised */
    int devices;      /* number of devices */
    int version;      /* 13000: CUDA 13.0 */
    char reason[256]; /* why there are no devices, or the name of the driver */
    struct sap_cuda_api api;
};
extern struct sap_cuda sap_cuda, sap_hip;

/* Message of the last failed call of the CUDA or HIP driver in this thread. */
extern _Thread_local char sap_cuda_error[256];

/* Loads the vendor's library at the first call. SAP_DRIVER_OK, or UNSUPPORTED with the reason as this thread's error.
 */
int sap_cuda_ready(struct sap_cuda *cuda);
void sap_cuda_load(struct sap_cuda *cuda); /* once */

/* Stores the address of a call, or NULL, in `room`, a pointer to a function; returns whether the library has it. */
int sap_cuda_find(void *library, void *room, const char *symbol, const char *older);

/* Resolves all calls by a table of names; returns the name of a missing call that is needed, or NULL. */
struct sap_cuda_symbol {
    const char *symbol, *older;
    int needed;
    size_t member; /* its place in struct sap_cuda_api */
};
const char *sap_cuda_find_calls(void *library, struct sap_cuda_api *api, const struct sap_cuda_symbol *symbols, int n);

/* Translates a result of the vendor's library to a status; sets this thread's error if the call failed. */
int sap_cuda_check(const struct sap_cuda *cuda, int result, const char *call);

/* Makes a call of the table, and translates its result. */
#define SAP_CUDA_CALL(cuda, call, ...) sap_cuda_check(cuda, (cuda)->api.call(__VA_ARGS__), (cuda)->kind->names->call)

/* Sets this thread's error; returns status. */
int sap_cuda_refuse(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
