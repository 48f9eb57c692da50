/*
 * tree_halo.h - kernels that select what other parts of a whole need of a tree: the regions of its particles, and the
 * nodes and particles that regions of other parts refuse (engine/tree_regions.h).  Selections are those of
 * mpi/tree_halo.c, entry by entry.
 */
#include "device/tree_units.h"

#include "device/tree_halo_places.h"

/* ---- regions ---- */

/* Returns how much a region of a node might make travel for nothing: its particles times the diagonal of their box. */
SAP_INLINE D region_size(struct sap_tree_link node, const GLOBAL struct sap_cell *cell)
{
    D d2 = d_set1(SAP_ZERO);
    for (int c = 0; c < 3; c++) {
        const D edge = d_sub(cell->high[c], cell->low[c]);
        d2 = d_add(d2, d_mul(edge, edge));
    }
    return d_mul(d_of_int(node.count), d_sqrt(d2));
}

/* Returns the bin of the size of node k: 0 is the root's. */
SAP_INLINE int region_bin(const GLOBAL struct sap_tree_link *node, const GLOBAL struct sap_cell *cell, int k)
{
    return (high_word(region_size(node[0], cell)) >> 17) - (high_word(region_size(node[k], &cell[k])) >> 17);
}

/* Counts the inner nodes of each bin (bins[SAP_HALO_BINS ...]), and how many regions they add (bins[0 ...]). */
KERNEL(SAP_TREE_THREADS)
tree_halo_bins(const GLOBAL struct sap_tree_link *node, const GLOBAL struct sap_cell *cell, GLOBAL int *bins,
               const int nodes)
{
    const int k = (int)global_id();
    if (k >= nodes || node[k].children == 0) return;
    const int bin = region_bin(node, cell, k);
    if (bin >= SAP_HALO_BINS) return;
    if (node[k].children > 1) (void)atomic_add(&bins[bin], node[k].children - 1);
    (void)atomic_add(&bins[SAP_HALO_BINS + bin], 1);
}

/* Writes the sizes of the bounds of groups. */
KERNEL(SAP_TREE_THREADS)
tree_halo_sizes(const GLOBAL D *bounds, GLOBAL D *size, const int groups)
{
    const int g = (int)global_id();
    if (g >= groups) return;
    const struct sap_bound bound = load_bound(bounds, g);
    size[g] = sap_bound_size(&bound);
}

/* Flags the inner nodes of bins up to `last`. */
KERNEL(SAP_TREE_THREADS)
tree_halo_flag(const GLOBAL struct sap_tree_link *node, const GLOBAL struct sap_cell *cell, GLOBAL int *flag,
               const int last, const int nodes)
{
    const int k = (int)global_id();
    if (k >= nodes) return;
    flag[k] = node[k].children > 0 && region_bin(node, cell, k) <= last;
}

/* Writes child, children and size of n listed nodes. */
KERNEL(SAP_TREE_THREADS)
tree_halo_top(const GLOBAL struct sap_tree_link *node, const GLOBAL struct sap_cell *cell, const GLOBAL int *list,
              GLOBAL int *child, GLOBAL int *children, GLOBAL D *size, const int n)
{
    const int i = (int)global_id();
    if (i >= n) return;
    const struct sap_tree_link here = node[list[i]];
    child[i] = here.child;
    children[i] = here.children;
    size[i] = region_size(here, &cell[list[i]]);
}

/* The extremes of the active particles of a region: low, high, the least acceleration; is_any: there are some. */
struct region_look {
    D low[3], high[3], least;
    int is_any;
};

/*
 * Adds the bound of the group of a particle at x to a region, and what is close to the bound; of a bound wider than
 * `widest`, only the part that is within that distance of x along each axis.  length: the particle's, or 0.
 */
