/*
 * test_gpu_lists.c - neighbour lists of accelerators while they are computed and copied: no force waits for them when
 * it begins, lists that overflow are delivered all the same, and they belong to the particles with which the force was
 * begun.
 *
 * The test runs over the stub, where lists have a given length, and over existing accelerators, where lists are
 * compared with those of the CPU engine.  For regular forces the sums are compared too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/driver.h"
#include "gpu/gpu_kernels.h"
#include "model.h"
#include "runs.h"
#include "stub_driver.h"
#include "stub_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists of hundreds, in most packets: room for candidates does not suffice, nor does that for lists. */
enum { N = 12000, NI = 512, FEW = 64, JOBS = 6, STUB_LONG = 700 };

static const double SHORT = 0.01, LONG = 0.4; /* squared radii */

static struct problem problem;

static int make(void **state)
{
    (void)state;
    problem_new(&problem, N, NI);
    model_plummer(problem.body, N, 33);
    problem.nj = N;
    problem.eps2 = 1e-4;
    for (int i = 0; i < NI; i++) {
        struct target *t = &problem.target[i];
        memcpy(t->x, problem.body[i].derivative[0], sizeof t->x);
        memcpy(t->v, problem.body[i].derivative[1], sizeof t->v);
        t->index = problem.body[i].index;
    }
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    problem_free(&problem);
    return 0;
}

static void set_radii(double h2)
{
    for (int i = 0; i < NI; i++) problem.target[i].h2 = h2;
}

/* ---------------------------------------------------------------- a driver that counts how often the host waits */

static struct sap_driver counting;
static const struct sap_driver *inner;
static long waits;

static int event_wait(struct sap_event *e)
{
    waits += inner->event_query(e) == SAP_DRIVER_PENDING;
    return inner->event_wait(e);
}

static int stream_finish(struct sap_stream *s)
{
    waits++;
    return inner->stream_finish(s);
}

/* Copies from and to plain memory wait, or may. */
static struct {
    const char *at;
    size_t bytes;
    struct sap_mem *mem;
} pinned[512];

static int allocate_pinned(struct sap_dev *dev, size_t bytes, struct sap_mem **mem, void **host)
{
    const int status = inner->allocate_pinned(dev, bytes, mem, host);
    for (size_t k = 0; k < 512 && !status; k++) {
        if (pinned[k].mem) continue;
        pinned[k].at = *host, pinned[k].bytes = bytes, pinned[k].mem = *mem;
        break;
    }
    return status;
}

static void release(struct sap_mem *mem)
{
    for (size_t k = 0; k < 512; k++)
        if (pinned[k].mem == mem) pinned[k].mem = NULL;
    inner->release(mem);
}

static int is_pinned(const void *at, size_t bytes)
{
    for (size_t k = 0; k < 512; k++)
        if (pinned[k].mem && (const char *)at >= pinned[k].at &&
            (const char *)at + bytes <= pinned[k].at + pinned[k].bytes)
            return 1;
    return 0;
}

static int copy_in(struct sap_stream *s, struct sap_mem *to, size_t at, const void *from, size_t bytes)
{
    waits += !is_pinned(from, bytes);
    return inner->copy_in(s, to, at, from, bytes);
}

static int copy_out(struct sap_stream *s, void *to, struct sap_mem *from, size_t at, size_t bytes)
{
    waits += !is_pinned(to, bytes);
    return inner->copy_out(s, to, from, at, bytes);
}

static const struct sap_driver *counted(const struct sap_driver *driver)
{
    inner = driver;
    counting = *driver;
    counting.event_wait = event_wait;
    counting.stream_finish = stream_finish;
    counting.allocate_pinned = allocate_pinned;
    counting.release = release;
    counting.copy_in = copy_in;
    counting.copy_out = copy_out;
    return &counting;
}

/* ---------------------------------------------------------------- forces and their lists */

static sapporo *twin; /* the CPU engine, told the same; NULL: the stub computes */

/* A force under way, and what it shall bring. */
struct force {
    sapporo_job *job, *twin;
    int n;
};

static struct force begin(sapporo *c, int from, int n, unsigned want)
{
    sapporo_request request = problem_request(&problem, from, n);
    struct force f = {.n = n};
    request.want = want;
    assert_int_equal(sapporo_force_begin(c, &request, &f.job), SAPPORO_OK);
    request.want = OUT_LISTS;
    if (twin) assert_int_equal(sapporo_force_begin(twin, &request, &f.twin), SAPPORO_OK);
    return f;
}

