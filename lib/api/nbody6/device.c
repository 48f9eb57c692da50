/* device.c - chooses the devices of the NBODY6 contexts and prints messages to users. */
#define _POSIX_C_SOURCE 200809L
#include "api/nbody6/nbody6.h"

#include "base/environment.h"
#include "variables.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { DEVICES_MAX = 64 };

/* Whether GPU_LIST applies: not if the CPU computes, and not if SAPPORO_DEVICES is set. */
static int list_applies(void)
{
    const struct sap_word *backend = NULL;
    const char *text;
    char wrong[SAP_WRONG_ROOM];
    (void)sap_env_word(&sap_variables[SAP_VAR_BACKEND], &backend, wrong);
    if (sap_env_text(&sap_variables[SAP_VAR_DEVICES], &text) > 0 || (backend && backend->value == SAPPORO_BACKEND_CPU))
        return 0;
    return sapporo_device_count(SAPPORO_BACKEND_CUDA) > 0 || sapporo_device_count(SAPPORO_BACKEND_HIP) > 0 ||
           sapporo_device_count(SAPPORO_BACKEND_OPENCL) > 0;
}

/* Checks SAPPORO_METHOD.  Trees exist only in the GRAPE-5 interface, so `tree` gives one warning.  Returns 0 after an
 * error if the value is not valid. */
static int check_method(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const struct sap_word *method = NULL;
    char wrong[SAP_WRONG_ROOM];
    const int bad = sap_env_word(&sap_variables[SAP_VAR_METHOD], &method, wrong) == SAP_READ_BAD;
    if (bad) sapporo_log(SAPPORO_LOG_ERROR, wrong);
    if (method != NULL && method->value > 0 && !atomic_flag_test_and_set(&told))
        sapporo_log(SAPPORO_LOG_WARNING, "SAPPORO_METHOD=tree: NBODY6 forces are summed directly");
    return !bad;
}

/*
 * Sets the devices from GPU_LIST: ranks take devices of the list in turn; a code of one process uses all of them.
 * Returns 0 after an error if the list is not valid.
 */
static int take_list(sapporo_options *options, int *device, int rank)
{
    char wrong[SAP_WRONG_ROOM];
    int n = 0;
    if (options->backend == SAPPORO_BACKEND_CPU) return 1;
    const enum sap_reading reading = sap_env_list(&sap_variables[SAP_VAR_GPU_LIST], device, DEVICES_MAX, &n, wrong);
    if (reading == SAP_READ_UNSET || !list_applies()) return 1;
    if (reading == SAP_READ_BAD) {
        sapporo_log(SAPPORO_LOG_ERROR, wrong);
        return 0;
    }
    options->devices = rank < 0 ? device : &device[rank % n];
    options->ndevices = rank < 0 ? n : 1;
    return 1;
}

sapporo *sap_nbody6_context(sapporo_backend backend, int order, sapporo_precision usual, int rank)
{
    int device[DEVICES_MAX];
    const char *text;
    const int set = sap_env_text(&sap_variables[SAP_VAR_PRECISION], &text) > 0;
    sapporo_options options = {.size = sizeof options,
                               .backend = backend,
                               .order = order,
                               .precision = set ? SAPPORO_PRECISION_DEFAULT : usual};
    sapporo *context = NULL;
    options.preferred_device = rank > 0 ? rank : 0;
    if (!check_method() || !take_list(&options, device, rank)) return NULL;
    (void)sapporo_open(&options, &context); /* context is NULL after a failure, which sapporo_open reports */
    return context;
}

static void send(const char *format, va_list args)
{
    char text[256];
    (void)vsnprintf(text, sizeof text, format, args);
    sapporo_log(SAPPORO_LOG_WARNING, text);
}

void sap_nbody6_tell(const char *format, ...)
{
    static atomic_int lines;
    va_list args;
    if (atomic_fetch_add(&lines, 1) >= 20) return;
    va_start(args, format);
    send(format, args);
    va_end(args);
}

void sap_nbody6_report(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    send(format, args);
    va_end(args);
}

double sap_nbody6_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
