/* ops_avx2.h - the named operations of ops_scalar.h in AVX2 with FMA. */
#ifndef SAP_OPS_H
#define SAP_OPS_H

#include <immintrin.h>
#include <stdint.h>

#define SAP_HAVE_OPERATIONS 1
#define SAP_INLINE          static inline __attribute__((always_inline))
#define SAP_SEED_BITS       12 /* of f_rsqrt_seed */

enum { F_LANES = 8, D_LANES = 4 };

typedef __m256 F;
typedef __m256i FI;
typedef __m256 FM;
typedef __m256d D;
typedef __m256i DI;
typedef __m256d DM;

/* ---- float ---- */
SAP_INLINE F f_set1(double x) { return _mm256_set1_ps((float)x); }
SAP_INLINE F f_load(const float *p) { return _mm256_load_ps(p); }
SAP_INLINE void f_store(float *p, F x) { _mm256_store_ps(p, x); }
SAP_INLINE F f_add(F a, F b) { return _mm256_add_ps(a, b); }
SAP_INLINE F f_sub(F a, F b) { return _mm256_sub_ps(a, b); }
SAP_INLINE F f_mul(F a, F b) { return _mm256_mul_ps(a, b); }
SAP_INLINE F f_fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
SAP_INLINE F f_fnma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
SAP_INLINE F f_min(F a, F b) { return _mm256_min_ps(a, b); }
SAP_INLINE F f_max(F a, F b) { return _mm256_max_ps(a, b); }
SAP_INLINE FM f_lt(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
SAP_INLINE FM f_nlt(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_NLT_UQ); }
SAP_INLINE F f_keep(FM m, F a) { return _mm256_and_ps(m, a); }
/* where m is not set, b becomes NaN and min returns its second operand */
SAP_INLINE F f_drop(FM m, F a) { return _mm256_andnot_ps(m, a); }
SAP_INLINE F f_select(FM m, F a, F b) { return _mm256_blendv_ps(b, a, m); }
SAP_INLINE F f_min_where(FM m, F a, F b)
{
    return _mm256_min_ps(_mm256_or_ps(_mm256_andnot_ps(m, _mm256_castsi256_ps(_mm256_set1_epi32(-1))), b), a);
}
SAP_INLINE F f_div(F a, F b) { return _mm256_div_ps(a, b); }
SAP_INLINE F f_sqrt(F a) { return _mm256_sqrt_ps(a); }
SAP_INLINE F f_rsqrt_seed(F x) { return _mm256_rsqrt_ps(x); }
SAP_INLINE FM fm_and(FM a, FM b) { return _mm256_and_ps(a, b); }
SAP_INLINE unsigned fm_bits(FM m) { return (unsigned)_mm256_movemask_ps(m); }
SAP_INLINE FI fi_set1(int32_t i) { return _mm256_set1_epi32(i); }
SAP_INLINE FI fi_load(const int32_t *p) { return _mm256_load_si256((const __m256i *)(const void *)p); }
SAP_INLINE void fi_store(int32_t *p, FI x) { _mm256_store_si256((__m256i *)(void *)p, x); }
SAP_INLINE FM fi_ne(FI a, FI b)
{
    return _mm256_castsi256_ps(_mm256_xor_si256(_mm256_cmpeq_epi32(a, b), _mm256_set1_epi32(-1)));
}
SAP_INLINE FI fi_select(FM m, FI a, FI b) { return _mm256_blendv_epi8(b, a, _mm256_castps_si256(m)); }
SAP_INLINE FI fi_count(FI n, FM m) { return _mm256_sub_epi32(n, _mm256_castps_si256(m)); }

