/* sapporoG6lib.h - the name under which clients of Sapporo2 include the GRAPE-6 calls. */
#ifndef SAPPORO_COMPAT_SAPPOROG6LIB_H
#define SAPPORO_COMPAT_SAPPOROG6LIB_H

#include "sapporo_g6_fortran.h"

#ifdef __cplusplus
/* As Sapporo2 declares it to C++: the scalars are references. */
static inline void get_j_part_data(int addr, int nj, double *pos, double *vel, double *acc, double *jrk, double *ppos,
                                   double *pvel, double &mass, double &eps2, int &id)
{
    get_j_part_data(addr, nj, pos, vel, acc, jrk, ppos, pvel, &mass, &eps2, &id);
}
#endif

#endif
