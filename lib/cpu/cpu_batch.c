/*
 * cpu_batch.c - batches of small forces on the CPU: each thread computes whole lists.
 *
 * A list uses the same kernels as a force. So its results have the bits of a force on the same particles, on any
 * thread. The work memory of each thread is kept with the device for the next call. Mapping it for each call costs more
 * than small lists do, and more so if several threads map at once.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/finite.h"
#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "cpu/cpu_engine.h"
#include "engine/small_forces.h"
#include "physics/interaction.h"
#include "physics/tree_cell.h"

#include "cpu/cpu_batch_range.h" /* behind headers that need more of the named operations */

enum { TILE = SAP_CPU_SUPERPACKET, LANES = SAP_CPU_LANES };

/* Pairs that make another thread worth waking. */
static const double pairs_per_thread = 131072;

/* Columns of a tile before their conversion to records. */
struct tile_columns {
    _Alignas(64) double x[3 * TILE];
    _Alignas(64) double mass[TILE], eps2[TILE], h2[TILE], floor2[TILE], quad[TILE][SAP_QUAD_WORDS];
    int32_t index[TILE];
};

/* Work memory of one thread. */
struct sap_batch_worker {
    const struct sap_kernel *kernel;
    const struct sap_jstore *host;
    struct tile_columns *columns;
    char *records; /* of `tiles` tiles, each tile_bytes apart */
    size_t tile_bytes;
    int tiles;
    double (*x)[3], *eps2, *h2, *floor2; /* of `room` i-particles */
    int room;
    struct sap_group group;
    struct sap_more_memory more;
};

/* What a list asks for beside plain forces, in single precision.  Other lists have none of it. */
struct more {
    int counts;    /* 1: kernels count neighbours */
    double floor2; /* common, of the softened distance; 0: none */
    int floor;     /* 1: targets or sources have floors of their own, or there is a common one */
    int floors;    /* 1: sources have floors of their own */
    int quad;      /* 1: sources have second moments */
    struct sap_list_range range;
    int fits;   /* 1: single precision holds pairs with the common softening and floor, so with larger ones, too */
    int loaded; /* 1: the list's sources are loaded in double, too */
};

/* A list is computed in double instead. */
enum { IN_DOUBLE = SAPPORO_PARTIAL + 1 };

static int reserve(struct sap_batch_worker *w, int ni, int tiles)
{
    if (tiles > w->tiles) {
        free(w->records);
        w->records = aligned_alloc(64, (size_t)tiles * w->tile_bytes);
        w->tiles = w->records ? tiles : 0;
        if (!w->records) return SAPPORO_ERR_MEMORY;
    }
    if (ni > w->room) {
        free(w->x);
        free(w->eps2);
        free(w->h2);
        free(w->floor2);
        w->x = malloc((size_t)ni * sizeof *w->x);
        w->eps2 = malloc((size_t)ni * sizeof *w->eps2);
        w->h2 = malloc((size_t)ni * sizeof *w->h2);
        w->floor2 = malloc((size_t)ni * sizeof *w->floor2);
        w->room = w->x && w->eps2 && w->h2 && w->floor2 ? ni : 0;
        if (!w->room) return SAPPORO_ERR_MEMORY;
    }
    return SAPPORO_OK;
}

/* Reads n elements of a column of doubles. */
static void read_column(const sapporo_column *column, int from, int n, double *to)
{
    const ptrdiff_t size = sizeof *to, stride = column->stride ? column->stride : size;
    if (!column->base) {
        memset(to, 0, (size_t)n * sizeof *to);
        return;
    }
    const char *at = (const char *)column->base + from * stride;
    if (stride == size)
        memcpy(to, at, (size_t)n * sizeof *to);
    else
        for (int k = 0; k < n; k++, at += stride) memcpy(to + k, at, sizeof *to);
}

/* Reads n of the list's own sources, from number `from` on, into the columns. */
static void read_own(struct tile_columns *c, const sapporo_small_force *l, int from, int n, int soft)
{
    const ptrdiff_t stride = l->x_j.stride ? l->x_j.stride : 3 * (ptrdiff_t)sizeof(double);
    const char *at = n > 0 ? sap_column_at(&l->x_j, from, 3 * sizeof(double)) : NULL;
    double *to = c->x;
    for (int in = 0; in < n; to += 3 * LANES)
        for (int lane = 0; lane < LANES && in < n; lane++, in++, at += stride)
            for (size_t axis = 0; axis < 3; axis++) /* each by itself: gcc would copy all three by the stack */
                memcpy(&to[axis * LANES + (size_t)lane], at + axis * sizeof *to, sizeof *to);
    read_column(&l->mass_j, from, n, c->mass);
    if (soft) read_column(&l->eps2_j, from, n, c->eps2);
}

