/*
 * few.h - forces on few targets: a lane is a packet of a superpacket of j-particles, which the group holds in its
 * memory, or, where it has little, reads from device memory.
 */
#ifndef SAP_DEVICE_FEW_H
#define SAP_DEVICE_FEW_H

#include "device/pairs.h"

/*
 * LOAD_SPHERES loads the spheres of rows from, from + step, ..., with `lanes` rows between lanes.  ADD_PAIR adds a pair
 * with or without spheres.
 */
#if SAP_KERNEL_ORDER == 4
#define LOAD_SPHERES(mode, n, i_all, f, from, step, lanes)                                                             \
    struct sphere sphere[4];                                                                                           \
    for (int k = 0; k < (n) && ((mode).near & 4); k++) load_sphere(i_all, f, (from) + k * (step), lanes, &sphere[k]);
#define ADD_PAIR(mode, s, i, sphere, j, eps2, any, element, met)                                                       \
    do {                                                                                                               \
        if ((mode).near & 4)                                                                                           \
            add_pair_outside(mode, s, i, sphere, j, eps2, element);                                                    \
        else                                                                                                           \
            add_pair(mode, s, i, j, eps2, any, element, met);                                                          \
    } while (0)
#else
#define LOAD_SPHERES(mode, n, i_all, f, from, step, lanes)
#define ADD_PAIR(mode, s, i, sphere, j, eps2, any, element, met) add_pair(mode, s, i, j, eps2, any, element, met)
#endif

enum {
    FEW_COLUMNS = SUMS + !SAP_SHUFFLE, /* packet sums of an i-particle; without shuffles also its smallest distances */
    FEW_PITCH = SAP_GPU_PACKETS + 1    /* distance of columns in memory of the group, without bank conflicts */
};

/* Number of i-particles, out of ipt, whose packet sums are in memory of the group at a time. */
#define FEW_AT_ONCE(ipt) (SAP_SHUFFLE || SAP_VECTORS ? (ipt) : 1)

#if SAP_VECTORS
typedef W *sums_pointer;
#define FEW_ROOM(ipt)                                                                                                  \
    W room[(ipt)*FEW_COLUMNS * FEW_PITCH];                                                                             \
    few_pointer tile = m.predicted + group_id(0) * (size_t)(PARTS * SAP_GPU_SUPERPACKET);
enum { FEW_LANES = 1 };
#elif !SAP_FEW_STAGED
/* The group has little memory: j-particles are read from device memory, each only once or twice. */
typedef LOCAL W *sums_pointer;
#define FEW_ROOM(ipt)                                                                                                  \
    GROUP_MEMORY(W, all_room)                                                                                          \
    sums_pointer room = all_room + local_id() / 32 * (FEW_AT_ONCE(ipt) * FEW_COLUMNS * FEW_PITCH);                     \
    few_pointer tile = m.predicted + group_id(0) * (size_t)(PARTS * SAP_GPU_SUPERPACKET);
enum { FEW_LANES = 32 }; /* threads that share i-particles */
#else
typedef LOCAL W *sums_pointer;
#define FEW_ROOM(ipt)                                                                                                  \
    GROUP_MEMORY(part, tile)                                                                                           \
    sums_pointer room =                                                                                                \
        (sums_pointer)(tile + PARTS * SAP_GPU_SUPERPACKET) + local_id() / 32 * ((ipt)*FEW_COLUMNS * FEW_PITCH);
enum { FEW_LANES = 32 }; /* threads that share i-particles */

/*
 * Copies a superpacket into memory of the group, [part][1024], so many parts: predicted in this kernel, or read from
 * the predicted records.
 */
SAP_INLINE void few_stage(int parts, few_pointer to, const struct force_memory *m, const struct sap_gpu_force *f,
                          int sp)
{
    LOCAL part *tile = (LOCAL part *)to;
    for (int a = local_id(); a < SAP_GPU_SUPERPACKET; a += local_size()) {
        part p[PARTS];
        if (f->fused) {
            predict_one(m->store, f, sp, a, p);
        } else {
#pragma unroll
            for (int w = 0; w < parts; w++) p[w] = m->predicted[((size_t)sp * PARTS + w) * SAP_GPU_SUPERPACKET + a];
        }
#pragma unroll
        for (int w = 0; w < parts; w++) tile[w * SAP_GPU_SUPERPACKET + a] = p[w];
    }
    group_barrier();
}
#endif

