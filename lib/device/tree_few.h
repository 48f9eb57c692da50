/*
 * tree_few.h - tree forces on few target particles.  A bunch is up to 32 target particles that follow each other on the
 * curve and share a walk; the threads of a group share the particles of a bunch (Miki & Umemura 2017, New Astronomy 52,
 * 65, section 2.5).
 *
 * The walk is that of tree_walk.h, with more threads and with the bound of the bunch.  Thread k handles target particle
 * k % width and adds each (threads / width)-th entry of a list to it; the sums of its threads are joined at the end.
 * The particles of a bunch walk one by one if the bound holds far more leaves than the bunch has, or is so wide that
 * float cannot resolve near particles: relative to the target particle itself, differences of coordinates lose nothing.
 * The members of a bunch depend on the set of active particles alone.
 *
 * Each kernel is an instance, FEW_KERNEL(name, threads, groups that a multiprocessor must be able to hold; 0: the
 * compiler decides).  Groups of one warp suffice when many target particles walk alone; larger groups finish one walk
 * sooner.
 */
#include "device/tree_shares.h"
#include "device/tree_terms.h"

/* Target particles of a bunch and their bound, in memory of the group. */
struct few_who {
    D x[SAP_FEW_MOST][3];
    int number[SAP_FEW_MOST];
    int taken, cells, bad; /* runs and cells that the round takes; whether some sum is not finite */
    U64 told[2];           /* interactions with particles and cells, of a bunch that is not left */
    int clump;             /* of a list: 1: sources in the bound lie in a clump (SAP_CLUMP) */
    struct walk_bound bound;
};

/* Memory of a group of threads. */
struct few_room {
    LOCAL struct few_who *who;
    LOCAL unsigned *stack;         /* runs of siblings: for each level as many as threads */
    LOCAL int *next, *cell, *near; /* entries: threads, 2 threads, 4 threads */
    LOCAL part *words;             /* words of the entries of a list */
    LOCAL int *scan;
};

/* The target particle of a thread. */
struct few_walker {
    V x[3], h2; /* h2: its squared length, if particles have lengths */
    int number; /* index among the tree's sorted particles, -1: it is none of them */
    D sum[SAP_SUMS2];
};

/*
 * Adds the particles of a list to a target particle, by thread number `sharer` of its `share` threads.  pair: of the
 * target particle; near2: as of add_exact.
 */
SAP_INLINE void few_exact(const struct walk_frame *f, const LOCAL int *near, const LOCAL part *words,
                          const struct few_walker *i, struct walk_pair pair, V near2, int sharer, int share, int n,
                          V *sum)
{
    W w[NEAR_WORDS];
    for (int q = 0; q < SAP_SUMS2; q++) sum[q] = v_set1(0.0);
    for (int e = sharer; e < n; e += share) {
        take_words(words + e * NEAR_PARTS, NEAR_PARTS, w);
        pair.j = near[e];
        add_exact(f, i->x, i->h2, w, pair.j != i->number, near2, &pair, sum);
    }
}

SAP_INLINE void few_particles(const struct walk_frame *f, const LOCAL int *near, const LOCAL part *words,
                              struct few_walker *i, struct walk_pair pair, V near2, int sharer, int share, int n)
{
    V sum[SAP_SUMS2];
#if defined(SAP_KERNEL_DP)
    few_exact(f, near, words, i, pair, near2, sharer, share, n, sum);
#else
    V least = W_INFINITY;
    W w[NEAR_WORDS];
    for (int q = 0; q < SAP_SUMS2; q++) sum[q] = v_set1(0.0);
    for (int e = sharer; e < n && near2 < W_INFINITY; e += share) {
        take_words(words + e * NEAR_PARTS, NEAR_PARTS, w);
        least = v_smaller(least, add_resolved(f, i->x, i->h2, w, near[e] != i->number, sum));
    }
    if (least <= near2) few_exact(f, near, words, i, pair, near2, sharer, share, n, sum);
#endif
    for (int q = 0; q < SAP_SUMS2; q++) i->sum[q] = d_add(i->sum[q], d_of_w(sum[q]));
}

