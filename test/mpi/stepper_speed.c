/*
 * stepper_speed.c - steppers of trees over the ranks of MPI: seconds of a step.
 *
 *   mpicc -O2 -Iinclude test/mpi/stepper_speed.c -Llib -lsapporo_mpi -lsapporo -Wl,-rpath,$PWD/lib -lm -o stepper_speed
 *   mpirun -n 2 --bind-to none ./stepper_speed [N [STEPS [BLOCK [OWN]]]]
 *
 * Plummer's model of N (default 65536) particles of equal mass at rest within 20 of its lengths, softened by 1/64, the
 * criterion of acceleration 1/128.  After 8 steps that are not timed come STEPS (default 32): shared ones of 1/1024, or
 * with BLOCK 1 block steps, of which the longest is 1/16.  OWN 1 (default): before, each rank gets the particles that
 * it walks, by sapporo_mpi_stepper_exchange; 0: ranks keep particles of all regions.
 *
 * A line has the mean time of a step, the particle steps per second, and the phases of a step on rank 0 in
 * milliseconds.
 */
#define _POSIX_C_SOURCE 200809L
#include <sapporo_mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

/* Gives a stepper the particles of this rank. */
static void set_particles(sapporo_mpi_stepper *s, long n)
{
    const int mine = share(n, rank + 1) - share(n, rank);
    double *const x = memory(3 * (size_t)mine, sizeof *x), *const v = memory(3 * (size_t)mine, sizeof *v);
    double *const mass = memory((size_t)mine, sizeof *mass);
    unsigned long state = (unsigned long)rank + 1;
    for (int k = 0; k < mine; k++) {
        make_point(x + 3 * (size_t)k, &state);
        mass[k] = 1.0 / (double)n;
    }
    const sapporo_stepper_particles p = {.size = sizeof p, .n = mine, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}};
    check(sapporo_mpi_stepper_set(s, &p), sapporo_mpi_stepper_last_error(s));
    free(x);
    free(v);
    free(mass);
}

static sapporo_stepper_statistics statistics_of(sapporo_mpi_stepper *s)
{
    sapporo_stepper_statistics all = {.size = sizeof all};
    check(sapporo_mpi_stepper_get_statistics(s, &all), "statistics");
    return all;
}

static void advance(sapporo_mpi_stepper *s, long steps)
{
    check(sapporo_mpi_stepper_advance(s, 1e6, steps) < 0, sapporo_mpi_stepper_last_error(s));
}

int main(int argc, char **argv)
{
    begin_ranks(&argc, &argv);
    const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 65536, steps = argc > 2 ? strtol(argv[2], NULL, 10) : 32;
    const long block = argc > 3 ? strtol(argv[3], NULL, 10) : 0, owns = argc > 4 ? strtol(argv[4], NULL, 10) : 1;
    check(n < 1 || steps < 1, "usage: stepper_speed [N [STEPS [BLOCK [OWN]]]]");
    const sapporo_tree_options tree = {
        .size = sizeof tree, .mac = SAPPORO_MAC_ACCELERATION, .accuracy = 1.0 / 128, .eps2 = 0x1p-12};
    const sapporo_stepper_options how = {.size = sizeof how,
                                         .tree = &tree,
                                         .scheme = block ? SAPPORO_STEPS_BLOCK : SAPPORO_STEPS_SHARED,
                                         .dt = block ? 1.0 / 16 : 1.0 / 1024};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &how};
    sapporo_mpi_stepper *s;
    check(sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, (int)(2 * n / ranks + 1), &s),
          sapporo_mpi_stepper_last_error(NULL));
    set_particles(s, n);
    if (owns) check(sapporo_mpi_stepper_exchange(s), sapporo_mpi_stepper_last_error(s));
    advance(s, 8);
    const sapporo_stepper_statistics before = statistics_of(s);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    advance(s, steps);
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start;
    const sapporo_stepper_statistics after = statistics_of(s);
    if (rank == 0) {
        const double all = (double)(after.particle_steps - before.particle_steps);
        printf("ranks %d n %ld block %ld own %ld step %.6f rate %.4g builds %lld", ranks, n, block, owns,
               seconds / (double)steps, all / seconds, after.builds - before.builds);
        for (int k = 0; k < SAPPORO_STEP_PHASES; k++) printf(" %.3f", 1e3 * after.seconds[k]);
        printf("\n");
    }
    sapporo_mpi_stepper_destroy(s);
    MPI_Finalize();
    return 0;
}
