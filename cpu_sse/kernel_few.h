/* kernel_few.h - few i-particles: a lane is a packet of j-particles. A part of force_kernel.h. */
#ifndef SAP_KERNEL_FEW_H
#define SAP_KERNEL_FEW_H

/* Turns lanes from n on into empty slots: their particles do not take part. */
static void blank(W (*soa)[LANES], int n)
{
    _Alignas(64) static const W lane[LANES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int f = n / V_LANES * V_LANES; f < LANES; f += V_LANES) {
        const VM there = v_lt(v_load(lane + f), v_set1((double)n));
        for (int w = 0; w < JWORDS; w++)
            if (w != JID) v_store(&soa[w][f], v_keep(there, v_load(&soa[w][f])));
        for (int k = 0; k < 3; k++)
            v_store(&soa[JX + k][f], v_select(there, v_load(&soa[JX + k][f]), v_set1(SAP_EMPTY_X)));
    }
}

/* Of the rows of packet sums, this order uses the first. */
SAP_INLINE void clear_packets(struct sap_single *s)
{
    for (int q = 0; q < SUMS; q++)
        for (int f = 0; f < VECTORS; f++) v_store((W *)s->packet[q] + f * V_LANES, v_set1(0.0));
}

/*
 * Adds packet sums in order, in double, as many_packet does: a lane is a sum, total[PADDED / D_LANES]. Packets without
 * particles add +0.
 */
SAP_INLINE void add_packets(const struct sap_single *s, D *total)
{
    enum { PLACES = (PADDED + V_LANES - 1) / V_LANES * V_LANES, STRIDE = (int)(sizeof s->packet[0] / (sizeof(W))) };
    enum { PARTS = V_LANES == 2 * PADDED ? 2 : 1, HALVES = V_HALVES / PARTS }; /* parts: of four packets each */
    int32_t at[PLACES];
    for (int q = 0; q < PLACES; q++) {
        const int sum = PARTS == 2 ? q % PADDED : q, part = PARTS == 2 ? q / PADDED : 0;
        at[q] = (sum < SUMS ? sum : 0) * STRIDE + 4 * part;
    }
    for (int h = 0; h < PADDED / D_LANES; h++) total[h] = d_set1(0.0);
    for (int l = 0; l < LANES; l += 4 * PARTS)
        for (int from = 0; from < PLACES; from += V_LANES) {
            V sums[4];
            v_rows((const W *)s->packet[0], at + from, 1, l, sums);
            UNROLL
            for (int k = 0; k < 4 * PARTS; k++)
                for (int h = 0; h < HALVES && from + h * D_LANES < PADDED; h++)
                    total[from / D_LANES + h] =
                        d_add(total[from / D_LANES + h], v_to_d(sums[k % 4], k / 4 * HALVES + h));
        }
}

/* Adds the packet sums and deposits the total, or stores it where no other follows. */
static void close_superpacket(struct sap_single *s)
{
    D total[PADDED / D_LANES];
    add_packets(s, total);
    for (int h = 0; h < PADDED; h += D_LANES) {
        if (s->alone) {
            d_store(s->limb[0] + h, sap_total_of_one(total[h / D_LANES]));
            continue;
        }
        D unit = d_load(s->unit + h), special = d_load(s->special + h), limb[SAP_LIMBS];
        for (int k = 0; k < SAP_LIMBS; k++) limb[k] = d_load(s->limb[k] + h);
        sap_deposit(&unit, limb, &special, total[h / D_LANES]);
        d_store(s->unit + h, unit);
        d_store(s->special + h, special);
        for (int k = 0; k < SAP_LIMBS; k++) d_store(s->limb[k] + h, limb[k]);
    }
}

/* A chunk of predicted vectors. */
struct few_work {
    const W (*soa)[WORDS][LANES];
    int count, n, block; /* vectors; addresses that take part, counted from the first; number of the block */
    uint32_t first;
    double eps2;
    int soft;   /* as the caller asked */
    int spline; /* SAP_SPLINE_..., or 0 */
};

SAP_INLINE void load_chunk(const struct few_work *a, int e, int f, struct source_words *j,
                           const struct sap_variant variant)
{
    UNROLL
    for (int w = 0; w < JWORDS; w++)
        if (w != JID && (w != JE || variant.soft == 2)) j->word[w] = v_load(&a->soa[e][w][f * V_LANES]);
    if (variant.skip_own) j->index = vi_load((const WI *)(const void *)&a->soa[e][JID][f * V_LANES]);
}

/* Pairs of a chunk with one i-particle: a bit for each of 16 consecutive addresses. */
struct few_hits {
    V reach, weight;         /* of candidates */
    V sure, sure_weight;     /* of certain members, where members leave the sums; else all candidates are doubtful */
    uint32_t mask[CHUNK];    /* candidates */
    uint32_t is_sure[CHUNK]; /* certain members */
};

/* Returns the bits of four masks from mask[0] on: of 64 addresses. */
SAP_INLINE uint64_t four_masks(const uint32_t *mask)
{
    _Static_assert(LANES == 16 && CHUNK % 4 == 0, "a word has the bits of four masks");
    uint64_t bits = 0;
    for (int k = 0; k < 4; k++) bits |= (uint64_t)mask[k] << (k * LANES);
    return bits;
}

