/* test_stepper.c - steppers on every engine: schemes, order of convergence, division of runs, energy, fields. */
#define _XOPEN_SOURCE 700 /* truncate */
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
#include "sanitized.h"
#include "stepper_places.h"
#include "tree_cases.h"
#include "worst.h"

enum { N = 500, LONG = 50 };

static const struct place *const places = stepper_places;

/* ---- particles and steppers ------------------------------------------------------------------- */

static sapporo_stepper_options options_at(const struct place *p, const sapporo_tree_options *tree, double dt)
{
    return (sapporo_stepper_options){
        .size = sizeof(sapporo_stepper_options), .method = p->method, .tree = tree, .dt = dt, .rebuild = 1};
}

static double energy(sapporo_stepper *s)
{
    const sapporo_stepper_totals t = stepper_totals(s);
    return t.kinetic + t.potential + t.field;
}

/* A stepper with a Plummer sphere of N stars. */
static sapporo_stepper *cluster(const sapporo_stepper_options *o)
{
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_stepper *s = stepper_make(o, N);
    stepper_put(s, N, b.x, b.v, b.mass, 1.5);
    bodies_free(&b);
    return s;
}

/* ---- schemes -------------------------------------------------------------------------------------- */

/* Forces on all particles, as a caller computes them. */
struct forces {
    sapporo_tree *tree;
    sapporo *context;
    double acc[N][3], pot[N];
};

/* Sets the particles of a tree and refreshes it; builds: after a build with these particles `ahead` of their time. */
static void renew_tree(sapporo_tree *tree, const bodies *b, int builds, double (*ahead)[3])
{
    bodies later = *b;
    later.x = ahead;
    if (builds) {
        tree_set(tree, &later);
        assert_int_equal(sapporo_tree_build(tree), SAPPORO_OK);
    }
    tree_set(tree, b);
    assert_int_equal(sapporo_tree_refresh(tree), SAPPORO_OK);
}

static void force(struct forces *f, const bodies *b, double eps2, int builds, double (*ahead)[3])
{
    int index[N];
    for (int i = 0; i < N; i++) index[i] = i;
    if (f->tree) {
        const sapporo_tree_request r = {.size = sizeof r, .ni = N};
        renew_tree(f->tree, b, builds, ahead);
        assert_int_equal(sapporo_tree_force(f->tree, &r, f->acc, f->pot), SAPPORO_OK);
        return;
    }
    sapporo_particles all = {.size = sizeof all, .mass = {b->mass, 0}};
    all.derivative[0].base = b->x;
    const sapporo_request r = {.size = sizeof r, .nj = N, .ni = N, .x = {b->x, 0}, .index = {index, 0}, .eps2 = eps2};
    const sapporo_result to = {.size = sizeof to, .acc = f->acc, .pot = f->pot};
    sapporo_job *job = NULL;
    assert_int_equal(sapporo_set_particles(f->context, 0, N, &all), SAPPORO_OK);
    assert_int_equal(sapporo_force_begin(f->context, &r, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, N, &to), SAPPORO_OK);
    sapporo_force_free(job);
}

static void kick(bodies *b, const struct forces *f, double dt)
{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) b->v[i][c] += dt * f->acc[i][c];
}

/* Predicts the positions after a time, as the stepper does. */
static void predict(const bodies *b, const struct forces *f, double dt, double (*to)[3])
{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) to[i][c] = b->x[i][c] + (b->v[i][c] + f->acc[i][c] * (dt * 0.5)) * dt;
}

/*
 * Ten steps of the loop that the manual shows.  Trees that are refreshed are built with the positions in the middle of
 * their lives, but for the first one.
 */
static void loop(struct forces *f, bodies *b, const sapporo_stepper_options *o)
{
    static double ahead[N][3];
    for (int step = 1; step <= 10; step++) {
        predict(b, f, o->dt + o->dt * (o->rebuild - 1) / 2, ahead);
        kick(b, f, o->dt / 2);
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++) b->x[i][c] += o->dt * b->v[i][c];
        force(f, b, o->tree->eps2, step % o->rebuild == 0, ahead);
        kick(b, f, o->dt / 2);
    }
}

/* Shared steps have the bits of that loop. */
static void leapfrog_with(const struct place *p, int rebuild)
{
    static struct forces f;
    static struct stepper_state s;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    const sapporo_options direct = {.size = sizeof direct, .order = 2, .backend = p->backend};
    sapporo_stepper_options o = options_at(p, &tree, 1.0 / 64);
    o.rebuild = rebuild;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_stepper *stepper = cluster(&o);
    f.tree = NULL;
    f.context = NULL;
    if (p->method == SAPPORO_STEP_TREE)
        assert_int_equal(sapporo_tree_create(&tree, N, &f.tree), SAPPORO_OK);
    else
        assert_int_equal(sapporo_open(&direct, &f.context), SAPPORO_OK);
    force(&f, &b, tree.eps2, 1, b.x);
    loop(&f, &b, &o);
    stepper_advance(stepper, 1.5 + 10 * o.dt, 0);
    assert_true(sapporo_stepper_get_time(stepper) == 1.5 + 10 * o.dt);
    stepper_get(stepper, SAPPORO_STEP_NOW, N, &s);
    assert_memory_equal(s.x, b.x, sizeof(double[N][3]));
    assert_memory_equal(s.v, b.v, sizeof(double[N][3]));
    assert_memory_equal(s.acc, f.acc, sizeof(double[N][3]));
    assert_memory_equal(s.pot, f.pot, sizeof(double[N]));
    sapporo_stepper_destroy(stepper);
    sapporo_tree_destroy(f.tree);
    sapporo_close(f.context);
    bodies_free(&b);
}

