/*
 * gpu_kernels.c - the kernels of accelerators: loading, and the registry of loaded kernels.
 *
 * The kernels of a device are loaded once and kept, since loading takes milliseconds and clients open and close often.
 * Kept kernels hold the device open, and pinned memory, which takes a millisecond too. If the device is lost, its
 * kernels of all precisions are unloaded once its last context is closed. Only then can the device be opened anew.
 */
#include "gpu/gpu_kernels.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/process.h"
#include "device/gpu_layout.h"
#include "device/hermite_layout.h"
#include "driver/driver.h"
#include "engine/options.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_modes.h"

enum {
    MODULES = 5, /* force, store, finish, lists, blocks */
    KEPT = 2,    /* pinned buffers per device and precision */
    OBJECTS = 7  /* of sap_gpu_keep, the same: kernels of trees, kd-trees, lengths, walks with splines and with Plummer
                    lengths, steppers, Hermite schemes */
};

struct sap_gpu_loaded {
    struct sap_gpu_loaded *next;
    const struct sap_driver *driver;
    int number, precision, order, soft, users, lost, checked;
    struct sap_dev *dev;
    struct sap_module *module[MODULES];
    struct sap_gpu_kernels kernels;
    struct sap_gpu_buffer pinned[KEPT]; /* not lent to a context; allocated on dev, which outlives them */
    struct {
        void *object;
        void (*drop)(const struct sap_driver *driver, void *kept);
    } kept[OBJECTS]; /* by sap_gpu_keep */
};

static const struct sap_image *find_image(const struct sap_embedded *e, const char *name)
{
    for (int k = 0; k < e->count; k++)
        if (strcmp(e->images[k].name, name) == 0) return &e->images[k];
    return NULL;
}

const struct sap_embedded *sap_gpu_embedded(const struct sap_driver *driver)
{
    if (strcmp(driver->name, "opencl") == 0) return &sap_embedded_opencl;
    return strcmp(driver->name, "hip") == 0 ? sap_kernels_for_hip() : sap_kernels_for_cuda();
}

int sap_gpu_load_module(const struct sap_driver *driver, struct sap_dev *dev, const struct sap_embedded *e,
                        const char *name, const struct sap_wanted_kernel *wanted, int n, struct sap_module **module)
{
    const struct sap_image *const image = find_image(e, name);
    int status = image ? driver->module_load(dev, image->image, image->size, module) : (int)SAP_DRIVER_UNSUPPORTED;
    for (int k = 0; k < n && !status; k++) status = driver->function(*module, wanted[k].name, wanted[k].function);
    return status;
}

static void unload(struct sap_gpu_loaded *l)
{
    for (int k = 0; k < KEPT; k++) sap_gpu_free(l->driver, &l->pinned[k]);
    for (int k = 0; k < OBJECTS; k++) {
        if (l->kept[k].object) l->kept[k].drop(l->driver, l->kept[k].object);
        l->kept[k].object = NULL;
    }
    for (int k = 0; k < MODULES; k++)
        if (l->module[k]) l->driver->module_unload(l->module[k]);
    if (l->dev) l->driver->close(l->dev);
    l->kernels.blocks.handle = NULL;
    memset(l->module, 0, sizeof l->module);
    l->dev = NULL;
}

