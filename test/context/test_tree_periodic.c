/*
 * test_tree_periodic.c - trees in a periodic cube on every engine, against Ewald's sum in long double: forces and tidal
 * tensors of each softening and criterion, active particles, positions, all of these in turn, refreshes, moved cubes,
 * other units, many images, neighbours, and errors.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ewald.h"
#include "nearest.h"
#include "reference_spline.h"
#include "rng.h"
#include "runs.h"
#include "sapporo_experiments.h"
#include "tree_cases.h"
#include "worst.h"

enum { N = 216, ROWS = 18, STEP = N / ROWS, SIX = 6 };
enum { MANY = 3072 }; /* particles whose images, all of them, accelerators do not join to the tree */
enum { LARGER = SAPPORO_SOFTENING_SPLINE_LARGER, MEAN = SAPPORO_SOFTENING_SPLINE_MEAN };

/* ---- the reference ---- */

struct model {
    int n, softening;
    double x[MANY][3], mass[MANY], h[MANY], eps2, period;
};

/* The results at a position. */
struct row {
    double acc[3], pot, tidal[SIX];
};

/* Adds what softening changes of an image at x. */
static void soften(const struct model *m, const real *x, double hi, double hj, struct ewald *to)
{
    const real r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2], r = sqrtl(r2), l = m->period;
    real pot, f, slope;
    if (m->softening == 0) {
        const real soft2 = r2 + (m->eps2 + (real)hi * hi + (real)hj * hj) / (l * l),
                   u = soft2 > 0 ? 1 / sqrtl(soft2) : 0;
        pot = u, f = u * u * u, slope = -3 * f * u * u;
    } else {
        reference_spline_pair(m->softening == MEAN, r, hi / l, hj / l, &pot, &f);
        slope = reference_spline_pair_slope(m->softening == MEAN, r, hi / l, hj / l);
        pot = -pot;
    }
    const real v = r > 0 ? 1 / r : 0;
    ewald_add(to, x, pot - v, f - v * v * v, slope + 3 * v * v * v * v * v);
}

static int reaches(const struct model *m, int j, double hi) { return m->eps2 > 0 || hi > 0 || m->h[j] > 0; }

/* Returns the row of a position x in the cube with length hi; own: the particle that is there, or -1. */
static struct row solve(const struct model *m, const double *x, double hi, int own)
{
    real acc[3] = {0}, pot = 0, tidal[SIX] = {0};
    const real l = m->period;
    for (int j = 0; j < m->n; j++) {
        real d[3];
        for (int c = 0; c < 3; c++) d[c] = ((real)m->x[j][c] - x[c]) / l;
        struct ewald e = ewald_sum(d, 2.2L);
        for (int k = 0; k < 27 && reaches(m, j, hi); k++) {
            const int shift[3] = {k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1};
            const real at[3] = {d[0] + shift[0], d[1] + shift[1], d[2] + shift[2]};
            if (k != 13 || j != own) soften(m, at, hi, m->h[j], &e);
        }
        pot -= m->mass[j] * e.pot / l;
        for (int c = 0; c < 3; c++) acc[c] += m->mass[j] * e.acc[c] / l / l;
        for (int q = 0; q < SIX; q++) tidal[q] += m->mass[j] * e.tidal[q] / l / l / l;
    }
    struct row r = {.pot = (double)pot};
    for (int c = 0; c < 3; c++) r.acc[c] = (double)acc[c];
    for (int q = 0; q < SIX; q++) r.tidal[q] = (double)tidal[q];
    return r;
}

/* ---- Ewald's sum itself ---- */

static void known_sums(void **state)
{
    (void)state;
    const real zero[3] = {0, 0, 0}, at[3] = {0.3L, -0.45L, 0.12L};
    real rock_salt = 0;
    const struct ewald self = ewald_sum(zero, 2), a = ewald_sum(at, 1.7L), b = ewald_sum(at, 2.6L);
    assert_true(fabsl(self.pot + 2.837297479480619L) < 1e-14L); /* Nijboer & Ruijgrok 1988, J. Stat. Phys. 53, 361 */
    assert_true(fabsl(a.pot - b.pot) < 1e-14L && fabsl(a.acc[1] - b.acc[1]) < 1e-14L);
    for (int q = 0; q < SIX; q++) assert_true(fabsl(a.tidal[q] - b.tidal[q]) < 1e-13L);
    for (int k = 0; k < 8; k++) { /* charges at distances 1/2 */
        const int at_odd[3] = {k / 4, k / 2 % 2, k % 2};
        const real d[3] = {at_odd[0] * 0.5L, at_odd[1] * 0.5L, at_odd[2] * 0.5L};
        rock_salt += ((at_odd[0] + at_odd[1] + at_odd[2]) % 2 ? -1 : 1) * ewald_sum(d, 2).pot;
    }
    assert_true(fabsl(rock_salt / 2 + 1.747564594633182L) < 1e-14L); /* Madelung's constant of rock salt */
    assert_true(fabsl(a.tidal[0] + a.tidal[3] + a.tidal[5] - 4 * 3.14159265358979323846L) < 1e-13L);
}

