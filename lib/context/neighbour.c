/*
 * neighbour.c - neighbour forces: checks the arguments.  The context's engine computes the forces, or leaves them to
 * the CPU fallback, which gives the same bits.
 */
#include <math.h>

#include "base/structs.h"
#include "context/call.h"
#include "context/context_units.h"
#include "context/job_rows.h"

/* Sets the error of structs without a valid size, or of a newer version; known: what copying them returned. */
static int check_structs(sapporo *c, const sapporo_neighbour_request *l, int known, const sapporo_result *r,
                         int known_result)
{
    if (known) return sap_struct_error(&c->notes, known, "sapporo_neighbour_request", l);
    return known_result ? sap_struct_error(&c->notes, known_result, "sapporo_result", r) : SAPPORO_OK;
}

static int check(sapporo *c, const sapporo_neighbour_request *l, const sapporo_result *r)
{
    if (c->settings.order != 4)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED,
                        "sapporo_neighbour_force needs a context of order 4, this one has %d", c->settings.order);
    if (l->ni < 0 || (l->ni > 0 && (!l->address || !l->list || !l->length)))
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_neighbour_force: ni is %d, or there are no lists", l->ni);
    if (!(l->eps2 >= 0 && isfinite(l->eps2)))
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_neighbour_force: eps2 is %g", l->eps2);
    const int untimely = sap_context_check_time(c, "sapporo_neighbour_force");
    if (untimely) return untimely;
    if (r->memory != SAPPORO_MEMORY_HOST)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_neighbour_force writes results to host memory only");
    if (r->snap || r->crackle || r->count)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_neighbour_force: forces of order 4 have no snap");
    if (c->host.soft > 0)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_neighbour_force has no softening of each particle");
    for (int i = 0; i < l->ni; i++)
        if (l->length[i] > 0 && !l->list[i])
            return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_neighbour_force: list %d is not there", i);
    return SAPPORO_OK;
}

/* Notes which rows take the changes of `host` now, those of few_fallback or the others; rows of other devices miss
 * them. */
static void take_rows(sapporo *c, int few)
{
    if (!c->store_used && c->rows_used && few != c->rows_few) sap_jstore_change_all(&c->host);
    c->rows_used = 1;
    c->rows_few = few;
}

/*
 * Computes neighbour forces of a mixed context whose addresses are all below SAP_FEW_J, in dp.  The CPU fallback does
 * it on every engine: so few particles are no work for a device.
 */
static int run_few(sapporo *c, const struct sap_neighbour_request *request)
{
    const struct sap_fallback *const f = sap_context_few_fallback(c, "sapporo_neighbour_force");
    if (!f) return SAPPORO_ERR_DEVICE;
    const struct sap_neighbour_context where = {
        .devices = f->devices, .host = &c->host, .takes_changes = !c->store_used, .notes = &c->notes};
    take_rows(c, 1);
    return f->engine->neighbour(NULL, &where, request);
}

static int run_many(sapporo *c, const struct sap_neighbour_request *request)
{
    const int other = c->engine != sap_fallback_engine();
    if (other && !sap_context_fallback(c, "sapporo_neighbour_force")) return SAPPORO_ERR_DEVICE;
    const struct sap_neighbour_context where = {.devices = c->devices,
                                                .host = &c->host,
                                                .takes_changes = !c->store_used,
                                                .fallback = other ? &c->fallback : NULL,
                                                .notes = &c->notes};
    take_rows(c, 0);
    sap_context_warn_wide(c);
    const int status = c->engine->neighbour ? c->engine->neighbour(c->store, &where, request) : (int)SAP_LEFT;
    return status == SAP_LEFT ? sap_neighbour_by_fallback(&where, request) : status;
}

/* Divides results by the units of the context, and multiplies them by its gravitational constant. */
static void leave_units(const sapporo *c, int ni, const sapporo_result *r)
{
    const struct sap_units *const u = &c->units;
    const double gravity = c->settings.gravity;
    const size_t n = (size_t)ni;
    if (r->acc) sap_scale_sums(r->acc[0], 3 * n, -sap_units_field(u, 0), gravity);
    if (r->jerk) sap_scale_sums(r->jerk[0], 3 * n, -sap_units_field(u, 1), gravity);
    if (r->pot) sap_scale_sums(r->pot, n, -sap_units_potential(u), gravity);
    if (r->nearest_r2) sap_scale(r->nearest_r2, n, -sap_units_square(u));
}

static int run(sapporo *c, const sapporo_neighbour_request *l, const sapporo_result *r)
{
    double eps2 = l->eps2;
    sap_scale_given(&eps2, 1, sap_units_square(&c->units));
    const struct sap_neighbour_request request = {.ni = l->ni,
                                                  .address = l->address,
                                                  .list = l->list,
                                                  .length = l->length,
                                                  .eps2 = eps2,
                                                  .time = sap_context_unit_time(c),
                                                  .acc = r->acc,
                                                  .jerk = r->jerk,
                                                  .pot = r->pot,
                                                  .nearest = r->nearest,
                                                  .nearest_r2 = r->nearest_r2};
    const int few = sap_context_is_few(c, c->host.upper);
    const int status = few ? run_few(c, &request) : run_many(c, &request);
    if (status >= 0) leave_units(c, l->ni, r);
    if (status == SAPPORO_PARTIAL)
        sap_warn_once(&c->notes, SAP_WARN_BAD_I,
                      "a neighbour force names addresses that hold no particle, or target particles that are not "
                      "finite: their rows are NaN");
    return status < 0
               ? sap_fail(c, status, "neighbour force on %d target particles: %s", l->ni, sapporo_status_text(status))
               : status;
}

int sapporo_neighbour_force(sapporo *context, const sapporo_neighbour_request *given, const sapporo_result *result)
{
    sapporo_neighbour_request l = {.ni = 0};
    sapporo_result r;
    const int known_result = sap_result_copy(&r, result);
    const int known = given ? sap_struct_copy(&l, sizeof l, given, sizeof l) : (int)SAPPORO_ERR_ARGUMENT;
    const int unsized = known == SAPPORO_ERR_ARGUMENT || known_result == SAPPORO_ERR_ARGUMENT;
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) {
        if (context && unsized) return SAPPORO_ERR_ARGUMENT;
        sap_rows_write_failed(l.ni, &r);
        return SAPPORO_ERR_CLOSED;
    }
    if (c->nstaged) sap_context_settle(c);
    int status = sap_context_fetch(c);
    sap_jstore_finish(&c->host);
    if (!status) status = check_structs(c, given, known, result, known_result);
    if (!status) status = check(c, &l, &r);
    if (!status && l.ni > 0)
        sap_context_take_units(c, c->host.upper, (struct sap_targets){l.eps2, l.eps2, NULL, NULL, 0},
                               sap_context_is_few(c, c->host.upper));
    if (!status && l.ni > 0) status = run(c, &l, &r);
    /* without a valid size the number of rows, or the arrays, are unknown */
    if (status < 0 && !unsized) sap_rows_write_failed(l.ni, &r);
    return sap_call_end(&call, status);
}
