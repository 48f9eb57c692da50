/*
 * disc.c - see disc.h.
 */
#include "disc.h"

#include <math.h>
#include <stdlib.h>

static const double PI = 3.14159265358979324;

/* A particle follows its orbit for SETTLE_PERIODS to twice as many epicycle periods of SETTLE_STEPS steps each. */
enum { SETTLE_STEPS = 64, SETTLE_PERIODS = 4 };

/*
 * An orbit in the plane has ORBIT_STEPS steps per epicycle; after ORBIT_MAX steps without a full period the orbit is
 * refused.  The corrections use ENERGIES orbits of each guiding radius, and BINS rings of a width of BIN scale lengths.
 */
enum { ORBIT_STEPS = 48, ORBIT_MAX = 8 * ORBIT_STEPS, ENERGIES = 24, ROUNDS = 8, BINS = 80, MEAN_STEPS = 64 };
static const double BIN = 0.2, CORRECTION_LIMIT = 2;
static const double EPICYCLE_LIMIT = 0.7; /* of radial velocity dispersion over epicycle frequency, in radii */

double disc_surface(const disc_shape *shape, double radius)
{
    return shape->mass / (2 * PI * shape->scale * shape->scale) * exp(-radius / shape->scale);
}

/* Integrates over z = height atanh(u): the density is ~ du. */
double disc_mean_density(const disc_shape *shape, double radius)
{
    const double most = tanh(radius / shape->height);
    double sum = 0;
    for (int k = 0; k < MEAN_STEPS; k++) {
        const double z = shape->height * atanh(most * (k + 0.5) / MEAN_STEPS);
        sum += disc_surface(shape, sqrt(fmax(0, radius * radius - z * z)));
    }
    return sum * most / (2 * radius * MEAN_STEPS);
}

/* ---- circular orbits ---- */

/* The force in the plane: the mean over the vertical profile, of which height atanh(u) has equal parts. */
static double mean_force(const disc_field *field, int k)
{
    double sum = 0, mass = 0;
    for (int j = 0; j < DISC_HEIGHTS; j++) {
        const double fall = 1 / cosh(field->z[j] / field->height), weight = (j ? 1 : 0.5) * fall * fall;
        sum += weight * disc_field_at(field, field->radius[k], field->z[j]).inward;
        mass += weight;
    }
    return sum / mass;
}

static void solve_circles(disc *of)
{
    const double *r = of->field->radius;
    for (int k = 0; k < DISC_RADII; k++) {
        of->force[k] = k ? mean_force(of->field, k) : 0;
        of->circle[k] = sqrt(fmax(0, r[k] * of->force[k]));
    }
    for (int k = 1; k < DISC_RADII; k++) { /* kappa^2 = d(L^2)/dR / R^3 */
        const int high = k < DISC_RADII - 1 ? k + 1 : k;
        const double above = r[high] * of->circle[high], below = r[k - 1] * of->circle[k - 1];
        const double middle = 0.5 * (r[high] + r[k - 1]);
        of->epicycle[k] = sqrt((above * above - below * below) / (r[high] - r[k - 1]) / (middle * middle * middle));
    }
    of->epicycle[0] = of->epicycle[1];
}

double disc_toomre(const disc *solved, int k)
{
    const double surface = disc_surface(&solved->shape, solved->field->radius[k]);
    return solved->sigma[k] * solved->epicycle[k] / (3.36 * surface);
}

/*
 * Sets the wanted dispersion, whose least Q beyond one scale length is the stated one.  Near the centre of a disc
 * without a bulge, where the exponential law asks for more than orbits can have, the epicycle is limited to a part of
 * the radius.
 */
