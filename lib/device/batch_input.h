/*
 * batch_input.h - targets and sources of lists with second moments, a floor of the distance, or counts of neighbours,
 * as the host writes them: in double (SAP_GPU_MORE_...).
 */
#ifndef SAP_DEVICE_BATCH_INPUT_H
#define SAP_DEVICE_BATCH_INPUT_H

#include "device/store.h"

enum { MORE_QUAD = SAP_GPU_MORE_PLAIN };

struct more_target {
    D x[3], eps2, h2, floor2;
};

/* Words of a source: x y z m eps2 h2, second moments, floor2. */
struct more_source {
    D word[SAP_GPU_MORE_WORDS];
};

/* Where the sources of an item come from. */
struct more_list {
    const GLOBAL D *store, *own, *extra;
    const GLOBAL int *index; /* NULL: the item has sources of its own */
    int n, columns, words, extras;
};

SAP_INLINE struct more_target more_target_at(const GLOBAL D *from, int row)
{
    const GLOBAL D *w = from + (size_t)row * SAP_GPU_MORE_TARGET;
    const struct more_target t = {{w[0], w[1], w[2]}, w[3], w[4], w[5]};
    return t;
}

/* Reads source number `at`; beyond the last source, a source far away without mass. */
SAP_INLINE void more_fetch(const struct more_list *l, int at, struct more_source *s)
{
#pragma unroll
    for (int k = 0; k < SAP_GPU_MORE_WORDS; k++) s->word[k] = k < 3 ? d_set1(SAP_EMPTY_X) : d_set1(SAP_ZERO);
    if (at >= l->n) return;
    if (!l->index) {
#pragma unroll
        for (int k = 0; k < SAP_GPU_MORE_WORDS; k++)
            if (k < l->words) s->word[k] = l->own[(size_t)at * l->words + k];
        return;
    }
    const int a = l->index[at];
    const GLOBAL D *from = store_at(l->store, l->columns, a / SAP_GPU_SUPERPACKET, a % SAP_GPU_SUPERPACKET);
#pragma unroll
    for (int k = 0; k < 3; k++) s->word[k] = from[k * SAP_GPU_SUPERPACKET];
    s->word[3] = from[SAP_GPU_MASS * SAP_GPU_SUPERPACKET];
    s->word[4] = from[SAP_GPU_EPS2 * SAP_GPU_SUPERPACKET];
#pragma unroll
    for (int k = 0; k < SAP_GPU_MORE_WORDS - 5; k++)
        if (k < l->extras) s->word[5 + k] = l->extra[(size_t)a * l->extras + k];
}

SAP_INLINE D more_larger(D a, D b) { return d_select(d_gt(b, a), b, a); }

SAP_INLINE D more_dot(D a, D x, D b, D y, D c, D z) { return d_add(d_add(d_mul(a, x), d_mul(b, y)), d_mul(c, z)); }

/* Returns whether a target counts a source: their squared distance is less than the larger of both squared radii. */
SAP_INLINE int more_is_near(const struct more_target *t, const struct more_source *j)
{
    D d[3];
#pragma unroll
    for (int c = 0; c < 3; c++) d[c] = d_sub(j->word[c], t->x[c]);
    return dm_any(d_gt(more_larger(t->h2, j->word[5]), more_dot(d[0], d[0], d[1], d[1], d[2], d[2])));
}

/* Stores total q of a row of an item: in true sign, after which comes the count. */
SAP_INLINE void more_store(const struct sap_gpu_item *item, int row, int q, D total, GLOBAL D *out, int out_rows)
{
    if (row < item->n) out[(size_t)q * out_rows + item->row + row] = q == 0 ? d_neg(total) : total;
}

SAP_INLINE struct more_list more_list_of(const GLOBAL D *store, const GLOBAL char *input, const GLOBAL int *kept,
                                         const GLOBAL D *extra, const struct sap_gpu_batch *lists,
                                         const struct sap_gpu_item *item)
{
    const GLOBAL D *own = (const GLOBAL D *)(input + (size_t)lists->j * 16);
    const GLOBAL int *sent = (const GLOBAL int *)(input + (size_t)lists->index * 16);
    const GLOBAL int *index = item->indexed == SAP_GPU_KEPT_LISTS ? kept : sent;
    const struct more_list l = {store,        item->indexed ? own : own + (size_t)item->j * lists->words,
                                extra,        item->indexed ? index + item->j : NULL,
                                item->nj,     lists->columns,
                                lists->words, lists->extra};
    return l;
}

#endif
