/* gpu_store.c - j-particles on accelerators: changes on the host are staged and scattered, then predicted. */
#include "gpu/gpu_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/finite.h"
#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/jstore.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_lists.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_status.h"
#include "physics/arithmetic.h"

enum {
    SUPER = SAP_GPU_SUPERPACKET,
    CHUNK = 16384, /* updates per upload */
    TAKE = 256     /* addresses that are taken from the list of changes at a time */
};

size_t sap_gpu_superpacket_bytes(const struct sap_gpu_store *store)
{
    return (size_t)store->set->columns * SUPER * sizeof(double);
}

/* ----------------------------------------------------------------- growing */

int sap_gpu_store_clear(const struct sap_gpu_store *store, const struct sap_gpu_share *share,
                        const struct sap_gpu_buffer *in, int columns, int from, int to)
{
    const struct sap_gpu_grid grid = {.stream = share->stream,
                                      .driver = store->set->driver,
                                      .groups = {(unsigned)((to - from) * columns), 1},
                                      .threads = 256};
    return sap_direct_store_clear(&grid, share->device->kernels->clear, in->mem, columns, from, to);
}

static int clear_superpackets(const struct sap_gpu_store *store, struct sap_gpu_share *share, int to)
{
    if (to <= share->cleared) return SAP_DRIVER_OK;
    TRY(sap_gpu_store_clear(store, share, &share->j, store->set->columns, share->cleared, to));
    share->cleared = to;
    return SAP_DRIVER_OK;
}

/* Makes room for `superpackets` superpackets; existing ones are kept. */
static int grow(const struct sap_gpu_store *store, struct sap_gpu_share *share, int superpackets)
{
    const struct sap_driver *d = store->set->driver;
    if (superpackets > share->room) {
        int room = superpackets + superpackets / 4;
        struct sap_gpu_buffer more = {0};
        const size_t each = sap_gpu_superpacket_bytes(store);
        if (share->cleared == 0) { /* nothing to keep: free the old memory first, once no kernel reads it */
            TRY(d->stream_finish(share->stream));
            sap_gpu_free(d, &share->j);
            share->room = 0;
        }
        if (sap_gpu_reserve(d, share->device->dev, &more, (size_t)room * each) == SAP_DRIVER_MEMORY)
            room = superpackets;
        TRY(sap_gpu_reserve(d, share->device->dev, &more, (size_t)room * each));
        int status = SAP_DRIVER_OK;
        if (share->cleared > 0)
            status = d->copy(share->stream, more.mem, 0, share->j.mem, 0, (size_t)share->cleared * each);
        if (!status && share->cleared > 0) status = d->stream_finish(share->stream);
        if (status) {
            sap_gpu_free(d, &more);
            return status;
        }
        sap_gpu_free(d, &share->j);
        share->j = more;
        share->room = room;
    }
    return clear_superpackets(store, share, superpackets);
}

int sap_gpu_copy_superpackets(const struct sap_driver *d, struct sap_stream *stream, struct sap_mem *to, int to_at,
                              size_t to_each, struct sap_mem *from, int from_at, size_t from_each, int n)
{
    const size_t each = to_each < from_each ? to_each : from_each;
    const int at_once = to_each == from_each ? n : 1;
    for (int k = 0; k < n; k += at_once)
        TRY(d->copy(stream, to, (size_t)(to_at + k) * to_each, from, (size_t)(from_at + k) * from_each,
                    (size_t)at_once * each));
    return SAP_DRIVER_OK;
}