static void choose_dispersion(disc *of)
{
    const double *r = of->field->radius, scale = of->shape.scale;
    double least = INFINITY;
    for (int k = 0; k < DISC_RADII; k++) {
        of->sigma[k] = exp(-0.5 * r[k] / scale);
        if (r[k] >= scale && r[k] < DISC_CUT * scale) least = fmin(least, disc_toomre(of, k));
    }
    for (int k = 0; k < DISC_RADII; k++) {
        const double middle = fmax(r[k], 0.5 * r[1]); /* the dispersion at the centre is not 0 */
        of->sigma[k] = fmin(of->sigma[k] * of->shape.toomre / least, EPICYCLE_LIMIT * of->epicycle[k] * middle);
        of->heat[k] = of->sigma[k] * of->sigma[k];
    }
}

/* ---- vertical motion ---- */

/* Jeans' equation: density times dispersion is the integral of density times force, from above. */
static void solve_across(disc *of)
{
    const disc_field *field = of->field;
    for (int k = 0; k < DISC_RADII; k++) {
        double pressure = 0, before = 0;
        for (int j = DISC_HEIGHTS - 1; j >= 0; j--) {
            const double fall = 1 / cosh(field->z[j] / field->height), density = fall * fall;
            const double now = density * disc_field_at(field, field->radius[k], field->z[j]).downward;
            /* above the table the force is constant, and the density falls by e in height / 2 */
            if (j == DISC_HEIGHTS - 1)
                pressure = 0.5 * field->height * now;
            else
                pressure += 0.5 * (now + before) * (field->z[j + 1] - field->z[j]);
            of->across[k][j] = pressure / density;
            before = now;
        }
    }
}

/* ---- orbits in the plane ---- */

typedef struct orbit {
    int steps;                 /* stored; the period ends in the last one */
    double step, period, spin; /* spin: angular momentum */
    double radius[ORBIT_MAX + 2], speed[ORBIT_MAX + 2], pull[ORBIT_MAX + 2];
} orbit;

static double between(const double *table, int k, double part) { return table[k] + part * (table[k + 1] - table[k]); }

static double at(const disc *of, const double *table, double radius)
{
    double part;
    const int k = disc_field_node(of->field, radius, &part);
    return between(table, k, part);
}

static double pull_at(const disc *of, double spin, double radius)
{
    return spin * spin / (radius * radius * radius) - at(of, of->force, radius);
}

/*
 * Follows the radial oscillation from a guiding radius outwards, through both turns, back to it.  -1: the orbit leaves
 * the table or does not end.
 */
static int follow(const disc *of, double guide, double energy, orbit *path)
{
    const double outermost = of->field->radius[DISC_RADII - 1];
    double r = guide, v = sqrt(2 * energy), a;
    path->spin = guide * at(of, of->circle, guide);
    path->step = 2 * PI / at(of, of->epicycle, guide) / ORBIT_STEPS;
    a = pull_at(of, path->spin, r);
    for (int k = 0; k < ORBIT_MAX; k++) {
        path->radius[k] = r;
        path->speed[k] = v;
        path->pull[k] = a;
        v += 0.5 * path->step * a;
        r += path->step * v;
        if (!(r > 0 && r < outermost)) return -1;
        a = pull_at(of, path->spin, r);
        v += 0.5 * path->step * a;
        if (r >= guide && path->radius[k] < guide) {
            path->steps = k + 1;
            path->period = path->step * (k + (guide - path->radius[k]) / (r - path->radius[k]));
            return 0;
        }
    }
    return -1;
}

/* Position and velocity at a part of the period. */
static void at_phase(const orbit *path, double part, double *radius, double *speed)
{
    const double time = part * path->period;
    int k = (int)(time / path->step);
    if (k > path->steps - 1) k = path->steps - 1;
    const double left = time - k * path->step;
    *radius = path->radius[k] + left * (path->speed[k] + 0.5 * left * path->pull[k]);
    *speed = path->speed[k] + left * path->pull[k];
}

/* ---- corrections of guiding radii and energies ---- */

typedef struct ring {
    double mass, energy; /* energy: mass times the squared radial velocity */
} ring;

