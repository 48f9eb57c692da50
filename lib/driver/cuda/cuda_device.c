/*
 * cuda_device.c - CUDA devices: enumeration, properties, opening and closing, the current context.
 */
#include "driver/cuda/cuda_driver.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "driver/cuda/cuda_api.h"

/* Numbers of CUdevice_attribute. */
enum {
    MAX_THREADS_PER_BLOCK = 1,
    MAX_SHARED_MEMORY_PER_BLOCK = 8,
    WARP_SIZE = 10,
    MULTIPROCESSOR_COUNT = 16,
    L2_CACHE_SIZE = 38,
    MAX_THREADS_PER_MULTIPROCESSOR = 39,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76,
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
};

int sap_cuda_count(void) { return sap_cuda_ready() == SAP_DRIVER_OK ? sap_cuda.devices : 0; }

const char *sap_cuda_describe(void)
{
    /* In a child after fork the reason is this thread's error. */
    return sap_cuda_ready() == SAP_DRIVER_OK ? sap_cuda.reason : sap_cuda_error;
}

/* ---------------------------------------------------------------- properties */

static int find_device(int number, sap_cu_device *device)
{
    const int status = sap_cuda_ready();
    if (status != SAP_DRIVER_OK) return status;
    if (number < 0 || number >= sap_cuda.devices)
        return sap_cuda_refuse(SAP_DRIVER_UNSUPPORTED, "there is no CUDA device %d: there are %d", number,
                               sap_cuda.devices);
    return sap_cuda_check(sap_cuda.api.device_get(device, number), "cuDeviceGet");
}

/* Returns 0 if the driver does not know the attribute. */
static int attribute(sap_cu_device device, int which)
{
    int value = 0;
    return sap_cuda.api.device_attribute(&value, which, device) == 0 ? value : 0;
}

static size_t attribute_bytes(sap_cu_device device, int which) { return (size_t)attribute(device, which); }

static void write_architecture(sap_cu_device device, char *text, size_t room)
{
    (void)snprintf(text, room, "sm_%d%d", attribute(device, COMPUTE_CAPABILITY_MAJOR),
                   attribute(device, COMPUTE_CAPABILITY_MINOR));
}

/* Writes the uuid as nvidia-smi does; "" if the driver has none. */
static void write_uuid(sap_cu_device device, char *text, size_t room)
{
    unsigned char u[16];
    const struct sap_cuda_api *cu = &sap_cuda.api;
    text[0] = '\0';
    if (!cu->device_uuid || cu->device_uuid(u, device) != 0) return;
    (void)snprintf(text, room, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
                   u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static void write_limits(sap_cu_device device, struct sap_device_properties *p)
{
    p->units = attribute(device, MULTIPROCESSOR_COUNT);
    p->threads_per_unit = attribute(device, MAX_THREADS_PER_MULTIPROCESSOR);
    p->threads_per_group = attribute(device, MAX_THREADS_PER_BLOCK);
    p->shared_per_group = attribute_bytes(device, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (p->shared_per_group == 0) p->shared_per_group = attribute_bytes(device, MAX_SHARED_MEMORY_PER_BLOCK);
    p->shared_per_unit = attribute_bytes(device, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    p->l2 = attribute_bytes(device, L2_CACHE_SIZE);
    p->warp = attribute(device, WARP_SIZE);
    p->has_fp64 = 1;
}

int sap_cuda_properties(int number, struct sap_device_properties *properties)
{
    const struct sap_cuda_api *cu = &sap_cuda.api;
    sap_cu_device device = 0;
    memset(properties, 0, sizeof *properties);
    int status = find_device(number, &device);
    if (status == SAP_DRIVER_OK)
        status = sap_cuda_check(cu->device_name(properties->name, sizeof properties->name, device), "cuDeviceGetName");
    if (status == SAP_DRIVER_OK)
        status = sap_cuda_check(cu->device_memory(&properties->memory, device), "cuDeviceTotalMem");
    if (status == SAP_DRIVER_OK)
        status = sap_cuda_check(cu->device_bus(properties->bus, sizeof properties->bus, device), "cuDeviceGetPCIBusId");
    if (status != SAP_DRIVER_OK) return status;
    for (char *c = properties->bus; *c; c++) *c = (char)tolower((unsigned char)*c);
    write_uuid(device, properties->uuid, sizeof properties->uuid);
    write_architecture(device, properties->architecture, sizeof properties->architecture);
    write_limits(device, properties);
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- open, close */

int sap_cuda_open(int number, struct sap_dev **opaque_dev)
{
    sap_cu_device device = 0;
    *opaque_dev = NULL;
    int status = find_device(number, &device);
    if (status != SAP_DRIVER_OK) return status;
    struct sap_cuda_device *const dev = calloc(1, sizeof *dev);
    if (!dev) return sap_cuda_refuse(SAP_DRIVER_MEMORY, "no memory for device %d", number);
    dev->device = device;
    write_architecture(device, dev->architecture, sizeof dev->architecture);
    status = sap_cuda_check(sap_cuda.api.context_retain(&dev->context, device), "cuDevicePrimaryCtxRetain");
    if (status == SAP_DRIVER_OK)
        *opaque_dev = sap_cuda_device_handle(dev);
    else
        free(dev);
    return status;
}

/*
 * Closes a device. The last release of the primary context destroys it, also after an error has broken it, so that the
 * next opening creates a new one. It is never reset, since the caller's own CUDA code may use it too.
 */
void sap_cuda_close(struct sap_dev *opaque_dev)
{
    struct sap_cuda_device *const dev = sap_cuda_device_of(opaque_dev);
    if (!dev) return;
    sap_cuda_leave(opaque_dev);
    if (!sap_forked) (void)sap_cuda_check(sap_cuda.api.context_release(dev->device), "cuDevicePrimaryCtxRelease");
    free(dev);
}

/* ---------------------------------------------------------------- the current context */

static int push(const struct sap_cuda_device *dev)
{
    if (sap_forked) return sap_cuda_refuse(SAP_DRIVER_LOST, "CUDA cannot be used in a child after fork");
    return sap_cuda_check(sap_cuda.api.context_push(dev->context), "cuCtxPushCurrent");
}

static int pop(void)
{
    sap_cu_context popped = NULL;
    return sap_forked ? SAP_DRIVER_OK : sap_cuda_check(sap_cuda.api.context_pop(&popped), "cuCtxPopCurrent");
}

int sap_cuda_enter(struct sap_dev *opaque_dev)
{
    struct sap_cuda_device *const dev = sap_cuda_device_of(opaque_dev);
    if (dev->entered) return sap_cuda_refuse(SAP_DRIVER_ERROR, "the device has been entered already");
    const int status = push(dev);
    dev->entered = status == SAP_DRIVER_OK;
    return status;
}

void sap_cuda_leave(struct sap_dev *opaque_dev)
{
    struct sap_cuda_device *const dev = sap_cuda_device_of(opaque_dev);
    if (!dev->entered) return;
    dev->entered = 0;
    (void)pop();
}

int sap_cuda_begin(struct sap_cuda_device *dev)
{
    if (dev->entered && !sap_forked) return SAP_DRIVER_OK;
    const int status = push(dev);
    dev->pushed = status == SAP_DRIVER_OK;
    return status;
}

int sap_cuda_end(struct sap_cuda_device *dev, int status)
{
    if (!dev->pushed) return status;
    dev->pushed = 0;
    const int popped = pop();
    return status == SAP_DRIVER_OK ? popped : status;
}
