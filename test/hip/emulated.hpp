/*
 * emulated.hpp - the primitives of kernels_hip/builtins.h on a host: each thread of a group is a fiber, which runs
 * until it waits for others.  emulator.cpp runs the fibers, in an order of chance, so that nothing can rely on threads
 * in step.
 */
#ifndef SAP_EMULATED_H
#define SAP_EMULATED_H

#include <math.h>
#include <stdint.h>

#include <utility>

#define __global__
#define __device__
#define __shared__      static /* groups run one after another */
#define __forceinline__ inline
#define __noinline__    __attribute__((noinline))
#define __launch_bounds__(...)

extern sap_numbers emulated_thread, emulated_group, emulated_size, emulated_grid;
#define threadIdx emulated_thread
#define blockIdx  emulated_group
#define blockDim  emulated_size
#define gridDim   emulated_grid

extern "C" {
void emulated_barrier(void);                  /* of the group */
void emulated_lanes_barrier(void);            /* of 32 neighbours */
unsigned long long emulated_ballot(int yes);  /* of those lanes of the wavefront that ask at once */
int emulated_read_lane(int x, unsigned from); /* of the wavefront */
extern void *emulated_memory;                 /* of the group, whose size the launch gives */
}

#define __syncthreads          emulated_barrier
#define __syncwarp             emulated_lanes_barrier
#define __threadfence()        ((void)0)
#define __threadfence_system() ((void)0)
#define sap_ballot(x)          emulated_ballot(x)
#define sap_read_lane(x, from) emulated_read_lane(x, from)

template <typename T, typename X> static inline T atomicAdd(T *at, X x)
{
    const T old = *at;
    *at = old + (T)x;
    return old;
}
template <typename T, typename X> static inline T atomicOr(T *at, X x)
{
    const T old = *at;
    *at = old | (T)x;
    return old;
}
template <typename T, typename X> static inline T atomicMin(T *at, X x)
{
    const T old = *at;
    if ((T)x < old) *at = (T)x;
    return old;
}
template <typename T, typename X> static inline T atomicMax(T *at, X x)
{
    const T old = *at;
    if ((T)x > old) *at = (T)x;
    return old;
}

static inline float rsqrtf(float x) { return 1.0F / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }

/* ---- what a kernel is for the library that launches it ---- */

struct emulated_kernel {
    const char *name;
    void (*call)(void **arguments); /* in a fiber */
    emulated_kernel *next;
};
void emulated_register(emulated_kernel *kernel);

template <typename... A, size_t... K>
static inline void emulated_spread(void (*f)(A...), void **arguments, std::index_sequence<K...>)
{
    f(*(A *)arguments[K]...);
}
template <typename... A> static inline void emulated_call(void (*f)(A...), void **arguments)
{
    emulated_spread(f, arguments, std::index_sequence_for<A...>{});
}

/* Registers a kernel of this file. */
#define EMULATED(kernel)                                                                                               \
    static struct kernel##_registered {                                                                                \
        emulated_kernel entry = {#kernel, [](void **arguments) { emulated_call(kernel, arguments); }, nullptr};        \
        kernel##_registered() { emulated_register(&entry); }                                                           \
    } kernel##_entry;

#endif