/* Reads the particles at n addresses. */
static void read_stored(struct tile_columns *c, const struct sap_jstore *host, const int *address, int n)
{
    for (int in = 0; in < n; in++) {
        const struct sap_segment *const s = sap_jstore_segment(host, address[in]);
        const unsigned at = (unsigned)address[in] % SAP_SEGMENT;
        const double *const from = s->derivative[0] + sap_jstore_offset(at);
        double *const to = c->x + sap_jstore_offset((unsigned)in);
        for (int axis = 0; axis < 3; axis++) to[axis * LANES] = from[(ptrdiff_t)axis * LANES];
        c->mass[in] = s->mass[at];
        c->eps2[in] = s->eps2 ? s->eps2[at] : 0;
    }
}

/* Gives the last block of a tile of n sources the position x in lanes without a source, and zeros. */
static void fill_up(struct tile_columns *c, int n, double x)
{
    for (int in = n; in % LANES; in++) {
        for (int axis = 0; axis < 3; axis++) c->x[sap_jstore_offset((unsigned)in) + (size_t)axis * LANES] = x;
        c->mass[in] = c->eps2[in] = c->h2[in] = c->floor2[in] = 0;
        memset(c->quad[in], 0, sizeof c->quad[in]);
    }
}

/* Reads second moments Q, in the order of sapporo_small_force, as kernels take them: 3 Q, 3/2 tr Q, 0. */
static void read_moments(const sapporo_column *column, int at, double *to)
{
    static const int place[] = {SAP_XX, SAP_YY, SAP_ZZ, SAP_XY, SAP_XZ, SAP_YZ};
    const char *const from = sap_column_at(column, at, sizeof(double[6]));
    double q[6];
    for (size_t k = 0; k < 6; k++) memcpy(&q[k], from + k * sizeof *q, sizeof *q);
    for (int k = 0; k < 6; k++) to[place[k]] = 3 * q[k];
    to[SAP_QUAD_TRACE] = 1.5 * (q[0] + q[1] + q[2]);
    to[SAP_QUAD_TRACE + 1] = 0;
}

/* Reads n elements of a column that goes by address if the list does. */
static void read_sources(const sapporo_column *column, const int *address, int from, int n, double *to)
{
    if (!address) read_column(column, from, n, to);
    for (int in = 0; in < n && address; in++) to[in] = sap_column_double(column, address[in]);
}

/* Reads radii, floors and moments of n sources from number `from` on. */
static void read_more(struct tile_columns *c, const sapporo_small_force *l, int from, int n, const struct more *m)
{
    const int *const address = l->address ? l->address + from : NULL;
    if (m->counts) read_sources(&l->h2_j, address, from, n, c->h2);
    if (m->floors) read_sources(&l->floor2_j, address, from, n, c->floor2);
    for (int in = 0; in < n && m->quad; in++) read_moments(&l->quad_j, address ? address[in] : from + in, c->quad[in]);
}

/* Adds n sources in the columns, of which the last block is filled up with zeros, to the range of a list. */
static void add_range(const struct sap_kernel *k, struct sap_list_range *r, const struct tile_columns *c, int n,
                      int soft, const struct more *m)
{
    const int whole = (n + LANES - 1) / LANES * LANES;
    r->x = sap_batch_range_most(k, r->x, c->x, 3 * whole);
    r->mass = sap_batch_range_most(k, r->mass, c->mass, whole);
    if (soft) r->eps2 = sap_batch_range_most(k, r->eps2, c->eps2, whole);
    if (m->counts) r->h2 = sap_batch_range_most(k, r->h2, c->h2, whole);
    if (m->floors) r->floor2 = sap_batch_range_most(k, r->floor2, c->floor2, whole);
    if (m->quad) r->quad = sap_batch_range_most(k, r->quad, c->quad[0], whole * SAP_QUAD_WORDS);
}

/* Whether kernels may read the softening of sources: variants for what few lists ask always do. */
static int reads_softening(const sapporo_small_force *l, const struct sap_variant *v, const struct more *m)
{
    return l->address || l->eps2_j.base || (m && (m->floors || (m->quad && (m->counts || v->zero))));
}

