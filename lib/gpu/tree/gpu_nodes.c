/* gpu_nodes.c - see gpu_nodes.h; the kernels are lib/device/tree_moments.h and tree_build.h. */
#include "gpu/tree/gpu_nodes.h"

#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"

int sap_gpu_nodes_cells(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const struct sap_gpu_nodes *nodes, const struct sap_gpu_buffer *sorted,
                        const struct sap_gpu_buffer *first, const struct sap_gpu_tree *frame, int linked)
{
    TRY(sap_launch_tree_leaves(s, f, nodes->n, sorted->mem, nodes->link.mem, nodes->level.mem, first->mem,
                               nodes->cell.mem, linked, *frame));
    for (int level = nodes->levels - 2; level >= 0; level--) {
        const int from = nodes->level_first[level], to = nodes->level_first[level + 1];
        TRY(sap_launch_tree_cells(s, f, to - from, nodes->link.mem, nodes->cell.mem, from, to));
    }
    return SAP_DRIVER_OK;
}

int sap_gpu_nodes_words(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const struct sap_gpu_nodes *nodes, const struct sap_gpu_buffer *root,
                        const struct sap_gpu_tree *frame)
{
    return sap_launch_tree_words(s, f, nodes->n, nodes->link.mem, nodes->cell.mem, root->mem, nodes->word.mem,
                                 nodes->source.mem, nodes->moments.mem, nodes->n, *frame);
}

int sap_gpu_nodes_make_next(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                            struct sap_gpu_nodes *nodes)
{
    if (nodes->has_next) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(s, &nodes->next, (size_t)nodes->n * sizeof(int)));
    for (int level = 0; level < nodes->levels; level++) {
        const int from = nodes->level_first[level], to = nodes->level_first[level + 1];
        TRY(sap_launch_tree_next(s, f, to - from, nodes->link.mem, nodes->next.mem, from, to));
    }
    nodes->has_next = 1;
    return SAP_DRIVER_OK;
}

void sap_gpu_nodes_free(const struct sap_driver *driver, struct sap_gpu_nodes *nodes)
{
    struct sap_gpu_buffer *const all[] = {&nodes->link,   &nodes->level,   &nodes->cell, &nodes->word,
                                          &nodes->source, &nodes->moments, &nodes->next};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
    nodes->has_next = 0;
}
