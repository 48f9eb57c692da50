/*
 * opencl_api.c - resolves OpenCL, its calls and devices once per process, and translates its results.
 */
#define _POSIX_C_SOURCE 200809L
#include "driver/opencl/opencl_api.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/process.h"
#include "base/static_program.h"
#include "driver/opencl/opencl_driver.h"
#include "variables.h"

struct sap_opencl sap_opencl = {.once = PTHREAD_ONCE_INIT};
_Thread_local char sap_opencl_error[256];

SAP_GUARD_AT_FORK(opencl, SAP_LOCK_OPENCL, &sap_opencl.lock)

/* ---------------------------------------------------------------- errors */

int sap_opencl_refuse(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sap_opencl_error, sizeof sap_opencl_error, format, arguments);
    va_end(arguments);
    return status;
}

/* OpenCL's errors: numbers, the action that a caller can take, and names. */
static const struct meaning {
    int result, status;
    const char *name;
} meanings[] = {
    {-1, SAP_DRIVER_UNSUPPORTED, "device not found"},
    {-2, SAP_DRIVER_UNSUPPORTED, "device not available"},
    {-3, SAP_DRIVER_UNSUPPORTED, "compiler not available"},
    {-4, SAP_DRIVER_MEMORY, "mem object allocation failure"},
    {-5, SAP_DRIVER_LOST, "out of resources"}, /* NVIDIA reports a crashed kernel this way */
    {-6, SAP_DRIVER_MEMORY, "out of host memory"},
    {-11, SAP_DRIVER_UNSUPPORTED, "build program failure"},
    {-14, SAP_DRIVER_LOST, "exec status error for events in wait list"},
    {-30, SAP_DRIVER_ERROR, "invalid value"},
    {-34, SAP_DRIVER_LOST, "invalid context"},
    {-36, SAP_DRIVER_LOST, "invalid command queue"},
    {-42, SAP_DRIVER_UNSUPPORTED, "invalid binary"},
    {-46, SAP_DRIVER_ERROR, "invalid kernel name"},
    {-54, SAP_DRIVER_LAUNCH, "invalid work group size"},
    {-55, SAP_DRIVER_LAUNCH, "invalid work item size"},
    {-61, SAP_DRIVER_MEMORY, "invalid buffer size"},
    {-63, SAP_DRIVER_LAUNCH, "invalid global work size"},
    {-1001, SAP_DRIVER_UNSUPPORTED, "platform not found"},
    {-9999, SAP_DRIVER_LOST, "an illegal access"}, /* NVIDIA only */
};

int sap_opencl_check(int result, const char *call)
{
    if (result == 0) return SAP_DRIVER_OK;
    for (size_t k = 0; k < sizeof meanings / sizeof *meanings; k++)
        if (meanings[k].result == result)
            return sap_opencl_refuse(meanings[k].status, "%s: %s (%d)", call, meanings[k].name, result);
    return sap_opencl_refuse(SAP_DRIVER_ERROR, "%s: error %d", call, result);
}

/* ---------------------------------------------------------------- devices */

/*
 * Returns whether the environment variable is not 0; invalid values are refused when a context is opened (options.c).
 */
static int wanted(const struct sap_variable_row *which)
{
    char wrong[SAP_WRONG_ROOM];
    int value = 1;
    (void)sap_env_number(which, &value, wrong);
    return value;
}

/* Returns whether to use double precision; with SAPPORO_OPENCL_FP64=0 no device has it. */
static int has_fp64(const struct sap_opencl_api *cl, sap_cl_device device)
{
    enum { DOUBLE_FP_CONFIG = 0x1032 };
    uint64_t what = 0;
    return wanted(&sap_variables[SAP_VAR_OPENCL_FP64]) &&
           cl->device_info(device, DOUBLE_FP_CONFIG, sizeof what, &what, NULL) == 0 && what != 0;
}

/* Kinds of devices in order of preference: GPUs and accelerators, the same without double precision, CPUs. */
enum kind { GOOD, SINGLE, CPU, KINDS };

