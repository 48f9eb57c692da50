/*
 * image.c - see image.h.
 */
#include "image.h"
#include "atomic_file.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OCTAVES = 16, WHITE = 255 };

/* Returns the pixel of a coordinate; -1: outside. */
static int pixel_of(double x, int pixels, double half)
{
    const double place = (x + half) / (2 * half) * pixels;
    return place >= 0 && place < pixels ? (int)place : -1;
}

int image_choose(image_view *view, const char *parts, const char *name, message *why)
{
    const size_t length = strlen(name);
    long long first = 1;
    for (const char *at = parts; *at;) {
        const size_t word = strcspn(at, " ,");
        char *end = NULL;
        const long long number = strtoll(at + word, &end, 10);
        if (!word || end == at + word || number < 0 || number > INT_MAX) break; /* a remark of other words */
        if (word == length && strncmp(at, name, length) == 0) {
            view->first = first;
            view->last = first + number - 1;
            return number ? 0 : complain(why, "--part %.40s: it has no particle", name);
        }
        first += number;
        at = end + strspn(end, ", ");
    }
    return complain(why, "--part %.40s: there is no such component; the particles have %s", name,
                    *parts ? parts : "none");
}

static int is_drawn(const image_view *view, long long id)
{
    return !view->last || (id >= view->first && id <= view->last);
}

static double fill(double *density, const bodies *set, const image_view *view)
{
    const int pixels = (int)view->pixels;
    const double half = view->half;
    double most = 0;
    for (int k = 0; k < set->n; k++) {
        if (!is_drawn(view, set->id[k])) continue;
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

int image_write(const char *path, const bodies *set, const image_view *view, message *why)
{
    atomic_file file;
    const int pixels = (int)view->pixels;
    const size_t n = (size_t)pixels * (size_t)pixels;
    double *density = calloc(n, sizeof *density);
    if (!density) return complain(why, "out of memory for an image of %d pixels", pixels);
    const double most = fill(density, set, view);
    int bad = atomic_open(&file, path, why);
    if (!bad) {
        (void)fprintf(file.stream, "P5\n# time %.17g, half width %.17g\n%d %d\n%d\n", set->time, view->half, pixels,
                      pixels, (int)WHITE);
        for (size_t k = 0; k < n; k++) (void)putc(grey_of(density[k], most), file.stream);
        bad = atomic_commit(&file, why);
    }
    free(density);
    return bad;
}
