/*
 * sapporo_nbody6.h - the GPU interfaces of NBODY6: that of NBODY6++GPU, as libnbody6pp_gpu offers it, and, with
 * SAPPORO_NBODY6_AARSETH defined, that of Aarseth's NBODY6 and NBODY7, as libnbody6_gpu and libnbody7_gpu do.
 *
 * Link -lnbody6pp_gpu -lsapporo, or -lnbody6_gpu -lsapporo, or -lnbody7_gpu -lsapporo.  Both generations use the same
 * names with other arguments, so a program has one of them.  All names are Fortran's: a trailing underscore, every
 * argument by reference, arrays contiguous (x(3,n) in Fortran), logical units none.  docs/nbody6.md tells how to build
 * the codes against them.
 *
 * With r = x_j - x_i, v = v_j - v_i, G = 1 and no softening:
 *   - acc = sum m r / r^3, jrk = sum m (v - 3 (r.v) r / r^2) / r^3, pot = + sum m / r, POSITIVE; pairs at zero distance
 *     are skipped;
 *   - regular forces leave out the neighbour sphere: j is in it if min(r^2, |r + dtr v|^2) < h2, strictly, or if it is
 *     below m_j h2 where radii are weighted by mass.
 * Nothing has a return value: errors are told on stderr (SAPPORO_VERBOSE), and rows of a force that failed are NaN.
 * Particles that could not be sent or stored make forces with them fail until they come again.
 */
#ifndef SAPPORO_NBODY6_H
#define SAPPORO_NBODY6_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- regular force and neighbour lists --------------------------------------------- */

#if defined(SAPPORO_NBODY6_AARSETH)
/* Opens for nbmax particles; more are taken, too. */
SAPPORO_API void gpunb_open_(const int *nbmax);
SAPPORO_API void gpunb_profile_(void);
#else
/* The rank of this process, before opening: processes of a node share its devices by it. */
SAPPORO_API void gpunb_devinit_(const int *irank);
/* Opens for nbmax particles; more are taken, too. */
SAPPORO_API void gpunb_open_(const int *nbmax, const int *irank);
/* Tells on stderr what was computed since the last call, and how fast. */
SAPPORO_API void gpunb_profile_(const int *irank);
#endif
SAPPORO_API void gpunb_close_(void);

/* Copies nj particles, positions and velocities at the time of the forces.  If it fails, forces are NaN until it
 * succeeds. */
SAPPORO_API void gpunb_send_(const int *nj, const double mj[], const double xj[][3], const double vj[][3]);

/*
 * Regular forces on ni i-particles of any number.  Row i of the lists begins at list + i * lmax: the number of members
 * n, then their addresses from 0 on, ascending; the particle itself is one unless its sphere has no radius.  If there
 * are more than nnbmax, or than the row holds, there is -n and the rest of the row stays as it was; forces are right
 * all the same.  With lmax < 1 there is no room for lists: acc, jrk and pot are NaN.
 *
 * Which radii are weighted by mass: those of calls with m_flag other than 0; all of libnbody7_gpu; in libnbody6_gpu
 * those that the lists of the first call after gpunb_open point to (docs/nbody6.md).  SAPPORO_NBODY6_RADII, `plain` or
 * `mass`, decides for the two libraries without m_flag.
 */
#if defined(SAPPORO_NBODY6_AARSETH)
SAPPORO_API void gpunb_regf_(const int *ni, const double h2[], const double dtr[], const double xi[][3],
                             const double vi[][3], double acc[][3], double jrk[][3], double pot[], const int *lmax,
                             const int *nnbmax, int *list);
#else
SAPPORO_API void gpunb_regf_(const int *ni, const double h2[], const double dtr[], const double xi[][3],
                             const double vi[][3], double acc[][3], double jrk[][3], double pot[], const int *lmax,
                             const int *nnbmax, int *list, const int *m_flag);
#endif

/* ---- potential ------------------------------------------------------------------------ */

/* pot[k] of particle istart - 1 + k out of n, in double precision; nothing has to be opened. */
#if defined(SAPPORO_NBODY6_AARSETH)
SAPPORO_API void gpupot_(const int *n, const double m[], const double x[][3], double pot[]);
#else
SAPPORO_API void gpupot_(const int *irank, const int *istart, const int *ni, const int *n, const double m[],
                         const double x[][3], double pot[]);
#endif

/* ---- irregular force --------------------------------------------------------------------- */

/*
 * Particles have numbers from 1 to nmax.  acc2 is half the acceleration, jrk6 a sixth of the jerk, time that of the
 * particle.  A list begins with its length n, numbers follow; n <= lmax.  set_jp and set_list may be called by several
 * threads at once.  firr predicts both sides to ti and sums over the list of each i; nnbid is the number of the
 * nearest, 0 if the list is empty.
 */
#if defined(SAPPORO_NBODY6_AARSETH)
SAPPORO_API void gpuirr_open_(const int *nmax, const int *lmax);
SAPPORO_API void gpuirr_close_(void);
SAPPORO_API void gpuirr_set_jp_(const int *addr, const double pos[3], const double vel[3], const double acc2[3],
                                const double jrk6[3], const double *mass, const double *time);
SAPPORO_API void gpuirr_set_list_(const int *addr, const int *nblist);
/* The time of the forces that follow; which particles are named does not matter, all are predicted as needed. */
SAPPORO_API void gpuirr_pred_all_(const int *js, const int *je, const double *ti);
SAPPORO_API void gpuirr_pred_act_(const int *ni, const int addr[], const double *ti);
SAPPORO_API void gpuirr_firr_(const int *addr, double acc[3], double jrk[3]);
SAPPORO_API void gpuirr_firr_vec_(const int *ni, const int addr[], double acc[][3], double jrk[][3]);
#else
SAPPORO_API void irr_simd_open_(const int *nmax, const int *lmax, const int *rank);
SAPPORO_API void irr_simd_close_(const int *rank);
SAPPORO_API void irr_simd_profile_(const int *rank);
SAPPORO_API void irr_simd_set_jp_(const int *addr, const double pos[3], const double vel[3], const double acc2[3],
                                  const double jrk6[3], const double *mass, const double *time);
SAPPORO_API void irr_simd_set_list_(const int *addr, const int *nblist);
SAPPORO_API void irr_simd_firr_vec_(const double *ti, const int *ni, const int addr[], double acc[][3], double jrk[][3],
                                    int nnbid[]);
#endif

#ifdef __cplusplus
}
#endif

#endif
