/*
 * gpu_load.c - upload of whole superpackets, as after a first load: several threads copy them column by column into
 * pinned memory, and the device copies the layout unchanged.
 */
#include <string.h>

#include "base/team.h"
#include "base/threads.h"
#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/jstore.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_store.h"
#include "physics/arithmetic.h"

enum {
    SUPER = SAP_GPU_SUPERPACKET,
    LANES = SAP_CPU_LANES, /* addresses whose values lie side by side in the host's copy */
    AT_ONCE = 8,           /* superpackets per copy: allocating pinned memory costs more than copying them */
    THREADS_AT_MOST = 8
};

/* Writes numbers, NULL: zeros, to a column. */
static void copy_numbers(double *to, int column, const double *from)
{
    if (from)
        memcpy(to + (ptrdiff_t)column * SUPER, from, SUPER * sizeof *to);
    else
        memset(to + (ptrdiff_t)column * SUPER, 0, SUPER * sizeof *to);
}

/* Writes a superpacket in the layout of the device. */
static void copy_superpacket(const struct sap_jstore *host, const struct sap_gpu_set *set, int first, double *to)
{
    const struct sap_segment *s = sap_jstore_segment(host, first);
    const unsigned in = (unsigned)first % SAP_SEGMENT;
    const int derivatives = host->full ? host->full : SAP_DERIVATIVES;
    for (int k = 0; k < derivatives; k++)
        for (int axis = 0; axis < 3; axis++) {
            double *column = to + (ptrdiff_t)SAP_GPU_COLUMN(k, axis) * SUPER;
            if (k > s->terms) {
                memset(column, 0, SUPER * sizeof *column);
                continue;
            }
            const double *from = s->derivative[k] + sap_jstore_offset(in) + (ptrdiff_t)axis * LANES;
            for (int a = 0; a < SUPER; a += LANES, from += 3 * LANES) memcpy(column + a, from, LANES * sizeof *column);
        }
    memcpy(to + (ptrdiff_t)SAP_GPU_MASS * SUPER, s->mass + in, SUPER * sizeof *to);
    if (set->order != 2) copy_numbers(to, SAP_GPU_TIME, s->time + in);
    if (set->order == 2 || set->soft) copy_numbers(to, SAP_GPU_EPS2_OF(set->order), s->eps2 ? s->eps2 + in : NULL);
    int32_t *tags = (int32_t *)(void *)(to + (ptrdiff_t)SAP_GPU_TAGS * SUPER);
    memcpy(tags, s->index + in, SUPER * sizeof *tags);
    for (int a = 0; a < SUPER; a++) tags[SUPER + a] = first + a + 1;
}

/* Superpackets of these slots. */
struct images {
    const struct sap_gpu_store *store;
    const struct sap_gpu_share *share;
    const int *slot;
    char *to;
    size_t bytes; /* of each */
};

static void copy_images(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct images *const m = argument;
    for (ptrdiff_t k = from; k < to; k++)
        copy_superpacket(m->store->host, m->store->set, m->share->number[m->slot[k]] * SUPER,
                         (double *)(void *)(m->to + (size_t)k * m->bytes));
}

static int reserve_images(const struct sap_gpu_store *store, const struct sap_gpu_share *share,
                          struct sap_gpu_staging *s)
{
    const size_t bytes = AT_ONCE * sap_gpu_superpacket_bytes(store);
    if (bytes <= s->buffer.bytes) return SAP_DRIVER_OK;
    sap_gpu_staging_free(store, share, s);
    s->borrowed = 1;
    return sap_gpu_borrow(store->set, share->device, &s->buffer, bytes);
}

static int send_images(struct sap_gpu_store *store, struct sap_gpu_share *share, const int *slot, int n)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_staging *s = &share->update[share->next_update];
    const size_t bytes = sap_gpu_superpacket_bytes(store);
    TRY(sap_gpu_staging_ready(store, share));
    TRY(reserve_images(store, share, s));
    struct images images = {store, share, slot, s->buffer.host, bytes};
    sap_team_for(sap_threads_up_to(n < THREADS_AT_MOST ? n : (int)THREADS_AT_MOST), n, 1, copy_images, &images);
    for (int k = 0, run; k < n; k += run) { /* neighbouring slots in one copy */
        for (run = 1; k + run < n && slot[k + run] == slot[k] + run;) run++;
        TRY(d->copy_in(share->stream, share->j.mem, (size_t)slot[k] * bytes, (char *)s->buffer.host + (size_t)k * bytes,
                       (size_t)run * bytes));
    }
    TRY(d->event_record(s->read, share->stream));
    s->under_way = SAP_GPU_UNDER_WAY;
    share->next_update ^= 1;
    share->sums.valid = 0;
    return SAP_DRIVER_OK;
}

int sap_gpu_load(struct sap_gpu_store *store, struct sap_gpu_share *share)
{
    int slot[AT_ONCE], found = 0;
    if (share->updates > 0) return SAP_DRIVER_OK; /* staged updates use the same pinned memory */
    for (int k = 0; k < share->slots; k++) {
        const int first = share->number[k] * SUPER;
        if (first > store->set->below - SUPER) continue; /* changes of the other addresses belong to another store */
        if (!sap_jstore_take_whole(store->host, store->seen, first, SUPER)) continue;
        slot[found++] = k;
        if (found < AT_ONCE) continue;
        TRY(send_images(store, share, slot, found));
        found = 0;
    }
    return found > 0 ? send_images(store, share, slot, found) : (int)SAP_DRIVER_OK;
}
