/* tree_halo.c - selects the halo of a tree for another rank, and joins halos to one tree (tree_halo.h). */
#include "mpi/tree_halo.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "context/internals.h"

enum { PARTS = 64 }; /* of the regions, for threads */

/* ------------------------------------------------------------------ regions */

int sap_halo_room(double n, int ranks)
{
    const double each = fmax(n / ranks / SAP_HALO_EACH, SAP_HALO_MANY);
    const int most = SAP_HALO_ALL / ranks < SAP_HALO_MOST ? SAP_HALO_ALL / ranks : SAP_HALO_MOST;
    const int wanted = each < most ? (int)each : most;
    return wanted > SAP_HALO_FEWEST ? wanted : SAP_HALO_FEWEST;
}

/* How much a region of node k might make travel for nothing: its particles times the diagonal of their box. */
static double size_of_region(const struct sap_halo_nodes *s, int k)
{
    const struct sap_cell *const cell = &s->cell[k];
    double d2 = 0;
    for (int c = 0; c < 3; c++) d2 += (cell->high[c] - cell->low[c]) * (cell->high[c] - cell->low[c]);
    return s->node[k].count * sqrt(d2);
}

/*
 * Counts the largest nodes from node k on that have at most some size, or no children; stops where there are more than
 * `room`.  Writes them from region[0] on, unless region is NULL.
 */
static int cut_below(const struct sap_halo_nodes *s, int k, double size, int room, int *region)
{
    const struct sap_tree_node *const node = &s->node[k];
    int cut = 0;
    if (!node->children || size_of_region(s, k) <= size) {
        if (region && room > 0) region[0] = k;
        return 1;
    }
    for (int c = 0; c < node->children && cut <= room; c++)
        cut += cut_below(s, node->child + c, size, room - cut, region ? region + cut : NULL);
    return cut;
}

static int count_below(const void *nodes, double size, int room) { return cut_below(nodes, 0, size, room, NULL); }

/* Sums the logarithms of the sizes of bounds that have one. */
static void sum_sizes(struct sap_halo_nodes *s)
{
    s->sizes = s->log_size = 0;
    for (int g = 0; g < s->groups; g++) {
        const double size = sap_bound_size(&s->bound[g]);
        if (size > 0) s->log_size += log(size), s->sizes++;
    }
}

static double widest_of(double sizes, double log_size) { return sizes > 0 ? SAP_HALO_WIDE * exp(log_size / sizes) : 0; }

void sap_halo_limit_widest(struct sap_halo_nodes *s, double sizes, double log_size)
{
    enum { SPARSER = 4 };
    s->widest = fmin(s->widest, SPARSER * widest_of(sizes, log_size));
}

void sap_halo_choose_regions(struct sap_halo_nodes *s, int room)
{
    sum_sizes(s);
    s->widest = widest_of(s->sizes, s->log_size);
    const double size = sap_regions_size(size_of_region(s, 0), room, count_below, s);
    s->regions = cut_below(s, 0, size, room, s->region);
}

/*
 * Adds a bound to the box of a region, which it begins if the region has no particles yet; with x, only the part of the
 * bound that is within `reach` of x along each axis.  The box holds what is close to the bound, or within the softening
 * length of a particle: no cell there is accepted.
 */
static void widen(struct sap_halo_region *region, const struct sap_bound *bound, const double *x, double reach,
                  double length)
{
    const int first = region->strictness < 0;
    const double close = sap_bound_close(bound, 1) + length, near = fmax(reach + length, close);
    for (int c = 0; c < 3; c++) {
        const double width = bound->extent[c] + bound->radius + close;
        const double low = fmax(bound->centre[c] - width, x ? x[c] - near : -INFINITY);
        const double high = fmin(bound->centre[c] + width, x ? x[c] + near : INFINITY);
        region->low[c] = first ? low : fmin(region->low[c], low);
        region->high[c] = first ? high : fmax(region->high[c], high);
    }
    if (first) region->strictness = 0;
}

