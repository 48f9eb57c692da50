/*
 * tree_moments.h - kernels that compute the moments of cells from the leaves up, the words of cells that the walk
 * needs, and the bounds of groups.
 *
 * A thread computes a cell, from its particles or its children in their order, so that sums have the same bits on every
 * engine.
 */
#include "device/tree_build.h"

/* ---- cells ---- */

/*
 * Counts the children of the inner nodes of an octree, unless they are known (linked), and computes the cells of
 * leaves; level_first: where levels of nodes begin.
 */
KERNEL(TREE_THREADS)
tree_leaves(const GLOBAL wide *sorted, GLOBAL struct sap_tree_link *node, const GLOBAL int *node_level,
            const GLOBAL int *level_first, GLOBAL struct sap_cell *cell, const int linked, const struct sap_gpu_tree t)
{
    const int k = (int)global_id();
    if (k >= t.nodes) return;
    const struct sap_tree_link here = node[k];
    const int level = node_level[k];
    if (linked && here.children > 0) return;
    if (!linked && here.count > t.leaf_size && level < SAP_KEY_LEVELS) {
        const int most = min(8, level_first[level + 2] - here.child);
        int children = 1;
        while (children < most && node[here.child + children].first < here.first + here.count) children++;
        node[k].children = children;
        return;
    }
    struct sap_cell c;
    D x[3], mass;
    sap_cell_start(&c);
    for (int j = here.first; j < here.first + here.count; j++) {
        load_particle(sorted, j, x, &mass);
        mass = d_mul(mass, t.true_mass);
        sap_cell_add(&c, mass, sap_abs(mass), x, x, x);
    }
    sap_cell_centre(&c);
    for (int j = here.first; j < here.first + here.count; j++) {
        load_particle(sorted, j, x, &mass);
        sap_cell_shape(&c, d_mul(mass, t.true_mass), x);
    }
    cell[k] = c;
}

/* Computes the cells of the inner nodes from .. to - 1 of a level; the cells of their children must be ready. */
KERNEL(TREE_THREADS)
tree_cells(const GLOBAL struct sap_tree_link *node, GLOBAL struct sap_cell *cell, const int from, const int to)
{
    const int k = from + (int)global_id();
    if (k >= to || node[k].children == 0) return;
    const struct sap_tree_link here = node[k];
    struct sap_cell c;
    sap_cell_start(&c);
    for (int j = here.child; j < here.child + here.children; j++) {
        const struct sap_cell child = cell[j];
        sap_cell_add(&c, child.mass, child.weight, child.centre, child.low, child.high);
    }
    sap_cell_centre(&c);
    for (int j = here.child; j < here.child + here.children; j++) {
        const struct sap_cell child = cell[j];
        sap_cell_shape_child(&c, child.mass, child.centre, child.q);
    }
    cell[k] = c;
}

/* ---- what the walk needs ---- */

KERNEL(TREE_THREADS)
tree_words(const GLOBAL struct sap_cell *cell, GLOBAL float4 *word, GLOBAL float *turn, GLOBAL wide *source,
           GLOBAL float4 *moments, const struct sap_gpu_tree t)
{
    const int k = (int)global_id();
    if (k >= t.nodes) return;
    const struct sap_cell root = cell[0], c = cell[k];
    const struct sap_criterion how = sap_criterion_of(t.mac, t.order, t.accuracy, &root);
    const struct sap_reach reach = sap_accept_reach(&c, &how);
    const D to = d_mul(d_set1(SAP_THREE), d_mul(t.mass_unit, d_mul(t.unit, t.unit)));
    D x[3];
    W s[SAP_MOMENTS2];
    const D size = in_units(c.centre, &t, x);
    word[k] = make_float4(w_of_d(sap_tree_cut(x[0])), w_of_d(sap_tree_cut(x[1])), w_of_d(sap_tree_cut(x[2])),
                          padded(d_mul(reach.guard, t.unit), size));
    turn[k] = w_of_d(d_min(d_mul(reach.turn, sap_turn_unit(&root, &how)), d_set1(SAP_TREE_NEVER)));
    wide a, b;
    a.x = c.centre[0], a.y = c.centre[1], b.x = c.centre[2], b.y = d_mul(c.mass, t.mass_unit);
    source[2 * (size_t)k] = a;
    source[2 * (size_t)k + 1] = b;
    for (int q = 0; q < SAP_MOMENTS2; q++) s[q] = w_of_d(d_mul(c.q[q], to));
    moments[2 * (size_t)k] = make_float4(s[0], s[1], s[2], s[3]);
    moments[2 * (size_t)k + 1] = make_float4(s[4], s[5], 0.5F * (s[SAP_XX] + s[SAP_YY] + s[SAP_ZZ]), 0.0F);
}

