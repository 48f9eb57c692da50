/*
 * test_gravitational.c - the gravitational constant: results of direct sums are those of G = 1 times G, and trees and
 * steppers are those of G = 1 with masses times G, to the bit, on every engine; one force against its formula; what is
 * refused.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model.h"
#include "stepper_places.h"
#include "tree_cases.h"
#include "worst.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double G = 0.0043009172706903; /* pc (km/s)^2 per solar mass */

/* Fails the test unless n numbers are others times a factor, to the bit. */
static void are_times(const char *what, const double *got, const double *one, double factor, int n)
{
    for (int k = 0; k < n; k++) {
        const double right = one[k] * factor;
        if (memcmp(&got[k], &right, sizeof right) != 0)
            fail_msg("%s: number %d is %.17g, not %.17g", what, k, got[k], right);
    }
}

/* ---- direct sums ------------------------------------------------------------------------------ */

static sapporo *open_with(const struct engine *e, double gravity)
{
    const sapporo_options o = {.size = sizeof o,
                               .order = e->order,
                               .precision = e->precision,
                               .backend = e->backend,
                               .cpu_isa = e->isa,
                               .threads = 2,
                               .root = e->root,
                               .gravitational_constant = gravity};
    sapporo *c = NULL;
    if (sapporo_open(&o, &c)) fail_msg("%s: %s", e->name, sapporo_last_error(NULL));
    return c;
}

static void compare_answers(const char *what, const struct answer *got, const struct answer *one, double factor, int n)
{
    for (int i = 0; i < n; i++) {
        are_times(what, got[i].acc, one[i].acc, factor, 3);
        are_times(what, got[i].jerk, one[i].jerk, factor, 3);
        are_times(what, got[i].snap, one[i].snap, factor, 3);
        are_times(what, got[i].crackle, one[i].crackle, factor, 3);
        are_times(what, &got[i].pot, &one[i].pot, factor, 1);
        assert_int_equal(got[i].nearest, one[i].nearest);
        are_times(what, &got[i].nearest_r2, &one[i].nearest_r2, 1, 1);
    }
}

static void sums_of(const struct engine *e)
{
    static const double units[] = {1, 1e25}; /* of length: the second one needs other units in single precision */
    const struct ask how = {.outputs = OUT_NEAREST, .want = OUT_NEAREST};
    for (int k = 0; k < 2; k++) {
        struct problem p;
        standard_problem(&p, 1e-4);
        for (int b = 0; b < p.nbodies; b++)
            for (int d = 0; d < 2 * 3; d++) (&p.body[b].derivative[0][0])[d] *= units[k];
        for (int i = 0; i < p.ntargets; i++)
            for (int d = 0; d < 3; d++) p.target[i].x[d] *= units[k], p.target[i].v[d] *= units[k];
        p.order = e->order;
        struct answer *const one = solve_and_close(open_with(e, 0), &p, &how), *const got = solve_and_close(
                                                                                   open_with(e, G), &p, &how);
        compare_answers(e->name, got, one, G, p.ntargets);
        answers_free(one, p.ntargets);
        answers_free(got, p.ntargets);
        problem_free(&p);
    }
}

static void sums(void **state)
{
    (void)state;
    for (int e = 0; e < ENGINES; e++)
        if (engine_usable(&engines[e])) sums_of(&engines[e]);
    for (int e = 0; e < ENGINES2; e++)
        if (engine_usable(&engines2[e])) sums_of(&engines2[e]);
    for (int e = 0; e < ENGINES68; e++) {
        if (engine_usable(&engines6[e])) sums_of(&engines6[e]);
        if (engine_usable(&engines8[e])) sums_of(&engines8[e]);
    }
}

enum { FEW = 40 };

/* Rows of a call for the first particles of a cluster, by neighbours or as small forces. */
struct rows {
    double acc[FEW][3], jerk[FEW][3], pot[FEW];
};

