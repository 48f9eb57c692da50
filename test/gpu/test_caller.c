/*
 * test_caller.c - j-particles, i-particles and results of direct sums in device memory of the caller give the bits that
 * arrays of the host give; the host gets particles only when a call needs them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "caller_memory.h"
#include "sapporo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3500, MORE = 1300, ALL = N + MORE, NI = 300, FEW = 500 };

static double derivative[SAPPORO_DERIVATIVES][ALL][3], mass[ALL], when[ALL], soft[ALL];
static int labels[ALL];

static double drawn(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) * 0x1p-53;
}

static void draw(void)
{
    uint64_t state = 39;
    for (int k = 0; k < ALL; k++) {
        for (int d = 0; d < SAPPORO_DERIVATIVES; d++)
            for (int axis = 0; axis < 3; axis++) derivative[d][k][axis] = (2 * drawn(&state) - 1) * pow(0.5, d);
        mass[k] = (1 + drawn(&state)) / ALL;
        when[k] = -drawn(&state) / 16;
        soft[k] = drawn(&state) / 1024;
        labels[k] = 7 * k + 3;
    }
}

/* ---- both kinds of memory ------------------------------------------------------------------------ */

/* A context whose particles come from the host, and one of the same kind whose particles come from the device. */
struct twins {
    sapporo *host, *device;
    int order;
};

static struct twins twins_of(int order, sapporo_precision precision)
{
    const sapporo_options o = {
        .size = sizeof o, .order = order, .precision = precision, .backend = caller_memory_backend()};
    struct twins t = {.order = order};
    for (int k = 0; k < 2; k++) {
        sapporo **const c = k ? &t.device : &t.host;
        if (sapporo_open(&o, c)) fail_msg("%s", sapporo_last_error(NULL));
        assert_int_equal(sapporo_set_time(*c, 0.01), SAPPORO_OK);
    }
    return t;
}

static void close_twins(const struct twins *t)
{
    sapporo_close(t->host);
    sapporo_close(t->device);
}

/*
 * The columns of n particles from number `from` on.  all: also index, and softening but in order 4, where it comes with
 * targets to particles that the device already has.
 */
static sapporo_particles columns_of(int order, int from, int all)
{
    sapporo_particles p = {.size = sizeof p, .mass = {mass + from, 0}, .time = {when + from, 0}};
    for (int d = 0; d < SAPPORO_DERIVATIVES; d++)
        if (all || d < 2) p.derivative[d].base = derivative[d] + from;
    if (all) p.index.base = labels + from;
    if (all && order != 4) p.eps2.base = soft + from;
    return p;
}

/* The same columns in device memory. */
static sapporo_particles sent(const sapporo_particles *p, int n)
{
    sapporo_particles there = *p;
    const size_t one = sizeof(double) * (size_t)n;
    there.memory = SAPPORO_MEMORY_DEVICE;
    for (int d = 0; d < SAPPORO_DERIVATIVES; d++)
        if (p->derivative[d].base) there.derivative[d].base = caller_memory_put(p->derivative[d].base, 3 * one);
    if (p->mass.base) there.mass.base = caller_memory_put(p->mass.base, one);
    if (p->time.base) there.time.base = caller_memory_put(p->time.base, one);
    if (p->eps2.base) there.eps2.base = caller_memory_put(p->eps2.base, one);
    if (p->index.base) there.index.base = caller_memory_put(p->index.base, sizeof(int) * (size_t)n);
    return there;
}

/* Stores particles in both; returns the bytes that came to the host meanwhile. */
static size_t set_both(const struct twins *t, int first, int n, const sapporo_particles *p, int wanted)
{
    const sapporo_particles there = sent(p, n);
    assert_int_equal(sapporo_set_particles(t->host, first, n, p), wanted);
    (void)caller_memory_copied();
    const int status = sapporo_set_particles(t->device, first, n, &there);
    if (status != wanted) fail_msg("%d, not %d: %s", status, wanted, sapporo_last_error(t->device));
    return caller_memory_copied();
}

