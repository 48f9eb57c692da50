/*
 * test_stepper_hermite.c - Hermite schemes on every engine: order of convergence, forces, division of runs, restarts,
 * landings, massless particles, outputs, what they refuse.  test/examples/test_hermite_ways.sh compares their bits with
 * those of programs that integrate by calls.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runs.h"
#include "stepper_places.h"
#include "tree_cases.h"

/* A stepper with a Plummer sphere of n stars, of which every k-th is massless; k 0: none. */
static sapporo_stepper *cluster(const sapporo_stepper_options *o, int n, int massless)
{
    bodies b = tree_model(CLUSTER_PLUMMER, n);
    for (int i = 0; i < n && massless > 0; i += massless) b.mass[i] = 0;
    sapporo_stepper *s = stepper_make(o, n);
    stepper_put(s, n, b.x, b.v, b.mass, 0.5);
    bodies_free(&b);
    return s;
}

/* ---- convergence ----------------------------------------------------------------------------------- */

/* Returns how far two stars of masses 1/2, on an orbit of eccentricity 1/2, are from where they began, a period later.
 */
static double miss(const struct place *p, sapporo_step_scheme scheme, int steps)
{
    const double period = 6.283185307179586, far = 1.5, speed = sqrt(2 / far - 1);
    double x[2][3] = {{far / 2, 0, 0}, {-far / 2, 0, 0}}, v[2][3] = {{0, speed / 2, 0}, {0, -speed / 2, 0}};
    double mass[2] = {0.5, 0.5};
    static struct stepper_state end;
    const sapporo_tree_options tree = {.size = sizeof tree, .backend = p->backend, .precision = SAPPORO_DP};
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    o.levels = 1;
    o.dt = period / steps;
    sapporo_stepper *s = stepper_make(&o, 2);
    stepper_put(s, 2, x, v, mass, 0);
    stepper_advance(s, INFINITY, steps);
    stepper_get(s, SAPPORO_STEP_OWN, 2, &end);
    sapporo_stepper_destroy(s);
    return hypot(end.x[0][0] - x[0][0], end.x[0][1] - x[0][1]);
}

static void converges(const struct place *p, int order, sapporo_step_scheme scheme)
{
    const int steps = order == 4 ? 400 : order == 6 ? 200 : 160;
    const double coarse = miss(p, scheme, steps), fine = miss(p, scheme, 2 * steps), found = log2(coarse / fine);
    if (!(found > order - 0.6 && coarse < 1e-3))
        fail_msg("%s, order %d: errors %g, %g: order %g", p->name, order, coarse, fine, found);
}

RUNS(convergence, stepper_hermite_everywhere(converges))

/* ---- runs in parts --------------------------------------------------------------------------------- */

static struct stepper_state whole, parts;

static void same_states(const struct place *p, int order, const char *what)
{
    if (memcmp(&whole, &parts, sizeof whole) != 0) fail_msg("%s, order %d: %s differ", p->name, order, what);
}

/* A run in one call has the bytes of one in many, with outputs, energies, a save and a restore in between. */
static void divides(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { N = 70 };
    char path[] = "hermite.XXXXXX";
    const sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    o.iterations = order / 2 - 1;
    sapporo_stepper *const one = cluster(&o, N, 9), *const two = cluster(&o, N, 9), *const three = stepper_make(&o, N);
    stepper_advance(one, 0.75, 0);
    (void)snprintf(path, sizeof path, "hermite.%d", order);
    stepper_advance(two, 0.6, 13);
    (void)stepper_totals(two);
    stepper_get(two, SAPPORO_STEP_NOW, N, &parts);
    stepper_advance(two, INFINITY, 5);
    assert_int_equal(sapporo_stepper_save(two, path), SAPPORO_OK);
    assert_int_equal(sapporo_stepper_restore(three, path), SAPPORO_OK);
    (void)remove(path);
    stepper_advance(three, 0.75, 0);
    stepper_advance(two, 0.75, 0);
    stepper_get(one, SAPPORO_STEP_OWN, N, &whole);
    stepper_get(two, SAPPORO_STEP_OWN, N, &parts);
    same_states(p, order, "runs in parts");
    stepper_get(three, SAPPORO_STEP_OWN, N, &parts);
    same_states(p, order, "runs after a restore");
    sapporo_stepper_destroy(one);
    sapporo_stepper_destroy(two);
    sapporo_stepper_destroy(three);
}

