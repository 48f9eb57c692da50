/* oracle.c - forces and neighbours by looking at every pair. */
#include "oracle.h"
#include "../support/worst.h"
#include "series.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A source, predicted. */
struct source {
    real d[4][3];      /* x, v, a, jerk */
    double x[3], v[3]; /* in double, by the fixed sequence of operations */
    double size[4];    /* sums of the sizes of the terms of each derivative */
    double mass, eps2;
    int index, is_bad, is_far, is_exact; /* is_far: at infinity; is_exact: d[0] and x are equal */
};

/* Relative errors of coordinates, velocities and operations, by precision: docs/numerics.md. */
struct words {
    double x, v, unit;
};
static const struct words words_of[SAPPORO_DP + 1] = {[SAPPORO_SP] = {0x1p-24, 0x1p-24, 0x1p-24},
                                                      [SAPPORO_DS] = {0x1p-48, 0x1p-24, 0x1p-24},
                                                      [SAPPORO_DP] = {0x1p-51, 0x1p-51, 0x1p-53}};
/*
 * A pair has some 12 roundings.  Those of the 127 additions of a packet average out, but on a lattice, whose terms
 * repeat, only in part: a quarter of them counts.
 */
static const double roundings = 44;

static double sizes(const double *x) { return fabs(x[0]) + fabs(x[1]) + fabs(x[2]); }

static double sizes_of(const real *x) { return (double)(fabsl(x[0]) + fabsl(x[1]) + fabsl(x[2])); }

/* ------------------------------------------------------------- prediction */

/* Derivative k of a Taylor series of full terms. */
static void taylor(const real (*full)[3], int terms, int k, real dt, real *to, double *size)
{
    real factor = 1, sum[3] = {0, 0, 0};
    *size = 0;
    for (int m = k; m < terms; m++) {
        for (int c = 0; c < 3; c++) sum[c] += factor * full[m][c];
        *size += fabs((double)factor) * sizes_of(full[m]);
        factor *= dt / (m - k + 1);
        if (factor == 0) break;
    }
    memcpy(to, sum, sizeof sum);
}

static void predict(const struct store *s, const struct particle *p, double time, struct source *to)
{
    static const double factor[5] = {1, 1, 2, 6, 18};
    const real dt = s->order == 2 ? 0 : (real)time - p->time;
    const int terms = s->order > 4 ? TERMS_MOST : 5, wanted = s->order > 4 ? s->order / 2 : 2;
    real full[TERMS_MOST][3];
    double twice[2][3];
    for (int k = 0; k < terms; k++)
        for (int c = 0; c < 3; c++) full[k][c] = p->term[k][c] * (s->order > 4 ? 1 : (real)factor[k]);
    memset(to, 0, sizeof *to);
    for (int k = 0; k < wanted; k++) taylor((const real(*)[3])full, terms, k, dt, to->d[k], &to->size[k]);
    predict_double(s, p, time, 2, twice);
    memcpy(to->x, twice[0], sizeof to->x);
    memcpy(to->v, twice[1], sizeof to->v);
    to->is_exact = 1;
    for (int c = 0; c < 3; c++) to->is_exact &= to->d[0][c] == (real)to->x[c];
    to->mass = p->mass;
    to->eps2 = p->eps2;
    to->index = p->index;
    to->is_bad = p->is_bad;
    for (int k = 0; k < 2; k++) /* finite numbers that overflow on the way */
        for (int c = 0; c < 3; c++)
            if (!isfinite(twice[k][c])) to->size[0] = INFINITY;
    to->is_far = isfinite(p->mass) && !isnan(to->x[0]) && !isnan(to->x[1]) && !isnan(to->x[2]);
    to->is_far |= isfinite(p->mass) && isinf(p->time); /* what does not move is NaN then, the others are far */
}

/* ------------------------------------------------------------------- pairs */

/* Sums of one target. */
struct sums {
    real sum[SUMS];
    double size[QUANTITIES], by_x[QUANTITIES], by_v[QUANTITIES], slack[QUANTITIES];
    int is_wild; /* a pair is outside the ranges: nothing can be said */
};

struct target {
    double d[4][3], size[4];
    const int *index;
};

