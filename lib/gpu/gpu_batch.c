/*
 * gpu_batch.c - batches of small forces on accelerators: a call is cut into slabs, which are copied while other slabs
 * are computed.
 *
 * Threads of the host fill pinned memory with targets and sources in the working type. Sources by address are given by
 * their slot in the device's store. Each slab has a stream of its own.
 *
 * The threads work in steps. Each step is a region of its own (team.h). In a step, all threads fill the next slab and
 * write the results of an older one. Meanwhile the caller's thread sends the slab that the previous step filled, plans
 * the slab to come, and waits for another one. Only the caller's thread calls the driver.
 *
 * A batch that was begun returns once its last slab has started. Each batch in flight has slabs of its own; sources and
 * kept addresses on the device are common, and later changes of them wait in stream order for the batches in flight.
 */
#include "gpu/gpu_batch.h"

#include <limits.h>
#include <stdlib.h>

#include "base/team.h"
#include "base/threads.h"
#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/small_forces.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_store.h"

enum {
    PLACES = 8,             /* slabs of a device, from their planning until their results have been written */
    SLAB_BYTES = 6 << 20,   /* of a slab's input, approximately */
    SLAB_ROWS = 1 << 16,    /* most targets of a slab */
    RECORDS = 4 << 20,      /* doubles of records of a slab, approximately */
    THREAD_BYTES = 1 << 16, /* bytes of input that make another thread worth waking */
    SUMS = SAP_GPU_LONG_SUMS
};

/* What the batches of a store share. */
struct sap_gpu_batches {
    struct sap_gpu_attached attached;
    struct sap_event *ready;    /* recorded when the store's particles are up to date */
    struct sap_gpu_buffer kept; /* addresses that the caller keeps */
    uint64_t kept_number;       /* identifies them; 0: none */
    struct sap_gpu_places *first;
};

/* The slabs of a batch, and its work; without a batch they are kept for the next one. */
struct sap_gpu_places {
    struct sap_gpu_batches *batches;
    struct sap_gpu_places *next;
    struct sap_batch_work work;
    int busy;                                    /* a batch is in flight */
    struct sap_gpu_buffer columns, columns_host; /* columns by address (gpu_batch_more.c), in pinned memory, too */
    int n;
    struct sap_gpu_place place[];
};

/* ------------------------------------------------------------------- slabs */

static int blocks_of(const struct sap_batch_work *w, int n) { return (n + w->rows - 1) / w->rows; }

/*
 * Places each section of the input at a multiple of 64 bytes, since threads write whole lines; returns the end of the
 * last section.
 */
static size_t lay_out(const struct sap_batch_work *w, struct sap_gpu_place *p)
{
    const size_t sizes[] = {(size_t)p->items * sizeof(struct sap_gpu_item),
                            (size_t)p->longs * sizeof(struct sap_gpu_long), (size_t)p->rows * w->target_bytes,
                            (size_t)p->sources * w->source_bytes, (size_t)p->units * 64};
    int *const begin[] = {&p->layout.longs, &p->layout.i, &p->layout.j, &p->layout.index};
    size_t at = 0;
    for (int k = 0; k < COUNT(sizes); k++) {
        if (k > 0) *begin[k - 1] = (int)(at / 16);
        at += (sizes[k] + 63) / 64 * 64;
    }
    p->layout.out_rows = p->rows;
    p->layout.columns = w->store->set->columns;
    p->layout.words = (int)(w->source_bytes / sizeof(double));
    p->layout.extra = w->columns.words;
    return at;
}

/* Returns how many targets of a list a slab takes at a time: records of a long list need memory. */
static int most_targets(const struct sap_batch_work *w, const sapporo_small_force *l)
{
    const int fit = RECORDS / (sap_batch_superpackets(w, l) * SUMS) / w->rows * w->rows;
    return sap_batch_superpackets(w, l) == 1 ? SLAB_ROWS : fit > w->rows ? fit : w->rows;
}