static void leapfrog_at(const struct place *p)
{
    for (int rebuild = 1; rebuild < 5; rebuild += 3)
        if (rebuild == 1 || p->method == SAPPORO_STEP_TREE) leapfrog_with(p, rebuild);
}

RUNS(leapfrog, stepper_everywhere(leapfrog_at, 0))

/* Blocks with all particles on one level, the coarsest or the finest, are shared steps. */
static void one_level_at(const struct place *p)
{
    static struct stepper_state a, b;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    for (int finest = 0; finest < 2; finest++) {
        sapporo_stepper_options shared = options_at(p, &tree, 1.0 / 64), block = shared;
        block.scheme = SAPPORO_STEPS_BLOCK;
        block.dt = finest ? 1.0 / 8 : 1.0 / 64;
        block.levels = 4;
        block.eta = finest ? 1e-6 : 1e6;
        shared.rebuild = block.rebuild = 3;
        sapporo_stepper *one = cluster(&shared), *other = cluster(&block);
        stepper_advance(one, 1.5 + 0.125, 0);
        stepper_advance(other, 1.5 + 0.125, 0);
        const sapporo_stepper_statistics f = stepper_figures(other);
        assert_int_equal(f.level[finest ? 3 : 0], N);
        const int tree_steps = p->method == SAPPORO_STEP_TREE;
        assert_true(f.steps == 8 && f.particle_steps == 8 * N);
        assert_true(f.builds == 3 * tree_steps && f.refreshes == 6 * tree_steps);
        stepper_get(one, SAPPORO_STEP_OWN, N, &a);
        stepper_get(other, SAPPORO_STEP_OWN, N, &b);
        memset(a.level, 0, sizeof a.level);
        memset(b.level, 0, sizeof b.level);
        assert_memory_equal(&a, &b, sizeof a);
        sapporo_stepper_destroy(one);
        sapporo_stepper_destroy(other);
    }
}

RUNS(one_level, stepper_everywhere(one_level_at, 0))

/* ---- division of runs ------------------------------------------------------------------------------- */

static sapporo_stepper_options blocks_at(const struct place *p, const sapporo_tree_options *tree, int rebuild)
{
    sapporo_stepper_options o = options_at(p, tree, 1.0 / 8);
    o.scheme = SAPPORO_STEPS_BLOCK;
    o.criterion = rebuild == 1 ? SAPPORO_STEP_BY_CHANGE : SAPPORO_STEP_BY_ACCELERATION;
    o.levels = 8;
    o.rebuild = rebuild;
    return o;
}

/* A run that was saved, restored, asked and divided has the bytes of one that was not. */
static void division_at(const struct place *p)
{
    static struct stepper_state a, b;
    sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/sapporo-step-%ld", (long)getpid());
    for (int rebuild = 0; rebuild < 4; rebuild += rebuild ? 2 : 1) {
        const int only = p->method == SAPPORO_STEP_DIRECT ? 1 : p->kind == SAPPORO_TREE_KDTREE ? 3 : rebuild;
        if (rebuild != only) continue;
        tree.group_extent = rebuild % 3 == 0 ? 0.5 : 0;
        const sapporo_stepper_options o = blocks_at(p, &tree, rebuild);
        sapporo_stepper *whole = cluster(&o), *part = cluster(&o);
        stepper_advance(whole, INFINITY, LONG);
        for (int k = 0; k < 3; k++) {
            stepper_advance(part, INFINITY, 5 + 6 * k);
            (void)stepper_totals(part);
            if (sapporo_stepper_save(part, path)) fail_msg("%s", sapporo_stepper_last_error(part));
            stepper_advance(part, INFINITY, 2);
            sapporo_stepper_destroy(part);
            part = stepper_make(&o, N + 10 * k);
            if (sapporo_stepper_restore(part, path)) fail_msg("%s", sapporo_stepper_last_error(part));
        }
        stepper_advance(part, INFINITY, LONG - 33);
        assert_true(sapporo_stepper_get_time(part) == sapporo_stepper_get_time(whole));
        const sapporo_stepper_statistics f = stepper_figures(whole), g = stepper_figures(part);
        assert_memory_equal(f.level, g.level, sizeof f.level);
        assert_true(f.steps == LONG && g.steps == LONG && f.builds == g.builds && f.particle_steps == g.particle_steps);
        assert_true(f.particle_steps < (LONG - 5) * (long long)N);
        stepper_get(whole, SAPPORO_STEP_OWN, N, &a);
        stepper_get(part, SAPPORO_STEP_OWN, N, &b);
        assert_memory_equal(&a, &b, sizeof a);
        sapporo_stepper_destroy(whole);
        sapporo_stepper_destroy(part);
    }
    assert_int_equal(unlink(path), 0);
}

RUNS(division, stepper_everywhere(division_at, 0))

/* A run whose trees are built by the clock is as accurate as one with a new tree in each step. */
static void timed_at(const struct place *p)
{
    const sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    if (p->method == SAPPORO_STEP_DIRECT) return;
    sapporo_stepper_options o = blocks_at(p, &tree, SAPPORO_REBUILD_TIMED);
    sapporo_stepper *timed = cluster(&o);
    o.rebuild = 1;
    sapporo_stepper *fresh = cluster(&o);
    const double before = energy(timed);
    stepper_advance(timed, INFINITY, LONG);
    stepper_advance(fresh, INFINITY, LONG);
    const sapporo_stepper_statistics f = stepper_figures(timed);
    assert_true(f.builds >= 1 && f.builds + f.refreshes == LONG + 1);
    assert_true(f.rebuild_steps >= 0 && f.rebuild_steps < LONG && (f.rebuild_steps > 0) == (f.builds > 1));
    assert_true(fabs(energy(timed) - before) < 1e-3 * fabs(before) + 2 * fabs(energy(fresh) - before));
    sapporo_stepper_destroy(timed);
    sapporo_stepper_destroy(fresh);
}

