/*
 * test_tree_lengths.c - trees whose particles have softening lengths, of splines and of Plummer's law, on every engine:
 * pairs and potentials against sums in long double of the formulas as the papers have them, errors of cells, active
 * particles, places, refreshes, single walks, and what is refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reference_spline.h"
#include "runs.h"
#include "sapporo_experiments.h"
#include "tree_cases.h"
#include "worst.h"

enum { N = 400, PLACES = 90, PLUMMER = SAPPORO_SOFTENING_PLUMMER, LARGER = SAPPORO_SOFTENING_SPLINE_LARGER };
enum { MEAN = SAPPORO_SOFTENING_SPLINE_MEAN, LAWS };

/* ---- the reference ---- */

struct want {
    real pot, acc[3], size, depth; /* size, depth: sums of the sizes of the terms */
};

/* What the tests compute: all that decides about a force, and the exact rows. */
struct problem_of_tree {
    bodies b;
    double h[N], eps2;
    int softening;
    struct want want[N];
};

/* Potential and acceleration over distance of a pair of unit mass at a distance; 0 of Plummer's at no distance. */
static void pair(const struct problem_of_tree *p, real r, double hi, double hj, real *pot, real *acc)
{
    if (p->softening == PLUMMER) {
        const real r2 = r * r + (real)p->eps2 + (real)hi * hi + (real)hj * hj;
        *pot = r2 > 0 ? -1 / sqrtl(r2) : 0;
        *acc = r2 > 0 ? 1 / (r2 * sqrtl(r2)) : 0;
        return;
    }
    reference_spline_pair(p->softening == MEAN, r, hi, hj, pot, acc);
}

/* The force at a place with length hi; own: the particle that does not count, or -1. */
static struct want solve(const struct problem_of_tree *p, const double *x, double hi, int own)
{
    const bodies *const b = &p->b;
    struct want w = {0};
    for (int j = 0; j < b->n; j++) {
        real d[3], r2 = 0, pot, acc;
        if (j == own) continue;
        for (int c = 0; c < 3; c++) d[c] = (real)b->x[j][c] - x[c], r2 += d[c] * d[c];
        const real r = sqrtl(r2);
        pair(p, r, hi, p->h[j], &pot, &acc);
        w.pot += b->mass[j] * pot;
        w.depth += fabsl(b->mass[j] * pot);
        w.size += fabsl(b->mass[j] * acc) * r;
        for (int c = 0; c < 3; c++) w.acc[c] += b->mass[j] * acc * d[c];
    }
    return w;
}

/* ---- cases ---- */

enum lengths { NONE, EQUAL, WIDE, MIXED, TINY, HUGE_ONES, LENGTHS };

static double length_of(enum lengths what, int i)
{
    static const double mixed[] = {0, 0.01, 0.3, 0.05, 1.5, 0.1, 0}, tiny[] = {1e-13, 0, 1e-9, 0.02, 1e-5};
    switch (what) {
    case EQUAL:
        return 0.15;
    case WIDE:
        return 2.5;
    case MIXED:
        return mixed[i % 7];
    case TINY:
        return tiny[i % 5];
    case HUGE_ONES:
        return i % 50 ? 0.03 * (i % 3) : 1e6;
    default:
        return 0;
    }
}

static const struct {
    const char *name;
    int input; /* a cluster_kind, or INPUT + a tree_input */
    enum lengths lengths;
} CASES[] = {{"clumps, lengths beyond cells", CLUSTER_CLUMPS, WIDE},
             {"clumps, mixed lengths", CLUSTER_CLUMPS, MIXED},
             {"cusp, equal lengths", CLUSTER_HERNQUIST, EQUAL},
             {"cusp, tiny lengths", CLUSTER_HERNQUIST, TINY},
             {"sphere, huge lengths", CLUSTER_PLUMMER, HUGE_ONES},
             {"sphere of points", CLUSTER_PLUMMER, NONE},
             {"one point", 100 + TREE_ONE_POINT, MIXED},
             {"grid", 100 + TREE_GRID, MIXED},
             {"signs", 100 + TREE_SIGNS, MIXED}};
