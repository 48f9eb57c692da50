/*
 * tree_speed.c - trees over the ranks of MPI: seconds and processor time of builds, refreshes and forces, and what
 * travels in a force.
 *
 *   mpicc -O2 -Iinclude test/mpi/tree_speed.c -Llib -lsapporo_mpi -lsapporo -Wl,-rpath,$PWD/lib -lm -o tree_speed
 *   OMP_NUM_THREADS=1 mpirun -n 2 --bind-to core ./tree_speed [N [REPEATS [ACCURACY]]]
 *
 * Plummer's model of N (default 65536) particles of equal mass within 20 of its lengths, the criterion of acceleration
 * (default accuracy 1/128).  In each of REPEATS (default 8) steps all ranks build, compute the forces on all particles
 * and refresh.  A line has the ranks, N, the shortest and the median of each time, of all ranks the
 * largest, and of the last force: the mean interactions per particle, the most of a rank over the mean of the ranks,
 * and the most cells, and particles, that a rank sent.  Processor time counts what a rank does; what it waits for a
 * busy machine is in the seconds alone.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <sapporo_mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

enum { MOST = 1000 };

static sapporo_mpi_tree *tree;

/* Particles of this rank, and the forces on them. */
static struct {
    int n;
    double (*x)[3], (*acc)[3], *mass, *pot;
} own;

/* Times of all steps; `work` are processor times.  The last: phases of a force. */
static struct {
    double build[MOST], force[MOST], refresh[MOST], build_work[MOST], force_work[MOST], refresh_work[MOST];
    double select[MOST], walk[MOST];
} times;

/* A point of Plummer's model, whose length is 1. */
static void make_point(double *x, unsigned long *state)
{
    double r = 0;
    do r = 1 / sqrt(pow(random_next(state) + 1e-12, -2.0 / 3) - 1);
    while (!(r < 20));
    const double z = 2 * random_next(state) - 1, angle = 2 * acos(-1) * random_next(state);
    x[0] = r * sqrt(1 - z * z) * cos(angle);
    x[1] = r * sqrt(1 - z * z) * sin(angle);
    x[2] = r * z;
}

static void make_particles(long n)
{
    own.n = share(n, rank + 1) - share(n, rank);
    own.x = memory((size_t)own.n, sizeof *own.x);
    own.acc = memory((size_t)own.n, sizeof *own.acc);
    own.mass = memory((size_t)own.n, sizeof *own.mass);
    own.pot = memory((size_t)own.n, sizeof *own.pot);
    unsigned long state = (unsigned long)rank + 1;
    for (int k = 0; k < own.n; k++) {
        make_point(own.x[k], &state);
        own.mass[k] = 1.0 / (double)n;
    }
}

/* The clocks at the start of something. */
struct clocks {
    double seconds, work;
};

static struct clocks start(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return (struct clocks){MPI_Wtime(), processor_time()};
}

/* Fails, or notes the times since `from` in step k. */
static void note(int failed, struct clocks from, double *seconds, double *work, int k)
{
    check(failed, sapporo_mpi_tree_last_error(tree));
    if (k < 0) return;
    seconds[k] = MPI_Wtime() - from.seconds;
    work[k] = processor_time() - from.work;
}

/* Step k; step -1 touches memory and finds the accelerations of the criterion. */
static void step(int k)
{
    const sapporo_tree_particles mine = {.size = sizeof mine, .n = own.n, .x = {own.x, 0}, .mass = {own.mass, 0}};
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    struct clocks now = start();
    note(sapporo_mpi_tree_build(tree, &mine), now, times.build, times.build_work, k);
    now = start();
    note(sapporo_mpi_tree_force(tree, own.acc, own.pot), now, times.force, times.force_work, k);
    check(sapporo_mpi_tree_get_statistics(tree, &s), "statistics");
    now = start();
    note(sapporo_mpi_tree_refresh(tree, &mine), now, times.refresh, times.refresh_work, k);
    if (k < 0) return;
    times.select[k] = s.seconds[SAPPORO_MPI_PHASE_SELECT];
    times.walk[k] = s.seconds[SAPPORO_MPI_PHASE_WALK] + s.seconds[SAPPORO_MPI_PHASE_IMPORTED];
}

/* Prints what the last force took of all ranks. */
static void print_counts(long n)
{
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    check(sapporo_mpi_tree_get_statistics(tree, &s), "statistics");
    const double mine = (double)(s.particle_particle + s.particle_cell);
    double most[4] = {mine, s.sent_cells, s.sent_particles, s.cells}, sum = mine;
    MPI_Allreduce(MPI_IN_PLACE, most, 4, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf(" interactions %.1f uneven %.3f cells %.0f particles %.0f tree %.0f\n", sum / (double)n,
               most[0] * ranks / sum, most[1], most[2], most[3]);
}

int main(int argc, char **argv)
{
    begin_ranks(&argc, &argv);
    const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 65536, repeats = argc > 2 ? strtol(argv[2], NULL, 10) : 8;
    const double accuracy = argc > 3 ? strtod(argv[3], NULL) : 1.0 / 128;
    check(n < 1 || repeats < 1 || repeats > MOST || !(accuracy > 0), "usage: tree_speed [N [REPEATS [ACCURACY]]]");
    make_particles(n);
    const sapporo_tree_options how = {
        .size = sizeof how, .mac = SAPPORO_MAC_ACCELERATION, .accuracy = accuracy, .eps2 = 1e-6};
    const sapporo_mpi_tree_options options = {.size = sizeof options, .tree = &how};
    check(sapporo_mpi_tree_create(MPI_COMM_WORLD, &options, &tree), sapporo_mpi_tree_last_error(NULL));
    for (int k = -1; k < repeats; k++) step(k);
    if (rank == 0) printf("ranks %d n %ld accuracy %g", ranks, n, accuracy);
    print_times("build", times.build, (int)repeats);
    print_times("force", times.force, (int)repeats);
    print_times("refresh", times.refresh, (int)repeats);
    print_times("build_work", times.build_work, (int)repeats);
    print_times("force_work", times.force_work, (int)repeats);
    print_times("refresh_work", times.refresh_work, (int)repeats);
    print_times("select", times.select, (int)repeats);
    print_times("walk", times.walk, (int)repeats);
    print_counts(n);
    sapporo_mpi_tree_destroy(tree);
    MPI_Finalize();
    return 0;
}
