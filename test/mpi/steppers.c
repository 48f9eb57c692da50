/*
 * steppers.c - steppers over any number of ranks: orbits of one rank, and of direct sums over all ranks, have the bits
 * of sapporo_stepper.h; others are compared with a leap-frog in long double, which also checks the energy; halved steps
 * leave a quarter of the error; and particles that are difficult to share.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/reference_spline.h"
#include "tree_problem.h"

#define EPS2 0x1p-6
static const double END = 0.25;

/* ------------------------------------------------------------------- models */

/* Particles that all ranks know, in the order of the ranks that give them. */
struct bodies {
    int n, *giver;
    double (*x)[3], (*v)[3], *mass, *h; /* h: softening lengths, where a way has them */
};

static struct bodies bodies_new(int n)
{
    const size_t room = (size_t)n + 1;
    const struct bodies b = {n,
                             calloc(room, sizeof *b.giver),
                             calloc(room, sizeof *b.x),
                             calloc(room, sizeof *b.v),
                             calloc(room, sizeof *b.mass),
                             calloc(room, sizeof *b.h)};
    if (!b.giver || !b.x || !b.v || !b.mass || !b.h) exit(3);
    return b;
}

static void bodies_free(struct bodies *b)
{
    free(b->giver);
    free(b->x);
    free(b->v);
    free(b->mass);
    free(b->h);
}

/* The rank that gives particle k. */
static int giver_of(enum split how, int k, int n)
{
    if (how == ALL_ON_FIRST || ranks == 1) return 0;
    if (how == ALL_ON_LAST) return ranks - 1;
    if (how == PIECES) return 1 + k * (ranks - 1) / n; /* rank 0 has none */
    return k * ranks / n;
}

/* A cluster whose particles have steps of several lengths; every `light`-th particle is massless (0: none is). */
static struct bodies cluster(int n, enum split how, int light)
{
    struct bodies b = bodies_new(n);
    struct point *const p = points_new(n);
    for (int i = 0; i < n; i++) {
        b.giver[i] = giver_of(how, i, n);
        b.h[i] = i % 3 ? 0.04 : 0.3;
        b.mass[i] = light > 0 && i % light == 1 ? 0 : 1.0 / n;
        for (int c = 0; c < 3; c++) {
            b.x[i][c] = p[i].derivative[0][c];
            b.v[i][c] = 0.3 * sin(i * (c + 2.3) + c);
        }
    }
    free(p);
    return b;
}

/* The first particle of this rank, and how many it has. */
static int first_of(const struct bodies *b, int *n)
{
    int first = 0;
    *n = 0;
    for (int i = b->n - 1; i >= 0; i--)
        if (b->giver[i] == rank) first = i, ++*n;
    return first;
}

/* ------------------------------------------------------------------ options */

/* How orbits are computed. */
struct way {
    const char *name;
    sapporo_step_method method;
    sapporo_step_scheme scheme;
    sapporo_step_criterion criterion;
    sapporo_tree_mac mac;
    sapporo_precision precision;
    int rebuild;
    double accuracy; /* of the tree; 0: the default */
    int landing;     /* 1: steps also end at the times of runs: the first of both is within steps */
    double gravity;  /* the gravitational constant; 0: 1 */
    int softening;   /* sapporo_softening */
    int lengths;     /* 1: particles have lengths; 2: but for those of the first rank */
};

static sapporo_tree_options tree_of(const struct way *w)
{
    sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, w->mac, w->precision);
    o.eps2 = EPS2;
    o.accuracy = w->accuracy;
    o.gravitational_constant = w->gravity;
    o.softening = (sapporo_softening)w->softening;
    return o;
}

/* Steps by acceleration have an eta with which the levels of particles do not depend on dt. */
static sapporo_stepper_options stepper_of(const struct way *w, const sapporo_tree_options *tree, double dt)
{
    const double eta = w->criterion == SAPPORO_STEP_BY_ACCELERATION ? 2.56 * dt * dt : 0.02;
    return (sapporo_stepper_options){.size = sizeof(sapporo_stepper_options),
                                     .method = w->method,
                                     .tree = tree,
                                     .scheme = w->scheme,
                                     .criterion = w->criterion,
                                     .dt = dt,
                                     .eta = eta,
                                     .levels = 5,
                                     .rebuild = w->rebuild,
                                     .landing = w->landing};
}

static sapporo_stepper_particles columns_from(const struct bodies *b, const struct way *w, int first, int n)
{
    const int has_lengths = w->lengths == 1 || (w->lengths == 2 && rank > 0);
    return (sapporo_stepper_particles){.size = sizeof(sapporo_stepper_particles),
                                       .n = n,
                                       .x = {b->x + first, 0},
                                       .v = {b->v + first, 0},
                                       .mass = {b->mass + first, 0},
                                       .time = 0.5,
                                       .h = {has_lengths ? b->h + first : NULL, 0}};
}

/* Everything that a stepper returns of n particles, from `first` on. */
struct state {
    int n;
    double (*x)[3], (*v)[3], (*acc)[3], *pot, *own_time;
    int *level;
};

static struct state state_new(int n)
{
    const size_t room = (size_t)n + 1;
    const struct state s = {n,
                            calloc(room, sizeof *s.x),
                            calloc(room, sizeof *s.v),
                            calloc(room, sizeof *s.acc),
                            calloc(room, sizeof *s.pot),
                            calloc(room, sizeof *s.own_time),
                            calloc(room, sizeof *s.level)};
    if (!s.x || !s.v || !s.acc || !s.pot || !s.own_time || !s.level) exit(3);
    return s;
}

static void state_free(struct state *s)
{
    free(s->x);
    free(s->v);
    free(s->acc);
    free(s->pot);
    free(s->own_time);
    free(s->level);
}

static sapporo_stepper_output output_of(const struct state *s, int first, int n)
{
    return (sapporo_stepper_output){.size = sizeof(sapporo_stepper_output),
                                    .n = n,
                                    .x = s->x + first,
                                    .v = s->v + first,
                                    .acc = s->acc + first,
                                    .pot = s->pot + first,
                                    .own_time = s->own_time + first,
                                    .level = s->level + first};
}

