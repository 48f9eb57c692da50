/*
 * finish.h - kernels that turn records of superpackets into one result per row: accumulators or rounded sums, and the
 * nearest neighbour.
 */
#include "device/list_rows.h"
#include "device/outside.h"
#include "device/tell.h"

#include "physics/accumulate.h"

/* ------------------------------------------------------------------- sums */

/* AHEAD: records that are read before the first of them is deposited; ACCUMULATOR: words: unit, limbs, special */
enum { SUMS_ITEMS = 128, AHEAD = 4, ACCUMULATOR = SAP_LIMBS + 2 };

SAP_INLINE void clear(D *a)
{
    a[0] = d_set1(SAP_UNIT_MIN);
    for (int k = 1; k < ACCUMULATOR; k++) a[k] = d_set1(SAP_ZERO);
}

SAP_INLINE void merge(D *a, D *b) { sap_merge(&a[0], &a[1], &a[SAP_LIMBS + 1], &b[0], &b[1], &b[SAP_LIMBS + 1]); }

/* Stores one sum of a row: column q of rounded sums in true sign, or columns 6 q to 6 q + 5 of accumulators. */
SAP_INLINE void store_sum(GLOBAL D *out, const struct sap_gpu_force *f, int q, int row, const D *a)
{
    const size_t at = (size_t)f->first_i + row, room = f->out_rows;
    if (f->accumulate) {
        for (int k = 0; k < ACCUMULATOR; k++) out[(q * ACCUMULATOR + k) * room + at] = a[k];
    } else {
        const D total = sap_total(a[0], &a[1], a[SAP_LIMBS + 1]);
        out[q * room + at] = q == 0 ? d_neg(total) : total; /* the potential is negative */
    }
}

/* Deposits a thread's share of the records of a row. */
SAP_INLINE void deposit_records(const GLOBAL D *record, const struct sap_gpu_force *f, int q, int row, int part,
                                int parts, D *a)
{
    clear(a);
    if (row >= f->ni) return;
    const size_t pitch = (size_t)f->sums * f->room_i;
    record += (size_t)q * f->room_i + row;
    for (int sp = part; sp < f->superpackets; sp += AHEAD * parts) {
        D x[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) x[k] = record[min(sp + k * parts, f->superpackets - 1) * pitch];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (sp + k * parts < f->superpackets) sap_deposit(&a[0], &a[1], &a[SAP_LIMBS + 1], d_of_record(x[k]));
    }
}

/* Merges the accumulators of `parts` threads into the accumulator of the first. */
#define JOIN_PARTS(a, parts, room)                                                                                     \
    for (int step = 1; step < (parts); step *= 2) {                                                                    \
        D b[ACCUMULATOR];                                                                                              \
        lanes_down(a, b, ACCUMULATOR, step, room, SUMS_ITEMS);                                                         \
        merge(a, b);                                                                                                   \
    }

/*
 * Sums the records of a force.  Group number 1 is the quantity; `parts` threads (a power of two up to 32) share a row.
 */
KERNEL(SUMS_ITEMS)
finish_sums(const GLOBAL D *record, GLOBAL D *out, const struct sap_gpu_force f, const int parts,
            GLOBAL struct sap_gpu_counters *counters, GLOBAL struct sap_gpu_counters *told)
{
    LANES_ROOM(D, room, ACCUMULATOR * SUMS_ITEMS)
    const int t = global_id(), row = t / parts, part = t % parts, q = group_id(1);
    D a[ACCUMULATOR];
    launches_barrier();
    deposit_records(record, &f, q, row, part, parts, a);
    JOIN_PARTS(a, parts, room)
    if (row < f.ni && part == 0) store_sum(out, &f, q, row, a);
    tell_end(counters, told);
}

/*
 * Deposits, one by one, the pairs of candidates that are no members of a list (list_fill_outside).  The force kernel
 * left these pairs out.
 */
