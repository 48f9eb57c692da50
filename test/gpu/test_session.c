/*
 * test_session.c - the bracket of calls on an accelerator: the caller's floating-point environment, the driver's
 * current context, statuses and messages, in each way in which a call ends.
 */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/options.h"
#include "faulty_driver.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_session.h"
#include "stub_driver.h"
#include "stub_kernels.h"

enum { ENTER = 1 /* the first call of a bracket that can fail */ };

static struct sap_gpu_set *set;
static struct sap_gpu_session session;

static int open_session(void **state)
{
    const struct sap_settings settings = {.precision = SAPPORO_DS, .order = 4};
    char why[256];
    (void)state;
    stub_reset(1);
    const struct sap_driver *const driver = faulty_wrap(&stub_driver);
    assert_int_equal(sap_gpu_open(driver, &stub_kernels, &settings, 0, &set, why, sizeof why), SAPPORO_OK);
    sap_session_init(&session, set, "tree");
    assert_int_equal(sap_session_begin(&session), SAPPORO_OK);
    assert_int_equal(sap_session_end(&session, sap_session_open(&session)), SAPPORO_OK);
    assert_int_equal(fesetround(FE_UPWARD), 0);
    return 0;
}

/* The caller's environment is back, also if a device is lost, and everything is freed. */
static int close_session(void **state)
{
    (void)state;
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(stub.live.entered, 0);
    sap_session_stop(&session);
    sap_session_close(&session);
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    sap_gpu_close(set);
    sap_gpu_unload_idle(session.driver);
    faulty_plan(0, 0);
    assert_true(stub_idle());
    return 0;
}

static void begin(void)
{
    assert_int_equal(sap_session_begin(&session), SAPPORO_OK);
    assert_string_equal(session.message, "");
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_int_equal(stub.live.entered, 1);
}

/* What holds after each call. */
static void ended(int status, int expected)
{
    assert_int_equal(status, expected);
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(stub.live.entered, 0);
}

static void calls_that_succeed(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        begin();
        ended(sap_session_end(&session, SAP_DRIVER_OK), SAPPORO_OK);
    }
    begin();
    ended(sap_session_refuse(&session, SAPPORO_ERR_UNSUPPORTED, "no such thing"), SAPPORO_ERR_UNSUPPORTED);
    assert_string_equal(session.message, "no such thing");
    begin(); /* which clears the message */
    ended(sap_session_end(&session, SAP_DRIVER_OK), SAPPORO_OK);
}

/* Work in flight is waited for before the caller's arrays may go; the next call works. */
static void calls_that_fail(void **state)
{
    const int status[] = {SAP_DRIVER_ERROR, SAP_DRIVER_MEMORY, SAP_DRIVER_UNSUPPORTED},
              expected[] = {SAPPORO_ERR_DEVICE, SAPPORO_ERR_MEMORY, SAPPORO_ERR_UNSUPPORTED};
    (void)state;
    for (int k = 0; k < 3; k++) {
        begin();
        const long finishes = stub.finishes;
        ended(sap_session_end(&session, status[k]), expected[k]);
        assert_true(stub.finishes > finishes);
        assert_memory_equal(session.message, "device 0: ", 10);
        assert_false(session.broken);
    }
    begin();
    assert_null(sap_session_host_memory(&session, SIZE_MAX / 2, 2));
    ended(sap_session_end(&session, SAP_DRIVER_MEMORY), SAPPORO_ERR_MEMORY);
    assert_string_equal(session.message, "memory of the host");
    begin();
    ended(sap_session_end(&session, SAP_DRIVER_MEMORY), SAPPORO_ERR_MEMORY);
    assert_memory_equal(session.message, "device 0: ", 10);
}

static void driver_that_refuses(void **state)
{
    (void)state;
    faulty_plan(ENTER, SAP_DRIVER_ERROR);
    ended(sap_session_begin(&session), SAPPORO_ERR_DEVICE);
    assert_string_equal(faulty.failed_call, "enter");
    assert_memory_equal(session.message, "device 0: ", 10);
    faulty_plan(0, 0);
    begin();
    ended(sap_session_end(&session, SAP_DRIVER_OK), SAPPORO_OK);
}

/* After a loss each call says so, without a call of the driver, in the word of the owner. */
static void device_that_is_lost(void **state)
{
    (void)state;
    begin();
    ended(sap_session_end(&session, SAP_DRIVER_LOST), SAPPORO_ERR_DEVICE);
    assert_true(session.broken);
    faulty_plan(0, 0);
    const long calls = faulty.calls;
    ended(sap_session_begin(&session), SAPPORO_ERR_DEVICE);
    assert_string_equal(session.message, "the device is gone: make the tree anew");
    session.owner = "stepper";
    ended(sap_session_begin(&session), SAPPORO_ERR_DEVICE);
    assert_string_equal(session.message, "the device is gone: make the stepper anew");
    assert_int_equal(faulty.calls, calls);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_session, close_session)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(calls_that_succeed), TEST(calls_that_fail), TEST(driver_that_refuses),
                                       TEST(device_that_is_lost)};
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
