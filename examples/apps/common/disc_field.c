/*
 * disc_field.c - see disc_field.h.
 */
#define _XOPEN_SOURCE 700 /* j0, j1 */
#include "disc_field.h"

#include <math.h>

static const double PI = 3.14159265358979324;

enum { CELLS = 2 * (DISC_HEIGHTS - 1) };

/* Wave numbers: steps in units of 1/scale, which resolve the outermost radius; the last one, also in 1/height. */
static const double WAVE_STEP = 0.02, WAVE_LAST = 100, WAVE_LAST_HEIGHT = 20;

static void choose_nodes(disc_field *field)
{
    for (int i = 0; i < DISC_RADII; i++) {
        const double part = (double)i / (DISC_RADII - 1);
        field->radius[i] = DISC_OUTERMOST * field->scale * part * part;
    }
    for (int j = 0; j < DISC_HEIGHTS; j++) field->z[j] = DISC_HIGHEST * field->height * j / (DISC_HEIGHTS - 1);
}

int disc_field_node(const disc_field *field, double radius, double *part)
{
    const double place = sqrt(radius / (DISC_OUTERMOST * field->scale)) * (DISC_RADII - 1);
    const int k = place < DISC_RADII - 2 ? (int)place : DISC_RADII - 2;
    *part = fmin(1, (radius - field->radius[k]) / (field->radius[k + 1] - field->radius[k]));
    return k;
}

/* Mass of each vertical cell, for a disc of mass 1 per area. */
static void fill_cells(double cell[CELLS])
{
    const double most = tanh(DISC_HIGHEST);
    for (int c = 0; c < CELLS; c++) {
        const double low = 2 * DISC_HIGHEST * c / CELLS - DISC_HIGHEST, high = low + 2 * DISC_HIGHEST / CELLS;
        cell[c] = (tanh(high) - tanh(low)) / (2 * most);
    }
}

/*
 * Integrates profile(z') exp(-k |z - z'|) over the cells below and above each height of the table; within a cell the
 * density is constant.
 */
static void integrate_cells(const double cell[CELLS], double wave_cell, double *below, double *above)
{
    const double decay = exp(-wave_cell), within = wave_cell > 0 ? -expm1(-wave_cell) / wave_cell : 1;
    double sum = 0;
    for (int c = 0; c < CELLS; c++) { /* `sum` is at the lower border of cell c */
        if (c >= CELLS / 2) below[c - CELLS / 2] = within * sum;
        sum = decay * sum + cell[c];
    }
    below[CELLS / 2] = within * sum;
    sum = 0;
    for (int c = CELLS - 1; c >= CELLS / 2; c--) {
        above[c + 1 - CELLS / 2] = within * sum;
        sum = decay * sum + cell[c];
    }
    above[0] = within * sum;
}

static void add_wave(disc_field *field, double wave, double weight, const double *below, const double *above)
{
    for (int i = 0; i < DISC_RADII; i++) {
        const double in = weight * j1(wave * field->radius[i]), down = weight * j0(wave * field->radius[i]);
        for (int j = 0; j < DISC_HEIGHTS; j++) {
            field->inward[i][j] += in * (below[j] + above[j]);
            field->downward[i][j] += down * (below[j] - above[j]);
        }
    }
}

/* The disc's part: 2 pi G times the integral of k S(k) J(k R) over k, S the transform of the surface density. */
static void add_disc(disc_field *field, const disc_shape *shape)
{
    double cell[CELLS], below[DISC_HEIGHTS], above[DISC_HEIGHTS];
    const double step = WAVE_STEP / shape->scale;
    const double last = fmax(WAVE_LAST / shape->scale, WAVE_LAST_HEIGHT / shape->height);
    fill_cells(cell);
    /* The integrand begins with 0, and with a slope for the force towards the plane: Euler and Maclaurin's term. */
    integrate_cells(cell, 0, below, above);
    add_wave(field, 0, shape->mass * step * step / 12, below, above);
    for (int n = 1; n * step <= last; n++) {
        const double wave = n * step, q = wave * shape->scale;
        const double transform = shape->mass / (2 * PI) / pow(1 + q * q, 1.5);
        integrate_cells(cell, wave * 2 * DISC_HIGHEST * shape->height / CELLS, below, above);
        add_wave(field, wave, 2 * PI * wave * transform * step, below, above);
    }
}

void disc_field_solve(disc_field *field, const disc_shape *shape, const spheres *around)
{
    *field = (disc_field){.scale = shape->scale, .height = shape->height, .around = around};
    choose_nodes(field);
    add_disc(field, shape);
}

static double between(const double *table, int k, double part) { return table[k] + part * (table[k + 1] - table[k]); }

disc_pull disc_field_at(const disc_field *field, double radius, double z)
{
    double part;
    const int i = disc_field_node(field, radius, &part);
    const double place = z / field->z[1];
    const int j = place < DISC_HEIGHTS - 2 ? (int)place : DISC_HEIGHTS - 2;
    const double up = fmin(1, place - j), r = sqrt(radius * radius + z * z);
    const double *in = field->inward[i], *next = field->inward[i + 1];
    const double *down = field->downward[i], *next_down = field->downward[i + 1];
    disc_pull sum = {(1 - part) * between(in, j, up) + part * between(next, j, up),
                     (1 - part) * between(down, j, up) + part * between(next_down, j, up)};
    if (!field->around || !(r > 0)) return sum;
    const double pull = spheres_mass(field->around, r) / (r * r * r);
    return (disc_pull){sum.inward + pull * radius, sum.downward + pull * z};
}
