/*
 * tree.c - trees: their sequences, and a model.
 *
 * At an accuracy at which no cell is accepted, forces are the direct sums, within the errors of coordinates that are
 * relative to a group.  Forces of other accuracies are compared with themselves: the same call again, and some of the
 * particles alone, must give the same bits.  Forces with spline softening have these bounds of bits alone: their values
 * are those of test_tree_lengths.c.
 */
#include <stddef.h>

#include "../support/nearest.h"
#include "../support/worst.h"
#include "calls.h"
#include "interface.h"

enum { PARTICLES_MOST = 2304 };

/* Particles as they were set, or as they were built. */
struct set {
    int n; /* -1: none */
    vec3 x[PARTICLES_MOST];
    double mass[PARTICLES_MOST], h[PARTICLES_MOST]; /* h: softening lengths */
};

struct model_tree {
    int is_open, room, mac, walk, softening;
    int has_lengths; /* the last set had some */
    double accuracy, eps2, period;
    sapporo_precision precision;
    struct set given, built;
    int has_last; /* the bits of a force on all particles, since it was built */
    vec3 acc[PARTICLES_MOST];
    double pot[PARTICLES_MOST];
};

static struct model_tree trees[CALL_HANDLES];

static void run_destroy(const struct op *op)
{
    make_call(op, 0, 0);
    trees[op->i[0]].is_open = 0;
}

static int in(int value, int low, int high) { return value >= low && value <= high; }

/* Whether a period is valid beside the squared softening length. */
static int is_period(double period, double eps2)
{
    return period == 0 || (period >= 1e-60 && period <= 1e60 && 4 * eps2 < period * period);
}

/* Whether an error that is asked for is valid beside the criterion and the accuracy. */
static int is_error(double error, int mac, double accuracy)
{
    return error == 0 || (error >= 1e-9 && error <= 0.1 && accuracy == 0 && mac % SAPPORO_MAC_ACCELERATION == 0);
}

static void run_create(const struct op *op)
{
    struct model_tree *const t = &trees[op->i[0]];
    if (t->is_open) return; /* sequences destroy before; a reduced one may not */
    const double accuracy = op->d[0], eps2 = op->d[1], error = op->d[2];
    const int good = op->i[1] >= 0 && in(op->i[2], 0, 3) && in(op->i[3], 0, 2) && in(op->i[4], 0, 1024) &&
                     in(op->i[5], 0, 256) && in(op->i[6], 0, 3) && in(op->i[7], 0, 2) && in(op->i[8], 0, 2) &&
                     in(op->i[9], 0, 2) && accuracy >= 0 && accuracy <= 1e30 && eps2 >= 0 && eps2 <= 1e200 &&
                     is_error(error, op->i[2], accuracy) && is_period(op->d[3], eps2);
    make_call(op, 0, 0);
    check_int("rc", rc, good ? SAPPORO_OK : SAPPORO_ERR_ARGUMENT);
    if (!good || rc) return;
    t->is_open = 1;
    t->room = op->i[1];
    t->mac = op->i[2] ? op->i[2] : (int)(accuracy > 0 ? SAPPORO_MAC_OPENING : SAPPORO_MAC_ACCELERATION);
    t->walk = op->i[7];
    t->softening = op->i[9];
    t->has_lengths = 0;
    t->accuracy = accuracy;
    t->eps2 = eps2;
    t->period = op->d[3];
    t->precision = op->i[6] ? (sapporo_precision)op->i[6] : precision_of(2);
    if (!op->i[6] && error > 0 && error < 1e-5) t->precision = SAPPORO_DP;
    if (t->precision != SAPPORO_DP) t->precision = SAPPORO_SP;
    t->given.n = 0;
    t->built.n = -1;
    t->has_last = 0;
}

static int expected_of_set(const struct model_tree *t, const struct op *op)
{
    const int n = op->i[1];
    const double *const x = op->column[0].data, *const mass = op->column[1].data, *const a = op->column[2].data,
                        *const h = op->column[3].data;
    if (!t->is_open) return SAPPORO_ERR_CLOSED;
    if (n < 0 || n > t->room || (n > 0 && !x)) return SAPPORO_ERR_ARGUMENT;
    if (!mass && t->given.n > 0 && t->given.n != n) return SAPPORO_ERR_ARGUMENT;
    if (!h && t->has_lengths && t->given.n != n) return SAPPORO_ERR_ARGUMENT;
    for (int k = 0; k < 3 * n; k++)
        if (!(fabs(x[k]) <= 1e100)) return SAPPORO_ERR_NOT_FINITE;
    for (int k = 0; k < n; k++)
        if ((mass && !isfinite(mass[k])) || (a && !isfinite(a[k])) || (h && !(h[k] >= 0 && h[k] <= 1e100)))
            return SAPPORO_ERR_NOT_FINITE;
    for (int k = 0; k < n && h && t->period > 0; k++)
        if (2 * h[k] >= t->period) return SAPPORO_ERR_ARGUMENT;
    return SAPPORO_OK;
}

