/*
 * ops_neon.h - the named operations of ops_scalar.h in Advanced SIMD (NEON), the baseline of AArch64.
 *
 * The architecture defines the bits of all operations here, those of the seeds too: all processors agree.
 */
#ifndef SAP_OPS_H
#define SAP_OPS_H

#include <arm_neon.h>
#include <stdint.h>

#define SAP_HAVE_OPERATIONS 1
#define SAP_INLINE          static inline __attribute__((always_inline))
#define SAP_SEED_BITS       15 /* of f_rsqrt_seed */

enum { F_LANES = 4, D_LANES = 2 };

typedef float32x4_t F;
typedef int32x4_t FI;
typedef uint32x4_t FM;
typedef float64x2_t D;
typedef int64x2_t DI;
typedef uint64x2_t DM;

/* ---- float ---- */
SAP_INLINE F f_set1(double x) { return vdupq_n_f32((float)x); }
SAP_INLINE F f_load(const float *p) { return vld1q_f32(p); }
SAP_INLINE void f_store(float *p, F x) { vst1q_f32(p, x); }
SAP_INLINE F f_add(F a, F b) { return vaddq_f32(a, b); }
SAP_INLINE F f_sub(F a, F b) { return vsubq_f32(a, b); }
SAP_INLINE F f_mul(F a, F b) { return vmulq_f32(a, b); }
SAP_INLINE F f_fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
SAP_INLINE F f_fnma(F a, F b, F c) { return vfmsq_f32(c, a, b); }
SAP_INLINE FM f_lt(F a, F b) { return vcltq_f32(a, b); }
SAP_INLINE FM f_nlt(F a, F b) { return vmvnq_u32(vcltq_f32(a, b)); }
SAP_INLINE F f_select(FM m, F a, F b) { return vbslq_f32(m, a, b); }
/* The minimum and maximum of the processor have other results for NaN. */
SAP_INLINE F f_min(F a, F b) { return f_select(f_lt(a, b), a, b); }
SAP_INLINE F f_max(F a, F b) { return f_select(f_lt(b, a), a, b); }
SAP_INLINE F f_keep(FM m, F a) { return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), m)); }
SAP_INLINE F f_drop(FM m, F a) { return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(a), m)); }
/* where m is not set, b becomes NaN, which this minimum leaves out */
SAP_INLINE F f_min_where(FM m, F a, F b)
{
    return vminnmq_f32(a, vreinterpretq_f32_u32(vornq_u32(vreinterpretq_u32_f32(b), m)));
}
SAP_INLINE F f_div(F a, F b) { return vdivq_f32(a, b); }
SAP_INLINE F f_sqrt(F a) { return vsqrtq_f32(a); }
/* the estimate has 8 bits; one step of Newton's doubles them */
SAP_INLINE F f_rsqrt_seed(F x)
{
    const F y = vrsqrteq_f32(x);
    return vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(x, y), y));
}
SAP_INLINE FM fm_and(FM a, FM b) { return vandq_u32(a, b); }
/* the sum over lanes of one bit each: in place of the sign bits that other processors collect */
SAP_INLINE unsigned fm_bits(FM m)
{
    const FM bit = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(m, bit));
}
SAP_INLINE FI fi_set1(int32_t i) { return vdupq_n_s32(i); }
SAP_INLINE FI fi_load(const int32_t *p) { return vld1q_s32(p); }
SAP_INLINE void fi_store(int32_t *p, FI x) { vst1q_s32(p, x); }
SAP_INLINE FM fi_ne(FI a, FI b) { return vmvnq_u32(vceqq_s32(a, b)); }
SAP_INLINE FI fi_select(FM m, FI a, FI b) { return vbslq_s32(m, a, b); }
SAP_INLINE FI fi_count(FI n, FM m) { return vsubq_s32(n, vreinterpretq_s32_u32(m)); }

