/*
 * cuda_memory.c - memory of the CUDA and HIP drivers: device memory, pinned memory of the host, and device memory that
 * other GPUs access at the same address, by the virtual memory management of the vendor's library.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cuda/cuda_api.h"
#include "driver/cuda/cuda_driver.h"

enum { SHARED_MOST = 64, ON_DEVICE = 1, PINNED = 1, READ_WRITE = 3, GRANULARITY_MINIMUM = 0 };
enum { HOST_PORTABLE = 1 /* cuMemHostAlloc: pinned for all contexts */, HOST_DEVICEMAP = 2 };

/* Returns zeroed host memory; on failure this thread's error is set. */
void *sap_cuda_room(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) (void)sap_cuda_refuse(SAP_DRIVER_MEMORY, "no memory for %zu bytes of the host", bytes);
    return p;
}

/* ---------------------------------------------------------------- for several devices */

/* Returns whether libcuda has all calls, and all other devices can access this one. */
static int reachable(const struct sap_cuda_device *dev, struct sap_dev *const *others, int n)
{
    const struct sap_cuda_api *cu = &dev->cuda->api;
    if (!cu->can_access_peer || !cu->granularity || !cu->create || !cu->destroy || !cu->address_reserve ||
        !cu->address_free || !cu->map || !cu->unmap || !cu->set_access || n >= SHARED_MOST)
        return sap_cuda_refuse(SAP_DRIVER_UNSUPPORTED, "%s cannot share memory of %d devices", dev->cuda->kind->library,
                               n + 1);
    for (int k = 0; k < n; k++) {
        int can = 0;
        const int status =
            SAP_CUDA_CALL(dev->cuda, can_access_peer, &can, sap_cuda_device_of(others[k])->device, dev->device);
        if (status != SAP_DRIVER_OK) return status;
        if (!can) return sap_cuda_refuse(SAP_DRIVER_UNSUPPORTED, "GPUs do not reach each other's memory");
    }
    return SAP_DRIVER_OK;
}

static int set_access(const struct sap_cuda_memory *mem, struct sap_dev *const *others, int n)
{
    struct sap_cu_access access[SHARED_MOST];
    access[0] = (struct sap_cu_access){{ON_DEVICE, mem->dev->device}, READ_WRITE};
    for (int k = 0; k < n; k++)
        access[k + 1] = (struct sap_cu_access){{ON_DEVICE, sap_cuda_device_of(others[k])->device}, READ_WRITE};
    return SAP_CUDA_CALL(mem->dev->cuda, set_access, mem->address, mem->mapped, access, (size_t)n + 1);
}

/* Allocates memory and maps it to the reserved address. */
static int put_behind(struct sap_cuda_memory *mem, const struct sap_cu_allocation *what, struct sap_dev *const *others,
                      int n)
{
    int status = SAP_CUDA_CALL(mem->dev->cuda, create, &mem->handle, mem->mapped, what, 0);
    if (status != SAP_DRIVER_OK) return status;
    status = SAP_CUDA_CALL(mem->dev->cuda, map, mem->address, mem->mapped, 0, mem->handle, 0);
    if (status == SAP_DRIVER_OK) {
        status = set_access(mem, others, n);
        if (status == SAP_DRIVER_OK) return status;
        (void)mem->dev->cuda->api.unmap(mem->address, mem->mapped);
    }
    (void)mem->dev->cuda->api.destroy(mem->handle);
    return status;
}

/*
 * Gives mem->bytes of mem->dev an address at which that device and n others can read and write. Peer access of whole
 * contexts stays as the caller set it. UNSUPPORTED if the devices cannot access each other's memory, or before CUDA
 * 10.2.
 */
