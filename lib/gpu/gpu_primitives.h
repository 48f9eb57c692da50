/*
 * gpu_primitives.h - scans, sorts, compaction and bounds of arrays in device memory.
 *
 * Functions launch into the caller's stream, return at once, and give driver statuses. Results are the same on every
 * device: integer scans, stable sorts, minima and maxima have one answer. Memory belongs to the caller. Scratch is in
 * use until the stream has finished the launch.
 */
#ifndef SAP_GPU_PRIMITIVES_H
#define SAP_GPU_PRIMITIVES_H

#include "driver/driver.h"
#include "gpu/gpu_kernel_list.h"
#include "gpu/gpu_launch.h"

/* most entries of an array: the count, rounded up by one tile, must fit into an int */
enum { SAP_PRIMITIVES_MOST = 2147418112 };

struct sap_primitives {
    const struct sap_driver *driver;
    struct sap_module *module;
    SAP_KERNELS_PRIMITIVES(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
    int tile;  /* keys that a group of sort_long sorts */
    int units; /* multiprocessors */
};

/* Loads the kernels for an open device, which must outlive them.  On failure there is nothing to close. */
int sap_primitives_open(const struct sap_driver *driver, struct sap_dev *dev, int number,
                        const struct sap_embedded *kernels, struct sap_primitives *p);
void sap_primitives_close(struct sap_primitives *p);

/* Returns the bytes of scratch that any function below needs for n entries (and 3 columns of bounds). */
size_t sap_primitives_scratch(int n);

/* Writes out[k] = in[0] + ... + in[k-1], int32. out may be in. The total is left in scratch, at *total_at bytes. */
int sap_primitives_scan(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *in, struct sap_mem *out,
                        int n, struct sap_mem *scratch, size_t *total_at);

/*
 * Writes to out, in order, the value of each k whose flag[k] (int32, 0 or 1) is 1; `value` NULL: k itself. place,
 * int32[n], receives the scan of flag. *total_at: where in scratch the number of values is, as above.
 */
int sap_primitives_compact(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *flag,
                           struct sap_mem *value, struct sap_mem *place, struct sap_mem *out, int n,
                           struct sap_mem *scratch, size_t *total_at);

/*
 * Writes pairs of doubles to `out`: the smallest and the largest of each of `columns` columns of n >= 1 doubles. No
 * double may be NaN. Columns begin `stride` entries apart.
 */
int sap_primitives_bounds(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *x, int n, int stride,
                          int columns, struct sap_mem *out, struct sap_mem *scratch);

/* Keys of 64 bits with values of 32. The input is key[0] and value[0]; all four arrays are overwritten. */
struct sap_sort {
    struct sap_mem *key[2], *value[2];
    int n;
    int from, to; /* bits of the key to sort by: from .. to-1, and up to 7 more, since passes take whole bytes */
    int places;   /* 1: the values are the indices 0 .. n-1 of the keys, so value[0] need not be filled */
};

/* Sorts by the chosen bits; equal keys keep their order. *result: 0 or 1, the array that holds the result. */
int sap_primitives_sort(const struct sap_primitives *p, struct sap_stream *s, const struct sap_sort *sort,
                        struct sap_mem *scratch, int *result);

#endif