enum { NCASES = sizeof CASES / sizeof CASES[0], INPUT = 100 };

/* The exact rows of each case, which all engines share. */
static struct want known[NCASES][LAWS][N];
static int is_known[NCASES][LAWS];

static struct problem_of_tree *problem_make(int k, int softening)
{
    struct problem_of_tree *const p = zeroed(1, sizeof *p);
    struct want *const rows = known[k][softening];
    p->b = CASES[k].input >= INPUT ? tree_input((enum tree_input)(CASES[k].input - INPUT), N)
                                   : tree_model((cluster_kind)CASES[k].input, N);
    p->softening = softening;
    for (int i = 0; i < N; i++) p->h[i] = length_of(CASES[k].lengths, i);
    for (int i = 0; i < N && !is_known[k][softening]; i++) rows[i] = solve(p, p->b.x[i], p->h[i], i);
    is_known[k][softening] = 1;
    memcpy(p->want, rows, sizeof p->want);
    return p;
}

static void problem_drop(struct problem_of_tree *p)
{
    bodies_free(&p->b);
    free(p);
}

static void give(sapporo_tree *t, const struct problem_of_tree *p)
{
    const sapporo_tree_particles all = {
        .size = sizeof all, .n = N, .x = {p->b.x, 0}, .mass = {p->b.mass, 0}, .h = {p->h, 0}};
    if (sapporo_tree_set(t, &all)) fail_msg("%s", sapporo_tree_last_error(t));
}

static sapporo_tree *plant(const struct problem_of_tree *p, sapporo_tree_options options)
{
    sapporo_tree *t;
    options.softening = (sapporo_softening)p->softening;
    if (sapporo_tree_create(&options, N, &t)) fail_msg("%s", sapporo_last_error(NULL));
    give(t, p);
    if (sapporo_tree_build(t)) fail_msg("%s", sapporo_tree_last_error(t));
    return t;
}

/* Engines that compute trees; one that refuses them fails the test. */
static int serves(const struct engine *e) { return e->precision != SAPPORO_DS && engine_usable(e); }

static void on_each(void (*test)(const struct engine *e)) { engines_on_each(engines, ENGINES, serves, test); }

/* Largest errors of a row, relative to the sums of the sizes of the terms. */
static double error_of(const struct want *w, const double *acc, double pot)
{
    double worst = w->depth > 0 ? (double)(fabsl(pot - w->pot) / w->depth) : fabs(pot);
    for (int c = 0; c < 3; c++)
        worst = worst_of(worst, w->size > 0 ? (double)(fabsl(acc[c] - w->acc[c]) / w->size) : fabs(acc[c]));
    return worst_of(worst, 0);
}

/* Of all rows, and of half of them: coordinates relative to the group limit close pairs in float. */
static double bound_of(const struct engine *e) { return e->precision == SAPPORO_DP ? 1e-14 : 1e-4; }
static double usual_of(const struct engine *e) { return e->precision == SAPPORO_DP ? 1e-14 : 1e-6; }

/* ---- pairs: no cell is accepted ---- */

static void check_pairs(const struct engine *e, int k, int softening, sapporo_tree_walk walk)
{
    struct problem_of_tree *const p = problem_make(k, softening);
    sapporo_tree_options o = tree_on(e);
    o.accuracy = 1e-9;
    o.experiments = SAPPORO_EXPERIMENTS(0, walk, 0);
    sapporo_tree *t = plant(p, o);
    struct tree_rows rows = tree_rows_of(t, NULL, N);
    int usual = 0;
    for (int i = 0; i < N; i++) {
        const double error = error_of(&p->want[i], rows.acc[i], rows.pot[i]);
        const double bound = walk == SAPPORO_WALK_STACKLESS ? 1e-14 : bound_of(e);
        usual += error <= usual_of(e);
        if (!(error <= bound))
            fail_msg("%s, %s, softening %d, walk %d: error %.1e of row %d", e->name, CASES[k].name, softening,
                     (int)walk, error, i);
    }
    if (usual < N / 2) fail_msg("%s, %s, softening %d: %d rows are exact", e->name, CASES[k].name, softening, usual);
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
    problem_drop(p);
}

