/* particles_read.c - reads j-particles, as stored or predicted. */
#include <math.h>
#include <string.h>

#include "context/call.h"
#include "context/context_units.h"
#include "context/particles.h"
#include "engine/canonical.h"

static void read_back(const sapporo *c, int address, int predicted, sapporo_particle *out)
{
    double kept[SAP_DERIVATIVES_MOST][3];
    const int n = sap_particle_derivatives(c);
    int32_t index;
    sap_jstore_get(&c->host, address, kept, &out->mass, &out->time, &index);
    out->index = index;
    out->eps2 = sap_jstore_eps2(&c->host, address);
    for (int k = 0; k < n; k++)
        for (int axis = 0; axis < 3; axis++) out->derivative[k][axis] = kept[k][axis] * sap_particle_factor(c, k);
    if (!predicted || c->settings.order == 2) return;
    if (c->host.full)
        sap_canonical_predict_full(&c->host, address, sap_context_unit_time(c), c->settings.order / 2, out->derivative);
    else
        sap_canonical_predict(&c->host, address, sap_context_unit_time(c), out->derivative[0], out->derivative[1]);
    out->time = sap_context_unit_time(c);
}

/* Divides what was read by the units of the context. */
static void leave_units(const struct sap_units *u, sapporo_particle *p)
{
    for (int k = 0; k < SAPPORO_DERIVATIVES; k++) sap_scale(p->derivative[k], 3, -sap_units_derivative(u, k));
    p->mass = sap_scaled(p->mass, -u->mass);
    p->time = sap_scaled(p->time, -u->time);
    p->eps2 = sap_scaled(p->eps2, -sap_units_square(u));
}

/* Writes what an address without a particle reads as. */
static void read_nothing(sapporo_particle *out)
{
    for (int k = 0; k < SAPPORO_DERIVATIVES; k++)
        for (int axis = 0; axis < 3; axis++) out->derivative[k][axis] = NAN;
    out->mass = out->time = out->eps2 = NAN;
    out->index = -1;
}

int sapporo_get_particle(sapporo *context, int address, int predicted, sapporo_particle *particle)
{
    if (context && !particle) return SAPPORO_ERR_ARGUMENT;
    if (particle) memset(particle, 0, sizeof *particle); /* behind the switch of environments it takes 50 ns longer */
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) {
        if (particle) read_nothing(particle);
        return SAPPORO_ERR_CLOSED;
    }
    if (c->nstaged) sap_context_settle(c);
    int status = sap_context_fetch(c);
    const int predicts = predicted && c->settings.order != 2;
    if (status) {
        read_nothing(particle);
    } else if (predicts && sap_context_check_time(c, "sapporo_get_particle")) {
        status = SAPPORO_ERR_NOT_FINITE;
        read_nothing(particle);
    } else if (sap_jstore_has(&c->host, address)) {
        read_back(c, address, predicted, particle);
        leave_units(&c->units, particle);
    } else {
        const int lost = sap_jstore_is_lost(&c->host, address);
        status = sap_fail(c, lost ? SAPPORO_ERR_MEMORY : SAPPORO_ERR_ARGUMENT, "no particle at address %d%s", address,
                          lost ? ": it could not be stored" : "");
        read_nothing(particle);
    }
    return sap_call_end(&call, status);
}
