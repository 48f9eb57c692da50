/*
 * batch.h - a batch of small forces of order 2 in one launch (struct sap_gpu_item): a group of threads computes the
 * force on some targets of a list from a superpacket of its sources.  The sequence of operations is that of force.h, so
 * the bits are the same as if the sources of the list lay at addresses from 0 on.
 *
 * On GPUs each 32 threads of a group sum a packet of their own for all targets of the item, two targets per thread.
 * Then the group adds the sums of these packets in order and goes on with the next packets.  On CPUs a thread is a
 * group.
 */
#include "device/pairs.h"

enum { TARGET_WORDS = SAP_GPU_TARGET_WORDS(LOW), TURN = 4 /* elements of a packet that the loops handle at a time */ };

/* Loads LANES targets, or one. */
SAP_INLINE void load_target(const GLOBAL W *from, int row, int n, struct i_words *t)
{
    W x[3][LANES], low[3][LANES], eps2[LANES];
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) {
        const GLOBAL W *w = from + (size_t)min(row + lane, n - 1) * TARGET_WORDS;
#pragma unroll
        for (int k = 0; k < 3; k++) {
            x[k][lane] = w[k];
            low[k][lane] = LOW ? w[(4 + k) % TARGET_WORDS] : 0;
        }
        eps2[lane] = w[3];
    }
#pragma unroll
    for (int k = 0; k < 3; k++) {
        t->x[k] = v_get(x[k]);
        t->low[k] = v_get(low[k]);
    }
    t->eps2 = v_get(eps2);
}

/* Where the sources of an item come from. */
struct sources {
    const GLOBAL part *predicted, *own;
    const GLOBAL int *index;             /* addresses; NULL: the item has sources of its own, or `narrow` addresses */
    const GLOBAL unsigned short *narrow; /* addresses from `base` on */
    int base, n, pitch;                  /* pitch: parts from one of its own sources to the next */
};

/* Loads source number `at` as so many parts; beyond the last source it loads an empty slot. */
SAP_INLINE void fetch_source(int parts, const struct sources *s, int at, part *p)
{
    if (at >= s->n) {
        const D x[3] = {d_set1(SAP_EMPTY_X), d_set1(SAP_EMPTY_X), d_set1(SAP_EMPTY_X)};
        part all[PARTS];
        pack(x, x, d_set1(SAP_ZERO), 0, d_set1(SAP_ZERO), all);
#pragma unroll
        for (int w = 0; w < parts; w++) p[w] = all[w];
    } else if (s->index || s->narrow) {
        const int a = s->narrow ? s->base + s->narrow[at] : s->index[at];
        const GLOBAL part *from = s->predicted + (size_t)(a / SAP_GPU_SUPERPACKET) * (PARTS * SAP_GPU_SUPERPACKET);
#pragma unroll
        for (int w = 0; w < parts; w++) p[w] = from[w * SAP_GPU_SUPERPACKET + a % SAP_GPU_SUPERPACKET];
    } else {
#pragma unroll
        for (int w = 0; w < parts; w++) p[w] = s->own[(size_t)at * s->pitch + w];
    }
}

SAP_INLINE struct sources sources_of(struct pair_mode mode, const GLOBAL part *predicted, const GLOBAL char *input,
                                     const GLOBAL int *kept, const struct sap_gpu_batch *lists,
                                     const struct sap_gpu_item *item)
{
    const GLOBAL part *own = (const GLOBAL part *)(input + (size_t)lists->j * 16);
    const GLOBAL int *sent = (const GLOBAL int *)(input + (size_t)lists->index * 16);
    const GLOBAL int *index = item->indexed == SAP_GPU_KEPT_LISTS ? kept : sent;
    const int pitch = (mode.soft ? WORDS : TARGET_WORDS) / IN_PART; /* without softening, sources lie as targets do */
    const int is_narrow = item->indexed == SAP_GPU_NARROW_LISTS;
    const struct sources s = {predicted,
                              item->indexed ? own : own + (size_t)item->j * pitch,
                              item->indexed && !is_narrow ? index + item->j : NULL,
                              is_narrow ? (const GLOBAL unsigned short *)sent + item->j : NULL,
                              item->base,
                              item->nj,
                              pitch};
    return s;
}