static int get_function(const struct sap_gpu_loaded *l, int module, struct sap_function **f, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int get_function(const struct sap_gpu_loaded *l, int module, struct sap_function **f, const char *format, ...)
{
    char name[64];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return l->driver->function(l->module[module], name, f);
}

size_t sap_gpu_few_shared(const struct sap_gpu_set *set, const struct sap_gpu_geometry *g, int which)
{
    const int held = g->few_at_once > 0 ? g->few_at_once : sap_gpu_few_ipt(set->order, which);
    const size_t sums =
        (size_t)g->few_warps * (size_t)held * (size_t)g->few_columns * (SAP_GPU_PACKETS + 1) * set->word;
    return sums + (g->staged ? set->working * SAP_GPU_SUPERPACKET : 0);
}

enum { NAME = 32 };

/* Writes the name of a module: "force6_soft_ds". */
static void name_module(const struct sap_gpu_loaded *l, const char *what, char name[NAME])
{
    char order[12] = "";
    if (l->order != 4) (void)snprintf(order, sizeof order, "%d", l->order);
    (void)snprintf(name, NAME, "%s%s_%s%s", what, order, l->soft ? "soft_" : "", sap_precision_names[l->precision]);
}

/* Writes the end of the names of its kernels: "order6_soft_ds". */
static void name_kind(const struct sap_gpu_loaded *l, char kind[NAME])
{
    char order[20] = "";
    if (l->order != 4) (void)snprintf(order, sizeof order, "order%d_", l->order);
    (void)snprintf(kind, NAME, "%s%s%s", order, l->soft ? "soft_" : "", sap_precision_names[l->precision]);
}

static int get_shape(struct sap_gpu_loaded *l, const struct sap_gpu_set *set, int shape, int mode, const char *kind)
{
    struct sap_gpu_kernels *k = &l->kernels;
    const struct sap_gpu_geometry *g = &k->geometry;
    const char *const name = sap_gpu_mode_name(set->order, mode);
    struct sap_function **const many = &k->many[shape][mode].handle, **const few = &k->few[shape][mode].handle;
    int status = SAP_DRIVER_OK;
    if (sap_gpu_has_many(set, shape, mode)) {
        status = get_function(l, 0, many, "many%d_%s_%s", sap_gpu_many_ipt[shape], name, kind);
        if (!status && l->driver->occupancy(*many, (unsigned)g->many_threads, 0, &k->many_groups[shape]))
            k->many_groups[shape] = 0;
    }
    const int ipt = sap_gpu_few_ipt(set->order, shape);
    if (status || ipt == 0 || !sap_gpu_has_few(set, mode)) return status;
    status = get_function(l, 0, few, "few%d_%s_%s", ipt, name, kind);
    if (!status &&
        l->driver->occupancy(*few, (unsigned)g->few_threads, sap_gpu_few_shared(set, g, shape), &k->few_groups[shape]))
        k->few_groups[shape] = 0;
    return status;
}

static int get_force_functions(struct sap_gpu_loaded *l, const struct sap_gpu_set *set, int fp64)
{
    char kind[NAME];
    name_kind(l, kind);
    int status = get_function(l, 0, &l->kernels.predict.handle, "predict_%s", kind);
    for (int shape = 0; shape < SAP_GPU_SHAPES && shape < l->kernels.geometry.shapes; shape++)
        for (int mode = 0; sap_gpu_mode_name(set->order, mode) && !status; mode++)
            status = get_shape(l, set, shape, mode, kind);
    if (!status && set->order == 4 && fp64 && !l->soft)
        status = get_function(l, 0, &l->kernels.neighbour.handle, "neighbour_%s", kind);
    if (!status && set->order == 4 && fp64 && !l->soft)
        status = get_function(l, 0, &l->kernels.neighbour_put.handle, "neighbour_put_%s", kind);
    if (!status && set->order == 2) status = get_function(l, 0, &l->kernels.pack.handle, "pack_%s", kind);
    if (!status && set->order == 2) status = get_function(l, 0, &l->kernels.soften.handle, "soften_%s", kind);
    for (int k = 0; k < 3 && set->order == 2 && !status; k++)
        status =
            get_function(l, 0, &l->kernels.batch[k].handle, "batch_%s_%s", sap_gpu_mode_name(2, k == 2 ? 3 : k), kind);
    if (!status && set->order == 2 && l->precision != SAPPORO_DP)
        status = get_function(l, 0, &l->kernels.more_float.handle, "list_float_%s", kind);
    return status;
}

static struct sap_gpu_geometry geometry_of(const struct sap_embedded *e, const struct sap_gpu_set *set,
                                           const struct sap_device_properties *p)
{
    const struct sap_gpu_geometry cuda = {SAP_GPU_SHAPES, 128, 1, 256, 8, set->sums, 0, 1, 1, 304, 512, 1024},
                                  text = {SAP_GPU_SHAPES, 128, 1, 256, 8, set->sums + 1, 1, 0, 0, 256, 128, 256};
    static const struct sap_gpu_geometry floats = {1, 1, 16, 1, 1, 0, 0, 0, 0, 256, 128, 256},
                                         doubles = {1, 1, 8, 1, 1, 0, 0, 0, 0, 256, 128, 256};
    if (strcmp(e->archs, "text") != 0) return cuda;
    return !p->vectors ? text : set->word == sizeof(float) ? floats : doubles;
}

/* Opens a device and loads its kernels. On failure `why` has the message, or, if it is empty, the driver. */
static int load(struct sap_gpu_loaded *l, const struct sap_embedded *e, const struct sap_gpu_set *set,
                const struct sap_device_properties *p, char *why, size_t room)
{
    char force[NAME];
    struct sap_gpu_kernels *k = &l->kernels;
    name_module(l, "force", force);
    const char *const names[4] = {force, "store", "finish", "lists"};
    k->geometry = geometry_of(e, set, p);
    int status = l->driver->open(l->number, &l->dev);
    for (int m = 0; m < 4 && !status; m++) {
        status = sap_gpu_load_module(l->driver, l->dev, e, names[m], NULL, 0, &l->module[m]);
        if (status && !find_image(e, names[m])) (void)snprintf(why, room, "the library has no kernels '%s'", names[m]);
    }
    if (!status) status = get_force_functions(l, set, p->has_fp64);
    if (!status) status = get_function(l, 1, &k->clear.handle, "store_clear");
    if (!status) status = get_function(l, 1, &k->address.handle, "store_address");
    if (!status) status = get_function(l, 1, &k->look.handle, "store_look");
    if (!status) status = get_function(l, 1, &k->column.handle, "store_column");
    if (!status) status = get_function(l, 1, &k->tags.handle, "store_tags");
    if (!status)
        status = l->order > 4 ? get_function(l, 1, &k->stage.handle, "store_stage_order%d", l->order)
                              : get_function(l, 1, &k->stage.handle, "store_stage");
    if (!status) status = get_function(l, 2, &k->sums.handle, "finish_sums");
    if (!status) status = get_function(l, 2, &k->sums_outside.handle, "finish_sums_outside");
    if (!status) status = get_function(l, 2, &k->merge.handle, "finish_merge");
    if (!status) status = get_function(l, 2, &k->longs.handle, "finish_long");
    if (!status) status = get_function(l, 2, &k->nearest.handle, "finish_nearest");
    if (!status) status = get_function(l, 3, &k->offsets.handle, "list_offsets");
    if (!status) status = get_function(l, 3, &k->fill.handle, "list_fill");
    if (!status) status = get_function(l, 3, &k->fill_outside.handle, "list_fill_outside");
    if (!status) status = get_function(l, 3, &k->sort.handle, "list_sort");
    if (!status) status = get_function(l, 3, &k->more.handle, "list_more");
    return status;
}

/*
 * How many groups make block steps together: all for which the kernel has memory; or one thread of a CPU, on which few
 * particles take less time than launches.
 */
static int load_blocks(struct sap_gpu_loaded *l, const struct sap_gpu_set *set, const struct sap_device_properties *p)
{
    struct sap_gpu_kernels *const k = &l->kernels;
    const struct sap_embedded *const e = sap_gpu_embedded(l->driver);
    char name[NAME], kind[NAME];
    name_module(l, "blocks", name);
    name_kind(l, kind);
    k->blocks_groups = 0;
    if (!find_image(e, name) || (!p->vectors && !l->driver->together_most)) return SAP_DRIVER_OK;
    TRY(sap_gpu_load_module(l->driver, l->dev, e, name, NULL, 0, &l->module[4]));
    TRY(get_function(l, 4, &k->blocks.handle, "blocks_%s", kind));
    k->blocks_groups = 1;
    if (p->vectors) return SAP_DRIVER_OK;
    if (l->driver->together_most(k->blocks.handle, SAP_BLOCKS_THREADS, sap_gpu_few_shared(set, &k->geometry, 0),
                                 &k->blocks_groups) ||
        k->blocks_groups < SAP_BLOCKS_GROUPS)
        k->blocks_groups = 0; /* as of few-target kernels: there is too little memory */
    else
        k->blocks_groups = SAP_BLOCKS_GROUPS;
    return SAP_DRIVER_OK;
}

/* Opens a device and loads its kernels for particles with softening lengths; `plain` has those that need no others. */
static int load_soft(struct sap_gpu_loaded *l, const struct sap_gpu_loaded *plain, const struct sap_gpu_set *set)
{
    char name[NAME];
    name_module(l, "force", name);
    l->kernels = plain->kernels;
    int status = l->driver->open(l->number, &l->dev);
    if (!status)
        status = sap_gpu_load_module(l->driver, l->dev, sap_gpu_embedded(l->driver), name, NULL, 0, &l->module[0]);
    if (!status) status = get_force_functions(l, set, 0);
    return status ? status : get_function(plain, 1, &l->kernels.stage.handle, "store_stage_order%d_soft", l->order);
}

/* Kernels that are kept with their device. */
static struct sap_lock registry_lock; /* guards registry */
static struct sap_gpu_loaded *registry;

SAP_GUARD_AT_FORK(kernels, SAP_LOCK_KERNELS, &registry_lock)

/*
 * Finds or creates the entry of a device, precision and order, and of particles with lengths or without. The caller
 * holds the registry lock.
 */
static struct sap_gpu_loaded *entry_of(const struct sap_gpu_set *set, int number, int soft)
{
    struct sap_gpu_loaded *l = registry;
    while (l && !(l->driver == set->driver && l->number == number && l->precision == set->precision &&
                  l->order == set->order && l->soft == soft))
        l = l->next;
    if (l) return l;
    l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->driver = set->driver;
    l->number = number;
    l->precision = set->precision;
    l->order = set->order;
    l->soft = soft;
    l->next = registry;
    registry = l;
    return l;
}

/* What belongs to a device is kept in the entry without lengths. */
static struct sap_gpu_loaded *entry(const struct sap_gpu_set *set, int number) { return entry_of(set, number, 0); }

/* Unloads a lost device's kernels; SAP_DRIVER_LOST if a context uses one. The caller holds the registry lock. */
static int renew(const struct sap_driver *driver, int number)
{
    int users = 0, lost = 0;
    for (struct sap_gpu_loaded *l = registry; l; l = l->next)
        if (l->driver == driver && l->number == number) users += l->users, lost |= l->lost;
    if (!lost) return SAP_DRIVER_OK;
    if (users > 0) return SAP_DRIVER_LOST;
    for (struct sap_gpu_loaded *l = registry; l; l = l->next)
        if (l->driver == driver && l->number == number) unload(l), l->lost = 0;
    return SAP_DRIVER_OK;
}

int sap_gpu_take_kernels(const struct sap_gpu_set *set, const struct sap_embedded *e, struct sap_gpu_device *d,
                         char *why, size_t room)
{
    sap_lock(&registry_lock);
    struct sap_gpu_loaded *l = entry(set, d->number);
    int status = l ? SAP_DRIVER_OK : SAP_DRIVER_MEMORY;
    if (!l) (void)snprintf(why, room, "out of memory");
    if (l && !l->dev) status = load(l, e, set, &d->properties, why, room);
    if (!status)
        l->users++;
    else if (!why[0])
        (void)snprintf(why, room, "%s", set->driver->error_text()); /* before a later call replaces the message */
    if (status && l) unload(l);
    sap_unlock(&registry_lock);
    d->kernels = status ? NULL : &l->kernels;
    d->checked = status ? NULL : &l->checked;
    return status;
}

int sap_gpu_load_blocks(const struct sap_gpu_set *set, const struct sap_gpu_device *d)
{
    sap_lock(&registry_lock);
    struct sap_gpu_loaded *const l = entry(set, d->number); /* exists: the device is open */
    const int status = l->kernels.blocks.handle ? SAP_DRIVER_OK : load_blocks(l, set, &d->properties);
    sap_unlock(&registry_lock);
    return status;
}

void sap_gpu_give_kernels(const struct sap_gpu_set *set, const struct sap_gpu_device *d)
{
    sap_lock(&registry_lock);
    struct sap_gpu_loaded *l = entry(set, d->number);
    if (l) l->users--;
    (void)renew(set->driver, d->number);
    sap_unlock(&registry_lock);
}

int sap_gpu_take_soft_kernels(const struct sap_gpu_set *set, const struct sap_gpu_device *d,
                              const struct sap_gpu_kernels **kernels)
{
    sap_lock(&registry_lock);
    struct sap_gpu_loaded *const l = entry_of(set, d->number, 1);
    int status = l ? SAP_DRIVER_OK : SAP_DRIVER_MEMORY;
    if (l && !l->dev) status = load_soft(l, entry(set, d->number), set);
    if (!status) l->users++;
    if (status && l) unload(l);
    sap_unlock(&registry_lock);
    *kernels = status ? NULL : &l->kernels;
    return status;
}

void sap_gpu_give_soft_kernels(const struct sap_gpu_set *set, const struct sap_gpu_device *d)
{
    sap_lock(&registry_lock);
    entry_of(set, d->number, 1)->users--; /* exists: they were taken */
    sap_unlock(&registry_lock);
}

int sap_gpu_borrow(const struct sap_gpu_set *set, const struct sap_gpu_device *device, struct sap_gpu_buffer *b,
                   size_t bytes)
{
    const struct sap_gpu_buffer none = {0};
    sap_lock(&registry_lock);
    struct sap_gpu_loaded *l = entry(set, device->number); /* exists: the device is open */
    *b = none;
    for (int k = 0; k < KEPT && !b->mem; k++)
        if (l->pinned[k].bytes >= bytes) {
            *b = l->pinned[k];
            l->pinned[k] = none;
        }
    const int status = sap_gpu_reserve_pinned(set->driver, l->dev, b, bytes);
    sap_unlock(&registry_lock);
    return status;
}

void sap_gpu_give_back(const struct sap_gpu_set *set, const struct sap_gpu_device *device, struct sap_gpu_buffer *b)
{
    const struct sap_gpu_buffer none = {0};
    if (!b->mem) return;
    sap_lock(&registry_lock);
    struct sap_gpu_loaded *l = entry(set, device->number);
    for (int k = 0; k < KEPT && b->mem && !l->lost; k++)
        if (!l->pinned[k].mem) {
            l->pinned[k] = *b;
            *b = none;
        }
    sap_gpu_free(set->driver, b);
    sap_unlock(&registry_lock);
}

int sap_gpu_keep(const struct sap_gpu_set *set, const struct sap_gpu_device *device,
                 int (*make)(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept),
                 void (*drop)(const struct sap_driver *driver, void *kept), void **kept)
{
    int status = SAP_DRIVER_UNSUPPORTED, at = 0;
    sap_lock(&registry_lock);
    struct sap_gpu_loaded *l = entry(set, device->number);
    while (at < OBJECTS && l->kept[at].object && l->kept[at].drop != drop) at++;
    if (at < OBJECTS) {
        l->kept[at].drop = drop;
        status = l->kept[at].object ? SAP_DRIVER_OK : make(set->driver, l->dev, device->number, &l->kept[at].object);
        *kept = l->kept[at].object;
    }
    sap_unlock(&registry_lock);
    return status;
}

int sap_gpu_renew(const struct sap_driver *driver, int number)
{
    sap_lock(&registry_lock);
    const int status = renew(driver, number);
    sap_unlock(&registry_lock);
    return status;
}

void sap_gpu_lose(const struct sap_gpu_set *set, const struct sap_gpu_device *device)
{
    sap_lock(&registry_lock);
    for (struct sap_gpu_loaded *l = registry; l; l = l->next)
        if (l->driver == set->driver && l->number == device->number) l->lost = 1;
    sap_unlock(&registry_lock);
}

void sap_gpu_unload_idle(const struct sap_driver *driver)
{
    sap_lock(&registry_lock);
    for (struct sap_gpu_loaded *l = registry; l; l = l->next)
        if (l->driver == driver && l->users == 0) unload(l), l->lost = 0;
    sap_unlock(&registry_lock);
}

static int is_in(int number, const int *list, int n)
{
    for (int k = 0; k < n; k++)
        if (list[k] == number) return 1;
    return 0;
}

void sap_gpu_unload_unused(const struct sap_driver *driver, const int *list, int n)
{
    int users = 0;
    sap_lock(&registry_lock);
    for (struct sap_gpu_loaded *l = registry; l; l = l->next)
        if (l->driver == driver && is_in(l->number, list, n)) users += l->users;
    for (struct sap_gpu_loaded *l = registry; l && users == 0; l = l->next)
        if (l->driver == driver && is_in(l->number, list, n)) unload(l), l->lost = 0;
    sap_unlock(&registry_lock);
}
