/*
 * tree_search.c - sapporo_tree_within, sapporo_tree_neighbours and sapporo_tree_nearest: checks of arguments, and empty
 * lists after errors.
 */
#include <math.h>
#include <string.h>

#include "base/structs.h"
#include "context/call.h"
#include "context/tree_private.h"

#define fail(tree, ...) sap_error(&(tree)->object.notes, __VA_ARGS__)

static int is_place_wrong(const void *of, int i)
{
    const sapporo_column *const x = of;
    return !sap_context_tree_is_place(sap_column_at(x, i, 3 * sizeof(double)));
}

/* ---- within a radius ---------------------------------------------------------------------- */

/* Rows of a search: their radii, and where their lists go. */
struct within_rows {
    sapporo_column radius;
    long long *first, room;
    int *list;
};

static int missing(sapporo_tree *t, int ni, long long room)
{
    return fail(t, SAPPORO_ERR_ARGUMENT, "neighbours of %d places with room for %lld: something is missing", ni, room);
}

/* Places, and their radii. */
struct rows_asked {
    const sapporo_column *x, *radius; /* x->base NULL: the places of particles */
};

static int is_row_wrong(const void *of, int i)
{
    const struct rows_asked *const p = of;
    return !(sap_column_double(p->radius, i) >= 0) || (p->x->base && is_place_wrong(p->x, i));
}

/* Positions and radii in host memory; the device looks at radii in its own. */
static int check_rows(sapporo_tree *t, const sapporo_tree_request *r, const sapporo_column *radius)
{
    const struct rows_asked all = {&r->x, radius};
    if (r->memory != SAPPORO_MEMORY_HOST) return SAPPORO_OK;
    const int i = sap_context_tree_first_wrong(t, r->ni, is_row_wrong, &all);
    if (i == r->ni) return SAPPORO_OK;
    if (!r->x.base) return fail(t, SAPPORO_ERR_ARGUMENT, "the radius of row %d is not a number >= 0", i);
    return fail(t, SAPPORO_ERR_ARGUMENT,
                "place %d is not finite or beyond 1e100, or its radius %g is not a number >= 0", i,
                sap_column_double(radius, i));
}

static int check_within(sapporo_tree *t, const sapporo_tree_request *r, const struct within_rows *w)
{
    if (r->h.base) return fail(t, SAPPORO_ERR_ARGUMENT, "h has no meaning for neighbours: radii are an argument");
    if (!w->first || w->room < 0 || (w->room > 0 && !w->list) || (r->ni > 0 && !w->radius.base))
        return missing(t, r->ni, w->room);
    return check_rows(t, r, &w->radius);
}

/* Makes all lists empty, for calls that fail; t: NULL if the handle is closed. */
static void write_empty(sapporo_tree *t, const sapporo_tree_request *r, long long *first)
{
    if (!first || r->ni < 0) return;
    const size_t bytes = ((size_t)r->ni + 1) * sizeof *first;
    if (r->memory == SAPPORO_MEMORY_HOST) memset(first, 0, bytes);
    if (r->memory == SAPPORO_MEMORY_DEVICE && t && t->tree->ops->ask->erase)
        t->tree->ops->ask->erase(t->tree, first, bytes);
}

/* Ends a search whose request has been read and checked, with a status. */
static int find_within(struct sap_public_call *call, sapporo_tree *t, const sapporo_tree_request *r,
                       const struct within_rows *w, int status)
{
    if (!status) status = check_within(t, r, w);
    if (!status) {
        status = t->tree->ops->ask->within(t->tree, r, &w->radius, w->first, w->room, w->list);
        if (status < 0) (void)sap_context_tree_failed(t, status, "neighbours", "");
    }
    if (status < 0) write_empty(t, r, w->first);
    return sap_call_end(call, status);
}

int sapporo_tree_within(sapporo_tree *tree, const sapporo_tree_request *request, sapporo_column radius,
                        long long *first, long long room, int *list)
{
    const struct within_rows w = {radius, first, room, list};
    sapporo_tree_request r = {.ni = 0};
    struct sap_public_call call;
    int status;
    sapporo_tree *const t = sap_context_tree_asked(&call, tree, request, &r, &status);
    return find_within(&call, t, &r, &w, status);
}

int sapporo_tree_neighbours(sapporo_tree *tree, int ni, sapporo_column x, sapporo_column h, long long *first,
                            long long room, int *list)
{
    static const double nowhere[3] = {0, 0, 0}; /* without positions a request is of the particles of the tree */
    const struct within_rows w = {h, first, room, list};
    const sapporo_tree_request places = {.size = sizeof places, .ni = ni, .x = {x.base ? x.base : nowhere, x.stride}};
    sapporo_tree_request r = {.ni = 0};
    struct sap_public_call call;
    int status;
    sapporo_tree *const t = sap_context_tree_asked(&call, tree, &places, &r, &status);
    if (!status && ni > 0 && !x.base) status = missing(t, ni, room);
    return find_within(&call, t, &r, &w, status);
}

/* ---- nearest ------------------------------------------------------------------------------ */

static int check_nearest(sapporo_tree *t, const sapporo_tree_request *r, int k, const int *list)
{
    if (k < 1 || k > SAPPORO_NEAREST_MOST)
        return fail(t, SAPPORO_ERR_ARGUMENT, "the nearest %d particles; k may be 1 to %d", k, SAPPORO_NEAREST_MOST);
    if (r->h.base) return fail(t, SAPPORO_ERR_ARGUMENT, "h has no meaning for the nearest particles");
    if (r->ni > 0 && !list) return fail(t, SAPPORO_ERR_ARGUMENT, "nearest particles without a list for them");
    if (!r->x.base || r->memory != SAPPORO_MEMORY_HOST) return SAPPORO_OK;
    const int i = sap_context_tree_first_wrong(t, r->ni, is_place_wrong, &r->x);
    return i == r->ni ? SAPPORO_OK : fail(t, SAPPORO_ERR_ARGUMENT, "place %d is not finite or beyond 1e100", i);
}

/* Writes the lists of a tree without particles. */
static void write_none(size_t entries, int *list, double *distance2)
{
    for (size_t i = 0; i < entries; i++) list[i] = -1;
    for (size_t i = 0; i < entries && distance2; i++) distance2[i] = INFINITY;
}

int sapporo_tree_nearest(sapporo_tree *tree, const sapporo_tree_request *request, int k, int *list, double *distance2)
{
    sapporo_tree_request r = {.ni = 0};
    struct sap_public_call call;
    int status;
    sapporo_tree *const t = sap_context_tree_asked(&call, tree, request, &r, &status);
    if (!status) status = check_nearest(t, &r, k, list);
    if (!status && r.ni > 0 && r.memory == SAPPORO_MEMORY_HOST && t->tree->ops->count(t->tree, 0) == 0) {
        write_none((size_t)r.ni * (size_t)k, list, distance2);
    } else if (!status && r.ni > 0) {
        status = t->tree->ops->ask->nearest(t->tree, &r, k, list, distance2);
        if (status < 0) (void)sap_context_tree_failed(t, status, "nearest particles", "");
    }
    if (status < 0 && k > 0 && k <= SAPPORO_NEAREST_MOST) {
        sap_context_tree_erase(t, &r, list, (size_t)k * sizeof *list);
        sap_context_tree_erase(t, &r, distance2, (size_t)k * sizeof *distance2);
    }
    return sap_call_end(&call, status);
}