static int add_spot(const struct sap_batch_work *w, struct sap_gpu_place *p, const sapporo_small_force *l)
{
    const int superpackets = sap_batch_superpackets(w, l), left = l->ni - w->from, most = most_targets(w, l);
    const int n = left < most ? left : most, blocks = blocks_of(w, n), is_long = superpackets > 1;
    const int by_address = sap_batch_by_address(w, l), sources = sap_batch_kept(w, l) ? 0 : l->nj;
    if (p->spots == p->room) {
        struct sap_batch_spot *more = realloc(p->spot, (size_t)(2 * p->room + 256) * sizeof *more);
        if (!more) return -1;
        p->spot = more;
        p->room = 2 * p->room + 256;
    }
    p->spot[p->spots++] = (struct sap_batch_spot){.list = w->list,
                                                  .from = w->from,
                                                  .n = n,
                                                  .row = p->rows,
                                                  .item = p->items,
                                                  .longs = p->longs,
                                                  .source = p->sources,
                                                  .record = p->records};
    p->rows += n;
    p->items += superpackets * blocks;
    p->longs += is_long ? blocks : 0;
    p->records += is_long ? superpackets * SUMS * n : 0;
    if (by_address)
        p->units += sap_batch_units(sources, sizeof(int));
    else
        p->sources += sources;
    p->bytes += (size_t)(superpackets * blocks) * sizeof(struct sap_gpu_item) + (size_t)n * w->target_bytes +
                (size_t)sources * (by_address ? sizeof(int) : w->source_bytes);
    return n;
}

/* Plans a slab: takes the next lists, as many as fit, at least some targets of one; -1: out of memory. */
static int plan(struct sap_batch_work *w, struct sap_gpu_place *p)
{
    const int part = w->planned < 2 ? 4 >> w->planned : 1; /* the first slabs are small: the device starts early */
    p->spots = p->items = p->longs = p->rows = p->sources = p->units = p->records = 0;
    p->bytes = 0;
    while (w->list < w->m->nlists && p->rows < SLAB_ROWS / part && p->records < RECORDS &&
           p->bytes < (size_t)(SLAB_BYTES / part)) {
        enum { AHEAD = 8 };
        const sapporo_small_force *const l = sap_batch_force(w->m, w->list);
        __builtin_prefetch((const char *)l + AHEAD * w->m->lists->size);
        const int n = w->from < l->ni ? add_spot(w, p, l) : 0;
        if (n < 0) return -1;
        w->from += n;
        if (w->from >= l->ni) w->list++, w->from = 0;
    }
    return 0;
}

/* ---------------------------------------------------------------- launching */

/* Returns the slab whose stream this slab uses. */
static struct sap_gpu_place *stream_owner(const struct sap_gpu_set *set, struct sap_gpu_places *all,
                                          struct sap_gpu_place *p)
{
    return set->device[p->device].properties.in_turn ? &all->place[p->device] : p;
}

static int reserve_place(const struct sap_batch_work *w, struct sap_gpu_place *p, size_t bytes)
{
    const struct sap_driver *d = w->store->set->driver;
    struct sap_dev *dev = w->store->share[p->device].device->dev;
    struct sap_gpu_place *const owner = stream_owner(w->store->set, w->all, p);
    if (!owner->stream) TRY(d->stream_create(dev, &owner->stream));
    p->stream = owner->stream;
    if (!p->done) TRY(d->event_create(dev, &p->done));
    TRY(sap_gpu_reserve_pinned(d, dev, &p->host, bytes + (size_t)p->rows));
    p->bad = (unsigned char *)p->host.host + bytes;
    TRY(sap_gpu_reserve_pinned(d, dev, &p->out, (size_t)p->rows * (size_t)w->sums * sizeof(double)));
    TRY(sap_gpu_reserve(d, dev, &p->input, bytes));
    if (w->m->more) return sap_gpu_reserve(d, dev, &p->marks, (size_t)p->rows * sizeof(int) + 1);
    return sap_gpu_reserve(d, dev, &p->record, (size_t)p->records * sizeof(double) + 1);
}

