/* cluster.c - makes a cluster in N-body units from a request; masses; the Plummer model. */
#include "cluster.h"
#include "galaxy.h"

#include <math.h>
#include <stdio.h>

/* Streams of random numbers: masses must not change the orbits of their stars. */
enum { STREAM_MASSES = 1, STREAM_ORBITS = 2 };

cluster_request cluster_default(void)
{
    return (cluster_request){.kind = CLUSTER_PLUMMER,
                             .n = 1024,
                             .w0 = 6,
                             .cut = 50,
                             .toomre = 1.8,
                             .height = 0.1,
                             .masses = CLUSTER_EQUAL,
                             .mass_low = 0.1,
                             .mass_high = 20,
                             .seed = 1};
}

static int is_galaxy(const cluster_request *request)
{
    return request->kind == CLUSTER_DISC || request->kind == CLUSTER_ANDROMEDA;
}

/* 1 for models whose particles are not scaled to N-body units, though they are no galaxies. */
static int has_own_units(const cluster_request *request)
{
    return request->kind == CLUSTER_COLD_DISC || request->kind == CLUSTER_TWO;
}

static int check_galaxy(const cluster_request *request, message *why)
{
    if (request->masses != CLUSTER_EQUAL) return complain(why, "the particles of a galaxy have equal masses");
    if (!(request->toomre >= 0.5 && request->toomre <= 2.5))
        return complain(why, "Toomre's Q of a disc lies between 0.5 and 2.5, not at %g", request->toomre);
    if (request->kind == CLUSTER_DISC && !(request->height >= 0.01 && request->height <= 0.5))
        return complain(why, "the height of a disc lies between 0.01 and 0.5 scale lengths, not at %g",
                        request->height);
    return 0;
}

static int check(const cluster_request *request, message *why)
{
    if (request->n < 2) return complain(why, "a cluster needs at least 2 stars, not %d", request->n);
    if (request->kind == CLUSTER_KING && !(request->w0 >= 0.1 && request->w0 <= 16))
        return complain(why, "W0 of a King model lies between 0.1 and 16, not at %g", request->w0);
    if (request->kind == CLUSTER_HERNQUIST && !(request->cut >= 1 && request->cut <= 1e6))
        return complain(why, "the cut of a Hernquist model lies between 1 and 1e6 scale radii, not at %g",
                        request->cut);
    if (request->masses == CLUSTER_SALPETER && !(request->mass_low > 0 && request->mass_high > request->mass_low))
        return complain(why, "masses cannot lie between %g and %g", request->mass_low, request->mass_high);
    if (request->kind == CLUSTER_MASS_RATIOS && request->masses != CLUSTER_EQUAL)
        return complain(why, "the model of mass ratios has masses of its own");
    return is_galaxy(request) ? check_galaxy(request, why) : 0;
}

static void choose_masses(bodies *set, const cluster_request *request)
{
    const double slope = -1.35; /* dN/dm ~ m^-2.35, so the number above m goes as m^-1.35 */
    rng source;
    rng_seed(&source, (uint64_t)request->seed, STREAM_MASSES);
    if (request->kind == CLUSTER_MASS_RATIOS) {
        cluster_mass_ratios(set, &source);
        return;
    }
    double low = pow(request->mass_low, slope), high = pow(request->mass_high, slope);
    for (int k = 0; k < set->n; k++) {
        int equal = request->masses == CLUSTER_EQUAL;
        set->mass[k] = equal ? 1 : pow(low + (high - low) * rng_uniform(&source), 1 / slope);
    }
}

/* Returns a speed in units of the speed of escape, from q^2 (1 - q^2)^(7/2), which is below 0.1. */
static double plummer_speed(rng *source)
{
    double q, level;
    do {
        q = rng_uniform(source);
        level = 0.1 * rng_uniform(source);
    } while (level > q * q * pow(1 - q * q, 3.5));
    return q;
}

