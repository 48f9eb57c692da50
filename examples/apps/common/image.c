/*
 * image.c - see image.h.
 */
#include "image.h"
#include "atomic_file.h"

#include <math.h>
#include <stdlib.h>

enum { OCTAVES = 16, WHITE = 255 };

/* Returns the pixel of a coordinate; -1: outside. */
static int pixel_of(double x, int pixels, double half)
{
    const double place = (x + half) / (2 * half) * pixels;
    return place >= 0 && place < pixels ? (int)place : -1;
}

static double fill(double *density, const bodies *set, int pixels, double half)
{
    double most = 0;
    for (int k = 0; k < set->n; k++) {
        const int i = pixel_of(set->x[k][0], pixels, half), j = pixel_of(-set->x[k][1], pixels, half);
        if (i < 0 || j < 0) continue;
        double *const at = &density[(size_t)j * (size_t)pixels + (size_t)i];
        *at += set->mass[k];
        most = fmax(most, *at);
    }
    return most;
}

static int grey_of(double density, double most)
{
    if (!(density > 0)) return 0;
    const double level = 1 + log2(density / most) / OCTAVES;
    return level > 0 ? 1 + (int)(level * (WHITE - 1)) : 1;
}

int image_write(const char *path, const bodies *set, int pixels, double half, message *why)
{
    atomic_file file;
    const size_t n = (size_t)pixels * (size_t)pixels;
    double *density = calloc(n, sizeof *density);
    if (!density) return complain(why, "out of memory for an image of %d pixels", pixels);
    const double most = fill(density, set, pixels, half);
    int bad = atomic_open(&file, path, why);
    if (!bad) {
        (void)fprintf(file.stream, "P5\n# time %.17g, half width %.17g\n%d %d\n%d\n", set->time, half, pixels, pixels,
                      (int)WHITE);
        for (size_t k = 0; k < n; k++) (void)putc(grey_of(density[k], most), file.stream);
        bad = atomic_commit(&file, why);
    }
    free(density);
    return bad;
}
