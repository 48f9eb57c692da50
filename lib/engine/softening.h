/*
 * softening.h - the softening of the forces of a tree, decided once per build or refresh from the tree's settings and
 * the lengths of its particles.
 *
 * There are three laws: Plummer's with one length for all, Plummer's with lengths per particle, and splines.  Particles
 * of splines always have lengths; those of Plummer's law have some from the first set with lengths on.  An engine takes
 * a table of functions for each law.  Beyond that it works by numbers of lengths, which are 0 of a tree whose particles
 * have none.
 */
#ifndef SAP_SOFTENING_H
#define SAP_SOFTENING_H

#include <math.h>

#include "engine/cube.h"
#include "engine/tree_limits.h"
#include "engine/tree_ops.h"

/* Doubles that each node has of the lengths of its particles: the greatest, or struct sap_softs of physics/tree_soft.h.
 */
enum { SAP_SPLINE_WORDS = 1, SAP_SOFTS_WORDS = 3 };

/* The greatest value of sapporo_softening. */
enum { SAP_SOFTENING_LAST = SAPPORO_SOFTENING_SPLINE_MEAN };

struct sap_softening {
    int law;          /* of a spline: SAP_SPLINE_... of physics/spline.h */
    double usual;     /* length of particles that have none of their own: with a spline the root of eps2, else 0 */
    double longest_2; /* the greatest square that softens a pair: of a spline of one length */
    double eps2;      /* added to all squared distances: Plummer's softening, of a spline 0 */
};

/* Returns how many lengths a particle of every set has: 1 with a spline, by whose law pairs within it act; else 0. */
static inline int sap_softening_lengths(const struct sap_tree_settings *settings)
{
    return settings->softening != SAPPORO_SOFTENING_PLUMMER;
}

/* Returns how many doubles each node has of the lengths of its particles, where particles have lengths. */
static inline int sap_softening_words(const struct sap_tree_settings *settings)
{
    return sap_softening_lengths(settings) ? SAP_SPLINE_WORDS : SAP_SOFTS_WORDS;
}

/* Returns the greatest square that softens a pair of particles of which `most` is the greatest length. */
static inline double sap_softening_longest_2(const struct sap_tree_settings *settings, double most)
{
    return sap_softening_lengths(settings) ? most * most : settings->eps2 + 2 * most * most;
}

/* Returns the softening of a tree of n particles with the lengths h; NULL: they have none. */
static inline struct sap_softening sap_softening_of(const struct sap_tree_settings *settings, const double *h, int n)
{
    const int spline = sap_softening_lengths(settings);
    double most = 0;
    for (int i = 0; i < n && h; i++) most = fmax(most, h[i]);
    return (struct sap_softening){.law = (int)settings->softening,
                                  .usual = spline ? sqrt(settings->eps2) : 0,
                                  .longest_2 = sap_softening_longest_2(settings, most),
                                  .eps2 = spline ? 0 : settings->eps2};
}

/* Returns the squared softening of all pairs in these units: 0 where it is too small for them. */
static inline double sap_softening_eps2(const struct sap_softening *soft, const struct sap_tree_units *units)
{
    const double eps2 = fmin(soft->eps2, units->eps2);
    return eps2 * units->unit * units->unit < SAP_TREE_LEAST_SCALED_EPS2 ? 0 : eps2;
}

#endif
