/* gpu_input.c - the i-particles of a force on accelerators: into pinned memory, and from there to each device. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/finite.h"
#include "base/stream.h"
#include "base/team.h"
#include "base/threads.h"
#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/engine.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_force.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_modes.h"
#include "gpu/gpu_shape.h"
#include "gpu/gpu_store.h"
#include "physics/arithmetic.h"

enum {
    DIRECT = 1,    /* superpackets: for so few, kernels read i-particles from host memory directly */
    FEW_ROWS = 256 /* rows that the caches keep for the device */
};

/* Returns fmax of two numbers, without a function call. */
static inline double larger(double a, double b) { return a > b ? a : b; }

static inline double largest(const double *x) { return larger(fabs(x[0]), larger(fabs(x[1]), fabs(x[2]))); }

/*
 * Returns a softened squared radius, in single precision and rounded up, that holds each possible member of a list. In
 * dp it is infinite beyond the range of single precision, since distances in dp exceed that range: then each particle
 * is a candidate.
 */
static float reach_of(const struct sap_gpu_set *set, const struct sap_force_request *r, int i)
{
    if (!r->h2 || !(r->h2[i] > 0)) return 0;
    const double size = largest(r->x[i]);
    const double h = sqrt(r->h2[i]), far = h * (1 + set->r2_error) + set->x_error * (size + h);
    /* whether kernels compare softened distances depends on the order and on lengths */
    const double softened = sap_gpu_near_eps2(set, r->eps2);
    const double reach = (far * far + softened) * (1 + set->r2_error) * (1 + 0x1p-22) + 0x1p-126;
    return reach < FLT_MAX ? (float)reach : set->precision == SAPPORO_DP ? INFINITY : FLT_MAX;
}

/* Splits a row into words for kernels without double precision. */
static void split_row(const double *x, const double *v, struct sap_gpu_i *to)
{
    struct sap_gpu_split s;
    _Static_assert(sizeof s == sizeof to->v, "in its place");
    for (int k = 0; k < 3; k++) {
        s.v[k] = (float)v[k];
        s.low[k] = (float)(x[k] - (double)(float)x[k]);
    }
    memcpy(to->v, &s, sizeof s);
}

int sap_gpu_units(const struct sap_gpu_set *set, const struct sap_force_request *r)
{
    return sap_gpu_outside(r, r->extra) ? (int)SAP_GPU_UNITS_OUTSIDE : set->units;
}

/* Returns an upper bound of x in the working type. Kernels multiply it by masses, which may be 0. */
static inline double bound_of(const struct sap_gpu_set *set, double x)
{
    if (set->precision == SAPPORO_DP) return x < DBL_MAX ? x : DBL_MAX;
    return x < FLT_MAX * (1 - 0x1p-20) ? (double)(float)(x * (1 + 0x1p-22)) : FLT_MAX;
}

/*
 * Fills the second unit of a regular force. Errors proportional to a separation are far below the margin of 2^-10 in
 * its square. Other errors, `off`, come from the coordinates of i and from its motion until the time ahead. Errors that
 * grow with the present distance are known to kernels (load_sphere of device/working.h). A margin in (r + off)^2 of r^2
 * 2^-11 + off^2 2^12 covers half of each.
 */
