/*
 * tree_walk.h - tree forces on all target particles by groups: 32 threads hold up to 96 target particles of a group,
 * whose bound decides which cells are accepted.
 *
 * Cells to be tested wait on a stack as runs of siblings.  A round takes runs from the top, 32 cells at most, tests one
 * cell per thread, and puts the children of cells that are opened on top, the deepest last.  So runs of a level lie
 * together, with deeper runs above, and all runs of one level were put there in the same round: there are never more
 * than 32 runs per level, for any number of particles.  A group with a district (tree_districts.h) begins with the
 * nodes that this has listed: 32 of them come on top whenever fewer runs than that are left, which is room for two
 * levels more.
 *
 * Accepted cells that are distant (physics/tree_local.h) wait on a list of their own.  Each thread computes the
 * coefficients of one of them; their sums over the threads and over all distant cells are the polynomial of the group.
 *
 * Sums over the threads decide the position of each entry on a list, so the order of terms is always the same.
 *
 * If the bound of a group holds far more leaves than the group has (for instance because the curve jumps within the
 * group), 32 threads would have to open all of them.  Such a group is left to the few-target walk (tree_few.h), in
 * bunches whose target particles walk one by one; where float did not suffice, together.  A group that needs double
 * from the start, that has many lists with clumps (SAP_CLUMP), or whose sums are not finite in float, is left to the
 * kernel in double.
 *
 * If particles have lengths (SAP_TREE_SPLINE, SAP_TREE_SOFT) there are no kernels for selected particles: these walk in
 * bunches alone.  With SAP_TREE_SOFT no cell is distant, since target particles differ in softening.
 */
#include "device/tree_sums.h"

#if defined(SAP_KERNEL_DP)
#define WALK_IS_DP 1
#else
#define WALK_IS_DP 0
#endif

#ifndef WALK_GROUPS
#define WALK_GROUPS 0 /* groups that a multiprocessor must be able to hold; 0: the compiler decides */
#endif
#ifndef SELECTED_GROUPS
#define SELECTED_GROUPS WALK_GROUPS /* the same for selected particles */
#endif
#ifndef WHOLE_GROUPS
#define WHOLE_GROUPS WALK_GROUPS /* the same for groups of whole nodes */
#endif

/*
 * Returns how many particles of a leaf belong to the group; they are a gap in the leaf's particles that begins at
 * `own`.
 */
SAP_INLINE int overlap(const struct walk_node *leaf, int own, int own_end)
{
    return max(0, min(leaf->at + leaf->many, own_end) - max(leaf->at, own));
}

/* Returns part p of the particles in tree order, which is a group or lies within one. */
SAP_INLINE struct walk_part part_of_group(const struct walk_force *o, const struct sap_gpu_walk *w, int p)
{
    const int g = p / w->group_parts;
    struct walk_part q;
    q.own = o->group_first[g];
    q.own_end = o->group_first[g + 1];
    q.first = q.own + p % w->group_parts * w->part;
    q.rows = o->heavy[g] & SAP_GROUP_CROWDED ? 0 : min(q.own_end - q.first, w->part);
    q.bound = load_bound(o->bound, g);
    q.strictness = w->strict ? (V)o->strict[g] : v_set1(0.0);
#if defined(SAP_KERNEL_DP)
    q.walks = 1;
#else
    q.walks = !(o->heavy[g] & SAP_GROUP_HEAVY);
#endif
    q.length = SPLINE ? (V)o->longest[g] : v_set1(0.0);
    return q;
}

enum {
#if defined(SAP_TREE_SPLINE) || defined(SAP_TREE_SOFT)
    DISTRICTS = 0 /* walks have no districts */
#else
    DISTRICTS = 1
#endif
};

#if !defined(SAP_KERNEL_DP)
/* Returns 1 if float resolves near particles of a bound of this size that holds particles `from` to `to`. */
SAP_INLINE int float_suffices(const struct walk_force *o, D size, int from, int to)
{
    int suffices = 1;
    for (int g = o->group_of[from]; g <= o->group_of[to]; g++)
        if (o->heavy[g] & SAP_GROUP_HEAVY || sap_group_wide(size, nearest_of(o, g))) suffices = 0;
    return suffices;
}
#endif

/*
 * Returns part p of selected particles: SAP_WALK_SELECTED slots, whose particles are in tree order.  They walk together
 * unless they are scattered among too many others.
 */
