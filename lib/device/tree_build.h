/*
 * tree_build.h - kernels that build a tree from particles: bounds, keys, sorted particles, nodes.
 *
 * Keys alone decide which particles begin a node.  Let c be the number of levels in which a sorted particle shares its
 * cell with the particle before, and d the level of its leaf; then nodes of levels c + 1 to d begin at the particle.  d
 * is one more than the most levels that any leaf_size + 1 consecutive particles, including this one, have in common.
 * So one pass counts the nodes of each level that begin in a tile, and, after a scan over levels and tiles, a second
 * pass numbers and writes them, breadth first, for any depth.
 */
#include "device/tree_units.h"

#include "physics/tree_key.h"
#include "physics/tree_sample.h"

enum { TREE_THREADS = SAP_TREE_THREADS, TILE = SAP_LINK_TILE, TILE_WORDS = TILE / 32, LEVELS = SAP_LINK_LEVELS };

/* ---- bounds ---- */

SAP_INLINE void join_bounds(LOCAL D *room, D mine, int which)
{
    const int me = (int)local_id();
    room[me] = mine;
    for (int step = TREE_THREADS / 2; step > 0; step /= 2) {
        group_barrier();
        if (me < step) {
            const D a = room[me], b = room[me + step];
            room[me] = which < 3 || which == 7 ? d_min(a, b) : which == 6 ? d_add(a, b) : d_max(a, b);
        }
    }
    group_barrier();
}

/*
 * Computes the bounds of every part of n > 0 particles, with SAP_TREE_PARTS groups of threads; then copies the
 * positions of the `members` particles of the sample.
 */
KERNEL(TREE_THREADS)
tree_bounds(const GLOBAL wide *given, GLOBAL D *out, const int n, const int members)
{
    SHARED D room[TREE_THREADS];
    D bound[SAP_TREE_BOUNDS], x[3], mass;
    load_particle(given, 0, x, &mass);
    for (int k = 0; k < 3; k++) bound[k] = bound[3 + k] = x[k];
    bound[6] = bound[7] = bound[8] = d_set1(SAP_ZERO);
    for (size_t i = (size_t)global_id(); i < (size_t)n; i += (size_t)SAP_TREE_PARTS * TREE_THREADS) {
        load_particle(given, (int)i, x, &mass);
        for (int k = 0; k < 3; k++) {
            bound[k] = d_min(bound[k], x[k]);
            bound[3 + k] = d_max(bound[3 + k], x[k]);
        }
        bound[6] = d_add(bound[6], d_abs(mass));
        bound[7] = d_min(bound[7], mass);
        bound[8] = d_max(bound[8], mass);
    }
    if ((size_t)group_id(0) * TREE_THREADS < (size_t)n) {
        for (int k = 0; k < SAP_TREE_BOUNDS; k++) {
            join_bounds(room, bound[k], k);
            if (local_id() == 0) out[(size_t)k * SAP_TREE_PARTS + group_id(0)] = room[0];
            group_barrier();
        }
    } else if (local_id() == 0) { /* the group has no particle */
        for (int k = 0; k < SAP_TREE_BOUNDS; k++) out[(size_t)k * SAP_TREE_PARTS + group_id(0)] = bound[k];
    }
    if ((int)global_id() < members) {
        const int m = (int)global_id();
        load_particle(given, (int)sap_sample_member((sap_address)n, (sap_address)members, m), x, &mass);
        for (int k = 0; k < 3; k++) out[(size_t)SAP_TREE_BOUNDS * SAP_TREE_PARTS + (size_t)k * members + m] = x[k];
    }
}

/* ---- keys and sorted particles ---- */

KERNEL(TREE_THREADS)
tree_keys(const GLOBAL wide *given, GLOBAL U64 *key, const struct sap_gpu_tree t, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    D x[3], mass;
    sap_cell_number c[3];
    load_particle(given, (int)i, x, &mass);
    for (int k = 0; k < 3; k++)
        c[k] = sap_key_cell(t.gaps.any ? sap_gaps_map(&t.gaps, k, x[k]) : x[k], t.low[k], t.cells);
    const sap_key mine = t.morton ? sap_key_morton(c[0], c[1], c[2]) : sap_key_hilbert(c[0], c[1], c[2]);
    key[i] = t.signs ? sap_key_with_sign(mine, dm_any(d_gt(d_set1(SAP_ZERO), mass))) : mine;
}

/*
 * Gathers the particles in sorted order: sorted[k] is particle address[k], with its mass times mass_unit (0: mass 1).
 * With has_place it also writes the inverse, place[address[k]] = k.
 */
KERNEL(TREE_THREADS)
tree_gather(const GLOBAL wide *given, const GLOBAL int *address, GLOBAL wide *sorted, GLOBAL int *place,
            const int has_place, const D mass_unit, const int n)
{
    const size_t k = global_id();
    if (k >= (size_t)n) return;
    const int i = address[k];
    wide a = given[2 * (size_t)i], b = given[2 * (size_t)i + 1];
    b.y = d_mul(b.y, mass_unit);
    sorted[2 * k] = a;
    sorted[2 * k + 1] = b;
    if (has_place) place[i] = (int)k;
}

/* ---- nodes ---- */

