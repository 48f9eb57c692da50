/*
 * tree_walk.h - forces by groups of sorted walkers: 32 threads hold up to 64 walkers of a group, whose ball decides
 * which cells act as a whole.
 *
 * Cells that are to be looked at wait as runs of siblings on a stack.  A round takes runs from its top, 32 cells at
 * most, looks at each by a thread, and puts the children of those that must be opened on top, the deepest last.  So
 * runs of a level lie together, deeper ones above, and those of one level were all put there in the same round: never
 * more than 32 a level, however many particles there are.
 *
 * Cells and particles that act are listed; a list that is full is brought into memory of the group, in units of the
 * cube relative to the middle of the ball, and added to all walkers, sums of a list in the working type, lists in
 * double. Who comes where on a list is decided by sums over the threads, so the order of terms is always the same.
 *
 * Where few of a group are active each of them walks alone, with 32 threads and a ball without extent: a part of one
 * row.  Which parts there are depends on who is active, and on nothing else.
 *
 * A group whose ball holds far more than the group, since the curve jumps within it, say, would open all of that by 32
 * threads: its walkers walk alone, 32 threads each, in a launch behind.  Who is in a ball does not depend on who is
 * active.
 *
 * A group whose sums are not finite in float, or that needs more than float from the start, is left to the kernel in
 * double, which is launched behind.
 */
#include "device/tree_units.h"
#include "scan.h"

#if defined(SAP_KERNEL_DP)
#define WALK_NAME       tree_walk_dp
#define WALK_COINCIDENT 0x1p-1022
#define WALK_FRAME(x)   d_set1(SAP_ZERO) /* coordinates as they are: an escaper in the group must not blur the others */
SAP_INLINE part part_of(const W *w) { return make_double2(w[0], w[1]); }
SAP_INLINE void words_of(part p, W *w) { w[0] = p.x, w[1] = p.y; }
#else
#define WALK_NAME       tree_walk_sp
#define WALK_COINCIDENT 0x1p-126F
#define WALK_FRAME(x)   (x)
SAP_INLINE part part_of(const W *w) { return make_float4(w[0], w[1], w[2], w[3]); }
SAP_INLINE void words_of(part p, W *w) { w[0] = p.x, w[1] = p.y, w[2] = p.z, w[3] = p.w; }
#endif

#ifndef WALK_GROUPS
#define WALK_GROUPS 0 /* for which a multiprocessor shall have room; 0: as the compiler thinks */
#endif

enum {
    WALK_THREADS = SAP_WALK_THREADS,
    IPT = SAP_WALK_IPT,
    STACK = WALK_THREADS * SAP_LINK_LEVELS, /* runs */
    CELL_LIST = 2 * WALK_THREADS,
    NEAR_LIST = 4 * WALK_THREADS,
    CELL_WORDS = 12, /* x, y, z, mass, six moments, half their trace, nothing */
    NEAR_WORDS = 4,
    OWN_EACH = 8, /* of a group's particles: SAP_GROUP_MOST / 32 */
    IN_PART = sizeof(part) / sizeof(W),
    CELL_PARTS = CELL_WORDS / IN_PART,
    NEAR_PARTS = NEAR_WORDS / IN_PART
};

/* Memory of a group. */
struct walk_room {
    LOCAL unsigned *stack;              /* [STACK] */
    LOCAL int *next_ones, *cell, *near; /* [WALK_THREADS], [CELL_LIST], [NEAR_LIST] */
    LOCAL part *words;                  /* of a list */
};

/* Who acts. */
struct walk_sources {
    const GLOBAL wide *particle, *centre;
    const GLOBAL float4 *moments;
    const GLOBAL struct sap_cell *cell;
};

/* Walkers of a thread, with what it has summed up. */
struct walkers {
    V x[IPT][3];
    int number[IPT]; /* place among the tree's particles, -1: none */
    D sum[IPT][SAP_SUMS2];
};

/* The middle of a ball, and what makes units of lengths. */
struct walk_frame {
    D centre[3], unit, moment_unit;
    V eps2;
    int order, softened;
};

SAP_INLINE void relative(const struct walk_frame *f, const GLOBAL wide *from, int k, W *w)
{
    D x[3], mass;
    load_particle(from, k, x, &mass);
    UNROLL
    for (int c = 0; c < 3; c++) w[c] = w_of_d(d_mul(d_sub(x[c], f->centre[c]), f->unit));
    w[3] = w_of_d(mass);
}

/* ---- terms ---- */

