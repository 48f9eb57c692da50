/*
 * tree_periodic.h - the far images of a periodic cube as one polynomial of its whole volume, written once.
 *
 * Let E(d) be the potential of unit masses at all d + n, with n in Z^3, and of a uniform background that makes their
 * sum 0: Ewald's sum (Ewald 1921, Annalen der Physik 369, 253; Hernquist, Bouchet & Suto 1991, ApJS 75, 231, equation
 * 2.8, with the sign of a mass).  Walks add 1/|d + n| of the 27 images whose components of n are -1, 0 and 1.  The
 * rest, K(d) = E(d) - sum over those n of 1/|d + n|, has no singularity nearer than 2 along an axis, so K(x - y) is
 * smooth for all x and y in the cube.  It is K(x - y) = sum over k and l of K_kl T_k(x) T_l(y), with products T_k of
 * Chebyshev polynomials of three coordinates: Chebyshev interpolation, without the terms whose degrees have squares
 * above SAP_FAR_SQUARE together.  Moments of all particles are sum m T_l(y), the field has the coefficients sum over l
 * of K_kl times the moments (engine/ewald.h), and its value and derivatives at x are those of the far images.  For a
 * pair they are off by 5e-9 (median) and 1.4e-6 (pairs at opposite corners) of the pull of a mass at the distance 1.
 *
 * Polynomials take coordinates from -1 to 1: from SAP_FAR_MARGIN below the cube to as much above.
 *
 * Included after the named operations of a scalar or vector D.
 */
#ifndef SAP_PHYSICS_TREE_PERIODIC_H
#define SAP_PHYSICS_TREE_PERIODIC_H

#include "physics/numbers.h"

enum {
    SAP_FAR_DEGREES = 14, /* of a polynomial of one coordinate: 0 to 13 */
    SAP_FAR_SQUARE = 182, /* the largest sum of the squares of three degrees */
    SAP_FAR_TERMS = 1526, /* so many triples of degrees, in the order of the first, second, third */
    SAP_FAR_PAIRS = 158,  /* so many pairs of the first two */
    SAP_FAR_FIELD = SAP_FAR_PAIRS * SAP_FAR_DEGREES, /* coefficients of a field: a row for each pair; no term is 0 */
    SAP_FAR_FORCE = 4,                               /* potential and acceleration */
    SAP_FAR_TIDAL = 6,                               /* second derivatives: xx, xy, xz, yy, yz, zz */
    SAP_NEAR_IMAGES = 27, /* of which walks add the pulls; number SAP_NO_SHIFT is the cube itself */
    SAP_NO_SHIFT = 13
};

/* Particles may leave the cube by this part of its edge until the next build. */
#define SAP_FAR_MARGIN SAP_NUMBER(0.03125, 0x3FA0000000000000UL)
/* 1 / (1/2 + margin), and half of that: a coordinate of the polynomials is x / edge times the first, less the second.
 */
#define SAP_FAR_SCALE  SAP_NUMBER(0x1.E1E1E1E1E1E1Ep0, 0x3FFE1E1E1E1E1E1EUL)
#define SAP_FAR_MIDDLE SAP_NUMBER(0x1.E1E1E1E1E1E1Ep-1, 0x3FEE1E1E1E1E1E1EUL)

/* Returns component c of the shift of image k, in edges of the cube: -1, 0 or 1. */
#define SAP_SHIFT_OF(k, c) ((c) == 0 ? (k) / 9 - 1 : (c) == 1 ? (k) / 3 % 3 - 1 : (k) % 3 - 1)

#ifdef SAP_HAVE_OPERATIONS

/*
 * Where fields lie, and how far a loop over n coefficients of a row goes: accelerators keep arrays of loops of a fixed
 * length in registers, and add terms of 0.
 */
#ifdef SAP_FAR_ON_DEVICE
#define SAP_FAR_SPACE  LOCAL
#define SAP_FAR_UNROLL UNROLL
#define SAP_FAR_ROLLED ROLLED
#define SAP_FAR_END(n) SAP_FAR_DEGREES
#else
#define SAP_FAR_SPACE
#define SAP_FAR_UNROLL
#define SAP_FAR_ROLLED
#define SAP_FAR_END(n) (n)
#endif

/*
 * Returns how many third degrees, from 0 on, belong to a pair of degrees; most: the same of the pair before, or
 * SAP_FAR_DEGREES.  With a second degree of 0 so many second degrees belong to the first.
 */
