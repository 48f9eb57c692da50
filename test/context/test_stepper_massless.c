/*
 * test_stepper_massless.c - massless particles in steppers on every engine: they change no bit of the orbits of the
 * others, their forces are those of the particles with mass, and their runs divide as those of the others do.
 */
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

#include "runs.h"
#include "stepper_places.h"
#include "tree_cases.h"
#include "worst.h"

enum { MOST = STEPPER_MOST, STARS = 300 };

struct set {
    int n;
    double x[MOST][3], v[MOST][3], mass[MOST];
};

static struct set stars, mixed; /* STARS stars; the same with massless particles among them */

/* Where massless particles stand among the stars. */
enum where { FIRST, AMONG, LAST };

/* Makes a Plummer sphere of `massive` stars, and adds massless particles from another one of 1.5 times the size. */
static void mix(int massive, int massless, enum where where)
{
    bodies a = tree_model(CLUSTER_PLUMMER, massive > 1 ? massive : 2), b = tree_model(CLUSTER_HERNQUIST, massless + 2);
    int star = 0, tracer = 0;
    stars.n = massive;
    mixed.n = massive + massless;
    assert_true(mixed.n <= MOST);
    for (int i = 0; i < mixed.n; i++) {
        const int left = mixed.n - i,
                  is_star = star < massive && (tracer == massless || where == LAST ||
                                               (where == AMONG && (i * 7 + i / 3) % left >= massless - tracer));
        for (int c = 0; c < 3; c++) {
            mixed.x[i][c] = is_star ? a.x[star][c] : 1.5 * b.x[tracer][c];
            mixed.v[i][c] = is_star ? a.v[star][c] : b.v[tracer][c];
        }
        mixed.mass[i] = is_star ? a.mass[star] : tracer % 2 ? -0.0 : 0.0;
        if (is_star) {
            memcpy(stars.x[star], mixed.x[i], sizeof stars.x[star]);
            memcpy(stars.v[star], mixed.v[i], sizeof stars.v[star]);
            stars.mass[star++] = mixed.mass[i];
        } else {
            tracer++;
        }
    }
    bodies_free(&a);
    bodies_free(&b);
}

/* ---- steppers ------------------------------------------------------------------------------------- */

static sapporo_stepper_options options_at(const struct place *p, const sapporo_tree_options *tree, int rebuild)
{
    return (sapporo_stepper_options){
        .size = sizeof(sapporo_stepper_options), .method = p->method, .tree = tree, .dt = 1.0 / 64, .rebuild = rebuild};
}

static sapporo_stepper_options blocks_at(const struct place *p, const sapporo_tree_options *tree, int rebuild)
{
    sapporo_stepper_options o = options_at(p, tree, rebuild);
    o.scheme = SAPPORO_STEPS_BLOCK;
    o.criterion = rebuild == 1 ? SAPPORO_STEP_BY_CHANGE : SAPPORO_STEP_BY_ACCELERATION;
    o.dt = 1.0 / 8;
    o.levels = 6;
    return o;
}

static void put(sapporo_stepper *s, struct set *from) { stepper_put(s, from->n, from->x, from->v, from->mass, 0.5); }

/* A stepper with the particles of a set, if there is one. */
static sapporo_stepper *make(const sapporo_stepper_options *o, struct set *from)
{
    sapporo_stepper *s = stepper_make(o, MOST);
    if (from) put(s, from);
    return s;
}

/* ---- the others ------------------------------------------------------------------------------------ */

static int same(const double *a, const double *b) { return memcmp(a, b, 3 * sizeof *a) == 0; }