static struct sap_gpu_grid grid_of(const struct sap_batch_work *w, const struct sap_gpu_place *p, int groups,
                                   int threads)
{
    return (struct sap_gpu_grid){.stream = p->stream,
                                 .driver = w->store->set->driver,
                                 .groups = {(unsigned)groups, 1},
                                 .threads = (unsigned)threads};
}

/* Launches the kernels of a batch that asks for more than monopoles: in floats, then in double what these leave. */
static int launch_more(const struct sap_batch_work *w, struct sap_gpu_place *p)
{
    const struct sap_gpu_share *h = &w->store->share[p->device];
    const struct sap_gpu_kernels *k = h->device->kernels;
    const int threads = k->geometry.lanes > 1 ? 1 : SAP_GPU_MORE_ITEMS;
    p->layout.marked = w->floats;
    p->layout.groups = w->rows / SAP_GPU_MORE_TARGETS;
    const struct sap_gpu_grid items = grid_of(w, p, p->items, threads),
                              all = grid_of(w, p, p->items * p->layout.groups, threads);
    struct sap_mem *const kept = w->all->batches->kept.mem, *const columns = w->all->columns.mem;
    if (w->floats)
        TRY(sap_direct_list_more(&items, k->more_float, h->j.mem, p->input.mem, kept, columns, p->marks.mem, p->out.mem,
                                 p->layout));
    return sap_direct_list_more(&all, k->more, h->j.mem, p->input.mem, kept, columns, p->marks.mem, p->out.mem,
                                p->layout);
}

/* Launches the kernel that computes the items of a slab. */
static int launch_pairs(const struct sap_batch_work *w, struct sap_gpu_place *p)
{
    const struct sap_gpu_share *h = &w->store->share[p->device];
    const struct sap_gpu_kernels *k = h->device->kernels;
    const int mode = w->soft ? 2 : p->found & SAP_BATCH_ZERO ? 1 : 0, alone = k->geometry.lanes > 1;
    const struct sap_gpu_grid grid = grid_of(w, p, p->items, alone ? 1 : (int)SAP_GPU_BATCH_THREADS);
    if (w->m->more) return launch_more(w, p);
    return sap_direct_batch(&grid, k->batch[mode], h->sums.predicted.mem, p->input.mem, w->all->batches->kept.mem,
                            p->record.mem, p->out.mem, p->layout);
}

/* Sends a filled slab to the device. */
static int start(struct sap_batch_work *w, struct sap_gpu_place *p)
{
    const struct sap_driver *d = w->store->set->driver;
    const struct sap_gpu_share *h = &w->store->share[p->device];
    const struct sap_gpu_kernels *k = h->device->kernels;
    const size_t results = (size_t)p->rows * (size_t)w->sums * sizeof(double);
    const size_t bytes = (size_t)p->layout.index * 16 + (size_t)p->units * 64;
    const struct sap_gpu_grid grid = grid_of(w, p, p->longs, 128);
    w->partial |= p->found & SAP_BATCH_BAD;
    if (p->found & SAP_BATCH_FAULTY) return w->faulty = 1;
    w->store->at = p->device;
    p->under_way = 1;
    TRY(d->copy_in(p->stream, p->input.mem, 0, p->host.host, bytes));
    if (w->resident) TRY(d->stream_wait(p->stream, w->all->batches->ready));
    TRY(launch_pairs(w, p));
    if (p->longs > 0) TRY(sap_direct_finish_long(&grid, k->longs, p->record.mem, p->input.mem, p->out.mem, p->layout));
    if (d->pinned_to_host) TRY(d->pinned_to_host(p->stream, p->out.mem, 0, results));
    return d->event_record(p->done, p->stream);
}

