/*
 * words.h - the working type of one precision (SAP_KERNEL_SP, _DS or _DP), for OpenCL C.
 *
 * W is a word.  V is the type a thread computes with: a word on GPUs, a vector of LANES words on CPUs (SAP_VECTORS).
 * VI is the integer of V's size, and the type of comparisons.
 */
#ifndef SAP_WORDS_H
#define SAP_WORDS_H

#include "dialect.h"

#if defined(__NV_CL_C_VERSION) && !SAP_VECTORS
#define SAP_NVIDIA 1 /* use the seeds that NVIDIA GPUs have, and a minimum of one instruction, as in kernels_cuda */
#else
#define SAP_NVIDIA 0
#endif

#if defined(SAP_KERNEL_DP)
typedef double W;
#define W_HUGE           1.7976931348623157e308
#define word_of_index(i) as_double((long)(i))
#define index_of_word(w) ((int)as_long(w))
#if SAP_VECTORS
typedef double8 V, v_total;
typedef long8 VI;
enum { LANES = 8 };
#define v_get(p)      vload8(0, p)
#define v_put(x, p)   vstore8(x, 0, p)
#define vi_get(p)     convert_long8(vload8(0, p))
#define vi_put(x, p)  vstore8(convert_int8(x), 0, p)
#define as_VI         as_long8
#define as_V          as_double8
#define indices_of(v) as_long8(v)
#else
typedef double V, v_total;
#endif
#define v_widened(x) (x)
#else
typedef float W;
#define W_HUGE           3.402823466e38F
#define word_of_index(i) as_float(i)
#define index_of_word(w) as_int(w)
#if SAP_VECTORS
typedef float16 V;
typedef int16 VI;
enum { LANES = 16 };
#define v_get(p)      vload16(0, p)
#define v_put(x, p)   vstore16(x, 0, p)
#define vi_get(p)     vload16(0, p)
#define vi_put(x, p)  vstore16(x, 0, p)
#define as_VI         as_int16
#define as_V          as_float16
#define indices_of(v) as_int16(v)
#else
typedef float V;
#endif
#endif
#if SAP_VECTORS
typedef W part;
#else
typedef int VI;
enum { LANES = 1 };
#define v_get(p)     (*(p))
#define v_put(x, p)  (*(p) = (x))
#define vi_get(p)    (*(p))
#define vi_put(x, p) (*(p) = (x))
#if defined(SAP_KERNEL_DP)
typedef double2 part;
#else
typedef float4 part;
#define make_float4(x, y, z, w) ((float4)(x, y, z, w))
#endif
#endif
typedef VI VM;
typedef int truth;
#define vm_put     vi_put
#define W_INFINITY INFINITY

/* ---- totals of packet sums ---- */
#if SAP_NO_FP64
#define w_of_d float_of_d
#define d_of_w d_of_float

/*
 * A total of two floats, of which the second holds the rounding error of the first: 48 bits (Knuth 1969 and Dekker
 * 1971, sums without errors).  Once the first is infinite, the second has no meaning.
 */
#define SAP_TOTAL(name, T)                                                                                             \
    typedef struct {                                                                                                   \
        T high, low;                                                                                                   \
    } name;                                                                                                            \
    SAP_INLINE name name##_zero(void)                                                                                  \
    {                                                                                                                  \
        const name t = {(T)(0.0F), (T)(0.0F)};                                                                         \
        return t;                                                                                                      \
    }                                                                                                                  \
    SAP_INLINE name name##_add(name t, T x)                                                                            \
    {                                                                                                                  \
        const T sum = t.high + x, more = sum - t.high;                                                                 \
        const T lost = ((t.high - (sum - more)) + (x - more)) + t.low;                                                 \
        const T low = isfinite(sum) ? lost : (T)(0.0F);                                                                \
        name next;                                                                                                     \
        next.high = sum + low;                                                                                         \
        next.low = low - (next.high - sum);                                                                            \
        return next;                                                                                                   \
    }
