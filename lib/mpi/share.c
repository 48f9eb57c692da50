/* share.c - forces whose j-particles are sent to all ranks, part by part (share.h). */
#include "mpi/share.h"

#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "context/partial.h"
#include "mpi/answer.h"
#include "mpi/blocks.h"
#include "mpi/room.h"
#include "mpi/slab.h"

/* The particles of a part: as they arrive, and the context that holds them. */
struct half {
    sapporo *context;
    struct sap_room rows;
    int *count, *first;  /* [ranks] particles of each rank, and its first row */
    MPI_Request request; /* MPI_REQUEST_NULL: none are under way */
};

struct sap_share {
    struct half half[2]; /* of part p: element p % 2 */
    int *numbers;        /* memory of the arrays of numbers */
    int here;            /* half[0] holds all particles below this address, as of version `version` */
    uint64_t version;
    /* of the force under way */
    int parts;
    int failed, partial;
    sapporo_job *job[2]; /* of steps with even and with odd numbers */
    double scale[13];    /* factors of the sums */
    struct sap_room sums, totals;
};

/* ------------------------------------------------------------------ memory */

static struct sap_share *create(int ranks)
{
    struct sap_share *const s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->numbers = calloc(4 * (size_t)ranks, sizeof *s->numbers);
    if (!s->numbers) {
        free(s);
        return NULL;
    }
    for (int k = 0; k < 2; k++) {
        s->half[k].count = s->numbers + (ptrdiff_t)2 * k * ranks;
        s->half[k].first = s->half[k].count + ranks;
        s->half[k].request = MPI_REQUEST_NULL;
    }
    return s;
}

/* Opens the contexts of this rank, which are of the kind of its own context. */
static int open_contexts(sapporo_mpi *h)
{
    if (!h->share && !(h->share = create(h->link.size)))
        return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "sapporo_mpi_force_begin: out of memory for %d ranks",
                             h->link.size);
    for (int k = 0; k < 2; k++) {
        sapporo **const c = &h->share->half[k].context;
        const int status = sapporo_open(&h->context_options, c);
        if (status) return sap_link_note(&h->link, status, sapporo_last_error(NULL));
        (void)sapporo_partial_keep_engine(*c);
    }
    return SAPPORO_OK;
}

int sap_share_open(sapporo_mpi *h)
{
    if (h->share) return SAPPORO_OK; /* on all ranks or on none */
    const int status = sap_link_agree(&h->link, open_contexts(h));
    if (status && !h->link.broken) sap_share_free(h);
    return status;
}

sapporo *sap_share_scratch(sapporo_mpi *h)
{
    sap_share_forget(h);
    return h->share->half[0].context;
}

void sap_share_free(sapporo_mpi *h)
{
    struct sap_share *const s = h->share;
    if (!s) return;
    for (int k = 0; k < 2; k++) {
        sapporo_close(s->half[k].context);
        sap_room_free(&s->half[k].rows);
    }
    sap_room_free(&s->sums);
    sap_room_free(&s->totals);
    free(s->numbers);
    free(s);
    h->share = NULL;
}

/* ------------------------------------------------------------------- parts */

int sap_share_parts(const sapporo_mpi *h, int nj) { return h->link.size == 1 || nj == 0 ? 1 : (nj - 1) / h->part + 1; }

int sap_share_is_here(const sapporo_mpi *h, int nj)
{
    return h->link.size == 1 || (h->share && h->share->here >= nj && h->share->version == h->version);
}

static struct half *half_of(const sapporo_mpi *h, int part) { return &h->share->half[part % 2]; }

/* The context in which a part is computed: of one rank, its own. */
static sapporo *context_of(const sapporo_mpi *h, int part)
{
    return h->link.size == 1 ? h->context : half_of(h, part)->context;
}

static size_t row_doubles(const sapporo_mpi *h)
{
    return 3 * (size_t)h->terms + sizeof(struct sap_partial_tail) / sizeof(double);
}

