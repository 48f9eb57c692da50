/*
 * tree_kernel.h - the kernels of the tree: one kernel source for every path and both precisions.
 *
 * Included after ops_PATH.h, with SAP_KERNEL_SP or SAP_KERNEL_DP and SAP_TREE_VECTORS, the vectors of particles that a
 * loop over sources holds. A lane is a particle of the group. Sources are broadcast in the order of the list, so a sum
 * depends on the list alone.
 */
#ifndef SAP_TREE_KERNEL_H
#define SAP_TREE_KERNEL_H

#include <math.h>
#include <string.h>

#include "physics/arithmetic.h"
#include "tree_kernels.h"

/*
 * Pairs with squared distances up to SAP_TREE_ZERO are at the same position. `plain`: no squared distance is below
 * SAP_TREE_TINY or beyond the range of float, which limits the seeds of the roots in double.
 */
#define SAP_TREE_TINY 0x1p-120
#if defined(SAP_KERNEL_DP)
#include "working_double.h"
#define SAP_TREE_ZERO 0.0
SAP_INLINE V tree_root(V r2, int plain) { return plain ? v_root(r2) : v_root_wide(r2); }
#else
#include "working_float.h"
#define SAP_TREE_ZERO SAP_TREE_TINY
SAP_INLINE V tree_root(V r2, int plain) { return (void)plain, v_root(r2); }
#endif

#include "physics/interaction.h"
#include "physics/tree_accept.h"
#include "physics/tree_local.h"

/* ---- the walk, in float for both precisions: dp uses the kernel of sp ---- */

#if defined(SAP_KERNEL_DP)
#define tree_open        NULL
#define tree_open_spline NULL
#else
/*
 * Bits of the nodes of a vector: those that are accepted, those that are distant if they are accepted, those whose
 * particles are outer sources if they are leaves.
 */
struct tree_answers {
    unsigned accepted, distant, outer;
};

SAP_INLINE struct tree_answers tree_ask(const struct sap_tree_words *w, int k, const struct sap_tree_bound *bound,
                                        int spline)
{
    const V at[3] = {v_load(w->x + k), v_load(w->y + k), v_load(w->z + k)};
    const V x = v_sub(at[0], v_set1(bound->x)), y = v_sub(at[1], v_set1(bound->y));
    const V z = v_sub(at[2], v_set1(bound->z)), guard = v_load(w->guard + k), turn = v_load(w->turn + k);
    const V extent[3] = {v_set1(bound->extent[0]), v_set1(bound->extent[1]), v_set1(bound->extent[2])};
    const V d2 = sap_box_distance2(x, y, z, extent), radius = v_set1(bound->radius), far = v_load(w->far + k);
    const V strictness = v_set1(bound->strictness);
    const V close = v_set1(bound->close);
    const VM accepted = spline
                            ? sap_accept_spline(d2, guard, turn, far, radius, strictness, close, v_set1(bound->length))
                            : sap_accept(d2, guard, turn, radius, strictness, close);
    const VM distant =
        sap_is_distant(v_set1(bound->size), far, sap_distance2(x, y, z), sap_distance2(at[0], at[1], at[2]),
                       bound->strictness > 0, sap_accept_from(guard, turn, strictness));
    return (struct tree_answers){vm_bits(accepted), vm_bits(distant), vm_bits(sap_is_outer(d2, far, radius, close))};
}

SAP_INLINE void tree_open_some(const struct sap_tree_words *w, int from, int to, const struct sap_tree_bound *bound,
                               int spline, int *accepted, int *naccepted, int *opened, int *nopened)
{
    int na = 0, no = 0;
    for (int k = from & ~(V_LANES - 1); k < to; k += V_LANES) {
        unsigned in = (1U << V_LANES) - 1U;
        if (k < from) in &= ~0U << (from - k);
        if (to - k < V_LANES) in &= (1U << (to - k)) - 1U;
        const struct tree_answers answers = tree_ask(w, k, bound, spline);
        const unsigned yes = in & answers.accepted;
        for (unsigned bits = yes; bits; bits &= bits - 1) {
            const int lane = __builtin_ctz(bits);
            accepted[na++] = answers.distant >> lane & 1U ? ~(k + lane) : k + lane;
        }
        for (unsigned bits = in & ~yes; bits; bits &= bits - 1) {
            const int lane = __builtin_ctz(bits);
            opened[no++] = answers.outer >> lane & 1U ? ~(k + lane) : k + lane;
        }
    }
    *naccepted = na;
    *nopened = no;
}

