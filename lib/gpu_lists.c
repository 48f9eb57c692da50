/* gpu_lists.c - neighbour lists on accelerators: room for candidates, and what comes back. */
#include <stdlib.h>
#include <string.h>

#include "gpu_launch.h"

enum { HITS_A_ROW = 64, HITS_LEAST = 1 << 16, SORT_THREADS = 128 };

/* ------------------------------------------------------------------ memory */

static int reserve_work(struct sap_gpu_slab *s, struct sap_gpu_work *w)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_dev *dev = s->share->device->dev;
    const size_t rows = (size_t)s->f.room_i + 1;
    const size_t hits = rows * HITS_A_ROW > HITS_LEAST ? rows * HITS_A_ROW : HITS_LEAST;
    TRY(sap_gpu_reserve(d, dev, &w->hit_count, rows * sizeof(int)));
    TRY(sap_gpu_reserve(d, dev, &w->offset, rows * sizeof(int)));
    TRY(sap_gpu_reserve(d, dev, &w->cursor, rows * sizeof(int)));
    TRY(sap_gpu_reserve_pinned(d, dev, &w->rows, 2 * rows * sizeof(int)));
    TRY(sap_gpu_reserve_pinned(d, dev, &w->counters, sizeof(struct sap_gpu_counters)));
    if (!w->event) TRY(d->event_create(dev, &w->event));
    return sap_gpu_reserve(d, dev, &w->hit, hits * sizeof(struct sap_gpu_hit));
}

/* First place and length of each list, on the host. */
static int reserve_table(struct sap_gpu_part *p, int ni)
{
    if (ni <= p->row_room) return SAP_DRIVER_OK;
    free(p->first);
    free(p->count);
    p->first = malloc((size_t)ni * sizeof *p->first);
    p->count = malloc((size_t)ni * sizeof *p->count);
    p->row_room = p->first && p->count ? ni : 0;
    return p->row_room ? SAP_DRIVER_OK : SAP_DRIVER_MEMORY;
}

void sap_gpu_works_free(const struct sap_driver *d, struct sap_gpu_share *share)
{
    for (int k = 0; k < SAP_GPU_WORKS && share->work; k++) {
        struct sap_gpu_work *w = &share->work[k];
        struct sap_gpu_buffer *const all[] = {&w->hit,   &w->hit_count, &w->offset, &w->cursor,
                                              &w->entry, &w->counters,  &w->rows};
        for (int b = 0; b < COUNT(all); b++) sap_gpu_free(d, all[b]);
        if (w->event) d->event_destroy(w->event);
    }
    free(share->work);
    share->work = NULL;
}

/* ------------------------------------------------------------------- steps */

/* Launches the force and notes candidates; their number comes to the host. */
static int find(struct sap_gpu_work *w)
{
    static const int none = 0;
    struct sap_gpu_slab *s = &w->slab;
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    TRY(d->fill(h->stream, w->hit_count.mem, 0, 0, (size_t)s->f.ni * sizeof(int)));
    TRY(d->copy_in(h->stream, h->counters.mem, 0, &none, sizeof none));
    s->f.hit_room = (int)(w->hit.bytes / sizeof(struct sap_gpu_hit));
    s->hit = w->hit.mem;
    s->hit_count = w->hit_count.mem;
    TRY(sap_gpu_launch_force(s));
    const struct sap_argument a[] = {MEM(w->hit_count), MEM(w->offset), MEM(w->cursor), MEM(h->counters),
                                     VALUE(s->f.ni)};
    const unsigned one[2] = {1, 1};
    TRY(sap_gpu_launch(h, d, h->device->kernels->offsets, one, h->device->kernels->geometry.scan, 0, a, COUNT(a)));
    TRY(d->copy_out(h->stream, w->counters.host, h->counters.mem, 0, sizeof(struct sap_gpu_counters)));
    w->state = SAP_GPU_FINDING;
    return d->event_record(w->event, h->stream);
}

