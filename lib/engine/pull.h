/*
 * pull.h - the unit of the tolerance of MULTIPOLE (physics/tree_accept.h): the same for every engine, in a build, in a
 * refresh and over ranks.
 *
 * The unit is M / s^2, with M the sum of |m| and s a root mean square distance from the centre.  Few particles at a
 * great distance, or the distance of far groups, would make s as large as they please.  So s is found from a sample:
 * for some members, of the others within REACH times the distance that a sixteenth of them is nearer than (of few, half
 * or eight of them).  With f, the part of the sample that is within, each of these members has a pull f M / s^2, and
 * the unit is their median.  Of models without far particles this is M / s^2 of all particles, but for the noise of the
 * sample.
 */
#ifndef SAP_PULL_H
#define SAP_PULL_H

#include "engine/cube.h"

/* Returns the unit for a sample of m positions, per axis, and the sum of |m| of all particles; 1 without extent. */
double sap_pull_of(const double (*sample)[SAP_CUBE_SAMPLE], int m, double sum);

#endif
