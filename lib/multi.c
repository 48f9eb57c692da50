/* multi.c - many small forces in one call: what is asked is checked, what fails becomes NaN. */
#include <math.h>
#include <string.h>

#include "context_private.h"
#include "fpenv.h"
#include "structs.h"
#include "threads.h"

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

/* Whether all are from 0 to last: tested by their signs, four at a time. */
static int all_within(const int *address, int n, int last)
{
    typedef unsigned four __attribute__((vector_size(16)));
    typedef unsigned loose __attribute__((vector_size(16), aligned(4), may_alias));
    const unsigned most = (unsigned)last;
    four bad = {0};
    unsigned rest = 0;
    int k = 0;
    for (; k + 4 <= n; k += 4) {
        const four a = *(const loose *)(const void *)(address + k);
        bad |= a | (most - a);
    }
    for (; k < n; k++) rest |= (unsigned)address[k] | (most - (unsigned)address[k]);
    return (bad[0] | bad[1] | bad[2] | bad[3] | rest) >> 31 == 0;
}

static int good_addresses(const sapporo *c, const sapporo_list *l)
{
    if (!l->address || l->nj == 0 || (c->kept_below > 0 && sap_is_kept(&c->kept, l))) return 1;
    if (c->host.upper == 0 || !all_within(l->address, l->nj, c->host.upper - 1)) return 0;
    if (c->host.count == c->host.upper) return 1; /* no gaps below */
    for (int k = 0; k < l->nj; k++)
        if (!sap_jstore_has(&c->host, l->address[k])) return 0;
    return 1;
}

/* What is wrong with a list; NULL: nothing. */
static const char *fault_of(const sapporo *c, const sapporo_list *l)
{
    if (l->ni < 0 || l->nj < 0) return "has negative numbers of particles";
    if (l->ni > 0 && !l->x.base) return "has no positions of i-particles";
    if (l->nj > 0 && !l->address && !l->x_j.base) return "has neither sources nor addresses";
    if (!(l->eps2 >= 0 && isfinite(l->eps2))) return "has an eps2 that is negative or not finite";
    if (!good_softening(&l->eps2_i, l->ni) || (!l->address && !good_softening(&l->eps2_j, l->nj)))
        return "has a softening that is negative or not finite";
    return good_addresses(c, l) ? NULL : "names an address that holds no particle";
}

/* Looks at the kept addresses unless nothing can have become wrong since: that there are no gaps makes it easy. */
static void judge_kept(sapporo *c)
{
    enum { PART = 1 << 16 };
    const long parts = (long)((c->kept.n + PART - 1) / PART);
    const int upper = c->host.upper, threads = sap_threads_for_rows((int)(parts < 1024 ? parts : 1024) * 1024);
    int bad = upper == 0 || c->host.count != upper;
    (void)threads; /* without OpenMP */
    if (c->kept_below > 0 && c->kept_below <= upper && !bad) return;
#pragma omp parallel for num_threads(threads) if (threads > 1) reduction(| : bad)
    for (long k = 0; k < parts; k++) {
        const size_t from = (size_t)k * PART, left = c->kept.n - from;
        bad |= bad || !all_within(c->kept.address + from, (int)(left < PART ? left : PART), upper - 1);
    }
    c->kept_below = bad || parts == 0 ? 0 : upper;
}

static int wants_too_much(const sapporo_result *r) { return r->jerk || r->nearest || r->nearest_r2; }

/* The first list that is not as it must be, or nlists; threads look at them where that is worth it. */
static int first_bad(const sapporo *c, const struct sap_multi *m)
{
    enum { LISTS_A_THREAD = 128, AT_MOST = 16 };
    const int wanted = m->nlists / LISTS_A_THREAD < AT_MOST ? m->nlists / LISTS_A_THREAD : AT_MOST;
    const int threads = sap_threads_now(wanted < 1                       ? 1
                                        : wanted < sap_threads_default() ? wanted
                                                                         : sap_threads_default());
    int first = m->nlists;
    (void)threads; /* without OpenMP */
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(min : first)
    {
        const sap_fpenv caller = sap_fp_enter();
#pragma omp for schedule(static)
        for (int k = 0; k < m->nlists; k++)
            if (k < first && (wants_too_much(sap_multi_result(m, k)) || fault_of(c, sap_multi_list(m, k)))) first = k;
        sap_fp_leave(caller);
    }
    return first;
}

static int check(sapporo *c, const struct sap_multi *m)
{
    const int n = m->nlists;
    if (n < 0) return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_multi: nlists is %d", n);
    if (n > 0 &&
        (!m->lists || !m->results || m->lists->size < sizeof *m->lists || m->results->size < sizeof *m->results))
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_multi: no lists or results, or their size is not set");
    if (c->settings.order != 2)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_multi needs a context of order 2, this one has %d",
                        c->settings.order);
    const int k = first_bad(c, m);
    if (k == n) return SAPPORO_OK;
    const char *const fault = fault_of(c, sap_multi_list(m, k));
    if (fault) return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_multi: list %d %s", k, fault);
    return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_multi gives acc and pot only (list %d)", k);
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
    struct sap_multi m = {nlists, lists, results, {0}};
    if (!c) return SAPPORO_ERR_CLOSED;
    sap_lock(&c->busy);
    const sap_fpenv caller = sap_fp_enter();
    if (c->nstaged) sap_context_settle(c);
    sap_jstore_finish(&c->host);
    judge_kept(c);
    if (c->kept_below > 0) m.kept = c->kept;
    int status = check(c, &m);
    const int checked = status == SAPPORO_OK;
    if (checked && nlists > 0) status = run(c, &m);
    if (checked && status < 0) write_failed(&m);
    sap_fp_leave(caller);
    sap_unlock(&c->busy);
    return status;
}

int sapporo_keep_addresses(sapporo *c, const int *address, size_t n)
{
    if (!c) return SAPPORO_ERR_CLOSED;
    sap_lock(&c->busy);
    const int status =
        n > 0 && !address ? sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_keep_addresses: address is NULL") : SAPPORO_OK;
    if (!status) c->kept = (struct sap_kept){address, n, c->kept.number + 1};
    if (!status) c->kept_below = 0;
    sap_unlock(&c->busy);
    return status;
}
