/*
 * cluster_hernquist.c - the Hernquist model; scale radius, mass and G are 1.
 */
#include "cluster.h"

#include <math.h>

/*
 * Returns Hernquist (1990) eq. 17 without its constant factor, at energy v^2/2 - psi.  `below` is 1 - q^2, q^2 = -E; it
 * is an argument of its own because it is tiny near the centre, where the function rises as its power -5/2.
 */
static double distribution(double below)
{
    double q2 = 1 - below;
    if (q2 <= 0) return 0;
    double q = sqrt(q2), root = sqrt(below);
    double bracket = 3 * asin(q) + q * root * (1 - 2 * q2) * (8 * q2 * q2 - 8 * q2 - 3);
    return bracket > 0 ? bracket * pow(below, -2.5) : 0;
}

/* Returns the number of stars at speed v where 1 - psi = floor. */
static double weight(double v, double floor) { return v * v * distribution(floor + 0.5 * v * v); }

/*
 * Returns the largest weight.  The weight has one maximum between rest and escape, which a golden-section search finds.
 */
static double largest_weight(double escape, double floor)
{
    const double ratio = 0.6180339887498949;
    double low = 0, high = escape;
    for (int k = 0; k < 60; k++) {
        double left = high - ratio * (high - low), right = low + ratio * (high - low);
        if (weight(left, floor) < weight(right, floor))
            low = left;
        else
            high = right;
    }
    return weight(0.5 * (low + high), floor);
}

static double speed_at(double radius, rng *source)
{
    double escape = sqrt(2 / (1 + radius)), floor = radius / (1 + radius);
    double largest = 1.0001 * largest_weight(escape, floor), v, level;
    do {
        v = escape * rng_uniform(source);
        level = largest * rng_uniform(source);
    } while (level > weight(v, floor));
    return v;
}

void cluster_hernquist(bodies *set, rng *source, double cut)
{
    double inside_cut = cut / (1 + cut); /* square root of the mass within the cut */
    for (int k = 0; k < set->n; k++) {
        double root = inside_cut * sqrt(rng_uniform(source)), radius = root / (1 - root);
        rng_direction(source, radius, set->x[k]);
        rng_direction(source, speed_at(radius, source), set->v[k]);
    }
}
