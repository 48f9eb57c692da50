/*
 * gpu_batch_more.c - batches of small forces with second moments, a floor of the distance or counts of neighbours, on
 * accelerators: what differs from other batches.
 *
 * All numbers are doubles, in every precision (device/batch_input.h).  Squared radii and second moments of sources by
 * address are copied to the device once per call, if all lists name the same columns; else each list gets its own.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/finite.h"
#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "device/gpu_layout.h"
#include "engine/jstore.h"
#include "engine/small_forces.h"
#include "gpu/gpu_batch.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_store.h"
#include "physics/arithmetic.h"

enum { TARGET = SAP_GPU_MORE_TARGET, MOMENTS = SAP_GPU_MORE_MOMENTS };

/* The list with all members; those that an older struct lacks are zero. */
static sapporo_small_force whole(const sapporo_small_force *given)
{
    sapporo_small_force l = {0};
    (void)sap_struct_copy(&l, sizeof l, given, SAP_SMALL_FORCE_LEAST);
    return l;
}

static void read_moments(const sapporo_column *quad, int at, double *to)
{
    memset(to, 0, MOMENTS * sizeof *to);
    if (quad->base) memcpy(to, sap_column_at(quad, at, MOMENTS * sizeof *to), MOMENTS * sizeof *to);
}

/* What the sources of a list have: SAP_GPU_ASKS_... */
static int asks_of(const sapporo_small_force *l)
{
    return (l->quad_j.base ? SAP_GPU_ASKS_MOMENTS : 0) | (l->floor2_j.base ? SAP_GPU_ASKS_FLOORS : 0);
}

/* ---------------------------------------------------------------- planning */

static int is_other(const sapporo_column *a, const sapporo_column *b)
{
    return a->base != b->base || a->stride != b->stride;
}

/* Takes a column that the kernel does not read for lists without it. */
static void take_column(struct sap_batch_columns *c, sapporo_column *column, const sapporo_column *of_list)
{
    if (!of_list->base) return;
    if (!column->base) *column = *of_list;
    c->differ |= is_other(column, of_list);
}

/* Takes the columns of a list by address; `first`: it is the first such list. */
static void take_columns(struct sap_batch_columns *c, const sapporo_small_force *l, int first)
{
    if (first) c->h2 = l->h2_j;
    c->differ |= is_other(&c->h2, &l->h2_j);
    take_column(c, &c->quad, &l->quad_j);
    take_column(c, &c->floor2, &l->floor2_j);
}

void sap_batch_more_plan(struct sap_batch_work *w)
{
    struct sap_batch_columns *const c = &w->columns;
    const int lanes = w->store->set->device[0].kernels->geometry.lanes;
    int by_address = 0, asks = 0;
    for (int k = 0; k < w->m->nlists; k++) {
        const sapporo_small_force l = whole(sap_batch_force(w->m, k));
        asks |= asks_of(&l);
        if (l.address && l.nj > 0) take_columns(c, &l, !by_address++);
    }
    w->rows = w->floats && lanes == 1 ? SAP_GPU_FLOAT_TARGETS : SAP_GPU_MORE_TARGETS;
    w->sums = SAP_GPU_MORE_SUMS;
    w->target_bytes = TARGET * sizeof(double);
    w->source_bytes = (asks & SAP_GPU_ASKS_FLOORS ? SAP_GPU_MORE_WORDS
                       : asks                     ? SAP_GPU_MORE_FLOOR
                                                  : SAP_GPU_MORE_PLAIN) *
                      sizeof(double);
    w->resident = w->resident && !c->differ;
    c->words = c->floor2.base ? 2 + MOMENTS : c->quad.base ? 1 + MOMENTS : c->h2.base ? 1 : 0;
}

/* The highest address that lists name. */
struct most {
    const struct sap_batch *m;
    atomic_int address;
};

static void find_most(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct most *const f = argument;
    int most = -1, known = atomic_load_explicit(&f->address, memory_order_relaxed);
    for (int k = (int)from; k < to; k++) {
        const sapporo_small_force *const l = sap_batch_force(f->m, k);
        for (int n = 0; l->address && n < l->nj; n++) most = l->address[n] > most ? l->address[n] : most;
    }
    while (most > known && !atomic_compare_exchange_weak(&f->address, &known, most)) continue;
}

/* Threads for so many bytes. */
static int threads_for(double bytes)
{
    enum { BYTES = 1 << 18 };
    return sap_threads_few(bytes / BYTES < SAP_TEAM_MOST ? (int)(bytes / BYTES) : (int)SAP_TEAM_MOST);
}