static void pairs_on(const struct engine *e)
{
    for (int k = 0; k < NCASES; k++)
        for (int softening = 0; softening < LAWS; softening++) {
            check_pairs(e, k, softening, SAPPORO_WALK_GROUPS);
            if (k < 2) check_pairs(e, k, softening, SAPPORO_WALK_STACKLESS);
        }
}

RUNS(pairs, on_each(pairs_on))

/* ---- cells ---- */

/* Accepted cells: the bounds of test_tree.c; groups of 8 have larger errors than groups of 64.  A particle that walks
 * alone has no group's ball around it. */
static const double of_alone = 2.5e-2;
/* Forces within a Plummer length beyond the model grow with the distance, as errors do; a common length has the same:
 * measured 1.0e-2 in order 1, 5.0e-3 and 2.3e-4 in order 2. */
static const double of_smooth = 2e-2;
static const struct {
    double accuracy;
    int order;
    double most;
} BOUNDS[] = {{0.7, 1, 2e-2}, {0.7, 2, 4e-3}, {0.3, 2, 5e-4}};
enum { NBOUNDS = sizeof BOUNDS / sizeof BOUNDS[0] };

static void cells_on(const struct engine *e)
{
    for (int k = 0; k < 6; k++)
        for (int softening = 0; softening < LAWS; softening++) {
            if (softening == LARGER && k % 2) continue;
            const int is_smooth = softening == PLUMMER && CASES[k].lengths == WIDE;
            struct problem_of_tree *const p = problem_make(k, softening);
            for (int m = 0; m < NBOUNDS; m++)
                for (int alone = 0; alone <= (m == 1 ? 1 : 0); alone++) {
                    sapporo_tree_options o = tree_on(e);
                    o.accuracy = BOUNDS[m].accuracy;
                    o.order = BOUNDS[m].order;
                    o.leaf_size = o.group_size = m == 2 ? 8 : 0;
                    o.experiments = SAPPORO_EXPERIMENTS(0, alone ? SAPPORO_WALK_STACKLESS : 0, 0);
                    sapporo_tree *t = plant(p, o);
                    struct tree_rows rows = tree_rows_of(t, NULL, N);
                    double worst = 0;
                    for (int i = 0; i < N; i++)
                        worst = worst_of(worst, error_of(&p->want[i], rows.acc[i], rows.pot[i]));
                    if (!(worst <= (alone ? of_alone : is_smooth ? of_smooth : BOUNDS[m].most)))
                        fail_msg("%s, %s, softening %d, angle %g, order %d, walk %d: error %.1e", e->name,
                                 CASES[k].name, softening, BOUNDS[m].accuracy, BOUNDS[m].order, alone, worst);
                    tree_rows_free(&rows);
                    sapporo_tree_destroy(t);
                }
            problem_drop(p);
        }
}

RUNS(cells, on_each(cells_on))

/* Particles without lengths: the bits of a tree without softening. */
static void points_on(const struct engine *e)
{
    struct problem_of_tree *const p = problem_make(5, LARGER);
    sapporo_tree_options o = tree_on(e);
    sapporo_tree *t = plant(p, o), *bare = tree_of(&p->b, &o);
    struct tree_rows rows = tree_rows_of(t, NULL, N), of_bare = tree_rows_of(bare, NULL, N);
    for (int i = 0; i < N; i++) {
        if (e->backend == SAPPORO_BACKEND_CPU)
            assert_true(same_doubles(rows.acc[i], of_bare.acc[i], 3) && same_doubles(&rows.pot[i], &of_bare.pot[i], 1));
        assert_true(fabs(rows.pot[i] - of_bare.pot[i]) <= 1e-6 * fabs(of_bare.pot[i]));
    }
    tree_rows_free(&rows);
    tree_rows_free(&of_bare);
    sapporo_tree_destroy(t);
    sapporo_tree_destroy(bare);
    problem_drop(p);
}