SAP_INLINE void widen_region(struct region_look *to, const struct sap_bound *bound, const D *x, D widest, D length)
{
    const int is_whole = dm_any(d_ge(widest, sap_bound_size(bound)));
    const D close = d_add(sap_bound_close(bound, d_set1(SAP_ONE)), length), near = d_max(d_add(widest, length), close);
    for (int c = 0; c < 3; c++) {
        const D width = d_add(d_add(bound->extent[c], bound->radius), close);
        D low = d_sub(bound->centre[c], width), high = d_add(bound->centre[c], width);
        if (!is_whole) low = d_max(low, d_sub(x[c], near)), high = d_min(high, d_add(x[c], near));
        to->low[c] = d_min(to->low[c], low);
        to->high[c] = d_max(to->high[c], high);
    }
    to->is_any = 1;
}

/* Gives the first thread the extremes of all SAP_HALO_TELLERS threads. */
SAP_INLINE void join_looks(LOCAL D *room, LOCAL int *any, struct region_look *mine)
{
    const int me = (int)local_id();
    D word[SAP_HALO_REGION];
    for (int c = 0; c < 3; c++) word[c] = mine->low[c], word[3 + c] = d_neg(mine->high[c]);
    word[6] = mine->least;
    for (int w = 0; w < SAP_HALO_REGION; w++) room[w * SAP_HALO_TELLERS + me] = word[w];
    any[me] = mine->is_any;
    for (int step = SAP_HALO_TELLERS / 2; step > 0; step /= 2) {
        group_barrier();
        if (me < step) {
            for (int w = 0; w < SAP_HALO_REGION; w++)
                room[w * SAP_HALO_TELLERS + me] =
                    d_min(room[w * SAP_HALO_TELLERS + me], room[w * SAP_HALO_TELLERS + me + step]);
            any[me] |= any[me + step];
        }
    }
    group_barrier();
    for (int c = 0; c < 3; c++) {
        mine->low[c] = room[c * SAP_HALO_TELLERS];
        mine->high[c] = d_neg(room[(3 + c) * SAP_HALO_TELLERS]);
    }
    mine->least = room[6 * SAP_HALO_TELLERS];
    mine->is_any = any[0];
}

/*
 * Fills the regions of nodes from[0 ...], a group of threads each.  active, a, length: by address; a bound wider than
 * `widest` counts near its particles alone.
 */
KERNEL(SAP_HALO_TELLERS)
tree_halo_tell(const GLOBAL int *from, const GLOBAL struct sap_tree_link *node, const GLOBAL wide *sorted,
               const GLOBAL int *address, const GLOBAL int *group_of, const GLOBAL D *bounds,
               const GLOBAL unsigned char *active, const int has_active, const GLOBAL D *a, const int has_a,
               const GLOBAL D *length, const int has_length, const D widest, const D accuracy, GLOBAL D *region)
{
    SHARED D room[SAP_HALO_REGION * SAP_HALO_TELLERS];
    SHARED int any[SAP_HALO_TELLERS];
    const struct sap_tree_link here = node[from[group_id(0)]];
    struct region_look look;
    for (int c = 0; c < 3; c++) look.low[c] = d_set1(SAP_LARGEST), look.high[c] = d_neg(d_set1(SAP_LARGEST));
    look.least = d_of_words(0, 0x7FF00000); /* infinity */
    look.is_any = 0;
    for (int k = here.first + (int)local_id(); k < here.first + here.count; k += SAP_HALO_TELLERS) {
        const struct sap_bound bound = load_bound(bounds, group_of[k]);
        D x[3], mass;
        if (has_active && !active[address[k]]) continue;
        load_particle(sorted, k, x, &mass);
        widen_region(&look, &bound, x, widest, has_length ? length[address[k]] : d_set1(SAP_ZERO));
        if (has_a) look.least = d_min(look.least, a[address[k]]);
    }
    join_looks(room, any, &look);
    if (local_id() != 0) return;
    GLOBAL D *const to = region + SAP_HALO_REGION * (size_t)group_id(0);
    for (int c = 0; c < 3; c++) {
        to[c] = look.is_any ? look.low[c] : d_set1(SAP_ZERO);
        to[3 + c] = look.is_any ? look.high[c] : d_set1(SAP_ZERO);
    }
    to[6] = !look.is_any ? d_neg(d_set1(SAP_ONE))
            : has_a      ? sap_accept_strictness(d_mul(accuracy, look.least))
                         : d_set1(SAP_ZERO);
}

