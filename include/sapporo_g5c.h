/*
 * sapporo_g5c.h - the calls of Phantom-GRAPE for cells with quadrupole moments, as libg5c offers them.
 *
 * Link -lg5c -lpg5: the softening is that of g5_set_eps_to_all.  Tree codes sum particles by the GRAPE-5 calls, and
 * cells by these.  With r = x_j - x_i, R2 = |r|^2 + eps^2, G = 1, mass m and traceless moments q of each cell,
 * q_kl = sum m (3 d_k d_l - d^2 delta_kl) over its particles, d from its centre of mass:
 *
 *     p = - sum (m_j / R + r.q_j.r / (2 R^5))
 *
 * and a is minus its gradient.  The potential p is negative, unlike that of GRAPE-5 calls.  Forces are computed in
 * `sp`, as those of GRAPE-5 calls, or as SAPPORO_PRECISION says.
 *
 * Each device devid, from 0 to 65535, has cells and a number of its own.  Threads that use different devices do not
 * wait for each other.  Functions return 0, or -1 with a message; forces also 1, if some targets are not finite.  After
 * a failure all rows are NaN.  Inputs are copied.
 */
#ifndef SAPPORO_G5C_H
#define SAPPORO_G5C_H

#include "sapporo_g5.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets how many cells take part: addresses 0 to n-1; cells that were not loaded contribute nothing. */
SAPPORO_API int g5c_set_nMC(int devid, int n);

/*
 * Loads cells adr to adr+nj-1 from the same elements of xj, mj and qj, which has xx, xy, xz, yy, yz, zz.  Other cells
 * stay.  After a bad argument nothing changes.
 */
SAPPORO_API int g5c_set_xmjMC(int devid, int adr, int nj, double xj[][3], double mj[], double qj[][6]);

/* Computes the force on ni positions x and writes a and p.  Note that ni comes last. */
SAPPORO_API int g5c_calculate_force_on_xMC(int devid, double x[][3], double a[][3], double p[], int ni);

#ifdef __cplusplus
}
#endif

#endif
