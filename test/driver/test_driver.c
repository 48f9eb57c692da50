/*
 * test_driver.c - the driver tables: CUDA's own with and without a GPU, and those for tests.
 *
 * Tests that need a GPU are skipped without one.  The device is lost on purpose in a process of its own, `test_driver
 * lost`, since not every driver recovers.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/driver.h"
#include "driver_checks.h"
#include "driver_kernels.h"
#include "faulty_driver.h"
#include "stub_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000 }; /* of bytes or integers */

static const char *program;
static const struct sap_driver *const cuda = &sap_driver_cuda;

static void need_gpu(void)
{
    if (cuda->count() > 0) return;
    print_message("skip: %s\n", cuda->describe());
    skip();
}

/* ---------------------------------------------------------------- CUDA, with and without a device */

static void complete_table(void **state)
{
    (void)state;
    const struct sap_driver *tables[] = {cuda, &stub_driver, faulty_wrap(&stub_driver)};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        void *entry[sizeof(struct sap_driver) / sizeof(void *)];
        memcpy(entry, tables[k], sizeof *tables[k]);
        const size_t optional = offsetof(struct sap_driver, pinned_to_device) / sizeof(void *); /* and pinned_to_host */
        const size_t unite = offsetof(struct sap_driver, unite) / sizeof(void *);
        const size_t adopt = offsetof(struct sap_driver, adopt) / sizeof(void *); /* of the stub: neither */
        const size_t most = offsetof(struct sap_driver, together_most) / sizeof(void *);
        for (size_t e = 0; e < sizeof entry / sizeof *entry; e++)
            if (e != unite && ((e != adopt && e != most) || k == 0) && (e < optional || e > optional + 1))
                assert_non_null(entry[e]);
    }
}

static void tables_of_tests(void **state)
{
    (void)state;
    assert_ptr_equal(sap_driver_for_cuda(), &sap_driver_cuda);
    sap_driver_replaced.cuda = &stub_driver;
    assert_ptr_equal(sap_driver_for_cuda(), &stub_driver);
    sap_driver_replaced.cuda = NULL;
}

static void reason(void **state)
{
    (void)state;
    const int devices = cuda->count();
    struct sap_dev *dev = NULL;
    struct sap_device_properties p;
    assert_true(devices >= 0);
    assert_int_equal(cuda->count(), devices);
    assert_true(strlen(cuda->describe()) > 0);
    assert_null(strchr(cuda->describe(), '\n'));
    print_message("%d devices: %s\n", devices, cuda->describe());
    for (int bad = -1; bad <= devices; bad += devices + 1) {
        assert_int_equal(cuda->open(bad, &dev), SAP_DRIVER_UNSUPPORTED);
        assert_null(dev);
        assert_true(strlen(cuda->error_text()) > 0);
        assert_int_equal(cuda->properties(bad, &p), SAP_DRIVER_UNSUPPORTED);
        assert_string_equal(p.name, "");
    }
    cuda->close(NULL);
    cuda->release(NULL);
    cuda->stream_destroy(NULL);
    cuda->event_destroy(NULL);
    cuda->module_unload(NULL);
}

/* In a child after fork CUDA counts nothing and says so; what the parent had open cannot be used and does no harm. */
static void after_fork(void **state)
{
    int status = -1;
    struct sap_dev *dev = cuda->count() > 0 ? driver_opened(cuda, 0) : NULL;
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        struct sap_dev *other = NULL;
        int wrong = cuda->count() != 0 || !strstr(cuda->describe(), "fork");
        wrong |= cuda->open(0, &other) != SAP_DRIVER_UNSUPPORTED || other;
        wrong |= dev && cuda->enter(dev) != SAP_DRIVER_LOST;
        if (dev) cuda->close(dev);
        _exit(wrong);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    cuda->close(dev);
}

