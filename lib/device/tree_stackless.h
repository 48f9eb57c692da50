/*
 * tree_stackless.h - the single loop of Kofler et al. 2014: each target particle walks alone, by `next` links
 * (Nakasato).  The ball is a point, and all arithmetic is in double.  It must be included after tree_walk.h.
 *
 * Where threads can ask their neighbours (lanes_any), 32 threads stand at one node, which is loaded once for all of
 * them, and a thread that has accepted a node waits until the others are past its last descendant.  The order of terms
 * is that of each thread alone.
 */
/* A target particle: its node, its sums, and the numbers of its terms. */
struct alone {
    int own, node;
    D sum[SAP_SUMS2];
    int nears, cells;
};

/* Adds a node that is not opened: a cell that is accepted, or the particles of a leaf. */
SAP_INLINE void alone_add(const struct walk_frame *f, const struct walk_sources *s, struct alone *o, int own, int k,
                          const struct sap_tree_link *link, int as_cell)
{
    const V origin[3] = {v_set1(0.0), v_set1(0.0), v_set1(0.0)};
    W words[CELL_WORDS];
    for (int j = as_cell ? -1 : link->first; as_cell ? j < 0 : j < link->first + link->count; j++) {
        const int is_own = own && !as_cell && j == o->own;
        relative(f, as_cell ? s->centre : s->particle, as_cell ? k : j, words);
        if (as_cell && f->order > 1) {
            moments_of(f, s, k, words + 4);
            add_cell(f, origin, words, o->sum);
        } else
            add_particle(f, origin, words, 1, !is_own, o->sum);
        o->cells += as_cell;
        o->nears += !as_cell && !is_own;
    }
}

/* Walks from the root; a thread without a target particle begins at node -1. */
SAP_INLINE void alone_walk(const struct walk_frame *f, const struct walk_ball *b, const struct walk_sources *s,
                           const GLOBAL struct sap_tree_link *node, const GLOBAL int *next, const GLOBAL float4 *word,
                           const GLOBAL float *turn, int own, struct alone *o)
{
    for (int k = 0; k >= 0;) {
        const struct sap_tree_link link = node[k];
        const int behind = next[k], here = o->node == k, leaf = link.children == 0;
        const int acts = here && !(leaf && link.count <= f->order) && accepted(word, turn, k, b);
        const int opens = here && !acts && !leaf;
        if (here && !opens) alone_add(f, s, o, own, k, &link, acts);
        if (here) o->node = opens ? link.child : behind;
        k = lanes_any(opens) ? link.child : behind;
    }
}

/* Computes acc (three per row) and pot.  a: sizes of accelerations by address, with w.strict. */
KERNEL(SAP_TREE_THREADS)
tree_walk_alone(const GLOBAL wide *particle, const GLOBAL wide *walker, const GLOBAL struct sap_tree_link *node,
                const GLOBAL int *next, const GLOBAL float4 *word, const GLOBAL float *turn, const GLOBAL wide *centre,
                const GLOBAL struct sap_cell *cell, const GLOBAL D *a, const GLOBAL int *address,
                const GLOBAL int *slot, const GLOBAL int *row, GLOBAL D *acc, GLOBAL D *pot, GLOBAL int *left,
                const struct sap_gpu_walk w, const struct sap_gpu_tree t)
{
    SCAN_ROOM(room, SAP_TREE_THREADS);
    const int item = (int)global_id(), is_target = item < w.slots, at = min(item, w.slots - 1);
    const int own = w.all_slots ? at : slot[at];
    const struct walk_sources s = {particle, centre, 0, cell};
    const struct sap_cell root = cell[0];
    struct walk_frame f;
    struct walk_ball b;
    struct alone o;
    D x[3], mass;
    int before, nears, cells;
    load_particle(walker, own, x, &mass);
    start_frame(&t, x, d_set1(SAP_ZERO), &f, &b);
    for (int c = 0; c < 3; c++) f.centre[c] = x[c];
    b.strictness = w.strict ? (V)strictness_of(&root, &t, a[address[own]]) : v_set1(0.0);
    for (int q = 0; q < SAP_SUMS2; q++) o.sum[q] = d_set1(SAP_ZERO);
    o.own = own;
    o.node = is_target ? 0 : -1;
    o.nears = o.cells = 0;
    alone_walk(&f, &b, &s, node, next, word, turn, w.own, &o);
    if (is_target) (void)deliver_row(o.sum, &t, (size_t)row[at], acc, pot);
    group_scan(room, SAP_TREE_THREADS, o.nears, before, nears);
    group_scan(room, SAP_TREE_THREADS, o.cells, before, cells);
    (void)before;
    if (local_id() == 0) tell(left, 1, nears, cells);
}
