/*
 * kernel_neighbour.h - neighbour forces: particles are stored in rows by address. A part of force_kernel.h, of order 4.
 *
 * A predicted row is a record in a cache line of its own (or half of one, in sp). Loads and exchanges bring the rows of
 * a list into lanes, four words at a time, for the pair functions of few_i.
 */
#ifndef SAP_KERNEL_NEIGHBOUR_H
#define SAP_KERNEL_NEIGHBOUR_H

#include <math.h>

enum { ROW = RECORD <= 8 ? 8 : 16 };

/* Entries by which given rows are prefetched; in double, rows are predicted beforehand. */
enum { AHEAD = IN_DOUBLE ? 0 : 64 };

/* Rows of 16 particles as columns. */
struct row_columns {
    _Alignas(64) double derivative[SAP_TERMS + 1][3 * LANES];
    _Alignas(64) double beside[3][LANES]; /* time, mass, index in both halves */
    int32_t index[LANES];
};

SAP_INLINE void split_rows(const int terms, const double *rows, const int32_t *at, struct row_columns *to)
{
    for (int h = 0; h < hidden(LANES); h += D_LANES) {
        UNROLL
        for (int k = 0; k <= terms; k++) {
            D word[4];
            d_rows(rows, at + h, 4 * (terms + 1), 4 * k, word);
            for (int axis = 0; axis < 3; axis++) d_store(to->derivative[k] + axis * LANES + h, word[axis]);
            if (k < 3) d_store(to->beside[k % 3] + h, word[3]);
        }
    }
    for (int l = 0; l < LANES; l++) memcpy(&to->index[l], &to->beside[2][l], sizeof to->index[l]);
}

/* Predicts 16 rows, which may repeat, by word and lane. */
SHARED int predict_16_rows(const struct sap_rows_args *a, const int32_t *at, W (*restrict soa)[WORDS][LANES])
{
    struct row_columns from;
    if (a->terms > 3)
        split_rows(4, a->rows, at, &from);
    else
        split_rows(3, a->rows, at, &from);
    struct sap_columns c = {.time = from.beside[0], .mass = from.beside[1], .index = from.index};
    for (int k = 0; k <= a->terms; k++) c.derivative[k] = from.derivative[k];
    return predict_chunk(&c, a->terms, a->time, 0, 1, soa);
}

/* Writes the predicted rows of the first n of 16 addresses. */
static void keep_16_rows(const struct sap_rows_args *a, const int32_t *at, int n, W (*soa)[LANES])
{
    W unused[ROW] = {0};
    for (int l = 0; l < n; l += 4) {
        W *to[4];
        for (int k = 0; k < 4; k++) to[k] = l + k < n ? (W *)a->predicted + (ptrdiff_t)at[l + k] * ROW : unused;
        write_four(soa, l, to);
    }
}

/* Prefetches rows k to k + 15 of those to be predicted, if they are in no order. */
SAP_INLINE void fetch_rows(const struct sap_rows_args *a, int from)
{
    for (int k = from; a->address && k < a->n && k < from + LANES; k++) {
        const double *const row = a->rows + (ptrdiff_t)a->address[k] * 4 * (a->terms + 1);
        __builtin_prefetch(row);
        __builtin_prefetch(row + 8);
        __builtin_prefetch((const W *)a->predicted + (ptrdiff_t)a->address[k] * ROW, 1);
    }
}

/* Writes the row of no particle, before address 0. */
static void write_empty_row(const struct sap_rows_args *a)
{
    W *const empty = (W *)a->predicted - ROW;
    memset(empty, 0, ROW * sizeof *empty);
    for (int axis = 0; axis < 3; axis++) empty[JX + axis] = (W)SAP_EMPTY_X;
}

static int predict_rows(const struct sap_rows_args *a)
{
    _Alignas(64) W soa[1][WORDS][LANES];
    int far = 0;
    if (a->n == 0) write_empty_row(a);
    memset(soa, 0, sizeof soa);
    if (!a->columns) {
        fetch_rows(a, 0);
        fetch_rows(a, LANES);
    }
    for (int from = 0; from < a->n; from += LANES) {
        const int n = a->n - from < LANES ? a->n - from : LANES;
        int32_t at[LANES];
        if (!a->columns) fetch_rows(a, from + 2 * LANES);
        for (int l = 0; l < LANES; l++) {
            const int k = from + (l < n ? l : n - 1); /* repeats the last */
            at[l] = a->address ? a->address[k] : a->first + k;
        }
        far |= a->columns ? predict_chunk(a->columns, a->terms, a->time, from / LANES, 1, soa)
                          : predict_16_rows(a, at, soa);
        keep_16_rows(a, at, n, soa[0]);
    }
    return far;
}