SAP_INLINE int sap_far_thirds(int most, int a, int b)
{
    int n = most;
    while (n > 0 && (n - 1) * (n - 1) + b * b + a * a > SAP_FAR_SQUARE) n--;
    return n;
}

/* Returns a coordinate of the polynomials; inverse: 1 / edge of the cube. */
SAP_INLINE D sap_far_coordinate(D x, D inverse)
{
    return d_sub(d_mul(d_mul(x, inverse), d_set1(SAP_FAR_SCALE)), d_set1(SAP_FAR_MIDDLE));
}

/* Computes the polynomials of a coordinate, t[SAP_FAR_DEGREES]. */
SAP_INLINE void sap_far_values(D x, D *t)
{
    const D twice = d_add(x, x);
    t[0] = d_set1(SAP_ONE);
    t[1] = x;
    for (int k = 2; k < SAP_FAR_DEGREES; k++) t[k] = d_sub(d_mul(twice, t[k - 1]), t[k - 2]);
}

/* Computes their derivatives: T'_k = 2 x T'_(k-1) - T'_(k-2) + 2 T_(k-1). */
SAP_INLINE void sap_far_slopes(D x, const D *t, D *s)
{
    const D twice = d_add(x, x);
    s[0] = d_set1(SAP_ZERO);
    s[1] = d_set1(SAP_ONE);
    for (int k = 2; k < SAP_FAR_DEGREES; k++)
        s[k] = d_add(d_sub(d_mul(twice, s[k - 1]), s[k - 2]), d_add(t[k - 1], t[k - 1]));
}

/* Computes their second derivatives, T''_k = 2 x T''_(k-1) - T''_(k-2) + 4 T'_(k-1), from the first. */
SAP_INLINE void sap_far_bends(D x, const D *s, D *b)
{
    const D twice = d_add(x, x);
    b[0] = b[1] = d_set1(SAP_ZERO);
    for (int k = 2; k < SAP_FAR_DEGREES; k++) {
        const D both = d_add(s[k - 1], s[k - 1]);
        b[k] = d_add(d_sub(d_mul(twice, b[k - 1]), b[k - 2]), d_add(both, both));
    }
}

/* Adds a product to *to. */
SAP_INLINE void sap_far_add(D *to, D a, D b) { *to = d_fma(a, b, *to); }

/* The polynomial of a degree and its derivative at x, with those of the degree before; twice: 2 x. */
struct sap_far_run {
    D twice, value, value_before, slope, slope_before;
};

/* Begins with degree 0; those of degree -1 follow from the recurrence, so that degree 1 is exact. */
SAP_INLINE struct sap_far_run sap_far_begin(D x)
{
    const struct sap_far_run r = {d_add(x, x), d_set1(SAP_ONE), x, d_set1(SAP_ZERO), d_set1(SAP_ONE)};
    return r;
}

SAP_INLINE void sap_far_next(struct sap_far_run *r)
{
    const D value = d_sub(d_mul(r->twice, r->value), r->value_before);
    const D slope = d_add(d_sub(d_mul(r->twice, r->slope), r->slope_before), d_add(r->value, r->value));
    r->value_before = r->value, r->slope_before = r->slope;
    r->value = value, r->slope = slope;
}

/* Computes the sums over a row of n coefficients, behind which it is 0: with values, with slopes of the last
 * coordinate. */
SAP_INLINE void sap_far_row(const SAP_FAR_SPACE double *row, int n, const D *t, const D *s, D *value, D *slope)
{
    D even = d_set1(SAP_ZERO), odd = d_set1(SAP_ZERO), even_slope = d_set1(SAP_ZERO), odd_slope = d_set1(SAP_ZERO);
    (void)n;
    SAP_FAR_UNROLL
    for (int c = 0; c < SAP_FAR_END(n); c += 2) { /* even and odd degrees apart: four chains of sums, not two */
        const D f = d_set1(row[c]), g = d_set1(row[c + 1]);
        sap_far_add(&even, f, t[c]);
        sap_far_add(&even_slope, f, s[c]);
        sap_far_add(&odd, g, t[c + 1]);
        sap_far_add(&odd_slope, g, s[c + 1]);
    }
    *value = d_add(even, odd);
    *slope = d_add(even_slope, odd_slope);
}

/*
 * Computes the value of the field at x, and its gradient, in coordinates of the polynomials: sum[SAP_FAR_FORCE].  The
 * value is the potential of the far images with a minus sign.
 */
