/*
 * tree_active.c - trees over any number of ranks: forces on active particles, and refreshes.  Errors against a sum in
 * long double are those of one tree with all particles; one rank has the bits of sapporo_tree.h; the same run has the
 * same bits; and a tree is built again when its forces cost too much.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/worst.h"
#include "tree_problem.h"

enum { N = 4000, PARTS = 6 };

/* ------------------------------------------------------------------- active */

/*
 * Which force has a particle: as of block steps, ever fewer particles in ever smaller regions, and at last a single
 * particle.
 */
static int part_of(const struct model *m, int i)
{
    const double r2 = m->x[i][0] * m->x[i][0] + m->x[i][1] * m->x[i][1] + m->x[i][2] * m->x[i][2];
    if (i == 11) return 5;
    if (i % 97 == 0) return 4;
    if (r2 < 0.01) return 3;
    return i % 7 == 0 ? 2 : i % 3 == 0;
}

/* The particles of this rank that are in a part, in reverse order, some of them twice; returns their number. */
static int list_part(const struct model *all, const struct particles_of_rank *m, int part, int *active)
{
    int n = 0;
    for (int i = m->n - 1; i >= 0; i--) {
        if (part_of(all, m->number[i]) != part) continue;
        active[n++] = i;
        if (i % 50 == 0) active[n++] = i;
    }
    return n;
}

/* Computes forces on all particles, part by part; returns a status. */
static int force_by_parts(sapporo_mpi_tree *t, const struct model *all, const struct particles_of_rank *m,
                          struct rows *to)
{
    int *const active = calloc(2 * (size_t)m->n + 1, sizeof *active), status = SAPPORO_OK;
    struct rows some = rows_new(2 * m->n);
    for (int part = 0; part < PARTS && !status; part++) {
        const int n = list_part(all, m, part, active);
        status = sapporo_mpi_tree_force_active(t, n, active, some.acc, some.pot);
        for (int k = 0; k < n; k++) {
            memcpy(to->acc[active[k]], some.acc[k], sizeof *to->acc);
            to->pot[active[k]] = some.pot[k];
        }
    }
    rows_free(&some);
    free(active);
    return status;
}

/* One tree with all particles, refreshed if `now` is not NULL; forces on all, or part by part; returns a status. */
static int compute_here(const struct model *all, const struct model *now, int by_parts, const sapporo_tree_options *o,
                        struct rows *to)
{
    struct particles_of_rank m = {.n = all->n, .number = calloc((size_t)all->n + 1, sizeof *m.number)};
    const sapporo_tree_particles columns = columns_of(all, all->n);
    int *const active = calloc(2 * (size_t)all->n + 1, sizeof *active);
    struct rows some = rows_new(2 * all->n);
    sapporo_tree_request r = {.size = sizeof r, .ni = all->n};
    sapporo_tree *t;
    int bad = sapporo_tree_create(o, all->n, &t) || sapporo_tree_set(t, &columns) || sapporo_tree_build(t) ||
              sapporo_tree_force(t, &r, to->acc, to->pot);
    for (int i = 0; i < m.n; i++) m.number[i] = i;
    if (now) {
        const sapporo_tree_particles moved = columns_of(now, now->n);
        bad = bad || sapporo_tree_set(t, &moved) || sapporo_tree_refresh(t) ||
              (!by_parts && sapporo_tree_force(t, &r, to->acc, to->pot));
    }
    for (int part = 0; part < PARTS && by_parts && !bad; part++) {
        r.ni = list_part(all, &m, part, active);
        r.active = active;
        bad = sapporo_tree_force(t, &r, some.acc, some.pot);
        for (int k = 0; k < r.ni; k++) memcpy(to->acc[active[k]], some.acc[k], sizeof *to->acc);
        for (int k = 0; k < r.ni; k++) to->pot[active[k]] = some.pot[k];
    }
    sapporo_tree_destroy(t);
    rows_free(&some);
    free(active);
    free(m.number);
    return bad;
}

