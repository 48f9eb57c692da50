/*
 * test_stepper_own.c - the criterion of acceleration of steppers takes the acceleration by the particles alone: a
 * strong external field does not make the particles' own forces less exact.
 */
#define _XOPEN_SOURCE 700 /* mkstemp */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "stepper_places.h"
#include "tree_cases.h"
#include "worst.h"

enum { N = 1200, STEPS = 3 };

/* A host whose pull on the cluster is 1,000 times its own. */
static const sapporo_field HOST = {SAPPORO_FIELD_PLUMMER, 4e5, 0, 0, {20, 0, 0}};

/* Potentials of the cluster after some steps, in their own bits and those of the exact sum. */
static double error_of(const sapporo_stepper_options *o, sapporo_stepper *s)
{
    static struct stepper_state at;
    double worst = 0;
    stepper_get(s, SAPPORO_STEP_OWN, N, &at);
    for (int i = 0; i < N; i += 10) {
        long double own[3] = {0, 0, 0}, d2 = 0, a2 = 0, h2 = 0, d[3];
        for (int j = 0; j < N; j++) {
            long double r2 = o->tree->eps2;
            for (int c = 0; c < 3; c++) d[c] = (long double)at.x[j][c] - at.x[i][c], r2 += d[c] * d[c];
            for (int c = 0; c < 3; c++) own[c] += at.mass[j] * d[c] / (r2 * sqrtl(r2));
        }
        for (int c = 0; c < 3 && o->nfields; c++) d[c] = HOST.centre[c] - (long double)at.x[i][c], h2 += d[c] * d[c];
        for (int c = 0; c < 3; c++) {
            const long double host = o->nfields ? HOST.strength * d[c] / (h2 * sqrtl(h2)) : 0;
            d2 += (at.acc[i][c] - host - own[c]) * (at.acc[i][c] - host - own[c]);
            a2 += own[c] * own[c];
        }
        worst = worst_of(worst, (double)sqrtl(d2 / a2));
    }
    return worst;
}

/* Runs a cluster for some steps, in a field or without one; saved: through a file. */
static double run(const struct place *p, int with_field, int saved)
{
    sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    tree.accuracy = 0.005;
    tree.precision = SAPPORO_DP;
    sapporo_stepper_options o = {.size = sizeof o,
                                 .method = p->method,
                                 .tree = &tree,
                                 .dt = 0x1p-10,
                                 .rebuild = 1,
                                 .nfields = with_field,
                                 .fields = with_field ? &HOST : NULL};
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_stepper *s = stepper_make(&o, N);
    stepper_put(s, N, b.x, b.v, b.mass, 0);
    stepper_advance(s, INFINITY, STEPS);
    if (saved) {
        char path[] = "/tmp/stepper_own_XXXXXX";
        const int file = mkstemp(path);
        assert_true(file >= 0);
        assert_int_equal(sapporo_stepper_save(s, path), SAPPORO_OK);
        sapporo_stepper_destroy(s);
        s = stepper_make(&o, N);
        assert_int_equal(sapporo_stepper_restore(s, path), SAPPORO_OK);
        (void)close(file);
        (void)unlink(path);
        stepper_advance(s, INFINITY, 1);
    }
    const double error = error_of(&o, s);
    sapporo_stepper_destroy(s);
    bodies_free(&b);
    return error;
}

static void satellite_at(const struct place *p)
{
    if (p->method != SAPPORO_STEP_TREE) return;
    const double alone = run(p, 0, 0);
    for (int saved = 0; saved < 2; saved++) {
        const double error = run(p, 1, saved);
        if (!(error < 1.5 * alone + 1e-9))
            fail_msg("%s, saved %d: own accelerations are off by %g in a field, %g without", p->name, saved, error,
                     alone);
    }
}

static void satellite(void **state)
{
    (void)state;
    stepper_everywhere(satellite_at, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(satellite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
