/*
 * tree_records.c - sapporo_mpi_tree_exchange: sends records of particles to the particles' owners, the ranks that
 * compute their forces, and makes the particles those of the callers there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "context/internals.h"
#include "mpi/tree.h"

enum { RECORD_MOST = 1 << 20 }; /* bytes of a record, at most: what ranks send is counted in records */

/* What the handle knows of a particle.  It follows the record of a particle that moves. */
struct known {
    double size;
    int64_t work;
};

/* Records that threads copy.  Their memory is the caller's, but for those that move. */
struct records {
    const sapporo_mpi_tree *h;
    size_t bytes, stride; /* of a record of the caller, and of one that moves */
    const char *from;
    char *to, *out, *in;
    double *size; /* [arrived] room for the numbers of the handle */
    int64_t *work;
    double *length; /* the same; NULL: particles have no softening lengths */
};

/* Copies records of this rank's caller: those that stay to their new places, the others to what is sent. */
static void pack_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct records *const r = argument;
    const sapporo_mpi_tree *const h = r->h;
    const struct sap_route *const p = &h->route;
    const int me = h->link.rank, first = p->sent_at[me], end = first + p->sent[me];
    for (ptrdiff_t k = from; k < to; k++) {
        const ptrdiff_t i = p->order ? p->order[k] : k, at = p->got_at[me] + k - first;
        const int stays = k >= first && k < end;
        const struct known known = {h->size[i], h->work[i]};
        char *const record = stays ? r->to + (size_t)at * r->bytes : r->out + (size_t)k * r->stride;
        memcpy(record, r->from + (size_t)i * r->bytes, r->bytes);
        if (!stays) memcpy(record + r->stride - sizeof known, &known, sizeof known);
        if (stays) r->size[at] = known.size, r->work[at] = known.work;
    }
}

/* Copies records that have arrived: those before the records that stayed, and those behind them. */
static void unpack_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct records *const r = argument;
    const struct sap_route *const p = &r->h->route;
    const int me = r->h->link.rank, first = p->got_at[me], own = p->got[me];
    for (ptrdiff_t k = from; k < to; k++) {
        const ptrdiff_t at = k < first ? k : k + own;
        const char *const record = r->in + (size_t)at * r->stride;
        struct known known;
        memcpy(r->to + (size_t)at * r->bytes, record, r->bytes);
        memcpy(&known, record + r->stride - sizeof known, sizeof known);
        r->size[at] = known.size, r->work[at] = known.work;
    }
}

/* Fails if the arguments of this rank's caller are wrong. */
static int check(sapporo_mpi_tree *h, size_t bytes, const void *from, int room, const void *to)
{
    struct sap_link *const link = &h->link;
    if (!h->built) return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: build the tree first", h->call);
    if (bytes < 1 || bytes > RECORD_MOST)
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: records of %zu bytes; they may have 1 to %d", h->call,
                             bytes, RECORD_MOST);
    if ((h->given > 0 && !from) || (h->route.arrived > 0 && room > 0 && !to))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: records, or room for them, are missing", h->call);
    if (room < h->route.arrived)
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: room for %d records; this rank walks %d particles",
                             h->call, room, h->route.arrived);
    return SAPPORO_OK;
}

/* Makes room for the records that move, and for what the handle knows of the particles. */
static int reserve(sapporo_mpi_tree *h, struct records *r)
{
    const size_t n = (size_t)h->route.n + 1, arrived = (size_t)h->route.arrived + 1;
    r->out = sap_room_array(&h->rooms.out, n, r->stride);
    r->in = sap_room_array(&h->rooms.in, arrived, r->stride);
    r->size = malloc(arrived * sizeof *r->size);
    r->work = malloc(arrived * sizeof *r->work);
    if (h->mine_h) r->length = malloc(arrived * sizeof *r->length);
    if (!(r->out && r->in && r->size && r->work && (r->length || !h->mine_h)))
        return sap_mpi_tree_no_memory(h, h->route.arrived);
    const int status = sap_mpi_tree_bring_order(h);
    return status ? status : sap_mpi_tree_copy_known(h);
}

/* Collective.  Sends the records, and makes the particles that this rank walks those of its caller. */
static int exchange(sapporo_mpi_tree *h, struct records *r)
{
    const struct sap_route *const p = &h->route;
    const int threads = h->options.threads;
    struct sap_wire wire = {.out = r->out, .in = r->in, .each = r->stride, .own_stays = 1};
    sapporo_internals()->partial_loop(threads, p->n, pack_some, r);
    const int status = sap_exchange(&h->link, p, &wire);
    if (status) return status;
    sapporo_internals()->partial_loop(threads, p->arrived - p->got[h->link.rank], unpack_some, r);
    double *const size = h->size;
    int64_t *const work = h->work;
    h->size = r->size, h->work = r->work;
    r->size = size, r->work = work; /* to be freed */
    h->given = p->arrived;
    if (h->mine_h) memcpy(r->length, h->mine_h, (size_t)p->arrived * sizeof *r->length);
    double *const length = h->length;
    h->length = r->length;
    r->length = length;
    sap_route_stay(&h->route, &h->link, p->arrived);
    const int renumbered = sap_mpi_tree_renumber(h);
    if (renumbered) h->built = h->known_by_engine = 0;
    return renumbered;
}

int sapporo_mpi_tree_exchange(sapporo_mpi_tree *tree, size_t bytes, const void *from, int room, void *to, int *n)
{
    static const char *const name[] = {"bytes"};
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    if (n) *n = 0;
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    h->call = sap_link_begin(&h->link, SAP_CALL_TREE_EXCHANGE);
    struct records r = {.h = h, .bytes = bytes, .from = from, .to = to};
    r.stride = (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double) + sizeof(struct known);
    if (n && h->built) *n = h->route.arrived;
    int status = check(h, bytes, from, room, to);
    if (!status) status = reserve(h, &r);
    const double field = (double)bytes;
    status = sap_link_compare(&h->link, status, 1, &field, name);
    if (!status) status = exchange(h, &r);
    free(r.size);
    free(r.work);
    free(r.length);
    return status;
}