/* Compares the stars of both steppers, and the figures of their trees. */
static void compare_stars(const struct place *p, sapporo_stepper *alone, sapporo_stepper *with, const char *what)
{
    static struct stepper_state a, b;
    const sapporo_stepper_statistics f = stepper_figures(alone), g = stepper_figures(with);
    stepper_get(alone, SAPPORO_STEP_OWN, stars.n, &a);
    stepper_get(with, SAPPORO_STEP_OWN, mixed.n, &b);
    for (int i = 0, k = 0; i < mixed.n; i++) {
        assert_true(b.label[i] == i && memcmp(&b.mass[i], &mixed.mass[i], sizeof b.mass[i]) == 0);
        if (mixed.mass[i] == 0) continue;
        if (!same(a.x[k], b.x[i]) || !same(a.v[k], b.v[i]) || !same(a.acc[k], b.acc[i]) || a.pot[k] != b.pot[i] ||
            a.own_time[k] != b.own_time[i] || a.level[k] != b.level[i])
            fail_msg("%s, %s: star %d has x %a, not %a", p->name, what, k, b.x[i][0], a.x[k][0]);
        k++;
    }
    assert_int_equal(f.massive, stars.n);
    assert_int_equal(g.massive, stars.n);
    assert_int_equal(g.n, mixed.n);
    assert_true(f.builds == g.builds || p->method != SAPPORO_STEP_TREE || strstr(what, "new tree"));
    if (g.active == g.n) assert_true(f.interactions == g.interactions);
}

/* Massless particles change no bit of the orbits of others: with one step for all, and in blocks of any structure. */
static void alone_at(const struct place *p)
{
    static const struct {
        const char *name;
        int block, rebuild;
    } kinds[] = {{"shared", 0, 3}, {"blocks", 1, 0}, {"blocks, new trees in turns", 1, 3}, {"blocks, new trees", 1, 1}};
    const sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    mix(STARS, 137, AMONG);
    for (int k = 0; k < 4; k++) {
        const sapporo_stepper_options o = (kinds[k].block ? blocks_at : options_at)(p, &tree, kinds[k].rebuild);
        sapporo_stepper *alone = make(&o, &stars), *with = make(&o, &mixed);
        compare_stars(p, alone, with, "start");
        for (int part = 1; part <= 2; part++) {
            stepper_advance(alone, 0.5 + part * 0.125, 0);
            stepper_advance(with, 0.5 + part * 0.125, 0);
            assert_true(sapporo_stepper_get_time(alone) == sapporo_stepper_get_time(with));
            compare_stars(p, alone, with, kinds[k].name);
            const sapporo_stepper_totals t = stepper_totals(alone), u = stepper_totals(with);
            assert_true(fabs(t.potential - u.potential) < 2e-15 && fabs(t.kinetic - u.kinetic) < 1e-15);
        }
        sapporo_stepper_destroy(alone);
        sapporo_stepper_destroy(with);
    }
}

RUNS(alone, stepper_everywhere(alone_at, 0))

/* ---- forces ----------------------------------------------------------------------------------------- */

/* The force of the stars on a massless particle, in extended precision. */
static void exact_force(const struct set *all, int i, long double eps2, long double *acc, long double *pot)
{
    acc[0] = acc[1] = acc[2] = *pot = 0;
    for (int j = 0; j < all->n; j++) {
        long double r[3], r2 = eps2;
        for (int c = 0; c < 3; c++) r[c] = (long double)all->x[j][c] - all->x[i][c], r2 += r[c] * r[c];
        if (j == i || all->mass[j] == 0 || !(r2 > 0)) continue;
        const long double of_r = 1 / sqrtl(r2);
        *pot -= all->mass[j] * of_r;
        for (int c = 0; c < 3; c++) acc[c] += all->mass[j] * of_r * of_r * of_r * r[c];
    }
}

/* The largest relative error of forces on massless particles. */
static double largest_error(const struct set *all, const struct stepper_state *s, double eps2, double *of_pot)
{
    double most = 0;
    *of_pot = 0;
    for (int i = 0; i < all->n; i++) {
        long double acc[3], pot, off = 0, size = 0;
        if (all->mass[i] != 0) continue;
        exact_force(all, i, (long double)eps2, acc, &pot);
        for (int c = 0; c < 3; c++) {
            off += (s->acc[i][c] - acc[c]) * (s->acc[i][c] - acc[c]);
            size += acc[c] * acc[c];
        }
        most = worst_of(most, (double)sqrtl(off / size));
        *of_pot = worst_of(*of_pot, (double)fabsl(s->pot[i] / pot - 1));
    }
    return most;
}