#if SAP_VECTORS || !SAP_FEW_STAGED
#define few_stage(parts, tile, m, f, sp) /* j-particles are read from device memory */
#endif

#if SAP_SHUFFLE
/* Finds the nearest over the packets, one packet per thread. */
SAP_INLINE void join_near(const struct force_memory *m, const struct sap_gpu_force *f, int sp, int row, V low)
{
    const int lane = local_id() % 32;
    struct near_state n = {low, v_set1(W_HUGE), low < W_HUGE ? lane : -1};
    for (int step = 1; step < 32; step *= 2) {
        const V best = lanes_xor(n.best, step), second = lanes_xor(n.second, step);
        /* equal distances: both threads keep their own packet, and `second` makes finish_nearest decide */
        note_near(&n, best, second, lanes_xor(n.packet, step));
    }
    if (lane == 0) store_near(m, f, sp, row, n.best, n.second, n.packet);
}
#else
/* Finds the nearest over the packets from a column of their smallest distances. */
SAP_INLINE void walk_near(const struct force_memory *m, const struct sap_gpu_force *f, int sp, int row,
                          sums_pointer low)
{
    W best = W_HUGE, second = W_HUGE;
    int packet = -1;
    for (int l = 0; l < SAP_GPU_PACKETS; l++) {
        const W next = low[l];
        second = next < best ? best : min(second, next);
        packet = next < best ? l : packet;
        best = min(best, next);
    }
    store_near(m, f, sp, row, best, second, packet);
}
#endif

/*
 * Adds column k of the packet sums of i-particles from `row` on, in order, in double.  The last column of an i-particle
 * may be its distances.
 */
SAP_INLINE void add_column(int near, const struct force_memory *m, const struct sap_gpu_force *f, int sp, int row,
                           int k, sums_pointer room)
{
    const int n = k / FEW_COLUMNS, q = k % FEW_COLUMNS;
    if (row + n >= f->ni) return;
    if (q < SUMS) {
        w_total total = w_total_zero();
#pragma unroll 8
        for (int l = 0; l < SAP_GPU_PACKETS; l++) total = w_total_add(total, room[k * FEW_PITCH + l]);
        store_total(m, f, sp, q, row + n, record_of(total));
    }
#if !SAP_SHUFFLE
    if (q == SUMS && (near & 1)) walk_near(m, f, sp, row + n, room + k * FEW_PITCH);
#endif
}

/* Notes what a lane found beside its sums: candidates, pairs at zero distance, and the nearest. */
SAP_INLINE void note_lanes(struct pair_mode mode, const struct force_memory *m, const struct sap_gpu_force *f, int sp,
                           int row, int packet, const struct packet_state *s, VM met)
{
    int mask[LANES];
    truth coincident[LANES];
    if (row >= f->ni) return;
    vi_put(s->mask, mask);
    vm_put(met, coincident);
    for (int lane = 0; lane < LANES; lane++) {
        if ((mode.near & 2) && mask[lane]) note_hits(m, f, sp, row, packet + lane, (unsigned)mask[lane]);
        if (TELLS_ZERO > 0 && mode.zero && coincident[lane])
            (void)atomic_min(&m->counters->coincident, f->first_i + row);
    }
#if SAP_SHUFFLE
    if (mode.near & 1) join_near(m, f, sp, row, s->low);
#endif
}

/* Writes the packet sums of n i-particles into memory of the group. */
SAP_INLINE void put_packets(int near, int n, const struct packet_state *s, sums_pointer to)
{
#pragma unroll
    for (int k = 0; k < n; k++, to += FEW_COLUMNS * FEW_PITCH) {
#pragma unroll
        for (int q = 0; q < SUMS; q++) v_put(s[k].sum[q], to + q * FEW_PITCH);
        if (SAP_SHUFFLE == 0 && (near & 1)) v_put(s[k].low, to + SUMS * FEW_PITCH);
    }
}