/* Plans the next slab, which may have no rows, and reserves memory for it. */
static int prepare(struct sap_batch_work *w, struct sap_gpu_place *p)
{
    w->store->at = p->device;
    if (plan(w, p)) return sap_gpu_refuse(w->store, SAP_DRIVER_MEMORY, "no memory of the host for lists");
    return p->rows > 0 ? reserve_place(w, p, lay_out(w, p)) : (int)SAP_DRIVER_OK;
}

/* Waits for a slab. */
static int finish(struct sap_batch_work *w, struct sap_gpu_place *p)
{
    w->store->at = p->device;
    TRY(w->store->set->driver->event_wait(p->done));
    p->under_way = 0;
    return SAP_DRIVER_OK;
}

/* ------------------------------------------------------------------- steps */

static struct sap_gpu_place *place_of(const struct sap_batch_work *w, int slab)
{
    struct sap_gpu_places *const all = w->all;
    return &all->place[slab % all->n];
}

/* Returns whether to wait for the oldest slab in flight: if it is complete, or if there is no other work. */
static int shall_wait(const struct sap_batch_work *w, int idle)
{
    if (w->started == w->waited) return 0;
    return idle || w->store->set->driver->event_query(place_of(w, w->waited)->done) != SAP_DRIVER_PENDING;
}

/* The caller's thread in a step: sends the slab that the previous step filled, and determines the next step. */
static int decide(struct sap_batch_work *w, const struct sap_batch_step *now, struct sap_batch_step *next)
{
    const int handed_out = now->write < 0 ? w->waited : now->write, filled = now->fill < 0 ? w->planned : now->fill;
    *next = (struct sap_batch_step){-1, -1, 0};
    if (w->started < filled) TRY(start(w, place_of(w, w->started)));
    w->started = filled;
    if (w->list < w->m->nlists && w->planned - handed_out < w->all->n) {
        TRY(prepare(w, place_of(w, w->planned)));
        if (place_of(w, w->planned)->rows > 0) next->fill = w->planned++;
    }
    const int leave = w->leave && w->list == w->m->nlists;
    if (!leave && shall_wait(w, next->fill < 0)) {
        TRY(finish(w, place_of(w, w->waited)));
        next->write = w->waited++;
    }
    next->over = next->fill < 0 && next->write < 0 && (leave ? w->started : w->waited) == w->planned;
    return SAP_DRIVER_OK;
}

/* One step. */
struct step {
    struct sap_items fills, writes; /* over the spots of both slabs */
    struct sap_batch_filling filling;
    struct sap_batch_work *work;
    struct sap_gpu_place *in;        /* the slab to fill; NULL: none */
    const struct sap_gpu_place *out; /* the slabs to fill and to write out; NULL: none */
    struct sap_batch_step now, next;
};

/* The work of each thread in a step. */
static void work_along(void *argument, int thread)
{
    struct step *const s = argument;
    struct sap_batch_work *const w = s->work;
    ptrdiff_t from, to;
    if (thread == 0) w->status = decide(w, &s->now, &s->next);
    while (sap_items_take(&s->fills, &from, &to)) sap_batch_fill(w, s->in, &s->filling, (int)from, (int)to);
    while (sap_items_take(&s->writes, &from, &to))
        for (ptrdiff_t k = from; k < to; k++) sap_batch_write(w, s->out, &s->out->spot[k]);
}

/* Spots that a thread takes at a time: neighbours share cache lines of the slab. */
static ptrdiff_t chunk_of(const struct sap_gpu_place *p, int threads)
{
    const ptrdiff_t chunk = p ? p->spots / (4 * (ptrdiff_t)threads) : 1;
    return chunk < 1 ? 1 : chunk < SAP_BATCH_RUN ? chunk : (ptrdiff_t)SAP_BATCH_RUN;
}

