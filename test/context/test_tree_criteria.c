/* test_tree_criteria.c - trees of difficult models: what the criteria promise of errors, and how many interactions. */
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

enum { N = 8000, STRIDE = 80, ROWS = (N + STRIDE - 1) / STRIDE };

static const double EPS = 0x1p-10;

static sapporo_tree_options options_by(sapporo_tree_mac mac)
{
    sapporo_tree_options o = tree_on(engine_any());
    o.mac = mac;
    o.eps2 = EPS * EPS;
    return o;
}

static double interactions_of(sapporo_tree *t)
{
    const sapporo_tree_statistics s = tree_statistics(t);
    return (double)(s.particle_particle + s.particle_cell) / (double)s.rows;
}

/* Acceleration of particle i, in long double, and the sum of the sizes of its terms. */
static void exact(const bodies *b, int i, double eps2, long double *acc, long double *terms)
{
    acc[0] = acc[1] = acc[2] = *terms = 0;
    for (int j = 0; j < b->n; j++) {
        long double d[3], r2 = eps2;
        if (j == i) continue;
        for (int c = 0; c < 3; c++) d[c] = (long double)b->x[j][c] - b->x[i][c], r2 += d[c] * d[c];
        const long double f = b->mass[j] / (r2 * sqrtl(r2));
        for (int c = 0; c < 3; c++) acc[c] += f * d[c];
        *terms += fabsl(f) * sqrtl(r2 - eps2);
    }
}

/* Returns the largest error of the rows of a force, in units of the sum of the sizes of all terms. */
static double error_of_rows(const bodies *b, const struct tree_rows *rows, double eps2)
{
    double worst = 0;
    for (int i = 0; i < b->n; i += STRIDE) {
        long double acc[3], terms, d2 = 0;
        exact(b, i, eps2, acc, &terms);
        for (int c = 0; c < 3; c++) d2 += (rows->acc[i][c] - acc[c]) * (rows->acc[i][c] - acc[c]);
        if (!(sqrtl(d2) / terms <= worst)) worst = (double)(sqrtl(d2) / terms);
    }
    return worst;
}

/* Forces on a model: interactions per particle, and the largest error. */
struct outcome {
    double interactions, error;
};

static struct outcome force_of(const bodies *b, const sapporo_tree_options *o)
{
    sapporo_tree *t = tree_of(b, o);
    struct tree_rows rows = tree_rows_of(t, NULL, b->n);
    const struct outcome out = {interactions_of(t), error_of_rows(b, &rows, o->eps2)};
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
    return out;
}

/* ---- far particles ------------------------------------------------------------------------------- */

static double distance2(const bodies *b, int i, const double *from)
{
    double r2 = 0;
    for (int c = 0; c < 3; c++) r2 += (b->x[i][c] - from[c]) * (b->x[i][c] - from[c]);
    return r2;
}

/* Few particles at any distance cost the others nothing, by any criterion; errors stay those of the criterion. */
static void escapers(void **state)
{
    (void)state;
    static const double FAR[] = {1e2, 1e7, 1e60};
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++) {
        const sapporo_tree_options o = options_by(mac);
        bodies b = tree_model(CLUSTER_PLUMMER, N);
        const struct outcome near = force_of(&b, &o);
        for (size_t k = 0; k < sizeof FAR / sizeof *FAR; k++)
            for (int many = 1; many <= 5 - (int)k; many += 4) {
                bodies far = tree_model(CLUSTER_PLUMMER, N);
                for (int i = 0; i < many; i++) far.x[7 + 1500 * i][i % 3] += i % 2 ? -FAR[k] : FAR[k];
                const struct outcome here = force_of(&far, &o);
                if (!(here.interactions < 2 * near.interactions) || !(here.error < 2 * near.error + 1e-3))
                    fail_msg("criterion %d, %d escapers at %g: %g interactions, error %g; without %g, %g", (int)mac,
                             many, FAR[k], here.interactions, here.error, near.interactions, near.error);
                bodies_free(&far);
            }
        bodies_free(&b);
    }
}

/* Far groups of particles cost what near ones do, in whatever direction they are, and however many. */
static void far_groups(void **state)
{
    (void)state;
    static const double APART[] = {1e6, 1e10, 1e13};
    static const double WHERE[4][3] = {{0, 0, 0}, {1, 0, 0}, {-0.3, 1, 0.5}, {0.1, 0.2, -1}};
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++) {
        const sapporo_tree_options o = options_by(mac);
        bodies b = tree_model(CLUSTER_PLUMMER, N);
        const struct outcome near = force_of(&b, &o);
        for (size_t k = 0; k < sizeof APART / sizeof *APART; k++)
            for (int groups = k == 1 ? 4 : 2; groups <= 4; groups += 3) {
                bodies far = tree_model(CLUSTER_PLUMMER, N);
                for (int i = 0; i < N; i++)
                    for (int c = 0; c < 3; c++) far.x[i][c] += APART[k] * WHERE[i % groups][c];
                const struct outcome here = force_of(&far, &o);
                if (!(here.interactions < 1.6 * near.interactions) || !(here.error < 2 * near.error + 1e-3))
                    fail_msg("criterion %d, %d groups %g apart: %g interactions, error %g; one group %g, %g", (int)mac,
                             groups, APART[k], here.interactions, here.error, near.interactions, near.error);
                bodies_free(&far);
            }
        bodies_free(&b);
    }
}

