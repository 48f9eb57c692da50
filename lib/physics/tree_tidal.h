/*
 * tree_tidal.h - the tidal tensor of a pair and of a cell, written once.
 *
 * T_ij = d a_i / d x_j is the derivative of the acceleration of a target particle by its own position.  With r, R, u, M
 * and Q as in tree_pair.h, n = u r, w = Q n, s = n w and t = tr Q, the second derivatives of the potential there are
 *     pair, cell of order 1   M u^3 (3 n_i n_j - d_ij)
 *     cell of order 2         u^3 [(3 M + u^2 (105/2 s - 15/2 t)) n_i n_j - (M + u^2 (15/2 s - 3/2 t)) d_ij
 *                                  + u^2 (3 Q_ij - 15 (w_i n_j + n_i w_j))]
 * where d_ij is 1 for i = j, else 0.  Without softening |n| = 1 and the trace is 0.  Terms in n, not in r, keep the
 * range of those of accelerations.
 *
 * With spline softening (spline.h) the acceleration of a pair is m f(r) r, and T_ij = m (e n_i n_j - f d_ij) with
 * e = - r df/dr, and q, w and h as there:
 *     e   1/h^3 q^2 (384/5 - 96 q)    q < 1/2
 *         3 f - 64 w^3 / h^3          q >= 1/2
 *         3 f                         beyond h
 *
 * Cells are accepted as for accelerations.  A multipole of degree l has a part of the tensor of its monopole that is
 * (l + 2) / 2 times its part of the acceleration, so a cell of order k has an error (k + 3) / 2 times as large.  Near
 * cells also have a larger part of the tensor than of the acceleration.  In Plummer's model of 65,536 particles, with
 * second moments, half of the relative errors are below 5.8e-4 by an opening angle of 0.7, and below 2.8e-5 by 0.3;
 * those of accelerations are below 2.1e-4 and 1.1e-5 (test/perf/tidal.py).
 *
 * Sums have the order of second moments, and the powers of SAP_ROOT_SCALE that accelerations have.
 */
#ifndef SAP_PHYSICS_TREE_TIDAL_H
#define SAP_PHYSICS_TREE_TIDAL_H

#include "physics/tree_pair.h"

#ifdef SAP_HAVE_OPERATIONS

/* Sums of a target particle: SAP_XX ... SAP_ZZ. */
enum { SAP_TIDAL_SUMS = SAP_MOMENTS2 };

/* Computes n = u r. */
SAP_INLINE void sap_tidal_direction(const V *d, V u, V *n)
{
    const V over = v_mul(u, v_set1(1.0 / SAP_ROOT_SCALE));
    for (int c = 0; c < 3; c++) n[c] = v_mul(d[c], over);
}

/* Adds x_i y_j to the sums; the product is symmetric. */
SAP_INLINE void sap_tidal_add(V *sum, const V *x, const V *y)
{
    sum[SAP_XX] = v_fma(x[0], y[0], sum[SAP_XX]);
    sum[SAP_XY] = v_fma(x[0], y[1], sum[SAP_XY]);
    sum[SAP_XZ] = v_fma(x[0], y[2], sum[SAP_XZ]);
    sum[SAP_YY] = v_fma(x[1], y[1], sum[SAP_YY]);
    sum[SAP_YZ] = v_fma(x[1], y[2], sum[SAP_YZ]);
    sum[SAP_ZZ] = v_fma(x[2], y[2], sum[SAP_ZZ]);
}

/* Subtracts a multiple of the unit tensor. */
SAP_INLINE void sap_tidal_subtract(V *sum, V across)
{
    sum[SAP_XX] = v_sub(sum[SAP_XX], across);
    sum[SAP_YY] = v_sub(sum[SAP_YY], across);
    sum[SAP_ZZ] = v_sub(sum[SAP_ZZ], across);
}

/* Adds along n_i n_j - across d_ij. */
SAP_INLINE void sap_tidal_add_along(V *sum, const V *n, V along, V across)
{
    const V x[3] = {v_mul(along, n[0]), v_mul(along, n[1]), v_mul(along, n[2])};
    sap_tidal_add(sum, x, n);
    sap_tidal_subtract(sum, across);
}

/* Adds a particle, or a cell of order 1, to sum[SAP_TIDAL_SUMS]; d: the vector of the distance, u: s/R as there. */
SAP_INLINE void sap_tidal_pair(V *sum, const V *d, V mass, V u)
{
    const struct sap_powers p = sap_powers_of(mass, u);
    V n[3];
    sap_tidal_direction(d, u, n);
    sap_tidal_add_along(sum, n, v_mul(v_set1(3.0), p.mu3), p.mu3);
}

