/*
 * tree_sums.h - the lists of a walk by groups, and what they add to target particles: particles, cells, and the
 * polynomial of distant cells.
 */
#include "device/tree_terms.h"

enum {
    WALK_THREADS = SAP_WALK_THREADS,
    IPT = SAP_WALK_IPT,
    STACK = WALK_THREADS * (SAP_LINK_LEVELS + SAP_ABOVE_LEVELS + 2), /* runs */
    CELL_LIST = 2 * WALK_THREADS,
    DISTANT_LIST = 2 * WALK_THREADS,
    SPREAD = WALK_THREADS + 1, /* words per coefficient while cells are added: rows begin in different banks */
    NEAR_LIST = 4 * WALK_THREADS,
    OWN_EACH = 12,    /* particles of the group per thread: 3 / 2 SAP_GROUP_MOST / 32 */
    CLUMPED_LISTS = 8 /* of more lists with clumps, walking again in double costs less than differences of positions */
};

/* Where the results of a part go, which is needed when the part is complete, and the bound of its target particles. */
struct walk_place {
    int item, first, rows;
    int cells, nears; /* interactions per target particle */
    int district;     /* -1: the part begins at the roots */
    int shared;       /* cells of the district's polynomial */
    int clump;        /* of a list: 1: sources in the bound lie in a clump (SAP_CLUMP) */
    int clumped;      /* lists with a clump */
    V near2;          /* of a list: the bound's, or infinity if it is clumped */
    struct walk_bound bound;
};

/* Memory of a group of threads, and what it walks through: slots of `selected` particles, or target particles. */
struct walk_room {
    const struct walk_sources *sources;
    const struct walk_force *force;
    int selected;
    LOCAL unsigned *stack;              /* [STACK] */
    LOCAL int *next_ones, *cell, *near; /* [WALK_THREADS + 2], [CELL_LIST], [NEAR_LIST] */
    LOCAL int *distant;                 /* [DISTANT_LIST] */
    LOCAL D *coefficients;              /* [SAP_LOCAL]: the polynomial of distant cells */
    LOCAL part *words;                  /* words of the entries of a list */
    LOCAL int *scan;
    LOCAL struct walk_place *place;
};

/* Target particles that walk together, and their bound. */
struct walk_part {
    int first, rows;  /* slots */
    int own, own_end; /* sorted particles of the group, which are listed by themselves; empty for selected particles */
    int walks;        /* 0: they are left to another kernel */
    struct sap_bound bound;
    V strictness, length; /* length: of spline softening, the greatest */
};

/* Target particles of a thread, with their sums. */
struct walkers {
    V x[IPT][3];
    V h2[IPT];       /* squared lengths, if particles have lengths */
    int number[IPT]; /* index among the tree's sorted particles, -1: it is none of them */
    int many;        /* that some thread of the group has */
    D sum[IPT][SAP_SUMS2];
};

/* Returns target particle k of this thread among all of them. */
SAP_INLINE int walker_at(const struct walk_room *m, int k)
{
    const int at = m->place->first + min((int)local_id() + k * WALK_THREADS, m->place->rows - 1);
    return m->selected ? m->force->slot[at] : at;
}

/* ---- terms ---- */

SAP_INLINE void start_sums(V sum[IPT][SAP_SUMS2])
{
    UNROLL
    for (int k = 0; k < IPT; k++)
        for (int q = 0; q < SAP_SUMS2; q++) sum[k][q] = v_set1(0.0);
}

/* Adds the sums of the first `many` target particles of a thread to their totals. */
SAP_INLINE void flush_sums(struct walkers *i, V sum[IPT][SAP_SUMS2], const int many)
{
    UNROLL
    for (int k = 0; k < IPT; k++)
        for (int q = 0; q < SAP_SUMS2 && k < many; q++) i->sum[k][q] = d_add(i->sum[k][q], d_of_w(sum[k][q]));
}

/* What a list holds. */
enum list_kind {
    INNER,  /* particles; those that may be in the bound come first, and are no target particles */
    OWN,    /* the same, some of which may be target particles */
    MASSES, /* of cells */
    CELLS   /* with second moments */
};

#if defined(SAP_TREE_SPLINE) && !defined(SAP_KERNEL_DP)
#define RUN_VOTES 1
#else
#define RUN_VOTES 0 /* with spline softening in double it would take registers of two groups */
#endif

