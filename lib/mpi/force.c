/*
 * force.c - begins and ends forces over all ranks.
 *
 * By SAPPORO_MPI_WAY_TARGETS each rank computes the force of its j-particles on the i-particles of all ranks, one slab
 * after the other (slab.c); by SAPPORO_MPI_WAY_SOURCES the force of all j-particles on its i-particles (share.c).
 */
#include "mpi/handle.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/internals.h"
#include "engine/softening.h"
#include "mpi/answer.h"
#include "mpi/blocks.h"
#include "mpi/share.h"
#include "mpi/slab.h"
#include "mpi/transport.h"
#include "mpi/way.h"

/* ----------------------------------------------------------------- request */

/* Fails if the request asks for what forces over ranks do not have. */
static int check_supported(sapporo_mpi *h, const sapporo_request *r)
{
    if (r->pairs != SAPPORO_PAIRS_ALL || r->h2.base || r->regular ||
        r->want & ~(unsigned)(SAPPORO_WANT_NEAREST | SAPPORO_ALLOW_EMPTY))
        return sap_link_fail(
            &h->link, SAPPORO_ERR_UNSUPPORTED,
            "sapporo_mpi_force_begin: forces over ranks have neither neighbour lists nor regular forces");
    return SAPPORO_OK;
}

/* Fails if the softening is not valid; the rank that gave an i-particle names it. */
static int check_softening(sapporo_mpi *h, const sapporo_request *r)
{
    if ((unsigned)r->softening > SAP_SOFTENING_LAST)
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_force_begin: softening is %d",
                             (int)r->softening);
    if (r->softening && h->order != 2)
        return sap_link_fail(&h->link, SAPPORO_ERR_UNSUPPORTED, "spline softening needs order 2");
    for (int i = 0; i < r->ni && r->eps2_i.base; i++) {
        const double eps2 = sap_column_double(&r->eps2_i, i);
        if (!(eps2 >= 0 && isfinite(eps2)))
            return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "eps2_i of i-particle %d is %g", i, eps2);
    }
    return SAPPORO_OK;
}

/* Fails if a particle below nj could not be stored on this rank, and was not stored since. */
static int check_lost(sapporo_mpi *h, int nj)
{
    if (h->unset)
        return sap_link_fail(
            &h->link, SAPPORO_ERR_MEMORY,
            "sapporo_mpi_force_begin: there was no memory for particles: forces fail until they are set "
            "again, or all addresses are emptied");
    if (h->lost && sapporo_internals()->partial_first_lost(h->context, INT_MAX) < 0) h->lost = 0;
    if (!h->lost) return SAPPORO_OK;
    const int address =
        sapporo_internals()->partial_first_lost(h->context, sap_block_count(nj, h->link.rank, h->link.size));
    if (address < 0) return SAPPORO_OK;
    return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY,
                         "sapporo_mpi_force_begin: the j-particle at address %d could not be stored: forces fail until "
                         "it is stored again",
                         sap_block_outer(address, h->link.rank, h->link.size));
}

/* Copies columns of a request in device memory to the host. */
static int take_columns(sapporo_mpi *h, sapporo_request *r, struct sap_caller_request *own)
{
    if (r->memory == SAPPORO_MEMORY_HOST) return SAPPORO_OK;
    const int status = sapporo_internals()->caller_take_request(h->context, r, own);
    return status ? sap_link_note(&h->link, status, sapporo_last_error(h->context)) : SAPPORO_OK;
}

/* Copies the request of a caller and checks it as far as one rank can; own: copies of its columns. */
static int check_request(sapporo_mpi *h, sapporo_request *r, const sapporo_request *given,
                         struct sap_caller_request *own)
{
    memset(r, 0, sizeof *r);
    const int known = given ? sap_struct_copy(r, sizeof *r, given, SAP_REQUEST_LEAST) : (int)SAPPORO_ERR_ARGUMENT;
    if (known) return sap_link_fail(&h->link, known, "sapporo_mpi_force_begin: no request of this version");
    if (h->job)
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_force_begin: the last job was not freed");
    if (r->nj < 0 || r->ni < 0)
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_force_begin: nj is %d, ni is %d", r->nj,
                             r->ni);
    if (r->ni > 0 && !r->x.base)
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_force_begin: no positions");
    if (h->vectors > 1 && !isfinite(h->time))
        return sap_link_fail(&h->link, SAPPORO_ERR_NOT_FINITE,
                             "sapporo_mpi_force_begin: the time is %g: set one with sapporo_mpi_set_time", h->time);
    if (!(r->eps2 >= 0 && isfinite(r->eps2)))
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_force_begin: eps2 is %g", r->eps2);
    int status = check_supported(h, r);
    if (!status) status = take_columns(h, r, own);
    if (!status) status = check_softening(h, r);
    return status ? status : check_lost(h, r->nj);
}

