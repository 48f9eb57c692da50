/*
 * particles.c - stores j-particles.  particles_read.c reads them.
 *
 * A particle is written directly into the store unless a force may still need
 * the present store.  In that case it is staged, and stored when the next force
 * begins.  The paths for single particles do no floating-point arithmetic on
 * values that the caller has in GRAPE-6 form, see jstore.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/finite.h"
#include "context/call.h"
#include "context/context_units.h"
#include "context/particles.h"

/* Number of staged particles at which the context settles: enough for block steps, small compared with the store. */
static int staged_limit(const sapporo *c) { return c->host.count / 16 * 3 > 4096 ? c->host.count / 16 * 3 : 4096; }

/*
 * Number of staged particles that are stored at once when no force needs the store: SAP_STAGE particles fit into the
 * nearest caches.  For an engine that takes staged particles it is SAP_STAGE_SENT, enough for a block step.
 */
enum { SAP_STAGE = 512, SAP_STAGE_SENT = 32768 };

static int stage_most(const sapporo *c) { return c->sends ? SAP_STAGE_SENT : SAP_STAGE; }

/* Whether a particle is stored directly: it comes in order, no job needs the store, and the engine need not get it
 * as a staged particle. */
static inline int goes_straight(const sapporo *c, int address)
{
    return address == c->next_address && c->open_needs == 0 && !(c->sends && sap_jstore_has(&c->host, address));
}

/* ------------------------------------------------------------------ checks */

static int not_finite(const struct sap_jparticle *p)
{
    pair c = carries(pair_of(p->mass, p->time), if_not_finite);
    for (int k = 0; k < SAP_DERIVATIVES_MOST; k++)
        for (int axis = 0; axis < 3 && p->derivative[k]; axis++)
            c |= carries(pair_of(p->derivative[k][axis], 0), if_not_finite);
    return carried(c);
}

/* The number of the highest derivative that is not zero, at least 1. */
static int terms_of(const struct sap_jparticle *p)
{
    for (int k = SAP_DERIVATIVES - 1; k > 1; k--) {
        uint64_t w[3] = {0, 0, 0};
        if (p->derivative[k]) memcpy(w, p->derivative[k], sizeof w);
        if ((w[0] | w[1] | w[2]) << 1) return k;
    }
    return 1;
}

/* Records a coordinate that is beyond SAP_FAR. */
static void note_far(sapporo *c, const struct sap_jparticle *p)
{
    for (int k = 0; k < 3 && p->derivative[0]; k++) c->host.far |= fabs(p->derivative[0][k]) >= SAP_FAR;
}

int sap_particle_judge(sapporo *c, int address, const struct sap_jparticle *p)
{
    if (not_finite(p))
        return sap_fail(c, SAPPORO_ERR_NOT_FINITE, "j-particle at address %d is not finite: forces will be NaN",
                        address);
    note_far(c, p);
    if (c->settings.precision != SAPPORO_DP) sap_context_note_wide(c, p); /* forces in single precision warn */
    return SAPPORO_OK;
}

/* ----------------------------------------------------------------- storing */

/* Copies three doubles to to[0], to[stride], to[2 * stride]; returns their carries.  from NULL: zeros. */
__attribute__((always_inline)) static inline pair copy_three(double *to, ptrdiff_t stride, const double *from,
                                                             uint64_t add)
{
    static const double zero[3] = {0, 0, 0};
    pair xy, z = {0, 0};
    if (!from) from = zero;
    memcpy(&xy, from, sizeof xy);
    memcpy(&z, from + 2, sizeof from[2]);
    to[0] = from[0];
    to[stride] = from[1];
    to[2 * stride] = from[2];
    return carries(xy, add) | carries(z, add);
}

/* Copies the derivatives up to number `terms`; returns nonzero if the particle must be judged. */
__attribute__((always_inline)) static inline int copy_particle(double *const *to, ptrdiff_t stride, int terms,
                                                               const struct sap_jparticle *p)
{
    pair c = copy_three(to[0], stride, p->derivative[0], if_wide);
    c |= copy_three(to[1], stride, p->derivative[1], if_not_finite);
    if (terms >= 2) c |= copy_three(to[2], stride, p->derivative[2], if_not_finite);
    if (terms >= 3) c |= copy_three(to[3], stride, p->derivative[3], if_not_finite);
    if (terms >= 4) c |= copy_three(to[4], stride, p->derivative[4], if_not_finite);
    for (int k = SAP_DERIVATIVES; k <= terms && to[k]; k++)
        c |= copy_three(to[k], stride, p->derivative[k], if_not_finite);
    c |= carries(pair_of(p->mass, p->time), if_not_finite);
    return carried(c);
}