static void fill_outside(const struct sap_gpu_set *set, const struct sap_force_request *r, int i, struct sap_gpu_i *to)
{
    const double ahead = r->dtr ? r->dtr[i] : 0, h2 = r->h2 ? r->h2[i] : 0, *const x = r->x[i], *const v = r->v[i];
    const double way = fabs(ahead) * largest(v);
    const double off = 4 * set->x_error * largest(x) + 8 * set->r2_error * way, widen = 1 + 2 * set->r2_error;
    const double margin = (off * off * 0x1p13 + r->eps2) * widen, most = h2 * (1 + 0x1p-10) * widen;
    /* particles at the same position leave the sums */
    const double tiny = set->precision == SAPPORO_DP ? DBL_MIN : SAP_TINY_R2;
    double reach = tiny, weight = 0;
    if (h2 > 0) {
        weight = r->h2_by_mass ? bound_of(set, most) : 0;
        /* beyond the range, each particle is a candidate */
        reach = larger(bound_of(set, r->h2_by_mass && most < (double)FLT_MAX ? margin : margin + most), tiny);
    }
    for (int k = 0; k < 3; k++) to->x[k] = v[k];
    if (set->has_fp64) { /* one by one: a wide read of words that were just written separately stalls */
        to->v[SAP_GPU_I_REACH] = reach;
        to->v[SAP_GPU_I_WEIGHT] = weight;
        to->v[SAP_GPU_I_AHEAD] = ahead;
    } else {
        split_row(
            x, (const double[]){[SAP_GPU_I_REACH] = reach, [SAP_GPU_I_WEIGHT] = weight, [SAP_GPU_I_AHEAD] = ahead}, to);
    }
    to->h2 = ahead;
    to->index = 0;
    to->reach = 0;
}

/* Fills the second unit: acceleration and jerk, if the order has them, and softening. */
static void fill_more(const struct sap_gpu_set *set, const struct sap_force_request *r, int i, struct sap_gpu_i *to)
{
    static const double none[3];
    const double *const jerk = r->jerk ? r->jerk[i] : none;
    memset(to, 0, sizeof *to);
    if (r->a) memcpy(to->x, r->a[i], sizeof to->x);
    if (set->has_fp64)
        memcpy(to->v, jerk, sizeof to->v);
    else
        split_row(none, jerk, to);
    to->h2 = r->eps2_i ? r->eps2_i[i] : r->eps2;
}

/* lists: 1: there are neighbour lists; 2: their members leave the sums. */
static inline void fill_row(const struct sap_gpu_set *set, const struct sap_force_request *r, int lists, int i,
                            struct sap_gpu_i *to)
{
    memcpy(to->x, r->x[i], sizeof to->x);
    const double eps2[3] = {[SAP_GPU_I_EPS2] = r->eps2_i ? r->eps2_i[i] : r->eps2};
    const double *const v = set->order == 2 ? eps2 : r->v[i];
    if (set->has_fp64)
        memcpy(to->v, v, sizeof to->v);
    else
        split_row(r->x[i], v, to);
    to->h2 = lists && r->h2 ? r->h2[i] : 0;
    to->index = r->index ? r->index[i] : 0;
    to->reach = lists == 1 ? reach_of(set, r, i) : 0;
    if (lists > 1)
        fill_outside(set, r, i, to + 1);
    else if (set->units > 1)
        fill_more(set, r, i, to + 1);
}

/* Fills a row of one unit without a list past the caches, since only the device reads it. */
static inline void stream_row(const struct sap_gpu_set *set, const struct sap_force_request *r, int i,
                              struct sap_gpu_i *to)
{
    const double eps2[3] = {[SAP_GPU_I_EPS2] = r->eps2_i ? r->eps2_i[i] : r->eps2};
    const double *const x = r->x[i], *const v = set->order == 2 ? eps2 : r->v[i];
    const uint64_t index_and_reach = (uint32_t)(r->index ? r->index[i] : 0);
    char *const at = (char *)to;
    _Static_assert(offsetof(struct sap_gpu_i, h2) == 48 && sizeof *to == 64, "four parts of 16 bytes");
    sap_stream(at, (sap_stream_unit)two_at(x));
    sap_stream(at + 16, (sap_stream_unit)pair_of(x[2], v[0]));
    sap_stream(at + 32, (sap_stream_unit)two_at(v + 1));
    sap_stream(at + 48, (sap_stream_unit){0, index_and_reach});
}

/* Fills rows from `first` on. */
struct filling {
    struct sap_gpu_host_force *force;
    int first, lists, units, past_caches;
};

