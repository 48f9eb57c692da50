/*
 * trees.c - trees over ranks, beside sums in long double over the particles of all ranks.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "reference_spline.h"

enum { N = PLAN_PARTICLES, ROWS = N + 10 };
enum has { NONE, HAS, MAYBE }; /* a tree: MAYBE after calls that may have forgotten it */

static struct {
    sapporo_mpi_tree *over; /* NULL: not open */
    enum has has;
    int n;                      /* particles of all ranks */
    double x[N][3], m[N], h[N]; /* of the tree; h: softening lengths */
    int softening;              /* sapporo_softening */
    int lengths;                /* particles have softening lengths; if not, all h are 0 */
    int mine, own[N];           /* this rank's, in its order */
    double eps2, bound;         /* of errors, in units of the sum of the sizes of all terms */
} tree;

/* Columns that this rank gives, and outputs. */
static double give_x[ROWS][3], give_m[ROWS], give_h[ROWS], acc[ROWS][3], pot[ROWS];

static const char *text(void) { return sapporo_mpi_tree_last_error(tree.over); }

/* ---- opening ------------------------------------------------------------------------------------- */

void tree_close(void)
{
    sapporo_mpi_tree_destroy(tree.over);
    memset(&tree, 0, sizeof tree);
}

static void open_tree(const struct plan *p)
{
    const sapporo_mpi_tree_options o = {.size = sizeof o, .tree = &p->tree, .timeout = 60};
    tree_close();
    const int status = sapporo_mpi_tree_create(MPI_COMM_WORLD, &o, &tree.over);
    check_status("create a tree", status, SAPPORO_OK, sapporo_mpi_tree_last_error(NULL), NULL);
    tree.eps2 = p->tree.eps2;
    tree.softening = (int)p->tree.softening;
    tree.lengths = p->lengths || tree.softening;
    /* An opening angle of 0.3 gives a few 1e-3; single precision adds 1e-4 of the largest pair. */
    tree.bound = !p->strict ? 0.03 : p->tree.precision == SAPPORO_SP ? 2e-4 : 1e-12;
}

/* ---- forces ---------------------------------------------------------------------------------------- */

static void poison_rows(void)
{
    poison(acc[0], 3 * ROWS);
    poison(pot, ROWS);
}

/* What Plummer's softening adds to the squared distance of two particles. */
static long double soft_of(int k, int j)
{
    return tree.softening ? 0 : tree.eps2 + (long double)tree.h[k] * tree.h[k] + (long double)tree.h[j] * tree.h[j];
}

/* Potential, and acceleration over distance, of two particles of unit mass at a squared distance. */
static void pair(long double r2, int k, int j, long double *by_mass, long double *by_place)
{
    if (tree.softening) {
        reference_spline_pair(tree.softening == SAPPORO_SOFTENING_SPLINE_MEAN, sqrtl(r2), tree.h[k], tree.h[j], by_mass,
                              by_place);
        return;
    }
    r2 += soft_of(k, j);
    *by_mass = -1 / sqrtl(r2);
    *by_place = -*by_mass / r2;
}

/* Error of a row, the force on particle k, in units of the sum of the sizes of its terms. */
static void check_row(int row, int k)
{
    long double sum[4] = {0}, size = 0, depth = 0;
    for (int j = 0; j < tree.n; j++) {
        long double d[3], r2 = 0, by_mass, by_place;
        if (j == k) continue;
        for (int c = 0; c < 3; c++) d[c] = (long double)tree.x[j][c] - tree.x[k][c];
        for (int c = 0; c < 3; c++) r2 += d[c] * d[c];
        pair(r2, k, j, &by_mass, &by_place);
        for (int c = 0; c < 3; c++) sum[c] += tree.m[j] * by_place * d[c];
        sum[3] += tree.m[j] * by_mass;
        size += tree.m[j] * by_place * sqrtl(r2 + soft_of(k, j));
        depth -= tree.m[j] * by_mass;
    }
    for (int c = 0; c < 4; c++) {
        const double got = c < 3 ? acc[row][c] : pot[row];
        const long double error = fabsl(got - sum[c]), allowed = tree.bound * (c < 3 ? size : depth);
        if (!(error <= allowed))
            wrong("tree: row %d, number %d is %.17g, should be %.17Lg within %.3Lg", row, c, got, sum[c], allowed);
    }
}

/* Rows behind those asked for. */
static void check_guards(int rows)
{
    for (int i = rows; i < ROWS; i++)
        if (!is_poison(acc[i][0]) || !is_poison(acc[i][1]) || !is_poison(acc[i][2]) || !is_poison(pot[i]))
            wrong("tree: row %d was written, of %d", i, rows);
}

