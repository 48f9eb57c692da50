/*
 * test_stepper_limits.c - steppers at both ends of what their options and calls may be, with the numbers that errors
 * name; where a run stops; what statistics count; particles that are set again leave nothing of those before.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "runs.h"
#include "stepper_places.h"
#include "worst.h"

enum { N = 12 };

static double x[N][3], v[N][3], mass[N];

/* Particles of which every fourth, from `first` on, is massless. */
static void make_particles(int first)
{
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < 3; c++) x[i][c] = 3 * sin(1 + 2.7 * i + c * (1.3 + i)), v[i][c] = 0.3 * cos(5 * x[i][c]);
        mass[i] = i % 4 == first ? 0 : 1 + 0.25 * i;
    }
}

static sapporo_stepper_options options_at(const struct place *p, const sapporo_tree_options *tree, double dt)
{
    return (sapporo_stepper_options){
        .size = sizeof(sapporo_stepper_options), .method = p->method, .tree = tree, .dt = dt, .rebuild = 2};
}

static void expect_words(const char *text, const char *words)
{
    if (!strstr(text, words)) fail_msg("'%s' does not say '%s'", text, words);
}

/* ---- options --------------------------------------------------------------------------------------- */

static sapporo_tree_options softened = {.size = sizeof softened, .backend = SAPPORO_BACKEND_CPU, .eps2 = 0.01};
static sapporo_field fields[9];

static sapporo_stepper_options plain_options(void)
{
    for (int k = 0; k < 9; k++) fields[k] = stepper_fields[k % STEPPER_FIELDS];
    return (sapporo_stepper_options){.size = sizeof(sapporo_stepper_options),
                                     .tree = &softened,
                                     .dt = 0.25,
                                     .scheme = SAPPORO_STEPS_BLOCK,
                                     .nfields = 8,
                                     .fields = fields};
}

static void expect_refused(const sapporo_stepper_options *o, const char *words)
{
    sapporo_stepper *s = (sapporo_stepper *)&fields;
    assert_int_equal(sapporo_stepper_create(o, 3, &s), SAPPORO_ERR_ARGUMENT);
    assert_null(s);
    expect_words(sapporo_stepper_last_error(NULL), words);
}

static void expect_taken(const sapporo_stepper_options *o)
{
    sapporo_stepper_destroy(stepper_make(o, 3));
    assert_string_equal(sapporo_stepper_last_error(NULL), "");
}

static void limits_of_options(void **state)
{
    sapporo_stepper_options o;
    (void)state;
#define TAKEN(what)                                                                                                    \
    o = plain_options();                                                                                               \
    what;                                                                                                              \
    expect_taken(&o)
#define REFUSED(what, words)                                                                                           \
    o = plain_options();                                                                                               \
    what;                                                                                                              \
    expect_refused(&o, words)
    TAKEN(o.levels = 1);
    TAKEN(o.levels = 31);
    REFUSED(o.levels = 32, "levels of a stepper is 32; it may be 0 to 31");
    REFUSED(o.levels = -1, "levels of a stepper is -1; it may be 0 to 31");
    TAKEN(o.rebuild = SAPPORO_REBUILD_TIMED);
    TAKEN(o.rebuild = 1000000000);
    REFUSED(o.rebuild = -2, "rebuild of a stepper is -2; it may be -1 to 1000000000");
    REFUSED(o.rebuild = 1000000001, "rebuild of a stepper is 1000000001; it may be");
    TAKEN(o.method = SAPPORO_STEP_DIRECT);
    REFUSED(o.method = (sapporo_step_method)3, "method of a stepper is 3; it may be 0 to 2");
    REFUSED(o.method = (sapporo_step_method)-1, "method of a stepper is -1");
    REFUSED(o.scheme = (sapporo_step_scheme)6, "scheme of a stepper is 6; it may be 0 to 5");
    REFUSED(o.scheme = (sapporo_step_scheme)-1, "scheme of a stepper is -1");
    TAKEN(o.criterion = SAPPORO_STEP_BY_CHANGE);
    REFUSED(o.criterion = (sapporo_step_criterion)5, "criterion of a stepper is 5; it may be 0 to 4");
    REFUSED(o.criterion = (sapporo_step_criterion)-1, "criterion of a stepper is -1");
    TAKEN(o.dt = 1e100);
    TAKEN(o.dt = 1e-300);
    REFUSED(o.dt = 1.0001e100, "dt of a stepper is 1.0001e+100");
    REFUSED(o.dt = 0, "dt of a stepper is 0; it is a number > 0");
    REFUSED(o.dt = -0.5, "dt of a stepper is -0.5");
    REFUSED(o.dt = NAN, "dt of a stepper is nan");
    TAKEN(o.eta = 1e100);
    TAKEN(o.eta = 0);
    REFUSED(o.eta = 1.0001e100, "eta of a stepper is 1.0001e+100");
    REFUSED(o.eta = -0.5, "eta of a stepper is -0.5");
    REFUSED(o.nfields = 9, "nfields is 9; it may be 0 to 8");
    REFUSED(o.nfields = -1, "nfields is -1; it may be 0 to 8");
    REFUSED(o.fields = NULL, "nfields is 8; it may be 0 to 8, with fields");
    TAKEN(o.fields = NULL; o.nfields = 0);
}

