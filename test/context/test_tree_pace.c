/*
 * test_tree_pace.c - trees that sapporo_tree_refresh_or_build keeps: the energy of a run stays as near as with a new
 * tree in each step, and positions of another time harm no force.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "context/tree_pace.h"
#include "tree_cases.h"

/* ---- the rule ----------------------------------------------------------------------------------- */

/* Lives of a tree whose forces need 1 + growth (age - lead)^2: the best time comes to the middle. */
static void middle(void **state)
{
    (void)state;
    struct sap_tree_pace p = {.age = 0};
    double used = 0, lead = 0;
    int lives = 0;
    for (int call = 0; call < 400; call++) {
        if (call > 0 && sap_pace_ends(&p, 1.15, 1)) {
            used = p.age;
            lead = p.lead;
            sap_pace_begin(&p, sap_pace_lead(&p, 1));
            lives++;
        } else {
            p.age += call > 0;
        }
        const double off = p.age - p.lead;
        sap_pace_note(&p, 1000 * (1 + 0.01 * off * off));
    }
    assert_true(lives > 20 && lives < 80);
    assert_true(fabs(used - 2 * lead) <= 1);
}

/* A tree that was built for a wrong time ends at once, and the next one is for the present. */
static void wrong_time(void **state)
{
    (void)state;
    struct sap_tree_pace p = {.age = 0};
    sap_pace_note(&p, 1000);
    assert_false(sap_pace_ends(&p, 1.15, 0));
    assert_true(sap_pace_ends(&p, 1.15, 1) && sap_pace_lead(&p, 1) == SAP_PACE_START); /* the first of a loop */
    p.age = 6;
    sap_pace_note(&p, 1200);
    assert_true(sap_pace_ends(&p, 1.15, 1));
    assert_true(sap_pace_lead(&p, 1) == 3);
    sap_pace_begin(&p, 3);
    assert_false(sap_pace_ends(&p, 1.15, 1)); /* no force yet */
    sap_pace_note(&p, 1400);
    assert_true(sap_pace_ends(&p, 1.15, 1));
    assert_true(sap_pace_lead(&p, 1) == 0);
}

/* ---- runs --------------------------------------------------------------------------------------- */

enum { N = 8000, STEPS = 160, SEEDS = 1 };

/* A call that has built tells of all phases, of a build for a later time, too, which a refresh follows. */
static void expect_phases(sapporo_tree *t)
{
    const sapporo_tree_statistics s = tree_statistics(t);
    for (int phase = SAPPORO_PHASE_SORT; phase <= SAPPORO_PHASE_MOMENTS; phase++)
        if (sapporo_tree_get_backend(t) == SAPPORO_BACKEND_CPU) assert_true(s.seconds[phase] > 0);
}

static double step_of(void) { return 1.0 / 64; }

/* Energy in long double's stead: kinetic, and half of the potential of a tree with small cells alone. */
static double energy_of(const bodies *b, double eps2)
{
    sapporo_tree_options o = tree_on(engine_any());
    o.mac = SAPPORO_MAC_OPENING;
    o.accuracy = 0.15;
    o.eps2 = eps2;
    sapporo_tree *t = tree_of(b, &o);
    struct tree_rows rows = tree_rows_of(t, NULL, b->n);
    double sum = 0;
    for (int i = 0; i < b->n; i++) {
        sum += 0.5 * b->mass[i] * rows.pot[i];
        for (int c = 0; c < 3; c++) sum += 0.5 * b->mass[i] * b->v[i][c] * b->v[i][c];
    }
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
    return sum;
}

