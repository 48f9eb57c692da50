/* caller.c - columns and results in device memory of the caller (caller.h). */
#include "context/caller.h"

#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/call.h"
#include "context/context_units.h"
#include "context/particles.h"

/* ------------------------------------------------------------------ columns */

int sap_caller_check(sapporo *c, sapporo_memory memory, const char *caller, int *device)
{
    const int wanted = memory == SAPPORO_MEMORY_DEVICE, can = c->engine->caller && c->engine->caller->names(c->devices);
    *device = wanted && can;
    if (memory != SAPPORO_MEMORY_HOST && memory != SAPPORO_MEMORY_DEVICE)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "%s: memory is %d", caller, (int)memory);
    if (wanted && !can)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "%s: the %s engine takes arrays in host memory only", caller,
                        c->engine->name);
    if (*device) c->chosen = 1; /* the memory is of this engine */
    return SAPPORO_OK;
}

static int is_packed(const struct sap_caller_column *k)
{
    return !k->column->base || ((k->column->stride == 0 || k->column->stride == (ptrdiff_t)k->each) &&
                                (uintptr_t)k->column->base % sizeof(int32_t) == 0);
}

static int check_packed(sapporo *c, const struct sap_caller_column *columns, int count)
{
    for (int k = 0; k < count; k++)
        if (!is_packed(&columns[k]))
            return sap_fail(c, SAPPORO_ERR_ARGUMENT, "columns in memory of the device have no gaps, and are aligned");
    return SAPPORO_OK;
}

/* Copies memory of the caller on the device; `what` is for the message. */
static int read_memory(sapporo *c, void *to, const void *from, size_t bytes)
{
    const int status = c->engine->caller->read(c->store, to, from, bytes);
    return status ? sap_engine_failed(c, c->store, status, "columns in memory of the device") : SAPPORO_OK;
}

/* Bytes of a column or an array in a block: those that follow are aligned, too. */
static size_t room_of(size_t each, int n)
{
    const size_t unit = sizeof(double);
    return (each * (size_t)n + unit - 1) / unit * unit;
}

int sap_caller_read(sapporo *c, int n, const struct sap_caller_column *columns, int count, void **block)
{
    size_t bytes = 0;
    int status = check_packed(c, columns, count);
    *block = NULL;
    if (status) return status;
    for (int k = 0; k < count; k++)
        if (columns[k].column->base) bytes += room_of(columns[k].each, n);
    char *const all = malloc(bytes + 1), *to = all;
    if (!all) return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for columns of %d rows", n);
    for (int k = 0; k < count && !status; k++) {
        sapporo_column *const column = columns[k].column;
        if (!column->base) continue;
        status = read_memory(c, to, column->base, columns[k].each * (size_t)n);
        *column = (sapporo_column){to, 0};
        to += room_of(columns[k].each, n);
    }
    if (status)
        free(all);
    else
        *block = all;
    return status;
}

/* --------------------------------------------------------------- j-particles */

enum { PARTICLE_COLUMNS = SAPPORO_DERIVATIVES + 4 };

static void list_columns(sapporo_particles *p, struct sap_caller_column *to)
{
    for (int d = 0; d < SAPPORO_DERIVATIVES; d++)
        to[d] = (struct sap_caller_column){&p->derivative[d], 3 * sizeof(double)};
    to += SAPPORO_DERIVATIVES;
    to[0] = (struct sap_caller_column){&p->mass, sizeof(double)};
    to[1] = (struct sap_caller_column){&p->time, sizeof(double)};
    to[2] = (struct sap_caller_column){&p->eps2, sizeof(double)};
    to[3] = (struct sap_caller_column){&p->index, sizeof(int)};
}

int sap_caller_read_particles(sapporo *c, int n, sapporo_particles *p, void **block)
{
    struct sap_caller_column columns[PARTICLE_COLUMNS];
    list_columns(p, columns);
    p->memory = SAPPORO_MEMORY_HOST;
    return sap_caller_read(c, n, columns, PARTICLE_COLUMNS, block);
}

/* The columns that the order uses. */
static sapporo_particles used_of(const sapporo *c, const sapporo_particles *given)
{
    const int used = c->settings.order == 2 ? 1 : sap_particle_derivatives(c);
    sapporo_particles p = *given;
    for (int d = used; d < SAPPORO_DERIVATIVES; d++) p.derivative[d].base = NULL;
    if (c->settings.order == 2) p.time.base = NULL;
    return p;
}

/*
 * Whether particles for these addresses may be on the device alone: one device has all particles.  anew: they replace
 * all.  Forces of few particles are computed from the host's.
 */
static int may_keep(const sapporo *c, int first, int n, int anew)
{
    if (!c->engine->caller->keeps(c->devices) || n == 0) return 0;
    if (!anew) return c->away && first <= c->host.upper;
    return !(c->mixed && n < SAP_FEW_J);
}

