/*
 * opencl_api.h - the calls of OpenCL 1.2 that the OpenCL driver uses, resolved in libOpenCL.so.1 at first use.
 *
 * Types and numbers are those of the binary interface, declared here so that the library builds and starts without
 * OpenCL.
 */
#ifndef SAP_DRIVER_OPENCL_API_H
#define SAP_DRIVER_OPENCL_API_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

typedef struct _cl_platform_id *sap_cl_platform;
typedef struct _cl_device_id *sap_cl_device;
typedef struct _cl_context *sap_cl_context;
typedef struct _cl_command_queue *sap_cl_queue;
typedef struct _cl_mem *sap_cl_mem;
typedef struct _cl_program *sap_cl_program;
typedef struct _cl_kernel *sap_cl_kernel;
typedef struct _cl_event *sap_cl_event;

/* Constants of devices, contexts, buffers ... */
enum {
    SAP_CL_DEVICE_CPU = 2, /* types: bits */
    SAP_CL_DEVICE_GPU = 4,
    SAP_CL_DEVICE_ACCELERATOR = 8,
    SAP_CL_QUEUE_PROFILING = 2,
    SAP_CL_MEM_READ_WRITE = 1,
    SAP_CL_MEM_ALLOC_HOST_PTR = 16,
    SAP_CL_MAP_READ = 1,
    SAP_CL_MAP_WRITE = 2
};

/*
 * one(name here, name in the library, result, arguments). A cl_int is 0 for success; calls that create an object return
 * it, or NULL with *error set if they fail.
 */
#define SAP_OPENCL_CALLS(one)                                                                                          \
    one(platforms, "clGetPlatformIDs", int, (unsigned room, sap_cl_platform *platforms, unsigned *n));                 \
    one(platform_info, "clGetPlatformInfo", int,                                                                       \
        (sap_cl_platform platform, unsigned what, size_t room, void *value, size_t *size));                            \
    one(devices, "clGetDeviceIDs", int,                                                                                \
        (sap_cl_platform platform, uint64_t type, unsigned room, sap_cl_device *devices, unsigned *n));                \
    one(device_info, "clGetDeviceInfo", int,                                                                           \
        (sap_cl_device device, unsigned what, size_t room, void *value, size_t *size));                                \
    one(sub_devices, "clCreateSubDevices", int,                                                                        \
        (sap_cl_device device, const intptr_t *how, unsigned room, sap_cl_device *devices, unsigned *n));              \
    one(context, "clCreateContext", sap_cl_context,                                                                    \
        (const intptr_t *properties, unsigned n, const sap_cl_device *devices, void (*notify)(void), void *user,       \
         int *error));                                                                                                 \
    one(release_context, "clReleaseContext", int, (sap_cl_context context));                                           \
    one(queue, "clCreateCommandQueue", sap_cl_queue,                                                                   \
        (sap_cl_context context, sap_cl_device device, uint64_t properties, int *error));                              \
    one(release_queue, "clReleaseCommandQueue", int, (sap_cl_queue queue));                                            \
    one(finish, "clFinish", int, (sap_cl_queue queue));                                                                \
    one(flush, "clFlush", int, (sap_cl_queue queue));                                                                  \
    one(buffer, "clCreateBuffer", sap_cl_mem,                                                                          \
        (sap_cl_context context, uint64_t flags, size_t bytes, void *host, int *error));                               \
    one(release_mem, "clReleaseMemObject", int, (sap_cl_mem mem));                                                     \
    one(map, "clEnqueueMapBuffer", void *,                                                                             \
        (sap_cl_queue queue, sap_cl_mem mem, unsigned wait, uint64_t flags, size_t at, size_t bytes, unsigned n,       \
         const sap_cl_event *after, sap_cl_event *event, int *error));                                                 \
    one(unmap, "clEnqueueUnmapMemObject", int,                                                                         \
        (sap_cl_queue queue, sap_cl_mem mem, void *host, unsigned n, const sap_cl_event *after, sap_cl_event *event)); \
    one(write, "clEnqueueWriteBuffer", int,                                                                            \
        (sap_cl_queue queue, sap_cl_mem mem, unsigned wait, size_t at, size_t bytes, const void *from, unsigned n,     \
         const sap_cl_event *after, sap_cl_event *event));                                                             \
    one(read, "clEnqueueReadBuffer", int,                                                                              \
        (sap_cl_queue queue, sap_cl_mem mem, unsigned wait, size_t at, size_t bytes, void *to, unsigned n,             \
         const sap_cl_event *after, sap_cl_event *event));                                                             \
    one(copy, "clEnqueueCopyBuffer", int,                                                                              \
        (sap_cl_queue queue, sap_cl_mem from, sap_cl_mem to, size_t from_at, size_t at, size_t bytes, unsigned n,      \
         const sap_cl_event *after, sap_cl_event *event));                                                             \
    one(fill, "clEnqueueFillBuffer", int,                                                                              \
        (sap_cl_queue queue, sap_cl_mem mem, const void *pattern, size_t size, size_t at, size_t bytes, unsigned n,    \
         const sap_cl_event *after, sap_cl_event *event));                                                             \
    one(marker, "clEnqueueMarkerWithWaitList", int,                                                                    \
        (sap_cl_queue queue, unsigned n, const sap_cl_event *after, sap_cl_event *event));                             \
    one(barrier, "clEnqueueBarrierWithWaitList", int,                                                                  \
        (sap_cl_queue queue, unsigned n, const sap_cl_event *after, sap_cl_event *event));                             \
    one(wait, "clWaitForEvents", int, (unsigned n, const sap_cl_event *events));                                       \
    one(event_info, "clGetEventInfo", int,                                                                             \
        (sap_cl_event event, unsigned what, size_t room, void *value, size_t *size));                                  \
    one(event_profile, "clGetEventProfilingInfo", int,                                                                 \
        (sap_cl_event event, unsigned what, size_t room, void *value, size_t *size));                                  \
    one(release_event, "clReleaseEvent", int, (sap_cl_event event));                                                   \
    one(program_of_text, "clCreateProgramWithSource", sap_cl_program,                                                  \
        (sap_cl_context context, unsigned n, const char **text, const size_t *size, int *error));                      \
    one(program_of_binary, "clCreateProgramWithBinary", sap_cl_program,                                                \
        (sap_cl_context context, unsigned n, const sap_cl_device *devices, const size_t *size,                         \
         const unsigned char **binary, int *status, int *error));                                                      \
    one(build, "clBuildProgram", int,                                                                                  \
        (sap_cl_program program, unsigned n, const sap_cl_device *devices, const char *options, void (*notify)(void),  \
         void *user));                                                                                                 \
    one(build_info, "clGetProgramBuildInfo", int,                                                                      \
        (sap_cl_program program, sap_cl_device device, unsigned what, size_t room, void *value, size_t *size));        \
    one(program_info, "clGetProgramInfo", int,                                                                         \
        (sap_cl_program program, unsigned what, size_t room, void *value, size_t *size));                              \
    one(release_program, "clReleaseProgram", int, (sap_cl_program program));                                           \
    one(kernel, "clCreateKernel", sap_cl_kernel, (sap_cl_program program, const char *name, int *error));              \
    one(release_kernel, "clReleaseKernel", int, (sap_cl_kernel kernel));                                               \
    one(kernel_group_info, "clGetKernelWorkGroupInfo", int,                                                            \
        (sap_cl_kernel kernel, sap_cl_device device, unsigned what, size_t room, void *value, size_t *size));          \
    one(argument, "clSetKernelArg", int, (sap_cl_kernel kernel, unsigned number, size_t size, const void *value));     \
    one(launch, "clEnqueueNDRangeKernel", int,                                                                         \
        (sap_cl_queue queue, sap_cl_kernel kernel, unsigned dimensions, const size_t *offset, const size_t *items,     \
         const size_t *group, unsigned n, const sap_cl_event *after, sap_cl_event *event))

