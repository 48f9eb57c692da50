/*
 * test_predictor.c - the predictor against extended precision: the canonical one and that of every kernel, forwards and
 * backwards in time; absent columns against columns of zeros.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "isa.h"
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 600 };

/* Time steps of all kinds: none, both signs, long, tiny. */
static const double steps[] = {0, 0.125, -0.125, 1e-9, -3e-5, 0.7, -1.9, 8};

/* A body with derivatives up to `highest`, and the time when the step is over. */
static struct body draw_body(rng *random, int highest, int address)
{
    struct body b = {.mass = 1.5, .index = address, .address = address, .time = 3 * rng_uniform(random) - 1};
    for (int k = 0; k <= highest; k++)
        for (int c = 0; c < 3; c++)
            b.derivative[k][c] = ldexp(2 * rng_uniform(random) - 1, (int)(rng_next(random) % 9));
    return b;
}

static void put(sapporo *c, const struct body *b)
{
    const sapporo_particle p = particle_of(b);
    assert_int_equal(sapporo_set_particle(c, b->address, &p), SAPPORO_OK);
}

/* ---------------------------------------------------------------- canonical */

/* A term has one rounding for each power of dt, which is rounded itself, one for its factor, and those of sums. */
static const double series_error = 12 * 0x1p-53;

/* The first n derivatives are predicted. */
static void check_canonical(sapporo *c, const struct body *b, double time, int n)
{
    sapporo_particle got;
    assert_int_equal(sapporo_get_particle(c, b->address, 1, &got), SAPPORO_OK);
    for (int d = 0; d < n; d++) {
        real should[3];
        double size;
        reference_predict_one(b, time, d, should, &size);
        for (int k = 0; k < 3; k++)
            if (!((double)fabsl(got.derivative[d][k] - should[k]) <= (n > 2 ? 2 : 1) * series_error * size))
                fail_msg("dt %g: derivative %d is %.17g, should be %.17Lg", time - b->time, d, got.derivative[d][k],
                         should[k]);
    }
    assert_true(got.time == time);
    assert_int_equal(got.index, b->index);
}

static void check_order(const struct engine *engine)
{
    rng random;
    rng_seed(&random, 1, 0);
    for (int highest = 1; highest <= highest_of(engine->order); highest++) {
        sapporo *c = engine_open(engine, 1);
        for (int n = 0; n < N; n++) {
            const struct body b = draw_body(&random, highest, n);
            put(c, &b);
            for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
                sapporo_set_time(c, b.time + steps[k]);
                check_canonical(c, &b, b.time + steps[k], engine->order ? engine->order / 2 : 2);
            }
        }
        sapporo_close(c);
    }
}

static void canonical(void **state)
{
    (void)state;
    check_order(&engines[0]);
    check_order(&engines6[0]);
    check_order(&engines8[0]);
}

/* At its own time a particle is where it was put, to the bit. */
static void check_no_step(const struct engine *engine)
{
    const size_t exact = engine->order == 0 ? 2 : (size_t)engine->order; /* order 4 keeps a/2, j/6, s/18 */
    rng random;
    rng_seed(&random, 2, 0);
    sapporo *c = engine_open(engine, 1);
    for (int n = 0; n < N; n++) {
        const struct body b = draw_body(&random, highest_of(engine->order), n);
        sapporo_particle got;
        put(c, &b);
        sapporo_set_time(c, b.time);
        assert_int_equal(sapporo_get_particle(c, n, 1, &got), SAPPORO_OK);
        for (size_t k = 0; k < exact && k < SAPPORO_DERIVATIVES; k++)
            assert_memory_equal(got.derivative[k], b.derivative[k], sizeof b.derivative[k]);
    }
    sapporo_close(c);
}

static void no_step(void **state)
{
    (void)state;
    check_no_step(&engines[0]);
    check_no_step(&engines6[0]);
    check_no_step(&engines8[0]);
}

/* ------------------------------------------------------------------- kernels */

/* One j, one target where it is predicted: with a softening of 1, jerk = m v, acc = m dx, to the words of a kernel. */
static void predicted_by_force(sapporo *c, const struct body *b, double time, const real *x, int many, double *dx,
                               double *v)
{
    enum { MANY = 100 };
    static struct target targets[MANY];
    static double acc[MANY][3], jerk[MANY][3];
    for (int i = 0; i < MANY; i++) {
        targets[i].index = -1;
        for (int k = 0; k < 3; k++) targets[i].x[k] = (double)x[k], targets[i].v[k] = 0;
    }
    const struct problem p = {.target = targets, .nj = N, .eps2 = 1};
    const sapporo_request request = problem_request(&p, 0, many ? MANY : 1);
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk};
    sapporo_job *job;
    sapporo_set_time(c, time);
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, request.ni, &result), SAPPORO_OK);
    sapporo_force_free(job);
    for (int k = 0; k < 3; k++) dx[k] = acc[0][k] / b->mass, v[k] = jerk[0][k] / b->mass;
}