/* Returns the relative change of energy in a leap-frog run; *builds: of trees. */
static double drift_of(int keeps, unsigned seed, int *builds)
{
    cluster_request request = cluster_default();
    bodies b;
    message why;
    request.kind = CLUSTER_HERNQUIST;
    request.n = N;
    request.seed = seed;
    assert_int_equal(cluster_make(&request, &b, &why), 0);
    sapporo_tree_options o = tree_on(engine_any());
    const double dt = step_of();
    o.mac = SAPPORO_MAC_ACCELERATION;
    o.accuracy = 0.034;
    o.order = 1;
    o.eps2 = 0.03 * 0.03;
    const double before = energy_of(&b, o.eps2);
    sapporo_tree *t;
    assert_int_equal(sapporo_tree_create(&o, N, &t), SAPPORO_OK);
    *builds = 0;
    for (int step = 0; step <= STEPS; step++) {
        int built = 1;
        tree_set(t, &b);
        assert_int_equal(keeps ? sapporo_tree_refresh_or_build(t, 0, &built) : sapporo_tree_build(t), SAPPORO_OK);
        *builds += built;
        if (built) expect_phases(t);
        struct tree_rows rows = tree_rows_of(t, NULL, N);
        const double kick = step == 0 || step == STEPS ? 0.5 * dt : dt;
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++) {
                b.v[i][c] += kick * rows.acc[i][c];
                if (step < STEPS) b.x[i][c] += dt * b.v[i][c];
            }
        tree_rows_free(&rows);
    }
    const double after = energy_of(&b, o.eps2);
    sapporo_tree_destroy(t);
    bodies_free(&b);
    return (after - before) / fabs(before);
}

/* Trees that are refreshed put no power into a model: the mean of some runs against that of new trees. */
static void drift(void **state)
{
    (void)state;
    double sum[2] = {0, 0};
    int builds[2];
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        for (int keeps = 0; keeps < 2; keeps++) sum[keeps] += drift_of(keeps, seed, &builds[keeps]) / SEEDS;
        assert_int_equal(builds[0], STEPS + 1);
        assert_in_range(builds[1], STEPS / 20, STEPS / 3);
    }
    print_message("# energy drifts by %g, with new trees by %g\n", sum[1], sum[0]);
    if (!(fabs(sum[1]) < 2 * fabs(sum[0]) + 5e-5))
        fail_msg("energy drifts by %g, with new trees by %g", sum[1], sum[0]);
}

/* Particles that jump: a tree that is built for a later time still gives right forces. */
static void jumps(void **state)
{
    (void)state;
    enum { FEW = 1500 };
    bodies b = tree_model(CLUSTER_PLUMMER, FEW);
    sapporo_tree_options o = tree_on(engine_any());
    o.eps2 = 1e-4;
    sapporo_tree *t = tree_of(&b, &o);
    for (int k = 0; k < 12; k++) {
        const double far = k % 3 == 2 ? 1e95 : 1e5; /* extrapolated positions leave the range of trees */
        for (int i = 0; i < FEW; i++) b.x[i][i % 3] += k % 2 ? far : -far;
        tree_set(t, &b);
        assert_int_equal(sapporo_tree_refresh_or_build(t, 1, NULL), SAPPORO_OK);
        struct tree_rows rows = tree_rows_of(t, NULL, FEW);
        for (int i = 0; i < FEW; i++) assert_true(isfinite(rows.pot[i] + rows.acc[i][0] + rows.acc[i][1]));
        tree_rows_free(&rows);
    }
    bodies_free(&b);
    b = tree_model(CLUSTER_PLUMMER, FEW);
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i < FEW; i++)
            for (int c = 0; c < 3; c++) b.x[i][c] += 0.1 * b.v[i][c];
        tree_set(t, &b);
        assert_int_equal(sapporo_tree_refresh_or_build(t, 1, NULL), SAPPORO_OK);
        struct tree_rows rows = tree_rows_of(t, NULL, FEW), exact = tree_exact(&b, o.eps2, 10);
        double *error = tree_errors(&rows, &exact, 10);
        assert_true(error[exact.n * 99 / 100] < 2e-2);
        free(error);
        tree_rows_free(&exact);
        tree_rows_free(&rows);
    }
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(middle), cmocka_unit_test(wrong_time), cmocka_unit_test(drift),
                                       TREE_TEST(jumps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
