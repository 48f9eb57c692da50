/* kernel_many.h - many i-particles: a lane is an i-particle. A part of force_kernel.h. */
#ifndef SAP_KERNEL_MANY_H
#define SAP_KERNEL_MANY_H

struct many_state {
    struct target_words i[NV];
    V eps2, reach[NV], weight[NV];
    V best[NV], second[NV];
    VB block[NV];
    int spline; /* SAP_SPLINE_..., or 0 */
};

/* Vectors of i-particles that take part. */
SAP_INLINE int vectors_of(const struct sap_variant variant) { return variant.half ? 1 : NV; }

/* Loads element e of packet l into all lanes. */
SAP_INLINE void load_record(const W *tile, int l, int e, struct source_words *j, const struct sap_variant variant)
{
    const W *const r = tile + (ptrdiff_t)l * PACKET_WORDS + (ptrdiff_t)e * RECORD;
    UNROLL
    for (int w = 0; w < KEPT; w++)
        if (w != JID) j->word[w] = v_set1((double)r[w]);
    if (variant.soft == 2) j->word[JE] = v_set1((double)tile[AT_EPS2 + e * LANES + l]);
    if (has_floors(variant)) j->floor2 = v_set1((double)tile[AT_FLOOR + e * LANES + l]);
    for (int k = 0; k <= SAP_QUAD_TRACE && has_moments(variant); k++)
        j->quad[k] = v_set1((double)tile[AT_QUAD + l * QUAD_PACKET + e * SAP_QUAD_WORDS + k]);
    if (!variant.skip_own) return;
    int32_t index;
    memcpy(&index, JID < KEPT ? &r[JID] : &tile[AT_INDEX + e * LANES + l], sizeof index);
    j->index = vi_set1(index);
}

/*
 * Returns whether the seeds of an element are computed while the element before is summed: if no result needs the
 * distances.  In double 32 registers are needed (with 16 registers, two loops are faster).  In single precision it is
 * faster by 6 % with eight lanes and one word per coordinate; with two words it is slower, for want of registers.
 */
SAP_INLINE int walks_in_step(const struct sap_variant variant)
{
    const int gains =
        TWO_LOOPS ? D_LANES == 8 && SAP_ORDER <= 4 : V_LANES == 8 && !LOW && !variant.spline && SAP_ORDER == 2;
    return gains && !variant.near && !variant.zero && !variant.wide;
}

/* Squared distances of an element and the seeds of their roots. */
struct seeds {
    V r2[NV], seed[NV];
};

SAP_INLINE void make_seeds(const W *tile, int l, int e, const struct many_state *m, struct pair_state *s,
                           struct seeds *to, const struct sap_variant variant)
{
    struct source_words j;
    load_record(tile, l, e, &j, variant);
    UNROLL
    for (int v = 0; v < vectors_of(variant); v++) {
        if (has_counts(variant)) note_distance(&j, &m->i[v], &s[v].low);
        to->r2[v] = pair_r2(&j, &m->i[v], m->eps2, variant);
        to->seed[v] = v_seed(to->r2[v]);
    }
}

SAP_INLINE void add_seeded(const W *tile, int l, int e, const struct many_state *m, const struct seeds *from,
                           struct pair_state *s, const struct sap_variant variant)
{
    struct source_words j;
    load_record(tile, l, e, &j, variant);
    UNROLL
    for (int v = 0; v < vectors_of(variant); v++) {
        const V root = v_root_from(from->r2[v], from->seed[v]);
        int close = 0;
#if SAP_ORDER == 2
        if (variant.spline) close = any_within(from->r2[v], &j, &m->i[v], m->eps2, variant);
#endif
        pair_sums(&j, &m->i[v], variant.skip_own ? v_keep(vi_ne(j.index, m->i[v].index), root) : root, m->eps2, close,
                  m->spline, s[v].sum, variant);
    }
}