SAP_INLINE void few_cells(const struct walk_frame *f, const LOCAL part *words, struct few_walker *i, int sharer,
                          int share, int n)
{
    V sum[SAP_SUMS2];
    W w[CELL_WORDS];
    for (int q = 0; q < SAP_SUMS2; q++) sum[q] = v_set1(0.0);
    for (int e = sharer; e < n; e += share) {
        take_words(words + e * CELL_PARTS, f->order > 1 ? (int)CELL_PARTS : (int)NEAR_PARTS, w);
        if (f->order > 1)
            add_cell(f, i->x, i->h2, w, sum);
        else
            add_outer(f, i->x, i->h2, w, sum);
    }
    for (int q = 0; q < SAP_SUMS2; q++) i->sum[q] = d_add(i->sum[q], d_of_w(sum[q]));
}

/* Joins the sums of the threads of each target particle by halves; thread k < width has those of target particle k. */
SAP_INLINE void few_join(struct few_walker *i, LOCAL D *room, int threads, int width)
{
    const int me = (int)local_id();
    group_barrier();
    for (int q = 0; q < SAP_SUMS2; q++) room[me * SAP_SUMS2 + q] = i->sum[q];
    for (int step = threads / 2; step >= width; step /= 2) {
        group_barrier();
        for (int q = 0; q < SAP_SUMS2 && me < step; q++)
            room[me * SAP_SUMS2 + q] = d_add(room[me * SAP_SUMS2 + q], room[(me + step) * SAP_SUMS2 + q]);
    }
    for (int q = 0; q < SAP_SUMS2; q++) i->sum[q] = room[me * SAP_SUMS2 + q];
    group_barrier();
}

/* A bunch: its slots begin at `begin`; `together` target particles walk at a time, of the first `end`. */
struct few_bunch {
    int begin, width, rows, together, end;
    V strictness, length; /* length: of spline softening, the greatest */
};

/* Loads the target particles of a bunch, and decides how they can walk. */
SAP_INLINE struct few_bunch few_gather(const struct few_room *m, const struct walk_force *o,
                                       const struct sap_gpu_walk *w, const struct sap_gpu_tree *t, int item)
{
    const int me = (int)local_id(), apart = w->from == SAP_LEFT_BOTH ? o->left[SAP_LEFT_COUNT + WALK_APART] : 0;
    const int of_cut = max(w->cut, 1);
    const int first = w->from < 0                ? item * w->width
                      : w->from != SAP_LEFT_BOTH ? left_item(o->left, w, w->from, item / of_cut)
                      : item < apart             ? left_item(o->left, w, WALK_APART, item)
                                                 : left_item(o->left, w, SAP_LEFT_DENSE, item - apart);
    const int width = item < apart ? w->left_width : w->width, begin = first + item % of_cut;
    const int group_end = w->all_slots ? o->group_first[o->group_of[first] + 1] : w->slots;
    const int rows = max(0, min(min(begin + width, group_end), w->slots) - begin); /* 0: the bunch has no such slot */
    struct few_bunch q = {begin, width, rows, rows, rows, v_set1(0.0), v_set1(0.0)};
    if (me == 0) m->who->bad = 0, m->who->told[0] = m->who->told[1] = 0;
    if (me < rows) {
        const int number = w->all_slots ? begin + me : o->slot[begin + me];
        D x[3], mass;
        load_particle(o->walker, number, x, &mass);
        m->who->number[me] = number;
        for (int c = 0; c < 3; c++) m->who->x[me][c] = x[c];
    }
    group_barrier();
#if !defined(SAP_KERNEL_DP)
    struct sap_bound all;
    bound_of(t, m->who->x, max(rows, 1), &all);
    const D size = sap_bound_size(&all);
#endif
    for (int k = 0; k < rows; k++) {
        const int g = o->group_of[m->who->number[k]];
        if (SPLINE) q.length = v_max(q.length, padded(o->length[m->who->number[k]], d_set1(SAP_ZERO)));
        if (w->strict) q.strictness = v_max(q.strictness, (V)o->strict[w->all_slots ? g : begin + k]);
#if !defined(SAP_KERNEL_DP)
        if (o->heavy[g] & SAP_GROUP_HEAVY) q.end = 0;
        if (sap_group_wide(size, nearest_of(o, g))) q.together = 1;
#endif
    }
    return q;
}

/* Those of a bunch that walk together: `many` target particles from number `first` on; a thread has number `mine`. */
struct few_party {
    int first, many, width, mine;
    int sharer, share; /* number of the thread among those that share its target particle, and how many they are */
};

