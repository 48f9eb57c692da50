/* opencl_program.c - programs: built from kernel source for a device, or taken from the cache; launches. */
#define _POSIX_C_SOURCE 200809L
#include "driver/opencl/opencl_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/process.h"
#include "driver/opencl/opencl_api.h"
#include "variables.h"

/* Numbers of cl_program_build_info, cl_program_info, cl_kernel_work_group_info. */
enum {
    BUILD_LOG = 0x1183,
    PROGRAM_DEVICES = 0x1163,
    BINARY_SIZES = 0x1165,
    BINARIES = 0x1166,
    KERNEL_WORK_GROUP_SIZE = 0x11B0,
    KERNEL_LOCAL_MEM_SIZE = 0x11B2
};

static const struct sap_opencl_api *api(void) { return &sap_opencl.api; }

/* ---------------------------------------------------------------- building */

/*
 * Returns the build options. No option may change the value of an expression. On devices without double precision,
 * constants are single.
 */
static const char *options_of(const struct sap_opencl_device *dev)
{
#define SINGLE "-DSAP_NO_FP64=1 -cl-single-precision-constant"
    static const char *const options[2][2] = {
        {"-cl-std=CL1.2 " SINGLE, "-cl-std=CL1.2 -DSAP_VECTORS=1 " SINGLE},
        {"-cl-std=CL1.2", "-cl-std=CL1.2 -DSAP_VECTORS=1"},
    };
#undef SINGLE
    return options[dev->seen->has_fp64][dev->seen->vectors];
}

/* Returns everything that determines a binary: device, driver, options, kernel source. */
static char *cache_key(const struct sap_opencl_device *dev, const char *text, size_t bytes, size_t *size)
{
    char platform[128], name[256], version[256], driver[256];
    const size_t room = 1024 + bytes;
    char *key = sap_opencl_room(room);
    if (!key) return NULL;
    sap_opencl_platform(dev->seen, platform, sizeof platform);
    sap_opencl_text(dev->seen, SAP_CL_DEVICE_NAME, name, sizeof name);
    sap_opencl_text(dev->seen, SAP_CL_DEVICE_VERSION, version, sizeof version);
    sap_opencl_text(dev->seen, SAP_CL_DEVICE_DRIVER_VERSION, driver, sizeof driver);
    const int n = snprintf(key, 1024, "%s\n%s\n%s\n%s\n%s\n", platform, name, version, driver, options_of(dev));
    memcpy(key + n, text, bytes);
    *size = (size_t)n + bytes;
    return key;
}

