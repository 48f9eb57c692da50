/* gpu_hermite_store.c - the sources of Hermite schemes on an accelerator: their units, and the j-store that has them.
 */
#include "physics/ops_scalar.h"

#include <stdlib.h>

#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_status.h"
#include "gpu/stepper/gpu_direct.h"
#include "gpu/stepper/gpu_hermite_private.h"
#include "gpu/stepper/gpu_shared.h"

enum { SUPER = SAP_GPU_SUPERPACKET };

int sap_hermite_superpackets(int n) { return (n + SUPER - 1) / SUPER; }

size_t sap_hermite_store_bytes(int n, int columns)
{
    return (size_t)sap_hermite_superpackets(n) * SUPER * (size_t)columns * sizeof(double);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Columns of particles on the host; of a part also the records of all sources. */
struct host_columns {
    double *all, *x, *v, *a, *higher, *particle, *record;
};

static int read_columns(struct sap_gpu_stepper *s, struct host_columns *c)
{
    const size_t n = (size_t)s->n, three = 3 * n,
                 more = n * sap_hermite_higher_bytes(s->settings.order) / sizeof(double);
    const size_t record = sap_hermite_record_bytes(s->settings.order) / sizeof(double);
    const size_t records = s->shared ? (size_t)sap_gpu_sources(s) * record : 0;
    c->all = malloc((3 * three + more + 4 * n + records + 1) * sizeof *c->all);
    if (!c->all) return SAP_DRIVER_MEMORY;
    c->x = c->all;
    c->v = c->x + three;
    c->a = c->v + three;
    c->higher = c->a + three;
    c->particle = c->higher + more;
    c->record = c->particle + 4 * n;
    if (records > 0) TRY(sap_session_copy_out(s->session, c->record, s->shared->all.mem, 0, records * sizeof(double)));
    if (n == 0) return sap_session_wait(s->session);
    TRY(sap_session_copy_out(s->session, c->x, s->x.mem, 0, three * sizeof(double)));
    TRY(sap_session_copy_out(s->session, c->v, s->v.mem, 0, three * sizeof(double)));
    TRY(sap_session_copy_out(s->session, c->a, s->a.mem, 0, three * sizeof(double)));
    TRY(sap_session_copy_out(s->session, c->higher, s->hermite->higher.mem, 0, more * sizeof(double)));
    TRY(sap_session_copy_out(s->session, c->particle, s->given->particle.mem, 0, 4 * n * sizeof(double)));
    return sap_session_wait(s->session);
}

/* Looks at the sources of all parts. */
static void look_at_records(const struct sap_gpu_stepper *s, const struct host_columns *c, struct sap_spread *all,
                            struct sap_sizes *sizes)
{
    const int sent = SAP_HERMITE_SENT_OF(s->settings.order);
    const size_t each = sap_hermite_record_bytes(s->settings.order) / sizeof(double);
    for (int k = 0; k < sap_gpu_sources(s); k++) {
        const double *const record = c->record + (size_t)k * each;
        struct sap_numbers p = {.stride = 1,
                                .mass = record[3 * sent + SAP_HERMITE_RECORD_MASS],
                                .eps2 = record[3 * sent + SAP_HERMITE_RECORD_EPS2]};
        for (int m = 0; m < sent; m++) p.derivative[m] = record + 3 * (size_t)m;
        sap_spread_add(all, sizes, &p);
    }
}

/* Looks at all numbers of the particles that pairs of the order use. */
static struct sap_units look(const struct sap_gpu_stepper *s, const struct host_columns *c)
{
    const int order = s->settings.order, more = SAP_HERMITE_KEPT_OF(order) - 3;
    struct sap_sizes sizes = {0};
    struct sap_spread all, massless;
    sap_spread_clear(&all);
    sap_spread_clear(&massless);
    if (s->shared) look_at_records(s, c, &all, &sizes);
    for (int slot = s->shared ? s->order.massive : 0; slot < s->n; slot++) {
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
    const int needed = s->session->set->precision != SAPPORO_DP && sap_gpu_sources(s) > 0;
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

int sap_hermite_send_all(struct sap_gpu_stepper *s, struct sap_step step)
{
    struct sap_gpu_direct *const d = s->direct;
    struct sap_gpu_hermite *const h = s->hermite;
    const int n = s->order.massive, fresh = d->forces == 0;
    if (fresh) TRY(choose_units(s));
    if (fresh && n > 0) {
        const struct sap_hermite_force f = h->force;
        const struct sap_hermite_units units = h->units;
        TRY(sap_session_reserve(s->session, &h->store, sap_hermite_store_bytes(n, s->session->set->columns)));
        TRY(clear_store(s, sap_hermite_superpackets(n)));
        TRY(sap_launch_hermite_send(s->session, h->f, n, s->x.mem, s->v.mem, s->a.mem, h->higher.mem, s->level.mem,
                                    s->given->particle.mem, sap_stepper_addresses(s)->mem, h->store.mem, n, f,
                                    sap_stepper_order_of(s), step, units));
    }
    if (fresh) TRY(soften_sources(s, n));
    d->forces = (d->forces + 1) % SAP_HERMITE_FORCES; /* after all else: what failed is done again */
    return SAP_DRIVER_OK;
}

/* ---- sources of all parts ---------------------------------------------------------------------- */

/* Makes room for records, of n sources of this part and of all. */
static int reserve_records(struct sap_gpu_stepper *s, int n)
{
    const size_t each = sap_hermite_record_bytes(s->settings.order);
    TRY(sap_session_reserve(s->session, &s->shared->own, (size_t)n * each));
    return sap_session_reserve(s->session, &s->shared->all, (size_t)sap_gpu_sources(s) * each);
}

static int share(struct sap_gpu_stepper *s, struct sap_step step, const struct sap_hermite_records r)
{
    struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_hermite_force f = h->force;
    return sap_launch_hermite_share(s->session, h->f, r.n, s->x.mem, s->v.mem, s->a.mem, h->higher.mem, s->level.mem,
                                    s->given->particle.mem, r.has_soft ? s->direct->soft.mem : s->pot.mem, h->row_d.mem,
                                    s->active.mem, sap_stepper_addresses(s)->mem, s->shared->own.mem, f, r,
                                    sap_stepper_order_of(s), step);
}

int sap_hermite_share_all(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    const int n = s->order.massive, first = s->shared->by->first, has_soft = s->session->set->soft != 0;
    s->direct->units = (struct sap_units){0, 0, 0}; /* records have squared lengths as they are */
    if (has_soft) TRY(sap_gpu_direct_send_squares(s));
    TRY(reserve_records(s, n));
    TRY(share(s, *step, (struct sap_hermite_records){.n = n, .all = 1, .has_soft = has_soft, .first = first}));
    return sap_gpu_shared_place(s, &s->shared->all, &s->shared->own, sap_hermite_record_bytes(s->settings.order));
}

int sap_hermite_share_rows(struct sap_gpu_stepper *s, const struct sap_step *step, double time)
{
    const int n = s->hermite->force.massive;
    TRY(reserve_records(s, n));
    TRY(share(s, *step, (struct sap_hermite_records){.n = n, .time = time}));
    return sap_session_wait(s->session);
}

static int join(struct sap_gpu_stepper *s, const struct sap_hermite_records r)
{
    struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_hermite_force f = h->force;
    const struct sap_hermite_units units = h->units;
    return sap_launch_hermite_join(s->session, h->f, r.n, s->shared->own.mem, s->shared->all.mem, h->store.mem,
                                   s->shared->number.mem, f, r, units);
}

int sap_hermite_join_all(struct sap_gpu_stepper *s)
{
    const int n = sap_gpu_sources(s), has_soft = s->session->set->soft != 0;
    struct sap_gpu_hermite *const h = s->hermite;
    TRY(choose_units(s));
    TRY(sap_session_reserve(s->session, &h->store, sap_hermite_store_bytes(n, s->session->set->columns)));
    TRY(sap_session_reserve(s->session, &s->shared->number, (size_t)n * sizeof(int)));
    if (n > 0) TRY(clear_store(s, sap_hermite_superpackets(n)));
    TRY(join(s, (struct sap_hermite_records){
                    .n = n, .all = 1, .has_soft = has_soft, .square = power(sap_units_square(&s->direct->units))}));
    if (has_soft) TRY(sap_gpu_direct_send_squares(s)); /* of targets */
    s->direct->forces = 1;
    return SAP_DRIVER_OK;
}

int sap_hermite_join_rows(struct sap_gpu_stepper *s)
{
    const struct sap_step_sharing *const by = s->shared->by;
    return join(s, (struct sap_hermite_records){.n = by->rows, .ahead = by->ahead, .own = s->hermite->force.massive});
}
