/* tree_travel.c - sends to each rank the nodes that its particles need, and receives those that this rank needs. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "context/internals.h"
#include "mpi/tree.h"

enum { REGION = sizeof(struct sap_halo_region) / sizeof(double) };

/* Frees what is sent. */
static void free_out(struct sap_halo *out)
{
    free(out->node);
    free(out->x);
    free(out->of_node);
    free(out->h);
    *out = (struct sap_halo){0};
}

void sap_travel_free(struct sap_travel *t)
{
    struct sap_halo_memory *const m = &t->memory;
    free_out(&t->out);
    for (int what = 0; what < SAP_TRAVEL_ROUTES; what++) sap_route_free(&t->route[what]);
    sap_room_free(&m->who);
    sap_room_free(&m->opened);
    sap_room_free(&m->from);
    sap_room_free(&m->node);
    sap_room_free(&m->cell);
    sap_room_free(&m->lengths);
}

int sap_travel_room(const sapporo_mpi_tree *h) { return sap_halo_room((double)h->done.total, h->link.size); }

/* Makes room for the arrays with elements for each rank, and for the regions of all ranks; 0: out of memory. */
static int reserve(sapporo_mpi_tree *h, struct sap_travel *t)
{
    const size_t many = (size_t)h->link.size, room = (size_t)sap_travel_room(h);
    t->regions = sap_room_reserve(&h->rooms.regions, (many + 1) * room * sizeof *t->regions);
    int *const count = sap_room_reserve(&h->rooms.count, 4 * many * sizeof *count);
    if (!t->regions || !count) return 0;
    for (int what = 0; what < SAP_TRAVEL_ROUTES; what++)
        if (sap_route_reserve(&t->route[what], h->link.size)) return 0;
    t->sent = (int(*)[2])count;
    t->got = t->sent + many;
    return 1;
}

/* Forgets what has travelled. */
static void forget(const sapporo_mpi_tree *h, struct sap_travel *t)
{
    memset(t->sent, 0, 2 * (size_t)h->link.size * sizeof *t->sent); /* and `got` */
    if (t->out.words != h->words) free_out(&t->out);
    t->out.nodes = t->out.n = 0;
    t->out.words = t->in.words = h->words;
}

/* Regions of a rank; those of this rank are also behind those of all ranks. */
static struct sap_halo_region *regions_of(const sapporo_mpi_tree *h, const struct sap_travel *t, int r)
{
    return t->regions + (size_t)r * (size_t)sap_travel_room(h);
}

/* Collective.  Tells all ranks the regions of this rank. */
static int exchange_regions(sapporo_mpi_tree *h, struct sap_travel *t)
{
    struct sap_link *const link = &h->link;
    const int doubles = REGION * sap_travel_room(h);
    sap_link_count_all(link, doubles, sizeof(double), 0);
    return sap_link_finish(link, MPI_Iallgather(regions_of(h, t, link->size), doubles, MPI_DOUBLE, t->regions, doubles,
                                                MPI_DOUBLE, link->communicator, &link->request));
}

/* Notes the error of the rank's tree. */
static int failed(sapporo_mpi_tree *h, int status)
{
    return status ? sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree)) : SAPPORO_OK;
}

/* Whether the engine of this rank's tree tells regions and selects. */
static int engine_selects(const sapporo_mpi_tree *h) { return h->selects && h->nodes.nodes > 0; }

/* Writes the regions of this rank. */
static int tell_regions(sapporo_mpi_tree *h, struct sap_travel *t, const struct sap_halo_targets *targets)
{
    const int room = sap_travel_room(h);
    struct sap_halo_region *const own = regions_of(h, t, h->link.size);
    if (engine_selects(h))
        return failed(h, sapporo_internals()->part_regions(h->tree, room, targets, own, &h->nodes.regions));
    const double accuracy = sap_group_accuracy((int)h->settings.ball, h->settings.accuracy);
    sap_halo_tell_regions(&h->nodes, accuracy, targets, own, room);
    return SAPPORO_OK;
}

