/* gravity.c - see gravity.h. */
#include "gravity.h"

#include <math.h>

int gravity_take(double G, bodies *set, message *why)
{
    for (int k = 0; k < set->n; k++) {
        const double mass = set->mass[k] * G;
        if (!isfinite(mass) || (mass == 0 && set->mass[k] > 0))
            return complain(why, "the mass %g of particle %lld times G = %g does not fit into a double", set->mass[k],
                            set->id[k], G);
        set->mass[k] = mass;
    }
    return 0;
}

/* Returns a mass that, times G, is `product`. */
static double mass_of(double product, double G)
{
    const double near = product / G, above = nextafter(near, INFINITY), below = nextafter(near, 0);
    if (near * G == product) return near;
    if (above * G == product) return above;
    return below * G == product ? below : near;
}

void gravity_give(double G, const bodies *set, double *mass)
{
    for (int k = 0; k < set->n; k++) mass[k] = mass_of(set->mass[k], G);
}

report gravity_report(double G, report now)
{
    now.kinetic /= G;
    now.potential /= G;
    now.energy /= G;
    now.spin /= G;
    for (int c = 0; c < 3; c++) now.momentum[c] /= G;
    return now;
}