RUNS(timed, stepper_everywhere(timed_at, 0))

/* By the clock each stepper finds an extent of groups, or that none helps; a number for it is kept. */
static void tuned_at(const struct place *p)
{
    enum { MOST = 400 };
    sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    if (p->method == SAPPORO_STEP_DIRECT) return;
    sapporo_stepper_options o = options_at(p, &tree, 1.0 / 256);
    o.rebuild = SAPPORO_REBUILD_TIMED;
    sapporo_stepper *s = cluster(&o);
    const double before = energy(s);
    sapporo_stepper_statistics f = stepper_figures(s);
    int had_limit = 0;
    assert_true(f.group_extent == 0 && f.group_searches == 0);
    for (int step = 0; step < MOST && f.group_searches == 0; step++) {
        stepper_advance(s, INFINITY, 1);
        f = stepper_figures(s);
        had_limit |= f.group_extent > 0;
    }
    print_message("%s: %lld steps, %lld builds, groups of at most %g\n", p->name, f.steps, f.builds, f.group_extent);
    assert_true(f.group_searches == 1 && had_limit);
    assert_true(fabs(energy(s) - before) < 3e-4 * fabs(before)); /* measured: 4e-5 */
    sapporo_stepper_destroy(s);
    tree.group_extent = 0.25;
    s = cluster(&o);
    stepper_advance(s, INFINITY, 20);
    f = stepper_figures(s);
    assert_true(f.group_extent == 0.25 && f.group_searches == 0);
    sapporo_stepper_destroy(s);
}

RUNS(tuned, stepper_everywhere(tuned_at, 0))

/* With SAPPORO_TUNE=frozen no clock decides: the run has the bits of one whose builds follow counts. */
static void frozen_at(const struct place *p)
{
    static struct stepper_state a, b;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    if (p->method == SAPPORO_STEP_DIRECT) return;
    sapporo_stepper_options o = blocks_at(p, &tree, SAPPORO_REBUILD_TIMED);
    assert_int_equal(setenv("SAPPORO_TUNE", "frozen", 1), 0);
    sapporo_stepper *frozen = cluster(&o);
    assert_int_equal(unsetenv("SAPPORO_TUNE"), 0);
    o.rebuild = 0;
    sapporo_stepper *counted = cluster(&o);
    stepper_advance(frozen, INFINITY, LONG);
    stepper_advance(counted, INFINITY, LONG);
    assert_true(stepper_figures(frozen).builds == stepper_figures(counted).builds &&
                stepper_figures(frozen).group_searches == 0);
    stepper_get(frozen, SAPPORO_STEP_OWN, N, &a);
    stepper_get(counted, SAPPORO_STEP_OWN, N, &b);
    assert_memory_equal(&a, &b, sizeof a);
    sapporo_stepper_destroy(frozen);
    sapporo_stepper_destroy(counted);
}

RUNS(frozen, stepper_everywhere(frozen_at, 1))

/* ---- orbits ------------------------------------------------------------------------------------------- */

/* The position of a particle of mass 0 in a field, or of a star of two that orbit each other (field -1), at time 2. */
static void orbit(const struct place *p, int field, double dt, int block, double *at)
{
    sapporo_tree_options tree = stepper_tree_at(p, field < 0 ? 1e-3 : 0.1);
    sapporo_stepper_options o = options_at(p, &tree, dt);
    double x[2][3] = {{0.5, 0, 0}, {-0.5, 0, 0}}, v[2][3] = {{0, 0.6, 0}, {0, -0.6, 0}}, mass[2] = {0.5, 0.5}, to[2][3];
    tree.precision = SAPPORO_DP;
    if (field >= 0) {
        const double place[3] = {1, 0.2, 0.3}, speed[3] = {0.1, 0.7, 0.2};
        mass[0] = mass[1] = 0;
        memcpy(x[0], place, sizeof place);
        memcpy(v[0], speed, sizeof speed);
        o.nfields = 1;
        o.fields = &stepper_fields[field];
    }
    if (block) {
        o.scheme = SAPPORO_STEPS_BLOCK;
        o.criterion = SAPPORO_STEP_BY_CHANGE;
        o.dt = 0.25;
        o.eta = dt;
        o.levels = 20;
    }
    sapporo_stepper *s = stepper_make(&o, 2);
    stepper_put(s, 2, x, v, mass, 0);
    stepper_advance(s, 2, 0);
    assert_true(sapporo_stepper_get_time(s) == 2);
    const sapporo_stepper_output out = {.size = sizeof out, .n = 2, .x = to};
    assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_OK);
    memcpy(at, to[0], sizeof to[0]);
    sapporo_stepper_destroy(s);
}

static double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

/* Both schemes are of second order: a quarter of the step has a sixteenth of the error. */
static void convergence_at(const struct place *p)
{
    const int fields = p == places ? 6 : 0; /* the fields have the same bits elsewhere */
    for (int field = -1; field < fields; field++) {
        double exact[3], long_steps[3], short_steps[3];
        orbit(p, field, 1.0 / 256, 0, exact);
        orbit(p, field, 1.0 / 16, 0, long_steps);
        orbit(p, field, 1.0 / 64, 0, short_steps);
        /* without the error of the shortest steps: 16 */
        const double ratio = distance(long_steps, short_steps) / distance(short_steps, exact);
        if (!(ratio > 12 && ratio < 20)) fail_msg("%s, field %d: error falls by %g", p->name, field, ratio);
        orbit(p, field, 0.08, 1, long_steps);
        orbit(p, field, 0.02, 1, short_steps);
        const double block = distance(long_steps, exact) / distance(short_steps, exact);
        if (!(block > 12 && block < 20)) fail_msg("%s, field %d: error of blocks falls by %g", p->name, field, block);
    }
}

