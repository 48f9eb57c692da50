/*
 * kernel_listed.h - forces from lists: particles lie in rows by address.  A part of force_kernel.h, of order 4.
 *
 * A predicted row is a record in a cache line of its own (or half of one, in sp).  The rows of a list are brought to
 * lanes four words at a time, by loads and exchanges, and go through the pairs of few_i.
 */
#ifndef SAP_KERNEL_LISTED_H
#define SAP_KERNEL_LISTED_H

#include <math.h>

enum { ROW = RECORD <= 8 ? 8 : 16 };

/* Rows of 16 particles as columns. */
struct row_columns {
    _Alignas(64) double derivative[SAP_TERMS + 1][3 * LANES];
    _Alignas(64) double beside[3][LANES]; /* time, mass, index in both halves */
};

SAP_INLINE void split_rows(const double *rows, const int32_t *at, const int terms, struct row_columns *to)
{
    for (int h = 0; h < LANES; h += D_LANES) {
        UNROLL
        for (int k = 0; k <= terms; k++) {
            D word[4];
            d_rows(rows, at + h, 4 * (terms + 1), 4 * k, word);
            for (int axis = 0; axis < 3; axis++) d_store(to->derivative[k] + axis * LANES + h, word[axis]);
            if (k < 3) d_store(to->beside[k % 3] + h, word[3]);
        }
    }
}

/* 16 rows, which may be the same, by word and lane. */
SAP_INLINE int predict_16_rows(const struct sap_rows_args *a, const int32_t *at, const int terms, W (*soa)[LANES])
{
    struct row_columns from;
    split_rows(a->rows, at, terms, &from);
    struct sap_columns c = {.time = from.beside[0], .mass = from.beside[1]};
    for (int k = 0; k <= terms; k++) c.derivative[k] = from.derivative[k];
    const int far = predict_16(&c, terms, a->time, 0, soa);
    for (int l = 0; l < LANES; l++) memcpy(&soa[JID][l], &from.beside[2][l], sizeof soa[JID][l]);
    return far;
}

static void keep_16_rows(const struct sap_rows_args *a, const int32_t *at, W (*soa)[LANES])
{
    for (int l = 0; l < LANES; l += 4) {
        W *to[4];
        for (int k = 0; k < 4; k++) to[k] = (W *)a->predicted + (ptrdiff_t)at[l + k] * ROW;
        write_four(soa, l, to);
    }
}

/* Asks the caches for rows k to k + 15 of those that will be predicted, if they are in no order. */
SAP_INLINE void fetch_rows(const struct sap_rows_args *a, const int terms, int from)
{
    for (int k = from; a->address && k < a->n && k < from + LANES; k++) {
        const double *const row = a->rows + (ptrdiff_t)a->address[k] * 4 * (terms + 1);
        __builtin_prefetch(row);
        __builtin_prefetch(row + 8);
        __builtin_prefetch((const W *)a->predicted + (ptrdiff_t)a->address[k] * ROW, 1);
    }
}

SAP_INLINE int predict_rows_terms(const struct sap_rows_args *a, const int terms)
{
    _Alignas(64) W soa[RECORD][LANES];
    int far = 0;
    memset(soa, 0, sizeof soa);
    fetch_rows(a, terms, 0);
    fetch_rows(a, terms, LANES);
    for (int from = 0; from < a->n; from += LANES) {
        int32_t at[LANES];
        fetch_rows(a, terms, from + 2 * LANES);
        for (int l = 0; l < LANES; l++) {
            const int k = from + l < a->n ? from + l : a->n - 1; /* the last again */
            at[l] = a->address ? a->address[k] : a->first + k;
        }
        far |= predict_16_rows(a, at, terms, soa);
        keep_16_rows(a, at, soa);
    }
    return far;
}

