/*
 * test_stepper_fields.c - external fields of steppers: accelerations and potentials against their formulas in extended
 * precision, from the middle of a field to far outside.  Fields have the same bits on every engine (same_bits of
 * test_stepper.c), so the CPU is enough.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stepper_places.h"
#include "worst.h"

typedef long double real;

enum { RADII = 65 }; /* 1e-4 to 1e4, eight per decade */

/* Returns ln(1 + s) - s/(1 + s), the mass of an NFW sphere within s; by its series near 0, where the terms cancel. */
static real nfw_mass(real s)
{
    real sum = 0, power = s;
    if (s > 0.05L) return log1pl(s) - s / (1 + s);
    for (int k = 2; k < 20; k++) power *= -s, sum -= power * (k - 1) / k;
    return sum;
}

/* Sets the acceleration, and returns the potential, of a field at x, by the formulas of the header. */
static real field_of(const sapporo_field *f, const double *at, real *acc)
{
    const real x = at[0] - (real)f->centre[0], y = at[1] - (real)f->centre[1], z = at[2] - (real)f->centre[2],
               across2 = x * x + y * y, r = sqrtl(across2 + z * z), a = f->a, b = f->b, height = sqrtl(z * z + b * b),
               depth = a + height;
    real pull = 0, along = 0, pot = 0; /* pulls per length across and along the axis */
    switch (f->kind) {
    case SAPPORO_FIELD_POINT:
        along = pull = f->strength / (r * r * r), pot = -f->strength / r;
        break;
    case SAPPORO_FIELD_PLUMMER:
        along = pull = f->strength / powl(r * r + a * a, 1.5L), pot = -f->strength / sqrtl(r * r + a * a);
        break;
    case SAPPORO_FIELD_HERNQUIST:
        along = pull = f->strength / (r * (r + a) * (r + a)), pot = -f->strength / (r + a);
        break;
    case SAPPORO_FIELD_NFW:
        along = pull = f->strength * nfw_mass(r / a) / (r * r * r), pot = -f->strength * log1pl(r / a) / r;
        break;
    case SAPPORO_FIELD_MIYAMOTO_NAGAI:
        pull = f->strength / powl(across2 + depth * depth, 1.5L), along = pull * depth / height;
        pot = -f->strength / sqrtl(across2 + depth * depth);
        break;
    default:
        pull = f->strength / (a * a + across2 + z * z / (b * b)), along = pull / (b * b);
        pot = 0.5L * f->strength * logl(a * a + across2 + z * z / (b * b));
    }
    acc[0] = -pull * x, acc[1] = -pull * y, acc[2] = -along * z;
    return pot;
}

static sapporo_stepper *stepper_in(const sapporo_field *f)
{
    const sapporo_tree_options tree = stepper_tree_at(&stepper_places[0], 0.1);
    const sapporo_stepper_options o = {
        .size = sizeof o, .tree = &tree, .dt = 1, .rebuild = 1, .nfields = 1, .fields = f};
    return stepper_make(&o, RADII);
}

/* Points in all octants; no coordinate is that of the centre. */
static void make_points(const sapporo_field *f, double (*x)[3])
{
    for (int k = 0; k < RADII; k++)
        for (int c = 0; c < 3; c++)
            x[k][c] = f->centre[c] + (k >> c & 1 ? -1 : 1) * pow(10, k / 8.0 - 4) * (0.3 + 0.2 * c);
}

/* Errors of accelerations relative to themselves, and of potentials relative to 1 + their size. */
static void field_at(const sapporo_field *f)
{
    double x[RADII][3], v[RADII][3] = {{0}}, mass[RADII] = {0}, acc[RADII][3], worst = 0, worst_pot = 0;
    sapporo_stepper *s = stepper_in(f);
    make_points(f, x);
    stepper_put(s, RADII, x, v, mass, 0);
    const sapporo_stepper_output out = {.size = sizeof out, .n = RADII, .acc = acc};
    assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_OK);
    for (int k = 0; k < RADII; k++) {
        real want[3], off = 0, size = 0;
        const real pot = field_of(f, x[k], want);
        for (int c = 0; c < 3; c++) {
            off += (acc[k][c] - want[c]) * (acc[k][c] - want[c]);
            size += want[c] * want[c];
        }
        worst = worst_of(worst, (double)sqrtl(off / size));
        mass[k] = 1e-30; /* the potential at one point after the other */
        stepper_put(s, RADII, x, v, mass, 0);
        worst_pot = worst_of(worst_pot, (double)(fabsl(stepper_totals(s).field / 1e-30L - pot) / (1 + fabsl(pot))));
        mass[k] = 0;
    }
    /* some roundings; measured: 2.8e-16 to 5.2e-16, of NFW 1.6e-15, where terms cancel; and 1.4e-16 to 3.1e-16 */
    const double most = f->kind == SAPPORO_FIELD_NFW ? 4e-15 : 2e-15;
    if (!(worst < most)) fail_msg("field %d: acceleration off by %.3g of itself", (int)f->kind, worst);
    if (!(worst_pot < 1e-15)) fail_msg("field %d: potential off by %.3g", (int)f->kind, worst_pot);
    sapporo_stepper_destroy(s);
}

static void fields(void **state)
{
    (void)state;
    if (!stepper_place_usable(&stepper_places[0])) skip();
    for (int k = 0; k < STEPPER_FIELDS; k++) field_at(&stepper_fields[k]);
}

/* At the centre no field pulls, and its potential has the limit there; a point mass counts nothing at its own position.
 */
static void centres(void **state)
{
    static const double at_centre[STEPPER_FIELDS] = {0, -2, -2 / 0.7, -2, -1, 0.5 * 0.9 * -2.407945608651872};
    (void)state;
    if (!stepper_place_usable(&stepper_places[0])) skip();
    for (int k = 0; k < STEPPER_FIELDS; k++) {
        double x[1][3], v[1][3] = {{0}}, mass[1] = {1}, acc[1][3];
        const sapporo_stepper_output out = {.size = sizeof out, .n = 1, .acc = acc};
        sapporo_stepper *s = stepper_in(&stepper_fields[k]);
        memcpy(x[0], stepper_fields[k].centre, sizeof x[0]);
        stepper_put(s, 1, x, v, mass, 0);
        assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_OK);
        assert_true(acc[0][0] == 0 && acc[0][1] == 0 && acc[0][2] == 0);
        const double pot = stepper_totals(s).field;
        if (!(fabs(pot - at_centre[k]) < 1e-15)) fail_msg("field %d: %.17g, not %.17g", k, pot, at_centre[k]);
        sapporo_stepper_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields), cmocka_unit_test(centres)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
