/* cpu_neighbour_rows.c - particles in rows: see cpu_neighbour.h. */
#define _DEFAULT_SOURCE
#include "cpu/cpu_neighbour.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/team.h"
#include "base/threads.h"

enum { LANES = SAP_CPU_LANES, LINE = 64, AT_ONCE = 256, ROWS_FOR_THREADS = 128 };

/* Allocates zeroed memory. Most members of a list lie on different pages, so large arrays use huge pages. */
static void fill_dense(struct sap_rows_area *area, size_t bytes)
{
    const size_t huge = (size_t)1 << 21, unit = bytes >= huge / 2 ? huge : LINE;
    area->memory = aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
    if (!area->memory) return;
#if defined(MADV_HUGEPAGE)
    if (unit == huge) (void)madvise(area->memory, (bytes + unit - 1) / unit * unit, MADV_HUGEPAGE);
#endif
    memset(area->memory, 0, bytes);
}

/*
 * Maps zeroed memory that takes pages only where it is written, for stores with mostly empty addresses. Huge pages
 * would take 2 MB per particle.
 */
static void map_sparse(struct sap_rows_area *area, size_t bytes)
{
#if defined(__linux__)
    enum { FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, FLAGS, -1, 0);
    if (memory == MAP_FAILED) return;
#if defined(MADV_NOHUGEPAGE)
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
#endif
    area->memory = memory;
    area->mapped = bytes;
#else
    fill_dense(area, bytes);
#endif
}

/* Allocates zeroed memory for array k of the rows; NULL: out of memory. */
static void *make_memory(struct sap_rows *rows, int k, size_t bytes)
{
    struct sap_rows_area *const area = &rows->area[k];
    if (rows->sparse)
        map_sparse(area, bytes);
    else if (k < SAP_ROWS_STAMP)
        fill_dense(area, bytes);
    else
        area->memory = k == SAP_ROWS_STAMP ? calloc(bytes, 1) : malloc(bytes);
    return area->memory;
}

static void free_memory(struct sap_rows_area *area)
{
#if defined(__linux__)
    if (area->mapped > 0) {
        (void)munmap(area->memory, area->mapped);
        return;
    }
#endif
    free(area->memory);
}

void sap_rows_free(struct sap_rows *rows)
{
    if (!rows) return;
    for (int k = 0; k < SAP_ROWS_ARRAYS; k++) free_memory(&rows->area[k]);
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
    for (int a = sap_jstore_next(host, 0); a < host->upper; a = sap_jstore_next(host, a + 1)) copy_row(rows, host, a);
}

/* Allocates all arrays; 0: out of memory. */
static int make_arrays(struct sap_rows *rows)
{
    const size_t room = (size_t)rows->room;
    rows->given = make_memory(rows, SAP_ROWS_GIVEN, room * 4 * (size_t)(rows->terms + 1) * sizeof *rows->given);
    char *const memory = make_memory(rows, SAP_ROWS_PREDICTED, LINE + room * (size_t)rows->row_bytes);
    rows->stamp = make_memory(rows, SAP_ROWS_STAMP, room * sizeof *rows->stamp);
    rows->wanted = make_memory(rows, SAP_ROWS_WANTED, (room + 1) * sizeof *rows->wanted);
    rows->changed = make_memory(rows, SAP_ROWS_CHANGED, room * sizeof *rows->changed + 1);
    if (!rows->given || !memory || !rows->stamp || !rows->wanted || !rows->changed) return 0;
    rows->predicted = memory + LINE;
    return 1;
}

/* Creates rows for `room` particles, all marked as not yet copied. */
static struct sap_rows *make(const struct sap_kernel *kernel, int room, int terms, int sparse)
{
    struct sap_rows *const rows = calloc(1, sizeof *rows);
    if (!rows) return NULL;
    rows->room = room;
    rows->terms = terms;
    rows->sparse = sparse;
    rows->row_bytes = (ptrdiff_t)kernel->row_bytes;
    rows->nchanged = -1;
    if (!make_arrays(rows)) {
        sap_rows_free(rows);
        return NULL;
    }
    kernel->predict_rows(&(struct sap_rows_args){.terms = terms, .predicted = rows->predicted});
    return rows;
}

/* Notes changed rows for the engine that copies the rows. */
static void note_changes(struct sap_rows *rows, const int32_t *address, int n)
{
    if (rows->nchanged < 0 || n > rows->room - rows->nchanged) {
        rows->nchanged = -1;
        return;
    }
    memcpy(rows->changed + rows->nchanged, address, (size_t)n * sizeof *address);
    rows->nchanged += n;
}

/* Arguments of copy_changes, which several threads run. */
struct row_changes {
    struct sap_rows *rows;
    const struct sap_jstore *host;
    const int32_t *address;
};

static void copy_changes(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct row_changes *const c = argument;
    for (ptrdiff_t k = from; k < to; k++) copy_row(c->rows, c->host, c->address[k]);
}

