/*
 * driver_opencl_device.c - OpenCL's devices: which there are, what they can do, opening and closing.
 */
#include "driver_opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "process.h"

/* Numbers of cl_device_info and cl_platform_info. */
enum {
    MAX_WORK_GROUP_SIZE = 0x1004,
    MAX_MEM_ALLOC_SIZE = 0x1010,
    GLOBAL_MEM_CACHE_SIZE = 0x101E,
    GLOBAL_MEM_SIZE = 0x101F,
    LOCAL_MEM_SIZE = 0x1023,
    PLATFORM_NAME = 0x0902
};

static const struct sap_opencl_api *api(void) { return &sap_process.opencl.api; }

void *sap_opencl_room(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) (void)sap_opencl_refuse(SAP_DRIVER_MEMORY, "no memory for %zu bytes of the host", bytes);
    return p;
}

int sap_opencl_count(void) { return sap_opencl_ready() == SAP_DRIVER_OK ? sap_process.opencl.devices : 0; }

int sap_opencl_automatic(void) { return sap_opencl_ready() == SAP_DRIVER_OK ? sap_process.opencl.automatic : 0; }

const char *sap_opencl_describe(void)
{
    /* In a child after fork the reason is this thread's error. */
    return sap_opencl_ready() == SAP_DRIVER_OK ? sap_process.opencl.reason : sap_opencl_error;
}

/* ---------------------------------------------------------------- properties */

void sap_opencl_text(const struct sap_cl_seen *seen, unsigned what, char *text, size_t room)
{
    char whole[1024] = "";
    if (api()->device_info(seen->device, what, sizeof whole, whole, NULL) != 0) whole[0] = '\0';
    whole[sizeof whole - 1] = '\0';
    (void)snprintf(text, room, "%.*s", (int)room - 1, whole);
}

void sap_opencl_platform(const struct sap_cl_seen *seen, char *text, size_t room)
{
    char whole[1024] = "";
    if (api()->platform_info(seen->platform, PLATFORM_NAME, sizeof whole, whole, NULL) != 0) whole[0] = '\0';
    whole[sizeof whole - 1] = '\0';
    (void)snprintf(text, room, "%.*s", (int)room - 1, whole);
}

static int find_device(int number, struct sap_cl_seen **seen)
{
    const int status = sap_opencl_ready();
    if (status != SAP_DRIVER_OK) return status;
    if (number < 0 || number >= sap_process.opencl.devices)
        return sap_opencl_refuse(SAP_DRIVER_UNSUPPORTED, "there is no OpenCL device %d: there are %d", number,
                                 sap_process.opencl.devices);
    *seen = &sap_process.opencl.device[number];
    return SAP_DRIVER_OK;
}

/* 0 where the device does not tell. */
static uint64_t number_of(const struct sap_cl_seen *seen, unsigned what, size_t size)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    void *const to = size == sizeof wide ? (void *)&wide : (void *)&narrow;
    if (api()->device_info(seen->device, what, size, to, NULL) != 0) return 0;
    return size == sizeof wide ? wide : narrow;
}

/* The compiler decides about bits, too, and so does the form of the kernels. */
static void write_architecture(const struct sap_cl_seen *seen, char *text, size_t room)
{
    char name[128], version[64];
    sap_opencl_text(seen, SAP_CL_DEVICE_NAME, name, sizeof name);
    sap_opencl_text(seen, SAP_CL_DEVICE_DRIVER_VERSION, version, sizeof version);
    const int as_gpu = seen->is_cpu && !seen->vectors;
    (void)snprintf(text, room, "%.*s/%.10s%s", as_gpu ? 18 : 20, name, version, as_gpu ? "/1" : "");
    for (char *c = text; *c; c++)
        if (*c == ' ') *c = '-';
}

