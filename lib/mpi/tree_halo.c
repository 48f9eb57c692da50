/* tree_halo.c - selects the halo of a tree for another rank, and joins halos to one tree (tree_halo.h). */
#include "mpi/tree_halo.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EIGHT = 8 };

/* ------------------------------------------------------------------ regions */

/* Some nodes that together have all particles. */
struct cut {
    int nodes, node[SAP_HALO_REGIONS];
};

/* Returns the node of a cut that has most particles and can be divided; -1: there is none. */
static int largest_node(const struct sap_halo_nodes *s, const struct cut *cut)
{
    int best = -1;
    for (int k = 0; k < cut->nodes; k++) {
        const struct sap_tree_node *const node = &s->node[cut->node[k]];
        if (!node->children || cut->nodes - 1 + node->children > SAP_HALO_REGIONS) continue;
        if (best < 0 || node->count > s->node[cut->node[best]].count) best = k;
    }
    return best;
}

static struct cut cut_tree(const struct sap_halo_nodes *s)
{
    struct cut cut = {.nodes = 1};
    for (int k = largest_node(s, &cut); k >= 0; k = largest_node(s, &cut)) {
        const struct sap_tree_node *const node = &s->node[cut.node[k]];
        cut.node[k] = node->child;
        for (int c = 1; c < node->children; c++) cut.node[cut.nodes++] = node->child + c;
    }
    return cut;
}

/* Numbers the groups whose first particles are in a node as a new region; there may be none. */
static void add_region(struct sap_halo_nodes *s, const struct sap_tree_node *node)
{
    int groups = 0;
    for (int k = node->first; k < node->first + node->count; k++) {
        const int starts = k == 0 || s->group[k] != s->group[k - 1];
        if (starts) s->region_of[s->group[k]] = s->regions;
        groups += starts;
    }
    s->regions += groups > 0;
}

void sap_halo_choose_regions(struct sap_halo_nodes *s)
{
    const struct cut cut = cut_tree(s);
    s->regions = 0;
    for (int k = 0; k < cut.nodes; k++) add_region(s, &s->node[cut.node[k]]);
}

/* Adds a ball to the box of a region, which it begins if the region has no particles yet. */
static void widen(struct sap_halo_region *region, const double *ball)
{
    const int first = region->strictness < 0;
    for (int c = 0; c < 3; c++) {
        const double low = ball[c] - ball[3], high = ball[c] + ball[3];
        region->low[c] = first ? low : fmin(region->low[c], low);
        region->high[c] = first ? high : fmax(region->high[c], high);
    }
    if (first) region->strictness = 0;
}

/* Marks the groups that have active particles. */
static void mark_groups(const struct sap_halo_nodes *s, const unsigned char *active, unsigned char *is_active)
{
    for (int k = 0; k < s->n; k++)
        if (!active || active[s->address[k]]) is_active[s->group[k]] = 1;
}

int sap_halo_tell_regions(const struct sap_halo_nodes *s, double accuracy, const struct sap_halo_targets *targets,
                          struct sap_halo_region *region)
{
    unsigned char *const is_active = calloc((size_t)s->groups + 1, sizeof *is_active);
    memset(region, 0, SAP_HALO_REGIONS * sizeof *region);
    for (int r = 0; r < SAP_HALO_REGIONS; r++) region[r].strictness = -1;
    if (!is_active) return SAPPORO_ERR_MEMORY;
    mark_groups(s, targets->active, is_active);
    for (int g = 0; g < s->groups; g++)
        if (is_active[g]) widen(&region[s->region_of[g]], s->ball[g]);
    for (int k = 0; k < s->n && targets->a; k++) {
        double *const most = &region[s->region_of[s->group[k]]].strictness;
        if (is_active[s->group[k]]) *most = fmax(*most, sap_accept_strictness(accuracy * targets->a[s->address[k]]));
    }
    free(is_active);
    return SAPPORO_OK;
}

int sap_halo_has_targets(const struct sap_halo_region *region)
{
    for (int r = 0; r < SAP_HALO_REGIONS; r++)
        if (region[r].strictness >= 0) return 1;
    return 0;
}

/* ---------------------------------------------------------------- selection */

/* A selection for one rank. */
struct selection {
    const struct sap_halo_source *source;
    const struct sap_halo_region *region;
    unsigned char *opened; /* [nodes] */
    int *from;             /* [nodes] the node of each node that is sent */
};

