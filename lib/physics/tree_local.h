/*
 * tree_local.h - the pull of distant cells on a group of particles as one polynomial per group, written once.
 *
 * For a group with the centre c, the potential of a cell at c + y is expanded in y.  With r from c to the cell's
 * centre, u = 1/R as in tree_pair.h, and D_n the n-th derivatives of 1/R by r, a cell with mass M and second moments Q
 * gives phi(y) = sum over n of (-y)^n / n! ( M D_n + Q D_(n+2) / 2 ) of which terms to fourth order in the sizes of
 * cell and group together are kept: M to n = 4, Q to n = 2.  (Dehnen 2002, J. Comp. Phys. 179, 27, section 2, with
 * second moments that are not traceless, since the softened potential is not harmonic.)  The error is of fifth order,
 * where tree_pair.h neglects the third order of the cell's size.  Coefficients of many cells are added; the potential
 * and its gradient at y, the acceleration, are then those of one polynomial.
 *
 * Coefficients of order n are the components of a symmetric tensor: component SAP_LOCAL_AT(a, b) has n - a indices x,
 * a - b indices y and b indices z.  Those of order 0 and 1 are the sums of SAP_POT and SAP_ACC.
 *
 * u is passed as s/R with s = SAP_ROOT_SCALE, as in tree_pair.h; coefficients and sums of the polynomial have no
 * factor.
 *
 * Included after the named operations of a working type V.
 */
#ifndef SAP_PHYSICS_TREE_LOCAL_H
#define SAP_PHYSICS_TREE_LOCAL_H

#include "physics/tree_pair.h"

/*
 * The error that the polynomial of a cell may have (sap_is_distant), measured (docs/tree.md): in units of the error of
 * the cell's multipoles, and by ACCELERATION also in units of the error that the criterion allows each cell.
 */
#define SAP_DISTANT         0.5
#define SAP_DISTANT_ALLOWED 0x1p-7

/* Polynomials are for cells of at least this part of their coordinates: sixteen times what radii are padded by. */
#define SAP_DISTANT_LEAST 0x1p-16

#define SAP_LOCAL_AT(a, b) ((a) * ((a) + 1) / 2 + (b))

/* Where the coefficients of order 2, 3 and 4 begin, and how many there are. */
enum { SAP_LOCAL2 = 4, SAP_LOCAL3 = 10, SAP_LOCAL4 = 20, SAP_LOCAL = 35 };

#ifdef SAP_HAVE_OPERATIONS

#ifndef SAP_OUTLINE
#define SAP_OUTLINE SAP_INLINE
#endif

/*
 * Returns whether a polynomial is good enough by ACCELERATION, which accepts the cell at the distance `from`; other
 * arguments as of sap_is_distant.  In units of the cell's pull, terms to fourth order leave the acceleration an error
 * of the order of (r (b + r) / d^2)^2; the multipoles have one of (b / d)^3, and (b d / from^2)^2 is allowed.
 */
SAP_INLINE VM sap_is_distant_by_a(V r, V b, V d2, V from)
{
    const V large = v_set1(0x1p36); /* products of eight lengths stay in the range of float */
    const V q = v_mul(r, v_add(b, r)), b2 = v_mul(v_mul(b, b), large), b3 = v_mul(b2, b), e2 = v_mul(from, from);
    const V q2 = v_mul(v_mul(q, q), large), d4 = v_mul(v_mul(d2, large), d2);
    const V allowed = v_mul(v_mul(b2, v_set1(SAP_DISTANT_ALLOWED)), v_mul(d4, d2));
    const VM is_allowed = v_lt(v_mul(v_mul(q2, e2), v_mul(e2, large)), allowed);
    const V own = v_mul(v_mul(b3, b3), v_mul(v_set1(SAP_DISTANT * SAP_DISTANT), d2));
    return v_lt(v_mul(q2, q2), v_select(is_allowed, v_set1(1e38), own));
}

/*
 * Returns whether a cell of radius b that a group of radius r accepts acts by the polynomial; distance2: the square of
 * the distance d of their centres, size2: of that of the cell's centre from the origin of coordinates; by_a, from: as
 * of sap_is_distant_by_a.  The error of the polynomial, of the order of ((b + r) / d)^5, is below a part of the error
 * (b / d)^3 that the multipoles of the cell have anyway.  This bound is the stricter one for r < b: criteria other than
 * ACCELERATION leave large cells near, and in a cusp their errors add up.  For r far above b the polynomial has the
 * larger error, some (r / b)^1.5 times the other one, but cells are then distant only from d > (r / b)^1.5 r on.
 *
 * The expansion converges only beyond the sizes of both.  And walks pass a b that is padded by 2^-20 of coordinates
 * (tree_words.h): which errors cells as small have is not known from it, and none of them is distant.
 */
