/* backends.h - the names of backends, as SAPPORO_BACKEND and SAPPORO_TEST_ENGINES have them. */
#ifndef TEST_BACKENDS_H
#define TEST_BACKENDS_H

#include <stdlib.h>
#include <string.h>

#include "sapporo.h"

static const char *const backend_names[] = {[SAPPORO_BACKEND_AUTO] = "auto",
                                            [SAPPORO_BACKEND_CUDA] = "cuda",
                                            [SAPPORO_BACKEND_OPENCL] = "opencl",
                                            [SAPPORO_BACKEND_CPU] = "cpu",
                                            [SAPPORO_BACKEND_HIP] = "hip"};

static inline const char *backend_name(sapporo_backend backend) { return backend_names[backend]; }

/* Returns AUTO for a name that no backend has. */
static inline sapporo_backend backend_of(const char *name)
{
    for (size_t k = 0; k < sizeof backend_names / sizeof *backend_names; k++)
        if (strcmp(name, backend_names[k]) == 0) return (sapporo_backend)k;
    return SAPPORO_BACKEND_AUTO;
}

/* Returns 0 if SAPPORO_TEST_ENGINES restricts tests to another backend. */
static inline int backend_is_tested(sapporo_backend backend)
{
    const char *const only = getenv("SAPPORO_TEST_ENGINES");
    return !only || !*only || strcmp(only, backend_name(backend)) == 0;
}

#endif