/* Images begin with the number of fat binaries; without them there is a reason. */
static void embedded_kernels(void **state)
{
    const struct sap_embedded *e = &sap_embedded_cuda;
    (void)state;
    assert_non_null(e->archs);
    assert_non_null(e->why);
    if (e->count == 0) {
        assert_true(strlen(e->why) > 0);
        print_message("skip: %s\n", e->why);
        skip();
    }
    assert_string_equal(e->why, "");
    assert_true(strstr(e->archs, "sm_") || strstr(e->archs, "compute_"));
    for (int k = 0; k < e->count; k++) {
        uint32_t magic;
        assert_true(e->images[k].size > 64);
        assert_true((uintptr_t)e->images[k].image % 16 == 0);
        memcpy(&magic, e->images[k].image, sizeof magic);
        assert_int_equal(magic, 0xba55ed50U);
        for (int j = 0; j < k; j++) assert_string_not_equal(e->images[j].name, e->images[k].name);
    }
}

/* ---------------------------------------------------------------- CUDA, with a device */

static void gpu_properties(void **state)
{
    (void)state;
    need_gpu();
    for (int k = 0; k < cuda->count(); k++) {
        struct sap_device_properties p;
        assert_int_equal(cuda->properties(k, &p), SAP_DRIVER_OK);
        print_message("%d: %s, %s, %s, %s, %zu MiB, %d units\n", k, p.name, p.uuid, p.bus, p.architecture,
                      p.memory >> 20, p.units);
        assert_true(strlen(p.name) > 0 && strlen(p.uuid) == 40 && strlen(p.bus) >= 12);
        assert_memory_equal(p.uuid, "GPU-", 4);
        assert_memory_equal(p.architecture, "sm_", 3);
        assert_true(p.memory > 0 && p.units > 0 && p.warp == 32 && p.l2 > 0 && p.has_fp64 == 1);
        assert_true(p.threads_per_group == 1024 && p.threads_per_unit >= 1024);
        assert_true(p.shared_per_group >= 48 << 10 && p.shared_per_unit >= p.shared_per_group);
    }
}

static void gpu_copies(void **state)
{
    (void)state;
    need_gpu();
    driver_check_copies(cuda);
}

static void gpu_events(void **state)
{
    (void)state;
    need_gpu();
    driver_check_events(cuda);
}

static void gpu_too_much(void **state)
{
    (void)state;
    need_gpu();
    driver_check_too_much(cuda);
}

/* A kernel adds `more` to n integers. */
static void gpu_kernel(void **state)
{
    (void)state;
    need_gpu();
    struct sap_dev *dev = driver_opened(cuda, 0);
    struct sap_stream *s = NULL;
    struct sap_mem *mem = NULL;
    struct sap_module *m = NULL;
    struct sap_function *f = NULL;
    int32_t number[N], n = N, more = 5, groups = 0;
    for (int k = 0; k < N; k++) number[k] = k;
    assert_int_equal(cuda->module_load(dev, driver_kernels, sizeof driver_kernels, &m), SAP_DRIVER_OK);
    assert_int_equal(cuda->function(m, "no_such_kernel", &f), SAP_DRIVER_ERROR);
    assert_null(f);
    assert_non_null(strstr(cuda->error_text(), "no_such_kernel"));
    assert_int_equal(cuda->function(m, "add", &f), SAP_DRIVER_OK);
    assert_int_equal(cuda->occupancy(f, 128, 64 << 10, &groups), SAP_DRIVER_OK); /* more than without opting in */
    assert_true(groups >= 1);
    assert_int_equal(cuda->occupancy(f, 128, (size_t)1 << 40, &groups), SAP_DRIVER_LAUNCH);

    const struct sap_argument argument[] = {{NULL, 0}, {NULL, 0}, {&n, sizeof n}, {&more, sizeof more}};
    struct sap_argument arguments[4];
    memcpy(arguments, argument, sizeof arguments);
    assert_int_equal(cuda->stream_create(dev, &s), SAP_DRIVER_OK);
    assert_int_equal(cuda->allocate(dev, sizeof number, &mem), SAP_DRIVER_OK);
    arguments[0].value = mem;
    struct sap_launch l = {
        .groups = {8, 1, 1}, .threads = 128, .shared = 64 << 10, .argument = arguments, .arguments = 4};
    assert_int_equal(cuda->copy_in(s, mem, 0, number, sizeof number), SAP_DRIVER_OK);
    assert_int_equal(cuda->launch(s, f, &l), SAP_DRIVER_OK);
    more = 0; /* values were taken at the launch */
    l.threads = 1 << 20;
    assert_int_equal(cuda->launch(s, f, &l), SAP_DRIVER_LAUNCH);
    assert_int_equal(cuda->copy_out(s, number, mem, 0, sizeof number), SAP_DRIVER_OK);
    assert_int_equal(cuda->stream_finish(s), SAP_DRIVER_OK);
    for (int k = 0; k < N; k++) assert_int_equal(number[k], k + 5);
    cuda->release(mem);
    cuda->stream_destroy(s);
    cuda->module_unload(m);
    cuda->close(dev);
}