static inline struct sap_staged *staged_at(const sapporo *c, int k)
{
    return (struct sap_staged *)(void *)((char *)c->staged + (size_t)k * c->staged_bytes);
}

static int grow_staged(sapporo *c, int room)
{
    struct sap_staged *more = realloc(c->staged, (size_t)room * c->staged_bytes);
    if (!more) return SAPPORO_ERR_MEMORY;
    c->staged = more;
    c->staged_room = room;
    return SAPPORO_OK;
}

/* Makes room for one more staged particle. */
static int make_room(sapporo *c)
{
    const int room = c->staged_room, most = stage_most(c), limit = staged_limit(c) > most ? staged_limit(c) : most;
    if (c->open_needs == 0 && c->nstaged >= most)
        sap_context_store_staged(c, 0);
    else if (c->nstaged >= staged_limit(c))
        sap_context_settle(c);
    if (c->nstaged < room) return SAPPORO_OK;
    if (room == 0) return grow_staged(c, SAP_STAGE);
    /* allocate for the limit at once: outgrown blocks stay with the process, and unused pages take no memory */
    if (2 * room < limit && grow_staged(c, limit) == SAPPORO_OK) return SAPPORO_OK;
    return grow_staged(c, 2 * room);
}

/* Writes a particle directly into the store; returns nonzero if it must be judged.  In-order slots are in the cache. */
static inline int put_stored(sapporo *c, int address, const struct sap_jparticle *p)
{
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    struct sap_segment *s = c->host.segment[(unsigned)address / SAP_SEGMENT];
    const size_t at = sap_jstore_offset(in);
    double *to[SAP_DERIVATIVES_MOST] = {s->derivative[0] + at, s->derivative[1] + at};
    for (int k = 2; k <= s->terms; k++) to[k] = s->derivative[k] + at;
    s->mass[in] = p->mass;
    s->time[in] = p->time;
    s->index[in] = p->index;
    if (s->eps2) s->eps2[in] = p->eps2;
    sap_jstore_mark(&c->host, s, address);
    return copy_particle(to, SAP_CPU_LANES, s->terms, p);
}

/* Stages a particle; returns nonzero if it must be judged.  If there is no memory to stage it, it is stored directly,
 * because room in the store exists already. */
static int put_staged(sapporo *c, int address, const struct sap_jparticle *p)
{
    if ((c->nstaged >= stage_most(c) || c->nstaged == c->staged_room) && make_room(c) != SAPPORO_OK) {
        sap_context_settle(c);
        return put_stored(c, address, p);
    }
    struct sap_staged *s = staged_at(c, c->nstaged++);
    double *to[SAP_DERIVATIVES_MOST] = {s->derivative[0], s->derivative[1], s->derivative[2], s->derivative[3],
                                        s->derivative[4]};
    s->mass = p->mass;
    s->time = p->time;
    s->eps2 = p->eps2;
    s->index = p->index;
    s->address = address;
    const int full = c->host.full;
    if (!full) return copy_particle(to, 1, SAP_DERIVATIVES - 1, p);
    for (int k = SAP_DERIVATIVES; k < full; k++) to[k] = s->further[k - SAP_DERIVATIVES];
    return copy_particle(to, 1, full - 1, p);
}

/* Makes room in the store.  A tile that is filled in order is not set to empty particles first, which saves time. */
static int make_place(sapporo *c, int address, int in_order, int terms)
{
    return in_order && address % SAP_CPU_SUPERPACKET == 0 ? sap_jstore_open(&c->host, address, terms)
                                                          : sap_jstore_reserve(&c->host, address, terms);
}

/* Makes room for a particle unless it exists already; returns -1 if memory is short. */
static int reserve(sapporo *c, int address, int in_order, const struct sap_jparticle *p)
{
    if (!sap_jstore_ready(&c->host, address) && make_place(c, address, in_order, terms_of(p))) return -1;
    return p->eps2 > 0 ? sap_jstore_reserve_eps2(&c->host, address, p->eps2) : 0;
}

/* Checks and stores a particle; *strange becomes nonzero if it must be judged. */
static int place(sapporo *c, int address, const struct sap_jparticle *p, int *strange)
{
    if ((unsigned)address >= SAP_ADDRESSES)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "address %d is not between 0 and %d", address, SAP_ADDRESSES - 1);
    const int away = sap_context_fetch(c);
    if (away) {
        sap_context_lose(c, address, 1);
        return away;
    }
    const int in_order = goes_straight(c, address);
    if (reserve(c, address, in_order, p)) {
        sap_context_lose(c, address, 1);
        return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for the j-particle at address %d", address);
    }
    if (in_order && c->nstaged) sap_context_store_staged(c, 0);
    c->next_address = address + 1;
    *strange = in_order ? put_stored(c, address, p) : put_staged(c, address, p);
    return SAPPORO_OK;
}

