/*
 * softening.c - what spline softening costs beside Plummer's: forces of order 2 on the particles of a Plummer sphere
 * whose lengths hold about 50 neighbours, as in SPH.
 *
 *   cc -O2 -Iinclude test/perf/softening.c lib/libsapporo.a -ldl -lm -o softening && ./softening [N [NI]]
 *
 * Precision, engine and path come from the environment.  Prints interactions per second of the fastest of some rounds,
 * in which the kinds of softening take turns, and their ratios to Plummer's.
 */
#define _DEFAULT_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sapporo.h"

enum { KINDS = 3, ROUNDS = 15, NEIGHBOURS = 50 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double uniform(void) { return (rand() + 0.5) / (RAND_MAX + 1.0); }

/* A Plummer sphere of scale 1; eps2: squared radius of the sphere that holds NEIGHBOURS of n particles. */
static void make(int n, double (*x)[3], double *m, double *eps2)
{
    for (int k = 0; k < n; k++) {
        const double r = 1 / sqrt(pow(0.999 * uniform() + 1e-9, -2.0 / 3) - 1), z = 2 * uniform() - 1;
        const double angle = 6.283185307179586 * uniform(), side = r * sqrt(1 - z * z);
        const double volume = NEIGHBOURS / (double)n * pow(1 + r * r, 2.5); /* over 4/3 pi */
        x[k][0] = side * cos(angle), x[k][1] = side * sin(angle), x[k][2] = r * z;
        m[k] = 1.0 / n;
        eps2[k] = pow(volume, 2.0 / 3);
    }
}

static double time_of(sapporo *c, const sapporo_request *r, const sapporo_result *out)
{
    sapporo_job *job;
    const double start = now();
    if (sapporo_force_begin(c, r, &job) < 0 || sapporo_force_end(job, r->ni, out) < 0) exit(1);
    const double end = now();
    sapporo_force_free(job);
    return end - start;
}

int main(int argc, char **argv)
{
    static const char *const name[KINDS] = {"plummer", "spline, larger", "spline, mean"};
    const int n = argc > 1 ? atoi(argv[1]) : 16384, ni = argc > 2 ? atoi(argv[2]) : n;
    double(*const x)[3] = calloc((size_t)n, sizeof *x), *const m = calloc((size_t)n, sizeof *m);
    double *const eps2 = calloc((size_t)n, sizeof *eps2), *const pot = calloc((size_t)n, sizeof *pot);
    double(*const acc)[3] = calloc((size_t)n, sizeof *acc), best[KINDS] = {INFINITY, INFINITY, INFINITY};
    const sapporo_options options = {.size = sizeof options, .order = 2};
    const sapporo_particles all = {.size = sizeof all, .derivative[0] = {x, 0}, .mass = {m, 0}, .eps2 = {eps2, 0}};
    const sapporo_result out = {.size = sizeof out, .acc = acc, .pot = pot};
    sapporo *c;
    if (!x || !m || !eps2 || !pot || !acc || n < 2 || ni < 1 || ni > n) return 1;
    make(n, x, m, eps2);
    if (sapporo_open(&options, &c) < 0 || sapporo_set_particles(c, 0, n, &all) < 0) return 1;
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            const sapporo_request r = {
                .size = sizeof r, .nj = n, .ni = ni, .x = {x, 0}, .eps2_i = {eps2, 0}, .softening = kind};
            best[kind] = fmin(best[kind], time_of(c, &r, &out));
        }
    printf("%s, %d on %d\n", sapporo_kind(c), n, ni);
    for (int kind = 0; kind < KINDS; kind++)
        printf("  %-14s %.3e /s  %.2f\n", name[kind], (double)n * ni / best[kind], best[0] / best[kind]);
    sapporo_close(c);
    return 0;
}