/* Selects the halos for all other ranks by the engine.  The regions of this rank are those of no particles. */
static int select_by_engine(sapporo_mpi_tree *h, struct sap_travel *t, int level_most)
{
    const int room = sap_travel_room(h), ranks = h->link.size;
    struct sap_halo_region *const own = regions_of(h, t, h->link.rank);
    const struct sap_halo_wish wish = {.parts = ranks, .room = room, .level_most = level_most, .region = t->regions};
    long long nodes = 0, n = 0;
    for (int k = 0; k < room; k++) own[k].strictness = -1;
    const int status = sapporo_internals()->part_select(h->tree, &wish, t->sent);
    if (status) return failed(h, status);
    for (int r = 0; r < ranks; r++) nodes += t->sent[r][0], n += t->sent[r][1];
    const int fits = nodes <= INT_MAX && n <= INT_MAX;
    if (!fits || (!t->on_device && sap_halo_reserve(&t->out, (int)nodes + 1, (int)n + 1)))
        return sap_mpi_tree_no_memory(h, h->route.arrived);
    t->out.nodes = (int)nodes, t->out.n = (int)n;
    return SAPPORO_OK;
}

/* Copies to host memory what the engine has selected. */
static int fetch_halos(sapporo_mpi_tree *h, struct sap_travel *t)
{
    if (!engine_selects(h) || t->on_device) return SAPPORO_OK;
    const struct sap_halo_room to = {t->out.node, t->out.x, t->out.of_node, t->out.h};
    return failed(h, sapporo_internals()->part_selected(h->tree, &to));
}

struct sap_halo_source sap_mpi_tree_source(const sapporo_mpi_tree *h)
{
    return (struct sap_halo_source){.nodes = &h->nodes,
                                    .x = (const double *)h->mine,
                                    .h = h->mine_h,
                                    .stride = SAP_BODY,
                                    .order = h->settings.order,
                                    .level_most = SAP_KEY_LEVELS - sap_halo_levels_above(h->link.size - 1)};
}

/* Selects the halos for all other ranks. */
static int select_halos(sapporo_mpi_tree *h, struct sap_travel *t)
{
    const struct sap_halo_source source = sap_mpi_tree_source(h);
    const int room = sap_travel_room(h);
    int status = SAPPORO_OK;
    if (engine_selects(h)) return select_by_engine(h, t, source.level_most);
    for (int r = 0; r < h->link.size && h->nodes.nodes > 0 && !status; r++) {
        const struct sap_halo_region *const theirs = regions_of(h, t, r);
        if (r == h->link.rank || !sap_halo_has_targets(theirs, room)) continue;
        const int nodes = t->out.nodes, n = t->out.n;
        status = sap_halo_add(&t->out, &source, theirs, room, &t->memory);
        t->sent[r][0] = t->out.nodes - nodes;
        t->sent[r][1] = t->out.n - n;
    }
    return status ? sap_mpi_tree_no_memory(h, h->route.arrived) : SAPPORO_OK;
}

/* Finds where on the device nodes and particles are that leave and that arrive. */
static int find_places(sapporo_mpi_tree *h, struct sap_travel *t)
{
    int status = SAPPORO_OK;
    memset(t->place, 0, sizeof t->place);
    if (t->out.nodes > 0) status = sapporo_internals()->port_made(h->tree, &t->place[0]);
    if (!status && t->in.nodes > 0)
        status = sapporo_internals()->port_receive(h->tree, t->in.nodes, t->in.n, &t->place[1]);
    return failed(h, status);
}

/* Makes the routes of nodes and particles, and room for those that arrive. */
static int make_room(sapporo_mpi_tree *h, struct sap_travel *t)
{
    int64_t in[2];
    for (int what = 0; what < SAP_TRAVEL_ROUTES; what++) {
        struct sap_route *const p = &t->route[what];
        for (int r = 0; r < h->link.size; r++) p->sent[r] = t->sent[r][what], p->got[r] = t->got[r][what];
        in[what] = sap_route_settle(p, &h->link);
        if (in[what] > INT_MAX / 2) return sap_mpi_tree_no_memory(h, h->route.arrived);
    }
    t->in.nodes = (int)in[0], t->in.n = (int)in[1];
    if (t->on_device) return find_places(h, t);
    t->in.node = sap_room_array(&h->rooms.node, (size_t)in[0] + 1, sizeof *t->in.node);
    t->in.x = sap_room_array(&h->rooms.x, (size_t)in[1] + 1, sizeof *t->in.x);
    const size_t each = (size_t)h->words * sizeof *t->in.of_node;
    t->in.of_node = h->words ? sap_room_array(&h->rooms.of_node, (size_t)in[0] + 1, each) : NULL;
    t->in.h = h->words ? sap_room_array(&h->rooms.h, (size_t)in[1] + 1, sizeof *t->in.h) : NULL;
    const int has_lengths = !h->words || (t->in.of_node && t->in.h);
    return t->in.node && t->in.x && has_lengths ? SAPPORO_OK : sap_mpi_tree_no_memory(h, h->route.arrived);
}

