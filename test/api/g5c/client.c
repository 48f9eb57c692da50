/*
 * client.c - a client of libg5c, for test_g5c.sh: forces of cells against sums in extended precision, one cell against
 * the particles that it stands for, threads with a device each, and calls that must fail.  Prints TAP.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/worst.h"
#include "sapporo_g5c.h"

enum { NI = 300, NJ = 700, THREADS = 4 };

static double xj[NJ][3], m[NJ], q[NJ][6], xi[NI][3], a[NI][3], p[NI];
static int failures;

static void verdict(int good, const char *what)
{
    printf("%sok - %s\n", good ? "" : "not ", what);
    failures += !good;
}

static void make_cells(void)
{
    for (int j = 0; j < NJ; j++) {
        for (int k = 0; k < 3; k++) xj[j][k] = sin(1.0 + 7.3 * j + 1000.0 * k * (1 + j % 13));
        m[j] = (1 + j % 5) / 3000.0;
        for (int k = 0; k < 5; k++) q[j][k] = 1e-4 * m[j] * cos(3.1 * j + 17.0 * k);
        q[j][5] = -(q[j][0] + q[j][3]);
    }
    for (int i = 0; i < NI; i++)
        for (int k = 0; k < 3; k++) xi[i][k] = 1.5 * cos(2.0 + 5.1 * i + 700.0 * k);
}

/* Adds one cell's potential, acceleration and the sizes of its terms to sum[5]. */
static void add_cell(const double *x, int j, double eps2, long double *sum)
{
    const long double full[3][3] = {
        {q[j][0], q[j][1], q[j][2]}, {q[j][1], q[j][3], q[j][4]}, {q[j][2], q[j][4], q[j][5]}};
    long double d[3], qd[3] = {0}, r2 = eps2, dqd = 0;
    for (int k = 0; k < 3; k++) d[k] = (long double)xj[j][k] - x[k], r2 += d[k] * d[k];
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) qd[k] += full[k][l] * d[l];
    for (int k = 0; k < 3; k++) dqd += d[k] * qd[k];
    const long double r = sqrtl(r2), r5 = r2 * r2 * r;
    sum[0] -= m[j] / r + dqd / (2 * r5);
    for (int k = 0; k < 3; k++) sum[1 + k] += m[j] * d[k] / (r2 * r) - qd[k] / r5 + 5 * dqd * d[k] / (2 * r5 * r2);
    sum[4] += m[j] / r2;
}

/* Largest error of the first ni rows of the force of nj cells. */
static double error(int ni, int nj, double eps2, double (*acc)[3], const double *pot)
{
    double worst = 0;
    for (int i = 0; i < ni; i++) {
        long double sum[5] = {0};
        for (int j = 0; j < nj; j++) add_cell(xi[i], j, eps2, sum);
        worst = worst_of(worst, fabs((double)((pot[i] - sum[0]) / sum[0])));
        for (int k = 0; k < 3; k++) worst = worst_of(worst, fabs((double)((acc[i][k] - sum[1 + k]) / sum[4])));
    }
    return worst;
}

static void check(const char *what, double got, double bound)
{
    printf("# error %.1e\n", got);
    verdict(got <= bound, what);
    for (int i = 0; i < NI; i++) a[i][0] = a[i][1] = a[i][2] = p[i] = 7;
}

static int all_nan(int n)
{
    int good = 1;
    for (int i = 0; i < n; i++) good &= isnan(a[i][0]) && isnan(a[i][1]) && isnan(a[i][2]) && isnan(p[i]);
    return good;
}

static void good_calls(double bound)
{
    g5_set_eps_to_all(0.03125);
    const double eps2 = 0.0009765625;
    verdict(g5c_calculate_force_on_xMC(0, xi, a, p, 2) == 0 && a[1][0] == 0 && p[1] == 0, "zeros before any cell");
    g5c_set_xmjMC(0, 0, NJ, xj, m, q);
    g5c_set_nMC(0, NJ);
    g5c_calculate_force_on_xMC(0, xi, a, p, NI);
    check("forces of cells", error(NI, NJ, eps2, a, p), bound);
    g5c_set_nMC(0, 100);
    g5c_calculate_force_on_xMC(0, xi, a, p, NI);
    check("forces of fewer cells", error(NI, 100, eps2, a, p), bound);
    g5c_set_xmjMC(7, 0, 50, xj, m, q);
    g5c_set_xmjMC(7, 50, 70, xj, m, q); /* elements 50 to 119 */
    g5c_set_nMC(7, 1000);
    g5c_calculate_force_on_xMC(7, xi, a, p, NI);
    check("forces of more cells than there are", error(NI, 120, eps2, a, p), bound);
    g5c_set_xmjMC(8, 60, 60, xj, m, q); /* 0 to 59 stay empty */
    g5c_set_nMC(8, 60);
    verdict(g5c_calculate_force_on_xMC(8, xi, a, p, 2) == 0 && a[1][0] == 0 && p[1] == 0, "cells below those loaded");
    g5_set_eps_to_all(0);
    g5c_set_nMC(0, NJ);
    g5c_calculate_force_on_xMC(0, xi, a, p, NI);
    check("forces without softening", error(NI, NJ, 0, a, p), bound);
    verdict(g5c_calculate_force_on_xMC(0, xi, a, p, 0) == 0 && a[0][0] == 7, "without targets nothing is written");
}

