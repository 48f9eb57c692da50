/*
 * client.c - a client of StarSmasher's gravity interface: a sphere of gas with a compact particle in it, forces in
 * parts and at once against sums in double of the published formulas, and calls that must fail.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sapporo_sphgrav.h"

enum { N = 1500 };

static double x[3][N], m[N], range2[N], a[3][N], pot[N];
static int failures;

static void verdict(int good, const char *what)
{
    printf("%sok - %s\n", good ? "" : "not ", what);
    failures += !good;
}

/* Springel, Yoshida & White 2001, New Astronomy 6, 79, appendix A, for mass 1. */
static double spline(double r, double h, double *acc)
{
    const double u = r / h;
    if (u >= 1) return *acc = 1 / (r * r * r), -1 / r;
    if (u < 0.5) {
        *acc = (32 / 3.0 + u * u * (32 * u - 38.4)) / (h * h * h);
        return (-2.8 + u * u * (16 / 3.0 + u * u * (6.4 * u - 9.6))) / h;
    }
    *acc = (64 / 3.0 + u * (-48 + u * (38.4 - 32 / 3.0 * u)) - 1 / (15 * u * u * u)) / (h * h * h);
    return (-3.2 + 1 / (15 * u) + u * u * (32 / 3.0 + u * (-16 + u * (9.6 - 32 / 15.0 * u)))) / h;
}

/* Returns the larger of two numbers; a NaN is larger than all. */
static double larger(double a, double b) { return isnan(a) || isnan(b) ? INFINITY : fmax(a, b); }

/* Largest error of particles first .. first + n - 1, relative to the sums of the sizes of the terms. */
static double error(int first, int n)
{
    double worst = 0;
    for (int i = first; i < first + n; i++) {
        double want[3] = {0}, phi = 0, size = 0;
        for (int j = 0; j < N; j++) {
            double d[3], r2 = 0, acc[2];
            if (j == i && range2[i] < 0) continue;
            for (int k = 0; k < 3; k++) d[k] = x[k][j] - x[k][i], r2 += d[k] * d[k];
            phi +=
                m[j] / 2 *
                (spline(sqrt(r2), sqrt(fabs(range2[i])), &acc[0]) + spline(sqrt(r2), sqrt(fabs(range2[j])), &acc[1]));
            for (int k = 0; k < 3; k++) want[k] += m[j] / 2 * (acc[0] + acc[1]) * d[k];
            size += m[j] / 2 * (acc[0] + acc[1]) * sqrt(r2);
        }
        for (int k = 0; k < 3; k++) worst = larger(worst, fabs(a[k][i] - want[k]) / size);
        worst = larger(worst, fabs(pot[i] / phi - 1));
    }
    return worst;
}

static double uniform(void) { return rand() / (RAND_MAX + 1.0); }

static void make(void)
{
    for (int k = 0; k < N; k++) {
        double r2 = 2;
        while (r2 > 1) {
            r2 = 0;
            for (int c = 0; c < 3; c++) x[c][k] = 2 * uniform() - 1, r2 += x[c][k] * x[c][k];
        }
        m[k] = (1 + uniform()) / N;
        range2[k] = 0.05 * (0.2 + uniform());
    }
    range2[N - 1] = -range2[N - 1];
    m[N - 1] = 0.5;
}

static void compute(int lower, int length, int kernel, int n)
{
    const int all = N, q = 4;
    firsthalf_grav_forces_(&all, &lower, &length, x[0], x[1], x[2], m, range2, &q, &kernel);
    lasthalf_grav_forces_(&n, a[0], a[1], a[2], pot);
}

static int all_nan(int first, int n)
{
    for (int k = first; k < first + n; k++)
        if (!isnan(a[0][k]) || !isnan(a[1][k]) || !isnan(a[2][k]) || !isnan(pot[k])) return 0;
    return 1;
}

static void clear(void)
{
    for (int k = 0; k < N; k++) a[0][k] = a[1][k] = a[2][k] = pot[k] = 7;
}

/* After calls that fail, results are NaN, and the next force is right. */
static void failing_calls(void)
{
    const int n = N;
    double least = 0;
    clear();
    lasthalf_grav_forces_(&n, a[0], a[1], a[2], pot);
    verdict(all_nan(0, N), "a second half without a first is NaN");
    clear(), compute(1, N, 1, N);
    verdict(all_nan(0, N), "another kernel is NaN");
    clear(), compute(2, N, 0, N);
    verdict(all_nan(0, N), "more particles than there are: NaN");
    clear(), compute(1, N, 0, N - 1);
    verdict(all_nan(0, N - 1) && pot[N - 1] == 7, "another n in the second half is NaN");
    least = x[1][3], x[1][3] = NAN;
    clear(), compute(1, N, 0, N);
    verdict(all_nan(3, 1) && isnan(pot[5]), "a position that is not finite shows");
    x[1][3] = least;
}

int main(int argc, char **argv)
{
    const int rank = 0;
    const double theta = 0.5, bound = argc > 1 ? strtod(argv[1], NULL) : 1e-6;
    make();
    gpu_init_dev_(&rank, &theta);
    clear();
    compute(1, N, 0, N);
    verdict(error(0, N) < bound, "forces on all particles");
    clear();
    compute(401, 300, 0, N);
    verdict(error(400, 300) < bound && pot[399] == 7 && pot[700] == 7, "forces on a part leave the others");
    compute(1, 0, 0, N);
    verdict(pot[400] != 7 && pot[0] == 7, "forces on none");
    failing_calls();
    compute(1, N, 0, N);
    verdict(error(0, N) < bound, "forces after failures");
    return failures > 0;
}
