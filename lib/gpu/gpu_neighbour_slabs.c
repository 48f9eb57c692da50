/*
 * gpu_neighbour_slabs.c - neighbour forces on accelerators. Each device holds the particles in the rows of
 * lib/cpu/cpu_neighbour.h; only changed rows are uploaded. Lists are computed in slabs: the host fills a slab while the
 * device computes the slab before it.
 *
 * Results have the bits of the CPU (lib/device/neighbour.h), so the engine that is faster may compute a call.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "base/threads.h"
#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/jstore.h"
#include "engine/small_forces.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_neighbour.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_store.h"
#include "physics/arithmetic.h"

enum {
    PLACES = 2,               /* slabs of a device that are in flight or being filled */
    SLAB_ENTRIES = 1 << 20,   /* of a slab's lists, approximately */
    LEAST_ENTRIES = 1 << 14,  /* entries of a slab that make another device worthwhile */
    THREAD_ENTRIES = 1 << 14, /* entries that make another host thread worth waking */
    THREAD_ROWS = 512,
    LIST_MOST = SAP_CPU_SUPERPACKET,
    GROUP = 128, /* threads per group on GPUs */
    OUT = SAP_GPU_NEIGHBOUR_WORDS,
    UPDATE_AT = 4 /* addresses of changed rows are padded to a multiple of this number */
};

/* A slab, and the memory that later slabs reuse. */
struct place {
    int device;
    struct sap_event *done;
    struct sap_gpu_buffer host, heads, out;
    int *row; /* [rows] index in the call */
    int room, rows, entries;
    int under_way;
};

/* The particles on a device. */
struct copy {
    struct sap_gpu_buffer rows, update_host, update, there;
    int upper, words;       /* of the rows; 0: no rows */
    int count, there_upper; /* of the particles in `there` */
    uint64_t losses;        /* of the store, when the rows were copied */
    uint64_t cleared;       /* likewise */
};

struct neighbour_state {
    struct sap_gpu_attached attached;
    struct copy *copy; /* [devices] */
    int places;
    struct place place[];
};

/* A call of sap_gpu_neighbour. */
struct slab_call {
    struct sap_gpu_store *store;
    struct neighbour_state *all; /* of the store */
    const struct sap_given *given;
    const struct sap_neighbour_request *l;
    unsigned char *left;
    int next;         /* the next row */
    int slab_entries; /* of a slab, approximately */
    struct sap_gpu_neighbour_slabs f;
};

/* ---------------------------------------------------------------- particles */

static int gaps(const struct sap_gpu_store *store) { return store->host->count < store->host->upper; }

/* Returns a bit map of the addresses that hold a particle, 32 per word. */
static unsigned *there_of(const struct sap_jstore *host, size_t words)
{
    unsigned *const bits = calloc(words, sizeof *bits);
    for (int s = 0; s < host->segments && bits; s++) {
        const struct sap_segment *const segment = host->segment[s];
        const size_t first = (size_t)s * SAP_SEGMENT / 32;
        for (size_t k = 0; segment && k < SAP_SEGMENT / 32 && first + k < words; k++)
            bits[first + k] = segment->occupied[2 * k] | (unsigned)segment->occupied[2 * k + 1] << 16;
    }
    return bits;
}

static int bring_there(const struct slab_call *w, const struct sap_gpu_share *h, struct copy *c)
{
    const struct sap_driver *d = w->store->set->driver;
    const struct sap_jstore *host = w->store->host;
    const size_t words = (size_t)host->upper / 32 + 1;
    if (!gaps(w->store)) return SAP_DRIVER_OK;
    if (c->count == host->count && c->there_upper == host->upper && c->cleared == host->cleared &&
        c->losses == host->losses)
        return SAP_DRIVER_OK;
    c->count = 0;
    TRY(sap_gpu_reserve(d, h->device->dev, &c->there, words * sizeof(unsigned)));
    unsigned *const bits = there_of(host, words);
    if (!bits) return SAP_DRIVER_MEMORY;
    const int status = d->copy_in(h->stream, c->there.mem, 0, bits, words * sizeof *bits);
    free(bits);
    if (status) return status;
    c->count = host->count;
    c->there_upper = host->upper;
    c->losses = host->losses;
    c->cleared = host->cleared;
    return SAP_DRIVER_OK;
}

/* Arguments of copy_changes, which several threads run. */
struct changed_rows {
    const struct sap_given *given;
    char *to;
    size_t row; /* bytes */
};

static void copy_changes(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct changed_rows *const c = argument;
    const struct sap_given *const g = c->given;
    for (ptrdiff_t k = from; k < to; k++)
        memcpy(c->to + (size_t)k * c->row, g->row + (size_t)g->changed[k] * (size_t)g->words, c->row);
}

