/* Tests of the rule that decides by measured times when a new tree pays (context/rebuild.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "context/rebuild.h"

enum { STEPS = 200 };

/* The time of the k-th force after a build, k from 0 on. */
typedef double growth_law(int k);

static double line(int k) { return 1 + 0.02 * k; }
static double steep_line(int k) { return 1 + 0.9 * k; }
static double power(int k) { return 1.5 * pow(1.06, k); }
static double parabola(int k) { return 1.2 + 0.001 * k + 0.004 * k * k; }
static double valley(int k) { return 2 - 0.03 * k + 0.002 * k * k; }
static double flat(int k) { return 1 + 0 * k; }
static double falling(int k) { return 2 - 0.005 * k; }

static const struct {
    growth_law *law;
    enum sap_rebuild_model model;
} laws[] = {{line, SAP_GROWTH_LINEAR},
            {steep_line, SAP_GROWTH_LINEAR},
            {power, SAP_GROWTH_POWER},
            {parabola, SAP_GROWTH_PARABOLA},
            {valley, SAP_GROWTH_PARABOLA}};
enum { LAWS = sizeof laws / sizeof *laws };

static void sample(growth_law *law, double *growth, int n)
{
    for (int k = 0; k < n; k++) growth[k] = law(k);
}

/* A fit to exact times finds the law, from as few points as the model has parameters and one. */
static void finds_the_law(void **state)
{
    double growth[STEPS];
    (void)state;
    for (int l = 0; l < LAWS; l++)
        for (int n = 4; n < 60; n += 5) {
            sample(laws[l].law, growth, n);
            const struct sap_growth g = sap_rebuild_fit(growth, n);
            assert_true(g.chi2 < 1e-20);
            if (g.model != laws[l].model) assert_true(laws[l].model == SAP_GROWTH_LINEAR); /* a parabola has lines */
            for (int k = n; k < n + 20; k++) {
                const double at = g.model == SAP_GROWTH_POWER ? g.t * pow(g.r, k) : g.t + k * (g.b + k * g.a);
                assert_true(fabs(at - laws[l].law(k)) < 1e-6 * at);
            }
        }
}

/* Times with noise: the model with the least parameters that fits them wins, for chi square is per degree of freedom.
 */
static void noise(void **state)
{
    double growth[STEPS];
    (void)state;
    for (int n = 12; n < 60; n++) {
        for (int k = 0; k < n; k++) growth[k] = 1 + 0.03 * k + (k % 2 ? 1e-3 : -1e-3);
        assert_true(sap_rebuild_fit(growth, n).model == SAP_GROWTH_LINEAR);
        for (int k = 0; k < n; k++) growth[k] = power(k) * (k % 2 ? 1.001 : 0.999);
        assert_true(sap_rebuild_fit(growth, n).model == SAP_GROWTH_POWER);
    }
}

/* A force that takes less than one directly after a build is the fresh one from then on, for its class alone. */
static void faster_forces(void **state)
{
    struct sap_rebuild t = {.n = 0};
    (void)state;
    sap_rebuild_note(&t, 1, 0, 0.5, 2, 0);
    sap_rebuild_note(&t, 0, 0, 0.1, 3, 0);
    sap_rebuild_note(&t, 0, 0, 0.1, 1, 0);
    sap_rebuild_note(&t, 0, 0, 0.1, 2, 0);
    sap_rebuild_note(&t, 0, 0, 0.1, 8, 5);
    assert_true(t.fresh[0] == 1 && t.fresh[5] == 8 && t.build == 0.5 && t.refresh == 0.1);
    assert_true(t.n == 5 && t.seconds == 2 + 2 + 1 + 1 + 8);
    assert_true(t.growth[0] == 1 && t.growth[1] == 1.5 && t.growth[2] == 1 && t.growth[3] == 2 && t.growth[4] == 1);
    sap_rebuild_note(&t, 1, 1, 0.5, 7, 0); /* before the middle of the life nothing counts */
    assert_true(t.n == 0 && t.seconds == 0 && t.early == 1 && t.fresh[0] == 1);
    sap_rebuild_note(&t, 0, 0, 0.1, 4, 0);
    assert_true(t.n == 1 && t.fresh[0] == 4 && t.growth[0] == 1);
}

