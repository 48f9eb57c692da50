/* tree_exchange.c - sends particles to the ranks that walk them, and their forces back. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "context/partial.h"
#include "mpi/tree.h"

void sap_mpi_tree_free_route(sapporo_mpi_tree *h)
{
    sap_mpi_tree_release(h, h->route.sent);
    sap_mpi_tree_release(h, h->route.order);
    memset(&h->route, 0, sizeof h->route);
}

/* Turns numbers per rank into first places; returns the sum. */
static int64_t place(const int *number, int *at, int ranks)
{
    int64_t sum = 0;
    for (int r = 0; r < ranks; r++) {
        at[r] = (int)sum;
        sum += number[r];
    }
    return sum;
}

/* ---------------------------------------------------------------- particles */

/* Particles that threads copy. */
struct packing {
    const int *order;
    const double (*body)[SAP_BODY];
    double (*out)[SAP_BODY];
};

static void pack_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct packing *const p = argument;
    for (ptrdiff_t k = from; k < to; k++) memcpy(p->out[k], p->body[p->order[k]], sizeof *p->out);
}

/* Copies the particles in the order of the route; NULL: out of memory. */
static double (*pack(const sapporo_mpi_tree *h, const double (*body)[SAP_BODY]))[SAP_BODY]
{
    struct packing p = {h->route.order, body, malloc(((size_t)h->route.n + 1) * sizeof *p.out)};
    if (p.out) sapporo_partial_loop(h->options.threads, h->route.n, pack_some, &p);
    return p.out;
}

/* Sorts the particles by rank, each rank's in the caller's order; 0 or SAPPORO_ERR_MEMORY. */
static int sort_by_rank(sapporo_mpi_tree *h, const int *to)
{
    struct sap_route *const p = &h->route;
    const int ranks = h->link.size;
    p->sent = calloc(4 * (size_t)ranks, sizeof *p->sent);
    p->order = calloc((size_t)p->n + 1, sizeof *p->order);
    if (!p->sent || !p->order) return SAPPORO_ERR_MEMORY;
    p->sent_at = p->sent + ranks, p->got = p->sent_at + ranks, p->got_at = p->got + ranks;
    for (int i = 0; i < p->n; i++) p->sent[to[i]]++;
    (void)place(p->sent, p->sent_at, ranks);
    for (int i = 0; i < p->n; i++) p->order[p->sent_at[to[i]]++] = i;
    (void)place(p->sent, p->sent_at, ranks);
    return SAPPORO_OK;
}

void sap_mpi_tree_tell_walkers(const sapporo_mpi_tree *h, int *walker)
{
    const struct sap_route *const p = &h->route;
    for (int r = 0; r < h->link.size; r++)
        for (int k = 0; k < p->sent[r]; k++) walker[p->order[p->sent_at[r] + k]] = r;
}

/* Collective.  Tells each rank how many particles it gets, and makes room for those of this rank. */
static int announce(sapporo_mpi_tree *h)
{
    struct sap_route *const p = &h->route;
    struct sap_link *const link = &h->link;
    int status = sap_link_finish(
        link, MPI_Ialltoall(p->sent, 1, MPI_INT, p->got, 1, MPI_INT, link->communicator, &link->request));
    if (status) return status;
    const int64_t arrived = place(p->got, p->got_at, link->size);
    p->arrived = arrived < INT_MAX ? (int)arrived : 0;
    h->mine = arrived < INT_MAX ? malloc(((size_t)arrived + 1) * sizeof *h->mine) : NULL;
    if (!h->mine) status = sap_mpi_tree_no_memory(h, p->arrived);
    return sap_link_agree(link, status);
}

/* Collective.  Sends packed particles by the route to the arrays `in` of all ranks. */
static int send_packed(sapporo_mpi_tree *h, const double (*out)[SAP_BODY], double (*in)[SAP_BODY])
{
    const struct sap_route *const p = &h->route;
    struct sap_link *const link = &h->link;
    return sap_link_finish(link, MPI_Ialltoallv(out, p->sent, p->sent_at, h->body, in, p->got, p->got_at, h->body,
                                                link->communicator, &link->request));
}

int sap_mpi_tree_send(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], const int *to)
{
    struct sap_route *const p = &h->route;
    struct sap_link *const link = &h->link;
    p->n = h->given;
    double(*const out)[SAP_BODY] = sort_by_rank(h, to) ? NULL : pack(h, body);
    int status = sap_link_agree(link, out ? SAPPORO_OK : sap_mpi_tree_no_memory(h, p->n));
    if (!status) status = announce(h);
    if (!status) status = send_packed(h, (const double(*)[SAP_BODY])out, h->mine);
    sap_mpi_tree_release(h, out);
    return status;
}

int sap_mpi_tree_send_again(sapporo_mpi_tree *h, const double (*body)[SAP_BODY])
{
    const struct sap_route *const p = &h->route;
    double(*const out)[SAP_BODY] = pack(h, body), (*in)[SAP_BODY] = malloc(((size_t)p->arrived + 1) * sizeof *in);
    int status = out && in ? SAPPORO_OK : sap_mpi_tree_no_memory(h, p->n);
    status = sap_link_agree(&h->link, status);
    if (!status) status = send_packed(h, (const double(*)[SAP_BODY])out, in);
    for (int i = 0; i < p->arrived && in && !status; i++)
        if (!(in[i][SAP_BODY_A] >= 0)) in[i][SAP_BODY_A] = h->mine[i][SAP_BODY_A];
    sap_mpi_tree_release(h, out);
    sap_mpi_tree_release(h, status ? in : h->mine);
    if (!status) h->mine = in;
    return status;
}

/* ------------------------------------------------------------------ answers */

int sap_mpi_tree_return(sapporo_mpi_tree *h, const struct sap_active *a, const double (*answer)[SAP_ANSWER],
                        double (*to)[SAP_ANSWER])
{
    _Static_assert((int)SAP_ANSWER == (int)SAP_BODY, "both have one type of MPI");
    struct sap_link *const link = &h->link;
    double(*const in)[SAP_ANSWER] = malloc(((size_t)a->rows + 1) * sizeof *in);
    int status = sap_link_agree(link, in ? SAPPORO_OK : sap_mpi_tree_no_memory(h, a->rows));
    if (!status)
        status = sap_link_finish(link, MPI_Ialltoallv(answer, a->owed, a->owed_at, h->body, in, a->answered,
                                                      a->answered_at, h->body, link->communicator, &link->request));
    for (int k = 0; k < a->rows && in && !status; k++) memcpy(to[a->order[k]], in[k], sizeof *to);
    sap_mpi_tree_release(h, in);
    return status;
}