static void tree_open(const struct sap_tree_words *w, int from, int to, const struct sap_tree_bound *bound,
                      int *accepted, int *naccepted, int *opened, int *nopened)
{
    tree_open_some(w, from, to, bound, 0, accepted, naccepted, opened, nopened);
}

static void tree_open_spline(const struct sap_tree_words *w, int from, int to, const struct sap_tree_bound *bound,
                             int *accepted, int *naccepted, int *opened, int *nopened)
{
    tree_open_some(w, from, to, bound, 1, accepted, naccepted, opened, nopened);
}
#endif

/* ---- words relative to a group ---- */

#if !defined(SAP_KERNEL_DP)
enum { TREE_FOUR = V_LANES < 4 ? 4 : V_LANES }; /* words of whole vectors and whole particles */

/*
 * Writes the words of particles from the first on, as many as whole vectors hold; returns their number.  The mass is
 * shifted by 0 and scaled by 1, which changes no bit of it.
 */
SAP_INLINE int tree_take_vectors(const struct sap_tree_frame *f, const double (*x)[4], int n, W *out)
{
    double centre[TREE_FOUR], unit[TREE_FOUR];
    const double *from = x[0];
    int k = 0;
    for (int w = 0; w < TREE_FOUR; w++) {
        centre[w] = w % 4 < 3 ? f->centre[w % 4] : 0;
        unit[w] = w % 4 < 3 ? f->unit : 1;
    }
    for (; k + TREE_FOUR / 4 <= n; k += TREE_FOUR / 4)
        for (int w = 0; w < TREE_FOUR; w += V_LANES) {
            D part[V_HALVES];
            for (int h = 0; h < V_HALVES; h++) {
                const int at = w + h * D_LANES;
                D value, low, factor;
                memcpy(&value, from + (ptrdiff_t)k * 4 + at, sizeof value);
                memcpy(&low, centre + at, sizeof low);
                memcpy(&factor, unit + at, sizeof factor);
                part[h] = d_mul(d_sub(value, low), factor);
            }
            const V words = f_from_d(part);
            memcpy(out + (ptrdiff_t)k * SAP_TREE_PARTICLE_WORDS + w, &words, sizeof words);
        }
    return k;
}
#endif

static void tree_take_particles(const struct sap_tree_frame *f, const double (*x)[4], int n, void *words)
{
    W *out = words;
    int k = 0;
#if !defined(SAP_KERNEL_DP)
    k = tree_take_vectors(f, x, n, out);
#endif
    for (out += (ptrdiff_t)k * SAP_TREE_PARTICLE_WORDS; k < n; k++, out += SAP_TREE_PARTICLE_WORDS) {
        for (int c = 0; c < 3; c++) out[c] = (W)((x[k][c] - f->centre[c]) * f->unit);
        out[3] = (W)x[k][3];
    }
}

/* Returns the words of a cell of this order. */
SAP_INLINE int tree_cell_words(int order) { return order > 1 ? SAP_TREE_CELL_WORDS : SAP_TREE_PARTICLE_WORDS; }

static void tree_take_cells(const struct sap_tree_frame *f, const struct sap_tree_source *source, const int *cells,
                            int n, int order, void *words)
{
    W *out = words;
    for (int k = 0; k < n; k++) {
        const struct sap_tree_source *s = &source[cells[k]];
        for (int c = 0; c < 3; c++) out[c] = (W)((s->x[c] - f->centre[c]) * f->unit);
        out[3] = (W)s->mass;
        if (order > 1) {
            for (int c = 0; c < 6; c++) out[4 + c] = (W)s->s[c];
            out[10] = (W)s->t;
            out[11] = 0;
        }
        out += tree_cell_words(order);
    }
}

