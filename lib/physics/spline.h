/*
 * spline.h - the pair interaction with spline softening, written once; a part of order 2.
 *
 * The mass of a particle is spread by the cubic spline of Monaghan & Lattanzio 1985, A&A 149, 135, with compact support
 * h, as in Hernquist & Katz 1989, ApJS 70, 419, and Springel, Yoshida & White 2001, New Astronomy 6, 79, appendix A.
 * With q = r/h and w = 1 - q, a pair at distance r < h has
 *
 *     potential     -m/h (14/5 - 16/3 q^2 + 48/5 q^4 - 32/5 q^5)           q < 1/2
 *                   -m/r (1 - w^5 (16/5 - 32/15 w))                        q >= 1/2
 *     acceleration   m/h^3 (32/3 - 192/5 q^2 + 32 q^3) r                   q < 1/2
 *                    m/r^3 (1 - w^4 (16 - 128/5 w + 32/3 w^2)) r           q >= 1/2
 *
 * and from h on those of Newton.  The forms for q >= 1/2 are those of the papers, expanded about q = 1: single
 * precision loses nothing where the terms of the papers cancel.
 *
 * The pair takes the larger of both lengths, or the mean of the terms with each length.  A length whose square is below
 * the smallest normal number is zero, and a particle with it is a point.
 */
#ifndef SAP_PHYSICS_SPLINE_H
#define SAP_PHYSICS_SPLINE_H

#include "physics/interaction.h"

/*
 * Which length a pair takes: the values of sapporo_softening, which no other source compares; 0 is Plummer's softening.
 */
enum { SAP_SPLINE_LARGER = 1, SAP_SPLINE_MEAN = 2 };

#ifdef SAP_HAVE_OPERATIONS

/*
 * Beside the named operations, a kernel defines SAP_LARGER, SAP_NOT_LESS (true for NaN) and sap_inverse_length: s/h of
 * the length of square h2, +0 where h2 is practically zero.
 */

/* Returns whether a pair at squared distance d2 is within the length of square h2; true for NaN. */
SAP_INLINE VM sap_within(V d2, V h2) { return SAP_NOT_LESS(h2, d2); }

/* Potential and acceleration of a pair, both divided by the mass, the latter also by the vector of the distance. */
struct sap_spline_terms {
    V pot, acc;
};

/* Returns the terms of the inner half, of q = r/h and ih = s/h. */
SAP_INLINE struct sap_spline_terms sap_spline_core(V q, V ih)
{
    const V q2 = v_mul(q, q), ih3 = v_mul(v_mul(ih, ih), ih);
    const V pot = v_fma(q2, v_fma(q2, v_fma(q, v_set1(-6.4), v_set1(9.6)), v_set1(-16.0 / 3)), v_set1(2.8));
    const V acc = v_fma(q2, v_fma(q, v_set1(32.0), v_set1(-38.4)), v_set1(32.0 / 3));
    const struct sap_spline_terms t = {v_mul(ih, pot), v_mul(ih3, acc)};
    return t;
}

/* Returns the terms of the outer half; newton: the terms without softening. */
SAP_INLINE struct sap_spline_terms sap_spline_shell(V q, struct sap_spline_terms newton)
{
    const V w = v_sub(v_set1(1.0), q), w2 = v_mul(w, w), w4 = v_mul(w2, w2);
    const V pot = v_mul(v_mul(w4, w), v_fma(w, v_set1(-32.0 / 15), v_set1(3.2)));
    const V acc = v_mul(w4, v_fma(w, v_fma(w, v_set1(32.0 / 3), v_set1(-25.6)), v_set1(16.0)));
    const struct sap_spline_terms t = {v_fnma(newton.pot, pot, newton.pot), v_fnma(newton.acc, acc, newton.acc)};
    return t;
}

/*
 * Returns the terms of a pair at squared distance d2 with the length of square h2; u is s/R, +0 where R is practically
 * zero.
 */
SAP_INLINE struct sap_spline_terms sap_spline(V d2, V u, V h2, struct sap_spline_terms newton)
{
    const VM within = sap_within(d2, h2);
    const V ih = sap_inverse_length(h2);
    const V q = v_mul(v_mul(v_mul(d2, u), ih), v_set1(1.0 / (SAP_ROOT_SCALE * SAP_ROOT_SCALE)));
    const struct sap_spline_terms core = sap_spline_core(q, ih), shell = sap_spline_shell(q, newton);
    const VM inner = v_less(q, v_set1(0.5));
    const struct sap_spline_terms t = {v_select(within, v_select(inner, core.pot, shell.pot), newton.pot),
                                       v_select(within, v_select(inner, core.acc, shell.acc), newton.acc)};
    return t;
}

/*
 * Replaces the products of mass and powers of u in *p by those with spline softening, where the pair is within a
 * length; others keep theirs.  d2: squared distance; counts: the pairs that are not skipped; u: s/R, +0 of pairs that
 * are skipped or practically at zero distance; law: SAP_SPLINE_MEAN: the mean of the terms with both lengths, of
 * squares hi2 and hj2; else the larger length.
 */
SAP_INLINE void sap_spline_powers(struct sap_powers *p, V d2, V mass, V u, VM counts, V hi2, V hj2, int law)
{
    const V h2 = SAP_LARGER(hi2, hj2), zero = v_set1(0.0);
    const VM within = sap_within(d2, h2);
    const struct sap_spline_terms newton = {u, v_mul(u, p->u2)};
    struct sap_spline_terms t = sap_spline(d2, u, law == SAP_SPLINE_MEAN ? hi2 : h2, newton);
    if (law == SAP_SPLINE_MEAN) {
        const struct sap_spline_terms other = sap_spline(d2, u, hj2, newton);
        t.pot = v_mul(v_add(t.pot, other.pot), v_set1(0.5));
        t.acc = v_mul(v_add(t.acc, other.acc), v_set1(0.5));
    }
    p->mu = v_select(within, v_mul(mass, v_select(counts, t.pot, zero)), p->mu);
    p->mu3 = v_select(within, v_mul(mass, v_select(counts, t.acc, zero)), p->mu3);
}

/*
 * Adds the terms of a pair of order 2 to sum[SAP_SUMS2]; d: the vector of the distance; the others as of
 * sap_spline_powers.  Pairs beyond both lengths have the bits of sap_pair2.
 */
SAP_INLINE void sap_pair2_spline(V *sum, const V *d, V mass, V u, VM counts, V hi2, V hj2, int law)
{
    struct sap_powers p = sap_powers_of(mass, u);
    sap_spline_powers(&p, sap_distance2(d[0], d[1], d[2]), mass, u, counts, hi2, hj2, law);
    sap_add_newton(sum, d[0], d[1], d[2], p.mu, p.mu3);
}

#endif
#endif
