/*
 * cpu_neighbour.c - neighbour forces: the force on each target particle from its own list of particles of the context.
 *
 * A neighbour force has the bits of a force from particles stored at addresses 0, 1, ... in the list's order, on any
 * thread: the kernel adds in that order. Particles are read from rows (cpu_neighbour.h), predicted once for all lists
 * that name them.
 */
#include "cpu/cpu_neighbour.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "base/threads.h"
#include "engine/canonical.h"
#include "physics/interaction.h"

enum { TILE = SAP_CPU_SUPERPACKET, AHEAD = 2, FETCHED = 256 };

/* Predicted rows up to this size lie in caches near enough: to fetch them ahead costs more than it gains. */
enum { NEAR_BYTES = 131072 };

/* Entries of lists that make several threads worth waking, and entries per thread: about 10 us of work. */
static const double entries_for_threads = 4096, entries_per_thread = 1024;

/*
 * Entries per particle from which on it pays to predict all particles before lists are summed, which takes as long as
 * 1.4 entries per particle that are predicted while they are summed.
 */
static const double entries_for_all = 1.4;

struct worker {
    struct sap_single single;
    int32_t place[TILE];
};

/* A call of sap_cpu_neighbour. */
struct neighbour_call {
    const struct sap_kernel *kernel;
    const struct sap_jstore *host;
    const struct sap_neighbour_request *request;
    struct sap_rows *rows;
    struct sap_variant variant;
    int copy;   /* rows are not kept between calls */
    int direct; /* particles are predicted while lists are summed */
    int strict; /* lists may name empty addresses */
};

/* Returns whether list i can be summed: its target and all entries exist, and so are predicted. */
static int is_good(const struct neighbour_call *w, int i)
{
    const struct sap_neighbour_request *const l = w->request;
    const unsigned upper = (unsigned)w->host->upper;
    unsigned most = (unsigned)l->address[i];
    if (l->length[i] < 0) return 0;
    for (int k = 0; k < l->length[i]; k++) most = (unsigned)l->list[i][k] > most ? (unsigned)l->list[i][k] : most;
    if (most >= upper) return 0;
    if (w->rows->all) return 1;
    int good = w->rows->stamp[l->address[i]] == w->rows->now;
    for (int k = 0; k < l->length[i]; k++) good &= w->rows->stamp[l->list[i][k]] == w->rows->now;
    return good;
}

/* Notes the particles that lists name. */
static void note_all(struct neighbour_call *w)
{
    const struct sap_neighbour_request *const l = w->request;
    for (int i = 0; i < l->ni; i++) {
        if (i + AHEAD < l->ni) sap_rows_fetch_list(l->list[i + AHEAD], l->length[i + AHEAD]);
        const int there = sap_rows_want(w->rows, w->host->upper, &l->address[i], 1);
        w->strict |= l->length[i] < 0 || !there || !sap_rows_want(w->rows, w->host->upper, l->list[i], l->length[i]);
    }
    w->strict |= !sap_rows_leave_out(w->rows, w->host);
}

/*
 * Returns whether to predict particles while lists are summed: a few lists name most particles only once, so kept
 * predictions save nothing, unless they exist. This is excluded in dp, where the kernel must know beforehand whether a
 * particle is far, and where addresses may be empty.
 */
static int goes_directly(const struct neighbour_call *w, double entries)
{
    return w->kernel->rows_ahead > 0 && !w->copy && !w->rows->all && w->host->count == w->host->upper &&
           entries < entries_for_all * w->host->upper;
}

/* Prefetches the first lists, and the rows that the first list starts with: see sap_neighbour_args. */
SAP_ONLY_FETCHES void fetch_first(const struct neighbour_call *w)
{
    const struct sap_neighbour_request *const l = w->request;
    const int n = l->length[0] < w->kernel->rows_ahead ? l->length[0] : w->kernel->rows_ahead;
    for (int i = 0; i < AHEAD && i < l->ni; i++) sap_rows_fetch_list(l->list[i], l->length[i]);
    for (int k = 0; k < n && w->direct; k++) sap_rows_fetch_given(w->rows, l->list[0][k]);
}

/* Predicts each particle that lists name, once, unless predictions are computed while lists are summed. */
static void predict(struct neighbour_call *w, double entries, int threads)
{
    const struct sap_neighbour_request *const l = w->request;
    w->direct = goes_directly(w, entries);
    fetch_first(w);
    if (w->direct) return;
    if (w->host->count == w->host->upper && entries >= entries_for_all * w->host->upper)
        sap_rows_predict_all(w->rows, w->kernel, w->host, w->copy, threads);
    if (!w->rows->all) note_all(w);
    w->strict |= w->rows->all;
    sap_rows_predict(w->rows, w->kernel, w->host, w->copy, threads);
    w->variant.wide = w->rows->far || l->eps2 > SAP_FAR * SAP_FAR;
}

