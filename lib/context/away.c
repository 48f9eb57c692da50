/*
 * away.c - particles that the device alone has: columns in its memory were stored there (caller.c), and the host gets a
 * copy when a call needs one.
 */
#include "context/context_private.h"

void sap_context_empty(sapporo *c)
{
    const uint64_t version = c->host.version;
    sap_jstore_free(&c->host);
    c->host.version = version + 1; /* keeps increasing, so versions that engines remember never match new tiles */
    c->host.cleared = c->host.version;
    c->wide = c->given = c->away = 0;
    c->units = (struct sap_units){0, 0, 0};
    c->looked.valid = 0;
}

int sap_context_fetch(sapporo *c)
{
    const int n = c->host.upper;
    if (!c->away) return SAPPORO_OK;
    c->host.upper = c->host.count = 0;
    const int status = c->engine->caller->fetch(c->store, n);
    c->away = 0;
    if (!status) return SAPPORO_OK;
    sap_context_empty(c);
    sap_jstore_lose(&c->host, 0, n);
    return sap_engine_failed(c, c->store, status, "particles that the device had alone");
}
