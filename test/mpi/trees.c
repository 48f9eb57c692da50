/*
 * trees.c - trees over any number of ranks: errors against a sum in long double are those of one tree with all
 * particles, for both kinds, all criteria, orders and precisions; the same run has the same bits; one rank has the bits
 * of sapporo_tree.h; and particles that are difficult to divide.
 *
 * Any number of ranks will do; 1 to 4 ranks together have all cases.  Errors that few particles exceed are those of one
 * or two groups, and a rank that has one group more than others has more to do.  So percentiles are of several
 * reflections of a model, whose trees differ, and interactions are the mean over them; more ranks have more particles.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/worst.h"
#include "tree_problem.h"

enum { N = 4000, EACH = 500, REFLECTIONS = 3 };

/* Particles of the model: as many on a rank as on eight. */
static int model_size(void) { return EACH * ranks > N ? EACH * ranks : (int)N; }

/* Builds and computes; returns a status, and the rows of all particles. */
static int compute(sapporo_mpi_tree *t, const struct model *all, enum split how, struct rows *to)
{
    struct particles_of_rank m = model_pick(all, how);
    struct rows r = rows_new(m.n);
    const sapporo_tree_particles columns = columns_of(&m.model, m.n);
    int status = sapporo_mpi_tree_build(t, &columns);
    if (!status) status = sapporo_mpi_tree_force(t, r.acc, r.pot);
    gather(&m, &r, all->n, to);
    rows_free(&r);
    model_drop(&m);
    return status;
}

/* Collective.  One tree with all particles, on the first rank: two forces, the second with what the first has learnt.
 */
static int compute_alone(const struct model *all, const sapporo_tree_options *options, struct rows *to)
{
    const sapporo_tree_particles columns = columns_of(all, all->n);
    const sapporo_tree_request request = {.size = sizeof request, .ni = all->n};
    sapporo_tree *t = NULL;
    int bad = rank == 0 && sapporo_tree_create(options, all->n, &t);
    for (int k = 0; k < 2 && t && !bad; k++)
        bad =
            sapporo_tree_set(t, &columns) || sapporo_tree_build(t) || sapporo_tree_force(t, &request, to->acc, to->pot);
    sapporo_tree_destroy(t);
    return rows_share(bad, to, all->n);
}

/* ------------------------------------------------------------------ errors */

/* Checks the numbers of particles, and the bound of memory.  words: doubles of lengths per cell; or 0. */
static void check_statistics(sapporo_mpi_tree *t, int n, int words, const char *what)
{
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    const int status = sapporo_mpi_tree_get_statistics(t, &s);
    const double regions = ranks > 256 ? 64 : 256; /* of fewer than 4,096 particles on each rank */
    const double length = words ? 8 : 0;
    const double of_cell = 8 * words; /* twice, where they are joined */
    const double bound = 56 * (regions + 1) * (ranks + 1) +
                         1.5 * ((152 + of_cell) * s.sent_cells + (32 + length) * s.sent_particles) +
                         (312 + 2 * of_cell) * s.got_cells + (32 + length) * s.got_particles + 4096;
    report(!status && total(s.n) == n && s.total == n && s.n <= 3.0 * n / ranks + 1 && total(s.given) == n &&
               total(s.sent_cells) == total(s.got_cells) && total(s.sent_particles) == total(s.got_particles),
           "%s: %d of %lld particles on this rank", what, s.n, s.total);
    report((double)s.halo_bytes <= (ranks > 1 ? bound : 0), "%s: %zu bytes, bound %.0f", what, s.halo_bytes, bound);
}

/* Interactions of the rank that has most, in units of the mean. */
static double unevenness(sapporo_mpi_tree *t)
{
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    const int status = sapporo_mpi_tree_get_statistics(t, &s);
    const double work = (double)(s.particle_particle + s.particle_cell), mean = total(work) / ranks;
    return largest(status ? INFINITY : work) / mean;
}

/* Reflection `which` of vectors: axes in another order, one of them with the other sign. */
static void reflect(int which, int n, double (*const from)[3], double (*to)[3])
{
    for (int i = 0; i < n; i++) {
        const double *const x = from[i];
        const double turned[3] = {x[which % 3], x[(which + 1) % 3],
                                  which % 2 ? -x[(which + 2) % 3] : x[(which + 2) % 3]};
        memcpy(to[i], turned, sizeof turned);
    }
}

