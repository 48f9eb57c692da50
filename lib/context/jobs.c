/*
 * jobs.c - forces: begins them on copies of the i-particles and delivers their results.
 *
 * A force computes neighbours only if the client asks for them.  If it is asked
 * after it began, it computes them in one more pass over its j-particles.  From
 * then on forces compute neighbours at once, until the client has asked for none
 * in SAP_NEIGHBOUR_MEMORY forces in a row.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/call.h"
#include "context/caller.h"
#include "context/context_units.h"
#include "context/job_rows.h"
#include "engine/canonical.h"
#include "engine/softening.h"
#include "physics/spline.h"

/* ------------------------------------------------------------------- input */

/* Sets squared radii that are negative or NaN to 0, with a warning.  Returns whether any radius is > 0. */
static int check_h2(sapporo *c, sapporo_job *j)
{
    int any = 0;
    for (int i = 0; i < j->ni; i++) {
        if (!(j->h2[i] >= 0)) {
            sap_warn_once(&c->notes, SAP_WARN_BAD_H2, "h2 of i-particle %d is %g: taken as 0", i, j->h2[i]);
            j->h2[i] = 0;
        }
        if (j->bad[i]) j->h2[i] = 0;
        any |= j->h2[i] > 0;
    }
    return any;
}

/* Whether some address below nj holds no particle. */
static int holes_below(const sapporo *c, int nj)
{
    if (nj > c->host.upper) return 1;
    if (c->host.count == c->host.upper) return 0;
    for (int a = 0; a < nj; a++)
        if (!sap_jstore_has(&c->host, a)) return 1;
    return 0;
}

/* Fails if the request combines SAPPORO_PAIRS_OUTSIDE (regular force) with something that it does not support. */
static int check_pairs(sapporo *c, const sapporo_request *r)
{
    if (r->pairs == SAPPORO_PAIRS_ALL) {
        if (!r->regular) return SAPPORO_OK;
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_begin: regular is of SAPPORO_PAIRS_OUTSIDE");
    }
    if (r->pairs != SAPPORO_PAIRS_OUTSIDE)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_begin: pairs is %d", (int)r->pairs);
    if (c->settings.order != 4)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED,
                        "SAPPORO_PAIRS_OUTSIDE needs a context of order 4, this has order %d", c->settings.order);
    if (r->index.base || r->want & SAPPORO_WANT_NEAREST)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "SAPPORO_PAIRS_OUTSIDE goes without indices and nearest neighbours");
    if (r->eps2_i.base || c->host.soft > 0)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "SAPPORO_PAIRS_OUTSIDE has no softening of each particle");
    return SAPPORO_OK;
}

/* Fails if the kind of softening is none, or not of this order. */
static int check_softening(sapporo *c, const sapporo_request *r)
{
    _Static_assert((int)SAPPORO_SOFTENING_SPLINE_LARGER == SAP_SPLINE_LARGER &&
                       (int)SAPPORO_SOFTENING_SPLINE_MEAN == SAP_SPLINE_MEAN,
                   "kinds of softening");
    if ((unsigned)r->softening > SAP_SOFTENING_LAST)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_begin: softening is %d", (int)r->softening);
    if (r->softening && c->settings.order != 2)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "spline softening needs a context of order 2, this has order %d",
                        c->settings.order);
    return SAPPORO_OK;
}

/* Copies the caller's sapporo_regular to *regular; all members are 0 if the request has none. */
static int copy_regular(sapporo *c, const sapporo_request *r, sapporo_regular *regular)
{
    *regular = (sapporo_regular){.size = sizeof *regular};
    const int known = r->regular ? sap_struct_copy(regular, sizeof *regular, r->regular, SAP_REGULAR_LEAST) : 0;
    return known ? sap_struct_error(&c->notes, known, "sapporo_regular", r->regular) : SAPPORO_OK;
}

