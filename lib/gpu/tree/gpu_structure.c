/* gpu_structure.c - see gpu_structure.h. */
#include "gpu/tree/gpu_structure.h"

#include <stdlib.h>
#include <string.h>

#include "engine/tree_structure.h"
#include "gpu/gpu_launch.h"
#include "physics/scalars.h"

/* Copies n elements to host memory, which the caller frees, also after a failure; a driver status. */
static int copy_of(struct sap_gpu_session *s, const struct sap_gpu_buffer *from, int n, size_t each, void **to)
{
    *to = sap_session_host_memory(s, (size_t)n + 1, each);
    if (!*to) return SAP_DRIVER_MEMORY;
    if (n > 0) TRY(sap_session_copy_out(s, *to, from->mem, 0, (size_t)n * each));
    return sap_session_wait(s);
}

static void count_leaves(const struct sap_tree_link *node, int nodes, sapporo_tree_statistics *s)
{
    for (int k = 0; k < nodes; k++) {
        if (node[k].children) continue;
        s->leaves++;
        if (node[k].count > s->largest_leaf) s->largest_leaf = node[k].count;
    }
}

int sap_gpu_structure_count(const struct sap_gpu_built *of, sapporo_tree_statistics *s)
{
    const struct sap_gpu_nodes *const nodes = of->nodes;
    void *node = NULL, *heavy = NULL;
    int status = copy_of(of->session, &nodes->link, nodes->n, sizeof(struct sap_tree_link), &node);
    if (!status) status = copy_of(of->session, &of->own->heavy, of->own->groups, sizeof(int), &heavy);
    if (!status) {
        s->n = of->own->n;
        s->cells = nodes->n;
        s->groups = of->own->groups;
        s->depth = nodes->levels - 1;
        count_leaves(node, nodes->n, s);
        for (int g = 0; g < s->groups; g++) s->wide_groups += ((const int *)heavy)[g] & SAP_GROUP_HEAVY;
    }
    free(node);
    free(heavy);
    return status;
}

struct sap_bound sap_gpu_structure_bound(const double *words, int g)
{
    struct sap_bound b;
    _Static_assert(sizeof b == 7 * sizeof(double), "seven words, as in device memory");
    memcpy(&b, words + (size_t)g * SAP_GROUP_WORDS, sizeof b);
    return b;
}

int sap_gpu_structure_extents(const struct sap_gpu_built *of, double *median, double *largest)
{
    const int groups = of->own->groups;
    void *bound = NULL;
    const int status = copy_of(of->session, &of->own->bound, groups, SAP_GROUP_WORDS * sizeof(double), &bound);
    double *const extent = bound;
    for (int g = 0; g < groups && !status; g++) {
        const struct sap_bound b = sap_gpu_structure_bound(extent, g);
        extent[g] = 2 * sap_bound_size(&b);
    }
    if (!status) sap_tree_extents(extent, groups, median, largest);
    free(bound);
    return status;
}

/* Arrays of a tree in host memory, which are freed; the caller's get what they need of them. */
struct copies {
    void *node, *cell, *level, *bound;
};

/* Copies n elements to memory of the caller; a driver status. */
static int copy_to(struct sap_gpu_session *s, const struct sap_gpu_buffer *from, int n, size_t each, void *to)
{
    return sap_session_download(s, to, from, 0, (size_t)n * each);
}

static int copy_tree(const struct sap_gpu_built *of, const struct sap_tree_structure *s, struct copies *c)
{
    const struct sap_gpu_nodes *const from = of->nodes;
    const struct sap_gpu_targets *const own = of->own;
    const int nodes = s->nodes;
    TRY(copy_of(of->session, &from->link, nodes, sizeof(struct sap_tree_link), &c->node));
    TRY(copy_of(of->session, &from->level, nodes, sizeof(int), &c->level));
    if (s->node)
        TRY(copy_to(of->session, &from->cell, nodes, sizeof *s->cell, s->cell));
    else
        TRY(copy_of(of->session, &from->cell, nodes, sizeof(struct sap_cell), &c->cell));
    TRY(copy_to(of->session, &own->group_of, s->n, sizeof *s->group, s->group));
    TRY(copy_to(of->session, &own->address, s->n, sizeof *s->address, s->address));
    return copy_of(of->session, &own->bound, s->groups, SAP_GROUP_WORDS * sizeof(double), &c->bound);
}

static void tell_columns(const struct sap_tree_link *node, const int *level, const struct sap_cell *cell,
                         struct sap_tree_structure *s)
{
    for (int k = 0; k < s->nodes; k++) {
        s->first[k] = node[k].first;
        s->count[k] = node[k].count;
        s->child[k] = node[k].child;
        s->children[k] = node[k].children;
        s->level[k] = level[k];
        sap_tree_tell_cell(&cell[k], k, s);
    }
}

static void tell_nodes(const struct copies *c, struct sap_tree_structure *s)
{
    const struct sap_tree_link *const node = c->node;
    const int *const level = c->level;
    if (!s->node) tell_columns(node, level, c->cell, s);
    for (int k = 0; k < s->nodes && s->node; k++)
        s->node[k] = (struct sap_tree_node){.first = node[k].first,
                                            .count = node[k].count,
                                            .child = node[k].child,
                                            .children = node[k].children,
                                            .level = level[k]};
    for (int g = 0; g < s->groups && s->bound; g++) s->bound[g] = sap_gpu_structure_bound(c->bound, g);
}

int sap_gpu_structure_copy(const struct sap_gpu_built *of, struct sap_tree_structure *s)
{
    struct copies c = {.node = NULL};
    int status = sap_session_begin(of->session);
    if (status) return status;
    status = copy_tree(of, s, &c);
    if (!status) tell_nodes(&c, s);
    status = sap_session_end(of->session, status);
    free(c.node);
    free(c.cell);
    free(c.level);
    free(c.bound);
    return status;
}
