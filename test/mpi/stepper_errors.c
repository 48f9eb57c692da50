/*
 * stepper_errors.c - steppers over ranks: what fails on one rank fails on all, with the rank named; the particles of
 * all ranks are then those of the last complete step, and the next call works.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/saving.h"
#include "mpi/stepper_saved.h"
#include "ranks.h"

enum { N = 120 };

static struct point *source;
static double x[N][3], v[N][3], mass[N];

/* The rank on which tests fail: not the first, if there are several. */
static int is_guilty(void) { return rank == ranks - 1; }

/* 1 if the last error names the guilty rank. */
static int names_rank(const sapporo_mpi_stepper *s)
{
    char word[32];
    (void)snprintf(word, sizeof word, "rank %d", ranks - 1);
    return strstr(sapporo_mpi_stepper_last_error(s), word) != NULL;
}

static sapporo_tree_options tree_options(void)
{
    return (sapporo_tree_options){.size = sizeof(sapporo_tree_options),
                                  .mac = SAPPORO_MAC_OPENING,
                                  .precision = SAPPORO_DP,
                                  .backend = tested_backend(),
                                  .threads = 1,
                                  .eps2 = 1e-2};
}

static sapporo_stepper_options plain(const sapporo_tree_options *tree, sapporo_step_method method)
{
    return (sapporo_stepper_options){.size = sizeof(sapporo_stepper_options),
                                     .method = method,
                                     .tree = tree,
                                     .scheme = SAPPORO_STEPS_BLOCK,
                                     .dt = 1.0 / 32,
                                     .levels = 5};
}

/* The particles of this rank, in turn. */
static sapporo_stepper_particles columns(void)
{
    int n = 0;
    for (int i = rank; i < N; i += ranks, n++) {
        memcpy(x[n], source[i].derivative[0], sizeof x[n]);
        memcpy(v[n], source[i].derivative[1], sizeof v[n]);
        mass[n] = source[i].mass;
    }
    return (sapporo_stepper_particles){
        .size = sizeof(sapporo_stepper_particles), .n = n, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}};
}

/* ----------------------------------------------------------------- creation */

/* Creates with options that are wrong on one rank; every rank must get `expected`, with `word` in the error. */
static void test_create(const char *what, int expected, const char *word, const sapporo_stepper_options *wrong,
                        double timeout, int room)
{
    const sapporo_tree_options tree = tree_options();
    const sapporo_stepper_options good = plain(&tree, SAPPORO_STEP_TREE);
    sapporo_mpi_stepper_options o = {.size = sizeof o, .stepper = is_guilty() ? wrong : &good, .timeout = 30};
    sapporo_mpi_stepper *s = (sapporo_mpi_stepper *)&o;
    if (is_guilty() && timeout != 0) o.timeout = timeout;
    const int status = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &o, is_guilty() ? room : N, &s);
    report(status == expected && !s && strstr(sapporo_mpi_stepper_last_error(NULL), word) && names_rank(NULL),
           "create, %s: %d, %s", what, status, sapporo_mpi_stepper_last_error(NULL));
}

static void test_differences(void)
{
    const sapporo_field field = {.kind = SAPPORO_FIELD_POINT, .strength = 1};
    sapporo_tree_options tree = tree_options(), soft = tree_options(), strict = tree_options(), spline = tree_options();
    soft.eps2 = 1e-3;
    spline.softening = SAPPORO_SOFTENING_SPLINE_MEAN;
    strict.accuracy = 0.4;
    const sapporo_stepper_options good = plain(&tree, SAPPORO_STEP_TREE);
    const struct {
        const char *word;
        size_t at; /* of the option that differs; 0: given below */
        int value;
    } all[] = {{"method", offsetof(sapporo_stepper_options, method), SAPPORO_STEP_DIRECT},
               {"scheme", offsetof(sapporo_stepper_options, scheme), SAPPORO_STEPS_SHARED},
               {"criterion", offsetof(sapporo_stepper_options, criterion), SAPPORO_STEP_BY_CHANGE},
               {"levels", offsetof(sapporo_stepper_options, levels), 4},
               {"rebuild", offsetof(sapporo_stepper_options, rebuild), 2},
               {"landing", offsetof(sapporo_stepper_options, landing), 1},
               {"iterations", offsetof(sapporo_stepper_options, iterations), 2},
               {"nearest", offsetof(sapporo_stepper_options, nearest), 1}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        sapporo_stepper_options other = good;
        memcpy((char *)&other + all[k].at, &all[k].value, sizeof all[k].value);
        test_create(all[k].word, SAPPORO_MPI_ERR_DIFFERENT, all[k].word, &other, 0, N);
    }
    sapporo_stepper_options other = good;
    other.dt = 1.0 / 64;
    test_create("another dt", SAPPORO_MPI_ERR_DIFFERENT, "dt", &other, 0, N);
    other = good;
    other.eta = 0.5;
    test_create("another eta", SAPPORO_MPI_ERR_DIFFERENT, "eta", &other, 0, N);
    other = good;
    other.tree = &soft;
    test_create("another softening", SAPPORO_MPI_ERR_DIFFERENT, "eps2", &other, 0, N);
    other.tree = &spline;
    test_create("another law of softening", SAPPORO_MPI_ERR_DIFFERENT, "softening", &other, 0, N);
    other.tree = &strict;
    test_create("another accuracy", SAPPORO_MPI_ERR_DIFFERENT, "accuracy", &other, 0, N);
    other = good;
    other.nfields = 1;
    other.fields = &field;
    test_create("a field", SAPPORO_MPI_ERR_DIFFERENT, "nfields", &other, 0, N);
    test_create("another timeout", SAPPORO_MPI_ERR_DIFFERENT, "timeout", &good, 20, N);
}

