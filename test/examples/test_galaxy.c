/*
 * test_galaxy.c - models of galaxies: masses, forces, Toomre's Q, and an equilibrium that lasts.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster.h"
#include "disc.h"
#include "galaxy.h"
#include "mean_field.h"
#include "model_checks.h"
#include "sanitized.h"
#include "worst.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979324;

static int ascending(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/*
 * Kolmogorov and Smirnov: sqrt(n) times the largest distance of two distributions exceeds 2 once in 1500 samples; the
 * samples here are always the same ones.  Sorts the values.
 */
static void check_distribution(double *value, int n, double (*wanted)(double), const char *what)
{
    double largest = 0;
    qsort(value, (size_t)n, sizeof *value, ascending);
    for (int k = 0; k < n; k++) {
        const double below = wanted(value[k]);
        largest = worst_of(largest, worst_of(fabs(below - (double)k / n), fabs(below - (double)(k + 1) / n)));
    }
    if (largest * sqrt(n) > 2) fail_msg("%s: the distribution is off by %.3g", what, largest);
}

static double cylinder(const double x[3]) { return sqrt(x[0] * x[0] + x[1] * x[1]); }
static double distance(const double x[3]) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

static spheres *solve_spheres(const galaxy_shape *shape)
{
    spheres *tables = malloc(sizeof *tables);
    assert_non_null(tables);
    spheres_solve(tables, shape);
    return tables;
}

/* ---- requests, numbers of particles, units ---- */

/* The numbers that Miki and Umemura (2017), section 3.2, print for 2^23 particles. */
static void test_numbers(void **state)
{
    (void)state;
    const galaxy_shape shape = galaxy_andromeda(1.8), other = galaxy_disc(0.1, 1.5);
    int count[GALAXY_SPHERES + 1];
    galaxy_count(&shape, 8388608, count);
    assert_int_equal(count[0], 7730866);
    assert_int_equal(count[1], 308853);
    assert_int_equal(count[2], 348889);
    galaxy_count(&shape, 2, count);
    assert_int_equal(count[0] + count[1] + count[2], 2);
    galaxy_count(&other, 601, count);
    assert_int_equal(count[0], 501);
    assert_int_equal(count[1], 0);
    assert_int_equal(count[2], 100);
}

static void test_requests(void **state)
{
    (void)state;
    cluster_request request = cluster_default();
    bodies set, same;
    message why;
    request.kind = CLUSTER_ANDROMEDA;
    request.n = 1000;
    assert_int_equal(cluster_make(&request, &set, &why), 0);
    assert_int_equal(cluster_make(&request, &same, &why), 0);
    assert_memory_equal(set.x, same.x, 1000 * sizeof *set.x);
    assert_memory_equal(set.v, same.v, 1000 * sizeof *set.v);
    assert_string_equal(set.units, GALAXY_UNITS);
    assert_string_equal(set.parts, "halo 923, bulge 36, disc 41");
    for (int k = 0; k < 1000; k++) {
        close_to(set.mass[k], 88.0 / 1000, 1e-15, "mass");
        assert_int_equal(set.id[k], k + 1);
    }
    for (int c = 0; c < 3; c++) {
        double sum = 0;
        for (int k = 0; k < 1000; k++) sum += set.v[k][c];
        close_to(sum, 0, 1e-11, "momentum");
    }
    bodies_free(&set);
    bodies_free(&same);
    request.masses = CLUSTER_SALPETER;
    refused(request, "equal masses");
    request.masses = CLUSTER_EQUAL;
    request.toomre = (double)NAN;
    refused(request, "Toomre");
    request = cluster_default();
    request.kind = CLUSTER_DISC;
    request.height = 0;
    refused(request, "height");
}

/* Blocks of particles have random numbers of their own, so that threads make the same galaxy. */
static void test_threads(void **state)
{
    enum { N = 5000, RUNS = 4 };
    static const char *const threads[RUNS] = {"1", "2", "3", "64"};
    (void)state;
    cluster_request request = cluster_default();
    bodies set[RUNS];
    message why;
    request.kind = CLUSTER_ANDROMEDA;
    request.n = N;
    for (int r = 0; r < RUNS; r++) {
        setenv("OMP_NUM_THREADS", threads[r], 1);
        assert_int_equal(cluster_make(&request, &set[r], &why), 0);
        assert_memory_equal(set[r].x, set[0].x, N * sizeof *set->x);
        assert_memory_equal(set[r].v, set[0].v, N * sizeof *set->v);
    }
    unsetenv("OMP_NUM_THREADS");
    for (int k = 1; k < N; k++) assert_memory_not_equal(set[0].x[k], set[0].x[k - 1], sizeof *set->x);
    for (int r = 0; r < RUNS; r++) bodies_free(&set[r]);
}

/* ---- spheres ---- */

