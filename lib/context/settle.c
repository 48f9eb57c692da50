/* settle.c - stores the staged particles when each force has what it needs of the present store. */
#include "base/fpenv.h"
#include "context/context_private.h"

static const struct sap_staged *staged_at(const sapporo *c, int k)
{
    return sap_staged_at(c->staged, c->staged_bytes, k);
}

void sap_context_store_staged(sapporo *c, int sent)
{
    enum { AHEAD = 8 }; /* the slot of the particle this far ahead is prefetched */
    const struct sap_staged *at = c->staged;
    for (int k = 0; k < c->nstaged; k++) {
        const int later = k + AHEAD;
        if (later < c->nstaged && staged_at(c, later)->address != staged_at(c, later - 1)->address + 1)
            sap_jstore_fetch(&c->host, staged_at(c, later)->address);
        if (sent)
            sap_jstore_replace(&c->host, at);
        else
            sap_jstore_put(&c->host, at);
        at = (const void *)((const char *)at + c->staged_bytes);
    }
    c->nstaged = 0;
}

int sap_job_extra(sapporo *c, sapporo_job *j, unsigned extra)
{
    sap_context_use_store(c, j->few);
    j->failed = c->engine->force->extra(sap_job_store(c, j), j->force, extra);
    if (j->failed)
        return sap_engine_failed(c, sap_job_store(c, j), j->failed, "neighbours of a force of %d on %d particles",
                                 j->nj, j->ni);
    return SAPPORO_OK;
}

/* Computes the missing outputs of jobs that may still need the present store. */
static void supply_jobs(sapporo *c)
{
    if (c->open_needs == 0) return;
    const sap_fpenv caller = sap_fp_enter();
    for (sapporo_job *j = c->jobs; j; j = j->next) {
        if (!j->needs_store) continue;
        if (!j->delivered) (void)sap_job_extra(c, j, j->useful); /* impossible after the store has changed */
        sap_job_release_store(c, j);
    }
    sap_fp_leave(caller);
}

void sap_context_settle(sapporo *c)
{
    supply_jobs(c);
    sap_context_store_staged(c, 0);
}

int sap_context_send(sapporo *c, int few)
{
    int all_known = c->sends;
    supply_jobs(c); /* on the stores that these jobs use */
    sap_context_use_store(c, few);
    for (int k = 0; k < c->nstaged && all_known; k++) {
        const int address = staged_at(c, k)->address;
        all_known = sap_jstore_has(&c->host, address) && !(few && address >= SAP_FEW_J);
    }
    struct sap_store *const store = few ? c->few.store : c->store;
    if (all_known && c->engine->store->put(store, c->staged, c->nstaged) == SAPPORO_OK) return 1;
    sap_context_store_staged(c, 0);
    return 0;
}