/*
 * Implements walk for such variants.  A division and a root in double take long but leave most units free; in single
 * precision the chain of operations of a pair is longer than what the processor can look ahead.  The operations on a
 * pair are those of pair_root and pair_sums.
 */
SAP_INLINE void walk_in_step(const W *tile, int l, int e0, int e1, const struct many_state *m, struct pair_state *s,
                             const struct sap_variant variant)
{
    struct seeds last, next;
    make_seeds(tile, l, e0, m, s, &last, variant);
    for (int e = e0 + 1; e < e1; e++) {
        make_seeds(tile, l, e, m, s, &next, variant);
        add_seeded(tile, l, e - 1, m, &last, s, variant);
        last = next;
    }
    add_seeded(tile, l, e1 - 1, m, &last, s, variant);
}

/* Adds elements e0 .. e1-1 of packet l: at most SAP_BLOCK elements if TWO_LOOPS, unless both walk in step. */
SAP_INLINE void walk(const W *tile, int l, int e0, int e1, const struct many_state *m, struct pair_state *s,
                     struct hit_bits *h, const struct sap_variant variant)
{
    if (walks_in_step(variant)) {
        walk_in_step(tile, l, e0, e1, m, s, variant);
        return;
    }
    V u[TWO_LOOPS ? SAP_BLOCK : 1][NV];
    int close[TWO_LOOPS ? SAP_BLOCK : 1][NV] = {{0}};
    for (int e = e0; e < e1; e++) {
        struct source_words j;
        uint32_t hits = 0;
        load_record(tile, l, e, &j, variant);
        UNROLL
        for (int v = 0; v < vectors_of(variant); v++) {
            unsigned bits = 0;
            int *const near = &close[TWO_LOOPS ? e - e0 : 0][v];
            if (has_counts(variant)) note_distance(&j, &m->i[v], &s[v].low);
            const V root = pair_root(&j, &m->i[v], m->eps2, m->reach[v], m->weight[v], &s[v].low, &bits, near, variant);
            if (TWO_LOOPS)
                u[TWO_LOOPS ? e - e0 : 0][v] = root;
            else
                pair_sums(&j, &m->i[v], root, m->eps2, *near, m->spline, s[v].sum, variant);
            hits |= bits << (v * V_LANES);
        }
        if (variant.near & SAP_LISTS) note_hits(h->row[0], ROW_WORDS, e * LANES + l, hits);
    }
    for (int e = e0; TWO_LOOPS && e < e1; e++) {
        struct source_words j;
        load_record(tile, l, e, &j, variant);
        UNROLL
        for (int v = 0; v < vectors_of(variant); v++) {
            const int at = TWO_LOOPS ? e - e0 : 0;
            pair_sums(&j, &m->i[v], u[at][v], m->eps2, close[at][v], m->spline, s[v].sum, variant);
        }
    }
}

/*
 * Adds the sums of a packet to the running sums of the superpacket.  Order 2 has few sums; a call would cost 8 % in
 * double, and 3 % of small forces in single precision.
 */
#if SAP_ORDER == 2 && !defined(SAP_SMALL_KERNELS)
#define SHARED_SUMS SAP_INLINE
#else
#define SHARED_SUMS SHARED
#endif

SHARED_SUMS void add_sums(V (*sum)[NV], D (*run)[G_HALVES], const int vectors)
{
    for (int q = 0; q < SUMS; q++) UNROLL
    for (int v = 0; v < vectors; v++) UNROLL
    for (int half = 0; half < V_HALVES; half++) {
        D *to = &run[q][v * V_HALVES + half];
        *to = d_add(*to, v_to_d(sum[q][v], half));
    }
}

