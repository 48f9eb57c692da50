/* tree_units.h - particles of a tree, and lengths in units of its cube, as the kernels of trees see them. */
#ifndef SAP_DEVICE_TREE_UNITS_H
#define SAP_DEVICE_TREE_UNITS_H

#include "dialect.h"

#include "physics/numbers.h"

#include "words.h"

#define SAP_ROOT_SCALE 1.0

#include "physics/interaction.h"

/* sap_accept, of one cell a thread. */
#define SAP_TREE_VECTORS
#define v_lt v_less
SAP_INLINE V v_max(V a, V b) { return v_select(v_less(a, b), b, a); }

#include "physics/tree_accept.h"
#include "physics/tree_layout.h"
#include "physics/tree_pair.h"

#define SAP_TREE_FAR SAP_NUMBER(1e18, 0x43ABC16D674EC800UL) /* beyond it words of the walk are cut */
#define SAP_TREE_NEVER                                                                                                 \
    SAP_NUMBER(8e18, 0x43DBC16D674EC800UL) /* a guard or a radius that no distance of such words exceeds */
#define SAP_TREE_NEAR SAP_NUMBER(1e15, 0x430C6BF526340000UL) /* coordinates in units that float may see */

/* Particle k of those that lie as four doubles each. */
SAP_INLINE void load_particle(const GLOBAL wide *from, int k, D *x, D *mass)
{
    const wide a = from[2 * (size_t)k], b = from[2 * (size_t)k + 1];
    x[0] = a.x, x[1] = a.y, x[2] = b.x, *mass = b.y;
}

SAP_INLINE D cut(D x) { return d_max(d_min(x, d_set1(SAP_TREE_FAR)), d_neg(d_set1(SAP_TREE_FAR))); }

/* A centre in units, and its largest coordinate. */
SAP_INLINE D in_units(const D *centre, const struct sap_gpu_tree *t, D *x)
{
    D size = d_set1(SAP_ZERO);
    for (int k = 0; k < 3; k++) {
        x[k] = d_mul(d_sub(centre[k], t->middle[k]), t->unit);
        size = d_max(size, d_abs(x[k]));
    }
    return size;
}

/*
 * A length in units that holds for words of float: they are off by 2^-24 of a coordinate each.  Where coordinates have
 * been cut nothing is far enough.
 */
SAP_INLINE W padded(D length, D size)
{
    const D room = d_mul(size, d_set1(SAP_NUMBER(0x1p-20, 0x3EB0000000000000UL)));
    const D reach = d_mul(d_add(length, room), d_set1(SAP_NUMBER(0x1.00001p0, 0x3FF0000100000000UL)));
    return w_of_d(dm_any(d_gt(d_set1(SAP_TREE_FAR), d_max(size, reach))) ? reach : d_set1(SAP_TREE_NEVER));
}

#endif