/*
 * Copies the column dtr of *regular into the job; *dtr becomes NULL if the column is absent or all zero.  r is the
 * request that has it.
 */
static int copy_dtr(sapporo *c, sapporo_job *j, const sapporo_request *r, const sapporo_regular *regular,
                    const double **dtr)
{
    *dtr = NULL;
    if (!regular->dtr.base) return SAPPORO_OK;
    if (!j->dtr && !(j->dtr = malloc((size_t)j->room * sizeof *j->dtr)))
        return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for %d i-particles", r->ni);
    for (int i = 0; i < r->ni; i++) {
        memcpy(&j->dtr[i], sap_column_at(&regular->dtr, i, sizeof j->dtr[i]), sizeof j->dtr[i]);
        if (!isfinite(j->dtr[i])) return sap_fail(c, SAPPORO_ERR_ARGUMENT, "dtr of i-particle %d is %g", i, j->dtr[i]);
        if (j->dtr[i] != 0) *dtr = j->dtr;
    }
    sap_scale_given(j->dtr, (size_t)r->ni, j->units.time);
    return SAPPORO_OK;
}

/*
 * Checks the sources of a force whose nj is 0.  A request that forgets nj would get forces of 0 without a message, so a
 * context that holds particles refuses it, and one that holds none warns, unless the request has SAPPORO_ALLOW_EMPTY.
 */
static int check_no_sources(sapporo *c, const sapporo_request *r)
{
    if (r->nj > 0 || r->ni == 0 || r->want & SAPPORO_ALLOW_EMPTY || c->given) return SAPPORO_OK;
    if (c->host.count > 0 || c->nstaged > 0)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT,
                        "sapporo_force_begin: nj is 0, and the context holds particles: set nj to the number of "
                        "addresses that take part, or want to SAPPORO_ALLOW_EMPTY for a force of none");
    sap_warn_once(&c->notes, SAP_WARN_NO_SOURCES, "a force of no particles: the context holds none, so forces are 0");
    return SAPPORO_OK;
}

/* all: as of sap_job_begin. */
static int check_request(sapporo *c, sapporo_request *r, const sapporo_request *given, int all)
{
    const int known = given ? sap_struct_copy(r, sizeof *r, given, SAP_REQUEST_LEAST) : (int)SAPPORO_ERR_ARGUMENT;
    if (known) return sap_struct_error(&c->notes, known, "sapporo_request", given);
    if (r->nj < 0 || r->ni < 0)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_begin: nj is %d, ni is %d", r->nj, r->ni);
    if (r->ni > 0 && !r->x.base) return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_begin: no positions");
    if (!(r->eps2 >= 0 && isfinite(r->eps2)))
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_begin: eps2 is %g", r->eps2);
    int status = all < 0 ? check_no_sources(c, r) : SAPPORO_OK;
    if (!status && c->settings.order != 2) status = sap_context_check_time(c, "sapporo_force_begin");
    if (!status) status = check_pairs(c, r);
    if (!status) status = check_softening(c, r);
    return status;
}

/* Sums common and individual squared softening per i-particle; *eps2_i becomes NULL if all softening is common, and
 * Plummer's. */
static int copy_softening(sapporo *c, sapporo_job *j, const sapporo_request *r, const double **eps2_i)
{
    *eps2_i = NULL;
    if (!r->eps2_i.base && c->host.soft == 0 && !r->softening) return SAPPORO_OK;
    if (!j->eps2_i && !(j->eps2_i = malloc((size_t)j->room * sizeof *j->eps2_i)))
        return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for %d i-particles", r->ni);
    for (int i = 0; i < r->ni; i++) {
        double own = 0;
        if (r->eps2_i.base) memcpy(&own, sap_column_at(&r->eps2_i, i, sizeof own), sizeof own);
        if (!(own >= 0 && isfinite(own)))
            return sap_fail(c, SAPPORO_ERR_ARGUMENT, "eps2_i of i-particle %d is %g", i, own);
        j->eps2_i[i] = r->eps2 + own;
    }
    sap_scale_given(j->eps2_i, (size_t)r->ni, sap_units_square(&j->units));
    *eps2_i = j->eps2_i;
    return SAPPORO_OK;
}

