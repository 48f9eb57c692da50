/*
 * words.h - the working type of one precision (SAP_KERNEL_SP, _DS or _DP), for CUDA.
 *
 * W is a word.  V, the type a thread computes with, is also one word, and VI is an integer.  VM is the type of
 * comparisons.  Packet sums are added in a w_total (of a word) or a v_total, which is a double or has nearly its
 * precision.
 */
#ifndef SAP_WORDS_H
#define SAP_WORDS_H

#include "dialect.h"

enum { LANES = 1 };
typedef int VI;
typedef bool VM, truth; /* truth: the mask of one lane */
typedef D w_total, v_total;

SAP_INLINE VM vm_set1(int x) { return x != 0; }
SAP_INLINE VM vm_or(VM a, VM b) { return a | b; }
SAP_INLINE VM vm_and(VM a, VM b) { return a & b; }
SAP_INLINE VM vm_and_not(VM a, VM b) { return a & !b; }
SAP_INLINE int vm_any(VM m) { return m; }
SAP_INLINE VI vi_set1(int x) { return x; }
SAP_INLINE VI vi_select(VM m, VI a, VI b) { return m ? a : b; }
#define v_get(p)    (*(p))
#define v_put(x, p) (*(p) = (x))
#define vi_get      v_get
#define vi_put      v_put
#define vm_put      v_put

#if defined(SAP_KERNEL_DP)

typedef D W, V;
typedef double2 part;
#define W_HUGE     1.7976931348623157e308
#define W_INFINITY __longlong_as_double(0x7FF0000000000000)
SAP_INLINE V v_set1(double x) { return x; }
SAP_INLINE W w_of_d(D x) { return x; }
SAP_INLINE D d_of_w(W x) { return x; }
#define v_add    d_add
#define v_sub    d_sub
#define v_mul    d_mul
#define v_fma    d_fma
#define v_fnma   d_fnma
#define v_min    d_min
#define v_larger d_max

/*
 * Returns whether a pair counts: its indices differ, or `any` is set.  In double, compilers make the faster loops from
 * a truth.
 */
typedef VM any_index;
#define any_set vm_set1
SAP_INLINE VM vi_differ(VI a, VI b, any_index any) { return (a != b) | any; }

/*
 * Returns 1/sqrt(r2), or +0 for a pair that does not count.  It does one third-order step from the seed, so the error
 * is of the order of the seed's error cubed.
 */
SAP_INLINE V v_root_kept(VM keep, V r2)
{
    const V y = d_rsqrt_seed(r2);
    const V e = d_fnma(d_mul(r2, y), y, 1.0);
    const V u = d_fma(d_mul(y, e), d_fma(e, 0.375, 0.5), y);
    return keep ? u : 0.0;
}

/* Returns 1/sqrt(r2), r2 >= 2^-1022, by correctly rounded operations: v_root_wide of cpu_sse/working_double.h. */
SAP_INLINE W exact_root(W r2)
{
    const int inside = r2 >= 0x1p-126 && r2 < 0x1p126;
    const D y = inside ? (D)__frcp_rn(__fsqrt_rn((F)r2)) : d_div(1.0, d_sqrt(r2));
    const D e = d_fnma(d_mul(r2, y), y, 1.0);
    return d_fma(d_mul(y, e), d_fma(e, 0.375, 0.5), y);
}

SAP_INLINE W word_of_index(int index) { return __hiloint2double(0, index); }
SAP_INLINE int index_of_word(W w) { return __double2loint(w); }
SAP_INLINE unsigned sign_word(V x) { return (unsigned)__double2hiint(x); } /* its highest bit is the sign */

#else

typedef F W, V;
typedef float4 part;
#define W_HUGE     3.402823466e38F
#define W_INFINITY __int_as_float(0x7F800000)
SAP_INLINE V v_set1(double x) { return (F)x; }
SAP_INLINE W w_of_d(D x) { return (F)x; }
SAP_INLINE D d_of_w(W x) { return (D)x; }
#define v_add      f_add
#define v_sub      f_sub
#define v_mul      f_mul
#define v_fma      f_fma
#define v_fnma     f_fnma
#define v_min      f_min
#define v_larger   fmaxf
#define v_smaller  fminf

/*
 * Returns whether a pair counts: its indices differ, or `any` is set.  An integer takes one instruction, where a truth
 * would make two loops or a branch per pair.
 */
typedef VI any_index;
#define any_set    vi_set1
SAP_INLINE VM vi_differ(VI a, VI b, any_index any) { return ((a ^ b) | any) != 0; }

/* Returns 1/sqrt(r2), or +0, which is the value for infinity, for a pair that does not count. */
SAP_INLINE V v_root_kept(VM keep, V r2) { return f_rsqrt(keep ? r2 : W_INFINITY); }

/* Returns 1/sqrt(r2), r2 >= 2^-126, by correctly rounded operations alone: v_root_exact of cpu_sse/working_float.h. */
SAP_INLINE W exact_root(W r2) { return __frcp_rn(__fsqrt_rn(r2)); }

SAP_INLINE W word_of_index(int index) { return __int_as_float(index); }
SAP_INLINE int index_of_word(W w) { return __float_as_int(w); }
SAP_INLINE unsigned sign_word(V x) { return __float_as_uint(x); }

#endif

SAP_INLINE VM v_less(V a, V b) { return a < b; }
/* Notes for the next element whether a < b: shifts the result into the mask as its lowest bit. */
SAP_INLINE VI vi_note(VI mask, int element, V a, V b)
{
    (void)element;
    return (int)__funnelshift_l(sign_word(v_sub(a, b)), (unsigned)mask, 1);
}

#define v_select(m, a, b) ((m) ? (a) : (b))

SAP_INLINE w_total w_total_zero(void) { return d_set1(SAP_ZERO); }
SAP_INLINE w_total w_total_add(w_total t, W x) { return d_add(t, d_of_w(x)); }
SAP_INLINE D record_of(w_total t) { return t; }
#define v_total_zero w_total_zero
#define v_total_add  w_total_add
#define v_total_put  v_put /* writes the total of each lane, as a record */

/*
 * Groups of a many-target kernel that a multiprocessor must be able to hold, 0: the compiler decides.  In double more
 * warps than the compiler's choice are needed to hide the latency of operations.  In orders 6 and 8 it is as many as
 * there are registers for.
 */
#if defined(SAP_KERNEL_DP)
#define MANY_GROUPS_HIGH(near)     (SAP_KERNEL_ORDER == 6 && (near) == 0 ? 4 : 3)
#define MANY_GROUPS_LOW(ipt, near) ((ipt) == 1 && (near) == 0 ? 7 : (ipt) == 2 && (near) > 3 ? 2 : 0)
#define MANY_GROUPS(ipt, near)     (SAP_KERNEL_ORDER > 4 ? MANY_GROUPS_HIGH(near) : MANY_GROUPS_LOW(ipt, near))
#else
#define MANY_GROUPS(ipt, near) (SAP_KERNEL_ORDER > 4 ? (SAP_KERNEL_ORDER == 6 ? 5 : 4) : 0)
#endif
#define MANY_KERNEL(ipt, near) KERNEL_DENSE(128, MANY_GROUPS(ipt, near))

#endif
