/* test_tree_extremes.c - trees of sizes and masses at the ends of the range of double. */
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
#include "worst.h"

static sapporo_tree_options options(void)
{
    sapporo_tree_options o = tree_on(engine_any());
    o.precision = SAPPORO_SP;
    return o;
}

static bodies plummer(int n) { return tree_model(CLUSTER_PLUMMER, n); }

/* Forces of all by every walk and precision are finite, and a search finds every particle. */
static void expect_finite(const bodies *b, double eps2)
{
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++)
        for (int k = 0; k < 4; k++) {
            sapporo_tree_options o = options();
            o.mac = mac;
            o.eps2 = eps2;
            o.experiments = SAPPORO_EXPERIMENTS(k + 1, k / 2 ? SAPPORO_WALK_STACKLESS : SAPPORO_WALK_GROUPS, 0);
            o.precision = k % 2 ? SAPPORO_DP : SAPPORO_SP;
            sapporo_tree *t = tree_of(b, &o);
            struct tree_rows rows = tree_rows_of(t, NULL, b->n);
            for (int i = 0; i < b->n; i++) assert_true(isfinite(rows.acc[i][0]) && isfinite(rows.pot[i]));
            const double h[1] = {1e100};
            long long first[2];
            const int status =
                sapporo_tree_neighbours(t, 1, (sapporo_column){b->x, 0}, (sapporo_column){h, 0}, first, 0, NULL);
            assert_true(status == SAPPORO_TRUNCATED && first[1] == b->n);
            tree_rows_free(&rows);
            sapporo_tree_destroy(t);
        }
}

/* A cluster so much smaller than the distance of one particle that squares of its units overflow: that one still acts.
 */
static void extremes(void **state)
{
    (void)state;
    static const double SMALL[] = {1e-90, 1e-120, 1e-200, 1e-310};
    for (int k = 0; k < 4; k++) {
        bodies b = plummer(200);
        for (int i = 0; i < b.n; i++)
            for (int c = 0; c < 3; c++) b.x[i][c] = i == 100 ? c == 0 : b.x[i][c] * SMALL[k];
        for (int i = 0; i < b.n; i++) b.mass[i] = 1.0 / 200;
        expect_finite(&b, 1e-8);
        for (int soft = 0; soft < 2; soft++) {
            sapporo_tree_options o = options();
            o.eps2 = soft * 1e-8;
            sapporo_tree *t = tree_of(&b, &o);
            double acc[200][3], pot[200];
            const sapporo_tree_request r = {.size = sizeof r, .ni = b.n};
            const int status = sapporo_tree_force(t, &r, acc, pot);
            /* accelerations of 1e400 are none: they are NaN, and the call says so */
            if (status == SAPPORO_OK)
                for (int i = 0; i < b.n; i++) assert_true(isfinite(acc[i][0]) && isfinite(pot[i]));
            if (status) assert_true(!soft && (status == SAPPORO_PARTIAL || status == SAPPORO_ERR_NOT_FINITE));
            if (status >= 0 && !(fabs(acc[100][0] + 199.0 / 200) < 1e-6)) fail_msg("%g: %g", SMALL[k], acc[100][0]);
            if (soft) assert_true(fabs(acc[0][0] * 200 - 1) < 1e-6);
            sapporo_tree_destroy(t);
        }
        bodies_free(&b);
    }
    for (int k = 0; k < 3; k++) { /* no extent but -0 and 0, denormal extents, and the largest there are */
        static const double SIZES[] = {0, 5e-324, 1e99};
        bodies b = plummer(200);
        for (int i = 0; i < b.n; i++)
            for (int c = 0; c < 3; c++) b.x[i][c] = i % 7 == c ? -SIZES[k] * (i % 3) : SIZES[k] * (i % 5);
        expect_finite(&b, larger_of(1e-8, 1e-8 * SIZES[k] * SIZES[k]));
        bodies_free(&b);
    }
}