/* Collective.  Creates with the same options on all ranks, which are refused. */
static void test_refused(const char *word, const sapporo_stepper_options *o)
{
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = o, .timeout = 30};
    sapporo_mpi_stepper *s = NULL;
    const int status = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, N, &s);
    report(status == SAPPORO_ERR_UNSUPPORTED && !s && strstr(sapporo_mpi_stepper_last_error(NULL), word),
           "a Hermite stepper: %d, %s", status, sapporo_mpi_stepper_last_error(NULL));
}

/* Hermite schemes: what they have not over ranks; wrong particles of one rank; particles without mass. */
static void test_hermite(void)
{
    static double pot[N];
    const sapporo_tree_options sums = tree_options();
    sapporo_stepper_options o = {.size = sizeof o, .tree = &sums, .scheme = SAPPORO_STEPS_HERMITE4, .dt = 1.0 / 32};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &o, .timeout = 30};
    o.method = SAPPORO_STEP_TREE;
    test_refused("direct sums", &o);
    o.method = SAPPORO_STEP_METHOD_DEFAULT;
    sapporo_mpi_stepper *s = NULL;
    sapporo_stepper_particles p = columns();
    int bad = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, N, &s);
    if (is_guilty()) v[p.n - 1][1] = NAN;
    bad |= sapporo_mpi_stepper_set(s, &p) != SAPPORO_ERR_NOT_FINITE || !names_rank(s);
    report(!bad, "a Hermite stepper, a velocity of NaN: %s", sapporo_mpi_stepper_last_error(s));
    p = columns();
    sapporo_stepper_output out = {.size = sizeof out, .n = p.n, .pot = pot};
    bad = sapporo_mpi_stepper_set(s, &p) || sapporo_mpi_stepper_advance(s, 0.25, 0) ||
          sapporo_mpi_stepper_get(s, &out) != SAPPORO_ERR_UNSUPPORTED;
    bad |= !strstr(sapporo_mpi_stepper_last_error(s), "sapporo_mpi_stepper_get_potentials");
    report(!bad && isnan(pot[0]), "a Hermite stepper, present potentials: %s", sapporo_mpi_stepper_last_error(s));
    out.when = SAPPORO_STEP_OWN;
    bad = sapporo_mpi_stepper_get(s, &out) || !(pot[0] < 0);
    report(!bad, "a Hermite stepper, potentials of own times");
    p.h.base = is_guilty() ? mass : NULL; /* lengths of one rank are those of all */
    report(!sapporo_mpi_stepper_set(s, &p), "a Hermite stepper, lengths: %s", sapporo_mpi_stepper_last_error(s));
    p.h.base = NULL;
    for (int i = 0; i < p.n; i++) mass[i] = 0;
    bad = sapporo_mpi_stepper_set(s, &p) || sapporo_mpi_stepper_advance(s, 0.25, 0) || sapporo_mpi_stepper_get(s, &out);
    report(!bad && pot[0] == 0, "a Hermite stepper, no particle has a mass: %s", sapporo_mpi_stepper_last_error(s));
    sapporo_mpi_stepper_destroy(s);
}

