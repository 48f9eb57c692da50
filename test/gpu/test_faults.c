/*
 * test_faults.c - a client's session in which the n-th call of the driver fails, for every n and in every way: over the
 * stub, and over CUDA if there is a device.
 *
 * For any fault, the call that meets it reports it, its outputs are NaN, later forces are right, contexts on other
 * devices go on, nothing leaks, and opening again recovers.  Over the stub a force is right if it is not an older one;
 * over CUDA it is compared with the CPU engine.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/driver.h"
#include "faulty_driver.h"
#include "faulty_walk.h"
#include "gpu/gpu_kernels.h"
#include "model.h"
#include "sanitized.h"
#include "sapporo_g6.h"
#include "stub_driver.h"
#include "stub_kernels.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 3500, MANY = 600, FEW = 3, SMALL = 100, DEVICES = 3, ID = 7, OUTSIDE = 64 /* beside OUT_ */ };

/* Every force and particle here has these; index and address are the same. */
static struct body body[N];
static double x[N][3], v[N][3], mass[N], h2[N];
static int indices[N];

/* How a walk goes. */
static struct {
    int real, devices;
    int status; /* of the fault */
    int failed; /* calls of the library that said so */
} walk;

/* A context, and one of the CPU engine that is told the same. */
struct client {
    sapporo *c, *twin;
    int device; /* that it is on alone; -1: on all */
};

struct results {
    double acc[MANY][3], jerk[MANY][3], pot[MANY], r2[MANY];
    int nearest[MANY];
};

static struct results got, wanted;

/* ---------------------------------------------------------------- what must be so */

static int is_fault(int status)
{
    return status == SAPPORO_ERR_MEMORY || status == SAPPORO_ERR_DEVICE || status == SAPPORO_ERR_UNSUPPORTED;
}

/* Nothing fails without a fault; then there are words, the driver's where it was the driver that failed. */
static void check_failure(int status, const char *words)
{
    walk.failed++;
    if (!faulty.failed || !is_fault(status) ||
        !(strstr(words, "faulty driver: ") || strstr(words, "lost") ||
          strstr(words, "failed before") /* asked again */))
        fail_msg("call %s, device %d, status %d: the library gives %d: '%s'", faulty.failed_call, faulty.failed_device,
                 walk.status, status, words);
    const int expected = walk.status == SAP_DRIVER_MEMORY ? SAPPORO_ERR_MEMORY : SAPPORO_ERR_DEVICE;
    if (strstr(words, "faulty driver: ")) assert_int_equal(status, expected);
}

/* A fault that breaks nothing for long: what begins after it must succeed. */
static int must_succeed(const struct client *k)
{
    if (!faulty.failed || walk.status != SAP_DRIVER_LOST) return 1;
    return k->device >= 0 && k->device != faulty.failed_device;
}

static void check_nan(const struct results *r, int ni, int neighbours)
{
    for (int i = 0; i < ni; i++) {
        for (int axis = 0; axis < 3; axis++) assert_true(isnan(r->acc[i][axis]) && isnan(r->jerk[i][axis]));
        assert_true(isnan(r->pot[i]));
        if (neighbours) assert_int_equal(r->nearest[i], -1);
    }
}

/* Errors of single precision beside the acceleration of the whole model. */
static void check_same(const struct results *a, const struct results *b, int ni, int neighbours)
{
    for (int i = 0; i < ni; i++) {
        double size = 0, off = 0;
        for (int axis = 0; axis < 3; axis++)
            size += fabs(b->acc[i][axis]), off += fabs(a->acc[i][axis] - b->acc[i][axis]);
        assert_true(off <= 1e-4 * (size + 1));
        assert_true(fabs(a->pot[i] - b->pot[i]) <= 1e-4 * fabs(b->pot[i]));
        if (neighbours) assert_int_equal(a->nearest[i], b->nearest[i]);
    }
}

static void check_fresh(const struct results *r, int ni, double serial)
{
    for (int i = 0; i < ni; i++) assert_true(fabs(r->pot[i]) > serial && fabs(r->acc[i][2]) > serial);
}

/* ---------------------------------------------------------------- calls of the native interface */