/* Notes the candidates. Few words have one, so a loop over words of 64 addresses mispredicts less than one over 16. */
static void scan_single_hits(const struct few_work *a, struct sap_single *s, const struct few_hits *h)
{
    if (!sap_hits_reserve(&s->hits, CHUNK * LANES + 1)) return;
    struct sap_hit *const heading = s->hits.hit + s->hits.n, *to = heading + 1;
    for (int e = 0; e < a->count; e += 4) {
        const uint64_t sure = four_masks(h->is_sure + e);
        for (uint64_t bits = four_masks(h->mask + e); bits; bits &= bits - 1) {
            const int l = __builtin_ctzll(bits), at = e * LANES + l;
            if (at >= a->n) break;
            to->address = (a->first + (uint32_t)at) | (sure >> l & 1 ? 0 : SAP_DOUBTFUL);
            memcpy(&to->index, &a->soa[at / LANES][JID][at % LANES], sizeof to->index);
            to++;
        }
    }
    *heading = (struct sap_hit){0, (int32_t)(to - heading - 1)};
    if (heading->index) s->hits.n = (int)(to - s->hits.hit);
}

/* Adds the packets of vector f of a chunk to one i-particle; low, unless NULL, gets the distance of each pair. */
SAP_INLINE void few_packets(const struct few_work *a, const struct target_words *i, struct few_hits *h, int f,
                            struct pair_state *p, W (*low)[LANES], const struct sap_variant variant)
{
    const V eps2 = v_set1(a->eps2);
    V u[TWO_LOOPS ? CHUNK : 1];
    int close[TWO_LOOPS ? CHUNK : 1] = {0};
    for (int e = 0; e < a->count; e++) {
        struct source_words j;
        unsigned bits = 0;
        load_chunk(a, e, f, &j, variant);
        if (low) p->low = v_set1(W_HUGE);
        const V root = pair_root(&j, i, eps2, h->reach, h->weight, &p->low, &bits, &close[TWO_LOOPS ? e : 0], variant);
        if (low) v_store(&low[e][f * V_LANES], p->low);
        if (TWO_LOOPS)
            u[TWO_LOOPS ? e : 0] = root;
        else
            pair_sums(&j, i, root, eps2, close[0], a->spline, p->sum, variant);
        if (variant.near & SAP_LISTS) h->mask[e] |= bits << (f * V_LANES);
        if (variant.outside) {
            const V sure = v_fma(j.word[JM], h->sure_weight, h->sure);
            h->is_sure[e] |= vm_bits(v_lt(p->low, sure)) << (f * V_LANES);
        }
    }
    for (int e = 0; TWO_LOOPS && e < a->count; e++) {
        struct source_words j;
        load_chunk(a, e, f, &j, variant);
        pair_sums(&j, i, u[TWO_LOOPS ? e : 0], eps2, close[TWO_LOOPS ? e : 0], a->spline, p->sum, variant);
    }
}

/* Notes the nearest of a block. Block numbers are those of packet 0: near_single adds the lane's offset. */
SAP_INLINE void note_single(struct sap_single *s, V low, int block, int f)
{
    V best = v_load((const W *)s->near.best + f * V_LANES);
    V second = v_load((const W *)s->near.second + f * V_LANES);
    VB at = vb_load((const void *)((const W *)s->near.block + f * V_LANES));
    note_near(low, vb_set1(block), &best, &second, &at);
    v_store((W *)s->near.best + f * V_LANES, best);
    v_store((W *)s->near.second + f * V_LANES, second);
    vb_store((void *)((W *)s->near.block + f * V_LANES), at);
}

/* Pairs of order 2 are so short that a loop that stays a loop would cost 5 to 10 %. */
#if SAP_ORDER == 2 && !defined(SAP_KERNEL_DP)
#define EACH_VECTOR(f) UNROLL for (int f = 0; f < VECTORS; f++)
#else
#define EACH_VECTOR(f) for (int f = 0; f < hidden(VECTORS); f++)
#endif

/* Adds a chunk to one i-particle. */
SAP_INLINE void few_chunk(const struct few_work *a, struct sap_single *s, const struct sap_variant variant)
{
    struct target_words i;
    struct few_hits hits = {.reach = v_set1(s->reach),
                            .weight = v_set1(s->weight),
                            .sure = v_set1(s->sure),
                            .sure_weight = v_set1(s->sure_weight)};
    for (int w = 0; w < IWORDS; w++) i.word[w] = v_set1((double)((const W *)s->words)[w]);
    if (variant.soft && !a->soft) i.word[IE] = v_set1(a->eps2);
    i.close2 = v_max(i.word[IE], v_set1(SAP_TINY_R2));
    i.index = vi_set1(s->index);
    EACH_VECTOR(f)
    {
        struct pair_state p;
        for (int q = 0; q < SUMS; q++) p.sum[q] = v_load((const W *)s->packet[q] + f * V_LANES);
        p.low = v_set1(W_HUGE);
        few_packets(a, &i, &hits, f, &p, NULL, variant);
        for (int q = 0; q < SUMS; q++) v_store((W *)s->packet[q] + f * V_LANES, p.sum[q]);
        if (tells_zero(variant)) s->coincident |= vm_bits(v_lt(p.low, v_set1(SAP_COINCIDENT)));
        if (variant.near & SAP_NEAREST) note_single(s, p.low, a->block, f);
    }
    if (variant.near & SAP_LISTS) scan_single_hits(a, s, &hits);
}

#endif
