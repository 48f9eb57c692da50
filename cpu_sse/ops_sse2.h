/* ops_sse2.h - the named operations of ops_scalar.h in SSE2, the baseline of x86-64. */
#ifndef SAP_OPS_H
#define SAP_OPS_H

#include <emmintrin.h>
#include <stdint.h>

#define SAP_HAVE_OPERATIONS 1
#define SAP_INLINE          static inline __attribute__((always_inline))
#define SAP_SEED_BITS       12 /* of f_rsqrt_seed */

enum { F_LANES = 4, D_LANES = 2 };

typedef __m128 F;
typedef __m128i FI;
typedef __m128 FM;
typedef __m128d D;
typedef __m128i DI;
typedef __m128d DM;

/* ---- float ---- */
SAP_INLINE F f_set1(double x) { return _mm_set1_ps((float)x); }
SAP_INLINE F f_load(const float *p) { return _mm_load_ps(p); }
SAP_INLINE void f_store(float *p, F x) { _mm_store_ps(p, x); }
SAP_INLINE F f_add(F a, F b) { return _mm_add_ps(a, b); }
SAP_INLINE F f_sub(F a, F b) { return _mm_sub_ps(a, b); }
SAP_INLINE F f_mul(F a, F b) { return _mm_mul_ps(a, b); }
SAP_INLINE F f_fma(F a, F b, F c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
SAP_INLINE F f_fnma(F a, F b, F c) { return _mm_sub_ps(c, _mm_mul_ps(a, b)); }
SAP_INLINE F f_min(F a, F b) { return _mm_min_ps(a, b); }
SAP_INLINE F f_max(F a, F b) { return _mm_max_ps(a, b); }
SAP_INLINE FM f_lt(F a, F b) { return _mm_cmplt_ps(a, b); }
SAP_INLINE FM f_nlt(F a, F b) { return _mm_cmpnlt_ps(a, b); }
SAP_INLINE F f_keep(FM m, F a) { return _mm_and_ps(m, a); }
/* where m is not set, b becomes NaN and min returns its second operand */
SAP_INLINE F f_drop(FM m, F a) { return _mm_andnot_ps(m, a); }
SAP_INLINE F f_select(FM m, F a, F b) { return _mm_or_ps(_mm_and_ps(m, a), _mm_andnot_ps(m, b)); }
SAP_INLINE F f_min_where(FM m, F a, F b)
{
    return _mm_min_ps(_mm_or_ps(_mm_andnot_ps(m, _mm_castsi128_ps(_mm_set1_epi32(-1))), b), a);
}
SAP_INLINE F f_div(F a, F b) { return _mm_div_ps(a, b); }
SAP_INLINE F f_sqrt(F a) { return _mm_sqrt_ps(a); }
SAP_INLINE F f_rsqrt_seed(F x) { return _mm_rsqrt_ps(x); }
SAP_INLINE FM fm_and(FM a, FM b) { return _mm_and_ps(a, b); }
SAP_INLINE unsigned fm_bits(FM m) { return (unsigned)_mm_movemask_ps(m); }
SAP_INLINE FI fi_set1(int32_t i) { return _mm_set1_epi32(i); }
SAP_INLINE FI fi_load(const int32_t *p) { return _mm_load_si128((const __m128i *)(const void *)p); }
SAP_INLINE void fi_store(int32_t *p, FI x) { _mm_store_si128((__m128i *)(void *)p, x); }
SAP_INLINE FM fi_ne(FI a, FI b) { return _mm_castsi128_ps(_mm_xor_si128(_mm_cmpeq_epi32(a, b), _mm_set1_epi32(-1))); }
SAP_INLINE FI fi_select(FM m, FI a, FI b)
{
    const __m128i k = _mm_castps_si128(m);
    return _mm_or_si128(_mm_and_si128(k, a), _mm_andnot_si128(k, b));
}
SAP_INLINE FI fi_count(FI n, FM m) { return _mm_sub_epi32(n, _mm_castps_si128(m)); }

/* ---- double ---- */
SAP_INLINE D d_set1(double x) { return _mm_set1_pd(x); }
SAP_INLINE D d_load(const double *p) { return _mm_load_pd(p); }
SAP_INLINE void d_store(double *p, D x) { _mm_store_pd(p, x); }
SAP_INLINE D d_add(D a, D b) { return _mm_add_pd(a, b); }
SAP_INLINE D d_sub(D a, D b) { return _mm_sub_pd(a, b); }
SAP_INLINE D d_mul(D a, D b) { return _mm_mul_pd(a, b); }
SAP_INLINE D d_fma(D a, D b, D c) { return _mm_add_pd(_mm_mul_pd(a, b), c); }
SAP_INLINE D d_fnma(D a, D b, D c) { return _mm_sub_pd(c, _mm_mul_pd(a, b)); }
SAP_INLINE D d_min(D a, D b) { return _mm_min_pd(a, b); }
SAP_INLINE D d_max(D a, D b) { return _mm_max_pd(a, b); }
SAP_INLINE DM d_lt(D a, D b) { return _mm_cmplt_pd(a, b); }
SAP_INLINE DM d_ge(D a, D b) { return _mm_cmpge_pd(a, b); }
SAP_INLINE DM d_nlt(D a, D b) { return _mm_cmpnlt_pd(a, b); }
SAP_INLINE DM d_gt(D a, D b) { return _mm_cmpgt_pd(a, b); }
SAP_INLINE DM d_eq(D a, D b) { return _mm_cmpeq_pd(a, b); }
SAP_INLINE D d_keep(DM m, D a) { return _mm_and_pd(m, a); }
SAP_INLINE D d_drop(DM m, D a) { return _mm_andnot_pd(m, a); }
SAP_INLINE D d_select(DM m, D a, D b) { return _mm_or_pd(_mm_and_pd(m, a), _mm_andnot_pd(m, b)); }
SAP_INLINE D d_min_where(DM m, D a, D b)
{
    return _mm_min_pd(_mm_or_pd(_mm_andnot_pd(m, _mm_castsi128_pd(_mm_set1_epi32(-1))), b), a);
}
SAP_INLINE D d_div(D a, D b) { return _mm_div_pd(a, b); }
SAP_INLINE D d_sqrt(D a) { return _mm_sqrt_pd(a); }
SAP_INLINE DM dm_and(DM a, DM b) { return _mm_and_pd(a, b); }
SAP_INLINE int dm_any(DM m) { return _mm_movemask_pd(m) != 0; }
SAP_INLINE unsigned dm_bits(DM m) { return (unsigned)_mm_movemask_pd(m); }
SAP_INLINE DI di_set1(int32_t i) { return _mm_set1_epi32(i); } /* an index fills both halves of its lane */
SAP_INLINE DI di_load(const int64_t *p) { return _mm_load_si128((const __m128i *)(const void *)p); }
SAP_INLINE DM di_ne(DI a, DI b) { return _mm_castsi128_pd(_mm_xor_si128(_mm_cmpeq_epi32(a, b), _mm_set1_epi32(-1))); }
SAP_INLINE D d_rsqrt_seed(D x)
{
    const __m128 y = _mm_cvtpd_ps(x);
    const __m128 z = _mm_movelh_ps(y, y); /* no zeros in the unused lanes */
    return _mm_cvtps_pd(_mm_div_ps(_mm_set1_ps(1.0F), _mm_sqrt_ps(z)));
}
SAP_INLINE D d_grid(D x) { return _mm_and_pd(x, _mm_castsi128_pd(_mm_set1_epi64x(0x7E00000000000000))); }

/* ---- rows ---- */
SAP_INLINE void f_rows(const float *rows, const int32_t *at, int stride, int word, F *out)
{
    rows += word;
    for (int l = 0; l < 4; l++) out[l] = _mm_loadu_ps(rows + (intptr_t)at[l] * stride);
    _MM_TRANSPOSE4_PS(out[0], out[1], out[2], out[3]);
}
SAP_INLINE void d_rows(const double *rows, const int32_t *at, int stride, int word, D *out)
{
    const double *const a = rows + (intptr_t)at[0] * stride + word, *const b = rows + (intptr_t)at[1] * stride + word;
    for (int w = 0; w < 4; w += 2) {
        const D p = _mm_loadu_pd(a + w), q = _mm_loadu_pd(b + w);
        out[w] = _mm_unpacklo_pd(p, q);
        out[w + 1] = _mm_unpackhi_pd(p, q);
    }
}

/* ---- float and double ---- */
SAP_INLINE D d_from_f(F x, int h) { return _mm_cvtps_pd(h ? _mm_movehl_ps(x, x) : x); }
SAP_INLINE F f_from_d(const D *x) { return _mm_movelh_ps(_mm_cvtpd_ps(x[0]), _mm_cvtpd_ps(x[1])); }

#endif
