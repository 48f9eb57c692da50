/*
 * test_units_more.c - calls beside plain forces in units that single precision cannot hold: batches of small forces,
 * neighbour forces, regular forces, spline softening, particles that are read, contexts of mixed precision.  Multiplied
 * by powers of two, they have the same bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"
#include "runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1400, NI = 20 };

/* Exponents of a length, a mass and a time. */
static const int units[][3] = {{72, 144, 40}, {-66, -198, 0}, {-3, -150, 5}, {40, -60, 90}};
enum { UNITS = sizeof units / sizeof units[0] };

/* Particles, some of them targets, in units. */
struct set {
    double x[N][3], v[N][3], mass[N], eps2[N], h2[N];
    int length, unit_mass, time;
};

static void scale(double *x, int n, int exponent)
{
    for (int k = 0; k < n; k++) x[k] = ldexp(x[k], exponent);
}

/* Makes a star cluster in units of powers of two. */
static struct set *new_set(int length, int mass, int time)
{
    struct set *const s = zeroed(1, sizeof *s);
    struct body *const body = zeroed(N, sizeof *body);
    model_plummer(body, N, 9);
    for (int k = 0; k < N; k++) {
        memcpy(s->x[k], body[k].derivative[0], sizeof s->x[k]);
        memcpy(s->v[k], body[k].derivative[1], sizeof s->v[k]);
        s->mass[k] = body[k].mass * (1 + k % 3);
        s->eps2[k] = 1e-4 * (k % 3);
        s->h2[k] = 1e-2 * (k % 5);
    }
    free(body);
    scale(s->x[0], 3 * N, length);
    scale(s->v[0], 3 * N, length - time);
    scale(s->mass, N, mass);
    scale(s->eps2, N, 2 * length);
    scale(s->h2, N, 2 * length);
    s->length = length, s->unit_mass = mass, s->time = time;
    return s;
}

static void store(sapporo *c, const struct set *s, int n, int soft)
{
    sapporo_particles all = {.size = sizeof all, .derivative = {{s->x, 0}, {s->v, 0}}, .mass = {s->mass, 0}};
    if (soft) all.eps2.base = s->eps2;
    assert_int_equal(sapporo_set_particles(c, 0, n, &all), SAPPORO_OK);
}

/* Results of N targets at most, divided by the units. */
struct rows {
    double acc[N][3], jerk[N][3], pot[N], r2[N];
    int nearest[N];
};

static void leave_units(struct rows *r, const struct set *s, int n)
{
    const int field = s->unit_mass - 2 * s->length;
    scale(r->acc[0], 3 * n, -field);
    scale(r->jerk[0], 3 * n, -(field - s->time));
    scale(r->pot, n, -(s->unit_mass - s->length));
    scale(r->r2, n, -2 * s->length);
}

static void expect_same(const char *what, const struct engine *e, int unit, const struct rows *a, const struct rows *b,
                        int n)
{
    for (int i = 0; i < n; i++)
        if (!same_doubles(a->acc[i], b->acc[i], 3) || !same_doubles(a->jerk[i], b->jerk[i], 3) ||
            !same_doubles(&a->pot[i], &b->pot[i], 1) || !same_doubles(&a->r2[i], &b->r2[i], 1) ||
            a->nearest[i] != b->nearest[i])
            fail_msg("%s, %s, units %d: target %d: acc %a, should be %a; jerk %a, %a; pot %a, %a; r2 %a, %a", what,
                     e->name, unit, i, a->acc[i][0], b->acc[i][0], a->jerk[i][0], b->jerk[i][0], a->pot[i], b->pot[i],
                     a->r2[i], b->r2[i]);
}

/* A call, in a context that holds the particles of a set or others; writes `n` rows. */
typedef int a_call(sapporo *c, const struct set *s, struct rows *r);

/* Compares the rows of a call in all units with those in ordinary ones, in one context. */
static void compare(const char *what, const struct engine *e, a_call *call)
{
    struct set *const plain = new_set(0, 0, 0);
    struct rows *const expected = zeroed(1, sizeof *expected), *const got = zeroed(1, sizeof *got);
    sapporo *const c = engine_open(e, 2);
    const int n = call(c, plain, expected);
    for (int k = 0; k < UNITS; k++) {
        struct set *const s = new_set(units[k][0], units[k][1], units[k][2]);
        memset(got, 0, sizeof *got);
        assert_int_equal(call(c, s, got), n);
        leave_units(got, s, n);
        expect_same(what, e, k, got, expected, n);
        free(s);
    }
    memset(got, 0, sizeof *got);
    assert_int_equal(call(c, plain, got), n);
    expect_same(what, e, -1, got, expected, n);
    sapporo_close(c);
    free(plain);
    free(expected);
    free(got);
}

