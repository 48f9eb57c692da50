/* working_double.h - double precision as the working type (dp). */
#ifndef SAP_WORKING_H
#define SAP_WORKING_H

#include <float.h>

typedef D V;
typedef DM VM;
typedef DI VI;
typedef D VB; /* block numbers as doubles: exact, and every path can select them */
typedef double W;
typedef int64_t WI;

enum { V_LANES = D_LANES, V_HALVES = 1 };

#define SAP_ROOT_SCALE 1.0
#define W_HUGE         DBL_MAX

#define v_set1       d_set1
#define v_load       d_load
#define v_store      d_store
#define v_add        d_add
#define v_sub        d_sub
#define v_mul        d_mul
#define v_fma        d_fma
#define v_fnma       d_fnma
#define v_min        d_min
#define v_max        d_max
#define v_lt         d_lt
#define v_nlt        d_nlt
#define v_keep       d_keep
#define v_drop       d_drop
#define v_min_where  d_min_where
#define v_select     d_select
#define vm_and       dm_and
#define vm_bits      dm_bits
#define vi_set1      di_set1
#define vi_load      di_load
#define vi_ne        di_ne
#define vb_set1(n)   d_set1((double)(n))
#define vb_load      d_load
#define vb_store     d_store
#define vb_select    d_select
#define v_to_d(x, h) (x)
#define v_rows       d_rows

/* Returns 1/sqrt(r2) from y, accurate to single precision: one third-order step, error of order (y's error)^3. */
SAP_INLINE V v_root_from(V r2, V y)
{
    const V e = d_fnma(d_mul(r2, y), y, d_set1(1.0));
    return d_fma(d_mul(y, e), d_fma(e, d_set1(0.375), d_set1(0.5)), y);
}

#define v_seed d_rsqrt_seed
SAP_INLINE V v_root(V r2) { return v_root_from(r2, v_seed(r2)); }

/* A root made of correctly rounded operations. */
#define v_root_exact v_root

/*
 * Returns the root of any r2 > 0: outside the range of single precision the seed is computed in double. Few vectors
 * need that, and its division and root take as long as the rest of a pair.
 */
SAP_INLINE V v_root_wide(V r2)
{
    const DM inside = dm_and(d_ge(r2, d_set1(SAP_TINY_R2)), d_lt(r2, d_set1(0x1p126)));
    if (__builtin_expect(dm_bits(inside) == (1U << D_LANES) - 1, 1)) return v_root(r2);
    const V seed = d_select(inside, d_rsqrt_seed(r2), d_div(d_set1(1.0), d_sqrt(r2)));
    return v_root_from(r2, seed);
}

#endif