struct sums {
    double acc[NI][3], jerk[NI][3], snap[NI][3], crackle[NI][3], pot[NI], r2[NI];
    int nearest[NI];
};

static sapporo_result result_of(int order, struct sums *to)
{
    return (sapporo_result){.size = sizeof(sapporo_result),
                            .acc = to->acc,
                            .jerk = order > 2 ? to->jerk : NULL,
                            .snap = order > 4 ? to->snap : NULL,
                            .crackle = order > 6 ? to->crackle : NULL,
                            .pot = to->pot,
                            .nearest = to->nearest,
                            .nearest_r2 = to->r2};
}

static sapporo_request request_of(int nj)
{
    return (sapporo_request){.size = sizeof(sapporo_request),
                             .nj = nj,
                             .ni = NI,
                             .x = {derivative[0], 0},
                             .v = {derivative[1], 0},
                             .a = {derivative[2], 0},
                             .jerk = {derivative[3], 0},
                             .index = {labels, 0},
                             .eps2 = 1e-4,
                             .eps2_i = {soft, 0},
                             .want = SAPPORO_WANT_NEAREST};
}

static void compute(sapporo *c, const sapporo_request *r, const sapporo_result *to)
{
    sapporo_job *job = NULL;
    if (sapporo_force_begin(c, r, &job)) fail_msg("%s", sapporo_last_error(c));
    const int status = sapporo_force_end(job, NI, to);
    if (status) fail_msg("%d: %s", status, sapporo_last_error(c));
    sapporo_force_free(job);
}

/* Forces from the host's arrays, and from arrays of the device into its memory, have the same bits. */
static void same_forces(const struct twins *t, int nj)
{
    static struct sums host, device;
    memset(&host, 0, sizeof host);
    memset(&device, 0, sizeof device);
    sapporo_request r = request_of(nj);
    const sapporo_result to = result_of(t->order, &host);
    compute(t->host, &r, &to);
    const size_t three = sizeof(double[NI][3]), one = sizeof(double[NI]);
    r.memory = SAPPORO_MEMORY_DEVICE;
    r.x.base = caller_memory_put(r.x.base, three);
    r.v.base = caller_memory_put(r.v.base, three);
    r.a.base = caller_memory_put(r.a.base, three);
    r.jerk.base = caller_memory_put(r.jerk.base, three);
    r.index.base = caller_memory_put(r.index.base, sizeof(int[NI]));
    if (r.eps2_i.base) r.eps2_i.base = caller_memory_put(r.eps2_i.base, one);
    struct sums *const there = caller_memory_put(&device, sizeof device);
    sapporo_result far = result_of(t->order, there);
    far.memory = SAPPORO_MEMORY_DEVICE;
    compute(t->device, &r, &far);
    caller_memory_get(&device, there, sizeof device);
    assert_memory_equal(&device, &host, sizeof host);
    assert_true(fabs(host.pot[0]) > 0);
}

static void same_particles(const struct twins *t, int n)
{
    for (int k = 0; k < n; k += 97) {
        sapporo_particle a, b;
        assert_int_equal(sapporo_get_particle(t->host, k, k % 2, &a), SAPPORO_OK);
        assert_int_equal(sapporo_get_particle(t->device, k, k % 2, &b), SAPPORO_OK);
        assert_memory_equal(&a, &b, sizeof a);
    }
}

/* ---- tests --------------------------------------------------------------------------------------- */

static const struct kind {
    int order;
    sapporo_precision precision;
} kinds[] = {{2, SAPPORO_PRECISION_DEFAULT}, {2, SAPPORO_SP}, {4, SAPPORO_PRECISION_DEFAULT}, {4, SAPPORO_DP},
             {6, SAPPORO_PRECISION_DEFAULT}, {8, SAPPORO_DP}};

/* What the device tells of columns: a few bytes of each. */
enum { TOLD = 256 };