/* Groups that move: a refresh keeps the map of the build, and forces stay right; positions between the groups, too. */
static void groups_that_move(void **state)
{
    (void)state;
    enum { PLACES = 4 };
    const sapporo_tree_options o = options_by(SAPPORO_MAC_OPENING);
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    for (int i = 0; i < N; i++) b.x[i][1] += i % 2 ? 1e9 : 0;
    sapporo_tree *t = tree_of(&b, &o);
    const double at[PLACES][3] = {{0, 5e8, 0}, {1, 1e9, 2}, {0, 20, 0}, {0, -1e12, 0}};
    double acc[PLACES][3];
    for (int k = 0; k < PLACES; k++) {
        const sapporo_tree_request r = {.size = sizeof r, .ni = 1, .x = {at[k], 0}};
        assert_int_equal(sapporo_tree_force(t, &r, acc + k, NULL), SAPPORO_OK);
        long double sum[3] = {0, 0, 0}, terms = 0, d2 = 0;
        for (int j = 0; j < N; j++) {
            const long double r2 = distance2(&b, j, at[k]) + o.eps2, f = b.mass[j] / (r2 * sqrtl(r2));
            for (int c = 0; c < 3; c++) sum[c] += f * ((long double)b.x[j][c] - at[k][c]);
            terms += f * sqrtl(r2);
        }
        for (int c = 0; c < 3; c++) d2 += (acc[k][c] - sum[c]) * (acc[k][c] - sum[c]);
        if (!(sqrtl(d2) < 1e-2L * terms)) fail_msg("position %d: error %Lg of %Lg", k, sqrtl(d2), terms);
    }
    for (int i = 0; i < N; i++) {
        b.x[i][1] += i % 2 ? 3e8 : -40;
        b.x[i][0] += i % 2 ? 5e7 : 0;
    }
    tree_set(t, &b);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    struct tree_rows rows = tree_rows_of(t, NULL, N);
    const double error = error_of_rows(&b, &rows, o.eps2);
    if (!(error < 1e-2)) fail_msg("after a refresh: error %g", error);
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/* ---- masses of both signs --------------------------------------------------------------------------- */

static void set_signs(bodies *b, int period)
{
    for (int i = 0; i < b->n; i++) b->mass[i] = fabs(b->mass[i]) * (i % period == 0 ? -1 : 1);
}

/* Cells of both signs would be opened by all; so trees divide particles by sign. */
static void signs(void **state)
{
    (void)state;
    static const int PERIODS[] = {2, 500}; /* each such particle is negative */
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++)
        for (int order = 1; order <= 2; order++) {
            sapporo_tree_options o = options_by(mac);
            o.order = order;
            bodies b = tree_model(CLUSTER_PLUMMER, N);
            const struct outcome one = force_of(&b, &o);
            for (size_t k = 0; k < sizeof PERIODS / sizeof *PERIODS; k++) {
                set_signs(&b, PERIODS[k]);
                const struct outcome both = force_of(&b, &o);
                /* accelerations that cancel make the criterion of acceleration stricter */
                const double most = mac == SAPPORO_MAC_ACCELERATION ? 4 : 3;
                if (!(both.interactions < most * one.interactions) || !(both.error < 3 * one.error + 2e-3))
                    fail_msg("criterion %d, order %d, period %d: %g interactions, error %g; one sign %g, %g", (int)mac,
                             order, PERIODS[k], both.interactions, both.error, one.interactions, one.error);
            }
            bodies_free(&b);
        }
}

