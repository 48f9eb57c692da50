/*
 * kd_large.h - kernels for the large nodes of a kd-tree: tight boxes, planes, and the stable partition of particles.
 *
 * A round handles all large nodes of a level: kd_boxes and kd_planes compute boxes and planes, kd_sides and a scan
 * count the particles that go to second children, kd_children makes the children, kd_move moves the particles. Children
 * with fewer than SAP_SPLIT_LARGE particles are left to kd_small.h.  The order in which threads number nodes of a round
 * varies; it decides nothing, since nodes are stored by position.
 *
 * A node that must be halved waits (SAP_KD_WAIT) until the host launches rounds that sort.  In these rounds two stable
 * sorts follow the planes: of all positions by coordinate along the axis of their node (kd_sort_keys), then by the
 * first position of their node (kd_sort_places); particles of other nodes stay where they are.
 */
#include "dialect.h"

#include "device/kd_layout.h"
#include "physics/tree_split.h"

enum { KD_TILE = SAP_KD_TILE, NODE_THREADS = SAP_KD_NODE_THREADS, BOX_WORDS = 6 };

/* ---- start ---- */

/* Copies the particles, and makes the root; n > 0. */
KERNEL(KD_TILE)
kd_start(const GLOBAL D *given, GLOBAL D *point, GLOBAL int *address, GLOBAL int *node_of,
         GLOBAL struct sap_kd_part *inner, GLOBAL struct sap_kd_part *leaf, GLOBAL struct sap_kd_large_node *large,
         GLOBAL struct sap_kd_run *root, GLOBAL int *counter, const struct sap_kd_arguments b)
{
    const size_t i = (size_t)global_id();
    const int is_large = b.n >= SAP_SPLIT_LARGE;
    if (i < SAP_KD_COUNTERS) counter[i] = i == SAP_KD_ROOTS ? !is_large : i == SAP_KD_LARGE ? is_large : 0;
    if (i == 0) {
        GLOBAL struct sap_kd_run *const run = is_large ? &large->run : root;
        run->first = run->level = run->side = 0;
        run->count = b.n;
        for (int k = 0; k < 3; k++) {
            run->entry[k] = b.low[k];
            run->exit[k] = k == 0 ? b.high[k] : b.low[k];
        }
    }
    if (i >= (size_t)b.n) return;
    for (int k = 0; k < 3; k++) point[4 * i + k] = given[4 * i + k];
    point[4 * i + 3] = d_mul(d_abs(given[4 * i + 3]), b.mass_unit);
    address[i] = (int)i;
    node_of[i] = is_large ? 0 : -1;
    inner[i].count = inner[i].level = leaf[i].count = leaf[i].level = 0;
}

/* ---- boxes ---- */

/* Widens the box of each thread to that of its group; room: six doubles for each of the group's `threads` threads. */
SAP_INLINE void join_boxes(LOCAL D *room, int threads, D *low, D *high)
{
    const int me = (int)local_id();
    for (int k = 0; k < 3; k++) {
        room[k * threads + me] = low[k];
        room[(3 + k) * threads + me] = high[k];
    }
    for (int step = threads / 2; step > 0; step /= 2) {
        group_barrier();
        if (me < step)
            for (int k = 0; k < 3; k++) {
                LOCAL D *const a = room + k * threads + me, *const b = a + 3 * threads;
                *a = d_min(*a, a[step]);
                *b = d_max(*b, b[step]);
            }
    }
    group_barrier();
    for (int k = 0; k < 3; k++) {
        low[k] = room[k * threads];
        high[k] = room[(3 + k) * threads];
    }
    group_barrier();
}

/*
 * Computes two boxes of each tile of positions: of its particles that belong to the large node of its first position,
 * and to that of its last position if it is another.
 */
KERNEL(NODE_THREADS)
kd_boxes(const GLOBAL D *point, const GLOBAL int *node_of, GLOBAL D *box, const int n)
{
    SHARED D room[BOX_WORDS * NODE_THREADS];
    const int me = (int)local_id(), tile = (int)group_id(0), begin = tile * KD_TILE, end = min(begin + KD_TILE, n);
    const int node = node_of[begin], other = node_of[end - 1], boxes = other == node ? 1 : 2;
    if (node < 0 && other < 0) return; /* the same for all threads of the group */
    for (int which = 0; which < boxes; which++) {
        D low[3], high[3], x[3];
        sap_split_empty(low, high);
        for (int i = begin + me; i < end; i += NODE_THREADS) {
            if (node_of[i] != (which ? other : node)) continue;
            for (int k = 0; k < 3; k++) x[k] = point[4 * (size_t)i + k];
            sap_split_widen(low, high, x);
        }
        join_boxes(room, NODE_THREADS, low, high);
        if (me == 0)
            for (int k = 0; k < 3; k++) {
                box[BOX_WORDS * (2 * (size_t)tile + which) + k] = low[k];
                box[BOX_WORDS * (2 * (size_t)tile + which) + 3 + k] = high[k];
            }
    }
}

