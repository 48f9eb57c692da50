/* gpu_search.h - the particles within a radius of each target, from a tree on an accelerator. */
#ifndef SAP_GPU_SEARCH_H
#define SAP_GPU_SEARCH_H

#include "gpu/gpu_memory.h"
#include "sapporo.h"

struct sap_gpu_host_tree;

/* Device memory of searches: radii, lengths of lists, their sums, and results. */
struct sap_gpu_search {
    struct sap_gpu_buffer radius, count, list_sum, list_first, list;
};

/* Implements `within` of the table; a sapporo_status. */
int sap_gpu_within(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, const sapporo_column *radius,
                   long long *first, long long room, int *list);

void sap_gpu_search_free(const struct sap_driver *driver, struct sap_gpu_search *memory);

#endif
