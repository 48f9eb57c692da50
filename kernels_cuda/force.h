/*
 * force.h - the force kernels of order 4, one text for every precision and shape.
 *
 * Each block takes one superpacket of j-particles and some i-particles, and
 * leaves one record of double sums for each; finish.cu turns records into
 * results.  `many`: a thread holds IPT i-particles and walks the packets one
 * after the other.  `few`: a lane is a packet, a warp holds IPT i-particles.
 * The same sequence of operations, so the same bits (physics/gpu_layout.h).
 */
#include "working.h"

#include "pairs.h"

#include "predict.h"

#ifndef SAP_STAGE_PACKETS
#define SAP_STAGE_PACKETS 8 /* packets that `many` holds in shared memory at a time; cannot change a bit */
#endif

struct force_memory {
    const double *store;   /* j-store, for the few-i kernel that predicts */
    const part *predicted; /* [superpacket][part][1024] */
    const sap_gpu_i *i;
    double *record; /* [superpacket][7][room] */
    double *near;   /* [superpacket][3][room] */
    sap_gpu_hit *hit;
    int *hit_count;
    sap_gpu_counters *counters;
};

/* ------------------------------------------------------------------- many */

/* Copies SAP_STAGE_PACKETS packets from `first` on into shared memory: [part][element][packet]. */
SAP_INLINE void stage_packets(part *tile, const part *predicted, int sp, int first)
{
    const part *from = predicted + (size_t)sp * PARTS * SAP_GPU_SUPERPACKET + first;
    enum { N = SAP_STAGE_PACKETS * SAP_GPU_PACKET };
    for (int k = threadIdx.x; k < N * PARTS; k += blockDim.x) {
        const int p = k / N, at = k % N;
        tile[k] = from[p * SAP_GPU_SUPERPACKET + at / SAP_STAGE_PACKETS * SAP_GPU_PACKETS + at % SAP_STAGE_PACKETS];
    }
}

template <int NEAR, int ZERO, int IPT>
static __device__ __forceinline__ void many(const force_memory &m, const sap_gpu_force &f)
{
    __shared__ part tile[PARTS * SAP_STAGE_PACKETS * SAP_GPU_PACKET];
    const int sp = blockIdx.y, row0 = blockIdx.x * blockDim.x * IPT + threadIdx.x;
    const V eps2 = v_set1(f.eps2);
    const bool skip_own = f.skip_own != 0;
    const hit_room hits = {m.hit, m.hit_count, m.counters, f.hit_room};
    i_words i[IPT];
    double total[IPT][SAP_SUMS4];
    near_state near[IPT];
    bool coincident[IPT];
#pragma unroll
    for (int n = 0; n < IPT; n++) {
        const int row = row0 + n * blockDim.x;
        load_i(m.i[f.first_i + (row < f.ni ? row : f.ni - 1)], &i[n]);
#pragma unroll
        for (int q = 0; q < SAP_SUMS4; q++) total[n][q] = 0.0;
        start_near(&near[n]);
        coincident[n] = false;
    }
    for (int first = 0; first < SAP_GPU_PACKETS; first += SAP_STAGE_PACKETS) {
        __syncthreads();
        stage_packets(tile, m.predicted, sp, first);
        __syncthreads();
        for (int l = 0; l < SAP_STAGE_PACKETS; l++) {
            packet_state s[IPT];
#pragma unroll
            for (int n = 0; n < IPT; n++) start_packet(&s[n]);
#pragma unroll 8
            for (int e = 0; e < SAP_GPU_PACKET; e++) {
                part p[PARTS];
                j_words j;
#pragma unroll
                for (int w = 0; w < PARTS; w++) p[w] = tile[(w * SAP_GPU_PACKET + e) * SAP_STAGE_PACKETS + l];
                unpack(p, &j);
#pragma unroll
                for (int n = 0; n < IPT; n++) add_pair<NEAR, ZERO>(&s[n], &i[n], &j, eps2, skip_own, e, &coincident[n]);
            }
#pragma unroll
            for (int n = 0; n < IPT; n++) {
#pragma unroll
                for (int q = 0; q < SAP_SUMS4; q++) total[n][q] += (double)s[n].sum[q];
                if (NEAR & 1) note_near(&near[n], s[n].low, V_HUGE, first + l);
                const int row = row0 + n * blockDim.x;
                if ((NEAR & 2) && s[n].mask && row < f.ni)
                    note_hits(&hits, row, sp * SAP_GPU_PACKETS + first + l, s[n].mask);
            }
        }
    }
#pragma unroll
    for (int n = 0; n < IPT; n++) {
        const int row = row0 + n * blockDim.x;
        if (row >= f.ni) continue;
#pragma unroll
        for (int q = 0; q < SAP_SUMS4; q++) m.record[record_at(sp, SAP_SUMS4, q, f.room_i, row)] = total[n][q];
        if (NEAR & 1) store_near(m.near, sp, f.room_i, row, &near[n]);
        if (ZERO && coincident[n]) atomicMin(&m.counters->coincident, f.first_i + row);
    }
}