static void limits_of_fields(void **state)
{
    sapporo_stepper_options o;
    (void)state;
    for (int k = 0; k < 8; k++) {
        char words[64];
        (void)snprintf(words, sizeof words, "kind of field %d is 7; it may be 1 to 6", k);
        REFUSED(fields[k].kind = (sapporo_field_kind)7, words);
        (void)snprintf(words, sizeof words, "kind of field %d is 0;", k);
        REFUSED(fields[k].kind = (sapporo_field_kind)0, words);
        (void)snprintf(words, sizeof words, "strength of field %d is -1;", k);
        REFUSED(fields[k].strength = -1, words);
        (void)snprintf(words, sizeof words, "strength of field %d is inf;", k);
        REFUSED(fields[k].strength = INFINITY, words);
        TAKEN(fields[k].strength = 0);
        for (int c = 0; c < 3; c++) {
            (void)snprintf(words, sizeof words, "centre of field %d ", k);
            REFUSED(fields[k].centre[c] = -1.0001e100, words);
            REFUSED(fields[k].centre[c] = NAN, words);
            TAKEN(fields[k].centre[c] = -1e100);
        }
        (void)snprintf(words, sizeof words, "lengths of field %d are -1 and ", k);
        REFUSED(fields[k].a = -1, words);
        REFUSED(fields[k].b = 1.0001e100, "lengths of field");
        TAKEN(fields[k].a = 1e100; fields[k].b = 1e100);
        const int scaled = fields[k].kind == SAPPORO_FIELD_HERNQUIST || fields[k].kind == SAPPORO_FIELD_NFW;
        o = plain_options();
        fields[k].a = 0;
        if (scaled)
            expect_refused(&o, "are 0 and 0;");
        else
            expect_taken(&o);
        o = plain_options();
        fields[k].b = 0;
        if (fields[k].kind == SAPPORO_FIELD_LOGARITHMIC)
            expect_refused(&o, "are 0.3 and 0;");
        else
            expect_taken(&o);
    }
}