/* The first address of a part, and of the part behind the last one: nj. */
static int part_first(const sapporo_mpi *h, int part)
{
    const int64_t first = (int64_t)part * h->part;
    return first < h->job->nj_all && h->link.size > 1 ? (int)first : part == 0 ? 0 : h->job->nj_all;
}

static int part_length(const sapporo_mpi *h, int part) { return part_first(h, part + 1) - part_first(h, part); }

/* Number of particles in the block that begins at an address, all below `end`. */
static int block_length(int address, int end) { return end - address < SAP_BLOCK ? end - address : SAP_BLOCK; }

/* Places the rows of each rank; those of a rank are in order of their addresses. */
static void place_rows(const sapporo_mpi *h, int part, struct half *f)
{
    const int end = part_first(h, part + 1);
    int row = 0;
    memset(f->count, 0, (size_t)h->link.size * sizeof *f->count);
    for (int a = part_first(h, part); a < end; a += SAP_BLOCK)
        f->count[sap_block_rank(a, h->link.size)] += block_length(a, end);
    for (int r = 0; r < h->link.size; r++) {
        f->first[r] = row;
        row += f->count[r];
    }
}

/* The row of the first particle of the block at an address of a part. */
static double *block_row(const sapporo_mpi *h, int part, const struct half *f, int address)
{
    const int ranks = h->link.size, before = (address - part_first(h, part)) / SAP_BLOCK / ranks;
    const int row = f->first[sap_block_rank(address, ranks)] + before * SAP_BLOCK;
    return (double *)f->rows.at + (size_t)row * row_doubles(h);
}

/* Records the first error of this rank. */
static void fail(sapporo_mpi *h, int status, const sapporo *context)
{
    if (h->share->failed || status >= 0) return;
    h->share->failed = sap_link_note(&h->link, status, sapporo_last_error(context));
}

/* Collective.  Starts to send a part. */
static int send_part(sapporo_mpi *h, int part)
{
    struct half *const f = half_of(h, part);
    const int ranks = h->link.size, end = part_first(h, part + 1);
    place_rows(h, part, f);
    for (int a = part_first(h, part); a < end; a += SAP_BLOCK)
        if (sap_block_rank(a, ranks) == h->link.rank)
            fail(h,
                 sapporo_partial_read(h->context, sap_block_inner(a, ranks), block_length(a, end),
                                      block_row(h, part, f, a)),
                 h->context);
    return sap_link_judge(&h->link, MPI_Iallgatherv(MPI_IN_PLACE, 0, h->particle, f->rows.at, f->count, f->first,
                                                    h->particle, h->link.communicator, &f->request));
}

/* 1 if some address of a part holds no particle. */
static int has_holes(const sapporo_mpi *h, int part)
{
    const double *row = half_of(h, part)->rows.at;
    struct sap_partial_tail tail;
    for (int k = 0; k < part_length(h, part); k++, row += row_doubles(h)) {
        memcpy(&tail, row + row_doubles(h) - sizeof tail / sizeof *row, sizeof tail);
        if (!tail.occupied) return 1;
    }
    return 0;
}

/* Stores a part that has arrived. */
static int store_part(sapporo_mpi *h, int part)
{
    const struct half *const f = half_of(h, part);
    const int begin = part_first(h, part), end = part_first(h, part + 1);
    int status = has_holes(h, part) ? sapporo_clear_particles(f->context) : SAPPORO_OK;
    for (int a = begin; a < end && !status; a += SAP_BLOCK)
        status = sapporo_partial_store(f->context, a - begin, block_length(a, end), block_row(h, part, f, a));
    return status ? status : sapporo_set_time(f->context, h->time);
}

