/*
 * cluster_trees.c - models for measurements of trees: one without any concentration, one with a cusp and a cut, one
 * with substructure.
 */
#include "cluster.h"

#include <math.h>

enum { STEPS = 400, CLUMPS = 16 };

static const double NFW_CUT = 5;

void cluster_uniform(bodies *set, rng *source)
{
    for (int k = 0; k < set->n; k++) {
        rng_direction(source, cbrt(rng_uniform(source)), set->x[k]);
        for (int c = 0; c < 3; c++) set->v[k][c] = rng_gauss(source);
    }
}

/* ---- NFW: scale radius 1, mass within the cut in units of 4 pi rho_s ---- */

static double nfw_mass(double r) { return log1p(r) - r / (1 + r); }

static double nfw_density(double r) { return 1 / (r * (1 + r) * (1 + r)); }

/* Returns the radius that holds a mass. */
static double nfw_radius(double mass)
{
    double low = 0, high = NFW_CUT;
    for (int k = 0; k < 50; k++) {
        const double middle = 0.5 * (low + high);
        if (nfw_mass(middle) < mass)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static double nfw_table_radius(int k) { return NFW_CUT * pow(1e-5, 1 - (double)k / STEPS); }

/* Computes the squared dispersion of one component at the table's radii; no mass is outside the cut. */
static void nfw_dispersion(double *sigma2)
{
    double pressure = 0;
    sigma2[STEPS] = 0;
    for (int k = STEPS - 1; k >= 0; k--) {
        const double a = nfw_table_radius(k), b = nfw_table_radius(k + 1), r = sqrt(a * b);
        pressure += nfw_density(r) * nfw_mass(r) / (r * r) * (b - a);
        sigma2[k] = pressure / nfw_density(a);
    }
}

static double nfw_sigma(const double *sigma2, double r)
{
    const double place = STEPS * (1 - log(r / NFW_CUT) / log(1e-5));
    if (!(place > 0)) return sqrt(sigma2[0]);
    const int k = place < STEPS ? (int)place : STEPS - 1;
    return sqrt(sigma2[k] + (place - k) * (sigma2[k + 1] - sigma2[k]));
}

void cluster_nfw(bodies *set, rng *source)
{
    double sigma2[STEPS + 1];
    nfw_dispersion(sigma2);
    for (int k = 0; k < set->n; k++) {
        const double r = nfw_radius(nfw_mass(NFW_CUT) * rng_uniform(source)), sigma = nfw_sigma(sigma2, r);
        rng_direction(source, r, set->x[k]);
        for (int c = 0; c < 3; c++) set->v[k][c] = sigma * rng_gauss(source);
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
