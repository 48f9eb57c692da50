/*
 * kernel_records.h - prediction of j-particles, and both kinds of particles in the working type. A part of
 * force_kernel.h.
 */
#ifndef SAP_KERNEL_RECORDS_H
#define SAP_KERNEL_RECORDS_H

/* Copies the indices of 16 consecutive addresses, as bits. */
SAP_INLINE void copy_index(const struct sap_columns *c, int block, W *to)
{
#if defined(SAP_KERNEL_DP)
    for (int l = 0; l < LANES; l++) { /* an index fills both halves of its word */
        const uint64_t id = (uint32_t)c->index[block * LANES + l];
        const uint64_t twice = id << 32 | id;
        memcpy(&to[l], &twice, sizeof twice);
    }
#else
    memcpy(to, c->index + block * LANES, LANES * sizeof *to);
#endif
}

/* Converts the doubles of a vector to the working type. */
SAP_INLINE V narrowed(const double *from)
{
#if defined(SAP_KERNEL_DP)
    return d_load(from);
#else
    D x[V_HALVES];
    UNROLL
    for (int h = 0; h < V_HALVES; h++) x[h] = d_load(from + h * D_LANES);
    return f_from_d(x);
#endif
}

/* Converts the squared softening, or the squared floors, of 16 addresses; NULL: 0. */
SAP_INLINE void copy_squares(const double *column, int block, W *to)
{
    for (int f = 0; f < hidden(VECTORS); f++)
        v_store(to + f * V_LANES, column ? narrowed(column + (ptrdiff_t)block * LANES + f * V_LANES) : v_set1(0.0));
}

/*
 * Predicts lanes d D_LANES ... of 16 consecutive addresses, along one axis, to `time`: to[0] is x, and so on up to
 * to[HIGHER]. Order 2 predicts nothing.
 */
SAP_INLINE void predict_lanes(const struct sap_columns *c, const int terms, double time, ptrdiff_t block, int axis,
                              int d, D *to)
{
    const ptrdiff_t at = (block * 3 + axis) * LANES + d * D_LANES;
#if SAP_ORDER == 2
    (void)terms;
    (void)time;
    to[0] = d_load(c->derivative[0] + at);
#else
    const D dt = d_sub(d_set1(time), d_load(c->time + block * LANES + d * D_LANES));
    D series[SAP_TERMS_MOST + 1] = {d_set1(0.0)};
    UNROLL
    for (int k = 0; k <= terms; k++) series[k] = d_load(c->derivative[k] + at);
#if SAP_ORDER == 4
    sap_predict(terms, series, dt, &to[0], &to[1]);
#else
    sap_predict_full(terms, HIGHER + 1, series, dt, to);
#endif
#endif
}

#if !defined(SAP_KERNEL_DP)
/* Returns derivative k, given in halves, as one vector. */
SAP_INLINE F narrow_halves(D (*p)[HIGHER + 1], int k)
{
    D word[V_HALVES];
    UNROLL
    for (int h = 0; h < V_HALVES; h++) word[h] = p[h][k];
    return f_from_d(word);
}
#endif

/*
 * The root of an infinite distance is +0. So in `sp` an infinite position would leave most sums finite: there the mass
 * becomes NaN. In `ds` the low word of such a position is NaN, and `dp` has a root for large distances.
 */
#if !defined(SAP_KERNEL_DP) && !defined(SAP_KERNEL_DS)
#define SAP_MASS_TELLS 1

/* Converts the masses of a vector, each with `lost` added, to the working type. */
SAP_INLINE V narrowed_masses(const double *mass, const D *lost)
{
    D m[V_HALVES];
    UNROLL
    for (int h = 0; h < V_HALVES; h++) m[h] = d_add(d_load(mass + h * D_LANES), lost[h]);
    return f_from_d(m);
}
#else
#define SAP_MASS_TELLS 0
#endif

/*
 * Predicts vector f of 16 consecutive addresses: out[word][lane], all words except index and softening. far: the
 * largest square of a coordinate, if the variant needs it.
 */
