/*
 * spheres.h - spherical components of a galaxy with isotropic velocities in the potential of all components.
 *
 * The distribution function of each component comes from Eddington's inversion (Binney and Tremaine 2008, eq. 4.46) in
 * the spherical average of the whole potential.  All functions of radius are tables at logarithmic radii.
 */
#ifndef COMMON_SPHERES_H
#define COMMON_SPHERES_H

#include "galaxy.h"

enum { SPHERES_NODES = 2048 };

typedef struct sphere_table {
    double mass[SPHERES_NODES];  /* of this component within the radius */
    double level[SPHERES_NODES]; /* its distribution function at the energy of a particle at rest there */
    double most[SPHERES_NODES];  /* largest v^2 times the distribution function there */
} sphere_table;

typedef struct spheres {
    int count;
    double first, step; /* logarithm of the first radius; difference of two logarithms */
    double radius[SPHERES_NODES];
    double mass[SPHERES_NODES];  /* of all components, the disc too */
    double depth[SPHERES_NODES]; /* minus the potential of all components */
    sphere_table of[GALAXY_SPHERES];
} spheres;

void spheres_solve(spheres *tables, const galaxy_shape *shape);
/* Returns the mass of all spheres within a radius, without the disc. */
double spheres_mass(const spheres *tables, double radius);
/* Makes the position and the velocity of a particle of one component. */
void spheres_particle(const spheres *tables, int component, rng *source, double x[3], double v[3]);

#endif