/* ------------------------------------------------------------------- begin */

/* The extra outputs that the force computes at once: those asked for, and those asked for recently. */
static unsigned wanted_now(sapporo *c, const sapporo_job *j, unsigned want)
{
    if (c->nearest_left > 0) want |= SAP_EXTRA_NEAREST, c->nearest_left--;
    if (c->lists_left > 0) want |= SAP_EXTRA_LISTS, c->lists_left--;
    return want & j->useful;
}

/* The time of a force; 0 in order 2, which predicts nothing. */
static double time_of(const sapporo *c) { return c->settings.order == 2 ? 0 : sap_context_unit_time(c); }

/* What a request says of its targets; start looks for softening that is none. */
static struct sap_targets targets_of(const sapporo_request *r)
{
    double least = 0, most = 0;
    for (int i = 0; i < r->ni && r->eps2_i.base; i++) {
        const double own = sap_column_double(&r->eps2_i, i);
        if (own > most && isfinite(own)) most = own;
        if (i == 0 || !(own >= least)) least = own > 0 && isfinite(own) ? own : 0;
    }
    return (struct sap_targets){r->eps2 + least, r->eps2 + most, &r->x, &r->v, r->ni};
}

/* Warns of i-particles that are not finite, or near the end of the range of single precision. */
static void warn_of_rows(sapporo *c, const sapporo_job *j, const struct sap_rows_found *found)
{
    if (!j->few) sap_context_warn_wide(c);
    if (found->wide && !j->few && c->settings.precision != SAPPORO_DP)
        sap_warn_once(&c->notes, SAP_WARN_RANGE,
                      "coordinates beyond %.0e are near the end of single precision's range: use precision dp",
                      SAP_WIDE);
    if (found->bad)
        sap_warn_once(&c->notes, SAP_WARN_BAD_I, "%d of %d i-particles are not finite: their forces are NaN", j->nbad,
                      j->ni);
}

/* Starts a force with the extra outputs in `needed`, which the client must have. */
static int start(sapporo *c, sapporo_job *j, const sapporo_request *r, unsigned needed)
{
    const double *eps2_i, *dtr;
    sapporo_regular regular;
    const int outside = r->pairs == SAPPORO_PAIRS_OUTSIDE;
    double eps2 = r->eps2;
    j->units = c->units;
    j->faint = c->faint;
    int status = copy_softening(c, j, r, &eps2_i);
    if (!status) status = copy_regular(c, r, &regular);
    if (!status) status = copy_dtr(c, j, r, &regular, &dtr);
    if (status) return status;
    sap_scale_given(&eps2, 1, sap_units_square(&j->units));
    j->h2_by_mass = regular.h2_by_mass != 0;
    const struct sap_rows_found found = sap_rows_copy(j, r);
    j->nbad = found.bad;
    warn_of_rows(c, j, &found);
    /* Regular forces always take the path with lists, even if all radii are 0: the bits of a row must not depend on
     * the radii of other rows. */
    j->useful = outside ? SAP_EXTRA_LISTS : SAP_EXTRA_NEAREST;
    if (r->h2.base && (found.odd ? check_h2(c, j) : found.near)) j->useful |= SAP_EXTRA_LISTS;
    j->useful |= needed;
    const unsigned want = outside ? SAP_EXTRA_LISTS : r->want;
    const struct sap_force_request request = {.nj = r->nj,
                                              .ni = r->ni,
                                              .time = time_of(c),
                                              .x = (const double(*)[3])j->x,
                                              .v = (const double(*)[3])j->v,
                                              .a = (const double(*)[3])j->a,
                                              .jerk = (const double(*)[3])j->jerk,
                                              .index = j->index,
                                              .h2 = j->h2,
                                              .eps2 = eps2,
                                              .eps2_i = eps2_i,
                                              .far = found.far,
                                              .rule = outside         ? SAP_PAIRS_OUTSIDE
                                                      : r->index.base ? SAP_PAIRS_SKIP_OWN
                                                                      : SAP_PAIRS_ALL,
                                              .dtr = dtr,
                                              .h2_by_mass = j->h2_by_mass,
                                              .spline = (int)r->softening,
                                              .extra = wanted_now(c, j, (want & ~(unsigned)SAP_EXTRA_ACCUM) | needed)};
    j->time = request.time;
    j->nj = r->nj;
    j->rule = request.rule;
    status = sap_context_check_lost(c, r->nj);
    if (status) return status;
    if (!(c->notes.warned >> SAP_WARN_EMPTY_SLOT & 1) && holes_below(c, r->nj))
        sap_warn_once(&c->notes, SAP_WARN_EMPTY_SLOT,
                      "nj is %d, but some addresses below hold no particle: they contribute nothing", r->nj);
    status = c->engine->force->begin(sap_job_store(c, j), &request, &j->force);
    if (status) return sap_engine_failed(c, sap_job_store(c, j), status, "force of %d on %d particles", r->nj, r->ni);
    if (j->useful & ~c->engine->force->have(j->force)) {
        j->needs_store = 1;
        c->open_needs++;
    }
    return SAPPORO_OK;
}

