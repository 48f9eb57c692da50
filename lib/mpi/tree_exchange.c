/* tree_exchange.c - sends particles to their owners, the ranks that compute their forces. */
#include <limits.h>
#include <stdlib.h>

#include "context/internals.h"
#include "engine/softening.h"
#include "mpi/tree.h"

int sap_mpi_tree_need_lengths(sapporo_mpi_tree *h, int wanted)
{
    const double usual = sap_softening_of(&h->settings, NULL, 0).usual;
    if (!wanted || h->length || sap_mpi_tree_is_alone(h)) return SAPPORO_OK;
    h->length = malloc(((size_t)h->given + 1) * sizeof *h->length);
    if (!h->length) return sap_mpi_tree_no_memory(h, h->given);
    for (int i = 0; i < h->given; i++) h->length[i] = usual;
    return SAPPORO_OK;
}

/* Makes room for the softening lengths of the particles that this rank walks, if they have some. */
static int reserve_mine_lengths(sapporo_mpi_tree *h)
{
    const size_t room = (size_t)h->route.arrived + 1;
    h->mine_h = h->length ? sap_room_array(&h->rooms.mine_h, room, sizeof *h->mine_h) : NULL;
    return h->mine_h || !h->length ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/* Makes room for the particles that this rank walks. */
static int reserve_mine(sapporo_mpi_tree *h)
{
    const size_t room = (size_t)h->route.arrived + 1;
    const int alone = sap_mpi_tree_is_alone(h);
    h->a = sap_room_array(&h->rooms.a, room, sizeof *h->a);
    h->mine = alone ? NULL : sap_room_array(&h->rooms.mine, room, sizeof *h->mine);
    const int bad = reserve_mine_lengths(h) || !h->a || (!h->mine && !alone);
    return bad ? sap_mpi_tree_no_memory(h, h->route.arrived) : SAPPORO_OK;
}

int sap_mpi_tree_stay(sapporo_mpi_tree *h, int n)
{
    sap_route_stay(&h->route, &h->link, n);
    return reserve_mine(h);
}

void sap_mpi_tree_tell_walkers(const sapporo_mpi_tree *h, int *walker)
{
    const struct sap_route *const p = &h->route;
    for (int r = 0; r < h->link.size; r++)
        for (int k = p->sent_at[r]; k < p->sent_at[r] + p->sent[r]; k++) walker[p->order ? p->order[k] : k] = r;
}

/* ---------------------------------------------------------------- particles */

/* Particles that threads copy: those that stay to `mine`, the others to what is sent. */
struct body_packing {
    const int *order;
    const struct sap_bodies *bodies;
    double (*out)[SAP_BODY], (*mine)[SAP_BODY];
    const double *length;   /* softening lengths; NULL: there are none */
    double *out_h, *mine_h; /* likewise */
    int first, end, at;     /* records that stay, and where the first one belongs */
};

static void pack_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct body_packing *const p = argument;
    for (ptrdiff_t k = from; k < to; k++) {
        const int stays = k >= p->first && k < p->end;
        double *const record = stays ? p->mine[p->at + k - p->first] : p->out[k];
        const int i = p->order ? p->order[k] : (int)k;
        sap_bodies_position(p->bodies, i, record);
        record[SAP_BODY_MASS] = sap_bodies_mass(p->bodies, i);
        record[SAP_BODY_A] = sap_bodies_size(p->bodies, i);
        if (p->length) *(stays ? &p->mine_h[p->at + k - p->first] : &p->out_h[k]) = p->length[i];
    }
}

static void pack(const sapporo_mpi_tree *h, const struct sap_bodies *bodies)
{
    const struct sap_route *const r = &h->route;
    const int me = h->link.rank;
    struct body_packing p = {.order = r->order,
                             .bodies = bodies,
                             .out = h->rooms.out.at,
                             .mine = h->mine,
                             .length = h->length,
                             .out_h = h->rooms.out_h.at,
                             .mine_h = h->mine_h,
                             .first = r->sent_at[me]};
    p.end = p.first + r->sent[me], p.at = r->got_at[me];
    sapporo_internals()->partial_loop(h->options.threads, r->n, pack_some, &p);
}

/*
 * Collective.  Tells each rank how many particles it gets, and makes room for those of this rank; counts the particles
 * of the ranks before this one.
 */
