/*
 * ended.c - calls after MPI_Finalize: each returns an error or does nothing, and none ends the process.  With a word
 * the program opens objects and closes them, and the shell counts the warnings; with the word `bound` it first binds
 * itself to one core, as MPI may do.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"

enum { N = 40 };

static sapporo_mpi *sums;
static sapporo_mpi_job *job;
static sapporo_mpi_tree *tree;
static sapporo_mpi_stepper *stepper;
static struct point *source;
static int address[N];

static sapporo_tree_particles tree_columns(void)
{
    return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                    .n = N,
                                    .x = {source[0].derivative[0], sizeof *source},
                                    .mass = {&source[0].mass, sizeof *source}};
}

static int open_all(sapporo_mpi_way way)
{
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    const sapporo_mpi_options o = {.size = sizeof o, .context = &context, .timeout = 20, .way = way};
    const sapporo_tree_options t = {.size = sizeof t, .eps2 = 1e-2, .backend = SAPPORO_BACKEND_CPU, .threads = 1};
    const sapporo_mpi_tree_options to = {.size = sizeof to, .tree = &t, .timeout = 20};
    const sapporo_stepper_options s = {.size = sizeof s, .tree = &t, .scheme = SAPPORO_STEPS_BLOCK, .dt = 0x1p-5};
    const sapporo_mpi_stepper_options so = {.size = sizeof so, .stepper = &s, .timeout = 20};
    return sapporo_mpi_open(MPI_COMM_WORLD, &o, &sums) || sapporo_mpi_tree_create(MPI_COMM_WORLD, &to, &tree) ||
           sapporo_mpi_stepper_create(MPI_COMM_WORLD, &so, N, &stepper);
}

/* Fills the objects, and begins a force. */
static int fill_all(void)
{
    const sapporo_particles columns = points_columns(source);
    const sapporo_request request = points_request(source, N, N * ranks);
    const sapporo_tree_particles p = tree_columns();
    const ptrdiff_t stride = sizeof *source;
    const sapporo_stepper_particles sp = {.size = sizeof sp,
                                          .n = N,
                                          .x = {source[0].derivative[0], stride},
                                          .v = {source[0].derivative[1], stride},
                                          .mass = {&source[0].mass, stride}};
    for (int k = 0; k < N; k++) address[k] = N * rank + k;
    return sapporo_mpi_set_particles(sums, N, address, &columns) || sapporo_mpi_force_begin(sums, &request, &job) ||
           sapporo_mpi_tree_build(tree, &p) || sapporo_mpi_stepper_set(stepper, &sp);
}

/* Number of calls that did not fail, or left a number. */
static int call_sums(void)
{
    static double acc[N][3], pot[N];
    const sapporo_particles columns = points_columns(source);
    const sapporo_request request = points_request(source, N, N);
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    sapporo_mpi *again = (sapporo_mpi *)source;
    sapporo_mpi_job *second = (sapporo_mpi_job *)source;
    int good = sapporo_mpi_force_end(job, N, &result) >= 0;
    good += !isnan(pot[N - 1]) || !isnan(acc[0][0]);
    good += sapporo_mpi_set_particles(sums, N, address, &columns) >= 0;
    good += sapporo_mpi_clear_particles(sums) >= 0;
    good += sapporo_mpi_force_begin(sums, &request, &second) >= 0 || second;
    good += !strstr(sapporo_mpi_last_error(sums), "finalised");
    good += sapporo_mpi_open(MPI_COMM_WORLD, NULL, &again) >= 0 || again;
    sapporo_mpi_force_free(job);
    sapporo_mpi_close(sums);
    sapporo_mpi_close(sums);
    return good;
}

static int call_tree(void)
{
    static double acc[N][3], pot[N];
    int from[N] = {0}, to[N], n = 3;
    const sapporo_tree_particles p = tree_columns();
    int good = sapporo_mpi_tree_force(tree, acc, pot) >= 0 || !isnan(pot[0]) || !isnan(acc[N - 1][2]);
    pot[0] = 1;
    good += sapporo_mpi_tree_force_active(tree, 2, NULL, acc, pot) >= 0 || !isnan(pot[0]);
    good += sapporo_mpi_tree_build(tree, &p) >= 0;
    good += sapporo_mpi_tree_refresh(tree, &p) >= 0;
    good += sapporo_mpi_tree_refresh_or_build(tree, &p, 0, NULL) >= 0;
    good += sapporo_mpi_tree_exchange(tree, sizeof *from, from, N, to, &n) >= 0 || n;
    good += !strstr(sapporo_mpi_tree_last_error(tree), "finalised");
    sapporo_mpi_tree_destroy(tree);
    return good + (sapporo_mpi_tree_create(MPI_COMM_WORLD, NULL, &tree) >= 0 || tree);
}

static int call_stepper(void)
{
    static double x[N][3];
    const sapporo_stepper_output out = {.size = sizeof out, .n = N, .x = x};
    sapporo_stepper_totals t = {.size = sizeof t};
    sapporo_stepper_pairs p = {.size = sizeof p, .n = 7};
    int good = sapporo_mpi_stepper_advance(stepper, 1, 1) >= 0;
    good += sapporo_mpi_stepper_energy(stepper, &t) >= 0 || !isnan(t.potential);
    good += sapporo_mpi_stepper_get_potentials(stepper, 1, x[0]) >= 0 || !isnan(x[0][0]);
    good += sapporo_mpi_stepper_get_pairs(stepper, &p) >= 0 || p.n;
    good += sapporo_mpi_stepper_exchange(stepper) >= 0;
    good += sapporo_mpi_stepper_save(stepper, "/nowhere/ended") >= 0;
    good += sapporo_mpi_stepper_restore(stepper, "/nowhere/ended") >= 0;
    good += !strstr(sapporo_mpi_stepper_last_error(stepper), "finalised");
    good += sapporo_mpi_stepper_get(stepper, &out) != 0 || x[1][0] != source[1].derivative[0][0]; /* still there */
    sapporo_mpi_stepper_destroy(stepper);
    return good;
}

static void bind(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int k = 0; k < CPU_SETSIZE && CPU_COUNT(&set) == 0; k++) {
        CPU_SET(k, &set);
        if (sched_setaffinity(0, sizeof set, &set)) CPU_CLR(k, &set);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "bound") == 0) bind();
    ranks_begin(&argc, &argv);
    source = points_new(N);
    int bad = open_all(SAPPORO_MPI_WAY_SOURCES);
    if (!bad && argc > 1) report(1, "objects are open, and filled: %d", fill_all());
    if (argc > 1) { /* the shell looks at what is printed */
        sapporo_mpi_close(sums);
        sapporo_mpi_tree_destroy(tree);
        sapporo_mpi_stepper_destroy(stepper);
        return ranks_end();
    }
    bad = bad || fill_all();
    report(!bad, "a force is under way");
    const int status = ranks_end();
    const int sum = call_sums(), trees = call_tree(), steps = call_stepper();
    if (rank == 0)
        printf("%s - after MPI_Finalize: %d, %d, %d calls did not fail (%d ranks)\n",
               sum + trees + steps ? "not ok" : "ok", sum, trees, steps, ranks);
    free(source);
    return status || sum || trees || steps;
}
