/* plain_sum.c - see plain_sum.h. */
#include "plain_sum.h"

#include <math.h>

#include "parallel.h"

/* Each of `step` threads takes every step-th target. */
typedef struct shared {
    const bodies *set;
    double eps2;
    const int *target;
    int n, step;
    double (*acc)[3];
} shared;

static void sum_pairs(const bodies *set, double eps2, int i, double *acc)
{
    for (int c = 0; c < 3; c++) acc[c] = 0;
    for (int j = 0; j < set->n; j++) {
        double d[3], r2 = eps2;
        for (int c = 0; c < 3; c++) {
            d[c] = set->x[j][c] - set->x[i][c];
            r2 += d[c] * d[c];
        }
        if (j == i || r2 == 0) continue;
        const double m3 = set->mass[j] / (r2 * sqrt(r2));
        for (int c = 0; c < 3; c++) acc[c] += m3 * d[c];
    }
}

static void sum_share(void *argument, int first)
{
    const shared *of = argument;
    for (int k = first; k < of->n; k += of->step) sum_pairs(of->set, of->eps2, of->target[k], of->acc[k]);
}

void plain_sum(const bodies *set, double eps2, const int *target, int n, double (*acc)[3])
{
    shared of = {.set = set, .eps2 = eps2, .target = target, .n = n, .step = parallel_threads(), .acc = acc};
    parallel_run(of.step, sum_share, &of);
}
