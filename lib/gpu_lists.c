/* gpu_lists.c - neighbour lists on accelerators: room for candidates, and what comes back. */
#include <stdlib.h>
#include <string.h>

#include "gpu_engine.h"

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        const int try_status = (call);                                                                                 \
        if (try_status) return try_status;                                                                             \
    } while (0)
#define MEM(buffer)                                                                                                    \
    {                                                                                                                  \
        (buffer).mem, 0                                                                                                \
    }
#define VALUE(x)                                                                                                       \
    {                                                                                                                  \
        &(x), sizeof(x)                                                                                                \
    }
#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

enum { HITS_A_ROW = 64, HITS_LEAST = 1 << 16 };

static int reserve_rows(struct sap_gpu_slab *s)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    struct sap_dev *dev = h->device->dev;
    const size_t rows = (size_t)s->f.room_i + 1;
    const size_t hits = rows * HITS_A_ROW > HITS_LEAST ? rows * HITS_A_ROW : HITS_LEAST;
    TRY(sap_gpu_reserve(d, dev, &h->hit_count, rows * sizeof(int)));
    TRY(sap_gpu_reserve(d, dev, &h->offset, rows * sizeof(int)));
    TRY(sap_gpu_reserve(d, dev, &h->cursor, rows * sizeof(int)));
    TRY(sap_gpu_reserve_pinned(d, dev, &s->part->list_rows, 2 * rows * sizeof(int)));
    return sap_gpu_reserve(d, dev, &h->hit, hits * sizeof(struct sap_gpu_hit));
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

/* Room for more entries behind those that are there. */
static int reserve_entries(const struct sap_driver *d, struct sap_dev *dev, struct sap_gpu_part *p, size_t more)
{
    const size_t bytes = (p->entries + more) * sizeof(int32_t);
    if (bytes <= p->list_entries.bytes) return SAP_DRIVER_OK;
    struct sap_gpu_buffer larger = {0};
    TRY(sap_gpu_reserve_pinned(d, dev, &larger, p->entries > 0 ? 2 * bytes : bytes));
    if (p->entries > 0) memcpy(larger.host, p->list_entries.host, p->entries * sizeof(int32_t));
    sap_gpu_free(d, &p->list_entries);
    p->list_entries = larger;
    return SAP_DRIVER_OK;
}

/* Forces and candidates of a slab; counters come to the host. */
static int find_candidates(struct sap_gpu_slab *s)
{
    static const int none = 0;
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    struct sap_gpu_part *p = s->part;
    TRY(d->fill(h->stream, h->hit_count.mem, 0, 0, (size_t)s->f.ni * sizeof(int)));
    TRY(d->copy_in(h->stream, h->counters.mem, 0, &none, sizeof none));
    s->f.hit_room = (int)(h->hit.bytes / sizeof(struct sap_gpu_hit));
    TRY(sap_gpu_launch_force(s));
    const struct sap_argument a[] = {MEM(h->hit_count), MEM(h->offset), MEM(h->cursor), MEM(h->counters),
                                     VALUE(s->f.ni)};
    const unsigned one[2] = {1, 1};
    TRY(sap_gpu_launch(h, d, h->device->kernels->offsets, one, 1024, 0, a, COUNT(a)));
    TRY(d->copy_out(h->stream, p->counters.host, h->counters.mem, 0, sizeof(struct sap_gpu_counters)));
    TRY(d->event_record(p->done, h->stream));
    return d->event_wait(p->done);
}

static int build(struct sap_gpu_slab *s, int hits, int entries)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    struct sap_gpu_part *p = s->part;
    TRY(sap_gpu_reserve(d, h->device->dev, &h->entry, (size_t)(entries + 1) * sizeof(int32_t)));
    TRY(reserve_entries(d, h->device->dev, p, (size_t)entries));
    const struct sap_argument fill[] = {MEM(h->j),      {s->i, 0},     MEM(h->hit), MEM(h->offset),
                                        MEM(h->cursor), MEM(h->entry), VALUE(hits), VALUE(s->f)};
    const unsigned groups[2] = {(unsigned)(hits + 127) / 128 > 0 ? (unsigned)(hits + 127) / 128 : 1, 1};
    TRY(sap_gpu_launch(h, d, h->device->kernels->fill, groups, 128, 0, fill, COUNT(fill)));
    const struct sap_argument sort[] = {MEM(h->offset), MEM(h->cursor), MEM(h->entry), MEM(h->hit_count)};
    const unsigned rows[2] = {(unsigned)s->f.ni, 1};
    TRY(sap_gpu_launch(h, d, h->device->kernels->sort, rows, 128, 0, sort, COUNT(sort)));
    int32_t *const to = (int32_t *)p->list_entries.host + p->entries;
    if (entries > 0) TRY(d->copy_out(h->stream, to, h->entry.mem, 0, (size_t)entries * sizeof *to));
    return SAP_DRIVER_OK;
}

/* Waits for the lengths of the lists and notes where the lists are. */
static int note_rows(struct sap_gpu_slab *s)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    struct sap_gpu_part *p = s->part;
    const size_t n = (size_t)s->f.ni;
    int *const count = p->list_rows.host, *const offset = count + n;
    TRY(d->copy_out(h->stream, count, h->hit_count.mem, 0, n * sizeof(int)));
    TRY(d->copy_out(h->stream, offset, h->offset.mem, 0, n * sizeof(int)));
    TRY(d->event_record(p->done, h->stream));
    TRY(d->event_wait(p->done));
    for (size_t row = 0; row < n; row++) {
        p->first[(size_t)s->f.first_i + row] = p->entries + (size_t)offset[row];
        p->count[(size_t)s->f.first_i + row] = count[row];
    }
    return SAP_DRIVER_OK;
}

int sap_gpu_lists_slab(struct sap_force *force, struct sap_gpu_slab *s)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    TRY(reserve_rows(s));
    TRY(reserve_table(s->part, force->request.ni));
    const struct sap_gpu_counters *counters = s->part->counters.host;
    for (;;) {
        TRY(find_candidates(s));
        if (counters->hits <= s->f.hit_room) break;
        TRY(sap_gpu_reserve(d, h->device->dev, &h->hit, (size_t)counters->hits * sizeof(struct sap_gpu_hit)));
    }
    const int entries = counters->entries;
    if (entries < 0) return SAP_DRIVER_MEMORY; /* more than 2^31 candidates of one slab */
    TRY(build(s, counters->hits, entries));
    TRY(note_rows(s));
    s->part->entries += (size_t)entries;
    return SAP_DRIVER_OK;
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
    if (!(f->have & SAP_EXTRA_LISTS)) return SAPPORO_ERR_GONE;
    *n = 0;
    for (int k = 0; k < f->set->n; k++) {
        const struct sap_gpu_part *p = &f->part[k];
        if (f->superpackets[k] == 0) continue;
        const int32_t *const mine = (const int32_t *)p->list_entries.host + p->first[i];
        if (f->set->n == 1) {
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
