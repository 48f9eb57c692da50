/* tree_search.c - sapporo_tree_neighbours and sapporo_tree_nearest: checks of arguments, and empty lists after errors.
 */
#include <math.h>
#include <string.h>

#include "base/structs.h"
#include "context/call.h"
#include "context/tree_private.h"

#define fail(tree, ...) sap_error(&(tree)->object.notes, __VA_ARGS__)

/* ---- within a radius ---------------------------------------------------------------------- */

static int check_search(sapporo_tree *t, int ni, const sapporo_column *x, const sapporo_column *h,
                        const long long *first, long long room, const int *list)
{
    if (t->tree->ops->count(t->tree, 0) < 0) return sap_context_tree_missing(t);
    if (ni < 0 || !first || room < 0 || (room > 0 && !list) || (ni > 0 && (!x->base || !h->base)))
        return fail(t, SAPPORO_ERR_ARGUMENT, "neighbours of %d places with room for %lld: something is missing", ni,
                    room);
    for (int i = 0; i < ni; i++) {
        double radius;
        memcpy(&radius, sap_column_at(h, i, sizeof radius), sizeof radius);
        if (!sap_context_tree_is_place(sap_column_at(x, i, 3 * sizeof(double))) || !(radius >= 0))
            return fail(t, SAPPORO_ERR_ARGUMENT,
                        "place %d is not finite or beyond 1e100, or its radius %g is not a number >= 0", i, radius);
    }
    return SAPPORO_OK;
}

/* Makes all lists empty, for calls that fail. */
static void write_empty(int ni, long long *first)
{
    if (first && ni >= 0) memset(first, 0, ((size_t)ni + 1) * sizeof *first);
}

int sapporo_tree_neighbours(sapporo_tree *tree, int ni, sapporo_column x, sapporo_column h, long long *first,
                            long long room, int *list)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    if (!t) {
        write_empty(ni, first);
        return SAPPORO_ERR_CLOSED;
    }
    int status = check_search(t, ni, &x, &h, first, room, list);
    if (!status) {
        status = t->tree->ops->ask->search(t->tree, ni, x, h, first, room, list);
        if (status < 0) (void)sap_context_tree_failed(t, status, "neighbours", "");
    }
    if (status < 0) write_empty(ni, first);
    return sap_call_end(&call, status);
}

/* ---- nearest ------------------------------------------------------------------------------ */

static int check_nearest(sapporo_tree *t, const sapporo_tree_request *r, int k, const int *list)
{
    if (k < 1 || k > SAPPORO_NEAREST_MOST)
        return fail(t, SAPPORO_ERR_ARGUMENT, "the nearest %d particles; k may be 1 to %d", k, SAPPORO_NEAREST_MOST);
    if (r->h.base) return fail(t, SAPPORO_ERR_ARGUMENT, "h has no meaning for the nearest particles");
    if (r->ni > 0 && !list) return fail(t, SAPPORO_ERR_ARGUMENT, "nearest particles without a list for them");
    for (int i = 0; i < r->ni && r->x.base && r->memory == SAPPORO_MEMORY_HOST; i++)
        if (!sap_context_tree_is_place(sap_column_at(&r->x, i, 3 * sizeof(double))))
            return fail(t, SAPPORO_ERR_ARGUMENT, "place %d is not finite or beyond 1e100", i);
    return SAPPORO_OK;
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