#if SAP_MORE_HERE
/* Counts the particles of elements e0 .. e1-1 of packet l that are surely within the radii, and that may be. */
SHARED void count_block(const W *tile, int l, int e0, int e1, struct sap_group *g)
{
    const struct sap_variant plain = {0};
    struct target_words i[NV];
    V within[2][NV];
    VI count[2][NV];
    UNROLL
    for (int v = 0; v < NV; v++) {
        for (int w = 0; w < IWORDS; w++) i[v].word[w] = v_load((const W *)g->words[w] + v * V_LANES);
        for (int k = 0; k < 2; k++) {
            within[k][v] = v_load((const W *)(const void *)g->within[k] + v * V_LANES);
            count[k][v] = vi_load(g->count[k] + v * V_LANES);
        }
    }
    for (int e = e0; e < e1; e++) {
        struct source_words j;
        load_record(tile, l, e, &j, plain);
        UNROLL
        for (int v = 0; v < NV; v++) {
            V d[3];
            separation(&j, &i[v], d);
            const V d2 = sap_distance2(d[0], d[1], d[2]);
            UNROLL
            for (int k = 0; k < 2; k++) {
                const V of_j = v_set1((double)tile[AT_BOUNDS + k * TILE + e * LANES + l]);
                count[k][v] = vi_count(count[k][v], v_lt(d2, v_max(within[k][v], of_j)));
            }
        }
    }
    UNROLL
    for (int v = 0; v < NV; v++)
        for (int k = 0; k < 2; k++) vb_store(g->count[k] + v * V_LANES, count[k][v]);
}

/*
 * Counts in a block of which any pair may be within the radii.  Few particles are, so most blocks need the smallest
 * distance alone.
 */
SAP_INLINE void count_near(const W *tile, int l, int e0, int e1, const struct many_state *m, const struct pair_state *s,
                           struct sap_group *g, const struct sap_variant variant)
{
    const V of_j = v_set1((double)tile[AT_WITHIN + e0 / SAP_BLOCK * LANES + l]);
    unsigned near = 0;
    UNROLL
    for (int v = 0; v < vectors_of(variant); v++) near |= vm_bits(v_lt(s[v].low, v_max(m->i[v].within, of_j)));
    if (__builtin_expect(near != 0, 0)) count_block(tile, l, e0, e1, g);
}
#else
#define count_near(tile, l, e0, e1, m, s, g, variant) (void)(s)
#endif

/* Adds one packet: float sums, flushed to the running double sums of the superpacket. */
SAP_INLINE void many_packet(const W *tile, int l, int count, int block, struct many_state *m, D (*run)[G_HALVES],
                            struct sap_group *g, struct hit_bits *h, const struct sap_variant variant)
{
    struct pair_state s[NV];
    const int looks = variant.near & SAP_NEAREST || tells_zero(variant) || has_counts(variant);
    const int step = looks || (TWO_LOOPS && !walks_in_step(variant)) ? SAP_BLOCK : SAP_CPU_PACKET;
    UNROLL
    for (int v = 0; v < vectors_of(variant); v++) UNROLL
    for (int q = 0; q < SUMS; q++) s[v].sum[q] = v_set1(0.0);
    for (int e0 = 0; e0 < count; e0 += step, block++) {
        const int e1 = e0 + step < count ? e0 + step : count;
        UNROLL
        for (int v = 0; v < vectors_of(variant); v++) s[v].low = v_set1(W_HUGE);
        walk(tile, l, e0, e1, m, s, h, variant);
        if (has_counts(variant)) count_near(tile, l, e0, e1, m, s, g, variant);
        UNROLL
        for (int v = 0; v < vectors_of(variant); v++) {
            if (variant.near & SAP_NEAREST)
                note_near(s[v].low, vb_set1(block), &m->best[v], &m->second[v], &m->block[v]);
            if (tells_zero(variant)) g->coincident |= vm_bits(v_lt(s[v].low, v_set1(SAP_COINCIDENT))) << (v * V_LANES);
        }
    }
    V sum[SUMS][NV];
    UNROLL
    for (int q = 0; q < SUMS; q++) UNROLL
    for (int v = 0; v < vectors_of(variant); v++) sum[q][v] = s[v].sum[q];
    add_sums(sum, run, vectors_of(variant));
}