static void check_kernel(sapporo *c, const struct engine *e, const struct body *b, double time, int many)
{
    static const double x_word[] = {0, 0x1p-23, 0x1p-47, 0x1p-49}, v_word[] = {0, 0x1p-21, 0x1p-21, 0x1p-48};
    real x[3], v[3];
    double x_size, v_size, dx[3], got[3];
    assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
    put(c, b);
    reference_predict(b, time, x, v, &x_size, &v_size);
    predicted_by_force(c, b, time, x, many, dx, got);
    for (int k = 0; k < 3; k++) {
        const double v_off = (double)fabsl(got[k] - v[k]), far = x_word[e->precision] * x_size;
        /* jerk also has - 3 (dx.v) dx, which a misplaced target makes */
        const double most = v_word[e->precision] * v_size + 9 * far * far * v_size;
        if (!(fabs(dx[k]) <= 2 * far && v_off <= most))
            fail_msg("%s, dt %g, %s: off by %g in x (%g at most), by %g in v (%g)", e->name, time - b->time,
                     many ? "many" : "few", dx[k], 2 * far, v_off, most);
    }
}

static void kernels(void **state)
{
    (void)state;
    for (int e = 0; e < ENGINES; e++) {
        rng random;
        rng_seed(&random, 3, 0);
        if (!engine_usable(&engines[e])) continue;
        sapporo *c = engine_open(&engines[e], 1);
        for (int n = 0; n < 48; n++)
            for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
                const struct body b = draw_body(&random, 1 + n % 4, n * 11 % N);
                check_kernel(c, &engines[e], &b, b.time + steps[k], n & 1);
            }
        sapporo_close(c);
    }
}

/* ------------------------------------------------------------ absent columns */

/* Forces on particles without higher derivatives, before and after one beyond nj brings the columns. */
static void check_absent(const struct engine *e, int highest, int batch)
{
    const struct ask ask = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, batch};
    struct problem p;
    problem_new(&p, N, 60);
    model_plummer(p.body, N, 5);
    model_derivatives(p.body, N, highest);
    model_times(p.body, N, 0.5, 0.2, 5);
    p.nj = N, p.time = 0.5, p.eps2 = 1e-3;
    for (int i = 0; i < p.ntargets; i++) {
        memcpy(p.target[i].x, p.body[i].derivative[0], sizeof p.target[i].x);
        p.target[i].index = p.body[i].index;
        p.target[i].h2 = 0.1;
    }
    sapporo *c = engine_open(e, 1);
    problem_load(c, &p);
    struct answer *absent = problem_solve(c, &p, &ask);
    struct body late = {.derivative = {{9, 9, 9}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, .address = N};
    put(c, &late);
    struct answer *zeros = problem_solve(c, &p, &ask);
    problem_load(c, &p); /* and all of them stored again, now into the columns */
    struct answer *again = problem_solve(c, &p, &ask);
    sapporo_close(c);
    answers_same(e->name, zeros, absent, p.ntargets, OUT_NEAREST | OUT_LISTS);
    answers_same(e->name, again, absent, p.ntargets, OUT_NEAREST | OUT_LISTS);
    answers_free(absent, p.ntargets);
    answers_free(zeros, p.ntargets);
    answers_free(again, p.ntargets);
    problem_free(&p);
}

static void absent_columns(void **state)
{
    (void)state;
    for (int e = 0; e < ENGINES; e++)
        for (int highest = 1; highest < 4 && engine_usable(&engines[e]); highest++) {
            check_absent(&engines[e], highest, 0);
            check_absent(&engines[e], highest, 10);
        }
}

/* Records that a kernel makes of absent columns and of columns of zeros. */
static void records(void **state)
{
    enum { TILE = SAP_CPU_SUPERPACKET };
    static _Alignas(64) double column[SAP_TERMS + 1][3 * TILE], mass[TILE], time[TILE];
    static _Alignas(64) int32_t index[TILE];
    rng random;
    (void)state;
    rng_seed(&random, 6, 0);
    for (int a = 0; a < TILE; a++) {
        mass[a] = rng_uniform(&random), time[a] = rng_uniform(&random), index[a] = a;
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 3; c++) column[k][3 * a + c] = rng_uniform(&random) - 0.5;
    }
    const struct sap_columns all = {
        {column[0], column[1], column[2], column[3], column[4]}, mass, time, index, NULL, NULL, NULL, NULL};
    for (int e = 0; e < CPU_ENGINES; e++) {
        if (!engine_usable(&engines[e])) continue;
        const struct sap_kernel *kernel =
            sap_isa_kernel((enum sap_isa)sap_isa_find(engines[e].isa), 4, (int)engines[e].precision, 0);
        const size_t bytes = (kernel->tile_bytes + 63) / 64 * 64;
        void *two = aligned_alloc(64, bytes), *four = aligned_alloc(64, bytes);
        assert_true(two && four);
        memset(two, 0, bytes);
        memset(four, 0, bytes);
        kernel->predict(&all, 2, 0.25, TILE, two);
        kernel->predict(&all, 4, 0.25, TILE, four);
        assert_memory_equal(two, four, bytes);
        memset(four, 0, bytes);
        kernel->predict(&all, 3, 0.25, TILE, four);
        assert_memory_equal(two, four, bytes);
        free(two);
        free(four);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical), cmocka_unit_test(no_step),        cmocka_unit_test(kernels),
        cmocka_unit_test(records),   cmocka_unit_test(absent_columns),
    };
    return cmocka_run_group_tests_name("predictor", tests, NULL, NULL);
}