/* Gives all ranks the numbers that each has of its particles; the others are 0. */
static void join_states(struct state *s)
{
    struct state all = state_new(s->n);
    double *const level = calloc(2 * (size_t)s->n + 2, sizeof *level);
    for (int i = 0; i < s->n; i++) level[i] = s->level[i];
    ranks_combine_doubles(s->x[0], all.x[0], 3 * s->n, MPI_SUM);
    ranks_combine_doubles(s->v[0], all.v[0], 3 * s->n, MPI_SUM);
    ranks_combine_doubles(s->acc[0], all.acc[0], 3 * s->n, MPI_SUM);
    ranks_combine_doubles(s->pot, all.pot, s->n, MPI_SUM);
    ranks_combine_doubles(s->own_time, all.own_time, s->n, MPI_SUM);
    ranks_combine_doubles(level, level + s->n + 1, s->n, MPI_SUM);
    for (int i = 0; i < s->n; i++) all.level[i] = (int)level[s->n + 1 + i];
    free(level);
    state_free(s);
    *s = all;
}

/* Sums of a state, and of what a stepper did. */
struct told {
    sapporo_stepper_totals start, end;
    sapporo_stepper_statistics s;
};

static sapporo_mpi_stepper *stepper_new(const struct way *w, double dt, MPI_Comm over, int n)
{
    const sapporo_tree_options tree = tree_of(w);
    const sapporo_stepper_options stepper = stepper_of(w, &tree, dt);
    const sapporo_mpi_stepper_options o = {.size = sizeof o, .stepper = &stepper, .timeout = 60};
    sapporo_mpi_stepper *s = NULL;
    if (sapporo_mpi_stepper_create(over, &o, n, &s)) report(0, "%s: %s", w->name, sapporo_mpi_stepper_last_error(NULL));
    return s;
}

/* Runs over all ranks, in two calls of advance; returns a status and the state of all particles. */
static int run_ranks(const struct bodies *b, const struct way *w, double dt, struct state *to, struct told *told)
{
    int n;
    const int first = first_of(b, &n);
    const sapporo_stepper_particles p = columns_from(b, w, first, n);
    const sapporo_stepper_output out = output_of(to, first, n);
    sapporo_mpi_stepper *const s = stepper_new(w, dt, MPI_COMM_WORLD, n);
    told->start.size = sizeof told->start, told->end.size = sizeof told->end, told->s.size = sizeof told->s;
    int bad = sapporo_mpi_stepper_set(s, &p) || sapporo_mpi_stepper_energy(s, &told->start) ||
              sapporo_mpi_stepper_advance(s, 0.5 + END / 3, 0) || sapporo_mpi_stepper_energy(s, &told->end) ||
              sapporo_mpi_stepper_advance(s, 0.5 + END, 0) || sapporo_mpi_stepper_energy(s, &told->end);
    if (bad) report(0, "%s: %s", w->name, sapporo_mpi_stepper_last_error(s));
    bad |= sapporo_mpi_stepper_get(s, &out) || sapporo_mpi_stepper_get_statistics(s, &told->s);
    bad |= !(fabs(sapporo_mpi_stepper_get_time(s) - (0.5 + END)) <= (w->landing ? 0 : 1e-12));
    sapporo_mpi_stepper_destroy(s);
    join_states(to);
    return bad;
}

/* The same by one stepper with all particles, in one call if it does not land. */
static int run_here(const struct bodies *b, const struct way *w, double dt, struct state *to, struct told *told)
{
    const sapporo_tree_options tree = tree_of(w);
    const sapporo_stepper_options o = stepper_of(w, &tree, dt);
    const sapporo_stepper_particles p = columns_from(b, w, 0, b->n);
    const sapporo_stepper_output out = output_of(to, 0, b->n);
    sapporo_stepper *s;
    told->start.size = sizeof told->start, told->end.size = sizeof told->end, told->s.size = sizeof told->s;
    const int bad = sapporo_stepper_create(&o, b->n, &s) || sapporo_stepper_set(s, &p) ||
                    sapporo_stepper_energy(s, &told->start) ||
                    (w->landing && sapporo_stepper_advance(s, 0.5 + END / 3, 0)) ||
                    sapporo_stepper_advance(s, 0.5 + END, 0) || sapporo_stepper_energy(s, &told->end) ||
                    sapporo_stepper_get(s, &out) || sapporo_stepper_get_statistics(s, &told->s);
    sapporo_stepper_destroy(s);
    return bad;
}

/* Collective.  Gives all ranks the state of the first one. */
static void share_state(struct state *s)
{
    const size_t n = (size_t)s->n;
    ranks_share(s->x, n * sizeof *s->x);
    ranks_share(s->v, n * sizeof *s->v);
    ranks_share(s->acc, n * sizeof *s->acc);
    ranks_share(s->pot, n * sizeof *s->pot);
    ranks_share(s->own_time, n * sizeof *s->own_time);
    ranks_share(s->level, n * sizeof *s->level);
}

/* Collective.  The same, on the first rank for all of them. */
static int run_alone(const struct bodies *b, const struct way *w, double dt, struct state *to, struct told *told)
{
    int bad = rank == 0 && run_here(b, w, dt, to, told);
    ranks_share(&bad, sizeof bad);
    share_state(to);
    ranks_share(told, sizeof *told);
    return bad;
}

static int same_states(const struct state *a, const struct state *b)
{
    const size_t n = (size_t)a->n;
    return memcmp(a->x, b->x, n * sizeof *a->x) == 0 && memcmp(a->v, b->v, n * sizeof *a->v) == 0 &&
           memcmp(a->acc, b->acc, n * sizeof *a->acc) == 0 && memcmp(a->pot, b->pot, n * sizeof *a->pot) == 0 &&
           memcmp(a->own_time, b->own_time, n * sizeof *a->own_time) == 0 &&
           memcmp(a->level, b->level, n * sizeof *a->level) == 0;
}

/* ------------------------------------------------------------ long double */

typedef long double triple[3];

