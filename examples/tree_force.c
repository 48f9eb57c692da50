/*
 * tree_force.c - forces in O(N log N) from an octree.
 *
 *   cc tree_force.c -lsapporo -lm -o tree_force
 *   ./tree_force [N]
 *
 * Makes a Plummer sphere of N particles (default 20000; G = M = 1, scale radius 1, softening length 0.01) without
 * random numbers, builds a tree, and computes the forces on all particles.  Prints interactions per particle, the error
 * of some accelerations against direct sums, the potential energy of the system, which is -3 pi/32 = -0.2945 for many
 * particles, and the acceleration and potential of particle N / 2.
 */
#include <math.h>
#include <sapporo_tree.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1000000, ROWS = 20 };
static const double pi = 3.14159265358979324, eps2 = 1e-4;
static double x[MOST][3], mass[MOST], acc[MOST][3], pot[MOST];

/* The fractions of multiples of an irrational number are spread evenly between 0 and 1. */
static double spread(int k, double number)
{
    const double multiple = (k + 0.5) * number;
    return multiple - floor(multiple);
}

/* Particle k lies where the sphere contains the fraction (k + 1/2) / n of its mass. */
static void make_plummer(int n)
{
    for (int k = 0; k < n; k++) {
        const double radius = 1 / sqrt(pow((k + 0.5) / n, -2.0 / 3) - 1);
        const double z = 2 * spread(k, 0.61803398875) - 1, angle = 2 * pi * spread(k, 0.75487766625);
        x[k][0] = radius * sqrt(1 - z * z) * cos(angle);
        x[k][1] = radius * sqrt(1 - z * z) * sin(angle);
        x[k][2] = radius * z;
        mass[k] = 1.0 / n;
    }
}

/* The relative error of the acceleration of particle i, against the direct sum over all others. */
static double error(int n, int i)
{
    double a[3] = {0, 0, 0};
    for (int j = 0; j < n; j++) {
        const double r[3] = {x[j][0] - x[i][0], x[j][1] - x[i][1], x[j][2] - x[i][2]};
        const double r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + eps2, weight = mass[j] / (r2 * sqrt(r2));
        for (int axis = 0; axis < 3; axis++) a[axis] += weight * r[axis];
    }
    const double d[3] = {acc[i][0] - a[0], acc[i][1] - a[1], acc[i][2] - a[2]};
    return sqrt((d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]));
}

/* Sets the particles, builds the tree, computes the forces on all particles.  Returns the first negative status, or 0
 * or a positive status for success. */
static int compute(sapporo_tree *tree, int n)
{
    sapporo_tree_particles particles = {.size = sizeof particles, .n = n};
    sapporo_tree_request request = {.size = sizeof request, .ni = n}; /* targets: the particles 0 to n - 1 */
    particles.x.base = x;
    particles.mass.base = mass;
    int status = sapporo_tree_set(tree, &particles);
    if (status >= 0) status = sapporo_tree_build(tree);
    if (status >= 0) status = sapporo_tree_force(tree, &request, acc, pot);
    return status;
}

static int print(sapporo_tree *tree, int n)
{
    sapporo_tree_statistics statistics = {.size = sizeof statistics};
    const int status = sapporo_tree_get_statistics(tree, &statistics);
    if (status < 0) return status;
    double energy = 0, worst = 0;
    for (int k = 0; k < n; k++) energy += 0.5 * mass[k] * pot[k];
    for (int k = 0; k < ROWS; k++) {
        const double off = error(n, (int)((k + 0.5) * n / ROWS));
        if (!(off <= worst)) worst = isnan(off) ? INFINITY : off;
    }
    printf("# %s: %d particles in %d cells\n", sapporo_tree_kind_text(tree), n, statistics.cells);
    printf("# interactions per particle: %.0f with particles, %.0f with cells\n",
           (double)statistics.particle_particle / n, (double)statistics.particle_cell / n);
    printf("# largest relative error of %d accelerations %.2e, potential energy %.6f\n", ROWS, worst, energy);
    printf("%.8f %.8f %.8f  %.8f\n", acc[n / 2][0], acc[n / 2][1], acc[n / 2][2], pot[n / 2]);
    return status;
}

int main(int argc, char **argv)
{
    char *rest = "";
    const double number = argc > 1 ? strtod(argv[1], &rest) : 20000; /* 0 if it is not a number */
    if (!(number >= ROWS && number <= MOST) || *rest != 0) {
        fprintf(stderr, "usage: tree_force [N], N from %d to %d\n", ROWS, MOST);
        return 2;
    }
    const int n = (int)number;
    make_plummer(n);

    /* An opening angle of 0.5 (`accuracy`): smaller is more accurate and slower.  What is not set has its default. */
    const sapporo_tree_options options = {
        .size = sizeof options, .mac = SAPPORO_MAC_OPENING, .accuracy = 0.5, .eps2 = eps2};
    sapporo_tree *tree;
    int status = sapporo_tree_create(&options, n, &tree);
    if (status >= 0) status = compute(tree, n);
    if (status >= 0) status = print(tree, n);
    if (status < 0) {
        const char *text = tree != NULL ? sapporo_tree_last_error(tree) : sapporo_last_error(NULL);
        fprintf(stderr, "tree_force: %s: %s\n", sapporo_status_text(status), text);
    }
    sapporo_tree_destroy(tree);
    if (fflush(stdout) != 0) return perror("tree_force: standard output"), 1;
    return status < 0;
}
