/* cube.c - computes the cube of a tree, which keys divide into cells. */
#include "engine/cube.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tree_limits.h"
#include "physics/ops_scalar.h"

#include "physics/tree_gaps.h"
#include "physics/tree_sample.h"

/* The bulk of the model is the sample without 1/BEYOND of its members at either end of each axis.  The cube is ROOM
 * times as wide as the bulk. */
enum { BEYOND = 16, ROOM = 64 };

/* A box with a smaller edge counts as a point, because the unit of its keys would overflow. */
#define LEAST 1e-100

/* Particles within a box of this edge, in units of the edge of the cube, have one key or neighbouring keys. */
#define SHRUNK 0x1p-20

int sap_cube_sample(int n) { return n < SAP_CUBE_SAMPLE ? n : SAP_CUBE_SAMPLE; }

int sap_cube_member(int n, int k) { return (int)sap_sample_member((sap_address)n, (sap_address)sap_cube_sample(n), k); }

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

/* Computes the middle of the bulk of a sorted sample; returns the longest edge of its bounding box. */
static double body_of(double (*sample)[SAP_CUBE_SAMPLE], int m, double *middle)
{
    double edge = 0;
    for (int k = 0; k < 3; k++) {
        const double low = sample[k][m / BEYOND], high = sample[k][m - 1 - m / BEYOND];
        middle[k] = low + 0.5 * (high - low);
        edge = fmax(edge, high - low);
    }
    return edge;
}

/* Sets low, edge and cells from a box with an extent > 0 and a sorted sample; the edge is at least `least`. */
static void set_cube(struct sap_cube *cube, const double *low, const double *high, double (*sample)[SAP_CUBE_SAMPLE],
                     int m, double least)
{
    double middle[3], extent = 0;
    for (int k = 0; k < 3; k++) extent = fmax(extent, high[k] - low[k]);
    const double body = ROOM * body_of(sample, m, middle);
    memcpy(cube->low, low, sizeof cube->low);
    cube->edge = fmax(power_above(extent), least);
    if (body > 0 && power_above(body) < cube->edge) {
        cube->edge = fmax(fmax(power_above(body), cube->edge / SAP_TREE_FARTHEST), least);
        for (int k = 0; k < 3; k++) cube->low[k] = middle[k] - 0.5 * cube->edge;
    }
    cube->cells = ldexp(1.0, 21) / cube->edge;
}

/* ---- gaps ---------------------------------------------------------------------------- */

/*
 * Members of the sample that are neighbours along an axis are `dense` if the least distance over CROWD of them is below
 * COARSE of the cube's edge on each axis: a sixteenth of the particles then share few cells.
 */
enum { CROWD = SAP_CUBE_SAMPLE / 16 };
#define COARSE 0x1p-17

/* A gap is at least WIDE times as long as all that remains of its axis; KEPT times as much of it remains, and as much
 * as MARGIN times at each end is not shortened, since the sample may miss the outermost particles of a group. */
enum { WIDE = 16, KEPT = 2, MARGIN = 1 };

static int is_coarse(const struct sap_cube *cube, double (*sample)[SAP_CUBE_SAMPLE], int m)
{
    double widest = 0;
    if (m < SAP_CUBE_SAMPLE) return 0; /* of few particles a direct sum is fast */
    for (int k = 0; k < 3; k++) {
        double least = INFINITY;
        for (int j = 0; j + CROWD < m; j++) least = fmin(least, sample[k][j + CROWD] - sample[k][j]);
        widest = fmax(widest, least);
    }
    return widest < COARSE * cube->edge;
}

/* Finds the longest distances of neighbours on an axis that are gaps; *rest: the sum of the others. */
static int find_longest(const double *x, int m, int *at, double *rest)
{
    double length[SAP_GAPS + 1] = {0}, sum = 0;
    int n = 0, gaps = 0, place[SAP_GAPS + 1] = {0};
    for (int j = 0; j + 1 < m; j++) {
        const double d = x[j + 1] - x[j];
        int k = n < SAP_GAPS + 1 ? n++ : n;
        if (k == n) sum += fmin(d, length[n - 1]);
        if (k == n && !(d > length[--k])) continue;
        for (; k > 0 && length[k - 1] < d; k--) length[k] = length[k - 1], place[k] = place[k - 1];
        length[k] = d, place[k] = j;
    }
    *rest = sum;
    for (int k = n - 1; k >= 0; sum += length[k--])
        if (k < SAP_GAPS && !gaps && length[k] > WIDE * sum) gaps = k + 1, *rest = sum;
    if (!gaps) *rest = sum;
    for (int k = 0; k < gaps; k++) at[k] = place[k];
    return gaps;
}