/* Stores all particles, few of them and more; then calls need them on the host, and change them there. */
static void storing(const struct kind *kind)
{
    const struct twins t = twins_of(kind->order, kind->precision);
    const sapporo_particles all = columns_of(kind->order, 0, 1), more = columns_of(kind->order, N, 1);
    sapporo_particles few = columns_of(kind->order, 100, 0);
    assert_true(set_both(&t, 0, N, &all, SAPPORO_OK) < TOLD);
    same_forces(&t, N);
    assert_true(set_both(&t, 777, FEW, &few, SAPPORO_OK) < TOLD);
    same_forces(&t, N - 5);
    assert_true(set_both(&t, N, MORE, &more, SAPPORO_OK) < TOLD);
    (void)caller_memory_copied();
    same_forces(&t, ALL);
    assert_true(caller_memory_copied() < sizeof(double[ALL]) + 4 * sizeof(struct sums)); /* no particle came */
    same_particles(&t, ALL);
    assert_true(caller_memory_copied() > sizeof(double[ALL][4]));
    same_forces(&t, ALL);
    few.mass.base = mass + 9;
    (void)set_both(&t, 40, FEW, &few, SAPPORO_OK); /* the host has the particles now */
    same_forces(&t, ALL);
    const sapporo_particle one = {.derivative = {{0.25, 0.5, 0.75}}, .mass = 0.125, .index = 5};
    assert_int_equal(sapporo_set_particle(t.host, 17, &one), SAPPORO_OK);
    assert_int_equal(sapporo_set_particle(t.device, 17, &one), SAPPORO_OK);
    same_forces(&t, ALL);
    assert_true(set_both(&t, 0, ALL, &all, SAPPORO_OK) < TOLD);
    assert_int_equal(sapporo_set_particle(t.host, 18, &one), SAPPORO_OK);
    assert_int_equal(sapporo_set_particle(t.device, 18, &one), SAPPORO_OK);
    same_forces(&t, ALL);
    same_particles(&t, ALL);
    close_twins(&t);
}

static void all_orders(void **state)
{
    (void)state;
    caller_memory_need();
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) storing(&kinds[k]);
}

/* Fewer than 1,024 particles, other units and numbers that are not finite go by way of the host. */
static void by_way_of_the_host(void **state)
{
    static double moved[N][3];
    (void)state;
    caller_memory_need();
    const struct twins t = twins_of(4, SAPPORO_PRECISION_DEFAULT);
    sapporo_particles p = columns_of(4, 0, 1);
    (void)set_both(&t, 0, N, &p, SAPPORO_OK);
    same_forces(&t, 900); /* few: dp */
    (void)set_both(&t, 0, N, &p, SAPPORO_OK);
    same_forces(&t, N);
    assert_int_equal(sapporo_clear_particles(t.host), SAPPORO_OK);
    assert_int_equal(sapporo_clear_particles(t.device), SAPPORO_OK);
    (void)set_both(&t, 0, FEW, &p, SAPPORO_OK);
    same_forces(&t, FEW);
    memcpy(moved, derivative[0], sizeof moved);
    p.derivative[0].base = moved;
    for (int k = 0; k < N; k++)
        for (int axis = 0; axis < 3; axis++) moved[k][axis] *= 0x1p60;
    (void)set_both(&t, 0, N, &p, SAPPORO_OK);
    same_particles(&t, N);
    memcpy(moved, derivative[0], sizeof moved);
    moved[N / 2][1] = NAN;
    (void)set_both(&t, 0, N, &p, SAPPORO_ERR_NOT_FINITE);
    assert_non_null(strstr(sapporo_last_error(t.device), "address 1750"));
    moved[N / 2][1] = 0;
    (void)set_both(&t, 0, N, &p, SAPPORO_OK);
    moved[N / 2][1] = INFINITY; /* among few that the device would take */
    (void)set_both(&t, 0, N - 5, &p, SAPPORO_ERR_NOT_FINITE);
    same_particles(&t, N);
    close_twins(&t);
}

