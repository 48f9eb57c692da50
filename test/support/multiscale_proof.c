/* multiscale_proof.c - see multiscale_proof.h. */
#include "multiscale_proof.h"
#include "worst.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

/* Rows may differ by so many times the largest error of rows in double from other cells' (see the header). */
enum { PROOF_OTHER_CELLS = 4 };

/* ---- exact forces -------------------------------------------------------------------------- */

/* Potential and acceleration over distance of a pair of mass 1. */
struct pair {
    real pot, acc;
};

static struct pair newton(real r2)
{
    const real u = r2 > 0 ? 1 / sqrtl(r2) : 0;
    return (struct pair){-u, u * u * u};
}

/* Springel, Yoshida & White 2001, New Astronomy 6, 79, appendix A. */
static struct pair spline(real r2, real h)
{
    const real r = sqrtl(r2), u = h > 0 ? r / h : 2, u2 = u * u, h3 = h * h * h;
    if (u >= 1) return newton(r2);
    if (u < 0.5L)
        return (struct pair){(-14 / 5.0L + u2 * (16 / 3.0L + u2 * (32 * u / 5 - 48 / 5.0L))) / h,
                             (32 / 3.0L + u2 * (32 * u - 192 / 5.0L)) / h3};
    return (struct pair){(-16 / 5.0L + 1 / (15 * u) + u2 * (32 / 3.0L + u * (-16 + u * (48 / 5.0L - 32 * u / 15)))) / h,
                         (64 / 3.0L + u * (-48 + u * (192 / 5.0L - 32 * u / 3)) - 1 / (15 * u * u2)) / h3};
}

static struct pair pair_of(const struct multiscale *s, real r2, double hi, double hj)
{
    if (!s->h) return newton(r2 + s->options.eps2);
    if (s->options.softening == SAPPORO_SOFTENING_SPLINE_LARGER) return spline(r2, hi > hj ? hi : hj);
    const struct pair a = spline(r2, hi), b = spline(r2, hj);
    return (struct pair){(a.pot + b.pot) / 2, (a.acc + b.acc) / 2};
}

static void add_pair(struct proof_row *row, struct pair p, double mass, const real *d, real r)
{
    const double pot = (double)fabsl(mass * p.pot), acc = (double)fabsl(mass * p.acc * r);
    row->pot += mass * p.pot;
    for (int c = 0; c < 3; c++) row->acc[c] += mass * p.acc * d[c];
    row->size[0] += acc;
    row->size[1] += pot;
    row->most[0] = larger_of(row->most[0], acc);
    row->most[1] = larger_of(row->most[1], pot);
}

/* The particle that target i is; -1: a position. */
static int own_of(const struct multiscale *s, int i) { return s->position ? -1 : s->active ? s->active[i] : i; }

static const double *position_of(const struct multiscale *s, int i)
{
    return s->position ? s->position[i] : multiscale_positions(s)[own_of(s, i)];
}

void proof_exact(const struct multiscale *s, int i, struct proof_row *row)
{
    const double(*const x)[3] = multiscale_positions(s);
    const int own = own_of(s, i);
    const double *const at = position_of(s, i), usual = sqrt(s->options.eps2),
                        hi = !s->h           ? 0
                             : own >= 0      ? s->h[own]
                             : s->position_h ? s->position_h[i]
                                             : usual;
    memset(row, 0, sizeof *row);
    row->nearest = INFINITY;
    for (int j = 0; j < s->n; j++) {
        real d[3], r2 = 0;
        if (j == own) continue;
        for (int c = 0; c < 3; c++) d[c] = (real)x[j][c] - at[c], r2 += d[c] * d[c];
        const real r = sqrtl(r2);
        if (r > 0) row->nearest = fmin(row->nearest, (double)r);
        add_pair(row, pair_of(s, r2, hi, s->h ? s->h[j] : 0), s->mass[j], d, r);
    }
}

/* ---- checks --------------------------------------------------------------------------------- */

/* All that is known of a proof. */
struct proof {
    const struct multiscale *s;
    struct proof_row *row;
    const struct proof_answer *wide, *narrow; /* in double, and in another precision */
    double scale;                             /* the median of the largest coordinates of particles */
    struct proof_verdict *v;
};

static void fail(struct proof *p, const char *precision, int i, const char *what, double error, double bound)
{
    struct proof_verdict *const v = p->v;
    const double *const x = position_of(p->s, i);
    if (v->failed++) return;
    (void)snprintf(
        v->text, sizeof v->text,
        "%s: %s of row %d is off by %.3e; %.3e is allowed, largest pair %.3e, all %.3e, nearest source %.3e, "
        "at (%.17g, %.17g, %.17g)",
        precision, what, i, error, bound, p->row[i].most[*what == 'p'], p->row[i].size[*what == 'p'], p->row[i].nearest,
        x[0], x[1], x[2]);
}