/* Uploads the rows that have changed, each after its address. */
static int bring_changes(const struct slab_call *w, const struct sap_gpu_share *h, struct copy *c)
{
    const struct sap_driver *d = w->store->set->driver;
    const struct sap_given *g = w->given;
    const int n = g->nchanged, words = g->words, first = (n + UPDATE_AT - 1) / UPDATE_AT * UPDATE_AT;
    const size_t row = (size_t)words * sizeof(double), bytes = (size_t)first * sizeof(int) + (size_t)n * row;
    const int vectors = h->device->kernels->geometry.lanes > 1;
    const unsigned size = vectors ? 1 : 256;
    const struct sap_gpu_grid grid = {
        .stream = h->stream,
        .driver = d,
        .groups = {vectors ? 1 : (unsigned)(((size_t)n * (size_t)words + size - 1) / size), 1},
        .threads = size};
    if (n == 0) return SAP_DRIVER_OK;
    TRY(sap_gpu_reserve_pinned(d, h->device->dev, &c->update_host, bytes));
    TRY(sap_gpu_reserve(d, h->device->dev, &c->update, bytes));
    struct changed_rows changes = {g, (char *)c->update_host.host + (size_t)first * sizeof(int), row};
    memcpy(c->update_host.host, g->changed, (size_t)n * sizeof *g->changed);
    sap_team_for(sap_threads_few(n / THREAD_ROWS), n, THREAD_ROWS / 4, copy_changes, &changes);
    TRY(d->copy_in(h->stream, c->update.mem, 0, c->update_host.host, bytes));
    return sap_direct_neighbour_put(&grid, h->device->kernels->neighbour_put, c->rows.mem, c->update.mem, n, words,
                                    first);
}

/* Updates the rows of a device, in stream order. */
static int bring_particles(const struct slab_call *w, int k)
{
    const struct sap_driver *d = w->store->set->driver;
    struct sap_gpu_share *const h = &w->store->share[k];
    struct copy *const c = &w->all->copy[k];
    const struct sap_given *g = w->given;
    const size_t bytes = (size_t)g->upper * (size_t)g->words * sizeof(double);
    const int known = c->words == g->words && bytes <= c->rows.bytes && g->nchanged >= 0 && g->nchanged < g->upper / 2;
    w->store->at = k;
    if (!h->stream) TRY(d->stream_create(h->device->dev, &h->stream));
    TRY(bring_there(w, h, c));
    if (c->upper > 0 && known) {
        TRY(bring_changes(w, h, c));
    } else {
        c->upper = 0;
        TRY(sap_gpu_reserve(d, h->device->dev, &c->rows, bytes));
        TRY(d->copy_in(h->stream, c->rows.mem, 0, g->row, bytes));
    }
    c->upper = g->upper;
    c->words = g->words;
    return SAP_DRIVER_OK;
}

/* -------------------------------------------------------------------- slabs */

/* Returns whether the device can compute a list, as far as the host can tell. */
static int is_fit(const struct slab_call *w, int i)
{
    return w->l->length[i] > 0 && w->l->length[i] <= LIST_MOST && sap_jstore_has(w->store->host, w->l->address[i]);
}

static int grow(struct place *p)
{
    const int room = 2 * p->room + 1024;
    int *const more = realloc(p->row, (size_t)room * sizeof *more);
    if (!more) return SAP_DRIVER_MEMORY;
    p->row = more;
    p->room = room;
    return SAP_DRIVER_OK;
}

/* Plans a slab: takes the next lists, as many as fit. */
static int plan(struct slab_call *w, struct place *p)
{
    p->rows = p->entries = 0;
    for (; w->next < w->l->ni && p->entries < w->slab_entries; w->next++) {
        w->left[w->next] = !is_fit(w, w->next);
        if (w->left[w->next]) continue;
        if (p->rows == p->room) TRY(grow(p));
        p->row[p->rows++] = w->next;
        p->entries += w->l->length[w->next];
    }
    return SAP_DRIVER_OK;
}

static int threads_of(const struct place *p)
{
    const int entries = p->entries / THREAD_ENTRIES, rows = p->rows / THREAD_ROWS;
    return sap_threads_few(entries > rows ? entries : rows);
}

/* A slab whose rows are distributed over threads. */
struct slab {
    const struct slab_call *work;
    const struct place *place;
};

/* Rows that a thread takes at a time. */
enum { ROWS_AT_ONCE = 16 };

static void copy_lists(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct slab *const s = argument;
    const struct place *const p = s->place;
    const struct sap_gpu_neighbour_row *const head = p->host.host;
    int *const lists = (int *)(void *)((struct sap_gpu_neighbour_row *)p->host.host + p->rows);
    for (ptrdiff_t k = from; k < to; k++)
        memcpy(lists + head[k].first, s->work->l->list[p->row[k]], (size_t)head[k].n * sizeof *lists);
}

