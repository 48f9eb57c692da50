/*
 * test_neighbour_force.c - neighbour forces (sapporo_neighbour_force) against sums in extended precision, on every path
 * and precision, one by one and all at once; the same bits on all paths with the same operations; the nearest of the
 * list; refused arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cases.h"
#include "isa.h"
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3000, NI = 40, LONGEST = 2500 };

static struct problem all;
static int address[NI], length[NI], entries[NI][LONGEST];
static const int *list[NI];

/* Gaps, derivatives of several orders, lists of all lengths in no order, some with the particle itself. */
static void make(void)
{
    rng random;
    rng_seed(&random, 3, 3);
    problem_new(&all, N, 1);
    all.time = 0.25;
    all.nj = N + N / 100;
    model_plummer(all.body, N, 44);
    model_derivatives(all.body, N, 4);
    model_times(all.body, N, 0.25, 0.03, 44);
    for (int k = 0; k < N; k++) all.body[k].address += k / 100;
    memcpy(all.body[8].derivative, all.body[7].derivative, sizeof all.body[8].derivative); /* one place */
    all.body[8].time = all.body[7].time;
    for (int i = 0; i < NI; i++) {
        length[i] = i == 39 ? LONGEST : i == 38 ? 2048 : i * i % 131;
        address[i] = all.body[i].address;
        list[i] = length[i] ? entries[i] : NULL;
        for (int k = 0; k < length[i]; k++) entries[i][k] = all.body[(int)(rng_uniform(&random) * N)].address;
        if (length[i] > 3) entries[i][2] = address[i];
    }
    entries[7][0] = all.body[8].address;
}

static const struct body *body_at(int where) { return &all.body[where - where / 101]; }

/* The list's particles at 0, 1, ..., and the one whose list it is as the target. */
static void problem_of(sapporo *from, int i, double eps2, struct problem *p)
{
    sapporo_particle own;
    problem_new(p, length[i], 1);
    for (int k = 0; k < length[i]; k++) {
        p->body[k] = *body_at(entries[i][k]);
        p->body[k].address = k;
    }
    assert_int_equal(sapporo_get_particle(from, address[i], 1, &own), SAPPORO_OK);
    memcpy(p->target->x, own.derivative[0], sizeof p->target->x);
    memcpy(p->target->v, own.derivative[1], sizeof p->target->v);
    p->target->index = own.index;
    p->nj = length[i];
    p->time = all.time;
    p->eps2 = eps2;
}

static double acc[NI][3], jerk[NI][3], pot[NI], r2[NI];
static int nearest[NI];

static int compute(sapporo *c, double eps2, int ni)
{
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = ni, .address = address, .list = list, .length = length, .eps2 = eps2};
    const sapporo_result result = {
        .size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot, .nearest = nearest, .nearest_r2 = r2};
    return sapporo_neighbour_force(c, &request, &result);
}

static double off(const double *got, const real *want, int n)
{
    real d2 = 0;
    for (int k = 0; k < n; k++) d2 += (got[k] - want[k]) * (got[k] - want[k]);
    return (double)sqrtl(d2);
}

static void check_sums(const struct engine *e, int i, const struct exact *want)
{
    static const struct test_case lists = {.roundings = {0, 16, 16, 16}}; /* as of a Plummer sphere in cases.c */
    const double errors[] = {off(&pot[i], &want->pot, 1), off(acc[i], want->acc, 3), off(jerk[i], want->jerk, 3)};
    for (int q = 0; q < 3; q++) {
        const double bound = case_bound(&lists, e->precision, want, q);
        if (!(errors[q] <= bound))
            fail_msg("%s: sum %d of list %d is off by %g, at most %g", e->name, q, i, errors[q], bound);
    }
}

static void check_engine(const struct engine *e, int threads, double eps2)
{
    sapporo *c = engine_open(e, threads);
    problem_load(c, &all);
    assert_int_equal(compute(c, eps2, NI), SAPPORO_OK);
    for (int i = 0; i < NI; i++) {
        struct problem p;
        struct exact want;
        problem_of(c, i, eps2, &p);
        struct reference *r = reference_new(&p);
        reference_solve(r, 0, &want);
        check_sums(e, i, &want);
        if (nearest[i] != want.nearest ||
            (want.address < 0 ? !isinf(r2[i]) : !(fabs(r2[i] - want.nearest_r2) <= nearest_bound(&want))))
            fail_msg("%s: nearest of list %d is %d at %g, should be %d at %g", e->name, i, nearest[i], r2[i],
                     want.nearest, want.nearest_r2);
        free(want.list);
        reference_free(r);
        problem_free(&p);
    }
    sapporo_close(c);
}

