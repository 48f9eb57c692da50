/* slab.c - a part of the i-particles of all ranks: gathered, computed and added up (slab.h). */
#include "mpi/slab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "context/internals.h"
#include "mpi/answer.h"
#include "mpi/blocks.h"

static int rows_of(const sapporo_mpi_job *j, int ni, int number)
{
    return sap_slab_first(j, ni, number + 1) - sap_slab_first(j, ni, number);
}

static struct sap_gathered *gathered(const sapporo_mpi *h, int number)
{
    return &h->slab->gathered[number % SAP_SLABS];
}

/* ------------------------------------------------------------------ memory */

/* Makes what does not depend on the number of i-particles; NULL: out of memory. */
static struct sap_slab *create(int ranks)
{
    const size_t n = (size_t)ranks;
    struct sap_slab *const s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->numbers = calloc(2 * SAP_SLABS * n, sizeof *s->numbers);
    if (!s->numbers || sap_route_reserve(&s->route, ranks)) {
        free(s->numbers);
        free(s);
        return NULL;
    }
    for (int k = 0; k < SAP_SLABS; k++) {
        s->gathered[k].count = s->numbers + (size_t)(2 * k) * n;
        s->gathered[k].first = s->gathered[k].count + n;
        s->gathered[k].request = MPI_REQUEST_NULL;
    }
    return s;
}

int sap_slab_prepare(sapporo_mpi *h)
{
    const sapporo_mpi_job *const j = h->job;
    size_t rows = 1, own = 1; /* of the largest slab: a rank has at most one row more than in the others */
    for (int r = 0; r < h->link.size; r++) rows += (size_t)(j->rows[r] / j->slabs + 1);
    own += (size_t)(j->ni / j->slabs);
    struct sap_slab *const s = h->slab ? h->slab : create(h->link.size);
    if (!s) return -1;
    h->slab = s;
    const size_t width = (size_t)h->width * sizeof(double);
    double *const target = sap_room_reserve(&s->targets, SAP_SLABS * rows * width);
    s->out = sap_room_reserve(&s->outs, rows * sap_answer_bytes(h));
    s->in = sap_room_reserve(&s->ins, (size_t)h->link.size * own * sap_answer_bytes(h));
    if (!target || !s->out || !s->in) return -1;
    for (size_t k = 0; k < SAP_SLABS; k++) s->gathered[k].target = target + k * rows * (size_t)h->width;
    s->failed = s->partial = 0;
    return 0;
}

void sap_slab_drop(sapporo_mpi *h)
{
    if (!h->slab) return;
    for (int k = 0; k < 2; k++) {
        sapporo_force_free(h->slab->job[k]);
        h->slab->job[k] = NULL;
    }
}

void sap_slab_free(sapporo_mpi *h)
{
    struct sap_slab *const s = h->slab;
    if (!s) return;
    sap_room_free(&s->targets);
    sap_room_free(&s->outs);
    sap_room_free(&s->ins);
    sap_route_free(&s->route);
    free(s->numbers);
    free(s);
    h->slab = NULL;
}

/* ------------------------------------------------------------------ gather */

int sap_slab_gather(sapporo_mpi *h, int number)
{
    const sapporo_mpi_job *const j = h->job;
    struct sap_gathered *const g = gathered(h, number);
    g->rows = 0;
    for (int r = 0; r < h->link.size; r++) {
        g->count[r] = rows_of(j, j->rows[r], number);
        g->first[r] = g->rows;
        g->rows += g->count[r];
    }
    sap_link_count_all(&h->link, g->count[h->link.rank], (size_t)h->width * sizeof(double), 0);
    const double *const own = j->target + (size_t)sap_slab_first(j, j->ni, number) * (size_t)h->width;
    return sap_link_judge(&h->link, MPI_Iallgatherv(own, g->count[h->link.rank], h->target, g->target, g->count,
                                                    g->first, h->target, h->link.communicator, &g->request));
}

/* ----------------------------------------------------------------- compute */

/* Records the first error of this rank. */
static void fail_slab(sapporo_mpi *h, int status)
{
    if (h->slab->failed || status >= 0) return;
    h->slab->failed = sap_link_note(&h->link, status, sapporo_last_error(h->context));
}

sapporo_request sap_slab_request(const sapporo_mpi *h, const double *target, int ni, int nj)
{
    const sapporo_mpi_job *const j = h->job;
    const ptrdiff_t stride = h->width * (ptrdiff_t)sizeof *target;
    const ptrdiff_t tail = 3 * (ptrdiff_t)h->vectors;
    sapporo_request r = {
        .size = sizeof r, .nj = nj, .ni = ni, .eps2 = j->eps2, .x = {target, stride}, .softening = j->softening};
    if (h->vectors > 1) r.v = (sapporo_column){target + 3, stride};
    if (h->vectors > 2) r.a = (sapporo_column){target + 6, stride};
    if (h->vectors > 3) r.jerk = (sapporo_column){target + 9, stride};
    if (j->soft) r.eps2_i = (sapporo_column){target + tail, stride};
    if (j->indexed) r.index = (sapporo_column){target + tail + 1, stride};
    r.want = j->nearest ? SAPPORO_WANT_NEAREST : 0;
    return r;
}

