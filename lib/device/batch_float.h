/*
 * batch_float.h - a batch of small forces with second moments of sources, a floor of the distance, or counts of
 * neighbours (struct sap_gpu_item), in the precisions sp and ds.
 *
 * The group converts targets and sources from double.  32 sources of a list are a packet, which is summed in floating
 * point; packet k belongs to partial sum k % FLOAT_PARTS.  Pairs at distances about a radius are compared in double.
 * Targets whose pairs single precision does not hold (physics/list_range.h) are marked, and list_more computes them.
 *
 * On GPUs 32 threads of a group sum a packet of their own for all targets of the item.  On CPUs a thread is a group.
 */
#include "device/batch_input.h"
#include "device/pairs.h"

#include "physics/list_range.h"
#include "physics/radius_bounds.h"
#include "physics/tree_pair.h"

/* Positions of the words of a source: x y z m, low words, eps2, bounds of the radius, floor2; then moments. */
enum {
    FLOAT_LOW = LOW ? 4 : 0,
    FLOAT_EPS2 = LOW ? 7 : 4,
    FLOAT_WITHIN,
    FLOAT_FLOOR = FLOAT_WITHIN + 2,
    FLOAT_QUAD = LOW ? 12 : 8,
    FLOAT_TRACE = FLOAT_QUAD + SAP_MOMENTS2,
    FLOAT_WORDS = FLOAT_QUAD + 8
};

enum { FLOAT_PACKET = 32, FLOAT_PARTS = 4, FLOAT_RANGES = 6 };

/* LANES targets. */
struct float_target {
    V x[3], low[3], eps2, floor2, within[2];
};

struct float_source {
    V x[3], low[3], mass, eps2, within[2], floor2, quad[SAP_MOMENTS2], trace;
};

/* Sums over a packet, and the numbers of neighbours of all packets. */
struct float_sum {
    V sum[SUMS];
    VI near;
};

/* What the threads of a group have in common. */
struct float_work {
    struct sap_gpu_item item;
    struct more_list list;
    const GLOBAL D *targets;
};

/* ------------------------------------------------------------ conversions */

SAP_INLINE void float_position(const D *x, W *high, W *low)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        high[k] = w_of_d(x[k]);
        low[k] = LOW ? w_of_d(d_sub(x[k], d_of_w(high[k]))) : 0;
    }
}

SAP_INLINE void float_bounds(const D *x, D h2, W *within)
{
    D bound[2];
    sap_radius_bounds(LOW, x, h2, bound);
    within[0] = w_of_d(bound[0]);
    within[1] = w_of_d(bound[1]);
}

/* Turns the second moments of a source into those of tree_pair.h: 3 Q, and 3/2 tr Q. */
SAP_INLINE void float_scale(D *q)
{
    const D trace = d_mul(d_set1(SAP_ONE_AND_HALF), d_add(d_add(q[0], q[1]), q[2]));
    D s[SAP_MOMENTS2];
    s[SAP_XX] = q[0], s[SAP_YY] = q[1], s[SAP_ZZ] = q[2], s[SAP_XY] = q[3], s[SAP_XZ] = q[4], s[SAP_YZ] = q[5];
#pragma unroll
    for (int k = 0; k < SAP_MOMENTS2; k++) q[k] = d_mul(d_set1(SAP_THREE), s[k]);
    q[SAP_MOMENTS2] = trace;
}

/*
 * Reads source number `at` into words, FLOAT_QUAD or with moments FLOAT_WORDS; adds it to the range.  Beyond the last
 * source it is one far away without mass.
 */