/* Adds all orbits of a guiding radius to the rings; an orbit that leaves the table keeps its mass at the guide. */
static void add_orbits(const disc *of, double guide, double mass, ring *rings, orbit *path)
{
    const double heat = at(of, of->heat, guide);
    for (int e = 0; e < ENERGIES; e++) {
        const double energy = -heat * log1p(-(e + 0.5) / ENERGIES);
        const int lost = follow(of, guide, energy, path);
        for (int k = 0; k < ORBIT_STEPS; k++) {
            double r = guide, v = 0;
            if (!lost) at_phase(path, (k + 0.5) / ORBIT_STEPS, &r, &v);
            const int bin = (int)(r / (BIN * of->shape.scale));
            if (bin < 0 || bin >= BINS) continue;
            rings[bin].mass += mass / (ENERGIES * ORBIT_STEPS);
            rings[bin].energy += v * v * mass / (ENERGIES * ORBIT_STEPS);
        }
    }
}

/* Mass of the exponential disc within a radius, in scale lengths, over that of the whole disc. */
static double exponential_mass(double x) { return 1 - (1 + x) * exp(-x); }

/* Interpolates the corrections of the rings' middles. */
static double correction(const double *factor, double x)
{
    const double place = fmax(0, x / BIN - 0.5);
    const int k = place < BINS - 2 ? (int)place : BINS - 2;
    return between(factor, k, fmin(1, place - k));
}

/* A corrected value, between the least one and that times the square of the limit. */
static double limited(double value, double least)
{
    return fmin(fmax(value, least), least * CORRECTION_LIMIT * CORRECTION_LIMIT);
}

static void correct(disc *of, double *weight, const ring *rings)
{
    double more[BINS], hotter[BINS];
    for (int b = 0; b < BINS; b++) {
        const double wanted = exponential_mass((b + 1) * BIN) - exponential_mass(b * BIN);
        const double sigma = at(of, of->sigma, (b + 0.5) * BIN * of->shape.scale);
        more[b] = hotter[b] = 1;
        if (!(rings[b].mass > 0) || (b + 1) * BIN > DISC_CUT - 1) continue; /* near the end the disc is not whole */
        more[b] = wanted / rings[b].mass;
        if (rings[b].energy > 0) hotter[b] = sigma * sigma * rings[b].mass / rings[b].energy;
    }
    for (int k = 0; k < DISC_RADII; k++) {
        const double x = of->field->radius[k] / of->shape.scale;
        const double least = of->sigma[k] * of->sigma[k] / CORRECTION_LIMIT;
        weight[k] = limited(weight[k] * correction(more, x), 1 / CORRECTION_LIMIT);
        of->heat[k] = limited(of->heat[k] * correction(hotter, x), least);
    }
}

/* Sums the guiding masses; `weight` is their surface density over that of the disc. */
static void sum_guides(disc *of, const double *weight)
{
    const double *r = of->field->radius, scale = of->shape.scale;
    of->guides[0] = 0;
    for (int k = 1; k < DISC_RADII; k++) {
        const double part = exponential_mass(r[k] / scale) - exponential_mass(r[k - 1] / scale);
        const double inside = r[k] <= DISC_CUT * scale * (1 + 1e-9) ? 1 : 0;
        of->guides[k] = of->guides[k - 1] + inside * 0.5 * (weight[k] + weight[k - 1]) * part;
    }
}

static void solve_guides(disc *of, orbit *path)
{
    double weight[DISC_RADII];
    for (int k = 0; k < DISC_RADII; k++) weight[k] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        ring rings[BINS] = {{0, 0}};
        sum_guides(of, weight);
        for (int k = 1; k < DISC_RADII && of->guides[k] > of->guides[k - 1]; k++) {
            const double guide = 0.5 * (of->field->radius[k] + of->field->radius[k - 1]);
            add_orbits(of, guide, of->guides[k] - of->guides[k - 1], rings, path);
        }
        correct(of, weight, rings);
    }
    sum_guides(of, weight);
}

