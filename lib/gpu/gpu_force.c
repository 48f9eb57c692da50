/* gpu_force.c - a force on accelerators: launches, and copies of the results. */
#include "gpu/gpu_force.h"

#include <limits.h>
#include <stdlib.h>

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/engine.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_gather.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_lists.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_modes.h"
#include "gpu/gpu_shape.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_store.h"
#include "physics/arithmetic.h"

enum { EARLY = 512 /* i-particles whose copying takes as long as a prediction */ };

static int lists(const struct sap_gpu_slab *s) { return s->f.superpackets > 0 && s->near >= SAP_EXTRA_LISTS; }

/* Returns the columns of doubles in the results. */
static int columns_of(const struct sap_gpu_set *set, int accumulate) { return accumulate ? 6 * set->sums : set->sums; }

/* ------------------------------------------------------------------ launch */

/* For regular forces: adds up the records without the members of lists, and sorts the lists. */
static int launch_sums_outside(const struct sap_gpu_slab *s, struct sap_mem *out, const struct sap_gpu_force *f)
{
    const struct sap_gpu_sums *const h = s->sums;
    const struct sap_gpu_part *const p = s->part;
    const int parts = sap_gpu_sharing_lanes(s, f);
    const unsigned rows = (unsigned)(((long long)f->ni * parts + 127) / 128);
    const struct sap_gpu_grid grid = {.stream = s->stream,
                                      .driver = s->set->driver,
                                      .groups = {rows * (unsigned)f->sums + sap_gpu_sort_groups(f->ni), 1},
                                      .threads = 128};
    return sap_direct_finish_sums_outside(&grid, s->device->kernels->sums_outside, h->record.mem, out, *f, parts, s->j,
                                          s->i, sap_gpu_outside_of(s), h->lists.offset.mem, h->lists.cursor.mem,
                                          h->lists.entry.mem, h->counters.mem, p->list_rows.mem, p->list_entries.mem,
                                          p->entry_room, p->list_room);
}

int sap_gpu_launch_all_sums(const struct sap_gpu_slab *s, struct sap_mem *out, const struct sap_gpu_force *f)
{
    return s->outside && lists(s) ? launch_sums_outside(s, out, f) : sap_gpu_launch_sums(s, out, f);
}

static int launch_finish(struct sap_gpu_slab *s, unsigned extra)
{
    if (s->gathers)
        TRY(sap_gpu_gather_slab(s));
    else if (!s->f.lone)
        TRY(sap_gpu_launch_all_sums(s, s->part->out.mem, &s->f));
    return extra & SAP_EXTRA_NEAREST ? sap_gpu_launch_nearest(s, s->part->lists.mem) : (int)SAP_DRIVER_OK;
}

/* Copies columns of doubles that kernels have written for a slab. */
static int columns_to_host(const struct sap_gpu_slab *s, const struct sap_gpu_buffer *b, int columns)
{
    const struct sap_driver *d = s->store->set->driver;
    const int whole = s->f.ni == s->f.out_rows;
    const size_t bytes = (size_t)s->f.ni * sizeof(double) * (size_t)(whole ? columns : 1);
    for (int c = 0; c < (whole ? 1 : columns); c++) {
        const size_t at = (size_t)c * (size_t)s->f.out_rows + (size_t)s->f.first_i;
        TRY(sap_gpu_to_host(s->share->stream, d, b->mem, at * sizeof(double), bytes));
    }
    return SAP_DRIVER_OK;
}

static int results_to_host(const struct sap_gpu_slab *s, unsigned extra)
{
    const int sums = s->share == s->store->share || !s->gathers;
    if (!s->store->set->driver->pinned_to_host) return SAP_DRIVER_OK;
    if (sums) TRY(columns_to_host(s, &s->part->out, columns_of(s->store->set, s->f.accumulate)));
    return extra & SAP_EXTRA_NEAREST ? columns_to_host(s, &s->part->lists, 2) : (int)SAP_DRIVER_OK;
}

static const struct sap_gpu_counters no_counts = {.coincident = SAP_GPU_NOBODY};

/* Records, at intervals, that the rows up to `rows` are complete. */
static int mark_ready(struct sap_gpu_slab *s, int rows, int ni)
{
    const struct sap_driver *d = s->store->set->driver;
    struct sap_gpu_part *p = s->part;
    if (rows < ni && (long long)rows * SAP_GPU_PARTS < (long long)ni * (p->parts + 1)) return SAP_DRIVER_OK;
    if (rows == ni || p->parts == SAP_GPU_PARTS - 1) return SAP_DRIVER_OK; /* `done` stands for the last part */
    struct sap_event **e = &p->ready[p->parts];
    if (!*e) TRY(d->event_create(s->share->device->dev, e));
    TRY(d->event_record(*e, s->share->stream));
    p->ready_rows[p->parts++] = rows;
    return SAP_DRIVER_OK;
}

