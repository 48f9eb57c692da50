/*
 * driver.h - the driver API that lib/gpu uses: devices, memory, copies, kernels, streams, events.
 *
 * The API knows no particles. Each vendor's interface has one table. cuda_driver.c loads libcuda or AMD's HIP at run
 * time, and opencl_driver.c libOpenCL, so the library builds and starts without them. Tests have their own tables (a
 * stub, and one that fails at the n-th call).
 *
 * Functions that can fail return a sap_driver_status and leave a message for the calling thread in `error_text`. All
 * calls on one device must come from one thread at a time; different devices may be used concurrently. Each call that
 * needs the device's context makes it current and restores the caller's before it returns. Between `enter` and `leave`,
 * which do not nest, the context stays current. A failed function sets its output pointers to NULL or 0.
 */
#ifndef SAP_DRIVER_H
#define SAP_DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum sap_driver_status {
    SAP_DRIVER_OK,
    SAP_DRIVER_PENDING,     /* not an error: the queried work is not complete */
    SAP_DRIVER_MEMORY,      /* out of device or pinned memory */
    SAP_DRIVER_LAUNCH,      /* a kernel could not be started */
    SAP_DRIVER_LOST,        /* the device or its context is lost: close it, open it again */
    SAP_DRIVER_UNSUPPORTED, /* no such device, driver too old for the binary, no code for this architecture */
    SAP_DRIVER_ERROR        /* anything else */
};

/*
 * Handles. No file completes these tags. Each driver has types of its own behind them, and converts in one place:
 * cuda_driver.h and opencl_driver.h.
 */
struct sap_dev;    /* an open device */
struct sap_mem;    /* memory of a device, or pinned memory of the host that the device can read and write */
struct sap_stream; /* a queue of work, executed in order */
struct sap_event;
struct sap_module;
struct sap_function;

struct sap_device_properties {
    char name[128];
    char uuid[48];           /* as nvidia-smi writes it: GPU-xxxxxxxx-xxxx-... */
    char bus[24];            /* 0000:3b:00.0 */
    char architecture[32];   /* "sm_90": target of the compiled code, and a part of the kind */
    size_t memory;           /* bytes */
    int units;               /* multiprocessors */
    int threads_per_unit;    /* resident threads at most */
    int threads_per_group;   /* threads of a block at most */
    size_t shared_per_group; /* bytes of shared memory that a block can have, opted in */
    size_t shared_per_unit;
    size_t l2; /* bytes of second-level cache, 0: unknown */
    int warp;  /* lanes */
    int has_fp64;
    int in_turn; /* 1: concurrent streams gain nothing: a CPU. (PoCL 3.1 even ends the process.) */
    int vectors; /* 1: a CPU, on which each group is best one thread that computes with vectors */
};

/* An argument of a kernel: memory (value is a struct sap_mem * or NULL, size 0), or `size` bytes by value. */
struct sap_argument {
    const void *value;
    size_t size;
};

struct sap_launch {
    unsigned groups[3], threads; /* blocks; threads per block */
    size_t shared;               /* bytes of dynamic shared memory */
    const struct sap_argument *argument;
    int arguments;
    int together; /* 1: the groups, at most as many as `together_most` says, run at the same time and can wait for each
                     other */
    int early; /* 1: the kernel waits itself for the launches before it (launches_barrier of kernels_cuda/dialect.h), so
                  its groups may take their places before */
};

struct sap_driver {
    const char *name; /* "cuda" */

    /* Returns how many devices can be used; 0 without a driver. The answer is constant within a process. */
    int (*count)(void);
    /* Says why there are no devices, or names the driver ("driver 580.159, CUDA 13.0"). */
    const char *(*describe)(void);
    int (*properties)(int number, struct sap_device_properties *properties);

    /*
     * Announces devices that will be opened next and used together. 1: they will be `together`, or are faster apart. 0:
     * they will not, since some are open already or since they are of two kinds. NULL: no announcement is needed.
     */
    int (*unite)(const int *numbers, int n);
    int (*open)(int number, struct sap_dev **dev);
    void (*close)(struct sap_dev *dev); /* frees no other object: release memory, streams, events and modules first */
    int (*enter)(struct sap_dev *dev);
    void (*leave)(struct sap_dev *dev);
    int (*memory_left)(struct sap_dev *dev, size_t *bytes);

    int (*allocate)(struct sap_dev *dev, size_t bytes, struct sap_mem **mem);
    int (*allocate_pinned)(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host);
    int pinned_for_all;  /* 1: kernels and copies of all devices accept the pinned memory of one */
    int pinned_in_order; /* 1: the host sees what a running kernel writes to it, in the order of the kernel's fences */
    /*
     * Allocates memory of a device that kernels of n other devices can write too. UNSUPPORTED if the devices cannot
     * access each other's memory; NULL: no devices can.
     */
    int (*allocate_shared)(struct sap_dev *dev, struct sap_dev *const *others, int n, size_t bytes,
                           struct sap_mem **mem);
    void (*release)(struct sap_mem *mem); /* any kind of memory; NULL: no effect */
    /*
     * Wraps device memory of the caller, given by its address, for kernels and copies; release does not free it.
     * UNSUPPORTED: it is not memory of this device. NULL: memory has no address.
     */
    int (*adopt)(struct sap_dev *dev, const void *address, size_t bytes, struct sap_mem **mem);
    /*
     * Return the address of a device memory, and the vendor's own stream, for libraries of the vendor. Both NULL:
     * memory has no address.
     */
    void *(*address)(const struct sap_mem *mem);
    void *(*native_stream)(const struct sap_stream *s);

