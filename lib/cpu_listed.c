/*
 * cpu_listed.c - forces on particles of a context, each from a list of others: the irregular force of neighbours.
 *
 * The listed particles are gathered side by side, as if they had been stored at addresses 0, 1, ... in the list's
 * order, and go through the kernel of few i-particles.  So a force has the bits of one on particles stored like that,
 * whoever computes it.  Where lists name most particles, all are predicted first and picked out of the tiles; where
 * they name few, these alone are gathered and predicted.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "cpu_engine.h"
#include "fpenv.h"
#include "physics/interaction.h"
#include "threads.h"

enum { TILE = SAP_CPU_SUPERPACKET, LANES = SAP_CPU_LANES };

/* Entries of lists for which another thread is worth waking. */
static const double entries_per_thread = 8192;

/* Columns of gathered particles, and the one on which they act. */
struct worker {
    struct sap_single single;
    _Alignas(64) double derivative[SAP_TERMS + 1][3 * TILE];
    _Alignas(64) double mass[TILE], time[TILE];
    int32_t index[TILE];
};

struct work {
    const struct sap_kernel *kernel;
    const struct sap_jstore *host;
    const struct sap_listed *listed;
    struct sap_variant variant;
    int terms;                  /* of all segments */
    const void *const *records; /* of tiles that are predicted; NULL: they are not */
};

static int terms_of(const struct sap_jstore *host)
{
    int terms = 1;
    for (int s = 0; s < host->segments; s++)
        if (host->segment[s] && host->segment[s]->terms > terms) terms = host->segment[s]->terms;
    return terms;
}

static int is_there(const struct sap_jstore *host, int address)
{
    return (unsigned)address < (unsigned)host->upper && sap_jstore_has(host, address);
}

static int all_there(const struct work *w, const int *list, int n)
{
    unsigned most = 0;
    for (int k = 0; k < n; k++) most = (unsigned)list[k] > most ? (unsigned)list[k] : most;
    if (n > 0 && most >= (unsigned)w->host->upper) return 0;
    if (w->host->count == w->host->upper) return 1; /* no gaps */
    for (int k = 0; k < n; k++)
        if (!sap_jstore_has(w->host, list[k])) return 0;
    return 1;
}

/* Brings n particles of a list side by side. */
static void gather(const struct work *w, struct worker *to, const int *list, int n)
{
    enum { AHEAD = 8 };
    for (int k = 0; k < n; k++) {
        if (k + AHEAD < n) sap_jstore_fetch(w->host, list[k + AHEAD]);
        const struct sap_segment *const s = sap_jstore_segment(w->host, list[k]);
        const unsigned in = (unsigned)list[k] % SAP_SEGMENT;
        const size_t from = sap_jstore_offset(in), at = sap_jstore_offset((unsigned)k);
        for (int d = 0; d <= w->terms; d++)
            for (int axis = 0; axis < 3; axis++)
                to->derivative[d][at + (size_t)axis * LANES] =
                    s->derivative[d] ? s->derivative[d][from + (size_t)axis * LANES] : 0;
        to->mass[k] = s->mass[in];
        to->time[k] = s->time[in];
        to->index[k] = s->index[in];
    }
}

static void add_picked(const struct work *w, struct worker *with, const int *list, int first, int n)
{
    const struct sap_picked_args args = {.records = w->records,
                                         .address = list + first,
                                         .n = n,
                                         .first = (uint32_t)first,
                                         .eps2 = w->listed->eps2,
                                         .variant = w->variant};
    w->kernel->few_picked(&args, &with->single);
}

static void add_part(const struct work *w, struct worker *with, const int *list, int first, int n)
{
    if (w->records) {
        add_picked(w, with, list, first, n);
        return;
    }
    struct sap_columns columns = {.mass = with->mass, .time = with->time, .index = with->index};
    for (int d = 0; d <= w->terms; d++) columns.derivative[d] = with->derivative[d];
    const struct sap_few_args args = {.columns = &columns,
                                      .time = w->listed->time,
                                      .first = (uint32_t)first,
                                      .n = n,
                                      .terms = w->terms,
                                      .ni = 1,
                                      .eps2 = w->listed->eps2,
                                      .variant = w->variant};
    gather(w, with, list + first, n);
    w->kernel->few_i(&args, &with->single);
}

/* The nearest among entries first, first + step, ... that have another index; ties go to the lower address. */
static int nearest_of(const struct work *w, const int *list, int n, int first, int step, int32_t own, const double *x,
                      double *r2)
{
    int best = -1;
    for (int k = first; k < n; k += step) {
        if (sap_jstore_index(w->host, list[k]) == own) continue;
        const double d2 = sap_canonical_r2(w->host, list[k], w->listed->time, x);
        if (best >= 0 && (d2 > *r2 || (d2 == *r2 && list[k] > best))) continue;
        best = list[k];
        *r2 = d2;
    }
    return best;
}