SAP_INLINE struct few_party few_party_of(const struct few_bunch *q, int threads, int together, int first)
{
    const int me = (int)local_id(), many = min(together, q->end - first), width = together > 1 ? q->width : 1;
    const struct few_party p = {first, many, width, first + min(me % width, many - 1), me / width, threads / width};
    return p;
}

/*
 * Makes the bound and the frame of a party, loads the target particle of each thread, and begins at the roots;
 * returns the runs on the stack.
 */
SAP_INLINE int few_start(const struct few_room *m, const struct walk_force *o, const struct sap_gpu_walk *w,
                         const struct sap_gpu_tree *t, const struct few_bunch *q, const struct few_party *p,
                         struct walk_frame *f, struct few_walker *i)
{
    const int me = (int)local_id(), number = m->who->number[p->mine];
    struct sap_bound bound;
    bound_of(t, m->who->x + p->first, p->many, &bound);
    if (me == 0) m->who->bound = words_of_bound(t, &bound, q->strictness, q->length);
    start_frame(t, bound.centre, f);
    for (int c = 0; c < 3; c++) i->x[c] = w_of_d(d_mul(d_sub(m->who->x[p->mine][c], f->centre[c]), f->unit));
    i->number = w->own ? number : -1;
    i->h2 = HAS_LENGTHS ? w_of_d(d_mul(o->length[number], o->length[number])) : v_set1(0.0);
    for (int term = 0; term < SAP_SUMS2; term++) i->sum[term] = d_set1(SAP_ZERO);
    return begin_stack(m->stack, w);
}

/* A walk under way. */
struct few_walking {
    int top, cells, nears;    /* runs on the stack, entries of the two lists */
    int all_cells, all_nears; /* that were ever listed */
    int within;               /* leaves in the bound */
};

/* Takes runs of siblings from the stack, as many as there are threads for their cells; returns the number of cells. */
SAP_INLINE int few_take(const struct few_room *m, int threads, struct few_walking *g)
{
    const int me = (int)local_id(), top = g->top;
    const unsigned run = me < top ? m->stack[top - 1 - me] : 0;
    const int length = me < top ? (int)(run & 7U) + 1 : 0;
    const int more = me + 1 < top ? (int)(m->stack[top - 2 - me] & 7U) + 1 : threads + 1;
    int sum;
    const int before = items_scan(m->scan, threads, length, &sum);
    const int taken = me < top && before + length <= threads;
    for (int c = 0; c < length && taken; c++) m->next[before + c] = (int)(run >> 3) + c;
    if (taken && (me == threads - 1 || before + length + more > threads)) {
        m->who->taken = me + 1; /* the last run that is taken */
        m->who->cells = before + length;
    }
    group_barrier();
    g->top -= m->who->taken;
    return m->who->cells;
}

/* Particles that a round finds near: `many` of this thread, from number `from` on, behind `before` of `all`. */
struct few_near {
    int from, many, before, all;
};

/* Examines the cells that were taken, one per thread: opens them, lists them, or returns the particles in them. */
SAP_INLINE struct few_near few_examine(const struct few_room *m, const struct walk_force *o,
                                       const struct sap_gpu_tree *t, int threads, int cells, struct few_walking *g)
{
    const int me = (int)local_id(), here = me < cells, k = here ? m->next[me] : 0;
    const struct walk_node n = walk_node_of(o->word, k);
    const struct walk_bound b = m->who->bound;
    const V distance2 = distance2_of(&n, &b);
    const int acts = here && accepted(&n, distance2, &b), leaf = n.many >= 0;
    const int as_cell = acts_as_cell(&n, here, acts, t->order), opens = here && !acts && !leaf;
    struct few_near near = {n.at, here && leaf && !as_cell ? n.many : 0, 0, 0};
    const struct lanes_marks marks = items_look(m->scan, threads, as_cell, opens, here && leaf && inside(distance2, &b),
                                                near.many, &near.before, &near.all);
    if (opens) m->stack[g->top + marks.second - 1 - marks.second_at] = (unsigned)n.at << 3 | (unsigned)(-n.many - 1);
    if (as_cell) m->cell[g->cells + marks.first_at] = k;
    g->within += marks.third;
    g->top += marks.second;
    g->cells += marks.first;
    g->all_cells += marks.first;
    g->all_nears += near.all;
    return near;
}

