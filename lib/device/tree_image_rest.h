/* tree_image_rest.h - the exact remainder that images of positions need (physics/tree_image.h), on accelerators. */
#ifndef SAP_DEVICE_TREE_IMAGE_REST_H
#define SAP_DEVICE_TREE_IMAGE_REST_H

#include "device/tree_units.h"

/* Returns the integer nearest to x, which is one itself from 2^52 on. */
SAP_INLINE D d_nearest_integer(D x)
{
    const D large = d_set1(SAP_NUMBER(0x1p52, 0x4330000000000000UL)), zero = d_set1(SAP_ZERO);
    if (dm_any(d_ge(d_abs(x), large))) return x;
    return dm_any(d_ge(x, zero)) ? d_sub(d_add(x, large), large) : d_add(d_sub(x, large), large);
}

/*
 * Returns a less the multiple of b that is nearest to it, b > 0.  Each step is exact, since what remains is a multiple
 * of the last place of b times that of the quotient, with 53 bits at most.
 */
SAP_INLINE D d_rest(D a, D b)
{
    enum { MOST = 24 }; /* a / b is at most 1e160, and each step leaves 2^-52 of it */
    D x = a;
    for (int k = 0; k < MOST; k++) {
        const D multiple = d_nearest_integer(d_div(x, b));
        if (dm_any(d_eq(multiple, d_set1(SAP_ZERO)))) return x;
        x = d_fnma(multiple, b, x);
    }
    return x;
}

#define SAP_FAR_ON_DEVICE
#include "physics/tree_image.h"

#endif
