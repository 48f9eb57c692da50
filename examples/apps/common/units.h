/*
 * units.h - units of length, time and mass in which a program integrates, chosen from its particles.
 *
 * Derivatives of orbits, and powers of distances in the force library, do not fit into numbers of double or float if
 * units are far from those of the orbits.  Units that differ by powers of two change no bit of a number.  G stays 1.
 */
#ifndef COMMON_UNITS_H
#define COMMON_UNITS_H

#include "bodies.h"

#include <stdint.h>

/* Powers of two: the number of a length is the user's over 2^length.  Restart files have the same bytes. */
typedef struct units {
    int64_t length, time, mass; /* mass is 3 length - 2 time */
} units;

/*
 * Chooses units in which the largest coordinate and the whole mass of the set are between 1/2 and 2.  All powers are 0,
 * and nothing is scaled, if the powers of length and time would be at most 16.
 */
units units_choose(const bodies *set);

/* Scales positions, velocities and masses of users to the units, or back. */
void units_take(const units *unit, bodies *set);
void units_give(const units *unit, bodies *set);

/* Scales a length or a time of users to the units, and a potential back. */
double units_length(const units *unit, double length);
double units_time(const units *unit, double time);
double units_give_potential(const units *unit, double potential);

#endif
