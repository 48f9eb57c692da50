/*
 * cluster_trees.c - models for measurements of trees: one without any concentration, one with substructure.
 */
#include "cluster.h"

#include <math.h>

enum { CLUMPS = 16 };

void cluster_uniform(bodies *set, rng *source)
{
    for (int k = 0; k < set->n; k++) {
        rng_direction(source, cbrt(rng_uniform(source)), set->x[k]);
        for (int c = 0; c < 3; c++) set->v[k][c] = rng_gauss(source);
    }
}

/* ---- clumps ---- */

/* Makes one star of a Plummer sphere of a radius and a mass. */
static void plummer_star(rng *source, double radius, double mass, double *x, double *v)
{
    double one_x[1][3], one_v[1][3];
    bodies one = {.n = 1, .x = one_x, .v = one_v};
    cluster_plummer(&one, source);
    for (int c = 0; c < 3; c++) {
        x[c] = radius * one_x[0][c];
        v[c] = sqrt(mass / radius) * one_v[0][c];
    }
}

void cluster_clumps(bodies *set, rng *source)
{
    double centre[CLUMPS][3], motion[CLUMPS][3];
    for (int g = 0; g < CLUMPS; g++) plummer_star(source, 1, 1, centre[g], motion[g]);
    for (int k = 0; k < set->n; k++) {
        const int g = (int)((long long)k * CLUMPS / set->n);
        plummer_star(source, 0.15 * pow(30, -(double)g / (CLUMPS - 1)), 1.0 / CLUMPS, set->x[k], set->v[k]);
        for (int c = 0; c < 3; c++) {
            set->x[k][c] += centre[g][c];
            set->v[k][c] += motion[g][c];
        }
    }
}
