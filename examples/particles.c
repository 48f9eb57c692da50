/*
 * particles.c - an array of structs is stored as it is, and particles are read back predicted.
 *
 *   cc particles.c -lsapporo -o particles
 *   ./particles
 *
 * The columns of a call have a stride, so members of a struct need no copy.  A second call replaces star 8.
 *
 * It prints
 *
 *     7: m 1, x 0.5 0.5 0, v 1 2 0 at 0.5
 *     9: m 3, x 9 9 9, v 0 0 0 at 0.5
 */
#include <sapporo.h>
#include <stdio.h>

struct star {
    int name;
    double m, x[3], v[3], a[3];
};

int main(void)
{
    sapporo *context;
    const struct star star[2] = {{7, 1.0, {0, 0, 0}, {1, 0, 0}, {0, 4, 0}}, {8, 2.0, {5, 0, 0}, {0, 0, 0}, {0, 0, 0}}};
    const ptrdiff_t step = sizeof star[0];
    const sapporo_particles all = {.size = sizeof all,
                                   .derivative = {{star[0].x, step}, {star[0].v, step}, {star[0].a, step}},
                                   .mass = {&star[0].m, step},
                                   .index = {&star[0].name, step}};
    sapporo_particle p = {.derivative = {{9, 9, 9}}, .mass = 3, .index = 9};
    if (sapporo_open(NULL, &context) < 0) return 1;
    if (sapporo_set_particles(context, 0, 2, &all) < 0) return 1;
    if (sapporo_set_particle(context, 1, &p) < 0) return 1; /* replaces star 8 */

    sapporo_set_time(context, 0.5);
    for (int address = 0; address < 2; address++) {
        if (sapporo_get_particle(context, address, 1, &p) < 0) return 1;
        const double *x = p.derivative[0], *v = p.derivative[1];
        printf("%d: m %g, x %g %g %g, v %g %g %g at %g\n", p.index, p.mass, x[0], x[1], x[2], v[0], v[1], v[2], p.time);
    }
    sapporo_clear_particles(context);
    sapporo_close(context);
    return 0;
}