static void on_single(const char *what, const struct engine *all, int n, a_call *call)
{
    int ran = 0;
    for (int k = 0; k < n; k++) {
        if (all[k].precision == SAPPORO_DP || !engine_usable(&all[k])) continue;
        compare(what, &all[k], call);
        ran++;
    }
    if (!ran) skip();
}

/* ---- batches ------------------------------------------------------------------------------------ */

enum { LISTS = 7 };

/* Makes lists with sources of their own, by address, and of both kinds of softening; returns the rows of all. */
static int make_lists(const struct set *s, const int *address, struct rows *r, sapporo_small_force *list,
                      sapporo_result *result)
{
    static const int size[LISTS] = {3, 700, 16, 0, 1300, 129, 40};
    int rows = 0;
    for (int k = 0; k < LISTS; k++) {
        sapporo_small_force *const l = &list[k];
        *l = (sapporo_small_force){.size = sizeof *l, .ni = 3 + k, .nj = size[k], .x = {s->x[11 * k], 0}};
        l->eps2 = k % 2 ? ldexp(1e-3, 2 * s->length) : 0;
        if (k % 3 == 1) l->eps2_i.base = s->eps2 + 5 * k;
        if (k % 3 == 2)
            l->address = address + k;
        else
            l->x_j.base = s->x[20 * k], l->mass_j.base = s->mass + 20 * k;
        if (k == 4) l->eps2_j.base = s->eps2;
        result[k] = (sapporo_result){.size = sizeof result[k], .acc = r->acc + rows, .pot = r->pot + rows};
        rows += l->ni;
    }
    return rows;
}

static int batch(sapporo *c, const struct set *s, struct rows *r)
{
    static int address[N];
    sapporo_small_force list[LISTS];
    sapporo_result result[LISTS];
    for (int k = 0; k < N; k++) address[k] = (77 * k + 3) % N;
    const int rows = make_lists(s, address, r, list, result);
    store(c, s, N, 0);
    assert_int_equal(sapporo_force_batch(c, LISTS, list, result), SAPPORO_OK);
    return rows;
}

/* All lists have their own sources; the context holds nothing. */
static int batch_begun(sapporo *c, const struct set *s, struct rows *r)
{
    sapporo_small_force list[LISTS], own[LISTS];
    sapporo_result result[LISTS];
    sapporo_batch *b;
    int ni[LISTS], n = 0, rows = 0;
    make_lists(s, NULL, r, list, result);
    for (int k = 0; k < LISTS; k++)
        if (k % 3 != 2) {
            own[n] = list[k];
            result[n] = (sapporo_result){.size = sizeof result[n], .acc = r->acc + rows, .pot = r->pot + rows};
            rows += ni[n++] = list[k].ni;
        }
    assert_int_equal(sapporo_force_batch_begin(c, n, own, &b), SAPPORO_OK);
    memset(own, 0x55, sizeof own);
    assert_int_equal(sapporo_force_batch_end(b, n, ni, result), SAPPORO_OK);
    assert_int_equal(sapporo_force_batch_end(b, n, ni, result), SAPPORO_OK); /* divided once */
    sapporo_force_batch_free(b);
    return rows;
}

static void batches(void **state)
{
    (void)state;
    on_single("batch", engines2, ENGINES2, batch);
    on_single("batch begun", engines2, ENGINES2, batch_begun);
}

/* ---- other forces ------------------------------------------------------------------------------- */

static int neighbour_force(sapporo *c, const struct set *s, struct rows *r)
{
    int address[NI], length[NI], list[NI][40];
    const int *lists[NI];
    for (int i = 0; i < NI; i++) {
        address[i] = 31 * i, length[i] = 2 * i, lists[i] = list[i];
        for (int k = 0; k < 2 * i; k++) list[i][k] = (31 * i + 7 * k + 1) % N;
    }
    const sapporo_neighbour_request request = {.size = sizeof request,
                                               .ni = NI,
                                               .address = address,
                                               .list = lists,
                                               .length = length,
                                               .eps2 = ldexp(1e-4, 2 * s->length)};
    const sapporo_result result = {.size = sizeof result,
                                   .acc = r->acc,
                                   .jerk = r->jerk,
                                   .pot = r->pot,
                                   .nearest = r->nearest,
                                   .nearest_r2 = r->r2};
    store(c, s, N, 0);
    assert_int_equal(sapporo_set_time(c, ldexp(0.0625, s->time)), SAPPORO_OK);
    assert_int_equal(sapporo_neighbour_force(c, &request, &result), SAPPORO_OK);
    return NI;
}

