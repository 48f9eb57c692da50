/* kdtree.c - builds a kd-tree: large nodes, small nodes, depth-first order, cells for the walk. */
#include "engine/kdtree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "physics/ops_scalar.h"
#include "physics/tree_split.h"
#include "sapporo.h"

enum {
    MOST_SMALL = SAP_SPLIT_LARGE - 1, /* particles of a small node that is split */
    SORTED_RUN = 8,                   /* particles that insertion sorts */
    TWO = 2,
    EIGHT = 8
};

/* A node that waits to be split. */
struct kd_frame {
    int first, count, level;
    double low[3], high[3];   /* tight box */
    double entry[3], exit[3]; /* where the curve enters and leaves */
};

/* A large node, or the root of a small subtree (child 0). */
struct sap_kd_large {
    struct kd_frame frame;
    int child;        /* index of its two children */
    int size, offset; /* nodes of its subtree; position in depth-first order */
};

/* ---- memory ---------------------------------------------------------------------- */

size_t sap_kd_bytes(int n)
{
    return ((size_t)n + 1) * (2 * sizeof(struct sap_kd_point) + 2 * sizeof(struct sap_kd_node));
}

void sap_kd_free(struct sap_kd_builder *b)
{
    free(b->point);
    free(b->spare);
    free(b->small);
    free(b->large);
    free(b->node);
    memset(b, 0, sizeof *b);
}

