/*
 * test_partial.c - forces from parts of the j-particles in contexts of their own, as libsapporo_mpi computes them: the
 * merged sums against sums in extended precision, with the bits that they have without neighbours, the nearest
 * neighbour of all parts, and rows that have no force.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "context/partial.h"
#include "model.h"

enum { N = 300, NI = 24, PARTS = 3, BAD = 7, SPARE = 64, FILLED = 0x42 };

/* A row of a force, and room behind it that no call may write. */
struct row {
    char bytes[SAP_PARTIAL_SUMS_MOST * sizeof(struct sap_accum) + sizeof(struct sap_partial_near) + SPARE];
};

static double x[N][3], v[N][3], mass[N], eps2;
static int number[N];

static void make_particles(double scale)
{
    for (int j = 0; j < N; j++) {
        for (int c = 0; c < 3; c++) x[j][c] = scale * sin(1 + 2.3 * j + 1.7 * c), v[j][c] = scale * cos(3.1 * j + c);
        mass[j] = 1 + 0.5 * sin(j);
        number[j] = 1000 - j;
    }
    eps2 = 1e-4 * scale * scale;
}

/* A context with the particles first ... end - 1 at addresses from 0 on. */
static sapporo *context_of(int order, sapporo_precision precision, int first, int end)
{
    const struct engine *const e = engine_any();
    const sapporo_options o = {
        .size = sizeof o, .backend = e->backend, .cpu_isa = e->isa, .order = order, .precision = precision};
    const sapporo_particles p = {.size = sizeof p,
                                 .derivative = {{x[first], 0}, {v[first], 0}},
                                 .mass = {&mass[first], 0},
                                 .index = {&number[first], 0}};
    sapporo *c = NULL;
    assert_int_equal(sapporo_open(&o, &c), SAPPORO_OK);
    assert_int_equal(sapporo_set_particles(c, 0, end - first, &p), SAPPORO_OK);
    return c;
}

static double at[NI][3], moving[NI][3];
static int own[NI];

/* The targets are each ninth particle; one is nowhere if `bad` is 1. */
static void make_targets(int bad)
{
    for (int i = 0; i < NI; i++) {
        memcpy(at[i], x[9 * i], sizeof at[i]);
        memcpy(moving[i], v[9 * i], sizeof moving[i]);
        own[i] = number[9 * i];
    }
    if (bad) at[BAD][1] = NAN;
}

static sapporo_job *begin(sapporo *c, int nj)
{
    const sapporo_request r = {.size = sizeof r,
                               .nj = nj,
                               .ni = NI,
                               .x = {at, 0},
                               .v = {moving, 0},
                               .index = {own, 0},
                               .eps2 = eps2,
                               .want = SAPPORO_WANT_NEAREST};
    sapporo_job *job = NULL;
    if (sap_partial_begin(c, &r, N, &job)) fail_msg("%s", sapporo_last_error(c));
    return job;
}

/* Computes the rows of a part; returns the status. */
static int compute(sapporo *c, int nj, int nearest, struct row *row, struct sap_partial *partial)
{
    sapporo_job *const job = begin(c, nj);
    memset(row, FILLED, NI * sizeof *row);
    const int status = sap_partial_end(job, nearest, row, sizeof *row, partial);
    sapporo_force_free(job);
    return status;
}

static struct sap_accum sum_of(const struct row *row, int q)
{
    struct sap_accum a;
    memcpy(&a, row->bytes + (size_t)q * sizeof a, sizeof a);
    return a;
}

static struct sap_partial_near near_of(const struct row *row, int sums)
{
    struct sap_partial_near near;
    memcpy(&near, row->bytes + (size_t)sums * sizeof(struct sap_accum), sizeof near);
    return near;
}

/* Nothing is written behind the sums, and behind the neighbour if it is wanted. */
static void expect_end(const struct row *row, int sums, int nearest)
{
    const size_t end = (size_t)sums * sizeof(struct sap_accum) + (nearest ? sizeof(struct sap_partial_near) : 0);
    for (size_t k = end; k < sizeof row->bytes; k++) assert_int_equal(row->bytes[k], FILLED);
}

