/*
 * test_tune.c - the effects of the tuning file: launch parameters, and the engine that a context chooses at its first
 * force.  GPUs are those of the stub driver, whose kernels do nothing.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "driver/driver.h"
#include "engine/options.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_shape.h"
#include "isa.h"
#include "model.h"
#include "stub_driver.h"
#include "tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 500, NI = 40 };

/* ---------------------------------------------------------------- the engine of the first force */

static const unsigned char image[64] = {1};
static const struct sap_image images[] = {{"force_sp", image, 64}, {"force_ds", image, 64}, {"force_dp", image, 64},
                                          {"store", image, 64},    {"finish", image, 64},   {"lists", image, 64}};
static const struct sap_embedded kernels = {images, 6, "sm_90", ""};

static int stub_on(void **state)
{
    stub_reset(1);
    sap_driver_replaced.cuda = &stub_driver;
    sap_driver_replaced.cuda_kernels = &kernels;
    return tuning_clean(state);
}

static int stub_off(void **state)
{
    sap_driver_replaced.cuda = NULL;
    sap_driver_replaced.cuda_kernels = NULL;
    sapporo_set_log(NULL, NULL);
    return tuning_clean(state);
}

static const char file_500[] = "sapporo tune 1\n[cuda Stub 0 sm_90]\nds.cpu_below_nj 500\nsp.cpu_below_nj 200\n";

static void make_problem(struct problem *p)
{
    problem_new(p, N, NI);
    model_plummer(p->body, N, 3);
    model_derivatives(p->body, N, 4);
    for (int i = 0; i < NI; i++) {
        memcpy(p->target[i].x, p->body[i].derivative[0], sizeof p->target[i].x);
        memcpy(p->target[i].v, p->body[i].derivative[1], sizeof p->target[i].v);
        p->target[i].index = p->body[i].index;
        p->target[i].h2 = 0.01;
    }
    p->nj = N;
    p->time = 0x1p-8;
    p->eps2 = 1e-4;
}

static sapporo *open_as(sapporo_precision precision, sapporo_backend backend)
{
    sapporo *c = NULL;
    const sapporo_options options = {.size = sizeof options, .precision = precision, .backend = backend};
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    return c;
}

/* A force on the first ni targets from the first nj bodies; returns its status. */
static int ask(sapporo *c, const struct problem *p, int ni, int nj)
{
    sapporo_job *job = NULL;
    sapporo_request r = problem_request(p, 0, ni);
    r.nj = nj;
    const int status = sapporo_force_begin(c, &r, &job);
    sapporo_force_free(job);
    return status;
}

/* Which engine has a context after a force from nj bodies? */
static void expect_engine(sapporo_precision precision, sapporo_backend asked, int nj, sapporo_backend right)
{
    struct problem p;
    make_problem(&p);
    sapporo *c = open_as(precision, asked);
    problem_load(c, &p);
    assert_int_equal(ask(c, &p, NI, nj), SAPPORO_OK);
    assert_int_equal(sapporo_get_backend(c), right);
    assert_int_equal(strncmp(sapporo_kind(c), "cpu ", 4) == 0, right == SAPPORO_BACKEND_CPU);
    sapporo_close(c);
    problem_free(&p);
    assert_int_equal(tuning_warnings, 0);
}

static void switches(void **state)
{
    (void)state;
    tuning_write(tuning_path, file_500);
    expect_engine(SAPPORO_DS, SAPPORO_BACKEND_AUTO, 499, SAPPORO_BACKEND_CPU);
    expect_engine(SAPPORO_DS, SAPPORO_BACKEND_AUTO, 500, SAPPORO_BACKEND_CUDA);
    expect_engine(SAPPORO_SP, SAPPORO_BACKEND_AUTO, 199, SAPPORO_BACKEND_CPU);
    expect_engine(SAPPORO_SP, SAPPORO_BACKEND_AUTO, 499, SAPPORO_BACKEND_CUDA);
    expect_engine(SAPPORO_DP, SAPPORO_BACKEND_AUTO, 1, SAPPORO_BACKEND_CUDA);
    expect_engine(SAPPORO_DS, SAPPORO_BACKEND_CUDA, 1, SAPPORO_BACKEND_CUDA);
    setenv("SAPPORO_BACKEND", "cuda", 1);
    expect_engine(SAPPORO_DS, SAPPORO_BACKEND_AUTO, 1, SAPPORO_BACKEND_CUDA);
    setenv("SAPPORO_BACKEND", "auto", 1);
    expect_engine(SAPPORO_DS, SAPPORO_BACKEND_AUTO, 1, SAPPORO_BACKEND_CPU);
    setenv("SAPPORO_TUNE", "off", 1);
    expect_engine(SAPPORO_DS, SAPPORO_BACKEND_AUTO, 1, SAPPORO_BACKEND_CUDA);
    setenv("SAPPORO_TUNE", tuning_path, 1);
    tuning_write(tuning_path, "sapporo tune 1\n[cuda Stub 1 sm_90]\nds.cpu_below_nj 500\n"); /* another device */
    expect_engine(SAPPORO_DS, SAPPORO_BACKEND_AUTO, 1, SAPPORO_BACKEND_CUDA);
}

