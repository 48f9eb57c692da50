/*
 * faulty_environment.c - makes the faults that SAPPORO_FAULT asks for, in libraries built with FAULTS=1; see
 * faulty_driver.h.
 */
#include "faulty_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_asked_for;                    /* SAPPORO_FAULT asks for a fault */
static const struct sap_driver *wrapped[2]; /* CUDA, OpenCL */

static void read_environment(void)
{
    const char *text = getenv("SAPPORO_FAULT");
    char *end = NULL;
    const long n = text ? strtol(text, &end, 10) : 0;
    int status = text && !*end ? SAP_DRIVER_ERROR : SAP_DRIVER_OK;
    for (const struct faulty_kind *k = faulty_kinds; k->name && text; k++)
        if (*end == ':' && strcmp(end + 1, k->name) == 0) status = k->status;
    if (!text || !*text) return;
    if (n < 1 || status == SAP_DRIVER_OK) {
        (void)fprintf(stderr, "SAPPORO_FAULT is '%s'; it may be n, n:memory, n:launch, n:lost or n:error\n", text);
        return;
    }
    wrapped[0] = faulty_wrap_as(0, &sap_driver_cuda);
    wrapped[1] = faulty_wrap_as(1, &sap_driver_opencl);
    faulty_plan(n, status);
    faulty.tells = is_asked_for = 1;
}

const struct sap_driver *faulty_from_environment(const struct sap_driver *driver)
{
    (void)pthread_once(&once, read_environment);
    return is_asked_for ? wrapped[driver == &sap_driver_opencl] : driver;
}
