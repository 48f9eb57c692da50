/*
 * tree_moments.h - kernels that compute the moments of cells from the leaves up, the words of cells that the walk
 * needs, and the bounds of groups.
 *
 * A thread computes a cell, from its particles or its children in their order, so that sums have the same bits on every
 * engine.
 */
#include "device/tree_build.h"

/* ---- cells ---- */

/* Particles or children that a thread loads at once: the loads of a batch wait together. */
enum { BATCH = 4, CELL_DOUBLES = SAP_GPU_CELL / 8 };

/*
 * Writes the cells that the threads of a group have made to cell[first ...].  They write together, because a cell is
 * longer than what memory writes at once.
 */
SAP_INLINE void write_cells(const LOCAL struct sap_cell *made, const LOCAL int *is_made, GLOBAL struct sap_cell *cell,
                            int first)
{
    const LOCAL D *const from = (const LOCAL D *)made;
    GLOBAL D *const to = (GLOBAL D *)(cell + first);
    group_barrier();
    for (int e = (int)local_id(); e < CELL_DOUBLES * SAP_LEAF_THREADS; e += SAP_LEAF_THREADS)
        if (is_made[e / CELL_DOUBLES]) to[e] = from[e];
}

/* Computes the cell of a leaf from its particles. */
SAP_INLINE void make_leaf(const GLOBAL wide *sorted, struct sap_tree_link leaf, D true_mass, struct sap_cell *c)
{
    const int end = leaf.first + leaf.count;
    D x[BATCH][3], mass[BATCH];
    sap_cell_start(c);
    for (int from = leaf.first; from < end; from += BATCH) {
        UNROLL
        for (int b = 0; b < BATCH; b++) load_particle(sorted, min(from + b, end - 1), x[b], &mass[b]);
        UNROLL
        for (int b = 0; b < BATCH; b++) {
            mass[b] = d_mul(mass[b], true_mass);
            if (from + b < end) sap_cell_add(c, mass[b], sap_abs(mass[b]), x[b], x[b], x[b]);
        }
    }
    sap_cell_centre(c);
    for (int from = leaf.first; from < end; from += BATCH) {
        UNROLL
        for (int b = 0; b < BATCH; b++) load_particle(sorted, min(from + b, end - 1), x[b], &mass[b]);
        UNROLL
        for (int b = 0; b < BATCH; b++)
            if (from + b < end) sap_cell_shape(c, d_mul(mass[b], true_mass), x[b]);
    }
}

/* Counts the children of an inner node of an octree; level_first: where levels of nodes begin. */
SAP_INLINE int children_of(const GLOBAL struct sap_tree_link *node, struct sap_tree_link here,
                           const GLOBAL int *level_first, int level)
{
    const int most = min(8, level_first[level + 2] - here.child);
    int children = 1;
    while (children < most && node[here.child + children].first < here.first + here.count) children++;
    return children;
}

/*
 * Counts the children of the inner nodes of an octree, unless they are known (linked), and computes the cells of
 * leaves.
 */
KERNEL(SAP_LEAF_THREADS)
tree_leaves(const GLOBAL wide *sorted, GLOBAL struct sap_tree_link *node, const GLOBAL int *node_level,
            const GLOBAL int *level_first, GLOBAL struct sap_cell *cell, const int linked, const struct sap_gpu_tree t)
{
    SHARED struct sap_cell made[SAP_LEAF_THREADS];
    SHARED int is_leaf[SAP_LEAF_THREADS];
    const int me = (int)local_id(), first = (int)group_id(0) * SAP_LEAF_THREADS, k = first + me;
    is_leaf[me] = 0;
    if (k < t.nodes) {
        const struct sap_tree_link here = node[k];
        const int level = node_level[k];
        if (linked ? here.children > 0 : here.count > t.leaf_size && level < SAP_KEY_LEVELS) {
            if (!linked) node[k].children = children_of(node, here, level_first, level);
        } else {
            struct sap_cell c;
            make_leaf(sorted, here, t.true_mass, &c);
            made[me] = c;
            is_leaf[me] = 1;
        }
    }
    write_cells(made, is_leaf, cell, first);
}