/* A place so far from a small tree that its distance has no cube says so; it does not get a force of 0. */
static void places_beyond(void **state)
{
    (void)state;
    bodies b = plummer(100);
    sapporo_tree_options o = options();
    for (int i = 0; i < b.n; i++)
        for (int c = 0; c < 3; c++) b.x[i][c] *= 1e-90;
    sapporo_tree *t = tree_of(&b, &o);
    double at[3][3] = {{1e-60, 0, 0}, {0, 1e30, 0}, {0, 1, 0}}, acc[3][3], pot[3];
    const sapporo_tree_request r = {.size = sizeof r, .ni = 3, .x = {at, 0}};
    assert_int_equal(sapporo_tree_force(t, &r, acc, pot), SAPPORO_PARTIAL);
    assert_true(fabs(pot[0] * 1e-60 + 1) < 1e-6 && isnan(pot[1]) && isnan(acc[1][1]));
    assert_true(fabs(pot[2] + 1) < 1e-6 && fabs(acc[2][1] + 1) < 1e-6);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/*
 * A force that double cannot hold is NaN, by every walk and precision, and the call says so; the others are right on
 * the CPU, and accelerators return an error.
 */
static void forces_beyond(void **state)
{
    (void)state;
    const double near = 1 / (1 - 1e-5);
    bodies b = plummer(3);
    for (int i = 0; i < b.n; i++) {
        b.mass[i] = i == 2 ? 1 : 1e300;
        b.x[i][0] = i == 2 ? 1 : 1e-5 * i; /* accelerations are beyond double, potentials are not */
        b.x[i][1] = b.x[i][2] = 0;
    }
    for (int k = 0; k < 4; k++) {
        sapporo_tree_options o = options();
        o.eps2 = 0;
        o.experiments = SAPPORO_EXPERIMENTS(0, k / 2 ? SAPPORO_WALK_STACKLESS : SAPPORO_WALK_GROUPS, 0);
        o.precision = k % 2 ? SAPPORO_DP : SAPPORO_SP;
        sapporo_tree *t = tree_of(&b, &o);
        double acc[3][3], pot[3];
        const sapporo_tree_request r = {.size = sizeof r, .ni = b.n};
        const int status = sapporo_tree_force(t, &r, acc, pot);
        assert_true(isnan(acc[0][0]) && isnan(acc[1][0]) && isnan(pot[0]) && isnan(pot[1]));
        if (sapporo_tree_get_backend(t) != SAPPORO_BACKEND_CPU) { /* all rows are lost */
            assert_int_equal(status, SAPPORO_ERR_NOT_FINITE);
            assert_true(isnan(acc[2][0]) && isnan(pot[2]) && strstr(sapporo_tree_last_error(t), "use a direct sum"));
        } else {
            assert_int_equal(status, SAPPORO_PARTIAL);
            assert_true(fabs(acc[2][0] / (-1e300 * (1 + near * near)) - 1) < 1e-6);
            assert_true(fabs(pot[2] / (-1e300 * (1 + near)) - 1) < 1e-6);
        }
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

/* The forces of a tree of eight particles by every walk and precision, at the particles and at a place. */
static void expect_same_as_unsoftened(const bodies *b, double eps2)
{
    for (int k = 0; k < 4; k++) {
        struct tree_rows rows[2];
        double at[1][3] = {{3, 3, 3}}, acc[2][1][3], pot[2][1];
        for (int soft = 0; soft < 2; soft++) {
            sapporo_tree_options o = options();
            const sapporo_tree_request r = {.size = sizeof r, .ni = 1, .x = {at, 0}};
            o.eps2 = soft * eps2;
            o.experiments = SAPPORO_EXPERIMENTS(0, k / 2 ? SAPPORO_WALK_STACKLESS : SAPPORO_WALK_GROUPS, 0);
            o.precision = k % 2 ? SAPPORO_DP : SAPPORO_SP;
            sapporo_tree *t = tree_of(b, &o);
            rows[soft] = tree_rows_of(t, NULL, b->n);
            assert_int_equal(sapporo_tree_force(t, &r, acc[soft], pot[soft]), SAPPORO_OK);
            sapporo_tree_destroy(t);
        }
        for (int i = 0; i < b->n; i++) assert_true(isfinite(rows[1].acc[i][0]) && isfinite(rows[1].pot[i]));
        assert_true(same_doubles(rows[0].acc[0], rows[1].acc[0], 3 * b->n));
        assert_true(same_doubles(rows[0].pot, rows[1].pot, b->n));
        assert_true(isfinite(pot[1][0]) && same_doubles(pot[0], pot[1], 1) && same_doubles(acc[0][0], acc[1][0], 3));
        for (int soft = 0; soft < 2; soft++) tree_rows_free(&rows[soft]);
    }
}

/* A softening whose inverse is beyond double counts as none, with particles apart and all at one point. */
static void tiny_softening(void **state)
{
    (void)state;
    static const double EPS2[] = {5e-324, 1e-310, 1e-290, 1e-250, 1e-201};
    for (int k = 0; k < 5; k++)
        for (int apart = 0; apart < 2; apart++) {
            bodies b = plummer(300);
            for (int i = 0; i < b.n && !apart; i++) memcpy(b.x[i], b.x[0], sizeof b.x[i]);
            if (apart) memcpy(b.x[7], b.x[8], sizeof b.x[7]);
            expect_same_as_unsoftened(&b, EPS2[k]);
            bodies_free(&b);
        }
}

/* Two bodies with splines at one point, and a place far from it in units of their length: the factors from these units
 * to the caller's leave double, the forces do not. */
static void expect_tiny_point(sapporo_softening softening, double mass, int k)
{
    const double x[2][3] = {{0}}, m[2] = {mass / 2, mass / 4}, h[2] = {1e-152, 1e-152};
    const double at[1][3] = {{1e-130, 0, 0}}, none[1] = {0}, far = -(m[0] + m[1]) / 1e-130;
    const sapporo_tree_particles p = {.size = sizeof p, .n = 2, .x = {x, 0}, .mass = {m, 0}, .h = {h, 0}};
    const sapporo_tree_request self = {.size = sizeof self, .ni = 2};
    const sapporo_tree_request place = {.size = sizeof place, .ni = 1, .x = {at, 0}, .h = {none, 0}};
    double acc[2][3], pot[2];
    sapporo_tree_options o = options();
    sapporo_tree *t;
    o.softening = softening;
    o.experiments = SAPPORO_EXPERIMENTS(0, k / 2 ? SAPPORO_WALK_STACKLESS : SAPPORO_WALK_GROUPS, 0);
    o.precision = k % 2 ? SAPPORO_DP : SAPPORO_SP;
    assert_int_equal(sapporo_tree_create(&o, 2, &t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_force(t, &place, acc, pot), SAPPORO_OK);
    assert_true(fabs(acc[0][0] / (far / 1e-130) - 1) < 1e-6 && fabs(pot[0] / far - 1) < 1e-6);
    assert_int_equal(sapporo_tree_force(t, &self, acc, pot), SAPPORO_OK);
    for (int i = 0; i < 2; i++) {
        assert_true(acc[i][0] == 0 && acc[i][1] == 0 && acc[i][2] == 0);
        assert_true(fabs(pot[i] / (-2.8 * m[1 - i] / h[i]) - 1) < 1e-6);
    }
    sapporo_tree_destroy(t);
}

static void tiny_points(void **state)
{
    static const double MASS[] = {1, 1e6, 1e30};
    (void)state;
    for (int soft = 1; soft < 3; soft++)
        for (int m = 0; m < 3; m++)
            for (int k = 0; k < 4; k++) expect_tiny_point((sapporo_softening)soft, MASS[m], k);
}

/* A search radius may be any number that is not negative, infinity too; NaN is none. */
static void large_radii(void **state)
{
    (void)state;
    static const double GOOD[] = {1e100, 1.01e100, 1e155, 1.7e308, INFINITY}, BAD[] = {-1e-300, NAN};
    bodies b = plummer(100);
    sapporo_tree_options o = options();
    for (int c = 0; c < 3; c++) b.x[0][c] = -1e100, b.x[1][c] = 1e100;
    sapporo_tree *t = tree_of(&b, &o);
    for (int k = 0; k < 5; k++) {
        long long first[2];
        int list[100];
        const sapporo_column x = {b.x[0], 0}, h = {&GOOD[k], 0};
        const int within = GOOD[k] >= 1e155;
        assert_int_equal(sapporo_tree_neighbours(t, 1, x, h, first, 100, list), SAPPORO_OK);
        assert_int_equal(first[1], within ? 100 : 1);
        for (int i = 0; i < first[1]; i++) assert_int_equal(list[i], i);
    }
    for (int k = 0; k < 2; k++) {
        long long first[2] = {7, 7};
        const sapporo_column x = {b.x[0], 0}, h = {&BAD[k], 0};
        assert_int_equal(sapporo_tree_neighbours(t, 1, x, h, first, 0, NULL), SAPPORO_ERR_ARGUMENT);
        assert_true(first[0] == 0 && first[1] == 0);
        if (!strstr(sapporo_tree_last_error(t), "radius")) fail_msg("%s", sapporo_tree_last_error(t));
    }
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/*
 * On the CPU engine an active particle has the bits that it has when all are active, also where the sums of another
 * particle of its group leave the range of float.
 */
static void overflow_beside(void **state)
{
    enum { N = 61, OWN = 5, HEAVY = 54 };
    static const struct {
        int at, axis;
        double x;
    } far[] = {{OWN, 0, -0x1p49}, {10, 2, -0x1p73}, {19, 2, -0x1p78},  {30, 2, -0x1p73},
               {45, 0, -0x1p36},  {53, 2, -0x1p79}, {HEAVY, 0, 0x1p36}};
    double x[N][3] = {{0}}, mass[N] = {0}, acc[N][3], pot[N], one_acc[1][3], one_pot[1];
    const int active[1] = {OWN};
    const sapporo_tree_particles p = {.size = sizeof p, .n = N, .x = {x, 0}, .mass = {mass, 0}};
    const sapporo_tree_request all = {.size = sizeof all, .ni = N},
                               one = {.size = sizeof one, .ni = 1, .active = active};
    sapporo_tree_options o = {
        .size = sizeof o, .kind = tree_kind, .backend = SAPPORO_BACKEND_CPU, .leaf_size = 11, .group_size = 2};
    sapporo_tree *t;
    (void)state;
    for (size_t k = 0; k < sizeof far / sizeof far[0]; k++) x[far[k].at][far[k].axis] = far[k].x;
    mass[HEAVY] = 0x1.8p82;
    assert_int_equal(sapporo_tree_create(&o, N, &t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_force(t, &all, acc, pot), SAPPORO_OK);
    assert_int_equal(sapporo_tree_force(t, &one, one_acc, one_pot), SAPPORO_OK);
    assert_true(same_doubles(one_pot, &pot[OWN], 1) && same_doubles(one_acc[0], acc[OWN], 3));
    for (int i = 0; i < N; i++) assert_true(isfinite(pot[i]) && isfinite(acc[i][0]));
    sapporo_tree_destroy(t);
}

/* Two particles nearer to each other than the least box that has cells: the force is that of the pair, unsoftened. */
static void pair_at_a_point(void **state)
{
    (void)state;
    static const double NEAR[] = {1e-99, 1e-101, 1e-120, 1e-140};
    for (int k = 0; k < 4; k++)
        for (int walk = 0; walk < 4; walk++)
            for (int n = 2; n < 4; n++) {
                sapporo_tree_options o = options();
                double x[3][3] = {{0}}, mass[3] = {2, 3, 0}, acc[3][3], pot[3];
                const sapporo_tree_particles p = {.size = sizeof p, .n = n, .x = {x, 0}, .mass = {mass, 0}};
                const sapporo_tree_request r = {.size = sizeof r, .ni = n};
                const double at[1][3] = {{0, NEAR[k] / 4, 0}}; /* a position alone, between them */
                const sapporo_tree_request one = {.size = sizeof one, .ni = 1, .x = {at, 0}};
                double one_acc[1][3], one_pot[1];
                sapporo_tree *t = NULL;
                x[1][1] = NEAR[k];
                x[2][1] = NEAR[k]; /* a massless one upon the second */
                o.experiments = SAPPORO_EXPERIMENTS(0, walk / 2 ? SAPPORO_WALK_STACKLESS : SAPPORO_WALK_GROUPS, 0);
                o.precision = walk % 2 ? SAPPORO_DP : SAPPORO_SP;
                assert_int_equal(sapporo_tree_create(&o, n, &t), SAPPORO_OK);
                assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
                assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
                const int status = sapporo_tree_force(t, &r, acc, pot);
                if (status && o.backend != SAPPORO_BACKEND_CPU &&
                    strstr(sapporo_tree_last_error(t), "use a direct sum")) {
                    assert_true(isnan(pot[0]) && isnan(acc[n - 1][1])); /* accelerators may refuse what is so near */
                    sapporo_tree_destroy(t);
                    continue;
                }
                if (status) fail_msg("%g, walk %d: status %d", NEAR[k], walk, status);
                for (int i = 0; i < n; i++) {
                    const double other = i ? -2 : 3, far = NEAR[k];
                    const double off =
                        worst_of(fabs(acc[i][1] * far * far / other - 1), fabs(pot[i] * far / fabs(other) + 1));
                    const double most = k == 0 && walk == 0 ? 2e-7 : 4e-15; /* a box with cells, in float */
                    if (!(worst_of(off, fabs(acc[i][0] * far * far)) < most))
                        fail_msg("%g, walk %d, particle %d: %g %g", NEAR[k], walk, i, acc[i][1], pot[i]);
                }
                const double far = NEAR[k], of_first = 2 * 16, of_second = 3 * 16 / 9.0;
                if (sapporo_tree_force(t, &one, one_acc, one_pot)) {
                    assert_true(o.backend != SAPPORO_BACKEND_CPU && isnan(one_pot[0]) &&
                                strstr(sapporo_tree_last_error(t), "use a direct sum"));
                    sapporo_tree_destroy(t);
                    continue;
                }
                const double off = worst_of(fabs(one_acc[0][1] * far * far / (of_second - of_first) - 1),
                                            fabs(one_pot[0] * far / (8 + 4) + 1));
                if (!(off < (k == 0 && walk == 0 ? 2e-7 : 4e-15)))
                    fail_msg("%g, walk %d, position: %g %g", far, walk, one_acc[0][1], one_pot[0]);
                sapporo_tree_destroy(t);
            }
}

/*
 * On the CPU engine, a light particle so near to another that 1 / r^2 leaves double though m / r^2 does not: that row
 * is summed by quotients, cells with their second moments included, and has the force that it has beside a particle at
 * a distance whose square is a normal number and of the mass that pulls alike.
 */
static void spark(void **state)
{
    static const double away[] = {0x1p-300, 0x1p-520}, pull = 0.25;
    bodies b = plummer(300);
    (void)state;
    for (int k = 0; k < 8; k++) {
        const double most = 1e-11; /* measured: 1.2e-12, of the polynomial of distant cells */
        double acc[2][3], pot[2];
        for (int near = 0; near < 2; near++) {
            const int active[1] = {0};
            const sapporo_tree_request r = {.size = sizeof r, .ni = 1, .active = active};
            sapporo_tree_options o = options();
            o.backend = SAPPORO_BACKEND_CPU; /* accelerators take such a pair for one without a distance */
            o.precision = k % 2 ? SAPPORO_DP : SAPPORO_SP;
            o.order = 1 + k / 2 % 2;
            o.accuracy = 1;
            o.group_size = k / 4 ? 8 : 64;
            for (int c = 0; c < 3; c++) b.x[0][c] = b.x[1][c] = 0;
            b.x[1][1] = away[near];
            b.mass[1] = pull * away[near] * away[near];
            sapporo_tree *const t = tree_of(&b, &o);
            assert_int_equal(sapporo_tree_force(t, &r, &acc[near], &pot[near]), SAPPORO_OK);
            sapporo_tree_destroy(t);
        }
        for (int c = 0; c < 3; c++)
            if (!(fabs(acc[1][c] - acc[0][c]) <= most)) fail_msg("case %d: %.17g %.17g", k, acc[0][c], acc[1][c]);
        assert_true(fabs(pot[1] / pot[0] - 1) <= most);
    }
    bodies_free(&b);
}

/* Masses whose moments are beyond double are refused by build and refresh, and the tree stays. */
static void masses_beyond(void **state)
{
    (void)state;
    static const double MASSES[] = {1.7e308, 1e290, -1e290, 1e150};
    bodies b = plummer(100);
    sapporo_tree_options o = options();
    sapporo_tree *t = tree_of(&b, &o);
    struct tree_rows before = tree_rows_of(t, NULL, 100);
    for (int k = 0; k < 4; k++) {
        double mass[100], x[100][3];
        for (int i = 0; i < 100; i++) {
            mass[i] = MASSES[k];
            for (int c = 0; c < 3; c++) x[i][c] = b.x[i][c] * 1e30;
        }
        if (k == 3) /* first moments are within the range, second ones are not */
            for (int i = 0; i < 100; i++)
                for (int c = 0; c < 3; c++) x[i][c] = (i + c) % 2 ? -1e90 : 1e90;
        const sapporo_tree_particles p = {.size = sizeof p, .n = 100, .x = {x, 0}, .mass = {mass, 0}};
        assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(again ? sapporo_tree_refresh(t) : sapporo_tree_build(t), SAPPORO_ERR_NOT_FINITE);
            if (!strstr(sapporo_tree_last_error(t), "range of double")) fail_msg("%s", sapporo_tree_last_error(t));
            struct tree_rows after = tree_rows_of(t, NULL, 100);
            assert_true(same_doubles(before.acc[0], after.acc[0], 300) && same_doubles(before.pot, after.pot, 100));
            tree_rows_free(&after);
        }
    }
    tree_rows_free(&before);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/* Every walk and precision computes forces on all particles with errors of at most 2 % for 99 of 100. */
static void expect_right(sapporo_tree *t, const bodies *b, const char *what, int k)
{
    struct tree_rows exact = tree_exact(b, 0, 1), rows = tree_rows_of(t, NULL, b->n);
    double *error = tree_errors(&rows, &exact, 1);
    if (!(error[b->n * 99 / 100] <= 2e-2 && error[b->n - 1] <= 5e-2)) /* measured: 1.4e-2 and 2.2e-2 */
        fail_msg("%s, walk %d: errors %g and %g", what, k, error[b->n * 99 / 100], error[b->n - 1]);
    free(error);
    tree_rows_free(&rows);
    tree_rows_free(&exact);
}

static sapporo_tree_options walk_options(int k)
{
    sapporo_tree_options o = options();
    o.experiments = SAPPORO_EXPERIMENTS(0, k / 2 ? SAPPORO_WALK_STACKLESS : SAPPORO_WALK_GROUPS, 0);
    o.precision = k % 2 ? SAPPORO_DP : SAPPORO_SP;
    return o;
}

/* Particles that were far apart when the tree was built, and are close together at the refresh, attract each other. */
static void shrunken(void **state)
{
    (void)state;
    bodies far = plummer(300), near = plummer(300);
    for (int i = 0; i < far.n; i++)
        for (int c = 0; c < 3; c++) far.x[i][c] *= 1e25;
    for (int i = 0; i < near.n; i++) near.x[i][0] += 1000;
    for (int k = 0; k < 4; k++) {
        const sapporo_tree_options o = walk_options(k);
        sapporo_tree *t = tree_of(&far, &o);
        tree_set(t, &near);
        assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
        expect_right(t, &near, "shrunken", k);
        tree_set(t, &far); /* and back */
        assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
        expect_right(t, &far, "as built", k);
        sapporo_tree_destroy(t);
    }
    bodies_free(&far);
    bodies_free(&near);
}

/* Half of the particles lie in a clump of 1e-25 of the model's size. */
static void tiny_clump(void **state)
{
    (void)state;
    bodies b = plummer(300);
    for (int i = 0; i < b.n; i++)
        for (int c = 0; c < 3; c++) b.x[i][c] = i < b.n / 2 ? b.x[i][c] * 1e-25 : b.x[i][c] + 3 * (c + 1);
    for (int k = 0; k < 4; k++) {
        const sapporo_tree_options o = walk_options(k);
        sapporo_tree *t = tree_of(&b, &o);
        expect_right(t, &b, "clump", k);
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(extremes),        TREE_TEST(places_beyond),   TREE_TEST(forces_beyond),
                                       TREE_TEST(masses_beyond),   TREE_TEST(tiny_softening),  TREE_TEST(large_radii),
                                       TREE_TEST(overflow_beside), TREE_TEST(pair_at_a_point), TREE_TEST(shrunken),
                                       TREE_TEST(tiny_clump),      TREE_TEST(tiny_points),     TREE_TEST(spark)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
