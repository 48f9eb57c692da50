/* kernel_pairs.h - one pair of particles per lane. A part of force_kernel.h. */
#ifndef SAP_KERNEL_PAIRS_H
#define SAP_KERNEL_PAIRS_H

struct target_words {
    V word[IWORDS];
    V close2; /* of spline softening: squared distance from which on its own length plays no part */
    V floor2; /* of the softened distance, if the variant has one */
    V within; /* upper bound of the squared radius, if the variant counts */
    VI index;
};

/* State that a loop over j carries. */
struct pair_state {
    V sum[SUMS];
    V low; /* smallest squared distance in this block */
};

/* Returns the reciprocal root of any r2 > 0. */
SAP_INLINE V root_anywhere(V r2)
{
#if defined(SAP_KERNEL_DP)
    return v_root_wide(r2);
#else
    return v_root(r2);
#endif
}

/* Returns the reciprocal root of the softened distance, +0 for excluded lanes. */
SAP_INLINE V root_of(V r2, VM keep, const struct sap_variant variant)
{
#if defined(SAP_KERNEL_DP)
    if (variant.wide) return v_keep(keep, v_root_wide(r2));
    if (variant.zero && dm_any(d_lt(r2, d_set1(SAP_TINY_R2)))) return v_keep(keep, v_root_wide(r2));
#endif
    if (variant.exact) return v_keep(keep, v_root_exact(r2));
    return variant.zero || variant.skip_own ? v_keep(keep, v_root(r2)) : v_root(r2);
}

#if defined(SAP_KERNEL_DP)
#define SAP_COINCIDENT DBL_MIN
#else
#define SAP_COINCIDENT SAP_TINY_R2
#endif

/* Returns whether to report pairs at zero distance: if the own index is not skipped, particles may meet themselves. */
SAP_INLINE int tells_zero(const struct sap_variant variant)
{
    return SAP_ORDER != 2 && variant.zero && !variant.outside;
}

/* Words of a vector of j, or of one j in all lanes. */
struct source_words {
    V word[JWORDS];
    V quad[SAP_QUAD_WORDS], floor2; /* if the variant has moments, floors of sources */
    VI index;
};

SAP_INLINE void separation(const struct source_words *j, const struct target_words *i, V *d)
{
    UNROLL
    for (int k = 0; k < 3; k++) {
        d[k] = v_sub(j->word[JX + k], i->word[IX + k]);
        if (LOW) d[k] = v_add(d[k], v_sub(j->word[(JLOW + k) % JWORDS], i->word[(ILOW + k) % IWORDS]));
    }
}

#if SAP_ORDER == 2
/* Operations of spline.h. */
#define v_less             v_lt
#define SAP_NOT_LESS(a, b) v_nlt(a, b)
#define SAP_LARGER(a, b)   v_max(a, b)

/* Returns s/h of the length of square h2; +0 where h2 is practically zero. */
SAP_INLINE V sap_inverse_length(V h2) { return v_keep(v_nlt(h2, v_set1(SAP_COINCIDENT)), root_anywhere(h2)); }

#include "physics/spline.h"

/* Returns the squared length of the j-particle of a pair with spline softening; that of the i-particle is a word. */
SAP_INLINE V length_of_j(const struct source_words *j, V eps2, const struct sap_variant variant)
{
    return variant.soft == 2 ? v_add(j->word[JE], eps2) : eps2;
}

/* Returns whether any pair is within the larger of both lengths, or practically at zero distance. */
SAP_INLINE int any_within(V d2, const struct source_words *j, const struct target_words *i, V eps2,
                          const struct sap_variant variant)
{
    return vm_bits(sap_within(d2, SAP_LARGER(i->close2, length_of_j(j, eps2, variant)))) != 0;
}

/* A pair of which any lane is within a length. */
struct close_pair {
    V d[3], mass, hi2, hj2, sum[SUMS];
    int law;
};

