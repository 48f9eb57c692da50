/*
 * tree_terms.h - what the walks of a tree share: the sources, their units, the test by which a cell is accepted, and
 * the terms.
 *
 * A walk lists the cells that are accepted and the particles of opened leaves.  When a list is full, its entries are
 * loaded into memory of the group, in units of the cube relative to the middle of the bound of the target particles,
 * and added to all target particles.  Sums over a list are in the working type, sums of lists in double.
 *
 * SAP_TREE_SPLINE: spline softening (physics/spline.h).  Particles have lengths, in units; cells act without softening.
 * SAP_TREE_SOFT: Plummer lengths per particle (physics/tree_soft.h), whose squares are added to that of each distance.
 */
#ifndef SAP_DEVICE_TREE_TERMS_H
#define SAP_DEVICE_TREE_TERMS_H

#include "device/tree_units.h"
#include "scan.h"

#if defined(SAP_KERNEL_DP)
#define WALK_COINCIDENT 0x1p-1022
#define WALK_FRAME(x)   d_set1(SAP_ZERO) /* absolute coordinates: an escaper in a group must not blur the others */
#define WALK_OFF(w, c)  v_sub(w[c], w_of_d(d_mul(f->ball[c], f->unit))) /* from the centre of the ball */
#define WALK_CELL(r2)   ((r2) >= WALK_COINCIDENT)
#define WALK_APART      SAP_LEFT_WIDE
SAP_INLINE part part_of(const W *w) { return make_double2(w[0], w[1]); }
SAP_INLINE void words_of(part p, W *w) { w[0] = p.x, w[1] = p.y; }
#else
#define WALK_COINCIDENT 0x1p-126F
#define WALK_FRAME(x)   (x)
#define WALK_OFF(w, c)  (w)[c]
#define WALK_APART      SAP_LEFT_APART
#define WALK_CELL(r2)   1 /* a cell so near that its squared distance underflows makes sums that are not finite */
SAP_INLINE part part_of(const W *w) { return make_float4(w[0], w[1], w[2], w[3]); }
SAP_INLINE void words_of(part p, W *w) { w[0] = p.x, w[1] = p.y, w[2] = p.z, w[3] = p.w; }
#endif

#if defined(SAP_TREE_SPLINE)
/* Operations of spline.h. */
#define SAP_NOT_LESS(a, b) vm_and_not(vm_set1(1), v_less(a, b))
#define SAP_LARGER         v_larger

/* Returns 1/h of the length of square h2; +0 where h2 is practically zero. */
SAP_INLINE V sap_inverse_length(V h2) { return v_root_kept(h2 >= WALK_COINCIDENT, h2); }

#include "physics/spline.h"
#endif

enum {
#if defined(SAP_TREE_SPLINE)
    SPLINE = 1,
#else
    SPLINE = 0,
#endif
#if defined(SAP_TREE_SOFT)
    SOFT = 1,
#else
    SOFT = 0,
#endif
    HAS_LENGTHS = SPLINE | SOFT,
    SPLINE_RUN = 4,  /* particles of a list that are beyond all lengths together or not */
    CELL_WORDS = 12, /* x, y, z, mass, six moments, half their trace; of SOFT the mean squared length, else nothing */
    IN_PART = sizeof(part) / sizeof(W),
    NEAR_WORDS = HAS_LENGTHS ? 4 + IN_PART : 4, /* x, y, z, mass; with lengths the squared one, nothing */
    CELL_PARTS = CELL_WORDS / IN_PART,
    NEAR_PARTS = NEAR_WORDS / IN_PART,
    LIST_PARTS = CELL_PARTS > 2 * NEAR_PARTS ? CELL_PARTS : 2 * NEAR_PARTS /* of a cell, or of two particles */
};

/* The particles and cells that exert forces. */
struct walk_sources {
    const GLOBAL wide *particle, *centre;
    const GLOBAL float4 *moments;
    const GLOBAL struct sap_cell *cell;
    const GLOBAL D *length; /* of the particles, if they have lengths */
    const GLOBAL D *soft;   /* of SOFT: SAP_SOFT_WORDS per node, the mean first */
};