/* Prefetches given rows. */
SAP_INLINE void fetch_given(const struct sap_rows_args *a, const int terms, const int32_t *at, const int n)
{
    UNROLL
    for (int l = 0; l < n; l++) {
        const double *const row = a->rows + (ptrdiff_t)at[l] * 4 * (terms + 1);
        __builtin_prefetch(row);
        __builtin_prefetch(row + 8);
    }
}

#if defined(SAP_ROWS_IN_LANES) && !defined(SAP_KERNEL_DP)

/* Predicts vector f of the rows with the words of a row side by side: fewer exchanges than in columns. */
SAP_INLINE void predict_row_vector(const struct sap_rows_args *a, const int32_t *at, const int32_t *later,
                                   const int terms, W (*soa)[LANES])
{
    V high[4], v[4], low[4];
    UNROLL
    for (int k = 0; k < 4; k++) {
        fetch_given(a, terms, later + k * (V_LANES / 4), V_LANES / 4);
        D p[V_HALVES][HIGHER + 1], rest[V_HALVES];
        UNROLL
        for (int h = 0; h < V_HALVES; h++) {
            D c[SAP_TERMS + 1];
            UNROLL
            for (int t = 0; t <= terms; t++) c[t] = d_row_words(a->rows + 4 * t, at + k, 4 * (terms + 1), h);
            const D dt = d_sub(d_set1(a->time), d_last_word(c[0])), mass = c[1];
            c[2] = d_three_words(c[2]); /* as a number, an index would be slow */
            sap_predict(terms, c, dt, &p[h][0], &p[h][1]);
            p[h][1] = d_with_last(p[h][1], mass);
        }
        high[k] = narrow_halves(p, 0);
        v[k] = narrow_halves(p, 1);
        UNROLL
        for (int h = 0; LOW > 0 && h < V_HALVES; h++) rest[h] = d_sub(p[h][0], d_from_f(high[k], h));
        if (LOW) low[k] = f_from_d(rest);
    }
    f_transpose(high);
    f_transpose(v);
    if (LOW) f_transpose(low);
    UNROLL
    for (int axis = 0; axis < 3; axis++) {
        v_store(soa[JX + axis], high[axis]);
        v_store(soa[JV + axis], v[axis]);
        if (LOW) v_store(soa[(JLOW + axis) % JWORDS], low[axis]);
    }
    v_store(soa[JM], v[3]);
    for (int l = 0; l < V_LANES; l++)
        memcpy(&soa[JID][l], a->rows + (ptrdiff_t)at[l] * 4 * (terms + 1) + SAP_ROW_INDEX, sizeof soa[JID][l]);
}

SAP_INLINE void predict_16_given(const struct sap_rows_args *a, const int32_t *at, const int32_t *later,
                                 const int terms, W (*soa)[WORDS][LANES])
{
    for (int f = 0; f < hidden(LANES); f += V_LANES)
        predict_row_vector(a, at + f, later + f, terms, (W(*)[LANES])(soa[0][0] + f));
}

#else

SAP_INLINE void predict_16_given(const struct sap_rows_args *a, const int32_t *at, const int32_t *later,
                                 const int terms, W (*soa)[WORDS][LANES])
{
    fetch_given(a, terms, later, LANES);
    (void)predict_16_rows(a, at, soa);
}

#endif

/* Returns the 16 entries at AHEAD or a whole list behind `from`, in this list or the next; copied to `room` if there
 * are fewer. */
SAP_INLINE const int32_t *entries_ahead(const struct sap_neighbour_args *a, int from, int32_t *room)
{
    const int end = (a->n + LANES - 1) / LANES * LANES, ahead = AHEAD < end ? AHEAD : end, here = from + ahead < end;
    const int first = here ? from + ahead : from + ahead - end, n = here ? a->n : a->nnext;
    const int *const list = here ? a->list : a->next;
    if (first + LANES <= n) return list + first;
    for (int l = 0; l < LANES; l++) room[l] = first + l < n ? list[first + l] : a->own;
    return room;
}

