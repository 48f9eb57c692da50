/* pairs.h - the terms of one pair, the sums of one packet, and the candidates for neighbour lists. */
#ifndef SAP_DEVICE_PAIRS_H
#define SAP_DEVICE_PAIRS_H

#include "device/working.h"

#include "physics/accumulate.h"

/*
 * By order: sums per i-particle; whether pairs at zero distance are reported (in order 2 a particle may well meet
 * itself); whether distances are compared with their softening, since only order 4 without lengths has one softening
 * for all pairs.
 */
enum {
    SUMS = SAP_KERNEL_ORDER == 2 ? SAP_SUMS2 : 1 + 3 * SAP_KERNEL_ORDER / 2,
    TELLS_ZERO = SAP_KERNEL_ORDER != 2,
    SOFT_DISTANCE = SAP_KERNEL_SOFT ? 0 : SAP_KERNEL_ORDER == 4
};

/* What a kernel does with pairs; the members are constants where they are inlined. */
struct pair_mode {
    int near; /* bits: 1 nearest neighbour, 2 list candidates, 4 candidates leave the sums, 8 list radii by mass */
    int zero; /* pairs at zero distance are skipped */
    int own;  /* pairs of the same index are skipped, unless `any` says that all count */
    int soft; /* 1: each i-particle, and each j-particle if it has eps2, has its own softening; 2: spline; 0: common */
    int spline; /* SAP_SPLINE_... of this force, where soft is 2; the one member that is no constant */
};

/* Returns the number of units of an i-particle. */
SAP_INLINE int units_for(int near) { return near & 4 ? (int)SAP_GPU_UNITS_OUTSIDE : (int)UNITS; }

/* Returns how many parts of a predicted j-particle a kernel needs, from the first part on. */
SAP_INLINE int parts_for(struct pair_mode mode)
{
    return AT_EPS2 > 0 && mode.soft ? PARTS
           : mode.own               ? PARTS_INDEX > PARTS_PLAIN ? PARTS_INDEX : PARTS_PLAIN
                                    : PARTS_PLAIN;
}

/* Sums of an i-particle over one packet (LANES i-particles, or LANES packets), and its candidates. */
struct packet_state {
    V sum[SUMS];
    V low;   /* smallest squared distance */
    VI mask; /* elements within reach, the first in the highest bit */
};

SAP_INLINE void start_packet(struct packet_state *s)
{
#pragma unroll
    for (int q = 0; q < SUMS; q++) s->sum[q] = v_set1(0.0);
    s->low = v_set1(W_HUGE);
    s->mask = vi_set1(0);
}

/* Differences of position, velocity and so on of a pair. */
struct separation {
    V x[3], v[DERIVED];
};

SAP_INLINE void separate(const struct i_words *i, const struct j_words *j, struct separation *d)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        d->x[k] = v_sub(j->x[k], i->x[k]);
        if (LOW) d->x[k] = v_add(d->x[k], v_sub(j->low[k], i->low[k]));
    }
#pragma unroll
    for (int k = 0; k < 3 * HIGHER; k++) d->v[k] = v_sub(j->v[k], i->v[k]);
}

/* Adds the terms of a pair; u is its 1/R. */
SAP_INLINE void add_terms(V *sum, const struct separation *d, V mass, V u)
{
#if SAP_KERNEL_ORDER == 2
    sap_pair2(sum, d->x[0], d->x[1], d->x[2], mass, u);
#elif SAP_KERNEL_ORDER == 4
    sap_pair4(sum, d->x[0], d->x[1], d->x[2], d->v[0], d->v[1], d->v[2], mass, u);
#elif SAP_KERNEL_ORDER == 6
    sap_pair6(sum, d->x, d->v, d->v + 3, mass, u);
#else
    sap_pair8(sum, d->x, d->v, d->v + 3, d->v + 6, mass, u);
#endif
}