/* Converts tile t of a list to records; the variant learns of softening and of particles far away. */
static void load_tile(struct sap_batch_worker *w, const sapporo_small_force *l, int t, struct sap_variant *v,
                      struct more *m)
{
    struct tile_columns *const c = w->columns;
    const int n = sap_cpu_tile_count(t, l->nj), from = t * TILE, soft = reads_softening(l, v, m);
    double most_eps2 = 0;
    if (l->address)
        read_stored(c, w->host, l->address + from, n);
    else
        read_own(c, l, from, n, soft);
    if (m) {
        read_more(c, l, from, n, m);
        fill_up(c, n, 0);
        add_range(w->kernel, &m->range, c, n, soft, m);
    }
    fill_up(c, n, SAP_EMPTY_X);
    for (int in = 0; in < n && soft; in++)
        if (c->eps2[in] > most_eps2) most_eps2 = c->eps2[in];
    if (most_eps2 > 0) v->soft = 2;
    v->wide |= most_eps2 > SAP_FAR * SAP_FAR;
    const struct sap_columns columns = {.derivative = {c->x},
                                        .mass = c->mass,
                                        .index = c->index,
                                        .eps2 = soft ? c->eps2 : NULL,
                                        .h2 = m && m->counts ? c->h2 : NULL,
                                        .floor2 = m && m->floors ? c->floor2 : NULL,
                                        .quad = m && m->quad ? c->quad[0] : NULL};
    v->wide |= w->kernel->predict(&columns, 0, 0, n, w->records + (size_t)t * w->tile_bytes);
}

/* Loads the i-particles of a list; returns how many are not finite. */
static int load_targets(struct sap_batch_worker *w, const sapporo_small_force *l, struct sap_variant *v,
                        double *most_eps2, const struct more *m)
{
    int bad = 0;
    for (int i = 0; i < l->ni; i++) {
        memcpy(w->x[i], sap_column_at(&l->x, i, sizeof w->x[i]), sizeof w->x[i]);
        w->eps2[i] = l->eps2 + sap_column_double(&l->eps2_i, i);
        w->h2[i] = m && m->counts ? sap_column_double(&l->h2_i, i) : 0;
        w->floor2[i] = m ? sap_small_floor2(l, i) : 0;
        if (w->eps2[i] > *most_eps2) *most_eps2 = w->eps2[i];
        if (w->eps2[i] < SAP_TINY_R2) v->zero = 1;
        if (!finite_place(w->x[i])) {
            bad++;
            for (int k = 0; k < 3; k++) w->x[i][k] = SAP_EMPTY_X / 2;
        }
        for (int k = 0; k < 3; k++) v->wide |= fabs(w->x[i][k]) >= SAP_FAR;
    }
    return bad;
}

static void write_rows(const sapporo_small_force *l, const sapporo_result *r, int from, int n, double (*sum)[SAP_SUMS2])
{
    for (int i = from; i < from + n; i++) {
        double x[3];
        memcpy(x, sap_column_at(&l->x, i, sizeof x), sizeof x);
        const int good = finite_place(x);
        if (r->pot) r->pot[i] = good ? sum[i - from][0] : NAN;
        for (int k = 0; k < 3 && r->acc; k++) r->acc[i][k] = good ? sum[i - from][1 + k] : NAN;
    }
}

/* Writes row i as sap_cpu_more_row computes it in double. */
static int write_in_double(struct sap_batch_worker *w, const sapporo_small_force *l, const sapporo_result *r, int i,
                           struct more *m)
{
    const int status = m->loaded ? SAPPORO_OK : sap_cpu_more_load(&w->more, w->host, l);
    if (status) return status;
    m->loaded = 1;
    (void)sap_cpu_more_row(&w->more, w->kernel, l, i, r);
    return SAPPORO_OK;
}

/* Returns the larger of a target's squared softening and floor. */
static double soft2_of(const struct sap_batch_worker *w, int i)
{
    return w->eps2[i] > w->floor2[i] ? w->eps2[i] : w->floor2[i];
}

/* Whether single precision holds the pairs of some targets; m->fits: those of the common softening and floor. */
static int some_fit(const struct sap_batch_worker *w, const sapporo_small_force *l, struct more *m)
{
    m->fits = sap_range_fits(&m->range, m->floor2 > l->eps2 ? m->floor2 : l->eps2);
    if (m->fits || !(l->eps2_i.base || l->floor2_i.base)) return m->fits;
    for (int i = 0; i < l->ni; i++)
        if (sap_range_fits(&m->range, soft2_of(w, i))) return 1;
    return 0;
}

