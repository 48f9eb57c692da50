/*
 * walk.c - memory that runs out on one rank: each allocation of libsapporo_mpi and of libsapporo fails, on each rank,
 * in sessions that make every collective call.  In session k the k-th allocation of every call fails.  A call that
 * fails has the status SAPPORO_ERR_MEMORY on all ranks and leaves no number behind; made again, with all memory, it
 * succeeds; and the session has the results of a session without faults.
 *
 *   walk [few]     few: of all allocations, one per number takes turns on the ranks
 *
 * The program is linked with the objects of both libraries, and with -Wl,--wrap=malloc and so on for the functions
 * below, so that their allocations and none of MPI come through them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/handle.h"
#include "mpi/way.h"
#include "ranks.h"

/* ------------------------------------------------------------------ faults */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

/* Allocations of the call under way; the one that fails, 0: none; 1: so do those behind it. */
static struct {
    int armed, counted, at, stays;
    int most; /* of all calls of the session */
} faults;

static int fails(void)
{
    if (!faults.armed) return 0;
    faults.counted++;
    return faults.at > 0 && (faults.stays ? faults.counted >= faults.at : faults.counted == faults.at);
}

void *__wrap_malloc(size_t bytes) { return fails() ? NULL : __real_malloc(bytes); }
void *__wrap_calloc(size_t n, size_t bytes) { return fails() ? NULL : __real_calloc(n, bytes); }
void *__wrap_realloc(void *old, size_t bytes) { return fails() ? NULL : __real_realloc(old, bytes); }
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* Costs need not be measured in each session: memory.c walks their allocations. */
int __wrap_sap_way_measure(sapporo_mpi *h);
int __wrap_sap_way_measure(sapporo_mpi *h)
{
    h->costs.size = sizeof h->costs;
    return SAPPORO_OK;
}

/* ---------------------------------------------------------------- sessions */

enum { N = 120, FAR_BLOCK = 3000 * 2048, RESULTS = 8 * N };
static const double stale = 77;

/* A session under way. */
struct session {
    sapporo_mpi_way way;
    sapporo_step_method method;
    sapporo_step_scheme scheme;
    sapporo_mpi *sums;
    sapporo_mpi_job *job;
    sapporo_mpi_tree *tree;
    sapporo_mpi_stepper *stepper;
    double acc[N][3], pot[N];
    sapporo_stepper_totals totals;
    int writes; /* values of the call under way: 0 none, 1 a force, 2 totals, 3 potentials */
    int failed; /* calls that failed */
    const char *wrong;
    double result[RESULTS]; /* of the calls, in their order */
    int results;
};

static struct point *source;
static char path[512];

static int mine(void) { return (N - rank + ranks - 1) / ranks; }

/* Whether all ranks have this number. */
static int is_common(int number)
{
    const int both[2] = {number, -number};
    int least[2];
    ranks_combine(both, least, 2, MPI_MIN);
    return least[0] == -least[1];
}

static void note(struct session *s, int good, const char *what)
{
    int all, own = good;
    ranks_combine(&own, &all, 1, MPI_MIN);
    if (!all && !s->wrong) s->wrong = what;
}

/* 1 if a call that failed left no number. */
static int is_spoilt(const struct session *s)
{
    int spoilt = s->writes != 2 || (isnan(s->totals.kinetic) && isnan(s->totals.potential));
    for (int i = 0; i < mine() && s->writes == 1; i++) spoilt &= isnan(s->pot[i]) && isnan(s->acc[i][2]);
    for (int i = 0; i < mine() && s->writes == 3; i++) spoilt &= isnan(s->pot[i]);
    return spoilt;
}

static void make_stale(struct session *s)
{
    for (int i = 0; i < N; i++) s->pot[i] = s->acc[i][0] = s->acc[i][1] = s->acc[i][2] = stale;
    s->totals = (sapporo_stepper_totals){.size = sizeof s->totals, .kinetic = stale, .potential = stale};
}

static void keep_results(struct session *s)
{
    for (int i = 0; i < mine() && s->writes == 1 && s->results + 2 <= RESULTS; i++) {
        s->result[s->results++] = s->acc[i][0];
        s->result[s->results++] = s->pot[i];
    }
    for (int i = 0; i < mine() && s->writes == 3 && s->results < RESULTS; i++) s->result[s->results++] = s->pot[i];
    if (s->writes == 2 && s->results < RESULTS) s->result[s->results++] = s->totals.potential;
}

