/*
 * tree_spline.h - spline softening in the tree's kernels (physics/spline.h): sources and lanes have squared lengths. A
 * part of tree_kernel.h.
 *
 * A vector of pairs of which none is within a length takes the operations of other softening. Each lane is within its
 * own length of itself, so that a particle meets itself among the close pairs alone.
 */
#ifndef SAP_TREE_SPLINE_H
#define SAP_TREE_SPLINE_H

/* Operations of spline.h. */
#define v_less             v_lt
#define SAP_NOT_LESS(a, b) v_nlt(a, b)
#define SAP_LARGER(a, b)   v_max(a, b)

/* Returns s/h of the length of square h2; +0 where h2 is practically zero. */
SAP_INLINE V sap_inverse_length(V h2) { return v_keep(v_lt(v_set1(SAP_TREE_ZERO), h2), tree_root(h2, 0)); }

#include "physics/spline.h"

static void tree_take_spline(const struct sap_tree_frame *f, const double (*x)[4], const double *h, int n, void *words)
{
    W *out = words;
    for (int k = 0; k < n; k++, out += SAP_TREE_SPLINE_WORDS) {
        for (int c = 0; c < 3; c++) out[c] = (W)((x[k][c] - f->centre[c]) * f->unit);
        out[3] = (W)x[k][3];
        out[4] = (W)(h[k] * h[k]);
    }
}

static void tree_start_spline(const double *h, const int *which, struct sap_tree_lanes *lanes)
{
    const int n = lanes->n;
    const int end = (n + SAP_TREE_VECTORS * V_LANES - 1) / (SAP_TREE_VECTORS * V_LANES) * (SAP_TREE_VECTORS * V_LANES);
    W *to = (W *)lanes->h2;
    for (int k = 0; k < end; k++) {
        const double length = h[which[k < n ? k : 0]];
        to[k] = (W)(length * length);
    }
}

/* A vector of pairs of which any is within a length. */
struct tree_close {
    V d[3], d2, mass, hi2, hj2, number, least2;
};

/*
 * Returns the masses of the pairs that count. In float, a pair that its coordinates do not resolve has NaN: within a
 * length its force is no function of the root.
 */
SAP_INLINE V tree_close_mass(const struct tree_close *p, VM counts)
{
#if defined(SAP_KERNEL_DP)
    return (void)counts, p->mass;
#else
    return v_select(vm_and(counts, v_nlt(p->least2, p->d2)), v_set1(NAN), p->mass);
#endif
}

/* Adds such a vector. `own`: pairs of the source's number are excluded. Few pairs need it, so it is no part of a loop.
 */
static __attribute__((noinline)) void tree_add_close(const struct tree_close *p, int own, int number, int law, V *sum)
{
    const VM apart = v_lt(v_set1(SAP_TREE_ZERO), p->d2), all = v_nlt(p->d2, v_set1(0.0));
    const V away = v_sub(p->number, v_set1(number));
    const VM counts = own ? v_lt(v_set1(0.25), v_mul(away, away)) : all;
    const V u = v_keep(vm_and(counts, apart), tree_root(p->d2, 0));
    sap_pair2_spline(sum, p->d, tree_close_mass(p, counts), u, counts, p->hi2, p->hj2, law);
}

/*
 * Adds a particle to `vectors` vectors of lanes. h2: squared lengths of the lanes; close2: the same, at least least2.
 */
SAP_INLINE void tree_add_spline(struct tree_lanes *l, const V *h2, const V *close2, V least2, const W *source,
                                int number, int own, int law, int vectors)
{
    const V jx = tree_word(source[0]), jy = tree_word(source[1]), jz = tree_word(source[2]);
    const V mass = tree_word(source[3]), hj2 = tree_word(source[4]);
    for (int v = 0; v < vectors; v++) {
        const V dx = v_sub(jx, l->x[v]), dy = v_sub(jy, l->y[v]), dz = v_sub(jz, l->z[v]);
        const V d2 = sap_distance2(dx, dy, dz);
        if (__builtin_expect(vm_bits(sap_within(d2, v_max(close2[v], hj2))) != 0, 0)) {
            const struct tree_close p = {{dx, dy, dz}, d2, mass, h2[v], hj2, l->number[v], least2};
            tree_add_close(&p, own, number, law, l->sum[v]);
        } else {
            sap_pair2(l->sum[v], dx, dy, dz, mass, tree_root(d2, 0));
        }
    }
}

/* Adds particles to `vectors` vectors of lanes, from lane `from` on. */
SAP_INLINE void tree_some_spline(const struct sap_tree_frame *f, const W *source, int n, struct sap_tree_lanes *lanes,
                                 int from, int sources, int vectors)
{
    const V least2 = v_set1(sources == SAP_SOURCES_OUTER ? SAP_TREE_ZERO : tree_close2(f));
    V h2[SAP_TREE_VECTORS], close2[SAP_TREE_VECTORS];
    struct tree_lanes l;
    tree_lanes_load(&l, lanes, from, vectors);
    for (int v = 0; v < vectors; v++) {
        h2[v] = v_load((const W *)lanes->h2 + from + v * V_LANES);
        close2[v] = v_max(h2[v], least2);
    }
    for (int p = 0; p < n; p += SAP_TREE_PACKET) {
        const int end = n - p < SAP_TREE_PACKET ? n : p + SAP_TREE_PACKET;
        tree_lanes_zero(&l, vectors);
        for (int j = p; j < end; j++)
            tree_add_spline(&l, h2, close2, least2, source + (ptrdiff_t)j * SAP_TREE_SPLINE_WORDS, j,
                            sources == SAP_SOURCES_OWN, f->law, vectors);
        tree_lanes_flush(&l, lanes, from, vectors);
    }
}

static void tree_particles_spline(const struct sap_tree_frame *f, const void *words, int n, int sources,
                                  struct sap_tree_lanes *lanes)
{
    int from = 0;
    for (; lanes->n - from > V_LANES; from += SAP_TREE_VECTORS * V_LANES)
        tree_some_spline(f, words, n, lanes, from, sources, SAP_TREE_VECTORS);
    if (from < lanes->n) tree_some_spline(f, words, n, lanes, from, sources, 1);
}

#endif