/* Whether a cell is refused at some point of a region. */
static int refuses(const struct sap_halo_region *region, const struct sap_cell *cell, const struct sap_reach *reach)
{
    const double guard = fmax(reach->guard, reach->turn * region->strictness);
    double d2 = 0;
    for (int c = 0; c < 3; c++) {
        const double d = fmax(fmax(region->low[c] - cell->centre[c], cell->centre[c] - region->high[c]), 0);
        d2 += d * d;
    }
    return !(sqrt(d2) > guard);
}

/*
 * Marks the nodes that regions open, from node k on.  `who` has the regions that open the parent: regions that accept
 * the parent never meet its children.
 */
static void mark(const struct selection *s, int k, const int *who, int n)
{
    const struct sap_halo_nodes *const t = s->source->nodes;
    int refusing[SAP_HALO_REGIONS], m = 0;
    for (int i = 0; i < n; i++)
        if (refuses(&s->region[who[i]], &t->cell[k], &t->reach[k])) refusing[m++] = who[i];
    s->opened[k] = m > 0;
    if (m == 0 || t->node[k].level >= s->source->level_most) return;
    for (int c = 0; c < t->node[k].children; c++) mark(s, t->node[k].child + c, refusing, m);
}

static int reserve_nodes(struct sap_halo *h, int more)
{
    if (more <= h->node_room - h->nodes) return SAPPORO_OK;
    if (more > INT_MAX / 2 - h->nodes) return SAPPORO_ERR_MEMORY;
    const int room = h->nodes + more + h->nodes / 2;
    struct sap_halo_node *const node = malloc((size_t)room * sizeof *node);
    if (!node) return SAPPORO_ERR_MEMORY;
    if (h->nodes > 0) memcpy(node, h->node, (size_t)h->nodes * sizeof *node);
    free(h->node);
    h->node = node;
    h->node_room = room;
    return SAPPORO_OK;
}

static int reserve_particles(struct sap_halo *h, int more)
{
    if (more <= h->room - h->n) return SAPPORO_OK;
    if (more > INT_MAX / 2 - h->n) return SAPPORO_ERR_MEMORY;
    const int room = h->n + more + h->n / 2;
    double(*const x)[4] = malloc((size_t)room * sizeof *x);
    if (!x) return SAPPORO_ERR_MEMORY;
    if (h->n > 0) memcpy(x, h->x, (size_t)h->n * sizeof *x);
    free(h->x);
    h->x = x;
    h->room = room;
    return SAPPORO_OK;
}

/* Adds the particles of a node to the halo. */
static int add_particles(struct sap_halo *h, const struct sap_halo_source *s, const struct sap_tree_node *node)
{
    if (reserve_particles(h, node->count)) return SAPPORO_ERR_MEMORY;
    for (int k = node->first; k < node->first + node->count; k++)
        memcpy(h->x[h->n++], s->x + (size_t)s->nodes->address[k] * (size_t)s->stride, sizeof *h->x);
    return SAPPORO_OK;
}

/* Fills node q of a halo that begins at node `base` and particle `x_base`, and adds its children or its particles. */
static int fill_node(struct sap_halo *h, const struct selection *s, int q, int base, int x_base)
{
    const struct sap_halo_nodes *const t = s->source->nodes;
    const int k = s->from[q];
    const struct sap_tree_node *const node = &t->node[k];
    const int divided = s->opened[k] && node->children && node->level < s->source->level_most;
    /* as in walks, an accepted leaf with few particles is not worth a cell */
    const int listed = !divided && (s->opened[k] || (!node->children && node->count <= s->source->order));
    struct sap_halo_node made = {.cell = t->cell[k]};
    if (divided && reserve_nodes(h, node->children)) return SAPPORO_ERR_MEMORY;
    made.child = divided ? h->nodes - base : 0;
    made.children = divided ? node->children : 0;
    for (int c = 0; c < made.children; c++) s->from[h->nodes++ - base] = node->child + c;
    made.first = listed ? h->n - x_base : 0;
    made.count = listed ? node->count : 0;
    h->node[base + q] = made;
    return listed ? add_particles(h, s->source, node) : SAPPORO_OK;
}

