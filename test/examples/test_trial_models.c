/* test_trial_models.c - models for measurements of trees: a cold disc, two clusters, masses over a factor of 1e6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster.h"
#include "model_checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STARS = 20000 };

static double size_of(const double a[3]) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

static int ascending(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The median of n values, which it sorts. */
static double median(double *value, int n)
{
    qsort(value, (size_t)n, sizeof *value, ascending);
    return 0.5 * (value[(n - 1) / 2] + value[n / 2]);
}

static bodies model(cluster_kind kind, int n, long long seed)
{
    cluster_request request = cluster_default();
    bodies set;
    message why = {""};
    request.kind = kind;
    request.n = n;
    request.seed = seed;
    if (cluster_make(&request, &set, &why)) fail_msg("%s", why.text);
    return set;
}

/* Total mass 1, the centre of mass at rest at the origin; the size of the model is `size`. */
static void check_whole(const bodies *set, double size)
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
    close_to(size_of(centre), 0, 1e-12 * size, "centre");
    close_to(size_of(drift), 0, 1e-12, "velocity of the centre");
    assert_non_null(strstr(set->units, "G = 1, M = 1"));
}

/* The radial pull of Kuzmin's disc in its plane: a sum over rings of equal mass. */
static double kuzmin_pull(double radius)
{
    enum { RINGS = 1000, ANGLES = 600 };
    const double pi = 3.14159265358979324, soft2 = 1e-4;
    double pull = 0;
    for (int j = 0; j < RINGS; j++) {
        const double u = (j + 0.5) / RINGS, far = 1 / (1 - u), r = sqrt(far * far - 1); /* equal masses */
        for (int a = 0; a < ANGLES; a++) {
            const double angle = 2 * pi * (a + 0.5) / ANGLES, x = radius - r * cos(angle), y = r * sin(angle);
            pull += x / ((x * x + y * y + soft2) * sqrt(x * x + y * y + soft2));
        }
    }
    return pull / RINGS / ANGLES;
}

/* Half of the mass within the cut lies where the surface density says, and the stars are on circular orbits. */
static void test_cold_disc(void **state)
{
    (void)state;
    bodies set = model(CLUSTER_COLD_DISC, STARS, 1);
    static double radius[STARS];
    double heights = 0;
    check_whole(&set, 10);
    for (int k = 0; k < STARS; k++) {
        const double *x = set.x[k], *v = set.v[k], r = hypot(x[0], x[1]);
        radius[k] = r;
        heights += x[2] * x[2];
        assert_true(fabs(x[0] * v[0] + x[1] * v[1]) < 0.1 * r * size_of(v) + 0.05); /* centring moves it a little */
        const double speed2 = r * r / pow(r * r + 1, 1.5);
        assert_true(r < 0.5 || fabs(size_of(v) / sqrt(speed2) - 1) < 0.1);
    }
    close_to(sqrt(heights / STARS), 0.01, 0.0005, "dispersion of heights");
    close_to(median(radius, STARS), sqrt(1 / (0.55 * 0.55) - 1), 0.05, "radius of half of the mass");
    assert_true(radius[STARS - 1] < 10.1);
    for (double r = 1; r < 5; r *= 2)
        close_to(r * kuzmin_pull(r) / (r * r / pow(r * r + 1, 1.5)), 1, 0.02, "squared circular speed");
    bodies_free(&set);
}

/* Two halves, each as a Plummer sphere of mass 1/2 about its own centre. */
static void test_two_clusters(void **state)
{
    (void)state;
    bodies set = model(CLUSTER_TWO, STARS, 2);
    static double radius[STARS / 2];
    double centre[2][3] = {{0}}, energy = 0;
    check_whole(&set, 1000);
    for (int k = 0; k < STARS; k++)
        for (int c = 0; c < 3; c++) centre[2 * k / STARS][c] += set.x[k][c] * 2 / STARS;
    const double apart[3] = {centre[1][0] - centre[0][0], centre[1][1] - centre[0][1], centre[1][2] - centre[0][2]};
    close_to(size_of(apart), 1000, 0.1, "distance of the clusters");
    for (int half = 0; half < 2; half++) {
        for (int k = 0; k < STARS / 2; k++) {
            const double *x = set.x[half * STARS / 2 + k], *v = set.v[half * STARS / 2 + k];
            const double d[3] = {x[0] - centre[half][0], x[1] - centre[half][1], x[2] - centre[half][2]};
            radius[k] = size_of(d);
            energy += v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
            energy -= 0.5 * 0.5 / sqrt(1 + radius[k] * radius[k]); /* the mean of v^2 is half of the depth */
        }
        close_to(median(radius, STARS / 2), 1.30477, 0.05, "half-mass radius");
    }
    close_to(energy / STARS, 0, 0.005, "mean of v^2 less that of a Plummer sphere");
    bodies_free(&set);
}

/* Logarithms of masses are even over six decades; orbits are those of a Plummer sphere, in N-body units. */
static void test_mass_ratios(void **state)
{
    (void)state;
    cluster_request request = cluster_default();
    bodies set = model(CLUSTER_MASS_RATIOS, STARS, 3);
    static double mass[STARS];
    check_whole(&set, 1);
    close_to(bodies_kinetic(&set), 0.25, 1e-12, "kinetic energy");
    close_to(bodies_potential(&set), -0.5, 1e-12, "potential energy");
    for (int k = 0; k < STARS; k++) mass[k] = set.mass[k];
    const double middle = median(mass, STARS);
    close_to(log10(mass[STARS - 1] / mass[0]), 6, 0.01, "range of masses");
    close_to(log10(mass[STARS - 1] / middle), 3, 0.1, "largest mass over the median");
    close_to(log10(mass[STARS - 1] / mass[3 * STARS / 4]), 1.5, 0.1, "largest mass over that of a quarter");
    bodies_free(&set);
    request.kind = CLUSTER_MASS_RATIOS;
    request.masses = CLUSTER_SALPETER;
    refused(request, "masses of its own");
}

/* Other seeds give other models, and few stars are enough. */
static void test_seeds(void **state)
{
    (void)state;
    for (int kind = CLUSTER_COLD_DISC; kind <= CLUSTER_MASS_RATIOS; kind++) {
        bodies one = model((cluster_kind)kind, 2, 1), same = model((cluster_kind)kind, 2, 1);
        bodies other = model((cluster_kind)kind, 2, 2);
        assert_memory_equal(one.x, same.x, 2 * sizeof *one.x);
        assert_memory_not_equal(one.x, other.x, 2 * sizeof *one.x);
        bodies_free(&one);
        bodies_free(&same);
        bodies_free(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cold_disc), cmocka_unit_test(test_two_clusters),
                                       cmocka_unit_test(test_mass_ratios), cmocka_unit_test(test_seeds)};
    return cmocka_run_group_tests_name("trial_models", tests, NULL, NULL);
}