static void fill_range(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct filling *const f = argument;
    struct sap_gpu_i *const all = f->force->part[0].i_host.host;
    if (f->past_caches) {
        for (ptrdiff_t i = f->first + from; i < f->first + to; i++)
            stream_row(f->force->set, &f->force->request, (int)i, all + i);
        sap_stream_end();
        return;
    }
    for (ptrdiff_t i = f->first + from; i < f->first + to; i++)
        fill_row(f->force->set, &f->force->request, f->lists, (int)i, all + i * f->units);
}

void sap_gpu_fill_i(struct sap_gpu_host_force *force, unsigned extra, int from, int end)
{
    const struct sap_force_request *r = &force->request;
    const int threads = sap_threads_for_rows(end - from);
    const int lists = sap_gpu_outside(r, extra) ? 2 : (extra & SAP_EXTRA_LISTS) != 0;
    struct filling f = {force, from, lists, sap_gpu_units(force->set, r), 0};
    f.past_caches = f.units == 1 && !lists && end - from >= FEW_ROWS && force->set->has_fp64 &&
                    !force->set->driver->pinned_to_device;
    if (threads == 1)
        fill_range(&f, 0, end - from);
    else
        sap_team_for(threads, end - from, sap_team_chunk(end - from, threads, 64), fill_range, &f);
}

const struct sap_gpu_buffer *sap_gpu_pinned_i(const struct sap_gpu_host_force *force, int k)
{
    return &force->part[force->set->driver->pinned_for_all ? 0 : k].i_host;
}

/* Copies i-particles first .. first + n - 1 for device k if it cannot read the first device's pinned memory. */
static void share_i(struct sap_gpu_host_force *force, int k, int first, int n)
{
    const struct sap_gpu_buffer *own = sap_gpu_pinned_i(force, k), *common = &force->part[0].i_host;
    const size_t each = (size_t)sap_gpu_units(force->set, &force->request) * sizeof(struct sap_gpu_i);
    const size_t at = (size_t)first * each;
    if (own != common) memcpy((char *)own->host + at, (const char *)common->host + at, (size_t)n * each);
}

/* Uploads the i-particles of the first slab to a device. */
static int bring_first(struct sap_gpu_slab *s, const struct sap_gpu_buffer *i, int n, int ni)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_share *h = s->share;
    const int units = s->f.units;
    const size_t each = (size_t)units * sizeof(struct sap_gpu_i);
    s->i = i->mem;
    if (ni * units <= SAP_GPU_INLINE && h->updates == 0 && s->near < SAP_EXTRA_LISTS && !sap_gpu_shape_of(s, ni).many) {
        s->f.inlined = 1; /* the launches of few-target kernels carry the i-particles */
        memcpy(s->f.inline_i, i->host, (size_t)ni * each);
        return SAP_DRIVER_OK;
    }
    if (s->f.superpackets <= DIRECT && h->updates == 0)
        return sap_gpu_to_device(h->stream, d, s->i, 0, (size_t)n * each);
    TRY(sap_gpu_reserve(d, h->device->dev, &h->sums.i, (size_t)ni * each));
    TRY(sap_gpu_store_send(s->store, h, i, n * units));
    s->i = h->sums.i.mem;
    return SAP_DRIVER_OK;
}

int sap_gpu_bring_i(struct sap_gpu_host_force *force, int k, int first, int n)
{
    struct sap_gpu_store *store = force->store;
    const struct sap_driver *d = store->set->driver;
    struct sap_gpu_share *h = &store->share[k];
    struct sap_gpu_slab *s = &force->part[k].slab;
    const struct sap_gpu_buffer *i = sap_gpu_pinned_i(force, k);
    const size_t each = (size_t)s->f.units * sizeof(struct sap_gpu_i);
    const size_t at = (size_t)first * each, bytes = (size_t)n * each;
    share_i(force, k, first, n);
    if (first == 0) return bring_first(s, i, n, force->request.ni);
    if (s->i == i->mem) return sap_gpu_to_device(h->stream, d, s->i, at, bytes);
    return d->copy_in(h->stream, s->i, at, (const char *)i->host + at, bytes);
}