/* Computes the cell of an inner node from those of its children. */
SAP_INLINE void make_cell(const GLOBAL struct sap_cell *cell, struct sap_tree_link node, struct sap_cell *c)
{
    const int end = node.child + node.children;
    struct sap_cell child[BATCH];
    sap_cell_start(c);
    for (int from = node.child; from < end; from += BATCH) {
        UNROLL
        for (int b = 0; b < BATCH; b++) child[b] = cell[min(from + b, end - 1)];
        UNROLL
        for (int b = 0; b < BATCH; b++)
            if (from + b < end)
                sap_cell_add(c, child[b].mass, child[b].weight, child[b].centre, child[b].low, child[b].high);
    }
    sap_cell_centre(c);
    for (int from = node.child; from < end; from += BATCH) {
        UNROLL
        for (int b = 0; b < BATCH; b++) child[b] = cell[min(from + b, end - 1)];
        UNROLL
        for (int b = 0; b < BATCH; b++)
            if (from + b < end) sap_cell_shape_child(c, child[b].mass, child[b].centre, child[b].q);
    }
}

/* Computes the cells of the inner nodes from .. to - 1 of a level; the cells of their children must be ready. */
KERNEL(SAP_LEAF_THREADS)
tree_cells(const GLOBAL struct sap_tree_link *node, GLOBAL struct sap_cell *cell, const int from, const int to)
{
    SHARED struct sap_cell made[SAP_LEAF_THREADS];
    SHARED int is_made[SAP_LEAF_THREADS];
    const int me = (int)local_id(), first = from + (int)group_id(0) * SAP_LEAF_THREADS, k = first + me;
    is_made[me] = k < to && node[k].children > 0;
    if (is_made[me]) {
        struct sap_cell c;
        make_cell(cell, node[k], &c);
        made[me] = c;
    }
    write_cells(made, is_made, cell, first);
}

/* ---- what the walk needs ---- */

/* top: the root of the tree whose groups walk, which gives the unit of turns. */
KERNEL(TREE_THREADS)
tree_words(const GLOBAL struct sap_tree_link *node, const GLOBAL struct sap_cell *cell,
           const GLOBAL struct sap_cell *top, GLOBAL float4 *word, GLOBAL wide *source, GLOBAL float4 *moments,
           const int nodes, const struct sap_gpu_tree t)
{
    const int k = (int)global_id();
    if (k >= nodes) return;
    const struct sap_cell root = top[0], c = cell[k];
    const struct sap_criterion how = sap_criterion_of(t.mac, t.order, t.accuracy, t.pull);
    const struct sap_reach reach = sap_accept_reach(&c, &how);
    const D to = d_mul(d_set1(SAP_THREE), d_mul(t.mass_unit, d_mul(t.unit, t.unit)));
    D x[3];
    W s[SAP_MOMENTS2];
    const D size = in_units(c.centre, &t, x);
    word[2 * (size_t)k] = make_float4(w_of_d(sap_tree_cut(x[0])), w_of_d(sap_tree_cut(x[1])),
                                      w_of_d(sap_tree_cut(x[2])), padded(d_mul(reach.guard, t.unit), size));
    const W turn = w_of_d(d_min(d_mul(reach.turn, sap_turn_unit(&root, &how, t.unit)), d_set1(SAP_TREE_NEVER)));
    const struct sap_tree_link here = node[k];
    const int leaf = here.children == 0;
    word[2 * (size_t)k + 1] =
        make_float4(turn, float_of_bits(leaf ? here.first : here.child),
                    float_of_bits(leaf ? here.count : -here.children), padded(d_mul(sap_cell_far(&c), t.unit), size));
    wide a, b;
    a.x = c.centre[0], a.y = c.centre[1], b.x = c.centre[2], b.y = d_mul(c.mass, t.mass_unit);
    source[2 * (size_t)k] = a;
    source[2 * (size_t)k + 1] = b;
    for (int q = 0; q < SAP_MOMENTS2; q++) s[q] = w_of_d(d_mul(c.q[q], to));
    moments[2 * (size_t)k] = make_float4(s[0], s[1], s[2], s[3]);
    moments[2 * (size_t)k + 1] = make_float4(s[4], s[5], 0.5F * (s[SAP_XX] + s[SAP_YY] + s[SAP_ZZ]), 0.0F);
}

