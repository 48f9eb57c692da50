/*
 * cpu_periodic.c - forces and tidal tensors in a periodic cube: the walk for each of 27 images of the target particles,
 * and the field of all other images (physics/tree_periodic.h).
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/ewald.h"
#include "physics/tree_periodic.h"

enum { PARTS = 64, AT_ONCE = 4096, ROWS = 64 };

/* ---- memory --------------------------------------------------------------------------- */

int sap_cpu_far_reserve(struct sap_cpu_far *far)
{
    far->field = malloc(SAP_FAR_FIELD * sizeof *far->field);
    far->part = malloc(PARTS * sizeof *far->part);
    return far->field && far->part ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

void sap_cpu_far_free(struct sap_cpu_far *far)
{
    free(far->field);
    free(far->part);
}

size_t sap_cpu_far_bytes(const struct sap_tree_settings *settings)
{
    return settings->period > 0 ? (PARTS + 1) * SAP_FAR_TERMS * sizeof(double) : 0;
}

/* ---- positions ------------------------------------------------------------------------ */

static void put_some_inside(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct sap_cpu_tree *const t = argument;
    for (ptrdiff_t i = from; i < to; i++)
        for (int c = 0; c < 3; c++) t->given.x[i][c] = sap_image_inside(t->given.x[i][c], t->settings.period);
}

void sap_cpu_periodic_inside(struct sap_cpu_tree *t, int threads)
{
    if (t->settings.period > 0)
        sap_team_for(threads, t->given.n, sap_team_chunk(t->given.n, threads, AT_ONCE), put_some_inside, t);
}

static void follow_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct sap_cpu_tree *const t = argument;
    for (ptrdiff_t k = from; k < to; k++) {
        double *const x = t->given.x[t->order.address[k]];
        for (int c = 0; c < 3; c++) x[c] = sap_image_followed(x[c], t->own.x[k][c], t->settings.period);
    }
}

void sap_cpu_periodic_follow(struct sap_cpu_tree *t, int threads)
{
    if (t->settings.period > 0)
        sap_team_for(threads, t->own.n, sap_team_chunk(t->own.n, threads, AT_ONCE), follow_some, t);
}

/* ---- the field ------------------------------------------------------------------------ */

/* Returns the first sorted particle of a part: parts depend on the number of particles alone. */
static int first_of(const struct sap_cpu_tree *t, ptrdiff_t part) { return (int)((long long)t->own.n * part / PARTS); }

static void add_some_moments(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct sap_cpu_tree *const t = argument;
    for (ptrdiff_t p = from; p < to; p++) {
        const int first = first_of(t, p), n = first_of(t, p + 1) - first;
        memset(t->far.part[p], 0, sizeof t->far.part[p]);
        t->frame.wide->far_moments((const double(*)[4])t->own.x + first, n, 1 / t->settings.period, t->far.part[p]);
    }
}

int sap_cpu_periodic_field(struct sap_cpu_tree *t, int threads)
{
    double sum[SAP_FAR_TERMS] = {0};
    if (t->far.known) return SAPPORO_OK;
    sap_team_for(threads, PARTS, 1, add_some_moments, t);
    for (int p = 0; p < PARTS; p++)
        for (int k = 0; k < SAP_FAR_TERMS; k++) sum[k] += t->far.part[p][k];
    const int status = sap_ewald_field(sum, t->far.field);
    t->far.known = !status;
    return status;
}

/* The far images of the targets of a run, in threads. */
struct far_rows {
    const struct sap_cpu_tree *tree;
    const struct sap_cpu_run *run;
    atomic_int beyond;
};

/* Adds x over a power of the period, in the caller's masses, to *to; returns whether the sum is finite. */
static int add(const struct sap_cpu_tree *t, double x, int power, double *to)
{
    double value = x / t->frame.mass_unit;
    for (int k = 0; k < power; k++) value /= t->settings.period;
    *to += value;
    return isfinite(*to);
}

/* Adds the far images to a row of forces. */
static int add_force(const struct far_rows *f, const double *of, int row)
{
    double(*const acc)[3] = f->run->acc, *const pot = f->run->pot;
    int finite = 1;
    if (pot) finite &= add(f->tree, -of[0], 1, pot + row);
    for (int c = 0; c < 3 && acc; c++) finite &= add(f->tree, of[1 + c] * SAP_FAR_SCALE, 2, acc[row] + c);
    if (finite) return 1;
    if (pot) pot[row] = NAN;
    for (int c = 0; c < 3 && acc; c++) acc[row][c] = NAN;
    return 0;
}

/* Adds the far images to a row of tensors. */
static int add_tensor(const struct far_rows *f, const double *of, int row)
{
    double *const tidal = f->run->tidal[row];
    int finite = 1;
    for (int q = 0; q < SAP_FAR_TIDAL; q++) finite &= add(f->tree, of[q] * SAP_FAR_SCALE * SAP_FAR_SCALE, 3, tidal + q);
    for (int q = 0; q < SAP_FAR_TIDAL && !finite; q++) tidal[q] = NAN;
    return finite;
}

static void add_some_rows(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct far_rows *const f = argument;
    const struct sap_cpu_tree *const t = f->tree;
    const struct sap_cpu_slots *const slots = f->run->slots;
    const double(*const x)[4] = f->run->walkers->x, inverse = 1 / t->settings.period;
    double of[ROWS * SAP_FAR_TIDAL];
    for (int k = (int)from; k < to; k += ROWS) {
        const int n = (int)(to - k < ROWS ? to - k : ROWS);
        if (f->run->tidal)
            t->frame.wide->far_tensors(t->far.field, x, slots->walker + k, n, inverse, of);
        else
            t->frame.wide->far_forces(t->far.field, x, slots->walker + k, n, inverse, of);
        for (int i = 0; i < n; i++) {
            const int row = slots->row[k + i];
            const int held = f->run->tidal ? add_tensor(f, of + (ptrdiff_t)i * SAP_FAR_TIDAL, row)
                                           : add_force(f, of + (ptrdiff_t)i * SAP_FAR_FORCE, row);
            if (!held) atomic_fetch_add(&f->beyond, 1);
        }
    }
}

/* ---- images --------------------------------------------------------------------------- */

struct sap_cpu_images sap_cpu_images_of(const struct sap_cpu_run *run)
{
    if (run->period > 0) return (struct sap_cpu_images){0, SAP_NEAR_IMAGES - 1};
    return (struct sap_cpu_images){SAP_NO_SHIFT, SAP_NO_SHIFT};
}

void sap_cpu_shift(const struct sap_cpu_run *run, int image, double *x)
{
    for (int c = 0; c < 3 && image != SAP_NO_SHIFT; c++) x[c] += SAP_SHIFT_OF(image, c) * run->period;
}

void sap_cpu_periodic_add(const struct sap_cpu_tree *t, struct sap_cpu_run *run, int threads)
{
    struct far_rows far = {.tree = t, .run = run};
    sap_team_for(threads, run->slots->n, ROWS, add_some_rows, &far);
    run->beyond += atomic_load(&far.beyond);
}
