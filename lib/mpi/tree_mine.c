/* tree_mine.c - the tree of the particles that a rank walks: builds, refreshes, and the nodes that other ranks need. */
#include <stdlib.h>
#include <string.h>

#include "context/partial.h"
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

/* The columns of the nodes of a tree, as the engine gives them. */
static int new_structure(struct sap_tree_structure *s)
{
    const size_t nodes = (size_t)s->nodes + 1, n = (size_t)s->n + 1;
    int *const numbers = malloc((5 * nodes + 2 * n) * sizeof *numbers);
    double *const values = malloc((17 * nodes + 4 * (size_t)s->groups) * sizeof *values);
    s->first = numbers;
    s->mass = values;
    if (!numbers || !values) return SAPPORO_ERR_MEMORY;
    s->count = numbers + nodes, s->child = numbers + 2 * nodes, s->children = numbers + 3 * nodes;
    s->level = numbers + 4 * nodes, s->address = numbers + 5 * nodes, s->group = s->address + n;
    s->weight = values + nodes;
    s->centre = (double(*)[3])(values + 2 * nodes), s->low = (double(*)[3])(values + 5 * nodes);
    s->high = (double(*)[3])(values + 8 * nodes), s->q = (double(*)[6])(values + 11 * nodes);
    s->ball = (double(*)[4])(values + 17 * nodes);
    return SAPPORO_OK;
}

void sap_mpi_tree_free_nodes(sapporo_mpi_tree *h)
{
    struct sap_halo_nodes *const t = &h->nodes;
    free(t->node);
    free(t->cell);
    free(t->reach);
    free(t->address);
    free(t->group);
    free(t->ball);
    free(t->region);
    memset(t, 0, sizeof *t);
}

static void take_node(const struct sap_tree_structure *s, int k, struct sap_halo_nodes *t)
{
    struct sap_cell *const cell = &t->cell[k];
    t->node[k] = (struct sap_tree_node){.first = s->first[k],
                                        .count = s->count[k],
                                        .child = s->child[k],
                                        .children = s->children[k],
                                        .level = s->level[k]};
    cell->mass = s->mass[k];
    cell->weight = s->weight[k];
    memcpy(cell->centre, s->centre[k], sizeof cell->centre);
    memcpy(cell->low, s->low[k], sizeof cell->low);
    memcpy(cell->high, s->high[k], sizeof cell->high);
    memcpy(cell->q, s->q[k], sizeof cell->q);
}

/* Allocates the arrays of the nodes of a tree. */
static int new_nodes(const struct sap_tree_structure *s, int regions, struct sap_halo_nodes *t)
{
    const size_t nodes = (size_t)s->nodes + 1, n = (size_t)s->n + 1;
    t->node = malloc(nodes * sizeof *t->node);
    t->cell = malloc(nodes * sizeof *t->cell);
    t->reach = malloc(nodes * sizeof *t->reach);
    t->address = malloc(n * sizeof *t->address);
    t->group = malloc(n * sizeof *t->group);
    t->ball = malloc(((size_t)s->groups + 1) * sizeof *t->ball);
    t->region = malloc((size_t)regions * sizeof *t->region);
    return t->node && t->cell && t->reach && t->address && t->group && t->ball && t->region ? SAPPORO_OK
                                                                                            : SAPPORO_ERR_MEMORY;
}

/* Nodes that threads copy, and whose reach they find. */
struct copying {
    const struct sap_tree_structure *s;
    struct sap_halo_nodes *t;
    struct sap_criterion how;
};

static void take_some_nodes(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct copying *const c = argument;
    for (int k = (int)from; k < to; k++) take_node(c->s, k, c->t);
}

static void find_some_reaches(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct copying *const c = argument;
    for (int k = (int)from; k < to; k++) c->t->reach[k] = sap_accept_reach(&c->t->cell[k], &c->how);
}

/* Keeps the nodes of the tree, and from which distance on each is accepted. */
static int take_nodes(sapporo_mpi_tree *h, const struct sap_tree_structure *s)
{
    struct sap_halo_nodes *const t = &h->nodes;
    const int room = sap_travel_room(h);
    if (new_nodes(s, room, t)) return SAPPORO_ERR_MEMORY;
    t->nodes = s->nodes, t->n = s->n, t->groups = s->groups;
    struct copying c = {.s = s, .t = t};
    sapporo_partial_loop(h->options.threads, s->nodes, take_some_nodes, &c);
    c.how = sap_criterion_of((int)h->settings.mac, h->settings.order, h->settings.accuracy, h->whole.pull, &t->cell[0]);
    sapporo_partial_loop(h->options.threads, s->nodes, find_some_reaches, &c);
    memcpy(t->address, s->address, (size_t)s->n * sizeof *t->address);
    memcpy(t->group, s->group, (size_t)s->n * sizeof *t->group);
    memcpy(t->ball, s->ball, (size_t)s->groups * sizeof *t->ball);
    sap_halo_choose_regions(t, room);
    return SAPPORO_OK;
}

/* Copies the nodes of the tree, which other ranks need. */
static int copy_nodes(sapporo_mpi_tree *h)
{
    struct sap_tree_structure s = {.nodes = 0};
    int status = sapporo_tree_part_structure(h->tree, &s);
    if (status) return sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree));
    int bad = new_structure(&s);
    if (!bad) status = sapporo_tree_part_structure(h->tree, &s);
    if (status) (void)sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree));
    if (!bad && !status && s.nodes > 0) bad = take_nodes(h, &s);
    free(s.first);
    free(s.mass);
    return bad ? sap_mpi_tree_no_memory(h, h->route.arrived) : status;
}

int sap_mpi_tree_make_mine(sapporo_mpi_tree *h, int refreshes)
{
    const int n = h->route.arrived, alone = h->link.size == 1;
    const ptrdiff_t stride = sizeof *h->mine;
    const sapporo_tree_particles mine = {
        .size = sizeof mine, .n = n, .x = {h->mine, stride}, .mass = {&h->mine[0][SAP_BODY_MASS], stride}};
    sap_mpi_tree_free_nodes(h);
    int status = refreshes ? SAPPORO_OK : reserve_tree(h, n);
    if (status) return status;
    status = sapporo_tree_part_join(h->tree, alone ? NULL : &h->whole);
    if (!status) status = sapporo_tree_set(h->tree, &mine);
    if (!status) status = refreshes ? sapporo_tree_refresh(h->tree) : sapporo_tree_build(h->tree);
    if (status) return sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree));
    return alone || n == 0 ? SAPPORO_OK : copy_nodes(h);
}