/* ---- selection ---- */

/* Computes from which distance on each node is accepted (reach: guard, turn), and the parents of nodes. */
KERNEL(SAP_TREE_THREADS)
tree_halo_reach(const GLOBAL struct sap_tree_link *node, const GLOBAL struct sap_cell *cell, GLOBAL wide *reach,
                GLOBAL int *parent, const struct sap_gpu_tree t)
{
    const int k = (int)global_id();
    if (k >= t.nodes) return;
    const struct sap_cell c = cell[k];
    const struct sap_criterion how = sap_criterion_of(t.mac, t.order, t.accuracy, t.pull);
    const struct sap_reach mine = sap_accept_reach(&c, &how);
    const struct sap_tree_link here = node[k];
    wide w;
    w.x = mine.guard, w.y = mine.turn;
    reach[k] = w;
    if (k == 0) parent[0] = -1;
    for (int j = 0; j < here.children; j++) parent[here.child + j] = k;
}

/* Whether a cell is refused at some point of a region. */
SAP_INLINE int region_refuses(const GLOBAL D *region, const D *centre, wide reach)
{
    const D guard = d_max(reach.x, d_mul(reach.y, region[6]));
    D d2 = d_set1(SAP_ZERO);
    for (int c = 0; c < 3; c++) {
        const D d = d_max(d_max(d_sub(region[c], centre[c]), d_sub(centre[c], region[3 + c])), d_set1(SAP_ZERO));
        d2 = d_add(d2, d_mul(d, d));
    }
    return !dm_any(d_gt(d_sqrt(d2), guard));
}

/* Whether a region refuses all nodes above node k: a region that accepts one of them never meets node k. */
SAP_INLINE int region_meets(const GLOBAL D *region, const GLOBAL struct sap_cell *cell, const GLOBAL wide *reach,
                            const GLOBAL int *parent, int k)
{
    D centre[3];
    for (k = parent[k]; k >= 0; k = parent[k]) {
        for (int c = 0; c < 3; c++) centre[c] = cell[k].centre[c];
        if (!region_refuses(region, centre, reach[k])) return 0;
    }
    return 1;
}

/*
 * Sets opened[e] of those of n entries of a level that one of the regions of their part opens: region_first[p] ..
 * region_first[p + 1] - 1 of part p, whole blocks.  A block refuses what one of its regions does.  SAP_HALO_BLOCK
 * threads look for an entry, each at one region of each block; from entry `first` on.
 */
KERNEL(SAP_TREE_THREADS)
tree_halo_open(const GLOBAL struct sap_halo_entry *entry, GLOBAL int *opened, const GLOBAL struct sap_cell *cell,
               const GLOBAL wide *reach, const GLOBAL int *parent, const GLOBAL D *region, const GLOBAL D *block,
               const GLOBAL int *region_first, const int first, const int threads)
{
    const int t = (int)global_id(), e = first + t / SAP_HALO_BLOCK;
    if (t >= threads) return;
    const int k = entry[e].node, part = entry[e].part, to = region_first[part + 1] / SAP_HALO_BLOCK;
    const wide mine = reach[k];
    D centre[3];
    for (int c = 0; c < 3; c++) centre[c] = cell[k].centre[c];
    for (int b = region_first[part] / SAP_HALO_BLOCK; b < to; b++) {
        const GLOBAL D *const one = region + SAP_HALO_REGION * (size_t)(SAP_HALO_BLOCK * b + t % SAP_HALO_BLOCK);
        if (region_refuses(block + SAP_HALO_REGION * (size_t)b, centre, mine) && region_refuses(one, centre, mine) &&
            region_meets(one, cell, reach, parent, k)) {
            (void)atomic_or(&opened[e], 1);
            return;
        }
    }
}

