/* test_lost_rules.c - which forces a particle that could not be stored makes NaN, and which it does not. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compat/sapporo_g6_fortran.h"
#include "engine/jstore.h"
#include "runs.h"
#include "sapporo.h"
#include "scarce.h"

#if SCARCE

enum { NI = 4 };

typedef double vec3[3];

static vec3 target[NI] = {{3, 0, 0}, {0, 3, 0}, {0.5, 0.25, 3}, {-2, 2, 2}};
static sapporo *context;

static void open_4(void)
{
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .threads = 1};
    assert_int_equal(sapporo_open(&options, &context), SAPPORO_OK);
}

static void close_native(void)
{
    sapporo_close(context);
    context = NULL;
}

static int begin(int nj)
{
    const sapporo_request request = {.size = sizeof request, .nj = nj, .ni = NI, .x = {target, 0}};
    sapporo_job *job;
    const int status = sapporo_force_begin(context, &request, &job);
    sapporo_force_free(job);
    return status;
}

static int put_at(int address)
{
    const sapporo_particle p = {.derivative = {{sin(1.7 * address), 1, 2}}, .mass = 1};
    return sapporo_set_particle(context, address, &p);
}

static int put_refused(int address)
{
    countdown = 0;
    for_good = 1;
    const int status = put_at(address);
    countdown = -1;
    for_good = 0;
    return status;
}

/* Forces of particles below a lost one are as before, and clearing forgets the loss. */
static void only_forces_with_the_lost(void **state)
{
    (void)state;
    sapporo_particle got;
    open_4();
    for (int k = 0; k < 100; k++) assert_int_equal(put_at(k), SAPPORO_OK);
    sap_jstore_trim();
    assert_int_equal(put_refused(70000), SAPPORO_ERR_MEMORY);
    assert_int_equal(begin(70000), SAPPORO_OK);
    assert_int_equal(begin(70001), SAPPORO_ERR_MEMORY);
    assert_int_equal(sapporo_get_particle(context, 70000, 0, &got), SAPPORO_ERR_MEMORY);
    assert_true(isnan(got.mass) && isnan(got.derivative[0][2]) && got.index == -1);
    assert_int_equal(put_at(70001), SAPPORO_OK); /* a neighbour does not bring it back */
    assert_int_equal(begin(70002), SAPPORO_ERR_MEMORY);
    assert_int_equal(sapporo_clear_particles(context), SAPPORO_OK);
    assert_int_equal(begin(80000), SAPPORO_OK);
    close_native();
}

