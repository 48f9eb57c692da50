/* test_g5_tree.c - SAPPORO_METHOD=tree behind the GRAPE-5 calls. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver/driver.h"
#include "faulty_driver.h"
#include "g5_forms.h"
#include "gpu/gpu_engine.h"
#include "gpu/gpu_kernels.h"
#include "tree_cases.h"
#include "worst.h"

enum { N = 2000 };

static int with_tree(void **state)
{
    setenv("SAPPORO_METHOD", "tree", 1);
    setenv("SAPPORO_BACKEND", "cpu", 1);
    unsetenv("SAPPORO_TREE_MAC");
    unsetenv("SAPPORO_TREE_KIND");
    unsetenv("SAPPORO_TREE_ACCURACY");
    unsetenv("SAPPORO_TREE_ERROR");
    return g5_use_value(state);
}

static int without(void **state)
{
    (void)state;
    return unsetenv("SAPPORO_METHOD") || unsetenv("SAPPORO_BACKEND");
}

static double error99(const bodies *b, const struct tree_rows *exact, double (*a)[3])
{
    const struct tree_rows rows = {b->n, a, NULL};
    double *error = tree_errors(&rows, exact, 1);
    const double at99 = error[b->n * 99 / 100];
    free(error);
    return at99;
}

/* Forces, and potentials with the own -m/eps and a positive sign, follow what is loaded and set. */
static void forces(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_HERNQUIST, N);
    double(*a)[3] = zeroed(N, sizeof *a), *p = zeroed(N, sizeof *p);
    const int id = g5_new_device();
    for (int k = 0; k < 3; k++) {
        const double eps = k == 2 ? 0.1 : 0.03;
        if (k == 1)
            for (int i = 0; i < N; i++) b.x[i][0] *= 1.5;
        struct tree_rows exact = tree_exact(&b, eps * eps, 1);
        g5->eps_to_all(eps);
        assert_int_equal(g5->set_xmj(id, 0, N, b.x, b.mass), 0);
        g5->set_n(id, N);
        assert_int_equal(g5->calculate(id, b.x, a, p, N), 0);
        const double at99 = error99(&b, &exact, a);
        assert_true(at99 < 5e-3 && at99 > 1e-6); /* a tree's, not a direct sum's */
        for (int i = 0; i < N; i++) assert_true(fabs(p[i] - b.mass[i] / eps + exact.pot[i]) < 5e-3 * p[i]);
        tree_rows_free(&exact);
    }
    assert_int_equal(g6_errors() + g6_warnings(), 0);
    g5->eps_to_all(0);
    bodies_free(&b);
    free(a);
    free(p);
}

/* The force on the first n particles, with a softening, is that of a tree of these alone. */
static void expect_first(int id, const bodies *b, int n, double eps)
{
    static double a[N][3], p[N];
    bodies some = *b;
    some.n = n;
    struct tree_rows exact = tree_exact(&some, eps * eps, 1);
    g5->eps_to_all(eps);
    g5->set_n(id, n);
    assert_int_equal(g5->calculate(id, b->x, a, p, n), 0);
    const double at99 = error99(&some, &exact, a);
    if (!(at99 < 5e-3 && at99 > 1e-6)) fail_msg("%d particles, softening %g: %g", n, eps, at99);
    for (int i = 0; i < n; i++) assert_true(fabs(p[i] - b->mass[i] / eps + exact.pot[i]) < 5e-3 * p[i]);
    tree_rows_free(&exact);
}

/*
 * A tree is kept while the same particles are asked with the same softening: another number of the particles that were
 * loaded once, more than ever before, another softening, and a number that a force has failed for since.
 */
static void kept_trees(void **state)
{
    static const struct {
        int n;
        double eps;
    } asked[] = {{N / 2, 0.03}, {N / 2, 0.3}, {N, 0.3}, {N / 4, 0.3}, {N / 4, 0.03}, {N, 0.03}, {N / 2, 0.03}};
    double a[1][3], p[1];
    bodies b = tree_model(CLUSTER_HERNQUIST, N);
    (void)state;
    const int id = g5_new_device();
    assert_int_equal(g5->set_xmj(id, 0, N, b.x, b.mass), 0);
    for (size_t k = 0; k < sizeof asked / sizeof asked[0]; k++) expect_first(id, &b, asked[k].n, asked[k].eps);
    const int other = g5_new_device();
    b.x[N / 2][1] = NAN;
    (void)g5->set_xmj(other, 0, N, b.x, b.mass);
    for (int k = 0; k < 3; k++) {
        expect_first(other, &b, N / 2, 0.03);
        g6_errors();
        g5->set_n(other, N / 2 + 1 + k % 2 * (N / 2 - 1));
        assert_int_equal(g5->calculate(other, b.x, a, p, 1), -1);
        assert_true(isnan(a[0][0]) && isnan(a[0][2]) && isnan(p[0]) && g6_errors() > 0);
    }
    g5->eps_to_all(0);
    bodies_free(&b);
}

