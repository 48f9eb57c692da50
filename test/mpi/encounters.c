/*
 * encounters.c - Hermite steppers over any number of ranks: nearest neighbours, close pairs, stops and present
 * potentials have the bits of one stepper with the particles of all ranks, which each rank has beside its own, through
 * changes of particles and files; potentials are also those of a sum in long double.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree_problem.h"

#define EPS2 0x1p-10
enum { N = 90, MOST = 100 };

/* ---------------------------------------------------------------- a session */

struct series {
    const char *name;
    sapporo_step_scheme scheme;
    sapporo_precision precision;
    enum split split;
    int light, lattice; /* every `light`-th particle is massless (0: none is; -1: all are); positions have exact ties */
    int iterations, landing;
    double close;
};

/* What a stepper tells of n particles. */
struct told {
    int nearest[MOST];
    double r2[MOST], pot[MOST], x[MOST][3], mass[MOST];
};

static struct {
    const struct series *how;
    sapporo_mpi_stepper *over;
    sapporo_stepper *whole; /* with the particles of all ranks */
    int n, first, own;      /* particles of all ranks; this rank's first one, and how many it has */
    int giver[MOST];
    struct told right, ours;
    int stops, crossing; /* stops, and pairs of two ranks, that were seen */
} session;

static const char *text(void) { return sapporo_mpi_stepper_last_error(session.over); }

/* Says what is wrong, on this rank; returns 1. */
static int wrong(const char *what, int k)
{
    fprintf(stderr, "rank %d of %d, %s: %s of %d; %s\n", rank, ranks, session.how->name, what, k, text());
    return 1;
}

static void count_own(void)
{
    session.first = session.own = 0;
    for (int i = 0; i < session.n; i++) {
        session.first += session.giver[i] < rank;
        session.own += session.giver[i] == rank;
    }
}

static int giver_of(enum split how, int k)
{
    if (how == ALL_ON_FIRST || ranks == 1) return 0;
    if (how == ALL_ON_LAST) return ranks - 1;
    if (how == PIECES) return 1 + k * (ranks - 1) / N; /* rank 0 has none */
    return k * ranks / N;
}

static void make_session(const struct series *how)
{
    static sapporo_stepper_options o;
    sapporo_tree_options sums = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_DEFAULT, how->precision);
    sums.eps2 = EPS2;
    o = (sapporo_stepper_options){.size = sizeof o,
                                  .tree = &sums,
                                  .scheme = how->scheme,
                                  .dt = 1.0 / 16,
                                  .iterations = how->iterations,
                                  .landing = how->landing,
                                  .nearest = how->close <= 0,
                                  .close = how->close};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &o, .timeout = 60};
    memset(&session, 0, sizeof session);
    session.how = how;
    session.n = N;
    for (int i = 0; i < N; i++) session.giver[i] = giver_of(how->split, i);
    count_own();
    const int bad = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, MOST, &session.over) ||
                    sapporo_stepper_create(&o, MOST, &session.whole);
    report(!bad, "%s: %s", how->name, sapporo_mpi_stepper_last_error(NULL));
}

/* Particle k of a cluster, or of a lattice in which many neighbours are at one distance. */
static void particle(const struct series *how, int k, double x[3], double v[3], double *mass)
{
    const int at[3] = {k % 5, k / 5 % 5, k / 25};
    for (int c = 0; c < 3; c++) {
        const double spread = sin(k * (c + 2.3) + c);
        x[c] = how->lattice ? 0.25 * at[c] : 0.7 * spread * fabs(spread);
        v[c] = 0.3 * sin(k * (c + 1.7) + 2 * c);
    }
    *mass = how->light < 0 || (how->light > 0 && k % how->light == 1) ? 0 : 1.0 / N;
}

/* Particles k .. k+n-1 at a time, in memory until the next call for the same `which`. */
static sapporo_stepper_particles columns(int which, int k, int n, double time)
{
    static double x[2][MOST][3], v[2][MOST][3], mass[2][MOST];
    for (int i = 0; i < n; i++) particle(session.how, k + i, x[which][i], v[which][i], &mass[which][i]);
    return (sapporo_stepper_particles){.size = sizeof(sapporo_stepper_particles),
                                       .n = n,
                                       .x = {x[which], 0},
                                       .v = {v[which], 0},
                                       .mass = {mass[which], 0},
                                       .time = time};
}

/* --------------------------------------------------------------- comparison */

/* Collective.  Whether something is wrong on any rank: then all ranks end the series. */
static int any(int bad)
{
    int all = 1;
    ranks_combine(&bad, &all, 1, MPI_MAX);
    return all;
}