/* Fields of a request that the ranks exchange; those with a name must be the same. */
enum {
    NI,
    NJ,
    EPS2,
    WANT,
    TIME,
    TIME_SET,
    INDEXED,
    SOFT,
    SOFTENING,
    UPPER,
    TERMS,
    SOFT_J,
    UNFIT,
    BLOCKS,
    REQUEST_FIELDS
};
static const char *const request_names[REQUEST_FIELDS] = {[NJ] = "nj",
                                                          [EPS2] = "eps2",
                                                          [WANT] = "want",
                                                          [TIME] = "the time of sapporo_mpi_set_time",
                                                          [TIME_SET] = "time",
                                                          [INDEXED] = "index of the request",
                                                          [SOFTENING] = "softening"};

/* Collective.  Compares the requests of all ranks. */
static int compare_requests(sapporo_mpi *h, int status, const sapporo_request *r)
{
    struct sap_travel_facts facts = {.terms = 1};
    const int own = status ? 0 : sap_block_count(r->nj, h->link.rank, h->link.size);
    h->by_host = 0;
    if (sap_transport_of(h, r->nj)->on_device) (void)sapporo_internals()->travel_facts(h->context, r->eps2, &facts);
    double field[REQUEST_FIELDS] = {[NI] = r->ni,
                                    [NJ] = r->nj,
                                    [EPS2] = r->eps2,
                                    [WANT] = r->want,
                                    [TIME] = h->time,
                                    [TIME_SET] = !isnan(h->time),
                                    [INDEXED] = r->ni > 0 ? (double)(r->index.base != NULL) : (double)NAN,
                                    [SOFT] = r->ni > 0 && r->eps2_i.base,
                                    [SOFTENING] = (int)r->softening,
                                    [UPPER] = h->upper,
                                    [TERMS] = facts.terms,
                                    [SOFT_J] = facts.soft,
                                    [UNFIT] = facts.unfit,
                                    [BLOCKS] = sap_kept_count(&h->kept, sap_block_number(own))};
    return sap_link_compare(&h->link, status, REQUEST_FIELDS, field, request_names);
}

/* Collective, after the requests were compared.  Fails if a force of no particles is asked for that was not meant, as
 * sapporo_force_begin does: some rank has targets, and some rank keeps particles. */
static int check_no_sources(sapporo_mpi *h, const sapporo_request *r)
{
    int targets = 0, kept = 0;
    if (r->nj > 0 || r->want & SAPPORO_ALLOW_EMPTY) return SAPPORO_OK;
    for (int k = 0; k < h->link.size; k++) {
        targets |= sap_link_field(&h->link, k, NI) > 0;
        kept |= sap_link_field(&h->link, k, UPPER) > 0;
    }
    if (!targets || !kept) return SAPPORO_OK;
    return sap_link_agree(&h->link,
                          sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT,
                                        "sapporo_mpi_force_begin: nj is 0, and the ranks hold particles: set nj to the "
                                        "number of addresses that take part, or want to SAPPORO_ALLOW_EMPTY for a "
                                        "force of none"));
}

/* ------------------------------------------------------------------- begin */

/* Copies three numbers; an absent column is zero. */
static void copy_vector(double *to, const sapporo_column *from, int i)
{
    if (from->base)
        memcpy(to, sap_column_at(from, i, 3 * sizeof *to), 3 * sizeof *to);
    else
        memset(to, 0, 3 * sizeof *to);
}

/* Writes i-particle i as it is sent: x, v, ..., eps2, index. */
static void write_target(const sapporo_mpi *h, const sapporo_request *r, int i, double *to)
{
    const sapporo_column *const vector[] = {&r->x, &r->v, &r->a, &r->jerk};
    for (int k = 0; k < h->vectors; k++, to += 3) copy_vector(to, vector[k], i);
    to[0] = sap_column_double(&r->eps2_i, i);
    to[1] = 0;
    if (r->index.base) memcpy(to + 1, sap_column_at(&r->index, i, sizeof(int)), sizeof(int));
}