/* Snap and crackle. */
static void add_higher(const struct source *j, const struct target *t, real (*d)[3], real softened2, struct sums *s)
{
    static const double factorial[4] = {1, 1, 2, 6}, h = 0x1p-24;
    real r[4][3], square[4] = {0}, f[4];
    double size[4], more[4], bound[4], above[4];
    for (int c = 0; c < 3; c++) {
        r[0][c] = d[0][c], r[1][c] = d[1][c], r[2][c] = d[2][c] / 2, r[3][c] = d[3][c] / 6;
        for (int n = 1; n < 4; n++)
            for (int k = 0; k <= n; k++) square[n] += r[k][c] * r[n - k][c];
    }
    square[0] = softened2;
    to_minus_three_halves(square, f);
    for (int n = 2; n < 4; n++)
        for (int c = 0; c < 3; c++)
            for (int k = 0; k <= n; k++) s->sum[1 + 3 * n + c] += factorial[n] * f[k] * r[n - k][c] * j->mass;
    size[0] = more[0] = sqrt((double)softened2);
    for (int k = 1; k < 4; k++) size[k] = sizes_of(d[k]), more[k] = size[k] + h * (j->size[k] + t->size[k]);
    bound_series(size, bound);
    bound_series(more, above);
    for (int n = 2; n < 4; n++) {
        s->size[ACC + n] += fabs(j->mass) * bound[n];
        s->by_x[ACC + n] += fabs(j->mass) * (4 + 3 * n) * (bound[n] / size[0]) * (j->size[0] + t->size[0]);
        s->by_v[ACC + n] += fabs(j->mass) * ((above[n] - bound[n]) / h);
    }
}

/*
 * With a relative error e of the coordinates, r is off by e * x_size, and d(1/R) <= dr / R^2, d(r/R^3) <= 4 dr / R^3,
 * d(jerk) <= 24 v dr / R^4 + 4 dv / R^3.
 */
static void add_sizes(const struct source *j, const struct target *t, real (*d)[3], double R2, double rv,
                      struct sums *s)
{
    const double one = 1 / sqrt(R2), two = one * one, three = two * one, four = two * two, m = fabs(j->mass);
    const double r = sizes_of(d[0]), v = sizes_of(d[1]), x_size = j->size[0] + t->size[0];
    s->size[POT] += m * one;
    s->size[ACC] += m * r * three;
    s->size[JERK] += m * (v * three + 3 * rv * r * three * two);
    s->by_x[POT] += m * x_size * two;
    s->by_x[ACC] += 4 * m * x_size * three;
    s->by_x[JERK] += 24 * m * v * x_size * four;
    s->by_v[JERK] += 4 * m * (j->size[1] + t->size[1]) * three;
}

/* Whether the numbers of a pair are inside the ranges in which errors are known. */
static int is_tame(const struct source *j, const struct target *t, double R2, sapporo_precision precision)
{
    const struct words w = words_of[precision];
    const double x_size = j->size[0] + t->size[0], R = sqrt(R2), u = 1 / R, m = fabs(j->mass);
    const int single = precision != SAPPORO_DP;
    const double most = single ? 0x1p36 : 1e150, least2 = single ? 0x1p-110 : 1e-280;
    const double largest = single ? 0x1p110 : 1e280, speed = single ? 1e15 : 1e60;
    if (!(x_size < most && R2 > least2 && R2 < most * most)) return 0;
    if (!(w.x * x_size * u < 0.125)) return 0;
    if (!(m < largest && m * u < largest && m * u * u * u * (1 + R) < largest)) return 0;
    for (int k = 1; k < 4; k++) {
        const double size = j->size[k] + t->size[k];
        if (!(size < speed && m * u * u * u * size * (1 + x_size * u) < largest)) return 0;
        /* terms of derivative k + 1 have products of k velocities over distances */
        if (!(size * u < speed)) return 0;
    }
    return 1;
}

/*
 * What is lost at the lower end of numbers.  Single precision has none below 2^-149, and a product of two small numbers
 * may vanish before a large one multiplies it.  Sums of superpackets below 2^-959 count as zero.
 */
