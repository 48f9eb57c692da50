/*
 * hip_api.c - AMD's HIP for the driver of cuda/: the names that libamdhip64.so has for the calls of cuda_api.h, and
 * those that it makes in another way.
 */
#define _GNU_SOURCE /* memmem */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver/cuda/cuda_api.h"
#include "driver/driver.h"

/* Calls that have other arguments than those of libcuda. */
static struct {
    const char *(*error_name)(int result);
    const char *(*error_string)(int result);
    int (*copy)(void *to, const void *from, size_t bytes, int kind, sap_cu_stream stream);
    int (*properties)(void *properties, int device);
} hip;

static int error_name(int result, const char **text)
{
    *text = hip.error_name(result);
    return 0;
}

static int error_string(int result, const char **text)
{
    *text = hip.error_string(result);
    return 0;
}

/* HIP finds the devices by the addresses. */
static int copy_peer(sap_cu_address to, sap_cu_context to_context, sap_cu_address from, sap_cu_context from_context,
                     size_t bytes, sap_cu_stream stream)
{
    enum { BY_ADDRESS = 4 }; /* hipMemcpyDefault */
    (void)to_context, (void)from_context;
    void *target = NULL, *source = NULL;
    memcpy(&target, &to, sizeof target);
    memcpy(&source, &from, sizeof source);
    return hip.copy(target, source, bytes, BY_ADDRESS, stream);
}

/* ---------------------------------------------------------------- the library and its calls */

/* one(name of cuda_api.h, name in HIP, needed): the calls with the arguments of libcuda's. */
/* clang-format off */
#define HIP_CALLS(one)                                                                                                 \
    one(init, "hipInit", 1)                                                                                            \
    one(driver_version, "hipDriverGetVersion", 1)                                                                      \
    one(device_count, "hipGetDeviceCount", 1)                                                                          \
    one(device_get, "hipDeviceGet", 1)                                                                                 \
    one(device_name, "hipDeviceGetName", 1)                                                                            \
    one(device_uuid, "hipDeviceGetUuid", 0)                                                                            \
    one(device_bus, "hipDeviceGetPCIBusId", 1)                                                                         \
    one(device_memory, "hipDeviceTotalMem", 1)                                                                         \
    one(device_attribute, "hipDeviceGetAttribute", 1)                                                                  \
    one(context_retain, "hipDevicePrimaryCtxRetain", 1)                                                                \
    one(context_release, "hipDevicePrimaryCtxRelease", 1)                                                              \
    one(context_push, "hipCtxPushCurrent", 1)                                                                          \
    one(context_pop, "hipCtxPopCurrent", 1)                                                                            \
    one(memory_info, "hipMemGetInfo", 1)                                                                               \
    one(allocate, "hipMalloc", 1)                                                                                      \
    one(release, "hipFree", 1)                                                                                         \
    one(can_access_peer, "hipDeviceCanAccessPeer", 0)                                                                  \
    one(granularity, "hipMemGetAllocationGranularity", 0)                                                              \
    one(create, "hipMemCreate", 0)                                                                                     \
    one(destroy, "hipMemRelease", 0)                                                                                   \
    one(address_reserve, "hipMemAddressReserve", 0)                                                                    \
    one(address_free, "hipMemAddressFree", 0)                                                                          \
    one(map, "hipMemMap", 0)                                                                                           \
    one(unmap, "hipMemUnmap", 0)                                                                                       \
    one(set_access, "hipMemSetAccess", 0)                                                                              \
    one(host_allocate, "hipHostMalloc", 1)                                                                             \
    one(host_address, "hipHostGetDevicePointer", 1)                                                                    \
    one(host_release, "hipHostFree", 1)                                                                                \
    one(pointer, "hipDrvPointerGetAttributes", 0)                                                                      \
    one(copy_in, "hipMemcpyHtoDAsync", 1)                                                                              \
    one(copy_out, "hipMemcpyDtoHAsync", 1)                                                                             \
    one(copy, "hipMemcpyDtoDAsync", 1)                                                                                 \
    one(fill, "hipMemsetD8Async", 1)                                                                                   \
    one(stream_create, "hipStreamCreateWithFlags", 1)                                                                  \
    one(stream_create_urgent, "hipStreamCreateWithPriority", 0)                                                        \
    one(priorities, "hipDeviceGetStreamPriorityRange", 0)                                                              \
    one(stream_destroy, "hipStreamDestroy", 1)                                                                         \
    one(stream_synchronize, "hipStreamSynchronize", 1)                                                                 \
    one(stream_wait, "hipStreamWaitEvent", 1)                                                                          \
    one(event_create, "hipEventCreateWithFlags", 1)                                                                    \
    one(event_destroy, "hipEventDestroy", 1)                                                                           \
    one(event_record, "hipEventRecord", 1)                                                                             \
    one(event_query, "hipEventQuery", 1)                                                                               \
    one(event_synchronize, "hipEventSynchronize", 1)                                                                   \
    one(event_elapsed, "hipEventElapsedTime", 1)                                                                       \
    one(module_load, "hipModuleLoadData", 1)                                                                           \
    one(module_unload, "hipModuleUnload", 1)                                                                           \
    one(module_function, "hipModuleGetFunction", 1)                                                                    \
    one(function_get, "hipFuncGetAttribute", 1)                                                                        \
    one(occupancy, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", 1)                                            \
    one(launch, "hipModuleLaunchKernel", 1)
/* clang-format on */

#define SYMBOL(name, symbol, needed) {symbol, NULL, needed, offsetof(struct sap_cuda_api, name)},
static const struct sap_cuda_symbol symbols[] = {HIP_CALLS(SYMBOL)};
#undef SYMBOL

#define NAME(name, symbol, needed) .name = symbol,
static const struct sap_cuda_names names = {HIP_CALLS(NAME).copy_peer = "hipMemcpyAsync"};
#undef NAME

/* Returns the name of a missing call, or NULL. */
static const char *find_others(void *library)
{
    if (!sap_cuda_find(library, &hip.error_name, "hipGetErrorName", NULL)) return "hipGetErrorName";
    if (!sap_cuda_find(library, &hip.error_string, "hipGetErrorString", NULL)) return "hipGetErrorString";
    if (!sap_cuda_find(library, &hip.copy, "hipMemcpyAsync", NULL)) return "hipMemcpyAsync";
    if (!sap_cuda_find(library, &hip.properties, "hipGetDevicePropertiesR0600", "hipGetDeviceProperties"))
        return "hipGetDeviceProperties";
    return NULL;
}

static const char *find_hip(struct sap_cuda *cuda)
{
    static const char *const libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                            "libamdhip64.so"};
    void *library = NULL;
    for (size_t k = 0; k < sizeof libraries / sizeof *libraries && !library; k++)
        library = dlopen(libraries[k], RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        (void)sap_cuda_refuse(0, "no ROCm: %s", why ? why : "libamdhip64.so does not load");
        return sap_cuda_error;
    }
    const char *missing = sap_cuda_find_calls(library, &cuda->api, symbols, (int)(sizeof symbols / sizeof *symbols));
    if (!missing) missing = find_others(library);
    if (missing) {
        (void)sap_cuda_refuse(0, "ROCm is too old: its libamdhip64.so has no %s", missing);
        return sap_cuda_error;
    }
    cuda->api.error_name = error_name;
    cuda->api.error_string = error_string;
    cuda->api.copy_peer = copy_peer;
    return NULL;
}

