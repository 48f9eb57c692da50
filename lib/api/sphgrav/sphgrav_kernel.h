/* sphgrav_kernel.h - StarSmasher's gravity with Wendland's kernels. */
#ifndef SAP_SPHGRAV_KERNEL_H
#define SAP_SPHGRAV_KERNEL_H

#include "api/sphgrav/sphgrav_tree.h"

/* Values of nkernel. */
enum { SAP_KERNEL_SPLINE = 0, SAP_KERNEL_WENDLAND_C6 = 1, SAP_KERNEL_WENDLAND_C4 = 2 };

/*
 * Computes what has to be added to forces by the cubic spline so that they are those of a Wendland kernel: the sums of
 * the differences of both kernels over the pairs within the length of either particle.  more[k] has three components
 * of the acceleration and the potential of particle f->first + k; f->acc and f->pot are not used.  All are NaN if a
 * position or a length is not finite.  Returns 0 after a message if memory is short.
 */
int sap_sphgrav_kernel_force(int kernel, const struct sap_sphgrav_force *f, double (*more)[4]);

#endif