static void test_creation(void)
{
    const sapporo_tree_options tree = tree_options();
    const sapporo_stepper_options good = plain(&tree, SAPPORO_STEP_TREE);
    sapporo_stepper_options wrong = good;
    if (ranks > 1) test_differences();
    test_create("no options of a stepper", SAPPORO_ERR_ARGUMENT, "size", NULL, 0, N);
    wrong.size = 3;
    test_create("options without a size", SAPPORO_ERR_ARGUMENT, "size", &wrong, 0, N);
    wrong = good;
    wrong.nfields = 9;
    test_create("nine fields", SAPPORO_ERR_ARGUMENT, "nfields", &wrong, 0, N);
    test_create("room for -1 particles", SAPPORO_ERR_ARGUMENT, "-1", &good, 0, -1);
    test_create("a timeout below 0", SAPPORO_ERR_ARGUMENT, "timeout", &good, -1, N);
    const sapporo_mpi_stepper_options bad = {.size = sizeof bad, .stepper = &wrong, .timeout = 30};
    sapporo_mpi_stepper *s;
    wrong = good;
    wrong.dt = -1;
    const int status = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &bad, N, &s);
    report(status == SAPPORO_ERR_ARGUMENT && !s && strstr(sapporo_mpi_stepper_last_error(NULL), "dt"),
           "create, dt below 0: %d", status);
    report(sapporo_mpi_stepper_create(MPI_COMM_NULL, &bad, N, &s) == SAPPORO_ERR_ARGUMENT && !s &&
               sapporo_mpi_stepper_create(MPI_COMM_WORLD, &bad, N, NULL) == SAPPORO_ERR_ARGUMENT,
           "no communicator, no handle");
}

/* ---------------------------------------------------------------- particles */

static int is_number(double energy) { return isfinite(energy); }

/* 1 if particles can be set and moved. */
static int works(sapporo_mpi_stepper *s)
{
    const sapporo_stepper_particles good = columns();
    sapporo_stepper_totals t = {.size = sizeof t};
    return !sapporo_mpi_stepper_set(s, &good) && !sapporo_mpi_stepper_advance(s, 1, 3) &&
           !sapporo_mpi_stepper_energy(s, &t) && is_number(t.kinetic + t.potential);
}

/* Sets particles that are wrong on one rank; before and after, others can be moved. */
static void test_set(sapporo_mpi_stepper *s, const char *what, int expected, const char *word,
                     const sapporo_stepper_particles *wrong, const sapporo_stepper_particles *good)
{
    const int status = sapporo_mpi_stepper_set(s, is_guilty() ? wrong : good);
    const int says = strstr(sapporo_mpi_stepper_last_error(s), word) && names_rank(s);
    report(status == expected && says && works(s), "set, %s: %d, %s", what, status, sapporo_mpi_stepper_last_error(s));
}

static void test_sets(sapporo_mpi_stepper *s)
{
    sapporo_stepper_particles good = columns(), wrong = good;
    wrong.n = N + 1;
    test_set(s, "too many particles", SAPPORO_ERR_ARGUMENT, "particles", &wrong, &good);
    wrong = good = columns();
    wrong.mass.base = NULL;
    test_set(s, "no masses", SAPPORO_ERR_ARGUMENT, "masses", &wrong, &good);
    wrong = good = columns();
    wrong.size = 0;
    test_set(s, "no size", SAPPORO_ERR_ARGUMENT, "size", &wrong, &good);
    wrong = good = columns();
    wrong.memory = SAPPORO_MEMORY_DEVICE;
    test_set(s, "device memory", SAPPORO_ERR_UNSUPPORTED, "CUDA", &wrong, &good);
    wrong = good = columns();
    wrong.time = NAN;
    test_set(s, "a time of NaN", SAPPORO_ERR_NOT_FINITE, "time", &wrong, &good);
    wrong = good = columns();
    if (is_guilty()) v[good.n - 1][1] = INFINITY;
    test_set(s, "an infinite velocity", SAPPORO_ERR_NOT_FINITE, "velocity", &wrong, &good);
    wrong = good = columns();
    wrong.time = 2;
    if (ranks > 1) test_set(s, "another time", SAPPORO_MPI_ERR_DIFFERENT, "time", &wrong, &good);
}

