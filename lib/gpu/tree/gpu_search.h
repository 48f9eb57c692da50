/* gpu_search.h - the particles within a radius of each position, from a tree on an accelerator. */
#ifndef SAP_GPU_SEARCH_H
#define SAP_GPU_SEARCH_H

#include "gpu/tree/gpu_built.h"
#include "sapporo.h"

/* Device memory of searches. */
struct sap_gpu_search {
    struct sap_gpu_buffer query, count, offset, list;
};

/* What is searched for: `search` of the table. */
struct sap_gpu_sought {
    int ni;
    const sapporo_column *x, *h;
    long long *first, room;
    int *list;
    double period; /* 0: space is open */
};

/* Searches a tree, in a call of its own; a sapporo_status. */
int sap_gpu_search_run(struct sap_gpu_search *memory, const struct sap_gpu_built *of,
                       const struct sap_gpu_sought *what);

void sap_gpu_search_free(const struct sap_driver *driver, struct sap_gpu_search *memory);

#endif
