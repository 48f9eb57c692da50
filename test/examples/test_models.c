/* test_models.c - the clusters of the examples: units, structure, motion, seeds; and the block schedule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster.h"
#include "model_checks.h"
#include "noise.h"
#include "report.h"
#include "schedule.h"
#include "worst.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STARS = 20000 };

static double size_of(const double a[3]) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double sorted[STARS];

static void sort_radii(const bodies *set)
{
    for (int k = 0; k < set->n; k++) sorted[k] = size_of(set->x[k]);
    qsort(sorted, (size_t)set->n, sizeof *sorted, ascending);
}

/*
 * Kolmogorov and Smirnov: the largest distance between the distribution of sorted[] and the one wanted, times
 * sqrt(n).  It exceeds 2 once in 1500 samples; the samples here are always the same ones.
 */
static void check_distribution(int n, double (*wanted)(double, double), double parameter, const char *what)
{
    double largest = 0;
    for (int k = 0; k < n; k++) {
        double below = wanted(sorted[k], parameter);
        largest = worst_of(largest, worst_of(fabs(below - (double)k / n), fabs(below - (double)(k + 1) / n)));
    }
    if (largest * sqrt(n) > 2) fail_msg("%s: distribution is off by %.3g", what, largest);
}

static void allocate(bodies *set, int n)
{
    assert_int_equal(bodies_allocate(set, n), 0);
    for (int k = 0; k < n; k++) set->mass[k] = 1.0 / n;
}

/* ---- random numbers ---- */

static void test_random_numbers(void **state)
{
    (void)state;
    /* The first numbers of xoshiro256** from the state 1, 2, 3, 4, as its authors' program gives them. */
    static const uint64_t known[] = {11520, 0, 1509978240, UINT64_C(1215971899390074240),
                                     UINT64_C(1216172134540287360)};
    rng source = {{1, 2, 3, 4}}, other;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) assert_true(rng_next(&source) == known[k]);
    rng_seed(&source, 1, 1);
    rng_seed(&other, 1, 2);
    assert_memory_not_equal(&source, &other, sizeof source);
    double sum = 0;
    for (int k = 0; k < 100000; k++) {
        double u = rng_uniform(&source);
        assert_true(u > 0 && u < 1);
        sum += u;
    }
    close_to(sum / 100000, 0.5, 0.004, "mean of uniform numbers");
}

/* ---- units ---- */

static void check_units(const bodies *set)
{
    double mass = 0, centre[3] = {0}, drift[3] = {0};
    for (int k = 0; k < set->n; k++) {
        assert_int_equal(set->id[k], k + 1);
        mass += set->mass[k];
        for (int c = 0; c < 3; c++) {
            centre[c] += set->mass[k] * set->x[k][c];
            drift[c] += set->mass[k] * set->v[k][c];
        }
    }
    close_to(mass, 1, 1e-12, "mass");
    close_to(size_of(centre), 0, 1e-12, "centre");
    close_to(size_of(drift), 0, 1e-12, "velocity of the centre");
    close_to(bodies_kinetic(set), 0.25, 1e-12, "kinetic energy");
    close_to(bodies_potential(set), -0.5, 1e-12, "potential energy");
}

static void test_units(void **state)
{
    (void)state;
    for (int kind = CLUSTER_PLUMMER; kind <= CLUSTER_HERNQUIST; kind++)
        for (int masses = CLUSTER_EQUAL; masses <= CLUSTER_SALPETER; masses++) {
            cluster_request request = cluster_default();
            bodies set;
            message why;
            request.kind = (cluster_kind)kind;
            request.masses = (cluster_masses)masses;
            request.n = 500;
            assert_int_equal(cluster_make(&request, &set, &why), 0);
            check_units(&set);
            bodies_free(&set);
        }
}

/* Half-mass radii of the models of infinitely many stars, in N-body units; 4,000 stars scatter by about 1 %. */
static void check_half_mass(cluster_kind kind, double wanted)
{
    cluster_request request = cluster_default();
    bodies set;
    message why;
    request.kind = kind;
    request.n = 4000;
    assert_int_equal(cluster_make(&request, &set, &why), 0);
    sort_radii(&set);
    close_to(sorted[request.n / 2] / wanted, 1, 0.04, "half-mass radius over the analytic one");
    bodies_free(&set);
}

static void test_half_mass_radius(void **state)
{
    (void)state;
    const double pi = 3.14159265358979324;
    check_half_mass(CLUSTER_PLUMMER, 3 * pi / 16 * 1.30477);
    /* Cut at c = 50 scale radii a: sqrt(mass within r) = r / (1 + r). */
    double c = 50, cut = c / (1 + c), root = cut * sqrt(0.5), half = root / (1 - root);
    double sum = 0; /* W = -integral of M dM / r over the mass within the cut */
    for (int k = 0; k < 100000; k++) {
        double s = cut * sqrt((k + 0.5) / 100000), r = s / (1 - s);
        sum += (k + 0.5) / 100000 / r / 100000;
    }
    check_half_mass(CLUSTER_HERNQUIST, half * sum / 0.5);
}

