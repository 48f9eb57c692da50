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
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_modes.h"
#include "gpu/gpu_shape.h"
#include "gpu/gpu_status.h"
#include "gpu/stepper/gpu_direct.h"
#include "gpu/stepper/gpu_stepper.h"
#include "physics/arithmetic.h"

enum { SUPER = SAP_GPU_SUPERPACKET, ROWS_KEPT = 3 * SAP_HERMITE_KEPT };

/* The kernels of lib/device/hermite.h on a device. */
struct kernels {
    struct sap_module *module;
    SAP_KERNELS_HERMITE(SAP_KERNEL_MEMBER, SAP_KERNEL_MEMBER, )
};
SAP_KERNELS_HERMITE(SAP_LAUNCH_EACH, SAP_LAUNCH_GROUPS, struct kernels)

/* The launch of the instance of a kernel for an order. */
#define BY_ORDER(order, kernel)                                                                                        \
    ((order) == 4   ? sap_launch_hermite4_##kernel                                                                     \
     : (order) == 6 ? sap_launch_hermite6_##kernel                                                                     \
                    : sap_launch_hermite8_##kernel)

struct sap_gpu_hermite {
    const struct kernels *f;
    struct sap_gpu_buffer higher;              /* by address */
    struct sap_gpu_buffer store;               /* the particles with mass, by slot, as the force kernels see them */
    struct sap_gpu_buffer row_d;               /* particles after the step */
    struct sap_gpu_buffer near;                /* nearest neighbours of the rows: squared distances, and who they are */
    struct sap_gpu_buffer nearest, nearest_r2; /* by address */
    struct sap_hermite_units units;
    struct sap_hermite_force force; /* the last one */
    struct sap_event *told;         /* the host has what kernels tell */
    int done;
    int told_at; /* where the ints of the next step begin */
    int ready;   /* 1: they are as before a step */
};

/* ---- life ------------------------------------------------------------------------------------ */

static void drop(const struct sap_driver *driver, void *kept)
{
    struct kernels *const f = kept;
    if (f->module) driver->module_unload(f->module);
    free(f);
}

static int make(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct kernels *const f = calloc(1, sizeof *f);
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

static int superpackets_of(int n) { return (n + SUPER - 1) / SUPER; }

/* Bytes of a j-store of n particles. */
static size_t store_bytes(int n, int columns)
{
    return (size_t)superpackets_of(n) * SUPER * (size_t)columns * sizeof(double);
}

static size_t higher_bytes(int order) { return (size_t)(SAP_HERMITE_KEPT_OF(order) - 3) * 3 * sizeof(double); }

/* With a column of softening lengths, which particles may get later. */
size_t sap_hermite_gpu_bytes(int order, int n)
{
    enum { RECORDS = 64 << 20, PREDICTED = 160 };
    const size_t kept = (size_t)SAP_HERMITE_KEPT_OF(order) * 3 * sizeof(double), size = (size_t)n;
    const size_t sums = (size_t)(1 + 3 * order / 2) * sizeof(double), targets = 2 * sizeof(struct sap_gpu_i);
    const size_t neighbours = 3 * sizeof(double) + sizeof(int);
    return size * (higher_bytes(order) + kept + targets + sums + neighbours + PREDICTED) + RECORDS +
           store_bytes(n, SAP_GPU_COLUMNS_OF(order) + 1);
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
    TRY(sap_session_reserve(s->session, &h->higher, (n + 1) * higher_bytes(order)));
    const size_t near = s->settings.nearest ? n : 1;
    TRY(sap_session_reserve(s->session, &h->nearest, near * sizeof(int)));
    TRY(sap_session_reserve(s->session, &h->nearest_r2, near * sizeof(double)));
    TRY(sap_session_reserve(s->session, &h->near, 1));
    return sap_session_reserve(s->session, &h->store, store_bytes(s->room, s->session->set->columns));
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
    return sap_session_fill(s->session, s->hermite->higher.mem, 0, 0, (size_t)s->n * higher_bytes(s->settings.order));
}

void sap_hermite_gpu_predict(struct sap_gpu_stepper *s, int done) { s->hermite->done = done; }

/* ---- units ----------------------------------------------------------------------------------- */

/* Columns of particles on the host. */
struct host_columns {
    double *all, *x, *v, *a, *higher, *particle;
};

static int read_columns(struct sap_gpu_stepper *s, struct host_columns *c)
{
    const size_t n = (size_t)s->n, three = 3 * n, more = n * higher_bytes(s->settings.order) / sizeof(double);
    c->all = malloc((3 * three + more + 4 * n + 1) * sizeof *c->all);
    if (!c->all) return SAP_DRIVER_MEMORY;
    c->x = c->all;
    c->v = c->x + three;
    c->a = c->v + three;
    c->higher = c->a + three;
    c->particle = c->higher + more;
    TRY(sap_session_copy_out(s->session, c->x, s->x.mem, 0, three * sizeof(double)));
    TRY(sap_session_copy_out(s->session, c->v, s->v.mem, 0, three * sizeof(double)));
    TRY(sap_session_copy_out(s->session, c->a, s->a.mem, 0, three * sizeof(double)));
    TRY(sap_session_copy_out(s->session, c->higher, s->hermite->higher.mem, 0, more * sizeof(double)));
    TRY(sap_session_copy_out(s->session, c->particle, s->given->particle.mem, 0, 4 * n * sizeof(double)));
    return sap_session_wait(s->session);
}

/* Looks at all numbers of the particles that pairs of the order use. */
static struct sap_units look(const struct sap_gpu_stepper *s, const struct host_columns *c)
{
    const int order = s->settings.order, more = SAP_HERMITE_KEPT_OF(order) - 3;
    struct sap_sizes sizes = {0};
    struct sap_spread all, massless;
    sap_spread_clear(&all);
    sap_spread_clear(&massless);
    for (int slot = 0; slot < s->n; slot++) {
        const size_t i = (size_t)sap_step_address(&s->order, slot);
        struct sap_numbers p = {.derivative = {c->x + 3 * i, c->v + 3 * i, c->a + 3 * i},
                                .stride = 1,
                                .mass = c->particle[4 * (size_t)slot + 3],
                                .eps2 = sap_gpu_direct_square_of(s, slot)};
        for (int k = 0; k < more && 3 + k < SAPPORO_DERIVATIVES; k++)
            p.derivative[3 + k] = c->higher + 3 * ((size_t)more * i + (size_t)k);
        const int acts = slot < s->order.massive;
        sap_spread_add(acts ? &all : &massless, acts ? &sizes : NULL, &p);
    }
    sap_spread_soften(&all, s->settings.eps2);
    sap_spread_close(&all, &sizes, (const int[2]){massless.derivative[0].most, massless.derivative[1].most});
    return sap_spread_units(&all, order);
}

/* Returns a power of two; beyond the range of double only what is 0 is multiplied by it. */
static double power(int exponent)
{
    enum { MOST = 1000 };
    return sap_scaled(1, exponent > MOST ? MOST : exponent < -MOST ? -MOST : exponent);
}

static struct sap_hermite_units units_of(const struct sap_units *u)
{
    struct sap_hermite_units to = {
        .mass = power(u->mass), .time = power(u->time), .pot = power(-sap_units_potential(u))};
    for (int k = 0; k < 8; k++) to.derivative[k] = power(sap_units_derivative(u, k));
    for (int k = 0; k < SAP_HERMITE_GIVEN; k++) to.field[k] = power(-sap_units_field(u, k));
    return to;
}

static int choose_units(struct sap_gpu_stepper *s)
{
    struct host_columns c = {.all = NULL};
    s->direct->units = (struct sap_units){0, 0, 0};
    const int needed = s->session->set->precision != SAPPORO_DP && s->order.massive > 0;
    const int status = needed ? read_columns(s, &c) : (int)SAP_DRIVER_OK;
    if (!status && c.all) s->direct->units = look(s, &c);
    free(c.all);
    s->hermite->units = units_of(&s->direct->units);
    return status;
}

/* ---- sources --------------------------------------------------------------------------------- */

static int clear_store(struct sap_gpu_stepper *s, int superpackets)
{
    const int columns = s->session->set->columns;
    const struct sap_gpu_grid grid = {.stream = s->session->stream,
                                      .driver = s->session->driver,
                                      .groups = {(unsigned)(superpackets * columns), 1},
                                      .threads = 256};
    return sap_direct_store_clear(&grid, s->session->device->kernels->clear, s->hermite->store.mem, columns, 0,
                                  superpackets);
}

/* Gives the sources their squared softening, in the last column, if kernels have lengths. */
static int soften_sources(struct sap_gpu_stepper *s, int n)
{
    const struct sap_gpu_set *const set = s->session->set;
    if (!set->soft) return SAP_DRIVER_OK;
    TRY(sap_gpu_direct_send_squares(s));
    const struct sap_gpu_grid grid = {.stream = s->session->stream,
                                      .driver = s->session->driver,
                                      .groups = {(unsigned)(n + 255) / 256, 1},
                                      .threads = 256};
    if (n == 0) return SAP_DRIVER_OK;
    return sap_direct_store_column(&grid, s->session->device->kernels->column, s->hermite->store.mem, set->columns,
                                   SAP_GPU_EPS2_OF(set->order), s->direct->soft.mem, 1, 1, 1, 0, n);
}

/* Stores all particles with mass: at first, and now and then in new units. */
static int send_all(struct sap_gpu_stepper *s, struct sap_step step)
{
    enum { FORCES = 4096 };
    struct sap_gpu_direct *const d = s->direct;
    struct sap_gpu_hermite *const h = s->hermite;
    const int n = s->order.massive, fresh = d->forces == 0;
    if (fresh) TRY(choose_units(s));
    if (fresh && n > 0) {
        const struct sap_hermite_force f = h->force;
        const struct sap_hermite_units units = h->units;
        TRY(sap_session_reserve(s->session, &h->store, store_bytes(n, s->session->set->columns)));
        TRY(clear_store(s, superpackets_of(n)));
        TRY(sap_launch_hermite_send(s->session, h->f, n, s->x.mem, s->v.mem, s->a.mem, h->higher.mem, s->level.mem,
                                    s->given->particle.mem, sap_stepper_addresses(s)->mem, h->store.mem, n, f,
                                    sap_stepper_order_of(s), step, units));
    }
    if (fresh) TRY(soften_sources(s, n));
    d->forces = (d->forces + 1) % FORCES; /* after all else: what failed is done again */
    return SAP_DRIVER_OK;
}

static int predict_sources(struct sap_gpu_stepper *s, const struct sap_gpu_force *f)
{
    struct sap_gpu_sums *const sums = &s->direct->sums;
    TRY(sap_session_reserve(s->session, &sums->predicted, (size_t)f->superpackets * SUPER * s->session->set->working));
    const struct sap_gpu_grid grid = {.stream = s->session->stream,
                                      .driver = s->session->driver,
                                      .groups = {(unsigned)f->superpackets * (SUPER / 256), 1},
                                      .threads = 256};
    sums->valid = 1;
    return sap_direct_predict(&grid, s->session->device->kernels->predict, s->hermite->store.mem, sums->predicted.mem,
                              *f);
}

/* ---- forces ---------------------------------------------------------------------------------- */

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

/* The arguments of the force kernels. */
static struct sap_gpu_slab slab_of(struct sap_gpu_stepper *s, const struct sap_step *step)
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
                                       .nj = s->order.massive,
                                       .superpackets = superpackets_of(s->order.massive),
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
    TRY(write_targets(s, *step)); /* which lists the active particles, too */
    if (s->order.massive == 0) {
        if (s->hermite->force.near) TRY(sap_session_fill(s->session, s->hermite->near.mem, 0, 0, near_bytes(rows)));
        return sap_session_fill(s->session, s->direct->out.mem, 0, 0, bytes);
    }
    struct sap_gpu_slab slab = slab_of(s, step);
    return sum_slabs(s, &slab);
}

/* Makes the ints in which kernels tell as they are before a step. */
static int reset(struct sap_gpu_stepper *s)
{
    s->hermite->told_at = 0;
    TRY(sap_session_fill(s->session, s->bad.mem, 0, 0x7F, sizeof(int)));
    return sap_session_fill(s->session, s->bad.mem, sizeof(int), 0, (SAP_HERMITE_TOLD - 1) * sizeof(int));
}

/* Describes a force on the active particles, and makes memory for its rows. */
static int describe(struct sap_gpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active)
{
    struct sap_gpu_direct *const d = s->direct;
    const struct sap_gpu_set *const set = s->session->set;
    const int done = s->hermite->done || step->start, slots = done && active->n == s->order.massive ? active->n : s->n;
    const size_t rows = (size_t)active->n;
    s->hermite->force = (struct sap_hermite_force){.rows = active->n,
                                                   .slots = slots,
                                                   .has_active = active->n < slots,
                                                   .massive = active->massive,
                                                   .done = done,
                                                   .near = s->settings.nearest && (!done || step->start),
                                                   .order = s->settings.order,
                                                   .columns = set->columns,
                                                   .units = set->units};
    if (!s->hermite->ready) TRY(reset(s));
    s->hermite->force.told = s->hermite->told_at;
    if (s->hermite->force.has_active) s->hermite->ready = 0; /* until the step has ended */
    TRY(sap_session_reserve(s->session, &d->out, rows * (size_t)set->sums * sizeof(double)));
    TRY(sap_session_reserve(s->session, &d->sums.i, rows * (size_t)set->units * sizeof(struct sap_gpu_i)));
    TRY(sap_session_reserve(s->session, &s->row_pot, rows * sizeof(double)));
    if (s->hermite->force.near) TRY(sap_session_reserve(s->session, &s->hermite->near, near_bytes(rows)));
    return sap_session_reserve(s->session, &s->hermite->row_d, rows * ROWS_KEPT * sizeof(double));
}

/* After the first force: particles get jerks, with which the next force has all derivatives. */
static int give_jerks(struct sap_gpu_stepper *s, struct sap_step step)
{
    struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_hermite_force f = h->force;
    const struct sap_hermite_units units = h->units;
    s->direct->forces = 0;
    return sap_launch_hermite_jerks(s->session, h->f, f.rows, s->x.mem, s->v.mem, s->level.mem, s->direct->out.mem,
                                    sap_stepper_addresses(s)->mem, s->a.mem, h->higher.mem, f, sap_stepper_order_of(s),
                                    step, units, s->settings.fields);
}

static int send_and_sum(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    TRY(send_all(s, *step));
    struct sap_hermite_force *const f = &s->hermite->force;
    const int square = sap_units_square(&s->direct->units);
    f->eps2 = sap_scaled(s->settings.eps2, square);
    f->close2 = sap_scaled(s->settings.close2, square);
    f->r2_unit = sap_scaled(1, -square);
    f->none = INFINITY;
    return sum_forces(s, step);
}

int sap_hermite_gpu_force(struct sap_gpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active)
{
    TRY(describe(s, step, active));
    TRY(send_and_sum(s, step));
    if (!step->start || s->settings.order == 4) return SAP_DRIVER_OK;
    TRY(give_jerks(s, *step));
    return send_and_sum(s, step);
}

/* ---- correction ------------------------------------------------------------------------------ */

/* Launches the kernel that makes the rows after the step. */
static int launch_judge(struct sap_gpu_stepper *s, struct sap_step step)
{
    struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_hermite_force f = h->force;
    const struct sap_hermite_units units = h->units;
    const struct sap_hermite_rule rule = s->settings.hermite;
    return BY_ORDER(f.order, judge)(s->session, h->f, f.rows, s->x.mem, s->v.mem, s->a.mem, h->higher.mem, s->level.mem,
                                    s->active.mem, sap_stepper_addresses(s)->mem, s->direct->out.mem, h->near.mem,
                                    h->row_d.mem, s->row_pot.mem, s->row_level.mem, s->bad.mem, s->told.mem, f,
                                    sap_stepper_order_of(s), step, rule, units, s->settings.fields);
}

/*
 * All iterations but the last.  Until the step has ended, the sources are not those before it: after a failure all of
 * them are sent again.
 */
static int iterate(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_hermite_units units = h->units;
    if (s->settings.iterations == 1 || step->start) return SAP_DRIVER_OK;
    s->direct->forces = 0;
    for (int k = 1; k < s->settings.iterations; k++) {
        h->force.quiet = 1;
        TRY(launch_judge(s, *step));
        h->force.quiet = 0;
        h->force.again = 1;
        const struct sap_hermite_force f = h->force;
        TRY(sap_launch_hermite_again(s->session, h->f, f.rows, h->row_d.mem, s->active.mem, s->bad.mem, h->store.mem,
                                     s->direct->sums.i.mem, f, *step, units));
        TRY(soften_targets(s));
        struct sap_gpu_slab slab = slab_of(s, step);
        if (s->order.massive > 0) TRY(sum_slabs(s, &slab));
    }
    return SAP_DRIVER_OK;
}

/* Launches the kernel that moves the particles unless one is wrong. */
static int launch_commit(struct sap_gpu_stepper *s, struct sap_step step)
{
    enum { MOST_THREADS = 1 << 22 };
    struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_hermite_force f = h->force;
    const struct sap_hermite_units units = h->units;
    const long long words = (long long)f.rows * 3 * SAP_HERMITE_KEPT_OF(f.order);
    return sap_launch_hermite_commit(s->session, h->f, words < MOST_THREADS ? (int)words : MOST_THREADS, s->x.mem,
                                     s->v.mem, s->a.mem, h->higher.mem, s->pot.mem, s->level.mem, h->store.mem,
                                     s->active.mem, sap_stepper_addresses(s)->mem, h->row_d.mem, s->row_pot.mem,
                                     s->row_level.mem, h->near.mem, h->nearest.mem, h->nearest_r2.mem, s->bad.mem, f,
                                     sap_stepper_order_of(s), step, units);
}

/* The commit, and what it needs for the next step, are under way while the host waits for what it is told. */
int sap_hermite_gpu_judge(struct sap_gpu_stepper *s, const struct sap_step *step, struct sap_step_told *to)
{
    const struct sap_driver *const d = s->session->driver;
    struct sap_gpu_hermite *const h = s->hermite;
    const int *const told = s->told.host;
    const int forces = step->start ? 0 : s->direct->forces; /* units of derivatives are chosen anew */
    TRY(iterate(s, step));
    TRY(launch_judge(s, *step));
    TRY(sap_gpu_to_host(s->session->stream, d, s->told.mem, 0, SAP_STEPPER_TOLD * sizeof(int)));
    TRY(d->event_record(h->told, s->session->stream));
    TRY(launch_commit(s, *step));
    h->told_at = SAP_HERMITE_TOLD - h->told_at;
    TRY(d->event_wait(h->told));
    h->ready = 1;
    to->bad = told[0] == SAP_HERMITE_NOBODY ? -1 : told[0];
    s->direct->forces = to->bad < 0 ? forces : 0;
    to->close = told[SAP_HERMITE_CLOSE];
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
