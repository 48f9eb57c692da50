/* slab.c - a part of the i-particles of all ranks: gathered, computed and added up (slab.h). */
#include "mpi/slab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "context/partial.h"
#include "engine/accum.h"
#include "mpi/blocks.h"

/* First row of slab `number` among the ni rows of a rank. */
static int first_row(const sapporo_mpi_job *j, int ni, int number) { return (int)((int64_t)ni * number / j->slabs); }

static int rows_of(const sapporo_mpi_job *j, int ni, int number)
{
    return first_row(j, ni, number + 1) - first_row(j, ni, number);
}

/* Bytes of the sums of one i-particle, with its nearest neighbour if it is wanted. */
static size_t answer_bytes(const sapporo_mpi *h)
{
    return (size_t)h->sums * sizeof(struct sap_accum) + (h->job->nearest ? sizeof(struct sap_partial_near) : 0);
}

static MPI_Datatype answer_type(const sapporo_mpi *h) { return h->job->nearest ? h->answer_near : h->answer; }

/* ------------------------------------------------------------------ memory */

static void free_memory(struct sap_slab *s)
{
    free(s->count);
    free(s->target);
    free(s->out);
    free(s->in);
    free(s);
}

struct sap_slab *sap_slab_create(const sapporo_mpi *h)
{
    const sapporo_mpi_job *const j = h->job;
    const size_t ranks = (size_t)h->link.size;
    size_t rows = 1, own = 1; /* of the largest slab: a rank has at most one row more than in the others */
    for (int r = 0; r < h->link.size; r++) rows += (size_t)(j->rows[r] / j->slabs + 1);
    own += (size_t)(j->ni / j->slabs);
    struct sap_slab *const s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->count = calloc(6 * ranks, sizeof *s->count);
    s->target = malloc(rows * (size_t)h->width * sizeof *s->target);
    s->out = malloc(rows * answer_bytes(h));
    s->in = malloc(ranks * own * answer_bytes(h));
    if (s->count && s->target && s->out && s->in) {
        s->first = s->count + ranks, s->out_count = s->first + ranks, s->out_first = s->out_count + ranks;
        s->own_count = s->out_first + ranks, s->own_first = s->own_count + ranks;
        return s;
    }
    free_memory(s);
    return NULL;
}

void sap_slab_destroy(const sapporo_mpi *h, struct sap_slab *s)
{
    if (!s) return;
    sapporo_force_free(s->job);
    s->job = NULL;
    if (!h->link.broken) free_memory(s);
}

/* ------------------------------------------------------------------ gather */

int sap_slab_gather(sapporo_mpi *h, int number)
{
    const sapporo_mpi_job *const j = h->job;
    struct sap_slab *const s = j->slab;
    s->number = number;
    s->rows = 0;
    for (int r = 0; r < h->link.size; r++) {
        s->count[r] = rows_of(j, j->rows[r], number);
        s->first[r] = s->rows;
        s->rows += s->count[r];
    }
    const double *const own = j->target + (size_t)first_row(j, j->ni, number) * (size_t)h->width;
    return sap_link_judge(&h->link, MPI_Iallgatherv(own, s->count[h->link.rank], h->target, s->target, s->count,
                                                    s->first, h->target, h->link.communicator, &s->gather));
}

/* ----------------------------------------------------------------- compute */

/* Records the first error of this rank. */
static void fail_slab(sapporo_mpi *h, int status)
{
    if (h->job->slab->failed || status >= 0) return;
    h->job->slab->failed = sap_link_note(&h->link, status, sapporo_last_error(h->context));
}

/* The request for the gathered i-particles: x, v, ..., eps2, index. */
static sapporo_request request_of(const sapporo_mpi *h)
{
    const sapporo_mpi_job *const j = h->job;
    const double *const t = j->slab->target;
    const ptrdiff_t stride = h->width * (ptrdiff_t)sizeof *t;
    const ptrdiff_t tail = 3 * (ptrdiff_t)h->vectors;
    sapporo_request r = {.size = sizeof r, .nj = j->nj, .ni = j->slab->rows, .eps2 = j->eps2, .x = {t, stride}};
    if (h->vectors > 1) r.v = (sapporo_column){t + 3, stride};
    if (h->vectors > 2) r.a = (sapporo_column){t + 6, stride};
    if (h->vectors > 3) r.jerk = (sapporo_column){t + 9, stride};
    if (j->soft) r.eps2_i = (sapporo_column){t + tail, stride};
    if (j->indexed) r.index = (sapporo_column){t + tail + 1, stride};
    r.want = j->nearest ? SAPPORO_WANT_NEAREST : 0;
    return r;
}

int sap_slab_compute(sapporo_mpi *h)
{
    struct sap_slab *const s = h->job->slab;
    const int status = sap_link_wait(&h->link, &s->gather);
    if (status) return status;
    const sapporo_request request = request_of(h);
    fail_slab(h, sapporo_partial_begin(h->context, &request, &s->job));
    return SAPPORO_OK;
}

/* Fills the sums of all rows with NaN, so that no rank takes them for results. */
static void spoil(const sapporo_mpi *h)
{
    const struct sap_slab *const s = h->job->slab;
    const size_t doubles = answer_bytes(h) / sizeof *s->out * (size_t)s->rows;
    for (size_t k = 0; k < doubles; k++) s->out[k] = NAN;
}

