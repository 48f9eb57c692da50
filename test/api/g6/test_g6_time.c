/* test_g6_time.c - a time that is not finite: g6_set_ti says so, and forces fail until another time is set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "g6_forms.h"

#include <math.h>

static void bad_times(void **state)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    struct g6_batch b;
    (void)state;
    g6_open_three(3);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(g6->set_ti(3, bad[k]), -1);
        assert_int_equal(g6_errors(), 1);
        g6_batch_one(&b, 10, 0);
        assert_int_equal(g6_force(3, 3, &b, 0), -1);
        g6_expect_nan(&b, 1);
        assert_true(g6_errors() > 0);
        assert_int_equal(g6->set_ti(3, 0), 0);
        g6_expect_healthy(3);
    }
    g6_errors();
}

/* A force that was begun before is a force at the time before. */
static void begun_before(void **state)
{
    struct g6_batch b;
    (void)state;
    g6_open_three(4);
    g6_batch_one(&b, 10, 0);
    g6_first(4, 3, &b, 0);
    assert_int_equal(g6->set_ti(4, NAN), -1);
    assert_int_equal(g6_last(4, 3, &b, 0), 0);
    g6_expect_three(&b, 0);
    g6_errors();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {G6_BOTH(bad_times), G6_BOTH(begun_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
