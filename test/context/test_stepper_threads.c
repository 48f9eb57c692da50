/*
 * test_stepper_threads.c - steppers of the CPU over a source of forces, as those over ranks are: a source that names no
 * number of threads gets as many as OMP_NUM_THREADS says.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/team.h"
#include "engine/engine.h"
#include "engine/stepper_ops.h"

enum { N = 100000, THREADS = 3 };

static int no_force(void *of, const struct sap_step_rows *rows)
{
    (void)of, (void)rows;
    return SAPPORO_OK;
}

/* Takes and predicts particles; returns the worker threads that then exist. */
static int workers_of(int threads)
{
    static double x[N][3], mass[N];
    const struct sap_stepper_ops *const ops = sap_fallback_engine()->stepper;
    const struct sap_step_source source = {.force = no_force, .threads = threads};
    const struct sap_stepper_settings settings = {.rule = {.eta = 1, .levels = 1}};
    const struct sap_step step = {.dt = 1};
    const struct sap_step_particles particles = {.n = N, .x = {x, 0}, .v = {x, 0}, .mass = {mass, 0}, .gravity = 1};
    struct sap_stepper *s = NULL;
    int bad;
    for (int k = 0; k < N; k++) mass[k] = 1;
    assert_int_equal(ops->create(NULL, NULL, &source, &settings, N, &s), SAPPORO_OK);
    assert_int_equal(ops->take(s, &particles, &bad), SAPPORO_OK);
    assert_int_equal(ops->predict(s, &step, 0, &bad), SAPPORO_OK); /* without forces: positions mean nothing */
    ops->destroy(s);
    return sap_team_workers();
}

static void threads_of_sources(void **state)
{
    (void)state;
    if (sap_team_is_openmp()) skip();
    assert_int_equal(workers_of(1), 0);
    assert_int_equal(workers_of(0), THREADS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_of_sources)};
    (void)setenv("OMP_NUM_THREADS", "3", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