int sap_particle_put(sapporo *c, int address, const struct sap_jparticle *given)
{
    double scaled[SAP_DERIVATIVES_MOST][3];
    struct sap_jparticle own;
    int strange = 0;
    if (!(given->eps2 >= 0 && isfinite(given->eps2)))
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "eps2 of the j-particle at address %d is %g", address, given->eps2);
    const struct sap_jparticle *const p = sap_context_in_units(c, given, &own, scaled);
    const int status = place(c, address, p, &strange);
    return strange ? sap_particle_judge(c, address, p) : status;
}

int sap_particle_put_known(sapporo *c, int address, const struct sap_jparticle *given)
{
    double scaled[SAP_DERIVATIVES_MOST][3];
    struct sap_jparticle own;
    int strange = 0;
    const struct sap_jparticle *const p = sap_context_in_units(c, given, &own, scaled);
    const int status = place(c, address, p, &strange);
    if (strange && !not_finite(p)) return sap_particle_judge(c, address, p);
    return status;
}

/* Copies three doubles to to[0], to[stride], to[2 * stride]. */
__attribute__((always_inline)) static inline void put_axes(double *to, ptrdiff_t stride, two xy, double z)
{
    if (stride == 1) {
        put_two(to, xy);
    } else {
        to[0] = xy[0];
        to[stride] = xy[1];
    }
    to[2 * stride] = z;
}

/*
 * Like copy_particle for a particle that has all derivatives, without branches: to column[k] + at.  All loads precede
 * all stores, because the compiler must assume that source and destination overlap, and would load again.
 */
__attribute__((always_inline)) static inline int copy_all(double *const *column, size_t at, ptrdiff_t stride,
                                                          const struct sap_jparticle *p)
{
    const double *const *d = p->derivative;
    const two x = two_at(d[0]), v = two_at(d[1]), a = two_at(d[2]), j = two_at(d[3]), s = two_at(d[4]);
    const double xz = d[0][2], vz = d[1][2], az = d[2][2], jz = d[3][2], sz = d[4][2];
    put_axes(column[0] + at, stride, x, xz);
    put_axes(column[1] + at, stride, v, vz);
    put_axes(column[2] + at, stride, a, az);
    put_axes(column[3] + at, stride, j, jz);
    put_axes(column[4] + at, stride, s, sz);
    pair c = carries((pair)x, if_wide) | carries((pair)v, if_not_finite) | carries((pair)a, if_not_finite);
    c |= carries((pair)j, if_not_finite) | carries((pair)s, if_not_finite);
    c |= carries(pair_of(xz, xz), if_wide) | carries(pair_of(vz, az), if_not_finite);
    c |= carries(pair_of(jz, sz), if_not_finite) | carries(pair_of(p->mass, p->time), if_not_finite);
    return carried(c);
}

/* Writes a particle that has all derivatives directly into the store, where all columns must exist. */
__attribute__((always_inline)) static inline int store_all(sapporo *c, int address, const struct sap_jparticle *p)
{
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    struct sap_segment *s = c->host.segment[(unsigned)address / SAP_SEGMENT];
    s->mass[in] = p->mass;
    s->time[in] = p->time;
    s->index[in] = p->index;
    sap_jstore_mark(&c->host, s, address);
    c->next_address = address + 1;
    return copy_all(s->derivative, sap_jstore_offset(in), SAP_CPU_LANES, p);
}

/* Stages a plain particle and returns 1; 0: there is no room or it must be judged, so the slow path must put it. */
__attribute__((always_inline)) static inline int stage_plain(sapporo *c, int address, const struct sap_jparticle *p)
{
    if (c->nstaged >= stage_most(c) || c->nstaged >= c->staged_room) return 0;
    struct sap_staged *s = &c->staged[c->nstaged++]; /* up to order 4 there are no further derivatives */
    double *const column[SAP_DERIVATIVES] = {s->derivative[0], s->derivative[1], s->derivative[2], s->derivative[3],
                                             s->derivative[4]};
    put_two(&s->mass, (two){p->mass, p->time}); /* mass and time are adjacent */
    s->eps2 = p->eps2;
    s->index = p->index;
    s->address = address;
    c->next_address = address + 1;
    return !copy_all(column, 0, 1, p);
}