/* Copies the particles of a device to memory whose superpackets have one column more, of zeros. */
static int widen(struct sap_gpu_store *store, struct sap_gpu_share *share, struct sap_gpu_buffer *more)
{
    const struct sap_driver *d = store->set->driver;
    const int n = share->cleared, lost = store->lost;
    const size_t each = sap_gpu_superpacket_bytes(store), wider = each + SUPER * sizeof(double);
    /* nothing to keep, but kernels may still read the old memory */
    if (n == 0) return share->stream ? d->stream_finish(share->stream) : (int)SAP_DRIVER_OK;
    if (share->updates > 0) TRY(sap_gpu_store_send(store, share, NULL, 0));
    store->lost |= lost; /* this upload has not repaired a store that was lost: it lacks other changes */
    TRY(sap_gpu_reserve(d, share->device->dev, more, (size_t)share->room * wider));
    TRY(sap_gpu_store_clear(store, share, more, store->set->columns + 1, 0, n));
    TRY(sap_gpu_copy_superpackets(d, share->stream, more->mem, 0, wider, share->j.mem, 0, each, n));
    return d->stream_finish(share->stream);
}

/* Takes the wider memory, after the kernels. */
static void take_wider(const struct sap_gpu_store *store, struct sap_gpu_share *share, struct sap_gpu_buffer *more)
{
    sap_gpu_free(store->set->driver, &share->j);
    if (share->cleared == 0) share->room = 0;
    share->j = *more;
    *more = (struct sap_gpu_buffer){0};
    sap_gpu_sums_forget(&share->sums);
}

int sap_gpu_store_soften(struct sap_gpu_store *store)
{
    struct sap_gpu_buffer more[SAP_GPU_DEVICES] = {{0}};
    const int n = store->set->n;
    int status = SAP_DRIVER_OK;
    if (store->set->soft || store->set->order == 2) return status;
    sap_gpu_lists_settle_all(store);
    for (int k = 0; k < n && !status; k++) {
        store->at = k;
        status = widen(store, &store->share[k], &more[k]);
    }
    if (!status) status = sap_gpu_soften(store->set, &store->at);
    for (int k = 0; k < n; k++) {
        if (!status) take_wider(store, &store->share[k], &more[k]);
        sap_gpu_free(store->set->driver, &more[k]);
    }
    return status;
}

/* ------------------------------------------------------------------- slots */

/* Makes an integer array at least n long; new elements are `value`. */
static int extend(int **array, int *have, int n, int value)
{
    if (n <= *have) return SAP_DRIVER_OK;
    const int room = n + n / 2;
    int *more = realloc(*array, (size_t)room * sizeof *more);
    if (!more) return SAP_DRIVER_MEMORY;
    for (int k = *have; k < room; k++) more[k] = value;
    *array = more;
    *have = room;
    return SAP_DRIVER_OK;
}

/* Gives a superpacket a slot, if it has none. */
static int make_slot(struct sap_gpu_store *store, int superpacket)
{
    struct sap_gpu_share *h = &store->share[superpacket % store->set->n];
    const int at = superpacket / store->set->n;
    TRY(extend(&h->slot_of, &h->owned, at + 1, -1));
    if (h->slot_of[at] >= 0) return SAP_DRIVER_OK;
    TRY(extend(&h->number, &h->numbers, h->slots + 1, 0));
    h->number[h->slots] = superpacket;
    h->slot_of[at] = h->slots++;
    return SAP_DRIVER_OK;
}

/* Gives slots to all superpackets that can hold particles. */
static int make_slots(struct sap_gpu_store *store)
{
    enum { IN_TILE = SAP_CPU_SUPERPACKET / SUPER };
    const struct sap_jstore *host = store->host;
    const int upper = host->upper < store->set->below ? host->upper : store->set->below;
    for (int k = 0; k < host->segments; k++)
        for (int t = 0; t < SAP_SEGMENT_TILES && host->segment[k]; t++)
            for (int s = 0; s < IN_TILE && host->segment[k]->version[t] > store->seen; s++) {
                const int superpacket = (k * SAP_SEGMENT_TILES + t) * IN_TILE + s;
                if (superpacket < (upper + SUPER - 1) / SUPER) TRY(make_slot(store, superpacket));
            }
    return SAP_DRIVER_OK;
}

static void forget_slots(struct sap_gpu_share *h)
{
    for (int k = 0; k < h->owned; k++) h->slot_of[k] = -1;
    h->slots = h->cleared = h->sums.valid = 0;
    h->updates = 0; /* updates remain staged if no force followed them */
}

