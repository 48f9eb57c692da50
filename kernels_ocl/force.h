/*
 * force.h - the force kernels of order 4, one text for every precision, shape and kind of device.
 *
 * Each group takes one superpacket of j-particles and some i-particles, and
 * leaves one record of double sums for each; finish.cl turns records into
 * results.  `many`: a lane is an i-particle, and walks the packets one after
 * the other.  `few`: a lane is a packet.  The same sequence of operations, so
 * the same bits (physics/gpu_layout.h).
 *
 * On GPUs a lane is a work-item and j-particles are staged in local memory; on
 * CPUs (SAP_VECTOR) a work-item is a group of its own with LANES lanes.
 */
#include "working.h"

#include "pairs.h"

enum { STAGE_PACKETS = 8 /* that `many` holds in local memory at a time; cannot change a bit */ };

/* ------------------------------------------------------------------- many */

#if SAP_VECTOR
#define MANY_ROOM
#define MANY_TILE (m.predicted)
#else
#define MANY_ROOM __local part tile[PARTS * STAGE_PACKETS * SAP_GPU_PACKET];
#define MANY_TILE tile

/* Copies STAGE_PACKETS packets from `first` on into local memory: [part][element][packet]. */
SAP_INLINE void stage_packets(__local part *tile, const __global part *predicted, int sp, int first)
{
    const __global part *from = predicted + (size_t)sp * (PARTS * SAP_GPU_SUPERPACKET) + first;
    enum { N = STAGE_PACKETS * SAP_GPU_PACKET };
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_id(0); k < N * PARTS; k += get_local_size(0)) {
        const int p = k / N, at = k % N;
        tile[k] = from[p * SAP_GPU_SUPERPACKET + at / STAGE_PACKETS * SAP_GPU_PACKETS + at % STAGE_PACKETS];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
#endif

/* The i-particles of a work-item. */
struct many_row {
    struct i_words i;
    struct packet_state s;
    struct near_state near;
    VD total[SAP_SUMS4];
    VI coincident;
};

/* A packet has been walked. */
SAP_INLINE void close_packet(int near, const struct force_memory *m, const struct sap_gpu_force *f, int sp, int packet,
                             int row, struct many_row *r)
{
#pragma unroll
    for (int q = 0; q < SAP_SUMS4; q++) r->total[q] += v_to_d(r->s.sum[q]);
    if (near & 1) note_near(&r->near, r->s.low, packet);
    if (!(near & 2)) return;
    int mask[LANES];
    vi_put(r->s.mask, mask);
    for (int lane = 0; lane < LANES; lane++)
        if (mask[lane] && row + lane < f->ni)
            note_hits(m, f, row + lane, sp * SAP_GPU_PACKETS + packet, (unsigned)mask[lane]);
}

SAP_INLINE void store_rows(int near, int zero, const struct force_memory *m, const struct sap_gpu_force *f, int sp,
                           int row, const struct many_row *r)
{
    double total[LANES];
    W best[LANES], second[LANES];
    int packet[LANES], coincident[LANES];
#pragma unroll
    for (int q = 0; q < SAP_SUMS4; q++) {
        v_put(r->total[q], total);
        for (int lane = 0; lane < LANES; lane++)
            if (row + lane < f->ni) m->record[record_at(sp, SAP_SUMS4, q, f->room_i, row + lane)] = total[lane];
    }
    v_put(r->near.best, best);
    v_put(r->near.second, second);
    vi_put(r->near.packet, packet);
    vi_put(r->coincident, coincident);
    for (int lane = 0; lane < LANES; lane++) {
        if (row + lane >= f->ni) continue;
        if (near & 1) store_near(m, f, sp, row + lane, best[lane], second[lane], packet[lane]);
        if (zero && coincident[lane]) (void)atomic_min(&m->counters->coincident, f->first_i + row + lane);
    }
}

/* near, zero and ipt (1 or 2: i-particles of a lane) are constants. */
SAP_INLINE void many(int near, int zero, int ipt, const struct force_memory *m, const struct sap_gpu_force *f,
#if SAP_VECTOR
                     const __global part *tile
#else
                     __local part *tile
#endif
)
{
    const int sp = get_group_id(1), step = get_local_size(0) * LANES;
    const int row0 = get_group_id(0) * step * ipt + get_local_id(0) * LANES;
    const V eps2 = v_set1(f->eps2);
    const VI any = (VI)(f->skip_own ? 0 : -1);
    struct many_row r[2];
#pragma unroll
    for (int n = 0; n < ipt; n++) {
        load_i(m->i, f, row0 + n * step, 1, &r[n].i);
        start_near(&r[n].near);
        r[n].coincident = (VI)0;
#pragma unroll
        for (int q = 0; q < SAP_SUMS4; q++) r[n].total[q] = (VD)0.0;
    }
    for (int packet = 0; packet < SAP_GPU_PACKETS; packet++) {
#if SAP_VECTOR
        enum { PITCH = SAP_GPU_SUPERPACKET, NEXT = SAP_GPU_PACKETS };
        tile_pointer at = tile + (size_t)sp * (PARTS * SAP_GPU_SUPERPACKET) + packet;
#else
        enum { PITCH = STAGE_PACKETS * SAP_GPU_PACKET, NEXT = STAGE_PACKETS };
        if (packet % STAGE_PACKETS == 0) stage_packets(tile, m->predicted, sp, packet);
        tile_pointer at = tile + packet % STAGE_PACKETS;
#endif
#pragma unroll
        for (int n = 0; n < ipt; n++) start_packet(&r[n].s);
#pragma unroll 4
        for (int e = 0; e < SAP_GPU_PACKET; e++) {
            struct j_words j;
            load_j(at, PITCH, e * NEXT, &j);
#pragma unroll
            for (int n = 0; n < ipt; n++) add_pair(near, zero, &r[n].s, &r[n].i, &j, eps2, any, e, &r[n].coincident);
        }
#pragma unroll
        for (int n = 0; n < ipt; n++) close_packet(near, m, f, sp, packet, row0 + n * step, &r[n]);
    }
#pragma unroll
    for (int n = 0; n < ipt; n++) store_rows(near, zero, m, f, sp, row0 + n * step, &r[n]);
}

/* -------------------------------------------------------------------- few */

enum {
    FEW_COLUMNS = SAP_SUMS4 + 1,    /* packet sums of an i-particle, and smallest distances */
    FEW_PITCH = SAP_GPU_PACKETS + 1 /* of them in local memory: no bank twice */
};

#if SAP_VECTOR
#define FEW_ARGUMENT
#define FEW_ROOM(ipt)                                                                                                  \
    W room[(ipt)*FEW_COLUMNS * FEW_PITCH];                                                                             \
    tile_pointer tile = m.predicted + get_group_id(0) * (size_t)(PARTS * SAP_GPU_SUPERPACKET);
#define few_barrier()
enum { FEW_LANES = 1 };
#else
#define FEW_ARGUMENT , __local part *tile
#define FEW_ROOM(ipt)                                                                                                  \
    room_pointer room =                                                                                                \
        (room_pointer)(tile + PARTS * SAP_GPU_SUPERPACKET) + get_local_id(0) / 32 * ((ipt)*FEW_COLUMNS * FEW_PITCH);   \
    stage_superpacket(tile, &m, &f);
#define few_barrier() barrier(CLK_LOCAL_MEM_FENCE)
enum { FEW_LANES = 32 }; /* work-items that share i-particles */

/* A superpacket in local memory, [part][1024]: predicted here, or as it was predicted before. */
SAP_INLINE void stage_superpacket(__local part *tile, const struct force_memory *m, const struct sap_gpu_force *f)
{
    const int sp = get_group_id(0);
    for (int a = get_local_id(0); a < SAP_GPU_SUPERPACKET; a += get_local_size(0)) {
        part p[PARTS];
        if (f->fused) {
            predict_one(m->store, f, sp, a, p);
        } else {
#pragma unroll
            for (int w = 0; w < PARTS; w++) p[w] = m->predicted[((size_t)sp * PARTS + w) * SAP_GPU_SUPERPACKET + a];
        }
#pragma unroll
        for (int w = 0; w < PARTS; w++) tile[w * SAP_GPU_SUPERPACKET + a] = p[w];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
#endif

/* Column k of the packet sums: added in order in double; the last column of an i-particle is its distances. */
SAP_INLINE void add_column(int near, const struct force_memory *m, const struct sap_gpu_force *f, int sp, int row,
                           int k, room_pointer room)
{
    const int q = k % FEW_COLUMNS;
    if (row + k / FEW_COLUMNS >= f->ni) return;
    if (q < SAP_SUMS4) {
        double total = 0.0;
        for (int l = 0; l < SAP_GPU_PACKETS; l++) total += (double)room[k * FEW_PITCH + l];
        m->record[record_at(sp, SAP_SUMS4, q, f->room_i, row + k / FEW_COLUMNS)] = total;
    } else if (near & 1) {
        W best = W_HUGE, second = W_HUGE;
        int packet = -1;
        for (int l = 0; l < SAP_GPU_PACKETS; l++) {
            const W low = room[k * FEW_PITCH + l];
            second = low < best ? best : min(second, low);
            packet = low < best ? l : packet;
            best = min(best, low);
        }
        store_near(m, f, sp, row + k / FEW_COLUMNS, best, second, packet);
    }
}

/* What a lane found beside its sums. */
SAP_INLINE void note_lanes(int near, int zero, const struct force_memory *m, const struct sap_gpu_force *f, int sp,
                           int row, int packet, const struct packet_state *s, VI met)
{
    int mask[LANES], coincident[LANES];
    if (row >= f->ni) return;
    vi_put(s->mask, mask);
    vi_put(met, coincident);
    for (int lane = 0; lane < LANES; lane++) {
        if ((near & 2) && mask[lane]) note_hits(m, f, row, sp * SAP_GPU_PACKETS + packet + lane, (unsigned)mask[lane]);
        if (zero && coincident[lane]) (void)atomic_min(&m->counters->coincident, f->first_i + row);
    }
}

/* i-particles row .. row + ipt - 1 against the superpacket in `tile`; ipt is a constant, 1 or 4. */
SAP_INLINE void few_rows(int near, int zero, int ipt, const struct force_memory *m, const struct sap_gpu_force *f,
                         tile_pointer tile, room_pointer room, int row)
{
    const int sp = get_group_id(0), mine = get_local_id(0) % FEW_LANES;
    const V eps2 = v_set1(f->eps2);
    const VI any = (VI)(f->skip_own ? 0 : -1);
    struct i_words i[4];
    struct packet_state s[4];
#pragma unroll
    for (int n = 0; n < ipt; n++) load_i(m->i, f, row + n, 0, &i[n]);
    few_barrier();
    for (int packet = mine; packet < SAP_GPU_PACKETS; packet += FEW_LANES * LANES) {
        VI met[4];
#pragma unroll
        for (int n = 0; n < ipt; n++) start_packet(&s[n]), met[n] = (VI)0;
#pragma unroll 4
        for (int e = 0; e < SAP_GPU_PACKET; e++) {
            struct j_words j;
            load_lanes_j(tile, SAP_GPU_SUPERPACKET, e * SAP_GPU_PACKETS + packet, &j);
#pragma unroll
            for (int n = 0; n < ipt; n++) add_pair(near, zero, &s[n], &i[n], &j, eps2, any, e, &met[n]);
        }
#pragma unroll
        for (int n = 0; n < ipt; n++) {
            room_pointer to = room + n * FEW_COLUMNS * FEW_PITCH + packet;
#pragma unroll
            for (int q = 0; q < SAP_SUMS4; q++) v_put(s[n].sum[q], to + q * FEW_PITCH);
            v_put(s[n].low, to + SAP_SUMS4 * FEW_PITCH);
            note_lanes(near, zero, m, f, sp, row + n, packet, &s[n], met[n]);
        }
    }
    few_barrier();
    for (int k = mine; k < ipt * FEW_COLUMNS; k += FEW_LANES) add_column(near, m, f, sp, row, k, room);
}

/* Group number 1 takes rows_per_group rows, a multiple of those that it takes at a time: barriers are met by all. */
SAP_INLINE void few(int near, int zero, int ipt, const struct force_memory *m, const struct sap_gpu_force *f,
                    int rows_per_group, tile_pointer tile, room_pointer room)
{
    const int from = get_group_id(1) * rows_per_group, to = min(from + rows_per_group, f->ni);
    const int turn = max((int)get_local_size(0) / FEW_LANES, 1) * ipt, first = get_local_id(0) / FEW_LANES * ipt;
    for (int row = from; row < to; row += turn) few_rows(near, zero, ipt, m, f, tile, room, row + first);
}

/* --------------------------------------------------------------- instances */

#define SAP_FORCE_ARGUMENTS                                                                                            \
    const __global double *store, const __global part *predicted, const __global struct sap_gpu_i *i,                  \
        __global double *record, __global double *near, __global struct sap_gpu_hit *hit, __global int *hit_count,     \
        __global struct sap_gpu_counters *counters, const struct sap_gpu_force f, const int rows_per_group
#define SAP_FORCE_MEMORY                                                                                               \
    {                                                                                                                  \
        store, predicted, i, record, near, hit, hit_count, counters                                                    \
    }

#define SAP_MANY(NEAR, ZERO, IPT)                                                                                      \
    __kernel void NAMED(many##IPT##_n##NEAR##_z##ZERO)(SAP_FORCE_ARGUMENTS)                                            \
    {                                                                                                                  \
        const struct force_memory m = SAP_FORCE_MEMORY;                                                                \
        MANY_ROOM                                                                                                      \
        many(NEAR, ZERO, IPT, &m, &f, MANY_TILE);                                                                      \
    }
#define SAP_FEW(NEAR, ZERO, IPT)                                                                                       \
    __kernel void NAMED(few##IPT##_n##NEAR##_z##ZERO)(SAP_FORCE_ARGUMENTS FEW_ARGUMENT)                                \
    {                                                                                                                  \
        const struct force_memory m = SAP_FORCE_MEMORY;                                                                \
        FEW_ROOM(IPT)                                                                                                  \
        few(NEAR, ZERO, IPT, &m, &f, rows_per_group, tile, room);                                                      \
    }
#define SAP_NEAR(SHAPE, NEAR, IPT) SHAPE(NEAR, 0, IPT) SHAPE(NEAR, 1, IPT)
#define SAP_ALL(SHAPE, IPT)                                                                                            \
    SAP_NEAR(SHAPE, 0, IPT) SAP_NEAR(SHAPE, 1, IPT) SAP_NEAR(SHAPE, 2, IPT) SAP_NEAR(SHAPE, 3, IPT)

__kernel void NAMED(predict)(const __global double *store, __global part *predicted, const struct sap_gpu_force f)
{
    const int a = get_global_id(0), sp = a / SAP_GPU_SUPERPACKET;
    part p[PARTS];
    if (sp >= f.superpackets) return;
    predict_one(store, &f, sp, a % SAP_GPU_SUPERPACKET, p);
#pragma unroll
    for (int w = 0; w < PARTS; w++)
        predicted[((size_t)sp * PARTS + w) * SAP_GPU_SUPERPACKET + a % SAP_GPU_SUPERPACKET] = p[w];
}

SAP_ALL(SAP_MANY, 1)
SAP_ALL(SAP_FEW, 1)
#if !SAP_VECTOR /* one i-particle a lane fills the registers of a CPU */
SAP_ALL(SAP_MANY, 2)
SAP_ALL(SAP_FEW, 4)
#endif