/* Arguments of the kernels that walk, except sources. */
struct walk_force {
    const GLOBAL wide *walker;
    const GLOBAL float4 *word;
    const GLOBAL float *strict;
    const GLOBAL D *bound;
    const GLOBAL int *group_first, *group_of, *heavy, *slot, *row;
    GLOBAL D *acc, *pot;
    GLOBAL int *left;
    const GLOBAL D *length;          /* of the target particles, if they have lengths */
    const GLOBAL float *longest;     /* with spline softening: the greatest of each group */
    const GLOBAL int *district_node; /* where districts have ended, and what they have added (tree_districts.h) */
    const GLOBAL D *district;
};

#if defined(SAP_TREE_SPLINE)
/* Further arguments; law: SAP_SPLINE_... */
#define LENGTH_ARGUMENTS                                                                                               \
    const GLOBAL D *length, const GLOBAL D *walker_length, const GLOBAL float *longest, const int law,
#define SOURCE_LENGTHS length, 0
#define WALKER_LENGTHS walker_length, longest, 0, 0
#define LAW            law
#elif defined(SAP_TREE_SOFT)
#define LENGTH_ARGUMENTS const GLOBAL D *length, const GLOBAL D *walker_length, const GLOBAL D *soft,
#define SOURCE_LENGTHS   length, soft
#define WALKER_LENGTHS   walker_length, 0, 0, 0
#define LAW              0
#else
#define LENGTH_ARGUMENTS const GLOBAL int *district_node, const GLOBAL D *district,
#define SOURCE_LENGTHS   0, 0
#define WALKER_LENGTHS   0, 0, district_node, district
#define LAW              0
#endif

/* Arguments of the kernels that walk by groups or in bunches, and both structs made of them. */
#define WALK_ARGUMENTS                                                                                                 \
    const GLOBAL wide *particle, const GLOBAL wide *walker, const GLOBAL float4 *word, const GLOBAL wide *centre,      \
        const GLOBAL float4 *moments, const GLOBAL struct sap_cell *cell, const GLOBAL int *group_first,               \
        const GLOBAL int *group_of, const GLOBAL D *bound, const GLOBAL int *heavy, const GLOBAL float *strict,        \
        const GLOBAL int *slot, const GLOBAL int *row, GLOBAL D *acc, GLOBAL D *pot, GLOBAL int *left,                 \
        LENGTH_ARGUMENTS const struct sap_gpu_walk w, const struct sap_gpu_tree t
#define WALK_SOURCES                                                                                                   \
    {                                                                                                                  \
        particle, centre, moments, cell, SOURCE_LENGTHS                                                                \
    }
#define WALK_FORCE                                                                                                     \
    {                                                                                                                  \
        walker, word, strict, bound, group_first, group_of, heavy, slot, row, acc, pot, left, WALKER_LENGTHS           \
    }

/* The centre of a bound, and the factors from lengths and moments to units. */
struct walk_frame {
    D centre[3], unit, moment_unit;
    V eps2;
    int order, softened;
    /* with spline softening: the ball, the radius in units, and the greatest length of the target particles */
    D ball[3];
    V radius, length;
    int law;
};

/* A bound in the form in which cells are compared with it.  It lies in memory of the group, so registers stay free. */
struct walk_bound {
    V x[3], extent[3], radius, strictness;
    V size;     /* the greatest distance of a target particle from the middle */
    V close;    /* sap_bound_close */
    V reach[3]; /* extents, radius and `close` */
    V near2;    /* nearness_of up to which pairs may be as near as that */
    V length;   /* with spline softening: the greatest of the target particles */
};

SAP_INLINE void relative(const struct walk_frame *f, const GLOBAL wide *from, int k, W *w)
{
    D x[3], mass;
    load_particle(from, k, x, &mass);
    UNROLL
    for (int c = 0; c < 3; c++) w[c] = w_of_d(d_mul(d_sub(x[c], f->centre[c]), f->unit));
    w[3] = w_of_d(mass);
}

/* Loads the moments of a cell, in units. */
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

SAP_INLINE void take_words(const LOCAL part *from, int parts, W *w)
{
    for (int p = 0; p < parts; p++) words_of(from[p], w + p * IN_PART);
}