SAP_INLINE void load_many(struct many_state *m, struct sap_group *g, const struct sap_many_args *a,
                          const struct sap_variant variant)
{
    m->eps2 = v_set1(a->eps2);
    m->spline = a->variant.spline;
    UNROLL
    for (int v = 0; v < vectors_of(variant); v++) {
        UNROLL
        for (int w = 0; w < IWORDS; w++) m->i[v].word[w] = v_load((const W *)g->words[w] + v * V_LANES);
        if (variant.soft && !a->variant.soft) m->i[v].word[IE] = m->eps2;
        m->i[v].close2 = v_max(m->i[v].word[IE], v_set1(SAP_TINY_R2));
        if (has_floor(variant)) m->i[v].floor2 = v_load((const W *)(const void *)g->floor2 + v * V_LANES);
        if (has_counts(variant)) m->i[v].within = v_load((const W *)(const void *)g->within[1] + v * V_LANES);
        m->i[v].index = vi_load((const WI *)(const void *)g->index + v * V_LANES);
#if defined(SAP_KERNEL_DP)
        m->reach[v] = v_load(g->reach_d + v * V_LANES);
        m->weight[v] = v_load(g->weight_d + v * V_LANES);
#else
        m->reach[v] = v_load(g->reach_f + v * V_LANES);
        m->weight[v] = v_load(g->weight_f + v * V_LANES);
#endif
        m->best[v] = v_load((const W *)g->near.best + v * V_LANES);
        m->second[v] = v_load((const W *)g->near.second + v * V_LANES);
        m->block[v] = vb_load((const void *)((const W *)g->near.block + v * V_LANES));
    }
}

/* Adds the running sums of a tile to the accumulators, or stores them as totals. */
SHARED void keep_sums(struct sap_group *g, D (*run)[G_HALVES])
{
    for (int q = 0; q < SUMS; q++)
        for (int h = 0; h < G_HALVES; h++) {
            struct sap_sum_lanes *s = &g->sum[q];
            if (g->alone) {
                d_store(s->limb[0] + h * D_LANES, sap_total_of_one(run[q][h]));
                continue;
            }
            D unit = d_load(s->unit + h * D_LANES), special = d_load(s->special + h * D_LANES), limb[SAP_LIMBS];
            for (int k = 0; k < SAP_LIMBS; k++) limb[k] = d_load(s->limb[k] + h * D_LANES);
            sap_deposit(&unit, limb, &special, run[q][h]);
            d_store(s->unit + h * D_LANES, unit);
            d_store(s->special + h * D_LANES, special);
            for (int k = 0; k < SAP_LIMBS; k++) d_store(s->limb[k] + h * D_LANES, limb[k]);
        }
}

SAP_INLINE void many_tile(const struct sap_many_args *a, struct sap_group *g, const struct sap_variant variant)
{
    struct many_state m;
    D run[SUMS][G_HALVES];
    struct hit_bits hits;
    if (variant.near & SAP_LISTS) memset(&hits, 0, sizeof hits);
    load_many(&m, g, a, variant);
    for (int q = 0; q < SUMS; q++) UNROLL
    for (int half = 0; half < G_HALVES; half++) run[q][half] = d_set1(0.0);
    const int block = (int)(a->first / SAP_BLOCK); /* 128 blocks per tile, 8 per packet */
    for (int l = 0; l < LANES && l < a->n; l++) {
        const int count = (a->n - l + LANES - 1) / LANES;
        many_packet(a->records, l, count, block + l * SAP_BLOCKS, &m, run, g, &hits, variant);
    }
    if (variant.near & SAP_LISTS) collect_hits(g, &hits, a->records, a->first, variant.outside);
    keep_sums(g, run);
    if (!(variant.near & SAP_NEAREST)) return;
    for (int v = 0; v < vectors_of(variant); v++) {
        v_store((W *)g->near.best + v * V_LANES, m.best[v]);
        v_store((W *)g->near.second + v * V_LANES, m.second[v]);
        vb_store((void *)((W *)g->near.block + v * V_LANES), m.block[v]);
    }
}

#endif