static int map_for_all(struct sap_cuda_memory *mem, struct sap_dev *const *others, int n)
{
    const struct sap_cu_allocation what = {.type = PINNED, .location = {ON_DEVICE, mem->dev->device}};
    size_t grain = 0;
    int status = reachable(mem->dev, others, n);
    if (status != SAP_DRIVER_OK) return status;
    status = SAP_CUDA_CALL(mem->dev->cuda, granularity, &grain, &what, GRANULARITY_MINIMUM);
    if (status != SAP_DRIVER_OK) return status;
    if (grain == 0) grain = (size_t)2 << 20;
    mem->mapped = (mem->bytes + grain - 1) / grain * grain;
    status = SAP_CUDA_CALL(mem->dev->cuda, address_reserve, &mem->address, mem->mapped, 0, 0, 0);
    if (status != SAP_DRIVER_OK) return status;
    status = put_behind(mem, &what, others, n);
    if (status != SAP_DRIVER_OK) (void)mem->dev->cuda->api.address_free(mem->address, mem->mapped);
    return status;
}

static int unmap(struct sap_cuda_memory *mem)
{
    int status = SAP_CUDA_CALL(mem->dev->cuda, unmap, mem->address, mem->mapped);
    const int released = SAP_CUDA_CALL(mem->dev->cuda, destroy, mem->handle);
    const int freed = SAP_CUDA_CALL(mem->dev->cuda, address_free, mem->address, mem->mapped);
    if (status == SAP_DRIVER_OK) status = released;
    return status == SAP_DRIVER_OK ? freed : status;
}

/* ---------------------------------------------------------------- memory */

int sap_cuda_memory_left(struct sap_dev *opaque_dev, size_t *bytes)
{
    struct sap_cuda_device *const dev = sap_cuda_device_of(opaque_dev);
    size_t all = 0;
    int status = sap_cuda_begin(dev);
    *bytes = 0;
    if (status == SAP_DRIVER_OK) status = SAP_CUDA_CALL(dev->cuda, memory_info, bytes, &all);
    return sap_cuda_end(dev, status);
}

/* Translates libcuda's invalid value: here only the size can be invalid. */
static int of_allocation(int status) { return status == SAP_DRIVER_ERROR ? SAP_DRIVER_MEMORY : status; }

/* Kind of memory: pinned host memory, or device memory, which n other devices may access too. */
struct memory_kind {
    int pinned, n;
    struct sap_dev *const *others;
};

static int take_pinned(struct sap_cuda_memory *m)
{
    int status = SAP_CUDA_CALL(m->dev->cuda, host_allocate, &m->host, m->bytes, HOST_PORTABLE | HOST_DEVICEMAP);
    if (status != SAP_DRIVER_OK) return of_allocation(status);
    status = SAP_CUDA_CALL(m->dev->cuda, host_address, &m->address, m->host, 0);
    if (status != SAP_DRIVER_OK) (void)m->dev->cuda->api.host_release(m->host);
    return status;
}

static int take(struct sap_cuda_memory *m, const struct memory_kind *kind)
{
    if (kind->pinned) return take_pinned(m);
    if (kind->others) return map_for_all(m, kind->others, kind->n);
    return of_allocation(SAP_CUDA_CALL(m->dev->cuda, allocate, &m->address, m->bytes));
}

static int allocate_kind(struct sap_cuda_device *dev, size_t bytes, const struct memory_kind *kind,
                         struct sap_cuda_memory **mem)
{
    *mem = NULL;
    struct sap_cuda_memory *m = sap_cuda_room(sizeof *m);
    if (!m) return SAP_DRIVER_MEMORY;
    m->dev = dev;
    m->bytes = bytes ? bytes : 1;
    int status = sap_cuda_begin(dev);
    if (status == SAP_DRIVER_OK) status = take(m, kind);
    status = sap_cuda_end(dev, status);
    if (status == SAP_DRIVER_OK)
        *mem = m;
    else
        free(m);
    return status;
}

int sap_cuda_allocate(struct sap_dev *opaque_dev, size_t bytes, struct sap_mem **opaque_mem)
{
    struct sap_cuda_memory *mem = NULL;
    const int status = allocate_kind(sap_cuda_device_of(opaque_dev), bytes, &(struct memory_kind){0}, &mem);
    *opaque_mem = sap_cuda_memory_handle(mem);
    return status;
}