/* ---- cases ---- */

enum input { UNIFORM, CORNER, LATTICE, FEW, ONE, SIGNS, OUTSIDE, POINT, FACES };
enum lengths { NONE, EQUAL, MIXED };

static const struct {
    const char *name;
    enum input input;
    int softening;
    enum lengths lengths;
    double eps, period; /* eps in periods */
} CASES[] = {{"uniform", UNIFORM, 0, NONE, 0, 1},
             {"uniform, softened", UNIFORM, 0, NONE, 0.01, 1},
             {"clump at a corner", CORNER, 0, NONE, 0, 100},
             {"clump at a corner, splines", CORNER, LARGER, MIXED, 0, 1},
             {"uniform, mean of splines", UNIFORM, MEAN, EQUAL, 0, 0.25},
             {"uniform, Plummer lengths", UNIFORM, 0, MIXED, 0.001, 3},
             {"signs", SIGNS, 0, NONE, 0, 1},
             {"two particles", FEW, 0, NONE, 0, 1},
             {"one particle", ONE, 0, NONE, 0, 2},
             {"many periods away", OUTSIDE, 0, NONE, 0, 0.7},
             {"one point", POINT, 0, EQUAL, 0, 1},
             {"small clumps at opposite faces", FACES, 0, NONE, 0.001, 1},
             {"lattice", LATTICE, 0, NONE, 0, 1}};
enum { NCASES = sizeof CASES / sizeof CASES[0], NCELLS = 7 };

static double image_of(double x, double period)
{
    double in = fmod(x, period);
    if (in < 0) in += period;
    return in < period ? in : 0;
}

static void place(struct model *m, int i, enum input what, rng *source)
{
    const int lattice[3] = {i / 36, i / 6 % 6, i % 6};
    for (int c = 0; c < 3; c++) {
        const double u = rng_uniform(source), v = rng_uniform(source);
        m->x[i][c] = what == LATTICE  ? (lattice[c] + 0.25) / 6
                     : what == POINT  ? 0.75
                     : what == CORNER ? 0.08 * (u + v - 1) * (i % 3 + 0.1)
                     : what == FACES  ? (c > 0 || i % 2 ? 0.95 : 0.01) + 0.04 * u
                                      : u;
        m->x[i][c] *= m->period;
        if (what == OUTSIDE) m->x[i][c] += (i % 5 - 2) * (c + 1) * 1000 * m->period;
    }
}

/* Makes a model as the caller gives it: some of its positions are not in the cube. */
static struct model *model_make(int k)
{
    static const double mixed[] = {0, 0.02, 0.3, 0.005, 0.1, 0};
    struct model *const m = zeroed(1, sizeof *m);
    const enum input what = CASES[k].input;
    rng source;
    rng_seed(&source, (uint64_t)k + 3, 0);
    m->n = what == FEW ? 2 : what == ONE ? 1 : N;
    m->period = CASES[k].period;
    m->softening = CASES[k].softening;
    m->eps2 = CASES[k].eps * CASES[k].eps * m->period * m->period;
    for (int i = 0; i < m->n; i++) {
        place(m, i, what, &source);
        m->mass[i] = what == LATTICE ? 1 : pow(100, rng_uniform(&source)) * (what == SIGNS && i % 3 == 0 ? -1 : 1);
        m->h[i] = m->period * (CASES[k].lengths == EQUAL ? 0.1 : CASES[k].lengths == MIXED ? mixed[i % 6] : 0);
    }
    return m;
}

static void put_inside(struct model *m)
{
    for (int i = 0; i < m->n; i++)
        for (int c = 0; c < 3; c++) m->x[i][c] = image_of(m->x[i][c], m->period);
}

/* Returns the rows of every STEP-th particle of a case, which are the same for all engines. */
static const struct row *rows_of(int k)
{
    static struct row rows[NCASES][ROWS];
    static int known[NCASES];
    struct model *const m = model_make(k);
    put_inside(m);
    for (int i = 0; i < ROWS && i * STEP < m->n && !known[k]; i++)
        rows[k][i] = solve(m, m->x[i * STEP], m->h[i * STEP], i * STEP);
    known[k] = 1;
    free(m);
    return rows[k];
}

static void set(sapporo_tree *t, const struct model *m)
{
    int has_lengths = 0;
    for (int i = 0; i < m->n; i++) has_lengths |= m->h[i] > 0;
    const sapporo_tree_particles all = {
        .size = sizeof all, .n = m->n, .x = {m->x, 0}, .mass = {m->mass, 0}, .h = {has_lengths ? m->h : NULL, 0}};
    if (sapporo_tree_set(t, &all)) fail_msg("%s", sapporo_tree_last_error(t));
}

