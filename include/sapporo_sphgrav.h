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
 * Nothing has a return value: errors are told on stderr (SAPPORO_VERBOSE), and the forces that failed are NaN.  Calls
 * of several threads are serialised.
 */
#ifndef SAPPORO_SPHGRAV_H
#define SAPPORO_SPHGRAV_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The rank of this process: ranks of a node share its devices by it.  theta is the opening angle of the tree, if it is
 * above 0 and SAPPORO_TREE_ACCURACY is not set; direct sums ignore it.  Opens anew where it is called again.
 */
SAPPORO_API void gpu_init_dev_(const int *myrank, const double *theta);

/*
 * Starts the forces of all n particles on those with numbers n_lower .. n_lower + my_length - 1, from 1 on.  Arrays
 * have n elements and are copied.  range2: squares of the lengths, not 0; negative: compact particles.  q, the number
 * of threads per particle of other libraries, is ignored.  nkernel is 0, the cubic spline, 1, Wendland's C6, or 2,
 * Wendland's C4 (Dehnen & Aly 2012, MNRAS 425, 1068, table 1): with others forces are NaN.  Opens the library for rank
 * 0 where gpu_init_dev_ was not called.
 */
SAPPORO_API void firsthalf_grav_forces_(const int *n, const int *n_lower, const int *my_length, const double x[],
                                        const double y[], const double z[], const double mass[], const double range2[],
                                        const int *q, const int *nkernel);

/*
 * Waits for the forces and writes those of particles n_lower .. n_lower + my_length - 1 into arrays of n elements.  If
 * n is another number than that of the first half, or there was none, all n elements are NaN.
 */
SAPPORO_API void lasthalf_grav_forces_(const int *n, double ax[], double ay[], double az[], double pot[]);

#ifdef __cplusplus
}
#endif

#endif
