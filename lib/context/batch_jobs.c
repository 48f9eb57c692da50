/*
 * batch_jobs.c - batches of small forces that are begun and ended apart.
 *
 * A batch keeps its results in memory of its own until the caller takes them. Freed batches keep their memory for the
 * next ones of the context.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "context/batch_units.h"
#include "context/call.h"
#include "context/job_rows.h"

/* ------------------------------------------------------------------ memory */

static void free_memory(sapporo_batch *b)
{
    const size_t from = offsetof(sapporo_batch, previous);
    free(b->ni);
    free(b->result);
    free(b->acc);
    free(b->pot);
    free(b->count);
    memset((char *)b + from, 0, sizeof *b - from);
    sap_handle_keep(&b->self);
}

/* Withdraws the handle of a batch, and drops what is under way. */
static void stop(sapporo *c, sapporo_batch *b)
{
    sap_handle_withdraw(&b->self);
    if (b->flight) c->engine->flight->drop(b->flight);
    b->flight = NULL;
}

/* Ends a batch: withdraws its handle, unlinks it and keeps its memory, of up to four batches, for new ones. */
static void retire_batch(sapporo *c, sapporo_batch *b)
{
    enum { SPARES = 4 };
    stop(c, b);
    if (b->previous)
        b->previous->next = b->next;
    else
        c->batches = b->next;
    if (b->next) b->next->previous = b->previous;
    if (c->spare_batches < SPARES && !sap_handle_is_worn(&b->self)) {
        b->next = c->spare_batch;
        c->spare_batch = b;
        c->spare_batches++;
    } else {
        free_memory(b);
    }
}

void sap_batches_free_all(sapporo *c)
{
    for (sapporo_batch *b = c->batches, *next; b; b = next) {
        next = b->next;
        stop(c, b);
        free_memory(b);
    }
    for (sapporo_batch *b = c->spare_batch, *next; b; b = next) {
        next = b->next;
        free_memory(b);
    }
    c->batches = c->spare_batch = NULL;
    c->spare_batches = 0;
}

/* A batch without results, linked to the context; NULL: out of memory. */
static sapporo_batch *new_batch(sapporo *c)
{
    sapporo_batch *b = c->spare_batch;
    if (b) {
        c->spare_batch = b->next;
        c->spare_batches--;
    } else if (!(b = sap_handle_object(SAP_HANDLE_BATCH, sizeof *b, NULL))) {
        return NULL;
    }
    atomic_store_explicit(&b->context, c, memory_order_release);
    b->previous = NULL;
    b->next = c->batches;
    if (c->batches) c->batches->previous = b;
    c->batches = b;
    b->status = b->ended = 0;
    return b;
}

/* Makes room for lists and rows; returns -1 if memory is short. */
static int reserve(sapporo_batch *b, int lists, size_t rows, int counts)
{
    if (lists > b->lists) {
        free(b->ni);
        free(b->result);
        b->ni = malloc((size_t)lists * sizeof *b->ni);
        b->result = malloc((size_t)lists * sizeof *b->result);
        b->lists = b->ni && b->result ? lists : 0;
        if (!b->lists) return -1;
    }
    if (rows > b->rows) {
        free(b->acc);
        free(b->pot);
        free(b->count);
        b->count = NULL;
        b->acc = malloc(rows * sizeof *b->acc);
        b->pot = malloc(rows * sizeof *b->pot);
        b->rows = b->acc && b->pot ? rows : 0;
        if (!b->rows) return -1;
    }
    if (counts && !b->count && b->rows > 0) b->count = malloc(b->rows * sizeof *b->count);
    return counts && !b->count && b->rows > 0 ? -1 : 0;
}

/* ------------------------------------------------------------------- begin */

/* Starts a checked batch, whose results go to its own memory. */
static int start(sapporo *c, sapporo_batch *b, const struct sap_batch *m)
{
    size_t rows = 0;
    for (int k = 0; k < m->nlists; k++) rows += (size_t)sap_batch_force(m, k)->ni;
    if (reserve(b, m->nlists, rows, m->more))
        return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for %zu i-particles of %d lists", rows, m->nlists);
    rows = 0;
    for (int k = 0; k < m->nlists; k++) {
        b->ni[k] = sap_batch_force(m, k)->ni;
        b->result[k] = (sapporo_result){.size = sizeof *b->result};
        if (b->ni[k] == 0) continue; /* a batch without targets has no arrays */
        b->result[k].acc = b->acc + rows;
        b->result[k].pot = b->pot + rows;
        if (m->more) b->result[k].count = b->count + rows;
        rows += (size_t)b->ni[k];
    }
    b->work = *m;
    b->work.results = b->result;
    const int status =
        m->nlists > 0 ? sap_batch_run(c, &b->work, &b->flight, &b->units, "sapporo_force_batch_begin") : SAPPORO_OK;
    b->work.lists = NULL;
    b->ended = !b->flight;
    b->status = status;
    return status < 0 ? status : SAPPORO_OK;
}

int sapporo_force_batch_begin(sapporo *context, int nlists, const sapporo_small_force *lists, sapporo_batch **batch)
{
    struct sap_batch m = {.nlists = nlists, .lists = lists};
    if (!batch) return SAPPORO_ERR_ARGUMENT;
    *batch = NULL;
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    int status = sap_batch_prepare(c, &m, "sapporo_force_batch_begin");
    if (!status) {
        sapporo_batch *const b = new_batch(c);
        status =
            b ? start(c, b, &m) : sap_fail(c, SAPPORO_ERR_MEMORY, "no batch: %s", sap_handle_lack(SAP_HANDLE_BATCH));
        if (!status)
            *batch = sap_handle_give(&b->self);
        else if (b)
            retire_batch(c, b);
    }
    sap_log(SAPPORO_LOG_CALL, "force_batch_begin: %d lists, status %d", nlists, status);
    return sap_call_end(&call, status);
}

