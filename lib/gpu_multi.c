/*
 * gpu_multi.c - many small forces on accelerators: lists go in slabs, which are copied while others are computed.
 *
 * Threads of the host fill pinned memory with targets and sources in the
 * working type; sources by address are named by their place in the device's
 * store.  Each slab has a stream: the next one is filled and travels
 * meanwhile, and the results of the one before it are handed out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "finite.h"
#include "fpenv.h"
#include "gpu_launch.h"
#include "structs.h"
#include "threads.h"

enum {
    PLACES = 3,             /* slabs under way on a device */
    SLAB_BYTES = 3 << 20,   /* of a slab's input, about */
    SLAB_ROWS = 1 << 17,    /* targets of a slab at most */
    RECORDS = 4 << 20,      /* doubles of records of a slab, about */
    THREAD_BYTES = 1 << 15, /* of input for which another thread is worth waking */
    SUPER = SAP_GPU_SUPERPACKET,
    SUMS = SAP_GPU_LONG_SUMS
};

/* Some targets of a list, and where they and its sources are in a slab. */
struct spot {
    int list, from, n;
    int row, item, longs, source, record;
};

/* A slab, and memory that the next ones use again. */
struct sap_gpu_place {
    int device;
    struct sap_stream *stream; /* its own, but for that of the device's first place where streams work in turn */
    struct sap_event *done;
    struct sap_gpu_buffer host, input, out, record;
    struct spot *spot;
    int spots, room;
    int under_way;
    int items, longs, rows, sources, addresses, records; /* of the slab so far */
    struct sap_gpu_multi layout;
};

struct sap_gpu_places {
    struct sap_event *ready; /* particles of the store are as they shall be */
    int n;
    struct sap_gpu_place place[];
};

/* What is asked, for all slabs. */
struct work {
    struct sap_store *store;
    const struct sap_jstore *host;
    const struct sap_multi *m;
    int rows;     /* of an item */
    int soft;     /* some source has softening of its own */
    int resident; /* sources by address are read from the device's store */
    int in_order; /* there every superpacket is where its number says */
    int low;      /* positions have a second word */
    size_t target_bytes, source_bytes;
    int list, from; /* what comes next */
    int partial;    /* some target is not finite */
};

/* ------------------------------------------------------------------- words */

static double value(const sapporo_column *column, int k)
{
    double x = 0;
    if (column->base) memcpy(&x, sap_column_at(column, k, sizeof x), sizeof x);
    return x;
}

static int is_finite(const double *x)
{
    return !carried(carries(pair_of(x[0], x[1]), if_not_finite) | carries(pair_of(x[2], 0), if_not_finite));
}

/* Position, a fourth word, and what is left of the position; as pack() of lib/device/working.h makes them. */
static inline void put_words(const struct work *w, void *to, const double *x, double fourth)
{
    if (w->store->set->word == sizeof(double)) {
        const double words[4] = {x[0], x[1], x[2], fourth};
        memcpy(to, words, sizeof words);
        return;
    }
    float words[8] = {(float)x[0], (float)x[1], (float)x[2], (float)fourth};
    for (int k = 0; k < 3 && w->low; k++) words[4 + k] = (float)(x[k] - (double)words[k]);
    memcpy(to, words, w->low ? sizeof words : sizeof words / 2);
}

/* A source; `soft`: with the words behind, which are its index, of no use here, and its squared softening. */
static inline void put_source(const struct work *w, char *to, const double *x, double mass, double eps2)
{
    const size_t at = (size_t)SAP_GPU_AT_EPS2(w->low) * w->store->set->word;
    const float narrow = (float)eps2;
    /* of a place that is not finite NaN is made, as predict_one() of lib/device/working.h does */
    put_words(w, to, x, ((mass + (x[0] - x[0])) + (x[1] - x[1])) + (x[2] - x[2]));
    if (!w->soft) return;
    memset(to + at - w->store->set->word, 0, w->source_bytes - at + w->store->set->word);
    if (w->store->set->word == sizeof(double))
        memcpy(to + at, &eps2, sizeof eps2);
    else
        memcpy(to + at, &narrow, sizeof narrow);
}

/* ------------------------------------------------------------------- slabs */

static int superpackets_of(const sapporo_list *l) { return l->nj > SUPER ? (l->nj + SUPER - 1) / SUPER : 1; }
static int blocks_of(const struct work *w, int n) { return (n + w->rows - 1) / w->rows; }
static int by_address(const struct work *w, const sapporo_list *l) { return l->address && w->resident; }

