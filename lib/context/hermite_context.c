/* hermite_context.c - the sums of Hermite schemes by the calls of one context (engine/stepper_ops.h). */
#include "context/hermite_host.h"

static int clear_context(void *of) { return sapporo_clear_particles(of); }

static int put_in_context(void *of, int slot, const sapporo_particle *particle)
{
    return sapporo_set_particle(of, slot, particle);
}

static int store_in_context(void *of)
{
    (void)of;
    return SAPPORO_OK;
}

static int force_of_context(void *of, double time, const sapporo_request *request, const sapporo_result *result)
{
    sapporo_job *job = NULL;
    if (request->nj == 0) return sap_hermite_no_forces(request, result);
    int status = sapporo_set_time(of, time);
    if (!status) status = sapporo_force_begin(of, request, &job);
    if (!status) status = sapporo_force_end(job, request->ni, result);
    sapporo_force_free(job);
    return status;
}

static int any_of_one(void *of, int *is)
{
    (void)of;
    (void)is;
    return SAPPORO_OK;
}

static const char *words_of_context(const void *of) { return sapporo_last_error(of); }

const struct sap_hermite_sums sap_hermite_context = {.clear = clear_context,
                                                     .put = put_in_context,
                                                     .store = store_in_context,
                                                     .force = force_of_context,
                                                     .any = any_of_one,
                                                     .words = words_of_context};