/* ---- groups: 32 threads each ---- */

/* Cuts n > 0 sorted target particles into runs of `size`: the first particle of each group, and each one's group. */
KERNEL(TREE_THREADS)
tree_runs(GLOBAL int *group_first, GLOBAL int *group_of, const int size, const int n)
{
    const int k = (int)global_id();
    if (k >= n) return;
    group_of[k] = k / size;
    if (k % size == 0) group_first[k / size] = k;
    if (k == n - 1) group_first[k / size + 1] = n;
}

/*
 * Gives all 32 threads the sums, the least or the most (which 0, 1, 2) of their n values, n <= JOINED; room: 32 values
 * per value.
 */
enum { JOINED = 4 };
SAP_INLINE void join_values(LOCAL D *room, D *mine, int n, int which)
{
    D other[JOINED];
    UNROLL
    for (int step = 16; step > 0; step /= 2) {
        lanes_down(mine, other, n, step, room, 32);
        UNROLL
        for (int k = 0; k < n; k++)
            mine[k] = which == 0   ? d_add(mine[k], other[k])
                      : which == 1 ? d_min(mine[k], other[k])
                                   : d_max(mine[k], other[k]);
    }
    group_barrier();
    for (int k = 0; k < n && local_id() == 0; k++) room[k] = mine[k];
    group_barrier();
    for (int k = 0; k < n; k++) mine[k] = room[k];
    group_barrier();
}

SAP_INLINE D joined(LOCAL D *room, D mine, int which)
{
    join_values(room, &mine, 1, which);
    return mine;
}

/* Returns the squared distance of the farthest target particle of a group. */
SAP_INLINE D farthest(LOCAL D *room, const GLOBAL wide *x, int first, int end, const D *centre)
{
    D most = d_set1(SAP_ZERO), at[3], mass;
    for (int k = first + (int)local_id(); k < end; k += 32) {
        load_particle(x, k, at, &mass);
        most = d_max(most, sap_ball_far(centre, at));
    }
    return joined(room, most, 2);
}

/* Returns the first target particle of a group that is at a squared distance of at least r2. */
SAP_INLINE int farthest_one(LOCAL D *room, const GLOBAL wide *x, int first, int end, const D *centre, D r2)
{
    D least = d_of_int(end - 1), at[3], mass;
    for (int k = first + (int)local_id(); k < end; k += 32) {
        load_particle(x, k, at, &mass);
        if (dm_any(d_ge(sap_ball_far(centre, at), r2))) least = d_min(least, d_of_int(k));
    }
    return int_of_d(joined(room, least, 1));
}

/*
 * Computes Ritter's ball, in every thread alike.  Rounding may leave particles outside, so the caller must compute the
 * radius from the particles.
 */
SAP_INLINE void ball_of_ritter(LOCAL D *room, const GLOBAL wide *x, int first, int end, D *centre)
{
    D a[3], b[3], mass, radius;
    load_particle(x, first, a, &mass);
    load_particle(x, farthest_one(room, x, first, end, a, farthest(room, x, first, end, a)), a, &mass);
    const D r2 = farthest(room, x, first, end, a);
    load_particle(x, farthest_one(room, x, first, end, a, r2), b, &mass);
    radius = d_mul(d_set1(SAP_HALF), d_sqrt(r2));
    for (int c = 0; c < 3; c++) centre[c] = d_add(a[c], d_mul(d_set1(SAP_HALF), d_sub(b[c], a[c])));
    for (int k = first; k < end; k++) {
        load_particle(x, k, a, &mass);
        sap_ball_widen(centre, &radius, a);
    }
}

/* Computes the box of a group. */
SAP_INLINE void box_of(LOCAL D *room, const GLOBAL wide *x, int first, int end, D *low, D *high)
{
    D at[3], mass;
    load_particle(x, first, low, &mass);
    for (int c = 0; c < 3; c++) high[c] = low[c];
    for (int k = first + (int)local_id(); k < end; k += 32) {
        load_particle(x, k, at, &mass);
        for (int c = 0; c < 3; c++) {
            low[c] = d_min(low[c], at[c]);
            high[c] = d_max(high[c], at[c]);
        }
    }
    join_values(room, low, 3, 1);
    join_values(room, high, 3, 2);
}