/* ---- groups: 32 threads each ---- */

/* Returns to all 32 threads the sum, the least or the most (which 0, 1, 2) of their values. */
SAP_INLINE D joined(LOCAL D *room, D mine, int which)
{
    const int me = (int)local_id();
    group_barrier();
    room[me] = mine;
    for (int step = 16; step > 0; step /= 2) {
        group_barrier();
        if (me < step) {
            const D a = room[me], b = room[me + step];
            room[me] = which == 0 ? d_add(a, b) : which == 1 ? d_min(a, b) : d_max(a, b);
        }
    }
    group_barrier();
    return room[0];
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

/*
 * Computes the middle of the box of a group, and its centre of mass, of masses without signs; returns 0 if the mass is
 * 0.
 */
SAP_INLINE int centres_of(LOCAL D *room, const GLOBAL wide *x, int first, int end, D *middle, D *mean)
{
    D low[3], high[3], sum[4], at[3], mass;
    load_particle(x, first, low, &mass);
    for (int c = 0; c < 3; c++) high[c] = low[c], sum[c] = d_set1(SAP_ZERO);
    sum[3] = d_set1(SAP_ZERO);
    for (int k = first + (int)local_id(); k < end; k += 32) {
        load_particle(x, k, at, &mass);
        mass = d_abs(mass);
        sum[3] = d_add(sum[3], mass);
        for (int c = 0; c < 3; c++) {
            low[c] = d_min(low[c], at[c]);
            high[c] = d_max(high[c], at[c]);
            sum[c] = d_add(sum[c], d_mul(mass, at[c]));
        }
    }
    const D weight = joined(room, sum[3], 0);
    for (int c = 0; c < 3; c++) {
        const D from = joined(room, low[c], 1), to = joined(room, high[c], 2), total = joined(room, sum[c], 0);
        middle[c] = d_add(from, d_mul(d_set1(SAP_HALF), d_sub(to, from)));
        mean[c] = d_min(d_max(d_div(total, weight), from), to);
    }
    return dm_any(d_gt(weight, d_set1(SAP_ZERO)));
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
    D size = in_units(root->low, t, a);
    size = d_max(size, in_units(root->high, t, a));
    size = d_max(size, in_units(centre, t, a));
    return t->flat || sap_group_wide(radius, *nearest) || sap_group_small(radius, t->unit) ||
           dm_any(d_gt(size, d_set1(SAP_TREE_NEAR)));
}

/*
 * Computes the bounds of groups.  ball[5 g ...]: centre, radius and nearest of group g of n sorted target particles;
 * heavy[g]: its pair terms need double; strict[g], with has_a: its strictness.  a lies by address.
 */
KERNEL(32)
tree_groups(const GLOBAL wide *x, const GLOBAL struct sap_cell *cell, GLOBAL D *ball, GLOBAL int *heavy,
            const GLOBAL D *a, const GLOBAL int *address, GLOBAL float *strict, const int has_a, const int n,
            const struct sap_gpu_tree t)
{
    SHARED D room[32];
    const int g = (int)group_id(0), first = g * t.group_size, end = min(first + t.group_size, n);
    const struct sap_cell root = cell[0];
    D centre[3], mean[3], nearest, least = d_set1(SAP_LARGEST);
    const int massive = centres_of(room, x, first, end, centre, mean);
    if (t.ball == SAP_BALL_RITTER) ball_of_ritter(room, x, first, end, centre);
    D r2 = farthest(room, x, first, end, centre);
    if (massive && (t.ball == SAP_BALL_MASS || t.ball == SAP_BALL_SMALLER)) {
        const D other = farthest(room, x, first, end, mean);
        if (t.ball == SAP_BALL_MASS || dm_any(d_gt(r2, other))) {
            r2 = other;
            for (int c = 0; c < 3; c++) centre[c] = mean[c];
        }
    }
    const D radius = d_sqrt(r2);
    const int needs = is_wide(room, x, first, end, centre, radius, &root, &t, &nearest);
    for (int k = first + (int)local_id(); k < end && has_a; k += 32) least = d_min(least, a[address[k]]);
    least = joined(room, least, 1);
    if (local_id() == 0) {
        for (int c = 0; c < 3; c++) ball[SAP_GROUP_WORDS * (size_t)g + c] = centre[c];
        ball[SAP_GROUP_WORDS * (size_t)g + 3] = radius;
        ball[SAP_GROUP_WORDS * (size_t)g + 4] = nearest;
        heavy[g] = needs;
        if (has_a) strict[g] = strictness_of(&root, &t, least);
    }
}
