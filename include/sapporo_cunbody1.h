/*
 * sapporo_cunbody1.h - the calls of T. Hamada's CUNBODY-1, as libcunbody1 offers them.
 *
 * Link -lcunbody1 -lsapporo.  With r = x_j - x_i and G = 1, a = sum m_j r / (|r|^2 + eps2)^(3/2); pairs at the same
 * position without softening are skipped.  Backend, devices and precision come from the environment, as with
 * sapporo_open.
 *
 * No function has a return value.  Errors are reported on stderr (SAPPORO_VERBOSE), and the rows of a force that failed
 * are NaN.  Calls of several threads are serialised.  Inputs are copied and never written to.
 */
#ifndef SAPPORO_CUNBODY1_H
#define SAPPORO_CUNBODY1_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the accelerations ai of ni targets at xi from nj sources at xj with masses mj.  Note that ni comes before nj.
 */
SAPPORO_API void cunbody1_force(double xj[][3], double mj[], double xi[][3], double eps2, double ai[][3], int ni,
                                int nj);

/* The same as cunbody1_force; devid is ignored, because the library uses all devices that it may. */
SAPPORO_API void cunbody1_force_mp(int devid, double xj[][3], double mj[], double xi[][3], double eps2, double ai[][3],
                                   int ni, int nj);

/* Starts the force that cunbody1_force_end writes; ai stays as it is.  Without an end the next begin drops the force.
 */
SAPPORO_API void cunbody1_force_begin(double xj[][3], double mj[], double xi[][3], double eps2, double ai[][3], int ni,
                                      int nj);

/*
 * Waits for the force that cunbody1_force_begin started, and writes it to ai.  If that had other numbers of particles,
 * or did not come, this call computes the force of its own arguments.
 */
SAPPORO_API void cunbody1_force_end(double xj[][3], double mj[], double xi[][3], double eps2, double ai[][3], int ni,
                                    int nj);

#ifdef __cplusplus
}
#endif

#endif
