/*
 * numbers.h - the doubles that formulas need, each as a number and as its bits.
 *
 * On accelerators without double precision a double is stored as 64 bits and computed by integer arithmetic (SAP_BITS);
 * the compiler never sees the number.  test/physics/test_soft_double.c compares number and bits.
 */
#ifndef SAP_PHYSICS_NUMBERS_H
#define SAP_PHYSICS_NUMBERS_H

#ifdef SAP_BITS
#define SAP_NUMBER(value, bits) bits
#else
#define SAP_NUMBER(value, bits) value
#endif

#define SAP_ZERO           SAP_NUMBER(0.0, 0x0000000000000000UL)
#define SAP_THREE_QUARTERS SAP_NUMBER(0.75, 0x3FE8000000000000UL)
#define SAP_ONE            SAP_NUMBER(1.0, 0x3FF0000000000000UL)
#define SAP_THREE          SAP_NUMBER(3.0, 0x4008000000000000UL)
#define SAP_HALF           SAP_NUMBER(0.5, 0x3FE0000000000000UL)
#define SAP_THREE_EIGHTHS  SAP_NUMBER(0.375, 0x3FD8000000000000UL)
#define SAP_THIRD          SAP_NUMBER(0x1.5555555555555p-2, 0x3FD5555555555555UL)
#define SAP_FOURTH         SAP_NUMBER(0.25, 0x3FD0000000000000UL)
#define SAP_FIFTH          SAP_NUMBER(0x1.999999999999Ap-3, 0x3FC999999999999AUL)
#define SAP_SIXTH          SAP_NUMBER(0x1.5555555555555p-3, 0x3FC5555555555555UL)
#define SAP_SEVENTH        SAP_NUMBER(0x1.2492492492492p-3, 0x3FC2492492492492UL)
#define SAP_ONE_AND_HALF   SAP_NUMBER(1.5, 0x3FF8000000000000UL)
#define SAP_SEVEN_AND_HALF SAP_NUMBER(7.5, 0x401E000000000000UL)
#define SAP_LEAST_R2       SAP_NUMBER(0x1p-126, 0x3810000000000000UL)  /* SAP_TINY_R2 */
#define SAP_COINCIDENT_R2  SAP_NUMBER(0x1p-1022, 0x0010000000000000UL) /* nearer pairs in double coincide */
#define SAP_LARGEST        SAP_NUMBER(1.7976931348623157e308, 0x7FEFFFFFFFFFFFFFUL)

#define SAP_TWELVE    SAP_NUMBER(12.0, 0x4028000000000000UL)
#define SAP_MINUS_ONE SAP_NUMBER(-1.0, 0xBFF0000000000000UL)

/* Bounds of radii (radius_bounds.h). */
#define SAP_BOUND_ERROR  SAP_NUMBER(0x1p-22, 0x3E90000000000000UL)
#define SAP_BOUND_OF_LOW SAP_NUMBER(0x1p-20, 0x3EB0000000000000UL)
#define SAP_BOUND_LEAST  SAP_NUMBER(0x1p-124, 0x3830000000000000UL)

/* Ranges of lists (list_range.h). */
#define SAP_RANGE_MOST        SAP_NUMBER(0x1p100, 0x4630000000000000UL)
#define SAP_RANGE_LEAST       SAP_NUMBER(0x1p-100, 0x39B0000000000000UL) /* 1 / SAP_RANGE_MOST */
#define SAP_RANGE_RADIUS      SAP_NUMBER(0x1p98, 0x4610000000000000UL)
#define SAP_RANGE_QUAD_MOST   SAP_NUMBER(0x1p48, 0x42F0000000000000UL)
#define SAP_RANGE_QUAD_LEAST  SAP_NUMBER(0x1p-48, 0x3CF0000000000000UL)
#define SAP_RANGE_QUAD_LOST   SAP_NUMBER(0x1p-119, 0x3880000000000000UL)
#define SAP_RANGE_STEP        SAP_NUMBER(0x1p-24, 0x3E70000000000000UL) /* of `sp` and `ds` */
#define SAP_RANGE_STEP_OF_LOW SAP_NUMBER(0x1p-47, 0x3D00000000000000UL)

/* 1/n, n from 1 to 7. */
#define SAP_RECIPROCAL(n)                                                                                              \
    ((n) == 1   ? SAP_ONE                                                                                              \
     : (n) == 2 ? SAP_HALF                                                                                             \
     : (n) == 3 ? SAP_THIRD                                                                                            \
     : (n) == 4 ? SAP_FOURTH                                                                                           \
     : (n) == 5 ? SAP_FIFTH                                                                                            \
     : (n) == 6 ? SAP_SIXTH                                                                                            \
                : SAP_SEVENTH)

/* Coordinate of an empty slot in predicted form: far from all particles, but not beyond SAP_FAR. */
#define SAP_EMPTY_X SAP_NUMBER(1e15, 0x430C6BF526340000UL)

/* Accumulators (accumulate.h). */
#define SAP_UNIT_MIN   SAP_NUMBER(0x1p-863, 0x0A00000000000000UL) /* grid: biased exponents that are multiples of 32 */
#define SAP_UNIT_END   SAP_NUMBER(0x1p993, 0x7E00000000000000UL)  /* all units are below this */
#define SAP_UNIT_STEP  SAP_NUMBER(0x1p32, 0x41F0000000000000UL)
#define SAP_UNIT_BACK  SAP_NUMBER(0x1p-32, 0x3DF0000000000000UL)    /* 1 / SAP_UNIT_STEP */
#define SAP_MAGIC      SAP_NUMBER(0x1.8p52, 0x4338000000000000UL)   /* (x + magic) - magic rounds x to an integer */
#define SAP_MAGIC_3    SAP_NUMBER(0x1.8p-875, 0x0948000000000000UL) /* for the last limbs of a new accumulator */
#define SAP_MAGIC_4    SAP_NUMBER(0x1.8p-907, 0x0748000000000000UL)
#define SAP_OVERFLOWER SAP_NUMBER(0x1p64, 0x43F0000000000000UL)   /* makes units from SAP_UNIT_END on infinite */
#define SAP_KEPT_WHOLE SAP_NUMBER(0x1p-900, 0x07B0000000000000UL) /* from here on no bit is below the last unit */

#endif