int sap_kd_reserve(struct sap_kd_builder *b, int n)
{
    const size_t room = (size_t)n + 1;
    if (b->point && n <= b->room) return SAPPORO_OK;
    sap_kd_free(b);
    b->point = malloc(room * sizeof *b->point);
    b->spare = malloc(room * sizeof *b->spare);
    b->small = malloc(2 * room * sizeof *b->small);
    b->room = n;
    return b->point && b->spare && b->small ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/* Enlarges an array of `*room` elements to at least `need`; the old elements are kept.  NULL: no memory. */
static void *enlarged(void *array, int *room, int need, size_t each)
{
    const int more = need <= *room ? *room : need + *room / 2;
    void *const larger = need <= *room ? array : realloc(array, (size_t)more * each);
    if (larger) *room = more;
    return larger;
}

/* ---- splits ------------------------------------------------------------------------ */

/* Whether a node must be halved, lest its subtree be too deep. */
static int is_deep(const struct kd_frame *f) { return sap_split_is_deep(f->level, f->count); }

static void box_of(const struct sap_kd_point *p, int n, double *low, double *high)
{
    sap_split_empty(low, high);
    for (int k = 0; k < n; k++) sap_split_widen(low, high, p[k].x);
}

static void insertion_sort(struct sap_kd_point *p, int n, int axis)
{
    for (int k = 1; k < n; k++) {
        const struct sap_kd_point one = p[k];
        int at = k;
        for (; at > 0 && p[at - 1].x[axis] > one.x[axis]; at--) p[at] = p[at - 1];
        p[at] = one;
    }
}

/* Merges two sorted runs; of equal coordinates those of the first run come first. */
static void merge(const struct sap_kd_point *a, int na, const struct sap_kd_point *b, int nb, int axis,
                  struct sap_kd_point *to)
{
    while (na > 0 && nb > 0) {
        if (b->x[axis] < a->x[axis])
            *to++ = *b++, nb--;
        else
            *to++ = *a++, na--;
    }
    memcpy(to, a, (size_t)na * sizeof *a);
    memcpy(to + na, b, (size_t)nb * sizeof *b);
}

static int is_sorted(const struct sap_kd_point *p, int n, int axis)
{
    int k = 1;
    while (k < n && p[k - 1].x[axis] <= p[k].x[axis]) k++;
    return k >= n;
}

/* Sorts by one coordinate; particles of equal coordinates keep their order. */
static void sort(struct sap_kd_point *p, struct sap_kd_point *spare, int n, int axis)
{
    struct sap_kd_point *from = p, *to = spare;
    if (is_sorted(p, n, axis)) return;
    for (int k = 0; k < n; k += SORTED_RUN) insertion_sort(p + k, n - k < SORTED_RUN ? n - k : SORTED_RUN, axis);
    for (int run = SORTED_RUN; run<n; run = run> n / 2 ? n : 2 * run) {
        for (int k = 0; k < n;) {
            const int left = n - k, na = left < run ? left : run, nb = left - na < run ? left - na : run;
            merge(from + k, na, from + k + na, nb, axis, to + k);
            k += na + nb;
        }
        struct sap_kd_point *const was = from;
        from = to;
        to = was;
    }
    if (from != p) memcpy(p, from, (size_t)n * sizeof *p);
}

/* Whether the high child of a node comes first. */
static int high_first(const struct kd_frame *f, int axis) { return f->entry[axis] > f->exit[axis]; }

/* Moves the first n particles behind the others. */
static void rotate(struct sap_kd_point *p, struct sap_kd_point *spare, int n, int all)
{
    memcpy(spare, p, (size_t)n * sizeof *p);
    memmove(p, p + n, (size_t)(all - n) * sizeof *p);
    memcpy(p + all - n, spare, (size_t)n * sizeof *p);
}

/* Fills the places of the children, of which the first has n particles; their boxes are known. */
static void place_children(const struct kd_frame *f, int axis, double plane, int n, struct kd_frame *child)
{
    const int high = high_first(f, axis);
    double gate[2][3]; /* in the first child, in the second */
    for (int c = 0; c < TWO; c++)
        for (int k = 0; k < 3; k++) gate[c][k] = sap_split_gate(f->low[k], f->high[k], plane, k == axis, high != c);
    for (int c = 0; c < TWO; c++) {
        child[c].first = c ? f->first + n : f->first;
        child[c].count = c ? f->count - n : n;
        child[c].level = f->level + 1;
        memcpy(child[c].entry, c ? gate[0] : f->entry, sizeof child[c].entry);
        memcpy(child[c].exit, c ? f->exit : gate[1], sizeof child[c].exit);
    }
}

/* Splits sorted particles: the low child has n of them.  p, spare: of this node. */
static void split_sorted(const struct kd_frame *f, int axis, int n, struct sap_kd_point *p, struct sap_kd_point *spare,
                         struct kd_frame *child)
{
    const double plane = p[n].x[axis];
    const int high = high_first(f, axis), first = high ? f->count - n : n;
    if (high) rotate(p, spare, n, f->count);
    place_children(f, axis, plane, first, child);
    box_of(p, first, child[0].low, child[0].high);
    box_of(p + first, f->count - first, child[1].low, child[1].high);
}

/* ---- large nodes --------------------------------------------------------------------- */

static int is_large(const struct kd_frame *f, int leaf_size)
{
    double side;
    (void)sap_split_axis(f->low, f->high, &side);
    return f->count >= SAP_SPLIT_LARGE && f->count > leaf_size && side > 0;
}

/*
 * Moves the particles of a large node to its children, in their order; returns the number of the first child.  signs:
 * the second child has the particles of negative mass.
 */
static int partition(struct sap_kd_point *p, struct sap_kd_point *spare, int n, int axis, double plane, int high,
                     int signs, struct kd_frame *child)
{
    double low[2][3], upper[2][3];
    int front = 0, back = 0;
    for (int c = 0; c < TWO; c++) sap_split_empty(low[c], upper[c]);
    for (int k = 0; k < n; k++) {
        const struct sap_kd_point one = p[k];
        const int second = signs ? one.is_negative : (one.x[axis] < plane) == high;
        sap_split_widen(low[second], upper[second], one.x);
        if (second)
            spare[back++] = one;
        else
            p[front++] = one;
    }
    memcpy(p + front, spare, (size_t)back * sizeof *p);
    for (int c = 0; c < TWO; c++) {
        memcpy(child[c].low, low[c], sizeof low[c]);
        memcpy(child[c].high, upper[c], sizeof upper[c]);
    }
    return front;
}

static void split_large(struct sap_kd_builder *b, const struct sap_kd_large *node)
{
    const struct kd_frame *const f = &node->frame;
    struct sap_kd_point *const p = b->point + f->first, *const spare = b->spare + f->first;
    struct kd_frame child[2];
    double side;
    const int axis = sap_split_axis(f->low, f->high, &side);
    if (is_deep(f)) {
        sort(p, spare, f->count, axis);
        split_sorted(f, axis, f->count / 2, p, spare, child);
    } else {
        const double plane = sap_split_plane(f->low[axis], f->high[axis]);
        const int signs = b->signs && f->level == 0;
        const int n = partition(p, spare, f->count, axis, plane, high_first(f, axis), signs, child);
        place_children(f, axis, plane, n, child);
    }
    for (int c = 0; c < TWO; c++) b->large[node->child + c] = (struct sap_kd_large){.frame = child[c]};
}

static void split_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct sap_kd_builder *const b = argument;
    for (ptrdiff_t k = b->larges + from; k < b->larges + to; k++)
        if (b->large[k].child) split_large(b, &b->large[k]);
}

