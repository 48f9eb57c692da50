/*
 * cluster_nfw.c - a sphere of Navarro, Frenk and White (1996) that ends at 5 scale radii and is in equilibrium.
 *
 * The density is cut sharply at c = 5.  No isotropic system has such an edge: stars that reach it at all speeds cross
 * it.  Stars at the edge must move along it.  So the distribution function is one of Q = E + L^2 / (2 c^2), with E the
 * binding energy against the edge and L the angular momentum (Merritt 1985, AJ 90, 1027, type II): Q is positive for
 * exactly the orbits that stay within c.  Velocities are nearly isotropic inside, and tangential near the edge.  With
 * w = 1 - r^2 / c^2, the function f(Q) is that of an isotropic system of the density rho w, which vanishes at the edge,
 * so Eddington's inversion gives it.  A speed of that system, with its tangential part divided by sqrt(w), is one of
 * this.
 *
 * Units: scale radius 1, mass in 4 pi rho_s, G = 1.
 */
#include "cluster.h"
#include "eddington.h"

#include <math.h>
#include <stdlib.h>

enum { NODES = 1024, ANGLES = 256 };

static const double CUT = 5, INNERMOST = 1e-6; /* the first node, in units of the cut */

/* All of it as functions of the radius. */
typedef struct tables {
    double first, step;               /* logarithm of the first radius, difference of two */
    double depth[NODES];              /* of the potential, against the edge */
    double level[NODES];              /* f(Q) sqrt(Q) where Q is the depth; Q = 0 at the last node */
    double within[NODES][ANGLES + 1]; /* fraction of stars at the radius with speeds below that of an angle */
} tables;

static double mass_within(double r) { return log1p(r) - r / (1 + r); }

