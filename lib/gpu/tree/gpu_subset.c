/* gpu_subset.c - target particles of a force from a tree on an accelerator: all, active ones, positions, massless ones.
 */
#include "engine/tree_options.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_pass.h"

/* Cuts groups into parts.  Positions have groups of equal length in kd-trees, too. */
static void cut_parts(const struct sap_gpu_host_tree *t, const struct sap_gpu_targets *of, struct sap_gpu_walk *walk)
{
    const int most = of == &t->own ? sap_tree_group_most(&t->settings) : of->run;
    walk->part = SAP_WALK_THREADS * (most > t->settings.group_size ? SAP_WALK_IPT : SAP_WALK_RUN_IPT);
    walk->group_parts = (most + walk->part - 1) / walk->part;
    walk->parts = of->groups * walk->group_parts;
}

void sap_gpu_subset_all(const struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    struct sap_gpu_subset *const to = &p->to;
    to->w.all_slots = 1;
    to->w.slots = to->of->n;
    cut_parts(t, to->of, &to->w);
    to->w.width = to->w.left_width = SAP_FEW_LEFT;
    to->w.left_room = to->w.parts * (to->w.part / SAP_FEW_LEFT);
    to->row = to->slot = &to->of->address;
    to->strict = &to->of->strict;
}

enum { PARTS_LEAST = 1 << 19 }; /* selected particles that keep a device busy in parts of SAP_WALK_SELECTED */
enum { SPAN = 8 };              /* sorted particles per slot of selected particles that walk together */

static int widest(int width, int n)
{
    while (width > 1 && n / width < 1024) width /= 2; /* fewer bunches leave a device idle */
    return width;
}

/*
 * Returns the slots of a bunch if n of `all` particles are targets, scattered over the model. A larger bunch shares
 * more of the walk, but its bound covers more particles that are not targets. At 1 % bunches of eight are fastest, and
 * below 0.2 % bunches of one.
 */
static int width_of(int n, int all)
{
    const double part = (double)n / all;
    return widest(part < 0.002 ? 1 : part < 0.03 ? 8 : part < 0.25 ? 16 : (int)SAP_FEW_MOST, n);
}

/* Whether so many targets are most particles: forces on all of them then cost less than a selection. */
static int most_walk(const struct sap_gpu_host_tree *t, int n) { return n / 7 >= t->frame.n / 8; }

int sap_gpu_subset_active(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    const struct sap_gpu_built tree = sap_gpu_tree_built(t);
    struct sap_gpu_subset *const to = &p->to;
    const int n = p->request->ni, width = width_of(n, t->frame.n);
    const int as_given = width == 1 && n <= SAP_GPU_FEW_ROWS;
    TRY(sap_gpu_active_take(&t->active, &t->session, t->f, p->request, t->frame.n, &p->bad_active));
    if (p->bad_active >= 0) return SAP_DRIVER_OK;
    p->picked = most_walk(t, n);
    if (p->picked) {
        sap_gpu_subset_all(t, p);
        return SAP_DRIVER_OK;
    }
    TRY(sap_gpu_active_slots(&t->active, &tree, p->request, as_given, &to->row));
    to->w.slots = n;
    to->w.parts =
        n < PARTS_LEAST || !sap_gpu_walk_selects(&t->lengths) ? 0 : n / SAP_WALK_SELECTED + (n % SAP_WALK_SELECTED > 0);
    to->w.span = as_given ? 0 : SPAN;
    to->w.left_width = width;
    to->w.width = as_given ? width : widest(SAP_FEW_MOST, n);
    to->w.left_room = 2 * (n / width + 1);
    to->slot = &t->active.slot;
    to->strict = &t->active.strict;
    return SAP_DRIVER_OK;
}

/* Computes the bounds of the groups of sorted positions. */
static int bound_positions(struct sap_gpu_host_tree *t)
{
    return sap_gpu_targets_bound(&t->session, t->f, &t->positions.targets, &t->nodes.cell, &t->lengths, NULL,
                                 &t->frame);
}

int sap_gpu_subset_positions(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    const sapporo_tree_request *const r = p->request;
    struct sap_gpu_positions *const at = &t->positions;
    const double unit = t->frame.unit;
    TRY(sap_gpu_positions_upload(at, &t->session, r, &t->cube, unit, t->settings.period, &p->bad));
    TRY(sap_gpu_targets_positions(&t->session, t->f, &at->targets, &at->given, &t->frame, r->ni,
                                  t->settings.group_size));
    TRY(t->lengths.law->positions(&t->session, &t->lengths, &at->targets, r->h.base ? &r->h : NULL, unit));
    TRY(bound_positions(t));
    sap_gpu_subset_all(t, p);
    return SAP_DRIVER_OK;
}

int sap_gpu_subset_massless(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, int n)
{
    struct sap_gpu_positions *const at = &t->positions;
    struct sap_gpu_walk *const w = &p->to.w;
    const int dense = n >= t->frame.n / 4, run = dense ? t->settings.group_size : width_of(n, t->frame.n);
    TRY(sap_gpu_periodic_inside(&t->periodic, &t->session, t->f, &at->given, n));
    TRY(sap_gpu_targets_positions(&t->session, t->f, &at->targets, &at->given, &t->frame, n, run));
    TRY(t->lengths.law->sort(&t->session, &t->lengths, &at->targets, t->frame.unit));
    TRY(bound_positions(t));
    sap_gpu_subset_all(t, p);
    if (dense) return SAP_DRIVER_OK;
    w->parts = 0;
    w->width = w->left_width = run;
    w->left_room = n / run + 1;
    return SAP_DRIVER_OK;
}