/* A refresh that changes signs keeps forces right; so do groups far apart with both signs. */
static void signs_that_change(void **state)
{
    (void)state;
    const sapporo_tree_options o = options_by(SAPPORO_MAC_OPENING);
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    const struct outcome one = force_of(&b, &o);
    for (int far = 0; far < 2; far++) {
        for (int i = 0; i < N && far; i++) b.x[i][0] += i % 4 < 2 ? 1e11 : 0;
        set_signs(&b, 2);
        sapporo_tree *t = tree_of(&b, &o);
        set_signs(&b, 3);
        tree_set(t, &b);
        assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
        struct tree_rows rows = tree_rows_of(t, NULL, N);
        assert_true(error_of_rows(&b, &rows, o.eps2) < 1e-2);
        tree_rows_free(&rows);
        assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
        rows = tree_rows_of(t, NULL, N);
        assert_true(error_of_rows(&b, &rows, o.eps2) < 1e-2);
        if (!(interactions_of(t) < 3 * one.interactions))
            fail_msg("far %d: %g interactions, one sign %g", far, interactions_of(t), one.interactions);
        tree_rows_free(&rows);
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

/* ---- cells without second moments ------------------------------------------------------------------ */

/*
 * A lattice of balls of 64 particles: the one in the middle of a ball has all of its mass, but for `light`, so second
 * moments nearly vanish, while boxes are as wide as ever.
 */
static bodies heavy_centres(double light)
{
    enum { BALL = 64, EDGE = 5, APART = 10 };
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    for (int i = 0; i < N; i++) {
        const int ball = i / BALL, k = i % BALL, at[3] = {ball % EDGE, ball / EDGE % EDGE, ball / EDGE / EDGE};
        const double r = sqrt(distance2(&b, i, (const double[3]){0, 0, 0})), to = cbrt(k / (double)BALL);
        b.mass[i] = (k == 0 ? 1 - (BALL - 1) * light : light) * BALL / N;
        for (int c = 0; c < 3; c++) b.x[i][c] = b.x[i][c] / r * to + APART * at[c];
    }
    return b;
}

/* MULTIPOLE promises absolute errors per cell, whatever the moments of the cell: the sum stays near the promise. */
static void heavy_cells(void **state)
{
    (void)state;
    static const double LIGHT[] = {0, 1e-6};
    for (int order = 1; order <= 2; order++)
        for (size_t k = 0; k < sizeof LIGHT / sizeof *LIGHT; k++) {
            sapporo_tree_options o = options_by(SAPPORO_MAC_MULTIPOLE);
            o.order = order;
            o.accuracy = 1e-9;
            o.precision = SAPPORO_DP;
            bodies b = heavy_centres(LIGHT[k]);
            const struct outcome here = force_of(&b, &o);
            if (!(here.error < 1e-7))
                fail_msg("order %d, other masses %g: error %g, %g interactions", order, LIGHT[k], here.error,
                         here.interactions);
            bodies_free(&b);
        }
}

/* ---- the range of double ------------------------------------------------------------------------------- */

/* Radii from 10^-decades to 10^decades. */
static bodies spread(int n, double decades)
{
    bodies b = tree_model(CLUSTER_PLUMMER, n);
    rng source;
    rng_seed(&source, 11, 2);
    for (int i = 0; i < n; i++) {
        const double r = sqrt(distance2(&b, i, (const double[3]){0, 0, 0}));
        const double to = pow(10, decades * (2 * rng_uniform(&source) - 1));
        for (int c = 0; c < 3; c++) b.x[i][c] *= to / r;
    }
    return b;
}

/* Returns the number of rows that are not finite; fails if another one is wrong. */
static int not_finite(const bodies *b, const struct tree_rows *rows)
{
    int bad = 0;
    for (int i = 0; i < b->n; i++) {
        long double acc[3] = {0, 0, 0}, terms = 0, d2 = 0;
        double sum = rows->pot[i] - rows->pot[i];
        for (int c = 0; c < 3; c++) sum += rows->acc[i][c] - rows->acc[i][c];
        bad += !(sum == 0);
        exact(b, i, 0, acc, &terms);
        for (int c = 0; c < 3; c++) d2 += (rows->acc[i][c] - acc[c]) * (rows->acc[i][c] - acc[c]);
        if (sum == 0 && !(sqrtl(d2) < 3e-2L * terms)) fail_msg("row %d is off by %Lg", i, sqrtl(d2) / terms);
    }
    return bad;
}

/* Forces are finite and right, or the call says that it cannot compute them. */
static void wide_ratios(void **state)
{
    (void)state;
    static const double DECADES[] = {20, 60, 90};
    for (size_t k = 0; k < sizeof DECADES / sizeof *DECADES; k++)
        for (int precise = 0; precise < 2; precise++)
            for (int alone = 0; alone < 2; alone++) {
                bodies b = spread(500, DECADES[k]);
                sapporo_tree_options o = options_by((sapporo_tree_mac)(1 + (k + (size_t)precise) % 3));
                o.eps2 = 0;
                o.precision = precise ? SAPPORO_DP : SAPPORO_SP;
                if (alone) o.experiments = SAPPORO_EXPERIMENTS(0, SAPPORO_WALK_STACKLESS, 0);
                sapporo_tree *t = tree_of(&b, &o);
                struct tree_rows rows = {.n = b.n};
                rows.acc = calloc((size_t)b.n, sizeof *rows.acc);
                rows.pot = calloc((size_t)b.n, sizeof *rows.pot);
                const sapporo_tree_request r = {.size = sizeof r, .ni = b.n};
                const int status = sapporo_tree_force(t, &r, rows.acc, rows.pot);
                if (status == SAPPORO_OK)
                    assert_int_equal(not_finite(&b, &rows), 0);
                else if (sapporo_tree_get_backend(t) == SAPPORO_BACKEND_CPU || status != SAPPORO_ERR_NOT_FINITE)
                    fail_msg("10^%g: status %d", DECADES[k], status);
                else
                    assert_non_null(strstr(sapporo_tree_last_error(t), "use a direct sum"));
                tree_rows_free(&rows);
                sapporo_tree_destroy(t);
                bodies_free(&b);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(escapers),   TREE_TEST(far_groups),        TREE_TEST(groups_that_move),
                                       TREE_TEST(signs),      TREE_TEST(signs_that_change), TREE_TEST(wide_ratios),
                                       TREE_TEST(heavy_cells)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