static void stop_work(struct sap_gpu_store *store)
{
    if (store->entered) store->set->driver->leave(store->share[store->entered - 1].device->dev);
    store->entered = 0;
}

/* Makes the context of device k current, and leaves any other one, until the next call. */
static int work_on(struct sap_gpu_store *store, int k)
{
    store->at = k;
    if (store->entered == k + 1) return SAP_DRIVER_OK;
    stop_work(store);
    const int status = store->set->driver->enter(store->share[k].device->dev);
    if (!status) store->entered = k + 1;
    return status;
}

/* Whether force kernels write the sums of a slab, as there is one superpacket. */
static int is_lone(const struct sap_gpu_slab *s)
{
    return s->f.superpackets == 1 && !s->f.accumulate && !s->again && !s->outside && s->store->set->has_fp64 &&
           !s->gathers;
}

/* Launches the i-particles of s->f against the j-particles of one device. */
static int launch_pairs(struct sap_gpu_slab *s)
{
    s->shape = sap_gpu_shape_of(s, s->f.ni);
    s->f.fused = !s->shape.many && s->shape.fused;
    s->f.lone = is_lone(s);
    if (s->f.lone && !s->shape.many && s->f.ni == s->f.out_rows) s->f.lone = SAP_GPU_BY_ROW;
    if (!s->again) s->part->by_row = s->f.lone == SAP_GPU_BY_ROW;
    if (s->f.superpackets == 0) return SAP_DRIVER_OK;
    if (!s->f.fused) TRY(sap_gpu_store_predict(s->store, s->share, &s->f));
    s->out = s->part->out.mem;
    return sap_gpu_launch_force(s);
}

/* Launches the kernels that turn the records of pairs into results. */
static int launch_results(struct sap_gpu_slab *s, int ni, unsigned extra)
{
    if (s->outside && lists(s)) TRY(sap_gpu_lists_fill(s, ni)); /* regular forces need the members before the sums */
    if (!s->again) {
        TRY(launch_finish(s, extra));
        TRY(results_to_host(s, extra));
        TRY(mark_ready(s, s->f.first_i + s->f.ni, ni));
    }
    if (!lists(s) || s->outside) return SAP_DRIVER_OK; /* the kernels of the sums have sorted the lists */
    TRY(sap_gpu_lists_fill(s, ni));
    return sap_gpu_lists_sort(s);
}

/*
 * Lets the kernel that adds records up tell the host that it has ended, if no other kernel writes to the host.  Kernels
 * of a single superpacket do not: their many small writes are slower to arrive than an event.
 */
static void choose_told(struct sap_gpu_slab *s)
{
    struct sap_gpu_part *const p = s->part;
    const int can = s->set->n == 1 && !s->near && s->set->driver->pinned_in_order && !is_lone(s);
    p->told = can;
    s->told = can ? p->counters.mem : NULL;
    if (can) ((struct sap_gpu_counters *)p->counters.host)->ended = 0;
}

static int begin_slabs(struct sap_gpu_slab *s, int rows, int ni)
{
    const struct sap_gpu_counters *const counters = s->part->counters.host;
    choose_told(s);
    TRY(sap_gpu_reserve_records(s, rows));
    s->f.room_i = rows;
    if (!s->again) s->part->parts = 0;
    if (lists(s)) TRY(sap_gpu_lists_open(s, ni));
    if (s->tells || lists(s) || s->told) {
        if (!s->sums->ready)
            TRY(s->store->set->driver->copy_in(s->share->stream, s->sums->counters.mem, 0, &counters[1],
                                               sizeof no_counts));
        s->sums->ready = 0;
        if (lists(s)) s->sums->lists.counted = 0;
    }
    return SAP_DRIVER_OK;
}

static int end_slabs(struct sap_gpu_slab *s, int ni)
{
    const struct sap_driver *d = s->store->set->driver;
    if (lists(s))
        TRY(sap_gpu_lists_close(s, ni));
    else if (s->tells && !s->told)
        TRY(d->copy_out(s->share->stream, s->part->counters.host, s->sums->counters.mem, 0, sizeof no_counts));
    if (lists(s) || s->told) s->sums->ready = 1; /* by their last kernels */
    TRY(d->event_record(s->part->done, s->share->stream));
    return sap_gpu_staging_mark(s->store, s->share);
}

