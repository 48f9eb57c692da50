/*
 * dialect.h - the names in which the kernels of lib/device are written, defined for CUDA.  kernels_ocl/dialect.h
 * defines the same names for OpenCL C.
 *
 * lib/physics/ops_scalar.h says what the operations of the arithmetic mean.  The compiler runs with -fmad=false: only
 * f_fma and d_fma are fused, so a sequence of names has the same bits wherever it is inlined.
 */
#ifndef SAP_DIALECT_H
#define SAP_DIALECT_H

/* ---- functions and kinds of memory ---- */
#define SAP_HAVE_OPERATIONS           1
#define SAP_INLINE                    static __device__ __forceinline__
#define SAP_FUNCTION                  static __device__ __forceinline__
#define SAP_COLD                      static __device__ __noinline__ /* of code that hardly runs, and is to take no registers */
#define SAP_OUTLINE                   SAP_INLINE /* of a large function, which OpenCL may call on CPUs */
#define KERNEL(threads)               extern "C" __global__ void __launch_bounds__(threads)
#define KERNEL_DENSE(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#define GLOBAL
#define LOCAL             /* qualifier of a pointer to memory of a group */
#define SHARED __shared__ /* qualifier of a declaration of memory of a group */

/*
 * Memory of a group whose size the launch gives: GROUP_ARGUMENT follows a kernel's last argument, GROUP_MEMORY is its
 * first statement.
 */
#define GROUP_ARGUMENT
#define GROUP_MEMORY(type, name)                                                                                       \
    extern __shared__ double2 sap_shared[];                                                                            \
    type *name = (type *)sap_shared;

#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1") /* of loops that run seldom: copies of their bodies would fill the cache of code */

/* ---- numbers of threads and groups ---- */
#define local_id()     (threadIdx.x)
#define local_size()   (blockDim.x)
#define global_id()    (blockIdx.x * blockDim.x + threadIdx.x)
#define global_size()  (gridDim.x * blockDim.x)
#define num_groups()   (gridDim.x)
#define all_groups()   (gridDim.x * gridDim.y)
#define group_id(axis) ((axis) == 0 ? blockIdx.x : blockIdx.y)

/* ---- threads of a group, and 32 neighbours ---- */
#define SAP_VECTORS    0 /* 1: a thread computes with vectors, and uses no memory of a group */
#define SAP_SHUFFLE    1 /* 1: 32 neighbours read each other's registers, and need not wait for the rest of the group */
#define SAP_FEW_STAGED 1 /* 1: few-target kernels hold a superpacket in memory of the group */
#define SAP_TELLS      1 /* 1: a kernel tells the host when it ends, where the driver's pinned_in_order says so */
enum { STAGE_ITEMS = 304, NEAR_ITEMS = 512, SCAN_ITEMS = 1024 }; /* threads per group: as in the host's geometry */
#define group_barrier()           __syncthreads()                /* waits for all writes to memory of the group */
#define global_fence()            __threadfence() /* what this thread wrote before it is seen before what it writes after it */
#define system_fence()            __threadfence_system() /* the same, and seen by the host */
#define group_barrier_all()       __syncthreads()        /* and, among the group, to all other memory */
#define lanes_barrier()           __syncwarp()           /* barrier of at least these 32 threads */
#define near_barrier()            __syncwarp()           /* the same, where a thread is not a group of its own */
#define lanes_xor(x, step)        __shfl_xor_sync(~0U, x, step)
#define lanes_first(x)            __shfl_sync(~0U, x, 0) /* returns the value of the first of the 32 to all of them */
#define lanes_any(x)              __any_sync(~0U, x)     /* whether x is true in any of the 32 */
#define LANES_ROOM(type, name, n) type *const name = 0;  /* memory for exchanges: not needed */

/* ---- integers ---- */
typedef unsigned long long U64;
#define atomic_add(at, x) atomicAdd(at, x)
#define atomic_or(at, x)  atomicOr(at, x)
#define atomic_min(at, x) atomicMin(at, x)
#define atomic_max(at, x) atomicMax(at, x)
#define popcount(bits)    __popc(bits)
SAP_INLINE int leading_zeros(unsigned bits) { return __clz((int)bits); }