SAP_INLINE D predict_vector(const struct sap_columns *c, const int terms, double time, int block, int f, D far,
                            W (*out)[LANES])
{
    const double *const mass = c->mass + (ptrdiff_t)block * LANES + f * V_LANES;
#if SAP_MASS_TELLS
    D lost[V_HALVES]; /* NaN where a coordinate is not finite, else 0 */
    UNROLL
    for (int h = 0; h < V_HALVES; h++) lost[h] = d_set1(0.0);
#endif
    UNROLL
    for (int axis = 0; axis < 3; axis++) {
        D p[V_HALVES][HIGHER + 1];
        UNROLL
        for (int h = 0; h < V_HALVES; h++) predict_lanes(c, terms, time, block, axis, f * V_HALVES + h, p[h]);
#if SAP_MASS_TELLS
        UNROLL
        for (int h = 0; h < V_HALVES; h++) lost[h] = d_add(lost[h], d_sub(p[h][0], p[h][0]));
#endif
#if defined(SAP_KERNEL_DP)
        /* in this operand order, a square that is NaN hides no larger one */
        far = d_max(d_mul(p[0][0], p[0][0]), far);
        UNROLL
        for (int k = 0; k <= HIGHER; k++) d_store(&out[JX + 3 * k + axis][f * V_LANES], p[0][k]);
#else
        const F high = narrow_halves(p, 0);
        f_store(&out[JX + axis][f * V_LANES], high);
        UNROLL
        for (int k = 1; k <= HIGHER; k++) f_store(&out[JX + 3 * k + axis][f * V_LANES], narrow_halves(p, k));
#if defined(SAP_KERNEL_DS)
        D low[V_HALVES];
        UNROLL
        for (int h = 0; h < V_HALVES; h++) low[h] = d_sub(p[h][0], d_from_f(high, h));
        f_store(&out[JLOW + axis][f * V_LANES], f_from_d(low));
#endif
#endif
    }
#if SAP_MASS_TELLS
    v_store(&out[JM][f * V_LANES], narrowed_masses(mass, lost));
#else
    v_store(&out[JM][f * V_LANES], narrowed(mass));
#endif
    return far;
}

/*
 * Predicts `count` vectors of 16 addresses from vector `from` on: soa[vector][word][lane]. Returns whether any particle
 * lies beyond SAP_FAR (dp only).
 */
SAP_INLINE int predict_vectors(const int terms, const struct sap_columns *c, double time, int from, int count,
                               W (*soa)[WORDS][LANES])
{
    D far = d_set1(0.0);
    for (int e = 0; e < count; e++) {
        far = predict_vector(c, terms, time, from + e, 0, far, soa[e]);
        if (VECTORS == 2) far = predict_vector(c, terms, time, from + e, 1, far, soa[e]);
        for (int f = 1; VECTORS > 2 && f < hidden(VECTORS); f++)
            far = predict_vector(c, terms, time, from + e, f, far, soa[e]);
        copy_index(c, from + e, soa[e][JID]);
    }
    return dm_any(d_ge(far, d_set1(SAP_FAR * SAP_FAR)));
}

/* The same, with a number of terms that is a constant for the compiler. */
SHARED int predict_chunk(const struct sap_columns *c, int terms, double time, int from, int count,
                         W (*soa)[WORDS][LANES])
{
#if SAP_ORDER == 2
    return predict_vectors(0 * terms, c, time, from, count, soa);
#elif SAP_ORDER > 4
    return predict_vectors(FULL_TERMS + 0 * terms, c, time, from, count, soa);
#else
    switch (terms) {
    case 1:
        return predict_vectors(1, c, time, from, count, soa);
    case 2:
        return predict_vectors(2, c, time, from, count, soa);
    case 3:
        return predict_vectors(3, c, time, from, count, soa);
    default:
        return predict_vectors(4, c, time, from, count, soa);
    }
#endif
}

/* Writes data by word and lane to the records of lanes l to l + 3. */
#if defined(SAP_KERNEL_DP)
SAP_INLINE void write_four(W (*soa)[LANES], int l, W *const *to)
{
    for (int k = 0; k < 4; k++) {
        UNROLL
        for (int w = 0; w < RECORD; w++) to[k][w] = soa[w][l + k];
    }
}
#else
typedef float four __attribute__((vector_size(16)));

#if defined(__clang__)
#define FOUR_OF(a, b, p, q, r, s) __builtin_shufflevector((a), (b), p, q, r, s)
#else
typedef int32_t four_places __attribute__((vector_size(16)));
#define FOUR_OF(a, b, p, q, r, s) __builtin_shuffle((a), (b), (four_places){p, q, r, s})
#endif