size_t sap_batch_more_addresses(const struct sap_batch_work *w)
{
    struct most f = {.m = w->m, .address = -1};
    const int threads = threads_for(w->bytes);
    if (w->columns.words == 0) return 0;
    sap_team_for(threads, w->m->nlists, sap_team_chunk(w->m->nlists, threads, 1), find_most, &f);
    return (size_t)atomic_load(&f.address) + 1;
}

struct extra {
    const struct sap_batch_columns *c;
    double *to;
};

static void fill_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct extra *const e = argument;
    const int words = e->c->words;
    for (ptrdiff_t a = from; a < to; a++) {
        e->to[a * words] = sap_column_double(&e->c->h2, (int)a);
        if (words > 1) read_moments(&e->c->quad, (int)a, e->to + a * words + 1);
        if (words > 1 + MOMENTS) e->to[a * words + 1 + MOMENTS] = sap_column_double(&e->c->floor2, (int)a);
    }
}

void sap_batch_more_columns(const struct sap_batch_work *w, size_t n, double *to)
{
    struct extra e = {&w->columns, to};
    const int threads = threads_for((double)n * w->columns.words * sizeof(double));
    sap_team_for(threads, (ptrdiff_t)n, sap_team_chunk((ptrdiff_t)n, threads, 1024), fill_some, &e);
}

/* ----------------------------------------------------------------- filling */

int sap_batch_more_targets(const struct sap_batch_spot *s, const sapporo_small_force *given, double *to,
                           unsigned char *bad)
{
    const sapporo_small_force l = whole(given);
    int found = 0;
    memset(bad, 0, (size_t)s->n);
    for (int k = 0; k < s->n; k++, to += TARGET) {
        memcpy(to, sap_column_at(&l.x, s->from + k, 3 * sizeof *to), 3 * sizeof *to);
        to[3] = l.eps2 + sap_column_double(&l.eps2_i, s->from + k);
        to[4] = sap_column_double(&l.h2_i, s->from + k);
        to[5] = sap_small_floor2(&l, s->from + k);
        bad[k] = !finite_place(to);
        if (bad[k]) found = SAP_BATCH_BAD;
    }
    return found;
}

void sap_batch_more_sources(const struct sap_batch_work *w, const sapporo_small_force *given, double *to)
{
    const sapporo_small_force l = whole(given);
    const size_t words = w->source_bytes / sizeof *to;
    for (int k = 0; k < l.nj; k++, to += words) {
        const int at = l.address ? l.address[k] : k; /* columns that go with addresses have an element per address */
        if (l.address) {
            const struct sap_segment *const s = sap_jstore_segment(w->host, at);
            const unsigned in = (unsigned)at % SAP_SEGMENT;
            const double *const from = s->derivative[0] + sap_jstore_offset(in);
            for (int c = 0; c < 3; c++) to[c] = from[(ptrdiff_t)c * SAP_CPU_LANES];
            to[3] = s->mass[in];
            to[4] = s->eps2 ? s->eps2[in] : 0;
        } else {
            memcpy(to, sap_column_at(&l.x_j, k, 3 * sizeof *to), 3 * sizeof *to);
            to[3] = sap_column_double(&l.mass_j, k);
            to[4] = sap_column_double(&l.eps2_j, k);
        }
        to[5] = sap_column_double(&l.h2_j, at);
        if (words > SAP_GPU_MORE_PLAIN) read_moments(&l.quad_j, at, to + SAP_GPU_MORE_PLAIN);
        if (words > SAP_GPU_MORE_FLOOR) to[SAP_GPU_MORE_FLOOR] = sap_column_double(&l.floor2_j, at);
    }
}

int sap_batch_more_asks(const sapporo_small_force *given)
{
    const sapporo_small_force l = whole(given);
    return asks_of(&l);
}

/* ----------------------------------------------------------------- results */

void sap_batch_more_write(const struct sap_gpu_place *p, const struct sap_batch_spot *s, const sapporo_result *given)
{
    const double *const from = (const double *)p->out.host + s->row;
    const size_t rows = (size_t)p->rows;
    sapporo_result r = {0};
    (void)sap_struct_copy(&r, sizeof r, given, SAP_RESULT_LEAST);
    for (int k = 0, to = s->from; k < s->n; k++, to++) {
        const int good = !p->bad[s->row + k];
        if (r.pot) r.pot[to] = good ? from[k] : NAN;
        for (size_t c = 0; c < 3 && r.acc; c++) r.acc[to][c] = good ? from[(1 + c) * rows + (size_t)k] : NAN;
        if (r.count) r.count[to] = good ? (int)from[4 * rows + (size_t)k] : -1;
    }
}
