/*
 * tree_lengths.h - kernels for softening lengths: of sorted particles; of splines the greatest of each node and of each
 * group, and of what other parts of a whole need; of Plummer lengths the squares of each node.  Lengths are in units,
 * but for those of other parts.
 */
#include "device/tree_units.h"

#include "device/tree_halo_places.h"
#include "physics/tree_soft.h"

/* Returns a length in units; 0 where its inverse cube overflows: sap_cube_scaled_length of engine/cube.h. */
SAP_INLINE D scaled_length(D h, D unit)
{
    const D scaled = d_mul(h, unit);
    return dm_any(d_gt(d_set1(SAP_NUMBER(0x1p-660, 0x16B0000000000000UL)), d_mul(scaled, scaled))) ? d_set1(SAP_ZERO)
                                                                                                   : scaled;
}

/* Copies lengths by address to the order of sorted particles. */
KERNEL(SAP_TREE_THREADS)
tree_length_gather(const GLOBAL D *given, const GLOBAL int *address, GLOBAL D *length, const D unit, const int n)
{
    const int k = (int)global_id();
    if (k < n) length[k] = scaled_length(given[address[k]], unit);
}

/* Enters the greatest length of node k into its words, which tree_words has made. */
SAP_INLINE void enter_length(const GLOBAL struct sap_cell *cell, GLOBAL float4 *word, int k, D most,
                             const struct sap_gpu_tree *t)
{
    const struct sap_cell c = cell[k];
    D x[3];
    const D size = in_units(c.centre, t, x), far = d_mul(sap_cell_far(&c), t->unit);
    const float guard = (float)padded(sap_accept_length(d_set1(SAP_ZERO), far, most), size);
    float4 a = word[2 * (size_t)k];
    a.w = a.w > guard ? a.w : guard;
    word[2 * (size_t)k] = a;
}

/*
 * Computes the greatest length of the nodes from .. to - 1, of whose children those are known, and enters it into the
 * words of the nodes.
 */
KERNEL(SAP_TREE_THREADS)
tree_length_nodes(const GLOBAL struct sap_tree_link *node, const GLOBAL struct sap_cell *cell, const GLOBAL D *length,
                  GLOBAL D *of_node, GLOBAL float4 *word, const int from, const int to, const struct sap_gpu_tree t)
{
    const int k = from + (int)global_id();
    if (k >= to) return;
    const struct sap_tree_link here = node[k];
    const int leaf = here.children == 0, first = leaf ? here.first : here.child,
              end = first + (leaf ? here.count : here.children);
    D most = d_set1(SAP_ZERO);
    for (int e = first; e < end; e++) most = d_max(most, leaf ? length[e] : of_node[e]);
    of_node[k] = most;
    enter_length(cell, word, k, most, &t);
}

/* The squares of the Plummer lengths of node k: its mean, least and most in an array. */
SAP_INLINE struct sap_softs load_softs(const GLOBAL D *of_node, int k)
{
    const GLOBAL D *const from = of_node + SAP_SOFT_WORDS * (size_t)k;
    const struct sap_softs soft = {from[0], from[1], from[2]};
    return soft;
}

/* Returns a spread in units as the units of cells have it, and widens the cell by it, if it is > 0: else returns 0. */
SAP_INLINE int widen_cell(struct sap_cell *cell, const struct sap_softs *soft, D unit)
{
    const D spread = d_div(d_div(sap_soft_spread(soft), unit), unit);
    const int is_wider = dm_any(d_gt(spread, d_set1(SAP_ZERO)));
    if (is_wider) sap_soft_widen(cell, spread);
    return is_wider;
}

