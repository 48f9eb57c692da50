/*
 * test_opencl.c - the OpenCL driver and engine: requirements on drivers, the cache of programs, faults, choice of
 * devices.
 *
 * Tests that need a device are skipped without one; PoCL's CPU suffices.  test_opencl_loader.sh tests settings that
 * must be made before the process starts.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/driver.h"
#include "driver/opencl/opencl_driver.h"
#include "driver_checks.h"
#include "faulty_driver.h"
#include "gpu/gpu_kernels.h"
#include "model.h"
#include "stub_driver.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 1000 };

static const struct sap_driver *const cl = &sap_driver_opencl;

static const char add_text[] = "__kernel void add(__global int *p, const __global int *nothing, int n, int k)\n"
                               "{ const int i = get_global_id(0); if (i < n && !nothing) p[i] += k; }\n"
                               "__kernel void shared(__global int *p, __local int *room)\n"
                               "{ room[get_local_id(0)] = 1; p[get_global_id(0)] = room[get_local_id(0)]; }\n";

static void need_device(void)
{
    if (cl->count() > 0) return;
    print_message("skip: %s\n", cl->describe());
    skip();
}

/* ---------------------------------------------------------------- the driver */

static void table(void **state)
{
    /* memory belongs to one device at a time, and has no address; groups do not wait for each other */
    static const size_t absent[] = {
        offsetof(struct sap_driver, pinned_for_all), offsetof(struct sap_driver, allocate_shared),
        offsetof(struct sap_driver, adopt),          offsetof(struct sap_driver, address),
        offsetof(struct sap_driver, native_stream),  offsetof(struct sap_driver, together_most)};
    void *entry[sizeof(struct sap_driver) / sizeof(void *)];
    struct sap_device_properties p;
    struct sap_dev *dev = NULL;
    (void)state;
    memcpy(entry, cl, sizeof *cl);
    for (size_t e = 0; e < sizeof entry / sizeof *entry; e++) {
        int is_absent = 0;
        for (size_t k = 0; k < sizeof absent / sizeof *absent; k++) is_absent |= absent[k] == e * sizeof *entry;
        if (!is_absent) assert_non_null(entry[e]);
    }
    assert_true(strlen(cl->describe()) > 0);
    assert_null(strchr(cl->describe(), '\n'));
    print_message("# %d devices, %d of them automatic: %s\n", cl->count(), sap_opencl_automatic(), cl->describe());
    for (int bad = -1; bad <= cl->count(); bad += cl->count() + 1) {
        assert_int_equal(cl->open(bad, &dev), SAP_DRIVER_UNSUPPORTED);
        assert_null(dev);
        assert_int_equal(cl->properties(bad, &p), SAP_DRIVER_UNSUPPORTED);
    }
    cl->close(NULL);
    cl->release(NULL);
    cl->stream_destroy(NULL);
    cl->event_destroy(NULL);
    cl->module_unload(NULL);
}

static void driver(void **state)
{
    struct sap_device_properties p;
    (void)state;
    need_device();
    assert_int_equal(cl->properties(0, &p), SAP_DRIVER_OK);
    assert_true(strlen(p.name) > 0 && strlen(p.uuid) > 0 && strlen(p.architecture) > 0);
    assert_true(p.memory > 0 && p.units > 0 && p.shared_per_group > 0 && p.threads_per_group > 0);
    driver_check_copies(cl);
    driver_check_events(cl);
    driver_check_too_much(cl);
}

