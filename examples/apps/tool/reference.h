/*
 * reference.h - the force written a second time, in long double, independently of the library.
 *
 * On x86 a long double has 64 bits of mantissa, so its sums are accurate to about 1e-18 and can judge double.
 */
#ifndef TOOL_REFERENCE_H
#define TOOL_REFERENCE_H

#include "model.h"

/* A star predicted to the time of the force. */
typedef struct predicted {
    long double x[3], v[3], mass;
    int index;
} predicted;

/* The true force on one i-particle. */
typedef struct truth {
    long double acc[3], jerk[3], pot;
    long double nearest_r2; /* unsoftened; infinite if there is no other star */
    int nearest;            /* address of the nearest star, -1: none */
} truth;

/* A star seen from an i-particle: its address and squared distance. */
typedef struct distance {
    long double r2;
    int address;
} distance;

/* Returns all stars of a model, predicted to `time`; the caller frees them. */
predicted *reference_predict(const model *cluster, double time);
/* Returns the force of nj stars on i-particle i. */
truth reference_force(const predicted *star, int nj, const targets *stars, int i, double eps2);
/* Returns the forces on all i-particles; the caller frees them. */
truth *reference_forces(const model *cluster, double time, const targets *stars, double eps2);
/* Writes the other stars, nearest first, into a buffer for nj of them; returns their number. */
int reference_distances(const predicted *star, int nj, const targets *stars, int i, distance *sorted);

/* Returns |value - true| / |true| of vectors and numbers; infinite if any value is not finite. */
double vector_error(const double value[3], const long double exact[3]);
double number_error(double value, long double exact);

#endif