SAP_INLINE int bring_given_terms(const struct sap_neighbour_args *a, const int terms, int from, int n,
                                 W (*soa)[WORDS][LANES])
{
    for (int first = 0; first < n; first += LANES) {
        const int *const list = a->list + from + first;
        int32_t rest[LANES], room[LANES];
        const int32_t *at = list, *const later = entries_ahead(a, from + first, room);
        unsigned most = 0;
        if (n - first < LANES) {
            for (int l = 0; l < LANES; l++) rest[l] = list[l < n - first ? l : n - first - 1];
            at = rest;
        }
        for (int l = 0; l < LANES; l++) most = (unsigned)at[l] > most ? (unsigned)at[l] : most;
        if (most >= (unsigned)a->given->n) return 0;
        predict_16_given(a->given, at, later, terms, soa + first / LANES);
    }
    if (n % LANES) blank(soa[n / LANES], n % LANES);
    return 1;
}

/* Predicts n particles of the list, from entry `from` on, in whole vectors; 0 if an address is invalid. */
SHARED int bring_given(const struct sap_neighbour_args *a, int from, int n, W (*restrict soa)[WORDS][LANES])
{
    return a->given->terms > 3 ? bring_given_terms(a, 4, from, n, soa) : bring_given_terms(a, 3, from, n, soa);
}

SAP_INLINE void predict_own_terms(const struct sap_rows_args *a, const int terms, int address, W *row)
{
    const double *const from = a->rows + (ptrdiff_t)address * 4 * (terms + 1);
    const D dt = d_set1(a->time - from[SAP_ROW_TIME]);
    for (int axis = 0; axis < 3; axis++) {
        _Alignas(64) double x[D_LANES], v[D_LANES];
        D c[SAP_TERMS + 1], p[2];
        for (int k = 0; k <= terms; k++) c[k] = d_set1(from[4 * k + axis]);
        sap_predict(terms, c, dt, &p[0], &p[1]);
        d_store(x, p[0]);
        d_store(v, p[1]);
        row[JX + axis] = (W)x[0];
        row[JV + axis] = (W)v[0];
        if (LOW) row[(JLOW + axis) % RECORD] = (W)(x[0] - (double)(W)x[0]);
    }
    memcpy(&row[JID], from + SAP_ROW_INDEX, sizeof row[JID]);
}

/* Predicts the i-particle from its given row, and returns it. */
SHARED const W *predict_own(const struct sap_rows_args *a, int address, W *row)
{
    if (a->terms > 3)
        predict_own_terms(a, 4, address, row);
    else
        predict_own_terms(a, 3, address, row);
    return row;
}

/* Loads the rows of `count` vectors of 16 addresses. */
SAP_INLINE void bring(const W *rows, const int32_t *at, int count, W (*soa)[WORDS][LANES])
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

/* Loads the rows of n addresses, and fills the end with rows of no particle. */
SHARED void bring_list(const W *rows, const int *list, int n, W (*restrict soa)[WORDS][LANES])
{
    const int whole = n / LANES;
    int32_t rest[LANES];
    bring(rows, list, whole, soa);
    if (n % LANES == 0) return;
    for (int l = 0; l < LANES; l++) rest[l] = whole * LANES + l < n ? list[whole * LANES + l] : -1;
    bring(rows, rest, 1, soa + whole);
}

/* Loads the i-particle from its row. */
SAP_INLINE void load_own(const W *row, struct target_words *i)
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

/*
 * Writes the sums over a list to the packets of s, for the i-particle `own`; low gets the distances if the nearest is
 * requested. Returns 0 if an address is invalid.
 */