static int predict_rows(const struct sap_rows_args *a)
{
    if (a->n == 0) {
        W *const nobody = (W *)a->predicted - ROW;
        memset(nobody, 0, ROW * sizeof *nobody);
        for (int axis = 0; axis < 3; axis++) nobody[JX + axis] = (W)SAP_EMPTY_X;
    }
    return a->terms > 3 ? predict_rows_terms(a, 4) : predict_rows_terms(a, 3);
}

SAP_INLINE void bring_given_terms(const struct sap_rows_args *a, const int terms, const int *list, int n,
                                  W (*soa)[JWORDS][LANES])
{
    for (int from = 0; from < n; from += LANES) {
        int32_t at[LANES];
        for (int l = 0; l < LANES; l++) at[l] = list[from + l < n ? from + l : n - 1];
        (void)predict_16_rows(a, at, terms, soa[from / LANES]);
    }
    if (n % LANES) blank(soa[n / LANES], n % LANES);
}

/* Predicts n particles of a list, whole vectors of them. */
static void bring_given(const struct sap_rows_args *a, const int *list, int n, W (*soa)[JWORDS][LANES])
{
    if (a->terms > 3)
        bring_given_terms(a, 4, list, n, soa);
    else
        bring_given_terms(a, 3, list, n, soa);
}

/* The rows of `count` vectors of 16 addresses. */
SAP_INLINE void bring(const W *rows, const int32_t *at, int count, W (*soa)[JWORDS][LANES])
{
    _Static_assert(RECORD <= JWORDS, "whole records");
    for (int v = 0; v < count * VECTORS; v++) UNROLL
    for (int w = 0; w < RECORD; w += 4) {
        W(*const to)[LANES] = soa[v / VECTORS] + w;
        const int f = v % VECTORS * V_LANES;
        V word[4];
        v_rows(rows, at + v * V_LANES, ROW, w, word);
        v_store(&to[0][f], word[0]);
        v_store(&to[1][f], word[1]);
        v_store(&to[2][f], word[2]);
        v_store(&to[3][f], word[3]);
    }
}

/* The same for n addresses, with rows of nobody at the end. */
SAP_INLINE void bring_list(const W *rows, const int *list, int n, W (*soa)[JWORDS][LANES])
{
    const int whole = n / LANES;
    int32_t rest[LANES];
    bring(rows, list, whole, soa);
    if (n % LANES == 0) return;
    for (int l = 0; l < LANES; l++) rest[l] = whole * LANES + l < n ? list[whole * LANES + l] : -1;
    bring(rows, rest, 1, soa + whole);
}

/* The i-particle out of its row. */
SAP_INLINE void load_own(const W *row, struct i_words *i)
{
    int32_t index;
    for (int axis = 0; axis < 3; axis++) {
        i->word[IX + axis] = v_set1((double)row[JX + axis]);
        i->word[IV + axis] = v_set1((double)row[JV + axis]);
        if (LOW) i->word[(ILOW + axis) % IWORDS] = v_set1((double)row[(JLOW + axis) % RECORD]);
    }
    i->word[IE] = i->word[IT] = v_set1(0.0);
    memcpy(&index, &row[JID], sizeof index);
    i->index = vi_set1(index);
}

/* Adds a list to the packets of s; low gets the distances, if the nearest is wanted. */
SAP_INLINE void listed_pairs(const struct sap_listed_args *a, struct sap_single *s, W (*low)[LANES],
                             const struct sap_variant variant)
{
    _Alignas(64) W soa[CHUNK][JWORDS][LANES];
    uint32_t mask[CHUNK];
    struct i_words i;
    struct pair_state p[VECTORS];
    load_own((const W *)a->predicted + (ptrdiff_t)a->own * ROW, &i);
    for (int f = 0; f < VECTORS; f++) UNROLL
    for (int q = 0; q < SUMS; q++) p[f].sum[q] = v_set1(0.0);
    for (int from = 0; from < a->n; from += CHUNK * LANES) {
        const int n = a->n - from < CHUNK * LANES ? a->n - from : CHUNK * LANES;
        const struct few_work work = {
            .soa = (const W(*)[JWORDS][LANES])soa, .count = (n + LANES - 1) / LANES, .n = n, .eps2 = a->eps2};
        if (a->given)
            bring_given(a->given, a->list + from, n, soa);
        else
            bring_list(a->predicted, a->list + from, n, soa);
        UNROLL
        for (int f = 0; f < VECTORS; f++) {
            p[f].low = v_set1(W_HUGE);
            few_packets(&work, &i, v_set1(0.0), v_set1(0.0), f, &p[f], mask, low ? low + from / LANES : NULL, variant);
        }
    }
    for (int f = 0; f < VECTORS; f++) UNROLL
    for (int q = 0; q < SUMS; q++) v_store((W *)s->packet[q] + f * V_LANES, p[f].sum[q]);
}

