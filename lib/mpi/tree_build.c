/* tree_build.c - sapporo_mpi_tree_build: takes particles, sends them to their ranks, and builds the tree of each rank.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "base/structs.h"
#include "engine/tree_limits.h"
#include "mpi/tree.h"

static const char call[] = "sapporo_mpi_tree_build";

/* ----------------------------------------------------------------- arguments */

/* Checks a particle; `body` is a copy. */
static int check_body(sapporo_mpi_tree *h, int i, const double *body)
{
    for (int c = 0; c < 3; c++)
        if (!(fabs(body[c]) <= SAP_TREE_LIMIT))
            return sap_link_fail(&h->link, SAPPORO_ERR_NOT_FINITE,
                                 "%s: position of particle %d is not finite, or beyond 1e100", call, i);
    if (!isfinite(body[SAP_BODY_MASS]))
        return sap_link_fail(&h->link, SAPPORO_ERR_NOT_FINITE, "%s: mass of particle %d is not finite", call, i);
    if (!isfinite(body[SAP_BODY_A]))
        return sap_link_fail(&h->link, SAPPORO_ERR_NOT_FINITE, "%s: acceleration of particle %d is not finite", call,
                             i);
    return SAPPORO_OK;
}

/* Copies the particles of the caller, and checks them. */
static int take_bodies(sapporo_mpi_tree *h, const sapporo_tree_particles *p, double (*body)[SAP_BODY])
{
    int status = SAPPORO_OK;
    for (int i = 0; i < p->n && !status; i++) {
        memcpy(body[i], sap_column_at(&p->x, i, 3 * sizeof(double)), 3 * sizeof(double));
        body[i][SAP_BODY_MASS] = sap_column_double(&p->mass, i);
        body[i][SAP_BODY_A] = p->a.base ? sap_column_double(&p->a, i) : h->size[i];
        status = check_body(h, i, body[i]);
    }
    return status;
}

static int check_particles(sapporo_mpi_tree *h, const sapporo_tree_particles *given, sapporo_tree_particles *p)
{
    struct sap_link *const link = &h->link;
    if (!given || sap_struct_copy(p, sizeof *p, given, sizeof given->size))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: size of sapporo_tree_particles is not set", call);
    if (p->n < 0 || (p->n > 0 && (!p->x.base || !p->mass.base)))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: %d particles, or positions or masses are missing", call,
                             p->n);
    if (p->memory != SAPPORO_MEMORY_HOST)
        return sap_link_fail(link, SAPPORO_ERR_UNSUPPORTED, "%s: particles come from host memory only", call);
    return SAPPORO_OK;
}

/* Makes room for what is known of the caller's particles: nothing, if their number is another one. */
static int reserve_given(sapporo_mpi_tree *h, int n)
{
    if (n == h->given && h->size) return SAPPORO_OK;
    free(h->size);
    free(h->work);
    h->given = 0;
    h->size = malloc(((size_t)n + 1) * sizeof *h->size);
    h->work = calloc((size_t)n + 1, sizeof *h->work);
    if (!h->size || !h->work) {
        free(h->size);
        free(h->work);
        h->size = NULL;
        h->work = NULL;
        return sap_mpi_tree_no_memory(h, call, n);
    }
    h->given = n;
    for (int i = 0; i < n; i++) h->size[i] = -1;
    return SAPPORO_OK;
}

/* -------------------------------------------------------- the tree of this rank */

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
    free(t->region_of);
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