SAP_INLINE int neighbour_pairs(const struct sap_neighbour_args *a, const W *own, struct sap_single *s, W (*low)[LANES],
                               const struct sap_variant variant)
{
    enum { MOST = CHUNK * LANES };
    _Alignas(64) W soa[CHUNK][WORDS][LANES];
    struct few_hits no_hits = {.reach = v_set1(0.0), .weight = v_set1(0.0)};
    for (int from = 0; from == 0 || from < a->n; from += MOST) {
        const int n = a->n - from < MOST ? a->n - from : MOST;
        const struct few_work work = {
            .soa = (const W(*)[WORDS][LANES])soa, .count = (n + LANES - 1) / LANES, .n = n, .eps2 = a->eps2};
        if (IN_DOUBLE || !a->given)
            bring_list(a->predicted, a->list + from, n, soa);
        else if (!bring_given(a, from, n, soa))
            return 0;
        struct target_words i;
        load_own(own, &i); /* after the calls above, which keep no vector */
        for (int f = 0; f < hidden(VECTORS); f++) {
            struct pair_state p;
            UNROLL
            for (int q = 0; q < SUMS; q++) p.sum[q] = from ? v_load((W *)s->packet[q] + f * V_LANES) : v_set1(0.0);
            p.low = v_set1(W_HUGE);
            few_packets(&work, &i, &no_hits, f, &p, low ? low + from / LANES : NULL, variant);
            UNROLL
            for (int q = 0; q < SUMS; q++) v_store((W *)s->packet[q] + f * V_LANES, p.sum[q]);
        }
    }
    return 1;
}

/* Returns the squared distance up to which particles may be as near as one that has the squared distance r2. */
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

/* Lists the entries within errors of the smallest distance, unless the filler of the last vector is as near. */
SAP_INLINE int near_places(const struct sap_neighbour_args *a, const W *own, W (*low)[LANES], int32_t *place)
{
    const int count = (a->n + LANES - 1) / LANES;
    _Alignas(64) W lane[LANES], half[LANES];
    int n = 0;
    for (int f = 0; f < LANES; f += V_LANES) {
        V best = v_set1((double)W_HUGE);
        for (int e = 0; e < count; e++) best = v_min(v_load(&low[e][f]), best); /* skips NaN */
        v_store(lane + f, best);
    }
    memcpy(half, lane, sizeof half);
    for (int m = LANES / 2; m > 0; m /= 2)
        for (int l = 0; l < m; l++) half[l] = half[l + m] < half[l] ? half[l + m] : half[l];
    const W least = half[0];
    if (!(least < W_HUGE)) return 0;
    const W limit = near_limit(own, least);
    for (int f = 0; f < LANES; f += V_LANES)
        for (unsigned near = vm_bits(v_nlt(v_set1((double)limit), v_load(lane + f))); near; near &= near - 1) {
            const int l = f + __builtin_ctz(near);
            for (int e = 0; e < count; e++) { /* has no branch: where the nearest is cannot be foreseen */
                place[n] = e * LANES + l;
                n += low[e][l] <= limit && place[n] < a->n;
            }
        }
    return n;
}

SAP_INLINE int neighbour_in(const struct sap_neighbour_args *a, const W *own, struct sap_single *s, double *sum,
                            int32_t *place, const struct sap_variant variant)
{
    _Alignas(64) W low[TILE / LANES][LANES];
    D total[PADDED / D_LANES];
    if (!neighbour_pairs(a, own, s, variant.near ? low : NULL, variant)) return -1;
    if (sum) {
        _Alignas(64) double out[PADDED];
        add_packets(s, total);
        for (int h = 0; h < PADDED; h += D_LANES) d_store(out + h, sap_total_of_one(total[h / D_LANES]));
        for (int q = 0; q < SUMS; q++) sum[q] = out[q] * scale_of(q);
    } else {
        close_superpacket(s);
    }
    return variant.near ? near_places(a, own, low, place) : 0;
}

/* Selects the instances of force_kernel.h's variants that lists need. */
static int neighbour(const struct sap_neighbour_args *a, struct sap_single *s, double *sum, int32_t *place)
{
    const W *own = (const W *)a->predicted + (ptrdiff_t)a->own * ROW;
    W row[ROW];
    if (!IN_DOUBLE && a->given) own = predict_own(a->given, a->own, row);
    if (IN_DOUBLE && a->variant.wide)
        return neighbour_in(a, own, s, sum, place,
                            (struct sap_variant){SAP_NEAREST, 1, 1, IN_DOUBLE, 0, 0, 1, 0, 0, 0});
    if (!a->variant.near)
        return neighbour_in(a, own, s, sum, place, (struct sap_variant){0, 1, 1, 0, 0, 0, 1, 0, 0, 0});
    return neighbour_in(a, own, s, sum, place, (struct sap_variant){SAP_NEAREST, 1, 1, 0, 0, 0, 1, 0, 0, 0});
}

#endif
