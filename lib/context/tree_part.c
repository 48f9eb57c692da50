/* tree_part.c - trees that are parts of a larger whole: settings, nodes in and out, walks (tree_part.h). */
#include "context/tree_part.h"

#include <math.h>

#include "context/context.h"
#include "context/tree_private.h"
#include "engine/pull.h"

int sapporo_tree_part_settings(sapporo_tree *tree, struct sap_tree_settings *settings)
{
    sapporo_tree *const t = sap_tree_hold(tree);
    if (!t) return SAPPORO_ERR_CLOSED;
    *settings = t->settings;
    sap_unlock(&t->object.busy);
    return SAPPORO_OK;
}

double sapporo_tree_part_pull(const double (*sample)[SAP_CUBE_SAMPLE], int m, double sum)
{
    return sap_tree_pull(sample, m, sum);
}

int sapporo_tree_part_join(sapporo_tree *tree, const struct sap_tree_whole *whole)
{
    sapporo_tree *const t = sap_tree_hold(tree);
    if (!t) return SAPPORO_ERR_CLOSED;
    t->ops->join(t->tree, whole);
    sap_unlock(&t->object.busy);
    return SAPPORO_OK;
}

int sapporo_tree_part_structure(sapporo_tree *tree, struct sap_tree_structure *structure)
{
    sapporo_tree *const t = sap_tree_hold(tree);
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = sap_fp_enter();
    const int status = t->ops->structure(t->tree, structure);
    if (status) (void)sap_tree_failed(t, status, "nodes of the tree", "");
    return sap_object_leave(&t->object, callers, status);
}

/* Fails if there is no tree with particles. */
static int check_tree(sapporo_tree *t)
{
    if (t->ops->count(t->tree, 0) > 0) return SAPPORO_OK;
    return sap_error(&t->object.notes, SAPPORO_ERR_ARGUMENT, "there is no tree with particles");
}

int sapporo_tree_part_import(sapporo_tree *tree, const struct sap_tree_halo *halo)
{
    sapporo_tree *const t = sap_tree_hold(tree);
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = sap_fp_enter();
    int status = check_tree(t);
    if (!status) {
        status = t->ops->import(t->tree, halo);
        if (status) (void)sap_tree_failed(t, status, "nodes of other parts", "");
    }
    return sap_object_leave(&t->object, callers, status);
}

int sapporo_tree_part_selects(sapporo_tree *tree)
{
    sapporo_tree *const t = sap_tree_hold(tree);
    if (!t) return 0;
    const int selects = t->ops->select != NULL;
    sap_unlock(&t->object.busy);
    return selects;
}

/* Fails if there is no tree with particles, or if its engine leaves selections to the caller. */
static int check_selection(sapporo_tree *t)
{
    if (t->ops->select) return check_tree(t);
    return sap_error(&t->object.notes, SAPPORO_ERR_UNSUPPORTED, "the engine selects no nodes");
}

int sapporo_tree_part_regions(sapporo_tree *tree, int room, const struct sap_halo_targets *targets,
                              struct sap_halo_region *region, int *n)
{
    sapporo_tree *const t = sap_tree_hold(tree);
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = sap_fp_enter();
    int status = check_selection(t);
    if (!status) {
        status = t->ops->regions(t->tree, room, targets, region, n);
        if (status) (void)sap_tree_failed(t, status, "regions of the tree", "");
    }
    return sap_object_leave(&t->object, callers, status);
}

int sapporo_tree_part_select(sapporo_tree *tree, const struct sap_halo_wish *wish, int (*count)[2])
{
    sapporo_tree *const t = sap_tree_hold(tree);
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = sap_fp_enter();
    int status = check_selection(t);
    if (!status) {
        status = t->ops->select(t->tree, wish, count);
        if (status) (void)sap_tree_failed(t, status, "nodes for other parts", "");
    }
    return sap_object_leave(&t->object, callers, status);
}

int sapporo_tree_part_selected(sapporo_tree *tree, struct sap_halo_node *node, double (*x)[4])
{
    sapporo_tree *const t = sap_tree_hold(tree);
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = sap_fp_enter();
    int status = check_selection(t);
    if (!status) {
        status = t->ops->selected(t->tree, node, x);
        if (status) (void)sap_tree_failed(t, status, "nodes for other parts", "");
    }
    return sap_object_leave(&t->object, callers, status);
}

int sapporo_tree_part_walk(sapporo_tree *tree, const struct sap_tree_pass *pass, double (*acc)[3], double *pot,
                           int *work)
{
    sapporo_tree *const t = sap_tree_hold(tree);
    if (!t) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = sap_fp_enter();
    int status = check_tree(t);
    if (!status) {
        status = t->ops->walk(t->tree, pass, acc, pot, work);
        if (status) (void)sap_tree_failed(t, status, "force of the tree", "");
        const int rows = sap_tree_pass_rows(pass, t->ops->count(t->tree, 0));
        for (int i = 0; i < rows && status && acc; i++) acc[i][0] = acc[i][1] = acc[i][2] = pot[i] = NAN;
    }
    return sap_object_leave(&t->object, callers, status);
}

int sapporo_tree_part_walked(sapporo_tree *tree, long long *particles, long long *cells)
{
    sapporo_tree *const t = sap_tree_hold(tree);
    if (!t) return SAPPORO_ERR_CLOSED;
    t->ops->walked(t->tree, particles, cells);
    sap_unlock(&t->object.busy);
    return SAPPORO_OK;
}
