/*
 * device_columns.c - what storing particles and forces take whose arrays are in memory of a CUDA device, beside arrays
 * of the host: order 4.
 *
 *   cc -O2 -Iinclude -Ilib test/perf/device_columns.c lib/libsapporo.a -ldl -lm -o columns && ./columns [N [NI]]
 *
 * N (default 1048576) particles in a cube are stored, then the force on NI (default 1024) of them is computed, then NI
 * are stored again.  Printed are the shortest milliseconds of each, from the host and from the device, which take
 * turns.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "driver/driver.h"
#include "sapporo.h"

enum { ROUNDS = 9, CALLS = 3 };

static struct sap_dev *dev;
static struct sap_stream *stream;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void check(int failed, const char *why)
{
    if (!failed) return;
    fprintf(stderr, "%s\n", why);
    exit(1);
}

/* A copy in device memory. */
static void *sent(const void *from, size_t bytes)
{
    struct sap_mem *m = NULL;
    const struct sap_driver *const d = &sap_driver_cuda;
    check(d->allocate(dev, bytes, &m) || d->copy_in(stream, m, 0, from, bytes) || d->stream_finish(stream),
          d->error_text());
    return d->address(m);
}

struct arrays {
    void *x, *mass, *acc, *jerk, *pot;
    sapporo_memory memory;
};

static void set(sapporo *c, const struct arrays *a, int n)
{
    const sapporo_particles p = {.size = sizeof p,
                                 .derivative = {{a->x, 0}, {a->x, 0}, {a->x, 0}, {a->x, 0}},
                                 .mass = {a->mass, 0},
                                 .memory = a->memory};
    check(sapporo_set_particles(c, 0, n, &p), sapporo_last_error(c));
}

static void force(sapporo *c, const struct arrays *a, int nj, int ni)
{
    sapporo_job *job;
    const sapporo_request r = {
        .size = sizeof r, .nj = nj, .ni = ni, .x = {a->x, 0}, .v = {a->x, 0}, .eps2 = 1e-4, .memory = a->memory};
    const sapporo_result to = {.size = sizeof to, .acc = a->acc, .jerk = a->jerk, .pot = a->pot, .memory = a->memory};
    check(sapporo_force_begin(c, &r, &job) || sapporo_force_end(job, ni, &to), sapporo_last_error(c));
    sapporo_force_free(job);
}

/* Milliseconds of the three calls; keeps the shortest. */
static void measure(sapporo *c, const struct arrays *a, int n, int ni, double *best)
{
    double t[CALLS + 1] = {now()};
    set(c, a, n);
    t[1] = now();
    force(c, a, n, ni);
    t[2] = now();
    set(c, a, ni);
    t[3] = now();
    force(c, a, n, ni); /* what was stored arrives at the device */
    for (int k = 0; k < CALLS; k++)
        if (!(best[k] > 0) || t[k + 1] - t[k] < best[k]) best[k] = t[k + 1] - t[k];
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1 << 20;
    const int ni = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1024;
    const sapporo_options o = {
        .size = sizeof o, .backend = SAPPORO_BACKEND_CUDA, .devices = (const int[]){0}, .ndevices = 1};
    double(*const x)[3] = malloc((size_t)n * sizeof *x), *const mass = malloc((size_t)n * sizeof *mass);
    struct arrays a[2] = {{.x = x, .mass = mass}};
    double best[2][CALLS] = {{0}};
    sapporo *c[2];
    check(n < 1 || ni < 1 || ni > n || !x || !mass, "usage: columns [N [NI]]");
    for (int k = 0; k < n; k++) {
        for (int axis = 0; axis < 3; axis++) x[k][axis] = rand() / (RAND_MAX + 1.0) - 0.5;
        mass[k] = 1.0 / n;
    }
    a[0].acc = calloc((size_t)ni, sizeof *x), a[0].jerk = calloc((size_t)ni, sizeof *x),
    a[0].pot = calloc((size_t)ni, 8);
    check(!a[0].acc || !a[0].jerk || !a[0].pot, "out of memory");
    check(sap_driver_cuda.count() == 0, sap_driver_cuda.describe());
    check(sap_driver_cuda.open(0, &dev) || sap_driver_cuda.stream_create(dev, &stream), sap_driver_cuda.error_text());
    a[1] = (struct arrays){sent(x, (size_t)n * sizeof *x),       sent(mass, (size_t)n * sizeof *mass),
                           sent(x, (size_t)ni * sizeof *x),      sent(x, (size_t)ni * sizeof *x),
                           sent(x, (size_t)ni * sizeof(double)), SAPPORO_MEMORY_DEVICE};
    for (int k = 0; k < 2; k++) check(sapporo_open(&o, &c[k]), sapporo_last_error(NULL));
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < 2; k++) measure(c[k], &a[k], n, ni, best[k]);
    for (int k = 0; k < 2; k++)
        printf("%-6s n %d ni %d: store all %.3f ms, force %.3f ms, store ni %.3f ms\n", k ? "device" : "host", n, ni,
               best[k][0], best[k][1], best[k][2]);
    return 0;
}
