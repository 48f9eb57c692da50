/*
 * tree_errors.c - trees over ranks: what fails on one rank fails on all, with the rank named, and the next call works.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { N = 300 };

static struct point *source;

/* The rank on which tests fail: not the first, if there are several. */
static int guilty(void) { return ranks - 1; }

static int is_guilty(void) { return rank == guilty(); }

/* 1 if the last error of the tree names the guilty rank. */
static int names_rank(const sapporo_mpi_tree *t)
{
    char word[32];
    (void)snprintf(word, sizeof word, "rank %d", guilty());
    return strstr(sapporo_mpi_tree_last_error(t), word) != NULL;
}

static sapporo_tree_options plain(void)
{
    return (sapporo_tree_options){
        .size = sizeof(sapporo_tree_options), .backend = tested_backend(), .threads = 1, .eps2 = 1e-4};
}

/* ----------------------------------------------------------------- creation */

/* Creates with options that are wrong on one rank; every rank must get `expected`, with `word` in the error. */
static void test_create(const char *what, int expected, const char *word, sapporo_tree_options tree,
                        sapporo_mpi_tree_options options)
{
    const sapporo_tree_options good = plain();
    sapporo_mpi_tree *t = (sapporo_mpi_tree *)&options;
    options.size = options.size ? options.size : sizeof options;
    options.tree = is_guilty() ? &tree : &good;
    options.timeout = is_guilty() && options.timeout != 0 ? options.timeout : 30;
    if (!is_guilty()) options.transport = SAPPORO_MPI_TRANSPORT_AUTO;
    const int status = sapporo_mpi_tree_create(MPI_COMM_WORLD, &options, &t);
    report(status == expected && !t && strstr(sapporo_mpi_tree_last_error(NULL), word) && names_rank(NULL),
           "create, %s: %d, %s", what, status, sapporo_mpi_tree_last_error(NULL));
}

/* Options that differ between ranks. */
static void test_differences(void)
{
    const sapporo_mpi_tree_options none = {0};
    const struct {
        const char *word;
        sapporo_tree_options tree;
    } all[] = {{"kind", {.kind = SAPPORO_TREE_KDTREE}},
               {"mac", {.mac = SAPPORO_MAC_MULTIPOLE, .accuracy = 0.01}},
               {"accuracy", {.mac = SAPPORO_MAC_ACCELERATION, .accuracy = 0.5}},
               {"order", {.order = 1}},
               {"eps2", {.eps2 = 2}},
               {"leaf_size", {.leaf_size = 5}},
               {"group_size", {.group_size = 5}},
               {"precision", {.precision = SAPPORO_DP}},
               {"softening", {.softening = SAPPORO_SOFTENING_SPLINE_MEAN}}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        sapporo_tree_options other = all[k].tree;
        other.size = sizeof other;
        other.backend = tested_backend();
        other.threads = 1;
        if (other.eps2 == 0) other.eps2 = plain().eps2;
        test_create(all[k].word, SAPPORO_MPI_ERR_DIFFERENT, all[k].word, other, none);
    }
    test_create("another timeout", SAPPORO_MPI_ERR_DIFFERENT, "timeout", plain(),
                (sapporo_mpi_tree_options){.timeout = 20});
    test_create("another transport", SAPPORO_MPI_ERR_DIFFERENT, "transport", plain(),
                (sapporo_mpi_tree_options){.transport = SAPPORO_MPI_TRANSPORT_HOST});
}

/* 1 if scalar is the only instruction path of this machine or build. */
static int is_scalar(void)
{
    const sapporo_tree_options o = plain();
    sapporo_tree *t;
    const int scalar = sapporo_tree_create(&o, 1, &t) || strstr(sapporo_tree_kind_text(t), "scalar");
    sapporo_tree_destroy(t);
    return scalar;
}

