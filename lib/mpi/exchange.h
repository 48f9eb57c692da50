/*
 * exchange.h - records that each rank sends to each rank: routes say how many go from which rank to which, wires move
 * them.  exchange.c is the only file that calls MPI_Ialltoall and MPI_Ialltoallv.
 *
 * MPI uses the numbers of a route and the memory of a wire until the exchange has ended.  If the link breaks before,
 * their owner keeps them for ever (link.h).
 */
#ifndef SAP_MPI_EXCHANGE_H
#define SAP_MPI_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/link.h"
#include "mpi/room.h"

enum { SAP_ROUTE_NUMBERS = 6 }; /* arrays of numbers of a route */

/*
 * How records go.  The arrays of numbers have one element per rank.  A rank sends its records in the order of the ranks
 * that get them, and receives records in the order of the ranks that sent them.  All zeros: no memory.
 */
struct sap_route {
    int n, arrived;          /* records that this rank sends, and that it receives, its own for itself among both */
    int *sent, *got;         /* number for each rank, and from each rank */
    int *sent_at, *got_at;   /* the first of these records */
    int *posted, *expected;  /* sent and got without this rank's own records for itself */
    int *order;              /* [n] the item of this rank that each record is about; NULL: record k is about item k */
    struct sap_room numbers; /* memory of the arrays of numbers, */
    struct sap_room orders;  /* of the order that a sort made, */
    struct sap_room parts;   /* and of sorting */
};

/* Makes room for the numbers of a route; forgets its records; 0 or SAPPORO_ERR_MEMORY. */
int sap_route_reserve(struct sap_route *r, int ranks);

/* Forgets the records of a route that has room for its numbers. */
void sap_route_forget(struct sap_route *r, int ranks);

void sap_route_free(struct sap_route *r);

/* Frees the memory of the order, which the exchange itself does not need. */
void sap_route_drop_order(struct sap_route *r);

/*
 * Sorts n items by their ranks to[0 .. n-1], on some threads: fills n, sent, sent_at and order.  The items of a rank
 * stay in their order.  Returns 0 or SAPPORO_ERR_MEMORY.
 */
int sap_route_sort(struct sap_route *r, int ranks, int n, const int *to, int threads);

/*
 * Fills n, arrived and the other numbers from `sent` and `got`.  Returns the number of records that arrive; if it is
 * INT_MAX or more, `arrived` is 0.
 */
int64_t sap_route_settle(struct sap_route *r, const struct sap_link *l);

/* Makes the route of n records that this rank keeps, in their order. */
void sap_route_stay(struct sap_route *r, const struct sap_link *l, int n);

/* Collective.  Tells each rank how many records come; fills the route from `sent`.  *arrived: as of sap_route_settle.
 */
int sap_route_announce(struct sap_link *l, struct sap_route *r, int64_t *arrived);

/* The way back, on which each record is answered by one.  It uses the memory of the route and has no order. */
struct sap_route sap_route_back(const struct sap_route *r);

/* Collective.  Sends `each` numbers to each rank: sent[rank][each], got[rank][each]. */
int sap_exchange_numbers(struct sap_link *l, int each, const int *sent, int *got);

struct sap_carrier;

/* Records that move.  The caller sets the first five members. */
struct sap_wire {
    const void *out; /* [route.n] records that this rank sends */
    void *in;        /* [route.arrived] room for those that it receives */
    size_t each;     /* bytes of a record, at most INT_MAX */
    int own_stays;   /* 1: MPI is not given this rank's own records for itself; the caller copies them if it needs to */
    /* Records are in device memory, and move by it (transport.h); those of this rank for itself are not among them.
     * NULL: records are in host memory. */
    struct sap_carrier *by;
    size_t bytes; /* that move from and to this rank */
    MPI_Datatype type;
    MPI_Request request;
};

/* Where records of a wire in device memory begin: those for a rank, and those from it. */
static inline const char *sap_wire_out(const struct sap_wire *w, const struct sap_route *r, int me, int peer)
{
    const int own = peer > me ? r->sent[me] : 0;
    return (const char *)w->out + (size_t)(r->sent_at[peer] - own) * w->each;
}

static inline char *sap_wire_in(const struct sap_wire *w, const struct sap_route *r, int me, int peer)
{
    const int own = peer > me ? r->got[me] : 0;
    return (char *)w->in + (size_t)(r->got_at[peer] - own) * w->each;
}

/* Collective.  Begins to move records; the link must not be broken. */
int sap_exchange_begin(struct sap_link *l, const struct sap_route *r, struct sap_wire *w);

/* Collective.  Waits for the records, or breaks the link. */
int sap_exchange_end(struct sap_link *l, struct sap_wire *w);

/* Collective.  Moves records: begins and ends. */
int sap_exchange(struct sap_link *l, const struct sap_route *r, struct sap_wire *w);

#endif