SAP_INLINE void sap_far_force(const SAP_FAR_SPACE double *field, const D *x, D *sum)
{
    D t[SAP_FAR_DEGREES], s[SAP_FAR_DEGREES];
    struct sap_far_run first = sap_far_begin(x[0]);
    sap_far_values(x[2], t);
    sap_far_slopes(x[2], t, s);
    for (int q = 0; q < SAP_FAR_FORCE; q++) sum[q] = d_set1(SAP_ZERO);
    SAP_FAR_ROLLED
    for (int a = 0, row = 0, rows = SAP_FAR_DEGREES; a < SAP_FAR_DEGREES; a++) {
        struct sap_far_run second = sap_far_begin(x[1]);
        D of_a[3] = {d_set1(SAP_ZERO), d_set1(SAP_ZERO), d_set1(SAP_ZERO)};
        rows = sap_far_thirds(rows, a, 0);
        SAP_FAR_ROLLED
        for (int b = 0, n = SAP_FAR_DEGREES; b < rows; b++, row++) {
            D value, slope;
            n = SAP_FAR_END(sap_far_thirds(n, a, b));
            sap_far_row(field + SAP_FAR_DEGREES * row, n, t, s, &value, &slope);
            sap_far_add(&of_a[0], value, second.value);
            sap_far_add(&of_a[1], value, second.slope);
            sap_far_add(&of_a[2], slope, second.value);
            sap_far_next(&second);
        }
        sap_far_add(&sum[0], of_a[0], first.value);
        sap_far_add(&sum[1], of_a[0], first.slope);
        sap_far_add(&sum[2], of_a[1], first.value);
        sap_far_add(&sum[3], of_a[2], first.value);
        sap_far_next(&first);
    }
}

/* Adds the terms of a degree b, whose sums over c are with values, slopes and bends of the third coordinate. */
SAP_INLINE void sap_far_tidal_row(D *of_a, const D *of_b, D value, D slope, D bend)
{
    sap_far_add(&of_a[0], of_b[0], value);
    sap_far_add(&of_a[1], of_b[0], slope);
    sap_far_add(&of_a[2], of_b[1], value);
    sap_far_add(&of_a[3], of_b[0], bend);
    sap_far_add(&of_a[4], of_b[1], slope);
    sap_far_add(&of_a[5], of_b[2], value);
}

/* Computes the second derivatives of the field at x, in coordinates of the polynomials: sum[SAP_FAR_TIDAL]. */
SAP_INLINE void sap_far_tidal(const SAP_FAR_SPACE double *field, const D *x, D *sum)
{
    D t[3][SAP_FAR_DEGREES], s[3][SAP_FAR_DEGREES], r[3][SAP_FAR_DEGREES];
    for (int c = 0; c < 3; c++) {
        sap_far_values(x[c], t[c]);
        sap_far_slopes(x[c], t[c], s[c]);
        sap_far_bends(x[c], s[c], r[c]);
    }
    for (int q = 0; q < SAP_FAR_TIDAL; q++) sum[q] = d_set1(SAP_ZERO);
    SAP_FAR_ROLLED
    for (int a = 0, row = 0, rows = SAP_FAR_DEGREES; a < SAP_FAR_DEGREES; a++) {
        D of_a[6]; /* derivatives by y and z: none, y, z, yy, yz, zz */
        for (int q = 0; q < 6; q++) of_a[q] = d_set1(SAP_ZERO);
        rows = sap_far_thirds(rows, a, 0);
        SAP_FAR_ROLLED
        for (int b = 0, n = SAP_FAR_DEGREES; b < rows; b++, row++) {
            D of_b[3] = {d_set1(SAP_ZERO), d_set1(SAP_ZERO), d_set1(SAP_ZERO)}; /* by z: none, z, zz */
            n = sap_far_thirds(n, a, b);
            for (int c = 0; c < n; c++) {
                const D f = d_set1(field[SAP_FAR_DEGREES * row + c]);
                sap_far_add(&of_b[0], f, t[2][c]);
                sap_far_add(&of_b[1], f, s[2][c]);
                sap_far_add(&of_b[2], f, r[2][c]);
            }
            sap_far_tidal_row(of_a, of_b, t[1][b], s[1][b], r[1][b]);
        }
        sap_far_add(&sum[0], of_a[0], r[0][a]);
        sap_far_add(&sum[1], of_a[1], s[0][a]);
        sap_far_add(&sum[2], of_a[2], s[0][a]);
        sap_far_add(&sum[3], of_a[3], t[0][a]);
        sap_far_add(&sum[4], of_a[4], t[0][a]);
        sap_far_add(&sum[5], of_a[5], t[0][a]);
    }
}

#endif
#endif
