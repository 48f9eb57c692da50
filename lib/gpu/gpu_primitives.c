/* gpu_primitives.c - see gpu_primitives.h; the kernels are lib/device/primitives.h and sort.h. */
#include <string.h>

#include "gpu/gpu_primitives.h"

#include "device/primitives_layout.h"
#include "gpu/gpu_kernels.h"

enum { THREADS = SAP_PRIMITIVE_THREADS };

int sap_primitives_open(const struct sap_driver *driver, struct sap_dev *dev, int number,
                        const struct sap_embedded *kernels, struct sap_primitives *p)
{
    const struct sap_wanted_kernel wanted[] = {SAP_KERNELS_PRIMITIVES(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, p)};
    struct sap_device_properties properties;
    memset(p, 0, sizeof *p);
    p->driver = driver;
    p->tile = strcmp(kernels->archs, "text") == 0 ? SAP_SORT_LONG : SAP_SORT_LONGEST;
    int status = driver->properties(number, &properties);
    if (!status) p->units = properties.units;
    if (!status) status = sap_gpu_load_module(driver, dev, kernels, "primitives", wanted, COUNT(wanted), &p->module);
    if (status) sap_primitives_close(p);
    return status;
}

void sap_primitives_close(struct sap_primitives *p)
{
    if (p->module) p->driver->module_unload(p->module);
    memset(p, 0, sizeof *p);
}

static int tiles_of(int n, int tile) { return n / tile + (n % tile > 0); }

size_t sap_primitives_scratch(int n)
{
    const size_t sort = (size_t)SAP_SORT_DIGITS * ((size_t)tiles_of(n, SAP_SORT_SHORT) + 1) * sizeof(int32_t);
    const size_t scan = ((size_t)tiles_of(n, SAP_SCAN_TILE) + 1) * sizeof(int32_t);
    const size_t bounds = (size_t)SAP_BOUNDS_GROUPS * 6 * sizeof(double);
    const size_t most = sort > bounds ? sort : bounds;
    return most > scan ? most : scan;
}

/* Defines the launch of a kernel by so many groups in each of the columns. */
#define LAUNCH(unused, kernel, threads)                                                                                \
    static int launch_##kernel(const struct sap_primitives *p, struct sap_stream *s, int in_row, int columns,          \
                               SAP_K_##kernel(SAP_PARAMETER_M, SAP_PARAMETER_V))                                       \
    {                                                                                                                  \
        const struct sap_argument arguments[] = {SAP_K_##kernel(SAP_ARGUMENT_M, SAP_ARGUMENT_V)};                      \
        const unsigned launched[] = {(unsigned)in_row, (unsigned)columns};                                             \
        return sap_gpu_launch(s, p->driver, p->kernel, launched, threads, 0, arguments, COUNT(arguments));             \
    }
SAP_KERNELS_PRIMITIVES(LAUNCH, LAUNCH, )

int sap_primitives_scan(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *in, struct sap_mem *out,
                        int n, struct sap_mem *scratch, size_t *total_at)
{
    const int tiles = tiles_of(n, SAP_SCAN_TILE);
    if (total_at) *total_at = (size_t)tiles * sizeof(int32_t);
    if (tiles > 0) TRY(launch_scan_tiles(p, s, tiles, 1, in, scratch, n));
    TRY(launch_scan_sums(p, s, 1, 1, scratch, tiles));
    return tiles > 0 ? launch_scan_finish(p, s, tiles, 1, in, scratch, out, n) : (int)SAP_DRIVER_OK;
}

int sap_primitives_compact(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *flag,
                           struct sap_mem *value, struct sap_mem *place, struct sap_mem *out, int n,
                           struct sap_mem *scratch, size_t *total_at)
{
    const int values = value != NULL;
    TRY(sap_primitives_scan(p, s, flag, place, n, scratch, total_at));
    if (n <= 0) return SAP_DRIVER_OK;
    return launch_compact_fill(p, s, tiles_of(n, THREADS), 1, flag, place, values ? value : flag, values, out, n);
}

int sap_primitives_bounds(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *x, int n, int stride,
                          int columns, struct sap_mem *out, struct sap_mem *scratch)
{
    const int runs = tiles_of(n, 8 * THREADS), groups = runs < SAP_BOUNDS_GROUPS ? runs : SAP_BOUNDS_GROUPS;
    TRY(launch_bounds_parts(p, s, groups, columns, x, scratch, n, stride));
    return launch_bounds_join(p, s, columns, 1, scratch, out, groups);
}

/* Returns the tile size: long tiles if there are enough to keep each multiprocessor busy. */
static int tile_of(const struct sap_primitives *p, int n)
{
    return n / p->tile >= p->units ? p->tile : (int)SAP_SORT_SHORT;
}

static int sort_pass(const struct sap_primitives *p, struct sap_stream *s, const struct sap_sort *sort,
                     struct sap_mem *scratch, int shift, int at)
{
    const int n = sort->n, tile = tile_of(p, n), tiles = tiles_of(n, tile);
    const int values = !sort->places || shift > sort->from;
    TRY(launch_sort_count(p, s, tiles, 1, sort->key[at], scratch, n, shift, tile, tiles));
    TRY(launch_sort_offsets(p, s, SAP_SORT_DIGITS, 1, scratch, tiles));
    return (tile == SAP_SORT_SHORT ? launch_sort_scatter_short : launch_sort_scatter_long)(
        p, s, tiles, 1, sort->key[at], sort->value[at], values, sort->key[at ^ 1], sort->value[at ^ 1], scratch, n,
        shift, tiles);
}

int sap_primitives_sort(const struct sap_primitives *p, struct sap_stream *s, const struct sap_sort *sort,
                        struct sap_mem *scratch, int *result)
{
    int at = 0;
    *result = 0;
    for (int shift = sort->from; shift < sort->to && sort->n > 0; shift += SAP_SORT_BITS, at ^= 1)
        TRY(sort_pass(p, s, sort, scratch, shift, at));
    *result = at;
    return SAP_DRIVER_OK;
}
