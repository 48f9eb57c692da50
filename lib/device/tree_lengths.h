/*
 * tree_lengths.h - kernels for softening lengths: of sorted particles; of splines the greatest of each node and of each
 * group; of Plummer lengths the squares of each node.  Lengths are in units.
 */
#include "device/tree_units.h"
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

/*
 * Computes the greatest length of the nodes from .. to - 1, of whose children those are known, and enters it into the
 * words of the nodes, which tree_words has made.
 */
KERNEL(SAP_TREE_THREADS)
tree_length_nodes(const GLOBAL struct sap_tree_link *node, const GLOBAL struct sap_cell *cell, const GLOBAL D *length,
                  GLOBAL D *of_node, GLOBAL float4 *word, const int from, const int to, const struct sap_gpu_tree t)
{
    const int k = from + (int)global_id();
    if (k >= to) return;
    const struct sap_tree_link here = node[k];
    const struct sap_cell c = cell[k];
    const int leaf = here.children == 0, first = leaf ? here.first : here.child,
              end = first + (leaf ? here.count : here.children);
    D most = d_set1(SAP_ZERO), x[3];
    for (int e = first; e < end; e++) most = d_max(most, leaf ? length[e] : of_node[e]);
    of_node[k] = most;
    const D size = in_units(c.centre, &t, x), far = d_mul(sap_cell_far(&c), t.unit);
    const float guard = (float)padded(sap_accept_length(d_set1(SAP_ZERO), far, most), size);
    float4 a = word[2 * (size_t)k];
    a.w = a.w > guard ? a.w : guard;
    word[2 * (size_t)k] = a;
}

/* The squares of the Plummer lengths of node k: its mean, least and most in an array. */
SAP_INLINE struct sap_softs load_softs(const GLOBAL D *of_node, int k)
{
    const GLOBAL D *const from = of_node + SAP_SOFT_WORDS * (size_t)k;
    const struct sap_softs soft = {from[0], from[1], from[2]};
    return soft;
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
    const struct sap_cell root = top[0];
    const int leaf = here.children == 0, first = leaf ? here.first : here.child,
              end = first + (leaf ? here.count : here.children);
    struct sap_cell c = cell[k];
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
    sap_soft_end(&soft, c.mass);
    GLOBAL D *const words = of_node + SAP_SOFT_WORDS * (size_t)k;
    words[0] = soft.mean, words[1] = soft.least, words[2] = soft.most;
    const D spread = d_div(d_div(sap_soft_spread(&soft), t.unit), t.unit), size = in_units(c.centre, &t, x);
    if (!dm_any(d_gt(spread, d_set1(SAP_ZERO)))) return;
    const struct sap_criterion how = sap_criterion_of(t.mac, t.order, t.accuracy, t.pull);
    sap_soft_widen(&c, spread);
    const struct sap_reach reach = sap_accept_reach(&c, &how);
    const float guard = (float)padded(d_mul(reach.guard, t.unit), size);
    const D wide_turn = d_min(d_mul(reach.turn, sap_turn_unit(&root, &how, t.unit)), d_set1(SAP_TREE_NEVER));
    const float turn = (float)w_of_d(wide_turn);
    float4 a = word[2 * (size_t)k], b = word[2 * (size_t)k + 1];
    a.w = a.w > guard ? a.w : guard;
    b.x = b.x > turn ? b.x : turn;
    word[2 * (size_t)k] = a;
    word[2 * (size_t)k + 1] = b;
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
    if (is_short) heavy[g] = 1;
}
