/*
 * test_stepper_device.c - steppers whose particles are on a device: what a step copies between host and device, and
 * columns of the caller in device memory.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/cuda/cuda_driver.h"
#include "driver/driver.h"
#include "sapporo.h"
#include "tree_faults.h"
#include "tree_particles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3000, STEPS = 6, COUNTS = 1024 /* bytes that a step may copy */ };

static struct tree_particles p;
static double speed[N][3];

static const sapporo_step_method methods[] = {SAPPORO_STEP_TREE, SAPPORO_STEP_DIRECT};

static sapporo_stepper *make(sapporo_step_method method, sapporo_step_scheme scheme)
{
    const sapporo_tree_options tree = tree_fault_options();
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .method = method,
                                       .tree = &tree,
                                       .scheme = scheme,
                                       .criterion = SAPPORO_STEP_BY_CHANGE,
                                       .dt = 1.0 / 64,
                                       .rebuild = 1000};
    sapporo_stepper *s = NULL;
    if (sapporo_stepper_create(&o, N, &s)) fail_msg("%s", sapporo_stepper_last_error(NULL));
    return s;
}

static sapporo_stepper_particles on_host(void)
{
    return (sapporo_stepper_particles){
        .size = sizeof(sapporo_stepper_particles), .n = N, .x = {p.x, 0}, .v = {speed, 0}, .mass = {p.mass, 0}};
}

static void set(sapporo_stepper *s, const sapporo_stepper_particles *from)
{
    if (sapporo_stepper_set(s, from)) fail_msg("%s", sapporo_stepper_last_error(s));
}

static void advance(sapporo_stepper *s, long long steps)
{
    if (sapporo_stepper_advance(s, INFINITY, steps)) fail_msg("%s", sapporo_stepper_last_error(s));
}

/* ---- what a step copies ---------------------------------------------------------------------- */

static struct sap_driver counting; /* the driver of the test, whose copies are counted */
static size_t copied, pinned;

static int count_in(struct sap_stream *s, struct sap_mem *to, size_t at, const void *from, size_t bytes)
{
    copied += bytes;
    return tree_fault_place->driver->copy_in(s, to, at, from, bytes);
}

static int count_out(struct sap_stream *s, void *to, struct sap_mem *from, size_t at, size_t bytes)
{
    copied += bytes;
    return tree_fault_place->driver->copy_out(s, to, from, at, bytes);
}

/* Kernels can read and write pinned memory without a copy. */
static int count_pinned(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host)
{
    pinned += bytes;
    return tree_fault_place->driver->allocate_pinned(dev, bytes, mem, host);
}

/* In direct sums nothing but small counts is copied in a step, whether all particles are active or few. */
static void traffic(void **state)
{
    (void)state;
    tree_faults_need_device();
    counting = *tree_fault_place->driver;
    counting.copy_in = count_in;
    counting.copy_out = count_out;
    counting.allocate_pinned = count_pinned;
    tree_faults_replace(&counting);
    for (int block = 0; block < 2; block++) {
        const sapporo_stepper_particles all = on_host();
        sapporo_stepper *const s = make(SAPPORO_STEP_DIRECT, block ? SAPPORO_STEPS_BLOCK : SAPPORO_STEPS_SHARED);
        set(s, &all);
        assert_true(copied >= sizeof(double[7]) * N);
        advance(s, 2);
        copied = pinned = 0;
        advance(s, STEPS);
        if (copied > STEPS * COUNTS) fail_msg("block %d: %zu bytes in %d steps", block, copied, STEPS);
        assert_true(copied > 0 && pinned == 0);
        sapporo_stepper_destroy(s);
    }
}

/* ---- columns in device memory ----------------------------------------------------------------- */

static struct sap_dev *dev;
static struct sap_stream *stream;

static struct sap_mem *sent(const void *from, size_t bytes)
{
    struct sap_mem *m = NULL;
    assert_int_equal(sap_driver_cuda.allocate(dev, bytes, &m), SAP_DRIVER_OK);
    if (from) assert_int_equal(sap_driver_cuda.copy_in(stream, m, 0, from, bytes), SAP_DRIVER_OK);
    assert_int_equal(sap_driver_cuda.stream_finish(stream), SAP_DRIVER_OK);
    return m;
}

static void *address_of(const struct sap_mem *m) { return (void *)(uintptr_t)sap_cuda_const_memory_of(m)->address; }

struct orbits {
    double x[N][3], v[N][3], acc[N][3], pot[N];
};

static void get_host(sapporo_stepper *s, struct orbits *to)
{
    const sapporo_stepper_output o = {.size = sizeof o, .n = N, .x = to->x, .v = to->v, .acc = to->acc, .pot = to->pot};
    if (sapporo_stepper_get(s, &o)) fail_msg("%s", sapporo_stepper_last_error(s));
}

