/*
 * test_stepper_direct.c - steppers over direct sums: their forces have the bits of a context of order 2 in every
 * precision, with and without softening, on all particles and on few, for numbers at the ends of superpackets. Massless
 * particles are no sources.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends.h"
#include "runs.h"
#include "tree_cases.h"

enum { MOST = 5000 };

/* Particles of a stepper, and what a context says of them. */
struct rows {
    double x[MOST][3], v[MOST][3], acc[MOST][3], pot[MOST], own_time[MOST];
};
static struct rows got;
static double acc[MOST][3], pot[MOST];

struct shape {
    int n;
    double eps;
    sapporo_precision precision;
};
static const struct shape shapes[] = {{1, 0.05, SAPPORO_SP},     {1023, 0.05, SAPPORO_SP}, {1025, 0, SAPPORO_SP},
                                      {2048, 1e-25, SAPPORO_SP}, {MOST, 0.05, SAPPORO_SP}, {MOST, 0, SAPPORO_SP},
                                      {2047, 0.05, SAPPORO_DS},  {3100, 0.05, SAPPORO_DS}, {3100, 0, SAPPORO_DP},
                                      {4096, 0.05, SAPPORO_DP}};

static const sapporo_backend backends[] = {SAPPORO_BACKEND_CPU, SAPPORO_BACKEND_OPENCL, SAPPORO_BACKEND_CUDA,
                                           SAPPORO_BACKEND_HIP};

/* Runs a test on every engine that has a device and that the run does not exclude. */
static void everywhere(void (*test)(sapporo_backend backend, const char *name))
{
    int ran = 0;
    for (size_t k = 0; k < sizeof backends / sizeof *backends; k++) {
        const char *const name = backend_name(backends[k]);
        if (sapporo_device_count(backends[k]) == 0 || !backend_is_tested(backends[k])) {
            print_message("skip: no %s\n", name);
            continue;
        }
        test(backends[k], name);
        ran++;
    }
    if (!ran) skip();
}

static sapporo_tree_options tree_at(sapporo_backend backend, const struct shape *h)
{
    return (sapporo_tree_options){
        .size = sizeof(sapporo_tree_options), .eps2 = h->eps * h->eps, .precision = h->precision, .backend = backend};
}

static sapporo_stepper *stepper_of(const sapporo_stepper_options *o, const bodies *b, int n)
{
    const sapporo_stepper_particles p = {
        .size = sizeof p, .n = n, .x = {b->x, 0}, .v = {b->v, 0}, .mass = {b->mass, 0}};
    sapporo_stepper *s = NULL;
    if (sapporo_stepper_create(o, n, &s)) fail_msg("%s", sapporo_stepper_last_error(NULL));
    if (sapporo_stepper_set(s, &p)) fail_msg("%s", sapporo_stepper_last_error(s));
    return s;
}

static void advance(sapporo_stepper *s, long long steps)
{
    if (sapporo_stepper_advance(s, INFINITY, steps)) fail_msg("%s", sapporo_stepper_last_error(s));
}

static void get(sapporo_stepper *s, int n)
{
    const sapporo_stepper_output o = {
        .size = sizeof o, .n = n, .x = got.x, .v = got.v, .acc = got.acc, .pot = got.pot, .own_time = got.own_time};
    if (sapporo_stepper_get(s, &o)) fail_msg("%s", sapporo_stepper_last_error(s));
}

/*
 * Computes the forces of a context on the particles at got.x.  The context has the particles with mass, in order of
 * address; indices of massless ones are those of no j-particle.
 */
static void compute(sapporo_backend backend, const struct shape *h, const double *mass)
{
    static int index[MOST];
    static double x[MOST][3], m[MOST];
    const sapporo_options o = {.size = sizeof o, .order = 2, .precision = h->precision, .backend = backend};
    sapporo_particles all = {.size = sizeof all, .mass = {m, 0}};
    sapporo_request r = {.size = sizeof r, .ni = h->n, .x = {got.x, 0}, .index = {index, 0}, .eps2 = h->eps * h->eps};
    const sapporo_result to = {.size = sizeof to, .acc = acc, .pot = pot};
    sapporo *context = NULL;
    sapporo_job *job = NULL;
    for (int i = 0; i < h->n; i++) {
        index[i] = mass[i] != 0 ? r.nj : MOST + i;
        if (mass[i] == 0) continue;
        memcpy(x[r.nj], got.x[i], sizeof x[r.nj]);
        m[r.nj++] = mass[i];
    }
    all.derivative[0].base = x;
    assert_int_equal(sapporo_open(&o, &context), SAPPORO_OK);
    assert_int_equal(sapporo_set_particles(context, 0, r.nj, &all), SAPPORO_OK);
    assert_int_equal(sapporo_force_begin(context, &r, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, h->n, &to), SAPPORO_OK);
    sapporo_force_free(job);
    sapporo_close(context);
}

