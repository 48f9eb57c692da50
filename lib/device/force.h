/*
 * force.h - the force kernels: one kernel source for every order, precision, shape and kind of device.
 *
 * Each group of threads takes one superpacket of j-particles and some i-particles, and writes one record of double sums
 * for each i-particle; finish.h turns records into results.  In `many` a lane is an i-particle, and sums the packets
 * one after the other.  In `few` (few.h) a lane is a packet.  Both run the same sequence of operations, so results have
 * the same bits (device/gpu_layout.h).
 *
 * On GPUs a lane is a thread, and j-particles are staged in memory of the group.  On CPUs (SAP_VECTORS) a thread is a
 * group of its own with LANES lanes.
 */
#include "device/few.h"

/* ------------------------------------------------------------------- many */

#if SAP_VECTORS
enum { STAGE_PACKETS = SAP_GPU_PACKETS };
#define MANY_ROOM
#define RANGE_ARGUMENT
#define MANY_TILE                                NULL
#define stage_packets(parts, tile, m, sp, first) ((m)->predicted + (size_t)(sp) * (PARTS * SAP_GPU_SUPERPACKET))
typedef const GLOBAL part *room_pointer;
#else
enum { STAGE_PACKETS = 8 /* packets that `many` holds in memory of the group at a time; does not affect results */ };
#if SAP_KERNEL_ORDER == 2
/* The indices of the rows of a group, in its memory. */
struct own_range {
    int low, high;
    int met; /* the last packets some of whose particles may have the index of a row */
};
#define RANGE_ROOM     SHARED struct own_range range;
#define RANGE_ARGUMENT , LOCAL struct own_range *range
#define MANY_TILE      tile, &range
#else
#define RANGE_ROOM
#define RANGE_ARGUMENT
#define MANY_TILE tile
#endif
#define MANY_ROOM                                                                                                      \
    SHARED part tile[PARTS * STAGE_PACKETS * SAP_GPU_PACKET];                                                          \
    RANGE_ROOM
typedef LOCAL part *room_pointer;

/* Copies STAGE_PACKETS packets from `first` on into memory of the group, so many parts: [part][element][packet]. */
SAP_INLINE tile_pointer stage_packets(int parts, room_pointer tile, const struct force_memory *m, int sp, int first)
{
    const GLOBAL part *from = m->predicted + (size_t)sp * (PARTS * SAP_GPU_SUPERPACKET) + first;
    enum { N = STAGE_PACKETS * SAP_GPU_PACKET };
    group_barrier();
    for (int k = local_id(); k < N * parts; k += local_size()) {
        const int p = k / N, at = k % N;
        tile[k] = from[p * SAP_GPU_SUPERPACKET + at / STAGE_PACKETS * SAP_GPU_PACKETS + at % STAGE_PACKETS];
    }
    group_barrier();
    return tile;
}
#endif

/* An i-particle per lane of a thread, with its sums. */
struct many_row {
    struct i_words i;
    struct packet_state s;
    struct near_state near;
    v_total total[SUMS];
    VM coincident;
};

SAP_INLINE void start_row(int near, const struct force_memory *m, const struct sap_gpu_force *f, int row,
                          struct many_row *r)
{
    load_i(0, units_for(near), m->i, f, row, 1, &r->i);
    start_near(&r->near);
    r->coincident = vm_set1(0);
#pragma unroll
    for (int q = 0; q < SUMS; q++) r->total[q] = v_total_zero();
}

/* Ends a packet: adds its sums to the totals, and notes its nearest distance and its candidates. */
SAP_INLINE void close_packet(int near, const struct force_memory *m, const struct sap_gpu_force *f, int sp, int packet,
                             int row, struct many_row *r)
{
#pragma unroll
    for (int q = 0; q < SUMS; q++) r->total[q] = v_total_add(r->total[q], r->s.sum[q]);
    if (near & 1) note_near(&r->near, r->s.low, v_set1(W_HUGE), vi_set1(packet));
    if (!(near & 2)) return;
    int mask[LANES];
    vi_put(r->s.mask, mask);
    for (int lane = 0; lane < LANES; lane++)
        if (mask[lane] && row + lane < f->ni) note_hits(m, f, sp, row + lane, packet, (unsigned)mask[lane]);
}

