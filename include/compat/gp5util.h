/* gp5util.h - the name under which clients of GRAPE-5, Phantom-GRAPE and FDPS include the GRAPE-5 calls. */
#ifndef SAPPORO_COMPAT_GP5UTIL_H
#define SAPPORO_COMPAT_GP5UTIL_H

#include "sapporo_g5_fortran.h"

/* Clients dimension arrays by it: the answer of g5_get_jmemsize. */
#ifndef JMEMSIZE
#define JMEMSIZE 65536
#endif

#endif
