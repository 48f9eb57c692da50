/*
 * hermite_g6.c - a Hermite integrator of fourth order with one step for all particles, by the GRAPE-6 calls.
 *
 *   cc hermite_g6.c -lsapporo -lm -o hermite_g6
 *   ./hermite_g6 [STEPS]
 *
 * Integrates three equal masses that follow each other on a figure of eight (Chenciner & Montgomery 2000, Annals of
 * Mathematics 152, 881; numbers by Simo in that paper) for one period, in STEPS equal steps (default 1000).  Prints the
 * relative error of the energy, and how far the particles are from where they started.  The error of the energy falls
 * with the fourth power of the step or faster, until the precision of the forces limits it (SAPPORO_PRECISION=dp is
 * better than the default).  An error above 0.01 gives a warning and exit status 1.
 */
#include <math.h>
#include <sapporo_g6.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLUSTER = 0, N = 3, MOST = 1000000000 };
static const double period = 6.32591398;
static double x[N][3] = {{0.97000436, -0.24308753, 0}, {-0.97000436, 0.24308753, 0}, {0, 0, 0}};
static double v[N][3] = {{0.466203685, 0.43236573, 0}, {0.466203685, 0.43236573, 0}, {-0.93240737, -0.86473146, 0}};
static double acc[N][3], jerk[N][3], pot[N];
static int index[N] = {1, 2, 3}; /* a source does not act on the target of the same index */

/* Stores all particles as sources at time t.  The interface wants the acceleration over 2 and the jerk over 6. */
static int store(double t, double dt)
{
    for (int k = 0; k < N; k++) {
        double snap18[3] = {0, 0, 0}, jerk6[3], acc2[3];
        for (int axis = 0; axis < 3; axis++) {
            jerk6[axis] = jerk[k][axis] / 6;
            acc2[axis] = acc[k][axis] / 2;
        }
        if (g6_set_j_particle(CLUSTER, k, index[k], t, dt, 1, snap18, jerk6, acc2, v[k], x[k]) != 0) return -1;
    }
    return 0;
}

/* Computes acceleration, jerk and potential at time t of targets at xi with velocities vi, from the stored sources,
 * which the library predicts to t. */
static int compute(double t, double (*xi)[3], double (*vi)[3])
{
    double h2[N] = {0}; /* squared radii of neighbour spheres: none are wanted */
    if (g6_set_ti(CLUSTER, t) != 0) return -1;
    g6calc_firsthalf(CLUSTER, N, N, index, xi, vi, acc, jerk, pot, 0, h2);
    return g6calc_lasthalf(CLUSTER, N, N, index, xi, vi, 0, h2, acc, jerk, pot);
}

/* One step: predict, compute, correct (Makino & Aarseth 1992, PASJ 44, 141), store. */
static int step(double t, double dt)
{
    double xp[N][3], vp[N][3], a0[N][3], j0[N][3];
    for (int k = 0; k < N; k++)
        for (int i = 0; i < 3; i++) {
            a0[k][i] = acc[k][i];
            j0[k][i] = jerk[k][i];
            xp[k][i] = x[k][i] + dt * (v[k][i] + dt / 2 * (a0[k][i] + dt / 3 * j0[k][i]));
            vp[k][i] = v[k][i] + dt * (a0[k][i] + dt / 2 * j0[k][i]);
        }
    if (compute(t + dt, xp, vp) != 0) return -1;
    for (int k = 0; k < N; k++)
        for (int i = 0; i < 3; i++) {
            const double v0 = v[k][i];
            v[k][i] = v0 + dt / 2 * (a0[k][i] + acc[k][i]) + dt * dt / 12 * (j0[k][i] - jerk[k][i]);
            x[k][i] += dt / 2 * (v0 + v[k][i]) + dt * dt / 12 * (a0[k][i] - acc[k][i]);
        }
    return store(t + dt, dt);
}

/* The total energy; the potential of GRAPE-6 is negative. */
static double total_energy(void)
{
    double energy = 0;
    for (int k = 0; k < N; k++) energy += 0.5 * (v[k][0] * v[k][0] + v[k][1] * v[k][1] + v[k][2] * v[k][2] + pot[k]);
    return energy;
}

/* Returns -1 if the library fails, 1 after a warning that the energy is not conserved. */
static int integrate(long steps)
{
    const double dt = period / (double)steps;
    double start[N][3], distance = 0;
    for (int k = 0; k < N; k++)
        for (int i = 0; i < 3; i++) start[k][i] = x[k][i];
    if (store(0, dt) != 0 || compute(0, x, v) != 0 || store(0, dt) != 0) return -1; /* again, with derivatives */
    const double before = total_energy();
    for (long k = 0; k < steps; k++)
        if (step((double)k * dt, dt) != 0) return -1;
    if (compute(period, x, v) != 0) return -1; /* the potential at the corrected positions */
    for (int k = 0; k < N; k++) distance = fmax(distance, hypot(x[k][0] - start[k][0], x[k][1] - start[k][1]));
    const double error = total_energy() / before - 1;
    printf("# energy %.10f\n", before);
    printf("# after one period of %ld steps: energy error %.3e, distance from start %.3e\n", steps, error, distance);
    if (fabs(error) <= 1e-2) return 0;
    fprintf(stderr, "hermite_g6: the energy is not conserved: use more STEPS\n");
    return 1;
}

int main(int argc, char **argv)
{
    char *rest = "";
    const double steps = argc > 1 ? strtod(argv[1], &rest) : 1000; /* 0 if it is not a number */
    if (!(steps >= 1 && steps <= MOST) || *rest != 0) {
        fprintf(stderr, "usage: hermite_g6 [STEPS], 1 to %d steps\n", MOST);
        return 2;
    }
    const int bad = g6_open(CLUSTER) != 0 ? -1 : integrate((long)steps);
    if (bad < 0) fprintf(stderr, "hermite_g6: the library cannot compute the forces\n"); /* it has printed why */
    if (fflush(stdout) != 0) return perror("hermite_g6: standard output"), 1;
    return g6_close(CLUSTER) != 0 || bad;
}