/* Completes the rows of a group: counts, and what needs more digits than single precision has. */
static int finish_more(struct sap_batch_worker *w, const sapporo_small_force *l, const sapporo_result *r, int from,
                       struct more *m)
{
    const sapporo_result count = {.size = sizeof count, .count = r->count};
    int status = SAPPORO_OK;
    for (int lane = 0; lane < w->group.n && !status; lane++) {
        const int i = from + lane, sure = m->counts ? w->group.count[0][lane] : 0;
        const double soft2 = soft2_of(w, i);
        double x[3];
        memcpy(x, sap_column_at(&l->x, i, sizeof x), sizeof x);
        if (r->count) r->count[i] = finite_place(x) ? sure : -1;
        if (!finite_place(x)) continue;
        if (!(m->fits || sap_range_fits(&m->range, soft2)) || !sap_range_reaches(&m->range, x, soft2))
            status = write_in_double(w, l, r, i, m);
        else if (r->count && m->counts && w->group.count[1][lane] != sure)
            status = write_in_double(w, l, &count, i, m);
    }
    return status;
}

/* Loads a list; returns the number of targets that are not finite. */
static int load_list(struct sap_batch_worker *w, const sapporo_small_force *l, struct sap_variant *v, struct more *m)
{
    const int tiles = (l->nj + TILE - 1) / TILE;
    double most_eps2 = 0;
    const int bad = load_targets(w, l, v, &most_eps2, m);
    v->soft = l->eps2_i.base ? 1 : 0;
    for (int t = 0; t < tiles; t++) load_tile(w, l, t, v, m);
    v->wide |= most_eps2 > SAP_FAR * SAP_FAR;
    if (!m) return bad;
    v->more = (m->counts ? SAP_COUNTS : 0) | (m->quad ? SAP_QUAD : 0) | (m->floors ? SAP_FLOORS : 0);
    if (!v->more && m->floor) v->more = SAP_FLOOR;
    if (m->floor2 > 0) v->zero = 0;
    return bad;
}

/* Computes a list in the precision of the kernel; IN_DOUBLE: single precision does not hold it, and nothing is done. */
static int compute(struct sap_batch_worker *w, const sapporo_small_force *l, const sapporo_result *r, struct more *m)
{
    const int tiles = (l->nj + TILE - 1) / TILE, size = w->kernel->group;
    struct sap_variant v = {0};
    if (l->ni == 0) return SAPPORO_OK;
    int status = reserve(w, l->ni, tiles);
    if (status) return status;
    const int bad = load_list(w, l, &v, m);
    if (m && !some_fit(w, l, m)) return IN_DOUBLE;
    const struct sap_i i = {.x = (const double(*)[3])w->x,
                            .eps2 = v.soft ? w->eps2 : NULL,
                            .h2 = m && m->counts ? w->h2 : NULL,
                            .floor2 = m ? w->floor2 : NULL};
    for (int from = 0; from < l->ni && !status; from += size) {
        double sum[SAP_GROUP_MAX][SAP_SUMS2];
        w->kernel->start_group(&w->group, &i, from, l->ni - from < size ? l->ni - from : size, tiles == 1);
        for (int t = 0; t < tiles; t++) {
            const struct sap_many_args args = {.records = w->records + (size_t)t * w->tile_bytes,
                                               .first = (uint32_t)t * TILE,
                                               .n = sap_cpu_tile_count(t, l->nj),
                                               .eps2 = l->eps2,
                                               .variant = v};
            w->kernel->many_i(&args, &w->group);
        }
        w->kernel->finish_group(&w->group, w->kernel->scale, sum[0]);
        write_rows(l, r, from, w->group.n, sum);
        if (m) status = finish_more(w, l, r, from, m);
    }
    return status ? status : bad ? SAPPORO_PARTIAL : SAPPORO_OK;
}

/* Computes a list of a batch in which some list asks for more than forces of masses. */
static int compute_more(struct sap_batch_worker *w, const sapporo_small_force *given, const sapporo_result *result)
{
    sapporo_small_force l = {0};
    sapporo_result r = {0};
    (void)sap_struct_copy(&l, sizeof l, given, SAP_SMALL_FORCE_LEAST);
    (void)sap_struct_copy(&r, sizeof r, result, SAP_RESULT_LEAST);
    struct more m = {.counts = (r.count && (l.h2_i.base || l.h2_j.base)) || l.floor2_j.base,
                     .floor2 = l.floor2 >= SAP_TINY_R2 ? l.floor2 : 0,
                     .floor = l.floor2 >= SAP_TINY_R2 || l.floor2_i.base,
                     .floors = l.floor2_j.base != NULL,
                     .quad = l.quad_j.base != NULL,
                     .range.quad = l.quad_j.base ? SAP_RANGE_QUAD_ANY : 0,
                     .range.step = 0.25 * w->kernel->x_error};
    const int status = w->kernel->more_bytes ? compute(w, &l, &r, &m) : IN_DOUBLE;
    return status == IN_DOUBLE ? sap_cpu_batch_more(&w->more, w->kernel, w->host, &l, &r) : status;
}