/*
 * Adds the run of sources that begins at an entry to the first `many` target particles of each thread, if all of them
 * are beyond all lengths; returns whether they are.
 */
SAP_INLINE int sum_beyond(const struct walk_room *m, const struct walkers *i, const int many, int first,
                          V sum[IPT][SAP_SUMS2])
{
#if defined(SAP_TREE_SPLINE)
    if (m->near[first] >= 0) return 0;
    UNROLL
    for (int e = 0; e < SPLINE_RUN; e++) {
        W w[4];
        take_words(m->words + (first + e) * NEAR_PARTS, 4 / IN_PART, w);
        UNROLL
        for (int k = 0; k < IPT; k++)
            if (k < many) add_newton(i->x[k], w, sum[k]);
    }
    return 1;
#else
    (void)m, (void)i, (void)many, (void)first, (void)sum;
    return 0;
#endif
}

/*
 * Starts sums anew with the first n entries of a list, by the difference of positions in double where words of float do
 * not resolve it.  numbers: entries may be target particles.
 */
SAP_OUTLINE void sum_exact(const struct walk_frame *f, const struct walk_room *m, const struct walkers *i, int numbers,
                           const int many, int n, V sum[IPT][SAP_SUMS2])
{
    const V near2 = m->place->near2;
    start_sums(sum);
    ROLLED
    for (int e = 0; e < n; e++) {
        W w[NEAR_WORDS];
        if (SPLINE && e % SPLINE_RUN == 0 && sum_beyond(m, i, many, e, sum)) {
            e += SPLINE_RUN - 1;
            continue;
        }
        take_words(m->words + e * NEAR_PARTS, NEAR_PARTS, w);
        UNROLL
        for (int k = 0; k < IPT; k++) {
            if (k >= many) continue;
            const struct walk_pair pair = {m->force->walker, m->sources->particle, walker_at(m, k), m->near[e]};
            add_exact(f, i->x[k], i->h2[k], w, !numbers || pair.j != i->number[k], near2, &pair, sum[k]);
        }
    }
}

#if !defined(SAP_KERNEL_DP)
/* Adds entry e to the target particles k with from <= k < to of a thread, as sum_resolved does. */
SAP_INLINE void sum_one(const struct walk_frame *f, const struct walk_room *m, const struct walkers *i,
                        const int numbers, const int from, const int to, int e, V sum[IPT][SAP_SUMS2], V *least)
{
    W w[NEAR_WORDS];
    take_words(m->words + e * NEAR_PARTS, NEAR_PARTS, w);
    UNROLL
    for (int k = 0; k < IPT; k++) {
        if (k < from || k >= to) continue;
        const int another = !numbers || m->near[e] != i->number[k];
        *least = v_smaller(*least, add_resolved(f, i->x[k], i->h2[k], w, another, sum[k]));
    }
}

#if defined(SAP_TREE_SPLINE)
/*
 * Adds a run of SPLINE_RUN entries, or fewer at the end of a list, to target particle k of a thread; a whole run by
 * Newton's terms if no thread has one within a length, or so near that words of float do not resolve it.
 */
SAP_INLINE void sum_run(const struct walk_frame *f, const struct walk_room *m, const struct walkers *i,
                        const int numbers, const int k, int first, int entries, V sum[IPT][SAP_SUMS2], V *least)
{
    const V far2 = v_larger(i->h2[k], m->place->near2);
    V d[SPLINE_RUN][3], d2[SPLINE_RUN], mass[SPLINE_RUN];
    int within = entries < SPLINE_RUN;
    UNROLL
    for (int e = 0; e < SPLINE_RUN; e++) {
        W w[NEAR_WORDS];
        take_words(m->words + (first + e) * NEAR_PARTS, NEAR_PARTS, w);
        for (int c = 0; c < 3; c++) d[e][c] = v_sub(w[c], i->x[k][c]);
        d2[e] = sap_distance2(d[e][0], d[e][1], d[e][2]);
        mass[e] = w[3];
        within |= sap_within(d2[e], v_larger(far2, w[4])) ? 1 : 0;
    }
    if (lanes_any(within)) {
        ROLLED
        for (int e = 0; e < entries; e++) sum_one(f, m, i, numbers, k, k + 1, first + e, sum, least);
    } else {
        UNROLL
        for (int e = 0; e < SPLINE_RUN; e++)
            sap_pair2(sum[k], d[e][0], d[e][1], d[e][2], mass[e], v_root_kept(1, d2[e]));
    }
}
#endif

