/* listed.c - forces from lists of neighbours: what is asked is checked; the CPU computes, whatever the engine. */
#include <math.h>
#include <string.h>

#include "context_private.h"
#include "fpenv.h"
#include "structs.h"

static void write_failed(int ni, const sapporo_result *r)
{
    for (int i = 0; i < ni; i++) {
        for (int axis = 0; axis < 3; axis++) {
            if (r->acc) r->acc[i][axis] = NAN;
            if (r->jerk) r->jerk[i][axis] = NAN;
        }
        if (r->pot) r->pot[i] = NAN;
        if (r->nearest) r->nearest[i] = -1;
        if (r->nearest_r2) r->nearest_r2[i] = NAN;
    }
}

static int check(sapporo *c, const sapporo_listed *l, const sapporo_result *r)
{
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
    const int status = sap_engine_cpu.listed(cpu, cpu == c->devices ? c->store : NULL, &c->host, &listed);
    if (status == SAPPORO_PARTIAL)
        sap_warn_once(&c->notes, SAP_WARN_BAD_I,
                      "a force from lists names addresses that hold no particle: rows with them are NaN");
    return status < 0 ? sap_fail(c, status, "force of %d lists: %s", l->ni, sapporo_status_text(status)) : status;
}

int sapporo_force_listed(sapporo *c, const sapporo_listed *given, const sapporo_result *result)
{
    sapporo_listed l;
    sapporo_result r = {0};
    if (!c) return SAPPORO_ERR_CLOSED;
    if (!given || sap_struct_copy(&l, sizeof l, given, sizeof l) || !result || result->size < sizeof r.size)
        return SAPPORO_ERR_ARGUMENT;
    memcpy(&r, result, result->size < sizeof r ? result->size : sizeof r);
    sap_lock(&c->busy);
    const sap_fpenv caller = sap_fp_enter();
    if (c->nstaged) sap_context_settle(c);
    sap_jstore_finish(&c->host);
    int status = check(c, &l, &r);
    if (!status && l.ni > 0) status = run(c, &l, &r);
    if (status < 0) write_failed(l.ni, &r);
    sap_fp_leave(caller);
    sap_unlock(&c->busy);
    return status;
}