SAP_INLINE void deposit_outside(const GLOBAL D *store, const struct sap_gpu_force *f,
                                const struct sap_gpu_outside *outside, const GLOBAL struct sap_gpu_i *i_all,
                                const struct list_memory *m, int q, int row, int part, int parts, D *a)
{
    const GLOBAL struct sap_gpu_i *i = i_all + (size_t)(outside->first_i + row) * f->units;
    const int n = row < f->ni ? m->cursor[(f->ni + row) * SAP_GPU_CURSOR] : 0;
    for (int k = part; k < n; k += parts) {
        const int at = m->entry[(size_t)m->offset[row + 1] * SAP_GPU_LIST_UNIT - 1 - k];
        D term;
        if (outside_pair(store, f, outside, i, at, q, &term)) sap_deposit(&a[0], &a[1], &a[SAP_LIMBS + 1], term);
    }
}

/*
 * Sums the records of a regular force, and sorts its lists.  Both are in one launch because lists wait for the host's
 * bus while sums compute: each of the first groups sums one quantity of some rows, the groups after them sort lists.
 */
KERNEL_DENSE(SUMS_ITEMS, 8)
finish_sums_outside(const GLOBAL D *record, GLOBAL D *out, const struct sap_gpu_force f, const int parts,
                    const GLOBAL D *store, const GLOBAL struct sap_gpu_i *i_all, const struct sap_gpu_outside outside,
                    const GLOBAL int *offset, const GLOBAL int *cursor, GLOBAL int *entry,
                    const GLOBAL struct sap_gpu_counters *counters, GLOBAL struct sap_gpu_list_row *list,
                    GLOBAL int *list_out, const int entry_room, const int list_room)
{
    SORT_MEMORY
    LANES_ROOM(D, room, ACCUMULATOR * SUMS_ITEMS)
    const struct list_memory m = {offset,   cursor, entry,           counters,   list,
                                  list_out, f.ni,   outside.first_i, entry_room, list_room};
    const int group = group_id(0), sums = num_groups() - (f.ni + SORT_TEAMS - 1) / SORT_TEAMS;
    if (group < sums) {
        const int q = group % f.sums, t = group / f.sums * SUMS_ITEMS + local_id();
        const int row = t / parts, part = t % parts;
        D a[ACCUMULATOR];
        deposit_records(record, &f, q, row, part, parts, a);
        deposit_outside(store, &f, &outside, i_all, &m, q, row, part, parts, a);
        JOIN_PARTS(a, parts, room)
        if (row < f.ni && part == 0) store_sum(out, &f, q, row, a);
    } else {
        sort_lists(&m, (group - sums) * SORT_TEAMS, sort_near, sort_rest, sort_scan);
    }
}

/*
 * Merges the results of several devices.  gathered: one block per device, columns 6 q to 6 q + 5 of f.ni rows each;
 * out: as above.  Group number 1 is the quantity.
 */
KERNEL(SUMS_ITEMS)
finish_merge(const GLOBAL D *gathered, GLOBAL D *out, const struct sap_gpu_force f, const int devices)
{
    const int row = global_id(), q = group_id(1);
    D a[ACCUMULATOR], b[ACCUMULATOR];
    if (row >= f.ni) return;
    clear(a);
    for (int d = 0; d < devices; d++) {
        const GLOBAL D *from = gathered + ((size_t)d * f.sums + q) * ACCUMULATOR * f.ni + row;
        for (int k = 0; k < ACCUMULATOR; k++) b[k] = from[(size_t)k * f.ni];
        merge(a, b);
    }
    store_sum(out, &f, q, row, a);
}

/* Sums the records of lists that have several superpackets: a group of threads handles some targets of one list. */
KERNEL(SUMS_ITEMS)
finish_long(const GLOBAL D *record, const GLOBAL char *input, GLOBAL D *out, const struct sap_gpu_batch lists)
{
    const struct sap_gpu_long l = ((const GLOBAL struct sap_gpu_long *)(input + (size_t)lists.longs * 16))[group_id(0)];
    for (int k = local_id(); k < l.n * SAP_GPU_LONG_SUMS; k += local_size()) {
        const int q = k / l.n, row = k % l.n;
        D a[ACCUMULATOR];
        clear(a);
        for (int sp = 0; sp < l.superpackets; sp++)
            sap_deposit(&a[0], &a[1], &a[SAP_LIMBS + 1],
                        d_of_record(record[(size_t)l.record + ((size_t)sp * SAP_GPU_LONG_SUMS + q) * l.pitch + row]));
        const D total = sap_total(a[0], &a[1], a[SAP_LIMBS + 1]);
        out[(size_t)q * lists.out_rows + l.row + row] = q == 0 ? d_neg(total) : total;
    }
}

