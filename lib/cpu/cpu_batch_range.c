/* cpu_batch_range.c - the largest sizes of numbers. */
#include "cpu/cpu_batch_range.h"

#include <float.h>
#include <math.h>

double sap_batch_range_most(double most, const double *x, size_t n)
{
    enum { LANES = 8 }; /* maxima that a compiler keeps in vectors */
    double lane[LANES] = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int l = 0; l < LANES; l++) {
            const double size = fabs(x[k + (size_t)l]);
            lane[l] = size > lane[l] ? size : lane[l]; /* no NaN */
        }
    double all = most;
    for (int l = 0; l < LANES; l++) all = lane[l] > all ? lane[l] : all;
    if (all > DBL_MAX) k = 0, all = most; /* some number is infinite */
    for (; k < n; k++) all = sap_range_larger(all, x[k]);
    return all;
}
