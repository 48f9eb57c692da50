/*
 * cuda_driver.h - shared declarations of the CUDA and HIP drivers: the types behind the handles of driver.h, and making
 * a device's context current.
 */
#ifndef SAP_DRIVER_CUDA_H
#define SAP_DRIVER_CUDA_H

#include "driver/cuda/cuda_api.h"
#include "driver/driver.h"

/*
 * An open device. Its context is the primary context, which the caller's own CUDA or HIP code shares; the
 * vendor's library counts its users.
 */
struct sap_cuda_device {
    struct sap_cuda *cuda; /* CUDA or HIP */
    sap_cu_device device;
    sap_cu_context context;
    char architecture[32];
    int entered; /* between `enter` and `leave`: the context is current */
    int pushed;  /* by sap_cuda_begin, for one call */
};

struct sap_cuda_memory {
    struct sap_cuda_device *dev;
    sap_cu_address address;
    size_t bytes;
    void *host;                /* address of pinned memory; NULL: device memory */
    size_t mapped;             /* bytes of memory that other devices access too; 0: memory of this device only */
    unsigned long long handle; /* of the mapped memory */
    int theirs;                /* the memory belongs to the caller */
};

struct sap_cuda_stream {
    struct sap_cuda_device *dev;
    sap_cu_stream stream;
    int waited; /* it waits for an event, since the last launch: the next one does not begin early */
};

struct sap_cuda_event {
    struct sap_cuda_device *dev;
    sap_cu_event event;
};

struct sap_cuda_module {
    struct sap_cuda_device *dev;
    sap_cu_module module;
    struct sap_cuda_function *functions;
    int waits; /* its kernels begin with launches_barrier where they are launched early (driver.h) */
};

struct sap_cuda_function {
    struct sap_cuda_module *module;
    struct sap_cuda_function *next; /* of the same module */
    sap_cu_function function;
};

/*
 * Convert a handle to the type behind it, and back. A handle of this driver is the address of its object. Entries of
 * the table take handles and convert them first; all other functions take the types above. Lists of other
 * devices stay lists of handles.
 */
static inline struct sap_cuda_device *sap_cuda_device_of(struct sap_dev *handle) { return (void *)handle; }
static inline struct sap_cuda_memory *sap_cuda_memory_of(struct sap_mem *handle) { return (void *)handle; }
static inline struct sap_cuda_stream *sap_cuda_stream_of(struct sap_stream *handle) { return (void *)handle; }
static inline struct sap_cuda_event *sap_cuda_event_of(struct sap_event *handle) { return (void *)handle; }
static inline struct sap_cuda_module *sap_cuda_module_of(struct sap_module *handle) { return (void *)handle; }
static inline struct sap_cuda_function *sap_cuda_function_of(struct sap_function *handle) { return (void *)handle; }

static inline const struct sap_cuda_memory *sap_cuda_const_memory_of(const struct sap_mem *handle)
{
    return (const void *)handle;
}

static inline struct sap_dev *sap_cuda_device_handle(struct sap_cuda_device *dev) { return (void *)dev; }
static inline struct sap_mem *sap_cuda_memory_handle(struct sap_cuda_memory *mem) { return (void *)mem; }
static inline struct sap_stream *sap_cuda_stream_handle(struct sap_cuda_stream *s) { return (void *)s; }
static inline struct sap_event *sap_cuda_event_handle(struct sap_cuda_event *e) { return (void *)e; }
static inline struct sap_module *sap_cuda_module_handle(struct sap_cuda_module *m) { return (void *)m; }
static inline struct sap_function *sap_cuda_function_handle(struct sap_cuda_function *f) { return (void *)f; }

/* What the tables of CUDA and HIP do for devices that are not open yet. */
int sap_cuda_count_of(struct sap_cuda *cuda);
const char *sap_cuda_describe_of(struct sap_cuda *cuda);
int sap_cuda_properties_of(struct sap_cuda *cuda, int number, struct sap_device_properties *properties);
int sap_cuda_open_of(struct sap_cuda *cuda, int number, struct sap_dev **dev);

/* Entries of the table that cuda_device.c implements. */
void sap_cuda_close(struct sap_dev *dev);
int sap_cuda_enter(struct sap_dev *dev);
void sap_cuda_leave(struct sap_dev *dev);

/*
 * Enclose each call that needs the context. _begin makes the context current unless it is. _end restores the caller's
 * context and returns `status`, or the error of the restoration. Call libcuda only if _begin returned OK, and _end in
 * any case.
 */
int sap_cuda_begin(struct sap_cuda_device *dev);
int sap_cuda_end(struct sap_cuda_device *dev, int status);

/* Returns zeroed host memory; on failure this thread's error is set. */
void *sap_cuda_room(size_t bytes);

/* Entries of the table that cuda_memory.c implements. */
int sap_cuda_memory_left(struct sap_dev *dev, size_t *bytes);
int sap_cuda_allocate(struct sap_dev *dev, size_t bytes, struct sap_mem **mem);
int sap_cuda_allocate_pinned(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host);
int sap_cuda_allocate_shared(struct sap_dev *dev, struct sap_dev *const *others, int n, size_t bytes,
                             struct sap_mem **mem);
void sap_cuda_release(struct sap_mem *mem);
int sap_cuda_adopt(struct sap_dev *dev, const void *address, size_t bytes, struct sap_mem **mem);
void *sap_cuda_address(const struct sap_mem *mem);

#endif
