/*
 * batch_more.h - a batch of small forces with second moments of sources, a floor of the distance, or counts of
 * neighbours (struct sap_gpu_item).
 *
 * All is computed in double, in every precision, by the sequence of operations of cpu_sse/kernel_more.h: source k of a
 * list belongs to partial sum k % SAP_MORE_LANES, and each partial sum is added in the order of the list.  So results
 * have the bits of the CPU.  In sp and ds it computes only the targets that batch_float.h has marked.
 *
 * On GPUs a thread has a target and one of its partial sums; the group loads sources for all of its targets.  On CPUs a
 * thread is a group.
 */
#include "device/batch_input.h"

enum { MORE_LANES = SAP_MORE_LANES };

/* A partial sum: potential in opposite sign, acceleration, and number of neighbours. */
struct more_sum {
    D sum[4];
    int near;
};

SAP_INLINE void clear_more(struct more_sum *s)
{
#pragma unroll
    for (int q = 0; q < 4; q++) s->sum[q] = d_set1(SAP_ZERO);
    s->near = 0;
}

/* Adds the terms of second moments q of a source at d = R e, u = 1/R; the formula stands in cpu_sse/kernel_more.h. */
SAP_INLINE void more_add_quad(const D *q, const D *e, D u, struct more_sum *s)
{
    const D u2 = d_mul(u, u), trace = d_add(d_add(q[0], q[1]), q[2]);
    D qe[3];
    qe[0] = more_dot(q[0], e[0], q[3], e[1], q[4], e[2]);
    qe[1] = more_dot(q[3], e[0], q[1], e[1], q[5], e[2]);
    qe[2] = more_dot(q[4], e[0], q[5], e[1], q[2], e[2]);
    const D eqe = more_dot(e[0], qe[0], e[1], qe[1], e[2], qe[2]);
    const D along = d_sub(d_mul(d_set1(SAP_SEVEN_AND_HALF), eqe), d_mul(d_set1(SAP_ONE_AND_HALF), trace));
    const D pot = d_sub(d_mul(d_set1(SAP_ONE_AND_HALF), eqe), d_mul(d_set1(SAP_HALF), trace));
    s->sum[0] = d_add(s->sum[0], d_mul(d_mul(pot, u2), u));
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const D acc = d_sub(d_mul(along, e[c]), d_mul(d_set1(SAP_THREE), qe[c]));
        s->sum[1 + c] = d_add(s->sum[1 + c], d_mul(d_mul(acc, u2), u2));
    }
}

/* Adds a source; asks: SAP_GPU_ASKS_...; exists: 0: it is beyond the last. */
SAP_INLINE void more_add(const struct more_target *t, const struct more_source *j, int asks, int exists,
                         struct more_sum *s)
{
    D d[3];
#pragma unroll
    for (int c = 0; c < 3; c++) d[c] = d_sub(j->word[c], t->x[c]);
    const D r2 = more_dot(d[0], d[0], d[1], d[1], d[2], d[2]);
    const D least = asks & SAP_GPU_ASKS_FLOORS ? more_larger(t->floor2, j->word[SAP_GPU_MORE_FLOOR]) : t->floor2;
    const D softened = d_add(r2, d_add(j->word[4], t->eps2)), R2 = more_larger(softened, least);
    s->near += exists && more_is_near(t, j) ? 1 : 0;
    const D one_over = d_div(d_set1(SAP_ONE), d_sqrt(R2));
    const D u = d_select(d_gt(d_set1(SAP_COINCIDENT_R2), R2), d_set1(SAP_ZERO), one_over);
    const D mu = d_mul(j->word[3], u), mu2 = d_mul(mu, u);
    s->sum[0] = d_add(s->sum[0], mu);
#pragma unroll
    for (int c = 0; c < 3; c++) {
        d[c] = d_mul(d[c], u);
        s->sum[1 + c] = d_add(s->sum[1 + c], d_mul(mu2, d[c]));
    }
    if (asks & SAP_GPU_ASKS_MOMENTS) more_add_quad(j->word + MORE_QUAD, d, u, s);
}

/* Returns the total of MORE_LANES partial sums: halves are added to each other. */
SAP_INLINE D more_total(const D *p)
{
    const D a = d_add(d_add(p[0], p[4]), d_add(p[2], p[6])), b = d_add(d_add(p[1], p[5]), d_add(p[3], p[7]));
    return d_add(a, b);
}

/* Whether a row is to be computed; marks: NULL: all are. */
SAP_INLINE int more_is_asked(const struct sap_gpu_item *item, const GLOBAL int *marks, int row)
{
    return row < item->n && (!marks || marks[item->row + row]);
}

SAP_INLINE int more_any_asked(const struct sap_gpu_item *item, const GLOBAL int *marks)
{
    int any = 0;
    for (int row = 0; row < item->n; row++) any |= more_is_asked(item, marks, row);
    return any;
}

#if SAP_VECTORS
enum { MORE_THREADS = 1 };
#define MORE_ROOM
#define MORE_TILE NULL
#define MORE_SUMS NULL
typedef D *more_room;

