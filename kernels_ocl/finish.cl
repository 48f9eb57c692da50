/* finish.cl - records of superpackets become one result a row: accumulators or rounded sums, and the nearest. */
#include "store.h"

#include "physics/accumulate.h"

#define D_HUGE 1.7976931348623157e308

enum { SUMS_ITEMS = 128, ACCUMULATOR = SAP_LIMBS + 2 };

/* An accumulator is unit, limbs, special. */
SAP_INLINE void merge(double *a, const __local double *from, int pitch)
{
    double b[ACCUMULATOR];
    for (int k = 0; k < ACCUMULATOR; k++) b[k] = from[k * pitch];
    sap_merge(&a[0], &a[1], &a[SAP_LIMBS + 1], &b[0], &b[1], &b[SAP_LIMBS + 1]);
}

/* One sum of a row, rounded or as it is. */
SAP_INLINE void store_sum(const double *a, __global double *out, const struct sap_gpu_force *f, int q, int row)
{
    const size_t at = (size_t)f->first_i + row, room = f->out_rows;
    if (f->accumulate) {
        for (int k = 0; k < ACCUMULATOR; k++) out[(q * ACCUMULATOR + k) * room + at] = a[k];
    } else {
        const double total = sap_total(a[0], &a[1], a[SAP_LIMBS + 1]);
        out[q * room + at] = q == 0 ? -total : total; /* the potential is negative */
    }
}

/*
 * Group number 1 is the quantity; `parts` work-items (a power of two up to 32) share a row.  out: column q of rounded
 * sums in true sign, or columns 6 q to 6 q + 5 of accumulators: unit, limbs, special.
 */
__kernel void finish_sums(const __global double *record, __global double *out, const struct sap_gpu_force f,
                          const int parts)
{
    __local double shared[ACCUMULATOR * SUMS_ITEMS];
    const int t = get_global_id(0), row = t / parts, part = t % parts, q = get_group_id(1), me = get_local_id(0);
    double a[ACCUMULATOR] = {SAP_UNIT_MIN};
    if (row < f.ni)
        for (int sp = part; sp < f.superpackets; sp += parts)
            sap_deposit(&a[0], &a[1], &a[SAP_LIMBS + 1], record[((size_t)sp * SAP_GPU_OUT_SUMS + q) * f.room_i + row]);
    for (int step = 1; step < parts; step *= 2) {
        for (int k = 0; k < ACCUMULATOR; k++) shared[k * SUMS_ITEMS + me] = a[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (part % (2 * step) == 0) merge(a, shared + me + step, SUMS_ITEMS);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < f.ni && part == 0) store_sum(a, out, &f, q, row);
}

/*
 * Results of several devices.  gathered: a block a device, columns 6 q to 6 q + 5 of f.ni rows each; out as above.
 * Group number 1 is the quantity.
 */
__kernel void finish_merge(const __global double *gathered, __global double *out, const struct sap_gpu_force f,
                           const int devices)
{
    const int row = get_global_id(0), q = get_group_id(1);
    double a[ACCUMULATOR] = {SAP_UNIT_MIN};
    if (row >= f.ni) return;
    for (int d = 0; d < devices; d++) {
        const __global double *from = gathered + ((size_t)d * SAP_GPU_OUT_SUMS + q) * ACCUMULATOR * f.ni + row;
        double b[ACCUMULATOR];
        for (int k = 0; k < ACCUMULATOR; k++) b[k] = from[(size_t)k * f.ni];
        sap_merge(&a[0], &a[1], &a[SAP_LIMBS + 1], &b[0], &b[1], &b[SAP_LIMBS + 1]);
    }
    store_sum(a, out, &f, q, row);
}

/* ---------------------------------------------------------------- nearest */

/* The smallest distance that the kernel reported, the smallest in other packets, and its packet. */
struct near_row {
    double best, second;
    int packet; /* superpacket * 32 + packet, -1: none */
};

SAP_INLINE void join(struct near_row *n, double best, double second, int packet)
{
    const int closer = best < n->best;
    n->second = closer ? d_min(second, n->best) : d_min(n->second, best);
    n->packet = closer ? packet : n->packet;
    n->best = closer ? best : n->best;
}

enum { NEAR_ROWS = 32, NEAR_TEAMS = 4 }; /* of a group; 32 work-items a team */

/* Neighbouring work-items read neighbouring rows; each team takes its share of the superpackets. */
SAP_INLINE struct near_row gather_near(const __global double *near, const struct sap_gpu_force *f, int row, int team)
{
    struct near_row n = {D_HUGE, D_HUGE, -1};
    for (int sp = team; sp < f->superpackets && row < f->ni; sp += NEAR_TEAMS) {
        const __global double *at = near + (size_t)sp * 3 * f->room_i + row;
        const int packet = (int)at[2 * (size_t)f->room_i];
        if (packet >= 0) join(&n, at[0], at[f->room_i], sp * SAP_GPU_PACKETS + packet);
    }
    return n;
}

/* The best of a search; ties go to the lower address. */
struct search {
    double r2;
    int place; /* address + 1, 0: none */
    int at;    /* local address */
};

SAP_INLINE void consider(struct search *s, double r2, int place, int at)
{
    const int better = place > 0 && (s->place == 0 || r2 < s->r2 || (r2 == s->r2 && place < s->place));
    s->r2 = better ? r2 : s->r2;
    s->place = better ? place : s->place;
    s->at = better ? at : s->at;
}

SAP_INLINE struct search best_of(const __local struct search *of)
{
    struct search s = of[0];
    for (int k = 1; k < 32; k++) consider(&s, of[k].r2, of[k].place, of[k].at);
    return s;
}

/* Considers a local address, if a particle is there that can be a neighbour. */
SAP_INLINE void consider_local(struct search *s, const __global double *store, const struct sap_gpu_force *f,
                               const struct sap_gpu_i *i, int at)
{
    const int sp = at / SAP_GPU_SUPERPACKET, a = at % SAP_GPU_SUPERPACKET;
    if (eligible(store, f, sp, a, i->index))
        consider(s, canonical_r2(store, f, sp, a, i->x), tag_at(store, sp, 1, a), at);
}

/* The largest softened squared distance that a kernel may report for a true squared distance of r2. */
SAP_INLINE double outer(const struct sap_gpu_force *f, const double *x, double r2)
{
    const double size = fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2])));
    const double r = sqrt(r2), far = r * (1 + f->r2_error) + f->x_error * (size + r);
    return (far * far + f->eps2) * (1 + f->r2_error);
}

