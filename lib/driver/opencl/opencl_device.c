/*
 * opencl_device.c - OpenCL devices: enumeration, properties, opening and closing.
 */
#include "driver/opencl/opencl_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/process.h"
#include "driver/opencl/opencl_api.h"

/* Numbers of cl_device_info and cl_platform_info. */
enum {
    MAX_WORK_GROUP_SIZE = 0x1004,
    MAX_MEM_ALLOC_SIZE = 0x1010,
    VENDOR_ID = 0x1001,
    NVIDIA = 0x10DE, /* vendor number */
    GLOBAL_MEM_CACHE_SIZE = 0x101E,
    GLOBAL_MEM_SIZE = 0x101F,
    LOCAL_MEM_SIZE = 0x1023,
    PLATFORM_NAME = 0x0902
};

static const struct sap_opencl_api *api(void) { return &sap_opencl.api; }

void *sap_opencl_room(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) (void)sap_opencl_refuse(SAP_DRIVER_MEMORY, "no memory for %zu bytes of the host", bytes);
    return p;
}

int sap_opencl_count(void) { return sap_opencl_ready() == SAP_DRIVER_OK ? sap_opencl.devices : 0; }

int sap_opencl_automatic(void)
{
    return !sap_opencl_left() && sap_opencl_ready() == SAP_DRIVER_OK ? sap_opencl.automatic : 0;
}

const char *sap_opencl_describe(void)
{
    /* In a child after fork the reason is this thread's error. */
    return sap_opencl_ready() == SAP_DRIVER_OK ? sap_opencl.reason : sap_opencl_error;
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
    if (number < 0 || number >= sap_opencl.devices)
        return sap_opencl_refuse(SAP_DRIVER_UNSUPPORTED, "there is no OpenCL device %d: there are %d", number,
                                 sap_opencl.devices);
    *seen = &sap_opencl.device[number];
    return SAP_DRIVER_OK;
}

/* Returns 0 if the device does not report the number. */
static uint64_t number_of(const struct sap_cl_seen *seen, unsigned what, size_t size)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    void *const to = size == sizeof wide ? (void *)&wide : (void *)&narrow;
    if (api()->device_info(seen->device, what, size, to, NULL) != 0) return 0;
    return size == sizeof wide ? wide : narrow;
}

/* Writes the architecture. It names the compiler and the form of the kernels, since both affect result bits. */
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
    /* users name OpenCL devices by platform, CUDA devices by uuid */
    sap_opencl_platform(seen, p->uuid, sizeof p->uuid);
    write_architecture(seen, p->architecture, sizeof p->architecture);
    p->memory = (size_t)number_of(seen, GLOBAL_MEM_SIZE, 8);
    p->units = (int)number_of(seen, SAP_CL_DEVICE_UNITS, 4);
    p->threads_per_group = (int)number_of(seen, MAX_WORK_GROUP_SIZE, sizeof(size_t));
    p->threads_per_unit = seen->is_cpu ? 1 : 2048; /* OpenCL does not report it */
    p->shared_per_group = p->shared_per_unit = (size_t)number_of(seen, LOCAL_MEM_SIZE, 8);
    p->l2 = (size_t)number_of(seen, GLOBAL_MEM_CACHE_SIZE, 8);
    p->warp = 32;
    p->has_fp64 = seen->has_fp64;
    p->vectors = seen->vectors;
    p->in_turn = seen->is_cpu;
    return SAP_DRIVER_OK;
}

/* ---------------------------------------------------------------- open, close */

/* Creates a context for devices of one platform; on failure returns NULL and sets *error. The caller holds the lock. */
static struct sap_cl_group *make_group(struct sap_cl_seen *const *seen, int n, int *error)
{
    sap_cl_device device[SAP_CL_DEVICES];
    struct sap_cl_group *group = calloc(1, sizeof *group);
    for (int k = 0; k < n; k++) device[k] = seen[k]->device;
    *error = -6; /* out of host memory */
    if (group) group->context = api()->context(NULL, (unsigned)n, device, NULL, NULL, error);
    if (!group || !group->context) {
        free(group);
        return NULL;
    }
    for (int k = 0; k < n; k++) seen[k]->group = group;
    return group;
}

static void end_group(struct sap_cl_group *group)
{
    for (int k = 0; k < sap_opencl.devices; k++)
        if (sap_opencl.device[k].group == group) sap_opencl.device[k].group = NULL;
    (void)api()->release_context(group->context);
    free(group);
}