static void gpu_modules(void **state)
{
    (void)state;
    need_gpu();
    const char garbage[256] = "this is no code";
    struct sap_module *m = NULL;
    struct sap_dev *dev = driver_opened(cuda, 0);
    assert_int_equal(cuda->module_load(dev, garbage, sizeof garbage, &m), SAP_DRIVER_UNSUPPORTED);
    assert_null(m);
    print_message("%s\n", cuda->error_text());
    assert_non_null(strstr(cuda->error_text(), "a driver for CUDA"));
    for (int k = 0; k < sap_embedded_cuda.count; k++) {
        const struct sap_image *image = &sap_embedded_cuda.images[k];
        assert_int_equal(cuda->module_load(dev, image->image, image->size, &m), SAP_DRIVER_OK);
        cuda->module_unload(m);
    }
    cuda->close(dev);
}

/* The caller's current context, or none, is the same after each call. */
static void gpu_context_of_caller(void **state)
{
    (void)state;
    need_gpu();
    int (*current)(void **) = NULL, (*set)(void *) = NULL;
    void *none = NULL, *before = (void *)1, *after = NULL, *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *symbols[2] = {dlsym(library, "cuCtxGetCurrent"), dlsym(library, "cuCtxSetCurrent")};
    memcpy(&current, &symbols[0], sizeof current);
    memcpy(&set, &symbols[1], sizeof set);
    assert_int_equal(current(&none), 0);
    assert_null(none);
    driver_check_copies(cuda);
    assert_int_equal(current(&after), 0);
    assert_null(after);

    struct sap_dev *dev = driver_opened(cuda, 0);
    assert_int_equal(cuda->enter(dev), SAP_DRIVER_OK);
    assert_int_equal(current(&before), 0); /* the primary context, as the run-time library would set it */
    assert_non_null(before);
    cuda->leave(dev);
    assert_int_equal(current(&after), 0);
    assert_null(after);
    assert_int_equal(set(before), 0);
    driver_check_copies(cuda);
    driver_check_too_much(cuda);
    assert_int_equal(current(&after), 0);
    assert_ptr_equal(after, before);
    assert_int_equal(set(NULL), 0);
    cuda->close(dev);
    (void)dlclose(library);
}

/* The process that loses its device: 0 if all went as it should, with or without recovery. */
static int lose_device(void)
{
    struct sap_dev *dev = NULL;
    struct sap_stream *s = NULL;
    struct sap_module *m = NULL;
    struct sap_function *f = NULL;
    struct sap_mem *mem = NULL;
    const struct sap_launch l = {.groups = {1, 1, 1}, .threads = 1};
    if (cuda->open(0, &dev) || cuda->stream_create(dev, &s) || cuda->allocate(dev, N, &mem) ||
        cuda->module_load(dev, driver_kernels, sizeof driver_kernels, &m) || cuda->function(m, "crash", &f) ||
        cuda->launch(s, f, &l))
        return 2;
    if (cuda->stream_finish(s) != SAP_DRIVER_LOST) return 3;
    printf("lost: %s\n", cuda->error_text());
    if (cuda->fill(s, mem, 0, 0, N) != SAP_DRIVER_LOST) return 4;
    cuda->module_unload(m);
    cuda->release(mem);
    cuda->stream_destroy(s);
    cuda->close(dev);
    int status = cuda->open(0, &dev);
    if (status == SAP_DRIVER_OK) {
        status = cuda->allocate(dev, N, &mem);
        cuda->release(status == SAP_DRIVER_OK ? mem : NULL);
        cuda->close(dev);
    }
    printf("opened again: %s\n", status == SAP_DRIVER_OK ? "well" : cuda->error_text());
    return status == SAP_DRIVER_OK || status == SAP_DRIVER_LOST || status == SAP_DRIVER_UNSUPPORTED ? 0 : 5;
}

