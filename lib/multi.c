/* multi.c - many small forces in one call: what is asked is checked, what fails becomes NaN. */
#include <math.h>
#include <string.h>

#include "context_private.h"
#include "fpenv.h"
#include "structs.h"

static void write_failed(const struct sap_multi *m)
{
    for (int k = 0; k < m->nlists; k++) {
        const sapporo_result *const r = sap_multi_result(m, k);
        for (int i = 0; i < sap_multi_list(m, k)->ni; i++) {
            for (int axis = 0; axis < 3 && r->acc; axis++) r->acc[i][axis] = NAN;
            if (r->pot) r->pot[i] = NAN;
        }
    }
}

static int bad_list(sapporo *c, int k, const char *what)
{
    return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_multi: list %d %s", k, what);
}

/* Whether a column of squared softening has n values that may be. */
static int good_softening(const sapporo_column *column, int n)
{
    for (int k = 0; k < n && column->base; k++) {
        double eps2;
        memcpy(&eps2, sap_column_at(column, k, sizeof eps2), sizeof eps2);
        if (!(eps2 >= 0 && isfinite(eps2))) return 0;
    }
    return 1;
}

static int good_addresses(const sapporo *c, const sapporo_list *l)
{
    for (int k = 0; k < l->nj && l->address; k++)
        if (!sap_jstore_has(&c->host, l->address[k])) return 0;
    return 1;
}

static int check_list(sapporo *c, int k, const sapporo_list *l, const sapporo_result *r)
{
    if (l->ni < 0 || l->nj < 0) return bad_list(c, k, "has negative numbers of particles");
    if (l->ni > 0 && !l->x.base) return bad_list(c, k, "has no positions of i-particles");
    if (l->nj > 0 && !l->address && !l->x_j.base) return bad_list(c, k, "has neither sources nor addresses");
    if (!(l->eps2 >= 0 && isfinite(l->eps2))) return bad_list(c, k, "has an eps2 that is negative or not finite");
    if (!good_softening(&l->eps2_i, l->ni) || (!l->address && !good_softening(&l->eps2_j, l->nj)))
        return bad_list(c, k, "has a softening that is negative or not finite");
    if (!good_addresses(c, l)) return bad_list(c, k, "names an address that holds no particle");
    const int long_one = r->size >= sizeof *r;
    if (r->jerk || r->nearest || r->nearest_r2 || (long_one && (r->snap || r->crackle)))
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_multi gives acc and pot only (list %d)", k);
    return SAPPORO_OK;
}

static int check(sapporo *c, const struct sap_multi *m)
{
    const int n = m->nlists;
    if (n < 0) return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_multi: nlists is %d", n);
    if (n > 0 && (!m->lists || !m->results || m->lists->size < sizeof *m->lists ||
                  m->results->size < offsetof(sapporo_result, snap)))
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_multi: no lists or results, or their size is not set");
    if (c->settings.order != 2)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_multi needs a context of order 2, this one has %d",
                        c->settings.order);
    for (int k = 0; k < n; k++) {
        const int status = check_list(c, k, sap_multi_list(m, k), sap_multi_result(m, k));
        if (status) return status;
    }
    return SAPPORO_OK;
}

/* On the context's engine; on the CPU instead if it cannot, and nobody named it. */
static int run(sapporo *c, const struct sap_multi *m)
{
    char why[200] = "";
    if (c->engine->multi) {
        const int status = c->engine->multi(c->devices, c->store, &c->host, m);
        return status < 0 ? sap_engine_failed(c, status, "%d lists", m->nlists) : status;
    }
    if (c->settings.backend_given)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_multi is not in this version of the %s engine",
                        c->engine->name);
    if (!c->multi) {
        const int status = sap_engine_cpu.open(&c->settings, &c->multi, why, sizeof why);
        if (status) return sap_fail(c, status, "sapporo_force_multi on the cpu: %s", why);
        sap_log(SAPPORO_LOG_INFO, "sapporo_force_multi is computed on the cpu: the %s engine does not have it",
                c->engine->name);
    }
    return sap_engine_cpu.multi(c->multi, NULL, &c->host, m);
}

int sapporo_force_multi(sapporo *c, int nlists, const sapporo_list *lists, const sapporo_result *results)
{
    const struct sap_multi m = {nlists, lists, results};
    if (!c) return SAPPORO_ERR_CLOSED;
    sap_lock(&c->busy);
    const sap_fpenv caller = sap_fp_enter();
    if (c->nstaged) sap_context_settle(c);
    sap_jstore_finish(&c->host);
    int status = check(c, &m);
    const int checked = status == SAPPORO_OK;
    if (checked && nlists > 0) status = run(c, &m);
    if (checked && status < 0) write_failed(&m);
    sap_fp_leave(caller);
    sap_unlock(&c->busy);
    return status;
}