/* Sections of the input, each from a multiple of 16 bytes on; returns where they end. */
static size_t lay_out(const struct work *w, struct sap_gpu_place *p)
{
    const size_t sizes[] = {(size_t)p->items * sizeof(struct sap_gpu_item),
                            (size_t)p->longs * sizeof(struct sap_gpu_long), (size_t)p->rows * w->target_bytes,
                            (size_t)p->sources * w->source_bytes, (size_t)p->addresses * sizeof(int)};
    int *const begin[] = {&p->layout.longs, &p->layout.i, &p->layout.j, &p->layout.index};
    size_t at = 0;
    for (int k = 0; k < COUNT(sizes); k++) {
        if (k > 0) *begin[k - 1] = (int)(at / 16);
        at += (sizes[k] + 15) / 16 * 16;
    }
    p->layout.out_rows = p->rows;
    return at;
}

/* Targets of a list that a slab takes at a time: records of a long one need room. */
static int most_targets(const struct work *w, const sapporo_list *l)
{
    const int fit = RECORDS / (superpackets_of(l) * SUMS) / w->rows * w->rows;
    return superpackets_of(l) == 1 ? SLAB_ROWS : fit > w->rows ? fit : w->rows;
}

static int add_spot(const struct work *w, struct sap_gpu_place *p, const sapporo_list *l)
{
    const int superpackets = superpackets_of(l), left = l->ni - w->from, most = most_targets(w, l);
    const int n = left < most ? left : most, blocks = blocks_of(w, n), is_long = superpackets > 1;
    if (p->spots == p->room) {
        struct spot *more = realloc(p->spot, (size_t)(2 * p->room + 256) * sizeof *more);
        if (!more) return -1;
        p->spot = more;
        p->room = 2 * p->room + 256;
    }
    p->spot[p->spots++] = (struct spot){.list = w->list,
                                        .from = w->from,
                                        .n = n,
                                        .row = p->rows,
                                        .item = p->items,
                                        .longs = p->longs,
                                        .source = by_address(w, l) ? p->addresses : p->sources,
                                        .record = p->records};
    p->rows += n;
    p->items += superpackets * blocks;
    p->longs += is_long ? blocks : 0;
    p->records += is_long ? superpackets * SUMS * n : 0;
    *(by_address(w, l) ? &p->addresses : &p->sources) += l->nj;
    return n;
}

/* The next lists, as many as a slab takes, at least some targets of one; -1: out of memory. */
static int plan(struct work *w, struct sap_gpu_place *p)
{
    p->spots = p->items = p->longs = p->rows = p->sources = p->addresses = p->records = 0;
    while (w->list < w->m->nlists && p->rows < SLAB_ROWS && p->records < RECORDS && lay_out(w, p) < SLAB_BYTES) {
        const sapporo_list *const l = sap_multi_list(w->m, w->list);
        const int n = w->from < l->ni ? add_spot(w, p, l) : 0;
        if (n < 0) return -1;
        w->from += n;
        if (w->from >= l->ni) w->list++, w->from = 0;
    }
    return 0;
}

/* ----------------------------------------------------------------- filling */

enum { BAD = 1, ZERO = 2 }; /* what targets have shown: some are not finite, some have no softening */

static int fill_targets(const struct work *w, const struct spot *s, const sapporo_list *l, char *to)
{
    int found = 0;
    for (int k = 0; k < s->n; k++, to += w->target_bytes) {
        double x[3];
        const double eps2 = l->eps2 + value(&l->eps2_i, s->from + k);
        memcpy(x, sap_column_at(&l->x, s->from + k, sizeof x), sizeof x);
        if (eps2 < SAP_TINY_R2) found |= ZERO;
        if (!is_finite(x)) {
            found |= BAD;
            x[0] = x[1] = x[2] = SAP_EMPTY_X / 2;
        }
        put_words(w, to, x, eps2);
    }
    return found;
}

/* Sources of a list's own, or by address out of the host's copy. */
static void fill_sources(const struct work *w, const sapporo_list *l, char *to)
{
    for (int k = 0; k < l->nj; k++, to += w->source_bytes) {
        double x[3];
        if (l->address) {
            const struct sap_segment *s = sap_jstore_segment(w->host, l->address[k]);
            const unsigned at = (unsigned)l->address[k] % SAP_SEGMENT;
            const double *const from = s->derivative[0] + sap_jstore_offset(at);
            for (int axis = 0; axis < 3; axis++) x[axis] = from[(ptrdiff_t)axis * SAP_CPU_LANES];
            put_source(w, to, x, s->mass[at], s->eps2 ? s->eps2[at] : 0);
            continue;
        }
        memcpy(x, sap_column_at(&l->x_j, k, sizeof x), sizeof x);
        put_source(w, to, x, value(&l->mass_j, k), value(&l->eps2_j, k));
    }
}

