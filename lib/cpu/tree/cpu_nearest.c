/* cpu_nearest.c - finds the k particles nearest to each target (physics/nearest.h). */
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/periodic.h"

/* A search that is distributed over threads. */
struct nearest_rows {
    const struct sap_cpu_tree *tree;
    const sapporo_tree_request *request;
    int k, all; /* all: of all particles, in their order of the tree */
    int *list;
    double *distance2; /* NULL: not wanted */
};

/* Finds a cell near a position that has at least `least` particles, or the root if there are fewer. */
static int cell_near(const struct sap_cpu_tree *t, const double *x, int least)
{
    int best = 0;
    for (int next = 0; next >= 0;) {
        const struct sap_tree_node *const node = &t->own.node[next];
        double least2 = SAP_LARGEST;
        best = next;
        next = -1;
        for (int j = node->child; j < node->child + node->children; j++) {
            const double near2 = sap_box_near2(&t->own.cell[j], x, t->settings.period);
            if (t->own.node[j].count < least || !(near2 < least2)) continue;
            least2 = near2;
            next = j;
        }
    }
    return best;
}

/* Offers the particles of a node but `own`. */
static void offer_node(struct sap_nearest *n, const struct sap_cpu_tree *t, int node, const double *x, int own)
{
    const int first = t->own.node[node].first, end = first + t->own.node[node].count;
    for (int j = first; j < end; j++)
        if (j != own) sap_nearest_offer(n, sap_apart2(x, t->own.x[j], t->settings.period), t->order.address[j]);
}

/* Finds the particles nearest to x; own: which of the sorted particles is there, or -1. */
static void find(struct sap_nearest *n, const struct sap_cpu_tree *t, const double *x, int own)
{
    const int begun = cell_near(t, x, n->k + (own >= 0));
    sap_nearest_begin(n);
    offer_node(n, t, begun, x, own);
    for (int k = 0; k >= 0;) {
        const struct sap_tree_node *const node = &t->own.node[k];
        const int near = k != begun && sap_nearest_within(n, sap_box_near2(&t->own.cell[k], x, t->settings.period));
        if (near && !node->children) offer_node(n, t, k, x, own);
        k = near && node->children ? node->child : node->next;
    }
    sap_nearest_sort(n);
}

static void find_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct nearest_rows *const s = argument;
    const struct sap_cpu_tree *const t = s->tree;
    double heap2[SAPPORO_NEAREST_MOST] = {0};
    for (int i = (int)from; i < (int)to; i++) {
        const int target = s->all ? t->order.address[i] : i;
        const size_t row = (size_t)target * (size_t)s->k;
        struct sap_nearest n = {.distance2 = heap2, .address = s->list + row, .stride = 1, .k = s->k};
        double x[3];
        const int own = sap_cpu_tree_target(t, s->request, target, x);
        find(&n, t, x, own);
        for (int j = 0; j < s->k && s->distance2; j++)
            s->distance2[row + (size_t)j] = sap_nearest_told(heap2[j], n.address[j]);
    }
}

int sap_cpu_tree_nearest(struct sap_tree *opaque_tree, const sapporo_tree_request *request, int k, int *list,
                         double *distance2)
{
    enum { AT_ONCE = 64 };
    struct sap_cpu_tree *const t = (void *)opaque_tree;
    struct nearest_rows s = {.tree = t, .request = request, .k = k, .list = list, .distance2 = distance2};
    s.all = !request->x.base && !request->active && request->ni == t->own.n;
    if (request->memory != SAPPORO_MEMORY_HOST)
        return sap_cpu_tree_failed(t, SAPPORO_ERR_UNSUPPORTED, SAP_CPU_HOST_ONLY);
    t->words[0] = '\0';
    sap_team_for(sap_cpu_tree_threads_for_rows(t, request->ni), request->ni, AT_ONCE, find_some, &s);
    return SAPPORO_OK;
}