/*
 * Adds inner entries, as sum_exact does, as long as words resolve all pairs; *least: the smallest squared distance of a
 * pair that may be unresolved.  votes, a constant: with spline softening threads vote on runs; with three target
 * particles per thread the code of all votes outgrows caches.
 */
SAP_INLINE void sum_resolved(const struct walk_frame *f, const struct walk_room *m, const struct walkers *i,
                             const int numbers, const int votes, const int many, int n, V sum[IPT][SAP_SUMS2], V *least)
{
#if defined(SAP_TREE_SPLINE)
    for (int first = 0; first < n; first += SPLINE_RUN) {
        const int entries = min(n - first, (int)SPLINE_RUN);
        if (sum_beyond(m, i, many, first, sum)) continue;
        UNROLL
        for (int k = 0; k < IPT; k++)
            if (k < many && votes) sum_run(f, m, i, numbers, k, first, entries, sum, least);
        ROLLED
        for (int e = first; e < first + entries && !votes; e++) sum_one(f, m, i, numbers, 0, many, e, sum, least);
    }
#else
    (void)votes;
    for (int e = 0; e < n; e++) sum_one(f, m, i, numbers, 0, many, e, sum, least);
#endif
}
#endif

/*
 * Adds particles that may be in the bound; returns 1 if sums are worthless, since some pair needs the difference of
 * positions in double.  numbers, a constant: entries may be target particles; votes: of sum_resolved.
 */
SAP_INLINE int sum_inner(const struct walk_frame *f, const struct walk_room *m, const struct walkers *i,
                         const int numbers, const int votes, const int many, int n, V sum[IPT][SAP_SUMS2])
{
#if defined(SAP_KERNEL_DP)
    (void)votes;
    sum_exact(f, m, i, numbers, many, n, sum);
    return 0;
#else
    const int every = m->place->near2 == W_INFINITY; /* pairs take the difference of positions in double */
    V least = W_INFINITY;
    sum_resolved(f, m, i, numbers, votes, many, every ? 0 : n, sum, &least);
    return lanes_any(every || least <= m->place->near2);
#endif
}

/* Adds entries `from` to `to` of a list, cells or particles outside of the bound. */
SAP_INLINE void sum_outer(const struct walk_frame *f, const struct walk_room *m, const struct walkers *i,
                          const int kind, const int many, int from, int to, V sum[IPT][SAP_SUMS2])
{
    const int apart = kind == MASSES || kind == CELLS ? (int)CELL_PARTS : (int)NEAR_PARTS;
    W w[CELL_WORDS];
    for (int e = from; e < to; e++) {
        take_words(m->words + e * apart, kind == CELLS ? (int)CELL_PARTS : (int)NEAR_PARTS, w);
        UNROLL
        for (int k = 0; k < IPT; k++) {
            if (k >= many) continue;
            if (kind == CELLS)
                add_cell(f, i->x[k], i->h2[k], w, sum[k]);
            else
                add_outer(f, i->x[k], i->h2[k], w, sum[k]);
        }
    }
}

/*
 * Adds a list of n entries to the first `many` target particles of each thread.  The first `inner` particles may be in
 * the bound.  Returns 1, and adds nothing, if some of their pairs need the difference of positions in double.
 */
SAP_OUTLINE int sum_list_to(const struct walk_frame *f, const struct walk_room *m, struct walkers *i, const int kind,
                            const int votes, const int many, int inner, int n)
{
    V sum[IPT][SAP_SUMS2];
    start_sums(sum);
    if ((kind == INNER || kind == OWN) && sum_inner(f, m, i, kind == OWN, votes, many, inner, sum)) return 1;
    sum_outer(f, m, i, kind, many, inner, n, sum);
    flush_sums(i, sum, many);
    return 0;
}

/* The same with loops for each number of target particles; most, a constant: the largest. */
SAP_INLINE int sum_list(const int most, const struct walk_frame *f, const struct walk_room *m, struct walkers *i,
                        const int kind, int inner, int n)
{
    if (most == 2) return sum_list_to(f, m, i, kind, RUN_VOTES, 2, inner, n);
    if (i->many == 1) return sum_list_to(f, m, i, kind, 0, 1, inner, n);
    if (i->many == 2) return sum_list_to(f, m, i, kind, 0, 2, inner, n);
    return sum_list_to(f, m, i, kind, 0, IPT, inner, n);
}