static void end(const struct force *f)
{
    double acc[NI][3], pot[NI];
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    assert_int_equal(sapporo_force_end(f->job, f->n, &result), SAPPORO_OK);
    for (int i = 0; i < f->n; i++) assert_true(isfinite(acc[i][0]) && pot[i] != 0);
    if (!twin || !problem.outside) return;
    double acc2[NI][3] = {{0}}, pot2[NI] = {0};
    const sapporo_result expected = {.size = sizeof expected, .acc = acc2, .pot = pot2};
    assert_int_equal(sapporo_force_end(f->twin, f->n, &expected), SAPPORO_OK);
    for (int i = 0; i < f->n; i++) { /* both have errors of single precision in each pair */
        assert_true(fabs(pot[i] - pot2[i]) <= 1e-5 * fabs(pot2[i]));
        for (int axis = 0; axis < 3; axis++) assert_true(fabs(acc[i][axis] - acc2[i][axis]) <= 1e-5);
    }
}

static void check_lists(const struct force *f)
{
    static int list[N], expected[N];
    for (int i = 0; i < f->n; i++) {
        int n, total, n2, total2 = stub_list_length;
        assert_int_equal(sapporo_force_neighbours(f->job, i, N, &n, list, &total), SAPPORO_OK);
        if (twin) assert_int_equal(sapporo_force_neighbours(f->twin, i, N, &n2, expected, &total2), SAPPORO_OK);
        for (int k = 0; k < total2 && !twin; k++) expected[k] = k;
        if (n != total || total != total2) fail_msg("list of %d: %d, %d, should be %d", i, n, total, total2);
        assert_memory_equal(list, expected, (size_t)n * sizeof *list);
    }
}

static void drop(struct force *f)
{
    sapporo_force_free(f->job);
    sapporo_force_free(f->twin);
}

static void set_some(sapporo *c, int every, double shift)
{
    for (int k = 0; k < N; k += every) {
        const struct body *b = &problem.body[k];
        sapporo_particle p = {.mass = b->mass, .index = b->index, .time = 0};
        memcpy(p.derivative, b->derivative, sizeof b->derivative[0] * 2);
        p.derivative[0][0] += shift;
        assert_int_equal(sapporo_set_particle(c, b->address, &p), SAPPORO_OK);
        if (twin) assert_int_equal(sapporo_set_particle(twin, b->address, &p), SAPPORO_OK);
    }
}

static void set_time(sapporo *c, double time)
{
    assert_int_equal(sapporo_set_time(c, time), SAPPORO_OK);
    if (twin) assert_int_equal(sapporo_set_time(twin, time), SAPPORO_OK);
}

/* ---------------------------------------------------------------- what must be so */

/* Begins of forces like those before do not wait, with particles sent and without, one after the other or at once. */
static void nobody_waits(sapporo *c)
{
    struct force f[JOBS];
    set_radii(SHORT);
    stub_list_length = 50;
    stub.pending = 0;
    for (int turn = 0; turn < 4; turn++) {
        set_some(c, 100, 1e-3 * turn);
        waits = 0;
        f[0] = begin(c, 0, NI, OUT_LISTS);
        if (turn > 1) assert_int_equal(waits, 0);
        end(&f[0]);
        check_lists(&f[0]);
        drop(&f[0]);
    }
    stub.pending = 1;
    for (int turn = 0; turn < 4; turn++) {
        set_time(c, 0.01 * turn);
        waits = 0;
        for (int k = 0; k < JOBS; k++) f[k] = begin(c, k * FEW, FEW + k, OUT_LISTS);
        if (turn > 1) assert_int_equal(waits, 0);
        for (int k = JOBS - 1; k >= 0; k--) {
            end(&f[k]);
            check_lists(&f[k]);
            check_lists(&f[k]);
        }
        for (int k = 0; k < JOBS; k++) drop(&f[k]);
    }
}

/* Room does not suffice; that shows to nobody. */
static void no_room(sapporo *c)
{
    set_radii(LONG);
    stub_list_length = STUB_LONG;
    struct force f = begin(c, 0, NI, OUT_LISTS);
    while (!sapporo_force_done(f.job)) continue;
    waits = 0;
    end(&f);
    check_lists(&f);
    assert_int_equal(waits, 0); /* it was done */
    drop(&f);
    f = begin(c, 0, NI, OUT_LISTS);
    assert_int_equal(waits, 0); /* and now there is room */
    end(&f);
    check_lists(&f);
    drop(&f);
}

/* The next one begins before the lists of the first are looked at: with other particles, or at another time. */
static void next_begins(sapporo *c, int change)
{
    set_radii(LONG);
    stub_list_length = STUB_LONG;
    struct force one = begin(c, 0, NI, OUT_LISTS);
    if (change) set_some(c, 3, 0.125);
    set_time(c, 0.25);
    struct force two = begin(c, 0, FEW, OUT_LISTS);
    struct force three = begin(c, FEW, FEW, OUT_LISTS);
    end(&one);
    end(&three);
    check_lists(&three);
    check_lists(&one);
    end(&two);
    check_lists(&two);
    drop(&one);
    drop(&two);
    drop(&three);
}