static void check_failed_rows(void)
{
    if (!are_spoilt(acc[0], 3 * ROWS) || !are_spoilt(pot, ROWS)) wrong("a failed force of a tree leaves numbers");
}

/* The status of a call that needs a tree; expected: if there is one. */
static int needed(int status, int expected)
{
    if (tree.has == NONE) return SAPPORO_ERR_ARGUMENT;
    return tree.has == MAYBE && status == SAPPORO_ERR_ARGUMENT ? status : expected;
}

/* ---- particles ---------------------------------------------------------------------------------------- */

/* Columns of this rank's particles; h NULL: they have the lengths that they had. */
static sapporo_tree_particles columns_of(const struct call *c, double (*x)[3], const double *m, const double *h)
{
    for (int i = 0; i < tree.mine; i++) {
        memcpy(give_x[i], x[tree.own[i]], sizeof give_x[i]);
        give_m[i] = m[tree.own[i]];
        if (h) give_h[i] = h[tree.own[i]];
    }
    if (rank == c->odd && c->mistake == 2) give_x[0][1] = NAN;
    if (rank == c->odd && c->mistake == 5) give_h[0] = -1;
    return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                    .n = rank == c->odd && c->mistake == 3 ? -1 : tree.mine,
                                    .x = {give_x, 0},
                                    .mass = {give_m, 0},
                                    .h = {tree.lengths && h ? give_h : NULL, 0}};
}

/* A softening length: 0, or shorter or longer than cells. */
static double draw_length(rng *r) { return one_in(r, 5) ? 0 : 0.05 + (one_in(r, 6) ? 2 : 0.4) * rng_uniform(r); }

static void draw_tree_particles(const struct call *c)
{
    rng random, *const r = &random;
    int owner[N];
    call_random(r, c, 3);
    const int is_lattice = one_in(r, 4), massless = one_in(r, 4);
    tree.n = c->n;
    draw_owners(r, c->n, owner);
    if (c->mistake) owner[0] = c->odd;
    tree.mine = 0;
    for (int k = 0; k < c->n; k++) {
        draw_position(r, is_lattice, tree.x[k]);
        tree.m[k] = massless && one_in(r, 3) ? 0 : (0.5 + rng_uniform(r)) / c->n;
        if (owner[k] == rank) tree.own[tree.mine++] = k;
    }
    call_random(r, c, 7);
    for (int k = 0; k < c->n; k++) tree.h[k] = tree.lengths ? draw_length(r) : 0;
}

static void build(const struct call *c)
{
    draw_tree_particles(c);
    const sapporo_tree_particles p = columns_of(c, tree.x, tree.m, tree.h);
    const int no_number = c->mistake == 2 || (c->mistake == 5 && tree.lengths);
    const int is_wrong = no_number || c->mistake == 3;
    check_status("build", sapporo_mpi_tree_build(tree.over, &p),
                 no_number  ? SAPPORO_ERR_NOT_FINITE
                 : is_wrong ? SAPPORO_ERR_ARGUMENT
                            : SAPPORO_OK,
                 text(), "rank ");
    tree.has = is_wrong ? NONE : HAS;
}

/*
 * New positions, masses and lengths of the particles that there are; returns whether lengths are given: where they are
 * not, or where the library may not know them, they must be those before.
 */
static int draw_moves(const struct call *c, double (*x)[3], double *m, double *h)
{
    rng random, *const r = &random;
    call_random(r, c, 4);
    const double far = one_in(r, 4) ? 1 : 0.02;
    for (int k = 0; k < tree.n; k++) {
        double step[3];
        rng_direction(r, far * rng_uniform(r), step);
        for (int axis = 0; axis < 3; axis++) x[k][axis] = tree.x[k][axis] + step[axis];
        m[k] = tree.m[k] * (one_in(r, 8) ? 2 : 1);
    }
    call_random(r, c, 8);
    const int others = one_in(r, 3);
    for (int k = 0; k < tree.n; k++) h[k] = others && tree.lengths ? draw_length(r) : tree.h[k];
    return others || tree.has != HAS || one_in(r, 2);
}

/* Takes new positions if a call succeeded. */
static void take_moves(int status, double (*x)[3], const double *m, const double *h)
{
    if (status) return;
    memcpy(tree.x, x, sizeof tree.x);
    memcpy(tree.m, m, sizeof tree.m);
    memcpy(tree.h, h, sizeof tree.h);
    tree.has = HAS;
}

/* The most particles that a rank has which makes a mistake. */
static int odd_has(const struct call *c) { return most_of(rank == c->odd ? tree.mine : 0); }

