/* opencl_memory.c - device memory of OpenCL, pinned memory of the host, copies. */
#include "driver/opencl/opencl_driver.h"

#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/process.h"
#include "driver/opencl/opencl_api.h"

enum { NOW = 1, LATER = 0 }; /* blocking or asynchronous copy */

static const struct sap_opencl_api *api(void) { return &sap_opencl.api; }

static int in_child(void)
{
    if (!sap_forked) return SAP_DRIVER_OK;
    return sap_opencl_refuse(SAP_DRIVER_LOST, "OpenCL cannot be used in a child after fork");
}

/* ---------------------------------------------------------------- buffers */

/* OpenCL does not report free memory. */
int sap_opencl_memory_left(struct sap_dev *opaque_dev, size_t *bytes)
{
    struct sap_opencl_device *const dev = sap_opencl_device_of(opaque_dev);
    struct sap_device_properties p;
    *bytes = 0;
    const int status = sap_opencl_properties((int)(dev->seen - sap_opencl.device), &p);
    if (status == SAP_DRIVER_OK) *bytes = p.memory > dev->seen->taken ? p.memory - dev->seen->taken : 0;
    return status;
}

static int create(struct sap_opencl_device *dev, uint64_t flags, size_t bytes, sap_cl_mem *mem)
{
    int error = 0, status = in_child();
    *mem = NULL;
    if (status != SAP_DRIVER_OK) return status;
    if (bytes > dev->most)
        return sap_opencl_refuse(SAP_DRIVER_MEMORY, "%zu MiB at once: this device gives at most %zu", bytes >> 20,
                                 dev->most >> 20);
    *mem = api()->buffer(dev->context, flags, bytes, NULL, &error);
    if (*mem) {
        atomic_fetch_add(&dev->seen->taken, bytes);
        return SAP_DRIVER_OK;
    }
    status = sap_opencl_check(error ? error : -4, "clCreateBuffer");
    return status == SAP_DRIVER_LOST ? SAP_DRIVER_MEMORY : status;
}

static void destroy(struct sap_opencl_device *dev, sap_cl_mem mem, size_t bytes)
{
    if (!mem) return;
    (void)api()->release_mem(mem);
    atomic_fetch_sub(&dev->seen->taken, bytes);
}

static int allocate(struct sap_opencl_device *dev, size_t bytes, struct sap_opencl_memory **mem)
{
    struct sap_opencl_memory *m = sap_opencl_room(sizeof *m);
    *mem = m;
    if (!m) return SAP_DRIVER_MEMORY;
    m->dev = dev;
    m->bytes = bytes ? bytes : 1;
    return SAP_DRIVER_OK;
}

int sap_opencl_allocate(struct sap_dev *opaque_dev, size_t bytes, struct sap_mem **opaque_mem)
{
    struct sap_opencl_device *const dev = sap_opencl_device_of(opaque_dev);
    struct sap_opencl_memory *mem = NULL;
    int status = allocate(dev, bytes, &mem);
    if (status == SAP_DRIVER_OK) status = create(dev, SAP_CL_MEM_READ_WRITE, mem->bytes, &mem->device);
    *opaque_mem = status == SAP_DRIVER_OK ? sap_opencl_memory_handle(mem) : NULL;
    if (status != SAP_DRIVER_OK) free(mem);
    return status;
}

static int map(struct sap_opencl_memory *m)
{
    struct sap_opencl_device *const dev = m->dev;
    int error = 0, status = SAP_DRIVER_OK;
    if (!dev->service) status = sap_opencl_queue(dev, 0, &dev->service);
    if (status == SAP_DRIVER_OK)
        status = create(dev, SAP_CL_MEM_READ_WRITE | SAP_CL_MEM_ALLOC_HOST_PTR, m->bytes, &m->mapped);
    if (status != SAP_DRIVER_OK) return status;
    m->host = api()->map(dev->service, m->mapped, NOW, SAP_CL_MAP_READ | SAP_CL_MAP_WRITE, 0, m->bytes, 0, NULL, NULL,
                         &error);
    if (m->host) return SAP_DRIVER_OK;
    destroy(dev, m->mapped, m->bytes);
    return sap_opencl_check(error ? error : -4, "clEnqueueMapBuffer");
}

