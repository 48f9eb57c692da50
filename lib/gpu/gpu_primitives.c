/* gpu_primitives.c - see gpu_primitives.h; the kernels are lib/device/primitives.h and sort.h. */
#include <string.h>

#include "gpu/gpu_primitives.h"

#include "device/primitives_layout.h"
#include "gpu/gpu_launch.h"

enum { THREADS = SAP_PRIMITIVE_THREADS };

static const struct sap_image *find_image(const struct sap_embedded *kernels, const char *name)
{
    for (int k = 0; k < kernels->count; k++)
        if (strcmp(kernels->images[k].name, name) == 0) return &kernels->images[k];
    return NULL;
}

static int get_functions(struct sap_primitives *p)
{
    const struct {
        const char *name;
        struct sap_function **function;
    } wanted[] = {{"scan_tiles", &p->scan_tiles},         {"scan_sums", &p->scan_sums},
                  {"scan_finish", &p->scan_finish},       {"compact_fill", &p->compact_fill},
                  {"bounds_parts", &p->bounds_parts},     {"bounds_join", &p->bounds_join},
                  {"sort_count", &p->sort_count},         {"sort_offsets", &p->sort_offsets},
                  {"sort_scatter_short", &p->sort_short}, {"sort_scatter_long", &p->sort_long}};
    for (int k = 0; k < COUNT(wanted); k++) TRY(p->driver->function(p->module, wanted[k].name, wanted[k].function));
    return SAP_DRIVER_OK;
}

int sap_primitives_open(const struct sap_driver *driver, struct sap_dev *dev, int number,
                        const struct sap_embedded *kernels, struct sap_primitives *p)
{
    struct sap_device_properties properties;
    const struct sap_image *image = find_image(kernels, "primitives");
    memset(p, 0, sizeof *p);
    p->driver = driver;
    p->tile = strcmp(kernels->archs, "text") == 0 ? SAP_SORT_LONG : SAP_SORT_LONGEST;
    int status = image ? driver->properties(number, &properties) : SAP_DRIVER_UNSUPPORTED;
    if (!status) p->units = properties.units;
    if (!status) status = driver->module_load(dev, image->image, image->size, &p->module);
    if (!status) status = get_functions(p);
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

static int launch(const struct sap_primitives *p, struct sap_stream *s, struct sap_function *f, int groups, int columns,
                  const struct sap_argument *argument, int arguments)
{
    const struct sap_launch l = {.groups = {(unsigned)groups, (unsigned)columns, 1},
                                 .threads = THREADS,
                                 .argument = argument,
                                 .arguments = arguments};
    return p->driver->launch(s, f, &l);
}

/* Passes memory as an argument of a kernel. */
#define ARRAY(memory)                                                                                                  \
    {                                                                                                                  \
        memory, 0                                                                                                      \
    }

int sap_primitives_scan(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *in, struct sap_mem *out,
                        int n, struct sap_mem *scratch, size_t *total_at)
{
    const int tiles = tiles_of(n, SAP_SCAN_TILE);
    const struct sap_argument sum[] = {ARRAY(in), ARRAY(scratch), VALUE(n)}, scan[] = {ARRAY(scratch), VALUE(tiles)},
                              finish[] = {ARRAY(in), ARRAY(scratch), ARRAY(out), VALUE(n)};
    if (total_at) *total_at = (size_t)tiles * sizeof(int32_t);
    if (tiles > 0) TRY(launch(p, s, p->scan_tiles, tiles, 1, sum, COUNT(sum)));
    TRY(launch(p, s, p->scan_sums, 1, 1, scan, COUNT(scan)));
    return tiles > 0 ? launch(p, s, p->scan_finish, tiles, 1, finish, COUNT(finish)) : (int)SAP_DRIVER_OK;
}

int sap_primitives_compact(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *flag,
                           struct sap_mem *value, struct sap_mem *place, struct sap_mem *out, int n,
                           struct sap_mem *scratch, size_t *total_at)
{
    const int values = value != NULL;
    const struct sap_argument fill[] = {ARRAY(flag),   ARRAY(place), ARRAY(values ? value : flag),
                                        VALUE(values), ARRAY(out),   VALUE(n)};
    TRY(sap_primitives_scan(p, s, flag, place, n, scratch, total_at));
    return n > 0 ? launch(p, s, p->compact_fill, tiles_of(n, THREADS), 1, fill, COUNT(fill)) : (int)SAP_DRIVER_OK;
}

int sap_primitives_bounds(const struct sap_primitives *p, struct sap_stream *s, struct sap_mem *x, int n, int stride,
                          int columns, struct sap_mem *out, struct sap_mem *scratch)
{
    const int runs = tiles_of(n, 8 * THREADS), groups = runs < SAP_BOUNDS_GROUPS ? runs : SAP_BOUNDS_GROUPS;
    const struct sap_argument parts[] = {ARRAY(x), ARRAY(scratch), VALUE(n), VALUE(stride)},
                              join[] = {ARRAY(scratch), ARRAY(out), VALUE(groups)};
    TRY(launch(p, s, p->bounds_parts, groups, columns, parts, COUNT(parts)));
    return launch(p, s, p->bounds_join, columns, 1, join, COUNT(join));
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
    const struct sap_argument count[] = {ARRAY(sort->key[at]), ARRAY(scratch), VALUE(n),
                                         VALUE(shift),         VALUE(tile),    VALUE(tiles)},
                              offsets[] = {ARRAY(scratch), VALUE(tiles)},
                              scatter[] = {ARRAY(sort->key[at]),
                                           ARRAY(sort->value[at]),
                                           VALUE(values),
                                           ARRAY(sort->key[at ^ 1]),
                                           ARRAY(sort->value[at ^ 1]),
                                           ARRAY(scratch),
                                           VALUE(n),
                                           VALUE(shift),
                                           VALUE(tiles)};
    TRY(launch(p, s, p->sort_count, tiles, 1, count, COUNT(count)));
    TRY(launch(p, s, p->sort_offsets, SAP_SORT_DIGITS, 1, offsets, COUNT(offsets)));
    return launch(p, s, tile == SAP_SORT_SHORT ? p->sort_short : p->sort_long, tiles, 1, scatter, COUNT(scatter));
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