#if SAP_KERNEL_ORDER == 4
/*
 * Adds a pair of a regular force.  Candidates leave the sums; finish.h adds those that are no members of the list.  A
 * particle is a candidate if it is within the sphere now or at the time ahead t, on straight lines, or almost at the
 * same position: |r + t v|^2 = r^2 + 2 t (r.v + t v^2 / 2), where the jerk needs r.v too.
 */
SAP_INLINE void add_pair_outside(struct pair_mode mode, struct packet_state *s, const struct i_words *i,
                                 const struct sphere *sphere, const struct j_words *j, V eps2, int element)
{
    struct separation d;
    separate(i, j, &d);
    const V r2 = v_fma(d.x[0], d.x[0], v_fma(d.x[1], d.x[1], v_fma(d.x[2], d.x[2], eps2)));
    V now = v_fma(r2, sphere->shrink, sphere->reach);
    /* a particle of zero or negative mass has no sphere, but is skipped at zero distance */
    if (mode.near & 8) now = v_fnma(v_larger(j->mass, v_set1(0.0)), sphere->weight, now);
    const V later = v_fma(sphere->twice, v_fma(sphere->halved, sap_dot(d.v, d.v), sap_dot(d.x, d.v)), now);
    const V beyond = v_min(later, now);
    s->mask = vi_note(s->mask, element, beyond, v_set1(0.0));
    add_terms(s->sum, &d, j->mass, v_root_kept(vm_and_not(vm_set1(1), v_less(beyond, v_set1(0.0))), r2));
}
#endif

#if SAP_KERNEL_ORDER == 2
/* Operations of spline.h. */
#define SAP_NOT_LESS(a, b) vm_and_not(vm_set1(1), v_less(a, b))
#define SAP_LARGER         v_larger

/* Returns 1/h of the length of square h2; +0 where h2 is practically zero. */
SAP_INLINE V sap_inverse_length(V h2) { return v_root_kept(SAP_NOT_LESS(h2, v_set1(SAP_COINCIDENT)), h2); }

#include "physics/spline.h"

/*
 * Adds a pair with spline softening; u is its 1/R, +0 if it is skipped or at zero distance, d2 its squared distance.
 * Pairs beyond both lengths take the instructions of other softening.
 */
SAP_INLINE void add_terms_spline(struct pair_mode mode, V *sum, const struct separation *d, V d2, V u, VM counts,
                                 const struct i_words *i, const struct j_words *j, V eps2)
{
    const V hj2 = v_add(j->eps2, eps2);
    struct sap_powers p = sap_powers_of(j->mass, u);
    if (vm_any(sap_within(d2, SAP_LARGER(i->eps2, hj2))))
        sap_spline_powers(&p, d2, j->mass, u, counts, i->eps2, hj2, mode.spline);
    sap_add_newton(sum, d->x[0], d->x[1], d->x[2], p.mu, p.mu3);
}
#endif

/* Adds a pair.  any: nonzero where pairs of the same index count too. */
SAP_INLINE void add_pair(struct pair_mode mode, struct packet_state *s, const struct i_words *i,
                         const struct j_words *j, V eps2, any_index any, int element, VM *coincident)
{
    struct separation d;
    separate(i, j, &d);
    const V soft = mode.soft == 2 ? v_set1(0.0) : !mode.soft ? eps2 : AT_EPS2 > 0 ? v_add(i->eps2, j->eps2) : i->eps2;
    const V r2 = mode.soft == 2 ? sap_distance2(d.x[0], d.x[1], d.x[2])
                                : v_fma(d.x[0], d.x[0], v_fma(d.x[1], d.x[1], v_fma(d.x[2], d.x[2], soft)));
    VM keep = mode.own ? vi_differ(j->index, i->index, any) : vm_set1(1);
    const V near2 = v_select(keep, SOFT_DISTANCE ? r2 : sap_distance2(d.x[0], d.x[1], d.x[2]), v_set1(W_INFINITY));
    if (mode.near & 1) s->low = v_min(near2, s->low); /* in this order, a distance that is NaN changes nothing */
    if (mode.near & 2) s->mask = vi_note(s->mask, element, near2, i->reach);
#if SAP_KERNEL_ORDER == 2
    const VM counts = keep;
#endif
    if (mode.zero) {
        const VM met = v_less(r2, v_set1(SAP_COINCIDENT));
        if (TELLS_ZERO) *coincident = vm_or(*coincident, vm_and(met, keep));
        keep = vm_and_not(keep, met);
    }
    const V u = v_root_kept(keep, r2);
#if SAP_KERNEL_ORDER == 2
    if (mode.soft == 2) {
        add_terms_spline(mode, s->sum, &d, r2, u, counts, i, j, eps2);
        return;
    }
#endif
    add_terms(s->sum, &d, j->mass, u);
}

