/* lost.c - lost addresses, whose particles could not be stored: forces fail until they are stored again. */
#include "context/call.h"
#include "context/context_private.h"
#include "context/particles_part.h"

void sap_context_lose(sapporo *c, int first, int n)
{
    sap_context_settle(c); /* forces that have begun still need the old particles */
    sap_jstore_lose(&c->host, first, n);
}

int sap_context_check_lost(sapporo *c, int nj)
{
    const int address = sap_jstore_any_lost(&c->host) ? sap_jstore_first_lost(&c->host, nj) : -1;
    if (address < 0) return SAPPORO_OK;
    return sap_fail(c, SAPPORO_ERR_MEMORY,
                    "the j-particle at address %d could not be stored: forces fail until it is stored again", address);
}

void sap_context_lose_parts(sapporo *context, int first, int n)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (c) sap_context_lose(c, first, n);
    sap_call_leave(&call);
}

int sap_context_check_parts(sapporo *context, int nj)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (c && c->nstaged) sap_context_settle(c);
    return sap_call_end(&call, c ? sap_context_check_lost(c, nj) : SAPPORO_ERR_CLOSED);
}

int sap_context_upper(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (c && c->nstaged) sap_context_settle(c);
    return sap_call_end(&call, c ? c->host.upper : 0);
}
