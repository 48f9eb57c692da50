/*
 * gpu_direct.c - direct sums of order 2 for a stepper: the force kernels of contexts read the stepper's particles in
 * device memory and leave their sums there.
 */
#include "gpu/stepper/gpu_direct.h"

#include <stdlib.h>

#include "device/gpu_layout.h"
#include "engine/units.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_shape.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_sums.h"
#include "gpu/stepper/gpu_shared.h"
#include "gpu/stepper/gpu_stepper.h"

enum { SUPER = SAP_GPU_SUPERPACKET, SUMS = 4 /* potential, acceleration */ };

int sap_gpu_direct_able(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    return set->n == 1 && set->has_fp64;
}

size_t sap_gpu_direct_bytes(int n)
{
    enum { RECORDS = 80 << 20 };
    const size_t size = (size_t)n, records = size / SUPER * size * SUMS * sizeof(double);
    const size_t predicted = 64, sums = 2 * SUMS * sizeof(double);
    return size * (sizeof(struct sap_gpu_i) + predicted + sums) + (records < RECORDS ? records : RECORDS);
}

int sap_gpu_direct_new(struct sap_gpu_stepper *s, struct sap_device_set *devices)
{
    struct sap_gpu_direct *const d = s->direct = calloc(1, sizeof *d);
    if (!d) return SAPPORO_ERR_MEMORY;
    sap_session_init(&d->session, (void *)devices, "stepper");
    s->session = &d->session;
    s->given = &d->given;
    d->given = (struct sap_gpu_given){.gravity = 1, .room = s->room, .column = {&d->copy, &d->out}};
    return SAPPORO_OK;
}

int sap_gpu_direct_open(struct sap_gpu_stepper *s)
{
    TRY(sap_session_open(s->session, s->room));
    return sap_gpu_given_open(s->session, s->given);
}

void sap_gpu_direct_free(struct sap_gpu_stepper *s)
{
    struct sap_gpu_direct *const d = s->direct;
    sap_gpu_sums_free(s->session->driver, &d->sums);
    sap_gpu_free(s->session->driver, &d->out);
    sap_gpu_free(s->session->driver, &d->copy);
    sap_gpu_free(s->session->driver, &d->soft);
    sap_gpu_given_free(s->session->driver, &d->given);
    sap_session_close(s->session);
    free(d);
}

void sap_gpu_direct_forget(struct sap_gpu_stepper *s)
{
    if (s->direct) s->direct->forces = 0;
}

double sap_gpu_direct_square_of(const struct sap_gpu_stepper *s, int slot)
{
    const double h = s->lengths ? s->lengths->h[sap_step_address(&s->order, slot)] : 0;
    return h * h;
}

/* The sources at their predicted positions, and their squared lengths, if they have some. */
static const struct sap_gpu_buffer *given_sources(const struct sap_gpu_stepper *s)
{
    return s->shared ? &s->shared->all : &s->given->particle;
}

static const struct sap_gpu_buffer *soft_sources(const struct sap_gpu_stepper *s)
{
    return s->shared ? &s->shared->soft : &s->direct->soft;
}

/* Sources, then massless particles, on the host: x, y, z, mass, and the squared length of each. */
struct host_particles {
    double *at, *square;
    size_t sources, n;
};

static int read_particles(struct sap_gpu_stepper *s, struct host_particles *p)
{
    const size_t each = 4 * sizeof *p->at, massive = (size_t)s->order.massive, massless = (size_t)s->n - massive;
    p->sources = (size_t)sap_gpu_sources(s);
    p->n = p->sources + massless;
    p->at = malloc(p->n * (each + sizeof *p->square) + 1);
    if (!p->at) return SAP_DRIVER_MEMORY;
    p->square = p->at + 4 * p->n;
    for (size_t k = 0; k < p->n; k++) /* of sources of other parts they follow */
        p->square[k] = s->shared && k < p->sources ? 0 : sap_gpu_direct_square_of(s, (int)(k + massive - p->sources));
    if (p->sources > 0) TRY(sap_session_copy_out(s->session, p->at, given_sources(s)->mem, 0, p->sources * each));
    if (massless > 0)
        TRY(sap_session_copy_out(s->session, p->at + 4 * p->sources, s->given->particle.mem, massive * each,
                                 massless * each));
    if (s->shared && s->lengths)
        TRY(sap_session_copy_out(s->session, p->square, s->shared->soft.mem, 0, p->sources * sizeof *p->square));
    return sap_session_wait(s->session);
}

