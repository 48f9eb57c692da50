/*
 * test_stepper_pairs.c - nearest neighbours of Hermite schemes, and runs that stop at close pairs, on every engine:
 * against distances in extended precision.
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

/* ---- nearest neighbours ---------------------------------------------------------------------------- */

enum { MOST = 100 };
static int nearest[MOST];
static double nearest_r2[MOST], x[MOST][3], own[MOST];

static void get(sapporo_stepper *s, int n)
{
    const sapporo_stepper_output out = {
        .size = sizeof out, .n = n, .x = x, .own_time = own, .nearest = nearest, .nearest_r2 = nearest_r2};
    if (sapporo_stepper_get(s, &out)) fail_msg("%s", sapporo_stepper_last_error(s));
}

static long double distance2(int i, int j, double unit)
{
    long double r2 = 0;
    for (int c = 0; c < 3; c++) r2 += powl(((long double)x[i][c] - x[j][c]) * unit, 2);
    return r2;
}

/* Compares the neighbour of particle i with all others that have a mass; `near`: how much positions may have moved. */
static void compare(const struct place *p, const double *mass, int n, int i, double unit, double near)
{
    long double least = INFINITY;
    for (int j = 0; j < n; j++)
        if (j != i && mass[j] != 0) least = fminl(least, distance2(i, j, unit));
    const int j = nearest[i];
    if (j < 0 || j >= n || j == i || mass[j] == 0) fail_msg("%s: nearest of %d is %d", p->name, i, j);
    if (distance2(i, j, unit) > least * (1 + near)) fail_msg("%s: nearest of %d is not %d", p->name, i, j);
    const double told = nearest_r2[i] * unit * unit;
    if (fabsl(told - least) > least * near) fail_msg("%s: r2 of %d is %g, not %Lg", p->name, i, told, least);
}

/* A cluster whose lengths are multiplied by 2^length; every ninth particle is massless. */
static bodies model(int n, int length)
{
    bodies b = tree_model(CLUSTER_PLUMMER, n);
    for (int i = 0; i < n; i++) {
        if (i % 9 == 4) b.mass[i] = 0;
        for (int c = 0; c < 3; c++) {
            b.x[i][c] = ldexp(b.x[i][c], length);
            b.v[i][c] = ldexp(b.v[i][c], -length / 2);
        }
    }
    return b;
}

/* Neighbours after the first force, and of particles that ended a step, in these units of length. */
static void find(const struct place *p, sapporo_step_scheme scheme, int n, int length)
{
    static struct stepper_state with, without;
    const sapporo_tree_options tree = stepper_tree_at(p, ldexp(0.02, length));
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    o.nearest = 1;
    o.dt = ldexp(o.dt, 3 * length / 2);
    bodies b = model(n, length);
    sapporo_stepper *const s = stepper_make(&o, n);
    o.nearest = 0;
    sapporo_stepper *const plain = stepper_make(&o, n);
    stepper_put(s, n, b.x, b.v, b.mass, 0);
    stepper_put(plain, n, b.x, b.v, b.mass, 0);
    get(s, n);
    for (int i = 0; i < n; i++) compare(p, b.mass, n, i, ldexp(1, -length), 1e-15);
    stepper_advance(s, INFINITY, 9);
    stepper_advance(plain, INFINITY, 9);
    (void)stepper_totals(s); /* its force on all particles is none of a step */
    get(s, n);
    for (int i = 0; i < n; i++)
        if (own[i] == sapporo_stepper_get_time(s)) compare(p, b.mass, n, i, ldexp(1, -length), 1e-3);
    stepper_get(s, SAPPORO_STEP_OWN, n, &with);
    stepper_get(plain, SAPPORO_STEP_OWN, n, &without);
    if (memcmp(&with, &without, sizeof with) != 0) fail_msg("%s: neighbours change orbits", p->name);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(plain);
    bodies_free(&b);
}

static void finds(const struct place *p, int order, sapporo_step_scheme scheme)
{
    (void)order;
    find(p, scheme, 70, 0);
    find(p, scheme, 70, 64);
    find(p, scheme, 70, -64);
}

RUNS(neighbours, stepper_hermite_everywhere(finds))

