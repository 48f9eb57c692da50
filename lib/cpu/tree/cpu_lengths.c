/* cpu_lengths.c - lengths of spline softening: of particles, positions and nodes. */
#include <math.h>
#include <stdlib.h>

#include "base/structs.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/tree_options.h"

/* ---- of particles ------------------------------------------------------------------ */

size_t sap_cpu_bytes_of_lengths(const struct sap_tree_settings *settings, int n, int nodes)
{
    return (size_t)sap_softening_lengths(settings) * (2 * (size_t)n + (size_t)nodes) * sizeof(double);
}

int sap_cpu_new_lengths(struct sap_cpu_tree *t, size_t room)
{
    t->own.lengths = sap_softening_lengths(&t->settings);
    const size_t some = room * (size_t)t->own.lengths + 1;
    t->given.h = malloc(some * sizeof *t->given.h);
    t->own.h = malloc(some * sizeof *t->own.h);
    return t->given.h && t->own.h ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

void sap_cpu_take_lengths(struct sap_cpu_tree *t, const sapporo_tree_particles *p, int from, int to, int is_new)
{
    const int n = p->h.base || is_new ? t->own.lengths * (to - from) : 0;
    for (int i = from; i < from + n; i++)
        t->given.h[i] = p->h.base ? sap_column_double(&p->h, i) : sqrt(t->settings.eps2);
}

void sap_cpu_tree_gather_lengths(struct sap_cpu_tree *t)
{
    const int n = t->own.lengths * t->own.n;
    for (int k = 0; k < n; k++) t->own.h[k] = sap_cube_scaled_length(t->given.h[t->order.address[k]], t->frame.unit);
}

/* Whether a length in units is so short that its inverse cube may be beyond the range of float. */
static int is_short(double h) { return h > 0 && h < SAP_TREE_SHORT; }

double sap_cpu_tree_greatest_length(const double *h, int n)
{
    double most = 0;
    for (int k = 0; k < n; k++) most = fmax(most, h[k]);
    return sap_tree_padded(most, 0);
}

/* ---- of positions ------------------------------------------------------------------ */

int sap_cpu_lengths_of(const struct sap_cpu_tree *t, const sapporo_column *h, const struct sap_cpu_walkers *of,
                       const int *address, const unsigned char *bad, struct sap_cpu_group *group, double **made)
{
    const int n = t->own.lengths * of->n, groups = t->own.lengths * of->groups;
    *made = malloc(((size_t)n + 1) * sizeof **made);
    if (!*made) return SAPPORO_ERR_MEMORY;
    for (int k = 0; k < n; k++) {
        const int i = address[k];
        const double length = h->base ? sap_column_double(h, i) : sqrt(t->settings.eps2);
        (*made)[k] = bad[i] ? 0 : sap_cube_scaled_length(length, t->frame.unit);
    }
    for (int g = 0; g < groups; g++)
        for (int k = group[g].first; k < group[g].first + group[g].count; k++)
            if (is_short((*made)[k]) && !group[g].wide) group[g].wide = 1;
    return SAPPORO_OK;
}

/* ---- of nodes ---------------------------------------------------------------------- */

/* Returns the greatest length of the particles of a node, of whose children those are known. */
static double length_of(const struct sap_cpu_nodes *t, const struct sap_tree_node *node)
{
    const double *const from = node->children ? t->length + node->child : t->h + node->first;
    const int n = node->children ? node->children : node->count;
    double most = 0;
    for (int k = 0; k < n; k++) most = fmax(most, from[k]);
    return most;
}

/* Enters the greatest length of node k into its words. */
static void enter_length(const struct sap_cpu_nodes *t, const struct sap_cpu_frame *f, int k)
{
    float *const guard = &t->words_of.guard[k];
    double x[3];
    const double size = sap_tree_in_units(t->cell[k].centre, &f->cube.gaps, f->middle, f->unit, x);
    const double far = sap_cell_far(&t->cell[k]) * f->unit;
    *guard = fmaxf(*guard, (float)sap_tree_padded(sap_accept_length(0, far, t->length[k]), size));
}

void sap_cpu_tree_lengths(struct sap_cpu_tree *tree)
{
    struct sap_cpu_nodes *const t = &tree->own;
    struct sap_cpu_frame *const f = &tree->frame;
    for (int k = t->lengths * t->nodes - 1; k >= 0; k--) {
        t->length[k] = length_of(t, &t->node[k]);
        enter_length(t, f, k);
    }
    if (t->lengths && tree->is_part) f->far |= is_short(tree->whole.shortest * f->unit);
    for (int k = 0; k < t->lengths * t->n && !f->far; k++) f->far = is_short(t->h[k]);
}

void sap_cpu_tree_import_lengths(struct sap_cpu_tree *tree, const struct sap_tree_halo *halo)
{
    const struct sap_cpu_nodes *const t = &tree->halo;
    const double unit = tree->frame.unit;
    for (int k = 0; k < t->lengths * t->n; k++) t->h[k] = sap_cube_scaled_length(halo->h[k], unit);
    for (int k = 0; k < t->lengths * t->nodes; k++) {
        t->length[k] = sap_cube_scaled_length(halo->longest[k], unit);
        enter_length(t, &tree->frame, k);
    }
}