int sap_opencl_allocate_pinned(struct sap_dev *opaque_dev, size_t bytes, struct sap_mem **opaque_mem, void **host)
{
    struct sap_opencl_device *const dev = sap_opencl_device_of(opaque_dev);
    struct sap_opencl_memory *mem = NULL;
    int status = allocate(dev, bytes, &mem);
    *opaque_mem = NULL;
    *host = NULL;
    if (status == SAP_DRIVER_OK) status = map(mem);
    if (status != SAP_DRIVER_OK) {
        free(mem);
        return status;
    }
    mem->next = dev->pinned;
    dev->pinned = mem;
    *opaque_mem = sap_opencl_memory_handle(mem);
    *host = mem->host;
    return status;
}

/*
 * Unmaps pinned memory after the commands that use it. OpenCL keeps buffers for its commands, but does not know that a
 * command uses mapped memory by address.
 */
static void unmap(struct sap_opencl_memory *mem)
{
    struct sap_opencl_memory **at = &mem->dev->pinned;
    while (*at && *at != mem) at = &(*at)->next;
    if (*at) *at = mem->next;
    if (sap_forked) return;
    for (struct sap_opencl_stream *s = mem->dev->streams; s; s = s->next) (void)api()->finish(s->queue);
    (void)api()->unmap(mem->dev->service, mem->mapped, mem->host, 0, NULL, NULL);
    (void)api()->finish(mem->dev->service);
    destroy(mem->dev, mem->mapped, mem->bytes);
}

void sap_opencl_release(struct sap_mem *opaque_mem)
{
    struct sap_opencl_memory *const mem = sap_opencl_memory_of(opaque_mem);
    if (!mem) return;
    if (mem->mapped) unmap(mem);
    if (!sap_forked) destroy(mem->dev, mem->device, mem->bytes);
    free(mem);
}

int sap_opencl_buffer(struct sap_opencl_memory *mem, sap_cl_mem *buffer)
{
    int status = SAP_DRIVER_OK;
    if (!mem->device) status = create(mem->dev, SAP_CL_MEM_READ_WRITE, mem->bytes, &mem->device);
    *buffer = mem->device;
    return status;
}

/* ---------------------------------------------------------------- copies */

static int inside(const struct sap_opencl_memory *mem, size_t at, size_t bytes)
{
    if (at <= mem->bytes && bytes <= mem->bytes - at) return in_child();
    return sap_opencl_refuse(SAP_DRIVER_ERROR, "%zu bytes at %zu are not inside a memory of %zu", bytes, at,
                             mem->bytes);
}

/* Returns whether memory is pinned. The caller may reuse other memory as soon as the copy call returns. */
static int is_pinned(const struct sap_opencl_device *dev, const void *at, size_t bytes)
{
    const uintptr_t from = (uintptr_t)at;
    for (const struct sap_opencl_memory *m = dev->pinned; m; m = m->next)
        if (from >= (uintptr_t)m->host && from + bytes <= (uintptr_t)m->host + m->bytes) return 1;
    return 0;
}

int sap_opencl_copy_in(struct sap_stream *opaque_stream, struct sap_mem *opaque_to, size_t at, const void *from,
                       size_t bytes)
{
    const struct sap_opencl_stream *const s = sap_opencl_stream_of(opaque_stream);
    struct sap_opencl_memory *const to = sap_opencl_memory_of(opaque_to);
    sap_cl_mem buffer = NULL;
    int status = inside(to, at, bytes);
    if (status == SAP_DRIVER_OK && bytes > 0) status = sap_opencl_buffer(to, &buffer);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    /* A fill reads its pattern at once, and does not block. */
    if ((bytes == 4 || bytes == 16) && at % bytes == 0)
        return sap_opencl_check(api()->fill(s->queue, buffer, from, bytes, at, bytes, 0, NULL, NULL),
                                "clEnqueueFillBuffer");
    const unsigned wait = is_pinned(s->dev, from, bytes) ? LATER : NOW;
    return sap_opencl_check(api()->write(s->queue, buffer, wait, at, bytes, from, 0, NULL, NULL),
                            "clEnqueueWriteBuffer");
}

