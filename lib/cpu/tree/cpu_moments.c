/* cpu_moments.c - masses, moments and boxes of nodes from the leaves up; words for the walk. */
#include <math.h>

#include "base/team.h"
#include "cpu/tree/cpu_tree.h"

/* ---- cells -------------------------------------------------------------------- */

/* Computes the cell of some particles. Particles have masses in units; cells have true masses. */
static void cell_of_particles(const struct sap_cpu_nodes *t, double mass_unit, const struct sap_tree_node *node,
                              struct sap_cell *cell)
{
    const double(*const x)[4] = (const double(*)[4])t->x + node->first;
    const double true_mass = 1 / mass_unit;
    for (int k = 0; k < node->count; k++) {
        const double mass = x[k][3] * true_mass;
        sap_cell_add(cell, mass, sap_abs(mass), x[k], x[k], x[k]);
    }
    sap_cell_centre(cell);
    for (int k = 0; k < node->count; k++) sap_cell_shape(cell, x[k][3] * true_mass, x[k]);
}

static void cell_of_children(const struct sap_cpu_nodes *t, const struct sap_tree_node *node, struct sap_cell *cell)
{
    const struct sap_cell *const child = t->cell + node->child;
    for (int k = 0; k < node->children; k++)
        sap_cell_add(cell, child[k].mass, child[k].weight, child[k].centre, child[k].low, child[k].high);
    sap_cell_centre(cell);
    for (int k = 0; k < node->children; k++) sap_cell_shape_child(cell, child[k].mass, child[k].centre, child[k].q);
}

/* Nodes that a thread takes at a time. */
enum { NODES_AT_ONCE = 128 };

/* The nodes of a level, which begins at `first`. */
struct cell_level {
    struct sap_cpu_nodes *nodes;
    double mass_unit;
    int first;
};

static void make_some_cells(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct cell_level *const l = argument;
    struct sap_cpu_nodes *const t = l->nodes;
    for (ptrdiff_t k = l->first + from; k < l->first + to; k++) {
        const struct sap_tree_node *const node = &t->node[k];
        struct sap_cell cell; /* a local one lies in registers */
        sap_cell_start(&cell);
        if (node->children)
            cell_of_children(t, node, &cell);
        else
            cell_of_particles(t, l->mass_unit, node, &cell);
        t->cell[k] = cell;
    }
}

static void make_cells(struct sap_cpu_nodes *t, double mass_unit, int threads)
{
    for (int level = t->levels - 1; level >= 0; level--) {
        const int from = t->level_first[level], n = t->level_first[level + 1] - from;
        struct cell_level l = {t, mass_unit, from};
        sap_team_for(threads, n, sap_team_chunk(n, threads, NODES_AT_ONCE), make_some_cells, &l);
    }
}

/* ---- words of the walk ------------------------------------------------------------ */

/*
 * Returns whether a walk by groups sums the particles of a leaf instead of its cell: two particles cost less than the
 * second moments of one cell.
 */
static int acts_by_particles(const struct sap_tree_settings *settings, const struct sap_tree_node *node)
{
    return node->children == 0 && node->count > 0 && node->count <= settings->order &&
           settings->walk != SAPPORO_WALK_STACKLESS;
}

static void words_of_node(struct sap_cpu_nodes *t, const struct sap_cpu_frame *f, int k,
                          const struct sap_criterion *how)
{
    const struct sap_cell *const cell = &t->cell[k];
    const struct sap_reach reach = sap_accept_reach(cell, how);
    struct sap_tree_words *const w = &t->words_of;
    double x[3];
    const double size = sap_tree_in_units(cell->centre, &f->cube.gaps, f->middle, f->unit, x);
    w->x[k] = (float)sap_tree_cut(x[0]);
    w->y[k] = (float)sap_tree_cut(x[1]);
    w->z[k] = (float)sap_tree_cut(x[2]);
    w->guard[k] = acts_by_particles(f->settings, &t->node[k]) ? (float)SAP_TREE_NEVER
                                                              : (float)sap_tree_padded(reach.guard * f->unit, size);
    w->turn[k] = (float)fmin(reach.turn * t->turn_unit, SAP_TREE_NEVER);
    w->far[k] = (float)sap_tree_padded(sap_cell_far(cell) * f->unit, size);
}

static void source_of_node(struct sap_cpu_nodes *t, const struct sap_cpu_frame *f, int k)
{
    const struct sap_cell *const cell = &t->cell[k];
    struct sap_tree_source *const s = &t->source[k];
    const double to = f->mass_unit * f->unit * f->unit;
    for (int c = 0; c < 3; c++) s->x[c] = cell->centre[c];
    s->mass = cell->mass * f->mass_unit;
    for (int c = 0; c < SAP_MOMENTS2; c++) s->s[c] = 3 * cell->q[c] * to;
    s->t = 0.5 * (s->s[SAP_XX] + s->s[SAP_YY] + s->s[SAP_ZZ]);
}

/* Fills the words behind the last node, which kernels read but do not use. */
static void pad_words(struct sap_cpu_nodes *t)
{
    struct sap_tree_words *const w = &t->words_of;
    for (int k = t->nodes; k < t->nodes + 16; k++)
        w->x[k] = w->y[k] = w->z[k] = w->guard[k] = w->turn[k] = w->far[k] = 0;
}

/* ---- the whole tree ------------------------------------------------------------------- */

/* Returns whether some particle is beyond the range of float, in units. */
static int reaches_far(const struct sap_cpu_tree *t)
{
    const double *const low = t->is_part ? t->whole.low : t->own.cell[0].low;
    const double *const high = t->is_part ? t->whole.high : t->own.cell[0].high;
    return sap_cube_reach(&t->frame.cube, t->frame.middle, low, high) * t->frame.unit > SAP_TREE_NEAR ||
           t->frame.is_point;
}

struct walk_words {
    struct sap_cpu_nodes *nodes;
    const struct sap_cpu_frame *frame;
    const struct sap_criterion *how;
};

static void make_words(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct walk_words *const w = argument;
    for (int k = (int)from; k < to; k++) {
        words_of_node(w->nodes, w->frame, k, w->how);
        source_of_node(w->nodes, w->frame, k);
    }
}

void sap_cpu_tree_make_words(struct sap_cpu_nodes *t, const struct sap_cpu_frame *f, const struct sap_cell *root,
                             int threads)
{
    const struct sap_criterion how =
        sap_criterion_of((int)f->settings->mac, f->settings->order, f->settings->accuracy, f->pull);
    t->turn_unit = sap_turn_unit(root, &how, f->unit);
    struct walk_words w = {t, f, &how};
    sap_team_for(threads, t->nodes, sap_team_chunk(t->nodes, threads, NODES_AT_ONCE), make_words, &w);
    pad_words(t);
}

void sap_cpu_tree_moments(struct sap_cpu_tree *t, int threads)
{
    make_cells(&t->own, t->frame.mass_unit, threads);
    t->frame.far = reaches_far(t);
    sap_cpu_tree_make_words(&t->own, &t->frame, &t->own.cell[0], threads);
    sap_cpu_tree_lengths(t);
    for (int g = 0; g < t->self.groups; g++) t->group[g].has_bound = 0;
}
