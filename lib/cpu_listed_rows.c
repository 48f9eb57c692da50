/* cpu_listed_rows.c - particles in rows: see cpu_listed.h. */
#define _DEFAULT_SOURCE
#include "cpu_listed.h"

#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "fpenv.h"
#include "threads.h"

enum { LANES = SAP_CPU_LANES, LINE = 64, AT_ONCE = 256, ROWS_FOR_THREADS = 128 };

void sap_rows_free(struct sap_rows *rows)
{
    if (!rows) return;
    free(rows->given);
    free(rows->memory);
    free(rows->stamp);
    free(rows->wanted);
    free(rows->changed);
    free(rows);
}

static int terms_of(const struct sap_jstore *host)
{
    int terms = 3;
    for (int s = 0; s < host->segments; s++)
        if (host->segment[s] && host->segment[s]->terms > terms) terms = host->segment[s]->terms;
    return terms;
}

static void copy_row(const struct sap_rows *rows, const struct sap_jstore *host, int address)
{
    const struct sap_segment *const s = sap_jstore_segment(host, address);
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    const size_t from = sap_jstore_offset(in);
    double *const to = sap_rows_given(rows, address);
    for (int k = 0; k <= rows->terms; k++)
        for (int axis = 0; axis < 3; axis++)
            to[4 * k + axis] = s->derivative[k] ? s->derivative[k][from + (size_t)axis * LANES] : 0;
    to[SAP_ROW_TIME] = s->time[in];
    to[SAP_ROW_MASS] = s->mass[in];
    const int32_t index[2] = {s->index[in], s->index[in]};
    memcpy(&to[SAP_ROW_INDEX], index, sizeof index);
}

static void copy_all(const struct sap_rows *rows, const struct sap_jstore *host)
{
    for (int a = 0; a < host->upper; a++)
        if (sap_jstore_has(host, a)) copy_row(rows, host, a);
}

/*
 * Memory for rows, set to zero.  Whoever is in a list lies in a page of his own, nearly: where rows fill huge pages,
 * they lie in some.
 */
static void *make_memory(size_t bytes)
{
    const size_t huge = (size_t)1 << 21, unit = bytes >= huge / 2 ? huge : LINE;
    void *const memory = aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
#if defined(MADV_HUGEPAGE)
    if (memory && unit == huge) (void)madvise(memory, (bytes + unit - 1) / unit * unit, MADV_HUGEPAGE);
#endif
    return memory ? memset(memory, 0, bytes) : NULL;
}

/* Rows for `room` particles, all to be copied. */
static struct sap_rows *make(const struct sap_kernel *kernel, int room, int terms)
{
    struct sap_rows *const rows = calloc(1, sizeof *rows);
    if (!rows) return NULL;
    rows->room = room;
    rows->terms = terms;
    rows->row_bytes = (ptrdiff_t)kernel->row_bytes;
    rows->given = make_memory((size_t)room * 4 * (size_t)(terms + 1) * sizeof *rows->given);
    rows->memory = make_memory(LINE + (size_t)room * kernel->row_bytes);
    rows->stamp = calloc((size_t)room, sizeof *rows->stamp);
    rows->wanted = malloc(((size_t)room + 1) * sizeof *rows->wanted);
    rows->changed = malloc((size_t)room * sizeof *rows->changed + 1);
    rows->nchanged = -1;
    if (!rows->given || !rows->memory || !rows->stamp || !rows->wanted || !rows->changed) {
        sap_rows_free(rows);
        return NULL;
    }
    rows->predicted = (char *)rows->memory + LINE;
    kernel->predict_rows(&(struct sap_rows_args){.terms = terms, .predicted = rows->predicted});
    return rows;
}

/* For who has a copy of the rows. */
static void note_changes(struct sap_rows *rows, const int32_t *address, int n)
{
    if (rows->nchanged < 0 || n > rows->room - rows->nchanged) {
        rows->nchanged = -1;
        return;
    }
    memcpy(rows->changed + rows->nchanged, address, (size_t)n * sizeof *address);
    rows->nchanged += n;
}

static void copy_these(struct sap_rows *rows, const struct sap_jstore *host, const int32_t *address, int n, int most)
{
    const int threads = n >= ROWS_FOR_THREADS ? sap_threads_now(most) : 1; /* all or one: see threads.h */
    (void)threads;                                                         /* without OpenMP */
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int k = 0; k < n; k++) copy_row(rows, host, address[k]);
}

