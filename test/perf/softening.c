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

/* Least seconds of a force by each kind of softening, the kinds in turns. */
static void measure(sapporo *c, const sapporo_request *asked, const sapporo_result *out, double best[KINDS])
{
    for (int kind = 0; kind < KINDS; kind++) best[kind] = INFINITY;
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            sapporo_request r = *asked;
            r.softening = (sapporo_softening)kind;
            best[kind] = fmin(best[kind], time_of(c, &r, out));
        }
}

/* Measures forces on the first ni of n particles, whose columns are in `room`, of 9 numbers for each. */
static int run(int n, int ni, double *room)
{
    static const char *const name[KINDS] = {"plummer", "spline, larger", "spline, mean"};
    double(*const x)[3] = (void *)room, (*const acc)[3] = (void *)(room + 3 * (size_t)n);
    double *const m = room + 6 * (size_t)n, *const eps2 = m + n, *const pot = eps2 + n, best[KINDS];
    const sapporo_options options = {.size = sizeof options, .order = 2};
    const sapporo_particles all = {.size = sizeof all, .derivative[0] = {x, 0}, .mass = {m, 0}, .eps2 = {eps2, 0}};
    const sapporo_request r = {.size = sizeof r, .nj = n, .ni = ni, .x = {x, 0}, .eps2_i = {eps2, 0}};
    const sapporo_result out = {.size = sizeof out, .acc = acc, .pot = pot};
    sapporo *c;
    make(n, x, m, eps2);
    if (sapporo_open(&options, &c) < 0) return 1;
    if (sapporo_set_particles(c, 0, n, &all) < 0) return 1;
    measure(c, &r, &out, best);
    printf("%s, %d on %d\n", sapporo_kind(c), n, ni);
    for (int kind = 0; kind < KINDS; kind++)
        printf("  %-14s %.3e /s  %.2f\n", name[kind], (double)n * ni / best[kind], best[0] / best[kind]);
    sapporo_close(c);
    return 0;
}

static int number(int argc, char **argv, int k, int without)
{
    return argc > k ? (int)strtol(argv[k], NULL, 10) : without;
}

int main(int argc, char **argv)
{
    const int n = number(argc, argv, 1, 16384), ni = number(argc, argv, 2, n);
    if (n < 2 || ni < 1 || ni > n) return 1;
    double *const room = calloc(9 * (size_t)n, sizeof *room);
    const int status = room ? run(n, ni, room) : 1;
    free(room);
    return status;
}