/* Computes the words of particle k in a list. */
SAP_INLINE void near_words(const struct walk_frame *f, const struct walk_sources *s, int k, W *w)
{
    relative(f, s->particle, k, w);
#if defined(SAP_TREE_SPLINE) || defined(SAP_TREE_SOFT)
    w[5] = w[NEAR_WORDS - 2] = w[NEAR_WORDS - 1] = v_set1(0.0); /* no loop: PoCL would make it one of all threads */
    w[4] = w_of_d(d_mul(s->length[k], s->length[k]));
#endif
}

/* Loads particle k into a list. */
SAP_INLINE void bring_particle(const struct walk_frame *f, const struct walk_sources *s, int k, LOCAL part *to)
{
    W w[NEAR_WORDS];
    near_words(f, s, k, w);
    for (int p = 0; p < NEAR_PARTS; p++) to[p] = part_of(w + p * IN_PART);
}

#if defined(SAP_TREE_SPLINE)
/*
 * Returns whether a particle with the length h is beyond all lengths from each target particle of the ball, by more
 * than roundings, and not so near that float does not resolve the pairs: these have the bits of those without
 * softening.
 */
SAP_INLINE int beyond_lengths(const struct walk_frame *f, const W *w, V h)
{
    const V length = v_larger(v_larger(h, f->length), v_mul(f->radius, v_set1(SAP_CLOSE_PART)));
    const V reach = v_mul(v_add(f->radius, length), v_set1(1.001));
    const V d2 = sap_distance2(WALK_OFF(w, 0), WALK_OFF(w, 1), WALK_OFF(w, 2));
    return d2 > v_mul(reach, reach) && d2 > v_set1(0x1p-100) ? 1 : 0;
}

/*
 * Loads n particles, near[0] to near[n-1], into a list; near[0] becomes -1 if these are SPLINE_RUN and all of them are
 * beyond all lengths.
 */
SAP_INLINE void bring_run(const struct walk_frame *f, const struct walk_sources *s, LOCAL int *near, int n,
                          LOCAL part *to)
{
    int beyond = n == SPLINE_RUN;
    for (int e = 0; e < n; e++) {
        W w[NEAR_WORDS];
        const int k = near[e];
        bring_particle(f, s, k, to + e * NEAR_PARTS);
        take_words(to + e * NEAR_PARTS, NEAR_PARTS, w);
        beyond &= beyond_lengths(f, w, w_of_d(s->length[k]));
    }
    if (beyond) near[0] = -1;
}
#endif

SAP_INLINE void bring_cell(const struct walk_frame *f, const struct walk_sources *s, int k, LOCAL part *to)
{
    W w[CELL_WORDS];
    relative(f, s->centre, k, w);
    if (f->order > 1) moments_of(f, s, k, w + 4);
    if (SOFT && f->order > 1) w[CELL_WORDS - 1] = w_of_d(s->soft[SAP_SOFT_WORDS * (size_t)k]);
    if (SOFT && f->order < 2) w[4] = w_of_d(s->soft[SAP_SOFT_WORDS * (size_t)k]);
    for (int p = 0; p < CELL_PARTS; p++) to[p] = part_of(w + p * IN_PART);
}

/* Returns what is added to the squared distance of a pair with these squared lengths. */
SAP_INLINE V softening2_of(const struct walk_frame *f, V hi2, V hj2)
{
    return SOFT ? v_add(f->eps2, v_add(hi2, hj2)) : f->eps2;
}

/* Adds one particle, or a cell of order 1, to the sums of a target particle at x with squared length h2. */
SAP_INLINE void add_outer(const struct walk_frame *f, const V *x, V h2, const W *w, V *sum)
{
    const V dx = v_sub(w[0], x[0]), dy = v_sub(w[1], x[1]), dz = v_sub(w[2], x[2]);
    const V soft2 = softening2_of(f, h2, SOFT ? w[4] : v_set1(0.0));
    const V r2 = v_fma(dx, dx, v_fma(dy, dy, v_fma(dz, dz, soft2)));
    sap_pair2(sum, dx, dy, dz, w[3], v_root_kept(1, r2));
}

