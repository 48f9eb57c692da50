/*
 * test_accum_scale.c - an accumulator that is multiplied by a power of two on the grid is the accumulator of deposits
 * that were multiplied, to the bit; beyond its range, too.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/units.h"
#include "rng.h"

enum { DEPOSITS = 40, TRIALS = 4000 };

/* Makes accumulators of deposits of about 2^middle, and of the same multiplied by 2^exponent. */
static void deposit(rng *random, int middle, int exponent, struct sap_accum *a, struct sap_accum *b)
{
    sap_accum_clear(a);
    sap_accum_clear(b);
    for (int k = 0; k < DEPOSITS; k++) {
        const double x = ldexp(rng_uniform(random) - 0.5, middle + (int)(rng_next(random) % 120) - 60);
        sap_accum_add(a, x);
        sap_accum_add(b, ldexp(x, exponent));
    }
}

static void same_as_deposits(void **state)
{
    rng random;
    (void)state;
    rng_seed(&random, 1, 2);
    for (int k = 0; k < TRIALS; k++) {
        const int middle = (int)(rng_next(&random) % 801) - 400, exponent = 32 * ((int)(rng_next(&random) % 25) - 12);
        struct sap_accum a, b;
        deposit(&random, middle, exponent, &a, &b);
        sap_accum_scale(&a, exponent);
        assert_memory_equal(&a, &b, sizeof a);
        sap_accum_scale(&a, -exponent);
        assert_true(sap_accum_round(&a) == ldexp(sap_accum_round(&b), -exponent));
    }
}

/* Totals that leave the range are infinite or vanish; zeros stay as they are. */
static void ends_of_range(void **state)
{
    struct sap_accum a, empty;
    (void)state;
    sap_accum_clear(&a);
    sap_accum_clear(&empty);
    sap_accum_scale(&a, 640);
    assert_memory_equal(&a, &empty, sizeof a);
    sap_accum_add(&a, -0x1p600);
    sap_accum_scale(&a, 640);
    assert_true(sap_accum_round(&a) == -INFINITY);
    sap_accum_clear(&a);
    sap_accum_add(&a, 0x1p-600);
    sap_accum_scale(&a, -640);
    assert_true(sap_accum_round(&a) == 0);
    sap_accum_add(&a, 1);
    assert_true(sap_accum_round(&a) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_deposits), cmocka_unit_test(ends_of_range)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