/* Particles that come or go wrongly on one rank: nothing changes on any. */
static void test_changes(sapporo_mpi_stepper *s)
{
    const int worked = works(s), none = columns().n, twice[2] = {0, 0}, one = 0;
    sapporo_stepper_particles p = columns();
    sapporo_stepper_statistics t = {.size = sizeof t};
    p.n = 1;
    p.time = is_guilty() ? -1 : sapporo_mpi_stepper_get_time(s);
    int bad = sapporo_mpi_stepper_add(s, &p) != SAPPORO_ERR_ARGUMENT || !names_rank(s);
    bad |= sapporo_mpi_stepper_add(s, is_guilty() ? NULL : &p) != SAPPORO_ERR_ARGUMENT || !names_rank(s);
    p.time = sapporo_mpi_stepper_get_time(s);
    if (is_guilty()) v[0][1] = NAN; /* the only rank has no room for it */
    const int expected = ranks > 1 ? SAPPORO_ERR_NOT_FINITE : SAPPORO_ERR_ARGUMENT;
    bad |= sapporo_mpi_stepper_add(s, &p) != expected || !names_rank(s);
    bad |= sapporo_mpi_stepper_remove(s, is_guilty() ? 2 : 1, twice) != SAPPORO_ERR_ARGUMENT || !names_rank(s);
    bad |= sapporo_mpi_stepper_remove(s, 1, is_guilty() ? &none : &one) != SAPPORO_ERR_ARGUMENT || !names_rank(s);
    bad |= sapporo_mpi_stepper_get_statistics(s, &t) || t.n != none;
    bad |= sapporo_mpi_stepper_advance(s, 1, 2);
    report(worked && !bad, "wrong particles come or go: %s", sapporo_mpi_stepper_last_error(s));
    p = columns();
    p.n = 0;
    p.time = sapporo_mpi_stepper_get_time(s);
    bad = sapporo_mpi_stepper_remove(s, is_guilty(), &one) || sapporo_mpi_stepper_add(s, &p) ||
          sapporo_mpi_stepper_advance(s, 1, 2) || sapporo_mpi_stepper_get_statistics(s, &t);
    report(!bad && t.n == none - is_guilty(), "one particle of one rank goes: %s", sapporo_mpi_stepper_last_error(s));
}

/* -------------------------------------------------------------------- steps */

/* A particle of one rank leaves the range of positions in the third step; all ranks stay at the second. */
static void test_escape(sapporo_mpi_stepper *s)
{
    static double before[N][3], after[N][3];
    const sapporo_stepper_particles good = columns();
    const sapporo_stepper_output out = {.size = sizeof out, .n = good.n, .x = before},
                                 again = {.size = sizeof again, .n = good.n, .x = after};
    sapporo_stepper_totals t = {.size = sizeof t};
    if (is_guilty() && good.n > 0) v[0][2] = 1e100 / (1.5 / 32);
    int status = sapporo_mpi_stepper_set(s, &good);
    if (!status) status = sapporo_mpi_stepper_advance(s, 1, 1);
    const double time = sapporo_mpi_stepper_get_time(s);
    int bad = status || sapporo_mpi_stepper_get(s, &out);
    status = sapporo_mpi_stepper_advance(s, 1, 5);
    const int says = names_rank(s) && strstr(sapporo_mpi_stepper_last_error(s), "position of particle 0");
    bad |= sapporo_mpi_stepper_get(s, &again) || sapporo_mpi_stepper_get_time(s) < time;
    bad |= sapporo_mpi_stepper_energy(s, &t) != SAPPORO_OK;
    const int later = sapporo_mpi_stepper_advance(s, 1, 5);
    report(!bad && status == SAPPORO_ERR_NOT_FINITE && says && later == status && works(s),
           "a particle leaves the range of positions: %d, %d, time %g and %g", status, bad, time, t.time);
}

/* Arguments of advance and energy that are wrong on one rank. */
static void test_arguments(sapporo_mpi_stepper *s)
{
    sapporo_stepper_totals t = {.size = sizeof t}, small = {.size = 0};
    const int worked = works(s);
    const double time = sapporo_mpi_stepper_get_time(s);
    int status = sapporo_mpi_stepper_advance(s, is_guilty() ? NAN : 1, 1);
    int bad = status != SAPPORO_ERR_ARGUMENT || !names_rank(s);
    bad |= sapporo_mpi_stepper_advance(s, 1, is_guilty() ? -1 : 1) != SAPPORO_ERR_ARGUMENT || !names_rank(s);
    bad |= sapporo_mpi_stepper_advance(s, INFINITY, is_guilty() ? 0 : 1) != SAPPORO_ERR_ARGUMENT || !names_rank(s);
    if (ranks > 1) {
        bad |= sapporo_mpi_stepper_advance(s, is_guilty() ? 2 : 1, 1) != SAPPORO_MPI_ERR_DIFFERENT || !names_rank(s);
        bad |= sapporo_mpi_stepper_advance(s, 1, is_guilty() ? 2 : 1) != SAPPORO_MPI_ERR_DIFFERENT || !names_rank(s);
    }
    bad |= sapporo_mpi_stepper_get_time(s) != time;
    status = sapporo_mpi_stepper_energy(s, is_guilty() ? &small : &t);
    bad |= status != SAPPORO_ERR_ARGUMENT || !names_rank(s) || (!is_guilty() && is_number(t.kinetic));
    bad |= sapporo_mpi_stepper_energy(s, is_guilty() ? NULL : &t) != SAPPORO_ERR_ARGUMENT;
    report(worked && !bad && works(s), "arguments of advance and energy: %s", sapporo_mpi_stepper_last_error(s));
    double one[1][3];
    const sapporo_stepper_output wrong = {.size = sizeof wrong, .n = columns().n + 1, .x = one}, none = {.size = 0};
    report(sapporo_mpi_stepper_get(s, &none) == SAPPORO_ERR_ARGUMENT && wrong.n > 0 && works(s),
           "outputs without a size: %s", sapporo_mpi_stepper_last_error(s));
}