int sap_cuda_allocate_pinned(struct sap_dev *opaque_dev, size_t bytes, struct sap_mem **opaque_mem, void **host)
{
    const struct memory_kind kind = {.pinned = 1};
    struct sap_cuda_memory *mem = NULL;
    const int status = allocate_kind(sap_cuda_device_of(opaque_dev), bytes, &kind, &mem);
    *opaque_mem = sap_cuda_memory_handle(mem);
    *host = mem ? mem->host : NULL;
    return status;
}

int sap_cuda_allocate_shared(struct sap_dev *opaque_dev, struct sap_dev *const *others, int n, size_t bytes,
                             struct sap_mem **opaque_mem)
{
    const struct memory_kind kind = {.others = others, .n = n};
    struct sap_cuda_memory *mem = NULL;
    const int status = allocate_kind(sap_cuda_device_of(opaque_dev), bytes, &kind, &mem);
    *opaque_mem = sap_cuda_memory_handle(mem);
    return status;
}

/* CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ..._DEVICE_ORDINAL. */
enum { ATTRIBUTE_TYPE = 2, ATTRIBUTE_DEVICE = 9 };

int sap_cuda_adopt(struct sap_dev *opaque_dev, const void *address, size_t bytes, struct sap_mem **opaque_mem)
{
    struct sap_cuda_device *const dev = sap_cuda_device_of(opaque_dev);
    unsigned type = 0;
    int device = -1;
    int wanted[] = {ATTRIBUTE_TYPE, ATTRIBUTE_DEVICE};
    void *values[] = {&type, &device};
    *opaque_mem = NULL;
    const struct sap_cuda *const cuda = dev->cuda;
    if (!cuda->api.pointer)
        return sap_cuda_refuse(SAP_DRIVER_UNSUPPORTED, "%s has no %s", cuda->kind->library, cuda->kind->names->pointer);
    int status = sap_cuda_begin(dev);
    /* An address that the library does not know is no error of this call: its type stays 0. */
    const int known = !status && !cuda->api.pointer(2, wanted, values, (sap_cu_address)(uintptr_t)address);
    status = sap_cuda_end(dev, status);
    if (status) return status;
    if (!known || type != (unsigned)cuda->kind->type_of_device(cuda) || device != dev->device)
        return sap_cuda_refuse(SAP_DRIVER_UNSUPPORTED, "%p is not in memory of device %d", address, dev->device);
    struct sap_cuda_memory *const mem = sap_cuda_room(sizeof *mem);
    if (!mem) return SAP_DRIVER_MEMORY;
    *mem = (struct sap_cuda_memory){
        .dev = dev, .address = (sap_cu_address)(uintptr_t)address, .bytes = bytes, .theirs = 1};
    *opaque_mem = sap_cuda_memory_handle(mem);
    return SAP_DRIVER_OK;
}

void *sap_cuda_address(const struct sap_mem *opaque_mem)
{
    const sap_cu_address address = sap_cuda_const_memory_of(opaque_mem)->address;
    void *pointer = NULL;
    const uintptr_t number = (uintptr_t)address;
    memcpy(&pointer, &number, sizeof pointer); /* an address that the host cannot read */
    return pointer;
}

/* Frees memory. Memory of a broken context cannot be freed: it disappears with the context. */
void sap_cuda_release(struct sap_mem *opaque_mem)
{
    struct sap_cuda_memory *const mem = sap_cuda_memory_of(opaque_mem);
    if (!mem) return;
    if (mem->theirs) {
        free(mem);
        return;
    }
    int status = sap_cuda_begin(mem->dev);
    if (status == SAP_DRIVER_OK)
        status = mem->host     ? SAP_CUDA_CALL(mem->dev->cuda, host_release, mem->host)
                 : mem->mapped ? unmap(mem)
                               : SAP_CUDA_CALL(mem->dev->cuda, release, mem->address);
    (void)sap_cuda_end(mem->dev, status);
    free(mem);
}
