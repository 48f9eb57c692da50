/*
 * npipes.c - the number of pipes that clients are told.
 *
 * Compiled twice: clients of the hardware's library have arrays of 48, so
 * libg6 says 48; clients of libsapporo cope with more (spec 4.5).
 */
#include "npipes.h"

#include <errno.h>
#include <stdlib.h>

#include "process.h"

#ifndef SAP_NPIPES
#define SAP_NPIPES 16384
#endif

enum { MOST_PIPES = 1000000 };

static int read_npipes(void)
{
    const char *text = getenv("GRAPE_NPIPES");
    char *end;
    if (text == NULL || *text == 0) return SAP_NPIPES;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (*end == 0 && errno == 0 && n >= 1 && n <= MOST_PIPES) return (int)n;
    sap_log(SAPPORO_LOG_WARNING, "GRAPE_NPIPES is '%.40s'; it may be 1 to %d, and %d is used", text, MOST_PIPES,
            SAP_NPIPES);
    return SAP_NPIPES;
}

int sap_npipes(void)
{
    int n = atomic_load_explicit(&sap_process.npipes, memory_order_relaxed), unread = 0;
    if (n > 0) return n;
    n = read_npipes();
    /* The first answer stands, even if the environment has changed between two threads' first calls. */
    return atomic_compare_exchange_strong(&sap_process.npipes, &unread, n) ? n : unread;
}
