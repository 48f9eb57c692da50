/* tree_exchange.c - sends particles to the ranks that walk them, and their forces back. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "context/partial.h"
#include "mpi/tree.h"

enum { NUMBERS = 6 }; /* arrays of numbers of a route */

int sap_mpi_tree_new_route(sapporo_mpi_tree *h)
{
    struct sap_route *const p = &h->route;
    const size_t ranks = (size_t)h->link.size;
    p->sent = calloc(NUMBERS * ranks, sizeof *p->sent);
    if (!p->sent) return SAPPORO_ERR_MEMORY;
    p->got = p->sent + ranks, p->sent_at = p->got + ranks, p->got_at = p->sent_at + ranks;
    p->posted = p->got_at + ranks, p->expected = p->posted + ranks;
    return SAPPORO_OK;
}

void sap_mpi_tree_forget_route(sapporo_mpi_tree *h)
{
    struct sap_route *const p = &h->route;
    p->n = p->arrived = 0;
    p->order = NULL;
    memset(p->sent, 0, NUMBERS * (size_t)h->link.size * sizeof *p->sent);
}

/* Bytes that this rank sends and receives in such numbers. */
static size_t bytes_of(const int *posted, const int *expected, int ranks)
{
    size_t n = 0;
    for (int r = 0; r < ranks; r++) n += (size_t)posted[r] + (size_t)expected[r];
    return n * sizeof(double[SAP_BODY]);
}

/* Makes room for the particles that this rank walks. */
static int reserve_mine(sapporo_mpi_tree *h)
{
    const size_t room = (size_t)h->route.arrived + 1;
    const int alone = sap_mpi_tree_is_alone(h);
    h->a = sap_room_array(&h->rooms.a, room, sizeof *h->a);
    h->mine = alone ? NULL : sap_room_array(&h->rooms.mine, room, sizeof *h->mine);
    return h->a && (h->mine || alone) ? SAPPORO_OK : sap_mpi_tree_no_memory(h, h->route.arrived);
}

void sap_mpi_tree_keep(sapporo_mpi_tree *h, int n)
{
    struct sap_route *const p = &h->route;
    const int me = h->link.rank;
    sap_mpi_tree_forget_route(h);
    p->n = p->arrived = p->sent[me] = p->got[me] = n;
    (void)sap_link_places(p->sent, p->sent_at, h->link.size);
    (void)sap_link_places(p->got, p->got_at, h->link.size);
}

int sap_mpi_tree_stay(sapporo_mpi_tree *h, int n)
{
    sap_mpi_tree_keep(h, n);
    return reserve_mine(h);
}

/* ------------------------------------------------------------------ sorting */

/* Particles that threads sort by rank, in parts. */
struct rank_sorting {
    const int *to;  /* the rank of each */
    int ranks, *at; /* [parts][ranks] number, then next place, of the particles of a part for a rank */
    int *order;
};

static void count_part(void *argument, int part, int from, int to)
{
    const struct rank_sorting *const s = argument;
    int *const count = s->at + (size_t)part * (size_t)s->ranks;
    memset(count, 0, (size_t)s->ranks * sizeof *count);
    for (int i = from; i < to; i++) count[s->to[i]]++;
}

static void place_part(void *argument, int part, int from, int to)
{
    const struct rank_sorting *const s = argument;
    int *const at = s->at + (size_t)part * (size_t)s->ranks;
    for (int i = from; i < to; i++) s->order[at[s->to[i]]++] = i;
}

/* Turns the counts of parts into places; fills the numbers and first places of ranks. */
static void place_parts(const struct rank_sorting *s, int parts, struct sap_route *p)
{
    int sum = 0;
    for (int r = 0; r < s->ranks; r++) {
        p->sent_at[r] = sum;
        for (int part = 0; part < parts; part++) {
            int *const at = &s->at[(size_t)part * (size_t)s->ranks + (size_t)r];
            const int here = *at;
            *at = sum;
            sum += here;
        }
        p->sent[r] = sum - p->sent_at[r];
    }
}

/* Sorts the particles by rank, each rank's in the caller's order; 0 or SAPPORO_ERR_MEMORY. */
static int sort_by_rank(sapporo_mpi_tree *h, const int *to)
{
    enum { MOST = 64, A_PART = 4096 };
    struct sap_route *const p = &h->route;
    const int ranks = h->link.size, wanted = 1 + p->n / A_PART, parts = wanted < MOST ? wanted : MOST;
    p->order = sap_room_array(&h->rooms.order, (size_t)p->n + 1, sizeof *p->order);
    int *const at = sap_room_reserve(&h->rooms.part, (size_t)parts * (size_t)ranks * sizeof *at);
    struct rank_sorting s = {to, ranks, at, p->order};
    if (!at || !p->order) return SAPPORO_ERR_MEMORY;
    sapporo_partial_parts(h->options.threads, p->n, parts, count_part, &s);
    place_parts(&s, parts, p);
    sapporo_partial_parts(h->options.threads, p->n, parts, place_part, &s);
    return SAPPORO_OK;
}

void sap_mpi_tree_tell_walkers(const sapporo_mpi_tree *h, int *walker)
{
    const struct sap_route *const p = &h->route;
    for (int r = 0; r < h->link.size; r++)
        for (int k = p->sent_at[r]; k < p->sent_at[r] + p->sent[r]; k++) walker[p->order ? p->order[k] : k] = r;
}

