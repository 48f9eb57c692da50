/*
 * soft_double.h - double precision for devices that have none: D is the 64 bits of a double, computed by integer
 * arithmetic.
 *
 * Sums, differences, products, quotients, roots and conversions are rounded once, to nearest, ties to even, with
 * denormal numbers, infinities and zeros of both signs.  So everything that is written in terms of D (the predictor,
 * canonical distances, accumulators) has the same bits as with hardware doubles.  Only a NaN has no sign and no
 * payload. lib/physics/numbers.h has constants as bits.
 *
 * A finite number is taken apart into its sign, its exponent e (1 if the number is denormal) and m, whose bit 62 is the
 * leading one unless the number is denormal: m 2^(e - 62 - 1023).  The lowest bit of m is set if any bit below it is.
 *
 * test/physics/test_soft_double.c compiles this kernel source for the host.
 */
#ifndef SAP_SOFT_DOUBLE_H
#define SAP_SOFT_DOUBLE_H

typedef ulong D;
typedef int DM;

#define D_SIGN     0x8000000000000000UL
#define D_INFINITY 0x7FF0000000000000UL
#define D_NAN      0x7FF8000000000000UL

/* ---- parts of a number ---- */
#define d_set1(x) ((x) | 0UL) /* x is an integer of numbers.h; a floating-point number does not compile */
SAP_INLINE D d_neg(D a) { return a ^ D_SIGN; }
SAP_INLINE D d_abs(D a) { return a & ~D_SIGN; }

SAP_INLINE int d_exponent(D a)
{
    const int e = (int)(a >> 52 & 0x7FF);
    return e > 0 ? e : 1;
}

SAP_INLINE ulong d_mantissa(D a)
{
    const ulong fraction = (a & 0x000FFFFFFFFFFFFFUL) << 10;
    return (a & D_INFINITY) != 0 ? fraction | 1UL << 62 : fraction;
}

/* Returns x 2^-by, by >= 0; bits that are lost set the lowest bit. */
SAP_INLINE ulong shifted(ulong x, int by)
{
    const ulong lost = x & ((1UL << (by & 63)) - 1);
    return by > 63 ? (ulong)(x != 0) : x >> (by & 63) | (ulong)(lost != 0);
}

/* Returns m without its last `bits` bits, rounded to nearest, ties to even. */
SAP_INLINE ulong rounded(ulong m, int bits)
{
    const ulong rest = m & ((1UL << bits) - 1), tie = 1UL << (bits - 1), whole = m >> bits;
    return whole + (ulong)(rest > tie || (rest == tie && (whole & 1) != 0));
}

/* Packs sign, exponent e >= 1 and m into a double, with rounding. */
SAP_INLINE D d_packed(ulong sign, int e, ulong m)
{
    if (e > 2046) return sign | D_INFINITY;
    return sign | (((ulong)(e - 1) << 52) + rounded(m, 10)); /* a leading bit raises e, as does a carry */
}

/* Returns n 2^k as a double. */
SAP_INLINE D d_of_integer(ulong sign, ulong n, int k)
{
    const int up = (int)clz(n | 1) - 1; /* n < 2^63 */
    return n == 0 ? sign : d_packed(sign, 1023 + 62 - up + k, n << up);
}

/* ---- comparing ---- */

/* Maps a number to an integer of the same order; both zeros map to 0. */
SAP_INLINE long d_order(D a) { return (a & D_SIGN) != 0 ? -(long)d_abs(a) : (long)a; }
SAP_INLINE int d_ordered(D a, D b) { return d_abs(a) <= D_INFINITY && d_abs(b) <= D_INFINITY; }
SAP_INLINE DM d_ge(D a, D b) { return d_ordered(a, b) && d_order(a) >= d_order(b); }
SAP_INLINE DM d_gt(D a, D b) { return d_ordered(a, b) && d_order(a) > d_order(b); }
SAP_INLINE DM d_eq(D a, D b) { return d_ordered(a, b) && d_order(a) == d_order(b); }
SAP_INLINE D d_min(D a, D b) { return d_gt(b, a) ? a : b; }
SAP_INLINE D d_max(D a, D b) { return d_gt(a, b) ? a : b; }
SAP_INLINE D d_select(DM m, D a, D b) { return m ? a : b; }
SAP_INLINE DM dm_any(DM m) { return m; }

SAP_INLINE int low_word(D x) { return (int)(uint)x; }
SAP_INLINE int high_word(D x) { return (int)(uint)(x >> 32); }

/* Returns the largest power of 2^32 (times 2^-1023) that is <= |x|. */
SAP_INLINE D d_grid(D x) { return x & 0x7E00000000000000UL; }

/* ---- arithmetic ---- */

/* Returns the sum if `large` is an infinity or a NaN, and |small| <= |large|. */
SAP_INLINE D d_sum_beyond(D large, D small)
{
    const int nothing = d_abs(large) > D_INFINITY || small == d_neg(large);
    return nothing ? D_NAN : large;
}

SAP_FUNCTION D d_add(D a, D b)
{
    const int swap = d_abs(a) < d_abs(b);
    const D large = swap ? b : a, small = swap ? a : b;
    const ulong sign = large & D_SIGN;
    const int e = d_exponent(large);
    const ulong m = d_mantissa(large), less = shifted(d_mantissa(small), e - d_exponent(small));
    if (d_abs(large) >= D_INFINITY) return d_sum_beyond(large, small);
    if (((a ^ b) & D_SIGN) == 0) {
        const ulong sum = m + less, carry = sum >> 63;
        return d_packed(sign, e + (int)carry, shifted(sum, (int)carry));
    }
    const ulong left = m - less;
    if (left == 0) return 0;
    const int free = (int)clz(left) - 1, up = free < e ? free : e - 1;
    return d_packed(sign, e - up, left << up);
}