/* A work-item's part of looking through the packet that seemed to hold the nearest. */
SAP_INLINE struct search look(const __global double *store, const struct sap_gpu_force *f, const struct sap_gpu_i *i,
                              int packet, int lane)
{
    struct search s = {D_HUGE, 0, 0};
    const int sp = packet / SAP_GPU_PACKETS, a = lane * SAP_GPU_PACKETS + packet % SAP_GPU_PACKETS;
    if (packet >= 0) consider_local(&s, store, f, i, sp * SAP_GPU_SUPERPACKET + a);
    return s;
}

/* The same, through all particles. */
SAP_INLINE struct search look_everywhere(const __global double *store, const struct sap_gpu_force *f,
                                         const struct sap_gpu_i *i, int lane)
{
    struct search s = {D_HUGE, 0, 0};
    for (int k = lane; k < f->superpackets * SAP_GPU_SUPERPACKET; k += 32) consider_local(&s, store, f, i, k);
    return s;
}

SAP_INLINE void store_nearest(const __global double *store, const struct sap_gpu_force *f, __global double *out,
                              int row, const struct search *s)
{
    const size_t at = (size_t)f->first_i + row, room = f->out_rows;
    const int sp = s->at / SAP_GPU_SUPERPACKET, a = s->at % SAP_GPU_SUPERPACKET;
    out[at] = s->r2;
    ((__global int2 *)(out + room))[at] = (int2)(s->place, s->place == 0 ? -1 : tag_at(store, sp, 0, a));
}

/*
 * 32 rows a group; a team takes 8 of them, one after the other.  out: column 0 squared distance, column 1 address + 1
 * (0: nobody) and index as two int.
 */
__kernel void finish_nearest(const __global double *store, const __global double *near,
                             const __global struct sap_gpu_i *i_all, __global double *out, const struct sap_gpu_force f)
{
    __local struct near_row found[NEAR_TEAMS * NEAR_ROWS];
    __local struct search seen[NEAR_TEAMS * 32], again[NEAR_TEAMS * 32];
    const int me = get_local_id(0), team = me / 32, lane = me % 32, first = get_group_id(0) * NEAR_ROWS;
    found[me] = gather_near(near, &f, first + lane, team);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = 0; r < NEAR_ROWS; r += NEAR_TEAMS) {
        const int row = min(first + r + team, f.ni - 1);
        const struct sap_gpu_i i = i_particle(i_all, &f, row);
        struct near_row n = found[row - first];
        for (int w = 1; w < NEAR_TEAMS; w++) {
            const struct near_row more = found[w * NEAR_ROWS + row - first];
            join(&n, more.best, more.second, more.packet);
        }
        seen[me] = look(store, &f, &i, n.packet, lane);
        barrier(CLK_LOCAL_MEM_FENCE);
        struct search s = best_of(seen + team * 32);
        /* an empty slot may have seemed to be nearer, or another packet may hold somebody as near */
        const int settled = s.place > 0 && n.second > outer(&f, i.x, s.r2);
        if (!settled) again[me] = look_everywhere(store, &f, &i, lane);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0 && first + r + team < f.ni) {
            if (!settled) s = best_of(again + team * 32);
            store_nearest(store, &f, out, row, &s);
        }
    }
}
