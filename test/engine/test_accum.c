/*
 * test_accum.c - the reproducible accumulator: against exact sums, in any order and any tree of merges, at the ends of
 * its range; and deposits of kernels against those of lib/engine/accum.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/accum.h"
#include "engine/engine.h"
#include "engine/options.h"
#include "model.h"
#include "worst.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- exact sums */

/* A sum of doubles without any rounding: digits of 32 bits from 2^-1120 on, carried when it is read. */
enum { DIGITS = 70, LOWEST = -1120 };

struct exact_sum {
    int64_t digit[DIGITS + 2];
};

static void exact_add(struct exact_sum *s, double x)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    const int64_t mantissa = (int64_t)ldexp(fraction, 53); /* x = mantissa * 2^(exponent - 53) */
    const uint64_t m = (uint64_t)(mantissa < 0 ? -mantissa : mantissa);
    const int bit = exponent - 53 - LOWEST, at = bit / 32, shift = bit % 32;
    const uint64_t part[3] = {m << shift & 0xFFFFFFFF, shift ? m >> (32 - shift) & 0xFFFFFFFF : m >> 32,
                              shift ? m >> 32 >> (32 - shift) : 0};
    if (x == 0) return;
    for (int k = 0; k < 3; k++) s->digit[at + k] += mantissa < 0 ? -(int64_t)part[k] : (int64_t)part[k];
}

/* Carries: digits of one sign, the top one has the sign of all; returns that sign. */
static int exact_carry(struct exact_sum *s)
{
    int negative = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int k = 0; k < DIGITS + 1; k++) {
            int64_t carry = s->digit[k] / 4294967296;
            if (s->digit[k] - carry * 4294967296 < 0) carry--;
            s->digit[k] -= carry * 4294967296;
            s->digit[k + 1] += carry;
        }
        if (s->digit[DIGITS + 1] >= 0) break;
        negative = 1;
        for (int k = 0; k < DIGITS + 2; k++) s->digit[k] = -s->digit[k];
    }
    return negative ? -1 : 1;
}

/* The value, off by a few parts in 2^-60 of itself. */
static long double exact_value(struct exact_sum s)
{
    long double sum = 0;
    const int sign = exact_carry(&s);
    int top = DIGITS + 1;
    while (top > 0 && s.digit[top] == 0) top--;
    for (int k = top; k >= 0 && k > top - 4; k--) sum += ldexpl((long double)s.digit[k], 32 * k + LOWEST);
    return sign * sum;
}

/* |got - sum| in units of got's last place. */
static double ulps_off(struct exact_sum s, double got)
{
    const double next = nextafter(fabs(got), INFINITY) - fabs(got);
    exact_add(&s, -got);
    return (double)(fabsl(exact_value(s)) / next);
}

/* ------------------------------------------------------------------- sums of ours */

static double sum_in_order(const double *x, int n)
{
    struct sap_accum a;
    sap_accum_clear(&a);
    for (int k = 0; k < n; k++) sap_accum_add(&a, x[k]);
    return sap_accum_round(&a);
}

/* Sums by merging parts of random sizes, parts of parts likewise. */
static void sum_by_tree(const double *x, int n, rng *random, struct sap_accum *a)
{
    struct sap_accum other;
    sap_accum_clear(a);
    if (n < 4) {
        for (int k = 0; k < n; k++) sap_accum_add(a, x[k]);
        return;
    }
    const int first = (int)(rng_next(random) % (uint64_t)(n + 1));
    if (first == 0 || first == n) { /* an empty part, merged from either side */
        sum_by_tree(x, n / 2, random, a);
        sum_by_tree(x + n / 2, n - n / 2, random, &other);
        struct sap_accum empty;
        sap_accum_clear(&empty);
        sap_accum_merge(&empty, a);
        *a = empty;
    } else {
        sum_by_tree(x, first, random, a);
        sum_by_tree(x + first, n - first, random, &other);
    }
    sap_accum_merge(a, &other);
}

static int same_bits(double a, double b) { return same_doubles(&a, &b, 1) || (isnan(a) && isnan(b)); }

/* The sum must not depend on order and grouping; returns it. */
static double sum_any_way(double *x, int n, uint64_t seed)
{
    rng random;
    const double sum = sum_in_order(x, n);
    rng_seed(&random, seed, 0);
    for (int turn = 0; turn < 6; turn++) {
        struct sap_accum a;
        model_shuffle(x, n, sizeof *x, rng_next(&random));
        const double again = sum_in_order(x, n);
        if (!same_bits(again, sum)) fail_msg("another order gives %a, not %a", again, sum);
        sum_by_tree(x, n, &random, &a);
        const double merged = sap_accum_round(&a);
        if (!same_bits(merged, sum)) fail_msg("a tree of merges gives %a, not %a", merged, sum);
    }
    return sum;
}