typedef int a_call(struct session *s);

/* Makes a call; if it fails, again, with all memory. */
static void make(struct session *s, const char *name, int writes, a_call *call)
{
    s->writes = writes;
    make_stale(s);
    faults.counted = 0;
    faults.armed = 1;
    const int status = call(s);
    faults.armed = 0;
    if (faults.counted > faults.most) faults.most = faults.counted;
    note(s, is_common(status), name);
    if (status) {
        s->failed++;
        if (status != SAPPORO_ERR_MEMORY && rank == 0) fprintf(stderr, "# %s: status %d\n", name, status);
        note(s, status == SAPPORO_ERR_MEMORY && is_spoilt(s), name);
        note(s, call(s) == SAPPORO_OK, name);
    }
    keep_results(s);
}

/* ---- direct sums ---- */

static int open_sums(struct session *s)
{
    static const sapporo_mpi_costs costs = {.size = sizeof costs};
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    const sapporo_mpi_options o = {
        .size = sizeof o, .context = &context, .timeout = 20, .rows = 50, .sources = 1, .way = s->way, .costs = &costs};
    return sapporo_mpi_open(MPI_COMM_WORLD, &o, &s->sums);
}

/* Stores this rank's particles from address `first` on. */
static int set_from(struct session *s, int first)
{
    sapporo_particles columns = points_columns(source + rank);
    int address[N];
    for (int k = 0; k < mine(); k++) address[k] = first + rank + ranks * k;
    for (int d = 0; d < SAPPORO_DERIVATIVES; d++) columns.derivative[d].stride *= ranks;
    columns.mass.stride = columns.time.stride = columns.eps2.stride = columns.index.stride =
        columns.derivative[0].stride;
    return sapporo_mpi_set_particles(s->sums, mine(), address, &columns);
}

static int set_near(struct session *s) { return set_from(s, 0); }
static int set_far(struct session *s) { return set_from(s, FAR_BLOCK); }
static int clear(struct session *s) { return sapporo_mpi_clear_particles(s->sums); }

static int force(struct session *s)
{
    const sapporo_request request = points_request(source + rank, mine(), FAR_BLOCK + N);
    const sapporo_result result = {.size = sizeof result, .acc = s->acc, .pot = s->pot};
    int status = sapporo_mpi_force_begin(s->sums, &request, &s->job);
    if (status) /* no row was written, and nothing may be taken for one */
        for (int i = 0; i < N; i++) s->pot[i] = s->acc[i][2] = NAN;
    if (!status) status = sapporo_mpi_force_end(s->job, mine(), &result);
    sapporo_mpi_force_free(s->job);
    return status;
}

static void sums_session(struct session *s)
{
    make(s, "open", 0, open_sums);
    make(s, "set_particles", 0, set_near);
    make(s, "force", 1, force);
    make(s, "set_particles, far", 0, set_far);
    make(s, "force on distant blocks", 1, force);
    make(s, "clear_particles", 0, clear);
    make(s, "set_particles again", 0, set_near);
    make(s, "force again", 1, force);
    sapporo_mpi_close(s->sums);
}

/* ---- trees ---- */

/* Particles have softening lengths, which take the most memory: as large as their masses. */
static sapporo_tree_options tree_options(void)
{
    return (sapporo_tree_options){.size = sizeof(sapporo_tree_options),
                                  .mac = SAPPORO_MAC_ACCELERATION,
                                  .precision = SAPPORO_DP,
                                  .eps2 = 1e-2,
                                  .softening = SAPPORO_SOFTENING_SPLINE_MEAN,
                                  .leaf_size = 8,
                                  .backend = SAPPORO_BACKEND_CPU,
                                  .threads = 1};
}

static sapporo_tree_particles tree_columns(void)
{
    const ptrdiff_t stride = ranks * (ptrdiff_t)sizeof *source;
    return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                    .n = mine(),
                                    .x = {source[rank].derivative[0], stride},
                                    .mass = {&source[rank].mass, stride},
                                    .h = {&source[rank].mass, stride}};
}

static int create_tree(struct session *s)
{
    const sapporo_tree_options tree = tree_options();
    const sapporo_mpi_tree_options o = {.size = sizeof o, .tree = &tree, .timeout = 20};
    return sapporo_mpi_tree_create(MPI_COMM_WORLD, &o, &s->tree);
}