/* Joins the boxes of each run of SAP_KD_JOINED tiles that belong to one large node, with a thread per tile. */
KERNEL(SAP_KD_JOINED)
kd_join(const GLOBAL D *box, const GLOBAL int *node_of, GLOBAL D *joined, const int n)
{
    SHARED D room[BOX_WORDS * SAP_KD_JOINED];
    const int me = (int)local_id(), run = (int)group_id(0);
    const int begin = run * SAP_KD_JOINED * KD_TILE, end = begin + SAP_KD_JOINED * KD_TILE;
    D low[3], high[3];
    if (end > n || node_of[begin] < 0 || node_of[begin] != node_of[end - 1]) return; /* for all threads alike */
    const GLOBAL D *const mine = box + BOX_WORDS * 2 * ((size_t)run * SAP_KD_JOINED + me);
    for (int k = 0; k < 3; k++) low[k] = mine[k], high[k] = mine[3 + k];
    join_boxes(room, SAP_KD_JOINED, low, high);
    if (me > 0) return;
    for (int k = 0; k < 3; k++) {
        joined[BOX_WORDS * (size_t)run + k] = low[k];
        joined[BOX_WORDS * (size_t)run + 3 + k] = high[k];
    }
}

/* ---- planes ---- */

/* Computes the box of a large node from the boxes of its tiles, or of its runs of tiles, for all threads alike. */
SAP_INLINE void node_box(LOCAL D *room, const GLOBAL D *box, const GLOBAL D *joined, int first, int last, D *low,
                         D *high)
{
    const int per_run = SAP_KD_JOINED * KD_TILE, from = first / KD_TILE, to = last / KD_TILE + 1;
    const int run_from = first / per_run + (first % per_run > 0), run_to = (last + 1) / per_run;
    const int runs = max(0, run_to - run_from), head = runs > 0 ? run_from * SAP_KD_JOINED - from : to - from;
    const int tail = runs > 0 ? to - run_to * SAP_KD_JOINED : 0;
    sap_split_empty(low, high);
    for (int k = (int)local_id(); k < head + runs + tail; k += NODE_THREADS) {
        const int is_run = k >= head && k < head + runs;
        const int tile = k < head ? from + k : run_to * SAP_KD_JOINED + k - head - runs;
        const size_t at = is_run ? (size_t)(run_from + k - head) : 2 * (size_t)tile + (first > tile * KD_TILE ? 1 : 0);
        for (int end = 0; end < BOX_WORDS; end += 3) {
            D x[3];
            for (int c = 0; c < 3; c++) x[c] = (is_run ? joined : box)[BOX_WORDS * at + end + c];
            sap_split_widen(low, high, x);
        }
    }
    join_boxes(room, NODE_THREADS, low, high);
}

/* Decides what becomes of a node with a box: a sap_kd_state. */
SAP_INLINE int state_of(const GLOBAL struct sap_kd_large_node *f, D side, int leaf_size, int signs, int sorts)
{
    if (f->run.count <= leaf_size || !dm_any(d_gt(side, d_set1(SAP_ZERO)))) return SAP_KD_LEAF;
    if (signs && f->run.level == 0) return SAP_KD_SIGN;
    if (sap_split_is_deep(f->run.level, f->run.count)) return sorts ? SAP_KD_HALVE : SAP_KD_WAIT;
    return SAP_KD_SPLIT;
}

/* Writes box, axis, plane and state of a node. */
SAP_INLINE void choose_plane(GLOBAL struct sap_kd_large_node *f, const D *low, const D *high, int leaf_size, int signs,
                             int sorts)
{
    D side;
    const int axis = sap_split_axis(low, high, &side);
    for (int k = 0; k < 3; k++) {
        f->low[k] = low[k];
        f->high[k] = high[k];
    }
    f->axis = axis;
    f->plane = sap_split_plane(f->low[axis], f->high[axis]);
    f->high_first = dm_any(d_gt(f->run.entry[axis], f->run.exit[axis]));
    f->state = state_of(f, side, leaf_size, signs, sorts);
}