RUNS(division, stepper_hermite_everywhere(divides))

/* ---- steps that a device makes alone --------------------------------------------------------------- */

/* A stepper that keeps nearest neighbours makes each step from the host. */
static sapporo_stepper *looked_at(const sapporo_stepper_options *o, int n, int massless)
{
    sapporo_stepper_options each = *o;
    each.nearest = 1;
    return cluster(&each, n, massless);
}

static void same_figures(const struct place *p, int order, sapporo_stepper *a, sapporo_stepper *b)
{
    const sapporo_stepper_statistics x = stepper_figures(a), y = stepper_figures(b);
    const double now = sapporo_stepper_get_time(a), other = sapporo_stepper_get_time(b);
    assert_true(x.seconds[SAPPORO_STEP_PHASE_FORCE] > 0 && y.seconds[SAPPORO_STEP_PHASE_FORCE] > 0);
    if (x.steps != y.steps || x.particle_steps != y.particle_steps || x.active != y.active || now != other ||
        memcmp(x.level, y.level, sizeof x.level) != 0)
        fail_msg("%s, order %d: %lld and %lld steps of %lld and %lld, %d and %d active, at %g and %g", p->name, order,
                 x.steps, y.steps, x.particle_steps, y.particle_steps, x.active, y.active, now, other);
}

/* Few particles make several steps by one kernel: they have the bits of those of which the host makes each. */
static void steps_alone(const struct place *p, int order, sapporo_step_scheme scheme)
{
    static const struct {
        int n, massless;
        double eps;
    } kind[] = {{2, 0, 0.02}, {33, 0, 0}, {300, 5, 0.02}};
    for (int k = 0; k < 3; k++) {
        const int n = kind[k].n;
        const sapporo_tree_options tree = stepper_tree_at(p, kind[k].eps);
        const sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
        sapporo_stepper *const one = cluster(&o, n, kind[k].massless), *const two = looked_at(&o, n, kind[k].massless);
        stepper_advance(one, INFINITY, 5);
        stepper_advance(two, INFINITY, 5);
        same_figures(p, order, one, two);
        stepper_advance(one, 0.7, 0);
        stepper_advance(two, 0.7, 0);
        same_figures(p, order, one, two);
        stepper_get(one, SAPPORO_STEP_OWN, n, &whole);
        stepper_get(two, SAPPORO_STEP_OWN, n, &parts);
        same_states(p, order, "steps by one kernel and by several");
        sapporo_stepper_destroy(one);
        sapporo_stepper_destroy(two);
    }
}

RUNS(alone, stepper_hermite_everywhere(steps_alone))