/* Neighbour forces, and forces whose neighbours are asked for later, find the particles. */
static void neighbours(void **state)
{
    static double acc[2][1][3];
    const int address[1] = {5}, list[3] = {6, 7, 1999}, length[1] = {3};
    const int *const lists[1] = {list};
    const sapporo_neighbour_request l = {
        .size = sizeof l, .ni = 1, .address = address, .list = lists, .length = length, .eps2 = 1e-4};
    (void)state;
    caller_memory_need();
    const struct twins t = twins_of(4, SAPPORO_DP);
    const sapporo_particles p = columns_of(4, 0, 1);
    (void)set_both(&t, 0, N, &p, SAPPORO_OK);
    for (int k = 0; k < 2; k++) {
        const sapporo_result to = {.size = sizeof to, .acc = acc[k]};
        assert_int_equal(sapporo_neighbour_force(k ? t.device : t.host, &l, &to), SAPPORO_OK);
    }
    assert_memory_equal(acc[0], acc[1], sizeof acc[0]);
    sapporo_result there = {
        .size = sizeof there, .acc = caller_memory_put(acc, sizeof acc), .memory = SAPPORO_MEMORY_DEVICE};
    assert_int_equal(sapporo_neighbour_force(t.device, &l, &there), SAPPORO_ERR_UNSUPPORTED);
    close_twins(&t);
}

/* Bad arguments leave the particles as they are, and no array of the host is taken for one of the device. */
static void bad_arguments(void **state)
{
    (void)state;
    caller_memory_need();
    const struct twins t = twins_of(4, SAPPORO_DP);
    const sapporo_particles p = columns_of(4, 0, 1);
    (void)set_both(&t, 0, N, &p, SAPPORO_OK);
    const sapporo_particles good = sent(&p, N);
    sapporo_particles bad = good;
    bad.mass.base = mass;
    assert_int_equal(sapporo_set_particles(t.device, 0, N, &bad), SAPPORO_ERR_ARGUMENT);
    bad = good;
    bad.derivative[1].stride = 48;
    assert_int_equal(sapporo_set_particles(t.device, 0, N, &bad), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_last_error(t.device), "no gaps"));
    bad = good;
    bad.memory = (sapporo_memory)7;
    assert_int_equal(sapporo_set_particles(t.device, 0, N, &bad), SAPPORO_ERR_ARGUMENT);
    sapporo_request r = request_of(N);
    sapporo_job *job = NULL;
    r.memory = SAPPORO_MEMORY_DEVICE;
    assert_int_equal(sapporo_force_begin(t.device, &r, &job), SAPPORO_ERR_ARGUMENT);
    assert_null(job);
    static struct sums s;
    sapporo_result to = result_of(4, &s);
    r.memory = SAPPORO_MEMORY_HOST;
    assert_int_equal(sapporo_force_begin(t.device, &r, &job), SAPPORO_OK);
    to.memory = SAPPORO_MEMORY_DEVICE;
    assert_int_equal(sapporo_force_end(job, NI, &to), SAPPORO_ERR_ARGUMENT);
    assert_true(s.pot[0] == 0);
    to = result_of(4, caller_memory_put(&s, sizeof s));
    to.memory = SAPPORO_MEMORY_DEVICE;
    to.snap = to.acc; /* order 4 has none: all is NaN */
    assert_int_equal(sapporo_force_end(job, NI, &to), SAPPORO_ERR_UNSUPPORTED);
    caller_memory_get(s.pot, to.pot, sizeof s.pot);
    assert_true(isnan(s.pot[NI - 1]));
    sapporo_force_free(job);
    assert_int_equal(sapporo_force_end(job, NI, &to), SAPPORO_ERR_CLOSED);
    same_forces(&t, N);
    close_twins(&t);
}

/* Stores all particles from the device while the n-th operation fails; returns the status. */
static int set_with_failure(const struct twins *t, int n)
{
    const sapporo_particles p = columns_of(4, 0, 1), there = sent(&p, N);
    caller_memory_fail(n);
    const int status = sapporo_set_particles(t->device, 0, N, &there);
    caller_memory_fail(0);
    return status;
}