SAP_INLINE struct walk_part part_of_slots(const struct walk_room *m, const struct walk_force *o,
                                          const struct sap_gpu_walk *w, const struct sap_gpu_tree *t, int p)
{
    LOCAL D(*const x)[3] = (LOCAL D(*)[3])m->words;
    struct walk_part q;
    q.own = q.own_end = 0;
    q.first = p * SAP_WALK_SELECTED;
    q.rows = min(w->slots - q.first, (int)SAP_WALK_SELECTED);
    const int from = o->slot[q.first], to = o->slot[q.first + q.rows - 1];
    q.walks = to - from < w->span * SAP_WALK_SELECTED;
    q.strictness = q.length = v_set1(0.0);
    for (int k = (int)local_id(); k < q.rows && q.walks; k += WALK_THREADS) {
        D at[3], mass;
        load_particle(o->walker, o->slot[q.first + k], at, &mass);
        for (int c = 0; c < 3; c++) x[k][c] = at[c];
    }
    group_barrier();
    bound_of(t, x, q.walks ? q.rows : 1, &q.bound);
    group_barrier(); /* the next part writes there */
    for (int k = 0; k < q.rows && w->strict; k++) q.strictness = v_max(q.strictness, (V)o->strict[q.first + k]);
#if !defined(SAP_KERNEL_DP)
    q.walks = q.walks && float_suffices(o, sap_bound_size(&q.bound), from, to);
#endif
    return q;
}

SAP_INLINE void start_walkers(const struct walk_frame *f, const struct sap_gpu_walk *w, const struct walk_force *o,
                              const int selected, const int most, int first, int rows, struct walkers *i)
{
    i->many = (rows + WALK_THREADS - 1) / WALK_THREADS;
    UNROLL
    for (int k = 0; k < most; k++) {
        const int at = first + min((int)local_id() + k * WALK_THREADS, rows - 1), walker = selected ? o->slot[at] : at;
        W words[4];
        relative(f, o->walker, walker, words);
        for (int c = 0; c < 3; c++) i->x[k][c] = words[c];
        i->number[k] = w->own ? walker : -1;
        i->h2[k] = HAS_LENGTHS ? w_of_d(d_mul(o->length[walker], o->length[walker])) : v_set1(0.0);
        for (int q = 0; q < SAP_SUMS2; q++) i->sum[k][q] = d_set1(SAP_ZERO);
    }
}

/* Returns the bunch of target particle k of a part, of at most WALK_THREADS. */
SAP_INLINE int bunch_of(const struct sap_gpu_walk *w, int k) { return min(k / w->left_width, (int)WALK_THREADS - 1); }

/* Writes the sums of a thread's target particles to their rows; marks the bunches in which some are not finite. */
SAP_INLINE void deliver(const int most, const struct walkers *i, const struct sap_gpu_tree *t,
                        const struct sap_gpu_walk *w, const struct walk_force *o, const LOCAL struct walk_place *p,
                        LOCAL int *mark)
{
    const GLOBAL int *const row = o->row + p->first;
    const int rows = p->rows;
    UNROLL
    for (int k = 0; k < most; k++) {
        const int at = (int)local_id() + k * WALK_THREADS;
        if (at < rows && !deliver_row(i->sum[k], t, (size_t)row[at], o->acc, o->pot, o->left))
            mark[bunch_of(w, at)] = 1;
    }
}

#if !defined(SAP_KERNEL_DP)
/*
 * Leaves the marked bunches of a part to the kernels in double; the whole part if these are more than a quarter, or if
 * many lists are clumped.  Returns the number of rows that are left.
 */
SAP_INLINE int leave_marked(const struct walk_force *o, const struct sap_gpu_walk *w, const LOCAL struct walk_place *p,
                            const LOCAL int *mark)
{
    const int bunches = bunch_of(w, p->rows - 1) + 1;
    const int clumped = p->clumped > CLUMPED_LISTS;
    int marked = clumped ? bunches : 0;
    for (int b = 0; b < bunches && !clumped; b++) marked += mark[b];
    if (4 * marked > bunches || w->left_width < IPT) {
        if (marked > 0) leave_it(o->left, w, SAP_LEFT_PARTS, p->item);
        return marked > 0 ? p->rows : 0;
    }
    int rows = 0;
    for (int b = 0; b < bunches && marked > 0; b++) {
        if (!mark[b]) continue;
        leave_it(o->left, w, SAP_LEFT_WIDE, p->first + b * w->left_width);
        rows += min(w->left_width, p->rows - b * w->left_width);
    }
    return rows;
}
#endif

