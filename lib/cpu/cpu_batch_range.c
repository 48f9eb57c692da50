/* cpu_batch_range.c - the largest sizes of numbers. */
#include "cpu/cpu_batch_range.h"

#include <float.h>

double sap_batch_range_most(const struct sap_kernel *kernel, double most, const double *x, int n)
{
    double all = kernel->largest(x, n);
    if (all > DBL_MAX) { /* some number is infinite */
        all = 0;
        for (int k = 0; k < n; k++) all = sap_range_larger(all, x[k]);
    }
    return all > most ? all : most;
}