static void take_changes(struct sap_rows *rows, struct sap_jstore *host, int threads)
{
    enum { SOME = 8192 };
    int32_t address[SOME];
    for (int from = 0, n = SOME; n == SOME; from = address[n - 1] + 1) {
        n = sap_jstore_take_changes(host, rows->seen, from, address, SOME);
        copy_these(rows, host, address, n, threads);
        note_changes(rows, address, n);
        if (n == 0) break;
    }
    rows->seen = host->version;
}

void sap_rows_forget(struct sap_rows *rows)
{
    rows->all = rows->far = rows->nwanted = 0;
    if (++rows->now) return;
    memset(rows->stamp, 0, (size_t)rows->room * sizeof *rows->stamp);
    rows->now = 1;
}

struct sap_rows *sap_rows_at(struct sap_device_set *devices, const struct sap_jstore *host, struct sap_jstore *changes,
                             double time)
{
    struct sap_rows *rows = devices->rows;
    const int terms = terms_of(host);
    if (!rows || rows->room < host->upper || rows->terms < terms) {
        const int some_more = host->upper < SAP_ADDRESSES / 2 ? host->upper / 4 + LANES : 0;
        struct sap_rows *const other = make(devices->kernel, host->upper + some_more, terms);
        if (!other) return NULL;
        sap_rows_free(rows);
        devices->rows = rows = other;
        if (changes) copy_all(rows, host);
    }
    if (changes && rows->now && rows->time == time && rows->version == host->version) return rows;
    if (changes && rows->seen != host->version) take_changes(rows, changes, devices->threads);
    rows->time = time;
    rows->version = host->version;
    sap_rows_forget(rows);
    return rows;
}

/* Without branches, since nobody foretells who comes anew. */
int sap_rows_want(struct sap_rows *rows, int upper, const int *address, int n)
{
    unsigned char *const stamp = rows->stamp;
    int32_t *const wanted = rows->wanted;
    const unsigned char now = rows->now;
    int nwanted = rows->nwanted, inside = 1;
    for (int k = 0; k < n; k++) {
        const int good = (unsigned)address[k] < (unsigned)upper, a = good ? address[k] : 0;
        inside &= good;
        wanted[nwanted] = a;
        nwanted += stamp[a] != now;
        stamp[a] = now;
    }
    rows->nwanted = nwanted;
    return inside;
}

/* AT_ONCE particles at most, from place `from` on, copied from `host` if it is given; tells whether one is far. */
static int predict_part(const struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host,
                        const int32_t *address, int from, int n)
{
    const struct sap_rows_args args = {.rows = rows->given,
                                       .terms = rows->terms,
                                       .time = rows->time,
                                       .address = address ? address + from : NULL,
                                       .first = from,
                                       .n = n - from < AT_ONCE ? n - from : AT_ONCE,
                                       .predicted = rows->predicted};
    for (int k = from; k < from + args.n && host; k++) copy_row(rows, host, address ? address[k] : k);
    return kernel->predict_rows(&args);
}

/* Those of address, or, if that is NULL, the first n. */
void sap_rows_predict_these(struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host,
                            const int32_t *address, int n, int threads)
{
    int far = 0;
    if (threads == 1 || n <= 2 * AT_ONCE) { /* no parallel region: see cpu_force.c */
        for (int from = 0; from < n; from += AT_ONCE) rows->far |= predict_part(rows, kernel, host, address, from, n);
        return;
    }
#pragma omp parallel num_threads(threads) reduction(| : far)
    {
        const sap_fpenv caller = sap_fp_enter();
#pragma omp for schedule(static)
        for (int from = 0; from < n; from += AT_ONCE) far |= predict_part(rows, kernel, host, address, from, n);
        sap_fp_leave(caller);
    }
    rows->far |= far;
}

int sap_rows_leave_out(struct sap_rows *rows, const struct sap_jstore *host)
{
    int n = 0;
    if (host->count == host->upper && host->upper > 0) return 1;
    for (int k = 0; k < rows->nwanted; k++) {
        const int address = rows->wanted[k], there = sap_jstore_has(host, address);
        if (!there) rows->stamp[address] = 0;
        rows->wanted[n] = address;
        n += there;
    }
    const int all = n == rows->nwanted;
    rows->nwanted = n;
    return all;
}

void sap_rows_predict(struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host, int copy,
                      int threads)
{
    sap_rows_predict_these(rows, kernel, copy ? host : NULL, rows->wanted, rows->nwanted, threads);
    rows->nwanted = 0;
}

void sap_rows_predict_all(struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host,
                          int copy, int threads)
{
    if (rows->all) return;
    sap_rows_predict_these(rows, kernel, copy ? host : NULL, NULL, host->upper, threads);
    memset(rows->stamp, rows->now, (size_t)host->upper);
    rows->all = 1;
}
