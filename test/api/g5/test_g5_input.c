/* test_g5_input.c - the GRAPE-5 calls: bad input and calls out of order (13). */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "g5_forms.h"

enum { MOST = 65535 }; /* the highest device id */

static void bad_softening(void **state)
{
    (void)state;
    const double bad[] = {-1, NAN, INFINITY};
    struct g5_batch b;
    const int id = g5_new_device();
    g5_load_three(id);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(g5->eps2_to_all(bad[k]), -1);
        assert_int_equal(g6_errors(), 1);
        assert_int_equal(g5_force(id, 3, &b), -1);
        g5_expect_nan(&b, 3);
        assert_int_equal(g6_errors(), 1);
        assert_int_equal(g5->eps2_to_all(1), 0);
        g5_expect_three(id, 1);
    }
}

/* A length may have either sign, but its square must be a number. */
static void bad_lengths(void **state)
{
    (void)state;
    static const double bad[] = {NAN, -INFINITY, 1e200};
    struct g5_batch b;
    const int id = g5_new_device();
    g5_load_three(id);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(g5->eps_to_all(bad[k]), -1);
        assert_int_equal(g6_errors(), 1);
        assert_int_equal(g5_force(id, 3, &b), -1);
        g5_expect_nan(&b, 3);
        assert_int_equal(g6_errors(), 1);
        assert_int_equal(g5->eps_to_all(-1), 0);
        g5_expect_three(id, 1);
    }
    g6_errors();
}

/* A softening of one pipe that is none: the call says so, and forces are NaN until i-particles are set again. */
static void bad_softening_of_pipes(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    struct g5_batch b = {.p = {0}};
    const int id = g5_new_device();
    g5_load_three(id);
    for (int k = 0; k < 3; k++) {
        double eps[3] = {1, bad[k], 1};
        g6_errors();
        assert_int_equal(g5->set_xepsi(id, 3, g5_three_x, eps), -1);
        assert_int_equal(g6_errors(), 1);
        assert_int_equal(g5->run(id), -1);
        assert_int_equal(g5->get_force(id, 3, b.a, b.p), -1);
        g5_expect_nan(&b, 3);
        assert_int_equal(g5->set_xi(id, 3, g5_three_x), 0);
        assert_int_equal(g5->set_eps2(id, 3, eps), -1);
        assert_int_equal(g5->run(id), -1);
        assert_int_equal(g5->set_xi(id, 3, g5_three_x), 0);
        assert_int_equal(g5->run(id), 0);
        assert_int_equal(g5->get_force(id, 3, b.a, b.p), 0);
    }
    g6_errors();
}

/* Ranges are not needed, but a number that is none is an error. */
static void bad_ranges(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    const int id = g5_new_device();
    double low, high, mass;
    g5_load_three(id);
    assert_int_equal(g5->set_range(id, -2, 3, 4), 0);
    for (int k = 0; k < 9; k++) {
        const double x = bad[k / 3];
        assert_int_equal(g5->set_range(id, k % 3 == 0 ? x : -1, k % 3 == 1 ? x : 1, k % 3 == 2 ? x : 1), -1);
        assert_int_equal(g6_errors(), 1);
    }
    assert_int_equal(g5->get_range(id, &low, &high, &mass), 0);
    assert_true(low == -2 && high == 3 && mass == 4);
}

static void bad_loads(void **state)
{
    (void)state;
    const int id = g5_new_device();
    g5_load_three(id);
    assert_int_equal(g5->set_xmj(id, -1, 3, g5_three_x, g5_three_m), -1);
    assert_int_equal(g5->set_xmj(id, INT_MAX, 1, g5_three_x, g5_three_m), -1);
    assert_int_equal(g5->set_xmj(id, 0, -1, g5_three_x, g5_three_m), -1);
    assert_int_equal(g5->set_xmj(id, 0, 3, NULL, g5_three_m), -1);
    assert_int_equal(g5->set_jp(id, 0, 3, NULL, g5_three_x), -1);
    assert_int_equal(g5->set_xj(id, 0, 3, NULL), -1);
    assert_int_equal(g5->set_mj(id, 0, 3, NULL), -1);
    assert_int_equal(g6_errors(), 7);
    assert_int_equal(g5->set_xmj(id, 0, 0, NULL, NULL), 0);
    g5_expect_three(id, 0);
    assert_int_equal(g6_errors(), 0);
}