    /*
     * Returns whether streams of one device can wait for events of the other, and copy_peer is asynchronous; NULL:
     * never.
     */
    int (*together)(const struct sap_dev *a, const struct sap_dev *b);

    /* Offsets are in bytes. Copies accept pageable and pinned host memory; with pinned memory they are asynchronous. */
    int (*copy_in)(struct sap_stream *s, struct sap_mem *to, size_t at, const void *from, size_t bytes);
    int (*copy_out)(struct sap_stream *s, void *to, struct sap_mem *from, size_t at, size_t bytes);
    int (*copy)(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at,
                size_t bytes); /* within a device */
    int (*copy_peer)(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at,
                     size_t bytes); /* NULL: not supported */
    int (*fill)(struct sap_stream *s, struct sap_mem *to, size_t at, unsigned char byte, size_t bytes);

    /*
     * Synchronise pinned memory that both the host and kernels access, in stream order: before kernels read data that
     * the host wrote, and after kernels wrote data that the host will read. Both NULL: host and kernels share one
     * memory.
     */
    int (*pinned_to_device)(struct sap_stream *s, struct sap_mem *mem, size_t at, size_t bytes);
    int (*pinned_to_host)(struct sap_stream *s, struct sap_mem *mem, size_t at, size_t bytes);

    int (*stream_create)(struct sap_dev *dev, struct sap_stream **s);
    /* whose groups of threads begin before those of other streams, if the driver has priorities */
    int (*stream_create_urgent)(struct sap_dev *dev, struct sap_stream **s);
    void (*stream_destroy)(struct sap_stream *s);
    int (*stream_finish)(struct sap_stream *s); /* waits for all work */

    int (*event_create)(struct sap_dev *dev, struct sap_event **e);
    int (*event_create_timed)(struct sap_dev *dev, struct sap_event **e); /* slower: for event_milliseconds */
    void (*event_destroy)(struct sap_event *e);
    int (*event_record)(struct sap_event *e, struct sap_stream *s);
    int (*event_query)(struct sap_event *e);                       /* OK or PENDING */
    int (*event_wait)(struct sap_event *e);                        /* the host waits, first spinning */
    int (*stream_wait)(struct sap_stream *s, struct sap_event *e); /* later work of the stream waits */
    int (*event_milliseconds)(struct sap_event *from, struct sap_event *to, float *ms);

    /* `image` is the code that the build embedded (a fat binary for CUDA, kernel source for OpenCL). */
    int (*module_load)(struct sap_dev *dev, const void *image, size_t bytes, struct sap_module **m);
    void (*module_unload)(struct sap_module *m);
    int (*function)(struct sap_module *m, const char *name, struct sap_function **f); /* belongs to the module */
    /*
     * Allows `shared` bytes of dynamic shared memory; *groups: blocks of `threads` threads that one unit holds at a
     * time.
     */
    int (*occupancy)(struct sap_function *f, unsigned threads, size_t shared, int *groups);
    /*
     * *groups: the most groups of so many threads and bytes that can be launched `together`; 1: only one. NULL: it is
     * always 1.
     */
    int (*together_most)(struct sap_function *f, unsigned threads, size_t shared, int *groups);
    int (*launch)(struct sap_stream *s, struct sap_function *f, const struct sap_launch *launch);

    /* Returns the calling thread's last error: one line, with the driver's own words. */
    const char *(*error_text)(void);
};

/* The CUDA driver. Always present; without libcuda.so.1 or a device it counts no devices and says why. */
extern const struct sap_driver sap_driver_cuda;

/* The HIP driver, likewise, over libamdhip64.so. */
extern const struct sap_driver sap_driver_hip;

/* The OpenCL driver. Always present; without libOpenCL.so.1 or a device it counts no devices and says why. */
extern const struct sap_driver sap_driver_opencl;

/* Returns how many devices of the OpenCL driver `auto` may take: GPUs and accelerators, which come first. */
int sap_opencl_automatic(void);

/*
 * Why `auto` does not load OpenCL: its drivers compute on CPUs, as files tell.  NULL: it is loaded and asked, or it was
 * loaded already for another reason.
 */
const char *sap_opencl_left(void);

/* Replacements of the drivers for tests; NULL: no replacement. */
struct sap_driver_replaced {
    const struct sap_driver *cuda, *hip, *opencl;
    const struct sap_embedded *cuda_kernels, *hip_kernels;
};
extern struct sap_driver_replaced sap_driver_replaced;

/* Returns the driver that the CUDA engine uses: the one above, or its replacement. */
const struct sap_driver *sap_driver_for_cuda(void);
const struct sap_driver *sap_driver_for_hip(void);    /* likewise for HIP */
const struct sap_driver *sap_driver_for_opencl(void); /* likewise for OpenCL */

/* The code of the kernels in kernels_cuda/NAME.cu for all architectures of a vendor, as the build compiled it. */
struct sap_image {
    const char *name; /* "NAME" */
    const unsigned char *image;
    size_t size;
};

/* The kernels that the build embedded; count 0: no kernels, and `why` has the reason. */
struct sap_embedded {
    const struct sap_image *images;
    int count;
    const char *archs; /* "sm_75 sm_80 ... compute_120"; "text": source of kernels_ocl/, compiled by the driver */
    const char *why;   /* "" or "built without nvcc" */
};
extern const struct sap_embedded sap_embedded_cuda, sap_embedded_hip, sap_embedded_opencl;

/* Return the kernels that the CUDA and the HIP engine use: those above, or their replacement. */
const struct sap_embedded *sap_kernels_for_cuda(void);
const struct sap_embedded *sap_kernels_for_hip(void);

#endif
