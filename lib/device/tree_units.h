/* tree_units.h - loads particles of a tree, and converts lengths to units of its cube, for the kernels of trees. */
#ifndef SAP_DEVICE_TREE_UNITS_H
#define SAP_DEVICE_TREE_UNITS_H

#include "dialect.h"

#include "physics/numbers.h"

#include "words.h"

#define SAP_ROOT_SCALE 1.0

#include "physics/interaction.h"

/* sap_accept, for one cell per thread. */
#define SAP_TREE_VECTORS
#define v_lt v_less
SAP_INLINE V v_max(V a, V b) { return v_select(v_less(a, b), b, a); }

#include "device/tree_layout.h"
#include "physics/nearest.h"
#include "physics/tree_accept.h"
#include "physics/tree_ahead.h"
#include "physics/tree_local.h"
#include "physics/tree_parts.h"
#include "physics/tree_words.h"

/* Loads particle k from an array of four doubles per particle. */
SAP_INLINE void load_particle(const GLOBAL wide *from, int k, D *x, D *mass)
{
    const wide a = from[2 * (size_t)k], b = from[2 * (size_t)k + 1];
    x[0] = a.x, x[1] = a.y, x[2] = b.x, *mass = b.y;
}

/* Returns the size of a vector. */
SAP_INLINE D size_of(const D *v)
{
    D r2 = d_set1(SAP_ZERO);
    for (int c = 0; c < 3; c++) r2 = d_add(r2, d_mul(v[c], v[c]));
    return d_sqrt(r2);
}

/* Returns the size of the acceleration of row k. */
SAP_INLINE D size_of_row(const GLOBAL D *acc, size_t k)
{
    D v[3];
    for (int c = 0; c < 3; c++) v[c] = acc[3 * k + c];
    return size_of(v);
}

/* Loads the bound of a group from SAP_GROUP_WORDS doubles per group. */
SAP_INLINE struct sap_bound load_bound(const GLOBAL D *from, int group)
{
    const GLOBAL D *const word = from + SAP_GROUP_WORDS * (size_t)group;
    struct sap_bound b;
    for (int c = 0; c < 3; c++) b.centre[c] = word[c], b.extent[c] = word[3 + c];
    b.radius = word[6];
    return b;
}

/* Converts a position to units; returns its largest coordinate. */
SAP_INLINE D in_units(const D *place, const struct sap_gpu_tree *t, D *x)
{
    return sap_tree_in_units(place, &t->gaps, t->middle, t->unit, x);
}

/* Returns the word of strictness of target particles with accelerations of at least a; accuracy: theirs. */
SAP_INLINE float strictness_of(const struct sap_cell *root, const struct sap_gpu_tree *t, D accuracy, D a)
{
    const struct sap_criterion how = sap_criterion_of(t->mac, t->order, t->accuracy, t->pull);
    const D s = sap_accept_strictness(d_mul(accuracy, a));
    return (float)w_of_d(d_min(d_mul(s, d_div(t->unit, sap_turn_unit(root, &how, t->unit))), d_set1(SAP_TREE_NEVER)));
}

SAP_INLINE W padded(D length, D size) { return w_of_d(sap_tree_padded(length, size)); }

#endif