/* Out of the packet in which the kernel found it, if no other comes as near within errors. */
static void find_nearest(const struct work *w, const struct sap_single *s, int i, const double *x)
{
    const struct sap_listed *const l = w->listed;
    const struct sap_near near = w->kernel->near_single(s);
    const double r = sqrt(near.best), size = fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2])));
    const double reach = r * (1 + 4 * w->kernel->r2_error) + 4 * w->kernel->x_error * (size + r);
    const int clear = near.block >= 0 && near.second > reach * reach;
    const int32_t own = sap_jstore_index(w->host, l->address[i]);
    double r2 = INFINITY;
    const int packet = (int)(near.block / SAP_BLOCKS % LANES);
    const int address = clear ? nearest_of(w, l->list[i], l->length[i], packet, LANES, own, x, &r2)
                              : nearest_of(w, l->list[i], l->length[i], 0, 1, own, x, &r2);
    if (l->nearest) l->nearest[i] = address < 0 ? -1 : sap_jstore_index(w->host, address);
    if (l->nearest_r2) l->nearest_r2[i] = r2;
}

static void write_row(const struct sap_listed *l, int i, const double *sum)
{
    for (int axis = 0; axis < 3; axis++) {
        if (l->acc) l->acc[i][axis] = sum[SAP_ACC + axis];
        if (l->jerk) l->jerk[i][axis] = sum[SAP_JERK + axis];
    }
    if (l->pot) l->pot[i] = sum[SAP_POT];
}

static void write_bad(const struct sap_listed *l, int i)
{
    double sum[SAP_SUMS];
    for (int q = 0; q < SAP_SUMS; q++) sum[q] = NAN;
    write_row(l, i, sum);
    if (l->nearest) l->nearest[i] = -1;
    if (l->nearest_r2) l->nearest_r2[i] = NAN;
}

/* One row; 1 if it is NaN for want of a particle. */
static int compute_row(const struct work *w, struct worker *with, int i)
{
    const struct sap_listed *const l = w->listed;
    double x[1][3], v[1][3], sum[SAP_SUMS];
    const int n = l->length[i];
    if (n < 0 || !is_there(w->host, l->address[i]) || !all_there(w, l->list[i], n)) {
        write_bad(l, i);
        return 1;
    }
    sap_canonical_predict(w->host, l->address[i], l->time, x[0], v[0]);
    const int32_t index = sap_jstore_index(w->host, l->address[i]);
    const struct sap_i one = {.x = (const double(*)[3])x, .v = (const double(*)[3])v, .index = &index};
    w->kernel->start_single(&with->single, &one, 0);
    for (int first = 0; first < n; first += TILE)
        add_part(w, with, l->list[i], first, n - first < TILE ? n - first : TILE);
    w->kernel->finish_single(&with->single, sum);
    for (int q = 0; q < w->kernel->sums && n == 0; q++) sum[q] = 0;
    write_row(l, i, sum);
    if (w->variant.near) find_nearest(w, &with->single, i, x[0]);
    return 0;
}

static int run_threads(const struct work *w, int threads, int *failed)
{
    const int ni = w->listed->ni;
    int bad = 0, without = 0;
    (void)threads; /* without OpenMP */
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(+ : bad, without)
    {
        const sap_fpenv caller = sap_fp_enter();
        struct worker *const with = aligned_alloc(64, (sizeof *with + 63) / 64 * 64);
        if (with) memset(with, 0, sizeof *with);
#pragma omp for schedule(dynamic, 16)
        for (int i = 0; i < ni; i++) {
            if (with)
                bad += compute_row(w, with, i);
            else
                without++;
        }
        free(with);
        sap_fp_leave(caller);
    }
    *failed = without > 0;
    return bad;
}

/*
 * Predicts all tiles, if that is worth it for so many entries: a particle in order costs an eighth of one out of order.
 * Returns their records, to be freed, or NULL.
 */
static const void **predict_all(struct work *w, struct sap_store *store, double entries, int threads)
{
    const int nj = w->host->upper, tiles = (nj + TILE - 1) / TILE;
    if (!store || entries * 8 < nj || sap_cpu_predict(store, w->listed->time, nj, threads)) return NULL;
    const void **const records = malloc(((size_t)tiles + 1) * sizeof *records);
    for (int t = 0; t < tiles && records; t++) {
        records[t] = store->predicted[t].records;
        w->variant.wide |= store->predicted[t].far;
    }
    return records;
}

int sap_cpu_listed(struct sap_device_set *devices, struct sap_store *store, const struct sap_jstore *host,
                   const struct sap_listed *listed)
{
    double entries = 0;
    int failed;
    for (int i = 0; i < listed->ni; i++) entries += listed->length[i] > 0 ? listed->length[i] : 0;
    const double useful = entries / entries_per_thread + 1;
    const int threads = sap_threads_now(useful < devices->threads ? (int)useful : devices->threads);
    struct work work = {.kernel = devices->kernel,
                        .host = host,
                        .listed = listed,
                        .variant = {.near = listed->nearest || listed->nearest_r2 ? SAP_NEAREST : 0,
                                    .zero = listed->eps2 < SAP_TINY_R2,
                                    .skip_own = 1,
                                    .wide = host->far || listed->eps2 > SAP_FAR * SAP_FAR},
                        .terms = terms_of(host)};
    const void **const records = predict_all(&work, store, entries, threads);
    work.records = records;
    const int bad = run_threads(&work, threads, &failed);
    free(records);
    return failed ? SAPPORO_ERR_MEMORY : bad ? SAPPORO_PARTIAL : SAPPORO_OK;
}