SAP_INLINE const GLOBAL W *targets_of(const GLOBAL char *input, const struct sap_gpu_batch *lists,
                                      const struct sap_gpu_item *item)
{
    return (const GLOBAL W *)(input + (size_t)lists->i * 16) + (size_t)item->i * TARGET_WORDS;
}

/*
 * Stores the sum of a superpacket: as a record, or, if the list has no other superpacket, as the result in true sign.
 */
SAP_INLINE void store_sum(const struct sap_gpu_item *item, int row, int q, D total, GLOBAL D *record, GLOBAL D *out,
                          int out_rows)
{
    if (row >= item->n) return;
    if (item->lone) {
        const D result = sap_total_of_one(d_of_record(total));
        out[(size_t)q * out_rows + item->row + row] = q == SAP_POT ? d_neg(result) : result;
    } else {
        record[(size_t)item->row + (size_t)q * item->pitch + row] = total;
    }
}

#if SAP_VECTORS
enum { BATCH_THREADS = 1 };
#define BATCH_ROOM
#define BATCH_TILE NULL
#define BATCH_SUMS NULL
typedef const GLOBAL part *batch_room;
typedef W *batch_sums;

/* Loads a source into all lanes. */
SAP_INLINE void load_source(int parts, const struct sources *s, int at, struct j_words *j)
{
    part p[PARTS];
    V w[WORDS];
    fetch_source(parts, s, at, p);
#pragma unroll
    for (int k = 0; k < parts; k++) w[k] = v_word(p[k]);
    take_words(parts, w, j);
}

SAP_INLINE void batch(struct pair_mode mode, const struct sap_gpu_item *item, const GLOBAL W *targets,
                      const struct sources *s, int elements, batch_room tile, batch_sums sums, GLOBAL D *record,
                      GLOBAL D *out, int out_rows)
{
    const int packets = min(s->n, (int)SAP_GPU_PACKETS);
    struct i_words target;
    v_total total[SUMS];
    load_target(targets, 0, item->n, &target);
    for (int q = 0; q < SUMS; q++) total[q] = v_total_zero();
    for (int packet = 0; packet < packets; packet++) {
        struct packet_state state;
        VM met = vm_set1(0);
        start_packet(&state);
        for (int e = 0; e < elements; e++) {
            struct j_words j;
            load_source(parts_for(mode), s, e * SAP_GPU_PACKETS + packet, &j);
            add_pair(mode, &state, &target, &j, target.eps2, any_set(0), e, &met);
        }
        for (int q = 0; q < SUMS; q++) total[q] = v_total_add(total[q], state.sum[q]);
    }
    for (int q = 0; q < SUMS; q++) {
        D each[LANES];
        v_total_put(total[q], each);
        for (int lane = 0; lane < LANES; lane++) store_sum(item, lane, q, each[lane], record, out, out_rows);
    }
}
#else
enum {
    TARGETS = SAP_GPU_TARGETS,
    ROUND = SAP_GPU_BATCH_THREADS / 32, /* packets at a time */
    BATCH_THREADS = SAP_GPU_BATCH_THREADS,
    COLUMNS = SUMS * TARGETS * 32, /* sums of an item */
    MINE = COLUMNS / BATCH_THREADS /* sums that a thread adds up */
};
#define BATCH_ROOM                                                                                                     \
    SHARED part tile[PARTS * BATCH_THREADS];                                                                           \
    SHARED W sums[ROUND * COLUMNS];
#define BATCH_TILE tile
#define BATCH_SUMS sums
typedef LOCAL part *batch_room;
typedef LOCAL W *batch_sums;

/* Returns the source that a thread loads for the packets from `first` on, which lie as [element][packet]. */
SAP_INLINE int my_source(int first) { return local_id() / ROUND * SAP_GPU_PACKETS + first + local_id() % ROUND; }