/* Writes them four words at a time. */
SAP_INLINE void write_four(W (*soa)[LANES], int l, W *const *to)
{
    _Static_assert(RECORD % 4 == 0 && LANES % 4 == 0, "records of four words");
    UNROLL
    for (int w = 0; w < RECORD; w += 4) {
        four row[4];
        for (int k = 0; k < 4; k++) memcpy(&row[k], &soa[w + k][l], sizeof row[k]);
        const four ab = FOUR_OF(row[0], row[1], 0, 4, 1, 5), cd = FOUR_OF(row[2], row[3], 0, 4, 1, 5);
        const four AB = FOUR_OF(row[0], row[1], 2, 6, 3, 7), CD = FOUR_OF(row[2], row[3], 2, 6, 3, 7);
        row[0] = FOUR_OF(ab, cd, 0, 1, 4, 5);
        row[1] = FOUR_OF(ab, cd, 2, 3, 6, 7);
        row[2] = FOUR_OF(AB, CD, 0, 1, 4, 5);
        row[3] = FOUR_OF(AB, CD, 2, 3, 6, 7);
        for (int k = 0; k < 4; k++) memcpy(to[k] + w, &row[k], sizeof row[k]);
    }
}
#endif

/* Writes one record per lane: to + l PACKET_WORDS. */
SAP_INLINE void write_records(W (*soa)[LANES], W *to)
{
    for (int l = 0; l < hidden(LANES); l += 4, to += (ptrdiff_t)4 * PACKET_WORDS) {
        W *const place[4] = {to, to + PACKET_WORDS, to + (ptrdiff_t)2 * PACKET_WORDS, to + (ptrdiff_t)3 * PACKET_WORDS};
        write_four(soa, l, place);
    }
}

static int predict(const struct sap_columns *c, int terms, double time, int n, void *records)
{
    enum { PART = 4 }; /* vectors at a time: few enough for the nearest cache, enough to hide the call */
    _Alignas(64) W soa[PART][WORDS][LANES];
    const int vectors = (n + LANES - 1) / LANES;
    W *const to = records;
    int far = 0;
    for (int e = 0; RECORD > KEPT && e < PART; e++) memset(soa[e] + KEPT, 0, (RECORD - KEPT) * sizeof soa[0][0]);
    for (int from = 0; from < vectors; from += PART) {
        const int count = vectors - from < PART ? vectors - from : PART;
        far |= predict_chunk(c, terms, time, from, count, soa);
        for (int e = 0; e < count; e++) {
            if (JID >= KEPT) copy_index(c, from + e, to + AT_INDEX + (ptrdiff_t)(from + e) * LANES);
            if (c->eps2) copy_squares(c->eps2, from + e, to + AT_EPS2 + (ptrdiff_t)(from + e) * LANES);
#if SAP_MORE_HERE
            if (c->h2) write_bounds(c, from + e, to);
            if (c->floor2) copy_squares(c->floor2, from + e, to + AT_FLOOR + (ptrdiff_t)(from + e) * LANES);
            if (c->quad) write_quad(c, from + e, to + AT_QUAD + (ptrdiff_t)(from + e) * SAP_QUAD_WORDS);
#endif
            write_records(soa[e], to + (ptrdiff_t)(from + e) * RECORD);
        }
    }
    return far;
}

/* Implements `largest` of a kernel's table. */
static double largest(const double *x, int n)
{
    const D zero = d_set1(0.0);
    D most[2] = {zero, zero};
    _Alignas(64) double lane[D_LANES];
    for (int k = 0; k < n; k += 2 * D_LANES)
        for (int h = 0; h < 2; h++) {
            const D at = d_load(x + k + h * D_LANES);
            most[h] = d_max(d_max(at, d_sub(zero, at)), most[h]); /* in this order NaN is left out */
        }
    d_store(lane, d_max(most[0], most[1]));
    for (int l = 1; l < D_LANES; l++) lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    return lane[0];
}

SAP_INLINE const W *record_of(const void *records, int a)
{
    return (const W *)records + (ptrdiff_t)(a % LANES) * PACKET_WORDS + (ptrdiff_t)(a / LANES) * RECORD;
}

static void position(const void *records, int a, double *x)
{
    const W *r = record_of(records, a);
    for (int k = 0; k < 3; k++) x[k] = LOW ? (double)r[JX + k] + (double)r[(JLOW + k) % RECORD] : (double)r[JX + k];
}