RUNS(neighbours, on_single("neighbour force", engines, ENGINES, neighbour_force))

/* A force, whose lists, if there are some, enter the rows as `nearest`: their lengths. */
static int force(sapporo *c, const sapporo_request *request, struct rows *r, int has_jerk)
{
    const sapporo_result result = {
        .size = sizeof result, .acc = r->acc, .jerk = has_jerk ? r->jerk : NULL, .pot = r->pot};
    sapporo_job *job;
    assert_int_equal(sapporo_force_begin(c, request, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, request->ni, &result), SAPPORO_OK);
    for (int i = 0; i < request->ni && request->h2.base; i++) {
        int none;
        (void)sapporo_force_neighbours(job, i, 0, &none, NULL, &r->nearest[i]);
    }
    sapporo_force_free(job);
    return request->ni;
}

static int regular_force(sapporo *c, const struct set *s, struct rows *r)
{
    double dtr[NI], h2[NI];
    const sapporo_regular regular = {.size = sizeof regular, .h2_by_mass = 1, .dtr = {dtr, 0}};
    sapporo_request request = {.size = sizeof request,
                               .nj = N,
                               .ni = NI,
                               .x = {s->x, 0},
                               .v = {s->v, 0},
                               .h2 = {h2, 0},
                               .pairs = SAPPORO_PAIRS_OUTSIDE,
                               .regular = &regular};
    for (int i = 0; i < NI; i++) {
        dtr[i] = ldexp(0.01 * i, s->time);
        h2[i] = ldexp(0.3 * i, 2 * s->length - s->unit_mass);
    }
    store(c, s, N, 0);
    assert_int_equal(sapporo_set_time(c, 0), SAPPORO_OK);
    return force(c, &request, r, 1);
}

static int regular_force_by_length(sapporo *c, const struct set *s, struct rows *r)
{
    const sapporo_request request = {.size = sizeof request,
                                     .nj = N,
                                     .ni = NI,
                                     .x = {s->x, 0},
                                     .v = {s->v, 0},
                                     .h2 = {s->h2, 0},
                                     .pairs = SAPPORO_PAIRS_OUTSIDE};
    store(c, s, N, 0);
    assert_int_equal(sapporo_set_time(c, 0), SAPPORO_OK);
    return force(c, &request, r, 1);
}

static void regular_forces(void **state)
{
    (void)state;
    on_single("regular force, radii by mass", engines, ENGINES, regular_force);
    on_single("regular force", engines, ENGINES, regular_force_by_length);
}

static int spline_force(sapporo *c, const struct set *s, struct rows *r)
{
    const sapporo_request request = {.size = sizeof request,
                                     .nj = N,
                                     .ni = NI,
                                     .x = {s->x, 0},
                                     .eps2 = ldexp(1e-2, 2 * s->length),
                                     .eps2_i = {s->eps2, 0},
                                     .softening = SAPPORO_SOFTENING_SPLINE_MEAN};
    store(c, s, N, 1);
    return force(c, &request, r, 0);
}

RUNS(spline_forces, on_single("spline", engines2, ENGINES2, spline_force))

/* ---- particles ---------------------------------------------------------------------------------- */

/* Particles are read as they were set, before and after a force has chosen other units. */
static void reading(void **state)
{
    (void)state;
    for (int order = 2; order <= 8; order += 2) {
        const sapporo_options options = {
            .size = sizeof options, .order = order, .precision = SAPPORO_DS, .backend = SAPPORO_BACKEND_CPU};
        const sapporo_request request = {.size = sizeof request, .nj = 2};
        sapporo_particle p = {.mass = 1.3e43, .time = order == 2 ? 0 : 4e15, .index = 5}, before, after;
        sapporo_job *job;
        sapporo *c;
        for (int k = 0; k < (order == 2 ? 1 : order == 4 ? 4 : 5); k++)
            for (int axis = 0; axis < 3; axis++) p.derivative[k][axis] = (3e21 + axis * 1e20) / pow(1e15, k);
        assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
        assert_int_equal(sapporo_set_particle(c, 0, &p), SAPPORO_OK);
        p.derivative[0][0] = -1.7e21;
        assert_int_equal(sapporo_set_particle(c, 1, &p), SAPPORO_OK);
        assert_int_equal(sapporo_set_time(c, 5e15), SAPPORO_OK);
        for (int predicted = 0; predicted < 2; predicted++) {
            assert_int_equal(sapporo_get_particle(c, 1, predicted, &before), SAPPORO_OK);
            assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
            sapporo_force_free(job);
            assert_int_equal(sapporo_get_particle(c, 1, predicted, &after), SAPPORO_OK);
            assert_memory_equal(&before, &after, sizeof before);
            assert_int_equal(sapporo_set_particle(c, 1, &p), SAPPORO_OK);
            assert_int_equal(sapporo_get_particle(c, 1, predicted, &after), SAPPORO_OK);
            assert_memory_equal(&before, &after, sizeof before);
            assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
            for (int k = 0; k < 2; k++) assert_int_equal(sapporo_set_particle(c, k, &p), SAPPORO_OK);
        }
        sapporo_close(c);
    }
}

