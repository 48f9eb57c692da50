/*
 * test_few.c - contexts without a named precision: forces from fewer than 1,024 addresses have the bits of dp, all
 * others those of ds, on every engine, whatever happened before.  A named precision is used for every force.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cases.h"
#include "model.h"
#include "runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 1024, N = 1500, NI = 21, ALL = OUT_NEAREST | OUT_LISTS };

/* Contexts of one engine: without a named precision, and with each. */
struct trio {
    struct engine open, ds, dp;
    int mixes; /* 0: the device has no double precision */
    sapporo *c, *of_ds, *of_dp;
};

/* Runs a test on every path and backend, with the precision left open. */
static void on_each(int order, void (*test)(const struct trio *t))
{
    int done = 0;
    for (int k = 1; k < ENGINES; k += 3) {
        struct trio t = {.open = engines[k], .ds = engines[k], .dp = engines[k + 1]};
        if (!engine_usable(&t.ds)) continue;
        t.open.order = t.ds.order = t.dp.order = order;
        t.open.precision = SAPPORO_PRECISION_DEFAULT;
        t.mixes = engine_usable(&t.dp);
        test(&t);
        done++;
    }
    if (done == 0) skip();
}

static void open_all(struct trio *t, int threads)
{
    t->c = engine_open(&t->open, threads);
    t->of_ds = engine_open(&t->ds, threads);
    t->of_dp = t->mixes ? engine_open(&t->dp, threads) : NULL;
}

static void close_all(const struct trio *t)
{
    sapporo_close(t->c);
    sapporo_close(t->of_ds);
    sapporo_close(t->of_dp);
}

static sapporo *named(const struct trio *t, int nj) { return t->mixes && nj < FEW ? t->of_dp : t->of_ds; }

/* ---- a life of a context ---- */

static void make(struct problem *p, int order)
{
    problem_new(p, N, NI);
    model_plummer(p->body, N, 71);
    if (order == 4) {
        model_derivatives(p->body, N, 4);
        model_times(p->body, N, 0.25, 0.03, 71);
    }
    for (int i = 0; i < NI; i++) {
        const struct body *const b = &p->body[i * 47];
        memcpy(p->target[i].x, b->derivative[0], sizeof b->derivative[0]);
        memcpy(p->target[i].v, b->derivative[1], sizeof b->derivative[1]);
        p->target[i].index = b->index;
        p->target[i].h2 = 0.02;
    }
    p->order = order;
    p->time = order == 4 ? 0.25 : 0;
    p->nj = N;
}

/* Stores some bodies in all contexts, in order or not. */
static void store(const struct trio *t, const struct problem *p, rng *random)
{
    const int from = (int)(rng_uniform(random) * p->nbodies), many = 1 + (int)(rng_uniform(random) * 40);
    const int step = rng_uniform(random) < 0.5 ? 1 : 613;
    for (int k = 0; k < many; k++) {
        const struct body *const b = &p->body[(from + k * step) % p->nbodies];
        const sapporo_particle one = particle_of(b);
        assert_int_equal(sapporo_set_particle(t->c, b->address, &one), SAPPORO_OK);
        assert_int_equal(sapporo_set_particle(t->of_ds, b->address, &one), SAPPORO_OK);
        if (t->mixes) assert_int_equal(sapporo_set_particle(t->of_dp, b->address, &one), SAPPORO_OK);
    }
}

static void move(struct problem *p, rng *random)
{
    for (int k = 0; k < p->nbodies; k++)
        for (int axis = 0; axis < 3; axis++) p->body[k].derivative[0][axis] += 0.01 * rng_uniform(random);
}

static void compare(const struct trio *t, const struct problem *p, const struct ask *how, const char *what)
{
    struct answer *const a = problem_solve(t->c, p, how), *const b = problem_solve(named(t, p->nj), p, how);
    answers_same(what, a, b, p->ntargets, ALL);
    answers_free(a, p->ntargets);
    answers_free(b, p->ntargets);
}

