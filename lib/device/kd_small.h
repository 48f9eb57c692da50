/*
 * kd_small.h - the kernel for the small nodes of a kd-tree: a group of threads makes a subtree in its memory, level by
 * level, with one particle per thread.
 *
 * In each level all nodes are sorted along their longest sides, and all planes through their particles are compared.
 * The thread of a particle computes the boxes and masses on both sides of its plane by itself, in the order in which
 * the builder of the host adds, since sums of masses depend on their order.
 */
#include "dialect.h"

#include "device/kd_layout.h"
#include "physics/tree_split.h"

enum {
    SMALL = SAP_KD_SMALL,
    NODES = SMALL / 2, /* nodes of more than one particle */
    RUN = 16           /* planes that one thread compares: the root of SMALL */
};

/* Memory of a group: particles by position, nodes of more than one particle by half of their first position. */
struct kd_room {
    D x[3][SMALL], weight[SMALL], cost[SMALL];
    D low[3][NODES], high[3][NODES], entry[3][NODES], exit[3][NODES];
    int address[SMALL], best[SMALL];
    int axis[NODES]; /* in memory, since PoCL takes a choice among constants for the same in all threads */
    int waiting;     /* the last level with nodes that are split */
};

/* The node of a thread's particle; count 0: there is none. */
struct kd_node {
    int first, count;
};

/* ---- start ---- */

/* Loads the particles of a root. */
SAP_INLINE void load_root(LOCAL struct kd_room *m, const GLOBAL struct sap_kd_run *root, const GLOBAL D *point,
                          const GLOBAL int *address)
{
    const int me = (int)local_id(), count = root->count;
    const size_t at = (size_t)root->first + (size_t)min(me, count - 1);
    for (int k = 0; k < 3; k++) m->x[k][me] = point[4 * at + k];
    m->weight[me] = point[4 * at + 3];
    m->address[me] = address[at];
    if (me < 3) {
        m->entry[me][0] = root->entry[me];
        m->exit[me][0] = root->exit[me];
    }
    if (me < NODES) m->axis[me] = 0;
    if (me == 0) m->waiting = -1;
    group_barrier();
}

/* Computes the box of all threads' particles, in runs first. */
SAP_INLINE void find_box(LOCAL struct kd_room *m)
{
    const int me = (int)local_id(), axis = me / (2 * RUN), is_high = me / RUN % 2;
    if (me < 6 * RUN) {
        D bound = m->x[axis][me % RUN * RUN];
        for (int j = 1; j < RUN; j++) {
            const D x = m->x[axis][me % RUN * RUN + j];
            bound = is_high ? d_max(bound, x) : d_min(bound, x);
        }
        m->cost[me] = bound;
    }
    group_barrier();
    if (me < 6) {
        const int which = me / 3, k = me % 3;
        D bound = m->cost[(2 * k + which) * RUN];
        for (int j = 1; j < RUN; j++) {
            const D x = m->cost[(2 * k + which) * RUN + j];
            bound = which ? d_max(bound, x) : d_min(bound, x);
        }
        if (which)
            m->high[k][0] = bound;
        else
            m->low[k][0] = bound;
    }
    group_barrier();
}

/* ---- sort ---- */

/* Moves the particle of each thread to another position, for all threads at once. */
SAP_INLINE void move_to(LOCAL struct kd_room *m, int to)
{
    const int me = (int)local_id();
    const D x = m->x[0][me], y = m->x[1][me], z = m->x[2][me], weight = m->weight[me];
    const int address = m->address[me];
    group_barrier();
    m->x[0][to] = x;
    m->x[1][to] = y;
    m->x[2][to] = z;
    m->weight[to] = weight;
    m->address[to] = address;
    group_barrier();
}

