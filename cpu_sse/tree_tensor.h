/*
 * tree_tensor.h - tidal tensors in the tree's kernels (physics/tree_tidal.h), in double alone. A part of tree_kernel.h,
 * after tree_spline.h.
 *
 * There is one loop for all softenings: particles and lanes have squared lengths, cells the mean of theirs, which are 0
 * where there are none. A vector of lanes is added at a time, since its sums take twice the registers of those of
 * forces.
 */
#ifndef SAP_TREE_TENSOR_H
#define SAP_TREE_TENSOR_H

#if !defined(SAP_KERNEL_DP)
#define tree_take_tensor      NULL
#define tree_start_tensor     NULL
#define tree_particles_tensor NULL
#define tree_cells_tensor     NULL
#else
#include "physics/tree_tidal.h"

static void tree_take_tensor(const struct sap_tree_frame *f, const double (*x)[4], const double *h, int n, void *words)
{
    W *out = words;
    for (int k = 0; k < n; k++, out += SAP_TREE_SPLINE_WORDS) {
        for (int c = 0; c < 3; c++) out[c] = (x[k][c] - f->centre[c]) * f->unit;
        out[3] = x[k][3];
        out[4] = h ? h[k] * h[k] : 0;
    }
}

static void tree_start_tensor(const struct sap_tree_frame *f, const double (*x)[4], const double *h, const int *which,
                              const int *number, int n, struct sap_tree_lanes *lanes)
{
    tree_start(f, x, which, number, n, lanes);
    for (int k = 0; k < SAP_TREE_LANES; k++) {
        const double length = h && k < n ? h[which[k]] : 0;
        lanes->h2[k] = length * length;
        for (int q = 0; q < SAP_TIDAL_SUMS; q++) lanes->sum[q][k] = 0;
    }
}

/* The lanes of a vector, and their sums. */
struct tree_tensor {
    V x[3], number, h2, sum[SAP_TIDAL_SUMS];
};

SAP_INLINE void tree_tensor_load(struct tree_tensor *l, const struct sap_tree_lanes *lanes, int from)
{
    const double *const x[3] = {lanes->x, lanes->y, lanes->z};
    for (int c = 0; c < 3; c++) l->x[c] = v_load(x[c] + from);
    l->number = v_load(lanes->number + from);
    l->h2 = v_load(lanes->h2 + from);
    for (int q = 0; q < SAP_TIDAL_SUMS; q++) l->sum[q] = v_load(lanes->sum[q] + from);
}

SAP_INLINE void tree_tensor_store(const struct tree_tensor *l, struct sap_tree_lanes *lanes, int from)
{
    for (int q = 0; q < SAP_TIDAL_SUMS; q++) v_store(lanes->sum[q] + from, l->sum[q]);
}

/* Adds a particle. own: pairs of its number are excluded. */
SAP_INLINE void tree_add_tensor(struct tree_tensor *l, const W *source, int number, V eps2, int own, int law)
{
    const V d[3] = {v_sub(tree_word(source[0]), l->x[0]), v_sub(tree_word(source[1]), l->x[1]),
                    v_sub(tree_word(source[2]), l->x[2])};
    const V d2 = sap_distance2(d[0], d[1], d[2]), mass = tree_word(source[3]), hj2 = tree_word(source[4]);
    const V r2 = law ? d2 : v_add(d2, v_add(eps2, v_add(l->h2, hj2))), away = v_sub(l->number, v_set1(number));
    const VM counts = own ? v_lt(v_set1(0.25), v_mul(away, away)) : v_nlt(d2, v_set1(0.0));
    const V u = v_keep(vm_and(counts, v_lt(v_set1(SAP_TREE_ZERO), r2)), tree_root(r2, 0));
    if (law && vm_bits(sap_within(d2, v_max(l->h2, hj2))))
        sap_tidal_pair_spline(l->sum, d, mass, u, counts, l->h2, hj2, law);
    else
        sap_tidal_pair(l->sum, d, mass, u);
}

