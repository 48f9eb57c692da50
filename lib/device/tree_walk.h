/*
 * tree_walk.h - tree forces on all target particles by groups: 32 threads hold up to 64 target particles of a group,
 * whose ball decides which cells are accepted.
 *
 * Cells to be tested wait on a stack as runs of siblings.  A round takes runs from the top, 32 cells at most, tests one
 * cell per thread, and puts the children of cells that are opened on top, the deepest last.  So runs of a level lie
 * together, with deeper runs above, and all runs of one level were put there in the same round: there are never more
 * than 32 runs per level, for any number of particles.
 *
 * Sums over the threads decide the position of each entry on a list, so the order of terms is always the same.
 *
 * If the ball of a group holds far more leaves than the group has (for instance because the curve jumps within the
 * group), 32 threads would have to open all of them.  Such a group is left to the few-target walk (tree_few.h), eight
 * target particles at a time.  A group that needs double from the start, or whose sums are not finite in float, is left
 * to the kernel in double.
 */
#include "device/tree_terms.h"

#if defined(SAP_KERNEL_DP)
#define WALK_NAME  tree_walk_dp
#define WALK_APART SAP_LEFT_WIDE
#else
#define WALK_NAME  tree_walk_sp
#define WALK_APART SAP_LEFT_APART
#endif

#ifndef WALK_GROUPS
#define WALK_GROUPS 0 /* groups that a multiprocessor must be able to hold; 0: the compiler decides */
#endif

enum {
    WALK_THREADS = SAP_WALK_THREADS,
    IPT = SAP_WALK_IPT,
    STACK = WALK_THREADS * SAP_LINK_LEVELS, /* runs */
    CELL_LIST = 2 * WALK_THREADS,
    NEAR_LIST = 4 * WALK_THREADS,
    OWN_EACH = 8 /* particles of the group per thread: SAP_GROUP_MOST / 32 */
};

/* Memory of a group of threads. */
struct walk_room {
    LOCAL unsigned *stack;              /* [STACK] */
    LOCAL int *next_ones, *cell, *near; /* [WALK_THREADS + 2], [CELL_LIST], [NEAR_LIST] */
    LOCAL part *words;                  /* words of the entries of a list */
};

/* Target particles of a thread, with their sums. */
struct walkers {
    V x[IPT][3];
    int number[IPT]; /* index among the tree's sorted particles, -1: it is none of them */
    D sum[IPT][SAP_SUMS2];
};

/* ---- terms ---- */

SAP_INLINE void start_sums(V sum[IPT][SAP_SUMS2])
{
    UNROLL
    for (int k = 0; k < IPT; k++)
        for (int q = 0; q < SAP_SUMS2; q++) sum[k][q] = v_set1(0.0);
}

SAP_INLINE void flush_sums(struct walkers *i, V sum[IPT][SAP_SUMS2])
{
    UNROLL
    for (int k = 0; k < IPT; k++)
        for (int q = 0; q < SAP_SUMS2; q++) i->sum[k][q] = d_add(i->sum[k][q], d_of_w(sum[k][q]));
}

/* Adds the particles of a list, n <= NEAR_LIST; careful: some are target particles, or may be at zero distance. */
SAP_INLINE void sum_particles(const struct walk_frame *f, const struct walk_room *m, const struct walk_sources *s,
                              struct walkers *i, int careful, int n)
{
    V sum[IPT][SAP_SUMS2];
    W w[NEAR_WORDS];
    for (int e = (int)local_id(); e < n; e += WALK_THREADS) bring_particle(f, s, m->near[e], m->words + e * NEAR_PARTS);
    group_barrier();
    start_sums(sum);
    if (careful)
        for (int e = 0; e < n; e++) {
            take_words(m->words + e * NEAR_PARTS, NEAR_PARTS, w);
            UNROLL
            for (int k = 0; k < IPT; k++) add_particle(f, i->x[k], w, 1, m->near[e] != i->number[k], sum[k]);
        }
    else
        for (int e = 0; e < n; e++) {
            take_words(m->words + e * NEAR_PARTS, NEAR_PARTS, w);
            UNROLL
            for (int k = 0; k < IPT; k++) add_particle(f, i->x[k], w, 0, 1, sum[k]);
        }
    flush_sums(i, sum);
    group_barrier();
}

