/*
 * gpu_gather.c - sums of several devices: the first device receives all accumulators, merges and rounds them.
 *
 * Where devices can access each other's memory, kernels write their accumulators into the first device's memory; else
 * they are copied. If the driver's devices cannot wait for each other, the host merges (gpu_result.c).
 */
#include "gpu/gpu_gather.h"

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_force.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_store.h"

/* Returns the columns of doubles: unit, limbs and special of each sum. */
static int columns_of(const struct sap_gpu_store *store) { return 6 * store->set->sums; }

int sap_gpu_gathers(struct sap_gpu_store *store)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_gather *g = &store->gather;
    if (g->mode == SAP_GPU_GATHER_UNKNOWN) {
        int together = store->set->n > 1 && d->together && d->copy_peer;
        for (int k = 1; k < store->set->n && together; k++)
            together = d->together(store->set->device[0].dev, store->set->device[k].dev);
        g->mode = !together ? SAP_GPU_GATHER_HOST : d->allocate_shared ? SAP_GPU_GATHER_WRITE : SAP_GPU_GATHER_COPY;
    }
    return g->mode != SAP_GPU_GATHER_HOST;
}

/* ------------------------------------------------------------------ memory */

/* Frees the buffers. No device may use them. */
static void free_places(struct sap_gpu_store *store)
{
    const struct sap_driver *d = store->set->driver;
    for (int k = 0; k < store->set->n; k++)
        if (store->share[k].stream) (void)d->stream_finish(store->share[k].stream);
    for (int p = 0; p < 2; p++) sap_gpu_free(d, &store->gather.all[p]);
}

void sap_gpu_gather_free(struct sap_gpu_store *store)
{
    const struct sap_driver *d = store->set->driver;
    if (store->gather.all[0].mem || store->gather.all[1].mem) free_places(store);
    for (int p = 0; p < 2; p++)
        if (store->gather.merged[p]) d->event_destroy(store->gather.merged[p]);
}

static int allocate_place(struct sap_gpu_store *store, struct sap_gpu_buffer *b, size_t bytes)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_dev *others[SAP_GPU_DEVICES], *const first = store->set->device[0].dev;
    const int n = store->set->n;
    if (store->gather.mode == SAP_GPU_GATHER_COPY) return sap_gpu_reserve(d, first, b, bytes);
    for (int k = 1; k < n; k++) others[k - 1] = store->set->device[k].dev;
    const int status = d->allocate_shared(first, others, n - 1, bytes, &b->mem);
    if (!status) b->bytes = bytes;
    return status;
}

static int allocate_places(struct sap_gpu_store *store, size_t bytes)
{
    int status = SAP_DRIVER_OK;
    for (int p = 0; p < 2 && !status; p++) status = allocate_place(store, &store->gather.all[p], bytes);
    if (status) free_places(store);
    return status;
}

static int create_events(struct sap_gpu_store *store)
{
    const struct sap_driver *d = store->set->driver;
    for (int p = 0; p < 2; p++) {
        for (int k = 1; k < store->set->n; k++)
            if (!store->share[k].sent[p]) TRY(d->event_create(store->share[k].device->dev, &store->share[k].sent[p]));
        if (!store->gather.merged[p]) TRY(d->event_create(store->share[0].device->dev, &store->gather.merged[p]));
    }
    return SAP_DRIVER_OK;
}

int sap_gpu_gather_reserve(struct sap_gpu_store *store, int rows)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_gather *g = &store->gather;
    const size_t block = (size_t)rows * (size_t)columns_of(store) * sizeof(double),
                 bytes = block * (size_t)store->set->n;
    TRY(create_events(store));
    if (g->all[0].bytes < bytes) {
        free_places(store);
        int status = allocate_places(store, bytes);
        if (status == SAP_DRIVER_UNSUPPORTED && g->mode == SAP_GPU_GATHER_WRITE) {
            g->mode = SAP_GPU_GATHER_COPY;
            status = allocate_places(store, bytes);
        }
        TRY(status);
    }
    for (int k = 1; k < store->set->n && g->mode == SAP_GPU_GATHER_COPY; k++)
        TRY(sap_gpu_reserve(d, store->share[k].device->dev, &store->share[k].accum, block));
    return SAP_DRIVER_OK;
}

/* ------------------------------------------------------------------ slabs */

/* Sends the sums of device k into its block. */
static int send(const struct sap_gpu_slab *s, int k, int place)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_gather *g = &s->store->gather;
    const struct sap_gpu_buffer *all = &g->all[place];
    const int copy = g->mode == SAP_GPU_GATHER_COPY && k > 0, block = columns_of(s->store) * s->f.ni;
    struct sap_gpu_force f = s->f;
    f.accumulate = 1;
    f.out_rows = f.ni;
    f.first_i = copy ? 0 : k * block;
    if (k > 0 && g->used[place]) TRY(d->stream_wait(s->share->stream, g->merged[place]));
    TRY(sap_gpu_launch_sums(s, copy ? s->share->accum.mem : all->mem, &f));
    if (copy)
        TRY(d->copy_peer(s->share->stream, all->mem, (size_t)k * (size_t)block * sizeof(double), s->share->accum.mem, 0,
                         (size_t)block * sizeof(double)));
    return k > 0 ? d->event_record(s->share->sent[place], s->share->stream) : (int)SAP_DRIVER_OK;
}

/* Merges all blocks of a buffer into results, on the first device. */
static int merge(const struct sap_gpu_slab *s, int place)
{
    struct sap_gpu_store *store = s->store;
    const struct sap_driver *d = store->set->driver;
    const int n = store->set->n;
    for (int k = 1; k < n; k++) TRY(d->stream_wait(s->share->stream, store->share[k].sent[place]));
    const struct sap_argument a[] = {MEM(store->gather.all[place]), MEM(s->part->out), VALUE(s->f), VALUE(n)};
    const unsigned groups[2] = {(unsigned)(s->f.ni + 127) / 128, (unsigned)store->set->sums};
    TRY(sap_gpu_launch(s->share->stream, d, s->share->device->kernels->merge, groups, 128, 0, a, COUNT(a)));
    TRY(d->event_record(store->gather.merged[place], s->share->stream));
    store->gather.used[place] = 1;
    store->gather.turn++;
    return SAP_DRIVER_OK;
}

int sap_gpu_gather_slab(struct sap_gpu_slab *s)
{
    const int k = (int)(s->share - s->store->share), place = (int)(s->store->gather.turn % 2);
    TRY(send(s, k, place));
    return k == 0 ? merge(s, place) : (int)SAP_DRIVER_OK;
}