static void gpu_lost(void **state)
{
    int status = -1;
    (void)state;
    need_gpu();
    const pid_t child = fork();
    if (child == 0) {
        (void)execl(program, program, "lost", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---------------------------------------------------------------- the drivers for tests */

static void stub_works(void **state)
{
    (void)state;
    stub_reset(2);
    driver_check_copies(&stub_driver);
    assert_int_equal(stub.outside, 3);
    stub.pending = 3;
    driver_check_events(&stub_driver);
    driver_check_too_much(&stub_driver);
    assert_true(stub_idle());
}

static int hooked;
static void count_hook(const char *name, const struct sap_launch *l)
{
    const struct sap_mem *mem = l->argument[0].value;
    assert_string_equal(name, "add");
    memset(stub_memory(mem), 7, stub_memory_bytes(mem));
    hooked++;
}

static void stub_launches_and_leaks(void **state)
{
    struct sap_stream *s = NULL;
    struct sap_mem *mem = NULL, *more = NULL;
    struct sap_module *m = NULL;
    struct sap_function *f = NULL;
    unsigned char byte = 0;
    (void)state;
    stub_reset(1);
    stub.memory = 2 * N;
    stub.on_launch = count_hook;
    struct sap_dev *dev = driver_opened(&stub_driver, 0);
    assert_false(stub_idle());
    assert_int_equal(stub_driver.stream_create(dev, &s), SAP_DRIVER_OK);
    assert_int_equal(stub_driver.allocate(dev, N, &mem), SAP_DRIVER_OK);
    assert_int_equal(stub_driver.allocate(dev, N + 1, &more), SAP_DRIVER_MEMORY);
    assert_int_equal(stub_driver.module_load(dev, "x", 1, &m), SAP_DRIVER_OK);
    assert_int_equal(stub_driver.function(m, "add", &f), SAP_DRIVER_OK);
    const struct sap_argument argument = {mem, 0};
    const struct sap_launch l = {.groups = {1, 1, 1}, .threads = 32, .argument = &argument, .arguments = 1};
    assert_int_equal(stub_driver.launch(s, f, &l), SAP_DRIVER_OK);
    assert_int_equal(stub_driver.launch(s, f, &l), SAP_DRIVER_OK);
    assert_int_equal(stub_driver.copy_out(s, &byte, mem, N - 1, 1), SAP_DRIVER_OK);
    assert_int_equal(byte, 7);
    assert_int_equal(hooked, 2);
    assert_int_equal(stub.launches, 2);
    assert_int_equal(stub_launches("add"), 2);
    assert_int_equal(stub_launches("other"), 0);
    assert_string_equal(stub.last_launch, "add");
    assert_int_equal(stub.live.bytes, N);
    stub_driver.release(mem);
    stub_driver.module_unload(m);
    stub_driver.stream_destroy(s);
    assert_false(stub_idle());
    stub_driver.close(dev);
    assert_true(stub_idle());
}

/* Work that gives back what it has, whatever fails; returns the first status that is no OK. */
static int work(const struct sap_driver *d)
{
    struct sap_dev *dev = NULL;
    struct sap_stream *s = NULL;
    struct sap_mem *mem = NULL;
    char bytes[N] = "";
    int status = d->open(0, &dev);
    if (status) return status;
    status = d->enter(dev);
    if (!status) status = d->stream_create(dev, &s);
    if (!status) status = d->allocate(dev, N, &mem);
    if (!status) status = d->copy_in(s, mem, 0, bytes, N);
    if (!status) status = d->stream_finish(s);
    d->release(mem);
    d->stream_destroy(s);
    d->leave(dev);
    d->close(dev);
    return status;
}

static void fault_walk(void **state)
{
    static const char *const calls[] = {"open", "enter", "stream_create", "allocate", "copy_in", "stream_finish"};
    static const int status[] = {SAP_DRIVER_MEMORY, SAP_DRIVER_LOST, SAP_DRIVER_ERROR};
    const struct sap_driver *d = faulty_wrap(&stub_driver);
    (void)state;
    stub_reset(1);
    for (size_t k = 0; k < sizeof status / sizeof *status; k++) {
        long n = 1;
        for (;; n++) {
            faulty_plan(n, status[k]);
            const int got = work(d);
            assert_true(stub_idle());
            if (!faulty.failed) break;
            assert_int_equal(got, status[k]);
            assert_string_equal(faulty.failed_call, calls[n - 1]);
            assert_non_null(strstr(d->error_text(), calls[n - 1]));
            assert_int_equal(work(d), SAP_DRIVER_OK); /* well again */
        }
        assert_int_equal(n, 7);
        assert_int_equal(faulty.calls, 6);
    }
}

/* A lost device stays lost until all who have it have closed it; others are not touched. */
static void lost_until_closed(void **state)
{
    struct sap_mem *mem = NULL;
    struct sap_stream *s = NULL;
    (void)state;
    stub_reset(2);
    const struct sap_driver *d = faulty_wrap(&stub_driver);
    struct sap_dev *one = driver_opened(d, 0), *two = driver_opened(d, 0), *other = driver_opened(d, 1), *again = NULL;
    assert_int_equal(d->stream_create(one, &s), SAP_DRIVER_OK);
    faulty_plan(1, SAP_DRIVER_LOST);
    assert_int_equal(d->allocate(two, N, &mem), SAP_DRIVER_LOST);
    assert_null(mem);
    assert_int_equal(d->stream_finish(s), SAP_DRIVER_LOST);
    assert_int_equal(d->open(0, &again), SAP_DRIVER_LOST);
    assert_int_equal(faulty.failed, 3);
    assert_int_equal(d->allocate(other, N, &mem), SAP_DRIVER_OK);
    d->release(mem);
    d->stream_destroy(s);
    d->close(one);
    assert_int_equal(d->open(0, &again), SAP_DRIVER_LOST);
    d->close(two);
    again = driver_opened(d, 0);
    assert_int_equal(d->allocate(again, N, &mem), SAP_DRIVER_OK);
    d->release(mem);
    /* What the driver itself refuses is told in its words. */
    assert_int_equal(d->allocate(again, (size_t)1 << 60, &mem), SAP_DRIVER_MEMORY);
    assert_non_null(strstr(d->error_text(), "stub"));
    d->close(again);
    d->close(other);
    assert_true(stub_idle());
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete_table),
        cmocka_unit_test(tables_of_tests),
        cmocka_unit_test(reason),
        cmocka_unit_test(after_fork),
        cmocka_unit_test(embedded_kernels),
        cmocka_unit_test(gpu_properties),
        cmocka_unit_test(gpu_copies),
        cmocka_unit_test(gpu_events),
        cmocka_unit_test(gpu_too_much),
        cmocka_unit_test(gpu_kernel),
        cmocka_unit_test(gpu_modules),
        cmocka_unit_test(gpu_context_of_caller),
        cmocka_unit_test(gpu_lost),
        cmocka_unit_test(stub_works),
        cmocka_unit_test(stub_launches_and_leaks),
        cmocka_unit_test(fault_walk),
        cmocka_unit_test(lost_until_closed),
    };
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "lost") == 0) return lose_device();
    return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