/*
 * Checks a sum: each value may lose what is below 2^-96 of the largest's grid
 * step, half a unit at most, and reading rounds by less than one unit.
 */
static void check_sum(double *x, int n, uint64_t seed)
{
    struct exact_sum exact = {{0}};
    double largest = 0;
    for (int k = 0; k < n; k++) {
        exact_add(&exact, x[k]);
        largest = larger_of(largest, fabs(x[k]));
    }
    const double got = sum_any_way(x, n, seed);
    const double lost = n * (ldexp(largest, -97) + 0x1p-960);
    const double unit = nextafter(fabs(got), INFINITY) - fabs(got);
    const double off = ulps_off(exact, got);
    if (!(off < 1 + lost / unit))
        fail_msg("sum of %d up to %g is %a: off by %g of its last place", n, largest, got, off);
}

/* ----------------------------------------------------------------------- tests */

/* Fractions with both signs and exponents anywhere in a range. */
static void draw(double *x, int n, int low, int high, int both_signs, uint64_t seed)
{
    rng random;
    rng_seed(&random, seed, 7);
    for (int k = 0; k < n; k++) {
        const double fraction = 1 + rng_uniform(&random);
        const int exponent = low + (int)(rng_next(&random) % (uint64_t)(high - low + 1));
        x[k] = ldexp(both_signs && rng_next(&random) & 1 ? -fraction : fraction, exponent);
    }
}

static void random_sums(void **state)
{
    static const int ranges[][2] = {{0, 0},      {-10, 10},    {-40, 40},   {-120, 120}, {-700, 900},
                                    {-958, 992}, {-900, -880}, {980, 992},  {-33, -31},  {31, 33},
                                    {960, 962},  {-960, -950}, {-959, -958}};
    static double x[4000];
    (void)state;
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++)
        for (int n = 1; n <= 4000; n = n * 7 + 1)
            for (int signs = 0; signs < 2; signs++) {
                draw(x, n, ranges[r][0], ranges[r][1], signs, (uint64_t)n + 10 * r + (uint64_t)signs);
                check_sum(x, n, (uint64_t)r);
            }
}

/* Values that cancel, to nothing or to something small. */
static void cancellation(void **state)
{
    static double x[2002];
    (void)state;
    for (int high = -100; high <= 900; high += 50) {
        draw(x, 1000, high - 40, high, 1, 1000 + (uint64_t)high);
        for (int k = 0; k < 1000; k++) x[1000 + k] = -x[k];
        assert_true(sum_any_way(x, 2000, 1) == 0);
        x[2000] = ldexp(1.25, high - 40); /* within the limbs: exact */
        x[2001] = ldexp(-3, high - 50);
        assert_true(sum_any_way(x, 2002, 2) == ldexp(1.25, high - 40) - ldexp(3, high - 50));
    }
    double big[] = {1e298, 1.0, -1e298}; /* 1 is below the last limb then: lost, as documented */
    assert_true(fabs(sum_any_way(big, 3, 3)) <= 1);
    double close[] = {0x1p70, 0x1p-20, -0x1p70};
    assert_true(sum_any_way(close, 3, 4) == 0x1p-20);
}

static void zeros(void **state)
{
    struct sap_accum a;
    double x[] = {0.0, -0.0, 0.0};
    (void)state;
    sap_accum_clear(&a);
    assert_true(sap_accum_round(&a) == 0);
    assert_true(sum_any_way(x, 3, 5) == 0);
    assert_true(sum_any_way(x + 1, 1, 5) == 0);
}

/* Infinities, NaN, and values that count as such. */
static void specials(void **state)
{
    double up[] = {1, INFINITY, 2}, down[] = {-INFINITY, 5, -INFINITY}, both[] = {INFINITY, 1, -INFINITY};
    double nan_in[] = {1, NAN, INFINITY}, beyond[] = {0x1p993, 1}, below[] = {-DBL_MAX, 1e298};
    double last[] = {-0x1.fffffffffffffp992, 1};
    (void)state;
    assert_true(sum_any_way(up, 3, 1) == INFINITY);
    assert_true(sum_any_way(down, 3, 1) == -INFINITY);
    assert_true(isnan(sum_any_way(both, 3, 1)));
    assert_true(isnan(sum_any_way(nan_in, 3, 1)));
    assert_true(sum_any_way(beyond, 2, 1) == INFINITY);
    assert_true(sum_any_way(below, 2, 1) == -INFINITY);
    assert_true(sum_any_way(last, 2, 1) == -0x1.fffffffffffffp992);
}