static int read_both(void)
{
    struct told *const a = &session.ours, *const b = &session.right;
    const sapporo_stepper_output over = {.size = sizeof over,
                                         .n = session.own,
                                         .nearest = a->nearest,
                                         .nearest_r2 = a->r2},
                                 whole = {.size = sizeof whole,
                                          .n = session.n,
                                          .x = b->x,
                                          .mass = b->mass,
                                          .pot = b->pot,
                                          .nearest = b->nearest,
                                          .nearest_r2 = b->r2};
    if (sapporo_stepper_get(session.whole, &whole)) return wrong("outputs of one stepper", session.n);
    if (sapporo_mpi_stepper_get(session.over, &over)) return wrong("outputs", session.own);
    const int bad = sapporo_mpi_stepper_get_potentials(session.over, session.own, session.own > 0 ? a->pot : NULL);
    return bad ? wrong("present potentials", session.own) : 0;
}

/* Neighbours, their distances and present potentials of this rank's particles; numbers lead to ranks and addresses. */
static int compare_particles(void)
{
    const struct told *const a = &session.ours, *const b = &session.right;
    for (int i = 0; i < session.own; i++) {
        const int k = session.first + i;
        if (a->nearest[i] != b->nearest[k]) return wrong("neighbour", k);
        if (memcmp(&a->r2[i], &b->r2[k], sizeof a->r2[i]) != 0) return wrong("distance of the neighbour", k);
        if (memcmp(&a->pot[i], &b->pot[k], sizeof a->pot[i]) != 0) return wrong("present potential", k);
    }
    for (int k = 0, before = 0; k < session.n; k++) {
        int at, address;
        if (k > 0 && session.giver[k] != session.giver[k - 1]) before = k;
        if (sapporo_mpi_stepper_locate(session.over, k, &at, &address)) return wrong("no place", k);
        if (at != session.giver[k] || address != k - before) return wrong("place", k);
    }
    return 0;
}

/* Collective.  The pairs of all ranks, and their number where the last rank has less room. */
static int compare_pairs(void)
{
    int pair[2][MOST][2], bad = 0;
    double r2[2][MOST];
    sapporo_stepper_pairs over = {.size = sizeof over, .room = MOST, .pair = pair[0], .r2 = r2[0]},
                          whole = {.size = sizeof whole, .room = MOST, .pair = pair[1], .r2 = r2[1]};
    if (session.how->close <= 0) return 0;
    if (sapporo_stepper_get_pairs(session.whole, &whole)) bad = wrong("pairs of one stepper", whole.n);
    if (sapporo_mpi_stepper_get_pairs(session.over, &over)) bad = wrong("pairs", over.n);
    const size_t n = (size_t)whole.n;
    if (over.n != whole.n || memcmp(pair[0], pair[1], n * sizeof pair[0][0]) != 0 ||
        memcmp(r2[0], r2[1], n * sizeof r2[0][0]) != 0)
        bad = wrong("other pairs", over.n);
    for (int k = 0; k < whole.n; k++) session.crossing += session.giver[pair[1][k][0]] != session.giver[pair[1][k][1]];
    if (rank == ranks - 1) over.room = 0;
    const int status = sapporo_mpi_stepper_get_pairs(session.over, &over);
    if (status != (whole.n > 0 ? SAPPORO_TRUNCATED : SAPPORO_OK) || over.n != whole.n) bad = wrong("truncated", over.n);
    return bad;
}

/* Potentials in long double, where forces are in double. */
static int compare_exact(void)
{
    const struct told *const b = &session.right;
    for (int i = 0; i < session.own; i++) {
        const int k = session.first + i;
        long double sum = 0;
        for (int j = 0; j < session.n; j++) {
            long double r2 = EPS2;
            for (int c = 0; c < 3; c++) r2 += ((long double)b->x[j][c] - b->x[k][c]) * (b->x[j][c] - b->x[k][c]);
            if (j != k) sum -= b->mass[j] / sqrtl(r2);
        }
        if (!(fabsl(session.ours.pot[i] - sum) <= 1e-13L * fabsl(sum))) return wrong("exact potential", k);
    }
    return 0;
}

/* Collective. */
static int compare(void)
{
    int bad = read_both();
    if (!bad) bad = compare_particles();
    bad |= compare_pairs();
    return any(bad || (session.how->precision == SAPPORO_DP && compare_exact()));
}

/* -------------------------------------------------------------------- cases */

