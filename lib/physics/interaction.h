/*
 * interaction.h - the pair interaction, written once.
 *
 * Every kernel includes it after the named operations (v_add, v_fma, ...) of its working type V and mask type VM; see
 * lib/physics/ops_scalar.h for the meaning of each operation.  The sequence of operations below is the definition of a
 * pair term: no kernel may reorder it.
 *
 * With r = x_j - x_i, v = v_j - v_i, R2 = |r|^2 + eps2 and u = 1/R:
 *     pot  += m u                               (the sign is given when results are read)
 *     acc  += m u^3 r
 *     jerk += m u^3 (v - 3 (r.v) u^2 r)         (not of order 2)
 * Makino & Aarseth 1992, PASJ 44, 141, eqs. 3 and 4.  Orders 6 and 8 go on with a = a_j - a_i and j = jerk_j - jerk_i:
 *     alpha = (r.v) u^2,  beta = (v.v + r.a) u^2 + alpha^2,
 *     gamma = (3 v.a + r.j) u^2 + alpha (3 beta - 4 alpha^2)
 *     J = v - 3 alpha r,  S = a - 6 alpha J - 3 beta r,  C = j - 9 alpha S - 9 beta J - 3 gamma r
 *     jerk += m u^3 J,  snap += m u^3 S,  crackle += m u^3 C
 * Nitadori & Makino 2008, New Astronomy 13, 498, section 2.
 *
 * v_root returns s u with s = SAP_ROOT_SCALE.  The factor s saves a multiplication if the Newton step would end in one;
 * powers of s are divided out when results are read.
 */
#ifndef SAP_PHYSICS_INTERACTION_H
#define SAP_PHYSICS_INTERACTION_H

/* Sums of one i-particle (or one per lane): order 2 has pot and acc, order 4 jerk too, 6 snap too, 8 crackle too. */
enum { SAP_POT, SAP_ACC, SAP_JERK = SAP_ACC + 3, SAP_SNAP = SAP_JERK + 3, SAP_CRACKLE = SAP_SNAP + 3 };
enum { SAP_SUMS2 = SAP_JERK, SAP_SUMS4 = SAP_SNAP, SAP_SUMS6 = SAP_CRACKLE, SAP_SUMS8 = SAP_CRACKLE + 3 };

#ifdef SAP_HAVE_OPERATIONS

/* The sums of each quantity must be multiplied by these factors, because they contain powers of SAP_ROOT_SCALE. */
#define SAP_SCALE_POT (1.0 / SAP_ROOT_SCALE)
#define SAP_SCALE_ACC (1.0 / (SAP_ROOT_SCALE * SAP_ROOT_SCALE * SAP_ROOT_SCALE))

/* Squared unsoftened distance. */
SAP_INLINE V sap_distance2(V dx, V dy, V dz) { return v_fma(dx, dx, v_fma(dy, dy, v_mul(dz, dz))); }

/* Products of m and u = s/R.  u is +0 for pairs that are skipped, so all products are zeros. */
struct sap_powers {
    V mu, u2, mu3;
};

SAP_INLINE struct sap_powers sap_powers_of(V mass, V u)
{
    struct sap_powers p;
    p.mu = v_mul(mass, u);
    p.u2 = v_mul(u, u);
    p.mu3 = v_mul(p.mu, p.u2);
    return p;
}

/* Adds potential and acceleration. */
SAP_INLINE void sap_add_newton(V *sum, V dx, V dy, V dz, V mu, V mu3)
{
    sum[SAP_POT] = v_add(sum[SAP_POT], mu);
    sum[SAP_ACC + 0] = v_fma(mu3, dx, sum[SAP_ACC + 0]);
    sum[SAP_ACC + 1] = v_fma(mu3, dy, sum[SAP_ACC + 1]);
    sum[SAP_ACC + 2] = v_fma(mu3, dz, sum[SAP_ACC + 2]);
}

/* Adds the terms of one pair of order 2 to sum[SAP_SUMS2]. */
SAP_INLINE void sap_pair2(V *sum, V dx, V dy, V dz, V mass, V u)
{
    const struct sap_powers p = sap_powers_of(mass, u);
    sap_add_newton(sum, dx, dy, dz, p.mu, p.mu3);
}

