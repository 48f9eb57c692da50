/*
 * driver.h - the small driver API over which gpu_engine.c works: devices, memory, copies, kernels, streams, events.
 *
 * No particle is in here.  One table a vendor's interface: cuda_driver.c loads
 * libcuda at run time, opencl_driver.c libOpenCL, so neither building nor
 * starting needs them.  Tests bring tables of their own (a stub, and one that fails at the n-th call).
 *
 * Functions that can fail return a sap_driver_status and leave a text for the
 * calling thread in `error_text`.  All calls on one device must come from one
 * thread at a time; different devices may be used concurrently.  Each call that
 * needs the device's context makes it current and restores the caller's before
 * it returns; between `enter` and `leave`, which do not nest, that is done once.
 * What a function gives through a pointer is NULL or 0 if it fails.
 */
#ifndef SAP_DRIVER_H
#define SAP_DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum sap_driver_status {
    SAP_DRIVER_OK,
    SAP_DRIVER_PENDING,     /* not an error: a query found work under way */
    SAP_DRIVER_MEMORY,      /* out of device or pinned memory */
    SAP_DRIVER_LAUNCH,      /* a kernel could not be started */
    SAP_DRIVER_LOST,        /* the device or its context is gone: close it, open it again */
    SAP_DRIVER_UNSUPPORTED, /* no such device, driver too old for the binary, no code for this architecture */
    SAP_DRIVER_ERROR        /* anything else */
};

struct sap_dev;    /* an open device */
struct sap_mem;    /* memory of a device, or pinned memory of the host that the device can read and write */
struct sap_stream; /* work in order */
struct sap_event;
struct sap_module;
struct sap_function;

struct sap_device_properties {
    char name[128];
    char uuid[48];           /* as nvidia-smi writes it: GPU-xxxxxxxx-xxxx-... */
    char bus[24];            /* 0000:3b:00.0 */
    char architecture[32];   /* "sm_90": what code is compiled for, and a part of the kind */
    size_t memory;           /* bytes */
    int units;               /* multiprocessors */
    int threads_per_unit;    /* resident at most */
    int threads_per_group;   /* of a block at most */
    size_t shared_per_group; /* bytes of shared memory that a block can have, opted in */
    size_t shared_per_unit;
    size_t l2; /* bytes of second-level cache, 0: unknown */
    int warp;  /* lanes */
    int has_fp64;
    int in_turn; /* 1: streams of it gain nothing by working at the same time: a CPU.  (PoCL 3.1 ends the process.) */
    int vectors; /* 1: a CPU, on which one thread is best a group of its own that computes with vectors */
};

/* An argument of a kernel: memory (value is a struct sap_mem * or NULL, size 0), or `size` bytes by value. */
struct sap_argument {
    const void *value;
    size_t size;
};

struct sap_launch {
    unsigned groups[3], threads; /* blocks; threads of a block */
    size_t shared;               /* bytes of dynamic shared memory */
    const struct sap_argument *argument;
    int arguments;
};

struct sap_driver {
    const char *name; /* "cuda" */

    /* Devices that can be used; 0 if there is no driver.  The answer does not change while the process lives. */
    int (*count)(void);
    /* Why there are none, or what speaks ("driver 580.159, CUDA 13.0"). */
    const char *(*describe)(void);
    int (*properties)(int number, struct sap_device_properties *properties);

    /*
     * Announces devices that will be opened next and used together; 0: they will not be `together`, as some are open
     * already, or are of two kinds; 1: they will, or are better off apart.  NULL: nothing need be announced.
     */
    int (*unite)(const int *numbers, int n);
    int (*open)(int number, struct sap_dev **dev);
    void (*close)(struct sap_dev *dev); /* frees nothing else: give back first what was taken */
    int (*enter)(struct sap_dev *dev);
    void (*leave)(struct sap_dev *dev);
    int (*memory_left)(struct sap_dev *dev, size_t *bytes);

    int (*allocate)(struct sap_dev *dev, size_t bytes, struct sap_mem **mem);
    int (*allocate_pinned)(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host);
    int pinned_for_all; /* 1: pinned memory of one device may be given to kernels and copies of all */
    /*
     * Memory of a device that kernels of n others can write too.  UNSUPPORTED where devices do not reach each other;
     * NULL: they never do.
     */
    int (*allocate_shared)(struct sap_dev *dev, struct sap_dev *const *others, int n, size_t bytes,
                           struct sap_mem **mem);
    void (*release)(struct sap_mem *mem); /* any kind; NULL: nothing */
    /*
     * Memory of the device that is the caller's own, by its address, to be given to kernels and copies; release leaves
     * it alone.  UNSUPPORTED: it is none of this device.  NULL: memory has no address.
     */
    int (*adopt)(struct sap_dev *dev, const void *address, size_t bytes, struct sap_mem **mem);