/* A target particle and a source, in the arrays that hold their positions in double. */
struct walk_pair {
    const GLOBAL wide *target, *source;
    int i, j;
};

struct walk_difference {
    V d[3];
};

/* Returns the difference of the positions of a pair in double, in units. */
SAP_COLD struct walk_difference exact_difference(const GLOBAL wide *target, int i, const GLOBAL wide *source, int j,
                                                 D unit)
{
    struct walk_difference e;
    D xi[3], xj[3], mass;
    load_particle(target, i, xi, &mass);
    load_particle(source, j, xj, &mass);
    for (int c = 0; c < 3; c++) e.d[c] = w_of_d(d_mul(d_sub(xj[c], xi[c]), unit));
    return e;
}

/*
 * Adds a pair with the difference d of positions, and d2, its square, with Plummer softening the softened one.  It is
 * skipped unless `keep`; with spline softening its own pair, which is not `another` one, has the potential of its
 * length. h2, w[4]: squared lengths.
 */
SAP_INLINE void add_pair(const struct walk_frame *f, const V *d, V d2, const W *w, int another, int keep, V h2, V *sum)
{
    const V u = v_root_kept(keep, d2);
#if defined(SAP_TREE_SPLINE)
    struct sap_powers p = sap_powers_of(w[3], u);
    if (vm_any(sap_within(d2, SAP_LARGER(h2, w[4]))))
        sap_spline_powers(&p, d2, w[3], u, another != 0, h2, w[4], f->law);
    sap_add_newton(sum, d[0], d[1], d[2], p.mu, p.mu3);
#else
    (void)f, (void)another, (void)h2;
    sap_pair2(sum, d[0], d[1], d[2], w[3], u);
#endif
}

/* Returns the square of a difference, with Plummer softening the softened one; h2, w[4]: squared lengths. */
SAP_INLINE V softened2_of(const struct walk_frame *f, const V *d, V h2, const W *w)
{
#if defined(SAP_TREE_SPLINE)
    (void)f, (void)h2, (void)w;
    return sap_distance2(d[0], d[1], d[2]);
#else
    const V soft2 = softening2_of(f, h2, SOFT ? w[4] : v_set1(0.0));
    return v_fma(d[0], d[0], v_fma(d[1], d[1], v_fma(d[2], d[2], soft2)));
#endif
}

/* Returns what is compared with near2 of a bound: the square of a difference, softened by eps2 if that is common. */
SAP_INLINE V nearness_of(const V *d, V softened2) { return SOFT ? sap_distance2(d[0], d[1], d[2]) : softened2; }

#if !defined(SAP_KERNEL_DP)
/*
 * Adds one particle that may be in the bound, if it is `another` one, to the sums of a target particle at x with
 * squared length h2; returns their squared distance as of nearness_of, or infinity.  Words must resolve it
 * (add_exact).
 */
SAP_INLINE V add_resolved(const struct walk_frame *f, const V *x, V h2, const W *w, int another, V *sum)
{
    const V d[3] = {v_sub(w[0], x[0]), v_sub(w[1], x[1]), v_sub(w[2], x[2])};
    const V d2 = softened2_of(f, d, h2, w), kept = another ? d2 : W_INFINITY;
#if defined(SAP_TREE_SPLINE)
    add_pair(f, d, d2, w, another, another && d2 >= WALK_COINCIDENT, h2, sum);
#else
    add_pair(f, d, kept, w, another, 1, h2, sum);
#endif
    return SOFT && another ? nearness_of(d, d2) : kept;
}
#endif

/*
 * Adds one particle that may be in the bound; it is skipped if it is not `another` one, or at zero distance without
 * softening.  If nearness_of is at most near2, words of float do not resolve it.  If its square is 0
 * in float, the sums are not finite.
 */