/* Runs until a star becomes too fast for a double; writes the words that tell of it, and the particles. */
static void overflow(const sapporo_stepper_options *o, char *words, size_t room, struct stepper_state *state)
{
    double x[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, v[3][3] = {{0, 0, 0}, {0, 1e153, 0}, {1, 0, 0}};
    double mass[3] = {1, 1e-8, 0};
    sapporo_stepper *const s = stepper_make(o, 3);
    stepper_put(s, 3, x, v, mass, 0);
    const int status = sapporo_stepper_advance(s, INFINITY, 400);
    (void)snprintf(words, room, "%s", sapporo_stepper_last_error(s));
    if (status != SAPPORO_ERR_NOT_FINITE) fail_msg("status %d: %s", status, words);
    stepper_get(s, SAPPORO_STEP_OWN, 3, state);
    sapporo_stepper_destroy(s);
}

/*
 * A step that goes wrong is told of in the same words, with the particles of the step before.  In orders 6 and 8 the
 * first force is already beyond a double.
 */
static void ends_alone(const struct place *p, int order, sapporo_step_scheme scheme)
{
    if (order > 4) return;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    const sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    sapporo_stepper_options each = o;
    char here[400], there[400];
    each.nearest = 1;
    overflow(&o, here, sizeof here, &whole);
    overflow(&each, there, sizeof there, &parts);
    if (strcmp(here, there) != 0) fail_msg("%s, order %d: '%s' and '%s'", p->name, order, here, there);
    same_states(p, order, "particles before a step that goes wrong");
}

RUNS(ends, stepper_hermite_everywhere(ends_alone))

/* ---- massless particles ---------------------------------------------------------------------------- */

/* Massless particles change no bit of the orbits of others, and move as these do. */
static void ignores_massless(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { N = 60, MORE = 90 };
    const sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    const sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    bodies b = tree_model(CLUSTER_PLUMMER, MORE);
    for (int i = N; i < MORE; i++) b.mass[i] = 0;
    sapporo_stepper *const some = stepper_make(&o, N), *const all = stepper_make(&o, MORE);
    stepper_put(some, N, b.x, b.v, b.mass, 0);
    for (int times = 0; times < 3; times++) { /* what is left of particles before changes nothing */
        stepper_put(all, MORE, b.x, b.v, b.mass, 0);
        if (times < 2) stepper_advance(all, INFINITY, times + 1);
    }
    stepper_advance(some, 0.25, 0);
    stepper_advance(all, 0.25, 0);
    stepper_get(some, SAPPORO_STEP_OWN, N, &whole);
    stepper_get(all, SAPPORO_STEP_OWN, MORE, &parts);
    assert_memory_equal(whole.x, parts.x, N * sizeof whole.x[0]);
    assert_memory_equal(whole.v, parts.v, N * sizeof whole.v[0]);
    for (int i = N; i < MORE; i++) assert_true(isfinite(parts.pot[i]) && parts.own_time[i] > 0);
    const sapporo_stepper_totals a = stepper_totals(some), c = stepper_totals(all);
    assert_true(fabs(a.potential - c.potential) <= 1e-14 * fabs(a.potential));
    sapporo_stepper_destroy(some);
    sapporo_stepper_destroy(all);
    bodies_free(&b);
    (void)order;
}

RUNS(massless, stepper_hermite_everywhere(ignores_massless))

/* ---- energy, potentials, landings ------------------------------------------------------------------ */

/* Sums of the pairs of the particles of `whole`. */
static double potential_of_pairs(int n, double eps, double *pot)
{
    long double sum = 0;
    for (int i = 0; i < n; i++) {
        long double mine = 0;
        for (int j = 0; j < n; j++) {
            long double r2 = (long double)eps * eps;
            for (int c = 0; c < 3; c++) r2 += powl((long double)whole.x[i][c] - whole.x[j][c], 2);
            if (j != i) mine -= whole.mass[j] / sqrtl(r2);
        }
        pot[i] = (double)mine;
        sum += whole.mass[i] * mine / 2;
    }
    return (double)sum;
}

static double energy_of_pair(sapporo_stepper *s)
{
    const sapporo_stepper_totals t = stepper_totals(s);
    return t.kinetic + t.potential;
}

/* Potentials and energy are those of the present places, in the middle of steps too; energy is kept. */
static void keeps_energy(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { N = 200 };
    static double pot[N];
    const double eps = 0.03, bound = order == 4 ? 1e-6 : 1e-7;
    const sapporo_tree_options tree = stepper_tree_at(p, eps);
    const sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    sapporo_stepper *const s = cluster(&o, N, 0);
    const sapporo_stepper_totals before = stepper_totals(s);
    stepper_advance(s, 1.0, 0);
    stepper_advance(s, INFINITY, 3);
    stepper_get(s, SAPPORO_STEP_NOW, N, &whole);
    const sapporo_stepper_totals now = stepper_totals(s);
    const double exact = potential_of_pairs(N, eps, pot),
                 change = now.kinetic + now.potential - before.kinetic - before.potential;
    if (!(fabs(now.potential - exact) <= 1e-12 * fabs(exact)))
        fail_msg("%s: energy %a not %a", p->name, now.potential, exact);
    for (int i = 0; i < N; i++)
        if (!(fabs(whole.pot[i] - pot[i]) <= 1e-12 * fabs(pot[i]))) fail_msg("%s: potential of %d", p->name, i);
    if (!(fabs(change) <= bound)) fail_msg("%s, order %d: energy changes by %g", p->name, order, change);
    sapporo_stepper_destroy(s);
}

RUNS(energy, stepper_hermite_everywhere(keeps_energy))

/* A stepper that lands is at the time itself, and goes on from there. */
static void lands(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { N = 50 };
    const sapporo_tree_options tree = stepper_tree_at(p, 0.03);
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    o.landing = 1;
    o.iterations = 2;
    sapporo_stepper *const s = cluster(&o, N, 0), *const free_of_them = cluster(&o, N, 0);
    const sapporo_stepper_totals before = stepper_totals(s);
    stepper_advance(s, 0.71, 0);
    assert_true(sapporo_stepper_get_time(s) == 0.71);
    stepper_get(s, SAPPORO_STEP_OWN, N, &whole);
    for (int i = 0; i < N; i++) assert_true(whole.own_time[i] == 0.71);
    stepper_advance(s, 1, 0);
    stepper_advance(free_of_them, 1, 0);
    stepper_get(s, SAPPORO_STEP_NOW, N, &whole);
    stepper_get(free_of_them, SAPPORO_STEP_NOW, N, &parts);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++)
            if (!(fabs(whole.x[i][c] - parts.x[i][c]) < 1e-3))
                fail_msg("%s, order %d: a landing moves particle %d by %g", p->name, order, i,
                         whole.x[i][c] - parts.x[i][c]);
    const sapporo_stepper_totals after = stepper_totals(s);
    assert_true(fabs(after.kinetic + after.potential - before.kinetic - before.potential) < 1e-5);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(free_of_them);
}