/* Reports a failed build: logs the whole build log, and puts its first error into this thread's error. */
static int build_failed(const struct sap_opencl_device *dev, sap_cl_program program, int status)
{
    size_t size = 0;
    (void)api()->build_info(program, dev->seen->device, BUILD_LOG, 0, NULL, &size);
    char *log = calloc(1, size + 1), *rest = NULL;
    if (log && size > 0) (void)api()->build_info(program, dev->seen->device, BUILD_LOG, size, log, NULL);
    const char *first = log ? strstr(log, "error") : NULL;
    if (!first) first = log && *log ? log : "no log";
    (void)sap_opencl_refuse(status, "the OpenCL compiler of %s refuses the kernels: %.*s", dev->architecture,
                            (int)strcspn(first, "\n") < 150 ? (int)strcspn(first, "\n") : 150, first);
    for (char *line = log ? strtok_r(log, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        sap_log(SAPPORO_LOG_INFO, "OpenCL compiler: %s", line);
    free(log);
    return status;
}

static int build(const struct sap_opencl_device *dev, sap_cl_program program)
{
    return api()->build(program, 1, &dev->seen->device, options_of(dev), NULL, NULL);
}

static int build_text(const struct sap_opencl_device *dev, const char *text, size_t bytes, sap_cl_program *program)
{
    int error = 0;
    *program = api()->program_of_text(dev->context, 1, &text, &bytes, &error);
    if (!*program) return sap_opencl_check(error ? error : -6, "clCreateProgramWithSource");
    error = build(dev, *program);
    if (error == 0) return SAP_DRIVER_OK;
    int status = sap_opencl_check(error, "clBuildProgram");
    if (status != SAP_DRIVER_MEMORY) status = build_failed(dev, *program, SAP_DRIVER_UNSUPPORTED);
    (void)api()->release_program(*program);
    *program = NULL;
    return status;
}

/* Creates a program from a binary; NULL if the device rejects it, as after an update of the driver. */
static sap_cl_program build_binary(const struct sap_opencl_device *dev, const unsigned char *binary, size_t size)
{
    int status = 0, error = 0;
    sap_cl_program program =
        api()->program_of_binary(dev->context, 1, &dev->seen->device, &size, &binary, &status, &error);
    if (program && error == 0 && status == 0 && build(dev, program) == 0) return program;
    if (program) (void)api()->release_program(program);
    return NULL;
}

/*
 * Returns the index of a device among those of its context, by which programs list binaries; -1: unknown. Parts of a
 * CPU share a binary, and are not in the list.
 */
static int place_of(const struct sap_opencl_device *dev, sap_cl_program program, int *n)
{
    sap_cl_device device[SAP_CL_DEVICES];
    size_t size = 0;
    if (api()->program_info(program, PROGRAM_DEVICES, sizeof device, device, &size) != 0) return -1;
    *n = (int)(size / sizeof *device);
    for (int k = 0; k < *n; k++)
        if (device[k] == dev->seen->device) return k;
    return *n == 1 ? 0 : -1;
}

/*
 * Returns whether the cache is used for programs of this device. PoCL keeps compiled kernels on disk itself, and
 * compiles all kernels of a program once more, which takes minutes, when it is asked for the binary. So for PoCL the
 * cache is used only if SAPPORO_CACHE names a folder.
 */
static int uses_cache(const struct sap_opencl_device *dev)
{
    char platform[128];
    if (!sap_opencl_cache_wanted()) return 0;
    if (sap_env_is_set(&sap_variables[SAP_VAR_CACHE])) return 1;
    sap_opencl_platform(dev->seen, platform, sizeof platform);
    return strcmp(platform, "Portable Computing Language") != 0;
}

/* Stores the binary in the cache. */
static void keep_binary(const struct sap_opencl_device *dev, const char *key, size_t n, sap_cl_program program)
{
    size_t size[SAP_CL_DEVICES] = {0};
    unsigned char *binary[SAP_CL_DEVICES] = {NULL}; /* NULL: not requested */
    int devices = 0;
    const int at = place_of(dev, program, &devices);
    if (at < 0 || api()->program_info(program, BINARY_SIZES, (size_t)devices * sizeof *size, size, NULL) != 0) return;
    if (size[at] == 0 || !(binary[at] = malloc(size[at]))) return;
    if (api()->program_info(program, BINARIES, (size_t)devices * sizeof *binary, binary, NULL) == 0)
        sap_opencl_cache_put(key, n, binary[at], size[at]);
    free(binary[at]);
}

static int find_program(const struct sap_opencl_device *dev, const char *text, size_t bytes, sap_cl_program *program)
{
    size_t n = 0, size = 0;
    char *key = cache_key(dev, text, bytes, &n);
    int status = SAP_DRIVER_OK;
    *program = NULL;
    if (!key) return SAP_DRIVER_MEMORY;
    const int cached = uses_cache(dev);
    unsigned char *binary = cached ? sap_opencl_cache_get(key, n, &size) : NULL;
    if (binary) *program = build_binary(dev, binary, size);
    free(binary);
    if (!*program) {
        status = build_text(dev, text, bytes, program);
        if (status == SAP_DRIVER_OK && cached) keep_binary(dev, key, n, *program);
    }
    free(key);
    return status;
}

int sap_opencl_module_load(struct sap_dev *opaque_dev, const void *image, size_t bytes,
                           struct sap_module **opaque_module)
{
    struct sap_opencl_device *const dev = sap_opencl_device_of(opaque_dev);
    *opaque_module = NULL;
    if (sap_forked) return sap_opencl_refuse(SAP_DRIVER_LOST, "OpenCL cannot be used in a child after fork");
    struct sap_opencl_module *made = sap_opencl_room(sizeof *made);
    if (!made) return SAP_DRIVER_MEMORY;
    made->dev = dev;
    const int status = find_program(dev, image, bytes, &made->program);
    if (status == SAP_DRIVER_OK)
        *opaque_module = sap_opencl_module_handle(made);
    else
        free(made);
    return status;
}

void sap_opencl_module_unload(struct sap_module *opaque_module)
{
    struct sap_opencl_module *const m = sap_opencl_module_of(opaque_module);
    if (!m) return;
    for (struct sap_opencl_function *f = m->functions, *next; f; f = next) {
        next = f->next;
        if (!sap_forked) (void)api()->release_kernel(f->kernel);
        free(f);
    }
    if (!sap_forked) (void)api()->release_program(m->program);
    free(m);
}

int sap_opencl_function(struct sap_module *opaque_module, const char *name, struct sap_function **opaque_function)
{
    struct sap_opencl_module *const m = sap_opencl_module_of(opaque_module);
    int error = 0;
    *opaque_function = NULL;
    struct sap_opencl_function *made = sap_opencl_room(sizeof *made);
    if (!made) return SAP_DRIVER_MEMORY;
    made->kernel = api()->kernel(m->program, name, &error);
    if (!made->kernel) {
        free(made);
        return sap_opencl_check(error ? error : -46, name);
    }
    sap_lock_start(&made->lock);
    made->module = m;
    made->next = m->functions;
    m->functions = made;
    *opaque_function = sap_opencl_function_handle(made);
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- launching */

/* Returns how many groups fit into the local memory of a unit. OpenCL reports no other limit. */
int sap_opencl_occupancy(struct sap_function *opaque_function, unsigned threads, size_t shared, int *groups)
{
    struct sap_opencl_function *const f = sap_opencl_function_of(opaque_function);
    const struct sap_opencl_device *const dev = f->module->dev;
    size_t most = 0;
    uint64_t used = 0;
    *groups = 0;
    int status = sap_opencl_check(
        api()->kernel_group_info(f->kernel, dev->seen->device, KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL),
        "clGetKernelWorkGroupInfo");
    if (status != SAP_DRIVER_OK) return status;
    if (shared == 0) /* else it may include memory that an earlier launch requested */
        (void)api()->kernel_group_info(f->kernel, dev->seen->device, KERNEL_LOCAL_MEM_SIZE, sizeof used, &used, NULL);
    if (threads > most || shared + used > dev->shared)
        return sap_opencl_refuse(SAP_DRIVER_LAUNCH,
                                 "%u work-items with %zu bytes of local memory: %zu and %zu are possible", threads,
                                 shared + (size_t)used, most, dev->shared);
    *groups = shared > 0 ? (int)(dev->shared / shared) : 1;
    return SAP_DRIVER_OK;
}

/* Sets the arguments of a launch: memory by its buffer, and dynamic local memory after the last argument. */
static int set_arguments(sap_cl_kernel kernel, const struct sap_launch *l)
{
    int status = SAP_DRIVER_OK;
    for (int k = 0; k < l->arguments && status == SAP_DRIVER_OK; k++) {
        const struct sap_argument *a = &l->argument[k];
        sap_cl_mem buffer = NULL;
        /* size 0: `value` is a struct sap_mem *, which the common argument type makes const */
        if (a->size == 0 && a->value)
            status = sap_opencl_buffer(sap_opencl_memory_of((struct sap_mem *)(uintptr_t)a->value), &buffer);
        if (status != SAP_DRIVER_OK) return status;
        const size_t size = a->size > 0 ? a->size : sizeof buffer;
        const void *value = a->size > 0 ? a->value : (const void *)&buffer;
        status = sap_opencl_check(api()->argument(kernel, (unsigned)k, size, value), "clSetKernelArg");
    }
    if (status == SAP_DRIVER_OK && l->shared > 0)
        status = sap_opencl_check(api()->argument(kernel, (unsigned)l->arguments, l->shared, NULL), "clSetKernelArg");
    return status;
}

/* Translates a failure to start a kernel: the launch failed, the device is not lost. */
static int of_launch(int status)
{
    return status == SAP_DRIVER_ERROR || status == SAP_DRIVER_LOST ? SAP_DRIVER_LAUNCH : status;
}

int sap_opencl_launch(struct sap_stream *opaque_stream, struct sap_function *opaque_function,
                      const struct sap_launch *l)
{
    const struct sap_opencl_stream *const s = sap_opencl_stream_of(opaque_stream);
    struct sap_opencl_function *const f = sap_opencl_function_of(opaque_function);
    const size_t group[3] = {l->threads, 1, 1};
    const size_t items[3] = {(size_t)l->groups[0] * l->threads, l->groups[1], l->groups[2]};
    if (sap_forked) return sap_opencl_refuse(SAP_DRIVER_LOST, "OpenCL cannot be used in a child after fork");
    sap_lock(&f->lock);
    int status = set_arguments(f->kernel, l);
    if (status == SAP_DRIVER_OK)
        status = of_launch(sap_opencl_check(api()->launch(s->queue, f->kernel, 3, NULL, items, group, 0, NULL, NULL),
                                            "clEnqueueNDRangeKernel"));
    sap_unlock(&f->lock);
    return status;
}