/* Joins the boxes of the tiles of each large node of a round, one group of threads per node, and chooses its plane. */
KERNEL(NODE_THREADS)
kd_planes(const GLOBAL D *box, const GLOBAL D *joined, GLOBAL struct sap_kd_large_node *large,
          GLOBAL struct sap_kd_part *leaf, GLOBAL int *counter, const struct sap_kd_arguments b, const int round,
          const int sorts)
{
    SHARED D room[BOX_WORDS * NODE_THREADS];
    const int me = (int)local_id(), nodes = counter[SAP_KD_LARGE + round];
    GLOBAL struct sap_kd_large_node *const f = large + group_id(0);
    if ((int)group_id(0) >= nodes) return; /* the same for all threads of the group */
    const int first = f->run.first, last = first + f->run.count - 1;
    D low[3], high[3];
    node_box(room, box, joined, first, last, low, high);
    if (me > 0) return;
    choose_plane(f, low, high, b.leaf_size, b.signs, sorts);
    if (f->state == SAP_KD_WAIT) counter[SAP_KD_WAITING] = 1;
    if (f->state == SAP_KD_LEAF) {
        leaf[first].count = f->run.count;
        leaf[first].level = f->run.level;
    }
}

/* ---- rounds that sort ---- */

/* Maps a coordinate to an integer of the same order; both zeros map to one integer. */
SAP_INLINE U64 order_of(D x)
{
    union {
        D x;
        U64 bits;
    } word;
    const U64 sign = (U64)1 << 63;
    word.x = d_add(x, d_set1(SAP_ZERO));
    return (word.bits & sign) != 0 ? ~word.bits : word.bits | sign;
}

SAP_INLINE int is_halved(const GLOBAL struct sap_kd_large_node *large, int node)
{
    return node >= 0 && large[node].state == SAP_KD_HALVE;
}

/* Writes the key of each position: the coordinate of its particle along the axis of its node. */
KERNEL(KD_TILE)
kd_sort_keys(const GLOBAL D *point, const GLOBAL int *node_of, const GLOBAL struct sap_kd_large_node *large,
             GLOBAL U64 *key, const int n)
{
    const size_t i = (size_t)global_id();
    if (i >= (size_t)n) return;
    const int node = node_of[i];
    key[i] = is_halved(large, node) ? order_of(point[4 * i + large[node].axis]) : 0;
}

/* Writes the key of each sorted position: the first position of its node. */
KERNEL(KD_TILE)
kd_sort_places(const GLOBAL int *node_of, const GLOBAL struct sap_kd_large_node *large, const GLOBAL int *value,
               GLOBAL U64 *key, const int n)
{
    const size_t k = (size_t)global_id();
    if (k >= (size_t)n) return;
    const int i = value[k], node = node_of[i];
    key[k] = (U64)(is_halved(large, node) ? large[node].run.first : i);
}

/* Copies the particles of halved nodes: to position k comes the particle of value[k], or, without values, of k. */
KERNEL(KD_TILE)
kd_sort_move(const GLOBAL int *node_of, const GLOBAL struct sap_kd_large_node *large, const GLOBAL int *value,
             const int has_values, const GLOBAL wide *from, const GLOBAL int *from_address, GLOBAL wide *to,
             GLOBAL int *to_address, const int n)
{
    const size_t k = (size_t)global_id();
    if (k >= (size_t)n || !is_halved(large, node_of[k])) return;
    const size_t i = has_values ? (size_t)value[k] : k;
    to[2 * k] = from[2 * i];
    to[2 * k + 1] = from[2 * i + 1];
    to_address[k] = from_address[i];
}

/* ---- partition ---- */

/* Returns whether the particle at position i of a node that is divided goes to the second child. */
SAP_INLINE int is_second(const GLOBAL struct sap_kd_large_node *f, const GLOBAL D *given, const GLOBAL D *point,
                         size_t i)
{
    if (f->state == SAP_KD_SIGN) return dm_any(d_gt(d_set1(SAP_ZERO), given[4 * i + 3]));
    const int is_low = f->state == SAP_KD_HALVE ? (int)i - f->run.first < f->run.count / 2
                                                : dm_any(d_gt(f->plane, point[4 * i + f->axis]));
    return is_low == f->high_first;
}

SAP_INLINE int is_divided(const GLOBAL struct sap_kd_large_node *f)
{
    return f->state == SAP_KD_SPLIT || f->state == SAP_KD_HALVE || f->state == SAP_KD_SIGN;
}

/* Writes 1 for each position whose particle goes to a second child, else 0; 0 at position n. */
KERNEL(KD_TILE)
kd_sides(const GLOBAL D *given, const GLOBAL D *point, const GLOBAL int *node_of,
         const GLOBAL struct sap_kd_large_node *large, GLOBAL int *second, const int n)
{
    const size_t i = (size_t)global_id();
    if (i > (size_t)n) return;
    const int node = i < (size_t)n ? node_of[i] : -1;
    second[i] = node >= 0 && is_divided(large + node) && is_second(large + node, given, point, i);
}