/* An operation of the device that fails leaves the particles as they were, or lost: no force is wrong. */
static void failures(void **state)
{
    int lost = 0, status = SAPPORO_ERR_DEVICE;
    sapporo_particle one;
    (void)state;
    caller_memory_need();
    const struct twins t = twins_of(4, SAPPORO_DP);
    const sapporo_particles p = columns_of(4, 0, 1);
    (void)set_both(&t, 0, N, &p, SAPPORO_OK);
    for (int n = 1; status; n++) {
        status = set_with_failure(&t, n);
        assert_true(status == SAPPORO_OK || status == SAPPORO_ERR_DEVICE);
        const sapporo_request r = request_of(N);
        sapporo_job *job = NULL;
        const int begun = sapporo_force_begin(t.device, &r, &job);
        assert_true(begun == SAPPORO_OK || begun == SAPPORO_ERR_MEMORY);
        lost += begun != SAPPORO_OK;
        sapporo_force_free(job);
        if (!begun) same_forces(&t, N);
        (void)set_both(&t, 0, N, &p, SAPPORO_OK);
    }
    assert_true(lost > 3);
    caller_memory_fail(1); /* the host asks for the particles */
    assert_int_equal(sapporo_get_particle(t.device, 3, 0, &one), SAPPORO_ERR_DEVICE);
    caller_memory_fail(0);
    assert_true(isnan(one.mass));
    assert_int_equal(sapporo_get_particle(t.device, 3, 0, &one), SAPPORO_ERR_MEMORY);
    (void)set_both(&t, 0, N, &p, SAPPORO_OK);
    same_forces(&t, N);
    same_particles(&t, N);
    close_twins(&t);
}

/* Other engines have no such memory, and say so; callers with structs of before are served. */
static void other_engines(void **state)
{
    const sapporo_backend backends[] = {SAPPORO_BACKEND_CPU, SAPPORO_BACKEND_OPENCL};
    (void)state;
    for (int k = 0; k < (sapporo_device_count(SAPPORO_BACKEND_OPENCL) > 0 ? 2 : 1); k++) {
        const sapporo_options o = {.size = sizeof o, .backend = backends[k]};
        sapporo *c = NULL;
        sapporo_particles p = columns_of(4, 0, 0);
        assert_int_equal(sapporo_open(&o, &c), SAPPORO_OK);
        p.memory = SAPPORO_MEMORY_DEVICE;
        assert_int_equal(sapporo_set_particles(c, 0, N, &p), SAPPORO_ERR_UNSUPPORTED);
        assert_non_null(strstr(sapporo_last_error(c), "host memory only"));
        p.size = offsetof(sapporo_particles, memory);
        assert_int_equal(sapporo_set_particles(c, 0, N, &p), SAPPORO_OK);
        p.size--;
        assert_int_equal(sapporo_set_particles(c, 0, N, &p), SAPPORO_ERR_ARGUMENT);
        sapporo_request r = {.size = sizeof r, .nj = N, .ni = NI, .x = {derivative[0], 0}};
        sapporo_job *job = NULL;
        r.memory = SAPPORO_MEMORY_DEVICE;
        assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_ERR_UNSUPPORTED);
        r.size = offsetof(sapporo_request, memory);
        assert_int_equal(sapporo_force_begin(c, &r, &job), SAPPORO_OK);
        static struct sums s;
        sapporo_result to = {.size = sizeof to, .pot = s.pot, .memory = SAPPORO_MEMORY_DEVICE};
        assert_int_equal(sapporo_force_end(job, NI, &to), SAPPORO_ERR_UNSUPPORTED);
        to.size = offsetof(sapporo_result, memory);
        assert_int_equal(sapporo_force_end(job, NI, &to), SAPPORO_OK);
        assert_true(s.pot[0] < 0);
        sapporo_close(c);
    }
}

#define ON(test, driver)                                                                                               \
    {                                                                                                                  \
#test ", " #driver, test, caller_memory_on_##driver, caller_memory_end, NULL                                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(all_orders, opencl), ON(all_orders, cuda), ON(by_way_of_the_host, opencl), ON(by_way_of_the_host, cuda),
        ON(neighbours, opencl), ON(neighbours, cuda), ON(bad_arguments, opencl),      ON(bad_arguments, cuda),
        ON(failures, opencl),   ON(failures, cuda),   cmocka_unit_test(other_engines)};
    draw();
    return cmocka_run_group_tests_name("caller", tests, NULL, NULL);
}