static sapporo_tree *plant(const struct model *m, sapporo_tree_options options)
{
    sapporo_tree *t;
    options.softening = (sapporo_softening)m->softening;
    options.eps2 = m->eps2;
    options.period = m->period;
    if (sapporo_tree_create(&options, MANY, &t)) fail_msg("%s", sapporo_last_error(NULL));
    set(t, m);
    if (sapporo_tree_build(t)) fail_msg("%s", sapporo_tree_last_error(t));
    return t;
}

/* Forces and tensors that a tree returned. */
struct found {
    double acc[N][3], pot[N], tidal[N][SIX];
};

static void ask(sapporo_tree *t, const sapporo_tree_request *r, struct found *to)
{
    if (sapporo_tree_force(t, r, to->acc, to->pot)) fail_msg("%s", sapporo_tree_last_error(t));
    if (sapporo_tree_tidal(t, r, to->tidal)) fail_msg("%s", sapporo_tree_last_error(t));
}

/* The greatest errors of rows: accelerations, potentials, tensors. */
struct errors {
    double acc, pot, tidal;
};

static double mass_of(const struct model *m)
{
    double sum = 0;
    for (int i = 0; i < m->n; i++) sum += fabs(m->mass[i]);
    return sum;
}

static double size3(const double *a) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

static void compare(const struct model *m, const struct row *right, const struct found *f, int row, struct errors *e)
{
    const double l = m->period, mass = mass_of(m);
    double off[3], tidal = 0, off2 = 0;
    for (int c = 0; c < 3; c++) off[c] = f->acc[row][c] - right->acc[c];
    for (int q = 0; q < SIX; q++) tidal += right->tidal[q] * right->tidal[q];
    for (int q = 0; q < SIX; q++) off2 += (f->tidal[row][q] - right->tidal[q]) * (f->tidal[row][q] - right->tidal[q]);
    e->acc = worst_of(e->acc, size3(off) / (size3(right->acc) + mass / l / l));
    e->pot = worst_of(e->pot, fabs(f->pot[row] - right->pot) / (fabs(right->pot) + mass / l));
    e->tidal = worst_of(e->tidal, sqrt(off2) / (sqrt(tidal) + mass / l / l / l));
}

static struct errors errors_of(sapporo_tree *t, const struct model *m, const struct row *right)
{
    static struct found f;
    struct errors e = {0, 0, 0};
    const sapporo_tree_request all = {.size = sizeof all, .ni = m->n};
    ask(t, &all, &f);
    for (int i = 0; i < ROWS && i * STEP < m->n; i++) compare(m, &right[i], &f, i * STEP, &e);
    return e;
}

static void below(const char *what, struct errors e, double acc, double pot, double tidal)
{
    tree_below(what, e.acc, acc);
    tree_below(what, e.pot, pot);
    tree_below(what, e.tidal, tidal);
}

/* ---- pairs: no cell is accepted, so that what is left are the far images ---- */

static void pairs_on(const struct engine *e)
{
    const int in_double = e->precision == SAPPORO_DP;
    for (int k = 0; k < NCASES; k++)
        for (int walk = SAPPORO_WALK_GROUPS; walk <= SAPPORO_WALK_STACKLESS; walk++) {
            struct model *const m = model_make(k);
            sapporo_tree_options o = tree_on(e);
            o.accuracy = 1e-9;
            o.experiments = SAPPORO_EXPERIMENTS(0, (unsigned)walk, 0);
            sapporo_tree *const t = plant(m, o);
            put_inside(m);
            below(CASES[k].name, errors_of(t, m, rows_of(k)), in_double ? 1e-7 : 4e-6, in_double ? 2e-7 : 4e-6, 1e-6);
            sapporo_tree_destroy(t);
            free(m);
        }
}

RUNS(pairs, tree_on_each(pairs_on))

/* ---- cells ---- */

static const struct {
    sapporo_tree_mac mac;
    double accuracy;
    int order;
    double acc, pot, tidal, alone; /* alone: how many times as large errors of walks of single particles may be */
} BOUNDS[] = {{SAPPORO_MAC_OPENING, 0.7, 1, 0.13, 0.04, 0.3, 1},
              {SAPPORO_MAC_OPENING, 0.7, 2, 0.03, 0.014, 0.06, 3},
              {SAPPORO_MAC_OPENING, 0.3, 2, 1.2e-3, 1.5e-3, 1.2e-3, 1},
              {SAPPORO_MAC_MULTIPOLE, 1e-3, 2, 2.2e-3, 4e-3, 1.5e-3, 3},
              {SAPPORO_MAC_ACCELERATION, 1e-2, 1, 8e-3, 6e-3, 8e-3, 1},
              {SAPPORO_MAC_ACCELERATION, 1e-3, 2, 2.4e-4, 1.7e-3, 8e-5, 4}};
