/* way.c - chooses what travels in a force, and measures what that choice needs (way.h). */
#include "mpi/way.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "context/internals.h"
#include "mpi/answer.h"
#include "mpi/blocks.h"
#include "mpi/share.h"
#include "mpi/transport.h"
#include "physics/arithmetic.h"

/* ------------------------------------------------------------------- model */

/* Numbers of i-particles: of all ranks, the largest and the smallest of a rank. */
struct loads {
    double all, most, least;
};

static struct loads loads_of(const sapporo_mpi *h)
{
    struct loads l = {.least = INFINITY};
    for (int r = 0; r < h->link.size; r++) {
        const double n = h->job->rows[r];
        l.all += n;
        l.most = fmax(l.most, n);
        l.least = fmin(l.least, n);
    }
    return l;
}

int sap_way_slabs(const sapporo_mpi *h, sapporo_mpi_way way)
{
    /* A CPU computes while it begins a force, so MPI goes on with transfers between slabs alone. */
    enum { CPU_ROWS = 4096 };
    const int targets = way == SAPPORO_MPI_WAY_TARGETS;
    const int is_cpu = sapporo_get_backend(h->context) == SAPPORO_BACKEND_CPU;
    const int travels = h->link.size > 1 && (targets || sap_share_parts(h) > 1);
    const int64_t most = travels && is_cpu && h->rows > CPU_ROWS ? CPU_ROWS : h->rows;
    const int64_t all = targets ? (int64_t)loads_of(h).all : h->job->ni;
    return (int)((all + most - 1) / most);
}

/* i-particles of all ranks are gathered, and their sums are sent back. */
static double seconds_of_targets(const sapporo_mpi *h)
{
    const sapporo_mpi_costs *const c = &h->costs;
    const struct loads l = loads_of(h);
    const double slabs = sap_way_slabs(h, SAPPORO_MPI_WAY_TARGETS), ranks = h->link.size;
    const double nj = fmin(sap_block_count(h->job->nj_all, 0, h->link.size), /* rank 0 has most */
                           (double)h->job->most_blocks * SAP_BLOCK);
    const double target = (double)h->width * sizeof(double), answer = (double)sap_answer_bytes(h);
    return slabs * (2 * c->exchange + c->force) + c->pair * l.all * nj + c->row * l.all +
           c->byte * ((l.all - l.least) * target + (ranks - 1) * l.most * answer);
}

/* Whether large forces take their j-particles from device memory. */
static int travels_from_device(const sapporo_mpi *h) { return sap_transport_of(h, SAP_FEW_J)->on_device; }

/* j-particles are sent to all ranks. */
static double seconds_of_sources(const sapporo_mpi *h)
{
    const sapporo_mpi_costs *const c = &h->costs;
    const int length = sap_share_length(h);
    const double nj = length, most = loads_of(h).most, parts = sap_share_parts(h);
    const double slabs = ceil(most / h->rows);
    const double record = travels_from_device(h) ? (double)h->carrier.unit_bytes / h->carrier.unit_addresses
                                                 : 3.0 * h->terms * sizeof(double) + sizeof(struct sap_partial_tail);
    const double away = nj - sap_block_count(length, h->link.size - 1, h->link.size);
    const double sent =
        sap_share_is_here(h, h->job->nj_all) ? 0 : parts * c->exchange + c->byte * away * record + c->store * nj;
    return sent + parts * slabs * c->force + c->pair * most * nj + (parts > 1 ? c->row * most * parts : 0);
}

double sap_way_seconds(const sapporo_mpi *h, sapporo_mpi_way way)
{
    return way == SAPPORO_MPI_WAY_TARGETS ? seconds_of_targets(h) : seconds_of_sources(h);
}

/* ------------------------------------------------------------- measurement */

enum {
    TRIES = 5,          /* of each time the shortest counts */
    MESSAGES = 8,       /* small messages in a try */
    BYTES = 1 << 20,    /* of all ranks, in the longest exchange */
    FEWER = 4,          /* times fewer bytes in the other exchange */
    NJ = 4 * SAP_BLOCK, /* j-particles of the longest force */
    NI_MOST = 16384,
    ROWS = NI_MOST / 2, /* whose sums are merged: more than caches keep */
    FEW_NJ = 256,       /* j-particles of these sums */
    UNITS_MOST = 64     /* of the sample, where particles travel from device memory */
};
static const double long_enough = 2e-3; /* seconds of a force that can be timed well */