static int announce(sapporo_mpi_tree *h)
{
    static const char *const differs[] = {NULL, NULL};
    struct sap_route *const p = &h->route;
    int64_t arrived;
    int status = sap_route_announce(&h->link, p, &arrived);
    if (status) return status;
    if (p->got[h->link.rank] == p->n && p->n == arrived) p->order = NULL;
    h->in_order = h->by_engine && !(p->got[h->link.rank] == p->n && p->n == arrived);
    status = arrived < INT_MAX ? reserve_mine(h) : sap_mpi_tree_no_memory(h, p->arrived);
    h->all_by_engine = h->by_engine;
    if (!status && sap_mpi_tree_on_device(h)) status = sap_mpi_tree_reserve_records(h, p);
    const double field[] = {(double)arrived, h->by_engine};
    status = sap_link_compare(&h->link, status, 2, field, differs);
    for (int r = 0; r < h->link.size && !status; r++) h->all_by_engine &= sap_link_field(&h->link, r, 1) > 0;
    h->whole.before = 0;
    for (int r = 0; r < h->link.rank && !status; r++) h->whole.before += (long long)sap_link_field(&h->link, r, 0);
    return status;
}

/* Makes room for the particles that are sent, with lengths if those of any rank have some; 0: out of memory. */
static int reserve_out(sapporo_mpi_tree *h)
{
    const size_t room = (size_t)h->route.n + 1;
    if (sap_mpi_tree_need_lengths(h, h->words > 0)) return 0;
    const int has_lengths = !h->length || sap_room_array(&h->rooms.out_h, room, sizeof(double));
    return sap_room_array(&h->rooms.out, room, sizeof(double[SAP_BODY])) && has_lengths;
}

/* Collective.  Sends particles by the route to the trees of all ranks, whose engine has those of this rank. */
static int send_by_engine(sapporo_mpi_tree *h, int refreshes)
{
    const int on_device = sap_mpi_tree_on_device(h);
    double(*const out)[SAP_BODY] = on_device ? NULL : h->rooms.out.at;
    const double(*const in)[SAP_BODY] = on_device ? NULL : (const double(*)[SAP_BODY])h->mine;
    struct sap_wire wire = {.out = out, .in = h->mine, .each = sizeof *out, .own_stays = 1};
    struct sap_bodies_way way = sap_mpi_tree_way(h, &h->route);
    way.keeps = refreshes;
    int packed = refreshes ? SAPPORO_OK : sap_mpi_tree_grow(h);
    if (on_device) (void)sap_mpi_tree_wire(h, &h->route, &wire); /* there is room */
    if (!packed) packed = sap_mpi_tree_failed(h, sapporo_internals()->bodies_send(h->tree, &way, h->in_order, out));
    const int status = sap_exchange(&h->link, &h->route, &wire);
    if (h->link.broken) return status;
    sap_mpi_tree_fail_late(h, status); /* a transport has failed */
    if (!packed && !status) packed = sap_mpi_tree_failed(h, sapporo_internals()->bodies_arrive(h->tree, &way, in));
    sap_mpi_tree_fail_late(h, packed);
    return SAPPORO_OK;
}

/* Collective.  Sends particles by the route to h->mine and h->mine_h of all ranks. */
static int send(sapporo_mpi_tree *h, const struct sap_bodies *bodies)
{
    struct sap_wire wire = {.out = h->rooms.out.at, .in = h->mine, .each = sizeof(double[SAP_BODY]), .own_stays = 1};
    struct sap_wire lengths = {.out = h->rooms.out_h.at, .in = h->mine_h, .each = sizeof(double), .own_stays = 1};
    pack(h, bodies);
    const int status = sap_exchange(&h->link, &h->route, &wire);
    return status || !h->length ? status : sap_exchange(&h->link, &h->route, &lengths);
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
    const int bad =
        (to && sap_route_sort(&h->route, h->link.size, h->given, to, h->options.threads)) || !reserve_out(h);
    int status = sap_mpi_tree_agree_all(h, bad ? sap_mpi_tree_no_memory(h, h->given) : SAPPORO_OK);
    if (!status) status = announce(h);
    if (!status && bodies->by_engine) return send_by_engine(h, 0);
    if (!status) status = send(h, bodies);
    if (!status) sapporo_internals()->partial_loop(h->options.threads, h->route.arrived, take_some_sizes, h);
    return status;
}

int sap_mpi_tree_send_again(sapporo_mpi_tree *h, const struct sap_bodies *bodies)
{
    const int bad = !reserve_out(h) || reserve_mine_lengths(h);
    int status = bad ? sap_mpi_tree_no_memory(h, h->route.n) : SAPPORO_OK;
    if (!status && sap_mpi_tree_on_device(h)) status = sap_mpi_tree_reserve_records(h, &h->route);
    status = sap_mpi_tree_agree_all(h, status);
    if (!status && bodies->by_engine) return send_by_engine(h, 1);
    if (!status) status = send(h, bodies);
    if (!status) sapporo_internals()->partial_loop(h->options.threads, h->route.arrived, take_some_known_sizes, h);
    return status;
}