static void other_particles(sapporo *c) { next_begins(c, 1); }
static void other_time(sapporo *c) { next_begins(c, 0); }

/* Nobody ever looks at the first. */
static void dropped(sapporo *c)
{
    set_radii(LONG);
    stub_list_length = STUB_LONG;
    struct force one = begin(c, 0, NI, OUT_LISTS);
    drop(&one);
    set_some(c, 3, 0.125);
    one = begin(c, 0, FEW, OUT_LISTS);
    struct force two = begin(c, 0, NI, OUT_LISTS);
    drop(&one);
    end(&two);
    check_lists(&two);
    (void)begin(c, 0, NI, OUT_LISTS); /* goes with the context */
    drop(&two);
}

/* Lists that were not asked for when the force began. */
static void asked_later(sapporo *c)
{
    set_radii(LONG);
    stub_list_length = STUB_LONG;
    struct force one = begin(c, 0, NI, 0), two = begin(c, 0, FEW, 0);
    end(&one);
    end(&two);
    check_lists(&one);
    end(&one);
    check_lists(&two);
    check_lists(&one);
    drop(&one);
    drop(&two);
}

typedef void list_test(sapporo *c);
static list_test *const tests[] = {nobody_waits, no_room, other_particles, other_time, dropped, asked_later};
enum { ASKED_LATER = sizeof tests / sizeof *tests - 1 }; /* of what a force without members has at once */

/* ---------------------------------------------------------------- engines */

/* devices: -1 all, 0 as many as the library takes by itself */
static sapporo *opened(sapporo_backend backend, int devices)
{
    const sapporo_options options = {
        .size = sizeof options, .backend = backend, .precision = SAPPORO_DS, .ndevices = devices};
    sapporo *c = NULL;
    if (sapporo_open(&options, &c)) fail_msg("%s", sapporo_last_error(NULL));
    problem_load(c, &problem);
    return c;
}

static void run_all(sapporo_backend backend, int devices, int real)
{
    for (int k = 0; k < 2 * ASKED_LATER + 1; k++) {
        sapporo *c = opened(backend, devices);
        twin = real ? opened(SAPPORO_BACKEND_CPU, 0) : NULL;
        waits = 0;
        problem.outside = problem.no_index = k > ASKED_LATER;
        tests[k > ASKED_LATER ? k - ASKED_LATER - 1 : k](c);
        sapporo_close(c);
        sapporo_close(twin);
    }
}

/* Launches that make lists again, beyond those of each force. */
static void on_stub(int devices)
{
    stub_reset(devices);
    stub.on_launch = stub_kernel;
    sap_driver_replaced.cuda_kernels = &stub_kernels;
    sap_driver_replaced.cuda = counted(&stub_driver);
    run_all(SAPPORO_BACKEND_CUDA, -1, 0);
    assert_true(stub_launches("list_sort") > stub_launches("finish_sums")); /* forces without lists are fewer */
    sap_gpu_unload_idle(&counting);
    assert_true(stub_idle());
    assert_int_equal(stub.outside, 0);
    sap_driver_replaced.cuda = NULL;
    sap_driver_replaced.cuda_kernels = NULL;
}

RUNS(one_device, on_stub(1))

RUNS(several_devices, on_stub(3))

static void cuda(void **state)
{
    (void)state;
    if (sap_driver_cuda.count() == 0 || sap_embedded_cuda.count == 0) {
        print_message("skip: %s\n", sap_embedded_cuda.count ? sap_driver_cuda.describe() : sap_embedded_cuda.why);
        skip();
    }
    sap_driver_replaced.cuda = counted(&sap_driver_cuda);
    run_all(SAPPORO_BACKEND_CUDA, -1, 1);
    sap_gpu_unload_idle(&counting);
    sap_driver_replaced.cuda = NULL;
}

static void opencl(void **state)
{
    (void)state;
    if (sap_driver_opencl.count() == 0) {
        print_message("skip: %s\n", sap_driver_opencl.describe());
        skip();
    }
    sap_driver_replaced.opencl = counted(&sap_driver_opencl);
    run_all(SAPPORO_BACKEND_OPENCL, 0, 1);
    sap_gpu_unload_idle(&counting);
    sap_driver_replaced.opencl = NULL;
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(one_device),
        cmocka_unit_test(several_devices),
        cmocka_unit_test(cuda),
        cmocka_unit_test(opencl),
    };
    return cmocka_run_group_tests_name("gpu lists", all, make, unmake);
}