/* Exact accelerations. */
static void pull(const struct bodies *b, triple *x, triple *a)
{
    for (int i = 0; i < b->n; i++) {
        a[i][0] = a[i][1] = a[i][2] = 0;
        for (int j = 0; j < b->n; j++) {
            long double d[3], r2 = EPS2;
            for (int c = 0; c < 3; c++) d[c] = x[j][c] - x[i][c], r2 += d[c] * d[c];
            const long double by = j == i ? 0 : b->mass[j] / (r2 * sqrtl(r2));
            for (int c = 0; c < 3; c++) a[i][c] += by * d[c];
        }
    }
}

/* A leap-frog with shared steps in long double; writes positions and velocities at the end. */
static void leapfrog(const struct bodies *b, double dt, double (*x)[3], double (*v)[3])
{
    const size_t n = (size_t)b->n + 1;
    triple *const at = calloc(n, sizeof *at);
    triple *const go = calloc(n, sizeof *go);
    triple *const a = calloc(n, sizeof *a);
    for (int i = 0; i < b->n; i++)
        for (int c = 0; c < 3; c++) at[i][c] = b->x[i][c], go[i][c] = b->v[i][c];
    pull(b, at, a);
    for (int k = 0; k < (int)lround(END / dt); k++) {
        for (int i = 0; i < b->n; i++)
            for (int c = 0; c < 3; c++) go[i][c] += a[i][c] * dt / 2, at[i][c] += go[i][c] * dt;
        pull(b, at, a);
        for (int i = 0; i < b->n; i++)
            for (int c = 0; c < 3; c++) go[i][c] += a[i][c] * dt / 2;
    }
    for (int i = 0; i < b->n; i++)
        for (int c = 0; c < 3; c++) x[i][c] = (double)at[i][c], v[i][c] = (double)go[i][c];
    free(at);
    free(go);
    free(a);
}

/* The potential of a pair of unit mass at a squared distance. */
static long double potential_of(const struct way *w, long double r2, double hi, double hj)
{
    long double pot, acc;
    const long double lengths_2 = w->lengths ? (long double)hi * hi + (long double)hj * hj : 0;
    if (!w->softening) return -1 / sqrtl(r2 + EPS2 + lengths_2);
    reference_spline_pair(w->softening == SAPPORO_SOFTENING_SPLINE_MEAN, sqrtl(r2), hi, hj, &pot, &acc);
    return pot;
}

/* The total energy of a state, in long double. */
static double energy_of(const struct bodies *b, const struct way *w, const struct state *s)
{
    long double sum = 0;
    for (int i = 0; i < b->n; i++) {
        for (int c = 0; c < 3; c++) sum += (long double)b->mass[i] * s->v[i][c] * s->v[i][c] / 2;
        for (int j = 0; j < i; j++) {
            long double r2 = 0;
            for (int c = 0; c < 3; c++) r2 += ((long double)s->x[j][c] - s->x[i][c]) * (s->x[j][c] - s->x[i][c]);
            sum += (long double)b->mass[i] * b->mass[j] * potential_of(w, r2, b->h[i], b->h[j]);
        }
    }
    return (double)sum;
}

/* The root of the mean square distance of positions. */
static double distance(const double (*a)[3], const double (*b)[3], int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) sum += (a[i][c] - b[i][c]) * (a[i][c] - b[i][c]);
    return sqrt(sum / n);
}

/* -------------------------------------------------------------------- cases */

#define TREE   SAPPORO_STEP_TREE
#define DIRECT SAPPORO_STEP_DIRECT
#define SHARED SAPPORO_STEPS_SHARED
#define BLOCK  SAPPORO_STEPS_BLOCK
#define BY_A   SAPPORO_STEP_BY_ACCELERATION
#define CHANGE SAPPORO_STEP_BY_CHANGE

static const struct way ways[] = {
    {"direct, shared steps, dp", DIRECT, SHARED, BY_A, SAPPORO_MAC_DEFAULT, SAPPORO_DP, 0, 0, 0, 0, 0, 0},
    {"direct, block steps, dp", DIRECT, BLOCK, BY_A, SAPPORO_MAC_DEFAULT, SAPPORO_DP, 0, 0, 0, 0, 0, 0},
    {"direct, block steps by change, ds", DIRECT, BLOCK, CHANGE, SAPPORO_MAC_DEFAULT, SAPPORO_DS, 0, 0, 0, 0, 0, 0},
    {"tree by opening, shared steps, dp", TREE, SHARED, BY_A, SAPPORO_MAC_OPENING, SAPPORO_DP, 0, 0, 0, 0, 0, 0},
    {"tree by acceleration, block steps, sp", TREE, BLOCK, BY_A, SAPPORO_MAC_ACCELERATION, SAPPORO_SP, 0, 0, 0, 0, 0,
     0},
    {"tree by multipoles, block steps by change, dp", TREE, BLOCK, CHANGE, SAPPORO_MAC_MULTIPOLE, SAPPORO_DP, 3, 0, 0,
     0, 0, 0},
    {"tree by acceleration, block steps, dp", TREE, BLOCK, BY_A, SAPPORO_MAC_ACCELERATION, SAPPORO_DP, 1, 1e-4, 0, 0, 0,
     0},
    {"tree with lengths, block steps, sp", TREE, BLOCK, BY_A, SAPPORO_MAC_ACCELERATION, SAPPORO_SP, 0, 0, 0, 0,
     SAPPORO_SOFTENING_SPLINE_MEAN, 1},
    {"tree with lengths, block steps by change, dp", TREE, BLOCK, CHANGE, SAPPORO_MAC_OPENING, SAPPORO_DP, 3, 0, 0, 0,
     SAPPORO_SOFTENING_SPLINE_LARGER, 1},
    {"tree with Plummer lengths, block steps, sp", TREE, BLOCK, BY_A, SAPPORO_MAC_ACCELERATION, SAPPORO_SP, 0, 0, 0, 0,
     SAPPORO_SOFTENING_PLUMMER, 1},
    {"tree with Plummer lengths, block steps by change, dp", TREE, BLOCK, CHANGE, SAPPORO_MAC_OPENING, SAPPORO_DP, 3, 0,
     0, 0, SAPPORO_SOFTENING_PLUMMER, 1}};
enum { WAYS = sizeof ways / sizeof *ways };

/* The step of a way: particles with lengths of their own have the shortest ones. */
static double dt_of(const struct way *w) { return w->scheme == SHARED || w->lengths ? 1.0 / 64 : 1.0 / 32; }