/* Numbers of particles, and times, at both ends; a set that is refused changes nothing. */
static void limits_of_sets(void **state)
{
    static struct stepper_state before, after;
    static const int wrong[] = {0, -1, N + 1, INT32_MAX, INT32_MIN};
    const sapporo_stepper_options o = options_at(&stepper_places[0], &softened, 1.0 / 8);
    sapporo_stepper_particles p = {.size = sizeof p, .n = N, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}};
    (void)state;
    make_particles(2);
    sapporo_stepper *s = stepper_make(&o, N);
    stepper_put(s, N, x, v, mass, 0);
    stepper_advance(s, INFINITY, 1);
    stepper_get(s, SAPPORO_STEP_OWN, N, &before);
    for (int k = 0; k < 12; k++) {
        sapporo_stepper_particles q = p;
        char words[96] = "without positions, velocities or masses";
        if (k < 5)
            (void)snprintf(words, sizeof words, "%d particles; the stepper was created for 1 to %d", q.n = wrong[k], N);
        if (k == 5) q.x.base = NULL;
        if (k == 6) q.v.base = NULL;
        if (k == 7) q.mass.base = NULL;
        if (k == 8) q.time = NAN, (void)snprintf(words, sizeof words, "time is nan");
        if (k == 9) q.time = -1.0001e100, (void)snprintf(words, sizeof words, "time is -1.0001e+100");
        if (k == 10) q.memory = (sapporo_memory)2, (void)snprintf(words, sizeof words, "memory is 2; it may be 0 or 1");
        if (k == 11) q.time = 1e100, (void)snprintf(words, sizeof words, "a step of 0.125 does not change the time 1");
        assert_int_equal(sapporo_stepper_set(s, &q), k == 8 || k == 9 ? SAPPORO_ERR_NOT_FINITE : SAPPORO_ERR_ARGUMENT);
        expect_words(sapporo_stepper_last_error(s), words);
        stepper_get(s, SAPPORO_STEP_OWN, N, &after);
        assert_memory_equal(&before, &after, sizeof before);
    }
    p.n = 1;
    assert_int_equal(sapporo_stepper_set(s, &p), SAPPORO_OK);
    assert_int_equal(stepper_figures(s).n, 1);
    p.n = N;
    p.time = 0x1p49; /* a step of 2^-3 is a digit of it */
    assert_int_equal(sapporo_stepper_set(s, &p), SAPPORO_OK);
    p.time = 0x1p50;
    assert_int_equal(sapporo_stepper_set(s, &p), SAPPORO_ERR_ARGUMENT);
    sapporo_stepper_destroy(s);
}

/* ---- where a run stops ------------------------------------------------------------------------------- */

/* Steps end at or before the time, to 2^-10 of the shortest step, and as many as are allowed. */
static void ends_of_runs(void **state)
{
    (void)state;
    for (int block = 0; block < 2; block++) {
        sapporo_stepper_options o = options_at(&stepper_places[2], &softened, 0.25);
        o.scheme = block ? SAPPORO_STEPS_BLOCK : SAPPORO_STEPS_SHARED;
        o.levels = 3;
        o.eta = 1e6; /* all on level 0 */
        const double slack = (block ? 0.0625 : 0.25) / 1024;
        sapporo_stepper *s = stepper_make(&o, N);
        make_particles(2);
        stepper_put(s, N, x, v, mass, 2);
        const double to[] = {2, 2 - slack, 2.25 - 1.5 * slack, 2.25 - slack, 2.25, 2.7, 3.1, 3.75, 3.75 - slack / 2};
        const double at[] = {2, 2, 2, 2.25, 2.25, 2.5, 3, 3.75, 3.75};
        const int steps[] = {0, 0, 0, 1, 1, 2, 4, 7, 7};
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
            stepper_advance(s, to[k], 0);
            assert_true(sapporo_stepper_get_time(s) == at[k] && stepper_figures(s).steps == steps[k]);
        }
        assert_int_equal(sapporo_stepper_advance(s, 3.75 - 2 * slack, 0), SAPPORO_ERR_ARGUMENT);
        expect_words(sapporo_stepper_last_error(s), "before the present time 3.75");
        assert_int_equal(sapporo_stepper_advance(s, -INFINITY, 3), SAPPORO_ERR_ARGUMENT);
        assert_int_equal(sapporo_stepper_advance(s, 5, -1), SAPPORO_ERR_ARGUMENT);
        expect_words(sapporo_stepper_last_error(s), "time is 5 and steps -1");
        assert_int_equal(sapporo_stepper_advance(s, INFINITY, 0), SAPPORO_ERR_ARGUMENT);
        stepper_advance(s, 4.5, 2);
        assert_true(sapporo_stepper_get_time(s) == 4.25);
        stepper_advance(s, 4.5, 2);
        assert_true(sapporo_stepper_get_time(s) == 4.5);
        stepper_advance(s, INFINITY, 1);
        const sapporo_stepper_statistics f = stepper_figures(s);
        assert_true(sapporo_stepper_get_time(s) == 4.75 && f.steps == 11 && f.particle_steps == 11 * N &&
                    f.active == N && f.level[0] == N && f.massive == N - N / 4);
        sapporo_stepper_destroy(s);
    }
}

