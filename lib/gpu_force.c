/* gpu_force.c - a force on accelerators: what is launched, and what comes back. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_engine.h"

enum { SUPER = SAP_GPU_SUPERPACKET, SUMS = SAP_GPU_OUT_SUMS, RECORDS = 64 << 20 /* bytes of records of a slab */ };

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

/* ------------------------------------------------------------------- input */

/* Softened squared radius, in single precision and rounded up, that holds whoever may belong into a list. */
static float reach_of(const struct sap_device_set *set, const struct sap_force_request *r, int i)
{
    if (!r->h2 || !(r->h2[i] > 0)) return 0;
    const double size = fmax(fabs(r->x[i][0]), fmax(fabs(r->x[i][1]), fabs(r->x[i][2])));
    const double h = sqrt(r->h2[i]), far = h * (1 + set->r2_error) + set->x_error * (size + h);
    const double reach = (far * far + r->eps2) * (1 + set->r2_error) * (1 + 0x1p-22) + 0x1p-126;
    return reach < FLT_MAX ? (float)reach : FLT_MAX;
}

static void fill_i(const struct sap_device_set *set, const struct sap_force_request *r, unsigned extra,
                   struct sap_gpu_i *to)
{
    for (int i = 0; i < r->ni; i++) {
        memcpy(to[i].x, r->x[i], sizeof to[i].x);
        memcpy(to[i].v, r->v[i], sizeof to[i].v);
        to[i].index = r->index ? r->index[i] : 0;
        to[i].h2 = extra & SAP_EXTRA_LISTS && r->h2 ? r->h2[i] : 0;
        to[i].reach = extra & SAP_EXTRA_LISTS ? reach_of(set, r, i) : 0;
    }
}

/* ------------------------------------------------------------------ launch */

int sap_gpu_launch_force(struct sap_gpu_slab *s)
{
    const struct sap_device_set *set = s->store->set;
    struct sap_gpu_share *h = s->share;
    const struct sap_gpu_shape *shape = &s->shape;
    const struct sap_gpu_kernels *k = h->device->kernels;
    const struct sap_argument a[] = {
        MEM(h->j),   MEM(h->predicted), MEM(h->i),        MEM(h->record), MEM(h->near),
        MEM(h->hit), MEM(h->hit_count), MEM(h->counters), VALUE(s->f),    VALUE(shape->rows_per_group)};
    const unsigned rows = (unsigned)((s->f.ni + shape->rows_per_group - 1) / shape->rows_per_group);
    if (shape->many) {
        const unsigned groups[2] = {rows, (unsigned)s->f.superpackets};
        return sap_gpu_launch(h, set->driver, k->many[shape->which][s->near][s->zero], groups, SAP_GPU_MANY_THREADS, 0,
                              a, COUNT(a));
    }
    const unsigned groups[2] = {(unsigned)s->f.superpackets, rows};
    return sap_gpu_launch(h, set->driver, k->few[shape->which][s->near][s->zero], groups, SAP_GPU_FEW_THREADS,
                          sap_gpu_few_shared(set, shape->which), a, COUNT(a));
}

/* Lanes that share a row when its records are added up. */
static int sharing_lanes(const struct sap_gpu_share *h, const struct sap_gpu_force *f)
{
    const long long threads = (long long)h->device->properties.units * 1024;
    int parts = 1;
    while (parts < 32 && parts * 4 <= f->superpackets && (long long)f->ni * SUMS * parts * 2 <= threads) parts *= 2;
    return parts;
}

static int launch_finish(struct sap_gpu_slab *s, unsigned extra)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    const int parts = sharing_lanes(h, &s->f);
    const struct sap_argument sums[] = {MEM(h->record), MEM(s->part->out), VALUE(s->f), VALUE(parts)};
    const unsigned groups[2] = {(unsigned)(((long long)s->f.ni * parts + 127) / 128), SUMS};
    TRY(sap_gpu_launch(h, d, h->device->kernels->sums, groups, 128, 0, sums, COUNT(sums)));
    if (!(extra & SAP_EXTRA_NEAREST)) return SAP_DRIVER_OK;
    const struct sap_argument near[] = {MEM(h->j), MEM(h->near), MEM(h->i), MEM(s->part->lists), VALUE(s->f)};
    const unsigned warps[2] = {(unsigned)(s->f.ni + 3) / 4, 1};
    return sap_gpu_launch(h, d, h->device->kernels->nearest, warps, 128, 0, near, COUNT(near));
}

