/*
 * test_orders.c - what sapporo.h takes and returns by order: stored derivatives, rows of results, structs of callers of
 * older versions; staged particles of orders 6 and 8.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Higher derivatives than the order uses are ignored, whatever they are; those it uses are read back. */
static void check_derivatives(int order)
{
    const sapporo_options options = {.size = sizeof options, .order = order, .backend = SAPPORO_BACKEND_CPU};
    struct body b = {.mass = -0.5, .time = 0.25, .index = INT_MIN};
    sapporo_particle got = {.seventh = {7, 7, 7}};
    sapporo *c;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    for (int k = 0; k < TERMS; k++)
        for (int x = 0; x < 3; x++) b.derivative[k][x] = k <= highest_of(order) ? 0.7 * k + 0.1 * x + 0.3 : NAN;
    const sapporo_particle p = particle_of(&b);
    assert_int_equal(sapporo_set_particle(c, 3, &p), SAPPORO_OK);
    assert_int_equal(sapporo_get_particle(c, 3, 0, &got), SAPPORO_OK);
    for (int k = 0; k < SAPPORO_DERIVATIVES; k++)
        for (int x = 0; x < 3; x++) {
            const double given = k <= highest_of(order) ? p.derivative[k][x] : 0;
            assert_true(fabs(got.derivative[k][x] - given) <= (order == 4 ? 0x1p-52 : 0) * fabs(given));
        }
    assert_true(got.mass == -0.5 && got.time == 0.25 && got.index == INT_MIN);
    for (int x = 0; x < 3; x++) assert_true(got.seventh[x] == (order == 8 ? p.seventh[x] : 7)); /* else not touched */
    assert_int_equal(sapporo_get_particle(c, 2, 0, &got), SAPPORO_ERR_ARGUMENT);
    for (int x = 0; x < 3; x++) assert_true(order == 8 ? isnan(got.seventh[x]) : got.seventh[x] == 7);
    sapporo_close(c);
}

static void all_derivatives(void **state)
{
    (void)state;
    check_derivatives(4);
    check_derivatives(6);
    check_derivatives(8);
}

/* Rows that an order has not are refused and NaN; callers of the first version have shorter structs. */
static void check_rows(int order)
{
    static const size_t old_result = offsetof(sapporo_result, snap), old_request = offsetof(sapporo_request, a);
    const sapporo_options options = {.size = sizeof options, .order = order, .backend = SAPPORO_BACKEND_CPU};
    const double x[1][3] = {{0.5, 0, 0}};
    double acc[1][3], snap[1][3] = {{1, 1, 1}}, crackle[1][3] = {{1, 1, 1}};
    const sapporo_request request = {.size = old_request, .nj = 1, .ni = 1, .x = {x, 0}, .a = {&options, 3}};
    const sapporo_result old = {.size = old_result, .acc = acc, .snap = snap, .crackle = crackle},
                         with_snap = {.size = sizeof with_snap, .acc = acc, .snap = snap},
                         with_crackle = {.size = sizeof with_crackle, .acc = acc, .crackle = crackle};
    const sapporo_particle p = {.mass = 1, .derivative = {{1, 0, 0}}};
    sapporo_job *job;
    sapporo *c;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    assert_int_equal(sapporo_set_particle(c, 0, &p), SAPPORO_OK);
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, 1, &old), SAPPORO_OK);
    assert_true(fabs(acc[0][0] - 4) < 1e-6 && snap[0][0] == 1 && crackle[0][2] == 1);
    assert_int_equal(sapporo_force_end(job, 1, &with_snap), order >= 6 ? SAPPORO_OK : SAPPORO_ERR_UNSUPPORTED);
    assert_true(order >= 6 ? snap[0][0] == 0 : isnan(snap[0][0]) && isnan(acc[0][0]));
    assert_int_equal(sapporo_force_end(job, 1, &with_crackle), order == 8 ? SAPPORO_OK : SAPPORO_ERR_UNSUPPORTED);
    assert_true(order == 8 ? crackle[0][0] == 0 : isnan(crackle[0][0]) && isnan(acc[0][0]));
    if (order < 8) assert_non_null(strstr(sapporo_last_error(c), order == 6 ? "no crackle" : "no snap"));
    sapporo_force_free(job);
    sapporo_close(c);
}

static void rows_by_order(void **state)
{
    (void)state;
    for (int order = 2; order <= 8; order += 2) check_rows(order);
}

/* ------------------------------------------------------------------- staging */

enum { MANY = 700 };

static const struct ask late = {OUT_NEAREST, 0, 0}, none = {0, 0, 0};

/* Stores particles while a force may still need the old ones; then asks it for neighbours. */
static void check_staged(const struct engine *e)
{
    struct problem p, later;
    sapporo_job *job;
    int nearest[8];
    problem_new(&p, MANY, 8);
    model_plummer(p.body, MANY, 3);
    model_derivatives(p.body, MANY, highest_of(e->order));
    p.order = e->order, p.nj = MANY, p.eps2 = 1e-3, p.time = 0.125;
    for (int i = 0; i < p.ntargets; i++) memcpy(p.target[i].x, p.body[9 * i].derivative[0], sizeof p.target[i].x);
    struct answer *before = solve_with(e, 1, &p, &late);
    later = p;
    later.body = zeroed(MANY, sizeof *later.body);
    for (int k = 0; k < MANY; k++) {
        later.body[k] = p.body[(k + 350) % MANY];
        later.body[k].address = k;
    }
    struct answer *after = solve_with(e, 1, &later, &late);

    sapporo *c = engine_open(e, 1);
    const sapporo_request request = problem_request(&p, 0, p.ntargets);
    const sapporo_result result = {.size = sizeof result, .nearest = nearest};
    problem_load(c, &p);
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    problem_load(c, &later);
    assert_int_equal(sapporo_force_end(job, p.ntargets, &result), SAPPORO_OK);
    for (int i = 0; i < p.ntargets; i++) assert_int_equal(nearest[i], before[i].nearest);
    sapporo_force_free(job);
    struct answer *again = problem_solve(c, &later, &none);
    answers_same(e->name, again, after, p.ntargets, 0);
    answers_free(again, p.ntargets);
    sapporo_close(c);
    answers_free(before, p.ntargets);
    answers_free(after, p.ntargets);
    problem_free(&later);
    p.target = NULL; /* was shared */
    problem_free(&p);
}

static void staged(void **state)
{
    (void)state;
    check_staged(&engines6[0]);
    check_staged(&engines6[1]);
    check_staged(&engines8[1]);
    for (int k = CPU_ENGINES68; k < ENGINES68; k++) {
        if (engine_usable(&engines6[k])) check_staged(&engines6[k]);
        if (engine_usable(&engines8[k])) check_staged(&engines8[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_derivatives), cmocka_unit_test(rows_by_order),
                                       cmocka_unit_test(staged)};
    return cmocka_run_group_tests_name("orders", tests, NULL, NULL);
}