#if SAP_KERNEL_ORDER == 2 && !SAP_VECTORS
/*
 * Computes the separation and the squared distance of a pair with spline softening; returns 1 if it may be within a
 * length or at zero distance, so that it takes more than Newton's terms.  hj2: squared length of the j-particle.
 */
SAP_INLINE int may_be_within(const struct i_words *i, const struct j_words *j, V hj2, struct separation *d, V *d2)
{
    separate(i, j, d);
    *d2 = sap_distance2(d->x[0], d->x[1], d->x[2]);
    return sap_within(*d2, v_larger(v_larger(i->eps2, v_set1(SAP_COINCIDENT)), hj2));
}
#endif

/*
 * The smallest distance of all packets so far, the smallest distance in the other packets, and the packet of the first.
 */
struct near_state {
    V best, second;
    VI packet;
};

SAP_INLINE void start_near(struct near_state *n)
{
    n->best = n->second = v_set1(W_HUGE);
    n->packet = vi_set1(-1);
}

SAP_INLINE void note_near(struct near_state *n, V best, V second, VI packet)
{
    const VM closer = v_less(best, n->best);
    n->second = v_select(closer, v_min(second, n->best), v_min(n->second, best));
    n->packet = vi_select(closer, packet, n->packet);
    n->best = v_select(closer, best, n->best);
}

/*
 * Candidates that a group of threads collects in its memory and writes to the device's buffer together.  This saves
 * atomic operations on a counter in device memory, each of which takes about a thousand cycles while 32 threads wait.
 * Candidates that overflow this memory are written one by one.
 */
enum { NOTED_MOST = 512 };
struct noted {
    int place[NOTED_MOST]; /* row * 32 + packet */
    unsigned mask[NOTED_MOST];
    int n, first;
};

/* Memory that the force kernels read and write. */
struct force_memory {
    const GLOBAL D *store;        /* j-store, for the few-target kernels that predict */
    const GLOBAL part *predicted; /* [superpacket][part][1024] */
    const GLOBAL struct sap_gpu_i *i;
    GLOBAL D *record; /* [superpacket][SUMS][room], or results: [SUMS][out_rows] */
    GLOBAL D *near;   /* [superpacket][3][room] */
    GLOBAL struct sap_gpu_hit *hit;
    GLOBAL int *hit_count; /* number of candidates of each row */
    GLOBAL struct sap_gpu_counters *counters;
#if !SAP_VECTORS
    LOCAL struct noted *noted;
#endif
};

/*
 * Returns 1 if the force wants neighbour lists.  Only the `near` kernels of order 2 also serve forces that want none
 * (sap_gpu_mode in gpu_shape.c).  Their radii are 0, but a distance of NaN can pass for a smaller one.  Other orders
 * decide at compile time, because the test costs them registers.
 */
SAP_INLINE int wants_lists(const struct sap_gpu_force *f) { return SAP_KERNEL_ORDER != 2 || f->hit_room > 0; }

