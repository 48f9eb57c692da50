/* units.c - see units.h. */
#include "units.h"

#include <math.h>
#include <stdlib.h>

enum { ORDINARY = 16 }; /* powers of two of lengths and times that need no unit */

units units_choose(const bodies *set)
{
    double largest = 0, whole = 0;
    int length, mass;
    for (int k = 0; k < set->n; k++) {
        for (int c = 0; c < 3; c++) largest = fmax(largest, fabs(set->x[k][c]));
        whole += fabs(set->mass[k]);
    }
    (void)frexp(largest, &length);
    (void)frexp(whole, &mass);
    const int64_t twice = 3 * (int64_t)length - mass, time = (twice - (twice % 2 ? 1 : 0)) / 2; /* t^2 = l^3 / m */
    const int is_ordinary = abs(length) <= ORDINARY && time >= -ORDINARY && time <= ORDINARY;
    if (is_ordinary || !(largest > 0 && whole > 0 && isfinite(whole))) return (units){0, 0, 0};
    return (units){length, time, 3 * (int64_t)length - 2 * time};
}

/* Multiplies n numbers by 2^power, exactly. */
static void scale(double *number, int n, int64_t power)
{
    for (int k = 0; power != 0 && k < n; k++) number[k] = ldexp(number[k], (int)power);
}

static void scale_all(const units *unit, bodies *set, int sign)
{
    scale(set->mass, set->n, sign * unit->mass);
    scale(set->x[0], 3 * set->n, sign * unit->length);
    scale(set->v[0], 3 * set->n, sign * (unit->length - unit->time));
}

void units_take(const units *unit, bodies *set) { scale_all(unit, set, -1); }

void units_give(const units *unit, bodies *set) { scale_all(unit, set, 1); }

double units_length(const units *unit, double length) { return ldexp(length, (int)-unit->length); }

double units_time(const units *unit, double time) { return ldexp(time, (int)-unit->time); }

double units_give_potential(const units *unit, double potential)
{
    return ldexp(potential, (int)(2 * (unit->length - unit->time)));
}
