/* tree.c - sapporo_tree_*: checks of arguments, and what a handle is.  Trees themselves are the engines'. */
#include "tree/tree.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "fpenv.h"
#include "lock.h"
#include "process.h"
#include "structs.h"
#include "tree/scalars.h"
#include "tree/tree_limits.h"
#include "tree/tree_options.h"

struct sapporo_tree {
    atomic_flag busy; /* held during every call */
    struct sap_notes notes;
    const struct sap_tree_ops *ops;
    struct sap_tree_engine on;
    struct sap_tree_settings settings;
    struct sap_tree *tree;
    int room, given, n; /* particles: that fit, that were set, that the tree has; n < 0: there is no tree */
    char kind[96];
};

#define fail(tree, ...) sap_error(&(tree)->notes, __VA_ARGS__)

/* ---- life ---------------------------------------------------------------------------- */

static void free_tree(sapporo_tree *t)
{
    if (t->tree) t->ops->destroy(t->tree);
    sap_tree_engine_close(&t->on);
    free(t);
}

static int make(sapporo_tree *t, const sapporo_tree_options *options, int n)
{
    struct sap_settings settings;
    int status = n < 0 ? fail(t, SAPPORO_ERR_ARGUMENT, "a tree of %d particles", n) : SAPPORO_OK;
    if (!status) status = sap_tree_options_read(options, &settings, &t->settings, &t->notes);
    if (!status) status = sap_tree_engine_open(&settings, &t->on, &t->notes);
    if (status) return status;
    t->ops = t->on.engine->tree;
    t->ops->kind(t->on.devices, &t->settings, t->kind, sizeof t->kind);
    status = t->ops->create(t->on.devices, &t->settings, n, &t->tree);
    if (!status) return SAPPORO_OK;
    size_t device = 0;
    const size_t host = t->ops->memory(t->on.devices, &t->settings, n, &device);
    return fail(t, status, "a tree of %d particles needs %zu bytes of memory and %zu of a device: %s", n, host, device,
                sapporo_status_text(status));
}

int sapporo_tree_create(const sapporo_tree_options *options, int n, sapporo_tree **tree)
{
    if (!tree) return SAPPORO_ERR_ARGUMENT;
    *tree = NULL;
    sapporo_tree *t = calloc(1, sizeof *t);
    if (!t) return SAPPORO_ERR_MEMORY;
    const sap_fpenv callers = sap_fp_enter();
    atomic_flag_clear(&t->busy);
    t->room = n;
    t->n = -1;
    const int status = make(t, options, n);
    (void)snprintf(sap_open_error, sizeof sap_open_error, "%s", status ? t->notes.error : "");
    if (status)
        free_tree(t);
    else
        *tree = t;
    sap_fp_leave(callers);
    return status;
}

void sapporo_tree_destroy(sapporo_tree *t)
{
    if (t) free_tree(t);
}

const char *sapporo_tree_last_error(const sapporo_tree *t) { return t ? t->notes.error : sap_open_error; }

const char *sapporo_tree_kind_text(const sapporo_tree *t) { return t ? t->kind : ""; }

sapporo_backend sapporo_tree_get_backend(const sapporo_tree *t)
{
    return t ? t->on.engine->backend : SAPPORO_BACKEND_AUTO;
}

size_t sapporo_tree_memory_needed(const sapporo_tree_options *options, int n, size_t *device_bytes)
{
    struct sap_notes notes = {.lines = 0};
    struct sap_settings settings;
    struct sap_tree_settings tree;
    struct sap_tree_engine on = {.engine = NULL};
    size_t bytes = 0;
    if (device_bytes) *device_bytes = 0;
    if (n <= 0 || sap_tree_options_read(options, &settings, &tree, &notes)) return 0;
    if (!sap_tree_engine_open(&settings, &on, &notes))
        bytes = on.engine->tree->memory(on.devices, &tree, n, device_bytes);
    sap_tree_engine_close(&on);
    return bytes;
}

/* An error of the engine, with its own words. */
static int failed(sapporo_tree *t, int status, const char *what)
{
    const char *const words = t->ops->words(t->tree), *const text = sapporo_status_text(status),
                      *const colon = words[0] ? ": " : "";
    if (status != SAPPORO_ERR_MEMORY) return fail(t, status, "%s: %s%s%s", what, text, colon, words);
    size_t device = 0;
    const size_t host = t->ops->memory(t->on.devices, &t->settings, t->room, &device);
    return fail(t, status, "%s: %s%s%s; %d particles need %zu bytes of memory and %zu of a device", what, text, colon,
                words, t->room, host, device);
}

/* ---- calls: each is locked, and in a floating-point environment of ours ---------------------- */