static void refresh(const struct call *c)
{
    static double x[N][3], m[N], h[N];
    const int gives = draw_moves(c, x, m, h);
    sapporo_tree_particles p = columns_of(c, x, m, gives ? h : NULL);
    const int odd = odd_has(c), fewer = c->mistake == 1 && odd > 0;
    const int spoilt = odd > 0 && (c->mistake == 2 || (c->mistake == 5 && tree.lengths && gives));
    if (fewer && rank == c->odd) p.n--;
    const int status = sapporo_mpi_tree_refresh(tree.over, &p);
    const int expected = fewer || c->mistake == 3 ? SAPPORO_ERR_ARGUMENT : spoilt ? SAPPORO_ERR_NOT_FINITE : SAPPORO_OK;
    /* without a tree a position that is not finite may be found first */
    const int found = needed(status, expected), other = spoilt && tree.has != HAS && status == SAPPORO_ERR_NOT_FINITE;
    check_status("refresh", status, other ? status : found, text(), NULL);
    take_moves(status, x, m, h);
}

static void renew(const struct call *c)
{
    static double x[N][3], m[N], h[N];
    int built = -1;
    if (tree.n == 0) draw_tree_particles(c);
    const int gives = draw_moves(c, x, m, h);
    const sapporo_tree_particles p = columns_of(c, x, m, gives ? h : NULL);
    const int spoilt = odd_has(c) > 0 && (c->mistake == 2 || (c->mistake == 5 && tree.lengths && gives));
    const double factor = c->mistake == 1 ? 0.5 : c->mistake == 4 && rank == c->odd ? 2 : 0;
    const int expected = c->mistake == 1 || c->mistake == 3 ? SAPPORO_ERR_ARGUMENT
                         : c->mistake == 4                  ? SAPPORO_MPI_ERR_DIFFERENT
                         : spoilt                           ? SAPPORO_ERR_NOT_FINITE
                                                            : SAPPORO_OK;
    const int status = sapporo_mpi_tree_refresh_or_build(tree.over, &p, factor, &built);
    check_status("refresh_or_build", status, expected, text(), NULL);
    if (!is_common(built) || built < 0 || built > 1 || (status && built)) wrong("refresh_or_build: built is %d", built);
    if (status && tree.has == HAS) tree.has = MAYBE;
    take_moves(status, x, m, h);
}

/* ---- outputs ------------------------------------------------------------------------------------------- */

static void compute_all(void)
{
    poison_rows();
    const int status = sapporo_mpi_tree_force(tree.over, acc, pot);
    check_status("force", status, needed(status, SAPPORO_OK), text(), NULL);
    for (int i = 0; i < tree.mine && !status; i++) check_row(i, tree.own[i]);
    if (!status) check_guards(tree.mine);
    if (status) check_failed_rows();
}

static void compute_active(const struct call *c)
{
    rng random, *const r = &random;
    int active[ROWS] = {0}, ni = 0;
    call_random(r, c, 5);
    const int all_first = one_in(r, 4), few = one_in(r, 2);
    for (int owner = 0; owner < ranks; owner++) {
        const int wanted = one_in(r, 3) ? 0 : draw(r, few ? 6 : N), seed = draw(r, 1000);
        if (owner != rank || tree.mine == 0) continue;
        ni = wanted < tree.mine || !all_first ? wanted : tree.mine;
        for (int i = 0; i < ni; i++) active[i] = all_first ? i : (seed + i * i) % tree.mine;
    }
    const int is_odd = rank == c->odd, is_wrong = c->mistake == 1 || c->mistake == 2;
    if (is_odd && c->mistake == 1) ni = -1;
    if (is_odd && c->mistake == 2) ni = 1, active[0] = c->a % 2 ? -1 : tree.mine;
    poison_rows();
    const int *const list = all_first && !(is_odd && c->mistake == 2) ? NULL : active;
    const sapporo_tree_request request = {.size = sizeof request, .ni = ni, .active = list};
    const int status = c->b % 2 ? sapporo_mpi_tree_force_request(tree.over, &request, acc, pot)
                                : sapporo_mpi_tree_force_active(tree.over, ni, list, acc, pot);
    check_status("force_active", status, needed(status, is_wrong ? SAPPORO_ERR_ARGUMENT : SAPPORO_OK), text(), NULL);
    for (int i = 0; i < ni && !status; i++) check_row(i, tree.own[active[i]]);
    check_guards(ni > 0 ? ni : 0);
    if (status) check_failed_rows();
}

/* ---- exchange ------------------------------------------------------------------------------------------- */

struct record {
    int number;
    double x[3];
};

/* Every particle is on one rank. */
static void check_numbers(void)
{
    int mine[N] = {0}, all[N];
    for (int i = 0; i < tree.mine; i++) mine[tree.own[i]]++;
    ranks_combine(mine, all, N, MPI_SUM);
    for (int k = 0; k < tree.n; k++)
        if (all[k] != 1) wrong("exchange: particle %d is on %d ranks", k, all[k]);
}

