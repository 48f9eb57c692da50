/* cpu_link.c - makes the nodes of a tree from sorted keys, level by level. */
#include <stdlib.h>

#include "base/team.h"
#include "cpu/tree/cpu_tree.h"

enum { EIGHT = 8 };

/* Returns the end of the run of keys with key[from]'s digit at a level; it is within from ... end - 1. */
static int run_end(const sap_key *key, int from, int end, int level)
{
    const int shift = 3 * (SAP_KEY_LEVELS - 1 - level);
    const sap_key run = key[from] >> shift;
    while (end - from > 1) {
        const int middle = from + (end - from) / 2;
        if (key[middle] >> shift == run)
            from = middle;
        else
            end = middle;
    }
    return end;
}

/* Finds the ends of the children of a node; returns their number, 0: it is a leaf. */
static int split(const struct sap_cpu_draft *t, const struct sap_tree_node *node, int *ends)
{
    const int end = node->first + node->count;
    int n = 0;
    if (node->count <= t->leaf_size || node->level == SAP_KEY_LEVELS) return 0;
    for (int at = node->first; at < end; at = ends[n++]) ends[n] = run_end(t->key, at, end, node->level);
    return n;
}

static void make_children(struct sap_cpu_draft *t, int parent, const int *ends)
{
    const struct sap_tree_node *const p = &t->made->node[parent];
    for (int k = 0; k < p->children; k++) {
        struct sap_tree_node *const c = &t->made->node[p->child + k];
        c->first = k ? ends[k - 1] : p->first;
        c->count = ends[k] - c->first;
        c->level = p->level + 1;
        c->child = c->children = 0;
        c->next = k + 1 < p->children ? p->child + k + 1 : p->next;
    }
}

/* Makes room for more nodes; existing nodes are kept. */
static int reserve(struct sap_cpu_draft *t, int more)
{
    struct sap_tree_nodes *const made = t->made;
    if (more <= made->room - made->nodes) return SAPPORO_OK;
    const int room = made->nodes + more + made->nodes / 2;
    struct sap_tree_node *const node = realloc(made->node, (size_t)room * sizeof *node);
    if (!node) return SAPPORO_ERR_MEMORY;
    made->node = node;
    made->room = room;
    return SAPPORO_OK;
}

/* The nodes of a level, from index `first` on. */
struct draft_level {
    struct sap_cpu_draft *tree;
    int first;
    int (*ends)[EIGHT];
};

static void split_nodes(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct draft_level *const l = argument;
    for (ptrdiff_t k = from; k < to; k++) {
        struct sap_tree_node *const node = &l->tree->made->node[l->first + k];
        node->children = split(l->tree, node, l->ends[k]);
    }
}

static void fill_children(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct draft_level *const l = argument;
    for (ptrdiff_t k = from; k < to; k++) make_children(l->tree, l->first + (int)k, l->ends[k]);
}

/* Makes the children of a level's nodes; ends[k]: ends of the children of node k. 0: no children; < 0: a status. */
static int link_level(struct sap_cpu_draft *t, int from, int n, int (*ends)[EIGHT], int threads)
{
    enum { AT_ONCE = 128 };
    const ptrdiff_t chunk = sap_team_chunk(n, threads, AT_ONCE);
    struct draft_level l = {t, from, ends};
    int children = 0;
    sap_team_for(threads, n, chunk, split_nodes, &l);
    for (int k = 0; k < n; k++) {
        struct sap_tree_node *const node = &t->made->node[from + k];
        node->child = node->children ? t->made->nodes + children : 0;
        children += node->children;
    }
    if (reserve(t, children)) return SAPPORO_ERR_MEMORY;
    sap_team_for(threads, n, chunk, fill_children, &l);
    return children;
}

int sap_cpu_tree_link(struct sap_cpu_draft *t, int threads)
{
    int(*ends)[EIGHT] = NULL, room = 0, n = 1, status = SAPPORO_OK;
    struct sap_tree_nodes *const made = t->made;
    made->nodes = made->levels = 0;
    if (t->n == 0) return SAPPORO_OK;
    if (reserve(t, 1)) return SAPPORO_ERR_MEMORY;
    made->node[0] = (struct sap_tree_node){.count = t->n, .next = -1};
    made->nodes = 1;
    made->level_first[0] = 0;
    for (int level = 0; n > 0 && !status; level++) {
        if (n > room) {
            free(ends);
            room = n;
            ends = malloc((size_t)room * sizeof *ends);
        }
        const int children = ends ? link_level(t, made->level_first[level], n, ends, threads) : SAPPORO_ERR_MEMORY;
        made->level_first[level + 1] = made->nodes;
        made->levels = level + 1;
        status = children < 0 ? children : SAPPORO_OK;
        n = children;
        if (n > 0) made->nodes += n;
    }
    free(ends);
    return status;
}