/* The rows of reflection `which`, of which there are `looked_at` each. */
static struct rows part_of(const struct rows *r, int which, int looked_at)
{
    return (struct rows){r->acc + (size_t)which * (size_t)looked_at, r->pot + (size_t)which * (size_t)looked_at};
}

/* Forces on reflections of a model: of one tree, and over ranks by the first and the second division. */
struct reflections {
    int looked_at;
    struct rows exact, alone, found; /* [REFLECTIONS * looked_at], found: twice as many */
    double uneven;                   /* mean of the second divisions */
};

static void keep_rows(const struct rows *from, struct rows to, int n)
{
    memcpy(to.acc, from->acc, (size_t)n * sizeof *to.acc);
    memcpy(to.pot, from->pot, (size_t)n * sizeof *to.pot);
}

/* Computes them; the tree over ranks is built of one reflection after the other. */
static int compute_reflections(const struct model *m, const struct rows *exact, const sapporo_tree_options *o,
                               sapporo_mpi_tree *t, struct reflections *to)
{
    struct model r = model_new(m->n);
    struct rows all = rows_new(m->n);
    const int n = to->looked_at;
    int bad = 0;
    memcpy(r.mass, m->mass, (size_t)m->n * sizeof *r.mass);
    if (m->h) model_soften(&r, m->softening, m->n, m->h);
    for (int k = 0; k < REFLECTIONS && !bad; k++) {
        struct rows right = part_of(&to->exact, k, n);
        reflect(k, m->n, m->x, r.x);
        reflect(k, n, exact->acc, right.acc);
        memcpy(right.pot, exact->pot, (size_t)n * sizeof *right.pot);
        bad = compute_alone(&r, o, &all);
        keep_rows(&all, part_of(&to->alone, k, n), n);
        for (int f = 0; f < 2 && !bad; f++) {
            bad = compute(t, &r, PIECES, &all);
            keep_rows(&all, part_of(&to->found, 2 * k + f, n), n);
        }
        to->uneven += unevenness(t) / REFLECTIONS;
    }
    model_free(&r);
    rows_free(&all);
    return bad;
}

/*
 * Percentiles of the errors over ranks against those of one tree.  The criterion of multipole errors gives all
 * particles one tolerance, so the largest 1 % of the relative errors are of the smallest accelerations, which it does
 * not bound: of octrees, that percentile is of absolute errors.  A kd-tree of all particles has other cells than those
 * of the ranks.
 */
static void test_percentiles(const struct model *m, const struct rows *exact, const sapporo_tree_options *o,
                             const char *what)
{
    const int n = m->n < N ? m->n : (int)N, pooled = REFLECTIONS * n;
    struct reflections r = {
        .looked_at = n, .exact = rows_new(pooled), .alone = rows_new(pooled), .found = rows_new(2 * pooled)};
    struct rows twice = rows_new(2 * pooled); /* the exact ones, for the forces of both divisions */
    sapporo_mpi_tree *const t = open_tree(o);
    const int bad = compute_reflections(m, exact, o, t, &r);
    for (int k = 0; k < 2 * REFLECTIONS; k++) {
        const struct rows right = part_of(&r.exact, k / 2, n);
        keep_rows(&right, part_of(&twice, k, n), n);
    }
    const int absolute = o->mac == SAPPORO_MAC_MULTIPOLE && o->kind == SAPPORO_TREE_OCTREE;
    const double part[] = {0.5, 0.9, 0.99}, more[] = {1.2, 1.25, absolute ? 1.2 : 1.3};
    for (int k = 0; k < 3; k++) {
        double (*const below)(double, const struct rows *, const struct rows *, int) =
            absolute && k == 2 ? absolute_error_below : error_below;
        const double one = below(part[k], &r.alone, &r.exact, pooled),
                     all = below(part[k], &r.found, &twice, 2 * pooled);
        report(!bad && all <= more[k] * one, "%s: %g %% have errors below %.2e, of one tree %.2e: %.2f", what,
               100 * part[k], all, one, all / one);
    }
    /* groups of kd-trees are others after each division, so that few of them decide what a rank has to do */
    const double uneven = o->kind == SAPPORO_TREE_KDTREE && ranks > 4 ? 1.3 + 0.02 * (ranks - 4) : 1.3;
    report(r.uneven <= uneven, "%s: interactions are %.3f of the mean", what, r.uneven);
    sapporo_mpi_tree_destroy(t);
    rows_free(&r.exact);
    rows_free(&r.alone);
    rows_free(&r.found);
    rows_free(&twice);
}