static void run_set(const struct op *op)
{
    struct model_tree *const t = &trees[op->i[0]];
    const int n = op->i[1], expected = expected_of_set(t, op);
    make_call(op, 0, 0);
    /* the first sets without masses may be refused or not: none were given before */
    if (!(t->is_open && !op->column[1].data && t->given.n <= 0)) check_int("rc", rc, expected);
    if (rc || expected) return;
    if (n > 0) memcpy(t->given.x, op->column[0].data, (size_t)n * sizeof *t->given.x);
    if (op->column[1].data) memcpy(t->given.mass, op->column[1].data, (size_t)n * sizeof *t->given.mass);
    if (!op->column[1].data && t->given.n != n) memset(t->given.mass, 0, sizeof t->given.mass);
    t->has_lengths = op->column[3].data || (t->has_lengths && t->given.n == n);
    for (int k = 0; k < n; k++)
        if (op->column[3].data || !t->has_lengths)
            t->given.h[k] = op->column[3].data ? ((double *)op->column[3].data)[k] : t->softening ? sqrt(t->eps2) : 0;
    t->given.n = n;
    t->has_last &= t->mac != SAPPORO_MAC_ACCELERATION;
}

static void run_build(const struct op *op)
{
    struct model_tree *const t = &trees[op->i[0]];
    const int refresh = op->kind == OP_TREE_REFRESH, renew = op->kind == OP_TREE_RENEW;
    const int same = t->built.n >= 0 && t->built.n == t->given.n; /* a tree that can be refreshed */
    int expected = t->is_open ? SAPPORO_OK : SAPPORO_ERR_CLOSED;
    if (t->is_open && refresh && !same) expected = SAPPORO_ERR_ARGUMENT;
    if (t->is_open && renew && !(op->d[0] == 0 || op->d[0] >= 1)) expected = SAPPORO_ERR_ARGUMENT;
    make_call(op, renew, 0);
    for (int k = 0; k < t->given.n && !expected; k++) /* moments that overflow are refused */
        if (rc == SAPPORO_ERR_NOT_FINITE && fabs(t->given.mass[k]) > 1e290) expected = rc;
    check_int("rc", rc, expected);
    if (renew && rc) check_int("out.code[0]", out.code[0], 0);
    if (renew && !rc && !same) check_int("out.code[0]", out.code[0], 1);
    if (renew && !rc && out.code[0] != 0) check_int("out.code[0]", out.code[0], 1);
    if (expected || rc) return;
    t->built = t->given;
    t->has_last = 0;
}

/* ---- forces ------------------------------------------------------------------------ */

static double extent_of(const struct set *s)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, most = 0;
    for (int k = 0; k < s->n; k++)
        for (int c = 0; c < 3; c++) low[c] = fmin(low[c], s->x[k][c]), high[c] = larger_of(high[c], s->x[k][c]);
    for (int c = 0; c < 3; c++) most = larger_of(most, high[c] - low[c]);
    return most;
}

/* The direct sum on a place; own: the particle that does not count, -1: none.  0: nothing can be said. */
static int direct(const struct model_tree *t, const double *x, int own, double extent, real *sum, double *bound)
{
    const struct set *const s = &t->built;
    const double unit = t->precision == SAPPORO_DP ? 0x1p-53 : 0x1p-24;
    double size[2] = {0, 0}, by_x[2] = {0, 0}, off = 0;
    for (int c = 0; c < 3; c++) extent = larger_of(extent, fabs(x[c] - (s->n > 0 ? s->x[0][c] : 0)));
    for (int c = 0; c < 3; c++)
        off = larger_of(off, fabs(x[c])); /* differences of doubles, of which both are rounded */
    off = 2 * extent * unit + 4 * off * 0x1p-53;
    memset(sum, 0, 4 * sizeof *sum);
    if (t->softening) return 0;
    if (t->eps2 > 0 && !(t->eps2 > 1e-30 && t->eps2 < 1e30)) return 0;
    for (int k = 0; k < s->n; k++) {
        const double m = fabs(s->mass[k]), hi = own < 0 ? 0 : s->h[own], hj = s->h[k];
        real d[3], R2 = t->eps2 + (real)hi * hi + (real)hj * hj;
        if (hj > 0 && !(hj > 1e-15 && hj < 1e15)) return 0;
        if (!(m < 1e15) || (m > 0 && m < 1e-15)) return 0;
        if (k == own) continue;
        for (int c = 0; c < 3; c++) d[c] = (real)s->x[k][c] - x[c], R2 += d[c] * d[c];
        if (R2 == 0) continue;
        const real u = 1 / sqrtl(R2), mu3 = s->mass[k] * u * u * u;
        const double near = (double)u;
        if (!(off * near < 0.125 && near < 1e12 && near > 1e-12)) return 0;
        sum[0] -= s->mass[k] * u;
        for (int c = 0; c < 3; c++) sum[1 + c] += mu3 * d[c];
        size[0] += m * near;
        size[1] += m * near * near;
        by_x[0] += m * near * near;
        by_x[1] += 4 * m * near * near * near;
    }
    /* sums of up to 256 terms in the working type: some 64 roundings */
    for (int q = 0; q < 2; q++) bound[q] = 64 * unit * size[q] + 1.5 * off * by_x[q];
    return 1;
}