int sap_gpu_slot_of(const struct sap_gpu_share *h, int superpacket)
{
    return superpacket < h->owned ? h->slot_of[superpacket] : -1;
}

int sap_gpu_slots_below(const struct sap_gpu_share *h, int nj)
{
    for (int k = h->slots; k > 0; k--)
        if (h->number[k - 1] < (nj + SUPER - 1) / SUPER) return k;
    return 0;
}

/* ----------------------------------------------------------------- staging */

int sap_gpu_staging_mark(const struct sap_gpu_store *store, struct sap_gpu_share *share)
{
    for (int k = 0; k < 2; k++) {
        struct sap_gpu_staging *const s = &share->update[k];
        if (s->under_way != SAP_GPU_UNMARKED) continue;
        TRY(store->set->driver->event_record(s->read, share->stream));
        s->under_way = SAP_GPU_UNDER_WAY;
    }
    return SAP_DRIVER_OK;
}

int sap_gpu_staging_ready(const struct sap_gpu_store *store, struct sap_gpu_share *share)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_staging *s = &share->update[share->next_update];
    if (!s->read) TRY(d->event_create(share->device->dev, &s->read));
    TRY(sap_gpu_staging_mark(store, share));
    if (s->under_way) TRY(d->event_wait(s->read));
    s->under_way = 0;
    return SAP_DRIVER_OK;
}

void sap_gpu_staging_free(const struct sap_gpu_store *store, const struct sap_gpu_share *share,
                          struct sap_gpu_staging *s)
{
    if (s->borrowed)
        sap_gpu_give_back(store->set, share->device, &s->buffer);
    else
        sap_gpu_free(store->set->driver, &s->buffer);
    s->borrowed = 0;
}

/* Makes room for `more` updates beyond those staged, which are kept. */
static int reserve_updates(const struct sap_gpu_store *store, struct sap_gpu_share *share, int more)
{
    struct sap_gpu_staging *s = &share->update[share->next_update];
    const size_t size = store->set->update;
    const size_t bytes = (size_t)(share->updates + more) * size;
    if (share->updates == 0) TRY(sap_gpu_staging_ready(store, share));
    if (bytes <= s->buffer.bytes) return SAP_DRIVER_OK;
    struct sap_gpu_buffer larger = {0};
    const int status = sap_gpu_reserve_pinned(store->set->driver, share->device->dev, &larger,
                                              2 * bytes < CHUNK * size ? 2 * bytes : CHUNK * size);
    if (status) return status;
    if (share->updates > 0) memcpy(larger.host, s->buffer.host, (size_t)share->updates * size);
    sap_gpu_staging_free(store, share, s);
    s->buffer = larger;
    return SAP_DRIVER_OK;
}

/* Launches the kernel that scatters the staged updates and copies i-particles. */
static int send(struct sap_gpu_store *store, struct sap_gpu_share *share, const struct sap_gpu_buffer *i, int units)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_staging *s = &share->update[share->next_update];
    const int n = share->updates, parts = units * (int)(sizeof(struct sap_gpu_i) / 16);
    const unsigned threads = share->device->kernels->geometry.stage;
    const int for_updates = (n + 15) / 16, for_i = (parts + (int)threads - 1) / (int)threads;
    int groups_wanted = for_updates > for_i ? for_updates : for_i;
    if (groups_wanted == 0) return SAP_DRIVER_OK;
    if (groups_wanted > 1024) groups_wanted = 1024;
    const struct sap_gpu_grid grid = {
        .stream = share->stream, .driver = d, .groups = {(unsigned)groups_wanted, 1}, .threads = threads, .early = 1};
    if (n > 0) TRY(sap_gpu_to_device(share->stream, d, s->buffer.mem, 0, (size_t)n * store->set->update));
    if (i) TRY(sap_gpu_to_device(share->stream, d, i->mem, 0, (size_t)units * sizeof(struct sap_gpu_i)));
    TRY(sap_direct_store_stage(&grid, share->device->kernels->stage, share->j.mem, s->buffer.mem, n, share->sums.i.mem,
                               i ? i->mem : NULL, parts));
    share->updates = 0;
    if (n == 0) return SAP_DRIVER_OK;
    s->under_way = SAP_GPU_UNMARKED; /* an event between kernels would keep the next one from beginning early */
    share->next_update ^= 1;
    share->sums.valid = 0;
    return SAP_DRIVER_OK;
}

