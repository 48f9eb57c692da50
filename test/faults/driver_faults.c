/*
 * driver_faults.c - calls of the driver that fail, for clients that are linked with the static library.
 *
 * The one file here that knows the library from within: it puts faulty_driver.h
 * between the engine that SAPPORO_BACKEND names and its driver.
 */
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "faulty_driver.h"

void client_driver_plan(long n, const char *kind);
const char *client_driver_failed(void);

static void wrap(void)
{
    const char *const engine = getenv("SAPPORO_BACKEND");
    static int done;
    if (done++) return;
    if (engine && strcmp(engine, "cuda") == 0) sap_driver_replaced.cuda = faulty_wrap(&sap_driver_cuda);
    if (engine && strcmp(engine, "hip") == 0) sap_driver_replaced.hip = faulty_wrap(&sap_driver_hip);
    if (engine && strcmp(engine, "opencl") == 0) sap_driver_replaced.opencl = faulty_wrap(&sap_driver_opencl);
}

void client_driver_plan(long n, const char *kind)
{
    wrap();
    for (const struct faulty_kind *k = faulty_kinds; k->name; k++)
        if (strcmp(k->name, kind) == 0) faulty_plan(n, k->status);
}

const char *client_driver_failed(void) { return faulty.failed ? faulty.failed_call : NULL; }