SAP_INLINE void store_rows(struct pair_mode mode, const struct force_memory *m, const struct sap_gpu_force *f, int sp,
                           int row, const struct many_row *r)
{
    D total[LANES];
    W best[LANES], second[LANES];
    int packet[LANES];
    truth coincident[LANES];
#pragma unroll
    for (int q = 0; q < SUMS; q++) {
        v_total_put(r->total[q], total);
        for (int lane = 0; lane < LANES; lane++)
            if (row + lane < f->ni) store_total(m, f, sp, q, row + lane, total[lane]);
    }
    v_put(r->near.best, best);
    v_put(r->near.second, second);
    vi_put(r->near.packet, packet);
    vm_put(r->coincident, coincident);
    for (int lane = 0; lane < LANES; lane++) {
        if (row + lane >= f->ni) continue;
        if (mode.near & 1) store_near(m, f, sp, row + lane, best[lane], second[lane], packet[lane]);
        if (TELLS_ZERO > 0 && mode.zero && coincident[lane])
            (void)atomic_min(&m->counters->coincident, f->first_i + row + lane);
    }
}

#if SAP_KERNEL_ORDER == 2 && !SAP_VECTORS
/* All threads of a group call this. */
SAP_INLINE void find_range(int ipt, const struct many_row *r, LOCAL struct own_range *range)
{
    if (local_id() == 0) {
        range->low = range->high = r[0].i.index;
        range->met = -1;
    }
    group_barrier();
    for (int n = 0; n < ipt; n++) {
        (void)atomic_min(&range->low, r[n].i.index);
        (void)atomic_max(&range->high, r[n].i.index);
    }
}

/*
 * Returns 1 if some of n j-particles in memory of the group, the packets from `first` on, may have the index of a row.
 * All threads of a group call this.
 */
SAP_INLINE int may_meet_own(int parts, tile_pointer tile, int n, int first, LOCAL struct own_range *range)
{
    const unsigned low = (unsigned)range->low, width = (unsigned)range->high - low;
    for (int k = local_id(); k < n; k += local_size()) {
        struct j_words j;
        load_j(parts, tile, n, k, &j);
        if ((unsigned)j.index - low <= width) (void)atomic_max(&range->met, first);
    }
    group_barrier();
    return range->met == first;
}

/*
 * Spline softening without neighbours: adds a j-particle to ipt rows.  Rows take Newton's terms at once, if no thread
 * of 32 has the j-particle within a length.  owns: some rows may have its index.
 */
SAP_INLINE void add_spline(struct pair_mode mode, int ipt, int owns, struct many_row *r, const struct j_words *j,
                           V eps2, any_index any)
{
    const V hj2 = v_add(j->eps2, eps2);
    struct separation d[4];
    V d2[4];
    int within[4], some = 0;
#pragma unroll
    for (int n = 0; n < ipt; n++) {
        within[n] = may_be_within(&r[n].i, j, hj2, &d[n], &d2[n]);
        some |= within[n];
    }
    if (owns) {
#pragma unroll
        for (int n = 0; n < ipt; n++) some |= j->index == r[n].i.index;
    }
    if (!lanes_any(some)) {
#pragma unroll
        for (int n = 0; n < ipt; n++) add_terms(r[n].s.sum, &d[n], j->mass, v_root_kept(vm_set1(1), d2[n]));
        return;
    }
#pragma unroll
    for (int n = 0; n < ipt; n++) {
        const VM counts = vi_differ(j->index, r[n].i.index, any);
        const VM keep = vm_and_not(counts, v_less(d2[n], v_set1(SAP_COINCIDENT)));
        const V u = v_root_kept(keep, d2[n]);
        struct sap_powers p = sap_powers_of(j->mass, u);
        if (within[n]) sap_spline_powers(&p, d2[n], j->mass, u, counts, r[n].i.eps2, hj2, mode.spline);
        sap_add_newton(r[n].s.sum, d[n].x[0], d[n].x[1], d[n].x[2], p.mu, p.mu3);
    }
}
#define BY_SPLINE(mode) ((mode).soft == 2 && !(mode).near)
#else
#define BY_SPLINE(mode) 0
#define find_range(ipt, r, range)
#define may_meet_own(parts, tile, n, first, range)   0
#define add_spline(mode, ipt, owns, r, j, eps2, any) (void)(owns)
#endif