/* The same run has the same bits; of one rank they are those of one tree. */
static void test_bits(const struct model *m, const sapporo_tree_options *o, const char *what)
{
    struct rows alone = rows_new(m->n), first = rows_new(m->n), second = rows_new(m->n), again = rows_new(m->n);
    sapporo_mpi_tree *t = open_tree(o);
    int bad = compute_alone(m, o, &alone) || compute(t, m, PIECES, &first) || compute(t, m, PIECES, &second);
    check_statistics(t, m->n, !m->h ? 0 : m->softening ? 1 : 3, what);
    sapporo_mpi_tree_destroy(t);
    t = open_tree(o);
    bad = bad || compute(t, m, PIECES, &again) || !same_rows(&first, &again, m->n) || compute(t, m, PIECES, &again) ||
          !same_rows(&second, &again, m->n);
    report(!bad, "%s: the same run has the same bits", what);
    if (ranks == 1) report(same_rows(&second, &alone, m->n), "%s: one rank has the bits of sapporo_tree.h", what);
    sapporo_mpi_tree_destroy(t);
    rows_free(&alone);
    rows_free(&first);
    rows_free(&second);
    rows_free(&again);
}

/* Collective.  Masses times the gravitational constant are those of G = 1: so are the forces, to the bit. */
static void test_gravity(const struct model *given)
{
    const double gravity = 0.0043009172706903;
    for (int kind = SAPPORO_TREE_OCTREE; kind <= SAPPORO_TREE_KDTREE; kind++) {
        struct model m = model_new(given->n);
        struct rows found = rows_new(m.n), one = rows_new(m.n);
        sapporo_tree_options o = options_of((sapporo_tree_kind)kind, SAPPORO_MAC_ACCELERATION, SAPPORO_SP);
        memcpy(m.x, given->x, (size_t)m.n * sizeof *m.x);
        memcpy(m.mass, given->mass, (size_t)m.n * sizeof *m.mass);
        o.gravitational_constant = gravity;
        sapporo_mpi_tree *const with = open_tree(&o);
        o.gravitational_constant = 0;
        sapporo_mpi_tree *const without = open_tree(&o);
        int bad = 0;
        for (int k = 0; k < 2 && !bad; k++) bad = compute(with, &m, PIECES, &found);
        for (int i = 0; i < m.n; i++) m.mass[i] *= gravity;
        for (int k = 0; k < 2 && !bad; k++) bad = compute(without, &m, PIECES, &one);
        report(!bad && same_rows(&found, &one, m.n),
               "kind %d: with a gravitational constant the forces of as large masses", kind);
        sapporo_mpi_tree_destroy(with);
        sapporo_mpi_tree_destroy(without);
        rows_free(&found);
        rows_free(&one);
        model_free(&m);
    }
}

static const char *const kind_names[] = {"", "octree", "kdtree"};
static const char *const mac_names[] = {"", "opening", "multipole", "acceleration"};

static void test_errors(const struct model *m, const struct rows *exact)
{
    for (int kind = SAPPORO_TREE_OCTREE; kind <= SAPPORO_TREE_KDTREE; kind++)
        for (int mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++)
            for (int way = 0; way < 4; way++) { /* precision and order */
                char what[64];
                sapporo_tree_options o =
                    options_of((sapporo_tree_kind)kind, (sapporo_tree_mac)mac, way & 1 ? SAPPORO_DP : SAPPORO_SP);
                if (way != (kind + mac + ranks) % 4) continue; /* 1, 2, 3 and 4 ranks have all of them */
                o.order = way & 2 ? 1 : 2;
                (void)snprintf(what, sizeof what, "%s, %s, %s, order %d", kind_names[kind], mac_names[mac],
                               way & 1 ? "dp" : "sp", o.order);
                test_percentiles(m, exact, &o, what);
                test_bits(m, &o, what);
            }
}