/* What the walk of a part has in hand, the same in all threads of the group. */
struct walk_hand {
    int top;                   /* runs on the stack */
    int cells, distant, nears; /* entries of the lists */
    int spare;                 /* leaves that the bound may hold besides those that have been met; < 0: too many */
    int rest;                  /* nodes of the district's list that have not been taken */
    int owning;                /* the group's own particles are to be listed now */
    int has_distant;           /* a distant cell has been added */
};

/* Particles that a thread lists: `near` from `from` on, with a gap of `hidden` for the group's own. */
struct walk_found {
    int from, near, hidden;
    int near_at, near_sum; /* how many those of earlier threads are, and those of all threads */
};

/* Adds the polynomial of the district. */
SAP_INLINE void add_district(const int most, const struct walk_frame *f, const struct walk_room *m, struct walkers *i)
{
    const GLOBAL D *const from = m->force->district + (size_t)m->place->district * SAP_DISTRICT_WORDS;
    V c[SAP_LOCAL], off[3];
    UNROLL
    for (int q = 0; q < SAP_LOCAL; q++) c[q] = w_of_d(from[q]);
    for (int k = 0; k < 3; k++) off[k] = w_of_d(d_mul(d_sub(f->ball[k], from[SAP_LOCAL + k]), f->unit));
    add_series(most, f, c, 1, off, i);
}

/* Starts the walk of part p: what its end needs, the frame of its words, its target particles, and the roots. */
SAP_INLINE struct walk_hand start_part(const int most, const struct walk_room *m, const struct sap_gpu_walk *w,
                                       const struct sap_gpu_tree *t, const struct walk_part *q, int p, int crowd,
                                       int law, struct walk_frame *f, struct walkers *i)
{
    const int me = (int)local_id(), selected = m->selected;
    const int district = DISTRICTS && w->districts && !selected ? p / w->group_parts / SAP_DISTRICT : -1;
    const GLOBAL int *const list = m->force->district_node + (size_t)max(district, 0) * SAP_DISTRICT_ROOM;
    const int rest = district >= 0 ? list[0] : -1;
    group_barrier();
    if (me == 0) {
        m->place->item = p;
        m->place->first = q->first;
        m->place->rows = q->rows;
        m->place->clumped = 0;
        m->place->cells = m->place->shared = rest >= 0 ? list[1] : 0;
        m->place->district = rest >= 0 ? district : -1;
        m->place->nears = selected ? -1 : w->own ? q->own_end - q->own - 1 : 0;
        m->place->bound = words_of_bound(t, &q->bound, q->strictness, q->length);
        m->place->near2 = m->place->bound.near2;
    }
    start_frame(t, q->bound.centre, f);
    if (SPLINE) f->radius = reach_of(padded(d_mul(sap_bound_size(&q->bound), t->unit), d_set1(SAP_ZERO)));
    f->length = q->length;
    f->law = law;
    start_walkers(f, w, m->force, selected, most, q->first, q->rows, i);
    for (int c = me; c < SAP_LOCAL; c += WALK_THREADS) m->coefficients[c] = d_set1(SAP_ZERO);
    struct walk_hand h = {
        rest < 0 ? begin_stack(m->stack, w) : 0, 0, 0, 0, crowd, max(rest, 0), w->own && !selected, 0};
    group_barrier();
    return h;
}

/* Whether no cells are left to be tested. */
SAP_INLINE int is_through(const struct walk_hand *h) { return h->top == 0 && h->rest == 0; }

/* Puts nodes of the district's list on the stack, if it does not fill a round. */
SAP_INLINE void take_listed(const struct walk_room *m, struct walk_hand *h)
{
    const int me = (int)local_id(), n = h->top < WALK_THREADS ? min(h->rest, (int)WALK_THREADS) : 0;
    const GLOBAL int *const list = m->force->district_node + (size_t)max(m->place->district, 0) * SAP_DISTRICT_ROOM;
    if (me < n) m->stack[h->top + me] = (unsigned)list[2 + h->rest - n + me] << 3;
    h->top += n;
    h->rest -= n;
    group_barrier();
}