/* Works from step `next` on until the call is over. */
static int run_steps(struct sap_batch_work *w, struct sap_batch_step next)
{
    const double wanted = w->bytes / THREAD_BYTES + 1;
    const int threads = sap_threads_up_to(wanted < SAP_TEAM_MOST ? (int)wanted : (int)SAP_TEAM_MOST);
    struct step s = {.work = w, .next = next};
    while (!s.next.over && !w->status) {
        s.now = s.next;
        s.in = s.now.fill < 0 ? NULL : place_of(w, s.now.fill);
        s.out = s.now.write < 0 ? NULL : place_of(w, s.now.write);
        sap_items_start(&s.fills, s.in ? s.in->spots : 0, chunk_of(s.in, threads));
        sap_items_start(&s.writes, s.out ? s.out->spots : 0, chunk_of(s.out, threads));
        atomic_init(&s.filling.units, 0);
        atomic_init(&s.filling.found, 0);
        sap_team_run(threads, work_along, &s);
        if (s.in) s.in->units = atomic_load(&s.filling.units);
        if (s.in) s.in->found = atomic_load(&s.filling.found);
    }
    return w->status;
}

static int run_slabs(struct sap_batch_work *w)
{
    TRY(prepare(w, place_of(w, 0)));
    if (place_of(w, 0)->rows == 0) return SAP_DRIVER_OK;
    w->planned = 1;
    return run_steps(w, (struct sap_batch_step){0, -1, 0});
}

/* --------------------------------------------------------------------- all */

static int slots_in_order(const struct sap_gpu_share *h)
{
    for (int k = 0; k < h->slots; k++)
        if (h->number[k] != k) return 0;
    return 1;
}

/*
 * Uploads the addresses that the caller keeps, once. Leaves them out if they need translation, or if an item cannot
 * hold their number.
 */
static int bring_kept(struct sap_batch_work *w)
{
    struct sap_gpu_batches *const all = w->all->batches;
    const struct sap_gpu_share *h = &w->store->share[0];
    const struct sap_driver *d = w->store->set->driver;
    const struct sap_kept *kept = &w->m->kept;
    const size_t bytes = kept->n * sizeof(int);
    w->kept = w->in_order && kept->n > 0 && kept->n < INT_MAX;
    if (!w->kept || all->kept_number == kept->number) return SAP_DRIVER_OK;
    all->kept_number = 0;
    TRY(sap_gpu_reserve(d, h->device->dev, &all->kept, bytes));
    TRY(d->copy_in(h->stream, all->kept.mem, 0, kept->address, bytes));
    all->kept_number = kept->number;
    return SAP_DRIVER_OK;
}

/*
 * Uploads the columns by address of a batch that asks for more than monopoles.  Without a device's store in order of
 * addresses, the sources come from the host's copy instead.
 */
static int bring_columns(struct sap_batch_work *w)
{
    struct sap_gpu_places *const all = w->all;
    const struct sap_gpu_share *h = &w->store->share[0];
    const struct sap_driver *d = w->store->set->driver;
    if (!w->in_order) w->resident = w->kept = 0;
    const size_t n = w->resident ? sap_batch_more_addresses(w) : 0;
    const size_t bytes = n * (size_t)w->columns.words * sizeof(double);
    if (bytes == 0) return SAP_DRIVER_OK;
    if (all->columns_host.mem && bytes > all->columns_host.bytes) TRY(d->stream_finish(h->stream));
    TRY(sap_gpu_reserve_pinned(d, h->device->dev, &all->columns_host, bytes));
    TRY(sap_gpu_reserve(d, h->device->dev, &all->columns, bytes));
    sap_batch_more_columns(w, n, all->columns_host.host);
    return d->copy_in(h->stream, all->columns.mem, 0, all->columns_host.host, bytes);
}