RUNS(convergence, stepper_everywhere(convergence_at, 0))

/* With fields alone, where no force of an engine's kind plays a part, all engines have the same bits. */
static struct stepper_state of_first;
static int have_first;

static void same_bits_at(const struct place *p)
{
    static struct stepper_state s;
    sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    sapporo_stepper_options o = blocks_at(p, &tree, 1);
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    o.criterion = SAPPORO_STEP_BY_ACCELERATION;
    o.nfields = 6;
    o.fields = stepper_fields;
    for (int i = 0; i < N; i++) b.mass[i] = 0;
    sapporo_stepper *stepper = stepper_make(&o, N);
    stepper_put(stepper, N, b.x, b.v, b.mass, 0);
    stepper_advance(stepper, INFINITY, 60);
    stepper_get(stepper, SAPPORO_STEP_NOW, N, &s);
    for (int i = 0; i < N; i++) s.pot[i] = 0; /* -0 and 0 of forces without masses */
    if (have_first) assert_memory_equal(&s, &of_first, sizeof s);
    of_first = s;
    have_first = 1;
    sapporo_stepper_destroy(stepper);
    bodies_free(&b);
}

static void same_bits(void **state)
{
    (void)state;
    have_first = 0;
    stepper_everywhere(same_bits_at, 0);
}

/* The leap-frog goes back to where it came from. */
static void reversible_at(const struct place *p)
{
    static struct stepper_state a;
    sapporo_tree_options tree = stepper_tree_at(p, 0.1);
    const sapporo_stepper_options o = options_at(p, &tree, 1.0 / 32);
    tree.precision = SAPPORO_DP;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_stepper *s = cluster(&o);
    stepper_advance(s, INFINITY, 20);
    stepper_get(s, SAPPORO_STEP_NOW, N, &a);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) a.v[i][c] = -a.v[i][c];
    stepper_put(s, N, a.x, a.v, a.mass, 0);
    stepper_advance(s, INFINITY, 20);
    stepper_get(s, SAPPORO_STEP_NOW, N, &a);
    /* trees of the way back may differ in the acceleration that opens cells; direct sums only in rounding */
    const double most = p->method == SAPPORO_STEP_TREE ? 1e-3 : 1e-10;
    for (int i = 0; i < N; i++)
        if (!(distance(a.x[i], b.x[i]) < most)) fail_msg("%s: %g off", p->name, distance(a.x[i], b.x[i]));
    sapporo_stepper_destroy(s);
    bodies_free(&b);
}

RUNS(reversible, stepper_everywhere(reversible_at, 0))

/* ---- outputs at other times --------------------------------------------------------------------------------- */

/* Compares positions and velocities at a time with those that own, at their own times, predict. */
static void compare_later(const struct place *p, const struct stepper_state *own, const struct stepper_state *later,
                          double time)
{
    double worst = 0;
    for (int i = 0; i < N; i++) {
        const long double s = (long double)time - own->own_time[i];
        for (int c = 0; c < 3; c++) {
            const long double x = own->x[i][c], v = own->v[i][c], a = own->acc[i][c];
            worst =
                worst_of(worst, (double)fabsl(later->x[i][c] - (x + v * s + a * s * s / 2)) / (1 + fabs(own->x[i][c])));
            worst = worst_of(worst, (double)fabsl(later->v[i][c] - (v + a * s)) / (1 + fabs(own->v[i][c])));
        }
    }
    if (!(worst < 5e-16)) fail_msg("%s: at %.17g off by %g", p->name, time, worst); /* measured: 1e-16 */
}

/* Outputs at later times are predicted from each particle's own time; at the present time they are those of now. */
static void later_at(const struct place *p)
{
    static struct stepper_state own, now, later;
    static const double part[] = {0, 0.28125, 0.5, 1};
    const sapporo_tree_options tree = stepper_tree_at(p, 0.02);
    const sapporo_stepper_options o = blocks_at(p, &tree, 3);
    sapporo_stepper *s = cluster(&o);
    stepper_advance(s, INFINITY, 5);
    assert_true(stepper_figures(s).active < N);
    const double time = sapporo_stepper_get_time(s);
    sapporo_stepper_output out = {.size = sizeof out, .n = N, .when = SAPPORO_STEP_AT_TIME, .x = later.x, .v = later.v};
    stepper_get(s, SAPPORO_STEP_OWN, N, &own);
    stepper_get(s, SAPPORO_STEP_NOW, N, &now);
    compare_later(p, &own, &now, time);
    for (int k = 0; k < 4; k++) {
        out.time = time + part[k] * o.dt;
        if (sapporo_stepper_get(s, &out)) fail_msg("%s: %s", p->name, sapporo_stepper_last_error(s));
        compare_later(p, &own, &later, out.time);
        if (k == 0) assert_memory_equal(later.x, now.x, sizeof now.x);
    }
    sapporo_stepper_destroy(s);
}

RUNS(later, stepper_everywhere(later_at, 0))

/* ---- energy ---------------------------------------------------------------------------------------------- */

/* The sums of a stepper's totals, but for the potential energy of pairs, in extended precision. */
struct exact_totals {
    long double kinetic, field, vector[9]; /* momentum, angular momentum, moment */
};

