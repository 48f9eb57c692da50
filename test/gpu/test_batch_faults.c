/*
 * test_batch_faults.c - batches of small forces in which the n-th call of the driver fails, for every n and in every
 * way, over the stub: the call reports it, all rows are NaN, the next call is right, and nothing leaks.
 *
 * A kernel of the stub writes the number of its launch into the rows of its items, so stale rows and rows that no
 * kernel wrote show.
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
#include "model.h"
#include "stub_driver.h"
#include "stub_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Sources of all lists together are so many that they take several slabs, some of which are under way at a time: four
 * bytes each by address on one device, sixteen on several, none of which has all.
 */
enum { N = 1500, LISTS = 1800, OF_SEVERAL = 450, NI = 2, NJ = 1000, LONG = 7, DEVICES = 2 };

static double x[N][3], mass[N];
static int address[N];
static sapporo_small_force list[LISTS];
static sapporo_result result[LISTS];
static double acc[LISTS][NI][3], pot[LISTS][NI];
static int lists; /* of a call */
static atomic_long launched;

/*
 * batch_..(predicted, input, kept, record, out, lists), list_float_..(store, input, kept, extra, marks, out, lists),
 * finish_long(record, input, out, lists); list_more finds no marks
 */
static void write_items(const char *name, const struct sap_launch *l)
{
    const int longs = strcmp(name, "finish_long") == 0, floats = strncmp(name, "list_float_", 11) == 0;
    struct sap_gpu_batch slab;
    memcpy(&slab, l->argument[longs ? 3 : 5 + floats].value, sizeof slab);
    const char *const input = stub_memory(l->argument[1].value);
    double *const out = stub_memory(l->argument[longs ? 2 : 4 + floats].value);
    const double value = (double)(atomic_fetch_add(&launched, 1) + 1);
    const struct sap_gpu_item *const item = (const void *)input;
    const struct sap_gpu_long *const of_long = (const void *)(input + (size_t)slab.longs * 16);
    for (unsigned g = 0; g < l->groups[0]; g++) {
        const int row = longs ? of_long[g].row : item[g].row, n = longs ? of_long[g].n : item[g].lone ? item[g].n : 0;
        for (int q = 0; q < (floats ? SAP_GPU_MORE_SUMS : SAP_GPU_LONG_SUMS); q++)
            for (int i = row; i < row + n; i++) out[(size_t)q * (size_t)slab.out_rows + (size_t)i] = value;
    }
}

static void kernel(const char *name, const struct sap_launch *l)
{
    if (strncmp(name, "batch_", 6) == 0 || strncmp(name, "list_float_", 11) == 0 || strcmp(name, "finish_long") == 0)
        write_items(name, l);
    else
        stub_kernel(name, l);
}

/* What the driver's failure means, and no other; 0: the call did not fail. */
static int failure(sapporo *c, int status, int fault)
{
    if (status >= 0) return 0;
    const char *const words = sapporo_last_error(c);
    if (!faulty.failed) fail_msg("without a fault: %s", words);
    assert_int_equal(status, fault == SAP_DRIVER_MEMORY ? SAPPORO_ERR_MEMORY : SAPPORO_ERR_DEVICE);
    assert_true(words[0] != '\0');
    return 1;
}

/* A call that must succeed if it is `sure`; 1: it failed. */
static int call(sapporo *c, int fault, int sure)
{
    const double before = (double)atomic_load(&launched);
    memset(acc, 0x11, sizeof acc);
    memset(pot, 0x11, sizeof pot);
    const int failed = failure(c, sapporo_force_batch(c, lists, list, result), fault);
    if (failed && sure) fail_msg("the call after %s fails: %s", faulty.failed_call, sapporo_last_error(c));
    for (int k = 0; k < lists; k++)
        for (int i = 0; i < list[k].ni; i++)
            for (int q = 0; q < 4; q++) {
                const double sum = q < 3 ? acc[k][i][q] : pot[k][i];
                if (failed ? !isnan(sum) : !(sum > before)) fail_msg("list %d, row %d: %g, %d", k, i, sum, failed);
            }
    return failed;
}

/* A batch that has begun; its rows, like those of call(). */
static int ended(sapporo *c, int fault, sapporo_batch *batch, double before)
{
    int ni[LISTS];
    for (int k = 0; k < lists; k++) ni[k] = list[k].ni;
    memset(acc, 0x11, sizeof acc);
    memset(pot, 0x11, sizeof pot);
    const int failed = failure(c, sapporo_force_batch_end(batch, lists, ni, result), fault);
    for (int k = 0; k < lists; k++)
        for (int i = 0; i < list[k].ni; i++)
            for (int q = 0; q < 4; q++) {
                const double sum = q < 3 ? acc[k][i][q] : pot[k][i];
                if (failed ? !isnan(sum) : !(sum > before)) fail_msg("list %d, row %d: %g, %d", k, i, sum, failed);
            }
    if (failed) assert_true(sapporo_force_batch_end(batch, lists, ni, result) < 0); /* once more */
    sapporo_force_batch_free(batch);
    return failed;
}

