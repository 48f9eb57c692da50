/* gpu_part.c - uploads the nodes and particles that other parts of a whole have for a tree on an accelerator. */
#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/tree/gpu_tree.h"
#include "physics/scalars.h"

/* Elements of `each` bytes that are uploaded at a time, from pinned memory. */
static int at_once(const struct sap_gpu_host_tree *t, size_t each) { return (int)(t->chunk.bytes / each); }

/* Uploads n elements from pinned memory behind `first` others. */
static int upload(struct sap_gpu_host_tree *t, const struct sap_gpu_buffer *to, size_t each, int first, int n)
{
    TRY(t->driver->copy_in(t->stream, to->mem, (size_t)first * each, t->chunk.host, (size_t)n * each));
    return t->driver->stream_finish(t->stream);
}

static int upload_links(struct sap_gpu_host_tree *t, const struct sap_tree_halo *halo)
{
    struct sap_tree_link *const chunk = t->chunk.host;
    const int most = at_once(t, sizeof *chunk);
    for (int first = 0; first < halo->nodes; first += most) {
        const int n = halo->nodes - first < most ? halo->nodes - first : most;
        for (int k = 0; k < n; k++) {
            const struct sap_tree_node *const node = &halo->node[first + k];
            chunk[k] = (struct sap_tree_link){node->first, node->count, node->child, node->children};
        }
        TRY(upload(t, &t->halo.node, sizeof *chunk, first, n));
    }
    return SAP_DRIVER_OK;
}

static int upload_cells(struct sap_gpu_host_tree *t, const struct sap_tree_halo *halo)
{
    const int most = at_once(t, sizeof *halo->cell);
    for (int first = 0; first < halo->nodes; first += most) {
        const int n = halo->nodes - first < most ? halo->nodes - first : most;
        memcpy(t->chunk.host, halo->cell + first, (size_t)n * sizeof *halo->cell);
        TRY(upload(t, &t->halo.cell, sizeof *halo->cell, first, n));
    }
    return SAP_DRIVER_OK;
}

/* Uploads particles with masses in units. */
static int upload_particles(struct sap_gpu_host_tree *t, const struct sap_tree_halo *halo)
{
    double(*const chunk)[4] = t->chunk.host;
    const int most = at_once(t, sizeof *chunk);
    for (int first = 0; first < halo->n; first += most) {
        const int n = halo->n - first < most ? halo->n - first : most;
        for (int k = 0; k < n; k++) {
            memcpy(chunk[k], halo->x[first + k], sizeof *chunk);
            chunk[k][3] *= t->t.mass_unit;
        }
        TRY(upload(t, &t->halo.sorted, sizeof *chunk, first, n));
    }
    return SAP_DRIVER_OK;
}

static int reserve(struct sap_gpu_host_tree *t, const struct sap_tree_halo *halo)
{
    struct sap_gpu_halo *const h = &t->halo;
    const size_t nodes = (size_t)halo->nodes;
    TRY(sap_tree_reserve(t, &h->sorted, ((size_t)halo->n + 1) * 4 * sizeof(double)));
    TRY(sap_tree_reserve(t, &h->node, nodes * sizeof(struct sap_tree_link)));
    TRY(sap_tree_reserve(t, &h->cell, nodes * SAP_GPU_CELL));
    TRY(sap_tree_reserve(t, &h->word, nodes * 8 * sizeof(float)));
    TRY(sap_tree_reserve(t, &h->source, nodes * 4 * sizeof(double)));
    return sap_tree_reserve(t, &h->moments, nodes * 8 * sizeof(float));
}

int sap_tree_import_gpu(struct sap_gpu_host_tree *t, const struct sap_tree_halo *halo)
{
    t->halo.nodes = 0;
    TRY(reserve(t, halo));
    TRY(upload_links(t, halo));
    TRY(upload_cells(t, halo));
    TRY(upload_particles(t, halo));
    t->halo.nodes = halo->nodes;
    return sap_gpu_tree_words(t, &t->halo);
}
