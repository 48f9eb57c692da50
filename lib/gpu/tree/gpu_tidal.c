/*
 * gpu_tidal.c - tidal tensors from a tree on an accelerator: each target particle walks alone, by the bound of its
 * group (device/tree_stackless.h), on the first device of the tree.
 */
#include <string.h>

#include "engine/tree_macs.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_pass.h"
#include "physics/tree_cell.h"

/* Makes the active particles of the request targets, in the order of the tree, so that neighbours walk together. */
static int choose_active(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    const struct sap_gpu_built tree = sap_gpu_tree_built(t);
    TRY(sap_gpu_active_take(&t->active, &t->session, t->f, p->request, t->frame.n, &p->bad_active));
    if (p->bad_active >= 0) return SAP_DRIVER_OK;
    TRY(sap_gpu_active_slots(&t->active, &tree, p->request, 0, &p->to.row));
    p->to.w.slots = p->request->ni;
    p->to.slot = &t->active.slot;
    return SAP_DRIVER_OK;
}

static int choose(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    const sapporo_tree_request *const r = p->request;
    p->to.w.own = !r->x.base;
    p->to.of = r->x.base ? &t->positions.targets : &t->own;
    if (r->x.base) return sap_gpu_subset_positions(t, p);
    if (r->active || r->ni < t->frame.n) return choose_active(t, p);
    sap_gpu_subset_all(t, p);
    return SAP_DRIVER_OK;
}

/* For ACCELERATION: computes how strict the acceptance criterion of each group is. */
static int make_strict(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    const struct sap_gpu_built tree = sap_gpu_tree_built(t);
    const struct sap_gpu_buffer *a;
    TRY(sap_gpu_pass_learn(t, p, &a));
    TRY(sap_gpu_periodic_raise(&t->periodic, &tree, a, p->to.of->n));
    p->to.w.strict = 1;
    return sap_gpu_targets_bound(&t->session, t->f, p->to.of, &t->nodes.cell, &t->lengths, a, &t->frame);
}

/* Walks, and copies the results; *beyond: some tensors are beyond the range of double. */
static int run(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, double (*tidal)[6], int *beyond)
{
    unsigned *const walked = sap_gpu_builder_read(&t->builder)->walked;
    p->to.w.every = t->settings.precision == SAPPORO_DP; /* of the walk that finds sizes of accelerations */
    TRY(choose(t, p));
    if (p->bad_active >= 0) return SAP_DRIVER_OK;
    if (sap_mac_row(t->settings.mac).by_a) TRY(make_strict(t, p));
    struct sap_gpu_walking walk = sap_gpu_pass_walking(t, p);
    walk.stops = &t->stops;
    TRY(t->settings.period > 0 ? sap_gpu_periodic_walk(&t->periodic, &walk, &p->to, 1)
                               : sap_gpu_walk_tidal(&walk, &p->to));
    TRY(sap_gpu_results_give_tidal(&t->session, &t->results, p->request, tidal));
    TRY(sap_session_copy_out(&t->session, walked, t->walks.lists.left.mem, 0, SAP_LEFT_COUNT * sizeof *walked));
    TRY(sap_session_wait(&t->session));
    *beyond = walked[SAP_LEFT_BEYOND] != 0;
    if (p->learned) t->given.has_a = t->frame.n;
    return SAP_DRIVER_OK;
}

int sap_gpu_tree_tidal(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, double (*tidal)[6])
{
    struct sap_gpu_pass p = {.request = request, .bad_active = -1};
    int beyond = 0, status = sap_session_begin(&t->session);
    if (status) return status;
    const char *const why = sap_gpu_request_refused(t, request);
    if (why) return sap_session_refuse(&t->session, SAPPORO_ERR_UNSUPPORTED, why);
    if (t->frame.n > 0) {
        status = run(t, &p, tidal, &beyond);
    } else if (request->memory == SAPPORO_MEMORY_DEVICE) {
        p.bad_active = 0;
    } else {
        memset(tidal, 0, (size_t)request->ni * sizeof *tidal);
        p.bad = sap_gpu_request_bad(t, request);
    }
    if (status) sap_gpu_shares_halt(&t->walks.shares);
    if (!status && p.bad > 0) sap_gpu_request_erase_bad(t, request, tidal[0], SAP_MOMENTS2);
    status = sap_session_end(&t->session, status);
    if (status) return status;
    if (p.bad_active >= 0) return sap_gpu_request_lists_none(t, p.bad_active);
    return p.bad > 0 || beyond ? SAPPORO_PARTIAL : SAPPORO_OK;
}
