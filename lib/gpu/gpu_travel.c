/*
 * gpu_travel.c - j-particles that travel between processes from device memory to device memory (engine/travel_ops.h).
 *
 * Streams wait for each other by events: packing for the last superpackets to be taken out of the hold, transfers for
 * packing, and taking for transfers.
 */
#include "gpu/gpu_travel.h"

#include <stdlib.h>

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_store.h"

enum { SUPER = SAP_GPU_SUPERPACKET };

/* What a store that receives has. */
struct travel {
    struct sap_gpu_attached attached;
    struct sap_gpu_buffer hold;
    struct sap_stream *stream;
    struct sap_event *packed, *arrived, *taken;
    int waits_for_taken; /* superpackets were taken out of the hold, perhaps not completely yet */
};

static struct sap_gpu_store *of(struct sap_store *store) { return (void *)store; }

/* Bytes of a superpacket in a hold: without lengths, since particles with some travel over the hosts. */
static size_t held_bytes(const struct sap_gpu_set *set)
{
    return (size_t)SAP_GPU_COLUMNS_OF(set->order) * SUPER * sizeof(double);
}

/* ------------------------------------------------------------------ memory */

static void release(struct sap_gpu_store *store, struct sap_gpu_attached *attached)
{
    const struct sap_driver *const d = store->set->driver;
    struct travel *const t = (void *)attached;
    struct sap_event *const event[] = {t->packed, t->arrived, t->taken};
    if (t->stream) (void)d->stream_finish(t->stream);
    if (store->share[0].stream) (void)d->stream_finish(store->share[0].stream); /* it may read the hold */
    sap_gpu_free(d, &t->hold);
    for (int k = 0; k < COUNT(event); k++)
        if (event[k]) d->event_destroy(event[k]);
    if (t->stream) d->stream_destroy(t->stream);
    free(t);
}

/* Returns what a store has for travels, or NULL. */
static struct travel *travel_of(const struct sap_gpu_store *store) { return sap_gpu_attached_by(store, release); }

/* Makes the streams and events of a store that receives; a driver status. */
static int prepare(struct sap_gpu_store *store)
{
    const struct sap_driver *const d = store->set->driver;
    struct travel *t = travel_of(store);
    if (!t) {
        if (!(t = calloc(1, sizeof *t))) return sap_gpu_refuse(store, SAP_DRIVER_MEMORY, "no memory of the host");
        sap_gpu_attach(store, &t->attached, release);
    }
    struct sap_dev *const dev = store->share[0].device->dev;
    struct sap_event **const event[] = {&t->packed, &t->arrived, &t->taken};
    TRY(sap_gpu_store_stream(store));
    if (!t->stream) TRY(d->stream_create(dev, &t->stream));
    for (int k = 0; k < COUNT(event); k++)
        if (!*event[k]) TRY(d->event_create(dev, event[k]));
    return SAP_DRIVER_OK;
}

static int reserve(struct sap_gpu_store *store, size_t bytes, void **address)
{
    const struct sap_driver *const d = store->set->driver;
    TRY(prepare(store));
    struct travel *const t = travel_of(store);
    if (bytes > t->hold.bytes) {
        TRY(d->stream_finish(store->share[0].stream)); /* it may read the hold */
        TRY(d->stream_finish(t->stream));
    }
    TRY(sap_gpu_reserve(d, store->share[0].device->dev, &t->hold, bytes));
    *address = d->address(t->hold.mem);
    return SAP_DRIVER_OK;
}

static int write_hold(struct sap_gpu_store *store, const void *from, size_t bytes)
{
    const struct travel *const t = travel_of(store);
    TRY(store->set->driver->copy_in(t->stream, t->hold.mem, 0, from, bytes));
    return store->set->driver->stream_finish(t->stream);
}

static int read_hold(struct sap_gpu_store *store, void *to, size_t bytes)
{
    const struct travel *const t = travel_of(store);
    TRY(store->set->driver->copy_out(t->stream, to, t->hold.mem, 0, bytes));
    return store->set->driver->stream_finish(t->stream);
}

/* ----------------------------------------------------------------- packing */

/* Copies superpackets from .. to-1 of a store to the hold, runs of slots at once; those without a slot are empty. */
static int copy_superpackets(const struct sap_gpu_store *from, struct travel *t, int at, int first, int n)
{
    const struct sap_driver *const d = from->set->driver;
    const struct sap_gpu_share *const share = &from->share[0];
    for (int k = 0, run; k < n; k += run) {
        const int slot = sap_gpu_slot_of(share, first + k);
        for (run = 1; k + run < n && slot >= 0 && sap_gpu_slot_of(share, first + k + run) == slot + run;) run++;
        if (slot < 0)
            TRY(sap_gpu_store_clear(from, share, &t->hold, SAP_GPU_COLUMNS_OF(from->set->order), at + k, at + k + 1));
        else
            TRY(sap_gpu_copy_superpackets(d, share->stream, t->hold.mem, at + k, held_bytes(from->set), share->j.mem,
                                          slot, sap_gpu_superpacket_bytes(from), run));
    }
    return SAP_DRIVER_OK;
}

/* Gives packed particles their addresses among those of all processes. */
static int set_addresses(const struct sap_gpu_store *from, const struct travel *t, int at, int n,
                         const struct sap_travel_part *p)
{
    const struct sap_gpu_share *const share = &from->share[0];
    const struct sap_gpu_grid grid = {.stream = share->stream,
                                      .driver = from->set->driver,
                                      .groups = {(unsigned)n * (SUPER / 256), 1},
                                      .threads = 256};
    return sap_direct_store_address(&grid, share->device->kernels->address, t->hold.mem,
                                    SAP_GPU_COLUMNS_OF(from->set->order), at, at + n, p->block, p->processes,
                                    p->process, p->before);
}