RUNS(points, on_each(points_on))

/* ---- active particles, and every criterion ---- */

static void active_with(const struct engine *e, int softening)
{
    struct problem_of_tree *const p = problem_make(1, softening);
    int active[N];
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++) {
        sapporo_tree_options o = tree_on(e);
        o.mac = mac;
        sapporo_tree *t = plant(p, o);
        struct tree_rows all = tree_rows_of(t, NULL, N);
        for (int step = 2; step < 120; step *= 7) {
            int n = 0;
            for (int i = N - 1; i >= 0; i -= step) active[n++] = i;
            struct tree_rows some = tree_rows_of(t, active, n);
            for (int k = 0; k < n; k++) {
                const double error = error_of(&p->want[active[k]], some.acc[k], some.pot[k]);
                /* measured: 3.5e-4 to 8.3e-4; on accelerators, whose groups are wider, up to 5.3e-3 */
                if (!(error <= (e->backend == SAPPORO_BACKEND_CPU ? 4e-3 : 1.5e-2)))
                    fail_msg("%s, criterion %d, every %d: error %.1e", e->name, (int)mac, step, error);
                if (e->backend == SAPPORO_BACKEND_CPU && mac != SAPPORO_MAC_ACCELERATION)
                    assert_true(same_doubles(some.acc[k], all.acc[active[k]], 3));
            }
            tree_rows_free(&some);
        }
        tree_rows_free(&all);
        sapporo_tree_destroy(t);
    }
    problem_drop(p);
}

static void active_on(const struct engine *e)
{
    active_with(e, PLUMMER);
    active_with(e, MEAN);
}

RUNS(active_particles, on_each(active_on))

/* ---- places ---- */

static void places_on(const struct engine *e)
{
    for (int softening = 0; softening < LAWS; softening++) {
        struct problem_of_tree *const p = problem_make(1, softening);
        double at[PLACES][3], h[PLACES], acc[PLACES][3], pot[PLACES];
        const double usual = softening == PLUMMER ? 0 : 0.2;
        sapporo_tree_options o = tree_on(e);
        o.accuracy = 1e-9;
        o.eps2 = p->eps2 = 0.04;
        sapporo_tree *t = plant(p, o);
        for (int i = 0; i < PLACES; i++) {
            h[i] = i % 9 == 0 ? 1e-12 : length_of(i % 2 ? MIXED : WIDE, i);
            for (int c = 0; c < 3; c++) at[i][c] = p->b.x[i * 3][c] + (i % 3 ? 0.01 * c : 0); /* some at particles */
        }
        for (int given = 0; given < 2; given++) {
            const sapporo_tree_request r = {.size = sizeof r, .ni = PLACES, .x = {at, 0}, .h = {given ? h : NULL, 0}};
            assert_int_equal(sapporo_tree_force(t, &r, acc, pot), SAPPORO_OK);
            for (int i = 0; i < PLACES; i++) {
                const struct want w = solve(p, at[i], given ? h[i] : usual, -1);
                const double error = error_of(&w, acc[i], pot[i]);
                if (!(error <= bound_of(e))) fail_msg("%s, place %d, h %g: error %.1e", e->name, i, h[i], error);
            }
        }
        h[3] = -1, h[5] = NAN, h[7] = INFINITY;
        const sapporo_tree_request r = {.size = sizeof r, .ni = PLACES, .x = {at, 0}, .h = {h, 0}};
        assert_int_equal(sapporo_tree_force(t, &r, acc, pot), SAPPORO_PARTIAL);
        for (int i = 0; i < PLACES; i++)
            assert_int_equal(isnan(pot[i]) && isnan(acc[i][2]), i == 3 || i == 5 || i == 7);
        sapporo_tree_destroy(t);
        problem_drop(p);
    }
}