/* Takes the places of a slab's lists. */
static int take(struct sap_gpu_work *w)
{
    const struct sap_gpu_slab *s = &w->slab;
    struct sap_gpu_part *p = s->part;
    const size_t n = (size_t)s->f.ni;
    const int *const count = w->rows.host, *const offset = count + n;
    TRY(s->store->set->driver->event_wait(w->event));
    for (size_t row = 0; row < n; row++) {
        p->first[(size_t)s->f.first_i + row] = w->first + (size_t)offset[row];
        p->count[(size_t)s->f.first_i + row] = count[row];
    }
    w->state = SAP_GPU_IDLE;
    return SAP_DRIVER_OK;
}

/* Room for more entries behind those that are there, or on their way there. */
static int reserve_entries(struct sap_gpu_slab *s, size_t more)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_part *p = s->part;
    const size_t bytes = (p->entries + more + 1) * sizeof(int32_t);
    if (bytes <= p->list_entries.bytes) return SAP_DRIVER_OK;
    for (int k = 0; k < SAP_GPU_WORKS; k++)
        if (s->share->work[k].state == SAP_GPU_BUILDING) TRY(take(&s->share->work[k]));
    struct sap_gpu_buffer larger = {0};
    TRY(sap_gpu_reserve_pinned(d, s->share->device->dev, &larger, p->entries > 0 ? 2 * bytes : bytes));
    if (p->entries > 0) memcpy(larger.host, p->list_entries.host, p->entries * sizeof(int32_t));
    sap_gpu_free(d, &p->list_entries);
    p->list_entries = larger;
    return SAP_DRIVER_OK;
}

static int launch_build(struct sap_gpu_work *w, int hits)
{
    struct sap_gpu_slab *s = &w->slab;
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    const struct sap_argument fill[] = {MEM(h->j),      {s->i, 0},     MEM(w->hit), MEM(w->offset),
                                        MEM(w->cursor), MEM(w->entry), VALUE(hits), VALUE(s->f)};
    const unsigned groups[2] = {hits > 0 ? (unsigned)(hits + 127) / 128 : 1, 1};
    TRY(sap_gpu_launch(h, d, h->device->kernels->fill, groups, 128, 0, fill, COUNT(fill)));
    const struct sap_argument sort[] = {MEM(w->offset), MEM(w->cursor), MEM(w->entry), MEM(w->hit_count)};
    const unsigned rows[2] = {(unsigned)s->f.ni, 1};
    return sap_gpu_launch(h, d, h->device->kernels->sort, rows, SORT_THREADS, 0, sort, COUNT(sort));
}

/* Makes lists of the candidates, again and with more room if they did not fit. */
static int build(struct sap_gpu_work *w)
{
    struct sap_gpu_slab *s = &w->slab;
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    const struct sap_gpu_counters *c = w->counters.host;
    TRY(d->event_wait(w->event));
    while (c->hits > s->f.hit_room) {
        TRY(sap_gpu_reserve(d, h->device->dev, &w->hit, (size_t)c->hits * sizeof(struct sap_gpu_hit)));
        TRY(find(w));
        TRY(d->event_wait(w->event));
    }
    const int entries = c->entries;
    const size_t n = (size_t)s->f.ni;
    if (entries < 0 || c->hits < 0)
        return sap_gpu_refuse(s->store, SAP_DRIVER_MEMORY, "more than 2^31 neighbours of one part of a force");
    TRY(sap_gpu_reserve(d, h->device->dev, &w->entry, ((size_t)entries + 1) * sizeof(int32_t)));
    TRY(reserve_entries(s, (size_t)entries));
    if (entries > 0) /* candidates that do not belong into a list leave gaps, which travel too */
        TRY(d->fill(h->stream, w->entry.mem, 0, 0, (size_t)entries * sizeof(int32_t)));
    TRY(launch_build(w, c->hits));
    w->first = s->part->entries;
    s->part->entries += (size_t)entries;
    int32_t *const to = (int32_t *)s->part->list_entries.host + w->first;
    if (entries > 0) TRY(d->copy_out(h->stream, to, w->entry.mem, 0, (size_t)entries * sizeof *to));
    TRY(d->copy_out(h->stream, w->rows.host, w->hit_count.mem, 0, n * sizeof(int)));
    TRY(d->copy_out(h->stream, (int *)w->rows.host + n, w->offset.mem, 0, n * sizeof(int)));
    w->state = SAP_GPU_BUILDING;
    return d->event_record(w->event, h->stream);
}

