/*
 * test_primitives.c - scans, compaction, bounds and sorts on accelerators, against plain loops.
 *
 *   test_primitives bench [N]   measures them on the first device
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver_checks.h"
#include "gpu/gpu_primitives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A device with its primitives; none: there is no such device. */
static struct {
    const struct sap_driver *driver;
    struct sap_dev *dev;
    struct sap_stream *stream;
    struct sap_primitives primitives;
} on;

static uint64_t random_state;
static uint64_t random64(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

static int opened(const struct sap_driver *driver, const struct sap_embedded *kernels)
{
    const char *engine = getenv("SAPPORO_TEST_ENGINES");
    if ((engine && !strstr(engine, driver->name)) || kernels->count == 0 || driver->count() == 0) return 0;
    on.driver = driver;
    on.dev = driver_opened(driver, 0);
    assert_int_equal(driver->stream_create(on.dev, &on.stream), SAP_DRIVER_OK);
    const int status = sap_primitives_open(driver, on.dev, 0, kernels, &on.primitives);
    if (status) print_message("%s\n", driver->error_text());
    assert_int_equal(status, SAP_DRIVER_OK);
    return 1;
}

static int set_up_opencl(void **state)
{
    (void)state;
    (void)opened(sap_driver_for_opencl(), &sap_embedded_opencl);
    return 0;
}

static int set_up_cuda(void **state)
{
    (void)state;
    (void)opened(sap_driver_for_cuda(), sap_kernels_for_cuda());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (!on.driver) return 0;
    sap_primitives_close(&on.primitives);
    on.driver->stream_destroy(on.stream);
    on.driver->close(on.dev);
    memset(&on, 0, sizeof on);
    return 0;
}

static void need_device(void)
{
    if (!on.driver) skip();
}

static struct sap_mem *memory(size_t bytes)
{
    struct sap_mem *m = NULL;
    assert_int_equal(on.driver->allocate(on.dev, bytes > 0 ? bytes : 1, &m), SAP_DRIVER_OK);
    return m;
}

static struct sap_mem *filled(const void *from, size_t bytes)
{
    struct sap_mem *m = memory(bytes);
    assert_int_equal(on.driver->copy_in(on.stream, m, 0, from, bytes), SAP_DRIVER_OK);
    assert_int_equal(on.driver->stream_finish(on.stream), SAP_DRIVER_OK);
    return m;
}

static void read_back(void *to, struct sap_mem *from, size_t at, size_t bytes)
{
    assert_int_equal(on.driver->copy_out(on.stream, to, from, at, bytes), SAP_DRIVER_OK);
    assert_int_equal(on.driver->stream_finish(on.stream), SAP_DRIVER_OK);
}

/* Sizes around those of tiles; the last has long tiles of sorts. */
enum { SIZES = 9 };
static int size_of(int k)
{
    static const int size[SIZES - 1] = {0, 1, 2, 255, 257, 2048, 2049, 30011};
    return k < SIZES - 1 ? size[k] : on.primitives.tile * (on.primitives.units + 1) + 77;
}

static void *array(int n, size_t each)
{
    void *a = calloc((size_t)n + 1, each);
    assert_non_null(a);
    return a;
}

/* --------------------------------------------------------------- scan, compaction, bounds */

static void scan_of(int n)
{
    int *in = array(n, sizeof *in), *out = array(n, sizeof *out), sum = 0, total = -1;
    size_t at = 0;
    for (int k = 0; k < n; k++) in[k] = (int)(random64() % 1000) - 300;
    struct sap_mem *a = filled(in, (size_t)n * sizeof *in), *scratch = memory(sap_primitives_scratch(n));
    assert_int_equal(sap_primitives_scan(&on.primitives, on.stream, a, a, n, scratch, &at), SAP_DRIVER_OK);
    read_back(out, a, 0, (size_t)n * sizeof *out);
    read_back(&total, scratch, at, sizeof total);
    for (int k = 0; k < n; k++) {
        if (out[k] != sum) fail_msg("n %d: entry %d is %d, not %d", n, k, out[k], sum);
        sum += in[k];
    }
    assert_int_equal(total, sum);
    on.driver->release(scratch);
    on.driver->release(a);
    free(out);
    free(in);
}

static void scans(void **state)
{
    (void)state;
    need_device();
    for (int k = 0; k < SIZES; k++) scan_of(size_of(k));
}

static void compaction_of(int n, int one_in, int values)
{
    int *flag = array(n, sizeof *flag), *value = array(n, sizeof *value), *out = array(n, sizeof *out);
    int kept = 0, total = -1;
    size_t at = 0;
    for (int k = 0; k < n; k++) flag[k] = random64() % (unsigned)one_in == 0, value[k] = 7 * k;
    struct sap_mem *f = filled(flag, (size_t)n * sizeof *flag), *v = filled(value, (size_t)n * sizeof *value),
                   *place = memory((size_t)n * sizeof(int)), *o = memory((size_t)n * sizeof(int)),
                   *scratch = memory(sap_primitives_scratch(n));
    assert_int_equal(sap_primitives_compact(&on.primitives, on.stream, f, values ? v : NULL, place, o, n, scratch, &at),
                     SAP_DRIVER_OK);
    read_back(&total, scratch, at, sizeof total);
    for (int k = 0; k < n; k++) kept += flag[k];
    assert_int_equal(total, kept);
    read_back(out, o, 0, (size_t)kept * sizeof *out);
    for (int k = 0, at_out = 0; k < n; k++)
        if (flag[k]) assert_int_equal(out[at_out++], values ? value[k] : k);
    struct sap_mem *const all[] = {f, v, place, o, scratch};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) on.driver->release(all[k]);
    free(out);
    free(value);
    free(flag);
}