/* Collective.  The same, on the first rank for all of them. */
static int compute_alone(const struct model *all, const struct model *now, int by_parts, const sapporo_tree_options *o,
                         struct rows *to)
{
    return rows_share(rank == 0 && compute_here(all, now, by_parts, o, to), to, all->n);
}

/* The model some time later: small moves, or moves over the whole model. */
static struct model moved(const struct model *m, double by)
{
    const struct model to = model_new(m->n);
    for (int i = 0; i < m->n; i++) {
        for (int c = 0; c < 3; c++) to.x[i][c] = m->x[i][c] + by * sin(i * (c + 1.7));
        to.mass[i] = m->mass[i];
    }
    return to;
}

/* Builds, computes, refreshes if `now` is not NULL, and computes again, by parts if asked; returns a status. */
static int compute(sapporo_mpi_tree *t, const struct model *all, const struct model *now, int by_parts, enum split how,
                   struct rows *to)
{
    struct particles_of_rank m = model_pick(all, how), later = model_pick(now ? now : all, how);
    struct rows r = rows_new(m.n);
    const sapporo_tree_particles columns = columns_of(&m.model, m.n), next = columns_of(&later.model, later.n);
    int status = sapporo_mpi_tree_build(t, &columns);
    if (!status) status = sapporo_mpi_tree_force(t, r.acc, r.pot);
    if (!status && now) status = sapporo_mpi_tree_refresh(t, &next);
    if (!status && by_parts) status = force_by_parts(t, all, &m, &r);
    if (!status && !by_parts) status = sapporo_mpi_tree_force(t, r.acc, r.pot);
    gather(&m, &r, all->n, to);
    rows_free(&r);
    model_drop(&m);
    model_drop(&later);
    return status;
}

/* ------------------------------------------------------------------- errors */

/* What a case does. */
struct doing {
    const char *name;
    int by_parts;
    double by; /* how far particles move before a refresh; 0: no refresh */
};

static const struct doing doings[] = {{"active particles", 1, 0},
                                      {"a refresh", 0, 0.01},
                                      {"a refresh after long ways", 0, 3},
                                      {"a refresh, active particles", 1, 0.02}};
enum { DOINGS = sizeof doings / sizeof *doings };

/* exact: forces on the particles after they have moved */
static void test_case(const struct model *m, const sapporo_tree_options *o, const struct doing *d,
                      const struct rows *exact, const char *what)
{
    struct model now = moved(m, d->by);
    struct rows alone = rows_new(m->n), found = rows_new(m->n), again = rows_new(m->n);
    sapporo_mpi_tree *t = open_tree(o);
    int bad = compute_alone(m, d->by > 0 ? &now : NULL, d->by_parts, o, &alone) ||
              compute(t, m, d->by > 0 ? &now : NULL, d->by_parts, PIECES, &found);
    const double e1 = error_of(&alone, exact, m->n), e2 = error_of(&found, exact, m->n);
    const double m1 = error_below(0.9, &alone, exact, m->n), m2 = error_below(0.9, &found, exact, m->n);
    report(!bad && e2 <= MORE * e1 && m2 <= MORE_MANY * m1, "%s, %s: errors %.2e, %.2e, of one tree %.2e, %.2e: %s",
           what, d->name, e2, m2, e1, m1, sapporo_mpi_tree_last_error(t));
    sapporo_mpi_tree_destroy(t);
    t = open_tree(o);
    bad = compute(t, m, d->by > 0 ? &now : NULL, d->by_parts, PIECES, &again) || !same_rows(&found, &again, m->n);
    report(!bad, "%s, %s: the same run has the same bits", what, d->name);
    if (ranks == 1)
        report(same_rows(&found, &alone, m->n), "%s, %s: one rank has the bits of sapporo_tree.h", what, d->name);
    sapporo_mpi_tree_destroy(t);
    rows_free(&alone);
    rows_free(&found);
    rows_free(&again);
    model_free(&now);
}

