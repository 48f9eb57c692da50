/*
 * test_stepper_landing.c - steppers that end at the very time that they are asked for: orbits against the same steps in
 * long double, the order of the schemes, the way back, divisions of runs, files, and what is refused.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"
#include "stepper_places.h"
#include "worst.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 24 };

static const double eps = 0.1;
static char folder[] = "/tmp/sapporo_landing.XXXXXX", path[64];
static double x[N][3], v[N][3], mass[N];
static struct stepper_state got, other;

static void make(void)
{
    struct body *const body = zeroed(N, sizeof *body);
    model_plummer(body, N, 5);
    for (int k = 0; k < N; k++) {
        memcpy(x[k], body[k].derivative[0], sizeof x[k]);
        memcpy(v[k], body[k].derivative[1], sizeof v[k]);
        mass[k] = k == 7 ? 0 : body[k].mass;
    }
    free(body);
}

static sapporo_stepper *new_stepper(const struct place *p, sapporo_step_scheme scheme, double dt, double eta)
{
    sapporo_tree_options tree = {.size = sizeof tree, .eps2 = eps * eps, .precision = SAPPORO_DP, .accuracy = 1e-9};
    if (p) tree = stepper_tree_at(p, eps);
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .method = p ? p->method : SAPPORO_STEP_DIRECT,
                                       .tree = &tree,
                                       .scheme = scheme,
                                       .dt = dt,
                                       .eta = eta,
                                       .landing = 1};
    if (!p) tree.backend = SAPPORO_BACKEND_CPU, tree.accuracy = 0;
    sapporo_stepper *const s = stepper_make(&o, N);
    stepper_put(s, N, x, v, mass, 0);
    return s;
}

/* ---- long double ---------------------------------------------------------------------------- */

struct orbits {
    long double x[N][3], v[N][3], a[N][3];
};

static void accelerate(struct orbits *o)
{
    memset(o->a, 0, sizeof o->a);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            long double d[3], r2 = (long double)eps * eps;
            for (int c = 0; c < 3; c++) d[c] = o->x[j][c] - o->x[i][c], r2 += d[c] * d[c];
            for (int c = 0; c < 3; c++) o->a[i][c] += (long double)mass[j] * d[c] / (r2 * sqrtl(r2));
        }
}

static void start(struct orbits *o)
{
    for (int k = 0; k < N; k++)
        for (int c = 0; c < 3; c++) o->x[k][c] = x[k][c], o->v[k][c] = v[k][c];
    accelerate(o);
}

/* Kick, drift, kick. */
static void leap(struct orbits *o, long double dt, int steps)
{
    for (int step = 0; step < steps; step++) {
        for (int k = 0; k < N; k++)
            for (int c = 0; c < 3; c++) o->v[k][c] += o->a[k][c] * dt / 2, o->x[k][c] += o->v[k][c] * dt;
        accelerate(o);
        for (int k = 0; k < N; k++)
            for (int c = 0; c < 3; c++) o->v[k][c] += o->a[k][c] * dt / 2;
    }
}

/* Returns the largest difference of a coordinate from orbits. */
static double distance(const struct stepper_state *s, const struct orbits *o)
{
    double worst = 0;
    for (int k = 0; k < N; k++)
        for (int c = 0; c < 3; c++) {
            worst = worst_of(worst, (double)fabsl(s->x[k][c] - o->x[k][c]));
            worst = worst_of(worst, (double)fabsl(s->v[k][c] - o->v[k][c]));
        }
    return worst;
}

/* ---- tests ------------------------------------------------------------------------------------ */

/* Shared steps of 0.3 to 1, 1.05 and 2: those of 0.3 and shorter last ones. */
static void shared_steps(void **state)
{
    struct orbits right;
    (void)state;
    make();
    sapporo_stepper *const s = new_stepper(NULL, SAPPORO_STEPS_SHARED, 0.3, 0);
    start(&right);
    leap(&right, 0.3L, 3);
    leap(&right, 0.1L, 1);
    stepper_advance(s, 1, 0);
    assert_true(sapporo_stepper_get_time(s) == 1);
    stepper_get(s, SAPPORO_STEP_OWN, N, &got);
    assert_true(distance(&got, &right) < 1e-13);
    leap(&right, 0.05L, 1);
    stepper_advance(s, 1.05, 0);
    assert_true(sapporo_stepper_get_time(s) == 1.05);
    leap(&right, 0.3L, 3);
    leap(&right, 0.05L, 1);
    stepper_advance(s, 2, 0);
    assert_true(sapporo_stepper_get_time(s) == 2);
    stepper_get(s, SAPPORO_STEP_NOW, N, &got);
    assert_true(distance(&got, &right) < 1e-12);
    assert_int_equal(stepper_figures(s).steps, 9);
    stepper_advance(s, 2, 0); /* the present time: nothing moves */
    assert_int_equal(stepper_figures(s).steps, 9);
    sapporo_stepper_destroy(s);
}