static void tree_start(const struct sap_tree_frame *f, const double (*x)[4], const int *which, const int *number, int n,
                       struct sap_tree_lanes *lanes)
{
    W *to[3] = {(W *)lanes->x, (W *)lanes->y, (W *)lanes->z}, *numbers = (W *)lanes->number;
    const int end = (n + SAP_TREE_VECTORS * V_LANES - 1) / (SAP_TREE_VECTORS * V_LANES) * (SAP_TREE_VECTORS * V_LANES);
    for (int k = 0; k < end; k++) {
        const int at = k < n ? k : 0; /* idle lanes repeat the first */
        for (int c = 0; c < 3; c++) to[c][k] = (W)((x[which[at]][c] - f->centre[c]) * f->unit);
        numbers[k] = (W)number[at];
        for (int q = 0; q < 4; q++) lanes->sum[q][k] = 0;
    }
    lanes->n = n;
}

/* ---- pair terms ---- */

struct tree_lanes {
    V x[SAP_TREE_VECTORS], y[SAP_TREE_VECTORS], z[SAP_TREE_VECTORS], number[SAP_TREE_VECTORS];
    V sum[SAP_TREE_VECTORS][SAP_SUMS2];
};

SAP_INLINE V tree_word(W x) { return v_set1(x); }

SAP_INLINE void tree_lanes_load(struct tree_lanes *l, const struct sap_tree_lanes *lanes, int from, int vectors)
{
    for (int v = 0; v < vectors; v++) {
        const int k = from + v * V_LANES;
        l->x[v] = v_load((const W *)lanes->x + k);
        l->y[v] = v_load((const W *)lanes->y + k);
        l->z[v] = v_load((const W *)lanes->z + k);
        l->number[v] = v_load((const W *)lanes->number + k);
    }
}

SAP_INLINE void tree_lanes_zero(struct tree_lanes *l, int vectors)
{
    for (int v = 0; v < vectors; v++)
        for (int q = 0; q < SAP_SUMS2; q++) l->sum[v][q] = v_set1(0.0);
}

/* Adds the sums of a packet to the sums in double. */
SAP_INLINE void tree_lanes_flush(const struct tree_lanes *l, struct sap_tree_lanes *lanes, int from, int vectors)
{
    for (int v = 0; v < vectors; v++)
        for (int q = 0; q < SAP_SUMS2; q++)
            for (int h = 0; h < V_HALVES; h++) {
                double *to = lanes->sum[q] + from + v * V_LANES + h * D_LANES;
                d_store(to, d_add(d_load(to), v_to_d(l->sum[v][q], h)));
            }
}

/* Softening, and the squared distance that pairs must exceed in float. */
struct tree_pairs {
    V eps2, close2;
};

/* Returns that distance; all distances exceed it in double. */
SAP_INLINE double tree_close2(const struct sap_tree_frame *f)
{
    const double close2 = f->close * f->close;
    return sizeof(W) > sizeof(float) ? SAP_TREE_ZERO : close2 > SAP_TREE_TINY ? close2 : SAP_TREE_TINY;
}

SAP_INLINE struct tree_pairs tree_pairs_of(const struct sap_tree_frame *f)
{
    return (struct tree_pairs){v_set1(f->eps2), v_set1(tree_close2(f))};
}

#if defined(SAP_KERNEL_DP)
/* Returns the root of a pair; pairs at the same position have +0 unless `plain` is set. */
SAP_INLINE V tree_pair_root(V dx, V dy, V dz, const struct tree_pairs *p, int sources, int plain)
{
    const V r2 = v_fma(dx, dx, v_fma(dy, dy, v_fma(dz, dz, p->eps2))), u = tree_root(r2, plain);
    return (void)sources, plain ? u : v_keep(v_lt(v_set1(SAP_TREE_ZERO), r2), u);
}
#else
/* Returns the root of a pair; NaN for a pair that coordinates in float do not resolve. */
SAP_INLINE V tree_pair_root(V dx, V dy, V dz, const struct tree_pairs *p, int sources, int plain)
{
    if (sources == SAP_SOURCES_OUTER) return tree_root(v_fma(dx, dx, v_fma(dy, dy, v_fma(dz, dz, p->eps2))), plain);
    const V d2 = sap_distance2(dx, dy, dz);
    return v_select(v_lt(p->close2, d2), tree_root(v_add(d2, p->eps2), plain), v_set1(NAN));
}
#endif

