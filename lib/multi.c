/* multi.c - many small forces in one call: what is asked is checked, what fails becomes NaN. */
#include <math.h>

#include "context_private.h"
#include "fpenv.h"
#include "structs.h"

static const sapporo_list *list_at(const sapporo_list *lists, int k)
{
    return (const sapporo_list *)(const void *)((const char *)lists + (size_t)k * lists->size);
}

static const sapporo_result *result_at(const sapporo_result *results, int k)
{
    return (const sapporo_result *)(const void *)((const char *)results + (size_t)k * results->size);
}

static void write_failed(int nlists, const sapporo_list *lists, const sapporo_result *results)
{
    for (int k = 0; k < nlists; k++) {
        const sapporo_result *const r = result_at(results, k);
        for (int i = 0; i < list_at(lists, k)->ni; i++) {
            for (int axis = 0; axis < 3 && r->acc; axis++) r->acc[i][axis] = NAN;
            if (r->pot) r->pot[i] = NAN;
        }
    }
}

static int bad_list(sapporo *c, int k, const char *what)
{
    return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_multi: list %d %s", k, what);
}

static int check_list(sapporo *c, int k, const sapporo_list *l, const sapporo_result *r)
{
    if (l->ni < 0 || l->nj < 0) return bad_list(c, k, "has negative numbers of particles");
    if (l->ni > 0 && !l->x.base) return bad_list(c, k, "has no positions of i-particles");
    if (l->nj > 0 && !l->address && !l->x_j.base) return bad_list(c, k, "has neither sources nor addresses");
    if (!(l->eps2 >= 0 && isfinite(l->eps2))) return bad_list(c, k, "has an eps2 that is negative or not finite");
    if (r->jerk || r->nearest || r->nearest_r2)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_multi gives acc and pot only (list %d)", k);
    return SAPPORO_OK;
}

static int check(sapporo *c, int nlists, const sapporo_list *lists, const sapporo_result *results)
{
    if (nlists < 0) return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_multi: nlists is %d", nlists);
    if (nlists > 0 && (!lists || !results || lists->size < sizeof *lists || results->size < sizeof *results))
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_multi: no lists or results, or their size is not set");
    for (int k = 0; k < nlists; k++) {
        const int status = check_list(c, k, list_at(lists, k), result_at(results, k));
        if (status) return status;
    }
    if (c->settings.order != 2)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_multi needs a context of order 2, this one has %d",
                        c->settings.order);
    return SAPPORO_OK;
}

int sapporo_force_multi(sapporo *c, int nlists, const sapporo_list *lists, const sapporo_result *results)
{
    if (!c) return SAPPORO_ERR_CLOSED;
    sap_lock(&c->busy);
    const sap_fpenv caller = sap_fp_enter();
    int status = check(c, nlists, lists, results);
    if (!status && nlists > 0)
        status = sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_multi is not in this version of the %s engine",
                          c->engine->name);
    if (status != SAPPORO_ERR_ARGUMENT && status < 0) write_failed(nlists, lists, results);
    sap_fp_leave(caller);
    sap_unlock(&c->busy);
    return status;
}