static int move_both(double time, int steps)
{
    const int status = sapporo_mpi_stepper_advance(session.over, time, steps);
    const int right = sapporo_stepper_advance(session.whole, time, steps);
    session.stops += right == SAPPORO_STOPPED;
    if (status != right) return wrong("status", status);
    if (status < 0) return wrong("steps", status);
    const double now = sapporo_stepper_get_time(session.whole), ours = sapporo_mpi_stepper_get_time(session.over);
    return ours != now ? wrong("time", steps) : 0;
}

static int set_both(void)
{
    const sapporo_stepper_particles mine = columns(0, session.first, session.own, 0.5), all = columns(1, 0, N, 0.5);
    return sapporo_mpi_stepper_set(session.over, &mine) || sapporo_stepper_set(session.whole, &all) || compare();
}

/* Collective.  Both move in the same way, to the same stops. */
static int advance(double time, int steps) { return any(move_both(time, steps)); }

/* Every seventh particle goes; neighbours of the others are known, by their new numbers, unless they went. */
static int remove_some(void)
{
    int all[MOST], mine[MOST], n = 0, own = 0, kept = 0;
    for (int k = 0; k < session.n; k++) {
        if (k % 7 != 3) {
            session.giver[kept++] = session.giver[k];
            continue;
        }
        all[n++] = k;
        if (session.giver[k] == rank) mine[own++] = k - session.first;
    }
    if (sapporo_mpi_stepper_remove(session.over, own, mine)) return wrong("a removal", own);
    if (sapporo_stepper_remove(session.whole, n, all)) return wrong("a removal from one stepper", n);
    session.n = kept;
    count_own();
    return compare();
}

/* Particles come to the last rank, so that their numbers are those of one stepper. */
static int add_some(void)
{
    enum { NEW = 4 };
    const double time = sapporo_stepper_get_time(session.whole);
    const sapporo_stepper_particles mine = columns(0, N, rank == ranks - 1 ? NEW : 0, time),
                                    all = columns(1, N, NEW, time);
    if (sapporo_mpi_stepper_add(session.over, &mine)) return wrong("an addition", mine.n);
    if (sapporo_stepper_add(session.whole, &all)) return wrong("an addition to one stepper", NEW);
    for (int k = 0; k < NEW; k++) session.giver[session.n++] = ranks - 1;
    count_own();
    return compare();
}

/* Files keep no neighbours: they are known after the next step of a particle, as in one stepper. */
static int save_and_restore(void)
{
    char over[500], whole[500];
    const char *const folder = getenv("TMPDIR");
    (void)snprintf(over, sizeof over, "%s/encounters.%d", folder ? folder : "/tmp", ranks);
    (void)snprintf(whole, sizeof whole, "%s/encounters.%d.%d", folder ? folder : "/tmp", ranks, rank);
    int bad = sapporo_mpi_stepper_save(session.over, over) || sapporo_stepper_save(session.whole, whole);
    bad = bad || sapporo_mpi_stepper_restore(session.over, over) || sapporo_stepper_restore(session.whole, whole);
    if (bad) return wrong("a file", session.own);
    bad = compare();
    (void)remove(whole);
    if (rank == 0) (void)remove(over);
    return bad || (session.own > 0 && session.ours.nearest[0] != -1);
}

static void test_series(const struct series *how)
{
    make_session(how);
    int bad = !session.over || !session.whole || set_both();
    for (int k = 0; k < 5 && !bad; k++) bad = advance(INFINITY, 2 + 3 * k) || compare();
    bad = bad || remove_some() || advance(INFINITY, 1) || compare();
    bad = bad || remove_some() || add_some() || advance(INFINITY, 9) || compare();
    bad = bad || save_and_restore() || advance(INFINITY, 5) || compare();
    bad = bad || advance(sapporo_stepper_get_time(session.whole) + 0x1p-9, 0) || compare();
    const int crosses = how->close <= 0 || ranks == 1 || how->split == ALL_ON_FIRST || how->split == ALL_ON_LAST ||
                        (how->split == PIECES && ranks == 2) || session.crossing > 0;
    report(!bad && crosses && (how->close <= 0 || session.stops > 0), "%s: the bits of one stepper, %d stops, %d pairs",
           how->name, session.stops, session.crossing);
    sapporo_mpi_stepper_destroy(session.over);
    sapporo_stepper_destroy(session.whole);
}

/* ------------------------------------------------------------------- faults */

/*
 * The last rank gives wrong arguments: the call fails on all ranks, and the next one succeeds.  All particles are close
 * to another one.
 */