/* Particles that a force does not use stay as they are, whatever units the others need. */
static void beyond_nj(void **state)
{
    (void)state;
    static const double light[] = {1e-300, 4e-320, 1e300};
    for (int k = 0; k < 3; k++) {
        const sapporo_options options = {
            .size = sizeof options, .order = 4, .precision = SAPPORO_SP, .backend = SAPPORO_BACKEND_CPU};
        const sapporo_request request = {.size = sizeof request, .nj = 1};
        const sapporo_particle one = {.derivative = {{1}}, .mass = light[k]}, other = {.derivative = {{3}}, .mass = 7};
        sapporo_particle got;
        sapporo_job *job;
        sapporo *c;
        assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
        assert_int_equal(sapporo_set_particle(c, 0, &one), SAPPORO_OK);
        assert_int_equal(sapporo_set_particle(c, 1, &other), SAPPORO_OK);
        assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
        sapporo_force_free(job);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(sapporo_get_particle(c, 1, 0, &got), SAPPORO_OK);
            assert_true(got.mass == 7 && got.derivative[0][0] == 3);
            assert_int_equal(sapporo_get_particle(c, 0, 0, &got), SAPPORO_OK);
            assert_true(got.mass == light[k] && got.derivative[0][0] == 1);
            assert_int_equal(sapporo_set_particle(c, 1, &other), SAPPORO_OK);
        }
        sapporo_close(c);
    }
}

/* ---- mixed precision ---------------------------------------------------------------------------- */

/* Forces of few and of many particles in turns have the bits of contexts of one precision each. */
static void mixed(void **state)
{
    const int count[] = {N, 300, 1100, 1023, N, 5};
    struct set *const s = new_set(72, 144, 40);
    struct rows *const a = zeroed(1, sizeof *a), *const b = zeroed(1, sizeof *b);
    sapporo *c[SAPPORO_DP + 1];
    (void)state;
    for (int k = 0; k <= SAPPORO_DP; k++) {
        const sapporo_options options = {
            .size = sizeof options, .precision = (sapporo_precision)k, .backend = SAPPORO_BACKEND_CPU};
        assert_int_equal(sapporo_open(&options, &c[k]), SAPPORO_OK);
        store(c[k], s, N, 0);
    }
    for (int k = 0; k < 6; k++) {
        const sapporo_request request = {
            .size = sizeof request, .nj = count[k], .ni = NI, .x = {s->x, 0}, .v = {s->v, 0}, .eps2 = ldexp(1e-4, 144)};
        force(c[SAPPORO_PRECISION_DEFAULT], &request, a, 1);
        force(c[count[k] < 1024 ? SAPPORO_DP : SAPPORO_DS], &request, b, 1);
        assert_memory_equal(a->acc, b->acc, NI * sizeof a->acc[0]);
        assert_memory_equal(a->jerk, b->jerk, NI * sizeof a->jerk[0]);
    }
    for (int k = 0; k <= SAPPORO_DP; k++) sapporo_close(c[k]);
    free(s);
    free(a);
    free(b);
}

/* ---- what no units serve ------------------------------------------------------------------------ */

static int warned;
static char said[300];

static void listen_to(void *user, int level, const char *text)
{
    (void)user;
    warned += level == SAPPORO_LOG_WARNING;
    snprintf(said, sizeof said, "%s", text);
}

/* Two stars of mass 1 and two of `light`, 1 apart, 1e5 away; the acceleration of a light one by the other. */
static double light_pair(sapporo *c, double light)
{
    double x[4][3] = {{0}, {1}, {1e5}, {1e5, 1}}, mass[4] = {1, 1, light, light}, acc[1][3];
    const int index[1] = {2};
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
    const sapporo_request request = {.size = sizeof request, .nj = 4, .ni = 1, .x = {x[2], 0}, .index = {index, 0}};
    const sapporo_result result = {.size = sizeof result, .acc = acc};
    sapporo_job *job;
    warned = 0;
    assert_int_equal(sapporo_set_particles(c, 0, 4, &all), SAPPORO_OK);
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, 1, &result), SAPPORO_OK);
    sapporo_force_free(job);
    return acc[0][1];
}