SAP_INLINE void float_fetch(int asks, const struct more_list *l, int at, W *w, struct sap_list_range *range)
{
    struct more_source s;
    D quad[SAP_MOMENTS2 + 1];
    W low[3];
#pragma unroll
    for (int k = 0; k < FLOAT_WORDS; k++) w[k] = 0;
    more_fetch(l, at, &s);
    float_position(s.word, w, low);
    w[3] = w_of_d(telling_mass(s.word[3], s.word));
#pragma unroll
    for (int k = 0; k < 3 * LOW; k++) w[FLOAT_LOW + k] = low[k];
    w[FLOAT_EPS2] = w_of_d(s.word[4]);
    float_bounds(s.word, s.word[5], w + FLOAT_WITHIN);
    const D floor2 = asks & SAP_GPU_ASKS_FLOORS ? s.word[SAP_GPU_MORE_FLOOR] : d_set1(SAP_ZERO);
    w[FLOAT_FLOOR] = w_of_d(floor2);
    if (asks & SAP_GPU_ASKS_MOMENTS) {
#pragma unroll
        for (int k = 0; k < SAP_MOMENTS2; k++) quad[k] = s.word[MORE_QUAD + k];
        float_scale(quad);
#pragma unroll
        for (int k = 0; k <= SAP_MOMENTS2; k++) w[FLOAT_QUAD + k] = w_of_d(quad[k]);
    }
    if (at >= l->n) return;
#pragma unroll
    for (int k = 0; k < 3; k++) range->x = sap_range_larger(range->x, s.word[k]);
    range->mass = sap_range_larger(range->mass, s.word[3]);
    range->eps2 = sap_range_larger(range->eps2, s.word[4]);
    range->h2 = sap_range_larger(range->h2, s.word[5]);
    range->floor2 = sap_range_larger(range->floor2, floor2);
    if (asks & SAP_GPU_ASKS_MOMENTS) range->quad = sap_range_larger(range->quad, d_set1(SAP_RANGE_QUAD_ANY));
#pragma unroll
    for (int k = 0; k <= SAP_MOMENTS2 && asks & SAP_GPU_ASKS_MOMENTS; k++)
        range->quad = sap_range_larger(range->quad, quad[k]);
}

SAP_INLINE void clear_range(struct sap_list_range *r)
{
    r->x = r->mass = r->eps2 = r->h2 = r->floor2 = r->quad = d_set1(SAP_ZERO);
    r->step = LOW ? d_set1(SAP_RANGE_STEP_OF_LOW) : d_set1(SAP_RANGE_STEP);
}

/* Loads LANES targets from a row on; rows beyond the last repeat the last. */
SAP_INLINE void float_load_target(const struct float_work *a, int row, struct float_target *t)
{
    W x[3][LANES], low[3][LANES], eps2[LANES], floor2[LANES], within[2][LANES];
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) {
        const struct more_target from = more_target_at(a->targets, min(row + lane, a->item.n - 1));
        W high_of[3], low_of[3], bound[2];
        float_position(from.x, high_of, low_of);
        float_bounds(from.x, from.h2, bound);
#pragma unroll
        for (int k = 0; k < 3; k++) x[k][lane] = high_of[k], low[k][lane] = low_of[k];
        within[0][lane] = bound[0], within[1][lane] = bound[1];
        eps2[lane] = w_of_d(from.eps2);
        floor2[lane] = w_of_d(from.floor2);
    }
#pragma unroll
    for (int k = 0; k < 3; k++) t->x[k] = v_get(x[k]), t->low[k] = v_get(low[k]);
    t->eps2 = v_get(eps2);
    t->floor2 = v_get(floor2);
    t->within[0] = v_get(within[0]), t->within[1] = v_get(within[1]);
}

/* ------------------------------------------------------------------- pairs */

/* Returns 1 in the lanes of pairs that count, among those in question; row: that of the first lane; at: of the source.
 */
SAP_INLINE VI float_exactly_near(const struct float_work *a, int row, int at, VM question)
{
    int found[LANES], asked[LANES];
    struct more_source s;
    more_fetch(&a->list, at, &s);
    vm_put(question, asked);
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) {
        const struct more_target t = more_target_at(a->targets, min(row + lane, a->item.n - 1));
        found[lane] = asked[lane] && more_is_near(&t, &s);
    }
    return vi_get(found);
}

