/* particles.c - stores j-particles: sends each particle to the rank that keeps its address. */
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/internals.h"
#include "mpi/blocks.h"
#include "mpi/handle.h"
#include "mpi/kept.h"

/*
 * A record has the position of a particle, its derivatives, its time and its softening, of which those are left out
 * that are zero for all particles of the call, and a tail.
 */
struct tail {
    double mass;
    int32_t address, index;
};

/* Columns that records may have, as bits: derivative d is bit d. */
enum { TIME = SAPPORO_DERIVATIVES, EPS2, COLUMNS };

/*
 * Bytes of memory that stay for the next parcel, a quarter more than this rank's particles take: touching new pages
 * takes longer than copying particles.
 */
static size_t bytes_that_stay(const sapporo_mpi *h)
{
    const size_t least = (size_t)1 << 25;
    const int own = sap_block_count(h->upper, h->link.rank, h->link.size);
    const size_t bytes = sapporo_memory_needed(h->context, own, NULL);
    return bytes + bytes / 4 > least ? bytes + bytes / 4 : least;
}

/* Frees what packing alone needs, unless it stays. */
static void free_packing(sapporo_mpi *h)
{
    struct sap_parcel *const p = &h->parcel;
    const size_t most = bytes_that_stay(h);
    if (p->keepers.bytes > most) sap_room_free(&p->keepers);
    if (p->route.orders.bytes > most) sap_route_drop_order(&p->route);
}

/* Frees the memory of a parcel that does not stay, unless MPI may still use it. */
static void free_parcel(sapporo_mpi *h)
{
    struct sap_parcel *const p = &h->parcel;
    if (h->link.broken) return;
    const size_t most = bytes_that_stay(h);
    free_packing(h);
    if (p->outs.bytes > most) sap_room_free(&p->outs);
    if (p->ins.bytes > most) sap_room_free(&p->ins);
}

static int has(const sapporo_mpi *h, int column) { return h->parcel.columns >> column & 1; }

/* Where a column begins in a record, in doubles; COLUMNS: the tail, which the parcel has as `tail_at`. */
static size_t place_of(const sapporo_mpi *h, int column)
{
    size_t at = 0;
    for (int k = 0; k < column; k++)
        if (has(h, k)) at += k < SAPPORO_DERIVATIVES ? 3 : 1;
    return at;
}

static size_t record_doubles(const sapporo_mpi *h) { return h->parcel.tail_at + sizeof(struct tail) / sizeof(double); }

static size_t record_bytes(const sapporo_mpi *h) { return record_doubles(h) * sizeof(double); }

/* -------------------------------------------------------------------- send */

static int check(sapporo_mpi *h, int n, const int *address, const sapporo_particles *given, sapporo_particles *all)
{
    memset(all, 0, sizeof *all);
    if (n < 0) return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_set_particles: n is %d", n);
    if (n == 0) return SAPPORO_OK;
    const int known = given ? sap_struct_copy(all, sizeof *all, given, SAP_PARTICLES_LEAST) : (int)SAPPORO_ERR_ARGUMENT;
    if (known || !all->derivative[0].base || !address)
        return sap_link_fail(&h->link, known ? known : SAPPORO_ERR_ARGUMENT,
                             "sapporo_mpi_set_particles: addresses, columns or positions are missing");
    return SAPPORO_OK;
}

/* What the host has of addresses and columns in device memory. */
struct taken {
    void *addresses, *columns;
};

/* Copies addresses and columns in device memory to the host; an error is of this rank. */
static int take(sapporo_mpi *h, int n, const int **address, sapporo_particles *all, struct taken *to)
{
    sapporo_column at = {*address, 0};
    const struct sap_caller_column column = {&at, sizeof **address};
    *to = (struct taken){NULL, NULL};
    if (n == 0 || all->memory == SAPPORO_MEMORY_HOST) return SAPPORO_OK;
    if (all->memory != SAPPORO_MEMORY_DEVICE)
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_set_particles: memory is %d",
                             (int)all->memory);
    int status = sapporo_internals()->caller_take_columns(h->context, n, &column, 1, &to->addresses);
    if (!status) status = sapporo_internals()->caller_take_particles(h->context, n, all, &to->columns);
    *address = at.base;
    return status ? sap_link_note(&h->link, status, sapporo_last_error(h->context)) : SAPPORO_OK;
}