#if !defined(SAP_KERNEL_DP)
/*
 * Decides which pairs of a list take the difference of positions in double: near ones, or all if some of its first n
 * sources, which may be in the bound, lie in a clump.
 */
SAP_INLINE void look_for_clumps(const struct walk_frame *f, const struct walk_room *m, int n)
{
    LOCAL struct walk_place *const p = m->place;
    find_clump(f, &p->bound, m->words, WALK_THREADS, n, &p->clump);
    if (local_id() == 0) { /* of too many clumps the part takes double; so it does if no float resolves its bound */
        const int every = (p->clump || !(p->bound.near2 < W_INFINITY)) && ++p->clumped <= CLUMPED_LISTS;
        p->near2 = every ? W_INFINITY : p->bound.near2;
    }
    group_barrier();
}
#endif

#if defined(SAP_TREE_SPLINE)
/* Loads the particles of a list; returns their number, since all may be in the bound. */
SAP_INLINE int bring_particles(const struct walk_frame *f, const struct walk_room *m, int owning, int n)
{
    (void)owning;
    for (int e = (int)local_id() * SPLINE_RUN; e < n; e += WALK_THREADS * SPLINE_RUN)
        bring_run(f, m->sources, m->near + e, min(n - e, (int)SPLINE_RUN), m->words + e * NEAR_PARTS);
    group_barrier();
    return n;
}
#else
/*
 * Loads the particles of a list, and puts those that may be in the bound before the others; returns their number.
 * owning: they are the group's own, which are in the bound.
 */
SAP_INLINE int bring_particles(const struct walk_frame *f, const struct walk_room *m, int owning, int n)
{
    enum { EACH = NEAR_LIST / WALK_THREADS };
    const int me = (int)local_id();
    int j[EACH], inner = 0;
    W w[EACH][NEAR_WORDS];
    UNROLL
    for (int q = 0; q < EACH; q++) {
        const int e = q * WALK_THREADS + me;
        j[q] = m->near[min(e, n - 1)];
        near_words(f, m->sources, j[q], w[q]);
    }
    group_barrier();
    UNROLL
    for (int q = 0; q < EACH; q++) {
        const int e = q * WALK_THREADS + me, is_inner = e < n && (owning || !is_outer(f, &m->place->bound, w[q]));
        int sum;
        const int before = inner + lanes_rank(m->scan, is_inner, &sum), to = is_inner ? before : n - 1 - (e - before);
        if (e < n) m->near[to] = j[q];
        for (int p = 0; p < NEAR_PARTS && e < n; p++) m->words[to * NEAR_PARTS + p] = part_of(w[q] + p * IN_PART);
        inner += sum;
    }
    group_barrier();
    return inner;
}
#endif

#if !defined(SAP_KERNEL_DP)
/* Adds a list of particles by the difference of positions in double; most, a constant: target particles of a thread. */
SAP_INLINE void sum_anew(const int most, const struct walk_frame *f, const struct walk_room *m, struct walkers *i,
                         int numbers, int inner, int n)
{
    V sum[IPT][SAP_SUMS2];
    sum_exact(f, m, i, numbers, most, inner, sum);
    sum_outer(f, m, i, INNER, most, inner, n, sum);
    flush_sums(i, sum, most);
}
#endif

/* Adds the particles of a list, n <= NEAR_LIST; owning: they are the group's own. */
SAP_INLINE void sum_particles(const int most, const struct walk_frame *f, const struct walk_room *m, struct walkers *i,
                              int owning, int n)
{
    const int inner = bring_particles(f, m, owning, n);
#if !defined(SAP_KERNEL_DP)
    look_for_clumps(f, m, inner);
#endif
    const int numbers = owning || m->selected;
    const int anew = numbers ? sum_list(most, f, m, i, OWN, inner, n) : sum_list(most, f, m, i, INNER, inner, n);
#if defined(SAP_KERNEL_DP)
    (void)anew;
#else
    if (anew) sum_anew(most, f, m, i, numbers, inner, n);
#endif
    group_barrier();
}

