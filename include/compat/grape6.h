/* grape6.h - the name under which clients of the hardware's library include the GRAPE-6 calls. */
#ifndef SAPPORO_COMPAT_GRAPE6_H
#define SAPPORO_COMPAT_GRAPE6_H

/* The header of grapite has this guard, and results of other types. */
#ifndef GRAPE6_H
#define GRAPE6_H
#include "sapporo_g6_fortran.h"
#endif

#endif
