/*
 * neighbour.h - neighbour forces, with the same bits as on the CPU (cpu_sse/kernel_neighbour.h).  Packets are those of
 * the CPU: entry e of a list belongs to packet e % 16.  A particle is predicted as often as lists name it.
 *
 * On GPUs 16 threads share a list, one packet each; on CPUs a thread sums all packets, in vectors.  The CPU computes
 * the force of a list that names an address without a particle, or a particle whose position is not finite.
 */
#include "device/pairs.h"

#ifndef SAP_BITS /* on devices without double precision, the CPU computes neighbour forces */

enum {
    LIST_PACKETS = SAP_CPU_LANES,
    LIST_THREADS = SAP_VECTORS ? 1 : LIST_PACKETS, /* threads per list */
    LIST_GROUP = SAP_VECTORS ? 1 : 128,
    LISTS = LIST_GROUP / LIST_THREADS /* lists per group of threads */
};

/* Values in place of an address, for "no particle" and "cannot be computed here". */
enum { NOBODY = -1, MISSING = -2 };

/* Arguments that all lists of a call share. */
struct neighbour_work {
    const GLOBAL D *rows;
    const GLOBAL unsigned *there;
    struct sap_gpu_neighbour_slabs f;
};

/* A stored particle at the time of the force; index: of the particle. */
struct neighbour_particle {
    D x[3], v[3], mass;
    int index;
};

SAP_INLINE int is_there(const struct neighbour_work *w, int address)
{
    if ((unsigned)address >= (unsigned)w->f.upper) return 0;
    return !w->f.gaps || (w->there[address / 32] >> address % 32 & 1);
}

SAP_INLINE void predict_row(int terms, const GLOBAL wide *row, D time, struct neighbour_particle *p)
{
    D c[3][5];
    D dt = d_set1(SAP_ZERO);
#pragma unroll
    for (int k = 0; k <= terms; k++) {
        const wide low = row[2 * k], high = row[2 * k + 1];
        c[0][k] = low.x, c[1][k] = low.y, c[2][k] = high.x;
        if (k == 0) dt = d_sub(time, high.y);
        if (k == 1) p->mass = high.y;
    }
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        sap_predict(terms, c[axis], dt, &p->x[axis], &p->v[axis]);
        p->mass = d_add(p->mass, d_sub(p->x[axis], p->x[axis])); /* NaN where the position is not finite */
    }
}

SAP_INLINE void take_row(const struct neighbour_work *w, int address, struct neighbour_particle *p)
{
    const GLOBAL D *row = w->rows + (size_t)address * w->f.words;
    p->index = *(const GLOBAL int *)(row + 11);
    if (w->f.words > 16)
        predict_row(4, (const GLOBAL wide *)row, w->f.time, p);
    else
        predict_row(3, (const GLOBAL wide *)row, w->f.time, p);
}

/* LANES particles, one per lane, as words. */
struct neighbour_lanes {
    W x[3][LANES], v[3][LANES], low[3][LANES], mass[LANES];
    int index[LANES];
};

SAP_INLINE void set_lane(struct neighbour_lanes *to, int lane, const struct neighbour_particle *p)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        to->x[k][lane] = w_of_d(p->x[k]);
        to->low[k][lane] = LOW ? w_of_d(d_sub(p->x[k], d_of_w(to->x[k][lane]))) : 0;
        to->v[k][lane] = w_of_d(p->v[k]);
    }
    to->mass[lane] = w_of_d(p->mass);
    to->index[lane] = p->index;
}

/* Makes a lane an empty slot: massless and far away. */
SAP_INLINE void clear_lane(struct neighbour_lanes *to, int lane)
{
    struct neighbour_particle p;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        p.x[k] = d_set1(SAP_EMPTY_X);
        p.v[k] = d_set1(SAP_ZERO);
    }
    p.mass = d_set1(SAP_ZERO);
    p.index = 0;
    set_lane(to, lane, &p);
}

SAP_INLINE void load_neighbour(const struct neighbour_lanes *from, struct j_words *j)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        j->x[k] = v_get(from->x[k]);
        j->v[k] = v_get(from->v[k]);
        j->low[k] = v_get(from->low[k]);
    }
    j->mass = v_get(from->mass);
    j->index = vi_get(from->index);
}