static void right(void **state)
{
    (void)state;
    make();
    for (int k = 0; k < CPU_ENGINES; k++) {
        if (!engine_usable(&engines[k])) continue;
        check_engine(&engines[k], 1, 0);
        check_engine(&engines[k], 2, 1e-4);
    }
    problem_free(&all);
}

/* ---- bits ---- */

/* The results of all lists. */
struct results {
    double acc[NI][3], jerk[NI][3], pot[NI], r2[NI];
    int nearest[NI];
};

static struct results results_of(const struct engine *e, double eps2)
{
    struct results a;
    sapporo *c = engine_open(e, 1);
    problem_load(c, &all);
    assert_int_equal(compute(c, eps2, NI), SAPPORO_OK);
    memcpy(a.acc, acc, sizeof acc);
    memcpy(a.jerk, jerk, sizeof jerk);
    memcpy(a.pot, pot, sizeof pot);
    memcpy(a.r2, r2, sizeof r2);
    memcpy(a.nearest, nearest, sizeof nearest);
    sapporo_close(c);
    return a;
}

/* Whether an engine has fused operations: paths differ in nothing else. */
static int fused(const struct engine *e) { return !e->isa || sap_isa_fuses((enum sap_isa)sap_isa_find(e->isa)); }

static void same_everywhere(void **state)
{
    static struct results first[SAPPORO_DP + 1][2];
    int have[SAPPORO_DP + 1][2] = {{0}};
    (void)state;
    make();
    for (int k = 0; k < CPU_ENGINES; k++) {
        const struct engine *e = &engines[k];
        if (!engine_usable(e)) continue;
        const struct results a = results_of(e, 0);
        struct results *const other = &first[e->precision][fused(e)];
        if (!have[e->precision][fused(e)]++) *other = a;
        if (memcmp(&a, other, sizeof a) != 0) fail_msg("%s has other bits than another path of the like", e->name);
    }
    problem_free(&all);
}

/* ---- few particles, and lists that name all of them often: each call predicts in its own way ---- */

enum { FEW = 600 }; /* more than two parts that the engine predicts at once, and no multiple of 16 */

static struct problem few;

static void make_few(int terms)
{
    rng random;
    rng_seed(&random, 7, 7);
    problem_new(&few, FEW, 1);
    few.time = 0.5;
    few.nj = FEW;
    model_plummer(few.body, FEW, 45);
    model_derivatives(few.body, FEW, terms);
    model_times(few.body, FEW, 0.5, 0.02, 45);
    for (int i = 0; i < NI; i++) {
        length[i] = 20 + i * 3;
        address[i] = few.body[i * 3].address;
        list[i] = entries[i];
        for (int k = 0; k < length[i]; k++) entries[i][k] = few.body[(int)(rng_uniform(&random) * FEW)].address;
    }
}

/* Forces on lists from .. from+n-1, the nearest without its distance. */
static void compute_some(sapporo *c, int from, int n)
{
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = n, .address = address + from, .list = list + from, .length = length + from};
    const sapporo_result result = {
        .size = sizeof result, .acc = acc + from, .jerk = jerk + from, .pot = pot + from, .nearest = nearest + from};
    assert_int_equal(sapporo_neighbour_force(c, &request, &result), SAPPORO_OK);
}

static void same_in_steps(const struct engine *e, sapporo *c, int step)
{
    double a[NI][3], j[NI][3], p[NI];
    int near[NI];
    memcpy(a, acc, sizeof a);
    memcpy(j, jerk, sizeof j);
    memcpy(p, pot, sizeof p);
    memcpy(near, nearest, sizeof near);
    memset(acc, 0, sizeof acc);
    memset(nearest, 0, sizeof nearest);
    for (int from = 0; from < NI; from += step) compute_some(c, from, step);
    if (!same_doubles(a[0], acc[0], 3 * NI) || !same_doubles(j[0], jerk[0], 3 * NI) || !same_doubles(p, pot, NI))
        fail_msg("%s: %d lists at a time have other bits", e->name, step);
    assert_memory_equal(near, nearest, sizeof near);
}

/* An eighth of all is moved, and the time goes on. */
static void move_some(sapporo *c)
{
    for (int k = 0; k < FEW; k += 8) {
        few.body[k].derivative[0][1] += 0.01;
        few.body[k].time = 0.5;
        sapporo_particle one = {.mass = few.body[k].mass, .time = 0.5, .index = few.body[k].index};
        memcpy(one.derivative, few.body[k].derivative, 5 * sizeof one.derivative[0]);
        assert_int_equal(sapporo_set_particle(c, few.body[k].address, &one), SAPPORO_OK);
    }
    few.time = 0.5625;
    assert_int_equal(sapporo_set_time(c, few.time), SAPPORO_OK);
}