/* A cell of eight particles, seen from some distance: moments as tree codes make them improve its force. */
static void moments_of_particles(void)
{
    double part[8][3], acc[2][3] = {{0}}, centre[1][3] = {{0, 0, 0}}, mass[1] = {8}, none[1][6] = {{0}},
                       with[1][6] = {{0}};
    double at[1][3] = {{1, 0.5, -0.25}}, pot[2], exact = 0, force[3] = {0};
    for (int k = 0; k < 8; k++)
        for (int c = 0; c < 3; c++) part[k][c] = 0.1 * (c + 1) * (k >> c & 1 ? 1 : -1);
    for (int k = 0; k < 8; k++) {
        const double *const d = part[k], d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        const double v[3] = {d[0] - at[0][0], d[1] - at[0][1], d[2] - at[0][2]};
        const double r = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        exact -= 1 / r;
        for (int c = 0; c < 3; c++) force[c] += v[c] / (r * r * r);
        const double of[6] = {3 * d[0] * d[0] - d2, 3 * d[0] * d[1], 3 * d[0] * d[2],
                              3 * d[1] * d[1] - d2, 3 * d[1] * d[2], 3 * d[2] * d[2] - d2};
        for (int c = 0; c < 6; c++) with[0][c] += of[c];
    }
    g5c_set_nMC(9, 1);
    g5c_set_xmjMC(9, 0, 1, centre, mass, none);
    g5c_calculate_force_on_xMC(9, at, acc, pot, 1);
    g5c_set_xmjMC(9, 0, 1, centre, mass, with);
    g5c_calculate_force_on_xMC(9, at, acc + 1, pot + 1, 1);
    double off[2] = {0};
    for (int k = 0; k < 2; k++)
        for (int c = 0; c < 3; c++) off[k] += (acc[k][c] - force[c]) * (acc[k][c] - force[c]);
    printf("# potential off by %.1e, with moments %.1e\n", fabs(pot[0] - exact), fabs(pot[1] - exact));
    verdict(fabs(pot[1] - exact) < 0.2 * fabs(pot[0] - exact) && off[1] < 0.04 * off[0],
            "moments improve a cell's force");
}

static void bad_calls(double bound)
{
    double at = xi[1][2], moment = q[3][1], bad[1][3] = {{NAN, 0, 0}};
    verdict(g5c_calculate_force_on_xMC(-1, xi, a, p, 2) == -1 && all_nan(2), "a device below 0");
    verdict(g5c_calculate_force_on_xMC(65536, xi, a, p, 2) == -1 && all_nan(2), "a device above 65535");
    verdict(g5c_calculate_force_on_xMC(0, NULL, a, p, 2) == -1 && all_nan(2), "no targets");
    verdict(g5c_calculate_force_on_xMC(0, xi, a, p, -2) == -1, "a negative number of targets");
    verdict(g5c_set_xmjMC(0, -1, 2, xj, m, q) == -1 && g5c_set_xmjMC(0, 0, -1, xj, m, q) == -1, "addresses below 0");
    verdict(g5c_set_xmjMC(0, 2147483647, 2147483647, xj, m, q) == -1, "addresses that are too large");
    verdict(g5c_set_xmjMC(0, 0, 2, xj, m, NULL) == -1, "no moments");
    verdict(g5c_set_nMC(0, -1) == -1 && g5c_calculate_force_on_xMC(0, xi, a, p, 2) == -1 && all_nan(2), "n below 0");
    g5c_set_nMC(0, NJ);
    verdict(g5c_calculate_force_on_xMC(0, bad, a, p, 1) == 1 && all_nan(1), "a target that is not finite");
    xi[1][2] = INFINITY;
    verdict(g5c_calculate_force_on_xMC(0, xi, a, p, 3) == 1 && isnan(a[1][0]) && error(1, NJ, 0, a, p) <= bound,
            "it spoils its own row");
    xi[1][2] = at;
    q[3][1] = NAN;
    g5c_set_xmjMC(0, 3, 1, xj, m, q);
    (void)g5c_calculate_force_on_xMC(0, xi, a, p, 2);
    verdict(all_nan(2), "a moment that is not finite");
    q[3][1] = moment;
    g5c_set_xmjMC(0, 3, 1, xj, m, q);
    g5_set_eps2_to_all(-1);
    verdict(g5c_calculate_force_on_xMC(0, xi, a, p, 2) == -1 && all_nan(2), "softening below 0");
    g5_set_eps2_to_all(0);
    g5c_calculate_force_on_xMC(0, xi, a, p, NI);
    check("forces are right again", error(NI, NJ, 0, a, p), bound);
}

struct work {
    int id;
    double acc[NI][3], pot[NI], error;
};

static void *run_thread(void *data)
{
    struct work *const w = data;
    w->error = 0;
    for (int round = 0; round < 5; round++) {
        const int nj = 100 * w->id + round;
        g5c_set_xmjMC(20 + w->id, 0, nj, xj, m, q);
        g5c_set_nMC(20 + w->id, nj);
        g5c_calculate_force_on_xMC(20 + w->id, xi, w->acc, w->pot, NI);
        w->error = worst_of(w->error, error(NI, nj, 0, w->acc, w->pot));
    }
    return NULL;
}

static void threads(double bound)
{
    static struct work work[THREADS];
    pthread_t thread[THREADS];
    double worst = 0;
    for (int k = 0; k < THREADS; k++) {
        work[k].id = k + 1;
        if (pthread_create(&thread[k], NULL, run_thread, &work[k])) exit(2);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(thread[k], NULL);
        worst = worst_of(worst, work[k].error);
    }
    check("threads with a device each", worst, bound);
}

int main(void)
{
    /* ds and sp round distances, roots and terms to float: 8 units of 2^-24, moments twice that (test_batch_single.c)
     */
    const char *const precision = getenv("SAPPORO_PRECISION");
    const double bound = precision && !strcmp(precision, "dp") ? 4e-15 : 16 * 0x1p-24;
    make_cells();
    good_calls(bound);
    moments_of_particles();
    bad_calls(bound);
    threads(bound);
    return failures > 0;
}
