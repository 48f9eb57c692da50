/*
 * first_force.c - the forces of four particles on each other, by the native interface.
 *
 *   cc first_force.c -lsapporo -lm -o first_force
 *   ./first_force
 *
 * Shows how to open a context, store source particles, begin a force, wait for its results, and look at the status of
 * each call.  Prints the engine that computed, and one line for each particle: mass, position, acceleration, potential.
 * G = 1, and the softening length is 0.1.
 */
#include <sapporo.h>
#include <stdio.h>

enum { N = 4 };
static const double mass[N] = {1, 2, 3, 4};
static const double x[N][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, -3}};
static const double eps = 0.1;

/* Prints which call failed and why.  `status` < 0 is an error; 0 is success; > 0 is success with a remark. */
static int failed(int status, const sapporo *context, const char *call)
{
    if (status >= 0) return 0;
    fprintf(stderr, "first_force: %s: %s: %s\n", call, sapporo_status_text(status), sapporo_last_error(context));
    return 1;
}

/* Stores the particles as sources, at addresses 0 to N - 1.  A column that is absent (velocities, times) counts as 0.
 */
static int store(sapporo *context)
{
    sapporo_particles particles = {.size = sizeof particles};
    particles.derivative[0].base = x; /* derivative 0 is the position, 1 the velocity, ... */
    particles.mass.base = mass;
    return failed(sapporo_set_particles(context, 0, N, &particles), context, "sapporo_set_particles");
}

/* Computes the forces on the same particles as targets.  Returns 0, or 1 after a message. */
static int compute(sapporo *context, double acc[N][3], double pot[N])
{
    /* A source acts on a target unless their indices are equal.  The index of a stored particle is its address. */
    const int index[N] = {0, 1, 2, 3};
    sapporo_request request = {.size = sizeof request, .nj = N, .ni = N, .eps2 = eps * eps};
    sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    sapporo_job *job;
    request.x.base = x;
    request.index.base = index;
    if (failed(sapporo_force_begin(context, &request, &job), context, "sapporo_force_begin")) return 1;
    const int status = sapporo_force_end(job, N, &result); /* waits until the force is ready */
    sapporo_force_free(job);
    return failed(status, context, "sapporo_force_end");
}

int main(void)
{
    sapporo *context;
    double acc[N][3], pot[N];

    /* NULL instead of options: the best device here, or what SAPPORO_BACKEND and SAPPORO_PRECISION say. */
    if (failed(sapporo_open(NULL, &context), NULL, "sapporo_open")) return 1;
    const int bad = store(context) || compute(context, acc, pot);
    if (!bad) {
        printf("# %s, softening length %.3f\n", sapporo_kind(context), eps);
        printf("# mass, position, acceleration, potential\n");
        for (int k = 0; k < N; k++)
            printf("%g  %g %g %g  %.8f %.8f %.8f  %.8f\n", mass[k], x[k][0], x[k][1], x[k][2], acc[k][0], acc[k][1],
                   acc[k][2], pot[k]);
    }
    sapporo_close(context);
    if (fflush(stdout) != 0) return perror("first_force: standard output"), 1;
    return bad;
}