SAP_TOTAL(w_total, W)
SAP_INLINE D record_of(w_total t) { return (D)as_uint(t.high) << 32 | as_uint(t.low); }
#if SAP_VECTORS
SAP_TOTAL(v_total, V)
SAP_INLINE void v_total_put(v_total t, D *to)
{
    W high[LANES], low[LANES];
    v_put(t.high, high);
    v_put(t.low, low);
    for (int lane = 0; lane < LANES; lane++) {
        const w_total one = {high[lane], low[lane]};
        to[lane] = record_of(one);
    }
}
#else
typedef w_total v_total;
#define v_total_zero       w_total_zero
#define v_total_add        w_total_add
#define v_total_put(t, to) (*(to) = record_of(t))
#endif
#else
SAP_INLINE W w_of_d(D x) { return (W)x; }
SAP_INLINE D d_of_w(W x) { return (D)x; }
typedef D w_total;
SAP_INLINE w_total w_total_zero(void) { return d_set1(SAP_ZERO); }
#if SAP_NVIDIA
SAP_INLINE w_total w_total_add(w_total t, W x) { return d_add(t, d_of_w(x)); }
#else
/* The same bits: Intel's compiler for CPUs changes the order of sums in loops, but not of fused operations. */
SAP_INLINE w_total w_total_add(w_total t, W x) { return fma(d_of_w(x), 1.0, t); }
#endif
SAP_INLINE D record_of(w_total t) { return t; }
#if defined(SAP_KERNEL_DP) /* v_total is defined above */
#elif SAP_VECTORS
typedef double16 v_total;
#define v_widened convert_double16
#else
typedef D v_total;
#define v_widened d_of_w
#endif
SAP_INLINE v_total v_total_zero(void) { return (v_total)(SAP_ZERO); }
SAP_INLINE v_total v_total_add(v_total t, V x) { return t + v_widened(x); }
#define v_total_put v_put
#endif

#define v_set1(x)  ((V)(W)(x))
#define v_word(x)  ((V)(x))
#define vi_set1(x) ((VI)(x))
SAP_INLINE V v_add(V a, V b) { return a + b; }
SAP_INLINE V v_sub(V a, V b) { return a - b; }
SAP_INLINE V v_mul(V a, V b) { return a * b; }
SAP_INLINE V v_fma(V a, V b, V c) { return fma(a, b, c); }
SAP_INLINE V v_fnma(V a, V b, V c) { return fma(-a, b, c); }
#if SAP_NVIDIA && !defined(SAP_KERNEL_DP)
#define v_min fmin
#else
SAP_INLINE V v_min(V a, V b) { return a < b ? a : b; }
#endif
SAP_INLINE V v_larger(V a, V b) { return a > b ? a : b; }
SAP_INLINE V v_smaller(V a, V b) { return a < b ? a : b; }
SAP_INLINE VM v_less(V a, V b) { return a < b; }
#define v_select(m, a, b)  ((m) ? (a) : (b))
#define vi_select(m, a, b) ((m) ? (a) : (b))

/* The truth of a scalar is any number but 0, of a vector lane -1. */
SAP_INLINE VM vm_set1(int x) { return (VM)(x ? -1 : 0); }
SAP_INLINE VM vm_or(VM a, VM b) { return a | b; }
SAP_INLINE VM vm_and(VM a, VM b) { return a & b; }
SAP_INLINE VM vm_and_not(VM a, VM b) { return b ? (VM)0 : a; }
#if SAP_VECTORS
#define vm_any any
#else
#define vm_any(m) ((m) != 0)
#endif
/* Returns whether a pair counts: its indices differ, or `any` is set. */
typedef VI any_index;
#define any_set vi_set1
SAP_INLINE VM vi_differ(VI a, VI b, any_index any) { return ((a ^ b) | any) != 0; }

/* Notes for an element whether a < b, in bit 31 - element; the mask of scalars is shifted by a bit each time. */
SAP_INLINE VI vi_note(VI mask, int element, V a, V b)
{
#if SAP_VECTORS
    return mask | ((a < b) ? (VI)(int)(0x80000000U >> element) : (VI)0);
#elif defined(SAP_KERNEL_DP)
    return mask << 1 | (a < b);
#else
    return (int)((uint)mask << 1 | as_uint(a - b) >> 31);
#endif
}

/* Improves y, an estimate of 1/sqrt(r2), by one third-order step: the error becomes of order (y's error)^3. */
SAP_INLINE V v_root_from(V r2, V y)
{
    const V e = v_fnma(v_mul(r2, y), y, v_set1(1.0));
    return v_fma(v_mul(y, e), v_fma(e, v_set1(0.375), v_set1(0.5)), y);
}

