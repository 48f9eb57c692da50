/*
 * galaxy.c - see galaxy.h.
 */
#include "galaxy.h"
#include "disc.h"

#include <stdlib.h>

galaxy_shape galaxy_andromeda(double toomre)
{
    const double cut = 25 * 7.63;
    return (galaxy_shape){.spheres = 2,
                          .sphere = {{.mass = 81.1, .scale = 7.63, .outer = 2, .cut = cut},
                                     {.mass = 3.24, .scale = 0.61, .outer = 3, .cut = cut}},
                          .disc = {.mass = 3.66, .scale = 5.4, .height = 0.6, .toomre = toomre}};
}

galaxy_shape galaxy_disc(double height, double toomre)
{
    return (galaxy_shape){.spheres = 1,
                          .sphere = {{.mass = 5, .scale = 3, .outer = 3, .cut = 30}},
                          .disc = {.mass = 1, .scale = 1, .height = height, .toomre = toomre}};
}

static double total_mass(const galaxy_shape *shape)
{
    double sum = shape->disc.mass;
    for (int c = 0; c < shape->spheres; c++) sum += shape->sphere[c].mass;
    return sum;
}

void galaxy_count(const galaxy_shape *shape, int n, int count[GALAXY_SPHERES + 1])
{
    const double total = total_mass(shape);
    int left = n;
    for (int c = 0; c <= GALAXY_SPHERES; c++) {
        const double mass = c == GALAXY_SPHERES ? shape->disc.mass : c < shape->spheres ? shape->sphere[c].mass : 0;
        count[c] = (int)(n * (mass / total));
        left -= count[c];
    }
    count[0] += left;
}

static void place(bodies *set, const int count[GALAXY_SPHERES + 1], const spheres *tables, const disc *flat,
                  rng *source)
{
    int k = 0;
    for (int c = 0; c < GALAXY_SPHERES; c++)
        for (int m = 0; m < count[c]; m++, k++) spheres_particle(tables, c, source, set->x[k], set->v[k]);
    for (; k < set->n; k++) disc_particle(flat, source, set->x[k], set->v[k]);
}

/*
 * Makes the momentum 0.  The centre of mass is not moved to the origin: it lies as far from the centre of the
 * components as a few distant particles pull it, which may be farther than the disc is thick.
 */
static void stop(bodies *set)
{
    for (int c = 0; c < 3; c++) {
        double mean = 0;
        for (int k = 0; k < set->n; k++) mean += set->v[k][c] / set->n;
        for (int k = 0; k < set->n; k++) set->v[k][c] -= mean;
    }
}

int galaxy_make(bodies *set, const galaxy_shape *shape, rng *source)
{
    int count[GALAXY_SPHERES + 1];
    spheres *tables = malloc(sizeof *tables);
    if (!tables) return -1;
    spheres_solve(tables, shape);
    disc *flat = disc_solve(&shape->disc, tables);
    if (flat) {
        galaxy_count(shape, set->n, count);
        for (int k = 0; k < set->n; k++) set->mass[k] = total_mass(shape) / set->n;
        place(set, count, tables, flat, source);
        stop(set);
    }
    const int status = flat ? 0 : -1;
    disc_free(flat);
    free(tables);
    return status;
}
