/*
 * test_native.c - sapporo.h: every function with valid and with invalid arguments, columns of any layout, structs of
 * other versions.  test_native_jobs.c tests the life of jobs, test_native_log.c messages, test_native_threads.c
 * threads.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "isa.h"
#include "model.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Three particles whose forces are known: indices 10, 11, 12, masses 1, 2, 4; the last one moves. */
static const double t3_x[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}}, t3_v[3][3] = {{0}, {0}, {1, 0, 0}};
static const double t3_mass[3] = {1, 2, 4};
static const int t3_index[3] = {10, 11, 12};

static sapporo_particle t3_particle(int k)
{
    sapporo_particle p = {.mass = t3_mass[k], .index = t3_index[k]};
    memcpy(p.derivative[0], t3_x[k], sizeof t3_x[k]);
    memcpy(p.derivative[1], t3_v[k], sizeof t3_v[k]);
    return p;
}

static void put_t3(sapporo *c)
{
    for (int k = 0; k < 3; k++) {
        const sapporo_particle p = t3_particle(k);
        assert_int_equal(sapporo_set_particle(c, k, &p), SAPPORO_OK);
    }
}

static sapporo *open_t3(void)
{
    sapporo *c = NULL;
    assert_int_equal(sapporo_open(NULL, &c), SAPPORO_OK);
    assert_non_null(c);
    put_t3(c);
    return c;
}

/* The request for the force on particle 10. */
static sapporo_request t3_request(void)
{
    return (sapporo_request){
        .size = sizeof(sapporo_request), .nj = 3, .ni = 1, .x = {t3_x, 0}, .v = {t3_v, 0}, .index = {t3_index, 0}};
}

static int near_to(double got, double exact) { return fabs(got - exact) <= 1e-6 * (fabs(exact) + 1e-3); }

static void check_t3(const double *acc, const double *jerk, double pot)
{
    assert_true(near_to(acc[0], 2) && near_to(acc[1], 1) && near_to(acc[2], 0));
    assert_true(near_to(jerk[0], 0.5) && near_to(jerk[1], 0) && near_to(jerk[2], 0));
    assert_true(near_to(pot, -4));
}

/* The force on particle 10 must be right: the context is well. */
static void check_well(sapporo *c)
{
    double acc[1][3], jerk[1][3], pot[1];
    int nearest[1];
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot, .nearest = nearest};
    const sapporo_request request = t3_request();
    sapporo_job *job = NULL;
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, 1, &result), SAPPORO_OK);
    check_t3(acc[0], jerk[0], pot[0]);
    assert_int_equal(nearest[0], 11);
    sapporo_force_free(job);
}

/* ------------------------------------------------------- versions, texts, devices */

static void versions(void **state)
{
    (void)state;
    assert_string_equal(sapporo_version(), SAPPORO_VERSION);
    assert_true(sapporo_arith_version() >= 1);
    for (int status = SAPPORO_ERR_GONE; status <= SAPPORO_TRUNCATED; status++) {
        assert_non_null(sapporo_status_text(status));
        assert_true(strlen(sapporo_status_text(status)) > 1);
        assert_null(strchr(sapporo_status_text(status), '\n'));
    }
    assert_non_null(sapporo_status_text(INT_MIN));
    assert_non_null(sapporo_status_text(12345));
    assert_string_not_equal(sapporo_status_text(SAPPORO_ERR_GONE), sapporo_status_text(SAPPORO_OK));
}

static void devices(void **state)
{
    sapporo_device d;
    (void)state;
    const int all = sapporo_device_count(SAPPORO_BACKEND_AUTO);
    assert_int_equal(sapporo_device_count(SAPPORO_BACKEND_CPU), 1);
    assert_int_equal(all, 1 + sapporo_device_count(SAPPORO_BACKEND_CUDA) + sapporo_device_count(SAPPORO_BACKEND_HIP) +
                              sapporo_device_count(SAPPORO_BACKEND_OPENCL));
    assert_int_equal(sapporo_device_count((sapporo_backend)77), 0);
    for (int n = 0; n < all; n++) {
        memset(&d, 0x55, sizeof d);
        d.size = sizeof d;
        assert_int_equal(sapporo_device_describe(SAPPORO_BACKEND_AUTO, n, &d), SAPPORO_OK);
        assert_int_equal(d.size, sizeof d);
        assert_true(d.name[0] && memchr(d.name, 0, sizeof d.name) && memchr(d.detail, 0, sizeof d.detail));
        assert_true(d.units > 0 && (d.has_fp64 == 0 || d.has_fp64 == 1) && d.memory >= 0);
    }
    d.size = sizeof d;
    assert_int_equal(sapporo_device_describe(SAPPORO_BACKEND_AUTO, all, &d), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_device_describe(SAPPORO_BACKEND_CPU, -1, &d), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_device_describe(SAPPORO_BACKEND_CPU, 1, &d), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_device_describe((sapporo_backend)77, 0, &d), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_device_describe(SAPPORO_BACKEND_CPU, 0, NULL), SAPPORO_ERR_ARGUMENT);
    d.size = 0;
    assert_int_equal(sapporo_device_describe(SAPPORO_BACKEND_CPU, 0, &d), SAPPORO_ERR_ARGUMENT);
}

