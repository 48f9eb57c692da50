/* test_tree.c - trees: their structure, and their forces against direct sums, on every engine that has them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sanitized.h"
#include "sapporo_experiments.h"
#include "tree_cases.h"
#include "worst.h"

enum { N = 2000, STRIDE = 7, SEEDS = 2 };

static const cluster_kind MODELS[] = {CLUSTER_UNIFORM, CLUSTER_PLUMMER, CLUSTER_HERNQUIST, CLUSTER_NFW, CLUSTER_CLUMPS};
enum { NMODELS = sizeof MODELS / sizeof MODELS[0] };

/* The models whose errors docs/tree.md has. */
static const struct trial {
    cluster_kind kind;
    const char *name;
} TRIALS[] = {{CLUSTER_UNIFORM, "uniform"},  {CLUSTER_PLUMMER, "plummer"},        {CLUSTER_HERNQUIST, "hernquist"},
              {CLUSTER_NFW, "nfw"},          {CLUSTER_CLUMPS, "clumps"},          {CLUSTER_COLD_DISC, "cold-disc"},
              {CLUSTER_TWO, "two-clusters"}, {CLUSTER_MASS_RATIOS, "mass-ratios"}};
enum { NTRIALS = sizeof TRIALS / sizeof TRIALS[0] };

static void structure(void **state)
{
    (void)state;
    for (int m = 0; m < NMODELS; m++) {
        bodies b = tree_model(MODELS[m], N);
        for (int leaf = 1; leaf <= 64; leaf *= 8)
            for (sapporo_tree_curve curve = SAPPORO_CURVE_HILBERT; curve <= SAPPORO_CURVE_MORTON; curve++) {
                sapporo_tree_options o = tree_on(engine_any());
                o.precision = SAPPORO_SP;
                o.leaf_size = leaf;
                o.experiments = SAPPORO_EXPERIMENTS(0, 0, curve);
                sapporo_tree *t = tree_of(&b, &o);
                tree_check_structure(t, &b, leaf);
                sapporo_tree_destroy(t);
            }
        bodies_free(&b);
    }
}

/* ---- errors --------------------------------------------------------------------------- */

/*
 * What 50 %, 99 % and 99.9 % of the particles and all of them are below, and the net force (docs/tree.md), for octrees
 * and for kd-trees: the largest of 200 seeds of each of the eight models, all 2,000 particles compared, on AVX-512, as
 * `docs/figures/tree_errors.py --bounds` prints them.  The factors leave room for other seeds and engines: of 35,200
 * cases of 220 further seeds two exceed 1.25 times a median, one each 1.5 times a 99 % and 2 times a 99.9 % error, none
 * 2 times a largest error, and two 3 times a net force.  No criterion bounds the largest error of the first six rows,
 * since the pulls on a particle may cancel; that number finds wrong forces.
 */