/* -------------------------------------------------------------- one device */

/* Returns the highest derivative that predictions use. */
static int terms_of(const struct sap_gpu_store *store)
{
    const int order = store->set->order;
    return order == 2 ? 0 : order == 4 ? store->terms : order - 1;
}

static struct sap_gpu_force kernel_force(const struct sap_gpu_store *store, const struct sap_gpu_host_force *force,
                                         int device)
{
    const struct sap_force_request *r = &force->request;
    return (struct sap_gpu_force){.time = r->time,
                                  .eps2 = r->eps2,
                                  .near_eps2 = sap_gpu_near_eps2(store->set, r->eps2),
                                  .r2_error = store->set->r2_error,
                                  .x_error = store->set->x_error,
                                  .nj = force->nj,
                                  .superpackets = force->superpackets[device],
                                  .terms = terms_of(store),
                                  .columns = store->set->columns,
                                  .units = sap_gpu_units(store->set, r),
                                  .skip_own = r->rule == SAP_PAIRS_SKIP_OWN,
                                  .out_rows = r->ni,
                                  .accumulate = force->accumulate,
                                  .sums = store->set->sums,
                                  .spline = r->spline};
}

/* Notes what a slab must compute, and chooses its kernels. */
static void choose_kernels(struct sap_gpu_slab *s, const struct sap_force_request *r, int near)
{
    s->near = near;
    s->mode = sap_gpu_mode(s->store->set, r, near);
    s->outside = sap_gpu_outside(r, (unsigned)near);
    s->by_mass = r->h2_by_mass;
    s->tells = s->store->set->order != 2 && r->eps2 < SAP_TINY_R2 && !s->outside;
}

/* Reserves memory for the i-particles and results of a device. */
static int reserve_part(struct sap_gpu_store *store, struct sap_gpu_host_force *force, int k)
{
    const struct sap_driver *d = store->set->driver;
    struct sap_dev *dev = store->share[k].device->dev;
    struct sap_gpu_part *p = &force->part[k];
    const size_t n = (size_t)force->request.ni;
    const size_t i_bytes = (size_t)sap_gpu_units(store->set, &force->request) * sizeof(struct sap_gpu_i);
    const int columns = k >= force->from ? 0 : columns_of(store->set, force->accumulate);
    if (k == 0 || !d->pinned_for_all) TRY(sap_gpu_reserve_pinned(d, dev, &p->i_host, n * i_bytes));
    if (columns > 0) TRY(sap_gpu_reserve_pinned(d, dev, &p->out, n * (size_t)columns * sizeof(double)));
    TRY(sap_gpu_reserve_pinned(d, dev, &p->lists, n * 2 * sizeof(double)));
    TRY(sap_gpu_reserve_pinned(d, dev, &p->counters, 2 * sizeof no_counts));
    ((struct sap_gpu_counters *)p->counters.host)[1] = no_counts;
    if (!p->done) TRY(d->event_create(dev, &p->done));
    return SAP_DRIVER_OK;
}

/* Starts the prediction while the host still copies i-particles. */
static int predict_early(struct sap_gpu_slab *s, int ni)
{
    const int rows = sap_gpu_slab_rows(s, ni);
    const struct sap_gpu_shape shape = sap_gpu_shape_of(s, rows);
    if (s->f.superpackets == 0) return SAP_DRIVER_OK;
    if (s->share->updates > 0) TRY(sap_gpu_store_send(s->store, s->share, NULL, 0));
    return shape.many || !shape.fused ? sap_gpu_store_predict(s->store, s->share, &s->f) : (int)SAP_DRIVER_OK;
}

static struct sap_gpu_slab slab_of(struct sap_gpu_host_force *force, int k)
{
    struct sap_gpu_store *const store = force->store;
    struct sap_gpu_share *const h = &store->share[k];
    return (struct sap_gpu_slab){.set = store->set,
                                 .device = h->device,
                                 .stream = h->stream,
                                 .sums = &h->sums,
                                 .j = h->j.mem,
                                 .gathers = sap_gpu_gathers(store),
                                 .store = store,
                                 .share = h,
                                 .part = &force->part[k]};
}

