/* g5_fortran.h - what the files with the Fortran names of the GRAPE-5 calls share. */
#ifndef SAP_API_G5_FORTRAN_H
#define SAP_API_G5_FORTRAN_H

#include <math.h>
#include <stddef.h>

#include "api/g5/g5.h"
#include "compat/sapporo_g5_fortran.h"

/* A NULL scalar counts as -1, which is refused; a NULL device id counts as 0. */
static inline int at(const int *scalar) { return scalar != NULL ? *scalar : -1; }

static inline int id_at(const int *scalar) { return scalar != NULL ? *scalar : 0; }

static inline double real_at(const double *scalar) { return scalar != NULL ? *scalar : NAN; }

/*
 * Fortran compilers convert names to lower case, but existing libraries export the MC names with capitals.  g77 and
 * -fsecond-underscore append a second underscore.  (Darwin has no aliases.)
 */
#if defined(__GNUC__) && !defined(__APPLE__)
#define SAP_G5_ALIASES  1
#define ALIAS(name, of) extern __typeof__(of) name __attribute__((weak, alias(#of), visibility("default")))
#define ALSO(name)      ALIAS(name##__, name##_)
#define ALSO_MC(name, small)                                                                                           \
    ALIAS(small##_, name##_);                                                                                          \
    ALIAS(small##__, name##_)
#else
#define SAP_G5_ALIASES 0
#endif

#endif
