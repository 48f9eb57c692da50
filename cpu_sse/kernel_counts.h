/*
 * kernel_counts.h - what lists of batches ask for beside forces of masses, in `sp` and `ds`: bounds of squared radii
 * for counts of neighbours, and second moments.  A part of force_kernel.h.
 *
 * A source counts if its squared distance from the target, in double, is less than the larger of both squared radii.
 * Kernels compare distances in single precision with two bounds of each radius: all pairs below the first bound count,
 * none at or above the second one does.  The larger of the bounds of both radii is a bound for the pair.  Where both
 * bounds give different numbers for a target, the CPU engine counts its sources in double (lib/cpu/cpu_batch.c).
 */
#ifndef SAP_KERNEL_COUNTS_H
#define SAP_KERNEL_COUNTS_H

#if SAP_ORDER == 2 && !defined(SAP_KERNEL_DP) && !defined(SAP_KERNEL_FAST)
#define SAP_MORE_HERE 1
#else
#define SAP_MORE_HERE 0
#endif

/* Whether a variant has a floor of the distance, which may be 0, whether it counts, and whether sources have moments.
 */
SAP_INLINE int has_floor(const struct sap_variant variant) { return SAP_MORE_HERE && variant.more; }
SAP_INLINE int has_counts(const struct sap_variant variant) { return SAP_MORE_HERE && variant.more & SAP_COUNTS; }
SAP_INLINE int has_floors(const struct sap_variant variant) { return SAP_MORE_HERE && variant.more & SAP_FLOORS; }
SAP_INLINE int has_moments(const struct sap_variant variant) { return SAP_MORE_HERE && variant.more & SAP_QUAD; }

#if SAP_MORE_HERE
/*
 * Computes the bounds of the squared radius h2 of a particle at x.  With the unit roundoff u = 2^-24, a separation d of
 * particles at x and x + d has the error 2 u (|x| + |d|) in single precision, and its square has four roundings.  With
 * two words per coordinate the error of x is 16 u^2 |x| at most.  So bounds that are monotonic in |d| need the radius
 * alone.  Margins are twice as large, and |x| is bounded by the sum of its coordinates.  A particle without radius has
 * bounds below zero.
 */
SAP_INLINE void find_bounds(const D *x, D h2, D *bound)
{
    const D zero = d_set1(0.0), one = d_set1(1.0), error = d_set1(0x1p-22), least = d_set1(0x1p-130);
    const D radius = d_sqrt(h2);
    const D of_x = d_set1(LOW ? 0x1p-20 : 1.0); /* error of x over that of d */
    D size = radius;
    UNROLL
    for (int axis = 0; axis < 3; axis++) size = d_fma(of_x, d_max(x[axis], d_sub(zero, x[axis])), size);
    const D low = d_max(d_fnma(error, size, radius), zero), high = d_fma(error, size, radius);
    const DM has = d_lt(zero, h2);
    bound[0] = d_select(has, d_sub(d_mul(d_mul(low, low), d_sub(one, error)), least), d_set1(-1.0));
    bound[1] = d_select(has, d_add(d_mul(d_mul(high, high), d_add(one, error)), least), d_set1(-1.0));
}

/* Writes the bounds of 16 consecutive addresses. */
SAP_INLINE void write_bounds(const struct sap_columns *c, int block, W *to)
{
    for (int f = 0; f < hidden(VECTORS); f++) {
        D bound[2][V_HALVES];
        UNROLL
        for (int h = 0; h < V_HALVES; h++) {
            const ptrdiff_t lane = f * V_LANES + h * D_LANES, at = (ptrdiff_t)block * 3 * LANES + lane;
            D x[3], both[2];
            for (int axis = 0; axis < 3; axis++) x[axis] = d_load(c->derivative[0] + at + (ptrdiff_t)axis * LANES);
            find_bounds(x, d_load(c->h2 + (ptrdiff_t)block * LANES + lane), both);
            bound[0][h] = both[0], bound[1][h] = both[1];
        }
        for (int k = 0; k < 2; k++) v_store(to + k * TILE + f * V_LANES, f_from_d(bound[k]));
    }
}

/* Writes the second moments of 16 consecutive addresses. */
SAP_INLINE void write_quad(const struct sap_columns *c, int block, W *to)
{
    const double *from = c->quad + (ptrdiff_t)block * LANES * SAP_QUAD_WORDS;
    for (int l = 0; l < LANES; l++, from += SAP_QUAD_WORDS)
        for (int k = 0; k < SAP_QUAD_WORDS; k++) to[l * QUAD_PACKET + k] = (W)from[k];
}

/* Starts the counts of a group. */
static void start_counts(struct sap_group *g, const struct sap_i *i, int from, int n)
{
    _Alignas(64) double x[3][GROUP], h2[GROUP], bound[2][GROUP];
    for (int lane = 0; lane < GROUP; lane++) {
        const int k = from + (lane < n ? lane : 0);
        for (int axis = 0; axis < 3; axis++) x[axis][lane] = i->x[k][axis];
        h2[lane] = i->h2[k];
    }
    for (int h = 0; h < GROUP; h += D_LANES) {
        const D at[3] = {d_load(x[0] + h), d_load(x[1] + h), d_load(x[2] + h)};
        D both[2];
        find_bounds(at, d_load(h2 + h), both);
        for (int k = 0; k < 2; k++) d_store(bound[k] + h, both[k]);
    }
    for (int k = 0; k < 2; k++)
        for (int lane = 0; lane < GROUP; lane++) g->within[k][lane] = (float)bound[k][lane], g->count[k][lane] = 0;
}
#endif

#endif
