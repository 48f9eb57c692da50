/*
 * test_tree_chosen.c - what trees choose: the criterion without options, the accelerations that it needs, and the
 * accuracy for an error that is asked for.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runs.h"
#include "sapporo_experiments.h"
#include "tree_cases.h"

enum { N = 3000, FIRST = 700, SOME = 50, FOURTH = 4 };

/* A tree of a model on an engine, with options of a test. */
static sapporo_tree *tree_by(const struct engine *e, const bodies *b, sapporo_tree_mac mac, double accuracy)
{
    sapporo_tree_options o = tree_on(e);
    o.mac = mac;
    o.accuracy = accuracy;
    o.eps2 = 1e-4;
    return tree_of(b, &o);
}

static void same_rows(const struct tree_rows *a, const struct tree_rows *b, const char *what, const char *engine)
{
    if (memcmp(a->acc, b->acc, (size_t)a->n * sizeof *a->acc) != 0 ||
        memcmp(a->pot, b->pot, (size_t)a->n * sizeof *a->pot) != 0)
        fail_msg("%s, %s: other bits", engine, what);
}

/* Compares the force on all particles of two trees, and destroys the trees. */
static void same_forces(sapporo_tree *t, sapporo_tree *other, const char *what, const char *engine)
{
    struct tree_rows a = tree_rows_of(t, NULL, N), b = tree_rows_of(other, NULL, N);
    same_rows(&a, &b, what, engine);
    tree_rows_free(&a);
    tree_rows_free(&b);
    sapporo_tree_destroy(t);
    sapporo_tree_destroy(other);
}

/* Options of 0 are the criterion of acceleration at 0.01; an accuracy alone is an opening angle. */
static void usual(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_HERNQUIST, N);
    for (int e = 0; e < ENGINES; e++) {
        const struct engine *const on = &engines[e];
        if (!tree_has_engine(on)) continue;
        same_forces(tree_by(on, &b, SAPPORO_MAC_DEFAULT, 0), tree_by(on, &b, SAPPORO_MAC_ACCELERATION, 0.01),
                    "no criterion", on->name);
        same_forces(tree_by(on, &b, SAPPORO_MAC_DEFAULT, 0.5), tree_by(on, &b, SAPPORO_MAC_OPENING, 0.5),
                    "an accuracy alone", on->name);
    }
    bodies_free(&b);
}

static void write_sizes(const struct tree_rows *rows, const int *active, double *a)
{
    for (int k = 0; k < rows->n; k++) {
        const double *const f = rows->acc[k];
        a[active ? active[k] : k] = sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
    }
}

/* The force of a new tree that is given sizes of accelerations has the bits of the next force of a tree. */
static void expect_known(const struct engine *e, sapporo_tree *t, const bodies *b, const double *a, const char *what)
{
    sapporo_tree *const other = tree_by(e, b, SAPPORO_MAC_DEFAULT, 0);
    const sapporo_tree_particles p = {
        .size = sizeof p, .n = b->n, .x = {b->x, 0}, .mass = {b->mass, 0}, .a = {(void *)a, 0}};
    assert_int_equal(sapporo_tree_set(other, &p), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(other), SAPPORO_OK);
    struct tree_rows right = tree_rows_of(other, NULL, N), rows = tree_rows_of(t, NULL, N);
    same_rows(&rows, &right, what, e->name);
    tree_rows_free(&rows);
    tree_rows_free(&right);
    sapporo_tree_destroy(other);
}