/* Fills the region of the active particles of node q. */
static void tell_region(const struct sap_halo_nodes *s, int q, double accuracy, const struct sap_halo_targets *targets,
                        struct sap_halo_region *region)
{
    const struct sap_tree_node *const node = &s->node[q];
    int widened = -1;        /* the group whose bound is in the region already */
    int is_wide = 0;         /* whether it is wider than counts as a whole */
    double least = INFINITY; /* the smallest acceleration has the greatest strictness */
    for (int k = node->first; k < node->first + node->count; k++) {
        const int address = s->address[k], group = s->group[k];
        const struct sap_bound *const bound = &s->bound[group];
        if (targets->active && !targets->active[address]) continue;
        if (group != widened) is_wide = !(sap_bound_size(bound) <= s->widest);
        const double length = targets->h ? targets->h[address] : 0;
        if (is_wide)
            widen(region, bound, targets->x + (size_t)address * (size_t)targets->stride, s->widest, length);
        else if (group != widened || targets->h)
            widen(region, bound, NULL, 0, length);
        widened = group;
        if (targets->a) least = fmin(least, targets->a[address]);
    }
    if (targets->a && region->strictness >= 0) region->strictness = sap_accept_strictness(accuracy * least);
}

/* Regions that threads fill. */
struct telling {
    const struct sap_halo_nodes *nodes;
    const struct sap_halo_targets *targets;
    double accuracy;
    struct sap_halo_region *region;
};

static void tell_part(void *argument, int part, int from, int to)
{
    const struct telling *const t = argument;
    (void)from;
    (void)to;
    const long long regions = t->nodes->regions;
    for (long long r = regions * part / PARTS; r < regions * (part + 1) / PARTS; r++)
        tell_region(t->nodes, t->nodes->region[r], t->accuracy, t->targets, &t->region[r]);
}

void sap_halo_tell_regions(const struct sap_halo_nodes *s, double accuracy, const struct sap_halo_targets *targets,
                           struct sap_halo_region *region, int room)
{
    struct telling t = {s, targets, accuracy, region};
    memset(region, 0, (size_t)room * sizeof *region);
    for (int r = 0; r < room; r++) region[r].strictness = -1;
    sapporo_internals()->partial_parts(targets->threads, s->n, PARTS, tell_part, &t);
}

int sap_halo_has_targets(const struct sap_halo_region *region, int room)
{
    for (int r = 0; r < room; r++)
        if (region[r].strictness >= 0) return 1;
    return 0;
}

/* ------------------------------------------------------------------ lengths */

/* Reads and writes Plummer's squares of a node. */
static struct sap_softs softs_at(const double *words) { return (struct sap_softs){words[0], words[1], words[2]}; }

static void put_softs(const struct sap_softs *soft, double *words)
{
    words[0] = soft->mean, words[1] = soft->least, words[2] = soft->most;
}

/* Writes the lengths of a node from those of its children: their cells, and their words one after the other. */
static void join_lengths(int words, const struct sap_cell *child, const double *of_child, int children,
                         const struct sap_cell *cell, double *to)
{
    struct sap_softs soft;
    double most = 0;
    sap_soft_start(&soft);
    for (int c = 0; c < children && words == 1; c++) most = fmax(most, of_child[c]);
    for (int c = 0; c < children && words > 1; c++) {
        const struct sap_softs one = softs_at(of_child + (size_t)words * (size_t)c);
        sap_soft_add(&soft, child[c].mass, one.mean, one.least, one.most);
    }
    sap_soft_end(&soft, cell->mass);
    if (words > 1)
        put_softs(&soft, to);
    else
        to[0] = most;
}