/* Whether a particle is plain: it has all derivatives, room exists, and no particle has its own softening. */
__attribute__((always_inline)) static inline int is_plain(const sapporo *c, int address, const struct sap_jparticle *p)
{
    const double *const *d = p->derivative;
    return d[0] && d[1] && d[2] && d[3] && d[4] && sap_jstore_ready(&c->host, address) &&
           sap_units_are_plain(&c->units) && c->host.soft == 0; /* else its softening must be set to zero */
}

/* Stores or stages a plain particle at c->next_address and returns 1; 0: the slow path must put it. */
__attribute__((always_inline)) static inline int put_plain(sapporo *c, int address, const struct sap_jparticle *p)
{
    if (!is_plain(c, address, p)) return 0;
    if (goes_straight(c, address)) return !c->nstaged && !store_all(c, address, p);
    return stage_plain(c, address, p);
}

/* The slow path, for any particle.  It is not inlined, so that the fast path has no registers to save across calls. */
__attribute__((noinline)) static int set_any(sapporo *handle, int address, int index, double time, double mass,
                                             const double *k18, const double *j6, const double *a2, const double *v,
                                             const double *x)
{
    const struct sap_jparticle p = {{x, v, a2, j6, k18}, mass, time, 0, index};
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, handle);
    if (!c) return -1;
    const int status = sap_particle_put(c, address, &p);
    sap_call_leave(&call);
    return status < 0 ? -1 : 0;
}

/* Sets a particle that comes in order.  The context is locked on entry and unlocked on return. */
__attribute__((noinline)) static int set_in_order(sapporo *c, int address, int index, double time, double mass,
                                                  const double *k18, const double *j6, const double *a2,
                                                  const double *v, const double *x)
{
    const struct sap_jparticle p = {{x, v, a2, j6, k18}, mass, time, 0, index};
    if (put_plain(c, address, &p)) {
        sap_unlock(&c->busy);
        return 0;
    }
    sapporo *const handle = (sapporo *)c->self.last; /* the present handle of the context */
    sap_unlock(&c->busy);
    return set_any(handle, address, index, time, mass, k18, j6, a2, v, x);
}

int sap_context_set_scaled(const struct sap_context_name *name, int address, int index, double time, double mass,
                           const double *k18, const double *j6, const double *a2, const double *v, const double *x)
{
    const struct sap_jparticle p = {{x, v, a2, j6, k18}, mass, time, 0, index};
    sapporo *const c = atomic_load_explicit(&name->inside, memory_order_acquire);
    sapporo *const handle = sap_context_named(name);
    if (!c) return -1;
    if (sap_try_lock(&c->busy)) {
        const int open = sap_handle_is(&c->self, handle);
        if (open && address == c->next_address) return set_in_order(c, address, index, time, mass, k18, j6, a2, v, x);
        const int done = open && is_plain(c, address, &p) && stage_plain(c, address, &p);
        sap_unlock(&c->busy);
        if (done) return 0;
    }
    return set_any(handle, address, index, time, mass, k18, j6, a2, v,
                   x); /* a particle that must be judged is put again by this path */
}

void sap_particle_scale(const sapporo *c, double (*to)[3], const double *const *from, struct sap_jparticle *p)
{
    const int used = c->settings.order == 2 ? 1 : sap_particle_derivatives(c);
    if (used == 1) p->time = 0;
    for (int k = 0; k < SAP_DERIVATIVES_MOST; k++) {
        p->derivative[k] = NULL;
        if (k >= used || !from[k]) continue;
        const double factor = sap_particle_factor(c, k);
        for (int axis = 0; axis < 3 && factor != 1; axis++) to[k][axis] = from[k][axis] / factor;
        p->derivative[k] = factor == 1 ? from[k] : (const double *)to[k];
    }
}

int sapporo_set_particle(sapporo *context, int address, const sapporo_particle *particle)
{
    double scaled[SAP_DERIVATIVES_MOST][3];
    const double *from[SAP_DERIVATIVES_MOST] = {NULL};
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    if (!particle) {
        const int status = sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_set_particle: no particle");
        return sap_call_end(&call, status);
    }
    struct sap_jparticle p = {
        .mass = particle->mass, .time = particle->time, .eps2 = particle->eps2, .index = particle->index};
    for (int k = 0; k < sap_particle_derivatives(c); k++) from[k] = particle->derivative[k];
    sap_particle_scale(c, scaled, from, &p);
    const int status = sap_particle_put(c, address, &p);
    return sap_call_end(&call, status);
}

/* ----------------------------------------------------------------- emptying */

void sap_context_clear(sapporo *c)
{
    sap_context_settle(c);
    sap_context_empty(c);
}

int sapporo_clear_particles(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    sap_context_clear(c);
    return sap_call_end(&call, SAPPORO_OK);
}
