/* leapfrog.h - the step of a leap-frog with one step for all particles. */
#ifndef COMMON_LEAPFROG_H
#define COMMON_LEAPFROG_H

#include "bodies.h"

/*
 * Returns the longest step that resolves an encounter at the softening length, with the escape speed from the deepest
 * potential, increased by the attraction of the heaviest particle, and the largest acceleration.  Infinite without
 * forces and motion.
 */
double leapfrog_step(const bodies *set, const double (*a)[3], const double *pot, double eps);

#endif
