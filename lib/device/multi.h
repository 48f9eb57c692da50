/*
 * multi.h - many small forces of order 2 in one launch (struct sap_gpu_item): a group of threads takes some targets of
 * a list, and a superpacket of its sources.  The same sequence of operations as in force.h, so the same bits as if the
 * sources of the list lay at addresses from 0 on.
 */
#include "device/pairs.h"

#if SAP_VECTORS
enum { TARGETS = 1 };
#define MULTI_ROOM
#define MULTI_TILE NULL
typedef const GLOBAL part *multi_room;
#else
enum { TARGETS = SAP_GPU_TARGETS, TILE_PACKETS = 8, TILE = TILE_PACKETS * SAP_GPU_PACKET };
#define MULTI_ROOM SHARED part tile[PARTS * TILE];
#define MULTI_TILE tile
typedef LOCAL part *multi_room;
#endif
enum { TARGET_WORDS = SAP_GPU_TARGET_WORDS(LOW), TURN = 4 /* elements of a packet: loops take so many at a time */ };

/* Targets of a thread. */
struct target {
    struct i_words i;
    struct packet_state s;
    v_total total[SUMS];
};

SAP_INLINE void start_target(const GLOBAL W *from, int row, int n, struct target *t)
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
        t->i.x[k] = v_get(x[k]);
        t->i.low[k] = v_get(low[k]);
    }
    t->i.eps2 = v_get(eps2);
#pragma unroll
    for (int q = 0; q < SUMS; q++) t->total[q] = v_total_zero();
}

/* Where the sources of an item come from. */
struct sources {
    const GLOBAL part *predicted, *own;
    const GLOBAL int *index; /* NULL: they are its own */
    int n, pitch;            /* pitch: parts from one of its own to the next */
};

/* Source number `at` as so many parts; beyond the last there is nobody. */
SAP_INLINE void fetch_source(int parts, const struct sources *s, int at, part *p)
{
    if (at >= s->n) {
        const D x[3] = {d_set1(SAP_EMPTY_X), d_set1(SAP_EMPTY_X), d_set1(SAP_EMPTY_X)};
        part all[PARTS];
        pack(x, x, d_set1(SAP_ZERO), 0, d_set1(SAP_ZERO), all);
#pragma unroll
        for (int w = 0; w < parts; w++) p[w] = all[w];
    } else if (s->index) {
        const int a = s->index[at];
        const GLOBAL part *from = s->predicted + (size_t)(a / SAP_GPU_SUPERPACKET) * (PARTS * SAP_GPU_SUPERPACKET);
#pragma unroll
        for (int w = 0; w < parts; w++) p[w] = from[w * SAP_GPU_SUPERPACKET + a % SAP_GPU_SUPERPACKET];
    } else {
#pragma unroll
        for (int w = 0; w < parts; w++) p[w] = s->own[(size_t)at * s->pitch + w];
    }
}

#if SAP_VECTORS
/* A source in all lanes. */
SAP_INLINE void load_source(int parts, const struct sources *s, int at, struct j_words *j)
{
    part p[PARTS];
    V w[WORDS];
    fetch_source(parts, s, at, p);
#pragma unroll
    for (int k = 0; k < parts; k++) w[k] = v_word(p[k]);
    take_words(parts, w, j);
}
#else
/* Packets from `first` on into memory of the group, [part][element][packet]. */
SAP_INLINE void stage_sources(int parts, multi_room tile, const struct sources *s, int first, int elements)
{
    group_barrier();
    for (int k = local_id(); k < elements * TILE_PACKETS; k += local_size()) {
        part p[PARTS];
        fetch_source(parts, s, k / TILE_PACKETS * SAP_GPU_PACKETS + first + k % TILE_PACKETS, p);
#pragma unroll
        for (int w = 0; w < parts; w++) tile[w * TILE + k] = p[w];
    }
    group_barrier();
}
#endif