SAP_INLINE void load_owner(const struct neighbour_particle *p, struct i_words *i)
{
    struct neighbour_lanes own;
    struct j_words j;
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) set_lane(&own, lane, p);
    load_neighbour(&own, &j);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        i->x[k] = j.x[k];
        i->v[k] = j.v[k];
        i->low[k] = j.low[k];
    }
    i->index = j.index;
}

/* Returns 1/sqrt(r2) by correctly rounded operations, or +0 where `keep` is false. */
SAP_INLINE V exact_root_kept(VM keep, V r2)
{
    W x[LANES];
    truth count[LANES];
    v_put(r2, x);
    vm_put(keep, count);
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) x[lane] = count[lane] ? exact_root(x[lane]) : 0;
    return v_get(x);
}

SAP_INLINE void add_neighbour(V *sum, const struct i_words *i, const struct j_words *j, V eps2)
{
    struct separation d;
    separate(i, j, &d);
    const V r2 = v_add(sap_distance2(d.x[0], d.x[1], d.x[2]), eps2);
    VM keep = vi_differ(j->index, i->index, any_set(0));
    keep = vm_and_not(keep, v_less(r2, v_set1(SAP_COINCIDENT)));
    add_terms(sum, &d, j->mass, exact_root_kept(keep, r2));
}

/* The nearest neighbour in a packet, by canonical squared distance; ties go to the lower address. */
struct neighbour_near {
    D r2;
    int address; /* or NOBODY; MISSING: an address has no particle, or a distance is not finite */
    int index;
};

SAP_INLINE void take_nearer(struct neighbour_near *best, D r2, int address, int index)
{
    if (best->address == MISSING) return;
    if (best->address >= 0 && (d_gt(r2, best->r2) || (d_eq(r2, best->r2) && address > best->address))) return;
    best->r2 = r2;
    best->address = address;
    best->index = index;
}

SAP_INLINE void look_at(struct neighbour_near *best, const struct neighbour_particle *own,
                        const struct neighbour_particle *p, int address)
{
    D r2 = d_set1(SAP_ZERO);
    if (p->index == own->index) return;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const D d = d_sub(p->x[k], own->x[k]);
        r2 = d_add(r2, d_mul(d, d));
    }
    if (d_ge(d_set1(SAP_LARGEST), r2))
        take_nearer(best, r2, address, p->index);
    else
        best->address = MISSING;
}

/* Adds the list entries of LANES packets, from `packet` on. */
SAP_INLINE void walk_list(const struct neighbour_work *w, const struct neighbour_particle *own, const GLOBAL int *list,
                          int n, int packet, V *sum, struct neighbour_near *near)
{
    const V eps2 = v_set1(w_of_d(w->f.eps2));
    struct i_words i;
    load_owner(own, &i);
    for (int first = packet; first < n; first += LIST_PACKETS) {
        struct neighbour_lanes lanes;
        struct j_words j;
        for (int lane = 0; lane < LANES; lane++) {
            struct neighbour_particle p;
            const int address = first + lane < n ? list[first + lane] : NOBODY;
            if (is_there(w, address)) {
                take_row(w, address, &p);
                set_lane(&lanes, lane, &p);
                if (w->f.near) look_at(near, own, &p, address);
            } else {
                clear_lane(&lanes, lane);
                if (first + lane < n) near->address = MISSING;
            }
        }
        load_neighbour(&lanes, &j);
        add_neighbour(sum, &i, &j, eps2);
    }
}

#if SAP_VECTORS
typedef const W *packet_sums;
#else
typedef const LOCAL W *packet_sums;
#endif

/* Returns sum q of a list from the sums of its packets, as lib/cpu/cpu_neighbour.c delivers it. */
SAP_INLINE D total_of(packet_sums packets, int q)
{
    D total = d_set1(SAP_ZERO);
    for (int l = 0; l < LIST_PACKETS; l++) total = d_add(total, d_of_w(packets[l * SUMS + q]));
    total = sap_total_of_one(total);
    return q == SAP_POT ? d_neg(total) : total;
}

SAP_INLINE void store_near_of(GLOBAL D *out, const struct neighbour_near *best)
{
    out[SAP_GPU_NEIGHBOUR_R2] = best->r2;
    out[SAP_GPU_NEIGHBOUR_NEAREST] = d_of_int(best->index);
    out[SAP_GPU_NEIGHBOUR_STATE] = d_of_int(best->address == MISSING  ? SAP_GPU_NEIGHBOUR_LEFT
                                            : best->address == NOBODY ? SAP_GPU_NEIGHBOUR_ALONE
                                                                      : SAP_GPU_NEIGHBOUR_GOOD);
}