/* Adds the columns of packet sums: each lane adds one column, or, where there is one lane, it adds all. */
SAP_INLINE void add_columns(int near, int n, const struct force_memory *m, const struct sap_gpu_force *f, int sp,
                            int row, int mine, sums_pointer room)
{
    if (FEW_LANES > 1 && mine < n * FEW_COLUMNS) add_column(near, m, f, sp, row, mine, room);
    for (int k = 0; FEW_LANES == 1 && k < n * FEW_COLUMNS; k++) add_column(near, m, f, sp, row, k, room);
}

SAP_INLINE void load_rows(int near, int ipt, const struct force_memory *m, const struct sap_gpu_force *f, int row,
                          struct i_words *i)
{
#pragma unroll
    for (int n = 0; n < ipt; n++) load_i(!(near & 4), units_for(near), m->i, f, row + n, 0, &i[n]);
}

/*
 * Computes the force on i-particles row .. row + ipt - 1 from superpacket sp, which is in `tile`; ipt is a constant, 1,
 * 2 or 4.
 */
SAP_INLINE void few_rows(struct pair_mode mode, int ipt, const struct force_memory *m, const struct sap_gpu_force *f,
                         int sp, few_pointer tile, sums_pointer room, int row, const struct i_words *i)
{
    const int mine = local_id() % FEW_LANES;
    const V eps2 = v_set1(w_of_d(f->eps2));
    const any_index any = any_set(!f->skip_own);
    struct packet_state s[4];
    int packet = mine;
    LOAD_SPHERES(mode, ipt, m->i, f, row, 1, 0)
    lanes_barrier();
    do {
        VM met[4];
#pragma unroll
        for (int n = 0; n < ipt; n++) start_packet(&s[n]), met[n] = vm_set1(0);
#if SAP_KERNEL_ORDER > 6
#pragma unroll 2
#elif defined(FEW_ALONE) /* warps are few, so pairs wait for their own results */
#pragma unroll 8
#else
#pragma unroll 4
#endif
        for (int e = 0; e < SAP_GPU_PACKET; e++) {
            struct j_words j;
            load_lanes_j(parts_for(mode), tile, SAP_GPU_SUPERPACKET, e * SAP_GPU_PACKETS + packet, &j);
#pragma unroll
            for (int n = 0; n < ipt; n++) ADD_PAIR(mode, &s[n], &i[n], &sphere[n], &j, eps2, any, e, &met[n]);
        }
        put_packets(mode.near, FEW_AT_ONCE(ipt), s, room + packet);
#pragma unroll
        for (int n = 0; n < ipt; n++) note_lanes(mode, m, f, sp, row + n, packet, &s[n], met[n]);
        packet += FEW_LANES * LANES;
    } while (FEW_LANES * LANES < SAP_GPU_PACKETS && packet < SAP_GPU_PACKETS);
#pragma unroll
    for (int n = 0; n < ipt; n += FEW_AT_ONCE(ipt)) {
        if (n > 0) {
            lanes_barrier();
            put_packets(mode.near, FEW_AT_ONCE(ipt), &s[n], room + mine);
        }
        lanes_barrier();
        add_columns(mode.near, FEW_AT_ONCE(ipt), m, f, sp, row + n, mine, room);
    }
}

/*
 * The few-target kernel.  Group number 1 takes rows_per_group rows.  Without shuffles, all threads run the same number
 * of turns, because all must meet the barriers; with shuffles, 32 threads that have no row left return.
 */
SAP_INLINE void few(struct pair_mode mode, int ipt, const struct force_memory *m, const struct sap_gpu_force *f,
                    int rows_per_group, few_pointer tile, sums_pointer room)
{
    const int from = group_id(1) * rows_per_group, to = min(from + rows_per_group, f->ni);
    const int turn = local_size() / FEW_LANES * ipt, first = local_id() / FEW_LANES * ipt;
    struct i_words i[4];
    /* loaded first, perhaps from host memory, so that the load overlaps with staging */
    load_rows(mode.near, ipt, m, f, from + first, i);
    start_noted(mode.near, m);
    few_stage(parts_for(mode), tile, m, f, group_id(0));
    for (int row = from + first; row - (SAP_SHUFFLE ? 0 : first) < to; row += turn) {
        if (row > from + first) load_rows(mode.near, ipt, m, f, row, i);
        few_rows(mode, ipt, m, f, group_id(0), tile, room, row, i);
    }
    send_noted(mode.near, m, f, group_id(0));
}

#endif