/* ------------------------------------------------------------- other models */

enum odd {
    ONE_POINT,
    TWO_POINTS,
    LINE,
    SIGNS,
    MASSLESS,
    ESCAPER,
    TINY,
    ONE,
    TWO,
    NONE,
    WIDE,
    SHORT,
    HUGE_ONES,
    LONG_ONES,
    PLUMMER_WIDE,
    PLUMMER_SHORT,
    PLUMMER_LONG_ONES,
    PLUMMER_SIGNS,
    PLUMMER_MASSLESS,
    PLUMMER_FAR,
    ODDS
};
static const char *const odd_names[ODDS] = {"all at one point",
                                            "at two points",
                                            "on a line",
                                            "masses of both signs",
                                            "massless",
                                            "with an escaper",
                                            "1e-30 small",
                                            "one particle",
                                            "two particles",
                                            "no particle",
                                            "lengths of cells",
                                            "lengths beyond float",
                                            "huge lengths",
                                            "one cluster of long lengths",
                                            "Plummer lengths of cells",
                                            "Plummer lengths beyond float",
                                            "one cluster of long Plummer lengths",
                                            "Plummer lengths, masses of both signs",
                                            "Plummer lengths, massless",
                                            "long Plummer lengths of cells above ranks"};

/* Lengths of odd models: as cells, too short for float, longer than the model, of one cluster to the other one. */
static void soften_odd(struct model *m, enum odd what)
{
    static const double wide[] = {0.4, 0, 2, 0.03, 20, 0.2, 0.1}, tiny[] = {1e-13, 0, 1e-9, 0.02, 1e-150},
                        one[] = {50, 0.01, 0.02}, far[] = {60, 60, 100};
    if (what == WIDE) model_soften(m, SAPPORO_SOFTENING_SPLINE_MEAN, 7, wide);
    if (what == SHORT) model_soften(m, SAPPORO_SOFTENING_SPLINE_MEAN, 5, tiny);
    if (what == LONG_ONES) model_soften(m, SAPPORO_SOFTENING_SPLINE_MEAN, 3, one);
    if (what == PLUMMER_WIDE || what == PLUMMER_SIGNS || what == PLUMMER_MASSLESS)
        model_soften(m, SAPPORO_SOFTENING_PLUMMER, 7, wide);
    if (what == PLUMMER_SHORT) model_soften(m, SAPPORO_SOFTENING_PLUMMER, 3, tiny); /* all below the root of eps2 */
    if (what == PLUMMER_LONG_ONES) model_soften(m, SAPPORO_SOFTENING_PLUMMER, 3, one);
    if (what == PLUMMER_FAR) model_soften(m, SAPPORO_SOFTENING_PLUMMER, 3, far);
    if (what != HUGE_ONES) return;
    model_soften(m, SAPPORO_SOFTENING_SPLINE_LARGER, 7, wide);
    for (int i = 0; i < m->n; i += 50) m->h[i] = 1e6;
}

static struct model odd_model(enum odd what)
{
    struct model m = clusters(what == ONE ? 1 : what == TWO ? 2 : 600);
    if (what == NONE) m.n = 0;
    for (int i = 0; i < m.n; i++) {
        for (int c = 0; c < 3; c++) {
            if (what == ONE_POINT) m.x[i][c] = 0.25;
            if (what == TWO_POINTS) m.x[i][c] = i % 2;
            if (what == LINE && c > 0) m.x[i][c] = m.x[i][0] * c;
            if (what == TINY) m.x[i][c] *= 1e-30;
        }
        if ((what == SIGNS || what == PLUMMER_SIGNS) && i % 2) m.mass[i] = -m.mass[i];
        if (what == MASSLESS || what == PLUMMER_MASSLESS) m.mass[i] = 0;
        if (what == ESCAPER && i == 17) m.x[i][0] = 1e20;
        if (what == PLUMMER_FAR && i % 3 == 0) m.x[i][1] += 300;
    }
    soften_odd(&m, what);
    return m;
}

