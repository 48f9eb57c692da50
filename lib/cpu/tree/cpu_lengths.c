/* cpu_lengths.c - lengths of spline softening: of the sorted particles, and the greatest of each node. */
#include <math.h>

#include "cpu/tree/cpu_tree.h"
#include "engine/tree_options.h"

double sap_tree_length_in_units(const struct sap_cpu_tree *t, double h) { return sap_tree_scaled_length(h, t->unit); }

int sap_tree_is_short(double h) { return h > 0 && h < SAP_TREE_SHORT; }

double sap_tree_greatest_length(const double *h, int n)
{
    double most = 0;
    for (int k = 0; k < n; k++) most = fmax(most, h[k]);
    return sap_tree_padded(most, 0);
}

void sap_tree_gather_lengths(struct sap_cpu_tree *t)
{
    for (int k = 0; k < t->n && t->h; k++) t->h[k] = sap_tree_length_in_units(t, t->given_h[t->order.address[k]]);
}

/* Returns the greatest length of the particles of a node, of whose children those are known. */
static double length_of(const struct sap_cpu_tree *t, const struct sap_tree_node *node)
{
    const double *const from = node->children ? t->length + node->child : t->h + node->first;
    const int n = node->children ? node->children : node->count;
    double most = 0;
    for (int k = 0; k < n; k++) most = fmax(most, from[k]);
    return most;
}

void sap_tree_lengths(struct sap_cpu_tree *t)
{
    struct sap_tree_words *const w = &t->words_of;
    if (!t->h) return;
    for (int k = t->nodes - 1; k >= 0; k--) {
        double x[3];
        const double size = sap_tree_in_units(t->cell[k].centre, &t->cube.gaps, t->middle, t->unit, x);
        const double far = sap_cell_far(&t->cell[k]) * t->unit;
        t->length[k] = length_of(t, &t->node[k]);
        w->guard[k] = fmaxf(w->guard[k], (float)sap_tree_padded(sap_accept_length(0, far, t->length[k]), size));
    }
    for (int k = 0; k < t->n && !t->far; k++) t->far = sap_tree_is_short(t->h[k]);
}