/* What the host writes reaches kernels, what kernels write reaches the host. */
static void kernels(void **state)
{
    struct sap_stream *s = NULL;
    struct sap_mem *mem = NULL;
    struct sap_module *m = NULL;
    struct sap_function *f = NULL, *g = NULL;
    void *host = NULL;
    int n = N, more = 5, groups = 0;
    (void)state;
    need_device();
    struct sap_dev *dev = driver_opened(cl, 0);
    assert_int_equal(cl->module_load(dev, add_text, sizeof add_text - 1, &m), SAP_DRIVER_OK);
    assert_int_equal(cl->function(m, "no_such_kernel", &f), SAP_DRIVER_ERROR);
    assert_null(f);
    assert_non_null(strstr(cl->error_text(), "no_such_kernel"));
    assert_int_equal(cl->function(m, "add", &f), SAP_DRIVER_OK);
    assert_int_equal(cl->function(m, "shared", &g), SAP_DRIVER_OK);
    assert_int_equal(cl->occupancy(g, 128, 1024, &groups), SAP_DRIVER_OK);
    assert_true(groups >= 1);
    assert_int_equal(cl->occupancy(g, 128, (size_t)1 << 40, &groups), SAP_DRIVER_LAUNCH);
    assert_int_equal(cl->stream_create(dev, &s), SAP_DRIVER_OK);
    assert_int_equal(cl->allocate_pinned(dev, N * sizeof(int), &mem, &host), SAP_DRIVER_OK);
    int *const number = host;
    for (int k = 0; k < N; k++) number[k] = k;
    const struct sap_argument argument[] = {{mem, 0}, {NULL, 0}, {&n, sizeof n}, {&more, sizeof more}};
    struct sap_launch l = {.groups = {8, 1, 1}, .threads = 128, .argument = argument, .arguments = 4};
    assert_int_equal(cl->pinned_to_device(s, mem, 0, N * sizeof(int)), SAP_DRIVER_OK);
    assert_int_equal(cl->launch(s, f, &l), SAP_DRIVER_OK);
    more = 0; /* values were taken at the launch */
    assert_int_equal(cl->pinned_to_host(s, mem, 0, N * sizeof(int)), SAP_DRIVER_OK);
    assert_int_equal(cl->stream_finish(s), SAP_DRIVER_OK);
    for (int k = 0; k < N; k++) assert_int_equal(number[k], k + 5);
    l = (struct sap_launch){.groups = {7, 1, 1}, .threads = 128, .shared = 1024, .argument = argument, .arguments = 1};
    assert_int_equal(cl->launch(s, g, &l), SAP_DRIVER_OK);
    l.threads = 1 << 20;
    assert_int_equal(cl->launch(s, g, &l), SAP_DRIVER_LAUNCH);
    assert_int_equal(cl->stream_finish(s), SAP_DRIVER_OK);
    cl->release(mem);
    cl->stream_destroy(s);
    cl->module_unload(m);
    cl->close(dev);
}

/* What one device wrote reaches another, in the order of its stream; what is written after it does not. */
static void check_across(struct sap_dev *from, struct sap_dev *to)
{
    enum { BYTES = 1 << 20, PART = BYTES / 2 };
    unsigned char *const out = zeroed(BYTES, 1);
    struct sap_stream *s = NULL, *t = NULL;
    struct sap_mem *a = NULL, *b = NULL;
    struct sap_event *sent = NULL;
    assert_int_equal(cl->stream_create(from, &s), SAP_DRIVER_OK);
    assert_int_equal(cl->stream_create(to, &t), SAP_DRIVER_OK);
    assert_int_equal(cl->event_create(from, &sent), SAP_DRIVER_OK);
    assert_int_equal(cl->allocate(from, BYTES, &a), SAP_DRIVER_OK);
    assert_int_equal(cl->allocate(to, BYTES, &b), SAP_DRIVER_OK);
    assert_int_equal(cl->fill(t, b, 0, 0xff, BYTES), SAP_DRIVER_OK);
    assert_int_equal(cl->stream_finish(t), SAP_DRIVER_OK);
    for (int turn = 1; turn < 20; turn++) {
        assert_int_equal(cl->fill(s, a, 0, (unsigned char)turn, BYTES), SAP_DRIVER_OK);
        assert_int_equal(cl->copy_peer(s, b, PART, a, 0, PART), SAP_DRIVER_OK);
        assert_int_equal(cl->fill(s, a, 0, 0xee, BYTES), SAP_DRIVER_OK);
        assert_int_equal(cl->event_record(sent, s), SAP_DRIVER_OK);
        if (cl->together(from, to))
            assert_int_equal(cl->stream_wait(t, sent), SAP_DRIVER_OK);
        else
            assert_int_equal(cl->event_wait(sent), SAP_DRIVER_OK);
        assert_int_equal(cl->copy_out(t, out, b, 0, BYTES), SAP_DRIVER_OK);
        assert_int_equal(cl->stream_finish(t), SAP_DRIVER_OK);
        for (int k = 0; k < BYTES; k += 1013) assert_int_equal(out[k], k < PART ? 0xff : turn);
    }
    assert_int_equal(cl->copy_peer(s, b, PART + 1, a, 0, PART), SAP_DRIVER_ERROR);
    assert_int_equal(cl->copy_peer(s, b, 0, a, PART + 1, PART), SAP_DRIVER_ERROR);
    cl->release(a);
    cl->release(b);
    cl->event_destroy(sent);
    cl->stream_destroy(s);
    cl->stream_destroy(t);
    free(out);
}

