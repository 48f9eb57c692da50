/*
 * finite.h - tests doubles with integer operations, which do not depend on the floating-point environment.
 *
 * A test adds a number to the finite_exponent bits of a double.  The sum carries into the sign bit if the double is
 * infinite or NaN (if_not_finite), or if its absolute value is SAP_WIDE or more (if_wide).
 */
#ifndef SAP_FINITE_H
#define SAP_FINITE_H

#include <stdint.h>
#include <string.h>

static const uint64_t finite_exponent = UINT64_C(0x7FF) << 52;
static const uint64_t if_not_finite = UINT64_C(1) << 52;
static const uint64_t if_wide = (UINT64_C(2048) - 1023 - 36) << 52;

/* The bits of two doubles, which are tested together. */
typedef uint64_t pair __attribute__((vector_size(16)));

static inline pair carries(pair x, uint64_t add)
{
    return (x & (pair){finite_exponent, finite_exponent}) + (pair){add, add};
}

/* Two doubles; a cast to pair gives their bits. */
typedef double two __attribute__((vector_size(16)));

static inline pair pair_of(double x, double y) { return (pair)(two){x, y}; }

/* Loads two adjacent doubles.  (For memcpy gcc 12 generates a detour over the stack.) */
static inline two two_at(const double *x)
{
    typedef double loose __attribute__((vector_size(16), aligned(8), may_alias));
    return *(const loose *)x;
}

static inline void put_two(double *to, two x) { memcpy(to, &x, sizeof x); }

/* A vector of element of_a (0 or 1) of a and element of_b of b. */
#if defined(__clang__)
#define sap_two_of(a, of_a, b, of_b) __builtin_shufflevector((a), (b), (of_a), 2 + (of_b))
#else
#define sap_two_of(a, of_a, b, of_b) __builtin_shuffle((a), (b), (pair){(of_a), 2 + (of_b)})
#endif

/* Whether one of the two sums has carried. */
static inline int carried(pair c) { return (c[0] | c[1]) >> 63 != 0; }

/* Whether a number is finite. */
static inline int finite_number(double x) { return !carried(carries(pair_of(x, 0), if_not_finite)); }

/* Whether a number is finite and not negative: a softening, a squared length.  -0 is not negative. */
static inline int finite_length(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return finite_number(x) && (bits >> 63 == 0 || bits << 1 == 0);
}

/* Whether all three coordinates are finite. */
static inline int finite_place(const double *x)
{
    return !carried(carries(pair_of(x[0], x[1]), if_not_finite) | carries(pair_of(x[2], 0), if_not_finite));
}

#endif
