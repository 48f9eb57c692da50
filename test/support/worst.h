/*
 * worst.h - the largest of several numbers, in which a NaN counts.
 *
 * fmax, and `if (error > worst) worst = error`, drop a NaN: a row that the library never wrote, or wrote as NaN, would
 * be exact.  Tests therefore use these functions, and `make lint` refuses fmax in them.
 */
#ifndef TEST_WORST_H
#define TEST_WORST_H

#include <math.h>

/* Returns the larger of two errors; infinity, which no bound allows, if one of them is NaN. */
static inline double worst_of(double a, double b) { return isnan(a) || isnan(b) ? INFINITY : a > b ? a : b; }

/* Returns the larger of two sizes, coordinates or bounds; NaN, which no comparison passes, if one of them is NaN. */
static inline double larger_of(double a, double b) { return isnan(a) ? a : isnan(b) || b > a ? b : a; }

/* Returns the same as larger_of, in extended precision. */
static inline long double larger_of_long(long double a, long double b)
{
    return isnan(a) ? a : isnan(b) || b > a ? b : a;
}

#endif