static int opened(int devices, sapporo **c)
{
    const sapporo_options options = {.size = sizeof options,
                                     .backend = SAPPORO_BACKEND_CUDA,
                                     .ndevices = devices > 1 ? -1 : 0,
                                     .precision = SAPPORO_SP,
                                     .order = 2};
    *c = NULL;
    const int failed = sapporo_open(&options, c) != SAPPORO_OK;
    if (failed) assert_true(faulty.failed > 0);
    return failed;
}

/* Two batches in flight, between whose begins particles change. */
static int session_in_flight(int devices, int fault)
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
    const double before = (double)atomic_load(&launched);
    sapporo *c;
    sapporo_batch *batch[2] = {NULL};
    int failed = opened(devices, &c);
    if (!c) return failed;
    assert_int_equal(sapporo_set_particles(c, 0, N, &all), SAPPORO_OK);
    for (int k = 0; k < 2; k++) {
        failed += failure(c, sapporo_force_batch_begin(c, lists, list, &batch[k]), fault);
        assert_int_equal(sapporo_set_particles(c, N / 2, 1, &all), SAPPORO_OK);
    }
    for (int k = 0; k < 2; k++)
        if (batch[k]) failed += ended(c, fault, batch[k], before);
    sapporo_close(c);
    return failed;
}

/* Several calls, between which particles change; returns how many said that they failed. */
static int session(int devices, int fault)
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
    sapporo *c;
    int failed = opened(devices, &c);
    if (!c) return failed;
    assert_int_equal(sapporo_set_particles(c, 0, N, &all), SAPPORO_OK);
    failed += call(c, fault, 0);
    assert_int_equal(sapporo_set_particles(c, N / 2, 1, &all), SAPPORO_OK);
    const int well = faulty.failed > 0 && fault != SAP_DRIVER_LOST;
    failed += call(c, fault, well);
    sapporo_close(c);
    return failed;
}

/* every: of the calls that can fail, so many further on */
static void walk(int devices, int every, int (*of)(int devices, int fault))
{
    lists = devices > 1 ? OF_SEVERAL : LISTS;
    stub_reset(devices);
    stub.on_launch = kernel;
    stub.pending = 1;
    faulty_walk(of, devices, every);
    assert_true(stub_launches("finish_long") > 0 && stub_launches("batch_plain_order2_sp") > 100);
}

static void one_device(void **state)
{
    (void)state;
    walk(1, faulty_every(2), session);
}

static void several_devices(void **state)
{
    (void)state;
    walk(DEVICES, 5, session);
}

static void in_flight(void **state)
{
    (void)state;
    walk(1, 13, session_in_flight);
    walk(DEVICES, 29, session_in_flight);
}

/* Lists with radii of their sources: no call is left to the CPU. */
static void with_counts(void **state)
{
    static double h2[N];
    (void)state;
    for (int k = 0; k < LISTS; k++) list[k].h2_j.base = h2;
    for (int devices = 1; devices <= DEVICES; devices++) {
        lists = OF_SEVERAL / 3;
        stub_reset(devices);
        stub.on_launch = kernel;
        stub.pending = 1;
        faulty_walk(session, devices, 7);
        faulty_walk(session_in_flight, devices, 19);
        assert_true(stub_launches("list_more") > 100 && stub_launches("list_float_order2_sp") > 100);
        assert_true(stub_launches("batch_plain_order2_sp") == 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_device), cmocka_unit_test(several_devices),
                                       cmocka_unit_test(in_flight), cmocka_unit_test(with_counts)};
    (void)argc;
    faulty_alone(argv);
    struct body *body = zeroed(N, sizeof *body);
    model_plummer(body, N, 5);
    for (int k = 0; k < N; k++) {
        memcpy(x[k], body[k].derivative[0], sizeof x[k]);
        mass[k] = body[k].mass;
        address[k] = k * 7 % N;
    }
    free(body);
    for (int k = 0; k < LISTS; k++) {
        list[k] = (sapporo_small_force){
            .size = sizeof list[k], .ni = NI, .nj = k == LONG ? N : NJ, .x.base = x, .eps2 = 1e-4};
        if (k % 64)
            list[k].address = address;
        else
            list[k].x_j.base = x, list[k].mass_j.base = mass;
        result[k] = (sapporo_result){.size = sizeof result[k], .acc = acc[k], .pot = pot[k]};
    }
    return cmocka_run_group_tests_name("batch_faults", tests, NULL, NULL);
}