/* The jerk on a target at the origin with velocity v, and the size of its terms. */
static long double jerk_there(double (*x)[3], double (*of)[3], const double *mass, int n, const double *v,
                              long double *jerk)
{
    long double size = 0;
    memset(jerk, 0, 3 * sizeof *jerk);
    for (int j = 1; j < n; j++) {
        long double r2 = 0, rv = 0, w[3];
        for (int c = 0; c < 3; c++) {
            w[c] = (long double)of[j][c] - v[c];
            r2 += (long double)x[j][c] * x[j][c];
            rv += x[j][c] * w[c];
        }
        for (int c = 0; c < 3; c++) {
            jerk[c] += mass[j] * (w[c] - 3 * rv * x[j][c] / r2) / (r2 * sqrtl(r2));
            size += 4 * mass[j] * fabsl(w[c]) / (r2 * sqrtl(r2));
        }
    }
    return size;
}

/* Targets that are much faster than the sources decide the unit of times: their jerks are right, and so are those of
 * slower ones between them.  The sources move a little, or are at rest. */
static void check_fast_targets(int order, sapporo_precision precision, double slow)
{
    enum { SOURCES = 40 };
    static const double fast[] = {2.5e10, 1e-40, 3e12, 7e-39, 1e30, 0};
    double x[SOURCES][3] = {{0}}, v[SOURCES][3], mass[SOURCES];
    for (int j = 0; j < SOURCES; j++) {
        x[j][j % 3] = j;
        mass[j] = 1 + j % 2;
        for (int c = 0; c < 3; c++) v[j][c] = slow * (j % (3 + c) - 1);
    }
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}, {v, 0}}, .mass = {mass, 0}};
    const sapporo_options options = {
        .size = sizeof options, .order = order, .precision = precision, .backend = SAPPORO_BACKEND_CPU};
    sapporo *c;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    assert_int_equal(sapporo_set_particles(c, 0, SOURCES, &all), SAPPORO_OK);
    for (int k = 0; k < 6; k++) {
        const double speed[1][3] = {{0, -fast[k], 0}};
        const sapporo_request request = {.size = sizeof request, .nj = SOURCES, .ni = 1, .x = {x, 0}, .v = {speed, 0}};
        long double want[3];
        struct rows r;
        force(c, &request, &r, 1);
        const long double size = jerk_there(x, v, mass, SOURCES, speed[0], want);
        for (int a = 0; a < 3; a++)
            if (!(fabsl(r.jerk[0][a] - want[a]) <= 1e-6 * size))
                fail_msg("order %d, precision %d, sources %g, target %g: jerk %g, should be %Lg", order, precision,
                         slow, fast[k], r.jerk[0][a], want[a]);
    }
    sapporo_close(c);
}

static void fast_targets(void **state)
{
    (void)state;
    for (sapporo_precision precision = SAPPORO_SP; precision <= SAPPORO_DP; precision++) {
        check_fast_targets(4, precision, 1e-40);
        check_fast_targets(4, precision, 0);
        if (precision == SAPPORO_SP) continue;
        check_fast_targets(6, precision, 0);
        check_fast_targets(8, precision, 0);
    }
}

/* Sources on the axes that move a little, but the last much faster: by its velocity, or by a high derivative. */
enum { STILL = 40 };
struct still {
    double d[STILL][SAPPORO_DERIVATIVES][3], mass[STILL];
};

static struct still *new_still(double slow, int high)
{
    static const double speed[] = {0, 1e4, 0, 1e12, 0, 1e15, 0, 1e18};
    struct still *const s = zeroed(1, sizeof *s);
    for (int j = 0; j < STILL; j++) {
        s->d[j][0][j % 3] = j;
        s->mass[j] = 1 + j % 2;
        s->d[j][1][j % 2] = slow * (j % 5 - 1);
    }
    s->d[STILL - 1][high][0] = speed[high];
    return s;
}

/* Stores the sources from `first` on. */
static void store_still(sapporo *c, const struct still *s, int first)
{
    sapporo_particles some = {.size = sizeof some, .mass = {s->mass + first, 0}};
    for (int k = 0; k < SAPPORO_DERIVATIVES; k++) some.derivative[k] = (sapporo_column){s->d[first][k], sizeof s->d[0]};
    assert_int_equal(sapporo_set_particles(c, first, STILL - first, &some), SAPPORO_OK);
}

/* Positions and velocities of sources at time t. */
static void predict_still(const struct still *s, double t, double (*x)[3], double (*v)[3])
{
    for (int j = 0; j < STILL; j++)
        for (int axis = 0; axis < 3; axis++) {
            long double term = 1, sum[2] = {0};
            for (int k = 0; k < SAPPORO_DERIVATIVES; k++, term *= (long double)t / k) {
                sum[0] += s->d[j][k][axis] * term;
                sum[1] += k + 1 < SAPPORO_DERIVATIVES ? s->d[j][k + 1][axis] * term : 0;
            }
            x[j][axis] = (double)sum[0];
            v[j][axis] = (double)sum[1];
        }
}