RUNS(landings, stepper_hermite_everywhere(lands))

/* ---- iterations ------------------------------------------------------------------------------------ */

/* Two stars of masses 1/2 by P(EC)^n of order 4 with constant steps, in extended precision. */
struct orbit {
    long double x[3], v[3], a[3], j[3], s[3]; /* of the second star from the first one */
};

static void pull(struct orbit *o)
{
    long double r2 = 0, rv = 0;
    for (int c = 0; c < 3; c++) r2 += o->x[c] * o->x[c], rv += o->x[c] * o->v[c];
    const long double r3 = r2 * sqrtl(r2);
    for (int c = 0; c < 3; c++) {
        o->a[c] = -o->x[c] / r3;
        o->j[c] = -(o->v[c] - 3 * rv / r2 * o->x[c]) / r3;
    }
}

/* One step: Makino and Aarseth (1992), with the terms of the next two derivatives of the acceleration. */
static void correct(struct orbit *o, long double dt, int iterations)
{
    const struct orbit from = *o;
    struct orbit p = from;
    for (int c = 0; c < 3; c++) {
        p.x[c] += dt * (from.v[c] + dt / 2 * (from.a[c] + dt / 3 * from.j[c]));
        p.v[c] += dt * (from.a[c] + dt / 2 * from.j[c]);
    }
    const struct orbit predicted = p;
    for (int c = 0; c < 3; c++) { /* the first evaluation is where the snap of the last step leads */
        p.x[c] += powl(dt, 4) / 24 * from.s[c];
        p.v[c] += powl(dt, 3) / 6 * from.s[c];
    }
    for (int k = 0; k < iterations; k++) {
        pull(&p);
        for (int c = 0; c < 3; c++) {
            const long double change = from.a[c] - p.a[c];
            const long double a2 = (-6 * change - dt * (4 * from.j[c] + 2 * p.j[c])) / (dt * dt);
            const long double a3 = (12 * change + 6 * dt * (from.j[c] + p.j[c])) / (dt * dt * dt);
            o->x[c] = predicted.x[c] + powl(dt, 4) / 24 * (a2 + dt / 5 * a3);
            o->v[c] = predicted.v[c] + powl(dt, 3) / 6 * (a2 + dt / 4 * a3);
            o->a[c] = p.a[c];
            o->j[c] = p.j[c];
            o->s[c] = a2 + dt * a3;
        }
        memcpy(p.x, o->x, sizeof p.x);
        memcpy(p.v, o->v, sizeof p.v);
    }
}

