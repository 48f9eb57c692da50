/*
 * aware.c - an MPI that takes device memory of CUDA, made of one that does not: for tests of two ranks on one GPU.
 * Linked into a program, it takes messages of device memory through the host.  It needs libcuda.
 *
 * It stands for what MPI does, not for its speed.  Only MPI_Isend, MPI_Irecv and MPI_Test know device memory.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, POINTER_TYPE = 2, ON_DEVICE = 2 };

typedef unsigned long long address;

static int (*pointer_attribute)(void *value, int which, address at);
static int (*to_host)(void *to, address from, size_t bytes), (*to_device)(address to, const void *from, size_t bytes);
static int (*retain)(void **context, int device), (*push)(void *context), (*pop)(void **context), (*finish)(void);

/* A message under way. */
static struct {
    MPI_Request request;
    char *host;
    address device; /* 0: it is sent */
    size_t bytes;
} message[MOST];

static void find(void *library, void *room, const char *symbol)
{
    void *const at = dlsym(library, symbol);
    if (!at) exit(3);
    memcpy(room, &at, sizeof at);
}

/* Loads libcuda; the device is the first one. */
static void load(void)
{
    void *const cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda) exit(3);
    find(cuda, &pointer_attribute, "cuPointerGetAttribute");
    find(cuda, &to_host, "cuMemcpyDtoH_v2");
    find(cuda, &to_device, "cuMemcpyHtoD_v2");
    find(cuda, &retain, "cuDevicePrimaryCtxRetain");
    find(cuda, &push, "cuCtxPushCurrent_v2");
    find(cuda, &pop, "cuCtxPopCurrent_v2");
    find(cuda, &finish, "cuCtxSynchronize");
}

static void enter(void)
{
    static void *context;
    if (!context && retain(&context, 0)) exit(3);
    if (push(context)) exit(3);
}

static void leave(void)
{
    void *context;
    (void)pop(&context);
}

static int is_device(const void *at)
{
    unsigned type = 0;
    if (!pointer_attribute) load();
    enter();
    const int known = at && pointer_attribute(&type, POINTER_TYPE, (address)(uintptr_t)at) == 0;
    leave();
    return known && type == ON_DEVICE;
}

/* A place for a message of device memory. */
static int stage(const void *at, int count, MPI_Datatype type, int received)
{
    int size, k = 0;
    while (k < MOST && message[k].host) k++;
    if (k == MOST || MPI_Type_size(type, &size)) exit(3);
    message[k].bytes = (size_t)count * (size_t)size;
    message[k].host = malloc(message[k].bytes + 1);
    message[k].device = received ? (address)(uintptr_t)at : 0;
    return k;
}

int MPI_Isend(const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm c, MPI_Request *request)
{
    if (!is_device(from)) return PMPI_Isend(from, count, type, to, tag, c, request);
    const int k = stage(from, count, type, 0);
    enter();
    if (to_host(message[k].host, (address)(uintptr_t)from, message[k].bytes)) exit(3);
    leave();
    const int code = PMPI_Isend(message[k].host, count, type, to, tag, c, request);
    message[k].request = *request;
    return code;
}

int MPI_Irecv(void *at, int count, MPI_Datatype type, int from, int tag, MPI_Comm c, MPI_Request *request)
{
    if (!is_device(at)) return PMPI_Irecv(at, count, type, from, tag, c, request);
    const int k = stage(at, count, type, 1);
    const int code = PMPI_Irecv(message[k].host, count, type, from, tag, c, request);
    message[k].request = *request;
    return code;
}

/* Brings a message that has arrived to the device. */
static void complete(int k)
{
    enter();
    if (message[k].device && (to_device(message[k].device, message[k].host, message[k].bytes) || finish())) exit(3);
    leave();
    free(message[k].host);
    message[k].host = NULL;
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    MPI_Request before = *request;
    const int code = PMPI_Test(request, done, status);
    for (int k = 0; k < MOST && *done && before != MPI_REQUEST_NULL; k++)
        if (message[k].host && message[k].request == before) {
            complete(k);
            break;
        }
    return code;
}

int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void) { return 1; }