static int of_kind(const struct sap_opencl_api *cl, sap_cl_device device, enum kind kind)
{
    uint64_t type = 0;
    int available = 0;
    if (cl->device_info(device, SAP_CL_DEVICE_TYPE, sizeof type, &type, NULL) != 0) return 0;
    (void)cl->device_info(device, SAP_CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    if (!available) return 0;
    if (kind == CPU) return (type & SAP_CL_DEVICE_CPU) != 0;
    return (type & (SAP_CL_DEVICE_GPU | SAP_CL_DEVICE_ACCELERATOR)) && has_fp64(cl, device) == (kind == GOOD);
}

static void add(struct sap_opencl *o, sap_cl_platform platform, sap_cl_device device, enum kind kind)
{
    if (o->devices == SAP_CL_DEVICES) return;
    struct sap_cl_seen *seen = &o->device[o->devices++];
    seen->platform = platform;
    seen->device = device;
    seen->is_cpu = kind == CPU;
    seen->has_fp64 = has_fp64(&o->api, device);
    seen->vectors =
        seen->is_cpu && wanted(&sap_variables[SAP_VAR_OPENCL_VECTORS]); /* 0: the CPU uses the kernels of GPUs */
    if (kind != CPU) o->automatic = o->devices;
}

/* Adds the parts of a CPU as devices. SAPPORO_OPENCL_SPLIT: number of parts per CPU. */
static void add_split(struct sap_opencl *o, sap_cl_platform platform, sap_cl_device device)
{
    enum { EQUALLY = 0x1086, MOST = 16 };
    char wrong[SAP_WRONG_ROOM];
    int parts = 1;
    (void)sap_env_number(&sap_variables[SAP_VAR_OPENCL_SPLIT], &parts, wrong);
    unsigned units = 0, n = 0;
    sap_cl_device part[MOST];
    (void)o->api.device_info(device, SAP_CL_DEVICE_UNITS, sizeof units, &units, NULL);
    const intptr_t how[] = {EQUALLY, parts > 0 ? (intptr_t)(units / (unsigned long)parts) : 0, 0};
    if (parts < 2 || how[1] < 1 || units / (unsigned long)how[1] > MOST ||
        o->api.sub_devices(device, how, MOST, part, &n) != 0) {
        add(o, platform, device, CPU);
        return;
    }
    for (unsigned k = 0; k < n; k++) add(o, platform, part[k], CPU);
}

static void find_devices(struct sap_opencl *o, sap_cl_platform platform, enum kind kind)
{
    sap_cl_device device[SAP_CL_DEVICES];
    const uint64_t any = 0xFFFFFFFF;
    unsigned n = 0;
    if (o->api.devices(platform, any, SAP_CL_DEVICES, device, &n) != 0) return;
    for (unsigned k = 0; k < n && k < SAP_CL_DEVICES; k++) {
        if (!of_kind(&o->api, device[k], kind)) continue;
        if (kind == CPU)
            add_split(o, platform, device[k]);
        else
            add(o, platform, device[k], kind);
    }
}

/* ---------------------------------------------------------------- loading */

/* Resolves all calls; returns the name of a missing one, or NULL. */
static const char *find_calls(void *library, struct sap_opencl_api *api)
{
    const char *missing = NULL;
    void *address;
#define FIND(name, symbol, result, arguments)                                                                          \
    address = dlsym(library, symbol);                                                                                  \
    memcpy(&api->name, &address, sizeof address);                                                                      \
    if (!address && !missing) missing = symbol
    SAP_OPENCL_CALLS(FIND);
#undef FIND
    return missing;
}

/* Initialises OpenCL; returns a message for the user if that fails. */
static const char *begin(struct sap_opencl *o)
{
    enum { PLATFORMS = 16 };
    sap_cl_platform platform[PLATFORMS];
    unsigned n = 0;
    if (sap_env_raised()) {
        (void)sap_opencl_refuse(0, "no OpenCL with raised privileges: its loader loads what the environment names");
        return sap_opencl_error;
    }
    if (sap_program_is_static()) {
        (void)sap_opencl_refuse(0,
                                "no OpenCL in a program that is linked statically: its drivers are shared libraries");
        return sap_opencl_error;
    }
    void *library = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        (void)sap_opencl_refuse(0, "no OpenCL: %s", why ? why : "libOpenCL.so.1 does not load");
        return sap_opencl_error;
    }
    const char *missing = find_calls(library, &o->api);
    if (missing) {
        (void)sap_opencl_refuse(0, "OpenCL is older than 1.2: its libOpenCL.so.1 has no %s", missing);
        return sap_opencl_error;
    }
    if (sap_opencl_check(o->api.platforms(PLATFORMS, platform, &n), "clGetPlatformIDs") != SAP_DRIVER_OK) {
        (void)sap_opencl_refuse(0, "OpenCL has no platform: no driver of a vendor is installed");
        return sap_opencl_error;
    }
    if (n > PLATFORMS) n = PLATFORMS;
    for (int kind = 0; kind < KINDS; kind++)
        for (unsigned k = 0; k < n; k++) find_devices(o, platform[k], (enum kind)kind);
    (void)snprintf(o->reason, sizeof o->reason, "OpenCL with %u platform%s%s", n, n == 1 ? "" : "s",
                   o->devices > 0 ? "" : ", which have no device");
    return NULL;
}

/* OpenCL drivers do not survive a fork. */
static void in_child(void) { sap_forked = 1; }

static void load(void)
{
    struct sap_opencl *o = &sap_opencl;
    (void)pthread_atfork(NULL, NULL, in_child);
    const char *why = begin(o);
    if (why) {
        memcpy(o->reason, why, sizeof o->reason);
        o->devices = o->automatic = 0;
    }
    o->usable = !why;
    atomic_store(&o->tried, 1);
}

int sap_opencl_ready(void)
{
    struct sap_opencl *o = &sap_opencl;
    if (sap_forked) return sap_opencl_refuse(SAP_DRIVER_UNSUPPORTED, "OpenCL cannot be used in a child after fork");
    (void)pthread_once(&o->once, load);
    return o->usable ? SAP_DRIVER_OK : sap_opencl_refuse(SAP_DRIVER_UNSUPPORTED, "%s", o->reason);
}