static void fill_addresses(const struct work *w, const sapporo_list *l, int *to)
{
    const int *const slot_of = w->store->share[0].slot_of;
    if (w->in_order) { /* as after a first load: each superpacket has its own place */
        memcpy(to, l->address, (size_t)l->nj * sizeof *to);
        return;
    }
    for (int k = 0; k < l->nj; k++) {
        const unsigned a = (unsigned)l->address[k];
        to[k] = slot_of[a / SUPER] * SUPER + (int)(a % SUPER);
    }
}

static void fill_items(const struct work *w, const struct spot *s, const sapporo_list *l, struct sap_gpu_item *item,
                       struct sap_gpu_long *longs)
{
    const int superpackets = superpackets_of(l);
    for (int from = 0; from < s->n; from += w->rows) {
        const int n = s->n - from < w->rows ? s->n - from : w->rows, record = s->record + from;
        for (int sp = 0; sp < superpackets; sp++)
            *item++ = (struct sap_gpu_item){.i = s->row + from,
                                            .n = n,
                                            .j = s->source + sp * SUPER,
                                            .nj = l->nj - sp * SUPER < SUPER ? l->nj - sp * SUPER : SUPER,
                                            .indexed = by_address(w, l),
                                            .lone = superpackets == 1,
                                            .row = superpackets == 1 ? s->row + from : record + sp * SUMS * s->n,
                                            .pitch = s->n};
        if (superpackets > 1)
            *longs++ = (struct sap_gpu_long){
                .record = record, .pitch = s->n, .superpackets = superpackets, .row = s->row + from, .n = n};
    }
}

static int fill_spot(const struct work *w, const struct sap_gpu_place *p, const struct spot *s)
{
    const sapporo_list *const l = sap_multi_list(w->m, s->list);
    char *const to = p->host.host;
    struct sap_gpu_item *const items = p->host.host;
    struct sap_gpu_long *const longs = (struct sap_gpu_long *)(void *)(to + (size_t)p->layout.longs * 16);
    int *const index = (int *)(void *)(to + (size_t)p->layout.index * 16);
    fill_items(w, s, l, items + s->item, longs + s->longs);
    if (by_address(w, l))
        fill_addresses(w, l, index + s->source);
    else
        fill_sources(w, l, to + (size_t)p->layout.j * 16 + (size_t)s->source * w->source_bytes);
    return fill_targets(w, s, l, to + (size_t)p->layout.i * 16 + (size_t)s->row * w->target_bytes);
}

static int threads_for(size_t bytes)
{
    const size_t wanted = bytes / THREAD_BYTES + 1;
    const int most = sap_threads_default();
    return sap_threads_now(wanted < (size_t)most ? (int)wanted : most);
}

/* By threads, each of which takes some lists at a time; returns BAD and ZERO. */
static int fill(const struct work *w, const struct sap_gpu_place *p, size_t bytes)
{
    const int threads = threads_for(bytes);
    int found = 0;
    (void)threads; /* without OpenMP */
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : found)
    {
        const sap_fpenv caller = sap_fp_enter();
#pragma omp for schedule(dynamic, 4)
        for (int k = 0; k < p->spots; k++) found |= fill_spot(w, p, &p->spot[k]);
        sap_fp_leave(caller);
    }
    return found;
}

/* ---------------------------------------------------------------- launching */

/* Whose stream a place has. */
static struct sap_gpu_place *stream_owner(const struct sap_store *store, struct sap_gpu_place *p)
{
    return store->set->device[p->device].properties.in_turn ? &store->places->place[p->device] : p;
}

static int reserve_place(const struct work *w, struct sap_gpu_place *p, size_t bytes)
{
    const struct sap_driver *d = w->store->set->driver;
    struct sap_dev *dev = w->store->share[p->device].device->dev;
    struct sap_gpu_place *const owner = stream_owner(w->store, p);
    if (!owner->stream) TRY(d->stream_create(dev, &owner->stream));
    p->stream = owner->stream;
    if (!p->done) TRY(d->event_create(dev, &p->done));
    TRY(sap_gpu_reserve_pinned(d, dev, &p->host, bytes));
    TRY(sap_gpu_reserve_pinned(d, dev, &p->out, (size_t)p->rows * SUMS * sizeof(double)));
    TRY(sap_gpu_reserve(d, dev, &p->input, bytes));
    return sap_gpu_reserve(d, dev, &p->record, (size_t)p->records * sizeof(double) + 1);
}

