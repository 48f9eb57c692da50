/* reference.c - see reference.h. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct predicted {
    real x[3], v[3], a[3], jerk[3];
    double x_size, v_size, a_size, jerk_size, mass, eps2;
    int index, address;
};

struct reference {
    const struct problem *problem;
    int n;
    struct predicted *j; /* bodies that take part: addresses below nj, the last body stored at each */
};

/* Returns the length of a vector, in double: sizes and bounds need a few digits. */
static double size_of(const double *x) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

static double norm(const real *x)
{
    const double narrow[3] = {(double)x[0], (double)x[1], (double)x[2]};
    return size_of(narrow);
}

/* ---------------------------------------------------------------- predictor */

/* Computes x = sum d_k dt^k / k!, from derivative `first` on; returns the sum of the terms' sizes. */
static double taylor(const struct body *b, int first, real dt, real *x)
{
    double sizes = 0;
    real factor = 1;
    x[0] = x[1] = x[2] = 0;
    for (int k = first; k < TERMS; k++) {
        for (int c = 0; c < 3; c++) x[c] += factor * b->derivative[k][c];
        sizes += fabs((double)factor) * size_of(b->derivative[k]);
        factor *= dt / (k - first + 1);
    }
    return sizes;
}

void reference_predict(const struct body *body, double time, real *x, real *v, double *x_size, double *v_size)
{
    const real dt = (real)time - body->time;
    real unused[3];
    const double sizes = taylor(body, 0, dt, x);
    const double v_sizes = taylor(body, 1, dt, v ? v : unused);
    if (x_size) *x_size = sizes;
    if (v_size) *v_size = v_sizes;
}

void reference_predict_one(const struct body *body, double time, int k, real *d, double *size)
{
    const double sizes = taylor(body, k, (real)time - body->time, d);
    if (size) *size = sizes;
}