static void check_forces(const struct place *p, int massive, int massless, enum where where, double eps)
{
    static struct stepper_state s;
    const int direct = p->method == SAPPORO_STEP_DIRECT;
    const sapporo_tree_options tree = stepper_tree_at(p, eps);
    const sapporo_stepper_options o = options_at(p, &tree, 2);
    struct set *const now = &mixed;
    mix(massive, massless, where);
    if (eps == 0) memcpy(now->x[0], now->x[now->n - 1], sizeof now->x[0]); /* a massless particle upon a star */
    sapporo_stepper *stepper = make(&o, now);
    for (int step = 0; step < 3; step++) {
        double pot_error;
        stepper_get(stepper, SAPPORO_STEP_NOW, now->n, &s);
        memcpy(now->x, s.x, sizeof s.x);
        const double error = largest_error(now, &s, eps * eps, &pot_error);
        const double most = direct ? 5e-6 : 0.02, most_pot = direct ? 1e-6 : 2e-3;
        if (!(error < most && pot_error < most_pot))
            fail_msg("%s, %d stars, %d massless, step %d: errors %g and %g", p->name, massive, massless, step, error,
                     pot_error);
        stepper_advance(stepper, INFINITY, 1);
    }
    assert_int_equal(stepper_figures(stepper).massive, massive);
    assert_true(stepper_figures(stepper).steps == 3 && stepper_figures(stepper).particle_steps == 3LL * now->n);
    sapporo_stepper_destroy(stepper);
}

/* Forces on massless particles that are many, few, or alone with one star; before, among and behind the stars. */
static void forces_at(const struct place *p)
{
    check_forces(p, STARS, 150, AMONG, 0.05);
    check_forces(p, MOST - 7, 7, AMONG, 0.05);
    check_forces(p, MOST - 100, 100, LAST, 0.05);
    check_forces(p, 1, 90, FIRST, 0.05);
    check_forces(p, 60, 900, FIRST, 0);
}

RUNS(forces, stepper_everywhere(forces_at, 0))

/* Compares the forces on all particles of a set of few with sums in extended precision; pair terms are in float, and
 * are off by up to 3.1e-7. */
static void check_few(const struct place *p, struct set *all, int massless)
{
    static struct stepper_state s;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    const sapporo_stepper_options o = options_at(p, &tree, 1);
    sapporo_stepper *stepper = make(&o, all);
    stepper_get(stepper, SAPPORO_STEP_NOW, all->n, &s);
    assert_int_equal(stepper_figures(stepper).massive, all->n - massless);
    for (int i = 0; i < all->n; i++) {
        long double acc[3], pot, off = 0, size = 0;
        exact_force(all, i, (long double)tree.eps2, acc, &pot);
        for (int c = 0; c < 3; c++) {
            off += (s.acc[i][c] - acc[c]) * (s.acc[i][c] - acc[c]);
            size += acc[c] * acc[c];
        }
        if (size == 0 && off == 0 && s.pot[i] == 0) continue; /* no other particle has mass */
        const double error = worst_of((double)sqrtl(off / size), (double)fabsl(s.pot[i] / pot - 1));
        if (!(error < 2e-6)) fail_msg("%s: particle %d of %d is off by %g", p->name, i, all->n, error);
    }
    sapporo_stepper_destroy(stepper);
}

/* One massless particle, and two, at each place among a few others, which have mass. */
static void places_at(const struct place *p)
{
    static struct set b;
    for (b.n = 1; b.n <= 5; b.n++)
        for (int first = 0; first < b.n; first++)
            for (int second = first; second < b.n; second++) {
                for (int i = 0; i < b.n; i++) {
                    for (int c = 0; c < 3; c++) b.x[i][c] = sin(1 + 2.7 * i + c * (1.3 + i)), b.v[i][c] = 0;
                    b.mass[i] = i == first || i == second ? 0 : 1 + 0.25 * i;
                }
                check_few(p, &b, 1 + (second > first));
            }
}

RUNS(places, stepper_everywhere(places_at, 0))

/* ---- orbits -------------------------------------------------------------------------------------------- */

