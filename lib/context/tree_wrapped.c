/*
 * tree_wrapped.c - see tree_wrapped.h.  The particles of a tree are in the cube or in its margin; so for each place
 * the tree is searched about those of its 27 images near the cube whose balls reach it.
 */
#include "context/tree_wrapped.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/periodic.h"

enum { AT_ONCE = 2048, IMAGES = 27 };

/* From this radius on, in periods, each particle is near enough: half the diagonal of the cube and its margin. */
#define ALL 0.95

/* Places that are searched at once: all images whose balls reach the cube. */
struct wrapped {
    double x[AT_ONCE * IMAGES][3], h[AT_ONCE * IMAGES];
    int end[AT_ONCE];                      /* the images of place i end there */
    long long first[AT_ONCE * IMAGES + 1]; /* as of the engine */
    int *found;                            /* [room] as of the engine */
    long long room;
};

/* Whether a ball about x reaches the cube or its margin. */
static int reaches(const double *x, double h, double period)
{
    const double margin = SAP_FAR_MARGIN * period;
    for (int c = 0; c < 3; c++)
        if (x[c] - h > period + margin || x[c] + h < -margin) return 0;
    return 1;
}

/* Adds the images of a place to n others; returns how many these are then. */
static int add_images(struct wrapped *w, int n, const double *place, double h, double period)
{
    const int all = h >= ALL * period;
    double x[3] = {place[0], place[1], place[2]};
    sap_periodic_inside(period, x);
    for (int k = 0; k < IMAGES; k++) {
        if (all && k != SAP_NO_SHIFT) continue;
        for (int c = 0; c < 3; c++) w->x[n][c] = x[c] + SAP_SHIFT_OF(k, c) * period;
        w->h[n] = all ? INFINITY : h;
        n += all || reaches(w->x[n], h, period);
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Sorts addresses, and removes those that come again; returns how many are left. */
static long long make_set(int *list, long long n)
{
    long long left = 0;
    qsort(list, (size_t)n, sizeof *list, compare);
    for (long long k = 0; k < n; k++)
        if (k == 0 || list[k] != list[k - 1]) list[left++] = list[k];
    return left;
}

/* Searches about n images, with room for all they find. */
static int search_images(sapporo_tree *t, struct wrapped *w, int n)
{
    const struct sap_tree_ask_ops *const ask = t->tree->ops->ask;
    const sapporo_column x = {w->x, 0}, h = {w->h, 0};
    int status = ask->search(t->tree, n, x, h, w->first, 0, NULL);
    const long long all = status < 0 ? 0 : w->first[n];
    if (all > w->room) {
        int *const more = realloc(w->found, (size_t)all * sizeof *more);
        if (!more) return SAPPORO_ERR_MEMORY;
        w->found = more;
        w->room = all;
    }
    return status < 0 || all == 0 ? status : ask->search(t->tree, n, x, h, w->first, all, w->found);
}

/* Searches about places `from` to `to`; list: of all places, of which those before have theirs. */
static int search_some(sapporo_tree *t, struct wrapped *w, int from, int to, const sapporo_column *x,
                       const sapporo_column *h, long long *first, long long room, int *list)
{
    int n = 0;
    for (int i = from; i < to; i++) {
        double place[3], radius;
        memcpy(place, sap_column_at(x, i, sizeof place), sizeof place);
        memcpy(&radius, sap_column_at(h, i, sizeof radius), sizeof radius);
        n = w->end[i - from] = add_images(w, n, place, radius, t->settings.period);
    }
    const int status = search_images(t, w, n);
    for (int i = from, image = 0; i < to && status >= 0; image = w->end[i - from], i++) {
        const long long at = w->first[image], many = w->first[w->end[i - from]] - at;
        const long long left = w->end[i - from] - image > 1 ? make_set(w->found + at, many) : many;
        const long long fit = room - first[i] < left ? room - first[i] : left;
        if (fit > 0) memcpy(list + first[i], w->found + at, (size_t)fit * sizeof *list);
        first[i + 1] = first[i] + left;
    }
    return status;
}

int sap_tree_wrapped_search(sapporo_tree *t, int ni, sapporo_column x, sapporo_column h, long long *first,
                            long long room, int *list)
{
    struct wrapped *const w = calloc(1, sizeof *w);
    int status = w ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
    first[0] = 0;
    for (int from = 0; from < ni && status >= 0; from += AT_ONCE)
        status = search_some(t, w, from, ni - from < AT_ONCE ? ni : from + AT_ONCE, &x, &h, first, room, list);
    if (w) free(w->found);
    free(w);
    return status < 0 ? status : first[ni] > room ? SAPPORO_TRUNCATED : SAPPORO_OK;
}
