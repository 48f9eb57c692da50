/*
 * stepper_speed.c - steppers over the ranks of MPI, of trees or by Hermite schemes: seconds of a step.
 *
 *   mpicc -O2 -Iinclude test/mpi/stepper_speed.c -Llib -lsapporo_mpi -lsapporo -Wl,-rpath,$PWD/lib -lm -o stepper_speed
 *   mpirun -n 2 --bind-to none ./stepper_speed [N [STEPS [BLOCK [OWN]]]]
 *
 * Plummer's model of N (default 65536) particles of equal mass at rest within 20 of its lengths, softened by 1/64, the
 * criterion of acceleration 1/128.  After 8 steps that are not timed come STEPS (default 32): shared ones of 1/1024, or
 * with BLOCK 1 block steps, of which the longest is 1/16.  With BLOCK 4, 6 or 8 the particles move as in equilibrium,
 * by block steps of the Hermite scheme of that order over direct sums, eta 0.01, softened by 1/256.  OWN 1 (default):
 * before, each rank gets the particles that it walks, by sapporo_mpi_stepper_exchange; 0: ranks keep particles of all
 * regions.
 *
 * A line has the mean time of a step, the particle steps per second, and the phases of a step on rank 0 in
 * milliseconds.
 */
#define _POSIX_C_SOURCE 200809L
#include <sapporo_mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

/* A velocity at a place of Plummer's model: the dispersion there, of a sum of uniform numbers along each axis. */
static void make_velocity(const double *x, double *v, unsigned long *state)
{
    enum { TERMS = 12 };
    const double dispersion = sqrt(1 / (6 * sqrt(1 + x[0] * x[0] + x[1] * x[1] + x[2] * x[2])));
    for (int c = 0; c < 3; c++) {
        double sum = -TERMS / 2.0;
        for (int k = 0; k < TERMS; k++) sum += random_next(state);
        v[c] = dispersion * sum;
    }
}

/* Gives a stepper the particles of this rank. */
static void set_particles(sapporo_mpi_stepper *s, long n, int moves)
{
    const int mine = share(n, rank + 1) - share(n, rank);
    double *const x = memory(3 * (size_t)mine, sizeof *x), *const v = memory(3 * (size_t)mine, sizeof *v);
    double *const mass = memory((size_t)mine, sizeof *mass);
    unsigned long state = (unsigned long)rank + 1;
    for (int k = 0; k < mine; k++) {
        make_point(x + 3 * (size_t)k, &state);
        if (moves) make_velocity(x + 3 * (size_t)k, v + 3 * (size_t)k, &state);
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
    const int order = block > 1 ? (int)block : 0;
    const sapporo_tree_options tree = {.size = sizeof tree,
                                       .mac = SAPPORO_MAC_ACCELERATION,
                                       .accuracy = 1.0 / 128,
                                       .precision = order == 4  ? SAPPORO_DS
                                                    : order > 4 ? SAPPORO_DP
                                                                : SAPPORO_PRECISION_DEFAULT,
                                       .eps2 = order ? 0x1p-16 : 0x1p-12};
    const sapporo_stepper_options how = {.size = sizeof how,
                                         .tree = &tree,
                                         .eta = order ? 0.01 : 0,
                                         .scheme = order == 4   ? SAPPORO_STEPS_HERMITE4
                                                   : order == 6 ? SAPPORO_STEPS_HERMITE6
                                                   : order == 8 ? SAPPORO_STEPS_HERMITE8
                                                   : block      ? SAPPORO_STEPS_BLOCK
                                                                : SAPPORO_STEPS_SHARED,
                                         .dt = block ? 1.0 / 16 : 1.0 / 1024};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &how};
    sapporo_mpi_stepper *s;
    check(sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, (int)(2 * n / ranks + 1), &s),
          sapporo_mpi_stepper_last_error(NULL));
    set_particles(s, n, order > 0);
    if (owns && !order) check(sapporo_mpi_stepper_exchange(s), sapporo_mpi_stepper_last_error(s));
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
