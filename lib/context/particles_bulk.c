/*
 * particles_bulk.c - stores j-particles that the caller has in columns.
 *
 * Tree codes store hundreds of particles per small force, and NBODY6 stores all its particles per regular force.
 * Particles of order 2, and particles of order 4 without acceleration and jerk, therefore take a fast path: runs of up
 * to 16 addresses are copied directly into the store.
 */
#include <string.h>

#include "base/finite.h"
#include "base/structs.h"
#include "context/call.h"
#include "context/particles.h"

/* ------------------------------------------------------------- any particle */

/* Address of particle k in a column; NULL if the column is absent. */
static const void *at(const sapporo_column *column, int k, size_t size)
{
    return column->base ? sap_column_at(column, k, size) : NULL;
}

static int put_row(sapporo *c, int first, int k, const sapporo_particles *all)
{
    double scaled[SAP_DERIVATIVES_MOST][3], copy[SAP_DERIVATIVES_MOST][3];
    const double *from[SAP_DERIVATIVES_MOST];
    struct sap_jparticle p = {.index = first + k};
    const void *q;
    for (int d = 0; d < SAP_DERIVATIVES_MOST; d++) { /* copied, as strides may leave values unaligned */
        q = at(&all->derivative[d], k, sizeof copy[d]);
        from[d] = q ? memcpy(copy[d], q, sizeof copy[d]) : NULL;
    }
    if ((q = at(&all->mass, k, sizeof p.mass))) memcpy(&p.mass, q, sizeof p.mass);
    if ((q = at(&all->time, k, sizeof p.time))) memcpy(&p.time, q, sizeof p.time);
    if ((q = at(&all->eps2, k, sizeof p.eps2))) memcpy(&p.eps2, q, sizeof p.eps2);
    if ((q = at(&all->index, k, sizeof p.index))) memcpy(&p.index, q, sizeof p.index);
    sap_particle_scale(c, scaled, from, &p);
    return sap_particle_put(c, first + k, &p);
}

/*
 * Stores particles from .. from + n - 1 one by one.  If one of them cannot be stored, it and all later ones are marked
 * as lost; else forces would mix old and new particles.
 */
static int put_rows(sapporo *c, int first, int from, int n, const sapporo_particles *all)
{
    int status = SAPPORO_OK;
    for (int k = from; k < from + n; k++) {
        const int one = put_row(c, first, k, all);
        if (one) status = one;
        if (!one || one == SAPPORO_ERR_NOT_FINITE) continue;
        sap_context_lose(c, first + k, from + n - k);
        break;
    }
    return status;
}

/* --------------------------------------------------- runs: position and mass */

enum {
    LANES = SAP_CPU_LANES,
    MANY = 4096 /* from this number on an engine uploads particles faster from the store than as staged particles */
};

/* Whether n particles of order 4 may be stored in runs: they have only position, velocity, mass and index. */
static int is_simple(const sapporo *c, int n, const sapporo_particles *all)
{
    int higher = all->time.base != NULL;
    for (int d = 2; d < SAPPORO_DERIVATIVES; d++) higher |= all->derivative[d].base != NULL;
    return c->settings.order == 4 && (!c->sends || n >= MANY) && all->derivative[1].base && !higher;
}

/* Whether runs may be stored directly: no job needs the present store, and neither side has individual softening. */
static int takes_runs(const sapporo *c, int n, const sapporo_particles *all)
{
    return (c->settings.order == 2 || is_simple(c, n, all)) && c->open_needs == 0 && !all->eps2.base &&
           c->host.soft == 0;
}

static uint64_t carry_of(double x, uint64_t add)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & finite_exponent) + add;
}

/*
 * Copies positions or velocities of n particles, from particle k on, into a column of the store.  Returns nonzero if a
 * value carries with `add` (base/finite.h): then the particles must be judged.
 */
static int copy_vectors(double *to, const sapporo_column *x, int k, int n, uint64_t add)
{
    uint64_t carries = 0;
    const char *from = sap_column_at(x, k, 3 * sizeof(double));
    const ptrdiff_t stride = x->stride ? x->stride : (ptrdiff_t)(3 * sizeof(double));
    for (int l = 0; l < n; l++, from += stride) {
        double row[3];
        memcpy(row, from, sizeof row);
        for (int axis = 0; axis < 3; axis++) {
            carries |= carry_of(row[axis], add);
            to[axis * LANES + l] = row[axis];
        }
    }
    return carries >> 63 != 0;
}