/* ---- double ---- */
SAP_INLINE DM dm_not(DM m) { return vreinterpretq_u64_u32(vmvnq_u32(vreinterpretq_u32_u64(m))); }
SAP_INLINE D d_set1(double x) { return vdupq_n_f64(x); }
SAP_INLINE D d_load(const double *p) { return vld1q_f64(p); }
SAP_INLINE void d_store(double *p, D x) { vst1q_f64(p, x); }
SAP_INLINE D d_add(D a, D b) { return vaddq_f64(a, b); }
SAP_INLINE D d_sub(D a, D b) { return vsubq_f64(a, b); }
SAP_INLINE D d_mul(D a, D b) { return vmulq_f64(a, b); }
SAP_INLINE D d_fma(D a, D b, D c) { return vfmaq_f64(c, a, b); }
SAP_INLINE D d_fnma(D a, D b, D c) { return vfmsq_f64(c, a, b); }
SAP_INLINE DM d_lt(D a, D b) { return vcltq_f64(a, b); }
SAP_INLINE DM d_ge(D a, D b) { return vcgeq_f64(a, b); }
SAP_INLINE DM d_nlt(D a, D b) { return dm_not(vcltq_f64(a, b)); }
SAP_INLINE DM d_gt(D a, D b) { return vcgtq_f64(a, b); }
SAP_INLINE DM d_eq(D a, D b) { return vceqq_f64(a, b); }
SAP_INLINE D d_select(DM m, D a, D b) { return vbslq_f64(m, a, b); }
SAP_INLINE D d_min(D a, D b) { return d_select(d_lt(a, b), a, b); }
SAP_INLINE D d_max(D a, D b) { return d_select(d_lt(b, a), a, b); }
SAP_INLINE D d_keep(DM m, D a) { return vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(a), m)); }
SAP_INLINE D d_drop(DM m, D a) { return vreinterpretq_f64_u64(vbicq_u64(vreinterpretq_u64_f64(a), m)); }
SAP_INLINE D d_min_where(DM m, D a, D b)
{
    return vminnmq_f64(a, vreinterpretq_f64_u64(vornq_u64(vreinterpretq_u64_f64(b), m)));
}
SAP_INLINE D d_div(D a, D b) { return vdivq_f64(a, b); }
SAP_INLINE D d_sqrt(D a) { return vsqrtq_f64(a); }
SAP_INLINE DM dm_and(DM a, DM b) { return vandq_u64(a, b); }
SAP_INLINE int dm_any(DM m) { return vaddvq_u64(m) != 0; } /* 0, -1 or -2 */
SAP_INLINE unsigned dm_bits(DM m)
{
    const DM bit = {1, 2};
    return (unsigned)vaddvq_u64(vandq_u64(m, bit));
}
/* an index fills both halves of its lane */
SAP_INLINE DI di_set1(int32_t i) { return vreinterpretq_s64_s32(vdupq_n_s32(i)); }
SAP_INLINE DI di_load(const int64_t *p) { return vld1q_s64(p); }
SAP_INLINE DM di_ne(DI a, DI b) { return dm_not(vceqq_s64(a, b)); }
SAP_INLINE D d_rsqrt_seed(D x) { return vcvt_f64_f32(vdiv_f32(vdup_n_f32(1.0F), vsqrt_f32(vcvt_f32_f64(x)))); }
SAP_INLINE D d_grid(D x)
{
    return vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(x), vdupq_n_u64(UINT64_C(0x7E00000000000000))));
}

/* ---- rows ---- */
SAP_INLINE D d_of_f(F x) { return vreinterpretq_f64_f32(x); }
SAP_INLINE void f_rows(const float *rows, const int32_t *at, int stride, int word, F *out)
{
    F row[4];
    for (int l = 0; l < 4; l++) row[l] = vld1q_f32(rows + (intptr_t)at[l] * stride + word);
    const D ac = d_of_f(vtrn1q_f32(row[0], row[1])), bd = d_of_f(vtrn2q_f32(row[0], row[1]));
    const D AC = d_of_f(vtrn1q_f32(row[2], row[3])), BD = d_of_f(vtrn2q_f32(row[2], row[3]));
    out[0] = vreinterpretq_f32_f64(vtrn1q_f64(ac, AC));
    out[1] = vreinterpretq_f32_f64(vtrn1q_f64(bd, BD));
    out[2] = vreinterpretq_f32_f64(vtrn2q_f64(ac, AC));
    out[3] = vreinterpretq_f32_f64(vtrn2q_f64(bd, BD));
}
SAP_INLINE void d_rows(const double *rows, const int32_t *at, int stride, int word, D *out)
{
    const double *const a = rows + (intptr_t)at[0] * stride + word, *const b = rows + (intptr_t)at[1] * stride + word;
    for (int w = 0; w < 4; w += 2) {
        const D p = vld1q_f64(a + w), q = vld1q_f64(b + w);
        out[w] = vtrn1q_f64(p, q);
        out[w + 1] = vtrn2q_f64(p, q);
    }
}

/* ---- float and double ---- */
SAP_INLINE D d_from_f(F x, int h) { return h ? vcvt_high_f64_f32(x) : vcvt_f64_f32(vget_low_f32(x)); }
SAP_INLINE F f_from_d(const D *x) { return vcvt_high_f32_f64(vcvt_f32_f64(x[0]), x[1]); }

#endif