/* Copies columns of a request in device memory to the host. */
static int read_columns(sapporo *c, sapporo_request *r, struct sap_caller_request *own)
{
    int device;
    const int status = sap_caller_check(c, r->memory, "sapporo_force_begin", &device);
    return status || !device ? status : sap_caller_read_request(c, r, own);
}

/* Makes sure that the host has the particles, if a force of particles that the device alone has needs them there. */
static int fetch_if_needed(sapporo *c, const sapporo_request *r, int few)
{
    const struct sap_targets targets = targets_of(r);
    double faint;
    if (!c->away || (!few && (c->settings.precision == SAPPORO_DP || sap_context_glance(c, r->nj, &targets, &faint))))
        return SAPPORO_OK;
    return sap_context_fetch(c);
}

int sap_job_begin(sapporo *context, const sapporo_request *request, int all, unsigned needed, sapporo_job **job)
{
    sapporo_request copy = {0}, *const r = &copy;
    struct sap_caller_request own = {.block = NULL};
    if (!job) return SAPPORO_ERR_ARGUMENT;
    *job = NULL;
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    int sent = 0, status = check_request(c, r, request, all);
    if (!status) status = read_columns(c, r, &own);
    if (!status && !c->chosen && !needed && r->ni > 0 && r->nj > 0) sap_context_choose(c, r->nj);
    const int few = !status && sap_context_is_few(c, all < 0 ? r->nj : all);
    if (few) status = sap_context_open_few(c);
    if (!status) status = fetch_if_needed(c, r, few);
    if (!status) sap_context_take_units(c, r->nj, targets_of(r), few);
    if (!status && c->nstaged)
        sent = sap_context_send(c, few);
    else if (!status)
        sap_context_use_store(c, few);
    sap_jstore_finish(&c->host);
    if (!status) {
        sapporo_job *j = sap_job_new(c, r->ni, few);
        if (!j)
            status = sap_fail(c, SAPPORO_ERR_MEMORY, "no force: %s", sap_handle_lack(SAP_HANDLE_JOB));
        else if (sap_job_reserve(j, r->ni))
            status = sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for %d i-particles", r->ni);
        else
            status = start(c, j, r, needed);
        if (!status)
            *job = sap_handle_give(&j->self);
        else if (j)
            sap_job_retire(c, j);
    }
    if (sent) sap_context_store_staged(c, 1); /* overlaps with the device's computation */
    free(own.block);
    sap_log(SAPPORO_LOG_CALL, "force_begin: nj %d, ni %d, status %d", r->nj, r->ni, status);
    return sap_call_end(&call, status);
}

