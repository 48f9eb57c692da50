/* bodies.h - a set of particles, as snapshots hold them and models make them. */
#ifndef COMMON_BODIES_H
#define COMMON_BODIES_H

enum { BODIES_REMARK = 160 };

typedef struct bodies {
    int n;
    double time;
    double G;                  /* gravitational constant in the units of the numbers; 0: not known, or 1 */
    char units[BODIES_REMARK]; /* of the numbers; "": not known */
    int units_line;            /* of the file that says them; 0: none */
    char parts[BODIES_REMARK]; /* components, in the order of the ids; "": one component */
    long long *id;             /* unique within the set */
    double *mass;
    double (*x)[3];
    double (*v)[3];
} bodies;

/* Allocates n particles, all zero; returns -1 if memory is not sufficient, with an empty `set`. */
int bodies_allocate(bodies *set, int n);
/* Frees the arrays and leaves an empty set; may be called twice. */
void bodies_free(bodies *set);

/* Moves the centre of mass to the origin, at rest. */
void bodies_centre(bodies *set);
double bodies_kinetic(const bodies *set);
/*
 * Returns the potential energy without softening.  Above 32,768 particles the sum over all pairs takes too long for a
 * model that is only scaled, so the function uses the spherical average: each particle in the field of the mass at
 * smaller radii.  For the spherical models of this program both values agree to about 1 / n.
 */
double bodies_potential(const bodies *set);
/* Returns the particle nearest to particle k, or -1 if there is no other; *distance is their distance. */
int bodies_nearest(const bodies *set, int k, double *distance);
/*
 * Scales to N-body units: G = M = 1, E = -1/4, in virial equilibrium (T = 1/4, W = -1/2).  -1 if no such scale exists.
 */
int bodies_scale(bodies *set);

#endif