static void take_records(const struct record *to, int n)
{
    for (int i = 0; i < n; i++) {
        const int k = to[i].number;
        if (k < 0 || k >= tree.n || memcmp(to[i].x, tree.x[k], sizeof to[i].x) != 0) {
            wrong("exchange: record %d is not that of a particle: %d", i, k);
            n = 0;
        }
    }
    for (int i = 0; i < n; i++) tree.own[i] = to[i].number;
    tree.mine = n;
    check_numbers();
}

static void exchange(const struct call *c)
{
    struct record from[ROWS], to[ROWS];
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    int n = -1;
    memset(from, 0, sizeof from);
    memset(to, 0, sizeof to);
    for (int i = 0; i < tree.mine; i++) {
        from[i].number = tree.own[i];
        memcpy(from[i].x, tree.x[tree.own[i]], sizeof from[i].x);
    }
    (void)sapporo_mpi_tree_get_statistics(tree.over, &s);
    const int is_odd = rank == c->odd, small = most_of(is_odd && s.n > 0) && c->mistake == 1;
    const size_t bytes = c->mistake == 2 ? 0 : is_odd && c->mistake == 3 ? 8 : sizeof *from;
    const int status =
        sapporo_mpi_tree_exchange(tree.over, bytes, from, is_odd && small ? s.n - 1 : ROWS, to, c->a % 2 ? &n : NULL);
    const int expected = small || c->mistake == 2 ? SAPPORO_ERR_ARGUMENT
                         : c->mistake == 3        ? SAPPORO_MPI_ERR_DIFFERENT
                                                  : SAPPORO_OK;
    /* without a tree, or with bytes that differ, either may be found first */
    const int other = c->mistake == 3 && tree.has != HAS && status == SAPPORO_MPI_ERR_DIFFERENT;
    check_status("exchange", status, other ? status : needed(status, expected), text(), NULL);
    if (c->a % 2 && n != s.n) wrong("exchange: n is %d, of %d", n, s.n);
    if (!status) take_records(to, s.n);
}

/* ---- different calls ------------------------------------------------------------------------------------- */

enum { BUILD, REFRESH, RENEW, FORCE, ACTIVE, EXCHANGE, DESTROY, TREE_CALLS };
static const char *const names[TREE_CALLS] = {
    "sapporo_mpi_tree_build",  "sapporo_mpi_tree_refresh",      "sapporo_mpi_tree_refresh_or_build",
    "sapporo_mpi_tree_force",  "sapporo_mpi_tree_force_active", "sapporo_mpi_tree_exchange",
    "sapporo_mpi_tree_destroy"};

static int make_one(int which)
{
    static struct record from[ROWS], to[ROWS];
    const struct call plain = {.odd = -1};
    const sapporo_tree_particles p = columns_of(&plain, tree.x, tree.m, tree.h);
    switch (which) {
    case BUILD:
        return sapporo_mpi_tree_build(tree.over, &p);
    case REFRESH:
        return sapporo_mpi_tree_refresh(tree.over, &p);
    case RENEW:
        return sapporo_mpi_tree_refresh_or_build(tree.over, &p, 0, NULL);
    case FORCE:
        return sapporo_mpi_tree_force(tree.over, acc, pot);
    case ACTIVE:
        return sapporo_mpi_tree_force_active(tree.over, tree.mine > 0, NULL, acc, pot);
    case EXCHANGE:
        return sapporo_mpi_tree_exchange(tree.over, sizeof *from, from, ROWS, to, NULL);
    default:
        sapporo_mpi_tree_destroy(tree.over);
        return SAPPORO_MPI_ERR_DIFFERENT;
    }
}

static void differ(const struct call *c)
{
    const int a = c->a % DESTROY, b = (a + 1 + c->b % DESTROY) % TREE_CALLS, own = rank == c->odd ? b : a;
    poison_rows();
    const int status = make_one(own);
    check_different(status, own == DESTROY ? NULL : text(), names[a], names[b]);
    check_failed_rows();
    const int may_forget = a == BUILD || a == RENEW || b == BUILD || b == RENEW;
    if (may_forget && tree.has == HAS) tree.has = MAYBE;
    if (b == DESTROY) tree_close();
}

void tree_call(const struct plan *p, const struct call *c)
{
    if (!tree.over || c->kind == TREE_OPEN) open_tree(p);
    if (!tree.over) return;
    if (c->kind == TREE_BUILD) build(c);
    if (c->kind == TREE_REFRESH) refresh(c);
    if (c->kind == TREE_RENEW) renew(c);
    if (c->kind == TREE_FORCE) compute_all();
    if (c->kind == TREE_ACTIVE) compute_active(c);
    if (c->kind == TREE_EXCHANGE) exchange(c);
    if (c->kind == TREE_DIFFER) differ(c);
}