static void test_seeds(void **state)
{
    (void)state;
    cluster_request request = cluster_default();
    bodies first, same, other, heavy;
    message why;
    request.n = 100;
    assert_int_equal(cluster_make(&request, &first, &why), 0);
    assert_int_equal(cluster_make(&request, &same, &why), 0);
    assert_memory_equal(first.x, same.x, 100 * sizeof *first.x);
    assert_memory_equal(first.v, same.v, 100 * sizeof *first.v);
    request.masses = CLUSTER_SALPETER;
    assert_int_equal(cluster_make(&request, &heavy, &why), 0);
    /* Other masses, the same places: the same but for centring and scale. */
    double a = first.x[1][0] - first.x[0][0], b = first.x[2][0] - first.x[0][0];
    double a2 = heavy.x[1][0] - heavy.x[0][0], b2 = heavy.x[2][0] - heavy.x[0][0];
    close_to(a2 / b2, a / b, 1e-9 * fabs(a / b), "shape of the cluster with other masses");
    request.seed = 2;
    assert_int_equal(cluster_make(&request, &other, &why), 0);
    assert_memory_not_equal(heavy.x, other.x, 100 * sizeof *other.x);
    bodies_free(&first);
    bodies_free(&same);
    bodies_free(&other);
    bodies_free(&heavy);
}

static void test_requests_without_sense(void **state)
{
    (void)state;
    cluster_request request = cluster_default();
    request.n = 1;
    refused(request, "at least 2");
    request = cluster_default();
    request.kind = CLUSTER_KING;
    request.w0 = 0;
    refused(request, "W0");
    request.w0 = (double)NAN;
    refused(request, "W0");
    request = cluster_default();
    request.kind = CLUSTER_HERNQUIST;
    request.cut = 0.5;
    refused(request, "cut");
    request = cluster_default();
    request.masses = CLUSTER_SALPETER;
    request.mass_low = request.mass_high;
    refused(request, "masses");
}

/* The shortcut for the potential energy of many particles, against the field at some of them. */
static void test_scale_of_large_models(void **state)
{
    (void)state;
    cluster_request request = cluster_default();
    bodies set;
    message why;
    request.n = 40000;
    assert_int_equal(cluster_make(&request, &set, &why), 0);
    double sum = 0;
    for (int k = 0; k < 400; k++)
        for (int l = 0; l < set.n; l++) {
            double r[3];
            for (int c = 0; c < 3; c++) r[c] = set.x[l][c] - set.x[k][c];
            if (l != k) sum -= 0.5 * set.mass[l] / size_of(r);
        }
    close_to(sum / 400, -0.5, 0.02, "mean potential energy");
    bodies_free(&set);
}

/* ---- structure and motion, in the models' own units ---- */

static double plummer_mass(double r, double cut) { return r * r * r / pow(1 + r * r, 1.5) / cut; }

static void test_plummer(void **state)
{
    (void)state;
    bodies set;
    rng source;
    double energy = 0;
    allocate(&set, STARS);
    rng_seed(&source, 3, 0);
    cluster_plummer(&set, &source);
    sort_radii(&set);
    check_distribution(STARS, plummer_mass, 0.999, "Plummer radii");
    /* The mean of v^2 is half of the potential everywhere. */
    for (int k = 0; k < STARS; k++) {
        double r = size_of(set.x[k]), v = size_of(set.v[k]), depth = 1 / sqrt(1 + r * r);
        assert_true(v * v < 2 * depth);
        energy += v * v / (0.5 * depth);
    }
    close_to(energy / STARS, 1, 0.02, "Plummer velocities");
    bodies_free(&set);
}

static double hernquist_mass(double r, double cut)
{
    return r * r / ((1 + r) * (1 + r)) / (cut * cut / ((1 + cut) * (1 + cut)));
}

/* Radial dispersion squared: Hernquist (1990) eq. 10. */
static double hernquist_dispersion(double r)
{
    return r * pow(1 + r, 3) * log((1 + r) / r) - r / (12 * (1 + r)) * (25 + r * (52 + r * (42 + 12 * r)));
}

static double salpeter_number(double m, double low) { return (1 - pow(m / low, -1.35)) / (1 - pow(200, -1.35)); }

