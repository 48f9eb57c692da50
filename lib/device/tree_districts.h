/*
 * tree_districts.h - walks that the groups of a district share: the first part of a dual walk (Dehnen 2002, J. Comp.
 * Phys. 179, 27).
 *
 * A district is a run of SAP_DISTRICT groups.  It walks by the box of their bounds before they do.  A cell that the
 * whole district accepts, and that is distant from it (physics/tree_local.h), is part of a polynomial about the middle
 * of the district, of which each group evaluates the sum.  A cell that each group would open is opened.  All other
 * cells are listed; there the groups go on.
 *
 * A district's ints are the number of nodes that are listed, -1 if there is no room for them and the groups begin at
 * the roots; the number of cells of the polynomial; and the nodes.  Its doubles are the coefficients and the centre.
 *
 * Included after tree_walk.h.
 */

#if defined(SAP_KERNEL_DP)
#define DISTRICTS_NAME tree_districts_dp
#else
#define DISTRICTS_NAME tree_districts_sp
#endif

/* Returns 1 if each group opens a cell; least: the strictness of the group that opens the fewest cells. */
SAP_INLINE int opened_by_all(const struct walk_node *n, const struct walk_bound *b, V least)
{
    const V off[3] = {v_sub((V)n->place.x, b->x[0]), v_sub((V)n->place.y, b->x[1]), v_sub((V)n->place.z, b->x[2])};
    const V reach = sap_accept_from((V)n->place.w, (V)n->turn, least), none = v_set1(0.0);
    V far2 = none;
    for (int c = 0; c < 3; c++) {
        const V far = v_add(v_max(off[c], v_sub(none, off[c])), b->extent[c]);
        far2 = v_fma(far, far, far2);
    }
    return far2 < v_mul(reach, reach) ? 1 : 0;
}

/* What a district has found. */
struct district_hand {
    int top, distant;   /* runs on the stack; entries of the list of distant cells */
    int listed, summed; /* nodes that are listed; distant cells */
};

/* Tests the cells that were taken, one per thread; arguments as of opened_by_all. */
SAP_INLINE void examine_for_all(const struct walk_room *m, const struct sap_gpu_tree *t, V least, GLOBAL int *list,
                                struct district_hand *h)
{
    const int me = (int)local_id(), here = me < m->next_ones[WALK_THREADS + 1], k = here ? m->next_ones[me] : 0;
    const struct walk_node n = walk_node_of(m->force->word, k);
    const struct walk_bound b = m->place->bound;
    h->top -= m->next_ones[WALK_THREADS];
    const int acts = here && accepted(&n, distance2_of(&n, &b), &b) && acts_as_cell(&n, here, 1, t->order);
    const int far = acts && is_distant(&n, &b);
    const int opens = here && !far && n.many < 0 && opened_by_all(&n, &b, least), stays = here && !far && !opens;
    const struct lanes_marks marks = lanes_mark(m->scan, stays, opens, far, 0);
    const int at = 2 + h->listed + marks.first_at;
    if (stays && at < SAP_DISTRICT_ROOM) list[at] = k;
    if (opens) m->stack[h->top + marks.second - 1 - marks.second_at] = (unsigned)n.at << 3 | (unsigned)(-n.many - 1);
    if (far) m->distant[h->distant + marks.third_at] = k;
    h->listed += marks.first;
    h->top += marks.second;
    h->distant += marks.third;
    h->summed += marks.third;
    if (h->listed > SAP_DISTRICT_ROOM - 2) h->top = h->distant = 0;
    group_barrier();
}

/* Walks for groups first .. last; list, sums: what the district has. */
SAP_INLINE void walk_district(const struct walk_room *m, const struct sap_gpu_walk *w, const struct sap_gpu_tree *t,
                              int first, int last, GLOBAL int *list, GLOBAL D *sums)
{
    const struct sap_bound box = box_of_bounds(m->force->bound, first, last);
    const int me = (int)local_id();
    V most = v_set1(0.0), least = v_set1(0.0);
    for (int g = first; g <= last && w->strict; g++) {
        const V strict = (V)m->force->strict[g];
        most = v_max(most, strict);
        least = g == first || strict < least ? strict : least;
    }
    struct walk_frame f;
    start_frame(t, box.centre, &f);
    if (me == 0) m->place->bound = words_of_bound(t, &box, most, v_set1(0.0));
    for (int q = me; q < SAP_LOCAL; q += WALK_THREADS) m->coefficients[q] = d_set1(SAP_ZERO);
    struct district_hand h = {begin_stack(m->stack, w), 0, 0, 0};
    while (h.top > 0) {
        take_runs(m, h.top);
        examine_for_all(m, t, least, list, &h);
        (void)sum_listed_distant(&f, m, &h.distant, h.top == 0);
    }
    for (int q = me; q < SAP_LOCAL; q += WALK_THREADS) sums[q] = m->coefficients[q];
    if (me == 0) {
        for (int c = 0; c < 3; c++) sums[SAP_LOCAL + c] = box.centre[c];
        list[0] = h.listed > SAP_DISTRICT_ROOM - 2 ? -1 : h.listed;
        list[1] = h.summed;
    }
    group_barrier();
}

/* Arguments as of walk_parts. */
KERNEL(WALK_THREADS)
DISTRICTS_NAME(const GLOBAL float4 *word, const GLOBAL wide *centre, const GLOBAL float4 *moments,
               const GLOBAL struct sap_cell *cell, const GLOBAL D *bound, const GLOBAL float *strict,
               GLOBAL int *district_node, GLOBAL D *district, const int groups, const struct sap_gpu_walk w,
               const struct sap_gpu_tree t)
{
    LANES_SCAN_ROOM(scan);
    SHARED unsigned stack[STACK];
    SHARED int next_ones[WALK_THREADS + 2], distant[DISTANT_LIST];
    SHARED D coefficients[SAP_LOCAL];
    SHARED part words[CELL_LIST * LIST_PARTS];
    SHARED struct walk_place place;
    struct walk_sources s;
    struct walk_force o;
    struct walk_room m; /* of the three no other members are read */
    s.centre = centre;
    s.moments = moments;
    s.cell = cell;
    o.word = word;
    o.bound = bound;
    o.strict = strict;
    m.sources = &s;
    m.force = &o;
    m.stack = stack;
    m.next_ones = next_ones;
    m.distant = distant;
    m.coefficients = coefficients;
    m.words = words;
    m.scan = scan;
    m.place = &place;
    for (int d = (int)group_id(0); d < (groups + SAP_DISTRICT - 1) / SAP_DISTRICT; d += (int)num_groups())
        walk_district(&m, &w, &t, d * SAP_DISTRICT, min((d + 1) * SAP_DISTRICT, groups) - 1,
                      district_node + (size_t)d * SAP_DISTRICT_ROOM, district + (size_t)d * SAP_DISTRICT_WORDS);
}
