/*
 * neighbours.c - the nearest neighbour and the neighbour list of a particle.
 *
 *   cc neighbours.c -lsapporo -o neighbours
 *   ./neighbours
 *
 * The list is read with room for two of its three members.  Of two particles at the same distance, the one with the
 * lower address is the nearest.
 *
 * It prints
 *
 *     nearest is 13 at distance^2 1
 *     2 of 3 neighbours: 11 12; the list is longer than the room given
 */
#include <sapporo.h>
#include <stdio.h>

int main(void)
{
    sapporo *context;
    sapporo_job *job;
    int list[2], n, total, nearest[1];
    double r2[1], x[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, -1}};
    const int index[4] = {10, 13, 11, 12};
    const double h2[1] = {4.5}, mass[4] = {0}; /* lists need no masses */
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}}, .mass = {mass, 0}, .index = {index, 0}};
    if (sapporo_open(NULL, &context) < 0 || sapporo_set_particles(context, 0, 4, &all) < 0) return 1;

    const sapporo_request request = {
        .size = sizeof request, .nj = 4, .ni = 1, .x = {x, 0}, .index = {index, 0}, .h2 = {h2, 0}, .eps2 = 1};
    const sapporo_result result = {.size = sizeof result, .nearest = nearest, .nearest_r2 = r2};
    if (sapporo_force_begin(context, &request, &job) < 0 || sapporo_force_end(job, 1, &result) < 0) return 1;
    printf("nearest is %d at distance^2 %g\n", nearest[0], r2[0]); /* 13, not 12: it has the lower address */
    const int status = sapporo_force_neighbours(job, 0, 2, &n, list, &total);
    printf("%d of %d neighbours: %d %d; %s\n", n, total, list[0], list[1], sapporo_status_text(status));
    sapporo_force_free(job);
    sapporo_close(context);
    return 0;
}
