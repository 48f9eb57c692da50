/*
 * gpu_active.h - the active particles of a force from a tree on an accelerator: their list, and rows in sorted order.
 *
 * Functions return driver statuses.
 */
#ifndef SAP_GPU_ACTIVE_H
#define SAP_GPU_ACTIVE_H

#include "gpu/tree/gpu_built.h"
#include "sapporo.h"

struct sap_gpu_active {
    const struct sap_gpu_buffer *listed; /* the list that a stepper has; NULL: `list` */
    struct sap_gpu_buffer list;
    struct sap_gpu_buffer row_key[2], row[2]; /* for sorting rows by their sorted particles */
    struct sap_gpu_buffer slot, strict;       /* by slot: sorted particle, strictness */
};

/* Returns the list of active particles in device memory. */
static inline const struct sap_gpu_buffer *sap_gpu_active_list(const struct sap_gpu_active *a)
{
    return a->listed ? a->listed : &a->list;
}

/*
 * Copies the list of a request for n particles to device memory, unless a stepper has it; *bad: the first entry that is
 * no particle, or -1.
 */
int sap_gpu_active_take(struct sap_gpu_active *a, struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const sapporo_tree_request *r, int n, int *bad);

/*
 * Writes the slots of the rows of a request, and *row, the rows of the slots: in the order of the request, for few
 * rows, or of the sorted particles.
 */
int sap_gpu_active_slots(struct sap_gpu_active *a, const struct sap_gpu_built *of, const sapporo_tree_request *r,
                         int as_given, const struct sap_gpu_buffer **row);

void sap_gpu_active_free(const struct sap_driver *driver, struct sap_gpu_active *a);

#endif
