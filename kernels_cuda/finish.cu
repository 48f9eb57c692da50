/* finish.cu - records of superpackets become one result a row: accumulators or rounded sums, and the nearest. */
#include <float.h>

#include "store.h"

#include "physics/accumulate.h"

struct accumulator {
    double unit, limb[SAP_LIMBS], special;
};

SAP_INLINE void clear(accumulator *a)
{
    a->unit = SAP_UNIT_MIN;
    a->special = 0.0;
    for (int k = 0; k < SAP_LIMBS; k++) a->limb[k] = 0.0;
}

/* Merges the accumulators of `parts` neighbouring lanes; the first has the whole. */
SAP_INLINE void merge_lanes(accumulator *a, int parts)
{
    for (int step = 1; step < parts; step *= 2) {
        accumulator b;
        b.unit = __shfl_down_sync(~0U, a->unit, step);
        b.special = __shfl_down_sync(~0U, a->special, step);
        for (int k = 0; k < SAP_LIMBS; k++) b.limb[k] = __shfl_down_sync(~0U, a->limb[k], step);
        sap_merge(&a->unit, a->limb, &a->special, &b.unit, b.limb, &b.special);
    }
}

/* One sum of a row, rounded or as it is. */
SAP_INLINE void store_sum(const accumulator &a, double *out, const sap_gpu_force &f, int q, int row)
{
    const size_t at = (size_t)f.first_i + row, room = f.out_rows;
    if (!f.accumulate) {
        const double total = sap_total(a.unit, a.limb, a.special);
        out[q * room + at] = q == 0 ? -total : total; /* the potential is negative */
        return;
    }
    out[(q * 6 + 0) * room + at] = a.unit;
    for (int k = 0; k < SAP_LIMBS; k++) out[(q * 6 + 1 + k) * room + at] = a.limb[k];
    out[(q * 6 + 5) * room + at] = a.special;
}

/*
 * blockIdx.y is the quantity; `parts` lanes (a power of two up to 32) share a row.  out: column q of rounded sums
 * in true sign, or columns 6 q to 6 q + 5 of accumulators: unit, limbs, special.
 */
extern "C" __global__ void __launch_bounds__(128)
    finish_sums(const double *record, double *out, sap_gpu_force f, int parts)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x, row = t / parts, part = t % parts, q = blockIdx.y;
    accumulator a;
    clear(&a);
    if (row < f.ni)
        for (int sp = part; sp < f.superpackets; sp += parts)
            sap_deposit(&a.unit, a.limb, &a.special, record[((size_t)sp * SAP_GPU_OUT_SUMS + q) * f.room_i + row]);
    merge_lanes(&a, parts);
    if (row < f.ni && part == 0) store_sum(a, out, f, q, row);
}

/*
 * Results of several devices.  gathered: a block a device, columns 6 q to 6 q + 5 of f.ni rows each; out as above.
 * blockIdx.y is the quantity.
 */
extern "C" __global__ void __launch_bounds__(128)
    finish_merge(const double *gathered, double *out, sap_gpu_force f, int devices)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x, q = blockIdx.y;
    accumulator a;
    if (row >= f.ni) return;
    clear(&a);
    for (int d = 0; d < devices; d++) {
        const double *from = gathered + ((size_t)d * SAP_GPU_OUT_SUMS + q) * 6 * f.ni + row;
        accumulator b;
        b.unit = from[0];
        for (int k = 0; k < SAP_LIMBS; k++) b.limb[k] = from[(size_t)(1 + k) * f.ni];
        b.special = from[(size_t)5 * f.ni];
        sap_merge(&a.unit, a.limb, &a.special, &b.unit, b.limb, &b.special);
    }
    store_sum(a, out, f, q, row);
}

/* ---------------------------------------------------------------- nearest */

/* The smallest distance that the kernel reported, the smallest in other packets, and its packet. */
struct near_row {
    double best, second;
    int packet; /* superpacket * 32 + packet, -1: none */
};

SAP_INLINE void join(near_row *n, double best, double second, int packet)
{
    const bool closer = best < n->best;
    n->second = closer ? d_min(second, n->best) : d_min(n->second, best);
    n->packet = closer ? packet : n->packet;
    n->best = closer ? best : n->best;
}

enum { NEAR_ROWS = 32, NEAR_WARPS = 16 }; /* of a block */