/* Whether some bit of a column of n particles, of so many doubles each, is set. */
static int is_used(const sapporo_column *column, int n, int doubles)
{
    uint64_t bits = 0;
    for (int k = 0; k < n && column->base && !bits; k++) {
        uint64_t word[3] = {0};
        memcpy(word, sap_column_at(column, k, (size_t)doubles * sizeof *word), (size_t)doubles * sizeof *word);
        bits = word[0] | word[1] | word[2];
    }
    return bits != 0;
}

/* The columns of n particles that are not zero, and the position. */
static unsigned used_columns(const sapporo_mpi *h, int n, const sapporo_particles *from)
{
    unsigned used = 1;
    for (int d = 1; d < h->terms; d++)
        if (is_used(&from->derivative[d], n, 3)) used |= 1U << d;
    if (h->order > 2 && is_used(&from->time, n, 1)) used |= 1U << TIME;
    if (is_used(&from->eps2, n, 1)) used |= 1U << EPS2;
    return used;
}

/* Writes the record of particle k. */
static void write_record(const sapporo_mpi *h, const sapporo_particles *from, int k, int address, double *to)
{
    struct tail tail = {.mass = sap_column_double(&from->mass, k), .address = address, .index = address};
    if (from->index.base) memcpy(&tail.index, sap_column_at(&from->index, k, sizeof(int)), sizeof(int));
    for (int d = 0; d < h->terms; d++) {
        const sapporo_column *const c = &from->derivative[d];
        if (!has(h, d)) continue;
        if (c->base)
            memcpy(to, sap_column_at(c, k, 3 * sizeof *to), 3 * sizeof *to);
        else
            memset(to, 0, 3 * sizeof *to);
        to += 3;
    }
    if (has(h, TIME)) *to++ = sap_column_double(&from->time, k);
    if (has(h, EPS2)) *to++ = sap_column_double(&from->eps2, k);
    memcpy(to, &tail, sizeof tail);
}

/* Particles that threads look at, and then write as records. */
struct packing {
    const sapporo_mpi *h;
    const int *address;
    const sapporo_particles *from;
    int *keeper;    /* [n] the rank that keeps each particle */
    double *out;    /* the records, by the route */
    atomic_int bad; /* the first particle that is refused, or the number of particles */
};

static int is_address(const sapporo_mpi *h, int address)
{
    return address >= 0 && address <= sap_block_highest(h->link.size);
}

static int is_softening(double eps2) { return eps2 >= 0 && isfinite(eps2); }

static int is_taken(const struct packing *p, int k)
{
    return is_address(p->h, p->address[k]) && is_softening(sap_column_double(&p->from->eps2, k));
}

static void find_some_keepers(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct packing *const p = argument;
    const int ranks = p->h->link.size, end = (int)to;
    int k = (int)from;
    for (; k < end && is_taken(p, k); k++) p->keeper[k] = sap_block_rank(p->address[k], ranks);
    int first = atomic_load(&p->bad);
    while (k < end && k < first && !atomic_compare_exchange_weak(&p->bad, &first, k)) continue;
}

static void write_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct packing *const p = argument;
    const size_t doubles = record_doubles(p->h);
    for (ptrdiff_t at = from; at < to; at++) {
        const int k = p->h->parcel.route.order[at];
        write_record(p->h, p->from, k, p->address[k], p->out + (size_t)at * doubles);
    }
}

static int no_memory(sapporo_mpi *h, int n)
{
    return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "sapporo_mpi_set_particles: out of memory for %d particles", n);
}

/* Fails because of the first particle that is refused; no particle of any rank is stored then. */
static int refuse(sapporo_mpi *h, const struct packing *p, int bad)
{
    const int address = p->address[bad];
    if (!is_address(h, address))
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT,
                             "sapporo_mpi_set_particles: address %d of particle %d: it must be 0 to %d", address, bad,
                             sap_block_highest(h->link.size));
    return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT,
                         "sapporo_mpi_set_particles: eps2 of particle %d is %g: it must be finite and >= 0", bad,
                         sap_column_double(&p->from->eps2, bad));
}

/* Sorts the particles by the rank that keeps them, each rank's in the order of the caller. */
static int sort(sapporo_mpi *h, struct packing *packing, int n)
{
    struct sap_parcel *const p = &h->parcel;
    const int threads = sap_mpi_threads(h->context);
    packing->keeper = sap_room_array(&p->keepers, (size_t)n + 1, sizeof *packing->keeper);
    if (!packing->keeper || sap_route_reserve(&p->route, h->link.size)) return no_memory(h, n);
    sapporo_internals()->partial_loop(threads, n, find_some_keepers, packing);
    const int bad = atomic_load(&packing->bad);
    if (bad < n) return refuse(h, packing, bad);
    return sap_route_sort(&p->route, h->link.size, n, packing->keeper, threads) ? no_memory(h, n) : SAPPORO_OK;
}

