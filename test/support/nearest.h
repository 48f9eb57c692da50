/* nearest.h - which particles are nearest to a position, by a sort of all. */
#ifndef TEST_NEAREST_H
#define TEST_NEAREST_H

#include <math.h>
#include <stdlib.h>

/* A particle and its squared distance. */
struct near {
    double distance2;
    int address;
};

static inline int near_compare(const void *a, const void *b)
{
    const struct near *const p = a, *const q = b;
    if (p->distance2 != q->distance2) return p->distance2 < q->distance2 ? -1 : 1;
    return (p->address > q->address) - (p->address < q->address);
}

/* Returns the squared distance of two positions. */
static inline double near_apart2(const double *x, const double *at)
{
    double r2 = 0;
    for (int c = 0; c < 3; c++) r2 += (x[c] - at[c]) * (x[c] - at[c]);
    return r2;
}

/*
 * Sorts n particles but `own` (-1: all) by their distances from `at`, those at one distance by address; returns their
 * number.
 */
static inline int near_sort(int n, const double (*x)[3], const double *at, int own, struct near *all)
{
    int found = 0;
    for (int j = 0; j < n; j++)
        if (j != own) all[found++] = (struct near){near_apart2(x[j], at), j};
    qsort(all, (size_t)found, sizeof *all, near_compare);
    return found;
}

/* Returns the squared distance of the images of two positions that are nearest, in a periodic cube. */
static inline double near_image2(double period, const double *x, const double *at)
{
    double r2 = 0;
    for (int c = 0; c < 3; c++) {
        const double d = remainder(remainder(at[c], period) - remainder(x[c], period), period);
        r2 += d * d;
    }
    return r2;
}

/* As near_sort in a periodic cube. */
static inline int near_sort_images(int n, const double (*x)[3], double period, const double *at, int own,
                                   struct near *all)
{
    int found = 0;
    for (int j = 0; j < n; j++)
        if (j != own) all[found++] = (struct near){near_image2(period, at, x[j]), j};
    qsort(all, (size_t)found, sizeof *all, near_compare);
    return found;
}

#endif