void cluster_plummer(bodies *set, rng *source)
{
    for (int k = 0; k < set->n; k++) {
        double inside = 0.999 * rng_uniform(source);
        double radius = 1 / sqrt(pow(inside, -2.0 / 3.0) - 1);
        double escape = sqrt(2 / sqrt(1 + radius * radius));
        rng_direction(source, radius, set->x[k]);
        rng_direction(source, escape * plummer_speed(source), set->v[k]);
    }
}

static int choose_orbits(bodies *set, const cluster_request *request)
{
    rng source;
    rng_seed(&source, (uint64_t)request->seed, STREAM_ORBITS);
    switch (request->kind) {
    case CLUSTER_KING:
        return cluster_king(set, &source, request->w0);
    case CLUSTER_HERNQUIST:
        cluster_hernquist(set, &source, request->cut);
        return 0;
    case CLUSTER_UNIFORM:
        cluster_uniform(set, &source);
        return 0;
    case CLUSTER_NFW:
        return cluster_nfw(set, &source);
    case CLUSTER_CLUMPS:
        cluster_clumps(set, &source);
        return 0;
    case CLUSTER_COLD_DISC:
        cluster_cold_disc(set, &source);
        return 0;
    case CLUSTER_TWO:
        cluster_two(set, &source);
        return 0;
    case CLUSTER_DISC:
    case CLUSTER_ANDROMEDA: /* not here: make_galaxy */
    case CLUSTER_MASS_RATIOS:
    case CLUSTER_PLUMMER:
        break;
    }
    cluster_plummer(set, &source);
    return 0;
}

/* A model of stars in N-body units, or in its own, of total mass 1. */
static int make_cluster(bodies *set, const cluster_request *request)
{
    choose_masses(set, request);
    if (!has_own_units(request)) {
        snprintf(set->units, sizeof set->units, "N-body: G = 1, M = 1, E = -1/4");
        return choose_orbits(set, request) || bodies_scale(set);
    }
    double total = 0;
    for (int k = 0; k < set->n; k++) total += set->mass[k];
    for (int k = 0; k < set->n; k++) set->mass[k] /= total;
    snprintf(set->units, sizeof set->units, "G = 1, M = 1, %s 1",
             request->kind == CLUSTER_TWO ? "scale radius of each cluster" : "scale length of the disc");
    if (choose_orbits(set, request)) return -1;
    bodies_centre(set);
    return 0;
}

static int make_galaxy(bodies *set, const cluster_request *request)
{
    const int is_andromeda = request->kind == CLUSTER_ANDROMEDA;
    const galaxy_shape shape =
        is_andromeda ? galaxy_andromeda(request->toomre) : galaxy_disc(request->height, request->toomre);
    int count[GALAXY_SPHERES + 1];
    rng source;
    rng_seed(&source, (uint64_t)request->seed, STREAM_ORBITS);
    galaxy_count(&shape, set->n, count);
    snprintf(set->units, sizeof set->units, "%s",
             is_andromeda ? GALAXY_UNITS : "G = 1, disc of M = 1 and scale length 1");
    if (is_andromeda)
        snprintf(set->parts, sizeof set->parts, "halo %d, bulge %d, disc %d", count[0], count[1],
                 count[GALAXY_SPHERES]);
    else
        snprintf(set->parts, sizeof set->parts, "halo %d, disc %d", count[0], count[GALAXY_SPHERES]);
    return galaxy_make(set, &shape, &source);
}

int cluster_make(const cluster_request *request, bodies *set, message *why)
{
    *set = (bodies){0};
    if (check(request, why)) return -1;
    if (bodies_allocate(set, request->n)) return complain(why, "out of memory for %d stars", request->n);
    for (int k = 0; k < set->n; k++) set->id[k] = k + 1;
    if (!(is_galaxy(request) ? make_galaxy(set, request) : make_cluster(set, request))) return 0;
    bodies_free(set);
    return complain(why, "cannot make a model of %d such particles", request->n);
}
