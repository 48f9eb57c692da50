/*
 * tree_stackless.h - the single loop of Kofler et al. 2014: each target particle walks alone along the stops of the
 * tree (tree_stops.h), for its force or its tidal tensor.  Pair terms and sums are in double.  It must be included
 * after tree_walk.h.
 *
 * For forces the bound is a point, and whether a cell is accepted is decided in float, from the squared distance in
 * double.  For tensors it is the bound of the particle's group, so that particles of a group stay together, and errors
 * are those of walks by groups; of a crowded group (tree_walk.h), whose particles are apart, it is a point.
 *
 * Where threads can ask their neighbours (lanes_any), 32 threads stand at one stop, which is loaded once for all of
 * them, and a thread that has accepted a cell waits until the others are past its last descendant.  The order of terms
 * is that of each thread alone.
 */

#include "physics/tree_tidal.h"

/* What a walk is for. */
enum { ALONE_FORCE, ALONE_TIDAL };

/* A target particle, its sums, and the numbers of its terms. */
struct alone {
    D x[3];     /* in units, as stops have it */
    int own;    /* what its own stop is, or no stop is */
    int onward; /* the stop from which on it walks */
    float strictness;
    D h2;                                  /* its squared length, if particles have lengths */
    float length;                          /* with spline softening: the same, not squared */
    D middle[3], extent[3], radius, close; /* of tensors: the bound of the group, in units as stops have it */
    D sum[SAP_TIDAL_SUMS];                 /* of forces the first SAP_SUMS2 */
    int nears, cells;
};

/* What the walk reads: stops, and cells with second moments. */
struct alone_path {
    const GLOBAL wide *stop;
    struct walk_sources sources;
    const GLOBAL float4 *word; /* with spline softening: of nodes */
};

/* Returns 1 if a cell at this squared distance is accepted: sap_accept of tree_accept.h for a bound that is a point. */
SAP_INLINE int alone_accepts(D distance2, float guard, float turn, float strictness)
{
    const float across = turn * strictness, reach = across > guard ? across : guard;
    return reach * reach < (float)distance2;
}

/* The same for the bound of the group; d: the vector from the target particle to the cell. */
SAP_INLINE int alone_accepts_all(const D *d, float guard, float turn, const struct alone *o)
{
    D off[3];
    for (int c = 0; c < 3; c++) off[c] = d_add(d[c], d_sub(o->x[c], o->middle[c]));
    const D distance2 = sap_box_distance2(off[0], off[1], off[2], o->extent);
    return sap_accept(distance2, (D)guard, (D)turn, o->radius, (D)o->strictness, o->close) ? 1 : 0;
}

/* Returns the guard of a cell for a target particle: with spline softening it contains the particle's length. */
SAP_INLINE float alone_guard(const struct alone_path *p, int what, float guard, const struct alone *o)
{
#if defined(SAP_TREE_SPLINE)
    const float beyond = p->word[2 * (size_t)what + 1].w + o->length;
    return beyond > guard ? beyond : guard;
#else
    (void)p, (void)what, (void)o;
    return guard;
#endif
}

/* Returns what is added to the squared distance of a stop. */
SAP_INLINE D alone_softening2(const struct walk_frame *f, const struct alone_path *p, int what, const struct alone *o)
{
#if defined(SAP_TREE_SOFT)
    const D h = what < 0 ? p->sources.length[~what] : d_set1(SAP_ZERO);
    return softening2_of(f, o->h2, what < 0 ? d_mul(h, h) : p->sources.soft[SAP_SOFT_WORDS * (size_t)what]);
#else
    (void)p, (void)what, (void)o;
    return f->eps2;
#endif
}

/* Adds a particle at a distance d; number: of the sorted particle; another: it is not the target itself. */
SAP_INLINE void alone_add_particle(const int aim, const struct walk_frame *f, const struct alone_path *p, const D *d,
                                   D mass, D u, int number, int another, struct alone *o)
{
#if defined(SAP_TREE_SPLINE)
    const D h = p->sources.length[number];
    if (aim == ALONE_TIDAL)
        sap_tidal_pair_spline(o->sum, d, mass, u, another != 0, o->h2, d_mul(h, h), f->law);
    else
        sap_pair2_spline(o->sum, d, mass, u, another != 0, o->h2, d_mul(h, h), f->law);
#else
    (void)f, (void)p, (void)number, (void)another;
    if (aim == ALONE_TIDAL)
        sap_tidal_pair(o->sum, d, mass, u);
    else
        sap_pair2(o->sum, d[0], d[1], d[2], mass, u);
#endif
}

/* Adds cell k at a distance d. */
SAP_INLINE void alone_add_cell(const int aim, const int order, const struct walk_frame *f, const struct alone_path *p,
                               const D *d, D mass, D u, int k, struct alone *o)
{
    if (order > 1) {
        W moments[8];
        moments_of(f, &p->sources, k, moments);
        if (aim == ALONE_TIDAL)
            sap_tidal_cell(o->sum, d, mass, moments, moments[6], u);
        else
            sap_pair_cell(o->sum, d[0], d[1], d[2], mass, moments, moments[6], u);
    } else if (aim == ALONE_TIDAL)
        sap_tidal_pair(o->sum, d, mass, u);
    else
        sap_pair2(o->sum, d[0], d[1], d[2], mass, u);
}

