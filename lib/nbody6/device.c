/* device.c - which devices NBODY6's contexts use, and what is told to its users. */
#define _POSIX_C_SOURCE 200809L
#include "nbody6.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES_MAX = 64 };

/* Numbers of GPU_LIST, which blanks or commas separate; the environment is not written to. */
static int read_list(int *device)
{
    const char *at = getenv("GPU_LIST");
    int n = 0;
    while (at && *at && n < DEVICES_MAX) {
        char *end;
        const long number = strtol(at, &end, 10);
        if (end == at) {
            if (!strchr(" \t,", *at)) break;
            at++;
            continue;
        }
        device[n++] = (int)number;
        at = end;
    }
    return n;
}

/* GPU_LIST is about GPUs: it says nothing where the CPU computes, and less than SAPPORO_DEVICES. */
static int list_applies(void)
{
    const char *const backend = getenv("SAPPORO_BACKEND");
    if (getenv("SAPPORO_DEVICES") || (backend && strcmp(backend, "cpu") == 0)) return 0;
    return sapporo_device_count(SAPPORO_BACKEND_CUDA) + sapporo_device_count(SAPPORO_BACKEND_OPENCL) > 0;
}

/* Trees serve GRAPE-5 alone; told once. */
static void tell_method(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *const method = getenv("SAPPORO_METHOD");
    if (method && strcmp(method, "tree") == 0 && !atomic_flag_test_and_set(&told))
        sapporo_log(SAPPORO_LOG_WARNING, "SAPPORO_METHOD=tree: NBODY6 forces are summed directly");
}

sapporo *sap_nbody6_context(sapporo_backend backend, int order, sapporo_precision precision, int rank)
{
    int device[DEVICES_MAX];
    sapporo_options options = {.size = sizeof options, .backend = backend, .order = order, .precision = precision};
    sapporo *context;
    const int n = read_list(device), mine = rank > 0 ? rank : 0;
    options.preferred_device = mine;
    if (n > 0 && backend != SAPPORO_BACKEND_CPU &&
        list_applies()) { /* ranks take turns; a code of one process has all that are named */
        options.devices = rank < 0 ? device : &device[mine % n];
        options.ndevices = rank < 0 ? n : 1;
    }
    tell_method();
    (void)sapporo_open(&options, &context); /* NULL after a failure, which it tells */
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