/* Orbits, their bits where they are promised, and energies. */
static void test_way(const struct way *w, enum split how, int light)
{
    enum { N = 500 };
    const double dt = dt_of(w);
    struct bodies b = cluster(N, how, light);
    struct state found = state_new(N), alone = state_new(N);
    struct told ours = {.s = {.n = 0}}, theirs = {.s = {.n = 0}};
    const int bad = run_alone(&b, w, dt, &alone, &theirs) || run_ranks(&b, w, dt, &found, &ours);
    const double apart = distance((const double(*)[3])found.x, (const double(*)[3])alone.x, N);
    const double exact = energy_of(&b, w, &found), told = ours.end.kinetic + ours.end.potential;
    const int bits = (ranks == 1 && light == 0) || w->method == DIRECT;
    report(!bad && (bits ? same_states(&found, &alone) : apart < 1e-4), "%s, %s: %.1e from one stepper's orbits",
           w->name, bits ? "the same bits" : "near orbits", apart);
    report(!bad && fabs(told / exact - 1) < (w->method == DIRECT ? 1e-6 : 1e-3) &&
               fabs(told / (ours.start.kinetic + ours.start.potential) - 1) < 1e-3,
           "%s: energy %.6f, in long double %.6f, at the start %.6f", w->name, told, exact,
           ours.start.kinetic + ours.start.potential);
    double mine = 0, used = 0;
    for (int k = 0; k < SAPPORO_STEP_LEVELS_MOST; k++) {
        mine += ours.s.level[k];
        used += largest(ours.s.level[k]) > 0;
    }
    report(!bad && total(mine) == N && used >= (w->scheme == SAPPORO_STEPS_BLOCK ? 3 : 1) &&
               total(ours.s.massive) == theirs.s.massive &&
               (!bits || (ours.s.steps == theirs.s.steps &&
                          total((double)ours.s.particle_steps) == (double)theirs.s.particle_steps)),
           "%s: %lld steps on %.0f levels, one stepper %lld", w->name, ours.s.steps, used, theirs.s.steps);
    state_free(&found);
    state_free(&alone);
    bodies_free(&b);
}

/* Masses times the gravitational constant are those of G = 1: so are the orbits, to the bit; energies are G times. */
static void test_gravity(const struct way *given)
{
    enum { N = 300 };
    const double gravity = 0.0043009172706903;
    struct way with = *given;
    struct bodies b = cluster(N, IN_TURN, 7);
    struct state found = state_new(N), one = state_new(N);
    struct told ours = {.s = {.n = 0}}, theirs = {.s = {.n = 0}};
    for (int i = 0; i < N; i++) b.mass[i] /= gravity;
    with.gravity = gravity;
    int bad = run_ranks(&b, &with, 1.0 / 32, &found, &ours);
    for (int i = 0; i < N; i++) b.mass[i] *= gravity;
    bad |= run_ranks(&b, given, 1.0 / 32, &one, &theirs);
    const double apart = ours.end.potential * gravity / theirs.end.potential - 1;
    report(!bad && same_states(&found, &one) && fabs(apart) < 1e-12,
           "%s: with a gravitational constant the orbits of as large masses, and energies in its units", given->name);
    state_free(&found);
    state_free(&one);
    bodies_free(&b);
}

/* Ranks land at the same times as one stepper, which has the particles of all of them. */
static void test_landings(void)
{
    const int which[] = {0, 1, 4};
    for (size_t k = 0; k < sizeof which / sizeof *which; k++) {
        struct way w = ways[which[k]];
        w.landing = 1;
        test_way(&w, PIECES, k == 1 ? 5 : 0);
    }
}

/* A leap-frog over ranks is that of long double; block steps converge with the square of their length. */
static void test_orders(const struct way *w, const char *what)
{
    enum { N = 60, STEPS = 3 };
    struct bodies b = cluster(N, IN_TURN, 0);
    struct state exact = state_new(N);
    double error[STEPS] = {0};
    struct told told = {.s = {.n = 0}};
    int bad = 0;
    leapfrog(&b, 1.0 / 4096, exact.x, exact.v);
    for (int k = 0; k < STEPS; k++) {
        struct state found = state_new(N);
        bad |= run_ranks(&b, w, 1.0 / (16 << k), &found, &told);
        error[k] = distance((const double(*)[3])found.x, (const double(*)[3])exact.x, N);
        state_free(&found);
    }
    report(!bad && error[0] > 3 * error[1] && error[1] > 3 * error[2] && error[2] < 1e-4,
           "%s: errors %.2e, %.2e, %.2e for steps of 1, 1/2, 1/4", what, error[0], error[1], error[2]);
    state_free(&exact);
    bodies_free(&b);
}

/* Shared steps are a leap-frog, whose orbits in long double are equal but for rounding. */
static void test_leapfrog(void)
{
    enum { N = 60 };
    struct bodies b = cluster(N, PIECES, 0);
    struct state found = state_new(N), exact = state_new(N);
    struct told told = {.s = {.n = 0}};
    const int bad = run_ranks(&b, &ways[0], 1.0 / 64, &found, &told);
    leapfrog(&b, 1.0 / 64, exact.x, exact.v);
    const double x = distance((const double(*)[3])found.x, (const double(*)[3])exact.x, N),
                 v = distance((const double(*)[3])found.v, (const double(*)[3])exact.v, N);
    report(!bad && x < 1e-13 && v < 1e-12, "leap-frog: %.1e and %.1e from long double", x, v);
    state_free(&found);
    state_free(&exact);
    bodies_free(&b);
}

/* Few particles, which leave ranks empty; massless particles alone. */
static void test_few(const struct way *w, int n, int light)
{
    struct bodies b = cluster(n, IN_TURN, light);
    struct state found = state_new(n), alone = state_new(n);
    struct told ours = {.s = {.n = 0}}, theirs = {.s = {.n = 0}};
    for (int i = 0; i < n && light == 1; i++) b.mass[i] = 0;
    const int bad = run_alone(&b, w, 1.0 / 16, &alone, &theirs) || run_ranks(&b, w, 1.0 / 16, &found, &ours);
    const double apart = distance((const double(*)[3])found.x, (const double(*)[3])alone.x, n);
    report(!bad && apart < 1e-9, "%s, %d particles%s: %.1e from one stepper's orbits", w->name, n,
           light == 1 ? " without mass" : "", apart);
    state_free(&found);
    state_free(&alone);
    bodies_free(&b);
}

