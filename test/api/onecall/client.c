/*
 * client.c - a client of libcunbody1, or with HARP3 defined of libharp3, for test_onecall.sh: forces against sums in
 * extended precision, forces in two parts, and calls that must fail.  Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/worst.h"
#include "sapporo_cunbody1.h"
#include "sapporo_harp3.h"

enum { NI = 300, NJ = 1500 };

static double xj[NJ][3], m[NJ], xi[NI][3], a[NI][3], p[NI];
static int failures;

static void verdict(int good, const char *what)
{
    printf("%sok - %s\n", good ? "" : "not ", what);
    failures += !good;
}

static void make_particles(void)
{
    for (int j = 0; j < NJ; j++) {
        for (int k = 0; k < 3; k++) xj[j][k] = sin(1.0 + 7.3 * j + 1000.0 * k * (1 + j % 13));
        m[j] = (1 + j % 5) / 3000.0;
    }
    memcpy(xi, xj + 100, sizeof xi); /* each target is also a source */
}

/* Largest error of the first ni rows of the force of nj sources, relative to the sums of the sizes of the terms. */
static double error(int ni, int nj, double eps2, int has_pot)
{
    double worst = 0;
    for (int i = 0; i < ni; i++) {
        long double pot = 0, acc[3] = {0}, size = 0;
        for (int j = 0; j < nj; j++) {
            long double d[3], r2 = eps2;
            for (int k = 0; k < 3; k++) d[k] = (long double)xj[j][k] - xi[i][k], r2 += d[k] * d[k];
            if (r2 == 0) continue;
            pot -= m[j] / sqrtl(r2);
            size += m[j] / r2;
            for (int k = 0; k < 3; k++) acc[k] += m[j] * d[k] / (r2 * sqrtl(r2));
        }
        if (has_pot) worst = worst_of(worst, fabs((double)((p[i] - pot) / pot)));
        for (int k = 0; k < 3; k++) worst = worst_of(worst, fabs((double)((a[i][k] - acc[k]) / size)));
    }
    return worst;
}

static void check(const char *what, double got, double bound)
{
    printf("# error %.1e\n", got);
    verdict(got <= bound, what);
    for (int i = 0; i < NI; i++) a[i][0] = a[i][1] = a[i][2] = p[i] = 7;
}

/* Whether the first n rows are `value` in a, and if has_pot in p; NaN is meant where value is one. */
static int rows_are(int n, double value, int has_pot)
{
    int good = 1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 4; k++) {
            const double got = k < 3 ? a[i][k] : p[i];
            if (k == 3 && !has_pot) continue;
            good &= isnan(value) ? isnan(got) : got == value;
        }
    return good;
}

#if defined(HARP3)
static void force(int ni, double (*targets)[3], int nj, double (*sources)[3], double *mass, double eps2)
{
    accel_by_harp3_separate_noopen_(&ni, (const double(*)[3])targets, &nj, (const double(*)[3])sources, mass, a, p,
                                    &eps2);
}
enum { HAS_POT = 1 };
#else
static void force(int ni, double (*targets)[3], int nj, double (*sources)[3], double *mass, double eps2)
{
    cunbody1_force(sources, mass, targets, eps2, a, ni, nj);
}
enum { HAS_POT = 0 };
#endif

static void good_calls(double bound)
{
    force(NI, xi, NJ, xj, m, 1e-4);
    check("softened", error(NI, NJ, 1e-4, HAS_POT), bound);
    force(NI, xi, NJ, xj, m, 0);
    check("without softening, each target at the position of a source", error(NI, NJ, 0, HAS_POT), bound);
    force(NI, xi, 700, xj, m, 1e-2);
    check("fewer sources than before", error(NI, 700, 1e-2, HAS_POT), bound);
    force(NI, xi, 0, xj, m, 1e-2);
    verdict(rows_are(NI, 0, HAS_POT), "without sources");
    for (int i = 0; i < NI; i++) a[i][0] = a[i][1] = a[i][2] = p[i] = 7;
    force(0, xi, NJ, xj, m, 1e-2);
    force(-1, xi, NJ, xj, m, 1e-2);
    verdict(rows_are(NI, 7, 1), "without targets nothing is written");
}

