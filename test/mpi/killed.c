/*
 * killed.c - a rank that is killed in mid-call.
 *
 *   killed WHAT RANK MILLISECONDS
 *   killed restore
 *
 * WHAT: `force`, `tree`, `stepper`, `save`: the ranks make calls without end, of direct sums, of a tree over ranks, of
 * a stepper over a tree, and of saving such a stepper in a file of TMPDIR; after so many milliseconds RANK kills
 * itself, wherever it is.  Each rank prints `pid N` before that, and nothing may follow but `saved`: the launcher of
 * MPI ends the job.  The timeout of the calls is longer than the test's, so it does not end them.  `restore` reads the
 * file that such a job has left.
 */
#define _XOPEN_SOURCE 600
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "ranks.h"

enum { N = 3000 };

static struct point *all;
static char path[512];

/* Particles of this rank: a run of them. */
static int first_of(int r) { return N * r / ranks; }
static int own(void) { return first_of(rank + 1) - first_of(rank); }
static const struct point *mine(void) { return all + first_of(rank); }

static void die(int number)
{
    (void)number;
    (void)kill(getpid(), SIGKILL);
}

static void kill_after(long milliseconds)
{
    const struct itimerval after = {
        .it_value = {.tv_sec = milliseconds / 1000, .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)}};
    (void)signal(SIGALRM, die);
    (void)setitimer(ITIMER_REAL, &after, NULL);
}

/* ------------------------------------------------------ calls without end */

static int force(void)
{
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    const sapporo_mpi_options options = {.size = sizeof options, .context = &context};
    const sapporo_particles columns = points_columns(mine());
    const sapporo_request request = points_request(mine(), own(), N);
    struct answers a = answers_new(own());
    const sapporo_result result = answers_result(&a, 4, 0);
    int address[N], bad;
    sapporo_mpi *h;
    sapporo_mpi_job *job;
    for (int k = 0; k < N; k++) address[k] = first_of(rank) + k;
    bad = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    while (!bad) {
        bad = sapporo_mpi_set_particles(h, own(), address, &columns);
        if (!bad) bad = sapporo_mpi_force_begin(h, &request, &job);
        if (!bad) bad = sapporo_mpi_force_end(job, own(), &result);
        if (!bad) sapporo_mpi_force_free(job);
    }
    return bad;
}

static const sapporo_tree_options tree_options = {
    .size = sizeof tree_options, .backend = SAPPORO_BACKEND_CPU, .eps2 = 1e-4, .threads = 1};

static int tree(void)
{
    const ptrdiff_t stride = sizeof *all;
    const sapporo_mpi_tree_options options = {.size = sizeof options, .tree = &tree_options};
    const sapporo_tree_particles p = {
        .size = sizeof p, .n = own(), .x = {mine()->derivative[0], stride}, .mass = {&mine()->mass, stride}};
    static double acc[N][3], pot[N];
    sapporo_mpi_tree *t;
    int bad = sapporo_mpi_tree_create(MPI_COMM_WORLD, &options, &t);
    while (!bad) {
        bad = sapporo_mpi_tree_build(t, &p);
        if (!bad) bad = sapporo_mpi_tree_force(t, acc, pot);
        if (!bad) bad = sapporo_mpi_tree_refresh(t, &p);
    }
    return bad;
}

static sapporo_mpi_stepper *make_stepper(void)
{
    const sapporo_stepper_options how = {
        .size = sizeof how, .tree = &tree_options, .scheme = SAPPORO_STEPS_BLOCK, .dt = 0x1p-10, .levels = 2};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &how};
    sapporo_mpi_stepper *s;
    return sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, N, &s) ? NULL : s;
}

/* Steps; with is_saving it saves after each step. */
static int step(int is_saving)
{
    const ptrdiff_t stride = sizeof *all;
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = own(),
                                         .x = {mine()->derivative[0], stride},
                                         .v = {mine()->derivative[1], stride},
                                         .mass = {&mine()->mass, stride}};
    sapporo_mpi_stepper *const s = make_stepper();
    int bad = !s || sapporo_mpi_stepper_set(s, &p);
    if (!bad && is_saving) bad = sapporo_mpi_stepper_save(s, path); /* there is a complete file before the end */
    if (!bad) puts("saved");
    (void)fflush(stdout);
    while (!bad) {
        bad = sapporo_mpi_stepper_advance(s, INFINITY, 1);
        for (int k = 0; k < 4 && is_saving && !bad; k++) bad = sapporo_mpi_stepper_save(s, path);
    }
    return bad;
}

/* ---------------------------------------------------------------- restore */

/* Reads a file and goes on. */
static void restore(void)
{
    sapporo_mpi_stepper *const s = make_stepper();
    sapporo_stepper_statistics got = {.size = sizeof got};
    double time = -1, after = -1;
    int n = 0, bad = !s || sapporo_mpi_stepper_restore(s, path);
    if (!bad) time = sapporo_mpi_stepper_get_time(s);
    if (!bad) bad = sapporo_mpi_stepper_get_statistics(s, &got);
    const int own_n = bad ? 0 : got.n;
    ranks_combine(&own_n, &n, 1, MPI_SUM);
    if (!bad) bad = sapporo_mpi_stepper_advance(s, INFINITY, 2);
    if (!bad) after = sapporo_mpi_stepper_get_time(s);
    report(!bad && n == N && time >= 0 && after > time, "the file has %d particles at time %g: %s", n, time,
           sapporo_mpi_stepper_last_error(s));
    sapporo_mpi_stepper_destroy(s);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    const char *const what = argc > 1 ? argv[1] : "", *const folder = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/killed.steps", folder ? folder : "/tmp");
    all = points_new(N);
    if (strcmp(what, "restore") == 0) {
        restore();
        free(all);
        return ranks_end();
    }
    printf("pid %ld\n", (long)getpid());
    (void)fflush(stdout);
    if (argc > 3 && rank == strtol(argv[2], NULL, 10)) kill_after(strtol(argv[3], NULL, 10));
    const int bad = strcmp(what, "force") == 0     ? force()
                    : strcmp(what, "tree") == 0    ? tree()
                    : strcmp(what, "stepper") == 0 ? step(0)
                    : strcmp(what, "save") == 0    ? step(1)
                                                   : 1;
    printf("rank %d goes on: %d\n", rank, bad); /* no call fails before the job has ended */
    (void)fflush(stdout);
    free(all);
    return ranks_end();
}