/* Two forces at a time, on either side of the limit; the first is asked for its neighbours after the second began. */
static void overlap(const struct trio *t, struct problem *p, int first, int second)
{
    static const struct ask late = {ALL, 0, 0}, none = {0, 0, 0};
    double acc[NI][3], r2[NI];
    int near[NI] = {0};
    sapporo_job *one, *two;
    p->nj = first;
    sapporo_request r = problem_request(p, 0, NI);
    r.want = 0;
    const sapporo_result out = {.size = sizeof out, .acc = acc, .nearest = near, .nearest_r2 = r2};
    assert_int_equal(sapporo_force_begin(t->c, &r, &one), SAPPORO_OK);
    r.nj = second;
    assert_int_equal(sapporo_force_begin(t->c, &r, &two), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(one, NI, &out), SAPPORO_OK);
    struct answer *const want = problem_solve(named(t, first), p, &late);
    for (int i = 0; i < NI; i++)
        if (!same_doubles(acc[i], want[i].acc, 3) || near[i] != want[i].nearest)
            fail_msg("%s: row %d of a force on %d beside one on %d", t->open.name, i, first, second);
    answers_free(want, NI);
    p->nj = second;
    assert_int_equal(sapporo_force_end(two, NI, &out), SAPPORO_OK);
    struct answer *const then = problem_solve(named(t, second), p, &none);
    for (int i = 0; i < NI; i++) assert_true(same_doubles(acc[i], then[i].acc, 3));
    answers_free(then, NI);
    sapporo_force_free(one);
    sapporo_force_free(two);
}

static const int sizes[] = {1, 2, 100, FEW - 1, FEW, N};

static void live(const struct trio *with)
{
    static const struct ask asks[] = {{ALL, ALL, 0}, {ALL, 0, 5}, {ALL, ALL, 1}};
    struct trio t = *with;
    struct problem p;
    rng random;
    char what[80];
    rng_seed(&random, 12, 12);
    make(&p, t.open.order ? t.open.order : 4);
    open_all(&t, 2);
    for (int k = 0; k < N; k += 400) store(&t, &p, &random); /* gaps remain */
    problem_load(t.c, &p);
    problem_load(t.of_ds, &p);
    if (t.mixes) problem_load(t.of_dp, &p);
    for (int step = 0; step < 40; step++) {
        p.nj = sizes[(int)(rng_uniform(&random) * 6)];
        snprintf(what, sizeof what, "%s, order %d, step %d: %d j-particles", t.open.name, t.open.order, step, p.nj);
        compare(&t, &p, &asks[step % 3], what);
        if (step % 5 == 0) overlap(&t, &p, sizes[step % 6], sizes[(step / 5 * 5 + 3) % 6]);
        if (step % 2 == 0) move(&p, &random);
        store(&t, &p, &random);
        if (step != 20) continue;
        assert_int_equal(sapporo_clear_particles(t.c), SAPPORO_OK);
        assert_int_equal(sapporo_clear_particles(t.of_ds), SAPPORO_OK);
        if (t.mixes) assert_int_equal(sapporo_clear_particles(t.of_dp), SAPPORO_OK);
        problem_load(t.c, &p);
        problem_load(t.of_ds, &p);
        if (t.mixes) problem_load(t.of_dp, &p);
    }
    close_all(&t);
    problem_free(&p);
}

static void lives(void **state)
{
    (void)state;
    on_each(0, live);
    on_each(2, live);
}

/* The first context of a process: no other has opened, and checked, the engine in dp. */
static void first_of_all(void **state)
{
    static const struct ask sums = {0, 0, 0};
    int done = 0;
    (void)state;
    for (int k = 1; k < ENGINES; k += 3) {
        struct engine e = engines[k];
        struct problem p;
        if (!engine_usable(&e)) continue;
        e.precision = SAPPORO_PRECISION_DEFAULT;
        make(&p, 4);
        p.nj = 30;
        answers_free(solve_with(&e, 1, &p, &sums), NI);
        problem_free(&p);
        done++;
    }
    if (done == 0) skip();
}

/* ---- errors ---- */