/* Own sources: a lane's own number is excluded. */
SAP_INLINE void tree_add_particle(struct tree_lanes *l, const W *source, int number, const struct tree_pairs *p,
                                  int sources, int plain, int vectors)
{
    const V jx = tree_word(source[0]), jy = tree_word(source[1]), jz = tree_word(source[2]);
    const V mass = tree_word(source[3]);
    for (int v = 0; v < vectors; v++) {
        const V dx = v_sub(jx, l->x[v]), dy = v_sub(jy, l->y[v]), dz = v_sub(jz, l->z[v]);
        V u = tree_pair_root(dx, dy, dz, p, sources, plain);
        if (sources == SAP_SOURCES_OWN) {
            const V apart = v_sub(l->number[v], v_set1(number));
            u = v_keep(v_lt(v_set1(0.25), v_mul(apart, apart)), u);
        }
        sap_pair2(l->sum[v], dx, dy, dz, mass, u);
    }
}

/* Adds particles to `vectors` vectors of lanes, from lane `from` on. */
SAP_INLINE void tree_some_particles(const struct sap_tree_frame *f, const W *words, int n, struct sap_tree_lanes *lanes,
                                    int from, int sources, int plain, int vectors)
{
    const struct tree_pairs pairs = tree_pairs_of(f);
    struct tree_lanes l;
    tree_lanes_load(&l, lanes, from, vectors);
    for (int p = 0; p < n; p += SAP_TREE_PACKET) {
        const int end = n - p < SAP_TREE_PACKET ? n : p + SAP_TREE_PACKET;
        tree_lanes_zero(&l, vectors);
        for (int j = p; j < end; j++)
            tree_add_particle(&l, words + (ptrdiff_t)j * SAP_TREE_PARTICLE_WORDS, j, &pairs, sources, plain, vectors);
        tree_lanes_flush(&l, lanes, from, vectors);
    }
}

/* The last lanes take one vector if they fit. A lane's sums do not depend on the number of vectors. */
SAP_INLINE void tree_add_particles(const struct sap_tree_frame *f, const W *words, int n, struct sap_tree_lanes *lanes,
                                   int sources, int plain)
{
    int from = 0;
    for (; lanes->n - from > V_LANES; from += SAP_TREE_VECTORS * V_LANES)
        tree_some_particles(f, words, n, lanes, from, sources, plain, SAP_TREE_VECTORS);
    if (from < lanes->n) tree_some_particles(f, words, n, lanes, from, sources, plain, 1);
}

/* Returns whether softening keeps each R2 above the limit of zero, and no particle is far. */
SAP_INLINE int tree_plain(const struct sap_tree_frame *f) { return f->eps2 > 2 * SAP_TREE_TINY && !f->far; }

#if defined(SAP_KERNEL_DP)
static void tree_particles(const struct sap_tree_frame *f, const void *words, int n, int sources,
                           struct sap_tree_lanes *lanes)
{
    const int own = sources == SAP_SOURCES_OWN;
    if (own && tree_plain(f))
        tree_add_particles(f, words, n, lanes, SAP_SOURCES_OWN, 1);
    else if (own)
        tree_add_particles(f, words, n, lanes, SAP_SOURCES_OWN, 0);
    else if (tree_plain(f))
        tree_add_particles(f, words, n, lanes, SAP_SOURCES_OUTER, 1);
    else
        tree_add_particles(f, words, n, lanes, SAP_SOURCES_OUTER, 0);
}
#else
static void tree_particles(const struct sap_tree_frame *f, const void *words, int n, int sources,
                           struct sap_tree_lanes *lanes)
{
    if (sources == SAP_SOURCES_OUTER)
        tree_add_particles(f, words, n, lanes, SAP_SOURCES_OUTER, 1);
    else if (sources == SAP_SOURCES_INNER)
        tree_add_particles(f, words, n, lanes, SAP_SOURCES_INNER, 1);
    else
        tree_add_particles(f, words, n, lanes, SAP_SOURCES_OWN, 1);
}
#endif

