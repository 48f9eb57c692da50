/*
 * sapporo_nbody6.h - the GPU interfaces of NBODY6: that of NBODY6++GPU, as libnbody6pp_gpu offers it, and, with
 * SAPPORO_NBODY6_AARSETH defined, that of Aarseth's NBODY6 and NBODY7, as libnbody6_gpu and libnbody7_gpu offer it.
 * With SAPPORO_NBODY6_2010 defined, it is that of libnbody6_2010_gpu, for versions of NBODY6 until 2010: the same, but
 * for gpunb_regf_ without dtr.
 *
 * Link -lsapporo behind one of these libraries: all generations use the same names with different arguments.  All names
 * are Fortran's: a trailing underscore, every argument by reference, arrays contiguous (x(3,n) in Fortran).
 * docs/nbody6.md says how to build the codes.
 *
 * Formulas, with r = x_j - x_i, v = v_j - v_i, G = 1, any consistent units and no softening:
 *
 *     acc = sum m r / r^3
 *     jrk = sum m (v - 3 (r.v) r / r^2) / r^3
 *     pot = + sum m / r
 *
 * The potential is positive.  Pairs at zero distance are skipped.  Regular forces leave out the neighbour sphere of the
 * i-particle.  j is in the sphere if min(r^2, |r + dtr v|^2) < h2, strictly, or < m_j h2 where radii are weighted by
 * mass.
 *
 * The irregular force has names that begin with gpuirr_ in Aarseth's codes and with irr_simd_ in NBODY6++GPU.  Its
 * particles have numbers from 1 to nmax.  Several threads may call set_jp and set_list at once.
 *
 * No function has a return value.  Errors are reported on stderr (SAPPORO_VERBOSE), and the rows of a force that failed
 * are NaN.  Forces with particles that could not be sent or stored fail until these are sent or stored again.
 */
#ifndef SAPPORO_NBODY6_H
#define SAPPORO_NBODY6_H

#include "sapporo.h"

#if defined(SAPPORO_NBODY6_2010) && !defined(SAPPORO_NBODY6_AARSETH)
#define SAPPORO_NBODY6_AARSETH 1
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- regular force and neighbour lists --------------------------------------------- */

#if defined(SAPPORO_NBODY6_AARSETH)
/*
 * Opens the regular force.  nbmax is ignored: memory grows with the particles.  An open regular force keeps its
 * particles, with a message.
 */
SAPPORO_API void gpunb_open_(const int *nbmax);

/* Prints on stderr what regular forces computed since the last profile, and how fast; SAPPORO_VERBOSE=0: nothing. */
SAPPORO_API void gpunb_profile_(void);
#else
/* Does nothing: gpunb_open_ chooses the devices of a rank. */
SAPPORO_API void gpunb_devinit_(const int *irank);

/*
 * Opens the regular force of the process with rank `irank`: processes of a node share its devices by their ranks.
 * nbmax is ignored: memory grows with the particles.  An open regular force keeps its particles, with a message.
 */
SAPPORO_API void gpunb_open_(const int *nbmax, const int *irank);

/*
 * Prints on stderr, for rank `irank`, what regular forces computed since the last profile, and how fast;
 * SAPPORO_VERBOSE=0: nothing.
 */
SAPPORO_API void gpunb_profile_(const int *irank);
#endif

/* Closes the regular force and frees its particles.  If it is not open, there is a message. */
SAPPORO_API void gpunb_close_(void);

/*
 * Copies nj particles: masses mj, positions xj and velocities vj at the time of the forces.  They replace those of the
 * last call.  If the call fails, every row of gpunb_regf_ is NaN until a call succeeds.
 */
SAPPORO_API void gpunb_send_(const int *nj, const double mj[], const double xj[][3], const double vj[][3]);

#if defined(SAPPORO_NBODY6_AARSETH)
/*
 * Computes regular forces on ni i-particles, any number, at positions xi with velocities vi.  h2 are squared radii of
 * their neighbour spheres, dtr times ahead.  acc, jrk and pot get the sums over all particles outside the spheres.
 *
 * Row i of the lists begins at list + i * lmax: the number n of members, then their addresses from 0 on, ascending.
 * The particle itself is a member unless its radius is 0.  With more than nnbmax members, or more than the row holds,
 * the row begins with -n and its rest stays as it was; the forces are right all the same.  With lmax < 1 there is no
 * room for lists: acc, jrk and pot are NaN.  After any failure all forces are NaN and all lists empty.
 *
 * In libnbody7_gpu all radii are weighted by mass.  In libnbody6_gpu the lists of the first call after gpunb_open_
 * decide (docs/nbody6.md).  SAPPORO_NBODY6_RADII, `plain` or `mass`, decides for both.
 *
 * In libnbody6_2010_gpu there is no dtr: it counts as 0.  Radii are plain there, unless the variable says otherwise.
 */
#if defined(SAPPORO_NBODY6_2010)
SAPPORO_API void gpunb_regf_(const int *ni, const double h2[], const double xi[][3], const double vi[][3],
                             double acc[][3], double jrk[][3], double pot[], const int *lmax, const int *nnbmax,
                             int *list);
#else
SAPPORO_API void gpunb_regf_(const int *ni, const double h2[], const double dtr[], const double xi[][3],
                             const double vi[][3], double acc[][3], double jrk[][3], double pot[], const int *lmax,
                             const int *nnbmax, int *list);
