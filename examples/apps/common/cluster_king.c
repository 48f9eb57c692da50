/*
 * cluster_king.c - King models: a Maxwellian lowered so that it ends at the speed of escape from the cluster.
 *
 * In units of the core radius and of the velocity dispersion parameter, W'' + 2 W'/r = -9 rho(W) / rho(W0).
 */
#include "cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the density for depth W, up to a factor: the integral of v^2 (e^(W - v^2/2) - 1) up to v^2 = 2 W. */
static double density(double depth)
{
    const double four_over_pi = 1.2732395447351627;
    if (depth <= 0) return 0;
    /* The closed form loses all digits where W is small; its series begins with W^(5/2). */
    if (depth < 0.01) {
        double series = 4.0 / 15 + depth * (8.0 / 105 + depth * (16.0 / 945 + depth * 32 / 10395));
        return sqrt(four_over_pi) * pow(depth, 2.5) * series;
    }
    return exp(depth) * erf(sqrt(depth)) - sqrt(four_over_pi * depth) * (1 + 2 * depth / 3);
}

/* State of the integration outwards: W and the flux r^2 dW/dr, which is minus the mass within r. */
typedef struct state {
    double depth, flux;
} state;

static state slope(double radius, state at, double centre)
{
    double r2 = radius * radius;
    if (radius <= 0) return (state){0, 0};
    return (state){at.flux / r2, -9 * r2 * density(at.depth) / centre};
}

static state moved(state from, state by, double h)
{
    return (state){from.depth + h * by.depth, from.flux + h * by.flux};
}

static state runge_kutta(double r, state y, double h, double centre)
{
    state a = slope(r, y, centre);
    state b = slope(r + h / 2, moved(y, a, h / 2), centre);
    state c = slope(r + h / 2, moved(y, b, h / 2), centre);
    state d = slope(r + h, moved(y, c, h), centre);
    return (state){y.depth + h / 6 * (a.depth + 2 * b.depth + 2 * c.depth + d.depth),
                   y.flux + h / 6 * (a.flux + 2 * b.flux + 2 * c.flux + d.flux)};
}

static int add_node(king_profile *profile, int *room, double radius, state at)
{
    if (profile->n == *room) {
        *room = *room ? 2 * *room : 4096;
        size_t bytes = (size_t)*room * sizeof(double);
        double *grown[3] = {realloc(profile->radius, bytes), realloc(profile->depth, bytes),
                            realloc(profile->mass, bytes)};
        if (grown[0]) profile->radius = grown[0];
        if (grown[1]) profile->depth = grown[1];
        if (grown[2]) profile->mass = grown[2];
        if (!grown[0] || !grown[1] || !grown[2]) return -1;
    }
    profile->radius[profile->n] = radius;
    profile->depth[profile->n] = at.depth;
    profile->mass[profile->n++] = -at.flux;
    return 0;
}

int king_solve(double w0, king_profile *profile)
{
    int room = 0;
    double centre = density(w0), r = 1e-3;
    memset(profile, 0, sizeof *profile);
    if (add_node(profile, &room, 0, (state){w0, 0})) return -1;
    /* At the centre the density is even: W = W0 - 3/2 r^2, mass 3 r^3. */
    state y = {w0 - 1.5 * r * r, -3 * r * r * r};
    while (y.depth > 1e-9 * w0) {
        if (add_node(profile, &room, r, y)) return -1;
        double h = 0.002 * (1 + r), to_edge = -y.depth * r * r / y.flux;
        if (h > to_edge) h = to_edge; /* Newton's step: W is almost straight in 1/r, so few are needed */
        y = runge_kutta(r, y, h, centre);
        r += h;
    }
    y.depth = 0;
    return add_node(profile, &room, r, y);
}

void king_free(king_profile *profile)
{
    free(profile->radius);
    free(profile->depth);
    free(profile->mass);
    memset(profile, 0, sizeof *profile);
}

double king_radius(const king_profile *profile, double fraction, double *depth)
{
    int low = 0, high = profile->n - 1;
    double wanted = fraction * profile->mass[high];
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (profile->mass[middle] > wanted)
            high = middle;
        else
            low = middle;
    }
    /* Between nodes the mass is almost straight in r^3. */
    double part = (wanted - profile->mass[low]) / (profile->mass[high] - profile->mass[low]);
    double inner = profile->radius[low], outer = profile->radius[high];
    double cube = inner * inner * inner + part * (outer * outer * outer - inner * inner * inner);
    double radius = cbrt(cube);
    if (depth) {
        double along = (radius - inner) / (outer - inner);
        *depth = profile->depth[low] + along * (profile->depth[high] - profile->depth[low]);
    }
    return radius;
}

/* Returns the number of stars with v^2 = 2 W s. */
static double weight(double s, double depth) { return s * expm1(depth * (1 - s)); }

/* Returns the largest weight.  The weight rises until (1 - W s) e^(W (1 - s)) = 1. */
static double largest_weight(double depth)
{
    double low = 0, high = 1;
    for (int k = 0; k < 50; k++) {
        double s = 0.5 * (low + high);
        if ((1 - depth * s) * exp(depth * (1 - s)) > 1)
            low = s;
        else
            high = s;
    }
    return weight(0.5 * (low + high), depth);
}

static double speed_at(double depth, rng *source)
{
    double largest = largest_weight(depth) * (1 + 1e-9), q, level;
    do {
        q = rng_uniform(source);
        level = largest * rng_uniform(source);
    } while (level > weight(q * q, depth));
    return q * sqrt(2 * depth);
}

int cluster_king(bodies *set, rng *source, double w0)
{
    king_profile profile;
    int status = king_solve(w0, &profile);
    for (int k = 0; k < set->n && !status; k++) {
        double depth, radius = king_radius(&profile, rng_uniform(source), &depth);
        rng_direction(source, radius, set->x[k]);
        rng_direction(source, speed_at(depth, source), set->v[k]);
    }
    king_free(&profile);
    return status;
}