/* -------------------------------------------------------------------- files */

static const char *path_of(const char *name)
{
    static char path[512];
    const char *const folder = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/%s", folder ? folder : "/tmp", name);
    return path;
}

/* Writes a part of a file to another one, with the bits `flip` of the byte in the middle changed. */
static void copy_file(const char *from, const char *to, double part, int flip)
{
    static char bytes[1 << 17];
    FILE *f = fopen(path_of(from), "rb");
    const size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0, keep = (size_t)((double)n * part);
    if (f) (void)fclose(f);
    bytes[n / 2] = (char)(bytes[n / 2] ^ flip);
    f = fopen(path_of(to), "wb");
    if (f) (void)fwrite(bytes, 1, keep, f);
    if (f) (void)fclose(f);
}

/* Restores a file that is not good: nothing is taken. */
static void test_bad_file(sapporo_mpi_stepper *s, const char *what, const char *name, const char *word)
{
    const double time = sapporo_mpi_stepper_get_time(s);
    const int status = sapporo_mpi_stepper_restore(s, name ? path_of(name) : NULL);
    report(status == SAPPORO_ERR_ARGUMENT && strstr(sapporo_mpi_stepper_last_error(s), word) &&
               sapporo_mpi_stepper_get_time(s) == time && !sapporo_mpi_stepper_advance(s, 1, 1),
           "restore, %s: %d, %s", what, status, sapporo_mpi_stepper_last_error(s));
}

/* A file that cannot be written leaves the one before, which can be restored. */
static void test_full(sapporo_mpi_stepper *s)
{
    struct rlimit limit;
    (void)getrlimit(RLIMIT_FSIZE, &limit);
    const struct rlimit little = {4096, limit.rlim_max};
    const double time = sapporo_mpi_stepper_get_time(s);
    int bad = sapporo_mpi_stepper_save(s, path_of("full")) || sapporo_mpi_stepper_advance(s, 1, 1);
    (void)signal(SIGXFSZ, SIG_IGN);
    if (rank == 0) (void)setrlimit(RLIMIT_FSIZE, &little);
    const int status = sapporo_mpi_stepper_save(s, path_of("full"));
    if (rank == 0) (void)setrlimit(RLIMIT_FSIZE, &limit);
    const int says = strstr(sapporo_mpi_stepper_last_error(s), "rank 0") && sapporo_mpi_stepper_get_time(s) > time;
    bad |= sapporo_mpi_stepper_restore(s, path_of("full")) || sapporo_mpi_stepper_get_time(s) != time;
    report(!bad && status == SAPPORO_ERR_ARGUMENT && says, "save, the disk is full: %d, %s", status,
           sapporo_mpi_stepper_last_error(s));
}

/* ------------------------------------------------------------ sealed files */

static char sealed[1 << 17];

/* What is wrong in a file of n bytes of which `head` is the head: the word of the error; NULL: there is no such case.
 */
static const char *spoil(struct sap_saved_head *head, struct sap_saved_rank *wrote, int *walker, int k)
{
    switch (k) {
    case 0:
        return head->clock.tick = -1, "its time is wrong";
    case 1:
        return head->clock.tick = SAP_STEP_TICKS, "its time is wrong";
    case 2:
        return wrote[0].n = -1, "numbers of particles are wrong";
    case 3:
        return wrote[0].n++, "numbers of particles are wrong";
    case 4:
        return wrote[ranks - 1].n--, "numbers of particles are wrong";
    case 5:
        return head->version++, "another version";
    case 6:
        return head->order = 0x04030201, "other byte order";
    case 7:
        return head->bytes++, "incomplete";
    case 8:
        return head->ranks = 0, "size is wrong";
    case 9:
        return head->n = -1, "size is wrong";
    case 10:
        return head->width[SAP_SAVED_WORK] += 8, "other options";
    case 11:
        return walker ? (*walker = ranks, "ranks of the file are wrong") : NULL;
    case 12:
        return walker ? (*walker = -1, "ranks of the file are wrong") : NULL;
    default:
        return NULL;
    }
}

