/* partial.c - forces from a part of all j-particles, as accumulators (partial.h). */
#include "context/partial.h"

#include <math.h>
#include <string.h>

#include "context/call.h"
#include "context/context_private.h"

int sap_partial_begin(sapporo *context, const sapporo_request *request, int all, sapporo_job **job)
{
    return sap_job_begin(context, request, all, SAP_EXTRA_ACCUM, job);
}

int sap_whole_begin(sapporo *context, const sapporo_request *request, int all, sapporo_job **job)
{
    return sap_job_begin(context, request, all, 0, job);
}

/* Writes a row of an i-particle that is not finite: accumulators whose total is NaN. */
static void write_bad_row(char *to, int sums, int nearest)
{
    struct sap_accum nothing;
    const struct sap_partial_near none = {.r2 = NAN, .address = -1, .index = -1};
    sap_accum_clear(&nothing);
    nothing.special = NAN;
    for (int q = 0; q < sums; q++) memcpy(to + (size_t)q * sizeof nothing, &nothing, sizeof nothing);
    if (nearest) memcpy(to + (size_t)sums * sizeof nothing, &none, sizeof none);
}

/* Divides the accumulators of a row by units: exactly, so that parts in other units can be merged with them. */
static void leave_units(char *to, int sums, const struct sap_units *u)
{
    for (int q = 0; q < sums; q++) {
        struct sap_accum a;
        memcpy(&a, to + (size_t)q * sizeof a, sizeof a);
        sap_accum_scale(&a, -sap_units_sum(u, q));
        memcpy(to + (size_t)q * sizeof a, &a, sizeof a);
    }
}

static void write_row(char *to, int i, int sums, int nearest, const struct sap_force_output *out,
                      const struct sap_units *u)
{
    const size_t bytes = (size_t)sums * sizeof *out->accum;
    memcpy(to, out->accum + i * out->accum_row, bytes);
    if (!sap_units_are_plain(u)) leave_units(to, sums, u);
    if (!nearest) return;
    const struct sap_partial_near near = {.r2 = sap_scaled(out->nearest_r2[i], -sap_units_square(u)),
                                          .address = out->nearest_address[i],
                                          .index = out->nearest[i]};
    memcpy(to + bytes, &near, sizeof near);
}

/* Rows of a force that threads write. */
struct partial_writing {
    const sapporo_job *job;
    const struct sap_force_output *out;
    char *rows;
    size_t pitch;
    int sums, nearest;
};

static void write_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct partial_writing *const w = argument;
    for (int i = (int)from; i < to; i++) {
        char *const row = w->rows + (size_t)i * w->pitch;
        if (w->job->bad[i])
            write_bad_row(row, w->sums, w->nearest);
        else
            write_row(row, i, w->sums, w->nearest, w->out, &w->job->units);
    }
}

/* Waits until all rows of a job are complete. */
static int wait_all(sapporo *c, const sapporo_job *j, struct sap_force_output *out)
{
    for (int from = 0; from < j->ni || from == 0; from = out->rows) {
        const int status = c->engine->force->end(j->force, from, out);
        if (status)
            return sap_engine_failed(c, sap_job_store(c, j), status, "force of %d on %d particles", j->nj, j->ni);
        if (out->rows >= j->ni) break;
    }
    return SAPPORO_OK;
}

static int deliver(sapporo *c, sapporo_job *j, int nearest, char *rows, size_t pitch, struct sap_partial *partial)
{
    struct sap_force_output out = {0};
    int status = nearest ? sap_job_supply(c, j, SAP_EXTRA_NEAREST) : SAPPORO_OK;
    j->delivered = 1;
    if (!status) status = wait_all(c, j, &out);
    if (status) return status;
    if (j->ni > 0 && !out.accum)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "the %s engine has no accumulators of this force", c->engine->name);
    partial->sums = 1 + 3 * j->vectors;
    memcpy(partial->scale, out.accum_scale, (size_t)partial->sums * sizeof partial->scale[0]);
    struct partial_writing w = {j, &out, rows, pitch, partial->sums, nearest};
    sap_partial_loop(sap_context_threads(c), j->ni, write_some, &w);
    if (!j->reported && out.coincident >= 0) sap_job_report_coincident(c, j, out.coincident);
    j->reported = 1;
    return j->nbad ? SAPPORO_PARTIAL : SAPPORO_OK;
}

int sap_partial_end(sapporo_job *job, int nearest, void *rows, size_t pitch, struct sap_partial *partial)
{
    struct sap_public_call call;
    sapporo_job *const j = sap_call_begin(&call, SAP_HANDLE_JOB, job);
    if (!j) return job ? SAPPORO_ERR_CLOSED : SAPPORO_ERR_ARGUMENT;
    sapporo *const c = j->context;
    const int status = deliver(c, j, nearest, rows, pitch, partial);
    return sap_call_end(&call, status);
}