static int by_number(const void *a, const void *b)
{
    int x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Fills the gaps of an axis; rest: the length of what remains of the longest axis; unit: that of rounding; low: the
 * least coordinate. */
static void fill_gaps(struct sap_gaps *g, int axis, const double *x, int *at, int n, double rest, double unit,
                      double low)
{
    qsort(at, (size_t)n, sizeof *at, by_number);
    for (int k = 0; k < n; k++) {
        const double from = x[at[k]], to = x[at[k] + 1];
        const double less = unit * floor((to - from - (KEPT + 2 * MARGIN) * rest) / unit);
        if (!(less > 0)) continue;
        g->at[axis][g->n[axis]] = from + MARGIN * rest;
        g->end[axis][g->n[axis]] = to - MARGIN * rest;
        g->less[axis][g->n[axis]++] = less;
    }
    if (g->n[axis] > 0) g->origin[axis] = unit * floor(low / unit);
    g->any |= g->n[axis] > 0;
}

/* Finds the gaps of a sorted sample. */
static struct sap_gaps find_gaps(double (*sample)[SAP_CUBE_SAMPLE], int m, const double *low, const double *high)
{
    enum { MANTISSA = 52 };
    struct sap_gaps g = {.any = 0};
    int n[3], at[3][SAP_GAPS];
    double rest[3], longest = 0;
    for (int k = 0; k < 3; k++) {
        n[k] = find_longest(sample[k], m, at[k], &rest[k]);
        longest = fmax(longest, rest[k]);
    }
    for (int k = 0; k < 3 && longest > LEAST; k++) {
        const double size = fmax(fmax(fabs(low[k]), fabs(high[k])), LEAST);
        fill_gaps(&g, k, sample[k], at[k], n[k], longest, ldexp(power_above(size), -MANTISSA), low[k]);
    }
    return g;
}

/* Sets a cube of positions that gaps map. */
static void set_mapped(struct sap_cube *cube, const double *low, const double *high, double (*sample)[SAP_CUBE_SAMPLE],
                       int m)
{
    double from[3], to[3], extent = 0;
    for (int k = 0; k < 3; k++) {
        extent = fmax(extent, high[k] - low[k]);
        from[k] = sap_gaps_map(&cube->gaps, k, low[k]);
        to[k] = sap_gaps_map(&cube->gaps, k, high[k]);
        for (int s = 0; s < m; s++) sample[k][s] = sap_gaps_map(&cube->gaps, k, sample[k][s]);
    }
    set_cube(cube, from, to, sample, m, power_above(extent) / SAP_TREE_FARTHEST);
}

struct sap_cube sap_cube_of(const double *low, const double *high, double (*sample)[SAP_CUBE_SAMPLE], int m)
{
    struct sap_cube cube = {.edge = 0};
    double extent = 0;
    if (m == 0) return cube;
    memcpy(cube.low, low, sizeof cube.low);
    for (int k = 0; k < 3; k++) extent = fmax(extent, high[k] - low[k]);
    if (!(extent > LEAST)) return cube;
    for (int k = 0; k < 3; k++) qsort(sample[k], (size_t)m, sizeof sample[k][0], by_size);
    set_cube(&cube, low, high, sample, m, 0);
    if (!is_coarse(&cube, sample, m)) return cube;
    cube.gaps = find_gaps(sample, m, low, high);
    if (cube.gaps.any) set_mapped(&cube, low, high, sample, m);
    return cube;
}

int sap_cube_in_range(const double *low, const double *high, double sum)
{
    double size = 0, extent = 0;
    for (int k = 0; k < 3; k++) {
        size = fmax(size, fmax(fabs(low[k]), fabs(high[k])));
        extent = fmax(extent, high[k] - low[k]);
    }
    if (!(high[0] >= low[0])) return 1; /* no particles */
    return sum * size <= DBL_MAX && 4 * sum * extent * extent <= DBL_MAX;
}

int sap_cube_is_position(const struct sap_cube *cube, double unit, const double *x)
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

struct sap_tree_units sap_cube_units(const struct sap_cube *cube, const double *low, const double *high, double eps2)
{
    struct sap_tree_units units;
    double extent = 0, edge = cube->edge;
    double from[3], to[3];
    for (int k = 0; k < 3; k++) {
        from[k] = sap_gaps_map(&cube->gaps, k, low[k]);
        to[k] = sap_gaps_map(&cube->gaps, k, high[k]);
        extent = fmax(extent, to[k] - from[k]);
    }
    const int is_small = extent < edge * SHRUNK;
    if (is_small) edge = extent > LEAST ? power_above(extent) : 0;
    for (int k = 0; k < 3; k++)
        units.middle[k] = is_small ? from[k] + 0.5 * (to[k] - from[k]) : cube->low[k] + 0.5 * cube->edge;
    units.unit = unit_of(edge, eps2);
    units.eps2 = eps2 * units.unit * units.unit < SAP_TREE_LEAST_SCALED_EPS2 ? 0 : eps2;
    units.is_point = !(edge > 0);
    return units;
}

double sap_cube_reach(const struct sap_cube *cube, const double *middle, const double *low, const double *high)
{
    const struct sap_gaps *const g = &cube->gaps;
    double size = 0;
    for (int k = 0; k < 3; k++) {
        const double below = middle[k] - sap_gaps_map(g, k, low[k]), above = sap_gaps_map(g, k, high[k]) - middle[k];
        size = fmax(size, fmax(below, above) + sap_gaps_less(g, k));
    }
    return size;
}

int sap_cube_is_length(double h, double unit) { return h >= 0 && isfinite(h) && h * unit <= SAP_TREE_FARTHEST; }

double sap_cube_scaled_length(double h, double unit)
{
    const double scaled = h * unit;
    return scaled * scaled < SAP_TREE_LEAST_SCALED_EPS2 ? 0 : scaled;
}

double sap_cube_mass_unit(double sum)
{
    int exponent;
    if (!(sum > 0) || !isfinite(sum)) return 1;
    (void)frexp(sum, &exponent);
    return ldexp(1, exponent < -900 ? 900 : -exponent);
}
