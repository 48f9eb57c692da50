/*
 * model.h - the star clusters on which the tool checks and measures.  N-body units: G = M = 1, E = -1/4.
 */
#ifndef TOOL_MODEL_H
#define TOOL_MODEL_H

#include <sapporo.h>

typedef struct model {
    int n;
    sapporo_particle *particle; /* the star of address k is particle[k]; its index is not k, on purpose */
} model;

/* The i-particles of a force, as the library takes them. */
typedef struct targets {
    int n;
    double (*x)[3], (*v)[3];
    int *index;
    double *h2;
} targets;

/* Which derivatives beyond the velocity the stars of a model have. */
typedef enum model_derivatives { DERIVATIVES_NONE = 0, DERIVATIVES_NO_SNAP = 1, DERIVATIVES_ALL = 2 } model_derivatives;

/* Makes a Plummer sphere of equal masses at time 0, without derivatives; always the same one for the same n. */
model model_plummer(int n);
/* Adds derivatives up to jerk or snap: those of orbits in the smooth potential of the sphere. */
void model_add_derivatives(model *cluster, model_derivatives which);
/* Gives the stars individual times, spread below `time` by up to 1/64. */
void model_spread_times(model *cluster, double time);
/*
 * Makes two stars 1e-9 apart, at a distance 1 from the centre of a Plummer sphere; *first is the address of the first.
 */
model model_tight_pair(int n, int *first);
/* Makes a binary of separation 1e-6, masses over a factor of 1e6, a bulk velocity of 100 times the dispersion. */
model model_hard(int n, int *first);
/* Makes side^3 stars of integer coordinates and unit masses: distances are exact and many are equal. */
model model_lattice(int side);
void model_free(model *cluster);

/* Returns every stride-th star of a model as i-particle, predicted to `time` in double. */
targets model_targets(const model *cluster, int stride, double time);
/* Sets the squared radius of spheres that hold about `length` neighbours in a Plummer sphere. */
void model_list_radii(targets *stars, int cluster_size, int length);
void targets_free(targets *stars);

/* Returns a random number in (0, 1), the same sequence on every machine; the state may be any number. */
double model_random(unsigned long long *state);

#endif
