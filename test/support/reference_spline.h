/* reference_spline.h - pairs with spline softening in extended precision, directly from the formulas. */
#ifndef TEST_REFERENCE_SPLINE_H
#define TEST_REFERENCE_SPLINE_H

typedef long double real;

/*
 * Computes potential and acceleration over distance of a mass 1 with the spline of Springel, Yoshida & White 2001, New
 * Astronomy 6, 79, appendix A.
 */
void reference_spline(real r, real h, real *pot, real *acc);

/* The same of a pair with two lengths: the mean of both, or those of the larger length. */
void reference_spline_pair(int is_mean, real r, real hi, real hj, real *pot, real *acc);

#endif
