/* cpu_engine.c - the tables of the CPU engine, its device and its store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fpenv.h"
#include "base/threads.h"
#include "cpu/cpu_engine.h"
#include "cpu/cpu_neighbour.h"
#include "cpu/cpu_stepper.h"
#include "physics/interaction.h"

enum { TILE = SAP_CPU_SUPERPACKET };

/* ----------------------------------------------------------------- device */

static int count(void) { return 1; }

static int describe(int number, sapporo_device *device)
{
    char paths[80] = "";
    if (number != 0) return SAPPORO_ERR_ARGUMENT;
    for (int isa = 0; isa < SAP_ISAS; isa++)
        if (sap_isa_usable((enum sap_isa)isa)) {
            if (paths[0]) strncat(paths, " ", sizeof paths - strlen(paths) - 1);
            strncat(paths, sap_isa_name((enum sap_isa)isa), sizeof paths - strlen(paths) - 1);
        }
    device->backend = SAPPORO_BACKEND_CPU;
    device->number = 0;
    device->units = sap_threads_default();
    device->has_fp64 = 1;
    device->memory = (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    sap_isa_brand(device->name, sizeof device->name);
    (void)snprintf(device->detail, sizeof device->detail, "paths: %s", paths);
    return SAPPORO_OK;
}

/* Removes the mean error of roots that are left at their seeds. It depends on the processor. */
static void take_bias_out(struct sap_cpu_set *d)
{
    double first, third;
    if (!d->kernel->seed_bias) return;
    const sap_fpenv caller = sap_fp_enter();
    d->kernel->seed_bias(&first, &third);
    d->unbiased = *d->kernel;
    for (int q = 0; q < SAP_SUMS; q++) d->unbiased.scale[q] /= q == SAP_POT ? first : third;
    d->kernel = &d->unbiased;
    sap_fp_leave(caller);
}

static int engine_open(const struct sap_settings *settings, struct sap_device_set **devices, char *why, size_t room)
{
    *devices = NULL;
    if (settings->order > 4 && settings->precision == SAPPORO_SP) {
        (void)snprintf(why, room, "order %d has no precision sp: use dp or ds", settings->order);
        return SAPPORO_ERR_UNSUPPORTED;
    }
    int isa = (int)sap_isa_best();
    if (settings->isa[0]) isa = sap_isa_find(settings->isa);
    if (isa < 0 || !sap_isa_usable((enum sap_isa)isa)) {
        (void)snprintf(why, room, "instruction path '%s' is not usable on this machine; the fastest is '%s'",
                       settings->isa, sap_isa_name(sap_isa_best()));
        return SAPPORO_ERR_UNSUPPORTED;
    }
    struct sap_cpu_set *d = calloc(1, sizeof *d);
    if (!d) return SAPPORO_ERR_MEMORY;
    d->isa = (enum sap_isa)isa;
    d->precision = (int)settings->precision;
    d->mixed = settings->mixed;
    d->fast = settings->order == 2 && settings->precision == SAPPORO_SP && settings->root == SAPPORO_ROOT_FAST;
    d->kernel = sap_isa_kernel(d->isa, settings->order, d->precision, d->fast);
    take_bias_out(d);
    d->threads = settings->threads > 0 ? settings->threads : sap_threads_default();
    *devices = (void *)d;
    return SAPPORO_OK;
}

static void engine_close(struct sap_device_set *opaque_set)
{
    struct sap_cpu_set *const devices = (void *)opaque_set;
    if (devices) {
        sap_rows_free(devices->rows);
        sap_cpu_batch_free(devices);
    }
    free(devices);
}

/*
 * Names the kind. Seeds of reciprocal roots differ between vendors, unless they are made of correctly rounded
 * operations.
 */
static void kind(const struct sap_device_set *opaque_set, char *text, size_t room)
{
    const struct sap_cpu_set *const devices = (const void *)opaque_set;
    const char *const vendor = devices->precision == SAPPORO_DP ? "any" : sap_isa_vendor(devices->isa);
    (void)snprintf(text, room, "cpu %s %s%s%s %s", sap_isa_name(devices->isa), sap_precision_names[devices->precision],
                   devices->mixed ? SAP_MIXED_WORD : "", devices->fast ? " fast" : "", vendor);
}

static int mixed(const struct sap_device_set *opaque_set)
{
    const struct sap_cpu_set *const devices = (const void *)opaque_set;
    return devices->mixed;
}

static int threads(const struct sap_device_set *opaque_set)
{
    const struct sap_cpu_set *const devices = (const void *)opaque_set;
    return devices->threads;
}

/* ------------------------------------------------------------------ store */

static int store_create(struct sap_device_set *opaque_set, struct sap_jstore *host, struct sap_store **store)
{
    struct sap_cpu_set *const devices = (void *)opaque_set;
    struct sap_cpu_store *const s = calloc(1, sizeof *s);
    *store = (void *)s;
    if (!s) return SAPPORO_ERR_MEMORY;
    s->devices = devices;
    s->host = host;
    return SAPPORO_OK;
}

static void store_destroy(struct sap_store *opaque_store)
{
    struct sap_cpu_store *const store = (void *)opaque_store;
    if (!store) return;
    for (int t = 0; t < store->tiles; t++) free(store->predicted[t].records);
    free(store->predicted);
    free(store);
}

static size_t store_memory(const struct sap_device_set *opaque_set, int nj, size_t *device_bytes)
{
    const struct sap_cpu_set *const devices = (const void *)opaque_set;
    const size_t tiles = ((size_t)nj + TILE - 1) / TILE;
    if (device_bytes) *device_bytes = 0;
    return tiles * devices->kernel->tile_bytes;
}

/* ------------------------------------------------------------------ force */

static void free_lists(struct sap_cpu_force *f)
{
    for (int k = 0; k < f->chunks; k++) free(f->chunk[k]);
    f->chunks = 0;
}

static void drop(struct sap_force *opaque_force)
{
    struct sap_cpu_force *const f = (void *)opaque_force;
    if (!f) return;
    free_lists(f);
    free(f->chunk);
    free(f->sum);
    free(f->nearest);
    free(f->nearest_address);
    free(f->nearest_r2);
    free(f->list);
    free(f->accum);
    free(f);
}

/* Reserves arrays for ni rows; arrays of neighbours only if needed. */
static int reserve(struct sap_cpu_force *f, int ni)
{
    if (ni <= f->room) return SAPPORO_OK;
    free(f->sum);
    free(f->nearest);
    free(f->nearest_address);
    free(f->nearest_r2);
    free(f->list);
    free(f->accum);
    f->nearest = f->nearest_address = NULL, f->nearest_r2 = NULL, f->list = NULL, f->accum = NULL;
    f->room = 0;
    f->sum = malloc((size_t)ni * (size_t)f->sums * sizeof *f->sum);
    if (!f->sum) return SAPPORO_ERR_MEMORY;
    f->room = ni;
    return SAPPORO_OK;
}

static int begin(struct sap_store *opaque_store, const struct sap_force_request *request, struct sap_force **force)
{
    struct sap_cpu_store *const store = (void *)opaque_store;
    struct sap_cpu_force *const f = *force ? (void *)*force : calloc(1, sizeof *f);
    if (!f) return SAPPORO_ERR_MEMORY;
    *force = (void *)f;
    sap_lock_start(&f->lock);
    free_lists(f);
    f->request = *request;
    f->nj = request->nj < store->host->upper ? request->nj : store->host->upper;
    f->have = 0;
    f->scale = store->devices->kernel->scale;
    f->sums = store->devices->kernel->sums;
    f->coincident = -1;
    f->failed = SAPPORO_OK;
    const int status = reserve(f, request->ni);
    return status ? status : sap_cpu_compute(store, f, request->extra);
}

static int extra(struct sap_store *opaque_store, struct sap_force *opaque_force, unsigned wanted)
{
    struct sap_cpu_store *const store = (void *)opaque_store;
    struct sap_cpu_force *const f = (void *)opaque_force;
    const unsigned had = f->have;
    if (!(wanted & ~had)) return SAPPORO_OK;
    const int status = sap_cpu_compute(store, f, wanted);
    f->failed = status ? sap_cpu_compute(store, f, had) : SAPPORO_OK; /* with all results that the force had */
    return status;
}

static unsigned have(const struct sap_force *opaque_force)
{
    const struct sap_cpu_force *const f = (const void *)opaque_force;
    return f->have;
}

static int done(struct sap_force *f)
{
    (void)f; /* begin has computed everything */
    return 1;
}

static int end(struct sap_force *opaque_force, int from, struct sap_force_output *out)
{
    struct sap_cpu_force *const f = (void *)opaque_force;
    (void)from; /* all rows are complete */
    if (f->failed) return f->failed;
    out->rows = f->request.ni;
    const int near = (f->have & SAP_EXTRA_NEAREST) != 0;
    out->sum = f->sum; /* NULL: no rows */
    out->sum_row = out->accum_row = f->sums;
    out->sum_column = 1;
    out->accum = f->have & SAP_EXTRA_ACCUM ? f->accum : NULL;
    memcpy(out->accum_scale, f->scale, sizeof out->accum_scale);
    out->nearest = near ? f->nearest : NULL;
    out->nearest_r2 = near ? f->nearest_r2 : NULL;
    out->nearest_address = near ? f->nearest_address : NULL;
    out->coincident = f->coincident;
    return SAPPORO_OK;
}

static int list(struct sap_force *opaque_force, int i, const int32_t **entries, int *n)
{
    struct sap_cpu_force *const f = (void *)opaque_force;
    if (!(f->have & SAP_EXTRA_LISTS)) return SAPPORO_ERR_GONE;
    *entries = f->list[i].entries;
    *n = f->list[i].n;
    return SAPPORO_OK;
}

static const struct sap_store_ops store_ops = {
    .create = store_create, .destroy = store_destroy, .memory = store_memory};

static const struct sap_force_ops force_ops = {
    .begin = begin, .extra = extra, .have = have, .done = done, .end = end, .list = list, .drop = drop};

const struct sap_engine sap_engine_cpu = {.backend = SAPPORO_BACKEND_CPU,
                                          .name = "cpu",
                                          .count = count,
                                          .describe = describe,
                                          .open = engine_open,
                                          .close = engine_close,
                                          .kind = kind,
                                          .mixed = mixed,
                                          .threads = threads,
                                          .store = &store_ops,
                                          .force = &force_ops,
                                          .batch = sap_cpu_batch,
                                          .neighbour = sap_cpu_neighbour,
                                          .rows = sap_cpu_rows,
                                          .rows_copied = sap_cpu_rows_copied,
                                          .tree = &sap_cpu_tree_maker,
                                          .stepper = &sap_stepper_cpu};
