/* cpu_part.c - a tree that is a part of a larger whole: nodes of other parts, and walks of its particles. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "base/threads.h"
#include "cpu/tree/cpu_tree.h"

void sap_cpu_tree_join(struct sap_tree *opaque_tree, const struct sap_tree_whole *whole)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    t->is_part = whole != NULL;
    if (whole) t->whole = *whole;
}

/* ---- nodes of other parts ---------------------------------------------------------- */

/* Makes room for the nodes of other parts; 0 or SAPPORO_ERR_MEMORY. */
static int reserve_halo(struct sap_cpu_nodes *h, const struct sap_tree_halo *halo, const struct sap_cpu_nodes *own)
{
    const int lengths = own->lengths;
    h->lengths = lengths;
    h->words = lengths * own->words;
    h->n = halo->n;
    h->nodes = h->room = halo->nodes;
    h->x = malloc(((size_t)halo->n + 1) * sizeof *h->x);
    h->h = malloc(((size_t)lengths * (size_t)halo->n + 1) * sizeof *h->h);
    h->node = malloc((size_t)halo->nodes * sizeof *h->node);
    return h->x && h->h && h->node ? sap_cpu_reserve_cells(h, halo->nodes) : SAPPORO_ERR_MEMORY;
}

static void copy_halo(struct sap_cpu_nodes *h, const struct sap_tree_halo *halo, double mass_unit)
{
    memcpy(h->node, halo->node, (size_t)halo->nodes * sizeof *h->node);
    memcpy(h->cell, halo->cell, (size_t)halo->nodes * sizeof *h->cell);
    for (int k = 0; k < halo->n; k++) {
        for (int c = 0; c < 3; c++) h->x[k][c] = halo->x[k][c];
        h->x[k][3] = halo->x[k][3] * mass_unit;
    }
}

int sap_cpu_tree_import(struct sap_tree *opaque_tree, const struct sap_tree_halo *halo)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    t->words[0] = '\0';
    sap_cpu_free_nodes(&t->halo);
    if (reserve_halo(&t->halo, halo, &t->own)) {
        sap_cpu_free_nodes(&t->halo);
        return SAPPORO_ERR_MEMORY;
    }
    const sap_fpenv callers = sap_fp_enter();
    copy_halo(&t->halo, halo, t->frame.mass_unit);
    sap_cpu_tree_make_words(&t->halo, &t->frame, &t->own.cell[0], sap_threads_now(t->threads));
    sap_cpu_tree_import_lengths(t, halo);
    sap_fp_leave(callers);
    return SAPPORO_OK;
}

/* ---- walks ---------------------------------------------------------------------------- */

int sap_cpu_tree_walk(struct sap_tree *opaque_tree, const struct sap_tree_pass *pass, double (*acc)[3], double *pot,
                      int *work)
{
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    struct sap_cpu_walkers walkers = t->self;
    struct sap_cpu_slots slots = {0};
    t->words[0] = '\0';
    if (pass->imported && !t->halo.node) return sap_cpu_tree_failed(t, SAPPORO_ERR_ARGUMENT, "no nodes were imported");
    walkers.own = !pass->imported;
    const int rows = sap_tree_pass_rows(pass, t->own.n), threads = sap_cpu_tree_threads_for_rows(t, rows);
    const double begin = sap_clock_seconds();
    const sap_fpenv callers = sap_fp_enter();
    struct sap_cpu_run run = {.walkers = &walkers,
                              .slots = &slots,
                              .a = pass->a,
                              .a_of = pass->a ? t->order.address : NULL,
                              .acc = acc,
                              .pot = pot,
                              .work = work};
    int status = pass->active ? sap_cpu_tree_active_slots(t, pass->active, rows, &slots)
                              : sap_cpu_tree_all_slots(&walkers, t->order.address, &slots);
    if (!status) sap_cpu_tree_need_bounds(t, &slots, threads);
    if (!status) status = sap_cpu_walk(pass->imported ? &t->halo : &t->own, &t->frame, &run, threads);
    sap_cpu_tree_free_slots(&slots);
    sap_fp_leave(callers);
    if (!status && run.beyond > 0)
        status = sap_cpu_tree_failed(t, SAPPORO_ERR_NOT_FINITE, "a force is beyond the range of double");
    if (status) return status;
    t->done.stackless = 0;
    t->done.rows = rows;
    t->done.particle_particle = run.particle;
    t->done.particle_cell = run.cell;
    t->done.seconds[SAPPORO_PHASE_WALK] = sap_clock_seconds() - begin;
    return SAPPORO_OK;
}