/* Fills the wires of nodes and particles, which are on the device. */
static void wire_devices(sapporo_mpi_tree *h, struct sap_travel *t)
{
    const struct sap_halo_room *const out = &t->place[0], *const in = &t->place[1];
    t->wire[0] = (struct sap_wire){.out = out->node, .in = in->node, .each = sizeof *in->node, .by = &h->carrier};
    t->wire[1] = (struct sap_wire){.out = out->x, .in = in->x, .each = sizeof *in->x, .by = &h->carrier};
}

/* Collective.  Begins to send nodes and particles, and the lengths of both. */
static int send(sapporo_mpi_tree *h, struct sap_travel *t)
{
    int status = SAPPORO_OK;
    t->wire[0] = (struct sap_wire){.out = t->out.node, .in = t->in.node, .each = sizeof *t->in.node};
    t->wire[1] = (struct sap_wire){.out = t->out.x, .in = t->in.x, .each = sizeof *t->in.x};
    if (t->on_device) wire_devices(h, t);
    const size_t each = (size_t)h->words * sizeof *t->in.of_node;
    t->wire[2] = (struct sap_wire){.out = t->out.of_node, .in = t->in.of_node, .each = each};
    t->wire[3] = (struct sap_wire){.out = t->out.h, .in = t->in.h, .each = sizeof *t->in.h};
    const int wires = h->words ? SAP_TRAVEL_WIRES : SAP_TRAVEL_ROUTES;
    for (t->wires = 0; t->wires < wires && !status; t->wires++)
        status = sap_exchange_begin(&h->link, &t->route[t->wires % SAP_TRAVEL_ROUTES], &t->wire[t->wires]);
    return status;
}

/* A broken link ends a force; the next agreement takes another error, of a transport, of which all ranks learn. */
static int settle(sapporo_mpi_tree *h, int status)
{
    if (h->link.broken) return h->link.broken;
    sap_mpi_tree_fail_late(h, status);
    return SAPPORO_OK;
}

int sap_travel_reserve(sapporo_mpi_tree *h)
{
    return reserve(h, &h->travel) ? SAPPORO_OK : sap_mpi_tree_no_memory(h, h->route.arrived);
}

int sap_travel_prepare(sapporo_mpi_tree *h, struct sap_travel *t, const struct sap_halo_targets *targets)
{
    const int room = sap_travel_room(h);
    forget(h, t);
    t->on_device = sap_carrier_on_device(&h->carrier) && h->words == 0;
    const int told = tell_regions(h, t, targets);
    for (int k = 0; k < room && told; k++) regions_of(h, t, h->link.size)[k].strictness = -1;
    sap_mpi_tree_fail_late(h, told);
    const int status = exchange_regions(h, t);
    if (!status && !told) sap_mpi_tree_fail_late(h, select_halos(h, t));
    return status;
}

int sap_travel_start(sapporo_mpi_tree *h, struct sap_travel *t)
{
    struct sap_link *const link = &h->link;
    const int fetched = h->late ? SAPPORO_OK : fetch_halos(h, t);
    int status = sap_exchange_numbers(link, 2, t->sent[0], t->got[0]);
    if (status) return status;
    status = sap_mpi_tree_agree_all(h, fetched ? fetched : make_room(h, t));
    return status ? status : settle(h, send(h, t));
}

int sap_travel_finish(sapporo_mpi_tree *h, struct sap_travel *t)
{
    int status = SAPPORO_OK;
    for (int k = 0; k < t->wires && !status; k++) status = sap_exchange_end(&h->link, &t->wire[k]);
    return settle(h, status);
}
