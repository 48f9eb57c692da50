/* gpu_halo.c - see gpu_halo.h. */
#include "gpu/tree/gpu_halo.h"

#include <string.h>

#include "gpu/gpu_launch.h"
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

static int reserve(const struct sap_gpu_session *s, struct sap_gpu_halo *h, const struct sap_tree_halo *halo)
{
    struct sap_gpu_nodes *const to = &h->nodes;
    const size_t nodes = (size_t)halo->nodes;
    TRY(sap_session_reserve(s, &h->sorted, ((size_t)halo->n + 1) * 4 * sizeof(double)));
    TRY(sap_session_reserve(s, &to->link, nodes * sizeof(struct sap_tree_link)));
    TRY(sap_session_reserve(s, &to->cell, nodes * SAP_GPU_CELL));
    TRY(sap_session_reserve(s, &to->word, nodes * 8 * sizeof(float)));
    TRY(sap_session_reserve(s, &to->source, nodes * 4 * sizeof(double)));
    return sap_session_reserve(s, &to->moments, nodes * 8 * sizeof(float));
}

int sap_gpu_halo_import(struct sap_gpu_halo *h, const struct sap_gpu_built *of, const struct sap_tree_halo *halo)
{
    struct sap_gpu_session *const s = of->session;
    struct importing from = {halo, of->frame->mass_unit};
    h->nodes.n = 0;
    TRY(reserve(s, h, halo));
    TRY(sap_session_upload(s, &h->nodes.link, sizeof(struct sap_tree_link), halo->nodes, fill_links, &from));
    TRY(sap_session_upload(s, &h->nodes.cell, sizeof *halo->cell, halo->nodes, fill_cells, &from));
    TRY(sap_session_upload(s, &h->sorted, sizeof *halo->x, halo->n, fill_particles, &from));
    h->nodes.n = halo->nodes;
    TRY(sap_gpu_nodes_words(s, of->f, &h->nodes, &of->nodes->cell, of->frame));
    return of->lengths->law->import(s, of->lengths, &h->lengths, &h->nodes, &of->nodes->cell, halo, of->frame);
}

void sap_gpu_halo_free(const struct sap_driver *driver, struct sap_gpu_halo *h)
{
    sap_gpu_nodes_free(driver, &h->nodes);
    sap_gpu_free(driver, &h->sorted);
    sap_gpu_free(driver, &h->lengths.of_particle);
    sap_gpu_free(driver, &h->lengths.of_node);
}
