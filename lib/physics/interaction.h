/*
 * interaction.h - the pair interaction, written once.
 *
 * Included by every kernel after the named operations (v_add, v_fma, ...) of
 * its working type V and mask type VM; see cpu_sse/ops_scalar.h for what each
 * operation means.  The sequence of operations below is the definition of a
 * pair term: no kernel may reorder it.
 *
 * With r = x_j - x_i, v = v_j - v_i, R2 = |r|^2 + eps2 and u = 1/R:
 *     pot  += m u                               (the sign is given when results are read)
 *     acc  += m u^3 r
 *     jerk += m u^3 (v - 3 (r.v) u^2 r)         (not of order 2)
 * Makino & Aarseth 1992, PASJ 44, 141, eqs. 3 and 4.
 *
 * v_root gives s u with s = SAP_ROOT_SCALE, which saves a multiplication where
 * the Newton step would end in one; powers of s are taken out when results are read.
 */
#ifndef SAP_PHYSICS_INTERACTION_H
#define SAP_PHYSICS_INTERACTION_H

/* Sums of one i-particle (or one a lane): order 2 has pot and acc, order 4 has jerk too. */
enum { SAP_POT, SAP_ACC, SAP_JERK = SAP_ACC + 3, SAP_SUMS2 = SAP_JERK, SAP_SUMS4 = SAP_JERK + 3 };

#ifdef SAP_HAVE_OPERATIONS

/* s u^... with s = SAP_ROOT_SCALE: what the sums of each quantity must be divided by. */
#define SAP_SCALE_POT (1.0 / SAP_ROOT_SCALE)
#define SAP_SCALE_ACC (1.0 / (SAP_ROOT_SCALE * SAP_ROOT_SCALE * SAP_ROOT_SCALE))

/* Squared unsoftened distance. */
SAP_INLINE V sap_distance2(V dx, V dy, V dz) { return v_fma(dx, dx, v_fma(dy, dy, v_mul(dz, dz))); }

/* Products of m and u = s/R, which is already +0 for pairs that do not count: then all of them are zeros. */
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

#endif
#endif