/* Makes the root of all particles. */
static void start_root(struct sap_kd_builder *b, const struct sap_kd_input *in)
{
    struct kd_frame *const f = &b->large[0].frame;
    b->large[0] = (struct sap_kd_large){.frame = {.count = in->n}};
    memcpy(f->low, in->low, sizeof f->low);
    memcpy(f->high, in->high, sizeof f->high);
    memcpy(f->entry, in->low, sizeof f->entry);
    memcpy(f->exit, in->low, sizeof f->exit);
    f->exit[0] = in->high[0];
}

/* Splits all large nodes, level by level; b->larges counts them, and the small nodes that remain. */
static int split_all_large(struct sap_kd_builder *b, const struct sap_kd_input *in, int threads)
{
    struct sap_kd_large *large = enlarged(b->large, &b->large_room, 1, sizeof *large);
    if (!large) return SAPPORO_ERR_MEMORY;
    b->large = large;
    start_root(b, in);
    int from = 0, end = 1;
    while (from < end) {
        int next = end;
        for (int k = from; k < end; k++) {
            if (!is_large(&b->large[k].frame, in->leaf_size)) continue;
            b->large[k].child = next;
            next += TWO;
        }
        large = enlarged(b->large, &b->large_room, next, sizeof *large);
        if (!large) return SAPPORO_ERR_MEMORY;
        b->large = large;
        b->larges = from;
        sap_team_for(threads, end - from, 1, split_some, b);
        from = end;
        end = next;
    }
    b->larges = end;
    return SAPPORO_OK;
}

/* ---- small nodes --------------------------------------------------------------------- */

/*
 * Returns how many of the sorted particles of a small node are below the best plane.  Planes lie through particles;
 * particles of one coordinate are on one side.
 */
static int best_plane(const struct sap_kd_point *p, int n, int axis, double side)
{
    const double scale = sap_split_scale(side);
    double low[3], high[3], above[MOST_SMALL + 1], mass = 0, least = 0;
    int best = 0;
    sap_split_empty(low, high);
    for (int k = n - 1; k > 0; k--) {
        sap_split_widen(low, high, p[k].x);
        mass += p[k].weight;
        above[k] = sap_split_term(low, high, scale, mass);
    }
    sap_split_empty(low, high);
    mass = 0;
    for (int k = 1; k < n; k++) {
        sap_split_widen(low, high, p[k - 1].x);
        mass += p[k - 1].weight;
        if (!(p[k].x[axis] > p[k - 1].x[axis])) continue;
        const double cost = sap_split_cost(sap_split_term(low, high, scale, mass), above[k]);
        if (!sap_split_is_better(cost, k, least, best, n)) continue;
        best = k;
        least = cost;
    }
    return best;
}