SAP_INLINE void more_item(const struct sap_gpu_item *item, const struct more_list *l, const GLOBAL D *targets, int asks,
                          const GLOBAL int *marks, more_room tile, more_room sums, GLOBAL D *out, int out_rows)
{
    for (int row = 0; row < item->n; row++) {
        const struct more_target t = more_target_at(targets, row);
        struct more_sum part[MORE_LANES];
        int near = 0;
        if (!more_is_asked(item, marks, row)) continue;
        for (int lane = 0; lane < MORE_LANES; lane++) clear_more(&part[lane]);
        for (int at = 0; at < l->n; at++) {
            struct more_source j;
            more_fetch(l, at, &j);
            more_add(&t, &j, asks, 1, &part[at % MORE_LANES]);
        }
        for (int q = 0; q < 4; q++) {
            D p[MORE_LANES];
            for (int lane = 0; lane < MORE_LANES; lane++) p[lane] = part[lane].sum[q];
            more_store(item, row, q, more_total(p), out, out_rows);
        }
        for (int lane = 0; lane < MORE_LANES; lane++) near += part[lane].near;
        more_store(item, row, 4, d_of_int(near), out, out_rows);
    }
}
#else
enum { MORE_THREADS = SAP_GPU_MORE_ITEMS };
#define MORE_ROOM                                                                                                      \
    SHARED D tile[SAP_GPU_MORE_WORDS * MORE_THREADS];                                                                  \
    SHARED D sums[SAP_GPU_MORE_SUMS * MORE_THREADS];
#define MORE_TILE tile
#define MORE_SUMS sums
typedef LOCAL D *more_room;

/* Adds the sources that the group has loaded, every MORE_LANES-th from `lane` on; left: sources that exist. */
SAP_INLINE void more_walk(const struct more_target *t, more_room tile, int lane, int left, int asks, struct more_sum *s)
{
    const int end = min(left, (int)MORE_THREADS);
    for (int first = 0; first < end; first += MORE_LANES) {
        struct more_source j;
#pragma unroll
        for (int k = 0; k < SAP_GPU_MORE_WORDS; k++)
            if (k < MORE_QUAD || asks & (k < SAP_GPU_MORE_FLOOR ? SAP_GPU_ASKS_MOMENTS : SAP_GPU_ASKS_FLOORS))
                j.word[k] = tile[k * MORE_THREADS + first + lane];
        more_add(t, &j, asks, first + lane < left, s);
    }
}

SAP_INLINE void more_item(const struct sap_gpu_item *item, const struct more_list *l, const GLOBAL D *targets, int asks,
                          const GLOBAL int *marks, more_room tile, more_room sums, GLOBAL D *out, int out_rows)
{
    const int me = local_id(), lane = me % MORE_LANES;
    const struct more_target t = more_target_at(targets, min(me / MORE_LANES, item->n - 1));
    struct more_sum s;
    clear_more(&s);
    for (int first = 0; first < l->n; first += MORE_THREADS) {
        struct more_source j;
        more_fetch(l, first + me, &j);
#pragma unroll
        for (int k = 0; k < SAP_GPU_MORE_WORDS; k++) tile[k * MORE_THREADS + me] = j.word[k];
        group_barrier();
        more_walk(&t, tile, lane, l->n - first, asks, &s);
        group_barrier();
    }
#pragma unroll
    for (int q = 0; q < 4; q++) sums[q * MORE_THREADS + me] = s.sum[q];
    sums[4 * MORE_THREADS + me] = d_of_int(s.near);
    group_barrier();
    if (me < SAP_GPU_MORE_SUMS * SAP_GPU_MORE_TARGETS) {
        const int q = me / SAP_GPU_MORE_TARGETS, row = me % SAP_GPU_MORE_TARGETS;
        D p[MORE_LANES];
#pragma unroll
        for (int k = 0; k < MORE_LANES; k++) p[k] = sums[q * MORE_THREADS + row * MORE_LANES + k];
        if (more_is_asked(item, marks, row)) more_store(item, row, q, more_total(p), out, out_rows);
    }
}
#endif

KERNEL_DENSE(SAP_GPU_MORE_ITEMS, 6) /* 80 registers */
list_more(const GLOBAL D *store, const GLOBAL char *input, const GLOBAL int *kept, const GLOBAL D *extra,
          const GLOBAL int *marks, GLOBAL D *out, const struct sap_gpu_batch lists)
{
    const int groups = lists.groups, first = group_id(0) % groups * SAP_GPU_MORE_TARGETS;
    struct sap_gpu_item item = ((const GLOBAL struct sap_gpu_item *)input)[group_id(0) / groups];
    const GLOBAL int *asked = lists.marked ? marks : NULL;
    item.i += first;
    item.row += first;
    item.n = min(item.n - first, (int)SAP_GPU_MORE_TARGETS);
    struct more_list l = more_list_of(store, input, kept, extra, &lists, &item);
    if (!more_any_asked(&item, asked)) l.n = 0; /* all threads still meet at each barrier */
    const GLOBAL D *targets = (const GLOBAL D *)(input + (size_t)lists.i * 16) + (size_t)item.i * SAP_GPU_MORE_TARGET;
    MORE_ROOM
    more_item(&item, &l, targets, item.pitch, asked, MORE_TILE, MORE_SUMS, out, lists.out_rows);
}
