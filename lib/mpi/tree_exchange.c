/* tree_exchange.c - sends particles to the ranks that walk them, and their forces back. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/tree.h"

static const char build_call[] = "sapporo_mpi_tree_build", force_call[] = "sapporo_mpi_tree_force";

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

/* Sorts the particles by rank, each rank's in the caller's order, and copies them; NULL: out of memory. */
static double (*pack(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], const int *to))[SAP_BODY]
{
    struct sap_route *const p = &h->route;
    const int ranks = h->link.size;
    double(*const out)[SAP_BODY] = malloc(((size_t)p->n + 1) * sizeof *out);
    p->sent = calloc(4 * (size_t)ranks, sizeof *p->sent);
    p->order = calloc((size_t)p->n + 1, sizeof *p->order);
    if (!p->sent || !p->order || !out) {
        free(out);
        return NULL;
    }
    p->sent_at = p->sent + ranks, p->got = p->sent_at + ranks, p->got_at = p->got + ranks;
    for (int i = 0; i < p->n; i++) p->sent[to[i]]++;
    (void)place(p->sent, p->sent_at, ranks);
    for (int i = 0; i < p->n; i++) p->order[p->sent_at[to[i]]++] = i;
    for (int k = 0; k < p->n; k++) memcpy(out[k], body[p->order[k]], sizeof *out);
    (void)place(p->sent, p->sent_at, ranks);
    return out;
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
    if (!h->mine) status = sap_mpi_tree_no_memory(h, build_call, p->arrived);
    return sap_link_agree(link, status);
}

int sap_mpi_tree_send(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], const int *to)
{
    struct sap_route *const p = &h->route;
    struct sap_link *const link = &h->link;
    p->n = h->given;
    double(*const out)[SAP_BODY] = pack(h, body, to);
    int status = sap_link_agree(link, out ? SAPPORO_OK : sap_mpi_tree_no_memory(h, build_call, p->n));
    if (!status) status = announce(h);
    if (!status)
        status = sap_link_finish(link, MPI_Ialltoallv(out, p->sent, p->sent_at, h->body, h->mine, p->got, p->got_at,
                                                      h->body, link->communicator, &link->request));
    sap_mpi_tree_release(h, out);
    return status;
}

/* ------------------------------------------------------------------ answers */

int sap_mpi_tree_return(sapporo_mpi_tree *h, const double (*answer)[SAP_ANSWER], double (*to)[SAP_ANSWER])
{
    _Static_assert((int)SAP_ANSWER == (int)SAP_BODY, "both have one type of MPI");
    const struct sap_route *const p = &h->route;
    struct sap_link *const link = &h->link;
    double(*const in)[SAP_ANSWER] = malloc(((size_t)p->n + 1) * sizeof *in);
    int status = sap_link_agree(link, in ? SAPPORO_OK : sap_mpi_tree_no_memory(h, force_call, p->n));
    if (!status)
        status = sap_link_finish(link, MPI_Ialltoallv(answer, p->got, p->got_at, h->body, in, p->sent, p->sent_at,
                                                      h->body, link->communicator, &link->request));
    for (int k = 0; k < p->n && in && !status; k++) memcpy(to[p->order[k]], in[k], sizeof *to);
    sap_mpi_tree_release(h, in);
    return status;
}
