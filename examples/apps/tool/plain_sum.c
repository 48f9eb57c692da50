/* plain_sum.c - see plain_sum.h. */
#include "plain_sum.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

enum { MOST_THREADS = 64 };

/* Thread `first` of `step` takes each step-th target. */
typedef struct share {
    const bodies *set;
    double eps2;
    const int *target;
    int n, first, step;
    double (*acc)[3];
} share;

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

static void *sum_share(void *argument)
{
    const share *of = argument;
    for (int k = of->first; k < of->n; k += of->step) sum_pairs(of->set, of->eps2, of->target[k], of->acc[k]);
    return NULL;
}

static int count_cores(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (int)cores;
}

void plain_sum(const bodies *set, double eps2, const int *target, int n, double (*acc)[3])
{
    share of[MOST_THREADS];
    pthread_t thread[MOST_THREADS];
    const int threads = count_cores();
    int started[MOST_THREADS] = {0};
    for (int t = 0; t < threads; t++) {
        of[t] = (share){.set = set, .eps2 = eps2, .target = target, .n = n, .first = t, .step = threads, .acc = acc};
        if (t > 0) started[t] = pthread_create(&thread[t], NULL, sum_share, &of[t]) == 0;
    }
    for (int t = 0; t < threads; t++)
        if (started[t])
            pthread_join(thread[t], NULL);
        else
            sum_share(&of[t]);
}
