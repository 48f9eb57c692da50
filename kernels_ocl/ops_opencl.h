/*
 * ops_opencl.h - the named operations of the arithmetic in OpenCL C.
 *
 * What each name means is said in cpu_sse/ops_scalar.h.  Only what is called
 * fma is fused, so a sequence of names has the same bits wherever it is inlined.
 */
#ifndef SAP_OPS_OPENCL_H
#define SAP_OPS_OPENCL_H

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define SAP_HAVE_OPERATIONS 1
#define SAP_INLINE          static inline __attribute__((always_inline))
#define SAP_FUNCTION        static inline __attribute__((always_inline))

#ifndef SAP_VECTOR
#define SAP_VECTOR 0 /* 1: a work-item of the force kernels holds vectors, and no local memory is used: CPUs */
#endif

typedef double D;
typedef int DM;

SAP_INLINE D d_set1(double x) { return x; }
SAP_INLINE D d_add(D a, D b) { return a + b; }
SAP_INLINE D d_sub(D a, D b) { return a - b; }
SAP_INLINE D d_mul(D a, D b) { return a * b; }
SAP_INLINE D d_min(D a, D b) { return a < b ? a : b; }
SAP_INLINE DM d_ge(D a, D b) { return a >= b; }
SAP_INLINE DM d_gt(D a, D b) { return a > b; }
SAP_INLINE DM d_eq(D a, D b) { return a == b; }
SAP_INLINE D d_select(DM m, D a, D b) { return m ? a : b; }
SAP_INLINE DM dm_any(DM m) { return m; }

/* The largest power of 2^32 (times 2^-1023) that is <= |x|. */
SAP_INLINE D d_grid(D x) { return as_double(as_long(x) & 0x7E00000000000000L); }

#endif
