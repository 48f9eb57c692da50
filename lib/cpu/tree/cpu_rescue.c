/*
 * cpu_rescue.c - the sums of a walk in the caller's units, and the force on one particle whose pair terms leave the
 * range of double in units of the tree: each pair is computed from a unit vector and quotients, so only forces that
 * double cannot hold are lost.
 */
#include <math.h>

#include "cpu/tree/cpu_tree.h"

/* Computes n = d / R and R, with R^2 = |d|^2 + eps^2; 0: the distance is 0. */
static double unit_vector(const double *d, double eps, double *n)
{
    const double size = fmax(fmax(fabs(d[0]), fabs(d[1])), fmax(fabs(d[2]), eps));
    double r2 = 0;
    if (!(size > 0)) return 0;
    for (int c = 0; c < 3; c++) r2 += d[c] / size * (d[c] / size);
    r2 += eps / size * (eps / size);
    const double root = sqrt(r2);
    for (int c = 0; c < 3; c++) n[c] = d[c] / size / root;
    return size * root;
}

/* Returns a softening length with number k of some in units of the tree, if lengths add to distances. */
static double softened(const struct sap_cpu_field *t, double eps, const double *length, int k)
{
    return t->frame->pairs->adds ? hypot(eps, length[k] / t->frame->unit) : eps;
}

struct sap_cpu_rescue sap_cpu_rescue_of(const struct sap_cpu_field *t, const struct sap_cpu_walkers *of, int walker)
{
    const double *const x = of->x[walker], eps = sqrt(t->frame->soft.eps2);
    return (struct sap_cpu_rescue){
        .x = {x[0], x[1], x[2]}, .eps = softened(t, eps, of->h, walker), .pot = t->frame->pairs->lost};
}

static void add_pair(struct sap_cpu_rescue *r, const double *x, double mass, double eps)
{
    const double d[3] = {x[0] - r->x[0], x[1] - r->x[1], x[2] - r->x[2]};
    double n[3] = {0, 0, 0};
    const double length = unit_vector(d, eps, n);
    if (!(length > 0)) return;
    r->pot += mass / length;
    for (int c = 0; c < 3; c++) r->acc[c] += mass / length / length * n[c];
}

void sap_cpu_tree_rescue_particles(const struct sap_cpu_field *t, int from, int to, int self, struct sap_cpu_rescue *r)
{
    for (int k = from; k < to; k++)
        if (k != self) add_pair(r, t->from->x[k], t->from->x[k][3], softened(t, r->eps, t->from->h, k));
}

/* The terms of physics/tree_pair.h; moments are in units of the tree. */
void sap_cpu_tree_rescue_cell(const struct sap_cpu_field *t, int cell, struct sap_cpu_rescue *r)
{
    const struct sap_tree_source *const s = &t->from->source[cell];
    const double d[3] = {s->x[0] - r->x[0], s->x[1] - r->x[1], s->x[2] - r->x[2]}, *const q = s->s;
    const double mean = t->frame->pairs->adds ? sqrt(s->soft) : 0, eps = softened(t, r->eps, &mean, 0);
    double n[3] = {0, 0, 0};
    const double length = unit_vector(d, eps, n), units = length * t->frame->unit;
    if (t->frame->settings->order < 2 || !(length > 0)) {
        add_pair(r, s->x, s->mass, eps);
        return;
    }
    const double w[3] = {q[SAP_XX] * n[0] + q[SAP_XY] * n[1] + q[SAP_XZ] * n[2],
                         q[SAP_XY] * n[0] + q[SAP_YY] * n[1] + q[SAP_YZ] * n[2],
                         q[SAP_XZ] * n[0] + q[SAP_YZ] * n[1] + q[SAP_ZZ] * n[2]};
    const double a = w[0] * n[0] + w[1] * n[1] + w[2] * n[2];
    r->pot += (s->mass + (0.5 * a - s->t / 3) / units / units) / length;
    for (int c = 0; c < 3; c++) {
        const double along = s->mass + (2.5 * a - s->t) / units / units;
        r->acc[c] += (along * n[c] - w[c] / units / units) / length / length;
    }
}

static int is_finite_row(const double *acc, double pot)
{
    return isfinite(pot) && isfinite(acc[0]) && isfinite(acc[1]) && isfinite(acc[2]);
}

/*
 * Returns a sum of masses over a power of a length, 1 or 2, in the caller's units.  Where the factor leaves double, as
 * of a heavy point of tiny length, the product need not.
 */
static double from_units(const struct sap_cpu_frame *f, double sum, int power)
{
    const double unit = f->unit, x = sum * ((power > 1 ? unit * unit : unit) / f->mass_unit);
    return isfinite(x) ? x : sum / f->mass_unit * unit * (power > 1 ? unit : 1);
}

int sap_cpu_results(const struct sap_cpu_frame *f, const double *sum, double *acc, double *pot)
{
    *pot = 0 - from_units(f, sum[0], 1);
    for (int c = 0; c < 3; c++) acc[c] = from_units(f, sum[1 + c], 2);
    return is_finite_row(acc, *pot);
}

int sap_cpu_tidal_results(const struct sap_cpu_frame *f, const double *sum, double *tidal)
{
    int held = 1;
    for (int q = 0; q < SAP_MOMENTS2; q++) {
        tidal[q] = from_units(f, sum[q], 2) * f->unit;
        held &= isfinite(tidal[q]) != 0;
    }
    for (int q = 0; q < SAP_MOMENTS2 && !held; q++) tidal[q] = NAN;
    return held;
}

int sap_cpu_rescued(const struct sap_cpu_frame *f, const struct sap_cpu_rescue *r, double *acc, double *pot)
{
    *pot = 0 - r->pot / f->mass_unit;
    for (int c = 0; c < 3; c++) acc[c] = r->acc[c] / f->mass_unit;
    if (is_finite_row(acc, *pot)) return 1;
    for (int c = 0; c < 3; c++) acc[c] = *pot = NAN;
    return 0;
}

void sap_cpu_write_row(const struct sap_cpu_run *run, const double *acc, double pot, int row)
{
    if (run->pot) run->pot[row] = pot;
    for (int c = 0; c < 3 && run->acc; c++) run->acc[row][c] = acc[c];
}