/* ---- double ---- */
SAP_INLINE D d_set1(double x) { return _mm256_set1_pd(x); }
SAP_INLINE D d_load(const double *p) { return _mm256_load_pd(p); }
SAP_INLINE void d_store(double *p, D x) { _mm256_store_pd(p, x); }
SAP_INLINE D d_add(D a, D b) { return _mm256_add_pd(a, b); }
SAP_INLINE D d_sub(D a, D b) { return _mm256_sub_pd(a, b); }
SAP_INLINE D d_mul(D a, D b) { return _mm256_mul_pd(a, b); }
SAP_INLINE D d_fma(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
SAP_INLINE D d_fnma(D a, D b, D c) { return _mm256_fnmadd_pd(a, b, c); }
SAP_INLINE D d_min(D a, D b) { return _mm256_min_pd(a, b); }
SAP_INLINE D d_max(D a, D b) { return _mm256_max_pd(a, b); }
SAP_INLINE DM d_lt(D a, D b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
SAP_INLINE DM d_ge(D a, D b) { return _mm256_cmp_pd(a, b, _CMP_GE_OQ); }
SAP_INLINE DM d_nlt(D a, D b) { return _mm256_cmp_pd(a, b, _CMP_NLT_UQ); }
SAP_INLINE DM d_gt(D a, D b) { return _mm256_cmp_pd(a, b, _CMP_GT_OQ); }
SAP_INLINE DM d_eq(D a, D b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
SAP_INLINE D d_keep(DM m, D a) { return _mm256_and_pd(m, a); }
SAP_INLINE D d_drop(DM m, D a) { return _mm256_andnot_pd(m, a); }
SAP_INLINE D d_select(DM m, D a, D b) { return _mm256_blendv_pd(b, a, m); }
SAP_INLINE D d_min_where(DM m, D a, D b)
{
    return _mm256_min_pd(_mm256_or_pd(_mm256_andnot_pd(m, _mm256_castsi256_pd(_mm256_set1_epi32(-1))), b), a);
}
SAP_INLINE D d_div(D a, D b) { return _mm256_div_pd(a, b); }
SAP_INLINE D d_sqrt(D a) { return _mm256_sqrt_pd(a); }
SAP_INLINE DM dm_and(DM a, DM b) { return _mm256_and_pd(a, b); }
SAP_INLINE int dm_any(DM m) { return _mm256_movemask_pd(m) != 0; }
SAP_INLINE unsigned dm_bits(DM m) { return (unsigned)_mm256_movemask_pd(m); }
SAP_INLINE DI di_set1(int32_t i) { return _mm256_set1_epi32(i); } /* an index fills both halves of its lane */
SAP_INLINE DI di_load(const int64_t *p) { return _mm256_load_si256((const __m256i *)(const void *)p); }
SAP_INLINE DM di_ne(DI a, DI b)
{
    return _mm256_castsi256_pd(_mm256_xor_si256(_mm256_cmpeq_epi64(a, b), _mm256_set1_epi32(-1)));
}
SAP_INLINE D d_rsqrt_seed(D x)
{
    return _mm256_cvtps_pd(_mm_div_ps(_mm_set1_ps(1.0F), _mm_sqrt_ps(_mm256_cvtpd_ps(x))));
}
SAP_INLINE D d_grid(D x) { return _mm256_and_pd(x, _mm256_castsi256_pd(_mm256_set1_epi64x(0x7E00000000000000))); }

/* ---- rows: four words of rows l and l + 4 side by side; then all exchanges are within 128 bits ---- */
SAP_INLINE F f_row_pair(const float *rows, const int32_t *at, int stride)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows + (intptr_t)at[0] * stride)),
                                _mm_loadu_ps(rows + (intptr_t)at[4] * stride), 1);
}
SAP_INLINE void f_transpose(F *x)
{
    const D ab = _mm256_castps_pd(_mm256_unpacklo_ps(x[0], x[1])),
            cd = _mm256_castps_pd(_mm256_unpacklo_ps(x[2], x[3]));
    const D AB = _mm256_castps_pd(_mm256_unpackhi_ps(x[0], x[1])),
            CD = _mm256_castps_pd(_mm256_unpackhi_ps(x[2], x[3]));
    x[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd));
    x[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd));
    x[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(AB, CD));
    x[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(AB, CD));
}
SAP_INLINE void f_rows(const float *rows, const int32_t *at, int stride, int word, F *out)
{
    for (int k = 0; k < 4; k++) out[k] = f_row_pair(rows + word, at + k, stride);
    f_transpose(out);
}
/* two words of rows l and l + 2 side by side */
SAP_INLINE D d_row_pair(const double *rows, const int32_t *at, int stride)
{
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(rows + (intptr_t)at[0] * stride)),
                                _mm_loadu_pd(rows + (intptr_t)at[2] * stride), 1);
}
SAP_INLINE void d_rows(const double *rows, const int32_t *at, int stride, int word, D *out)
{
    for (int w = 0; w < 4; w += 2) {
        const D a = d_row_pair(rows + word + w, at, stride), b = d_row_pair(rows + word + w, at + 1, stride);
        out[w] = _mm256_unpacklo_pd(a, b);
        out[w + 1] = _mm256_unpackhi_pd(a, b);
    }
}

/*
 * ---- rows in memory order: four words of rows at[0], at[4], ... side by side, as many as F holds; half h of them.
 * Then: the last word of each group in all its lanes; +0 instead of the last word; the last word from another vector
 * ----
 */
#define SAP_ROWS_IN_LANES 1
SAP_INLINE D d_row_words(const double *rows, const int32_t *at, int stride, int h)
{
    return _mm256_loadu_pd(rows + (intptr_t)at[4 * h] * stride);
}
SAP_INLINE D d_last_word(D x) { return _mm256_permute4x64_pd(x, 0xFF); }
SAP_INLINE D d_three_words(D x) { return _mm256_blend_pd(x, _mm256_setzero_pd(), 8); }
SAP_INLINE D d_with_last(D x, D last) { return _mm256_blend_pd(x, last, 8); }

/* ---- float and double ---- */
SAP_INLINE D d_from_f(F x, int h)
{
    return _mm256_cvtps_pd(h ? _mm256_extractf128_ps(x, 1) : _mm256_castps256_ps128(x));
}
SAP_INLINE F f_from_d(const D *x)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(x[0])), _mm256_cvtpd_ps(x[1]), 1);
}

#endif
