/*
 * test_stepper_units.c - steppers over direct sums in units that single precision cannot hold: orbits that are
 * multiplied by powers of two have the same bits.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"
#include "stepper_places.h"

enum { N = 1100, STEPS = 8 };

static double x[N][3], v[N][3], mass[N];
static struct stepper_state plain, got;

/* Makes a star cluster in which some stars have no mass; lengths times 2^length, times 2^time, and G = 1. */
static void make(int length, int time)
{
    struct body *const body = zeroed(N, sizeof *body);
    model_plummer(body, N, 21);
    for (int k = 0; k < N; k++) {
        for (int c = 0; c < 3; c++) {
            x[k][c] = ldexp(body[k].derivative[0][c], length);
            v[k][c] = ldexp(body[k].derivative[1][c], length - time);
        }
        mass[k] = k % 10 == 3 ? 0 : ldexp(body[k].mass, 3 * length - 2 * time);
    }
    free(body);
}

/* Integrates the cluster by block steps. */
static void integrate(const struct place *p, sapporo_precision precision, int length, int time,
                      struct stepper_state *to)
{
    const double eps = ldexp(0x1p-6, length);
    const sapporo_tree_options tree = {
        .size = sizeof tree, .eps2 = eps * eps, .precision = precision, .backend = p->backend};
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .tree = &tree,
                                       .method = SAPPORO_STEP_DIRECT,
                                       .scheme = SAPPORO_STEPS_BLOCK,
                                       .levels = 4,
                                       .dt = ldexp(0x1p-4, time)};
    sapporo_stepper *const s = stepper_make(&o, N);
    make(length, time);
    stepper_put(s, N, x, v, mass, 0);
    stepper_advance(s, INFINITY, STEPS);
    stepper_get(s, SAPPORO_STEP_OWN, N, to);
    sapporo_stepper_destroy(s);
}

static void check(const struct place *p, sapporo_precision precision, int length, int time)
{
    integrate(p, precision, length, time, &got);
    for (int k = 0; k < N; k++) {
        for (int c = 0; c < 3; c++) {
            got.x[k][c] = ldexp(got.x[k][c], -length);
            got.v[k][c] = ldexp(got.v[k][c], time - length);
            got.acc[k][c] = ldexp(got.acc[k][c], 2 * time - length);
        }
        got.pot[k] = ldexp(got.pot[k], 2 * (time - length));
        if (!same_doubles(got.x[k], plain.x[k], 3) || !same_doubles(got.v[k], plain.v[k], 3) ||
            !same_doubles(got.acc[k], plain.acc[k], 3) || !same_doubles(&got.pot[k], &plain.pot[k], 1) ||
            got.level[k] != plain.level[k])
            fail_msg("%s, precision %d, lengths 2^%d, times 2^%d: particle %d is at %a, level %d; should be %a, %d",
                     p->name, (int)precision, length, time, k, got.x[k][0], got.level[k], plain.x[k][0],
                     plain.level[k]);
    }
}

static void at_place(const struct place *p)
{
    if (p->method != SAPPORO_STEP_DIRECT) return;
    for (sapporo_precision precision = SAPPORO_SP; precision <= SAPPORO_DS; precision++) {
        integrate(p, precision, 0, 0, &plain);
        check(p, precision, -66, 0);
        check(p, precision, 72, 30);
        check(p, precision, -100, 20);
    }
}

static void same_orbits(void **state)
{
    (void)state;
    stepper_everywhere(at_place, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_orbits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
