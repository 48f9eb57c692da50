/*
 * gpu_lists.c - neighbour lists on accelerators: buffers, launches, and copies of the results.
 *
 * The lengths of the lists are known only when the lists are complete, and a force does not wait for them when it
 * begins. So a buffer is as long as similar forces needed, and somewhat longer. Kernels count all entries and write
 * the entries that fit. If a list overflows, the host sees this from the counters. It then launches the force again
 * with longer buffers, for the lists alone.
 */
#include "gpu/gpu_lists.h"

#include <float.h>
#include <limits.h>

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/engine.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_force.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_modes.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_store.h"
#include "physics/arithmetic.h"

enum {
    HITS_A_ROW = 96, /* candidates, and units, per row of a force without similar predecessor */
    UNITS_A_ROW = 12,
    HITS_LEAST = 1 << 16,
    UNITS_LEAST = 1 << 11,
    UNIT = SAP_GPU_LIST_UNIT * (int)sizeof(int32_t), /* bytes */
    SORT_THREADS = 128,
    FILL_THREADS = 128,
    FILL_GROUPS = 16, /* per unit */
    AHEAD = 12        /* lists that are prefetched: reading one takes 20 ns, a cache miss ten times that */
};

/* -------------------------------------------------------------------- room */

static struct sap_gpu_need *need_of(struct sap_gpu_sums *h, int ni)
{
    int size = 0;
    while (size < SAP_GPU_SIZES - 1 && ni >> (size + 1) > 0) size++;
    return &h->lists.need[size];
}

/* Returns the buffer length for `rows` rows, if `last_rows` rows needed `last`; `a_row` per row if last_rows is 0. */
static size_t room_for(int rows, size_t a_row, size_t least, double last, int last_rows)
{
    return (last_rows > 0 ? (size_t)(last / last_rows * rows * 1.125) : (size_t)rows * a_row) + least;
}

/* Grows a buffer. No device may use it. */
static int grow(const struct sap_gpu_slab *s, struct sap_gpu_buffer *b, size_t bytes, int pinned)
{
    const struct sap_driver *d = s->set->driver;
    struct sap_dev *dev = s->device->dev;
    if (bytes <= b->bytes) return SAP_DRIVER_OK;
    if (b->bytes > 0) TRY(d->stream_finish(s->stream));
    return pinned ? sap_gpu_reserve_pinned(d, dev, b, bytes) : sap_gpu_reserve(d, dev, b, bytes);
}

static int room_of(const struct sap_gpu_buffer *b, size_t size, int most)
{
    return b->bytes / size < (size_t)most ? (int)(b->bytes / size) : most;
}

int sap_gpu_lists_open(struct sap_gpu_slab *s, int ni)
{
    struct sap_gpu_sums *h = s->sums;
    struct sap_gpu_part *p = s->part;
    const struct sap_gpu_need *need = need_of(h, ni);
    const struct sap_driver *d = s->set->driver;
    const int rows = s->f.room_i;
    const size_t n = (size_t)rows + 1, all = (size_t)ni * sizeof(struct sap_gpu_list_row);
    const size_t units = room_for(ni, UNITS_A_ROW, UNITS_LEAST, need->units, need->ni);
    const size_t hits = room_for(rows, HITS_A_ROW, HITS_LEAST, need->hits, need->rows);
    const size_t entries = room_for(rows, UNITS_A_ROW, UNITS_LEAST, need->most, need->rows);
    if (n * sizeof(int) > h->lists.hit_count.bytes) h->lists.counted = 0;
    TRY(grow(s, &h->lists.hit_count, n * sizeof(int), 0));
    TRY(grow(s, &h->lists.offset, n * sizeof(int), 0));
    TRY(grow(s, &h->lists.cursor, 2 * n * SAP_GPU_CURSOR * sizeof(int), 0));
    TRY(grow(s, &h->lists.hit, hits * sizeof(struct sap_gpu_hit), 0));
    TRY(grow(s, &h->lists.entry, entries * UNIT, 0));
    TRY(grow(s, &p->list_rows, all, 1));
    TRY(grow(s, &p->list_entries, units * UNIT, 1));
    p->slab_rows = rows;
    p->hit_room = s->f.hit_room = room_of(&h->lists.hit, sizeof(struct sap_gpu_hit), INT_MAX);
    p->entry_room = room_of(&h->lists.entry, UNIT, SAP_GPU_LIST_UNITS);
    p->list_room = room_of(&p->list_entries, UNIT, SAP_GPU_LIST_UNITS);
    /* every unit of the buffer is copied to the host, so a longer one costs time */
    if (d->pinned_to_host && units < (size_t)p->list_room) p->list_room = (int)units;
    return h->lists.counted ? (int)SAP_DRIVER_OK
                            : d->fill(s->stream, h->lists.hit_count.mem, 0, 0, h->lists.hit_count.bytes);
}