/* Reads the particles at their predicted positions, and chooses units in which they fit. */
static int choose_units(struct sap_gpu_stepper *s)
{
    struct host_particles of = {NULL, NULL, 0, 0};
    struct sap_sizes sizes = {0};
    struct sap_spread all, massless;
    const int status = read_particles(s, &of);
    sap_spread_clear(&all);
    sap_spread_clear(&massless);
    for (size_t k = 0; k < of.n && !status; k++) {
        const struct sap_numbers p = {
            .derivative = {of.at + 4 * k}, .stride = 1, .mass = of.at[4 * k + 3], .eps2 = of.square[k]};
        const int acts = k < of.sources;
        sap_spread_add(acts ? &all : &massless, acts ? &sizes : NULL, &p);
    }
    free(of.at);
    sap_spread_soften(&all, s->settings.eps2);
    sap_spread_close(&all, &sizes, (const int[2]){massless.derivative[0].most, SAP_UNITS_NONE});
    if (!status) s->direct->units = sap_spread_units(&all, 2);
    return status;
}

int sap_gpu_direct_send_squares(struct sap_gpu_stepper *s)
{
    struct sap_gpu_direct *const d = s->direct;
    double *const chunk = s->session->chunk.host;
    TRY(sap_session_reserve(s->session, &d->soft, (size_t)s->room * sizeof *chunk));
    for (int first = 0; first < s->n; first += SAP_SESSION_CHUNK) {
        const int n = s->n - first < SAP_SESSION_CHUNK ? s->n - first : (int)SAP_SESSION_CHUNK;
        for (int k = 0; k < n; k++)
            chunk[k] = sap_scaled(sap_gpu_direct_square_of(s, first + k), sap_units_square(&d->units));
        TRY(sap_session_copy_in(s->session, d->soft.mem, (size_t)first * sizeof *chunk, chunk,
                                (size_t)n * sizeof *chunk));
        TRY(sap_session_wait(s->session));
    }
    return SAP_DRIVER_OK;
}

/* Multiplies the squared lengths of the sources of all parts by the units. */
static int scale_squares(struct sap_gpu_stepper *s)
{
    double *const chunk = s->session->chunk.host;
    struct sap_mem *const soft = s->shared->soft.mem;
    for (int first = 0, n; first < sap_gpu_sources(s); first += n) {
        const int left = sap_gpu_sources(s) - first;
        n = left < SAP_SESSION_CHUNK ? left : (int)SAP_SESSION_CHUNK;
        const size_t at = (size_t)first * sizeof *chunk, bytes = (size_t)n * sizeof *chunk;
        TRY(sap_session_copy_out(s->session, chunk, soft, at, bytes));
        TRY(sap_session_wait(s->session));
        for (int k = 0; k < n; k++) chunk[k] = sap_scaled(chunk[k], sap_units_square(&s->direct->units));
        TRY(sap_session_copy_in(s->session, soft, at, chunk, bytes));
        TRY(sap_session_wait(s->session));
    }
    return SAP_DRIVER_OK;
}

/* Copies particles to the units. */
static int copy_in_units(struct sap_gpu_stepper *s, const struct sap_gpu_buffer *from, struct sap_gpu_buffer *to, int n)
{
    const struct sap_units *const u = &s->direct->units;
    TRY(sap_session_reserve(s->session, to, (size_t)n * 4 * sizeof(double)));
    return sap_launch_stepper_units(s->session, s->f, n, from->mem, to->mem, sap_scaled(1, u->length),
                                    sap_scaled(1, u->mass), n);
}

/*
 * Chooses units for the first force on new particles and now and then, and copies the particles to them.  dp needs
 * none.
 */
static int take_units(struct sap_gpu_stepper *s)
{
    enum { FORCES = 1024 };
    struct sap_gpu_direct *const d = s->direct;
    const int is_new = d->forces == 0;
    if (is_new && s->session->set->precision != SAPPORO_DP) TRY(choose_units(s));
    if (is_new && s->lengths) TRY(sap_gpu_direct_send_squares(s));
    if (is_new && s->lengths && s->shared) TRY(scale_squares(s));
    d->forces = (d->forces + 1) % FORCES;
    if (sap_units_are_plain(&d->units)) return SAP_DRIVER_OK;
    if (s->shared) TRY(copy_in_units(s, &s->shared->all, &s->shared->copy, sap_gpu_sources(s)));
    return copy_in_units(s, &s->given->particle, &d->copy, s->n);
}

/* The particles and the sources that the force kernels see, and the squared softening. */
static const struct sap_gpu_buffer *particles_of(const struct sap_gpu_stepper *s)
{
    return sap_units_are_plain(&s->direct->units) ? &s->given->particle : &s->direct->copy;
}

static const struct sap_gpu_buffer *sources_of(const struct sap_gpu_stepper *s)
{
    return !s->shared ? particles_of(s) : sap_units_are_plain(&s->direct->units) ? &s->shared->all : &s->shared->copy;
}