/* --------------------------------------------------------------------- end */

/* The rows that a caller wants: ni[k] of list k. */
struct delivery {
    const sapporo_batch *b;
    const int *ni;
    struct sap_batch to; /* results alone */
};

/* Whether the arrays are given with their size, so that the address of every element is known. */
static int has_rows(const struct delivery *d)
{
    return d->ni && d->to.results && d->to.results->size >= sizeof d->to.results->size &&
           d->to.results->size <= SAP_STRUCT_MOST;
}

static void write_failed(const struct delivery *d)
{
    for (int k = 0; has_rows(d) && k < d->to.nlists; k++) {
        sapporo_result r;
        (void)sap_result_copy(&r, sap_batch_result(&d->to, k));
        sap_rows_write_failed(d->ni[k], &r);
    }
}

static int check_end(sapporo *c, const sapporo_batch *b, const struct delivery *d)
{
    static const char *const me = "sapporo_force_batch_end";
    const int n = d->to.nlists;
    if (n < 0 || n > b->work.nlists)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "%s: %d lists of a batch of %d", me, n, b->work.nlists);
    if (n > 0 && !d->ni) return sap_fail(c, SAPPORO_ERR_ARGUMENT, "%s: ni is NULL", me);
    if (n > 0 && !has_rows(d))
        return sap_struct_error(&c->notes, SAPPORO_ERR_ARGUMENT, "sapporo_result", d->to.results);
    for (int k = 0; k < n; k++) {
        sapporo_result r;
        if (d->ni[k] < 0 || d->ni[k] > b->ni[k])
            return sap_fail(c, SAPPORO_ERR_ARGUMENT, "%s: %d rows of list %d, which has %d targets", me, d->ni[k], k,
                            b->ni[k]);
        if (sap_result_copy(&r, sap_batch_result(&d->to, k)) || r.jerk || r.nearest || r.nearest_r2 || r.snap ||
            r.crackle || r.memory)
            return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "%s gives acc, pot and count only (list %d)", me, k);
        if (r.count && !b->work.more)
            return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "%s: the batch was begun without h2_i or h2_j", me);
    }
    return SAPPORO_OK;
}

static void deliver(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct delivery *const d = argument;
    for (int k = (int)from; k < to; k++) {
        const sapporo_result *const own = &d->b->result[k];
        sapporo_result r;
        (void)sap_result_copy(&r, sap_batch_result(&d->to, k));
        if (d->ni[k] == 0) continue; /* a batch without targets has no arrays */
        if (r.acc) memcpy(r.acc, own->acc, (size_t)d->ni[k] * sizeof *r.acc);
        if (r.pot) memcpy(r.pot, own->pot, (size_t)d->ni[k] * sizeof *r.pot);
        if (r.count) memcpy(r.count, own->count, (size_t)d->ni[k] * sizeof *r.count);
    }
}

/* Waits for the results of a batch; returns their status. */
static int wait_for(sapporo *c, sapporo_batch *b)
{
    if (!b->ended) {
        const int status = c->engine->flight->end(b->flight);
        b->ended = 1;
        c->engine->flight->drop(b->flight);
        b->flight = NULL;
        b->status = status;
        if (status >= 0) sap_batch_leave_units(c, &b->work, b->ni, &b->units);
        if (status < 0) return sap_engine_failed(c, c->store, status, "%d lists", b->work.nlists);
    } else if (b->status < 0) {
        return sap_fail(c, b->status, "the batch failed before");
    }
    return b->status;
}

int sapporo_force_batch_end(sapporo_batch *batch, int nlists, const int *ni, const sapporo_result *results)
{
    enum { LISTS_PER_THREAD = 256 };
    struct delivery d = {.ni = ni, .to = {.nlists = nlists, .results = results}};
    struct sap_public_call call;
    sapporo_batch *const b = sap_call_begin(&call, SAP_HANDLE_BATCH, batch);
    if (!b) {
        write_failed(&d);
        return batch ? SAPPORO_ERR_CLOSED : SAPPORO_ERR_ARGUMENT;
    }
    sapporo *const c = b->context;
    int status = check_end(c, b, &d);
    if (!status) status = wait_for(c, b);
    d.b = b;
    if (status < 0) {
        write_failed(&d);
    } else {
        const int threads = sap_threads_few(nlists / LISTS_PER_THREAD);
        sap_team_for(threads, nlists, sap_team_chunk(nlists, threads, 1), deliver, &d);
    }
    return sap_call_end(&call, status);
}

int sapporo_force_batch_done(sapporo_batch *batch)
{
    struct sap_public_call call;
    sapporo_batch *const b = sap_call_look(&call, SAP_HANDLE_BATCH, batch);
    return sap_call_end(&call, b ? b->ended || b->context->engine->flight->done(b->flight) : 1);
}

void sapporo_force_batch_free(sapporo_batch *batch)
{
    struct sap_public_call call;
    sapporo_batch *const b = sap_call_look(&call, SAP_HANDLE_BATCH, batch);
    if (b) retire_batch(b->context, b);
    sap_call_leave(&call);
}
