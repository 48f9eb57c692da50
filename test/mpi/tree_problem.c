/* tree_problem.c - models, exact forces and errors (tree_problem.h). */
#include "tree_problem.h"
#include "../support/reference_spline.h"
#include "../support/worst.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------- models */

struct model model_new(int n)
{
    const struct model m = {
        .n = n, .x = calloc((size_t)n + 1, sizeof *m.x), .mass = calloc((size_t)n + 1, sizeof *m.mass)};
    if (!m.x || !m.mass) exit(3);
    return m;
}

struct model clusters(int n)
{
    struct point *const p = points_new(n);
    const struct model m = model_new(n);
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < 3; c++) m.x[i][c] = p[i].derivative[0][c] + (i % 3 == 0 && c == 1 ? 30 : 0);
        m.mass[i] = p[i].mass;
    }
    free(p);
    return m;
}

void model_free(struct model *m)
{
    free(m->x);
    free(m->mass);
    free(m->h);
}

void model_soften(struct model *m, int softening, int n, const double *lengths)
{
    m->softening = softening;
    m->h = calloc((size_t)m->n + 1, sizeof *m->h);
    if (!m->h) exit(3);
    for (int i = 0; i < m->n && n > 0; i++) m->h[i] = lengths[i % n];
}

struct rows rows_new(int n)
{
    const struct rows r = {calloc((size_t)n + 1, sizeof *r.acc), calloc((size_t)n + 1, sizeof *r.pot)};
    if (!r.acc || !r.pot) exit(3);
    return r;
}

void rows_free(struct rows *r)
{
    free(r->acc);
    free(r->pot);
}

int rows_share(int status, struct rows *r, int n)
{
    ranks_share(&status, sizeof status);
    ranks_share(r->acc, (size_t)n * sizeof *r->acc);
    ranks_share(r->pot, (size_t)n * sizeof *r->pot);
    return status;
}

/* The exact force on particle i, in long double. */
static void exact_row(const struct model *m, double eps2, int i, double *acc, double *pot)
{
    long double sum[4] = {0};
    for (int j = 0; j < m->n; j++) {
        const int is_spline = m->h && m->softening;
        long double d[3], r2 = is_spline ? 0 : eps2, by_mass = 0, by_place = 0;
        for (int c = 0; c < 3; c++) d[c] = (long double)m->x[j][c] - m->x[i][c], r2 += d[c] * d[c];
        if (j == i) continue;
        if (m->h && !is_spline) r2 += (long double)m->h[i] * m->h[i] + (long double)m->h[j] * m->h[j];
        if (is_spline)
            reference_spline_pair(m->softening == SAPPORO_SOFTENING_SPLINE_MEAN, sqrtl(r2), m->h[i], m->h[j], &by_mass,
                                  &by_place);
        else if (r2 > 0)
            by_mass = -1 / sqrtl(r2), by_place = -by_mass / r2;
        for (int c = 0; c < 3; c++) sum[c] += m->mass[j] * by_place * d[c];
        sum[3] += m->mass[j] * by_mass;
    }
    for (int c = 0; c < 3; c++) acc[c] = (double)sum[c];
    *pot = (double)sum[3];
}

/* The exact forces on the first n particles, of which each rank computes a part. */
struct rows exact_first(const struct model *m, double eps2, int n)
{
    struct rows mine = rows_new(n), r = rows_new(n);
    for (int i = rank; i < n; i += ranks) exact_row(m, eps2, i, mine.acc[i], &mine.pot[i]);
    ranks_combine_doubles(mine.acc[0], r.acc[0], 3 * n, MPI_SUM);
    ranks_combine_doubles(mine.pot, r.pot, n, MPI_SUM);
    rows_free(&mine);
    return r;
}

struct rows exact_rows(const struct model *m, double eps2) { return exact_first(m, eps2, m->n); }

static double size_of(const double *a) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The error that a part of all accelerations stays below, in some unit, or of 0 each in its own size. */
static double percentile(double part, const struct rows *r, const struct rows *exact, int n, double unit)
{
    double *const error = calloc((size_t)n + 1, sizeof *error);
    double deepest = 0;
    int k = 0, finite = 1;
    for (int i = 0; i < n; i++) deepest = larger_of(deepest, fabs(exact->pot[i]));
    for (int i = 0; i < n; i++) {
        double d[3];
        for (int c = 0; c < 3; c++) d[c] = r->acc[i][c] - exact->acc[i][c];
        const double size = unit > 0 ? unit : size_of(exact->acc[i]);
        error[k] = size > 0 ? size_of(d) / size : size_of(d);
        finite &= isfinite(error[k]) && isfinite(r->pot[i]) && fabs(r->pot[i] - exact->pot[i]) <= 0.01 * deepest;
        k++;
    }
    qsort(error, (size_t)k, sizeof *error, ascending);
    const double found = k > 0 ? error[(int)(part * (k - 1))] : 0;
    free(error);
    return finite ? found : INFINITY;
}

/* The relative error that a part of all accelerations stays below; infinity if one is not finite. */
double error_below(double part, const struct rows *r, const struct rows *exact, int n)
{
    return percentile(part, r, exact, n, 0);
}