/* Adds particle i; at: the centre of the field `f`, a Plummer sphere. */
static void add_exact(struct exact_totals *t, const struct stepper_state *a, int i, const sapporo_field *f)
{
    const double *const x = a->x[i], *const v = a->v[i];
    const long double m = a->mass[i];
    long double r2 = (long double)f->a * f->a;
    for (int c = 0; c < 3; c++) {
        const int y = (c + 1) % 3, z = (c + 2) % 3;
        const long double d = x[c] - (long double)f->centre[c];
        r2 += d * d;
        t->kinetic += 0.5L * m * v[c] * v[c];
        t->vector[c] += m * v[c];
        t->vector[3 + c] += m * ((long double)x[y] * v[z] - (long double)x[z] * v[y]);
        t->vector[6 + c] += m * x[c];
    }
    t->field -= m * f->strength / sqrtl(r2);
}

/* Compares all totals with sums over the particles of `a`; potential: of the pairs. */
static void compare_totals(const struct place *p, const sapporo_stepper_totals *t, const struct stepper_state *a,
                           long double potential)
{
    struct exact_totals exact = {0};
    double vector[9], off = 0;
    memcpy(vector, t->momentum, sizeof t->momentum);
    memcpy(vector + 3, t->angular_momentum, sizeof t->angular_momentum);
    memcpy(vector + 6, t->moment, sizeof t->moment);
    for (int i = 0; i < N; i++) add_exact(&exact, a, i, &stepper_fields[1]);
    for (int k = 0; k < 9; k++) off = worst_of(off, (double)fabsl(vector[k] - exact.vector[k]));
    const double kinetic = (double)fabsl(t->kinetic - exact.kinetic), field = (double)fabsl(t->field - exact.field),
                 of_pairs = (double)fabsl(t->potential / potential - 1);
    /* measured: 7e-17, 8e-16, 7e-17; of pairs 2e-16 in double, and the error of a tree, 3e-6 */
    const double most = p->method == SAPPORO_STEP_TREE ? 2e-5 : 2e-15;
    if (!(kinetic < 5e-16 && field < 3e-15 && off < 3e-16 && of_pairs < most))
        fail_msg("%s: kinetic %g, field %g, vectors %g, pairs %g off", p->name, kinetic, field, off, of_pairs);
}

/* Totals of a moment at which few particles end a step, against sums in extended precision. */
static void totals_at(const struct place *p)
{
    static struct stepper_state a;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    sapporo_stepper_options o = blocks_at(p, &tree, 3);
    long double potential = 0;
    o.nfields = 1;
    o.fields = &stepper_fields[1];
    sapporo_stepper *s = cluster(&o);
    stepper_advance(s, INFINITY, 5);
    assert_true(stepper_figures(s).active < N);
    const sapporo_stepper_totals t = stepper_totals(s);
    stepper_get(s, SAPPORO_STEP_NOW, N, &a);
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    memcpy(b.x, a.x, N * sizeof *a.x);
    struct tree_rows exact = tree_exact(&b, tree.eps2, 1);
    for (int i = 0; i < N; i++) potential += 0.5L * a.mass[i] * exact.pot[i];
    compare_totals(p, &t, &a, potential);
    assert_true(t.time == sapporo_stepper_get_time(s));
    tree_rows_free(&exact);
    bodies_free(&b);
    sapporo_stepper_destroy(s);
}

RUNS(conserved, stepper_everywhere(totals_at, 0))

/* A Hernquist sphere keeps its energy over a time unit, and blocks do so with fewer steps of particles. */
static void hernquist_at(const struct place *p)
{
    enum { STARS = 1500 };
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    bodies b = tree_model(CLUSTER_HERNQUIST, STARS);
    for (int block = 0; block < 2; block++) {
        sapporo_stepper_options o = options_at(p, &tree, block ? 1.0 / 16 : 1.0 / 128);
        o.scheme = block ? SAPPORO_STEPS_BLOCK : SAPPORO_STEPS_SHARED;
        o.levels = 8;
        o.rebuild = 4;
        sapporo_stepper *s = stepper_make(&o, STARS);
        stepper_put(s, STARS, b.x, b.v, b.mass, 0);
        const double before = energy(s);
        stepper_advance(s, 0.5, 0);
        const double error = fabs(energy(s) / before - 1);
        if (!(error < (block ? 1e-3 : 2e-4))) fail_msg("%s, block %d: energy is off by %g", p->name, block, error);
        if (block) assert_true(stepper_figures(s).particle_steps < stepper_figures(s).steps * STARS / 2);
        sapporo_stepper_destroy(s);
    }
    bodies_free(&b);
}

RUNS(hernquist, stepper_everywhere(hernquist_at, 1))

/* Adds the power that the errors of the stepper's accelerations put into the particles, in units of their energy. */
static void add_power(sapporo_stepper *s, sapporo_stepper *exact, int n, double *power)
{
    typedef double row[3];
    row *const at = malloc((size_t)n * sizeof *at), *const v = malloc((size_t)n * sizeof *v);
    row *const acc = malloc((size_t)n * sizeof *acc), *const sum = malloc((size_t)n * sizeof *sum);
    double *const mass = malloc((size_t)n * sizeof *mass);
    assert_true(at && v && acc && sum && mass);
    const sapporo_stepper_output now = {.size = sizeof now, .n = n, .x = at, .v = v, .acc = acc, .mass = mass};
    const sapporo_stepper_output forces = {.size = sizeof forces, .n = n, .acc = sum};
    assert_int_equal(sapporo_stepper_get(s, &now), SAPPORO_OK);
    stepper_put(exact, n, at, v, mass, 0);
    assert_int_equal(sapporo_stepper_get(exact, &forces), SAPPORO_OK);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) *power += mass[i] * v[i][c] * (acc[i][c] - sum[i][c]) / 0.25;
    free(at);
    free(v);
    free(acc);
    free(sum);
    free(mass);
}

/*
 * Trees that are refreshed put no power into a model in the mean, since each is built for the middle of its life; the
 * errors of its cells are correlated with velocities before and after.  Trees that are built for the present put in
 * 3.4e-4 of the energy per unit of time.  The engines share this code.
 */