/* Enters the squares of the Plummer lengths of node k into its words, which tree_words has made.  top: as of that. */
SAP_INLINE void enter_softs(const GLOBAL struct sap_cell *cell, const GLOBAL struct sap_cell *top, GLOBAL float4 *word,
                            int k, const struct sap_softs *soft, const struct sap_gpu_tree *t)
{
    const struct sap_cell root = top[0];
    struct sap_cell c = cell[k];
    D x[3];
    const D size = in_units(c.centre, t, x);
    if (!widen_cell(&c, soft, t->unit)) return;
    const struct sap_criterion how = sap_criterion_of(t->mac, t->order, t->accuracy, t->pull);
    const struct sap_reach reach = sap_accept_reach(&c, &how);
    const float guard = (float)padded(d_mul(reach.guard, t->unit), size);
    const D wide_turn = d_min(d_mul(reach.turn, sap_turn_unit(&root, &how, t->unit)), d_set1(SAP_TREE_NEVER));
    const float turn = (float)w_of_d(wide_turn);
    float4 a = word[2 * (size_t)k], b = word[2 * (size_t)k + 1];
    a.w = a.w > guard ? a.w : guard;
    b.x = b.x > turn ? b.x : turn;
    word[2 * (size_t)k] = a;
    word[2 * (size_t)k + 1] = b;
}

/*
 * Computes the squares of the Plummer lengths of the nodes from .. to - 1, of whose children those are known, and
 * enters them into the words of the nodes, which tree_words has made.  top: as of tree_words.
 */
KERNEL(SAP_TREE_THREADS)
tree_soft_nodes(const GLOBAL struct sap_tree_link *node, const GLOBAL struct sap_cell *cell,
                const GLOBAL struct sap_cell *top, const GLOBAL wide *particle, const GLOBAL D *length,
                GLOBAL D *of_node, GLOBAL float4 *word, const int from, const int to, const struct sap_gpu_tree t)
{
    const int k = from + (int)global_id();
    if (k >= to) return;
    const struct sap_tree_link here = node[k];
    const int leaf = here.children == 0, first = leaf ? here.first : here.child,
              end = first + (leaf ? here.count : here.children);
    struct sap_softs soft;
    D x[3], mass;
    sap_soft_start(&soft);
    for (int e = first; e < end && !leaf; e++) {
        const struct sap_softs child = load_softs(of_node, e);
        sap_soft_add(&soft, cell[e].mass, child.mean, child.least, child.most);
    }
    for (int e = first; e < end && leaf; e++) {
        const D h2 = d_mul(length[e], length[e]);
        load_particle(particle, e, x, &mass);
        sap_soft_add(&soft, d_mul(mass, t.true_mass), h2, h2, h2);
    }
    sap_soft_end(&soft, cell[k].mass);
    GLOBAL D *const words = of_node + SAP_SOFT_WORDS * (size_t)k;
    words[0] = soft.mean, words[1] = soft.least, words[2] = soft.most;
    enter_softs(cell, top, word, k, &soft, &t);
}

/* Computes the greatest length of each group; heavy: groups with lengths that need double are marked. */
KERNEL(SAP_TREE_THREADS)
tree_length_groups(const GLOBAL D *length, const GLOBAL int *group_first, GLOBAL float *longest, GLOBAL int *heavy,
                   const int groups)
{
    const int g = (int)global_id();
    if (g >= groups) return;
    D most = d_set1(SAP_ZERO);
    int is_short = 0;
    for (int k = group_first[g]; k < group_first[g + 1]; k++) {
        const D h = length[k];
        most = d_max(most, h);
        if (dm_any(d_gt(h, d_set1(SAP_ZERO))) && dm_any(d_gt(d_set1(SAP_NUMBER(0x1p-40, 0x3D70000000000000UL)), h)))
            is_short = 1;
    }
    longest[g] = (float)padded(most, d_set1(SAP_ZERO));
    if (is_short) heavy[g] |= SAP_GROUP_HEAVY;
}

/* ---- other parts of a whole (tree_halo.h) ---- */

/* Enters the greatest lengths of imported nodes into their words. */
KERNEL(SAP_TREE_THREADS)
tree_length_words(const GLOBAL struct sap_cell *cell, const GLOBAL D *of_node, GLOBAL float4 *word, const int nodes,
                  const struct sap_gpu_tree t)
{
    const int k = (int)global_id();
    if (k < nodes) enter_length(cell, word, k, of_node[k], &t);
}