static sap_fpenv enter(sapporo_tree *t)
{
    sap_lock(&t->busy);
    return sap_fp_enter();
}

static int leave(sapporo_tree *t, sap_fpenv callers, int status)
{
    sap_fp_leave(callers);
    sap_unlock(&t->busy);
    return status;
}

/* ---- particles -------------------------------------------------------------------------------- */

static int is_place(const void *at)
{
    double x[3];
    memcpy(x, at, sizeof x);
    return fabs(x[0]) <= SAP_TREE_LIMIT && fabs(x[1]) <= SAP_TREE_LIMIT && fabs(x[2]) <= SAP_TREE_LIMIT;
}

static int is_number(const void *at)
{
    double x;
    memcpy(&x, at, sizeof x);
    return isfinite(x);
}

static int check_numbers(sapporo_tree *t, const sapporo_tree_particles *p)
{
    for (int i = 0; i < p->n; i++) {
        if (!is_place(sap_column_at(&p->x, i, 3 * sizeof(double))))
            return fail(t, SAPPORO_ERR_NOT_FINITE, "position of particle %d is not finite, or beyond 1e100", i);
        if (p->mass.base && !is_number(sap_column_at(&p->mass, i, sizeof(double))))
            return fail(t, SAPPORO_ERR_NOT_FINITE, "mass of particle %d is not finite", i);
        if (p->a.base && !is_number(sap_column_at(&p->a, i, sizeof(double))))
            return fail(t, SAPPORO_ERR_NOT_FINITE, "acceleration of particle %d is not finite", i);
    }
    return SAPPORO_OK;
}

static int check_particles(sapporo_tree *t, const sapporo_tree_particles *given, sapporo_tree_particles *p)
{
    if (!given || sap_struct_copy(p, sizeof *p, given, sizeof given->size))
        return fail(t, SAPPORO_ERR_ARGUMENT, "size of sapporo_tree_particles is not set");
    if (p->n < 0 || p->n > t->room)
        return fail(t, SAPPORO_ERR_ARGUMENT, "%d particles; the tree was created for 0 to %d", p->n, t->room);
    if (p->n > 0 && !p->x.base) return fail(t, SAPPORO_ERR_ARGUMENT, "particles without positions");
    if (!p->mass.base && t->given >= 0 && p->n != t->given && t->given > 0)
        return fail(t, SAPPORO_ERR_ARGUMENT, "%d particles without masses, and the last were %d", p->n, t->given);
    if (p->memory != SAPPORO_MEMORY_HOST && p->memory != SAPPORO_MEMORY_DEVICE)
        return fail(t, SAPPORO_ERR_ARGUMENT, "memory is %d; it may be 0 or 1", (int)p->memory);
    return p->memory == SAPPORO_MEMORY_HOST ? check_numbers(t, p) : SAPPORO_OK;
}

int sapporo_tree_set(sapporo_tree *t, const sapporo_tree_particles *particles)
{
    sapporo_tree_particles p;
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = enter(t);
    int status = check_particles(t, particles, &p);
    if (!status) {
        status = t->ops->set(t->tree, &p);
        if (status)
            (void)failed(t, status, "particles");
        else
            t->given = p.n;
    }
    return leave(t, callers, status);
}

int sapporo_tree_build(sapporo_tree *t)
{
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = enter(t);
    const int status = t->ops->build(t->tree);
    t->n = status ? -1 : t->given;
    if (status) (void)failed(t, status, "building the tree");
    return leave(t, callers, status);
}

int sapporo_tree_refresh(sapporo_tree *t)
{
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = enter(t);
    int status;
    if (t->n < 0 || t->n != t->given) {
        status = fail(t, SAPPORO_ERR_ARGUMENT, "there is no tree of %d particles to be refreshed", t->given);
    } else {
        status = t->ops->refresh(t->tree);
        if (status) (void)failed(t, status, "refreshing the tree");
    }
    return leave(t, callers, status);
}

/* ---- forces ------------------------------------------------------------------------------------ */

static void fill_with_nan(int n, double (*acc)[3], double *pot)
{
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < 3 && acc; c++) acc[i][c] = NAN;
        if (pot) pot[i] = NAN;
    }
}

static int check_active(sapporo_tree *t, const sapporo_tree_request *r)
{
    for (int i = 0; i < r->ni && r->active && r->memory == SAPPORO_MEMORY_HOST; i++)
        if (r->active[i] < 0 || r->active[i] >= t->n)
            return fail(t, SAPPORO_ERR_ARGUMENT, "active[%d] is %d; the tree has particles 0 to %d", i, r->active[i],
                        t->n - 1);
    return SAPPORO_OK;
}