/* Collective.  Finds the columns that are not zero on some rank. */
static int agree_on_columns(sapporo_mpi *h, int status, int n, const sapporo_particles *from)
{
    static const char *const name[1] = {NULL};
    const double own = status ? 1 : used_columns(h, n, from);
    status = sap_link_compare(&h->link, status, 1, &own, name);
    h->parcel.columns = 1;
    for (int r = 0; r < h->link.size && !status; r++) h->parcel.columns |= (unsigned)sap_link_field(&h->link, r, 0);
    h->parcel.tail_at = place_of(h, COLUMNS);
    return status;
}

/* Writes the records of n particles by the route, with any number of threads. */
static int pack(sapporo_mpi *h, struct packing *packing, int n)
{
    struct sap_parcel *const p = &h->parcel;
    packing->out = sap_room_array(&p->outs, (size_t)n + 1, record_bytes(h));
    if (!packing->out) return no_memory(h, n);
    sapporo_internals()->partial_loop(sap_mpi_threads(h->context), n, write_some, packing);
    return SAPPORO_OK;
}

/* Collective.  Tells each rank how many particles come, packs this rank's, and makes room for those that come. */
static int announce(sapporo_mpi *h, struct packing *packing, int n)
{
    struct sap_parcel *const p = &h->parcel;
    int64_t arrived;
    int status = sap_route_announce(&h->link, &p->route, &arrived);
    if (status) return status;
    status = pack(h, packing, n);
    free_packing(h); /* the records that come want the memory */
    p->in = arrived < INT_MAX ? sap_room_array(&p->ins, (size_t)arrived + 1, record_bytes(h)) : NULL;
    if (!status && (!p->in || sap_kept_reserve(&h->kept)))
        status = sap_link_fail(&h->link, SAPPORO_ERR_MEMORY,
                               "sapporo_mpi_set_particles: out of memory for %lld particles of other ranks",
                               (long long)arrived);
    return sap_link_agree(&h->link, status);
}

static int send(sapporo_mpi *h)
{
    const struct sap_parcel *const p = &h->parcel;
    struct sap_wire wire = {.out = p->outs.at, .in = p->ins.at, .each = record_bytes(h), .own_stays = 1};
    return sap_exchange(&h->link, &p->route, &wire);
}

/* ------------------------------------------------------------------- store */

/* Record k of those that are stored: this rank's own for itself are still where they were packed. */
static const double *record_of(const sapporo_mpi *h, int k)
{
    const struct sap_parcel *const p = &h->parcel;
    const int own = k - p->route.got_at[h->link.rank], is_own = own >= 0 && own < p->route.got[h->link.rank];
    const double *const packed = p->outs.at;
    return is_own ? packed + (size_t)(p->route.sent_at[h->link.rank] + own) * record_doubles(h)
                  : p->in + (size_t)k * record_doubles(h);
}

static struct tail tail_of(const sapporo_mpi *h, int k)
{
    struct tail tail;
    memcpy(&tail, record_of(h, k) + h->parcel.tail_at, sizeof tail);
    return tail;
}

/* The address in the context of this rank of received particle k. */
static int inner_of(const sapporo_mpi *h, int k) { return sap_block_inner(tail_of(h, k).address, h->link.size); }

/* The column of records that begins at a record, or an absent one. */
static sapporo_column column_at(const sapporo_mpi *h, const double *record, int column)
{
    if (!has(h, column)) return (sapporo_column){NULL, 0};
    return (sapporo_column){record + place_of(h, column), (ptrdiff_t)record_bytes(h)};
}

/* Stores n received particles whose addresses follow each other. */
static int store_run(sapporo_mpi *h, int from, int n)
{
    const ptrdiff_t stride = (ptrdiff_t)record_bytes(h);
    const double *const record = record_of(h, from);
    const char *const tail = (const char *)(record + h->parcel.tail_at);
    sapporo_particles c = {.size = sizeof c,
                           .mass = {tail + offsetof(struct tail, mass), stride},
                           .time = column_at(h, record, TIME),
                           .eps2 = column_at(h, record, EPS2),
                           .index = {tail + offsetof(struct tail, index), stride}};
    for (int d = 0; d < h->terms; d++) c.derivative[d] = column_at(h, record, d);
    const int first = inner_of(h, from);
    const int above = tail_of(h, from + n - 1).address + 1;
    if (above > h->upper) h->upper = above;
    sap_kept_mark(&h->kept, first, n);
    return sapporo_set_particles(h->context, first, n, &c);
}