/* ---------------------------------------------------------------- particles */

/* Particles that threads copy: those that stay to `mine`, the others to what is sent. */
struct packing {
    const int *order;
    const struct sap_bodies *bodies;
    double (*out)[SAP_BODY], (*mine)[SAP_BODY];
    int first, end, at; /* records that stay, and where the first one belongs */
};

static void pack_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct packing *const p = argument;
    for (ptrdiff_t k = from; k < to; k++) {
        double *const record = k >= p->first && k < p->end ? p->mine[p->at + k - p->first] : p->out[k];
        const int i = p->order ? p->order[k] : (int)k;
        sap_bodies_position(p->bodies, i, record);
        record[SAP_BODY_MASS] = sap_bodies_mass(p->bodies, i);
        record[SAP_BODY_A] = sap_bodies_size(p->bodies, i);
    }
}

static void pack(const sapporo_mpi_tree *h, const struct sap_bodies *bodies, double (*out)[SAP_BODY])
{
    const struct sap_route *const r = &h->route;
    const int me = h->link.rank;
    struct packing p = {.order = r->order, .bodies = bodies, .out = out, .mine = h->mine, .first = r->sent_at[me]};
    p.end = p.first + r->sent[me], p.at = r->got_at[me];
    sapporo_partial_loop(h->options.threads, r->n, pack_some, &p);
}

/* Collective.  Tells each rank how many particles it gets, and makes room for those of this rank. */
static int announce(sapporo_mpi_tree *h)
{
    struct sap_route *const p = &h->route;
    struct sap_link *const link = &h->link;
    const size_t bytes = (size_t)link->size * sizeof *p->sent;
    int status = sap_link_finish(
        link, MPI_Ialltoall(p->sent, 1, MPI_INT, p->got, 1, MPI_INT, link->communicator, &link->request));
    if (status) return status;
    const int64_t arrived = sap_link_places(p->got, p->got_at, link->size);
    p->arrived = arrived < INT_MAX ? (int)arrived : 0;
    memcpy(p->posted, p->sent, bytes);
    memcpy(p->expected, p->got, bytes);
    p->posted[link->rank] = p->expected[link->rank] = 0;
    if (p->got[link->rank] == p->n && p->n == p->arrived) p->order = NULL;
    return sap_link_agree(link, arrived < INT_MAX ? reserve_mine(h) : sap_mpi_tree_no_memory(h, p->arrived));
}

/* Room for the particles that are sent; NULL: out of memory. */
static void *reserve_out(sapporo_mpi_tree *h)
{
    return sap_room_array(&h->rooms.out, (size_t)h->route.n + 1, sizeof(double[SAP_BODY]));
}

/* Collective.  Sends particles by the route to h->mine of all ranks. */
static int send(sapporo_mpi_tree *h, const struct sap_bodies *bodies)
{
    const struct sap_route *const p = &h->route;
    struct sap_link *const link = &h->link;
    double(*const out)[SAP_BODY] = h->rooms.out.at;
    pack(h, bodies, out);
    return sap_link_finish_for(link,
                               MPI_Ialltoallv(out, p->posted, p->sent_at, h->body, h->mine, p->expected, p->got_at,
                                              h->body, link->communicator, &link->request),
                               bytes_of(p->posted, p->expected, link->size));
}

static void take_some_sizes(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const sapporo_mpi_tree *const h = argument;
    for (ptrdiff_t i = from; i < to; i++) h->a[i] = h->mine[i][SAP_BODY_A];
}

static void take_some_known_sizes(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const sapporo_mpi_tree *const h = argument;
    for (ptrdiff_t i = from; i < to; i++)
        if (h->mine[i][SAP_BODY_A] >= 0) h->a[i] = h->mine[i][SAP_BODY_A];
}

int sap_mpi_tree_send(sapporo_mpi_tree *h, const struct sap_bodies *bodies, const int *to)
{
    h->route.n = h->given;
    const int bad = sort_by_rank(h, to) || !reserve_out(h);
    int status = sap_link_agree(&h->link, bad ? sap_mpi_tree_no_memory(h, h->given) : SAPPORO_OK);
    if (!status) status = announce(h);
    if (!status) status = send(h, bodies);
    if (!status) sapporo_partial_loop(h->options.threads, h->route.arrived, take_some_sizes, h);
    return status;
}

int sap_mpi_tree_send_again(sapporo_mpi_tree *h, const struct sap_bodies *bodies)
{
    int status = reserve_out(h) ? SAPPORO_OK : sap_mpi_tree_no_memory(h, h->route.n);
    status = sap_link_agree(&h->link, status);
    if (!status) status = send(h, bodies);
    if (!status) sapporo_partial_loop(h->options.threads, h->route.arrived, take_some_known_sizes, h);
    return status;
}

/* ------------------------------------------------------------------ answers */

int sap_mpi_tree_return(sapporo_mpi_tree *h, const struct sap_active *a, const double (*out)[SAP_ANSWER],
                        double (*in)[SAP_ANSWER])
{
    _Static_assert((int)SAP_ANSWER == (int)SAP_BODY, "both have one type of MPI");
    struct sap_link *const link = &h->link;
    return sap_link_finish_for(link,
                               MPI_Ialltoallv(out, a->posted, a->owed_at, h->body, in, a->expected, a->answered_at,
                                              h->body, link->communicator, &link->request),
                               bytes_of(a->posted, a->expected, link->size));
}
