/*
 * tree_error.h - the accuracy of ACCELERATION for an error that a caller asks for: 99 % of the relative errors of
 * forces and potentials are below it.
 *
 * Errors grow as a power of the accuracy.  Numbers were measured for ten models of 16,000 particles, whose errors at
 * one accuracy lie over a factor of 3 (docs/tree.md).
 */
#ifndef SAP_TREE_ERROR_H
#define SAP_TREE_ERROR_H

#include <math.h>

#include "engine/tree_macs.h"

/* Limits of errors, and of accuracies: beyond the largest the guard of cells decides alone (physics/tree_mac.h). */
#define SAP_ERROR_LEAST          1e-9
#define SAP_ERROR_MOST           0.1
#define SAP_ERROR_ACCURACY_LEAST 1e-12
#define SAP_ERROR_ACCURACY_MOST  1.0

/* Errors below this one need pair terms in double. */
#define SAP_ERROR_DOUBLE 1e-5

/* Returns the power of the accuracy that errors grow with. */
static inline double sap_error_slope(int order) { return order == 1 ? 0.6 : 0.8; }

/* On accelerators fewer positions than this part of the particles walk alone or in small bunches, as active ones do. */
#define SAP_ERROR_FEW 0.25

/* Returns x with 8 bits, which rounding of a library's mathematical functions does not change. */
static inline double sap_error_short(double x)
{
    int power;
    const double part = frexp(x, &power);
    return ldexp(rint(part * 256) / 256, power);
}

/* Returns the accuracy for the error `wanted`, if the error at `accuracy` is `found` > 0. */
static inline double sap_error_accuracy(double accuracy, double found, double wanted, double slope)
{
    const double next = sap_error_short(accuracy * pow(wanted / found, 1 / slope));
    return fmin(fmax(next, SAP_ERROR_ACCURACY_LEAST), SAP_ERROR_ACCURACY_MOST);
}

/* Returns the accuracy at which 99 % of the errors are below `wanted` in usual models. */
static inline double sap_error_first(int order, double wanted)
{
    const double found = order == 1 ? 3e-3 : 8e-4; /* at the usual accuracy */
    return sap_error_accuracy(sap_mac_row(SAPPORO_MAC_ACCELERATION).accuracy, found, wanted, sap_error_slope(order));
}

/*
 * Returns the accuracy of few targets of an accelerator for the error `wanted`, if groups have it at `accuracy`.  A
 * cell has its largest error for the nearest particle of a group, so errors of those that walk alone are 3 to 10 times
 * those of groups at the same accuracy.  Groups have an error of 0.01 at any accuracy, few targets do not.
 */
static inline double sap_error_few(int order, double wanted, double accuracy)
{
    return 0.1 * fmin(accuracy, sap_error_first(order, wanted));
}

#endif