static void power(void **state)
{
    enum { STARS = 16384, LIFE = 4, LIVES = 4 };
    const sapporo_tree_options tree = {.size = sizeof tree,
                                       .mac = SAPPORO_MAC_ACCELERATION,
                                       .accuracy = 0.034,
                                       .order = 1,
                                       .eps2 = 0.03 * 0.03,
                                       .backend = SAPPORO_BACKEND_CPU};
    sapporo_tree_options single = tree;
    single.precision = SAPPORO_DS;
    sapporo_stepper_options o = {.size = sizeof o, .tree = &tree, .dt = 1.0 / 64, .rebuild = LIFE};
    bodies b = tree_model(CLUSTER_HERNQUIST, STARS);
    double sum = 0;
    (void)state;
    if (SANITIZED && test_sparing()) {
        print_message("skip: a statistic, of calls that the other tests make\n");
        bodies_free(&b);
        skip();
    }
    sapporo_stepper *s = stepper_make(&o, STARS);
    o.tree = &single;
    o.method = SAPPORO_STEP_DIRECT;
    sapporo_stepper *exact = stepper_make(&o, STARS);
    stepper_put(s, STARS, b.x, b.v, b.mass, 0);
    stepper_advance(s, INFINITY, LIFE - 1);
    for (int step = 0; step < LIFE * LIVES; step++) {
        stepper_advance(s, INFINITY, 1);
        add_power(s, exact, STARS, &sum);
    }
    assert_int_equal(stepper_figures(s).builds, 1 + LIVES);
    const double mean = sum / (LIFE * LIVES);
    print_message("mean power %g of the energy per unit of time\n", mean);
    if (!(fabs(mean) < 1e-4)) fail_msg("refreshed trees put a power of %g in", mean);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(exact);
    bodies_free(&b);
}

/* ---- other objects ------------------------------------------------------------------------------------ */

/* Two steppers, a tree and a context on one device, used in turns, do not disturb each other. */
static void beside_at(const struct place *p)
{
    static struct stepper_state alone, a, b;
    static struct forces f;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    const sapporo_stepper_options o = blocks_at(p, &tree, 0);
    const sapporo_options direct = {.size = sizeof direct, .order = 2, .backend = p->backend};
    bodies set = tree_model(CLUSTER_PLUMMER, N);
    sapporo_stepper *one = cluster(&o);
    stepper_advance(one, INFINITY, 8);
    stepper_get(one, SAPPORO_STEP_OWN, N, &alone);
    sapporo_stepper_destroy(one);
    one = cluster(&o);
    sapporo_stepper *other = cluster(&o);
    assert_int_equal(sapporo_tree_create(&tree, N, &f.tree), SAPPORO_OK);
    assert_int_equal(sapporo_open(&direct, &f.context), SAPPORO_OK);
    sapporo_tree *const plain = f.tree;
    for (int k = 0; k < 4; k++) {
        stepper_advance(one, INFINITY, 2);
        f.tree = k % 2 ? plain : NULL;
        force(&f, &set, tree.eps2, 1, set.x);
        stepper_advance(other, INFINITY, 2);
    }
    stepper_get(one, SAPPORO_STEP_OWN, N, &a);
    stepper_get(other, SAPPORO_STEP_OWN, N, &b);
    assert_memory_equal(&a, &alone, sizeof a);
    assert_memory_equal(&b, &alone, sizeof b);
    sapporo_stepper_destroy(one);
    sapporo_stepper_destroy(other);
    sapporo_tree_destroy(plain);
    sapporo_close(f.context);
    bodies_free(&set);
}

RUNS(beside, stepper_everywhere(beside_at, 1))

/* Where most particles are never active together, forces on few of them show that a tree is stale. */
static void stale(void **state)
{
    enum { STARS = 8000, LAST = 40 };
    (void)state;
    if (!stepper_place_usable(&places[0])) skip();
    const sapporo_tree_options tree = stepper_tree_at(&places[0], 0.02);
    sapporo_stepper_options o = blocks_at(&places[0], &tree, 0);
    bodies b = tree_model(CLUSTER_HERNQUIST, STARS);
    o.dt = 4;
    o.eta = 0.2;
    sapporo_stepper *s = stepper_make(&o, STARS);
    for (int i = 0; i < STARS * 5 / 8; i++)
        for (int c = 0; c < 3; c++) b.x[i][c] *= 300, b.v[i][c] = 0;
    stepper_put(s, STARS, b.x, b.v, b.mass, 0);
    for (int k = 0; k < LAST && stepper_figures(s).builds == 1; k++) {
        stepper_advance(s, INFINITY, 1);
        assert_true(stepper_figures(s).active < STARS / 2);
    }
    if (stepper_figures(s).builds == 1) fail_msg("no build in %d steps", LAST);
    sapporo_stepper_destroy(s);
    bodies_free(&b);
}

/* ---- bad input ----------------------------------------------------------------------------------------- */

static void refused(sapporo_stepper_options o, const char *word)
{
    sapporo_stepper *s = (sapporo_stepper *)1;
    assert_int_equal(sapporo_stepper_create(&o, 3, &s), SAPPORO_ERR_ARGUMENT);
    assert_null(s);
    if (!strstr(sapporo_stepper_last_error(NULL), word)) fail_msg("%s", sapporo_stepper_last_error(NULL));
}