/* Adds the terms of one pair of order 4 to sum[SAP_SUMS4]. */
SAP_INLINE void sap_pair4(V *sum, V dx, V dy, V dz, V dvx, V dvy, V dvz, V mass, V u)
{
    const struct sap_powers p = sap_powers_of(mass, u);
    const V rv = v_fma(dz, dvz, v_fma(dy, dvy, v_mul(dx, dvx)));
    const V w = v_mul(v_mul(rv, p.u2), v_set1(3.0 / (SAP_ROOT_SCALE * SAP_ROOT_SCALE)));
    sap_add_newton(sum, dx, dy, dz, p.mu, p.mu3);
    sum[SAP_JERK + 0] = v_fma(p.mu3, v_fnma(w, dx, dvx), sum[SAP_JERK + 0]);
    sum[SAP_JERK + 1] = v_fma(p.mu3, v_fnma(w, dy, dvy), sum[SAP_JERK + 1]);
    sum[SAP_JERK + 2] = v_fma(p.mu3, v_fnma(w, dz, dvz), sum[SAP_JERK + 2]);
}

SAP_INLINE V sap_dot(const V *a, const V *b) { return v_fma(a[2], b[2], v_fma(a[1], b[1], v_mul(a[0], b[0]))); }

/* a.b + c */
SAP_INLINE V sap_dot_add(const V *a, const V *b, V c)
{
    return v_fma(a[2], b[2], v_fma(a[1], b[1], v_fma(a[0], b[0], c)));
}

/* Three times alpha and beta, J and S of one pair, for both higher orders. */
struct sap_recursion {
    V alpha3, beta3, jerk[3], snap[3];
};

SAP_INLINE struct sap_recursion sap_recur(const V *r, const V *v, const V *a, V u2)
{
    struct sap_recursion q;
    const V iu2 = v_mul(u2, v_set1(3.0 / (SAP_ROOT_SCALE * SAP_ROOT_SCALE))); /* 3/R^2 */
    q.alpha3 = v_mul(sap_dot(r, v), iu2);
    q.beta3 = v_fma(sap_dot_add(r, a, sap_dot(v, v)), iu2, v_mul(v_mul(q.alpha3, q.alpha3), v_set1(1.0 / 3.0)));
    const V alpha6 = v_add(q.alpha3, q.alpha3);
    for (int k = 0; k < 3; k++) {
        q.jerk[k] = v_fnma(q.alpha3, r[k], v[k]);
        q.snap[k] = v_fnma(q.beta3, r[k], v_fnma(alpha6, q.jerk[k], a[k]));
    }
    return q;
}

SAP_INLINE void sap_add_three(V *sum, V mu3, const V *x)
{
    for (int k = 0; k < 3; k++) sum[k] = v_fma(mu3, x[k], sum[k]);
}

/* Adds the terms of one pair of order 6 to sum[SAP_SUMS6]: r, v and a are differences. */
SAP_INLINE void sap_pair6(V *sum, const V *r, const V *v, const V *a, V mass, V u)
{
    const struct sap_powers p = sap_powers_of(mass, u);
    const struct sap_recursion q = sap_recur(r, v, a, p.u2);
    sap_add_newton(sum, r[0], r[1], r[2], p.mu, p.mu3);
    sap_add_three(sum + SAP_JERK, p.mu3, q.jerk);
    sap_add_three(sum + SAP_SNAP, p.mu3, q.snap);
}

/* Adds the terms of one pair of order 8 to sum[SAP_SUMS8]: r, v, a and j are differences. */
SAP_INLINE void sap_pair8(V *sum, const V *r, const V *v, const V *a, const V *j, V mass, V u)
{
    const struct sap_powers p = sap_powers_of(mass, u);
    const struct sap_recursion q = sap_recur(r, v, a, p.u2);
    const V three = v_set1(3.0), iu2 = v_mul(p.u2, v_set1(3.0 / (SAP_ROOT_SCALE * SAP_ROOT_SCALE)));
    /* 3 gamma = (3 v.a + r.j) 3/R^2 + 3 alpha (3 beta - 4/9 (3 alpha)^2) */
    const V turn = v_fnma(v_mul(q.alpha3, q.alpha3), v_set1(4.0 / 9.0), q.beta3);
    const V gamma3 = v_fma(sap_dot_add(r, j, v_mul(three, sap_dot(v, a))), iu2, v_mul(q.alpha3, turn));
    const V alpha9 = v_mul(three, q.alpha3), beta9 = v_mul(three, q.beta3);
    V crackle[3];
    for (int k = 0; k < 3; k++)
        crackle[k] = v_fnma(gamma3, r[k], v_fnma(beta9, q.jerk[k], v_fnma(alpha9, q.snap[k], j[k])));
    sap_add_newton(sum, r[0], r[1], r[2], p.mu, p.mu3);
    sap_add_three(sum + SAP_JERK, p.mu3, q.jerk);
    sap_add_three(sum + SAP_SNAP, p.mu3, q.snap);
    sap_add_three(sum + SAP_CRACKLE, p.mu3, crackle);
}

#endif
#endif