static void bad_particles(void **state)
{
    (void)state;
    struct g5_batch b;
    const int id = g5_new_device();
    for (int k = 0; k < 4; k++) {
        vec3 x[3];
        double m[3];
        memcpy(x, g5_three_x, sizeof x);
        memcpy(m, g5_three_m, sizeof m);
        if (k < 3)
            x[1][k] = k == 1 ? INFINITY : NAN;
        else
            m[2] = NAN;
        assert_int_equal(g5->set_xmj(id, 0, 3, x, m), -1);
        assert_int_equal(g6_errors(), 1);
        g5->set_n(id, 3);
        g5_force(id, 2, &b);
        for (int i = 0; i < 2; i++) assert_true(isnan(b.p[i]));
        g6_errors(), g6_warnings();
        g5_load_three(id);
        g5_expect_three(id, 0);
    }
}

static void steps_out_of_order(void **state)
{
    (void)state;
    struct g5_batch b;
    const int id = g5_new_device();
    g5_load_three(id);
    g5_force(id, 3, &b);
    assert_int_equal(g5->get_force(id, 3, b.a, b.p), -1); /* nothing was run */
    g5_expect_nan(&b, 3);
    g5->set_xi(id, 3, b.x);
    g5_force(id, 3, &b);
    assert_int_equal(g5->get_force(id, 3, b.a, b.p), -1);
    g5_expect_nan(&b, 3);
    assert_true(g6_errors() >= 1);
    g5->run(id);
    assert_int_equal(g5->get_force(id, 4, b.a, b.p), -1); /* more than were set */
    g5_expect_nan(&b, 4);
    assert_int_equal(g5->get_force(id, 3, b.a, b.p), 0);
    g6_near(b.p[0], 4);
    g5_force(id, 0, &b);
    assert_int_equal(g5->get_force(id, 0, b.a, b.p), 0);
    assert_int_equal(g6_errors(), 1);
    assert_int_equal(g5->get_force(id, -1, b.a, b.p), -1);
    g5_expect_untouched(&b);
    assert_int_equal(g5->set_xi(id, -1, b.x), -1);
    assert_int_equal(g5->set_xi(id, 2, NULL), -1);
    assert_int_equal(g5->run(id), -1);
    assert_int_equal(g5->get_force(id, 2, b.a, b.p), -1);
    g5_expect_nan(&b, 2);
    assert_true(g6_errors() >= 3);
    assert_int_equal(g5->set_xi(id, 0, NULL), 0);
    assert_int_equal(g5->run(id), 0);
}

static void odd_calls(void **state)
{
    (void)state;
    struct g5_batch b;
    const int id = g5_new_device();
    g5_load_three(id);
    assert_int_equal(g5_force(id, 0, &b), 0);
    g5_expect_untouched(&b);
    assert_int_equal(g5_force(id, -1, &b), -1);
    g5_expect_untouched(&b);
    assert_int_equal(g5->calculate(id, NULL, b.a, b.p, 2), -1);
    g5_expect_nan(&b, 2);
    assert_int_equal(g6_errors(), 2);
    g5_force(id, 2, &b);
    b.p[0] = b.a[0][0] = 0;
    assert_int_equal(g5->calculate(id, b.x, NULL, b.p, 2), -1);
    g6_near(b.p[0], 4);
    assert_int_equal(g5->calculate(id, b.x, b.a, NULL, 2), -1);
    g6_near(b.a[0][0], 2);
    assert_int_equal(g6_errors(), 2);
}

static void bad_rows(void **state)
{
    (void)state;
    struct g5_batch b;
    const int id = g5_new_device();
    g5_load_three(id);
    g5_force(id, 3, &b);
    b.x[1][0] = NAN;
    assert_int_equal(g5->calculate(id, b.x, b.a, b.p, 3), 1);
    g6_near(b.p[0], g5_pot_of_three(0, 0));
    g6_near(b.p[2], g5_pot_of_three(2, 0));
    assert_true(isnan(b.p[1]) && isnan(b.a[1][0]) && isnan(b.a[1][2]));
    g5_expect_three(id, 0);
    assert_int_equal(g6_warnings(), 1);
}

