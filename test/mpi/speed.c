/*
 * speed.c - forces on all particles over the ranks of MPI: seconds of a force, and processor time of each rank.
 *
 *   mpicc -O2 -Iinclude test/mpi/speed.c -Llib -lsapporo_mpi -lsapporo -Wl,-rpath,$PWD/lib -o mpi_speed
 *   OMP_NUM_THREADS=1 mpirun -n 2 --bind-to core ./mpi_speed [N [WAY [REPEATS [NI [active]]]]]
 *
 * N (default 16384) particles of equal mass in a cube, order 4, each rank has a part of them.  WAY: 0 the library's
 * choice (default), 1 targets travel, 2 sources travel.  In each of REPEATS (default 8) steps each rank stores its
 * particles, and they ask for the force on NI (default N) active ones, which they share equally.  With the word
 * `active` a step stores these NI alone, as a block step does.  Printed are the
 * shortest and the median seconds of a force, of storing, and of the processor time of a force; of all ranks the
 * largest counts.  Then follow the costs by which ways are chosen.  Processor time counts what a rank does; what it
 * waits for a busy machine is in the seconds alone.
 */
#define _POSIX_C_SOURCE 200809L
#include <sapporo_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

enum { MOST = 1000 };

static sapporo_mpi *all;

/* Particles of this rank, and the forces on them. */
static struct {
    int n, first, ni, stored; /* stored: in each step but the first */
    double (*x)[3], (*acc)[3], (*jerk)[3], *mass, *pot;
    int *address;
} own;

/* Times of all steps. */
static struct {
    double force[MOST], store[MOST], work[MOST];
} times;

static void make_particles(long n, long active, int all_stored)
{
    own.first = share(n, rank);
    own.n = share(n, rank + 1) - own.first;
    own.ni = share(active, rank + 1) - share(active, rank);
    own.stored = all_stored ? own.n : own.ni;
    const size_t room = (size_t)own.n;
    own.x = memory(room, sizeof *own.x);
    own.acc = memory(room, sizeof *own.acc);
    own.jerk = memory(room, sizeof *own.jerk);
    own.mass = memory(room, sizeof *own.mass);
    own.pot = memory(room, sizeof *own.pot);
    own.address = memory(room, sizeof *own.address);
    unsigned long state = (unsigned long)rank + 1;
    for (int k = 0; k < own.n; k++) {
        for (int axis = 0; axis < 3; axis++) own.x[k][axis] = 2 * random_next(&state) - 1;
        own.mass[k] = 1.0 / (double)n;
        own.address[k] = own.first + k;
    }
}

static void store(int n)
{
    const sapporo_column x = {own.x, 0};
    const sapporo_particles sources = {
        .size = sizeof sources, .derivative = {x, x, x, x, x}, .mass = {own.mass, 0}}; /* what they are costs nothing */
    check(sapporo_mpi_set_particles(all, n, own.address, &sources), sapporo_mpi_last_error(all));
}

static void force(int n)
{
    const sapporo_request request = {.size = sizeof request,
                                     .nj = n,
                                     .ni = own.ni,
                                     .x = {own.x, 0},
                                     .v = {own.x, 0},
                                     .index = {own.address, 0},
                                     .eps2 = 1e-4};
    const sapporo_result result = {.size = sizeof result, .acc = own.acc, .jerk = own.jerk, .pot = own.pot};
    sapporo_mpi_job *job;
    check(sapporo_mpi_force_begin(all, &request, &job), sapporo_mpi_last_error(all));
    check(sapporo_mpi_force_end(job, own.ni, &result), sapporo_mpi_last_error(all));
    sapporo_mpi_force_free(job);
}

/* Step k; step -1 touches memory and measures costs. */
static void step(int k, int n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    store(k < 0 ? own.n : own.stored);
    MPI_Barrier(MPI_COMM_WORLD);
    const double stored = MPI_Wtime(), before = processor_time();
    force(n);
    if (k < 0) return;
    times.work[k] = processor_time() - before;
    times.force[k] = MPI_Wtime() - stored;
    times.store[k] = stored - start;
}

static void print_costs(void)
{
    sapporo_mpi_costs c = {.size = sizeof c};
    if (sapporo_mpi_get_costs(all, &c) || rank != 0) return;
    printf("costs message %.3e byte %.3e force %.3e pair %.3e row %.3e store %.3e exchange %.3e\n", c.message, c.byte,
           c.force, c.pair, c.row, c.store, c.exchange);
}

int main(int argc, char **argv)
{
    begin_ranks(&argc, &argv);
    const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 16384, way = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    const long repeats = argc > 3 ? strtol(argv[3], NULL, 10) : 8, active = argc > 4 ? strtol(argv[4], NULL, 10) : n;
    const int few_stored = argc > 5 && strcmp(argv[5], "active") == 0;
    check(n < 1 || active < 1 || active > n || repeats < 1 || repeats > MOST || (argc > 5 && !few_stored),
          "usage: mpi_speed [N [WAY [REPEATS [NI [active]]]]]");
    make_particles(n, active, !few_stored);
    const sapporo_mpi_options options = {.size = sizeof options, .way = (sapporo_mpi_way)way};
    check(sapporo_mpi_open(MPI_COMM_WORLD, &options, &all), sapporo_mpi_last_error(NULL));
    for (int k = -1; k < repeats; k++) step(k, (int)n);
    if (rank == 0)
        printf("ranks %d n %ld ni %ld way %d stored %s", ranks, n, active, (int)sapporo_mpi_get_way(all),
               few_stored ? "active" : "all");
    print_times("force", times.force, (int)repeats);
    print_times("store", times.store, (int)repeats);
    print_times("work", times.work, (int)repeats);
    if (rank == 0) printf("\n");
    print_costs();
    sapporo_mpi_close(all);
    MPI_Finalize();
    return 0;
}