int sap_slab_compute(sapporo_mpi *h, int number)
{
    struct sap_gathered *const g = gathered(h, number);
    const int status = sap_link_wait(&h->link, &g->request);
    if (status) return status;
    const sapporo_request request = sap_slab_request(h, g->target, g->rows, h->job->nj);
    fail_slab(h, sapporo_internals()->partial_begin(h->context, &request, h->job->asked, &h->slab->job[number % 2]));
    return SAPPORO_OK;
}

/* Fills the sums of all rows with NaN, so that no rank takes them for results. */
static void spoil(const sapporo_mpi *h, int number)
{
    const size_t doubles = sap_answer_bytes(h) / sizeof(double) * (size_t)gathered(h, number)->rows;
    for (size_t k = 0; k < doubles; k++) h->slab->out[k] = NAN;
}

void sap_slab_collect(sapporo_mpi *h, int number)
{
    struct sap_slab *const s = h->slab;
    sapporo_job **const job = &s->job[number % 2];
    struct sap_partial partial;
    const int status =
        s->failed ? s->failed
                  : sapporo_internals()->partial_end(*job, h->job->nearest, s->out, sap_answer_bytes(h), &partial);
    if (status < 0) {
        fail_slab(h, status);
        spoil(h, number);
    } else {
        memcpy(s->scale, partial.scale, sizeof s->scale);
        s->partial |= status == SAPPORO_PARTIAL;
    }
    sapporo_force_free(*job);
    *job = NULL;
}

/* ---------------------------------------------------------------- exchange */

int sap_slab_exchange(sapporo_mpi *h, int number)
{
    struct sap_slab *const s = h->slab;
    const struct sap_gathered *const g = gathered(h, number);
    for (int r = 0; r < h->link.size; r++) {
        s->route.sent[r] = g->count[r];
        s->route.got[r] = g->count[h->link.rank];
    }
    (void)sap_route_settle(&s->route, &h->link);
    s->wire = (struct sap_wire){.out = s->out, .in = s->in, .each = sap_answer_bytes(h), .own_stays = 1};
    return sap_exchange_begin(&h->link, &s->route, &s->wire);
}

/* ------------------------------------------------------------------ result */

/* The sums that rank r has for row i of this rank in a slab; an address of a neighbour then counts over all ranks. */
static double *answer_of(const sapporo_mpi *h, const struct sap_gathered *g, int r, int i)
{
    const size_t doubles = sap_answer_bytes(h) / sizeof(double);
    const int rank = h->link.rank;
    double *const a = r == rank ? h->slab->out + (size_t)(g->first[rank] + i) * doubles
                                : h->slab->in + ((size_t)r * (size_t)g->count[rank] + (size_t)i) * doubles;
    if (h->job->nearest) {
        struct sap_partial_near *const near = sap_answer_near(h, a);
        if (near->address >= 0) near->address = sap_block_outer(near->address, r, h->link.size);
    }
    return a;
}

/* Adds the sums of row i of a slab and writes them to a row of the result. */
static void write_row(const sapporo_mpi *h, const struct sap_gathered *g, int i, int row, const sapporo_result *result)
{
    double *const sum = answer_of(h, g, 0, i);
    for (int r = 1; r < h->link.size; r++) sap_answer_merge(h, sum, answer_of(h, g, r, i));
    sap_answer_write(h, sum, h->slab->scale, row, result);
}

/* Rows of a slab that threads write. */
struct finish {
    const sapporo_mpi *h;
    const struct sap_gathered *g;
    int first; /* row of the result of the slab's first row */
    const sapporo_result *result;
};

static void write_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct finish *const f = argument;
    for (int i = (int)from; i < to; i++) write_row(f->h, f->g, i, f->first + i, f->result);
}

int sap_slab_finish(sapporo_mpi *h, int number, int ni, const sapporo_result *result)
{
    const struct sap_gathered *const g = gathered(h, number);
    const int first = sap_slab_first(h->job, h->job->ni, number), own = g->count[h->link.rank];
    const int status = sap_exchange_end(&h->link, &h->slab->wire);
    if (status) return status;
    struct finish f = {h, g, first, result};
    const int rows = ni - first < own ? ni - first : own;
    const sap_fpenv caller = sap_fp_enter();
    if (rows > 0) sapporo_internals()->partial_loop(sap_mpi_threads(h->context), rows, write_some, &f);
    sap_fp_leave(caller);
    return SAPPORO_OK;
}