RUNS(places, on_each(places_on))

/* The largest error of the forces at places, one call for each if `alone`. */
static double worst_of_places(sapporo_tree *t, const struct problem_of_tree *p, const double (*at)[3], const double *h,
                              int n, int alone)
{
    double worst = 0;
    for (int from = 0; from < n; from += alone ? 1 : n) {
        double acc[PLACES][3], pot[PLACES];
        const int rows = alone ? 1 : n;
        const sapporo_tree_request r = {.size = sizeof r, .ni = rows, .x = {at + from, 0}, .h = {h + from, 0}};
        if (sapporo_tree_force(t, &r, acc, pot)) fail_msg("%s", sapporo_tree_last_error(t));
        for (int i = 0; i < rows; i++) {
            const struct want w = solve(p, at[from + i], h[from + i], -1);
            worst = worst_of(worst, error_of(&w, acc[i], pot[i]));
        }
    }
    return worst;
}

/*
 * Places whose lengths are much larger than those of the particles: of a cell that reaches into such a length, some
 * particles are softened and others are not, so it is opened.
 */
static void long_places_on(const struct engine *e)
{
    for (int softening = 0; softening < LAWS; softening++) {
        struct problem_of_tree *const p = problem_make(3, softening);
        double at[PLACES][3], h[PLACES];
        sapporo_tree_options o = tree_on(e);
        o.accuracy = 0.7;
        sapporo_tree *t = plant(p, o);
        for (int i = 0; i < PLACES; i++) {
            h[i] = 0.25 * (1 + i % 6);
            for (int c = 0; c < 3; c++) at[i][c] = p->b.x[i * 4][c] * (1 + 0.25 * (i % 5));
        }
        for (int alone = 0; alone < 2; alone++) {
            const double worst = worst_of_places(t, p, (const double(*)[3])at, h, PLACES, alone);
            /* measured: 3.0e-3; 7.3e-3 if cells are taken for a quarter as large */
            if (!(worst < 4.5e-3)) fail_msg("%s, softening %d, alone %d: error %.2e", e->name, softening, alone, worst);
        }
        sapporo_tree_destroy(t);
        problem_drop(p);
    }
}

RUNS(long_places, on_each(long_places_on))

/* Places at 1e-14 to 1e-30 of a particle, with lengths whose inverse cubes are about the end of the range of float. */
static void short_lengths_on(const struct engine *e)
{
    static const double near[] = {0, 1e-30, 1e-20, 1e-14, 1e-13, 5e-13},
                        lengths[] = {1e-16, 1e-14, 1e-13, 3e-13, 8e-13, 2e-12};
    for (int softening = 0; softening < LAWS; softening++) {
        struct problem_of_tree *const p = problem_make(5, softening);
        double at[36][3], h[36];
        sapporo_tree_options o = tree_on(e);
        o.accuracy = 1e-9;
        for (int c = 0; c < 3; c++) p->b.x[17][c] = 0; /* where such differences have digits */
        for (int k = 0; k < 6; k++) {
            p->h[17] = lengths[k];
            sapporo_tree *t = plant(p, o);
            for (int i = 0; i < 36; i++) {
                h[i] = lengths[i / 6];
                at[i][0] = near[i % 6], at[i][1] = -0.5 * near[i % 6], at[i][2] = 0;
            }
            for (int alone = 0; alone < 2; alone++) {
                const double worst = worst_of_places(t, p, (const double(*)[3])at, h, 36, alone);
                const double most = e->precision == SAPPORO_DP ? 3e-15 : 1e-6; /* measured on CPUs: 5e-16 in both */
                if (!(worst < most)) fail_msg("%s, length %g: error %.1e", e->name, lengths[k], worst);
            }
            sapporo_tree_destroy(t);
        }
        problem_drop(p);
    }
}