/* Rows of a slab: their records fit into what is set aside for them. */
static int slab_rows(const struct sap_gpu_slab *s, int ni)
{
    const size_t row = (size_t)s->f.superpackets * (s->near ? SUMS + 3 : SUMS) * sizeof(double);
    size_t rows = row > 0 ? RECORDS / row : (size_t)ni;
    rows -= rows % 256;
    if (rows < 256) rows = 256;
    return rows < (size_t)ni ? (int)rows : ni;
}

static int reserve_records(struct sap_gpu_slab *s, int rows)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    struct sap_dev *dev = h->device->dev;
    const size_t records = (size_t)s->f.superpackets * (size_t)rows * sizeof(double);
    TRY(sap_gpu_reserve(d, dev, &h->record, records * SUMS + 1));
    TRY(sap_gpu_reserve(d, dev, &h->near, s->near ? records * 3 : 1));
    TRY(sap_gpu_reserve(d, dev, &h->hit, 1));
    TRY(sap_gpu_reserve(d, dev, &h->hit_count, 1));
    TRY(sap_gpu_reserve(d, dev, &h->predicted, 1));
    return sap_gpu_reserve(d, dev, &h->counters, sizeof(struct sap_gpu_counters));
}

static const struct sap_gpu_counters no_counts = {0, INT_MAX, 0, 0};

/* All i-particles against the j-particles of one device, slab by slab. */
static int launch_slabs(struct sap_force *force, struct sap_gpu_slab *s, unsigned extra)
{
    const struct sap_driver *d = s->store->set->driver;
    const int ni = force->request.ni, rows = slab_rows(s, ni);
    TRY(reserve_records(s, rows));
    s->f.room_i = rows;
    TRY(d->copy_in(s->share->stream, s->share->counters.mem, 0, &no_counts, sizeof no_counts));
    s->part->entries = 0;
    for (s->f.first_i = 0; s->f.first_i < ni; s->f.first_i += rows) {
        s->f.ni = ni - s->f.first_i < rows ? ni - s->f.first_i : rows;
        s->shape = sap_gpu_choose_shape(s->store->set, s->share->device, s->f.ni, s->f.superpackets,
                                        s->share->valid && s->share->time == s->f.time && s->share->nj == s->f.nj);
        s->f.fused = !s->shape.many && s->shape.fused;
        if (s->f.superpackets > 0 && !s->f.fused) TRY(sap_gpu_store_predict(s->store, s->share, &s->f));
        if (s->f.superpackets > 0 && s->near == 2) /* waits: the lists of a slab must be had before the next */
            TRY(sap_gpu_lists_slab(force, s));
        else if (s->f.superpackets > 0)
            TRY(sap_gpu_launch_force(s));
        TRY(launch_finish(s, extra));
    }
    if (!s->zero) return SAP_DRIVER_OK;
    return d->copy_out(s->share->stream, s->part->counters.host, s->share->counters.mem, 0, sizeof no_counts);
}

/* -------------------------------------------------------------- one device */

static struct sap_gpu_force kernel_force(const struct sap_store *store, const struct sap_force *force, int device)
{
    const struct sap_force_request *r = &force->request;
    return (struct sap_gpu_force){.time = r->time,
                                  .eps2 = r->eps2,
                                  .r2_error = store->set->r2_error,
                                  .x_error = store->set->x_error,
                                  .nj = force->nj,
                                  .superpackets = force->superpackets[device],
                                  .devices = store->set->n,
                                  .device = device,
                                  .terms = store->terms,
                                  .skip_own = r->rule == SAP_PAIRS_SKIP_OWN,
                                  .out_rows = r->ni,
                                  .accumulate = force->accumulate};
}

static int reserve_part(struct sap_store *store, struct sap_gpu_share *h, struct sap_gpu_part *p, int ni, int columns)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_dev *dev = h->device->dev;
    const size_t n = (size_t)ni;
    TRY(sap_gpu_reserve_pinned(d, dev, &p->i_host, n * sizeof(struct sap_gpu_i)));
    TRY(sap_gpu_reserve_pinned(d, dev, &p->out, n * (size_t)columns * sizeof(double)));
    TRY(sap_gpu_reserve_pinned(d, dev, &p->lists, n * 2 * sizeof(double)));
    TRY(sap_gpu_reserve_pinned(d, dev, &p->counters, sizeof no_counts));
    if (!p->done) TRY(d->event_create(dev, &p->done));
    return SAP_DRIVER_OK;
}

