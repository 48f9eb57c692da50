/*
 * grape.c - a client that has its own MPI, in the manner of phiGRAPE and ph4: each rank opens its own GRAPE, keeps a
 * part of the particles there, computes the force of that part on all active particles, and the ranks add the partial
 * forces by MPI_Allreduce.
 */
#include <math.h>
#include <stdlib.h>

#include "../support/worst.h"
#include "ranks.h"
#include "sapporo_g6.h"

enum { N = 3000, ACTIVE = 48, CLUSTER = 0 };

/* acc, jerk and potential of one particle, as they are added. */
struct force {
    double acc[3], jerk[3], pot;
};

/* The force on all active particles from particles from .. to-1, on a GRAPE that holds these alone. */
static int partial_force(struct point *p, int from, int to, struct force *out)
{
    double zero[3] = {0}, h2[ACTIVE] = {0}, pot[ACTIVE] = {0};
    double x[ACTIVE][3], v[ACTIVE][3], acc[ACTIVE][3] = {{0}}, jerk[ACTIVE][3] = {{0}};
    int index[ACTIVE];
    if (g6_open(CLUSTER)) return 1;
    for (int k = from; k < to; k++)
        if (g6_set_j_particle(CLUSTER, k - from, k, 0, 0, p[k].mass, zero, zero, zero, p[k].derivative[1],
                              p[k].derivative[0]))
            return 1;
    g6_set_ti(CLUSTER, 0);
    for (int i = 0; i < ACTIVE; i++) {
        index[i] = i;
        for (int axis = 0; axis < 3; axis++) {
            x[i][axis] = p[i].derivative[0][axis];
            v[i][axis] = p[i].derivative[1][axis];
        }
    }
    g6calc_firsthalf(CLUSTER, to - from, ACTIVE, index, x, v, acc, jerk, pot, 0x1p-12, h2);
    const int failed = g6calc_lasthalf(CLUSTER, to - from, ACTIVE, index, x, v, 0x1p-12, h2, acc, jerk, pot);
    for (int i = 0; i < ACTIVE; i++) {
        out[i].pot = pot[i];
        for (int axis = 0; axis < 3; axis++) {
            out[i].acc[axis] = acc[i][axis];
            out[i].jerk[axis] = jerk[i][axis];
        }
    }
    g6_close(CLUSTER);
    return failed;
}

static double difference(const double *a, const double *b)
{
    double size = 0, error = 0;
    for (int axis = 0; axis < 3; axis++) {
        size += a[axis] * a[axis];
        error += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    }
    return sqrt(error / size);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    struct point *const p = points_new(N);
    struct force mine[ACTIVE] = {0}, sum[ACTIVE] = {0}, whole[ACTIVE] = {0};
    const int share = (N + ranks - 1) / ranks, from = rank * share < N ? rank * share : N;
    const int to = from + share < N ? from + share : N;
    int failed = partial_force(p, from, to, mine);
    const int count = (int)(ACTIVE * sizeof *mine / sizeof(double));
    MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    failed |= partial_force(p, 0, N, whole);
    double worst = 0;
    for (int i = 0; i < ACTIVE; i++) {
        worst = worst_of(worst, difference(whole[i].acc, sum[i].acc));
        worst = worst_of(worst, difference(whole[i].jerk, sum[i].jerk));
        worst = worst_of(worst, fabs(sum[i].pot / whole[i].pot - 1));
    }
    /* packets of a part hold other particles than those of the whole: pair terms are added in float, in another order
     */
    report(!failed && worst < 2e-5, "each rank with a GRAPE of its own: partial forces add up to %.1e", worst);
    free(p);
    return ranks_end();
}