/* ---------------------------------------------------------------- nearest */

/*
 * The smallest distance that the kernel reported, the smallest distance in the other packets, and the packet of the
 * first.
 */
struct near_row {
    D best, second;
    int packet; /* superpacket * 32 + packet, -1: none */
};

SAP_INLINE void join(struct near_row *n, D best, D second, int packet)
{
    const DM closer = d_gt(n->best, best);
    n->second = d_select(closer, d_min(second, n->best), d_min(n->second, best));
    n->packet = closer ? packet : n->packet;
    n->best = d_select(closer, best, n->best);
}

enum { NEAR_ROWS = 32, NEAR_TEAMS = NEAR_ITEMS / 32 }; /* rows of a group; 32 threads per team */

/* Joins a team's share of the superpackets for one row; neighbouring threads read neighbouring rows. */
SAP_INLINE struct near_row gather_near(const GLOBAL D *near, const struct sap_gpu_force *f, int row, int team)
{
    struct near_row n = {SAP_LARGEST, SAP_LARGEST, -1};
    for (int sp = team; sp < f->superpackets && row < f->ni; sp += NEAR_TEAMS) {
        const GLOBAL D *at = near + (size_t)sp * 3 * f->room_i + row;
        const int packet = int_of_d(at[2 * (size_t)f->room_i]);
        if (packet >= 0) join(&n, at[0], at[f->room_i], sp * SAP_GPU_PACKETS + packet);
    }
    return n;
}

/* The nearest particle of a search; ties go to the lower address. */
struct search {
    D r2;      /* never NaN */
    int place; /* address + 1, 0: none */
    int at;    /* its local address */
};

/*
 * Replaces the nearest particle by a particle at a squared distance of r2, if that is nearer.  As on the CPU, a
 * particle whose distance is NaN is never the nearest.  All other distances are fully ordered, so threads that compare
 * the same particles in any order find the same nearest one.
 */
SAP_INLINE void consider(struct search *s, D r2, int place, int at)
{
    const int ordered = d_eq(r2, r2);
    const int nearer = s->place == 0 || d_gt(s->r2, r2) || (d_eq(r2, s->r2) && place < s->place);
    const int better = place > 0 && ordered && nearer;
    s->r2 = better ? r2 : s->r2;
    s->place = better ? place : s->place;
    s->at = better ? at : s->at;
}

/* Considers the particle at a local address, if there is one that can be a neighbour. */
SAP_INLINE void consider_local(struct search *s, const GLOBAL D *store, const struct sap_gpu_force *f,
                               const struct sap_gpu_i *i, int at)
{
    const int sp = at / SAP_GPU_SUPERPACKET, a = at % SAP_GPU_SUPERPACKET;
    if (eligible(store, f, sp, a, i->index))
        consider(s, canonical_r2(store, f, sp, a, i->x), tag_at(store, f->columns, sp, 1, a), at);
}

/* Gives all threads of a team the nearest particle that any of them has found. */
SAP_INLINE void join_search(struct search *s, LOCAL struct search *room)
{
#if SAP_SHUFFLE
    for (int step = 1; step < 32; step *= 2) {
        const D r2 = lanes_xor(s->r2, step);
        const int place = lanes_xor(s->place, step), at = lanes_xor(s->at, step);
        consider(s, r2, place, at);
    }
#else
    const int me = local_id();
    const LOCAL struct search *team = room + me / 32 * 32;
    group_barrier();
    room[me] = *s;
    group_barrier();
    for (int k = 0; k < 32; k++) consider(s, team[k].r2, team[k].place, team[k].at);
#endif
}

