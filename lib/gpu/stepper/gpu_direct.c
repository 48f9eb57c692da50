/*
 * gpu_direct.c - direct sums of order 2 for a stepper: the force kernels of contexts read the stepper's particles in
 * device memory and leave their sums there.
 */
#include "gpu/stepper/gpu_direct.h"

#include <stdlib.h>

#include "device/gpu_layout.h"
#include "engine/tree_ops.h"
#include "engine/units.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_engine.h"
#include "gpu/gpu_force.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_shape.h"
#include "gpu/gpu_store.h"
#include "gpu/stepper/gpu_stepper.h"

enum { SUPER = SAP_GPU_SUPERPACKET, SUMS = 4 /* potential, acceleration */ };

struct sap_gpu_direct {
    /* lends predicted records, memory and launch parameters to the force kernels; it never holds j-particles */
    struct sap_gpu_store *store;
    struct sap_gpu_part none;   /* results stay on the device */
    struct sap_gpu_buffer out;  /* columns of sums */
    struct sap_units units;     /* of the particles as the force kernels see them */
    struct sap_gpu_buffer copy; /* the particles in these units, unless they are plain */
    int forces;                 /* since the units were chosen */
};

int sap_gpu_direct_able(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    return set->n == 1 && set->has_fp64 && set->order == 2;
}

size_t sap_gpu_direct_bytes(int n)
{
    enum { RECORDS = 80 << 20 };
    const size_t size = (size_t)n, records = size / SUPER * size * SUMS * sizeof(double);
    const size_t predicted = 64, sums = 2 * SUMS * sizeof(double);
    return size * (sizeof(struct sap_gpu_i) + predicted + sums) + (records < RECORDS ? records : RECORDS);
}

int sap_gpu_direct_open(struct sap_gpu_stepper *s, struct sap_device_set *devices)
{
    static const struct sap_tree_settings never_built = {.kind = SAPPORO_TREE_OCTREE, .leaf_size = 1, .group_size = 1};
    struct sap_tree *tree = NULL;
    s->direct = calloc(1, sizeof *s->direct);
    if (!s->direct) return SAPPORO_ERR_MEMORY;
    const int status = sap_tree_gpu.create(devices, &never_built, s->room, &tree);
    s->t = (void *)tree;
    if (status) return status;
    s->session = &s->t->session;
    s->direct->store = sap_gpu_store_new(s->session->set, NULL);
    if (!s->direct->store) return SAPPORO_ERR_MEMORY;
    s->direct->store->share[0].stream = s->session->stream;
    s->direct->store->share[0].valid = 1;
    return SAPPORO_OK;
}

void sap_gpu_direct_close(struct sap_gpu_stepper *s)
{
    if (!s->direct) return;
    if (s->direct->store) {
        s->direct->store->share[0].stream = NULL; /* the stream belongs to the tree */
        sap_gpu_store_free(s->direct->store);
    }
    if (s->t) sap_gpu_free(s->session->driver, &s->direct->out);
    if (s->t) sap_gpu_free(s->session->driver, &s->direct->copy);
    if (s->t) sap_tree_gpu.destroy((void *)s->t);
    free(s->direct);
}

void sap_gpu_direct_forget(struct sap_gpu_stepper *s)
{
    if (s->direct) s->direct->forces = 0;
}

/* Reads the particles at their predicted positions, and chooses units in which they fit. */
static int choose_units(struct sap_gpu_stepper *s)
{
    const struct sap_driver *const driver = s->session->driver;
    struct sap_sizes sizes = {0};
    struct sap_spread all, massless;
    const size_t n = (size_t)s->n;
    double *const particle = malloc((4 * n + 1) * sizeof *particle); /* x, y, z, mass of each */
    if (!particle) return SAP_DRIVER_MEMORY;
    int status = driver->copy_out(s->session->stream, particle, s->t->particle.mem, 0, 4 * n * sizeof *particle);
    if (!status) status = driver->stream_finish(s->session->stream);
    sap_spread_clear(&all);
    sap_spread_clear(&massless);
    for (size_t k = 0; k < n && !status; k++) {
        const struct sap_numbers p = {.derivative = {particle + 4 * k}, .stride = 1, .mass = particle[4 * k + 3]};
        const int acts = k < (size_t)s->order.massive;
        sap_spread_add(acts ? &all : &massless, acts ? &sizes : NULL, &p);
    }
    free(particle);
    sap_spread_soften(&all, s->settings.eps2);
    sap_spread_close(&all, &sizes, (const int[2]){massless.derivative[0].most, SAP_UNITS_NONE});
    if (!status) s->direct->units = sap_spread_units(&all, 2);
    return status;
}

/*
 * Chooses units for the first force on new particles and now and then, and copies the particles to them.  dp needs
 * none.
 */
