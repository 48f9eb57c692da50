/*
 * gravity.h - the gravitational constant of the units of a snapshot.
 *
 * Programs integrate with G = 1: masses are multiplied by G when particles are read, and divided by it when they are
 * written.
 */
#ifndef COMMON_GRAVITY_H
#define COMMON_GRAVITY_H

#include "bodies.h"
#include "message.h"
#include "report.h"

/* Multiplies all masses by G > 0.  -1, with a message: a mass does not fit into a double then. */
int gravity_take(double G, bodies *set, message *why);

/*
 * Writes the masses of users to mass[0 .. n-1].  The mass times G is that of `set`, to the bit; so masses stay the same
 * when a snapshot is read and written again.
 */
void gravity_give(double G, const bodies *set, double *mass);

/* Energies and angular momenta in the units of users. */
report gravity_report(double G, report now);

#endif