/* Where a massless particle is at time 2 on an orbit about a star; others fly about. */
static void orbit(const struct place *p, double dt, int block, double *at)
{
    enum { BODIES = 6 };
    static struct set b;
    static struct stepper_state s;
    sapporo_tree_options tree = stepper_tree_at(p, 1e-3);
    sapporo_stepper_options o = options_at(p, &tree, 1);
    tree.precision = SAPPORO_DP;
    b.n = BODIES;
    memset(b.x, 0, sizeof b.x);
    memset(b.v, 0, sizeof b.v);
    memset(b.mass, 0, sizeof b.mass);
    for (int k = 0; k < BODIES; k++) {
        b.x[k][0] = 1 + k;
        b.v[k][1] = 0.85 / sqrt(1 + k);
    }
    b.x[BODIES - 1][0] = b.v[BODIES - 1][1] = 0;
    b.mass[BODIES - 1] = 1;
    o.dt = dt;
    if (block) {
        o.scheme = SAPPORO_STEPS_BLOCK;
        o.criterion = SAPPORO_STEP_BY_CHANGE;
        o.dt = 0.25;
        o.eta = dt;
        o.levels = 20;
    }
    sapporo_stepper *stepper = make(&o, &b);
    stepper_advance(stepper, 2.5, 0);
    assert_true(sapporo_stepper_get_time(stepper) == 2.5);
    stepper_get(stepper, SAPPORO_STEP_NOW, BODIES, &s);
    memcpy(at, s.x[0], sizeof s.x[0]);
    sapporo_stepper_destroy(stepper);
}

static double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

/* Both schemes are of second order: a quarter of the step has a sixteenth of the error. */
static void convergence_at(const struct place *p)
{
    double exact[3], long_steps[3], short_steps[3];
    orbit(p, 1.0 / 256, 0, exact);
    orbit(p, 1.0 / 16, 0, long_steps);
    orbit(p, 1.0 / 64, 0, short_steps);
    const double ratio = distance(long_steps, short_steps) / distance(short_steps, exact); /* 16 */
    if (!(ratio > 12 && ratio < 20)) fail_msg("%s: error falls by %g", p->name, ratio);
    orbit(p, 0.08, 1, long_steps);
    orbit(p, 0.02, 1, short_steps);
    const double block = distance(long_steps, exact) / distance(short_steps, exact);
    if (!(block > 12 && block < 20)) fail_msg("%s: error of blocks falls by %g", p->name, block);
}

RUNS(convergence, stepper_everywhere(convergence_at, 1))

/* ---- division of runs ------------------------------------------------------------------------------------ */

/* A run that was saved, restored, asked and divided has the bytes of one that was not. */
static void divide(const struct place *p, int rebuild)
{
    enum { STEPS = 24 };
    static struct stepper_state a, b;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    const sapporo_field field = {SAPPORO_FIELD_PLUMMER, 0.3, 0.5, 0, {0.1, 0, 0}};
    sapporo_stepper_options o = blocks_at(p, &tree, rebuild);
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/sapporo-massless-%ld", (long)getpid());
    o.nfields = 1;
    o.fields = &field;
    sapporo_stepper *whole = make(&o, &mixed), *part = make(&o, &mixed);
    stepper_advance(whole, INFINITY, STEPS);
    for (int k = 0; k < 3; k++) {
        stepper_advance(part, INFINITY, 3 + 2 * k);
        (void)stepper_totals(part);
        if (sapporo_stepper_save(part, path)) fail_msg("%s", sapporo_stepper_last_error(part));
        stepper_advance(part, INFINITY, 2);
        if (k > 0) {
            sapporo_stepper_destroy(part);
            part = make(&o, NULL);
        }
        if (sapporo_stepper_restore(part, path)) fail_msg("%s", sapporo_stepper_last_error(part));
    }
    stepper_advance(part, INFINITY, STEPS - 15);
    const sapporo_stepper_statistics f = stepper_figures(whole), g = stepper_figures(part);
    assert_memory_equal(f.level, g.level, sizeof f.level);
    assert_true(f.steps == STEPS && g.steps == STEPS && f.builds == g.builds && f.particle_steps == g.particle_steps);
    assert_true(f.massive == g.massive && f.particle_steps < (STEPS - 2) * (long long)mixed.n);
    stepper_get(whole, SAPPORO_STEP_OWN, mixed.n, &a);
    stepper_get(part, SAPPORO_STEP_OWN, mixed.n, &b);
    assert_memory_equal(&a, &b, sizeof a);
    sapporo_stepper_destroy(whole);
    sapporo_stepper_destroy(part);
    assert_int_equal(unlink(path), 0);
}

