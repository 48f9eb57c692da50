/*
 * tree_soft.h - Plummer softening lengths per particle in the tree's kernels (physics/tree_soft.h): sources and lanes
 * have squared lengths, cells the mean of theirs. A part of tree_kernel.h, after tree_spline.h, whose words of
 * particles and lanes it shares.
 *
 * No length keeps R2 above the limit of zero for sure, so roots are those of any R2.
 */
#ifndef SAP_TREE_SOFT_H
#define SAP_TREE_SOFT_H

/* Cells of order 1 have the words of particles, those of order 2 the mean in the last word. */
static void tree_take_cells_soft(const struct sap_tree_frame *f, const struct sap_tree_source *source, const int *cells,
                                 int n, int order, void *words)
{
    W *out = words;
    for (int k = 0; k < n; k++) {
        const W mean = (W)source[cells[k]].soft;
        tree_take_cells(f, source, cells + k, 1, order, out);
        if (order > 1)
            out[SAP_TREE_CELL_WORDS - 1] = mean;
        else
            out[SAP_TREE_SPLINE_WORDS - 1] = mean;
        out += order > 1 ? SAP_TREE_CELL_WORDS : SAP_TREE_SPLINE_WORDS;
    }
}

/* Loads the squared softening of lanes, but that of the sources. */
SAP_INLINE void tree_soft_load(const struct sap_tree_frame *f, const struct sap_tree_lanes *lanes, int from,
                               int vectors, V *eps2)
{
    for (int v = 0; v < vectors; v++)
        eps2[v] = v_add(v_set1(f->eps2), v_load((const W *)lanes->h2 + from + v * V_LANES));
}

SAP_INLINE void tree_add_soft(struct tree_lanes *l, const V *eps2, V close2, const W *source, int number, int sources,
                              int vectors)
{
    const V jx = tree_word(source[0]), jy = tree_word(source[1]), jz = tree_word(source[2]);
    const V mass = tree_word(source[3]), hj2 = tree_word(source[4]);
    for (int v = 0; v < vectors; v++) {
        const V dx = v_sub(jx, l->x[v]), dy = v_sub(jy, l->y[v]), dz = v_sub(jz, l->z[v]);
        const struct tree_pairs pair = {v_add(eps2[v], hj2), close2};
        V u = tree_pair_root(dx, dy, dz, &pair, sources, 0);
        if (sources == SAP_SOURCES_OWN) {
            const V apart = v_sub(l->number[v], v_set1(number));
            u = v_keep(v_lt(v_set1(0.25), v_mul(apart, apart)), u);
        }
        sap_pair2(l->sum[v], dx, dy, dz, mass, u);
    }
}

/* Adds particles to `vectors` vectors of lanes, from lane `from` on. */
SAP_INLINE void tree_some_soft(const struct sap_tree_frame *f, const W *source, int n, struct sap_tree_lanes *lanes,
                               int from, int sources, int vectors)
{
    const V close2 = v_set1(tree_close2(f));
    V eps2[SAP_TREE_VECTORS];
    struct tree_lanes l;
    tree_lanes_load(&l, lanes, from, vectors);
    tree_soft_load(f, lanes, from, vectors, eps2);
    for (int p = 0; p < n; p += SAP_TREE_PACKET) {
        const int end = n - p < SAP_TREE_PACKET ? n : p + SAP_TREE_PACKET;
        tree_lanes_zero(&l, vectors);
        for (int j = p; j < end; j++)
            tree_add_soft(&l, eps2, close2, source + (ptrdiff_t)j * SAP_TREE_SPLINE_WORDS, j, sources, vectors);
        tree_lanes_flush(&l, lanes, from, vectors);
    }
}

SAP_INLINE void tree_all_soft(const struct sap_tree_frame *f, const W *words, int n, struct sap_tree_lanes *lanes,
                              int sources)
{
    int from = 0;
    for (; lanes->n - from > V_LANES; from += SAP_TREE_VECTORS * V_LANES)
        tree_some_soft(f, words, n, lanes, from, sources, SAP_TREE_VECTORS);
    if (from < lanes->n) tree_some_soft(f, words, n, lanes, from, sources, 1);
}

static void tree_particles_soft(const struct sap_tree_frame *f, const void *words, int n, int sources,
                                struct sap_tree_lanes *lanes)
{
    if (sources == SAP_SOURCES_OWN)
        tree_all_soft(f, words, n, lanes, SAP_SOURCES_OWN);
    else if (sources == SAP_SOURCES_INNER)
        tree_all_soft(f, words, n, lanes, SAP_SOURCES_INNER);
    else
        tree_all_soft(f, words, n, lanes, SAP_SOURCES_OUTER);
}

SAP_INLINE void tree_add_cell_soft(struct tree_lanes *l, const V *eps2, const W *source, int vectors)
{
    const V jx = tree_word(source[0]), jy = tree_word(source[1]), jz = tree_word(source[2]);
    const V mean = tree_word(source[SAP_TREE_CELL_WORDS - 1]);
    V s[SAP_MOMENTS2];
    for (int k = 0; k < SAP_MOMENTS2; k++) s[k] = tree_word(source[4 + k]);
    for (int v = 0; v < vectors; v++) {
        const V dx = v_sub(jx, l->x[v]), dy = v_sub(jy, l->y[v]), dz = v_sub(jz, l->z[v]);
        const V r2 = v_fma(dx, dx, v_fma(dy, dy, v_fma(dz, dz, v_add(eps2[v], mean))));
        sap_pair_cell(l->sum[v], dx, dy, dz, tree_word(source[3]), s, tree_word(source[10]), tree_root(r2, 0));
    }
}

/* Adds cells of order 2 to `vectors` vectors of lanes, from lane `from` on. */
SAP_INLINE void tree_some_cells_soft(const struct sap_tree_frame *f, const W *words, int n,
                                     struct sap_tree_lanes *lanes, int from, int vectors)
{
    V eps2[SAP_TREE_VECTORS];
    struct tree_lanes l;
    tree_lanes_load(&l, lanes, from, vectors);
    tree_soft_load(f, lanes, from, vectors, eps2);
    for (int p = 0; p < n; p += SAP_TREE_PACKET) {
        const int end = n - p < SAP_TREE_PACKET ? n : p + SAP_TREE_PACKET;
        tree_lanes_zero(&l, vectors);
        for (int j = p; j < end; j++) tree_add_cell_soft(&l, eps2, words + (ptrdiff_t)j * SAP_TREE_CELL_WORDS, vectors);
        tree_lanes_flush(&l, lanes, from, vectors);
    }
}

static void tree_cells_soft(const struct sap_tree_frame *f, const void *words, int n, struct sap_tree_lanes *lanes)
{
    int from = 0;
    for (; lanes->n - from > V_LANES; from += SAP_TREE_VECTORS * V_LANES)
        tree_some_cells_soft(f, words, n, lanes, from, SAP_TREE_VECTORS);
    if (from < lanes->n) tree_some_cells_soft(f, words, n, lanes, from, 1);
}

#endif