SAP_INLINE void tree_add_tensors(const struct sap_tree_frame *f, const W *words, int n, struct sap_tree_lanes *lanes,
                                 int own, int law)
{
    const V eps2 = v_set1(f->eps2);
    for (int from = 0; from < lanes->n; from += V_LANES) {
        struct tree_tensor l;
        tree_tensor_load(&l, lanes, from);
        for (int j = 0; j < n; j++)
            tree_add_tensor(&l, words + (ptrdiff_t)j * SAP_TREE_SPLINE_WORDS, j, eps2, own, law);
        tree_tensor_store(&l, lanes, from);
    }
}

static void tree_particles_tensor(const struct sap_tree_frame *f, const void *words, int n, int own,
                                  struct sap_tree_lanes *lanes)
{
    if (f->law)
        tree_add_tensors(f, words, n, lanes, own, f->law);
    else if (own)
        tree_add_tensors(f, words, n, lanes, 1, 0);
    else
        tree_add_tensors(f, words, n, lanes, 0, 0);
}

/* Adds a cell. */
SAP_INLINE void tree_add_cell_tensor(struct tree_tensor *l, const W *source, V eps2, int order)
{
    const V d[3] = {v_sub(tree_word(source[0]), l->x[0]), v_sub(tree_word(source[1]), l->x[1]),
                    v_sub(tree_word(source[2]), l->x[2])};
    const V soft2 = v_add(eps2, v_add(l->h2, tree_word(source[SAP_TREE_CELL_WORDS - 1])));
    const V u = tree_root(v_add(sap_distance2(d[0], d[1], d[2]), soft2), 0), mass = tree_word(source[3]);
    V s[SAP_MOMENTS2];
    if (order < 2) {
        sap_tidal_pair(l->sum, d, mass, u);
        return;
    }
    for (int k = 0; k < SAP_MOMENTS2; k++) s[k] = tree_word(source[4 + k]);
    sap_tidal_cell(l->sum, d, mass, s, tree_word(source[10]), u);
}

/* Writes the words of a cell: of both orders SAP_TREE_CELL_WORDS, the last one its mean squared length. */
SAP_INLINE void tree_take_cell_tensor(const struct sap_tree_frame *f, const struct sap_tree_source *s, int soft, W *out)
{
    for (int c = 0; c < 3; c++) out[c] = (s->x[c] - f->centre[c]) * f->unit;
    out[3] = s->mass;
    for (int c = 0; c < SAP_MOMENTS2; c++) out[4 + c] = s->s[c];
    out[10] = s->t;
    out[11] = soft ? s->soft : 0;
}

/* Cells have no softening of splines: without `soft` the lengths of lanes are not theirs. */
SAP_INLINE void tree_add_cell_tensors(const struct sap_tree_frame *f, const struct sap_tree_source *source,
                                      const int *cells, int n, int order, int soft, struct sap_tree_lanes *lanes)
{
    const V eps2 = v_set1(f->eps2);
    W words[SAP_TREE_PACKET][SAP_TREE_CELL_WORDS];
    for (int p = 0; p < n; p += SAP_TREE_PACKET) {
        const int some = n - p < SAP_TREE_PACKET ? n - p : SAP_TREE_PACKET;
        for (int k = 0; k < some; k++) tree_take_cell_tensor(f, source + cells[p + k], soft, words[k]);
        for (int from = 0; from < lanes->n; from += V_LANES) {
            struct tree_tensor l;
            tree_tensor_load(&l, lanes, from);
            if (!soft) l.h2 = v_set1(0.0);
            for (int k = 0; k < some; k++) tree_add_cell_tensor(&l, words[k], eps2, order);
            tree_tensor_store(&l, lanes, from);
        }
    }
}

static void tree_cells_tensor(const struct sap_tree_frame *f, const struct sap_tree_source *source, const int *cells,
                              int n, int order, int soft, struct sap_tree_lanes *lanes)
{
    if (order > 1)
        tree_add_cell_tensors(f, source, cells, n, 2, soft, lanes);
    else
        tree_add_cell_tensors(f, source, cells, n, 1, soft, lanes);
}
#endif

#endif