/* Prepares a device before the i-particles are uploaded. */
static int prepare(struct sap_gpu_store *store, struct sap_gpu_host_force *force, int k, unsigned extra)
{
    struct sap_gpu_share *h = &store->share[k];
    struct sap_gpu_slab *s = &force->part[k].slab;
    TRY(reserve_part(store, force, k));
    *s = slab_of(force, k);
    force->superpackets[k] = sap_gpu_slots_below(h, force->nj);
    s->f = kernel_force(store, force, k);
    choose_kernels(s, &force->request, (int)(extra & (SAP_EXTRA_NEAREST | SAP_EXTRA_LISTS)));
    return force->request.ni >= EARLY ? predict_early(s, force->request.ni) : (int)SAP_DRIVER_OK;
}

static int launch_again(struct sap_gpu_slab *s, struct sap_gpu_host_force *force, int k)
{
    const int ni = force->request.ni, rows = sap_gpu_slab_rows(s, ni), lost = s->store->lost;
    TRY(work_on(s->store, k));
    TRY(sap_gpu_store_send(s->store, s->share, sap_gpu_pinned_i(force, k), ni * s->f.units));
    s->store->lost |= lost;
    s->i = s->sums->i.mem;
    TRY(begin_slabs(s, rows, ni));
    for (s->f.first_i = 0; s->f.first_i < ni; s->f.first_i += rows) {
        s->f.ni = ni - s->f.first_i < rows ? ni - s->f.first_i : rows;
        TRY(launch_pairs(s));
        TRY(launch_results(s, ni, 0));
    }
    return end_slabs(s, ni);
}

int sap_gpu_launch_again(struct sap_gpu_host_force *force, int k)
{
    struct sap_gpu_store *const store = force->store;
    struct sap_gpu_slab s = slab_of(force, k);
    s.again = 1;
    s.f = kernel_force(store, force, k);
    choose_kernels(&s, &force->request, SAP_EXTRA_LISTS);
    const int status = launch_again(&s, force, k);
    stop_work(store);
    return status;
}

/*
 * Launches all i-particles, slab by slab, on all devices. The first device comes last, since it merges. A slab is
 * copied while the slab before it is computed.
 */
static int launch_slabs(struct sap_gpu_store *store, struct sap_gpu_host_force *force, unsigned extra)
{
    const int n = store->set->n, ni = force->request.ni;
    int rows = INT_MAX;
    for (int k = 0; k < n; k++) {
        const int fit = sap_gpu_slab_rows(&force->part[k].slab, ni);
        if (fit < rows) rows = fit;
    }
    for (int k = 0; k < n; k++) {
        TRY(work_on(store, k));
        TRY(begin_slabs(&force->part[k].slab, rows, ni));
    }
    if (sap_gpu_gathers(store)) TRY(sap_gpu_gather_reserve(store, rows));
    for (int first = 0; first < ni; first += rows) {
        const int end = ni - first < rows ? ni : first + rows;
        sap_gpu_fill_i(force, extra, first, end);
        for (int k = 0; k < n; k++) { /* start the pairs on all devices before any device gets its later launches */
            struct sap_gpu_slab *s = &force->part[k].slab;
            TRY(work_on(store, k));
            TRY(sap_gpu_bring_i(force, k, first, end - first));
            s->f.first_i = first;
            s->f.ni = end - first;
            TRY(launch_pairs(s));
        }
        for (int k = n - 1; k >= 0; k--) {
            TRY(work_on(store, k));
            TRY(launch_results(&force->part[k].slab, ni, extra));
        }
    }
    for (int k = 0; k < n; k++) {
        TRY(work_on(store, k));
        TRY(end_slabs(&force->part[k].slab, ni));
    }
    return SAP_DRIVER_OK;
}

int sap_gpu_launch_all_again(struct sap_gpu_host_force *force)
{
    struct sap_gpu_store *const store = force->store;
    const int lost = store->lost;
    int status = SAP_DRIVER_OK;
    for (int k = 0; k < store->set->n && !status; k++) {
        status = work_on(store, k);
        if (!status) status = prepare(store, force, k, force->have);
    }
    if (!status) status = launch_slabs(store, force, force->have);
    store->lost |= lost;
    stop_work(store);
    return status;
}

/* Starts the force on all devices; a driver status. */
static int start_all(struct sap_gpu_store *store, struct sap_gpu_host_force *force, unsigned extra)
{
    const struct sap_driver *d = store->set->driver;
    const int n = store->set->n;
    for (int k = 0; k < n; k++) {
        store->at = k;
        struct sap_gpu_share *h = &store->share[k];
        if (!h->stream) TRY(d->stream_create(h->device->dev, &h->stream));
    }
    if (force->request.eps2_i && store->set->order == 4) TRY(sap_gpu_store_soften(store));
    TRY(sap_gpu_store_update(store));
    force->gathered = force->complete = 0;
    for (int k = 0; k < n; k++) {
        TRY(work_on(store, k));
        TRY(prepare(store, force, k, extra));
    }
    return launch_slabs(store, force, extra);
}