static int launch(const struct work *w, struct sap_gpu_place *p, struct sap_function *f, int groups, int threads,
                  const struct sap_argument *a, int n)
{
    const struct sap_launch launch = {{(unsigned)groups, 1, 1}, (unsigned)threads, 0, a, n};
    return w->store->set->driver->launch(p->stream, f, &launch);
}

static int start_slab(struct work *w, struct sap_gpu_place *p)
{
    const struct sap_driver *d = w->store->set->driver;
    const struct sap_gpu_share *h = &w->store->share[p->device];
    const struct sap_gpu_kernels *k = h->device->kernels;
    const size_t bytes = lay_out(w, p), results = (size_t)p->rows * SUMS * sizeof(double);
    const struct sap_argument pairs[] = {MEM(h->predicted), MEM(p->input), MEM(p->record), MEM(p->out),
                                         VALUE(p->layout)};
    const struct sap_argument longs[] = {MEM(p->record), MEM(p->input), MEM(p->out), VALUE(p->layout)};
    const int found = fill(w, p, bytes), mode = w->soft ? 2 : found & ZERO ? 1 : 0;
    w->partial |= found & BAD;
    TRY(d->copy_in(p->stream, p->input.mem, 0, p->host.host, bytes));
    if (w->resident) TRY(d->stream_wait(p->stream, w->store->places->ready));
    TRY(launch(w, p, k->multi[mode], p->items, k->geometry.lanes > 1 ? 1 : 32, pairs, COUNT(pairs)));
    if (p->longs > 0) TRY(launch(w, p, k->longs, p->longs, 128, longs, COUNT(longs)));
    if (d->pinned_to_host) TRY(d->pinned_to_host(p->stream, p->out.mem, 0, results));
    return d->event_record(p->done, p->stream);
}

/* Plans, reserves and starts the next slab. */
static int next_slab(struct work *w, struct sap_gpu_place *p)
{
    w->store->at = p->device;
    if (plan(w, p)) return sap_gpu_refuse(w->store, SAP_DRIVER_MEMORY, "no memory of the host for lists");
    if (p->rows == 0) return SAP_DRIVER_OK;
    TRY(reserve_place(w, p, lay_out(w, p)));
    p->under_way = 1;
    return start_slab(w, p);
}

/* ----------------------------------------------------------------- results */

static void write_rows(const struct work *w, const struct sap_gpu_place *p, const struct spot *s)
{
    const sapporo_list *const l = sap_multi_list(w->m, s->list);
    const sapporo_result *const r = sap_multi_result(w->m, s->list);
    const double *const out = (const double *)p->out.host + s->row;
    for (int k = 0; k < s->n; k++) {
        const int i = s->from + k;
        double x[3];
        memcpy(x, sap_column_at(&l->x, i, sizeof x), sizeof x);
        const int good = is_finite(x);
        if (r->pot) r->pot[i] = good ? out[k] : NAN;
        for (int c = 0; c < 3 && r->acc; c++)
            r->acc[i][c] = good ? out[(size_t)(1 + c) * (size_t)p->rows + (size_t)k] : NAN;
    }
}

/* Waits for a slab and hands out its results. */
static int finish_slab(struct work *w, struct sap_gpu_place *p)
{
    if (!p->under_way) return SAP_DRIVER_OK;
    w->store->at = p->device;
    TRY(w->store->set->driver->event_wait(p->done));
    p->under_way = 0;
    const int threads = threads_for((size_t)p->rows * SUMS * sizeof(double));
    (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int k = 0; k < p->spots; k++) write_rows(w, p, &p->spot[k]);
    return SAP_DRIVER_OK;
}

/* --------------------------------------------------------------------- all */

/* Particles of the store as they are now, in their working form. */
static int bring_particles(struct work *w)
{
    struct sap_store *store = w->store;
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_share *h = &store->share[0];
    store->at = 0;
    if (!h->stream) TRY(d->stream_create(h->device->dev, &h->stream));
    if (!store->places->ready) TRY(d->event_create(h->device->dev, &store->places->ready));
    TRY(sap_gpu_store_update(store));
    const struct sap_gpu_force f = {.nj = w->host->upper,
                                    .superpackets = h->slots,
                                    .columns = store->set->columns,
                                    .units = store->set->units,
                                    .sums = store->set->sums};
    if (h->updates > 0) TRY(sap_gpu_store_send(store, h, NULL, 0));
    if (h->slots > 0) TRY(sap_gpu_store_predict(store, h, &f));
    return d->event_record(store->places->ready, h->stream);
}