static int build(struct session *s)
{
    const sapporo_tree_particles p = tree_columns();
    return sapporo_mpi_tree_build(s->tree, &p);
}

/* A refresh that fails leaves no tree: it is built then. */
static int refresh(struct session *s)
{
    const sapporo_tree_particles p = tree_columns();
    const int status = sapporo_mpi_tree_refresh(s->tree, &p);
    return status == SAPPORO_ERR_ARGUMENT ? sapporo_mpi_tree_build(s->tree, &p) : status;
}

static int refresh_or_build(struct session *s)
{
    const sapporo_tree_particles p = tree_columns();
    return sapporo_mpi_tree_refresh_or_build(s->tree, &p, 0, NULL);
}

static int tree_force(struct session *s) { return sapporo_mpi_tree_force(s->tree, s->acc, s->pot); }

static int tree_force_active(struct session *s)
{
    return sapporo_mpi_tree_force_active(s->tree, mine(), NULL, s->acc, s->pot);
}

/* The number of each particle goes with it, so that it may be found. */
static int exchange(struct session *s)
{
    int from[N], to[N], n;
    for (int k = 0; k < N; k++) from[k] = rank + ranks * k;
    return sapporo_mpi_tree_exchange(s->tree, sizeof *from, from, N, to, &n);
}

static void tree_session(struct session *s)
{
    make(s, "tree_create", 0, create_tree);
    make(s, "tree_build", 0, build);
    make(s, "tree_force", 1, tree_force);
    make(s, "tree_refresh", 0, refresh);
    make(s, "tree_force_active", 1, tree_force_active);
    make(s, "tree_refresh_or_build", 0, refresh_or_build);
    make(s, "tree_refresh_or_build again", 0, refresh_or_build);
    make(s, "tree_force again", 1, tree_force);
    make(s, "tree_exchange", 0, exchange);
    sapporo_mpi_tree_destroy(s->tree);
}

/* ---- steppers ---- */

static int create_stepper(struct session *s)
{
    sapporo_tree_options tree = tree_options();
    if (s->scheme >= SAPPORO_STEPS_HERMITE4) tree.softening = SAPPORO_SOFTENING_PLUMMER;
    sapporo_stepper_options plain = {
        .size = sizeof plain, .method = s->method, .tree = &tree, .scheme = s->scheme, .dt = 1.0 / 32};
    if (s->scheme >= SAPPORO_STEPS_HERMITE4) plain.close = 1e-9; /* no particles are that close */
    const sapporo_mpi_stepper_options o = {.size = sizeof o, .stepper = &plain, .timeout = 20};
    return sapporo_mpi_stepper_create(MPI_COMM_WORLD, &o, N, &s->stepper);
}

static int set_stepper(struct session *s)
{
    const ptrdiff_t stride = ranks * (ptrdiff_t)sizeof *source;
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = mine(),
                                         .x = {source[rank].derivative[0], stride},
                                         .v = {source[rank].derivative[1], stride},
                                         .mass = {&source[rank].mass, stride}};
    return sapporo_mpi_stepper_set(s->stepper, &p);
}

static int advance(struct session *s) { return sapporo_mpi_stepper_advance(s->stepper, 1, 1); }
static int energy(struct session *s) { return sapporo_mpi_stepper_energy(s->stepper, &s->totals); }
static int save(struct session *s) { return sapporo_mpi_stepper_save(s->stepper, path); }
static int restore(struct session *s) { return sapporo_mpi_stepper_restore(s->stepper, path); }
static int potentials(struct session *s) { return sapporo_mpi_stepper_get_potentials(s->stepper, mine(), s->pot); }

static int pairs(struct session *s)
{
    sapporo_stepper_pairs p = {.size = sizeof p};
    return sapporo_mpi_stepper_get_pairs(s->stepper, &p);
}

/* Removes no particles.  After a failure that lost the particles, they come from the file. */
static int remove_none(struct session *s)
{
    const int status = sapporo_mpi_stepper_remove(s->stepper, 0, NULL);
    if (status != SAPPORO_ERR_ARGUMENT) return status;
    const int restored = sapporo_mpi_stepper_restore(s->stepper, path);
    return restored ? restored : sapporo_mpi_stepper_remove(s->stepper, 0, NULL);
}