/* What an accumulator holds that is no number survives a merge, whichever of the two has it and whatever their units.
 */
static void merged_specials(void **state)
{
    static const double what[] = {INFINITY, -INFINITY, NAN, 0x1p993, -DBL_MAX}, beside[] = {0, 1, 1e200, 1e-200};
    (void)state;
    for (int k = 0; k < 5; k++)
        for (int b = 0; b < 4; b++)
            for (int way = 0; way < 4; way++) {
                struct sap_accum one, other;
                sap_accum_clear(&one);
                sap_accum_clear(&other);
                sap_accum_add(&one, beside[b]);
                sap_accum_add(&other, way & 1 ? beside[b] : 1e-3);
                sap_accum_add(way & 2 ? &one : &other, what[k]);
                sap_accum_merge(&one, &other);
                const double sum = sap_accum_round(&one), want = k < 3 ? what[k] : copysign(INFINITY, what[k]);
                if (isnan(want) ? !isnan(sum) : !(sum == want))
                    fail_msg("%g beside %g, way %d: %g", what[k], beside[b], way, sum);
                sap_accum_clear(&other);
                sap_accum_add(&other, -INFINITY); /* infinities of both signs, and NaN, have no sum */
                sap_accum_merge(&one, &other);
                assert_true(want == -INFINITY ? sap_accum_round(&one) == want : isnan(sap_accum_round(&one)));
            }
}

/* Below 2^-959 values count as zero or as 2^-959, whichever is nearer. */
static void small_values(void **state)
{
    (void)state;
    for (int e = -1074; e <= -940; e++) {
        double x[] = {ldexp(1, e), ldexp(1, e), ldexp(1, e)};
        const double sum = sum_any_way(x, 3, 9), exact = 3 * ldexp(1, e);
        assert_true(fabs(sum - exact) <= 3 * 0x1p-960);
        if (e >= -959) assert_true(sum == exact);
        if (e < -960) assert_true(sum == 0);
    }
    double x[] = {DBL_TRUE_MIN, DBL_MIN, -DBL_MIN, 0x1p-863, -0x1p-900};
    assert_true(sum_any_way(x, 5, 10) == 0x1p-863 - 0x1p-900);
}

/* One value alone needs no accumulator for the same bits. */
static void one_value(void **state)
{
    const double special[] = {0.0, -0.0, INFINITY, -INFINITY, 0x1p993, -0x1.fffffffffffffp992, -DBL_MAX, 1};
    rng random;
    (void)state;
    rng_seed(&random, 5, 5);
    for (int k = 0; k < 400000; k++) {
        const int fixed = k < (int)(sizeof special / sizeof special[0]);
        const uint64_t bits = rng_next(&random) % (k % 2 ? UINT64_C(0x0FF0000000000000) : UINT64_MAX);
        double x;
        struct sap_accum a;
        memcpy(&x, &bits, sizeof x);
        if (fixed) x = special[k];
        sap_accum_clear(&a);
        sap_accum_add(&a, x);
        const double whole = sap_accum_round(&a), one = sap_accum_round_one(x);
        if (isnan(x) ? !isnan(whole) || !isnan(one) : !same_doubles(&whole, &one, 1))
            fail_msg("%a becomes %a, not %a", x, one, whole);
    }
}

/* As many deposits as there may be, each as large as a limb takes, with all limbs in use. */
static void many_deposits(void **state)
{
    enum { DEPOSITS = 1 << 20 };
    static const double largest[] = {0x1.fffffffffffffp32, -0x1.fffffffffffffp32, 0x1.fffffffffffffp0,
                                     0x1.7fffffff7ffffp31, -0x1.80000001p31};
    (void)state;
    for (size_t k = 0; k < sizeof largest / sizeof largest[0]; k++) {
        struct sap_accum half[2];
        struct exact_sum exact = {{0}};
        for (int part = 0; part < 2; part++) {
            sap_accum_clear(&half[part]);
            for (int n = 0; n < DEPOSITS / 2; n++) sap_accum_add(&half[part], largest[k]);
        }
        exact_add(&exact, ldexp(largest[k], 20));
        sap_accum_merge(&half[0], &half[1]);
        assert_true(ulps_off(exact, sap_accum_round(&half[0])) < 1);
    }
}