/* Computes the centre of mass of a group with this box, of masses without signs; returns 0 if the mass is 0. */
SAP_INLINE int mean_of(LOCAL D *room, const GLOBAL wide *x, int first, int end, const D *low, const D *high, D *mean)
{
    D sum[4], at[3], mass;
    for (int c = 0; c < 4; c++) sum[c] = d_set1(SAP_ZERO);
    for (int k = first + (int)local_id(); k < end; k += 32) {
        load_particle(x, k, at, &mass);
        mass = d_abs(mass);
        sum[3] = d_add(sum[3], mass);
        for (int c = 0; c < 3; c++) sum[c] = d_add(sum[c], d_mul(mass, at[c]));
    }
    join_values(room, sum, 4, 0);
    for (int c = 0; c < 3; c++) mean[c] = d_min(d_max(d_div(sum[c], sum[3]), low[c]), high[c]);
    return dm_any(d_gt(sum[3], d_set1(SAP_ZERO)));
}

/* Makes the box of a group, from low to high, the ball of this kind. */
SAP_INLINE void ball_of_group(LOCAL D *room, const GLOBAL wide *x, int first, int end, const D *low, const D *high,
                              int kind, struct sap_bound *b)
{
    D mean[3];
    if (kind == SAP_BALL_RITTER) ball_of_ritter(room, x, first, end, b->centre);
    D r2 = farthest(room, x, first, end, b->centre);
    if ((kind == SAP_BALL_MASS || kind == SAP_BALL_SMALLER) && mean_of(room, x, first, end, low, high, mean)) {
        const D other = farthest(room, x, first, end, mean);
        if (kind == SAP_BALL_MASS || dm_any(d_gt(r2, other))) {
            r2 = other;
            for (int c = 0; c < 3; c++) b->centre[c] = mean[c];
        }
    }
    for (int c = 0; c < 3; c++) b->extent[c] = d_set1(SAP_ZERO);
    b->radius = d_sqrt(r2);
}

/* Returns the largest distance of a point from the middle along an axis, in units; with gaps at least that distance. */
SAP_INLINE D reach_of(const D *place, const struct sap_gpu_tree *t)
{
    D x[3], size = in_units(place, t, x);
    if (!t->gaps.any) return size;
    for (int c = 0; c < 3; c++) size = d_max(size, d_add(d_abs(x[c]), d_mul(sap_gaps_less(&t->gaps, c), t->unit)));
    return size;
}

/* Returns 1 if the pair terms of a group need double; *nearest: as sap_group_wide needs it. */
SAP_INLINE int is_wide(LOCAL D *room, const GLOBAL wide *x, int first, int end, const D *centre, D radius,
                       const struct sap_cell *root, const struct sap_gpu_tree *t, D *nearest)
{
    D a[3], b[3], mass;
    *nearest = d_set1(SAP_LARGEST);
    for (int k = first + 1 + (int)local_id(); k < end; k += 32) {
        load_particle(x, k - 1, a, &mass);
        load_particle(x, k, b, &mass);
        const D r2 = d_add(sap_ball_far(a, b), t->eps2);
        if (dm_any(d_gt(r2, d_set1(SAP_ZERO)))) *nearest = d_min(*nearest, r2);
    }
    *nearest = joined(room, *nearest, 1);
    const D far = d_add(reach_of(centre, t), d_mul(radius, t->unit)),
            size = d_max(d_max(reach_of(root->low, t), reach_of(root->high, t)), far);
    return t->flat || sap_group_wide(radius, *nearest) || sap_group_small(radius, t->unit) ||
           dm_any(d_gt(size, d_set1(SAP_TREE_NEAR)));
}