/* i-particles that threads copy. */
struct target_rows {
    const sapporo_mpi *h;
    const sapporo_request *r;
    double *to;
};

static void write_targets(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct target_rows *const t = argument;
    for (int i = (int)from; i < to; i++) write_target(t->h, t->r, i, t->to + (size_t)i * (size_t)t->h->width);
}

/* Takes from the requests of all ranks what this rank must know of them. */
static void learn(sapporo_mpi *h, sapporo_mpi_job *j, int nj)
{
    int upper = 0;
    h->facts = (struct sap_travel_facts){.terms = 1};
    for (int r = 0; r < h->link.size; r++) {
        j->rows[r] = (int)sap_link_field(&h->link, r, NI);
        j->soft |= sap_link_field(&h->link, r, SOFT) > 0;
        j->indexed |= sap_link_field(&h->link, r, INDEXED) > 0;
        h->facts.terms = (int)fmax(h->facts.terms, sap_link_field(&h->link, r, TERMS));
        h->facts.soft = fmax(h->facts.soft, sap_link_field(&h->link, r, SOFT_J));
        h->by_host |= sap_link_field(&h->link, r, UNFIT) > 0;
        j->kept[r] = (int)sap_link_field(&h->link, r, BLOCKS);
        j->blocks += j->kept[r];
        if (j->kept[r] > j->most_blocks) j->most_blocks = j->kept[r];
        if (sap_link_field(&h->link, r, UPPER) > upper) upper = (int)sap_link_field(&h->link, r, UPPER);
    }
    j->nj_all = nj < upper ? nj : upper;
    j->nj = sap_block_count(j->nj_all, h->link.rank, h->link.size);
}

/* Makes the job from this rank's request and what the ranks have exchanged. */
static int make_job(sapporo_mpi *h, const sapporo_request *r)
{
    sapporo_mpi_job *const j = h->job = calloc(1, sizeof *j);
    const int short_of = SAPPORO_ERR_MEMORY;
    static const char words[] = "sapporo_mpi_force_begin: out of memory for the i-particles of %d ranks";
    if (!j) return sap_link_fail(&h->link, short_of, words, h->link.size);
    j->ni = r->ni;
    j->asked = r->nj;
    j->nearest = (r->want & SAPPORO_WANT_NEAREST) != 0;
    j->softening = r->softening;
    j->eps2 = r->eps2;
    j->version = h->version;
    j->rows = malloc(2 * (size_t)h->link.size * sizeof *j->rows);
    j->target = sap_room_reserve(&h->targets, (size_t)r->ni * (size_t)h->width * sizeof *j->target);
    if (!j->rows || !j->target) return sap_link_fail(&h->link, short_of, words, h->link.size);
    j->kept = j->rows + h->link.size;
    learn(h, j, r->nj);
    struct target_rows t = {h, r, j->target};
    sapporo_internals()->partial_loop(sap_mpi_threads(h->context), r->ni, write_targets, &t);
    return SAPPORO_OK;
}

/* Whether choose_way measures costs or opens contexts, which all ranks do together.  The same on all ranks. */
static int chooses_together(const sapporo_mpi *h)
{
    return h->link.size > 1 && ((h->way != SAPPORO_MPI_WAY_TARGETS && !h->share) || (!h->way && !h->costs.size));
}

/* Decides what travels, by numbers that are the same on all ranks; collective if chooses_together. */
static int choose_way(sapporo_mpi *h)
{
    sapporo_mpi_job *const j = h->job;
    int status = SAPPORO_OK;
    j->way = h->way;
    if (h->link.size == 1 && !j->way) j->way = SAPPORO_MPI_WAY_SOURCES; /* nothing is sent, and nothing is merged */
    if (!j->way) {
        status = sap_way_measure(h);
        if (status) return status;
        j->way = sap_way_seconds(h, SAPPORO_MPI_WAY_SOURCES) < sap_way_seconds(h, SAPPORO_MPI_WAY_TARGETS)
                     ? SAPPORO_MPI_WAY_SOURCES
                     : SAPPORO_MPI_WAY_TARGETS;
    }
    if (j->way == SAPPORO_MPI_WAY_SOURCES && h->link.size > 1) status = sap_share_open(h);
    h->last_way = j->way;
    return status;
}

