/*
 * model.c - star clusters for the self-test and the benchmark.
 */
#include "model.h"
#include "util.h"
#include <math.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;

/* Returns the unit of length of N-body units in Plummer's scale: b = 3 pi / 16 makes E = -1/4. */
static double plummer_length(void) { return 3.0 * PI / 16.0; }

/* splitmix64 (Steele, Lea & Flood 2014): good enough for stars, and short. */
double model_random(unsigned long long *state)
{
    unsigned long long z = *state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    return ((double)(z >> 12) + 0.5) * 0x1p-52;
}

/* Makes a vector of given length in a random direction. */
static void random_direction(double length, unsigned long long *state, double vector[3])
{
    const double z = 2.0 * model_random(state) - 1.0, phi = 2.0 * PI * model_random(state);
    const double q = sqrt(1.0 - z * z);
    vector[0] = length * q * cos(phi);
    vector[1] = length * q * sin(phi);
    vector[2] = length * z;
}

/* Makes one star of a Plummer sphere by the recipe of Aarseth, Henon & Wielen (1974, A&A 37, 183), in their units. */
static void plummer_star(unsigned long long *state, double x[3], double v[3])
{
    double r, q, g;
    do r = 1.0 / sqrt(pow(model_random(state), -2.0 / 3.0) - 1.0);
    while (!(r < 22.8)); /* holds all but a thousandth of the mass */
    do {
        q = model_random(state);
        g = 0.1 * model_random(state);
    } while (g > q * q * pow(1.0 - q * q, 3.5));
    random_direction(r, state, x);
    random_direction(q * sqrt(2.0) * pow(1.0 + r * r, -0.25), state, v);
}

static model model_new(int n)
{
    model cluster = {n, allocate((size_t)n, sizeof *cluster.particle)};
    for (int k = 0; k < n; k++)
        cluster.particle[k].index = 5000 + n - k; /* indices descend, and never equal the address */
    return cluster;
}

/* Puts the mean position and velocity of the stars at rest in the origin. */
static void centre(model *cluster)
{
    for (int d = 0; d < 2; d++) {
        for (int c = 0; c < 3; c++) {
            double mean = 0.0;
            for (int k = 0; k < cluster->n; k++) mean += cluster->particle[k].derivative[d][c] / cluster->n;
            for (int k = 0; k < cluster->n; k++) cluster->particle[k].derivative[d][c] -= mean;
        }
    }
}

model model_plummer(int n)
{
    model cluster = model_new(n);
    unsigned long long state = 1974;
    const double length = plummer_length(), speed = 1.0 / sqrt(length);
    for (int k = 0; k < n; k++) {
        sapporo_particle *star = &cluster.particle[k];
        star->mass = 1.0 / n;
        plummer_star(&state, star->derivative[0], star->derivative[1]);
        for (int c = 0; c < 3; c++) {
            star->derivative[0][c] *= length;
            star->derivative[1][c] *= speed;
        }
    }
    centre(&cluster);
    return cluster;
}

/*
 * Rounds a value to a float multiple of a factor.  GRAPE-6 takes a/2, j/6 and snap/18; float multiples of 2, 6 and 18
 * survive this division and the multiplication in the library without rounding, so both interfaces get the same bits.
 */
static double multiple(double value, double factor) { return factor * (double)(float)(value / factor); }

/* Sets derivatives along the orbit.  With q = (r^2 + b^2)^(-3/2): a = -q x, and its time derivatives. */
static void add_derivatives(sapporo_particle *star, model_derivatives which)
{
    const double *x = star->derivative[0], *v = star->derivative[1], b = plummer_length();
    double *acc = star->derivative[2], *jerk = star->derivative[3], *snap = star->derivative[4];
    const double r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + b * b, q = 1.0 / (r2 * sqrt(r2));
    const double xv = x[0] * v[0] + x[1] * v[1] + x[2] * v[2], vv = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    const double xa = -q * (r2 - b * b), q1 = -3.0 * xv * q / r2;
    const double q2 = -3.0 * (vv + xa) * q / r2 + 15.0 * xv * xv * q / (r2 * r2);
    for (int c = 0; c < 3; c++) {
        acc[c] = multiple(-q * x[c], 2.0);
        jerk[c] = multiple(-q * v[c] - q1 * x[c], 6.0);
        snap[c] = which == DERIVATIVES_ALL ? multiple(q * q * x[c] - 2.0 * q1 * v[c] - q2 * x[c], 18.0) : 0.0;
    }
}

void model_add_derivatives(model *cluster, model_derivatives which)
{
    for (int k = 0; k < cluster->n && which != DERIVATIVES_NONE; k++) add_derivatives(&cluster->particle[k], which);
}

void model_spread_times(model *cluster, double time)
{
    for (int k = 0; k < cluster->n; k++) cluster->particle[k].time = time - (k % 65) * 0x1p-12;
}

/* Makes particles first and first + 1 a circular binary of total mass m, in the plane perpendicular to `where`. */
static void make_binary(model *cluster, int first, double separation, double mass)
{
    sapporo_particle *a = &cluster->particle[first], *b = a + 1;
    const double speed = sqrt(mass / separation);
    const double along[3] = {2.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0}, across[3] = {2.0 / 3.0, 2.0 / 3.0, -1.0 / 3.0};
    a->mass = b->mass = 0.5 * mass;
    for (int c = 0; c < 3; c++) {
        b->derivative[0][c] = a->derivative[0][c] + separation * along[c];
        b->derivative[1][c] = a->derivative[1][c] + speed * across[c];
    }
}