static sapporo *opened(sapporo_backend backend, const int *device, int devices)
{
    sapporo *c = NULL;
    const sapporo_options options = {
        .size = sizeof options, .backend = backend, .devices = device, .ndevices = devices, .precision = SAPPORO_DS};
    const int status = sapporo_open(&options, &c);
    if (status) {
        assert_null(c);
        check_failure(status, sapporo_last_error(NULL));
    }
    return c;
}

static struct client open_client(int device)
{
    struct client k = {.device = walk.devices == 1 ? 0 : device};
    k.c = opened(SAPPORO_BACKEND_CUDA, &device, device < 0 ? -1 : 1);
    if (!k.c && must_succeed(&k)) assert_int_equal(walk.failed, 1); /* it is this call that met the fault */
    if (walk.real) k.twin = opened(SAPPORO_BACKEND_CPU, NULL, 0);
    return k;
}

static void close_client(struct client *k)
{
    sapporo_close(k->c);
    sapporo_close(k->twin);
}

/* The host's copy: storing cannot fail. */
static void set_many(const struct client *k, int first, int n)
{
    sapporo_particles all = {.size = sizeof all};
    all.derivative[0].base = x + first;
    all.derivative[1].base = v + first;
    all.mass.base = mass + first;
    assert_int_equal(sapporo_set_particles(k->c, first, n, &all), SAPPORO_OK);
    if (k->twin) assert_int_equal(sapporo_set_particles(k->twin, first, n, &all), SAPPORO_OK);
}

static void set_few(const struct client *k, int every, double shift)
{
    for (int a = 0; a < N; a += every) {
        sapporo_particle p = {.mass = mass[a], .index = a, .time = shift};
        memcpy(p.derivative[0], x[a], sizeof x[a]);
        memcpy(p.derivative[1], v[a], sizeof v[a]);
        p.derivative[0][0] += shift;
        assert_int_equal(sapporo_set_particle(k->c, a, &p), SAPPORO_OK);
        if (k->twin) assert_int_equal(sapporo_set_particle(k->twin, a, &p), SAPPORO_OK);
    }
}

/* A force under way. */
struct force {
    sapporo_job *job, *twin;
    int ni;
    double serial; /* of results that are older */
    int sure;      /* no fault is left for it */
};

static struct force begin(const struct client *k, int nj, int ni, double eps2, unsigned want)
{
    struct force f = {.ni = ni, .serial = stub_serial(), .sure = faulty.failed > 0 && must_succeed(k)};
    sapporo_request r = {.size = sizeof r, .nj = nj, .ni = ni, .x = {x, 0}, .v = {v, 0}, .eps2 = eps2, .want = want};
    r.index.base = want & OUTSIDE ? NULL : indices;
    r.h2.base = h2;
    r.pairs = want & OUTSIDE ? SAPPORO_PAIRS_OUTSIDE : SAPPORO_PAIRS_ALL;
    const int status = sapporo_force_begin(k->c, &r, &f.job);
    if (status) {
        assert_null(f.job);
        check_failure(status, sapporo_last_error(k->c));
        if (f.sure) fail_msg("begin fails after the fault: %s", sapporo_last_error(k->c));
    }
    if (k->twin) assert_int_equal(sapporo_force_begin(k->twin, &r, &f.twin), SAPPORO_OK);
    return f;
}

static int end_job(sapporo_job *job, int ni, struct results *to, int neighbours)
{
    sapporo_result r = {.size = sizeof r, .acc = to->acc, .jerk = to->jerk, .pot = to->pot};
    memset(to, 0x11, sizeof *to);
    if (neighbours) r.nearest = to->nearest, r.nearest_r2 = to->r2;
    return sapporo_force_end(job, ni, &r);
}

static void end(const struct client *k, const struct force *f, int neighbours)
{
    if (!f->job) return;
    const int status = end_job(f->job, f->ni, &got, neighbours);
    if (status) {
        check_failure(status, sapporo_last_error(k->c));
        check_nan(&got, f->ni, neighbours);
        if (f->sure) fail_msg("end fails after the fault: %s", sapporo_last_error(k->c));
    } else if (walk.real) {
        assert_int_equal(end_job(f->twin, f->ni, &wanted, neighbours), SAPPORO_OK);
        check_same(&got, &wanted, f->ni, neighbours);
    } else {
        check_fresh(&got, f->ni, f->serial);
    }
}

