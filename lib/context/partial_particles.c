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

int sap_partial_read(sapporo *context, int first, int n, double *rows)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    if (c->nstaged) sap_context_settle(c);
    sap_jstore_finish(&c->host);
    for (int k = 0; k < n; k++) read_row(c, first + k, rows + (size_t)k * row_doubles(c));
    return sap_call_end(&call, SAPPORO_OK);
}

static int store_row(sapporo *c, int address, const double *row)
{
    struct sap_partial_tail tail;
    const int terms = row_terms(c);
    memcpy(&tail, row + 3 * (ptrdiff_t)terms, sizeof tail);
    if (!tail.occupied) return SAPPORO_OK;
    struct sap_jparticle p = {.mass = tail.mass, .time = tail.time, .eps2 = tail.eps2, .index = tail.index};
    for (int k = 0; k < terms; k++) p.derivative[k] = row + 3 * (ptrdiff_t)k;
    return sap_particle_put_known(c, address, &p);
}

int sap_partial_store(sapporo *context, int first, int n, const double *rows)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    if (c->given) sap_context_clear(c);
    int status = SAPPORO_OK;
    for (int k = 0; k < n && !status; k++) {
        status = store_row(c, first + k, rows + (size_t)k * row_doubles(c));
        if (status) sap_context_lose(c, first + k, n - k);
    }
    return sap_call_end(&call, status);
}