/*
 * The many-target kernel.  ipt, a constant: i-particles per lane; first: the first row of the group, whose threads hold
 * ipt times one row per lane.
 */
SAP_INLINE void many(struct pair_mode mode, int ipt, const struct force_memory *m, const struct sap_gpu_force *f,
                     room_pointer room RANGE_ARGUMENT, int first_row)
{
    enum { PITCH = STAGE_PACKETS * SAP_GPU_PACKET };
    const int sp = group_id(1), step = local_size() * LANES;
    const int row0 = first_row + local_id() * LANES;
    const V eps2 = v_set1(w_of_d(f->eps2));
    const any_index any = any_set(!f->skip_own);
    struct many_row r[4];
#pragma unroll
    for (int n = 0; n < ipt; n++) start_row(mode.near, m, f, row0 + n * step, &r[n]);
    LOAD_SPHERES(mode, ipt, m->i, f, row0, step, 1)
    start_noted(mode.near, m);
    if (BY_SPLINE(mode)) find_range(ipt, r, range);
    for (int first = 0; first < SAP_GPU_PACKETS; first += STAGE_PACKETS) {
        tile_pointer tile = stage_packets(parts_for(mode), room, m, sp, first);
        const int owns = BY_SPLINE(mode) && f->skip_own ? may_meet_own(parts_for(mode), tile, PITCH, first, range) : 0;
        for (int l = 0; l < STAGE_PACKETS; l++) {
#pragma unroll
            for (int n = 0; n < ipt; n++) start_packet(&r[n].s);
#if SAP_KERNEL_ORDER > 4 /* registers are scarce */
#pragma unroll 4
#else
#pragma unroll 8
#endif
            for (int e = 0; e < SAP_GPU_PACKET; e++) {
                struct j_words j;
                load_j(parts_for(mode), tile + l, PITCH, e * STAGE_PACKETS, &j);
                if (BY_SPLINE(mode)) {
                    add_spline(mode, ipt, owns, r, &j, eps2, any);
                    continue;
                }
#pragma unroll
                for (int n = 0; n < ipt; n++)
                    ADD_PAIR(mode, &r[n].s, &r[n].i, &sphere[n], &j, eps2, any, e, &r[n].coincident);
            }
#pragma unroll
            for (int n = 0; n < ipt; n++) close_packet(mode.near, m, f, sp, first + l, row0 + n * step, &r[n]);
        }
    }
#pragma unroll
    for (int n = 0; n < ipt; n++) store_rows(mode, m, f, sp, row0 + n * step, &r[n]);
    send_noted(mode.near, m, f, sp);
}

/* --------------------------------------------------------------- instances */

#define SAP_FORCE_ARGUMENTS                                                                                            \
    const GLOBAL D *store, const GLOBAL part *predicted, const GLOBAL struct sap_gpu_i *i, GLOBAL D *record,           \
        GLOBAL D *near, GLOBAL struct sap_gpu_hit *hit, GLOBAL int *hit_count,                                         \
        GLOBAL struct sap_gpu_counters *counters, const struct sap_gpu_force f, const int rows_per_group
#define SAP_FORCE_MEMORY                                                                                               \
    {                                                                                                                  \
        store, predicted, i, record, near, hit, hit_count, counters NOTED                                              \
    }

