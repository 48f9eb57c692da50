/* ops_avx512.h - the named operations of ops_scalar.h in AVX-512 (F, DQ, BW, VL). */
#ifndef SAP_OPS_H
#define SAP_OPS_H

#include <immintrin.h>
#include <stdint.h>

#define SAP_HAVE_OPERATIONS 1
#define SAP_INLINE          static inline __attribute__((always_inline))
#define SAP_SEED_BITS       14 /* of f_rsqrt_seed */

enum { F_LANES = 16, D_LANES = 8 };

typedef __m512 F;
typedef __m512i FI;
typedef __mmask16 FM;
typedef __m512d D;
typedef __m512i DI;
typedef __mmask8 DM;

/* ---- float ---- */
SAP_INLINE F f_set1(double x) { return _mm512_set1_ps((float)x); }
SAP_INLINE F f_load(const float *p) { return _mm512_load_ps(p); }
SAP_INLINE void f_store(float *p, F x) { _mm512_store_ps(p, x); }
SAP_INLINE F f_add(F a, F b) { return _mm512_add_ps(a, b); }
SAP_INLINE F f_sub(F a, F b) { return _mm512_sub_ps(a, b); }
SAP_INLINE F f_mul(F a, F b) { return _mm512_mul_ps(a, b); }
SAP_INLINE F f_fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
SAP_INLINE F f_fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
SAP_INLINE F f_min(F a, F b) { return _mm512_min_ps(a, b); }
SAP_INLINE F f_max(F a, F b) { return _mm512_max_ps(a, b); }
SAP_INLINE FM f_lt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
SAP_INLINE FM f_nlt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ); }
SAP_INLINE F f_keep(FM m, F a) { return _mm512_maskz_mov_ps(m, a); }
SAP_INLINE F f_drop(FM m, F a) { return _mm512_maskz_mov_ps((FM)~m, a); }
SAP_INLINE F f_select(FM m, F a, F b) { return _mm512_mask_mov_ps(b, m, a); }
SAP_INLINE F f_min_where(FM m, F a, F b) { return _mm512_mask_min_ps(a, m, b, a); }
SAP_INLINE F f_div(F a, F b) { return _mm512_div_ps(a, b); }
SAP_INLINE F f_sqrt(F a) { return _mm512_sqrt_ps(a); }
SAP_INLINE F f_rsqrt_seed(F x) { return _mm512_rsqrt14_ps(x); }
SAP_INLINE FM fm_and(FM a, FM b) { return (FM)(a & b); }
SAP_INLINE unsigned fm_bits(FM m) { return m; }
SAP_INLINE FI fi_set1(int32_t i) { return _mm512_set1_epi32(i); }
SAP_INLINE FI fi_load(const int32_t *p) { return _mm512_load_si512(p); }
SAP_INLINE void fi_store(int32_t *p, FI x) { _mm512_store_si512(p, x); }
SAP_INLINE FM fi_ne(FI a, FI b) { return _mm512_cmpneq_epi32_mask(a, b); }
SAP_INLINE FI fi_select(FM m, FI a, FI b) { return _mm512_mask_mov_epi32(b, m, a); }
SAP_INLINE FI fi_count(FI n, FM m) { return _mm512_mask_add_epi32(n, m, n, _mm512_set1_epi32(1)); }

