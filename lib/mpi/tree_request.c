/*
 * tree_request.c - sapporo_mpi_tree_force, _force_active and _force_request: whose forces are wanted, and where.
 */
#include <math.h>

#include "base/fpenv.h"
#include "base/structs.h"
#include "context/internals.h"
#include "mpi/tree.h"

static void fill_with_nan(const sapporo_mpi_tree *h, const struct sap_force_wish *wish)
{
    if (wish->memory == SAPPORO_MEMORY_DEVICE) {
        if (h && h->divides) (void)sapporo_internals()->bodies_erase(h->tree, wish->ni, wish->acc, wish->pot);
        return;
    }
    for (int i = 0; i < wish->ni; i++) {
        for (int c = 0; c < 3 && wish->acc; c++) wish->acc[i][c] = NAN;
        if (wish->pot) wish->pot[i] = NAN;
    }
}

/* ------------------------------------------------------- memory of a device */

/* Collective.  Forces in memory of a device from a tree whose particles are in host memory. */
static int force_by_host(sapporo_mpi_tree *h, const struct sap_force_wish *wish)
{
    struct sap_force_wish here = *wish;
    double *const rows = sap_room_array(&h->rooms.results, (size_t)wish->ni + 1, 4 * sizeof *rows);
    here.memory = SAPPORO_MEMORY_HOST;
    here.acc_there = wish->acc, here.pot_there = wish->pot;
    here.acc = (double(*)[3])rows;
    here.pot = rows ? rows + 3 * (size_t)wish->ni : NULL;
    if (!rows && !wish->wrong) here.wrong = sap_mpi_tree_no_memory(h, wish->ni);
    return sap_mpi_tree_force(h, &here);
}

/* Collective.  Forces of a tree of one rank, in memory of a device or from particles there. */
static int force_alone(sapporo_mpi_tree *h, const struct sap_force_wish *wish, const int *active)
{
    const sapporo_tree_request request = {
        .size = sizeof request, .memory = wish->memory, .ni = wish->ni, .active = active};
    sapporo_tree_statistics s = {.size = sizeof s};
    int status =
        h->built ? wish->wrong : sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: build the tree first", h->call);
    if (!status) status = sap_mpi_tree_failed(h, sapporo_tree_force(h->tree, &request, wish->acc, wish->pot));
    if (!status) (void)sapporo_tree_get_statistics(h->tree, &s);
    h->done.particle_particle = s.particle_particle;
    h->done.particle_cell = s.particle_cell;
    h->done.rows = wish->ni;
    return sap_link_agree(&h->link, status);
}

/* Copies a list of active particles in memory of a device to the host. */
static const int *bring_list(sapporo_mpi_tree *h, const int *active, struct sap_force_wish *wish)
{
    int *const list = sap_room_array(&h->rooms.columns, (size_t)wish->ni + 1, sizeof *list);
    if (!list) wish->wrong = sap_mpi_tree_no_memory(h, wish->ni);
    const size_t bytes = (size_t)wish->ni * sizeof *list;
    if (list)
        wish->wrong = sap_mpi_tree_failed(
            h, sapporo_internals()->bodies_copy(h->tree, (void *)(uintptr_t)active, bytes, list, 1));
    return list;
}

/* -------------------------------------------------------------------- calls */

/* Collective.  active: as the caller has it, in the memory of the results. */
static int force(sapporo_mpi_tree *h, struct sap_force_wish *wish, const int *active)
{
    const sap_fpenv callers = sap_fp_enter();
    const int elsewhere = wish->memory == SAPPORO_MEMORY_DEVICE, alone = sap_mpi_tree_is_alone(h);
    int status = h->link.broken;
    wish->particle = active;
    if (!status && alone && (elsewhere || h->direct))
        status = force_alone(h, wish, active);
    else if (!status) {
        if (elsewhere && active && !wish->wrong) wish->particle = bring_list(h, active, wish);
        status = elsewhere && !h->by_engine ? force_by_host(h, wish) : sap_mpi_tree_force(h, wish);
    }
    if (status < 0) fill_with_nan(h, wish);
    sap_fp_leave(callers);
    return status;
}

int sapporo_mpi_tree_force(sapporo_mpi_tree *tree, double (*acc)[3], double *pot)
{
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    if (!h) return SAPPORO_ERR_CLOSED;
    struct sap_force_wish all = {.all = 1, .ni = h->given, .acc = acc, .pot = pot};
    h->call = sap_link_begin(&h->link, SAP_CALL_TREE_FORCE);
    return force(h, &all, NULL);
}

int sapporo_mpi_tree_force_active(sapporo_mpi_tree *tree, int ni, const int *active, double (*acc)[3], double *pot)
{
    struct sap_force_wish some = {.ni = ni, .acc = acc, .pot = pot};
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    if (!h) fill_with_nan(NULL, &some);
    if (!h) return SAPPORO_ERR_CLOSED;
    h->call = sap_link_begin(&h->link, SAP_CALL_TREE_FORCE_ACTIVE);
    return force(h, &some, active);
}

/* Why a request is refused, with a status; NULL: it is not. */
static const char *why_refused(const sapporo_mpi_tree *h, const sapporo_tree_request *r, int *status)
{
    *status = SAPPORO_ERR_ARGUMENT;
    if (r->memory != SAPPORO_MEMORY_HOST && r->memory != SAPPORO_MEMORY_DEVICE) return "memory may be 0 or 1";
    if (r->ni < 0) return "ni is negative";
    *status = SAPPORO_ERR_UNSUPPORTED;
    if (r->x.base || r->h.base) return "forces over ranks are on particles, not on positions";
    if (r->memory == SAPPORO_MEMORY_DEVICE && !sapporo_internals()->bodies_able(h->tree))
        return "trees on CPUs compute in host memory only";
    return NULL;
}

int sapporo_mpi_tree_force_request(sapporo_mpi_tree *tree, const sapporo_tree_request *request, double (*acc)[3],
                                   double *pot)
{
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    sapporo_tree_request r = {.ni = 0};
    int status = SAPPORO_ERR_ARGUMENT;
    if (!h) return SAPPORO_ERR_CLOSED;
    h->call = sap_link_begin(&h->link, SAP_CALL_TREE_FORCE_REQUEST);
    const int known = request && !sap_struct_copy(&r, sizeof r, request, sizeof request->size);
    const char *const why = known ? why_refused(h, &r, &status) : "no request, without a size, or of a newer version";
    if (!known || r.ni < 0 || (why && r.memory != SAPPORO_MEMORY_HOST)) r.ni = 0; /* no rows that could be NaN */
    struct sap_force_wish wish = {.all = !r.active && r.ni == h->given,
                                  .memory = why ? SAPPORO_MEMORY_HOST : r.memory,
                                  .ni = r.ni,
                                  .acc = acc,
                                  .pot = pot};
    if (why) wish.wrong = sap_link_fail(&h->link, status, "%s: %s", h->call, why);
    return force(h, &wish, r.active);
}