static void lists(const struct client *k, const struct force *f)
{
    int n, total, list[64], n2, total2, list2[64];
    for (int i = 0; i < f->ni && f->job; i += 97) {
        const int status = sapporo_force_neighbours(f->job, i, 64, &n, list, &total);
        if (status < 0) {
            check_failure(status, sapporo_last_error(k->c));
            assert_true(n == 0 && total == 0);
            if (f->sure) fail_msg("lists fail after the fault: %s", sapporo_last_error(k->c));
        } else if (walk.real) {
            assert_int_equal(sapporo_force_neighbours(f->twin, i, 64, &n2, list2, &total2), status);
            assert_int_equal(total, total2);
            assert_memory_equal(list, list2, (size_t)n * sizeof *list);
        } else {
            assert_int_equal(total, stub_list_length);
        }
    }
}

static void drop(struct force *f) { sapporo_force_free(f->job), sapporo_force_free(f->twin); }

static void force(const struct client *k, int nj, int ni, double eps2, unsigned want)
{
    struct force f = begin(k, nj, ni, eps2, want);
    while (f.job && !sapporo_force_done(f.job)) continue;
    end(k, &f, want == OUT_NEAREST);
    if (want == OUTSIDE) lists(k, &f);
    drop(&f);
}

static void set_time(const struct client *k, double time)
{
    assert_int_equal(sapporo_set_time(k->c, time), SAPPORO_OK);
    if (k->twin) assert_int_equal(sapporo_set_time(k->twin, time), SAPPORO_OK);
}

/* What the host has is intact. */
static void check_particles(const struct client *k, double shift)
{
    sapporo_particle p;
    for (int a = 0; a < N; a += 50) {
        assert_int_equal(sapporo_get_particle(k->c, a, 0, &p), SAPPORO_OK);
        assert_true(p.derivative[0][0] == x[a][0] + shift && p.derivative[0][1] == x[a][1] && p.mass == mass[a]);
    }
}

/* ---------------------------------------------------------------- the sessions */

static void native_session(const struct client *k)
{
    set_many(k, 0, N);
    force(k, N, FEW, 1e-4, 0);
    set_time(k, 0.125);
    set_few(k, 7, 0.03125);
    force(k, N, MANY, 0, OUT_NEAREST);
    /* two under way, particles stored meanwhile, neighbours of the first afterwards */
    struct force one = begin(k, N, MANY, 1e-4, 0);
    set_few(k, 50, 0.0625);
    struct force two = begin(k, N, SMALL, 1e-4, 0);
    end(k, &one, 1);
    lists(k, &one);
    drop(&one);
    end(k, &two, 0);
    lists(k, &two);
    end(k, &two, 1); /* again */
    drop(&two);
    check_particles(k, 0.0625);
    force(k, N, MANY, 0, OUTSIDE);
    /* nobody collects it; its memory is used again */
    struct force never = begin(k, N, FEW, 0, 0);
    drop(&never);
    force(k, N - 1, FEW, 1e-4, OUT_NEAREST);
    assert_int_equal(sapporo_clear_particles(k->c), SAPPORO_OK);
    if (k->twin) assert_int_equal(sapporo_clear_particles(k->twin), SAPPORO_OK);
    set_many(k, 0, SMALL);
    force(k, SMALL, FEW, 1e-4, 0);
    (void)begin(k, SMALL, FEW, 1e-4, OUT_LISTS); /* still there when the context is closed */
}

