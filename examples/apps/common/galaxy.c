/*
 * galaxy.c - see galaxy.h.
 */
#include "galaxy.h"
#include "disc.h"
#include "parallel.h"

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

/* Particles that are placed by several threads: blocks of BLOCK, each with random numbers of its own. */
enum { BLOCK = 1024 };
typedef struct placing {
    bodies *set;
    const int *count;
    const spheres *tables;
    const disc *flat;
    uint64_t seed;
    int threads;
} placing;

/* Component of particle k; GALAXY_SPHERES: the disc. */
static int component_of(const int count[GALAXY_SPHERES + 1], int k)
{
    int c = 0;
    while (c < GALAXY_SPHERES && k >= count[c]) k -= count[c++];
    return c;
}

static void place_block(const placing *of, int block)
{
    rng own;
    const bodies *const set = of->set;
    const int from = block * BLOCK, end = set->n - from < BLOCK ? set->n : from + BLOCK;
    rng_seed(&own, of->seed, (uint64_t)block);
    for (int k = from; k < end; k++) {
        const int c = component_of(of->count, k);
        if (c < GALAXY_SPHERES)
            spheres_particle(of->tables, c, &own, set->x[k], set->v[k]);
        else
            disc_particle(of->flat, &own, set->x[k], set->v[k]);
    }
}

static void place_share(void *argument, int share)
{
    const placing *const of = argument;
    for (int block = share; block <= (of->set->n - 1) / BLOCK; block += of->threads) place_block(of, block);
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
        placing of = {set, count, tables, flat, rng_next(source), parallel_threads()};
        parallel_run(of.threads, place_share, &of);
        stop(set);
    }
    const int status = flat ? 0 : -1;
    disc_free(flat);
    free(tables);
    return status;
}