static int32_t index_of(const struct neighbour_call *w, int address)
{
    int32_t index;
    memcpy(&index, sap_rows_given(w->rows, address) + SAP_ROW_INDEX, sizeof index);
    return index;
}

/* The nearest particle found so far. */
struct nearest {
    int address; /* -1: none */
    double r2;
};

/* Compares an entry with a different index; ties go to the lower address. */
static void look_at(const struct neighbour_call *w, int i, int address, const double *x, struct nearest *best)
{
    if (index_of(w, address) == index_of(w, w->request->address[i])) return;
    const double r2 = sap_canonical_r2(w->host, address, w->request->time, x);
    /* false if r2 is NaN: such a particle is never the nearest */
    if (!(r2 < best->r2 || (r2 == best->r2 && (best->address < 0 || address < best->address)))) return;
    best->address = address;
    best->r2 = r2;
}

/* Finds the nearest of n entries; `found` of them are candidates, 0: all entries are. */
static void find_nearest(const struct neighbour_call *w, int i, const int *list, int n, const int32_t *place, int found,
                         struct nearest *best)
{
    double x[3];
    if (found == 1 && n == w->request->length[i] && !w->request->nearest_r2) {
        best->address = list[place[0]];
        return;
    }
    sap_canonical_predict(w->host, w->request->address[i], w->request->time, x, NULL);
    for (int k = 0; k < found; k++) look_at(w, i, list[place[k]], x, best);
    for (int k = 0; k < n && !found; k++) look_at(w, i, list[k], x, best);
}

static void write_row(const struct sap_neighbour_request *l, int i, const double *sum)
{
    for (int axis = 0; axis < 3; axis++) {
        if (l->acc) l->acc[i][axis] = sum[SAP_ACC + axis];
        if (l->jerk) l->jerk[i][axis] = sum[SAP_JERK + axis];
    }
    if (l->pot) l->pot[i] = sum[SAP_POT];
}

static void write_bad(const struct sap_neighbour_request *l, int i)
{
    double sum[SAP_SUMS4];
    for (int q = 0; q < SAP_SUMS4; q++) sum[q] = NAN;
    write_row(l, i, sum);
    if (l->nearest) l->nearest[i] = -1;
    if (l->nearest_r2) l->nearest_r2[i] = NAN;
}

/* Starts a list that is longer than a superpacket: its parts are added in accumulators. */
static void start_long(const struct neighbour_call *w, struct worker *with)
{
    static const double zero[1][3];
    const struct sap_i no_target = {.x = zero, .v = zero};
    w->kernel->start_single(&with->single, &no_target, 0, 0);
}

/* Sums a list; 0 if an address is empty. */
static int add_list(const struct neighbour_call *w, struct worker *with, int i, double *sum, struct nearest *best)
{
    const struct sap_neighbour_request *const l = w->request;
    const int n = l->length[i], more = i + 1 < l->ni;
    const struct sap_rows_args given = {
        .rows = w->rows->given, .terms = w->rows->terms, .time = w->rows->time, .n = w->host->upper};
    if (n > TILE) start_long(w, with);
    for (int first = 0; first < n; first += TILE) {
        const struct sap_neighbour_args args = {.predicted = w->rows->predicted,
                                                .given = w->direct ? &given : NULL,
                                                .own = l->address[i],
                                                .list = l->list[i] + first,
                                                .next = more ? l->list[i + 1] : NULL,
                                                .n = n - first < TILE ? n - first : TILE,
                                                .nnext = more ? l->length[i + 1] : 0,
                                                .eps2 = l->eps2,
                                                .variant = w->variant};
        const int found = w->kernel->neighbour(&args, &with->single, n > TILE ? NULL : sum, with->place);
        if (found < 0) return 0;
        if (w->variant.near) find_nearest(w, i, args.list, args.n, with->place, found, best);
    }
    if (n > TILE) w->kernel->finish_single(&with->single, w->kernel->scale, sum);
    return 1;
}

/* Prefetches the predicted rows of a list. */
SAP_ONLY_FETCHES void fetch_rows(const struct neighbour_call *w, int i)
{
    const struct sap_neighbour_request *const l = w->request;
    const int n = l->length[i] < FETCHED ? l->length[i] : FETCHED;
    for (int k = 0; k < n; k++)
        __builtin_prefetch((const char *)w->rows->predicted + l->list[i][k] * w->rows->row_bytes);
}

/* Prefetches the data of the lists after list i. */
SAP_ONLY_FETCHES void fetch_next(const struct neighbour_call *w, int i)
{
    const struct sap_neighbour_request *const l = w->request;
    if ((w->direct || w->rows->all) && i + AHEAD < l->ni) {
        sap_rows_fetch_list(l->list[i + AHEAD], l->length[i + AHEAD]);
        if (w->direct) sap_rows_fetch_given(w->rows, l->address[i + AHEAD]);
    }
    if (i + 1 < l->ni && !w->direct && w->host->upper * w->rows->row_bytes > NEAR_BYTES) fetch_rows(w, i + 1);
}