/* Counts a pair at squared distance d2 if it is within the larger of both radii. */
SAP_INLINE void float_count(const struct float_work *a, const struct float_target *t, const struct float_source *j,
                            V d2, int row, int at, struct float_sum *s)
{
    const VM near = v_less(d2, v_larger(t->within[1], j->within[1]));
    if (!vm_any(near) || at >= a->list.n) return;
    const VM sure = v_less(d2, v_larger(t->within[0], j->within[0])), question = vm_and_not(near, sure);
    s->near = s->near + vi_select(sure, vi_set1(1), vi_set1(0));
    if (vm_any(question)) s->near = s->near + float_exactly_near(a, row, at, question);
}

SAP_INLINE void float_add(int moments, const struct float_work *a, const struct float_target *t,
                          const struct float_source *j, int row, int at, struct float_sum *s)
{
    V d[3];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        d[k] = v_sub(j->x[k], t->x[k]);
        if (LOW) d[k] = v_add(d[k], v_sub(j->low[k], t->low[k]));
    }
    const V d2 = sap_distance2(d[0], d[1], d[2]);
    const V r2 = v_larger(v_larger(t->floor2, j->floor2), v_add(d2, v_add(t->eps2, j->eps2)));
    const V u = v_root_kept(vm_and_not(vm_set1(1), v_less(r2, v_set1(SAP_COINCIDENT))), r2);
    float_count(a, t, j, d2, row, at, s);
    if (moments)
        sap_pair_cell(s->sum, d[0], d[1], d[2], j->mass, j->quad, j->trace, u);
    else
        sap_pair2(s->sum, d[0], d[1], d[2], j->mass, u);
}

SAP_INLINE void float_clear(struct float_sum *s)
{
#pragma unroll
    for (int q = 0; q < SUMS; q++) s->sum[q] = v_set1(0.0);
}

/* Takes a source from words that V holds. */
SAP_INLINE void float_take(int moments, const V *w, struct float_source *j)
{
#pragma unroll
    for (int k = 0; k < 3; k++) j->x[k] = w[k], j->low[k] = LOW ? w[FLOAT_LOW + k] : v_set1(0.0);
    j->mass = w[3];
    j->eps2 = w[FLOAT_EPS2];
    j->within[0] = w[FLOAT_WITHIN], j->within[1] = w[FLOAT_WITHIN + 1];
    j->floor2 = w[FLOAT_FLOOR];
#pragma unroll
    for (int k = 0; k < SAP_MOMENTS2 && moments; k++) j->quad[k] = w[FLOAT_QUAD + k];
    if (moments) j->trace = w[FLOAT_TRACE];
}

/* Stores a row: sums, of which the potential has the opposite sign, and the number of neighbours; marks it or not. */
SAP_INLINE void float_store(const struct float_work *a, const struct sap_list_range *range, int row, const D *total,
                            GLOBAL int *marks, GLOBAL D *out, int out_rows)
{
    if (row >= a->item.n) return;
    const struct more_target t = more_target_at(a->targets, row);
    const D soft2 = more_larger(t.eps2, t.floor2);
    marks[a->item.row + row] = !(sap_range_fits(range, soft2) && sap_range_reaches(range, t.x, soft2));
#pragma unroll
    for (int q = 0; q <= SUMS; q++) more_store(&a->item, row, q, total[q], out, out_rows);
}

/* Returns the total of FLOAT_PARTS partial sums, `stride` apart. */
#define FLOAT_TOTAL(p, stride) d_add(d_add((p)[0], (p)[2 * (stride)]), d_add((p)[stride], (p)[3 * (stride)]))

/* ------------------------------------------------------------------- items */

#if SAP_VECTORS
enum { FLOAT_THREADS = 1 };
#define FLOAT_ROOM
#define FLOAT_TILE NULL
#define FLOAT_SUMS NULL
typedef part *float_tile;
typedef D *float_room;

