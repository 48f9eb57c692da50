/*
 * cluster.h - models of star clusters, in N-body units (G = M = 1, E = -1/4, virial equilibrium, at rest at the
 * origin), and of galaxies, discs and pairs of clusters, in units of their own (galaxy.h, below).  The same request
 * gives the same model on every machine, except for the last digits, which depend on the mathematical library.
 */
#ifndef COMMON_CLUSTER_H
#define COMMON_CLUSTER_H

#include "bodies.h"
#include "message.h"
#include "rng.h"

typedef enum cluster_kind {
    CLUSTER_PLUMMER,
    CLUSTER_KING,
    CLUSTER_HERNQUIST,
    CLUSTER_UNIFORM,
    CLUSTER_NFW,
    CLUSTER_CLUMPS,
    CLUSTER_DISC,
    CLUSTER_ANDROMEDA,
    CLUSTER_COLD_DISC,
    CLUSTER_TWO,
    CLUSTER_MASS_RATIOS
} cluster_kind;
typedef enum cluster_masses { CLUSTER_EQUAL, CLUSTER_SALPETER } cluster_masses;

typedef struct cluster_request {
    cluster_kind kind;
    int n;
    double w0;     /* King: depth of the central potential, 0.1 to 16 */
    double cut;    /* Hernquist: no star outside this many scale radii */
    double toomre; /* disc, Andromeda: least Q of the disc */
    double height; /* disc: of its sech^2 profile, in scale lengths */
    cluster_masses masses;
    double mass_low, mass_high; /* Salpeter: the range, in any unit */
    long long seed;
} cluster_request;

cluster_request cluster_default(void);
/*
 * Makes a model with its remarks on units and components; returns -1 with a message for a request that makes no sense.
 */
int cluster_make(const cluster_request *request, bodies *set, message *why);

/* ---- the models: x and v of stars 0 .. n-1 in the model's own units; G = 1 ---- */

/* Plummer (1911), sampled as by Aarseth, Henon and Wielen (1974); the outermost 1/1000 of the mass is left out. */
void cluster_plummer(bodies *set, rng *source);
/* Hernquist (1990), velocities from his distribution function (eq. 17). */
void cluster_hernquist(bodies *set, rng *source, double cut);
/* A homogeneous sphere, its velocities of one Gaussian: in virial balance, and not in equilibrium. */
void cluster_uniform(bodies *set, rng *source);
/* Navarro, Frenk and White (1996) out to 5 scale radii, velocities of a distribution function; -1 if there is no
 * memory. */
int cluster_nfw(bodies *set, rng *source);
/* Sixteen small Plummer spheres, of sizes over a factor of 30, spread and moving as the stars of a large one. */
void cluster_clumps(bodies *set, rng *source);
/*
 * Kuzmin (1956): a disc of mass 1 and scale length 1, its outermost tenth left out, on circular orbits; heights are
 * Gaussian, of dispersion 0.01.  Without random motions it falls into clumps.
 */
void cluster_cold_disc(bodies *set, rng *source);
/* Two Plummer spheres of mass 1/2 and scale radius 1, 1,000 apart, at rest relative to each other. */
void cluster_two(bodies *set, rng *source);
/* Masses over a factor of 1e6, even in the logarithm; the stars have the orbits of a Plummer sphere. */
void cluster_mass_ratios(bodies *set, rng *source);
/* King (1966); -1 if there is no memory. */
int cluster_king(bodies *set, rng *source, double w0);

/* ---- the structure of a King model: solution of Poisson's equation from the centre to the edge ---- */

typedef struct king_profile {
    int n;          /* nodes, the first at the centre, the last at the edge */
    double *radius; /* in King's core radius */
    double *depth;  /* W, from w0 to 0 */
    double *mass;   /* within the radius, in units of its own */
} king_profile;

int king_solve(double w0, king_profile *profile);
void king_free(king_profile *profile);
/* Returns the radius that holds a fraction of the mass, and W there (which may be NULL). */
double king_radius(const king_profile *profile, double fraction, double *depth);

#endif
