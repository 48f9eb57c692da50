/*
 * orbit.c - a star of mass 0 on a circle in the field of a point mass, in block steps.
 *
 *   cc orbit.c -lsapporo -o orbit
 *   ./orbit
 *
 * A stepper moves the star where the engine computes, and stops at the last step before the time that was asked for.
 *
 * It prints
 *
 *     time 3: -0.990 0.141
 */
#include <sapporo.h>
#include <stdio.h>

int main(void)
{
    double x[1][3] = {{1, 0, 0}}, v[1][3] = {{0, 1, 0}}, mass[1] = {0};
    sapporo_field sun = {SAPPORO_FIELD_POINT, 1, 0, 0, {0, 0, 0}};
    sapporo_stepper_options options = {.size = sizeof options,
                                       .scheme = SAPPORO_STEPS_BLOCK,
                                       .criterion = SAPPORO_STEP_BY_CHANGE,
                                       .dt = 0.25,
                                       .eta = 0.01,
                                       .nfields = 1,
                                       .fields = &sun};
    sapporo_stepper_particles star = {.size = sizeof star, .n = 1, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}};
    sapporo_stepper_output output = {.size = sizeof output, .n = 1, .x = x};
    sapporo_stepper *stepper;
    if (sapporo_stepper_create(&options, 1, &stepper)) return puts(sapporo_last_error(NULL)), 1;
    if (sapporo_stepper_set(stepper, &star) || sapporo_stepper_advance(stepper, 3, 0) ||
        sapporo_stepper_get(stepper, &output))
        return puts(sapporo_stepper_last_error(stepper)), 1;
    printf("time %g: %.3f %.3f\n", sapporo_stepper_get_time(stepper), x[0][0], x[0][1]);
    sapporo_stepper_destroy(stepper);
    return 0;
}