SAP_INLINE void add_exact(const struct walk_frame *f, const V *x, V h2, const W *w, int another, V near2,
                          const struct walk_pair *p, V *sum)
{
    V d[3] = {v_sub(w[0], x[0]), v_sub(w[1], x[1]), v_sub(w[2], x[2])};
    V d2 = softened2_of(f, d, h2, w);
#if defined(SAP_KERNEL_DP)
    const int keep = another && d2 >= WALK_COINCIDENT;
    (void)near2, (void)p;
#else
    int keep = another && (!SPLINE || d2 >= WALK_COINCIDENT);
    if (another && nearness_of(d, d2) <= near2) {
        const struct walk_difference exact = exact_difference(p->target, p->i, p->source, p->j, f->unit);
        for (int c = 0; c < 3; c++) d[c] = exact.d[c];
        d2 = softened2_of(f, d, h2, w);
        keep = f->softened || d2 > 0 || d[0] != 0 || d[1] != 0 || d[2] != 0;
    }
#endif
    add_pair(f, d, d2, w, another, keep, h2, sum);
}

#if defined(SAP_TREE_SPLINE)
/* Adds one particle, beyond all lengths, to the sums of a target particle at x. */
SAP_INLINE void add_newton(const V *x, const W *w, V *sum)
{
    const V d[3] = {v_sub(w[0], x[0]), v_sub(w[1], x[1]), v_sub(w[2], x[2])};
    sap_pair2(sum, d[0], d[1], d[2], w[3], v_root_kept(1, sap_distance2(d[0], d[1], d[2])));
}

#endif

/* Adds a cell with second moments. */
SAP_INLINE void add_cell(const struct walk_frame *f, const V *x, V h2, const W *w, V *sum)
{
    const V dx = v_sub(w[0], x[0]), dy = v_sub(w[1], x[1]), dz = v_sub(w[2], x[2]);
    const V soft2 = softening2_of(f, h2, w[CELL_WORDS - 1]);
    const V r2 = v_fma(dx, dx, v_fma(dy, dy, v_fma(dz, dz, soft2)));
    sap_pair_cell(sum, dx, dy, dz, w[3], w + 4, w[10], v_root_kept(WALK_CELL(r2), r2));
}

/*
 * A node as a walk sees it.  place: its centre and guard; at, many: the first particle and the number of particles of a
 * leaf, or the first child of a node and, negative, the number of its children.
 */
struct walk_node {
    float4 place;
    float turn, far; /* far: the largest distance of its box from the centre */
    int at, many;
};

SAP_INLINE struct walk_node walk_node_of(const GLOBAL float4 *word, int k)
{
    struct walk_node n;
    const float4 more = word[2 * (size_t)k + 1];
    n.place = word[2 * (size_t)k];
    n.turn = more.x;
    n.far = more.w;
    n.at = bits_of_float(more.y);
    n.many = bits_of_float(more.z);
    return n;
}

/* Puts the roots on the stack of a group of threads; returns how many runs they are. */
SAP_INLINE int begin_stack(LOCAL unsigned *stack, const struct sap_gpu_walk *w)
{
    const int runs = w->more > 0 ? 2 : 1;
    group_barrier();
    if (local_id() == 0) {
        stack[runs - 1] = 0;
        if (runs > 1) stack[0] = (unsigned)w->more << 3;
    }
    group_barrier();
    return runs;
}

/* Returns the squared distance of a cell's centre from the box of a bound. */
SAP_INLINE V distance2_of(const struct walk_node *n, const struct walk_bound *b)
{
    const float4 w = n->place;
    return sap_box_distance2(v_sub((V)w.x, b->x[0]), v_sub((V)w.y, b->x[1]), v_sub((V)w.z, b->x[2]), b->extent);
}

/* Returns the squared distance of a cell's centre from the middle of a bound. */
SAP_INLINE V centre2_of(const struct walk_node *n, const struct walk_bound *b)
{
    const float4 w = n->place;
    return sap_distance2(v_sub((V)w.x, b->x[0]), v_sub((V)w.y, b->x[1]), v_sub((V)w.z, b->x[2]));
}

/* Returns 1 if a cell that is accepted acts by the polynomial of a bound (physics/tree_local.h). */
SAP_INLINE int is_distant(const struct walk_node *n, const struct walk_bound *b)
{
    const V size2 = sap_distance2((V)n->place.x, (V)n->place.y, (V)n->place.z);
    const V from = sap_accept_from((V)n->place.w, (V)n->turn, b->strictness);
    return sap_is_distant(b->size, (V)n->far, centre2_of(n, b), size2, b->strictness > 0, from) ? 1 : 0;
}

