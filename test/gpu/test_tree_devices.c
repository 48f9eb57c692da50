/*
 * test_tree_devices.c - trees and steppers on several devices: their results have the bits of one device, whatever is
 * asked for.  By CUDA it needs two devices; PoCL makes two of a CPU.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/tree_private.h"
#include "faulty_driver.h"
#include "gpu/tree/gpu_tree.h"
#include "sapporo.h"
#include "tree_faults.h"
#include "tree_particles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1200, SOME = 400, MASSLESS = 400 };

static struct tree_particles p;
static double lengths[N];

static void need_devices(void)
{
    tree_faults_need_device();
    if (tree_fault_place->engine->count() < 2) skip();
}

/* Two trees of the same particles, on one device and on two. */
struct pair {
    sapporo_tree *one, *two;
};

static const int devices[2] = {0, 1};

static sapporo_tree *make(sapporo_tree_options o, int ndevices)
{
    sapporo_tree *t = NULL;
    o.size = sizeof o;
    o.backend = tree_fault_place->backend;
    o.devices = devices;
    o.ndevices = ndevices;
    if (sapporo_tree_create(&o, N, &t)) fail_msg("%s", sapporo_tree_last_error(NULL));
    return t;
}

static void set(const struct pair *t, const double *h)
{
    const sapporo_tree_particles set = {.size = sizeof set, .n = N, .x = {p.x, 0}, .mass = {p.mass, 0}, .h = {h, 0}};
    assert_int_equal(sapporo_tree_set(t->one, &set), SAPPORO_OK);
    assert_int_equal(sapporo_tree_set(t->two, &set), SAPPORO_OK);
}

static struct pair make_pair(sapporo_tree_options o, const double *h)
{
    const struct pair t = {make(o, 1), make(o, 2)};
    set(&t, h);
    assert_int_equal(sapporo_tree_build(t.one), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t.two), SAPPORO_OK);
    return t;
}

/* How many of SAP_SHARES the second device had of the last walk. */
static int shares_of(const sapporo_tree *tree)
{
    const sapporo_tree *const t = sap_handle_find(SAP_HANDLE_TREE, tree);
    const struct sap_gpu_host_tree *const own = (const void *)t->tree;
    assert_int_equal(own->walks.shares.helpers, 1);
    return own->walks.shares.helper[0].walks.shares;
}

static void same_counts(const struct pair *t)
{
    sapporo_tree_statistics a = {.size = sizeof a}, b = {.size = sizeof b};
    assert_int_equal(sapporo_tree_get_statistics(t->one, &a), SAPPORO_OK);
    assert_int_equal(sapporo_tree_get_statistics(t->two, &b), SAPPORO_OK);
    assert_int_equal(a.rows, b.rows);
    assert_int_equal(a.particle_particle, b.particle_particle);
    assert_int_equal(a.particle_cell, b.particle_cell);
}

/* Compares a force of both trees, bit by bit. */
static void same_force(const struct pair *t, const sapporo_tree_request *request)
{
    static double acc[2][N][3], pot[2][N];
    memset(acc, 0, sizeof acc);
    memset(pot, 0, sizeof pot);
    const int status = sapporo_tree_force(t->one, request, acc[0], pot[0]);
    if (sapporo_tree_force(t->two, request, acc[1], pot[1]) != status) fail_msg("%s", sapporo_tree_last_error(t->two));
    assert_memory_equal(acc[0], acc[1], sizeof acc[0]);
    assert_memory_equal(pot[0], pot[1], sizeof pot[0]);
    same_counts(t);
}

/* All particles, most, some scattered ones, some that lie together, and positions. */
enum { REQUESTS = 5 };

static sapporo_tree_request request_of(int k)
{
    static int active[N];
    static double x[SOME][3];
    const sapporo_tree_request all[REQUESTS] = {{.ni = N},
                                                {.ni = N - 7, .active = active},
                                                {.ni = SOME, .active = active},
                                                {.ni = SOME},
                                                {.ni = SOME, .x = {x, 0}}};
    sapporo_tree_request request = all[k];
    request.size = sizeof request;
    for (int i = 0; i < N; i++) active[i] = (int)((long long)i * 367 % N);
    for (int i = 0; i < SOME; i++)
        for (int c = 0; c < 3; c++) x[i][c] = 1.1 * p.x[2 * i][c] + 0.01 * c;
    x[5][1] = NAN;
    return request;
}

