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

/*
 * A quotient is the double nearest to product / G, so it is no farther from it than the mass that made the product: its
 * own product rounds to the same double.
 */
void gravity_give(double G, const bodies *set, double *mass)
{
    for (int k = 0; k < set->n; k++) mass[k] = set->mass[k] / G;
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