/* Rank 0 writes a good file with one number changed, and with its checksum right; returns the word of the error. */
static const char *write_sealed(int k)
{
    FILE *f = fopen(path_of("good"), "rb");
    const size_t n = f ? fread(sealed, 1, sizeof sealed, f) : 0;
    if (f) (void)fclose(f);
    struct sap_saved_head head;
    struct sap_saved_rank wrote[64];
    size_t at = sizeof head + (size_t)ranks * sizeof *wrote;
    int walker = 0;
    if (n < at) return NULL;
    memcpy(&head, sealed, sizeof head);
    memcpy(wrote, sealed + sizeof head, (size_t)ranks * sizeof *wrote);
    const int32_t divided = head.width[SAP_SAVED_WALKER];
    for (int c = 0; c < SAP_SAVED_WALKER; c++) at += (size_t)head.n * (size_t)head.width[c];
    at += (size_t)(head.n - 1) * (size_t)divided; /* of the last particle, which the last rank takes */
    const char *const word = spoil(&head, wrote, divided ? &walker : NULL, k);
    if (k >= 11 && divided) memcpy(sealed + at, &walker, sizeof walker);
    memcpy(sealed, &head, sizeof head);
    memcpy(sealed + sizeof head, wrote, (size_t)ranks * sizeof *wrote);
    const uint64_t sum = sap_check_add(SAP_CHECK_START, sealed, n - sizeof sum);
    memcpy(sealed + n - sizeof sum, &sum, sizeof sum);
    f = fopen(path_of("sealed"), "wb");
    if (f) (void)fwrite(sealed, 1, n, f);
    if (f) (void)fclose(f);
    return word;
}

/* Files whose checksum is right, but not a number: all ranks refuse them, and the particles stay. */
static void test_sealed(sapporo_mpi_stepper *s)
{
    for (int k = 0; k < 13; k++) {
        char word[64] = "";
        const char *const told = rank == 0 ? write_sealed(k) : NULL;
        if (told) (void)snprintf(word, sizeof word, "%s", told);
        (void)MPI_Bcast(word, (int)sizeof word, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (word[0]) test_bad_file(s, word, "sealed", word);
    }
}

static void test_files(sapporo_mpi_stepper *s, sapporo_step_method method)
{
    const sapporo_tree_options tree = tree_options();
    sapporo_stepper_options other = plain(&tree, method);
    other.dt = 1.0 / 64;
    const sapporo_mpi_stepper_options o = {.size = sizeof o, .stepper = &other, .timeout = 60};
    sapporo_mpi_stepper *t;
    int bad = !works(s) || sapporo_mpi_stepper_save(s, path_of("good"));
    if (rank == 0)
        copy_file("good", "half", 0.5, 0), copy_file("good", "damaged", 1, 16), copy_file("good", "few", 1e-3, 0);
    report(!bad && sapporo_mpi_stepper_save(s, path_of("none/file")) == SAPPORO_ERR_ARGUMENT &&
               sapporo_mpi_stepper_save(s, NULL) == SAPPORO_ERR_ARGUMENT,
           "save, no folder: %s", sapporo_mpi_stepper_last_error(s));
    test_bad_file(s, "no path", NULL, "no such file");
    test_bad_file(s, "no file", "nothing", "no such file");
    test_bad_file(s, "a folder", ".", "no regular file");
    test_bad_file(s, "half of a file", "half", "incomplete");
    test_bad_file(s, "the begin of a file", "few", "too short");
    test_bad_file(s, "a damaged file", "damaged", "checksum");
    if (method == SAPPORO_STEP_TREE) test_sealed(s);
    test_full(s);
    bad = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &o, N, &t) != SAPPORO_OK;
    const int status = bad ? SAPPORO_OK : sapporo_mpi_stepper_restore(t, path_of("good"));
    report(status == SAPPORO_ERR_ARGUMENT && strstr(sapporo_mpi_stepper_last_error(t), "other options") &&
               isnan(sapporo_mpi_stepper_get_time(t)) &&
               sapporo_mpi_stepper_save(t, path_of("good")) == SAPPORO_ERR_ARGUMENT,
           "restore, another dt; save, no particles: %s", sapporo_mpi_stepper_last_error(t));
    sapporo_mpi_stepper_destroy(t);
    other.dt = 1.0 / 32;
    bad = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &o, is_guilty() ? 1 : N, &t) != SAPPORO_OK;
    bad |= sapporo_mpi_stepper_restore(t, path_of("good")) != SAPPORO_ERR_ARGUMENT;
    report(!bad && strstr(sapporo_mpi_stepper_last_error(t), "room for 1"), "restore, no room: %s",
           sapporo_mpi_stepper_last_error(t));
    sapporo_mpi_stepper_destroy(t);
}