/* Returns the position of the thread's particle among those of its node; equal coordinates keep their order. */
SAP_INLINE int place_of(const LOCAL D *x, const struct kd_node *f)
{
    const int me = (int)local_id();
    const D mine = x[me];
    int place = f->first;
    for (int j = f->first; j < me; j++) place += dm_any(d_ge(mine, x[j])) ? 1 : 0;
    for (int j = me + 1; j < f->first + f->count; j++) place += dm_any(d_gt(mine, x[j])) ? 1 : 0;
    return place;
}

/* ---- planes ---- */

/* The boxes on both sides of a plane: below, above. */
struct kd_sides {
    D low[2][3], high[2][3];
};

SAP_INLINE void widen_by(const LOCAL struct kd_room *m, int j, D *low, D *high, D *mass)
{
    const D x[3] = {m->x[0][j], m->x[1][j], m->x[2][j]};
    sap_split_widen(low, high, x);
    *mass = d_add(*mass, m->weight[j]);
}

/* Computes the boxes on both sides of the plane through the thread's particle, and the cost of the plane. */
SAP_INLINE D compare_sides(const LOCAL struct kd_room *m, const struct kd_node *f, D side, struct kd_sides *s)
{
    const int me = (int)local_id();
    const D scale = sap_split_scale(side);
    D mass = d_set1(SAP_ZERO), rest = d_set1(SAP_ZERO);
    for (int c = 0; c < 2; c++) sap_split_empty(s->low[c], s->high[c]);
    for (int j = f->first; j < me; j++) widen_by(m, j, s->low[0], s->high[0], &mass);
    for (int j = f->first + f->count - 1; j >= me; j--) widen_by(m, j, s->low[1], s->high[1], &rest);
    return sap_split_cost(sap_split_term(s->low[0], s->high[0], scale, mass),
                          sap_split_term(s->low[1], s->high[1], scale, rest));
}

/* Finds the best of the planes below the particles from, from + step ... of a node; 0: there is none. */
SAP_INLINE int best_of(const LOCAL struct kd_room *m, const struct kd_node *f, int axis, int from, int step)
{
    const int end = step == 1 ? min(from + RUN, f->first + f->count) : f->first + f->count;
    int best = 0;
    D least = d_set1(SAP_ZERO);
    for (int j = from; j < end; j += step) {
        const int k = (step == 1 ? j : m->best[j]) - f->first;
        if (k <= 0 || !dm_any(d_gt(m->x[axis][f->first + k], m->x[axis][f->first + k - 1]))) continue;
        if (!sap_split_is_better(m->cost[f->first + k], k, least, best, f->count)) continue;
        best = k;
        least = m->cost[f->first + k];
    }
    return f->first + best;
}

/* Returns the position of the first particle above the best plane of the thread's node. */
SAP_INLINE int best_plane(LOCAL struct kd_room *m, const struct kd_node *f, int axis, int level)
{
    const int at = (int)local_id() - f->first;
    group_barrier();
    if (f->count > 0 && at % RUN == 0) m->best[f->first + at] = best_of(m, f, axis, f->first + at, 1);
    group_barrier();
    if (f->count > 0 && at == 0) {
        const int is_deep = sap_split_is_deep(level, f->count);
        const int best = is_deep ? f->first + f->count / 2 : best_of(m, f, axis, f->first, RUN);
        m->best[f->first] = best;
    }
    group_barrier();
    return m->best[f->first];
}

/* ---- split ---- */

/* Writes box, entry and exit of the children of a node; front: particles of the first child. */
SAP_INLINE void place_children(LOCAL struct kd_room *m, const struct kd_node *f, int axis, D plane, int high_first,
                               int front, const struct kd_sides *s)
{
    const int at = f->first / 2, other = (f->first + front) / 2;
    for (int k = 0; k < 3; k++) {
        const D low = m->low[k][at], high = m->high[k][at], entry = m->entry[k][at], exit = m->exit[k][at];
        if (f->count - front > 1) {
            m->low[k][other] = high_first ? s->low[0][k] : s->low[1][k];
            m->high[k][other] = high_first ? s->high[0][k] : s->high[1][k];
            m->entry[k][other] = sap_split_gate(low, high, plane, k == axis, high_first);
            m->exit[k][other] = exit;
        }
        if (front > 1) {
            m->low[k][at] = high_first ? s->low[1][k] : s->low[0][k];
            m->high[k][at] = high_first ? s->high[1][k] : s->high[0][k];
            m->entry[k][at] = entry;
            m->exit[k][at] = sap_split_gate(low, high, plane, k == axis, !high_first);
        }
    }
}