/* Small ones first, then ever larger ones: the unit rises through all its steps. */
static void rising_units(void **state)
{
    double x[70], down[70];
    (void)state;
    for (int k = 0; k < 58; k++) {
        x[k] = ldexp(k % 2 ? -1.5 : 1.5, -860 + 32 * k);
        down[57 - k] = x[k];
    }
    for (int n = 1; n <= 58; n++) {
        const double sum = sum_in_order(x, n);
        assert_true(sum == sum_in_order(down + 58 - n, n));
        check_sum(x, n, (uint64_t)n);
        for (int k = 0; k < 58; k++) x[k] = down[57 - k]; /* check_sum shuffles */
    }
}

/* ------------------------------------------------------------- out of the kernels */

enum { STORE = 3 * SAP_CPU_SUPERPACKET + 100, HALF = SAP_CPU_SUPERPACKET, KEPT = 70 };

/* An engine with a store over a host copy of bodies from, ..., to - 1. */
struct half {
    const struct sap_engine *table;
    struct sap_jstore host;
    struct sap_store *store;
    struct sap_force *force;
};

static void put_bodies(struct half *h, const struct problem *p, int from, int to)
{
    for (int k = from; k < to; k++) {
        const struct body *b = &p->body[k];
        struct sap_staged j = {.mass = b->mass, .time = b->time, .address = b->address, .index = b->index};
        memcpy(j.derivative[0], b->derivative[0], 2 * sizeof j.derivative[0]);
        assert_int_equal(sap_jstore_reserve(&h->host, b->address, 1), 0);
        sap_jstore_put(&h->host, &j);
    }
}

static const struct sap_engine *table_of(const struct engine *e)
{
    int k = 0;
    while (sap_engines[k] && sap_engines[k]->backend != e->backend) k++;
    assert_non_null(sap_engines[k]);
    return sap_engines[k];
}

static void begin_half(struct half *h, const struct sap_engine *table, struct sap_device_set *devices,
                       const struct problem *p, int from, int to, const struct sap_force_request *request)
{
    memset(h, 0, sizeof *h);
    h->table = table;
    put_bodies(h, p, from, to);
    assert_int_equal(table->store->create(devices, &h->host, &h->store), SAPPORO_OK);
    assert_int_equal(table->force->begin(h->store, request, &h->force), SAPPORO_OK);
}

static void drop_half(struct half *h)
{
    h->table->force->drop(h->force);
    h->table->store->destroy(h->store);
    sap_jstore_free(&h->host);
}

static double sum_at(const struct sap_force_output *out, int i, int q)
{
    return out->sum[i * out->sum_row + q * out->sum_column];
}

/* Forces of two halves of the particles, merged, against that of the whole, which kernels sum and round themselves. */
static void check_merge(const struct engine *e, int threads, struct problem *p, int ni)
{
    static double x[KEPT][3], v[KEPT][3];
    const struct sap_engine *const table = table_of(e);
    struct sap_settings settings = {.order = 4, .precision = e->precision, .threads = threads};
    struct sap_device_set *devices;
    struct half low, high, whole;
    struct sap_force_output l, h, w;
    char why[200];
    if (e->isa) strcpy(settings.isa, e->isa);
    assert_int_equal(table->open(&settings, &devices, why, sizeof why), SAPPORO_OK);
    for (int i = 0; i < ni; i++) {
        memcpy(x[i], p->target[i].x, sizeof x[i]);
        memcpy(v[i], p->target[i].v, sizeof v[i]);
    }
    struct sap_force_request request = {.nj = STORE,
                                        .ni = ni,
                                        .x = (const double(*)[3])x,
                                        .v = (const double(*)[3])v,
                                        .rule = SAP_PAIRS_ALL,
                                        .eps2 = p->eps2};
    begin_half(&whole, table, devices, p, 0, STORE, &request);
    request.extra = SAP_EXTRA_ACCUM;
    begin_half(&low, table, devices, p, 0, HALF, &request);
    begin_half(&high, table, devices, p, HALF, STORE, &request);
    assert_int_equal(table->force->end(low.force, 0, &l), SAPPORO_OK);
    assert_int_equal(table->force->end(high.force, 0, &h), SAPPORO_OK);
    assert_int_equal(table->force->end(whole.force, 0, &w), SAPPORO_OK);
    assert_true(l.accum && h.accum && !w.accum);
    for (int i = 0; i < ni; i++)
        for (int q = 0; q < 7; q++) {
            struct sap_accum sum = h.accum[i * h.accum_row + q];
            sap_accum_merge(&sum, &l.accum[i * l.accum_row + q]);
            const double merged = sap_accum_round(&sum) * l.accum_scale[q];
            if (!same_bits(merged, sum_at(&w, i, q)))
                fail_msg("%s, %d threads, target %d of %d, sum %d: halves give %a, the whole %a", e->name, threads, i,
                         ni, q, merged, sum_at(&w, i, q));
        }
    drop_half(&low);
    drop_half(&high);
    drop_half(&whole);
    table->close(devices);
}