/* -------------------------------------------------------------------- few */

/* A superpacket in shared memory, [part][1024]: predicted here, or as it was predicted before. */
SAP_INLINE void stage_superpacket(part *tile, const force_memory &m, const sap_gpu_force &f, int sp)
{
    for (int a = threadIdx.x; a < SAP_GPU_SUPERPACKET; a += blockDim.x) {
        part p[PARTS];
        if (f.fused) {
            predict_one(m.store, f, sp, a, p);
        } else {
            for (int w = 0; w < PARTS; w++) p[w] = m.predicted[((size_t)sp * PARTS + w) * SAP_GPU_SUPERPACKET + a];
        }
        for (int w = 0; w < PARTS; w++) tile[w * SAP_GPU_SUPERPACKET + a] = p[w];
    }
}

/* The nearest over all lanes, in all lanes. */
SAP_INLINE void join_near(near_state *n)
{
    for (int step = 1; step < 32; step *= 2) {
        const V best = __shfl_xor_sync(~0U, n->best, step), second = __shfl_xor_sync(~0U, n->second, step);
        const int packet = __shfl_xor_sync(~0U, n->packet, step);
        note_near(n, best, second, packet);
        /* equal distances: both lanes keep their own packet, and `second` says that it is not settled */
    }
}

enum { FEW_PITCH = SAP_GPU_PACKETS + 1 }; /* of packet sums in shared memory: no bank twice */

/* Packet sums of IPT i-particles, lane by lane, are added in order in double; lane k does sum k. */
template <int IPT>
SAP_INLINE void add_packets(const packet_state *s, V *room, double *record, int sp, const sap_gpu_force &f, int row)
{
    const int lane = threadIdx.x % 32;
    __syncwarp();
#pragma unroll
    for (int n = 0; n < IPT; n++)
#pragma unroll
        for (int q = 0; q < SAP_SUMS4; q++) room[(n * SAP_SUMS4 + q) * FEW_PITCH + lane] = s[n].sum[q];
    __syncwarp();
    const int n = lane / SAP_SUMS4, q = lane % SAP_SUMS4;
    if (n < IPT && row + n < f.ni) {
        double total = 0.0;
#pragma unroll 8
        for (int l = 0; l < SAP_GPU_PACKETS; l++) total += (double)room[lane * FEW_PITCH + l];
        record[record_at(sp, SAP_SUMS4, q, f.room_i, row + n)] = total;
    }
}

/* One warp: i-particles row .. row + IPT - 1 against the superpacket in `tile`. */
template <int NEAR, int ZERO, int IPT>
SAP_INLINE void few_rows(const part *tile, V *room, const force_memory &m, const sap_gpu_force &f, int sp, int row)
{
    const int lane = threadIdx.x % 32;
    const V eps2 = v_set1(f.eps2);
    const bool skip_own = f.skip_own != 0;
    i_words i[IPT];
    packet_state s[IPT];
    bool coincident[IPT];
#pragma unroll
    for (int n = 0; n < IPT; n++) {
        load_i(i_particle(m.i, f, row + n < f.ni ? row + n : f.ni - 1), &i[n]);
        start_packet(&s[n]);
        coincident[n] = false;
    }
#pragma unroll 4
    for (int e = 0; e < SAP_GPU_PACKET; e++) {
        part p[PARTS];
        j_words j;
#pragma unroll
        for (int w = 0; w < PARTS; w++) p[w] = tile[w * SAP_GPU_SUPERPACKET + e * SAP_GPU_PACKETS + lane];
        unpack(p, &j);
#pragma unroll
        for (int n = 0; n < IPT; n++) add_pair<NEAR, ZERO>(&s[n], &i[n], &j, eps2, skip_own, e, &coincident[n]);
    }
    add_packets<IPT>(s, room, m.record, sp, f, row);
#pragma unroll
    for (int n = 0; n < IPT; n++) {
        if (row + n >= f.ni) continue;
        if (NEAR & 1) {
            near_state near = {s[n].low, V_HUGE, s[n].low < V_HUGE ? lane : -1};
            join_near(&near);
            if (lane == 0) store_near(m.near, sp, f.room_i, row + n, &near);
        }
        if ((NEAR & 2) && s[n].mask) {
            const hit_room hits = {m.hit, m.hit_count, m.counters, f.hit_room};
            note_hits(&hits, row + n, sp * SAP_GPU_PACKETS + lane, s[n].mask);
        }
        if (ZERO && coincident[n]) atomicMin(&m.counters->coincident, f.first_i + row + n);
    }
}