/* An address that no context has takes no other particle with it. */
static void addresses_out_of_range(void **state)
{
    (void)state;
    open_4();
    for (int k = 0; k < 100; k++) assert_int_equal(put_at(k), SAPPORO_OK);
    assert_int_equal(put_at(INT32_MAX), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(put_at(-1), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(put_at(INT32_MIN), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(begin(100), SAPPORO_OK);
    assert_int_equal(begin(INT32_MAX), SAPPORO_OK);
    close_native();
}

/* More losses apart than there are ranges for: all are known, and all can be made good. */
static void many_losses(void **state)
{
    (void)state;
    enum { LOSSES = 3 * SAP_RANGES_MOST };
    open_4();
    for (int k = 0; k < 100; k++) assert_int_equal(put_at(k), SAPPORO_OK);
    sap_jstore_trim();
    for (int k = 0; k < LOSSES; k++)
        assert_int_equal(put_refused((1 + k * 5 % LOSSES) * SAP_SEGMENT + 7), SAPPORO_ERR_MEMORY);
    assert_int_equal(begin(SAP_SEGMENT + 7), SAPPORO_OK);
    for (int k = 0; k < LOSSES; k++) {
        assert_int_equal(begin((1 + k) * SAP_SEGMENT + 8), SAPPORO_ERR_MEMORY);
        assert_int_equal(put_at((1 + k) * SAP_SEGMENT + 7), SAPPORO_OK);
    }
    for (int k = 0; k < LOSSES; k++) /* where ranges met, what lies between had to count as lost */
        if (begin((2 + k) * SAP_SEGMENT) == SAPPORO_ERR_MEMORY)
            for (int a = (1 + k) * SAP_SEGMENT; a < (2 + k) * SAP_SEGMENT; a++) assert_int_equal(put_at(a), SAPPORO_OK);
    assert_int_equal(begin((1 + LOSSES) * SAP_SEGMENT), SAPPORO_OK);
    close_native();
}

/* A force under way has what it was begun with, neighbours too. */
static void forces_under_way(void **state)
{
    (void)state;
    vec3 acc[2][NI];
    int nearest[2][NI];
    const sapporo_request request = {.size = sizeof request, .nj = 100, .ni = NI, .x = {target, 0}};
    open_4();
    for (int loss = 0; loss < 2; loss++) {
        sapporo_job *job;
        const sapporo_result result = {.size = sizeof result, .acc = acc[loss], .nearest = nearest[loss]};
        for (int k = 0; k < 100; k++)
            if (k != 50) assert_int_equal(put_at(k), SAPPORO_OK);
        const sapporo_particle next = {.derivative = {{3, 0.001, 0}, {0}, {1, 1, 1}}, .mass = 1};
        const sapporo_particle near = {.derivative = {{3, 0.01, 0}}, .mass = 1};
        assert_int_equal(sapporo_set_particle(context, 50, &near), SAPPORO_OK);
        assert_int_equal(sapporo_force_begin(context, &request, &job), SAPPORO_OK);
        sap_jstore_trim();
        if (loss) { /* there is no column for the second derivative */
            countdown = 0;
            assert_int_equal(sapporo_set_particle(context, 50, &next), SAPPORO_ERR_MEMORY);
            countdown = -1;
            assert_int_equal(begin(51), SAPPORO_ERR_MEMORY);
        }
        assert_int_equal(sapporo_force_end(job, NI, &result), SAPPORO_OK);
        sapporo_force_free(job);
    }
    assert_memory_equal(acc[0], acc[1], sizeof acc[0]);
    assert_memory_equal(nearest[0], nearest[1], sizeof nearest[0]);
    close_native();
}

/* A particle that one cluster could not store goes to the others all the same. */
static void several_clusters(void **state)
{
    (void)state;
    int id = 0, clusters = 2, address = 70000, index = 5, rc;
    double m = 2, place[3] = {1, 0, 0}, pot[2];
    vec3 acc[2], still[1] = {{0}};
    setenv("SAPPORO_BACKEND", "cpu", 1);
    assert_int_equal(g6_open(0) + g6_open(1), 0);
    sap_jstore_trim();
    countdown = 0;
    rc = g6_set_j_particle_multisend_mxfast_(&id, &clusters, &address, &index, &m, place);
    countdown = -1;
    assert_int_equal(rc, -1);
    for (int k = 0; k < 2; k++) {
        g6calc_firsthalf(k, 70001, 1, &k, still, still, acc, acc, pot, 0, NULL);
        (void)g6calc_lasthalf(k, 70001, 1, &k, still, still, 0, NULL, &acc[k], &acc[k], &pot[k]);
    }
    assert_true(isnan(pot[0]));
    assert_true(pot[1] == -2);
    (void)g6_close(0), (void)g6_close(1);
}

/* Calls with the id of a cluster that could not be opened do not go to the only open one. */
static void clusters_that_failed_to_open(void **state)
{
    (void)state;
    double place[3] = {1, 0, 0}, pot[1] = {7};
    vec3 acc[1], still[1] = {{0}};
    const int ids[] = {1, 300};
    setenv("SAPPORO_BACKEND", "cpu", 1);
    for (int k = 0; k < 2; k++) {
        const int id = ids[k];
        int index[1] = {-5};
        assert_int_equal(g6_open(0), 0);
        assert_int_equal(g6_set_j_particle_mxonly(0, 0, 0, 2, place), 0);
        assert_int_equal(g6_set_j_particle_mxonly(id, 0, 0, 2, place), 0); /* as no other is open */
        countdown = 0;
        for_good = 1;
        assert_int_equal(g6_open(id), -1);
        countdown = -1;
        for_good = 0;
        assert_int_equal(g6_set_j_particle_mxonly(id, 0, 0, 8, place), -1);
        (void)g6calc_lasthalf(id, 1, 1, index, still, still, 0, NULL, acc, acc, pot);
        assert_true(isnan(pot[0]));
        (void)g6calc_lasthalf(0, 1, 1, index, still, still, 0, NULL, acc, acc, pot);
        assert_true(pot[0] == -2);
        assert_int_equal(g6_open(id), 0);
        assert_int_equal(g6_set_j_particle_mxonly(id, 0, 0, 8, place), 0);
        (void)g6calc_lasthalf(id, 1, 1, index, still, still, 0, NULL, acc, acc, pot);
        assert_true(pot[0] == -8);
        (void)g6_close(0), (void)g6_close(id);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_clusters),
        cmocka_unit_test(clusters_that_failed_to_open),
        cmocka_unit_test(only_forces_with_the_lost),
        cmocka_unit_test(addresses_out_of_range),
        cmocka_unit_test(many_losses),
        cmocka_unit_test(forces_under_way),
    };
    return cmocka_run_group_tests_name("lost particles", tests, NULL, NULL);
}

#else

SKIPPED_MAIN("lost particles", "malloc is replaced by way of glibc, and not under a sanitizer")

#endif