/* Advances to a time at which step k ends, but for rounding: no other step is made. */
static void end_of_step(sapporo_stepper *s, int k, double time, double off)
{
    stepper_advance(s, time, 0);
    assert_int_equal(stepper_figures(s).steps, k);
    assert_true(fabs(sapporo_stepper_get_time(s) - time) <= off);
}

/* Where steps end at the times that are asked for, but for rounding, there is no other step. */
static void no_landing(void **state)
{
    (void)state;
    make();
    for (int scheme = SAPPORO_STEPS_SHARED; scheme <= SAPPORO_STEPS_BLOCK; scheme++) {
        sapporo_stepper *const s = new_stepper(NULL, (sapporo_step_scheme)scheme, 0.1, 1e6);
        for (int k = 1; k <= 60; k++) end_of_step(s, k, k / 10.0, 1e-15 * k);
        sapporo_stepper_destroy(s);
    }
}

/* The same where the time comes to 0 from a start far from it: rounding is that of the start. */
static void no_landing_at_zero(void **state)
{
    (void)state;
    make();
    for (int k = 0; k < 4; k++) {
        const sapporo_step_scheme scheme = k % 2 ? SAPPORO_STEPS_BLOCK : SAPPORO_STEPS_SHARED;
        const int steps = k < 2 ? 61 : 122;
        sapporo_stepper *const s = new_stepper(NULL, scheme, 0.1, 1e6);
        stepper_put(s, N, x, v, mass, -steps / 10.0);
        for (int step = 1; step <= steps; step++) {
            end_of_step(s, step, (step - steps) / 10.0, 2e-15 * steps);
            if (step < steps) continue;
            assert_true(sapporo_stepper_get_time(s) == -steps / 10.0 + steps * 0.1); /* and not 0, as a landing */
        }
        sapporo_stepper_destroy(s);
    }
}

/* Times that a loop adds up leave the ends of steps by rounding: no step is of rounding errors. */
static void added_times(void **state)
{
    (void)state;
    make();
    for (int scheme = SAPPORO_STEPS_SHARED; scheme <= SAPPORO_STEPS_BLOCK; scheme++) {
        sapporo_stepper *const s = new_stepper(NULL, (sapporo_step_scheme)scheme, 0.1, 1e6);
        double time = 0;
        for (int k = 1; k <= 400; k++) {
            time += k % 2 ? 0.1 + 3e-14 : 0.1 - 1e-14;
            end_of_step(s, k, time, 4e-15 * time);
        }
        sapporo_stepper_destroy(s);
    }
}

/* Returns the error at a time, with a landing on the way, of steps that are `times` shorter than the longest. */
static double error_of(sapporo_step_scheme scheme, int times, const struct orbits *right)
{
    sapporo_stepper *const s = new_stepper(NULL, scheme, 0.3 / times, 0.1 / (times * times));
    stepper_advance(s, 0.31, 0);
    stepper_advance(s, 1.0, 0);
    assert_true(sapporo_stepper_get_time(s) == 1);
    stepper_get(s, SAPPORO_STEP_OWN, N, &got);
    for (int k = 0; k < N; k++) assert_true(got.own_time[k] == 1);
    sapporo_stepper_destroy(s);
    return distance(&got, right);
}

/* A quarter of the steps has a sixteenth of the error. */
static void second_order(void **state)
{
    struct orbits right;
    (void)state;
    make();
    start(&right);
    leap(&right, 1.0L / 8192, 8192);
    for (int scheme = SAPPORO_STEPS_SHARED; scheme <= SAPPORO_STEPS_BLOCK; scheme++) {
        const double coarse = error_of((sapporo_step_scheme)scheme, 8, &right),
                     fine = error_of((sapporo_step_scheme)scheme, 32, &right);
        if (!(coarse / fine > 10 && coarse / fine < 25 && fine < 2e-4))
            fail_msg("scheme %d: errors %g and %g", scheme, coarse, fine);
    }
}

/* Shared steps in reverse order, with velocities reversed, lead back. */
static void way_back(void **state)
{
    (void)state;
    make();
    sapporo_stepper *const s = new_stepper(NULL, SAPPORO_STEPS_SHARED, 0.3, 0);
    stepper_advance(s, 1, 0);
    stepper_get(s, SAPPORO_STEP_OWN, N, &got);
    for (int k = 0; k < N; k++)
        for (int c = 0; c < 3; c++) got.v[k][c] = -got.v[k][c];
    stepper_put(s, N, got.x, got.v, mass, 0);
    stepper_advance(s, 1 - 3 * 0.3, 0); /* the short step comes first */
    stepper_advance(s, 1, 0);
    assert_int_equal(stepper_figures(s).steps, 4);
    stepper_get(s, SAPPORO_STEP_OWN, N, &got);
    for (int k = 0; k < N; k++)
        for (int c = 0; c < 3; c++)
            assert_true(fabs(got.x[k][c] - x[k][c]) < 1e-13 && fabs(got.v[k][c] + v[k][c]) < 1e-13);
    sapporo_stepper_destroy(s);
}