/* Whether no particle needs a message or other units. */
static int is_usual(const sapporo *c, const struct sap_caller_seen *seen)
{
    enum { WIDE = 36 }; /* exponent of SAP_WIDE */
    int finite = sap_caller_is_finite(&seen->mass) && sap_caller_is_finite(&seen->time);
    for (int d = 0; d < SAPPORO_DERIVATIVES; d++) finite &= sap_caller_is_finite(&seen->derivative[d]);
    if (!finite || sap_caller_exponent(seen->derivative[0].most) >= WIDE) return 0;
    if (seen->eps2.negative || !sap_caller_is_finite(&seen->eps2)) return 0;
    return c->settings.precision == SAPPORO_DP || sap_context_sees_plain(c, seen);
}

/* Number of the highest derivative that counts. */
static int terms_of(const sapporo *c, const struct sap_caller_seen *seen)
{
    int d = sap_particle_derivatives(c) - 1;
    if (c->settings.order == 2) return 0;
    while (!c->host.full && d > 1 && seen->derivative[d].most == 0) d--;
    return d;
}

/* Joins the sizes of numbers. */
static void join_sizes(struct sap_caller_sizes *to, const struct sap_caller_sizes *more)
{
    if (more->most > to->most) to->most = more->most;
    if (more->least < to->least) to->least = more->least;
}

static void join(struct sap_caller_seen *to, const struct sap_caller_seen *more)
{
    for (int d = 0; d < SAPPORO_DERIVATIVES; d++) join_sizes(&to->derivative[d], &more->derivative[d]);
    join_sizes(&to->mass, &more->mass);
    join_sizes(&to->eps2, &more->eps2);
}

/* An upper bound of numbers of this size. */
static double bound_of(int size)
{
    const uint64_t bits = (uint64_t)(unsigned)size << 32 | 0xFFFFFFFFU;
    double x;
    memcpy(&x, &bits, sizeof x);
    return size > 0 ? x : 0;
}

/* Notes particles that the device has taken. */
static void note_taken(sapporo *c, int end, const struct sap_caller_seen *seen, int anew)
{
    if (anew)
        c->seen = *seen;
    else
        join(&c->seen, seen);
    if (end > c->host.upper) c->host.upper = end;
    c->host.count = c->host.upper; /* without segments: the host has none of them */
    c->host.soft = bound_of(c->seen.eps2.most);
    c->away = 1;
}

/* Marks the particles of a failed call, and those that the device had, as lost. */
static int lose_all(sapporo *c, int end, int status)
{
    const int upper = c->host.upper > end ? c->host.upper : end;
    const int failed = sap_engine_failed(c, c->store, status, "particles in memory of the device");
    sap_context_clear(c);
    sap_context_lose(c, 0, upper);
    return failed;
}

static int take(sapporo *c, int first, int n, const sapporo_particles *p, const struct sap_caller_seen *seen, int anew)
{
    if (anew) sap_context_clear(c);
    sap_context_use_store(c, 0);
    c->host.version++;
    const int status = c->engine->caller->take(c->store, first, n, p, terms_of(c, seen), anew);
    if (status) return lose_all(c, first + n, status);
    note_taken(c, first + n, seen, anew);
    return SAPPORO_OK;
}

int sap_caller_put(sapporo *c, int first, int n, const sapporo_particles *given, int *status)
{
    struct sap_caller_seen seen;
    struct sap_caller_column columns[PARTICLE_COLUMNS];
    sapporo_particles p = used_of(c, given);
    sap_context_settle(c);
    const int anew = first == 0 && n >= c->host.upper;
    if (!may_keep(c, first, n, anew)) return 0;
    list_columns(&p, columns);
    *status = check_packed(c, columns, PARTICLE_COLUMNS);
    if (*status) return 1;
    *status = c->engine->caller->look(c->store, n, &p, &seen);
    if (*status) *status = sap_engine_failed(c, c->store, *status, "columns in memory of the device");
    if (*status) return 1;
    if (!is_usual(c, &seen)) return 0;
    *status = take(c, first, n, &p, &seen, anew);
    return 1;
}

/* -------------------------------------------------------------------- requests */

int sap_caller_read_request(sapporo *c, sapporo_request *r, struct sap_caller_request *own)
{
    const size_t three = 3 * sizeof(double), one = sizeof(double);
    *own = (struct sap_caller_request){.regular = {.size = sizeof own->regular}};
    const int known =
        r->regular ? sap_struct_copy(&own->regular, sizeof own->regular, r->regular, SAP_REGULAR_LEAST) : 0;
    if (known) return sap_struct_error(&c->notes, known, "sapporo_regular", r->regular);
    const struct sap_caller_column columns[] = {{&r->x, three},    {&r->v, three},           {&r->a, three},
                                                {&r->jerk, three}, {&r->index, sizeof(int)}, {&r->eps2_i, one},
                                                {&r->h2, one},     {&own->regular.dtr, one}};
    if (r->regular) r->regular = &own->regular;
    r->memory = SAPPORO_MEMORY_HOST;
    return sap_caller_read(c, r->ni, columns, (int)(sizeof columns / sizeof columns[0]), &own->block);
}