SAP_INLINE void float_item(int moments, int asks, const struct float_work *a, float_tile tile, float_room room,
                           GLOBAL int *marks, GLOBAL D *out, int out_rows)
{
    struct float_target t;
    struct float_sum s;
    struct sap_list_range range;
    v_total part_sum[FLOAT_PARTS][SUMS];
    D each[SUMS][FLOAT_PARTS][LANES];
    int near[LANES];
    float_load_target(a, 0, &t);
    clear_range(&range);
    for (int p = 0; p < FLOAT_PARTS; p++)
        for (int q = 0; q < SUMS; q++) part_sum[p][q] = v_total_zero();
    s.near = vi_set1(0);
    for (int first = 0; first < a->list.n; first += FLOAT_PACKET) {
        const int p = first / FLOAT_PACKET % FLOAT_PARTS;
        float_clear(&s);
        for (int at = first; at < min(first + FLOAT_PACKET, a->list.n); at++) {
            W w[FLOAT_WORDS];
            V all[FLOAT_WORDS];
            struct float_source j;
            float_fetch(asks, &a->list, at, w, &range);
            for (int k = 0; k < (moments ? FLOAT_WORDS : FLOAT_QUAD); k++) all[k] = v_word(w[k]);
            float_take(moments, all, &j);
            float_add(moments, a, &t, &j, 0, at, &s);
        }
        for (int q = 0; q < SUMS; q++) part_sum[p][q] = v_total_add(part_sum[p][q], s.sum[q]);
    }
    for (int q = 0; q < SUMS; q++)
        for (int p = 0; p < FLOAT_PARTS; p++) v_total_put(part_sum[p][q], each[q][p]);
    vi_put(s.near, near);
    for (int row = 0; row < LANES; row++) {
        D total[SUMS + 1];
        total[SUMS] = d_of_int(near[row]);
        for (int q = 0; q < SUMS; q++) {
            for (int p = 0; p < FLOAT_PARTS; p++) each[q][p][row] = d_of_record(each[q][p][row]);
            total[q] = FLOAT_TOTAL(&each[q][0][row], LANES);
        }
        float_store(a, &range, row, total, marks, out, out_rows);
    }
}
#else
enum {
    FLOAT_THREADS = SAP_GPU_MORE_ITEMS,
    FLOAT_IN_PART = sizeof(part) / sizeof(W),
    FLOAT_TILE_PARTS = FLOAT_WORDS / FLOAT_IN_PART,
    FLOAT_TURN = 4 /* sources that the loop handles at a time */
};
#define FLOAT_ROOM                                                                                                     \
    SHARED part tile[FLOAT_TILE_PARTS * FLOAT_THREADS];                                                                \
    SHARED D room[FLOAT_RANGES * FLOAT_THREADS];
#define FLOAT_TILE tile
#define FLOAT_SUMS room
typedef LOCAL part *float_tile;
typedef LOCAL D *float_room;

/* Sums the packet of the tile that begins at `first`, whose first source has the number `at` in the list. */
SAP_INLINE void float_walk(int moments, const struct float_work *a, const struct float_target *t, float_tile tile,
                           int first, int at, struct float_sum *s)
{
    const int row = local_id() % FLOAT_PACKET, count = min(a->list.n - at, (int)FLOAT_PACKET);
    float_clear(s);
    for (int from = 0; from < count; from += FLOAT_TURN) {
#pragma unroll
        for (int e = 0; e < FLOAT_TURN; e++) {
            W w[FLOAT_WORDS];
            struct float_source j;
#pragma unroll
            for (int k = 0; k < (moments ? FLOAT_WORDS : FLOAT_QUAD) / FLOAT_IN_PART; k++)
                words_of(tile[k * FLOAT_THREADS + first + from + e], w + k * FLOAT_IN_PART);
            float_take(moments, w, &j);
            float_add(moments, a, t, &j, row, at + from + e, s);
        }
    }
}

/* The range of the sources that a thread has read lies in memory of the group: registers are short. */
SAP_INLINE void float_get_range(const float_room room, int of, struct sap_list_range *r)
{
    clear_range(r);
    r->x = room[of];
    r->mass = room[FLOAT_THREADS + of];
    r->eps2 = room[2 * FLOAT_THREADS + of];
    r->h2 = room[3 * FLOAT_THREADS + of];
    r->floor2 = room[4 * FLOAT_THREADS + of];
    r->quad = room[5 * FLOAT_THREADS + of];
}