/* Writes child c of a node; plane: where the node is split. */
SAP_INLINE void write_child(const GLOBAL struct sap_kd_large_node *f, int c, D plane, int side,
                            GLOBAL struct sap_kd_run *to)
{
    to->first = c ? f->run.first + f->front : f->run.first;
    to->count = c ? f->run.count - f->front : f->front;
    to->level = f->run.level + 1;
    to->side = side;
    for (int k = 0; k < 3; k++) {
        const D gate = sap_split_gate(f->low[k], f->high[k], plane, k == f->axis, f->high_first == c);
        to->entry[k] = c ? gate : f->run.entry[k];
        to->exit[k] = c ? f->run.exit[k] : gate;
    }
}

/* Makes child c of a node: a large node of the next round, a leaf, or the root of a small subtree. */
SAP_INLINE void make_child(GLOBAL struct sap_kd_large_node *f, int c, D plane, int side,
                           GLOBAL struct sap_kd_large_node *next, GLOBAL struct sap_kd_run *root,
                           GLOBAL struct sap_kd_part *leaf, GLOBAL int *counter, int leaf_size, int round)
{
    const int first = c ? f->run.first + f->front : f->run.first, count = c ? f->run.count - f->front : f->front;
    f->child[c] = -1;
    if (count >= SAP_SPLIT_LARGE) {
        f->child[c] = atomic_add(&counter[SAP_KD_LARGE + round + 1], 1);
        write_child(f, c, plane, side, &next[f->child[c]].run);
    } else if (count > leaf_size)
        write_child(f, c, plane, side, root + atomic_add(&counter[SAP_KD_ROOTS], 1));
    else {
        leaf[first].count = count;
        leaf[first].level = f->run.level + 1;
    }
}

/* Makes the children of the large nodes of a round; before[]: the scan of `second`; side: the array of this round. */
KERNEL(NODE_THREADS)
kd_children(const GLOBAL D *point, GLOBAL struct sap_kd_large_node *large, GLOBAL struct sap_kd_large_node *next,
            GLOBAL struct sap_kd_run *root, GLOBAL struct sap_kd_part *inner, GLOBAL struct sap_kd_part *leaf,
            GLOBAL int *counter, const GLOBAL int *before, const struct sap_kd_arguments b, const int round,
            const int side)
{
    const int node = (int)global_id();
    if (node >= counter[SAP_KD_LARGE + round]) return;
    GLOBAL struct sap_kd_large_node *const f = large + node;
    if (f->state == SAP_KD_WAIT) {
        f->child[0] = atomic_add(&counter[SAP_KD_LARGE + round + 1], 1);
        next[f->child[0]] = *f;
    }
    if (!is_divided(f)) return;
    const D plane =
        f->state == SAP_KD_HALVE ? point[4 * ((size_t)f->run.first + f->run.count / 2) + f->axis] : f->plane;
    f->front = f->run.count - (before[f->run.first + f->run.count] - before[f->run.first]);
    inner[f->run.first + f->front].count = f->run.count;
    inner[f->run.first + f->front].level = f->run.level;
    for (int c = 0; c < 2; c++) make_child(f, c, plane, side ^ 1, next, root, leaf, counter, b.leaf_size, round);
}

/*
 * Moves the particles of large nodes to the other arrays, to the children of their nodes, in their order.  order[]
 * receives the addresses of particles whose nodes are done.
 */
KERNEL(KD_TILE)
kd_move(const GLOBAL wide *point, const GLOBAL int *address, const GLOBAL int *node_of,
        const GLOBAL struct sap_kd_large_node *large, const GLOBAL int *before, GLOBAL wide *to, GLOBAL int *to_address,
        GLOBAL int *to_node_of, GLOBAL int *order, const int n)
{
    const size_t i = (size_t)global_id();
    if (i >= (size_t)n) return;
    const int node = node_of[i];
    if (node < 0) {
        to_node_of[i] = -1;
        return;
    }
    const GLOBAL struct sap_kd_large_node *const f = large + node;
    int at = (int)i, child = f->state == SAP_KD_WAIT ? f->child[0] : -1;
    if (is_divided(f)) {
        const int second = before[i + 1] - before[i], seconds = before[i] - before[f->run.first];
        at = second ? f->run.first + f->front + seconds : (int)i - seconds;
        child = f->child[second];
    }
    to[2 * (size_t)at] = point[2 * i];
    to[2 * (size_t)at + 1] = point[2 * i + 1];
    to_address[at] = address[i];
    to_node_of[at] = child;
    if (child < 0) order[at] = address[i];
}
