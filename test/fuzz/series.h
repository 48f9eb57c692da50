/*
 * series.h - powers of distances as power series in time: the higher derivatives of forces, and bounds of their terms.
 */
#ifndef FUZZ_SERIES_H
#define FUZZ_SERIES_H

#include "oracle.h"

/* f = p^(-3/2) for p[4], the coefficients of the squared distance: four coefficients of R^-3. */
void to_minus_three_halves(const real *p, real *f);

/* bound[4]: of the derivatives of r R^-3, for sizes of the derivatives of r. */
void bound_series(const double *size, double *bound);

#endif