/* One source on all walkers of a thread; own: its number among the tree's particles, whom it does not act on. */
SAP_INLINE void add_particle(const struct walk_frame *f, const struct walkers *i, const W *w, int careful, int own,
                             V sum[IPT][SAP_SUMS2])
{
    UNROLL
    for (int k = 0; k < IPT; k++) {
        const V dx = v_sub(w[0], i->x[k][0]), dy = v_sub(w[1], i->x[k][1]), dz = v_sub(w[2], i->x[k][2]);
        const V r2 = v_fma(dx, dx, v_fma(dy, dy, v_fma(dz, dz, f->eps2)));
        const VM keep = careful ? r2 >= WALK_COINCIDENT && own != i->number[k] : 1;
        sap_pair2(sum[k], dx, dy, dz, w[3], v_root_kept(keep, r2));
    }
}

SAP_INLINE void add_cell(const struct walk_frame *f, const struct walkers *i, const W *w, V sum[IPT][SAP_SUMS2])
{
    UNROLL
    for (int k = 0; k < IPT; k++) {
        const V dx = v_sub(w[0], i->x[k][0]), dy = v_sub(w[1], i->x[k][1]), dz = v_sub(w[2], i->x[k][2]);
        const V r2 = v_fma(dx, dx, v_fma(dy, dy, v_fma(dz, dz, f->eps2)));
        sap_pair_cell(sum[k], dx, dy, dz, w[3], w + 4, w[10], v_root_kept(r2 >= WALK_COINCIDENT, r2));
    }
}

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

/*
 * The particles of a list, n <= NEAR_LIST; careful: some are walkers, or may be at zero distance; shared: each thread
 * adds some of them to the only walker.
 */
SAP_INLINE void sum_particles(const struct walk_frame *f, const struct walk_room *m, const struct walk_sources *s,
                              struct walkers *i, int careful, int shared, int n)
{
    V sum[IPT][SAP_SUMS2];
    W w[NEAR_WORDS];
    for (int e = (int)local_id(); e < n; e += WALK_THREADS) {
        relative(f, s->particle, m->near[e], w);
        for (int p = 0; p < NEAR_PARTS; p++) m->words[e * NEAR_PARTS + p] = part_of(w + p * IN_PART);
    }
    group_barrier();
    start_sums(sum);
    if (careful)
        for (int e = shared ? (int)local_id() : 0; e < n; e += shared ? WALK_THREADS : 1) {
            for (int p = 0; p < NEAR_PARTS; p++) words_of(m->words[e * NEAR_PARTS + p], w + p * IN_PART);
            add_particle(f, i, w, 1, m->near[e], sum);
        }
    else
        for (int e = shared ? (int)local_id() : 0; e < n; e += shared ? WALK_THREADS : 1) {
            for (int p = 0; p < NEAR_PARTS; p++) words_of(m->words[e * NEAR_PARTS + p], w + p * IN_PART);
            add_particle(f, i, w, 0, 0, sum);
        }
    flush_sums(i, sum);
    group_barrier();
}

/* Moments of a cell in units. */
SAP_INLINE void moments_of(const struct walk_frame *f, const struct walk_sources *s, int cell, W *w)
{
#if defined(SAP_KERNEL_DP)
    for (int q = 0; q < SAP_MOMENTS2; q++) w[q] = d_mul(s->cell[cell].q[q], f->moment_unit);
    w[6] = d_mul(d_set1(SAP_HALF), d_add(d_add(w[SAP_XX], w[SAP_YY]), w[SAP_ZZ]));
#else
    const float4 a = s->moments[2 * (size_t)cell], b = s->moments[2 * (size_t)cell + 1];
    w[0] = a.x, w[1] = a.y, w[2] = a.z, w[3] = a.w, w[4] = b.x, w[5] = b.y, w[6] = b.z;
#endif
    w[7] = 0;
}

/* The cells of a list, n <= CELL_LIST. */
SAP_INLINE void sum_cells(const struct walk_frame *f, const struct walk_room *m, const struct walk_sources *s,
                          struct walkers *i, int shared, int n)
{
    V sum[IPT][SAP_SUMS2];
    W w[CELL_WORDS];
    for (int e = (int)local_id(); e < n; e += WALK_THREADS) {
        relative(f, s->centre, m->cell[e], w);
        if (f->order > 1) moments_of(f, s, m->cell[e], w + 4);
        for (int p = 0; p < CELL_PARTS; p++) m->words[e * CELL_PARTS + p] = part_of(w + p * IN_PART);
    }
    group_barrier();
    start_sums(sum);
    if (f->order > 1)
        for (int e = shared ? (int)local_id() : 0; e < n; e += shared ? WALK_THREADS : 1) {
            for (int p = 0; p < CELL_PARTS; p++) words_of(m->words[e * CELL_PARTS + p], w + p * IN_PART);
            add_cell(f, i, w, sum);
        }
    else
        for (int e = shared ? (int)local_id() : 0; e < n; e += shared ? WALK_THREADS : 1) {
            for (int p = 0; p < NEAR_PARTS; p++) words_of(m->words[e * CELL_PARTS + p], w + p * IN_PART);
            add_particle(f, i, w, 1, -2, sum);
        }
    flush_sums(i, sum);
    group_barrier();
}