enum { STARS = 20000 };

static double one[STARS];

/* Radial dispersion squared of a Hernquist sphere of mass and scale 1: Hernquist (1990) eq. 10. */
static double hernquist_dispersion(double r)
{
    return r * pow(1 + r, 3) * log((1 + r) / r) - r / (12 * (1 + r)) * (25 + r * (52 + r * (42 + 12 * r)));
}

static double hernquist_mass(double r) { return r * r / ((1 + r) * (1 + r)); }

/* Eddington's inversion of a sphere alone gives the distribution function of Hernquist. */
static void test_hernquist_alone(void **state)
{
    (void)state;
    const double cut = 1e4;
    const galaxy_shape shape = {.spheres = 1, .sphere = {{.mass = 1, .scale = 1, .outer = 3, .cut = cut}}};
    spheres *tables = solve_spheres(&shape);
    double ratio[3] = {0};
    int number[3] = {0};
    rng source;
    rng_seed(&source, 11, 0);
    for (int k = 0; k < STARS; k++) {
        double x[3], v[3];
        spheres_particle(tables, 0, &source, x, v);
        const double r = one[k] = distance(x), speed = distance(v);
        assert_true(0.5 * speed * speed < 1 / (1 + r) * 1.001);
        if (r > 30) continue; /* the formula is a difference of large numbers there */
        const int zone = r < 0.3 ? 0 : r < 3 ? 1 : 2;
        ratio[zone] += speed * speed / (3 * hernquist_dispersion(r));
        number[zone]++;
    }
    check_distribution(one, STARS, hernquist_mass, "Hernquist radii");
    for (int zone = 0; zone < 3; zone++)
        close_to(ratio[zone] / number[zone], 1, 3 / sqrt(number[zone]), "Hernquist velocities");
    for (double r = 0.01; r < 1000; r *= 3) close_to(spheres_mass(tables, r) / hernquist_mass(r), 1, 1e-3, "mass");
    free(tables);
}

/* ---- the disc ---- */

static double sech2_below(double z) { return 0.5 * (1 + tanh(z / 0.05)); }

static double exponential_below(double r) { return 1 - (1 + r) * exp(-r); }

/*
 * The force of the disc at a place, as the sum over points: rings of equal mass, each of them in even layers and at
 * even angles.
 */
static disc_pull force_of_points(const disc_shape *shape, double radius, double z)
{
    enum { RINGS_OF = 300, LAYERS = 60, POINTS = 120 };
    long double in = 0, down = 0, total = 0;
    for (int a = 0; a < RINGS_OF; a++) {
        double low = 0, high = 60;
        for (int k = 0; k < 50; k++) {
            const double middle = 0.5 * (low + high);
            *(exponential_below(middle) < (a + 0.5) / RINGS_OF ? &low : &high) = middle;
        }
        for (int p = 0; p < LAYERS * POINTS; p++) {
            const int column = p / LAYERS;
            const double layer = 12.0 * (p % LAYERS + 0.5) / LAYERS - 6, angle = 2 * PI * (column + 0.5) / POINTS;
            const double dx = radius - low * shape->scale * cos(angle), dy = low * shape->scale * sin(angle);
            const double dz = z - shape->height * layer, fall = 1 / cosh(layer);
            const long double r2 = dx * dx + dy * dy + dz * dz, weight = fall * fall / (r2 * sqrtl(r2));
            total += fall * fall;
            in += weight * dx;
            down += weight * dz;
        }
    }
    return (disc_pull){(double)(shape->mass / total * in), (double)(shape->mass / total * down)};
}

/*
 * Within the disc, where its own density acts, the table fulfils Poisson's equation between heights 0 and z:
 * force towards the plane = 2 pi G Sigma tanh(z / height) - integral of d(R force towards the axis)/dR / R.
 */
static void check_poisson(const disc_field *field, const disc_shape *shape, double radius)
{
    enum { LAYERS = 20 };
    const double z = shape->height, d = 0.2;
    double sum = 2 * PI * disc_surface(shape, radius) * tanh(z / shape->height);
    for (int l = 0; l < LAYERS; l++) {
        const double at = z * (l + 0.5) / LAYERS;
        const double high = (radius + d) * disc_field_at(field, radius + d, at).inward;
        const double low = (radius - d) * disc_field_at(field, radius - d, at).inward;
        sum -= (high - low) / (2 * d * radius) * z / LAYERS;
    }
    close_to(disc_field_at(field, radius, z).downward / sum, 1, 5e-3, "force towards the plane in the disc");
}