static void add_slack(const struct source *j, real (*d)[3], double R2, sapporo_precision precision, struct sums *s)
{
    const double least = precision == SAPPORO_DP ? 0x1p-955 : 1e-37,
                 tiny = precision == SAPPORO_DP ? 0x1p-1060 : 0x1p-147;
    const double u = 1 / sqrt(R2), m = fabs(j->mass), mu3 = m * u * u * u, r = sizes_of(d[0]);
    const double v = sizes_of(d[1]), a = sizes_of(d[2]), jerk = sizes_of(d[3]);
    const double lost = (m < least || mu3 < least ? mu3 : 0) + least, vanished = tiny * mu3 * (1 + r + r * u * u);
    const double moves = (1 + v) * (1 + v) * (1 + a) * (1 + jerk) * (1 + u) * (1 + u) * (1 + u) * (1 + u);
    s->slack[POT] += (m < least ? m * u : 0) + least;
    s->slack[ACC] += lost * r + least;
    s->slack[JERK] += 8 * lost * (1 + v) * (1 + u) * (1 + u) + 8 * vanished;
    s->slack[SNAP] += 8 * (lost + vanished) * moves;
    s->slack[CRACKLE] += 8 * (lost + vanished) * moves * (1 + u) * (1 + u);
}

/* A pair that does not count is removed by factors of zero, which numbers beyond the range show. */
static void skip(const struct source *j, const struct target *t, sapporo_precision precision, struct sums *s)
{
    const int single = precision != SAPPORO_DP;
    const double most = single ? 0x1p36 : 1e150, speed = single ? 1e15 : 1e60;
    s->is_wild |= !(j->size[0] + t->size[0] < most) || !(fabs(j->mass) < (single ? 0x1p110 : 1e280));
    for (int k = 1; k < 4; k++) s->is_wild |= !(j->size[k] + t->size[k] < speed);
}

static void add_pair(const struct store *store, const struct force *f, const struct source *j, const struct target *t,
                     double eps2, struct sums *s)
{
    real d[4][3], r2 = 0;
    if (s->is_wild) return;
    for (int k = 0; k < 4; k++)
        for (int c = 0; c < 3; c++) d[k][c] = j->d[k][c] - t->d[k][c];
    for (int c = 0; c < 3; c++) r2 += d[0][c] * d[0][c];
    const real R2 = r2 + eps2;
    if (R2 == 0 && j->is_exact && j->size[0] + t->size[0] < 0x1p36) { /* skipped: certainly at one place */
        skip(j, t, f->precision, s);
        return;
    }
    if (!is_tame(j, t, (double)R2, f->precision)) {
        s->is_wild = 1;
        return;
    }
    const real u = 1 / sqrtl(R2), u3 = u * u * u, rv = d[0][0] * d[1][0] + d[0][1] * d[1][1] + d[0][2] * d[1][2];
    const real mu3 = j->mass * u3, w = 3 * rv * u * u;
    s->sum[0] -= j->mass * u;
    for (int c = 0; c < 3; c++) {
        s->sum[1 + c] += mu3 * d[0][c];
        s->sum[4 + c] += mu3 * (d[1][c] - w * d[0][c]);
    }
    add_sizes(j, t, d, (double)R2, fabs((double)rv), s);
    add_slack(j, d, (double)R2, f->precision, s);
    if (store->order > 4) add_higher(j, t, d, R2, s);
}

/* -------------------------------------------------------------- neighbours */

static double distance2(const struct source *j, const double *x)
{
    double r2 = 0;
    for (int c = 0; c < 3; c++) r2 += (j->x[c] - x[c]) * (j->x[c] - x[c]);
    return r2;
}

/* The squared distance that decides about members of lists. */
static double member2(const struct force *f, const struct source *j, const struct target *t, double dtr)
{
    const double now = distance2(j, t->d[0]);
    double later = 0;
    if (f->pairs != PAIRS_OUTSIDE) return now;
    for (int c = 0; c < 3; c++) {
        const double r = j->x[c] - t->d[0][c], moved = r + dtr * (j->v[c] - t->d[1][c]);
        later += moved * moved;
    }
    return later < now ? later : now;
}