static void test_creation(void)
{
    const sapporo_mpi_tree_options none = {0};
    sapporo_tree_options other = plain();
    if (ranks > 1) test_differences();
    other.cpu_isa = "scalar"; /* the others use the widest path */
    if (ranks > 1 && tested_backend() == SAPPORO_BACKEND_CPU && !is_scalar())
        test_create("another kind of engine", SAPPORO_MPI_ERR_DIFFERENT, "kind", other, none);
    other.cpu_isa = "abacus";
    test_create("a path that does not exist", SAPPORO_ERR_ARGUMENT, "abacus", other, none);
    other.cpu_isa = "a path whose name is far too long to be one";
    test_create("a path with a long name", SAPPORO_ERR_ARGUMENT, "cpu_isa", other, none);
    other = plain();
    other.accuracy = -1;
    test_create("an accuracy below 0", SAPPORO_ERR_ARGUMENT, "accuracy", other, none);
    other = plain();
    other.experiments = 1;
    test_create("experiments", SAPPORO_ERR_UNSUPPORTED, "experiments", other, none);
    other = plain();
    other.size = 3;
    test_create("options without a size", SAPPORO_ERR_ARGUMENT, "size", other, none);
    test_create("a timeout below 0", SAPPORO_ERR_ARGUMENT, "timeout", plain(),
                (sapporo_mpi_tree_options){.timeout = -1});
    test_create("an unknown transport", SAPPORO_ERR_ARGUMENT, "transport is 4: it must be 0 to 3", plain(),
                (sapporo_mpi_tree_options){.transport = (sapporo_mpi_transport)4});
    sapporo_mpi_tree *t = (sapporo_mpi_tree *)&other;
    const int null = sapporo_mpi_tree_create(MPI_COMM_NULL, NULL, &t);
    report(null == SAPPORO_ERR_ARGUMENT && !t &&
               sapporo_mpi_tree_create(MPI_COMM_WORLD, NULL, NULL) == SAPPORO_ERR_ARGUMENT,
           "no communicator, no handle");
}

/* ------------------------------------------------------------ build, force */

/* The particles of this rank, in turn. */
static sapporo_tree_particles columns(void)
{
    const ptrdiff_t stride = ranks * (ptrdiff_t)sizeof *source;
    return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                    .n = (N - rank + ranks - 1) / ranks,
                                    .x = {source[rank].derivative[0], stride},
                                    .mass = {&source[rank].mass, stride}};
}

static double acc[N + 1][3], pot[N + 1];

/* 1 if all n rows are numbers; 0 if all are NaN; -1: neither. */
static int rows_are(int n)
{
    int numbers = 0;
    for (int i = 0; i < n; i++) numbers += isfinite(acc[i][0]) && isfinite(acc[i][2]) && isfinite(pot[i]);
    return numbers == n ? 1 : numbers == 0 ? 0 : -1;
}

static int works(sapporo_mpi_tree *t)
{
    const sapporo_tree_particles good = columns();
    return sapporo_mpi_tree_build(t, &good) == SAPPORO_OK && sapporo_mpi_tree_force(t, acc, pot) == SAPPORO_OK &&
           rows_are(good.n) == 1;
}

/* Builds with particles that are wrong on one rank; there is no tree after that, until the next build. */
static void test_build(sapporo_mpi_tree *t, const char *what, int expected, const char *word,
                       sapporo_tree_particles wrong)
{
    const sapporo_tree_particles good = columns();
    const int status = sapporo_mpi_tree_build(t, is_guilty() ? &wrong : &good);
    const int says = strstr(sapporo_mpi_tree_last_error(t), word) && names_rank(t);
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    int none = sapporo_mpi_tree_get_statistics(t, &s) == SAPPORO_OK && s.n == 0 && s.total == 0;
    none &= sapporo_mpi_tree_force(t, acc, pot) == SAPPORO_ERR_ARGUMENT && rows_are(good.n) == 0;
    report(status == expected && says && none && works(t), "build, %s: %d", what, status);
}