static void check_row(const struct model_tree *t, int i, const double *x, int own, double extent, unsigned wanted)
{
    real sum[4];
    double bound[2];
    char name[30];
    if (!direct(t, x, own, extent, sum, bound)) return;
    (void)snprintf(name, sizeof name, "out.pot[%d]", i);
    if (wanted & OUT_POT) check_double(name, out.pot[i], (double)sum[0], bound[0]);
    for (int c = 0; c < 3 && wanted & OUT_ACC; c++) {
        (void)snprintf(name, sizeof name, "out.acc[%d][%d]", i, c);
        check_double(name, out.acc[i][c], (double)sum[1 + c], bound[1]);
    }
}

/* No cell is accepted, and there are no images. */
static int is_exact(const struct model_tree *t)
{
    return !(t->period > 0) && t->mac == SAPPORO_MAC_OPENING && t->accuracy > 0 && t->accuracy <= 1e-12;
}

static void check_written_row(int i, unsigned wanted, int is_nan)
{
    char name[30];
    (void)snprintf(name, sizeof name, "out.pot[%d]", i);
    if (wanted & OUT_POT) is_nan ? check_nan(name, out.pot[i]) : check_written(name, out.pot[i]);
    for (int c = 0; c < 3 && wanted & OUT_ACC; c++) {
        (void)snprintf(name, sizeof name, "out.acc[%d][%d]", i, c);
        is_nan ? check_nan(name, out.acc[i][c]) : check_written(name, out.acc[i][c]);
    }
}

static int is_finite_place(const double *x)
{
    return fabs(x[0]) <= 1e100 && fabs(x[1]) <= 1e100 && fabs(x[2]) <= 1e100;
}

/* The same bits as before: all particles, or some of them, on the CPU engine. */
static void check_bits(struct model_tree *t, int ni, const int *active, unsigned wanted)
{
    const int whole = !active && ni == t->built.n && wanted == (OUT_ACC | OUT_POT);
    if (strcmp(setting.backend, "cpu") != 0 || t->mac == SAPPORO_MAC_ACCELERATION) return;
    for (int i = 0; i < ni && t->has_last && !check_failed(); i++) {
        const int at = active ? active[i] : i;
        if (wanted & OUT_POT && memcmp(&out.pot[i], &t->pot[at], sizeof *out.pot) != 0)
            check_fail("0", "out.pot[%d] has other bits than in the force on all: %a, %a", i, out.pot[i], t->pot[at]);
        if (wanted & OUT_ACC && memcmp(out.acc[i], t->acc[at], sizeof *out.acc) != 0)
            check_fail("0", "out.acc[%d] has other bits than in the force on all: %a, %a", i, out.acc[i][0],
                       t->acc[at][0]);
    }
    if (!whole) return;
    memcpy(t->acc, out.acc, (size_t)ni * sizeof *t->acc);
    memcpy(t->pot, out.pot, (size_t)ni * sizeof *t->pot);
    t->has_last = 1;
}

/* Whether a row may leave double, by a mass over a power of its length or of the distance of another particle. */
static int may_overflow(const struct model_tree *t, int power)
{
    const struct set *const s = &t->built;
    double heavy = 0, near = 1;
    for (int k = 0; k < s->n; k++) {
        heavy = larger_of(heavy, fabs(s->mass[k]));
        if (s->h[k] > 0 && s->h[k] < near) near = s->h[k];
        for (int j = 0; j < k; j++)
            for (int c = 0; c < 3; c++) {
                const double apart = fabs(s->x[j][c] - s->x[k][c]);
                if (apart > 0 && apart < near) near = apart;
            }
    }
    return !(heavy * pow(near, -power) < 1e280);
}

static int expected_of_force(const struct model_tree *t, const struct op *op)
{
    const int ni = op->i[1], places = op->i[2], *const active = op->column[0].data;
    int partial = 0;
    if (!t->is_open) return SAPPORO_ERR_CLOSED;
    if (t->built.n < 0 || ni < 0 || (places && active)) return SAPPORO_ERR_ARGUMENT;
    if (!places && !active && ni > t->built.n) return SAPPORO_ERR_ARGUMENT;
    for (int i = 0; i < ni && active; i++)
        if (active[i] < 0 || active[i] >= t->built.n) return SAPPORO_ERR_ARGUMENT;
    for (int i = 0; i < ni && places; i++) partial |= !is_finite_place(batch[op->i[3]].x[i]);
    return partial ? SAPPORO_PARTIAL : SAPPORO_OK;
}