/* Returns the context of a device; the first opening creates it. The caller holds the lock. */
static int take_context(struct sap_cl_seen *seen, sap_cl_context *context)
{
    int error = 0;
    sap_lock(&sap_opencl.lock);
    struct sap_cl_group *group = seen->group ? seen->group : make_group(&seen, 1, &error);
    *context = group ? group->context : NULL;
    if (group) seen->opens++, group->opens++;
    sap_unlock(&sap_opencl.lock);
    return *context ? SAP_DRIVER_OK : sap_opencl_check(error ? error : -34, "clCreateContext");
}

/* Removes a closed device from its group, so that the next opening of a lost device creates a new context. */
static void give_context(struct sap_cl_seen *seen)
{
    sap_lock(&sap_opencl.lock);
    struct sap_cl_group *group = seen->group;
    if (--seen->opens == 0) seen->group = NULL;
    if (--group->opens == 0) end_group(group);
    sap_unlock(&sap_opencl.lock);
}

/* Returns whether all these devices, of one platform, are closed; dissolves groups without open devices. */
static int all_closed(struct sap_cl_seen *const *seen, int n)
{
    for (int k = 0; k < n; k++) {
        if (seen[k]->platform != seen[0]->platform || seen[k]->opens > 0) return 0;
        if (seen[k]->group && seen[k]->group->opens == 0) end_group(seen[k]->group);
    }
    return 1;
}

int sap_opencl_unite(const int *numbers, int n)
{
    struct sap_cl_seen *seen[SAP_CL_DEVICES] = {NULL};
    int error = 0, same = 1;
    if (n < 1 || n > SAP_CL_DEVICES) return 0;
    for (int k = 0; k < n; k++)
        if (find_device(numbers[k], &seen[k]) != SAP_DRIVER_OK || !seen[k]) return 0;
    /* in a shared context NVIDIA's driver moves buffers between devices: four were slower than one */
    if ((unsigned)number_of(seen[0], VENDOR_ID, 4) == NVIDIA) return 1;
    sap_lock(&sap_opencl.lock);
    if (all_closed(seen, n)) seen[0]->group = make_group(seen, n, &error);
    for (int k = 0; k < n; k++) same &= seen[k]->group && seen[k]->group == seen[0]->group;
    sap_unlock(&sap_opencl.lock);
    return same;
}

int sap_opencl_together(const struct sap_dev *a, const struct sap_dev *b)
{
    return sap_opencl_const_device_of(a)->context == sap_opencl_const_device_of(b)->context;
}

int sap_opencl_open(int number, struct sap_dev **opaque_dev)
{
    struct sap_cl_seen *seen = NULL;
    *opaque_dev = NULL;
    int status = find_device(number, &seen);
    if (status != SAP_DRIVER_OK || !seen) return status;
    struct sap_opencl_device *const dev = sap_opencl_room(sizeof *dev);
    if (!dev) return SAP_DRIVER_MEMORY;
    dev->seen = seen;
    dev->most = (size_t)number_of(seen, MAX_MEM_ALLOC_SIZE, 8);
    dev->shared = (size_t)number_of(seen, LOCAL_MEM_SIZE, 8);
    write_architecture(seen, dev->architecture, sizeof dev->architecture);
    status = take_context(seen, &dev->context);
    if (status == SAP_DRIVER_OK)
        *opaque_dev = sap_opencl_device_handle(dev);
    else
        free(dev);
    return status;
}

void sap_opencl_close(struct sap_dev *opaque_dev)
{
    struct sap_opencl_device *const dev = sap_opencl_device_of(opaque_dev);
    if (!dev) return;
    if (!sap_forked) {
        if (dev->service) (void)api()->release_queue(dev->service);
        if (dev->timer) (void)api()->release_queue(dev->timer);
        if (dev->incoming) (void)api()->release_queue(dev->incoming);
        give_context(dev->seen);
    }
    free(dev);
}

/* Does nothing: OpenCL has no current context. */
int sap_opencl_enter(struct sap_dev *opaque_dev)
{
    struct sap_opencl_device *const dev = sap_opencl_device_of(opaque_dev);
    if (sap_forked) return sap_opencl_refuse(SAP_DRIVER_LOST, "OpenCL cannot be used in a child after fork");
    if (dev->entered) return sap_opencl_refuse(SAP_DRIVER_ERROR, "the device has been entered already");
    dev->entered = 1;
    return SAP_DRIVER_OK;
}

void sap_opencl_leave(struct sap_dev *opaque_dev) { sap_opencl_device_of(opaque_dev)->entered = 0; }

int sap_opencl_queue(const struct sap_opencl_device *dev, uint64_t properties, sap_cl_queue *queue)
{
    int error = 0;
    *queue = api()->queue(dev->context, dev->seen->device, properties, &error);
    return *queue ? SAP_DRIVER_OK : sap_opencl_check(error ? error : -36, "clCreateCommandQueue");
}