/*
 * Returns the largest softened squared distance that a kernel may report for a true squared distance of r2.  2^-120 is
 * added because single precision has few digits of squares that are smaller, and cannot tell them apart.
 */
SAP_INLINE D outer(const struct sap_gpu_force *f, const D *x, D r2)
{
    const D one = d_set1(SAP_ONE), size = d_max(d_abs(x[0]), d_max(d_abs(x[1]), d_abs(x[2])));
    const D r = d_sqrt(r2), widen = d_add(one, f->r2_error);
    const D far = d_add(d_mul(r, widen), d_mul(f->x_error, d_add(size, r)));
    const D square = d_add(d_mul(far, far), d_set1(SAP_NUMBER(0x1p-120, 0x3870000000000000UL)));
    return d_mul(d_add(square, f->near_eps2), widen);
}

/* Finds the nearest particle to a row from what the kernel reported; all 32 threads of a team call it. */
SAP_INLINE struct search decide(const GLOBAL D *store, const struct sap_gpu_force *f, const struct sap_gpu_i *i,
                                const struct near_row *n, LOCAL struct search *room)
{
    const int lane = local_id() % 32;
    struct search s = {SAP_LARGEST, 0, 0};
    if (n->packet >= 0) {
        const int sp = n->packet / SAP_GPU_PACKETS, a = lane * SAP_GPU_PACKETS + n->packet % SAP_GPU_PACKETS;
        consider_local(&s, store, f, i, sp * SAP_GPU_SUPERPACKET + a);
    }
    join_search(&s, room);
    /* an empty slot may have seemed nearer, or another packet may hold a particle as near */
    const int mine = s.place > 0 && d_gt(n->second, outer(f, i->x, s.r2));
    const int settled = lanes_first(mine); /* one answer for the team: a join waits for all of the team's threads */
    if (settled && SAP_SHUFFLE) return s;  /* without shuffles, the other teams wait at the barriers */
    for (int k = lane; k < f->superpackets * SAP_GPU_SUPERPACKET && !settled; k += 32)
        consider_local(&s, store, f, i, k);
    join_search(&s, room);
    return s;
}

/*
 * Finds the nearest neighbours of 32 rows per group.  out: column 0 squared distance, column 1 address + 1 (0: none)
 * and index as two int.
 */
KERNEL(NEAR_ITEMS)
finish_nearest(const GLOBAL D *store, const GLOBAL D *near, const GLOBAL struct sap_gpu_i *i_all, GLOBAL D *out,
               const struct sap_gpu_force f)
{
    SHARED struct near_row found[NEAR_ITEMS];
    SHARED struct search answer[NEAR_ROWS];
    LANES_ROOM(struct search, room, NEAR_ITEMS)
    const int me = local_id(), team = me / 32, lane = me % 32, first = group_id(0) * NEAR_ROWS;
    found[me] = gather_near(near, &f, first + lane, team);
    group_barrier();
    for (int r = team; r < NEAR_ROWS && (SAP_SHUFFLE == 0 || first + r < f.ni); r += NEAR_TEAMS) {
        const int row = min(first + r, f.ni - 1);
        const struct sap_gpu_i i = i_particle(i_all, &f, row);
        struct near_row n = found[row - first];
        for (int w = 1; w < NEAR_TEAMS; w++) {
            const struct near_row more = found[w * NEAR_ROWS + row - first];
            join(&n, more.best, more.second, more.packet);
        }
        const struct search s = decide(store, &f, &i, &n, room);
        if (lane == 0) answer[r] = s;
    }
    group_barrier();
    if (team != 0 || first + lane >= f.ni) return;
    const struct search s = answer[lane];
    const size_t at = (size_t)f.first_i + first + lane, rows = f.out_rows;
    const int sp = s.at / SAP_GPU_SUPERPACKET, a = s.at % SAP_GPU_SUPERPACKET;
    out[at] = s.r2;
    ((GLOBAL int2 *)(out + rows))[at] = make_int2(s.place, s.place == 0 ? -1 : tag_at(store, f.columns, sp, 0, a));
}
