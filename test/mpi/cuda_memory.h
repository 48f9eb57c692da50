/*
 * cuda_memory.h - memory of a CUDA device for programs of ranks, by the driver's library alone: no CUDA toolkit needed.
 *
 * Rank r of a host has device r modulo their number, as the library chooses.
 */
#ifndef TEST_MPI_CUDA_MEMORY_H
#define TEST_MPI_CUDA_MEMORY_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

struct cuda_calls {
    int (*init)(unsigned);
    int (*count)(int *);
    int (*get)(int *, int);
    int (*retain)(void **, int);
    int (*current)(void *);
    int (*allocate)(uint64_t *, size_t);
    int (*release)(uint64_t);
    int (*in)(uint64_t, const void *, size_t);
    int (*out)(void *, uint64_t, size_t);
    int (*finish)(void);
};

static struct cuda_calls cuda;

static inline int cuda_find(void *library, const char *name, void *call)
{
    void *const found = dlsym(library, name);
    *(void **)call = found;
    return found != NULL;
}

/* Makes the device of a rank current; returns 0 if there is none. */
static inline int cuda_open(int rank)
{
    int devices = 0, device = 0;
    void *context = NULL, *const library = dlopen("libcuda.so.1", RTLD_NOW);
    return library && cuda_find(library, "cuInit", &cuda.init) && cuda_find(library, "cuDeviceGetCount", &cuda.count) &&
           cuda_find(library, "cuDeviceGet", &cuda.get) &&
           cuda_find(library, "cuDevicePrimaryCtxRetain", &cuda.retain) &&
           cuda_find(library, "cuCtxSetCurrent", &cuda.current) &&
           cuda_find(library, "cuMemAlloc_v2", &cuda.allocate) && cuda_find(library, "cuMemFree_v2", &cuda.release) &&
           cuda_find(library, "cuMemcpyHtoD_v2", &cuda.in) && cuda_find(library, "cuMemcpyDtoH_v2", &cuda.out) &&
           cuda_find(library, "cuCtxSynchronize", &cuda.finish) && !cuda.init(0) && !cuda.count(&devices) &&
           devices > 0 && !cuda.get(&device, rank % devices) && !cuda.retain(&context, device) &&
           !cuda.current(context);
}

/*
 * Memory with a copy of these bytes, which is complete at return; from NULL: as it is.  Ends the program without
 * memory.
 */
static inline void *cuda_copy(const void *from, size_t bytes)
{
    uint64_t at = 0;
    if (cuda.allocate(&at, bytes + 8) || (from && bytes > 0 && cuda.in(at, from, bytes)) || cuda.finish()) exit(3);
    return (void *)(uintptr_t)at;
}

static inline void cuda_fetch(void *to, const void *from, size_t bytes)
{
    if (bytes > 0 && cuda.out(to, (uint64_t)(uintptr_t)from, bytes)) exit(3);
}

static inline void cuda_free(void *memory)
{
    if (memory) (void)cuda.release((uint64_t)(uintptr_t)memory);
}

#endif