static void device_ids(void **state)
{
    (void)state;
    static const int bad[] = {-1, INT_MIN, MOST + 1, INT_MAX};
    struct g5_batch b;
    double x;
    for (int k = 0; k < 4; k++) {
        const int id = bad[k];
        assert_int_equal(g5->open(id), -1);
        assert_int_equal(g5->close(id), -1);
        assert_int_equal(g5->set_n(id, 1), -1);
        assert_int_equal(g5->set_xmj(id, 0, 3, g5_three_x, g5_three_m), -1);
        assert_int_equal(g5->set_range(id, 0, 1, 1), -1);
        assert_int_equal(g5->get_range(id, &x, &x, &x), -1);
        assert_int_equal(g5_force(id, 3, &b), -1);
        g5_expect_nan(&b, 3);
        assert_int_equal(g5->set_xi(id, 1, b.x), -1);
        assert_int_equal(g5->set_eps(id, 1, b.p), -1);
        assert_int_equal(g5->run(id), -1);
        assert_int_equal(g5_force(id, 0, &b), -1);
        assert_int_equal(g5->get_force(id, 2, b.a, b.p), -1);
        g5_expect_nan(&b, 2);
    }
    g6_errors();
    g5_load_three(MOST);
    g5_expect_three(MOST, 0);
    assert_int_equal(g6_errors(), 0);
}

static void forgotten_count(void **state)
{
    (void)state;
    struct g5_batch b;
    const int id = g5_new_device();
    g5->set_xmj(id, 0, 3, g5_three_x, g5_three_m);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(g5_force(id, 1, &b), 0);
        assert_true(b.p[0] == 0);
    }
    assert_int_equal(g6_warnings(), 1);
}

/* A device that is closed keeps its particles, and neither i-particles nor a force; after a failed call it has none. */
static void nothing_is_left(void **state)
{
    double eps2[3] = {1, 1, 1};
    struct g5_batch b;
    (void)state;
    const int id = g5_new_device();
    g5_load_three(id);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(g5_force(id, 3, &b), 0);
        assert_int_equal(g5->set_xi(id, 3, b.x), 0);
        assert_int_equal(g5->run(id), 0);
        assert_int_equal(g5->get_force(id, 3, b.a, b.p), 0);
        g6_near(b.p[0], 4);
        if (k < 2) assert_int_equal(g5->close(id), 0);
        if (k == 1) assert_int_equal(g5->open(id), 0);
        if (k == 2) assert_int_equal(g5->set_xi(id, -1, b.x), -1);
        assert_int_equal(g6_errors(), k == 2);
        assert_int_equal(g5->get_force(id, 3, b.a, b.p), -1);
        g5_expect_nan(&b, 3);
        g6_errors();
        assert_int_equal(g5->set_eps2(id, 3, eps2), -1); /* there are no pipes to soften */
        assert_int_equal(g6_errors(), 1);
        (void)g5->run(id);
        assert_int_equal(g5->get_force(id, 3, b.a, b.p), -1);
        g5_expect_nan(&b, 3);
        g6_errors();
        assert_int_equal(g5->set_xi(id, 1, b.x), 0);
    }
    g5_expect_three(id, 0);
}

/* A device that could not be opened opens when its variables are right; forces between are NaN. */
static void open_again(void **state)
{
    struct g5_batch b;
    (void)state;
    const int id = g5_new_device();
    setenv("SAPPORO_METHOD", "guess", 1);
    assert_int_equal(g5->open(id), -1);
    assert_int_equal(g6_errors(), 1);
    setenv("SAPPORO_METHOD", "direct", 1);
    assert_int_equal(g5_force(id, 2, &b), -1); /* not before it is opened again */
    g5_expect_nan(&b, 2);
    assert_int_equal(g5->open(id), 0);
    unsetenv("SAPPORO_METHOD");
    g6_errors();
    g5_load_three(id);
    g5_expect_three(id, 0);
    assert_int_equal(g6_errors(), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        G5_BOTH(bad_softening), G5_BOTH(bad_lengths),   G5_BOTH(bad_softening_of_pipes), G5_BOTH(bad_ranges),
        G5_BOTH(bad_loads),     G5_BOTH(bad_particles), G5_BOTH(steps_out_of_order),     G5_BOTH(odd_calls),
        G5_BOTH(bad_rows),      G5_BOTH(device_ids),    G5_BOTH(forgotten_count),        G5_BOTH(nothing_is_left),
        G5_BOTH(open_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