/* measured: 0.066, 0.018, 0.14; 0.016, 0.0069, 0.030; 6.1e-4, 7.6e-4, 5.9e-4; 1.1e-3, 2.0e-3, 7.6e-4; 4.0e-3, 3.1e-3,
 * 3.9e-3; 1.1e-4, 8.4e-4, 4.0e-5 */
enum { NBOUNDS = sizeof BOUNDS / sizeof BOUNDS[0] };

static void check_cells(const struct engine *e, int k, int b, int walk)
{
    struct model *const m = model_make(k);
    sapporo_tree_options o = tree_on(e);
    o.mac = BOUNDS[b].mac;
    o.accuracy = BOUNDS[b].accuracy;
    o.order = BOUNDS[b].order;
    o.leaf_size = o.group_size = 8;
    o.experiments = SAPPORO_EXPERIMENTS(0, (unsigned)walk, 0);
    sapporo_tree *const t = plant(m, o);
    put_inside(m);
    const double more = walk == SAPPORO_WALK_STACKLESS ? BOUNDS[b].alone : 1;
    below(CASES[k].name, errors_of(t, m, rows_of(k)), more * BOUNDS[b].acc, more * BOUNDS[b].pot,
          more * BOUNDS[b].tidal);
    sapporo_tree_destroy(t);
    free(m);
}

static void cells_on(const struct engine *e)
{
    for (int k = 0; k < NCELLS; k++)
        for (int b = 0; b < NBOUNDS; b++) {
            check_cells(e, k, b, SAPPORO_WALK_GROUPS);
            if (b % 2) check_cells(e, k, b, SAPPORO_WALK_STACKLESS);
        }
}

RUNS(cells, tree_on_each(cells_on))

/* ---- targets ---- */

/* Rows of lists, in no order and again, are those of all particles; on CPUs with the same bits. */
static void active_on(const struct engine *e)
{
    static struct found all, some;
    int active[ROWS];
    for (int i = 0; i < ROWS; i++) active[i] = ((i - (i % 9 == 8)) * 79 + 5) % N;
    for (int k = 2; k < 6; k++)
        for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++) {
            struct model *const m = model_make(k);
            sapporo_tree_options o = tree_on(e);
            o.mac = mac;
            o.accuracy = mac == SAPPORO_MAC_OPENING ? 0.4 : 1e-3;
            sapporo_tree *const t = plant(m, o), *const other = plant(m, o);
            const sapporo_tree_request every = {.size = sizeof every, .ni = N};
            const sapporo_tree_request r = {.size = sizeof r, .ni = ROWS, .active = active};
            ask(t, &every, &all);
            ask(other, &r, &some);
            for (int i = 0; i < ROWS; i++) {
                const int row = active[i];
                if (e->isa) assert_true(same_doubles(some.acc[i], all.acc[row], 3) && some.pot[i] == all.pot[row]);
                tree_below("a row", fabs(some.pot[i] - all.pot[row]) * m->period / mass_of(m),
                           0.05);                              /* measured: 0.017 */
                if (mac == SAPPORO_MAC_ACCELERATION) continue; /* accelerations of other particles are unknown */
                assert_true(same_doubles(some.tidal[i], all.tidal[row], SIX));
            }
            sapporo_tree_destroy(t);
            sapporo_tree_destroy(other);
            free(m);
        }
}

RUNS(active_particles, tree_on_each(active_on))

/* Positions, some at particles, some in other periods, some of which receive no force. */
static void positions_on(const struct engine *e)
{
    static struct found f;
    static struct row rows[5][ROWS];
    static int known[5];
    for (int k = 1; k < 5; k++) {
        struct model *const m = model_make(k);
        const int has_h = CASES[k].lengths != NONE;
        double at[ROWS][3], h[ROWS];
        struct errors errors = {0, 0, 0};
        sapporo_tree_options o = tree_on(e);
        o.accuracy = 1e-9;
        sapporo_tree *const t = plant(m, o);
        put_inside(m);
        for (int i = 0; i < ROWS; i++) {
            h[i] = has_h ? 0.07 * m->period : 0;
            for (int c = 0; c < 3; c++)
                at[i][c] = m->x[i * STEP][c] + m->period * ((i % 3 ? 0.013 * c : 0) + (i % 5 - 2) * 8);
        }
        const sapporo_tree_request r = {.size = sizeof r, .ni = ROWS, .x = {at, 0}, .h = {has_h ? h : NULL, 0}};
        ask(t, &r, &f);
        for (int i = 0; i < ROWS; i++) {
            double x[3];
            for (int c = 0; c < 3; c++) x[c] = image_of(at[i][c], m->period);
            if (!known[k]) rows[k][i] = solve(m, x, h[i], -1);
            if (i % 3) compare(m, &rows[k][i], &f, i, &errors); /* a pair 1e-15 apart is not for sums of 1/r */
        }
        known[k] = 1;
        below(CASES[k].name, errors, 4e-6, 4e-6, 1e-6);
        at[4][1] = NAN, at[8][0] = INFINITY, h[9] = 0.5 * m->period;
        assert_int_equal(sapporo_tree_force(t, &r, f.acc, f.pot), SAPPORO_PARTIAL);
        for (int i = 0; i < ROWS; i++) assert_int_equal(isnan(f.pot[i]) != 0, i == 4 || i == 8 || (i == 9 && has_h));
        sapporo_tree_destroy(t);
        free(m);
    }
}

