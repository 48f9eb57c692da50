/* test_not_finite.c - one particle that is not finite does not change the forces on which it does not act. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"

enum { OWN, NEAR, FAR, LOST, MANY = 20 }; /* from LOST on, so many are NaN: one of them in each lane of a vector */

/* A particle at x, and one of NaN. */
static void store(sapporo *c, int address, double x)
{
    sapporo_particle p = {.derivative = {{x, 0, 0}}, .mass = 0.875, .index = 10 + address};
    assert_int_equal(sapporo_set_particle(c, address, &p), isfinite(x) ? SAPPORO_OK : SAPPORO_ERR_NOT_FINITE);
}

/* The force on OWN from its list alone; a second row has a list of `other`, or of so many from there on. */
static struct answer force(sapporo *c, const int *list, int n, int other, int nother)
{
    int rest[MANY];
    for (int k = 0; k < nother; k++) rest[k] = other + k;
    const int address[2] = {OWN, NEAR}, length[2] = {n, nother}, *const lists[2] = {list, rest};
    double acc[2][3], jerk[2][3], pot[2], r2[2] = {-1, -1};
    int nearest[2];
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = 2, .address = address, .list = lists, .length = length};
    const sapporo_result result = {
        .size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot, .nearest = nearest, .nearest_r2 = r2};
    struct answer a = {.pot = 0};
    sapporo_particle own;
    assert_int_equal(sapporo_get_particle(c, OWN, 0, &own), SAPPORO_OK);
    assert_int_equal(sapporo_neighbour_force(c, &request, &result),
                     isfinite(own.derivative[0][0]) ? SAPPORO_OK : SAPPORO_PARTIAL);
    memcpy(a.acc, acc[0], sizeof a.acc);
    memcpy(a.jerk, jerk[0], sizeof a.jerk);
    a.pot = pot[0];
    a.nearest = nearest[0];
    a.nearest_r2 = r2[0];
    return a;
}

static sapporo *open_with_all(const struct engine *e, double far)
{
    sapporo *const c = engine_open(e, 1);
    store(c, OWN, 0);
    store(c, NEAR, 1);
    store(c, FAR, far);
    for (int k = 0; k < MANY; k++) store(c, LOST + k, NAN);
    store(c, LOST + MANY + 1,
          2); /* behind a gap: particles are predicted before the sums, those of all lists together */
    return c;
}

/* In dp, roots of large distances have kernels of their own: which is needed must not depend on NaN. */
static void far_beside_nan(void **state)
{
    (void)state;
    for (int k = 0; k < CPU_ENGINES; k++) {
        const struct engine *const e = &engines[k];
        const int far = FAR;
        if (e->precision != SAPPORO_DP || !engine_usable(e)) continue;
        sapporo *const c = open_with_all(e, 0x1p123);
        const struct answer beside = force(c, &far, 1, LOST, MANY);
        assert_int_equal(sapporo_set_time(c, 1), SAPPORO_OK); /* all are predicted again */
        const struct answer alone = force(c, &far, 1, NEAR, 1);
        assert_true(alone.acc[0] > 0);
        answers_same(e->name, &beside, &alone, 1, OUT_NEAREST);
        sapporo_close(c);
    }
}

/* A particle that is NaN is never the nearest neighbour, at any place of a list. */
static void nan_is_not_nearest(void **state)
{
    (void)state;
    for (int k = 0; k < CPU_ENGINES; k++) {
        const struct engine *const e = &engines[k];
        const int first[3] = {LOST, NEAR, FAR}, last[3] = {FAR, NEAR, LOST}, only = LOST;
        if (!engine_usable(e)) continue;
        sapporo *const c = open_with_all(e, 3);
        assert_int_equal(force(c, first, 3, FAR, 1).nearest, 10 + NEAR);
        assert_int_equal(force(c, last, 3, FAR, 1).nearest, 10 + NEAR);
        assert_int_equal(force(c, &only, 1, FAR, 1).nearest, -1);
        store(c, OWN, NAN); /* no distance is a number */
        assert_int_equal(force(c, first + 1, 2, FAR, 1).nearest, -1);
        assert_int_equal(force(c, first + 1, 1, FAR, 1).nearest, -1);
        sapporo_close(c);
    }
}

/* Places that are not finite are told where there is no particle, too. */
static void places_of_an_empty_tree(void **state)
{
    static const sapporo_backend backends[] = {SAPPORO_BACKEND_CPU, SAPPORO_BACKEND_OPENCL, SAPPORO_BACKEND_CUDA,
                                               SAPPORO_BACKEND_HIP};
    double x[2][3] = {{0, 0, 0}, {0, NAN, 0}}, acc[2][3], pot[2];
    (void)state;
    for (int k = 0; k < 4; k++) {
        sapporo_tree *t;
        const sapporo_tree_options options = {.size = sizeof options, .backend = backends[k]};
        const sapporo_tree_request request = {.size = sizeof request, .ni = 2, .x = {x, 0}};
        if (sapporo_tree_create(&options, 4, &t)) continue; /* no such device here */
        assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
        assert_int_equal(sapporo_tree_force(t, &request, acc, pot), SAPPORO_PARTIAL);
        assert_true(pot[0] == 0 && acc[0][0] == 0 && isnan(pot[1]) && isnan(acc[1][0]));
        sapporo_tree_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_of_an_empty_tree), cmocka_unit_test(far_beside_nan),
                                       cmocka_unit_test(nan_is_not_nearest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