/* Compares the forces on the particles that ended a step now; returns their number. */
static int compare(sapporo_stepper *s, sapporo_backend backend, const struct shape *h, const double *mass,
                   const char *name)
{
    int active = 0;
    const double now = sapporo_stepper_get_time(s);
    get(s, h->n);
    compute(backend, h, mass);
    for (int i = 0; i < h->n; i++) {
        if (got.own_time[i] != now) continue;
        active++;
        if (memcmp(got.acc[i], acc[i], sizeof acc[i]) != 0 || memcmp(&got.pot[i], &pot[i], sizeof pot[i]) != 0)
            fail_msg("%s, n %d, eps %g, precision %d: particle %d has %a %a, not %a %a", name, h->n, h->eps,
                     (int)h->precision, i, got.acc[i][0], got.pot[i], acc[i][0], pot[i]);
    }
    return active;
}

/* Block steps until one of them has a part of the particles active. */
static void bits_of_blocks(const struct shape *h, sapporo_backend backend, const char *name,
                           const sapporo_stepper_options *shared, const bodies *b)
{
    sapporo_stepper_options o = *shared;
    o.scheme = SAPPORO_STEPS_BLOCK;
    o.criterion = SAPPORO_STEP_BY_CHANGE;
    sapporo_stepper *s = stepper_of(&o, b, h->n);
    for (int step = 0, part = 0; step < 200 && !part; step++) {
        advance(s, 1);
        sapporo_stepper_statistics f = {.size = sizeof f};
        assert_int_equal(sapporo_stepper_get_statistics(s, &f), SAPPORO_OK);
        part = f.active < h->n;
        if (part) assert_int_equal(compare(s, backend, h, b->mass, name), f.active);
    }
    sapporo_stepper_destroy(s);
}

static void bits_on(sapporo_backend backend, const char *name)
{
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        const struct shape *const h = &shapes[k];
        const sapporo_tree_options tree = tree_at(backend, h);
        const sapporo_stepper_options o = {
            .size = sizeof o, .method = SAPPORO_STEP_DIRECT, .tree = &tree, .dt = 1.0 / 64};
        bodies b = tree_model(CLUSTER_PLUMMER, h->n > 1 ? h->n : 2);
        if (h->n > 300) b.mass[255] = b.mass[256] = 0;
        sapporo_stepper *s = stepper_of(&o, &b, h->n);
        assert_int_equal(compare(s, backend, h, b.mass, name), h->n);
        advance(s, 2);
        assert_int_equal(compare(s, backend, h, b.mass, name), h->n);
        sapporo_stepper_destroy(s);
        if (h->n >= 1000) bits_of_blocks(h, backend, name, &o, &b);
        bodies_free(&b);
    }
}

RUNS(bits, everywhere(bits_on))

/* On a GPU or with OpenCL the particles lie on the device; the memory grows with them and is told. */
static void memory_on(sapporo_backend backend, const char *name)
{
    const struct shape small = {MOST, 0.05, SAPPORO_SP};
    const sapporo_tree_options tree = tree_at(backend, &small);
    const sapporo_stepper_options o = {.size = sizeof o, .method = SAPPORO_STEP_DIRECT, .tree = &tree, .dt = 1.0 / 64};
    sapporo_stepper *s = NULL;
    sapporo_stepper_statistics f = {.size = sizeof f};
    assert_int_equal(sapporo_stepper_create(&o, MOST, &s), SAPPORO_OK);
    assert_int_equal(sapporo_stepper_get_backend(s), backend);
    assert_int_equal(sapporo_stepper_get_statistics(s, &f), SAPPORO_OK);
    if (backend == SAPPORO_BACKEND_CPU)
        assert_true(f.device_bytes == 0);
    else if (f.device_bytes < MOST * 200u)
        fail_msg("%s: %zu bytes on the device", name, f.device_bytes);
    sapporo_stepper_destroy(s);
    /* with a tree they are more, by those of the tree */
    sapporo_stepper_options with_tree = o;
    sapporo_stepper_statistics of_both = {.size = sizeof of_both};
    size_t device = 0;
    const size_t host = sapporo_tree_memory_needed(&tree, MOST, &device);
    with_tree.method = SAPPORO_STEP_TREE;
    assert_int_equal(sapporo_stepper_create(&with_tree, MOST, &s), SAPPORO_OK);
    assert_int_equal(sapporo_stepper_get_statistics(s, &of_both), SAPPORO_OK);
    assert_true(host > 0 && of_both.host_bytes >= host && of_both.device_bytes >= device);
    if (backend != SAPPORO_BACKEND_CPU) assert_true(of_both.device_bytes >= device + MOST * 100u);
    sapporo_stepper_destroy(s);
}

RUNS(memory, everywhere(memory_on))

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits), cmocka_unit_test(memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