/* Adds a cell of order 2; s = 3 Q, t = 3/2 tr Q, as of sap_pair_cell. */
SAP_INLINE void sap_tidal_cell(V *sum, const V *d, V mass, const V *s, V t, V u)
{
    const V u2 = v_mul(u, u), u3 = v_mul(u, u2);
    const V v2 = v_mul(u2, v_set1(1.0 / (SAP_ROOT_SCALE * SAP_ROOT_SCALE))), v5 = v_mul(u3, v2);
    V n[3], x[3], y[3];
    sap_tidal_direction(d, u, n);
    const V w[3] = {v_fma(s[SAP_XZ], n[2], v_fma(s[SAP_XY], n[1], v_mul(s[SAP_XX], n[0]))),
                    v_fma(s[SAP_YZ], n[2], v_fma(s[SAP_YY], n[1], v_mul(s[SAP_XY], n[0]))),
                    v_fma(s[SAP_ZZ], n[2], v_fma(s[SAP_YZ], n[1], v_mul(s[SAP_XZ], n[0])))};
    const V a = v_fma(w[2], n[2], v_fma(w[1], n[1], v_mul(w[0], n[0]))); /* 3 (n Q n) */
    const V along = v_fma(v2, v_fma(v_set1(17.5), a, v_mul(t, v_set1(-5.0))), v_mul(mass, v_set1(3.0)));
    const V across = v_fma(v2, v_fma(v_set1(2.5), a, v_mul(t, v_set1(-1.0))), mass);
    for (int c = 0; c < 3; c++) { /* half of `along`, since x_i y_j and y_i x_j are added */
        x[c] = v_mul(u3, n[c]);
        y[c] = v_fnma(v_mul(v2, v_set1(5.0)), w[c], v_mul(v_mul(along, v_set1(0.5)), n[c]));
    }
    sap_tidal_add(sum, x, y);
    sap_tidal_add(sum, y, x);
    for (int q = 0; q < SAP_TIDAL_SUMS; q++) sum[q] = v_fma(v5, s[q], sum[q]);
    sap_tidal_subtract(sum, v_mul(u3, across));
}

#ifdef SAP_PHYSICS_SPLINE_H

/* e and f of a pair, which have the powers of s/R. */
struct sap_tidal_terms {
    V along, across;
};

/* Returns the terms of a pair with the length of square h2; arguments as of sap_spline. */
SAP_INLINE struct sap_tidal_terms sap_tidal_spline(V d2, V u, V h2, struct sap_spline_terms newton)
{
    const VM within = sap_within(d2, h2);
    const V ih = sap_inverse_length(h2), ih3 = v_mul(v_mul(ih, ih), ih);
    const V q = v_mul(v_mul(v_mul(d2, u), ih), v_set1(1.0 / (SAP_ROOT_SCALE * SAP_ROOT_SCALE)));
    const V w = v_sub(v_set1(1.0), q), w3 = v_mul(v_mul(w, w), w);
    const V across = sap_spline(d2, u, h2, newton).acc, three = v_mul(v_set1(3.0), across);
    const V core = v_mul(v_mul(ih3, v_mul(q, q)), v_fma(q, v_set1(-96.0), v_set1(76.8)));
    const V shell = v_fnma(v_mul(ih3, w3), v_set1(64.0), three);
    const V inner = v_select(v_less(q, v_set1(0.5)), core, shell);
    const struct sap_tidal_terms t = {v_select(within, inner, three), across};
    return t;
}

/*
 * Adds a pair with spline softening; arguments as of sap_pair2_spline.  Pairs beyond both lengths have the bits of
 * sap_tidal_pair.
 */
SAP_INLINE void sap_tidal_pair_spline(V *sum, const V *d, V mass, V u, VM counts, V hi2, V hj2, int law)
{
    const V d2 = sap_distance2(d[0], d[1], d[2]), h2 = SAP_LARGER(hi2, hj2), zero = v_set1(0.0);
    const VM within = sap_within(d2, h2);
    const struct sap_powers p = sap_powers_of(mass, u);
    const struct sap_spline_terms newton = {u, v_mul(u, p.u2)};
    struct sap_tidal_terms t = sap_tidal_spline(d2, u, law == SAP_SPLINE_MEAN ? hi2 : h2, newton);
    V n[3];
    if (law == SAP_SPLINE_MEAN) {
        const struct sap_tidal_terms other = sap_tidal_spline(d2, u, hj2, newton);
        t.along = v_mul(v_add(t.along, other.along), v_set1(0.5));
        t.across = v_mul(v_add(t.across, other.across), v_set1(0.5));
    }
    sap_tidal_direction(d, u, n);
    sap_tidal_add_along(sum, n,
                        v_select(within, v_mul(mass, v_select(counts, t.along, zero)), v_mul(v_set1(3.0), p.mu3)),
                        v_select(within, v_mul(mass, v_select(counts, t.across, zero)), p.mu3));
}

#endif

#endif
#endif