/* ---------------------------------------------------------------- launches */

struct sap_gpu_outside sap_gpu_outside_of(const struct sap_gpu_slab *s)
{
    const double coincident = s->set->precision == SAPPORO_DP ? DBL_MIN : SAP_TINY_R2;
    return (struct sap_gpu_outside){.coincident = coincident, .by_mass = s->by_mass, .first_i = s->f.first_i};
}

int sap_gpu_lists_fill(struct sap_gpu_slab *s, int ni)
{
    const struct sap_driver *d = s->set->driver;
    const struct sap_gpu_sums *const h = s->sums;
    const struct sap_gpu_list_memory *const l = &h->lists;
    const struct sap_gpu_part *p = s->part;
    const struct sap_gpu_kernels *k = s->device->kernels;
    const int last = s->f.first_i + s->f.ni == ni;
    const int fill_groups = s->device->properties.units * FILL_GROUPS;
    const struct sap_gpu_grid one = {.stream = s->stream, .driver = d, .groups = {1, 1}, .threads = k->geometry.scan};
    const struct sap_gpu_grid grid = {.stream = s->stream,
                                      .driver = d,
                                      .groups = {fill_groups > 0 ? (unsigned)fill_groups : 1, 1},
                                      .threads = FILL_THREADS};
    TRY(sap_direct_list_offsets(&one, k->offsets, l->hit_count.mem, l->offset.mem, l->cursor.mem, h->counters.mem,
                                s->f.ni, p->counters.mem, last));
    if (!s->outside)
        return sap_direct_list_fill(&grid, k->fill, s->j, s->i, l->hit.mem, l->offset.mem, l->cursor.mem, l->entry.mem,
                                    h->counters.mem, p->entry_room, s->f);
    return sap_direct_list_fill_outside(&grid, k->fill_outside, s->j, s->i, l->hit.mem, l->offset.mem, l->cursor.mem,
                                        l->entry.mem, h->counters.mem, p->entry_room, s->f, sap_gpu_outside_of(s));
}

int sap_gpu_lists_sort(struct sap_gpu_slab *s)
{
    const struct sap_gpu_sums *h = s->sums;
    const struct sap_gpu_part *p = s->part;
    const struct sap_gpu_grid grid = {.stream = s->stream,
                                      .driver = s->set->driver,
                                      .groups = {sap_gpu_sort_groups(s->f.ni), 1},
                                      .threads = SORT_THREADS};
    return sap_direct_list_sort(&grid, s->device->kernels->sort, h->lists.offset.mem, h->lists.cursor.mem,
                                h->lists.entry.mem, h->counters.mem, p->list_rows.mem, p->list_entries.mem,
                                s->f.first_i, p->entry_room, p->list_room, s->f.ni);
}

int sap_gpu_lists_close(struct sap_gpu_slab *s, int ni)
{
    const struct sap_driver *d = s->set->driver;
    struct sap_gpu_sums *h = s->sums;
    struct sap_gpu_part *p = s->part;
    h->lists.counted = 1;
    TRY(sap_gpu_to_host(s->stream, d, p->counters.mem, 0, sizeof(struct sap_gpu_counters)));
    TRY(sap_gpu_to_host(s->stream, d, p->list_rows.mem, 0, (size_t)ni * sizeof(struct sap_gpu_list_row)));
    return sap_gpu_to_host(s->stream, d, p->list_entries.mem, 0, (size_t)p->list_room * UNIT);
}

/* ---------------------------------------------------------- after a launch */

void sap_gpu_lists_forget(struct sap_gpu_host_force *f)
{
    struct sap_gpu_host_force **at = &f->store->listing;
    if (!f->listing) return;
    while (*at && *at != f) at = &(*at)->next_listing;
    if (*at) *at = f->next_listing;
    f->listing = 0;
}

void sap_gpu_lists_expect(struct sap_gpu_host_force *f)
{
    f->no_lists = SAPPORO_OK;
    f->is_joined = 0;
    if (f->listing) return;
    f->listing = 1;
    f->next_listing = f->store->listing;
    f->store->listing = f;
}