SAP_INLINE void put_hit(const struct force_memory *m, const struct sap_gpu_force *f, int at, int row, int packet,
                        unsigned mask)
{
    if (at >= f->hit_room) return;
    m->hit[at].row = row;
    m->hit[at].packet = packet;
    m->hit[at].mask = mask;
}

#if SAP_VECTORS
#define NOTED_MEMORY
#define NOTED
#define start_noted(near, m)
#define send_noted(near, m, f, sp)

SAP_INLINE void note_hits(const struct force_memory *m, const struct sap_gpu_force *f, int sp, int row, int packet,
                          unsigned mask)
{
    if (!wants_lists(f)) return;
    (void)atomic_add(&m->hit_count[row], (int)popcount(mask));
    put_hit(m, f, atomic_add(&m->counters->hits, 1), row, sp * SAP_GPU_PACKETS + packet, mask);
}
#else
#define NOTED_MEMORY SHARED struct noted noted;
#define NOTED        , &noted

SAP_INLINE void note_hits(const struct force_memory *m, const struct sap_gpu_force *f, int sp, int row, int packet,
                          unsigned mask)
{
    if (!wants_lists(f)) return;
    const int k = atomic_add(&m->noted->n, 1);
    (void)atomic_add(&m->hit_count[row], (int)popcount(mask)); /* no thread waits for this result */
    if (k < NOTED_MOST) {
        m->noted->place[k] = row * SAP_GPU_PACKETS + packet;
        m->noted->mask[k] = mask;
    } else {
        put_hit(m, f, atomic_add(&m->counters->hits, 1), row, sp * SAP_GPU_PACKETS + packet, mask);
    }
}

/* start_noted runs before the first candidate, send_noted after the last; all threads of the group call them. */
SAP_INLINE void start_noted(int near, const struct force_memory *m)
{
    if (!(near & 2)) return;
    if (local_id() == 0) m->noted->n = 0;
    group_barrier();
}

SAP_INLINE void send_noted(int near, const struct force_memory *m, const struct sap_gpu_force *f, int sp)
{
    if (!(near & 2)) return;
    group_barrier();
    const int n = min(m->noted->n, (int)NOTED_MOST);
    if (local_id() == 0 && n > 0) m->noted->first = atomic_add(&m->counters->hits, n);
    group_barrier();
    for (int k = local_id(); k < n; k += local_size())
        put_hit(m, f, m->noted->first + k, m->noted->place[k] / SAP_GPU_PACKETS,
                sp * SAP_GPU_PACKETS + m->noted->place[k] % SAP_GPU_PACKETS, m->noted->mask[k]);
}
#endif

/* Returns the position in the records of superpacket sp and `row`: column c of `columns`. */
SAP_INLINE size_t record_at(int sp, int columns, int c, int room, int row)
{
    return ((size_t)sp * columns + c) * room + row;
}

/* Stores the sum of a superpacket: as a record, or, if there is no other superpacket, as the result in true sign. */
SAP_INLINE void store_total(const struct force_memory *m, const struct sap_gpu_force *f, int sp, int q, int row,
                            D total)
{
    if (RECORDS_ARE_D && f->lone) {
        const D result = sap_total_of_one(total);
        const size_t i = (size_t)f->first_i + row, at = (size_t)q * f->out_rows + i;
        m->record[f->lone == SAP_GPU_BY_ROW ? i * SUMS + q : at] = q == SAP_POT ? d_neg(result) : result;
    } else {
        m->record[record_at(sp, SUMS, q, f->room_i, row)] = total;
    }
}

SAP_INLINE void store_near(const struct force_memory *m, const struct sap_gpu_force *f, int sp, int row, W best,
                           W second, int packet)
{
    m->near[record_at(sp, 3, 0, f->room_i, row)] = d_of_w(best);
    m->near[record_at(sp, 3, 1, f->room_i, row)] = d_of_w(second);
    m->near[record_at(sp, 3, 2, f->room_i, row)] = d_of_int(packet);
}

#endif