static void test_faults(void)
{
    const struct series how = {.name = "faults", .scheme = SAPPORO_STEPS_HERMITE4, .precision = SAPPORO_DP, .close = 9};
    const int guilty = rank == ranks - 1;
    int pair[MOST][2], at = 7, address = 7;
    double pot[MOST];
    char word[32];
    sapporo_stepper_pairs p = {.size = sizeof p, .room = MOST, .pair = pair, .n = 7}, wrong_one = p;
    make_session(&how);
    (void)snprintf(word, sizeof word, "rank %d", ranks - 1);
    pot[0] = 7;
    int bad = sapporo_mpi_stepper_get_pairs(session.over, &p) != SAPPORO_ERR_ARGUMENT || p.n != 0;
    bad |= sapporo_mpi_stepper_get_potentials(session.over, 1, pot) != SAPPORO_ERR_ARGUMENT || !isnan(pot[0]);
    bad |=
        sapporo_mpi_stepper_locate(session.over, 0, &at, &address) != SAPPORO_ERR_ARGUMENT || at != -1 || address != -1;
    report(!bad, "no particles: %s", text());
    bad = set_both() || advance(INFINITY, 1);
    wrong_one.room = -1;
    p.n = 7;
    bad |= sapporo_mpi_stepper_get_pairs(session.over, guilty ? &wrong_one : &p) != SAPPORO_ERR_ARGUMENT;
    bad |= !strstr(text(), word) || (guilty ? wrong_one : p).n != 0;
    wrong_one.room = 3;
    wrong_one.pair = NULL;
    bad |= sapporo_mpi_stepper_get_pairs(session.over, guilty ? &wrong_one : &p) != SAPPORO_ERR_ARGUMENT;
    wrong_one.size = 0;
    bad |= sapporo_mpi_stepper_get_pairs(session.over, guilty ? &wrong_one : &p) != SAPPORO_ERR_ARGUMENT;
    bad |= sapporo_mpi_stepper_get_pairs(session.over, guilty ? NULL : &p) != SAPPORO_ERR_ARGUMENT ||
           !strstr(text(), word);
    bad |= sapporo_mpi_stepper_get_pairs(session.over, &p) || p.n < 1;
    report(!bad, "pairs, wrong arguments of one rank: %s", text());
    bad = sapporo_mpi_stepper_get_potentials(session.over, session.own + guilty, pot) != SAPPORO_ERR_ARGUMENT;
    bad |= !strstr(text(), word) || (session.own > 0 && !isnan(pot[0]));
    bad |= sapporo_mpi_stepper_get_potentials(session.over, session.own, guilty ? NULL : pot) != SAPPORO_ERR_ARGUMENT;
    bad |= sapporo_mpi_stepper_get_potentials(session.over, session.own, pot) || !(pot[0] < 0);
    report(!bad, "potentials, wrong arguments of one rank: %s", text());
    bad = sapporo_mpi_stepper_locate(session.over, N, &at, &address) != SAPPORO_ERR_ARGUMENT || at != -1;
    bad |= sapporo_mpi_stepper_locate(session.over, -1, &at, &address) != SAPPORO_ERR_ARGUMENT || address != -1;
    bad |= sapporo_mpi_stepper_locate(session.over, N - 1, NULL, NULL) != SAPPORO_OK;
    report(!bad, "numbers of no particle");
    sapporo_mpi_stepper_destroy(session.over);
    sapporo_stepper_destroy(session.whole);
    p.n = 7;
    bad = sapporo_mpi_stepper_get_pairs(session.over, &p) != SAPPORO_ERR_CLOSED || p.n != 0;
    bad |= sapporo_mpi_stepper_get_pairs(NULL, NULL) != SAPPORO_ERR_CLOSED;
    pot[0] = 7;
    bad |= sapporo_mpi_stepper_get_potentials(session.over, 1, pot) != SAPPORO_ERR_CLOSED || !isnan(pot[0]);
    bad |= sapporo_mpi_stepper_locate(session.over, 0, &at, &address) != SAPPORO_ERR_CLOSED || at != -1;
    report(!bad, "a stepper that was destroyed");
}

