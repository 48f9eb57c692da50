/*
 * test_neighbour_faults.c - neighbour forces on devices in which the n-th call of the driver fails, for every n and in
 * every way, over the stub: the CPU computes them instead, the devices' copies of particles are right after any fault,
 * and nothing leaks.
 *
 * The stub's kernel adds the masses of its copy, which are whole numbers, so results tell whether CPU or device
 * computed them.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/gpu_layout.h"
#include "faulty_driver.h"
#include "faulty_walk.h"
#include "isa.h"
#include "model.h"
#include "stub_driver.h"
#include "stub_kernels.h"
#include "tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 600, GAP = 77, LISTS = 900, LONG = 5, LONGEST = 3000, SHORT = 40, DEVICES = 2 };

static double mass[N];
static int address[LISTS], length[LISTS], entries[LISTS][SHORT], of_long[LONGEST];
static const int *list[LISTS];
static double pot[LISTS];

/* neighbour_put(rows, input, n, words, first) */
static void put_rows(const struct sap_launch *l)
{
    int n, words, first;
    memcpy(&n, l->argument[2].value, sizeof n);
    memcpy(&words, l->argument[3].value, sizeof words);
    memcpy(&first, l->argument[4].value, sizeof first);
    double *const rows = stub_memory(l->argument[0].value);
    const int *const at = stub_memory(l->argument[1].value);
    const double *const from = (const void *)(at + first);
    for (int k = 0; k < n; k++)
        memcpy(rows + (ptrdiff_t)at[k] * words, from + (ptrdiff_t)k * words, (size_t)words * sizeof *rows);
}

/* listed(rows, there, input, out, f) */
static void add_masses(const struct sap_launch *l)
{
    struct sap_gpu_neighbour_slabs f;
    memcpy(&f, l->argument[4].value, sizeof f);
    const double *const rows = stub_memory(l->argument[0].value);
    const unsigned *const there = stub_memory(l->argument[1].value);
    const int *const input = stub_memory(l->argument[2].value);
    double *const out = stub_memory(l->argument[3].value);
    const struct sap_gpu_neighbour_row *const head = (const void *)input;
    for (int i = 0; i < f.ni; i++) {
        double *const to = out + (ptrdiff_t)i * SAP_GPU_NEIGHBOUR_WORDS;
        for (int q = 0; q < SAP_GPU_NEIGHBOUR_WORDS; q++) to[q] = 0;
        for (int k = 0; k < head[i].n; k++) {
            const int a = input[f.lists + head[i].first + k];
            assert_true(a < f.upper && f.gaps && (there[a / 32] >> a % 32 & 1));
            to[0] += rows[(ptrdiff_t)a * f.words + 7];
        }
    }
}

static void kernel(const char *name, const struct sap_launch *l)
{
    if (strcmp(name, "neighbour_put_sp") == 0)
        put_rows(l);
    else if (strcmp(name, "neighbour_sp") == 0)
        add_masses(l);
    else
        stub_kernel(name, l);
}

static void set(sapporo *c, int from, int to, double m, int terms)
{
    for (int k = from; k < to; k++) {
        sapporo_particle p = {.mass = m + k, .index = k};
        p.derivative[0][0] = k;
        p.derivative[4][0] = terms > 3 ? 1 : 0;
        mass[k] = m + k;
        if (k != GAP) assert_int_equal(sapporo_set_particle(c, k, &p), SAPPORO_OK);
    }
}

/* 1: the CPU computed it */
static int call(sapporo *c)
{
    int by_device = 0, wanted = 0;
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = LISTS, .address = address, .list = list, .length = length, .eps2 = 1};
    const sapporo_result result = {.size = sizeof result, .pot = pot};
    memset(pot, 0x11, sizeof pot);
    assert_int_equal(sapporo_neighbour_force(c, &request, &result), SAPPORO_OK);
    for (int i = 0; i < LISTS; i++) {
        double all = 0;
        for (int k = 0; k < length[i]; k++) all += mass[list[i][k]];
        if (i == LONG || length[i] == 0) continue;
        wanted++;
        by_device += pot[i] == all;
    }
    if (by_device != wanted && by_device != 0) fail_msg("the device computed %d of %d lists", by_device, wanted);
    for (int i = 0; i < LISTS; i++)
        if (!(pot[i] <= 0) && !(by_device && i != LONG)) fail_msg("list %d has %g", i, pot[i]);
    return by_device == 0;
}

/* Fewer members than the tuning file says: the CPU computes. */
static void few(sapporo *c)
{
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = 1, .address = address + 9, .list = list + 9, .length = length + 9, .eps2 = 1};
    const sapporo_result result = {.size = sizeof result, .pot = pot};
    assert_int_equal(sapporo_neighbour_force(c, &request, &result), SAPPORO_OK);
    assert_true(pot[0] < 0);
}

/* Calls between which particles change; returns how many the CPU computed. */
static int session(int devices, int fault)
{
    (void)fault;
    const sapporo_options options = {.size = sizeof options,
                                     .backend = SAPPORO_BACKEND_CUDA,
                                     .ndevices = devices > 1 ? -1 : 0,
                                     .precision = SAPPORO_SP};
    sapporo *c = NULL;
    if (sapporo_open(&options, &c) != SAPPORO_OK) {
        assert_true(faulty.failed > 0);
        return 1;
    }
    set(c, 0, N / 2, 1000, 3);
    for (int i = 0; i < LISTS; i++) address[i] = i % 64;
    for (int i = 0; i < LISTS; i++)
        for (int k = 0; k < SHORT; k++)
            entries[i][k] = (i * 7 + k * 3) % (N / 2) == GAP ? 0 : (i * 7 + k * 3) % (N / 2);
    int by_cpu = call(c);
    set(c, 3, 40, 5000, 3);
    by_cpu += call(c);
    by_cpu += call(c);
    set(c, N / 2, N, 2000, 3);
    entries[9][3] = N - 1;
    by_cpu += call(c);
    set(c, 10, 12, 7000, 4);
    by_cpu += call(c);
    few(c);
    sapporo_close(c);
    return by_cpu;
}

static void walk(int devices)
{
    stub_reset(devices);
    stub.on_launch = kernel;
    tuning_write(tuning_path, "sapporo tune 1\n[cuda Stub 0 sm_90]\nsp.cpu_below_neighbour 1000\n");
    faulty_walk(session, devices, faulty_every(1));
    assert_true(stub_launches("neighbour_sp") > 100 && stub_launches("neighbour_put_sp") > 50);
}

static void one_device(void **state)
{
    (void)state;
    if (!sap_isa_fuses(sap_isa_best())) skip();
    walk(1);
}

static void several_devices(void **state)
{
    (void)state;
    if (!sap_isa_fuses(sap_isa_best())) skip();
    walk(DEVICES);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(one_device, tuning_clean),
                                       cmocka_unit_test_setup(several_devices, tuning_clean)};
    (void)argc;
    faulty_alone(argv);
    for (int k = 0; k < LONGEST; k++) of_long[k] = k % 50;
    for (int i = 0; i < LISTS; i++) {
        list[i] = i == LONG ? of_long : entries[i];
        length[i] = i == LONG ? LONGEST : i % (SHORT + 1);
    }
    return cmocka_run_group_tests_name("neighbour_faults", tests, tuning_make_folder, tuning_remove_folder);
}