static void variables(void **state)
{
    (void)state;
    static const struct {
        const char *mac, *accuracy;
        double low, high; /* bounds of the error */
    } CASES[] = {{"opening", "0.2", 1e-7, 1e-4}, {"Multipole", "1", 1e-4, 3e-2}, {"acceleration", "1e-3", 1e-6, 1e-3}};
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    struct tree_rows exact = tree_exact(&b, 1e-4, 1);
    double(*a)[3] = zeroed(N, sizeof *a), *p = zeroed(N, sizeof *p);
    g5->eps_to_all(1e-2);
    for (int k = 0; k < 6; k++) {
        const int id = g5_new_device();
        setenv("SAPPORO_TREE_KIND", k < 3 ? "octree" : "kdtree", 1);
        setenv("SAPPORO_TREE_MAC", CASES[k % 3].mac, 1);
        setenv("SAPPORO_TREE_ACCURACY", CASES[k % 3].accuracy, 1);
        g5->set_xmj(id, 0, N, b.x, b.mass);
        g5->set_n(id, N);
        assert_int_equal(g5->calculate(id, b.x, a, p, N), 0);
        const double at99 = error99(&b, &exact, a);
        if (!(at99 > CASES[k % 3].low && at99 < CASES[k % 3].high)) fail_msg("%s: %g", CASES[k % 3].mac, at99);
    }
    unsetenv("SAPPORO_TREE_KIND");
    unsetenv("SAPPORO_TREE_MAC");
    unsetenv("SAPPORO_TREE_ACCURACY");
    for (int k = 0; k < 4; k++) { /* an error in place of an accuracy: on the sources, and at other places */
        static const char *const WANTED[] = {"3e-3", "1e-4"};
        const double wanted = k < 2 ? 3e-3 : 1e-4;
        const int id = g5_new_device(), n = k % 2 ? N - 1 : N;
        setenv("SAPPORO_TREE_ERROR", WANTED[k / 2], 1);
        g5->set_xmj(id, 0, N, b.x, b.mass);
        g5->set_n(id, N);
        assert_int_equal(g5->calculate(id, b.x, a, p, n), 0);
        const double at99 = error99(&b, &exact, a);
        if (!(at99 > wanted / 8 && at99 < 2 * wanted)) fail_msg("error %g: %g", wanted, at99);
    }
    setenv("SAPPORO_TREE_ACCURACY", "0.5", 1);
    const int both = g5_new_device();
    g5->set_xmj(both, 0, N, b.x, b.mass);
    g5->set_n(both, N);
    assert_int_equal(g5->calculate(both, b.x, a, p, N), -1); /* either an accuracy or an error */
    unsetenv("SAPPORO_TREE_ACCURACY");
    unsetenv("SAPPORO_TREE_ERROR");
    static const char *const BAD[][2] = {{"SAPPORO_TREE_MAC", "guess"},
                                         {"SAPPORO_TREE_ACCURACY", "-1"},
                                         {"SAPPORO_TREE_KIND", "quadtree"},
                                         {"SAPPORO_TREE_ERROR", "-1"}};
    for (int k = 0; k < 4; k++) {
        const int id = g5_new_device();
        setenv(BAD[k][0], BAD[k][1], 1);
        g5->set_xmj(id, 0, N, b.x, b.mass);
        assert_true(g6_errors() > 0); /* a value with no meaning is refused when the device opens */
        g5->set_n(id, N);
        assert_int_equal(g5->calculate(id, b.x, a, p, N), -1);
        assert_true(isnan(a[0][0]) && isnan(p[N - 1]));
        unsetenv(BAD[k][0]);
    }
    g5->eps_to_all(0);
    tree_rows_free(&exact);
    bodies_free(&b);
    free(a);
    free(p);
}

