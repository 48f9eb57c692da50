/*
 * integrate.c - orbits by the library: a star cluster whose particles stay where the forces are computed.
 *
 *   cc integrate.c -lsapporo -lm -o integrate
 *   ./integrate [N [FILE]]
 *
 * Makes a Plummer sphere of N stars on circular orbits (default 20000; G = M = 1, scale radius 1, softening length
 * 0.05), without random numbers.  Its energy is -3 pi/64 = -0.1473 for many stars.  Follows it by block steps to time 4
 * and prints the energy at each unit of time.  With FILE it saves the stars at half of the time, goes on in another
 * stepper that reads the file, and ends with the same numbers.
 */
#include <math.h>
#include <sapporo.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1000000, END = 4 };
static const double pi = 3.14159265358979324, eps = 0.05;
static double x[MOST][3], v[MOST][3], mass[MOST];

/* The fractions of multiples of an irrational number are spread evenly between 0 and 1. */
static double spread(int k, double number)
{
    const double multiple = (k + 0.5) * number;
    return multiple - floor(multiple);
}

/* Star k lies where the sphere contains the fraction (k + 1/2) / n of its mass.  Its speed is that of a circular orbit.
 * The direction across the radius is a combination of the unit vectors east and north. */
static void make_cluster(int n)
{
    for (int k = 0; k < n; k++) {
        const double radius = 1 / sqrt(pow((k + 0.5) / n, -2.0 / 3) - 1);
        const double z = 2 * spread(k, 0.61803398875) - 1, angle = 2 * pi * spread(k, 0.75487766625);
        const double turn = 2 * pi * spread(k, 0.41421356237), side = sqrt(1 - z * z);
        const double speed = radius / pow(1 + radius * radius, 0.75);
        const double out[3] = {side * cos(angle), side * sin(angle), z}, east[3] = {-sin(angle), cos(angle), 0};
        const double north[3] = {-z * cos(angle), -z * sin(angle), side};
        for (int axis = 0; axis < 3; axis++) {
            x[k][axis] = radius * out[axis];
            v[k][axis] = speed * (cos(turn) * east[axis] + sin(turn) * north[axis]);
        }
        mass[k] = 1.0 / n;
    }
}

/* Prints the energy, and how far it is from the energy at the start. */
static int print(sapporo_stepper *stepper, double *start)
{
    sapporo_stepper_totals totals = {.size = sizeof totals};
    sapporo_stepper_statistics done = {.size = sizeof done};
    if (sapporo_stepper_energy(stepper, &totals) < 0 || sapporo_stepper_get_statistics(stepper, &done) < 0) return -1;
    const double energy = totals.kinetic + totals.potential + totals.field;
    if (totals.time == 0) *start = energy;
    printf("time %g: energy %.6f, relative error %.1e, %lld block steps\n", totals.time, energy, energy / *start - 1,
           done.steps);
    return 0;
}

/* Integrates; with a file through two steppers.  *stepper is the last one. */
static int run(const sapporo_stepper_options *options, int n, const char *file, sapporo_stepper **stepper)
{
    sapporo_stepper_particles stars = {
        .size = sizeof stars, .n = n, .x = {.base = x}, .v = {.base = v}, .mass = {.base = mass}};
    double start = 0;
    if (sapporo_stepper_create(options, n, stepper) < 0 || sapporo_stepper_set(*stepper, &stars) < 0) return -1;
    if (print(*stepper, &start) < 0) return -1;
    for (int time = 1; time <= END; time++) {
        if (sapporo_stepper_advance(*stepper, time, 0) < 0 || print(*stepper, &start) < 0) return -1;
        if (file == NULL || time != END / 2) continue;
        if (sapporo_stepper_save(*stepper, file) < 0) return -1;
        sapporo_stepper_destroy(*stepper);
        if (sapporo_stepper_create(options, n, stepper) < 0 || sapporo_stepper_restore(*stepper, file) < 0) return -1;
    }
    sapporo_stepper_output output = {.size = sizeof output, .n = n, .x = x, .v = v};
    if (sapporo_stepper_get(*stepper, &output) < 0) return -1; /* the stars come back to the arrays of the program */
    printf("star %d: %.6f %.6f %.6f\n", n / 2, x[n / 2][0], x[n / 2][1], x[n / 2][2]);
    return 0;
}

int main(int argc, char **argv)
{
    char *rest = "";
    const double number = argc > 1 ? strtod(argv[1], &rest) : 20000; /* 0 if it is not a number */
    if (!(number >= 2 && number <= MOST) || *rest != 0) {
        fprintf(stderr, "usage: integrate [N [FILE]], N from 2 to %d\n", MOST);
        return 2;
    }
    make_cluster((int)number);

    /* The tree by the criterion of acceleration; each star's step is 1/16 or shorter by a power of two. */
    const sapporo_tree_options tree = {.size = sizeof tree, .mac = SAPPORO_MAC_ACCELERATION, .eps2 = eps * eps};
    const sapporo_stepper_options options = {
        .size = sizeof options, .tree = &tree, .scheme = SAPPORO_STEPS_BLOCK, .dt = 1.0 / 16};
    sapporo_stepper *stepper = NULL;
    const int status = run(&options, (int)number, argc > 2 ? argv[2] : NULL, &stepper);
    if (status < 0)
        fprintf(stderr, "integrate: %s\n",
                stepper != NULL ? sapporo_stepper_last_error(stepper) : sapporo_last_error(NULL));
    sapporo_stepper_destroy(stepper);
    if (fflush(stdout) != 0) return perror("integrate: standard output"), 1;
    return status < 0;
}