static void compactions(void **state)
{
    (void)state;
    need_device();
    for (int k = 0; k < SIZES; k++) compaction_of(size_of(k), 1 + k % 3, k % 2);
}

static void bounds_of(int n)
{
    const int stride = n + 3;
    double *x = array(3 * stride, sizeof *x), found[6], expected[6];
    for (int column = 0; column < 3; column++) {
        double *low = &expected[2 * column], *high = low + 1;
        for (int k = 0; k < stride; k++)
            x[column * stride + k] = k < n ? ((double)random64() / 0x1p63 - 1) * (column + 1) : 100;
        *low = *high = x[column * stride];
        for (int k = 1; k < n; k++) {
            const double here = x[column * stride + k];
            if (here < *low) *low = here;
            if (here > *high) *high = here;
        }
    }
    struct sap_mem *a = filled(x, 3 * (size_t)stride * sizeof *x), *out = memory(sizeof found),
                   *scratch = memory(sap_primitives_scratch(n));
    assert_int_equal(sap_primitives_bounds(&on.primitives, on.stream, a, n, stride, 3, out, scratch), SAP_DRIVER_OK);
    read_back(found, out, 0, sizeof found);
    assert_memory_equal(found, expected, sizeof found);
    on.driver->release(scratch);
    on.driver->release(out);
    on.driver->release(a);
    free(x);
}

static void bounds(void **state)
{
    (void)state;
    need_device();
    for (int k = 1; k < SIZES; k++) bounds_of(size_of(k));
}

/* ----------------------------------------------------------------------------------- sort */

enum kind { RANDOM, EQUAL, FEW, SORTED, REVERSED, CLUSTERED, KINDS };

static uint64_t key_of(enum kind kind, int k, int n)
{
    switch (kind) {
    case RANDOM:
        return random64() >> 1;
    case EQUAL:
        return 0x7123456789ABCDEFU;
    case FEW:
        return random64() % 3 << 40;
    case SORTED:
        return (uint64_t)k << 20;
    case REVERSED:
        return (uint64_t)(n - k) << 33;
    default:
        return random64() >> (1 + random64() % 63);
    }
}