/* --------------------------------------------------------------------- results */

/* An array of a result: where it lies, and the bytes of a row. */
struct array {
    void *at;
    size_t each;
};

enum { ARRAYS = 7 };

static void list_arrays(const sapporo_result *r, struct array *to)
{
    const size_t three = 3 * sizeof(double), one = sizeof(double);
    const struct array all[ARRAYS] = {{r->acc, three},     {r->jerk, three}, {r->snap, three},
                                      {r->crackle, three}, {r->pot, one},    {r->nearest, sizeof(int)},
                                      {r->nearest_r2, one}};
    memcpy(to, all, sizeof all);
}

int sap_caller_open_results(sapporo *c, int ni, sapporo_result *r, struct sap_caller_results *own)
{
    struct array theirs[ARRAYS];
    void *here[ARRAYS];
    size_t bytes = 0;
    *own = (struct sap_caller_results){.theirs = *r};
    list_arrays(r, theirs);
    const int rows = ni > 0 ? ni : 0;
    for (int k = 0; k < ARRAYS; k++)
        if (theirs[k].at) bytes += room_of(theirs[k].each, rows);
    char *at = own->block = malloc(bytes + 1);
    if (!at) return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for results of %d rows", ni);
    for (int k = 0; k < ARRAYS; k++) {
        here[k] = theirs[k].at ? at : NULL;
        if (theirs[k].at) at += room_of(theirs[k].each, rows);
    }
    *r = (sapporo_result){.size = sizeof *r,
                          .acc = here[0],
                          .jerk = here[1],
                          .snap = here[2],
                          .crackle = here[3],
                          .pot = here[4],
                          .nearest = here[5],
                          .nearest_r2 = here[6],
                          .count = r->count};
    return SAPPORO_OK;
}

int sap_caller_close_results(sapporo *c, int ni, const sapporo_result *r, struct sap_caller_results *own, int status)
{
    struct array theirs[ARRAYS], here[ARRAYS];
    list_arrays(&own->theirs, theirs);
    list_arrays(r, here);
    for (int k = 0; k < ARRAYS && own->block && ni > 0; k++) {
        if (!theirs[k].at) continue;
        const int one = c->engine->caller->write(c->store, theirs[k].at, here[k].at, theirs[k].each * (size_t)ni);
        if (one && status >= 0) status = sap_engine_failed(c, c->store, one, "results in memory of the device");
    }
    free(own->block);
    return status;
}

/* --------------------------------------------------------------------- handles */

int sap_caller_take_columns(sapporo *context, int n, const struct sap_caller_column *columns, int count, void **block)
{
    int device;
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    *block = NULL;
    int status = c ? sap_caller_check(c, SAPPORO_MEMORY_DEVICE, "columns", &device) : SAPPORO_ERR_CLOSED;
    if (!status) status = sap_caller_read(c, n, columns, count, block);
    return sap_call_end(&call, status);
}

int sap_caller_take_particles(sapporo *context, int n, sapporo_particles *columns, void **block)
{
    struct sap_caller_column all[PARTICLE_COLUMNS];
    list_columns(columns, all);
    columns->memory = SAPPORO_MEMORY_HOST;
    return sap_caller_take_columns(context, n, all, PARTICLE_COLUMNS, block);
}

int sap_caller_take_request(sapporo *context, sapporo_request *request, struct sap_caller_request *own)
{
    int device;
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    *own = (struct sap_caller_request){.block = NULL};
    int status = c ? sap_caller_check(c, request->memory, "columns", &device) : SAPPORO_ERR_CLOSED;
    if (!status) status = sap_caller_read_request(c, request, own);
    return sap_call_end(&call, status);
}

int sap_caller_take_results(sapporo *context, int ni, sapporo_result *result, struct sap_caller_results *own)
{
    int device;
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    *own = (struct sap_caller_results){.block = NULL};
    int status = c ? sap_caller_check(c, result->memory, "results", &device) : SAPPORO_ERR_CLOSED;
    if (!status) status = sap_caller_open_results(c, ni, result, own);
    return sap_call_end(&call, status);
}

int sap_caller_give_results(sapporo *context, int ni, const sapporo_result *result, struct sap_caller_results *own,
                            int status)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    return sap_call_end(&call, sap_caller_close_results(c, ni, result, own, status));
}