int sapporo_force_begin(sapporo *context, const sapporo_request *request, sapporo_job **job)
{
    return sap_job_begin(context, request, -1, 0, job);
}

/* --------------------------------------------------------------------- end */

void sap_job_report_coincident(sapporo *c, const sapporo_job *j, int i)
{
    if (c->notes.warned >> SAP_WARN_COINCIDENT & 1) return;
    (void)sap_context_fetch(c);
    const int same = sap_units_same(&j->units, &c->units);
    const int nj = !same ? 0 : j->nj < c->host.upper ? j->nj : c->host.upper;
    for (int a = sap_jstore_next(&c->host, 0); a < nj; a = sap_jstore_next(&c->host, a + 1)) {
        const int32_t index = sap_jstore_index(&c->host, a);
        if (j->rule == SAP_PAIRS_SKIP_OWN && index == j->index[i]) continue;
        if (sap_canonical_r2(&c->host, a, j->time, j->x[i]) >= SAP_TINY_R2) continue;
        sap_warn_once(&c->notes, SAP_WARN_COINCIDENT,
                      "particles of index %d and %d lie at the same place without softening: the pair is skipped",
                      j->index[i], index);
        return;
    }
    if (c->given)
        sap_warn_once(
            &c->notes, SAP_WARN_COINCIDENT,
            "a particle of another process lies where particle %d does without softening: the pair is skipped",
            j->index[i]);
}

int sap_job_supply(sapporo *c, sapporo_job *j, unsigned extra)
{
    extra &= j->useful & ~c->engine->force->have(j->force);
    if (!extra) return SAPPORO_OK;
    if (!j->needs_store && j->failed)
        return sap_fail(c, j->failed, "neighbours of a force of %d on %d particles: they failed before", j->nj, j->ni);
    if (!j->needs_store) {
        return sap_error_once(&c->notes, SAP_WARN_LISTS_GONE, SAPPORO_ERR_GONE,
                              "neighbours of a force were asked for after its particles had changed: ask before the "
                              "next force or batch begins, or begin the force with the want");
    }
    const int status = sap_job_extra(c, j, extra);
    if (status) return status;
    if (!(j->useful & ~c->engine->force->have(j->force))) sap_job_release_store(c, j);
    return SAPPORO_OK;
}

/* Copies rows to the caller as they become complete. */
static int write_rows(sapporo *c, const sapporo_job *j, int ni, const sapporo_result *r, struct sap_force_output *out)
{
    struct sap_rows_written found = {-1, -1};
    for (int from = 0; from < j->ni || from == 0; from = out->rows) {
        const int status = c->engine->force->end(j->force, from, out);
        if (status)
            return sap_engine_failed(c, sap_job_store(c, j), status, "force of %d on %d particles", j->nj, j->ni);
        const struct sap_rows_written at = sap_rows_write(j, from, out->rows < ni ? out->rows : ni, r, out);
        if (found.not_finite < 0) found.not_finite = at.not_finite;
        if (found.faint < 0) found.faint = at.faint;
        if (out->rows >= j->ni) break;
    }
    if (found.faint >= 0)
        sap_warn_once(&c->notes, SAP_WARN_FAINT,
                      "i-particle %d (index %d) is so far from the others that single precision loses digits of its "
                      "force, or all: use precision dp",
                      found.faint, j->index[found.faint]);
    if (found.not_finite >= 0)
        sap_warn_once(&c->notes, SAP_WARN_OVERFLOW,
                      "the force on i-particle %d (index %d) is not finite: a j-particle is not, or numbers are beyond "
                      "the range of the precision",
                      found.not_finite, j->index[found.not_finite]);
    return SAPPORO_OK;
}