/* The number of steps after which the mean time is least, by trying all. */
static int best_interval(growth_law *law, double build)
{
    double sum = build, least = INFINITY;
    int best = 0;
    for (int n = 1; n <= STEPS; n++) {
        sum += law(n - 1);
        if (sum / n < least) least = sum / n, best = n;
    }
    return best;
}

/* The rule stops within a step of the best interval, for cheap and for dear builds. */
static void stops_at_the_best(void **state)
{
    double growth[STEPS];
    (void)state;
    for (int l = 0; l < LAWS; l++)
        for (double build = 0.5; build < 40; build *= 2) {
            int n = 2;
            for (; n < STEPS; n++) {
                sample(laws[l].law, growth, n);
                const struct sap_growth g = sap_rebuild_fit(growth, n);
                if (sap_rebuild_passed(&g, n, build)) break;
            }
            const int best = best_interval(laws[l].law, build), least = best > 2 ? best : 2;
            assert_true(n >= least - 1 && n <= least + 1);
        }
}

/* Forces that do not become slower never ask for a build. */
static void stays(void **state)
{
    static growth_law *const law[] = {flat, falling};
    double growth[STEPS];
    (void)state;
    for (int l = 0; l < 2; l++)
        for (int n = 2; n < STEPS; n++) {
            sample(law[l], growth, n);
            const struct sap_growth g = sap_rebuild_fit(growth, n);
            assert_false(sap_rebuild_passed(&g, n, 1));
        }
}

/* Steps whose forces are of two classes, one of them a hundred times as dear: the decision is that of one class. */
static void classes(void **state)
{
    static const double seconds_of[2] = {1e-3, 1e-1};
    struct sap_rebuild t = {.n = 0};
    int told = -1;
    (void)state;
    /* both classes are seen directly after a build; a step with a build and one with a refresh are timed */
    for (int k = 0; k < 4; k++) sap_rebuild_note(&t, 1, 0, 0.5, seconds_of[k % 2], 3 * (k % 2));
    assert_false(sap_rebuild_pays(&t, NULL));
    double sum = 1, least = INFINITY;
    int best = 0;
    for (int n = 1; n < STEPS; n++) {
        const double fresh = seconds_of[n % 2];
        if (n > 1) sap_rebuild_note(&t, 0, 0, 0.1, fresh * line(n - 1), 3 * (n % 2));
        if (told < 0 && sap_rebuild_pays(&t, NULL)) told = t.n;
        sum = (n == 1 ? 0.4 : sum) + (n == 1 ? seconds_of[1] : fresh * line(n - 1));
        if (sum / n < least) least = sum / n, best = n;
    }
    assert_true(told > 0 && told >= best - 3 && told <= best + 3);
}

/* Times that a clock cannot tell, and states without a build, ask for nothing. */
static void unknown(void **state)
{
    struct sap_rebuild t = {.n = 0};
    enum sap_rebuild_model model = SAP_GROWTH_POWER;
    (void)state;
    assert_false(sap_rebuild_pays(&t, &model));
    assert_true(model == SAP_GROWTH_NONE);
    for (int k = 0; k < 10; k++) sap_rebuild_note(&t, 0, 0, 0.1, 1 + k, 0);
    assert_false(sap_rebuild_pays(&t, NULL));
    sap_rebuild_note(&t, 1, 0, 1, 0, 0);
    for (int k = 0; k < 10; k++) sap_rebuild_note(&t, 0, 0, 0, 0, 0);
    assert_true(t.n == 0 && !sap_rebuild_pays(&t, NULL));
    sap_rebuild_note(&t, 1, 0, 1, 1, 0);
    for (int k = 1; k < 3 * SAP_REBUILD_POINTS; k++) sap_rebuild_note(&t, 0, 0, 0.5, 1, 0);
    assert_true(t.n == 3 * SAP_REBUILD_POINTS && !sap_rebuild_pays(&t, NULL));
    for (int k = SAP_GROWTH_NONE; k <= SAP_GROWTH_PARABOLA; k++)
        assert_true(strlen(sap_rebuild_name((enum sap_rebuild_model)k)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_the_law), cmocka_unit_test(stops_at_the_best),
                                       cmocka_unit_test(stays),         cmocka_unit_test(classes),
                                       cmocka_unit_test(unknown),       cmocka_unit_test(noise),
                                       cmocka_unit_test(faster_forces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
