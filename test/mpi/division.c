/*
 * division.c - how evenly the ranks share the interactions of a tree: Plummer's model, octrees by the criterion of
 * acceleration.
 *
 * mpirun -n 32 division [N]: without N, 60,000 particles, whose bounds are tested; with N, a line with the interactions
 * of the rank that has most over the mean, of the second force and of the forces 3 to 8: the mean and the largest.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/worst.h"
#include "tree_problem.h"

enum { TESTED = 60000, FORCES = 8 };

/* The next number of a sequence, above 0 and below 1. */
static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

/* Plummer's model within 20 of its lengths. */
static struct model plummer(int n)
{
    struct model m = model_new(n);
    uint64_t state = 7;
    for (int i = 0; i < n; i++) {
        double r;
        do r = 1 / sqrt(pow(draw(&state), -2.0 / 3) - 1);
        while (r > 20);
        const double z = 2 * draw(&state) - 1, angle = 2 * acos(-1) * draw(&state), across = sqrt(1 - z * z);
        m.x[i][0] = r * across * cos(angle);
        m.x[i][1] = r * across * sin(angle);
        m.x[i][2] = r * z;
        m.mass[i] = 1.0 / n;
    }
    return m;
}

/* What the rank that has most has, in units of the mean. */
struct shares {
    double work, particles;
};

/* One build and force. */
static int share(sapporo_mpi_tree *t, const struct particles_of_rank *m, struct rows *r, struct shares *s)
{
    const sapporo_tree_particles columns = columns_of(&m->model, m->n);
    sapporo_mpi_tree_statistics k = {.size = sizeof k};
    int bad = sapporo_mpi_tree_build(t, &columns) || sapporo_mpi_tree_force(t, r->acc, r->pot);
    bad |= sapporo_mpi_tree_get_statistics(t, &k);
    const double mine[] = {(double)(k.particle_particle + k.particle_cell), k.n};
    double most[2], sum[2];
    ranks_combine_doubles(mine, most, 2, MPI_MAX);
    ranks_combine_doubles(mine, sum, 2, MPI_SUM);
    s->work = most[0] / sum[0] * ranks;
    s->particles = most[1] / sum[1] * ranks;
    return bad;
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    const int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : (int)TESTED;
    struct model all = plummer(n);
    struct particles_of_rank m = model_pick(&all, IN_TURN);
    struct rows r = rows_new(m.n);
    const sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_SP);
    sapporo_mpi_tree *const t = open_tree(&o);
    struct shares s[FORCES];
    double worst = 0, mean = 0, particles = 0;
    int bad = 0;
    for (int f = 0; f < FORCES; f++) {
        bad |= share(t, &m, &r, &s[f]);
        particles = worst_of(particles, s[f].particles);
        if (f < 2) continue;
        worst = worst_of(worst, s[f].work);
        mean += s[f].work / (FORCES - 2);
    }
    if (argc > 1 && rank == 0) printf("| %d | %d | %.2f | %.2f | %.2f |\n", n, ranks, s[1].work, mean, worst);
    if (argc == 1) report(!bad && s[1].work <= 1.1, "second force: interactions are %.3f of the mean", s[1].work);
    /* runs that do not begin at whole groups give 1.06 */
    if (argc == 1) report(!bad && worst <= 1.05, "later forces: interactions are %.3f of the mean", worst);
    if (argc == 1) report(!bad && particles <= 3, "particles are %.3f of the mean", particles);
    sapporo_mpi_tree_destroy(t);
    rows_free(&r);
    model_drop(&m);
    model_free(&all);
    return ranks_end();
}
