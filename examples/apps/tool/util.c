/*
 * util.c - time, statistics, memory and names.
 */
#define _POSIX_C_SOURCE 200809L

#include "util.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const CPU_ISAS[] = {"scalar", "sse2", "avx2", "avx512", "neon", NULL};

const sapporo_backend DEVICE_BACKENDS[] = {SAPPORO_BACKEND_CUDA, SAPPORO_BACKEND_HIP, SAPPORO_BACKEND_OPENCL,
                                           SAPPORO_BACKEND_CPU};
static const char *const BACKENDS[] = {"auto", "cuda", "opencl", "cpu", "hip"};
static const char *const PRECISIONS[] = {"default", "sp", "ds", "dp"};

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare_values(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y)) return (isnan(x) != 0) - (isnan(y) != 0);
    return (x > y) - (x < y);
}

void sort_values(double *value, size_t n) { qsort(value, n, sizeof *value, compare_values); }

double quantile(const double *sorted, size_t n, double fraction)
{
    if (n == 0) return NAN;
    const double place = fraction * (double)(n - 1);
    const size_t below = (size_t)place;
    const double part = place - (double)below;
    if (part == 0.0 || below + 1 >= n) return sorted[below];
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n > 0 ? n : 1, size);
    if (memory == NULL) {
        fprintf(stderr, "sapporo: out of memory (%zu times %zu bytes)\n", n, size);
        exit(STATUS_FAILED);
    }
    return memory;
}

const char *backend_name(sapporo_backend backend)
{
    return (unsigned)backend <= SAPPORO_BACKEND_HIP ? BACKENDS[backend] : "unknown";
}

const char *precision_name(sapporo_precision precision)
{
    return (unsigned)precision < 4 ? PRECISIONS[precision] : "unknown";
}

static int place_of(const char *name, const char *const *names, int n)
{
    for (int k = 0; name != NULL && k < n; k++)
        if (strcmp(name, names[k]) == 0) return k;
    return 0;
}

sapporo_backend backend_from_name(const char *name) { return (sapporo_backend)place_of(name, BACKENDS, 4); }

sapporo_precision precision_from_name(const char *name) { return (sapporo_precision)place_of(name, PRECISIONS, 4); }

size_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    char line[128]; /* all pages, pages in memory, ... */
    char *end = line;
    const int found = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    if (!found) return 0;
    strtoul(line, &end, 10);
    const unsigned long pages = strtoul(end, NULL, 10);
    const long page = sysconf(_SC_PAGESIZE);
    return page > 0 ? pages * (size_t)page : 0;
}

/* ---- JSON ------------------------------------------------------------------ */

static int json_depth, json_members; /* brackets open; members written in the innermost one so far */

static void json_string(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

static void json_name(const char *name)
{
    if (json_members++ > 0) printf(", ");
    if (name == NULL) return;
    json_string(name);
    printf(": ");
}

void json_begin(const char *name, char bracket)
{
    if (json_depth > 0) json_name(name);
    putchar(bracket);
    json_depth++;
    json_members = 0;
}

void json_end(char bracket)
{
    putchar(bracket);
    json_members = 1; /* the closed object is a member of the enclosing one */
    if (--json_depth > 0) return;
    putchar('\n');
    json_members = 0;
    fflush(stdout);
}

void json_text(const char *name, const char *text)
{
    json_name(name);
    json_string(text);
}

void json_integer(const char *name, long long value)
{
    json_name(name);
    printf("%lld", value);
}

void json_real(const char *name, double value)
{
    json_name(name);
    if (isfinite(value))
        printf("%.9g", value);
    else
        printf("null");
}

void json_truth(const char *name, int value)
{
    json_name(name);
    printf("%s", value ? "true" : "false");
}