/* ---- float ---- */
typedef float F;
SAP_INLINE F f_add(F a, F b) { return a + b; }
SAP_INLINE F f_sub(F a, F b) { return a - b; }
SAP_INLINE F f_mul(F a, F b) { return a * b; }
SAP_INLINE F f_fma(F a, F b, F c) { return __fmaf_rn(a, b, c); }
SAP_INLINE F f_fnma(F a, F b, F c) { return __fmaf_rn(-a, b, c); }
SAP_INLINE F f_min(F a, F b) { return fminf(a, b); }
SAP_INLINE int bits_of_float(F x) { return __float_as_int(x); }
SAP_INLINE F float_of_bits(int x) { return __int_as_float(x); }

/* Returns 1/sqrt(x) to 23 bits for x >= 2^-126; smaller values never count (SAP_TINY_R2). */
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
typedef double D;
typedef double2 wide; /* 16 bytes */
typedef bool DM;
SAP_INLINE D d_set1(double x) { return x; }
SAP_INLINE D d_add(D a, D b) { return a + b; }
SAP_INLINE D d_sub(D a, D b) { return a - b; }
SAP_INLINE D d_mul(D a, D b) { return a * b; }
SAP_INLINE D d_div(D a, D b) { return a / b; }
SAP_INLINE D d_fma(D a, D b, D c) { return __fma_rn(a, b, c); }
SAP_INLINE D d_fnma(D a, D b, D c) { return __fma_rn(-a, b, c); }
SAP_INLINE D d_min(D a, D b) { return a < b ? a : b; }
SAP_INLINE D d_max(D a, D b) { return a > b ? a : b; }
SAP_INLINE D d_neg(D a) { return -a; }
SAP_INLINE D d_abs(D a) { return fabs(a); }
SAP_INLINE D d_sqrt(D a) { return sqrt(a); }
SAP_INLINE DM d_ge(D a, D b) { return a >= b; }
SAP_INLINE DM d_gt(D a, D b) { return a > b; }
SAP_INLINE DM d_eq(D a, D b) { return a == b; }
SAP_INLINE D d_select(DM m, D a, D b) { return m ? a : b; }
SAP_INLINE bool dm_any(DM m) { return m; }
SAP_INLINE D d_of_int(int x) { return x; }
SAP_INLINE int int_of_d(D x) { return (int)x; }

SAP_INLINE D d_of_words(int low, int high) { return __hiloint2double(high, low); }
SAP_INLINE int low_word(D x) { return __double2loint(x); }
SAP_INLINE int high_word(D x) { return __double2hiint(x); }

/* Returns the largest power of 2^32 (times 2^-1023) that is <= |x|. */
SAP_INLINE D d_grid(D x) { return __hiloint2double(__double2hiint(x) & 0x7E000000, 0); }

/* The record of a sum that a force kernel writes: the counterpart of record_of of words.h. */
enum { RECORDS_ARE_D = 1 };
SAP_INLINE D d_of_record(D record) { return record; }

/* Returns a seed of 1/sqrt(x), x > 0 of any size, good to 20 bits. */
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

/*
 * Sets b to `a` of the thread `step` positions further on, for n values; room: for n values of each of the group's
 * `items` threads.
 */
SAP_INLINE void lanes_down(const D *a, D *b, int n, int step, D *room, int items)
{
    (void)room, (void)items;
#pragma unroll
    for (int k = 0; k < n; k++) b[k] = __shfl_down_sync(~0U, a[k], step);
}

/* ---- launches, and groups, that wait for each other ---- */
/*
 * First in a kernel whose launches begin early (driver/driver.h), if the source says SAP_EARLY: waits until the
 * launches before it have ended, with all that they wrote.  (PTX ISA, griddepcontrol.)  The most threads of a kernel
 * that does nothing tell cuda_driver.c whether the code that it has loaded does so.
 */
#if defined(SAP_EARLY)
#define launches_barrier() asm volatile("griddepcontrol.wait;" ::: "memory")
#define WAITING_THREADS    64
#else
#define launches_barrier()
#define WAITING_THREADS 32
#endif
#if defined(__NVCC__)
KERNEL(WAITING_THREADS) sap_waits() {}
#endif

/*
 * A barrier, as group_barrier_all, of all groups of a launch, which are a cluster, if the source says SAP_TOGETHER
 * (PTX ISA, barrier.cluster); else the group is alone.
 */
#if defined(SAP_TOGETHER)
SAP_INLINE void together_barrier(void)
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

/* Returns where another of these groups has what this one has at p, in its memory. */
template <typename T> SAP_INLINE T *of_group(T *p, int group)
{
    T *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(group));
    return there;
}
#else
#define together_barrier() group_barrier_all()
#define of_group(p, group) (p)
#endif

#endif