/* Orbits of order 4 are those of the formulas; in all orders energy is kept the better by iterations. */
static void iterates(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { STEPS = 300 };
    const double far = 1.5, speed = sqrt(2 / far - 1), dt = order == 4 ? 1.0 / 64 : 1.0 / 16;
    double x[2][3] = {{-far / 2, 0, 0}, {far / 2, 0, 0}}, v[2][3] = {{0, -speed / 2, 0}, {0, speed / 2, 0}};
    double mass[2] = {0.5, 0.5}, change[2];
    for (int k = 0; k < 2; k++) {
        const sapporo_tree_options tree = {.size = sizeof tree, .backend = p->backend, .precision = SAPPORO_DP};
        sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
        o.levels = 1;
        o.dt = dt;
        o.iterations = k ? 4 : 0;
        sapporo_stepper *const s = stepper_make(&o, 2);
        stepper_put(s, 2, x, v, mass, 0);
        const double before = energy_of_pair(s);
        stepper_advance(s, INFINITY, STEPS);
        change[k] = fabs(energy_of_pair(s) - before);
        stepper_get(s, SAPPORO_STEP_OWN, 2, &whole);
        sapporo_stepper_destroy(s);
        struct orbit exact = {.x = {far}, .v = {0, speed}};
        pull(&exact);
        for (int m = 0; m < STEPS; m++) correct(&exact, dt, k ? 4 : 1);
        for (int c = 0; c < 3 && order == 4; c++)
            if (!(fabsl(whole.x[1][c] - whole.x[0][c] - exact.x[c]) < 1e-11))
                fail_msg("%s, %d iterations: %.17g for %.17Lg", p->name, o.iterations, whole.x[1][c] - whole.x[0][c],
                         exact.x[c]);
    }
    if (!(change[1] < change[0] / 2))
        fail_msg("%s, order %d: energy changes by %g, with iterations by %g", p->name, order, change[0], change[1]);
}

RUNS(iterations, stepper_hermite_everywhere(iterates))

/* ---- numbers beyond single precision --------------------------------------------------------------- */

/* In other units, powers of two, a run has the same bits, multiplied. */
static void keeps_units(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { N = 40 };
    const int lengths[] = {64, -64}, masses[] = {96, -32};
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    for (int k = 0; k < 3; k++) {
        const int length = k ? lengths[k - 1] : 0, mass = k ? masses[k - 1] : 0, time = (3 * length - mass) / 2;
        sapporo_tree_options tree = stepper_tree_at(p, ldexp(0.03, length));
        tree.precision = SAPPORO_DS;
        sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
        o.dt = ldexp(o.dt, time);
        bodies other = tree_model(CLUSTER_PLUMMER, N);
        for (int i = 0; i < N; i++) {
            other.mass[i] = ldexp(b.mass[i], mass);
            for (int c = 0; c < 3; c++) {
                other.x[i][c] = ldexp(b.x[i][c], length);
                other.v[i][c] = ldexp(b.v[i][c], length - time);
            }
        }
        sapporo_stepper *const s = stepper_make(&o, N);
        stepper_put(s, N, other.x, other.v, other.mass, 0);
        stepper_advance(s, INFINITY, 40);
        stepper_get(s, SAPPORO_STEP_OWN, N, k ? &parts : &whole);
        sapporo_stepper_destroy(s);
        bodies_free(&other);
        for (int i = 0; i < N && k; i++)
            for (int c = 0; c < 3; c++)
                if (parts.x[i][c] != ldexp(whole.x[i][c], length))
                    fail_msg("%s, order %d: with lengths times 2^%d particle %d differs", p->name, order, length, i);
    }
    bodies_free(&b);
}

RUNS(units, stepper_hermite_everywhere(keeps_units))

/* ---- fields ---------------------------------------------------------------------------------------- */

/* Returns the energy of massless particles of mass 1 in a field, from its own formula, by sums of the stepper. */
static double energy_of(sapporo_stepper *s)
{
    const sapporo_stepper_totals t = stepper_totals(s);
    return t.kinetic + t.potential + t.field;
}