static double softening_of(const struct sap_gpu_stepper *s)
{
    return sap_scaled(s->settings.eps2, sap_units_square(&s->direct->units));
}

/* Makes the records of all particles with mass at their predicted positions. */
static int pack_sources(struct sap_gpu_stepper *s, int superpackets)
{
    struct sap_gpu_buffer *const predicted = &s->direct->sums.predicted;
    const int n = sap_gpu_sources(s);
    TRY(sap_session_reserve(s->session, predicted, (size_t)superpackets * SUPER * s->session->set->working));
    const struct sap_gpu_grid grid = {.stream = s->session->stream,
                                      .driver = s->session->driver,
                                      .groups = {(unsigned)superpackets * (SUPER / 256), 1},
                                      .threads = 256};
    const struct sap_gpu_kernels *const kernels = s->session->device->kernels;
    TRY(sap_direct_pack(&grid, kernels->pack, sources_of(s)->mem, predicted->mem, n, superpackets));
    if (!s->lengths) return SAP_DRIVER_OK;
    return sap_direct_soften(&grid, kernels->soften, soft_sources(s)->mem, predicted->mem, n);
}

static int list_targets(struct sap_gpu_stepper *s, int active)
{
    struct sap_gpu_buffer *const i = &s->direct->sums.i;
    const int has_active = active < s->n, massive = s->order.massive;
    const int before = sap_gpu_before(s), beyond = sap_gpu_beyond(s);
    const double eps2 = softening_of(s);
    TRY(sap_session_reserve(s->session, i, (size_t)active * sizeof(struct sap_gpu_i)));
    TRY(sap_launch_stepper_targets(s->session, s->f, active, particles_of(s)->mem, s->active.mem, i->mem, eps2,
                                   has_active, massive, before, beyond, active));
    if (!s->lengths) return SAP_DRIVER_OK;
    return sap_launch_stepper_soften(s->session, s->f, active, s->direct->soft.mem, s->active.mem, i->mem, has_active,
                                     active);
}

/* Launches the force kernels slab by slab; own: particles have softening lengths. */
static int sum_slabs(struct sap_gpu_slab *slab, struct sap_mem *out, int active, int all, int own)
{
    slab->mode = own ? (int)SAP_GPU_MODE_SOFT : sap_gpu_self_mode(slab, active, all);
    const int rows = sap_gpu_slab_rows(slab, active);
    TRY(sap_gpu_reserve_records(slab, rows));
    slab->f.room_i = rows;
    for (int first = 0; first < active; first += rows) {
        slab->f.first_i = first;
        slab->f.ni = active - first < rows ? active - first : rows;
        slab->shape = sap_gpu_shape_of(slab, slab->f.ni);
        TRY(sap_gpu_launch_force(slab));
        TRY(sap_gpu_launch_sums(slab, out, &slab->f));
    }
    return SAP_DRIVER_OK;
}

static int give_results(struct sap_gpu_stepper *s, int active)
{
    const struct sap_units *const u = &s->direct->units;
    const double acc = sap_scaled(1, -sap_units_field(u, 0)), pot = sap_scaled(1, -sap_units_potential(u));
    return sap_launch_stepper_results(s->session, s->f, active, s->direct->out.mem, s->row_a.mem, s->row_pot.mem, acc,
                                      pot, active);
}

int sap_gpu_direct_force(struct sap_gpu_stepper *s, int active)
{
    struct sap_gpu_direct *const d = s->direct;
    const struct sap_gpu_set *const set = s->session->set;
    const int nj = sap_gpu_sources(s), superpackets = (nj + SUPER - 1) / SUPER;
    TRY(take_units(s));
    TRY(pack_sources(s, superpackets));
    TRY(list_targets(s, active));
    TRY(sap_session_reserve(s->session, &d->out, (size_t)active * SUMS * sizeof(double)));
    TRY(sap_stepper_own_rows(s, active));
    d->sums.valid = 1; /* for the choice of kernels */
    d->sums.nj = nj;
    struct sap_gpu_slab slab = {.set = set,
                                .device = s->session->device,
                                .stream = s->session->stream,
                                .sums = &d->sums,
                                .i = d->sums.i.mem,
                                .f = {.eps2 = softening_of(s),
                                      .nj = nj,
                                      .superpackets = superpackets,
                                      .columns = set->columns,
                                      .units = set->units,
                                      .skip_own = 1,
                                      .out_rows = active,
                                      .sums = set->sums}};
    TRY(sum_slabs(&slab, d->out.mem, active, active == s->n, s->lengths != NULL));
    return give_results(s, active);
}