model model_tight_pair(int n, int *first)
{
    model cluster = model_plummer(n);
    const double place[3] = {0.48, 0.64, 0.6}; /* at distance 1, coordinates that are no short binary numbers */
    *first = n / 2 - 1;
    for (int c = 0; c < 3; c++) cluster.particle[*first].derivative[0][c] = place[c];
    make_binary(&cluster, *first, 1e-9, 2.0 / n);
    return cluster;
}

/* Returns the root mean square velocity. */
static double dispersion(const model *cluster)
{
    double sum = 0.0;
    for (int k = 0; k < cluster->n; k++)
        for (int c = 0; c < 3; c++)
            sum += cluster->particle[k].derivative[1][c] * cluster->particle[k].derivative[1][c];
    return sqrt(sum / cluster->n);
}

model model_hard(int n, int *first)
{
    model cluster = model_plummer(n);
    const double direction[3] = {0.48, 0.64, 0.6};
    double total = 0.0;
    for (int k = 0; k < n; k++) total += cluster.particle[k].mass = pow(10.0, -6.0 * k / (n - 1));
    for (int k = 0; k < n; k++) cluster.particle[k].mass /= total;
    const double bulk = 100.0 * dispersion(&cluster);
    *first = n / 2 - 1;
    make_binary(&cluster, *first, 1e-6, 2.0 / n);
    for (int k = 0; k < n; k++)
        for (int c = 0; c < 3; c++) cluster.particle[k].derivative[1][c] += bulk * direction[c];
    return cluster;
}

model model_lattice(int side)
{
    model cluster = model_new(side * side * side);
    for (int k = 0; k < cluster.n; k++) {
        const int place[3] = {k % side, k / side % side, k / (side * side)};
        cluster.particle[k].mass = 1.0;
        for (int c = 0; c < 3; c++) cluster.particle[k].derivative[0][c] = place[c];
    }
    return cluster;
}

void model_free(model *cluster)
{
    free(cluster->particle);
    *cluster = (model){0, NULL};
}

targets model_targets(const model *cluster, int stride, double time)
{
    const int n = (cluster->n + stride - 1) / stride;
    targets stars = {n, allocate((size_t)n, sizeof *stars.x), allocate((size_t)n, sizeof *stars.v),
                     allocate((size_t)n, sizeof *stars.index), allocate((size_t)n, sizeof *stars.h2)};
    for (int i = 0; i < n; i++) {
        const sapporo_particle *star = &cluster->particle[i * stride];
        const double dt = time - star->time;
        const double(*d)[3] = star->derivative;
        for (int c = 0; c < 3; c++) {
            stars.x[i][c] = d[0][c] + dt * (d[1][c] + dt / 2 * (d[2][c] + dt / 3 * (d[3][c] + dt / 4 * d[4][c])));
            stars.v[i][c] = d[1][c] + dt * (d[2][c] + dt / 2 * (d[3][c] + dt / 3 * d[4][c]));
        }
        stars.index[i] = star->index;
    }
    return stars;
}

void targets_free(targets *stars)
{
    free(stars->x);
    free(stars->v);
    free(stars->index);
    free(stars->h2);
    *stars = (targets){0};
}

/* ---- radii of neighbour spheres ------------------------------------------------ */

/*
 * Returns the fraction of the mass of a Plummer sphere (b = 1) within h of a point at radius r: an integral over
 * shells.
 */
static double mass_within(double r, double h)
{
    enum { STEPS = 64 };
    const double from = fmax(0.0, r - h), step = (r + h - from) / STEPS;
    double mass = 0.0;
    for (int k = 0; k < STEPS; k++) {
        const double s = from + (k + 0.5) * step, density = 3.0 / (4.0 * PI) * pow(1.0 + s * s, -2.5);
        const double part = s + r <= h ? 1.0 : (h * h - (r - s) * (r - s)) / (4.0 * r * s); /* fraction of the shell */
        mass += 4.0 * PI * s * s * density * part * step;
    }
    return mass;
}

/* Returns the h with mass_within(r, h) = mass. */
static double radius_of_mass(double r, double mass)
{
    double low = 0.0, high = r + 100.0;
    for (int k = 0; k < 50; k++) {
        const double middle = 0.5 * (low + high);
        if (mass_within(r, middle) < mass)
            low = middle;
        else
            high = middle;
    }
    return high;
}

void model_list_radii(targets *stars, int cluster_size, int length)
{
    enum { ROWS = 200 };
    const double b = plummer_length(), mass = fmin(0.99, (double)length / cluster_size);
    double table[ROWS + 1]; /* h at r = exp(k / 20) - 1 */
    for (int k = 0; k <= ROWS; k++) table[k] = radius_of_mass(fmax(expm1(k / 20.0), 1e-3), mass);
    for (int i = 0; i < stars->n; i++) {
        const double *x = stars->x[i];
        const double place = fmin(20.0 * log1p(sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) / b), ROWS - 1e-6);
        const int k = (int)place;
        const double h = b * (table[k] + (place - k) * (table[k + 1] - table[k]));
        stars->h2[i] = h * h;
    }
}
