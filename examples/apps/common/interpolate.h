/*
 * interpolate.h - interpolates a force that is known with `given` derivatives at both ends of a step by a polynomial.
 */
#ifndef COMMON_INTERPOLATE_H
#define COMMON_INTERPOLATE_H

enum { INTERPOLATE_MOST = 4 }; /* largest `given`: force itself, jerk, snap, crackle */

/*
 * Computes derivatives number given .. 2 given - 1 of one coordinate of the force at the end of a step dt: here[k] is
 * derivative k at this end, there[k] at the opposite end.  With dt < 0 this end is the beginning of a step ahead.
 */
void interpolate_derivatives(int given, const double *here, const double *there, double dt, double *higher);

/*
 * Returns the factor by which an error of the force at one end enters derivative k of this end, in units of error /
 * dt^k; k is given .. 2 given - 1, and given is 3 or 4.
 */
double interpolate_amplification(int given, int k);

/*
 * Returns the change of an integral over the step, whose derivatives at both ends are f0[k], f1[k]: exact for the
 * polynomial.
 */
double interpolate_integral(int given, const double *f0, const double *f1, double dt);

#endif