static int check_request(sapporo_tree *t, const sapporo_tree_request *r)
{
    if (t->n < 0) return fail(t, SAPPORO_ERR_ARGUMENT, "there is no tree: build it first");
    if (r->ni < 0) return fail(t, SAPPORO_ERR_ARGUMENT, "ni is %d", r->ni);
    if (r->memory != SAPPORO_MEMORY_HOST && r->memory != SAPPORO_MEMORY_DEVICE)
        return fail(t, SAPPORO_ERR_ARGUMENT, "memory is %d; it may be 0 or 1", (int)r->memory);
    if (r->x.base && r->active) return fail(t, SAPPORO_ERR_ARGUMENT, "both places and active particles");
    if (!r->x.base && !r->active && r->ni > t->n)
        return fail(t, SAPPORO_ERR_ARGUMENT, "ni is %d; the tree has %d particles", r->ni, t->n);
    return check_active(t, r);
}

int sapporo_tree_force(sapporo_tree *t, const sapporo_tree_request *request, double (*acc)[3], double *pot)
{
    sapporo_tree_request r = {.ni = 0};
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = enter(t);
    int status;
    if (!request || sap_struct_copy(&r, sizeof r, request, sizeof request->size)) {
        status = fail(t, SAPPORO_ERR_ARGUMENT, "size of sapporo_tree_request is not set");
        r.ni = 0;
    } else {
        status = check_request(t, &r);
        if (!status && r.ni > 0 && (acc || pot)) {
            status = t->ops->force(t->tree, &r, acc, pot);
            if (status < 0) (void)failed(t, status, "force of the tree");
        }
    }
    if (status < 0 && r.memory == SAPPORO_MEMORY_HOST) fill_with_nan(r.ni, acc, pot);
    return leave(t, callers, status);
}

static int check_search(sapporo_tree *t, int ni, const sapporo_column *x, const sapporo_column *h,
                        const long long *first, long long room, const int *list)
{
    if (t->n < 0) return fail(t, SAPPORO_ERR_ARGUMENT, "there is no tree: build it first");
    if (ni < 0 || !first || room < 0 || (room > 0 && !list) || (ni > 0 && (!x->base || !h->base)))
        return fail(t, SAPPORO_ERR_ARGUMENT, "neighbours of %d places with room for %lld: something is missing", ni,
                    room);
    for (int i = 0; i < ni; i++) {
        double radius;
        memcpy(&radius, sap_column_at(h, i, sizeof radius), sizeof radius);
        if (!is_place(sap_column_at(x, i, 3 * sizeof(double))) || !(radius >= 0 && radius <= SAP_TREE_LIMIT))
            return fail(t, SAPPORO_ERR_ARGUMENT, "place %d is not finite, or its radius not a number >= 0", i);
    }
    return SAPPORO_OK;
}

int sapporo_tree_neighbours(sapporo_tree *t, int ni, sapporo_column x, sapporo_column h, long long *first,
                            long long room, int *list)
{
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = enter(t);
    int status = check_search(t, ni, &x, &h, first, room, list);
    if (!status) {
        status = t->ops->search(t->tree, ni, x, h, first, room, list);
        if (status < 0) (void)failed(t, status, "neighbours");
    }
    if (status < 0 && first && ni >= 0) memset(first, 0, ((size_t)ni + 1) * sizeof *first);
    return leave(t, callers, status);
}

/* ---- what it is ------------------------------------------------------------------------------- */

int sapporo_tree_get_statistics(sapporo_tree *t, sapporo_tree_statistics *statistics)
{
    sapporo_tree_statistics whole = {.size = 0};
    if (!t) return SAPPORO_ERR_CLOSED;
    if (!statistics || statistics->size < sizeof statistics->size) return SAPPORO_ERR_ARGUMENT;
    const sap_fpenv callers = enter(t);
    t->ops->statistics(t->tree, &whole);
    whole.size = statistics->size < sizeof whole ? statistics->size : sizeof whole;
    memcpy(statistics, &whole, whole.size);
    return leave(t, callers, SAPPORO_OK);
}

void sap_tree_tell_cell(const struct sap_cell *cell, int k, struct sap_tree_structure *s)
{
    s->mass[k] = cell->mass;
    memcpy(s->centre[k], cell->centre, sizeof s->centre[k]);
    memcpy(s->low[k], cell->low, sizeof s->low[k]);
    memcpy(s->high[k], cell->high, sizeof s->high[k]);
    memcpy(s->q[k], cell->q, sizeof s->q[k]);
}

int sap_tree_structure_of(sapporo_tree *t, struct sap_tree_structure *structure)
{
    return t->ops->structure(t->tree, structure);
}
