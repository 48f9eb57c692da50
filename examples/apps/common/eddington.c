/* eddington.c - see eddington.h. */
#include "eddington.h"

#include <math.h>

double eddington_integral(int n, const double *depth, const double *bend, int from)
{
    double sum = 0, a = 0;
    for (int k = from; k + 1 < n; k++) {
        const double b = sqrt(depth[from] - depth[k + 1]);
        if (!(b > a)) continue;
        const double slope = (bend[k + 1] - bend[k]) / (b * b - a * a);
        sum += 2 * (b - a) * (bend[k] + slope * ((b * b + a * b + a * a) / 3 - a * a));
        a = b;
    }
    return sum;
}
