/*
 * ewald.h - the sum over all images of a unit mass in a periodic cube of edge 1, with a uniform background, in long
 * double: Ewald's sum with any width of the splitting.  It shares no text with the library.
 */
#ifndef TEST_EWALD_H
#define TEST_EWALD_H

/* The potential without sign, the acceleration, and its derivatives xx, xy, xz, yy, yz, zz. */
struct ewald {
    long double pot, acc[3], tidal[6];
};

/*
 * Returns those at the origin of a mass at d and its images.  alpha: erfc(alpha r) / r are the terms of images, and
 * exp(-pi^2 k^2 / alpha^2) / (pi k^2) those of waves; 1.5 to 3 give 15 digits.  An image at the origin does not act.
 */
struct ewald ewald_sum(const long double *d, long double alpha);

/* Adds f(r) of an image at x to *to: its potential pot, f = acceleration / r, and slope = f' / r. */
void ewald_add(struct ewald *to, const long double *x, long double pot, long double f, long double slope);

#endif
