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
    return at;
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

__attribute__((constructor)) static void replace(void)
{
    table = sap_driver_opencl;
    table.address = address;
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