static void test_builds(sapporo_mpi_tree *t)
{
    static double x[N][3], mass[N], a[N];
    const sapporo_tree_particles mine = columns();
    const int last = mine.n - 1;
    sapporo_tree_particles wrong = mine;
    for (int i = 0; i < mine.n; i++) {
        memcpy(x[i], source[rank + i * ranks].derivative[0], sizeof x[i]);
        mass[i] = source[rank + i * ranks].mass;
    }
    wrong.x = (sapporo_column){x, 0};
    x[last][0] = NAN;
    test_build(t, "a position of NaN", SAPPORO_ERR_NOT_FINITE, "position", wrong);
    x[last][0] = 1e101;
    test_build(t, "a position beyond 1e100", SAPPORO_ERR_NOT_FINITE, "position", wrong);
    x[last][0] = 0;
    wrong.mass = (sapporo_column){mass, 0};
    mass[last] = INFINITY;
    test_build(t, "an infinite mass", SAPPORO_ERR_NOT_FINITE, "mass", wrong);
    wrong = mine;
    wrong.a = (sapporo_column){a, 0};
    a[last] = INFINITY;
    test_build(t, "an infinite acceleration", SAPPORO_ERR_NOT_FINITE, "acceleration", wrong);
    wrong = mine;
    wrong.mass.base = NULL;
    test_build(t, "no masses", SAPPORO_ERR_ARGUMENT, "masses", wrong);
    wrong = columns();
    wrong.n = -1;
    test_build(t, "-1 particles", SAPPORO_ERR_ARGUMENT, "-1", wrong);
    wrong = columns();
    wrong.size = 0;
    test_build(t, "no size", SAPPORO_ERR_ARGUMENT, "size", wrong);
    wrong = columns();
    wrong.memory = SAPPORO_MEMORY_DEVICE;
    test_build(t, "device memory", SAPPORO_ERR_UNSUPPORTED, "host memory", wrong);
    wrong = mine;
    wrong.x = (sapporo_column){x, 0};
    wrong.mass = (sapporo_column){mass, 0};
    x[last][0] = 1e100;
    mass[last] = 1e300;
    /* all ranks find it, so the first one is named */
    const sapporo_tree_particles good = columns();
    const int status = sapporo_mpi_tree_build(t, is_guilty() ? &wrong : &good);
    report(status == SAPPORO_ERR_NOT_FINITE && strstr(sapporo_mpi_tree_last_error(t), "beyond") && works(t),
           "build, masses beyond moments in double: %s", sapporo_mpi_tree_last_error(t));
}

/* Refreshes with particles that are wrong on one rank; the tree stays. */
static void test_refresh(sapporo_mpi_tree *t, const char *what, int expected, const char *word,
                         sapporo_tree_particles wrong)
{
    const sapporo_tree_particles good = columns();
    const int worked = works(t), status = sapporo_mpi_tree_refresh(t, is_guilty() ? &wrong : &good);
    const int says = strstr(sapporo_mpi_tree_last_error(t), word) && names_rank(t);
    int stays = sapporo_mpi_tree_force(t, acc, pot) == SAPPORO_OK && rows_are(good.n) == 1;
    stays &= sapporo_mpi_tree_refresh(t, &good) == SAPPORO_OK && sapporo_mpi_tree_force(t, acc, pot) == SAPPORO_OK;
    report(worked && status == expected && says && stays, "refresh, %s: %d, %s", what, status,
           sapporo_mpi_tree_last_error(t));
}

static void test_refreshes(sapporo_mpi_tree *t)
{
    static double x[N][3];
    sapporo_tree_particles wrong = columns();
    for (int i = 0; i < wrong.n; i++) memcpy(x[i], source[rank + i * ranks].derivative[0], sizeof x[i]);
    wrong.x = (sapporo_column){x, 0};
    x[wrong.n / 2][2] = NAN;
    test_refresh(t, "a position of NaN", SAPPORO_ERR_NOT_FINITE, "position", wrong);
    wrong = columns();
    wrong.n--;
    test_refresh(t, "another number of particles", SAPPORO_ERR_ARGUMENT, "particles", wrong);
    wrong = columns();
    wrong.mass.base = NULL;
    test_refresh(t, "no masses", SAPPORO_ERR_ARGUMENT, "masses", wrong);
    wrong = columns();
    wrong.size = 0;
    test_refresh(t, "no size", SAPPORO_ERR_ARGUMENT, "size", wrong);
    int built = 7;
    const sapporo_tree_particles good = columns();
    int status = sapporo_mpi_tree_refresh_or_build(t, &good, is_guilty() ? 0.5 : 0, &built);
    report(status == SAPPORO_ERR_ARGUMENT && built == 0 && strstr(sapporo_mpi_tree_last_error(t), "factor") &&
               names_rank(t),
           "refresh or build, a factor below 1: %d", status);
    status = sapporo_mpi_tree_refresh_or_build(t, &good, is_guilty() ? 2 : 0, &built);
    report(status == (ranks > 1 ? SAPPORO_MPI_ERR_DIFFERENT : SAPPORO_OK), "refresh or build, another factor: %d",
           status);
}

