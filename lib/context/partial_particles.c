/* partial_particles.c - copies j-particles between contexts in the form in which they are stored (partial.h). */
#include <string.h>

#include "context/call.h"
#include "context/partial.h"
#include "context/particles.h"

/* Number of derivatives in a row. */
static int row_terms(const sapporo *c) { return c->settings.order == 2 ? 1 : sap_particle_derivatives(c); }

static size_t row_doubles(const sapporo *c)
{
    return 3 * (size_t)row_terms(c) + sizeof(struct sap_partial_tail) / sizeof(double);
}

int sap_partial_keep_engine(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    c->chosen = 1;
    return sap_call_end(&call, SAPPORO_OK);
}

int sap_partial_first_lost(sapporo *context, int nj)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return -1;
    if (c->nstaged) sap_context_settle(c);
    const int address = sap_jstore_any_lost(&c->host) ? sap_jstore_first_lost(&c->host, nj) : -1;
    sap_call_leave(&call);
    return address;
}

static void read_row(const sapporo *c, int address, double *row)
{
    double derivative[SAP_DERIVATIVES_MOST][3];
    struct sap_partial_tail tail = {.occupied = sap_jstore_has(&c->host, address)};
    const size_t bytes = 3 * (size_t)row_terms(c) * sizeof *row;
    if (tail.occupied) {
        sap_jstore_get(&c->host, address, derivative, &tail.mass, &tail.time, &tail.index);
        tail.eps2 = sap_jstore_eps2(&c->host, address);
        for (int k = 0; k < row_terms(c); k++) sap_scale(derivative[k], 3, -sap_units_derivative(&c->units, k));
        tail.mass = sap_scaled(tail.mass, -c->units.mass);
        tail.time = sap_scaled(tail.time, -c->units.time);
        tail.eps2 = sap_scaled(tail.eps2, -sap_units_square(&c->units));
        memcpy(row, derivative, bytes);
    } else {
        memset(row, 0, bytes);
    }
    memcpy((char *)row + bytes, &tail, sizeof tail);
}

/* Rows that threads read. */
struct partial_rows {
    const sapporo *c;
    int first;
    double *row;
};

static void read_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct partial_rows *const r = argument;
    for (int k = (int)from; k < to; k++) read_row(r->c, r->first + k, r->row + (size_t)k * row_doubles(r->c));
}

int sap_partial_read(sapporo *context, int first, int n, double *rows)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    if (c->nstaged) sap_context_settle(c);
    const int status = sap_context_fetch(c);
    if (status) return sap_call_end(&call, status);
    sap_jstore_finish(&c->host);
    struct partial_rows all = {c, first, rows};
    sap_partial_loop(sap_context_threads(c), n, read_some, &all);
    return sap_call_end(&call, SAPPORO_OK);
}

static struct sap_partial_tail tail_of(const sapporo *c, const double *rows, int k)
{
    struct sap_partial_tail tail;
    memcpy(&tail, rows + (size_t)(k + 1) * row_doubles(c) - sizeof tail / sizeof *rows, sizeof tail);
    return tail;
}

/* Number of rows from row k on that are occupied; *soft: 1 if one of them has a softening. */
static int occupied_rows(const sapporo *c, const double *rows, int k, int n, int *soft)
{
    int end = k;
    *soft = 0;
    for (; end < n && tail_of(c, rows, end).occupied; end++) *soft |= tail_of(c, rows, end).eps2 > 0;
    return end - k;
}

/* Stores n occupied rows; `soft`: some have a softening. */
static int store_rows(sapporo *c, int first, int n, const double *row, int soft)
{
    const ptrdiff_t stride = (ptrdiff_t)(row_doubles(c) * sizeof *row);
    const char *const tail = (const char *)(row + 3 * (ptrdiff_t)row_terms(c));
    sapporo_particles all = {.size = sizeof all,
                             .mass = {tail + offsetof(struct sap_partial_tail, mass), stride},
                             .time = {tail + offsetof(struct sap_partial_tail, time), stride},
                             .index = {tail + offsetof(struct sap_partial_tail, index), stride}};
    for (int d = 0; d < row_terms(c); d++) all.derivative[d] = (sapporo_column){row + 3 * (ptrdiff_t)d, stride};
    if (soft) all.eps2 = (sapporo_column){tail + offsetof(struct sap_partial_tail, eps2), stride};
    return sap_particles_put_known(c, first, n, &all);
}

int sap_partial_store(sapporo *context, int first, int n, const double *rows)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    if (c->given) sap_context_clear(c);
    int status = SAPPORO_OK;
    for (int k = 0, run, soft; k < n && !status; k += run > 0 ? run : 1) {
        run = occupied_rows(c, rows, k, n, &soft);
        if (run > 0) status = store_rows(c, first + k, run, rows + (size_t)k * row_doubles(c), soft);
        if (status) sap_context_lose(c, first + k + run, n - k - run);
    }
    return sap_call_end(&call, status);
}