/* Models that are difficult to divide, given in every way, with both kinds of tree. */
static void test_odd_models(int fewer)
{
    for (int what = 0; what < ODDS; what++) {
        struct model m = odd_model((enum odd)what);
        struct rows exact = exact_rows(&m, 0x1p-12), found = rows_new(m.n), alone = rows_new(m.n);
        double error = 0;
        int bad = 0;
        for (int way = 0; way < (fewer ? 2 : 2 * SPLITS); way++) {
            sapporo_tree_options o = options_of(way & 1 ? SAPPORO_TREE_KDTREE : SAPPORO_TREE_OCTREE,
                                                (sapporo_tree_mac)(1 + way % 3), SAPPORO_DP);
            /* within lengths beyond the model forces nearly cancel, and an opening angle errs more */
            o.accuracy = way % 3 > 0 ? 1e-3 : what == HUGE_ONES ? 0.2 : 0.3;
            o.softening = (sapporo_softening)m.softening;
            sapporo_mpi_tree *const t = open_tree(&o);
            bad |= compute_alone(&m, &o, &alone) || compute(t, &m, (enum split)(way / 2), &found);
            const int absolute = o.mac == SAPPORO_MAC_MULTIPOLE || what == SIGNS || what == PLUMMER_SIGNS;
            double (*const measure)(const struct rows *, const struct rows *, int) =
                absolute ? absolute_error_of : error_of;
            const double one = measure(&alone, &exact, m.n), all = measure(&found, &exact, m.n);
            bad |= !isfinite(one);
            error = worst_of(error, all / (one + 4e-5));
            sapporo_mpi_tree_destroy(t);
        }
        report(!bad && error <= MORE, "%s: error %.2f times that of one tree", odd_names[what], error);
        rows_free(&alone);
        rows_free(&exact);
        rows_free(&found);
        model_free(&m);
    }
}

/* ------------------------------------------------------- softening lengths */

/* Disc and halo: every third particle has five times the length of the others, and some have none. */
static void soften(struct model *m, int softening)
{
    static const double lengths[] = {0.05, 0.05, 0.25, 0.05, 0, 0.25};
    model_soften(m, softening, 6, lengths);
}

/* Errors and bits with lengths, by all laws; 1, 2 and 3 ranks have both kinds of trees and all criteria. */
static void test_lengths(const struct model *given)
{
    for (int law = SAPPORO_SOFTENING_PLUMMER; law <= SAPPORO_SOFTENING_SPLINE_MEAN; law++) {
        struct model m = model_new(given->n);
        char what[64];
        memcpy(m.x, given->x, (size_t)m.n * sizeof *m.x);
        memcpy(m.mass, given->mass, (size_t)m.n * sizeof *m.mass);
        soften(&m, law);
        struct rows exact = exact_first(&m, 0x1p-12, N);
        sapporo_tree_options o = options_of((sapporo_tree_kind)(1 + (law + ranks) % 2),
                                            (sapporo_tree_mac)(1 + (law + !law + ranks) % 3), SAPPORO_SP);
        o.softening = (sapporo_softening)law;
        (void)snprintf(what, sizeof what, "lengths, law %d, %s, %s", law, kind_names[o.kind], mac_names[o.mac]);
        test_percentiles(&m, &exact, &o, what);
        test_bits(&m, &o, what);
        rows_free(&exact);
        model_free(&m);
    }
}

/* Forces after a build, or after a refresh that gives no lengths. */
static int force_again(sapporo_mpi_tree *t, const sapporo_tree_particles *p, int builds, struct rows *to)
{
    const int bad = builds ? sapporo_mpi_tree_build(t, p) : sapporo_mpi_tree_refresh(t, p);
    return bad || sapporo_mpi_tree_force(t, to->acc, to->pot);
}

/*
 * Lengths stay those of the particles where a call gives none: in a refresh, and after an exchange.  Particles without
 * any have the usual one: of splines the root of eps2, else 0.
 */