RUNS(positions, tree_on_each(positions_on))

/* Compares forces on ROWS targets with those of rows; own: these are of every STEP-th particle. */
static void compare_targets(sapporo_tree *t, const struct model *m, const sapporo_tree_request *r,
                            const struct row *right, int own)
{
    static struct found f;
    struct errors errors = {0, 0, 0};
    ask(t, r, &f);
    for (int i = 0; i < ROWS; i++) compare(m, &right[i], &f, own ? i * STEP : i, &errors);
    below("in turn", errors, 1.7e-3, 2e-3, 4.2e-3); /* measured: 8.2e-4, 9.7e-4, 2.1e-3 */
}

/*
 * All particles, positions all over the cube, and a few particles, of one tree by each criterion, in turn: what acts on
 * some targets of a clump does not suffice for others.
 */
static void turns_on(const struct engine *e)
{
    static struct row rows[ROWS];
    static int known;
    struct model *const m = model_make(2);
    double at[ROWS][3];
    int active[ROWS];
    for (int i = 0; i < ROWS; i++) {
        active[i] = i * STEP;
        for (int c = 0; c < 3; c++) at[i][c] = m->period * (0.07 + 0.9 * ((i * (2 * c + 5) + 3 * c) % ROWS) / ROWS);
    }
    const sapporo_tree_request all = {.size = sizeof all, .ni = N};
    const sapporo_tree_request some = {.size = sizeof some, .ni = ROWS, .active = active};
    const sapporo_tree_request places = {.size = sizeof places, .ni = ROWS, .x = {at, 0}};
    for (sapporo_tree_mac mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++) {
        sapporo_tree_options o = tree_on(e);
        o.mac = mac;
        o.accuracy = mac == SAPPORO_MAC_OPENING ? 0.4 : 1e-3;
        o.leaf_size = o.group_size = 8;
        sapporo_tree *const t = plant(m, o);
        put_inside(m);
        for (int i = 0; i < ROWS && !known; i++) rows[i] = solve(m, at[i], 0, -1);
        known = 1;
        for (int turn = 0; turn < 4; turn++) {
            if (turn % 2 == 0) compare_targets(t, m, &all, rows_of(2), 1);
            compare_targets(t, m, &places, rows, 0);
            if (turn == 2) assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
            compare_targets(t, m, &some, rows_of(2), 0);
        }
        sapporo_tree_destroy(t);
    }
    free(m);
}

RUNS(in_turn, tree_on_each(turns_on))

/* No cell is accepted, so that images are far more than the tree. */
static void many_on(const struct engine *e)
{
    enum { SOME = 4 };
    static struct row rows[SOME];
    static struct found f;
    static int known;
    struct model *const m = zeroed(1, sizeof *m);
    struct errors errors = {0, 0, 0};
    int active[SOME];
    rng source;
    rng_seed(&source, 9, 0);
    m->n = MANY, m->period = 1;
    for (int i = 0; i < MANY; i++) {
        place(m, i, UNIFORM, &source);
        m->mass[i] = 1;
    }
    for (int i = 0; i < SOME; i++) active[i] = 1 + 761 * i;
    for (int i = 0; i < SOME && !known; i++) rows[i] = solve(m, m->x[active[i]], 0, active[i]);
    known = 1;
    sapporo_tree_options o = tree_on(e);
    o.accuracy = 1e-9;
    sapporo_tree *const t = plant(m, o);
    const sapporo_tree_request r = {.size = sizeof r, .ni = SOME, .active = active};
    for (int again = 0; again < 2; again++) ask(t, &r, &f);
    for (int i = 0; i < SOME; i++) compare(m, &rows[i], &f, i, &errors);
    below("many images", errors, e->precision == SAPPORO_DP ? 1e-7 : 4e-6, 4e-6, 1e-6);
    sapporo_tree_destroy(t);
    free(m);
}

RUNS(many, tree_on_each(many_on))

/* ---- particles that move ---- */

enum { MOVES = 9 };

/* Returns the errors after a move of case 2 or 3, whose rows are the same for all engines. */
static struct errors after_move(sapporo_tree *t, const struct model *m, int k, int move)
{
    static struct row rows[2][MOVES][ROWS];
    static int known[2][MOVES];
    struct row *const right = rows[k - 2][move];
    struct model *const inside = zeroed(1, sizeof *inside);
    *inside = *m;
    put_inside(inside);
    for (int i = 0; i < ROWS && !known[k - 2][move]; i++)
        right[i] = solve(inside, inside->x[i * STEP], inside->h[i * STEP], i * STEP);
    known[k - 2][move] = 1;
    const struct errors e = errors_of(t, inside, right);
    free(inside);
    return e;
}