SAP_INLINE int accepted(const struct walk_node *n, V distance2, const struct walk_bound *b)
{
    const V guard = (V)n->place.w;
#if defined(SAP_TREE_SPLINE)
    return sap_accept_spline(distance2, guard, (V)n->turn, (V)n->far, b->radius, b->strictness, b->close, b->length)
               ? 1
               : 0;
#else
    return sap_accept(distance2, guard, (V)n->turn, b->radius, b->strictness, b->close) ? 1 : 0;
#endif
}

/* Returns 1 if a source is beyond the box about the bound by more than `close`; w: its words. */
SAP_INLINE int is_outer(const struct walk_frame *f, const LOCAL struct walk_bound *b, const W *w)
{
    int outer = 0;
    for (int c = 0; c < 3; c++) {
        const V off = WALK_OFF(w, c);
        outer |= off > b->reach[c] || -off > b->reach[c];
    }
    return outer;
}

/* Returns 1 if two sources, SAP_CLUMP entries of a list apart, lie in a clump that may be in the bound. */
SAP_INLINE int is_clumped(const struct walk_frame *f, const LOCAL struct walk_bound *b, const LOCAL part *one,
                          const LOCAL part *other)
{
    W u[4], w[4];
    take_words(one, 4 / IN_PART, u);
    take_words(other, 4 / IN_PART, w);
    const V d2 = sap_distance2(v_sub(w[0], u[0]), v_sub(w[1], u[1]), v_sub(w[2], u[2]));
    return sap_is_clumped(d_of_w(d2), d_of_w(b->close)) && !is_outer(f, b, u);
}

#if !defined(SAP_KERNEL_DP)
/*
 * Sets *clump, a word of the group, to whether some of the first n sources of a list, which may be in the bound, lie in
 * a clump.
 */
SAP_INLINE void find_clump(const struct walk_frame *f, const LOCAL struct walk_bound *b, const LOCAL part *words,
                           int threads, int n, LOCAL int *clump)
{
    if (local_id() == 0) *clump = 0;
    group_barrier();
    ROLLED
    for (int at = (int)local_id() * SAP_CLUMP_STEP; at + SAP_CLUMP < n; at += threads * SAP_CLUMP_STEP)
        if (is_clumped(f, b, words + at * NEAR_PARTS, words + (at + SAP_CLUMP) * NEAR_PARTS)) *clump = 1;
    group_barrier();
}
#endif

/*
 * Returns 1 if a node is listed as a cell.  Accepted leaves with few particles are listed by particle, which costs
 * less; leaves without particles stand for cells that all target particles accept (engine/tree_part.h).
 */
SAP_INLINE int acts_as_cell(const struct walk_node *n, int here, int acts, int order)
{
    return (acts && !(n->many >= 0 && n->many <= order)) || (here && n->many == 0);
}

/* Returns 1 if a cell's centre at this squared distance from the box of a bound is within the bound. */
SAP_INLINE int inside(V distance2, const struct walk_bound *b)
{
    return distance2 <= v_mul(b->radius, b->radius) ? 1 : 0;
}

/* Sets the frame of a walk about a centre. */
SAP_INLINE void start_frame(const struct sap_gpu_tree *t, const D *centre, struct walk_frame *f)
{
    f->unit = t->unit;
    f->moment_unit = d_mul(d_set1(SAP_THREE), d_mul(t->mass_unit, d_mul(t->unit, t->unit)));
    f->eps2 = w_of_d(d_mul(t->eps2, d_mul(t->unit, t->unit)));
    f->order = t->order;
    f->softened = dm_any(d_gt(t->eps2, d_set1(SAP_ZERO))) ? 1 : 0; /* even if the square is 0 in float */
    for (int c = 0; c < 3; c++) {
        f->centre[c] = WALK_FRAME(centre[c]);
        f->ball[c] = centre[c];
    }
}

/*
 * Returns the square of `close`, far above squares whose roots leave the range of float, with softening; roundings of
 * squared distances are within its margin.
 */