static void run_force(const struct op *op)
{
    struct model_tree *const t = &trees[op->i[0]];
    const int ni = op->i[1], places = op->i[2], *const active = op->column[0].data;
    const unsigned wanted = (unsigned)op->i[4];
    const int expected = expected_of_force(t, op), rows = ni > 0 ? ni : 0;
    double extent = t->is_open ? extent_of(&t->built) : 0;
    for (int i = 0; i < rows && places; i++) /* places make groups of their own */
        for (int c = 0; c < 3; c++) extent = larger_of(extent, fabs(batch[op->i[3]].x[i][c] - batch[op->i[3]].x[0][c]));
    make_call(op, rows, 0);
    const int lost_by_range = strcmp(setting.backend, "cpu") == 0 ? SAPPORO_PARTIAL : SAPPORO_ERR_NOT_FINITE;
    if (expected == SAPPORO_OK && rc == lost_by_range && (t->period > 0 || may_overflow(t, 2))) return;
    if (!(expected == SAPPORO_PARTIAL && rc == SAPPORO_OK && !wanted)) check_int("rc", rc, expected);
    if (expected == SAPPORO_ERR_CLOSED) return;
    for (int i = 0; i < rows && !check_failed(); i++) {
        const int own = places ? -1 : active ? active[i] : i;
        const double *const x = places ? batch[op->i[3]].x[i] : expected < 0 ? NULL : t->built.x[own];
        const int lost = expected < 0 || !is_finite_place(x);
        check_written_row(i, wanted, lost);
        if (!lost && is_exact(t)) check_row(t, i, x, own, extent, wanted);
    }
    check_guards(rows);
    if (expected == SAPPORO_OK && !places) check_bits(t, ni, active, wanted);
}

/* ---- tidal tensors ------------------------------------------------------------------------- */

/* What out.acc has of element q of the tensor of row i. */
static double element(int i, int q) { return out.acc[2 * i + q / 3][q % 3]; }

/*
 * The direct sum of the tensor at a place, in which all terms are in double; own: the particle that does not count, -1:
 * none.  0: nothing can be said.
 */
static int direct_tidal(const struct model_tree *t, const double *x, int own, real *sum, double *bound)
{
    const struct set *const s = &t->built;
    double size = 0, off = 0, by_x = 0;
    for (int c = 0; c < 3; c++) off = larger_of(off, fabs(x[c]) * 0x1p-50);
    memset(sum, 0, 6 * sizeof *sum);
    if (t->softening || (t->eps2 > 0 && !(t->eps2 > 1e-30 && t->eps2 < 1e30))) return 0;
    for (int k = 0; k < s->n; k++) {
        const double m = fabs(s->mass[k]), hi = own < 0 ? 0 : s->h[own], hj = s->h[k];
        real d[3], R2 = t->eps2 + (real)hi * hi + (real)hj * hj;
        if (hj > 0 && !(hj > 1e-15 && hj < 1e15)) return 0;
        if (!(m < 1e15) || (m > 0 && m < 1e-15)) return 0;
        if (k == own) continue;
        for (int c = 0; c < 3; c++) d[c] = (real)s->x[k][c] - x[c], R2 += d[c] * d[c];
        if (R2 == 0) continue;
        const real u = 1 / sqrtl(R2), mu3 = s->mass[k] * u * u * u;
        const double near = (double)u;
        off = larger_of(off, 0x1p-50 / near);
        if (!(off * near < 0.125 && near < 1e12 && near > 1e-12)) return 0;
        for (int i = 0, q = 0; i < 3; i++)
            for (int c = i; c < 3; c++, q++) sum[q] += mu3 * (3 * u * u * d[i] * d[c] - (i == c));
        size += 4 * m * near * near * near;
        by_x += 18 * m * near * near * near * near;
    }
    *bound = 0x1p-44 * size + 1.5 * off * by_x;
    return 1;
}

static void check_tensor(const struct model_tree *t, int i, const double *x, int own, int lost)
{
    real sum[6];
    double bound;
    const int known = !lost && is_exact(t) && direct_tidal(t, x, own, sum, &bound);
    for (int q = 0; q < 6; q++) {
        char name[40];
        (void)snprintf(name, sizeof name, "out.acc[%d][%d]", 2 * i + q / 3, q % 3);
        lost ? check_nan(name, element(i, q)) : check_written(name, element(i, q));
        if (known) check_double(name, element(i, q), (double)sum[q], bound);
    }
}