/* Neighbouring lanes read neighbouring rows; each warp takes its share of the superpackets. */
SAP_INLINE near_row gather_near(const double *near, const sap_gpu_force &f, int row, int warp)
{
    near_row n = {DBL_MAX, DBL_MAX, -1};
    for (int sp = warp; sp < f.superpackets && row < f.ni; sp += NEAR_WARPS) {
        const double *at = near + (size_t)sp * 3 * f.room_i + row;
        const int packet = (int)at[2 * (size_t)f.room_i];
        if (packet >= 0) join(&n, at[0], at[f.room_i], sp * SAP_GPU_PACKETS + packet);
    }
    return n;
}

/* The best of a search; ties go to the lower address. */
struct search {
    double r2;
    int place; /* address + 1, 0: none */
    int local;
};

SAP_INLINE void consider(search *s, double r2, int place, int local)
{
    const bool better = place > 0 && (s->place == 0 || r2 < s->r2 || (r2 == s->r2 && place < s->place));
    s->r2 = better ? r2 : s->r2;
    s->place = better ? place : s->place;
    s->local = better ? local : s->local;
}

SAP_INLINE void join_search(search *s)
{
    for (int step = 1; step < 32; step *= 2) {
        const double r2 = __shfl_xor_sync(~0U, s->r2, step);
        const int place = __shfl_xor_sync(~0U, s->place, step), local = __shfl_xor_sync(~0U, s->local, step);
        consider(s, r2, place, local);
    }
}

/* Considers a local address, if a particle is there that can be a neighbour. */
SAP_INLINE void consider_local(search *s, const double *store, const sap_gpu_force &f, const sap_gpu_i &i, int local)
{
    const int sp = local / SAP_GPU_SUPERPACKET, a = local % SAP_GPU_SUPERPACKET;
    if (eligible(store, f, sp, a, i.index))
        consider(s, canonical_r2(store, f, sp, a, i.x), tag_at(store, sp, 1, a), local);
}

/* The largest softened squared distance that a kernel may report for a true squared distance of r2. */
SAP_INLINE double outer(const sap_gpu_force &f, const sap_gpu_i &i, double r2)
{
    const double size = fmax(fabs(i.x[0]), fmax(fabs(i.x[1]), fabs(i.x[2])));
    const double r = sqrt(r2), far = r * (1 + f.r2_error) + f.x_error * (size + r);
    return (far * far + f.eps2) * (1 + f.r2_error);
}

/* Decides who is nearest to a row out of what the kernel reported; a warp does. */
SAP_INLINE search decide(const double *store, const sap_gpu_force &f, const sap_gpu_i &i, const near_row &n)
{
    const int lane = threadIdx.x % 32;
    search s = {DBL_MAX, 0, 0};
    if (n.packet >= 0) {
        const int sp = n.packet / SAP_GPU_PACKETS, a = lane * SAP_GPU_PACKETS + n.packet % SAP_GPU_PACKETS;
        consider_local(&s, store, f, i, sp * SAP_GPU_SUPERPACKET + a);
    }
    join_search(&s);
    /* an empty slot may have seemed to be nearer, or another packet may hold somebody as near */
    if (s.place > 0 && n.second > outer(f, i, s.r2)) return s;
    for (int k = lane; k < f.superpackets * SAP_GPU_SUPERPACKET; k += 32) consider_local(&s, store, f, i, k);
    join_search(&s);
    return s;
}

/* 32 rows a block.  out: column 0 squared distance, column 1 address + 1 (0: nobody) and index as two int32. */
extern "C" __global__ void __launch_bounds__(NEAR_WARPS * 32)
    finish_nearest(const double *store, const double *near, const sap_gpu_i *i_all, double *out, sap_gpu_force f)
{
    __shared__ near_row found[NEAR_WARPS][NEAR_ROWS];
    __shared__ search answer[NEAR_ROWS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = blockIdx.x * NEAR_ROWS;
    found[warp][lane] = gather_near(near, f, first + lane, warp);
    __syncthreads();
    for (int r = warp; r < NEAR_ROWS && first + r < f.ni; r += NEAR_WARPS) {
        near_row n = found[0][r];
        for (int w = 1; w < NEAR_WARPS; w++) join(&n, found[w][r].best, found[w][r].second, found[w][r].packet);
        const search s = decide(store, f, i_particle(i_all, f, first + r), n);
        if (lane == 0) answer[r] = s;
    }
    __syncthreads();
    if (warp != 0 || first + lane >= f.ni) return;
    const search s = answer[lane];
    const size_t at = (size_t)f.first_i + first + lane, room = f.out_rows;
    const int sp = s.local / SAP_GPU_SUPERPACKET, a = s.local % SAP_GPU_SUPERPACKET;
    out[at] = s.r2;
    ((int2 *)(out + room))[at] = make_int2(s.place, s.place == 0 ? -1 : tag_at(store, sp, 0, a));
}
