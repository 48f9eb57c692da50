/*
 * test_soft_double.c - kernels_ocl/soft_double.h, compiled for the host, against the host's double precision: every
 * bit; and the numbers of lib/physics/numbers.h against their bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What OpenCL C has and C has not. */
#define SAP_INLINE   static inline
#define SAP_FUNCTION static
#define min(a, b)    ((a) < (b) ? (a) : (b))
#define clz(x)       __builtin_clzll(x)
#define ulong        uint64_t
#define uint         uint32_t
__extension__ typedef unsigned __int128 wide_product;
static uint64_t mul_hi(uint64_t a, uint64_t b) { return (uint64_t)((wide_product)a * b >> 64); }

static float as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t as_uint(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#include "../kernels_ocl/soft_double.h"
#include "physics/numbers.h"

static double of_bits(D bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static D bits_of(double x)
{
    D bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---------------------------------------------------------------- operands */

static uint64_t state = 1;

static uint64_t draw(void)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return state ^ state >> 31;
}

/* Ends of ranges of exponents and mantissas, and all in between. */
static D operand(int form)
{
    static const D ends[] = {0,
                             1,
                             0x000FFFFFFFFFFFFF,
                             0x0010000000000000,
                             0x3FF0000000000000,
                             0x7FEFFFFFFFFFFFFF,
                             0x7FF0000000000000,
                             0x7FF8000000000000,
                             0x36A0000000000000,
                             0x380FFFFFE0000000};
    const uint64_t any = draw(), sign = draw() & D_SIGN;
    switch (form) {
    case 0: /* any bits */
        return any;
    case 1: /* exponents of 100 around 1 */
        return sign | ((1023 - 50 + draw() % 100) << 52) | (any & 0x000FFFFFFFFFFFFF);
    case 2: /* few bits at both ends of the mantissa */
        return sign | ((1023 - 60 + draw() % 120) << 52) | (any & 0x000E000000000007);
    case 3: /* denormal, or nearly */
        return sign | (any & 0x003FFFFFFFFFFFFF) >> draw() % 54;
    case 4: /* about what a float holds */
        return sign | ((1023 - 152 + draw() % 284) << 52) | (any & 0x000FFFFFFFFFFFFF & ~(uint64_t)0 << draw() % 52);
    default:
        return sign | ends[any % (sizeof ends / sizeof *ends)];
    }
}

enum { FORMS = 6, TURNS = 60000 };

static void same(const char *what, D a, D b, D got, double expected)
{
    const D right = bits_of(expected);
    if (isnan(expected) ? isnan(of_bits(got)) : got == right) return;
    fail_msg("%s of %a and %a: %a instead of %a", what, of_bits(a), of_bits(b), of_bits(got), expected);
}

static void check_pair(D a, D b)
{
    const volatile double x = of_bits(a), y = of_bits(b); /* not folded: as the machine computes */
    same("sum", a, b, d_add(a, b), x + y);
    same("difference", a, b, d_sub(a, b), x - y);
    same("product", a, b, d_mul(a, b), x * y);
    same("quotient", a, b, d_div(a, b), x / y);
    same("smaller", a, b, d_min(a, b), x < y ? x : y);
    same("larger", a, b, d_max(a, b), x > y ? x : y);
    assert_int_equal(d_ge(a, b), x >= y);
    assert_int_equal(d_gt(a, b), x > y);
    assert_int_equal(d_eq(a, b), x == y);
}

static void pairs(void **unused)
{
    (void)unused;
    for (int f = 0; f < FORMS; f++)
        for (int g = 0; g < FORMS; g++)
            for (int k = 0; k < TURNS; k++) {
                const D a = operand(f), b = operand(g);
                check_pair(a, b);
                check_pair(a, a ^ (draw() & 3) ^ (draw() & D_SIGN)); /* nearly the same size */
            }
}

static void singles(void **unused)
{
    (void)unused;
    for (int f = 0; f < FORMS; f++)
        for (int k = 0; k < TURNS; k++) {
            const D a = operand(f);
            const volatile double x = of_bits(a);
            const volatile float narrow = (float)x;
            const uint32_t bits = (uint32_t)draw();
            const volatile float any = as_float(bits);
            same("root", a, a, d_sqrt(a), sqrt(x));
            same("opposite", a, a, d_neg(a), -x);
            same("size", a, a, d_abs(a), fabs(x));
            same("grid", a, a, d_grid(a), of_bits(a & 0x7E00000000000000));
            same("float", a, a, d_of_float(any), (double)any);
            if (isnan(x))
                assert_true(isnan(float_of_d(a)));
            else
                assert_int_equal(as_uint(float_of_d(a)), as_uint(narrow));
            if (fabs(x) < 2147483648.0) assert_int_equal(int_of_d(a), (int)x);
            same("integer", a, a, d_of_int((int32_t)bits), (double)(int32_t)bits);
        }
    for (int n = -5; n <= 5; n++) assert_int_equal(int_of_d(d_of_int(n)), n);
    same("integer", 0, 0, d_of_int(INT32_MIN), -2147483648.0);
}

/* ---------------------------------------------------------------- constants */

/* Each `#define NAME SAP_NUMBER(number, bits)` of the file. */
static void numbers(void **unused)
{
    char line[400];
    int found = 0;
    FILE *f = fopen("lib/physics/numbers.h", "r");
    (void)unused;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        const char *at = strstr(line, " SAP_NUMBER(");
        if (!at || strncmp(line, "#define SAP_NUMBER", 18) == 0) continue;
        char *end;
        const double number = strtod(strchr(at, '(') + 1, &end);
        assert_int_equal(*end, ',');
        const unsigned long long bits = strtoull(end + 1, &end, 16);
        assert_int_equal(strncmp(end, "UL)", 3), 0);
        if (bits_of(number) != bits) fail_msg("%a is not %#llx", number, bits);
        found++;
    }
    assert_true(found >= 10);
    for (int n = 1; n <= 7; n++) assert_true(SAP_RECIPROCAL(n) == 1.0 / n);
    assert_int_equal(fclose(f), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs),
        cmocka_unit_test(singles),
        cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests_name("soft double", tests, NULL, NULL);
}