static int start(struct sap_gpu_store *store, struct sap_gpu_host_force *force, unsigned extra)
{
    if (sap_gpu_refuse_lost(store)) return SAPPORO_ERR_DEVICE;
    const int status = start_all(store, force, extra);
    stop_work(store);
    force->have |= status ? 0 : extra;
    if (!status && (extra & SAP_EXTRA_LISTS)) sap_gpu_lists_expect(force);
    if (!status) return SAPPORO_OK;
    const int judged = sap_gpu_judge(store, status);
    sap_gpu_halt(store);
    sap_gpu_lists_forget(force);
    return judged;
}

/* ------------------------------------------------------------------- begin */

static int reserve(struct sap_gpu_host_force *f, int ni)
{
    if (ni <= f->room) return SAPPORO_OK;
    free(f->sum);
    free(f->accum);
    free(f->nearest);
    free(f->nearest_address);
    free(f->nearest_r2);
    const size_t n = (size_t)ni, sums = n * (size_t)f->set->sums;
    f->sum = f->accumulate ? malloc(sums * sizeof *f->sum) : NULL;
    f->accum = f->accumulate ? malloc(sums * sizeof *f->accum) : NULL;
    f->nearest = malloc(n * sizeof *f->nearest);
    f->nearest_address = malloc(n * sizeof *f->nearest_address);
    f->nearest_r2 = malloc(n * sizeof *f->nearest_r2);
    f->room = f->nearest && f->nearest_address && f->nearest_r2 && ((f->sum && f->accum) || !f->accumulate) ? ni : 0;
    return f->room ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/* Waits for a force that used this memory and was never collected: it may still be running. */
static void wait_dropped(const struct sap_gpu_host_force *f)
{
    for (int k = 0; k < f->set->n && (!f->complete || f->listing); k++)
        if (f->part[k].done) (void)f->set->driver->event_wait(f->part[k].done);
}

int sap_gpu_begin(struct sap_gpu_store *store, const struct sap_force_request *request,
                  struct sap_gpu_host_force **force)
{
    struct sap_gpu_host_force *f = *force;
    store->words[0] = '\0';
    if (f) {
        wait_dropped(f);
        sap_gpu_lists_forget(f);
    } else if (!(f = calloc(1, sizeof *f + (size_t)store->set->n * sizeof f->part[0]))) {
        return SAPPORO_ERR_MEMORY;
    }
    *force = f;
    f->set = store->set;
    f->store = store;
    f->request = *request;
    f->nj = request->nj < store->host->upper ? request->nj : store->host->upper;
    f->have = 0;
    f->no_lists = SAPPORO_OK;
    int status = sap_gpu_status(sap_gpu_gather_open(store));
    f->from = sap_gpu_gathers(store) ? 1 : store->set->n;
    const int accumulate = f->from > 1 || (request->extra & SAP_EXTRA_ACCUM);
    if (accumulate != f->accumulate) f->room = 0;
    f->accumulate = accumulate;
    for (int q = 0; q < SAP_GPU_OUT_SUMS; q++) f->scale[q] = q == 0 ? -1.0 : 1.0;
    if (!status) status = reserve(f, request->ni > 0 ? request->ni : 1);
    if (!status && request->ni > 0) status = start(store, f, request->extra);
    if (request->ni == 0) f->have |= request->extra, f->complete = 1, f->coincident = -1;
    f->failed = status;
    return status;
}

/* Waits until no launch of a force reads its i-particles, which may lie in host memory; a driver status. */
static int wait_launched(const struct sap_gpu_store *store, const struct sap_gpu_host_force *f)
{
    for (int k = 0; k < f->set->n; k++)
        if (f->part[k].done) TRY(store->set->driver->event_wait(f->part[k].done));
    return SAP_DRIVER_OK;
}

int sap_gpu_extra(struct sap_gpu_store *store, struct sap_gpu_host_force *f, unsigned wanted)
{
    if (!(wanted & ~f->have)) return SAPPORO_OK;
    const unsigned had = f->have;
    store->words[0] = '\0';
    const int ended = f->request.ni > 0 ? wait_launched(store, f) : (int)SAP_DRIVER_OK;
    const int status = ended ? sap_gpu_judge(store, ended) : start(store, f, wanted | had);
    f->failed = status ? start(store, f, had) : SAPPORO_OK; /* with all results that the force had */
    return status;
}