/* A caller that knows less of the struct gets no more than it knows. */
static void older_device(void **state)
{
    sapporo_device d;
    (void)state;
    memset(&d, 0x55, sizeof d);
    d.size = offsetof(sapporo_device, memory);
    assert_int_equal(sapporo_device_describe(SAPPORO_BACKEND_CPU, 0, &d), SAPPORO_OK);
    assert_int_equal(d.backend, SAPPORO_BACKEND_CPU);
    assert_true(d.units > 0);
    assert_int_equal(d.name[0], 0x55);
    assert_true(d.memory == 0x5555555555555555);
}

/* ------------------------------------------------------------------------ opening */

static void expect_refusal(const sapporo_options *options, int status)
{
    sapporo *c = (sapporo *)&c;
    const int got = sapporo_open(options, &c);
    if (got != status) fail_msg("opening gives %d, should give %d", got, status);
    assert_null(c);
    assert_true(strlen(sapporo_last_error(NULL)) > 5);
    sapporo_clear_error(NULL);
    assert_string_equal(sapporo_last_error(NULL), "");
}

static void open_refused(void **state)
{
    const sapporo_options options = {.size = sizeof options};
    sapporo_options o;
    (void)state;
    assert_int_equal(sapporo_open(NULL, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_open(&options, NULL), SAPPORO_ERR_ARGUMENT);
#define REFUSED(status, ...)                                                                                           \
    o = options;                                                                                                       \
    __VA_ARGS__;                                                                                                       \
    expect_refusal(&o, status)
    REFUSED(SAPPORO_ERR_ARGUMENT, o.size = 0);
    REFUSED(SAPPORO_ERR_ARGUMENT, o.order = 3);
    REFUSED(SAPPORO_ERR_ARGUMENT, o.order = -4);
    REFUSED(SAPPORO_ERR_ARGUMENT, o.precision = (sapporo_precision)4);
    REFUSED(SAPPORO_ERR_ARGUMENT, o.precision = (sapporo_precision)-1);
    REFUSED(SAPPORO_ERR_ARGUMENT, o.backend = (sapporo_backend)9);
    REFUSED(SAPPORO_ERR_ARGUMENT, o.threads = -1);
    REFUSED(SAPPORO_ERR_ARGUMENT, o.cpu_isa = "mmx");
    REFUSED(SAPPORO_ERR_ARGUMENT, o.ndevices = 2);
    REFUSED(SAPPORO_ERR_ARGUMENT, o.ndevices = -7);
    for (int order = 6; order <= 8; order += 2) {
        o = options, o.order = order, o.precision = SAPPORO_SP, o.backend = SAPPORO_BACKEND_CPU;
        expect_refusal(&o, SAPPORO_ERR_UNSUPPORTED);
    }
    sapporo *c = NULL;
    for (int k = 0; k < CPU_ENGINES; k += 3) { /* a path that is not there is never replaced by another */
        o = options, o.backend = SAPPORO_BACKEND_CPU, o.cpu_isa = engines[k].isa;
        const int isa = sap_isa_find(engines[k].isa);
        if (isa < 0 || !sap_isa_usable((enum sap_isa)isa)) expect_refusal(&o, SAPPORO_ERR_UNSUPPORTED);
    }
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    assert_string_equal(sapporo_last_error(NULL), "");
    assert_string_equal(sapporo_last_error(c), "");
    sapporo_close(c);
    sapporo_close(NULL);
}

/* A device that is named and not there is refused, not replaced. */
static void no_such_device(void **state)
{
    const int far_devices[] = {0, 99};
    sapporo_options o = {
        .size = sizeof o, .backend = SAPPORO_BACKEND_CPU, .devices = far_devices, .ndevices = 1, .preferred_device = 7};
    sapporo *c;
    (void)state;
    assert_int_equal(sapporo_open(&o, &c), SAPPORO_OK);
    sapporo_close(c);
    o.ndevices = 2; /* a device that does not exist is named in a message, the others are used (spec 10.3) */
    assert_int_equal(sapporo_open(&o, &c), SAPPORO_OK);
    sapporo_close(c);
    o.ndevices = -1;
    assert_int_equal(sapporo_open(&o, &c), SAPPORO_OK);
    sapporo_close(c);
}

/* Structs that are shorter, as of an older caller, and longer, as of a newer one. */
static void open_other_versions(void **state)
{
    struct {
        sapporo_options options;
        char more[16];
    } newer = {.options = {.size = sizeof newer, .precision = SAPPORO_DP}};
    sapporo_options older = {.size = offsetof(sapporo_options, backend), .precision = SAPPORO_SP, .threads = -5};
    sapporo *c;
    (void)state;
    assert_int_equal(sapporo_open(&older, &c), SAPPORO_OK);
    assert_int_equal(sapporo_get_precision(c), SAPPORO_SP);
    sapporo_close(c);
    assert_int_equal(sapporo_open(&newer.options, &c), SAPPORO_OK);
    assert_int_equal(sapporo_get_precision(c), SAPPORO_DP);
    sapporo_close(c);
    newer.more[3] = 1;
    expect_refusal(&newer.options, SAPPORO_ERR_UNSUPPORTED);
}

static void queries(void **state)
{
    char isa[8] = "scalar";
    const sapporo_options options = {.size = sizeof options,
                                     .precision = SAPPORO_DP,
                                     .backend = SAPPORO_BACKEND_CPU,
                                     .cpu_isa = isa,
                                     .threads = 3,
                                     .preferred_device = 1000};
    sapporo *c;
    (void)state;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    memset(isa, 'x', sizeof isa - 1); /* it was copied */
    assert_int_equal(sapporo_get_backend(c), SAPPORO_BACKEND_CPU);
    assert_int_equal(sapporo_get_precision(c), SAPPORO_DP);
#if defined(_OPENMP)
    assert_int_equal(sapporo_get_threads(c), 3);
#endif
    assert_non_null(strstr(sapporo_kind(c), "cpu scalar dp"));
    sapporo_close(c);
    assert_non_null(sapporo_kind(NULL));
    assert_int_equal(sapporo_get_backend(NULL), SAPPORO_BACKEND_AUTO);
    assert_int_equal(sapporo_get_precision(NULL), SAPPORO_PRECISION_DEFAULT);
    assert_int_equal(sapporo_get_threads(NULL), 0);
}

static void null_contexts(void **state)
{
    sapporo_particle p = {0};
    const sapporo_particles all = {.size = sizeof all};
    const sapporo_request request = t3_request();
    sapporo_job *job = (sapporo_job *)&job;
    int n = 7;
    (void)state;
    assert_int_equal(sapporo_set_particle(NULL, 0, &p), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_set_particles(NULL, 0, 1, &all), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_get_particle(NULL, 0, 0, &p), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_clear_particles(NULL), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_set_time(NULL, 1), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_force_begin(NULL, &request, &job), SAPPORO_ERR_CLOSED);
    assert_null(job);
    assert_int_equal(sapporo_force_done(NULL), 1);
    assert_int_equal(sapporo_force_end(NULL, 0, &(sapporo_result){.size = sizeof(sapporo_result)}),
                     SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_neighbours(NULL, 0, 0, &n, NULL, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_force_neighbour_lists(NULL, 0, 0, 0, NULL, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(n, 0);
    sapporo_force_free(NULL);
    sapporo_clear_error(NULL);
}

/* ------------------------------------------------------------------------- particles */

/* Rows as a client may have them: packed, so that nothing is aligned. */
struct __attribute__((packed)) row {
    char tag;
    double x[3];
    int index;
    char gap;
    double mass;
    double v[3];
    double time;
};

static void fill_rows(struct row *rows, int backwards)
{
    for (int k = 0; k < 3; k++) {
        struct row *r = &rows[backwards ? 2 - k : k];
        memset(r, 0x77, sizeof *r);
        memcpy((char *)r + offsetof(struct row, x), t3_x[k], sizeof t3_x[k]);
        memcpy((char *)r + offsetof(struct row, v), t3_v[k], sizeof t3_v[k]);
        memcpy((char *)r + offsetof(struct row, mass), &t3_mass[k], sizeof t3_mass[k]);
        memcpy((char *)r + offsetof(struct row, index), &t3_index[k], sizeof t3_index[k]);
        memset((char *)r + offsetof(struct row, time), 0, sizeof r->time);
    }
}

static sapporo_column column(const struct row *rows, size_t member, int backwards)
{
    const ptrdiff_t size = sizeof(struct row);
    return (sapporo_column){(const char *)(backwards ? rows + 2 : rows) + member, backwards ? -size : size};
}

/* Strides of packed rows, forwards and backwards, for sources and for targets. */
static void packed_rows(void **state)
{
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++) {
        struct row rows[3];
        double acc[3][3], jerk[3][3], pot[3];
        const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot};
        sapporo *c;
        sapporo_job *job;
        fill_rows(rows, backwards);
        const sapporo_particles all = {.size = sizeof all,
                                       .derivative = {column(rows, offsetof(struct row, x), backwards),
                                                      column(rows, offsetof(struct row, v), backwards)},
                                       .mass = column(rows, offsetof(struct row, mass), backwards),
                                       .time = column(rows, offsetof(struct row, time), backwards),
                                       .index = column(rows, offsetof(struct row, index), backwards)};
        const sapporo_request request = {.size = sizeof request,
                                         .nj = 3,
                                         .ni = 3,
                                         .x = all.derivative[0],
                                         .v = all.derivative[1],
                                         .index = all.index};
        assert_int_equal(sapporo_open(NULL, &c), SAPPORO_OK);
        assert_int_equal(sapporo_set_particles(c, 0, 3, &all), SAPPORO_OK);
        assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
        memset(rows, 0xFF, sizeof rows); /* all was copied */
        assert_int_equal(sapporo_force_end(job, 3, &result), SAPPORO_OK);
        check_t3(acc[0], jerk[0], pot[0]);
        check_well(c);
        sapporo_close(c);
    }
}

/* Columns that are absent are zeros, and the index is the address. */
static void absent_columns(void **state)
{
    const sapporo_particles only_x = {.size = sizeof only_x, .derivative = {{t3_x, 0}}};
    sapporo_particle got;
    (void)state;
    sapporo *c = open_t3();
    assert_int_equal(sapporo_set_particles(c, 100, 3, &only_x), SAPPORO_OK);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(sapporo_get_particle(c, 100 + k, 0, &got), SAPPORO_OK);
        const sapporo_particle exact = {.derivative = {{t3_x[k][0], t3_x[k][1], t3_x[k][2]}}, .index = 100 + k};
        assert_memory_equal(&got, &exact, offsetof(sapporo_particle, index) + sizeof got.index);
    }
    assert_int_equal(sapporo_set_particles(c, 0, 0, &only_x), SAPPORO_OK);
    check_well(c);
    sapporo_close(c);
}

/* Positions, velocities and masses of many, over others that had more, from any address on, with gaps and without. */
static void runs_of_particles(void **state)
{
    enum { N = 60, FIRST = 2030 };
    static double row[N][7];
    (void)state;
    for (int k = 0; k < N; k++)
        for (int w = 0; w < 7; w++) row[k][w] = k + 0.125 * w;
    for (int gaps = 0; gaps < 2; gaps++) {
        static double x[N][3], v[N][3], mass[N];
        sapporo_particle got = {.time = 1, .mass = 5, .derivative = {{1}, {2}, {3}, {4}}, .index = 3};
        sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}, {v, 0}}, .mass = {mass, 0}};
        if (gaps) all.derivative[0] = (sapporo_column){row[0], sizeof row[0]};
        if (gaps) all.derivative[1] = (sapporo_column){row[0] + 3, sizeof row[0]};
        if (gaps) all.mass = (sapporo_column){row[0] + 6, sizeof row[0]};
        sapporo *c = open_t3();
        for (int k = 0; k < N; k++) {
            memcpy(x[k], row[k], sizeof x[k]);
            memcpy(v[k], row[k] + 3, sizeof v[k]);
            mass[k] = row[k][6];
            assert_int_equal(sapporo_set_particle(c, FIRST + k, &got), SAPPORO_OK);
        }
        assert_int_equal(sapporo_set_particles(c, FIRST, N, &all), SAPPORO_OK);
        for (int k = 0; k < N; k++) {
            sapporo_particle exact = {.mass = row[k][6], .index = FIRST + k};
            memcpy(exact.derivative, row[k], 2 * sizeof exact.derivative[0]);
            assert_int_equal(sapporo_get_particle(c, FIRST + k, 0, &got), SAPPORO_OK);
            assert_memory_equal(&got, &exact, offsetof(sapporo_particle, index) + sizeof got.index);
        }
        check_well(c);
        row[5][4] = NAN;
        v[5][1] = NAN;
        assert_int_equal(sapporo_set_particles(c, FIRST, N, &all), SAPPORO_ERR_NOT_FINITE);
        row[5][4] = 5.5;
        sapporo_close(c);
    }
}