/* Writes the lengths of node k from those of its particles. */
static void sum_lengths(const struct sap_halo_nodes *t, const struct sap_halo_source *source, int k, double *to)
{
    const struct sap_tree_node *const node = &t->node[k];
    struct sap_softs soft;
    double most = 0;
    sap_soft_start(&soft);
    for (int i = node->first; i < node->first + node->count; i++) {
        const size_t address = (size_t)t->address[i];
        const double h = source->h[address], h2 = h * h;
        most = fmax(most, h);
        sap_soft_add(&soft, source->x[address * (size_t)source->stride + 3], h2, h2, h2);
    }
    sap_soft_end(&soft, t->cell[k].mass);
    if (t->words > 1)
        put_softs(&soft, to);
    else
        to[0] = most;
}

void sap_halo_find_lengths(const struct sap_halo_nodes *t, const struct sap_halo_source *source)
{
    const size_t words = (size_t)t->words;
    for (int k = t->words ? t->nodes - 1 : -1; k >= 0; k--) {
        const struct sap_tree_node *const node = &t->node[k];
        double *const to = t->lengths + words * (size_t)k;
        if (node->children)
            join_lengths(t->words, t->cell + node->child, t->lengths + words * (size_t)node->child, node->children,
                         &t->cell[k], to);
        else
            sum_lengths(t, source, k, to);
    }
}

struct sap_reach sap_halo_reach(const struct sap_halo_nodes *t, int k, const struct sap_criterion *how)
{
    const double *const words = t->lengths + (size_t)t->words * (size_t)k;
    struct sap_cell cell = t->cell[k];
    struct sap_reach reach = sap_accept_reach(&cell, how);
    if (t->words == 1) reach.guard = sap_accept_length(reach.guard, sap_cell_far(&cell), words[0]);
    if (t->words < 2) return reach;
    const struct sap_softs soft = softs_at(words);
    const double spread = sap_soft_spread(&soft);
    if (!(spread > 0)) return reach;
    sap_soft_widen(&cell, spread);
    const struct sap_reach wider = sap_accept_reach(&cell, how);
    return (struct sap_reach){.guard = fmax(reach.guard, wider.guard), .turn = fmax(reach.turn, wider.turn)};
}

/* ---------------------------------------------------------------- selection */

