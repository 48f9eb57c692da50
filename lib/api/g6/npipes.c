/*
 * npipes.c - the number of pipes that g6_npipes returns to clients.
 *
 * Compiled twice: clients of the hardware's library have arrays of 48 elements,
 * so the default of libg6 is 48; clients of libsapporo support more (spec 4.5).
 */
#include "api/g6/npipes.h"

#include "base/environment.h"
#include "base/log.h"
#include "variables.h"

#ifndef SAP_NPIPES
#define SAP_NPIPES 16384
#endif

atomic_int sap_npipes_known;

static int read_npipes(void)
{
    char wrong[SAP_WRONG_ROOM];
    int n = SAP_NPIPES;
    if (sap_env_number(&sap_variables[SAP_VAR_NPIPES], &n, wrong) == SAP_READ_BAD)
        sap_log(SAPPORO_LOG_WARNING, "%s, and %d is used", wrong, SAP_NPIPES);
    return n;
}

int sap_npipes(void)
{
    int n = atomic_load_explicit(&sap_npipes_known, memory_order_relaxed), unread = 0;
    if (n > 0) return n;
    n = read_npipes();
    /* if two threads read the variable at the same time, the value stored first counts for both */
    return atomic_compare_exchange_strong(&sap_npipes_known, &unread, n) ? n : unread;
}