/*
 * Adds the pair to its sums. A function of its own: few pairs need it, and the loop of all others keeps its registers.
 * Roots within the range of single precision have the bits of that loop.
 */
static __attribute__((noinline, cold)) void add_close(struct close_pair *p, VM counts)
{
    const V d2 = sap_distance2(p->d[0], p->d[1], p->d[2]);
    const V u = v_keep(vm_and(counts, v_nlt(d2, v_set1(SAP_COINCIDENT))), root_anywhere(d2));
    sap_pair2_spline(p->sum, p->d, p->mass, u, counts, p->hi2, p->hj2, p->law);
}

/* Second half of such a pair. */
SAP_INLINE void pair_sums_spline(const struct source_words *j, const struct target_words *i, V eps2, int law, V *sum,
                                 const struct sap_variant variant)
{
    struct close_pair p;
    separation(j, i, p.d);
    p.mass = j->word[JM];
    p.hi2 = i->word[IE];
    p.hj2 = length_of_j(j, eps2, variant);
    p.law = law;
    UNROLL
    for (int q = 0; q < SUMS; q++) p.sum[q] = sum[q];
    add_close(&p, variant.skip_own ? vi_ne(j->index, i->index) : v_nlt(v_set1(0.0), v_set1(0.0)));
    UNROLL
    for (int q = 0; q < SUMS; q++) sum[q] = p.sum[q];
}
#endif

/* Adds Plummer's softening to a squared distance, and applies the floor. */
SAP_INLINE V soften(V d2, const struct source_words *j, const struct target_words *i, V eps2,
                    const struct sap_variant variant)
{
    if (variant.spline) return d2;
    const V of_i = v_add(d2, variant.soft ? i->word[IE] : eps2),
            r2 = variant.soft == 2 ? v_add(of_i, j->word[JE]) : of_i;
    if (!has_floor(variant)) return r2;
    return v_max(has_floors(variant) ? v_max(i->floor2, j->floor2) : i->floor2, r2); /* in this order NaN stays */
}

/* Returns the softened squared distance, from the words. */
SAP_INLINE V pair_r2(const struct source_words *j, const struct target_words *i, V eps2,
                     const struct sap_variant variant)
{
    V d[3];
    separation(j, i, d);
    return soften(sap_distance2(d[0], d[1], d[2]), j, i, eps2, variant);
}

#if SAP_MORE_HERE
/* Notes the smallest distance of a block, for variants that count; distances that are not numbers leave it. */
SAP_INLINE void note_distance(const struct source_words *j, const struct target_words *i, V *low)
{
    V d[3];
    separation(j, i, d);
    *low = v_min(sap_distance2(d[0], d[1], d[2]), *low);
}
#else
#define note_distance(j, i, low) (void)(low)
#endif

/*
 * Returns the lanes of candidates, which are excluded from the force: the squared distance, now or at the time ahead,
 * is below reach + m weight, or practically zero. Pairs that are not finite stay. *least gets the smaller square.
 */
SAP_INLINE VM pair_inside(const struct source_words *j, const struct target_words *i, const V *d, V d2, V reach,
                          V weight, V *least)
{
    V ahead[3];
    UNROLL
    for (int k = 0; k < 3; k++) ahead[k] = v_fma(i->word[IT], v_sub(j->word[JV + k], i->word[IV + k]), d[k]);
    *least = v_min(sap_distance2(ahead[0], ahead[1], ahead[2]), d2);
    return v_lt(*least, v_max(v_fma(j->word[JM], weight, reach), v_set1(SAP_TINY_R2)));
}

/*
 * First half of a pair: returns s/R, +0 if the pair does not count. Notes the smallest distance, or of members of lists
 * that leave the sums that of this pair; *hits gets the lanes within reach, *close whether any lane is within the
 * lengths of spline softening.
 */
