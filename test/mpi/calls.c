/*
 * calls.c - ranks that make different collective calls: all of them get an error that names both calls, nothing is
 * changed, and the next calls work, for all pairs of calls on an object.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { N = 60, CALLS_MOST = 10 };

static struct point *source;
static char path[512];

/* The objects under test, and the results of calls. */
static struct {
    sapporo_mpi *sums;
    sapporo_mpi_job *job;
    sapporo_mpi_tree *tree;
    sapporo_mpi_stepper *stepper;
    double acc[N][3], pot[N];
    sapporo_stepper_totals totals;
} all;

static int mine(void) { return (N - rank + ranks - 1) / ranks; }

static sapporo_tree_options tree_options(void)
{
    return (sapporo_tree_options){
        .size = sizeof(sapporo_tree_options), .eps2 = 1e-2, .backend = SAPPORO_BACKEND_CPU, .threads = 1};
}

/* ---------------------------------------------------------------- the calls */

static int set_particles(void)
{
    sapporo_particles columns = points_columns(source + rank);
    int address[N];
    for (int k = 0; k < mine(); k++) address[k] = rank + ranks * k;
    columns.derivative[0].stride *= ranks;
    for (int d = 1; d < SAPPORO_DERIVATIVES; d++) columns.derivative[d].base = NULL;
    columns.mass.stride *= ranks;
    columns.time.base = columns.eps2.base = columns.index.base = NULL;
    return sapporo_mpi_set_particles(all.sums, mine(), address, &columns);
}

static int clear_particles(void) { return sapporo_mpi_clear_particles(all.sums); }

static int begin(void)
{
    const sapporo_request r = points_request(source + rank, mine(), N);
    sapporo_mpi_job *job = NULL;
    return sapporo_mpi_force_begin(all.sums, &r, all.job ? &job : &all.job);
}

static int end(void)
{
    const sapporo_result r = {.size = sizeof r, .acc = all.acc, .pot = all.pot};
    return sapporo_mpi_force_end(all.job, mine(), &r);
}

static sapporo_tree_particles tree_columns(void)
{
    const ptrdiff_t stride = ranks * (ptrdiff_t)sizeof *source;
    return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                    .n = mine(),
                                    .x = {source[rank].derivative[0], stride},
                                    .mass = {&source[rank].mass, stride}};
}

static int build(void)
{
    const sapporo_tree_particles p = tree_columns();
    return sapporo_mpi_tree_build(all.tree, &p);
}

static int refresh(void)
{
    const sapporo_tree_particles p = tree_columns();
    return sapporo_mpi_tree_refresh(all.tree, &p);
}

static int refresh_or_build(void)
{
    const sapporo_tree_particles p = tree_columns();
    return sapporo_mpi_tree_refresh_or_build(all.tree, &p, 0, NULL);
}

static int tree_force(void) { return sapporo_mpi_tree_force(all.tree, all.acc, all.pot); }
static int tree_force_active(void) { return sapporo_mpi_tree_force_active(all.tree, 3, NULL, all.acc, all.pot); }

static int tree_exchange(void)
{
    int from[N] = {0}, to[N];
    return sapporo_mpi_tree_exchange(all.tree, sizeof *from, from, N, to, NULL);
}

static int set_stepper(void)
{
    const ptrdiff_t stride = ranks * (ptrdiff_t)sizeof *source;
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = mine(),
                                         .x = {source[rank].derivative[0], stride},
                                         .v = {source[rank].derivative[1], stride},
                                         .mass = {&source[rank].mass, stride}};
    return sapporo_mpi_stepper_set(all.stepper, &p);
}

/* Adds no particles, and removes none. */
static int add(void)
{
    const sapporo_stepper_particles p = {.size = sizeof p, .time = sapporo_mpi_stepper_get_time(all.stepper)};
    return sapporo_mpi_stepper_add(all.stepper, &p);
}

static int take_away(void) { return sapporo_mpi_stepper_remove(all.stepper, 0, NULL); }

static int advance(void) { return sapporo_mpi_stepper_advance(all.stepper, 1, 1); }
static int energy(void) { return sapporo_mpi_stepper_energy(all.stepper, &all.totals); }
static int potentials(void) { return sapporo_mpi_stepper_get_potentials(all.stepper, mine(), all.pot); }

/* Leap-frogs have no pairs, which is an error that comes after that of different calls. */
static int pairs(void)
{
    sapporo_stepper_pairs p = {.size = sizeof p};
    return sapporo_mpi_stepper_get_pairs(all.stepper, &p);
}