static void run_tidal(const struct op *op)
{
    const struct model_tree *const t = &trees[op->i[0]];
    const int ni = op->i[1], places = op->i[2], *const active = op->column[0].data;
    const int expected = expected_of_force(t, op), rows = ni > 0 ? ni : 0;
    if (2 * rows > CALL_ROWS - CALL_GUARD) return; /* a reduced sequence */
    make_call(op, 2 * rows, 0);
    if (expected >= 0 && rc == SAPPORO_PARTIAL && (t->period > 0 || may_overflow(t, 3))) return;
    check_int("rc", rc, expected);
    if (expected == SAPPORO_ERR_CLOSED) return;
    for (int i = 0; i < rows && !check_failed(); i++) {
        const int own = places ? -1 : active ? active[i] : i;
        const double *const x = places ? batch[op->i[3]].x[i] : expected < 0 ? NULL : t->built.x[own];
        check_tensor(t, i, x, own, expected < 0 || !is_finite_place(x));
    }
    check_guards(2 * rows);
}

/* ---- neighbours ------------------------------------------------------------------------ */

/*
 * What squared distances of images may be off: by roundings of the period, and by those of the positions, of which a
 * refresh takes differences before it looks for images.
 */
static double image_doubt(const struct model_tree *t)
{
    double far = 0;
    for (int i = 0; i < t->built.n; i++)
        for (int c = 0; c < 3; c++) far = larger_of(far, fabs(t->built.x[i][c]));
    return (1e-12 * t->period + 0x1p-50 * far) * t->period;
}

/* Rows of a search within radii: places of a batch, listed particles, or the first ones. */
struct lists {
    int ni, room, places;
    const struct batch *b;
    const int *active;
};

/* Which particle row i is, or -1; *x: where it is. */
static int target_of(const struct model_tree *t, const struct lists *l, int i, const double **x)
{
    const int own = l->places ? -1 : l->active ? l->active[i] : i;
    *x = own < 0 ? l->b->x[i] : t->built.x[own];
    return own;
}

/* Checks list i of a periodic tree as far as it fits: it has all particles within the radius, but for roundings. */
static void check_images(const struct model_tree *t, const struct lists *l, int i)
{
    const long long first = out.first[i], end = out.first[i + 1];
    const double doubt = image_doubt(t), h = l->b->h2[i], *x;
    const int own = target_of(t, l, i, &x);
    int sure = 0, maybe = 0;
    long long at = first;
    for (int k = 0; k < t->built.n && !check_failed(); k++) {
        const double r2 = near_image2(t->period, x, t->built.x[k]);
        const int is_sure = k != own && r2 < h * h - doubt, may_be = k != own && r2 < h * h + doubt;
        const int listed = at < end && at < l->room && out.list[at] == k;
        if (at < end && at < l->room && (listed ? !may_be : is_sure))
            check_fail("0", "particle %d at %a of radius %a is %slisted", k, sqrt(r2), h, listed ? "" : "not ");
        sure += is_sure;
        maybe += may_be;
        at += listed;
    }
    if (end - first < sure || end - first > maybe || (end <= l->room && at != end))
        check_fail("0", "list %d has %lld particles, of %d to %d", i, end - first, sure, maybe);
}

static void check_all_images(const struct model_tree *t, const struct lists *l)
{
    long long all = 0;
    for (int i = 0; i < l->ni && !check_failed(); i++) {
        check_int("out.first", out.first[i], all);
        check_images(t, l, i);
        all = out.first[i + 1];
    }
    check_int("rc", rc, all > l->room ? SAPPORO_TRUNCATED : SAPPORO_OK);
}

/* Addresses of all particles within the radius of row i. */
static int members_of(const struct model_tree *t, const struct lists *l, int i, int *to)
{
    const double h = l->b->h2[i], *x;
    const int own = target_of(t, l, i, &x);
    int n = 0;
    for (int k = 0; k < t->built.n; k++)
        if (k != own && near_apart2(t->built.x[k], x) < h * h) to[n++] = k;
    return n;
}

static void check_all_lists(const struct model_tree *t, const struct lists *l)
{
    static int member[PARTICLES_MOST];
    const int room = l->room;
    long long at = 0;
    for (int i = 0; i < l->ni && !check_failed(); i++) {
        const int n = members_of(t, l, i, member);
        const int fits = at >= room ? 0 : at + n <= room ? n : (int)(room - at);
        char name[30];
        (void)snprintf(name, sizeof name, "out.first[%d]", i);
        check_int(name, out.first[i], at);
        check_list((int)(at < room ? at : room), fits, member, 0);
        at += n;
    }
    if (l->ni > 0) check_int("out.first[ni]", out.first[l->ni], at);
    check_int("rc", rc, at > room ? SAPPORO_TRUNCATED : SAPPORO_OK);
    check_list((int)(at < room ? at : room), 0, NULL, out.entries);
}

static int are_radii(const struct lists *l)
{
    for (int i = 0; i < l->ni; i++)
        if (!(l->b->h2[i] >= 0)) return 0;
    return 1;
}

