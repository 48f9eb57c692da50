/*
 * tree_given.h - kernels that check and take particles and lists of active particles that the caller has in device
 * memory: columns without gaps.
 */
#include "device/tree_image_rest.h"
#include "device/tree_units.h"

SAP_INLINE int is_place(D x) { return dm_any(d_ge(d_set1(SAP_NUMBER(1e100, 0x54B249AD2594C37DUL)), d_abs(x))) ? 1 : 0; }

SAP_INLINE int is_finite(D x) { return dm_any(d_eq(d_sub(x, x), d_set1(SAP_ZERO))) ? 1 : 0; }

/*
 * Finds the first particle whose position (bad[0]), mass (bad[1], times the gravitational constant) or acceleration
 * (bad[2]) is not valid; lowers an
 * entry only if the particle's number is less than the entry.
 */
KERNEL(SAP_TREE_THREADS)
tree_look(const GLOBAL D *x, const GLOBAL D *mass, const GLOBAL D *a, const D gravity, const int has_mass,
          const int has_a, GLOBAL int *bad, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    for (int c = 0; c < 3; c++)
        if (!is_place(x[3 * i + c])) (void)atomic_min(&bad[0], (int)i);
    if (has_mass && !is_finite(d_mul(mass[i], gravity))) (void)atomic_min(&bad[1], (int)i);
    if (has_a && !is_finite(a[i])) (void)atomic_min(&bad[2], (int)i);
}

/*
 * Converts columns to a tree's particles, with masses times the gravitational constant; keeps: without has_mass the
 * particles keep their masses, else these are 0.
 */
KERNEL(SAP_TREE_THREADS)
tree_take(const GLOBAL D *x, const GLOBAL D *mass, const GLOBAL D *a, const D gravity, const int has_mass,
          const int keeps, const int has_a, GLOBAL wide *particle, GLOBAL D *sizes, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    wide p, q;
    p.x = x[3 * i], p.y = x[3 * i + 1], q.x = x[3 * i + 2];
    q.y = has_mass ? d_mul(mass[i], gravity) : keeps ? particle[2 * i + 1].y : d_set1(SAP_ZERO);
    particle[2 * i] = p;
    particle[2 * i + 1] = q;
    if (has_a) sizes[i] = a[i];
}

/*
 * Replaces the older of two earlier positions by those `lead` calls later (tree_ahead.h); masses are the present ones.
 * bends: `older` has positions of two calls before.  period: of a cube, in which earlier positions are the images
 * nearest to the present ones; 0: space is open.
 */
KERNEL(SAP_TREE_THREADS)
tree_ahead(const GLOBAL wide *particle, const GLOBAL wide *past, GLOBAL wide *older, const int bends, const D lead,
           const D limit, const D period, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    D x[3], before[3], first[3], to[3], mass, unused;
    load_particle(particle, (int)i, x, &mass);
    load_particle(past, (int)i, before, &unused);
    load_particle(bends ? older : past, (int)i, first, &unused);
    for (int c = 0; c < 3 && dm_any(d_gt(period, d_set1(SAP_ZERO))); c++) {
        before[c] = sap_image_beside(before[c], x[c], period);
        first[c] = sap_image_beside(first[c], x[c], period);
    }
    sap_tree_ahead(x, before, first, bends, lead, limit, to);
    wide a, b;
    a.x = to[0], a.y = to[1], b.x = to[2], b.y = mass;
    older[2 * i] = a;
    older[2 * i + 1] = b;
}

/* Finds the first of ni active particles that is none of n particles; lowers bad[0] if its number is less. */
KERNEL(SAP_TREE_THREADS)
tree_look_active(const GLOBAL int *active, GLOBAL int *bad, const int ni, const int n)
{
    const int i = (int)global_id();
    if (i < ni && (active[i] < 0 || active[i] >= n)) (void)atomic_min(&bad[0], i);
}