/* Returns how many devices, counted from the first, are of the kind of the first: what a context can use together. */
static int alike(void)
{
    struct sap_device_properties first, p;
    if (cl->count() < 1 || cl->properties(0, &first)) return 0;
    int n = 1;
    while (n < cl->count() && !cl->properties(n, &p) && strcmp(p.architecture, first.architecture) == 0) n++;
    return n;
}

/*
 * Devices are together if they were announced before the first of them was opened. NVIDIA's devices are left out: each
 * keeps a context of its own.
 */
static void several(void **state)
{
    static const int both[] = {0, 1}, wrong[] = {0, 1000};
    (void)state;
    struct sap_device_properties first;
    if (alike() < 2 || cl->properties(0, &first) || strncmp(first.architecture, "NVIDIA", 6) == 0) {
        print_message("skip: there is no second device that shares a context\n");
        skip();
    }
    sap_gpu_unload_idle(cl); /* kernels of other tests keep a device open */
    for (int early = 0; early < 2; early++) {
        if (early) assert_int_equal(cl->unite(both, 2), 1);
        struct sap_dev *one = driver_opened(cl, 0);
        assert_int_equal(cl->unite(both, 2), early);
        assert_int_equal(cl->unite(wrong, 2), 0);
        struct sap_dev *two = driver_opened(cl, 1), *again = driver_opened(cl, 0);
        assert_true(cl->together(one, again));
        assert_int_equal(cl->together(one, two), early);
        check_across(one, two);
        check_across(two, one);
        check_across(one, again);
        cl->close(again);
        cl->close(one);
        struct sap_dev *anew = driver_opened(cl, 0); /* its kernels, say, were lost: it gets a new context */
        assert_false(cl->together(anew, two));
        check_across(two, anew);
        cl->close(two);
        cl->close(anew);
    }
    for (int turn = 0; turn < 2; turn++) assert_int_equal(cl->unite(both, 2), 1); /* and nobody opens them */
}

/* The compiler's words reach the user. */
static void refused(void **state)
{
    static const char text[] = "__kernel void broken(__global int *p) { p[0] = no_such_variable; }\n";
    struct sap_module *m = NULL;
    (void)state;
    need_device();
    struct sap_dev *dev = driver_opened(cl, 0);
    assert_int_equal(cl->module_load(dev, text, sizeof text - 1, &m), SAP_DRIVER_UNSUPPORTED);
    assert_null(m);
    assert_non_null(strstr(cl->error_text(), "refuses the kernels"));
    assert_non_null(strstr(cl->error_text(), "no_such_variable"));
    cl->close(dev);
}

/* ---------------------------------------------------------------- the cache */

static char cache[] = "/tmp/sapporo-test-XXXXXX";