static int slots_in_order(const struct sap_gpu_share *h)
{
    for (int k = 0; k < h->slots; k++)
        if (h->number[k] != k) return 0;
    return 1;
}

static int run(struct work *w)
{
    struct sap_gpu_places *all = w->store->places;
    int k = 0;
    if (w->resident) TRY(bring_particles(w));
    w->in_order = w->resident && slots_in_order(&w->store->share[0]);
    for (; w->list < w->m->nlists; k = (k + 1) % all->n) {
        TRY(finish_slab(w, &all->place[k]));
        TRY(next_slab(w, &all->place[k]));
    }
    for (int n = 0; n < all->n; n++, k = (k + 1) % all->n) TRY(finish_slab(w, &all->place[k]));
    return SAP_DRIVER_OK;
}

static struct sap_gpu_places *new_places(int devices)
{
    const int n = PLACES * devices;
    struct sap_gpu_places *all = calloc(1, sizeof *all + (size_t)n * sizeof all->place[0]);
    if (!all) return NULL;
    all->n = n;
    for (int k = 0; k < n; k++) all->place[k].device = k % devices;
    return all;
}

static struct work work_of(struct sap_store *store, const struct sap_jstore *host, const struct sap_multi *m)
{
    const struct sap_device_set *set = store->set;
    const struct sap_gpu_geometry *g = &set->device[0].kernels->geometry;
    struct work w = {.store = store, .host = host, .m = m, .low = set->precision == SAPPORO_DS};
    int addresses = 0;
    w.rows = g->lanes > 1 ? g->lanes : 32 * SAP_GPU_TARGETS;
    for (int k = 0; k < m->nlists; k++) {
        const sapporo_list *const l = sap_multi_list(m, k);
        addresses |= l->address && l->nj > 0;
        w.soft |= l->address ? host->soft > 0 : l->eps2_j.base != NULL;
    }
    w.resident = addresses && set->n == 1; /* of several devices none has all of them */
    w.target_bytes = (size_t)SAP_GPU_TARGET_WORDS(w.low) * set->word;
    w.source_bytes = w.soft ? set->working : (size_t)SAP_GPU_TARGET_WORDS(w.low) * set->word;
    return w;
}

/* Waits for what a failure has left under way. */
static void halt(struct sap_store *store)
{
    for (int k = 0; k < store->places->n; k++) {
        struct sap_gpu_place *p = &store->places->place[k];
        if (p->stream && p->under_way) (void)store->set->driver->stream_finish(p->stream);
        p->under_way = 0;
    }
}

int sap_gpu_multi(struct sap_store *store, const struct sap_jstore *host, const struct sap_multi *m)
{
    store->words[0] = '\0';
    if (store->broken) return sap_gpu_refuse(store, SAPPORO_ERR_DEVICE, "a device was lost: close, and open again");
    if (!store->places && !(store->places = new_places(store->set->n))) return SAPPORO_ERR_MEMORY;
    struct work w = work_of(store, host, m);
    const int status = run(&w);
    if (!status) return w.partial ? SAPPORO_PARTIAL : SAPPORO_OK;
    const int judged = sap_gpu_judge(store, status);
    halt(store);
    return judged;
}

void sap_gpu_multi_free(struct sap_store *store)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_places *all = store->places;
    if (!all) return;
    for (int k = 0; k < all->n; k++) {
        struct sap_gpu_place *p = &all->place[k];
        struct sap_gpu_buffer *const buffers[] = {&p->host, &p->input, &p->out, &p->record};
        const int owns = stream_owner(store, p) == p;
        if (p->stream && owns) (void)d->stream_finish(p->stream); /* the owner comes first */
        for (int b = 0; b < COUNT(buffers); b++) sap_gpu_free(d, buffers[b]);
        if (p->done) d->event_destroy(p->done);
        free(p->spot);
    }
    for (int k = 0; k < all->n; k++)
        if (all->place[k].stream && stream_owner(store, &all->place[k]) == &all->place[k])
            d->stream_destroy(all->place[k].stream);
    if (all->ready) d->event_destroy(all->ready);
    free(all);
    store->places = NULL;
}