/* Collective.  Waits for a part and stores it. */
static int receive_part(sapporo_mpi *h, int part)
{
    struct half *const f = half_of(h, part);
    const int status = sap_link_wait(&h->link, &f->request);
    if (status || h->share->failed) return status;
    sap_share_forget(h);
    fail(h, store_part(h, part), f->context);
    if (h->share->parts > 1 || h->share->failed) return SAPPORO_OK;
    h->share->here = h->job->nj_all;
    h->share->version = h->version;
    return SAPPORO_OK;
}

/* ------------------------------------------------------------------- steps */

/* Step k of a force computes slab k % slabs of part k / slabs. */
static int part_of(const sapporo_mpi *h, int step) { return step / h->job->slabs; }
static int slab_of(const sapporo_mpi *h, int step) { return step % h->job->slabs; }

static int slab_rows(const sapporo_mpi *h, int slab)
{
    return sap_slab_first(h->job, h->job->ni, slab + 1) - sap_slab_first(h->job, h->job->ni, slab);
}

/* Starts the force of a step, whose part is in its context. */
static void start_step(sapporo_mpi *h, int step)
{
    const int part = part_of(h, step), slab = slab_of(h, step);
    sapporo *const c = context_of(h, part);
    const double *const target = h->job->target + (size_t)sap_slab_first(h->job, h->job->ni, slab) * (size_t)h->width;
    const sapporo_request r = sap_slab_request(h, target, slab_rows(h, slab), part_length(h, part));
    if (h->share->failed) return;
    sapporo_job **const job = &h->share->job[step % 2];
    const int asked = h->job->asked, one = h->share->parts == 1;
    fail(h, one ? sapporo_whole_begin(c, &r, asked, job) : sapporo_partial_begin(c, &r, asked, job), c);
}

/* The rows of a result from row `first` on. */
static sapporo_result rows_from(const sapporo_result *r, int first)
{
    sapporo_result s = *r;
    if (s.acc) s.acc += first;
    if (s.jerk) s.jerk += first;
    if (s.snap) s.snap += first;
    if (s.crackle) s.crackle += first;
    if (s.pot) s.pot += first;
    if (s.nearest) s.nearest += first;
    if (s.nearest_r2) s.nearest_r2 += first;
    return s;
}

/* Waits for the force of a step whose part has all particles, and writes its rows below ni. */
static int finish_whole(sapporo_mpi *h, int step, int ni, const sapporo_result *result)
{
    const int slab = slab_of(h, step), first = sap_slab_first(h->job, h->job->ni, slab), rows = slab_rows(h, slab);
    const int wanted = ni - first < 0 ? 0 : ni - first < rows ? ni - first : rows;
    const sapporo_result r = rows_from(result, first);
    return sapporo_force_end(h->share->job[step % 2], wanted, &r);
}

/* Merges row i of a step into its total; the first part sets it. */
static void merge_row(const sapporo_mpi *h, int part, double *row, double *total)
{
    if (h->job->nearest) {
        struct sap_partial_near *const near = sap_answer_near(h, row);
        if (near->address >= 0) near->address += part_first(h, part);
    }
    if (part == 0)
        memcpy(total, row, sap_answer_bytes(h));
    else
        sap_answer_merge(h, total, row);
}

/* Waits for the force of a step, merges its sums, and writes the rows below ni once all parts are merged. */
static int finish_part(sapporo_mpi *h, int step, int ni, const sapporo_result *result)
{
    struct sap_share *const s = h->share;
    const int part = part_of(h, step), slab = slab_of(h, step), first = sap_slab_first(h->job, h->job->ni, slab);
    const size_t bytes = sap_answer_bytes(h), doubles = bytes / sizeof(double);
    struct sap_partial partial;
    const int status = sapporo_partial_end(s->job[step % 2], h->job->nearest, s->sums.at, bytes, &partial);
    if (status < 0) return status;
    memcpy(s->scale, partial.scale, sizeof s->scale);
    const sap_fpenv caller = sap_fp_enter();
    for (int i = 0; i < slab_rows(h, slab); i++) {
        double *const total = (double *)s->totals.at + (size_t)(first + i) * doubles;
        merge_row(h, part, (double *)s->sums.at + (size_t)i * doubles, total);
        if (part == s->parts - 1 && first + i < ni) sap_answer_write(h, total, s->scale, first + i, result);
    }
    sap_fp_leave(caller);
    return status;
}