/* A walk whose times are unknown is divided. */
static void same_forces(sapporo_tree_options o, const double *h, const sapporo_tree_request *request)
{
    const struct pair t = make_pair(o, h);
    int divided = 0;
    for (int k = 0; k < 2; k++) {
        same_force(&t, request);
        divided |= shares_of(t.two) > 0;
    }
    assert_true(divided);
    for (int i = 0; i < N; i++) p.x[i][i % 3] *= 1 + 1e-3;
    set(&t, NULL);
    assert_int_equal(sapporo_tree_refresh(t.one), SAPPORO_OK);
    assert_int_equal(sapporo_tree_refresh(t.two), SAPPORO_OK);
    same_force(&t, request);
    assert_int_equal(sapporo_tree_build(t.one), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t.two), SAPPORO_OK);
    same_force(&t, request);
    sapporo_tree_destroy(t.one);
    sapporo_tree_destroy(t.two);
}

/* Every other request of either kind of tree, the others of the other kind. */
static void forces(sapporo_tree_options o, const double *h)
{
    for (int k = 0; k < REQUESTS; k++) {
        const sapporo_tree_request request = request_of(k);
        o.kind = (k + (h != NULL)) % 2 ? SAPPORO_TREE_KDTREE : SAPPORO_TREE_OCTREE;
        same_forces(o, h, &request);
    }
}

static void plain(void **state)
{
    (void)state;
    need_devices();
    forces((sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = 1e-4}, NULL);
    forces((sapporo_tree_options){.mac = SAPPORO_MAC_ACCELERATION, .accuracy = 0.005, .order = 1}, NULL);
}

/* So many groups that these share the top of their walks. */
static void districts(void **state)
{
    (void)state;
    need_devices();
    forces((sapporo_tree_options){.mac = SAPPORO_MAC_ACCELERATION, .accuracy = 0.005, .group_size = 1}, NULL);
}

static void in_double(void **state)
{
    (void)state;
    need_devices();
    forces((sapporo_tree_options){.mac = SAPPORO_MAC_ACCELERATION, .accuracy = 0.005, .precision = SAPPORO_DP}, NULL);
}

static void with_lengths(void **state)
{
    (void)state;
    need_devices();
    forces((sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = 1e-4}, lengths);
    forces(
        (sapporo_tree_options){.mac = SAPPORO_MAC_OPENING, .eps2 = 1e-4, .softening = SAPPORO_SOFTENING_SPLINE_LARGER},
        lengths);
}

/* ---- steppers -------------------------------------------------------------------------------- */

static sapporo_stepper *start(int ndevices, sapporo_step_scheme scheme)
{
    static double v[N][3], mass[N];
    const sapporo_tree_options tree = {.size = sizeof tree,
                                       .mac = SAPPORO_MAC_ACCELERATION,
                                       .accuracy = 0.005,
                                       .eps2 = 1e-3,
                                       .backend = tree_fault_place->backend,
                                       .devices = devices,
                                       .ndevices = ndevices};
    const sapporo_stepper_options o = {
        .size = sizeof o, .tree = &tree, .scheme = scheme, .dt = 1.0 / 64, .eta = 0.1, .levels = 5};
    const sapporo_stepper_particles set = {.size = sizeof set, .n = N, .x = {p.x, 0}, .v = {v, 0}, .mass = {mass, 0}};
    sapporo_stepper *s = NULL;
    memcpy(mass, p.mass, sizeof mass);
    for (int i = 0; i < MASSLESS; i++) mass[2 * i] = 0;
    if (sapporo_stepper_create(&o, N, &s)) fail_msg("%s", sapporo_stepper_last_error(NULL));
    if (sapporo_stepper_set(s, &set)) fail_msg("%s", sapporo_stepper_last_error(s));
    if (sapporo_stepper_advance(s, INFINITY, 12)) fail_msg("%s", sapporo_stepper_last_error(s));
    return s;
}