static void load(sapporo *c, struct body *body, int n)
{
    sapporo_particles p = {.size = sizeof p, .mass = {&body->mass, sizeof *body}};
    for (int d = 0; d < 2; d++) p.derivative[d] = (sapporo_column){body->derivative[d], sizeof *body};
    assert_int_equal(sapporo_set_particles(c, 0, n, &p), SAPPORO_OK);
}

static struct rows by_neighbours(const struct engine *e, double gravity, struct body *body)
{
    struct rows r = {.pot = {0}};
    int address[FEW], length[FEW];
    const int *list[FEW];
    const sapporo_result result = {.size = sizeof result, .acc = r.acc, .jerk = r.jerk, .pot = r.pot};
    for (int k = 0; k < FEW; k++) address[k] = k, list[k] = address, length[k] = FEW;
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = FEW, .address = address, .list = list, .length = length, .eps2 = 0.01};
    sapporo *const c = open_with(e, gravity);
    load(c, body, FEW);
    assert_int_equal(sapporo_neighbour_force(c, &request, &result), SAPPORO_OK);
    sapporo_close(c);
    return r;
}

/* later: by sapporo_force_batch_begin and _end. */
static struct rows by_batch(const struct engine *e, double gravity, struct body *body, int later)
{
    struct rows r = {.pot = {0}};
    const sapporo_small_force list = {.size = sizeof list,
                                      .ni = FEW,
                                      .nj = FEW,
                                      .x = {body->derivative[0], sizeof *body},
                                      .x_j = {body->derivative[0], sizeof *body},
                                      .mass_j = {&body->mass, sizeof *body},
                                      .eps2 = 0.01};
    const sapporo_result result = {.size = sizeof result, .acc = r.acc, .pot = r.pot};
    sapporo_batch *batch = NULL;
    const int ni = FEW;
    sapporo *const c = open_with(e, gravity);
    if (later) {
        assert_int_equal(sapporo_force_batch_begin(c, 1, &list, &batch), SAPPORO_OK);
        for (int again = 0; again < 2; again++) /* the second end gives the same rows */
            assert_int_equal(sapporo_force_batch_end(batch, 1, &ni, &result), SAPPORO_OK);
        sapporo_force_batch_free(batch);
    } else {
        assert_int_equal(sapporo_force_batch(c, 1, &list, &result), SAPPORO_OK);
    }
    sapporo_close(c);
    return r;
}

static void compare_rows(const char *what, const struct rows *got, const struct rows *one, int jerk)
{
    are_times(what, got->acc[0], one->acc[0], G, 3 * FEW);
    if (jerk) are_times(what, got->jerk[0], one->jerk[0], G, 3 * FEW);
    are_times(what, got->pot, one->pot, G, FEW);
}

static void lists(void **state)
{
    struct body body[FEW];
    (void)state;
    memset(body, 0, sizeof body);
    for (int far = 0; far < 2; far++) {
        model_plummer(body, FEW, 9);
        for (int k = 0; k < FEW; k++)
            for (int d = 0; d < 2 * 3; d++) (&body[k].derivative[0][0])[d] *= far ? 1e25 : 1;
        for (int e = 0; e < ENGINES; e++) {
            if (!engine_usable(&engines[e])) continue;
            const struct rows one = by_neighbours(&engines[e], 1, body), got = by_neighbours(&engines[e], G, body);
            compare_rows(engines[e].name, &got, &one, 1);
        }
        for (int e = 0; e < ENGINES2; e++) {
            if (!engine_usable(&engines2[e])) continue;
            for (int later = 0; later < 2; later++) {
                const struct rows one = by_batch(&engines2[e], 1, body, later),
                                  got = by_batch(&engines2[e], G, body, later);
                compare_rows(engines2[e].name, &got, &one, 0);
            }
        }
    }
}

