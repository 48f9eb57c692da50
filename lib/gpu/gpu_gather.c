/*
 * gpu_gather.c - sums of several devices: the first device receives all accumulators, merges and rounds them.
 *
 * Where devices can access each other's memory, kernels write their accumulators into the first device's memory; else
 * they are copied. If the driver's devices cannot wait for each other, the host merges (gpu_result.c).
 */
#include "gpu/gpu_gather.h"

#include <stdlib.h>

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_force.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_store.h"

/* What a device sends from. */
struct source {
    struct sap_gpu_buffer accum; /* accumulators of a slab for the copy to the first device */
    struct sap_event *sent[2];   /* recorded when the accumulators have arrived, by buffer */
};

/* Two buffers of the first device: one is filled while the other is merged. */
struct gather {
    struct sap_gpu_attached attached;
    enum { HOST, COPY, WRITE } mode;
    unsigned turn;                /* buffer of the next slab: turn % 2 */
    struct sap_gpu_buffer all[2]; /* accumulators of a slab, one block per device */
    struct sap_event *merged[2];  /* recorded when the buffer can be filled again */
    int used[2];                  /* `merged` has been recorded */
    struct source source[];       /* [devices] */
};

/* Returns the columns of doubles: unit, limbs and special of each sum. */
static int columns_of(const struct sap_gpu_store *store) { return 6 * store->set->sums; }

/* ------------------------------------------------------------------ memory */

/* Frees the buffers. No device may use them. */
static void free_places(struct sap_gpu_store *store, struct gather *g)
{
    sap_gpu_halt(store);
    for (int p = 0; p < 2; p++) sap_gpu_free(store->set->driver, &g->all[p]);
}

static void free_gather(struct sap_gpu_store *store, struct sap_gpu_attached *attached)
{
    const struct sap_driver *d = store->set->driver;
    struct gather *const g = (void *)attached;
    free_places(store, g);
    for (int k = 0; k < store->set->n; k++) sap_gpu_free(d, &g->source[k].accum);
    for (int p = 0; p < 2; p++) {
        for (int k = 0; k < store->set->n; k++)
            if (g->source[k].sent[p]) d->event_destroy(g->source[k].sent[p]);
        if (g->merged[p]) d->event_destroy(g->merged[p]);
    }
    free(g);
}

static struct gather *gather_of(const struct sap_gpu_store *store) { return sap_gpu_attached_by(store, free_gather); }

int sap_gpu_gather_open(struct sap_gpu_store *store)
{
    const struct sap_driver *d = store->set->driver;
    const int n = store->set->n;
    if (n == 1 || gather_of(store)) return SAP_DRIVER_OK;
    struct gather *const g = calloc(1, sizeof *g + (size_t)n * sizeof g->source[0]);
    if (!g) return SAP_DRIVER_MEMORY;
    g->mode = !sap_gpu_together(store->set) ? HOST : d->allocate_shared ? WRITE : COPY;
    sap_gpu_attach(store, &g->attached, free_gather);
    return SAP_DRIVER_OK;
}

int sap_gpu_gathers(const struct sap_gpu_store *store)
{
    const struct gather *const g = gather_of(store);
    return g && g->mode != HOST;
}

static int allocate_place(const struct sap_gpu_store *store, const struct gather *g, struct sap_gpu_buffer *b,
                          size_t bytes)
{
    const struct sap_gpu_set *const set = store->set;
    return g->mode == COPY ? sap_gpu_reserve(set->driver, set->device[0].dev, b, bytes)
                           : sap_gpu_reserve_for_all(set, b, bytes);
}

static int allocate_places(struct sap_gpu_store *store, struct gather *g, size_t bytes)
{
    int status = SAP_DRIVER_OK;
    for (int p = 0; p < 2 && !status; p++) status = allocate_place(store, g, &g->all[p], bytes);
    if (status) free_places(store, g);
    return status;
}