int sap_opencl_copy_out(struct sap_stream *opaque_stream, void *to, struct sap_mem *opaque_from, size_t at,
                        size_t bytes)
{
    const struct sap_opencl_stream *const s = sap_opencl_stream_of(opaque_stream);
    struct sap_opencl_memory *const from = sap_opencl_memory_of(opaque_from);
    sap_cl_mem buffer = NULL;
    int status = inside(from, at, bytes);
    if (status == SAP_DRIVER_OK && bytes > 0) status = sap_opencl_buffer(from, &buffer);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    const unsigned wait = is_pinned(s->dev, to, bytes) ? LATER : NOW;
    return sap_opencl_check(api()->read(s->queue, buffer, wait, at, bytes, to, 0, NULL, NULL), "clEnqueueReadBuffer");
}

int sap_opencl_copy(struct sap_stream *opaque_stream, struct sap_mem *opaque_to, size_t at, struct sap_mem *opaque_from,
                    size_t from_at, size_t bytes)
{
    const struct sap_opencl_stream *const s = sap_opencl_stream_of(opaque_stream);
    struct sap_opencl_memory *const to = sap_opencl_memory_of(opaque_to);
    struct sap_opencl_memory *const from = sap_opencl_memory_of(opaque_from);
    sap_cl_mem target = NULL, source = NULL;
    int status = inside(to, at, bytes);
    if (status == SAP_DRIVER_OK) status = inside(from, from_at, bytes);
    if (status == SAP_DRIVER_OK && bytes > 0) status = sap_opencl_buffer(to, &target);
    if (status == SAP_DRIVER_OK && bytes > 0) status = sap_opencl_buffer(from, &source);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    return sap_opencl_check(api()->copy(s->queue, source, target, from_at, at, bytes, 0, NULL, NULL),
                            "clEnqueueCopyBuffer");
}

/*
 * Copies between contexts through the host, which waits. The copy has queues of its own, since the stream belongs to
 * one context.
 */
static int copy_by_host(const struct sap_opencl_stream *s, const struct sap_opencl_memory *to, sap_cl_mem target,
                        size_t at, const struct sap_opencl_memory *from, sap_cl_mem source, size_t from_at,
                        size_t bytes)
{
    sap_cl_queue in = NULL, out = NULL;
    void *between = sap_opencl_room(bytes);
    if (!between) return SAP_DRIVER_MEMORY;
    int status = sap_opencl_check(api()->finish(s->queue), "clFinish");
    if (status == SAP_DRIVER_OK) status = sap_opencl_queue(from->dev, 0, &out);
    if (status == SAP_DRIVER_OK) status = sap_opencl_queue(to->dev, 0, &in);
    if (status == SAP_DRIVER_OK)
        status = sap_opencl_check(api()->read(out, source, NOW, from_at, bytes, between, 0, NULL, NULL),
                                  "clEnqueueReadBuffer");
    if (status == SAP_DRIVER_OK)
        status =
            sap_opencl_check(api()->write(in, target, NOW, at, bytes, between, 0, NULL, NULL), "clEnqueueWriteBuffer");
    if (out) (void)api()->release_queue(out);
    if (in) (void)api()->release_queue(in);
    free(between);
    return status;
}

/*
 * Copies between two devices of a context. A buffer moves as a whole to the device whose queue uses it. So the target's
 * queue copies: only the source moves, which no command uses, since the stream waits for it.
 */