static void copy_these(struct sap_rows *rows, const struct sap_jstore *host, const int32_t *address, int n, int most)
{
    enum { PER_THREAD = ROWS_FOR_THREADS / 2 };
    const int useful = n / PER_THREAD;
    const int threads = n >= ROWS_FOR_THREADS ? sap_threads_now(useful < most ? useful : most) : 1;
    struct row_changes c = {rows, host, address};
    sap_team_for(threads, n, sap_team_chunk(n, threads, PER_THREAD / 2), copy_changes, &c);
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

/*
 * Sets all stamps to zero. Pages of a mapping are returned to the system, since writing zeros would allocate all of it.
 */
static void clear_stamps(const struct sap_rows *rows)
{
#if defined(__linux__)
    const struct sap_rows_area *const area = &rows->area[SAP_ROWS_STAMP];
    if (area->mapped > 0 && madvise(area->memory, area->mapped, MADV_DONTNEED) == 0) return;
#endif
    memset(rows->stamp, 0, (size_t)rows->room * sizeof *rows->stamp);
}

void sap_rows_forget(struct sap_rows *rows)
{
    rows->all = rows->far = rows->nwanted = 0;
    if (++rows->now) return;
    clear_stamps(rows);
    rows->now = 1;
}

struct sap_rows *sap_rows_at(struct sap_cpu_set *devices, const struct sap_jstore *host, struct sap_jstore *changes,
                             double time)
{
    struct sap_rows *rows = devices->rows;
    const int terms = terms_of(host);
    if (!rows || rows->room < host->upper || rows->terms < terms) {
        const int some_more = host->upper < SAP_ADDRESSES / 2 ? host->upper / 4 + LANES : 0;
        struct sap_rows *const other = make(devices->kernel, host->upper + some_more, terms, sap_rows_sparse(host));
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

/* Has no branches, since new addresses come in unpredictable order. */
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

/*
 * Returns the columns of consecutive addresses, which are all occupied, from a whole block of 16 on.  They are read
 * faster than rows, whose words must change places.
 */
static struct sap_columns columns_from(const struct sap_jstore *host, int first, int *terms)
{
    const struct sap_segment *const s = sap_jstore_segment(host, first);
    const ptrdiff_t at = first % SAP_SEGMENT;
    struct sap_columns c = {.mass = s->mass + at, .time = s->time + at, .index = s->index + at};
    for (int k = 0; k < SAP_DERIVATIVES; k++) c.derivative[k] = s->derivative[k] ? s->derivative[k] + 3 * at : NULL;
    *terms = s->terms;
    return c;
}

/* Arguments of predict_parts, which several threads run. */
struct row_prediction {
    struct sap_rows *rows;
    const struct sap_kernel *kernel;
    const struct sap_jstore *host;
    int copy; /* 1: rows are first copied from the host's columns */
    const int32_t *address;
    int n;
    atomic_int far;
};

/* Predicts at most AT_ONCE particles, from entry `from` on; returns whether one is far. */
static int predict_part(const struct row_prediction *p, int from)
{
    struct sap_rows *const rows = p->rows;
    struct sap_rows_args args = {.rows = rows->given,
                                 .terms = rows->terms,
                                 .time = rows->time,
                                 .address = p->address ? p->address + from : NULL,
                                 .first = from,
                                 .n = p->n - from < AT_ONCE ? p->n - from : AT_ONCE,
                                 .predicted = rows->predicted};
    struct sap_columns columns;
    for (int k = from; k < from + args.n && p->copy; k++) copy_row(rows, p->host, p->address ? p->address[k] : k);
    if (!p->address && args.n > 0) {
        columns = columns_from(p->host, from, &args.terms);
        args.columns = &columns;
    }
    return p->kernel->predict_rows(&args);
}

static void predict_parts(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct row_prediction *const p = argument;
    int far = 0;
    for (ptrdiff_t k = from; k < to; k += AT_ONCE) far |= predict_part(p, (int)k);
    if (far) atomic_store(&p->far, 1);
}

/* Predicts the n particles of `address`, or the first n if it is NULL. */
static void predict_these(struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host,
                          int copy, const int32_t *address, int n, int threads)
{
    struct row_prediction p = {rows, kernel, host, copy, address, n, 0};
    _Static_assert(SAP_SEGMENT % AT_ONCE == 0 && AT_ONCE % LANES == 0, "a part is in one segment");
    sap_team_for(n <= 2 * AT_ONCE ? 1 : threads, n, AT_ONCE, predict_parts, &p);
    rows->far |= atomic_load(&p.far);
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
    predict_these(rows, kernel, host, copy, rows->wanted, rows->nwanted, threads);
    rows->nwanted = 0;
}

void sap_rows_predict_all(struct sap_rows *rows, const struct sap_kernel *kernel, const struct sap_jstore *host,
                          int copy, int threads)
{
    if (rows->all) return;
    predict_these(rows, kernel, host, copy, NULL, host->upper, threads);
    memset(rows->stamp, rows->now, (size_t)host->upper);
    rows->all = 1;
}