static void bound(const struct trio *t)
{
    static const struct test_case of_plummer = {.roundings = {0, 16, 16, 16}}; /* as in cases.c */
    static const struct ask sums = {0, 0, 0};
    static const int few[] = {2, 7, 60, 500, FEW - 1};
    if (!t->mixes) return;
    for (size_t k = 0; k < sizeof few / sizeof few[0]; k++) {
        struct problem p;
        problem_new(&p, few[k], 2);
        model_plummer(p.body, few[k], 5 + k);
        for (int i = 0; i < 2; i++) {
            memcpy(p.target[i].x, p.body[i].derivative[0], sizeof p.target[i].x);
            memcpy(p.target[i].v, p.body[i].derivative[1], sizeof p.target[i].v);
            p.target[i].index = p.body[i].index;
        }
        p.nj = few[k];
        struct reference *const r = reference_new(&p);
        struct answer *const a = solve_with(&t->open, 1, &p, &sums);
        for (int i = 0; i < 2; i++) {
            struct exact e;
            reference_solve(r, i, &e);
            const real error[] = {a[i].pot - e.pot, a[i].acc[0] - e.acc[0], a[i].jerk[0] - e.jerk[0]};
            for (int q = 0; q < 3; q++)
                if (!(fabsl(error[q]) <= case_bound(&of_plummer, SAPPORO_DP, &e, q)))
                    fail_msg("%s: sum %d of %d particles is off by %Lg", t->open.name, q, few[k], error[q]);
            free(e.list);
        }
        answers_free(a, 2);
        reference_free(r);
        problem_free(&p);
    }
}

RUNS(errors, on_each(0, bound))

/* ---- steps of two bodies ---- */

enum { TWO = 2 };

struct orbit {
    sapporo *c; /* NULL: forces in plain double */
    double mass[TWO], x[TWO][3], v[TWO][3], a[TWO][3], j[TWO][3];
};

/* Force of one body on the other, Makino & Aarseth 1992, eqs. 3 and 4. */
static void plain_force(struct orbit *o)
{
    for (int i = 0; i < TWO; i++) {
        double r[3], v[3], r2 = 0, rv = 0;
        for (int k = 0; k < 3; k++) r[k] = o->x[1 - i][k] - o->x[i][k], v[k] = o->v[1 - i][k] - o->v[i][k];
        for (int k = 0; k < 3; k++) r2 += r[k] * r[k], rv += r[k] * v[k];
        const double s = o->mass[1 - i] / (r2 * sqrt(r2));
        for (int k = 0; k < 3; k++) o->a[i][k] = s * r[k], o->j[i][k] = s * (v[k] - 3 * rv / r2 * r[k]);
    }
}

static void library_force(struct orbit *o)
{
    static const int index[TWO] = {0, 1};
    const sapporo_particles all = {
        .size = sizeof all, .derivative = {{o->x, 0}, {o->v, 0}}, .mass = {o->mass, 0}, .index = {index, 0}};
    const sapporo_request r = {
        .size = sizeof r, .nj = TWO, .ni = TWO, .x = {o->x, 0}, .v = {o->v, 0}, .index = {index, 0}};
    const sapporo_result out = {.size = sizeof out, .acc = o->a, .jerk = o->j};
    sapporo_job *job;
    assert_int_equal(sapporo_set_particles(o->c, 0, TWO, &all), SAPPORO_OK);
    assert_int_equal(sapporo_force_begin(o->c, &r, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, TWO, &out), SAPPORO_OK);
    sapporo_force_free(job);
}

static double size(const double *a) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

/* Moves both by a step of the Hermite scheme; returns the next step, of Aarseth's criterion (docs/numerics.md). */
static double advance(struct orbit *o, double dt, double eta)
{
    const struct orbit old = *o;
    double least = INFINITY;
    for (int i = 0; i < TWO; i++)
        for (int k = 0; k < 3; k++) {
            o->x[i][k] += dt * (old.v[i][k] + dt / 2 * (old.a[i][k] + dt / 3 * old.j[i][k]));
            o->v[i][k] += dt * (old.a[i][k] + dt / 2 * old.j[i][k]);
        }
    if (o->c)
        library_force(o);
    else
        plain_force(o);
    for (int i = 0; i < TWO; i++) {
        double a2[3], a3[3];
        for (int k = 0; k < 3; k++) {
            const double da = o->a[i][k] - old.a[i][k], dj = o->j[i][k], j = old.j[i][k];
            const double a2_old = (6 * da - dt * (4 * j + 2 * dj)) / (dt * dt);
            a3[k] = (-12 * da + 6 * dt * (j + dj)) / (dt * dt * dt);
            a2[k] = a2_old + dt * a3[k];
            o->v[i][k] = old.v[i][k] + dt / 2 * (old.a[i][k] + o->a[i][k]) + dt * dt / 12 * (j - dj);
            o->x[i][k] = old.x[i][k] + dt / 2 * (old.v[i][k] + o->v[i][k]) + dt * dt / 12 * (old.a[i][k] - o->a[i][k]);
        }
        const double a = size(o->a[i]), j = size(o->j[i]);
        const double step = sqrt(eta * (a * size(a2) + j * j) / (j * size(a3) + size(a2) * size(a2)));
        least = step < least ? step : least;
    }
    return exp2(floor(log2(least)));
}