/* Enters the squares of the Plummer lengths of imported nodes into their words; top: the root of the tree that walks.
 */
KERNEL(SAP_TREE_THREADS)
tree_soft_words(const GLOBAL struct sap_cell *cell, const GLOBAL struct sap_cell *top, const GLOBAL D *of_node,
                GLOBAL float4 *word, const int nodes, const struct sap_gpu_tree t)
{
    const int k = (int)global_id();
    if (k >= nodes) return;
    const struct sap_softs soft = load_softs(of_node, k);
    enter_softs(cell, top, word, k, &soft, &t);
}

/* Makes nodes accepted only from beyond their greatest lengths on; unit: of these. */
KERNEL(SAP_TREE_THREADS)
tree_length_reach(const GLOBAL struct sap_cell *cell, const GLOBAL D *of_node, GLOBAL wide *reach, const D unit,
                  const int nodes)
{
    const int k = (int)global_id();
    if (k >= nodes) return;
    const struct sap_cell c = cell[k];
    wide w = reach[k];
    w.x = sap_accept_length(w.x, sap_cell_far(&c), d_div(of_node[k], unit));
    reach[k] = w;
}

/* Makes nodes accepted only from where the squares of their Plummer lengths, which are in units, allow it. */
KERNEL(SAP_TREE_THREADS)
tree_soft_reach(const GLOBAL struct sap_cell *cell, const GLOBAL D *of_node, GLOBAL wide *reach, const int nodes,
                const struct sap_gpu_tree t)
{
    const int k = (int)global_id();
    if (k >= nodes) return;
    const struct sap_softs soft = load_softs(of_node, k);
    struct sap_cell c = cell[k];
    if (!widen_cell(&c, &soft, t.unit)) return;
    const struct sap_criterion how = sap_criterion_of(t.mac, t.order, t.accuracy, t.pull);
    const struct sap_reach wider = sap_accept_reach(&c, &how);
    wide w = reach[k];
    w.x = d_max(w.x, wider.guard), w.y = d_max(w.y, wider.turn);
    reach[k] = w;
}

/*
 * Writes the lengths of the nodes of a level and of their particles, 32 threads per entry: the arguments are those of
 * tree_halo_fill.  given: lengths of particles, of which unit * length are those of nodes.  words: per node, a length
 * if it is one, else squares.
 */
KERNEL(32)
tree_length_fill(const GLOBAL struct sap_halo_entry *entry, const GLOBAL int *shift, const int shift_at,
                 const GLOBAL int *before, const GLOBAL struct sap_tree_link *node, const GLOBAL D *of_node,
                 const GLOBAL D *given, const GLOBAL int *address, const int has_address, GLOBAL D *made,
                 GLOBAL D *made_h, const int words, const D unit)
{
    const struct sap_halo_entry here = entry[group_id(0)];
    const int q = (int)group_id(0) + shift[shift_at + here.part], at = before[q], first = node[here.node].first;
    const int me = (int)local_id();
    if (me < words) {
        const D word = d_div(of_node[(size_t)words * (size_t)here.node + (size_t)me], unit);
        made[(size_t)words * (size_t)q + (size_t)me] = words > 1 ? d_div(word, unit) : word;
    }
    for (int i = me; i < here.held; i += 32) made_h[at + i] = given[has_address ? address[first + i] : first + i];
}

/* Copies the lengths of n nodes to where tree_halo_join writes the nodes. */
KERNEL(SAP_TREE_THREADS)
tree_length_join(const GLOBAL D *made, const GLOBAL int *first, const int parts, const int roots, const int halos,
                 GLOBAL D *of_node, const int words, const int n)
{
    const int q = (int)global_id();
    if (q >= n) return;
    const int at = place_of_node(first, parts, roots, halos, q).at;
    for (int w = 0; w < words; w++)
        of_node[(size_t)words * (size_t)at + (size_t)w] = made[(size_t)words * (size_t)q + (size_t)w];
}