/* Refreshes: particles cross the faces, a little, then by more than the margin; then all move by half a period. */
static void refreshed_on(const struct engine *e)
{
    for (int k = 2; k < 4; k++) {
        struct model *const m = model_make(k);
        sapporo_tree_options o = tree_on(e);
        o.accuracy = 0.2;
        sapporo_tree *const t = plant(m, o);
        for (int move = 0; move < 4; move++) {
            static const double by[] = {0.01, 0.05, 0.5, 3.1};
            for (int i = 0; i < N; i++)
                for (int c = 0; c < 3; c++) m->x[i][c] += by[move] * m->period * (i % 4 - 1.4 + 0.1 * c);
            if (move == 1) put_inside(m); /* as a caller may do */
            set(t, m);
            assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
            below("refreshed", after_move(t, m, k, move), 1e-3, 1e-3, 5e-3);
        }
        int built;
        for (int call = 0; call < 5; call++) {
            for (int i = 0; i < N; i++)
                for (int c = 0; c < 3; c++) m->x[i][c] += 0.02 * m->period * (i % 4 - 1.4 + 0.1 * c);
            if (call % 2) put_inside(m);
            set(t, m);
            assert_int_equal(sapporo_tree_refresh_or_build(t, 1, &built), SAPPORO_OK);
            below("refreshed or built", after_move(t, m, k, 4 + call), 1e-3, 1e-3, 5e-3);
        }
        sapporo_tree_destroy(t);
        free(m);
    }
}

RUNS(refreshed, tree_on_each(refreshed_on))

/* All particles moved alike have the same forces; momentum is conserved but for errors of cells. */
static void moved_on(const struct engine *e)
{
    static struct found first, f;
    static const double by[] = {0, 0.37, 0.5, -12.8};
    for (int j = 0; j < 4; j++) {
        struct model *const m = model_make(0);
        sapporo_tree_options o = tree_on(e);
        o.accuracy = 1e-9;
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++) m->x[i][c] += by[j] * (1 + c);
        sapporo_tree *const t = plant(m, o);
        const sapporo_tree_request all = {.size = sizeof all, .ni = N};
        ask(t, &all, j == 0 ? &first : &f);
        double net[3] = {0}, worst = 0;
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++) {
                if (j > 0) worst = worst_of(worst, fabs(f.acc[i][c] - first.acc[i][c]));
                net[c] += m->mass[i] * (j > 0 ? f.acc[i][c] : first.acc[i][c]);
            }
        tree_below("moved", worst / mass_of(m), 2e-5);
        tree_below("momentum", size3(net) / mass_of(m) / mass_of(m), 5e-7);
        sapporo_tree_destroy(t);
        free(m);
    }
}

RUNS(moved, tree_on_each(moved_on))

/* ---- special models ---- */

/* One particle: no force, and the potential of its images.  A lattice: small forces, and not all cells are opened. */
static void special_on(const struct engine *e)
{
    static struct found f;
    for (int k = 0; k < NCASES; k++) {
        if (CASES[k].input != ONE && CASES[k].input != LATTICE) continue;
        struct model *const m = model_make(k);
        sapporo_tree_options o = tree_on(e);
        o.mac = SAPPORO_MAC_ACCELERATION;
        o.accuracy = 0.01;
        o.leaf_size = o.group_size = 8;
        sapporo_tree *const t = plant(m, o);
        const sapporo_tree_request all = {.size = sizeof all, .ni = m->n};
        sapporo_tree_statistics s = {.size = sizeof s};
        for (int again = 0; again < 2; again++) ask(t, &all, &f);
        assert_int_equal(sapporo_tree_get_statistics(t, &s), SAPPORO_OK);
        const double mass = mass_of(m), l = m->period;
        for (int i = 0; i < m->n; i++)
            tree_below(CASES[k].name, size3(f.acc[i]) * l * l / mass, m->n > 1 ? 1e-2 : 1e-8);
        if (m->n == 1) tree_below("self", fabs(f.pot[0] * l / mass - 2.837297479480619), 1e-7);
        tree_below("interactions", (double)(s.particle_particle + s.particle_cell) / m->n, m->n > 1 ? 27 * 100 : 28);
        sapporo_tree_destroy(t);
        free(m);
    }
}

RUNS(special, tree_on_each(special_on))