static const double MOST_OVER_MEASURED[] = {1.25, 1.5, 2, 2, 3};
enum { MEDIAN, AT99, AT999, LARGEST, NET, MEASURED };
static const struct bound {
    sapporo_tree_mac mac;
    double accuracy;
    int order;
    double octree[MEASURED], kdtree[MEASURED];
} BOUNDS[] = {
    {SAPPORO_MAC_OPENING, 0.7, 1, {3.0e-3, 3.5e-2, 1.0e-1, 9.6e-1, 1.1e-3}, {2.7e-3, 3.2e-2, 8.1e-2, 2.4e-1, 8.3e-4}},
    {SAPPORO_MAC_OPENING, 0.7, 2, {1.7e-4, 4.3e-3, 2.0e-2, 1.4e-1, 2.0e-4}, {2.7e-4, 5.5e-3, 1.8e-2, 7.0e-2, 2.4e-4}},
    {SAPPORO_MAC_OPENING, 0.3, 2, {1.0e-5, 2.4e-4, 7.9e-4, 4.3e-3, 7.0e-6}, {1.6e-5, 3.1e-4, 1.1e-3, 5.8e-3, 8.1e-6}},
    {SAPPORO_MAC_MULTIPOLE, 0.1, 1, {2.9e-3, 3.6e-2, 1.0e-1, 1.2, 7.1e-4}, {2.8e-3, 3.2e-2, 9.0e-2, 3.3e-1, 1.1e-3}},
    {SAPPORO_MAC_MULTIPOLE, 0.1, 2, {2.6e-4, 5.5e-3, 2.5e-2, 1.4e-1, 1.6e-4}, {4.9e-4, 1.1e-2, 5.1e-2, 9.9e-2, 2.5e-4}},
    {SAPPORO_MAC_MULTIPOLE,
     0.001,
     2,
     {2.9e-5, 6.2e-4, 2.6e-3, 7.1e-3, 2.1e-5},
     {6.3e-5, 1.1e-3, 3.7e-3, 1.1e-2, 3.3e-5}},
    {SAPPORO_MAC_ACCELERATION,
     0.01,
     1,
     {1.2e-3, 6.3e-3, 1.1e-2, 2.3e-2, 7.2e-4},
     {1.1e-3, 6.4e-3, 1.4e-2, 2.1e-2, 8.2e-4}},
    {SAPPORO_MAC_ACCELERATION,
     0.01,
     2,
     {1.6e-4, 1.2e-3, 2.4e-3, 6.6e-3, 1.9e-4},
     {2.8e-4, 1.3e-3, 2.6e-3, 8.8e-3, 2.1e-4}},
    {SAPPORO_MAC_ACCELERATION,
     0.001,
     2,
     {3.0e-5, 2.7e-4, 6.7e-4, 7.0e-4, 3.4e-5},
     {4.3e-5, 2.3e-4, 7.2e-4, 1.8e-3, 5.5e-5}},
    {SAPPORO_MAC_ACCELERATION,
     0.0001,
     2,
     {5.4e-6, 3.7e-5, 8.9e-5, 1.4e-4, 6.1e-6},
     {9.7e-6, 4.3e-5, 7.4e-5, 1.5e-4, 9.5e-6}}};
enum { NBOUNDS = sizeof BOUNDS / sizeof BOUNDS[0] };

/* What 99 % of the potentials and all of them are below, of octrees and of kd-trees: the largest of the cases below. */
static const double POTENTIALS[NBOUNDS][2][2] = {
    {{4.8e-3, 7.5e-3}, {3.0e-3, 4.7e-3}}, {{3.0e-4, 5.2e-4}, {2.4e-4, 5.4e-4}}, {{1.7e-5, 4.1e-5}, {1.5e-5, 2.3e-5}},
    {{3.4e-3, 7.7e-3}, {3.9e-3, 5.2e-3}}, {{2.3e-4, 7.3e-4}, {2.9e-4, 6.4e-4}}, {{2.3e-5, 4.0e-5}, {6.5e-5, 1.7e-4}},
    {{2.4e-3, 4.1e-3}, {2.1e-3, 3.3e-3}}, {{2.9e-4, 4.5e-4}, {7.7e-4, 1.2e-3}}, {{2.3e-4, 4.0e-4}, {2.1e-4, 4.6e-4}},
    {{1.4e-5, 2.3e-5}, {7.9e-5, 1.2e-4}}};

/* The size of the sum of all forces over the sum of their sizes. */
static double net_force(const bodies *b, const struct tree_rows *rows)
{
    double net[3] = {0}, sizes = 0;
    for (int i = 0; i < b->n; i++) {
        double a2 = 0;
        for (int c = 0; c < 3; c++) {
            net[c] += b->mass[i] * rows->acc[i][c];
            a2 += rows->acc[i][c] * rows->acc[i][c];
        }
        sizes += b->mass[i] * sqrt(a2);
    }
    return sqrt(net[0] * net[0] + net[1] * net[1] + net[2] * net[2]) / sizes;
}