/* Adds the cells of a list, n <= CELL_LIST. */
SAP_INLINE void sum_cells(const struct walk_frame *f, const struct walk_room *m, const struct walk_sources *s,
                          struct walkers *i, int n)
{
    V sum[IPT][SAP_SUMS2];
    W w[CELL_WORDS];
    for (int e = (int)local_id(); e < n; e += WALK_THREADS) bring_cell(f, s, m->cell[e], m->words + e * CELL_PARTS);
    group_barrier();
    start_sums(sum);
    if (f->order > 1)
        for (int e = 0; e < n; e++) {
            take_words(m->words + e * CELL_PARTS, CELL_PARTS, w);
            UNROLL
            for (int k = 0; k < IPT; k++) add_cell(f, i->x[k], w, sum[k]);
        }
    else
        for (int e = 0; e < n; e++) {
            take_words(m->words + e * CELL_PARTS, NEAR_PARTS, w);
            UNROLL
            for (int k = 0; k < IPT; k++) add_particle(f, i->x[k], w, 0, 1, sum[k]);
        }
    flush_sums(i, sum);
    group_barrier();
}

/* ---- the walk ---- */

/*
 * Returns how many particles of a leaf belong to the group; they are a gap in the leaf's particles that begins at
 * `own`.
 */
SAP_INLINE int overlap(struct sap_tree_link leaf, int own, int own_end)
{
    return max(0, min(leaf.first + leaf.count, own_end) - max(leaf.first, own));
}

SAP_INLINE void start_walkers(const struct walk_frame *f, const struct sap_gpu_walk *w, const GLOBAL wide *x, int first,
                              int rows, struct walkers *i)
{
    UNROLL
    for (int k = 0; k < IPT; k++) {
        const int walker = first + min((int)local_id() + k * WALK_THREADS, rows - 1);
        W words[4];
        relative(f, x, walker, words);
        for (int c = 0; c < 3; c++) i->x[k][c] = words[c];
        i->number[k] = w->own ? walker : -1;
        for (int q = 0; q < SAP_SUMS2; q++) i->sum[k][q] = d_set1(SAP_ZERO);
    }
}

/* Writes the sums of a thread's target particles to their rows; returns 1 if all are finite. */
SAP_INLINE int deliver(const struct walkers *i, const struct sap_gpu_tree *t, const GLOBAL int *row, int rows,
                       GLOBAL D *acc, GLOBAL D *pot)
{
    int finite = 1;
    UNROLL
    for (int k = 0; k < IPT; k++) {
        const int at = (int)local_id() + k * WALK_THREADS;
        if (at < rows) finite &= deliver_row(i->sum[k], t, (size_t)row[at], acc, pot);
    }
    return finite;
}

/*
 * Computes acc (three per row) and pot of all rows.  heavy[group]: the group is left to the kernel in double; strict:
 * by group.  left: numbers of interactions, and what is left to later launches (tree_layout.h).
 */