/* Updates the store's particles on the device, in their working form. */
static int bring_particles(struct sap_batch_work *w)
{
    struct sap_gpu_store *store = w->store;
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_share *h = &store->share[0];
    store->at = 0;
    if (!h->stream) TRY(d->stream_create(h->device->dev, &h->stream));
    if (!w->all->batches->ready) TRY(d->event_create(h->device->dev, &w->all->batches->ready));
    TRY(sap_gpu_store_update(store));
    const struct sap_gpu_force f = {.nj = w->host->upper,
                                    .superpackets = h->slots,
                                    .columns = store->set->columns,
                                    .units = store->set->units,
                                    .sums = store->set->sums};
    if (h->updates > 0) TRY(sap_gpu_store_send(store, h, NULL, 0));
    if (h->slots > 0 && !w->m->more) TRY(sap_gpu_store_predict(store, h, &f));
    w->in_order = slots_in_order(h);
    TRY(bring_kept(w));
    if (w->m->more) TRY(bring_columns(w));
    return d->event_record(w->all->batches->ready, h->stream);
}

static int run(struct sap_batch_work *w)
{
    if (w->resident) TRY(bring_particles(w));
    return run_slabs(w);
}

static void free_places(const struct sap_gpu_store *store, struct sap_gpu_places *all)
{
    const struct sap_driver *d = store->set->driver;
    for (int k = 0; k < all->n; k++) {
        struct sap_gpu_place *p = &all->place[k];
        struct sap_gpu_buffer *const buffers[] = {&p->host, &p->input, &p->out, &p->record, &p->marks};
        const int owns = stream_owner(store->set, all, p) == p;
        if (p->stream && owns) (void)d->stream_finish(p->stream); /* the owner of the stream comes first */
        for (int b = 0; b < COUNT(buffers); b++) sap_gpu_free(d, buffers[b]);
        if (p->done) d->event_destroy(p->done);
        free(p->spot);
    }
    if (all->columns_host.mem) (void)d->stream_finish(store->share[0].stream);
    sap_gpu_free(d, &all->columns);
    sap_gpu_free(d, &all->columns_host);
    for (int k = 0; k < all->n; k++)
        if (all->place[k].stream && stream_owner(store->set, all, &all->place[k]) == &all->place[k])
            d->stream_destroy(all->place[k].stream);
    free(all);
}

static void free_batches(struct sap_gpu_store *store, struct sap_gpu_attached *attached)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_batches *const b = (void *)attached;
    for (struct sap_gpu_places *all = b->first, *next; all; all = next) {
        next = all->next;
        free_places(store, all);
    }
    if (b->ready) d->event_destroy(b->ready);
    sap_gpu_free(d, &b->kept);
    free(b);
}

/* Returns slabs that no batch uses; NULL: no memory. */
static struct sap_gpu_places *take_places(struct sap_gpu_store *store)
{
    const int devices = store->set->n, n = PLACES * devices;
    struct sap_gpu_batches *b = sap_gpu_attached_by(store, free_batches);
    if (!b) {
        if (!(b = calloc(1, sizeof *b))) return NULL;
        sap_gpu_attach(store, &b->attached, free_batches);
    }
    struct sap_gpu_places *all = b->first;
    while (all && all->busy) all = all->next;
    if (all) return all;
    all = calloc(1, sizeof *all + (size_t)n * sizeof all->place[0]);
    if (!all) return NULL;
    all->batches = b;
    all->next = b->first;
    b->first = all;
    all->n = n;
    for (int k = 0; k < n; k++) all->place[k].device = k % devices;
    return all;
}

static struct sap_batch_work work_of(struct sap_gpu_store *store, const struct sap_jstore *host,
                                     const struct sap_batch *m)
{
    const struct sap_gpu_set *set = store->set;
    const struct sap_gpu_geometry *g = &set->device[0].kernels->geometry;
    struct sap_batch_work w = {.store = store,
                               .host = host,
                               .m = m,
                               .low = set->precision == SAPPORO_DS,
                               .floats = m->more && set->precision != SAPPORO_DP};
    w.target_bytes = (size_t)SAP_GPU_TARGET_WORDS(w.low) * set->word;
    w.rows = g->lanes > 1 ? g->lanes : 32 * SAP_GPU_TARGETS;
    w.soft = m->soft_own || (m->by_address > 0 && host->soft > 0);
    w.bytes =
        (double)(m->by_address + 4 * m->own) * (double)sizeof(float) + (double)m->targets * (double)w.target_bytes;
    w.resident = m->by_address > 0 && set->n == 1; /* of several devices, none has all particles */
    w.source_bytes = w.soft ? set->working : (size_t)SAP_GPU_TARGET_WORDS(w.low) * set->word;
    w.sums = SUMS;
    if (m->more) sap_batch_more_plan(&w);
    return w;
}

