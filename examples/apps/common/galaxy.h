/*
 * galaxy.h - models of galaxies: spheres (halo, bulge) and an exponential disc, in equilibrium with each other.
 *
 * G = 1.  The Andromeda model has the units GALAXY_UNITS; the other model has a disc of mass 1 and scale length 1.
 */
#ifndef COMMON_GALAXY_H
#define COMMON_GALAXY_H

#include "bodies.h"
#include "rng.h"

enum { GALAXY_SPHERES = 2 };

/*
 * Units of the Andromeda model.  Velocity and time follow from G = 4.30091e-6 kpc (km/s)^2 / solar mass and
 * 1 kpc / (1 km/s) = 977.792 Myr.
 */
#define GALAXY_UNITS "1e10 Msun, 1 kpc, 207.386 km/s, 4.71483 Myr (G = 1)"
/* Softening length of the Andromeda model: 16 pc (Miki and Umemura 2017). */
#define GALAXY_EPS 0.016
/* Time between outputs of the Andromeda model, 37.7 Myr; at 5 kpc a circular orbit takes four of them. */
#define GALAXY_INTERVAL 8.0

/*
 * Density ~ sech(r / cut) / (r (r + scale)^outer): `outer` is 2 for Navarro, Frenk and White (1996), 3 for Hernquist
 * (1990).  `mass` is the mass within 30 cuts of the largest sphere, outside of which there is no particle.
 */
typedef struct sphere_shape {
    double mass, scale, outer, cut;
} sphere_shape;

/*
 * Density ~ exp(-R / scale) sech^2(z / height).  `toomre` is the least value of Toomre's Q from one scale length
 * outwards.
 */
typedef struct disc_shape {
    double mass, scale, height, toomre;
} disc_shape;

typedef struct galaxy_shape {
    int spheres;
    sphere_shape sphere[GALAXY_SPHERES];
    disc_shape disc;
} galaxy_shape;

/* The Andromeda model of Miki and Umemura (2017), section 3.2: sphere 0 is the halo, sphere 1 the bulge. */
galaxy_shape galaxy_andromeda(double toomre);
/*
 * A disc of mass 1 and scale length 1 in a Hernquist sphere of mass 5 and scale 3.  A disc alone with a velocity
 * dispersion for such a Q would need more random motion near its centre than its own field can hold.
 */
galaxy_shape galaxy_disc(double height, double toomre);

/*
 * Divides n particles of equal mass among the components: count[0] .. of the spheres, the last of the disc.  Each
 * component gets its part rounded down; the first component gets the rest.
 */
void galaxy_count(const galaxy_shape *shape, int n, int count[GALAXY_SPHERES + 1]);

/*
 * Sets masses, positions and velocities of all particles of a set: sphere 0, sphere 1, disc, in this order.  The common
 * centre of the components is at the origin, and the momentum is 0.  -1: memory is not sufficient.
 */
int galaxy_make(bodies *set, const galaxy_shape *shape, rng *source);

#endif