/* How many files the cache has, and the path of one; "" if there is none. */
static int cached(char *path, size_t room)
{
    glob_t found;
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s/*", cache);
    path[0] = '\0';
    if (glob(pattern, 0, NULL, &found) != 0) return 0;
    const int n = (int)found.gl_pathc;
    snprintf(path, room, "%s", found.gl_pathv[0]);
    globfree(&found);
    return n;
}

/* Loads a program that tests of the cache alone have. */
static void load(void)
{
    static const char text[] = "__kernel void one(__global int *p) { p[0] = 1; }\n";
    struct sap_module *m = NULL;
    struct sap_function *f = NULL;
    struct sap_dev *dev = driver_opened(cl, 0);
    assert_int_equal(cl->module_load(dev, text, sizeof text - 1, &m), SAP_DRIVER_OK);
    assert_int_equal(cl->function(m, "one", &f), SAP_DRIVER_OK);
    cl->module_unload(m);
    cl->close(dev);
}

/* Without SAPPORO_CACHE programs are kept, but for PoCL, which keeps compiled kernels itself. */
static void kept_by_default(void)
{
    struct sap_device_properties p;
    char usual[300] = "", pattern[320], folder[300];
    glob_t found;
    if (getenv("XDG_CACHE_HOME")) snprintf(usual, sizeof usual, "%s", getenv("XDG_CACHE_HOME"));
    setenv("XDG_CACHE_HOME", cache, 1);
    load();
    assert_int_equal(cl->properties(0, &p), SAP_DRIVER_OK);
    assert_int_equal(cached(folder, sizeof folder), strcmp(p.uuid, "Portable Computing Language") != 0);
    if (*folder) {
        snprintf(pattern, sizeof pattern, "%s/*", folder);
        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        for (size_t k = 0; k < found.gl_pathc; k++) assert_int_equal(unlink(found.gl_pathv[k]), 0);
        globfree(&found);
        assert_int_equal(rmdir(folder), 0);
    }
    unsetenv("XDG_CACHE_HOME");
    if (*usual) setenv("XDG_CACHE_HOME", usual, 1);
}

static long long size_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (long long)about.st_size : -1;
}

/* Writes a byte at a place of a file, or cuts it there. */
static void damage(const char *path, long at, int cut)
{
    if (cut) {
        assert_int_equal(truncate(path, at), 0);
        return;
    }
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    const int old = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(old ^ 0x55, f), old ^ 0x55);
    assert_int_equal(fclose(f), 0);
}

/* Puts a binary that no driver takes into the file of the cache, with the key and the check sum that belong to it. */
static void forge(const char *path)
{
    static const unsigned char nonsense[] = "this is no program";
    static unsigned char content[1 << 22];
    uint64_t n = 0;
    size_t room = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    const size_t size = fread(content, 1, sizeof content, f);
    assert_int_equal(fclose(f), 0);
    memcpy(&n, content + 8, sizeof n); /* behind the magic: the length of the key, which begins at 32 */
    assert_true(n > 0 && n < size - 32);
    unsigned char *const forged =
        sap_opencl_cache_pack((const char *)content + 32, (size_t)n, nonsense, sizeof nonsense, &room);
    assert_non_null(forged);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(forged, 1, room, f), room);
    assert_int_equal(fclose(f), 0);
    free(forged);
}

static void cache_works(void **state)
{
    char path[300], again[300], usual[300] = "";
    if (getenv("SAPPORO_CACHE")) snprintf(usual, sizeof usual, "%s", getenv("SAPPORO_CACHE"));
    (void)state;
    need_device();
    assert_non_null(mkdtemp(cache));
    setenv("SAPPORO_CACHE", "off", 1);
    load();
    unsetenv("SAPPORO_CACHE");
    kept_by_default();
    setenv("SAPPORO_CACHE", cache, 1);
    assert_int_equal(cached(path, sizeof path), 0);
    load();
    assert_int_equal(cached(path, sizeof path), 1);
    const long long size = size_of(path);
    assert_true(size > 100);
    load();
    const long places[] = {0, 9, 40, (long)size / 2, (long)size - 1};
    for (size_t k = 0; k < 2 * sizeof places / sizeof *places; k++) {
        damage(path, places[k / 2], (int)(k % 2));
        load(); /* as if it were not there, and written again */
        assert_int_equal(cached(again, sizeof again), 1);
        assert_string_equal(again, path);
        assert_int_equal(size_of(path), size);
    }
    forge(path);
    assert_int_not_equal(size_of(path), size);
    load(); /* the driver refuses the binary: compiled, and written again */
    assert_int_equal(size_of(path), size);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(chmod(cache, 0500), 0);
    load();
    assert_int_equal(chmod(cache, 0700), 0);
    cached(path, sizeof path); /* for root no folder is read-only */
    if (*path) unlink(path);
    assert_int_equal(rmdir(cache), 0);
    FILE *f = fopen(cache, "w"); /* a file where the folder should be */
    assert_non_null(f);
    fclose(f);
    load();
    unlink(cache);
    setenv("SAPPORO_CACHE", "/proc/no/such/folder", 1);
    load();
    unsetenv("SAPPORO_CACHE");
    if (*usual) setenv("SAPPORO_CACHE", usual, 1);
}