static void check(struct proof *p, const char *precision, int i, int is_pot, double error, double bound)
{
    const double part = error <= bound ? (bound > 0 ? error / bound : 0) : error < INFINITY ? error / bound : INFINITY;
    p->v->worst = worst_of(p->v->worst, part);
    if (!(error <= bound)) fail(p, precision, i, is_pot ? "potential" : "acceleration", error, bound);
}

/* Differences of a row from given values. */
static void errors_of(const struct proof_answer *a, int i, const real *acc, real pot, double *error)
{
    real d2 = 0;
    for (int c = 0; c < 3; c++) d2 += (a->acc[i][c] - acc[c]) * (a->acc[i][c] - acc[c]);
    error[0] = (double)sqrtl(d2);
    error[1] = (double)fabsl(a->pot[i] - pot);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns number `at` of the largest coordinates of particles, from a point, by size; 0 without memory. */
static double distance_from(const struct multiscale *s, const double *from, int at)
{
    const double(*const x)[3] = multiscale_positions(s);
    double *const size = calloc((size_t)s->n + 1, sizeof *size);
    for (int k = 0; k < s->n && size; k++)
        for (int c = 0; c < 3; c++) size[k] = larger_of(size[k], fabs(x[k][c] - from[c]));
    if (size) qsort(size, (size_t)s->n, sizeof *size, by_size);
    const double found = size ? size[at] : 0;
    free(size);
    return found;
}

/*
 * Returns the largest error of a cell's pull that the criterion of multipoles may allow: it is absolute, so it may
 * exceed all pairs of a target within its softening length.  The unit is that of the part of the model about a particle
 * that holds a sixteenth of the others, of few half or eight of them (engine/pull.h); here of one of the densest parts.
 */
static double largest_pull_error(const struct multiscale *s)
{
    const double(*const x)[3] = multiscale_positions(s);
    const int few = s->n / 2 < 8 ? s->n / 2 : 8, at = s->n / 16 > few ? s->n / 16 : few;
    double radius = INFINITY, mass = 0;
    if (s->options.mac != SAPPORO_MAC_MULTIPOLE) return 0;
    for (int k = 0; k < s->n; k += 1 + s->n / 128) radius = fmin(radius, distance_from(s, x[k], at));
    for (int k = 0; k < s->n; k++) mass += fabs(s->mass[k]);
    if (mass == 0) return 0;
    return fmin(s->options.accuracy * mass / (radius * radius), 1e300);
}

/*
 * Returns the part of the sum of sizes by which cells may be off, if the criterion works at all: about twice what
 * 60,000 systems had, in which cells are as uneven as they can be.
 */
static double criterion_of(const struct multiscale *s)
{
    const double a = s->options.accuracy, least = 1e-3;
    /* the size of a cell is its longest edge: a diagonal may be 1.7 times as long */
    if (s->options.mac == SAPPORO_MAC_OPENING) return least + 2.5 * (s->options.order == 1 ? a * a : a * a * a);
    /* of ACCELERATION systems are given sizes of accelerations that may be 100 times too large */
    return least + (s->options.mac == SAPPORO_MAC_ACCELERATION ? 16 : 4) * sqrt(a);
}

/* Returns the largest coordinate that counts for target i: its own, or that of most particles. */
static double coordinate_of(const struct proof *p, int i)
{
    const double *const x = position_of(p->s, i);
    double size = p->scale;
    for (int c = 0; c < 3; c++) size = larger_of(size, fabs(x[c]));
    return size;
}

double proof_rounding(sapporo_precision precision, int n)
{
    const int most = precision == SAPPORO_DS ? PROOF_BLOCK_DS : PROOF_BLOCK_SP, block = n < most ? n : most;
    if (precision == SAPPORO_DP) return (PROOF_TERM_DP + 0.5 * n) * 0x1p-53;
    return (PROOF_TERM + 0.5 * block) * 0x1p-24;
}

/* Whether a message stands in place of a right row, and may do so. */
static int is_beyond(const struct proof *p, const struct proof_answer *a, int i)
{
    return p->row[i].nearest < PROOF_NEAREST * coordinate_of(p, i) && a->text[0];
}

static void check_wide(struct proof *p)
{
    const int has_cells = p->wide->cells != 0;
    const double rounding = proof_rounding(SAPPORO_DP, p->s->n);
    const double pull = has_cells ? 8 * largest_pull_error(p->s) : 0;
    double error[2];
    for (int i = 0; i < p->s->ni; i++) {
        const struct proof_row *const row = &p->row[i];
        /* centres of cells are rounded, even of cells whose particles are at one position */
        const double centres = 0x1p-51 * coordinate_of(p, i) / row->nearest;
        const double cells = has_cells ? criterion_of(p->s) + centres : 0;
        if (is_beyond(p, p->wide, i)) continue;
        errors_of(p->wide, i, row->acc, row->pot, error);
        for (int q = 0; q < 2; q++) {
            check(p, "dp", i, q, error[q], (cells + rounding) * row->size[q] + pull * (q ? coordinate_of(p, i) : 1));
            if (row->size[q] > 0) p->v->criterion = worst_of(p->v->criterion, error[q] / row->size[q]);
        }
    }
}

static const char *word_of(sapporo_precision p) { return p == SAPPORO_DS ? "ds" : "sp"; }

/* What sums in another precision than double may be off by; others: the part of the sum of sizes by other cells. */
static void narrow_bounds(const struct proof *p, sapporo_precision precision, int i, double others, double *bound)
{
    const double pair = precision == SAPPORO_DS ? PROOF_PAIR_DS : PROOF_PAIR_SP,
                 sum = proof_rounding(precision, p->s->n) + others;
    for (int q = 0; q < 2; q++) bound[q] = pair * p->row[i].most[q] + sum * p->row[i].size[q];
}

/* Checks row i against the force in double, or against the exact one: its cells may be others than those in double. */
static void check_narrow_row(struct proof *p, sapporo_precision precision, int i)
{
    const struct proof_row *const row = &p->row[i];
    const double *const a = p->wide->acc[i];
    const real acc[3] = {a[0], a[1], a[2]};
    double error[2], bound[2];
    errors_of(p->narrow, i, acc, p->wide->pot[i], error);
    narrow_bounds(p, precision, i, 0, bound);
    if ((p->wide->cells != 0 || p->narrow->cells != 0) && !(error[0] <= bound[0] && error[1] <= bound[1])) {
        const double accuracy = p->s->options.mac == SAPPORO_MAC_ACCELERATION ? p->s->options.accuracy : 0;
        errors_of(p->narrow, i, row->acc, row->pot, error);
        narrow_bounds(p, precision, i, PROOF_OTHER_CELLS * p->v->criterion + accuracy, bound);
    }
    for (int q = 0; q < 2; q++) check(p, word_of(precision), i, q, error[q], bound[q]);
}

static void check_narrow(struct proof *p, sapporo_precision precision)
{
    for (int i = 0; i < p->s->ni; i++)
        if (!is_beyond(p, p->narrow, i)) check_narrow_row(p, precision, i);
}

void proof_check(const struct multiscale *s, const struct proof_answer *wide, const struct proof_answer *narrow,
                 sapporo_precision precision, struct proof_verdict *v)
{
    static const double origin[3];
    struct proof p = {.s = s, .v = v, .scale = distance_from(s, origin, s->n / 2), .wide = wide, .narrow = narrow};
    p.row = calloc((size_t)s->ni + 1, sizeof *p.row);
    for (int i = 0; i < s->ni && p.row; i++) proof_exact(s, i, &p.row[i]);
    if (p.row) check_wide(&p);
    if (p.row && narrow) check_narrow(&p, precision);
    v->failed += !p.row;
    free(p.row);
}

/* Whether a system has targets for which an error may stand in place of forces. */
static int has_beyond(const struct multiscale *s)
{
    static const double origin[3];
    const struct proof p = {.s = s, .scale = distance_from(s, origin, s->n / 2)};
    int beyond = 0;
    for (int i = 0; i < s->ni && !beyond; i++) {
        struct proof_row row;
        proof_exact(s, i, &row);
        beyond = row.nearest < PROOF_NEAREST * coordinate_of(&p, i);
    }
    return beyond;
}

/* Computes a force; 0: there is none to check. */
static int compute(const struct multiscale *s, const struct proof_engine *e, struct proof_answer *a,
                   struct proof_verdict *v)
{
    const int good = proof_force(s, e, a), status = a->status;
    if (good && status >= 0) return 1;
    v->refused =
        good &&
        ((e->precision == SAPPORO_DS && (status == SAPPORO_ERR_UNSUPPORTED || status == SAPPORO_ERR_ARGUMENT)) ||
         (status == SAPPORO_ERR_NOT_FINITE && has_beyond(s)));
    v->failed += !v->refused;
    if (v->failed) (void)snprintf(v->text, sizeof v->text, "status %d: %s", status, good ? a->text : "no memory");
    return 0;
}

void proof_of(const struct multiscale *s, const struct proof_engine *e, struct proof_verdict *v)
{
    struct proof_answer wide = {.rows = 0}, narrow = {.rows = 0};
    struct proof_engine in_double = *e;
    memset(v, 0, sizeof *v);
    in_double.precision = SAPPORO_DP;
    if (compute(s, &in_double, &wide, v)) {
        const int both = e->precision != SAPPORO_DP && compute(s, e, &narrow, v);
        if (!v->failed) proof_check(s, &wide, both ? &narrow : NULL, e->precision, v);
    }
    proof_free(&wide);
    proof_free(&narrow);
}