/* Waits for the work of a batch that is in flight. */
static void halt(const struct sap_gpu_store *store, struct sap_gpu_places *all)
{
    for (int k = 0; k < all->n; k++) {
        struct sap_gpu_place *p = &all->place[k];
        if (p->stream && p->under_way) (void)store->set->driver->stream_finish(p->stream);
        p->under_way = 0;
    }
}

/* Changes of the store wait for the slabs in flight, which read the sources on the device. */
static int order_changes(const struct sap_batch_work *w)
{
    const struct sap_driver *d = w->store->set->driver;
    w->store->at = 0;
    for (int k = w->waited; k < w->started && w->resident; k++)
        TRY(d->stream_wait(w->store->share[0].stream, place_of(w, k)->done));
    return SAP_DRIVER_OK;
}

/* Ends a call on a batch; returns its sapporo_status. */
static int judge(struct sap_gpu_places *all, int status)
{
    struct sap_gpu_store *const store = all->work.store;
    if (!status) return all->work.partial ? SAPPORO_PARTIAL : SAPPORO_OK;
    if (all->work.faulty) {
        halt(store, all);
        return SAPPORO_ERR_ARGUMENT;
    }
    const int judged = sap_gpu_judge(store, status);
    halt(store, all);
    all->batches->kept_number = 0;
    return judged;
}

/* Computes a batch; leave: only until all slabs have started. */
static int compute(struct sap_gpu_store *store, const struct sap_jstore *host, const struct sap_batch *m, int leave,
                   struct sap_gpu_places **of)
{
    store->words[0] = '\0';
    if (sap_gpu_refuse_lost(store)) return SAPPORO_ERR_DEVICE;
    struct sap_gpu_places *const all = *of = take_places(store);
    if (!all) return SAPPORO_ERR_MEMORY;
    all->work = work_of(store, host, m);
    all->work.all = all;
    all->work.leave = leave;
    int status = run(&all->work);
    if (!status && leave) status = order_changes(&all->work);
    return judge(all, status);
}

int sap_gpu_batch(struct sap_gpu_store *store, const struct sap_jstore *host, const struct sap_batch *m)
{
    struct sap_gpu_places *all;
    return compute(store, host, m, 0, &all);
}

int sap_gpu_batch_begin(struct sap_gpu_store *store, const struct sap_jstore *host, const struct sap_batch *m,
                        struct sap_gpu_places **flight)
{
    const int status = compute(store, host, m, 1, flight);
    if (status < 0)
        *flight = NULL;
    else
        (*flight)->busy = 1;
    return status;
}

int sap_gpu_batch_done(const struct sap_gpu_places *all)
{
    const struct sap_batch_work *const w = &all->work;
    for (int k = w->waited; k < w->started; k++)
        if (w->store->set->driver->event_query(place_of(w, k)->done) == SAP_DRIVER_PENDING) return 0;
    return 1;
}

int sap_gpu_batch_end(struct sap_gpu_places *all)
{
    struct sap_batch_work *const w = &all->work;
    w->store->words[0] = '\0';
    if (sap_gpu_refuse_lost(w->store)) return SAPPORO_ERR_DEVICE;
    w->leave = 0;
    return judge(all, run_steps(w, (struct sap_batch_step){-1, -1, w->waited == w->planned}));
}

void sap_gpu_batch_drop(struct sap_gpu_places *all)
{
    halt(all->work.store, all);
    all->busy = 0;
}