    /* Whether streams of one wait for events of the other, and copy_peer returns at once between them; NULL: never. */
    int (*together)(const struct sap_dev *a, const struct sap_dev *b);

    /* Offsets are in bytes.  Host memory of copies is plain or pinned; with pinned memory copies are asynchronous. */
    int (*copy_in)(struct sap_stream *s, struct sap_mem *to, size_t at, const void *from, size_t bytes);
    int (*copy_out)(struct sap_stream *s, void *to, struct sap_mem *from, size_t at, size_t bytes);
    int (*copy)(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at,
                size_t bytes); /* within a device */
    int (*copy_peer)(struct sap_stream *s, struct sap_mem *to, size_t at, struct sap_mem *from, size_t from_at,
                     size_t bytes); /* NULL: not supported */
    int (*fill)(struct sap_stream *s, struct sap_mem *to, size_t at, unsigned char byte, size_t bytes);

    /*
     * Pinned memory that both the host and kernels touch, in stream order: before kernels read what the host wrote,
     * and after kernels wrote what the host will read.  Both NULL: there is but one memory, nothing is to be done.
     */
    int (*pinned_to_device)(struct sap_stream *s, struct sap_mem *mem, size_t at, size_t bytes);
    int (*pinned_to_host)(struct sap_stream *s, struct sap_mem *mem, size_t at, size_t bytes);

    int (*stream_create)(struct sap_dev *dev, struct sap_stream **s);
    void (*stream_destroy)(struct sap_stream *s);
    int (*stream_finish)(struct sap_stream *s); /* waits */

    int (*event_create)(struct sap_dev *dev, struct sap_event **e);
    int (*event_create_timed)(struct sap_dev *dev, struct sap_event **e); /* dearer: for event_milliseconds */
    void (*event_destroy)(struct sap_event *e);
    int (*event_record)(struct sap_event *e, struct sap_stream *s);
    int (*event_query)(struct sap_event *e);                       /* OK or PENDING */
    int (*event_wait)(struct sap_event *e);                        /* the host waits, spinning at first */
    int (*stream_wait)(struct sap_stream *s, struct sap_event *e); /* work after this waits */
    int (*event_milliseconds)(struct sap_event *from, struct sap_event *to, float *ms);

    /* `image` is what the build embedded (a fat binary for CUDA, a text for OpenCL). */
    int (*module_load)(struct sap_dev *dev, const void *image, size_t bytes, struct sap_module **m);
    void (*module_unload)(struct sap_module *m);
    int (*function)(struct sap_module *m, const char *name, struct sap_function **f); /* belongs to the module */
    /* Allows that much dynamic shared memory; *groups: blocks of so many threads that one unit holds at a time. */
    int (*occupancy)(struct sap_function *f, unsigned threads, size_t shared, int *groups);
    int (*launch)(struct sap_stream *s, struct sap_function *f, const struct sap_launch *launch);

    /* The calling thread's last error: one line, with the driver's own words. */
    const char *(*error_text)(void);
};

/* The CUDA driver.  Always there; without libcuda.so.1 or a device it counts none and says why. */
extern const struct sap_driver sap_driver_cuda;

/* The OpenCL driver.  Always there; without libOpenCL.so.1 or a device it counts none and says why. */
extern const struct sap_driver sap_driver_opencl;

/* Devices of the OpenCL driver that `auto` may take: the first so many, GPUs and accelerators. */
int sap_opencl_automatic(void);

/* What tests put in the place of the drivers; NULL: nothing. */
struct sap_driver_replaced {
    const struct sap_driver *cuda, *opencl;
    const struct sap_embedded *cuda_kernels;
};
extern struct sap_driver_replaced sap_driver_replaced;

/* The driver that the CUDA engine uses: the one above, or its replacement. */
const struct sap_driver *sap_driver_for_cuda(void);
const struct sap_driver *sap_driver_for_opencl(void); /* the same */

/* What the build made of kernels_cuda/NAME.cu: the code of that file's kernels for all architectures. */
struct sap_image {
    const char *name; /* "NAME" */
    const unsigned char *image;
    size_t size;
};

/* The kernels that the build embedded; count 0: there are none, and `why` says so. */
struct sap_embedded {
    const struct sap_image *images;
    int count;
    const char *archs; /* "sm_75 sm_80 ... compute_120"; "text": of kernels_ocl/, for the driver to compile */
    const char *why;   /* "" or "built without nvcc" */
};
extern const struct sap_embedded sap_embedded_cuda, sap_embedded_opencl;

/* The kernels that the CUDA engine uses: those above, or their replacement. */
const struct sap_embedded *sap_kernels_for_cuda(void);

#endif