/* Calls, and checks lists; expected: what the call returns if its radii are right. */
static void check_search(const struct op *op, const struct lists *l, int expected)
{
    const struct model_tree *const t = &trees[op->i[0]];
    const int status = expected == SAPPORO_OK && (l->room < 0 || !are_radii(l)) ? SAPPORO_ERR_ARGUMENT : expected;
    make_call(op, l->ni > 0 ? l->ni + 1 : 0, l->room > 0 ? l->room : 0);
    if (status < 0)
        check_int("rc", rc, status);
    else if (t->period > 0)
        check_all_images(t, l);
    else
        check_all_lists(t, l);
}

static void run_neighbours(const struct op *op)
{
    const struct model_tree *const t = &trees[op->i[0]];
    const struct lists l = {.ni = op->i[1], .room = op->i[3], .places = 1, .b = &batch[op->i[2]]};
    int expected = t->is_open ? SAPPORO_OK : SAPPORO_ERR_CLOSED;
    if (t->is_open && (t->built.n < 0 || l.ni < 0)) expected = SAPPORO_ERR_ARGUMENT;
    for (int i = 0; i < l.ni && !expected; i++)
        if (!is_finite_place(l.b->x[i])) expected = SAPPORO_ERR_ARGUMENT;
    check_search(op, &l, expected);
}

static void run_within(const struct op *op)
{
    const struct lists l = {
        .ni = op->i[1], .places = op->i[2], .b = &batch[op->i[3]], .room = op->i[4], .active = op->column[0].data};
    const int expected = expected_of_force(&trees[op->i[0]], op);
    check_search(op, &l, expected == SAPPORO_OK || expected == SAPPORO_ERR_CLOSED ? expected : SAPPORO_ERR_ARGUMENT);
}

/* ---- nearest ------------------------------------------------------------------------------ */

/* Checks row i: the k nearest to x, of all particles but `own`; x NULL: the call failed. */
static void check_nearest(const struct set *s, const double *x, int own, int i, int k)
{
    static struct near all[PARTICLES_MOST];
    static int right[SAPPORO_NEAREST_MOST];
    const int n = x ? near_sort(s->n, (const double(*)[3])s->x, x, own, all) : 0;
    for (int j = 0; j < k && !check_failed(); j++) {
        char name[40];
        const double got = out.r2[i * k + j];
        right[j] = j < n ? all[j].address : -1;
        (void)snprintf(name, sizeof name, "out.r2[%d]", i * k + j);
        if (!x)
            check_nan(name, got);
        else if (j < n ? got != all[j].distance2 : !isinf(got))
            check_fail("0", "%s is %a, not %a", name, got, j < n ? all[j].distance2 : (double)INFINITY);
    }
    check_list(i * k, k, right, 0);
}

/* The same of a periodic tree. */
static void check_nearest_images(const struct model_tree *t, const double *x, int own, int i, int k)
{
    static struct near all[PARTICLES_MOST];
    const int n = near_sort_images(t->built.n, (const double(*)[3])t->built.x, t->period, x, own, all);
    const double doubt = image_doubt(t);
    for (int j = 0; j < k && !check_failed(); j++) {
        const double got = out.r2[i * k + j];
        const int who = out.list[i * k + j];
        const int right = j >= n ? who == -1 && isinf(got)
                                 : who >= 0 && who < t->built.n && who != own && fabs(got - all[j].distance2) < doubt &&
                                       fabs(got - near_image2(t->period, x, t->built.x[who])) < doubt;
        if (!right) check_fail("0", "entry %d of row %d: particle %d at %a", j, i, who, got);
    }
}

static int expected_of_nearest(const struct model_tree *t, const struct op *op)
{
    const int expected = expected_of_force(t, op), k = op->i[4];
    if (expected == SAPPORO_ERR_CLOSED) return expected;
    if (expected < 0 || k < 1 || k > SAPPORO_NEAREST_MOST) return SAPPORO_ERR_ARGUMENT;
    return expected ? SAPPORO_ERR_ARGUMENT : SAPPORO_OK;
}

static void run_nearest(const struct op *op)
{
    const struct model_tree *const t = &trees[op->i[0]];
    const int ni = op->i[1], places = op->i[2], k = op->i[4], *const active = op->column[0].data;
    const int expected = expected_of_nearest(t, op), rows = ni > 0 && k > 0 && k <= SAPPORO_NEAREST_MOST ? ni : 0;
    if (rows * k > CALL_ROWS - CALL_GUARD) return; /* a reduced sequence */
    make_call(op, rows * k, rows * k);
    check_int("rc", rc, expected);
    for (int i = 0; i < rows && !check_failed(); i++) {
        const int own = places ? -1 : active ? active[i] : i;
        const double *const x = places ? batch[op->i[3]].x[i] : expected ? NULL : t->built.x[own];
        if (t->period > 0 && !expected)
            check_nearest_images(t, x, own, i, k);
        else
            check_nearest(&t->built, expected ? NULL : x, own, i, k);
    }
    check_guards(rows * k);
    if (!(t->period > 0)) check_list(rows * k, 0, NULL, out.entries);
}