/* Copies masses of n particles, from particle k on; returns nonzero if one of them is not finite. */
static int copy_masses(double *to, const sapporo_column *mass, int k, int n)
{
    uint64_t carries = 0;
    for (int l = 0; l < n; l++) {
        to[l] = 0;
        if (mass->base) memcpy(&to[l], sap_column_at(mass, k + l, sizeof *to), sizeof *to);
        carries |= carry_of(to[l], if_not_finite);
    }
    return carries >> 63 != 0;
}

/* Loads two doubles of a client's array, which may be unaligned. */
__attribute__((always_inline)) static inline two two_of(const char *from, ptrdiff_t k)
{
    typedef double anywhere __attribute__((vector_size(16), aligned(1), may_alias));
    const void *const place = from + k * (ptrdiff_t)sizeof(double);
    return *(const anywhere *)place;
}

/* Like copy_vectors, for 16 particles that are contiguous in their column; returns the carries. */
__attribute__((always_inline)) static inline pair copy_word_vectors(double *to, const sapporo_column *x, int k,
                                                                    uint64_t add)
{
    const char *const row = sap_column_at(x, k, 3 * sizeof(double));
    pair carry = {0, 0};
    for (int l = 0; l < LANES; l += 2) {
        const two xy = two_of(row, 3 * l), zx = two_of(row, 3 * l + 2), yz = two_of(row, 3 * l + 4);
        carry |= carries((pair)xy, add) | carries((pair)zx, add) | carries((pair)yz, add);
        put_two(to + l, sap_two_of(xy, 0, zx, 1));
        put_two(to + LANES + l, sap_two_of(xy, 1, yz, 0));
        put_two(to + 2 * LANES + l, sap_two_of(zx, 0, yz, 1));
    }
    return carry;
}

/* Copies positions and masses of 16 contiguous particles and sets their indices; nonzero if one must be judged. */
static int copy_word(struct sap_segment *s, unsigned in, int address, int k, const sapporo_particles *all)
{
    const char *const mass = sap_column_at(&all->mass, k, sizeof(double));
    pair carry = copy_word_vectors(s->derivative[0] + sap_jstore_offset(in), &all->derivative[0], k, if_wide);
    for (int l = 0; l < LANES; l += 2) {
        const two m = two_of(mass, l);
        carry |= carries((pair)m, if_not_finite);
        put_two(s->mass + in + l, m);
    }
    for (int l = 0; l < LANES; l++) s->index[in + (unsigned)l] = address + l;
    return carried(carry);
}

/* Whether the columns are contiguous, as copy_word needs them. */
static int without_gaps(const sapporo_particles *all)
{
    const ptrdiff_t x = all->derivative[0].stride, mass = all->mass.stride;
    return all->mass.base && !all->index.base && (x == 0 || x == (ptrdiff_t)(3 * sizeof(double))) &&
           (mass == 0 || mass == (ptrdiff_t)sizeof(double));
}

/* Copies the velocities of a run of order 4 and sets times and higher derivatives to zero. */
static int copy_motion(struct sap_segment *s, unsigned in, int k, int n, const sapporo_particles *all)
{
    const size_t at = sap_jstore_offset(in);
    const sapporo_column *const v = &all->derivative[1];
    const int gaps = v->stride != 0 && v->stride != (ptrdiff_t)(3 * sizeof(double));
    memset(s->time + in, 0, (size_t)n * sizeof *s->time);
    for (int d = 2; d <= s->terms; d++)
        for (int axis = 0; axis < 3; axis++)
            memset(s->derivative[d] + at + (size_t)axis * LANES, 0, (size_t)n * sizeof(double));
    if (n == LANES && !gaps) return carried(copy_word_vectors(s->derivative[1] + at, v, k, if_not_finite));
    return copy_vectors(s->derivative[1] + at, v, k, n, if_not_finite);
}

/* Multiplies n numbers of the store by 2^exponent; nonzero if they do not fit, or if one carries with `add`. */
static int scale_numbers(double *x, int n, int exponent, uint64_t add)
{
    uint64_t carries = 0;
    if (!sap_scales(x, n, exponent)) return 1;
    sap_scale(x, (size_t)n, exponent);
    for (int l = 0; l < n; l++) carries |= carry_of(x[l], add);
    return carries >> 63 != 0;
}

