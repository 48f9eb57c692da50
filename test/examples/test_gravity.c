/* test_gravity.c - masses times G, and back: products stay the same however often masses are written and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gravity.h"
#include "rng.h"

#include <math.h>
#include <string.h>

enum { N = 20000 };

static const double CONSTANTS[] = {4.30091e-3, 0.0043, 6.6743e-11, 39.476926408897626, 3.0, 0.1};

/* Masses that are written, multiplied by G as they are read, give the products that were integrated, to the bit. */
static void test_products_stay(void **state)
{
    (void)state;
    static double mass[N], product[N];
    bodies set;
    message why = {""};
    rng source;
    rng_seed(&source, 7, 0);
    assert_int_equal(bodies_allocate(&set, N), 0);
    for (size_t c = 0; c < sizeof CONSTANTS / sizeof *CONSTANTS; c++) {
        for (int k = 0; k < N; k++) set.mass[k] = k % 100 ? rng_uniform(&source) : 0;
        memcpy(mass, set.mass, sizeof mass);
        assert_int_equal(gravity_take(CONSTANTS[c], &set, &why), 0);
        memcpy(product, set.mass, sizeof product);
        gravity_give(CONSTANTS[c], &set, set.mass);
        for (int k = 0; k < N; k++) assert_true(fabs(set.mass[k] - mass[k]) <= 0x1p-52 * mass[k]);
        assert_int_equal(gravity_take(CONSTANTS[c], &set, &why), 0);
        assert_memory_equal(set.mass, product, sizeof product);
    }
    bodies_free(&set);
}

/* A mass whose product is no number of double is refused by its id. */
static void test_out_of_range(void **state)
{
    (void)state;
    static const struct {
        double mass, G;
    } wrong[] = {{1e300, 1e10}, {1e-300, 1e-30}};
    bodies set;
    assert_int_equal(bodies_allocate(&set, 2), 0);
    for (size_t k = 0; k < 2; k++) {
        message why = {""};
        set.id[1] = 3000000000;
        set.mass[0] = 0;
        set.mass[1] = wrong[k].mass;
        assert_int_equal(gravity_take(wrong[k].G, &set, &why), -1);
        assert_non_null(strstr(why.text, "3000000000"));
    }
    bodies_free(&set);
}

/* Energies and angular momenta are the user's; the virial ratio has no unit. */
static void test_report(void **state)
{
    (void)state;
    const report product = {.kinetic = 2, .potential = -6, .energy = -4, .momentum = {2, 4, 6}, .spin = 8, .virial = 3};
    const report users = gravity_report(2, product);
    assert_true(users.kinetic == 1 && users.potential == -3 && users.energy == -2 && users.spin == 4);
    assert_true(users.momentum[0] == 1 && users.momentum[1] == 2 && users.momentum[2] == 3 && users.virial == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products_stay), cmocka_unit_test(test_out_of_range),
                                       cmocka_unit_test(test_report)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
