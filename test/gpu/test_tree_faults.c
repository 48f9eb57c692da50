/*
 * test_tree_faults.c - a tree's life in which the n-th call of the driver fails, over OpenCL and CUDA: the call that
 * meets the fault reports it, forces that failed are NaN, and repeated calls are right.  Then too little memory, and
 * device memory of the caller.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/cuda/cuda_driver.h"
#include "faulty_driver.h"
#include "gpu/gpu_engine.h"
#include "sapporo.h"
#include "tree_faults.h"
#include "tree_particles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 400, SOME = 60 };

static struct tree_particles p;
static int active[SOME];

/* ---- a life ------------------------------------------------------------------------------ */

/* Of all, and after they have moved of some. */
struct forces {
    double acc[N][3], pot[N], some_acc[SOME][3], some_pot[SOME];
    long long neighbours;
};

struct life {
    sapporo_tree *tree;
    int lost; /* the fault is one that takes the device */
    int told; /* calls that failed */
    int late; /* nothing had failed when the tree went */
};

/* Whether a call succeeded; one that did not says why: of the tree, or NULL if there is none. */
static int went(struct life *l, int status, const sapporo_tree *tree)
{
    if (status == SAPPORO_OK) return 1;
    const char *const words = sapporo_tree_last_error(tree);
    if (!faulty.failed || status > 0 || !words[0])
        fail_msg("call %s of the driver: %d, '%s'", faulty.failed_call, status, words);
    l->told++;
    return 0;
}

static int plant(struct life *l)
{
    const sapporo_tree_options options = tree_fault_options();
    sapporo_tree_destroy(l->tree);
    return went(l, sapporo_tree_create(&options, N, &l->tree), NULL);
}

static int set(struct life *l)
{
    const sapporo_tree_particles all = {.size = sizeof all, .n = N, .x = {p.x, 0}, .mass = {p.mass, 0}};
    return went(l, sapporo_tree_set(l->tree, &all), l->tree);
}

static int build(struct life *l) { return went(l, sapporo_tree_build(l->tree), l->tree); }
static int refresh(struct life *l) { return went(l, sapporo_tree_refresh(l->tree), l->tree); }

static int force(struct life *l, int some, double (*acc)[3], double *pot)
{
    const sapporo_tree_request r = {.size = sizeof r, .ni = some ? (int)SOME : (int)N, .active = some ? active : NULL};
    const int status = sapporo_tree_force(l->tree, &r, acc, pot);
    if (went(l, status, l->tree)) return 1;
    for (int i = 0; i < r.ni; i++) assert_true(isnan(acc[i][0]) && isnan(acc[i][2]) && isnan(pot[i]));
    return 0;
}

static int search(struct life *l, struct forces *f)
{
    static long long first[SOME + 1];
    static int list[SOME * N];
    static double h[SOME];
    for (int i = 0; i < SOME; i++) h[i] = 0.1;
    const int status = sapporo_tree_neighbours(l->tree, SOME, (sapporo_column){p.x, 0}, (sapporo_column){h, 0}, first,
                                               (long long)SOME * N, list);
    f->neighbours = first[SOME];
    return went(l, status, l->tree);
}

/* All of it; what fails is done again, from the beginning if the device is gone. */
static void live(struct life *l, struct forces *f)
{
    for (int step = 0, tries = 0; step < 7; tries++) {
        int ok = 0;
        if (step == 0) ok = plant(l);
        if (step == 1) ok = set(l);
        if (step == 2) ok = build(l);
        if (step == 3) ok = force(l, 0, f->acc, f->pot);
        if (step == 4) ok = refresh(l);
        if (step == 5) ok = force(l, 1, f->some_acc, f->some_pot);
        if (step == 6) ok = search(l, f);
        if (tries > 20) fail_msg("step %d goes on failing: %s", step, sapporo_tree_last_error(l->tree));
        step = ok ? step + 1 : l->lost ? 0 : step;
    }
    l->late = !faulty.failed;
    sapporo_tree_destroy(l->tree);
    l->tree = NULL;
}

/* Calls whose failure costs nothing but a figure that nobody gets. */
static int is_harmless(const char *call) { return strcmp(call, "properties") == 0 || strcmp(call, "memory_left") == 0; }

static int with_fault(long n, int status, const struct forces *right)
{
    static struct forces f;
    struct life l = {.lost = status == SAP_DRIVER_LOST};
    memset(&f, 0, sizeof f);
    faulty_plan(n, status);
    live(&l, &f);
    if (!faulty.failed) return 0;
    if (l.told == 0 && !l.late && !is_harmless(faulty.failed_call))
        fail_msg("call %ld, %s: nobody tells", n, faulty.failed_call);
    if (memcmp(&f, right, sizeof f) != 0) fail_msg("call %ld, %s: forces differ", n, faulty.failed_call);
    return 1;
}