/* Without another particle that has a mass there is no neighbour. */
static void alone(const struct place *p, int order, sapporo_step_scheme scheme)
{
    double at[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, v[3][3] = {{0}}, mass[3] = {1, 0, 0};
    const sapporo_tree_options tree = stepper_tree_at(p, 0.1);
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    o.nearest = 1;
    sapporo_stepper *const s = stepper_make(&o, 3);
    stepper_put(s, 3, at, v, mass, 0);
    get(s, 3);
    assert_int_equal(nearest[0], -1);
    assert_true(isinf(nearest_r2[0]) && nearest_r2[0] > 0);
    assert_int_equal(nearest[1], 0);
    assert_true(nearest_r2[2] == 1);
    mass[0] = 0;
    stepper_put(s, 3, at, v, mass, 0);
    stepper_advance(s, INFINITY, 2);
    get(s, 3);
    for (int i = 0; i < 3; i++) assert_true(nearest[i] == -1 && isinf(nearest_r2[i]));
    sapporo_stepper_destroy(s);
    (void)order;
}

RUNS(no_neighbour, stepper_hermite_everywhere(alone))

/* After a restore neighbours are not known until a particle has ended a step. */
static void forgets(const struct place *p, int order, sapporo_step_scheme scheme)
{
    enum { N = 30 };
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    o.nearest = 1;
    bodies b = model(N, 0);
    sapporo_stepper *const s = stepper_make(&o, N);
    stepper_put(s, N, b.x, b.v, b.mass, 0);
    stepper_advance(s, INFINITY, 3);
    assert_int_equal(sapporo_stepper_save(s, "pairs.saved"), SAPPORO_OK);
    assert_int_equal(sapporo_stepper_restore(s, "pairs.saved"), SAPPORO_OK);
    (void)remove("pairs.saved");
    get(s, N);
    for (int i = 0; i < N; i++) assert_true(nearest[i] == -1 && isinf(nearest_r2[i]));
    stepper_advance(s, 1, 0);
    get(s, N);
    for (int i = 0; i < N; i++) compare(p, b.mass, N, i, 1, 1e-2);
    sapporo_stepper_destroy(s);
    bodies_free(&b);
    (void)order;
}

RUNS(restored, stepper_hermite_everywhere(forgets))

/* ---- close pairs ----------------------------------------------------------------------------------- */

enum { STARS = 5 };

/* Two light stars that pass each other at 0.05, a massless particle beside the first one, and two stars far away. */
static void encounter(sapporo_stepper *s)
{
    double at[STARS][3] = {{0, 40, 0}, {-1, 0.05, 0}, {0, -40, 0}, {1, 0, 0}, {-1, 0.05, 3}};
    double v[STARS][3] = {{0}, {1, 0, 0}, {0}, {-1, 0, 0}, {1, 0, -3}}, mass[STARS] = {1, 1e-6, 1, 1e-6, 0};
    stepper_put(s, STARS, at, v, mass, 0);
}

/* Looks at the pairs of the present time; returns how many there are. */
static int look(sapporo_stepper *s, double close)
{
    int pair[STARS][2];
    double r2[STARS];
    sapporo_stepper_pairs p = {.size = sizeof p, .room = STARS, .pair = pair, .r2 = r2};
    assert_int_equal(sapporo_stepper_get_pairs(s, &p), SAPPORO_OK);
    get(s, STARS);
    for (int k = 0; k < p.n; k++) {
        const double now = sqrt((double)distance2(pair[k][0], pair[k][1], 1));
        assert_true(pair[k][0] < pair[k][1] && r2[k] < close * close);
        assert_true(fabs(now - sqrt(r2[k])) < 1e-6);
        for (int m = 0; m < k; m++) assert_true(pair[m][0] != pair[k][0] || pair[m][1] != pair[k][1]);
    }
    if (p.n > 0) {
        sapporo_stepper_pairs one = {.size = sizeof one};
        assert_int_equal(sapporo_stepper_get_pairs(s, &one), SAPPORO_TRUNCATED);
        assert_int_equal(one.n, p.n);
    }
    return p.n;
}

/* A run stops in each step in which a pair is close, and only then; what it does is what it does without stopping. */
static void stops(const struct place *p, int order, sapporo_step_scheme scheme)
{
    static struct stepper_state with, without;
    const double close = 0.4, end = 1.5;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.01);
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    sapporo_stepper *const plain = stepper_make(&o, STARS);
    o.close = close;
    sapporo_stepper *const s = stepper_make(&o, STARS);
    int status = SAPPORO_STOPPED, stopped = 0, with_massless = 0;
    encounter(s);
    encounter(plain);
    assert_int_equal(look(s, close), 0);
    for (; status == SAPPORO_STOPPED; stopped++) {
        status = sapporo_stepper_advance(s, end, 0);
        const int pairs = look(s, close);
        if ((status == SAPPORO_STOPPED) != (pairs > 0)) fail_msg("%s: status %d, %d pairs", p->name, status, pairs);
        with_massless |= pairs > 1;
        if (stopped == 0) /* the first one is where the stars have come closer than the limit */
            if (!(fabs(sapporo_stepper_get_time(s) - 0.8) < 0.07))
                fail_msg("%s: stopped at %g", p->name, sapporo_stepper_get_time(s));
        assert_true(stopped < 100000);
    }
    assert_int_equal(status, SAPPORO_OK);
    assert_true(stopped > 2 && with_massless && sapporo_stepper_get_time(s) == end);
    stepper_advance(plain, end, 0);
    stepper_get(s, SAPPORO_STEP_OWN, STARS, &with);
    stepper_get(plain, SAPPORO_STEP_OWN, STARS, &without);
    if (memcmp(&with, &without, sizeof with) != 0) fail_msg("%s: stops change orbits", p->name);
    sapporo_stepper_destroy(s);
    sapporo_stepper_destroy(plain);
    (void)order;
}