/* ---- the walk ---- */

/* A ball as cells are compared with it. */
struct walk_ball {
    V x[3], radius, strictness;
};

SAP_INLINE int accepted(const GLOBAL float4 *word, const GLOBAL float *turn, int cell, const struct walk_ball *b)
{
    const float4 w = word[cell];
    const V v_turn = (V)turn[cell];
    return sap_accept(v_sub((V)w.x, b->x[0]), v_sub((V)w.y, b->x[1]), v_sub((V)w.z, b->x[2]), (V)w.w, v_turn, b->radius,
                      b->strictness)
               ? 1
               : 0;
}

/* Of the particles of a leaf those that are not the group's: their number; they are first ..., with a gap at `own`. */
SAP_INLINE int overlap(struct sap_tree_link leaf, int own, int own_end)
{
    return max(0, min(leaf.first + leaf.count, own_end) - max(leaf.first, own));
}

/* About a ball.  The strictness is the caller's. */
SAP_INLINE void start_frame(const struct sap_gpu_tree *t, const D *centre, D radius, struct walk_frame *f,
                            struct walk_ball *b)
{
    D x[3];
    const D size = in_units(centre, t, x);
    f->unit = t->unit;
    f->moment_unit = d_mul(d_set1(SAP_THREE), d_mul(t->mass_unit, d_mul(t->unit, t->unit)));
    f->eps2 = w_of_d(d_mul(t->eps2, d_mul(t->unit, t->unit)));
    f->order = t->order;
    f->softened = f->eps2 >= WALK_COINCIDENT;
    for (int c = 0; c < 3; c++) {
        f->centre[c] = WALK_FRAME(centre[c]);
        b->x[c] = w_of_d(sap_tree_cut(x[c]));
    }
    b->radius = padded(d_mul(radius, t->unit), size);
}

/* Slots that walk together: part p, or of those alone the one that is the item's. */
struct walk_part {
    int first, rows;
};

SAP_INLINE struct walk_part part_of_walk(const struct sap_gpu_walk *w, const struct sap_gpu_tree *t,
                                         const GLOBAL int *part_first, int p, int item)
{
    const int per_group = (t->group_size + SAP_WALK_PART - 1) / SAP_WALK_PART;
    struct walk_part q;
    int end;
    if (w->all_slots) {
        q.first = p / per_group * t->group_size + p % per_group * SAP_WALK_PART;
        end = min(min(q.first + SAP_WALK_PART, (p / per_group + 1) * t->group_size), w->slots);
    } else {
        q.first = part_first[p];
        end = p + 1 < w->parts ? part_first[p + 1] : w->slots;
    }
    if (w->alone) q.first += item % SAP_WALK_PART;
    q.rows = w->alone ? min(end - q.first, 1) : end - q.first;
    return q;
}

SAP_INLINE void start_walkers(const struct walk_frame *f, const struct sap_gpu_walk *w, const GLOBAL wide *x,
                              const GLOBAL int *slot, int first, int rows, struct walkers *i)
{
    UNROLL
    for (int k = 0; k < IPT; k++) {
        const int at = first + min((int)local_id() + k * WALK_THREADS, rows - 1);
        const int walker = w->all_slots ? at : slot[at];
        W words[4];
        relative(f, x, walker, words);
        for (int c = 0; c < 3; c++) i->x[k][c] = words[c];
        i->number[k] = w->own ? walker : -1;
        for (int q = 0; q < SAP_SUMS2; q++) i->sum[k][q] = d_set1(SAP_ZERO);
    }
}

/* Writes the sums of a thread's walkers to their rows; returns whether all are finite. */
SAP_INLINE int deliver(const struct walkers *i, const struct sap_gpu_tree *t, const GLOBAL int *row, int rows,
                       GLOBAL D *acc, GLOBAL D *pot)
{
    const D to_pot = d_div(t->unit, t->mass_unit), to_acc = d_mul(to_pot, t->unit);
    int finite = 1;
    UNROLL
    for (int k = 0; k < IPT; k++) {
        const int at = (int)local_id() + k * WALK_THREADS;
        if (at < rows) {
            const size_t to = (size_t)row[at];
            pot[to] = d_mul(d_neg(i->sum[k][SAP_POT]), to_pot);
            for (int c = 0; c < 3; c++) acc[3 * to + c] = d_mul(i->sum[k][SAP_ACC + c], to_acc);
            for (int q = 0; q < SAP_SUMS2; q++)
                finite &= dm_any(d_eq(d_sub(i->sum[k][q], i->sum[k][q]), d_set1(SAP_ZERO))) ? 1 : 0;
        }
    }
    return finite;
}