/* After a failure that lost the particles, they come from the file. */
static int exchange_stepper(struct session *s)
{
    const int status = sapporo_mpi_stepper_exchange(s->stepper);
    if (status != SAPPORO_ERR_ARGUMENT) return status;
    const int restored = sapporo_mpi_stepper_restore(s->stepper, path);
    return restored ? restored : sapporo_mpi_stepper_exchange(s->stepper);
}

static void stepper_session(struct session *s)
{
    make(s, "stepper_create", 0, create_stepper);
    make(s, "stepper_set", 0, set_stepper);
    make(s, "stepper_advance", 0, advance);
    make(s, "stepper_energy", 2, energy);
    make(s, "stepper_save", 0, save);
    make(s, "stepper_restore", 0, restore);
    if (s->scheme >= SAPPORO_STEPS_HERMITE4) {
        make(s, "stepper_remove", 0, remove_none);
        make(s, "stepper_get_pairs", 0, pairs);
    }
    make(s, "stepper_exchange", 0, exchange_stepper);
    make(s, "stepper_advance again", 0, advance);
    make(s, "stepper_energy again", 2, energy);
    make(s, "stepper_get_potentials", 3, potentials);
    sapporo_mpi_stepper_destroy(s->stepper);
}

/* ------------------------------------------------------------------- walks */

typedef void a_session(struct session *s);

/* A way of making sessions: tolerance is the relative difference of results that is allowed. */
struct walk {
    const char *name;
    a_session *run;
    sapporo_mpi_way way;
    sapporo_step_method method;
    sapporo_step_scheme scheme; /* 0: blocks */
    double tolerance;
};

static void run(const struct walk *w, struct session *s, int at, int stays)
{
    memset(s, 0, sizeof *s);
    s->way = w->way;
    s->method = w->method;
    s->scheme = w->scheme ? w->scheme : SAPPORO_STEPS_BLOCK;
    faults.most = 0;
    faults.at = at;
    faults.stays = stays;
    w->run(s);
}

static int is_near(const struct session *s, const struct session *good, double tolerance)
{
    int near = s->results == good->results;
    for (int k = 0; k < s->results && near; k++)
        near &= fabs(s->result[k] - good->result[k]) <= tolerance * fabs(good->result[k]);
    return near;
}

/* Makes a session in which the allocations with one number fail on a rank; returns 1 after the last of them. */
static int step(const struct walk *w, const struct session *good, int at, int guilty, int *failed)
{
    static struct session s;
    int ended = 0;
    run(w, &s, rank == guilty ? at : 0, at % 3 == 0);
    note(&s, is_near(&s, good, w->tolerance), "the results");
    *failed += s.failed;
    if (s.wrong) report(0, "%s: allocation %d of calls of rank %d fails: %s", w->name, at, guilty, s.wrong);
    const int mine_ended = rank == guilty && faults.most < at;
    ranks_combine(&mine_ended, &ended, 1, MPI_MAX);
    return ended || s.wrong;
}

static void walk(const struct walk *w, int few)
{
    static struct session good;
    int failed = 0, made = 0;
    run(w, &good, 0, 0);
    report(!good.failed && !good.wrong && good.results > 0, "%s: without faults", w->name);
    for (int guilty = 0; guilty < (few ? 1 : ranks); guilty++)
        for (int at = 1; !step(w, &good, at, few ? at % ranks : guilty, &failed); at++) made++;
    report(made > 10 && failed > 40, "%s: %d sessions, in which %d calls failed", w->name, made, failed);
}

int main(int argc, char **argv)
{
    static const struct walk walks[] = {
        {.name = "sums, targets travel", .run = sums_session, .way = SAPPORO_MPI_WAY_TARGETS},
        {.name = "sums, sources travel", .run = sums_session, .way = SAPPORO_MPI_WAY_SOURCES},
        {.name = "trees", .run = tree_session, .tolerance = 1e-2},
        {.name = "steppers, trees", .run = stepper_session, .method = SAPPORO_STEP_TREE, .tolerance = 1e-3},
        {.name = "steppers, direct sums", .run = stepper_session, .method = SAPPORO_STEP_DIRECT},
        {.name = "steppers, a Hermite scheme", .run = stepper_session, .scheme = SAPPORO_STEPS_HERMITE4},
    };
    ranks_begin(&argc, &argv);
    const char *const folder = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/walk", folder ? folder : "/tmp");
    source = points_new(N);
    for (size_t k = 0; k < sizeof walks / sizeof *walks; k++) walk(&walks[k], argc > 1);
    free(source);
    return ranks_end();
}