/* In turns by every kind; a device that is lost takes long to come back. */
static void faults(void **state)
{
    static const int kinds[] = {SAP_DRIVER_MEMORY, SAP_DRIVER_ERROR, SAP_DRIVER_LAUNCH};
    static struct forces right;
    struct life l = {.lost = 0};
    long n = 1;
    (void)state;
    tree_faults_need_device();
    tree_faults_start();
    const sapporo_tree_options options = tree_fault_options();
    sapporo_tree *first = NULL; /* kernels are loaded */
    assert_int_equal(sapporo_tree_create(&options, N, &first), SAPPORO_OK);
    faulty_plan(0, SAP_DRIVER_OK);
    live(&l, &right);
    assert_true(right.neighbours > SOME);
    sapporo_tree_destroy(first);
    while (with_fault(n, kinds[n % 3], &right)) n += 2;
    for (long k = 5; k < n; k += n / 3) assert_true(with_fault(k, SAP_DRIVER_LOST, &right));
    print_message("%ld calls\n", n - 1);
    assert_true(n > 80);
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Of a device that has too little the error tells the bytes: here as if, since others have much. */
static void too_little(void **state)
{
    const sapporo_tree_options options = tree_fault_options();
    struct life l = {.lost = 0};
    char bytes[40];
    size_t device = 0;
    (void)state;
    tree_faults_need_device();
    assert_true(sapporo_tree_memory_needed(&options, N, &device) > 0);
    (void)snprintf(bytes, sizeof bytes, "%zu of a device", device);
    tree_faults_start();
    for (int built = 0; built < 2; built++) {
        int met = 0;
        for (long n = 1; met == 0; n++) {
            faulty_plan(0, SAP_DRIVER_OK);
            if (built) assert_true(plant(&l) && set(&l));
            faulty_plan(n, SAP_DRIVER_MEMORY);
            const int ok = built ? build(&l) : plant(&l);
            const char *const words = sapporo_tree_last_error(built ? l.tree : NULL);
            met = !ok && strcmp(faulty.failed_call, "allocate") == 0;
            if (met && !strstr(words, bytes)) fail_msg("%s", words);
        }
    }
    sapporo_tree_destroy(l.tree);
}

static struct sap_mem *sent(struct sap_dev *dev, struct sap_stream *s, const void *from, size_t bytes)
{
    struct sap_mem *m = NULL;
    assert_int_equal(sap_driver_cuda.allocate(dev, bytes, &m), SAP_DRIVER_OK);
    if (from) assert_int_equal(sap_driver_cuda.copy_in(s, m, 0, from, bytes), SAP_DRIVER_OK);
    assert_int_equal(sap_driver_cuda.stream_finish(s), SAP_DRIVER_OK);
    return m;
}

static void *address_of(const struct sap_mem *m) { return (void *)(uintptr_t)sap_cuda_const_memory_of(m)->address; }

static void fetch(struct sap_stream *s, void *to, struct sap_mem *m, size_t bytes)
{
    assert_int_equal(sap_driver_cuda.copy_out(s, to, m, 0, bytes), SAP_DRIVER_OK);
    assert_int_equal(sap_driver_cuda.stream_finish(s), SAP_DRIVER_OK);
}

/* Arrays of the caller on the device do what those on the host do. */
static void device_memory(void **state)
{
    (void)state;
    (void)tree_faults_on_cuda(NULL);
    tree_faults_need_device();
    static struct forces host, device;
    struct life l = {.lost = 0};
    struct sap_dev *dev = NULL;
    struct sap_stream *s = NULL;
    assert_int_equal(sap_driver_cuda.open(0, &dev), SAP_DRIVER_OK);
    assert_int_equal(sap_driver_cuda.stream_create(dev, &s), SAP_DRIVER_OK);
    struct sap_mem *const x = sent(dev, s, p.x, sizeof(double[3]) * N), *const m = sent(dev, s, p.mass, 8 * N),
                          *const list = sent(dev, s, active, sizeof active),
                          *const acc = sent(dev, s, NULL, sizeof(double[3]) * N),
                          *const pot = sent(dev, s, NULL, 8 * N);
    assert_true(plant(&l) && set(&l) && build(&l) && force(&l, 0, host.acc, host.pot) &&
                force(&l, 1, host.some_acc, host.some_pot));
    assert_true(plant(&l));
    sapporo_tree_particles there = {.size = sizeof there,
                                    .n = N,
                                    .memory = SAPPORO_MEMORY_DEVICE,
                                    .x = {address_of(x), 0},
                                    .mass = {address_of(m), 0}};
    assert_int_equal(sapporo_tree_set(l.tree, &there), SAPPORO_OK);
    there.mass.base = NULL; /* as before */
    assert_int_equal(sapporo_tree_set(l.tree, &there), SAPPORO_OK);
    const sapporo_tree_particles back = {.size = sizeof back, .n = N, .x = {p.x, 0}};
    assert_int_equal(sapporo_tree_set(l.tree, &back), SAPPORO_OK);
    assert_true(build(&l));
    sapporo_tree_request r = {.size = sizeof r, .ni = N, .memory = SAPPORO_MEMORY_DEVICE};
    assert_int_equal(sapporo_tree_force(l.tree, &r, address_of(acc), address_of(pot)), SAPPORO_OK);
    fetch(s, device.acc, acc, sizeof device.acc);
    fetch(s, device.pot, pot, sizeof device.pot);
    r.ni = SOME, r.active = address_of(list);
    assert_int_equal(sapporo_tree_force(l.tree, &r, address_of(acc), address_of(pot)), SAPPORO_OK);
    fetch(s, device.some_acc, acc, sizeof device.some_acc);
    fetch(s, device.some_pot, pot, sizeof device.some_pot);
    assert_memory_equal(&device, &host, sizeof host);

    const int wrong = N;
    const double nan = NAN;
    assert_int_equal(sap_driver_cuda.copy_in(s, list, 4 * 7, &wrong, sizeof wrong), SAP_DRIVER_OK);
    assert_int_equal(sap_driver_cuda.copy_in(s, x, 8 * 35, &nan, sizeof nan), SAP_DRIVER_OK);
    assert_int_equal(sap_driver_cuda.stream_finish(s), SAP_DRIVER_OK);
    assert_int_equal(sapporo_tree_force(l.tree, &r, address_of(acc), address_of(pot)), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_tree_last_error(l.tree), "active[7]"));
    fetch(s, device.some_acc, acc, sizeof device.some_acc);
    fetch(s, device.some_pot, pot, sizeof device.some_pot);
    for (int i = 0; i < SOME; i++) assert_true(isnan(device.some_acc[i][2]) && isnan(device.some_pot[i]));
    assert_int_equal(sapporo_tree_set(l.tree, &there), SAPPORO_ERR_NOT_FINITE);
    assert_non_null(strstr(sapporo_tree_last_error(l.tree), "position of particle 11"));
    there.x.base = p.x; /* no memory of a device */
    assert_int_equal(sapporo_tree_set(l.tree, &there), SAPPORO_ERR_UNSUPPORTED);
    assert_true(build(&l) && force(&l, 0, device.acc, device.pot)); /* nothing of it was taken */
    assert_memory_equal(device.acc, host.acc, sizeof host.acc);
    sapporo_tree_destroy(l.tree);
    struct sap_mem *const all[] = {x, m, list, acc, pot};
    for (int k = 0; k < 5; k++) sap_driver_cuda.release(all[k]);
    sap_driver_cuda.stream_destroy(s);
    sap_driver_cuda.close(dev);
}

