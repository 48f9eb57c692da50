/* tree_part.c - trees that are parts of a larger whole: settings, nodes in and out, walks (tree_part.h). */
#include "context/tree_part.h"

#include <math.h>

#include "context/call.h"
#include "context/context.h"
#include "context/tree_private.h"
#include "engine/pull.h"

/* Sets the error of an engine call that failed: `what`; returns its status. */
static int done(sapporo_tree *t, int status, const char *what)
{
    return status ? sap_context_tree_failed(t, status, what, "") : SAPPORO_OK;
}

/* Fails if there is no tree with particles. */
static int check_tree(sapporo_tree *t)
{
    if (t->tree->ops->count(t->tree, 0) > 0) return SAPPORO_OK;
    return sap_error(&t->object.notes, SAPPORO_ERR_ARGUMENT, "there is no tree with particles");
}

/* Fails if there is no tree with particles, or if its engine leaves selections to the caller. */
static int check_selection(sapporo_tree *t)
{
    if (t->tree->ops->part->select) return check_tree(t);
    return sap_error(&t->object.notes, SAPPORO_ERR_UNSUPPORTED, "the engine selects no nodes");
}

int sap_part_settings(sapporo_tree *tree, struct sap_tree_settings *settings)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_look(&call, SAP_HANDLE_TREE, tree);
    if (t) *settings = t->settings;
    return sap_call_end(&call, t ? SAPPORO_OK : SAPPORO_ERR_CLOSED);
}

double sap_part_pull(const double (*sample)[SAP_CUBE_SAMPLE], int m, double sum) { return sap_pull_of(sample, m, sum); }

int sap_part_join(sapporo_tree *tree, const struct sap_tree_whole *whole)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_look(&call, SAP_HANDLE_TREE, tree);
    if (t) t->tree->ops->part->join(t->tree, whole);
    return sap_call_end(&call, t ? SAPPORO_OK : SAPPORO_ERR_CLOSED);
}

int sap_part_structure(sapporo_tree *tree, struct sap_tree_structure *structure)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    int status = SAPPORO_ERR_CLOSED;
    if (t) status = done(t, t->tree->ops->part->structure(t->tree, structure), "nodes of the tree");
    return sap_call_end(&call, status);
}

int sap_part_import(sapporo_tree *tree, const struct sap_tree_halo *halo)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    int status = t ? check_tree(t) : SAPPORO_ERR_CLOSED;
    if (!status) status = done(t, t->tree->ops->part->import(t->tree, halo), "nodes of other parts");
    return sap_call_end(&call, status);
}

int sap_part_selects(sapporo_tree *tree)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_look(&call, SAP_HANDLE_TREE, tree);
    const int selects = t && t->tree->ops->part->select != NULL;
    sap_call_leave(&call);
    return selects;
}

int sap_part_regions(sapporo_tree *tree, int room, const struct sap_halo_targets *targets,
                     struct sap_halo_region *region, int *n)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    int status = t ? check_selection(t) : SAPPORO_ERR_CLOSED;
    if (!status)
        status = done(t, t->tree->ops->part->regions(t->tree, room, targets, region, n), "regions of the tree");
    return sap_call_end(&call, status);
}

int sap_part_select(sapporo_tree *tree, const struct sap_halo_wish *wish, int (*count)[2])
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    int status = t ? check_selection(t) : SAPPORO_ERR_CLOSED;
    if (!status) status = done(t, t->tree->ops->part->select(t->tree, wish, count), "nodes for other parts");
    return sap_call_end(&call, status);
}

int sap_part_selected(sapporo_tree *tree, const struct sap_halo_room *to)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    int status = t ? check_selection(t) : SAPPORO_ERR_CLOSED;
    if (!status) status = done(t, t->tree->ops->part->selected(t->tree, to), "nodes for other parts");
    return sap_call_end(&call, status);
}

/* Walks a tree with particles; rows of a walk that fails are NaN. */
static int walk(sapporo_tree *t, const struct sap_tree_pass *pass, double (*acc)[3], double *pot, int *work)
{
    const int status = done(t, t->tree->ops->part->walk(t->tree, pass, acc, pot, work), "force of the tree");
    const int rows = sap_tree_pass_rows(pass, t->tree->ops->count(t->tree, 0));
    for (int i = 0; i < rows && status && acc; i++) acc[i][0] = acc[i][1] = acc[i][2] = pot[i] = NAN;
    return status;
}

int sap_part_walk(sapporo_tree *tree, const struct sap_tree_pass *pass, double (*acc)[3], double *pot, int *work)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    int status = t ? check_tree(t) : SAPPORO_ERR_CLOSED;
    if (!status) status = walk(t, pass, acc, pot, work);
    return sap_call_end(&call, status);
}

int sap_part_walked(sapporo_tree *tree, long long *particles, long long *cells)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_look(&call, SAP_HANDLE_TREE, tree);
    if (t) t->tree->ops->part->walked(t->tree, particles, cells);
    return sap_call_end(&call, t ? SAPPORO_OK : SAPPORO_ERR_CLOSED);
}