static void in_all_steps(const struct engine *e, const struct engine *cpu, int terms)
{
    make_few(terms);
    sapporo *c = engine_open(e, 1), *other;
    problem_load(c, &few);
    for (int i = 0; i < NI; i++) compute_some(c, i, 1);
    same_in_steps(e, c, NI);
    same_in_steps(e, c, 8);
    move_some(c);
    compute_some(c, 0, 1);
    compute_some(c, 1, NI - 1);
    same_in_steps(e, c, 2);
    other = engine_open(cpu, 2);
    problem_load(other, &few);
    same_in_steps(e, other, NI);
    sapporo_close(other);
    sapporo_close(c);
    problem_free(&few);
}

/* Accelerators leave lists to the CPU: the bits are those of its fastest path. */
static void one_by_one(void **state)
{
    (void)state;
    for (int k = 0; k < ENGINES; k++) {
        const struct engine cpu = {.name = "cpu", .precision = engines[k].precision, .backend = SAPPORO_BACKEND_CPU};
        if (k >= CPU_ENGINES && engines[k].precision != SAPPORO_DS) continue; /* kernels take seconds to compile */
        if (!engine_usable(&engines[k])) continue;
        in_all_steps(&engines[k], k < CPU_ENGINES ? &engines[k] : &cpu, 3);
        if (k < CPU_ENGINES) in_all_steps(&engines[k], &engines[k], 4);
    }
}

/* The same where nobody is missing: who is in a list is looked at only when it is summed. */
static void refusals_without_gaps(void **state)
{
    (void)state;
    for (int k = 0; k < CPU_ENGINES; k++) {
        if (!engine_usable(&engines[k])) continue;
        make_few(3);
        sapporo *c = engine_open(&engines[k], 1);
        problem_load(c, &few);
        length[0] = 0, list[0] = NULL;
        length[1] = -1, list[1] = NULL;
        entries[2][length[2] - 1] = FEW;
        address[3] = -1;
        entries[4][17] = -1;
        assert_int_equal(compute(c, 0, 6), SAPPORO_PARTIAL);
        assert_true(acc[0][0] == 0 && nearest[0] == -1);
        for (int i = 0; i < 6; i++) assert_true(isnan(acc[i][0]) == (i >= 1 && i <= 4));
        sapporo_close(c);
        problem_free(&few);
    }
}

