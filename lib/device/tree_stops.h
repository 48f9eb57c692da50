/*
 * tree_stops.h - kernels that write a tree as an array of stops in depth-first order, for the walk of single particles
 * (tree_stackless.h).
 *
 * A stop is a cell, or a particle; a leaf with so few particles that they are always listed one by one is no stop, and
 * its particles are.  The stops of a cell's descendants follow the cell.  So the walk goes on with the next stop, or
 * skips the descendants.
 *
 * A stop has six doubles: x, y, z in units (without the middle of the cube), the mass in units, and two of two words
 * each: the guard and the turn, as bits of floats; the stop behind its descendants and what it is, the number of a node
 * or ~ the number of a sorted particle.
 *
 * The cells that begin at one sorted particle have successive levels.  begin[i] is the number of cells that begin
 * before sorted particle i, and top[i] the level of the largest that begins there.  So the stop of a cell is
 * first + begin[first] + level - top[first], and that of a particle i is i + begin[i + 1].
 */
#include "device/tree_units.h"

/* Returns 1 if a node is a stop. */
SAP_INLINE int is_stop(struct sap_tree_link node, int order) { return node.children > 0 || node.count > order; }

/* Counts the cells that begin at each sorted particle, and finds the level of the largest. */
KERNEL(SAP_TREE_THREADS)
tree_stop_count(const GLOBAL struct sap_tree_link *node, const GLOBAL int *node_level, GLOBAL int *begin,
                GLOBAL int *top, const struct sap_gpu_tree t)
{
    const int k = (int)global_id();
    if (k >= t.nodes) return;
    const struct sap_tree_link here = node[k];
    if (!is_stop(here, t.order)) return;
    (void)atomic_add(&begin[here.first], 1);
    (void)atomic_min(&top[here.first], node_level[k]);
}

/* Writes stop k from its position and mass as they lie in an array of particles. */
SAP_INLINE void write_stop(GLOBAL wide *stop, int k, const GLOBAL wide *from, D unit, wide rule)
{
    GLOBAL wide *const to = stop + SAP_STOP_PARTS * (size_t)k;
    wide a = from[0], b = from[1];
    a.x = d_mul(a.x, unit), a.y = d_mul(a.y, unit), b.x = d_mul(b.x, unit);
    to[0] = a;
    to[1] = b;
    to[2] = rule;
}

/* Writes the stops of cells. */
KERNEL(SAP_TREE_THREADS)
tree_stop_cells(const GLOBAL struct sap_tree_link *node, const GLOBAL int *node_level, const GLOBAL int *begin,
                const GLOBAL int *top, const GLOBAL float4 *word, const GLOBAL wide *source, GLOBAL wide *stop,
                const struct sap_gpu_tree t)
{
    const int k = (int)global_id();
    if (k >= t.nodes) return;
    const struct sap_tree_link here = node[k];
    if (!is_stop(here, t.order)) return;
    const int behind = here.first + here.count, at = here.first + begin[here.first] + node_level[k] - top[here.first];
    const float guard = word[2 * (size_t)k].w, turn = word[2 * (size_t)k + 1].x;
    wide rule;
    rule.x = d_of_words(bits_of_float(guard < (float)SAP_TREE_NEVER ? guard : W_INFINITY), bits_of_float(turn));
    rule.y = d_of_words(behind + begin[behind], k);
    write_stop(stop, at, source + 2 * (size_t)k, t.unit, rule);
}

/* Writes the stops of particles. */
KERNEL(SAP_TREE_THREADS)
tree_stop_particles(const GLOBAL wide *sorted, const GLOBAL int *begin, GLOBAL wide *stop, const struct sap_gpu_tree t)
{
    const int i = (int)global_id();
    if (i >= t.n) return;
    const int at = i + begin[i + 1];
    wide rule;
    rule.x = d_set1(SAP_ZERO);
    rule.y = d_of_words(at + 1, ~i);
    write_stop(stop, at, sorted + 2 * (size_t)i, t.unit, rule);
}