/* The same model in units of powers of two: the same bits, times a power of two. */
static void units_on(const struct engine *e)
{
    static struct found first, f;
    static const int lengths[] = {0, 40, -90, 180}, masses[] = {0, -30, 40, 300};
    for (int j = 0; j < 4; j++) {
        struct model *const m = model_make(0);
        sapporo_tree_options o = tree_on(e);
        const sapporo_tree_request all = {.size = sizeof all, .ni = N};
        m->period = ldexp(1, lengths[j]);
        for (int i = 0; i < N; i++) {
            m->mass[i] = ldexp(m->mass[i], masses[j]);
            for (int c = 0; c < 3; c++) m->x[i][c] = ldexp(m->x[i][c], lengths[j]);
        }
        sapporo_tree *const t = plant(m, o);
        ask(t, &all, j == 0 ? &first : &f);
        for (int i = 0; i < N && j > 0; i++) {
            assert_true(f.pot[i] == ldexp(first.pot[i], masses[j] - lengths[j]));
            for (int c = 0; c < 3; c++) assert_true(f.acc[i][c] == ldexp(first.acc[i][c], masses[j] - 2 * lengths[j]));
            for (int q = 0; q < SIX; q++)
                assert_true(f.tidal[i][q] == ldexp(first.tidal[i][q], masses[j] - 3 * lengths[j]));
        }
        sapporo_tree_destroy(t);
        free(m);
    }
}

RUNS(units, tree_on_each(units_on))

/* An error that is asked for. */
static void asked_on(const struct engine *e)
{
    struct model *const m = model_make(0);
    sapporo_tree_options o = tree_on(e);
    o.mac = SAPPORO_MAC_DEFAULT;
    o.accuracy = 0;
    o.error = 1e-3;
    sapporo_tree *const t = plant(m, o);
    below("an error", errors_of(t, m, rows_of(0)), 2e-3, 2e-3, 1e-2);
    sapporo_tree_destroy(t);
    free(m);
}

RUNS(asked, tree_on_each(asked_on))

/* ---- neighbours ---- */

/* Checks the list of a place; a particle that is as near as a radius, but for roundings, may be in it or not. */
static void check_list(const struct model *m, const double *x, double h, const int *list, long long many)
{
    long long at = 0;
    for (int j = 0; j < m->n; j++) {
        const double r2 = near_image2(m->period, x, m->x[j]),
                     doubt = 1e-13 * (h < m->period ? h : m->period) * m->period;
        const int listed = at < many && list[at] == j;
        if (listed != (r2 < h * h) && !(fabs(r2 - h * h) < doubt))
            fail_msg("particle %d at %.17g of radius %.17g is %slisted", j, sqrt(r2), h, listed ? "" : "not ");
        at += listed;
    }
    assert_int_equal(at, many);
}

static void check_neighbours(sapporo_tree *t, const struct model *m, double part)
{
    static int list[ROWS * N];
    double x[ROWS][3], h[ROWS];
    long long first[ROWS + 1], again[ROWS + 1];
    for (int i = 0; i < ROWS; i++) {
        h[i] = part * m->period * (1 + 0.1 * (i % 3));
        for (int c = 0; c < 3; c++) x[i][c] = m->x[i * m->n / ROWS][c] + m->period * (0.01 * (i % 4) + (i % 5 - 2) * 3);
    }
    const sapporo_column places = {x, 0}, radii = {h, 0};
    assert_int_equal(sapporo_tree_neighbours(t, ROWS, places, radii, first, ROWS * N, list), SAPPORO_OK);
    for (int i = 0; i < ROWS; i++) check_list(m, x[i], h[i], list + first[i], first[i + 1] - first[i]);
    const long long room = first[ROWS] / 2, last = room > 0 ? list[room - 1] : -1;
    memset(list, 0x55, sizeof list);
    const int fits = sapporo_tree_neighbours(t, ROWS, places, radii, again, room, list);
    assert_int_equal(fits, first[ROWS] > room ? SAPPORO_TRUNCATED : SAPPORO_OK);
    assert_memory_equal(first, again, sizeof first);
    if (room > 0) assert_int_equal(list[room - 1], last);
    assert_int_equal(list[room], 0x55555555);
}

/* Checks the k particles nearest to x, of all but `own`: their distances, and that they come in order. */
static void check_nearest(const struct model *m, const double *x, int own, int k, const int *list, const double *r2)
{
    static struct near right[N];
    const int n = near_sort_images(m->n, (const double(*)[3])m->x, m->period, x, own, right);
    const double doubt = 1e-12 * m->period * m->period;
    for (int e = 0; e < k; e++) {
        if (e >= n) assert_true(list[e] == -1 && isinf(r2[e]));
        if (e >= n) continue;
        assert_true(list[e] >= 0 && list[e] != own && fabs(r2[e] - right[e].distance2) < doubt);
        assert_true(fabs(r2[e] - near_image2(m->period, x, m->x[list[e]])) < doubt);
        assert_true(e == 0 || r2[e] > r2[e - 1] || (r2[e] == r2[e - 1] && list[e] > list[e - 1]));
    }
}

