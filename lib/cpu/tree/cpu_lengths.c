/* cpu_lengths.c - lengths of spline softening: of particles, positions and nodes. */
#include <math.h>
#include <stdlib.h>

#include "base/structs.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/tree_options.h"

/* ---- of particles ------------------------------------------------------------------ */

size_t sap_cpu_bytes_of_lengths(const struct sap_tree_settings *settings, int n, int nodes)
{
    return sap_softening_has_lengths(settings) ? (2 * (size_t)n + (size_t)nodes) * sizeof(double) : 0;
}

int sap_cpu_new_lengths(struct sap_cpu_tree *t, size_t room)
{
    t->own.has_lengths = sap_softening_has_lengths(&t->settings);
    if (!t->own.has_lengths) return SAPPORO_OK;
    t->given.h = malloc(room * sizeof *t->given.h);
    t->own.h = malloc(room * sizeof *t->own.h);
    return t->given.h && t->own.h ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

void sap_cpu_take_length(struct sap_cpu_tree *t, const sapporo_tree_particles *p, int i, int is_new)
{
    if (t->given.h && (p->h.base || is_new))
        t->given.h[i] = p->h.base ? sap_column_double(&p->h, i) : sqrt(t->settings.eps2);
}

void sap_cpu_tree_gather_lengths(struct sap_cpu_tree *t)
{
    const int n = t->frame.soft.has_lengths ? t->own.n : 0;
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
    *made = NULL;
    if (!t->own.has_lengths) return SAPPORO_OK;
    *made = malloc(((size_t)of->n + 1) * sizeof **made);
    if (!*made) return SAPPORO_ERR_MEMORY;
    for (int k = 0; k < of->n; k++) {
        const int i = address[k];
        const double length = h->base ? sap_column_double(h, i) : sqrt(t->settings.eps2);
        (*made)[k] = bad[i] ? 0 : sap_cube_scaled_length(length, t->frame.unit);
    }
    for (int g = 0; g < of->groups; g++)
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

void sap_cpu_tree_lengths(struct sap_cpu_tree *tree)
{
    struct sap_cpu_nodes *const t = &tree->own;
    struct sap_cpu_frame *const f = &tree->frame;
    struct sap_tree_words *const w = &t->words_of;
    if (!f->soft.has_lengths) return;
    for (int k = t->nodes - 1; k >= 0; k--) {
        double x[3];
        const double size = sap_tree_in_units(t->cell[k].centre, &f->cube.gaps, f->middle, f->unit, x);
        const double far = sap_cell_far(&t->cell[k]) * f->unit;
        t->length[k] = length_of(t, &t->node[k]);
        w->guard[k] = fmaxf(w->guard[k], (float)sap_tree_padded(sap_accept_length(0, far, t->length[k]), size));
    }
    for (int k = 0; k < t->n && !f->far; k++) f->far = is_short(t->h[k]);
}