static void test_kept_lengths(sapporo_softening softening)
{
    enum { FEW = 900 };
    struct model all = clusters(FEW);
    soften(&all, (int)softening);
    for (int i = 0; i < FEW; i += ranks) all.h[i] = softening ? 0x1p-6 : 0; /* those of the first rank */
    struct particles_of_rank m = model_pick(&all, IN_TURN);
    sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_OPENING, SAPPORO_SP);
    o.softening = softening;
    sapporo_mpi_tree *const t = open_tree(&o);
    struct rows first = rows_new(m.n), next = rows_new(m.n), moved = rows_new(FEW), exact = exact_rows(&all, 0x1p-12);
    sapporo_tree_particles p = columns_of(&m.model, m.n);
    if (rank == 0) p.h.base = NULL;
    int *const number = calloc(FEW, sizeof *number), n = 0;
    int bad = force_again(t, &p, 1, &first);
    p.h.base = NULL;
    bad |= force_again(t, &p, 0, &next) || !same_rows(&first, &next, m.n);
    report(!bad, "a refresh without lengths: the bits of the lengths before, %s", sapporo_mpi_tree_last_error(t));
    bad |= sapporo_mpi_tree_exchange(t, sizeof *number, m.number, FEW, number, &n);
    struct particles_of_rank mine = {.n = n, .number = number, .model = model_new(n)};
    for (int k = 0; k < n; k++) {
        memcpy(mine.model.x[k], all.x[number[k]], sizeof *mine.model.x);
        mine.model.mass[k] = all.mass[number[k]];
    }
    p = columns_of(&mine.model, n);
    struct rows here = rows_new(n);
    bad |= force_again(t, &p, 0, &here);
    gather(&mine, &here, FEW, &moved);
    for (int k = 0; k < m.n; k++) memcpy(next.acc[k], moved.acc[m.number[k]], sizeof *next.acc);
    for (int k = 0; k < m.n; k++) next.pot[k] = moved.pot[m.number[k]];
    report(!bad && same_rows(&first, &next, m.n), "a refresh after an exchange: the bits of the lengths before");
    bad |= force_again(t, &p, 1, &here);
    gather(&mine, &here, FEW, &moved);
    const double error = error_of(&moved, &exact, FEW);
    report(!bad && error < 0.03, "a build after an exchange: error %.2e", error);
    p = columns_of(&mine.model, n > 0 ? n - 1 : 0);
    const int few = largest(n == 0) > 0, status = sapporo_mpi_tree_build(t, &p);
    report(few || ranks == 1 || status == SAPPORO_ERR_ARGUMENT, "fewer particles without lengths: %s",
           sapporo_mpi_tree_last_error(t));
    sapporo_mpi_tree_destroy(t);
    rows_free(&first);
    rows_free(&next);
    rows_free(&moved);
    rows_free(&here);
    rows_free(&exact);
    model_drop(&mine);
    model_drop(&m);
    model_free(&all);
}

/* Plummer lengths of the last rank's particles come with a refresh, after forces without; those of others are 0. */
static void test_late_lengths(void)
{
    enum { FEW = 900 };
    struct model all = clusters(FEW);
    soften(&all, SAPPORO_SOFTENING_PLUMMER);
    for (int i = 0; i < FEW; i++)
        if (i % ranks != ranks - 1) all.h[i] = 0;
    struct particles_of_rank m = model_pick(&all, IN_TURN);
    const sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_SP);
    struct rows found = rows_new(m.n), before = rows_new(m.n), exact = exact_rows(&all, 0x1p-12),
                all_found = rows_new(FEW);
    sapporo_mpi_tree *const t = open_tree(&o);
    const sapporo_tree_particles with = columns_of(&m.model, m.n);
    sapporo_tree_particles without = with;
    without.h.base = NULL;
    int bad = force_again(t, &without, 1, &before);
    for (int k = 0; k < 2; k++) bad |= force_again(t, rank == ranks - 1 ? &with : &without, 0, &found);
    gather(&m, &found, FEW, &all_found);
    const double error = error_of(&all_found, &exact, FEW);
    report(!bad && error < 1e-3 && !same_rows(&found, &before, m.n), "lengths from a refresh on: error %.2e, %s", error,
           sapporo_mpi_tree_last_error(t));
    sapporo_mpi_tree_destroy(t);
    rows_free(&found);
    rows_free(&before);
    rows_free(&exact);
    rows_free(&all_found);
    model_drop(&m);
    model_free(&all);
}