static void same_orbits(sapporo_step_scheme scheme)
{
    static double x[2][N][3], v[2][N][3];
    for (int k = 0; k < 2; k++) {
        sapporo_stepper *const s = start(k + 1, scheme);
        const sapporo_stepper_output to = {.size = sizeof to, .n = N, .x = x[k], .v = v[k]};
        assert_int_equal(sapporo_stepper_get(s, &to), SAPPORO_OK);
        sapporo_stepper_destroy(s);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    assert_memory_equal(v[0], v[1], sizeof v[0]);
}

/* Half of the particles have no mass; steps are shared, or by block. */
static void steppers(void **state)
{
    (void)state;
    need_devices();
    same_orbits(SAPPORO_STEPS_SHARED);
    same_orbits(SAPPORO_STEPS_BLOCK);
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* Forces on all particles, and on some after they have moved. */
struct rows {
    double acc[N][3], pot[N], some_acc[SOME][3], some_pot[SOME];
};

/* Whether a call succeeded; one that did not says why. */
static int went(int status, const sapporo_tree *t, int *told)
{
    if (status == SAPPORO_OK) return 1;
    if (!faulty.failed || status > 0 || !sapporo_tree_last_error(t)[0])
        fail_msg("call %s of the driver: %d, '%s'", faulty.failed_call, status, sapporo_tree_last_error(t));
    (*told)++;
    return 0;
}

static int plant(sapporo_tree **t, int *told)
{
    sapporo_tree_options o = tree_fault_options();
    o.devices = devices;
    o.ndevices = 2;
    sapporo_tree_destroy(*t);
    return went(sapporo_tree_create(&o, N, t), NULL, told);
}

/* What fails is done again, from the beginning if a device is gone. Returns how many calls failed. */
static int live(int lost, struct rows *f)
{
    static int active[SOME];
    const sapporo_tree_particles set = {.size = sizeof set, .n = N, .x = {p.x, 0}, .mass = {p.mass, 0}};
    const sapporo_tree_request all = {.size = sizeof all, .ni = N};
    const sapporo_tree_request some = {.size = sizeof some, .ni = SOME, .active = active};
    sapporo_tree *t = NULL;
    int told = 0;
    for (int k = 0; k < SOME; k++) active[k] = 2 * k;
    for (int step = 0, tries = 0; step < 6; tries++) {
        int ok = 0;
        if (step == 0) ok = plant(&t, &told);
        if (step == 1) ok = went(sapporo_tree_set(t, &set), t, &told);
        if (step == 2) ok = went(sapporo_tree_build(t), t, &told);
        if (step == 3) ok = went(sapporo_tree_force(t, &all, f->acc, f->pot), t, &told);
        if (step == 3 && ok) ok = went(sapporo_tree_force(t, &all, f->acc, f->pot), t, &told);
        if (step == 4) ok = went(sapporo_tree_refresh(t), t, &told);
        if (step == 5) ok = went(sapporo_tree_force(t, &some, f->some_acc, f->some_pot), t, &told);
        if (step == 5 && ok) ok = went(sapporo_tree_force(t, &some, f->some_acc, f->some_pot), t, &told);
        if (tries > 20) fail_msg("step %d goes on failing: %s", step, sapporo_tree_last_error(t));
        step = ok ? step + 1 : lost ? 0 : step;
    }
    sapporo_tree_destroy(t);
    return told;
}

/* Without a time shares stay as they are. */
static int is_harmless(const char *call)
{
    return faulty_is_harmless(call) || strcmp(call, "event_milliseconds") == 0 || strcmp(call, "event_query") == 0;
}

/* Of a device that lacks memory the other one takes the share; any other fault is told. */
static void faults(void **state)
{
    static const int kinds[] = {SAP_DRIVER_MEMORY, SAP_DRIVER_ERROR, SAP_DRIVER_LAUNCH, SAP_DRIVER_LOST};
    static struct rows right, f;
    (void)state;
    need_devices();
    tree_faults_start();
    faulty_plan(0, SAP_DRIVER_OK);
    assert_int_equal(live(0, &right), 0);
    for (long n = 1;; n += 9) {
        const int kind = kinds[n % 4];
        memset(&f, 0, sizeof f);
        faulty_plan(n, kind);
        const int told = live(kind == SAP_DRIVER_LOST, &f);
        if (!faulty.failed) break;
        if (told == 0 && kind != SAP_DRIVER_MEMORY && !is_harmless(faulty.failed_call))
            fail_msg("call %ld, %s: no error", n, faulty.failed_call);
        if (memcmp(&f, &right, sizeof f) != 0) fail_msg("call %ld, %s: forces differ", n, faulty.failed_call);
    }
}

/* ---- main ------------------------------------------------------------------------------------ */

#define ON_BOTH(test, end)                                                                                             \
    {#test ", OpenCL", test, tree_faults_on_opencl, end, NULL}, { #test ", CUDA", test, tree_faults_on_cuda, end, NULL }

int main(void)
{
    const struct CMUnitTest tests[] = {ON_BOTH(plain, NULL),     ON_BOTH(districts, NULL),
                                       ON_BOTH(in_double, NULL), ON_BOTH(with_lengths, NULL),
                                       ON_BOTH(steppers, NULL),  ON_BOTH(faults, tree_faults_end)};
    (void)setenv("POCL_DEVICES", "pthread pthread", 0);
    p = tree_particles_make(TREE_CLUSTER, N);
    for (int i = 0; i < N; i++) lengths[i] = i % 7 ? 1e-3 * (i % 5) : 0.05;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tree_particles_free(&p);
    return failed;
}