int sap_opencl_properties(int number, struct sap_device_properties *p)
{
    struct sap_cl_seen *seen = NULL;
    memset(p, 0, sizeof *p);
    const int status = find_device(number, &seen);
    if (status != SAP_DRIVER_OK || !seen) return status;
    sap_opencl_text(seen, SAP_CL_DEVICE_NAME, p->name, sizeof p->name);
    sap_opencl_platform(seen, p->uuid, sizeof p->uuid); /* by which users name it, as CUDA's by uuid */
    write_architecture(seen, p->architecture, sizeof p->architecture);
    p->memory = (size_t)number_of(seen, GLOBAL_MEM_SIZE, 8);
    p->units = (int)number_of(seen, SAP_CL_DEVICE_UNITS, 4);
    p->threads_per_group = (int)number_of(seen, MAX_WORK_GROUP_SIZE, sizeof(size_t));
    p->threads_per_unit = seen->is_cpu ? 1 : 2048; /* OpenCL does not tell */
    p->shared_per_group = p->shared_per_unit = (size_t)number_of(seen, LOCAL_MEM_SIZE, 8);
    p->l2 = (size_t)number_of(seen, GLOBAL_MEM_CACHE_SIZE, 8);
    p->warp = 32;
    p->has_fp64 = sap_opencl_has_fp64(seen->device);
    p->vectors = seen->vectors;
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- open, close */

/* The context of a device, made by who opens it first. */
static int take_context(struct sap_cl_seen *seen, sap_cl_context *context)
{
    int error = 0;
    sap_lock(&seen->lock);
    if (!seen->context) seen->context = api()->context(NULL, 1, &seen->device, NULL, NULL, &error);
    if (seen->context) seen->opens++;
    *context = seen->context;
    sap_unlock(&seen->lock);
    return *context ? SAP_DRIVER_OK : sap_opencl_check(error ? error : -34, "clCreateContext");
}

static void give_context(struct sap_cl_seen *seen)
{
    sap_lock(&seen->lock);
    if (--seen->opens == 0) {
        (void)api()->release_context(seen->context);
        seen->context = NULL;
    }
    sap_unlock(&seen->lock);
}

int sap_opencl_open(int number, struct sap_dev **dev)
{
    struct sap_cl_seen *seen = NULL;
    *dev = NULL;
    int status = find_device(number, &seen);
    if (status != SAP_DRIVER_OK || !seen) return status;
    if (!sap_opencl_has_fp64(seen->device))
        return sap_opencl_refuse(SAP_DRIVER_UNSUPPORTED,
                                 "it has no double precision (cl_khr_fp64), which this version needs");
    struct sap_dev *d = sap_opencl_room(sizeof *d);
    if (!d) return SAP_DRIVER_MEMORY;
    d->seen = seen;
    d->most = (size_t)number_of(seen, MAX_MEM_ALLOC_SIZE, 8);
    d->shared = (size_t)number_of(seen, LOCAL_MEM_SIZE, 8);
    write_architecture(seen, d->architecture, sizeof d->architecture);
    status = take_context(seen, &d->context);
    if (status == SAP_DRIVER_OK)
        *dev = d;
    else
        free(d);
    return status;
}

void sap_opencl_close(struct sap_dev *dev)
{
    if (!dev) return;
    if (!sap_process.forked) {
        if (dev->service) (void)api()->release_queue(dev->service);
        if (dev->timer) (void)api()->release_queue(dev->timer);
        give_context(dev->seen);
    }
    free(dev);
}

/* OpenCL has no current context. */
int sap_opencl_enter(struct sap_dev *dev)
{
    if (sap_process.forked) return sap_opencl_refuse(SAP_DRIVER_LOST, "OpenCL cannot be used in a child after fork");
    if (dev->entered) return sap_opencl_refuse(SAP_DRIVER_ERROR, "the device has been entered already");
    dev->entered = 1;
    return SAP_DRIVER_OK;
}

void sap_opencl_leave(struct sap_dev *dev) { dev->entered = 0; }

int sap_opencl_queue(const struct sap_dev *dev, uint64_t properties, sap_cl_queue *queue)
{
    int error = 0;
    *queue = api()->queue(dev->context, dev->seen->device, properties, &error);
    return *queue ? SAP_DRIVER_OK : sap_opencl_check(error ? error : -36, "clCreateCommandQueue");
}