/*
 * Takes runs from the top of the stack, WALK_THREADS cells at most: next_ones begins with them; then follow how many
 * runs were taken, and how many cells.
 */
SAP_INLINE void take_runs(const struct walk_room *m, int top)
{
    const int me = (int)local_id();
    const unsigned run = me < top ? m->stack[top - 1 - me] : 0;
    const int length = me < top ? (int)(run & 7U) + 1 : 0;
    const int more = me + 1 < top ? (int)(m->stack[top - 2 - me] & 7U) + 1 : (int)WALK_THREADS + 1;
    int sum;
    const int before = lanes_scan(m->scan, length, &sum);
    const int taken = me < top && before + length <= WALK_THREADS;
    lanes_spread(m->next_ones, taken ? length : 0, before, (int)(run >> 3));
    if (taken && (me == WALK_THREADS - 1 || before + length + more > WALK_THREADS)) {
        m->next_ones[WALK_THREADS] = me + 1; /* the last run that is taken */
        m->next_ones[WALK_THREADS + 1] = before + length;
    }
    group_barrier();
}

/*
 * Tests the cells that were taken, one per thread.  Accepted ones get on the lists of cells, the children of opened
 * ones on the stack; the particles of leaves are found.  own_walks: no accepted cell holds a target particle, and these
 * are listed by themselves.
 */
SAP_INLINE void examine(const struct walk_room *m, const struct sap_gpu_tree *t, const struct walk_part *q,
                        int own_walks, struct walk_hand *h, struct walk_found *found)
{
    const int me = (int)local_id();
    h->top -= m->next_ones[WALK_THREADS];
    const int here = me < m->next_ones[WALK_THREADS + 1], k = here ? m->next_ones[me] : 0;
    const struct walk_node n = walk_node_of(m->force->word, k);
    const struct walk_bound b = m->place->bound;
    const V distance2 = distance2_of(&n, &b);
    const int acts = here && accepted(&n, distance2, &b), leaf = n.many >= 0;
    const int as_cell = acts_as_cell(&n, here, acts, t->order), opens = here && !acts && !leaf;
    const int far = !SOFT && as_cell && acts && is_distant(&n, &b);
    const struct lanes_marks marks =
        lanes_mark(m->scan, as_cell && !far, opens, far, here && leaf && inside(distance2, &b));
    h->spare -= marks.fourth;
    found->from = n.at;
    found->hidden = here && leaf && !as_cell && own_walks ? overlap(&n, q->own, q->own_end) : 0;
    found->near = here && leaf && !as_cell ? n.many - found->hidden : 0;
    found->near_at = lanes_scan(m->scan, found->near, &found->near_sum);
    if (opens) m->stack[h->top + marks.second - 1 - marks.second_at] = (unsigned)n.at << 3 | (unsigned)(-n.many - 1);
    if (as_cell && !far) m->cell[h->cells + marks.first_at] = k;
    if (far) m->distant[h->distant + marks.third_at] = k;
    h->top += marks.second;
    h->cells += marks.first;
    h->distant += marks.third;
    if (me == 0) {
        m->place->cells += marks.first + marks.third;
        m->place->nears += found->near_sum;
    }
    if (h->spare < 0)
        h->top = h->rest = h->cells = h->distant = h->nears = found->near_sum = 0; /* the group is split */
    group_barrier();
}

/* Adds cells and distant cells if their list might overflow in the next round, or if it is the last. */
SAP_INLINE void sum_listed_cells(const int most, const struct walk_frame *f, const struct walk_room *m,
                                 struct walkers *i, struct walk_hand *h)
{
    if (h->cells > CELL_LIST - WALK_THREADS || (h->cells > 0 && is_through(h))) {
        sum_cells(most, f, m, m->sources, i, h->cells);
        h->cells = 0;
    }
    if (!SOFT) h->has_distant |= sum_listed_distant(f, m, &h->distant, is_through(h));
}

/* Lists the particles that were found, and adds lists that are full, or that must be added now. */
SAP_INLINE void sum_listed_particles(const int most, const struct walk_frame *f, const struct walk_room *m, int own,
                                     const struct walk_found *found, int last, struct walkers *i, struct walk_hand *h)
{
    for (int done = 0; done < found->near_sum || (last && h->nears > 0);) {
        const int take = min(found->near_sum - done, NEAR_LIST - h->nears);
        const int end = min(found->near_at + found->near, done + take);
        for (int e = max(found->near_at, done); e < end; e++) {
            const int j = found->from + e - found->near_at;
            m->near[h->nears + e - done] = found->hidden > 0 && j >= own ? j + found->hidden : j;
        }
        h->nears += take;
        done += take;
        group_barrier();
        if (h->nears == NEAR_LIST || last) {
            sum_particles(most, f, m, i, h->owning, h->nears);
            h->nears = 0;
        }
    }
}

