/*
 * report.c - see report.h.
 */
#include "report.h"

#include <math.h>

/*
 * A sum that keeps the rounding errors of additions (Neumaier 1974): energies of two moments are compared to 1e-10 and
 * better, and a plain sum over a million particles is not accurate enough.
 */
typedef struct careful {
    double sum, lost;
} careful;

static void add(careful *total, double term)
{
    double next = total->sum + term;
    if (fabs(total->sum) >= fabs(term))
        total->lost += (total->sum - next) + term;
    else
        total->lost += (term - next) + total->sum;
    total->sum = next;
}

static double value(careful total) { return total.sum + total.lost; }

report report_make(const bodies *set, const double *pot)
{
    careful kinetic = {0, 0}, potential = {0, 0}, momentum[3] = {{0, 0}, {0, 0}, {0, 0}};
    for (int k = 0; k < set->n; k++) {
        const double *x = set->x[k], *v = set->v[k];
        double m = set->mass[k];
        add(&kinetic, 0.5 * m * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
        add(&potential, 0.5 * m * pot[k]); /* half: every pair counts twice */
        add(&momentum[0], m * (x[1] * v[2] - x[2] * v[1]));
        add(&momentum[1], m * (x[2] * v[0] - x[0] * v[2]));
        add(&momentum[2], m * (x[0] * v[1] - x[1] * v[0]));
    }
    report now = {.kinetic = value(kinetic), .potential = value(potential)};
    now.energy = now.kinetic + now.potential;
    for (int c = 0; c < 3; c++) now.momentum[c] = value(momentum[c]);
    now.spin =
        sqrt(now.momentum[0] * now.momentum[0] + now.momentum[1] * now.momentum[1] + now.momentum[2] * now.momentum[2]);
    now.virial = now.potential < 0 ? -now.kinetic / now.potential : 0;
    return now;
}

double report_energy_error(const report *now, const report *start)
{
    double difference = now->energy - start->energy;
    return start->energy != 0 ? difference / fabs(start->energy) : difference;
}
