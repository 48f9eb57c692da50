/*
 * tree_stackless.h - the walk by `next` links (Nakasato), one thread per target particle: the ball is a point, and all
 * arithmetic is in double.  It must be included after tree_walk.h, whose terms it uses.
 */
KERNEL(SAP_TREE_THREADS)
tree_walk_alone(const GLOBAL wide *particle, const GLOBAL wide *walker, const GLOBAL struct sap_tree_link *node,
                const GLOBAL int *next, const GLOBAL float4 *word, const GLOBAL float *turn, const GLOBAL wide *centre,
                const GLOBAL struct sap_cell *cell, const GLOBAL float *strict, const GLOBAL int *slot,
                const GLOBAL int *row, GLOBAL D *acc, GLOBAL D *pot, GLOBAL int *left, const struct sap_gpu_walk w,
                const struct sap_gpu_tree t)
{
    const int at = (int)global_id();
    if (at >= w.slots) return;
    const int own = w.all_slots ? at : slot[at];
    const struct walk_sources s = {particle, centre, 0, cell};
    struct walk_frame f;
    struct walk_ball b;
    D x[3], mass, sum[SAP_SUMS2];
    W words[CELL_WORDS];
    int nears = 0, cells = 0;
    load_particle(walker, own, f.centre, &mass);
    f.unit = t.unit;
    f.moment_unit = d_mul(d_set1(SAP_THREE), d_mul(t.mass_unit, d_mul(t.unit, t.unit)));
    f.eps2 = d_mul(t.eps2, d_mul(t.unit, t.unit));
    const D size = in_units(f.centre, &t, x);
    for (int c = 0; c < 3; c++) b.x[c] = sap_tree_cut(x[c]);
    b.radius = padded(d_set1(SAP_ZERO), size);
    b.strictness = w.strict ? (V)strict[own / t.group_size] : v_set1(0.0);
    for (int q = 0; q < SAP_SUMS2; q++) sum[q] = d_set1(SAP_ZERO);
    for (int k = 0; k >= 0;) {
        const struct sap_tree_link here = node[k];
        const int leaf = here.children == 0, small = leaf && here.count <= t.order;
        const int acts = !small && accepted(word, turn, k, &b);
        for (int j = acts ? -1 : here.first; leaf || acts; j++) {
            if (acts ? j >= 0 : j >= here.first + here.count) break;
            relative(&f, acts ? centre : particle, acts ? k : j, words);
            const V r2 = v_add(sap_distance2(words[0], words[1], words[2]), f.eps2);
            const int counts = r2 >= WALK_COINCIDENT && (acts || !w.own || j != own);
            const V u = v_root_kept(counts, r2);
            if (acts && t.order > 1) {
                moments_of(&f, &s, k, words + 4);
                sap_pair_cell(sum, words[0], words[1], words[2], words[3], words + 4, words[10], u);
            } else
                sap_pair2(sum, words[0], words[1], words[2], words[3], u);
            cells += acts;
            nears += !acts && !(w.own && j == own);
        }
        k = leaf || acts ? next[k] : here.child;
    }
    const D to_pot = d_div(t.unit, t.mass_unit), to_acc = d_mul(to_pot, t.unit);
    const size_t to = (size_t)row[at];
    pot[to] = d_mul(d_neg(sum[SAP_POT]), to_pot);
    for (int c = 0; c < 3; c++) acc[3 * to + c] = d_mul(sum[SAP_ACC + c], to_acc);
    tell(left, 1, nears, cells);
}
