/* test_pull.c - the unit of the tolerance of MULTIPOLE, and the map of gaps between far groups. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cube.h"
#include "engine/pull.h"
#include "physics/scalars.h"
#include "tree_cases.h"
#include "worst.h"

enum { N = 5000 };

static double sample[3][SAP_CUBE_SAMPLE];

static int take_sample(const bodies *b)
{
    const int m = sap_cube_sample(b->n);
    for (int k = 0; k < m; k++)
        for (int c = 0; c < 3; c++) sample[c][k] = b->x[sap_cube_member(b->n, k)][c];
    return m;
}

static double pull_of(const bodies *b)
{
    const int m = take_sample(b);
    return sap_pull_of((const double(*)[SAP_CUBE_SAMPLE])sample, m, 1);
}

/* M / s^2 of all particles: s, their root mean square distance from their centre. */
static double plain_pull_of(const bodies *b)
{
    double mean[3] = {0, 0, 0}, s2 = 0;
    for (int i = 0; i < b->n; i++)
        for (int c = 0; c < 3; c++) mean[c] += b->x[i][c] / b->n;
    for (int i = 0; i < b->n; i++)
        for (int c = 0; c < 3; c++) s2 += (b->x[i][c] - mean[c]) * (b->x[i][c] - mean[c]) / b->n;
    return 1 / s2;
}

/* Of models without far particles the unit is M / s^2. */
static void usual_models(void **state)
{
    (void)state;
    static const cluster_kind KINDS[] = {CLUSTER_UNIFORM, CLUSTER_PLUMMER, CLUSTER_CLUMPS};
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        bodies b = tree_model(KINDS[k], N);
        const double ratio = pull_of(&b) / plain_pull_of(&b);
        if (!(ratio > 0.75 && ratio < 1.3)) fail_msg("model %d: %g of M / s^2", (int)KINDS[k], ratio);
        bodies_free(&b);
    }
}

/* Far particles and far groups do not change it, nor does a scale, but for its square. */
static void far_particles(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    const double near = pull_of(&b);
    for (int i = 0; i < N; i += 500) b.x[i][0] += 1e40 * (1 + i);
    assert_true(fabs(pull_of(&b) / near - 1) < 0.25);
    bodies_free(&b);
    for (int groups = 2; groups < 6; groups++) {
        b = tree_model(CLUSTER_PLUMMER, N);
        for (int i = 0; i < N; i++) b.x[i][i % groups % 3] += 1e9 * (i % groups);
        const double ratio = groups * pull_of(&b) / near;
        if (!(ratio > 0.5 && ratio < 2)) fail_msg("%d groups: %g of one", groups, ratio);
        bodies_free(&b);
    }
    b = tree_model(CLUSTER_PLUMMER, N);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) b.x[i][c] *= 0x1p100;
    assert_true(pull_of(&b) * 0x1p200 == near);
    for (int i = 0; i < N; i++) memcpy(b.x[i], b.x[0], sizeof b.x[i]);
    assert_true(pull_of(&b) == 1); /* no extent */
    b.n = 1;
    assert_true(pull_of(&b) == 1);
    bodies_free(&b);
}

/* Many particles at each of few points: the unit is that of the points, since those at a teller have no distance. */
static void few_points(void **state)
{
    (void)state;
    enum { POINTS = 12 };
    bodies b = tree_model(CLUSTER_UNIFORM, N);
    for (int i = POINTS; i < N; i++) memcpy(b.x[i], b.x[i % POINTS], sizeof b.x[i]);
    const double ratio = pull_of(&b) / plain_pull_of(&b);
    if (!(ratio > 0.5 && ratio < 2)) fail_msg("%g of M / s^2", ratio);
    bodies_free(&b);
}

static struct sap_cube cube_of(const bodies *b)
{
    double low[3], high[3];
    for (int c = 0; c < 3; c++) {
        low[c] = high[c] = b->x[0][c];
        for (int i = 0; i < b->n; i++) low[c] = fmin(low[c], b->x[i][c]), high[c] = larger_of(high[c], b->x[i][c]);
    }
    const int m = take_sample(b);
    return sap_cube_of(low, high, sample, m);
}

static int is_in_gap(const struct sap_gaps *g, double x)
{
    for (int k = 0; k < g->n[0]; k++)
        if (x > g->at[0][k] && x < g->end[0][k]) return 1;
    return 0;
}

/* The map is monotone, makes no distance longer, and leaves those within a group as they are. */
static void gaps(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    assert_false(cube_of(&b).gaps.any);
    for (int i = 0; i < N; i++) b.x[i][0] += i % 3 == 0 ? 1e9 : i % 3 == 1 ? -3e12 : 0;
    const struct sap_cube q = cube_of(&b);
    int apart = 0;
    assert_int_equal(q.gaps.n[0], 2);
    assert_true(q.gaps.n[1] == 0 && q.gaps.n[2] == 0 && q.edge < 1e4);
    for (int i = 3; i < N; i++) {
        const double a = b.x[i][0], c = b.x[i - 1][0], d = b.x[i - 3][0];
        const double ma = sap_gaps_map(&q.gaps, 0, a), mc = sap_gaps_map(&q.gaps, 0, c),
                     md = sap_gaps_map(&q.gaps, 0, d);
        assert_true((a < c) == (ma < mc) && fabs(ma - mc) <= fabs(a - c));
        const int gap = is_in_gap(&q.gaps, a) || is_in_gap(&q.gaps, d);
        apart += gap;
        if (!gap && !(fabs((ma - md) - (a - d)) <= 1e-12)) /* i and i - 3 are in one group */
            fail_msg("%.17g and %.17g are mapped to %.17g and %.17g", a, d, ma, md);
    }
    assert_true(apart < N / 50); /* the sample misses few outer particles */
    double last = -INFINITY, x = -4e12;
    for (int k = 0; k < 4000; k++, x += 1.3e9) {
        const double mapped = sap_gaps_map(&q.gaps, 0, x);
        assert_true(mapped >= last);
        last = mapped;
    }
    bodies_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(usual_models), cmocka_unit_test(far_particles),
                                       cmocka_unit_test(few_points), cmocka_unit_test(gaps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