/* ---- double ---- */
SAP_INLINE D d_set1(double x) { return _mm512_set1_pd(x); }
SAP_INLINE D d_load(const double *p) { return _mm512_load_pd(p); }
SAP_INLINE void d_store(double *p, D x) { _mm512_store_pd(p, x); }
SAP_INLINE D d_add(D a, D b) { return _mm512_add_pd(a, b); }
SAP_INLINE D d_sub(D a, D b) { return _mm512_sub_pd(a, b); }
SAP_INLINE D d_mul(D a, D b) { return _mm512_mul_pd(a, b); }
SAP_INLINE D d_fma(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
SAP_INLINE D d_fnma(D a, D b, D c) { return _mm512_fnmadd_pd(a, b, c); }
SAP_INLINE D d_min(D a, D b) { return _mm512_min_pd(a, b); }
SAP_INLINE D d_max(D a, D b) { return _mm512_max_pd(a, b); }
SAP_INLINE DM d_lt(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
SAP_INLINE DM d_ge(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
SAP_INLINE DM d_nlt(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_NLT_UQ); }
SAP_INLINE DM d_gt(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
SAP_INLINE DM d_eq(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
SAP_INLINE D d_keep(DM m, D a) { return _mm512_maskz_mov_pd(m, a); }
SAP_INLINE D d_drop(DM m, D a) { return _mm512_maskz_mov_pd((DM)~m, a); }
SAP_INLINE D d_select(DM m, D a, D b) { return _mm512_mask_mov_pd(b, m, a); }
SAP_INLINE D d_min_where(DM m, D a, D b) { return _mm512_mask_min_pd(a, m, b, a); }
SAP_INLINE D d_div(D a, D b) { return _mm512_div_pd(a, b); }
SAP_INLINE D d_sqrt(D a) { return _mm512_sqrt_pd(a); }
SAP_INLINE DM dm_and(DM a, DM b) { return (DM)(a & b); }
SAP_INLINE int dm_any(DM m) { return m != 0; }
SAP_INLINE unsigned dm_bits(DM m) { return m; }
SAP_INLINE DI di_set1(int32_t i) { return _mm512_set1_epi32(i); } /* an index fills both halves of its lane */
SAP_INLINE DI di_load(const int64_t *p) { return _mm512_load_si512(p); }
SAP_INLINE DM di_ne(DI a, DI b) { return _mm512_cmpneq_epi64_mask(a, b); }
SAP_INLINE D d_rsqrt_seed(D x)
{
    return _mm512_cvtps_pd(_mm256_div_ps(_mm256_set1_ps(1.0F), _mm256_sqrt_ps(_mm512_cvtpd_ps(x))));
}
SAP_INLINE D d_grid(D x) { return _mm512_and_pd(x, _mm512_castsi512_pd(_mm512_set1_epi64(0x7E00000000000000))); }

/* ---- rows: four words of rows l, l + 4, l + 8, l + 12 side by side; then all exchanges are within 128 bits ---- */
SAP_INLINE F f_four_rows(const float *rows, const int32_t *at, int stride)
{
    F x = _mm512_castps128_ps512(_mm_loadu_ps(rows + (intptr_t)at[0] * stride));
    x = _mm512_insertf32x4(x, _mm_loadu_ps(rows + (intptr_t)at[4] * stride), 1);
    x = _mm512_insertf32x4(x, _mm_loadu_ps(rows + (intptr_t)at[8] * stride), 2);
    return _mm512_insertf32x4(x, _mm_loadu_ps(rows + (intptr_t)at[12] * stride), 3);
}
/* words of four rows each become rows of words each */
SAP_INLINE void f_transpose(F *x)
{
    const D ab = _mm512_castps_pd(_mm512_unpacklo_ps(x[0], x[1])),
            cd = _mm512_castps_pd(_mm512_unpacklo_ps(x[2], x[3]));
    const D AB = _mm512_castps_pd(_mm512_unpackhi_ps(x[0], x[1])),
            CD = _mm512_castps_pd(_mm512_unpackhi_ps(x[2], x[3]));
    x[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd));
    x[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd));
    x[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(AB, CD));
    x[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(AB, CD));
}
SAP_INLINE void f_rows(const float *rows, const int32_t *at, int stride, int word, F *out)
{
    rows += word;
    for (int k = 0; k < 4; k++) out[k] = f_four_rows(rows, at + k, stride);
    f_transpose(out);
}
/* two words of rows l, l + 2, l + 4, l + 6 side by side */
SAP_INLINE D d_four_rows(const double *rows, const int32_t *at, int stride)
{
    D x = _mm512_castpd128_pd512(_mm_loadu_pd(rows + (intptr_t)at[0] * stride));
    x = _mm512_insertf64x2(x, _mm_loadu_pd(rows + (intptr_t)at[2] * stride), 1);
    x = _mm512_insertf64x2(x, _mm_loadu_pd(rows + (intptr_t)at[4] * stride), 2);
    return _mm512_insertf64x2(x, _mm_loadu_pd(rows + (intptr_t)at[6] * stride), 3);
}
SAP_INLINE void d_rows(const double *rows, const int32_t *at, int stride, int word, D *out)
{
    for (int w = 0; w < 4; w += 2) {
        const D a = d_four_rows(rows + word + w, at, stride), b = d_four_rows(rows + word + w, at + 1, stride);
        out[w] = _mm512_unpacklo_pd(a, b);
        out[w + 1] = _mm512_unpackhi_pd(a, b);
    }
}

/* ---- rows in memory order, see ops_avx2.h ---- */
#define SAP_ROWS_IN_LANES 1
SAP_INLINE D d_row_words(const double *rows, const int32_t *at, int stride, int h)
{
    const double *const a = rows + (intptr_t)at[8 * h] * stride, *const b = rows + (intptr_t)at[8 * h + 4] * stride;
    return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(a)), _mm256_loadu_pd(b), 1);
}
SAP_INLINE D d_last_word(D x) { return _mm512_permutex_pd(x, 0xFF); }
SAP_INLINE D d_three_words(D x) { return _mm512_maskz_mov_pd(0x77, x); }
SAP_INLINE D d_with_last(D x, D last) { return _mm512_mask_mov_pd(x, 0x88, last); }

/* ---- float and double ---- */
SAP_INLINE D d_from_f(F x, int h)
{
    return _mm512_cvtps_pd(h ? _mm512_extractf32x8_ps(x, 1) : _mm512_castps512_ps256(x));
}
SAP_INLINE F f_from_d(const D *x)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x[0])), _mm512_cvtpd_ps(x[1]), 1);
}

#endif
