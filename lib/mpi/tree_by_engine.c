/*
 * tree_by_engine.c - the particles of a rank's caller with an engine that divides them (engine/tree_bodies.h).
 *
 * A build leaves them with the engine, unless particles of some rank have softening lengths, or the ranks that walk
 * them are known from a saved run; then they are in host memory.  The ranks need not agree: what they exchange is the
 * same.
 */
#include "context/internals.h"
#include "mpi/tree.h"

int sap_mpi_tree_failed(sapporo_mpi_tree *h, int status)
{
    return status ? sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree)) : SAPPORO_OK;
}

struct sap_bodies_way sap_mpi_tree_way(const sapporo_mpi_tree *h, const struct sap_route *p)
{
    const int me = h->link.rank;
    return (struct sap_bodies_way){
        .n = p->n, .first = p->sent_at[me], .stays = p->sent[me], .at = p->got_at[me], .arrived = p->arrived};
}

/* ------------------------------------------------------------ device memory */

_Static_assert((int)SAP_BODY == (int)SAP_ANSWER, "particles and their answers need the same room");

int sap_mpi_tree_on_device(const sapporo_mpi_tree *h)
{
    return sap_carrier_on_device(&h->carrier) && h->by_engine && h->all_by_engine && h->words == 0;
}

int sap_mpi_tree_wire(sapporo_mpi_tree *h, const struct sap_route *p, struct sap_wire *wire)
{
    const int me = h->link.rank, leave = p->n - p->sent[me], arrive = p->arrived - p->got[me];
    void *out, *in;
    const int status = sapporo_internals()->port_records(h->tree, leave > arrive ? leave : arrive, &out, &in);
    *wire = (struct sap_wire){.out = out, .in = in, .each = sizeof(double[SAP_BODY]), .by = &h->carrier};
    return sap_mpi_tree_failed(h, status);
}

int sap_mpi_tree_reserve_records(sapporo_mpi_tree *h, const struct sap_route *p)
{
    struct sap_wire wire;
    return sap_mpi_tree_wire(h, p, &wire);
}

/* ---------------------------------------------------------------- particles */

/* Makes the tree anew if its particles have softening lengths, which the engine would keep. */
static int renew_tree(sapporo_mpi_tree *h)
{
    if (h->room >= 0) return SAPPORO_OK;
    sapporo_tree_destroy(h->tree);
    const int status = sapporo_tree_create(&h->options, 0, &h->tree);
    h->room = status ? -1 : 0;
    return status ? sap_link_note(&h->link, status, sapporo_last_error(NULL)) : SAPPORO_OK;
}

int sap_mpi_tree_grow(sapporo_mpi_tree *h)
{
    const int n = h->route.arrived;
    const int status = sap_mpi_tree_failed(h, sapporo_internals()->bodies_grow(h->tree, n));
    if (!status && n > h->room) h->room = n;
    return status;
}

int sap_mpi_tree_settle(sapporo_mpi_tree *h, const sapporo_tree_particles *p)
{
    const int wanted = h->divides && !h->length && !h->walker && !p->h.base;
    if (!wanted) return sap_mpi_tree_bring_known(h);
    int status = renew_tree(h);
    if (!status) status = sap_mpi_tree_failed(h, sapporo_internals()->bodies_take(h->tree, p, h->gravity));
    if (!status && !h->known_by_engine)
        status = sap_mpi_tree_failed(h, sapporo_internals()->bodies_know(h->tree, p->n, h->size, h->work));
    if (status) return status;
    h->known_by_engine = h->by_engine = 1;
    return SAPPORO_OK;
}

int sap_mpi_tree_copy_known(sapporo_mpi_tree *h)
{
    if (!h->known_by_engine) return SAPPORO_OK;
    return sap_mpi_tree_failed(h, sapporo_internals()->bodies_tell(h->tree, h->size, h->work));
}

int sap_mpi_tree_bring_known(sapporo_mpi_tree *h)
{
    const int status = sap_mpi_tree_copy_known(h);
    h->by_engine = h->known_by_engine = 0;
    return status;
}

int sap_mpi_tree_renumber(sapporo_mpi_tree *h)
{
    if (!h->by_engine) return SAPPORO_OK;
    h->in_order = 0;
    return sap_mpi_tree_failed(h, sapporo_internals()->bodies_know(h->tree, h->given, h->size, h->work));
}

int sap_mpi_tree_bring_order(sapporo_mpi_tree *h)
{
    struct sap_route *const p = &h->route;
    if (!h->by_engine || !h->in_order || p->order) return SAPPORO_OK;
    int *const order = sap_room_array(&p->orders, (size_t)p->n + 1, sizeof *order);
    if (!order) return sap_mpi_tree_no_memory(h, p->n);
    const int status = sap_mpi_tree_failed(h, sapporo_internals()->bodies_order(h->tree, p->n, order));
    if (!status) p->order = order;
    return status;
}

int sap_mpi_tree_bring(sapporo_mpi_tree *h)
{
    if (!h->by_engine) return SAPPORO_OK;
    const int status = sap_mpi_tree_bring_order(h);
    for (int k = 0; k < h->route.arrived; k++) h->a[k] = -1; /* the next force finds them */
    return status ? status : sap_mpi_tree_bring_known(h);
}

/* ------------------------------------------------------- memory of the caller */

/* Copies a column of n times `each` doubles to the host. */
static int bring_column(sapporo_mpi_tree *h, int n, int each, sapporo_column *column, double **to)
{
    const size_t bytes = (size_t)n * (size_t)each * sizeof **to;
    if (!column->base) return SAPPORO_OK;
    const int status = sapporo_internals()->bodies_copy(h->tree, (void *)(uintptr_t)column->base, bytes, *to, 1);
    *column = (sapporo_column){*to, 0};
    *to += (size_t)n * (size_t)each;
    return sap_mpi_tree_failed(h, status);
}

int sap_mpi_tree_bring_columns(sapporo_mpi_tree *h, sapporo_tree_particles *p)
{
    enum { WORDS = 6 }; /* of a particle */
    if (p->memory == SAPPORO_MEMORY_HOST) return SAPPORO_OK;
    double *to = sap_room_array(&h->rooms.columns, (size_t)p->n + 1, WORDS * sizeof *to);
    if (!to) return sap_mpi_tree_no_memory(h, p->n);
    p->memory = SAPPORO_MEMORY_HOST;
    int status = bring_column(h, p->n, 3, &p->x, &to);
    if (!status) status = bring_column(h, p->n, 1, &p->mass, &to);
    if (!status) status = bring_column(h, p->n, 1, &p->a, &to);
    return status ? status : bring_column(h, p->n, 1, &p->h, &to);
}