/* Makes room for the way of the job. */
static int prepare_way(sapporo_mpi *h)
{
    h->job->slabs = sap_way_slabs(h, h->job->way);
    const int targets = h->job->way == SAPPORO_MPI_WAY_TARGETS;
    if (!targets && h->job->slabs == 0) h->job->slabs = 1; /* each rank takes part in the exchange of j-particles */
    if ((targets ? h->job->slabs && sap_slab_prepare(h) : sap_share_prepare(h)) == 0) return SAPPORO_OK;
    return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY,
                         "sapporo_mpi_force_begin: out of memory for the exchange between %d ranks", h->link.size);
}

/* Collective.  Starts the force on the first slab. */
static int start(sapporo_mpi *h)
{
    if (h->job->way == SAPPORO_MPI_WAY_SOURCES) {
        const int status = sap_share_begin(h);
        return status ? status : sap_link_agree(&h->link, sap_share_status(h));
    }
    if (h->job->slabs == 0) return SAPPORO_OK;
    int status = sap_slab_gather(h, 0);
    if (!status) status = sap_slab_compute(h, 0);
    return status ? status : sap_link_agree(&h->link, h->slab->failed);
}

/* Collective.  Makes the job and starts it.  Ranks agree as seldom as they can: it costs a block step much. */
static int begin(sapporo_mpi *h, const sapporo_request *r)
{
    int status = make_job(h, r);
    if (chooses_together(h)) status = sap_link_agree(&h->link, status);
    if (!status) status = choose_way(h);
    if (!status) status = prepare_way(h);
    status = sap_link_agree(&h->link, status);
    if (!status) (void)sapporo_set_time(h->context, h->time);
    return status ? status : start(h);
}

/* Collective.  Begins a force; status: what is wrong with the request of this rank. */
static int begin_request(sapporo_mpi *h, int status, const sapporo_request *r, sapporo_mpi_job **job)
{
    if (!job) status = sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_force_begin: job is NULL");
    status = compare_requests(h, status, r);
    if (status || !job) return status; /* if any rank has an old job, all ranks end here */
    status = check_no_sources(h, r);
    if (status) return status;
    status = begin(h, r);
    if (status) {
        sap_share_forget(h);
        sap_mpi_free_job(h);
        return status;
    }
    h->job->number = sap_mpi_number();
    *job = (sapporo_mpi_job *)h->job->number;
    return SAPPORO_OK;
}

int sapporo_mpi_force_begin(sapporo_mpi *handle, const sapporo_request *request, sapporo_mpi_job **job)
{
    sapporo_request r;
    struct sap_caller_request own = {.block = NULL};
    if (job) *job = NULL;
    sapporo_mpi *const h = sap_mpi_find(handle);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    (void)sap_link_begin(&h->link, SAP_CALL_FORCE_BEGIN);
    int status = check_request(h, &r, request, &own);
    status = begin_request(h, status, &r, job);
    free(own.block);
    return status;
}

/* --------------------------------------------------------------------- end */

/* Fails if the order of the handle does not have a result that is wanted. */
static int check_result(sapporo_mpi *h, const sapporo_result *r)
{
    const sapporo_mpi_job *const j = h->job;
    if ((r->jerk && h->vectors < 2) || (r->snap && h->vectors < 3) || (r->crackle && h->vectors < 4))
        return sap_link_fail(&h->link, SAPPORO_ERR_UNSUPPORTED,
                             "sapporo_mpi_force_end: forces of order %d have no such derivative", h->order);
    if (r->count)
        return sap_link_fail(&h->link, SAPPORO_ERR_UNSUPPORTED,
                             "sapporo_mpi_force_end: only batches of small forces have counts");
    if ((r->nearest || r->nearest_r2) && !j->nearest)
        return sap_link_fail(&h->link, SAPPORO_ERR_GONE,
                             "sapporo_mpi_force_end: the force was begun without SAPPORO_WANT_NEAREST");
    return SAPPORO_OK;
}

