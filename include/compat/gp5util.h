/* gp5util.h - the name under which clients of GRAPE-5, Phantom-GRAPE and FDPS include the GRAPE-5 calls. */
#ifndef SAPPORO_COMPAT_GP5UTIL_H
#define SAPPORO_COMPAT_GP5UTIL_H

/* What programs of Phantom-GRAPE are compiled with, if they link -lpg5_symmetric. */
#if defined(SYMMETRIC) && !defined(SAPPORO_G5_SYMMETRIC)
#define SAPPORO_G5_SYMMETRIC 1
#endif

#include "sapporo_g5_fortran.h"

/* Clients dimension arrays by it: the answer of g5_get_jmemsize. */
#ifndef JMEMSIZE
#define JMEMSIZE 65536
#endif

#endif