/* Potential, acceleration and jerk of target i in extended precision, each with the sum of the sizes of its terms. */
static void exact(int i, long double *sum, long double *size)
{
    for (int q = 0; q < 7; q++) sum[q] = size[q] = 0;
    for (int j = 0; j < N; j++) {
        long double d[3], w[3], r2 = eps2, rv = 0;
        if (number[j] == own[i]) continue;
        for (int c = 0; c < 3; c++) {
            d[c] = (long double)x[j][c] - at[i][c], w[c] = (long double)v[j][c] - moving[i][c];
            r2 += d[c] * d[c], rv += d[c] * w[c];
        }
        const long double r = sqrtl(r2), m = mass[j];
        sum[0] -= m / r, size[0] += m / r;
        for (int c = 0; c < 3; c++) {
            sum[1 + c] += m / (r2 * r) * d[c], size[1 + c] += m / r2;
            sum[4 + c] += m / (r2 * r) * (w[c] - 3 * rv / r2 * d[c]);
            size[4 + c] += m / (r2 * r) * (sqrtl(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) + 3 * fabsl(rv) / r);
        }
    }
}

/* The nearest of the particles first ... end - 1: its number; -1: there is none. */
static int nearest_to(int i, int first, int end, long double *least)
{
    int best = -1;
    *least = INFINITY;
    for (int j = first; j < end; j++) {
        long double r2 = 0;
        for (int c = 0; c < 3; c++) r2 += ((long double)x[j][c] - at[i][c]) * ((long double)x[j][c] - at[i][c]);
        if (number[j] != own[i] && r2 < *least) *least = r2, best = j;
    }
    return best;
}

static const int part_first[PARTS + 1] = {0, 90, 91, N}; /* one part has a single particle, which is a target */

static void check_nearest(const struct row *row, int sums, int i, int part, double most)
{
    long double least;
    const struct sap_partial_near near = near_of(row, sums);
    const int best = nearest_to(i, part_first[part], part_first[part + 1], &least);
    assert_int_equal(near.address, best < 0 ? -1 : best - part_first[part]);
    assert_int_equal(near.index, best < 0 ? -1 : number[best]);
    if (best < 0)
        assert_true(near.r2 == (double)INFINITY);
    else
        assert_true(fabsl(near.r2 - least) <= most * least);
}

/* Merged rows of all parts, and rows of one context, are sums in extended precision. */
static void merged(int order, sapporo_precision precision, double scale, double most)
{
    static struct row row[PARTS][NI], whole[NI], bare[NI];
    struct sap_partial partial, one, none;
    make_particles(scale);
    make_targets(0);
    sapporo *const all = context_of(order, precision, 0, N);
    assert_int_equal(compute(all, N, 1, whole, &one), SAPPORO_OK);
    assert_int_equal(compute(all, N, 0, bare, &none), SAPPORO_OK);
    for (int p = 0; p < PARTS; p++) {
        const int n = part_first[p + 1] - part_first[p];
        sapporo *const c = context_of(order, precision, part_first[p], part_first[p + 1]);
        assert_int_equal(compute(c, n, 1, row[p], &partial), SAPPORO_OK);
        assert_int_equal(partial.sums, 1 + 3 * (order / 2));
        assert_memory_equal(partial.scale, one.scale, (size_t)partial.sums * sizeof *partial.scale);
        sapporo_close(c);
    }
    assert_true(one.sums == partial.sums && none.sums == partial.sums);
    for (int i = 0; i < NI; i++) {
        long double sum[7], size[7];
        exact(i, sum, size);
        for (int q = 0; q < partial.sums; q++) {
            struct sap_accum total, same = sum_of(&whole[i], q), also = sum_of(&bare[i], q);
            sap_accum_clear(&total);
            for (int p = 0; p < PARTS; p++) {
                const struct sap_accum a = sum_of(&row[p][i], q);
                sap_accum_merge(&total, &a);
            }
            const double value = sap_accum_round(&total), alone = sap_accum_round(&same);
            assert_true(alone == sap_accum_round(&also));
            if (q < 7 && !(fabsl(value * one.scale[q] - sum[q]) <= most * size[q] &&
                           fabsl(alone * one.scale[q] - sum[q]) <= most * size[q]))
                fail_msg("order %d, scale %g, row %d, sum %d: %g for %Lg", order, scale, i, q, value * one.scale[q],
                         sum[q]);
        }
        for (int p = 0; p < PARTS; p++) {
            expect_end(&row[p][i], partial.sums, 1);
            check_nearest(&row[p][i], partial.sums, i, p, most);
        }
        expect_end(&bare[i], partial.sums, 0);
    }
    sapporo_close(all);
}

