/* eddington.h - Eddington's inversion (Binney and Tremaine 2008, eq. 4.46): the integral over the depths of a
 * potential. */
#ifndef COMMON_EDDINGTON_H
#define COMMON_EDDINGTON_H

/*
 * Integrates bend / sqrt(depth[from] - depth) over the depths below that of node `from`, where `bend` is the second
 * derivative of a density by the depth.  depth[0 .. n-1] falls outwards.  `bend` is taken as linear between nodes, for
 * which the integral is exact.
 */
double eddington_integral(int n, const double *depth, const double *bend, int from);

#endif