/* Particles that were given by other ranks have the same trees, so errors too; sizes of accelerations may be given. */
static void test_given(const struct model *m, const struct rows *exact)
{
    struct rows found = rows_new(m->n);
    const sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_SP);
    sapporo_mpi_tree *const t = open_tree(&o);
    double error = 0;
    int bad = 0;
    for (int how = 0; how < SPLITS; how++) {
        bad |= compute(t, m, (enum split)how, &found) != SAPPORO_OK;
        error = worst_of(error, error_of(&found, exact, N));
    }
    report(!bad && error < 1.5e-3, "given in other ways: error %.2e", error);
    struct particles_of_rank mine = model_pick(m, IN_TURN);
    struct rows r = rows_new(mine.n), again = rows_new(m->n);
    sapporo_tree_particles columns = columns_of(&mine.model, mine.n);
    double *const a = calloc((size_t)mine.n + 1, sizeof *a);
    for (int i = 0; i < mine.n; i++) a[i] = 1e-4;
    columns.a = (sapporo_column){a, 0};
    bad = sapporo_mpi_tree_build(t, &columns) || sapporo_mpi_tree_force(t, r.acc, r.pot);
    gather(&mine, &r, m->n, &again);
    report(!bad && error_of(&again, exact, N) < error, "small accelerations are given: a smaller error");
    bad = sapporo_mpi_tree_force(t, NULL, NULL) || sapporo_mpi_tree_force(t, NULL, r.pot);
    report(!bad, "forces again, not all of them wanted: %s", sapporo_mpi_tree_last_error(t));
    sapporo_mpi_tree_destroy(t);
    free(a);
    model_drop(&mine);
    rows_free(&r);
    rows_free(&again);
    rows_free(&found);
}

/* Loops that several threads share leave the bits of forces, after a build and after a refresh. */
static void test_threads(void)
{
    enum { MANY = 14000 };
    struct model m = clusters(MANY);
    struct particles_of_rank mine = model_pick(&m, IN_TURN);
    struct rows found[2][2];
    int bad = 0;
    for (int k = 0; k < 2; k++) {
        sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_OPENING, SAPPORO_SP);
        o.threads = k ? 3 : 1;
        o.accuracy = 1;
        sapporo_mpi_tree *const t = open_tree(&o);
        const sapporo_tree_particles columns = columns_of(&mine.model, mine.n);
        for (int f = 0; f < 2; f++) {
            found[k][f] = rows_new(mine.n);
            bad |= f ? sapporo_mpi_tree_refresh(t, &columns) : sapporo_mpi_tree_build(t, &columns);
            bad |= sapporo_mpi_tree_force(t, found[k][f].acc, found[k][f].pot);
        }
        sapporo_mpi_tree_destroy(t);
    }
    report(!bad && same_rows(&found[0][0], &found[1][0], mine.n) && same_rows(&found[0][1], &found[1][1], mine.n),
           "three threads: the bits of one");
    for (int k = 0; k < 4; k++) rows_free(&found[k / 2][k % 2]);
    model_drop(&mine);
    model_free(&m);
}

/* -------------------------------------------------------------- what travels */

/* Particles of which LOOKED_AT are compared: sparse ones BETWEEN two balls along the curve, AROUND both, and the balls.
 */
enum { MANY = 8000, BETWEEN = 200, AROUND = 64, SPARSE = BETWEEN + AROUND, LOOKED_AT = 800 };
enum { FIRST_BALL = (MANY - BETWEEN) / 2, SECOND_BALL = MANY - SPARSE - FIRST_BALL };

/* The ball of a particle that is not sparse, 0 or 1. */
static int ball_of(int i) { return i % 2 && i < SPARSE + 2 * SECOND_BALL; }

/* Places sparse particle i in the octant of a cube from -128 to 128 that comes n-th along the curve. */
static void place_sparse(int i, int n, double *x)
{
    const double step[3] = {0.8191725134, 0.6710436067, 0.5497004779}; /* of a sequence that fills a cube evenly */
    const int octant = n ^ n >> 1; /* the curve takes octants as a Gray code counts, bits are those of x, y, z */
    for (int c = 0; c < 3; c++) x[c] = (octant >> (2 - c) & 1 ? 8 : -120) + 112 * fmod(i * step[c], 1);
}

/*
 * Two balls, and so few particles around both that a group of these reaches through the whole system.  Without a force
 * before, all particles weigh the same, so the boundary between two ranks is half a group from the middle of the curve
 * at most, and BETWEEN particles are there.  So each rank has a ball, and the particles around both are of the second
 * rank.
 */