/* Adds the listed cells if another round might not find room for its own, or if the walk is at its end. */
SAP_INLINE void few_add_cells(const struct walk_frame *f, const struct few_room *m, const struct walk_sources *s,
                              const struct few_party *p, int threads, struct few_walking *g, struct few_walker *i)
{
    const int adds = g->cells > threads || (g->top == 0 && g->cells > 0);
    for (int e = (int)local_id(); e < g->cells && adds; e += threads)
        bring_cell(f, s, m->cell[e], m->words + e * CELL_PARTS);
    group_barrier();
    if (adds) {
        few_cells(f, m->words, i, p->sharer, p->share, g->cells);
        g->cells = 0;
    }
    group_barrier();
}

/* Lists the particles of a round, and adds the list whenever it is full, or if the walk is at its end. */
SAP_INLINE void few_add_near(const struct walk_frame *f, const struct few_room *m, const struct walk_sources *s,
                             const struct walk_force *o, const struct few_party *p, int threads,
                             const struct few_near *near, struct few_walking *g, struct few_walker *i)
{
    const int most = 4 * threads, last = g->top == 0;
    for (int done = 0; done < near->all || (last && g->nears > 0);) {
        const int take = min(near->all - done, most - g->nears);
        for (int e = max(near->before, done); e < min(near->before + near->many, done + take); e++)
            m->near[g->nears + e - done] = near->from + e - near->before;
        g->nears += take;
        done += take;
        group_barrier();
        const int adds = g->nears == most || last;
        for (int e = (int)local_id(); e < g->nears && adds; e += threads)
            bring_particle(f, s, m->near[e], m->words + e * NEAR_PARTS);
        group_barrier();
        if (adds) {
            V near2 = m->who->bound.near2;
#if !defined(SAP_KERNEL_DP)
            find_clump(f, &m->who->bound, m->words, threads, g->nears, &m->who->clump);
            if (m->who->clump) near2 = W_INFINITY; /* all pairs take the difference of positions in double */
#endif
            const struct walk_pair pair = {o->walker, s->particle, m->who->number[p->mine], 0};
            few_particles(f, m->near, m->words, i, pair, near2, p->sharer, p->share, g->nears);
            g->nears = 0;
        }
        group_barrier();
    }
}

/* Returns 1 if the bound of a party holds so many leaves that its particles must walk one by one. */
SAP_INLINE int is_crowded(const struct few_party *p, const struct few_walking *g)
{
    return p->many > 1 && g->within > SAP_FEW_CROWD * p->width;
}

/* Walks for a party from the root; ends early if it is crowded. */
SAP_INLINE void few_walk_party(const struct walk_frame *f, const struct few_room *m, const struct walk_sources *s,
                               const struct walk_force *o, const struct sap_gpu_tree *t, const struct few_party *p,
                               int threads, struct few_walking *g, struct few_walker *i)
{
    while (g->top > 0) {
        const int cells = few_take(m, threads, g);
        struct few_near near = few_examine(m, o, t, threads, cells, g);
        if (is_crowded(p, g)) g->top = g->cells = g->nears = near.all = 0;
        group_barrier();
        few_add_cells(f, m, s, p, threads, g, i);
        few_add_near(f, m, s, o, p, threads, &near, g, i);
    }
}

/* Writes the sums of a party to their rows, and adds its interactions to those of the bunch. */
SAP_INLINE void few_deliver(const struct few_room *m, const struct walk_force *o, const struct sap_gpu_walk *w,
                            const struct sap_gpu_tree *t, const struct few_bunch *q, const struct few_party *p,
                            const struct few_walking *g, const struct few_walker *i)
{
    const int me = (int)local_id(), nears = g->all_nears - (w->own ? 1 : 0);
    if (me < p->many) {
        const size_t row = (size_t)o->row[q->begin + p->first + me];
        if (!deliver_row(i->sum, t, row, o->acc, o->pot, o->left)) m->who->bad = 1;
        if (w->work > 0) o->left[(size_t)w->work + row] = nears + g->all_cells;
    }
    if (me == 0) {
        m->who->told[0] += (U64)p->many * (U64)nears;
        m->who->told[1] += (U64)p->many * (U64)g->all_cells;
    }
}