/* Softening lengths that are wrong on one rank; the next build works. */
static void test_lengths(sapporo_softening softening)
{
    static double h[N];
    const double bad[] = {-1, NAN, 1e101};
    sapporo_tree_options o = plain();
    o.softening = softening;
    const sapporo_mpi_tree_options options = {.size = sizeof options, .tree = &o, .timeout = 60};
    sapporo_mpi_tree *t;
    int wrong = sapporo_mpi_tree_create(MPI_COMM_WORLD, &options, &t);
    sapporo_tree_particles p = columns();
    p.h = (sapporo_column){h, 0};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        h[p.n - 1] = is_guilty() ? bad[k] : 0.1;
        wrong |= sapporo_mpi_tree_build(t, &p) != SAPPORO_ERR_NOT_FINITE ||
                 !strstr(sapporo_mpi_tree_last_error(t), "h of particle");
        wrong |= !names_rank(t) || !works(t);
    }
    report(!wrong, "softening lengths that are none: %s", sapporo_mpi_tree_last_error(t));
    sapporo_mpi_tree_destroy(t);
}

/* Forces on active particles that are wrong on one rank; the next force works. */
static void test_active(sapporo_mpi_tree *t)
{
    const int n = columns().n, good[] = {0, n - 1}, large[] = {0, n}, negative[] = {-1, 0};
    const struct {
        const char *what;
        int ni;
        const int *active;
    } wrong[] = {{"active[1]", 2, large},
                 {"active[0] is -1", 2, negative},
                 {"-5 active", -5, good},
                 {"active particles", n + 1, NULL}};
    int bad = !works(t);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const int ni = is_guilty() ? wrong[k].ni : 2;
        const int status = sapporo_mpi_tree_force_active(t, ni, is_guilty() ? wrong[k].active : good, acc, pot);
        bad |= status != SAPPORO_ERR_ARGUMENT || rows_are(ni > 0 ? ni : 0) != (ni > 0 ? 0 : 1);
        bad |= !strstr(sapporo_mpi_tree_last_error(t), wrong[k].what) || !names_rank(t);
    }
    bad |= sapporo_mpi_tree_force_active(t, 2, good, acc, pot) || rows_are(2) != 1;
    report(!bad, "active particles that do not exist: %s", sapporo_mpi_tree_last_error(t));
}

/* Requests that are wrong on one rank. */
static void test_requests(sapporo_mpi_tree *t)
{
    const int n = columns().n, active[] = {n - 1, 0};
    const double place[2][3] = {{0}};
    const sapporo_tree_request good = {.size = sizeof good, .ni = 2, .active = active};
    sapporo_tree_request places = good, none = good, fewer = good, memory = good;
    places.x.base = place;
    none.size = 0;
    fewer.ni = -3;
    memory.memory = (sapporo_memory)7;
    const struct {
        const char *what;
        int expected, rows;
        const sapporo_tree_request *request;
    } wrong[] = {{"positions", SAPPORO_ERR_UNSUPPORTED, 2, &places},
                 {"size", SAPPORO_ERR_ARGUMENT, 0, &none},
                 {"negative", SAPPORO_ERR_ARGUMENT, 0, &fewer},
                 {"memory", SAPPORO_ERR_ARGUMENT, 0, &memory},
                 {"no request", SAPPORO_ERR_ARGUMENT, 0, NULL}};
    double right[2][3];
    int bad = !works(t);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const int rows = is_guilty() ? wrong[k].rows : 2;
        const int status = sapporo_mpi_tree_force_request(t, is_guilty() ? wrong[k].request : &good, acc, pot);
        bad |= status != wrong[k].expected || rows_are(rows) != (rows > 0 ? 0 : 1);
        bad |= !strstr(sapporo_mpi_tree_last_error(t), wrong[k].what) || !names_rank(t);
    }
    bad |= sapporo_mpi_tree_force_active(t, 2, active, acc, pot) || rows_are(2) != 1;
    memcpy(right, acc, sizeof right);
    bad |= sapporo_mpi_tree_force_request(t, &good, acc, pot) || memcmp(right, acc, sizeof right) != 0;
    report(!bad, "requests that are wrong: %s", sapporo_mpi_tree_last_error(t));
}