/* Bad options are refused, and the error names the option. */
static void bad_options(void **state)
{
    (void)state;
    const sapporo_tree_options tree = {.size = sizeof tree, .backend = SAPPORO_BACKEND_CPU};
    const sapporo_stepper_options good = {.size = sizeof good, .tree = &tree, .dt = 1};
    sapporo_field field = stepper_fields[3];
    sapporo_stepper_options o;
    sapporo_stepper *s = NULL;
    assert_int_equal(sapporo_stepper_create(NULL, 3, &s), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_stepper_create(&good, 0, &s), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_stepper_create(&good, 3, NULL), SAPPORO_ERR_ARGUMENT);
#define REFUSED(member, value, word)                                                                                   \
    o = good;                                                                                                          \
    o.member = value;                                                                                                  \
    refused(o, word)
    REFUSED(size, 3, "size");
    REFUSED(dt, 0, "dt");
    REFUSED(dt, NAN, "dt");
    REFUSED(eta, -1, "eta");
    REFUSED(levels, 32, "levels");
    REFUSED(rebuild, -2, "rebuild");
    REFUSED(method, (sapporo_step_method)3, "method");
    REFUSED(nfields, 9, "nfields");
    REFUSED(nfields, 1, "nfields");
    o = good;
    o.nfields = 1;
    o.fields = &field;
    field.a = 0;
    refused(o, "lengths");
    field.kind = (sapporo_field_kind)7;
    refused(o, "kind");
    field = stepper_fields[3];
    field.strength = -1;
    refused(o, "strength");
    field = stepper_fields[3];
    field.centre[1] = INFINITY;
    refused(o, "centre");
}

/* Block steps by acceleration need softening, which particles may have of their own: it is missed when they are set. */
static void no_softening(void **state)
{
    (void)state;
    double x[2][3] = {{0, 0, 0}, {1, 0, 0}}, mass[2] = {1, 1}, h[2] = {0.1, 0};
    const sapporo_tree_options tree = {.size = sizeof tree, .backend = SAPPORO_BACKEND_CPU};
    const sapporo_stepper_options o = {.size = sizeof o, .tree = &tree, .scheme = SAPPORO_STEPS_BLOCK, .dt = 1.0 / 64};
    sapporo_stepper_particles p = {.size = sizeof p, .n = 2, .x = {x, 0}, .v = {x, 0}, .mass = {mass, 0}};
    sapporo_stepper *const s = stepper_make(&o, 2);
    assert_int_equal(sapporo_stepper_set(s, &p), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_stepper_last_error(s), "particle 0"));
    p.h.base = h;
    assert_int_equal(sapporo_stepper_set(s, &p), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_stepper_last_error(s), "particle 1"));
    h[1] = 0.1;
    assert_int_equal(sapporo_stepper_set(s, &p), SAPPORO_OK);
    stepper_advance(s, INFINITY, 3);
    sapporo_stepper_destroy(s);
}

/* Calls out of turn and particles that are not finite are refused and change nothing; outputs are NaN. */
static void bad_calls(void **state)
{
    (void)state;
    static struct stepper_state a, b;
    const sapporo_tree_options tree = stepper_tree_at(&places[0], 0.05);
    const sapporo_stepper_options o = options_at(&places[0], &tree, 1.0 / 8);
    if (!stepper_place_usable(&places[0])) skip();
    bodies set = tree_model(CLUSTER_PLUMMER, N);
    sapporo_stepper *s = stepper_make(&o, N);
    sapporo_stepper_output out = {.size = sizeof out, .n = N, .x = a.x, .level = a.level};
    sapporo_stepper_totals t = {.size = sizeof t};
    assert_int_equal(sapporo_stepper_advance(s, 1, 0), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_ERR_ARGUMENT);
    assert_true(isnan(a.x[3][1]) && a.level[3] == -1 && isnan(sapporo_stepper_get_time(s)));
    assert_int_equal(sapporo_stepper_energy(s, &t), SAPPORO_ERR_ARGUMENT);
    assert_true(isnan(t.kinetic));
    assert_int_equal(sapporo_stepper_save(s, "/tmp/none"), SAPPORO_ERR_ARGUMENT);
    stepper_put(s, N, set.x, set.v, set.mass, 0);
    stepper_get(s, SAPPORO_STEP_OWN, N, &a);
    sapporo_stepper_particles p = {.size = sizeof p, .n = N, .x = {set.x, 0}, .v = {set.v, 0}, .mass = {set.mass, 0}};
    set.v[7][2] = NAN;
    assert_int_equal(sapporo_stepper_set(s, &p), SAPPORO_ERR_NOT_FINITE);
    assert_non_null(strstr(sapporo_stepper_last_error(s), "velocity of particle 7"));
    p.n = N + 1;
    assert_int_equal(sapporo_stepper_set(s, &p), SAPPORO_ERR_ARGUMENT);
    p.n = N;
    p.memory = SAPPORO_MEMORY_DEVICE;
    assert_int_equal(sapporo_stepper_set(s, &p), SAPPORO_ERR_UNSUPPORTED);
    assert_int_equal(sapporo_stepper_advance(s, NAN, 0), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_stepper_advance(s, INFINITY, 0), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_stepper_advance(s, 1, -1), SAPPORO_ERR_ARGUMENT);
    out.n = N - 1;
    assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_ERR_ARGUMENT);
    out.n = N;
    out.when = SAPPORO_STEP_AT_TIME;
    out.time = 1;
    assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_ERR_ARGUMENT);
    stepper_get(s, SAPPORO_STEP_OWN, N, &b);
    b.x[0][0] = a.x[0][0];
    memcpy(a.x, b.x, sizeof a.x);
    memcpy(a.level, b.level, sizeof a.level);
    assert_memory_equal(&a, &b, sizeof a);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(s);
    assert_int_equal(sapporo_stepper_advance(s, 1, 0), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_stepper_energy(s, &t), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_stepper_restore(s, "x"), SAPPORO_ERR_CLOSED);
    assert_true(isnan(a.x[3][1]) && sapporo_stepper_kind_text(s)[0] == '\0');
    bodies_free(&set);
}

