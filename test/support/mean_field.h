/*
 * mean_field.h - particles in the mean field of a galaxy of three components.
 *
 * The library's trees compute the forces of all particles at the places of a grid; the mean over the azimuth and over
 * both sides of the plane is interpolated.  So the particles of a small model do not scatter each other.
 */
#ifndef TEST_MEAN_FIELD_H
#define TEST_MEAN_FIELD_H

#include "bodies.h"

enum { MEAN_FIELD_PARTS = 3 }; /* halo, bulge, disc */

typedef struct mean_field mean_field;

/* Opens trees for the particles of the halo, and for those of bulge and disc together. */
mean_field *mean_field_open(int halo, int inner);
void mean_field_close(mean_field *field);
/* Computes the field of the components. */
void mean_field_solve(mean_field *field, const bodies part[MEAN_FIELD_PARTS]);
/* Moves the particles of one component by steps of a leap-frog, which are divided near the centre. */
void mean_field_move(const mean_field *field, bodies *part, double step, int steps);

#endif