static void bad_calls(double bound)
{
    const double mass = m[3], position = xi[2][1];
    force(2, xi, NJ, xj, m, -1);
    verdict(rows_are(2, NAN, HAS_POT), "softening below 0");
    force(2, xi, -1, xj, m, 0);
    verdict(rows_are(2, NAN, HAS_POT), "a negative number of sources");
    force(2, NULL, NJ, xj, m, 0);
    verdict(rows_are(2, NAN, HAS_POT), "no targets");
    force(2, xi, NJ, xj, NULL, 0);
    verdict(rows_are(2, NAN, HAS_POT), "no masses");
    m[3] = NAN;
    force(2, xi, NJ, xj, m, 0);
    verdict(rows_are(2, NAN, HAS_POT), "a source that is not finite");
    m[3] = mass;
    xi[2][1] = INFINITY;
    force(3, xi, NJ, xj, m, 1e-4);
    verdict(isnan(a[2][0]) && error(2, NJ, 1e-4, HAS_POT) <= bound, "a target that is not finite spoils its own row");
    xi[2][1] = position;
    force(NI, xi, NJ, xj, m, 1e-4);
    check("forces are right again", error(NI, NJ, 1e-4, HAS_POT), bound);
}

#if defined(HARP3)
static void others(double bound)
{
    h3open_();
    verdict(get_nboards() == 1, "one board");
    for (int k = 0; k < 3; k++) h3close_(), h3open_();
    force(NI, xi, NJ, xj, m, 1e-4);
    check("after h3close_ and h3open_", error(NI, NJ, 1e-4, 1), bound);
    h3close_();
    accel_by_harp3_separate_noopen_(NULL, NULL, NULL, NULL, NULL, a, p, NULL);
    verdict(rows_are(NI, 7, 1), "no arguments");
}
#else
static void others(double bound)
{
    static double moved[NJ][3];
    memcpy(moved, xj, sizeof moved);
    cunbody1_force_begin(moved, m, xi, 1e-4, a, NI, NJ);
    verdict(rows_are(NI, 7, 0), "begin writes nothing");
    memset(moved, 0, sizeof moved); /* has been copied */
    cunbody1_force_end(moved, m, xi, 1e-4, a, NI, NJ);
    check("begin, end", error(NI, NJ, 1e-4, 0), bound);
    cunbody1_force_begin(xj, m, xi, 1e-4, a, NI, NJ);
    cunbody1_force(xj, m, xi, 1e-2, a, NI, 700);
    check("a force between begin and end", error(NI, 700, 1e-2, 0), bound);
    cunbody1_force_end(xj, m, xi, 1e-4, a, NI, NJ);
    check("begin, force, end", error(NI, NJ, 1e-4, 0), bound);
    cunbody1_force_begin(moved, m, xi, 1e-4, a, NI, NJ);
    cunbody1_force_begin(xj, m, xi, 1e-4, a, NI, NJ);
    cunbody1_force_end(xj, m, xi, 1e-4, a, NI, NJ);
    check("begin twice, end", error(NI, NJ, 1e-4, 0), bound);
    cunbody1_force_end(xj, m, xi, 1e-2, a, NI, NJ);
    check("end without begin", error(NI, NJ, 1e-2, 0), bound);
    cunbody1_force_begin(xj, m, xi, 1e-4, a, NI, NJ);
    cunbody1_force_end(xj, m, xi, 1e-2, a, NI, 700);
    check("end with other numbers", error(NI, 700, 1e-2, 0), bound);
    cunbody1_force_begin(xj, m, xi, -1, a, NI, NJ);
    cunbody1_force_end(xj, m, xi, -1, a, NI, NJ);
    verdict(rows_are(NI, NAN, 0), "begin with softening below 0, end");
    cunbody1_force_mp(3, xj, m, xi, 1e-4, a, NI, NJ);
    check("cunbody1_force_mp", error(NI, NJ, 1e-4, 0), bound);
}
#endif

int main(int argc, char **argv)
{
    const double bound = argc > 1 ? strtod(argv[1], NULL) : 5e-7;
    make_particles();
    good_calls(bound);
    bad_calls(bound);
    others(bound);
    return failures > 0;
}