static int select_nodes(struct sap_halo *h, const struct selection *s)
{
    const int base = h->nodes, x_base = h->n;
    int who[SAP_HALO_REGIONS], n = 0, status = reserve_nodes(h, 1);
    for (int k = 0; k < SAP_HALO_REGIONS; k++)
        if (s->region[k].strictness >= 0) who[n++] = k;
    mark(s, 0, who, n);
    s->from[0] = 0;
    if (!status) h->nodes++;
    for (int q = 0; base + q < h->nodes && !status; q++) status = fill_node(h, s, q, base, x_base);
    return status;
}

int sap_halo_add(struct sap_halo *h, const struct sap_halo_source *source, const struct sap_halo_region *region)
{
    const size_t nodes = (size_t)source->nodes->nodes;
    struct selection s = {
        .source = source, .region = region, .opened = malloc(nodes), .from = malloc(nodes * sizeof *s.from)};
    const int status = s.opened && s.from ? select_nodes(h, &s) : SAPPORO_ERR_MEMORY;
    free(s.opened);
    free(s.from);
    return status;
}

/* ------------------------------------------------------------------ joining */

static int above(int n) { return (n + EIGHT - 1) / EIGHT; }

int sap_halo_levels_above(int halos)
{
    int levels = 0;
    for (int n = halos; n > 1; n = above(n)) levels++;
    return levels;
}

/* Number of nodes above the roots of halos. */
static int nodes_above(int halos)
{
    int nodes = 0;
    for (int n = halos; n > 1; n = above(n)) nodes += above(n);
    return nodes;
}

/* A joined tree under construction. */
struct halo_joining {
    struct sap_tree_node *node;
    struct sap_cell *cell;
};

/* Copies the halos behind the nodes above: all roots first, then the other nodes of each halo. */
static void copy_halos(const struct sap_halo *from, int ranks, const int (*count)[2], int roots, int halos,
                       const struct halo_joining *to)
{
    int root = roots, rest = roots + halos, base = 0, x_base = 0;
    for (int r = 0; r < ranks; r++) {
        for (int k = 0; k < count[r][0]; k++) {
            const struct sap_halo_node *const node = &from->node[base + k];
            const int at = k == 0 ? root : rest + k - 1;
            to->cell[at] = node->cell;
            to->node[at] = (struct sap_tree_node){.first = node->first + x_base,
                                                  .count = node->count,
                                                  .child = node->children ? rest + node->child - 1 : 0,
                                                  .children = node->children};
        }
        if (count[r][0] > 0) root++, rest += count[r][0] - 1;
        base += count[r][0];
        x_base += count[r][1];
    }
}

/* Makes the node above `children` nodes from `child` on. */
static void make_above(const struct halo_joining *to, int at, int child, int children)
{
    struct sap_cell *const cell = &to->cell[at], *const c = &to->cell[child];
    sap_cell_start(cell);
    for (int k = 0; k < children; k++) sap_cell_add(cell, c[k].mass, c[k].weight, c[k].centre, c[k].low, c[k].high);
    sap_cell_centre(cell);
    for (int k = 0; k < children; k++) sap_cell_shape_child(cell, c[k].mass, c[k].centre, c[k].q);
    to->node[at] = (struct sap_tree_node){.child = child, .children = children};
}

int sap_halo_join(const struct sap_halo *halo, int ranks, const int (*count)[2], struct sap_tree_halo *joined)
{
    int halos = 0;
    for (int r = 0; r < ranks; r++) halos += count[r][0] > 0;
    const int roots = nodes_above(halos), nodes = roots + halo->nodes;
    const struct halo_joining to = {malloc(((size_t)nodes + 1) * sizeof *to.node),
                                    malloc(((size_t)nodes + 1) * sizeof *to.cell)};
    *joined = (struct sap_tree_halo){.nodes = nodes, .n = halo->n, .node = to.node, .cell = to.cell};
    joined->x = (const double(*)[4])halo->x;
    if (!to.node || !to.cell) return SAPPORO_ERR_MEMORY;
    copy_halos(halo, ranks, count, roots, halos, &to);
    for (int n = halos, first = roots; n > 1; n = above(n)) { /* from the roots upwards */
        const int parents = above(n);
        for (int p = 0; p < parents; p++)
            make_above(&to, first - parents + p, first + EIGHT * p, n - EIGHT * p < EIGHT ? n - EIGHT * p : EIGHT);
        first -= parents;
    }
    return SAPPORO_OK;
}