static int start_device(struct sap_store *store, struct sap_force *force, int k, unsigned extra)
{
    struct sap_gpu_share *h = &store->share[k];
    struct sap_gpu_part *p = &force->part[k];
    const int ni = force->request.ni;
    if (!h->stream) TRY(store->set->driver->stream_create(h->device->dev, &h->stream));
    TRY(reserve_part(store, h, p, ni, force->accumulate ? 6 * SUMS : SUMS));
    fill_i(store->set, &force->request, extra, p->i_host.host);
    TRY(sap_gpu_store_send(store, h, &p->i_host, ni));
    struct sap_gpu_slab s = {.store = store, .share = h, .part = p};
    s.f = kernel_force(store, force, k);
    s.near = extra & SAP_EXTRA_LISTS ? 2 : extra & SAP_EXTRA_NEAREST ? 1 : 0;
    s.zero = force->request.eps2 < SAP_TINY_R2;
    TRY(launch_slabs(force, &s, extra));
    return store->set->driver->event_record(p->done, h->stream);
}

/* Remembers what a failure means for what comes after. */
static int judge(struct sap_store *store, int k, int status)
{
    if (status == SAP_DRIVER_LOST) store->broken = 1, store->set->device[k].lost = 1;
    if (status) store->lost = 1;
    return sap_gpu_status(status);
}

static int start(struct sap_store *store, struct sap_force *force, unsigned extra)
{
    const struct sap_driver *d = store->set->driver;
    const int n = store->set->n;
    if (store->broken) return SAPPORO_ERR_DEVICE;
    for (int k = 0; k < n; k++) {
        struct sap_gpu_share *h = &store->share[k];
        const int status = h->stream ? SAP_DRIVER_OK : d->stream_create(h->device->dev, &h->stream);
        if (status) return judge(store, k, status);
    }
    int status = sap_gpu_store_update(store);
    if (status) return judge(store, 0, status);
    force->gathered = 0;
    for (int k = 0; k < n && !status; k++) {
        status = d->enter(store->share[k].device->dev);
        if (status) return judge(store, k, status);
        status = start_device(store, force, k, extra);
        d->leave(store->share[k].device->dev);
        if (status) return judge(store, k, status);
    }
    force->have |= extra;
    return SAPPORO_OK;
}

/* ------------------------------------------------------------------- begin */

static void count_superpackets(const struct sap_store *store, struct sap_force *force)
{
    const int all = (force->nj + SUPER - 1) / SUPER, n = store->set->n;
    for (int k = 0; k < n; k++) force->superpackets[k] = all > k ? (all - k + n - 1) / n : 0;
}