/* The earth's acceleration by the sun in au, solar masses and years, and the potential. */
static void formula(void **state)
{
    const double gravity = 39.476926421373; /* au^3 per solar mass and year^2 */
    const double x[3] = {0.6, -0.8, 0};
    double acc[1][3], pot[1];
    (void)state;
    for (int e = 0; e < ENGINES; e++) {
        if (!engine_usable(&engines[e])) continue;
        sapporo *const c = open_with(&engines[e], gravity);
        sapporo_job *job = NULL;
        const sapporo_particle sun = {.mass = 1};
        const sapporo_request request = {.size = sizeof request, .ni = 1, .nj = 1, .x.base = x};
        const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
        assert_int_equal(sapporo_set_particle(c, 0, &sun), SAPPORO_OK);
        assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
        assert_int_equal(sapporo_force_end(job, request.ni, &result), SAPPORO_OK);
        for (int k = 0; k < 3; k++) assert_true(fabs(acc[0][k] + gravity * x[k]) <= 1e-6 * gravity);
        assert_true(fabs(pot[0] + gravity) <= 1e-6 * gravity);
        sapporo_particle back;
        assert_int_equal(sapporo_get_particle(c, 0, 0, &back), SAPPORO_OK);
        assert_true(back.mass == 1);
        sapporo_force_free(job);
        sapporo_close(c);
    }
}

/* ---- trees -------------------------------------------------------------------------------------- */

static struct tree_rows forces_of(const bodies *b, const struct engine *e, sapporo_tree_mac mac, double gravity)
{
    sapporo_tree_options o = tree_on(e);
    o.mac = mac;
    o.eps2 = 1e-4;
    o.gravitational_constant = gravity;
    sapporo_tree *const t = tree_of(b, &o);
    struct tree_rows r = tree_rows_of(t, NULL, b->n);
    if (mac == SAPPORO_MAC_ACCELERATION) { /* by the accelerations of the first force; masses stay as they were */
        double *const a = zeroed((size_t)b->n, sizeof *a);
        for (int i = 0; i < b->n; i++)
            a[i] = sqrt(r.acc[i][0] * r.acc[i][0] + r.acc[i][1] * r.acc[i][1] + r.acc[i][2] * r.acc[i][2]);
        const sapporo_tree_particles p = {.size = sizeof p, .n = b->n, .x.base = b->x, .a.base = a};
        assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
        assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
        tree_rows_free(&r);
        r = tree_rows_of(t, NULL, b->n);
        free(a);
    }
    sapporo_tree_destroy(t);
    return r;
}

static void trees(void **state)
{
    enum { BODIES = 3000 };
    (void)state;
    for (int e = 0; e < ENGINES; e++) {
        if (engines[e].precision == SAPPORO_DS || !engine_usable(&engines[e])) continue;
        for (int mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++) {
            bodies b = tree_model(CLUSTER_PLUMMER, BODIES);
            struct tree_rows got = forces_of(&b, &engines[e], (sapporo_tree_mac)mac, G);
            for (int k = 0; k < b.n; k++) b.mass[k] *= G;
            struct tree_rows one = forces_of(&b, &engines[e], (sapporo_tree_mac)mac, 0);
            are_times(engines[e].name, got.acc[0], one.acc[0], 1, 3 * BODIES);
            are_times(engines[e].name, got.pot, one.pot, 1, BODIES);
            tree_rows_free(&got);
            tree_rows_free(&one);
            bodies_free(&b);
        }
    }
}

/* ---- steppers ----------------------------------------------------------------------------------- */

enum { STARS = 300 };
static double x[STARS][3], v[STARS][3], mass[STARS], heavy[STARS];
static struct stepper_state got, one;
static const double eps = 0.05, strong = 6.25e-7; /* small steps of time are long ones for so weak a force */