static void bad_particles(void **state)
{
    const sapporo_particles good = {.size = sizeof good, .derivative = {{t3_x, 0}}};
    sapporo_particles bad = good;
    sapporo_particle p = t3_particle(1);
    (void)state;
    sapporo *c = open_t3();
    assert_int_equal(sapporo_set_particle(c, 0, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_set_particles(c, 0, 3, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_set_particles(c, 0, -1, &good), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_set_particles(c, -1, 1, &good), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_set_particles(c, INT_MAX, 3, &good), SAPPORO_ERR_ARGUMENT);
    bad.derivative[0].base = NULL;
    assert_int_equal(sapporo_set_particles(c, 0, 3, &bad), SAPPORO_ERR_ARGUMENT);
    bad = good, bad.size = 3;
    assert_int_equal(sapporo_set_particles(c, 0, 3, &bad), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_get_particle(c, 0, 0, NULL), SAPPORO_ERR_ARGUMENT);
    check_well(c);
    for (int k = 0; k < 5; k++) { /* not finite: stored, said, and gone when it is sent again */
        double *const what[] = {&p.mass, &p.time, &p.derivative[0][2], &p.derivative[1][0], &p.derivative[3][1]};
        const double was = *what[k];
        double pot[1];
        const sapporo_request request = t3_request();
        const sapporo_result result = {.size = sizeof result, .pot = pot};
        sapporo_job *job;
        *what[k] = k % 2 ? NAN : INFINITY;
        assert_int_equal(sapporo_set_particle(c, 1, &p), SAPPORO_ERR_NOT_FINITE);
        *what[k] = was;
        assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
        assert_true(sapporo_force_end(job, 1, &result) >= 0);
        if (k < 3) assert_true(!isfinite(pot[0]));
        sapporo_force_free(job);
        assert_int_equal(sapporo_set_particle(c, 1, &p), SAPPORO_OK);
        check_well(c);
    }
    sapporo_close(c);
}

/* A row that is not finite does not keep the others out. */
static void bad_row(void **state)
{
    double x[5][3] = {{0}}, mass[5] = {1, 2, NAN, 4, 5};
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
    sapporo_particle got;
    (void)state;
    sapporo *c = open_t3();
    assert_int_equal(sapporo_set_particles(c, 50, 5, &all), SAPPORO_ERR_NOT_FINITE);
    for (int k = 0; k < 5; k++) {
        assert_int_equal(sapporo_get_particle(c, 50 + k, 0, &got), SAPPORO_OK);
        assert_true(k == 2 ? isnan(got.mass) : got.mass == mass[k]);
    }
    check_well(c);
    sapporo_close(c);
}

static int clean(void **state)
{
    static const char *const variables[] = {"SAPPORO_BACKEND", "SAPPORO_DEVICES", "SAPPORO_PRECISION",
                                            "SAPPORO_CPU_ISA"};
    (void)state;
    for (size_t k = 0; k < sizeof variables / sizeof variables[0]; k++) unsetenv(variables[k]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),       cmocka_unit_test(devices),           cmocka_unit_test(older_device),
        cmocka_unit_test(open_refused),   cmocka_unit_test(no_such_device),    cmocka_unit_test(open_other_versions),
        cmocka_unit_test(queries),        cmocka_unit_test(null_contexts),     cmocka_unit_test(packed_rows),
        cmocka_unit_test(absent_columns), cmocka_unit_test(runs_of_particles), cmocka_unit_test(bad_particles),
        cmocka_unit_test(bad_row),
    };
    return cmocka_run_group_tests_name("native", tests, clean, NULL);
}