#if SAP_VECTORS && defined(SAP_KERNEL_DP)
/*
 * Returns 1/sqrt(r2) from a seed made by halving the exponent, good to 3.5 %, and three steps.  OpenCL C has no
 * instruction for a seed.
 */
SAP_INLINE V v_root(V r2)
{
    const V y = as_V((VI)0x5FE6EB50C7B537A9L - (as_VI(r2) >> 1));
    return v_root_from(r2, v_root_from(r2, v_root_from(r2, y)));
}
#elif SAP_VECTORS
SAP_INLINE V v_root(V r2)
{
    const V y = as_V((VI)0x5F375A86 - (as_VI(r2) >> 1));
    return v_root_from(r2, v_root_from(r2, y));
}
#elif SAP_NVIDIA && defined(SAP_KERNEL_DP)
SAP_INLINE V v_root(V r2)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(r2));
    return v_root_from(r2, y);
}
#elif SAP_NVIDIA
/* Returns 1/sqrt(r2), or +0, which is the value for infinity, for a pair that does not count. */
SAP_INLINE V v_root_kept(VM keep, V r2)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(keep ? r2 : W_INFINITY));
    return y;
}
#elif defined(SAP_KERNEL_DP)
SAP_INLINE V v_root(V r2)
{
    /* outside the range of single precision the seed is made in double */
    const int inside = r2 >= 0x1p-126 && r2 < 0x1p126;
    return v_root_from(r2, inside ? (double)rsqrt((float)r2) : 1.0 / sqrt(r2));
}
#else
SAP_INLINE V v_root(V r2) { return rsqrt(r2); }
#endif

#if !SAP_NVIDIA || defined(SAP_KERNEL_DP)
/* Returns 1/sqrt(r2), or +0 for a pair that does not count. */
SAP_INLINE V v_root_kept(VM keep, V r2) { return v_select(keep, v_root(r2), v_set1(0.0)); }
#endif

#if !SAP_NO_FP64
/*
 * Return the square root and the reciprocal of a float, correctly rounded; OpenCL's own need not be.  They compare an
 * estimate with its two neighbours.  A root s is right if s (s - ulp) < x <= s (s + ulp); a reciprocal is right if its
 * residual is smallest.  Residuals are exact, because they are fused.  x must be at least 2^-126.
 */
SAP_INLINE float exact_sqrt(float x)
{
    if (!(x < INFINITY)) return x;
    float s = sqrt(x);
    s = fma(fma(-s, s, x), 0.5F / s, s);
    const float below = as_float(as_int(s) - 1), above = as_float(as_int(s) + 1);
    return fma(-s, below, x) <= 0 ? below : fma(-s, above, x) > 0 ? above : s;
}

SAP_INLINE float exact_reciprocal(float s)
{
    if (!(s < INFINITY)) return s > 0 ? 0 : s;
    float r = 1 / s;
    r = fma(fma(-s, r, 1.0F), r, r);
    const float below = as_float(as_int(r) - 1), above = as_float(as_int(r) + 1);
    const float off = fabs(fma(-s, r, 1.0F));
    return fabs(fma(-s, below, 1.0F)) < off ? below : fabs(fma(-s, above, 1.0F)) < off ? above : r;
}

#if defined(SAP_KERNEL_DP)
/* Returns 1/sqrt(r2), r2 >= 2^-1022, by correctly rounded operations: v_root_wide of cpu_sse/working_double.h. */
SAP_INLINE W exact_root(W r2)
{
    const int inside = r2 >= 0x1p-126 && r2 < 0x1p126;
    const double y = inside ? (double)exact_reciprocal(exact_sqrt((float)r2)) : 1.0 / sqrt(r2);
    const double e = fma(-(r2 * y), y, 1.0);
    return fma(y * e, fma(e, 0.375, 0.5), y);
}
#else
/* Returns the same for r2 >= 2^-126: v_root_exact of cpu_sse/working_float.h. */
SAP_INLINE W exact_root(W r2) { return exact_reciprocal(exact_sqrt(r2)); }
#endif
#endif

#define MANY_KERNEL(ipt, near) KERNEL(128)

#endif