RUNS(short_lengths, on_each(short_lengths_on))

/* One length so large that all other distances are below the range of float in its units. */
static void longest_on(const struct engine *e)
{
    static const double lengths[] = {0x1p40, 0x1p60, 0x1p100, 0x1p140, 0x1p180, 0x1p254};
    for (int k = 0; k < 12; k++) {
        struct problem_of_tree *const p = problem_make(5, k < 6 ? MEAN : PLUMMER);
        double worst = 0;
        p->h[17] = lengths[k % 6];
        for (int i = 0; i < N; i++) p->want[i] = solve(p, p->b.x[i], p->h[i], i);
        sapporo_tree *t = plant(p, tree_on(e));
        struct tree_rows rows = tree_rows_of(t, NULL, N);
        for (int i = 0; i < N; i++) worst = worst_of(worst, error_of(&p->want[i], rows.acc[i], rows.pot[i]));
        if (!(worst < 3e-3)) fail_msg("%s, length %g: error %.1e", e->name, lengths[k % 6], worst);
        tree_rows_free(&rows);
        sapporo_tree_destroy(t);
        problem_drop(p);
    }
}

RUNS(longest, on_each(longest_on))

/* ---- refresh ---- */

static void check_exact(const struct engine *e, sapporo_tree *t, const struct problem_of_tree *p, const char *what)
{
    struct tree_rows rows = tree_rows_of(t, NULL, N);
    for (int i = 0; i < N; i += 3) {
        const struct want w = solve(p, p->b.x[i], p->h[i], i);
        const double error = error_of(&w, rows.acc[i], rows.pot[i]);
        const double most = p->softening == PLUMMER ? 1.5e-3 : 4e-4; /* measured: 4.7e-4, 6e-5 */
        if (!(error <= most)) fail_msg("%s, %s: error %.1e of row %d", e->name, what, error, i);
    }
    tree_rows_free(&rows);
}

/* Positions alone, lengths alone, and the default length. */
static void refresh_with(const struct engine *e, int softening)
{
    struct problem_of_tree *const p = problem_make(2, softening);
    sapporo_tree_options o = tree_on(e);
    o.eps2 = p->eps2 = 0.09;
    sapporo_tree *t = plant(p, o);
    sapporo_tree_particles moved = {.size = sizeof moved, .n = N, .x = {p->b.x, 0}};
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) p->b.x[i][c] *= 0.8 + 0.1 * c;
    assert_int_equal(sapporo_tree_set(t, &moved), SAPPORO_OK);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    check_exact(e, t, p, "refreshed after a move");
    for (int i = 0; i < N; i++) p->h[i] = length_of(MIXED, i + 3);
    moved.h = (sapporo_column){p->h, 0};
    assert_int_equal(sapporo_tree_set(t, &moved), SAPPORO_OK);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    check_exact(e, t, p, "refreshed with other lengths");
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    check_exact(e, t, p, "built again");
    sapporo_tree_destroy(t);
    o.softening = (sapporo_softening)softening;
    t = tree_of(&p->b, &o);
    for (int i = 0; i < N; i++) p->h[i] = softening == PLUMMER ? 0 : 0.3;
    check_exact(e, t, p, "the default length");
    sapporo_tree_destroy(t);
    problem_drop(p);
}

static void refresh_on(const struct engine *e)
{
    refresh_with(e, PLUMMER);
    refresh_with(e, LARGER);
}

RUNS(refresh, on_each(refresh_on))

