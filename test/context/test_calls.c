/*
 * test_calls.c - the bracket of public calls: numbers that a call returns are those of the library's arithmetic,
 * whatever rounding the caller has set, and the caller's rounding is as before.
 */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stepper_places.h"
#include "tree_cases.h"

#include <math.h>
#include <string.h>

#include "context/partial.h"

enum { MODES = 4, N = 300, STEPS = 60 };

static const int modes[MODES] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/* Compares what a call gives in each rounding mode with what it gives when rounding to nearest. */
static void same_in_all(void (*call)(void *object, double *to), void *object, int n)
{
    double first[64], now[64];
    assert_true(n <= 64);
    for (int k = 0; k < MODES; k++) {
        memset(now, 0, sizeof now);
        assert_int_equal(fesetround(modes[k]), 0);
        call(object, k ? now : first);
        const int kept = fegetround() == modes[k];
        assert_int_equal(fesetround(FE_TONEAREST), 0);
        assert_true(kept);
        if (k) assert_memory_equal(now, first, (size_t)n * sizeof *now);
    }
}

static void read_time(void *stepper, double *to) { *to = sapporo_stepper_get_time(stepper); }

static void read_interactions(void *stepper, double *to)
{
    sapporo_stepper_statistics s = {.size = sizeof s};
    assert_int_equal(sapporo_stepper_get_statistics(stepper, &s), SAPPORO_OK);
    *to = s.interactions;
}

/* Times are sums and products of doubles, of which many round differently upward. */
static void steppers(void **state)
{
    (void)state;
    const sapporo_tree_options tree = {.size = sizeof tree, .eps2 = 1e-2, .backend = SAPPORO_BACKEND_CPU};
    const sapporo_stepper_options o = {.size = sizeof o, .tree = &tree, .dt = 0.001};
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_stepper *const s = stepper_make(&o, N);
    stepper_put(s, N, b.x, b.v, b.mass, 0.3);
    for (int k = 0; k < STEPS; k++) {
        same_in_all(read_time, s, 1);
        same_in_all(read_interactions, s, 1);
        stepper_advance(s, INFINITY, 1);
    }
    sapporo_stepper_destroy(s);
    bodies_free(&b);
    same_in_all(read_time, NULL, 0);
}

/* x, v, mass and time of a particle that the context keeps in other units. */
static void read_row(void *context, double *to) { assert_int_equal(sap_partial_read(context, 0, 1, to), SAPPORO_OK); }

static void read_particle(void *context, double *to)
{
    sapporo_particle p;
    assert_int_equal(sapporo_get_particle(context, 0, 1, &p), SAPPORO_OK);
    memcpy(to, p.derivative, sizeof p.derivative);
}

static void contexts(void **state)
{
    (void)state;
    const sapporo_options o = {.size = sizeof o, .backend = SAPPORO_BACKEND_CPU, .precision = SAPPORO_DP};
    const sapporo_particle p = {.derivative = {{0.1, 1.0 / 3, -0.7}, {0.1, 0.2, 0.3}, {0.3, 0.1, 0.7}, {0.7, 0.1, 0.3}},
                                .mass = 0.1,
                                .time = 0.1};
    sapporo *c;
    assert_int_equal(sapporo_open(&o, &c), SAPPORO_OK);
    assert_int_equal(sapporo_set_particle(c, 0, &p), SAPPORO_OK);
    for (int k = 0; k < STEPS; k++) {
        assert_int_equal(sapporo_set_time(c, 0.1 + 0.001 * k), SAPPORO_OK);
        same_in_all(read_row, c, 15);
        same_in_all(read_particle, c, 3 * SAPPORO_DERIVATIVES);
    }
    sapporo_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steppers), cmocka_unit_test(contexts)};
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