/* A selection for one rank. */
struct selection {
    const struct sap_halo_source *source;
    const struct sap_halo_region *region;
    int room;              /* regions */
    int *who;              /* [room] regions, the ones that refuse a cell before the others */
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

/* Puts the regions that refuse node k before the others of the first n; returns their number.  One will do: 1 or 0. */
static int find_refusing(const struct selection *s, int k, int n, int one_will_do)
{
    const struct sap_halo_nodes *const t = s->source->nodes;
    int m = 0;
    for (int i = 0; i < n && !(m && one_will_do); i++) {
        const int region = s->who[i];
        if (!refuses(&s->region[region], &t->cell[k], &t->reach[k])) continue;
        s->who[i] = s->who[m];
        s->who[m++] = region;
    }
    return m;
}

/*
 * Marks the nodes that regions open, from node k on.  The first n of s->who open the parent: regions that accept the
 * parent never meet its children.
 */
static void mark(const struct selection *s, int k, int n)
{
    const struct sap_tree_node *const node = &s->source->nodes->node[k];
    const int ends = !node->children || node->level >= s->source->level_most;
    const int refusing = find_refusing(s, k, n, ends);
    s->opened[k] = refusing > 0;
    if (refusing == 0 || ends) return;
    for (int c = 0; c < node->children; c++) mark(s, node->child + c, refusing);
}

/* Makes room for `room` elements, of which n are kept; NULL: out of memory, and nothing has changed. */
static void *grow(void *at, int n, int room, size_t each)
{
    void *const made = malloc((size_t)room * each);
    if (!made) return NULL;
    if (n > 0) memcpy(made, at, (size_t)n * each);
    free(at);
    return made;
}

static int reserve_nodes(struct sap_halo *h, int more)
{
    if (more <= h->node_room - h->nodes) return SAPPORO_OK;
    if (more > INT_MAX / 2 - h->nodes) return SAPPORO_ERR_MEMORY;
    const int room = h->nodes + more + h->nodes / 2;
    struct sap_halo_node *const node = grow(h->node, h->nodes, room, sizeof *node);
    if (!node) return SAPPORO_ERR_MEMORY;
    h->node = node;
    const size_t each = (size_t)h->words * sizeof(double);
    double *const of_node = h->words ? grow(h->of_node, h->nodes, room, each) : NULL;
    if (h->words && !of_node) return SAPPORO_ERR_MEMORY;
    h->of_node = of_node;
    h->node_room = room;
    return SAPPORO_OK;
}

static int reserve_particles(struct sap_halo *h, int more)
{
    if (more <= h->room - h->n) return SAPPORO_OK;
    if (more > INT_MAX / 2 - h->n) return SAPPORO_ERR_MEMORY;
    const int room = h->n + more + h->n / 2;
    double(*const x)[4] = grow(h->x, h->n, room, sizeof *x);
    if (!x) return SAPPORO_ERR_MEMORY;
    h->x = x;
    double *const lengths = h->words ? grow(h->h, h->n, room, sizeof *lengths) : NULL;
    if (h->words && !lengths) return SAPPORO_ERR_MEMORY;
    h->h = lengths;
    h->room = room;
    return SAPPORO_OK;
}

int sap_halo_reserve(struct sap_halo *h, int nodes, int n)
{
    const int status = reserve_nodes(h, nodes);
    return status ? status : reserve_particles(h, n);
}

/* Adds the particles of a node to the halo. */
static int add_particles(struct sap_halo *h, const struct sap_halo_source *s, const struct sap_tree_node *node)
{
    if (reserve_particles(h, node->count)) return SAPPORO_ERR_MEMORY;
    for (int k = node->first; k < node->first + node->count; k++) {
        const int address = s->nodes->address[k];
        if (h->words) h->h[h->n] = s->h[address];
        memcpy(h->x[h->n++], s->x + (size_t)address * (size_t)s->stride, sizeof *h->x);
    }
    return SAPPORO_OK;
}

/* Fills node q of a halo that begins at node `base` and particle `x_base`, and adds its children or its particles. */
static int fill_node(struct sap_halo *h, const struct selection *s, int q, int base, int x_base)
{
    const struct sap_halo_nodes *const t = s->source->nodes;
    /* select_nodes wrote the first one, and fill_node of the parent the others */
    const int k = s->from[q]; /* NOLINT(clang-analyzer-core.uninitialized.Assign) */
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
    for (int w = 0; w < h->words; w++)
        h->of_node[(size_t)h->words * (size_t)(base + q) + (size_t)w] =
            t->lengths[(size_t)h->words * (size_t)k + (size_t)w];
    return listed ? add_particles(h, s->source, node) : SAPPORO_OK;
}

static int select_nodes(struct sap_halo *h, const struct selection *s)
{
    const int base = h->nodes, x_base = h->n;
    int n = 0, status = reserve_nodes(h, 1);
    for (int k = 0; k < s->room; k++)
        if (s->region[k].strictness >= 0) s->who[n++] = k;
    mark(s, 0, n);
    s->from[0] = 0;
    if (!status) h->nodes++;
    for (int q = 0; base + q < h->nodes && !status; q++) status = fill_node(h, s, q, base, x_base);
    return status;
}

int sap_halo_add(struct sap_halo *h, const struct sap_halo_source *source, const struct sap_halo_region *region,
                 int room, struct sap_halo_memory *memory)
{
    const size_t nodes = (size_t)source->nodes->nodes;
    const struct selection s = {.source = source,
                                .region = region,
                                .room = room,
                                .who = sap_room_array(&memory->who, (size_t)room, sizeof *s.who),
                                .opened = sap_room_array(&memory->opened, nodes, sizeof *s.opened),
                                .from = sap_room_array(&memory->from, nodes, sizeof *s.from)};
    return s.who && s.opened && s.from ? select_nodes(h, &s) : SAPPORO_ERR_MEMORY;
}

/* ------------------------------------------------------------------ joining */

int sap_halo_levels_above(int halos)
{
    int levels = 0;
    for (int n = halos; n > 1; n = sap_halo_above(n)) levels++;
    return levels;
}

/* A joined tree under construction. */
struct halo_joining {
    struct sap_tree_node *node;
    struct sap_cell *cell;
    int words; /* of softening lengths, of each node; or 0 */
    double *of_node;
};

/* A halo that threads copy: its root to `root`, its other nodes from `rest` on. */
struct halo_copying {
    const struct sap_halo_node *from;
    const double *of_node;
    int root, rest, x_base;
    const struct halo_joining *to;
};

static void copy_some_nodes(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct halo_copying *const c = argument;
    for (int k = (int)from; k < to; k++) {
        const struct sap_halo_node *const node = &c->from[k];
        const int at = k == 0 ? c->root : c->rest + k - 1;
        c->to->cell[at] = node->cell;
        const size_t words = (size_t)c->to->words;
        for (size_t w = 0; w < words; w++) c->to->of_node[words * (size_t)at + w] = c->of_node[words * (size_t)k + w];
        c->to->node[at] = (struct sap_tree_node){.first = node->first + c->x_base,
                                                 .count = node->count,
                                                 .child = node->children ? c->rest + node->child - 1 : 0,
                                                 .children = node->children};
    }
}

/* Copies the halos behind the nodes above: all roots first, then the other nodes of each halo. */
static void copy_halos(const struct sap_halo *from, int ranks, const int (*count)[2], int roots, int halos, int threads,
                       const struct halo_joining *to)
{
    struct halo_copying c = {
        .from = from->node, .of_node = from->of_node, .root = roots, .rest = roots + halos, .to = to};
    for (int r = 0; r < ranks; r++) {
        if (count[r][0] == 0) continue;
        sapporo_internals()->partial_loop(threads, count[r][0], copy_some_nodes, &c);
        c.from += count[r][0];
        if (to->words) c.of_node += (ptrdiff_t)to->words * count[r][0];
        c.root++;
        c.rest += count[r][0] - 1;
        c.x_base += count[r][1];
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
    const size_t words = (size_t)to->words;
    if (words)
        join_lengths(to->words, c, to->of_node + words * (size_t)child, children, cell,
                     to->of_node + words * (size_t)at);
}

int sap_halo_join(const struct sap_halo *halo, int ranks, const int (*count)[2], int threads,
                  struct sap_halo_memory *memory, struct sap_tree_halo *joined)
{
    int halos = 0;
    for (int r = 0; r < ranks; r++) halos += count[r][0] > 0;
    const int roots = sap_halo_nodes_above(halos), nodes = roots + halo->nodes;
    const size_t room = (size_t)nodes + 1;
    const struct halo_joining to = {
        .node = sap_room_array(&memory->node, room, sizeof *to.node),
        .cell = sap_room_array(&memory->cell, room, sizeof *to.cell),
        .words = halo->words,
        .of_node =
            halo->words ? sap_room_array(&memory->lengths, room, (size_t)halo->words * sizeof *to.of_node) : NULL};
    *joined = (struct sap_tree_halo){.nodes = nodes, .n = halo->n, .node = to.node, .cell = to.cell};
    joined->x = (const double(*)[4])halo->x;
    joined->words = to.words;
    joined->of_node = to.of_node;
    joined->h = halo->h;
    if (!to.node || !to.cell || (halo->words && !to.of_node)) return SAPPORO_ERR_MEMORY;
    copy_halos(halo, ranks, count, roots, halos, threads, &to);
    for (int n = halos, first = roots; n > 1; n = sap_halo_above(n)) { /* from the roots upwards */
        const int parents = sap_halo_above(n);
        for (int p = 0; p < parents; p++)
            make_above(&to, first - parents + p, first + SAP_HALO_CHILDREN * p,
                       n - SAP_HALO_CHILDREN * p < SAP_HALO_CHILDREN ? n - SAP_HALO_CHILDREN * p : SAP_HALO_CHILDREN);
        first -= parents;
    }
    return SAPPORO_OK;
}
