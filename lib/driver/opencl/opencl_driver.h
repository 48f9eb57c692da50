/*
 * opencl_driver.h - shared declarations of the OpenCL driver: the types behind the handles of driver.h, and the
 * functions of each file.
 */
#ifndef SAP_DRIVER_OPENCL_H
#define SAP_DRIVER_OPENCL_H

#include "driver/driver.h"
#include "driver/opencl/opencl_api.h"

/* Numbers of cl_device_info that several files use. */
enum {
    SAP_CL_DEVICE_TYPE = 0x1000,
    SAP_CL_DEVICE_UNITS = 0x1002,
    SAP_CL_DEVICE_AVAILABLE = 0x1027,
    SAP_CL_DEVICE_NAME = 0x102B,
    SAP_CL_DEVICE_DRIVER_VERSION = 0x102D,
    SAP_CL_DEVICE_VERSION = 0x102F
};

/* An open device. */
struct sap_opencl_device {
    struct sap_cl_seen *seen;
    sap_cl_context context;            /* shared by all handles of the device */
    sap_cl_queue service;              /* for mapping memory; created at first use */
    sap_cl_queue timer;                /* for timed events; likewise */
    sap_cl_queue incoming;             /* for copies from other devices; likewise */
    struct sap_opencl_memory *pinned;  /* all pinned memory of this handle */
    struct sap_opencl_stream *streams; /* all streams of this handle */
    size_t most, shared;               /* largest buffer, and local memory, in bytes */
    char architecture[32];
    int entered;
};

/*
 * Device memory or pinned memory. Pinned memory is a buffer that stays mapped for the host. Kernels must not access
 * mapped memory, so a second buffer on the device is added if kernels use it. pinned_to_device and pinned_to_host copy
 * between the two.
 */
struct sap_opencl_memory {
    struct sap_opencl_device *dev;
    sap_cl_mem device; /* NULL: pinned memory that no kernel has used yet */
    sap_cl_mem mapped; /* NULL: not pinned */
    void *host;
    size_t bytes;
    struct sap_opencl_memory *next;
};

struct sap_opencl_stream {
    struct sap_opencl_device *dev;
    struct sap_opencl_stream *next;
    sap_cl_queue queue;
};

struct sap_opencl_event {
    struct sap_opencl_device *dev;
    sap_cl_event event; /* NULL: not recorded yet */
    int timed;
};

struct sap_opencl_module {
    struct sap_opencl_device *dev;
    sap_cl_program program;
    struct sap_opencl_function *functions;
};

/*
 * A kernel. Contexts in several threads share the kernels of a device, although OpenCL stores arguments in the kernel.
 */
struct sap_opencl_function {
    struct sap_opencl_module *module;
    struct sap_opencl_function *next; /* of the module */
    sap_cl_kernel kernel;
    struct sap_lock lock;
};

/*
 * Convert a handle to the type behind it, and back. A handle of this driver is the address of its object. Entries of
 * the table take handles and convert them first; all other functions take the types above.
 */
static inline struct sap_opencl_device *sap_opencl_device_of(struct sap_dev *handle) { return (void *)handle; }
static inline struct sap_opencl_memory *sap_opencl_memory_of(struct sap_mem *handle) { return (void *)handle; }
static inline struct sap_opencl_stream *sap_opencl_stream_of(struct sap_stream *handle) { return (void *)handle; }
static inline struct sap_opencl_event *sap_opencl_event_of(struct sap_event *handle) { return (void *)handle; }
static inline struct sap_opencl_module *sap_opencl_module_of(struct sap_module *handle) { return (void *)handle; }
static inline struct sap_opencl_function *sap_opencl_function_of(struct sap_function *handle) { return (void *)handle; }

static inline const struct sap_opencl_device *sap_opencl_const_device_of(const struct sap_dev *handle)
{
    return (const void *)handle;
}