enum { TOO_MANY = 5000 };

/* Steps of the Sun and the Earth in a quarter of a year, at most TOO_MANY: G = 1, one AU, one solar mass. */
static int steps_of(sapporo *c, double eta)
{
    struct orbit o = {.c = c, .mass = {1, 3e-6}, .x = {{0}, {1, 0.1, 0}}, .v = {{0}, {0, 1, 0.01}}};
    double t = 0, dt = 0x1p-12;
    int n = 0;
    if (c)
        library_force(&o);
    else
        plain_force(&o);
    for (; t < acos(-1) / 2 && n < TOO_MANY; n++) {
        const double next = advance(&o, dt, eta);
        t += dt;
        dt = next > 2 * dt ? 2 * dt : next;
    }
    return n;
}

static int steps_on(const struct engine *e, double eta)
{
    sapporo *const c = engine_open(e, 1);
    const int n = steps_of(c, eta);
    sapporo_close(c);
    return n;
}

/* At the usual eta all precisions take the same steps; at a small one those of ds resolve rounding errors. */
static void count_steps(const struct trio *t)
{
    static const double etas[] = {0.005, 2.5e-5};
    for (int k = 0; k < 2; k++) {
        const int plain = steps_of(NULL, etas[k]), n = steps_on(&t->open, etas[k]), of_ds = steps_on(&t->ds, etas[k]);
        print_message("# %s, eta %g: %d steps, in plain double %d, in ds %d%s\n", t->open.name, etas[k], n, plain,
                      of_ds, of_ds < TOO_MANY ? "" : " or more");
        if (t->mixes) assert_true(n < plain + plain / 50 + 1);
        if (k == 0) assert_true(of_ds < plain + plain / 4);
    }
}

RUNS(steps, on_each(0, count_steps))

/* ---- neighbour forces ---- */

static void same_neighbour_forces(sapporo *a, sapporo *b)
{
    static const int list[] = {3, 900, 17, 650, 12, 0}, address[] = {1, 5, 800}, length[] = {6, 3, 5};
    const int *const lists[] = {list, list, list};
    double acc[2][3][3], jerk[2][3][3], pot[2][3], r2[2][3];
    int near[2][3];
    for (int k = 0; k < 2; k++) {
        const sapporo_neighbour_request r = {
            .size = sizeof r, .ni = 3, .address = address, .list = lists, .length = length, .eps2 = 1e-4};
        const sapporo_result out = {
            .size = sizeof out, .acc = acc[k], .jerk = jerk[k], .pot = pot[k], .nearest = near[k], .nearest_r2 = r2[k]};
        assert_int_equal(sapporo_neighbour_force(k ? b : a, &r, &out), SAPPORO_OK);
    }
    assert_memory_equal(acc[0], acc[1], sizeof acc[0]);
    assert_memory_equal(jerk[0], jerk[1], sizeof jerk[0]);
    assert_memory_equal(pot[0], pot[1], sizeof pot[0]);
    assert_memory_equal(near[0], near[1], sizeof near[0]);
    assert_memory_equal(r2[0], r2[1], sizeof r2[0]);
}