#endif
#else
/*
 * Computes regular forces on ni i-particles, any number, at positions xi with velocities vi.  h2 are squared radii of
 * their neighbour spheres, dtr times ahead.  acc, jrk and pot get the sums over all particles outside the spheres.
 *
 * Row i of the lists begins at list + i * lmax: the number n of members, then their addresses from 0 on, ascending.
 * The particle itself is a member unless its radius is 0.  With more than nnbmax members, or more than the row holds,
 * the row begins with -n and its rest stays as it was; the forces are right all the same.  With lmax < 1 there is no
 * room for lists: acc, jrk and pot are NaN.  After any failure all forces are NaN and all lists empty.
 *
 * Radii are weighted by mass if m_flag is not 0; NULL counts as 0.
 */
SAPPORO_API void gpunb_regf_(const int *ni, const double h2[], const double dtr[], const double xi[][3],
                             const double vi[][3], double acc[][3], double jrk[][3], double pot[], const int *lmax,
                             const int *nnbmax, int *list, const int *m_flag);
#endif

/* ---- potential ------------------------------------------------------------------------ */

#if defined(SAPPORO_NBODY6_AARSETH)
/*
 * Writes pot[k], the potential at each of the n particles from all others; nothing has to be opened.  The precision is
 * double unless SAPPORO_PRECISION names one.  After an error all rows are NaN.
 */
SAPPORO_API void gpupot_(const int *n, const double m[], const double x[][3], double pot[]);
#else
/*
 * Writes pot[k], k = 0 .. ni-1, the potential at particle number istart + k (from 1 on) from all other ones of n;
 * nothing has to be opened.  The precision is double unless SAPPORO_PRECISION names one.  After an error, as numbers
 * outside 1 to n, all ni rows are NaN.
 */
SAPPORO_API void gpupot_(const int *irank, const int *istart, const int *ni, const int *n, const double m[],
                         const double x[][3], double pot[]);
#endif

/* ---- irregular force --------------------------------------------------------------------- */

#if defined(SAPPORO_NBODY6_AARSETH)
/*
 * Opens the irregular force for particles 1 to nmax, with lists of at most lmax members.  An open one keeps its
 * particles and lists, with a message.
 */
SAPPORO_API void gpuirr_open_(const int *nmax, const int *lmax);

/* Closes the irregular force and frees its particles and lists.  If it is not open, there is a message. */
SAPPORO_API void gpuirr_close_(void);

/*
 * Stores particle number addr: position, velocity, acc2 (half the acceleration), jrk6 (a sixth of the jerk), all at its
 * own time, and mass.  A number outside 1 to nmax gives a message and changes nothing.
 */
SAPPORO_API void gpuirr_set_jp_(const int *addr, const double pos[3], const double vel[3], const double acc2[3],
                                const double jrk6[3], const double *mass, const double *time);

/*
 * Stores the list of neighbours of particle number addr: nblist[0] is the number of members, their numbers follow.  A
 * list longer than lmax is refused: forces on the particle are NaN until a list is set that fits.
 */
SAPPORO_API void gpuirr_set_list_(const int *addr, const int *nblist);

/* Sets the time of the forces that follow.  js and je are ignored: forces predict the particles that they need. */
SAPPORO_API void gpuirr_pred_all_(const int *js, const int *je, const double *ti);

/* Sets the time of the forces that follow.  ni and addr are ignored, as in gpuirr_pred_all_. */
SAPPORO_API void gpuirr_pred_act_(const int *ni, const int addr[], const double *ti);

/*
 * Computes acceleration and jerk of particle number addr from the members of its list, both predicted to the time set
 * last.  The particle itself is skipped.  NaN if the particle or a member was never stored, or has no valid list.
 */
SAPPORO_API void gpuirr_firr_(const int *addr, double acc[3], double jrk[3]);

/* Computes rows acc[k] and jrk[k] for the particles with numbers addr[0..ni-1], as gpuirr_firr_ does for one. */
SAPPORO_API void gpuirr_firr_vec_(const int *ni, const int addr[], double acc[][3], double jrk[][3]);
#else
/*
 * Opens the irregular force of the process with rank `rank` for particles 1 to nmax, with lists of at most lmax
 * members.  An open one keeps its particles and lists, with a message.
 */
SAPPORO_API void irr_simd_open_(const int *nmax, const int *lmax, const int *rank);

/* Closes the irregular force and frees its particles and lists; rank is ignored.  If it is not open, there is a
 * message. */
SAPPORO_API void irr_simd_close_(const int *rank);

/*
 * Prints on stderr, for rank `rank`, what irregular forces computed since the last profile, and how fast;
 * SAPPORO_VERBOSE=0: nothing.
 */
SAPPORO_API void irr_simd_profile_(const int *rank);

/*
 * Stores particle number addr: position, velocity, acc2 (half the acceleration), jrk6 (a sixth of the jerk), all at its
 * own time, and mass.  A number outside 1 to nmax gives a message and changes nothing.
 */
SAPPORO_API void irr_simd_set_jp_(const int *addr, const double pos[3], const double vel[3], const double acc2[3],
                                  const double jrk6[3], const double *mass, const double *time);

/*
 * Stores the list of neighbours of particle number addr: nblist[0] is the number of members, their numbers follow.  A
 * list longer than lmax is refused: forces on the particle are NaN until a list is set that fits.
 */
SAPPORO_API void irr_simd_set_list_(const int *addr, const int *nblist);

/*
 * Computes rows acc[k] and jrk[k] for the particles with numbers addr[0..ni-1], each from the members of its list, all
 * predicted to the time ti.  The particle itself is skipped.  nnbid[k] is the number of the nearest member, 0 if there
 * is none.  A row is NaN if its particle or a member was never stored, or it has no valid list.
 */
SAPPORO_API void irr_simd_firr_vec_(const double *ti, const int *ni, const int addr[], double acc[][3], double jrk[][3],
                                    int nnbid[]);
#endif

#ifdef __cplusplus
}
#endif

#endif