SAP_INLINE VM sap_is_distant(V r, V b, V distance2, V size2, const int by_a, V from)
{
    const V s = v_add(b, r), s2 = v_mul(s, s), b2 = v_mul(b, b), reach = v_add(s, r);
    const V part = v_mul(v_mul(v_set1(SAP_DISTANT), v_mul(b, b2)), distance2);
    const VM is_small = by_a ? sap_is_distant_by_a(r, b, distance2, from) : v_lt(v_mul(s, v_mul(s2, s2)), part);
    const VM converges = v_lt(v_mul(reach, reach), distance2);
    return vm_and(vm_and(is_small, converges), v_lt(v_mul(v_set1(SAP_DISTANT_LEAST * SAP_DISTANT_LEAST), size2), b2));
}

/* Returns the number of pairs among n > 1 equal indices. */
SAP_INLINE V sap_local_pairs(const int n) { return v_set1(n == 2 ? 1.0 : n == 3 ? 3.0 : 6.0); }

/* Computes all products of `order` components of n from those of one component less. */
SAP_INLINE void sap_local_product(const int order, const V *n, const V *from, V *to)
{
    for (int a = 0; a < order; a++)
        for (int b = 0; b <= a; b++) to[SAP_LOCAL_AT(a, b)] = v_mul(n[0], from[SAP_LOCAL_AT(a, b)]);
    for (int b = 0; b < order; b++) to[SAP_LOCAL_AT(order, b)] = v_mul(n[1], from[SAP_LOCAL_AT(order - 1, b)]);
    to[SAP_LOCAL_AT(order, order)] = v_mul(n[2], from[SAP_LOCAL_AT(order - 1, order - 1)]);
}

/* Returns x without n factors SAP_ROOT_SCALE. */
SAP_INLINE V sap_unscaled(V x, const int n)
{
    V y = x;
    for (int k = 0; k < n; k++) y = v_mul(y, v_set1(1.0 / SAP_ROOT_SCALE));
    return y;
}

/* Computes the coefficients of order 0 to 3 of a cell; arguments as of sap_pair_cell. */
SAP_OUTLINE void sap_local_low(V *c, V dx, V dy, V dz, V mass, const V *s, V t, V u)
{
    const V v = sap_unscaled(u, 1), v2 = v_mul(v, v), v3 = v_mul(v, v2), none = v_set1(0.0);
    const V n[3] = {v_mul(dx, v), v_mul(dy, v), v_mul(dz, v)};
    const V z[3] = {v_fma(s[SAP_XZ], n[2], v_fma(s[SAP_XY], n[1], v_mul(s[SAP_XX], n[0]))),
                    v_fma(s[SAP_YZ], n[2], v_fma(s[SAP_YY], n[1], v_mul(s[SAP_XY], n[0]))),
                    v_fma(s[SAP_ZZ], n[2], v_fma(s[SAP_YZ], n[1], v_mul(s[SAP_XZ], n[0])))};
    const V a = v_fma(z[2], n[2], v_fma(z[1], n[1], v_mul(z[0], n[0]))); /* 3 (r Q r) u^2 */
    const V all = v_fma(v2, v_fma(v_set1(17.5), a, v_mul(v_set1(-5.0), t)), v_mul(v_set1(3.0), mass));
    const V alike = v_fma(v2, v_fma(v_set1(-2.5), a, t), v_sub(none, mass));
    const V mu4 = v_mul(mass, v_mul(v2, v2));
    V nn[6], nnn[10];
    sap_local_product(2, n, n, nn);
    sap_local_product(3, n, nn, nnn);
    for (int q = 0; q < SAP_SUMS2; q++) c[q] = none;
    sap_pair_cell(c, dx, dy, dz, mass, s, t, u);
    c[SAP_POT] = sap_unscaled(c[SAP_POT], 1);
    for (int k = 0; k < 3; k++) c[SAP_ACC + k] = sap_unscaled(c[SAP_ACC + k], 3);
    for (int i = 0, at = 0; i < 3; i++) {
        for (int k = i; k < 3; k++, at++) {
            const V mixed = v_fma(v_set1(-5.0), v_fma(n[i], z[k], v_mul(n[k], z[i])), s[at]);
            const V sum = v_fma(v2, mixed, v_mul(all, nn[at]));
            c[SAP_LOCAL2 + at] = v_mul(v3, i == k ? v_add(sum, alike) : sum);
        }
    }
    for (int q = 0; q <= 3; q++) {
        for (int b = 0; b <= q; b++) { /* q - b indices y, b indices z, all others x */
            const int x = 3 - q, y = q - b, at = SAP_LOCAL_AT(q, b);
            V pairs = none; /* sum of the components that pairs of equal indices leave */
            if (x >= 2) pairs = v_fma(sap_local_pairs(x), n[x == 3 ? 0 : y ? 1 : 2], pairs);
            if (y >= 2) pairs = v_fma(sap_local_pairs(y), n[y == 3 ? 1 : x ? 0 : 2], pairs);
            if (b >= 2) pairs = v_fma(sap_local_pairs(b), n[b == 3 ? 2 : x ? 0 : 1], pairs);
            c[SAP_LOCAL3 + at] = v_mul(mu4, v_fma(v_set1(-3.0), pairs, v_mul(v_set1(15.0), nnn[at])));
        }
    }
}

