/*
 * gpu_kernels.h - the kernels of a device, and the registry of loaded kernels. Functions that return int return driver
 * statuses unless their comment says otherwise.
 */
#ifndef SAP_GPU_KERNELS_H
#define SAP_GPU_KERNELS_H

#include <stddef.h>

#include "gpu/gpu_kernel_list.h"
#include "gpu/gpu_modes.h"

struct sap_dev;
struct sap_driver;
struct sap_embedded;
struct sap_function;
struct sap_module;
struct sap_gpu_buffer;
struct sap_gpu_device;
struct sap_gpu_set;

/* How kernels are cut into groups. CUDA, OpenCL on GPUs and OpenCL on CPUs (properties.vectors) each have one. */
struct sap_gpu_geometry {
    int shapes;                    /* shapes in the tables above that this geometry has kernels for */
    int many_threads, lanes;       /* threads per group; i-particles side by side in a thread */
    int few_threads, few_warps;    /* threads per group; threads that hold i-particles of their own, or warps */
    int few_columns;               /* columns of packet sums that an i-particle needs in shared memory; 0: none */
    int few_at_once;               /* i-particles of a warp that need these columns at a time; 0: all that it holds */
    int shuffles;                  /* neighbouring threads read each other's registers (SAP_SHUFFLE) */
    int staged;                    /* few-target kernels hold a superpacket in shared memory, so they can predict it */
    unsigned stage, nearest, scan; /* threads per group of store_stage, finish_nearest, list_offsets */
};

/* A type of handles for each row of direct sums, so that a kernel is launched with its own parameters. */
#define SAP_KERNEL_HANDLE(kernel)                                                                                      \
    struct sap_kernel_##kernel {                                                                                       \
        struct sap_function *handle; /* NULL: none */                                                                  \
    };
SAP_KERNELS_DIRECT(SAP_KERNEL_HANDLE)

/* The kernels of one precision on one device. They live as long as the process. */
struct sap_gpu_kernels {
    struct sap_gpu_geometry geometry;
    struct sap_kernel_store_clear clear;
    struct sap_kernel_store_address address;
    struct sap_kernel_store_look look; /* at columns of the caller, like column and tags (device/caller.h) */
    struct sap_kernel_store_column column;
    struct sap_kernel_store_tags tags;
    struct sap_kernel_store_stage stage;
    struct sap_kernel_predict predict;
    struct sap_kernel_force many[SAP_GPU_SHAPES][SAP_GPU_MODES], few[SAP_GPU_SHAPES][SAP_GPU_MODES];
    struct sap_kernel_finish_sums sums;
    struct sap_kernel_finish_merge merge;
    struct sap_kernel_finish_nearest nearest;
    struct sap_kernel_list_offsets offsets;
    struct sap_kernel_list_fill fill;
    struct sap_kernel_list_sort sort;
    struct sap_kernel_finish_sums_outside sums_outside; /* for regular forces, like fill_outside */
    struct sap_kernel_list_fill_outside fill_outside;
    struct sap_kernel_neighbour neighbour; /* neighbour forces: of order 4 on devices with fp64, like neighbour_put */
    struct sap_kernel_neighbour_put neighbour_put;
    struct sap_kernel_batch batch[3];       /* of order 2: plain, zero, soft (device/batch.h) */
    struct sap_kernel_finish_long longs;    /* sums of long interaction lists */
    struct sap_kernel_list_more more;       /* batches with second moments or counts (device/batch_more.h) */
    struct sap_kernel_list_more more_float; /* the same in sp and ds, of order 2 (device/batch_float.h) */
    struct sap_kernel_soften soften;        /* of order 2: lengths of these records */
    struct sap_kernel_pack pack;            /* of order 2: predicted records from particles in device memory */
    struct sap_kernel_blocks blocks;        /* of Hermite schemes, after sap_gpu_load_blocks */
    int blocks_groups;                      /* of that kernel, together; 0: it is slower than kernels for one step */
    int many_groups[SAP_GPU_SHAPES];
    /* blocks of a few-target kernel that a unit holds; 0: it cannot run on this device */
    int few_groups[SAP_GPU_SHAPES];
};

/* Returns the dynamic shared memory of a few-target kernel: a superpacket, and the packet sums of each warp. */
size_t sap_gpu_few_shared(const struct sap_gpu_set *set, const struct sap_gpu_geometry *g, int which);

/* ---- for opening and closing devices (gpu_devices.c) ---- */

/* Finds or loads the kernels of a device. On failure `why` has the message. */
int sap_gpu_take_kernels(const struct sap_gpu_set *set, const struct sap_embedded *e, struct sap_gpu_device *d,
                         char *why, size_t room);
void sap_gpu_give_kernels(const struct sap_gpu_set *set, const struct sap_gpu_device *d);

/* The same of the kernels for particles with softening lengths, of a device whose other kernels were taken. */
int sap_gpu_take_soft_kernels(const struct sap_gpu_set *set, const struct sap_gpu_device *d,
                              const struct sap_gpu_kernels **kernels);
void sap_gpu_give_soft_kernels(const struct sap_gpu_set *set, const struct sap_gpu_device *d);

/* Loads the kernel for several block steps of a Hermite scheme, if there is one that pays on this device. */
int sap_gpu_load_blocks(const struct sap_gpu_set *set, const struct sap_gpu_device *d);

/* Unloads the kernels of a device that was lost, so that it can be opened anew; SAP_DRIVER_LOST: a context uses one. */
int sap_gpu_renew(const struct sap_driver *driver, int number);

/* Unloads the kept kernels of these devices if no context uses any of them. */
void sap_gpu_unload_unused(const struct sap_driver *driver, const int *list, int n);

/* ---- for all ---- */

/* Returns the kernels that the build embedded for a driver. */
const struct sap_embedded *sap_gpu_embedded(const struct sap_driver *driver);

/* A kernel of a module, and where its handle goes (SAP_KERNEL_WANTED). */
struct sap_wanted_kernel {
    const char *name;
    struct sap_function **function;
};

/* Loads a module and its kernels. After a failure, too, the caller unloads *module unless it is NULL. */
int sap_gpu_load_module(const struct sap_driver *driver, struct sap_dev *dev, const struct sap_embedded *e,
                        const char *name, const struct sap_wanted_kernel *wanted, int n, struct sap_module **module);

/* Marks a device as lost. It cannot be opened again before every context that uses it is closed. */
void sap_gpu_lose(const struct sap_gpu_set *set, const struct sap_gpu_device *device);

/* Unloads the kept kernels that no context uses. Tests that look for leaks call it. */
void sap_gpu_unload_idle(const struct sap_driver *driver);

/*
 * Lends pinned memory that is kept with the device's kernels and outlives contexts, since allocating it takes long. A
 * context returns it before it closes, once nothing reads it.
 */
int sap_gpu_borrow(const struct sap_gpu_set *set, const struct sap_gpu_device *device, struct sap_gpu_buffer *b,
                   size_t bytes);
void sap_gpu_give_back(const struct sap_gpu_set *set, const struct sap_gpu_device *device, struct sap_gpu_buffer *b);

/*
 * Returns in *kept an object that belongs to an open device. The first call with a `drop` creates it with `make`; the
 * object is kept, and freed by `drop` with the device's kernels. On failure there is nothing to free.
 */
int sap_gpu_keep(const struct sap_gpu_set *set, const struct sap_gpu_device *device,
                 int (*make)(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept),
                 void (*drop)(const struct sap_driver *driver, void *kept), void **kept);

#endif