/* Delivers the sums of a part, or leaves it to a later launch: apart, since its bound holds too many leaves. */
SAP_INLINE void end_part(const int most, const struct walk_frame *f, const struct walk_room *m,
                         const struct sap_gpu_walk *w, const struct sap_gpu_tree *t, const struct walk_hand *h,
                         struct walkers *i)
{
    const struct walk_force *const o = m->force;
    const int me = (int)local_id(), apart = h->spare < 0;
    if (h->has_distant) add_polynomial(most, f, m, i);
    if (DISTRICTS && m->place->shared > 0) add_district(most, f, m, i);
    m->next_ones[me] = 0;
    group_barrier();
    if (!apart) deliver(most, i, t, w, o, m->place, m->next_ones);
    for (int k = me; k < m->place->rows && w->work > 0 && !apart; k += WALK_THREADS)
        o->left[(size_t)w->work + (size_t)o->row[m->place->first + k]] = m->place->nears + m->place->cells;
    group_barrier();
    if (me == 0) {
        int left = apart ? m->place->rows : 0;
        if (apart) leave_bunches(o->left, w, WALK_APART, m->place->first, m->place->rows);
#if !defined(SAP_KERNEL_DP)
        if (!apart) left = leave_marked(o, w, m->place, m->next_ones);
#endif
        if (left < m->place->rows) tell(o->left, m->place->rows - left, m->place->nears, m->place->cells);
    }
    group_barrier();
}

/* Returns how many leaves a bound may hold; a group whose bound holds more is split. */
SAP_INLINE int crowd_of(const struct sap_gpu_walk *w, const struct sap_gpu_tree *t)
{
    const int many = w->parts >= SAP_WALK_MANY * max(w->group_parts, 1);
    return max(16, (many ? SAP_WALK_CROWD / 2 : SAP_WALK_CROWD) * t->group_size / t->leaf_size);
}

#if !defined(SAP_TREE_SPLINE) && !defined(SAP_TREE_SOFT)
/* Returns 1 if a node may hold a leaf whose centre is within a bound. */
SAP_INLINE int may_hold(const struct walk_node *n, V distance2, const struct walk_bound *b)
{
    const V reach = v_mul(v_add(b->radius, (V)n->far), (V)1.0001F);
    return distance2 <= v_mul(reach, reach) ? 1 : 0;
}

enum { CROWD_RUN = 4 };

#if defined(SAP_KERNEL_DP)
#define CROWDS_NAME tree_crowds_dp
#else
#define CROWDS_NAME tree_crowds_sp
#endif

/*
 * Counts the leaves whose centres are within the bound of a group, until there are more than it may hold; returns
 * whether there are.  They belong to no cell that the group accepts, so its walk counts the same leaves.
 */
SAP_INLINE int is_crowd(const struct walk_room *m, const struct sap_gpu_walk *w, const struct walk_bound *b, int most)
{
    const int me = (int)local_id();
    int top = begin_stack(m->stack, w);
    while (top > 0 && most >= 0) {
        take_runs(m, top);
        top -= m->next_ones[WALK_THREADS];
        const int here = me < m->next_ones[WALK_THREADS + 1];
        const struct walk_node n = walk_node_of(m->force->word, here ? m->next_ones[me] : 0);
        const V distance2 = distance2_of(&n, b);
        const int leaf = n.many >= 0, opens = here && !leaf && may_hold(&n, distance2, b);
        const struct lanes_marks marks = lanes_mark(m->scan, opens, 0, 0, here && leaf && inside(distance2, b));
        if (opens) m->stack[top + marks.first - 1 - marks.first_at] = (unsigned)n.at << 3 | (unsigned)(-n.many - 1);
        top += marks.first;
        most -= marks.fourth;
        group_barrier();
    }
    return most < 0;
}

