/*
 * interpolate.h - a force that is known with `given` derivatives at both ends of a step, as a polynomial.
 */
#ifndef COMMON_INTERPOLATE_H
#define COMMON_INTERPOLATE_H

enum { INTERPOLATE_MOST = 4 }; /* given: force itself, jerk, snap, crackle */

/*
 * Derivatives number given .. 2 given - 1 of one coordinate of the force at the end of a step dt: here[k] is derivative
 * k at that end, there[k] at the other.  dt < 0: the end is the beginning, and the other lies ahead.
 */
void interpolate_derivatives(int given, const double *here, const double *there, double dt, double *higher);

/* What the step adds to an integral whose derivatives at both ends are f0[k], f1[k]: exact for that polynomial. */
double interpolate_integral(int given, const double *f0, const double *f1, double dt);

#endif