/* Reserves stamps for `addresses` local addresses. */
static int reserve_stamps(struct sap_gpu_share *share, int addresses)
{
    if (addresses <= share->stamps) return SAP_DRIVER_OK;
    const int room = addresses + addresses / 4;
    uint64_t *more = realloc(share->stamp, (size_t)room * sizeof *more);
    if (!more) return SAP_DRIVER_MEMORY;
    memset(more + share->stamps, 0, (size_t)(room - share->stamps) * sizeof *more);
    share->stamp = more;
    share->stamps = room;
    return SAP_DRIVER_OK;
}

/* Returns the device that owns an address; *at: index of its superpacket among those of the device. */
static inline int owner_of(const struct sap_gpu_store *store, int address, int *at)
{
    const unsigned superpacket = (unsigned)address / SUPER, n = (unsigned)store->set->n;
    *at = (int)(n == 1 ? superpacket : superpacket / n); /* integer divisions would take a third of the time */
    return n == 1 ? 0 : (int)(superpacket % n);
}

/* Returns the local address of an address, or -1 if its superpacket has no slot. */
static inline int local_of(const struct sap_gpu_share *share, int at, int address)
{
    const int slot = at < share->owned ? share->slot_of[at] : -1;
    return slot < 0 ? -1 : slot * SUPER + (int)((unsigned)address % SUPER);
}

/* Makes room for the first update of an upload, or if room or a stamp is lacking. */
__attribute__((noinline)) static int make_room(struct sap_gpu_store *store, struct sap_gpu_share *share, int local)
{
    const size_t end = (size_t)(share->updates + 1) * store->set->update;
    if (share->updates == CHUNK) TRY(send(store, share, NULL, 0));
    if (local >= share->stamps && reserve_stamps(share, share->slots * SUPER))
        return sap_gpu_refuse(store, SAP_DRIVER_MEMORY, "no memory of the host for updates");
    if (share->updates == 0) share->batch = share->serial;
    if (share->updates == 0 || end > share->update[share->next_update].buffer.bytes)
        TRY(reserve_updates(store, share, 1));
    return SAP_DRIVER_OK;
}

/* Returns in *u the record of an update. An upload has each address at most once. */
static inline int place_update(struct sap_gpu_store *store, int address, struct sap_gpu_update **u)
{
    int at;
    struct sap_gpu_share *share = &store->share[store->at = owner_of(store, address, &at)];
    const int local = local_of(share, at, address), n = share->updates;
    const size_t size = store->set->update;
    const struct sap_gpu_buffer *const buffer = &share->update[share->next_update].buffer;
    if (local < 0) {
        (void)sap_gpu_refuse(store, SAP_DRIVER_ERROR, "no slot");
        return SAP_DRIVER_ERROR;
    }
    if (n == 0 || n == CHUNK || local >= share->stamps || (size_t)(n + 1) * size > buffer->bytes)
        TRY(make_room(store, share, local));
    char *const first = share->update[share->next_update].buffer.host;
    if (share->updates > 0 && share->stamp[local] > share->batch) {
        *u = (struct sap_gpu_update *)(void *)(first + (share->stamp[local] - 1 - share->batch) * size);
        return SAP_DRIVER_OK;
    }
    *u = (struct sap_gpu_update *)(void *)(first + (size_t)share->updates++ * size);
    (*u)->at = local;
    (*u)->place = address + 1;
    share->stamp[local] = ++share->serial;
    return SAP_DRIVER_OK;
}