SAP_INLINE V near2_of(D close, D eps2)
{
    const D close2 = d_max(d_mul(close, close), d_set1(SAP_NUMBER(0x1p-100, 0x39B0000000000000UL)));
    return w_of_d(d_mul(d_add(close2, eps2), d_set1(SAP_NUMBER(0x1.00001p0, 0x3FF0000100000000UL))));
}

/* Returns a padded length of a bound, or infinity if no word holds it: offsets of sources are not cut as places are. */
SAP_INLINE V reach_of(V padded_length) { return padded_length < (V)SAP_TREE_NEVER ? padded_length : W_INFINITY; }

/* Returns a bound as the walk uses it, enlarged by the rounding errors of float. */
SAP_INLINE struct walk_bound words_of_bound(const struct sap_gpu_tree *t, const struct sap_bound *from, V strictness,
                                            V length)
{
    struct walk_bound b;
    D x[3];
    const D size = in_units(from->centre, t, x);
    for (int c = 0; c < 3; c++) {
        b.x[c] = w_of_d(sap_tree_cut(x[c]));
        b.extent[c] = padded(d_mul(from->extent[c], t->unit), d_set1(SAP_ZERO));
    }
    b.radius = padded(d_mul(from->radius, t->unit), size);
    b.size = padded(d_mul(sap_bound_size(from), t->unit), d_set1(SAP_ZERO));
    b.close = padded(sap_bound_close(from, t->unit), d_set1(SAP_ZERO));
    for (int c = 0; c < 3; c++) b.reach[c] = reach_of(v_add(v_add(b.extent[c], b.radius), b.close));
    b.near2 =
        near2_of(sap_bound_close(from, t->unit), SOFT ? d_set1(SAP_ZERO) : d_mul(t->eps2, d_mul(t->unit, t->unit)));
    b.strictness = strictness;
    b.length = length;
    return b;
}

/* Computes the bound of the target particles of a bunch: their box, or the ball about its middle. */
SAP_INLINE void bound_of(const struct sap_gpu_tree *t, LOCAL D (*x)[3], int rows, struct sap_bound *b)
{
    D low[3], high[3], r2 = d_set1(SAP_ZERO);
    for (int c = 0; c < 3; c++) {
        low[c] = high[c] = x[0][c];
        for (int k = 1; k < rows; k++) low[c] = d_min(low[c], x[k][c]), high[c] = d_max(high[c], x[k][c]);
    }
    sap_bound_box(b, low, high);
    if (t->bunch_ball == SAP_BALL_NONE) return;
    for (int k = 0; k < rows; k++) {
        D at[3];
        for (int c = 0; c < 3; c++) at[c] = x[k][c];
        r2 = d_max(r2, sap_ball_far(b->centre, at));
    }
    for (int c = 0; c < 3; c++) b->extent[c] = d_set1(SAP_ZERO);
    b->radius = d_sqrt(r2);
}

#if !defined(SAP_KERNEL_DP)
/* Returns the squared distance of the nearest particles of a group, for sap_group_wide. */
SAP_INLINE D nearest_of(const struct walk_force *o, int group) { return o->bound[SAP_GROUP_WORDS * (size_t)group + 7]; }
#endif

/* Writes a row; returns 1 if it is finite. */
SAP_INLINE int write_row(const D *row, size_t to, GLOBAL D *acc, GLOBAL D *pot)
{
    int finite = 1;
    for (int q = 0; q < SAP_SUMS2; q++) finite &= dm_any(d_eq(d_sub(row[q], row[q]), d_set1(SAP_ZERO))) ? 1 : 0;
    pot[to] = row[SAP_POT];
    for (int c = 0; c < 3; c++) acc[3 * to + c] = row[SAP_ACC + c];
    return finite;
}

#if defined(SAP_KERNEL_DP)
/* The same of a row whose factors may leave double where its products do not: they are applied one by one. */
SAP_INLINE int write_by_steps(const D *sum, const struct sap_gpu_tree *t, size_t to, GLOBAL D *acc, GLOBAL D *pot)
{
    D row[SAP_SUMS2];
    for (int q = 0; q < SAP_SUMS2; q++) {
        const D x = d_mul(d_div(q == SAP_POT ? d_neg(sum[q]) : sum[q], t->mass_unit), t->unit);
        row[q] = q == SAP_POT ? x : d_mul(x, t->unit);
    }
    return write_row(row, to, acc, pot);
}
#endif