static int ascending(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void sort_list(struct row *row)
{
    int kept = 0;
    if (row->n > 1) qsort(row->list, (size_t)row->n, sizeof *row->list, ascending);
    for (int k = 0; k < row->n; k++)
        if (k == 0 || row->list[k] != row->list[k - 1]) row->list[kept++] = row->list[k];
    row->n = kept;
}

/* ------------------------------------------------------------------ a force */

static int finite_three(const double *x) { return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]); }

/* Reads target i; 0: it is not finite. */
static int read_target(const struct store *s, const struct force *f, int i, struct target *t)
{
    double(*const from[4])[3] = {f->x, f->v, f->a, f->jerk};
    int good = 1;
    memset(t, 0, sizeof *t);
    for (int k = 0; k < 4 && k < s->order / 2; k++) {
        if (from[k]) memcpy(t->d[k], from[k][i], sizeof t->d[k]);
        t->size[k] = sizes(t->d[k]);
        good &= finite_three(t->d[k]);
    }
    t->index = f->index ? &f->index[i] : NULL;
    return good;
}

static void finish(const struct store *store, const struct sums *s, sapporo_precision precision, struct row *row)
{
    const struct words w = words_of[precision];
    for (int q = 0; q < QUANTITIES; q++) {
        const double bound = roundings * w.unit * s->size[q] + 1.5 * w.x * s->by_x[q] + w.v * s->by_v[q] + s->slack[q];
        row->bounded[q] = !s->is_wild && q <= store->order / 2 && bound < 1e290;
        if (precision != SAPPORO_DP && s->size[q] > 0x1p120) row->bounded[q] = 0;
        row->bound[q] = bound;
    }
    for (int k = 0; k < SUMS; k++) row->sum[k] = (double)s->sum[k];
}

/* A row of NaN. */
static void no_row(struct answer *a, int i)
{
    a->row[i].is_nan = 1;
    a->row[i].nearest = -1;
    a->row[i].r2 = NAN;
    a->bad++;
}

/* Whether a squared softening leaves room for the squares of distances. */
static int is_moderate(double eps2, sapporo_precision precision)
{
    return eps2 < (precision == SAPPORO_DP ? 1e290 : 1e36);
}

/* Whether a target's own numbers are outside the ranges. */
static int is_beyond(const struct target *t, sapporo_precision precision)
{
    const double most = precision == SAPPORO_DP ? 1e150 : 0x1p36, speed = precision == SAPPORO_DP ? 1e60 : 1e15;
    return !(t->size[0] < most && t->size[1] < speed && t->size[2] < speed && t->size[3] < speed);
}

/* Where numbers are beyond single precision, kernels that have nothing else cannot tell distances apart. */
static void note_range(const struct force *f, const struct target *t, double h2, struct row *row)
{
    double most = 0;
    row->any_nearest = row->any_list = !isfinite(f->time);
    row->any_nearest |= row->nearest != -1 && !(row->r2 < INFINITY); /* squares beyond double */
    row->any_list |= h2 > 1e290;                                     /* squares beyond double */
    if (f->precision == SAPPORO_DP || row->any_nearest) return;
    for (int c = 0; c < 3; c++) most = larger_of(most, fabs(t->d[0][c]));
    row->any_nearest = most > 1e37 || row->r2 > 1e37;
    row->any_list = h2 > 0 && (most > 1e37 || h2 > 1e36);
}

/* Whether a source has numbers with which spheres of forces without neighbours cannot be compared. */
static int is_heavy(const struct source *j, sapporo_precision precision)
{
    const double most = precision == SAPPORO_DP ? 1e150 : 1e17;
    return !(fabs(j->mass) < (precision == SAPPORO_DP ? 1e290 : 1e37)) || !(j->size[0] < most && j->size[1] < most);
}

int store_is_wide(const struct store *s, sapporo_precision precision)
{
    if (precision == SAPPORO_DP) return 0;
    for (int k = 0; k < s->n; k++) {
        const struct particle *const p = &s->at[k];
        const double m = fabs(p->mass), v = s->order > 2 ? sizes(p->term[1]) : 0;
        if (!(sizes(p->term[0]) < 0x1p36 && v < 1e15 && (m == 0 || (m > 0x1p-100 && m < 0x1p60)))) return 1;
    }
    return 0;
}

