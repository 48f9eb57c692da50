/* plain_sum.h - accelerations by a plain sum in double, on all cores: what errors of trees are measured against. */
#ifndef PLAIN_SUM_H
#define PLAIN_SUM_H

#include "bodies.h"

/*
 * Computes the accelerations of the particles target[0 .. n-1] of a set from all others, acc[n][3], with Plummer
 * softening eps2.  Particles at the place of a target count only with eps2 > 0.
 */
void plain_sum(const bodies *set, double eps2, const int *target, int n, double (*acc)[3]);

#endif