/* Writes behind an update the derivatives that orders 6 and 8 have more, and the squared softening. */
static inline void put_further(const struct sap_gpu_store *store, struct sap_gpu_update *u, const double (*further)[3],
                               double eps2)
{
    const struct sap_gpu_set *const set = store->set;
    const size_t bytes = set->update - sizeof *u - (size_t)set->soft * sizeof eps2;
    if (bytes > 0) memcpy(u + 1, further, bytes);
    if (set->soft) memcpy((char *)(u + 1) + bytes, &eps2, sizeof eps2);
    if (set->order == 2) u->time = eps2;
}

static int stage_one(struct sap_gpu_store *store, int address)
{
    double derivative[SAP_DERIVATIVES_MOST][3];
    struct sap_gpu_update *u;
    int32_t index;
    TRY(place_update(store, address, &u));
    sap_jstore_get(store->host, address, derivative, &u->mass, &u->time, &index);
    memcpy(u->derivative, derivative, sizeof u->derivative);
    put_further(store, u, (const double(*)[3])derivative + SAP_DERIVATIVES, sap_jstore_eps2(store->host, address));
    u->index = index;
    return SAP_DRIVER_OK;
}

/*
 * Copies derivatives, mass and time, which are contiguous in both structures; a call of memcpy takes longer than this.
 */
static inline void copy_numbers(struct sap_gpu_update *u, const struct sap_staged *p)
{
    enum { NUMBERS = 3 * SAP_DERIVATIVES + 2 };
    _Static_assert(offsetof(struct sap_gpu_update, time) == (NUMBERS - 1) * sizeof(double), "numbers side by side");
    _Static_assert(offsetof(struct sap_staged, time) == (NUMBERS - 1) * sizeof(double), "numbers side by side");
    const double *const from = &p->derivative[0][0];
    double *const to = &u->derivative[0][0];
    for (int k = 0; k + 2 <= NUMBERS; k += 2) put_two(to + k, two_at(from + k));
    u->time = p->time;
}

/* Prefetches what place_update reads for an address. Always inlined, because gcc deletes calls that only prefetch. */
__attribute__((always_inline)) static inline void fetch_stamp(const struct sap_gpu_store *store, int address)
{
    int at;
    const struct sap_gpu_share *share = &store->share[owner_of(store, address, &at)];
    const int local = local_of(share, at, address);
    if (local >= 0 && local < share->stamps) __builtin_prefetch(&share->stamp[local], 1);
}

static int put_all(struct sap_gpu_store *store, const struct sap_staged *first, int n)
{
    enum { AHEAD = 16 };
    const size_t bytes = sap_staged_bytes(store->host->full);
    for (int k = 0; k < n; k++) {
        const struct sap_staged *const p = sap_staged_at(first, bytes, k);
        struct sap_gpu_update *u;
        if (k + AHEAD < n) fetch_stamp(store, sap_staged_at(first, bytes, k + AHEAD)->address);
        TRY(place_update(store, p->address, &u));
        copy_numbers(u, p);
        put_further(store, u, p->further, p->eps2);
        u->index = p->index;
    }
    return SAP_DRIVER_OK;
}

/* Returns whether some of these particles have softening that the store is not ready for. */
static int lacks_softening(const struct sap_gpu_store *store, const struct sap_staged *first, int n)
{
    const size_t bytes = sap_staged_bytes(store->host->full);
    int soft = 0;
    for (int k = 0; k < n && !store->set->soft && store->set->order > 2; k++)
        soft |= sap_staged_at(first, bytes, k)->eps2 > 0;
    return soft;
}

static int put(struct sap_gpu_store *store, const struct sap_staged *particles, int n)
{
    if (n > 0) sap_gpu_lists_settle_all(store);
    /* only if the devices' copies match the host's: else an older change could overwrite this one */
    if (store->lost || store->broken || store->cleared != store->host->cleared || store->seen != store->host->version ||
        lacks_softening(store, particles, n))
        return SAPPORO_ERR_GONE;
    const int status = sap_gpu_status(put_all(store, particles, n));
    if (status) store->lost = 1; /* some updates may be staged: the next update uploads all particles again */
    return status;
}