static sapporo_mpi_stepper *open_stepper(sapporo_step_method method, double timeout)
{
    const sapporo_tree_options tree = tree_options();
    const sapporo_stepper_options plain_ones = plain(&tree, method);
    const sapporo_mpi_stepper_options o = {.size = sizeof o, .stepper = &plain_ones, .timeout = timeout};
    sapporo_mpi_stepper *s;
    const int status = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &o, N, &s);
    if (status) report(0, "create: %s", sapporo_mpi_stepper_last_error(NULL));
    return s;
}

static void test_closed(sapporo_mpi_stepper *s)
{
    const sapporo_stepper_particles good = columns();
    double at[1][3] = {{1, 1, 1}};
    const sapporo_stepper_output out = {.size = sizeof out, .n = 1, .x = at};
    sapporo_stepper_totals t = {.size = sizeof t};
    sapporo_stepper_statistics did = {.size = sizeof did, .n = 7};
    int bad = sapporo_mpi_stepper_set(s, &good) != SAPPORO_ERR_CLOSED;
    bad |= sapporo_mpi_stepper_advance(s, 1, 1) != SAPPORO_ERR_CLOSED;
    bad |= sapporo_mpi_stepper_energy(s, &t) != SAPPORO_ERR_CLOSED || is_number(t.kinetic);
    bad |= sapporo_mpi_stepper_get(s, &out) != SAPPORO_ERR_CLOSED || is_number(at[0][0]);
    bad |= sapporo_mpi_stepper_get_statistics(s, &did) != SAPPORO_ERR_CLOSED || did.n != 0;
    bad |= sapporo_mpi_stepper_save(s, "x") != SAPPORO_ERR_CLOSED;
    bad |= sapporo_mpi_stepper_restore(s, "x") != SAPPORO_ERR_CLOSED;
    bad |= !isnan(sapporo_mpi_stepper_get_time(s)) || sapporo_mpi_stepper_kind_text(s)[0];
    sapporo_mpi_stepper_destroy(s);
    sapporo_mpi_stepper_destroy(NULL);
    report(!bad, "a destroyed stepper stays destroyed: %s", sapporo_mpi_stepper_last_error(s));
}

static void test_life(sapporo_step_method method)
{
    sapporo_mpi_stepper *const s = open_stepper(method, 60);
    sapporo_stepper_totals t = {.size = sizeof t};
    int bad = sapporo_mpi_stepper_advance(s, 1, 1) != SAPPORO_ERR_ARGUMENT;
    bad |= !strstr(sapporo_mpi_stepper_last_error(s), "no particles") || !isnan(sapporo_mpi_stepper_get_time(s));
    bad |= sapporo_mpi_stepper_energy(s, &t) != SAPPORO_ERR_ARGUMENT || is_number(t.kinetic);
    report(!bad && works(s), "no particles: %s", sapporo_mpi_stepper_last_error(s));
    report(strstr(sapporo_mpi_stepper_kind_text(s), method == SAPPORO_STEP_DIRECT ? "direct" : "octree") != NULL,
           "kind: %s", sapporo_mpi_stepper_kind_text(s));
    test_sets(s);
    test_changes(s);
    test_escape(s);
    test_arguments(s);
    test_files(s, method);
    sapporo_mpi_stepper_destroy(s);
    test_closed(s);
}

/* ------------------------------------------------------- times that stand still */

/* A stepper with steps of dt, and with shorter ones if there are levels, which particles choose by eta. */
static sapporo_mpi_stepper *open_with_steps(sapporo_step_method method, double dt, double eta, int levels)
{
    const sapporo_tree_options tree = tree_options();
    sapporo_stepper_options steps = plain(&tree, method);
    steps.scheme = levels > 0 ? SAPPORO_STEPS_BLOCK : SAPPORO_STEPS_SHARED;
    steps.dt = dt;
    steps.eta = eta;
    steps.levels = levels;
    const sapporo_mpi_stepper_options o = {.size = sizeof o, .stepper = &steps, .timeout = 60};
    sapporo_mpi_stepper *s;
    const int status = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &o, N, &s);
    if (status) report(0, "create: %s", sapporo_mpi_stepper_last_error(NULL));
    return s;
}