static void test_errors(void)
{
    static const char *const macs[] = {"", "opening", "multipole", "acceleration"};
    struct model m = clusters(N);
    struct rows exact[DOINGS];
    for (int d = 0; d < DOINGS; d++) {
        struct model now = moved(&m, doings[d].by);
        exact[d] = exact_rows(&now, 0x1p-12);
        model_free(&now);
    }
    for (int kind = SAPPORO_TREE_OCTREE; kind <= SAPPORO_TREE_KDTREE; kind++)
        for (int mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++) {
            char what[64];
            const int dp = (kind + mac + ranks) % 2, d = (2 * kind + mac + ranks) % DOINGS, next = (d + 1) % DOINGS;
            const sapporo_tree_options o =
                options_of((sapporo_tree_kind)kind, (sapporo_tree_mac)mac, dp ? SAPPORO_DP : SAPPORO_SP);
            (void)snprintf(what, sizeof what, "%s, %s, %s", kind == SAPPORO_TREE_KDTREE ? "kdtree" : "octree",
                           macs[mac], dp ? "dp" : "sp");
            test_case(&m, &o, &doings[d], &exact[d], what);
            test_case(&m, &o, &doings[next], &exact[next], what);
        }
    for (int d = 0; d < DOINGS; d++) rows_free(&exact[d]);
    model_free(&m);
}

/* ------------------------------------------------------------- other cases */

/* A tree over ranks with a model dealt out in turn, and the forces that are right. */
struct dealt {
    struct model m;
    struct rows exact;
    struct particles_of_rank mine;
    sapporo_mpi_tree *tree;
};

enum { DEALT = 500 };

/* Builds it; sizes of accelerations are unknown.  Returns a status. */
static int deal(struct dealt *d)
{
    const sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_DP);
    d->m = clusters(DEALT);
    d->exact = exact_rows(&d->m, 0x1p-12);
    d->mine = model_pick(&d->m, IN_TURN);
    d->tree = open_tree(&o);
    const sapporo_tree_particles columns = columns_of(&d->mine.model, d->mine.n);
    return sapporo_mpi_tree_build(d->tree, &columns);
}

/* The error of a potential of this rank's particle i. */
static double error_of_pot(const struct dealt *d, int i, double pot)
{
    return fabs(pot / d->exact.pot[d->mine.number[i]] - 1);
}

static void deal_end(struct dealt *d)
{
    sapporo_mpi_tree_destroy(d->tree);
    model_drop(&d->mine);
    rows_free(&d->exact);
    model_free(&d->m);
}

/* Each rank in turn has no active particle, or the only one; then no rank has one. */
static void test_few(void)
{
    struct dealt d;
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    double acc[1][3], pot[1], worst = 0, rows = 0;
    int bad = deal(&d);
    const int some = d.mine.n > 0;
    for (int r = 0; r < ranks; r++) {
        const int active[1] = {d.mine.n / 2}, n = rank == r && some;
        bad |=
            sapporo_mpi_tree_force_active(d.tree, n, active, acc, pot) || sapporo_mpi_tree_get_statistics(d.tree, &s);
        rows = worst_of(rows, fabs(total(s.rows) - total(n)));
        if (n) worst = worst_of(worst, error_of_pot(&d, d.mine.n / 2, pot[0]));
    }
    bad |= sapporo_mpi_tree_force_active(d.tree, 0, NULL, NULL, NULL);
    bad |= sapporo_mpi_tree_get_statistics(d.tree, &s) || s.sent_cells + s.sent_particles + s.rows != 0;
    bad |= sapporo_mpi_tree_force_active(d.tree, some, NULL, acc, NULL); /* the first particle */
    report(!bad && worst < 1e-3 && rows == 0, "one active particle, and none: error %.1e: %s", largest(worst),
           sapporo_mpi_tree_last_error(d.tree));
    deal_end(&d);
}

