/*
 * g6lib.h - the name under which clients of AMUSE's g6lib and sapporo_light include the GRAPE-6 calls.
 *
 * AMUSE, Sapporo and ph4 have headers with the guard _G6LIB_ and prototypes that
 * differ; the first one wins there, and so it does here.
 */
#ifndef SAPPORO_COMPAT_G6LIB_H
#define SAPPORO_COMPAT_G6LIB_H

#ifndef _G6LIB_
#define _G6LIB_
#include "sapporo_g6_fortran.h"
#endif

#endif
