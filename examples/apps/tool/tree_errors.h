/* tree_errors.h - statistics of the errors of many accelerations. */
#ifndef TOOL_TREE_ERRORS_H
#define TOOL_TREE_ERRORS_H

#include "bodies.h"

enum { TREE_QUANTILES = 10 };

/* Relative errors: the norm of the difference over the norm of the exact acceleration. */
typedef struct tree_errors {
    int compared;                 /* accelerations that were compared */
    double median, at99, at999;   /* errors that 50 %, 99 % and 99.9 % of them stay below */
    double largest, rms;          /* rms: root of the mean square */
    double above[TREE_QUANTILES]; /* error that a fraction 2^-k exceeds, k from 0 */
} tree_errors;

/* Compares n accelerations, those of rows row[0] .. row[n-1] of acc, with exact ones. */
void tree_errors_of(const double (*acc)[3], const double (*exact)[3], const int *row, int n, tree_errors *errors);

/*
 * Returns the size of the sum of all forces over the sum of their sizes: a method that conserves momentum gives
 * rounding errors.  acc are the accelerations of all particles of the set.
 */
double tree_net_force(const bodies *set, const double (*acc)[3]);

#endif
