/*
 * potential.c - NBODY6's potential of all particles, for its energy check.
 *
 * In double precision, unless SAPPORO_PRECISION says otherwise: an energy is a small difference of large sums.
 */
#include <math.h>
#include <stdlib.h>

#include "lock.h"
#include "nbody6.h"

/* A context opened for one call would take longer than the potential of a small cluster: it is kept. */
static struct {
    sapporo *context;
    int tried;
} potential;

static atomic_flag lock = ATOMIC_FLAG_INIT;

static int open_once(int rank)
{
    if (!potential.tried) {
        const sapporo_precision precision = getenv("SAPPORO_PRECISION") ? SAPPORO_PRECISION_DEFAULT : SAPPORO_DP;
        potential.context = sap_nbody6_context(SAPPORO_BACKEND_AUTO, 2, precision, rank);
        potential.tried = 1;
    }
    return potential.context != NULL;
}

static int compute(int first, int ni, int n, const double *mass, const double (*x)[3], double *pot)
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
    const sapporo_request request = {.size = sizeof request, .nj = n, .ni = ni, .x = {x + first, 0}};
    const sapporo_result result = {.size = sizeof result, .pot = pot};
    sapporo_job *job;
    int status = sapporo_set_particles(potential.context, 0, n, &all);
    if (status != SAPPORO_OK && status != SAPPORO_ERR_NOT_FINITE) return status;
    status = sapporo_force_begin(potential.context, &request, &job);
    if (status < 0) return status;
    status = sapporo_force_end(job, ni, &result);
    sapporo_force_free(job);
    return status;
}

void sap_potential_compute(int rank, int first, int ni, int n, const double *mass, const double (*x)[3], double *pot)
{
    if (ni <= 0) return;
    sap_lock(&lock);
    int status = SAPPORO_ERR_ARGUMENT;
    if (first < 0 || first > n - ni)
        sap_nbody6_tell("gpupot: particles %d to %d of %d", first + 1, first + ni, n);
    else if (open_once(rank))
        status = compute(first, ni, n, mass, x, pot);
    for (int k = 0; k < ni; k++) pot[k] = status < 0 ? NAN : -pot[k];
    sap_unlock(&lock);
}