/* The model that is computed for its time, and where its results go. */
struct sample {
    sapporo *context;
    double *rows;   /* of NJ j-particles */
    double *target; /* of NI_MOST i-particles */
    double *sums;   /* of NI_MOST i-particles */
    struct sapporo_mpi_job job;
};

/* Time of a small collective operation. */
static int measure_message(sapporo_mpi *h, double *best)
{
    int status = SAPPORO_OK;
    for (int k = 0; k < TRIES && !status; k++) {
        const double start = MPI_Wtime();
        for (int m = 0; m < MESSAGES && !status; m++)
            status = sap_link_finish(&h->link, MPI_Iallreduce(h->cost_mine, h->cost_all, 1, MPI_DOUBLE, MPI_MAX,
                                                              h->link.communicator, &h->link.request));
        *best = fmin(*best, (MPI_Wtime() - start) / MESSAGES);
    }
    return status;
}

/* Time of an exchange in which each rank gives so many bytes to all others. */
static int time_exchange(sapporo_mpi *h, char *memory, int share, double *best)
{
    int status = SAPPORO_OK;
    *best = INFINITY;
    for (int k = 0; k < TRIES && !status; k++) {
        const double start = MPI_Wtime();
        status = sap_link_finish(&h->link, MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, memory, share, MPI_BYTE,
                                                          h->link.communicator, &h->link.request));
        *best = fmin(*best, MPI_Wtime() - start);
    }
    return status;
}

/*
 * Times exchanges of two lengths and splits their times into parts: exchange + byte (bytes received).  All ranks send
 * and receive at a time, as in forces.  MPI announces long messages before it sends them, so `exchange` may be several
 * times `message`.
 */
static int measure_exchange(sapporo_mpi *h, char *memory, sapporo_mpi_costs *c)
{
    const int share = BYTES / h->link.size + FEWER, fewer = share / FEWER, others = h->link.size - 1;
    double shorter, longer = 0;
    int status = time_exchange(h, memory, fewer, &shorter);
    if (!status) status = time_exchange(h, memory, share, &longer);
    c->byte = fmax(longer - shorter, 0) / ((double)(share - fewer) * others);
    c->exchange = fmax(shorter - c->byte * (double)fewer * others, c->message);
    return status;
}

/* A number in [0, 1) for the positions of the sample. */
static double spread(int k) { return fmod(k * 0.6180339887498949, 1); }

static void fill_sample(const sapporo_mpi *h, struct sample *s)
{
    const size_t row = 3 * (size_t)h->terms + sizeof(struct sap_partial_tail) / sizeof(double);
    const struct sap_partial_tail tail = {.mass = 1, .occupied = 1};
    for (int k = 0; k < NJ; k++)
        for (int axis = 0; axis < 3; axis++) s->rows[(size_t)k * row + (size_t)axis] = spread(7 * k + axis);
    for (int k = 0; k < NJ; k++)
        memcpy(s->rows + (size_t)(k + 1) * row - sizeof tail / sizeof(double), &tail, sizeof tail);
    for (int k = 0; k < NI_MOST; k++)
        for (int axis = 0; axis < 3; axis++) s->target[k * h->width + axis] = 2 + spread(5 * k + axis);
}

/* Merges the sums of rows of the sample into those of as many others. */
struct sample_merge {
    const sapporo_mpi *h;
    double *from, *into;
};

static void merge_rows(void *argument, ptrdiff_t first, ptrdiff_t end)
{
    const struct sample_merge *const m = argument;
    const ptrdiff_t doubles = (ptrdiff_t)(sap_answer_bytes(m->h) / sizeof(double));
    for (ptrdiff_t i = first; i < end; i++) sap_answer_merge(m->h, m->into + i * doubles, m->from + i * doubles);
}

