/*
 * bodies.h - a set of particles: what snapshots hold and models make.
 */
#ifndef COMMON_BODIES_H
#define COMMON_BODIES_H

typedef struct bodies {
    int n;
    double time;
    int *id; /* unique within the set */
    double *mass;
    double (*x)[3];
    double (*v)[3];
} bodies;

/* Room for n particles, all zero; -1 if there is not so much memory.  `set` is empty then. */
int bodies_allocate(bodies *set, int n);
/* Frees the arrays and leaves an empty set; may be called twice. */
void bodies_free(bodies *set);

/* Puts the centre of mass to rest at the origin. */
void bodies_centre(bodies *set);
double bodies_kinetic(const bodies *set);
/*
 * Potential energy without softening.  Above 32,768 particles the sum over all pairs takes too long for a
 * model that is only to be scaled, so the spherical average is taken: each particle in the field of the mass
 * that lies further in.  For the spherical models here the two agree to about 1 / n.
 */
double bodies_potential(const bodies *set);
/* N-body units: G = M = 1, E = -1/4, in virial equilibrium (T = 1/4, W = -1/2).  -1 if there is no such scale. */
int bodies_scale(bodies *set);

#endif