/*
 * Of threads that share a walker, if they do: the sums of all, added in their order.  room: SAP_SUMS2 for each thread.
 * The barriers stand outside of branches: PoCL's compiler mistakes who is behind those within.
 */
SAP_INLINE void join_sums(struct walkers *i, LOCAL D *room, int share)
{
    group_barrier();
    for (int q = 0; q < SAP_SUMS2; q++) room[(int)local_id() * SAP_SUMS2 + q] = i->sum[0][q];
    group_barrier();
    for (int q = 0; q < SAP_SUMS2 && share; q++) {
        D sum = room[q];
        for (int k = 1; k < WALK_THREADS; k++) sum = d_add(sum, room[k * SAP_SUMS2 + q]);
        i->sum[0][q] = sum;
    }
    group_barrier();
}

/* Whether 32 threads have one walker of these rows; asked again and again, since registers are short. */
SAP_INLINE int goes_alone(const struct sap_gpu_walk *w, int rows) { return w->alone || (!w->all_slots && rows == 1); }

/* Whether a cell's centre is within a ball. */
SAP_INLINE int inside(const GLOBAL float4 *word, int cell, const struct walk_ball *b)
{
    const float4 w = word[cell];
    const V d2 = sap_distance2(v_sub((V)w.x, b->x[0]), v_sub((V)w.y, b->x[1]), v_sub((V)w.z, b->x[2]));
    return d2 < v_mul(b->radius, b->radius) ? 1 : 0;
}

/* Adds to a number of two words. */
SAP_INLINE void count_up(GLOBAL unsigned *words, U64 x)
{
    const unsigned low = (unsigned)x, before = atomic_add(&words[0], low);
    const unsigned carry = (unsigned)(x >> 32) + (before + low < before ? 1U : 0U);
    if (carry) (void)atomic_add(&words[1], carry);
}

/*
 * acc (three a row) and pot of all rows; heavy[group]: left to double; strict: of groups, where not all slots walk, of
 * parts.  told: interactions, two words each.  split: how
 * many parts are left to a launch in which each walker is alone, and which they are, in any order.
 */