/* Squared distance up to which others may be as near as one at the squared distance r2 is. */
SAP_INLINE W near_limit(const W *own, W r2)
{
    double size = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double x = fabs((double)own[JX + axis]);
        size = x > size ? x : size;
    }
    const double r = sqrt((double)r2), reach = r * (1 + 8 * SAP_R2_ERROR) + 4 * SAP_X_ERROR * (size + r);
    return (W)(reach * reach);
}

/* Those within errors of the smallest distance, unless nobody, who fills the last vector up, is as near. */
SAP_INLINE int near_places(const struct sap_listed_args *a, W (*low)[LANES], int32_t *place)
{
    const int count = (a->n + LANES - 1) / LANES;
    _Alignas(64) W lane[LANES];
    W least = W_HUGE;
    int n = 0;
    for (int f = 0; f < LANES; f += V_LANES) {
        V best = v_set1((double)W_HUGE);
        for (int e = 0; e < count; e++) best = v_min(v_load(&low[e][f]), best); /* not what is NaN */
        v_store(lane + f, best);
    }
    for (int l = 0; l < LANES; l++) least = lane[l] < least ? lane[l] : least;
    if (!(least < W_HUGE)) return 0;
    const W limit = near_limit((const W *)a->predicted + (ptrdiff_t)a->own * ROW, least);
    for (int f = 0; f < LANES; f += V_LANES)
        for (unsigned near = vm_bits(v_nlt(v_set1((double)limit), v_load(lane + f))); near; near &= near - 1) {
            const int l = f + __builtin_ctz(near);
            for (int e = 0; e < count; e++)
                if (low[e][l] <= limit && e * LANES + l < a->n) place[n++] = e * LANES + l;
        }
    return n;
}

SAP_INLINE int listed_in(const struct sap_listed_args *a, struct sap_single *s, double *sum, int32_t *place,
                         const struct sap_variant variant)
{
    _Alignas(64) W low[TILE / LANES][LANES];
    D total[PADDED / D_LANES];
    listed_pairs(a, s, variant.near ? low : NULL, variant);
    if (sum) {
        _Alignas(64) double out[PADDED];
        add_packets(s, total);
        for (int h = 0; h < PADDED; h += D_LANES) d_store(out + h, sap_total_of_one(total[h / D_LANES]));
        for (int q = 0; q < SUMS; q++) sum[q] = out[q] * scale_of(q);
    } else {
        close_superpacket(s);
    }
    return variant.near ? near_places(a, low, place) : 0;
}

/* The instances of force_kernel.h's list that lists need. */
static int listed(const struct sap_listed_args *a, struct sap_single *s, double *sum, int32_t *place)
{
    if (IN_DOUBLE && a->variant.wide)
        return listed_in(a, s, sum, place, (struct sap_variant){SAP_NEAREST, 1, 1, IN_DOUBLE, 0, 0, 1});
    if (!a->variant.near) return listed_in(a, s, sum, place, (struct sap_variant){0, 1, 1, 0, 0, 0, 1});
    return listed_in(a, s, sum, place, (struct sap_variant){SAP_NEAREST, 1, 1, 0, 0, 0, 1});
}

#endif
