/* gpu_part.c - uploads the nodes and particles that other parts of a whole have for a tree on an accelerator. */
#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/tree/gpu_tree.h"
#include "physics/scalars.h"

/* A halo on its way to the device. */
struct importing {
    const struct sap_tree_halo *halo;
    double mass_unit;
};

static void fill_links(void *argument, void *to, int first, int n)
{
    const struct importing *const from = argument;
    struct sap_tree_link *const chunk = to;
    for (int k = 0; k < n; k++) {
        const struct sap_tree_node *const node = &from->halo->node[first + k];
        chunk[k] = (struct sap_tree_link){node->first, node->count, node->child, node->children};
    }
}

static void fill_cells(void *argument, void *to, int first, int n)
{
    const struct importing *const from = argument;
    memcpy(to, from->halo->cell + first, (size_t)n * sizeof *from->halo->cell);
}

/* Particles with masses in units. */
static void fill_particles(void *argument, void *to, int first, int n)
{
    const struct importing *const from = argument;
    double(*const chunk)[4] = to;
    memcpy(chunk, from->halo->x + first, (size_t)n * sizeof *chunk);
    for (int k = 0; k < n; k++) chunk[k][3] *= from->mass_unit;
}

static int reserve(struct sap_gpu_host_tree *t, const struct sap_tree_halo *halo)
{
    struct sap_gpu_halo *const h = &t->halo;
    const size_t nodes = (size_t)halo->nodes;
    TRY(sap_session_reserve(&t->session, &h->sorted, ((size_t)halo->n + 1) * 4 * sizeof(double)));
    TRY(sap_session_reserve(&t->session, &h->node, nodes * sizeof(struct sap_tree_link)));
    TRY(sap_session_reserve(&t->session, &h->cell, nodes * SAP_GPU_CELL));
    TRY(sap_session_reserve(&t->session, &h->word, nodes * 8 * sizeof(float)));
    TRY(sap_session_reserve(&t->session, &h->source, nodes * 4 * sizeof(double)));
    return sap_session_reserve(&t->session, &h->moments, nodes * 8 * sizeof(float));
}

int sap_gpu_tree_import(struct sap_gpu_host_tree *t, const struct sap_tree_halo *halo)
{
    struct importing from = {halo, t->t.mass_unit};
    t->halo.nodes = 0;
    TRY(reserve(t, halo));
    TRY(sap_session_upload(&t->session, &t->halo.node, sizeof(struct sap_tree_link), halo->nodes, fill_links, &from));
    TRY(sap_session_upload(&t->session, &t->halo.cell, sizeof *halo->cell, halo->nodes, fill_cells, &from));
    TRY(sap_session_upload(&t->session, &t->halo.sorted, sizeof *halo->x, halo->n, fill_particles, &from));
    t->halo.nodes = halo->nodes;
    return sap_gpu_tree_words(t, &t->halo);
}
