/*
 * client.c - a client of StarSmasher's gravity interface: a sphere of gas with a compact particle in it, forces in
 * parts and at once against sums in double of the published formulas, for the three kernels, and calls that must fail.
 * Prints TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/worst.h"
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

/* Density of a Wendland kernel (1: C6, 2: C4) of length 1: Dehnen & Aly 2012, MNRAS 425, 1068, table 1. */
static long double wendland(int kernel, long double u)
{
    const long double v2 = (1 - u) * (1 - u), v6 = v2 * v2 * v2, pi = acosl(-1);
    if (kernel == 2) return 495 / (32 * pi) * v6 * (1 + u * (6 + u * 35 / 3));
    return 1365 / (64 * pi) * v6 * v2 * (1 + u * (8 + u * (25 + u * 32)));
}

/* Integral of 4 pi W u^power from low to high by Gauss and Legendre's formula with 8 points, exact for these
 * polynomials. */
static long double integral(int kernel, int power, long double low, long double high)
{
    static const long double at[4] = {0.183434642495649804939476142360L, 0.525532409916328985817739049189L,
                                      0.796666477413626739591553936476L, 0.960289856497536231683560868569L};
    static const long double weight[4] = {0.362683783378361982965150449277L, 0.313706645877887287337962201987L,
                                          0.222381034453374470544355994426L, 0.101228536290376259152531354310L};
    long double sum = 0;
    for (int k = 0; k < 8; k++) {
        const long double u = (low + high) / 2 + (high - low) / 2 * (k < 4 ? at[k] : -at[k - 4]);
        sum += weight[k % 4] * wendland(kernel, u) * powl(u, power);
    }
    return 4 * acosl(-1) * (high - low) / 2 * sum;
}

/* Potential and acceleration per distance of mass 1 that is spread by a kernel. */
static double field(int kernel, double r, double h, double *acc)
{
    const long double u = r / (long double)h, low = u > 0 ? u : 1e-9L;
    if (kernel == 0 || u >= 1) return spline(r, h, acc);
    *acc = (double)(integral(kernel, 2, 0, low) / powl(low * h, 3));
    return (double)(-(integral(kernel, 2, 0, low) / low + integral(kernel, 1, low, 1)) / h);
}

/*
 * Largest error of particles first .. first + n - 1, relative to the sums of the sizes of the terms: of all with the
 * spline, of each seventh with other kernels, and of the compact particle.
 */
static double error(int kernel, int first, int n)
{
    double worst = 0;
    for (int i = first; i < first + n; i++) {
        if (kernel > 0 && i % 7 > 0 && i < N - 1) continue;
        double want[3] = {0}, phi = 0, size = 0;
        for (int j = 0; j < N; j++) {
            double d[3], r2 = 0, acc[2];
            if (j == i && range2[i] < 0) continue;
            for (int k = 0; k < 3; k++) d[k] = x[k][j] - x[k][i], r2 += d[k] * d[k];
            phi += m[j] / 2 *
                   (field(kernel, sqrt(r2), sqrt(fabs(range2[i])), &acc[0]) +
                    field(kernel, sqrt(r2), sqrt(fabs(range2[j])), &acc[1]));
            for (int k = 0; k < 3; k++) want[k] += m[j] / 2 * (acc[0] + acc[1]) * d[k];
            size += m[j] / 2 * (acc[0] + acc[1]) * sqrt(r2);
        }
        for (int k = 0; k < 3; k++) worst = worst_of(worst, fabs(a[k][i] - want[k]) / size);
        worst = worst_of(worst, fabs(pot[i] / phi - 1));
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

/* Both Wendland kernels; by parts the same bits as at once. */
static void wendland_kernels(double bound)
{
    static double whole[4][N];
    const int is_tree = getenv("SAPPORO_METHOD") != NULL; /* bits of trees depend on the active particles */
    for (int kernel = 1; kernel <= 2; kernel++) {
        compute(1, N, kernel, N);
        verdict(error(kernel, 0, N) < bound, kernel == 1 ? "Wendland C6" : "Wendland C4");
        memcpy(whole, a, sizeof a), memcpy(whole[3], pot, sizeof pot);
        compute(1, N, 0, N);
        compute(1, 700, kernel, N);
        compute(701, N - 700, kernel, N);
        if (is_tree)
            verdict(error(kernel, 0, N) < bound, "in two parts");
        else
            verdict(!memcmp(whole, a, sizeof a) && !memcmp(whole[3], pot, sizeof pot), "in two parts, the same bits");
    }
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
    clear(), compute(1, N, 3, N);
    verdict(all_nan(0, N), "another kernel is NaN");
    clear(), compute(1, N, -1, N);
    verdict(all_nan(0, N), "a negative kernel is NaN");
    clear(), compute(2, N, 0, N);
    verdict(all_nan(0, N), "more particles than there are: NaN");
    clear(), compute(1, N, 0, N - 1);
    verdict(all_nan(0, N - 1) && pot[N - 1] == 7, "another n in the second half is NaN");
    least = x[1][3], x[1][3] = NAN;
    clear(), compute(1, N, 0, N);
    verdict(all_nan(3, 1) && isnan(pot[5]), "a position that is not finite shows");
    clear(), compute(1, N, 2, N);
    verdict(all_nan(3, 1) && isnan(pot[5]), "a position that is not finite shows, Wendland's kernel");
    x[1][3] = least;
}

/* Forces of the first n particles alone. */
static void fewer(int n)
{
    const int lower = 1, q = 4, kernel = 0;
    firsthalf_grav_forces_(&n, &lower, &n, x[0], x[1], x[2], m, range2, &q, &kernel);
    lasthalf_grav_forces_(&n, a[0], a[1], a[2], pot);
}

int main(int argc, char **argv)
{
    const int rank = 0;
    const double theta = 0.5, bound = argc > 1 ? strtod(argv[1], NULL) : 1e-6;
    make();
    gpu_init_dev_(&rank, &theta);
    clear();
    fewer(N / 3);
    verdict(!all_nan(0, 1) && !all_nan(N / 3 - 1, 1) && pot[N / 3] == 7, "forces of fewer particles");
    compute(1, N, 0, N);
    const double largest = error(0, 0, N);
    printf("# error %.9e\n", largest);
    verdict(largest < bound, "forces on all particles, which are more than before");
    clear();
    compute(401, 300, 0, N);
    verdict(error(0, 400, 300) < bound && pot[399] == 7 && pot[700] == 7, "forces on a part leave the others");
    compute(1, 0, 0, N);
    verdict(pot[400] != 7 && pot[0] == 7, "forces on none");
    wendland_kernels(bound);
    failing_calls();
    compute(1, N, 0, N);
    verdict(error(0, 0, N) < bound, "forces after failures");
    return failures > 0;
}