/* Returns the number of levels in which two keys have the same cells: 0 to 21. */
SAP_INLINE int common_levels(U64 a, U64 b)
{
    const U64 x = a ^ b;
    const unsigned high = (unsigned)(x >> 32);
    if (x == 0) return SAP_KEY_LEVELS;
    return (SAP_KEY_BITS - 1 - (high != 0 ? 63 - leading_zeros(high) : 31 - leading_zeros((unsigned)x))) / 3;
}

/*
 * Finds the nodes that begin at each sorted particle k: levels[k] is 32 times the first level plus the last level; no
 * node begins there if first > last.  count[level * tiles + tile]: nodes that begin in a tile.
 */
KERNEL(TREE_THREADS)
tree_levels(const GLOBAL U64 *key, GLOBAL int *levels, GLOBAL int *count, const struct sap_gpu_tree t)
{
    SHARED int counts[LEVELS];
    SHARED unsigned char window[TILE + SAP_LINK_LEAF]; /* from particle `begin - leaf` on: 1 + levels in common with the
                                                          particle `leaf` later */
    const int me = (int)local_id(), leaf = t.leaf_size, begin = (int)group_id(0) * TILE;
    if (me < LEVELS) counts[me] = 0;
    for (int k = me; k < TILE + leaf; k += TREE_THREADS) {
        const int j = begin - leaf + k;
        window[k] = (unsigned char)(j >= 0 && j < t.n - leaf ? common_levels(key[j], key[j + leaf]) + 1 : 0);
    }
    group_barrier();
    for (int k = me; k < TILE; k += TREE_THREADS) {
        const int i = begin + k;
        if (i >= t.n) continue;
        const int first = i > 0 ? common_levels(key[i - 1], key[i]) + 1 : 0;
        int last = 0;
        if (first <= SAP_KEY_LEVELS)
            for (int j = 0; j <= leaf; j++) last = max(last, (int)window[k + j]);
        last = min(last, SAP_KEY_LEVELS);
        levels[i] = first * 32 + last;
        for (int level = first; level <= last; level++) (void)atomic_add(&counts[level], 1);
    }
    group_barrier();
    if (me < LEVELS) count[(size_t)me * t.tiles + group_id(0)] = counts[me];
}

/* Reads from the scanned counts where each level begins, and the number of nodes. */
KERNEL(32)
tree_level_firsts(const GLOBAL int *count, const GLOBAL int *total, GLOBAL int *first, const int total_at,
                  const int tiles)
{
    const int me = (int)local_id();
    if (me < LEVELS) first[me] = count[(size_t)me * tiles];
    if (me == LEVELS) first[me] = total[total_at];
}

/* Returns the end of the run of particles from k on whose keys agree with key[k] in all bits from `shift` on. */
SAP_INLINE int run_end(const GLOBAL U64 *key, int k, int n, int shift)
{
    const U64 run = key[k] >> shift;
    int low = k, step = 1;
    while (step < n - low && key[low + step] >> shift == run) {
        low += step;
        step *= 2;
    }
    int high = low + min(step, n - low);
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (key[middle] >> shift == run)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Writes the nodes that begin in a tile; tree_leaves sets children[] of inner nodes later. */
KERNEL(TREE_THREADS)
tree_link(const GLOBAL U64 *key, const GLOBAL int *levels, const GLOBAL int *offset, GLOBAL struct sap_tree_link *node,
          GLOBAL int *node_level, const struct sap_gpu_tree t)
{
    SHARED unsigned bits[LEVELS * TILE_WORDS];
    SHARED int before[LEVELS * TILE_WORDS];
    const int me = (int)local_id(), begin = (int)group_id(0) * TILE;
    for (int e = me; e < LEVELS * TILE_WORDS; e += TREE_THREADS) bits[e] = 0;
    group_barrier();
    for (int k = me; k < TILE && begin + k < t.n; k += TREE_THREADS) {
        const int here = levels[begin + k];
        for (int level = here / 32; level <= here % 32; level++)
            (void)atomic_or(&bits[level * TILE_WORDS + k / 32], 1U << (k % 32));
    }
    group_barrier();
    for (int e = me; e < LEVELS * TILE_WORDS; e += TREE_THREADS) {
        int sum = offset[(size_t)(e / TILE_WORDS) * t.tiles + group_id(0)];
        for (int w = e / TILE_WORDS * TILE_WORDS; w < e; w++) sum += (int)popcount(bits[w]);
        before[e] = sum;
    }
    group_barrier();
    for (int k = me; k < TILE && begin + k < t.n; k += TREE_THREADS) {
        const int here = levels[begin + k], first = here / 32, last = here % 32;
        const unsigned below = (1U << (k % 32)) - 1U;
        int child = 0; /* from the leaf up: the node below that begins here is the first child */
        for (int level = last; level >= first; level--) {
            const int e = level * TILE_WORDS + k / 32, number = before[e] + (int)popcount(bits[e] & below);
            struct sap_tree_link made;
            made.first = begin + k;
            made.count = run_end(key, begin + k, t.n, 3 * (SAP_KEY_LEVELS - level)) - made.first;
            made.child = child;
            made.children = 0;
            node[number] = made;
            node_level[number] = level;
            child = number;
        }
    }
}