static void test_disc_force(void **state)
{
    (void)state;
    const disc_shape shape = {.mass = 2, .scale = 3, .height = 0.3, .toomre = 1};
    disc_field *field = malloc(sizeof *field);
    assert_non_null(field);
    disc_field_solve(field, &shape, NULL);
    static const double places[][2] = {{0.7, 0.9}, {3, 0.9}, {3, 1.8}, {7, 1.2}, {20, 2}};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        const disc_pull sum = force_of_points(&shape, places[k][0], places[k][1]);
        const disc_pull table = disc_field_at(field, places[k][0], places[k][1]);
        const double whole = sqrt(sum.inward * sum.inward + sum.downward * sum.downward);
        close_to(table.inward, sum.inward, 3e-3 * whole, "force towards the axis");
        close_to(table.downward, sum.downward, 3e-3 * whole, "force towards the plane");
    }
    check_poisson(field, &shape, 3);
    check_poisson(field, &shape, 9);
    free(field);
}

/* Surface density, height and Toomre's Q of the particles of a disc in the Andromeda model. */
static void test_disc_structure(void **state)
{
    (void)state;
    const galaxy_shape shape = galaxy_andromeda(1.5);
    spheres *around = solve_spheres(&shape);
    disc *flat = disc_solve(&shape.disc, around);
    assert_non_null(flat);
    int least = 1, number = 0;
    for (int k = 1; flat->field->radius[k] < DISC_CUT * shape.disc.scale; k++)
        if (disc_toomre(flat, k) < disc_toomre(flat, least)) least = k;
    close_to(disc_toomre(flat, least), 1.5, 1e-9, "least Q of the plan");
    const double ring = flat->field->radius[least];
    double out2 = 0, across = 0;
    rng source;
    rng_seed(&source, 12, 0);
    for (int k = 0; k < STARS / 2; k++) {
        double x[3], v[3];
        disc_particle(flat, &source, x, v);
        const double r = one[k] = cylinder(x), out = (x[0] * v[0] + x[1] * v[1]) / r;
        across += fabs(x[2]);
        if (fabs(r - ring) > 2) continue;
        out2 += out * out;
        number++;
    }
    const double surface = disc_surface(&shape.disc, ring);
    close_to(sqrt(out2 / number) * flat->epicycle[least] / (3.36 * surface), 1.5, 1.5 * 2 / sqrt(number), "Q");
    close_to(across / (0.5 * STARS * shape.disc.height * log(2)), 1, 0.03, "mean height");
    for (int k = 0; k < STARS / 2; k++) one[k] /= shape.disc.scale;
    check_distribution(one, STARS / 2, exponential_below, "radii of the disc");
    disc_free(flat);
    free(around);
}

/* The other model, from one request: the disc is the last sixth. */
static void test_disc_model(void **state)
{
    (void)state;
    cluster_request request = cluster_default();
    bodies set;
    message why;
    request.kind = CLUSTER_DISC;
    request.n = STARS;
    request.height = 0.05;
    request.toomre = 1.2;
    assert_int_equal(cluster_make(&request, &set, &why), 0);
    const int n = STARS / 6;
    double(*x)[3] = set.x + (STARS - n);
    for (int k = 0; k < n; k++) one[k] = cylinder(x[k]);
    check_distribution(one, n, exponential_below, "radii of the disc");
    for (int k = 0; k < n; k++) one[k] = x[k][2];
    check_distribution(one, n, sech2_below, "heights of the disc");
    close_to(-2 * bodies_kinetic(&set) / bodies_potential(&set), 1, 0.03, "virial ratio");
    bodies_free(&set);
}

/* ---- the equilibrium: profiles after two dynamical times of the half-mass radius ---- */

/*
 * Particles of equal mass would be so heavy in a small model that the halo's particles heat the disc by more than the
 * bound.  Particles therefore move in the mean field of all particles (mean_field.h), which follows them, and each
 * component has particles and steps of its own.  A ring holds 4,000 particles at the start, which scatter by 1.6 %; at
 * the end eight snapshots are added.  Sanitizers look at one span of time alone.
 */
enum {
    PARTS = 3,
    DISC = 2,
    RINGS = 5,
    SPANS = SANITIZED ? 1 : 14,
    LAST_SPANS = SANITIZED ? 1 : 4,
    SNAPSHOTS = 2,
    STEPS = 32
};

static const char *const NAME[PARTS] = {"halo", "bulge", "disc"};
static const int NUMBER[PARTS] = {60000, 20000, 20000};
static const double SPAN = 10, BOUND = 0.05;

typedef struct profile {
    double number, out2, around, around2, across2, height;
} profile;

static void add_profile(const bodies *part, const double *edge, profile *to)
{
    for (int k = 0; k < part->n; k++) {
        const double *x = part->x[k], *v = part->v[k], r = cylinder(x);
        const double out = (x[0] * v[0] + x[1] * v[1]) / r, around = (x[0] * v[1] - x[1] * v[0]) / r;
        int ring = 0;
        while (ring < RINGS - 1 && r >= edge[ring]) ring++;
        to[ring].number++;
        to[ring].out2 += out * out;
        to[ring].around += around;
        to[ring].around2 += around * around;
        to[ring].across2 += v[2] * v[2];
        to[ring].height += fabs(x[2]);
    }
}