/* Others have no such memory, and say so. */
static void no_device_memory(void **state)
{
    static struct forces f;
    const sapporo_backend others[] = {SAPPORO_BACKEND_OPENCL, SAPPORO_BACKEND_CPU};
    (void)state;
    (void)tree_faults_on_opencl(NULL);
    for (int k = 0; k < 2; k++) {
        const char *wanted = getenv("SAPPORO_TEST_ENGINES");
        if (k == 0 && (sap_engine_opencl.count() == 0 || (wanted && !strstr(wanted, "opencl")))) continue;
        sapporo_tree_options options = tree_fault_options();
        struct life l = {.lost = 0};
        options.backend = others[k];
        assert_int_equal(sapporo_tree_create(&options, N, &l.tree), SAPPORO_OK);
        const sapporo_tree_particles there = {
            .size = sizeof there, .n = N, .memory = SAPPORO_MEMORY_DEVICE, .x = {p.x, 0}};
        const sapporo_tree_request r = {.size = sizeof r, .ni = N, .memory = SAPPORO_MEMORY_DEVICE};
        assert_int_equal(sapporo_tree_set(l.tree, &there), SAPPORO_ERR_UNSUPPORTED);
        assert_non_null(strstr(sapporo_tree_last_error(l.tree), "host memory only"));
        assert_true(set(&l) && build(&l));
        assert_int_equal(sapporo_tree_force(l.tree, &r, f.acc, f.pot), SAPPORO_ERR_UNSUPPORTED);
        assert_non_null(strstr(sapporo_tree_last_error(l.tree), "host memory only"));
        sapporo_tree_destroy(l.tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_FAULTS_TEST("faults", faults, opencl),
        TREE_FAULTS_TEST("faults", faults, cuda),
        TREE_FAULTS_TEST("too little memory", too_little, opencl),
        TREE_FAULTS_TEST("too little memory", too_little, cuda),
        {"device memory, cuda", device_memory, tree_faults_on_cuda, NULL, NULL},
        {"no device memory", no_device_memory, tree_faults_on_opencl, NULL, NULL},
    };
    (void)setenv("SAPPORO_VERBOSE", "0", 1);
    p = tree_particles_make(TREE_CLUSTER, N);
    for (int i = 0; i < SOME; i++) active[i] = 6 * i;
    const int failed = cmocka_run_group_tests_name("tree_faults", tests, NULL, NULL);
    tree_particles_free(&p);
    return failed;
}
