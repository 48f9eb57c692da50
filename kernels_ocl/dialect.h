/*
 * dialect.h - the names in which the kernels of lib/device are written, defined for OpenCL C.  kernels_cuda/dialect.h
 * defines the same names, and explains them.
 *
 * lib/physics/ops_scalar.h says what the operations of the arithmetic mean.  Only fma is fused, so a sequence of names
 * has the same bits wherever it is inlined.
 */
#ifndef SAP_DIALECT_H
#define SAP_DIALECT_H

#pragma OPENCL FP_CONTRACT OFF

/* The library's driver defines SAP_NO_FP64 as 1 for devices without double precision; no double is named then. */
#ifndef SAP_NO_FP64
#define SAP_NO_FP64 0
#endif
#ifndef SAP_VECTORS
#define SAP_VECTORS 0 /* the library's driver defines it as 1 for CPUs */
#endif
#ifndef SAP_GROUPS
#define SAP_GROUPS 0 /* 1: the kernels have groups of threads, on CPUs too */
#endif

/* ---- functions and kinds of memory ---- */
#define SAP_HAVE_OPERATIONS 1
#define SAP_INLINE          static inline __attribute__((always_inline))
#if SAP_NO_FP64 && SAP_VECTORS
#define SAP_FUNCTION static __attribute__((noinline)) /* compiling dozens of copies takes minutes */
#elif SAP_NO_FP64
#define SAP_FUNCTION static
#else
#define SAP_FUNCTION static inline __attribute__((always_inline))
#endif
/* PoCL copies the code between barriers many times; where it calls functions, walks of trees compile in a third of the
 * time, and are as fast. */
#if SAP_VECTORS && SAP_GROUPS && defined(POCL_DEVICE_ADDRESS_BITS)
#define SAP_OUTLINE static __attribute__((noinline))
#define SAP_COLD    static __attribute__((noinline))
#else
#define SAP_OUTLINE SAP_INLINE
#define SAP_COLD    SAP_INLINE
#endif
#if SAP_GROUPS
#undef SAP_VECTORS
#define SAP_VECTORS 0
#endif
#define KERNEL(threads)               __kernel void
#define KERNEL_DENSE(threads, blocks) __kernel void
#define GLOBAL                        __global
#define LOCAL                         __local
#define SHARED                        __local

#if SAP_VECTORS
#define GROUP_ARGUMENT
#else
#define GROUP_ARGUMENT           , LOCAL float4 *sap_shared
#define GROUP_MEMORY(type, name) LOCAL type *name = (LOCAL type *)sap_shared;
#endif

/* PoCL makes a function of each stretch of code between barriers; unrolled loops would make hundreds. */
#if defined(__NV_CL_C_VERSION)
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
#else
#define UNROLL
#define ROLLED
#endif

/* ---- numbers of threads and groups ---- */
#define local_id()     ((int)get_local_id(0))
#define local_size()   ((int)get_local_size(0))
#define global_id()    ((int)get_global_id(0))
#define global_size()  ((int)get_global_size(0))
#define num_groups()   ((int)get_num_groups(0))
#define group_id(axis) ((int)get_group_id(axis))

/* ---- threads of a group, and 32 neighbours ---- */
#define SAP_SHUFFLE    0
#define SAP_TELLS      0
#define SAP_FEW_STAGED 0 /* many devices have less memory per group than a superpacket needs */
enum { STAGE_ITEMS = 256, NEAR_ITEMS = 128, SCAN_ITEMS = 256 };
#define group_barrier()     barrier(CLK_LOCAL_MEM_FENCE)
#define global_fence()      mem_fence(CLK_GLOBAL_MEM_FENCE)
#define group_barrier_all() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define launches_barrier()
#define together_barrier() group_barrier_all() /* the group is alone */
#define of_group(p, group) (p)
#if SAP_VECTORS
#define lanes_barrier()
#else
#define lanes_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#endif
#define lanes_first(x) (x) /* without shuffles, no barrier depends on it */
#if defined(__NV_CL_C_VERSION)
#define near_barrier() asm volatile("bar.warp.sync 0xffffffff;" : : : "memory")
SAP_INLINE int lanes_any(int x)
{
    int y;
    asm volatile("{ .reg .pred a, b; setp.ne.s32 a, %1, 0; vote.sync.any.pred b, a, 0xffffffff; selp.s32 %0, 1, 0, b; }"
                 : "=r"(y)
                 : "r"(x));
    return y;
}
#else
#define near_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#define lanes_any(x)   (x) /* each thread decides for itself */
#endif
#define LANES_ROOM(type, name, n) __local type name[n];