/* A star in each field keeps its energy the better, by the order, the shorter its steps are. */
static void orbits_in_fields(const struct place *p, int order, sapporo_step_scheme scheme)
{
    double x[1][3] = {{1, 0.3, 0.2}}, v[1][3] = {{-0.2, 0.7, 0.3}}, mass[1] = {1};
    for (int k = 0; k < STEPPER_FIELDS; k++) {
        double change[2];
        for (int fine = 0; fine < 2; fine++) {
            const sapporo_tree_options tree = {.size = sizeof tree, .backend = p->backend, .precision = SAPPORO_DP};
            sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
            o.levels = 1;
            o.iterations = 1 + k % 3;
            o.dt = (order == 4 ? 1.0 / 64 : 1.0 / 16) / (fine ? 2 : 1);
            o.nfields = 1;
            o.fields = &stepper_fields[k];
            sapporo_stepper *const s = stepper_make(&o, 1);
            stepper_put(s, 1, x, v, mass, 0);
            const double before = energy_of(s);
            stepper_advance(s, 2, 0);
            change[fine] = fabs(energy_of(s) - before);
            sapporo_stepper_destroy(s);
        }
        const double found = log2(change[0] / change[1]);
        if (!(change[0] < 1e-4 && (found > order - 1.2 || change[1] < 1e-13)))
            fail_msg("%s, order %d, field %d: energy changes by %g, %g", p->name, order, k, change[0], change[1]);
    }
}

RUNS(fields, stepper_hermite_everywhere(orbits_in_fields))

/* Massless particles alone, in a field, with steps of their own: each has the orbit that it has without the others. */
static void massless_in_field(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { N = 5 };
    double x[N][3] = {{1, 0, 0}, {0, 0.05, 0}, {0.3, 0.3, 0}, {0, 0, 2}, {0.01, 0, 0.02}}, v[N][3] = {{0}},
           mass[N] = {0};
    const sapporo_tree_options tree = stepper_tree_at(p, 0);
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    o.nfields = 1;
    o.fields = &stepper_fields[2]; /* Hernquist's */
    for (int i = 0; i < N; i++) v[i][1] = 0.3 + 0.1 * i;
    sapporo_stepper *const all = stepper_make(&o, N), *const one = stepper_make(&o, 1);
    stepper_put(all, N, x, v, mass, 0);
    stepper_advance(all, 0.5, 0);
    stepper_get(all, SAPPORO_STEP_OWN, N, &whole);
    assert_true(stepper_figures(all).particle_steps > stepper_figures(all).steps);
    assert_true(stepper_totals(all).potential == 0);
    for (int i = 0; i < N; i++) {
        stepper_put(one, 1, &x[i], &v[i], &mass[i], 0);
        stepper_advance(one, 0.5, 0);
        stepper_get(one, SAPPORO_STEP_OWN, 1, &parts);
        if (memcmp(whole.x[i], parts.x[0], sizeof whole.x[i]) != 0)
            fail_msg("%s, order %d: particle %d has another orbit alone", p->name, order, i);
    }
    sapporo_stepper_destroy(all);
    sapporo_stepper_destroy(one);
}

RUNS(massless_alone, stepper_hermite_everywhere(massless_in_field))

/* Without any mass all potentials are +0 to the last bit at all times, and no particle has a neighbour. */
static void feels_nothing(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { N = 5 };
    double x[N][3] = {{1, 0, 0}, {0, 0.05, 0}, {0.3, 0.3, 0}, {0, 0, 2}, {0.01, 0, 0.02}}, v[N][3] = {{0, 1, 0}},
           mass[N] = {0};
    const double nothing[N] = {0};
    const sapporo_tree_options tree = stepper_tree_at(p, 0);
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    o.nearest = 1;
    sapporo_stepper *const s = stepper_make(&o, N);
    stepper_put(s, N, x, v, mass, 0);
    stepper_advance(s, 0.5, 0);
    double pot[N] = {0}, r2[N] = {0};
    int nearest[N] = {0};
    for (int now = 0; now < 2; now++) {
        const sapporo_stepper_output output = {.size = sizeof output,
                                               .n = N,
                                               .when = now ? SAPPORO_STEP_NOW : SAPPORO_STEP_OWN,
                                               .pot = pot,
                                               .nearest = nearest,
                                               .nearest_r2 = r2};
        if (sapporo_stepper_get(s, &output)) fail_msg("%s", sapporo_stepper_last_error(s));
        if (memcmp(pot, nothing, sizeof pot) != 0) fail_msg("%s, order %d: potential %a", p->name, order, pot[0]);
        for (int i = 0; i < N; i++) assert_true(nearest[i] == -1 && isinf(r2[i]));
    }
    sapporo_stepper_destroy(s);
}

