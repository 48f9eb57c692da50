/* gp6util.h - the name under which clients of Phantom-GRAPE include the GRAPE-6 calls. */
#ifndef SAPPORO_COMPAT_GP6UTIL_H
#define SAPPORO_COMPAT_GP6UTIL_H

#include "sapporo_g6_fortran.h"

#endif