static void test_hernquist(void **state)
{
    (void)state;
    bodies set;
    rng source;
    double ratio[3] = {0};
    int number[3] = {0};
    allocate(&set, STARS);
    rng_seed(&source, 4, 0);
    cluster_hernquist(&set, &source, 1e5);
    sort_radii(&set);
    check_distribution(STARS, hernquist_mass, 1e5, "Hernquist radii");
    for (int k = 0; k < STARS; k++) {
        double r = size_of(set.x[k]), v = size_of(set.v[k]);
        assert_true(v * v < 2 / (1 + r));
        if (r > 30) continue; /* the formula is a difference of large numbers there */
        int zone = r < 0.3 ? 0 : r < 3 ? 1 : 2;
        ratio[zone] += v * v / (3 * hernquist_dispersion(r));
        number[zone]++;
    }
    for (int zone = 0; zone < 3; zone++)
        close_to(ratio[zone] / number[zone], 1, 4 / sqrt(number[zone]), "Hernquist velocities");
    cluster_hernquist(&set, &source, 10);
    sort_radii(&set);
    assert_true(sorted[STARS - 1] < 10);
    check_distribution(STARS, hernquist_mass, 10, "radii of a cut Hernquist model");
    bodies_free(&set);
}

/* Concentrations log10(edge / core radius), as printed since King (1966). */
static void test_king_structure(void **state)
{
    (void)state;
    static const double known[][2] = {{1, 0.296}, {3, 0.672}, {6, 1.255}, {9, 2.120}, {12, 2.739}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        king_profile profile;
        assert_int_equal(king_solve(known[k][0], &profile), 0);
        close_to(log10(profile.radius[profile.n - 1]), known[k][1], 0.003, "concentration of a King model");
        for (int n = 1; n < profile.n; n++) {
            assert_true(profile.radius[n] > profile.radius[n - 1]);
            assert_true(profile.depth[n] < profile.depth[n - 1]);
            assert_true(profile.mass[n] >= profile.mass[n - 1]); /* nearly nothing is at the edge */
        }
        king_free(&profile);
    }
}

static void check_king(double w0)
{
    bodies set;
    rng source;
    king_profile profile;
    allocate(&set, 5000);
    rng_seed(&source, 5, 0);
    assert_int_equal(king_solve(w0, &profile), 0);
    assert_int_equal(cluster_king(&set, &source, w0), 0);
    double total = profile.mass[profile.n - 1], edge = profile.radius[profile.n - 1],
           inside = king_radius(&profile, 0.5, NULL);
    int within = 0;
    for (int k = 0; k < set.n; k++) {
        double r = size_of(set.x[k]), v = size_of(set.v[k]);
        set.mass[k] = total / set.n;
        within += r < inside;
        assert_true(r <= edge);
        /* Nobody can leave: at the edge the potential is -M / edge, and W above it here. */
        assert_true(v * v < 2 * w0);
    }
    close_to(within, 0.5 * set.n, 2.5 * sqrt(set.n), "stars within the half-mass radius");
    /* G = 1 and the dispersion parameter is 1: the profile itself says that the virial theorem holds. */
    close_to(-2 * bodies_kinetic(&set) / bodies_potential(&set), 1, 0.03, "virial ratio of a King model");
    bodies_free(&set);
    king_free(&profile);
}

static void test_king_motion(void **state)
{
    (void)state;
    check_king(0.5);
    check_king(3);
    check_king(7);
    check_king(12);
}

static void test_salpeter(void **state)
{
    (void)state;
    cluster_request request = cluster_default();
    bodies set;
    message why;
    request.n = 4000;
    request.masses = CLUSTER_SALPETER;
    assert_int_equal(cluster_make(&request, &set, &why), 0);
    for (int k = 0; k < set.n; k++) sorted[k] = set.mass[k];
    qsort(sorted, (size_t)set.n, sizeof *sorted, ascending);
    assert_true(sorted[set.n - 1] < 200 * sorted[0] * 1.01);
    /* The unit of mass is not known after scaling: take the median as the mark. */
    double half = pow(0.5 * (1 + pow(200, -1.35)), -1 / 1.35);
    check_distribution(set.n, salpeter_number, sorted[set.n / 2] / half, "Salpeter masses");
    bodies_free(&set);
}

/* ---- energies ---- */

static void test_report(void **state)
{
    (void)state;
    bodies pair;
    double pot[2] = {-0.5, -1};
    allocate(&pair, 2);
    pair.mass[0] = 2;
    pair.mass[1] = 1;
    pair.x[0][0] = 1;
    pair.x[1][0] = -1;
    pair.v[0][1] = 0.5;
    pair.v[1][1] = -1;
    report now = report_make(&pair, pot);
    assert_true(now.kinetic == 0.75 && now.potential == -1 && now.energy == -0.25);
    assert_true(now.momentum[2] == 2 && now.spin == 2 && now.virial == 0.75);
    report later = now;
    later.energy = -0.5;
    assert_true(report_energy_error(&later, &now) == -1);
    bodies_free(&pair);
}