#define SAP_OPENCL_MEMBER(name, symbol, result, arguments) result(*name) arguments
struct sap_opencl_api {
    SAP_OPENCL_CALLS(SAP_OPENCL_MEMBER);
};
#undef SAP_OPENCL_MEMBER

enum { SAP_CL_DEVICES = 64 };

/* A context of one device, or of several devices that work together; created when the first is opened. */
struct sap_cl_group {
    sap_cl_context context;
    int opens; /* number of times that its devices are open */
};

/* A device of this process. All handles of the device share its context. */
struct sap_cl_seen {
    sap_cl_platform platform;
    sap_cl_device device;
    int is_cpu;
    int has_fp64;               /* 0 also if the user selects the kernels of devices without double precision */
    int vectors;                /* kernels compute with vectors: CPUs, unless the user selects the kernels of GPUs */
    struct sap_cl_group *group; /* NULL: the device is neither open nor announced */
    int opens;
    atomic_size_t taken; /* bytes of buffers */
};

/* The state of OpenCL in this process: determined once and then constant, except for contexts. */
struct sap_opencl {
    pthread_once_t once;
    atomic_int tried; /* 1: OpenCL has been loaded, or this has failed */
    int usable;
    int devices, automatic; /* number of devices; number of GPUs and accelerators, which come first */
    char reason[256];       /* why there are no devices, or the name of the driver */
    struct sap_lock lock;   /* guards groups and opens of devices */
    struct sap_cl_seen device[SAP_CL_DEVICES];
    struct sap_opencl_api api;
};
extern struct sap_opencl sap_opencl;

/* Message of the last failed call of OpenCL in this thread. */
extern _Thread_local char sap_opencl_error[256];

/* Loads OpenCL at the first call. SAP_DRIVER_OK, or UNSUPPORTED with the reason as this thread's error. */
int sap_opencl_ready(void);

/* Translates a result to a status; sets this thread's error if the call failed. */
int sap_opencl_check(int result, const char *call);

/* Sets this thread's error; returns status. */
int sap_opencl_refuse(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