static inline struct sap_dev *sap_opencl_device_handle(struct sap_opencl_device *dev) { return (void *)dev; }
static inline struct sap_mem *sap_opencl_memory_handle(struct sap_opencl_memory *mem) { return (void *)mem; }
static inline struct sap_stream *sap_opencl_stream_handle(struct sap_opencl_stream *s) { return (void *)s; }
static inline struct sap_event *sap_opencl_event_handle(struct sap_opencl_event *e) { return (void *)e; }
static inline struct sap_module *sap_opencl_module_handle(struct sap_opencl_module *m) { return (void *)m; }
static inline struct sap_function *sap_opencl_function_handle(struct sap_opencl_function *f) { return (void *)f; }

/* ---- opencl_device.c ---- */
int sap_opencl_count(void);
const char *sap_opencl_describe(void);
int sap_opencl_properties(int number, struct sap_device_properties *properties);
int sap_opencl_open(int number, struct sap_dev **dev);
void sap_opencl_close(struct sap_dev *dev);
int sap_opencl_enter(struct sap_dev *dev);
void sap_opencl_leave(struct sap_dev *dev);
int sap_opencl_unite(const int *numbers, int n);
int sap_opencl_together(const struct sap_dev *a, const struct sap_dev *b);

/* Creates a queue of the device; *queue is NULL on failure. */
int sap_opencl_queue(const struct sap_opencl_device *dev, uint64_t properties, sap_cl_queue *queue);

/* Reads a string of the device or platform, "" if there is none. */
void sap_opencl_text(const struct sap_cl_seen *seen, unsigned what, char *text, size_t room);
void sap_opencl_platform(const struct sap_cl_seen *seen, char *text, size_t room);

/* ---- opencl_memory.c ---- */
int sap_opencl_memory_left(struct sap_dev *dev, size_t *bytes);
int sap_opencl_allocate(struct sap_dev *dev, size_t bytes, struct sap_mem **mem);
int sap_opencl_allocate_pinned(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host);
void sap_opencl_release(struct sap_mem *mem);
int sap_opencl_copy_in(struct sap_stream *s, struct sap_mem *to, size_t at, const void *from, size_t bytes);
int sap_opencl_copy_out(struct sap_stream *s, void *to, struct sap_mem *from, size_t at, size_t bytes);
int sap_opencl_copy(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at,
                    size_t bytes);
int sap_opencl_copy_peer(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at,
                         size_t bytes);
int sap_opencl_fill(struct sap_stream *s, struct sap_mem *to, size_t at, unsigned char byte, size_t bytes);
int sap_opencl_pinned_to_device(struct sap_stream *s, struct sap_mem *mem, size_t at, size_t bytes);
int sap_opencl_pinned_to_host(struct sap_stream *s, struct sap_mem *mem, size_t at, size_t bytes);

/* Returns the buffer that kernels and copies within the device use. */
int sap_opencl_buffer(struct sap_opencl_memory *mem, sap_cl_mem *buffer);

/* ---- opencl_program.c ---- */
int sap_opencl_module_load(struct sap_dev *dev, const void *image, size_t bytes, struct sap_module **m);
void sap_opencl_module_unload(struct sap_module *m);
int sap_opencl_function(struct sap_module *m, const char *name, struct sap_function **f);
int sap_opencl_occupancy(struct sap_function *f, unsigned threads, size_t shared, int *groups);
int sap_opencl_launch(struct sap_stream *s, struct sap_function *f, const struct sap_launch *launch);

/* ---- opencl_cache.c: built programs on disk; any failure counts as a missing entry ---- */

int sap_opencl_cache_wanted(void); /* 0: there is no folder for the cache */
/* `key`, `n` bytes, contains everything that determines the binary. The binary is from malloc; NULL: missing. */
unsigned char *sap_opencl_cache_get(const char *key, size_t n, size_t *size);
void sap_opencl_cache_put(const char *key, size_t n, const unsigned char *binary, size_t size);

/* Returns the content of a file, *room bytes from malloc; NULL: out of memory. */
unsigned char *sap_opencl_cache_pack(const char *key, size_t n, const unsigned char *binary, size_t size, size_t *room);

/* Returns the binary, *size bytes, within `room` bytes of content; NULL unless they were packed with this key. */
const unsigned char *sap_opencl_cache_unpack(const void *bytes, size_t room, const char *key, size_t n, size_t *size);

/* Returns zeroed host memory; on failure this thread's error is set. */
void *sap_opencl_room(size_t bytes);

#endif