/* ---- statistics ------------------------------------------------------------------------------------------ */

/* All phases of a step take time, and together no more than the call; builds and refreshes are counted. */
static void phases(void **state)
{
    (void)state;
    for (int rebuild = 1; rebuild < 4; rebuild += 2) {
        sapporo_stepper_options o = options_at(&stepper_places[0], &softened, 1.0 / 64);
        o.rebuild = rebuild;
        sapporo_stepper *s = stepper_make(&o, N);
        make_particles(2);
        stepper_put(s, N, x, v, mass, 0);
        for (int step = 1; step < 8; step++) {
            const double before = sap_clock_seconds();
            stepper_advance(s, INFINITY, 1);
            const double whole = sap_clock_seconds() - before;
            const sapporo_stepper_statistics f = stepper_figures(s);
            double sum = 0;
            for (int phase = 0; phase < SAPPORO_STEP_PHASES; phase++) sum += f.seconds[phase];
            const int builds = step % rebuild == 0, ahead = builds && rebuild > 1;
            assert_true(sum <= whole && f.seconds[SAPPORO_STEP_PHASE_TREE] > 0 &&
                        f.seconds[SAPPORO_STEP_PHASE_FORCE] > 0 && f.seconds[SAPPORO_STEP_PHASE_CORRECT] > 0);
            /* predictions of a build for a later time are part of it */
            assert_true(ahead ? f.seconds[SAPPORO_STEP_PHASE_PREDICT] == 0 : f.seconds[SAPPORO_STEP_PHASE_PREDICT] > 0);
            assert_true(f.builds == 1 + step / rebuild && f.refreshes == step - step / rebuild && f.steps == step);
            assert_int_equal(f.rebuild_steps, step < rebuild ? 0 : rebuild);
            assert_true(f.interactions > 1 && f.interactions <= N);
        }
        sapporo_stepper_destroy(s);
    }
}

/* Statistics of an older and shorter struct, of a stepper without particles, and of one that is closed. */
static void short_statistics(void **state)
{
    const sapporo_stepper_options o = options_at(&stepper_places[0], &softened, 1.0 / 64);
    sapporo_stepper_statistics f = {.size = offsetof(sapporo_stepper_statistics, builds), .builds = 77};
    sapporo_stepper *s = stepper_make(&o, N);
    (void)state;
    assert_int_equal(sapporo_stepper_get_statistics(s, &f), SAPPORO_OK);
    assert_true(f.n == 0 && f.steps == 0 && f.builds == 77);
    const size_t bytes = stepper_figures(s).host_bytes;
    make_particles(2);
    stepper_put(s, N, x, v, mass, 0);
    stepper_advance(s, INFINITY, 2);
    assert_true(stepper_figures(s).host_bytes == bytes + N / 4 * 4 * sizeof(double) + N * 2 * sizeof(int));
    assert_int_equal(sapporo_stepper_get_statistics(s, &f), SAPPORO_OK);
    assert_true(f.n == N && f.steps == 2 && f.particle_steps == 2 * N && f.builds == 77);
    assert_true(f.size == offsetof(sapporo_stepper_statistics, builds));
    sapporo_stepper_destroy(s);
    f.size = sizeof f;
    assert_int_equal(sapporo_stepper_get_statistics(s, &f), SAPPORO_ERR_CLOSED);
    assert_true(f.n == 0 && f.steps == 0 && f.builds == 0);
    f.size = 0;
    assert_int_equal(sapporo_stepper_get_statistics(s, &f), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_stepper_get_statistics(s, NULL), SAPPORO_ERR_ARGUMENT);
}

