/*
 * listed.c - forces from lists of neighbours: what is asked is checked.  The CPU computes, or, where there is much to
 * do at once, the engine, with the same bits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/structs.h"
#include "context/context_private.h"
#include "context/job_rows.h"
#include "cpu/cpu_listed.h"

static int check(sapporo *c, const sapporo_listed *l, const sapporo_result *r, int known)
{
    if (known)
        return sap_fail(c, known,
                        "sapporo_force_listed: sapporo_listed or sapporo_result of a newer version of the "
                        "library");
    if (c->settings.order != 4)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_listed needs a context of order 4, this one has %d",
                        c->settings.order);
    if (l->ni < 0 || (l->ni > 0 && (!l->address || !l->list || !l->length)))
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_listed: ni is %d, or there are no lists", l->ni);
    if (!(l->eps2 >= 0 && isfinite(l->eps2)))
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_listed: eps2 is %g", l->eps2);
    if (r->snap || r->crackle)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_listed: forces of order 4 have no snap");
    if (c->host.soft > 0)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "sapporo_force_listed has no softening of each particle");
    for (int i = 0; i < l->ni; i++)
        if (l->length[i] > 0 && !l->list[i])
            return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_listed: list %d is not there", i);
    return SAPPORO_OK;
}

/* The CPU's device of a context on another engine. */
static struct sap_device_set *cpu_of(sapporo *c)
{
    char why[200] = "";
    if (c->engine == &sap_engine_cpu) return c->devices;
    if (!c->multi && sap_engine_cpu.open(&c->settings, &c->multi, why, sizeof why))
        sap_fail(c, SAPPORO_ERR_DEVICE, "sapporo_force_listed on the cpu: %s", why);
    return c->multi;
}

/* ------------------------------------------------------------ on the engine */

/*
 * Whether the engine computes so many at once faster than the CPU, with the same bits: engines have fused operations.
 * It needs rows, and they the store's changes.  It copies the rows of all addresses, so most must hold a particle.
 */
static int suits_engine(const sapporo *c, const struct sap_device_set *cpu, const struct sap_listed *l)
{
    double members = 0;
    if (!c->engine->batch || c->store_used || cpu->isa < SAP_ISA_AVX2) return 0;
    if (sap_rows_sparse(&c->host)) return 0;
    for (int i = 0; l->length && i < l->ni; i++) members += l->length[i] > 0 ? l->length[i] : 0;
    return members >= c->engine->cpu_below_listed(c->devices);
}

/* Lists from .. to-1 of a call. */
static struct sap_listed some_of(const struct sap_listed *l, int from, int to)
{
    return (struct sap_listed){.ni = to - from,
                               .address = l->address + from,
                               .list = l->list + from,
                               .length = l->length + from,
                               .eps2 = l->eps2,
                               .time = l->time,
                               .acc = l->acc ? l->acc + from : NULL,
                               .jerk = l->jerk ? l->jerk + from : NULL,
                               .pot = l->pot ? l->pot + from : NULL,
                               .nearest = l->nearest ? l->nearest + from : NULL,
                               .nearest_r2 = l->nearest_r2 ? l->nearest_r2 + from : NULL};
}

/* What the engine has left: lists that name nobody, or are very long. */
static int compute_rest(sapporo *c, struct sap_device_set *cpu, const struct sap_listed *l, const unsigned char *left)
{
    int status = SAPPORO_OK;
    for (int i = 0, end; i < l->ni && status >= 0; i = end) {
        for (end = i + 1; end < l->ni && left[end] == left[i]; end++) continue;
        if (!left[i]) continue;
        const struct sap_listed some = some_of(l, i, end);
        const int worse = sap_engine_cpu.listed(cpu, &c->host, 1, &some);
        status = worse != SAPPORO_OK ? worse : status;
    }
    return status;
}

/* A failure of the device costs time, and nothing else: then the CPU computes all. */
static int run_on_engine(sapporo *c, struct sap_device_set *cpu, const struct sap_listed *l)
{
    struct sap_rows *const rows = sap_rows_at(cpu, &c->host, &c->host, l->time);
    unsigned char *const left = malloc((size_t)l->ni);
    int status = SAPPORO_ERR_MEMORY;
    if (rows && left) {
        const struct sap_given given = {.row = rows->given,
                                        .words = 4 * (rows->terms + 1),
                                        .upper = c->host.upper,
                                        .changed = rows->changed,
                                        .nchanged = rows->nchanged};
        status = c->engine->batch(c->devices, c->store, &given, l, left);
        rows->nchanged = status < 0 ? -1 : 0;
        if (status < 0) {
            sap_warn_once(&c->notes, SAP_WARN_LISTED, "forces from lists are computed on the cpu instead: %s: %s",
                          sapporo_status_text(status), c->engine->store->words(c->store));
            memset(left, 1, (size_t)l->ni);
        }
        status = compute_rest(c, cpu, l, left);
    }
    free(left);
    return status;
}

static int run(sapporo *c, const sapporo_listed *l, const sapporo_result *r)
{
    struct sap_device_set *const cpu = cpu_of(c);
    const struct sap_listed listed = {.ni = l->ni,
                                      .address = l->address,
                                      .list = l->list,
                                      .length = l->length,
                                      .eps2 = l->eps2,
                                      .time = c->time,
                                      .acc = r->acc,
                                      .jerk = r->jerk,
                                      .pot = r->pot,
                                      .nearest = r->nearest,
                                      .nearest_r2 = r->nearest_r2};
    if (!cpu) return SAPPORO_ERR_DEVICE;
    const int takes = cpu == c->devices || !c->store_used;
    if (cpu != c->devices) c->rows_used = 1;
    const int status = suits_engine(c, cpu, &listed) ? run_on_engine(c, cpu, &listed)
                                                     : sap_engine_cpu.listed(cpu, &c->host, takes, &listed);
    if (status == SAPPORO_PARTIAL)
        sap_warn_once(&c->notes, SAP_WARN_BAD_I,
                      "a force from lists names addresses that hold no particle, or target particles that are not "
                      "finite: their rows are NaN");
    return status < 0 ? sap_fail(c, status, "force of %d lists: %s", l->ni, sapporo_status_text(status)) : status;
}

int sapporo_force_listed(sapporo *context, const sapporo_listed *given, const sapporo_result *result)
{
    sapporo_listed l = {.ni = 0};
    sapporo_result r;
    const int known_result = sap_result_copy(&r, result);
    const int known = given ? sap_struct_copy(&l, sizeof l, given, sizeof l) : SAPPORO_ERR_ARGUMENT;
    if (context && (known == SAPPORO_ERR_ARGUMENT || known_result == SAPPORO_ERR_ARGUMENT))
        return SAPPORO_ERR_ARGUMENT; /* the rows, or the arrays, are not known */
    sapporo *const c = sap_context_hold(context);
    if (!c) {
        sap_rows_write_failed(l.ni, &r);
        return SAPPORO_ERR_CLOSED;
    }
    const sap_fpenv caller = sap_fp_enter();
    if (c->nstaged) sap_context_settle(c);
    sap_jstore_finish(&c->host);
    int status = check(c, &l, &r, known ? known : known_result);
    if (!status && l.ni > 0) status = run(c, &l, &r);
    if (status < 0) sap_rows_write_failed(l.ni, &r);
    sap_fp_leave(caller);
    sap_unlock(&c->busy);
    return status;
}
