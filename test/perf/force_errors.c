/*
 * force_errors.c - how the errors of forces are distributed: each precision against a direct sum in long double.
 *
 *   cc -O2 -Iinclude test/perf/force_errors.c -Llib -lsapporo -Wl,-rpath,$PWD/lib -lm -o force_errors
 *   ./force_errors SNAPSHOT EPS          of the form `lines`: id mass x y z vx vy vz
 *
 * Prints one row per quantile: kind, quantity, the share of the i-particles whose error is at most that, the error: the
 * norm of the difference over the norm of the true vector.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sapporo.h"

enum { MOST = 65536, QUANTILES = 128 };

static double mass[MOST], x[MOST][3], v[MOST][3], acc[MOST][3], jerk[MOST][3], error[2][MOST];
static long double true_acc[MOST][3], true_jerk[MOST][3];
static int index_of[MOST], n;

/* Stores the particle of a line; a line without eight numbers is none. */
static void add_particle(const char *line)
{
    double number[8];
    for (int k = 0; k < 8; k++) {
        char *end;
        number[k] = strtod(line, &end);
        if (end == line) return;
        line = end;
    }
    index_of[n] = (int)number[0];
    mass[n] = number[1];
    memcpy(x[n], number + 2, sizeof x[n]);
    memcpy(v[n], number + 5, sizeof v[n]);
    n++;
}

static int read_snapshot(const char *name)
{
    FILE *file = fopen(name, "r");
    char line[1024];
    if (!file) return -1;
    while (n < MOST && fgets(line, sizeof line, file))
        if (line[0] != '#') add_particle(line);
    fclose(file);
    return n > 0 ? 0 : -1;
}

static void add_pair(int i, int j, long double eps2)
{
    long double r[3], w[3], r2 = eps2, rv = 0;
    for (int k = 0; k < 3; k++) {
        r[k] = (long double)x[j][k] - x[i][k];
        w[k] = (long double)v[j][k] - v[i][k];
        r2 += r[k] * r[k];
        rv += r[k] * w[k];
    }
    const long double u2 = 1 / r2, mu3 = mass[j] * u2 * sqrtl(u2);
    for (int k = 0; k < 3; k++) {
        true_acc[i][k] += mu3 * r[k];
        true_jerk[i][k] += mu3 * (w[k] - 3 * rv * u2 * r[k]);
    }
}

static double relative(const double is[3], const long double should[3])
{
    long double difference = 0, size = 0;
    for (int k = 0; k < 3; k++) {
        difference += (is[k] - should[k]) * (is[k] - should[k]);
        size += should[k] * should[k];
    }
    return (double)sqrtl(difference / size);
}

static int by_size(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static void print_quantiles(const char *kind, const char *quantity, double *errors)
{
    qsort(errors, (size_t)n, sizeof *errors, by_size);
    for (int q = 1; q <= QUANTILES; q++)
        printf("%s,%s,%.6f,%.4e\n", kind, quantity, (double)q / QUANTILES, errors[(long)n * q / QUANTILES - 1]);
}

static int compute(sapporo *context, double eps2)
{
    sapporo_particles all = {.size = sizeof all, .mass.base = mass, .index.base = index_of};
    all.derivative[0].base = x;
    all.derivative[1].base = v;
    const sapporo_request request = {
        .size = sizeof request, .nj = n, .ni = n, .x.base = x, .v.base = v, .index.base = index_of, .eps2 = eps2};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk};
    sapporo_job *job = NULL;
    int status = sapporo_set_particles(context, 0, n, &all);
    if (status == SAPPORO_OK) status = sapporo_force_begin(context, &request, &job);
    if (status == SAPPORO_OK) status = sapporo_force_end(job, n, &result);
    sapporo_force_free(job);
    return status;
}

static int measure(sapporo_precision precision, double eps2)
{
    const sapporo_options options = {.size = sizeof options, .precision = precision};
    sapporo *context = NULL;
    int status = sapporo_open(&options, &context);
    if (status == SAPPORO_OK) status = compute(context, eps2);
    if (status != SAPPORO_OK) return fprintf(stderr, "force_errors: %s\n", sapporo_last_error(context)), 1;
    for (int i = 0; i < n; i++) {
        error[0][i] = relative(acc[i], true_acc[i]);
        error[1][i] = relative(jerk[i], true_jerk[i]);
    }
    print_quantiles(sapporo_kind(context), "acceleration", error[0]);
    print_quantiles(sapporo_kind(context), "jerk", error[1]);
    sapporo_close(context);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: force_errors SNAPSHOT EPS\n"), 2;
    if (read_snapshot(argv[1]) != 0) return fprintf(stderr, "force_errors: %s has no particles\n", argv[1]), 1;
    const double eps2 = strtod(argv[2], NULL) * strtod(argv[2], NULL);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i != j) add_pair(i, j, eps2);
    puts("kind,quantity,share,error");
    return measure(SAPPORO_SP, eps2) || measure(SAPPORO_DS, eps2) || measure(SAPPORO_DP, eps2);
}