/* Implements the entry `put` of struct sap_store_ops. */
int sap_gpu_store_put(struct sap_store *opaque_store, const struct sap_staged *particles, int n)
{
    struct sap_gpu_store *const store = (void *)opaque_store;
    int status;
    GUARDED(status = put(store, particles, n));
    return status;
}

static int stage_changes(struct sap_gpu_store *store)
{
    int32_t address[TAKE];
    int n = TAKE;
    for (int k = 0; k < store->set->n; k++) {
        store->at = k;
        TRY(sap_gpu_load(store, &store->share[k]));
    }
    for (int from = 0; n == TAKE; from = address[n - 1] + 1) {
        n = sap_jstore_take_changes_below(store->host, store->set->below, store->seen, from, address, TAKE);
        for (int k = 0; k < n; k++) TRY(stage_one(store, address[k]));
        if (n == 0) break;
    }
    store->seen = store->host->version;
    return SAP_DRIVER_OK;
}

/* Forgets the devices' copies. */
static void forget(struct sap_gpu_store *store)
{
    sap_jstore_change_all(store->host);
    for (int k = 0; k < store->set->n; k++) forget_slots(&store->share[k]);
    store->lost = 0;
    store->seen = 0;
}

/* Returns whether an upload of changes is pending. */
static int changes_wait(const struct sap_gpu_store *store)
{
    int updates = 0;
    for (int k = 0; k < store->set->n; k++) updates += store->share[k].updates;
    return updates > 0 || store->lost || store->cleared != store->host->cleared || store->seen != store->host->version;
}

int sap_gpu_store_update(struct sap_gpu_store *store)
{
    if (store->listing && changes_wait(store)) sap_gpu_lists_settle_all(store);
    if (store->cleared != store->host->cleared) {
        for (int k = 0; k < store->set->n; k++) forget_slots(&store->share[k]);
        store->cleared = store->host->cleared;
        store->given = 0;
    }
    if (store->lost && store->given)
        return sap_gpu_refuse(store, SAP_DRIVER_ERROR, "particles that the host does not have were lost on the device");
    if (store->lost) forget(store);
    if (store->host->soft > 0) TRY(sap_gpu_store_soften(store));
    store->lost = 1; /* until all changes are sent */
    store->terms = store->given > 1 ? store->given : 1;
    for (int k = 0; k < store->host->segments; k++)
        if (store->host->segment[k] && store->host->segment[k]->terms > store->terms)
            store->terms = store->host->segment[k]->terms;
    if (store->seen != store->host->version && make_slots(store))
        return sap_gpu_refuse(store, SAP_DRIVER_MEMORY, "no memory of the host for superpackets");
    for (int k = 0; k < store->set->n; k++) {
        store->at = k;
        TRY(grow(store, &store->share[k], store->share[k].slots));
    }
    if (store->seen != store->host->version) TRY(stage_changes(store));
    store->lost = 0;
    return SAP_DRIVER_OK;
}

/* Gives slots to superpackets that the host does not have: number[k], or without numbers k, for from <= k < n. */
static int take_slots(struct sap_gpu_store *store, const int *number, int from, int n)
{
    int status = SAP_DRIVER_OK;
    store->lost = 1; /* until all of them have slots */
    for (int k = from; k < n && !status; k++) status = make_slot(store, number ? number[k] : k);
    if (status) return sap_gpu_refuse(store, status, "no memory of the host for superpackets");
    TRY(grow(store, &store->share[0], n));
    store->cleared = store->host->cleared;
    store->seen = store->host->version;
    store->lost = 0;
    return SAP_DRIVER_OK;
}

int sap_gpu_store_give(struct sap_gpu_store *store, const int *number, int n, int terms)
{
    forget_slots(&store->share[0]);
    store->given = terms > 1 ? terms : 1;
    return take_slots(store, number, 0, n);
}