SAP_INLINE void float_put_range(float_room room, const struct sap_list_range *r)
{
    const int me = local_id();
    room[me] = r->x;
    room[FLOAT_THREADS + me] = r->mass;
    room[2 * FLOAT_THREADS + me] = r->eps2;
    room[3 * FLOAT_THREADS + me] = r->h2;
    room[4 * FLOAT_THREADS + me] = r->floor2;
    room[5 * FLOAT_THREADS + me] = r->quad;
}

/* Gives all threads of the group the range of all sources. */
SAP_INLINE void float_join_range(float_room room, struct sap_list_range *r)
{
    const int me = local_id();
    group_barrier();
    for (int apart = FLOAT_THREADS / 2; apart > 0; apart /= 2) {
        for (int k = 0; k < FLOAT_RANGES && me < apart; k++) {
            LOCAL D *mine = room + k * FLOAT_THREADS + me;
            *mine = d_max(*mine, mine[apart]);
        }
        group_barrier();
    }
    float_get_range(room, 0, r);
    group_barrier();
}

SAP_INLINE void float_item(int moments, int asks, const struct float_work *a, float_tile tile, float_room room,
                           GLOBAL int *marks, GLOBAL D *out, int out_rows)
{
    const int me = local_id(), row = me % FLOAT_PACKET, mine = me - row;
    struct float_target t;
    struct float_sum s;
    struct sap_list_range range;
    w_total part_sum[SUMS];
    float_load_target(a, row, &t);
    clear_range(&range);
    float_put_range(room, &range);
    s.near = vi_set1(0);
#pragma unroll
    for (int q = 0; q < SUMS; q++) part_sum[q] = w_total_zero();
    for (int first = 0; first < a->list.n; first += FLOAT_THREADS) {
        W w[FLOAT_WORDS];
        float_get_range(room, me, &range);
        float_fetch(asks, &a->list, first + me, w, &range);
        float_put_range(room, &range);
#pragma unroll
        for (int k = 0; k < (moments ? FLOAT_WORDS : FLOAT_QUAD) / FLOAT_IN_PART; k++)
            tile[k * FLOAT_THREADS + me] = part_of(w + k * FLOAT_IN_PART);
        group_barrier();
        float_walk(moments, a, &t, tile, mine, first + mine, &s);
#pragma unroll
        for (int q = 0; q < SUMS; q++) part_sum[q] = w_total_add(part_sum[q], s.sum[q]);
        group_barrier();
    }
    float_join_range(room, &range);
#pragma unroll
    for (int q = 0; q < SUMS; q++) room[q * FLOAT_THREADS + me] = d_of_record(record_of(part_sum[q]));
    room[SUMS * FLOAT_THREADS + me] = d_of_int(s.near);
    group_barrier();
    if (mine == 0) {
        D total[SUMS + 1];
#pragma unroll
        for (int q = 0; q <= SUMS; q++) total[q] = FLOAT_TOTAL(room + q * FLOAT_THREADS + row, FLOAT_PACKET);
        float_store(a, &range, row, total, marks, out, out_rows);
    }
}
#endif

KERNEL(FLOAT_THREADS)
NAMED(list_float)
(const GLOBAL D *store, const GLOBAL char *input, const GLOBAL int *kept, const GLOBAL D *extra, GLOBAL int *marks,
 GLOBAL D *out, const struct sap_gpu_batch lists)
{
    struct float_work a;
    a.item = ((const GLOBAL struct sap_gpu_item *)input)[group_id(0)];
    a.list = more_list_of(store, input, kept, extra, &lists, &a.item);
    a.targets = (const GLOBAL D *)(input + (size_t)lists.i * 16) + (size_t)a.item.i * SAP_GPU_MORE_TARGET;
    FLOAT_ROOM
    if (a.item.pitch & SAP_GPU_ASKS_MOMENTS)
        float_item(1, a.item.pitch, &a, FLOAT_TILE, FLOAT_SUMS, marks, out, lists.out_rows);
    else
        float_item(0, a.item.pitch & ~SAP_GPU_ASKS_MOMENTS, &a, FLOAT_TILE, FLOAT_SUMS, marks, out, lists.out_rows);
}
