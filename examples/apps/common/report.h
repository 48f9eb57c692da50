/*
 * report.h - the quantities by which an integration is judged.
 */
#ifndef COMMON_REPORT_H
#define COMMON_REPORT_H

#include "bodies.h"

typedef struct report {
    double kinetic, potential, energy;
    double momentum[3]; /* angular, about the origin */
    double spin;        /* its length */
    double virial;      /* -T / W: 0.5 in equilibrium; 0 without potential energy */
} report;

/*
 * Computes the report of a state.  `pot` is the potential at each particle, as force libraries return it: negative,
 * without the particle itself.
 */
report report_make(const bodies *set, const double *pot);
/* Returns (E - E0) / |E0|; the difference alone if E0 is 0. */
double report_energy_error(const report *now, const report *start);

#endif
