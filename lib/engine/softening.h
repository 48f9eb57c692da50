/*
 * softening.h - the softening of the forces of a tree, decided once per build or refresh from the tree's settings and
 * the lengths of its particles.
 *
 * An engine asks which softening a tree has when it creates the tree, and takes a table of functions.  Beyond that it
 * works by numbers of lengths, which are 0 of a tree whose particles have none.
 */
#ifndef SAP_SOFTENING_H
#define SAP_SOFTENING_H

#include <math.h>

#include "engine/tree_ops.h"

/* The greatest value of sapporo_softening. */
enum { SAP_SOFTENING_LAST = SAPPORO_SOFTENING_SPLINE_MEAN };

struct sap_softening {
    int law;          /* of a spline: SAP_SPLINE_... of physics/spline.h */
    double usual;     /* length of particles that have none of their own */
    double longest_2; /* square of the greatest length, or eps2 */
    double eps2;      /* added to all squared distances: Plummer's softening, of a spline 0 */
};

/* Returns how many lengths a particle of a tree has: 1 with a spline, by whose law pairs within it act; else 0. */
static inline int sap_softening_lengths(const struct sap_tree_settings *settings)
{
    return settings->softening != SAPPORO_SOFTENING_PLUMMER;
}

/* Returns the softening of a tree; h: lengths of its n particles, not read unless particles have lengths. */
static inline struct sap_softening sap_softening_of(const struct sap_tree_settings *settings, const double *h, int n)
{
    struct sap_softening soft = {.law = (int)settings->softening,
                                 .usual = sqrt(settings->eps2),
                                 .longest_2 = settings->eps2,
                                 .eps2 = settings->eps2};
    double most = 0;
    if (!sap_softening_lengths(settings)) return soft;
    for (int i = 0; i < n; i++) most = fmax(most, h[i]);
    soft.longest_2 = most * most;
    soft.eps2 = 0;
    return soft;
}

#endif