SAP_INLINE void join_near(struct neighbour_near *best, const struct neighbour_near *other)
{
    if (other->address >= 0)
        take_nearer(best, other->r2, other->address, other->index);
    else if (other->address == MISSING)
        best->address = MISSING;
}

#if SAP_VECTORS
KERNEL(LIST_GROUP)
NAMED(neighbour)
(const GLOBAL D *rows, const GLOBAL unsigned *there, const GLOBAL int *input, GLOBAL D *all_out,
 const struct sap_gpu_neighbour_slabs f)
{
    const struct neighbour_work w = {rows, there, f};
    const struct sap_gpu_neighbour_row row = ((const GLOBAL struct sap_gpu_neighbour_row *)input)[group_id(0)];
    GLOBAL D *out = all_out + (size_t)group_id(0) * SAP_GPU_NEIGHBOUR_WORDS;
    struct neighbour_particle own;
    struct neighbour_near near = {d_set1(SAP_ZERO), NOBODY, 0};
    W packets[LIST_PACKETS * SUMS];
    take_row(&w, row.own, &own);
    for (int first = 0; first < LIST_PACKETS; first += LANES) {
        V sum[SUMS];
        for (int q = 0; q < SUMS; q++) sum[q] = v_set1(0.0);
        walk_list(&w, &own, input + f.lists + row.first, row.n, first, sum, &near);
        for (int q = 0; q < SUMS; q++) {
            W each[LANES];
            v_put(sum[q], each);
            for (int lane = 0; lane < LANES; lane++) packets[(first + lane) * SUMS + q] = each[lane];
        }
    }
    for (int q = 0; q < SUMS; q++) out[q] = total_of(packets, q);
    store_near_of(out, &near);
}
#else
KERNEL(LIST_GROUP)
NAMED(neighbour)
(const GLOBAL D *rows, const GLOBAL unsigned *there, const GLOBAL int *input, GLOBAL D *all_out,
 const struct sap_gpu_neighbour_slabs f)
{
    SHARED W packets[LIST_GROUP * SUMS];
    SHARED D near_r2[LIST_GROUP];
    SHARED int near_address[LIST_GROUP], near_index[LIST_GROUP];
    const struct neighbour_work w = {rows, there, f};
    const int thread = local_id() % LIST_THREADS, which = group_id(0) * LISTS + local_id() / LIST_THREADS;
    const int mine = local_id() - thread; /* the first thread of this list */
    GLOBAL D *out = all_out + (size_t)which * SAP_GPU_NEIGHBOUR_WORDS;
    if (which < f.ni) {
        const struct sap_gpu_neighbour_row row = ((const GLOBAL struct sap_gpu_neighbour_row *)input)[which];
        struct neighbour_particle own;
        struct neighbour_near near = {d_set1(SAP_ZERO), NOBODY, 0};
        V sum[SUMS];
#pragma unroll
        for (int q = 0; q < SUMS; q++) sum[q] = v_set1(0.0);
        take_row(&w, row.own, &own);
        walk_list(&w, &own, input + f.lists + row.first, row.n, thread, sum, &near);
#pragma unroll
        for (int q = 0; q < SUMS; q++) packets[local_id() * SUMS + q] = sum[q];
        near_r2[local_id()] = near.r2;
        near_address[local_id()] = near.address;
        near_index[local_id()] = near.index;
    }
    group_barrier();
    if (which < f.ni && thread < SUMS) out[thread] = total_of(packets + mine * SUMS, thread);
    if (which < f.ni && thread == SUMS) {
        struct neighbour_near best = {d_set1(SAP_ZERO), NOBODY, 0};
        for (int l = mine; l < mine + LIST_PACKETS; l++) {
            const struct neighbour_near other = {near_r2[l], near_address[l], near_index[l]};
            join_near(&best, &other);
        }
        store_near_of(out, &best);
    }
}
#endif

/*
 * Stores changed rows of `words` doubles each.  The input begins with their addresses; the rows follow one after the
 * other.
 */
KERNEL(256)
NAMED(neighbour_put)
(GLOBAL D *rows, const GLOBAL int *input, int n, int words, int first)
{
    const GLOBAL D *from = (const GLOBAL D *)(input + first);
    for (int k = global_id(); k < n * words; k += global_size())
        rows[(size_t)input[k / words] * words + k % words] = from[k];
}
#endif