static int exchange(void) { return sapporo_mpi_stepper_exchange(all.stepper); }
static int save(void) { return sapporo_mpi_stepper_save(all.stepper, path); }
static int restore(void) { return sapporo_mpi_stepper_restore(all.stepper, path); }

static int open_sums(void)
{
    const sapporo_options context = one_thread(2, SAPPORO_DP);
    const sapporo_mpi_options o = {
        .size = sizeof o, .context = &context, .timeout = 20, .way = SAPPORO_MPI_WAY_TARGETS};
    return sapporo_mpi_open(MPI_COMM_WORLD, &o, &all.sums);
}

static int create_tree(void)
{
    const sapporo_tree_options tree = tree_options();
    const sapporo_mpi_tree_options o = {.size = sizeof o, .tree = &tree, .timeout = 20};
    return sapporo_mpi_tree_create(MPI_COMM_WORLD, &o, &all.tree);
}

static int create_stepper(void)
{
    const sapporo_tree_options tree = tree_options();
    const sapporo_stepper_options s = {.size = sizeof s, .tree = &tree, .scheme = SAPPORO_STEPS_BLOCK, .dt = 0x1p-5};
    const sapporo_mpi_stepper_options o = {.size = sizeof o, .stepper = &s, .timeout = 20};
    return sapporo_mpi_stepper_create(MPI_COMM_WORLD, &o, N, &all.stepper);
}

/* ------------------------------------------------------------- kinds of objects */

struct call {
    const char *name;
    int (*make)(void);
    int writes; /* 1: forces, 2: totals */
};

struct kind {
    const char *name;
    const char *(*error)(void);
    void (*prepare)(void); /* before calls that differ; NULL: nothing */
    int (*works)(void);    /* 1: the object still works */
    struct call call[CALLS_MOST];
};

static const char *sums_error(void) { return sapporo_mpi_last_error(all.sums); }
static const char *tree_error(void) { return sapporo_mpi_tree_last_error(all.tree); }
static const char *stepper_error(void) { return sapporo_mpi_stepper_last_error(all.stepper); }

/* The error of the creation that this rank tried. */
static const char *creation_error(void)
{
    static char text[1000];
    (void)snprintf(text, sizeof text, "%s%s%s", sapporo_mpi_last_error(NULL), sapporo_mpi_tree_last_error(NULL),
                   sapporo_mpi_stepper_last_error(NULL));
    return text;
}

static void prepare_sums(void)
{
    sapporo_mpi_force_free(all.job);
    all.job = NULL;
    (void)begin();
}

static int sums_work(void)
{
    const int found = !end() && isfinite(all.pot[0]); /* particles were not changed meanwhile */
    sapporo_mpi_force_free(all.job);
    all.job = NULL;
    return found && !begin();
}

/* A new tree, with a force, and positions of a call before: the next call decides from them what it does. */
static void prepare_tree(void)
{
    sapporo_mpi_tree_destroy(all.tree);
    all.tree = NULL;
    (void)create_tree();
    (void)refresh_or_build();
    (void)tree_force();
}

/* First a call that decides by itself whether it builds: all ranks decide alike, whatever each had begun. */
static int tree_works(void)
{
    return !refresh_or_build() && !tree_force() && !build() && !tree_force() && isfinite(all.pot[0]);
}

static int stepper_works(void) { return !advance() && !energy() && isfinite(all.totals.potential); }

static int creations_work(void)
{
    const int made = !all.sums && !all.tree && !all.stepper && !open_sums() && !create_tree() && !create_stepper();
    sapporo_mpi_close(all.sums);
    sapporo_mpi_tree_destroy(all.tree);
    sapporo_mpi_stepper_destroy(all.stepper);
    all.sums = NULL, all.tree = NULL, all.stepper = NULL;
    return made;
}

