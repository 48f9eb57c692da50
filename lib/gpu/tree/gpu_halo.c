/* gpu_halo.c - see gpu_halo.h. */
#include "gpu/tree/gpu_halo.h"

#include <string.h>

#include "device/tree_halo_layout.h"
#include "engine/tree_regions.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "physics/scalars.h"

_Static_assert(SAP_HALO_ABOVE == (int)SAP_HALO_CHILDREN, "nodes above the roots as kernels make them");

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

int sap_gpu_halo_reserve(const struct sap_gpu_session *s, struct sap_gpu_halo *h, int nodes, int n)
{
    struct sap_gpu_nodes *const to = &h->nodes;
    const size_t room = (size_t)nodes + (size_t)nodes / 4 + 2; /* arrived nodes, and those above their roots */
    h->nodes.n = 0;
    TRY(sap_session_reserve(s, &h->sorted, ((size_t)n + 1) * 4 * sizeof(double)));
    TRY(sap_session_reserve(s, &to->link, room * sizeof(struct sap_tree_link)));
    TRY(sap_session_reserve(s, &to->cell, room * SAP_GPU_CELL));
    TRY(sap_session_reserve(s, &to->word, room * 8 * sizeof(float)));
    TRY(sap_session_reserve(s, &to->source, room * 4 * sizeof(double)));
    return sap_session_reserve(s, &to->moments, room * 8 * sizeof(float));
}

static struct sap_gpu_length_halo lengths_of(const struct sap_gpu_halo *h, const struct sap_gpu_built *of)
{
    return (struct sap_gpu_length_halo){
        .lengths = &h->lengths, .nodes = &h->nodes, .sorted = &h->sorted, .root = &of->nodes->cell, .frame = of->frame};
}

int sap_gpu_halo_import(struct sap_gpu_halo *h, const struct sap_gpu_built *of, const struct sap_tree_halo *halo)
{
    struct sap_gpu_session *const s = of->session;
    struct importing from = {halo, of->frame->mass_unit};
    TRY(sap_gpu_halo_reserve(s, h, halo->nodes, halo->n));
    TRY(sap_session_upload(s, &h->nodes.link, sizeof(struct sap_tree_link), halo->nodes, fill_links, &from));
    TRY(sap_session_upload(s, &h->nodes.cell, sizeof *halo->cell, halo->nodes, fill_cells, &from));
    TRY(sap_session_upload(s, &h->sorted, sizeof *halo->x, halo->n, fill_particles, &from));
    h->nodes.n = halo->nodes;
    TRY(sap_gpu_nodes_words(s, of->f, &h->nodes, &of->nodes->cell, of->frame));
    if (of->lengths->law->of_node == 0) return SAP_DRIVER_OK;
    TRY(of->lengths->law->import(s, &h->lengths, halo, of->frame->unit));
    const struct sap_gpu_length_halo to = lengths_of(h, of);
    return of->lengths->law->words(s, of->lengths, &to);
}

/* Makes the nodes above the roots of halos, which follow each other from `roots` on. */
static int make_above(const struct sap_gpu_halo *h, const struct sap_gpu_built *of, int roots, int halos)
{
    for (int n = halos, child = roots, parents; n > 1; n = parents, child -= parents) {
        parents = sap_halo_above(n);
        const int first = child - parents;
        TRY(sap_launch_tree_halo_above(of->session, of->f, parents, h->nodes.link.mem, h->nodes.cell.mem, first, child,
                                       parents, n));
    }
    return SAP_DRIVER_OK;
}

/* Returns the first root of the halos, behind the nodes above. */
static int roots_of(const struct sap_gpu_arrived *a) { return a->before + sap_halo_nodes_above(a->halos); }

int sap_gpu_halo_join(struct sap_gpu_halo *h, const struct sap_gpu_built *of, const struct sap_gpu_buffer *made,
                      const struct sap_gpu_buffer *first, const struct sap_gpu_arrived *a)
{
    struct sap_gpu_session *const s = of->session;
    const int roots = roots_of(a), halos = a->halos, parts = a->parts, nodes = a->nodes, n = a->n;
    const double unit = of->frame->mass_unit;
    TRY(sap_launch_tree_halo_join(s, of->f, nodes, made->mem, first->mem, parts, roots, halos, h->nodes.link.mem,
                                  h->nodes.cell.mem, nodes));
    if (n > 0 && !a->in_units) TRY(sap_launch_tree_halo_masses(s, of->f, n, h->sorted.mem, unit, n));
    TRY(make_above(h, of, roots, halos));
    h->nodes.n = roots + nodes;
    return sap_gpu_nodes_words(s, of->f, &h->nodes, &of->nodes->cell, of->frame);
}

/* Computes the lengths of the nodes above the roots of halos. */
static int make_lengths_above(const struct sap_gpu_built *of, const struct sap_gpu_length_halo *to, int roots,
                              int halos)
{
    for (int n = halos, child = roots, parents; n > 1; n = parents, child -= parents) {
        parents = sap_halo_above(n);
        TRY(of->lengths->law->above(of->session, of->lengths, to, child - parents, child));
    }
    return SAP_DRIVER_OK;
}

int sap_gpu_halo_join_lengths(struct sap_gpu_halo *h, const struct sap_gpu_built *of, const struct sap_gpu_buffer *made,
                              const struct sap_gpu_buffer *made_h, const struct sap_gpu_buffer *first,
                              const struct sap_gpu_arrived *a)
{
    const struct sap_gpu_session *const s = of->session;
    const struct sap_gpu_lengths *const l = of->lengths;
    const struct sap_gpu_length_halo to = lengths_of(h, of);
    const int words = l->law->of_node, roots = roots_of(a);
    const size_t each = sizeof(double);
    if (words == 0) return SAP_DRIVER_OK;
    if (a->n > 0)
        TRY(sap_session_copy(s, h->lengths.of_particle.mem, (size_t)a->before_n * each, made_h->mem, 0,
                             (size_t)a->n * each));
    TRY(sap_launch_tree_length_join(s, l->f, a->nodes, made->mem, first->mem, a->parts, roots, a->halos,
                                    h->lengths.of_node.mem, words, a->nodes));
    TRY(make_lengths_above(of, &to, roots, a->halos));
    return l->law->words(s, l, &to);
}

struct sap_gpu_arrived sap_gpu_halo_table(int parts, const int (*count)[2], int before_n, int *first)
{
    struct sap_gpu_arrived a = {.parts = parts, .before_n = before_n};
    for (int part = 0; part < parts; part++) {
        first[part] = a.nodes;
        first[parts + part] = a.halos;
        first[2 * parts + part] = before_n + a.n;
        a.nodes += count[part][0];
        a.n += count[part][1];
        a.halos += count[part][0] > 0;
    }
    return a;
}

void sap_gpu_halo_free(const struct sap_driver *driver, struct sap_gpu_halo *h)
{
    sap_gpu_nodes_free(driver, &h->nodes);
    sap_gpu_free(driver, &h->sorted);
    sap_gpu_free(driver, &h->lengths.of_particle);
    sap_gpu_free(driver, &h->lengths.of_node);
}