/* ---------------------------------------------------------------- the engine */

static int opens(const char *devices, sapporo_backend backend, sapporo_backend *got)
{
    const sapporo_options options = {.size = sizeof options, .backend = backend};
    sapporo *c = NULL;
    if (devices) setenv("SAPPORO_DEVICES", devices, 1);
    const int status = sapporo_open(&options, &c);
    unsetenv("SAPPORO_DEVICES");
    if (got) *got = sapporo_get_backend(c);
    sapporo_close(c);
    return status;
}

static void choice(void **state)
{
    sapporo_device d = {.size = sizeof d};
    sapporo_backend got;
    char part[24];
    (void)state;
    need_device();
    assert_int_equal(sapporo_device_describe(SAPPORO_BACKEND_OPENCL, 0, &d), SAPPORO_OK);
    print_message("# %s: %s\n", d.name, d.detail);
    assert_int_equal(opens("0", SAPPORO_BACKEND_OPENCL, NULL), SAPPORO_OK);
    snprintf(part, sizeof part, "%.8s", d.name);
    assert_int_equal(opens(part, SAPPORO_BACKEND_OPENCL, NULL), SAPPORO_OK);
    struct sap_device_properties p;
    assert_int_equal(cl->properties(0, &p), SAP_DRIVER_OK);
    snprintf(part, sizeof part, "%.8s", p.uuid); /* the platform */
    assert_int_equal(opens(part, SAPPORO_BACKEND_OPENCL, NULL), SAPPORO_OK);
    char list[64];
    snprintf(list, sizeof list, "no such device , %s", part);
    assert_int_equal(opens(list, SAPPORO_BACKEND_OPENCL, NULL), SAPPORO_OK);
    assert_int_not_equal(opens("no such device", SAPPORO_BACKEND_OPENCL, NULL), SAPPORO_OK);
    /* a CPU is OpenCL's only where it is named */
    assert_int_equal(opens(NULL, SAPPORO_BACKEND_AUTO, &got), SAPPORO_OK);
    if (sap_opencl_automatic() == 0) assert_int_not_equal(got, SAPPORO_BACKEND_OPENCL);
}

/* Devices by turns of two kinds. */
static int mixed_properties(int number, struct sap_device_properties *p)
{
    const int status = stub_driver.properties(number, p);
    if (!status) snprintf(p->architecture, sizeof p->architecture, "kind-%d", number % 2);
    return status;
}

/* Those of one kind come as far as the self-test, which a stub does not pass. */
static void kinds(void **state)
{
    static const struct {
        const char *devices;
        int status;
        const char *words;
    } cases[] = {{"0,1", SAPPORO_ERR_UNSUPPORTED, "do not give the same bits"},
                 {"all", SAPPORO_ERR_UNSUPPORTED, "do not give the same bits"},
                 {"1,3", SAPPORO_ERR_DEVICE, "self-test"}};
    struct sap_driver mixed = stub_driver;
    (void)state;
    mixed.properties = mixed_properties;
    stub_reset(4);
    sap_driver_replaced.opencl = &mixed;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_int_equal(opens(cases[k].devices, SAPPORO_BACKEND_OPENCL, NULL), cases[k].status);
        assert_non_null(strstr(sapporo_last_error(NULL), cases[k].words));
    }
    sap_gpu_unload_idle(&mixed);
    assert_true(stub_idle());
    sap_driver_replaced.opencl = NULL;
}

enum { MOST_DEVICES = 4 };