/* ---------------------------------------------------------------- pipeline */

static int advance(struct sap_gpu_work *w, int state)
{
    if (w->state == SAP_GPU_FINDING && state >= SAP_GPU_FINDING) TRY(build(w));
    if (w->state == SAP_GPU_BUILDING && state >= SAP_GPU_BUILDING) TRY(take(w));
    return SAP_DRIVER_OK;
}

static struct sap_gpu_work *work_before(struct sap_gpu_share *h, int steps)
{
    return &h->work[(h->next_work + SAP_GPU_WORKS - steps) % SAP_GPU_WORKS];
}

int sap_gpu_lists_slab(struct sap_gpu_slab *s, int ni)
{
    struct sap_gpu_share *h = s->share;
    if (!h->work) h->work = calloc(SAP_GPU_WORKS, sizeof *h->work);
    if (!h->work || reserve_table(s->part, ni))
        return sap_gpu_refuse(s->store, SAP_DRIVER_MEMORY, "no memory of the host for neighbour lists");
    struct sap_gpu_work *w = work_before(h, 0);
    TRY(reserve_work(s, w));
    w->slab = *s;
    h->next_work = (h->next_work + 1) % SAP_GPU_WORKS;
    return find(w);
}

int sap_gpu_lists_advance(struct sap_gpu_slab *s)
{
    TRY(advance(work_before(s->share, 3), SAP_GPU_BUILDING));
    return advance(work_before(s->share, 2), SAP_GPU_FINDING);
}

int sap_gpu_lists_finish(struct sap_gpu_slab *s)
{
    for (int k = SAP_GPU_WORKS; k > 0 && s->share->work; k--) TRY(advance(work_before(s->share, k), SAP_GPU_BUILDING));
    return SAP_DRIVER_OK;
}

void sap_gpu_lists_forget(struct sap_gpu_share *share)
{
    for (int k = 0; k < SAP_GPU_WORKS && share->work; k++) share->work[k].state = SAP_GPU_IDLE;
}

/* ---------------------------------------------------------------- delivery */

/* Adds a sorted list to a sorted list, each index once. */
static int merge_into(struct sap_force *f, int have, const int32_t *more, int n)
{
    if (have + n > f->merged_room) {
        int32_t *larger = realloc(f->merged, (size_t)(have + n) * 2 * sizeof *larger);
        if (!larger) return -1;
        f->merged = larger;
        f->merged_room = 2 * (have + n);
    }
    int32_t *const to = f->merged;
    memmove(to + n, to, (size_t)have * sizeof *to);
    const int32_t *old = to + n;
    int a = 0, b = 0, kept = 0;
    while (a < have || b < n) {
        const int32_t next = b >= n || (a < have && old[a] <= more[b]) ? old[a++] : more[b++];
        if (kept == 0 || to[kept - 1] != next) to[kept++] = next;
    }
    return kept;
}

int sap_gpu_list(struct sap_force *f, int i, const int32_t **entries, int *n)
{
    *entries = NULL;
    *n = 0;
    f->store->words[0] = '\0';
    if (f->failed) return sap_gpu_refuse(f->store, f->failed, "the force has failed before");
    if (!(f->have & SAP_EXTRA_LISTS)) return SAPPORO_ERR_GONE;
    for (int k = 0; k < f->set->n; k++) {
        const struct sap_gpu_part *p = &f->part[k];
        if (f->superpackets[k] == 0 || p->count[i] == 0) continue;
        const int32_t *const mine = (const int32_t *)p->list_entries.host + p->first[i];
        if (f->set->n == 1) {
            const int later = i + 4; /* lists are read one after the other, out of memory that the device has written */
            if (later < f->request.ni)
                for (int line = 0; line < 4; line++)
                    __builtin_prefetch((const int32_t *)p->list_entries.host + p->first[later] + line * 16);
            *entries = mine;
            *n = p->count[i];
            return SAPPORO_OK;
        }
        *n = merge_into(f, *n, mine, p->count[i]);
        if (*n < 0) return SAPPORO_ERR_MEMORY;
    }
    *entries = f->merged;
    return SAPPORO_OK;
}