/* The largest coordinate, up to 1, if the library multiplies the particles by powers of two, else 1. */
static double store_extent(const struct store *s)
{
    double most = 0;
    for (int k = 0; k < s->n; k++) most = larger_of(most, sizes(s->at[k].term[0]));
    return most > 0 && (most < 0x1p-20 || store_is_wide(s, SAPPORO_SP)) ? fmin(most, 1) : 1;
}

static void solve_row(const struct store *store, const struct force *f, const struct source *source, int n, int i,
                      struct row *row, const struct target *t)
{
    struct sums s = {0};
    const double h2 = f->h2 && f->h2[i] > 0 ? f->h2[i] : 0, dtr = f->dtr ? f->dtr[i] : 0;
    const double own2 = f->eps2 + (f->eps2_i ? f->eps2_i[i] : 0);
    const double extent = store_extent(store); /* of a small system, in whose units its targets are */
    double best = INFINITY;
    int any = 0, heavy = 0; /* heavy: numbers beyond the range, with which spheres are compared */
    row->nearest = -1;
    /* addresses without a particle have factors of zero, too */
    s.is_wild = f->spline || is_beyond(t, f->precision) ||
                (f->precision != SAPPORO_DP && t->size[0] > 0x1p36 * extent) || !is_moderate(own2, f->precision) ||
                !(fabs(f->time) < 1e290);
    if (h2 > 0) row->list = calloc((size_t)n + 1, sizeof *row->list);
    for (int k = 0; k < n; k++) {
        const struct source *const j = &source[k];
        if (f->pairs == PAIRS_SKIP_OWN && j->index == *t->index) {
            skip(j, t, f->precision, &s);
            row->is_doubtful |= j->is_bad;
            continue;
        }
        const double r2 = distance2(j, t->d[0]);
        heavy |= f->pairs == PAIRS_OUTSIDE && (j->is_bad || is_heavy(j, f->precision));
        if (r2 < best || (r2 == best && !any)) any = 1, best = r2, row->nearest = j->index;
        if (h2 > 0 && member2(f, j, t, dtr) < (f->by_mass ? j->mass * h2 : h2)) {
            row->list[row->n++] = j->index;
            if (f->pairs == PAIRS_OUTSIDE) {
                skip(j, t, f->precision, &s);
                continue;
            }
        }
        row->is_broken |= j->is_bad && !j->is_far;
        row->is_shown |= j->is_bad && j->is_far;
        if (!j->is_bad) add_pair(store, f, j, t, own2 + j->eps2, &s);
    }
    row->r2 = best;
    note_range(f, t, h2, row);
    row->any_list |= heavy || !is_moderate(own2, f->precision); /* distances are softened ones */
    row->any_nearest |= !is_moderate(own2, f->precision);
    row->is_doubtful |= heavy;
    s.is_wild |= heavy;
    if (heavy) row->is_broken = row->is_shown = 0;
    row->any_nearest |= !(best < INFINITY) && (row->is_broken || row->is_shown);
    sort_list(row);
    finish(store, &s, f->precision, row);
}

/*
 * Targets beyond the range of single precision, or much faster than all sources, may decide the units of those beside
 * them, or be beyond the units that others have decided.
 */
static void note_far_targets(const struct store *store, const struct force *f, struct answer *a)
{
    int far = 0;
    double pace = 0;
    for (int k = 0; k < store->n && store->at[k].address < f->nj; k++)
        pace = larger_of(pace, sizes(store->at[k].term[1]));
    for (int i = 0; i < f->ni && f->x; i++) far |= !(sizes(f->x[i]) < 0x1p36);
    for (int i = 0; i < f->ni && f->v && f->ni > 1 && store->order > 2; i++) far |= sizes(f->v[i]) > 0x1p36 * pace;
    for (int i = 0; i < f->ni && far && f->precision != SAPPORO_DP; i++)
        memset(a->row[i].bounded, 0, sizeof a->row[i].bounded);
}