/* Stores the sources, the fast one last if `late`, and compares the jerk on the first row, which is no source. */
static void check_still(const char *name, sapporo *c, struct still *s, int high, int late)
{
    const double t = 0.25;
    const sapporo_request request = {.size = sizeof request, .nj = STILL, .ni = 1, .x = {s->d[0][0], 0}};
    double x[STILL][3], v[STILL][3], *const fast = &s->d[STILL - 1][high][0], speed = *fast;
    long double want[3];
    struct rows r;
    assert_int_equal(sapporo_set_time(c, t), SAPPORO_OK);
    if (late) {
        *fast = 0;
        store_still(c, s, 1);
        force(c, &request, &r, 1);
        *fast = speed;
    }
    store_still(c, s, late ? STILL - 1 : 1);
    force(c, &request, &r, 1);
    predict_still(s, t, x, v);
    const long double size = jerk_there(x, v, s->mass, STILL, s->d[0][2], want);
    for (int a = 0; a < 3; a++)
        if (!(fabsl(r.jerk[0][a] - want[a]) <= 1e-6 * size))
            fail_msg("%s, late %d: jerk %g, should be %Lg", name, late, r.jerk[0][a], want[a]);
}

/*
 * Sources at rest or nearly so do not have the unit of times to themselves where another is much faster, be it there
 * when units are chosen or stored later.
 */
static void fast_source(void **state)
{
    static const double slow[] = {1e-20, 1e-15, 1e-30};
    (void)state;
    for (int run = 0; run < 3 * 3 * 3 * 4; run++) {
        const int order = 4 + 2 * (run % 3), high = run / 3 % 2 ? 1 : order == 4 ? 3 : order - 1, late = run / 6 % 2;
        const sapporo_precision precision = (sapporo_precision)((int)SAPPORO_SP + run / 12 % 3);
        const sapporo_options options = {
            .size = sizeof options, .order = order, .precision = precision, .backend = SAPPORO_BACKEND_CPU};
        if (order > 4 && precision == SAPPORO_SP) continue;
        if (order > 6 && precision == SAPPORO_DS && slow[run / 36] < 1e-25) continue; /* crackles span too much */
        struct still *const s = new_still(slow[run / 36], high);
        char name[80];
        sapporo *c;
        snprintf(name, sizeof name, "order %d, precision %d, slow %g, derivative %d", order, precision, slow[run / 36],
                 high);
        assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
        check_still(name, c, s, high, late);
        sapporo_close(c);
        free(s);
    }
}

/* Masses that span what single precision holds are right; beyond, one warning names the remedy. */
static void spans_of_masses(void **state)
{
    (void)state;
    for (sapporo_precision precision = SAPPORO_SP; precision <= SAPPORO_DP; precision++) {
        const sapporo_options options = {
            .size = sizeof options, .order = 2, .precision = precision, .backend = SAPPORO_BACKEND_CPU};
        sapporo *c;
        sapporo_set_log(listen_to, NULL);
        assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
        assert_true(fabs(light_pair(c, 1e-20) / 1e-20 - 1) < 1e-5 && warned == 0);
        assert_true(fabs(light_pair(c, 1e-36) / 1e-36 - 1) < 1e-5 && warned == 0);
        const double acc = light_pair(c, 1e-90);
        if (precision == SAPPORO_DP)
            assert_true(fabs(acc / 1e-90 - 1) < 1e-5 && warned == 0);
        else
            assert_true(warned == 1 && strstr(said, "SAPPORO_PRECISION=dp"));
        (void)light_pair(c, 1e-90);
        assert_int_equal(warned, 0); /* once */
        sapporo_close(c);
        sapporo_set_log(NULL, NULL);
    }
}

