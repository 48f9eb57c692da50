/*
 * builtins.h - what kernels_cuda/ takes from CUDA's headers, for AMD GPUs: written with clang's own builtins, so that a
 * compiler is all that the build needs.
 *
 * CUDA's 32 neighbours are a wavefront of 32 lanes (RDNA), or one half of a wavefront of 64 (CDNA).  Halves may part:
 * each function here names lanes of the caller's half alone.  emulated.hpp of test/hip replaces the part below `lanes`
 * by threads of a host.
 */
#ifndef SAP_HIP_BUILTINS_H
#define SAP_HIP_BUILTINS_H

#include <stddef.h>

/* ---- vectors ---- */
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) double2 {
    double x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

/* Numbers of a thread or a group: groups of threads have one dimension, and lie in two. */
struct sap_numbers {
    unsigned x, y;
};

#if defined(SAP_EMULATED)
#include "emulated.hpp"
#else
#define __global__                      __attribute__((global))
#define __device__                      __attribute__((device))
#define __shared__                      __attribute__((shared))
#define __forceinline__                 inline __attribute__((always_inline))
#define __noinline__                    __attribute__((noinline, unused))
/* The second number, groups of a multiprocessor, is for register files of NVIDIA; here the threads alone decide. */
#define __launch_bounds__(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))

#if defined(__GFX9__)
enum { SAP_WAVE = 64 };
#define sap_ballot(x) __builtin_amdgcn_ballot_w64(x)
#else
enum { SAP_WAVE = 32 };
#define sap_ballot(x) ((unsigned long long)__builtin_amdgcn_ballot_w32(x))
#endif

/* ---- numbers of threads and groups ---- */
#define threadIdx (sap_numbers{__builtin_amdgcn_workitem_id_x(), 0})
#define blockIdx  (sap_numbers{__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y()})
#define blockDim  (sap_numbers{__builtin_amdgcn_workgroup_size_x(), 1})
#define gridDim   (sap_numbers{__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(), 1})

/* ---- memory ---- */
static __device__ __forceinline__ void __syncthreads()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
static __device__ __forceinline__ void __syncwarp()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
static __device__ __forceinline__ void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
static __device__ __forceinline__ void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

#define SAP_ATOMIC(name, builtin)                                                                                      \
    template <typename T, typename X> static __device__ __forceinline__ T name(T *at, X x)                             \
    {                                                                                                                  \
        return builtin(at, (T)x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                                          \
    }
SAP_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
SAP_ATOMIC(atomicOr, __hip_atomic_fetch_or)
SAP_ATOMIC(atomicMin, __hip_atomic_fetch_min)
SAP_ATOMIC(atomicMax, __hip_atomic_fetch_max)

/* ---- lanes: the value of the thread at `from`, a number within the wavefront ---- */
static __device__ __forceinline__ int sap_read_lane(int x, unsigned from)
{
    return __builtin_amdgcn_ds_bpermute((int)(4U * from), x);
}

/* ---- seeds of roots ---- */
static __device__ __forceinline__ float rsqrtf(float x) { return __builtin_amdgcn_rsqf(x); }
static __device__ __forceinline__ double rsqrt(double x) { return __builtin_amdgcn_rsq(x); }
#endif

static __device__ __forceinline__ double2 make_double2(double x, double y) { return {x, y}; }
static __device__ __forceinline__ float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static __device__ __forceinline__ int2 make_int2(int x, int y) { return {x, y}; }

/* ---- 32 neighbours ---- */

/* Returns which of the caller's 32 neighbours say yes. */
static __device__ __forceinline__ unsigned __ballot_sync(unsigned, int yes)
{
    const unsigned long long all = sap_ballot(yes != 0);
    return (unsigned)(SAP_WAVE == 64 ? all >> (threadIdx.x & 32U) : all);
}
static __device__ __forceinline__ int __any_sync(unsigned mask, int yes) { return __ballot_sync(mask, yes) != 0; }

/* Reads x of the neighbour `lane`, 0 to 31. */
template <typename T> static __device__ __forceinline__ T sap_of_neighbour(T x, unsigned lane)
{
    const unsigned from = (threadIdx.x & (SAP_WAVE - 32U)) | lane;
    int words[sizeof(T) / sizeof(int)];
    static_assert(sizeof(T) % sizeof(int) == 0, "whole words");
    __builtin_memcpy(words, &x, sizeof x);
    for (unsigned k = 0; k < sizeof(T) / sizeof(int); k++) words[k] = sap_read_lane(words[k], from);
    __builtin_memcpy(&x, words, sizeof x);
    return x;
}
template <typename T> static __device__ __forceinline__ T __shfl_sync(unsigned, T x, int lane)
{
    return sap_of_neighbour(x, (unsigned)lane & 31U);
}
template <typename T> static __device__ __forceinline__ T __shfl_xor_sync(unsigned, T x, int step)
{
    return sap_of_neighbour(x, (threadIdx.x ^ (unsigned)step) & 31U);
}
/* Of a neighbour that is not among the 32, the caller's own. */
template <typename T> static __device__ __forceinline__ T __shfl_up_sync(unsigned, T x, int step)
{
    const unsigned me = threadIdx.x & 31U;
    return sap_of_neighbour(x, me >= (unsigned)step ? me - (unsigned)step : me);
}
template <typename T> static __device__ __forceinline__ T __shfl_down_sync(unsigned, T x, int step)
{
    const unsigned me = threadIdx.x & 31U;
    return sap_of_neighbour(x, me + (unsigned)step < 32U ? me + (unsigned)step : me);
}

static __device__ __forceinline__ int min(int a, int b) { return a < b ? a : b; }
static __device__ __forceinline__ int max(int a, int b) { return a > b ? a : b; }

/* ---- bits ---- */
static __device__ __forceinline__ int __popc(unsigned x) { return __builtin_popcount(x); }
static __device__ __forceinline__ int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static __device__ __forceinline__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) << by >> 32);
}
static __device__ __forceinline__ int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
static __device__ __forceinline__ unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
static __device__ __forceinline__ float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
static __device__ __forceinline__ double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
static __device__ __forceinline__ double __hiloint2double(int high, int low)
{
    return __builtin_bit_cast(double, (unsigned long long)(unsigned)high << 32 | (unsigned)low);
}
static __device__ __forceinline__ int __double2hiint(double x)
{
    return (int)(__builtin_bit_cast(unsigned long long, x) >> 32);
}
static __device__ __forceinline__ int __double2loint(double x)
{
    return (int)(unsigned)__builtin_bit_cast(unsigned long long, x);
}

/* ---- arithmetic: correctly rounded, as -fhip-fp32-correctly-rounded-divide-sqrt has the operators ---- */
static __device__ __forceinline__ float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static __device__ __forceinline__ double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static __device__ __forceinline__ float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
static __device__ __forceinline__ float __frcp_rn(float x) { return 1.0F / x; }
#if !defined(SAP_EMULATED)
static __device__ __forceinline__ float fminf(float a, float b) { return __builtin_fminf(a, b); }
static __device__ __forceinline__ float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
static __device__ __forceinline__ double fabs(double x) { return __builtin_fabs(x); }
static __device__ __forceinline__ double sqrt(double x) { return __builtin_sqrt(x); }
#endif

#endif
