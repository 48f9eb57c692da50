/*
 * working_float.h - single precision as the working type (sp and ds).
 *
 * Positions are one word (sp) or the unevaluated sum of two (ds).
 */
#ifndef SAP_WORKING_H
#define SAP_WORKING_H

#include <float.h>

typedef F V;
typedef FM VM;
typedef FI VI; /* indices */
typedef FI VB; /* block numbers */
typedef float W;
typedef int32_t WI;

enum { V_LANES = F_LANES, V_HALVES = F_LANES / D_LANES };

/* SAP_KERNEL_FAST: roots are left at their seeds. */
#if defined(SAP_KERNEL_FAST)
#define SAP_ROOT_STEP 0
#else
#define SAP_ROOT_STEP 1
#endif

#define SAP_ROOT_SCALE (SAP_ROOT_STEP && SAP_SEED_BITS > 12 ? 2.0 : 1.0)
#define W_HUGE         FLT_MAX

#define v_set1       f_set1
#define v_load       f_load
#define v_store      f_store
#define v_add        f_add
#define v_sub        f_sub
#define v_mul        f_mul
#define v_fma        f_fma
#define v_fnma       f_fnma
#define v_min        f_min
#define v_max        f_max
#define v_lt         f_lt
#define v_nlt        f_nlt
#define v_keep       f_keep
#define v_drop       f_drop
#define v_min_where  f_min_where
#define v_select     f_select
#define vm_and       fm_and
#define vm_bits      fm_bits
#define vi_set1      fi_set1
#define vi_load      fi_load
#define vi_ne        fi_ne
#define vi_count     fi_count
#define vb_set1(n)   fi_set1((int32_t)(n))
#define vb_load      fi_load
#define vb_store     fi_store
#define vb_select    fi_select
#define v_to_d(x, h) d_from_f(x, h)
#define v_rows       f_rows

/*
 * Returns SAP_ROOT_SCALE / sqrt(r2) from its seed. From a seed of 12 bits, the most that some CPUs have, a Newton step
 * leaves a bias of 1e-7: a third-order step removes it. From a seed of 14 bits, 2/sqrt(r2) = y (3 - r2 y^2) is enough.
 * A correctly rounded seed is only doubled: the step's own roundings would add a bias of 1e-8.
 */
SAP_INLINE V v_root_from(V r2, V y)
{
    if (!SAP_ROOT_STEP) return y;
    if (SAP_SEED_BITS >= 24) return f_add(y, y);
    if (SAP_SEED_BITS > 12) return f_mul(y, f_fnma(f_mul(r2, y), y, f_set1(3.0)));
    const V e = f_fnma(f_mul(r2, y), y, f_set1(1.0));
    return f_fma(f_mul(y, e), f_fma(e, f_set1(0.375), f_set1(0.5)), y);
}

#define v_seed f_rsqrt_seed
SAP_INLINE V v_root(V r2) { return v_root_from(r2, v_seed(r2)); }

/* Returns the root by correctly rounded operations alone: the same on all machines. */
SAP_INLINE V v_root_exact(V r2) { return f_div(f_set1(SAP_ROOT_SCALE), f_sqrt(r2)); }

#endif