int sap_gpu_store_extend(struct sap_gpu_store *store, int superpackets, int terms)
{
    struct sap_gpu_share *const share = &store->share[0];
    if (terms > store->given) store->given = terms;
    share->sums.valid = 0;
    return take_slots(store, NULL, share->slots, superpackets > share->slots ? superpackets : share->slots);
}

void sap_gpu_store_returned(struct sap_gpu_store *store)
{
    store->given = 0;
    store->seen = store->host->version;
}

int sap_gpu_store_stream(struct sap_gpu_store *store)
{
    struct sap_gpu_share *const share = &store->share[0];
    return share->stream ? (int)SAP_DRIVER_OK : store->set->driver->stream_create(share->device->dev, &share->stream);
}

int sap_gpu_store_send(struct sap_gpu_store *store, struct sap_gpu_share *share, const struct sap_gpu_buffer *i,
                       int units)
{
    TRY(sap_gpu_reserve(store->set->driver, share->device->dev, &share->sums.i,
                        (size_t)units * sizeof(struct sap_gpu_i)));
    store->lost |= share->updates > 0;
    TRY(send(store, share, i, units));
    store->lost = 0;
    return SAP_DRIVER_OK;
}

/* -------------------------------------------------------------- predicting */

int sap_gpu_store_predict(struct sap_gpu_store *store, struct sap_gpu_share *share, const struct sap_gpu_force *f)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_sums *const sums = &share->sums;
    if (sums->valid && sums->time == f->time && sums->nj == f->nj) return SAP_DRIVER_OK;
    sums->valid = 0;
    const size_t bytes = (size_t)share->room * SUPER * store->set->working;
    TRY(sap_gpu_reserve(d, share->device->dev, &sums->predicted, bytes));
    TRY(sap_gpu_launch_predict(store->set, share->device, share->stream, share->j.mem, sums, f));
    sums->valid = 1;
    sums->time = f->time;
    sums->nj = f->nj;
    return SAP_DRIVER_OK;
}

/* ----------------------------------------------------------- other modules */

void sap_gpu_attach(struct sap_gpu_store *store, struct sap_gpu_attached *attached,
                    void (*release)(struct sap_gpu_store *store, struct sap_gpu_attached *attached))
{
    attached->release = release;
    attached->next = store->attached;
    store->attached = attached;
}

void *sap_gpu_attached_by(const struct sap_gpu_store *store,
                          void (*release)(struct sap_gpu_store *store, struct sap_gpu_attached *attached))
{
    struct sap_gpu_attached *a = store->attached;
    while (a && a->release != release) a = a->next;
    return a;
}

/* ------------------------------------------------------- making and freeing */

struct sap_gpu_store *sap_gpu_store_new(struct sap_gpu_set *set, struct sap_jstore *host)
{
    struct sap_gpu_store *const s = calloc(1, sizeof *s + (size_t)set->n * sizeof s->share[0]);
    if (!s) return NULL;
    s->set = set;
    s->host = host;
    s->terms = 1;
    for (int k = 0; k < set->n; k++) s->share[k].device = &set->device[k];
    return s;
}

static void free_share(const struct sap_gpu_store *store, struct sap_gpu_share *s)
{
    const struct sap_driver *d = store->set->driver;
    if (s->stream) (void)d->stream_finish(s->stream);
    sap_gpu_free(d, &s->j);
    sap_gpu_sums_free(d, &s->sums);
    free(s->stamp);
    free(s->number);
    free(s->slot_of);
    for (int k = 0; k < 2; k++) {
        sap_gpu_staging_free(store, s, &s->update[k]);
        if (s->update[k].read) d->event_destroy(s->update[k].read);
    }
    if (s->stream) d->stream_destroy(s->stream);
}

void sap_gpu_store_free(struct sap_gpu_store *store)
{
    if (!store) return;
    while (store->attached) {
        struct sap_gpu_attached *const last = store->attached;
        store->attached = last->next;
        last->release(store, last);
    }
    for (int k = 0; k < store->set->n; k++) free_share(store, &store->share[k]);
    free(store);
}
