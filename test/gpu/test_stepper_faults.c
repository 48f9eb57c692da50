/*
 * test_stepper_faults.c - a stepper's life in which the n-th call of the driver fails, over OpenCL and CUDA: the call
 * that meets the fault reports it, the particles stay those of the last complete step, and the repeated call gives the
 * bytes of a life without faults.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faulty_driver.h"
#include "runs.h"
#include "sapporo.h"
#include "tree_faults.h"
#include "tree_particles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 300, STEPS = 6 };

static struct tree_particles p;
static double speed[N][3];

/* What a life returns. */
struct result {
    double x[N][3], v[N][3], pot[N], time;
    sapporo_stepper_totals totals;
};

struct life {
    sapporo_step_method method;
    sapporo_stepper *stepper;
    int lost; /* the fault is one that takes the device */
    int told; /* calls that failed */
};

/* Whether a call succeeded; a call that did not says why. */
static int went(struct life *l, int status, const sapporo_stepper *stepper)
{
    if (status == SAPPORO_OK) return 1;
    const char *const words = sapporo_stepper_last_error(stepper);
    if (!faulty.failed || status > 0 || !words[0])
        fail_msg("call %s of the driver: %d, '%s'", faulty.failed_call, status, words);
    l->told++;
    return 0;
}

static int begin(struct life *l)
{
    const sapporo_tree_options tree = tree_fault_options();
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .method = l->method,
                                       .tree = &tree,
                                       .scheme = SAPPORO_STEPS_BLOCK,
                                       .dt = 0.25,
                                       .eta = 0.5,
                                       .levels = 6,
                                       .rebuild = 1};
    sapporo_stepper_destroy(l->stepper);
    return went(l, sapporo_stepper_create(&o, N, &l->stepper), NULL);
}

static int set(struct life *l)
{
    const sapporo_stepper_particles all = {
        .size = sizeof all, .n = N, .x = {p.x, 0}, .v = {speed, 0}, .mass = {p.mass, 0}};
    return went(l, sapporo_stepper_set(l->stepper, &all), l->stepper);
}

/* A step; if it fails, the time is that of the step before. */
static int advance(struct life *l)
{
    const double before = sapporo_stepper_get_time(l->stepper);
    const int ok = went(l, sapporo_stepper_advance(l->stepper, INFINITY, 1), l->stepper);
    const double after = sapporo_stepper_get_time(l->stepper);
    assert_true(ok ? after > before : after == before);
    return ok;
}

static int read(struct life *l, struct result *r)
{
    const sapporo_stepper_output o = {.size = sizeof o, .n = N, .x = r->x, .v = r->v, .pot = r->pot};
    const int ok = went(l, sapporo_stepper_get(l->stepper, &o), l->stepper);
    if (!ok) assert_true(isnan(r->x[0][0]) && isnan(r->v[N - 1][2]) && isnan(r->pot[0]));
    r->time = sapporo_stepper_get_time(l->stepper);
    return ok;
}

static int measure(struct life *l, struct result *r)
{
    r->totals.size = sizeof r->totals;
    const int ok = went(l, sapporo_stepper_energy(l->stepper, &r->totals), l->stepper);
    if (!ok) assert_true(isnan(r->totals.kinetic) && isnan(r->totals.time));
    return ok;
}

/* All of it; a call that fails is repeated, from the beginning if the device is gone. */
static void live(struct life *l, struct result *r)
{
    for (int step = 0, tries = 0; step < STEPS + 4; tries++) {
        const int ok = step == 0           ? begin(l)
                       : step == 1         ? set(l)
                       : step < STEPS + 2  ? advance(l)
                       : step == STEPS + 2 ? measure(l, r)
                                           : read(l, r);
        if (tries > 40) fail_msg("part %d goes on failing: %s", step, sapporo_stepper_last_error(l->stepper));
        step = ok ? step + 1 : l->lost ? 0 : step;
    }
    sapporo_stepper_destroy(l->stepper);
    l->stepper = NULL;
}

static int with_fault(sapporo_step_method method, long n, int status, const struct result *right)
{
    static struct result r;
    struct life l = {.method = method, .lost = status == SAP_DRIVER_LOST};
    memset(&r, 0, sizeof r);
    faulty_plan(n, status);
    live(&l, &r);
    if (!faulty.failed) return 0;
    if (memcmp(&r, right, sizeof r) != 0) fail_msg("call %ld, %s: results differ", n, faulty.failed_call);
    return 1;
}

/* In turns by every kind; a device that is lost takes long to come back. */
static void faults_of(sapporo_step_method method)
{
    static const int kinds[] = {SAP_DRIVER_MEMORY, SAP_DRIVER_ERROR, SAP_DRIVER_LAUNCH};
    static struct result right;
    struct life l = {.method = method};
    long n = 1;
    memset(&right, 0, sizeof right);
    tree_faults_need_device();
    tree_faults_start();
    struct life first = {.method = method}; /* kernels are loaded */
    assert_true(begin(&first));
    faulty_plan(0, SAP_DRIVER_OK);
    live(&l, &right);
    sapporo_stepper_destroy(first.stepper);
    while (with_fault(method, n, kinds[n % 3], &right)) n += 11;
    for (long k = 5; k < n; k += n / 2) assert_true(with_fault(method, k, SAP_DRIVER_LOST, &right));
    print_message("%ld calls\n", n - 1);
    assert_true(n > 100);
}

RUNS(faults, faults_of(SAPPORO_STEP_TREE))

RUNS(faults_direct, faults_of(SAPPORO_STEP_DIRECT))

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"faults, opencl", faults, tree_faults_on_opencl, tree_faults_end, NULL},
        {"faults, cuda", faults, tree_faults_on_cuda, tree_faults_end, NULL},
        {"faults of direct sums, opencl", faults_direct, tree_faults_on_opencl, tree_faults_end, NULL},
        {"faults of direct sums, cuda", faults_direct, tree_faults_on_cuda, tree_faults_end, NULL},
    };
    (void)setenv("SAPPORO_VERBOSE", "0", 1);
    p = tree_particles_make(TREE_CLUSTER, N);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) speed[i][c] = 0.3 * p.x[(i + 7 * c) % N][c];
    for (int i = 2; i < N; i += 5) p.mass[i] = 0; /* forces on massless particles have buffers of their own */
    const int failed = cmocka_run_group_tests_name("stepper_faults", tests, NULL, NULL);
    tree_particles_free(&p);
    return failed;
}
