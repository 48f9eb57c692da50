/* hosted.c - OpenCL on a CPU as a driver whose device memory has addresses (hosted.h). */
#define _POSIX_C_SOURCE 200809L
#include "hosted.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver/driver.h"
#include "driver/opencl/opencl_api.h"
#include "driver/opencl/opencl_driver.h"

int (*hosted_pending)(void);

static struct sap_driver table;

void hosted_finish(void *stream) { (void)sap_driver_opencl.stream_finish(stream); }

int hosted_devices(void) { return sap_driver_opencl.count(); }

/* ---- memory of a caller: what is adopted is a copy, which goes back when it is released ---- */

enum { LENT = 256, ADOPTED = 32 };

static struct lent {
    char *at;
    size_t bytes;
} lent[LENT];
static int n_lent;

static struct adopted {
    struct sap_mem *mem;
    struct sap_dev *dev;
    char *at;
    size_t bytes;
} adopted[ADOPTED];

/* Notes memory that may be adopted; what was noted at its address is gone. */
static void note(void *at, size_t bytes)
{
    int l = 0;
    while (l < n_lent && lent[l].at != at) l++;
    if (l == LENT) l = 0; /* the oldest */
    if (l == n_lent) n_lent++;
    lent[l] = (struct lent){at, bytes};
}

void hosted_lend(void *at, size_t bytes) { note(at, bytes); }

/* The address at which the device keeps a buffer: on a CPU the one at which the host sees it. */
static void *address(const struct sap_mem *opaque_mem)
{
    enum { NOW = 1 };
    struct sap_opencl_memory *const mem = sap_opencl_memory_of((void *)(uintptr_t)opaque_mem);
    sap_cl_mem buffer = NULL;
    int error = 0;
    if (!mem->dev->service) (void)sap_opencl_queue(mem->dev, 0, &mem->dev->service);
    if (sap_opencl_buffer(mem, &buffer)) return NULL;
    void *const at = sap_opencl.api.map(mem->dev->service, buffer, NOW, SAP_CL_MAP_READ | SAP_CL_MAP_WRITE, 0,
                                        mem->bytes, 0, NULL, NULL, &error);
    if (at) (void)sap_opencl.api.unmap(mem->dev->service, buffer, at, 0, NULL, NULL);
    (void)sap_opencl.api.finish(mem->dev->service);
    if (at) note(at, mem->bytes);
    return at;
}

static int move(const struct adopted *a, int to_device)
{
    const struct sap_driver *const d = &sap_driver_opencl;
    struct sap_stream *s = NULL;
    int status = d->stream_create(a->dev, &s);
    if (status) return status;
    status = to_device ? d->copy_in(s, a->mem, 0, a->at, a->bytes) : d->copy_out(s, a->at, a->mem, 0, a->bytes);
    if (!status) status = d->stream_finish(s);
    d->stream_destroy(s);
    return status;
}

static int adopt(struct sap_dev *dev, const void *address, size_t bytes, struct sap_mem **mem)
{
    const uintptr_t at = (uintptr_t)address;
    int l = 0, k = 0;
    *mem = NULL;
    while (l < n_lent && !(at >= (uintptr_t)lent[l].at && at + bytes <= (uintptr_t)lent[l].at + lent[l].bytes)) l++;
    while (k < ADOPTED && adopted[k].mem) k++;
    if (l == n_lent || k == ADOPTED) return SAP_DRIVER_UNSUPPORTED;
    const int status = sap_driver_opencl.allocate(dev, bytes, mem);
    if (status) return status;
    adopted[k] = (struct adopted){*mem, dev, lent[l].at + (at - (uintptr_t)lent[l].at), bytes};
    return move(&adopted[k], 1);
}

static void release(struct sap_mem *mem)
{
    for (int k = 0; k < ADOPTED && mem; k++)
        if (adopted[k].mem == mem) {
            (void)move(&adopted[k], 0);
            adopted[k].mem = NULL;
        }
    sap_driver_opencl.release(mem);
}

static void *native_stream(const struct sap_stream *s) { return (void *)(uintptr_t)s; }

static int event_query(struct sap_event *e)
{
    return hosted_pending && hosted_pending() ? (int)SAP_DRIVER_PENDING : sap_driver_opencl.event_query(e);
}

static int properties(int number, struct sap_device_properties *p)
{
    const char *const shared = getenv("HOSTED_SHARED");
    enum { UNITS = 8 }; /* more than the threads of a test, as a GPU has */
    const int status = sap_driver_opencl.properties(number, p);
    p->units = UNITS;
    int rank = 0, running = 0;
    (void)MPI_Initialized(&running);
    if (running) (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)snprintf(p->uuid, sizeof p->uuid, "hosted-%d", shared && shared[0] == '1' ? 0 : rank);
    return status;
}

void hosted_addresses(int are_there)
{
    table.address = are_there ? address : NULL;
    table.native_stream = are_there ? native_stream : NULL;
}

__attribute__((constructor)) static void replace(void)
{
    table = sap_driver_opencl;
    table.address = address;
    table.adopt = adopt;
    table.release = release;
    table.native_stream = native_stream;
    table.event_query = event_query;
    table.properties = properties;
    sap_driver_replaced.opencl = &table;
}

/* In place of the one of MPI. */
int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void)
{
    const char *const aware = getenv("HOSTED_AWARE");
    return aware && aware[0] == '1';
}