/* Gets the particles into device memory, and copies them from there. */
static void get_device(sapporo_stepper *s, struct orbits *to)
{
    struct sap_mem *const all = sent(NULL, sizeof *to);
    struct orbits *const there = address_of(all);
    const sapporo_stepper_output o = {.size = sizeof o,
                                      .n = N,
                                      .memory = SAPPORO_MEMORY_DEVICE,
                                      .x = there->x,
                                      .v = there->v,
                                      .acc = there->acc,
                                      .pot = there->pot};
    if (sapporo_stepper_get(s, &o)) fail_msg("%s", sapporo_stepper_last_error(s));
    assert_int_equal(sap_driver_cuda.copy_out(stream, to, all, 0, sizeof *to), SAP_DRIVER_OK);
    assert_int_equal(sap_driver_cuda.stream_finish(stream), SAP_DRIVER_OK);
    sap_driver_cuda.release(all);
}

static void device_memory(void **state)
{
    static struct orbits host, device;
    (void)state;
    tree_faults_need_device();
    assert_int_equal(sap_driver_cuda.open(0, &dev), SAP_DRIVER_OK);
    assert_int_equal(sap_driver_cuda.stream_create(dev, &stream), SAP_DRIVER_OK);
    struct sap_mem *const x = sent(p.x, sizeof(double[3]) * N), *const v = sent(speed, sizeof speed),
                          *const m = sent(p.mass, sizeof(double) * N);
    const sapporo_stepper_particles near = on_host();
    for (int k = 0; k < 2; k++) {
        sapporo_stepper *const s = make(methods[k], SAPPORO_STEPS_BLOCK);
        sapporo_stepper_particles there = on_host();
        set(s, &near);
        advance(s, STEPS);
        get_host(s, &host);
        there.memory = SAPPORO_MEMORY_DEVICE;
        there.x.base = address_of(x);
        there.v.base = address_of(v);
        there.mass.base = address_of(m);
        set(s, &there);
        advance(s, STEPS);
        get_device(s, &device);
        assert_memory_equal(&device, &host, sizeof host);
        const double nan = NAN;
        assert_int_equal(sap_driver_cuda.copy_in(stream, v, 8 * 35, &nan, sizeof nan), SAP_DRIVER_OK);
        assert_int_equal(sap_driver_cuda.stream_finish(stream), SAP_DRIVER_OK);
        assert_int_equal(sapporo_stepper_set(s, &there), SAPPORO_ERR_NOT_FINITE);
        assert_non_null(strstr(sapporo_stepper_last_error(s), "velocity of particle 11"));
        assert_int_equal(sap_driver_cuda.copy_in(stream, v, 8 * 35, &speed[11][2], sizeof nan), SAP_DRIVER_OK);
        assert_int_equal(sap_driver_cuda.stream_finish(stream), SAP_DRIVER_OK);
        sapporo_stepper_destroy(s);
    }
    sap_driver_cuda.release(x);
    sap_driver_cuda.release(v);
    sap_driver_cuda.release(m);
    sap_driver_cuda.stream_destroy(stream);
    sap_driver_cuda.close(dev);
}

/* Other engines have no such memory, and say so. */
static void no_device_memory(void **state)
{
    static struct orbits o;
    (void)state;
    tree_faults_need_device();
    for (int k = 0; k < 2; k++) {
        sapporo_stepper *const s = make(methods[k], SAPPORO_STEPS_SHARED);
        sapporo_stepper_particles there = on_host();
        const sapporo_stepper_output out = {.size = sizeof out, .n = N, .memory = SAPPORO_MEMORY_DEVICE, .x = o.x};
        set(s, &there);
        assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_ERR_UNSUPPORTED);
        there.memory = SAPPORO_MEMORY_DEVICE;
        assert_int_equal(sapporo_stepper_set(s, &there), SAPPORO_ERR_UNSUPPORTED);
        assert_non_null(strstr(sapporo_stepper_last_error(s), "CUDA"));
        sapporo_stepper_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"traffic, opencl", traffic, tree_faults_on_opencl, tree_faults_end, NULL},
        {"traffic, cuda", traffic, tree_faults_on_cuda, tree_faults_end, NULL},
        {"device memory, cuda", device_memory, tree_faults_on_cuda, NULL, NULL},
        {"no device memory, opencl", no_device_memory, tree_faults_on_opencl, NULL, NULL},
    };
    (void)setenv("SAPPORO_VERBOSE", "0", 1);
    p = tree_particles_make(TREE_CLUSTER, N);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) speed[i][c] = 0.3 * p.x[(i + 7 * c) % N][c];
    for (int i = 2; i < N; i += 5) p.mass[i] = 0; /* particles have an order of their own on the device */
    const int failed = cmocka_run_group_tests_name("stepper_device", tests, NULL, NULL);
    tree_particles_free(&p);
    return failed;
}