/* Exchanges with arguments that are wrong on one rank; nothing changes. */
static void test_exchanges(sapporo_mpi_tree *t)
{
    static double before[N + 1][3], from[N][3], to[N][3];
    const int n = columns().n;
    int needed = -1, bad = !works(t) || sapporo_mpi_tree_force(t, before, NULL); /* by the accelerations of the first */
    const struct {
        const char *word;
        int expected;
        size_t bytes;
        const void *from;
        int room;
        void *to;
    } wrong[] = {{"bytes differs", SAPPORO_MPI_ERR_DIFFERENT, 23, from, N, to},
                 {"records of 0 bytes", SAPPORO_ERR_ARGUMENT, 0, from, N, to},
                 {"records of 1048577 bytes", SAPPORO_ERR_ARGUMENT, (1 << 20) + 1, from, N, to},
                 {"missing", SAPPORO_ERR_ARGUMENT, sizeof *from, NULL, N, to},
                 {"missing", SAPPORO_ERR_ARGUMENT, sizeof *from, from, N, NULL},
                 {"room for 1 records", SAPPORO_ERR_ARGUMENT, sizeof *from, from, 1, to},
                 {"room for -1 records", SAPPORO_ERR_ARGUMENT, sizeof *from, from, -1, to}};
    for (int i = 0; i < n; i++) memcpy(from[i], source[rank + i * ranks].derivative[0], sizeof *from);
    for (size_t k = ranks == 1; k < sizeof wrong / sizeof *wrong; k++) {
        const int here = is_guilty(),
                  status =
                      sapporo_mpi_tree_exchange(t, here ? wrong[k].bytes : sizeof *from, here ? wrong[k].from : from,
                                                here ? wrong[k].room : N, here ? wrong[k].to : to, &needed);
        sapporo_mpi_tree_statistics s = {.size = sizeof s};
        bad |= status != wrong[k].expected || !strstr(sapporo_mpi_tree_last_error(t), wrong[k].word) || !names_rank(t);
        bad |= sapporo_mpi_tree_get_statistics(t, &s) || needed != s.n || s.given != n;
        bad |= sapporo_mpi_tree_force(t, acc, NULL) || memcmp(acc, before, (size_t)n * sizeof *acc) != 0;
    }
    report(!bad, "exchanges that are wrong on one rank change nothing: %s", sapporo_mpi_tree_last_error(t));
    bad = sapporo_mpi_tree_exchange(t, sizeof *from, from, needed, to, NULL);
    const sapporo_tree_particles other = {
        .size = sizeof other, .n = needed, .x = {to, 0}, .mass = {&source[0].mass, sizeof *source}};
    const sapporo_tree_particles fewer = {
        .size = sizeof fewer, .n = needed - is_guilty(), .x = {to, 0}, .mass = {&source[0].mass, sizeof *source}};
    bad |= sapporo_mpi_tree_refresh(t, &fewer) != SAPPORO_ERR_ARGUMENT || sapporo_mpi_tree_refresh(t, &other);
    bad |= sapporo_mpi_tree_force(t, acc, pot) || rows_are(needed) != 1;
    report(!bad, "an exchange after them, and a refresh of its particles: %s", sapporo_mpi_tree_last_error(t));
}