static sapporo_stepper *stepper_with(const struct place *p, double gravity, double *of)
{
    sapporo_tree_options tree = stepper_tree_at(p, eps);
    tree.gravitational_constant = gravity;
    const sapporo_stepper_options o = {
        .size = sizeof o, .method = p->method, .tree = &tree, .scheme = SAPPORO_STEPS_BLOCK, .dt = 0.125, .levels = 6};
    sapporo_stepper *const s = stepper_make(&o, STARS);
    if (of) stepper_put(s, STARS, x, v, of, 0);
    return s;
}

/* Masses are 1/G as large as in a Plummer sphere of G = 1, and some are massless. */
static void make_stars(void)
{
    struct body *const body = zeroed(STARS, sizeof *body);
    model_plummer(body, STARS, 3);
    for (int k = 0; k < STARS; k++) {
        memcpy(x[k], body[k].derivative[0], sizeof x[k]);
        memcpy(v[k], body[k].derivative[1], sizeof v[k]);
        mass[k] = k % 17 == 3 ? 0 : body[k].mass / strong * (1 + k % 5);
        heavy[k] = mass[k] * strong;
    }
    free(body);
}

static void compare_states(const char *what)
{
    are_times(what, got.x[0], one.x[0], 1, 3 * STARS);
    are_times(what, got.v[0], one.v[0], 1, 3 * STARS);
    are_times(what, got.acc[0], one.acc[0], 1, 3 * STARS);
    are_times(what, got.pot, one.pot, 1, STARS);
    assert_memory_equal(got.level, one.level, STARS * sizeof got.level[0]);
    for (int k = 0; k < STARS; k++) assert_true(fabs(got.mass[k] - mass[k]) <= 0x1p-52 * mass[k]);
}

static void compare_totals(const sapporo_stepper_totals *a, const sapporo_stepper_totals *b)
{
    const double of_a[] = {a->kinetic, a->potential, a->momentum[1], a->angular_momentum[2], a->moment[0]},
                 of_b[] = {b->kinetic, b->potential, b->momentum[1], b->angular_momentum[2], b->moment[0]};
    for (int k = 0; k < 5; k++) assert_true(fabs(of_a[k] * strong - of_b[k]) <= 1e-14 * fabs(of_b[k]));
    assert_true(b->kinetic > 0);
}

static void orbits_at(const struct place *p)
{
    char path[] = "/tmp/sapporo_gravity.XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    make_stars();
    sapporo_stepper *const with = stepper_with(p, strong, mass), *const without = stepper_with(p, 1, heavy);
    for (int part = 0; part < 2; part++) {
        stepper_advance(with, 0.25 * (part + 1), 0);
        stepper_advance(without, 0.25 * (part + 1), 0);
        stepper_get(with, SAPPORO_STEP_NOW, STARS, &got);
        stepper_get(without, SAPPORO_STEP_NOW, STARS, &one);
        compare_states(p->name);
        const sapporo_stepper_totals a = stepper_totals(with), b = stepper_totals(without);
        compare_totals(&a, &b);
        if (part == 0) assert_int_equal(sapporo_stepper_save(with, path), SAPPORO_OK);
    }
    sapporo_stepper *const again = stepper_with(p, strong, NULL), *const other = stepper_with(p, 1, NULL);
    assert_int_equal(sapporo_stepper_restore(again, path), SAPPORO_OK);
    stepper_advance(again, 0.5, 0);
    stepper_get(again, SAPPORO_STEP_NOW, STARS, &got);
    compare_states("restored");
    assert_int_equal(sapporo_stepper_restore(other, path), SAPPORO_ERR_ARGUMENT);
    sapporo_stepper *const all[] = {with, without, again, other};
    for (int k = 0; k < 4; k++) sapporo_stepper_destroy(all[k]);
    (void)close(file);
    (void)unlink(path);
}

static void orbits(void **state)
{
    (void)state;
    stepper_everywhere(orbits_at, 0);
}

/* ---- what is refused -------------------------------------------------------------------------- */

