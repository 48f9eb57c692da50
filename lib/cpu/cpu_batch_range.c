/* cpu_batch_range.c - whether single precision holds the pairs of a list. */
#include "cpu/cpu_batch_range.h"

#include <float.h>
#include <math.h>

#include "kernel.h"
#include "physics/arithmetic.h"

/* Returns the larger of `most` and the size of x, if x is finite. */
static double larger(double most, double x)
{
    const double size = fabs(x);
    return size > most && size <= DBL_MAX ? size : most;
}

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
    for (; k < n; k++) all = larger(all, x[k]);
    return all;
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

/* The least squared distance with this softening; without softening, that of different positions in the working type.
 */
static double least_of(const struct sap_batch_range *r, double soft2)
{
    const double step = r->x * r->step;
    return soft2 >= SAP_TINY_R2 ? soft2 : step * step;
}

/*
 * Whether sap_pair_cell holds all products of the largest moments at squared distances from least2 to most2.  It forms
 * u^5 and moments times squared distances.  Its products that are lost have the size 2^-149 at most; over the powers of
 * distances by which they are divided, they must be small beside potential and acceleration of the heaviest source.
 */
static int holds_moments(const struct sap_batch_range *r, double least2, double most2)
{
    if (r->quad == 0) return 1;
    if (!(least2 >= 0x1p-48 && most2 <= 0x1p48)) return 0;
    const double power = least2 * least2, fifth = power * sqrt(least2);
    if (!(r->quad * (most2 > 1 ? most2 : 1) <= MOST && r->quad <= (fifth < 1 ? fifth : 1) * MOST)) return 0;
    return r->mass * power >= 0x1p-119 * sqrt(most2) && r->mass * fifth >= 0x1p-119 * most2;
}

int sap_batch_range_fits(const struct sap_batch_range *r, double soft2)
{
    const double least2 = least_of(r, soft2);
    const double most2 = 12 * r->x * r->x + r->eps2 + r->floor2 + soft2;
    if (!(r->h2 < 0x1p98)) return 0; /* find_bounds in cpu_sse/kernel_counts.h */
    if (!holds_moments(r, least2, most2)) return 0;
    return r->mass == 0 ? most2 < MOST : is_bearable(r, least2) && is_felt(r, most2);
}

int sap_batch_range_reaches(const struct sap_batch_range *r, const double *x, double eps2)
{
    double most = r->x;
    for (int axis = 0; axis < 3; axis++) most = larger(most, x[axis]);
    const double most2 = 12 * most * most + r->eps2 + r->floor2 + eps2;
    if (!holds_moments(r, least_of(r, eps2), most2)) return 0;
    return r->mass == 0 ? most2 < MOST : is_felt(r, most2);
}
