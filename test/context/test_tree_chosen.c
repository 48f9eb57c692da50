/* test_tree_chosen.c - what trees choose: the criterion without options, and the accelerations that it needs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sapporo_experiments.h"
#include "tree_cases.h"

enum { N = 3000, FIRST = 700, SOME = 50 };

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
    if (memcmp(a->acc, b->acc, (size_t)a->n * sizeof *a->acc) || memcmp(a->pot, b->pot, (size_t)a->n * sizeof *a->pot))
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

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(usual), TREE_TEST(remembered), TREE_TEST(first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