static int copy_across(const struct sap_opencl_stream *s, sap_cl_mem target, struct sap_opencl_device *dev, size_t at,
                       sap_cl_mem source, size_t from_at, size_t bytes)
{
    sap_cl_event before = NULL, copied = NULL;
    int status = SAP_DRIVER_OK;
    if (!dev->incoming) status = sap_opencl_queue(dev, 0, &dev->incoming);
    if (status == SAP_DRIVER_OK)
        status = sap_opencl_check(api()->marker(s->queue, 0, NULL, &before), "clEnqueueMarkerWithWaitList");
    if (status == SAP_DRIVER_OK) status = sap_opencl_check(api()->flush(s->queue), "clFlush");
    if (status == SAP_DRIVER_OK)
        status = sap_opencl_check(api()->copy(dev->incoming, source, target, from_at, at, bytes, 1, &before, &copied),
                                  "clEnqueueCopyBuffer");
    if (status == SAP_DRIVER_OK) status = sap_opencl_check(api()->flush(dev->incoming), "clFlush");
    if (copied) /* also after a failure: the memory may be freed once the stream has finished */
        (void)api()->barrier(s->queue, 1, &copied, NULL);
    if (copied) (void)api()->release_event(copied);
    if (before) (void)api()->release_event(before);
    return status;
}

int sap_opencl_copy_peer(struct sap_stream *opaque_stream, struct sap_mem *opaque_to, size_t at,
                         struct sap_mem *opaque_from, size_t from_at, size_t bytes)
{
    const struct sap_opencl_stream *const s = sap_opencl_stream_of(opaque_stream);
    struct sap_opencl_memory *const to = sap_opencl_memory_of(opaque_to);
    struct sap_opencl_memory *const from = sap_opencl_memory_of(opaque_from);
    sap_cl_mem target = NULL, source = NULL;
    if (to->dev->seen == from->dev->seen)
        return sap_opencl_copy(opaque_stream, opaque_to, at, opaque_from, from_at, bytes);
    int status = inside(from, from_at, bytes);
    if (status == SAP_DRIVER_OK) status = inside(to, at, bytes);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    status = sap_opencl_buffer(to, &target);
    if (status == SAP_DRIVER_OK) status = sap_opencl_buffer(from, &source);
    if (status != SAP_DRIVER_OK) return status;
    return to->dev->context == from->dev->context ? copy_across(s, target, to->dev, at, source, from_at, bytes)
                                                  : copy_by_host(s, to, target, at, from, source, from_at, bytes);
}

int sap_opencl_fill(struct sap_stream *opaque_stream, struct sap_mem *opaque_to, size_t at, unsigned char byte,
                    size_t bytes)
{
    const struct sap_opencl_stream *const s = sap_opencl_stream_of(opaque_stream);
    struct sap_opencl_memory *const to = sap_opencl_memory_of(opaque_to);
    sap_cl_mem buffer = NULL;
    int status = inside(to, at, bytes);
    if (status == SAP_DRIVER_OK && bytes > 0) status = sap_opencl_buffer(to, &buffer);
    if (status != SAP_DRIVER_OK || bytes == 0) return status;
    return sap_opencl_check(api()->fill(s->queue, buffer, &byte, 1, at, bytes, 0, NULL, NULL), "clEnqueueFillBuffer");
}

int sap_opencl_pinned_to_device(struct sap_stream *opaque_stream, struct sap_mem *opaque_mem, size_t at, size_t bytes)
{
    const struct sap_opencl_memory *const mem = sap_opencl_memory_of(opaque_mem);
    return sap_opencl_copy_in(opaque_stream, opaque_mem, at, (const char *)mem->host + at, bytes);
}

int sap_opencl_pinned_to_host(struct sap_stream *opaque_stream, struct sap_mem *opaque_mem, size_t at, size_t bytes)
{
    const struct sap_opencl_memory *const mem = sap_opencl_memory_of(opaque_mem);
    return sap_opencl_copy_out(opaque_stream, (char *)mem->host + at, opaque_mem, at, bytes);
}