/* -------------------------------------------------------------------- files */

static const char *path_of_file(void)
{
    static char path[512];
    const char *const folder = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/steppers.%d", folder ? folder : "/tmp", ranks);
    return path;
}

/* The first part of run_ranks; the particles are then saved. */
static int run_and_save(const struct bodies *b, const struct way *w, double dt)
{
    int n;
    const int first = first_of(b, &n);
    const sapporo_stepper_particles p = columns_from(b, w, first, n);
    sapporo_stepper_totals t = {.size = sizeof t};
    sapporo_mpi_stepper *const s = stepper_new(w, dt, MPI_COMM_WORLD, n);
    const int bad = sapporo_mpi_stepper_set(s, &p) || sapporo_mpi_stepper_energy(s, &t) ||
                    sapporo_mpi_stepper_advance(s, 0.5 + END / 3, 0) ||
                    sapporo_mpi_stepper_save(s, rank == 0 ? path_of_file() : NULL);
    if (bad) report(0, "%s: %s", w->name, sapporo_mpi_stepper_last_error(s));
    sapporo_mpi_stepper_destroy(s);
    return bad;
}

/* The second part, over the first `over` ranks, in the order of the file. */
static int run_restored(const struct bodies *b, const struct way *w, double dt, int over, struct state *to,
                        sapporo_stepper_statistics *did)
{
    MPI_Comm some;
    (void)MPI_Comm_split(MPI_COMM_WORLD, rank < over, rank, &some);
    int bad = 0, mine = 0, before = 0;
    did->size = sizeof *did;
    did->particle_steps = 0;
    sapporo_stepper_totals t = {.size = sizeof t};
    sapporo_mpi_stepper *const s = rank < over ? stepper_new(w, dt, some, b->n) : NULL;
    if (s) bad = sapporo_mpi_stepper_restore(s, rank == 0 ? path_of_file() : NULL);
    if (s)
        bad = bad || sapporo_mpi_stepper_energy(s, &t) || sapporo_mpi_stepper_advance(s, 0.5 + END, 0) ||
              sapporo_mpi_stepper_energy(s, &t) || sapporo_mpi_stepper_get_statistics(s, did);
    if (bad) printf("# %s: %s\n", w->name, sapporo_mpi_stepper_last_error(s));
    if (s) mine = did->n;
    (void)MPI_Exscan(&mine, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const sapporo_stepper_output out = output_of(to, rank > 0 ? before : 0, mine);
    if (s && !bad) bad = sapporo_mpi_stepper_get(s, &out);
    sapporo_mpi_stepper_destroy(s);
    (void)MPI_Comm_free(&some);
    join_states(to);
    return bad;
}

/* A run that was saved and restored has the bits of one that was not, over as many ranks, and over others if the sums
 * are direct. */
static void test_file(const struct way *w, enum split how, int light)
{
    enum { N = 500 };
    const double dt = dt_of(w);
    struct bodies b = cluster(N, how, light);
    struct state whole = state_new(N);
    struct told told = {.s = {.n = 0}};
    const int bad = run_ranks(&b, w, dt, &whole, &told) || run_and_save(&b, w, dt);
    const double steps = total((double)told.s.particle_steps);
    for (int over = ranks; over > 0; over = over > 1 ? over / 2 : 0) {
        struct state again = state_new(N);
        sapporo_stepper_statistics did = {.n = 0};
        const int wrong = run_restored(&b, w, dt, over, &again, &did), bits = over == ranks || w->method == DIRECT;
        const double apart = distance((const double(*)[3])whole.x, (const double(*)[3])again.x, N);
        const double counted = total((double)did.particle_steps);
        report(!bad && !wrong && (bits ? same_states(&whole, &again) && counted == steps : apart < 1e-4),
               "%s, saved by %d ranks, restored over %d: %s", w->name, ranks, over,
               bits ? "the same bits" : "near orbits");
        state_free(&again);
    }
    if (rank == 0) (void)remove(path_of_file());
    state_free(&whole);
    bodies_free(&b);
}

/* ---------------------------------------------------------- softening lengths */

/*
 * Particles with lengths of their own have the orbits of one stepper, to the bit, and other orbits than without; also
 * if the first rank gives none: its particles then have the usual length, which is 0 beside Plummer's eps2.
 */
static void test_lengths(int softening, enum split how)
{
    enum { N = 500 };
    struct way w = ways[1], none = ways[1];
    w.softening = none.softening = softening;
    w.lengths = 1;
    struct bodies b = cluster(N, how, 5);
    struct state found = state_new(N), alone = state_new(N), common = state_new(N);
    struct told told = {.s = {.n = 0}}, other = told;
    int bad = run_alone(&b, &w, 1.0 / 32, &alone, &other) || run_ranks(&b, &w, 1.0 / 32, &found, &told) ||
              run_alone(&b, &none, 1.0 / 32, &common, &other);
    const double apart = distance((const double(*)[3])common.x, (const double(*)[3])alone.x, N);
    const double start = told.start.kinetic + told.start.potential;
    report(!bad && same_states(&found, &alone) && apart > 1e-6 &&
               fabs((told.end.kinetic + told.end.potential) / start - 1) < 1e-2,
           "lengths, softening %d: the same bits, %.1e from common softening", softening, apart);
    if (!softening) test_file(&w, how, 5);
    state_free(&found);
    found = state_new(N);
    for (int i = 0; i < N; i++)
        if (b.giver[i] == 0) b.h[i] = softening ? sqrt(EPS2) : 0;
    bad = run_alone(&b, &w, 1.0 / 32, &alone, &other);
    w.lengths = 2;
    bad |= run_ranks(&b, &w, 1.0 / 32, &found, &told);
    report(!bad && same_states(&found, &alone), "lengths, softening %d: the first rank gives none", softening);
    state_free(&found);
    state_free(&alone);
    state_free(&common);
    bodies_free(&b);
}

/*
 * Particles of trees that are set without Plummer lengths have none, though the last ones, of the same number, had
 * some: their orbits are those of a stepper that never had lengths.
 */
static void test_no_more_lengths(const struct way *with)
{
    enum { N = 500 };
    struct way without = *with;
    without.lengths = 0;
    struct bodies b = cluster(N, PIECES, 5);
    struct state found = state_new(N), alone = state_new(N), soft = state_new(N);
    struct told other = {.s = {.n = 0}};
    int n,
        bad = run_alone(&b, &without, dt_of(with), &alone, &other) || run_alone(&b, with, dt_of(with), &soft, &other);
    const int first = first_of(&b, &n);
    sapporo_mpi_stepper *const s = stepper_new(with, dt_of(with), MPI_COMM_WORLD, n);
    const sapporo_stepper_output out = output_of(&found, first, n);
    for (int k = 0; k < 2; k++) {
        const sapporo_stepper_particles p = columns_from(&b, k ? &without : with, first, n);
        bad |= sapporo_mpi_stepper_set(s, &p) || sapporo_mpi_stepper_advance(s, 0.5 + END, 0);
    }
    bad |= sapporo_mpi_stepper_get(s, &out);
    sapporo_mpi_stepper_destroy(s);
    join_states(&found);
    const double apart = distance((const double(*)[3])found.x, (const double(*)[3])alone.x, N),
                 between = distance((const double(*)[3])soft.x, (const double(*)[3])alone.x, N);
    report(!bad && apart < 1e-2 * between, "%s, then without: %.1e from orbits without, those with %.1e", with->name,
           apart, between);
    state_free(&found);
    state_free(&alone);
    state_free(&soft);
    bodies_free(&b);
}

/* ------------------------------------------------------------ Hermite schemes */

/* Options of a Hermite scheme; iterations: n of P(EC)^n. */
struct series {
    sapporo_step_scheme scheme;
    sapporo_precision precision;
    int iterations;
    int lengths; /* as of struct way */
};

static sapporo_stepper_options hermite_of(const struct series *how, const sapporo_tree_options *sums)
{
    static const sapporo_field field = {.kind = SAPPORO_FIELD_PLUMMER, .strength = 0.3, .a = 1.5};
    return (sapporo_stepper_options){.size = sizeof(sapporo_stepper_options),
                                     .tree = sums,
                                     .scheme = how->scheme,
                                     .dt = 1.0 / 16,
                                     .iterations = how->iterations,
                                     .nfields = 1,
                                     .fields = &field};
}

/* Potentials are those of own times, which all steppers have. */
static sapporo_stepper_output own_output_of(const struct state *s, int first, int n)
{
    sapporo_stepper_output out = output_of(s, first, n);
    out.when = SAPPORO_STEP_OWN;
    return out;
}

/* Collective.  The orbits of one stepper with all particles, on the first rank for all of them. */
static int hermite_alone(const struct bodies *b, const sapporo_stepper_options *o, int lengths, struct state *to,
                         struct told *told)
{
    const struct way way = {.lengths = lengths};
    const sapporo_stepper_particles p = columns_from(b, &way, 0, b->n);
    const sapporo_stepper_output out = own_output_of(to, 0, b->n);
    sapporo_stepper *s = NULL;
    int bad = rank == 0 && (sapporo_stepper_create(o, b->n, &s) || sapporo_stepper_set(s, &p) ||
                            sapporo_stepper_advance(s, 0.5 + END, 0) || sapporo_stepper_energy(s, &told->end) ||
                            sapporo_stepper_get(s, &out) || sapporo_stepper_get_statistics(s, &told->s));
    if (bad) report(0, "a Hermite stepper: %s", sapporo_stepper_last_error(s));
    sapporo_stepper_destroy(s);
    ranks_share(&bad, sizeof bad);
    ranks_share(told, sizeof *told);
    share_state(to);
    return bad;
}

/* Collective.  The same over all ranks; saves: in two runs, the second one restored from a file. */
static int hermite_over_ranks(const struct bodies *b, const sapporo_stepper_options *o, int lengths, int saves,
                              struct state *to, struct told *told)
{
    const struct way way = {.lengths = lengths};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = o, .timeout = 60};
    int n, bad = 0;
    const int first = first_of(b, &n);
    const sapporo_stepper_particles p = columns_from(b, &way, first, n);
    const sapporo_stepper_output out = own_output_of(to, first, n);
    sapporo_mpi_stepper *s = NULL;
    bad = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, n, &s) || sapporo_mpi_stepper_set(s, &p);
    if (!bad && saves) {
        bad = sapporo_mpi_stepper_advance(s, 0.5 + END / 2, 0) ||
              sapporo_mpi_stepper_save(s, rank == 0 ? path_of_file() : NULL);
        sapporo_mpi_stepper_destroy(s);
        s = NULL;
        bad = bad || sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, n, &s) ||
              sapporo_mpi_stepper_restore(s, rank == 0 ? path_of_file() : NULL);
    }
    bad = bad || sapporo_mpi_stepper_advance(s, 0.5 + END, 0) || sapporo_mpi_stepper_energy(s, &told->end) ||
          sapporo_mpi_stepper_get(s, &out) || sapporo_mpi_stepper_get_statistics(s, &told->s);
    if (bad) report(0, "a Hermite stepper over ranks: %s", sapporo_mpi_stepper_last_error(s));
    sapporo_mpi_stepper_destroy(s);
    join_states(to);
    return bad;
}