/* Steppers that keep no neighbours: leap-frogs have their last potentials, and trees have no numbers. */
static void test_others(void)
{
    const sapporo_tree_options tree = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_DEFAULT, SAPPORO_DP);
    const struct series how = {.name = "a leap-frog", .split = IN_TURN};
    double pot[MOST] = {0}, again[MOST] = {0};
    int at;
    sapporo_stepper_pairs p = {.size = sizeof p};
    for (int direct = 0; direct < 2; direct++) {
        const sapporo_stepper_options o = {.size = sizeof o,
                                           .method = direct ? SAPPORO_STEP_DIRECT : SAPPORO_STEP_TREE,
                                           .tree = &tree,
                                           .scheme = SAPPORO_STEPS_BLOCK,
                                           .dt = 1.0 / 64};
        const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &o, .timeout = 60};
        session.how = &how;
        const sapporo_stepper_particles mine = columns(0, session.first, session.own, 0);
        int bad = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, MOST, &session.over) ||
                  sapporo_mpi_stepper_set(session.over, &mine) || sapporo_mpi_stepper_advance(session.over, 1, 3);
        const sapporo_stepper_output out = {.size = sizeof out, .n = session.own, .pot = again};
        bad = bad || sapporo_mpi_stepper_get_potentials(session.over, session.own, session.own > 0 ? pot : NULL) ||
              sapporo_mpi_stepper_get(session.over, &out) || memcmp(pot, again, (size_t)session.own * sizeof *pot) != 0;
        bad |= sapporo_mpi_stepper_locate(session.over, 0, &at, NULL) != (direct ? SAPPORO_OK : SAPPORO_ERR_ARGUMENT);
        bad |= sapporo_mpi_stepper_get_pairs(session.over, &p) != SAPPORO_ERR_ARGUMENT;
        report(!bad, "a leap-frog, direct sums %d: %s", direct, text());
        sapporo_mpi_stepper_destroy(session.over);
    }
}

/* Two light stars of the first and the last rank pass each other; the others are far away: a stop of all ranks. */
static void test_encounter(void)
{
    const sapporo_tree_options sums = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_DEFAULT, SAPPORO_DP);
    const sapporo_stepper_options o = {
        .size = sizeof o, .tree = &sums, .scheme = SAPPORO_STEPS_HERMITE6, .dt = 1.0 / 16, .close = 0.2};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &o, .timeout = 60};
    double x[2][3] = {{-1, 0.05, 0}, {1, 0, 0}}, v[2][3] = {{1, 0, 0}, {-1, 0, 0}}, mass[2] = {1e-6, 1e-6};
    int pair[1][2] = {{-1, -1}};
    const int n = ranks == 1 ? 2 : rank == 0 || rank == ranks - 1, from = rank > 0;
    sapporo_stepper_pairs p = {.size = sizeof p, .room = 1, .pair = pair};
    const sapporo_stepper_particles columns = {
        .size = sizeof columns, .n = n, .x = {x + from, 0}, .v = {v + from, 0}, .mass = {mass + from, 0}};
    sapporo_mpi_stepper *s = NULL;
    int bad = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, 2, &s) || sapporo_mpi_stepper_set(s, &columns);
    bad = bad || sapporo_mpi_stepper_advance(s, 2, 0) != SAPPORO_STOPPED;
    const double time = sapporo_mpi_stepper_get_time(s);
    bad |= sapporo_mpi_stepper_get_pairs(s, &p) || p.n != 1 || pair[0][0] != 0 || pair[0][1] != 1;
    report(!bad && fabs(time - 0.9) <= 1.0 / 16, "an encounter of two ranks stops all at %g: %s", time,
           sapporo_mpi_stepper_last_error(s));
    sapporo_mpi_stepper_destroy(s);
}

int main(int argc, char **argv)
{
    static const struct series all[] = {
        {"order 4, ds, pairs", SAPPORO_STEPS_HERMITE4, SAPPORO_DS, IN_TURN, 0, 0, 0, 0, 0.08},
        {"order 4, dp, massless particles", SAPPORO_STEPS_HERMITE4, SAPPORO_DP, PIECES, 4, 0, 0, 0, 0.08},
        {"order 4, a lattice", SAPPORO_STEPS_HERMITE4, SAPPORO_DS, IN_TURN, 5, 1, 0, 0, 0},
        {"order 6, iterations", SAPPORO_STEPS_HERMITE6, SAPPORO_DP, IN_TURN, 6, 0, 2, 0, 0.08},
        {"order 8, landings", SAPPORO_STEPS_HERMITE8, SAPPORO_DP, ALL_ON_LAST, 3, 0, 0, 1, 0.08},
        {"order 4, no particle has a mass", SAPPORO_STEPS_HERMITE4, SAPPORO_DP, PIECES, -1, 0, 0, 0, 0}};
    enum { SERIES = sizeof all / sizeof *all };
    ranks_begin(&argc, &argv);
    if (has_device()) {
        const int few = tested_backend() == SAPPORO_BACKEND_OPENCL && getenv("SAPPORO_TEST_CHECKED");
        for (int k = 0; k < (few ? 3 : SERIES); k++) test_series(&all[k]);
        test_faults();
        test_others();
        test_encounter();
    }
    return ranks_end();
}