/* Computes the coefficients of order 4, c[SAP_LOCAL - SAP_LOCAL4]; arguments as of sap_local_low. */
SAP_OUTLINE void sap_local_high(V *c, V dx, V dy, V dz, V mass, V u)
{
    const V v = sap_unscaled(u, 1), v2 = v_mul(v, v), none = v_set1(0.0);
    const V n[3] = {v_mul(dx, v), v_mul(dy, v), v_mul(dz, v)}, mu5 = v_mul(mass, v_mul(v, v_mul(v2, v2)));
    V nn[6], nnn[10], all[15];
    sap_local_product(2, n, n, nn);
    sap_local_product(3, n, nn, nnn);
    sap_local_product(4, n, nnn, all);
    for (int q = 0; q <= 4; q++) {
        for (int b = 0; b <= q; b++) {
            const int x = 4 - q, y = q - b, at = SAP_LOCAL_AT(q, b);
            const int pairings = x == 4 || y == 4 || b == 4 ? 3 : x % 2 == 0 && y % 2 == 0 && b % 2 == 0;
            V pairs = none;
            if (x >= 2) pairs = v_fma(sap_local_pairs(x), nn[at], pairs);
            if (y >= 2) pairs = v_fma(sap_local_pairs(y), nn[SAP_LOCAL_AT(q - 2, b)], pairs);
            if (b >= 2) pairs = v_fma(sap_local_pairs(b), nn[SAP_LOCAL_AT(q - 2, b - 2)], pairs);
            c[at] = v_mul(mu5, v_fma(v_set1(-15.0), pairs, v_fma(v_set1(105.0), all[at], v_set1(3.0 * pairings))));
        }
    }
}

/* Computes the product of a tensor of this order with y, a tensor of the order below. */
SAP_INLINE void sap_local_contract(const int order, const V *from, const V *y, V *to)
{
    for (int a = 0; a < order; a++) {
        for (int b = 0; b <= a; b++) {
            const int at = SAP_LOCAL_AT(a, b);
            to[at] = v_fma(from[at + a + 2], y[2], v_fma(from[at + a + 1], y[1], v_mul(from[at], y[0])));
        }
    }
}

/* Adds the potential and the acceleration at y to sum[SAP_SUMS2]. */
SAP_OUTLINE void sap_local_at(const V *c, const V *y, V *sum)
{
    V a[10], b[6], second[3], third[3], fourth[3], slope[3];
    sap_local_contract(2, c + SAP_LOCAL2, y, second);
    sap_local_contract(3, c + SAP_LOCAL3, y, b);
    sap_local_contract(2, b, y, third);
    sap_local_contract(4, c + SAP_LOCAL4, y, a);
    sap_local_contract(3, a, y, b);
    sap_local_contract(2, b, y, fourth);
    for (int k = 0; k < 3; k++) {
        const V acc = v_fma(v_set1(1.0 / 6), fourth[k], v_fma(v_set1(0.5), third[k], second[k]));
        const V pot =
            v_fma(v_set1(1.0 / 24), fourth[k], v_fma(v_set1(1.0 / 6), third[k], v_mul(v_set1(0.5), second[k])));
        sum[SAP_ACC + k] = v_add(sum[SAP_ACC + k], v_add(c[SAP_ACC + k], acc));
        slope[k] = v_add(c[SAP_ACC + k], pot);
    }
    sum[SAP_POT] =
        v_add(sum[SAP_POT], v_add(c[SAP_POT], v_fma(slope[2], y[2], v_fma(slope[1], y[1], v_mul(slope[0], y[0])))));
}

#endif
#endif