/* Everything that a client does, as far as it goes; what it gets must be right. */
static int attempt(const struct problem *p, const struct answer *standard)
{
    static const unsigned all = OUT_NEAREST | OUT_LISTS;
    int devices[MOST_DEVICES];
    sapporo_options options = {
        .size = sizeof options, .precision = SAPPORO_DS, .backend = SAPPORO_BACKEND_OPENCL, .devices = devices};
    while (options.ndevices < alike() && options.ndevices < MOST_DEVICES) {
        devices[options.ndevices] = options.ndevices;
        options.ndevices++;
    }
    sapporo_request request = problem_request(p, 0, p->ntargets);
    sapporo_job *job = NULL;
    sapporo *c = NULL;
    int status = sapporo_open(&options, &c);
    if (status) return status;
    problem_load(c, p);
    request.want = all;
    status = sapporo_force_begin(c, &request, &job);
    if (!status) {
        double pot[STANDARD_NI];
        sapporo_result result = {.size = sizeof result, .pot = pot};
        status = sapporo_force_end(job, p->ntargets, &result);
        for (int i = 0; i < p->ntargets && !status; i++) assert_true(pot[i] == standard[i].pot);
    }
    sapporo_force_free(job);
    sapporo_close(c);
    return status;
}

/* The n-th call fails: an error or the right result, and all is well afterwards.  0: no call was left to fail. */
static int step(long n, int kind, const struct problem *p, const struct answer *standard)
{
    faulty_plan(n, kind);
    const int status = attempt(p, standard);
    if (!faulty.failed) return 0;
    faulty_plan(0, SAP_DRIVER_OK);
    const int again = attempt(p, standard);
    if (again) fail_msg("call %ld, %d: status %d, afterwards %d", n, kind, status, again);
    return 1;
}

/*
 * Calls of a client's session, each second one by each way, and the others by the next way; then those that load
 * kernels, which the others find loaded.  With several devices a third of the calls: test_faults has three devices,
 * over a stub, where calls take no time.
 */
static void faults(void **state)
{
    const long every = !test_sparing() ? 1 : alike() > 1 ? 3 : 2;
    const struct ask everything = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, 0};
    struct problem p;
    (void)state;
    need_device();
    standard_problem(&p, 1.0 / 4096);
    struct answer *standard = solve_with(&engines[CPU_ENGINES + 7], 1, &p, &everything);
    sap_gpu_unload_idle(cl); /* or a device would be open already, alone */
    sap_driver_replaced.opencl = faulty_wrap(cl);
    sapporo_set_log(NULL, NULL);
    for (const struct faulty_kind *kind = faulty_kinds; kind->name; kind++) {
        long n = 1 + (kind - faulty_kinds) % every;
        while (step(n, kind->status, &p, standard)) n += every;
        print_message("# %s: %ld calls\n", kind->name, n - 1);
        assert_true(n > 40);
    }
    long n = 1;
    do {
        sap_gpu_unload_idle(sap_driver_replaced.opencl);
        n += (alike() > 1 ? 7 : 1) * (test_sparing() ? 4 : 1); /* each device loads the same */
    } while (step(n, SAP_DRIVER_ERROR, &p, standard));
    print_message("# with loading: %ld calls\n", n - 1);
    assert_true(n > 80);
    sap_gpu_unload_idle(sap_driver_replaced.opencl);
    sap_driver_replaced.opencl = NULL;
    answers_free(standard, p.ntargets);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),   cmocka_unit_test(driver),      cmocka_unit_test(kernels),
        cmocka_unit_test(refused), cmocka_unit_test(cache_works), cmocka_unit_test(choice),
        cmocka_unit_test(several), cmocka_unit_test(kinds),       cmocka_unit_test(faults),
    };
    const char *const folder = getenv("SAPPORO_CACHE");
    if (folder && strcmp(folder, "off") == 0) setenv("SAPPORO_CACHE", "build/opencl-cache", 1); /* devices open often */
    setenv("SAPPORO_VERBOSE", "0", 0);
    return cmocka_run_group_tests_name("opencl", tests, NULL, NULL);
}