/* Returns whether list i or its target has an address that the kernel cannot read. */
static int is_bad(const struct neighbour_call *w, int i)
{
    const struct sap_neighbour_request *const l = w->request;
    if (w->direct) return l->length[i] < 0 || (unsigned)l->address[i] >= (unsigned)w->host->upper;
    return w->strict && !is_good(w, i);
}

/*
 * Returns whether the target particle of row i is not finite at the time of the force. Such a target gives a sum that
 * is not finite or, without a pair, a potential of 0. So only such rows are checked.
 */
static int target_is_bad(const struct neighbour_call *w, int i, const double *sum)
{
    double x[3], v[3], total = 0;
    for (int q = 0; q < SAP_SUMS4; q++) total += sum[q] - sum[q];
    if (total == 0 && sum[SAP_POT] != 0) return 0;
    sap_canonical_predict(w->host, w->request->address[i], w->request->time, x, v);
    return !(isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]) && isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]));
}

/* Computes one row; 1 if it is NaN, because a particle is missing or the target particle is not finite. */
static int compute_row(const struct neighbour_call *w, struct worker *with, int i)
{
    const struct sap_neighbour_request *const l = w->request;
    struct nearest best = {-1, INFINITY};
    double sum[SAP_SUMS4] = {0};
    fetch_next(w, i);
    if (is_bad(w, i) || !add_list(w, with, i, sum, &best) || target_is_bad(w, i, sum)) {
        write_bad(l, i);
        return 1;
    }
    write_row(l, i, sum);
    if (l->nearest) l->nearest[i] = best.address < 0 ? -1 : index_of(w, best.address);
    if (l->nearest_r2) l->nearest_r2[i] = best.r2;
    return 0;
}

/* Rows that are distributed over threads. */
struct neighbour_rows {
    const struct neighbour_call *work;
    atomic_int bad;
};

static void compute_rows(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct neighbour_rows *const r = argument;
    struct worker with;
    int bad = 0;
    for (ptrdiff_t i = from; i < to; i++) bad += compute_row(r->work, &with, (int)i);
    if (bad) atomic_fetch_add(&r->bad, bad);
}

static int run_threads(const struct neighbour_call *w, int threads)
{
    enum { ROWS_AT_ONCE = 16 };
    struct neighbour_rows r = {w, 0};
    sap_team_for(threads, w->request->ni, ROWS_AT_ONCE, compute_rows, &r);
    return atomic_load(&r.bad);
}

int sap_cpu_neighbour(struct sap_store *store, const struct sap_neighbour_context *context,
                      const struct sap_neighbour_request *request)
{
    struct sap_cpu_set *const devices = (void *)context->devices;
    struct sap_jstore *const host = context->host;
    (void)store; /* rows are made from the host's copy */
    double entries = 0;
    for (int i = 0; i < request->ni; i++) entries += request->length[i] > 0 ? request->length[i] : 0;
    const double useful = entries / entries_per_thread;
    const int most = useful < devices->threads ? (int)useful : devices->threads;
    const int threads = entries >= entries_for_threads ? sap_threads_now(most) : 1;
    struct neighbour_call work = {
        .kernel = devices->kernel,
        .host = host,
        .request = request,
        .rows = sap_rows_at(devices, host, context->takes_changes ? host : NULL, request->time),
        .variant = {.near = request->nearest || request->nearest_r2 ? SAP_NEAREST : 0, .zero = 1, .skip_own = 1},
        .copy = !context->takes_changes};
    if (!work.rows) return SAPPORO_ERR_MEMORY;
    predict(&work, entries, threads);
    return run_threads(&work, threads) ? SAPPORO_PARTIAL : SAPPORO_OK;
}

int sap_cpu_rows(struct sap_device_set *opaque_set, struct sap_jstore *host, double time, struct sap_given *given)
{
    struct sap_cpu_set *const devices = (void *)opaque_set;
    /* other engines use fused operations, and copy the rows of all addresses */
    if (!sap_isa_fuses(devices->isa) || sap_rows_sparse(host)) return SAP_LEFT;
    const struct sap_rows *const rows = sap_rows_at(devices, host, host, time);
    if (!rows) return SAPPORO_ERR_MEMORY;
    *given = (struct sap_given){.row = rows->given,
                                .words = 4 * (rows->terms + 1),
                                .upper = host->upper,
                                .changed = rows->changed,
                                .nchanged = rows->nchanged};
    return SAPPORO_OK;
}

void sap_cpu_rows_copied(struct sap_device_set *opaque_set, int copied)
{
    struct sap_cpu_set *const devices = (void *)opaque_set;
    if (devices->rows) devices->rows->nchanged = copied ? 0 : -1;
}