static int check_end(sapporo_mpi *h, int ni, int known, const sapporo_result *r)
{
    const sapporo_mpi_job *const j = h->job;
    if (known) return sap_link_fail(&h->link, known, "sapporo_mpi_force_end: no sapporo_result of this version");
    if (ni < 0 || ni > j->ni)
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_force_end: %d rows of a force on %d", ni,
                             j->ni);
    if (j->delivered || j->version != h->version)
        return sap_link_fail(&h->link, SAPPORO_ERR_GONE, "sapporo_mpi_force_end: %s",
                             j->delivered ? "the force was delivered before" : "particles were stored meanwhile");
    return check_result(h, r);
}

/* Collective.  Computes all slabs of gathered i-particles. */
static int deliver_slabs(sapporo_mpi *h, int ni, const sapporo_result *r)
{
    const int slabs = h->job->slabs;
    int status = slabs > 1 ? sap_slab_gather(h, 1) : SAPPORO_OK;
    for (int s = 0; s < slabs && !status; s++) {
        if (s + 2 < slabs) status = sap_slab_gather(h, s + 2);
        if (!status && s + 1 < slabs) status = sap_slab_compute(h, s + 1);
        if (!status && s > 0) status = sap_slab_finish(h, s - 1, ni, r);
        if (!status) sap_slab_collect(h, s);
        if (!status) status = sap_slab_exchange(h, s);
    }
    return status || slabs == 0 ? status : sap_slab_finish(h, slabs - 1, ni, r);
}

/* Collective.  Computes the force and writes the first ni rows. */
static int deliver(sapporo_mpi *h, int ni, const sapporo_result *r)
{
    const int sources = h->job->way == SAPPORO_MPI_WAY_SOURCES;
    h->job->delivered = 1;
    int status = sources ? sap_share_end(h, ni, r) : deliver_slabs(h, ni, r);
    if (status) return status;
    int own = sources ? sap_share_status(h) : SAPPORO_OK;
    if (!sources && h->job->slabs > 0) own = h->slab->failed ? h->slab->failed : h->slab->partial;
    status = sap_link_agree(&h->link, own);
    if (status < 0) sap_share_forget(h);
    return status;
}

/* Copies the struct of a caller, of any version; arrays that this library does not know are an error. */
static int copy_result(sapporo_result *r, const sapporo_result *given)
{
    memset(r, 0, sizeof *r);
    return given ? sap_struct_copy(r, sizeof *r, given, sizeof given->size) : (int)SAPPORO_ERR_ARGUMENT;
}

/* Collective.  Ends a force of which the results go to host memory. */
static int end(sapporo_mpi *h, int status, int ni, const sapporo_result *r)
{
    status = sap_link_agree(&h->link, status);
    if (!status) status = deliver(h, ni, r);
    if (status < 0) sap_answer_write_failed(0, ni, r);
    return status;
}

/* Collective.  Ends a force of which this rank wants the results in device memory. */
static int end_on_device(sapporo_mpi *h, int known, int ni, sapporo_result *r)
{
    struct sap_caller_results own;
    int status = sapporo_internals()->caller_take_results(h->context, ni, r, &own);
    if (status) {
        const sapporo_result nothing = {.size = sizeof nothing};
        return end(h, sap_link_note(&h->link, status, sapporo_last_error(h->context)), 0, &nothing);
    }
    status = end(h, check_end(h, ni, known, r), ni, r);
    const int given = sapporo_internals()->caller_give_results(h->context, ni, r, &own, status);
    return given == status ? status : sap_link_note(&h->link, given, sapporo_last_error(h->context));
}

int sapporo_mpi_force_end(sapporo_mpi_job *job, int ni, const sapporo_result *result)
{
    sapporo_result r;
    const int known = copy_result(&r, result);
    sapporo_mpi *const h = job ? sap_mpi_find_job(job) : NULL;
    const int status = !job ? SAPPORO_ERR_ARGUMENT : !h ? SAPPORO_ERR_CLOSED : h->link.broken;
    if (status && r.memory == SAPPORO_MEMORY_HOST) sap_answer_write_failed(0, ni, &r);
    if (status) return status;
    (void)sap_link_begin(&h->link, SAP_CALL_FORCE_END);
    return r.memory == SAPPORO_MEMORY_HOST ? end(h, check_end(h, ni, known, &r), ni, &r)
                                           : end_on_device(h, known, ni, &r);
}

void sapporo_mpi_force_free(sapporo_mpi_job *job)
{
    sapporo_mpi *const h = job ? sap_mpi_find_job(job) : NULL;
    if (h) sap_mpi_free_job(h);
}
