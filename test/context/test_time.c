/* test_time.c - a time that is not finite: sapporo_set_time fails, and forces and predictions until a time is set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"

#include <math.h>
#include <string.h>

/* The status of a force on the particle at address 0, and its potential. */
static int force(sapporo *c, double *pot)
{
    const double x[1][3] = {{0, 0, 0}};
    const int index[1] = {0};
    double acc[1][3];
    const sapporo_request request = {.size = sizeof request,
                                     .nj = 2,
                                     .ni = 1,
                                     .x = {x, 0},
                                     .v = {x, 0},
                                     .a = {x, 0},
                                     .jerk = {x, 0},
                                     .index = {index, 0}};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    sapporo_job *job;
    *pot = NAN;
    const int status = sapporo_force_begin(c, &request, &job);
    if (status) return status;
    const int ended = sapporo_force_end(job, 1, &result);
    sapporo_force_free(job);
    return ended;
}

static int neighbour_force(sapporo *c, double *pot)
{
    const int address[1] = {0}, length[1] = {1}, only = 1, *const list[1] = {&only};
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = 1, .address = address, .list = list, .length = length};
    const sapporo_result result = {.size = sizeof result, .pot = pot};
    return sapporo_neighbour_force(c, &request, &result);
}

static void check_order(int order)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    const sapporo_options options = {.size = sizeof options, .order = order, .backend = SAPPORO_BACKEND_CPU};
    const int predicts = order != 2;
    sapporo_particle got;
    double pot;
    sapporo *c;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    for (int k = 0; k < 2; k++) {
        const sapporo_particle p = {.derivative = {{2.0 * k, 0, 0}}, .mass = 1, .index = k};
        assert_int_equal(sapporo_set_particle(c, k, &p), SAPPORO_OK);
    }
    for (int k = 0; k < 3; k++) {
        assert_int_equal(sapporo_set_time(c, bad[k]), SAPPORO_ERR_NOT_FINITE);
        assert_non_null(strstr(sapporo_last_error(c), "the time is "));
        assert_int_equal(force(c, &pot), predicts ? SAPPORO_ERR_NOT_FINITE : SAPPORO_OK);
        assert_true(predicts ? isnan(pot) : pot == -0.5);
        assert_int_equal(sapporo_get_particle(c, 1, 1, &got), predicts ? SAPPORO_ERR_NOT_FINITE : SAPPORO_OK);
        assert_true(predicts ? isnan(got.derivative[0][0]) : got.derivative[0][0] == 2);
        assert_int_equal(sapporo_get_particle(c, 1, 0, &got), SAPPORO_OK);
        if (order == 4) assert_int_equal(neighbour_force(c, &pot), SAPPORO_ERR_NOT_FINITE);
        assert_int_equal(sapporo_set_time(c, 0.5), SAPPORO_OK);
        assert_int_equal(force(c, &pot), SAPPORO_OK);
        assert_true(pot == -0.5);
    }
    sapporo_close(c);
}

static void bad_times(void **state)
{
    (void)state;
    for (int order = 2; order <= 8; order += 2) check_order(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bad_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
