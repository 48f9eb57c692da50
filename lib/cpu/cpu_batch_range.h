/*
 * cpu_batch_range.h - whether single precision holds the pairs of a list of a batch, with wide margins.
 *
 * Lists that ask for a floor or for counts get no other units (context/batch_units.h): those that do not fit as they
 * are, and targets that are too far away, are computed in double.  The answer for a list depends on its sources and its
 * softening alone, and that for a target on these and the target, so that bits do not depend on other targets.
 */
#ifndef SAP_CPU_BATCH_RANGE_H
#define SAP_CPU_BATCH_RANGE_H

#include <stddef.h>

/*
 * The largest sizes of all finite coordinates, masses, squared softenings, squared radii, squared floors and second
 * moments (3 Q) of sources.  step: the smallest difference of coordinates over their size.
 */
struct sap_batch_range {
    double x, mass, eps2, h2, floor2, quad, step;
};

/* Returns the larger of `most` and the largest size of the finite ones of n numbers. */
double sap_batch_range_most(double most, const double *x, size_t n);

/* Whether the sources fit; soft2: the largest of the common squared softening and the floor. */
int sap_batch_range_fits(const struct sap_batch_range *range, double soft2);

/* Whether the forces on a target at x with the squared softening or floor eps2 fit, too. */
int sap_batch_range_reaches(const struct sap_batch_range *range, const double *x, double eps2);

#endif
