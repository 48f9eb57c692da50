/*
 * cpu_batch_range.h - whether single precision holds the pairs of a list of a batch, with wide margins.
 *
 * Lists that ask for a floor or for counts get no other units (context/batch_units.h): those that do not fit as they
 * are, and targets that are too far away, are computed in double.  The answer for a list depends on its sources and its
 * softening alone, and that for a target on these and the target, so that bits do not depend on other targets.
 */
#ifndef SAP_CPU_BATCH_RANGE_H
#define SAP_CPU_BATCH_RANGE_H

/* The largest sizes of all finite coordinates, masses, squared softenings and squared radii of sources. */
struct sap_batch_range {
    double x, mass, eps2, h2;
};

void sap_batch_range_add(struct sap_batch_range *range, const double *x, double mass, double eps2, double h2);

/* Whether the sources fit; soft2: the largest of the common squared softening and the floor. */
int sap_batch_range_fits(const struct sap_batch_range *range, double soft2);

/* Whether the forces on a target at x with the squared softening or floor eps2 fit, too. */
int sap_batch_range_reaches(const struct sap_batch_range *range, const double *x, double eps2);

#endif