static int by_address(const void *a, const void *b)
{
    const struct predicted *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* Returns 1 if a later body has the same address. */
static int overwritten(const struct problem *p, int k, const int *last_at)
{
    return p->body[k].address <= p->nbodies * 8 && last_at[p->body[k].address] != k;
}

struct reference *reference_new(const struct problem *p)
{
    struct reference *r = zeroed(1, sizeof *r);
    int *last_at = zeroed((size_t)p->nbodies * 8, sizeof *last_at); /* higher addresses occur once */
    r->j = zeroed((size_t)p->nbodies, sizeof *r->j);
    r->problem = p;
    for (int k = 0; k < p->nbodies; k++)
        if (p->body[k].address <= p->nbodies * 8) last_at[p->body[k].address] = k;
    for (int k = 0; k < p->nbodies; k++) {
        const struct body *b = &p->body[k];
        if (b->address >= p->nj || overwritten(p, k, last_at)) continue;
        struct predicted *j = &r->j[r->n++];
        reference_predict(b, p->order == 2 ? b->time : p->time, j->x, j->v, &j->x_size, &j->v_size);
        if (p->order > 4) reference_predict_one(b, p->time, 2, j->a, &j->a_size);
        if (p->order == 8) reference_predict_one(b, p->time, 3, j->jerk, &j->jerk_size);
        j->mass = b->mass;
        j->eps2 = p->soft & SOFT_BODIES ? b->eps2 : 0;
        j->index = b->index;
        j->address = b->address;
    }
    free(last_at);
    qsort(r->j, (size_t)r->n, sizeof *r->j, by_address);
    return r;
}

void reference_free(struct reference *r)
{
    if (r) free(r->j);
    free(r);
}

/* ------------------------------------------------------------------- a pair */

/* Differences of one pair. */
struct pair {
    real r[3], v[3], a[3], jerk[3], r2, softened2;
    int member; /* 1: a member of the target's list */
    double x_size, v_size, a_size, jerk_size;
};

/* Sizes of the target alone. */
struct sizes {
    double x, v, a, jerk;
};

static void difference(const struct predicted *j, const struct target *i, const struct sizes *size, real eps2,
                       struct pair *p)
{
    p->r2 = 0;
    for (int c = 0; c < 3; c++) {
        p->r[c] = j->x[c] - i->x[c];
        p->v[c] = j->v[c] - i->v[c];
        p->r2 += p->r[c] * p->r[c];
    }
    p->softened2 = p->r2 + eps2;
    p->x_size = j->x_size + size->x;
    p->v_size = j->v_size + size->v;
    for (int c = 0; c < 3; c++) {
        p->a[c] = j->a[c] - i->a[c];
        p->jerk[c] = j->jerk[c] - i->jerk[c];
    }
    p->a_size = j->a_size + size->a;
    p->jerk_size = j->jerk_size + size->jerk;
}

static void add_terms(const struct pair *p, double m, struct exact *e)
{
    const real one = 1 / sqrtl(p->softened2), three = one * one * one;
    const real rv = p->r[0] * p->v[0] + p->r[1] * p->v[1] + p->r[2] * p->v[2];
    e->pot -= m * one;
    for (int c = 0; c < 3; c++) {
        e->acc[c] += m * three * p->r[c];
        e->jerk[c] += m * three * (p->v[c] - 3 * rv * one * one * p->r[c]);
    }
}

/*
 * Adds the effect of errors of a pair: with a relative error e of the coordinates, r has an error of e * x_size, and
 *     d(1/R) <= dr / R^2,  d(r/R^3) <= 4 dr / R^3,  d(jerk) <= 24 v dr / R^4 + 4 dv / R^3.
 */
static void add_sizes(const struct pair *p, double m, struct exact *e)
{
    const double one = 1 / sqrt((double)p->softened2), r = norm(p->r), v = norm(p->v), size = fabs(m);
    const double two = one * one, three = two * one, four = two * two;
    const double rv = fabs((double)(p->r[0] * p->v[0] + p->r[1] * p->v[1] + p->r[2] * p->v[2]));
    e->size[POT] += size * one;
    e->size[ACC] += size * r * three;
    e->size[JERK] += size * (v * three + 3 * rv * r * three * two);
    e->by_x[POT] += size * p->x_size * two;
    e->by_x[ACC] += 4 * size * p->x_size * three;
    e->by_x[JERK] += 24 * size * v * p->x_size * four;
    e->by_v[JERK] += 4 * size * p->v_size * three;
    if (p->x_size * one > e->worst) e->worst = p->x_size * one;
}

/* ------------------------------------------------------- orders 6 and 8: series */

enum { SERIES = 4 }; /* powers of the time */

/* Computes R^-3 from R^2 = p: with f = p^(-3/2), f' p = -3/2 p' f holds power by power. */
static void to_minus_three_halves(const real *p, real *f)
{
    f[0] = 1 / (p[0] * sqrtl(p[0]));
    for (int n = 1; n < SERIES; n++) {
        f[n] = 0;
        for (int k = 1; k <= n; k++) f[n] += (-1.5L * k - (n - k)) * p[k] * f[n - k];
        f[n] /= n * p[0];
    }
}

/* Bounds the sizes of the same terms: all signs are plus. */
static void bound_minus_three_halves(const double *p, double *f)
{
    f[0] = 1 / (p[0] * sqrt(p[0]));
    for (int n = 1; n < SERIES; n++) {
        f[n] = 0;
        for (int k = 1; k <= n; k++) f[n] += (1.5 * k + (n - k)) * p[k] * f[n - k];
        f[n] /= n * p[0];
    }
}

static const double factorial[SERIES] = {1, 1, 2, 6};

/* Computes the derivatives of r/R^3. */
static void derive(const struct pair *p, real (*d)[3])
{
    real r[SERIES][3], square[SERIES] = {p->softened2 - p->r2}, f[SERIES];
    for (int c = 0; c < 3; c++) {
        r[0][c] = p->r[c], r[1][c] = p->v[c], r[2][c] = p->a[c] / 2, r[3][c] = p->jerk[c] / 6;
        for (int n = 0; n < SERIES; n++)
            for (int k = 0; k <= n; k++) square[n] += r[k][c] * r[n - k][c];
    }
    to_minus_three_halves(square, f);
    for (int n = 0; n < SERIES; n++)
        for (int c = 0; c < 3; c++) {
            d[n][c] = 0;
            for (int k = 0; k <= n; k++) d[n][c] += factorial[n] * f[k] * r[n - k][c];
        }
}

/* Bounds the sizes of their terms, from the sizes of the softened distance, v, a and jerk. */
static void bound_derivatives(const double *size, double *bound)
{
    const double r[SERIES] = {size[0], size[1], size[2] / 2, size[3] / 6};
    double square[SERIES] = {0}, f[SERIES];
    for (int n = 0; n < SERIES; n++)
        for (int k = 0; k <= n && n > 0; k++) square[n] += r[k] * r[n - k];
    square[0] = r[0] * r[0];
    bound_minus_three_halves(square, f);
    for (int n = 0; n < SERIES; n++) {
        bound[n] = 0;
        for (int k = 0; k <= n; k++) bound[n] += factorial[n] * f[k] * r[n - k];
    }
}

/* Adds snap and crackle with all sizes.  A term of derivative n has at most n + 1 factors r and 2 n + 3 factors 1/R. */
static void add_higher(const struct pair *p, double m, struct exact *e)
{
    const double h = 0x1p-24, R = sqrt((double)p->softened2);
    const double size[SERIES] = {R, norm(p->v), norm(p->a), norm(p->jerk)};
    const double more[SERIES] = {R, size[1] + h * p->v_size, size[2] + h * p->a_size, size[3] + h * p->jerk_size};
    real d[SERIES][3];
    double bound[SERIES], above[SERIES];
    derive(p, d);
    bound_derivatives(size, bound);
    bound_derivatives(more, above);
    for (int c = 0; c < 3; c++) e->snap[c] += m * d[2][c], e->crackle[c] += m * d[3][c];
    for (int n = 2; n < SERIES; n++) {
        e->size[ACC + n] += fabs(m) * bound[n];
        e->by_x[ACC + n] += fabs(m) * (4 + 3 * n) * (bound[n] / R) * p->x_size;
        e->by_v[ACC + n] += fabs(m) * ((above[n] - bound[n]) / h);
    }
}

/* --------------------------------------------------------------- neighbours */

static int ascending(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void sort_list(struct exact *e)
{
    int kept = 0;
    qsort(e->list, (size_t)e->nlist, sizeof *e->list, ascending);
    for (int k = 0; k < e->nlist; k++)
        if (k == 0 || e->list[k] != e->list[k - 1]) e->list[kept++] = e->list[k];
    e->nlist = kept;
}

/* Returns 1 if j is in the neighbour sphere of i; in regular forces also if it comes that near a time dtr later. */
static int is_member(const struct problem *all, const struct predicted *j, const struct target *i, const struct pair *p)
{
    const real h2 = all->by_mass ? (real)i->h2 * (real)j->mass : (real)i->h2;
    real ahead2 = 0;
    if (!(i->h2 > 0)) return 0;
    if (p->r2 < h2 || !all->outside) return p->r2 < h2;
    for (int c = 0; c < 3; c++) ahead2 += (p->r[c] + i->dtr * p->v[c]) * (p->r[c] + i->dtr * p->v[c]);
    return ahead2 < h2;
}

static void look_at(const struct predicted *j, const struct pair *p, real *best, struct exact *e)
{
    if (p->r2 < *best) { /* addresses rise, so the first of equals stays */
        *best = p->r2;
        e->address = j->address;
        e->nearest = j->index;
        e->nearest_x = p->x_size;
    }
    if (p->member) e->list[e->nlist++] = j->index;
}

void reference_solve(const struct reference *r, int i, struct exact *e)
{
    const struct problem *p = r->problem;
    const struct target *t = &p->target[i];
    real best = INFINITY;
    memset(e, 0, sizeof *e);
    e->address = e->nearest = -1;
    e->list = zeroed((size_t)r->n, sizeof *e->list);
    const struct sizes size = {size_of(t->x), size_of(t->v), size_of(t->a), size_of(t->jerk)};
    for (int k = 0; k < r->n; k++) {
        struct pair pair;
        if (!p->no_index && r->j[k].index == t->index) continue;
        difference(&r->j[k], t, &size, (real)p->eps2 + r->j[k].eps2 + (p->soft & SOFT_TARGETS ? t->eps2 : 0), &pair);
        pair.member = is_member(p, &r->j[k], t, &pair);
        look_at(&r->j[k], &pair, &best, e);
        if (p->outside && pair.member) continue;
        if (!(pair.softened2 > 0)) continue; /* zero distance without softening: skipped */
        add_terms(&pair, r->j[k].mass, e);
        add_sizes(&pair, r->j[k].mass, e);
        if (p->order > 4) add_higher(&pair, r->j[k].mass, e);
    }
    e->nearest_r2 = (double)best;
    sort_list(e);
}