struct pair {
    uint64_t key;
    int value;
};

/* Values are places or rise with them, so this order is that of a stable sort. */
static int compare(const void *a, const void *b)
{
    const struct pair *p = a, *q = b;
    return p->key != q->key ? (p->key > q->key) - (p->key < q->key) : (p->value > q->value) - (p->value < q->value);
}

static void sort_of(enum kind kind, int n, int places)
{
    struct pair *expected = array(n, sizeof *expected);
    uint64_t *key = array(n, sizeof *key);
    int *value = array(n, sizeof *value), at = -1;
    for (int k = 0; k < n; k++) {
        key[k] = key_of(kind, k, n);
        value[k] = places ? -1 : 3 * k - 7;
        expected[k] = (struct pair){key[k], places ? k : value[k]};
    }
    qsort(expected, (size_t)n, sizeof *expected, compare);
    struct sap_mem *scratch = memory(sap_primitives_scratch(n));
    const struct sap_sort sort = {
        .key = {filled(key, (size_t)n * sizeof *key), memory((size_t)n * sizeof *key)},
        .value = {filled(value, (size_t)n * sizeof *value), memory((size_t)n * sizeof *value)},
        .n = n,
        .to = 63,
        .places = places};
    assert_int_equal(sap_primitives_sort(&on.primitives, on.stream, &sort, scratch, &at), SAP_DRIVER_OK);
    read_back(key, sort.key[at], 0, (size_t)n * sizeof *key);
    read_back(value, sort.value[at], 0, (size_t)n * sizeof *value);
    for (int k = 0; k < n; k++)
        if (key[k] != expected[k].key || value[k] != expected[k].value)
            fail_msg("keys %d, n %d: place %d has key %llx, value %d, not %llx, %d", (int)kind, n, k,
                     (unsigned long long)key[k], value[k], (unsigned long long)expected[k].key, expected[k].value);
    for (int k = 0; k < 2; k++) on.driver->release(sort.key[k]), on.driver->release(sort.value[k]);
    on.driver->release(scratch);
    free(value);
    free(key);
    free(expected);
}

static void sorts(void **state)
{
    (void)state;
    need_device();
    for (int k = 0; k < SIZES; k++) sort_of(k < SIZES - 1 ? RANDOM : CLUSTERED, size_of(k), k % 2);
    for (int kind = 0; kind < KINDS; kind++) sort_of((enum kind)kind, 5000 + kind, kind % 2);
}

/* -------------------------------------------------------------------------------- measures */

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

enum { REPEATS = 11 };

struct measured {
    struct sap_mem *key[2], *value[2], *scratch, *out;
    uint64_t *keys;
    int n;
};

static int measured_sort(struct measured *m)
{
    const struct sap_sort sort = {{m->key[0], m->key[1]}, {m->value[0], m->value[1]}, m->n, 0, 63, 1};
    int at;
    return sap_primitives_sort(&on.primitives, on.stream, &sort, m->scratch, &at);
}

static int measured_scan(struct measured *m)
{
    return sap_primitives_scan(&on.primitives, on.stream, m->value[0], m->value[1], m->n, m->scratch, NULL);
}

static int measured_bounds(struct measured *m)
{
    return sap_primitives_bounds(&on.primitives, on.stream, m->key[1], m->n, 0, 3, m->out, m->scratch);
}