#define SAP_MANY(IPT, NAME, NEAR, ZERO, OWN, SOFT)                                                                     \
    MANY_KERNEL(IPT, NEAR) NAMED(many##IPT##_##NAME)(SAP_FORCE_ARGUMENTS)                                              \
    {                                                                                                                  \
        NOTED_MEMORY                                                                                                   \
        const struct force_memory m = SAP_FORCE_MEMORY;                                                                \
        const struct pair_mode mode = {NEAR, ZERO, OWN, SOFT, f.spline};                                               \
        MANY_ROOM                                                                                                      \
        launches_barrier();                                                                                            \
        many(mode, IPT, &m, &f, MANY_TILE, group_id(0) * local_size() * LANES * IPT);                                  \
    }
#define SAP_FEW(IPT, NAME, NEAR, ZERO, OWN, SOFT)                                                                      \
    KERNEL(256) NAMED(few##IPT##_##NAME)(SAP_FORCE_ARGUMENTS GROUP_ARGUMENT)                                           \
    {                                                                                                                  \
        NOTED_MEMORY                                                                                                   \
        const struct force_memory m = SAP_FORCE_MEMORY;                                                                \
        const struct pair_mode mode = {NEAR, ZERO, OWN, SOFT, f.spline};                                               \
        FEW_ROOM(IPT)                                                                                                  \
        launches_barrier();                                                                                            \
        few(mode, IPT, &m, &f, rows_per_group, tile, room);                                                            \
    }
#if SAP_KERNEL_ORDER == 2
/*
 * The force of particles on themselves: the i-particle of row r is the j-particle of address first_i + r, in the slot
 * of that address.  Results have the bits of `own`.  Only the superpackets that hold the rows of a group have pairs of
 * one index; the others take the instructions of `plain`.  Needs softening of at least SAP_COINCIDENT.
 */
#define SAP_SELF(IPT)                                                                                                  \
    MANY_KERNEL(IPT, 0) NAMED(many##IPT##_self)(SAP_FORCE_ARGUMENTS)                                                   \
    {                                                                                                                  \
        NOTED_MEMORY                                                                                                   \
        const struct force_memory m = SAP_FORCE_MEMORY;                                                                \
        const struct pair_mode plain = {0, 0, 0, 0, 0}, own = {0, 1, 1, 0, 0};                                         \
        MANY_ROOM                                                                                                      \
        launches_barrier();                                                                                            \
        const int step = local_size() * LANES, first = group_id(0) * step * IPT;                                       \
        const int from = f.first_i + first, slot = group_id(1) * SAP_GPU_SUPERPACKET;                                  \
        if (from < slot + SAP_GPU_SUPERPACKET && from + step * IPT > slot) {                                           \
            _Pragma("unroll 1") for (int n = 0; n < IPT; n++) many(own, 1, &m, &f, MANY_TILE, first + n * step);       \
        } else {                                                                                                       \
            many(plain, IPT, &m, &f, MANY_TILE, first);                                                                \
        }                                                                                                              \
    }

/*
 * The most frequent forces have kernels of their own; `soft` serves all other forces without neighbours, `near` all
 * forces with neighbours; `spline` and `spline_near` likewise with spline softening.
 */
#define SAP_PLAIN(SHAPE, IPT) SHAPE(IPT, plain, 0, 0, 0, 0) SHAPE(IPT, zero, 0, 1, 0, 0)
#define SAP_ALL(SHAPE, IPT)                                                                                            \
    SAP_PLAIN(SHAPE, IPT)                                                                                              \
    SHAPE(IPT, own, 0, 1, 1, 0)                                                                                        \
    SHAPE(IPT, soft, 0, 1, 1, 1)                                                                                       \
    SHAPE(IPT, near, 3, 1, 1, 1) SHAPE(IPT, spline, 0, 1, 1, 2) SHAPE(IPT, spline_near, 3, 1, 1, 2)
#elif SAP_KERNEL_ORDER > 4
/* All of these kernels use a softening per i-particle. */
#define SAP_ALL(SHAPE, IPT)                                                                                            \
    SHAPE(IPT, plain, 0, 0, 1, 1)                                                                                      \
    SHAPE(IPT, zero, 0, 1, 1, 1) SHAPE(IPT, nearest, 1, 1, 1, 1) SHAPE(IPT, all, 3, 1, 1, 1)
#else
#define SAP_NEAR(SHAPE, NEAR, IPT)                                                                                     \
    SHAPE(IPT, n##NEAR##_z0, NEAR, 0, 1, SAP_KERNEL_SOFT) SHAPE(IPT, n##NEAR##_z1, NEAR, 1, 1, SAP_KERNEL_SOFT)
#define SAP_ALL(SHAPE, IPT)                                                                                            \
    SAP_NEAR(SHAPE, 0, IPT)                                                                                            \
    SAP_NEAR(SHAPE, 1, IPT)                                                                                            \
    SAP_NEAR(SHAPE, 2, IPT) SAP_NEAR(SHAPE, 3, IPT) SHAPE(IPT, outside, 6, 0, 0, 0) SHAPE(IPT, weighted, 14, 0, 0, 0)
#endif

KERNEL(256) NAMED(predict)(const GLOBAL D *store, GLOBAL part *predicted, const struct sap_gpu_force f)
{
    const int a = global_id(), sp = a / SAP_GPU_SUPERPACKET;
    part p[PARTS];
    launches_barrier();
    if (sp >= f.superpackets) return;
    predict_one(store, &f, sp, a % SAP_GPU_SUPERPACKET, p);
#pragma unroll
    for (int w = 0; w < PARTS; w++)
        predicted[((size_t)sp * PARTS + w) * SAP_GPU_SUPERPACKET + a % SAP_GPU_SUPERPACKET] = p[w];
}

#if SAP_KERNEL_ORDER == 2
/* Makes the records of n particles (x, y, z, mass) whose indices are their addresses, and of the empty slots behind. */
KERNEL(256) NAMED(pack)(const GLOBAL D *particle, GLOBAL part *predicted, const int n, const int superpackets)
{
    const int a = global_id(), sp = a / SAP_GPU_SUPERPACKET;
    D x[3], v[DERIVED], mass;
    part p[PARTS];
    if (sp >= superpackets) return;
    empty_slot(x, v, &mass);
    if (a < n) {
#pragma unroll
        for (int k = 0; k < 3; k++) x[k] = particle[4 * (size_t)a + k];
        mass = telling_mass(particle[4 * (size_t)a + 3], x);
    }
    pack(x, v, mass, a < n ? a : 0, d_set1(SAP_ZERO), p);
#pragma unroll
    for (int w = 0; w < PARTS; w++)
        predicted[((size_t)sp * PARTS + w) * SAP_GPU_SUPERPACKET + a % SAP_GPU_SUPERPACKET] = p[w];
}

/* Gives the records of n particles their squared softening lengths. */
KERNEL(256) NAMED(soften)(const GLOBAL D *soft, GLOBAL part *predicted, const int n)
{
    const int a = global_id(), sp = a / SAP_GPU_SUPERPACKET;
    const size_t at = ((size_t)sp * PARTS + AT_EPS2 / IN_PART) * SAP_GPU_SUPERPACKET + a % SAP_GPU_SUPERPACKET;
    if (a < n) ((GLOBAL W *)predicted)[at * IN_PART + AT_EPS2 % IN_PART] = w_of_d(soft[a]);
}

SAP_SELF(1)
#if !SAP_VECTORS
SAP_SELF(2)
#if !defined(SAP_KERNEL_DP)
SAP_SELF(4)
#endif
#endif
#endif

SAP_ALL(SAP_MANY, 1)
SAP_ALL(SAP_FEW, 1)
#if !SAP_VECTORS         /* one i-particle per lane fills the registers of a CPU */
#if SAP_KERNEL_ORDER > 4 /* a pair has so many operations that reading j hardly counts */
SAP_ALL(SAP_FEW, 2)
#else
SAP_ALL(SAP_MANY, 2)
SAP_ALL(SAP_FEW, 4)
#endif
#if SAP_KERNEL_ORDER == 2 && !defined(SAP_KERNEL_DP) /* registers are left, and reading j matters */
SAP_PLAIN(SAP_MANY, 4)
#endif
#endif
