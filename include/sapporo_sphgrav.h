/*
 * sapporo_sphgrav.h - the gravity interface of StarSmasher, as libsphgrav_sapporo offers it.
 *
 * Link -lsphgrav_sapporo -lsapporo in place of the code's own SPHgrav library.  All names are Fortran's: a trailing
 * underscore, every argument by reference, arrays contiguous.  With r = x_j - x_i, G = 1 and lengths h =
 * sqrt(|range2|):
 *   - particles are softened by a kernel with compact support h, by default of the code Wendland's C4; a pair gives the
 *     mean of the terms with both lengths (for the spline SAPPORO_SOFTENING_SPLINE_MEAN in sapporo.h);
 *   - acc = sum m r / r^3 and pot = - sum m / r beyond both lengths;
 *   - the potential of a particle contains its own, -14/5 m/h with the spline, unless its range2 is negative: it is
 *     compact then.
 * Forces are summed directly, or come from a tree if SAPPORO_METHOD is `tree` when gpu_init_dev_ is called: the octree
 * of sapporo_tree.h, or what SAPPORO_TREE_KIND, _MAC and _ACCURACY say.  Backend, devices and precision come from the
 * environment, as with sapporo_open.
 *
 * No function has a return value.  Errors are reported on stderr (SAPPORO_VERBOSE), and the forces that failed are NaN.
 * Calls of several threads are serialised.
 */
#ifndef SAPPORO_SPHGRAV_H
#define SAPPORO_SPHGRAV_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the library for the process with rank `myrank`: processes of a node share its devices by their ranks.  theta is
 * the opening angle of the tree, if it is above 0 and SAPPORO_TREE_ACCURACY is not set; direct sums ignore it.  A later
 * call opens anew.
 */
SAPPORO_API void gpu_init_dev_(const int *myrank, const double *theta);

/*
 * Begins the forces of all n particles on the particles with numbers n_lower to n_lower + my_length - 1, from 1 on.  x,
 * y, z, mass and range2 have n elements and are copied.  range2 are squares of the lengths, not 0; of compact particles
 * they are negative.  q, the number of threads per particle of other libraries, is ignored.  nkernel is 0, the cubic
 * spline, 1, Wendland's C6, or 2, Wendland's C4 (Dehnen & Aly 2012, MNRAS 425, 1068, table 1); with any other kernel
 * forces are NaN.  If gpu_init_dev_ was not called, this call opens the library for rank 0.
 */
SAPPORO_API void firsthalf_grav_forces_(const int *n, const int *n_lower, const int *my_length, const double x[],
                                        const double y[], const double z[], const double mass[], const double range2[],
                                        const int *q, const int *nkernel);

/*
 * Waits for the forces and writes those on particles n_lower to n_lower + my_length - 1 into arrays of n elements;
 * other elements stay.  If n differs from that of the first half, or there was none, all n elements are NaN.
 */
SAPPORO_API void lasthalf_grav_forces_(const int *n, double ax[], double ay[], double az[], double pot[]);

#ifdef __cplusplus
}
#endif

#endif