SAP_INLINE D d_sub(D a, D b) { return d_add(a, d_neg(b)); }

SAP_FUNCTION D d_mul(D a, D b)
{
    const ulong sign = (a ^ b) & D_SIGN;
    const D x = d_abs(a), y = d_abs(b);
    const ulong m = d_mantissa(a), n = d_mantissa(b);
    if (x >= D_INFINITY || y >= D_INFINITY)
        return x > D_INFINITY || y > D_INFINITY || x == 0 || y == 0 ? D_NAN : sign | D_INFINITY;
    if (x == 0 || y == 0) return sign;
    const int up = (int)clz(m), up2 = (int)clz(n); /* leading bits to bit 63: 1, but for denormal numbers */
    const ulong high = mul_hi(m << up, n << up2), low = (m << up) * (n << up2), carry = high >> 63;
    const int e = d_exponent(a) + d_exponent(b) - 1023 + 2 - up - up2 + (int)carry;
    const ulong product = shifted(high, (int)carry) | (ulong)(low != 0);
    return e < 1 ? d_packed(sign, 1, shifted(product, 1 - e)) : d_packed(sign, e, product);
}

/* Returns the quotient of two infinities, zeros or NaN, and of one of these and any number. */
SAP_INLINE D d_quotient_beyond(ulong sign, D x, D y)
{
    if (x > D_INFINITY || y > D_INFINITY || x == y) return D_NAN;
    return x == D_INFINITY || y == 0 ? sign | D_INFINITY : sign;
}

/* Computes the quotient digit by digit. */
SAP_FUNCTION D d_div(D a, D b)
{
    const ulong sign = (a ^ b) & D_SIGN;
    const D x = d_abs(a), y = d_abs(b);
    if (x >= D_INFINITY || y >= D_INFINITY || x == 0 || y == 0) return d_quotient_beyond(sign, x, y);
    const int up = (int)clz(d_mantissa(a)) - 1, up2 = (int)clz(d_mantissa(b)) - 1;
    const ulong m = d_mantissa(a) << up, n = d_mantissa(b) << up2, less = (ulong)(m < n);
    const int e = d_exponent(a) - up - d_exponent(b) + up2 + 1023 - (int)less;
    ulong rest = (m << less) - n, quotient = 1;
    for (int digit = 0; digit < 55; digit++) {
        const ulong next = rest << 1;
        rest = next >= n ? next - n : next;
        quotient = quotient << 1 | (ulong)(next >= n);
    }
    quotient = quotient << 7 | (ulong)(rest != 0);
    return e < 1 ? d_packed(sign, 1, shifted(quotient, 1 - e)) : d_packed(sign, e, quotient);
}

/* Computes the root digit by digit, because a row needs only one. */
SAP_FUNCTION D d_sqrt(D a)
{
    if (d_abs(a) > D_INFINITY || (a > D_SIGN)) return D_NAN;
    if (d_abs(a) == 0 || a == D_INFINITY) return a;
    const int up = (int)clz(d_mantissa(a)) - 1, e = d_exponent(a) - up - 1023;
    ulong m = (d_mantissa(a) << up) << (e & 1), root = 0, rest = 0; /* a = m 2^(e - 62), e even */
    for (int digit = 0; digit < 55; digit++, m <<= 2) {
        const ulong next = rest << 2 | m >> 62, less = root << 2 | 1;
        rest = next >= less ? next - less : next;
        root = root << 1 | (ulong)(next >= less);
    }
    return d_packed(0, 1023 + (e - (e & 1)) / 2, root << 8 | (ulong)(rest != 0));
}

/* ---- other numbers ---- */
SAP_INLINE D d_of_int(int x) { return d_of_integer(x < 0 ? D_SIGN : 0, x < 0 ? (ulong) - (long)x : (ulong)x, 0); }

/* Rounds towards zero; |x| < 2^31. */
SAP_INLINE int int_of_d(D x)
{
    const int e = d_exponent(x) - 1023;
    const int size = e < 0 ? 0 : (int)(d_mantissa(x) >> (62 - min(e, 31)));
    return (x & D_SIGN) != 0 ? -size : size;
}

SAP_FUNCTION D d_of_float(float x)
{
    const ulong bits = as_uint(x), sign = (bits & 0x80000000UL) << 32, size = bits & 0x7FFFFFFFUL;
    if (size >= 0x7F800000UL) return size > 0x7F800000UL ? D_NAN : sign | D_INFINITY;
    if (size < 0x00800000UL) return d_of_integer(sign, size, -149);
    return sign | ((size << 29) + (896UL << 52));
}

SAP_FUNCTION float float_of_d(D x)
{
    const uint sign = (uint)(x >> 32) & 0x80000000U;
    const int e = d_exponent(x) - 896;
    const ulong m = e < 1 ? shifted(d_mantissa(x), 1 - e) : d_mantissa(x);
    if (d_abs(x) > D_INFINITY) return as_float(0x7FC00000U);
    if (e > 254) return as_float(sign | 0x7F800000U);
    return as_float(sign | (uint)(((ulong)(e < 1 ? 0 : e - 1) << 23) + rounded(m, 39)));
}

#endif
