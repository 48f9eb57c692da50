/*
 * potential.c - NBODY6's potential of all particles, for its energy check.
 *
 * The precision is double unless SAPPORO_PRECISION is set, because an energy is a small difference of large sums.
 */
#include <math.h>
#include <stdlib.h>

#include "api/nbody6/nbody6.h"
#include "base/fpenv.h"
#include "base/lock.h"

/* The context is kept between calls, because opening it takes longer than the potential of a small cluster. */
static sapporo *kept;

static struct sap_lock lock = SAP_LOCK_INIT;

static int is_open(int rank)
{
    if (!kept) kept = sap_nbody6_context(SAPPORO_BACKEND_AUTO, 2, SAPPORO_DP, rank);
    return kept != NULL;
}

static int compute(int first, int ni, int n, const double *mass, const double (*x)[3], double *pot)
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
    const sapporo_request request = {
        .size = sizeof request, .nj = n, .ni = ni, .x = {x + first, 0}, .want = SAPPORO_ALLOW_EMPTY};
    const sapporo_result result = {.size = sizeof result, .pot = pot};
    sapporo_job *job;
    int status = sapporo_set_particles(kept, 0, n, &all);
    if (status != SAPPORO_OK && status != SAPPORO_ERR_NOT_FINITE) return status;
    status = sapporo_force_begin(kept, &request, &job);
    if (status < 0) return status;
    status = sapporo_force_end(job, ni, &result);
    sapporo_force_free(job);
    return status;
}

/* Closes the kept context.  The caller holds the lock. */
static void release(void)
{
    sapporo_close(kept);
    kept = NULL;
}

void sap_potential_release(void)
{
    sap_lock(&lock);
    release();
    sap_unlock(&lock);
}

void sap_potential_compute(int rank, int first, int ni, int n, const double *mass, const double (*x)[3], double *pot)
{
    if (ni <= 0) return;
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    int status = SAPPORO_ERR_ARGUMENT;
    if (!mass || !x || !pot)
        sap_nbody6_tell("gpupot: an array is NULL");
    else if (first < 0 || (long long)first + ni > n)
        sap_nbody6_tell("gpupot: particles %lld to %lld of %d", first + 1LL, (long long)first + ni, n);
    else if (is_open(rank))
        status = compute(first, ni, n, mass, x, pot);
    if (status == SAPPORO_ERR_DEVICE) release(); /* a lost device recovers when no context has it open */
    for (int k = 0; k < ni && pot; k++) pot[k] = status < 0 ? NAN : -pot[k];
    sap_fp_leave(caller);
    sap_unlock(&lock);
}
