/*
 * gpu_primitives.h - scans, sorts, compaction and bounds of arrays in the memory of an accelerator.
 *
 * All is launched into the caller's stream and returns at once; functions give driver statuses.  Results are the same
 * on every device: scans of integers, sorts that are stable, minima and maxima have one answer.  Memory belongs to the
 * caller; scratch is used until the stream has passed.
 */
#ifndef SAP_GPU_PRIMITIVES_H
#define SAP_GPU_PRIMITIVES_H

#include "driver/driver.h"

enum { SAP_PRIMITIVES_MOST = 2147418112 }; /* entries of an array: those of a tile more are counted in an int */

struct sap_primitives {
    const struct sap_driver *driver;
    struct sap_module *module;
    struct sap_function *scan_tiles, *scan_sums, *scan_finish, *compact_fill, *bounds_parts, *bounds_join;
    struct sap_function *sort_count, *sort_offsets, *sort_short, *sort_long;
    int tile;  /* keys that a group of sort_long sorts */
    int units; /* multiprocessors */
};

/* Loads the kernels for an open device, which must outlive them.  On failure there is nothing to close. */
int sap_primitives_open(const struct sap_driver *driver, struct sap_dev *dev, int number,
                        const struct sap_embedded *kernels, struct sap_primitives *p);
void sap_primitives_close(struct sap_primitives *p);

/* Bytes of scratch that any of the below needs for n entries (and 3 columns of bounds). */
size_t sap_primitives_scratch(int n);

/* out[k], int32: the sum of in[0 .. k-1]; out may be in.  The sum of all is left in scratch, at *total_at bytes. */
int sap_primitives_scan(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *in, struct sap_mem *out,
                        int n, struct sap_mem *scratch, size_t *total_at);

/*
 * out: the values of those k, in order, whose flag[k], int32, is 1 and not 0; `value` NULL: the k themselves.  place,
 * int32[n], becomes the scan of flag.  *total_at: where their number is, as above.
 */
int sap_primitives_compact(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *flag,
                           struct sap_mem *value, struct sap_mem *place, struct sap_mem *out, int n,
                           struct sap_mem *scratch, size_t *total_at);

/*
 * Smallest and largest of `columns` columns of n >= 1 doubles, none of them a NaN, that begin `stride` entries apart:
 * pairs of doubles in `out`.
 */
int sap_primitives_bounds(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *x, int n, int stride,
                          int columns, struct sap_mem *out, struct sap_mem *scratch);

/* Keys of 64 bits with values of 32; what is at 0 is sorted, both are overwritten. */
struct sap_sort {
    struct sap_mem *key[2], *value[2];
    int n;
    int from, to; /* bits of the key that decide: from, from + 1, ... to - 1, and up to 7 more: whole bytes */
    int places;   /* 1: values are the places of keys, 0 .. n-1: none need be there */
};

/* Sorts by the chosen bits; equal keys keep their order.  *result: 0 or 1, where they are. */
int sap_primitives_sort(const struct sap_primitives *p, struct sap_stream *s, const struct sap_sort *sort,
                        struct sap_mem *scratch, int *result);

#endif