/*
 * Decides about n entries of a level: more[e] tells whether one is opened, and then the number of children that follow
 * in the next level.
 */
KERNEL(SAP_TREE_THREADS)
tree_halo_test(GLOBAL struct sap_halo_entry *entry, GLOBAL int *more, const GLOBAL struct sap_tree_link *node,
               const GLOBAL int *node_level, const int level_most, const int order, const int n)
{
    const int e = (int)global_id();
    if (e >= n) return;
    const int k = entry[e].node, opened = more[e];
    const struct sap_tree_link here = node[k];
    const int divided = opened && here.children > 0 && node_level[k] < level_most;
    /* as in walks, an accepted leaf with few particles is not worth a cell */
    const int listed = !divided && (opened || (here.children == 0 && here.count <= order));
    more[e] = divided ? here.children : 0;
    entry[e].held = listed ? here.count : 0;
}

/*
 * Writes the entries of the next level; before[e]: children of the entries before e.  part_first[p]: the first of n
 * entries of part p or a later one.
 */
KERNEL(SAP_TREE_THREADS)
tree_halo_spread(GLOBAL struct sap_halo_entry *entry, const GLOBAL int *more, const GLOBAL int *before,
                 const GLOBAL struct sap_tree_link *node, GLOBAL struct sap_halo_entry *next, GLOBAL int *part_first,
                 const int parts, const int n)
{
    const int e = (int)global_id();
    if (e >= n) return;
    const int k = entry[e].node, part = entry[e].part, last = e > 0 ? entry[e - 1].part : -1;
    for (int p = last + 1; p <= part; p++) part_first[p] = e;
    for (int p = part + 1; p <= parts && e == n - 1; p++) part_first[p] = n;
    entry[e].child = more[e] > 0 ? before[e] : -1;
    for (int j = 0; j < more[e]; j++) {
        struct sap_halo_entry made;
        made.node = node[k].child + j;
        made.part = part;
        made.child = -1;
        made.held = 0;
        next[before[e] + j] = made;
    }
}

/* Writes the particles of n entries of a level where they are sent: entry e of part p is node e + shift[p]. */
KERNEL(SAP_TREE_THREADS)
tree_halo_place(const GLOBAL struct sap_halo_entry *entry, const GLOBAL int *shift, const int shift_at,
                GLOBAL int *held, const int n)
{
    const int e = (int)global_id();
    if (e < n) held[e + shift[shift_at + entry[e].part]] = entry[e].held;
}

/* Finds the first particle that is sent to each part, and their number. */
KERNEL(SAP_TREE_THREADS)
tree_halo_bases(const GLOBAL int *before, const GLOBAL int *base, GLOBAL int *first, const int n)
{
    const int p = (int)global_id();
    if (p < n) first[p] = before[base[p]];
}

/*
 * Writes the nodes of a level and their particles, 32 threads per entry.  base, x_base: the first node and particle of
 * each part; before: particles before each node; shift: of this level from shift_at on, behind it that of the next one.
 * particle: in the order of the tree, or, has_address, by address.
 */