/*
 * Goes to stop k; returns the stop to which the threads go next.  aim, ALONE_..., and order: constants.  A cell that is
 * accepted is at some distance, and is no target.
 */
SAP_INLINE int alone_visit(const int aim, const int order, const struct walk_frame *f, const struct alone_path *p,
                           int k, struct alone *o)
{
    const GLOBAL wide *const stop = p->stop + SAP_STOP_PARTS * (size_t)k;
    const wide a = stop[0], b = stop[1], rule = stop[2];
    const int behind = low_word(rule.y), what = high_word(rule.y), here = o->onward <= k;
    const D d[3] = {d_sub(a.x, o->x[0]), d_sub(a.y, o->x[1]), d_sub(b.x, o->x[2])};
    const D d2 = sap_distance2(d[0], d[1], d[2]), r2 = d_add(d2, alone_softening2(f, p, what, o));
    if (what < 0) { /* a particle */
        const int another = here && what != o->own;
        const D u = v_root_kept(another && r2 >= WALK_COINCIDENT, r2);
        alone_add_particle(aim, f, p, d, b.y, u, ~what, another, o);
        o->nears += another;
        return behind;
    }
    const float guard = alone_guard(p, what, float_of_bits(low_word(rule.x)), o);
    const float turn = float_of_bits(high_word(rule.x));
    const int accepts =
        aim == ALONE_TIDAL ? alone_accepts_all(d, guard, turn, o) : alone_accepts(d2, guard, turn, o->strictness);
    const int acts = here && accepts;
    if (acts) {
        alone_add_cell(aim, order, f, p, d, b.y, v_root_kept(1, r2), what, o);
        o->onward = behind;
        o->cells++;
    }
    return lanes_any(here && !acts) ? k + 1 : behind;
}

/* Sets the units of the walk. */
SAP_INLINE void alone_frame(const struct sap_gpu_tree *t, struct walk_frame *f)
{
    D middle[3];
    for (int c = 0; c < 3; c++) middle[c] = t->middle[c];
    start_frame(t, middle, f);
}

/* Makes particle `own` of the walkers a target.  a: the size of its acceleration, with w.strict. */
SAP_INLINE void alone_start(const GLOBAL wide *walker, const struct sap_gpu_walk *w, const struct sap_gpu_tree *t,
                            int own, struct alone *o)
{
    D mass;
    load_particle(walker, own, o->x, &mass);
    for (int c = 0; c < 3; c++) o->x[c] = d_mul(o->x[c], t->unit);
    for (int q = 0; q < SAP_TIDAL_SUMS; q++) o->sum[q] = d_set1(SAP_ZERO);
    o->own = w->own ? ~own : t->nodes; /* no stop is this node */
    o->nears = o->cells = 0;
}

/* Sets the bound of walker `own`, which is in a group. */
SAP_INLINE void alone_bound(const struct sap_gpu_tree *t, const GLOBAL D *bound, const GLOBAL int *heavy,
                            const GLOBAL wide *walker, int group, int own, int has_strict, const GLOBAL float *strict,
                            struct alone *o)
{
    struct sap_bound b = load_bound(bound, group);
    D at[3], mass;
    load_particle(walker, own, at, &mass);
    if (heavy[group] & SAP_GROUP_CROWDED) sap_bound_box(&b, at, at);
    for (int c = 0; c < 3; c++) {
        o->middle[c] = d_mul(b.centre[c], t->unit);
        o->extent[c] = d_mul(b.extent[c], t->unit);
    }
    o->radius = d_mul(b.radius, t->unit);
    o->close = sap_bound_close(&b, t->unit);
    o->strictness = has_strict ? strict[group] : 0.0F;
}

/* Returns a sum of masses over a cube of a length, not in units. */
SAP_INLINE D alone_tidal(D sum, const struct sap_gpu_tree *t)
{
    const D x = d_mul(sum, d_mul(d_div(t->unit, t->mass_unit), t->unit)); /* as an acceleration, see write_by_steps */
    const int finite = dm_any(d_eq(d_sub(x, x), d_set1(SAP_ZERO)));
    return d_mul(finite ? x : d_mul(d_mul(d_div(sum, t->mass_unit), t->unit), t->unit), t->unit);
}

/* Writes a tensor to a row; if double cannot hold it the row is NaN, and `left` tells so. */
SAP_INLINE void deliver_tidal(const D *sum, const struct sap_gpu_tree *t, size_t to, GLOBAL D *tidal, GLOBAL int *left)
{
    int finite = 1;
    for (int q = 0; q < SAP_TIDAL_SUMS; q++) {
        const D x = alone_tidal(sum[q], t);
        finite &= dm_any(d_eq(d_sub(x, x), d_set1(SAP_ZERO))) ? 1 : 0;
    }
    for (int q = 0; q < SAP_TIDAL_SUMS; q++)
        tidal[SAP_TIDAL_SUMS * to + (size_t)q] =
            finite ? alone_tidal(sum[q], t) : d_div(d_set1(SAP_ZERO), d_set1(SAP_ZERO));
    if (!finite) left[SAP_LEFT_BEYOND] = 1;
}