/* ---- positions that leave the range ------------------------------------------------------------------------- */

/* A particle that a step would move beyond 1e100 is named, the first of several, wherever it is; none moves. */
static void too_far_at(const struct place *p)
{
    static struct stepper_state before, after;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.1);
    const sapporo_stepper_options o = options_at(p, &tree, 1);
    for (int k = 0; k < 3 * N; k++) {
        const int i = k / 3, other = k % 2 ? (i + 5) % N : i, first = other < i ? other : i;
        char words[96];
        make_particles(2);
        v[i][k % 3] = 1.1e100;
        v[other][(k + 1) % 3] = -1.1e100;
        sapporo_stepper *s = stepper_make(&o, N);
        stepper_put(s, N, x, v, mass, 0.5);
        stepper_get(s, SAPPORO_STEP_OWN, N, &before);
        assert_int_equal(sapporo_stepper_advance(s, INFINITY, 1), SAPPORO_ERR_NOT_FINITE);
        (void)snprintf(words, sizeof words,
                       "predicted position of particle %d is not finite; the particles are those of time 0.5", first);
        expect_words(sapporo_stepper_last_error(s), words);
        stepper_get(s, SAPPORO_STEP_OWN, N, &after);
        assert_memory_equal(&before, &after, sizeof before);
        assert_true(sapporo_stepper_get_time(s) == 0.5 && stepper_figures(s).steps == 0);
        sapporo_stepper_destroy(s);
    }
}

RUNS(too_far, stepper_everywhere(too_far_at, 1))

/* ---- set again --------------------------------------------------------------------------------------------- */

/* Takes n particles with labels, or with their addresses, and runs; the state at the end. */
static void run(sapporo_stepper *s, int n, int massless, int labelled, struct stepper_state *to)
{
    long long label[N];
    make_particles(massless);
    for (int i = 0; i < N; i++) label[i] = (1LL << 40) + 3 * i;
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = n,
                                         .x = {x, 0},
                                         .v = {v, 0},
                                         .mass = {mass, 0},
                                         .label = {labelled ? label : NULL, 0},
                                         .time = 0.25 * n};
    if (sapporo_stepper_set(s, &p)) fail_msg("%s", sapporo_stepper_last_error(s));
    stepper_advance(s, INFINITY, 5);
    stepper_get(s, SAPPORO_STEP_OWN, n, to);
    for (int i = 0; i < n; i++) assert_true(to->label[i] == (labelled ? label[i] : i));
}

/*
 * Particles that are set, or restored, after others have the bits of those in a new stepper: other numbers of them,
 * other massless ones, with fields, which the sizes of accelerations leave out.
 */
