/*
 * tree_distant.h - distant cells in the tree's kernels: one polynomial per group (physics/tree_local.h). A part of
 * tree_kernel.h.
 *
 * A lane is a cell here. Sums have TREE_COLUMNS columns whatever the lanes of a vector are; cell k is added to column
 * k % TREE_COLUMNS. So the order of sums depends on the list alone. Sums of a packet are in words, those of packets in
 * double.
 */
#ifndef SAP_TREE_DISTANT_H
#define SAP_TREE_DISTANT_H

enum { TREE_COLUMNS = 16 };

/* Sums of coefficients. */
struct tree_columns {
    _Alignas(64) W sum[SAP_LOCAL][TREE_COLUMNS];
};

/* Returns a coordinate of the middle of the group's bound, relative to the frame, in units. */
SAP_INLINE V tree_middle(const struct sap_tree_frame *f, int c)
{
    return v_set1((f->middle[c] - f->centre[c]) * f->unit);
}

SAP_INLINE void tree_add_column(W *column, V x) { v_store(column, v_add(v_load(column), x)); }

/*
 * Adds the coefficients of V_LANES cells of this order to columns from `at` on; words: of these cells, as take_cells
 * writes them.
 */
SAP_INLINE void tree_add_distant(const struct sap_tree_frame *f, const W *words, const int order, int at,
                                 struct tree_columns *to)
{
    enum { MOMENTS = SAP_TREE_CELL_WORDS - SAP_TREE_PARTICLE_WORDS };
    V word[SAP_TREE_PARTICLE_WORDS], moment[MOMENTS], off[3], low[SAP_LOCAL4], high[SAP_LOCAL - SAP_LOCAL4];
    const int each = tree_cell_words(order);
    int32_t row[V_LANES];
    for (int l = 0; l < V_LANES; l++) row[l] = l;
    v_rows(words, row, each, 0, word);
    for (int w = 0; w < MOMENTS; w += 4) {
        if (order > 1) v_rows(words, row, each, SAP_TREE_PARTICLE_WORDS + w, moment + w);
        for (int k = w; k < w + 4 && order == 1; k++) moment[k] = v_set1(0.0);
    }
    for (int c = 0; c < 3; c++) off[c] = v_sub(word[c], tree_middle(f, c));
    const V r2 = v_fma(off[0], off[0], v_fma(off[1], off[1], v_fma(off[2], off[2], v_set1(f->eps2))));
    const V u = tree_root(r2, tree_plain(f));
    sap_local_low(low, off[0], off[1], off[2], word[3], moment, moment[6], u);
    sap_local_high(high, off[0], off[1], off[2], word[3], u);
    for (int q = 0; q < SAP_LOCAL4; q++) tree_add_column(to->sum[q] + at, low[q]);
    for (int q = SAP_LOCAL4; q < SAP_LOCAL; q++) tree_add_column(to->sum[q] + at, high[q - SAP_LOCAL4]);
}

/* Copies n < TREE_COLUMNS cells, and fills the columns behind them with cells without mass. */
static void tree_fill_columns(const W *words, int n, int each, W *out)
{
    for (int k = 0; k < TREE_COLUMNS; k++, out += each) {
        memcpy(out, words + (ptrdiff_t)(k < n ? k : 0) * each, (size_t)each * sizeof *out);
        for (int w = 3; w < each && k >= n; w++) out[w] = 0;
    }
}

/* Adds the coefficients of a packet of cells to total[SAP_LOCAL]. */
SAP_INLINE void tree_distant_packet(const struct sap_tree_frame *f, const W *words, const int order, int n,
                                    double *total)
{
    const int each = tree_cell_words(order);
    W last[TREE_COLUMNS * SAP_TREE_CELL_WORDS];
    struct tree_columns to;
    memset(&to, 0, sizeof to);
    for (int k = 0; k < n; k += TREE_COLUMNS) {
        const W *from = words + (ptrdiff_t)k * each;
        if (n - k < TREE_COLUMNS) {
            tree_fill_columns(from, n - k, each, last);
            from = last;
        }
        for (int at = 0; at < TREE_COLUMNS; at += V_LANES)
            tree_add_distant(f, from + (ptrdiff_t)at * each, order, at, &to);
    }
    for (int q = 0; q < SAP_LOCAL; q++)
        for (int c = 0; c < TREE_COLUMNS; c++) total[q] += to.sum[q][c];
}

/* Adds the polynomial to a vector of lanes, from lane `from` on. */
SAP_INLINE void tree_add_polynomial(const struct sap_tree_frame *f, const V *c, struct sap_tree_lanes *lanes, int from)
{
    struct tree_lanes l;
    tree_lanes_load(&l, lanes, from, 1);
    tree_lanes_zero(&l, 1);
    const V y[3] = {v_sub(l.x[0], tree_middle(f, 0)), v_sub(l.y[0], tree_middle(f, 1)),
                    v_sub(l.z[0], tree_middle(f, 2))};
    sap_local_at(c, y, l.sum[0]);
    l.sum[0][SAP_POT] = v_mul(l.sum[0][SAP_POT], v_set1(1 / SAP_SCALE_POT));
    for (int k = SAP_ACC; k < SAP_ACC + 3; k++) l.sum[0][k] = v_mul(l.sum[0][k], v_set1(1 / SAP_SCALE_ACC));
    tree_lanes_flush(&l, lanes, from, 1);
}

SAP_INLINE void tree_distant_of(const struct sap_tree_frame *f, const W *words, const int order, int n,
                                struct sap_tree_lanes *lanes)
{
    const int each = tree_cell_words(order);
    double total[SAP_LOCAL] = {0};
    V c[SAP_LOCAL];
    for (int p = 0; p < n; p += SAP_TREE_PACKET)
        tree_distant_packet(f, words + (ptrdiff_t)p * each, order, n - p < SAP_TREE_PACKET ? n - p : SAP_TREE_PACKET,
                            total);
    for (int q = 0; q < SAP_LOCAL; q++) c[q] = v_set1((W)total[q]);
    for (int from = 0; from < lanes->n; from += V_LANES) tree_add_polynomial(f, c, lanes, from);
}

static void tree_distant(const struct sap_tree_frame *f, const void *words, int order, int n,
                         struct sap_tree_lanes *lanes)
{
    if (order > 1)
        tree_distant_of(f, words, 2, n, lanes);
    else
        tree_distant_of(f, words, 1, n, lanes);
}

#endif