static void check_bound(const struct engine *e, const bodies *b, const char *model, const struct bound *bound,
                        const struct tree_rows *exact)
{
    sapporo_tree_options o = tree_on(e);
    o.mac = bound->mac;
    o.accuracy = bound->accuracy;
    o.order = bound->order;
    sapporo_tree *t = tree_of(b, &o);
    struct tree_rows rows = tree_rows_of(t, NULL, b->n);
    double *error = tree_errors(&rows, exact, 1);
    const double found[MEASURED] = {error[b->n / 2], error[b->n * 99 / 100], error[b->n * 999 / 1000], error[b->n - 1],
                                    net_force(b, &rows)};
    const double *most = tree_kind == SAPPORO_TREE_KDTREE ? bound->kdtree : bound->octree,
                 *of_pot = POTENTIALS[bound - BOUNDS][tree_kind == SAPPORO_TREE_KDTREE];
    for (int k = 0; k < MEASURED; k++)
        if (!(found[k] <= MOST_OVER_MEASURED[k] * most[k]))
            fail_msg("%s, %s, criterion %d, accuracy %g, order %d: number %d is %g, more than %g times %g", e->name,
                     model, (int)bound->mac, bound->accuracy, bound->order, k, found[k], MOST_OVER_MEASURED[k],
                     most[k]);
    double *pot = tree_pot_errors(&rows, exact, 1);
    tree_below("potentials of 99 %", pot[b->n * 99 / 100], 2 * of_pot[0]);
    tree_below("largest error of potentials", pot[b->n - 1], 2 * of_pot[1]);
    free(pot);
    free(error);
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
}

/* Of both seeds of a model each engine computes one: all paths of an engine have the same kernels. */
static void errors(void **state)
{
    (void)state;
    const int seeds = SANITIZED && test_sparing() ? 1 : SEEDS; /* memory is used in the same way */
    int tried = 0;
    for (int m = 0; m < NTRIALS; m++)
        for (int seed = 1; seed <= seeds; seed++) {
            bodies b = tree_model_of(TRIALS[m].kind, N, seed);
            struct tree_rows exact = tree_exact(&b, 0, 1);
            for (int e = 0; e < ENGINES; e++) {
                if ((m + e + seed) % 2 || !tree_has_engine(&engines[e])) continue;
                for (int k = 0; k < NBOUNDS; k++) check_bound(&engines[e], &b, TRIALS[m].name, &BOUNDS[k], &exact);
                tried++;
            }
            tree_rows_free(&exact);
            bodies_free(&b);
        }
    if (!tried) skip();
}

/* A criterion that lets nothing through sums directly: what is left are the errors of pair terms. */
static void direct(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_PLUMMER, 700);
    for (int e = 0; e < ENGINES; e++) {
        if (!tree_has_engine(&engines[e])) continue;
        for (int soft = 0; soft < 2; soft++) {
            const double eps2 = soft * 1e-3;
            struct tree_rows exact = tree_exact(&b, eps2, 1);
            sapporo_tree_options o = tree_on(&engines[e]);
            o.accuracy = 1e-9;
            o.eps2 = eps2;
            sapporo_tree *t = tree_of(&b, &o);
            struct tree_rows rows = tree_rows_of(t, NULL, b.n);
            double *error = tree_errors(&rows, &exact, 1);
            const int dp = o.precision == SAPPORO_DP;
            double *pot = tree_pot_errors(&rows, &exact, 1);
            /* measured on CPUs: 1.9e-16 and 2.5e-15, 5.7e-16; in sp 1.0e-7 and 4.4e-6, 2.8e-7 */
            tree_below("median of direct sums", error[b.n / 2], dp ? 1e-15 : 6e-7);
            tree_below("largest of direct sums", error[b.n - 1], dp ? 1.5e-14 : 3e-5);
            tree_below("potential of direct sums", pot[b.n - 1], dp ? 4e-15 : 2e-6);
            free(pot);
            free(error);
            tree_rows_free(&rows);
            tree_rows_free(&exact);
            sapporo_tree_destroy(t);
        }
    }
    bodies_free(&b);
}