static void run(const struct op *op)
{
    switch (op->kind) {
    case OP_TREE_CREATE:
        run_create(op);
        break;
    case OP_TREE_DESTROY:
        run_destroy(op);
        break;
    case OP_TREE_SET:
        run_set(op);
        break;
    case OP_TREE_BUILD:
    case OP_TREE_REFRESH:
    case OP_TREE_RENEW:
        run_build(op);
        break;
    case OP_TREE_FORCE:
        run_force(op);
        break;
    case OP_TREE_NEIGHBOURS:
        run_neighbours(op);
        break;
    case OP_TREE_WITHIN:
        run_within(op);
        break;
    case OP_TREE_NEAREST:
        run_nearest(op);
        break;
    case OP_TREE_TIDAL:
        run_tidal(op);
        break;
    default:
        make_call(op, 0, 0);
    }
}

/* ---- sequences ---------------------------------------------------------------------------- */

struct plan {
    struct sequence *s;
    struct scene scene;
    rng *random;
    int h, n, softening;
};

static struct op *add(struct plan *p, enum kind kind, int a, int b)
{
    struct op *const op = sequence_add(p->s, kind);
    op->i[0] = a;
    op->i[1] = b;
    return op;
}

/* many: as many groups as particles, so that these have districts (device/tree_districts.h). */
static void add_create(struct plan *p, int room, int many)
{
    rng *const r = p->random;
    struct op *const op = add(p, OP_TREE_CREATE, p->h, one_in(r, 100) ? -1 : room);
    op->i[2] = one_in(r, 2) ? 1 : draw(r, 4);
    op->i[3] = draw(r, 3);
    op->i[4] = one_in(r, 2) ? 0 : 1 + draw(r, 40);
    op->i[5] = many ? 1 : one_in(r, 2) ? 0 : 1 + draw(r, 100);
    op->i[6] = draw(r, 4);
    op->i[7] = draw(r, 3);
    op->i[8] = draw(r, 3);
    op->i[9] = one_in(r, 2) ? 0 : draw(r, 3);
    p->softening = op->i[9];
    if (one_in(r, 80)) op->i[2 + draw(r, 8)] = one_in(r, 2) ? -1 : 5000;
    op->d[0] = one_in(r, 3) ? 0.7 * rng_uniform(r) : one_in(r, 60) ? odd_number(r) : 1e-14;
    op->d[1] = scene_eps2(&p->scene);
    op->d[3] = one_in(r, 6) ? one_in(r, 20) ? odd_number(r) : 4 * rng_uniform(r) : 0;
    if (!one_in(r, 12)) return;
    op->d[2] = one_in(r, 10) ? odd_number(r) : pow(10, -1 - 8 * rng_uniform(r));
    if (!one_in(r, 10)) op->d[0] = op->i[2] = 0;
}

static void add_set(struct plan *p, int n)
{
    rng *const r = p->random;
    struct op *const op = add(p, OP_TREE_SET, p->h, n);
    op->rows = n;
    op->rows_at = 1;
    double *const x = op_reals(op, 0, 3), *const mass = one_in(r, 8) ? NULL : op_reals(op, 1, 1);
    const int heap = one_in(r, 8); /* all at one place */
    for (int k = 0; k < n; k++) {
        scene_position(&p->scene, x + 3 * (ptrdiff_t)k);
        if (heap && k > 0) memcpy(x + 3 * (ptrdiff_t)k, x, 3 * sizeof *x);
        if (mass) mass[k] = scene_mass(&p->scene);
    }
    double *const h = one_in(r, p->softening ? 2 : 4) ? op_reals(op, 3, 1) : NULL;
    for (int k = 0; k < n && h; k++)
        h[k] = one_in(r, 4) ? 0 : one_in(r, 900) ? odd_number(r) : sqrt(scene_eps2(&p->scene));
    p->n = n;
}

static void add_force(struct plan *p)
{
    rng *const r = p->random;
    const int kind = draw(r, 4), ni = kind == 0 ? p->n : 1 + draw(r, 80);
    if (kind == 1) add_fill(p->s, &p->scene, 0, ni, 0);
    struct op *const op = add(p, OP_TREE_FORCE, p->h, one_in(r, 60) ? ni + draw(r, 3) - 1 : ni);
    op->i[2] = kind == 1;
    op->i[4] = one_in(r, 12) ? draw(r, 8) & 5 : OUT_ACC | OUT_POT;
    if (kind < 2) return;
    op->i[1] = op->rows = ni;
    op->rows_at = 1;
    int *const active = op_whole(op, 0, 1);
    const int odd = one_in(r, 30);
    for (int i = 0; i < ni; i++) active[i] = odd && one_in(r, 30) ? p->n + draw(r, 3) - 1 : draw(r, p->n);
}