/* ---- integers ---- */
typedef ulong U64;
#define leading_zeros   clz
#define make_int2(x, y) ((int2)(x, y))

/* ---- float ---- */
#define bits_of_float as_int
#define float_of_bits as_float

/* ---- double ---- */
#if SAP_NO_FP64
#define SAP_BITS     1
#define SAP_GPU_REAL D
#include "soft_double.h"
typedef ulong2 wide;
enum { RECORDS_ARE_D = 0 };

/*
 * Converts the bits of two floats, as words.h adds them, to a double; the second float has no meaning if the first is
 * not finite.
 */
SAP_INLINE D d_of_record(D record)
{
    const float high = as_float((uint)(record >> 32)), low = as_float((uint)record);
    return isfinite(high) ? d_add(d_of_float(high), d_of_float(low)) : d_of_float(high);
}
#else
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double D;
typedef double2 wide;
typedef int DM;
#define make_double2(x, y) ((double2)(x, y))
SAP_INLINE D d_set1(double x) { return x; }
SAP_INLINE D d_add(D a, D b) { return a + b; }
SAP_INLINE D d_sub(D a, D b) { return a - b; }
SAP_INLINE D d_mul(D a, D b) { return a * b; }
SAP_INLINE D d_div(D a, D b) { return a / b; }
SAP_INLINE D d_fma(D a, D b, D c) { return fma(a, b, c); }
SAP_INLINE D d_fnma(D a, D b, D c) { return fma(-a, b, c); }
SAP_INLINE D d_min(D a, D b) { return a < b ? a : b; }
SAP_INLINE D d_max(D a, D b) { return a > b ? a : b; }
SAP_INLINE D d_neg(D a) { return -a; }
SAP_INLINE D d_abs(D a) { return fabs(a); }
SAP_INLINE D d_sqrt(D a) { return sqrt(a); }
SAP_INLINE DM d_ge(D a, D b) { return a >= b; }
SAP_INLINE DM d_gt(D a, D b) { return a > b; }
SAP_INLINE DM d_eq(D a, D b) { return a == b; }
SAP_INLINE D d_select(DM m, D a, D b) { return m ? a : b; }
SAP_INLINE DM dm_any(DM m) { return m; }
SAP_INLINE D d_of_int(int x) { return x; }
SAP_INLINE int int_of_d(D x) { return (int)x; }

SAP_INLINE D d_of_words(int low, int high) { return as_double((ulong)(uint)high << 32 | (uint)low); }
SAP_INLINE int low_word(D x) { return (int)(uint)as_ulong(x); }
SAP_INLINE int high_word(D x) { return (int)(uint)(as_ulong(x) >> 32); }

/* Returns the largest power of 2^32 (times 2^-1023) that is <= |x|. */
SAP_INLINE D d_grid(D x) { return as_double(as_long(x) & 0x7E00000000000000L); }

enum { RECORDS_ARE_D = 1 };
SAP_INLINE D d_of_record(D record) { return record; }
#endif

/* Exchanges values through memory of the group, since there are no shuffles; all threads of the group must call it. */
SAP_INLINE void lanes_down(const D *a, D *b, int n, int step, __local D *room, int items)
{
    const int from = min(local_id() + step, items - 1);
    for (int k = 0; k < n; k++) room[k * items + local_id()] = a[k];
    group_barrier();
    for (int k = 0; k < n; k++) b[k] = room[k * items + from];
    group_barrier();
}

#endif