KERNEL_DENSE(WALK_THREADS, WALK_GROUPS)
WALK_NAME(const GLOBAL wide *particle, const GLOBAL wide *walker, const GLOBAL struct sap_tree_link *node,
          const GLOBAL float4 *word, const GLOBAL float *turn, const GLOBAL wide *centre, const GLOBAL float4 *moments,
          const GLOBAL struct sap_cell *cell, const GLOBAL D *ball, const GLOBAL int *heavy, const GLOBAL float *strict,
          const GLOBAL int *row, GLOBAL D *acc, GLOBAL D *pot, GLOBAL int *left, const struct sap_gpu_walk w,
          const struct sap_gpu_tree t)
{
    LANES_SCAN_ROOM(scan);
    SHARED unsigned stack[STACK];
    SHARED int next_ones[WALK_THREADS + 2], cell_list[CELL_LIST], near_list[NEAR_LIST];
    SHARED part words[CELL_LIST * CELL_PARTS];
    const struct walk_room m = {stack, next_ones, cell_list, near_list, words};
    const struct walk_sources s = {particle, centre, moments, cell};
    const int me = (int)local_id();
    const int all = items_of(left, &w, w.parts), per_group = (t.group_size + SAP_WALK_PART - 1) / SAP_WALK_PART;
    const int crowd = max(16, SAP_WALK_CROWD * t.group_size / t.leaf_size); /* leaves in a ball */
    for (int item = (int)group_id(0); item < all; item += (int)num_groups()) {
        const int p = item_of(left, &w, item), g = p / per_group;
        const int own = g * t.group_size, own_end = min(own + t.group_size, w.slots);
        const int first = own + p % per_group * SAP_WALK_PART, rows = min(own_end - first, (int)SAP_WALK_PART);
#if defined(SAP_KERNEL_DP)
        const int walks = rows > 0;
#else
        const int walks = rows > 0 && heavy[g] == 0;
        if (rows > 0 && !walks && me == 0) leave_it(left, &w, SAP_LEFT_PARTS, p);
#endif
        if (walks) {
            /* target particles of the tree: no accepted cell holds any of them, and they are listed by themselves */
            struct walk_frame f;
            struct walk_ball b;
            struct walkers i;
            D at[3];
            for (int c = 0; c < 3; c++) at[c] = ball[SAP_GROUP_WORDS * (size_t)g + c];
            start_frame(&t, at, ball[SAP_GROUP_WORDS * (size_t)g + 3], &f, &b);
            b.strictness = w.strict ? (V)strict[g] : v_set1(0.0);
            start_walkers(&f, &w, walker, first, rows, &i);

            int top = 1, cells = 0, nears = 0, all_cells = 0, all_nears = 0, owning = w.own;
            int within = 0; /* leaves in the ball */
            group_barrier();
            if (me == 0) stack[0] = 0; /* the root */
            group_barrier();
            while (owning || top > 0) {
                /* particles to be listed by this thread: from `from` on, with a gap of `hidden` for the group's own */
                int from = own + me * OWN_EACH, near = max(0, min(own_end - from, (int)OWN_EACH)), hidden = 0;
                int near_at = me * OWN_EACH, near_sum = own_end - own;
                if (!owning) {
                    const unsigned run = me < top ? stack[top - 1 - me] : 0;
                    const int length = me < top ? (int)(run & 7U) + 1 : 0;
                    const int more = me + 1 < top ? (int)(stack[top - 2 - me] & 7U) + 1 : (int)WALK_THREADS + 1;
                    int sum;
                    const int before = lanes_scan(scan, length, &sum);
                    const int taken = me < top && before + length <= WALK_THREADS;
                    for (int c = 0; c < length && taken; c++) next_ones[before + c] = (int)(run >> 3) + c;
                    if (taken && (me == WALK_THREADS - 1 || before + length + more > WALK_THREADS)) {
                        next_ones[WALK_THREADS] = me + 1; /* the last run that is taken */
                        next_ones[WALK_THREADS + 1] = before + length;
                    }
                    group_barrier();
                    top -= next_ones[WALK_THREADS];

                    const int here = me < next_ones[WALK_THREADS + 1], k = here ? next_ones[me] : 0;
                    const struct sap_tree_link link = node[k];
                    const int acts = here && accepted(word, turn, k, &b), leaf = link.children == 0;
                    const int as_cell = acts && !(leaf && link.count <= t.order), opens = here && !acts && !leaf;
                    const struct lanes_marks marks =
                        lanes_mark(scan, as_cell, opens, here && leaf && inside(word, k, &b));
                    within += marks.third;
                    from = link.first;
                    hidden = here && leaf && !as_cell && w.own ? overlap(link, own, own_end) : 0;
                    near = here && leaf && !as_cell ? link.count - hidden : 0;
                    near_at = lanes_scan(scan, near, &near_sum);
                    if (opens)
                        stack[top + marks.second - 1 - marks.second_at] =
                            (unsigned)link.child << 3 | (unsigned)(link.children - 1);
                    if (as_cell) cell_list[cells + marks.first_at] = k;
                    top += marks.second;
                    cells += marks.first;
                    all_cells += marks.first;
                    all_nears += near_sum;
                    if (within > crowd) top = cells = nears = near_sum = 0; /* too many leaves: the group is split */
                    group_barrier();
                }
                const int last = owning || top == 0; /* all list entries must be added now */
                if (cells > CELL_LIST - WALK_THREADS || (cells > 0 && top == 0)) {
                    sum_cells(&f, &m, &s, &i, cells);
                    cells = 0;
                }
                for (int done = 0; done < near_sum || (last && nears > 0);) {
                    const int take = min(near_sum - done, NEAR_LIST - nears);
                    for (int e = max(near_at, done); e < min(near_at + near, done + take); e++) {
                        const int j = from + e - near_at;
                        near_list[nears + e - done] = hidden > 0 && j >= own ? j + hidden : j;
                    }
                    nears += take;
                    done += take;
                    group_barrier();
                    if (nears == NEAR_LIST || last) {
                        sum_particles(&f, &m, &s, &i, owning || !f.softened, nears);
                        nears = 0;
                    }
                }
                owning = 0;
            }

            const int apart = within > crowd;
            if (me == 0) next_ones[0] = 1;
            group_barrier();
            if (!apart && !deliver(&i, &t, row + first, rows, acc, pot)) next_ones[0] = 0; /* not all are finite */
            group_barrier();
            if (me == 0) {
                for (int k = first; k < first + rows && apart; k += SAP_FEW_LEFT) leave_it(left, &w, WALK_APART, k);
#if !defined(SAP_KERNEL_DP)
                if (!next_ones[0]) leave_it(left, &w, SAP_LEFT_PARTS, p);
#endif
                if (!apart) tell(left, rows, all_nears + (w.own ? own_end - own - 1 : 0), all_cells);
            }
            group_barrier();
        }
    }
}