/* Outer radii of rings with equal numbers of particles. */
static void choose_edges(const bodies *part, double *edge)
{
    double *radius = malloc((size_t)part->n * sizeof *radius);
    assert_non_null(radius);
    for (int k = 0; k < part->n; k++) radius[k] = cylinder(part->x[k]);
    qsort(radius, (size_t)part->n, sizeof *radius, ascending);
    for (int ring = 0; ring < RINGS; ring++) edge[ring] = radius[part->n / RINGS * (ring + 1) - 1];
    free(radius);
}

/* Makes a component as a set of its own. */
static void make_part(bodies *part, const galaxy_shape *shape, const spheres *around, const disc *flat, int c)
{
    rng source;
    rng_seed(&source, 21, (uint64_t)c);
    assert_int_equal(bodies_allocate(part, NUMBER[c]), 0);
    for (int k = 0; k < part->n; k++) {
        part->mass[k] = (c < 2 ? shape->sphere[c].mass : shape->disc.mass) / part->n;
        if (c < 2)
            spheres_particle(around, c, &source, part->x[k], part->v[k]);
        else
            disc_particle(flat, &source, part->x[k], part->v[k]);
    }
}

static double spread(const profile *p, double squares, double sum) { return sqrt(squares - sum * sum / p->number); }

/* Compares densities and dispersions; of the disc, which is flat and rotates, also height and rotation. */
static void check_ring(int c, int ring, const profile *start, const profile *end)
{
    char what[64];
    const double n = start->number, m = end->number, root = sqrt(n / m);
    const struct {
        const char *name;
        double ratio;
    } row[] = {{"surface density", m / (n * LAST_SPANS * SNAPSHOTS)},
               {"radial dispersion", root * sqrt(end->out2 / start->out2)},
               {"azimuthal dispersion",
                root * spread(end, end->around2, end->around) / spread(start, start->around2, start->around)},
               {"vertical dispersion", root * sqrt(end->across2 / start->across2)},
               {"height", n / m * end->height / start->height},
               {"rotation", n / m * end->around / start->around}};
    for (int k = 0; k < (c == DISC ? 6 : 4); k++) {
        snprintf(what, sizeof what, "%s of the %s, ring %d", row[k].name, NAME[c], ring);
        close_to(row[k].ratio, 1, BOUND, what);
    }
}

/* Returns the square root of r^3 / (G M) at the radius that holds half of all mass. */
static double dynamical_time(const spheres *around)
{
    int k = 0;
    while (around->mass[k] < 0.5 * around->mass[SPHERES_NODES - 1]) k++;
    return sqrt(around->radius[k] * around->radius[k] * around->radius[k] / around->mass[k]);
}

static void test_equilibrium(void **state)
{
    (void)state;
    const galaxy_shape shape = galaxy_andromeda(1.8);
    bodies part[PARTS];
    profile start[PARTS][RINGS], end[PARTS][RINGS];
    double edge[PARTS][RINGS];
    spheres *around = solve_spheres(&shape);
    disc *flat = disc_solve(&shape.disc, around);
    mean_field *field = mean_field_open(NUMBER[0], NUMBER[1] + NUMBER[2]);
    assert_true(SANITIZED || SPANS * SPAN > 2 * dynamical_time(around));
    memset(start, 0, sizeof start);
    memset(end, 0, sizeof end);
    for (int c = 0; c < PARTS; c++) {
        make_part(&part[c], &shape, around, flat, c);
        choose_edges(&part[c], edge[c]);
        add_profile(&part[c], edge[c], start[c]);
    }
    for (int span = 0; span < SPANS; span++) {
        mean_field_solve(field, part);
        for (int c = 0; c < PARTS; c++)
            for (int half = 0; half < SNAPSHOTS; half++) {
                mean_field_move(field, &part[c], SPAN / STEPS, STEPS / SNAPSHOTS);
                if (span >= SPANS - LAST_SPANS) add_profile(&part[c], edge[c], end[c]);
            }
    }
    for (int c = 0; c < PARTS; c++)
        for (int ring = 0; ring < RINGS; ring++) check_ring(c, ring, &start[c][ring], &end[c][ring]);
    for (int c = 0; c < PARTS; c++) bodies_free(&part[c]);
    mean_field_close(field);
    disc_free(flat);
    free(around);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_requests),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_hernquist_alone),
        cmocka_unit_test(test_disc_force), cmocka_unit_test(test_disc_structure),
        cmocka_unit_test(test_disc_model), cmocka_unit_test(test_equilibrium),
    };
    return cmocka_run_group_tests_name("galaxy", tests, NULL, NULL);
}