/* Received particles from `from` on, whose addresses follow each other up to number `broken`. */
struct address_run {
    const sapporo_mpi *h;
    int from, first; /* the first one, and its address */
    atomic_int broken;
};

static void find_break(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct address_run *const r = argument;
    int k = r->from + (int)from, first = atomic_load(&r->broken);
    const int end = r->from + (int)to;
    while (k < end && inner_of(r->h, k) == r->first + (k - r->from)) k++;
    while (k < end && k < first && !atomic_compare_exchange_weak(&r->broken, &first, k)) continue;
}

/* Returns where the run of addresses that begins with particle `from` ends: at most at `end`.  Long runs have threads.
 */
static int end_of_run(const sapporo_mpi *h, int from, int end)
{
    enum { SHORT = 1024 };
    struct address_run r = {.h = h, .from = from, .first = inner_of(h, from), .broken = end};
    const int near = end - from < SHORT ? end : from + SHORT;
    find_break(&r, 0, near - from);
    if (atomic_load(&r.broken) == end && near < end)
        sapporo_internals()->partial_loop(sap_mpi_threads(h->context), end - from, find_break, &r);
    return atomic_load(&r.broken);
}

/* Stores the particles of one rank; returns the worst status, or that of the ranks before. */
static int store_of(sapporo_mpi *h, int rank, int worst)
{
    const struct sap_route *const r = &h->parcel.route;
    const int end = r->got_at[rank] + r->got[rank];
    for (int from = r->got_at[rank], to; from < end; from = to) {
        to = end_of_run(h, from, end);
        const int status = store_run(h, from, to - from);
        h->lost |= status < 0 && status != SAPPORO_ERR_NOT_FINITE;
        /* the memory that ran out is worse than numbers that are not finite, and a failed engine worse than both */
        if (status == SAPPORO_ERR_NOT_FINITE ? !worst : status < 0)
            worst = sap_link_note(&h->link, status, sapporo_last_error(h->context));
    }
    return worst;
}

/* Stores all received particles, in the order of the ranks; returns the worst status. */
static int store_all(sapporo_mpi *h)
{
    int worst = SAPPORO_OK;
    for (int r = 0; r < h->link.size; r++) worst = store_of(h, r, worst);
    return worst;
}

/* Collective.  Sends and stores the particles of all ranks. */
static int exchange(sapporo_mpi *h, int status, int n, const int *address, const sapporo_particles *from)
{
    struct packing packing = {.h = h, .address = address, .from = from, .bad = n};
    if (!status) status = sort(h, &packing, n);
    status = agree_on_columns(h, status, n, from);
    if (!status) status = announce(h, &packing, n);
    if (!status) status = send(h);
    if (status) return status;
    h->version++;
    return sap_link_agree(&h->link, store_all(h));
}

int sapporo_mpi_set_particles(sapporo_mpi *handle, int n, const int *address, const sapporo_particles *particles)
{
    sapporo_particles all;
    sapporo_mpi *const h = sap_mpi_find(handle);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    (void)sap_link_begin(&h->link, SAP_CALL_SET_PARTICLES);
    struct taken taken = {NULL, NULL};
    int status = check(h, n, address, particles, &all);
    if (!status) status = take(h, n, &address, &all, &taken);
    status = exchange(h, status, n, address, &all);
    free(taken.addresses);
    free(taken.columns);
    if (!h->link.broken)
        h->unset = status == SAPPORO_ERR_MEMORY || (h->unset && status && status != SAPPORO_ERR_NOT_FINITE);
    free_parcel(h);
    return status;
}

int sapporo_mpi_clear_particles(sapporo_mpi *handle)
{
    sapporo_mpi *const h = sap_mpi_find(handle);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    (void)sap_link_begin(&h->link, SAP_CALL_CLEAR_PARTICLES);
    int status = sap_link_agree(&h->link, SAPPORO_OK);
    if (status) return status;
    h->version++;
    h->upper = 0;
    free_parcel(h);
    sap_kept_clear(&h->kept);
    status = sapporo_clear_particles(h->context);
    if (status) status = sap_link_note(&h->link, status, sapporo_last_error(h->context));
    status = sap_link_agree(&h->link, status);
    if (!status) h->lost = h->unset = 0;
    return status;
}
