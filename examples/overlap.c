/*
 * overlap.c - a force keeps the particles with which it began.
 *
 *   cc overlap.c -lsapporo -o overlap
 *   ./overlap
 *
 * Begins a force, stores another particle, begins a second force, and ends both.  On a GPU the forces are computed
 * while the program goes on.
 *
 * It prints
 *
 *     after:  acc 10.000, jerk 5.000, pot -20.000; on itself 0.000
 *     before: acc 1.000, jerk 0.500, pot -2.000; done: 1
 */
#include <sapporo.h>
#include <stdio.h>

int main(void)
{
    sapporo *context;
    sapporo_job *before, *after;
    sapporo_particle p = {.derivative = {{2, 0, 0}, {0, 1, 0}}, .mass = 4, .index = 1};
    const double x[2][3] = {{0, 0, 0}, {2, 0, 0}};
    const int index[2] = {0, 1};
    double acc[2][3], jerk[2][3], pot[2];
    if (sapporo_open(NULL, &context) < 0) return 1;
    sapporo_set_particle(context, 0, &p);

    const sapporo_request request = {
        .size = sizeof request, .nj = 1, .ni = 2, .x = {x, 0}, .index = {index, 0}, .eps2 = 0};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot};
    if (sapporo_force_begin(context, &request, &before) < 0) return 1;
    p.mass = 40;
    sapporo_set_particle(context, 0, &p);
    if (sapporo_force_begin(context, &request, &after) < 0) return 1;

    if (sapporo_force_end(after, 2, &result) < 0) return 1;
    printf("after:  acc %.3f, jerk %.3f, pot %.3f; on itself %.3f\n", acc[0][0], jerk[0][1], pot[0], acc[1][0]);
    if (sapporo_force_end(before, 2, &result) < 0) return 1;
    printf("before: acc %.3f, jerk %.3f, pot %.3f; done: %d\n", acc[0][0], jerk[0][1], pot[0],
           sapporo_force_done(before));
    sapporo_force_free(before);
    sapporo_force_free(after);
    sapporo_close(context);
    return 0;
}