static const struct kind kinds[] = {
    {"creations",
     creation_error,
     NULL,
     creations_work,
     {{"sapporo_mpi_open", open_sums, 0},
      {"sapporo_mpi_tree_create", create_tree, 0},
      {"sapporo_mpi_stepper_create", create_stepper, 0}}},
    {"sums",
     sums_error,
     prepare_sums,
     sums_work,
     {{"sapporo_mpi_set_particles", set_particles, 0},
      {"sapporo_mpi_clear_particles", clear_particles, 0},
      {"sapporo_mpi_force_begin", begin, 0},
      {"sapporo_mpi_force_end", end, 1}}},
    {"trees",
     tree_error,
     prepare_tree,
     tree_works,
     {{"sapporo_mpi_tree_build", build, 0},
      {"sapporo_mpi_tree_refresh", refresh, 0},
      {"sapporo_mpi_tree_refresh_or_build", refresh_or_build, 0},
      {"sapporo_mpi_tree_force", tree_force, 1},
      {"sapporo_mpi_tree_force_active", tree_force_active, 1},
      {"sapporo_mpi_tree_exchange", tree_exchange, 0}}},
    {"steppers",
     stepper_error,
     NULL,
     stepper_works,
     {{"sapporo_mpi_stepper_set", set_stepper, 0},
      {"sapporo_mpi_stepper_add", add, 0},
      {"sapporo_mpi_stepper_remove", take_away, 0},
      {"sapporo_mpi_stepper_advance", advance, 0},
      {"sapporo_mpi_stepper_energy", energy, 2},
      {"sapporo_mpi_stepper_get_potentials", potentials, 3},
      {"sapporo_mpi_stepper_get_pairs", pairs, 0},
      {"sapporo_mpi_stepper_exchange", exchange, 0},
      {"sapporo_mpi_stepper_save", save, 0},
      {"sapporo_mpi_stepper_restore", restore, 0}}},
};

/* -------------------------------------------------------------------- tests */

static void make_stale(void)
{
    all.pot[0] = all.acc[0][0] = 77;
    all.totals = (sapporo_stepper_totals){.size = sizeof all.totals, .potential = 77};
}

/* Whether a text has a word, with no letter of a longer name behind it. */
static int has_name(const char *text, const char *name)
{
    const char *const at = strstr(text, name);
    return at && (at[strlen(name)] != '_' || has_name(at + 1, name));
}

/* The last rank makes one call, the others another. */
static int differ(const struct kind *k, const struct call *a, const struct call *b)
{
    const struct call *const own = rank == ranks - 1 ? b : a;
    make_stale();
    const int status = own->make();
    const char *const text = k->error();
    int good = status == SAPPORO_MPI_ERR_DIFFERENT && has_name(text, a->name) && has_name(text, b->name);
    if (own->writes == 1) good &= isnan(all.pot[0]) && isnan(all.acc[0][0]);
    if (own->writes == 3) good &= isnan(all.pot[0]);
    if (own->writes == 2) good &= isnan(all.totals.potential);
    if (!good) fprintf(stderr, "# rank %d: %s, %s: %d, '%s'\n", rank, a->name, b->name, status, text);
    return good;
}

static void test_pairs(const struct kind *k)
{
    int bad = 0, pairs = 0;
    for (int a = 0; a < CALLS_MOST && k->call[a].make; a++)
        for (int b = 0; b < CALLS_MOST && k->call[b].make; b++) {
            if (a == b) continue;
            if (k->prepare) k->prepare();
            bad |= !differ(k, &k->call[a], &k->call[b]) || !k->works();
            pairs++;
        }
    report(!bad, "%s: %d pairs of different calls", k->name, pairs);
}

/* A rank closes while the others make another call: no rank waits, and the others can close as well. */
static void test_closing(void)
{
    const int closes = rank == ranks - 1, different = SAPPORO_MPI_ERR_DIFFERENT;
    int sums = different, sums_again = different, tree = different, stepper = different;
    if (!closes) sums = set_particles(), sums_again = set_particles(), tree = tree_force(), stepper = advance();
    const int named =
        closes || (has_name(sums_error(), "sapporo_mpi_close") && has_name(tree_error(), "sapporo_mpi_tree_destroy") &&
                   has_name(stepper_error(), "sapporo_mpi_stepper_destroy"));
    sapporo_mpi_close(all.sums);
    sapporo_mpi_tree_destroy(all.tree);
    sapporo_mpi_stepper_destroy(all.stepper);
    report(sums == different && sums_again == different && tree == different && stepper == different && named,
           "a rank that closes: %d %d %d %d", sums, sums_again, tree, stepper);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    const char *const folder = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/calls", folder ? folder : "/tmp");
    source = points_new(N);
    test_pairs(&kinds[0]);
    const int bad =
        open_sums() || set_particles() || create_tree() || build() || create_stepper() || set_stepper() || save();
    report(!bad, "objects of three kinds");
    for (size_t k = 1; k < sizeof kinds / sizeof *kinds; k++) test_pairs(&kinds[k]);
    test_closing();
    free(source);
    return ranks_end();
}