SAP_INLINE V pair_root(const struct source_words *j, const struct target_words *i, V eps2, V reach, V weight, V *low,
                       unsigned *hits, int *close, const struct sap_variant variant)
{
    V d[3];
    separation(j, i, d);
    const V d2 = sap_distance2(d[0], d[1], d[2]);
    const V r2 = soften(d2, j, i, eps2, variant);
    if (variant.outside) {
        const VM inside = pair_inside(j, i, d, d2, reach, weight, low);
        *hits = vm_bits(inside);
        return v_drop(inside, root_anywhere(r2));
    }
    VM keep = variant.skip_own ? vi_ne(j->index, i->index) : v_nlt(r2, v_set1(0.0));
    if (variant.near & SAP_LISTS) *hits = vm_bits(vm_and(keep, v_lt(d2, reach)));
    if (variant.near & SAP_NEAREST || tells_zero(variant)) *low = v_min_where(keep, *low, d2);
    if (variant.zero) keep = vm_and(keep, v_nlt(r2, v_set1(SAP_COINCIDENT)));
#if SAP_ORDER == 2
    if (variant.spline) *close = any_within(d2, j, i, eps2, variant);
#else
    (void)close;
#endif
    return root_of(r2, keep, variant);
}

/* Second half of a pair: adds its terms. */
SAP_INLINE void pair_sums_plain(const struct source_words *j, const struct target_words *i, V u, V *sum)
{
    V d[3];
    separation(j, i, d);
#if SAP_ORDER == 2
    sap_pair2(sum, d[0], d[1], d[2], j->word[JM], u);
#else
    V dv[3 * HIGHER];
    UNROLL
    for (int k = 0; k < 3 * HIGHER; k++) dv[k] = v_sub(j->word[JV + k], i->word[IV + k]);
#if SAP_ORDER == 4
    sap_pair4(sum, d[0], d[1], d[2], dv[0], dv[1], dv[2], j->word[JM], u);
#elif SAP_ORDER == 6
    sap_pair6(sum, d, dv, dv + 3, j->word[JM], u);
#else
    sap_pair8(sum, d, dv, dv + 3, dv + 6, j->word[JM], u);
#endif
#endif
}

#if SAP_MORE_HERE
/* The same, if the source has second moments. */
SAP_INLINE void pair_sums_quad(const struct source_words *j, const struct target_words *i, V u, V *sum)
{
    V d[3];
    separation(j, i, d);
    sap_pair_cell(sum, d[0], d[1], d[2], j->word[JM], j->quad, j->quad[SAP_QUAD_TRACE], u);
}
#else
#define pair_sums_quad(j, i, u, sum) (void)(sum)
#endif

/* Second half of a pair. close: whether any lane is within the lengths of spline softening; spline: SAP_SPLINE_... */
SAP_INLINE void pair_sums(const struct source_words *j, const struct target_words *i, V u, V eps2, int close,
                          int spline, V *sum, const struct sap_variant variant)
{
#if SAP_ORDER == 2
    if (variant.spline && __builtin_expect(close, 0)) {
        pair_sums_spline(j, i, eps2, spline, sum, variant);
        return;
    }
    if (has_moments(variant)) {
        pair_sums_quad(j, i, u, sum);
        return;
    }
#else
    (void)eps2, (void)close, (void)spline, (void)variant;
#endif
    pair_sums_plain(j, i, u, sum);
}

/*
 * Roots in double have long chains of operations. So in double the two halves run in separate loops over a block of
 * pairs, and the processor finds independent work. The separation is computed twice.
 */
#if defined(SAP_KERNEL_DP)
enum { TWO_LOOPS = 1 };
#else
enum { TWO_LOOPS = 0 };
#endif

/* Merges the smallest distance of a block. */
SAP_INLINE void note_near(V low, VB block, V *best, V *second, VB *at)
{
    const VM closer = v_lt(low, *best);
    *second = v_min(*second, v_max(*best, low));
    *best = v_min(*best, low);
    *at = vb_select(closer, block, *at);
}

#endif
