/*
 * list_range.h - whether single precision holds the pairs of a list of a batch, with wide margins; written once.
 *
 * Lists that ask for a floor or for counts get no other units (context/batch_units.h): targets whose pairs do not fit
 * as they are get sums in double.  The answer for a target depends on the sources, its softening and its position
 * alone, so that bits do not depend on other targets.
 */
#ifndef SAP_PHYSICS_LIST_RANGE_H
#define SAP_PHYSICS_LIST_RANGE_H

#include "physics/numbers.h"

#ifdef SAP_HAVE_OPERATIONS

#define SAP_RANGE_QUAD_ANY SAP_NUMBER(0x1p-600, 0x1A70000000000000UL) /* what moments count as that are all 0 */

/*
 * The largest sizes of all finite coordinates, masses, squared softenings, squared radii, squared floors and second
 * moments (3 Q) of sources.  quad: 0 of lists without moments, and not less than SAP_RANGE_QUAD_ANY of others, since
 * moments of 0 are multiplied by u^5, too, which must be finite.  step: the smallest difference of coordinates over
 * their size.
 */
struct sap_list_range {
    D x, mass, eps2, h2, floor2, quad, step;
};

/* Returns the larger of `most` and the size of x, if x is finite. */
SAP_INLINE D sap_range_larger(D most, D x)
{
    const D size = d_max(x, d_sub(d_set1(SAP_ZERO), x));
    return dm_any(d_gt(size, most)) && dm_any(d_ge(d_set1(SAP_LARGEST), size)) ? size : most;
}

/* Whether the heaviest source has terms that are not too small at the squared distance r2. */
SAP_INLINE int sap_range_is_felt(const struct sap_list_range *r, D r2)
{
    const D distance = d_sqrt(r2), larger = d_max(d_mul(r2, distance), distance);
    return dm_any(d_gt(d_set1(SAP_RANGE_MOST), r2)) && dm_any(d_ge(r->mass, d_mul(larger, d_set1(SAP_RANGE_LEAST))));
}

/*
 * Whether they are not too large at the squared distance r2: their exponents may be 100, so half of the range is left
 * for sums.
 */
SAP_INLINE int sap_range_is_bearable(const struct sap_list_range *r, D r2)
{
    const D distance = d_sqrt(r2), smaller = d_min(d_mul(r2, distance), distance);
    return dm_any(d_gt(r2, d_set1(SAP_RANGE_LEAST))) && dm_any(d_ge(d_mul(smaller, d_set1(SAP_RANGE_MOST)), r->mass));
}

/* The least squared distance with this softening; without softening, that of different positions in the working type.
 */
SAP_INLINE D sap_range_least2(const struct sap_list_range *r, D soft2)
{
    const D step = d_mul(r->x, r->step);
    return dm_any(d_ge(soft2, d_set1(SAP_LEAST_R2))) ? soft2 : d_mul(step, step);
}

/* The largest squared distance, softened, of particles whose coordinates have the size x at most. */
SAP_INLINE D sap_range_most2(const struct sap_list_range *r, D x, D soft2)
{
    return d_add(d_add(d_mul(d_set1(SAP_TWELVE), d_mul(x, x)), d_add(r->eps2, r->floor2)), soft2);
}

/*
 * Whether sap_pair_cell holds all products of the largest moments at squared distances from least2 to most2.  It forms
 * u^5 and moments times squared distances.  Its products that are lost have the size 2^-149 at most; over the powers of
 * distances by which they are divided, they must be small beside potential and acceleration of the heaviest source.
 */
SAP_INLINE int sap_range_holds_moments(const struct sap_list_range *r, D least2, D most2)
{
    const D one = d_set1(SAP_ONE), most = d_set1(SAP_RANGE_MOST), lost = d_set1(SAP_RANGE_QUAD_LOST);
    const D power = d_mul(least2, least2), fifth = d_mul(power, d_sqrt(least2));
    if (dm_any(d_eq(r->quad, d_set1(SAP_ZERO)))) return 1;
    return dm_any(d_ge(least2, d_set1(SAP_RANGE_QUAD_LEAST))) && dm_any(d_ge(d_set1(SAP_RANGE_QUAD_MOST), most2)) &&
           dm_any(d_ge(most, d_mul(r->quad, d_max(most2, one)))) &&
           dm_any(d_ge(d_mul(d_min(fifth, one), most), r->quad)) &&
           dm_any(d_ge(d_mul(r->mass, power), d_mul(lost, d_sqrt(most2)))) &&
           dm_any(d_ge(d_mul(r->mass, fifth), d_mul(lost, most2)));
}

/* Whether the sources fit; soft2: the largest of the common squared softening and the floor. */
SAP_INLINE int sap_range_fits(const struct sap_list_range *r, D soft2)
{
    const D least2 = sap_range_least2(r, soft2), most2 = sap_range_most2(r, r->x, soft2);
    if (!dm_any(d_gt(d_set1(SAP_RANGE_RADIUS), r->h2))) return 0; /* radius_bounds.h */
    if (!sap_range_holds_moments(r, least2, most2)) return 0;
    if (dm_any(d_eq(r->mass, d_set1(SAP_ZERO)))) return dm_any(d_gt(d_set1(SAP_RANGE_MOST), most2));
    return sap_range_is_bearable(r, least2) && sap_range_is_felt(r, most2);
}

/*
 * Whether the forces on a target at x with the squared softening or floor soft2 fit, too.  About 0 positions are finer
 * than elsewhere, so distances without softening may be too small for moments, even for those that are 0.
 */
SAP_INLINE int sap_range_reaches(const struct sap_list_range *r, const D *x, D soft2)
{
    D most = r->x;
    for (int axis = 0; axis < 3; axis++) most = sap_range_larger(most, x[axis]);
    const D most2 = sap_range_most2(r, most, soft2);
    if (!sap_range_holds_moments(r, soft2, most2)) return 0;
    if (dm_any(d_eq(r->mass, d_set1(SAP_ZERO)))) return dm_any(d_gt(d_set1(SAP_RANGE_MOST), most2));
    return sap_range_is_felt(r, most2);
}

#endif
#endif