static int deliver(sapporo *c, sapporo_job *j, int ni, const sapporo_result *r)
{
    struct sap_force_output out = {0};
    int status = SAPPORO_OK;
    j->delivered = 1;
    if (r->nearest || r->nearest_r2) {
        c->nearest_left = SAP_NEIGHBOUR_MEMORY;
        status = sap_job_supply(c, j, SAP_EXTRA_NEAREST);
    }
    if (!status) status = write_rows(c, j, ni, r, &out);
    if (status) return status;
    if (!j->reported && out.coincident >= 0) sap_job_report_coincident(c, j, out.coincident);
    j->reported = 1;
    return j->nbad ? SAPPORO_PARTIAL : SAPPORO_OK;
}

/* Checks the arguments of sapporo_force_end; fails if the force cannot give what is asked for. */
static int check_end(sapporo *c, const sapporo_job *j, int ni, const sapporo_result *r)
{
    if (ni < 0 || ni > j->ni)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_end: %d rows of a force on %d", ni, j->ni);
    if (j->rule == SAP_PAIRS_OUTSIDE && (r->nearest || r->nearest_r2))
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "SAPPORO_PAIRS_OUTSIDE has no nearest neighbours");
    if (r->count)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_end: only batches of small forces have counts");
    const int jerk = r->jerk && j->vectors < 2;
    if (!jerk && !(r->snap && j->vectors < 3) && !(r->crackle && j->vectors < 4)) return SAPPORO_OK;
    return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_end: forces of order %d have no %s", c->settings.order,
                    jerk             ? "jerk"
                    : j->vectors < 3 ? "snap"
                                     : "crackle");
}

/* Delivers results to device memory of the caller, by way of the host. */
static int deliver_to_device(sapporo *c, sapporo_job *j, int ni, sapporo_result *r, int status)
{
    struct sap_caller_results own;
    const int opened = sap_caller_open_results(c, ni, r, &own);
    if (opened) return opened;
    if (!status) status = deliver(c, j, ni, r);
    if (status < 0) sap_rows_write_failed(ni, r);
    return sap_caller_close_results(c, ni, r, &own, status);
}

int sapporo_force_end(sapporo_job *job, int ni, const sapporo_result *result)
{
    sapporo_result r;
    const int known = sap_result_copy(&r, result);
    struct sap_public_call call;
    sapporo_job *const j = sap_call_begin(&call, SAP_HANDLE_JOB, job);
    if (!j) {
        if (known == SAPPORO_ERR_ARGUMENT) return known;
        sap_rows_write_failed(ni, &r);
        return job ? SAPPORO_ERR_CLOSED : SAPPORO_ERR_ARGUMENT;
    }
    sapporo *const c = j->context;
    int device = 0, status = known ? sap_struct_error(&c->notes, known, "sapporo_result", result) : SAPPORO_OK;
    if (!status) status = sap_caller_check(c, r.memory, "sapporo_force_end", &device);
    if (!status) status = check_end(c, j, ni, &r);
    if (device) return sap_call_end(&call, deliver_to_device(c, j, ni, &r, status));
    if (!status) status = deliver(c, j, ni, &r);
    if (status < 0) sap_rows_write_failed(ni, &r);
    return sap_call_end(&call, status);
}

int sapporo_force_done(sapporo_job *job)
{
    struct sap_public_call call;
    sapporo_job *const j = sap_call_look(&call, SAP_HANDLE_JOB, job);
    return sap_call_end(&call, j ? j->context->engine->force->done(j->force) : 1);
}

void sapporo_force_free(sapporo_job *job)
{
    struct sap_public_call call;
    sapporo_job *const j = sap_call_look(&call, SAP_HANDLE_JOB, job);
    if (j) sap_job_retire(j->context, j);
    sap_call_leave(&call);
}
