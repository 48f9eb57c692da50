/*
 * finite.h - tests of doubles by integers, which leave the caller's floating-point flags and traps alone.
 *
 * Numbers that, added to the exponent of a double, carry into the sign bit: if it is infinite or NaN; if it is
 * SAP_WIDE or more.
 */
#ifndef SAP_FINITE_H
#define SAP_FINITE_H

#include <stdint.h>

static const uint64_t exponent = UINT64_C(0x7FF) << 52;
static const uint64_t if_not_finite = UINT64_C(1) << 52;
static const uint64_t if_wide = (UINT64_C(2048) - 1023 - 36) << 52;

#endif