SAP_INLINE void tree_add_cell(struct tree_lanes *l, const W *source, V eps2, int plain, int vectors)
{
    const V jx = tree_word(source[0]), jy = tree_word(source[1]), jz = tree_word(source[2]);
    V s[SAP_MOMENTS2];
    for (int k = 0; k < SAP_MOMENTS2; k++) s[k] = tree_word(source[4 + k]);
    for (int v = 0; v < vectors; v++) {
        const V dx = v_sub(jx, l->x[v]), dy = v_sub(jy, l->y[v]), dz = v_sub(jz, l->z[v]);
        const V r2 = v_fma(dx, dx, v_fma(dy, dy, v_fma(dz, dz, eps2)));
        sap_pair_cell(l->sum[v], dx, dy, dz, tree_word(source[3]), s, tree_word(source[10]), tree_root(r2, plain));
    }
}

/* Adds cells to `vectors` vectors of lanes, from lane `from` on. */
SAP_INLINE void tree_some_cells(const struct sap_tree_frame *f, const W *words, int n, struct sap_tree_lanes *lanes,
                                int from, int plain, int vectors)
{
    const V eps2 = v_set1(f->eps2);
    struct tree_lanes l;
    tree_lanes_load(&l, lanes, from, vectors);
    for (int p = 0; p < n; p += SAP_TREE_PACKET) {
        const int end = n - p < SAP_TREE_PACKET ? n : p + SAP_TREE_PACKET;
        tree_lanes_zero(&l, vectors);
        for (int j = p; j < end; j++)
            tree_add_cell(&l, words + (ptrdiff_t)j * SAP_TREE_CELL_WORDS, eps2, plain, vectors);
        tree_lanes_flush(&l, lanes, from, vectors);
    }
}

SAP_INLINE void tree_add_cells(const struct sap_tree_frame *f, const W *words, int n, struct sap_tree_lanes *lanes,
                               int plain)
{
    int from = 0;
    for (; lanes->n - from > V_LANES; from += SAP_TREE_VECTORS * V_LANES)
        tree_some_cells(f, words, n, lanes, from, plain, SAP_TREE_VECTORS);
    if (from < lanes->n) tree_some_cells(f, words, n, lanes, from, plain, 1);
}

static void tree_cells(const struct sap_tree_frame *f, const void *words, int n, struct sap_tree_lanes *lanes)
{
    if (tree_plain(f))
        tree_add_cells(f, words, n, lanes, 1);
    else
        tree_add_cells(f, words, n, lanes, 0);
}

#include "tree_distant.h"
#include "tree_spline.h"

#include "tree_soft.h"

#include "tree_tensor.h"

#include "tree_far.h"

#define SAP_DEFINE_TREE_KERNEL(name)                                                                                   \
    extern const struct sap_tree_kernel name;                                                                          \
    const struct sap_tree_kernel name = {.word = sizeof(W),                                                            \
                                         .pot_scale = SAP_SCALE_POT,                                                   \
                                         .acc_scale = SAP_SCALE_ACC,                                                   \
                                         .open = tree_open,                                                            \
                                         .take_particles = tree_take_particles,                                        \
                                         .take_cells = tree_take_cells,                                                \
                                         .start = tree_start,                                                          \
                                         .particles = tree_particles,                                                  \
                                         .cells = tree_cells,                                                          \
                                         .distant = tree_distant,                                                      \
                                         .open_spline = tree_open_spline,                                              \
                                         .take_spline = tree_take_spline,                                              \
                                         .start_spline = tree_start_spline,                                            \
                                         .particles_spline = tree_particles_spline,                                    \
                                         .take_cells_soft = tree_take_cells_soft,                                      \
                                         .particles_soft = tree_particles_soft,                                        \
                                         .cells_soft = tree_cells_soft,                                                \
                                         .take_tensor = tree_take_tensor,                                              \
                                         .start_tensor = tree_start_tensor,                                            \
                                         .particles_tensor = tree_particles_tensor,                                    \
                                         .cells_tensor = tree_cells_tensor,                                            \
                                         .far_moments = tree_far_moments,                                              \
                                         .far_forces = tree_far_forces,                                                \
                                         .far_tensors = tree_far_tensors}

#endif
