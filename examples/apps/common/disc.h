/*
 * disc.h - an exponential disc in the field of a galaxy.
 *
 * In the plane the distribution function depends on energy and angular momentum alone: angular momentum is that of a
 * circular orbit, the energy above the circular orbit has an exponential distribution (Shu 1969; Dehnen 1999, AJ 118,
 * 1201).  Each particle has a random phase of its radial oscillation.  Guiding radii and mean energies are corrected
 * until the surface density is exponential and the radial velocity dispersion is ~ exp(-R / (2 scale)) with the stated
 * least value of Toomre's Q.  Across the plane velocities are Gaussians of the dispersion of Jeans' equation.
 * Each particle then follows its orbit for some epicycle periods, so that all phases are those of an equilibrium.
 */
#ifndef COMMON_DISC_H
#define COMMON_DISC_H

#include "disc_field.h"

/* The largest guiding radius of a particle, in scale lengths; 0.05 % of an exponential disc lies beyond. */
#define DISC_CUT 10.0

typedef struct disc {
    disc_shape shape;
    disc_field *field;
    double force[DISC_RADII];  /* inward, mean over the height */
    double circle[DISC_RADII]; /* velocity of circular orbits */
    double epicycle[DISC_RADII];
    double sigma[DISC_RADII];                /* the radial velocity dispersion that is wanted */
    double heat[DISC_RADII];                 /* mean energy above the circular orbit, by guiding radius */
    double guides[DISC_RADII];               /* mass with a smaller guiding radius */
    double across[DISC_RADII][DISC_HEIGHTS]; /* squared vertical velocity dispersion */
} disc;

/* Returns the surface density of the whole disc at a radius. */
double disc_surface(const disc_shape *shape, double radius);
/* Returns the density of the disc, averaged over a sphere about its centre. */
double disc_mean_density(const disc_shape *shape, double radius);

/* Solves a disc in the field of spheres; returns NULL if memory is not sufficient.  The caller frees it. */
disc *disc_solve(const disc_shape *shape, const spheres *around);
void disc_free(disc *solved);
/* Returns Toomre's Q = sigma kappa / (3.36 G Sigma) at node k. */
double disc_toomre(const disc *solved, int k);
/* Makes the position and the velocity of a particle. */
void disc_particle(const disc *solved, rng *source, double x[3], double v[3]);

#endif