static int reserve(struct sap_force *f, int ni)
{
    if (ni <= f->room) return SAPPORO_OK;
    free(f->sum);
    free(f->accum);
    free(f->nearest);
    free(f->nearest_r2);
    const size_t n = (size_t)ni;
    f->sum = malloc(n * sizeof *f->sum);
    f->accum = f->accumulate ? malloc(n * sizeof *f->accum) : NULL;
    f->nearest = malloc(n * sizeof *f->nearest);
    f->nearest_r2 = malloc(n * sizeof *f->nearest_r2);
    f->room = f->sum && f->nearest && f->nearest_r2 && (f->accum || !f->accumulate) ? ni : 0;
    return f->room ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

int sap_gpu_begin(struct sap_store *store, const struct sap_force_request *request, struct sap_force **force)
{
    struct sap_force *f = *force;
    if (!f) f = calloc(1, sizeof *f + (size_t)store->set->n * sizeof f->part[0]);
    if (!f) return SAPPORO_ERR_MEMORY;
    *force = f;
    f->set = store->set;
    f->request = *request;
    f->nj = request->nj < store->host->upper ? request->nj : store->host->upper;
    f->have = 0;
    f->failed = SAPPORO_OK;
    const int accumulate = store->set->n > 1 || (request->extra & SAP_EXTRA_ACCUM);
    if (accumulate != f->accumulate) f->room = 0;
    f->accumulate = accumulate;
    for (int q = 0; q < SUMS; q++) f->scale[q] = q == 0 ? -1.0 : 1.0;
    count_superpackets(store, f);
    int status = reserve(f, request->ni > 0 ? request->ni : 1);
    if (!status && request->ni > 0) status = start(store, f, request->extra);
    if (request->ni == 0) f->have |= request->extra, f->gathered = 1;
    return status;
}

int sap_gpu_extra(struct sap_store *store, struct sap_force *f, unsigned wanted)
{
    if (!(wanted & ~f->have)) return SAPPORO_OK;
    const int status = start(store, f, wanted | f->have);
    if (status) f->failed = status;
    return status;
}

/* --------------------------------------------------------------------- end */

static struct sap_accum accum_at(const double *out, size_t ni, int q, int i)
{
    struct sap_accum a;
    const double *at = out + (size_t)q * 6 * ni + (size_t)i;
    a.unit = at[0];
    for (int k = 0; k < SAP_LIMBS; k++) a.limb[k] = at[(size_t)(k + 1) * ni];
    a.special = at[5 * ni];
    return a;
}

static void gather_sums(struct sap_force *f)
{
    const int ni = f->request.ni;
    if (!f->accumulate) {
        const double *out = f->part[0].out.host;
        for (int q = 0; q < SUMS; q++)
            for (int i = 0; i < ni; i++) f->sum[i][q] = f->scale[q] * out[(size_t)q * (size_t)ni + (size_t)i];
        return;
    }
    for (int i = 0; i < ni; i++)
        for (int q = 0; q < SUMS; q++) {
            struct sap_accum a = accum_at(f->part[0].out.host, (size_t)ni, q, i);
            for (int k = 1; k < f->set->n; k++) {
                const struct sap_accum b = accum_at(f->part[k].out.host, (size_t)ni, q, i);
                sap_accum_merge(&a, &b);
            }
            f->accum[i][q] = a;
            f->sum[i][q] = f->scale[q] * sap_accum_round(&a);
        }
}

/* Ties go to the lower address; addresses of devices are local. */
static void gather_nearest(struct sap_force *f)
{
    const int ni = f->request.ni, n = f->set->n;
    for (int i = 0; i < ni; i++) {
        long long best = -1;
        f->nearest[i] = -1;
        f->nearest_r2[i] = INFINITY;
        for (int k = 0; k < n; k++) {
            const double *out = f->part[k].lists.host;
            int32_t who[2];
            memcpy(who, out + ni + i, sizeof who);
            if (who[0] < 0) continue;
            const long long address = ((long long)(who[0] / SUPER) * n + k) * SUPER + who[0] % SUPER;
            if (best >= 0 && (out[i] > f->nearest_r2[i] || (out[i] == f->nearest_r2[i] && address > best))) continue;
            best = address;
            f->nearest[i] = who[1];
            f->nearest_r2[i] = out[i];
        }
    }
}

static int gather(struct sap_force *f)
{
    const struct sap_driver *d = f->set->driver;
    for (int k = 0; k < f->set->n; k++) {
        const int status = d->event_wait(f->part[k].done);
        if (status == SAP_DRIVER_LOST) f->set->device[k].lost = 1;
        if (status) return f->failed = sap_gpu_status(status);
    }
    gather_sums(f);
    if (f->have & SAP_EXTRA_NEAREST) gather_nearest(f);
    f->coincident = -1;
    for (int k = 0; k < f->set->n && f->request.eps2 < SAP_TINY_R2; k++) {
        const struct sap_gpu_counters *c = f->part[k].counters.host;
        if (c->coincident != INT_MAX && (f->coincident < 0 || c->coincident < f->coincident))
            f->coincident = c->coincident;
    }
    f->gathered = 1;
    return SAPPORO_OK;
}

int sap_gpu_done(struct sap_force *f)
{
    if (f->gathered || f->failed) return 1;
    for (int k = 0; k < f->set->n; k++)
        if (f->set->driver->event_query(f->part[k].done) == SAP_DRIVER_PENDING) return 0;
    return 1;
}

int sap_gpu_end(const struct sap_force *force, struct sap_force_output *out)
{
    struct sap_force *f = (struct sap_force *)(uintptr_t)force; /* what is gathered is no part of what it is */
    if (f->failed) return f->failed;
    if (!f->gathered) {
        const int status = gather(f);
        if (status) return status;
    }
    const int near = (f->have & SAP_EXTRA_NEAREST) != 0;
    out->sum = (const double(*)[SUMS])f->sum;
    out->accum = f->have & SAP_EXTRA_ACCUM ? (const struct sap_accum(*)[SUMS])f->accum : NULL;
    memcpy(out->accum_scale, f->scale, sizeof out->accum_scale);
    out->nearest = near ? f->nearest : NULL;
    out->nearest_r2 = near ? f->nearest_r2 : NULL;
    out->coincident = f->coincident;
    return SAPPORO_OK;
}

void sap_gpu_drop(struct sap_force *f)
{
    if (!f) return;
    const struct sap_driver *d = f->set->driver;
    for (int k = 0; k < f->set->n; k++) {
        struct sap_gpu_part *p = &f->part[k];
        if (p->done) {
            (void)d->event_wait(p->done); /* the device may still write into what is freed now */
            d->event_destroy(p->done);
        }
        sap_gpu_free(d, &p->i_host);
        sap_gpu_free(d, &p->out);
        sap_gpu_free(d, &p->lists);
        sap_gpu_free(d, &p->counters);
        sap_gpu_free(d, &p->list_entries);
        sap_gpu_free(d, &p->list_rows);
        free(p->first);
        free(p->count);
    }
    free(f->sum);
    free(f->accum);
    free(f->nearest);
    free(f->nearest_r2);
    free(f->merged);
    free(f);
}
