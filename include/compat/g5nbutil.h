/* g5nbutil.h - the name under which clients of GRAPE-7 (REBOUND) include the GRAPE-5 calls. */
#ifndef SAPPORO_COMPAT_G5NBUTIL_H
#define SAPPORO_COMPAT_G5NBUTIL_H

#include "gp5util.h"

#endif
