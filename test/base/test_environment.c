/*
 * test_environment.c - the caller's floating-point environment: rounding modes, flush to zero, traps, sticky flags.
 * The bits of results are the same, no signal is raised, and the caller's registers keep their state.  test_team.c
 * checks the registers of worker threads.
 */
#define _GNU_SOURCE /* feenableexcept */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/driver.h"
#include "gpu/gpu_kernels.h"
#include "model.h"
#include "stub_driver.h"
#include "stub_kernels.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__) && defined(__GLIBC__)

#include <immintrin.h>

enum { N = STANDARD_N, NI = STANDARD_NI, ALL = OUT_NEAREST | OUT_LISTS };

struct environment {
    const char *name;
    int rounding; /* FE_ */
    int traps;    /* all exceptions trap */
    unsigned csr; /* bits to set: flush to zero, denormals are zero, sticky flags */
};

static const struct environment environments[] = {{"upward", FE_UPWARD, 0, 0},
                                                  {"downward", FE_DOWNWARD, 0, 0},
                                                  {"towards zero", FE_TOWARDZERO, 0, 0},
                                                  {"flush to zero", FE_TONEAREST, 0, 0x8040},
                                                  {"traps", FE_TONEAREST, 1, 0},
                                                  {"all of it", FE_UPWARD, 1, 0x8040},
                                                  {"sticky flags", FE_TONEAREST, 0, 0x3F}};

/* What the caller has: control and flags of SSE, control and flags of the x87. */
struct registers {
    unsigned csr;
    unsigned short control, status;
};

/* Reads them without touching them. */
static struct registers read_registers(void)
{
    struct registers r;
    r.csr = _mm_getcsr();
    __asm__ volatile("fnstcw %0\n\tfnstsw %1" : "=m"(r.control), "=m"(r.status));
    r.status &= 0x3F;
    return r;
}

/* Fails unless the registers are as they were. */
static void registers_same(const char *what, const struct registers *before, const struct registers *after)
{
    if (before->csr != after->csr || before->control != after->control || before->status != after->status)
        fail_msg("%s: registers were %x %x %x, are %x %x %x", what, before->csr, before->control, before->status,
                 after->csr, after->control, after->status);
}

/* Everything a context does between opening and closing, in an environment; no arithmetic of ours in between. */
struct run {
    const struct engine *engine;
    const struct problem *problem;
    const struct environment *environment;
    int threads, ni;
    unsigned want;
    double (*acc)[3], (*jerk)[3], *pot, *r2;
    int *nearest, *lists, *lengths; /* NI each, lists N each */
    int status;                     /* sum of everything returned */
    struct registers before, after;
};

static void run_calls(struct run *r, const sapporo_particle *particles, const sapporo_options *options)
{
    const struct problem *p = r->problem;
    sapporo *c = NULL;
    sapporo_job *job = NULL;
    const sapporo_result result = {.size = sizeof result,
                                   .acc = r->acc,
                                   .jerk = r->jerk,
                                   .pot = r->pot,
                                   .nearest = r->nearest,
                                   .nearest_r2 = r->r2};
    sapporo_request request = problem_request(p, 0, r->ni);
    request.want = r->want;
    r->status = sapporo_open(options, &c);
    for (int k = 0; k < p->nbodies; k++) r->status |= sapporo_set_particle(c, p->body[k].address, &particles[k]);
    r->status |= sapporo_set_time(c, p->time);
    r->status |= sapporo_force_begin(c, &request, &job);
    r->status |= sapporo_force_end(job, r->ni, &result);
    for (int i = 0; i < r->ni; i++)
        r->status |= sapporo_force_neighbours(job, i, N, &r->lengths[i], r->lists + (ptrdiff_t)i * N, NULL);
    sapporo_particle back;
    r->status |= sapporo_get_particle(c, p->body[0].address, 1, &back);
    sapporo_force_free(job);
    sapporo_close(c);
}

/* Sets an environment; returns what a caller has then. */
static struct registers enter_environment(const struct environment *e, fenv_t *normal)
{
    fegetenv(normal);
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(e->rounding);
    if (e->traps) feenableexcept(FE_ALL_EXCEPT);
    _mm_setcsr(_mm_getcsr() | e->csr);
    return read_registers();
}

static void run_in_environment(struct run *r)
{
    fenv_t normal;
    const sapporo_options options = {.size = sizeof options,
                                     .precision = r->engine->precision,
                                     .backend = r->engine->backend,
                                     .cpu_isa = r->engine->isa,
                                     .threads = r->threads};
    sapporo_particle *particles = zeroed((size_t)r->problem->nbodies, sizeof *particles);
    for (int k = 0; k < r->problem->nbodies; k++) {
        const struct body *b = &r->problem->body[k];
        memcpy(particles[k].derivative, b->derivative, sizeof b->derivative);
        particles[k].mass = b->mass, particles[k].time = b->time, particles[k].index = b->index;
        particles[k].eps2 = b->eps2;
    }
    r->before = enter_environment(r->environment, &normal);
    run_calls(r, particles, &options);
    r->after = read_registers();
    fesetenv(&normal);
    free(particles);
}

static void check_run(const struct run *r, const struct answer *standard)
{
    char what[80];
    snprintf(what, sizeof what, "%s, %s, %d on %d threads", r->engine->name, r->environment->name, r->ni, r->threads);
    if (r->status) fail_msg("%s: status %d", what, r->status);
    registers_same(what, &r->before, &r->after);
    for (int i = 0; i < r->ni; i++) {
        struct answer a = {.pot = r->pot[i],
                           .nearest_r2 = r->r2[i],
                           .nearest = r->nearest[i],
                           .nlist = r->lengths[i],
                           .list = r->lists + (ptrdiff_t)i * N};
        memcpy(a.acc, r->acc[i], sizeof a.acc);
        memcpy(a.jerk, r->jerk[i], sizeof a.jerk);
        answers_same(what, &a, &standard[i], 1, ALL);
    }
}