/* A large softening is right; beside one that makes all positions vanish, one warning names the remedy. */
static void large_softening(void **state)
{
    (void)state;
    const sapporo_options options = {
        .size = sizeof options, .order = 2, .precision = SAPPORO_DS, .backend = SAPPORO_BACKEND_CPU};
    const double x[2][3] = {{0}, {1}}, mass[2] = {1, 1}, eps[] = {1e10, 1e20, 1e25, 1e50};
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
    sapporo *c;
    sapporo_set_log(listen_to, NULL);
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    assert_int_equal(sapporo_set_particles(c, 0, 2, &all), SAPPORO_OK);
    for (int k = 0; k < 4; k++) {
        double acc[1][3] = {{0}};
        const sapporo_request request = {
            .size = sizeof request, .nj = 2, .ni = 1, .x = {x, 0}, .eps2 = eps[k] * eps[k]};
        const sapporo_result result = {.size = sizeof result, .acc = acc};
        sapporo_job *job;
        warned = 0;
        assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
        assert_int_equal(warned, k == 3);
        if (warned) assert_non_null(strstr(said, "SAPPORO_PRECISION=dp"));
        assert_int_equal(sapporo_force_end(job, 1, &result), SAPPORO_OK);
        assert_true(k == 3 || fabs(acc[0][0] * eps[k] * eps[k] * eps[k] - 1) < 1e-6);
        sapporo_force_free(job);
    }
    sapporo_close(c);
    sapporo_set_log(NULL, NULL);
}

/* A target so far away that the force on it is below the range of single precision is told of, once. */
static void faint_force_of(double length, int far)
{
    const double m = 0x1p-30 * length;
    for (sapporo_precision precision = SAPPORO_SP; precision <= SAPPORO_DP; precision++) {
        const sapporo_options options = {
            .size = sizeof options, .order = 2, .precision = precision, .backend = SAPPORO_BACKEND_CPU};
        const double x[2][3] = {{0}, {length}}, mass[2] = {m, m}, at[2][3] = {{0x1p28 * length}, {ldexp(length, far)}};
        const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}};
        const sapporo_request request = {.size = sizeof request, .nj = 2, .ni = 2, .x = {at, 0}};
        double acc[2][3];
        const sapporo_result result = {.size = sizeof result, .acc = acc};
        sapporo_job *job;
        sapporo *c;
        sapporo_set_log(listen_to, NULL);
        warned = 0;
        assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
        assert_int_equal(sapporo_set_particles(c, 0, 2, &all), SAPPORO_OK);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
            assert_int_equal(sapporo_force_end(job, 2, &result), SAPPORO_OK);
            sapporo_force_free(job);
            assert_true(fabs(acc[0][0] * length * -0x1p85 - 1) < 1e-6); /* the first is right */
        }
        if (length == 1 && far == 34) assert_int_equal(warned, precision != SAPPORO_DP);
        assert_true(warned || fabs(-ldexp(acc[1][0] * length, 29 + 2 * far) - 1) < 1e-6); /* told of, or right */
        if (warned) assert_non_null(strstr(said, "i-particle 1 "));
        sapporo_close(c);
        sapporo_set_log(NULL, NULL);
    }
}

/* The same in the units of a model, and in other ones, for which the context chooses units that hold the far target. */
static void faint_force(void **state)
{
    (void)state;
    for (int far = 34; far < 84; far += 7) {
        faint_force_of(1, far);
        faint_force_of(0x1p-100, far);
        faint_force_of(0x1p60, far);
    }
}

/* ---- cleared contexts ----------------------------------------------------------------------- */

/* A few smaller particles, stored after a clearing, get units of their own, and not those of the many before. */
static void after_clearing(void **state)
{
    enum { FEW = 40 };
    (void)state;
    for (int k = 0; k < ENGINES; k++) {
        if (!engine_usable(&engines[k])) continue;
        struct set *const large = new_set(66, 66, 0), *const small = new_set(-66, -66, 0);
        struct rows *const once = zeroed(1, sizeof *once), *const after = zeroed(1, sizeof *after);
        sapporo *const fresh = engine_open(&engines[k], 1), *const c = engine_open(&engines[k], 1);
        sapporo_request request = {.size = sizeof request, .nj = N, .ni = NI, .x = {large->x, 0}};
        store(c, large, N, 0);
        force(c, &request, after, 0);
        assert_int_equal(sapporo_clear_particles(c), SAPPORO_OK);
        request.x.base = small->x;
        store(c, small, FEW, 0);
        store(fresh, small, FEW, 0);
        force(c, &request, after, 0);
        force(fresh, &request, once, 0);
        expect_same("after a clearing", &engines[k], 0, after, once, NI);
        sapporo_close(c);
        sapporo_close(fresh);
        free(large);
        free(small);
        free(once);
        free(after);
    }
}

/*
 * Most particles get much smaller masses in columns, and those that keep theirs have none: a force looks at them again.
 * In units of the old masses, single precision would have lost the new ones.
 */
