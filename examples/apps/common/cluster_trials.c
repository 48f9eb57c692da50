/*
 * cluster_trials.c - models for measurements of trees that are far from spherical, or have unlike masses: a cold disc,
 * two clusters far apart, masses over a factor of a million.
 */
#include "cluster.h"

#include <math.h>

/* The outermost part of a Kuzmin disc is left out: a tenth of its mass is beyond ten scale lengths. */
static const double DISC_WITHIN = 0.9;
static const double DISC_HEIGHT = 0.01; /* dispersion of z, in scale lengths */

/* Kuzmin's disc: the mass within R is 1 - a / sqrt(R^2 + a^2), and the squared circular speed R^2 / (R^2 + a^2)^(3/2).
 */
void cluster_cold_disc(bodies *set, rng *source)
{
    for (int k = 0; k < set->n; k++) {
        const double far = 1 / (1 - DISC_WITHIN * rng_uniform(source)); /* sqrt(R^2 + a^2) */
        const double radius = sqrt(far * far - 1), speed = radius / (far * sqrt(far));
        const double angle = 6.283185307179586477 * rng_uniform(source), c = cos(angle), s = sin(angle);
        const double x[3] = {radius * c, radius * s, DISC_HEIGHT * rng_gauss(source)},
                     v[3] = {-speed * s, speed * c, 0};
        for (int d = 0; d < 3; d++) {
            set->x[k][d] = x[d];
            set->v[k][d] = v[d];
        }
    }
}

void cluster_two(bodies *set, rng *source)
{
    static const double apart[3] = {480, 640, 600}; /* of length 1,000, along no axis */
    cluster_plummer(set, source);
    for (int k = 0; k < set->n; k++)
        for (int c = 0; c < 3; c++) {
            set->x[k][c] += 2 * k < set->n ? 0 : apart[c];
            set->v[k][c] *= sqrt(0.5); /* each has half of the mass */
        }
}

void cluster_mass_ratios(bodies *set, rng *source)
{
    for (int k = 0; k < set->n; k++) set->mass[k] = pow(10, -6 * rng_uniform(source));
}