struct answer *answer_new(const struct store *store, const struct force *f)
{
    struct answer *const a = calloc(1, sizeof *a);
    struct source *const source = calloc((size_t)store->n + 1, sizeof *source);
    int n = 0;
    if (!a || !source || !(a->row = calloc((size_t)(f->ni > 0 ? f->ni : 0) + 1, sizeof *a->row))) abort();
    a->ni = f->ni;
    a->order = store->order;
    for (int k = 0; k < store->n && store->at[k].address < f->nj; k++)
        predict(store, &store->at[k], f->time, &source[n++]);
    for (int i = 0; i < f->ni; i++) {
        struct target t;
        if (read_target(store, f, i, &t))
            solve_row(store, f, source, n, i, &a->row[i], &t);
        else
            no_row(a, i);
    }
    note_far_targets(store, f, a);
    free(source);
    return a;
}

void answer_free(struct answer *a)
{
    if (!a) return;
    for (int i = 0; i < a->ni; i++) free(a->row[i].list);
    free(a->row);
    free(a);
}

/* --------------------------------------------------- forces from own lists */

static int all_there(const struct store *s, const int *address, int n)
{
    for (int k = 0; k < n; k++)
        if (!store_find(s, address[k])) return 0;
    return 1;
}

/* The nearest: ties go to the lowest address. */
static void look_at(const struct source *j, int address, const double *x, int *best_address, struct row *row)
{
    const double r2 = distance2(j, x);
    if (!(r2 < row->r2 || (r2 == row->r2 && address < *best_address))) return;
    row->r2 = r2;
    row->nearest = j->index;
    *best_address = address;
}

static void solve_list(const struct store *s, const struct neighbour_force *f, int i, int wide, struct row *row)
{
    const struct force rule = {.precision = f->precision};
    struct source own, j;
    struct target t = {0};
    struct sums sums = {0};
    int best = INT_MAX;
    predict(s, store_find(s, f->address[i]), f->time, &own);
    for (int c = 0; c < 3; c++) t.d[0][c] = own.x[c], t.d[1][c] = own.v[c];
    for (int k = 0; k < 2; k++) t.size[k] = own.size[k];
    row->nearest = -1;
    row->r2 = INFINITY;
    sums.is_wild = wide || is_beyond(&t, f->precision) || !(fabs(f->time) < 1e290);
    row->any_nearest = !isfinite(f->time);
    for (int k = 0; k < f->length[i]; k++) {
        const struct particle *const p = store_find(s, f->list[i][k]);
        predict(s, p, f->time, &j);
        if (j.index == own.index) {
            skip(&j, &t, f->precision, &sums);
            row->is_doubtful |= j.is_bad;
            continue;
        }
        look_at(&j, p->address, t.d[0], &best, row);
        row->is_broken |= j.is_bad && !j.is_far;
        row->is_shown |= j.is_bad;
        if (!j.is_bad) add_pair(s, &rule, &j, &t, f->eps2, &sums);
    }
    note_range(&rule, &t, 0, row);
    row->any_nearest |= !isfinite(f->time) || (!(row->r2 < INFINITY) && row->is_shown);
    finish(s, &sums, f->precision, row);
}

/* Whether an address holds a particle with a finite position and velocity at the time of the force. */
static int is_target(const struct store *s, int address, double time)
{
    struct source own;
    const struct particle *const p = store_find(s, address);
    if (!p) return 0;
    predict(s, p, time, &own);
    return finite_three(own.x) && finite_three(own.v);
}

struct answer *answer_of_lists(const struct store *s, const struct neighbour_force *f)
{
    struct answer *const a = calloc(1, sizeof *a);
    if (!a || !(a->row = calloc((size_t)(f->ni > 0 ? f->ni : 0) + 1, sizeof *a->row))) abort();
    a->ni = f->ni;
    a->order = s->order;
    const int wide = store_is_wide(s, f->precision); /* particles of no list count for the units of all */
    for (int i = 0; i < f->ni; i++) {
        const int good =
            f->length[i] >= 0 && is_target(s, f->address[i], f->time) && all_there(s, f->list[i], f->length[i]);
        if (good)
            solve_list(s, f, i, wide, &a->row[i]);
        else
            no_row(a, i);
    }
    return a;
}