/* Batches go by the tree, too, with one warning; softenings of pipes, and the other memory, are summed directly. */
static void batches(void **state)
{
    (void)state;
    struct g5_batch b = {.p = {0}};
    const int id = g5_new_device();
    double eps2[3] = {1, 1, 1};
    g5_load_three(id);
    g5_expect_three(id, 0);
    assert_int_equal(g6_warnings(), 0);
    for (int k = 0; k < 8; k++) b.x[k][2] = k;
    for (int k = 0; k < 3; k++) {
        assert_int_equal(g5->set_xi(id, 3, b.x), 0);
        assert_int_equal(g5->run(id), 0);
        assert_int_equal(g5->get_force(id, 2, b.a, b.p), 0);
        assert_int_equal(g5->get_force(id, 3, b.a, b.p), 0);
        for (int i = 0; i < 3; i++) g6_near(b.p[i], g5_pot_of_three(i, 0));
    }
    assert_int_equal(g6_warnings(), 1);
    assert_int_equal(g5->get_force(id, 4, b.a, b.p), -1); /* more than were set */
    g5_expect_nan(&b, 4);
    assert_int_equal(g5->set_xi(id, 3, b.x), 0);
    assert_int_equal(g5->get_force(id, 3, b.a, b.p), -1); /* without g5_run */
    g5_expect_nan(&b, 3);
    assert_int_equal(g6_errors(), 2);
    assert_int_equal(g5->set_eps2(id, 3, eps2), 0);
    assert_int_equal(g5->run(id), 0);
    assert_int_equal(g5->get_force(id, 3, b.a, b.p), 0);
    for (int i = 0; i < 3; i++) g6_near(b.p[i], g5_pot_of_three(i, 1));
    assert_int_equal(g6_warnings(), 1);
    b.x[1][0] = NAN;
    assert_int_equal(g5->set_xi(id, 3, b.x), 0);
    assert_int_equal(g5->run(id), 0);
    assert_int_equal(g5->get_force(id, 3, b.a, b.p), 1);
    assert_true(isnan(b.p[1]) && isfinite(b.p[2]));
    b.x[1][0] = 0;
    g6_warnings();
    assert_int_equal(g5->set_xmj0(id, 0, 3, g5_three_x, g5_three_m, eps2), 0);
    assert_int_equal(g5->calculate0(id, b.x, b.a, b.p, 3, eps2), 0);
    assert_int_equal(g6_warnings() + g6_errors(), 1);
}

/* What is not finite: an i-particle spoils its row, a j-particle all. */
static void bad_input(void **state)
{
    (void)state;
    struct g5_batch b;
    const int id = g5_new_device();
    vec3 x[3] = {{0, 0, 0}, {NAN, 0, 0}, {0, 0, 2}}, a[3];
    double p[3];
    g5_load_three(id);
    g5->set_n(id, 5);
    assert_int_equal(g5->calculate(id, x, a, p, 3), 1);
    assert_true(isfinite(p[0]) && isnan(p[1]) && isnan(a[1][2]) && isfinite(a[2][0]));
    assert_int_equal(g6_warnings(), 1); /* two were never loaded */
    g5->set_xj(id, 0, 2, x);
    g6_errors();
    assert_int_equal(g5_force(id, 2, &b), -1);
    g5_expect_nan(&b, 2);
    assert_true(g6_errors() > 0);
    g5->set_n(id, 0);
    assert_int_equal(g5_force(id, 2, &b), 0);
    assert_true(b.p[0] == 0 && b.a[1][1] == 0);
    g6_warnings();
}

/* Writes rows of a native tree, with the potentials of GRAPE-5; x NULL: on its particles. */
static void native_rows(sapporo_tree *t, const bodies *b, double eps, double (*x)[3], double (*a)[3], double *p)
{
    const sapporo_tree_request request = {.size = sizeof request, .ni = b->n, .x = {x, 0}};
    assert_int_equal(sapporo_tree_force(t, &request, a, p), SAPPORO_OK);
    for (int i = 0; i < b->n; i++) p[i] = x ? -p[i] : -(p[i] - b->mass[i] / eps);
}

static void expect_rows(const bodies *b, double (*a)[3], double *p, double (*right_a)[3], double *right_p)
{
    assert_memory_equal(a, right_a, (size_t)b->n * sizeof *a);
    assert_memory_equal(p, right_p, (size_t)b->n * sizeof *p);
}

/*
 * Without a criterion in the environment forces on the sources are those of a native tree by acceleration, which
 * remembers accelerations while particles move; other sources have accelerations of their own.  From the first targets
 * on that are no sources, forces are those by the opening angle.
 */