static void finish_step(sapporo_mpi *h, int step, int ni, const sapporo_result *result)
{
    struct sap_share *const s = h->share;
    if (!s->failed) {
        const int status = s->parts > 1 ? finish_part(h, step, ni, result) : finish_whole(h, step, ni, result);
        s->partial |= status == SAPPORO_PARTIAL;
        fail(h, status, context_of(h, part_of(h, step)));
    }
    sapporo_force_free(s->job[step % 2]);
    s->job[step % 2] = NULL;
}

/* ------------------------------------------------------------------- force */

int sap_share_prepare(sapporo_mpi *h)
{
    const sapporo_mpi_job *const j = h->job;
    struct sap_share *const s = h->share ? h->share : (h->share = create(h->link.size));
    if (!s) return -1;
    s->parts = sap_share_parts(h, j->nj_all);
    s->failed = s->partial = 0;
    const size_t rows = (size_t)(j->nj_all < h->part ? j->nj_all : h->part) * row_doubles(h) * sizeof(double);
    for (int k = 0; k < 2 && k < s->parts && !sap_share_is_here(h, j->nj_all); k++)
        if (!sap_room_reserve(&s->half[k].rows, rows)) return -1;
    if (s->parts == 1) return 0;
    const size_t own = (size_t)(j->ni / j->slabs) + 1;
    return sap_room_reserve(&s->sums, own * sap_answer_bytes(h)) &&
                   sap_room_reserve(&s->totals, (size_t)j->ni * sap_answer_bytes(h))
               ? 0
               : -1;
}

int sap_share_begin(sapporo_mpi *h)
{
    if (sap_share_is_here(h, h->job->nj_all)) {
        fail(h, sapporo_set_time(context_of(h, 0), h->time), context_of(h, 0));
    } else {
        int status = send_part(h, 0);
        if (!status) status = receive_part(h, 0);
        if (status) return status;
    }
    start_step(h, 0);
    return SAPPORO_OK;
}

/* Collective.  Goes on to the next part: receives it, and starts to send the part behind it. */
static int next_part(sapporo_mpi *h, int part)
{
    const int status = receive_part(h, part);
    return status || part + 1 >= h->share->parts ? status : send_part(h, part + 1);
}

int sap_share_end(sapporo_mpi *h, int ni, const sapporo_result *result)
{
    const int steps = h->share->parts * h->job->slabs;
    int status = h->share->parts > 1 ? send_part(h, 1) : SAPPORO_OK;
    for (int k = 0; k < steps && !status; k++) {
        const int next = k + 1;
        if (next < steps && slab_of(h, next) == 0) status = next_part(h, part_of(h, next));
        if (next < steps && !status) start_step(h, next);
        if (!status) finish_step(h, k, ni, result);
        if (!status) status = sap_link_poke(&h->link, &half_of(h, part_of(h, k) + 1)->request);
        if (!status) status = sap_link_poke(&h->link, &half_of(h, part_of(h, k))->request);
    }
    return status;
}

int sap_share_status(const sapporo_mpi *h)
{
    const struct sap_share *const s = h->share;
    return s->failed ? s->failed : s->partial ? SAPPORO_PARTIAL : SAPPORO_OK;
}

void sap_share_forget(sapporo_mpi *h)
{
    if (h->share) h->share->here = 0;
}

void sap_share_drop(sapporo_mpi *h)
{
    for (int k = 0; k < 2 && h->share; k++) {
        sapporo_force_free(h->share->job[k]);
        h->share->job[k] = NULL;
    }
}
