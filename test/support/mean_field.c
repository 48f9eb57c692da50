/*
 * mean_field.c - see mean_field.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mean_field.h"
#include "worst.h"

#include <math.h>
#include <sapporo_tree.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979324;

/*
 * Radii are spaced evenly in their logarithm; the sine of the latitude as the sine of hyperbolas, finely at the plane.
 */
enum { RADII = 200, LATITUDES = 24, AZIMUTHS = 12, PLACES = RADII * LATITUDES * AZIMUTHS };
static const double NEAREST = 0.005, FARTHEST = 6000, FLATNESS = 100;

/* Softening lengths: particles of the halo are heavy, and its profile is smooth. */
/* The part of the field that stays when it follows the particles: it has less noise than that of one moment. */
static const double KEPT = 0.75;

/* A step is divided near the centre: orbital times there are ~ r, for velocities of about 1. */
enum { MOST_STEPS = 12 };
static const double STEP_PER_RADIUS = 0.1;

static const double SOFT_HALO = 0.2, SOFT_INNER = 0.01;

struct mean_field {
    sapporo_tree *halo, *inner;
    bodies both; /* bulge and disc */
    int solved;  /* 0: there is no field yet */
    double place[PLACES][3], pull[PLACES][3];
    /* force towards the centre, and across to it towards the plane, times the radius */
    double in[RADII][LATITUDES], down[RADII][LATITUDES];
};

static double radius_of(int i) { return NEAREST * pow(FARTHEST / NEAREST, i / (RADII - 1.0)); }

static double sine_of(int j) { return sinh(j / (LATITUDES - 1.0) * asinh(FLATNESS)) / FLATNESS; }

/* Position of a place of the grid; every other azimuth is on the lower side. */
typedef struct spot {
    int i, j;
    double r, sine, cosine, angle, side;
} spot;

static spot spot_of(int p)
{
    spot at = {.i = p / (LATITUDES * AZIMUTHS), .j = p / AZIMUTHS % LATITUDES};
    const int k = p % AZIMUTHS;
    at.r = radius_of(at.i);
    at.sine = sine_of(at.j);
    at.cosine = sqrt(larger_of(0, 1 - at.sine * at.sine));
    at.angle = 2 * PI * (k + 0.5) / AZIMUTHS;
    at.side = k % 2 ? -1 : 1;
    return at;
}

static sapporo_tree *open_tree(int n, double softening)
{
    const sapporo_tree_options options = {
        .size = sizeof options, .mac = SAPPORO_MAC_OPENING, .accuracy = 0.6, .eps2 = softening * softening};
    sapporo_tree *tree;
    assert_int_equal(sapporo_tree_create(&options, n, &tree), SAPPORO_OK);
    return tree;
}

mean_field *mean_field_open(int halo, int inner)
{
    mean_field *field = calloc(1, sizeof *field);
    assert_non_null(field);
    field->halo = open_tree(halo, SOFT_HALO);
    field->inner = open_tree(inner, SOFT_INNER);
    assert_int_equal(bodies_allocate(&field->both, inner), 0);
    for (int p = 0; p < PLACES; p++) {
        const spot at = spot_of(p);
        field->place[p][0] = at.r * at.cosine * cos(at.angle);
        field->place[p][1] = at.r * at.cosine * sin(at.angle);
        field->place[p][2] = at.r * at.sine * at.side;
    }
    return field;
}

void mean_field_close(mean_field *field)
{
    sapporo_tree_destroy(field->halo);
    sapporo_tree_destroy(field->inner);
    bodies_free(&field->both);
    free(field);
}