RUNS(nothing, stepper_hermite_everywhere(feels_nothing))

/* ---- what is refused ------------------------------------------------------------------------------- */

static void refuse(const sapporo_stepper_options *o, int status, const char *why)
{
    sapporo_stepper *s = NULL;
    assert_int_equal(sapporo_stepper_create(o, 10, &s), status);
    assert_null(s);
    if (!strstr(sapporo_stepper_last_error(NULL), why)) fail_msg("%s", sapporo_stepper_last_error(NULL));
}

static void test_refusals(void **state)
{
    const sapporo_tree_options tree = {.size = sizeof tree, .backend = SAPPORO_BACKEND_CPU};
    sapporo_stepper_options o = stepper_hermite_options(&tree, SAPPORO_STEPS_HERMITE4);
    sapporo_stepper *s = NULL;
    (void)state;
    o.method = SAPPORO_STEP_TREE;
    refuse(&o, SAPPORO_ERR_UNSUPPORTED, "direct sums");
    o.method = SAPPORO_STEP_DIRECT;
    o.criterion = SAPPORO_STEP_BY_CHANGE;
    refuse(&o, SAPPORO_ERR_ARGUMENT, "leap-frogs");
    o.criterion = SAPPORO_STEP_BY_MEAN;
    refuse(&o, SAPPORO_ERR_ARGUMENT, "orders 6 and 8");
    o.criterion = SAPPORO_STEP_BY_AARSETH;
    o.eta_start = -1;
    refuse(&o, SAPPORO_ERR_ARGUMENT, "eta_start");
    o.eta_start = 0;
    sapporo_tree_options spline = tree;
    spline.softening = SAPPORO_SOFTENING_SPLINE_LARGER;
    o.tree = &spline;
    refuse(&o, SAPPORO_ERR_UNSUPPORTED, "Plummer");
    o.tree = &tree;
    o.scheme = SAPPORO_STEPS_BLOCK;
    refuse(&o, SAPPORO_ERR_ARGUMENT, "Hermite");
    o.scheme = SAPPORO_STEPS_HERMITE4;
    o.size = offsetof(sapporo_stepper_options, eta_start); /* of a caller that knows no such schemes */
    assert_int_equal(sapporo_stepper_create(&o, 10, &s), SAPPORO_OK);
    sapporo_stepper_destroy(s);
}

/* Two stars at one place give no finite force without softening only if they are the same one: a pair is skipped. */
static void tells_of_nan(const struct place *p, int order, sapporo_step_scheme scheme)
{
    const sapporo_tree_options tree = stepper_tree_at(p, 0);
    const sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    double x[2][3] = {{0, 0, 0}, {1e-140, 0, 0}}, v[2][3] = {{0, 0, 0}}, mass[2] = {1, 1};
    const sapporo_stepper_particles particles = {
        .size = sizeof particles, .n = 2, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}};
    sapporo_stepper *const s = stepper_make(&o, 2);
    const int status = sapporo_stepper_set(s, &particles);
    if (status && status != SAPPORO_ERR_NOT_FINITE) fail_msg("%s, order %d: %d", p->name, order, status);
    if (!status) { /* the force is zero or finite: then the run goes on, or says why not */
        const int moved = sapporo_stepper_advance(s, INFINITY, 2);
        assert_true(moved == SAPPORO_OK || moved == SAPPORO_ERR_NOT_FINITE || moved == SAPPORO_ERR_ARGUMENT);
        sapporo_stepper_totals t = {.size = sizeof t};
        (void)sapporo_stepper_energy(s, &t);
    }
    sapporo_stepper_destroy(s);
}

RUNS(extremes, stepper_hermite_everywhere(tells_of_nan))

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convergence),   cmocka_unit_test(division),       cmocka_unit_test(massless),
        cmocka_unit_test(energy),        cmocka_unit_test(landings),       cmocka_unit_test(units),
        cmocka_unit_test(fields),        cmocka_unit_test(massless_alone), cmocka_unit_test(nothing),
        cmocka_unit_test(test_refusals), cmocka_unit_test(extremes),       cmocka_unit_test(iterations),
        cmocka_unit_test(alone),         cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