static void criteria(void **state)
{
    (void)state;
    const double eps = 0.03;
    sapporo_tree_options o = {.size = sizeof o,
                              .mac = SAPPORO_MAC_ACCELERATION,
                              .accuracy = 0.002,
                              .precision = SAPPORO_SP,
                              .eps2 = eps * eps};
    double(*a)[3] = zeroed(N, sizeof *a), *p = zeroed(N, sizeof *p), *right_p = zeroed(N, sizeof *p);
    double(*right_a)[3] = zeroed(N, sizeof *a);
    bodies b = tree_model(CLUSTER_PLUMMER, N), other = tree_model(CLUSTER_HERNQUIST, N);
    const int id = g5_new_device();
    sapporo_tree *t = tree_of(&b, &o);
    g5->eps_to_all(eps);
    g5->set_n(id, N);
    for (int k = 0; k < 4; k++) { /* a force, one after a small step, one of another model, and test particles */
        const bodies *const now = k < 2 ? &b : &other;
        for (int i = 0; i < N && k == 1; i++) b.x[i][0] *= 1.01;
        if (k == 1) {
            tree_set(t, &b);
            assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
        } else if (k > 1) {
            if (k == 3) o.mac = SAPPORO_MAC_OPENING, o.accuracy = 0.7;
            sapporo_tree_destroy(t);
            t = tree_of(now, &o);
        }
        assert_int_equal(g5->set_xmj(id, 0, N, now->x, now->mass), 0);
        assert_int_equal(g5->calculate(id, k == 3 ? b.x : now->x, a, p, N), 0);
        native_rows(t, now, eps, k == 3 ? b.x : NULL, right_a, right_p);
        expect_rows(now, a, p, right_a, right_p);
    }
    assert_int_equal(g5->calculate(id, other.x, a, p, N), 0);
    native_rows(t, &other, eps, other.x, right_a, right_p);
    expect_rows(&other, a, p, right_a, right_p);
    sapporo_tree_destroy(t);
    g5->eps_to_all(0);
    bodies_free(&b);
    bodies_free(&other);
    free(a);
    free(p);
    free(right_a);
    free(right_p);
}

/* A client's orbits: ten steps of leap-frog by tree and by direct sum end within what the bound on forces allows. */
static void same_orbits(void **state)
{
    (void)state;
    enum { BODIES = 500, STEPS = 16 };
    const double dt = 1.0 / 64;
    bodies b[2] = {tree_model(CLUSTER_PLUMMER, BODIES), tree_model(CLUSTER_PLUMMER, BODIES)};
    double(*a)[3] = zeroed(BODIES, sizeof *a), *p = zeroed(BODIES, sizeof *p), worst = 0;
    g5->eps_to_all(0.05);
    for (int by_tree = 0; by_tree < 2; by_tree++) {
        bodies *s = &b[by_tree];
        setenv("SAPPORO_METHOD", by_tree ? "tree" : "direct", 1);
        const int id = g5_new_device();
        g5->set_n(id, BODIES);
        for (int step = 0; step < STEPS; step++) {
            for (int i = 0; i < BODIES; i++)
                for (int c = 0; c < 3; c++) s->x[i][c] += 0.5 * dt * s->v[i][c];
            g5->set_xmj(id, 0, BODIES, s->x, s->mass);
            assert_int_equal(g5->calculate(id, s->x, a, p, BODIES), 0);
            for (int i = 0; i < BODIES; i++)
                for (int c = 0; c < 3; c++) {
                    s->v[i][c] += dt * a[i][c];
                    s->x[i][c] += 0.5 * dt * s->v[i][c];
                }
        }
    }
    for (int i = 0; i < BODIES; i++)
        for (int c = 0; c < 3; c++) worst = worst_of(worst, fabs(b[0].x[i][c] - b[1].x[i][c]));
    assert_true(worst > 0 && worst < 0.01 * 0.5 * 0.25 * 0.25 * 10); /* 1 % of a force of 10, for t = 1/4 */
    g5->eps_to_all(0);
    bodies_free(&b[0]);
    bodies_free(&b[1]);
    free(a);
    free(p);
}

/* ---- faults of a driver ---------------------------------------------------------------------- */

enum { FEW = 300 };

struct faulty_scene {
    bodies b[2]; /* a force on the first succeeds, then the second are loaded */
    double a[FEW][3], p[FEW], right_a[2][FEW][3], right_p[2][FEW];
};

