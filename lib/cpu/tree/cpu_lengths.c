/* cpu_lengths.c - softening lengths of particles, positions and nodes. */
#include <math.h>
#include <stdlib.h>

#include "base/structs.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/tree_options.h"

_Static_assert(sizeof(struct sap_softs) == SAP_SOFTS_WORDS * sizeof(double), "words of nodes that travel");

/* ---- of particles ------------------------------------------------------------------ */

size_t sap_cpu_bytes_of_lengths(const struct sap_tree_settings *settings, int n, int nodes)
{
    return (size_t)sap_softening_lengths(settings) * (2 * (size_t)n + (size_t)nodes) * sizeof(double);
}

/* Allocates lengths of particles, and of the nodes that there is room for. */
static int allocate(struct sap_cpu_tree *t)
{
    const size_t room = (size_t)t->room + 1, nodes = (size_t)t->own.cell_room + 1;
    const int words = sap_softening_words(&t->settings);
    double *const h = malloc(room * sizeof *h), *const sorted = malloc(room * sizeof *sorted);
    double *const of_node = malloc(nodes * (size_t)words * sizeof *of_node);
    if (!h || !sorted || !of_node) {
        free(h);
        free(sorted);
        free(of_node);
        return SAPPORO_ERR_MEMORY;
    }
    free(t->own.of_node);
    t->given.h = h;
    t->own.h = sorted;
    t->own.of_node = of_node;
    t->own.words = words;
    return SAPPORO_OK;
}

int sap_cpu_want_lengths(struct sap_cpu_tree *t, int wanted)
{
    const int lengths = wanted || sap_softening_lengths(&t->settings);
    if (lengths && !t->given.h && allocate(t)) return SAPPORO_ERR_MEMORY;
    t->given.lengths = lengths;
    return SAPPORO_OK;
}

void sap_cpu_take_lengths(struct sap_cpu_tree *t, const sapporo_tree_particles *p, int from, int to, int is_new)
{
    const int n = p->h.base || is_new ? t->given.lengths * (to - from) : 0;
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
        const double length = h->base ? sap_column_double(h, i) : t->frame.soft.usual;
        (*made)[k] = bad[i] ? 0 : sap_cube_scaled_length(length, t->frame.unit);
    }
    for (int g = 0; g < groups; g++)
        for (int k = group[g].first; k < group[g].first + group[g].count; k++)
            if (is_short((*made)[k]) && !group[g].wide) group[g].wide = 1;
    return SAPPORO_OK;
}

/* ---- of nodes ---------------------------------------------------------------------- */

/* The squares of the Plummer lengths of a node. */
static struct sap_softs *softs_of(const struct sap_cpu_nodes *t, int k)
{
    return (struct sap_softs *)(t->of_node + SAP_SOFTS_WORDS * (size_t)k);
}

/* Returns the greatest length of the particles of a node, of whose children those are known. */
static double length_of(const struct sap_cpu_nodes *t, const struct sap_tree_node *node)
{
    const double *const from = node->children ? t->of_node + node->child : t->h + node->first;
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
    *guard = fmaxf(*guard, (float)sap_tree_padded(sap_accept_length(0, far, t->of_node[k]), size));
}

/* Returns the squares of the lengths of a node, of whose children those are known. */
static struct sap_softs soft_of(const struct sap_cpu_nodes *t, const struct sap_cpu_frame *f, int k)
{
    const struct sap_tree_node *const node = &t->node[k];
    struct sap_softs soft;
    sap_soft_start(&soft);
    for (int c = node->child; c < node->child + node->children; c++)
        sap_soft_add(&soft, t->cell[c].mass, softs_of(t, c)->mean, softs_of(t, c)->least, softs_of(t, c)->most);
    for (int j = node->first; j < node->first + node->count && !node->children; j++) {
        const double h2 = t->h[j] * t->h[j];
        sap_soft_add(&soft, t->x[j][3] / f->mass_unit, h2, h2, h2);
    }
    sap_soft_end(&soft, t->cell[k].mass);
    return soft;
}

/* Enters the squares of the Plummer lengths of node k into its source and the words. */
static void enter_soft(struct sap_cpu_nodes *t, const struct sap_cpu_frame *f, int k, const struct sap_criterion *how)
{
    struct sap_tree_words *const w = &t->words_of;
    struct sap_cell cell = t->cell[k];
    double x[3];
    t->source[k].soft = softs_of(t, k)->mean;
    const double spread = sap_soft_spread(softs_of(t, k)) / f->unit / f->unit;
    if (!(spread > 0)) return;
    const double size = sap_tree_in_units(cell.centre, &f->cube.gaps, f->middle, f->unit, x);
    sap_soft_widen(&cell, spread);
    const struct sap_reach reach = sap_accept_reach(&cell, how);
    w->guard[k] = fmaxf(w->guard[k], (float)sap_tree_padded(reach.guard * f->unit, size));
    w->turn[k] = fmaxf(w->turn[k], (float)fmin(reach.turn * t->turn_unit, SAP_TREE_NEVER));
}

/* Enters the lengths of node k. */
static void enter(struct sap_cpu_nodes *t, const struct sap_cpu_frame *f, int k, const struct sap_criterion *how)
{
    if (t->words == SAP_SPLINE_WORDS)
        enter_length(t, f, k);
    else
        enter_soft(t, f, k, how);
}

/* The criterion of acceptance of a tree. */
static struct sap_criterion criterion_of(const struct sap_cpu_tree *t)
{
    return sap_criterion_of((int)t->settings.mac, t->settings.order, t->settings.accuracy, t->frame.pull);
}

void sap_cpu_tree_lengths(struct sap_cpu_tree *tree)
{
    struct sap_cpu_nodes *const t = &tree->own;
    struct sap_cpu_frame *const f = &tree->frame;
    const struct sap_criterion how = criterion_of(tree);
    for (int k = t->lengths * t->nodes - 1; k >= 0; k--) {
        if (t->words == SAP_SPLINE_WORDS)
            t->of_node[k] = length_of(t, &t->node[k]);
        else
            *softs_of(t, k) = soft_of(t, f, k);
        enter(t, f, k, &how);
    }
    if (t->lengths && tree->is_part) f->far |= is_short(tree->whole.shortest * f->unit);
    for (int k = 0; k < t->lengths * t->n && !f->far; k++) f->far = is_short(t->h[k]);
}

void sap_cpu_tree_import_lengths(struct sap_cpu_tree *tree, const struct sap_tree_halo *halo)
{
    struct sap_cpu_nodes *const t = &tree->halo;
    const struct sap_criterion how = criterion_of(tree);
    const double unit = tree->frame.unit;
    for (int k = 0; k < t->lengths * t->n; k++) t->h[k] = sap_cube_scaled_length(halo->h[k], unit);
    for (int k = 0; k < t->lengths * t->nodes; k++) {
        const size_t words = (size_t)t->words, at = words * (size_t)k;
        for (size_t w = at; w < at + words; w++)
            t->of_node[w] = words == SAP_SPLINE_WORDS ? sap_cube_scaled_length(halo->of_node[w], unit)
                                                      : halo->of_node[w] * unit * unit;
        enter(t, &tree->frame, k, &how);
    }
}