static struct model balls_with_surroundings(void)
{
    struct model m = clusters(MANY);
    for (int i = 0; i < m.n; i++) {
        double *const x = m.x[i];
        if (i % 3 == 0) x[1] -= 30; /* clusters() has two */
        for (int c = 0; c < 3; c++) x[c] += c == 0 || ball_of(i) == 0 ? -64 : 64;
        if (i < SPARSE) place_sparse(i, i < BETWEEN ? 1 : 3 + i % 5, x);
    }
    for (int c = 0; c < 3; c++) m.x[SPARSE][c] = -128, m.x[SPARSE - 1][c] = 127; /* the edge of the cube is 256 */
    return m;
}

/* Collective.  Builds, with the accelerations of some rows, and computes; each ball must be on one rank. */
static int compute_balls(sapporo_mpi_tree *t, const struct model *m, const struct rows *known, struct rows *to)
{
    struct particles_of_rank p = model_pick(m, PIECES);
    struct rows r = rows_new(p.n);
    double *const a = calloc((size_t)p.n + 1, sizeof *a);
    int *const mine = calloc((size_t)m->n, sizeof *mine);
    int n = 0, of_ball[2] = {0, 0};
    sapporo_tree_particles columns = columns_of(&p.model, p.n);
    for (int i = 0; i < p.n; i++) {
        const double *const k = known->acc[p.number[i]];
        a[i] = sqrt(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
    }
    columns.a = (sapporo_column){a, 0};
    int bad = sapporo_mpi_tree_build(t, &columns) || sapporo_mpi_tree_force(t, r.acc, r.pot);
    gather(&p, &r, m->n, to);
    bad |= sapporo_mpi_tree_exchange(t, sizeof *mine, p.number, m->n, mine, &n);
    for (int k = 0; k < n && !bad; k++) of_ball[ball_of(mine[k])] += mine[k] >= SPARSE;
    report(!bad && !(of_ball[0] && of_ball[1]), "balls with surroundings: each ball is on one rank");
    free(mine);
    free(a);
    rows_free(&r);
    model_drop(&p);
    return bad;
}

/*
 * The halo of another rank is what lies near it, however large some groups are; forces have the error of one tree.  The
 * other rank's particles are far from a ball, so they accept its cells: a rank sends sparse particles, and the few that
 * share a leaf with them.
 */
static void test_surroundings(void)
{
    struct model m = balls_with_surroundings();
    struct rows exact = exact_first(&m, 0x1p-12, LOOKED_AT), found = rows_new(m.n), alone = rows_new(m.n);
    sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_SP);
    o.accuracy = 1.0 / 128;
    o.group_size = AROUND;
    sapporo_mpi_tree *const t = open_tree(&o);
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    int bad = compute_alone(&m, &o, &alone) || compute_balls(t, &m, &alone, &found);
    bad |= sapporo_mpi_tree_get_statistics(t, &s);
    const double sent = largest(bad ? INFINITY : (double)s.sent_particles);
    report(!bad && sent <= SPARSE, "balls with surroundings: a rank sends %.0f particles", sent);
    const double one = error_of(&alone, &exact, LOOKED_AT), all = error_of(&found, &exact, LOOKED_AT);
    report(!bad && all <= MORE * one + 4e-5, "balls with surroundings: error %.2e, of one tree %.2e", all, one);
    sapporo_mpi_tree_destroy(t);
    rows_free(&exact);
    rows_free(&found);
    rows_free(&alone);
    model_free(&m);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    const int fewer = ranks != 2 || getenv("SAPPORO_TEST_CHECKED") != NULL;
    if (has_device()) {
        struct model m = clusters(model_size());
        struct rows exact = exact_first(&m, 0x1p-12, N);
        test_errors(&m, &exact);
        test_gravity(&m);
        test_odd_models(fewer);
        if (ranks < 4) test_lengths(&m);
        if (ranks < 4) test_kept_lengths(SAPPORO_SOFTENING_PLUMMER);
        if (ranks < 4) test_kept_lengths(SAPPORO_SOFTENING_SPLINE_MEAN);
        if (ranks < 4) test_late_lengths();
        test_given(&m, &exact);
        rows_free(&exact);
        model_free(&m);
        if (ranks < 4) test_threads();
        if (!fewer) test_surroundings();
    }
    return ranks_end();
}