static void test_before(void)
{
    const sapporo_tree_options o = plain();
    const sapporo_mpi_tree_options options = {.size = sizeof options, .tree = &o, .timeout = 60};
    sapporo_mpi_tree *t;
    const int created = sapporo_mpi_tree_create(MPI_COMM_WORLD, &options, &t);
    report(!created && sapporo_mpi_tree_force(t, acc, pot) == SAPPORO_ERR_ARGUMENT &&
               strstr(sapporo_mpi_tree_last_error(t), "build"),
           "a force before a build: %s", sapporo_mpi_tree_last_error(t));
    const sapporo_tree_particles first = columns();
    report(sapporo_mpi_tree_refresh(t, &first) == SAPPORO_ERR_ARGUMENT &&
               strstr(sapporo_mpi_tree_last_error(t), "build") &&
               sapporo_mpi_tree_force_active(t, 1, NULL, acc, pot) == SAPPORO_ERR_ARGUMENT && rows_are(1) == 0,
           "a refresh before a build: %s", sapporo_mpi_tree_last_error(t));
    int n = 7;
    report(sapporo_mpi_tree_exchange(t, 8, acc, N, pot, &n) == SAPPORO_ERR_ARGUMENT && n == 0 &&
               strstr(sapporo_mpi_tree_last_error(t), "build"),
           "an exchange before a build: %s", sapporo_mpi_tree_last_error(t));
    report(works(t) && strstr(sapporo_mpi_tree_kind_text(t), "octree"), "build and force: %s",
           sapporo_mpi_tree_kind_text(t));
    test_builds(t);
    test_refreshes(t);
    test_active(t);
    test_requests(t);
    test_exchanges(t);
    sapporo_mpi_tree_destroy(t);
    const sapporo_tree_particles good = columns();
    sapporo_mpi_tree_statistics s = {.size = sizeof s, .n = 7};
    int bad = sapporo_mpi_tree_build(t, &good) != SAPPORO_ERR_CLOSED || sapporo_mpi_tree_kind_text(t)[0];
    bad |= sapporo_mpi_tree_force(t, acc, pot) != SAPPORO_ERR_CLOSED;
    bad |= sapporo_mpi_tree_force_active(t, 1, NULL, acc, pot) != SAPPORO_ERR_CLOSED || rows_are(1) != 0;
    bad |= sapporo_mpi_tree_force_request(t, NULL, acc, pot) != SAPPORO_ERR_CLOSED;
    bad |= sapporo_mpi_tree_refresh(t, &good) != SAPPORO_ERR_CLOSED;
    bad |= sapporo_mpi_tree_refresh_or_build(t, &good, 0, NULL) != SAPPORO_ERR_CLOSED;
    bad |= sapporo_mpi_tree_exchange(t, 8, acc, N, pot, &n) != SAPPORO_ERR_CLOSED || n != 0;
    bad |= sapporo_mpi_tree_get_statistics(t, &s) != SAPPORO_ERR_CLOSED || s.n != 0;
    bad |= sapporo_mpi_tree_get_statistics(t, NULL) != SAPPORO_ERR_ARGUMENT;
    bad |= sapporo_mpi_tree_build(NULL, &good) != SAPPORO_ERR_CLOSED;
    sapporo_mpi_tree_destroy(t);
    sapporo_mpi_tree_destroy(NULL);
    report(!bad, "a destroyed tree stays destroyed: %s", sapporo_mpi_tree_last_error(t));
}

/* One rank does not come: the others give up, and so does the late rank. */
static void test_timeout(void)
{
    const sapporo_tree_options o = plain();
    const sapporo_mpi_tree_options options = {.size = sizeof options, .tree = &o, .timeout = 2};
    sapporo_mpi_tree *t;
    int status = sapporo_mpi_tree_create(MPI_COMM_WORLD, &options, &t), later = SAPPORO_MPI_ERR_TIMEOUT;
    const int worked = works(t);
    if (!is_guilty()) {
        status |= sapporo_mpi_tree_force(t, acc, pot) != SAPPORO_MPI_ERR_TIMEOUT || rows_are(columns().n) != 0;
        later = sapporo_mpi_tree_exchange(t, 8, acc, N, pot, NULL);
    }
    report(status == SAPPORO_OK && worked && later == SAPPORO_MPI_ERR_TIMEOUT, "a rank that does not come: %s",
           sapporo_mpi_tree_last_error(t));
    if (is_guilty()) status = sapporo_mpi_tree_force(t, acc, pot);
    report(!is_guilty() || (status == SAPPORO_MPI_ERR_TIMEOUT && rows_are(columns().n) == 0),
           "the late rank gives up, too: %d", status);
    sapporo_mpi_tree_destroy(t);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    source = points_new(N);
    test_creation();
    test_before();
    test_lengths(SAPPORO_SOFTENING_PLUMMER);
    test_lengths(SAPPORO_SOFTENING_SPLINE_LARGER);
    if (ranks > 1) test_timeout();
    free(source);
    return ranks_end();
}