static int take_units(struct sap_gpu_stepper *s)
{
    enum { FORCES = 1024 };
    struct sap_gpu_direct *const d = s->direct;
    const int n = s->n;
    if (s->session->set->precision == SAPPORO_DP) return SAP_DRIVER_OK;
    if (d->forces == 0) TRY(choose_units(s));
    d->forces = (d->forces + 1) % FORCES;
    if (sap_units_are_plain(&d->units)) return SAP_DRIVER_OK;
    const double length = sap_scaled(1, d->units.length), mass = sap_scaled(1, d->units.mass);
    TRY(sap_session_reserve(s->session, &d->copy, (size_t)n * 4 * sizeof(double)));
    const struct sap_argument a[] = {MEM(s->t->particle), MEM(d->copy), VALUE(length), VALUE(mass), VALUE(n)};
    return sap_stepper_for_each(s, s->f->units, n, a, COUNT(a));
}

/* The particles that the force kernels see, and the squared softening. */
static const struct sap_gpu_buffer *particles_of(const struct sap_gpu_stepper *s)
{
    return sap_units_are_plain(&s->direct->units) ? &s->t->particle : &s->direct->copy;
}

static double softening_of(const struct sap_gpu_stepper *s)
{
    return sap_scaled(s->settings.eps2, sap_units_square(&s->direct->units));
}

/* Makes the records of all particles with mass at their predicted positions. */
static int pack_sources(struct sap_gpu_stepper *s, struct sap_gpu_share *h, int superpackets)
{
    const int n = s->order.massive;
    const unsigned groups[2] = {(unsigned)superpackets * (SUPER / 256), 1};
    TRY(sap_session_reserve(s->session, &h->predicted, (size_t)superpackets * SUPER * s->session->set->working));
    const struct sap_argument a[] = {MEM(*particles_of(s)), MEM(h->predicted), VALUE(n), VALUE(superpackets)};
    return sap_gpu_launch(h->stream, s->session->driver, h->device->kernels->pack, groups, 256, 0, a, COUNT(a));
}

static int list_targets(struct sap_gpu_stepper *s, struct sap_gpu_share *h, int active)
{
    const int has_active = active < s->n;
    const double eps2 = softening_of(s);
    TRY(sap_session_reserve(s->session, &h->i, (size_t)active * sizeof(struct sap_gpu_i)));
    const struct sap_argument a[] = {MEM(*particles_of(s)), MEM(s->t->active), MEM(h->i),
                                     VALUE(eps2),           VALUE(has_active), VALUE(active)};
    return sap_stepper_for_each(s, s->f->targets, active, a, COUNT(a));
}

/* Launches the force kernels slab by slab. */
static int sum_slabs(struct sap_gpu_slab *slab, struct sap_mem *out, int active, int all)
{
    slab->mode = sap_gpu_self_mode(slab, active, all);
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
    struct sap_gpu_host_tree *const t = s->t;
    const struct sap_units *const u = &s->direct->units;
    const double acc = sap_scaled(1, -sap_units_field(u, 0)), pot = sap_scaled(1, -sap_units_potential(u));
    const struct sap_argument a[] = {MEM(s->direct->out), MEM(t->acc), MEM(t->pot),
                                     VALUE(acc),          VALUE(pot),  VALUE(active)};
    t->picked = 0;
    return sap_stepper_for_each(s, s->f->results, active, a, COUNT(a));
}

int sap_gpu_direct_force(struct sap_gpu_stepper *s, int active)
{
    struct sap_gpu_direct *const d = s->direct;
    struct sap_gpu_share *const h = &d->store->share[0];
    const struct sap_gpu_set *const set = s->session->set;
    const int nj = s->order.massive, superpackets = (nj + SUPER - 1) / SUPER;
    struct sap_gpu_slab slab = {.store = d->store, .share = h, .part = &d->none};
    TRY(take_units(s));
    TRY(pack_sources(s, h, superpackets));
    TRY(list_targets(s, h, active));
    TRY(sap_session_reserve(s->session, &d->out, (size_t)active * SUMS * sizeof(double)));
    TRY(sap_session_reserve(s->session, &s->t->acc, (size_t)active * 3 * sizeof(double)));
    TRY(sap_session_reserve(s->session, &s->t->pot, (size_t)active * sizeof(double)));
    h->nj = nj;
    slab.i = h->i.mem;
    slab.f = (struct sap_gpu_force){.eps2 = softening_of(s),
                                    .nj = nj,
                                    .superpackets = superpackets,
                                    .columns = set->columns,
                                    .units = set->units,
                                    .skip_own = 1,
                                    .out_rows = active,
                                    .sums = set->sums};
    TRY(sum_slabs(&slab, d->out.mem, active, active == s->n));
    return give_results(s, active);
}