/* The default place, with and without `frozen`. */
static void from_home(void **state)
{
    char place[128];
    (void)state;
    snprintf(place, sizeof place, "%s/sapporo", tuning_folder);
    assert_int_equal(mkdir(place, 0700), 0);
    snprintf(place, sizeof place, "%s/sapporo/tune", tuning_folder);
    tuning_write(place, file_500);
    setenv("XDG_CONFIG_HOME", tuning_folder, 1);
    setenv("SAPPORO_TUNE", "frozen", 1);
    expect_engine(SAPPORO_DS, SAPPORO_BACKEND_AUTO, 10, SAPPORO_BACKEND_CPU);
    unsetenv("SAPPORO_TUNE");
    expect_engine(SAPPORO_DS, SAPPORO_BACKEND_AUTO, 10, SAPPORO_BACKEND_CPU);
    unlink(place);
    place[strlen(place) - strlen("/tune")] = 0;
    rmdir(place);
}

/* The choice is made once, and forces of nothing do not make it. */
static void stays(void **state)
{
    struct problem p;
    (void)state;
    make_problem(&p);
    tuning_write(tuning_path, file_500);
    sapporo *small = open_as(SAPPORO_DS, SAPPORO_BACKEND_AUTO), *large = open_as(SAPPORO_DS, SAPPORO_BACKEND_AUTO);
    problem_load(small, &p);
    problem_load(large, &p);
    assert_int_equal(ask(small, &p, 0, 5), SAPPORO_OK);
    assert_int_equal(ask(small, &p, NI, 0), SAPPORO_OK);
    assert_int_equal(ask(small, &p, NI, -1), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_get_backend(small), SAPPORO_BACKEND_CUDA);
    assert_int_equal(ask(small, &p, NI, 100), SAPPORO_OK);
    assert_int_equal(ask(large, &p, NI, N), SAPPORO_OK);
    for (int nj = 1; nj <= N; nj += N - 1) {
        assert_int_equal(ask(small, &p, NI, nj), SAPPORO_OK);
        assert_int_equal(sapporo_get_backend(small), SAPPORO_BACKEND_CPU);
        assert_int_equal(ask(large, &p, NI, nj), SAPPORO_OK);
        assert_int_equal(sapporo_get_backend(large), SAPPORO_BACKEND_CUDA);
    }
    sapporo_close(small);
    sapporo_close(large);
    problem_free(&p);
}

/* After the switch everything is as if the CPU had been asked for; nothing of the device is kept. */
static void bits(void **state)
{
    const struct ask how = {.outputs = OUT_NEAREST | OUT_LISTS, .want = 0, .batch = 7};
    struct problem p;
    (void)state;
    make_problem(&p);
    for (sapporo_precision precision = SAPPORO_SP; precision <= SAPPORO_DP; precision++) {
        tuning_write(tuning_path, "sapporo tune 1\n[cuda Stub 0 sm_90]\nsp.cpu_below_nj 501\nds.cpu_below_nj 501\n"
                                  "dp.cpu_below_nj 501\n");
        sapporo *switched = open_as(precision, SAPPORO_BACKEND_AUTO), *cpu = open_as(precision, SAPPORO_BACKEND_CPU);
        assert_int_equal(sapporo_get_backend(switched), SAPPORO_BACKEND_CUDA);
        problem_load(switched, &p);
        problem_load(cpu, &p);
        struct answer *a = problem_solve(switched, &p, &how), *b = problem_solve(cpu, &p, &how);
        answers_same("after the switch", a, b, NI, OUT_NEAREST | OUT_LISTS);
        assert_string_equal(sapporo_kind(switched), sapporo_kind(cpu));
        assert_int_equal(sapporo_get_threads(switched), sapporo_get_threads(cpu));
        size_t on_device = 1;
        assert_int_equal(sapporo_memory_needed(switched, N, &on_device), sapporo_memory_needed(cpu, N, NULL));
        assert_int_equal(on_device, 0);
        answers_free(a, NI);
        answers_free(b, NI);
        assert_int_equal(stub.live.memories, 0);
        assert_int_equal(stub.live.streams, 0);
        sapporo_close(switched);
        sapporo_close(cpu);
    }
    problem_free(&p);
    assert_int_equal(tuning_warnings, 0);
}

