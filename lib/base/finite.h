/*
 * finite.h - tests of doubles by integers, which leave the caller's floating-point flags and traps alone.
 *
 * Numbers that, added to the exponent of a double, carry into the sign bit: if it is infinite or NaN; if it is
 * SAP_WIDE or more.
 */
#ifndef SAP_FINITE_H
#define SAP_FINITE_H

#include <stdint.h>
#include <string.h>

static const uint64_t exponent = UINT64_C(0x7FF) << 52;
static const uint64_t if_not_finite = UINT64_C(1) << 52;
static const uint64_t if_wide = (UINT64_C(2048) - 1023 - 36) << 52;

/* The bits of two doubles, which are tested at a time. */
typedef uint64_t pair __attribute__((vector_size(16)));

static inline pair carries(pair x, uint64_t add) { return (x & (pair){exponent, exponent}) + (pair){add, add}; }

/* Two doubles; (pair) of them are their bits. */
typedef double two __attribute__((vector_size(16)));

static inline pair pair_of(double x, double y) { return (pair)(two){x, y}; }

/* Two that lie side by side.  (With memcpy gcc 12 takes them apart by way of the stack.) */
static inline two two_at(const double *x)
{
    typedef double loose __attribute__((vector_size(16), aligned(8), may_alias));
    return *(const loose *)x;
}

static inline void put_two(double *to, two x) { memcpy(to, &x, sizeof x); }

/* One of each: place 0 or 1 of a, and of b. */
#if defined(__clang__)
#define sap_two_of(a, of_a, b, of_b) __builtin_shufflevector((a), (b), (of_a), 2 + (of_b))
#else
#define sap_two_of(a, of_a, b, of_b) __builtin_shuffle((a), (b), (pair){(of_a), 2 + (of_b)})
#endif

/* Whether either of two has carried. */
static inline int carried(pair c) { return (c[0] | c[1]) >> 63 != 0; }

/* Whether all three coordinates are finite. */
static inline int finite_place(const double *x)
{
    return !carried(carries(pair_of(x[0], x[1]), if_not_finite) | carries(pair_of(x[2], 0), if_not_finite));
}

#endif