/* Sums packet number `mine` of the packets in memory of the group; the sums are stored by quantity. */
SAP_INLINE void walk_packet(struct pair_mode mode, const LOCAL part *tile, int mine, int elements,
                            const struct i_words *target, batch_sums to)
{
    struct packet_state state[TARGETS];
    VM met = vm_set1(0);
#pragma unroll
    for (int n = 0; n < TARGETS; n++) start_packet(&state[n]);
    for (int first = 0; first < elements; first += TURN) {
#pragma unroll
        for (int e = 0; e < TURN; e++) {
            struct j_words j;
            load_j(parts_for(mode), tile + mine, BATCH_THREADS, (first + e) * ROUND, &j);
#pragma unroll
            for (int n = 0; n < TARGETS; n++)
                add_pair(mode, &state[n], &target[n], &j, target[n].eps2, any_set(0), e, &met);
        }
    }
#pragma unroll
    for (int n = 0; n < TARGETS; n++)
#pragma unroll
        for (int q = 0; q < SUMS; q++) to[(q * TARGETS + n) * 32] = state[n].sum[q];
}

SAP_INLINE void batch(struct pair_mode mode, const struct sap_gpu_item *item, const GLOBAL W *targets,
                      const struct sources *s, int elements, batch_room tile, batch_sums sums, GLOBAL D *record,
                      GLOBAL D *out, int out_rows)
{
    const int lane = local_id() % 32, mine = local_id() / 32, parts = parts_for(mode);
    struct i_words target[TARGETS];
    w_total total[MINE];
    part next[PARTS];
    fetch_source(parts, s, my_source(0), next);
#pragma unroll
    for (int n = 0; n < TARGETS; n++) load_target(targets, lane + 32 * n, item->n, &target[n]);
#pragma unroll
    for (int c = 0; c < MINE; c++) total[c] = w_total_zero();
    for (int first = 0; first < SAP_GPU_PACKETS; first += ROUND) {
#pragma unroll
        for (int w = 0; w < parts; w++) tile[w * BATCH_THREADS + local_id()] = next[w];
        group_barrier(); /* also: all reads of the sums of the last round are done */
        fetch_source(parts, s, my_source(first + ROUND), next);
        walk_packet(mode, tile, mine, elements, target, sums + mine * COLUMNS + lane);
        group_barrier();
#pragma unroll
        for (int c = 0; c < MINE; c++)
#pragma unroll
            for (int p = 0; p < ROUND; p++)
                total[c] = w_total_add(total[c], sums[p * COLUMNS + c * BATCH_THREADS + local_id()]);
    }
#pragma unroll
    for (int c = 0; c < MINE; c++) {
        const int column = c * BATCH_THREADS + local_id();
        store_sum(item, column % (TARGETS * 32), column / (TARGETS * 32), record_of(total[c]), record, out, out_rows);
    }
}
#endif

#ifndef BATCH_GROUPS
#define BATCH_GROUPS 0 /* groups without softening of sources that a multiprocessor must be able to hold; 0: any */
#endif

/*
 * SOFT: some source has softening of its own; ZERO: some target has no softening, so pairs at zero distance are skipped
 */
#define SAP_BATCH(NAME, ZERO, SOFT)                                                                                    \
    KERNEL_DENSE(BATCH_THREADS, SOFT ? 0 : BATCH_GROUPS)                                                               \
    NAMED(batch_##NAME)                                                                                                \
    (const GLOBAL part *predicted, const GLOBAL char *input, const GLOBAL int *kept, GLOBAL D *record, GLOBAL D *out,  \
     const struct sap_gpu_batch lists)                                                                                 \
    {                                                                                                                  \
        const struct pair_mode mode = {0, ZERO, 0, SOFT, 0};                                                           \
        const struct sap_gpu_item item = ((const GLOBAL struct sap_gpu_item *)input)[group_id(0)];                     \
        const struct sources s = sources_of(mode, predicted, input, kept, &lists, &item);                              \
        const int step = SAP_GPU_PACKETS * TURN, elements = (item.nj + step - 1) / step * TURN;                        \
        BATCH_ROOM                                                                                                     \
        batch(mode, &item, targets_of(input, &lists, &item), &s, elements, BATCH_TILE, BATCH_SUMS, record, out,        \
              lists.out_rows);                                                                                         \
    }
SAP_BATCH(plain, 0, 0)
SAP_BATCH(zero, 1, 0)
SAP_BATCH(soft, 1, 1)
