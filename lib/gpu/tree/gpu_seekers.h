/*
 * gpu_seekers.h - the target particles of searches of a tree on an accelerator, in the order of the tree, and where
 * kernels write arrays of the caller.  Functions return driver statuses.
 */
#ifndef SAP_GPU_SEEKERS_H
#define SAP_GPU_SEEKERS_H

#include "gpu/gpu_memory.h"
#include "gpu/gpu_session.h"
#include "sapporo.h"

struct sap_gpu_host_tree;

/* slot: which of the walkers seek; NULL: all.  row: their rows of the request. */
struct sap_gpu_seekers {
    const struct sap_gpu_buffer *walker, *slot, *row;
};

/* Chooses the targets of a request; *bad_active: the first entry of its list that is no particle, if there is one. */
int sap_gpu_seekers_choose(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, struct sap_gpu_seekers *s,
                           int *bad_active);

/* An array of the caller as kernels see it: their memory, or memory of the tree; both NULL: there is none. */
struct sap_gpu_array {
    struct sap_mem *theirs, *mem;
};

/* Finds where an array of so many bytes is; `own` is enlarged to them if the caller's is in host memory. */
int sap_gpu_array_find(const struct sap_gpu_session *s, sapporo_memory memory, const void *at, size_t bytes,
                       struct sap_gpu_buffer *own, struct sap_gpu_array *array);
void sap_gpu_array_release(const struct sap_gpu_session *s, const struct sap_gpu_array *array);

#endif