/* Forces of particles in one superpacket: as results, and as accumulators that are rounded here. */
static void check_lone(const struct engine *e, const struct problem *p, int ni)
{
    enum { LONE = 1000 };
    static double x[KEPT][3], v[KEPT][3];
    const struct sap_engine *const table = table_of(e);
    struct sap_settings settings = {.order = 4, .precision = e->precision, .threads = 1};
    struct sap_device_set *devices;
    struct half plain, summed;
    struct sap_force_output a, b;
    char why[200];
    if (e->isa) strcpy(settings.isa, e->isa);
    assert_int_equal(table->open(&settings, &devices, why, sizeof why), SAPPORO_OK);
    for (int i = 0; i < ni; i++) memcpy(x[i], p->target[i].x, sizeof x[i]);
    struct sap_force_request request = {.nj = LONE,
                                        .ni = ni,
                                        .x = (const double(*)[3])x,
                                        .v = (const double(*)[3])v,
                                        .rule = SAP_PAIRS_ALL,
                                        .eps2 = p->eps2};
    begin_half(&plain, table, devices, p, 0, LONE, &request);
    request.extra = SAP_EXTRA_ACCUM;
    begin_half(&summed, table, devices, p, 0, LONE, &request);
    assert_int_equal(table->force->end(plain.force, 0, &a), SAPPORO_OK);
    assert_int_equal(table->force->end(summed.force, 0, &b), SAPPORO_OK);
    for (int i = 0; i < ni; i++)
        for (int q = 0; q < 7; q++) {
            const double rounded = sap_accum_round(&b.accum[i * b.accum_row + q]) * b.accum_scale[q];
            if (!same_bits(rounded, sum_at(&a, i, q)))
                fail_msg("%s, target %d of %d, sum %d: %a alone, %a as an accumulator", e->name, i, ni, q,
                         sum_at(&a, i, q), rounded);
        }
    drop_half(&plain);
    drop_half(&summed);
    table->close(devices);
}

/* Masses over as many powers of two as the precision stands make units rise within and between tiles. */
static void make_wild(struct problem *p, int powers)
{
    rng random;
    rng_seed(&random, 4, 4);
    problem_new(p, STORE, KEPT);
    model_plummer(p->body, STORE, 3);
    for (int k = 0; k < STORE; k++)
        p->body[k].mass =
            ldexp(rng_next(&random) & 1 ? 1.3 : -1.1, (int)(rng_next(&random) % (uint64_t)powers) - powers / 2);
    for (int i = 0; i < KEPT; i++)
        for (int c = 0; c < 3; c++) p->target[i].x[c] = rng_uniform(&random) - 0.5;
    p->eps2 = 0.01;
}

static void halves_of_a_force(void **state)
{
    (void)state;
    for (int k = 0; k < ENGINES; k++)
        for (int wild = 0; wild < 2; wild++) {
            struct problem p;
            if (!engine_usable(&engines[k])) continue;
            make_wild(&p, !wild ? 1 : engines[k].precision == SAPPORO_DP ? 1400 : 120);
            check_merge(&engines[k], 1, &p, KEPT);
            check_merge(&engines[k], 2, &p, 50);
            check_merge(&engines[k], 1, &p, 5);
            check_merge(&engines[k], 3, &p, 1);
            check_lone(&engines[k], &p, KEPT);
            check_lone(&engines[k], &p, 3);
            problem_free(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sums),   cmocka_unit_test(cancellation),    cmocka_unit_test(zeros),
        cmocka_unit_test(specials),      cmocka_unit_test(merged_specials), cmocka_unit_test(small_values),
        cmocka_unit_test(many_deposits), cmocka_unit_test(rising_units),    cmocka_unit_test(halves_of_a_force),
        cmocka_unit_test(one_value),
    };
    return cmocka_run_group_tests_name("accum", tests, NULL, NULL);
}