KERNEL_DENSE(WALK_THREADS, WALK_GROUPS)
WALK_NAME(const GLOBAL wide *particle, const GLOBAL wide *walker, const GLOBAL struct sap_tree_link *node,
          const GLOBAL float4 *word, const GLOBAL float *turn, const GLOBAL wide *centre, const GLOBAL float4 *moments,
          const GLOBAL struct sap_cell *cell, const GLOBAL D *ball, GLOBAL int *heavy, const GLOBAL float *strict,
          const GLOBAL int *slot, const GLOBAL int *part_first, const GLOBAL int *row, GLOBAL D *acc, GLOBAL D *pot,
          GLOBAL unsigned *told, GLOBAL int *split, const struct sap_gpu_walk w, const struct sap_gpu_tree t)
{
    LANES_SCAN_ROOM(scan);
    SHARED unsigned stack[STACK];
    SHARED int next_ones[WALK_THREADS], cell_list[CELL_LIST], near_list[NEAR_LIST];
    SHARED part words[CELL_LIST * CELL_PARTS];
    const struct walk_room m = {stack, next_ones, cell_list, near_list, words};
    const struct walk_sources s = {particle, centre, moments, cell};
    const int me = (int)local_id();
    const int all = w.alone ? split[0] * SAP_WALK_PART : w.parts;
    const int crowd = max(16, SAP_WALK_CROWD * t.group_size / t.leaf_size); /* leaves in a ball */
    for (int item = (int)group_id(0); item < all; item += (int)num_groups()) {
        const int p = w.alone ? split[1 + item / SAP_WALK_PART] : item;
        const struct walk_part q = part_of_walk(&w, &t, part_first, p, item);
        const int first = q.first, rows = q.rows;
        const int g = rows > 0 ? (w.all_slots ? first : slot[first]) / t.group_size : 0;
        const int alone = goes_alone(&w, rows);
#if defined(SAP_KERNEL_DP)
        const int walks = rows > 0 && (w.every || heavy[g] != 0);
#else
        const int walks = rows > 0 && heavy[g] == 0;
#endif
        if (walks) {
            /* particles of the tree that walk here: no cell that acts holds any, and they are listed by themselves */
            const int own = !w.own ? 0 : !alone ? g * t.group_size : w.all_slots ? first : slot[first];
            const int own_end = !w.own ? 0 : alone ? own + 1 : min(own + t.group_size, w.n);
            struct walk_frame f;
            struct walk_ball b;
            struct walkers i;
            D at[3], mass, radius = ball[SAP_GROUP_WORDS * (size_t)g + 3];
            for (int c = 0; c < 3; c++) at[c] = ball[SAP_GROUP_WORDS * (size_t)g + c];
            if (alone) {
                load_particle(walker, w.all_slots ? first : slot[first], at, &mass);
                radius = d_set1(SAP_ZERO);
            }
            start_frame(&t, at, radius, &f, &b);
            b.strictness = w.strict ? (V)strict[w.all_slots ? g : p] : v_set1(0.0);
            start_walkers(&f, &w, walker, slot, first, rows, &i);

            int top = 1, cells = 0, nears = 0, all_cells = 0, all_nears = 0, owning = own < own_end && !alone;
            int within = 0; /* leaves in the ball */
            group_barrier();
            if (me == 0) stack[0] = 0; /* the root alone */
            group_barrier();
            while (owning || top > 0) {
                /* particles to be listed: of this thread, from `from` on, with a gap of `hidden` at the group's own */
                int from = own + me * OWN_EACH, near = max(0, min(own_end - from, (int)OWN_EACH)), hidden = 0;
                int near_at = me * OWN_EACH, near_sum = own_end - own;
                if (!owning) {
                    const unsigned run = me < top ? stack[top - 1 - me] : 0;
                    const int length = me < top ? (int)(run & 7U) + 1 : 0;
                    int sum, made;
                    const int before = lanes_scan(scan, length, &sum);
                    const int taken = me < top && before + length <= WALK_THREADS;
                    (void)lanes_scan(scan, taken ? 256 + length : 0, &sum);
                    for (int c = 0; c < length && taken; c++) next_ones[before + c] = (int)(run >> 3) + c;
                    top -= sum / 256;
                    group_barrier();

                    const int here = me < sum % 256, k = here ? next_ones[me] : 0;
                    const struct sap_tree_link link = node[k];
                    const int acts = here && accepted(word, turn, k, &b), leaf = link.children == 0;
                    const int as_cell = acts && !(leaf && link.count <= t.order), opens = here && !acts && !leaf;
                    const int crowds = here && leaf && inside(word, k, &b);
                    const int place = lanes_scan(scan, crowds * 65536 + opens * 256 + as_cell, &made);
                    const int opened = made / 256 % 256;
                    within += made / 65536;
                    from = link.first;
                    hidden = here && leaf && !as_cell ? overlap(link, own, own_end) : 0;
                    near = here && leaf && !as_cell ? link.count - hidden : 0;
                    near_at = lanes_scan(scan, near, &near_sum);
                    if (opens)
                        stack[top + opened - 1 - place / 256 % 256] =
                            (unsigned)link.child << 3 | (unsigned)(link.children - 1);
                    if (as_cell) cell_list[cells + place % 256] = k;
                    top += opened;
                    cells += made % 256;
                    all_cells += made % 256;
                    all_nears += near_sum;
                    if (within > crowd && !goes_alone(&w, rows)) top = cells = nears = near_sum = 0; /* not together */
                    group_barrier();
                }
                const int last = owning || top == 0; /* what is listed must be added now */
                if (cells > CELL_LIST - WALK_THREADS || (cells > 0 && top == 0)) {
                    sum_cells(&f, &m, &s, &i, goes_alone(&w, rows), cells);
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
                        sum_particles(&f, &m, &s, &i, owning || !f.softened, goes_alone(&w, rows), nears);
                        nears = 0;
                    }
                }
                owning = 0;
            }

            const int apart = within > crowd && !goes_alone(&w, rows);
            join_sums(&i, (LOCAL D *)words, goes_alone(&w, rows));
            if (apart && me == 0)
                split[1 + atomic_add(&split[0], 1)] = item; /* which is the part: none is left twice */
            if (!apart && !deliver(&i, &t, row + first, rows, acc, pot)) heavy[g] = 1;
            if (!apart && me == 0) {
                count_up(told, (U64)rows * (U64)(all_nears + max(0, own_end - own - 1)));
                count_up(told + 2, (U64)rows * (U64)all_cells);
            }
            group_barrier();
        }
    }
}