static void add_tidal(struct plan *p)
{
    rng *const r = p->random;
    const int kind = draw(r, 3), ni = 1 + draw(r, kind == 0 && p->n > 0 && p->n < 80 ? p->n : 80);
    if (kind == 1) add_fill(p->s, &p->scene, 0, ni, 0);
    struct op *const op = add(p, OP_TREE_TIDAL, p->h, ni);
    op->i[2] = kind == 1;
    if (kind < 2) return;
    op->rows = ni;
    op->rows_at = 1;
    int *const active = op_whole(op, 0, 1);
    for (int i = 0; i < ni; i++) active[i] = draw(r, p->n < 1 || one_in(r, 900) ? p->n + 2 : p->n);
}

static void add_renewal(struct plan *p)
{
    static const enum kind kinds[] = {OP_TREE_BUILD, OP_TREE_BUILD, OP_TREE_REFRESH, OP_TREE_RENEW};
    rng *const r = p->random;
    struct op *const op = add(p, kinds[draw(r, 4)], p->h, 0);
    if (op->kind != OP_TREE_RENEW || one_in(r, 4)) return;
    op->d[0] = one_in(r, 20) ? odd_number(r) : 1 + rng_uniform(r);
}

static void add_neighbours(struct plan *p)
{
    rng *const r = p->random;
    const int ni = 1 + draw(r, 60);
    add_fill(p->s, &p->scene, 1, ni, 0);
    struct op *const op = add(p, OP_TREE_NEIGHBOURS, p->h, ni);
    op->i[2] = 1;
    op->i[3] = one_in(r, 4) ? draw(r, 200) : 20000;
}

/* Lists ni active particles, rarely with one that is none. */
static void add_active(const struct plan *p, struct op *op, int ni)
{
    rng *const r = p->random;
    op->rows = ni;
    op->rows_at = 1;
    int *const active = op_whole(op, 0, 1);
    for (int i = 0; i < ni; i++) active[i] = draw(r, p->n < 1 || one_in(r, 900) ? p->n + 2 : p->n);
}

static void add_nearest(struct plan *p)
{
    rng *const r = p->random;
    const int kind = draw(r, 3), ni = 1 + draw(r, kind == 0 && p->n > 1 && p->n < 60 ? p->n : 60);
    const int most = 2000 / ni < SAPPORO_NEAREST_MOST ? 2000 / ni : SAPPORO_NEAREST_MOST;
    if (kind == 1) add_fill(p->s, &p->scene, 0, ni, 0);
    struct op *const op = add(p, OP_TREE_NEAREST, p->h, ni);
    op->i[2] = kind == 1;
    op->i[4] = one_in(r, 60) ? draw(r, 2) * 300 : 1 + draw(r, one_in(r, 2) ? 8 : most);
    if (kind == 2) add_active(p, op, ni);
}

/* Neighbours of the first particles, of places or of listed particles. */
static void add_within(struct plan *p)
{
    rng *const r = p->random;
    const int kind = draw(r, 3), ni = 1 + draw(r, kind == 0 && p->n > 1 && p->n < 60 ? p->n : 60);
    add_fill(p->s, &p->scene, 1, ni, 0);
    struct op *const op = add(p, OP_TREE_WITHIN, p->h, ni);
    op->i[2] = kind == 1;
    op->i[3] = 1;
    op->i[4] = one_in(r, 4) ? draw(r, 200) : 20000;
    if (kind == 2) add_active(p, op, ni);
}

static void generate(struct sequence *s, rng *r)
{
    struct plan p = {.s = s, .random = r, .h = draw(r, 2)};
    const int many = one_in(r, 60);
    const int n = many            ? 1030 + draw(r, 200)
                  : one_in(r, 40) ? draw(r, 3)
                                  : 1 + draw(r, 60) + (one_in(r, 3) ? draw_nj(r) : 0);
    scene_draw(&p.scene, r);
    if (p.scene.odd > 0 && !one_in(r, 4)) p.scene.odd = 0;
    if (one_in(r, setting.cheap ? 2 : 20)) add(&p, OP_TREE_DESTROY, p.h, 0);
    add_create(&p, n + draw(r, 2), many);
    add_set(&p, n);
    if (!one_in(r, 40)) add(&p, OP_TREE_BUILD, p.h, 0);
    for (int k = 0; k < 2 + draw(r, 6); k++) switch (draw(r, 12)) {
        case 0:
            add_set(&p, one_in(r, 6) ? draw(r, n + 2) : n);
            break;
        case 1:
            add_renewal(&p);
            break;
        case 2:
            add_neighbours(&p);
            break;
        case 3:
            add_within(&p);
            break;
        case 4:
        case 5:
            add_nearest(&p);
            break;
        case 6:
        case 7:
            add_tidal(&p);
            break;
        default:
            add_force(&p);
        }
}

const struct interface interface_tree = {"tree", generate, run};