double absolute_error_below(double part, const struct rows *r, const struct rows *exact, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = larger_of(most, size_of(exact->acc[i]));
    return percentile(part, r, exact, n, most);
}

double error_of(const struct rows *r, const struct rows *exact, int n) { return error_below(0.99, r, exact, n); }

double absolute_error_of(const struct rows *r, const struct rows *exact, int n)
{
    double most = 0, worst = 0;
    for (int i = 0; i < n; i++) {
        double d2 = 0, a2 = 0;
        for (int c = 0; c < 3; c++) {
            d2 += (r->acc[i][c] - exact->acc[i][c]) * (r->acc[i][c] - exact->acc[i][c]);
            a2 += exact->acc[i][c] * exact->acc[i][c];
        }
        most = larger_of(most, sqrt(a2));
        worst = isfinite(d2) ? worst_of(worst, sqrt(d2)) : INFINITY;
    }
    return most > 0 ? worst / most : worst;
}

/* -------------------------------------------------------------- over ranks */

/* The rank that gives particle k of n. */
static int giver(enum split how, int k, int n)
{
    if (how == IN_TURN) return k % ranks;
    if (how == ALL_ON_FIRST || ranks == 1) return 0;
    if (how == ALL_ON_LAST) return ranks - 1;
    const int busy = ranks - 1, piece = (n + busy - 1) / busy; /* rank 0 has none */
    return k / piece + 1;
}

struct particles_of_rank model_pick(const struct model *all, enum split how)
{
    struct particles_of_rank m = {.number = calloc((size_t)all->n + 1, sizeof *m.number), .model = model_new(all->n)};
    if (all->h) model_soften(&m.model, all->softening, 0, NULL);
    for (int k = 0; k < all->n; k++) {
        if (giver(how, k, all->n) != rank) continue;
        if (all->h) m.model.h[m.n] = all->h[k];
        memcpy(m.model.x[m.n], all->x[k], sizeof *m.model.x);
        m.model.mass[m.n] = all->mass[k];
        m.number[m.n++] = k;
    }
    return m;
}

void model_drop(struct particles_of_rank *m)
{
    free(m->number);
    model_free(&m->model);
}

sapporo_tree_particles columns_of(const struct model *m, int n)
{
    return (sapporo_tree_particles){
        .size = sizeof(sapporo_tree_particles), .n = n, .x = {m->x, 0}, .mass = {m->mass, 0}, .h = {m->h, 0}};
}

/* Gives all ranks the rows that each has, by particle. */
void gather(const struct particles_of_rank *m, const struct rows *from, int n, struct rows *to)
{
    double *const in = calloc(4 * (size_t)n + 1, sizeof *in), *const all = calloc(4 * (size_t)n + 1, sizeof *all);
    for (int i = 0; i < m->n; i++) {
        memcpy(in + 4 * (size_t)m->number[i], from->acc[i], 3 * sizeof *in);
        in[4 * (size_t)m->number[i] + 3] = from->pot[i];
    }
    ranks_combine_doubles(in, all, 4 * n, MPI_SUM);
    for (int k = 0; k < n; k++) {
        memcpy(to->acc[k], all + 4 * (size_t)k, 3 * sizeof *all);
        to->pot[k] = all[4 * (size_t)k + 3];
    }
    free(in);
    free(all);
}

sapporo_tree_options options_of(sapporo_tree_kind kind, sapporo_tree_mac mac, sapporo_precision precision)
{
    return (sapporo_tree_options){.size = sizeof(sapporo_tree_options),
                                  .kind = kind,
                                  .mac = mac,
                                  .precision = precision,
                                  .eps2 = 0x1p-12,
                                  .backend = tested_backend(),
                                  .threads = 1};
}

sapporo_mpi_tree *open_tree(const sapporo_tree_options *options)
{
    const sapporo_mpi_tree_options o = {.size = sizeof o, .tree = options, .timeout = 60};
    sapporo_mpi_tree *t;
    const int status = sapporo_mpi_tree_create(MPI_COMM_WORLD, &o, &t);
    if (status) report(0, "create: %s", sapporo_mpi_tree_last_error(NULL));
    return t;
}

int same_rows(const struct rows *a, const struct rows *b, int n)
{
    return memcmp(a->acc, b->acc, (size_t)n * sizeof *a->acc) == 0 &&
           memcmp(a->pot, b->pot, (size_t)n * sizeof *a->pot) == 0;
}

/* The largest of the ranks' numbers. */
double largest(double mine)
{
    double all;
    ranks_combine_doubles(&mine, &all, 1, MPI_MAX);
    return all;
}

double total(double mine)
{
    double all;
    ranks_combine_doubles(&mine, &all, 1, MPI_SUM);
    return all;
}

/* Whether the engine under test has a device for trees. */
int has_device(void)
{
    const sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_OPENING, SAPPORO_SP);
    sapporo_tree *t;
    const int status = sapporo_tree_create(&o, 1, &t);
    sapporo_tree_destroy(t);
    if (status == SAPPORO_ERR_DEVICE) report(1, "there is no such device");
    return status != SAPPORO_ERR_DEVICE;
}
