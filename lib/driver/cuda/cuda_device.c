/*
 * cuda_device.c - devices of CUDA and HIP: enumeration, properties, opening and closing, the current context.
 */
#include "driver/cuda/cuda_driver.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "driver/cuda/cuda_api.h"

int sap_cuda_count_of(struct sap_cuda *cuda) { return sap_cuda_ready(cuda) == SAP_DRIVER_OK ? cuda->devices : 0; }

const char *sap_cuda_describe_of(struct sap_cuda *cuda)
{
    /* In a child after fork the reason is this thread's error. */
    return sap_cuda_ready(cuda) == SAP_DRIVER_OK ? cuda->reason : sap_cuda_error;
}

/* ---------------------------------------------------------------- properties */

static int find_device(struct sap_cuda *cuda, int number, sap_cu_device *device)
{
    const int status = sap_cuda_ready(cuda);
    if (status != SAP_DRIVER_OK) return status;
    if (number < 0 || number >= cuda->devices)
        return sap_cuda_refuse(SAP_DRIVER_UNSUPPORTED, "there is no %s device %d: there are %d", cuda->kind->name,
                               number, cuda->devices);
    return SAP_CUDA_CALL(cuda, device_get, device, number);
}

/* Returns 0 if the driver does not know the attribute. */
static int attribute(const struct sap_cuda *cuda, sap_cu_device device, int which)
{
    int value = 0;
    return cuda->api.device_attribute(&value, which, device) == 0 ? value : 0;
}

static size_t attribute_bytes(const struct sap_cuda *cuda, sap_cu_device device, int which)
{
    return (size_t)attribute(cuda, device, which);
}

/* Writes the uuid as nvidia-smi does, or as AMD's tools, whose uuid is text already; "" if the driver has none. */
static void write_uuid(const struct sap_cuda *cuda, sap_cu_device device, char *text, size_t room)
{
    unsigned char u[16];
    text[0] = '\0';
    if (!cuda->api.device_uuid || cuda->api.device_uuid(u, device) != 0) return;
    int letters = 0;
    while (letters < 16 && isxdigit(u[letters])) letters++;
    if (letters == 16) {
        (void)snprintf(text, room, "GPU-%.16s", (const char *)u);
        return;
    }
    (void)snprintf(text, room, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
                   u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static void write_limits(const struct sap_cuda *cuda, sap_cu_device device, struct sap_device_properties *p)
{
    const struct sap_cuda_kind *const kind = cuda->kind;
    p->units = attribute(cuda, device, kind->units);
    p->threads_per_unit = attribute(cuda, device, kind->threads_per_unit);
    p->threads_per_group = attribute(cuda, device, kind->threads_per_block);
    p->shared_per_group = kind->shared_optin ? attribute_bytes(cuda, device, kind->shared_optin) : 0;
    if (p->shared_per_group == 0) p->shared_per_group = attribute_bytes(cuda, device, kind->shared_per_block);
    p->shared_per_unit = attribute_bytes(cuda, device, kind->shared_per_unit);
    if (p->shared_per_unit == 0) p->shared_per_unit = p->shared_per_group;
    p->l2 = attribute_bytes(cuda, device, kind->l2);
    p->warp = attribute(cuda, device, kind->warp);
    p->has_fp64 = 1;
}

int sap_cuda_properties_of(struct sap_cuda *cuda, int number, struct sap_device_properties *properties)
{
    sap_cu_device device = 0;
    memset(properties, 0, sizeof *properties);
    int status = find_device(cuda, number, &device);
    if (status == SAP_DRIVER_OK)
        status = SAP_CUDA_CALL(cuda, device_name, properties->name, sizeof properties->name, device);
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(cuda, device_memory, &properties->memory, device);
    if (status == SAP_DRIVER_OK)
        status = SAP_CUDA_CALL(cuda, device_bus, properties->bus, sizeof properties->bus, device);
    if (status != SAP_DRIVER_OK) return status;
    for (char *c = properties->bus; *c; c++) *c = (char)tolower((unsigned char)*c);
    write_uuid(cuda, device, properties->uuid, sizeof properties->uuid);
    cuda->kind->architecture(cuda, device, properties->architecture, sizeof properties->architecture);
    write_limits(cuda, device, properties);
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- open, close */

int sap_cuda_open_of(struct sap_cuda *cuda, int number, struct sap_dev **opaque_dev)
{
    sap_cu_device device = 0;
    *opaque_dev = NULL;
    int status = find_device(cuda, number, &device);
    if (status != SAP_DRIVER_OK) return status;
    struct sap_cuda_device *const dev = calloc(1, sizeof *dev);
    if (!dev) return sap_cuda_refuse(SAP_DRIVER_MEMORY, "no memory for device %d", number);
    dev->cuda = cuda;
    dev->device = device;
    cuda->kind->architecture(cuda, device, dev->architecture, sizeof dev->architecture);
    status = SAP_CUDA_CALL(cuda, context_retain, &dev->context, device);
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
    if (!sap_forked) (void)SAP_CUDA_CALL(dev->cuda, context_release, dev->device);
    free(dev);
}

/* ---------------------------------------------------------------- the current context */

static int push(const struct sap_cuda_device *dev)
{
    if (sap_forked)
        return sap_cuda_refuse(SAP_DRIVER_LOST, "%s cannot be used in a child after fork", dev->cuda->kind->name);
    return SAP_CUDA_CALL(dev->cuda, context_push, dev->context);
}

static int pop(const struct sap_cuda_device *dev)
{
    sap_cu_context popped = NULL;
    return sap_forked ? SAP_DRIVER_OK : SAP_CUDA_CALL(dev->cuda, context_pop, &popped);
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
    (void)pop(dev);
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
    const int popped = pop(dev);
    return status == SAP_DRIVER_OK ? popped : status;
}
