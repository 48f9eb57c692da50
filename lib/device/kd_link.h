/*
 * kd_link.h - kernels that make the cells of a kd-tree, which the walk reads, from nodes stored by position.
 *
 * `merge` levels of nodes make one level of cells.  A node is a cell if its level is a multiple of `merge`, or if it is
 * a leaf, which then belongs to the next such level.  The nodes that begin at a position have successive levels, from
 * the second child that begins there (or the root) to a leaf.  So do their cells.  One pass counts the cells of each
 * level that begin in a tile of positions, and, after a scan over levels and tiles, a second pass numbers and writes
 * them, breadth first.
 */
#include "dialect.h"

#include "device/kd_layout.h"
#include "device/tree_layout.h"

enum { LINK_THREADS = SAP_TREE_THREADS, TILE = SAP_LINK_TILE, TILE_WORDS = TILE / 32, KD_LEVELS = SAP_KD_LEVELS };
enum { LEVEL_WORD = 128 };

/*
 * Finds the cells that begin at each position k: levels[k] is LEVEL_WORD times the first level plus the last level; no
 * cell begins there if first > last.  count[level * tiles + tile]: cells that begin in a tile.
 */
KERNEL(LINK_THREADS)
kd_levels(const GLOBAL struct sap_kd_part *inner, const GLOBAL struct sap_kd_part *leaf, GLOBAL int *levels,
          GLOBAL int *count, const struct sap_kd_arguments b)
{
    SHARED int counts[KD_LEVELS];
    const int me = (int)local_id(), begin = (int)group_id(0) * TILE;
    if (me < KD_LEVELS) counts[me] = 0;
    group_barrier();
    for (int k = me; k < TILE && begin + k < b.n; k += LINK_THREADS) {
        const int i = begin + k, has_leaf = leaf[i].count > 0, top = i > 0 ? inner[i].level + 1 : 0;
        const int first = has_leaf ? (top + b.merge - 1) / b.merge : 1;
        const int last = has_leaf ? (leaf[i].level + b.merge - 1) / b.merge : 0;
        levels[i] = first * LEVEL_WORD + last;
        for (int level = first; level <= last; level++) (void)atomic_add(&counts[level], 1);
    }
    group_barrier();
    if (me < b.cell_levels) count[(size_t)me * b.tiles + group_id(0)] = counts[me];
}

/* Reads from the scanned counts where each level begins, and the number of cells. */
KERNEL(LINK_THREADS)
kd_level_firsts(const GLOBAL int *count, const GLOBAL int *total, GLOBAL int *first, const int total_at,
                const struct sap_kd_arguments b)
{
    const int me = (int)local_id();
    if (me <= KD_LEVELS) first[me] = me < b.cell_levels ? count[(size_t)me * b.tiles] : total[total_at];
}

/* Writes the cells that begin in a tile; kd_count_children sets children[] of inner cells later. */
KERNEL(LINK_THREADS)
kd_link(const GLOBAL struct sap_kd_part *inner, const GLOBAL struct sap_kd_part *leaf, const GLOBAL int *levels,
        const GLOBAL int *offset, GLOBAL struct sap_tree_link *node, GLOBAL int *node_level,
        const struct sap_kd_arguments b)
{
    SHARED unsigned bits[KD_LEVELS * TILE_WORDS];
    SHARED int before[KD_LEVELS * TILE_WORDS];
    const int me = (int)local_id(), begin = (int)group_id(0) * TILE;
    for (int e = me; e < b.cell_levels * TILE_WORDS; e += LINK_THREADS) bits[e] = 0;
    group_barrier();
    for (int k = me; k < TILE && begin + k < b.n; k += LINK_THREADS) {
        const int here = levels[begin + k];
        for (int level = here / LEVEL_WORD; level <= here % LEVEL_WORD; level++)
            (void)atomic_or(&bits[level * TILE_WORDS + k / 32], 1U << (k % 32));
    }
    group_barrier();
    for (int e = me; e < b.cell_levels * TILE_WORDS; e += LINK_THREADS) {
        int sum = offset[(size_t)(e / TILE_WORDS) * b.tiles + group_id(0)];
        for (int w = e / TILE_WORDS * TILE_WORDS; w < e; w++) sum += (int)popcount(bits[w]);
        before[e] = sum;
    }
    group_barrier();
    for (int k = me; k < TILE && begin + k < b.n; k += LINK_THREADS) {
        const int i = begin + k, here = levels[i], first = here / LEVEL_WORD, last = here % LEVEL_WORD;
        const unsigned below = (1U << (k % 32)) - 1U;
        int child = 0; /* from the leaf up: the cell below that begins here is the first child */
        int node_at = leaf[i].level, particles = leaf[i].count;
        for (int level = last; level >= first; level--) {
            const int e = level * TILE_WORDS + k / 32, number = before[e] + (int)popcount(bits[e] & below);
            for (; node_at > level * b.merge; node_at--) particles = inner[i + particles].count;
            struct sap_tree_link made;
            made.first = i;
            made.count = particles;
            made.child = child;
            made.children = 0;
            node[number] = made;
            node_level[number] = level;
            child = number;
        }
    }
}

/* Counts the children of each cell; level_first: where levels begin. */
KERNEL(LINK_THREADS)
kd_count_children(GLOBAL struct sap_tree_link *node, const GLOBAL int *node_level, const GLOBAL int *level_first,
                  const int nodes)
{
    const int k = (int)global_id();
    if (k >= nodes) return;
    const struct sap_tree_link here = node[k];
    if (here.child == 0) return;
    const int most = min(8, level_first[node_level[k] + 2] - here.child);
    int children = 1;
    while (children < most && node[here.child + children].first < here.first + here.count) children++;
    node[k].children = children;
}