/* Keeps the nodes of the tree, and from which distance on each is accepted. */
static int take_nodes(sapporo_mpi_tree *h, const struct sap_tree_structure *s)
{
    struct sap_halo_nodes *const t = &h->nodes;
    const size_t nodes = (size_t)s->nodes + 1;
    t->node = malloc(nodes * sizeof *t->node);
    t->cell = malloc(nodes * sizeof *t->cell);
    t->reach = malloc(nodes * sizeof *t->reach);
    t->address = malloc(((size_t)s->n + 1) * sizeof *t->address);
    t->region_of = malloc(((size_t)s->n + 1) * sizeof *t->region_of);
    if (!t->node || !t->cell || !t->reach || !t->address || !t->region_of) return SAPPORO_ERR_MEMORY;
    t->nodes = s->nodes, t->n = s->n;
    for (int k = 0; k < s->nodes; k++) take_node(s, k, t);
    const struct sap_criterion how =
        sap_criterion_of((int)h->settings.mac, h->settings.order, h->settings.accuracy, h->whole.pull, &t->cell[0]);
    for (int k = 0; k < s->nodes; k++) t->reach[k] = sap_accept_reach(&t->cell[k], &how);
    for (int k = 0; k < s->n; k++) t->address[k] = s->address[k];
    sap_halo_choose_regions(t, s->group, (const double(*)[4])s->ball);
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
    return bad ? sap_mpi_tree_no_memory(h, call, h->route.arrived) : status;
}

int sap_mpi_tree_build_mine(sapporo_mpi_tree *h)
{
    const int n = h->route.arrived, alone = h->link.size == 1;
    const ptrdiff_t stride = sizeof *h->mine;
    const sapporo_tree_particles mine = {
        .size = sizeof mine, .n = n, .x = {h->mine, stride}, .mass = {&h->mine[0][SAP_BODY_MASS], stride}};
    sap_mpi_tree_free_nodes(h);
    int status = reserve_tree(h, n);
    if (status) return status;
    status = sapporo_tree_part_join(h->tree, alone ? NULL : &h->whole);
    if (!status) status = sapporo_tree_set(h->tree, &mine);
    if (!status) status = sapporo_tree_build(h->tree);
    if (status) return sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree));
    return alone || n == 0 ? SAPPORO_OK : copy_nodes(h);
}

/* --------------------------------------------------------------------- build */

/* Collective.  Finds the ranks of the particles and sends them there. */
static int distribute(sapporo_mpi_tree *h, const double (*body)[SAP_BODY])
{
    const int n = h->given;
    double mean = 1;
    int *const to = malloc(((size_t)n + 1) * sizeof *to);
    int status = sap_link_agree(&h->link, to ? SAPPORO_OK : sap_mpi_tree_no_memory(h, call, n));
    if (!status) status = sap_mpi_tree_find_whole(h, body, n, &mean);
    if (!status) status = sap_mpi_tree_split(h, body, n, mean, to);
    if (!status) status = sap_mpi_tree_send(h, body, to);
    free(to);
    return status;
}

static int build(sapporo_mpi_tree *h, const sapporo_tree_particles *given)
{
    sapporo_tree_particles p = {.n = 0};
    const double start = sap_clock_seconds();
    int status = check_particles(h, given, &p);
    if (!status) status = reserve_given(h, p.n);
    void *const memory = malloc(((size_t)(status ? 0 : p.n) + 1) * SAP_BODY * sizeof(double));
    double(*const body)[SAP_BODY] = memory;
    if (!status) status = body ? take_bodies(h, &p, body) : sap_mpi_tree_no_memory(h, call, p.n);
    status = sap_link_agree(&h->link, status);
    if (!status) status = distribute(h, (const double(*)[SAP_BODY])body);
    free(memory);
    const double sent = sap_clock_seconds();
    if (!status) status = sap_link_agree(&h->link, sap_mpi_tree_build_mine(h));
    h->done.seconds[SAPPORO_MPI_PHASE_EXCHANGE] = sent - start;
    h->done.seconds[SAPPORO_MPI_PHASE_BUILD] = sap_clock_seconds() - sent;
    return status;
}

int sapporo_mpi_tree_build(sapporo_mpi_tree *tree, const sapporo_tree_particles *particles)
{
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    const sap_fpenv callers = sap_fp_enter();
    h->built = 0;
    memset(&h->done, 0, sizeof h->done);
    sap_mpi_tree_free_route(h);
    sap_mpi_tree_release(h, h->mine);
    h->mine = NULL;
    const int status = build(h, particles);
    h->built = status == SAPPORO_OK;
    sap_fp_leave(callers);
    return status;
}