/* The nearest of all particles, of some, and of positions in any period. */
static void check_all_nearest(sapporo_tree *t, const struct model *m, int k)
{
    static int list[N * SAPPORO_NEAREST_MOST];
    static double r2[N * SAPPORO_NEAREST_MOST];
    const sapporo_tree_request all = {.size = sizeof all, .ni = m->n};
    assert_int_equal(sapporo_tree_nearest(t, &all, k, list, r2), SAPPORO_OK);
    for (int i = 0; i < m->n; i++) check_nearest(m, m->x[i], i, k, list + i * k, r2 + i * k);
    int active[ROWS];
    double x[ROWS][3];
    for (int i = 0; i < ROWS; i++) {
        active[i] = i * 7 % m->n;
        for (int c = 0; c < 3; c++) x[i][c] = m->period * (0.061 * ((i * (c + 3)) % 17) + (i % 5 - 2) * 3);
    }
    const sapporo_tree_request some = {.size = sizeof some, .ni = ROWS, .active = active};
    assert_int_equal(sapporo_tree_nearest(t, &some, k, list, r2), SAPPORO_OK);
    for (int i = 0; i < ROWS; i++) check_nearest(m, m->x[active[i]], active[i], k, list + i * k, r2 + i * k);
    const sapporo_tree_request places = {.size = sizeof places, .ni = ROWS, .x = {x, 0}};
    assert_int_equal(sapporo_tree_nearest(t, &places, k, list, r2), SAPPORO_OK);
    for (int i = 0; i < ROWS; i++) check_nearest(m, x[i], -1, k, list + i * k, r2 + i * k);
}

/* Neighbours and nearest particles are those of the nearest images, each once; radii up to more than the cube. */
static void neighbours_on(const struct engine *e)
{
    static const double part[] = {0, 0.004, 0.1, 0.45, 0.51, 0.8, 0.86, 0.96, 3, INFINITY};
    for (int k = 0; k < NCASES; k++) {
        struct model *const m = model_make(k);
        sapporo_tree *const t = plant(m, tree_on(e));
        for (size_t p = 0; p < sizeof part / sizeof part[0]; p++) check_neighbours(t, m, part[p]);
        for (int n = 1; n <= SAPPORO_NEAREST_MOST; n *= 16) check_all_nearest(t, m, n);
        for (int i = 0; i < m->n; i++) m->x[i][i % 3] += 0.02 * m->period;
        set(t, m);
        assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
        for (size_t p = 0; p < sizeof part / sizeof part[0]; p++) check_neighbours(t, m, part[p]);
        check_all_nearest(t, m, 9);
        sapporo_tree_destroy(t);
        free(m);
    }
}

RUNS(neighbours, tree_on_each(neighbours_on))

/* ---- errors ---- */

static void refused(const sapporo_tree_options *o, const char *why)
{
    sapporo_tree *t;
    assert_int_equal(sapporo_tree_create(o, N, &t), SAPPORO_ERR_ARGUMENT);
    if (!strstr(sapporo_last_error(NULL), why)) fail_msg("%s, not %s", sapporo_last_error(NULL), why);
    assert_int_equal(sapporo_tree_memory_needed(o, N, NULL), 0);
}

static void errors_on(const struct engine *e)
{
    static const double bad[] = {-1, NAN, INFINITY, 1e-61, 1e61};
    sapporo_tree_options o = tree_on(e);
    size_t open_bytes, bytes;
    const size_t open_host = sapporo_tree_memory_needed(&o, N, &open_bytes);
    for (int k = 0; k < (int)(sizeof bad / sizeof bad[0]); k++) {
        o.period = bad[k];
        refused(&o, "period of a tree is");
    }
    o.period = 1;
    o.eps2 = 0.25;
    refused(&o, "must be below half the period");
    o.eps2 = 0;
    const size_t host = sapporo_tree_memory_needed(&o, N, &bytes);
    assert_true(host + bytes > open_host + open_bytes);
    struct model *const m = model_make(1);
    sapporo_tree *const t = plant(m, o);
    m->h[7] = 0.5;
    const sapporo_tree_particles all = {
        .size = sizeof all, .n = N, .x = {m->x, 0}, .mass = {m->mass, 0}, .h = {m->h, 0}};
    assert_int_equal(sapporo_tree_set(t, &all), SAPPORO_ERR_ARGUMENT);
    assert_non_null(strstr(sapporo_tree_last_error(t), "h of particle 7 is 0.5; it must be below half the period"));
    sapporo_tree_destroy(t);
    free(m);
}

RUNS(errors, tree_on_each(errors_on))

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_sums),
                                       TREE_TEST(pairs),
                                       TREE_TEST(cells),
                                       TREE_TEST(active_particles),
                                       TREE_TEST(positions),
                                       TREE_TEST(in_turn),
                                       TREE_TEST(many),
                                       TREE_TEST(refreshed),
                                       TREE_TEST(moved),
                                       TREE_TEST(special),
                                       TREE_TEST(units),
                                       TREE_TEST(asked),
                                       TREE_TEST(neighbours),
                                       cmocka_unit_test_setup(errors, tree_octree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