/* Adds the forces of the particles of one tree. */
static void add_forces(mean_field *field, sapporo_tree *tree, const bodies *set, double weight)
{
    const sapporo_tree_particles all = {.size = sizeof all, .n = set->n, .x = {set->x, 0}, .mass = {set->mass, 0}};
    const sapporo_tree_request asked = {.size = sizeof asked, .ni = PLACES, .x = {field->place, 0}};
    assert_int_equal(sapporo_tree_set(tree, &all), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(tree), SAPPORO_OK);
    assert_int_equal(sapporo_tree_force(tree, &asked, field->pull, NULL), SAPPORO_OK);
    for (int p = 0; p < PLACES; p++) {
        const spot at = spot_of(p);
        const double *a = field->pull[p], out = a[0] * cos(at.angle) + a[1] * sin(at.angle), up = at.side * a[2];
        field->in[at.i][at.j] -= weight * at.r * (out * at.cosine + up * at.sine) / AZIMUTHS;
        field->down[at.i][at.j] -= weight * at.r * (up * at.cosine - out * at.sine) / AZIMUTHS;
    }
}

static void join(bodies *both, const bodies *bulge, const bodies *disc)
{
    memcpy(both->x, bulge->x, (size_t)bulge->n * sizeof *both->x);
    memcpy(both->x + bulge->n, disc->x, (size_t)disc->n * sizeof *both->x);
    memcpy(both->mass, bulge->mass, (size_t)bulge->n * sizeof *both->mass);
    memcpy(both->mass + bulge->n, disc->mass, (size_t)disc->n * sizeof *both->mass);
}

void mean_field_solve(mean_field *field, const bodies part[MEAN_FIELD_PARTS])
{
    const double keep = field->solved ? KEPT : 0;
    for (int i = 0; i < RADII; i++)
        for (int j = 0; j < LATITUDES; j++) {
            field->in[i][j] *= keep;
            field->down[i][j] *= keep;
        }
    join(&field->both, &part[1], &part[2]);
    add_forces(field, field->halo, &part[0], 1 - keep);
    add_forces(field, field->inner, &field->both, 1 - keep);
    field->solved = 1;
}

/* Interpolates between four nodes. */
static double mixed(const double table[RADII][LATITUDES], int i, int j, double right, double up)
{
    const double low = table[i][j] + up * (table[i][j + 1] - table[i][j]);
    const double high = table[i + 1][j] + up * (table[i + 1][j + 1] - table[i + 1][j]);
    return low + right * (high - low);
}

static int node_of(double place, int n, double *part)
{
    const int k = place < 0 ? 0 : place < n - 2 ? (int)place : n - 2;
    *part = larger_of(0, fmin(1, place - k));
    return k;
}

static void kick(const mean_field *field, double dt, const double x[3], double v[3])
{
    const double flat = sqrt(x[0] * x[0] + x[1] * x[1]), r = hypot(flat, x[2]), sine = fabs(x[2]) / r,
                 cosine = flat / r;
    double right, up;
    const int i = node_of(log(r / NEAREST) / log(FARTHEST / NEAREST) * (RADII - 1), RADII, &right);
    const int j = node_of(asinh(FLATNESS * sine) / asinh(FLATNESS) * (LATITUDES - 1), LATITUDES, &up);
    const double in = mixed(field->in, i, j, right, up) / r, down = mixed(field->down, i, j, right, up) / r;
    const double inward = in * cosine - down * sine, downward = in * sine + down * cosine;
    v[0] -= dt * inward * x[0] / flat;
    v[1] -= dt * inward * x[1] / flat;
    v[2] -= dt * copysign(downward, x[2]);
}

static void advance(const mean_field *field, double step, double x[3], double v[3])
{
    for (int c = 0; c < 3; c++) x[c] += 0.5 * step * v[c];
    kick(field, step, x, v);
    for (int c = 0; c < 3; c++) x[c] += 0.5 * step * v[c];
}

void mean_field_move(const mean_field *field, bodies *part, double step, int steps)
{
    for (int k = 0; k < part->n; k++)
        for (int s = 0; s < steps; s++) {
            const double *x = part->x[k], r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
            const int divided = (int)fmin(MOST_STEPS, ceil(step / (STEP_PER_RADIUS * r)));
            for (int m = 0; m < divided; m++) advance(field, step / divided, part->x[k], part->v[k]);
        }
}
