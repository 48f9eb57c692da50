/*
 * spheres.c - see spheres.h.
 */
#include "spheres.h"
#include "disc.h"
#include "eddington.h"

#include <math.h>

static const double PI = 3.14159265358979324;
/* The first and the last node, in units of the smallest scale and of the largest cut. */
static const double INNERMOST = 1e-5, OUTERMOST = 30;

/* Density of a component and its first two derivatives by radius. */
typedef struct density {
    double value, slope, bend;
} density;

static density density_at(const sphere_shape *shape, double r)
{
    const double far = r + shape->scale, fall = 1 / cosh(r / shape->cut), rise = tanh(r / shape->cut);
    const double value = fall / (r * pow(far, shape->outer));
    const double slope = -1 / r - shape->outer / far - rise / shape->cut; /* of the logarithm */
    const double bend = 1 / (r * r) + shape->outer / (far * far) - fall * fall / (shape->cut * shape->cut);
    return (density){value, value * slope, value * (slope * slope + bend)};
}

static void choose_nodes(spheres *tables, const galaxy_shape *shape)
{
    double inner = shape->disc.mass > 0 ? shape->disc.height : INFINITY;
    double outer = shape->disc.mass > 0 ? shape->disc.scale : 0;
    for (int c = 0; c < shape->spheres; c++) {
        inner = fmin(inner, shape->sphere[c].scale);
        outer = fmax(outer, shape->sphere[c].cut);
    }
    tables->first = log(INNERMOST * inner);
    tables->step = (log(OUTERMOST * outer) - tables->first) / (SPHERES_NODES - 1);
    for (int k = 0; k < SPHERES_NODES; k++) tables->radius[k] = exp(tables->first + k * tables->step);
}

/* Sums the mass of a component outwards and returns the factor of its density.  At the centre its density is ~ 1/r. */
static double sum_mass(spheres *tables, const sphere_shape *shape, double *mass)
{
    double before = 0;
    for (int k = 0; k < SPHERES_NODES; k++) {
        const double r = tables->radius[k], now = 4 * PI * r * r * r * density_at(shape, r).value;
        mass[k] = k ? mass[k - 1] + 0.5 * tables->step * (before + now) : now / 2;
        before = now;
    }
    const double factor = shape->mass / mass[SPHERES_NODES - 1];
    for (int k = 0; k < SPHERES_NODES; k++) mass[k] *= factor;
    return factor;
}

/* Sums the mass of the disc within spheres; at the centre its density is constant. */
static void add_disc(spheres *tables, const disc_shape *shape, double *all)
{
    double before = 0, mass = 0;
    for (int k = 0; k < SPHERES_NODES && shape->mass > 0; k++) {
        const double r = tables->radius[k], mean = disc_mean_density(shape, r), now = 4 * PI * r * r * r * mean;
        mass += k ? 0.5 * tables->step * (before + now) : now / 3;
        tables->mass[k] += mass;
        all[k] += mean;
        before = now;
    }
}

/* Minus the potential, from the outside in. */
static void sum_depth(spheres *tables)
{
    int k = SPHERES_NODES - 1;
    double before = tables->mass[k] / tables->radius[k];
    tables->depth[k] = before;
    while (--k >= 0) {
        const double now = tables->mass[k] / tables->radius[k];
        tables->depth[k] = tables->depth[k + 1] + 0.5 * tables->step * (before + now);
        before = now;
    }
}

/* The second derivative of a density by the depth of the potential, where d depth / dr = -M / r^2. */
static double bend_by_depth(const spheres *tables, int k, density d, double all)
{
    const double r = tables->radius[k], m = tables->mass[k], r2 = r * r;
    return r2 / m * ((r2 * d.bend + 2 * r * d.slope) / m - 4 * PI * r2 * r2 * d.slope * all / (m * m));
}

static double level_at(const spheres *tables, const sphere_table *own, double energy)
{
    int low = 0, high = SPHERES_NODES - 1;
    if (energy <= tables->depth[high]) return 0;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (tables->depth[middle] > energy)
            low = middle;
        else
            high = middle;
    }
    const double part = (energy - tables->depth[high]) / (tables->depth[low] - tables->depth[high]);
    return own->level[high] + part * (own->level[low] - own->level[high]);
}