/* ---- the same from other ways --------------------------------------------------------------- */

static void same_rows(const struct tree_rows *a, const struct tree_rows *b)
{
    assert_int_equal(a->n, b->n);
    assert_true(same_doubles(a->acc[0], b->acc[0], 3 * a->n) && same_doubles(a->pot, b->pot, a->n));
}

/* Rows of a list are those of the same list backwards; on the CPU engine also those of all. */
static void same_in_lists(sapporo_tree *t, const struct tree_rows *all)
{
    enum { SOME = 211 };
    int active[SOME], backwards[SOME];
    for (int k = 0; k < SOME; k++) active[k] = backwards[SOME - 1 - k] = (k * 1013 + 17) % all->n;
    struct tree_rows some = tree_rows_of(t, active, SOME), again = tree_rows_of(t, backwards, SOME);
    const int cpu = sapporo_tree_get_backend(t) == SAPPORO_BACKEND_CPU;
    for (int k = 0; k < SOME; k++) {
        assert_true(same_doubles(some.acc[k], again.acc[SOME - 1 - k], 3) &&
                    same_doubles(&some.pot[k], &again.pot[SOME - 1 - k], 1));
        assert_true(!cpu || (same_doubles(some.acc[k], all->acc[active[k]], 3) &&
                             same_doubles(&some.pot[k], &all->pot[active[k]], 1)));
    }
    tree_rows_free(&some);
    tree_rows_free(&again);
}

/* The bits do not depend on threads nor on the order of lists; on the CPU engine nor on who else is active. */
static void bits(void **state)
{
    (void)state;
    enum { MANY = 40000 }; /* so many that several threads build, too */
    bodies b = tree_model(CLUSTER_HERNQUIST, MANY);
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_MULTIPOLE; mac++) {
        sapporo_tree_options o = tree_on(engine_any());
        o.precision = SAPPORO_SP;
        o.mac = mac;
        o.accuracy = 1;
        o.threads = 1;
        sapporo_tree *one = tree_of(&b, &o);
        o.threads = 5;
        sapporo_tree *five = tree_of(&b, &o);
        struct tree_rows a = tree_rows_of(one, NULL, MANY), c = tree_rows_of(five, NULL, MANY);
        same_rows(&a, &c);
        same_in_lists(five, &a);
        tree_rows_free(&a);
        tree_rows_free(&c);
        sapporo_tree_destroy(one);
        sapporo_tree_destroy(five);
    }
    bodies_free(&b);
}

/* The walk of each particle alone lets other cells through, but errs no more than the bound of the criterion. */
static void stackless(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    struct tree_rows exact = tree_exact(&b, 1e-4, STRIDE);
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++) {
        sapporo_tree_options o = tree_on(engine_any());
        o.precision = SAPPORO_SP;
        o.mac = mac;
        o.eps2 = 1e-4;
        o.experiments = SAPPORO_EXPERIMENTS(0, SAPPORO_WALK_STACKLESS, 0);
        sapporo_tree *t = tree_of(&b, &o);
        struct tree_rows rows = tree_rows_of(t, NULL, N);
        double *error = tree_errors(&rows, &exact, STRIDE);
        tree_below("particles alone", error[exact.n * 99 / 100], 3e-2);
        free(error);
        tree_rows_free(&rows);
        sapporo_tree_destroy(t);
        o.accuracy = 1e-12; /* nothing is let through: both walks are direct sums */
        t = tree_of(&b, &o);
        rows = tree_rows_of(t, NULL, N);
        error = tree_errors(&rows, &exact, STRIDE);
        tree_below("particles alone, no cells", error[exact.n - 1], 4e-14); /* measured: 4.7e-15 */
        free(error);
        tree_rows_free(&rows);
        sapporo_tree_destroy(t);
    }
    tree_rows_free(&exact);
    bodies_free(&b);
}