static void set_again_at(const struct place *p)
{
    static struct stepper_state alone, again, restored;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.1);
    sapporo_stepper_options o = options_at(p, &tree, 1.0 / 8);
    char path[64];
    o.scheme = SAPPORO_STEPS_BLOCK;
    o.levels = 6;
    o.nfields = 2;
    o.fields = stepper_fields + 1;
    (void)snprintf(path, sizeof path, "/tmp/sapporo-step-again-%ld", (long)getpid());
    for (int k = 0; k < 6; k++) {
        const int n = k % 2 ? N : N - 3, massless = k / 2 == 2 ? N : k / 2;
        sapporo_stepper *one = stepper_make(&o, N), *other = stepper_make(&o, N);
        run(one, n, massless, k % 2, &alone);
        run(other, N - 2, 3, 1, &again);
        run(other, n, massless, k % 2, &again);
        assert_memory_equal(&alone, &again, sizeof alone);
        if (sapporo_stepper_save(one, path)) fail_msg("%s", sapporo_stepper_last_error(one));
        const sapporo_stepper_totals before = stepper_totals(one);
        const sapporo_stepper_statistics counted = stepper_figures(one);
        stepper_advance(one, INFINITY, 7);
        stepper_get(one, SAPPORO_STEP_OWN, n, &alone);
        run(other, N - 1, 1, 0, &again);
        if (sapporo_stepper_restore(other, path)) fail_msg("%s", sapporo_stepper_last_error(other));
        const sapporo_stepper_totals after = stepper_totals(other);
        assert_memory_equal(&before, &after, sizeof before);
        const sapporo_stepper_statistics f = stepper_figures(other);
        assert_true(f.n == n && f.steps == 5 && f.massive == counted.massive && f.active == counted.active &&
                    f.builds == counted.builds && f.particle_steps == counted.particle_steps);
        assert_memory_equal(f.level, counted.level, sizeof f.level);
        stepper_advance(other, INFINITY, 7);
        stepper_get(other, SAPPORO_STEP_OWN, n, &restored);
        assert_memory_equal(&alone, &restored, sizeof alone);
        sapporo_stepper_destroy(one);
        sapporo_stepper_destroy(other);
    }
    assert_int_equal(unlink(path), 0);
}

RUNS(set_again, stepper_everywhere(set_again_at, 0))

/* ---- sums of many ------------------------------------------------------------------------------------------- */

/* Totals of numbers of particles at the ends of runs of 256, against sums in extended precision. */
static void totals_at(const struct place *p)
{
    static const int counts[] = {1, 255, 256, 257, 511, 512, 513, 1100};
    static double at[1100][3], speed[1100][3], m[1100];
    const sapporo_tree_options tree = stepper_tree_at(p, 0.1);
    const sapporo_stepper_options o = options_at(p, &tree, 1.0 / 8);
    for (int i = 0; i < 1100; i++) {
        for (int c = 0; c < 3; c++) at[i][c] = sin(1 + 0.37 * i + c * (1.3 + i)), speed[i][c] = cos(i + 2.0 * c);
        m[i] = i % 5 == 1 ? 0 : 1e-3 * (1 + i % 9);
    }
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const int n = counts[k];
        long double kinetic = 0, sum[6] = {0};
        double worst = 0;
        sapporo_stepper *s = stepper_make(&o, n);
        stepper_put(s, n, at, speed, m, 3);
        const sapporo_stepper_totals t = stepper_totals(s);
        for (int i = 0; i < n; i++)
            for (int c = 0; c < 3; c++) {
                kinetic += 0.5L * m[i] * speed[i][c] * speed[i][c];
                sum[c] += (long double)m[i] * speed[i][c];
                sum[3 + c] += (long double)m[i] * at[i][c];
            }
        for (int c = 0; c < 3; c++) {
            worst = worst_of(worst, (double)fabsl(t.momentum[c] - sum[c]));
            worst = worst_of(worst, (double)fabsl(t.moment[c] - sum[3 + c]));
        }
        worst = worst_of(worst, (double)fabsl(t.kinetic - kinetic));
        if (!(worst < 3e-15)) fail_msg("%s: totals of %d particles are off by %g", p->name, n, worst);
        assert_true(t.time == 3 && t.field == 0);
        sapporo_stepper_destroy(s);
    }
}

RUNS(totals, stepper_everywhere(totals_at, 1))

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_options), cmocka_unit_test(limits_of_fields), cmocka_unit_test(limits_of_sets),
        cmocka_unit_test(ends_of_runs),      cmocka_unit_test(phases),           cmocka_unit_test(short_statistics),
        cmocka_unit_test(too_far),           cmocka_unit_test(set_again),        cmocka_unit_test(totals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
