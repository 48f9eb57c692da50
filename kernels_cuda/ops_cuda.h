/*
 * ops_cuda.h - the named operations of the arithmetic on a CUDA thread.
 *
 * What each name means is said in cpu_sse/ops_scalar.h.  Compiled with
 * -fmad=false: only f_fma and d_fma are fused, so a sequence of names has the
 * same bits wherever it is inlined.
 */
#ifndef SAP_OPS_CUDA_H
#define SAP_OPS_CUDA_H

#define SAP_HAVE_OPERATIONS 1
#define SAP_INLINE          static __device__ __forceinline__
#define SAP_FUNCTION        static __device__ __forceinline__

typedef float F;
typedef double D;
typedef bool DM;

/* ---- float ---- */
SAP_INLINE F f_add(F a, F b) { return a + b; }
SAP_INLINE F f_sub(F a, F b) { return a - b; }
SAP_INLINE F f_mul(F a, F b) { return a * b; }
SAP_INLINE F f_fma(F a, F b, F c) { return __fmaf_rn(a, b, c); }
SAP_INLINE F f_fnma(F a, F b, F c) { return __fmaf_rn(-a, b, c); }
SAP_INLINE F f_min(F a, F b) { return fminf(a, b); }
SAP_INLINE F f_max(F a, F b) { return fmaxf(a, b); }

/* 1/sqrt(x) to 23 bits for x >= 2^-126; smaller ones never count (SAP_TINY_R2). */
SAP_INLINE F f_rsqrt(F x)
{
#if defined(__CUDA_ARCH__)
    F y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return rsqrtf(x);
#endif
}

/* ---- double ---- */
SAP_INLINE D d_set1(double x) { return x; }
SAP_INLINE D d_add(D a, D b) { return a + b; }
SAP_INLINE D d_sub(D a, D b) { return a - b; }
SAP_INLINE D d_mul(D a, D b) { return a * b; }
SAP_INLINE D d_fma(D a, D b, D c) { return __fma_rn(a, b, c); }
SAP_INLINE D d_fnma(D a, D b, D c) { return __fma_rn(-a, b, c); }
SAP_INLINE D d_min(D a, D b) { return a < b ? a : b; }
SAP_INLINE D d_max(D a, D b) { return a > b ? a : b; }
SAP_INLINE DM d_ge(D a, D b) { return a >= b; }
SAP_INLINE DM d_gt(D a, D b) { return a > b; }
SAP_INLINE DM d_eq(D a, D b) { return a == b; }
SAP_INLINE D d_select(DM m, D a, D b) { return m ? a : b; }
SAP_INLINE bool dm_any(DM m) { return m; }

/* The largest power of 2^32 (times 2^-1023) that is <= |x|. */
SAP_INLINE D d_grid(D x) { return __hiloint2double(__double2hiint(x) & 0x7E000000, 0); }

/* A seed of 1/sqrt(x), x > 0 of any size, good to 20 bits. */
SAP_INLINE D d_rsqrt_seed(D x)
{
#if defined(__CUDA_ARCH__)
    D y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
#else
    return rsqrt(x);
#endif
}

#endif