/* blockIdx.y takes rows_per_block rows; each warp IPT of them at a time. */
template <int NEAR, int ZERO, int IPT>
static __device__ __forceinline__ void few(const force_memory &m, const sap_gpu_force &f, int rows_per_block)
{
    extern __shared__ double2 shared[];
    part *tile = (part *)shared;
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32, sp = blockIdx.x;
    V *room = (V *)(tile + PARTS * SAP_GPU_SUPERPACKET) + warp * IPT * SAP_SUMS4 * FEW_PITCH;
    const int from = blockIdx.y * rows_per_block;
    const int to = min(from + rows_per_block, f.ni);
    stage_superpacket(tile, m, f, sp);
    __syncthreads();
    for (int row = from + warp * IPT; row < to; row += warps * IPT)
        few_rows<NEAR, ZERO, IPT>(tile, room, m, f, sp, row);
}

/* --------------------------------------------------------------- instances */

#define SAP_FORCE_ARGUMENTS                                                                                            \
    const double *store, const part *predicted, const sap_gpu_i *i, double *record, double *near, sap_gpu_hit *hit,    \
        int *hit_count, sap_gpu_counters *counters, sap_gpu_force f
#define SAP_FORCE_MEMORY                                                                                               \
    {                                                                                                                  \
        store, predicted, i, record, near, hit, hit_count, counters                                                    \
    }

#define SAP_MANY(NEAR, ZERO, IPT)                                                                                      \
    extern "C" __global__ void __launch_bounds__(128)                                                                  \
        NAMED(many##IPT##_n##NEAR##_z##ZERO)(SAP_FORCE_ARGUMENTS, int unused)                                          \
    {                                                                                                                  \
        const force_memory m = SAP_FORCE_MEMORY;                                                                       \
        many<NEAR, ZERO, IPT>(m, f);                                                                                   \
    }
#define SAP_FEW(NEAR, ZERO, IPT)                                                                                       \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        NAMED(few##IPT##_n##NEAR##_z##ZERO)(SAP_FORCE_ARGUMENTS, int rows_per_block)                                   \
    {                                                                                                                  \
        const force_memory m = SAP_FORCE_MEMORY;                                                                       \
        few<NEAR, ZERO, IPT>(m, f, rows_per_block);                                                                    \
    }
#define SAP_NEAR(SHAPE, NEAR, IPT) SHAPE(NEAR, 0, IPT) SHAPE(NEAR, 1, IPT)
#define SAP_ALL(SHAPE, IPT)                                                                                            \
    SAP_NEAR(SHAPE, 0, IPT) SAP_NEAR(SHAPE, 1, IPT) SAP_NEAR(SHAPE, 2, IPT) SAP_NEAR(SHAPE, 3, IPT)

extern "C" __global__ void __launch_bounds__(256) NAMED(predict)(const double *store, part *predicted, sap_gpu_force f)
{
    const int a = blockIdx.x * blockDim.x + threadIdx.x, sp = a / SAP_GPU_SUPERPACKET;
    part p[PARTS];
    if (sp >= f.superpackets) return;
    predict_one(store, f, sp, a % SAP_GPU_SUPERPACKET, p);
    for (int w = 0; w < PARTS; w++)
        predicted[((size_t)sp * PARTS + w) * SAP_GPU_SUPERPACKET + a % SAP_GPU_SUPERPACKET] = p[w];
}

SAP_ALL(SAP_MANY, 1)
SAP_ALL(SAP_MANY, 2)
SAP_ALL(SAP_FEW, 1)
SAP_ALL(SAP_FEW, 4)