/* The box of the bounds of groups from .. to. */
SAP_INLINE struct sap_bound box_of_bounds(const GLOBAL D *bound, int from, int to)
{
    struct sap_bound all;
    D low[3], high[3];
    for (int g = from; g <= to; g++) {
        const struct sap_bound b = load_bound(bound, g);
        for (int c = 0; c < 3; c++) {
            const D reach = d_add(b.extent[c], b.radius), down = d_sub(b.centre[c], reach),
                    up = d_add(b.centre[c], reach);
            low[c] = g == from ? down : d_min(low[c], down);
            high[c] = g == from ? up : d_max(high[c], up);
        }
    }
    sap_bound_box(&all, low, high);
    return all;
}

/* Whether a bound holds more leaves than so many. */
SAP_INLINE int holds_crowd(const struct walk_room *m, const struct sap_gpu_walk *w, const struct sap_gpu_tree *t,
                           const struct sap_bound *from, int most)
{
    const struct walk_bound b = words_of_bound(t, from, v_set1(0.0), v_set1(0.0));
    return is_crowd(m, w, &b, most);
}

/*
 * Marks the crowded groups of the parts that walk next, and leaves their bunches.  Arguments as of walk_parts.  In
 * float heavy groups are left to the kernel in double.  Where parts come in their order, CROWD_RUN of them are looked
 * at together: if all of their bounds hold no more than one may, no group is crowded.  Without room nothing is left.
 */
KERNEL(WALK_THREADS)
CROWDS_NAME(const GLOBAL float4 *word, const GLOBAL D *bound, const GLOBAL int *group_first, GLOBAL int *heavy,
            GLOBAL int *left, const struct sap_gpu_walk w, const struct sap_gpu_tree t)
{
    LANES_SCAN_ROOM(scan);
    SHARED unsigned stack[STACK];
    SHARED int next_ones[WALK_THREADS + 2];
    struct walk_force o;
    struct walk_room m; /* of both no other members are read */
    o.word = word;
    m.force = &o;
    m.stack = stack;
    m.next_ones = next_ones;
    m.scan = scan;
    const int all = items_of(left, &w, w.parts), run = w.from < 0 ? CROWD_RUN : 1, most = crowd_of(&w, &t);
    for (int begin = (int)group_id(0) * run; begin < all; begin += (int)num_groups() * run) {
        const int end = min(begin + run, all);
        int some = run == 1;
        if (!some) {
            const struct sap_bound together = box_of_bounds(bound, begin / w.group_parts, (end - 1) / w.group_parts);
            some = holds_crowd(&m, &w, &t, &together, most);
        }
        for (int item = begin; item < end; item++) {
            const int p = item_of(left, &w, item), g = p / w.group_parts, mark = heavy[g] & SAP_GROUP_HEAVY;
            const int first = group_first[g] + p % w.group_parts * w.part;
            const struct sap_bound b = load_bound(bound, g);
            const int crowded = some && (WALK_IS_DP || !mark) && holds_crowd(&m, &w, &t, &b, most);
            if (local_id() == 0) heavy[g] = mark | (crowded ? SAP_GROUP_CROWDED : 0);
            if (local_id() == 0 && crowded && w.left_room > 0)
                leave_bunches(left, &w, WALK_APART, first, min(group_first[g + 1] - first, w.part));
        }
        group_barrier();
    }
}
#endif

/* Walks for part p. */
SAP_INLINE void walk_part(const int most, const struct walk_room *m, const struct sap_gpu_walk *w,
                          const struct sap_gpu_tree *t, const struct walk_part *q, int p, int crowd, int law)
{
    const int own_walks = w->own && !m->selected;
    struct walk_frame f;
    struct walkers i;
    struct walk_hand h = start_part(most, m, w, t, q, p, crowd, law, &f, &i);
    while (h.owning || !is_through(&h)) {
        const int from = q->own + (int)local_id() * OWN_EACH;
        struct walk_found found = {from, max(0, min(q->own_end - from, (int)OWN_EACH)), 0, (int)local_id() * OWN_EACH,
                                   q->own_end - q->own};
        if (!h.owning) {
            if (DISTRICTS) take_listed(m, &h);
            take_runs(m, h.top);
            examine(m, t, q, own_walks, &h, &found);
        }
        const int last = h.owning || is_through(&h); /* all list entries must be added now */
        sum_listed_cells(most, &f, m, &i, &h);
        sum_listed_particles(most, &f, m, q->own, &found, last, &i, &h);
        h.owning = 0;
    }
    end_part(most, &f, m, w, t, &h, &i);
}