/* Writes the sums of a target particle to a row; returns 1 if it is finite, else tells so in double. */
SAP_INLINE int deliver_row(const D *sum, const struct sap_gpu_tree *t, size_t to, GLOBAL D *acc, GLOBAL D *pot,
                           GLOBAL int *left)
{
    const D to_pot = d_div(t->unit, t->mass_unit), to_acc = d_mul(to_pot, t->unit);
    const D row[SAP_SUMS2] = {d_mul(d_neg(sum[SAP_POT]), to_pot), d_mul(sum[SAP_ACC], to_acc),
                              d_mul(sum[SAP_ACC + 1], to_acc), d_mul(sum[SAP_ACC + 2], to_acc)};
    int finite = write_row(row, to, acc, pot);
#if defined(SAP_KERNEL_DP)
    if (!finite) finite = write_by_steps(sum, t, to, acc, pot);
    if (!finite) left[SAP_LEFT_BEYOND] = 1;
#else
    (void)left; /* the row is left to double */
#endif
    return finite;
}

/* Adds x to a number of two words. */
SAP_INLINE void count_up(GLOBAL int *at, U64 x)
{
    GLOBAL unsigned *const words = (GLOBAL unsigned *)at;
    const unsigned low = (unsigned)x, before = atomic_add(&words[0], low);
    const unsigned carry = (unsigned)(x >> 32) + (before + low < before ? 1U : 0U);
    if (carry) (void)atomic_add(&words[1], carry);
}

/* Counts the interactions of `rows` target particles with so many particles and cells each. */
SAP_INLINE void tell(GLOBAL int *left, int rows, int particles, int cells)
{
    count_up(left + SAP_LEFT_TOLD, (U64)rows * (U64)particles);
    count_up(left + SAP_LEFT_TOLD + 2, (U64)rows * (U64)cells);
}

/* Puts an item on a list for a later launch; the order of items does not matter, because they are independent. */
SAP_INLINE void leave_it(GLOBAL int *left, const struct sap_gpu_walk *w, int list, int what)
{
    left[SAP_LEFT_FIRST + (size_t)list * (size_t)w->left_room + (size_t)atomic_add(&left[SAP_LEFT_COUNT + list], 1)] =
        what;
}

/* Puts the bunches of a run of slots on a list. */
SAP_INLINE void leave_bunches(GLOBAL int *left, const struct sap_gpu_walk *w, int list, int first, int rows)
{
    for (int k = first; k < first + rows; k += w->left_width) leave_it(left, w, list, k);
}

/* Returns item k of a list. */
SAP_INLINE int left_item(const GLOBAL int *left, const struct sap_gpu_walk *w, int list, int k)
{
    return left[SAP_LEFT_FIRST + (size_t)list * (size_t)w->left_room + (size_t)k] & 0x7FFFFFFF;
}

/*
 * The same for a slot of bunch k on a list of bunches that are cut: the bunch goes on whole, once, since lists have
 * room for bunches alone.  The sign of its entry says that it did.
 */
SAP_INLINE void leave_cut(GLOBAL int *left, const struct sap_gpu_walk *w, int list, int k)
{
    enum { SIGN = -0x7FFFFFFF - 1 };
    GLOBAL int *const entry = &left[SAP_LEFT_FIRST + (size_t)w->from * (size_t)w->left_room + (size_t)k];
    const int before = atomic_or(entry, (int)SIGN);
    if (before >= 0) leave_it(left, w, list, before);
}

/* items_of returns how many items this launch has, item_of the k-th item. */
SAP_INLINE int items_of(const GLOBAL int *left, const struct sap_gpu_walk *w, int without)
{
    return w->from < 0 ? without : left[SAP_LEFT_COUNT + w->from];
}

SAP_INLINE int item_of(const GLOBAL int *left, const struct sap_gpu_walk *w, int k)
{
    return w->from < 0 ? k : left_item(left, w, w->from, k);
}

#endif