void sap_slab_collect(sapporo_mpi *h)
{
    struct sap_slab *const s = h->job->slab;
    struct sap_partial partial;
    const int status =
        s->failed ? s->failed : sapporo_partial_end(s->job, h->job->nearest, s->out, answer_bytes(h), &partial);
    if (status < 0) {
        fail_slab(h, status);
        spoil(h);
    } else {
        memcpy(s->scale, partial.scale, sizeof s->scale);
        s->partial |= status == SAPPORO_PARTIAL;
    }
    sapporo_force_free(s->job);
    s->job = NULL;
}

/* ---------------------------------------------------------------- exchange */

int sap_slab_exchange(sapporo_mpi *h)
{
    struct sap_slab *const s = h->job->slab;
    s->own = s->count[h->link.rank];
    for (int r = 0; r < h->link.size; r++) {
        s->out_count[r] = s->count[r];
        s->out_first[r] = s->first[r];
        s->own_count[r] = s->own;
        s->own_first[r] = r * s->own;
    }
    return sap_link_judge(&h->link,
                          MPI_Ialltoallv(s->out, s->out_count, s->out_first, answer_type(h), s->in, s->own_count,
                                         s->own_first, answer_type(h), h->link.communicator, &s->exchange));
}

/* ------------------------------------------------------------------ result */

/* The sums that rank r has for row i of this rank. */
static const char *answer_of(const sapporo_mpi *h, int r, int i)
{
    const struct sap_slab *const s = h->job->slab;
    return (const char *)s->in + ((size_t)r * (size_t)s->own + (size_t)i) * answer_bytes(h);
}

static double add_sums(const sapporo_mpi *h, int i, int q)
{
    struct sap_accum sum, more;
    memcpy(&sum, answer_of(h, 0, i) + (size_t)q * sizeof sum, sizeof sum);
    for (int r = 1; r < h->link.size; r++) {
        memcpy(&more, answer_of(h, r, i) + (size_t)q * sizeof more, sizeof more);
        sap_accum_merge(&sum, &more);
    }
    return sap_accum_round(&sum) * h->job->slab->scale[q];
}

/* The nearest of the neighbours that the ranks found; ties go to the lower address. */
static struct sap_partial_near find_nearest(const sapporo_mpi *h, int i)
{
    struct sap_partial_near best = {.r2 = INFINITY, .address = -1, .index = -1}, other;
    for (int r = 0; r < h->link.size; r++) {
        memcpy(&other, answer_of(h, r, i) + (size_t)h->sums * sizeof(struct sap_accum), sizeof other);
        if (other.address < 0) {
            if (isnan(other.r2)) return other; /* the i-particle is not finite */
            continue;
        }
        other.address = sap_block_outer(other.address, r, h->link.size);
        if (best.address < 0 || other.r2 < best.r2 || (other.r2 == best.r2 && other.address < best.address))
            best = other;
    }
    return best;
}

/* Writes the vector of three sums from sum q on, if it is wanted. */
static void write_vector(const sapporo_mpi *h, int i, int q, double (*to)[3], int row)
{
    for (int k = 0; k < 3 && to; k++) to[row][k] = add_sums(h, i, q + k);
}

/* Adds the sums of row i of the slab and writes them to a row of the result. */
static void write_row(const sapporo_mpi *h, int i, int row, const sapporo_result *result)
{
    if (result->pot) result->pot[row] = add_sums(h, i, 0);
    write_vector(h, i, 1, result->acc, row);
    if (h->vectors > 1) write_vector(h, i, 4, result->jerk, row);
    if (h->vectors > 2) write_vector(h, i, 7, result->snap, row);
    if (h->vectors > 3) write_vector(h, i, 10, result->crackle, row);
    if (!h->job->nearest || (!result->nearest && !result->nearest_r2)) return;
    const struct sap_partial_near near = find_nearest(h, i);
    if (result->nearest) result->nearest[row] = near.index;
    if (result->nearest_r2) result->nearest_r2[row] = near.r2;
}

int sap_slab_finish(sapporo_mpi *h, int number, int ni, const sapporo_result *result)
{
    struct sap_slab *const s = h->job->slab;
    const int status = sap_link_wait(&h->link, &s->exchange), first = first_row(h->job, h->job->ni, number);
    if (status) return status;
    const sap_fpenv caller = sap_fp_enter();
    for (int i = 0; i < s->own && first + i < ni; i++) write_row(h, i, first + i, result);
    sap_fp_leave(caller);
    return SAPPORO_OK;
}

void sap_slab_write_failed(int first, int n, const sapporo_result *result)
{
    for (int i = first; i < first + n; i++) {
        for (int k = 0; k < 3; k++) {
            if (result->acc) result->acc[i][k] = NAN;
            if (result->jerk) result->jerk[i][k] = NAN;
            if (result->snap) result->snap[i][k] = NAN;
            if (result->crackle) result->crackle[i][k] = NAN;
        }
        if (result->pot) result->pot[i] = NAN;
        if (result->nearest) result->nearest[i] = -1;
        if (result->nearest_r2) result->nearest_r2[i] = NAN;
    }
}