/* Multiplies a run that was copied to the units of the context; nonzero: a particle must be judged. */
static int scale_run(const sapporo *c, struct sap_segment *s, unsigned in, int n)
{
    const struct sap_units *const u = &c->units;
    const size_t at = sap_jstore_offset(in);
    int strange = scale_numbers(s->mass + in, n, u->mass, if_not_finite);
    for (int axis = 0; axis < 3 && !strange; axis++) {
        strange = scale_numbers(s->derivative[0] + at + (size_t)axis * LANES, n, u->length, if_wide);
        if (!strange && c->settings.order == 4)
            strange = scale_numbers(s->derivative[1] + at + (size_t)axis * LANES, n, sap_units_derivative(u, 1),
                                    if_not_finite);
    }
    return strange;
}

/*
 * Stores n particles whose addresses are in one word of 16 addresses; room must have been made.  If one of them must be
 * judged, put_rows stores all n again, particle by particle, with messages.
 */
static int put_run(sapporo *c, int first, int k, int n, const sapporo_particles *all)
{
    const int address = first + k;
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    struct sap_segment *s = c->host.segment[address / SAP_SEGMENT];
    int strange;
    if (n == LANES && without_gaps(all)) {
        strange = copy_word(s, in, address, k, all);
    } else {
        strange = copy_vectors(s->derivative[0] + sap_jstore_offset(in), &all->derivative[0], k, n, if_wide);
        strange |= copy_masses(s->mass + in, &all->mass, k, n);
        for (int l = 0; l < n; l++) {
            s->index[in + (unsigned)l] = address + l;
            if (all->index.base) memcpy(&s->index[in + (unsigned)l], sap_column_at(&all->index, k + l, 4), 4);
        }
    }
    if (c->settings.order == 4) strange |= copy_motion(s, in, k, n, all);
    if (!sap_units_are_plain(&c->units)) strange = scale_run(c, s, in, n);
    sap_jstore_mark_run(&c->host, s, address, n);
    return strange ? put_rows(c, first, k, n, all) : SAPPORO_OK;
}

static int put_runs(sapporo *c, int first, int n, const sapporo_particles *all)
{
    int status = SAPPORO_OK;
    sap_jstore_finish(&c->host);
    for (int k = 0, run; k < n; k += run) {
        const int address = first + k, left = LANES - address % LANES;
        run = n - k < left ? n - k : left;
        if ((k == 0 || address % SAP_CPU_SUPERPACKET == 0) && sap_jstore_reserve(&c->host, address, 1)) {
            sap_context_lose(c, address, n - k);
            return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for the j-particle at address %d", address);
        }
        const int one = put_run(c, first, k, run, all);
        if (one) status = one;
    }
    return status;
}

/* --------------------------------------------------------------------- both */

static int check_particles(sapporo *c, int first, int n, sapporo_particles *all, const sapporo_particles *given)
{
    const int known = given ? sap_struct_copy(all, sizeof *all, given, sizeof *all) : (int)SAPPORO_ERR_ARGUMENT;
    if (known) return sap_struct_error(&c->notes, known, "sapporo_particles", given);
    if (n < 0 || first < 0 || first > SAP_ADDRESSES - n)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT,
                        "sapporo_set_particles: first is %d and n is %d; addresses are 0 to %d", first, n,
                        SAP_ADDRESSES - 1);
    if (!all->derivative[0].base)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_set_particles: no positions: derivative[0].base is NULL");
    if (!all->mass.base && n > 0)
        sap_warn_once(&c->notes, SAP_WARN_NO_MASS,
                      "sapporo_set_particles: particles without masses (mass.base is NULL) exert no force");
    return SAPPORO_OK;
}

int sapporo_set_particles(sapporo *context, int first, int n, const sapporo_particles *particles)
{
    sapporo_particles all = {0};
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    int status = check_particles(c, first, n, &all, particles);
    if (!status) {
        const int runs = takes_runs(c, n, &all);
        if (runs && c->nstaged) sap_context_settle(c);
        status = runs ? put_runs(c, first, n, &all) : put_rows(c, first, 0, n, &all);
    }
    return sap_call_end(&call, status);
}