static int load_and_compute(struct faulty_scene *s, int id, int k)
{
    assert_int_equal(g5->set_xmj(id, 0, FEW, s->b[k].x, s->b[k].mass), 0);
    assert_int_equal(g5->set_n(id, FEW), 0);
    return g5->calculate(id, s->b[k].x, s->a, s->p, FEW);
}

/* NaN, or the force of particles k. */
static void expect_force(const struct faulty_scene *s, int rc, int k, const char *what)
{
    if (rc == 0) {
        if (memcmp(s->a, s->right_a[k], sizeof s->a) != 0 || memcmp(s->p, s->right_p[k], sizeof s->p) != 0)
            fail_msg("%s: another force", what);
        return;
    }
    for (int i = 0; i < FEW; i++)
        if (!isnan(s->a[i][0]) || !isnan(s->a[i][2]) || !isnan(s->p[i])) fail_msg("%s: no NaN", what);
}

/* The n-th call of the driver fails while particles 1 follow particles 0; 0: there are fewer calls. */
static int fail_one(struct faulty_scene *s, int id, long n, int status)
{
    char what[80];
    (void)snprintf(what, sizeof what, "call %ld, status %d of the driver", n, status);
    faulty_plan(0, SAP_DRIVER_OK);
    assert_int_equal(g5->open(id), 0);
    expect_force(s, load_and_compute(s, id, 0), 0, what);
    faulty_plan(n, status);
    const int rc = load_and_compute(s, id, 1), met = faulty.failed > 0;
    expect_force(s, rc, 1, what);
    if (rc) assert_true(met && g6_errors() > 0);
    if (status == SAP_DRIVER_LOST) assert_int_equal(g5->open(id), 0);
    if (status != SAP_DRIVER_LOST) faulty_plan(0, SAP_DRIVER_OK);
    const int again = load_and_compute(s, id, 1);
    if (again) fail_msg("%s: the next force fails, too", what);
    expect_force(s, again, 1, what);
    return met;
}

/* A tree that cannot be made of new particles gives NaN, and not the force of those before. */
static void driver_faults(void **state)
{
    (void)state;
    static struct faulty_scene s;
    static const int kinds[] = {SAP_DRIVER_MEMORY, SAP_DRIVER_ERROR, SAP_DRIVER_LAUNCH};
    const char *const wanted = getenv("SAPPORO_TEST_ENGINES");
    if (sap_engine_opencl.count() == 0 || (wanted && !strstr(wanted, "opencl"))) skip();
    sap_driver_replaced.opencl = faulty_wrap(&sap_driver_opencl);
    setenv("SAPPORO_BACKEND", "opencl", 1);
    setenv("SAPPORO_TREE_MAC", "opening", 1); /* by acceleration the forces before would matter */
    g5->eps_to_all(0.03);
    const int id = g5_new_device();
    for (int k = 0; k < 2; k++) {
        s.b[k] = tree_model(k ? CLUSTER_PLUMMER : CLUSTER_HERNQUIST, FEW);
        assert_int_equal(load_and_compute(&s, id, k), 0);
        memcpy(s.right_a[k], s.a, sizeof s.a);
        memcpy(s.right_p[k], s.p, sizeof s.p);
    }
    long n = 1;
    for (; fail_one(&s, id, n, kinds[n % 3]); n += 2) continue;
    assert_true(n > 40);
    assert_true(fail_one(&s, id, n / 2, SAP_DRIVER_LOST));
    assert_int_equal(g5->close(id), 0);
    g5->eps_to_all(0);
    faulty_plan(0, SAP_DRIVER_OK);
    for (int k = 0; k < 2; k++) bodies_free(&s.b[k]);
    sap_gpu_unload_idle(sap_driver_replaced.opencl);
    sap_driver_replaced.opencl = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(forces, with_tree, without),
                                       cmocka_unit_test_setup_teardown(kept_trees, with_tree, without),
                                       cmocka_unit_test_setup_teardown(variables, with_tree, without),
                                       cmocka_unit_test_setup_teardown(batches, with_tree, without),
                                       cmocka_unit_test_setup_teardown(bad_input, with_tree, without),
                                       cmocka_unit_test_setup_teardown(criteria, with_tree, without),
                                       cmocka_unit_test_setup_teardown(same_orbits, with_tree, without),
                                       cmocka_unit_test_setup_teardown(driver_faults, with_tree, without)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
