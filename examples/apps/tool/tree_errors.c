/* tree_errors.c - see tree_errors.h. */
#include "tree_errors.h"
#include "util.h"
#include <math.h>
#include <stdlib.h>

static double size_of(const double *a) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

static double error_of(const double *acc, const double *exact)
{
    const double off[3] = {acc[0] - exact[0], acc[1] - exact[1], acc[2] - exact[2]};
    return size_of(off) / size_of(exact);
}

void tree_errors_of(const double (*acc)[3], const double (*exact)[3], const int *row, int n, tree_errors *errors)
{
    const size_t count = (size_t)n;
    double *error = allocate(count + 1, sizeof *error), squares = 0;
    for (int k = 0; k < n; k++) {
        error[k] = error_of(acc[row[k]], exact[k]);
        squares += error[k] * error[k];
    }
    sort_values(error, count);
    errors->compared = n;
    errors->median = quantile(error, count, 0.5);
    errors->at99 = quantile(error, count, 0.99);
    errors->at999 = quantile(error, count, 0.999);
    errors->largest = quantile(error, count, 1.0);
    errors->rms = sqrt(squares / n);
    for (int k = 0; k < TREE_QUANTILES; k++) errors->above[k] = quantile(error, count, 1 - ldexp(1, -k));
    free(error);
}

double tree_net_force(const bodies *set, const double (*acc)[3])
{
    double net[3] = {0}, sizes = 0;
    for (int k = 0; k < set->n; k++) {
        for (int c = 0; c < 3; c++) net[c] += set->mass[k] * acc[k][c];
        sizes += fabs(set->mass[k]) * size_of(acc[k]);
    }
    return size_of(net) / sizes;
}