static void merged_rows(void **state)
{
    (void)state;
    for (int order = 2; order <= 4; order += 2) {
        merged(order, SAPPORO_DP, 1, 1e-14);
        merged(order, SAPPORO_SP, 1, 5e-5);
        merged(order, SAPPORO_SP, 0x1p-90, 5e-5); /* in other units */
    }
    merged(6, SAPPORO_DP, 1, 1e-14);
    merged(8, SAPPORO_DP, 1, 1e-14);
}

/* A target that is nowhere has rows that are NaN in each part, with and without its neighbour, and no other has. */
static void bad_rows(void **state)
{
    static struct row row[NI];
    struct sap_partial partial;
    (void)state;
    for (int k = 0; k < 4; k++) {
        make_particles(1);
        make_targets(1);
        sapporo *const c = context_of(2 + k / 2 * 2, SAPPORO_SP, 0, N);
        assert_int_equal(compute(c, N, k % 2, row, &partial), SAPPORO_PARTIAL);
        for (int i = 0; i < NI; i++) {
            for (int q = 0; q < partial.sums; q++) {
                const struct sap_accum a = sum_of(&row[i], q);
                assert_true(isnan(sap_accum_round(&a)) == (i == BAD));
            }
            expect_end(&row[i], partial.sums, k % 2);
            if (k % 2 == 0) continue;
            const struct sap_partial_near near = near_of(&row[i], partial.sums);
            assert_true(isnan(near.r2) == (i == BAD) && (near.address == -1) == (i == BAD) &&
                        (near.index == -1) == (i == BAD));
        }
        sapporo_close(c);
    }
}

/* Writes the rows of many targets, of which one is not finite, with so many threads; a row has `sums` accumulators. */
static void write_many(int threads, const double (*x_i)[3], int ni, struct row *row)
{
    const sapporo_options o = {.size = sizeof o, .order = 2, .threads = threads, .backend = SAPPORO_BACKEND_CPU};
    const sapporo_particles p = {.size = sizeof p, .derivative = {{x, 0}}, .mass = {mass, 0}};
    const sapporo_request r = {
        .size = sizeof r, .nj = N, .ni = ni, .x = {x_i, 0}, .eps2 = eps2, .want = SAPPORO_WANT_NEAREST};
    struct sap_partial partial;
    sapporo_job *job = NULL;
    sapporo *c = NULL;
    assert_int_equal(sapporo_open(&o, &c), SAPPORO_OK);
    assert_int_equal(sapporo_set_particles(c, 0, N, &p), SAPPORO_OK);
    assert_int_equal(sap_partial_begin(c, &r, N, &job), SAPPORO_OK);
    memset(row, FILLED, (size_t)ni * sizeof *row);
    assert_int_equal(sap_partial_end(job, 1, row, sizeof *row, &partial), SAPPORO_PARTIAL);
    sapporo_force_free(job);
    sapporo_close(c);
}

/* Rows that several threads write have the bits of rows that one thread writes, and so have those of units. */
static void many_rows(void **state)
{
    enum { MANY = 9000 };
    struct row *const row = malloc(2 * MANY * sizeof *row);
    double(*x_i)[3] = malloc(MANY * sizeof *x_i);
    (void)state;
    assert_true(row && x_i);
    for (int k = 0; k < 2; k++) {
        make_particles(k ? 1e30 : 1);
        for (int i = 0; i < MANY; i++)
            for (int c = 0; c < 3; c++) x_i[i][c] = x[i % N][c] * (1 + 1e-4 * i);
        x_i[MANY / 2][0] = NAN;
        write_many(1, (const double(*)[3])x_i, MANY, row);
        write_many(4, (const double(*)[3])x_i, MANY, row + MANY);
        assert_memory_equal(row, row + MANY, MANY * sizeof *row);
    }
    free(row);
    free(x_i);
}

/* Calls that fail write no row. */
static void failures(void **state)
{
    static struct row row[NI];
    struct sap_partial partial;
    (void)state;
    make_particles(1);
    make_targets(0);
    sapporo *const c = context_of(4, SAPPORO_SP, 0, N);
    memset(row, FILLED, sizeof row);
    assert_int_equal(sap_partial_end(NULL, 0, row, sizeof *row, &partial), SAPPORO_ERR_ARGUMENT);
    sapporo_job *const job = begin(c, N);
    sapporo_force_free(job);
    assert_int_equal(sap_partial_end(job, 0, row, sizeof *row, &partial), SAPPORO_ERR_CLOSED);
    for (int i = 0; i < NI; i++) expect_end(&row[i], 0, 0);
    sapporo_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(merged_rows), cmocka_unit_test(bad_rows),
                                       cmocka_unit_test(many_rows), cmocka_unit_test(failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