static void g6_force(int ni, int lasthalf2)
{
    const double serial = stub_serial();
    const int sure = faulty.failed > 0 && walk.status != SAP_DRIVER_LOST;
    memset(&got, 0x11, sizeof got);
    assert_int_equal(g6_set_ti(ID, 0), 0);
    g6calc_firsthalf(ID, SMALL, ni, indices, x, v, got.acc, got.jerk, got.pot, 1e-4, h2);
    const int rc =
        lasthalf2 ? g6calc_lasthalf2(ID, SMALL, ni, indices, x, v, 1e-4, h2, got.acc, got.jerk, got.pot, got.nearest)
                  : g6calc_lasthalf(ID, SMALL, ni, indices, x, v, 1e-4, h2, got.acc, got.jerk, got.pot);
    if (rc != 0) {
        assert_int_equal(rc, -1);
        assert_true(faulty.failed > 0 && !sure);
        walk.failed++;
        check_nan(&got, ni, lasthalf2);
    } else if (walk.real) {
        for (int i = 0; i < ni; i++) assert_true(isfinite(got.acc[i][0]) && got.pot[i] < 0);
    } else {
        check_fresh(&got, ni, serial);
    }
}

static void g6_session(void)
{
    int n, list[SMALL];
    double zero[3] = {0, 0, 0};
    for (int a = 0; a < SMALL; a++)
        assert_int_equal(g6_set_j_particle(ID, a, a, 0, 0, mass[a], zero, zero, zero, v[a], x[a]), 0);
    g6_force(FEW, 0);
    g6_force(SMALL, 1);
    for (int a = 0; a < SMALL; a += 9)
        assert_int_equal(g6_set_j_particle(ID, a, a, 0, 0, mass[a], zero, zero, zero, v[a], x[a]), 0);
    g6_force(SMALL, 0);
    const int rc = g6_read_neighbour_list(ID);
    walk.failed += rc != 0;
    assert_true(rc == 0 || faulty.failed > 0);
    if (rc == 0) assert_true(g6_get_neighbour_list(ID, 1, SMALL, &n, list) >= 0);
}

/* Three contexts at a time; the first is open, and has been used, before anything fails. */
static void session(struct client *bystander)
{
    struct client k = open_client(-1);
    const int g6 = g6_open(ID);
    walk.failed += g6 != 0;
    assert_true(g6 == 0 || faulty.failed > 0);
    if (k.c) native_session(&k);
    if (g6 == 0) g6_session();
    force(bystander, SMALL, FEW, 1e-4, 1);
    close_client(&k);
    assert_int_equal(g6_close(ID), 0);
}

/* Calls whose failure may be made good, or change nothing; a lost device that nobody has open is opened anew. */
static int harmless(const char *call)
{
    static const char *const calls[] = {"occupancy", "event_query",  "event_wait",      "stream_finish",
                                        "allocate",  "event_create", "allocate_pinned", "properties",
                                        "open",      "module_load",  "function"};
    const size_t n = walk.status == SAP_DRIVER_LOST ? 11 : 7;
    for (size_t k = 0; k < n; k++)
        if (strcmp(call, calls[k]) == 0) return 1;
    return 0;
}

/* Everything works once all has been closed. */
static void check_well(void)
{
    struct client k = open_client(-1);
    if (!k.c) fail_msg("after %s: %s", faulty.failed_call, sapporo_last_error(NULL));
    set_many(&k, 0, SMALL);
    const int failed = faulty.failed;
    force(&k, SMALL, FEW, 1e-4, 1);
    assert_int_equal(faulty.failed, failed);
    close_client(&k);
}

/* One walk step; 0: no call was left to fail. */
static int step(long n, int status)
{
    walk.failed = 0;
    walk.status = status;
    if (!walk.real) sap_gpu_unload_idle(sap_driver_replaced.cuda);
    faulty_plan(0, SAP_DRIVER_OK);
    struct client bystander = open_client(walk.devices - 1);
    assert_non_null(bystander.c);
    set_many(&bystander, 0, SMALL);
    force(&bystander, SMALL, FEW, 1e-4, 1);
    faulty_plan(n, status);
    session(&bystander);
    close_client(&bystander);
    if (!faulty.failed) return 0;
    if (walk.failed == 0 && !harmless(faulty.failed_call))
        fail_msg("call %ld, %s, fails and nobody tells", n, faulty.failed_call);
    check_well();
    if (walk.real) return 1;
    sap_gpu_unload_idle(sap_driver_replaced.cuda);
    assert_true(stub_idle());
    return 1;
}

