/* cube.c - computes the cube of a tree, which keys divide into cells. */
#include "engine/cube.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tree_limits.h"

/* The bulk of the model is the sample without 1/BEYOND of its members at either end of each axis.  The cube is ROOM
 * times as wide as the bulk. */
enum { BEYOND = 16, ROOM = 64 };

/* A box with a smaller edge counts as a point, because the unit of its keys would overflow. */
#define LEAST 1e-100

/* Particles within a box of this edge, in units of the edge of the cube, have one key or neighbouring keys. */
#define SHRUNK 0x1p-20

int sap_cube_sample(int n) { return n < SAP_CUBE_SAMPLE ? n : SAP_CUBE_SAMPLE; }

int sap_cube_member(int n, int k) { return (int)((long long)k * n / sap_cube_sample(n)); }

static int by_size(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The least power of two above x > 0. */
static double power_above(double x)
{
    int exponent;
    (void)frexp(x, &exponent);
    return ldexp(1.0, exponent);
}

/* Computes the middle of the bulk of the sample; returns the longest edge of its bounding box. */
static double body_of(double (*sample)[SAP_CUBE_SAMPLE], int m, double *middle)
{
    double edge = 0;
    for (int k = 0; k < 3; k++) {
        qsort(sample[k], (size_t)m, sizeof sample[k][0], by_size);
        const double low = sample[k][m / BEYOND], high = sample[k][m - 1 - m / BEYOND];
        middle[k] = low + 0.5 * (high - low);
        edge = fmax(edge, high - low);
    }
    return edge;
}

struct sap_cube sap_tree_cube(const double *low, const double *high, double (*sample)[SAP_CUBE_SAMPLE], int m)
{
    struct sap_cube cube = {.low = {low[0], low[1], low[2]}};
    double middle[3], extent = 0;
    for (int k = 0; k < 3; k++) extent = fmax(extent, high[k] - low[k]);
    if (!(extent > LEAST)) return cube;
    const double body = ROOM * body_of(sample, m, middle);
    cube.edge = power_above(extent);
    if (body > 0 && power_above(body) < cube.edge) {
        cube.edge = fmax(power_above(body), cube.edge / SAP_TREE_FARTHEST);
        for (int k = 0; k < 3; k++) cube.low[k] = middle[k] - 0.5 * cube.edge;
    }
    cube.cells = ldexp(1.0, 21) / cube.edge;
    return cube;
}

int sap_tree_in_range(const double *low, const double *high, double sum)
{
    double size = 0, extent = 0;
    for (int k = 0; k < 3; k++) {
        size = fmax(size, fmax(fabs(low[k]), fabs(high[k])));
        extent = fmax(extent, high[k] - low[k]);
    }
    if (!(high[0] >= low[0])) return 1; /* no particles */
    return sum * size <= DBL_MAX && 4 * sum * extent * extent <= DBL_MAX;
}

int sap_tree_is_place(const struct sap_cube *cube, double unit, const double *x)
{
    for (int k = 0; k < 3; k++)
        if (!(fabs(x[k]) <= SAP_TREE_LIMIT && fabs(x[k] - cube->low[k]) * unit <= SAP_TREE_FARTHEST)) return 0;
    return 1;
}

static double unit_of(double edge, double eps2)
{
    const double eps = sqrt(eps2), size = edge > eps ? edge : eps;
    int exponent;
    if (!(size > 0)) return 1;
    const double part = frexp(size, &exponent);
    return ldexp(1, part > 0.5 ? -exponent : 1 - exponent);
}

struct sap_tree_units sap_tree_units_of(const struct sap_cube *cube, const double *low, const double *high, double eps2)
{
    struct sap_tree_units units;
    double extent = 0, edge = cube->edge;
    for (int k = 0; k < 3; k++) extent = fmax(extent, high[k] - low[k]);
    const int is_small = extent < edge * SHRUNK;
    if (is_small) edge = extent > LEAST ? power_above(extent) : 0;
    for (int k = 0; k < 3; k++)
        units.middle[k] = is_small ? low[k] + 0.5 * (high[k] - low[k]) : cube->low[k] + 0.5 * cube->edge;
    units.unit = unit_of(edge, eps2);
    units.eps2 = eps2 * units.unit * units.unit < SAP_TREE_LEAST_SCALED_EPS2 ? 0 : eps2;
    units.is_point = !(edge > 0);
    return units;
}

int sap_tree_is_length(double h, double unit) { return h >= 0 && isfinite(h) && h * unit <= SAP_TREE_FARTHEST; }

double sap_tree_scaled_length(double h, double unit)
{
    const double scaled = h * unit;
    return scaled * scaled < SAP_TREE_LEAST_SCALED_EPS2 ? 0 : scaled;
}

double sap_tree_mass_unit(double sum)
{
    int exponent;
    if (!(sum > 0) || !isfinite(sum)) return 1;
    (void)frexp(sum, &exponent);
    return ldexp(1, exponent < -900 ? 900 : -exponent);
}