/* Orbits over ranks have the bits of one stepper, also after a file; light: every `light`-th particle is massless. */
static void test_hermite(const struct series *how, enum split split, int light)
{
    enum { N = 300 };
    sapporo_tree_options sums = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_DEFAULT, how->precision);
    sums.eps2 = EPS2;
    const sapporo_stepper_options o = hermite_of(how, &sums);
    struct bodies b = cluster(N, split, light);
    struct state alone = state_new(N);
    struct told theirs = {.end = {.size = sizeof theirs.end}, .s = {.size = sizeof theirs.s}};
    const int wrong = hermite_alone(&b, &o, how->lengths, &alone, &theirs);
    for (int saves = 0; saves < 2; saves++) {
        struct state found = state_new(N);
        struct told ours = {.end = {.size = sizeof ours.end}, .s = {.size = sizeof ours.s}};
        const int bad = wrong || hermite_over_ranks(&b, &o, how->lengths, saves, &found, &ours);
        const double energy = ours.end.kinetic + ours.end.potential, same = theirs.end.kinetic + theirs.end.potential;
        report(!bad && same_states(&found, &alone) && fabs(energy / same - 1) < 1e-13 &&
                   ours.s.steps == theirs.s.steps &&
                   total((double)ours.s.particle_steps) == (double)theirs.s.particle_steps,
               "scheme %d, precision %d, iterations %d, lengths %d%s: the bits of one stepper, %lld steps",
               (int)how->scheme, (int)how->precision, how->iterations, how->lengths, saves ? ", restored" : "",
               ours.s.steps);
        state_free(&found);
    }
    if (rank == 0) (void)remove(path_of_file());
    state_free(&alone);
    bodies_free(&b);
}

