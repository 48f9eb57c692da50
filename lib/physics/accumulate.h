/*
 * accumulate.h - the reproducible accumulator, written once: its total does not depend on the order of terms.
 *
 * It is included after the named operations of a double type D: the CPU kernels use it on vectors, lib/engine/accum.c
 * on scalars.
 *
 * An accumulator holds SAP_LIMBS doubles.  limb[k] is a whole multiple of unit * 2^(-32 k).  unit lies on an absolute
 * grid of powers of 2^32 and only rises, to the largest deposit.  A deposit is cut into one piece per limb, each
 * rounded to its limb's unit; the remainder below the last limb is dropped.  So each value enters rounded to a multiple
 * of the last unit, and the exact total of the limbs depends on the set of values alone, not on their order or
 * grouping.  (The idea is that of binned summation: Demmel & Nguyen 2015, IEEE Trans. Comput. 64, 2060.)  At least 96
 * bits are kept below the largest term.  2^20 deposits are safe: pieces stay below 2^32 units, and a double counts 2^53
 * of them.
 *
 * Range: values of 2^993 (1e299) and above count as infinite, values below 2^-959 as zero.  Infinities and NaN are
 * summed in `special`.
 */
#ifndef SAP_PHYSICS_ACCUMULATE_H
#define SAP_PHYSICS_ACCUMULATE_H

#include "physics/arithmetic.h"

#ifdef SAP_HAVE_OPERATIONS

#ifndef SAP_FUNCTION
#define SAP_FUNCTION static /* for functions that are called if they are not inlined */
#endif

/* Moves limbs down until unit >= u; u are grid units.  Values beyond the range move from *x to `special`. */
SAP_FUNCTION void sap_raise(D *unit, D *limb, D *special, D *x, D u)
{
    const D zero = d_set1(SAP_ZERO);
    const DM big = d_ge(u, d_set1(SAP_UNIT_END));
    if (dm_any(big)) { /* infinite, NaN, or beyond the range */
        *special = d_add(*special, d_select(big, d_mul(*x, d_set1(SAP_OVERFLOWER)), zero));
        *x = d_select(big, zero, *x);
        u = d_select(big, zero, u);
    }
    for (int step = 0; step < SAP_LIMBS; step++) {
        const DM low = d_gt(u, *unit);
        for (int k = SAP_LIMBS - 1; k > 0; k--) limb[k] = d_select(low, limb[k - 1], limb[k]);
        limb[0] = d_select(low, zero, limb[0]);
        *unit = d_select(low, d_mul(*unit, d_set1(SAP_UNIT_STEP)), *unit);
    }
    *unit = d_select(d_gt(u, *unit), u, *unit); /* all limbs have been moved out */
}

/* Adds x.  A new accumulator has unit SAP_UNIT_MIN and zeros elsewhere. */
SAP_INLINE void sap_deposit(D *unit, D *limb, D *special, D x)
{
    const D u = d_grid(x);
    if (dm_any(d_gt(u, *unit))) sap_raise(unit, limb, special, &x, u);
    D magic = d_mul(*unit, d_set1(SAP_MAGIC)); /* (x + magic) - magic rounds x to a multiple of unit */
    for (int k = 0; k < SAP_LIMBS; k++) {
        const D piece = d_sub(d_add(x, magic), magic);
        limb[k] = d_add(limb[k], piece);
        x = d_sub(x, piece);
        magic = d_mul(magic, d_set1(SAP_UNIT_BACK));
    }
}

/* Adds another accumulator; raises both to the same unit. */
SAP_INLINE void sap_merge(D *unit, D *limb, D *special, D *unit2, D *limb2, D *special2)
{
    D nothing = d_set1(SAP_ZERO);
    sap_raise(unit, limb, special, &nothing, *unit2);
    sap_raise(unit2, limb2, special2, &nothing, *unit);
    for (int k = 0; k < SAP_LIMBS; k++) limb[k] = d_add(limb[k], limb2[k]);
    *special = d_add(*special, *special2);
}

/*
 * Carries, so that limbs below the first lie in [0, unit of the limb above): they become the digits of the exact total.
 */
SAP_INLINE void sap_carry(D unit, D *limb)
{
    D above[SAP_LIMBS]; /* above[k] is the unit of limb k - 1 */
    above[1] = unit;
    for (int k = 2; k < SAP_LIMBS; k++) above[k] = d_mul(above[k - 1], d_set1(SAP_UNIT_BACK));
    for (int k = SAP_LIMBS - 1; k > 0; k--) {
        const D magic = d_mul(above[k], d_set1(SAP_MAGIC));
        D carry = d_sub(d_add(limb[k], magic), magic);
        carry = d_select(d_gt(carry, limb[k]), d_sub(carry, above[k]), carry); /* round down */
        limb[k] = d_sub(limb[k], carry);
        limb[k - 1] = d_add(limb[k - 1], carry);
    }
}

/* Returns the total as one double, with an error of less than one unit in its last place. */
SAP_INLINE D sap_total(D unit, const D *raw, D special)
{
    const D zero = d_set1(SAP_ZERO);
    D limb[SAP_LIMBS];
    for (int k = 0; k < SAP_LIMBS; k++) limb[k] = raw[k];
    sap_carry(unit, limb);
    const DM negative = d_gt(zero, limb[0]);
    for (int k = 0; k < SAP_LIMBS; k++) limb[k] = d_select(negative, d_sub(zero, raw[k]), raw[k]);
    sap_carry(unit, limb); /* digits of the absolute value: no two of opposite sign */
    D sum = limb[SAP_LIMBS - 1];
    for (int k = SAP_LIMBS - 2; k >= 0; k--) sum = d_add(sum, limb[k]);
    sum = d_select(negative, d_sub(zero, sum), sum);
    return d_select(d_eq(special, zero), sum, special);
}

/*
 * Returns the total that a new accumulator has after a deposit of x, with the same bits, but without an accumulator.
 * All values but the smallest are returned unchanged.
 */
SAP_INLINE D sap_total_of_one(D x)
{
    const D small = d_set1(SAP_KEPT_WHOLE), zero = d_set1(SAP_ZERO);
    /* the last two pieces of a deposit; the pieces before are zeros */
    const D above = d_set1(SAP_MAGIC_3);
    const D last = d_set1(SAP_MAGIC_4);
    const D high = d_sub(d_add(x, above), above), rest = d_sub(x, high);
    const D cut = d_add(high, d_sub(d_add(rest, last), last));
    const D kept = d_select(d_gt(small, x), d_select(d_gt(x, d_sub(zero, small)), cut, x), x);
    return d_select(d_ge(d_grid(x), d_set1(SAP_UNIT_END)), d_mul(x, d_set1(SAP_OVERFLOWER)), kept);
}

#endif
#endif