/* Splits all nodes of a level that are no leaves; inner: from the root's first position on. */
SAP_INLINE void split_nodes(LOCAL struct kd_room *m, struct kd_node *f, D side, int level,
                            GLOBAL struct sap_kd_part *inner)
{
    const int me = (int)local_id(), axis = m->axis[f->first / 2];
    struct kd_sides s;
    move_to(m, f->count > 0 ? place_of(m->x[axis], f) : me);
    if (f->count > 0 && me > f->first) m->cost[me] = compare_sides(m, f, side, &s);
    const int best = best_plane(m, f, axis, level), below = best - f->first;
    const int high_first = dm_any(d_gt(m->entry[axis][f->first / 2], m->exit[axis][f->first / 2]));
    const int front = high_first ? f->count - below : below;
    group_barrier();
    if (f->count > 0 && me == best) {
        place_children(m, f, axis, m->x[axis][me], high_first, front, &s);
        inner[f->first + front].count = f->count;
        inner[f->first + front].level = level;
    }
    move_to(m, f->count == 0 || !high_first ? me : me < best ? me + front : me - below);
    const int is_second = f->count > 0 && me >= f->first + front, rest = f->count > 0 ? f->count - front : 0;
    f->first += is_second ? front : 0;
    f->count = is_second ? rest : f->count - rest;
}

/* Returns the longest side of a node, and its axis. */
SAP_INLINE int axis_of(const LOCAL struct kd_room *m, const struct kd_node *f, D *side)
{
    const int at = f->first / 2;
    const D low[3] = {m->low[0][at], m->low[1][at], m->low[2][at]};
    const D high[3] = {m->high[0][at], m->high[1][at], m->high[2][at]};
    return sap_split_axis(low, high, side);
}

/* Makes the subtree of each root, one group of threads per root. */
KERNEL(SMALL)
kd_small(const GLOBAL D *point, const GLOBAL D *other_point, const GLOBAL int *address, const GLOBAL int *other_address,
         const GLOBAL struct sap_kd_run *roots, GLOBAL struct sap_kd_part *inner, GLOBAL struct sap_kd_part *leaf,
         GLOBAL int *order, const struct sap_kd_arguments b)
{
    SHARED struct kd_room m;
    const int me = (int)local_id();
    const GLOBAL struct sap_kd_run *const root = roots + group_id(0);
    const int first = root->first, count = root->count;
    struct kd_node f = {0, me < count ? count : 0};
    load_root(&m, root, root->side ? other_point : point, root->side ? other_address : address);
    find_box(&m);
    for (int level = root->level; level <= SAP_SPLIT_DEPTH; level++) {
        D side = d_set1(SAP_ZERO);
        const int axis = f.count > 1 ? axis_of(&m, &f, &side) : 0;
        if (f.count > 0 && (f.count <= b.leaf_size || !dm_any(d_gt(side, d_set1(SAP_ZERO))))) {
            if (me == f.first) {
                leaf[first + me].count = f.count;
                leaf[first + me].level = level;
            }
            f.count = 0;
        }
        if (f.count > 0 && me == f.first) m.axis[me / 2] = axis;
        if (f.count > 0) m.waiting = level;
        group_barrier();
        if (m.waiting != level) break; /* for all threads of the group */
        split_nodes(&m, &f, side, level, inner + first);
    }
    if (me < count) order[first + me] = m.address[me];
}