static int pack_part(struct sap_gpu_store *from, struct sap_gpu_store *store, int at, const struct sap_travel_part *p)
{
    const struct sap_driver *const d = store->set->driver;
    const int n = (p->n + SUPER - 1) / SUPER;
    TRY(prepare(store));
    struct travel *const t = travel_of(store);
    struct sap_stream *const stream = from->share[0].stream;
    if (t->waits_for_taken) TRY(d->stream_wait(stream, t->taken));
    t->waits_for_taken = 0;
    TRY(copy_superpackets(from, t, at, p->first / SUPER, n));
    if (n > 0) TRY(set_addresses(from, t, at, n, p));
    TRY(d->event_record(t->packed, stream));
    return d->stream_wait(t->stream, t->packed);
}

/* Brings the particles of a store to its device. */
static int update(struct sap_gpu_store *from)
{
    if (sap_gpu_refuse_lost(from)) return SAP_DRIVER_LOST;
    TRY(sap_gpu_store_stream(from));
    TRY(sap_gpu_store_update(from));
    return sap_gpu_store_send(from, &from->share[0], NULL, 0);
}

/* ---------------------------------------------------------------- transfers */

static int note_started(struct sap_gpu_store *store)
{
    const struct travel *const t = travel_of(store);
    return store->set->driver->event_record(t->arrived, t->stream);
}

static int take_all(struct sap_gpu_store *store, const int *number, int n, const struct sap_travel_facts *facts)
{
    const struct sap_driver *const d = store->set->driver;
    struct travel *const t = travel_of(store);
    struct sap_gpu_share *const share = &store->share[0];
    if (sap_gpu_refuse_lost(store)) return SAP_DRIVER_LOST;
    TRY(sap_gpu_store_give(store, number, n, facts->terms));
    TRY(d->event_record(t->arrived, t->stream));
    TRY(d->stream_wait(share->stream, t->arrived));
    TRY(sap_gpu_copy_superpackets(d, share->stream, share->j.mem, 0, sap_gpu_superpacket_bytes(store), t->hold.mem, 0,
                                  held_bytes(store->set), n));
    TRY(d->event_record(t->taken, share->stream));
    t->waits_for_taken = 1;
    return SAP_DRIVER_OK;
}

/* ------------------------------------------------------------------ entries */

static void describe(const struct sap_device_set *opaque_set, struct sap_travel_device *device)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    sap_gpu_describe_travels(set, device);
    device->unit = SUPER;
    device->bytes = held_bytes(set);
}

static int enter(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    return sap_gpu_status(set->driver->enter(set->device[0].dev));
}

static void leave(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    set->driver->leave(set->device[0].dev);
}

/* The body of an entry: a call that gives a driver status, in the standard floating-point environment. */
#define JUDGED(store, call)                                                                                            \
    int result;                                                                                                        \
    (store)->words[0] = '\0';                                                                                          \
    GUARDED(result = sap_gpu_judge(store, call));                                                                      \
    return result

static int hold(struct sap_store *store, size_t bytes, void **address)
{
    *address = NULL;
    JUDGED(of(store), reserve(of(store), bytes, address));
}

static void *stream(struct sap_store *store)
{
    return of(store)->set->driver->native_stream(travel_of(of(store))->stream);
}

static int write(struct sap_store *store, const void *from, size_t bytes)
{
    JUDGED(of(store), write_hold(of(store), from, bytes));
}

static int read(struct sap_store *store, void *to, size_t bytes) { JUDGED(of(store), read_hold(of(store), to, bytes)); }

static int pack_judged(struct sap_gpu_store *from, struct sap_gpu_store *store, int at,
                       const struct sap_travel_part *part)
{
    const int status = sap_gpu_judge(from, update(from));
    return status ? status : sap_gpu_judge(from, pack_part(from, store, at, part));
}

static int pack(struct sap_store *from, struct sap_store *store, int at, const struct sap_travel_part *part)
{
    int status;
    of(from)->words[0] = '\0';
    GUARDED(status = pack_judged(of(from), of(store), at, part));
    return status;
}

static int packed(struct sap_store *store)
{
    JUDGED(of(store), of(store)->set->driver->event_wait(travel_of(of(store))->packed));
}

static int started(struct sap_store *store) { JUDGED(of(store), note_started(of(store))); }

static int judge_state(struct sap_gpu_store *store)
{
    const int status = store->set->driver->event_query(travel_of(store)->arrived);
    return status == SAP_DRIVER_OK        ? (int)SAP_TRAVEL_DONE
           : status == SAP_DRIVER_PENDING ? (int)SAP_TRAVEL_UNDER_WAY
                                          : sap_gpu_judge(store, status);
}

static int state(struct sap_store *store)
{
    int result;
    GUARDED(result = judge_state(of(store)));
    return result;
}

static int take(struct sap_store *store, const int *number, int n, const struct sap_travel_facts *facts)
{
    JUDGED(of(store), take_all(of(store), number, n, facts));
}

const struct sap_travel_ops sap_travel_gpu = {.describe = describe,
                                              .enter = enter,
                                              .leave = leave,
                                              .hold = hold,
                                              .stream = stream,
                                              .write = write,
                                              .read = read,
                                              .pack = pack,
                                              .packed = packed,
                                              .started = started,
                                              .state = state,
                                              .take = take};