static void refused(void **state)
{
    const double wrong[] = {-1, NAN, INFINITY, 1e101, 1e-101, -0x1p-1074};
    (void)state;
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        const sapporo_options o = {
            .size = sizeof o, .backend = SAPPORO_BACKEND_CPU, .gravitational_constant = wrong[k]};
        const sapporo_tree_options t = {
            .size = sizeof t, .backend = SAPPORO_BACKEND_CPU, .gravitational_constant = wrong[k]};
        const sapporo_stepper_options s = {.size = sizeof s, .tree = &t, .dt = 1};
        sapporo *c = NULL;
        sapporo_tree *tree = NULL;
        sapporo_stepper *stepper = NULL;
        assert_int_equal(sapporo_open(&o, &c), SAPPORO_ERR_ARGUMENT);
        assert_non_null(strstr(sapporo_last_error(NULL), "gravitational_constant"));
        assert_int_equal(sapporo_tree_create(&t, 8, &tree), SAPPORO_ERR_ARGUMENT);
        assert_non_null(strstr(sapporo_last_error(NULL), "gravitational_constant"));
        assert_int_equal(sapporo_stepper_create(&s, 8, &stepper), SAPPORO_ERR_ARGUMENT);
        assert_non_null(strstr(sapporo_last_error(NULL), "gravitational_constant"));
    }
}

/* Products with G beyond the range of double: errors that say so, and never a number. */
static void beyond(void **state)
{
    double at[2][3] = {{0, 0, 0}, {1, 0, 0}}, still[2][3] = {{0}}, much[2] = {1, 1e300}, tiny[2] = {1, 1e-300};
    double acc[2][3], pot[2];
    (void)state;
    const struct engine *const e = engine_any();
    sapporo_tree_options t = {.size = sizeof t, .gravitational_constant = 1e20};
    const sapporo_stepper_options so = {.size = sizeof so, .tree = &t, .dt = 1};
    const sapporo_tree_particles p = {.size = sizeof p, .n = 2, .x.base = at, .mass.base = much};
    sapporo_stepper_particles sp = {.size = sizeof sp, .n = 2, .x.base = at, .v.base = still, .mass.base = much};
    sapporo_tree *tree = NULL;
    sapporo_stepper *stepper = NULL;
    assert_int_equal(sapporo_tree_create(&t, 2, &tree), SAPPORO_OK);
    assert_int_equal(sapporo_tree_set(tree, &p), SAPPORO_ERR_NOT_FINITE);
    sapporo_tree_destroy(tree);
    assert_int_equal(sapporo_stepper_create(&so, 2, &stepper), SAPPORO_OK);
    assert_int_equal(sapporo_stepper_set(stepper, &sp), SAPPORO_ERR_NOT_FINITE);
    sapporo_stepper_destroy(stepper);
    t.gravitational_constant = 1e-100;
    sp.mass.base = tiny;
    assert_int_equal(sapporo_stepper_create(&so, 2, &stepper), SAPPORO_OK);
    assert_int_equal(sapporo_stepper_set(stepper, &sp), SAPPORO_ERR_NOT_FINITE);
    sapporo_stepper_destroy(stepper);

    sapporo *const c = open_with(e, 1e20);
    const sapporo_request request = {.size = sizeof request, .ni = 2, .nj = 2, .x.base = at};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    const sapporo_particle one_of = {.mass = 1e295, .derivative = {{1, 0, 0}}};
    sapporo_job *job = NULL;
    assert_int_equal(sapporo_set_particle(c, 1, &one_of), SAPPORO_OK);
    assert_int_equal(sapporo_force_begin(c, &request, &job), SAPPORO_OK);
    assert_int_equal(sapporo_force_end(job, 2, &result), SAPPORO_OK);
    assert_true(isinf(acc[0][0]) && isinf(pot[0]) && acc[1][0] == 0);
    sapporo_force_free(job);
    sapporo_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),   cmocka_unit_test(lists),   cmocka_unit_test(formula), TREE_TEST(trees),
        cmocka_unit_test(orbits), cmocka_unit_test(refused), cmocka_unit_test(beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