static struct sap_batch_worker *new_worker(void)
{
    struct sap_batch_worker *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
    if (!w) return NULL;
    memset(w, 0, sizeof *w);
    w->columns = aligned_alloc(64, (sizeof *w->columns + 63) / 64 * 64);
    if (w->columns) {
        memset(w->columns, 0, sizeof *w->columns);
        return w;
    }
    free(w);
    return NULL;
}

static void free_worker(struct sap_batch_worker *w)
{
    if (!w) return;
    free(w->columns);
    free(w->records);
    free(w->x);
    free(w->eps2);
    free(w->h2);
    free(w->floor2);
    free(w->more.column);
    free(w);
}

void sap_cpu_batch_free(struct sap_cpu_set *devices)
{
    for (int k = 0; k < devices->workers; k++) free_worker(devices->worker[k]);
    free(devices->worker);
    devices->worker = NULL;
    devices->workers = 0;
}

/* Reserves entries for the memory of `threads` threads, and keeps existing ones. Returns the number of entries. */
static int reserve_workers(struct sap_cpu_set *devices, int threads)
{
    if (threads <= devices->workers) return threads;
    struct sap_batch_worker **const all = realloc(devices->worker, (size_t)threads * sizeof *all);
    if (!all) return devices->workers;
    for (int k = devices->workers; k < threads; k++) all[k] = NULL;
    devices->worker = all;
    return devices->workers = threads;
}

/* Returns the memory of a thread, allocated at first use; NULL: none. */
static struct sap_batch_worker *worker_of(struct sap_cpu_set *devices, const struct sap_jstore *host, int thread)
{
    struct sap_batch_worker **const w = &devices->worker[thread];
    if (!*w) *w = new_worker();
    if (!*w) return NULL;
    (*w)->kernel = devices->kernel;
    (*w)->host = host;
    (*w)->tile_bytes = ((*w)->kernel->tile_bytes + (*w)->kernel->soft_bytes + (*w)->kernel->more_bytes + 63) / 64 * 64;
    return *w;
}

struct batch {
    struct sap_items items;
    struct sap_cpu_set *devices;
    const struct sap_jstore *host;
    const struct sap_batch *m;
    atomic_int failed, partial, done; /* done: lists */
};

/* Computes lists in one thread. A thread without memory computes none. */
static void take_lists(void *argument, int thread)
{
    struct batch *const b = argument;
    struct sap_batch_worker *const w = worker_of(b->devices, b->host, thread);
    int failed = 0, partial = 0, done = 0;
    ptrdiff_t from, to;
    while (w && sap_items_take(&b->items, &from, &to))
        for (int k = (int)from; k < to; k++, done++) {
            const sapporo_small_force *const l = sap_batch_force(b->m, k);
            const sapporo_result *const r = sap_batch_result(b->m, k);
            const int status = b->m->more ? compute_more(w, l, r) : compute(w, l, r, NULL);
            failed |= status < 0;
            partial |= status == SAPPORO_PARTIAL;
        }
    if (failed) atomic_store(&b->failed, 1);
    if (partial) atomic_store(&b->partial, 1);
    if (done) atomic_fetch_add(&b->done, done);
}

int sap_cpu_batch(struct sap_device_set *opaque_set, struct sap_store *opaque_store, const struct sap_jstore *host,
                  const struct sap_batch *m)
{
    struct sap_cpu_set *const devices = (void *)opaque_set;
    struct sap_cpu_store *const store = (void *)opaque_store;
    enum { LISTS_AT_ONCE = 4 };
    struct batch b = {.devices = devices, .host = host, .m = m};
    double pairs = 0;
    (void)store; /* sources come from the host's copy */
    for (int k = 0; k < m->nlists; k++) pairs += (double)sap_batch_force(m, k)->ni * sap_batch_force(m, k)->nj;
    const double useful = pairs / pairs_per_thread + 1;
    const int wanted = sap_threads_now(useful < devices->threads ? (int)useful : devices->threads);
    const int threads = reserve_workers(devices, wanted);
    if (threads == 0) return SAPPORO_ERR_MEMORY;
    sap_items_start(&b.items, m->nlists, LISTS_AT_ONCE);
    sap_team_run(threads, take_lists, &b);
    if (atomic_load(&b.failed) || atomic_load(&b.done) < m->nlists) return SAPPORO_ERR_MEMORY;
    return atomic_load(&b.partial) ? SAPPORO_PARTIAL : SAPPORO_OK;
}