/* Returns the radius that holds a mass. */
static double radius_of(double mass)
{
    double low = 0, high = CUT;
    for (int k = 0; k < 50; k++) {
        const double middle = 0.5 * (low + high);
        if (mass_within(middle) < mass)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

/* A density times w, and its first two derivatives by radius. */
typedef struct slopes {
    double first, second;
} slopes;

static slopes slopes_at(double r)
{
    const double far = 1 + r, value = 1 / (r * far * far);
    const double slope = -1 / r - 2 / far, bend = slope * slope + 1 / (r * r) + 2 / (far * far); /* over the value */
    const double w = 1 - r * r / (CUT * CUT), w1 = -2 * r / (CUT * CUT), w2 = -2 / (CUT * CUT);
    return (slopes){value * (slope * w + w1), value * (bend * w + 2 * slope * w1 + w2)};
}

/* Returns the second derivative by the depth of the potential, where d depth / dr = -M / r^2. */
static double bend_by_depth(double r)
{
    const double m = mass_within(r), rise = r / ((1 + r) * (1 + r)), out = r * r / m; /* rise: dM / dr */
    const slopes d = slopes_at(r);
    return out * ((2 * r / m - out * rise / m) * d.first + out * d.second);
}

static double node_radius(const tables *t, int k) { return k < NODES - 1 ? exp(t->first + k * t->step) : CUT; }

/* Eddington's inversion, without constant factors.  The slope of rho w at the edge is a term ~ 1 / sqrt(Q). */
static void invert(tables *t)
{
    double bend[NODES];
    for (int k = 0; k < NODES; k++) {
        const double r = node_radius(t, k);
        t->depth[k] = k < NODES - 1 ? log1p(r) / r - log1p(CUT) / CUT : 0;
        bend[k] = bend_by_depth(r);
    }
    const double edge = -slopes_at(CUT).first * CUT * CUT / mass_within(CUT);
    for (int k = 0; k < NODES; k++)
        t->level[k] = sqrt(t->depth[k]) * eddington_integral(NODES, t->depth, bend, k) + edge;
}

/* Returns f(q) sqrt(q); *node is a node whose depth is at least q, and moves outwards. */
static double level_at(const tables *t, double q, int *node)
{
    while (*node < NODES - 2 && t->depth[*node + 1] > q) ++*node;
    const double above = t->depth[*node], below = t->depth[*node + 1];
    const double part = fmin(fmax((q - below) / (above - below), 0), 1);
    return t->level[*node + 1] + part * (t->level[*node] - t->level[*node + 1]);
}

/* Angles are finer near 0, where the function of the innermost stars is steep. */
static double angle_of(double place) { return 1.57079632679489662 * place * place; }

/*
 * Sums the stars of a radius by their speed, sqrt(2 depth) sin(angle): then Q is depth cos^2(angle), and the number of
 * stars per angle is f(Q) sqrt(Q) sin^2(angle), which is finite everywhere.
 */
static void sum_speeds(tables *t, int k)
{
    double *const within = t->within[k], before = 0;
    int node = k < NODES - 1 ? k : NODES - 2;
    within[0] = 0;
    for (int j = 1; j <= ANGLES; j++) {
        const double place = (double)j / ANGLES, sine = sin(angle_of(place)), cosine = cos(angle_of(place));
        const double now = place * sine * sine * level_at(t, t->depth[k] * cosine * cosine, &node);
        within[j] = within[j - 1] + before + now;
        before = now;
    }
    for (int j = 1; j <= ANGLES; j++) within[j] /= within[ANGLES];
}

/* Returns the angle below which a fraction of the stars of a node are. */
static double angle_at(const tables *t, int k, double fraction)
{
    const double *const within = t->within[k];
    int low = 0, high = ANGLES;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (within[middle] > fraction)
            high = middle;
        else
            low = middle;
    }
    const double part = (fraction - within[low]) / (within[high] - within[low]);
    return angle_of((low + fmin(fmax(part, 0), 1)) / ANGLES);
}

/* Returns the fraction of a Gaussian in three dimensions within g: it is uniform, and g tells nothing of the direction.
 */
static double fraction_within(double g)
{
    return erf(g * 0.707106781186547524) - 0.797884560802865356 * g * exp(-0.5 * g * g);
}

/* Makes the velocity of a star at x, of radius r. */
static void choose_velocity(const tables *t, double r, const double x[3], rng *source, double v[3])
{
    double g2 = 0, along = 0;
    for (int c = 0; c < 3; c++) {
        v[c] = rng_gauss(source);
        g2 += v[c] * v[c];
    }
    const double g = sqrt(g2), fraction = fraction_within(g);
    const double place = fmin(fmax((log(r) - t->first) / t->step, 0), NODES - 1);
    const int k = place < NODES - 2 ? (int)place : NODES - 2;
    const double below = angle_at(t, k, fraction), above = angle_at(t, k + 1, fraction);
    const double depth = log1p(r) / r - log1p(CUT) / CUT, w = 1 - r * r / (CUT * CUT);
    const double speed = sqrt(2 * fmax(depth, 0)) * sin(below + (place - k) * (above - below));
    for (int c = 0; c < 3; c++) along += v[c] / g * x[c] / r;
    for (int c = 0; c < 3; c++) {
        const double radial = along * x[c] / r;
        v[c] = speed * (radial + (v[c] / g - radial) / sqrt(w));
    }
}

int cluster_nfw(bodies *set, rng *source)
{
    tables *const t = malloc(sizeof *t);
    if (!t) return -1;
    t->first = log(INNERMOST * CUT);
    t->step = -log(INNERMOST) / (NODES - 1);
    invert(t);
    for (int k = 0; k < NODES; k++) sum_speeds(t, k);
    for (int k = 0; k < set->n; k++) {
        const double r = radius_of(mass_within(CUT) * rng_uniform(source));
        rng_direction(source, r, set->x[k]);
        choose_velocity(t, r, set->x[k], source, set->v[k]);
    }
    free(t);
    return 0;
}
