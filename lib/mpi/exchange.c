/* exchange.c - records that each rank sends to each rank (exchange.h). */
#include "mpi/exchange.h"

#include <limits.h>
#include <string.h>

#include "context/internals.h"
#include "mpi/transport.h"

/* ------------------------------------------------------------------ routes */

int sap_route_reserve(struct sap_route *r, int ranks)
{
    const size_t many = (size_t)ranks;
    int *const number = sap_room_reserve(&r->numbers, SAP_ROUTE_NUMBERS * many * sizeof *number);
    if (!number) return SAPPORO_ERR_MEMORY;
    r->sent = number, r->got = number + many;
    r->sent_at = number + 2 * many, r->got_at = number + 3 * many;
    r->posted = number + 4 * many, r->expected = number + 5 * many;
    sap_route_forget(r, ranks);
    return SAPPORO_OK;
}

void sap_route_forget(struct sap_route *r, int ranks)
{
    r->n = r->arrived = 0;
    r->order = NULL;
    memset(r->numbers.at, 0, SAP_ROUTE_NUMBERS * (size_t)ranks * sizeof *r->sent);
}

void sap_route_free(struct sap_route *r)
{
    sap_room_free(&r->numbers);
    sap_room_free(&r->orders);
    sap_room_free(&r->parts);
    *r = (struct sap_route){0};
}

void sap_route_drop_order(struct sap_route *r)
{
    sap_room_free(&r->orders);
    r->order = NULL;
}

int64_t sap_route_settle(struct sap_route *r, const struct sap_link *l)
{
    const size_t bytes = (size_t)l->size * sizeof *r->sent;
    const int64_t arrived = sap_link_places(r->got, r->got_at, l->size);
    r->n = (int)sap_link_places(r->sent, r->sent_at, l->size);
    r->arrived = arrived < INT_MAX ? (int)arrived : 0;
    memcpy(r->posted, r->sent, bytes);
    memcpy(r->expected, r->got, bytes);
    r->posted[l->rank] = r->expected[l->rank] = 0;
    return arrived;
}

void sap_route_stay(struct sap_route *r, const struct sap_link *l, int n)
{
    sap_route_forget(r, l->size);
    r->sent[l->rank] = r->got[l->rank] = n;
    (void)sap_route_settle(r, l);
}

struct sap_route sap_route_back(const struct sap_route *r)
{
    return (struct sap_route){.n = r->arrived,
                              .arrived = r->n,
                              .sent = r->got,
                              .got = r->sent,
                              .sent_at = r->got_at,
                              .got_at = r->sent_at,
                              .posted = r->expected,
                              .expected = r->posted};
}

/* ----------------------------------------------------------------- sorting */

/* Items that threads sort by rank, in parts. */
struct rank_sorting {
    const int *to;  /* the rank of each */
    int ranks, *at; /* [parts][ranks] number, then next index in the order, of the items of a part for a rank */
    int *order;
};

static void count_part(void *argument, int part, int from, int to)
{
    const struct rank_sorting *const s = argument;
    int *const count = s->at + (size_t)part * (size_t)s->ranks;
    memset(count, 0, (size_t)s->ranks * sizeof *count);
    for (int i = from; i < to; i++) count[s->to[i]]++;
}

static void order_part(void *argument, int part, int from, int to)
{
    const struct rank_sorting *const s = argument;
    int *const at = s->at + (size_t)part * (size_t)s->ranks;
    for (int i = from; i < to; i++) s->order[at[s->to[i]]++] = i;
}

/* Turns the counts of parts into first indices; fills the numbers of the ranks. */
static void add_parts(const struct rank_sorting *s, int parts, struct sap_route *r)
{
    int sum = 0;
    for (int rank = 0; rank < s->ranks; rank++) {
        r->sent_at[rank] = sum;
        for (int part = 0; part < parts; part++) {
            int *const at = &s->at[(size_t)part * (size_t)s->ranks + (size_t)rank];
            const int count = *at;
            *at = sum;
            sum += count;
        }
        r->sent[rank] = sum - r->sent_at[rank];
    }
}

int sap_route_sort(struct sap_route *r, int ranks, int n, const int *to, int threads)
{
    enum { MOST = 64, A_PART = 4096 };
    const int wanted = 1 + n / A_PART, parts = wanted < MOST ? wanted : MOST;
    r->n = n;
    r->order = sap_room_array(&r->orders, (size_t)n + 1, sizeof *r->order);
    int *const at = sap_room_reserve(&r->parts, (size_t)parts * (size_t)ranks * sizeof *at);
    struct rank_sorting s = {.to = to, .ranks = ranks, .at = at, .order = r->order};
    if (!at || !r->order) return SAPPORO_ERR_MEMORY;
    sapporo_internals()->partial_parts(threads, n, parts, count_part, &s);
    add_parts(&s, parts, r);
    sapporo_internals()->partial_parts(threads, n, parts, order_part, &s);
    return SAPPORO_OK;
}

/* --------------------------------------------------------------- exchanges */

int sap_exchange_numbers(struct sap_link *l, int each, const int *sent, int *got)
{
    return sap_link_finish(l, MPI_Ialltoall(sent, each, MPI_INT, got, each, MPI_INT, l->communicator, &l->request));
}

int sap_route_announce(struct sap_link *l, struct sap_route *r, int64_t *arrived)
{
    const int status = sap_exchange_numbers(l, 1, r->sent, r->got);
    *arrived = status ? 0 : sap_route_settle(r, l);
    return status;
}

/* Makes the type of MPI of a record, since MPI counts in int: bytes of many records would be too many. */
static int make_type(struct sap_link *l, struct sap_wire *w)
{
    w->type = MPI_DATATYPE_NULL;
    const int status = sap_link_judge(l, MPI_Type_contiguous((int)w->each, MPI_BYTE, &w->type));
    return status ? status : sap_link_judge(l, MPI_Type_commit(&w->type));
}

int sap_exchange_begin(struct sap_link *l, const struct sap_route *r, struct sap_wire *w)
{
    const int *const sent = w->own_stays ? r->posted : r->sent, *const got = w->own_stays ? r->expected : r->got;
    const int status = make_type(l, w);
    if (status) return status;
    if (w->by) return sap_carrier_begin(w->by, r, w);
    w->bytes = 0;
    for (int k = 0; k < l->size; k++) {
        w->bytes += ((size_t)sent[k] + (size_t)got[k]) * w->each;
        if (k != l->rank) l->traffic.host_bytes += sent[k] * (long long)w->each;
    }
    return sap_link_judge(l, MPI_Ialltoallv(w->out, sent, r->sent_at, w->type, w->in, got, r->got_at, w->type,
                                            l->communicator, &w->request));
}

int sap_exchange_end(struct sap_link *l, struct sap_wire *w)
{
    const int status = w->by ? sap_carrier_end(w->by) : sap_link_wait_for(l, &w->request, w->bytes);
    if (!l->broken) sap_link_free_type(l, &w->type); /* MPI may use that of a broken link */
    return status;
}

int sap_exchange(struct sap_link *l, const struct sap_route *r, struct sap_wire *w)
{
    const int status = sap_exchange_begin(l, r, w);
    return status ? status : sap_exchange_end(l, w);
}