static void measure(const char *name, int (*work)(struct measured *), struct measured *m, double bytes)
{
    struct sap_event *from = NULL, *to = NULL;
    float ms[REPEATS];
    assert_int_equal(on.driver->event_create_timed(on.dev, &from), SAP_DRIVER_OK);
    assert_int_equal(on.driver->event_create_timed(on.dev, &to), SAP_DRIVER_OK);
    for (int k = 0; k < REPEATS; k++) {
        assert_int_equal(on.driver->copy_in(on.stream, m->key[0], 0, m->keys, (size_t)m->n * 8), SAP_DRIVER_OK);
        assert_int_equal(on.driver->event_record(from, on.stream), SAP_DRIVER_OK);
        assert_int_equal(work(m), SAP_DRIVER_OK);
        assert_int_equal(on.driver->event_record(to, on.stream), SAP_DRIVER_OK);
        assert_int_equal(on.driver->event_wait(to), SAP_DRIVER_OK);
        assert_int_equal(on.driver->event_milliseconds(from, to, &ms[k]), SAP_DRIVER_OK);
    }
    qsort(ms, REPEATS, sizeof *ms, by_value);
    printf("%-18s %9d entries  %8.4f ms  %8.3g entries/s  %7.1f GB/s\n", name, m->n, ms[REPEATS / 2],
           m->n / (1e-3 * ms[REPEATS / 2]), bytes * m->n / (1e6 * ms[REPEATS / 2]));
    on.driver->event_destroy(from);
    on.driver->event_destroy(to);
}

static void bench(int n)
{
    struct measured m = {.n = n, .keys = array(n, sizeof *m.keys)};
    for (int k = 0; k < 2; k++) m.key[k] = memory((size_t)n * 8), m.value[k] = memory((size_t)n * 4);
    m.scratch = memory(sap_primitives_scratch(n));
    m.out = memory(48);
    assert_int_equal(on.driver->fill(on.stream, m.value[0], 0, 0, (size_t)n * 4), SAP_DRIVER_OK);
    const double sort_bytes = 8 * (8 + 12 + 12);
    for (int k = 0; k < n; k++) m.keys[k] = key_of(RANDOM, k, n);
    measure("sort, random", measured_sort, &m, sort_bytes);
    for (int k = 0; k < n; k++) m.keys[k] = key_of(CLUSTERED, k, n);
    measure("sort, clustered", measured_sort, &m, sort_bytes);
    for (int k = 0; k < n; k++) m.keys[k] = (uint64_t)k << 36;
    measure("sort, sorted", measured_sort, &m, sort_bytes);
    measure("scan", measured_scan, &m, 12);
    assert_int_equal(on.driver->fill(on.stream, m.key[1], 0, 0, (size_t)n * 8), SAP_DRIVER_OK);
    measure("bounds", measured_bounds, &m, 24);
    for (int k = 0; k < 2; k++) on.driver->release(m.key[k]), on.driver->release(m.value[k]);
    on.driver->release(m.scratch);
    on.driver->release(m.out);
    free(m.keys);
}

static int measures(int n)
{
    if (!opened(sap_driver_for_cuda(), sap_kernels_for_cuda()) &&
        !opened(sap_driver_for_opencl(), &sap_embedded_opencl)) {
        (void)fprintf(stderr, "no device\n");
        return 77;
    }
    printf("%s\n", on.driver->name);
    for (int k = n > 0 ? n : 1 << 17; k <= (n > 0 ? n : 1 << 23); k *= 8) bench(k);
    return tear_down(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scans, set_up_opencl, tear_down),
        cmocka_unit_test_setup_teardown(compactions, set_up_opencl, tear_down),
        cmocka_unit_test_setup_teardown(bounds, set_up_opencl, tear_down),
        cmocka_unit_test_setup_teardown(sorts, set_up_opencl, tear_down),
        {"scans, cuda", scans, set_up_cuda, tear_down, NULL},
        {"compactions, cuda", compactions, set_up_cuda, tear_down, NULL},
        {"bounds, cuda", bounds, set_up_cuda, tear_down, NULL},
        {"sorts, cuda", sorts, set_up_cuda, tear_down, NULL},
    };
    if (argc > 1 && strcmp(argv[1], "bench") == 0) return measures(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0);
    return cmocka_run_group_tests_name("primitives", tests, NULL, NULL);
}
