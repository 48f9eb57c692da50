/*
 * tree_pair.h - the pull of a cell on a particle, written once.
 *
 * Included after the named operations of a working type V.  With r from the particle to the cell's centre, R2 = |r|^2 +
 * eps2, u = 1/R, M the mass and Q the second moments sum m s s about the centre, the terms to second order in s are
 *     pot += M u - tr(Q)/2 u^3 + 3/2 (r Q r) u^5
 *     acc += u^3 [ (M + u^2 (15/2 (r Q r) u^2 - 3/2 tr Q)) r - 3 u^2 Q r ]
 * (the sign of the potential is given when results are read).  The first order is 0 about the centre of mass.  The
 * moments are plain, not traceless, since the softened potential is not harmonic.  Particles, and cells of order 1, use
 * sap_pair2 of interaction.h.
 *
 * Cells are passed with S = 3 Q and T = 3/2 tr Q.  u is s/R with s = SAP_ROOT_SCALE, and the sums contain its powers,
 * as in interaction.h.
 */
#ifndef SAP_PHYSICS_TREE_PAIR_H
#define SAP_PHYSICS_TREE_PAIR_H

#include "physics/interaction.h"
#include "physics/tree_cell.h"

#ifdef SAP_HAVE_OPERATIONS

/* Adds a cell of order 2 to sum[SAP_SUMS2]; s[SAP_MOMENTS2]. */
SAP_INLINE void sap_pair_cell(V *sum, V dx, V dy, V dz, V mass, const V *s, V t, V u)
{
    const V u2 = v_mul(u, u);
    const V v2 = v_mul(u2, v_set1(1.0 / (SAP_ROOT_SCALE * SAP_ROOT_SCALE))); /* 1/R^2 */
    const V u3 = v_mul(u, u2);
    const V wx = v_fma(s[SAP_XZ], dz, v_fma(s[SAP_XY], dy, v_mul(s[SAP_XX], dx)));
    const V wy = v_fma(s[SAP_YZ], dz, v_fma(s[SAP_YY], dy, v_mul(s[SAP_XY], dx)));
    const V wz = v_fma(s[SAP_ZZ], dz, v_fma(s[SAP_YZ], dy, v_mul(s[SAP_XZ], dx)));
    const V a = v_mul(v2, v_fma(wz, dz, v_fma(wy, dy, v_mul(wx, dx)))); /* 3 (r Q r) u^2 */
    const V pot = v_fma(v2, v_fma(v_set1(0.5), a, v_mul(t, v_set1(-1.0 / 3.0))), mass);
    const V f = v_mul(u3, v_fma(v2, v_fma(v_set1(2.5), a, v_mul(t, v_set1(-1.0))), mass)), u5 = v_mul(u3, v2);
    sum[SAP_POT] = v_fma(u, pot, sum[SAP_POT]);
    sum[SAP_ACC + 0] = v_fnma(u5, wx, v_fma(f, dx, sum[SAP_ACC + 0]));
    sum[SAP_ACC + 1] = v_fnma(u5, wy, v_fma(f, dy, sum[SAP_ACC + 1]));
    sum[SAP_ACC + 2] = v_fnma(u5, wz, v_fma(f, dz, sum[SAP_ACC + 2]));
}

#endif
#endif