/* ---- the schedule of blocks, against the plain rule: whoever's step ends first ---- */

enum { PARTICLES = 300, BLOCKS = 20000 };

static void check_block(const schedule *plan, int64_t end[PARTICLES], int64_t before, int active)
{
    int64_t first = INT64_MAX;
    int due = 0;
    for (int k = 0; k < PARTICLES; k++) first = end[k] < first ? end[k] : first;
    for (int k = 0; k < PARTICLES; k++) due += end[k] == first;
    assert_true(plan->tick == first && plan->tick > before);
    assert_int_equal(active, due);
    for (int place = 0; place < active; place++) assert_true(end[plan->order[place]] == first);
}

static void test_schedule(void **state)
{
    (void)state;
    schedule plan;
    rng source;
    int64_t end[PARTICLES];
    rng_seed(&source, 6, 0);
    assert_int_equal(schedule_create(&plan, PARTICLES), 0);
    for (int k = 0; k < PARTICLES; k++) {
        plan.level[k] = schedule_first(pow(2, -12 * rng_uniform(&source)));
        end[k] = schedule_ticks(plan.level[k]);
    }
    schedule_rebuild(&plan);
    for (int block = 0; block < BLOCKS; block++) {
        int64_t before = plan.tick;
        int active = schedule_advance(&plan);
        check_block(&plan, end, before, active);
        for (int place = 0; place < active; place++) {
            int k = plan.order[place], old = plan.level[k];
            double step = ldexp(pow(2, 4 * rng_uniform(&source) - 2), -old);
            plan.level[k] = schedule_choose(&plan, old, step);
            assert_true(plan.level[k] >= old - 1 && plan.level[k] >= 0 && plan.level[k] <= SCHEDULE_DEPTH);
            assert_true(plan.tick % schedule_ticks(plan.level[k]) == 0);
            end[k] = plan.tick + schedule_ticks(plan.level[k]);
        }
        schedule_settle(&plan, active);
        if (block % 1000 == 0) schedule_rebuild(&plan); /* as after a restart */
    }
    schedule_free(&plan);
}

static void test_schedule_ends(void **state)
{
    (void)state;
    schedule plan;
    assert_int_equal(schedule_first(5), 0);
    assert_int_equal(schedule_first(1), 0);
    assert_int_equal(schedule_first(0.3), 2);
    assert_int_equal(schedule_first(0), SCHEDULE_DEPTH);
    assert_int_equal(schedule_create(&plan, 1), 0);
    assert_int_equal(schedule_advance(&plan), 1);
    assert_int_equal(schedule_choose(&plan, 0, (double)INFINITY), 0);
    assert_int_equal(schedule_choose(&plan, 3, 0.25), 2);
    assert_int_equal(schedule_choose(&plan, 3, 0.2), 3);
    assert_int_equal(schedule_choose(&plan, 3, 1e-300), SCHEDULE_DEPTH);
    plan.level[0] = SCHEDULE_DEPTH;
    schedule_settle(&plan, 1);
    assert_int_equal(schedule_advance(&plan), 1);
    assert_true(plan.tick == schedule_ticks(0) + 1);
    assert_int_equal(schedule_choose(&plan, SCHEDULE_DEPTH, 1), SCHEDULE_DEPTH); /* this tick is odd */
    schedule_free(&plan);
}

static void test_noise(void **state)
{
    (void)state;
    noise_watch watch = {0};
    double a[3] = {1, 0, 0}, near[3] = {1.1, 0.2, 0}, other[3] = {0, 1, 0}, none[3] = {0};
    assert_int_equal(noise_disagree(a, near, 1e-4), 0);
    assert_int_equal(noise_disagree(a, other, 1e-4), 1);
    assert_int_equal(noise_disagree(a, other, 0.1), 0);
    assert_int_equal(noise_disagree(none, a, 1e-4), 0);
    assert_int_equal(noise_disagree(a, other, (double)NAN), 0);
    int news = 0;
    for (int k = 0; k < 10 * NOISE_WINDOW; k++) news += noise_block(&watch, 10, k % 50 == 0);
    assert_int_equal(news, 0);
    for (int k = 0; k < 10 * NOISE_WINDOW; k++) news += noise_block(&watch, 1, k % 2);
    assert_int_equal(news, 1);
    close_to(watch.total, 10 * NOISE_WINDOW, 0.01 * 10 * NOISE_WINDOW, "blocks that only follow noise");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_numbers),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_half_mass_radius),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_requests_without_sense),
        cmocka_unit_test(test_scale_of_large_models),
        cmocka_unit_test(test_plummer),
        cmocka_unit_test(test_hernquist),
        cmocka_unit_test(test_king_structure),
        cmocka_unit_test(test_king_motion),
        cmocka_unit_test(test_salpeter),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_schedule_ends),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