/* Particles that moved a little: the old cells with new moments are about as good as new ones. */
static void refreshed(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_tree_options o = tree_on(engine_any());
    o.precision = SAPPORO_SP;
    o.eps2 = 1e-4;
    sapporo_tree *t = tree_of(&b, &o);
    struct tree_rows same = tree_rows_of(t, NULL, N);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    struct tree_rows again = tree_rows_of(t, NULL, N);
    same_rows(&same, &again);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) b.x[i][c] += 0.02 * b.v[i][c];
    tree_set(t, &b);
    struct tree_rows old = tree_rows_of(t, NULL, N); /* set alone changes nothing */
    same_rows(&same, &old);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    struct tree_rows rows = tree_rows_of(t, NULL, N), exact = tree_exact(&b, o.eps2, STRIDE);
    double *error = tree_errors(&rows, &exact, STRIDE);
    tree_below("refreshed", error[exact.n * 99 / 100], 1e-2);
    free(error);
    tree_rows_free(&same);
    tree_rows_free(&again);
    tree_rows_free(&old);
    tree_rows_free(&rows);
    tree_rows_free(&exact);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/*
 * A tree is refreshed until a force costs more than a factor allows, in units of the cheapest one since its build; then
 * it is built.
 */
static void refreshed_or_built(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_tree_options o = tree_on(engine_any());
    o.eps2 = 1e-4;
    sapporo_tree *t;
    sapporo_tree_statistics s = {.size = sizeof s};
    int built = 7, builds = 0, after = 0;
    double best = 0;
    assert_int_equal(sapporo_tree_refresh_or_build(NULL, 0, &built), SAPPORO_ERR_CLOSED);
    assert_int_equal(built, 0);
    assert_int_equal(sapporo_tree_create(&o, N, &t), SAPPORO_OK);
    static const double bad[] = {NAN, -1, 0.99};
    for (int k = 0; k < 3; k++)
        assert_int_equal(sapporo_tree_refresh_or_build(t, bad[k], &built), SAPPORO_ERR_ARGUMENT);
    for (int k = 0; k < 24; k++) {
        tree_set(t, &b);
        const double before = (double)(s.particle_particle + s.particle_cell) / N;
        assert_int_equal(sapporo_tree_refresh_or_build(t, 1.1, &built), SAPPORO_OK);
        if (k == 0 || before > 1.1 * best) assert_int_equal(built, 1); /* the first call finds no tree */
        struct tree_rows rows = tree_rows_of(t, NULL, N);
        assert_int_equal(sapporo_tree_get_statistics(t, &s), SAPPORO_OK);
        const double cost = (double)(s.particle_particle + s.particle_cell) / N;
        assert_true(s.first_interactions > 0);
        if (built) assert_true(s.first_interactions == cost);
        best = built || cost < best ? cost : best;
        builds += built;
        after += built && k > 0;
        tree_rows_free(&rows);
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++) b.x[i][c] += 0.03 * b.v[i][c];
    }
    assert_true(after > 0 && builds < 16); /* some of each */
    tree_set(t, &b);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_refresh_or_build(t, 0, NULL), SAPPORO_OK); /* no force since the build */
    b.n--;
    tree_set(t, &b);
    assert_int_equal(sapporo_tree_refresh_or_build(t, INFINITY, &built), SAPPORO_OK); /* of other particles */
    assert_int_equal(built, 1);
    b.n++;
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/* Places feel all particles: at the places of particles that is their own force, and -m/eps more potential. */
static void places(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_HERNQUIST, N);
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++) {
        sapporo_tree_options o = tree_on(engine_any());
        o.precision = SAPPORO_DP;
        o.mac = mac;
        o.eps2 = 1e-4;
        sapporo_tree *t = tree_of(&b, &o);
        struct tree_rows own = tree_rows_of(t, NULL, N), at = tree_rows_of(t, NULL, N);
        sapporo_tree_request request = {.size = sizeof request, .ni = N, .x = {b.x, 0}};
        assert_int_equal(sapporo_tree_force(t, &request, at.acc, at.pot), SAPPORO_OK);
        double pot = 0, acc = 0;
        for (int i = 0; i < N; i++) {
            pot = worst_of(pot, fabs((at.pot[i] + b.mass[i] / 1e-2) / own.pot[i] - 1));
            double d2 = 0, a2 = 0;
            for (int c = 0; c < 3; c++) {
                d2 += pow(at.acc[i][c] - own.acc[i][c], 2);
                a2 += pow(own.acc[i][c], 2);
            }
            acc = worst_of(acc, sqrt(d2 / a2));
        }
        tree_below("potential at places", pot, 1e-3);
        tree_below("acceleration at places", acc, 1.5e-2); /* measured: 3.2e-4 and 2.4e-3 */
        tree_rows_free(&own);
        tree_rows_free(&at);
        sapporo_tree_destroy(t);
    }
    bodies_free(&b);
}