/* Accelerations of the last force count, by address, as if the caller passed them: after a build, and after some. */
static void remembered(void **state)
{
    (void)state;
    static double a[N];
    static int active[SOME];
    for (int k = 0; k < SOME; k++) active[k] = FIRST + k;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    for (int e = 0; e < ENGINES; e++) {
        if (!tree_has_engine(&engines[e])) continue;
        sapporo_tree *const t = tree_by(&engines[e], &b, SAPPORO_MAC_DEFAULT, 0);
        struct tree_rows all = tree_rows_of(t, NULL, N);
        write_sizes(&all, NULL, a);
        tree_rows_free(&all);
        b.x[3][0] = b.x[3][0] > 0 ? -7 : 7; /* another order of the sorted particles */
        tree_set(t, &b);
        assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
        struct tree_rows some = tree_rows_of(t, active, SOME);
        write_sizes(&some, active, a);
        tree_rows_free(&some);
        expect_known(&engines[e], t, &b, a, "after a build and a force on some");
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

/* The first force takes accelerations of a walk by opening angle 1, with the same bounds of groups. */
static void first(void **state)
{
    (void)state;
    static double a[N];
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    for (int e = 0; e < ENGINES; e++) {
        if (!tree_has_engine(&engines[e])) continue;
        sapporo_tree_options o = tree_on(&engines[e]);
        o.accuracy = 1;
        o.eps2 = 1e-4;
        o.experiments = SAPPORO_EXPERIMENTS(SAPPORO_BALL_NONE, 0, 0);
        sapporo_tree *const coarse = tree_of(&b, &o), *const t = tree_by(&engines[e], &b, SAPPORO_MAC_DEFAULT, 0);
        struct tree_rows rows = tree_rows_of(coarse, NULL, N);
        write_sizes(&rows, NULL, a);
        expect_known(&engines[e], t, &b, a, "the first force");
        tree_rows_free(&rows);
        sapporo_tree_destroy(coarse);
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

/* Returns the larger of the errors that 99 % of accelerations and of potentials stay below. */
static double error_of(const struct tree_rows *rows, const struct tree_rows *exact)
{
    double *acc = tree_errors(rows, exact, 1), *pot = tree_pot_errors(rows, exact, 1);
    const size_t at = (size_t)exact->n * 99 / 100;
    const double worst = acc[at] > pot[at] ? acc[at] : pot[at];
    free(acc);
    free(pot);
    return worst;
}

static double accuracy_of(sapporo_tree *t) { return tree_statistics(t).accuracy; }

/*
 * Errors are those that are asked for within a factor of 1.5, measured: 0.82 to 1.16; with order 2 and an error of
 * 0.01 they may be smaller, since cells that are near are never accepted.
 */
static void expect_error(const struct engine *e, const bodies *b, const struct tree_rows *exact, int order,
                         double wanted)
{
    sapporo_tree_options o = tree_on(e);
    o.mac = SAPPORO_MAC_DEFAULT;
    o.eps2 = 1e-6;
    o.order = order;
    o.error = wanted;
    sapporo_tree *const t = tree_of(b, &o);
    struct tree_rows rows = tree_rows_of(t, NULL, b->n);
    const double factor = error_of(&rows, exact) / wanted;
    if (!(factor < 1.5 && factor > (order == 2 && wanted > 5e-3 ? 0.1 : 1 / 1.5)))
        fail_msg("%s, order %d, error %g: a factor of %g by accuracy %g", e->name, order, wanted, factor,
                 accuracy_of(t));
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
}

static void asked(void **state)
{
    (void)state;
    static const cluster_kind models[] = {CLUSTER_UNIFORM,   CLUSTER_PLUMMER, CLUSTER_NFW,
                                          CLUSTER_COLD_DISC, CLUSTER_TWO,     CLUSTER_MASS_RATIOS};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        bodies b = tree_model(models[m], N);
        struct tree_rows exact = tree_exact(&b, 1e-6, 1);
        for (int e = 0; e < ENGINES; e++) {
            if ((test_sparing() && (e + (int)m) % 9) || !tree_has_engine(&engines[e])) continue;
            for (int order = 1; order <= 2; order++)
                for (int p = 2; p <= 4; p++) expect_error(&engines[e], &b, &exact, order, pow(10, -p));
        }
        tree_rows_free(&exact);
        bodies_free(&b);
    }
}

/* Asks for forces on SOME of the particles, of which every FOURTH is looked at, or on their positions. */
static void ask_some(sapporo_tree *t, const bodies *b, int from, int by_position, const struct tree_rows *looked)
{
    const int step = looked->n / SOME;
    int active[SOME];
    double x[SOME][3], acc[SOME][3], pot[SOME];
    for (int k = 0; k < SOME; k++) {
        active[k] = FOURTH * (from + k * step);
        memcpy(x[k], b->x[active[k]], sizeof x[k]);
    }
    sapporo_tree_request r = {.size = sizeof r, .ni = SOME};
    if (by_position)
        r.x = (sapporo_column){x, 0};
    else
        r.active = active;
    if (sapporo_tree_force(t, &r, acc, pot)) fail_msg("%s", sapporo_tree_last_error(t));
    for (int k = 0; k < SOME; k++) {
        memcpy(looked->acc[from + k * step], acc[k], sizeof acc[k]);
        looked->pot[from + k * step] = pot[k];
    }
}

/*
 * Forces on SOME particles or positions at a time, which walk alone on accelerators, have the error that is asked for.
 * On CPUs they have the bits of a force on all.
 */
static void asked_of_few_on(const struct engine *e)
{
    if (e->backend == SAPPORO_BACKEND_CPU) return;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    struct tree_rows exact = tree_exact(&b, 0, FOURTH), looked = tree_exact(&b, 0, FOURTH);
    for (int p = 2; p <= 4; p++) {
        sapporo_tree_options o = tree_on(e);
        o.mac = SAPPORO_MAC_DEFAULT;
        o.error = pow(10, -p);
        sapporo_tree *const t = tree_of(&b, &o);
        for (int by_position = 0; by_position < 2; by_position++) {
            for (int from = 0; from < looked.n / SOME; from++) ask_some(t, &b, from, by_position, &looked);
            tree_below(e->name, error_of(&looked, &exact) / o.error, 1.5);
        }
        sapporo_tree_destroy(t);
    }
    tree_rows_free(&looked);
    tree_rows_free(&exact);
    bodies_free(&b);
}
RUNS(asked_of_few, tree_on_each(asked_of_few_on))

/*
 * The accuracy is found at the first force, whatever the request, and kept until the number of particles changes; the
 * usual precision of small errors is double.
 */
static void found_once(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    struct tree_rows exact = tree_exact(&b, 1e-4, 1);
    sapporo_tree_options o = {.size = sizeof o, .kind = tree_kind, .backend = SAPPORO_BACKEND_CPU, .eps2 = 1e-4};
    o.error = 1e-6;
    sapporo_tree *const t = tree_of(&b, &o);
    const double usual = accuracy_of(t);
    const int one = 7;
    struct tree_rows row = tree_rows_of(t, &one, 1), all = tree_rows_of(t, NULL, N);
    const double found = accuracy_of(t);
    assert_true(found > 0 && found != usual && found < usual * 1e3);
    tree_below("an error of 1e-6", error_of(&all, &exact), 1.5e-6);
    tree_rows_free(&row);
    tree_rows_free(&all);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++) b.x[i][0] *= 1.5;
        b.n = k ? N / 2 : N;
        tree_set(t, &b);
        assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
        row = tree_rows_of(t, NULL, 1);
        assert_true((accuracy_of(t) == found) == !k);
        tree_rows_free(&row);
    }
    sapporo_tree_destroy(t);
    tree_rows_free(&exact);
    bodies_free(&b);
}

/* Trees that no accuracy gives an error: of no particles, of one, and of particles without masses. */
static void nothing_to_find(void **state)
{
    (void)state;
    const sapporo_tree_options o = {
        .size = sizeof o, .kind = tree_kind, .backend = SAPPORO_BACKEND_CPU, .eps2 = 1e-4, .error = 1e-3};
    bodies b = tree_input(TREE_MASSLESS, 100);
    for (int n = 0; n <= 100; n += n ? 99 : 1) {
        b.n = n;
        sapporo_tree *const t = tree_of(&b, &o);
        struct tree_rows rows = tree_rows_of(t, NULL, n);
        for (int i = 0; i < n; i++) assert_true(rows.acc[i][0] == 0 && rows.pot[i] == 0);
        tree_rows_free(&rows);
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(usual),          TREE_TEST(remembered),   TREE_TEST(first),
                                       TREE_TEST(asked),          TREE_TEST(asked_of_few), TREE_TEST(found_once),
                                       TREE_TEST(nothing_to_find)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