static void check_replaced_masses(const struct engine *e)
{
    enum { SOURCES = 4096, REPLACED = 3680 };
    static const double at_rest[SOURCES][3];
    double(*x)[3] = zeroed(SOURCES, sizeof *x), *const mass = zeroed(SOURCES, sizeof *mass);
    const double at[1][3] = {{3e19, 1e19, -2e19}}, eps2 = 1e36;
    sapporo *const c = engine_open(e, 1);
    for (int j = 0; j < SOURCES; j++)
        for (int axis = 0; axis < 3; axis++) x[j][axis] = 1e20 * sin(1.7 * j + axis);
    for (int round = 0; round < 2; round++) {
        const int n = round ? REPLACED : SOURCES;
        long double want = 0;
        for (int j = 0; j < REPLACED; j++) mass[j] = round ? 1e-18 : 1e30;
        const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}, {at_rest, 0}}, .mass = {mass, 0}};
        const sapporo_request request = {
            .size = sizeof request, .nj = SOURCES, .ni = 1, .x = {at, 0}, .v = {at, 0}, .eps2 = eps2};
        struct rows r;
        assert_int_equal(sapporo_set_particles(c, 0, n, &all), SAPPORO_OK);
        force(c, &request, &r, e->order == 0);
        for (int j = 0; j < REPLACED; j++) {
            long double r2 = eps2;
            for (int axis = 0; axis < 3; axis++) r2 += powl((long double)x[j][axis] - at[0][axis], 2);
            want -= mass[j] / sqrtl(r2);
        }
        if (!(fabsl(r.pot[0] - want) <= 1e-6 * fabsl(want))) /* measured: 1.9e-7 */
            fail_msg("%s, round %d: potential %g, should be %Lg", e->name, round, r.pot[0], want);
    }
    sapporo_close(c);
    free(x);
    free(mass);
}

static void replaced_masses(void **state)
{
    (void)state;
    for (int k = 0; k < ENGINES; k++)
        if (engines[k].precision != SAPPORO_DP && engine_usable(&engines[k])) check_replaced_masses(&engines[k]);
    for (int k = 0; k < ENGINES2; k++)
        if (engines2[k].precision != SAPPORO_DP && !engines2[k].root && engine_usable(&engines2[k]))
            check_replaced_masses(&engines2[k]);
}

/* One particle of columns is much faster than those that units were chosen for: a force looks at all again. */
static void replaced_velocity(void **state)
{
    (void)state;
    for (sapporo_precision precision = SAPPORO_SP; precision <= SAPPORO_DS; precision++) {
        struct still *const s = new_still(1e-20, 1);
        const sapporo_options o = {
            .size = sizeof o, .order = 4, .precision = precision, .backend = SAPPORO_BACKEND_CPU};
        sapporo *c;
        s->d[STILL - 1][1][0] = 0;
        for (int j = 0; j < STILL; j++)
            for (int axis = 0; axis < 3; axis++) s->d[j][0][axis] *= 1e25;
        assert_int_equal(sapporo_open(&o, &c), SAPPORO_OK);
        for (int round = 0; round < 2; round++) {
            const double v[1][3] = {{0}};
            const int first = round ? STILL - 1 : 0;
            const ptrdiff_t stride = sizeof s->d[0];
            long double want[3];
            double x[STILL][3], of[STILL][3];
            struct rows r;
            if (round) s->d[STILL - 1][1][1] = 1e25;
            const sapporo_particles some = {.size = sizeof some,
                                            .derivative = {{s->d[first][0], stride}, {s->d[first][1], stride}},
                                            .mass = {s->mass + first, 0}};
            assert_int_equal(sapporo_set_particles(c, first, STILL - first, &some), SAPPORO_OK);
            for (int j = 0; j < STILL; j++) {
                memcpy(x[j], s->d[j][0], sizeof x[j]);
                memcpy(of[j], s->d[j][1], sizeof of[j]);
            }
            const sapporo_request request = {.size = sizeof request, .nj = STILL, .ni = 1, .x = {x, 0}, .v = {v, 0}};
            force(c, &request, &r, 1);
            const long double size = jerk_there(x, of, s->mass, STILL, v[0], want);
            for (int a = 0; a < 3; a++)
                if (!(fabsl(r.jerk[0][a] - want[a]) <= 1e-6 * size))
                    fail_msg("precision %d, round %d: jerk %g, should be %Lg", precision, round, r.jerk[0][a], want[a]);
        }
        sapporo_close(c);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches),        cmocka_unit_test(neighbours),      cmocka_unit_test(regular_forces),
        cmocka_unit_test(spline_forces),  cmocka_unit_test(reading),         cmocka_unit_test(beyond_nj),
        cmocka_unit_test(mixed),          cmocka_unit_test(spans_of_masses), cmocka_unit_test(large_softening),
        cmocka_unit_test(faint_force),    cmocka_unit_test(fast_targets),    cmocka_unit_test(fast_source),
        cmocka_unit_test(after_clearing), cmocka_unit_test(replaced_masses), cmocka_unit_test(replaced_velocity)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