RUNS(close_pairs, stepper_hermite_everywhere(stops))

/* A landing that ends near the encounter stops, too. */
static void stops_at_landing(const struct place *p, int order, sapporo_step_scheme scheme)
{
    const sapporo_tree_options tree = stepper_tree_at(p, 0.01);
    sapporo_stepper_options o = stepper_hermite_options(&tree, scheme);
    o.landing = 1;
    o.close = 1.7; /* all steps end before that time */
    o.levels = 1;
    o.dt = 0.1;
    sapporo_stepper *const s = stepper_make(&o, STARS);
    encounter(s);
    assert_int_equal(sapporo_stepper_advance(s, 0.153, 0), SAPPORO_STOPPED);
    assert_true(sapporo_stepper_get_time(s) == 0.153);
    assert_int_equal(look(s, o.close), 1);
    sapporo_stepper_destroy(s);
    (void)order;
}

RUNS(landing, stepper_hermite_everywhere(stops_at_landing))

/* ---- what is refused ------------------------------------------------------------------------------- */

static void refuse(const sapporo_stepper_options *o, int status, const char *why)
{
    sapporo_stepper *s = NULL;
    assert_int_equal(sapporo_stepper_create(o, 10, &s), status);
    if (!strstr(sapporo_stepper_last_error(NULL), why)) fail_msg("%s", sapporo_stepper_last_error(NULL));
}

static void test_refusals(void **state)
{
    const sapporo_tree_options tree = {.size = sizeof tree, .backend = SAPPORO_BACKEND_CPU};
    sapporo_stepper_options o = stepper_hermite_options(&tree, SAPPORO_STEPS_HERMITE4);
    sapporo_stepper_pairs p = {.size = sizeof p, .n = 7};
    (void)state;
    o.nearest = 2;
    refuse(&o, SAPPORO_ERR_ARGUMENT, "nearest");
    o.nearest = 0;
    o.close = -1;
    refuse(&o, SAPPORO_ERR_ARGUMENT, "close");
    o.close = NAN;
    refuse(&o, SAPPORO_ERR_ARGUMENT, "close");
    o.close = 1;
    o.scheme = SAPPORO_STEPS_SHARED;
    refuse(&o, SAPPORO_ERR_UNSUPPORTED, "leap-frogs");
    o.close = 0;
    sapporo_stepper *const leap = stepper_make(&o, STARS);
    encounter(leap);
    const sapporo_stepper_output out = {.size = sizeof out, .n = STARS, .nearest = nearest, .nearest_r2 = nearest_r2};
    assert_int_equal(sapporo_stepper_get(leap, &out), SAPPORO_ERR_ARGUMENT);
    assert_true(nearest[0] == -1 && isnan(nearest_r2[0]));
    assert_int_equal(sapporo_stepper_get_pairs(leap, &p), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(p.n, 0);
    sapporo_stepper_destroy(leap);
    assert_int_equal(sapporo_stepper_get_pairs(leap, &p), SAPPORO_ERR_CLOSED);
    assert_int_equal(sapporo_stepper_get_pairs(leap, NULL), SAPPORO_ERR_CLOSED);
    o.scheme = SAPPORO_STEPS_HERMITE6;
    o.close = 1;
    sapporo_stepper *const s = stepper_make(&o, STARS);
    assert_int_equal(sapporo_stepper_get_pairs(s, &p), SAPPORO_ERR_ARGUMENT); /* no particles */
    encounter(s);
    assert_int_equal(sapporo_stepper_get_pairs(s, NULL), SAPPORO_ERR_ARGUMENT);
    p.room = 3;
    assert_int_equal(sapporo_stepper_get_pairs(s, &p), SAPPORO_ERR_ARGUMENT);
    p.room = -1;
    assert_int_equal(sapporo_stepper_get_pairs(s, &p), SAPPORO_ERR_ARGUMENT);
    p.size = 8;
    assert_int_equal(sapporo_stepper_get_pairs(s, &p), SAPPORO_ERR_ARGUMENT);
    sapporo_stepper_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours),  cmocka_unit_test(no_neighbour), cmocka_unit_test(restored),
        cmocka_unit_test(close_pairs), cmocka_unit_test(landing),      cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