/* Each rank in turn asks for all of its own particles, and the others list some of theirs; at last all ask for all. */
static void test_all_of_one(void)
{
    struct dealt d;
    double acc[DEALT][3], pot[DEALT], worst = 0;
    int listed[DEALT] = {0}, bad = deal(&d);
    for (int i = 0; i < d.mine.n; i++) listed[i] = d.mine.n - 1 - i;
    for (int r = 0; r <= ranks; r++) {
        const int all = r == ranks || rank == r, ni = all ? d.mine.n : d.mine.n / 3;
        const sapporo_tree_request request = {.size = sizeof request, .ni = ni, .active = all ? NULL : listed};
        bad |= sapporo_mpi_tree_force_request(d.tree, &request, acc, pot);
        for (int i = 0; i < ni && !bad; i++) worst = worst_of(worst, error_of_pot(&d, all ? i : listed[i], pot[i]));
    }
    report(!bad && largest(worst) < 4e-3, "all of one rank, some of the others: error %.1e: %s", largest(worst),
           sapporo_mpi_tree_last_error(d.tree));
    deal_end(&d);
}

/* Fewer particles than ranks, and none at all. */
static void test_tiny(int n)
{
    struct model m = clusters(n > 0 ? n : 1);
    m.n = n;
    struct model now = moved(&m, 0.5);
    struct rows exact = exact_rows(&now, 0x1p-12), found = rows_new(n);
    const sapporo_tree_options o = options_of(SAPPORO_TREE_KDTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_DP);
    sapporo_mpi_tree *const t = open_tree(&o);
    const int bad = compute(t, &m, &now, 1, IN_TURN, &found);
    report(!bad && error_below(1, &found, &exact, n) < 1e-5, "%d particles: error %.1e: %s", n,
           error_below(1, &found, &exact, n), sapporo_mpi_tree_last_error(t));
    sapporo_mpi_tree_destroy(t);
    rows_free(&exact);
    rows_free(&found);
    model_free(&m);
    model_free(&now);
}

/*
 * A tree is built, and built once more for a later time as soon as positions of two calls are known; it is refreshed
 * while particles move little, and built again after they have moved far.
 */
static void test_choice(void)
{
    struct model m = clusters(N), now = moved(&m, 1e-3), far = moved(&m, 5);
    struct particles_of_rank a = model_pick(&m, IN_TURN), b = model_pick(&now, IN_TURN), c = model_pick(&far, IN_TURN);
    const sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_MULTIPOLE, SAPPORO_SP);
    const sapporo_tree_particles at[] = {columns_of(&a.model, a.n), columns_of(&b.model, b.n),
                                         columns_of(&c.model, c.n), columns_of(&c.model, c.n)};
    sapporo_mpi_tree *const t = open_tree(&o);
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    int built[5] = {0}, bad = 0;
    for (int k = 0; k < 4; k++) {
        bad |= sapporo_mpi_tree_refresh_or_build(t, &at[k], 0, &built[k]) || sapporo_mpi_tree_force(t, NULL, NULL);
        if (k == 2) bad |= sapporo_mpi_tree_get_statistics(t, &s) || s.refreshes != 1;
    }
    report(!bad && built[0] && built[1] && !built[2] && built[3], "built %d, %d, %d, %d: %s", built[0], built[1],
           built[2], built[3], sapporo_mpi_tree_last_error(t));
    sapporo_tree_particles fewer = at[3];
    if (rank == ranks - 1 && fewer.n > 0) fewer.n--;
    bad = sapporo_mpi_tree_refresh_or_build(t, &fewer, 1.5, &built[4]);
    report(!bad && built[4], "a rank that gives fewer particles makes a build: %s", sapporo_mpi_tree_last_error(t));
    sapporo_mpi_tree_destroy(t);
    model_drop(&a);
    model_drop(&b);
    model_drop(&c);
    model_free(&m);
    model_free(&now);
    model_free(&far);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    if (has_device()) {
        test_errors();
        test_few();
        test_all_of_one();
        for (int n = 0; n < 4; n++) test_tiny(n);
        test_choice();
    }
    return ranks_end();
}