/* Adds the cells of a list, n <= CELL_LIST. */
SAP_INLINE void sum_cells(const int most, const struct walk_frame *f, const struct walk_room *m,
                          const struct walk_sources *s, struct walkers *i, int n)
{
    for (int e = (int)local_id(); e < n; e += WALK_THREADS) bring_cell(f, s, m->cell[e], m->words + e * CELL_PARTS);
    group_barrier();
    if (f->order > 1)
        (void)sum_list(most, f, m, i, CELLS, 0, n);
    else
        (void)sum_list(most, f, m, i, MASSES, 0, n);
    group_barrier();
}

/* ---- distant cells: one polynomial per group (physics/tree_local.h) ---- */

/* Adds coefficients of all threads to those of the group; m->words has room for them. */
SAP_INLINE void add_coefficients(const struct walk_room *m, const int n, const V *mine, LOCAL D *to)
{
    LOCAL W *const room = (LOCAL W *)m->words;
    const int me = (int)local_id();
    UNROLL
    for (int q = 0; q < n; q++) room[q * SPREAD + me] = mine[q];
    group_barrier();
    if (me < n) {
        V sum = room[me * SPREAD];
        for (int k = 1; k < WALK_THREADS; k++) sum = v_add(sum, room[me * SPREAD + k]);
        to[me] = d_add(to[me], d_of_w(sum));
    }
    group_barrier();
}

/* Adds the last n <= WALK_THREADS of `all` listed distant cells, one per thread. */
SAP_INLINE void sum_distant(const struct walk_frame *f, const struct walk_room *m, const struct walk_sources *s,
                            int all, int n)
{
    const int here = (int)local_id() < n, k = m->distant[all - n + (here ? (int)local_id() : 0)];
    W w[CELL_WORDS];
    V c[SAP_LOCAL4];
    relative(f, s->centre, k, w);
    for (int q = 4; q < CELL_WORDS; q++) w[q] = v_set1(0.0);
    if (f->order > 1) moments_of(f, s, k, w + 4);
    const V d[3] = {WALK_OFF(w, 0), WALK_OFF(w, 1), WALK_OFF(w, 2)};
    const V r2 = v_fma(d[0], d[0], v_fma(d[1], d[1], v_fma(d[2], d[2], f->eps2)));
    const V u = v_root_kept(here && WALK_CELL(r2), r2);
    sap_local_low(c, d[0], d[1], d[2], w[3], w + 4, w[10], u);
    add_coefficients(m, SAP_LOCAL4, c, m->coefficients);
    sap_local_high(c, d[0], d[1], d[2], w[3], u);
    add_coefficients(m, SAP_LOCAL - SAP_LOCAL4, c, m->coefficients + SAP_LOCAL4);
}

/*
 * Adds listed distant cells as long as there are as many as threads, or all if this is the last round; returns whether
 * there were some.
 */
SAP_INLINE int sum_listed_distant(const struct walk_frame *f, const struct walk_room *m, int *distant, int last)
{
    int some = 0;
    while (*distant >= WALK_THREADS || (*distant > 0 && last)) {
        const int n = min(*distant, (int)WALK_THREADS);
        sum_distant(f, m, m->sources, *distant, n);
        *distant -= n;
        some = 1;
    }
    return some;
}

/*
 * Adds a polynomial to the sums of each thread's target particles.  shifted, a constant: it is not about the centre of
 * their ball, which is at `off` from its own.
 */
SAP_INLINE void add_series(const int most, const struct walk_frame *f, const V *c, const int shifted, const V *off,
                           struct walkers *i)
{
    V sum[IPT][SAP_SUMS2];
    (void)f;
    start_sums(sum);
    UNROLL
    for (int k = 0; k < most; k++) {
        V y[3] = {WALK_OFF(i->x[k], 0), WALK_OFF(i->x[k], 1), WALK_OFF(i->x[k], 2)};
        for (int q = 0; q < 3 && shifted; q++) y[q] = v_add(y[q], off[q]);
        sap_local_at(c, y, sum[k]);
    }
    flush_sums(i, sum, most);
}

/* Adds the polynomial of the group. */
SAP_INLINE void add_polynomial(const int most, const struct walk_frame *f, const struct walk_room *m, struct walkers *i)
{
    V c[SAP_LOCAL];
    UNROLL
    for (int q = 0; q < SAP_LOCAL; q++) c[q] = w_of_d(m->coefficients[q]);
    add_series(most, f, c, 0, c, i);
}