static void neighbours(void **state)
{
    (void)state;
    enum { PLACES = 50, ROOM = 40000 };
    bodies b = tree_model(CLUSTER_CLUMPS, N);
    sapporo_tree_options o = tree_on(engine_any());
    o.precision = SAPPORO_SP;
    sapporo_tree *t = tree_of(&b, &o);
    double h[PLACES];
    long long first[PLACES + 1], seen = 0;
    int *list = zeroed(ROOM, sizeof *list);
    for (int i = 0; i < PLACES; i++) h[i] = 0.01 * i;
    const sapporo_column x = {b.x, 40 * sizeof *b.x}, radius = {h, 0};
    assert_int_equal(sapporo_tree_neighbours(t, PLACES, x, radius, first, ROOM, list), SAPPORO_OK);
    for (int i = 0; i < PLACES; i++) {
        for (int j = 0; j < N; j++) {
            double r2 = 0;
            for (int c = 0; c < 3; c++) r2 += (b.x[j][c] - b.x[40 * i][c]) * (b.x[j][c] - b.x[40 * i][c]);
            if (r2 < h[i] * h[i]) assert_int_equal(list[seen++], j);
        }
        assert_true(first[i + 1] == seen);
    }
    assert_true(seen > 5 * PLACES);
    int part[10] = {0};
    assert_int_equal(sapporo_tree_neighbours(t, PLACES, x, radius, first, 10, part), SAPPORO_TRUNCATED);
    assert_true(first[PLACES] == seen && memcmp(part, list, sizeof part) == 0);
    free(list);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

/* What is told of a force: nobody is missing. */
static void statistics(void **state)
{
    (void)state;
    bodies b = tree_model(CLUSTER_PLUMMER, N);
    sapporo_tree_options o = tree_on(engine_any());
    o.precision = SAPPORO_SP;
    o.accuracy = 1e-9;
    sapporo_tree *t = tree_of(&b, &o);
    struct tree_rows rows = tree_rows_of(t, NULL, N);
    const sapporo_tree_statistics s = tree_statistics(t);
    assert_true(s.n == N && s.rows == N && s.particle_cell == 0 && s.stackless == 0);
    assert_true(s.particle_particle == (long long)N * (N - 1));
    assert_true(s.cells > s.leaves && s.leaves > N / 16 / 2 && s.depth > 2 && s.largest_leaf <= 16);
    assert_true(s.host_bytes <= sapporo_tree_memory_needed(&o, N, NULL));
    tree_rows_free(&rows);
    sapporo_tree_destroy(t);
    bodies_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TREE_TEST(structure),
                                       TREE_TEST(errors),
                                       TREE_TEST(direct),
                                       TREE_TEST(bits),
                                       TREE_TEST(stackless),
                                       TREE_TEST(refreshed),
                                       TREE_TEST(refreshed_or_built),
                                       TREE_TEST(places),
                                       TREE_TEST(neighbours),
                                       TREE_TEST(statistics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