/* A tree without lengths keeps its bits until a refresh or a build after the first lengths. */
static void first_lengths_on(const struct engine *e)
{
    struct problem_of_tree *const p = problem_make(2, PLUMMER);
    const sapporo_tree_options o = tree_on(e);
    for (int builds = 0; builds < 2; builds++) {
        sapporo_tree *t = tree_of(&p->b, &o);
        struct tree_rows before = tree_rows_of(t, NULL, N);
        give(t, p);
        struct tree_rows after = tree_rows_of(t, NULL, N);
        for (int i = 0; i < N; i++) assert_true(same_doubles(before.acc[i], after.acc[i], 3));
        assert_int_equal(builds ? sapporo_tree_build(t) : sapporo_tree_refresh(t), SAPPORO_OK);
        check_exact(e, t, p, builds ? "built with first lengths" : "refreshed with first lengths");
        tree_rows_free(&before);
        tree_rows_free(&after);
        sapporo_tree_destroy(t);
    }
    problem_drop(p);
}

RUNS(first_lengths, on_each(first_lengths_on))

/* ---- what is refused ---- */

/* A set that must fail: the tree's forces stay, to the bit. */
static void refuse_set(sapporo_tree *t, const sapporo_tree_particles *p, int status)
{
    struct tree_rows before = tree_rows_of(t, NULL, N);
    assert_int_equal(sapporo_tree_set(t, p), status);
    assert_true(strlen(sapporo_tree_last_error(t)) > 0);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    struct tree_rows after = tree_rows_of(t, NULL, N);
    for (int i = 0; i < N; i++) assert_true(same_doubles(before.acc[i], after.acc[i], 3));
    tree_rows_free(&before);
    tree_rows_free(&after);
}

static void refuse_force(sapporo_tree *t, const sapporo_tree_request *r)
{
    double acc[3] = {1, 1, 1}, pot = 1;
    assert_int_equal(sapporo_tree_force(t, r, &acc, &pot), SAPPORO_ERR_ARGUMENT);
    assert_true(isnan(acc[0]) && isnan(acc[2]) && isnan(pot));
}

static void refused_on(const struct engine *e)
{
    struct problem_of_tree *const p = problem_make(1, LARGER);
    const double x[3] = {0}, bad[] = {-0.5, NAN, INFINITY, 1e101};
    sapporo_tree_options o = tree_on(e);
    sapporo_tree *t = plant(p, o), *plain = tree_of(&p->b, &o), *none = NULL;
    sapporo_tree_particles all = {.size = sizeof all, .n = N, .x = {p->b.x, 0}, .mass = {p->b.mass, 0}, .h = {p->h, 0}};
    for (int k = 0; k < 4; k++) {
        const double was = p->h[17];
        p->h[17] = bad[k];
        refuse_set(t, &all, SAPPORO_ERR_NOT_FINITE);
        assert_non_null(strstr(sapporo_tree_last_error(t), "h of particle 17"));
        p->h[17] = was;
    }
    all.h = (sapporo_column){NULL, 0};
    all.n = N - 1;
    refuse_set(t, &all, SAPPORO_ERR_ARGUMENT);
    refuse_force(plain,
                 &(sapporo_tree_request){.size = sizeof(sapporo_tree_request), .ni = 1, .x = {x, 0}, .h = {x, 0}});
    refuse_force(t, &(sapporo_tree_request){.size = sizeof(sapporo_tree_request), .ni = 1, .h = {x, 0}});
    o.softening = (sapporo_softening)3;
    assert_int_equal(sapporo_tree_create(&o, N, &none), SAPPORO_ERR_ARGUMENT);
    sapporo_tree_destroy(t);
    sapporo_tree_destroy(plain);
    problem_drop(p);
}

RUNS(refused, on_each(refused_on))

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(pairs),   TREE_TEST(cells),       TREE_TEST(points),        TREE_TEST(active_particles),
        TREE_TEST(places),  TREE_TEST(long_places), TREE_TEST(short_lengths), TREE_TEST(refresh),
        TREE_TEST(refused), TREE_TEST(longest),     TREE_TEST(first_lengths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