/* ---------------------------------------------------------------- the kind */

static void load_hip(void) { sap_cuda_load(&sap_hip); }

/* HIP's version is 10,000,000 times the first number, and 100,000 times the second. */
static int major_of(const struct sap_cuda *cuda) { return cuda->version / 10000000; }

static void write_version(const struct sap_cuda *cuda, char *text, size_t room)
{
    (void)snprintf(text, room, "HIP %d.%d", major_of(cuda), cuda->version / 100000 % 100);
}

/*
 * Writes "gfx90a".  hipDeviceProp_t has it, at a place that differs between releases: it is the only text of the
 * properties that begins so.  Options of the chip, as in gfx90a:sramecc+:xnack-, are left out.
 */
static void write_architecture(const struct sap_cuda *cuda, sap_cu_device device, char *text, size_t room)
{
    union {
        unsigned char bytes[8192]; /* more than any release fills */
        double aligned;
    } properties = {{0}};
    (void)cuda;
    text[0] = '\0';
    if (hip.properties(&properties, device) != 0) return;
    const char *const found = memmem(properties.bytes, sizeof properties.bytes - 32, "gfx", 3);
    if (!found) return;
    const size_t length = strspn(found, "gfx0123456789abcdef");
    (void)snprintf(text, room, "%.*s", (int)length, found);
}

/* hipMemoryTypeDevice */
static int type_of_device(const struct sap_cuda *cuda) { return major_of(cuda) >= 6 ? 2 : 1; }

/* The numbers are those of hipDeviceAttribute_t. */
static const struct sap_cuda_kind kind = {.name = "HIP",
                                          .library = "libamdhip64",
                                          .names = &names,
                                          .kernels = &sap_embedded_hip,
                                          .find = find_hip,
                                          .load = load_hip,
                                          .version = write_version,
                                          .architecture = write_architecture,
                                          .type_of_device = type_of_device,
                                          .threads_per_block = 56,
                                          .shared_per_block = 74,
                                          .warp = 87,
                                          .units = 63,
                                          .l2 = 19,
                                          .threads_per_unit = 57,
                                          .shared_per_unit = 10002};

struct sap_cuda sap_hip = {.once = PTHREAD_ONCE_INIT, .kind = &kind};
