/* cpu_batch_range.c - whether single precision holds the pairs of a list. */
#include "cpu/cpu_batch_range.h"

#include <float.h>
#include <math.h>

#include "physics/arithmetic.h"

/* Returns the larger of `most` and the size of x, if x is finite. */
static double larger(double most, double x)
{
    const double size = fabs(x);
    return size > most && size <= DBL_MAX ? size : most;
}

void sap_batch_range_add(struct sap_batch_range *r, const double *x, double mass, double eps2, double h2)
{
    for (int axis = 0; axis < 3; axis++) r->x = larger(r->x, x[axis]);
    r->mass = larger(r->mass, mass);
    r->eps2 = larger(r->eps2, eps2);
    r->h2 = larger(r->h2, h2);
}

/* Potentials and accelerations of the heaviest source may have this exponent: half of the range is left for sums. */
#define MOST 0x1p100

/* Whether the heaviest source has terms that are not too small at the squared distance r2. */
static int is_felt(const struct sap_batch_range *r, double r2)
{
    const double distance = sqrt(r2), cube = r2 * distance;
    return r2 < MOST && r->mass >= (cube > distance ? cube : distance) / MOST;
}

/* Whether they are not too large at the squared distance r2. */
static int is_bearable(const struct sap_batch_range *r, double r2)
{
    const double distance = sqrt(r2), cube = r2 * distance;
    return r2 > 1 / MOST && r->mass <= (cube < distance ? cube : distance) * MOST;
}

int sap_batch_range_fits(const struct sap_batch_range *r, double soft2)
{
    /* without softening: the least distance of different positions in single precision */
    const double least2 = soft2 >= SAP_TINY_R2 ? soft2 : r->x * r->x * 0x1p-48;
    const double most2 = 12 * r->x * r->x + r->eps2 + soft2;
    if (!(r->h2 < 0x1p98)) return 0; /* find_bounds in cpu_sse/kernel_counts.h */
    return r->mass == 0 ? most2 < MOST : is_bearable(r, least2) && is_felt(r, most2);
}

int sap_batch_range_reaches(const struct sap_batch_range *r, const double *x, double eps2)
{
    double most = r->x;
    for (int axis = 0; axis < 3; axis++) most = larger(most, x[axis]);
    const double most2 = 12 * most * most + r->eps2 + eps2;
    return r->mass == 0 ? most2 < MOST : is_felt(r, most2);
}
