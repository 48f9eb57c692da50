/*
 * kernel_counts.h - what lists of batches ask for beside forces of masses, in `sp` and `ds`: bounds of squared radii
 * for counts of neighbours, and second moments.  A part of force_kernel.h.
 *
 * Where both bounds of the radii (physics/radius_bounds.h) give different numbers for a target, the CPU engine counts
 * its sources in double (lib/cpu/cpu_batch.c).
 */
#ifndef SAP_KERNEL_COUNTS_H
#define SAP_KERNEL_COUNTS_H

#if SAP_ORDER == 2 && !defined(SAP_KERNEL_DP)
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
#include "physics/radius_bounds.h"

/* Writes the bounds of 16 consecutive addresses, and the largest upper bounds of their block of each packet. */
SAP_INLINE void write_bounds(const struct sap_columns *c, int block, W *tile)
{
    W *const to = tile + AT_BOUNDS + (ptrdiff_t)block * LANES;
    for (int f = 0; f < hidden(VECTORS); f++) {
        D bound[2][V_HALVES];
        UNROLL
        for (int h = 0; h < V_HALVES; h++) {
            const ptrdiff_t lane = f * V_LANES + h * D_LANES, at = (ptrdiff_t)block * 3 * LANES + lane;
            D x[3], both[2];
            for (int axis = 0; axis < 3; axis++) x[axis] = d_load(c->derivative[0] + at + (ptrdiff_t)axis * LANES);
            sap_radius_bounds(LOW, x, d_load(c->h2 + (ptrdiff_t)block * LANES + lane), both);
            bound[0][h] = both[0], bound[1][h] = both[1];
        }
        for (int k = 0; k < 2; k++) v_store(to + k * TILE + f * V_LANES, f_from_d(bound[k]));
        W *const most = tile + AT_WITHIN + block / SAP_BLOCK * LANES + f * V_LANES;
        const V upper = v_load(to + TILE + f * V_LANES);
        v_store(most, block % SAP_BLOCK ? v_max(v_load(most), upper) : upper);
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
        sap_radius_bounds(LOW, at, d_load(h2 + h), both);
        for (int k = 0; k < 2; k++) d_store(bound[k] + h, both[k]);
    }
    for (int k = 0; k < 2; k++)
        for (int lane = 0; lane < GROUP; lane++) g->within[k][lane] = (float)bound[k][lane], g->count[k][lane] = 0;
}
#endif

#endif
