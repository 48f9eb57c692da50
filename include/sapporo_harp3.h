/*
 * sapporo_harp3.h - the calls of HARP-3 and GRAPE-4 that tree codes of J. Makino make, as libharp3 offers them.
 *
 * Link -lharp3 -lsapporo.  With r = x_j - x_i, R2 = |r|^2 + eps2 and G = 1:
 *
 *     a = sum m_j r / R2^(3/2)
 *     p = - sum m_j / R2^(1/2)
 *
 * A particle acts on itself: p contains its own -m/eps, which clients subtract.  Pairs at the same position without
 * softening are skipped.  Backend, devices and precision come from the environment, as with sapporo_open.
 *
 * Errors are reported on stderr (SAPPORO_VERBOSE), and the rows of a force that failed are NaN.  Calls of several
 * threads are serialised.  Inputs are copied.
 */
#ifndef SAPPORO_HARP3_H
#define SAPPORO_HARP3_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the library.  A force opens it as well, but this call reports a missing device. */
SAPPORO_API void h3open_(void);

/* Does nothing: the library stays open, so closing and opening around forces is cheap. */
SAPPORO_API void h3close_(void);

/* Returns 1.  Clients send at most 43,000 sources per board at a time; forces accept more. */
SAPPORO_API int get_nboards(void);

/* Writes accelerations a and potentials p of *ni targets at xi from *nj sources at xj with masses m. */
SAPPORO_API void accel_by_harp3_separate_noopen_(const int *ni, const double xi[][3], const int *nj,
                                                 const double xj[][3], const double m[], double a[][3], double p[],
                                                 const double *eps2);

#ifdef __cplusplus
}
#endif

#endif