static void walk_all(int every)
{
    for (const struct faulty_kind *kind = faulty_kinds; kind->name; kind++) {
        long n = 1 + (kind - faulty_kinds) % every; /* what one leaves out is another's, or its neighbour */
        while (step(n, kind->status)) n += every;
        print_message("%s: %ld calls\n", kind->name, n - 1);
        assert_true(n > 100);
    }
}

/* ---------------------------------------------------------------- drivers */

static void on_stub(int devices, int apart, int step)
{
    stub_reset(devices);
    stub.apart = apart;
    stub.on_launch = stub_kernel;
    stub_list_length = 200; /* too many for the room that a first force has */
    sap_driver_replaced.cuda = faulty_wrap(&stub_driver), sap_driver_replaced.cuda_kernels = &stub_kernels;
    walk.real = 0, walk.devices = devices;
    walk_all(step);
    sap_gpu_unload_idle(sap_driver_replaced.cuda);
    assert_true(stub_idle());
    assert_int_equal(stub.outside, 0);
    assert_true(stub_launches("predict_ds") > 0 && stub_launches("list_sort") > 0); /* the session asks for them */
    assert_true((stub_launches("finish_merge") > 0) == (devices > 1 && apart < 2));
    sap_driver_replaced.cuda = NULL, sap_driver_replaced.cuda_kernels = NULL;
}

static void one_device(void **state)
{
    (void)state;
    on_stub(1, 0, faulty_every(1));
}

static void several_devices(void **state)
{
    const int every = !test_sparing() ? 1 : SANITIZED ? 5 : 2;
    (void)state;
    for (int apart = 0; apart < 3; apart++) on_stub(DEVICES, apart, every * (1 + apart)); /* stub_driver.h */
}

static void cuda(void **state)
{
    (void)state;
    if (sap_driver_cuda.count() == 0 || sap_embedded_cuda.count == 0) {
        print_message("skip: %s\n", sap_embedded_cuda.count ? sap_driver_cuda.describe() : sap_embedded_cuda.why);
        skip();
    }
    walk.real = 1, walk.devices = sap_driver_cuda.count();
    sap_driver_replaced.cuda = faulty_wrap(&sap_driver_cuda);
    walk_all(3); /* a lost device takes a tenth of a second to come back */
    sap_gpu_unload_idle(sap_driver_replaced.cuda);
    sap_driver_replaced.cuda = NULL;
}

/* Opening says why there is no device. */
static void absent(void **state)
{
    static const struct sap_embedded none = {NULL, 0, "", "built without nvcc"};
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CUDA};
    sapporo *c = NULL;
    (void)state;
    sap_driver_replaced.cuda_kernels = &none;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_ERR_DEVICE);
    assert_non_null(strstr(sapporo_last_error(NULL), "built without nvcc"));
    stub_reset(0);
    sap_driver_replaced.cuda_kernels = &stub_kernels, sap_driver_replaced.cuda = &stub_driver;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_ERR_DEVICE);
    assert_non_null(strstr(sapporo_last_error(NULL), "the stub has no device"));
    sap_driver_replaced.cuda = NULL, sap_driver_replaced.cuda_kernels = NULL;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent),
        cmocka_unit_test(one_device),
        cmocka_unit_test(several_devices),
        cmocka_unit_test(cuda),
    };
    (void)argc;
    /* forces are tiny here: threads would only wait for each other */
    if (!getenv("OMP_THREAD_LIMIT") && setenv("OMP_THREAD_LIMIT", "1", 1) == 0) (void)execv("/proc/self/exe", argv);
#ifdef M_MMAP_THRESHOLD /* what the stub frees is used again: ten times faster */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    setenv("SAPPORO_VERBOSE", "0", 1);
    setenv("SAPPORO_BACKEND", "cuda", 1);
    setenv("SAPPORO_DEVICES", "0", 1);
    model_plummer(body, N, 5);
    for (int a = 0; a < N; a++) {
        memcpy(x[a], body[a].derivative[0], sizeof x[a]);
        memcpy(v[a], body[a].derivative[1], sizeof v[a]);
        mass[a] = body[a].mass;
        h2[a] = 0.01;
        indices[a] = a;
    }
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
