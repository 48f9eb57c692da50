/* interpolate.c - see interpolate.h. */
#include "interpolate.h"

/* Returns n (n - 1) ..., a product of k factors. */
static double falling(int n, int k)
{
    double product = 1;
    for (int m = 0; m < k; m++) product *= n - m;
    return product;
}

/* Returns a dt^n without the power itself, which may not fit into a double; a power of two in dt changes no bit. */
static double grow(double a, double dt, int n)
{
    for (int k = 0; k < n; k++) a *= dt;
    return a;
}

/* Returns a / dt^n likewise. */
static double shrink(double a, double dt, int n)
{
    for (int k = 0; k < n; k++) a /= dt;
    return a;
}

/* Solves a x = r for n unknowns; the matrices here are far from singular, and small. */
static void solve(int n, double (*a)[INTERPOLATE_MOST], double *r)
{
    for (int k = 0; k < n; k++)
        for (int row = 0; row < n; row++) {
            if (row == k) continue;
            const double factor = a[row][k] / a[k][k];
            for (int m = k; m < n; m++) a[row][m] -= factor * a[k][m];
            r[row] -= factor * r[k];
        }
    for (int k = 0; k < n; k++) r[k] /= a[k][k];
}

/*
 * With u = (t_here - t) / dt the force is g(u) = sum g_k u^k.  The first `given` terms are known at u = 0; the
 * difference that remains at u = 1 determines the others.
 */
void interpolate_derivatives(int given, const double *here, const double *there, double dt, double *higher)
{
    double a[INTERPOLATE_MOST][INTERPOLATE_MOST], left[INTERPOLATE_MOST];
    for (int k = 0; k < given; k++) {
        left[k] = 0;
        for (int m = given - 1; m >= k; m--) { /* small terms first */
            double term = grow(here[m], -dt, m);
            for (int f = 2; f <= m - k; f++) term /= f;
            left[k] -= term;
        }
        left[k] += grow(there[k], -dt, k);
        for (int m = 0; m < given; m++) a[k][m] = falling(given + m, k);
    }
    solve(given, a, left);
    for (int m = 0; m < given; m++) higher[m] = shrink(left[m] * falling(given + m, given + m), -dt, given + m);
}

double interpolate_amplification(int given, int k)
{
    /* k! times the coefficients of the polynomial that is 1 at u = 1, where its derivatives vanish: g_k of above */
    static const double factor[2][INTERPOLATE_MOST] = {{60, 360, 720, 0}, {840, 10080, 50400, 100800}};
    return factor[given - 3][k - given];
}

double interpolate_integral(int given, const double *f0, const double *f1, double dt)
{
    /* Nitadori & Makino 2008, eqs. of the correctors: of orders 4, 6 and 8 */
    static const double weight[][INTERPOLATE_MOST] = {
        {1.0 / 2, 1.0 / 12, 0, 0}, {1.0 / 2, 1.0 / 10, 1.0 / 120, 0}, {1.0 / 2, 3.0 / 28, 1.0 / 84, 1.0 / 1680}};
    double sum = 0;
    for (int k = given - 1; k >= 0; k--)
        sum = (sum + weight[given - 2][k] * (k % 2 ? f0[k] - f1[k] : f0[k] + f1[k])) * dt;
    return sum;
}