/* ---- the disc ---- */

disc *disc_solve(const disc_shape *shape, const spheres *around)
{
    disc *solved = calloc(1, sizeof *solved);
    orbit *path = malloc(sizeof *path);
    if (solved) solved->field = malloc(sizeof *solved->field);
    if (!solved || !path || !solved->field) {
        free(path);
        disc_free(solved);
        return NULL;
    }
    solved->shape = *shape;
    disc_field_solve(solved->field, shape, around);
    solve_circles(solved);
    choose_dispersion(solved);
    solve_across(solved);
    solve_guides(solved, path);
    free(path);
    return solved;
}

void disc_free(disc *solved)
{
    if (!solved) return;
    free(solved->field);
    free(solved);
}

static double choose_guide(const disc *of, rng *source)
{
    const double wanted = of->guides[DISC_RADII - 1] * rng_uniform(source);
    int low = 0, high = DISC_RADII - 1;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (of->guides[middle] > wanted)
            high = middle;
        else
            low = middle;
    }
    /* Between nodes the mass is almost straight in R^2. */
    const double part = (wanted - of->guides[low]) / (of->guides[high] - of->guides[low]);
    const double inner = of->field->radius[low], outer = of->field->radius[high];
    return sqrt(inner * inner + part * (outer * outer - inner * inner));
}

static double across_at(const disc *of, double radius, double z)
{
    const double place = fmin(fabs(z) / of->field->z[1], DISC_HEIGHTS - 1 - 1e-9);
    const int j = (int)place;
    double part;
    const int k = disc_field_node(of->field, radius, &part);
    return (1 - part) * between(of->across[k], j, place - j) + part * between(of->across[k + 1], j, place - j);
}

static void kick(const disc_field *field, double dt, const double x[3], double v[3])
{
    const double radius = sqrt(x[0] * x[0] + x[1] * x[1]);
    const disc_pull pull = disc_field_at(field, radius, fabs(x[2]));
    if (!(radius > 0)) return;
    v[0] -= dt * pull.inward * x[0] / radius;
    v[1] -= dt * pull.inward * x[1] / radius;
    v[2] -= dt * copysign(pull.downward, x[2]);
}

/*
 * Follows the orbit in the fixed field for a random time, by leap-frog.  Then the phases of the radial and the vertical
 * motion, which are not independent near the centre, are those of a model in equilibrium.
 */
static void settle(const disc *of, double guide, rng *source, double x[3], double v[3])
{
    const double step = 2 * PI / at(of, of->epicycle, guide) / SETTLE_STEPS;
    const int steps = (int)(SETTLE_STEPS * SETTLE_PERIODS * (1 + rng_uniform(source)));
    for (int k = 0; k < steps; k++) {
        kick(of->field, k ? step : 0.5 * step, x, v);
        for (int c = 0; c < 3; c++) x[c] += step * v[c];
    }
    kick(of->field, 0.5 * step, x, v);
}

void disc_particle(const disc *solved, rng *source, double x[3], double v[3])
{
    orbit path;
    double r, out, guide, energy;
    do {
        guide = choose_guide(solved, source);
        energy = -at(solved, solved->heat, guide) * log(rng_uniform(source));
    } while (follow(solved, guide, energy, &path));
    at_phase(&path, rng_uniform(source), &r, &out);
    const double around = path.spin / r, angle = 2 * PI * rng_uniform(source), c = cos(angle), s = sin(angle);
    x[0] = r * c;
    x[1] = r * s;
    x[2] = solved->shape.height * atanh(2 * rng_uniform(source) - 1);
    v[0] = out * c - around * s;
    v[1] = out * s + around * c;
    v[2] = sqrt(across_at(solved, r, x[2])) * rng_gauss(source);
    settle(solved, guide, source, x, v);
}