/*
 * Sets *fits to whether all lists of a device fit, and notes the lengths for the next force; a driver status if no
 * buffer can be long enough.
 */
static int judge_room(struct sap_gpu_host_force *f, int k, int *fits)
{
    const struct sap_gpu_part *p = &f->part[k];
    const struct sap_gpu_counters *c = p->counters.host;
    *fits = 1;
    if (f->superpackets[k] == 0) return SAP_DRIVER_OK;
    f->store->at = k;
    if (c->total > SAP_GPU_LIST_UNITS || c->most_hits > INT_MAX)
        return sap_gpu_refuse(f->store, SAP_DRIVER_MEMORY, "more than 2^33 neighbours of one part of a force");
    *need_of(&f->store->share[k].sums, f->request.ni) = (struct sap_gpu_need){
        .ni = f->request.ni, .rows = p->slab_rows, .units = c->total, .most = c->most, .hits = c->most_hits};
    *fits = (int)c->most_hits <= p->hit_room && c->most <= p->entry_room && c->total <= p->list_room;
    return SAP_DRIVER_OK;
}

void sap_gpu_lists_review(struct sap_gpu_host_force *f)
{
    const int outside = sap_gpu_outside(&f->request, f->have);
    int status = SAP_DRIVER_OK, all_fit = 1;
    for (int k = 0; k < f->set->n && !status; k++) {
        int fits;
        status = judge_room(f, k, &fits);
        if (!status && !fits && !outside) status = sap_gpu_launch_again(f, k);
        all_fit &= fits;
    }
    /* regular force: the sums lack candidates */
    if (!status && !all_fit && outside) status = sap_gpu_launch_all_again(f);
    if (status) {
        f->no_lists = sap_gpu_judge(f->store, status);
        if (outside) f->failed = f->no_lists;
        sap_gpu_halt(f->store);
    }
    if (status || all_fit) sap_gpu_lists_forget(f);
}

void sap_gpu_lists_settle(struct sap_gpu_host_force *f)
{
    while (f->listing) {
        int status = SAP_DRIVER_OK;
        for (int k = 0; k < f->set->n && !status; k++) {
            f->store->at = k;
            status = f->set->driver->event_wait(f->part[k].done);
        }
        if (!status) {
            sap_gpu_lists_review(f);
            continue;
        }
        f->failed = sap_gpu_judge(f->store, status);
        sap_gpu_lists_forget(f);
    }
}

void sap_gpu_lists_settle_all(struct sap_gpu_store *store)
{
    while (store->listing) sap_gpu_lists_settle(store->listing);
}

/* ---------------------------------------------------------------- delivery */

/* Prefetches lists: the caller reads them one after the other, and the device has written their memory. */
static void fetch_later(const struct sap_gpu_part *p, int later)
{
    const struct sap_gpu_list_row *const row = (const struct sap_gpu_list_row *)p->list_rows.host + later;
    const char *const at = (const char *)p->list_entries.host + (size_t)row->first * UNIT;
    for (int line = 0; line < 4; line++) __builtin_prefetch(at + line * 64);
}

/* Returns the list of i once the lists of all devices are complete. */
static int deliver(struct sap_gpu_host_force *f, int i, struct sap_gpu_run *list)
{
    const struct sap_gpu_part *p = &f->part[0];
    if (f->set->n > 1) {
        const int status = sap_gpu_join_lists(f);
        if (!status) *list = sap_gpu_joined_list(f, i);
        return status;
    }
    if (f->superpackets[0] == 0) return SAPPORO_OK;
    if (i + AHEAD < f->request.ni) fetch_later(p, i + AHEAD);
    *list = sap_gpu_list_of(p, i);
    return SAPPORO_OK;
}

int sap_gpu_list(struct sap_gpu_host_force *f, int i, const int32_t **entries, int *n)
{
    struct sap_gpu_run list = {NULL, 0};
    f->store->words[0] = '\0';
    if (f->listing) sap_gpu_lists_settle(f);
    int status = SAPPORO_OK;
    if (f->failed || f->no_lists)
        status = sap_gpu_refuse(f->store, f->failed ? f->failed : f->no_lists, "the force has failed before");
    else if (!(f->have & SAP_EXTRA_LISTS))
        status = SAPPORO_ERR_GONE;
    else
        status = deliver(f, i, &list);
    *entries = list.at;
    *n = list.n;
    return status;
}
