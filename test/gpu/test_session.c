/*
 * test_session.c - the bracket of calls on an accelerator: the caller's floating-point environment, the driver's
 * current context, statuses and messages, in each way in which a call ends; and copies of large arrays.
 */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
    assert_int_equal(sap_session_end(&session, sap_session_open(&session, 0)), SAPPORO_OK);
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

/* ---- copies -------------------------------------------------------------------------------- */

/* Copies that begin as late as they may: when an event behind them, or the stream, is waited for. */
struct late_copy {
    int out; /* from the device */
    struct sap_mem *mem;
    size_t at, bytes;
    char *host;
};

enum { COPIES = 4096, EVENTS = 4, ROWS = 300000, NUMBERS = 700000 };

static struct {
    struct late_copy copy[COPIES];
    int copies, done;
    struct sap_event *event[EVENTS];
    int behind[EVENTS];
    struct sap_driver driver;
} late;

static void do_copies(int end)
{
    for (; late.done < end; late.done++) {
        const struct late_copy *const c = &late.copy[late.done];
        char *const there = (char *)stub_memory(c->mem) + c->at;
        memcpy(c->out ? c->host : there, c->out ? there : c->host, c->bytes);
    }
}

static int plan(struct late_copy c)
{
    assert_true(late.copies < COPIES);
    assert_true(c.at + c.bytes <= stub_memory_bytes(c.mem));
    late.copy[late.copies++] = c;
    return SAP_DRIVER_OK;
}

static int late_in(struct sap_stream *s, struct sap_mem *to, size_t at, const void *from, size_t bytes)
{
    (void)s;
    return plan((struct late_copy){.mem = to, .at = at, .bytes = bytes, .host = (char *)(uintptr_t)from});
}

static int late_out(struct sap_stream *s, void *to, struct sap_mem *from, size_t at, size_t bytes)
{
    (void)s;
    return plan((struct late_copy){.out = 1, .mem = from, .at = at, .bytes = bytes, .host = to});
}

static int *behind(const struct sap_event *e)
{
    int k = 0;
    while (k < EVENTS && late.event[k] != e) k++;
    assert_true(k < EVENTS);
    return &late.behind[k];
}

static int late_record(struct sap_event *e, struct sap_stream *s)
{
    (void)s;
    *behind(e) = late.copies;
    return SAP_DRIVER_OK;
}

static int late_wait(struct sap_event *e)
{
    do_copies(*behind(e));
    return SAP_DRIVER_OK;
}

static int late_finish(struct sap_stream *s)
{
    (void)s;
    do_copies(late.copies);
    return SAP_DRIVER_OK;
}

static void begin_late(void)
{
    memset(&late, 0, sizeof late);
    late.driver = *session.driver;
    late.driver.copy_in = late_in;
    late.driver.copy_out = late_out;
    late.driver.event_record = late_record;
    late.driver.event_wait = late_wait;
    late.driver.stream_finish = late_finish;
    for (int k = 0; k < 2; k++) late.event[k] = session.copied[k];
    session.driver = &late.driver;
}

/* Columns with and without gaps, longer than pinned memory, one after the other, and back in one piece or in many. */
static void columns(void **state)
{
    enum { GAP = 5 };
    const struct sap_driver *const driver = session.driver;
    double *const rows = malloc((size_t)ROWS * GAP * sizeof *rows), *const numbers = malloc(NUMBERS * sizeof *numbers),
                  *const back = malloc(NUMBERS * sizeof *back);
    struct sap_gpu_buffer to[3] = {{0}};
    (void)state;
    assert_true(rows && numbers && back);
    for (int k = 0; k < ROWS * GAP; k++) rows[k] = k;
    for (int k = 0; k < NUMBERS; k++) numbers[k] = -k;
    const sapporo_column x = {rows, GAP * sizeof *rows}, few = {rows, 0}, all = {numbers, sizeof *numbers};
    begin();
    for (int k = 0; k < 3; k++)
        assert_int_equal(sap_session_reserve(&session, &to[k], (size_t)ROWS * 3 * sizeof *rows), SAP_DRIVER_OK);
    begin_late();
    assert_int_equal(sap_session_send(&session, &to[0], &x, 3 * sizeof *rows, ROWS), SAP_DRIVER_OK);
    assert_int_equal(sap_session_send(&session, &to[1], &all, sizeof *numbers, NUMBERS), SAP_DRIVER_OK);
    assert_int_equal(sap_session_send(&session, &to[2], &few, 3 * sizeof *rows, 1), SAP_DRIVER_OK);
    assert_int_equal(sap_session_wait(&session), SAP_DRIVER_OK);
    const double *const sent = stub_memory(to[0].mem);
    for (int k = 0; k < ROWS; k++)
        for (int c = 0; c < 3; c++) assert_true(sent[3 * k + c] == rows[GAP * k + c]);
    assert_memory_equal(stub_memory(to[1].mem), numbers, NUMBERS * sizeof *numbers);
    assert_memory_equal(stub_memory(to[2].mem), rows, 3 * sizeof *rows);
    for (int n = 1; n < NUMBERS; n = 3 * n + 1) {
        memset(back, 0, NUMBERS * sizeof *back);
        sap_session_expect(back, (size_t)n * sizeof *back);
        assert_int_equal(sap_session_download(&session, back, &to[1], sizeof *back, (size_t)n * sizeof *back),
                         SAP_DRIVER_OK);
        assert_memory_equal(back, numbers + 1, (size_t)n * sizeof *back);
        for (int k = n; k < NUMBERS; k++) assert_true(back[k] == 0);
    }
    session.driver = driver;
    for (int k = 0; k < 3; k++) sap_gpu_free(driver, &to[k]);
    ended(sap_session_end(&session, SAP_DRIVER_OK), SAPPORO_OK);
    free(rows);
    free(numbers);
    free(back);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_session, close_session)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(calls_that_succeed), TEST(calls_that_fail), TEST(driver_that_refuses),
                                       TEST(device_that_is_lost), TEST(columns)};
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
