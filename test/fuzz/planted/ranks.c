/*
 * ranks.c - defects of libsapporo_mpi for the fuzzer's own test: a library that is preloaded, and stands before the
 * real calls.
 *
 * FUZZ_PLANT=wrong: a force is a little too large, on one rank.  =stale: a force that failed leaves a number there.
 * =status: an error of a tree becomes 0 there.  =ends: that rank crashes in a step.  =hangs: it does not return from a
 * step.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "sapporo_mpi.h"

/* Whether a defect is planted on this rank. */
static int is_planted(const char *name)
{
    const char *const what = getenv("FUZZ_PLANT");
    int rank;
    if (!what || strcmp(what, name) != 0) return 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 1;
}

int sapporo_mpi_force_end(sapporo_mpi_job *job, int ni, const sapporo_result *result)
{
    static int (*real)(sapporo_mpi_job *, int, const sapporo_result *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "sapporo_mpi_force_end");
    const int status = real(job, ni, result);
    if (status == SAPPORO_OK && ni > 2 && is_planted("wrong")) result->pot[2] *= 1.000001;
    if (status < 0 && ni > 2 && is_planted("stale")) result->acc[2][0] = 1;
    return status;
}

int sapporo_mpi_tree_refresh(sapporo_mpi_tree *tree, const sapporo_tree_particles *particles)
{
    static int (*real)(sapporo_mpi_tree *, const sapporo_tree_particles *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "sapporo_mpi_tree_refresh");
    const int status = real(tree, particles);
    return is_planted("status") ? SAPPORO_OK : status;
}

int sapporo_mpi_stepper_advance(sapporo_mpi_stepper *stepper, double time, long long steps)
{
    static int (*real)(sapporo_mpi_stepper *, double, long long);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "sapporo_mpi_stepper_advance");
    if (is_planted("ends")) abort();
    while (is_planted("hangs")) continue;
    return real(stepper, time, steps);
}