/* A CPU engine that cannot be opened: the device is used, with a warning. */
static void no_cpu(void **state)
{
    struct problem p;
    sapporo *c = NULL;
    const sapporo_options options = {.size = sizeof options, .order = 4, .cpu_isa = "avx512"};
    (void)state;
    (void)sap_isa_usable(SAP_ISA_AVX512); /* found out by now */
    const unsigned paths = sap_machine.paths;
    sap_machine.paths &= ~(1U << SAP_ISA_AVX512);
    make_problem(&p);
    tuning_write(tuning_path, file_500);
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    problem_load(c, &p);
    assert_int_equal(ask(c, &p, NI, 10), SAPPORO_OK);
    assert_int_equal(sapporo_get_backend(c), SAPPORO_BACKEND_CUDA);
    assert_int_equal(tuning_warnings, 1);
    sapporo_close(c);
    problem_free(&p);
    sap_machine.paths = paths;
}

/* Bad files fail no context. */
static void bad_files_open(void **state)
{
    static const char *const bad[] = {"", "rubbish", "sapporo tune 1\n[cuda Stub 0 sm_90]\nds.cpu_below_nj 1e9e9\n",
                                      "sapporo tune 1\n[cuda Stub 0 sm_90]\nds.cpu_below_nj 4e9\n"};
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        tuning_write(tuning_path, bad[k]);
        sap_messages.complained = 0;
        tuning_warnings = 0;
        sapporo *c = open_as(SAPPORO_DS, SAPPORO_BACKEND_AUTO);
        assert_int_equal(tuning_warnings, 1);
        assert_int_equal(sapporo_get_backend(c), SAPPORO_BACKEND_CUDA);
        sapporo_close(c);
    }
}

/* ---------------------------------------------------------------- shapes */

/* The numbers reach the shapes: costs that are out of all proportion leave one kind of kernel. */
static void shapes(void **state)
{
    static const struct {
        const char *text;
        int many, which;
    } forced[] = {{"ds.few_cost 1000\nds.few1_cost 1000\nds.many1_cost 1000\n", 1, 1},
                  {"ds.few_cost 1000\nds.few1_cost 1000\nds.many1_cost 0.01\n", 1, 0},
                  {"ds.few_cost 0.001\nds.fill_cost 0\n", 0, 1},
                  {"ds.few1_cost 0.001\nds.fill_cost 0\n", 0, 0}};
    struct sap_function *any = (void *)state;
    const struct sap_gpu_kernels all = {
        .geometry = {.shapes = 2, .many_threads = 128, .lanes = 1, .few_threads = 256, .few_warps = 8},
        .many = {{{any}}, {{any}}},
        .few = {{{any}}, {{any}}},
        .few_groups = {2, 2}};
    struct sap_gpu_set *set = zeroed(1, sizeof *set + sizeof set->device[0]);
    set->driver = &stub_driver;
    set->precision = SAPPORO_DS;
    set->n = 1;
    assert_int_equal(stub_driver.properties(0, &set->device[0].properties), SAP_DRIVER_OK);
    set->device[0].kernels = &all;
    for (size_t k = 0; k < sizeof forced / sizeof forced[0]; k++) {
        char text[300];
        struct sap_settings s;
        struct sap_notes notes = {0};
        snprintf(text, sizeof text, "sapporo tune 1\n[cuda Stub 0 sm_90]\n%s", forced[k].text);
        tuning_write(tuning_path, text);
        assert_int_equal(sap_settings_read(&s, NULL, &notes), SAPPORO_OK);
        sap_gpu_tune(set, &s);
        for (int ni = 64; ni <= 4096; ni *= 4) {
            const struct sap_gpu_shape shape = sap_gpu_choose_shape(set, &set->device[0], 0, ni, 16, 0);
            assert_true(shape.many == forced[k].many && shape.which == forced[k].which);
        }
    }
    free(set);
    assert_int_equal(tuning_warnings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(switches, stub_on, stub_off),
                                       cmocka_unit_test_setup_teardown(from_home, stub_on, stub_off),
                                       cmocka_unit_test_setup_teardown(stays, stub_on, stub_off),
                                       cmocka_unit_test_setup_teardown(bits, stub_on, stub_off),
                                       cmocka_unit_test_setup_teardown(no_cpu, stub_on, stub_off),
                                       cmocka_unit_test_setup_teardown(bad_files_open, stub_on, stub_off),
                                       cmocka_unit_test_setup_teardown(shapes, stub_on, stub_off)};
    return cmocka_run_group_tests(tests, tuning_make_folder, tuning_remove_folder);
}
