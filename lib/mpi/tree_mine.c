/* tree_mine.c - the tree of the particles that a rank walks: builds, refreshes, and the nodes that other ranks need. */
#include "context/internals.h"
#include "mpi/tree.h"

/* Makes a tree with room for all particles of this rank. */
static int reserve_tree(sapporo_mpi_tree *h, int n)
{
    if (n <= h->room) return SAPPORO_OK;
    const int room = n < (1 << 30) ? n + n / 8 : n;
    sapporo_tree_destroy(h->tree);
    h->room = 0;
    const int status = sapporo_tree_create(&h->options, room, &h->tree);
    if (status) return sap_link_note(&h->link, status, sapporo_last_error(NULL));
    h->room = room;
    return SAPPORO_OK;
}

/* Makes room for the nodes of a tree; 0 or SAPPORO_ERR_MEMORY. */
static int reserve_nodes(struct sap_halo_nodes *t, int regions, int words)
{
    struct sap_room *const room = t->room;
    const size_t nodes = (size_t)t->nodes + 1, n = (size_t)t->n + 1;
    t->node = sap_room_array(&room[0], nodes, sizeof *t->node);
    t->cell = sap_room_array(&room[1], nodes, sizeof *t->cell);
    t->reach = sap_room_array(&room[2], nodes, sizeof *t->reach);
    t->address = sap_room_array(&room[3], n, sizeof *t->address);
    t->group = sap_room_array(&room[4], n, sizeof *t->group);
    t->bound = sap_room_array(&room[5], (size_t)t->groups + 1, sizeof *t->bound);
    t->region = sap_room_reserve(&room[6], (size_t)regions * sizeof *t->region);
    t->words = words;
    t->lengths = words ? sap_room_array(&room[7], nodes, (size_t)words * sizeof *t->lengths) : NULL;
    return t->node && t->cell && t->reach && t->address && t->group && t->bound && t->region && (t->lengths || !words)
               ? SAPPORO_OK
               : SAPPORO_ERR_MEMORY;
}

/* Nodes whose reach threads find. */
struct reaching {
    struct sap_halo_nodes *t;
    struct sap_criterion how;
};

static void find_some_reaches(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct reaching *const r = argument;
    struct sap_halo_nodes *const t = r->t;
    for (ptrdiff_t k = from; k < to; k++) t->reach[k] = sap_halo_reach(t, (int)k, &r->how);
}

/* Finds from which distance on each node is accepted, and the regions. */
static void look_at_nodes(sapporo_mpi_tree *h, struct sap_halo_nodes *t)
{
    const struct sap_tree_settings *const s = &h->settings;
    struct reaching r = {t, sap_criterion_of((int)s->mac, s->order, s->accuracy, h->whole.pull)};
    const struct sap_halo_source source = sap_mpi_tree_source(h);
    sap_halo_find_lengths(t, &source);
    sapporo_internals()->partial_loop(h->options.threads, t->nodes, find_some_reaches, &r);
    sap_halo_choose_regions(t, sap_travel_room(h));
}

/* Copies the nodes of the tree, which other ranks need, unless its engine selects from them. */
static int copy_nodes(sapporo_mpi_tree *h)
{
    struct sap_halo_nodes *const t = &h->nodes;
    struct sap_tree_structure s = {.nodes = 0};
    int status = sapporo_internals()->part_structure(h->tree, &s);
    if (status) return sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree));
    t->nodes = s.nodes, t->n = s.n, t->groups = s.groups;
    if (h->selects) return SAPPORO_OK;
    if (reserve_nodes(t, sap_travel_room(h), h->words)) return sap_mpi_tree_no_memory(h, h->route.arrived);
    s = (struct sap_tree_structure){
        .node = t->node, .cell = t->cell, .address = t->address, .group = t->group, .bound = t->bound};
    status = sapporo_internals()->part_structure(h->tree, &s);
    if (status) return sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree));
    if (t->nodes > 0) look_at_nodes(h, t);
    return SAPPORO_OK;
}

sapporo_tree_particles sap_mpi_tree_columns(const sapporo_mpi_tree *h)
{
    const ptrdiff_t stride = sizeof *h->mine;
    return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                    .n = h->route.arrived,
                                    .x = {h->mine, stride},
                                    .mass = {&h->mine[0][SAP_BODY_MASS], stride},
                                    .h = {h->mine_h, 0}};
}

static void forget_nodes(struct sap_halo_nodes *t)
{
    t->nodes = t->regions = 0;
    t->sizes = t->log_size = 0;
}

int sap_mpi_tree_agree(sapporo_mpi_tree *h, int status)
{
    static const char *const differs[] = {NULL, NULL};
    const double field[] = {h->nodes.sizes, h->nodes.log_size};
    double sizes = 0, log_size = 0;
    status = sap_link_compare(&h->link, status ? status : h->late, 2, field, differs);
    h->late = SAPPORO_OK;
    for (int r = 0; r < h->link.size && !status; r++)
        sizes += sap_link_field(&h->link, r, 0), log_size += sap_link_field(&h->link, r, 1);
    if (sizes > 0) sap_halo_limit_widest(&h->nodes, sizes, log_size);
    return status;
}

/* Ends a build or refresh with this status of the tree. */
static int finish(sapporo_mpi_tree *h, int status)
{
    if (status) return sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree));
    return sap_mpi_tree_is_alone(h) || h->route.arrived == 0 ? SAPPORO_OK : copy_nodes(h);
}

int sap_mpi_tree_build_mine(sapporo_mpi_tree *h, const sapporo_tree_particles *mine)
{
    forget_nodes(&h->nodes);
    if (h->late) return SAPPORO_OK; /* the agreement takes it: particles have not arrived */
    int status = h->by_engine ? SAPPORO_OK : reserve_tree(h, mine->n);
    if (status) return status;
    status = sapporo_internals()->part_join(h->tree, sap_mpi_tree_is_alone(h) ? NULL : &h->whole);
    if (!status && !h->by_engine) status = sapporo_tree_set(h->tree, mine);
    if (!status) status = sapporo_tree_build(h->tree);
    return finish(h, status);
}

int sap_mpi_tree_set_mine(sapporo_mpi_tree *h, const sapporo_tree_particles *mine)
{
    int status = sapporo_internals()->part_join(h->tree, sap_mpi_tree_is_alone(h) ? NULL : &h->whole);
    if (!status && !h->by_engine) status = sapporo_tree_set(h->tree, mine);
    return status ? sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree)) : SAPPORO_OK;
}

int sap_mpi_tree_refresh_mine(sapporo_mpi_tree *h)
{
    forget_nodes(&h->nodes);
    if (h->late) return SAPPORO_OK;
    return finish(h, sapporo_tree_refresh(h->tree));
}

int sap_mpi_tree_remains(const sapporo_mpi_tree *h)
{
    struct sap_tree_structure s = {.nodes = 0};
    return sapporo_internals()->part_structure(h->tree, &s) == SAPPORO_OK && s.nodes > 0 && s.n == h->route.arrived;
}