static void division_at(const struct place *p)
{
    mix(STARS, 100, AMONG);
    divide(p, p->method == SAPPORO_STEP_DIRECT ? 1 : p->kind == SAPPORO_TREE_KDTREE ? 3 : 0);
    mix(2, 80, FIRST);
    divide(p, 1);
}

RUNS(division, stepper_everywhere(division_at, 0))

/* ---- ends ------------------------------------------------------------------------------------------------ */

/* One stepper takes sets without, with, and of nothing but massless particles in turn, with the bits of a new one. */
static void in_turns_at(const struct place *p)
{
    static struct stepper_state a, b;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    const sapporo_field field = {SAPPORO_FIELD_PLUMMER, 1, 0.5, 0, {0, 0, 0}};
    sapporo_stepper_options o = blocks_at(p, &tree, 3);
    o.nfields = 1;
    o.fields = &field;
    sapporo_stepper *one = make(&o, NULL);
    for (int k = 0; k < 5; k++) {
        mix(k == 2 ? 0 : 50 + k, k == 1 ? 0 : 40 + 3 * k, AMONG);
        sapporo_stepper *other = make(&o, &mixed);
        put(one, &mixed);
        stepper_advance(one, INFINITY, 4);
        stepper_advance(other, INFINITY, 4);
        stepper_get(one, SAPPORO_STEP_OWN, mixed.n, &a);
        stepper_get(other, SAPPORO_STEP_OWN, mixed.n, &b);
        assert_memory_equal(&a, &b, sizeof a);
        assert_int_equal(stepper_figures(one).massive, stars.n);
        const sapporo_stepper_totals t = stepper_totals(one);
        assert_true(k == 2 ? t.potential == 0 && t.kinetic == 0 : t.potential < 0);
        assert_true(k != 2 || stepper_figures(one).interactions == 0);
        sapporo_stepper_destroy(other);
    }
    sapporo_stepper_destroy(one);
}

RUNS(in_turns, stepper_everywhere(in_turns_at, 0))

/* A massless particle too far from a tree for a force ends the run; all particles stay where they were. */
static void far_away_at(const struct place *p)
{
    static struct set b = {.n = 4, .x = {{3, 0, 0}, {0, 0, 0}, {2, 0, 0}, {1, 0, 0}}, .mass = {0, 1, 0, 1}};
    static struct stepper_state s;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    const sapporo_stepper_options o = options_at(p, &tree, 1);
    if (p->method == SAPPORO_STEP_DIRECT) return;
    b.v[2][1] = 1e96;
    sapporo_stepper *stepper = make(&o, &b);
    assert_int_equal(sapporo_stepper_advance(stepper, 2, 0), SAPPORO_ERR_NOT_FINITE);
    if (!strstr(sapporo_stepper_last_error(stepper), "particle 2")) fail_msg("%s", sapporo_stepper_last_error(stepper));
    assert_true(sapporo_stepper_get_time(stepper) == 0.5);
    stepper_get(stepper, SAPPORO_STEP_NOW, 4, &s);
    assert_memory_equal(s.x, b.x, 4 * sizeof b.x[0]);
    sapporo_stepper_destroy(stepper);
}

RUNS(far_away, stepper_everywhere(far_away_at, 0))

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(alone),       cmocka_unit_test(forces),
                                       cmocka_unit_test(convergence), cmocka_unit_test(division),
                                       cmocka_unit_test(in_turns),    cmocka_unit_test(far_away),
                                       cmocka_unit_test(places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