static void test_hermites(int few)
{
    static const struct series all[] = {{SAPPORO_STEPS_HERMITE4, SAPPORO_DS, 0, 0},
                                        {SAPPORO_STEPS_HERMITE4, SAPPORO_PRECISION_DEFAULT, 2, 0},
                                        {SAPPORO_STEPS_HERMITE6, SAPPORO_DP, 0, 0},
                                        {SAPPORO_STEPS_HERMITE8, SAPPORO_DP, 2, 0}},
                               soft[] = {{SAPPORO_STEPS_HERMITE4, SAPPORO_DS, 0, 1},
                                         {SAPPORO_STEPS_HERMITE8, SAPPORO_DP, 2, 1}};
    for (int k = 0; k < (ranks > 3 ? 1 : few ? 2 : 4); k++)
        test_hermite(&all[k], (enum split)((k + ranks) % SPLITS), k % 2 ? 5 : 0);
    for (int k = 0; k < (few ? 1 : 2); k++) test_hermite(&soft[k], (enum split)((k + ranks) % SPLITS), 7);
}

/* ------------------------------------------------------------------- changes */

enum { CHANGED = 200, NEW = 3 };

/* Lists which of n particles go, the first of which is number `first` of all; returns how many. */
static int gone_of(int first, int n, int *address)
{
    int gone = 0;
    for (int k = 0; k < n; k++)
        if ((first + k) % 7 == 3) address[gone++] = k;
    return gone;
}

/* Columns of particles that come to a rank at a time. */
static sapporo_stepper_particles new_columns(const struct bodies *b, int n, double time)
{
    const struct way plain = {.lengths = 0};
    sapporo_stepper_particles p = columns_from(b, &plain, CHANGED, n);
    p.time = time;
    return p;
}

/* Collective.  Particles go and come in one stepper on the first rank. */
static int change_alone(const struct bodies *b, const sapporo_stepper_options *o, struct state *to)
{
    const struct way plain = {.lengths = 0};
    const sapporo_stepper_particles p = columns_from(b, &plain, 0, CHANGED);
    const sapporo_stepper_output out = own_output_of(to, 0, to->n);
    int address[CHANGED], bad = 0;
    sapporo_stepper *s = NULL;
    if (rank == 0) {
        bad = sapporo_stepper_create(o, CHANGED + NEW, &s) || sapporo_stepper_set(s, &p) ||
              sapporo_stepper_advance(s, 0.5 + END / 3, 0) ||
              sapporo_stepper_remove(s, gone_of(0, CHANGED, address), address);
        const sapporo_stepper_particles q = new_columns(b, NEW, sapporo_stepper_get_time(s));
        bad = bad || sapporo_stepper_add(s, &q) || sapporo_stepper_advance(s, 0.5 + END, 0) ||
              sapporo_stepper_get(s, &out);
        if (bad) report(0, "particles come and go: %s", sapporo_stepper_last_error(s));
        sapporo_stepper_destroy(s);
    }
    ranks_share(&bad, sizeof bad);
    share_state(to);
    return bad;
}

/* Collective.  The same over all ranks; the new ones come to the last rank. */
static int change_over_ranks(const struct bodies *b, const sapporo_stepper_options *o, struct state *to)
{
    const struct way plain = {.lengths = 0};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = o, .timeout = 60};
    const int come = rank == ranks - 1 ? NEW : 0;
    int n, address[CHANGED], before[CHANGED];
    const int first = first_of(b, &n), gone = gone_of(first, n, address), start = first - gone_of(0, first, before);
    const sapporo_stepper_particles p = columns_from(b, &plain, first, n);
    const sapporo_stepper_output out = own_output_of(to, start, n - gone + come);
    sapporo_mpi_stepper *s = NULL;
    int bad = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, n + come, &s) || sapporo_mpi_stepper_set(s, &p) ||
              sapporo_mpi_stepper_advance(s, 0.5 + END / 3, 0) || sapporo_mpi_stepper_remove(s, gone, address);
    const sapporo_stepper_particles q = new_columns(b, come, sapporo_mpi_stepper_get_time(s));
    bad = bad || sapporo_mpi_stepper_add(s, &q) || sapporo_mpi_stepper_advance(s, 0.5 + END, 0) ||
          sapporo_mpi_stepper_get(s, &out);
    if (bad) report(0, "particles come and go: %s", sapporo_mpi_stepper_last_error(s));
    sapporo_mpi_stepper_destroy(s);
    join_states(to);
    return bad;
}

/*
 * Collective.  How far orbits are from one stepper's, in units of what they may be: of trees a few times as far as
 * these are from direct sums.
 */
static double distance_allowed(const struct bodies *b, const sapporo_stepper_options *o, const struct state *alone,
                               const struct state *found)
{
    sapporo_stepper_options direct = *o;
    struct state exact = state_new(alone->n);
    direct.method = SAPPORO_STEP_DIRECT;
    const int bad = change_alone(b, &direct, &exact);
    const double of_tree = distance((const double(*)[3])alone->x, (const double(*)[3])exact.x, alone->n);
    const double of_ranks = distance((const double(*)[3])found->x, (const double(*)[3])exact.x, alone->n);
    state_free(&exact);
    return bad ? INFINITY : of_ranks / (6 * of_tree);
}

