/*
 * outside.h - the term of a pair that a force kernel left out as a candidate for a list, but that is no member of the
 * list: in double, from canonical positions, by the same kernel source of the interaction as all pairs
 * (lib/cpu/cpu_outside.c is the CPU's version).
 */
#ifndef SAP_DEVICE_OUTSIDE_H
#define SAP_DEVICE_OUTSIDE_H

#include "device/store.h"

typedef D V;
#define v_add          d_add
#define v_sub          d_sub
#define v_mul          d_mul
#define SAP_ROOT_SCALE 1.0
#ifdef SAP_BITS
/* Multiply-add rounds twice, and the root has 60 bits: results on these devices have a kind of their own. */
#define v_set1(x)       d_of_float((float)(x))
#define v_fma(a, b, c)  d_add(d_mul(a, b), c)
#define v_fnma(a, b, c) d_sub(c, d_mul(a, b))
SAP_INLINE D inverse_root(D r2)
{
    const D y = d_of_float(rsqrt(float_of_d(r2)));
    const D e = d_sub(d_set1(SAP_ONE), d_mul(d_mul(r2, y), y));
    return d_add(y, d_mul(d_mul(y, e), d_add(d_set1(SAP_HALF), d_mul(d_set1(SAP_THREE_EIGHTHS), e))));
}
#else
#define v_set1(x) d_set1(x)
#define v_fma     d_fma
#define v_fnma    d_fnma
SAP_INLINE D inverse_root(D r2) { return d_div(d_set1(SAP_ONE), d_sqrt(r2)); }
#endif

#include "physics/interaction.h"

/*
 * Computes term q of the pair of i (two units) and local address `at`; returns 0 if the pair is skipped because it is
 * at zero distance.
 */
SAP_INLINE int outside_pair(const GLOBAL D *store, const struct sap_gpu_force *f, const struct sap_gpu_outside *outside,
                            const GLOBAL struct sap_gpu_i *i, int at, int q, D *term)
{
    D sum[SAP_SUMS4];
    const int sp = at / SAP_GPU_SUPERPACKET, a = at % SAP_GPU_SUPERPACKET;
    const D mass = store_at(store, f->columns, sp, a)[SAP_GPU_MASS * SAP_GPU_SUPERPACKET];
    D x[3], v[3];
    predict_position(store, f, sp, a, x, v);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        x[k] = d_sub(x[k], i[0].x[k]);
        v[k] = d_sub(v[k], i[1].x[k]);
    }
#pragma unroll
    for (int k = 0; k < SAP_SUMS4; k++) sum[k] = d_set1(SAP_ZERO);
    const D r2 = d_add(sap_distance2(x[0], x[1], x[2]), f->eps2);
    sap_pair4(sum, x[0], x[1], x[2], v[0], v[1], v[2], mass, inverse_root(r2));
    *term = sum[0];
#pragma unroll
    for (int k = 1; k < SAP_SUMS4; k++) *term = k == q ? sum[k] : *term; /* registers cannot be indexed */
    return d_ge(r2, outside->coincident);
}

#endif