/* The number of addresses grows beyond the limit; forces come between, or not. */
static void grow(const struct trio *with, int forces)
{
    static const struct ask sums = {ALL, ALL, 0};
    struct trio t = *with;
    struct problem p;
    rng random;
    rng_seed(&random, 4, 4);
    make(&p, 4);
    open_all(&t, 1);
    for (int n = 1000; n <= 1400; n += n == 1000 ? 23 : n == 1023 ? 1 : 188) {
        p.nbodies = n;
        problem_load(t.c, &p);
        problem_load(t.of_ds, &p);
        if (t.mixes) problem_load(t.of_dp, &p);
        for (int again = 0; again < 3; again++) {
            p.nj = again == 1 ? 700 : n;
            if (forces) compare(&t, &p, &sums, "a force between neighbour forces");
            same_neighbour_forces(t.c, named(&t, n));
            store(&t, &(struct problem){.nbodies = 900, .body = p.body}, &random);
        }
        p.nbodies = N;
    }
    close_all(&t);
    problem_free(&p);
}

static void grow_both(const struct trio *t)
{
    grow(t, 0);
    grow(t, 1);
}

RUNS(neighbour_forces, on_each(0, grow_both))

/* ---- what was named ---- */

static int says_mixed(const struct engine *e)
{
    sapporo *const c = engine_open(e, 1);
    const int says = strstr(sapporo_kind(c), " ds+dp") != NULL;
    sapporo_close(c);
    return says;
}

static void kind_of(const struct trio *t)
{
    struct engine e = t->open;
    assert_int_equal(says_mixed(&e), t->mixes);
    assert_false(says_mixed(&t->ds));
    if (t->mixes) assert_false(says_mixed(&t->dp));
    setenv("SAPPORO_PRECISION", "ds", 1);
    assert_false(says_mixed(&e));
    unsetenv("SAPPORO_PRECISION");
    e.order = 6;
    if (t->mixes) assert_false(says_mixed(&e)); /* the default is dp */
}

static void kinds(void **state)
{
    (void)state;
    on_each(0, kind_of);
    on_each(2, kind_of);
}

/* A named ds has errors of ds, however few the particles: by options, and by the variable in a context without. */
static void variable_wins(const struct trio *with)
{
    static const struct ask sums = {0, 0, 0};
    struct trio t = *with;
    struct problem p;
    make(&p, 4);
    p.nj = 300;
    setenv("SAPPORO_PRECISION", "ds", 1);
    struct answer *const a = solve_with(&t.open, 1, &p, &sums);
    unsetenv("SAPPORO_PRECISION");
    struct answer *const b = solve_with(&t.ds, 1, &p, &sums), *const c = solve_with(&t.open, 1, &p, &sums);
    answers_same(t.open.name, a, b, NI, 0);
    int other = 0;
    for (int i = 0; i < NI; i++) other += !same_doubles(a[i].acc, c[i].acc, 3);
    assert_int_equal(other > 0, t.mixes);
    answers_free(a, NI);
    answers_free(b, NI);
    answers_free(c, NI);
    problem_free(&p);
}

RUNS(named_precision, on_each(0, variable_wins))

/* Coordinates beyond the range of single precision are no reason for a warning while all forces are dp. */
static int warnings;

static void count_warning(void *user, int level, const char *text)
{
    (void)user;
    warnings += level == SAPPORO_LOG_WARNING && strstr(text, "single precision") != NULL;
}

static void warn(const struct trio *t)
{
    struct problem p;
    const sapporo_particle far = {.derivative = {{2e11, 0, 0}}, .mass = 1, .time = 0.25};
    static const struct ask sums = {0, 0, 0};
    if (!t->mixes) return;
    make(&p, 4);
    sapporo *const c = engine_open(&t->open, 1);
    problem_load(c, &p);
    warnings = 0;
    sapporo_set_log(count_warning, NULL);
    assert_int_equal(sapporo_set_particle(c, 5, &far), SAPPORO_OK);
    p.nj = 50;
    answers_free(problem_solve(c, &p, &sums), NI);
    assert_int_equal(warnings, 0);
    p.nj = N;
    answers_free(problem_solve(c, &p, &sums), NI);
    assert_int_equal(warnings, 1);
    sapporo_set_log(NULL, NULL);
    sapporo_close(c);
    problem_free(&p);
}

RUNS(ranges, on_each(0, warn))

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_of_all),     cmocka_unit_test(lives),
        cmocka_unit_test(errors),           cmocka_unit_test(steps),
        cmocka_unit_test(neighbour_forces), cmocka_unit_test(kinds),
        cmocka_unit_test(named_precision),  cmocka_unit_test(ranges),
    };
    unsetenv("SAPPORO_PRECISION");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