/* Writes the input of a slab into its pinned memory: a head for each list, then the lists. */
static void fill(const struct slab_call *w, const struct place *p)
{
    struct sap_gpu_neighbour_row *const head = p->host.host;
    for (int k = 0, first = 0; k < p->rows; k++) {
        const int i = p->row[k];
        head[k] = (struct sap_gpu_neighbour_row){.own = w->l->address[i], .first = first, .n = w->l->length[i]};
        first += head[k].n;
    }
    sap_team_for(threads_of(p), p->rows, ROWS_AT_ONCE, copy_lists, &(struct slab){w, p});
}

static size_t input_bytes(const struct place *p)
{
    return (size_t)p->rows * sizeof(struct sap_gpu_neighbour_row) + (size_t)p->entries * sizeof(int);
}

static int reserve(const struct slab_call *w, struct place *p)
{
    const struct sap_driver *d = w->store->set->driver;
    struct sap_dev *const dev = w->store->share[p->device].device->dev;
    if (!p->done) TRY(d->event_create(dev, &p->done));
    TRY(sap_gpu_reserve_pinned(d, dev, &p->host, input_bytes(p)));
    TRY(sap_gpu_reserve_pinned(d, dev, &p->out, (size_t)p->rows * OUT * sizeof(double)));
    return sap_gpu_reserve(d, dev, &p->heads, input_bytes(p));
}

/* Sends a filled slab to the device. */
static int send(const struct slab_call *w, struct place *p)
{
    const struct sap_driver *d = w->store->set->driver;
    const struct sap_gpu_share *h = &w->store->share[p->device];
    const struct copy *c = &w->all->copy[p->device];
    const int vectors = h->device->kernels->geometry.lanes > 1, of_group = vectors ? 1 : GROUP / SAP_CPU_LANES;
    const struct sap_gpu_grid grid = {.stream = h->stream,
                                      .driver = d,
                                      .groups = {(unsigned)((p->rows + of_group - 1) / of_group), 1},
                                      .threads = vectors ? 1 : GROUP};
    struct sap_gpu_neighbour_slabs f = w->f;
    f.ni = p->rows;
    f.lists = (int)(sizeof(struct sap_gpu_neighbour_row) / sizeof(int)) * p->rows;
    p->under_way = 1;
    TRY(d->copy_in(h->stream, p->heads.mem, 0, p->host.host, input_bytes(p)));
    TRY(sap_direct_neighbour(&grid, h->device->kernels->neighbour, c->rows.mem, c->there.mem, p->heads.mem, p->out.mem,
                             f));
    if (d->pinned_to_host) TRY(d->pinned_to_host(h->stream, p->out.mem, 0, (size_t)p->rows * OUT * sizeof(double)));
    return d->event_record(p->done, h->stream);
}

static int start(const struct slab_call *w, struct place *p)
{
    w->store->at = p->device;
    TRY(reserve(w, p));
    fill(w, p);
    return send(w, p);
}

/*
 * Returns whether the sums may come from a target particle that is not finite. The CPU computes such rows again
 * (lib/cpu/cpu_neighbour.c).
 */
static int is_doubtful(const double *out)
{
    double total = 0;
    for (int q = 0; q < SAP_GPU_NEIGHBOUR_R2; q++) total += out[q] - out[q];
    return !(total == 0) || out[0] == 0;
}

/* Writes one row of the results; 0: the CPU must compute it. */
static int write_row(const struct sap_neighbour_request *l, int i, const double *out)
{
    const int alone = out[SAP_GPU_NEIGHBOUR_STATE] == SAP_GPU_NEIGHBOUR_ALONE;
    if (out[SAP_GPU_NEIGHBOUR_STATE] == SAP_GPU_NEIGHBOUR_LEFT || is_doubtful(out)) return 0;
    if (l->pot) l->pot[i] = out[0];
    for (int axis = 0; axis < 3; axis++) {
        if (l->acc) l->acc[i][axis] = out[1 + axis];
        if (l->jerk) l->jerk[i][axis] = out[4 + axis];
    }
    if (l->nearest) l->nearest[i] = alone ? -1 : (int)out[SAP_GPU_NEIGHBOUR_NEAREST];
    if (l->nearest_r2) l->nearest_r2[i] = alone ? (double)INFINITY : out[SAP_GPU_NEIGHBOUR_R2];
    return 1;
}

static void write_rows(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct slab *const s = argument;
    const struct place *const p = s->place;
    const double *const out = p->out.host;
    for (ptrdiff_t k = from; k < to; k++)
        s->work->left[p->row[k]] = !write_row(s->work->l, p->row[k], out + (size_t)k * OUT);
}