/* Particles that come and go over ranks leave the bits of one stepper; over trees its orbits. */
static void test_changes(sapporo_step_method method, sapporo_step_scheme scheme, enum split split)
{
    int address[CHANGED];
    const int left = CHANGED - gone_of(0, CHANGED, address) + NEW;
    sapporo_tree_options tree = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_DEFAULT, SAPPORO_DP);
    tree.eps2 = EPS2;
    const sapporo_stepper_options o = {
        .size = sizeof o, .method = method, .tree = &tree, .scheme = scheme, .dt = 1.0 / 16};
    struct bodies b = cluster(CHANGED + NEW, split, 9);
    for (int i = CHANGED; i < CHANGED + NEW; i++) b.giver[i] = -1; /* until they come */
    struct state alone = state_new(left), found = state_new(left);
    const int bad = change_alone(&b, &o, &alone) || change_over_ranks(&b, &o, &found);
    const double apart = distance((const double(*)[3])found.x, (const double(*)[3])alone.x, left);
    const double part = method == TREE ? distance_allowed(&b, &o, &alone, &found) : 0;
    const int near = apart < 5e-6 || tested_backend() != SAPPORO_BACKEND_CPU; /* there particles of few walk alone */
    report(!bad && (method == TREE ? near && part < 1 : same_states(&found, &alone)),
           "scheme %d, method %d: particles come and go, %.1e from one stepper, %.2f of what trees may be", (int)scheme,
           (int)method, apart, part);
    state_free(&alone);
    state_free(&found);
    bodies_free(&b);
}

/* ------------------------------------------------------------ builds by times */

/* Builds that times decide come in the same steps on all ranks, and leave the orbits near those of other builds; a rank
 * on which tuning is frozen lets counts decide on all ranks, so runs repeat. */
static void test_timed(void)
{
    enum { N = 500 };
    const struct way usual = ways[4];
    struct way w = usual;
    w.rebuild = SAPPORO_REBUILD_TIMED;
    struct bodies b = cluster(N, IN_TURN, 5);
    struct state counted = state_new(N), timed = state_new(N), frozen = state_new(N);
    struct told first = {.s = {.n = 0}}, second = first, third = first;
    int bad = run_ranks(&b, &usual, 1.0 / 32, &counted, &first) || run_ranks(&b, &w, 1.0 / 32, &timed, &second);
    if (rank == ranks - 1) (void)setenv("SAPPORO_TUNE", "frozen", 1);
    bad |= run_ranks(&b, &w, 1.0 / 32, &frozen, &third);
    (void)unsetenv("SAPPORO_TUNE");
    const int did[2] = {(int)second.s.builds, (int)second.s.refreshes};
    const double apart = distance((const double(*)[3])timed.x, (const double(*)[3])counted.x, N);
    report(!bad && ranks_same(did, 2) && did[0] > 0 && apart < 1e-4, "builds by times: %d and %d refreshes, %.1e apart",
           did[0], did[1], apart);
    report(!bad && same_states(&frozen, &counted), "tuning is frozen on one rank: the bits of builds by counts");
    state_free(&counted);
    state_free(&timed);
    state_free(&frozen);
    bodies_free(&b);
}

/*
 * Whether cases are left out.  Many ranks share few cores, so each step takes long.  So does each of the many launches
 * of OpenCL on a CPU, and each step of a checked build (SAPPORO_TEST_CHECKED) on the CPU, unless SAPPORO_TEST_SPARING=0
 * asks for all cases.
 */
static int are_few(void)
{
    const char *const sparing = getenv("SAPPORO_TEST_SPARING");
    const sapporo_backend backend = tested_backend();
    const int checked = backend == SAPPORO_BACKEND_CPU && getenv("SAPPORO_TEST_CHECKED");
    const int slow = checked || backend == SAPPORO_BACKEND_OPENCL;
    return ranks > 3 || (slow && (!sparing || strcmp(sparing, "0") != 0));
}

/* Whether particles with one softening are left out as well: on devices trees with lengths make their calls, too. */
static int are_fewest(void) { return are_few() && tested_backend() == SAPPORO_BACKEND_OPENCL; }

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    if (has_device()) {
        const int few = are_few(), fewest = are_fewest();
        for (int k = 0; k < WAYS; k++)
            if (!few || k == 1 || (k == 4 && !fewest) || k == 7 || k == 9)
                test_way(&ways[k], (enum split)((k + ranks) % SPLITS), 0);
        if (!few) test_way(&ways[1], IN_TURN, 5);
        test_way(&ways[4], PIECES, 5);
        test_file(&ways[1], PIECES, 5);
        if (!fewest) test_file(&ways[4], IN_TURN, 5);
        if (!few) test_file(&ways[7], PIECES, 5); /* hundreds of steps; ways[9] has lengths, too */
        test_file(&ways[9], PIECES, 5);
        if (!few) test_file(&ways[5], ALL_ON_LAST, 0);
        if (!few) test_file(&ways[6], PIECES, 0);
        test_lengths(SAPPORO_SOFTENING_PLUMMER, IN_TURN);
        test_lengths(SAPPORO_SOFTENING_SPLINE_MEAN, IN_TURN);
        test_no_more_lengths(&ways[9]);
        test_hermites(few);
        test_changes(DIRECT, SAPPORO_STEPS_HERMITE4, IN_TURN);
        if (!few) test_changes(DIRECT, SAPPORO_STEPS_HERMITE8, PIECES);
        if (!few) test_changes(DIRECT, BLOCK, ALL_ON_LAST);
        test_changes(TREE, BLOCK, PIECES);
        if (!few) test_timed();
        if (ranks < 4) test_landings();
        test_gravity(&ways[1]);
        if (!fewest) test_gravity(&ways[4]);
        test_leapfrog();
        if (!few) test_orders(&ways[1], "direct, block steps");
        if (!few) test_orders(&ways[6], "tree, block steps");
        for (int n = 1; n <= 3 && !fewest; n += 2) {
            test_few(&ways[1], n, 0);
            test_few(&ways[6], n, 0);
        }
        test_few(&ways[1], 6, 1);
        test_few(&ways[6], 6, 1);
    }
    return ranks_end();
}
