/*
 * ops_scalar.h - the named operations in plain C: the portable path, and the definition of each operation.
 *
 * Every instruction path defines the same names.  F is a vector of float, D of double, FI and DI hold 32-bit indices
 * beside F and D lanes, FM and DM are masks.  f_fma(a,b,c) = a b + c, f_fnma(a,b,c) = c - a b: fused where the path has
 * the instruction, so results depend on the path (see sapporo_kind).
 */
#ifndef SAP_OPS_H
#define SAP_OPS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define SAP_HAVE_OPERATIONS 1
#define SAP_INLINE          static inline __attribute__((always_inline))
#define SAP_SEED_BITS       24 /* of f_rsqrt_seed */

enum { F_LANES = 1, D_LANES = 1 };

typedef float F;
typedef int32_t FI;
typedef int FM;
typedef double D;
typedef int64_t DI;
typedef int DM;

/* ---- float ---- */
SAP_INLINE F f_set1(double x) { return (float)x; }
SAP_INLINE F f_load(const float *p) { return *p; }
SAP_INLINE void f_store(float *p, F x) { *p = x; }
SAP_INLINE F f_add(F a, F b) { return a + b; }
SAP_INLINE F f_sub(F a, F b) { return a - b; }
SAP_INLINE F f_mul(F a, F b) { return a * b; }
SAP_INLINE F f_fma(F a, F b, F c) { return a * b + c; }
SAP_INLINE F f_fnma(F a, F b, F c) { return c - a * b; }
SAP_INLINE F f_min(F a, F b) { return a < b ? a : b; }
SAP_INLINE F f_max(F a, F b) { return a > b ? a : b; }
SAP_INLINE FM f_lt(F a, F b) { return a < b; }
SAP_INLINE FM f_nlt(F a, F b) { return !(a < b); }      /* true for NaN, so values that are not finite show */
SAP_INLINE F f_keep(FM m, F a) { return m ? a : 0.0F; } /* a, or +0 */
SAP_INLINE F f_drop(FM m, F a) { return m ? 0.0F : a; } /* +0, or a */
SAP_INLINE F f_select(FM m, F a, F b) { return m ? a : b; }
SAP_INLINE F f_min_where(FM m, F a, F b) { return m && b < a ? b : a; } /* a, or the smaller where m */
SAP_INLINE F f_div(F a, F b) { return a / b; }
SAP_INLINE F f_sqrt(F a) { return sqrtf(a); }
SAP_INLINE F f_rsqrt_seed(F x) { return 1.0F / sqrtf(x); } /* at least 11 bits of 1/sqrt */
SAP_INLINE FM fm_and(FM a, FM b) { return a & b; }
SAP_INLINE unsigned fm_bits(FM m) { return (unsigned)m; }
SAP_INLINE FI fi_set1(int32_t i) { return i; }
SAP_INLINE FI fi_load(const int32_t *p) { return *p; }
SAP_INLINE void fi_store(int32_t *p, FI x) { *p = x; }
SAP_INLINE FM fi_ne(FI a, FI b) { return a != b; }
SAP_INLINE FI fi_select(FM m, FI a, FI b) { return m ? a : b; }
SAP_INLINE FI fi_count(FI n, FM m) { return n + (m != 0); } /* n, or n + 1 where m */

/* ---- double ---- */
SAP_INLINE D d_set1(double x) { return x; }
SAP_INLINE D d_load(const double *p) { return *p; }
SAP_INLINE void d_store(double *p, D x) { *p = x; }
SAP_INLINE D d_add(D a, D b) { return a + b; }
SAP_INLINE D d_sub(D a, D b) { return a - b; }
SAP_INLINE D d_mul(D a, D b) { return a * b; }
SAP_INLINE D d_fma(D a, D b, D c) { return a * b + c; }
SAP_INLINE D d_fnma(D a, D b, D c) { return c - a * b; }
SAP_INLINE D d_min(D a, D b) { return a < b ? a : b; }
SAP_INLINE D d_max(D a, D b) { return a > b ? a : b; }
SAP_INLINE DM d_lt(D a, D b) { return a < b; }
SAP_INLINE DM d_ge(D a, D b) { return a >= b; }
SAP_INLINE DM d_nlt(D a, D b) { return !(a < b); }
SAP_INLINE DM d_gt(D a, D b) { return a > b; }
SAP_INLINE DM d_eq(D a, D b) { return a == b; }
SAP_INLINE D d_keep(DM m, D a) { return m ? a : 0.0; }
SAP_INLINE D d_drop(DM m, D a) { return m ? 0.0 : a; }
SAP_INLINE D d_select(DM m, D a, D b) { return m ? a : b; }
SAP_INLINE D d_min_where(DM m, D a, D b) { return m && b < a ? b : a; }
SAP_INLINE D d_div(D a, D b) { return a / b; }
SAP_INLINE D d_sqrt(D a) { return sqrt(a); }
SAP_INLINE D d_rest(D a, D b) { return remainder(a, b); } /* a less the nearest multiple of b: exact */
SAP_INLINE DM dm_and(DM a, DM b) { return a & b; }
SAP_INLINE int dm_any(DM m) { return m; }
SAP_INLINE unsigned dm_bits(DM m) { return (unsigned)m; }
SAP_INLINE DI di_set1(int32_t i) { return i; }
SAP_INLINE DI di_load(const int64_t *p) { return (int32_t)*p; }
SAP_INLINE DM di_ne(DI a, DI b) { return a != b; }
/* 1/sqrt to single precision by correctly rounded operations: the same on every machine */
SAP_INLINE D d_rsqrt_seed(D x) { return (double)(1.0F / sqrtf((float)x)); }
/* the largest power of 2^32 (times 2^-1023) that is <= |x| */
SAP_INLINE D d_grid(D x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= UINT64_C(0x7E00000000000000);
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- rows: out[w] is word `word` + w of F_LANES (D_LANES) rows, row at[l] in lane l; a row is `stride` words ---- */
SAP_INLINE void f_rows(const float *rows, const int32_t *at, int stride, int word, F *out)
{
    const float *const row = rows + (intptr_t)at[0] * stride + word;
    for (int w = 0; w < 4; w++) out[w] = row[w];
}
SAP_INLINE void d_rows(const double *rows, const int32_t *at, int stride, int word, D *out)
{
    const double *const row = rows + (intptr_t)at[0] * stride + word;
    for (int w = 0; w < 4; w++) out[w] = row[w];
}

/* ---- between the two: half h of F is lanes h * D_LANES ... ---- */
SAP_INLINE D d_from_f(F x, int h) { return (void)h, (double)x; }
SAP_INLINE F f_from_d(const D *x) { return (float)x[0]; }

#endif