/* Shortest time of a force on ni of the sample's targets; with `sums`, its sums are merged as those of a part. */
static int time_force(sapporo_mpi *h, struct sample *s, int ni, int nj, int sums, double *best)
{
    const ptrdiff_t stride = h->width * (ptrdiff_t)sizeof(double);
    const sapporo_request r = {.size = sizeof r, .nj = nj, .ni = ni, .eps2 = 1, .x = {s->target, stride}};
    struct sample_merge m = {h, s->sums, s->sums + (size_t)ROWS * (sap_answer_bytes(h) / sizeof(double))};
    const sapporo_result none = {.size = sizeof none};
    struct sap_partial partial;
    sapporo_job *job;
    int status = SAPPORO_OK;
    *best = INFINITY;
    for (int k = 0; k < TRIES && !status; k++) {
        const double start = MPI_Wtime();
        /* in the precision of large forces */
        status = sums ? sapporo_internals()->partial_begin(s->context, &r, SAP_FEW_J, &job)
                      : sapporo_internals()->whole_begin(s->context, &r, SAP_FEW_J, &job);
        if (!status && !sums) status = sapporo_force_end(job, ni, &none);
        if (!status && sums) status = sapporo_internals()->partial_end(job, 0, s->sums, sap_answer_bytes(h), &partial);
        if (!status && sums) sapporo_internals()->partial_loop(sap_mpi_threads(s->context), ni, merge_rows, &m);
        sapporo_force_free(job);
        *best = fmin(*best, MPI_Wtime() - start);
    }
    return status;
}

/* Times the sums of many targets, which are merged, against results of as few pairs. */
static int time_rows(sapporo_mpi *h, struct sample *s, double *row)
{
    double whole, sums = 0;
    memset(s->sums, 0, (size_t)NI_MOST * sap_answer_bytes(h)); /* merging into zeros takes as long as into sums */
    int status = time_force(h, s, ROWS, FEW_NJ, 0, &whole);
    if (!status) status = time_force(h, s, ROWS, FEW_NJ, 1, &sums);
    *row = fmax(sums - whole, 0) / ROWS;
    return status;
}

/* Times forces of the sample and splits their times into parts: force + ni (row + nj pair). */
static int time_forces(sapporo_mpi *h, struct sample *s, sapporo_mpi_costs *c)
{
    enum { FEW = 16 };
    double few, part = 0, whole = 0;
    int n = 64, status = time_force(h, s, FEW, NJ, 0, &few);
    for (; !status && n <= NI_MOST; n *= 2) {
        status = time_force(h, s, n, NJ, 0, &whole);
        if (whole > long_enough || n == NI_MOST) break;
    }
    if (!status) status = time_force(h, s, n, SAP_BLOCK, 0, &part);
    if (!status) status = time_rows(h, s, &c->row);
    if (status) return status;
    c->pair = fmax(whole - part, 0) / ((double)n * (NJ - SAP_BLOCK));
    c->force = fmax(few - FEW * c->pair * NJ, 0);
    return SAPPORO_OK;
}

/* Shortest time per particle of storing the sample and reading it. */
static int time_store(struct sample *s, double *best)
{
    int status = sapporo_internals()->partial_store(s->context, 0, NJ, s->rows); /* touches the memory */
    *best = INFINITY;
    for (int k = 0; k < TRIES && !status; k++) {
        const double start = MPI_Wtime();
        status = sapporo_internals()->partial_store(s->context, 0, NJ, s->rows);
        if (!status) status = sapporo_internals()->partial_read(s->context, 0, NJ, s->rows);
        *best = fmin(*best, (MPI_Wtime() - start) / NJ);
    }
    return status;
}

