/*
 * test_gpu_load.c - first loads of accelerators, over the stub driver: what is uploaded, and which memory is kept for
 * the next context.  Tests on real devices check that the forces afterwards are right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "gpu/gpu_kernels.h"
#include "sapporo.h"
#include "stub_driver.h"
#include "stub_kernels.h"

#include <math.h>

enum { SUPER = SAP_GPU_SUPERPACKET, SUPERPACKETS = 20, N = SUPERPACKETS * SUPER, KEPT = 2 };

static int set_up(void **state)
{
    (void)state;
    stub_reset(1);
    stub.on_launch = stub_kernel;
    sap_driver_replaced.cuda = &stub_driver;
    sap_driver_replaced.cuda_kernels = &stub_kernels;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sap_gpu_unload_idle(&stub_driver);
    assert_true(stub_idle());
    assert_int_equal(stub.outside, 0);
    sap_driver_replaced.cuda = NULL;
    sap_driver_replaced.cuda_kernels = NULL;
    return 0;
}

static sapporo *opened_of(int order)
{
    sapporo *c = NULL;
    const sapporo_options options = {.size = sizeof options, .order = order, .backend = SAPPORO_BACKEND_CUDA};
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    return c;
}

static sapporo *opened(void) { return opened_of(4); }

static void load(sapporo *c, int first, int n)
{
    for (int a = first; a < first + n; a++) {
        const sapporo_particle p = {.derivative = {{a, 1, 2}}, .mass = 1, .index = a};
        assert_int_equal(sapporo_set_particle(c, a, &p), SAPPORO_OK);
    }
}

/* A force, and copies that it made. */
static long force(sapporo *c)
{
    static const double x[3] = {0.5, 0, 0};
    double pot = NAN;
    sapporo_job *job = NULL;
    const sapporo_request request = {.size = sizeof request, .nj = 2 * N, .ni = 1, .x = {x, 0}, .eps2 = 0.01};
    const sapporo_result result = {.size = sizeof result, .pot = &pot};
    const long before = stub.copies;
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, 1, &result), SAPPORO_OK);
    sapporo_force_free(job);
    return stub.copies - before;
}

/* Superpackets that lie side by side on the device travel together; what is there already does not travel again. */
static void few_copies(void **state)
{
    (void)state;
    sapporo *c = opened();
    load(c, 0, N);
    const long whole = force(c), none = force(c);
    assert_true(whole - none >= 1 && whole - none <= SUPERPACKETS / 4);
    load(c, N, SUPER - 1); /* no whole superpacket: not as an image */
    assert_int_equal(force(c), none);
    sapporo_close(c);
}

/* Pinned memory of loads is kept for the next context, however many there were at a time. */
static void pinned_memory(void **state)
{
    int kept = 0;
    (void)state;
    for (int turn = 0; turn < 10; turn++) {
        sapporo *c[3];
        const int contexts = 1 + turn % 3;
        for (int k = 0; k < contexts; k++) {
            c[k] = opened();
            load(c[k], 0, N);
            (void)force(c[k]);
        }
        for (int k = 0; k < contexts; k++) sapporo_close(c[k]);
        assert_true(stub.live.memories > 0 && stub.live.memories <= KEPT);
        assert_true(stub.live.memories >= kept);
        kept = stub.live.memories;
        assert_true(stub.live.bytes <= KEPT * (size_t)(3 << 20));
        assert_int_equal(stub.live.streams, 0);
    }
}

/* Updates that outgrow borrowed memory go on in memory of their own; those of higher orders are larger. */
static void update_after_loads(int order)
{
    sapporo *c = opened_of(order);
    load(c, 0, N);
    (void)force(c);
    for (int turn = 0; turn < 3; turn++) {
        for (int k = 0; k < N; k++) { /* in no order: staged */
            const int a = k * 7919 % N;
            const sapporo_particle p = {.derivative = {{a, 1, turn}}, .mass = 1, .index = a};
            assert_int_equal(sapporo_set_particle(c, a, &p), SAPPORO_OK);
        }
        (void)force(c);
    }
    sapporo_close(c);
    assert_true(stub.live.memories <= KEPT);
    sap_gpu_unload_idle(&stub_driver);
}

static void updates_after_loads(void **state)
{
    (void)state;
    for (int order = 4; order <= 8; order += 2) update_after_loads(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(few_copies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pinned_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(updates_after_loads, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("gpu_load", tests, NULL, NULL);
}
