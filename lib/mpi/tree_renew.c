/* tree_renew.c - refreshes the trees of all ranks while their forces are cheap, else builds them for a later time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/structs.h"
#include "context/internals.h"
#include "engine/tree_limits.h"
#include "mpi/tree.h"
#include "physics/scalars.h"

/* ---- positions of earlier calls -------------------------------------------------------------- */

/* Makes room for the positions of n particles in two calls; 0 or SAPPORO_ERR_MEMORY. */
static int reserve_past(sapporo_mpi_tree *h, int n)
{
    if (h->past_x[1] && n == h->past[0]) return SAPPORO_OK;
    for (int k = 0; k < 2; k++) {
        free(h->past_x[k]);
        h->past_x[k] = malloc(((size_t)n + 1) * sizeof *h->past_x[k]);
        h->past[k] = -1;
    }
    if (h->past_x[0] && h->past_x[1]) return SAPPORO_OK;
    for (int k = 0; k < 2; k++) {
        free(h->past_x[k]);
        h->past_x[k] = NULL;
    }
    return sap_mpi_tree_no_memory(h, n);
}

static void keep_past(sapporo_mpi_tree *h, const sapporo_tree_particles *p)
{
    double(*const oldest)[3] = h->past_x[1];
    h->past_x[1] = h->past_x[0];
    h->past[1] = h->past[0];
    h->past_x[0] = oldest;
    h->past[0] = p->n;
    for (int i = 0; i < p->n; i++) memcpy(oldest[i], sap_column_at(&p->x, i, sizeof *oldest), sizeof *oldest);
}

struct rank_ahead {
    sapporo_mpi_tree *h;
    const sapporo_tree_particles *p;
    double lead;
};

static void look_ahead(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct rank_ahead *const l = argument;
    const sapporo_mpi_tree *const h = l->h;
    const int bends = h->past[1] == l->p->n;
    for (ptrdiff_t i = from; i < to; i++) {
        double x[3];
        memcpy(x, sap_column_at(&l->p->x, (int)i, sizeof x), sizeof x);
        sap_tree_ahead(x, h->past_x[0][i], bends ? h->past_x[1][i] : h->past_x[0][i], bends, l->lead, SAP_TREE_LIMIT,
                       h->past_x[1][i]);
    }
}

/* ---- builds ------------------------------------------------------------------------------------ */

/*
 * Collective.  Builds the trees for a time `lead` calls later, and refreshes them.  SAPPORO_ERR_NOT_FINITE: such
 * positions, or the present ones, are beyond what a tree can hold.
 */
static int build_ahead(sapporo_mpi_tree *h, const sapporo_tree_particles *p, double lead)
{
    sapporo_tree_particles later = *p;
    struct rank_ahead l = {h, p, lead};
    sapporo_internals()->partial_loop(h->options.threads, p->n, look_ahead, &l);
    h->past[1] = -1;
    later.x = (sapporo_column){h->past_x[1], 0};
    const int status = sap_mpi_tree_build_anew(h, &later, lead);
    if (status) return status;
    const int refreshed = sap_mpi_tree_refresh(h, p);
    h->pace.age = 0;
    h->done.refreshes = 0;
    return refreshed;
}

/* What ranks tell each other; a rank that was alone in a call has another age and lead than the others. */
enum { TELLS_FACTOR, LACKS, KNOWS, BEST, LAST, BEFORE, AGE, LEAD, TOLD };

/*
 * Decides from the costs of all ranks, and of the rank that has most to do.  The numbers are those that ranks have told
 * each other, so all of them decide alike.
 */
static struct sap_pace_plan decide(const sapporo_mpi_tree *h, double factor)
{
    struct sap_tree_pace sum = {.age = (int)sap_link_field(&h->link, 0, AGE),
                                .lead = sap_link_field(&h->link, 0, LEAD)},
                         most = sum;
    int lacks = 0, knows = 1;
    for (int r = 0; r < h->link.size; r++) {
        lacks |= sap_link_field(&h->link, r, LACKS) != 0;
        knows &= sap_link_field(&h->link, r, KNOWS) != 0;
        sum.best += sap_link_field(&h->link, r, BEST);
        sum.last += sap_link_field(&h->link, r, LAST);
        sum.before += sap_link_field(&h->link, r, BEFORE);
        most.best = fmax(most.best, sap_link_field(&h->link, r, BEST));
        most.last = fmax(most.last, sap_link_field(&h->link, r, LAST));
    }
    struct sap_pace_plan plan = sap_pace_decide(&sum, factor, lacks, knows);
    plan.builds |= sap_pace_ends(&most, factor, 0);
    if (!knows) plan.lead = 0;
    return plan;
}

/* Collective.  Checks the arguments of all ranks, and decides. */
static int ask(sapporo_mpi_tree *h, const sapporo_tree_particles *given, double factor, sapporo_tree_particles *p,
               struct sap_pace_plan *plan)
{
    static const char *const name[TOLD] = {[TELLS_FACTOR] = "factor"};
    int status = sap_mpi_tree_check(h, given, p);
    if (!status && !(factor >= 1))
        status = sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: factor is %g; it may be 0, or 1 or more", h->call,
                               factor);
    if (!status) status = reserve_past(h, p->n);
    const double field[TOLD] = {[TELLS_FACTOR] = factor,
                                [LACKS] = !h->built || p->n != h->given,
                                [KNOWS] = h->past[0] == p->n && p->memory == SAPPORO_MEMORY_HOST,
                                [BEST] = h->pace.best,
                                [LAST] = h->pace.last,
                                [BEFORE] = h->pace.before,
                                [AGE] = h->pace.age,
                                [LEAD] = h->pace.lead};
    status = sap_link_compare(&h->link, status, TOLD, field, name);
    if (!status) *plan = decide(h, factor);
    return status;
}

static int renew(sapporo_mpi_tree *h, const sapporo_tree_particles *p, const struct sap_pace_plan *plan)
{
    int status = SAPPORO_ERR_NOT_FINITE;
    if (!plan->builds) return sap_mpi_tree_refresh(h, p);
    if (plan->lead > 0) status = build_ahead(h, p, plan->lead);
    return status == SAPPORO_ERR_NOT_FINITE ? sap_mpi_tree_build_anew(h, p, 0) : status;
}

int sapporo_mpi_tree_refresh_or_build(sapporo_mpi_tree *tree, const sapporo_tree_particles *particles, double factor,
                                      int *built)
{
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    sapporo_tree_particles p = {.n = 0};
    struct sap_pace_plan plan = {.builds = 0};
    if (built) *built = 0;
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    const sap_fpenv callers = sap_fp_enter();
    h->call = sap_link_begin(&h->link, SAP_CALL_TREE_REFRESH_OR_BUILD);
    int status = ask(h, particles, factor == 0 ? SAP_PACE_FACTOR : factor, &p, &plan);
    if (!status) status = renew(h, &p, &plan);
    if (!status && p.memory == SAPPORO_MEMORY_HOST) keep_past(h, &p);
    if (built) *built = plan.builds && !status;
    sap_fp_leave(callers);
    return status;
}