static void refusals(void **state)
{
    (void)state;
    const sapporo_options four = {.size = sizeof four}, two = {.size = sizeof two, .order = 2};
    const sapporo_particle one = {.mass = 1};
    static double with_gap[7][3];
    int was;
    sapporo *c;
    make();
    assert_int_equal(sapporo_open(&four, &c), SAPPORO_OK);
    assert_int_equal(compute(c, 0, 2), SAPPORO_PARTIAL); /* nobody is there */
    assert_true(isnan(acc[0][0]) && isnan(acc[1][0]) && nearest[1] == -1);
    problem_load(c, &all);
    was = entries[5][1], entries[5][1] = 100; /* a gap: its row alone is lost */
    assert_int_equal(compute(c, 0, 7), SAPPORO_PARTIAL);
    memcpy(with_gap, acc, sizeof with_gap);
    assert_true(isnan(acc[5][0]) && isnan(pot[5]));
    entries[5][1] = was;
    assert_int_equal(compute(c, 0, 7), SAPPORO_OK);
    for (int i = 0; i < 7; i++) assert_true(i == 5 || same_doubles(acc[i], with_gap[i], 3));
    entries[5][1] = 100;
    length[3] = -1;
    address[4] = 1 << 29;
    assert_int_equal(compute(c, 0, 7), SAPPORO_PARTIAL);
    for (int i = 0; i < 7; i++) assert_true(isnan(acc[i][0]) == (i >= 3 && i <= 5));
    assert_int_equal(nearest[5], -1);
    assert_int_equal(compute(c, 0, 3), SAPPORO_OK);
    assert_true(acc[0][0] == 0 && pot[0] == 0 && nearest[0] == -1 && isinf(r2[0])); /* an empty list */
    assert_int_equal(compute(c, -1, 3), SAPPORO_ERR_ARGUMENT);
    assert_true(isnan(acc[0][0]) && isnan(pot[2]));
    list[2] = NULL;
    assert_int_equal(compute(c, 0, 3), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(compute(c, 0, -1), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(compute(c, 0, 0), SAPPORO_OK);
    assert_int_equal(sapporo_neighbour_force(c, NULL, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_neighbour_force(NULL, NULL, NULL), SAPPORO_ERR_CLOSED);
    sapporo_close(c);
    entries[5][1] = was;
    assert_int_equal(sapporo_open(&two, &c), SAPPORO_OK);
    assert_int_equal(sapporo_set_particle(c, 0, &one), SAPPORO_OK);
    assert_int_equal(compute(c, 0, 1), SAPPORO_ERR_UNSUPPORTED);
    sapporo_close(c);
    problem_free(&all);
}

/* ----------------------------------------------------------------------- many times */

enum { SOURCES = 256, TARGET = SOURCES + 1 };

static double place_of(int source, int axis) { return source % 3 == axis; }
static double speed_of(int source, int axis) { return 0.25 * ((source + axis) % 5) - 0.5; }

/* Sources at 0 .. 255 and a target at rest in the origin at 257: address 256 is empty. */
static void store_moving(sapporo *c)
{
    sapporo_particle p = {.mass = 1};
    for (p.index = 0; p.index < SOURCES; p.index++) {
        for (int x = 0; x < 3; x++)
            p.derivative[0][x] = place_of(p.index, x), p.derivative[1][x] = speed_of(p.index, x);
        assert_int_equal(sapporo_set_particle(c, p.index, &p), SAPPORO_OK);
    }
    p = (sapporo_particle){.mass = 1, .index = TARGET};
    assert_int_equal(sapporo_set_particle(c, TARGET, &p), SAPPORO_OK);
}

/* Checks the force of one source at a time. */
static void check_one(const struct engine *e, sapporo *c, int source, double time)
{
    const int target = TARGET, entries_of_it = 1, *const its_list = &source;
    const double eps2 = 0.01;
    double got[1][3];
    real x[3], squares = eps2;
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = 1, .address = &target, .list = &its_list, .length = &entries_of_it, .eps2 = eps2};
    const sapporo_result result = {.size = sizeof result, .acc = got};
    assert_int_equal(sapporo_set_time(c, time), SAPPORO_OK);
    assert_int_equal(sapporo_neighbour_force(c, &request, &result), SAPPORO_OK);
    for (int d = 0; d < 3; d++) {
        x[d] = place_of(source, d) + (real)speed_of(source, d) * time;
        squares += x[d] * x[d];
    }
    for (int d = 0; d < 3; d++)
        if (!(fabsl(got[0][d] - x[d] / (squares * sqrtl(squares))) < 1e-5L / squares)) /* beyond 64 units of float */
            fail_msg("%s: source %d at %g: acc[%d] is %g", e->name, source, time, d, got[0][d]);
}

/*
 * Predictions are marked with the number of a time, a byte: 255 or 256 times later it is the same number.  Each source
 * is in the list of each such call alone, so an old mark would be taken for a new one.
 */
static void many_times(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * ENGINES; k++) {
        const struct engine *const e = &engines[k / 2];
        const int period = SOURCES - k % 2;
        if (!engine_usable(e)) continue;
        sapporo *const c = engine_open(e, 1);
        store_moving(c);
        for (int n = 0; n < 2 * period + 20; n++) check_one(e, c, n % period, 0x1p-6 * n);
        sapporo_close(c);
    }
}

/* Lists that reach over all addresses see every particle that changed, however many did. */
static void many_changes(void **state)
{
    enum { MANY = 30000, LISTED = 300 };
    static int listed[LISTED];
    const int *const lists[1] = {listed}, own = 7, many = LISTED;
    struct problem p;
    double sums[2][4];
    (void)state;
    problem_new(&p, MANY, 1);
    model_plummer(p.body, MANY, 45);
    p.nj = MANY;
    for (int k = 0; k < LISTED; k++) listed[k] = MANY - 1 - k * (MANY / LISTED);
    sapporo *c = engine_open(engine_any(), 2);
    for (int turn = 0; turn < 3; turn++) {
        sapporo *const fresh = engine_open(engine_any(), 1);
        for (int k = 0; k < MANY; k++) p.body[k].derivative[0][turn % 3] += 0.01 * (1 + k % 7);
        problem_load(c, &p);
        problem_load(fresh, &p);
        for (int which = 0; which < 2; which++) {
            const sapporo_neighbour_request request = {
                .size = sizeof request, .ni = 1, .address = &own, .list = lists, .length = &many, .eps2 = 1e-4};
            const sapporo_result result = {
                .size = sizeof result, .acc = (double(*)[3])sums[which], .pot = &sums[which][3]};
            assert_int_equal(sapporo_neighbour_force(which ? fresh : c, &request, &result), SAPPORO_OK);
        }
        if (!same_doubles(sums[0], sums[1], 4)) fail_msg("turn %d: %g is not %g", turn, sums[0][3], sums[1][3]);
        sapporo_close(fresh);
    }
    sapporo_close(c);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right),       cmocka_unit_test(same_everywhere),       cmocka_unit_test(one_by_one),
        cmocka_unit_test(refusals),    cmocka_unit_test(refusals_without_gaps), cmocka_unit_test(many_times),
        cmocka_unit_test(many_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
