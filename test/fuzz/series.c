/* series.c - see series.h. */
#include "series.h"

#include <math.h>

/* R^-3 and its derivatives as a power series in time: of f = p^(-3/2), p f' = -3/2 p' f holds power by power. */
void to_minus_three_halves(const real *p, real *f)
{
    f[0] = 1 / (p[0] * sqrtl(p[0]));
    for (int n = 1; n < 4; n++) {
        f[n] = 0;
        for (int k = 1; k <= n; k++) f[n] += (-1.5L * k - (n - k)) * p[k] * f[n - k];
        f[n] /= n * p[0];
    }
}

/* The same of the sizes of terms: all signs are plus. */
static void bound_minus_three_halves(const double *p, double *f)
{
    f[0] = 1 / (p[0] * sqrt(p[0]));
    for (int n = 1; n < 4; n++) {
        f[n] = 0;
        for (int k = 1; k <= n; k++) f[n] += (1.5 * k + (n - k)) * p[k] * f[n - k];
        f[n] /= n * p[0];
    }
}

void bound_series(const double *size, double *bound)
{
    static const double factorial[4] = {1, 1, 2, 6};
    const double r[4] = {size[0], size[1], size[2] / 2, size[3] / 6};
    double square[4] = {0}, f[4];
    for (int n = 0; n < 4; n++)
        for (int k = 0; k <= n && n > 0; k++) square[n] += r[k] * r[n - k];
    square[0] = r[0] * r[0];
    bound_minus_three_halves(square, f);
    for (int n = 0; n < 4; n++) {
        bound[n] = 0;
        for (int k = 0; k <= n; k++) bound[n] += factorial[n] * f[k] * r[n - k];
    }
}