/* A packet, of so many elements. */
SAP_INLINE void walk_packet(struct pair_mode mode, const struct sources *s, multi_room tile, int packet, int elements,
                            struct target *t)
{
    VM met = vm_set1(0);
#pragma unroll
    for (int n = 0; n < TARGETS; n++) start_packet(&t[n].s);
    for (int first = 0; first < elements; first += TURN) {
#pragma unroll
        for (int e = 0; e < TURN; e++) {
            struct j_words j;
#if SAP_VECTORS
            load_source(parts_for(mode), s, (first + e) * SAP_GPU_PACKETS + packet, &j);
#else
            load_j(parts_for(mode), tile + packet % TILE_PACKETS, TILE, (first + e) * TILE_PACKETS, &j);
#endif
#pragma unroll
            for (int n = 0; n < TARGETS; n++) add_pair(mode, &t[n].s, &t[n].i, &j, t[n].i.eps2, any_set(0), e, &met);
        }
    }
#pragma unroll
    for (int n = 0; n < TARGETS; n++)
#pragma unroll
        for (int q = 0; q < SUMS; q++) t[n].total[q] = v_total_add(t[n].total[q], t[n].s.sum[q]);
}

SAP_INLINE void store_target(const struct sap_gpu_item *item, int row, const struct target *t, GLOBAL D *record,
                             GLOBAL D *out, int out_rows)
{
    D total[LANES];
#pragma unroll
    for (int q = 0; q < SUMS; q++) {
        v_total_put(t->total[q], total);
        for (int lane = 0; lane < LANES; lane++) {
            if (row + lane >= item->n) continue;
            if (item->lone) {
                const D result = sap_total_of_one(d_of_record(total[lane]));
                out[(size_t)q * out_rows + item->row + row + lane] = q == SAP_POT ? d_neg(result) : result;
            } else {
                record[(size_t)item->row + (size_t)q * item->pitch + row + lane] = total[lane];
            }
        }
    }
}

SAP_INLINE void multi(struct pair_mode mode, const GLOBAL part *predicted, const GLOBAL char *input,
                      const struct sap_gpu_multi *lists, GLOBAL D *record, GLOBAL D *out, multi_room tile)
{
    const struct sap_gpu_item item = ((const GLOBAL struct sap_gpu_item *)input)[group_id(0)];
    const GLOBAL W *from = (const GLOBAL W *)(input + (size_t)lists->i * 16) + (size_t)item.i * TARGET_WORDS;
    const GLOBAL part *own = (const GLOBAL part *)(input + (size_t)lists->j * 16);
    const GLOBAL int *index = (const GLOBAL int *)(input + (size_t)lists->index * 16);
    const int pitch = (mode.soft ? WORDS : TARGET_WORDS) / IN_PART; /* without softening all is as of targets */
    const struct sources s = {predicted, item.indexed ? own : own + (size_t)item.j * pitch,
                              item.indexed ? index + item.j : NULL, item.nj, pitch};
    const int elements = (item.nj + SAP_GPU_PACKETS * TURN - 1) / (SAP_GPU_PACKETS * TURN) * TURN;
    const int packets = min(item.nj, (int)SAP_GPU_PACKETS), step = local_size() * LANES, row = local_id() * LANES;
    struct target t[TARGETS];
#pragma unroll
    for (int n = 0; n < TARGETS; n++) start_target(from, row + n * step, item.n, &t[n]);
    for (int packet = 0; packet < packets; packet++) {
#if !SAP_VECTORS
        if (packet % TILE_PACKETS == 0) stage_sources(parts_for(mode), tile, &s, packet, elements);
#endif
        walk_packet(mode, &s, tile, packet, elements, t);
    }
#pragma unroll
    for (int n = 0; n < TARGETS; n++) store_target(&item, row + n * step, &t[n], record, out, lists->out_rows);
}

/* SOFT: some source has softening of its own; ZERO: some target has none, so that pairs at zero distance are skipped */
#define SAP_MULTI(NAME, ZERO, SOFT)                                                                                    \
    KERNEL(32)                                                                                                         \
    NAMED(multi_##NAME)                                                                                                \
    (const GLOBAL part *predicted, const GLOBAL char *input, GLOBAL D *record, GLOBAL D *out,                          \
     const struct sap_gpu_multi lists)                                                                                 \
    {                                                                                                                  \
        const struct pair_mode mode = {0, ZERO, 0, SOFT};                                                              \
        MULTI_ROOM                                                                                                     \
        multi(mode, predicted, input, &lists, record, out, MULTI_TILE);                                                \
    }
SAP_MULTI(plain, 0, 0)
SAP_MULTI(zero, 1, 0)
SAP_MULTI(soft, 1, 1)