/* 1 if a call failed on all ranks, and the error of each names the time and the step. */
static int names_time(const sapporo_mpi_stepper *s, int status, const char *time, const char *step)
{
    const char *const text = sapporo_mpi_stepper_last_error(s);
    return status == SAPPORO_ERR_ARGUMENT && ranks_same(&status, 1) && strstr(text, time) && strstr(text, step);
}

/* A step that does not change the time of the particles: they are refused; at time 0 they can be moved. */
static void test_late(sapporo_step_method method)
{
    static const struct {
        double start, dt;
        const char *time, *step;
    } late[] = {{1e100, 1e-3, "time 1e+100,", "step of 0.001"},
                {1e10, 1e-9, "time 10000000000,", "step of 1e-09"},
                {-1e10, 1e-9, "time -10000000000,", "step of 1e-09"}};
    for (size_t k = 0; k < sizeof late / sizeof *late; k++) {
        sapporo_mpi_stepper *const s = open_with_steps(method, late[k].dt, 0, 0);
        sapporo_stepper_particles p = columns();
        p.time = late[k].start;
        const int status = sapporo_mpi_stepper_set(s, &p);
        const int says = names_time(s, status, late[k].time, late[k].step);
        const int stays = isnan(sapporo_mpi_stepper_get_time(s));
        report(says && stays && works(s), "set at time %g, steps of %g: %d", late[k].start, late[k].dt, status);
        sapporo_mpi_stepper_destroy(s);
    }
}

/* The whole step changes the time, but the short steps that particles choose do not: no rank makes a step. */
static void test_too_short(sapporo_step_method method)
{
    sapporo_mpi_stepper *const s = open_with_steps(method, 1.0 / 64, 1e-14, 24);
    sapporo_stepper_statistics did = {.size = sizeof did};
    sapporo_stepper_particles p = columns();
    p.time = 1e9;
    int bad = sapporo_mpi_stepper_set(s, &p);
    const int status = sapporo_mpi_stepper_advance(s, 1e9, 3),
              says = names_time(s, status, "time 1000000000,", "step of ");
    bad |= sapporo_mpi_stepper_get_statistics(s, &did) || did.steps != 0 || sapporo_mpi_stepper_get_time(s) != 1e9;
    report(!bad && says && works(s), "short steps at time 1e9: %d, %lld steps", status, did.steps);
    sapporo_mpi_stepper_destroy(s);
}

/* One rank does not come: the others give up, and so does the late rank; all can still read their particles. */
static void test_timeout(sapporo_step_method method)
{
    static double at[N][3];
    sapporo_mpi_stepper *const s = open_stepper(method, 2);
    const int worked = works(s), n = columns().n;
    const sapporo_stepper_output out = {.size = sizeof out, .n = n, .x = at};
    int status = SAPPORO_MPI_ERR_TIMEOUT, later = SAPPORO_MPI_ERR_TIMEOUT;
    if (!is_guilty()) status = sapporo_mpi_stepper_advance(s, 1, 1);
    if (!is_guilty()) later = sapporo_mpi_stepper_advance(s, 1, 1);
    report(worked && status == SAPPORO_MPI_ERR_TIMEOUT && later == status, "a rank that does not come: %d, %s", status,
           sapporo_mpi_stepper_last_error(s));
    if (is_guilty()) status = sapporo_mpi_stepper_advance(s, 1, 1);
    const int got = sapporo_mpi_stepper_get(s, &out);
    report(status == SAPPORO_MPI_ERR_TIMEOUT && !got && is_number(at[0][0]), "the late rank gives up, too: %d", status);
    sapporo_mpi_stepper_destroy(s);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    source = points_new(N);
    test_creation();
    test_hermite();
    test_life(SAPPORO_STEP_TREE);
    test_life(SAPPORO_STEP_DIRECT);
    test_late(SAPPORO_STEP_TREE);
    test_late(SAPPORO_STEP_DIRECT);
    test_too_short(SAPPORO_STEP_TREE);
    test_too_short(SAPPORO_STEP_DIRECT);
    if (ranks > 1) test_timeout(SAPPORO_STEP_TREE);
    if (ranks > 1) test_timeout(SAPPORO_STEP_DIRECT);
    free(source);
    return ranks_end();
}
