/*
 * tree_key.h - the keys by which particles of a tree are sorted, written once.
 *
 * A cube is cut into 2^21 cells per axis.  The key of a cell has 63 bits, three per level, the coarsest first, so the
 * cells of level L are the runs of equal 3 L highest bits.  Included after the named operations of a scalar D.  Keys
 * are integers, and the operations before them are exact or rounded once, so every engine sorts alike.
 *
 * Peano-Hilbert keys: Skilling 2004, "Programming the Hilbert curve", AIP Conf. Proc. 707, 381.  Morton keys interleave
 * the bits of the axes.
 */
#ifndef SAP_PHYSICS_TREE_KEY_H
#define SAP_PHYSICS_TREE_KEY_H

#include "physics/numbers.h"

#if defined(__OPENCL_VERSION__)
typedef ulong sap_key;
typedef uint sap_cell_number;
#else
typedef unsigned long long sap_key; /* 63 bits are used */
typedef unsigned sap_cell_number;   /* 21 bits */
#endif

#define SAP_KEY_LEVELS 21                                          /* below the root */
#define SAP_KEY_BITS   (3 * SAP_KEY_LEVELS)                        /* bits of a key */
#define SAP_KEY_LAST   SAP_NUMBER(2097151.0, 0x413FFFFF00000000UL) /* last cell of an axis */

/* The digit of a key (0 to 7) that selects the cell of level + 1 (1 to 21) within the cell of `level`. */
#define SAP_KEY_DIGIT(key, level) ((int)((key) >> (3 * (SAP_KEY_LEVELS - 1 - (level)))) & 7)

#ifdef SAP_HAVE_OPERATIONS

/*
 * Returns the number of x's cell on an axis; a coordinate outside the cube gets the cell at its border.  cells: 2^21
 * over the cube's edge, a power of two.
 */
SAP_INLINE sap_cell_number sap_key_cell(D x, D low, D cells)
{
    const D place = d_mul(d_sub(x, low), cells);
    return (sap_cell_number)int_of_d(d_min(d_max(place, d_set1(SAP_ZERO)), d_set1(SAP_KEY_LAST)));
}

/* Moves bits 0, 1, 2 ... to bits 0, 3, 6 ... */
SAP_INLINE sap_key sap_key_spread(sap_cell_number x)
{
    sap_key k = x;
    k = (k | k << 32) & 0x1F00000000FFFFUL;
    k = (k | k << 16) & 0x1F0000FF0000FFUL;
    k = (k | k << 8) & 0x100F00F00F00F00FUL;
    k = (k | k << 4) & 0x10C30C30C30C30C3UL;
    return (k | k << 2) & 0x1249249249249249UL;
}

SAP_INLINE sap_key sap_key_morton(sap_cell_number x, sap_cell_number y, sap_cell_number z)
{
    return sap_key_spread(x) << 2 | sap_key_spread(y) << 1 | sap_key_spread(z);
}

/*
 * Returns all ones if a bit is set, else 0.  The caller selects by this mask, since the processor would mispredict half
 * of such branches.
 */
SAP_INLINE sap_cell_number sap_key_if(sap_cell_number axis, int bit) { return 0U - (axis >> bit & 1U); }

/* Does one axis of one bit of the inverse rotations: inverts the lower bits of the first axis, or exchanges them. */
#define SAP_KEY_TURN(first, axis, bit)                                                                                 \
    {                                                                                                                  \
        const sap_cell_number set = sap_key_if(axis, bit), lower = (1U << (bit)) - 1U;                                 \
        const sap_cell_number t = ((first) ^ (axis)) & lower & ~set;                                                   \
        (first) ^= t | (lower & set);                                                                                  \
        (axis) ^= t;                                                                                                   \
    }

/* Does one bit, from the highest to bit 1, of the inverse rotations of the numbers of a cell. */
#define SAP_KEY_UNTURN(x, y, z, bit)                                                                                   \
    {                                                                                                                  \
        (x) ^= sap_key_if(x, bit) & ((1U << (bit)) - 1U);                                                              \
        SAP_KEY_TURN(x, y, bit)                                                                                        \
        SAP_KEY_TURN(x, z, bit)                                                                                        \
    }

/* Returns the key of a cell whose numbers have had their inverse rotations. */
SAP_INLINE sap_key sap_key_unturned(sap_cell_number x, sap_cell_number y, sap_cell_number z)
{
    y ^= x; /* Gray code */
    z ^= y;
    sap_cell_number turns = z >> 1; /* a bit is inverted by each bit of z above it */
    for (int shift = 1; shift < SAP_KEY_LEVELS; shift *= 2) turns ^= turns >> shift;
    return sap_key_morton(x ^ turns, y ^ turns, z ^ turns);
}

/* Returns the first 3 `levels` bits of a key, from the first `levels` bits of the numbers of a cell. */
SAP_INLINE sap_key sap_key_hilbert_of(sap_cell_number x, sap_cell_number y, sap_cell_number z, const int levels)
{
    for (int bit = levels - 1; bit > 0; bit--) SAP_KEY_UNTURN(x, y, z, bit)
    return sap_key_unturned(x, y, z);
}

/*
 * Returns the key of a particle in a tree of masses of both signs: its first digit tells the sign, and the last digit
 * of the cell is left out.  So each node below the root has masses of one sign.
 */
SAP_INLINE sap_key sap_key_with_sign(sap_key key, int is_negative)
{
    return key >> 3 | (sap_key)(is_negative ? 1 : 0) << (SAP_KEY_BITS - 3);
}

SAP_INLINE sap_key sap_key_hilbert(sap_cell_number x, sap_cell_number y, sap_cell_number z)
{
    return sap_key_hilbert_of(x, y, z, SAP_KEY_LEVELS);
}

#endif
#endif