/* The same on the device: of packing the sample, which the context holds, and of taking it. */
static int time_travel(sapporo_mpi *h, const struct sample *s, double *best)
{
    const struct sap_travel_part part = {.n = NJ, .block = SAP_BLOCK, .processes = 1};
    const struct sap_travel_facts facts = {.terms = 1};
    int number[UNITS_MOST];
    const int units = NJ / h->carrier.unit_addresses;
    void *hold;
    sapporo *const to = sap_share_scratch(h, 1);
    if (units > UNITS_MOST) return SAPPORO_OK; /* then the host's time counts */
    int status = sapporo_internals()->travel_hold(to, (size_t)units * h->carrier.unit_bytes, &hold);
    for (int k = 0; k < units; k++) number[k] = k;
    if (!status) status = sapporo_internals()->travel_pack(s->context, to, 0, &part); /* uploads the sample */
    *best = INFINITY;
    for (int k = 0; k < TRIES && !status; k++) {
        const double start = MPI_Wtime();
        status = sapporo_internals()->travel_pack(s->context, to, 0, &part);
        if (!status) status = sapporo_internals()->travel_take(to, number, units, NJ, &facts);
        if (!status) status = sapporo_internals()->travel_packed(to);
        *best = fmin(*best, (MPI_Wtime() - start) / NJ);
    }
    return status ? sap_link_note(&h->link, status, sapporo_last_error(to)) : SAPPORO_OK;
}

/* Times what this rank does alone. */
static int measure_context(sapporo_mpi *h, struct sample *s, sapporo_mpi_costs *c)
{
    fill_sample(h, s);
    s->context = sap_share_scratch(h, 0);
    int status = time_store(s, &c->store);
    if (!status && travels_from_device(h)) status = time_travel(h, s, &c->store);
    if (!status) status = sapporo_set_time(s->context, 0);
    if (!status) status = time_forces(h, s, c);
    return status ? sap_link_note(&h->link, status, sapporo_last_error(s->context)) : SAPPORO_OK;
}

/* Makes the sample, on a job without neighbours. */
static int make_sample(sapporo_mpi *h, struct sample *s)
{
    const size_t row = 3 * (size_t)h->terms + sizeof(struct sap_partial_tail) / sizeof(double);
    memset(s, 0, sizeof *s);
    const size_t bytes = NJ * row * sizeof *s->rows;
    const size_t exchanged = BYTES + FEWER * (size_t)h->link.size;
    s->rows = calloc(1, bytes > exchanged ? bytes : exchanged);
    s->target = calloc((size_t)NI_MOST * (size_t)h->width, sizeof *s->target);
    s->sums = malloc((size_t)NI_MOST * sap_answer_bytes(h));
    if (s->rows && s->target && s->sums) return SAPPORO_OK;
    return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "sapporo_mpi_force_begin: out of memory for measuring costs");
}

static int measure_all(sapporo_mpi *h, struct sample *s, double *cost)
{
    sapporo_mpi_costs c = {.message = INFINITY};
    int status = sap_link_agree(&h->link, make_sample(h, s));
    if (!status) status = measure_message(h, &c.message);
    if (!status) status = measure_exchange(h, (char *)s->rows, &c);
    if (!status) status = sap_link_agree(&h->link, measure_context(h, s, &c));
    const double mine[] = {c.message, c.byte, c.force, c.pair, c.row, c.store, c.exchange};
    memcpy(cost, mine, sizeof mine);
    return status;
}

int sap_way_measure(sapporo_mpi *h)
{
    struct sample s;
    if (h->costs.size) return SAPPORO_OK;
    int status = sap_share_open(h);
    if (status) return status;
    struct sapporo_mpi_job *const job = h->job;
    h->job = &s.job;
    status = measure_all(h, &s, h->cost_mine);
    h->job = job;
    if (!status)
        status = sap_link_finish(&h->link, MPI_Iallreduce(h->cost_mine, h->cost_all, SAP_COSTS, MPI_DOUBLE, MPI_MAX,
                                                          h->link.communicator, &h->link.request));
    if (h->link.broken) return status; /* MPI may still use the sample */
    free(s.rows);
    free(s.target);
    free(s.sums);
    if (status) return status;
    const double *const c = h->cost_all;
    h->costs = (sapporo_mpi_costs){.size = sizeof h->costs,
                                   .message = c[0],
                                   .byte = c[1],
                                   .force = c[2],
                                   .pair = c[3],
                                   .row = c[4],
                                   .store = c[5],
                                   .exchange = c[6]};
    return SAPPORO_OK;
}