/* Leaves a bunch to the kernel in double if float does not suffice, else tells its interactions. */
SAP_INLINE void few_leave(const struct few_room *m, const struct walk_force *o, const struct sap_gpu_walk *w,
                          const struct few_bunch *q, int item)
{
    if (local_id() != 0 || q->rows == 0) return;
#if !defined(SAP_KERNEL_DP)
    if (q->end == 0 || m->who->bad) {
        if (w->cut > 0)
            leave_cut(o->left, w, SAP_LEFT_WIDE, item / w->cut);
        else
            leave_bunches(o->left, w, SAP_LEFT_WIDE, q->begin, q->rows);
        return;
    }
#endif
    (void)item;
    for (int k = 0; k < 2; k++) count_up(o->left + SAP_LEFT_TOLD + 2 * k, m->who->told[k]);
}

/* Computes the forces on all bunches with groups of `threads` threads. */
SAP_INLINE void few_walk(const int threads, const struct few_room *m, const struct walk_sources *s,
                         const struct walk_force *o, const struct sap_gpu_walk *w, const struct sap_gpu_tree *t,
                         int law)
{
    const int all = w->from == SAP_LEFT_BOTH
                        ? o->left[SAP_LEFT_COUNT + WALK_APART] + o->left[SAP_LEFT_COUNT + SAP_LEFT_DENSE]
                        : items_of(o->left, w, (w->slots + w->width - 1) / w->width) * max(w->cut, 1);
    for (int item = (int)group_id(0); item < all; item += (int)num_groups()) {
        const struct few_bunch q = few_gather(m, o, w, t, item);
        int together = q.together;
        for (int first = 0; first < q.end;) {
            const struct few_party p = few_party_of(&q, threads, together, first);
            struct walk_frame f;
            struct few_walker i;
            struct few_walking g = {few_start(m, o, w, t, &q, &p, &f, &i), 0, 0, 0, 0, 0};
            f.law = law;
            few_walk_party(&f, m, s, o, t, &p, threads, &g, &i);
            few_join(&i, (LOCAL D *)m->words, threads, p.width);
            if (is_crowded(&p, &g)) {
                together = 1;
                continue;
            }
            few_deliver(m, o, w, t, &q, &p, &g, &i);
            first += p.many;
        }
        group_barrier();
        few_leave(m, o, w, &q, item);
        group_barrier();
    }
}

#if !defined(SAP_TREE_SPLINE) && !defined(SAP_TREE_SOFT)
#if defined(SAP_KERNEL_DP)
#define BUNCHES_NAME tree_bunches_dp
#else
#define BUNCHES_NAME tree_bunches_sp
#endif

/*
 * Lists the bunches of selected particles, a thread per bunch.  Bunches whose particles are scattered among many others
 * become smaller ones on a list of their own, since their bounds would hold too many others.
 */
KERNEL(SAP_TREE_THREADS)
BUNCHES_NAME(const GLOBAL int *slot, GLOBAL int *left, const struct sap_gpu_walk w)
{
    const int begin = (int)global_id() * w.width, rows = min(w.width, w.slots - begin);
    if (rows <= 0 || !sap_is_shared(w.share, w.shares, (int)global_id())) return;
    if (slot[begin + rows - 1] - slot[begin] < w.span * w.width)
        leave_it(left, &w, SAP_LEFT_DENSE, begin);
    else
        leave_bunches(left, &w, WALK_APART, begin, rows);
}
#endif

/*
 * Arguments as in tree_walk.h.  slot: target particles of the slots, if not all particles are targets; then strict is
 * by slot.
 */
#define FEW_KERNEL(name, threads, groups)                                                                              \
    KERNEL_DENSE(threads, groups)                                                                                      \
    name(WALK_ARGUMENTS)                                                                                               \
    {                                                                                                                  \
        ITEMS_ROOM(scan, threads);                                                                                     \
        SHARED struct few_who who;                                                                                     \
        SHARED unsigned stack[(threads) * (SAP_LINK_LEVELS + SAP_ABOVE_LEVELS)];                                       \
        SHARED int next_ones[threads], cell_list[2 * (threads)], near_list[4 * (threads)];                             \
        SHARED part words[2 * (threads)*LIST_PARTS];                                                                   \
        const struct few_room m = {&who, stack, next_ones, cell_list, near_list, words, scan};                         \
        const struct walk_sources s = WALK_SOURCES;                                                                    \
        const struct walk_force o = WALK_FORCE;                                                                        \
        few_walk(threads, &m, &s, &o, &w, &t, LAW);                                                                    \
    }