/* A number that is not finite is refused with the particle and the column, wherever it is; the particles stay. */
static void refused_particles_at(const struct place *p)
{
    static struct stepper_state before, after;
    static const double wrong[] = {NAN, INFINITY, -INFINITY};
    static const char *const words[] = {"position of particle", "velocity of particle", "mass of particle"};
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    const sapporo_stepper_options o = options_at(p, &tree, 1.0 / 8);
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_stepper *s = cluster(&o);
    const sapporo_stepper_particles given = {
        .size = sizeof given, .n = N, .x = {b.x, 0}, .v = {b.v, 0}, .mass = {b.mass, 0}, .time = 7};
    stepper_advance(s, INFINITY, 1);
    stepper_get(s, SAPPORO_STEP_OWN, N, &before);
    for (int k = 0; k < 27; k++) {
        const int row[] = {0, N / 2, N - 1}, i = row[k / 3 % 3], column = k / 9;
        double *const at = column == 0 ? &b.x[i][k % 3] : column == 1 ? &b.v[i][k % 3] : &b.mass[i], kept = *at;
        char told[64];
        (void)snprintf(told, sizeof told, "%s %d ", words[column], i);
        *at = wrong[k % 3];
        assert_int_equal(sapporo_stepper_set(s, &given), SAPPORO_ERR_NOT_FINITE);
        if (!strstr(sapporo_stepper_last_error(s), told))
            fail_msg("\"%s\", not %s", sapporo_stepper_last_error(s), told);
        *at = kept;
        stepper_get(s, SAPPORO_STEP_OWN, N, &after); /* the old particles */
        assert_memory_equal(&before, &after, sizeof before);
        assert_true(sapporo_stepper_get_time(s) == 1.5 + 1.0 / 8);
    }
    assert_int_equal(sapporo_stepper_set(s, &given), SAPPORO_OK);
    sapporo_stepper_destroy(s);
    bodies_free(&b);
}

RUNS(refused_particles, stepper_everywhere(refused_particles_at, 0))

/* A particle that leaves the range of numbers ends the run; all particles stay where they were. */
static void out_of_range_at(const struct place *p)
{
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    const sapporo_stepper_options o = options_at(p, &tree, 1.0 / 8);
    double x[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, v[3][3] = {{0}}, mass[3] = {1, 1, 0}, at[3][3];
    sapporo_stepper *s = stepper_make(&o, 3);
    v[2][1] = 1e101;
    stepper_put(s, 3, x, v, mass, 0.5);
    assert_int_equal(sapporo_stepper_advance(s, 2, 0), SAPPORO_ERR_NOT_FINITE);
    assert_non_null(strstr(sapporo_stepper_last_error(s), "position of particle 2"));
    assert_non_null(strstr(sapporo_stepper_last_error(s), "of time 0.5"));
    assert_true(sapporo_stepper_get_time(s) == 0.5);
    const sapporo_stepper_output out = {.size = sizeof out, .n = 3, .x = at};
    assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_OK);
    assert_memory_equal(at, x, sizeof x);
    sapporo_stepper_destroy(s);
}

RUNS(out_of_range, stepper_everywhere(out_of_range_at, 0))

/* Files that are missing, cut, changed or of other options are refused and change nothing. */
static void bad_files(void **state)
{
    (void)state;
    char path[64], byte = 0;
    const sapporo_tree_options tree = stepper_tree_at(&places[0], 0.05);
    sapporo_stepper_options o = options_at(&places[0], &tree, 1.0 / 8);
    if (!stepper_place_usable(&places[0])) skip();
    (void)snprintf(path, sizeof path, "/tmp/sapporo-bad-%ld", (long)getpid());
    sapporo_stepper *s = cluster(&o);
    assert_int_equal(sapporo_stepper_save(s, NULL), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_stepper_save(s, "/no/such/folder/file"), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_stepper_restore(s, "/no/such/file"), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_stepper_save(s, path), SAPPORO_OK);
    o.dt = 1.0 / 16;
    sapporo_stepper *other = cluster(&o);
    assert_int_equal(sapporo_stepper_restore(other, path), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_stepper_last_error(other), "options"));
    FILE *file = fopen(path, "r+b");
    assert_true(file && fseek(file, 5000, SEEK_SET) == 0 && fread(&byte, 1, 1, file) == 1);
    byte ^= 1;
    assert_true(fseek(file, 5000, SEEK_SET) == 0 && fwrite(&byte, 1, 1, file) == 1 && fclose(file) == 0);
    assert_int_equal(sapporo_stepper_restore(s, path), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_stepper_last_error(s), "checksum"));
    assert_int_equal(truncate(path, 3000), 0);
    assert_int_equal(sapporo_stepper_restore(s, path), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_stepper_last_error(s), "incomplete"));
    assert_true(sapporo_stepper_get_time(s) == 1.5 && stepper_figures(s).n == N);
    assert_int_equal(unlink(path), 0);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leapfrog),    cmocka_unit_test(one_level),    cmocka_unit_test(division),
        cmocka_unit_test(convergence), cmocka_unit_test(same_bits),    cmocka_unit_test(reversible),
        cmocka_unit_test(conserved),   cmocka_unit_test(hernquist),    cmocka_unit_test(beside),
        cmocka_unit_test(stale),       cmocka_unit_test(bad_options),  cmocka_unit_test(no_softening),
        cmocka_unit_test(bad_calls),   cmocka_unit_test(out_of_range), cmocka_unit_test(bad_files),
        cmocka_unit_test(timed),       cmocka_unit_test(tuned),        cmocka_unit_test(frozen),
        cmocka_unit_test(power),       cmocka_unit_test(later),        cmocka_unit_test(refused_particles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
