/*
 * leapfrog_g5.c - a leap-frog with constant steps on the GRAPE-5 calls: the shortest program that uses them well.
 *
 *   leapfrog_g5 [N [STEP [END [EPS]]]]
 *
 * N > 2 makes a Plummer sphere in N-body units (G = M = 1, E = -1/4); N = 2 a binary of eccentricity 0.7 with G = M =
 * a = 1, whose period is 2 pi.  Prints the total energy and its largest relative error on the way, which falls with
 * the square of the step.  Kick, drift, kick: velocities and positions meet at the ends of steps.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bodies.h"
#include "cluster.h"
#include "sapporo_g5.h"

struct force {
    double (*a)[3], *p;
};

/* At the pericentre, so that no step begins with a lucky phase. */
static int make_binary(bodies *set)
{
    const double e = 0.7, mass[2] = {0.75, 0.25};
    if (bodies_allocate(set, 2) < 0) return -1;
    for (int k = 0; k < 2; k++) {
        const double share = k == 0 ? -mass[1] : mass[0]; /* of the relative orbit */
        set->mass[k] = mass[k];
        set->x[k][0] = share * (1 - e);
        set->v[k][1] = share * sqrt((1 + e) / (1 - e));
    }
    return 0;
}

static int make_model(int n, bodies *set)
{
    cluster_request request = cluster_default();
    message why;
    if (n == 2) return make_binary(set);
    request.kind = CLUSTER_PLUMMER;
    request.n = n;
    if (cluster_make(&request, set, &why) == 0) return 0;
    fprintf(stderr, "leapfrog_g5: %s\n", why.text);
    return -1;
}

/* All j-particles go to the library before each force: they have moved. */
static int compute(const bodies *set, struct force *f)
{
    g5_set_xmj(0, set->n, set->x, set->mass);
    g5_set_n(set->n);
    return g5_calculate_force_on_x(set->x, f->a, f->p, set->n);
}

/* The potential of GRAPE-5 is positive, and contains the particle's own. */
static double total_energy(const bodies *set, const struct force *f, double eps)
{
    double potential = 0;
    for (int k = 0; k < set->n; k++) {
        const double own = eps > 0 ? set->mass[k] / eps : 0;
        potential -= 0.5 * set->mass[k] * (f->p[k] - own);
    }
    return bodies_kinetic(set) + potential;
}

static void kick(bodies *set, const struct force *f, double dt)
{
    for (int k = 0; k < set->n; k++)
        for (int axis = 0; axis < 3; axis++) set->v[k][axis] += f->a[k][axis] * dt;
}

static void drift(bodies *set, double dt)
{
    for (int k = 0; k < set->n; k++)
        for (int axis = 0; axis < 3; axis++) set->x[k][axis] += set->v[k][axis] * dt;
}

static int integrate(bodies *set, struct force *f, double step, double end, double eps)
{
    const long steps = (long)ceil(end / step - 1e-9);
    double worst = 0;
    if (compute(set, f) < 0) return -1;
    const double before = total_energy(set, f, eps);
    double energy = before;
    printf("# %d particles, energy %.12f\n", set->n, before);
    for (long k = 1; k <= steps; k++) {
        kick(set, f, step / 2);
        drift(set, step);
        if (compute(set, f) < 0) return -1;
        kick(set, f, step / 2);
        energy = total_energy(set, f, eps);
        worst = fmax(worst, fabs((energy - before) / before));
    }
    printf("# time %.4f, energy %.12f, largest relative error %.6e, %ld steps\n", (double)steps * step, energy, worst,
           steps);
    return 0;
}

static double argument(int argc, char **argv, int k, double otherwise)
{
    return argc > k ? strtod(argv[k], NULL) : otherwise;
}

int main(int argc, char **argv)
{
    const int n = (int)argument(argc, argv, 1, 1024);
    const double step = argument(argc, argv, 2, 1.0 / 128), end = argument(argc, argv, 3, 1);
    const double eps = argument(argc, argv, 4, n == 2 ? 0 : 1.0 / 32);
    bodies set;
    if (n < 2 || !(step > 0 && end >= 0 && eps >= 0)) {
        fprintf(stderr, "usage: leapfrog_g5 [N [STEP [END [EPS]]]]\n");
        return 2;
    }
    if (make_model(n, &set) < 0) return 1;
    struct force f = {malloc((size_t)n * sizeof *f.a), malloc((size_t)n * sizeof *f.p)};
    g5_open();
    g5_set_eps_to_all(eps);
    const int failed = f.a == NULL || f.p == NULL || integrate(&set, &f, step, end, eps) < 0;
    g5_close();
    free(f.a);
    free(f.p);
    bodies_free(&set);
    return failed; /* the library has said why */
}
