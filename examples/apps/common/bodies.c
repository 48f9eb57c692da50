/*
 * bodies.c - see bodies.h.
 */
#include "bodies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIR_SUM_LIMIT = 32768 };

int bodies_allocate(bodies *set, int n)
{
    size_t room = n > 0 ? (size_t)n : 1;
    memset(set, 0, sizeof *set);
    set->id = calloc(room, sizeof *set->id);
    set->mass = calloc(room, sizeof *set->mass);
    set->x = calloc(room, sizeof *set->x);
    set->v = calloc(room, sizeof *set->v);
    if (!set->id || !set->mass || !set->x || !set->v) {
        bodies_free(set);
        return -1;
    }
    set->n = n;
    return 0;
}

void bodies_free(bodies *set)
{
    free(set->id);
    free(set->mass);
    free(set->x);
    free(set->v);
    memset(set, 0, sizeof *set);
}

static double total_mass(const bodies *set)
{
    double sum = 0;
    for (int k = 0; k < set->n; k++) sum += set->mass[k];
    return sum;
}

static void subtract_mean(const bodies *set, double total, double (*row)[3])
{
    for (int c = 0; c < 3; c++) {
        double mean = 0;
        for (int k = 0; k < set->n; k++) mean += set->mass[k] * row[k][c];
        mean /= total;
        for (int k = 0; k < set->n; k++) row[k][c] -= mean;
    }
}

void bodies_centre(bodies *set)
{
    double total = total_mass(set);
    if (!(total > 0)) return;
    subtract_mean(set, total, set->x);
    subtract_mean(set, total, set->v);
}

static double square(const double a[3]) { return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]; }

double bodies_kinetic(const bodies *set)
{
    double sum = 0;
    for (int k = 0; k < set->n; k++) sum += 0.5 * set->mass[k] * square(set->v[k]);
    return sum;
}

static double pair_sum(const bodies *set)
{
    double sum = 0;
    for (int k = 1; k < set->n; k++) {
        double row = 0;
        for (int l = 0; l < k; l++) {
            double r[3];
            for (int c = 0; c < 3; c++) r[c] = set->x[k][c] - set->x[l][c];
            row += set->mass[l] / sqrt(square(r));
        }
        sum += set->mass[k] * row;
    }
    return -sum;
}

typedef struct shell {
    double radius, mass;
} shell;

static int compare_shells(const void *a, const void *b)
{
    double left = ((const shell *)a)->radius, right = ((const shell *)b)->radius;
    return (left > right) - (left < right);
}

static double shell_sum(const bodies *set)
{
    shell *star = malloc((size_t)set->n * sizeof *star);
    if (!star) return (double)NAN;
    for (int k = 0; k < set->n; k++) star[k] = (shell){sqrt(square(set->x[k])), set->mass[k]};
    qsort(star, (size_t)set->n, sizeof *star, compare_shells);
    double inside = 0, sum = 0;
    for (int k = 0; k < set->n; k++) {
        sum += star[k].mass * inside / star[k].radius;
        inside += star[k].mass;
    }
    free(star);
    return -sum;
}

double bodies_potential(const bodies *set) { return set->n <= PAIR_SUM_LIMIT ? pair_sum(set) : shell_sum(set); }

int bodies_nearest(const bodies *set, int k, double *distance)
{
    int nearest = -1;
    *distance = (double)INFINITY;
    for (int l = 0; l < set->n; l++) {
        const double *const a = set->x[k], *const b = set->x[l];
        const double r = hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
        if (l == k || !(r < *distance)) continue;
        nearest = l;
        *distance = r;
    }
    return nearest;
}

int bodies_scale(bodies *set)
{
    double total = total_mass(set);
    if (!(total > 0)) return -1;
    for (int k = 0; k < set->n; k++) set->mass[k] /= total;
    bodies_centre(set);
    double kinetic = bodies_kinetic(set), potential = bodies_potential(set);
    if (!(kinetic > 0) || !(potential < 0) || !isfinite(potential)) return -1;
    double length = potential / -0.5, speed = sqrt(0.25 / kinetic);
    for (int k = 0; k < set->n; k++)
        for (int c = 0; c < 3; c++) {
            set->x[k][c] *= length;
            set->v[k][c] *= speed;
        }
    return 0;
}