static int create_events(const struct sap_gpu_store *store, struct gather *g)
{
    const struct sap_driver *d = store->set->driver;
    for (int p = 0; p < 2; p++) {
        for (int k = 1; k < store->set->n; k++)
            if (!g->source[k].sent[p]) TRY(d->event_create(store->share[k].device->dev, &g->source[k].sent[p]));
        if (!g->merged[p]) TRY(d->event_create(store->share[0].device->dev, &g->merged[p]));
    }
    return SAP_DRIVER_OK;
}

int sap_gpu_gather_reserve(struct sap_gpu_store *store, int rows)
{
    const struct sap_driver *d = store->set->driver;
    struct gather *const g = gather_of(store);
    const size_t block = (size_t)rows * (size_t)columns_of(store) * sizeof(double),
                 bytes = block * (size_t)store->set->n;
    TRY(create_events(store, g));
    if (g->all[0].bytes < bytes) {
        free_places(store, g);
        int status = allocate_places(store, g, bytes);
        if (status == SAP_DRIVER_UNSUPPORTED && g->mode == WRITE) {
            g->mode = COPY;
            status = allocate_places(store, g, bytes);
        }
        TRY(status);
    }
    for (int k = 1; k < store->set->n && g->mode == COPY; k++)
        TRY(sap_gpu_reserve(d, store->share[k].device->dev, &g->source[k].accum, block));
    return SAP_DRIVER_OK;
}

/* ------------------------------------------------------------------ slabs */

/* Sends the sums of device k into its block. */
static int send(const struct sap_gpu_slab *s, const struct gather *g, int k, int place)
{
    const struct sap_driver *d = s->store->set->driver;
    const struct source *const from = &g->source[k];
    const struct sap_gpu_buffer *all = &g->all[place];
    const int copy = g->mode == COPY && k > 0, block = columns_of(s->store) * s->f.ni;
    struct sap_gpu_force f = s->f;
    f.accumulate = 1;
    f.out_rows = f.ni;
    f.first_i = copy ? 0 : k * block;
    if (k > 0 && g->used[place]) TRY(d->stream_wait(s->share->stream, g->merged[place]));
    TRY(sap_gpu_launch_all_sums(s, copy ? from->accum.mem : all->mem, &f));
    if (copy)
        TRY(d->copy_peer(s->share->stream, all->mem, (size_t)k * (size_t)block * sizeof(double), from->accum.mem, 0,
                         (size_t)block * sizeof(double)));
    return k > 0 ? d->event_record(from->sent[place], s->share->stream) : (int)SAP_DRIVER_OK;
}

/* Merges all blocks of a buffer into results, on the first device. */
static int merge(const struct sap_gpu_slab *s, struct gather *g, int place)
{
    const struct sap_gpu_store *store = s->store;
    const struct sap_driver *d = store->set->driver;
    const int n = store->set->n;
    for (int k = 1; k < n; k++) TRY(d->stream_wait(s->share->stream, g->source[k].sent[place]));
    const struct sap_gpu_grid grid = {.stream = s->share->stream,
                                      .driver = d,
                                      .groups = {(unsigned)(s->f.ni + 127) / 128, (unsigned)store->set->sums},
                                      .threads = 128};
    TRY(sap_direct_finish_merge(&grid, s->share->device->kernels->merge, g->all[place].mem, s->part->out.mem, s->f, n));
    TRY(d->event_record(g->merged[place], s->share->stream));
    g->used[place] = 1;
    g->turn++;
    return SAP_DRIVER_OK;
}

int sap_gpu_gather_slab(struct sap_gpu_slab *s)
{
    struct gather *const g = gather_of(s->store);
    const int k = (int)(s->share - s->store->share), place = (int)(g->turn % 2);
    TRY(send(s, g, k, place));
    return k == 0 ? merge(s, g, place) : (int)SAP_DRIVER_OK;
}