static void assert_same(const char *what, const struct place *p)
{
    const int same = memcmp(got.x, other.x, sizeof got.x) == 0 && memcmp(got.v, other.v, sizeof got.v) == 0 &&
                     memcmp(got.acc, other.acc, sizeof got.acc) == 0 &&
                     memcmp(got.pot, other.pot, sizeof got.pot) == 0 &&
                     memcmp(got.level, other.level, sizeof got.level) == 0;
    if (!same) fail_msg("%s: %s: other bytes", p->name, what);
}

/* Any division of a run that lands at the same times gives the same bytes: by numbers of steps, and by files. */
static void divide(const struct place *p)
{
    for (int scheme = SAPPORO_STEPS_SHARED; scheme <= SAPPORO_STEPS_BLOCK; scheme++) {
        sapporo_stepper *const s = new_stepper(p, (sapporo_step_scheme)scheme, 0.125, 0.02),
                               *const t = new_stepper(p, (sapporo_step_scheme)scheme, 0.125, 0.02);
        const sapporo_stepper_totals before = stepper_totals(s);
        stepper_advance(s, 0.3, 0);
        stepper_advance(s, 1, 0);
        stepper_get(s, SAPPORO_STEP_OWN, N, &got);
        const sapporo_stepper_totals after = stepper_totals(s);
        const double change = after.kinetic + after.potential - before.kinetic - before.potential;
        if (!(fabs(change) < 5e-3)) fail_msg("%s, scheme %d: energy changes by %g", p->name, scheme, change);
        while (sapporo_stepper_get_time(t) < 0.3) stepper_advance(t, 0.3, 1);
        assert_int_equal(sapporo_stepper_save(t, path), SAPPORO_OK);
        stepper_advance(t, 2, 3);
        assert_int_equal(sapporo_stepper_restore(t, path), SAPPORO_OK);
        assert_true(sapporo_stepper_get_time(t) == 0.3);
        while (sapporo_stepper_get_time(t) < 1) stepper_advance(t, 1, 2);
        stepper_get(t, SAPPORO_STEP_OWN, N, &other);
        assert_same("division", p);
        assert_int_equal(stepper_figures(t).steps, stepper_figures(s).steps);
        (void)unlink(path);
        sapporo_stepper_destroy(s);
        sapporo_stepper_destroy(t);
    }
}

static void divisions(void **state)
{
    (void)state;
    make();
    stepper_everywhere(divide, 0);
}

/* Other values, callers that do not know the option, and files of steppers without it. */
static void refused(void **state)
{
    const size_t old = offsetof(sapporo_stepper_options, landing);
    sapporo_stepper *s = NULL, *t;
    const sapporo_tree_options tree = {
        .size = sizeof tree, .eps2 = eps * eps, .precision = SAPPORO_DP, .backend = SAPPORO_BACKEND_CPU};
    sapporo_stepper_options o = {
        .size = sizeof o, .method = SAPPORO_STEP_DIRECT, .tree = &tree, .dt = 0.3, .landing = 2};
    (void)state;
    make();
    assert_int_equal(sapporo_stepper_create(&o, N, &s), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_stepper_last_error(NULL), "landing of a stepper is 2; it may be 0 to 1"));
    o.landing = 1, o.size = old;
    s = stepper_make(&o, N);
    stepper_put(s, N, x, v, mass, 0);
    stepper_advance(s, 1, 0);
    assert_true(fabs(sapporo_stepper_get_time(s) - 0.9) < 1e-15);
    assert_int_equal(sapporo_stepper_save(s, path), SAPPORO_OK);
    t = new_stepper(NULL, SAPPORO_STEPS_SHARED, 0.3, 0);
    assert_int_equal(sapporo_stepper_restore(t, path), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_stepper_advance(t, -1, 0), SAPPORO_ERR_ARGUMENT);
    stepper_advance(t, INFINITY, 2);
    assert_true(fabs(sapporo_stepper_get_time(t) - 0.6) < 1e-15);
    (void)unlink(path);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(t);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    (void)snprintf(path, sizeof path, "%s/steps", folder);
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared_steps), cmocka_unit_test(no_landing),
                                       cmocka_unit_test(added_times),  cmocka_unit_test(no_landing_at_zero),
                                       cmocka_unit_test(second_order), cmocka_unit_test(way_back),
                                       cmocka_unit_test(divisions),    cmocka_unit_test(refused)};
    const int failed = cmocka_run_group_tests_name("stepper_landing", tests, NULL, NULL);
    (void)unlink(path);
    (void)rmdir(folder);
    return failed;
}
