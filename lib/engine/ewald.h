/*
 * ewald.h - the far images of a periodic cube (physics/tree_periodic.h): the coefficients K_kl, and the field of given
 * moments.
 *
 * The coefficients are the same for all boxes and masses.  The first field of a process computes them, which takes
 * about 0.15 s.
 */
#ifndef SAP_EWALD_H
#define SAP_EWALD_H

/* Returns K(d) of tree_periodic.h, for a cube of edge 1 and components of d from -1.1 to 1.1. */
double sap_ewald_far(const double *d);

/*
 * Computes a field, [SAP_FAR_FIELD], from moments, [SAP_FAR_TERMS], in the order of the degrees.  Returns 0, or
 * SAPPORO_ERR_MEMORY.
 */
int sap_ewald_field(const double *moments, double *field);

#endif