static void environment_test(const struct engine *e, const struct problem *p, const struct answer *standard)
{
    const size_t n = NI;
    struct run r = {.engine = e, .problem = p};
    r.acc = zeroed(n, sizeof *r.acc), r.jerk = zeroed(n, sizeof *r.jerk), r.pot = zeroed(n, sizeof *r.pot);
    r.r2 = zeroed(n, sizeof *r.r2), r.nearest = zeroed(n, sizeof *r.nearest), r.lengths = zeroed(n, sizeof *r.lengths);
    r.lists = zeroed(n * N, sizeof *r.lists);
    for (size_t k = 0; k < 2 * sizeof environments / sizeof environments[0]; k++) {
        r.environment = &environments[k / 2];
        r.threads = k % 4 == 1 ? 3 : 1;
        r.ni = k % 2 ? NI : 20;
        r.want = k % 3 ? ALL : 0;
        run_in_environment(&r);
        check_run(&r, standard);
    }
    free(r.acc), free(r.jerk), free(r.pot), free(r.r2), free(r.nearest), free(r.lengths), free(r.lists);
}

static void of_the_caller(void **state)
{
    (void)state;
    on_all_engines(environment_test);
}

/* ---------------------------------------------------------------- drivers that leave theirs behind */

/* What a driver may do: raise all flags, round otherwise, in SSE and the x87. */
static void spoil(void)
{
    const unsigned short control = 0x0F7F;
    static const float zero = 0, one = 1;
    float quotient;
    _mm_setcsr((_mm_getcsr() ^ 0x6000) | 0x803F);
    __asm__ volatile("fldcw %1\n\tflds %2\n\tfdivs %3\n\tfstps %0"
                     : "=m"(quotient)
                     : "m"(control), "m"(one), "m"(zero));
}

/* Particles, forces with neighbours at once and later, lists; what the stub computes is nothing. */
static int spoilt_session(const sapporo_options *options, const struct problem *p, const sapporo_particle *particles)
{
    static double acc[NI][3], pot[NI];
    int lists[N], n, status;
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    sapporo_request request = problem_request(p, 0, NI);
    sapporo_job *job = NULL;
    sapporo *c = NULL;
    status = sapporo_open(options, &c);
    if (status) return status;
    for (int k = 0; k < p->nbodies; k++) status |= sapporo_set_particle(c, p->body[k].address, &particles[k]);
    for (int turn = 0; turn < 2; turn++) {
        request.want = turn ? OUT_NEAREST : 0;
        status |= sapporo_force_begin(c, &request, &job);
        while (!sapporo_force_done(job)) continue;
        status |= sapporo_force_end(job, NI, &result);
        status |= sapporo_force_neighbours(job, 0, N, &n, lists, NULL);
        for (int k = 0; k < 10; k++) status |= sapporo_set_particle(c, p->body[k].address, &particles[k]);
        sapporo_force_free(job);
    }
    sapporo_close(c);
    return status;
}

static void spoilt(sapporo_backend backend, int expected, const struct problem *p, const sapporo_particle *particles)
{
    const sapporo_options options = {
        .size = sizeof options, .backend = backend, .precision = SAPPORO_DS, .ndevices = -1};
    for (size_t k = 0; k < sizeof environments / sizeof environments[0]; k++) {
        sapporo_device device = {.size = sizeof device};
        fenv_t normal;
        const struct registers before = enter_environment(&environments[k], &normal);
        const int status = spoilt_session(&options, p, particles);
        const struct registers after = read_registers();
        const int devices = sapporo_device_count(backend), told = sapporo_device_describe(backend, 0, &device);
        const struct registers at_end = read_registers();
        fesetenv(&normal);
        assert_int_equal(status, expected);
        assert_int_equal(devices, stub.devices);
        assert_int_equal(told, SAPPORO_OK);
        registers_same(environments[k].name, &before, &after);
        registers_same(environments[k].name, &before, &at_end);
    }
}

/* Flags and modes that a driver leaves in the registers of its caller are not the client's. */
static void of_drivers(void **state)
{
    struct problem p;
    (void)state;
    standard_problem(&p, 1.0 / 4096);
    sapporo_particle *particles = zeroed((size_t)p.nbodies, sizeof *particles);
    for (int k = 0; k < p.nbodies; k++) particles[k].mass = 1, particles[k].index = k;
    for (int devices = 1; devices <= 2; devices++) {
        stub_reset(devices);
        stub.on_launch = stub_kernel;
        stub.on_call = spoil;
        stub.pending = 1;
        sap_driver_replaced.cuda = sap_driver_replaced.opencl = &stub_driver;
        sap_driver_replaced.cuda_kernels = &stub_kernels;
        spoilt(SAPPORO_BACKEND_CUDA, SAPPORO_OK, &p, particles);
        spoilt(SAPPORO_BACKEND_OPENCL, SAPPORO_ERR_DEVICE, &p, particles); /* a stub does not pass the self-test */
        stub.on_call = NULL;
        sap_gpu_unload_idle(&stub_driver);
        assert_true(stub_idle());
    }
    sap_driver_replaced.cuda = sap_driver_replaced.opencl = NULL;
    sap_driver_replaced.cuda_kernels = NULL;
    free(particles);
    problem_free(&p);
}

#else

static void of_the_caller(void **state)
{
    (void)state;
    print_message("skip: the environment is set by way of glibc and SSE\n");
    skip();
}

static void of_drivers(void **state) { of_the_caller(state); }

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_the_caller), cmocka_unit_test(of_drivers)};
    return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
