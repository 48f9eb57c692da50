/* exact_sum.c - see exact_sum.h. */
#include "exact_sum.h"
#include "plain_sum.h"
#include "util.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARED = 16 };

/* Both sums have errors of some 1e-16 of the sum of all terms, which exceeds the acceleration most near a centre. */
static const double SAME = 1e-9;

/* ---- the tool's own sum ------------------------------------------------------------------- */

/* Acceleration over distance of mass 1 by the spline of length h: Springel, Yoshida & White 2001, appendix A. */
static double spline_pull(double r, double h)
{
    const double u = r / h;
    if (!(u < 1)) return 1 / (r * r * r);
    if (u < 0.5) return (32 / 3.0 + u * u * (32 * u - 38.4)) / (h * h * h);
    return (64 / 3.0 + u * (-48 + u * (38.4 - 32 / 3.0 * u)) - 1 / (15 * u * u * u)) / (h * h * h);
}

/* As plain_sum, by the spline of a length that all particles have. */
static void spline_sum(const bodies *set, double h, const int *target, int n, double (*acc)[3])
{
    for (int k = 0; k < n; k++) {
        memset(acc[k], 0, sizeof acc[k]);
        for (int j = 0; j < set->n; j++) {
            double d[3], r2 = 0;
            for (int c = 0; c < 3; c++) d[c] = set->x[j][c] - set->x[target[k]][c], r2 += d[c] * d[c];
            const double pull = r2 > 0 ? set->mass[j] * spline_pull(sqrt(r2), h) : 0;
            for (int c = 0; c < 3; c++) acc[k][c] += pull * d[c];
        }
    }
}

static int differ(const double *a, const double *b)
{
    double off = 0, size = 0;
    for (int c = 0; c < 3; c++) {
        off += (a[c] - b[c]) * (a[c] - b[c]);
        size += b[c] * b[c];
    }
    return !(off <= SAME * SAME * size);
}

/* Compares some of the n accelerations, spread over all of them, with the tool's own sums. */
static int compare(const bodies *set, sapporo_softening softening, double eps, const int *target, int n,
                   const double (*acc)[3], message *why)
{
    int at[COMPARED], of[COMPARED];
    double own[COMPARED][3];
    const int some = n < COMPARED ? n : COMPARED;
    for (int k = 0; k < some; k++) of[k] = target[at[k] = (int)((long long)k * n / some)];
    if (softening)
        spline_sum(set, eps, of, some, own);
    else
        plain_sum(set, eps * eps, of, some, own);
    for (int k = 0; k < some; k++)
        if (differ(acc[at[k]], own[k]))
            return complain(why, "direct sum: acceleration %g of particle %d, by a plain sum %g", acc[at[k]][0], of[k],
                            own[k][0]);
    return 0;
}

/* ---- the library's ------------------------------------------------------------------------ */

/* The targets' positions; rows of the result follow them. */
static double (*positions_of(const bodies *set, const int *target, int n))[3]
{
    double(*x)[3] = allocate((size_t)n + 1, sizeof *x);
    for (int k = 0; k < n; k++) memcpy(x[k], set->x[target[k]], sizeof x[k]);
    return x;
}

static int sum(sapporo *context, const bodies *set, const sapporo_request *rows, double (*acc)[3])
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{set->x, 0}}, .mass = {set->mass, 0}};
    const sapporo_result result = {.size = sizeof result, .acc = acc};
    sapporo_job *job = NULL;
    int status = sapporo_set_particles(context, 0, set->n, &all);
    if (!status) status = sapporo_force_begin(context, rows, &job);
    if (!status) status = sapporo_force_end(job, rows->ni, &result);
    sapporo_force_free(job);
    return status;
}

int exact_sum(const settings *what, const bodies *set, sapporo_softening softening, double eps, const int *target,
              int n, double (*acc)[3], message *why)
{
    settings exact = *what;
    exact.precision = SAPPORO_DP;
    exact.threads = 0;
    sapporo *const context = open_order2(&exact);
    if (!context) return complain(why, "no direct sum: %s", sapporo_last_error(NULL));
    double(*x)[3] = positions_of(set, target, n);
    const sapporo_request rows = {.size = sizeof rows,
                                  .nj = set->n,
                                  .ni = n,
                                  .x = {x, 0},
                                  .index = {target, 0},
                                  .eps2 = eps * eps,
                                  .softening = softening};
    const int status = sum(context, set, &rows, acc);
    if (status) complain(why, "no direct sum: %s", sapporo_last_error(context));
    sapporo_close(context);
    free(x);
    return status ? -1 : compare(set, softening, eps, target, n, (const double(*)[3])acc, why);
}