KERNEL(32)
tree_halo_fill(const GLOBAL struct sap_halo_entry *entry, const GLOBAL int *shift, const int shift_at, const int parts,
               const GLOBAL int *base, const GLOBAL int *x_base, const GLOBAL int *before,
               const GLOBAL struct sap_tree_link *node, const GLOBAL struct sap_cell *cell, const GLOBAL wide *particle,
               const GLOBAL int *address, const int has_address, GLOBAL D *made, GLOBAL wide *x)
{
    const struct sap_halo_entry here = entry[group_id(0)];
    const struct sap_tree_link link = node[here.node];
    const int q = (int)group_id(0) + shift[shift_at + here.part], at = before[q], me = (int)local_id();
    const GLOBAL D *const from = (const GLOBAL D *)(cell + here.node);
    GLOBAL D *const to = made + SAP_HALO_WORDS * (size_t)q;
    if (me < SAP_HALO_WORDS - 2) to[me] = from[me];
    if (me == SAP_HALO_WORDS - 2) {
        GLOBAL int *const words = (GLOBAL int *)(to + me);
        words[0] = here.held > 0 ? at - x_base[here.part] : 0;
        words[1] = here.held;
        words[2] = here.child >= 0 ? here.child + shift[shift_at + parts + here.part] - base[here.part] : 0;
        words[3] = here.child >= 0 ? link.children : 0;
    }
    for (int i = me; i < 2 * here.held; i += 32) {
        const int k = link.first + i / 2;
        x[2 * (size_t)at + (size_t)i] = particle[2 * (size_t)(has_address ? address[k] : k) + (size_t)(i % 2)];
    }
}

/* ---- joining ---- */

/* Writes n nodes that have arrived behind the nodes above (tree_halo_places.h). */
KERNEL(SAP_TREE_THREADS)
tree_halo_join(const GLOBAL D *made, const GLOBAL int *first, const int parts, const int roots, const int halos,
               GLOBAL struct sap_tree_link *node, GLOBAL struct sap_cell *cell, const int n)
{
    const int q = (int)global_id();
    if (q >= n) return;
    const struct halo_place place = place_of_node(first, parts, roots, halos, q);
    const GLOBAL D *const from = made + SAP_HALO_WORDS * (size_t)q;
    const GLOBAL int *const words = (const GLOBAL int *)(from + SAP_HALO_WORDS - 2);
    GLOBAL D *const to = (GLOBAL D *)(cell + place.at);
    struct sap_tree_link link;
    for (int w = 0; w < SAP_HALO_WORDS - 2; w++) to[w] = from[w];
    link.first = words[0] + first[2 * parts + place.part];
    link.count = words[1];
    link.child = words[3] > 0 ? place.rest + words[2] - 1 : 0;
    link.children = words[3];
    node[place.at] = link;
}

/* Makes nodes first ... first + parents - 1 above `children` nodes from `child` on. */
KERNEL(SAP_TREE_THREADS)
tree_halo_above(GLOBAL struct sap_tree_link *node, GLOBAL struct sap_cell *cell, const int first, const int child,
                const int parents, const int children)
{
    const int p = (int)global_id();
    if (p >= parents) return;
    const int at = child + SAP_HALO_ABOVE * p, rest = children - SAP_HALO_ABOVE * p;
    const int n = rest < SAP_HALO_ABOVE ? rest : SAP_HALO_ABOVE;
    struct sap_tree_link link;
    struct sap_cell made;
    sap_cell_start(&made);
    for (int k = 0; k < n; k++) {
        const struct sap_cell c = cell[at + k];
        sap_cell_add(&made, c.mass, c.weight, c.centre, c.low, c.high);
    }
    sap_cell_centre(&made);
    for (int k = 0; k < n; k++) {
        const struct sap_cell c = cell[at + k];
        sap_cell_shape_child(&made, c.mass, c.centre, c.q);
    }
    link.first = link.count = 0;
    link.child = at;
    link.children = n;
    node[first + p] = link;
    cell[first + p] = made;
}

/* Gives n particles masses in units of the tree. */
KERNEL(SAP_TREE_THREADS)
tree_halo_masses(GLOBAL wide *x, const D unit, const int n)
{
    const int k = (int)global_id();
    if (k < n) x[2 * (size_t)k + 1].y = d_mul(x[2 * (size_t)k + 1].y, unit);
}