/*
 * Computes acc (three per row) and pot of all parts: of the particles in tree order, or, if particles are selected, of
 * the slots.  selected, most, constants: most is the number of target particles per thread at most.
 * group_first[group]: its first target particle; heavy[group]: the group is left to the kernel in double; strict: by
 * group, or by slot.  left: numbers of interactions, and what is left to later launches (tree_layout.h).
 */
SAP_INLINE void walk_parts(const int selected, const int most, const struct walk_room *m, const struct sap_gpu_walk *w,
                           const struct sap_gpu_tree *t, int law)
{
    const struct walk_force *const o = m->force;
    const int all = items_of(o->left, w, w->parts), crowd = crowd_of(w, t);
    for (int item = (int)group_id(0); item < all; item += (int)num_groups()) {
        const int p = item_of(o->left, w, item);
        const struct walk_part q = selected ? part_of_slots(m, o, w, t, p) : part_of_group(o, w, p);
        if (q.rows > 0 && !q.walks && local_id() == 0) {
            if (selected)
                leave_bunches(o->left, w, WALK_APART, q.first, q.rows);
            else
                leave_it(o->left, w, SAP_LEFT_PARTS, p);
        }
        if (q.rows > 0 && q.walks) walk_part(most, m, w, t, &q, p, crowd, law);
    }
}

/* Arguments as of walk_parts.  slot: sorted particles of the slots, if particles are selected. */
#define WALK_KERNEL(name, selected, most, groups)                                                                      \
    KERNEL_DENSE(WALK_THREADS, groups)                                                                                 \
    name(WALK_ARGUMENTS)                                                                                               \
    {                                                                                                                  \
        LANES_SCAN_ROOM(scan);                                                                                         \
        SHARED unsigned stack[STACK];                                                                                  \
        SHARED int next_ones[WALK_THREADS + 2], cell_list[CELL_LIST], near_list[NEAR_LIST];                            \
        SHARED int distant[DISTANT_LIST];                                                                              \
        SHARED D coefficients[SAP_LOCAL];                                                                              \
        SHARED part words[CELL_LIST * LIST_PARTS];                                                                     \
        SHARED struct walk_place place;                                                                                \
        const struct walk_sources s = WALK_SOURCES;                                                                    \
        const struct walk_force o = WALK_FORCE;                                                                        \
        const struct walk_room m = {&s,        &o,      selected,     stack, next_ones, cell_list,                     \
                                    near_list, distant, coefficients, words, scan,      &place};                       \
        walk_parts(selected, most, &m, &w, &t, LAW);                                                                   \
    }

#if defined(SAP_TREE_SPLINE) && defined(SAP_KERNEL_DP)
WALK_KERNEL(tree_walk_spline_dp, 0, SAP_WALK_IPT, WALK_GROUPS)
#elif defined(SAP_TREE_SOFT) && defined(SAP_KERNEL_DP)
WALK_KERNEL(tree_walk_soft_dp, 0, SAP_WALK_IPT, WALK_GROUPS)
#elif defined(SAP_TREE_SOFT)
WALK_KERNEL(tree_walk_soft_sp, 0, SAP_WALK_RUN_IPT, WALK_GROUPS)
WALK_KERNEL(tree_walk_whole_soft_sp, 0, SAP_WALK_IPT, WHOLE_GROUPS)
#elif defined(SAP_TREE_SPLINE)
WALK_KERNEL(tree_walk_spline_sp, 0, SAP_WALK_RUN_IPT, WALK_GROUPS)
WALK_KERNEL(tree_walk_whole_spline_sp, 0, SAP_WALK_IPT, WHOLE_GROUPS)
#elif defined(SAP_KERNEL_DP)
WALK_KERNEL(tree_walk_dp, 0, SAP_WALK_IPT, WALK_GROUPS)
WALK_KERNEL(tree_selected_dp, 1, SAP_WALK_RUN_IPT, SELECTED_GROUPS)
#else
WALK_KERNEL(tree_walk_sp, 0, SAP_WALK_RUN_IPT, WALK_GROUPS)
WALK_KERNEL(tree_walk_whole_sp, 0, SAP_WALK_IPT, WHOLE_GROUPS)
WALK_KERNEL(tree_selected_sp, 1, SAP_WALK_RUN_IPT, SELECTED_GROUPS)
#endif