/* Splits a small node; returns 0 if it is a leaf. */
static int split_small(struct sap_kd_builder *b, const struct kd_frame *f, int leaf_size, struct kd_frame *child)
{
    struct sap_kd_point *const p = b->point + f->first, *const spare = b->spare + f->first;
    double side;
    const int axis = sap_split_axis(f->low, f->high, &side);
    if (f->count <= leaf_size || !(side > 0)) return 0;
    sort(p, spare, f->count, axis);
    split_sorted(f, axis, is_deep(f) ? f->count / 2 : best_plane(p, f->count, axis, side), p, spare, child);
    return 1;
}

/* Computes the sizes of subtrees from the leaves up.  Inner nodes have size 0 before. */
static void count_subtrees(struct sap_kd_node *node, int n)
{
    for (int k = n - 1; k >= 0; k--) {
        if (node[k].size) continue;
        const int second = k + 1 + node[k + 1].size;
        node[k].size = 1 + node[k + 1].size + node[second].size;
    }
}

/* Makes the subtree of a small node, in depth-first order, in the part of `small` that belongs to its particles. */
static void grow_small(struct sap_kd_builder *b, struct sap_kd_large *root, int leaf_size)
{
    struct kd_frame stack[SAP_SPLIT_DEPTH + 2];
    struct sap_kd_node *const node = b->small + 2 * (size_t)root->frame.first;
    int waiting = 1, n = 0;
    stack[0] = root->frame;
    while (waiting > 0) {
        const struct kd_frame f = stack[--waiting];
        struct kd_frame child[2];
        const int inner = split_small(b, &f, leaf_size, child);
        node[n++] = (struct sap_kd_node){f.first, f.count, inner ? 0 : 1};
        for (int c = 1; c >= 0 && inner; c--) stack[waiting++] = child[c];
    }
    count_subtrees(node, n);
    root->size = n;
}

struct small_phase {
    struct sap_kd_builder *builder;
    int leaf_size;
};

static void grow_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct small_phase *const s = argument;
    for (ptrdiff_t k = from; k < to; k++)
        if (!s->builder->large[k].child) grow_small(s->builder, &s->builder->large[k], s->leaf_size);
}

/* ---- depth-first order --------------------------------------------------------------- */

/* Computes sizes from the leaves up, and positions from the root down; copies all nodes to their positions. */
static int order_nodes(struct sap_kd_builder *b)
{
    struct sap_kd_large *const large = b->large;
    for (int k = b->larges - 1; k >= 0; k--)
        if (large[k].child) large[k].size = 1 + large[large[k].child].size + large[large[k].child + 1].size;
    struct sap_kd_node *const node = enlarged(b->node, &b->node_room, large[0].size, sizeof *node);
    if (!node) return SAPPORO_ERR_MEMORY;
    b->node = node;
    b->nodes = large[0].size;
    large[0].offset = 0;
    for (int k = 0; k < b->larges; k++) {
        const struct kd_frame *const f = &large[k].frame;
        struct sap_kd_node *const to = node + large[k].offset;
        if (!large[k].child) {
            memcpy(to, b->small + 2 * (size_t)f->first, (size_t)large[k].size * sizeof *to);
            continue;
        }
        *to = (struct sap_kd_node){f->first, f->count, large[k].size};
        large[large[k].child].offset = large[k].offset + 1;
        large[large[k].child + 1].offset = large[k].offset + 1 + large[large[k].child].size;
    }
    return SAPPORO_OK;
}

/* ---- cells for the walk ---------------------------------------------------------------- */