#if defined(SAP_TREE_SPLINE)
#define ALONE_ARGUMENTS const GLOBAL float4 *word, const GLOBAL D *length, const GLOBAL D *walker_length, const int law,
#define ALONE_WORDS     word
#define ALONE_LENGTHS(f, o, own)                                                                                       \
    (o).length = (float)padded(walker_length[own], d_set1(SAP_ZERO));                                                  \
    (o).h2 = d_mul(walker_length[own], walker_length[own]);                                                            \
    (f).law = law;
#elif defined(SAP_TREE_SOFT)
#define ALONE_ARGUMENTS          const GLOBAL D *length, const GLOBAL D *walker_length, const GLOBAL D *soft,
#define ALONE_WORDS              0
#define ALONE_LENGTHS(f, o, own) (o).h2 = d_mul(walker_length[own], walker_length[own]);
#else
#define ALONE_ARGUMENTS
#define ALONE_WORDS 0
#define ALONE_LENGTHS(f, o, own)
#endif

#define FORCE_RULE      const GLOBAL D *a, const GLOBAL int *address,
#define FORCE_BEGIN     o.strictness = w.strict ? strictness_of(&root, &t, t.accuracy, a[address[own]]) : 0.0F
#define FORCE_ARGUMENTS GLOBAL D *acc, GLOBAL D *pot,
#define FORCE_DELIVERY  (void)deliver_row(o.sum, &t, (size_t)row[at], acc, pot, left)
#define TIDAL_RULE                                                                                                     \
    const GLOBAL D *bound, const GLOBAL int *group_of, const GLOBAL int *heavy, const GLOBAL float *strict,
#define TIDAL_BEGIN     alone_bound(&t, bound, heavy, walker, group_of[own], own, w.strict != 0, strict, &o), (void)root
#define TIDAL_ARGUMENTS GLOBAL D *tidal,
#define TIDAL_DELIVERY  deliver_tidal(o.sum, &t, (size_t)row[at], tidal, left)

/*
 * Computes acc (three per row) and pot, or tidal (six per row), as `aim` says.  a: sizes of accelerations by address,
 * with w.strict; bound, strict: of groups, the latter with w.strict.  The instances are of trees with masses alone, and
 * with second moments; if particles have lengths one is of both.
 */
#define ALONE_KERNEL(name, aim, order)                                                                                 \
    KERNEL(SAP_ALONE_THREADS)                                                                                          \
    name(const GLOBAL wide *walker, const GLOBAL wide *stop, const GLOBAL struct sap_cell *cell,                       \
         aim##_RULE const GLOBAL int *slot, const GLOBAL int *row, aim##_ARGUMENTS GLOBAL int *left, const int stops,  \
         ALONE_ARGUMENTS const struct sap_gpu_walk w, const struct sap_gpu_tree t)                                     \
    {                                                                                                                  \
        SCAN_ROOM(room, SAP_ALONE_THREADS);                                                                            \
        const int item = (int)global_id(), is_target = item < w.slots, at = min(item, w.slots - 1);                    \
        const int own = w.all_slots ? at : slot[at];                                                                   \
        const struct alone_path p = {stop, {0, 0, 0, cell, SOURCE_LENGTHS}, ALONE_WORDS};                              \
        const struct sap_cell root = cell[0];                                                                          \
        struct walk_frame f;                                                                                           \
        struct alone o;                                                                                                \
        int before, nears, cells;                                                                                      \
        alone_start(walker, &w, &t, own, &o);                                                                          \
        alone_frame(&t, &f);                                                                                           \
        ALONE_LENGTHS(f, o, own)                                                                                       \
        aim##_BEGIN;                                                                                                   \
        o.onward = is_target ? 0 : stops;                                                                              \
        for (int k = 0; k < stops;) k = alone_visit(ALONE_##aim, order, &f, &p, k, &o);                                \
        if (is_target) aim##_DELIVERY;                                                                                 \
        group_scan(room, SAP_ALONE_THREADS, o.nears, before, nears);                                                   \
        group_scan(room, SAP_ALONE_THREADS, o.cells, before, cells);                                                   \
        (void)before;                                                                                                  \
        if (local_id() == 0) tell(left, 1, nears, cells);                                                              \
    }

#if defined(SAP_TREE_SPLINE)
ALONE_KERNEL(tree_alone_spline, FORCE, t.order)
ALONE_KERNEL(tree_tidal_spline, TIDAL, t.order)
#elif defined(SAP_TREE_SOFT)
ALONE_KERNEL(tree_alone_soft, FORCE, t.order)
ALONE_KERNEL(tree_tidal_soft, TIDAL, t.order)
#else
ALONE_KERNEL(tree_alone_masses, FORCE, 1)
ALONE_KERNEL(tree_alone_moments, FORCE, 2)
ALONE_KERNEL(tree_tidal_masses, TIDAL, 1)
ALONE_KERNEL(tree_tidal_moments, TIDAL, 2)
#endif
