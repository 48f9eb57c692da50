/*
 * gpu_hermite.c - Hermite schemes on an accelerator: the force kernels of contexts read the stepper's particles in a
 * j-store of its own, which the kernels of lib/device/hermite.h write.
 */
#include "physics/ops_scalar.h"

#include "gpu/stepper/gpu_hermite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/hermite_layout.h"
#include "driver/driver.h"
#include "engine/engine.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_modes.h"
#include "gpu/gpu_shape.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_told.h"
#include "gpu/stepper/gpu_direct.h"
#include "gpu/stepper/gpu_hermite_private.h"
#include "gpu/stepper/gpu_shared.h"
#include "physics/arithmetic.h"

enum { SUPER = SAP_GPU_SUPERPACKET, ROWS_KEPT = 3 * SAP_HERMITE_KEPT };

/* The launch of the instance of a kernel for an order. */
#define BY_ORDER(order, kernel)                                                                                        \
    ((order) == 4   ? sap_launch_hermite4_##kernel                                                                     \
     : (order) == 6 ? sap_launch_hermite6_##kernel                                                                     \
                    : sap_launch_hermite8_##kernel)

/* ---- life ------------------------------------------------------------------------------------ */

static void drop(const struct sap_driver *driver, void *kept)
{
    struct sap_gpu_hermite_kernels *const f = kept;
    if (f->module) driver->module_unload(f->module);
    free(f);
}

static int make(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct sap_gpu_hermite_kernels *const f = calloc(1, sizeof *f);
    (void)number;
    *kept = NULL;
    if (!f) return SAP_DRIVER_MEMORY;
    const struct sap_wanted_kernel wanted[] = {SAP_KERNELS_HERMITE(SAP_KERNEL_WANTED, SAP_KERNEL_WANTED, f)};
    const int status =
        sap_gpu_load_module(driver, dev, sap_gpu_embedded(driver), "hermite", wanted, COUNT(wanted), &f->module);
    if (status)
        drop(driver, f);
    else
        *kept = f;
    return status;
}

/* With a column of softening lengths, which particles may get later. */
size_t sap_hermite_gpu_bytes(int order, int n)
{
    enum { RECORDS = 64 << 20, PREDICTED = 160 };
    const size_t kept = (size_t)SAP_HERMITE_KEPT_OF(order) * 3 * sizeof(double), size = (size_t)n;
    const size_t sums = (size_t)(1 + 3 * order / 2) * sizeof(double), targets = 2 * sizeof(struct sap_gpu_i);
    const size_t neighbours = 3 * sizeof(double) + sizeof(int);
    return size * (sap_hermite_higher_bytes(order) + kept + targets + sums + neighbours + PREDICTED) + RECORDS +
           sap_hermite_store_bytes(n, SAP_GPU_COLUMNS_OF(order) + 1);
}

int sap_hermite_gpu_open(struct sap_gpu_stepper *s)
{
    const int order = s->settings.order;
    struct sap_gpu_hermite *const h = s->hermite = calloc(1, sizeof *h);
    const size_t n = (size_t)s->room;
    void *kept;
    if (!h) return SAP_DRIVER_MEMORY;
    TRY(sap_gpu_keep(s->session->set, s->session->device, make, drop, &kept));
    h->f = kept;
    TRY(s->session->driver->event_create(s->session->device->dev, &h->told));
    TRY(sap_session_reserve(s->session, &s->bad, 2 * SAP_HERMITE_TOLD * sizeof(int)));
    TRY(sap_session_reserve(s->session, &h->higher, (n + 1) * sap_hermite_higher_bytes(order)));
    const size_t near = s->settings.nearest ? n : 1;
    TRY(sap_session_reserve(s->session, &h->nearest, near * sizeof(int)));
    TRY(sap_session_reserve(s->session, &h->nearest_r2, near * sizeof(double)));
    TRY(sap_session_reserve(s->session, &h->near, 1));
    return sap_session_reserve(s->session, &h->store, sap_hermite_store_bytes(s->room, s->session->set->columns));
}

void sap_hermite_gpu_free(struct sap_gpu_stepper *s)
{
    struct sap_gpu_hermite *const h = s->hermite;
    if (!h) return;
    if (h->told) s->session->driver->event_destroy(h->told);
    sap_gpu_free(s->session->driver, &h->higher);
    sap_gpu_free(s->session->driver, &h->store);
    sap_gpu_free(s->session->driver, &h->row_d);
    sap_gpu_free(s->session->driver, &h->near);
    sap_gpu_free(s->session->driver, &h->nearest);
    sap_gpu_free(s->session->driver, &h->nearest_r2);
    sap_gpu_free(s->session->driver, &h->blocks);
    sap_gpu_free(s->session->driver, &h->blocks_told);
    free(h);
    s->hermite = NULL;
}

const struct sap_gpu_buffer *sap_hermite_gpu_column(const struct sap_gpu_stepper *s, enum sap_step_column column)
{
    const struct sap_gpu_hermite *const h = s->hermite;
    return column == SAP_STEP_HIGHER ? &h->higher : column == SAP_STEP_NEAREST ? &h->nearest : &h->nearest_r2;
}

int sap_hermite_gpu_clear(struct sap_gpu_stepper *s)
{
    int at;                /* the only device */
    s->hermite->ready = 0; /* kernels that look at new particles tell in the same ints */
    if (s->lengths) TRY(sap_gpu_soften(s->session->set, &at));
    if (s->lengths) sap_gpu_sums_forget(&s->direct->sums);
    return sap_session_fill(s->session, s->hermite->higher.mem, 0, 0,
                            (size_t)s->n * sap_hermite_higher_bytes(s->settings.order));
}

void sap_hermite_gpu_predict(struct sap_gpu_stepper *s, int done) { s->hermite->done = done; }

/* ---- forces ---------------------------------------------------------------------------------- */

static int predict_sources(struct sap_gpu_stepper *s, const struct sap_gpu_force *f)
{
    struct sap_gpu_sums *const sums = &s->direct->sums;
    TRY(sap_session_reserve(s->session, &sums->predicted, (size_t)f->superpackets * SUPER * s->session->set->working));
    sums->valid = 1;
    return sap_gpu_launch_predict(s->session->set, s->session->device, s->session->stream, s->hermite->store.mem, sums,
                                  f);
}

/* Gives the targets their softening, if kernels have lengths. */
static int soften_targets(struct sap_gpu_stepper *s)
{
    const struct sap_hermite_force f = s->hermite->force;
    if (!s->session->set->soft) return SAP_DRIVER_OK;
    return sap_launch_hermite_soften(s->session, s->hermite->f, f.rows, s->direct->soft.mem, s->active.mem,
                                     s->direct->sums.i.mem, f);
}

static int write_targets(struct sap_gpu_stepper *s, struct sap_step step)
{
    struct sap_gpu_hermite *const h = s->hermite;
    struct sap_mem *const to = s->direct->sums.i.mem, *const addresses = sap_stepper_addresses(s)->mem;
    const struct sap_hermite_force f = h->force;
    const struct sap_hermite_units units = h->units;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    TRY(BY_ORDER(f.order, targets)(s->session, h->f, f.slots, s->x.mem, s->v.mem, s->a.mem, h->higher.mem, s->level.mem,
                                   s->active.mem, addresses, to, s->bad.mem, f, order, step, units));
    return soften_targets(s);
}

struct sap_gpu_slab sap_hermite_slab(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    const struct sap_gpu_set *const set = s->session->set;
    const struct sap_gpu_hermite *const h = s->hermite;
    const int order = s->settings.order, near = h->force.near ? (int)SAP_EXTRA_NEAREST : 0;
    const struct sap_force_request asked = {.eps2 = h->force.eps2};
    return (struct sap_gpu_slab){.set = set,
                                 .device = s->session->device,
                                 .stream = s->session->stream,
                                 .sums = &s->direct->sums,
                                 .j = h->store.mem,
                                 .i = s->direct->sums.i.mem,
                                 .out = s->direct->out.mem,
                                 .near = near,
                                 .mode = sap_gpu_mode(set, &asked, near),
                                 .f = {.time = sap_hermite_end(step) * h->units.time,
                                       .eps2 = h->force.eps2,
                                       .near_eps2 = sap_gpu_near_eps2(set, h->force.eps2),
                                       .r2_error = set->r2_error,
                                       .x_error = set->x_error,
                                       .nj = sap_gpu_sources(s),
                                       .superpackets = sap_hermite_superpackets(sap_gpu_sources(s)),
                                       .terms = order == 4 ? 4 : order - 1,
                                       .columns = set->columns,
                                       .units = set->units,
                                       .skip_own = 1,
                                       .out_rows = h->force.rows,
                                       .sums = set->sums}};
}

/* Launches the force kernels slab by slab; sources are predicted once, unless the kernels do it for themselves. */
static int sum_slabs(struct sap_gpu_stepper *s, struct sap_gpu_slab *slab)
{
    const int all = slab->f.out_rows;
    s->direct->sums.valid = 0;
    s->direct->sums.nj = slab->f.nj;
    const int rows = sap_gpu_slab_rows(slab, all);
    TRY(sap_gpu_reserve_records(slab, rows));
    slab->f.room_i = rows;
    for (slab->f.first_i = 0; slab->f.first_i < all; slab->f.first_i += rows) {
        slab->f.ni = all - slab->f.first_i < rows ? all - slab->f.first_i : rows;
        slab->shape = sap_gpu_shape_of(slab, slab->f.ni);
        slab->f.fused = !slab->shape.many && slab->shape.fused;
        slab->f.lone = slab->f.superpackets == 1 ? SAP_GPU_BY_COLUMN : 0;
        if (!slab->f.fused && !s->direct->sums.valid) TRY(predict_sources(s, &slab->f));
        TRY(sap_gpu_launch_force(slab));
        if (!slab->f.lone) TRY(sap_gpu_launch_sums(slab, slab->out, &slab->f));
        if (slab->near) TRY(sap_gpu_launch_nearest(slab, s->hermite->near.mem));
    }
    return SAP_DRIVER_OK;
}

/* Bytes of the nearest neighbours of so many rows. */
static size_t near_bytes(size_t rows) { return 2 * rows * sizeof(double); }

static int sum_forces(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    const size_t rows = (size_t)s->hermite->force.rows, bytes = rows * (size_t)s->session->set->sums * sizeof(double);
    if (rows == 0) return SAP_DRIVER_OK;
    TRY(write_targets(s, *step)); /* which lists the active particles, too */
    if (sap_gpu_sources(s) == 0) {
        if (s->hermite->force.near) TRY(sap_session_fill(s->session, s->hermite->near.mem, 0, 0, near_bytes(rows)));
        return sap_session_fill(s->session, s->direct->out.mem, 0, 0, bytes);
    }
    struct sap_gpu_slab slab = sap_hermite_slab(s, step);
    return sum_slabs(s, &slab);
}

/* Makes the ints in which kernels tell as they are before a step. */
static int reset(struct sap_gpu_stepper *s)
{
    s->hermite->told_at = 0;
    TRY(sap_session_fill(s->session, s->bad.mem, 0, 0x7F, sizeof(int)));
    return sap_session_fill(s->session, s->bad.mem, sizeof(int), 0, (SAP_HERMITE_TOLD - 1) * sizeof(int));
}

int sap_hermite_describe(struct sap_gpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active)
{
    struct sap_gpu_direct *const d = s->direct;
    const struct sap_gpu_set *const set = s->session->set;
    const int done = s->hermite->done || step->start, slots = done && active->n == s->order.massive ? active->n : s->n;
    const size_t rows = (size_t)active->n;
    s->hermite->force = (struct sap_hermite_force){.rows = active->n,
                                                   .slots = slots,
                                                   .has_active = active->n < slots,
                                                   .massive = active->massive,
                                                   .stored = s->shared ? 0 : active->massive,
                                                   .before = sap_gpu_before(s),
                                                   .beyond = sap_gpu_beyond(s),
                                                   .numbered = s->shared != NULL,
                                                   .done = done,
                                                   .near = s->settings.nearest && (!done || step->start),
                                                   .order = s->settings.order,
                                                   .columns = set->columns,
                                                   .units = set->units};
    if (!s->hermite->ready || s->shared) TRY(reset(s));
    s->hermite->force.told = s->hermite->told_at;
    if (s->hermite->force.has_active) s->hermite->ready = 0; /* until the step has ended */
    TRY(sap_session_reserve(s->session, &d->out, rows * (size_t)set->sums * sizeof(double)));
    TRY(sap_session_reserve(s->session, &d->sums.i, rows * (size_t)set->units * sizeof(struct sap_gpu_i)));
    TRY(sap_session_reserve(s->session, &s->row_pot, rows * sizeof(double)));
    if (s->hermite->force.near) TRY(sap_session_reserve(s->session, &s->hermite->near, near_bytes(rows)));
    return sap_session_reserve(s->session, &s->hermite->row_d, rows * ROWS_KEPT * sizeof(double));
}

int sap_hermite_give_jerks(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_hermite_force f = h->force;
    const struct sap_hermite_units units = h->units;
    s->direct->forces = 0;
    return sap_launch_hermite_jerks(s->session, h->f, f.rows, s->x.mem, s->v.mem, s->level.mem, s->direct->out.mem,
                                    sap_stepper_addresses(s)->mem, s->a.mem, h->higher.mem, f, sap_stepper_order_of(s),
                                    *step, units, s->settings.fields);
}

void sap_hermite_set_units(struct sap_gpu_stepper *s)
{
    struct sap_hermite_force *const f = &s->hermite->force;
    const int square = sap_units_square(&s->direct->units);
    f->eps2 = sap_scaled(s->settings.eps2, square);
    f->close2 = sap_scaled(s->settings.close2, square);
    f->r2_unit = sap_scaled(1, -square);
    f->none = INFINITY;
}

int sap_hermite_sum(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    sap_hermite_set_units(s);
    return sum_forces(s, step);
}

static int send_and_sum(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    TRY(sap_hermite_send_all(s, *step));
    return sap_hermite_sum(s, step);
}

int sap_hermite_gpu_force(struct sap_gpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active)
{
    TRY(sap_hermite_describe(s, step, active));
    TRY(send_and_sum(s, step));
    if (!step->start || s->settings.order == 4) return SAP_DRIVER_OK;
    TRY(sap_hermite_give_jerks(s, step));
    return send_and_sum(s, step);
}

/* ---- correction ------------------------------------------------------------------------------ */

/* The threads that make so many rows after the step. */
static int threads_of_judge(const struct sap_gpu_stepper *s, int rows)
{
    if (!s->session->device->kernels->geometry.shuffles) return rows;
    return (rows + SAP_JUDGE_ROWS - 1) / SAP_JUDGE_ROWS * SAP_JUDGE_THREADS;
}

int sap_hermite_judge(struct sap_gpu_stepper *s, struct sap_step step, int quiet)
{
    struct sap_gpu_hermite *const h = s->hermite;
    h->force.quiet = quiet;
    const struct sap_hermite_force f = h->force;
    const struct sap_hermite_units units = h->units;
    const struct sap_hermite_rule rule = s->settings.hermite;
    return BY_ORDER(f.order, judge)(
        s->session, h->f, threads_of_judge(s, f.rows), s->x.mem, s->v.mem, s->a.mem, h->higher.mem, s->level.mem,
        s->active.mem, sap_stepper_addresses(s)->mem, s->direct->out.mem, h->near.mem, h->row_d.mem, s->row_pot.mem,
        s->row_level.mem, s->bad.mem, s->told.mem, f, sap_stepper_order_of(s), step, rule, units, s->settings.fields);
}

int sap_hermite_go_again(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_hermite_units units = h->units;
    h->force.again = 1;
    const struct sap_hermite_force f = h->force;
    TRY(sap_launch_hermite_again(s->session, h->f, f.rows, h->row_d.mem, s->active.mem, s->bad.mem, h->store.mem,
                                 s->direct->sums.i.mem, f, *step, units));
    return soften_targets(s);
}

int sap_hermite_sum_again(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    struct sap_gpu_slab slab = sap_hermite_slab(s, step);
    return sap_gpu_sources(s) > 0 && s->hermite->force.rows > 0 ? sum_slabs(s, &slab) : (int)SAP_DRIVER_OK;
}

/*
 * All iterations but the last.  Until the step has ended, the sources are not those before it: after a failure all of
 * them are sent again.
 */
static int iterate(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    if (s->settings.iterations == 1 || step->start) return SAP_DRIVER_OK;
    s->direct->forces = 0;
    for (int k = 1; k < s->settings.iterations; k++) {
        TRY(sap_hermite_judge(s, *step, 1));
        TRY(sap_hermite_go_again(s, step));
        TRY(sap_hermite_sum_again(s, step));
    }
    return SAP_DRIVER_OK;
}

int sap_hermite_commit(struct sap_gpu_stepper *s, struct sap_step step)
{
    enum { MOST_THREADS = 1 << 22 };
    struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_hermite_force f = h->force;
    const struct sap_hermite_units units = h->units;
    struct sap_mem *const number = s->shared ? s->shared->number.mem : h->nearest.mem;
    const long long words = (long long)f.rows * 3 * SAP_HERMITE_KEPT_OF(f.order);
    return sap_launch_hermite_commit(s->session, h->f, words < MOST_THREADS ? (int)words : MOST_THREADS, s->x.mem,
                                     s->v.mem, s->a.mem, h->higher.mem, s->pot.mem, s->level.mem, h->store.mem,
                                     s->active.mem, sap_stepper_addresses(s)->mem, h->row_d.mem, s->row_pot.mem,
                                     s->row_level.mem, h->near.mem, number, h->nearest.mem, h->nearest_r2.mem,
                                     s->bad.mem, f, sap_stepper_order_of(s), step, units);
}

int sap_hermite_ask(struct sap_gpu_stepper *s)
{
    const struct sap_driver *const d = s->session->driver;
    TRY(sap_gpu_to_host(s->session->stream, d, s->told.mem, 0, SAP_STEPPER_TOLD * sizeof(int)));
    return d->event_record(s->hermite->told, s->session->stream);
}

void sap_hermite_read_told(const struct sap_gpu_stepper *s, struct sap_step_told *to)
{
    const int *const told = s->told.host;
    to->bad = told[0] == SAP_HERMITE_NOBODY ? -1 : told[0];
    to->close = told[SAP_HERMITE_CLOSE];
}

/* Waits for what the last judge has told. */
static int wait_told(const struct sap_gpu_stepper *s)
{
    const struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_driver *const d = s->session->driver;
    const int *const told = s->told.host;
    return h->force.tells ? sap_gpu_wait_told(d, told + SAP_STEPPER_TOLD, h->told) : d->event_wait(h->told);
}

/*
 * The commit, and what it needs for the next step, are under way while the host waits for what it is told.  An event
 * before the commit would delay it, where the kernel itself tells the host.
 */
int sap_hermite_gpu_judge(struct sap_gpu_stepper *s, const struct sap_step *step, struct sap_step_told *to)
{
    struct sap_gpu_hermite *const h = s->hermite;
    const int forces = step->start ? 0 : s->direct->forces; /* units of derivatives are chosen anew */
    const int tells = s->session->driver->pinned_in_order;
    TRY(iterate(s, step));
    h->force.tells = tells;
    ((int *)s->told.host)[SAP_STEPPER_TOLD] = 0;
    TRY(sap_hermite_judge(s, *step, 0));
    if (!tells) TRY(sap_hermite_ask(s));
    TRY(sap_hermite_commit(s, *step));
    if (tells) TRY(sap_hermite_ask(s));
    h->told_at = SAP_HERMITE_TOLD - h->told_at;
    TRY(wait_told(s));
    sap_hermite_read_told(s, to);
    h->ready = 1;
    s->direct->forces = to->bad < 0 ? forces : 0;
    return SAP_DRIVER_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

int sap_hermite_gpu_at(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    const struct sap_gpu_hermite *const h = s->hermite;
    const int n = s->n;
    const size_t bytes = (size_t)n * 3 * sizeof(double);
    TRY(sap_session_reserve(s->session, &s->to_x, bytes));
    TRY(sap_session_reserve(s->session, &s->to_v, bytes));
    return BY_ORDER(s->settings.order, at)(s->session, h->f, n, s->x.mem, s->v.mem, s->a.mem, h->higher.mem,
                                           s->level.mem, s->to_x.mem, s->to_v.mem, n, *step);
}

int sap_hermite_gpu_sums(struct sap_gpu_stepper *s, const struct sap_step *step, int forced)
{
    const struct sap_field_list fields = s->settings.fields;
    const struct sap_gpu_buffer *const pot = forced ? &s->direct->out : &s->pot;
    const double unit = forced ? s->hermite->units.pot : 1;
    const int n = s->n, runs = (n + SAP_STEP_RUN - 1) / SAP_STEP_RUN;
    TRY(sap_hermite_gpu_at(s, step));
    return sap_launch_hermite_sums(s->session, s->hermite->f, runs, s->to_x.mem, s->to_v.mem, sap_stepper_slots(s)->mem,
                                   s->given->particle.mem, pot->mem, s->sum.mem, forced, unit, n,
                                   sap_stepper_order_of(s), fields);
}

int sap_hermite_gpu_pots(struct sap_gpu_stepper *s)
{
    const double unit = s->hermite->units.pot;
    TRY(sap_session_reserve(s->session, &s->to_x, (size_t)s->n * 3 * sizeof(double)));
    return sap_launch_hermite_pots(s->session, s->hermite->f, s->n, s->direct->out.mem, sap_stepper_addresses(s)->mem,
                                   s->to_x.mem, unit, s->n, sap_stepper_order_of(s));
}
