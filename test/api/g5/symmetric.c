/*
 * symmetric.c - a client of libpg5_symmetric, for test_g5_symmetric.sh: the calls of Phantom-GRAPE built with
 * SYMMETRIC, by value and by reference, against sums in extended precision, and calls that must fail.  Prints TAP.
 */
#define SYMMETRIC /* as its programs are compiled */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/worst.h"
#include "compat/gp5util.h"

enum { N = 400 };

static double x[N][3], m[N], eps2[N], a[N][3], p[N];
static int failures;

static void verdict(int good, const char *what)
{
    printf("%sok - %s\n", good ? "" : "not ", what);
    failures += !good;
}

static void make_particles(void)
{
    for (int j = 0; j < N; j++) {
        for (int k = 0; k < 3; k++) x[j][k] = sin(1.0 + 7.3 * j + 1000.0 * k * (1 + j % 13));
        m[j] = (1 + j % 5) / 3000.0;
        eps2[j] = 1e-4 * (1 + j % 9);
    }
}

/* Largest error of the rows, relative to the sums of the sizes of the terms; own: eps2 softens targets, else `common`.
 */
static double error(int own, double common)
{
    double worst = 0;
    for (int i = 0; i < N; i++) {
        long double pot = 0, acc[3] = {0}, size = 0;
        for (int j = 0; j < N; j++) {
            long double d[3], r2 = (long double)(own ? eps2[i] : common) + eps2[j];
            for (int k = 0; k < 3; k++) d[k] = (long double)x[j][k] - x[i][k], r2 += d[k] * d[k];
            pot += m[j] / sqrtl(r2);
            size += m[j] / r2;
            for (int k = 0; k < 3; k++) acc[k] += m[j] * d[k] / (r2 * sqrtl(r2));
        }
        worst = worst_of(worst, fabs((double)((p[i] - pot) / pot)));
        for (int k = 0; k < 3; k++) worst = worst_of(worst, fabs((double)((a[i][k] - acc[k]) / size)));
    }
    memset(a, 0, sizeof a);
    memset(p, 0, sizeof p);
    return worst;
}

static void check(const char *what, double got, double bound)
{
    printf("# error %.1e\n", got);
    verdict(got <= bound, what);
}

/* Forces by batches as wide as the pipelines; device 0 by the names without MC. */
static void in_batches(int id)
{
    for (int i = 0; i < N; i += g5_get_number_of_pipelines()) {
        const int ni = N - i < g5_get_number_of_pipelines() ? N - i : g5_get_number_of_pipelines();
        if (id == 0) {
            g5_set_xei(ni, x + i, eps2 + i);
            g5_run();
            g5_get_force(ni, a + i, p + i);
        } else {
            g5_set_xeiMC(id, ni, x + i, eps2 + i);
            g5_runMC(id);
            g5_get_forceMC(id, ni, a + i, p + i);
        }
    }
}

static void in_batches_by_reference(int id)
{
    for (int i = 0; i < N; i += 100) {
        int ni = 100;
        if (id == 0) {
            g5_set_xei_(&ni, x + i, eps2 + i);
            g5_run_();
            g5_get_force_(&ni, a + i, p + i);
        } else {
            g5_set_xeiMC_(&id, &ni, x + i, eps2 + i);
            g5_runMC_(&id);
            g5_get_forceMC_(&id, &ni, a + i, p + i);
        }
    }
}

static void good_calls(double bound)
{
    int n = N, zero = 0, three = 3;
    g5_open();
    g5_set_eps_to_all(7); /* not of these forces */
    g5_set_xmj(0, N, x, m, eps2);
    g5_set_n(N);
    g5_calculate_force_on_xe(x, eps2, a, p, N);
    check("g5_calculate_force_on_xe", error(1, 0), bound);
    in_batches(0);
    check("g5_set_xei, g5_run, g5_get_force", error(1, 0), bound);
    g5_set_eps_to_all(0.125);
    g5_calculate_force_on_x(x, a, p, N);
    check("g5_calculate_force_on_x", error(0, 0.015625), bound);

    g5_set_xmjMC(3, 0, N, x, m, eps2);
    g5_set_nMC(3, N);
    g5_calculate_force_on_xeMC(3, x, eps2, a, p, N);
    check("g5_calculate_force_on_xeMC", error(1, 0), bound);
    in_batches(3);
    check("g5_set_xeiMC, g5_runMC, g5_get_forceMC", error(1, 0), bound);
    g5_calculate_force_on_xMC(3, x, a, p, N);
    check("g5_calculate_force_on_xMC", error(0, 0.015625), bound);

    g5_set_xmj_(&zero, &n, x, m, eps2);
    g5_calculate_force_on_xe_(x, eps2, a, p, &n);
    check("g5_calculate_force_on_xe_", error(1, 0), bound);
    in_batches_by_reference(0);
    check("g5_set_xei_, g5_run_, g5_get_force_", error(1, 0), bound);
    g5_calculate_force_on_x_(x, a, p, &n);
    check("g5_calculate_force_on_x_", error(0, 0.015625), bound);
    g5_set_xmjMC_(&three, &zero, &n, x, m, eps2);
    g5_calculate_force_on_xeMC_(&three, x, eps2, a, p, &n);
    check("g5_calculate_force_on_xeMC_", error(1, 0), bound);
    in_batches_by_reference(3);
    check("g5_set_xeiMC_, g5_runMC_, g5_get_forceMC_", error(1, 0), bound);
    g5_calculate_force_on_xMC_(&three, x, a, p, &n);
    check("g5_calculate_force_on_xMC_", error(0, 0.015625), bound);
}

static int all_nan(int n)
{
    int good = 1;
    for (int i = 0; i < n; i++) good &= isnan(a[i][0]) && isnan(a[i][1]) && isnan(a[i][2]) && isnan(p[i]);
    memset(a, 0, sizeof a);
    memset(p, 0, sizeof p);
    return good;
}

static void bad_calls(void)
{
    double negative[2] = {0.5, -1};
    verdict(g5_calculate_force_on_xe(x, NULL, a, p, 2) == -1 && all_nan(2), "g5_calculate_force_on_xe without eps2");
    verdict(g5_calculate_force_on_xe(x, negative, a, p, 2) == -1 && all_nan(2), "g5_calculate_force_on_xe, eps2 < 0");
    verdict(g5_calculate_force_on_xeMC(-1, x, eps2, a, p, 2) == -1 && all_nan(2), "a device below 0");
    verdict(g5_set_xei(2, x, negative) == -1 && g5_run() == -1 && g5_get_force(2, a, p) == -1 && all_nan(2),
            "g5_set_xei, eps2 < 0");
    verdict(g5_set_xmj(0, 2, x, m, NULL) == -1, "g5_set_xmj without epsj2");
    g5_calculate_force_on_xe(x, eps2, a, p, N);
    verdict(error(1, 0) < 1e-5, "particles are as they were");
    verdict(g5_set_xmj(0, 2, x, m, negative) == -1, "g5_set_xmj, epsj2 < 0");
    verdict(g5_calculate_force_on_xe(x, eps2, a, p, 2) == -1 && all_nan(2), "forces fail until particles are loaded");
    verdict(g5_set_xmj(0, N, x, m, eps2) == 0 && g5_calculate_force_on_xe(x, eps2, a, p, N) == 0 && error(1, 0) < 1e-5,
            "and are right again");
}

int main(int argc, char **argv)
{
    make_particles();
    good_calls(argc > 1 ? strtod(argv[1], NULL) : 1e-6);
    bad_calls();
    return failures > 0;
}