static double rough_r2(const void *records, int a, const double *x)
{
    double at[3];
    position(records, a, at);
    const double d[3] = {at[0] - x[0], at[1] - x[1], at[2] - x[2]};
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

/* ------------------------------------------------------------ i-particles */

/* Converts one i-particle to the working type. */
static void split_i(const struct sap_i *i, int k, W *words)
{
    for (int axis = 0; axis < 3; axis++) {
        const W high = (W)i->x[k][axis];
        words[IX + axis] = high;
        if (LOW) words[(ILOW + axis) % SAP_IWORDS] = (W)(i->x[k][axis] - (double)high);
        if (HIGHER >= 1) words[IV + axis] = (W)i->v[k][axis];
        if (HIGHER >= 2) words[IV + 3 + axis] = (W)i->a[k][axis];
        if (HIGHER >= 3) words[IV + 6 + axis] = (W)i->jerk[k][axis];
    }
    words[IE] = i->eps2 ? (W)i->eps2[k] : 0;
    if (SAP_ORDER == 4) words[IT] = i->dtr ? (W)i->dtr[k] : 0;
}

/* Stores a number in all lanes of a group; gcc makes of small memsets an instruction that takes longer to start. */
SAP_INLINE void fill_lanes(double *to, double x)
{
    UNROLL
    for (int h = 0; h < GROUP; h += D_LANES) d_store(to + h, d_set1(x));
}

static void clear_sums(struct sap_group *g)
{
    for (int q = 0; q < SUMS; q++) {
        struct sap_sum_lanes *s = &g->sum[q];
        fill_lanes(s->limb[0], 0.0);
        if (g->alone) continue;
        fill_lanes(s->unit, SAP_UNIT_MIN);
        fill_lanes(s->special, 0.0);
        for (int k = 1; k < SAP_LIMBS; k++) fill_lanes(s->limb[k], 0.0);
    }
}

static void start_group(struct sap_group *g, const struct sap_i *i, int from, int n, int alone)
{
    W words[SAP_IWORDS] = {0};
    for (int lane = 0; lane < GROUP; lane++) {
        const int k = from + (lane < n ? lane : 0); /* idle lanes repeat the first, which is harmless */
        const int32_t index = i->index ? i->index[k] : 0;
        split_i(i, k, words);
        for (int w = 0; w < IWORDS; w++) ((W *)g->words[w])[lane] = words[w];
#if defined(SAP_KERNEL_DP)
        const uint64_t id = (uint32_t)index;
        const uint64_t twice = id << 32 | id;
        memcpy(&g->index[lane], &twice, sizeof twice);
#else
        ((int32_t *)g->index)[lane] = index;
#endif
    }
#if SAP_MORE_HERE
    if (i->h2) start_counts(g, i, from, n);
    for (int lane = 0; lane < GROUP; lane++)
        g->floor2[lane] = i->floor2 ? (float)i->floor2[from + (lane < n ? lane : 0)] : 0;
#endif
    g->alone = alone;
    clear_sums(g);
    for (int v = 0; v < NV; v++) {
        v_store((W *)g->near.best + v * V_LANES, v_set1(W_HUGE));
        v_store((W *)g->near.second + v * V_LANES, v_set1(W_HUGE));
        vb_store((void *)((W *)g->near.block + v * V_LANES), vb_set1(-1));
    }
    g->n = n;
    g->coincident = 0;
}

static void start_single(struct sap_single *s, const struct sap_i *i, int from, int alone)
{
    W words[SAP_IWORDS] = {0};
    split_i(i, from, words);
    memcpy(s->words, words, sizeof words);
    s->index = i->index ? i->index[from] : 0;
    s->alone = alone;
    memset(s->limb, 0, alone ? sizeof s->limb[0] : sizeof s->limb);
    for (int q = 0; q < PADDED && !alone; q++) s->unit[q] = SAP_UNIT_MIN, s->special[q] = 0.0;
    for (int v = 0; v < VECTORS; v++) {
        v_store((W *)s->near.best + v * V_LANES, v_set1(W_HUGE));
        v_store((W *)s->near.second + v * V_LANES, v_set1(W_HUGE));
        vb_store((void *)((W *)s->near.block + v * V_LANES), vb_set1(-1));
    }
    s->coincident = 0;
}

#endif