/* Waits for a slab and writes its results. */
static int finish(const struct slab_call *w, struct place *p)
{
    if (!p->under_way) return SAP_DRIVER_OK;
    w->store->at = p->device;
    TRY(w->store->set->driver->event_wait(p->done));
    p->under_way = 0;
    sap_team_for(threads_of(p), p->rows, ROWS_AT_ONCE, write_rows, &(struct slab){w, p});
    return SAP_DRIVER_OK;
}

/* --------------------------------------------------------------------- all */

static int run(struct slab_call *w)
{
    struct neighbour_state *const all = w->all;
    int slab = 0;
    for (int k = 0; k < w->store->set->n; k++) TRY(bring_particles(w, k));
    for (; w->next < w->l->ni; slab++) {
        struct place *const p = &all->place[slab % all->places];
        TRY(finish(w, p));
        TRY(plan(w, p));
        if (p->rows > 0) TRY(start(w, p));
    }
    for (int k = 0; k < all->places; k++) TRY(finish(w, &all->place[(slab + k) % all->places]));
    return SAP_DRIVER_OK;
}

static void free_work(struct sap_gpu_store *store, struct sap_gpu_attached *attached)
{
    const struct sap_driver *d = store->set->driver;
    struct neighbour_state *const all = (void *)attached;
    sap_gpu_halt(store);
    for (int k = 0; k < store->set->n; k++) {
        struct copy *const c = &all->copy[k];
        struct sap_gpu_buffer *const buffers[] = {&c->rows, &c->update_host, &c->update, &c->there};
        for (int b = 0; b < COUNT(buffers); b++) sap_gpu_free(d, buffers[b]);
    }
    for (int k = 0; k < all->places; k++) {
        struct place *const p = &all->place[k];
        struct sap_gpu_buffer *const buffers[] = {&p->host, &p->heads, &p->out};
        for (int b = 0; b < COUNT(buffers); b++) sap_gpu_free(d, buffers[b]);
        if (p->done) d->event_destroy(p->done);
        free(p->row);
    }
    free(all->copy);
    free(all);
}

static struct neighbour_state *new_state(struct sap_gpu_store *store)
{
    const int devices = store->set->n;
    const int n = PLACES * devices;
    struct neighbour_state *const all = calloc(1, sizeof *all + (size_t)n * sizeof all->place[0]);
    if (!all) return NULL;
    all->copy = calloc((size_t)devices, sizeof *all->copy);
    if (!all->copy) {
        free(all);
        return NULL;
    }
    all->places = n;
    for (int k = 0; k < n; k++) all->place[k].device = k % devices;
    sap_gpu_attach(store, &all->attached, free_work);
    return all;
}

/* Waits for the work that a failed call has in flight, and marks the devices' rows as invalid. */
static void halt(const struct sap_gpu_store *store, struct neighbour_state *all)
{
    sap_gpu_halt(store);
    for (int k = 0; k < store->set->n; k++) all->copy[k].upper = all->copy[k].count = 0;
    for (int k = 0; k < all->places; k++) all->place[k].under_way = 0;
}

int sap_gpu_neighbour_slabs(struct sap_gpu_store *store, const struct sap_given *given,
                            const struct sap_neighbour_request *l, unsigned char *left)
{
    double entries = 0;
    store->words[0] = '\0';
    if (sap_gpu_refuse_lost(store)) return SAPPORO_ERR_DEVICE;
    struct neighbour_state *all = sap_gpu_attached_by(store, free_work);
    if (!all) all = new_state(store);
    if (!all) return SAPPORO_ERR_MEMORY;
    for (int i = 0; i < l->ni; i++) entries += l->length[i] > 0 ? l->length[i] : 0;
    const double share = entries / store->set->n + 1;
    struct slab_call w = {.store = store,
                          .all = all,
                          .given = given,
                          .l = l,
                          .left = left,
                          .slab_entries = share < LEAST_ENTRIES  ? (int)LEAST_ENTRIES
                                          : share < SLAB_ENTRIES ? (int)share
                                                                 : (int)SLAB_ENTRIES,
                          .f = {.time = l->time,
                                .eps2 = l->eps2,
                                .words = given->words,
                                .upper = given->upper,
                                .gaps = gaps(store),
                                .near = l->nearest || l->nearest_r2}};
    const int status = run(&w);
    if (!status) return SAPPORO_OK;
    const int judged = sap_gpu_judge(store, status);
    halt(store, all);
    return judged;
}

int sap_gpu_neighbour_used(const struct sap_gpu_store *store) { return sap_gpu_attached_by(store, free_work) != NULL; }
