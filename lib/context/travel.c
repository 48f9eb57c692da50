/* travel.c - j-particles that travel between processes from device memory to device memory (travel.h). */
#include "context/travel.h"

#include <stdio.h>
#include <string.h>

#include "context/call.h"
#include "context/context_units.h"

/* Begins a call on a context whose particles can travel, as sap_call_look; NULL: there is none. */
static sapporo *begin(struct sap_public_call *call, sapporo *handle)
{
    sapporo *const c = sap_call_look(call, SAP_HANDLE_CONTEXT, handle);
    if (!c || c->engine->travel) return c;
    sap_call_leave(call);
    return NULL;
}

/* Ends a call on a context, unless it is NULL: sets the error of a status below 0. */
static int end(struct sap_public_call *call, sapporo *c, int status)
{
    if (c && status < 0) (void)sap_engine_failed(c, c->store, status, "particles between processes");
    return sap_call_end(call, status);
}

int sap_travel_device(sapporo *context, struct sap_travel_device *device)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    memset(device, 0, sizeof *device);
    if (!c) return SAPPORO_ERR_CLOSED;
    (void)snprintf(device->text, sizeof device->text, "%s", c->engine->name);
    if (c->engine->travel) c->engine->travel->describe(c->devices, device);
    return sap_call_end(&call, SAPPORO_OK);
}

int sap_travel_enter(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = begin(&call, context);
    return end(&call, c, c ? c->engine->travel->enter(c->devices) : SAPPORO_ERR_CLOSED);
}

void sap_travel_leave(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = begin(&call, context);
    if (c) c->engine->travel->leave(c->devices);
    sap_call_leave(&call);
}

int sap_travel_facts(sapporo *context, double eps2, struct sap_travel_facts *facts)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    *facts = (struct sap_travel_facts){.terms = 1};
    if (!c) return SAPPORO_ERR_CLOSED;
    if (c->nstaged) sap_context_settle(c);
    const int status = sap_context_fetch(c);
    if (status) return sap_call_end(&call, status);
    for (int k = 0; k < c->host.segments; k++)
        if (c->host.segment[k] && c->host.segment[k]->terms > facts->terms) facts->terms = c->host.segment[k]->terms;
    facts->soft = sap_scaled(c->host.soft, -sap_units_square(&c->units));
    facts->unfit = !sap_context_seems_plain(c, eps2) || (c->host.soft > 0 && c->settings.order > 2);
    return sap_call_end(&call, SAPPORO_OK);
}

/* -------------------------------------------------------------------- hold */

int sap_travel_hold(sapporo *context, size_t bytes, void **address)
{
    struct sap_public_call call;
    sapporo *const c = begin(&call, context);
    return end(&call, c, c ? c->engine->travel->hold(c->store, bytes, address) : SAPPORO_ERR_CLOSED);
}

void *sap_travel_stream(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = begin(&call, context);
    void *const stream = c ? c->engine->travel->stream(c->store) : NULL;
    sap_call_leave(&call);
    return stream;
}

int sap_travel_write(sapporo *context, const void *from, size_t bytes)
{
    struct sap_public_call call;
    sapporo *const c = begin(&call, context);
    return end(&call, c, c ? c->engine->travel->write(c->store, from, bytes) : SAPPORO_ERR_CLOSED);
}

int sap_travel_read(sapporo *context, void *to, size_t bytes)
{
    struct sap_public_call call;
    sapporo *const c = begin(&call, context);
    return end(&call, c, c ? c->engine->travel->read(c->store, to, bytes) : SAPPORO_ERR_CLOSED);
}

/* ----------------------------------------------------------------- packing */

/* Brings the particles of a context into the form in which a force would find them. */
static int settle(sapporo *c, int below)
{
    static const struct sap_units plain = {0, 0, 0};
    if (c->nstaged) sap_context_settle(c);
    sap_context_set_units(c, &plain);
    sap_context_use_store(c, 0);
    sap_jstore_finish(&c->host);
    sap_context_warn_wide(c);
    return sap_context_check_lost(c, below);
}

/* Packs from one locked context into the hold of another one. */
static int pack_between(sapporo *from, sapporo *c, int at, const struct sap_travel_part *part)
{
    const int status = settle(from, part->first + part->n);
    if (status) return status;
    const int failed = from->engine->travel->pack(from->store, c->store, at, part);
    return failed ? sap_engine_failed(from, from->store, failed, "particles for other processes") : SAPPORO_OK;
}

int sap_travel_pack(sapporo *from, sapporo *context, int at, const struct sap_travel_part *part)
{
    struct sap_public_call call, of_hold;
    sapporo *const source = begin(&call, from);
    if (!source) return SAPPORO_ERR_CLOSED;
    sapporo *const c = begin(&of_hold, context);
    const sap_fpenv caller = sap_fp_enter();
    const int status = c ? pack_between(source, c, at, part) : SAPPORO_ERR_CLOSED;
    sap_fp_leave(caller);
    sap_call_leave(&of_hold);
    return sap_call_end(&call, status);
}

int sap_travel_packed(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = begin(&call, context);
    return end(&call, c, c ? c->engine->travel->packed(c->store) : SAPPORO_ERR_CLOSED);
}

/* --------------------------------------------------------------- transfers */

int sap_travel_started(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = begin(&call, context);
    return end(&call, c, c ? c->engine->travel->started(c->store) : SAPPORO_ERR_CLOSED);
}

int sap_travel_state(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = begin(&call, context);
    return end(&call, c, c ? c->engine->travel->state(c->store) : SAPPORO_ERR_CLOSED);
}

int sap_travel_take(sapporo *context, const int *number, int n, int nj, const struct sap_travel_facts *facts)
{
    struct sap_public_call call;
    sapporo *const c = begin(&call, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    sap_context_clear(c);
    sap_context_use_store(c, 0);
    const int status = c->engine->travel->take(c->store, number, n, facts);
    if (!status) {
        c->given = 1;
        c->host.upper = c->host.count = nj; /* without segments: functions that read particles find none */
        c->host.soft = facts->soft;
    }
    return end(&call, c, status);
}