static void find_most(const spheres *tables, sphere_table *own)
{
    for (int k = 0; k < SPHERES_NODES; k++) {
        own->most[k] = 0;
        for (int j = k; j < SPHERES_NODES; j++)
            own->most[k] = fmax(own->most[k], 2 * (tables->depth[k] - tables->depth[j]) * own->level[j]);
    }
}

/* Eddington's inversion; a distribution function cannot be negative. */
static void invert(const spheres *tables, const sphere_shape *shape, double factor, const double *all,
                   sphere_table *own)
{
    double bend[SPHERES_NODES];
    for (int k = 0; k < SPHERES_NODES; k++)
        bend[k] = factor * bend_by_depth(tables, k, density_at(shape, tables->radius[k]), all[k]);
    for (int k = 0; k < SPHERES_NODES; k++)
        own->level[k] = fmax(0, eddington_integral(SPHERES_NODES, tables->depth, bend, k) / (sqrt(8) * PI * PI));
    find_most(tables, own);
}

void spheres_solve(spheres *tables, const galaxy_shape *shape)
{
    double factor[GALAXY_SPHERES], all[SPHERES_NODES] = {0}; /* all: density of all components */
    tables->count = shape->spheres;
    choose_nodes(tables, shape);
    for (int k = 0; k < SPHERES_NODES; k++) tables->mass[k] = 0;
    for (int c = 0; c < shape->spheres; c++) {
        factor[c] = sum_mass(tables, &shape->sphere[c], tables->of[c].mass);
        for (int k = 0; k < SPHERES_NODES; k++) {
            tables->mass[k] += tables->of[c].mass[k];
            all[k] += factor[c] * density_at(&shape->sphere[c], tables->radius[k]).value;
        }
    }
    add_disc(tables, &shape->disc, all);
    sum_depth(tables);
    for (int c = 0; c < shape->spheres; c++) invert(tables, &shape->sphere[c], factor[c], all, &tables->of[c]);
}

static double between(const double *table, int k, double part) { return table[k] + part * (table[k + 1] - table[k]); }

double spheres_mass(const spheres *tables, double radius)
{
    double sum = 0, place = (log(radius) - tables->first) / tables->step;
    const double inside = place < 0 ? exp(2 * tables->step * place) : 1; /* at the centre the mass is ~ r^2 */
    place = fmax(place, 0);
    const int k = place < SPHERES_NODES - 2 ? (int)place : SPHERES_NODES - 2;
    const double part = fmin(1, place - k);
    for (int c = 0; c < tables->count; c++) sum += between(tables->of[c].mass, k, part);
    return inside * sum;
}

/* Returns the place between nodes, of which the whole part is the node below, within which there is a mass. */
static double place_of_mass(const double *mass, double wanted)
{
    int low = 0, high = SPHERES_NODES - 1;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (mass[middle] > wanted)
            high = middle;
        else
            low = middle;
    }
    const double part = (wanted - mass[low]) / (mass[high] - mass[low]);
    return low + fmin(fmax(part, 0), 1);
}

void spheres_particle(const spheres *tables, int component, rng *source, double x[3], double v[3])
{
    const sphere_table *own = &tables->of[component];
    const double place = place_of_mass(own->mass, own->mass[SPHERES_NODES - 1] * rng_uniform(source));
    const int k = place < SPHERES_NODES - 2 ? (int)place : SPHERES_NODES - 2;
    const double depth = between(tables->depth, k, place - k), escape = sqrt(2 * depth);
    const double most = 1.1 * fmax(own->most[k], own->most[k + 1]); /* nodes are 1 % apart */
    double speed, level;
    do {
        speed = escape * rng_uniform(source);
        level = most * rng_uniform(source);
    } while (level > speed * speed * level_at(tables, own, depth - 0.5 * speed * speed));
    rng_direction(source, exp(tables->first + place * tables->step), x);
    rng_direction(source, speed, v);
}
