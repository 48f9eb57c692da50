/*
 * reference.c - the direct sum in long double, term by term as in the equations of sapporo.h.
 *
 * It shares no code with the library, so the tool cannot repeat a mistake of the library.
 */
#include "reference.h"
#include "util.h"
#include <math.h>
#include <stdlib.h>

/* Returns the Taylor series of one coordinate's derivatives from..4 over dt. */
static long double series(const sapporo_particle *star, int from, int c, long double dt)
{
    long double sum = 0, term = 1;
    for (int k = from; k <= 4; k++) {
        sum += star->derivative[k][c] * term;
        term *= dt / (k - from + 1);
    }
    return sum;
}

predicted *reference_predict(const model *cluster, double time)
{
    predicted *star = allocate((size_t)cluster->n, sizeof *star);
    for (int k = 0; k < cluster->n; k++) {
        const sapporo_particle *given = &cluster->particle[k];
        const long double dt = (long double)time - given->time;
        for (int c = 0; c < 3; c++) {
            star[k].x[c] = series(given, 0, c, dt);
            star[k].v[c] = series(given, 1, c, dt);
        }
        star[k].mass = given->mass;
        star[k].index = given->index;
    }
    return star;
}

/* Adds the pull of one star at r with velocity v, both relative to the i-particle. */
static void add_pull(truth *force, const long double r[3], const long double v[3], long double mass, long double R2)
{
    const long double y = 1 / sqrtl(R2), y2 = y * y, m1 = mass * y, m3 = m1 * y2;
    const long double w = 3 * y2 * (r[0] * v[0] + r[1] * v[1] + r[2] * v[2]);
    for (int c = 0; c < 3; c++) {
        force->acc[c] += m3 * r[c];
        force->jerk[c] += m3 * (v[c] - w * r[c]);
    }
    force->pot -= m1;
}

truth reference_force(const predicted *star, int nj, const targets *stars, int i, double eps2)
{
    truth force = {{0}, {0}, 0, INFINITY, -1};
    for (int j = 0; j < nj; j++) {
        if (star[j].index == stars->index[i]) continue;
        long double r[3], v[3];
        for (int c = 0; c < 3; c++) {
            r[c] = star[j].x[c] - stars->x[i][c];
            v[c] = star[j].v[c] - stars->v[i][c];
        }
        const long double r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
        if (r2 < force.nearest_r2) {
            force.nearest_r2 = r2;
            force.nearest = j;
        }
        if (r2 + eps2 > 0) add_pull(&force, r, v, star[j].mass, r2 + eps2);
    }
    return force;
}

truth *reference_forces(const model *cluster, double time, const targets *stars, double eps2)
{
    predicted *star = reference_predict(cluster, time);
    truth *force = allocate((size_t)stars->n, sizeof *force);
    for (int i = 0; i < stars->n; i++) force[i] = reference_force(star, cluster->n, stars, i, eps2);
    free(star);
    return force;
}

static int compare_distances(const void *a, const void *b)
{
    const distance *p = a, *q = b;
    if (p->r2 != q->r2) return p->r2 < q->r2 ? -1 : 1;
    return (p->address > q->address) - (p->address < q->address);
}

int reference_distances(const predicted *star, int nj, const targets *stars, int i, distance *sorted)
{
    int n = 0;
    for (int j = 0; j < nj; j++) {
        if (star[j].index == stars->index[i]) continue;
        long double r2 = 0;
        for (int c = 0; c < 3; c++) {
            const long double r = star[j].x[c] - stars->x[i][c];
            r2 += r * r;
        }
        sorted[n++] = (distance){r2, j};
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare_distances);
    return n;
}

double vector_error(const double value[3], const long double exact[3])
{
    long double difference = 0, length = 0;
    for (int c = 0; c < 3; c++) {
        difference += (value[c] - exact[c]) * (value[c] - exact[c]);
        length += exact[c] * exact[c];
    }
    const double error = (double)sqrtl(difference / length);
    return isfinite(error) ? error : (double)INFINITY;
}

double number_error(double value, long double exact)
{
    const double error = (double)fabsl((value - exact) / exact);
    return isfinite(error) ? error : (double)INFINITY;
}