/* Finds the nodes that are the children of a cell: its descendants after some levels, and leaves above them. */
static int children_of(const struct sap_kd_node *node, int k, int levels, int *child)
{
    int n = 1;
    child[0] = k;
    for (int level = 0; level < levels; level++) {
        int next[EIGHT] = {0}, m = 0;
        for (int c = 0; c < n; c++) {
            const int at = child[c], inner = node[at].size > 1;
            next[m++] = inner ? at + 1 : at;
            if (inner) next[m++] = at + 1 + node[at + 1].size;
        }
        n = m;
        memcpy(child, next, (size_t)n * sizeof *child);
    }
    return n;
}

static struct sap_tree_node cell_of(const struct sap_kd_node *node, int k, int level, int next)
{
    return (struct sap_tree_node){
        .first = node[k].first, .count = node[k].count, .child = k, .level = level, .next = next};
}

/* Makes the children of cell k, whose `child` is its node in depth-first order. */
static int add_children(const struct sap_kd_builder *b, int levels, int k, struct sap_tree_nodes *out)
{
    int child[EIGHT];
    const struct sap_tree_node cell = out->node[k];
    const int n = b->node[cell.child].size > 1 ? children_of(b->node, cell.child, levels, child) : 0;
    struct sap_tree_node *const node = enlarged(out->node, &out->room, out->nodes + n, sizeof *node);
    if (!node) return SAPPORO_ERR_MEMORY;
    out->node = node;
    node[k].child = n ? out->nodes : 0;
    node[k].children = n;
    for (int c = 0; c < n; c++)
        node[out->nodes + c] = cell_of(b->node, child[c], cell.level + 1, c + 1 < n ? out->nodes + c + 1 : cell.next);
    out->nodes += n;
    return SAPPORO_OK;
}

/* Makes cells breadth first; the array of cells is the queue of those that wait for their children. */
static int make_cells(const struct sap_kd_builder *b, int levels, struct sap_tree_nodes *out)
{
    struct sap_tree_node *const node = enlarged(out->node, &out->room, 1, sizeof *node);
    if (!node) return SAPPORO_ERR_MEMORY;
    out->node = node;
    node[0] = cell_of(b->node, 0, 0, -1);
    out->nodes = 1;
    for (int k = 0; k < out->nodes; k++) {
        if (out->node[k].level == out->levels) out->level_first[out->levels++] = k;
        if (add_children(b, levels, k, out)) return SAPPORO_ERR_MEMORY;
    }
    out->level_first[out->levels] = out->nodes;
    return SAPPORO_OK;
}

/* ---- all of it ------------------------------------------------------------------------- */

struct kd_reading {
    struct sap_kd_builder *builder;
    const struct sap_kd_input *in;
};

static void read_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct kd_reading *const r = argument;
    const struct sap_kd_input *const in = r->in;
    for (ptrdiff_t i = from; i < to; i++) {
        struct sap_kd_point *const p = &r->builder->point[i];
        memcpy(p->x, in->x + (size_t)i * in->x_stride, sizeof p->x);
        p->weight = fabs(in->mass[(size_t)i * in->mass_stride]) * in->mass_unit;
        p->address = (int)i;
        p->is_negative = in->mass[(size_t)i * in->mass_stride] < 0;
    }
}

int sap_kd_build(struct sap_kd_builder *b, const struct sap_kd_input *in, struct sap_tree_nodes *out, int threads)
{
    enum { PARTICLES = 4096, SUBTREES = 8 };
    struct kd_reading r = {b, in};
    struct small_phase s = {b, in->leaf_size};
    out->nodes = out->levels = out->level_first[0] = b->larges = b->nodes = 0;
    b->signs = in->signs;
    if (in->n == 0) return SAPPORO_OK;
    sap_team_for(threads, in->n, sap_team_chunk(in->n, threads, PARTICLES), read_some, &r);
    int status = split_all_large(b, in, threads);
    if (status) return status;
    sap_team_for(threads, b->larges, SUBTREES, grow_some, &s);
    status = order_nodes(b);
    return status ? status : make_cells(b, in->levels, out);
}
