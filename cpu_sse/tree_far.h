/*
 * tree_far.h - the far images of a periodic cube in the tree's kernels (physics/tree_periodic.h), in double alone. A
 * part of tree_kernel.h.
 *
 * A lane is a particle. What a lane gets does not depend on the other lanes.
 */
#ifndef SAP_TREE_FAR_H
#define SAP_TREE_FAR_H

#if !defined(SAP_KERNEL_DP)
#define tree_far_moments NULL
#define tree_far_forces  NULL
#define tree_far_tensors NULL
#else
#include "physics/tree_periodic.h"

enum { FAR_TILE = 64, FAR_VECTORS = FAR_TILE / D_LANES };

/* The polynomials of a tile of particles; those of the first axis are multiplied by masses. */
struct tree_far_tile {
    _Alignas(64) double value[3][SAP_FAR_DEGREES][FAR_TILE];
};

/* Loads coordinate c of up to D_LANES particles; lanes behind them repeat the first. */
SAP_INLINE D tree_far_coordinate(const double (*x)[4], const int *which, int n, int c, double inverse)
{
    _Alignas(64) double of[D_LANES];
    for (int l = 0; l < D_LANES; l++) of[l] = x[which ? which[l < n ? l : 0] : l < n ? l : 0][c];
    return sap_far_coordinate(d_load(of), d_set1(inverse));
}

/* Computes the polynomials of a tile of n particles; those behind them have no mass. */
SAP_INLINE void tree_far_fill(const double (*x)[4], int n, double inverse, struct tree_far_tile *tile)
{
    for (int v = 0; v < FAR_VECTORS; v++) {
        const int from = v * D_LANES, some = n - from > 0 ? n - from : 0;
        _Alignas(64) double mass[D_LANES];
        for (int l = 0; l < D_LANES; l++) mass[l] = l < some ? x[from + l][3] : 0;
        for (int c = 0; c < 3; c++) {
            D t[SAP_FAR_DEGREES];
            sap_far_values(tree_far_coordinate(some > 0 ? x + from : x, NULL, some, c, inverse), t);
            for (int k = 0; k < SAP_FAR_DEGREES; k++)
                d_store(tile->value[c][k] + from, c == 0 ? d_mul(t[k], d_load(mass)) : t[k]);
        }
    }
}

/* Returns the sum of the lanes of a vector. */
SAP_INLINE double tree_far_total(D x)
{
    _Alignas(64) double of[D_LANES];
    double sum = 0;
    d_store(of, x);
    for (int l = 0; l < D_LANES; l++) sum += of[l];
    return sum;
}

/* Adds the moments of a tile. */
static void tree_far_add(const struct tree_far_tile *tile, double *sum)
{
    for (int a = 0, at = 0; a < SAP_FAR_DEGREES; a++)
        for (int b = 0, n = SAP_FAR_DEGREES; b < SAP_FAR_DEGREES; b++) {
            D both[FAR_VECTORS];
            n = sap_far_thirds(n, a, b);
            for (int v = 0; v < FAR_VECTORS; v++)
                both[v] = d_mul(d_load(tile->value[0][a] + v * D_LANES), d_load(tile->value[1][b] + v * D_LANES));
            for (int c = 0; c < n; c++, at++) {
                D total = d_set1(0.0);
                for (int v = 0; v < FAR_VECTORS; v++)
                    total = d_fma(both[v], d_load(tile->value[2][c] + v * D_LANES), total);
                sum[at] += tree_far_total(total);
            }
        }
}

static void tree_far_moments(const double (*x)[4], int n, double inverse, double *sum)
{
    struct tree_far_tile tile;
    for (int from = 0; from < n; from += FAR_TILE) {
        tree_far_fill(x + from, n - from < FAR_TILE ? n - from : FAR_TILE, inverse, &tile);
        tree_far_add(&tile, sum);
    }
}

/* Writes `width` results of each of n lanes. */
SAP_INLINE void tree_far_write(const D *sum, int width, int n, double *out)
{
    _Alignas(64) double of[SAP_FAR_TIDAL][D_LANES];
    for (int q = 0; q < width; q++) d_store(of[q], sum[q]);
    for (int l = 0; l < n; l++)
        for (int q = 0; q < width; q++) out[l * width + q] = of[q][l];
}

/* Computes `width` results at each of n particles: SAP_FAR_FORCE or SAP_FAR_TIDAL. */
SAP_INLINE void tree_far_results(const double *field, const double (*x)[4], const int *which, int n, double inverse,
                                 const int width, double *out)
{
    for (int from = 0; from < n; from += D_LANES) {
        const int some = n - from < D_LANES ? n - from : D_LANES;
        D at[3], sum[SAP_FAR_TIDAL];
        for (int c = 0; c < 3; c++) at[c] = tree_far_coordinate(x, which + from, some, c, inverse);
        if (width == SAP_FAR_TIDAL)
            sap_far_tidal(field, at, sum);
        else
            sap_far_force(field, at, sum);
        tree_far_write(sum, width, some, out + (ptrdiff_t)from * width);
    }
}

static void tree_far_forces(const double *field, const double (*x)[4], const int *which, int n, double inverse,
                            double *out)
{
    tree_far_results(field, x, which, n, inverse, SAP_FAR_FORCE, out);
}

static void tree_far_tensors(const double *field, const double (*x)[4], const int *which, int n, double inverse,
                             double *out)
{
    tree_far_results(field, x, which, n, inverse, SAP_FAR_TIDAL, out);
}
#endif

#endif
