/*
 * steppers.c - defects of steppers for the fuzzer's own test, linked in by -Wl,--wrap=sapporo_stepper_get and so on.
 *
 * FUZZ_PLANT=stale: a get without memory leaves a number.  =lost: a step without memory is made all the same.
 * =restored: a restore without memory says that the file is wrong.  =ends, =hangs: an energy without memory does.
 */
#include <stdlib.h>
#include <string.h>

#include "sapporo.h"

int __real_sapporo_stepper_get(sapporo_stepper *s, const sapporo_stepper_output *o);
int __real_sapporo_stepper_advance(sapporo_stepper *s, double time, long long steps);
int __real_sapporo_stepper_restore(sapporo_stepper *s, const char *path);
int __real_sapporo_stepper_energy(sapporo_stepper *s, sapporo_stepper_totals *totals);
int __wrap_sapporo_stepper_get(sapporo_stepper *s, const sapporo_stepper_output *o);
int __wrap_sapporo_stepper_advance(sapporo_stepper *s, double time, long long steps);
int __wrap_sapporo_stepper_restore(sapporo_stepper *s, const char *path);
int __wrap_sapporo_stepper_energy(sapporo_stepper *s, sapporo_stepper_totals *totals);

static int is_planted(const char *name)
{
    const char *const what = getenv("FUZZ_PLANT");
    return what && strcmp(what, name) == 0;
}

int __wrap_sapporo_stepper_get(sapporo_stepper *s, const sapporo_stepper_output *o)
{
    const int status = __real_sapporo_stepper_get(s, o);
    if (status == SAPPORO_ERR_MEMORY && o->mass && is_planted("stale")) o->mass[o->n - 1] = 1;
    return status;
}

int __wrap_sapporo_stepper_advance(sapporo_stepper *s, double time, long long steps)
{
    const int status = __real_sapporo_stepper_advance(s, time, steps);
    if (status == SAPPORO_ERR_MEMORY && is_planted("lost")) (void)__real_sapporo_stepper_advance(s, time, 0);
    return status;
}

int __wrap_sapporo_stepper_restore(sapporo_stepper *s, const char *path)
{
    const int status = __real_sapporo_stepper_restore(s, path);
    return status == SAPPORO_ERR_MEMORY && is_planted("restored") ? SAPPORO_ERR_ARGUMENT : status;
}

int __wrap_sapporo_stepper_energy(sapporo_stepper *s, sapporo_stepper_totals *totals)
{
    const int status = __real_sapporo_stepper_energy(s, totals);
    if (status == SAPPORO_ERR_MEMORY && is_planted("ends")) exit(0);
    if (status == SAPPORO_ERR_MEMORY && is_planted("hangs"))
        for (volatile int on = 1; on;) continue;
    return status;
}