/* Returns the squared diagonal of the box of sorted particles first ... end - 1, in every thread alike. */
SAP_INLINE D diagonal2_of(LOCAL D *room, const GLOBAL wide *given, const GLOBAL int *address, int first, int end)
{
    D low[3], high[3], at[3], mass;
    load_particle(given, address[first], low, &mass);
    for (int c = 0; c < 3; c++) high[c] = low[c];
    for (int k = first + (int)local_id(); k < end; k += 32) {
        load_particle(given, address[k], at, &mass);
        for (int c = 0; c < 3; c++) {
            low[c] = d_min(low[c], at[c]);
            high[c] = d_max(high[c], at[c]);
        }
    }
    join_values(room, low, 3, 1);
    join_values(room, high, 3, 2);
    return sap_box_diagonal2(low, high);
}

/*
 * Halves groups whose extent exceeds a limit (tree_parts.h): sets flag[k] to 1 where a part begins.  Group g has the
 * sorted particles from group_first[g] on or, if size > 0, those from g * size on; it ends where the next one begins.
 */
KERNEL(32)
tree_divide(const GLOBAL wide *given, const GLOBAL int *address, const GLOBAL int *group_first, GLOBAL int *flag,
            const D limit, const int size, const int groups, const int n)
{
    SHARED D room[32 * JOINED];
    const int g = (int)group_id(0), is_last = g + 1 == groups;
    const D limit2 = d_mul(limit, limit);
    struct sap_parts part;
    sap_parts_start(&part, size > 0 ? g * size : group_first[g],
                    is_last    ? n
                    : size > 0 ? (g + 1) * size
                               : group_first[g + 1]);
    while (sap_parts_left(&part)) {
        if (sap_parts_halves(&part) && dm_any(d_gt(diagonal2_of(room, given, address, part.at, part.end), limit2))) {
            sap_parts_halve(&part);
            continue;
        }
        if (local_id() == 0) flag[part.at] = 1;
        sap_parts_next(&part);
    }
}

/* Writes groups from the flags of their begins and the number of begins before each sorted particle. */
KERNEL(TREE_THREADS)
tree_flagged(const GLOBAL int *flag, const GLOBAL int *before, GLOBAL int *group_first, GLOBAL int *group_of,
             const int n)
{
    const int i = (int)global_id();
    if (i >= n) return;
    const int group = before[i] + flag[i] - 1;
    group_of[i] = group;
    if (flag[i]) group_first[group] = i;
    if (i == n - 1) group_first[group + 1] = n;
}

/*
 * Computes the bounds of groups.  group_first[g]: the first sorted target particle of group g; bound[8 g ...]: centre,
 * extent, radius and nearest; heavy[g]: its marks (SAP_GROUP_HEAVY ...); strict[g], with has_a: its strictness.  a lies
 * by address.
 */
KERNEL(32)
tree_groups(const GLOBAL wide *x, const GLOBAL struct sap_cell *cell, const GLOBAL int *group_first, GLOBAL D *bound,
            GLOBAL int *heavy, const GLOBAL D *a, const GLOBAL int *address, GLOBAL float *strict, const int has_a,
            const struct sap_gpu_tree t)
{
    SHARED D room[32 * JOINED];
    const int g = (int)group_id(0), first = group_first[g], end = group_first[g + 1];
    const struct sap_cell root = cell[0];
    struct sap_bound b;
    D low[3], high[3], nearest, least = d_set1(SAP_LARGEST);
    box_of(room, x, first, end, low, high);
    sap_bound_box(&b, low, high);
    if (t.ball != SAP_BALL_NONE) ball_of_group(room, x, first, end, low, high, t.ball, &b);
    const int needs = is_wide(room, x, first, end, b.centre, sap_bound_size(&b), &root, &t, &nearest);
    for (int k = first + (int)local_id(); k < end && has_a; k += 32) least = d_min(least, a[address[k]]);
    least = joined(room, least, 1);
    if (local_id() == 0) {
        GLOBAL D *const to = bound + SAP_GROUP_WORDS * (size_t)g;
        for (int c = 0; c < 3; c++) to[c] = b.centre[c], to[3 + c] = b.extent[c];
        to[6] = b.radius;
        to[7] = nearest;
        heavy[g] = needs ? SAP_GROUP_HEAVY : 0;
        if (has_a) strict[g] = strictness_of(&root, &t, sap_group_accuracy(t.ball, t.accuracy), least);
    }
}
